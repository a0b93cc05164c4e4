// attnbench verify --kernels: compares the kernels with their bounds
// (harness/verify/kernel_errors.h), and tells it as a table for people and a
// JSON document for programs.
#ifndef ATTNBENCH_HARNESS_COMMANDS_VERIFY_KERNELS_H_
#define ATTNBENCH_HARNESS_COMMANDS_VERIFY_KERNELS_H_

#include <cstdint>
#include <string>

namespace attnbench {

struct VerifyKernelsArguments {
  std::uint64_t seed = 1;
  int threads = 1;
  std::string output = {};  // the file of the document; empty: none
  bool quick = false;       // searches are short
  bool json = false;        // prints the document in place of the table
  bool force = false;       // overwrites `output`
};

// Gives the exit code. `command_line` is what the user typed, for the context
// of the result. Throws UserError.
int VerifyKernels(const VerifyKernelsArguments& arguments,
                  const std::string& command_line);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_COMMANDS_VERIFY_KERNELS_H_
