// Guards against a number that is read from the wrong cell, row or case, one
// whose interval promises too much, and a claim that no result could break.
#include "harness/claims_quantities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/claims_judge.h"
#include "tests/support/doctored_claims.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;
using testing::MadeUpCell;
using testing::MadeUpResult;

const ClaimsLedger& Ledger() {
  static const ClaimsLedger ledger = ReadClaimsLedger(
      "experiments/claims.json", "results/schema/claims_ledger.schema.json");
  return ledger;
}

// The verdict of every claim where its part `at` reads a number that the rule
// forbids, and all others one that it allows.
std::string VerdictWith(const Claim& claim, std::size_t at) {
  const Json published = testing::DoctoredPublished(Ledger());
  std::vector<PartVerdict> parts;
  for (std::size_t i = 0; i < claim.parts.size(); ++i) {
    const ClaimPart& part = claim.parts[i];
    if (!part.rule) {
      parts.emplace_back();
      continue;
    }
    const std::string from = part.quantity.at("from");
    const ClaimDocument document = testing::Doctored(
        Ledger().measurements.at(from), part,
        i == at ? testing::Forbidden(part) : testing::Allowed(part));
    parts.push_back(
        JudgePart(part, ReadQuantity(part, document, published), ""));
    EXPECT_EQ(parts[i].verdict.Text(), i == at ? "fails" : "holds")
        << claim.id << ", " << part.name;
  }
  return JudgeClaim(claim, parts, "").Text();
}

TEST(ClaimsQuantities, EveryClaimHoldsOrFailsByWhatItsDocumentsSay) {
  std::size_t judged = 0;
  for (const Claim& claim : Ledger().claims) {
    EXPECT_EQ(VerdictWith(claim, claim.parts.size()), "holds") << claim.id;
    for (std::size_t i = 0; i < claim.parts.size(); ++i) {
      if (!claim.parts[i].rule) continue;
      ++judged;
      EXPECT_EQ(VerdictWith(claim, i),
                claim.parts[i].is_beside ? "holds" : "fails")
          << claim.id << ", " << claim.parts[i].name;
    }
  }
  EXPECT_GT(judged, 60U);
}

TEST(ClaimsQuantities, WithoutADocumentNoClaimHasAVerdict) {
  for (const Claim& claim : Ledger().claims) {
    std::vector<PartVerdict> parts;
    for (const ClaimPart& part : claim.parts) {
      const ClaimDocument nothing{.measurement = part.quantity.at("from"),
                                  .file = nullptr,
                                  .json = nullptr,
                                  .none = "not made"};
      parts.push_back(
          JudgePart(part, ReadQuantity(part, nothing, Json::object()), ""));
    }
    EXPECT_THAT(JudgeClaim(claim, parts, "").Text(), HasSubstr("not made"));
  }
}

// ---- by hand ----------------------------------------------------------------

ClaimPart PartOf(const Json& quantity, std::vector<std::string> per = {}) {
  return {.name = "figure",
          .unit = "ratio",
          .per = std::move(per),
          .rule = {},
          .quantity = quantity};
}

ClaimDocument Sweep(const std::vector<Json>& cells) {
  return {.measurement = "m",
          .file = "m.json",
          .json = MadeUpResult("m.json", cells).json};
}

Readings Read(const Json& quantity, const ClaimDocument& document,
              std::vector<std::string> per = {}) {
  return ReadQuantity(PartOf(quantity, std::move(per)), document,
                      Json::object());
}

const Json kRatio = {{"kind", "time_ratio"},
                     {"from", "m"},
                     {"of", {{"mechanism", "soft"}}},
                     {"to", {{"mechanism", "mocha"}}}};

std::vector<double> Rounds(double first, double step) {
  std::vector<double> times;
  for (int i = 0; i < 12; ++i) times.push_back(first + step * i);
  return times;
}

