// The room `base` is what all others build on: typed documents and JSON,
// parsing text, files, processes, and errors.
//
// UserError is the one exception for what a user got wrong: options, ranges,
// files. It is thrown where the mistake is found; commands/main.cc catches it,
// prints it as one line and exits with 2. It says what was given, where, and
// what is allowed.
#ifndef ATTNBENCH_HARNESS_BASE_ERROR_H_
#define ATTNBENCH_HARNESS_BASE_ERROR_H_

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace attnbench {

class UserError : public std::runtime_error {
 public:
  // `where` is a file with key or position ("case.json: inputs.p_choose[2]")
  // or an option ("--memory-length"); `what` is one sentence without the place.
  // Both are shortened (printable.h) where they are longer than any of ours, as
  // what a file or the command line holds may have any length.
  UserError(const std::string& where, const std::string& what);
  // The whole text, as another process has written it.
  explicit UserError(const std::string& text) : std::runtime_error(text) {}
};

// Whether `name` is one of `names`; if not, UnknownName says what is wrong.
bool Contains(std::span<const std::string> names, std::string_view name);

// "unknown WHAT 'given'; did you mean 'nearest'? valid: a, b, c", the nearest
// valid name first (by edit distance).
std::string UnknownName(std::string_view what, std::string_view given,
                        std::span<const std::string> valid);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_BASE_ERROR_H_
