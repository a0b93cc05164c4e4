#include "harness/claims_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "mechanisms/common/check.h"

namespace attnbench {
namespace {

std::string LabelText(const Json& value) {
  if (value.is_null()) return "none";
  // 1, not 1.0, whoever wrote it.
  if (value.is_number()) return fmt::format("{}", value.get<double>());
  return AxisValueText(value);
}

// "variant = exact, workload = uniform"; empty: no labels.
std::string LabelsText(const Json& labels) {
  std::string text;
  for (const auto& [name, value] : labels.items()) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name,
                        LabelText(value));
  }
  return text;
}

// ---- groups -----------------------------------------------------------------

struct Members {
  Json labels;
  std::vector<Reading> readings;
};

std::vector<Members> GroupsOf(const ClaimPart& part, const Readings& all) {
  std::vector<Members> groups;
  for (const Reading& reading : all.list) {
    Json labels = Json::object();
    for (const std::string& name : part.per) {
      labels[name] = reading.labels.value(name, Json());
    }
    auto found = std::ranges::find(groups, labels, &Members::labels);
    if (found == groups.end()) {
      found = groups.insert(found, Members{std::move(labels), {}});
    }
    found->readings.push_back(reading);
  }
  return groups;
}

bool HasNumber(const Reading& reading) { return !std::isnan(reading.value); }

// ---- reduce -----------------------------------------------------------------

// The share of the readings between `low` and `high`.
Reading ShareOf(const std::vector<Reading>& readings, double low, double high) {
  Reading share;
  share.why = readings[0].why;
  const auto inside = std::ranges::count_if(readings, [&](const Reading& one) {
    return low <= one.value && one.value <= high;
  });
  share.value =
      static_cast<double>(inside) / static_cast<double>(readings.size());
  // All of them: the document, and no place in it.
  if (!readings[0].evidence.empty()) {
    Json entry = readings[0].evidence[0];
    entry["point"] = entry["place"] = nullptr;
    share.evidence.push_back(std::move(entry));
  }
  return share;
}

Reading Magnitude(Reading reading) {
  reading.value = std::fabs(reading.value);
  if (reading.interval) {
    const auto [low, high] = *reading.interval;
    const double far = std::max(std::fabs(low), std::fabs(high));
    const bool has_zero = low <= 0 && 0 <= high;
    reading.interval =
        Interval{has_zero ? 0 : std::min(std::fabs(low), std::fabs(high)), far};
  }
  return reading;
}

// One that has no number may have been any of them.
const Reading* WithoutNumber(const std::vector<Reading>& readings) {
  const auto found = std::ranges::find_if_not(readings, HasNumber);
  return found == readings.end() ? nullptr : &*found;
}

std::vector<Reading> Reduce(const Json& quantity,
                            std::vector<Reading> readings) {
  if (!quantity.contains("reduce")) return readings;
  if (const Reading* const none = WithoutNumber(readings)) return {*none};
  const std::string reduce = quantity.at("reduce");
  if (reduce == "share") {
    return {ShareOf(readings, quantity.at("low"), quantity.at("high"))};
  }
  if (reduce == "greatest_magnitude") {
    std::ranges::transform(readings, readings.begin(), Magnitude);
  }
  const auto by_value = [](const Reading& a, const Reading& b) {
    return a.value < b.value;
  };
  return {reduce == "least" ? *std::ranges::min_element(readings, by_value)
                            : *std::ranges::max_element(readings, by_value)};
}

// ---- a group ----------------------------------------------------------------

// The bound that the interval contains, for a message.
double BoundInside(const ClaimRule& rule, const Interval& interval) {
  const bool has_low = interval.low <= rule.low && rule.low <= interval.high;
  return has_low && std::isfinite(rule.low) ? rule.low : rule.high;
}

GroupState StateOf(const ClaimRule& rule, const Reading& reading) {
  if (!HasNumber(reading) || !reading.why.empty()) {
    return GroupState::kUndecided;
  }
  const auto [low, high] =
      reading.interval.value_or(Interval{reading.value, reading.value});
  if (rule.Allows(low) && rule.Allows(high)) return GroupState::kHolds;
  if (high < rule.low || low > rule.high) return GroupState::kFails;
  return GroupState::kUndecided;
}