TEST(ClaimsQuantities, RatiosArePairedByRoundsAndCellsByPoints) {
  Json soft = MadeUpCell("soft", 10, Rounds(1000, 100));
  Json mocha = MadeUpCell("mocha", 10, Rounds(100, 10));
  mocha["chunk_width"] = 8;
  // The same axes, but on other draws and in other rounds.
  Json other_point = MadeUpCell("mocha", 10, Rounds(1, 0));
  other_point["point"] = "00000000000000ff";
  other_point["chunk_width"] = 2;
  Json other_precision = MadeUpCell("mocha", 10, Rounds(1, 0));
  other_precision["precision"] = "f64";
  const Readings readings =
      Read(kRatio, Sweep({soft, mocha, other_point, other_precision}));
  ASSERT_EQ(readings.list.size(), 1U);
  const Reading& reading = readings.list[0];
  EXPECT_NEAR(reading.value, 10, 1e-12);
  // The drift is in both, and drops out; what layout does is in neither.
  EXPECT_NEAR(reading.interval->low, 10 / kLayoutFactor, 1e-12);
  EXPECT_NEAR(reading.interval->high, 10 * kLayoutFactor, 1e-12);
  EXPECT_EQ(reading.labels.at("mechanism"), "soft");
  EXPECT_EQ(reading.labels.at("chunk_width"), 8);
  ASSERT_EQ(reading.evidence.size(), 2U);
  EXPECT_EQ(reading.evidence[1], Json({{"measurement", "m"},
                                       {"file", "m.json"},
                                       {"point", mocha.at("point")},
                                       {"place", "cells[1]"}}));
}

TEST(ClaimsQuantities, FiveProcessesShowWhatLayoutDoes) {
  Json soft = MadeUpCell("soft", 10, std::vector<double>(20, 1000));
  Json mocha = MadeUpCell("mocha", 10, std::vector<double>(20, 100));
  for (const auto& [processes, factor] :
       {std::pair(4, kLayoutFactor), std::pair(5, 1.0)}) {
    soft["processes"] = mocha["processes"] = processes;
    const Reading reading = Read(kRatio, Sweep({soft, mocha})).list.at(0);
    EXPECT_NEAR(reading.interval->low, 10 / factor, 1e-9);
    EXPECT_NEAR(reading.interval->high, 10 * factor, 1e-9);
  }
}

TEST(ClaimsQuantities, IntervalsAreCorrectedForTheNumberOfReadings) {
  std::vector<double> noisy = Rounds(1000, 0);
  for (std::size_t i = 0; i < noisy.size(); ++i) {
    noisy[i] += i % 2 == 0 ? 10.0 * static_cast<double>(i) : -40.0;
  }
  const auto width = [&](int points) {
    std::vector<Json> cells;
    for (int T = 10; T < 10 + points; ++T) {
      cells.push_back(MadeUpCell("soft", T, noisy));
      cells.push_back(MadeUpCell("mocha", T, Rounds(100, 0)));
    }
    const Reading reading = Read(kRatio, Sweep(cells)).list.at(0);
    return reading.interval->high - reading.interval->low;
  };
  EXPECT_GT(width(20), width(1));
}

TEST(ClaimsQuantities, ACellThatFailedIsAReadingWithoutANumber) {
  Json soft = MadeUpCell("soft", 10, Rounds(1000, 0));
  Json mocha = MadeUpCell("mocha", 10, Rounds(100, 0));
  mocha["status"] = "invalid";
  mocha["message"] = "wrong context";
  Readings readings = Read(kRatio, Sweep({soft, mocha}));
  ASSERT_EQ(readings.list.size(), 1U);
  EXPECT_TRUE(std::isnan(readings.list[0].value));
  EXPECT_EQ(readings.list[0].why, "invalid: wrong context");
  // What is not there at all is no reading.
  mocha["status"] = "skipped";
  readings = Read(kRatio, Sweep({soft, mocha}));
  EXPECT_TRUE(readings.list.empty());
  EXPECT_EQ(readings.none, "skipped: wrong context");
}

TEST(ClaimsQuantities, TimesOfAnInvalidResultAreShownAndNotJudged) {
  ClaimDocument document = Sweep({MadeUpCell("soft", 10, Rounds(1000, 0)),
                                  MadeUpCell("mocha", 10, Rounds(100, 0))});
  Json& context = document.json["context"];
  context["valid"] = false;
  context["invalid_reasons"] = {"the machine was busy"};
  ClaimPart part = PartOf(kRatio);
  part.rule = ClaimRule();
  const PartVerdict judged = JudgePart(
      part, ReadQuantity(part, document, Json::object()), "look longer");
  EXPECT_EQ(
      judged.verdict.Text(),
      "not measurable here: the times of m are not valid: the machine was "
      "busy");
  EXPECT_NEAR(judged.groups[0].least.value, 10, 1e-9);
  // What was counted is as right as ever.
  part.quantity = {{"kind", "count"},
                   {"from", "m"},
                   {"of", {{"mechanism", "soft"}}},
                   {"field", "energies"},
                   {"over", "T + U - 1"}};
  EXPECT_EQ(JudgePart(part, ReadQuantity(part, document, Json::object()), "")
                .verdict.Text(),
            "holds");
}

