#include "harness/base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "harness/base/printable.h"

namespace attnbench {
namespace {

// Sentences that quote flags of two compilers have several hundred characters.
constexpr std::size_t kMostOfSentence = 1000;

// Levenshtein's distance, row by row.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

UserError::UserError(const std::string& where, const std::string& what)
    : std::runtime_error(Shortened(where) + ": " +
                         Shortened(what, kMostOfSentence)) {}

bool Contains(std::span<const std::string> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string UnknownName(std::string_view what, std::string_view given,
                        std::span<const std::string> valid) {
  if (valid.empty()) {
    return fmt::format("unknown {} '{}'; there are none here", what,
                       Shortened(given));
  }
  const auto nearest =
      std::min_element(valid.begin(), valid.end(),
                       [given](const std::string& a, const std::string& b) {
                         return EditDistance(given, a) < EditDistance(given, b);
                       });
  // As many as a line holds.
  constexpr std::size_t kMostListed = 200;
  std::size_t listed = 0;
  for (std::size_t length = 0; listed < valid.size(); ++listed) {
    length += valid[listed].size() + 2;
    if (length > kMostListed) break;
  }
  const std::size_t others = valid.size() - listed;
  return fmt::format("unknown {} '{}'; did you mean '{}'? valid: {}{}", what,
                     Shortened(given), *nearest,
                     fmt::join(valid.first(listed), ", "),
                     others == 0 ? "" : fmt::format(" and {} more", others));
}

}  // namespace attnbench
