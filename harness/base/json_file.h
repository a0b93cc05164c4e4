// Reads a JSON document that a user wrote: stricter than the parser, which
// would keep one of two equal keys silently and take any depth.
#ifndef ATTNBENCH_HARNESS_BASE_JSON_FILE_H_
#define ATTNBENCH_HARNESS_BASE_JSON_FILE_H_

#include <string>

#include "harness/base/json.h"

namespace attnbench {

// More levels than any document of ours has; the limit bounds the cost of
// reading.
inline constexpr int kMostJsonDepth = 64;

// Reads a file, or a pipe that somebody writes to, or standard input
// (kStandardInput, input_file.h). Throws UserError naming the
// file, with line and column where there is one, if it is unreadable, a folder,
// a device, a pipe without data, larger than `most_mebibytes`, empty, not JSON
// or nested too deep, or has a number beyond double precision or the same key
// twice in one object.
Json ReadJsonFile(const std::string& path, std::size_t most_mebibytes = 512);

// Parses a text from elsewhere, such as an option, which `where` names; throws
// as ReadJsonFile does.
Json ParseJson(const std::string& text, const std::string& where);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_BASE_JSON_FILE_H_