TEST(ClaimsQuantities, CellsOfDifferentRoundsHaveNoRatio) {
  const Readings readings =
      Read(kRatio, Sweep({MadeUpCell("soft", 10, Rounds(1000, 0)),
                          MadeUpCell("mocha", 10, {1, 2, 3})}));
  EXPECT_THAT(readings.list.at(0).why, HasSubstr("same rounds"));
}

TEST(ClaimsQuantities, GreatestIsThatOfTheCellsThatMatchOtherwise) {
  std::vector<Json> cells;
  for (const int T : {10, 30, 20}) {
    cells.push_back(MadeUpCell("soft", T, Rounds(10.0 * T, 0)));
    cells.push_back(MadeUpCell("mocha", T, Rounds(10, 0)));
  }
  cells.push_back(MadeUpCell("memory", 90, Rounds(1, 0)));
  Json quantity = kRatio;
  quantity["of"]["memory_length"] = "greatest";
  quantity["to"]["memory_length"] = "greatest";
  const Readings readings = Read(quantity, Sweep(cells));
  ASSERT_EQ(readings.list.size(), 1U);
  EXPECT_EQ(readings.list[0].labels.at("memory_length"), 30);
  EXPECT_NEAR(readings.list[0].value, 30, 1e-9);
}

TEST(ClaimsQuantities, ExponentsAreSlopesOfEachGroupAndIgnoreNothing) {
  std::vector<Json> cells;
  for (const int T : {10, 20, 40}) {
    for (const int w : {1, 2}) {
      Json cell = MadeUpCell("mocha", T, Rounds(std::pow(T, w), 0));
      cell["chunk_width"] = w;
      cell["operations"]["chunk_energies"] = w == 1 ? 0 : 3 * T * T * T;
      cells.push_back(cell);
    }
  }
  Json quantity = {{"kind", "exponent"},
                   {"from", "m"},
                   {"of", {{"mechanism", "mocha"}}},
                   {"field", "time"},
                   {"against", {"memory_length", "output_length"}}};
  Readings readings = Read(quantity, Sweep(cells));
  ASSERT_EQ(readings.list.size(), 2U);
  EXPECT_NEAR(readings.list[0].value, 1, 1e-9);
  EXPECT_NEAR(readings.list[1].value, 2, 1e-9);
  // Times that are a layout apart, over four times the length.
  EXPECT_NEAR(readings.list[1].interval->high,
              2 + std::log(kLayoutFactor) / std::log(4), 1e-9);
  quantity["field"] = "chunk_energies";
  readings = Read(quantity, Sweep(cells));
  EXPECT_THAT(readings.list[0].why, HasSubstr("two values"));
  EXPECT_NEAR(readings.list[1].value, 3, 1e-9);
  EXPECT_FALSE(readings.list[1].interval.has_value());
  quantity["field"] = "peak_memory_bytes";
  cells[3]["peak_memory_bytes"] = nullptr;
  EXPECT_EQ(Read(quantity, Sweep(cells)).list[1].why,
            "peak_memory_bytes is not counted");
}

TEST(ClaimsQuantities, RankCorrelationIsOfTheGroupsOfThePart) {
  std::vector<Json> cells;
  int point = 1;
  for (const char* workload : {"uniform", "planted"}) {
    for (const int T : {10, 20, 40, 80}) {
      const double ratio = workload[0] == 'u' ? T : 100.0 / T;
      for (const auto& [name, time] :
           {std::pair("soft", 100 * ratio), std::pair("mocha", 100.0)}) {
        cells.push_back(MadeUpCell(name, T, Rounds(time, 0)));
        cells.back()["workload"] = workload;
        cells.back()["point"] = std::to_string(point);
      }
      ++point;
    }
  }
  Json quantity = kRatio;
  quantity["kind"] = "rank_correlation";
  quantity["against"] = {"memory_length"};
  const Readings readings = Read(quantity, Sweep(cells), {"workload"});
  ASSERT_EQ(readings.list.size(), 2U);
  EXPECT_NEAR(readings.list[0].value, 1, 1e-12);
  EXPECT_NEAR(readings.list[1].value, -1, 1e-12);
  EXPECT_EQ(readings.list[1].labels.at("workload"), "planted");
  // No order against what does not vary.
  EXPECT_EQ(Read(quantity, Sweep({cells[0], cells[1]})).list.at(0).value, 0);
}