// Why a reading is undecided.
void TellWhy(const ClaimRule& rule, const Reading& reading, ClaimGroup& group) {
  group.is_wide = HasNumber(reading) && reading.why.empty();
  if (!group.is_wide) {
    group.why = reading.why.empty() ? "no number" : reading.why;
    return;
  }
  const Interval& interval = *reading.interval;
  group.why =
      fmt::format("the interval [{:.3g}, {:.3g}] contains {:.3g}", interval.low,
                  interval.high, BoundInside(rule, interval));
}

void JudgeGroup(const ClaimRule& rule, const std::vector<Reading>& readings,
                ClaimGroup& group) {
  group.state = GroupState::kHolds;
  for (const Reading& reading : readings) {
    const GroupState state = StateOf(rule, reading);
    if (state == GroupState::kFails) {
      group.state = state;
      group.why.clear();
      return;
    }
    if (state == GroupState::kUndecided && group.why.empty()) {
      group.state = state;
      TellWhy(rule, reading, group);
    }
  }
}

ClaimGroup MakeGroup(const ClaimPart& part, const Members& members) {
  const std::vector<Reading> readings = Reduce(part.quantity, members.readings);
  ClaimGroup group{.labels = members.labels, .num_readings = readings.size()};
  group.least = group.greatest = readings[0];
  for (const Reading& reading : readings) {
    if (!HasNumber(reading)) continue;
    if (!(group.least.value <= reading.value)) group.least = reading;
    if (!(group.greatest.value >= reading.value)) group.greatest = reading;
  }
  if (part.rule) JudgeGroup(*part.rule, readings, group);
  return group;
}

// ---- conditions -------------------------------------------------------------

using Groups = std::vector<const ClaimGroup*>;

Groups InState(const std::vector<ClaimGroup>& groups, GroupState state) {
  Groups found;
  for (const ClaimGroup& group : groups) {
    if (group.state == state) found.push_back(&group);
  }
  return found;
}

std::vector<Json> ValuesOf(const Groups& groups, const std::string& label) {
  std::vector<Json> values;
  for (const ClaimGroup* group : groups) {
    const Json& value = group->labels.at(label);
    if (std::ranges::find(values, value) == values.end()) {
      values.push_back(value);
    }
  }
  return values;
}

std::string SetText(const std::string& label, const std::vector<Json>& values) {
  if (values.size() == 1) return label + " = " + LabelText(values[0]);
  std::string list;
  for (const Json& value : values) {
    list += (list.empty() ? "" : ", ") + LabelText(value);
  }
  return fmt::format("{} in {{{}}}", label, list);
}

bool Holds(const ClaimGroup* group) {
  return group->state == GroupState::kHolds;
}

// "a = 1 and b in {2, 3}" where the groups that hold are all those with these
// values; else nothing.
std::string ProductText(const ClaimPart& part, const Groups& every) {
  Groups holding = every;
  std::erase_if(holding, [](const ClaimGroup* one) { return !Holds(one); });
  Groups described = every;
  std::string text;
  for (const std::string& label : part.per) {
    const std::vector<Json> values = ValuesOf(holding, label);
    if (values.size() == ValuesOf(every, label).size()) continue;
    text += (text.empty() ? "" : " and ") + SetText(label, values);
    std::erase_if(described, [&](const ClaimGroup* one) {
      return std::ranges::find(values, one->labels.at(label)) == values.end();
    });
  }
  return std::ranges::all_of(described, Holds) ? text : "";
}

// For what the groups hold: values of labels with which all do, then what is
// left of them one by one.
std::string ConditionText(const ClaimPart& part, const Groups& every) {
  std::string product = ProductText(part, every);
  if (!product.empty()) return product;
  Groups left = every;
  std::erase_if(left, [](const ClaimGroup* one) { return !Holds(one); });
  std::string text;
  const auto add = [&text](const std::string& more) {
    text += (text.empty() ? "" : "; or ") + more;
  };
  for (const std::string& label : part.per) {
    for (const Json& value : ValuesOf(left, label)) {
      const auto has_value = [&](const ClaimGroup* one) {
        return one->labels.at(label) == value;
      };
      const auto breaks = [&](const ClaimGroup* one) {
        return has_value(one) && !Holds(one);
      };
      if (std::ranges::count_if(left, has_value) < 2) continue;
      if (std::ranges::any_of(every, breaks)) continue;
      add(SetText(label, {value}));
      std::erase_if(left, has_value);
    }
  }
  for (const ClaimGroup* group : left) add(LabelsText(group->labels));
  return text;
}

