// Guards against a claim that passes because nothing was measured, one that is
// called broken by noise, and a verdict that hides for what it holds.
#include "harness/claims_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace attnbench {
namespace {

using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

ClaimPart Part(std::vector<std::string> per = {},
               const Json& quantity = Json::object()) {
  ClaimPart part{.name = "figure",
                 .unit = "ratio",
                 .per = std::move(per),
                 .rule = ClaimRule(),
                 .quantity = quantity};
  part.rule->high = 1;
  part.rule->json = {{"kind", "at_most"}, {"bound", 1}};
  return part;
}

Reading Of(double value, const Json& labels = Json::object()) {
  return {.labels = labels, .value = value};
}

Reading Between(double low, double high) {
  Reading reading = Of((low + high) / 2);
  reading.interval = Interval{low, high};
  return reading;
}

std::string Verdict(const ClaimPart& part, std::vector<Reading> readings) {
  return JudgePart(part, {.list = std::move(readings)}, "look longer")
      .verdict.Text();
}

TEST(ClaimsJudge, AReadingIsJudgedByAllOfItsInterval) {
  EXPECT_EQ(Verdict(Part(), {Between(0.5, 0.9)}), "holds");
  EXPECT_EQ(Verdict(Part(), {Between(1.1, 1.9)}), "fails");
  EXPECT_EQ(Verdict(Part(), {Between(0.9, 1.2)}),
            "not measurable here: the interval [0.9, 1.2] contains 1; look "
            "longer");
  EXPECT_EQ(Verdict(Part(), {Between(-kInf, kInf)}).substr(0, 14),
            "not measurable");
  ClaimPart within = Part();
  within.rule->low = 0.8;
  EXPECT_EQ(Verdict(within, {Between(0.5, 0.7)}), "fails");
  EXPECT_EQ(Verdict(within, {Between(0.85, 0.95)}), "holds");
  // Wider than what is allowed is no sign of either.
  EXPECT_THAT(Verdict(within, {Between(0.5, 2)}), HasSubstr("contains 0.8"));
  EXPECT_THAT(Verdict(within, {Between(0.9, 2)}), HasSubstr("contains 1"));
}

TEST(ClaimsJudge, WithoutAnIntervalTheNumberIsJudged) {
  EXPECT_EQ(Verdict(Part(), {Of(1)}), "holds");
  EXPECT_EQ(Verdict(Part(), {Of(std::nextafter(1, 2))}), "fails");
  EXPECT_EQ(Verdict(Part(), {Of(kInf)}), "fails");
  EXPECT_EQ(Verdict(Part(), {Of(-kInf)}), "holds");
}

TEST(ClaimsJudge, NoNumberNeverHolds) {
  Reading none;
  none.why = "invalid: wrong output";
  EXPECT_EQ(Verdict(Part(), {none}),
            "not measurable here: invalid: wrong output");
  EXPECT_EQ(Verdict(Part(), {Of(0.5), none}),
            "not measurable here: invalid: wrong output");
  EXPECT_EQ(Verdict(Part(), {Of(2), none}), "fails");
  EXPECT_EQ(
      JudgePart(Part(), {.list = {}, .none = "no cell"}, "").verdict.Text(),
      "not measurable here: no cell");
  for (const char* reduce :
       {"least", "greatest", "greatest_magnitude", "share"}) {
    const Json quantity = {{"reduce", reduce}, {"low", 0}, {"high", 9}};
    EXPECT_EQ(Verdict(Part({}, quantity), {Of(0.5), none}),
              "not measurable here: invalid: wrong output")
        << reduce;
  }
}

TEST(ClaimsJudge, ReduceJudgesTheReadingThatItNames) {
  const auto reduced = [](const char* reduce) {
    return Verdict(Part({}, {{"reduce", reduce}, {"low", 0}, {"high", 0.5}}),
                   {Of(0.5), Of(-3), Of(0.25), Of(1.5)});
  };
  EXPECT_EQ(reduced("least"), "holds");
  EXPECT_EQ(reduced("greatest"), "fails");
  EXPECT_EQ(reduced("share"), "holds");
  const PartVerdict judged =
      JudgePart(Part({}, {{"reduce", "greatest_magnitude"}}),
                {.list = {Of(0.5), Between(-3, -2)}}, "");
  EXPECT_EQ(judged.verdict.Text(), "fails");
  EXPECT_EQ(judged.groups[0].greatest.value, 2.5);
  EXPECT_EQ(judged.groups[0].greatest.interval->low, 2);
  EXPECT_EQ(judged.groups[0].num_readings, 1U);
  const PartVerdict share =
      JudgePart(Part({}, {{"reduce", "share"}, {"low", 1}, {"high", 2}}),
                {.list = {Of(1), Of(2), Of(3), Of(0)}}, "");
  EXPECT_EQ(share.groups[0].least.value, 0.5);
}

TEST(ClaimsJudge, SomeGroupsThatHoldAreACondition) {
  const auto at = [](int w, const char* precision, double value) {
    return Of(value, {{"w", w}, {"precision", precision}, {"T", 5}});
  };
  const ClaimPart part = Part({"precision", "w"});
  EXPECT_EQ(Verdict(part, {at(1, "f32", 2), at(2, "f32", 2), at(1, "f64", 0),
                           at(2, "f64", 1)}),
            "holds only if precision = f64");
  EXPECT_EQ(Verdict(part, {at(1, "f32", 2), at(2, "f32", 0), at(3, "f32", 0),
                           at(1, "f64", 2), at(2, "f64", 2)}),
            "holds only if precision = f32 and w in {2, 3}");
  // No product of values: one by one.
  EXPECT_EQ(Verdict(part, {at(1, "f32", 2), at(2, "f32", 0), at(1, "f64", 0),
                           at(2, "f64", 2)}),
            "holds only if precision = f32, w = 2; or precision = f64, w = 1");
  // Values with which all hold go before.
  EXPECT_EQ(Verdict(part, {at(1, "f32", 0), at(2, "f32", 0), at(3, "f32", 0),
                           at(1, "f64", 2), at(2, "f64", 2), at(3, "f64", 0)}),
            "holds only if precision = f32; or precision = f64, w = 3");
  // One bad reading of a group is enough.
  EXPECT_EQ(Verdict(part, {at(1, "f32", 0), at(1, "f32", 2), at(2, "f32", 0)}),
            "holds only if w = 2");
}

TEST(ClaimsJudge, AnUndecidedGroupIsNoGroupThatHolds) {
  Reading none = Of(std::nan(""), {{"variant", "nested"}});
  none.why = "not counted";
  const ClaimPart part = Part({"variant"});
  EXPECT_EQ(Verdict(part, {Of(0, {{"variant", "exact"}}), none}),
            "not measurable here: holds for variant = exact, undecided for "
            "variant = nested: not counted");
  EXPECT_EQ(Verdict(part, {Of(2, {{"variant", "exact"}}), none}),
            "not measurable here: not counted (variant = nested), and it fails "
            "for variant = exact");
}

TEST(ClaimsJudge, NoiseIsNoCondition) {
  const auto at = [](int w, double low, double high) {
    Reading reading = Between(low, high);
    reading.labels = {{"w", w}};
    return reading;
  };
  const ClaimPart part = Part({"w"});
  EXPECT_EQ(Verdict(part, {at(1, 0.5, 0.9), at(2, 0.9, 1.1)}),
            "not measurable here: holds for w = 1, undecided for w = 2: the "
            "interval [0.9, 1.1] contains 1; look longer");
  // What fails is one; what is undecided has no part in it.
  EXPECT_EQ(Verdict(part, {at(1, 0.5, 0.9), at(2, 0.9, 1.1), at(3, 2, 3)}),
            "holds only if w = 1 (undecided for w = 2: the interval [0.9, 1.1] "
            "contains 1; look longer)");
}

TEST(ClaimsJudge, AReasonNamesItsGroupsUnlessItIsThatOfAll) {
  const auto none = [](int w, const char* why) {
    Reading reading = Of(std::nan(""), {{"w", w}});
    reading.why = why;
    return reading;
  };
  EXPECT_EQ(Verdict(Part({"w"}), {none(1, "busy"), none(2, "busy")}),
            "not measurable here: busy");
  EXPECT_EQ(Verdict(Part({"w"}),
                    {none(1, "busy"), none(2, "wrong"), none(3, "busy")}),
            "not measurable here: busy (w = 1; w = 3), wrong (w = 2)");
}

TEST(ClaimsJudge, OfManyWideIntervalsOneIsTold) {
  std::vector<Reading> readings;
  for (const int w : {1, 2, 3}) {
    readings.push_back(Between(0.5, 1 + w));
    readings.back().labels = {{"w", w}};
  }
  EXPECT_EQ(Verdict(Part({"w"}), readings),
            "not measurable here: the interval [0.5, 2] contains 1 (w = 1), "
            "and 2 more like it; look longer");
}

TEST(ClaimsJudge, LabelsThatAMechanismDoesNotHaveAreNone) {
  const ClaimPart part = Part({"preset"});
  EXPECT_EQ(
      Verdict(part, {Of(0, {{"preset", nullptr}}), Of(2, {{"preset", "tf"}})}),
      "holds only if preset = none");
}

TEST(ClaimsJudge, APartWithoutARuleIsShownAndNotJudged) {
  ClaimPart part = Part();
  part.rule.reset();
  const PartVerdict judged = JudgePart(part, {.list = {Of(7)}}, "");
  EXPECT_EQ(judged.verdict.Text(), "not judged");
  EXPECT_EQ(judged.groups[0].greatest.value, 7);
}

PartVerdict Judged(ClaimVerdictKind kind, const std::string& text = "") {
  return {{kind, text}, {}};
}

TEST(ClaimsJudge, AClaimIsItsWorstPart) {
  using Kind = ClaimVerdictKind;
  const Claim claim{.id = "x", .parts = {Part(), Part(), Part()}};
  const PartVerdict holds = Judged(Kind::kHolds);
  const PartVerdict fails = Judged(Kind::kFails);
  const PartVerdict if_a = Judged(Kind::kHoldsOnlyIf, "a = 1");
  const PartVerdict if_b = Judged(Kind::kHoldsOnlyIf, "b = 2");
  const PartVerdict none = Judged(Kind::kNotMeasurable, "no result");
  const auto text = [&](std::vector<PartVerdict> parts) {
    return JudgeClaim(claim, parts, "").Text();
  };
  EXPECT_EQ(text({holds, holds, holds}), "holds");
  EXPECT_EQ(text({holds, if_a, if_b}), "holds only if a = 1 and b = 2");
  EXPECT_EQ(text({if_a, none, holds}),
            "not measurable here: figure: no result");
  EXPECT_EQ(text({none, if_a, fails}), "fails");
}

TEST(ClaimsJudge, PartsThatHoldForDifferentGroupsHoldForNone) {
  ClaimPart part = Part();
  part.per = {"a"};
  const Claim claim{.id = "x", .parts = {part, part}};
  const auto judged = [&](std::vector<GroupState> states) {
    PartVerdict verdict = Judged(ClaimVerdictKind::kHoldsOnlyIf, "its own");
    for (std::size_t n = 0; n < states.size(); ++n) {
      verdict.groups.push_back({.labels = {{"a", n}}, .state = states[n]});
      verdict.groups.back().why = "noise";
    }
    return verdict;
  };
  using enum GroupState;
  const auto text = [&](const PartVerdict& one, const PartVerdict& other) {
    return JudgeClaim(claim, std::vector{one, other}, "").Text();
  };
  EXPECT_EQ(text(judged({kHolds, kFails}), judged({kFails, kHolds})), "fails");
  EXPECT_EQ(
      text(judged({kHolds, kHolds, kFails}), judged({kFails, kHolds, kHolds})),
      "holds only if a = 1");
  EXPECT_EQ(text(judged({kUndecided, kFails}), judged({kHolds, kFails})),
            "not measurable here: noise (a = 0), and it fails for a = 1");
}

TEST(ClaimsJudge, AWiderGroupSpeaksForAllThatItHas) {
  ClaimPart fine = Part(), wide = Part();
  fine.per = {"length", "K"};
  wide.per = {"length"};
  const Claim claim{.id = "x", .parts = {wide, fine}};
  using enum GroupState;
  const auto group = [](const Json& labels, GroupState state) {
    return ClaimGroup{.labels = labels, .state = state};
  };
  PartVerdict of_fine = Judged(ClaimVerdictKind::kHoldsOnlyIf, "its own");
  for (const int length : {20, 100}) {
    for (const int K : {1, 4}) {
      of_fine.groups.push_back(group({{"length", length}, {"K", K}},
                                     length == 20 ? kFails : kHolds));
    }
  }
  PartVerdict of_wide = Judged(ClaimVerdictKind::kHoldsOnlyIf, "its own");
  of_wide.groups = {group({{"length", 20}}, kHolds),
                    group({{"length", 100}}, kFails)};
  EXPECT_EQ(JudgeClaim(claim, std::vector{of_wide, of_fine}, "").Text(),
            "fails");
}

TEST(ClaimsJudge, AChoiceAmongConditionsStaysTogether) {
  ClaimPart by_a = Part(), by_b = Part();
  by_a.per = {"a"};
  by_b.per = {"b"};
  const Claim claim{.id = "x", .parts = {by_a, by_b}};
  const auto judged = [](const std::string& text) {
    return Judged(ClaimVerdictKind::kHoldsOnlyIf, text);
  };
  EXPECT_EQ(
      JudgeClaim(claim, std::vector{judged("a = 1; or c = 2"), judged("b = 3")},
                 "")
          .Text(),
      "holds only if (a = 1; or c = 2) and b = 3");
}

TEST(ClaimsJudge, APartBesideTheClaimHasNoSay) {
  ClaimPart beside = Part();
  beside.is_beside = true;
  const Claim claim{.id = "x", .parts = {Part(), beside}};
  EXPECT_EQ(JudgeClaim(claim,
                       std::vector{Judged(ClaimVerdictKind::kHolds),
                                   Judged(ClaimVerdictKind::kFails)},
                       "")
                .Text(),
            "holds");
}

}  // namespace
}  // namespace attnbench
