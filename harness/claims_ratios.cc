#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "harness/claims_cells.h"
#include "harness/claims_quantities.h"

namespace attnbench {
namespace {

using Pairs = std::vector<ClaimPair>;

double RatioOf(const ClaimPair& pair) {
  return std::exp(Center(LogRatiosOf(pair), kMiss).value);
}

std::vector<Reading> TimeRatios(const Pairs& pairs) {
  std::vector<Reading> readings;
  for (const ClaimPair& pair : pairs) {
    readings.push_back(
        pair.why.empty()
            ? ReadingOf(pair.labels,
                        Exp(CenterWithLayout(LogRatiosOf(pair),
                                             MissOfOne(pairs.size()),
                                             LayoutReach::kOfRatio)),
                        pair.evidence)
            : NoReading(pair.labels, pair.why, pair.evidence));
  }
  return readings;
}

// ---- groups of ratios -------------------------------------------------------

KeyedGroups<ClaimPair> GroupsOf(const Pairs& pairs,
                                const std::vector<std::string>& labels) {
  KeyedGroups<ClaimPair> groups;
  for (const ClaimPair& pair : pairs) {
    Json key = Json::object();
    for (const std::string& name : labels) key[name] = pair.labels.at(name);
    GroupOf(groups, key).push_back(pair);
  }
  return groups;
}

Json EvidenceOfAll(const Pairs& pairs) {
  Json evidence = Json::array();
  for (const ClaimPair& pair : pairs) {
    for (const Json& entry : pair.evidence) evidence.push_back(entry);
  }
  return evidence;
}

// Why the group as a whole says nothing; empty: it does.
std::string WhyNot(const Pairs& pairs) {
  std::vector<ProcessSamples> series;
  for (const ClaimPair& pair : pairs) {
    if (!pair.why.empty()) return pair.why;
    series.push_back(SamplesOf(*pair.of.cell));
  }
  return HaveEqualShapes(series) ? "" : "not all cells have as many rounds";
}

std::vector<ProcessSamples> LogRatiosOf(const Pairs& pairs) {
  std::vector<ProcessSamples> series;
  series.reserve(pairs.size());
  for (const ClaimPair& pair : pairs) series.push_back(LogRatiosOf(pair));
  return series;
}

Reading RankCorrelationOf(const Json& key, const Pairs& pairs,
                          const std::string& axis, double miss) {
  std::vector<double> x;
  for (const ClaimPair& pair : pairs) x.push_back(pair.labels.at(axis));
  const std::vector<ProcessSamples> series = LogRatiosOf(pairs);
  const auto of_logs = [&](std::span<const double> logs) {
    return RankCorrelation(x, logs);
  };
  Estimate estimate = FigureOf(series, miss, LayoutReach::kOfRatio,
                               FigureKind::kNotLinear, of_logs);
  // What layout adds knows nothing of what a correlation can be.
  estimate.interval = {std::max(estimate.interval.low, -1.0),
                       std::min(estimate.interval.high, 1.0)};
  return ReadingOf(key, estimate, EvidenceOfAll(pairs));
}

// The interval has the places of all that may be the greatest: whose ratio's
// interval reaches as far as that of the greatest.
Reading PlaceOfGreatest(const Json& key, const Pairs& pairs,
                        const std::string& formula, double miss) {
  const auto greatest = std::ranges::max_element(pairs, {}, RatioOf);
  const auto interval_of = [&](const ClaimPair& pair) {
    return CenterWithLayout(LogRatiosOf(pair),
                            miss / static_cast<double>(pairs.size()),
                            LayoutReach::kOfRatio)
        .interval;
  };
  const double least = interval_of(*greatest).low;
  Estimate place;
  place.value = FormulaValue(formula, greatest->labels);
  place.interval = {place.value, place.value};
  for (const ClaimPair& pair : pairs) {
    if (interval_of(pair).high < least) continue;
    const double value = FormulaValue(formula, pair.labels);
    place.interval.low = std::min(place.interval.low, value);
    place.interval.high = std::max(place.interval.high, value);
  }
  Json labels = greatest->labels;
  labels.update(key);
  return ReadingOf(labels, place, greatest->evidence);
}

// rank_correlation and place_of_greatest, which are of a group of the part.
std::vector<Reading> OfGroups(const ClaimPart& part, const Pairs& pairs) {
  const Json& quantity = part.quantity;
  const auto groups = GroupsOf(pairs, part.per);
  std::vector<Reading> readings;
  for (const auto& [key, members] : groups) {
    const std::string why = WhyNot(members);
    if (!why.empty()) {
      readings.push_back(NoReading(key, why, EvidenceOfAll(members)));
    } else if (quantity.at("kind") == "rank_correlation") {
      readings.push_back(RankCorrelationOf(key, members,
                                           quantity.at("against").at(0),
                                           MissOfOne(groups.size())));
    } else {
      readings.push_back(PlaceOfGreatest(key, members, quantity.at("over"),
                                         MissOfOne(groups.size())));
    }
  }
  return readings;
}

// ---- along an axis ----------------------------------------------------------

// Those that agree in all labels but that of the axis, in its order.
KeyedGroups<ClaimPair> AlongAxis(const Pairs& pairs, const std::string& axis) {
  KeyedGroups<ClaimPair> groups;
  for (const ClaimPair& pair : pairs) {
    GroupOf(groups, Without(pair.labels, {axis})).push_back(pair);
  }
  for (auto& [key, members] : groups) {
    std::ranges::stable_sort(members, {}, [&](const ClaimPair& pair) {
      return pair.labels.at(axis).get<double>();
    });
  }
  return groups;
}

std::vector<Reading> Steps(const Pairs& pairs, const std::string& axis) {
  const auto groups = AlongAxis(pairs, axis);
  std::size_t count = 0;
  for (const auto& [key, members] : groups) count += members.size() - 1;
  std::vector<Reading> readings;
  for (const auto& [key, members] : groups) {
    for (std::size_t i = 1; i < members.size(); ++i) {
      const Pairs two = {members[i - 1], members[i]};
      const std::string why = WhyNot(two);
      const Json evidence = EvidenceOfAll(two);
      readings.push_back(
          why.empty()
              // Of one program at two lengths: its code lies alike in both,
              // only its data does not.
              ? ReadingOf(
                    two[1].labels,
                    Exp(FigureOf(LogRatiosOf(two), MissOfOne(count),
                                 LayoutReach::kOfTime, FigureKind::kLinear,
                                 [](std::span<const double> logs) {
                                   return logs[1] - logs[0];
                                 })),
                    evidence)
              : NoReading(two[1].labels, why, evidence));
    }
  }
  return readings;
}

// ln of where the ratio is 1, linear in the logarithms between two values of
// the axis; none: it is not between any two.
std::optional<double> Crossing(std::span<const double> log_axis,
                               std::span<const double> log_ratio) {
  for (std::size_t i = 1; i < log_axis.size(); ++i) {
    const double before = log_ratio[i - 1];
    const double after = log_ratio[i];
    if ((before > 0) == (after > 0)) continue;
    return log_axis[i - 1] +
           (log_axis[i] - log_axis[i - 1]) * before / (before - after);
  }
  return {};
}

Reading BreakEven(const Json& key, const Pairs& pairs, const std::string& axis,
                  const std::string& formula, double miss) {
  std::vector<double> log_axis;
  for (const ClaimPair& pair : pairs) {
    log_axis.push_back(std::log(pair.labels.at(axis).get<double>()));
  }
  // Where it crosses nowhere in the grid, it does so beyond the end at which it
  // is nearer to 0.
  const auto crossing = [&](std::span<const double> logs) {
    const bool beyond = std::fabs(logs.back()) < std::fabs(logs.front());
    constexpr double kFar = std::numeric_limits<double>::infinity();
    return Crossing(log_axis, logs).value_or(beyond ? kFar : -kFar);
  };
  const Json evidence = EvidenceOfAll(pairs);
  const Estimate figure =
      FigureOf(LogRatiosOf(pairs), miss, LayoutReach::kOfRatio,
               FigureKind::kNotLinear, crossing);
  if (std::isinf(figure.value)) {
    return NoReading(
        key,
        fmt::format("the ratio is not 1 for any {} from {} to {}", axis,
                    AxisValueText(pairs.front().labels.at(axis)),
                    AxisValueText(pairs.back().labels.at(axis))),
        evidence);
  }
  const double over = FormulaValue(formula, key);
  Estimate place = Exp(figure);
  place.value /= over;
  place.interval.low /= over;
  place.interval.high /= over;
  return ReadingOf(key, place, evidence);
}

std::vector<Reading> BreakEvens(const Json& quantity, const Pairs& pairs) {
  const std::string axis = quantity.at("against").at(0);
  const auto groups = AlongAxis(pairs, axis);
  std::vector<Reading> readings;
  for (const auto& [key, members] : groups) {
    const std::string why = WhyNot(members);
    readings.push_back(why.empty()
                           ? BreakEven(key, members, axis, quantity.at("over"),
                                       MissOfOne(groups.size()))
                           : NoReading(key, why, EvidenceOfAll(members)));
  }
  return readings;
}

// ---- whole decoders ---------------------------------------------------------

// Of attention that is faster than that of `to`: what is no speed-up bounds
// none.
std::vector<Reading> WholeOverPart(const Pairs& pairs, std::string& none) {
  constexpr char kPart[] = "attention_samples_ns";
  std::vector<Reading> readings;
  std::vector<const ClaimPair*> faster;
  for (const ClaimPair& pair : pairs) {
    std::string why = pair.why;
    if (why.empty() && !HaveEqualShapes({SamplesOf(*pair.of.cell),
                                         SamplesOf(*pair.of.cell, kPart),
                                         SamplesOf(*pair.to.cell, kPart)})) {
      why = "the attention was not timed in the rounds of the whole";
    }
    if (!why.empty()) {
      readings.push_back(NoReading(pair.labels, why, pair.evidence));
    } else if (Center(LogRatiosOf(pair, kPart), kMiss).value >= 0) {
      faster.push_back(&pair);
    }
  }
  none = "attention alone is nowhere faster, so there is no speed-up to bound";
  for (const ClaimPair* pair : faster) {
    const Estimate estimate = FigureOf(
        {LogRatiosOf(*pair), LogRatiosOf(*pair, kPart)},
        MissOfOne(faster.size()), LayoutReach::kOfRatio, FigureKind::kLinear,
        [](std::span<const double> logs) { return logs[0] - logs[1]; });
    readings.push_back(ReadingOf(pair->labels, Exp(estimate), pair->evidence));
  }
  return readings;
}

// The figure of a published table for what the cell is; none: it has no such
// row.
std::optional<double> PublishedOf(const Json& rows, const std::string& column,
                                  const Json& labels) {
  for (const Json& row : rows) {
    bool matches = true;
    for (const char* name : {"mechanism", "num_contexts", "length"}) {
      matches = matches &&
                (!row.contains(name) || row.at(name) == FieldOf(labels, name));
    }
    if (matches && row.at(column).is_number()) return row.at(column);
  }
  return {};
}

std::vector<Reading> OverPublished(const Json& quantity, const Pairs& all,
                                   const Json& published, std::string& none) {
  const std::string name = quantity.at("table");
  const std::string column = quantity.at("column");
  const Json& rows = FieldOf(published, name);
  Pairs pairs;
  std::vector<double> ratios;
  for (const ClaimPair& pair : all) {
    const auto of = PublishedOf(rows, column, pair.of.labels);
    const auto to = PublishedOf(rows, column, pair.to.labels);
    if (!of || !to) continue;
    pairs.push_back(pair);
    ratios.push_back(*of / *to);
  }
  if (pairs.empty() && !all.empty()) {
    none = "no published table " + name + " has these rows";
  }
  std::vector<Reading> readings = TimeRatios(pairs);
  for (std::size_t i = 0; i < readings.size(); ++i) {
    readings[i].value /= ratios[i];
    if (!readings[i].interval) continue;
    readings[i].interval->low /= ratios[i];
    readings[i].interval->high /= ratios[i];
  }
  return readings;
}

}  // namespace

Readings ReadRatios(const ClaimPart& part, const ClaimDocument& document,
                    const Json& published) {
  const Json& quantity = part.quantity;
  const std::string kind = quantity.at("kind");
  Readings readings;
  const Pairs pairs = PairsOf(document, quantity, readings.none);
  if (kind == "time_ratio") {
    readings.list = TimeRatios(pairs);
  } else if (kind == "steps") {
    const std::string axis = quantity.at("against").at(0);
    readings.list = Steps(pairs, axis);
    if (!pairs.empty()) readings.none = "there is but one value of " + axis;
  } else if (kind == "break_even") {
    readings.list = BreakEvens(quantity, pairs);
  } else if (kind == "whole_over_part") {
    if (!pairs.empty()) readings.list = WholeOverPart(pairs, readings.none);
  } else if (kind == "ratio_to_published") {
    readings.list = OverPublished(quantity, pairs, published, readings.none);
  } else {
    readings.list = OfGroups(part, pairs);
  }
  return readings;
}

}  // namespace attnbench