// "a = 1, b = 2; a = 2, b = 3".
std::string NamesText(const Groups& groups) {
  std::string text;
  for (const ClaimGroup* group : groups) {
    text += (text.empty() ? "" : "; ") + LabelsText(group->labels);
  }
  return text;
}

// Why, and of whom where that is not all. Intervals are all different: the
// first is told.
std::string ReasonText(const Groups& groups, std::size_t num_all,
                       const std::string& remedy) {
  const ClaimGroup& first = *groups[0];
  Groups named = groups;
  if (first.is_wide) named.resize(1);
  std::string text = first.why;
  const std::string names = NamesText(named);
  if (!names.empty() && named.size() < num_all) text += " (" + names + ")";
  if (!first.is_wide) return text;
  if (groups.size() > 1) {
    text += fmt::format(", and {} more like it", groups.size() - 1);
  }
  return remedy.empty() ? text : text + "; " + remedy;
}

// The reasons of all groups without a verdict.
std::string ReasonsText(const Groups& undecided, std::size_t num_all,
                        const std::string& remedy) {
  std::vector<std::pair<std::string, Groups>> reasons;
  for (const ClaimGroup* group : undecided) {
    const std::string key = group->is_wide ? "" : group->why;
    auto found =
        std::ranges::find(reasons, key, &std::pair<std::string, Groups>::first);
    if (found == reasons.end()) found = reasons.insert(found, {key, {}});
    found->second.push_back(group);
  }
  std::string text;
  for (const auto& [key, groups] : reasons) {
    text += (text.empty() ? "" : ", ") + ReasonText(groups, num_all, remedy);
  }
  return text;
}

// Those of whom it fails: few by their labels.
std::string FailingText(const Groups& failing) {
  constexpr std::size_t kMostNamed = 2;
  return failing.size() > kMostNamed ? fmt::format("{} others", failing.size())
                                     : NamesText(failing);
}

ClaimVerdict VerdictOf(const ClaimPart& part,
                       const std::vector<ClaimGroup>& groups,
                       const std::string& remedy) {
  using Kind = ClaimVerdictKind;
  const Groups holding = InState(groups, GroupState::kHolds);
  const Groups failing = InState(groups, GroupState::kFails);
  const Groups undecided = InState(groups, GroupState::kUndecided);
  if (holding.size() == groups.size()) return {Kind::kHolds, ""};
  if (holding.empty() && undecided.empty()) return {Kind::kFails, ""};
  // Noise is no condition: only what fails elsewhere holds only somewhere.
  Groups decided = holding;
  decided.insert(decided.end(), failing.begin(), failing.end());
  std::string condition;
  if (!holding.empty() && !failing.empty()) {
    condition = ConditionText(part, decided);
    if (undecided.empty()) return {Kind::kHoldsOnlyIf, condition};
  }
  std::string why = ReasonsText(undecided, groups.size(), remedy);
  if (holding.empty()) {
    if (!failing.empty()) why += ", and it fails for " + FailingText(failing);
    return {Kind::kNotMeasurable, why};
  }
  const std::string apart =
      fmt::format("undecided for {}: {}", NamesText(undecided),
                  ReasonsText(undecided, undecided.size(), remedy));
  if (!failing.empty()) {
    return {Kind::kHoldsOnlyIf, fmt::format("{} ({})", condition, apart)};
  }
  return {Kind::kNotMeasurable,
          fmt::format("holds for {}, {}", NamesText(holding), apart)};
}

// Whether a group has the same value of every label that a wider one has.
bool IsOf(const ClaimGroup& group, const ClaimGroup& wider) {
  return std::ranges::all_of(wider.labels.items(), [&](const auto& label) {
    return group.labels.at(label.key()) == label.value();
  });
}

