#include "harness/results/cell_match.h"

#include <fmt/format.h>

#include "harness/results/summary.h"
#include "harness/results/sums.h"
#include "harness/stats/effects.h"

namespace attnbench {
namespace {

std::map<std::string, const ResultCell*> ByIdentity(const SweepResult& result) {
  std::map<std::string, const ResultCell*> cells;
  for (const ResultCell& cell : result.cells) cells[cell.Key()] = &cell;
  return cells;
}

}  // namespace

EffectCounts HiddenIn(const CellMatch::Pair& pair, bool same_program) {
  EffectCounts counts{.builds = 0, .processes = 0, .runs = 2};
  const bool same_builds = same_program && pair.a->builds == pair.b->builds;
  for (const ResultCell* cell : {pair.a, pair.b}) {
    if (cell->builds == 1 && !same_builds) ++counts.builds;
    if (cell->processes == 1) ++counts.processes;
  }
  return counts;
}

CellMatch MatchCells(const SweepResult& a, const SweepResult& b) {
  const auto of_a = ByIdentity(a);
  const auto of_b = ByIdentity(b);
  CellMatch match;
  for (const ResultCell& cell : a.cells) {
    const auto found = of_b.find(cell.Key());
    if (found == of_b.end()) {
      match.only_a.push_back(&cell);
    } else {
      match.both.push_back({&cell, found->second});
    }
  }
  for (const ResultCell& cell : b.cells) {
    if (!of_a.contains(cell.Key())) match.only_b.push_back(&cell);
  }
  return match;
}

std::string GroupOf(const ResultCell& cell) {
  std::string group = cell.point;
  for (const char* axis : kGroupAxes) {
    group += " " + cell.axes.at(axis).Shown();
  }
  return group;
}

bool HaveSameRounds(const ResultCell& a, const ResultCell& b) {
  return a.processes == b.processes && a.builds == b.builds &&
         a.samples_ns.size() == b.samples_ns.size();
}

std::optional<Estimate> SpeedupOf(const ResultCell& cell,
                                  const ResultCell& over, double miss) {
  if (!HaveSameRounds(cell, over)) return {};
  const Effects& effects = CommittedEffects();
  return Exp(EstimateOf(
      PairedLogRatios(SamplesOf(over), SamplesOf(cell)), cell.builds,
      IsPeers(cell) == IsPeers(over) ? effects.ratio : effects.peer, miss));
}

std::string AxisText(const Axis& axis, const AxisValue& value) {
  if (!axis.letter.empty()) return axis.letter + "=" + value.Shown();
  return value.is_whole() ? axis.name + "=" + value.Shown() : value.Shown();
}

void CellNames::Add(const CellIdentity& cell) {
  for (const auto& [axis, value] : cell.axes) {
    if (!value.is_null()) axis_values_[axis].insert(value);
  }
  for (const auto& [option, value] : cell.options) {
    option_values_[cell.mechanism + " " + option].insert(value);
  }
}

std::string CellNames::Name(const CellIdentity& cell) const {
  std::string name = cell.mechanism;
  for (const Axis& axis : AllAxes()) {
    const AxisValue& value = cell.axes.at(axis.name);
    if (value.is_null() || axis_values_.at(axis.name).size() == 1) continue;
    name += " " + AxisText(axis, value);
  }
  for (const auto& [option, value] : cell.options) {
    if (option_values_.at(cell.mechanism + " " + option).size() == 1) continue;
    name += fmt::format(" {}={}", option, OptionText(value));
  }
  return name;
}

std::vector<NumberChange> NumberChanges(const ResultCell& a,
                                        const ResultCell& b) {
  if (a.status != b.status) {
    return {{"status", NameOf(a.status), NameOf(b.status)}};
  }
  if (!a.is_ok()) return {};
  std::vector<NumberChange> changes;
  const Json operations = ToJson(a.operations);
  const Json other_operations = ToJson(b.operations);
  for (const auto& [name, value] : operations.items()) {
    const Json& other = other_operations.at(name);
    if (value != other) changes.push_back({"operations." + name, value, other});
  }
  const auto reads = [](const ResultCell& cell) {
    return cell.decoder ? ToJson(cell.decoder->reads) : Json();
  };
  if (reads(a) != reads(b)) {
    changes.push_back({"decoder.reads", reads(a), reads(b)});
  }
  // Older results have no latency of whole decoders.
  const bool lacks_latency =
      a.decoder && a.latency.has_value() != b.latency.has_value();
  if (a.latency != b.latency && !lacks_latency) {
    changes.push_back({"latency", ToJson(a.latency), ToJson(b.latency)});
  }
  if (a.peak_memory_bytes != b.peak_memory_bytes) {
    changes.push_back({"peak_memory_bytes", ToJson(a.peak_memory_bytes),
                       ToJson(b.peak_memory_bytes)});
  }
  for (const Sum& sum : kSums) {
    const std::optional<double> of_a = *a.numerics.*sum.value;
    const std::optional<double> of_b = *b.numerics.*sum.value;
    if (!IsSameSum(sum, a.precision(), *a.numerics, *b.numerics)) {
      changes.push_back(
          {fmt::format("numerics.{}", sum.name), ToJson(of_a), ToJson(of_b)});
    }
  }
  return changes;
}

}  // namespace attnbench
