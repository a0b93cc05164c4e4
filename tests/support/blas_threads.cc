// Every test program computes as the program does: products on one thread.
#include "mechanisms/common/blas_threads.h"

#include <gtest/gtest.h>

namespace {

class OneBlasThread final : public ::testing::Environment {
  void SetUp() override { attnbench::UseOneBlasThread(); }
};
[[maybe_unused]] const auto* const kEnvironment =
    ::testing::AddGlobalTestEnvironment(new OneBlasThread);

}  // namespace