// The groups of the part `finest`, each with the worst that a part says of it.
std::vector<ClaimGroup> Together(std::span<const PartVerdict> parts,
                                 const std::vector<std::size_t>& which,
                                 std::size_t finest) {
  const auto badness = [](GroupState state) {
    if (state == GroupState::kFails) return 2;
    return state == GroupState::kUndecided ? 1 : 0;
  };
  std::vector<ClaimGroup> together = parts[finest].groups;
  for (ClaimGroup& group : together) {
    for (const std::size_t i : which) {
      for (const ClaimGroup& other : parts[i].groups) {
        if (!IsOf(group, other)) continue;
        if (badness(other.state) <= badness(group.state)) continue;
        group.state = other.state;
        group.why = other.why;
        group.is_wide = other.is_wide;
      }
    }
  }
  return together;
}

// Of parts that hold for some groups each: where one has the labels of all
// others, of its groups together; else under the condition of each.
ClaimVerdict UnderAllConditions(const Claim& claim,
                                std::span<const PartVerdict> parts,
                                const std::vector<std::size_t>& which,
                                const std::string& remedy) {
  const std::size_t finest = std::ranges::max(
      which, {}, [&](std::size_t i) { return claim.parts[i].per.size(); });
  const std::vector<std::string>& per = claim.parts[finest].per;
  const bool has_all_labels = std::ranges::all_of(which, [&](std::size_t i) {
    return std::ranges::all_of(
        claim.parts[i].per, [&](const std::string& label) {
          return std::ranges::find(per, label) != per.end();
        });
  });
  if (has_all_labels && !parts[finest].groups.empty()) {
    return VerdictOf(claim.parts[finest], Together(parts, which, finest),
                     remedy);
  }
  std::string text;
  for (const std::size_t i : which) {
    const std::string& condition = parts[i].verdict.text;
    const bool is_choice =
        which.size() > 1 && condition.find("; or ") != std::string::npos;
    text += (text.empty() ? "" : " and ") +
            (is_choice ? "(" + condition + ")" : condition);
  }
  return {ClaimVerdictKind::kHoldsOnlyIf, text};
}

}  // namespace

std::string ClaimVerdict::Text() const {
  switch (kind) {
    case ClaimVerdictKind::kHolds:
      return "holds";
    case ClaimVerdictKind::kFails:
      return "fails";
    case ClaimVerdictKind::kHoldsOnlyIf:
      return "holds only if " + text;
    case ClaimVerdictKind::kNotMeasurable:
      return "not measurable here: " + text;
    case ClaimVerdictKind::kNotJudged:
      break;
  }
  return "not judged";
}

PartVerdict JudgePart(const ClaimPart& part, const Readings& readings,
                      const std::string& remedy) {
  if (readings.list.empty()) {
    return {{ClaimVerdictKind::kNotMeasurable,
             readings.none.empty() ? "no readings" : readings.none},
            {}};
  }
  PartVerdict judged;
  for (const Members& members : GroupsOf(part, readings)) {
    judged.groups.push_back(MakeGroup(part, members));
  }
  if (part.rule) judged.verdict = VerdictOf(part, judged.groups, remedy);
  return judged;
}

ClaimVerdict JudgeClaim(const Claim& claim, std::span<const PartVerdict> parts,
                        const std::string& remedy) {
  using Kind = ClaimVerdictKind;
  ATTN_CHECK_EQ(claim.parts.size(), parts.size());
  std::map<Kind, std::vector<std::size_t>> with;  // the parts with that verdict
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!claim.parts[i].is_beside) with[parts[i].verdict.kind].push_back(i);
  }
  if (with.contains(Kind::kFails)) return {Kind::kFails, ""};
  if (with.contains(Kind::kNotMeasurable)) {
    // One reason is enough, and whose it is where there are other parts.
    const std::size_t i = with[Kind::kNotMeasurable][0];
    const std::string& text = parts[i].verdict.text;
    return {Kind::kNotMeasurable,
            claim.parts.size() == 1 ? text : claim.parts[i].name + ": " + text};
  }
  if (with.contains(Kind::kHoldsOnlyIf)) {
    return UnderAllConditions(claim, parts, with[Kind::kHoldsOnlyIf], remedy);
  }
  return {Kind::kHolds, ""};
}

}  // namespace attnbench