TEST(ClaimsQuantities, AResidualHasTheIntervalOfItsTimes) {
  std::vector<Json> cells;
  for (const int w : {2, 4, 8, 16, 32}) {
    std::vector<double> times = Rounds(100 + 10 * w, 0);
    for (std::size_t i = 0; i < times.size(); ++i) {
      times[i] *= i % 2 == 0 ? 1.1 : 0.9;
    }
    cells.push_back(MadeUpCell("mocha", 10, times));
    cells.back()["chunk_width"] = w;
    cells.back()["operations"]["chunk_energies"] = w;
  }
  const Json quantity = {{"kind", "fit"},
                         {"from", "m"},
                         {"of", {{"mechanism", "mocha"}}},
                         {"terms", {"chunk_energies"}},
                         {"give", "residual"}};
  const Reading reading = Read(quantity, Sweep(cells)).list.at(0);
  // The medians lie on the line; a tenth off it the times may be, and what
  // layout does to one of them.
  EXPECT_NEAR(reading.value, 0, 1e-9);
  EXPECT_NEAR(reading.interval->low, 0, 1e-9);
  EXPECT_NEAR(reading.interval->high, std::sqrt(kLayoutFactor) / 0.9 - 1, 1e-6);
  for (Json& cell : cells) cell["operations"]["chunk_energies"] = 7;
  EXPECT_EQ(Read(quantity, Sweep(cells)).list.at(0).why,
            "the terms depend on each other");
}

TEST(ClaimsQuantities, ThePreparationThatIsTakenOffHasAnIntervalToo) {
  std::vector<double> noisy = Rounds(500, 0);
  std::vector<Json> cells;
  for (const int T : {10, 20}) {
    cells.push_back(MadeUpCell("memory", T, Rounds(1000, 0)));
    cells.back()["output_length"] = 10;
    cells.back()["processes"] = 6;
    cells.back()["prepare_ns"] = 500;
    cells.back()["prepare_samples_ns"] = Rounds(500, 0);
  }
  const Json quantity = {{"kind", "time_growth"},
                         {"from", "m"},
                         {"of", {{"mechanism", "memory"}}},
                         {"against", {"memory_length"}},
                         {"without_preparation", true}};
  Reading reading = Read(quantity, Sweep(cells)).list.at(0);
  ASSERT_EQ(reading.why, "");
  EXPECT_NEAR(reading.value, 1, 1e-9);
  EXPECT_NEAR(reading.interval->high, 1, 1e-9);
  // Of the processes' medians half are 450, half 550.
  for (std::size_t i = 0; i < noisy.size(); ++i) {
    noisy[i] = i / 2 % 2 == 0 ? 450 : 550;
  }
  cells[1]["prepare_samples_ns"] = noisy;
  reading = Read(quantity, Sweep(cells)).list.at(0);
  EXPECT_GT(reading.interval->high, 1.15);
  EXPECT_LT(reading.interval->low, 0.85);
}

TEST(ClaimsQuantities, ThePlaceOfTheGreatestIsNoSurerThanTheRatios) {
  const auto places = [](double second) {
    std::vector<Json> cells;
    for (const auto& [T, ratio] : {std::pair(10, 5.0), std::pair(40, second)}) {
      cells.push_back(MadeUpCell("soft", T, Rounds(100 * ratio, 0)));
      cells.push_back(MadeUpCell("mocha", T, Rounds(100, 0)));
      for (Json* cell : {&cells.back(), &cells[cells.size() - 2]}) {
        (*cell)["output_length"] = 20;
      }
    }
    Json quantity = kRatio;
    quantity["kind"] = "place_of_greatest";
    quantity["over"] = "U / T";
    return Read(quantity, Sweep(cells)).list.at(0);
  };
  EXPECT_EQ(places(2).value, 2);
  EXPECT_EQ(places(2).interval->low, 2);
  // A layout apart it may be either.
  EXPECT_EQ(places(4.5).value, 2);
  EXPECT_EQ(places(4.5).interval->low, 0.5);
}

