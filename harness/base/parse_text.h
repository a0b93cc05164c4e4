// Reads numbers and lists from text, in the same words wherever a user wrote
// it: on the command line, in an experiment or in a case file.
#ifndef ATTNBENCH_HARNESS_BASE_PARSE_TEXT_H_
#define ATTNBENCH_HARNESS_BASE_PARSE_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attnbench {

// A whole number in [least, greatest]; throws UserError naming `where`.
std::int64_t ParseInteger(std::string_view text, std::int64_t least,
                          std::int64_t greatest, const std::string& where);

// A number between 0 and 1, both excluded; throws UserError naming `where`, and
// `example` as one that is allowed.
double ParseShare(std::string_view text, const std::string& where,
                  const std::string& example);

// The value of option --seed; 1 where it was not given (empty).
std::uint64_t ParseSeed(std::string_view text);

// Throws UserError naming `where` for text that is not UTF-8: results and
// messages are.
void CheckUtf8(const std::string& text, const std::string& where);

// The parts of `text` between the commas; throws UserError where one is empty.
std::vector<std::string> SplitList(std::string_view text,
                                   const std::string& where);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_BASE_PARSE_TEXT_H_
