// The text of the UserError that an action throws; empty if it throws none.
#ifndef ATTNBENCH_TESTS_SUPPORT_ERROR_TEXT_H_
#define ATTNBENCH_TESTS_SUPPORT_ERROR_TEXT_H_

#include <string>

#include "harness/base/error.h"

namespace attnbench::testing {

template <class Action>
std::string ErrorText(const Action& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_ERROR_TEXT_H_
