#include "harness/sweep/exclusions.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/base/error.h"

namespace attnbench {
namespace {

// Gives `value` as the cell has it: "=T" stands for the cell's T.
const AxisValue& ValueFor(const Axis& axis, const AxisValue& value,
                          const Cell& cell) {
  if (axis.type != AxisType::kInteger || !value.is_text() ||
      !value.text().starts_with('=')) {
    return value;
  }
  const std::string other = value.text().substr(1);
  return cell.axes.at(FindAxis(other, axis.name).name);
}

bool Holds(const Exclusion& exclusion, const Cell& cell) {
  if (!exclusion.mechanisms.empty() &&
      !Contains(exclusion.mechanisms, cell.mechanism)) {
    return false;
  }
  for (const auto& [name, values] : exclusion.axes) {
    const Axis& axis = FindAxis(name, "exclusions");
    const AxisValue& own = cell.axes.at(axis.name);
    const auto is_own = [&](const AxisValue& value) {
      return !own.is_null() && ValueFor(axis, value, cell) == own;
    };
    if (!std::any_of(values.begin(), values.end(), is_own)) return false;
  }
  return true;
}

}  // namespace

bool IsExcluded(std::span<const Exclusion> exclusions, const Cell& cell) {
  return std::any_of(
      exclusions.begin(), exclusions.end(),
      [&](const Exclusion& exclusion) { return Holds(exclusion, cell); });
}

void CheckExclusions(std::span<const SweepRequest> requests,
                     const std::string& where) {
  std::vector<bool> holds(requests.front().exclusions.size());
  for (SweepRequest request : requests) {
    const std::vector<Exclusion> exclusions =
        std::exchange(request.exclusions, {});
    for (const Point& point : ExpandSweep(request).points) {
      for (const Cell& cell : point.cells) {
        for (std::size_t i = 0; i < holds.size(); ++i) {
          if (!holds[i]) holds[i] = Holds(exclusions[i], cell);
        }
      }
    }
  }
  const auto useless = std::find(holds.begin(), holds.end(), false);
  if (useless == holds.end()) return;
  throw UserError(fmt::format("{}[{}]", where, useless - holds.begin()),
                  "leaves nothing out: no cell of the experiment has all of "
                  "these values");
}

}  // namespace attnbench
