#include "harness/base/parse_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "harness/base/error.h"
#include "harness/base/json.h"
#include "harness/base/printable.h"

namespace attnbench {

std::int64_t ParseInteger(std::string_view text, std::int64_t least,
                          std::int64_t greatest, const std::string& where) {
  std::int64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || value < least ||
      value > greatest) {
    throw UserError(where, fmt::format("'{}' is not a whole number from {} to "
                                       "{}",
                                       Shortened(text), least, greatest));
  }
  return value;
}

double ParseShare(std::string_view text, const std::string& where,
                  const std::string& example) {
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || !(value > 0 && value < 1)) {
    throw UserError(where,
                    fmt::format("'{}' is not allowed; allowed: a number "
                                "between 0 and 1, both excluded, such as {}",
                                Shortened(text), example));
  }
  return value;
}

void CheckUtf8(const std::string& text, const std::string& where) {
  try {
    static_cast<void>(Json(text).dump());
  } catch (const Json::exception&) {
    throw UserError(where, "is not UTF-8 text");
  }
}

std::vector<std::string> SplitList(std::string_view text,
                                   const std::string& where) {
  std::vector<std::string> items;
  std::size_t first = 0;
  while (first <= text.size()) {
    const std::size_t comma = std::min(text.find(',', first), text.size());
    items.emplace_back(text.substr(first, comma - first));
    if (items.back().empty()) {
      throw UserError(where, fmt::format("'{}' has an empty item; write a list "
                                         "with one comma between two items",
                                         Shortened(text)));
    }
    first = comma + 1;
  }
  return items;
}

}  // namespace attnbench