// A round may have any order: the medians have that of the lengths.
TEST(ClaimsQuantities, ACorrelationIsThatOfTheMedians) {
  std::vector<Json> cells;
  int point = 1;
  for (const int T : {10, 20, 40}) {
    std::vector<double> times = Rounds(100.0 * T, 0);
    // One round in three is far off, another one for each length.
    for (std::size_t i = static_cast<std::size_t>(point % 3); i < times.size();
         i += 3) {
      times[i] = T == 10 ? 1e6 : 1;
    }
    cells.push_back(MadeUpCell("soft", T, times));
    cells.push_back(MadeUpCell("mocha", T, Rounds(100, 0)));
    for (Json* cell : {&cells.back(), &cells[cells.size() - 2]}) {
      (*cell)["point"] = std::to_string(point);
    }
    ++point;
  }
  Json quantity = kRatio;
  quantity["kind"] = "rank_correlation";
  quantity["against"] = {"memory_length"};
  const Reading reading = Read(quantity, Sweep(cells)).list.at(0);
  EXPECT_EQ(reading.value, 1);
  EXPECT_EQ(reading.interval->high, 1);
}

ClaimDocument Decoders(const std::vector<Json>& cells) {
  return {.measurement = "m",
          .file = nullptr,
          .json = {{"kind", "decoder"}, {"cells", cells}}};
}

Json DecoderCell(const std::string& mechanism, double whole, double attention) {
  Json cell = MadeUpCell(mechanism, 10, Rounds(whole, 0));
  cell.update({{"length", 20}, {"beam", 10}, {"num_contexts", nullptr}});
  cell["attention_samples_ns"] = Rounds(attention, 0);
  return cell;
}

TEST(ClaimsQuantities, WhatIsNoSpeedUpBoundsNone) {
  Json quantity = kRatio;
  quantity["kind"] = "whole_over_part";
  const Json soft = DecoderCell("soft", 1000, 100);
  Readings readings =
      Read(quantity, Decoders({soft, DecoderCell("mocha", 900, 50)}));
  ASSERT_EQ(readings.list.size(), 1U);
  EXPECT_NEAR(readings.list[0].value, 1000.0 / 900 / 2, 1e-9);
  // Layout may move either speed-up.
  EXPECT_NEAR(readings.list[0].interval->high,
              1000.0 / 900 / 2 * kLayoutFactor * kLayoutFactor, 1e-9);
  readings = Read(quantity, Decoders({soft, DecoderCell("mocha", 900, 200)}));
  EXPECT_TRUE(readings.list.empty());
  EXPECT_THAT(readings.none, HasSubstr("nowhere faster"));
}

TEST(ClaimsQuantities, ATimeOfAScanThatStoodStillIsNoReading) {
  Json mocha = DecoderCell("mocha", 900, 50);
  mocha["reads"] = {{"memory_read", 0.95}, {"zero_contexts", 0.01}};
  const Json soft = DecoderCell("soft", 1000, 100);
  EXPECT_EQ(Read(kRatio, Decoders({soft, mocha})).list.at(0).why, "");
  mocha["reads"]["memory_read"] = 0.4;
  EXPECT_THAT(Read(kRatio, Decoders({soft, mocha})).list.at(0).why,
              HasSubstr("40 % of the memory"));
  mocha["reads"] = {{"memory_read", 1}, {"zero_contexts", 0.2}};
  EXPECT_THAT(Read(kRatio, Decoders({soft, mocha})).list.at(0).why,
              HasSubstr("20 % of the outputs"));
}

TEST(ClaimsQuantities, DecodersOfOtherWindowsAreNoPair) {
  Json quantity = kRatio;
  quantity["of"] = {{"mechanism", "mocha"}, {"beam", 10}};
  Json four = DecoderCell("mocha", 1000, 100);
  Json eight = DecoderCell("mocha", 1100, 100);
  four["chunk_width"] = 4;
  eight["chunk_width"] = 8;
  const Readings readings = Read(quantity, Decoders({four, eight}));
  EXPECT_EQ(readings.list.size(), 2U);
  for (const Reading& one : readings.list) {
    EXPECT_NEAR(one.value, 1, 1e-9);
  }
}

