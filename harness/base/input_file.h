// Reads a whole file that a user named.
#ifndef ATTNBENCH_HARNESS_BASE_INPUT_FILE_H_
#define ATTNBENCH_HARNESS_BASE_INPUT_FILE_H_

#include <cstddef>
#include <string>

namespace attnbench {

// Under this name ReadInput reads standard input.
inline constexpr char kStandardInput[] = "-";

// Reads a file, or a pipe that somebody writes to. Throws UserError naming the
// file if it is unreadable, a folder, a device, a pipe without data, or larger
// than `most_mebibytes`.
std::string ReadInput(const std::string& path, std::size_t most_mebibytes);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_BASE_INPUT_FILE_H_
