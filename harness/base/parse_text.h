// Reads numbers and lists from text, in the same words wherever a user wrote
// it: on the command line, in an experiment or in a case file.
#ifndef ATTNBENCH_HARNESS_BASE_PARSE_TEXT_H_
#define ATTNBENCH_HARNESS_BASE_PARSE_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attnbench {

// Reads a whole number in [least, greatest]; throws UserError naming `where`.
std::int64_t ParseInteger(std::string_view text, std::int64_t least,
                          std::int64_t greatest, const std::string& where);

// Reads a number between 0 and 1, both excluded; throws UserError naming
// `where`, with `example` as an allowed value.
double ParseShare(std::string_view text, const std::string& where,
                  const std::string& example);

// The greatest seed is the greatest whole number up to which readers of JSON
// that have nothing but doubles (JavaScript, a column of pandas with a gap)
// keep each: 2^53 - 1.
inline constexpr std::int64_t kGreatestSeed = 9'007'199'254'740'991;

// Throws UserError naming `where` if the text is not UTF-8, as results and
// messages must be.
void CheckUtf8(const std::string& text, const std::string& where);

// Splits `text` at the commas; throws UserError if a part is empty.
std::vector<std::string> SplitList(std::string_view text,
                                   const std::string& where);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_BASE_PARSE_TEXT_H_