TEST(ClaimsQuantities, ReadingsOfDecodersSayWhichModelTheyAreOf) {
  for (const auto& [name, values] :
       {std::pair("units", Json{64, 256}),
        std::pair("memory_share", Json{0.5, 1.0})}) {
    std::vector<Json> cells;
    for (const Json& value : values) {
      for (const char* mechanism : {"soft", "mocha"}) {
        cells.push_back(DecoderCell(mechanism, 1000, 100));
        cells.back()[name] = value;
        cells.back()["point"] = value.dump();
      }
    }
    const Readings readings = Read(kRatio, Decoders(cells));
    ASSERT_EQ(readings.list.size(), 2U);
    EXPECT_EQ(readings.list[0].labels.at(name), values[0]);
    EXPECT_EQ(readings.list[1].labels.at(name), values[1]);
  }
}

TEST(ClaimsQuantities, ARatioThatIsNeverOneHasNoBreakEven) {
  std::vector<Json> cells = {MadeUpCell("soft", 10, Rounds(1000, 0))};
  for (const int K : {8, 16}) {
    cells.push_back(MadeUpCell("memory", 10, Rounds(10.0 * K, 0)));
    cells.back()["num_contexts"] = K;
  }
  const Json quantity = {
      {"kind", "break_even"},          {"from", "m"},
      {"of", {{"mechanism", "soft"}}}, {"to", {{"mechanism", "memory"}}},
      {"against", {"num_contexts"}},   {"over", "T U / (T + U)"}};
  EXPECT_THAT(Read(quantity, Sweep(cells)).list.at(0).why,
              HasSubstr("from 8 to 16"));
}

TEST(ClaimsQuantities, WhatIsNotFiniteIsInfiniteAndAListIsReadWhole) {
  const Json row = {{"mechanism", "monotonic"}, {"output_length", 2}};
  Json null_row = row;
  null_row["lost"] = nullptr;
  Json list_row = row;
  list_row["lost"] = {0.25, -0.5};
  const ClaimDocument document{
      .measurement = "m",
      .file = nullptr,
      .json = {{"kind", "stability"}, {"ledger", {null_row, list_row}}}};
  const Readings readings = Read({{"kind", "stability"},
                                  {"from", "m"},
                                  {"list", "ledger"},
                                  {"of", {{"mechanism", "monotonic"}}},
                                  {"field", "lost"},
                                  {"over", "2 U"},
                                  {"reduce", "greatest"}},
                                 document);
  ASSERT_EQ(readings.list.size(), 3U);
  EXPECT_TRUE(std::isinf(readings.list[0].value));
  EXPECT_EQ(readings.list[2].value, -0.125);
  EXPECT_EQ(readings.list[2].evidence[0].at("place"), "ledger[1]");
}

TEST(ClaimsQuantities, ACaseThatCouldNotBeComputedHasFailed) {
  const Json quantity = {{"kind", "verify"},
                         {"from", "m"},
                         {"of", {{"mechanism", "mocha"}}},
                         {"field", "failed"}};
  Json json = testing::DoctoredVerify(quantity, 0);
  ClaimDocument document{.measurement = "m", .file = nullptr, .json = json};
  EXPECT_EQ(Read(quantity, document).list.at(0).value, 0);
  document.json["cases"][0]["failure"] = "out of memory";
  const Reading reading = Read(quantity, document).list.at(0);
  EXPECT_EQ(reading.value, 1);
  EXPECT_EQ(reading.evidence[0].at("place"), "cases[0]: out of memory");
  document.json["cases"][0]["mechanism"] = "matcha";
  EXPECT_TRUE(Read(quantity, document).list.empty());
  EXPECT_THAT(Read(quantity, document).none, HasSubstr("nothing was compared"));
}

TEST(ClaimsQuantities, TheWorstOfManyCasesIsTheEvidence) {
  const Json quantity = {
      {"kind", "verify"},
      {"from", "m"},
      {"of", {{"mechanism", "mocha"}, {"what", {"context"}}}},
      {"field", "largest_error"}};
  Json json = testing::DoctoredVerify(quantity, 1e-14);
  json["cases"].push_back(
      testing::DoctoredVerify(quantity, 3e-14).at("cases")[0]);
  json["cases"][0]["quantities"][0]["what"] = "attention";
  json["cases"][0]["quantities"][0]["largest_error"] = nullptr;
  const ClaimDocument document{
      .measurement = "m", .file = nullptr, .json = json};
  const Reading reading = Read(quantity, document).list.at(0);
  EXPECT_EQ(reading.value, 3e-14);
  EXPECT_THAT(reading.evidence[0].at("place"), HasSubstr("cases[1]"));
}

}  // namespace
}  // namespace attnbench
