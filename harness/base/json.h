// The JSON type of every document, which keeps the order of its members, and
// how a number that is not finite is written: JSON has neither infinity nor
// NaN.
#ifndef ATTNBENCH_HARNESS_BASE_JSON_H_
#define ATTNBENCH_HARNESS_BASE_JSON_H_

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

// Compiled once, in json_file.cc, and not in every source that includes this.
extern template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace attnbench {

using Json = nlohmann::ordered_json;

// A message of another program, a line of JSON; discarded (is_discarded) if it
// is none. The parser takes a byte 0 for the end of the text.
inline Json ParseMessage(const std::string& line) {
  const bool is_text = line.find('\0') == std::string::npos;
  return Json::parse(is_text ? line : "", nullptr, /*allow_exceptions=*/false);
}

// An object with members of any name, in the order of its document.
template <class T>
using OrderedMap = nlohmann::ordered_map<std::string, T>;

// A document as it is printed, with a line's end: in ASCII, so that what moves
// a terminal's cursor is escaped, and who reads the document gets the same
// text.
inline std::string JsonText(const Json& document, int indent = -1) {
  return document.dump(indent, ' ', /*ensure_ascii=*/true) + "\n";
}

// Writes a number for readers who need no more than null where it is not
// finite.
inline Json NumberOrNull(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

// Writes a number for readers who tell the cases apart: "nan", "inf" or "-inf".
inline Json NumberOrName(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_BASE_JSON_H_
