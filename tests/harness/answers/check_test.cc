// Guards against a gate that passes although a number, a count or a memory
// changed, a cell is gone, or there was nothing to compare with.
#include "harness/answers/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/support/made_up_results.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;
using testing::MadeUpCell;
using testing::MadeUpResult;
using ::testing::Not;

// Six processes have four rounds each, half a percent apart; the machine
// differs from round to round, for all cells alike.
std::vector<double> Samples(double time_ns) {
  std::vector<double> samples;
  for (int i = 0; i < 24; ++i) {
    samples.push_back(time_ns * (1 + 0.0005 * (i / 4)) * (1 + i % 4));
  }
  return samples;
}

Json Cell(const std::string& mechanism, double time_ns) {
  return MadeUpCell(mechanism, 10, Samples(time_ns), 6);
}

std::vector<Json> Cells() {
  return {Cell("soft", 1000), Cell("mocha", 100), Cell("matcha", 200)};
}

CheckOptions Timed() {
  return {.time = true, .effects = testing::QuietEffects()};
}

Json Check(const std::vector<Json>& baseline, const std::vector<Json>& result,
           const CheckOptions& options = {}) {
  return ToJson(CheckAgainst(MadeUpResult("base.json", baseline), "base.json",
                             MadeUpResult("mine.json", result), options));
}

// The report of tests has to say the same.
int CheckExitCode(const Json& json) {
  const auto check = FromJson<CheckReport>(json, "test");
  const int code = attnbench::CheckExitCode(check);
  EXPECT_EQ(testing::HasBadCase(CheckJUnit(check)), code != 0);
  return code;
}

std::string CheckText(const Json& check) {
  return attnbench::CheckText(FromJson<CheckReport>(check, "test"));
}

Json AfterChange(const std::function<void(std::vector<Json>&)>& change,
                 const CheckOptions& options = {}) {
  std::vector<Json> cells = Cells();
  change(cells);
  return Check(Cells(), cells, options);
}

TEST(Check, HasSixOutcomes) {
  const auto outcome = [](const auto& change) {
    return CheckExitCode(AfterChange(change));
  };
  EXPECT_EQ(outcome([](auto&) {}), 0);
  EXPECT_EQ(outcome([](auto& cells) {
              cells[1]["numerics"]["attention_mass"] = 1.001;
            }),
            1);
  EXPECT_EQ(outcome([](auto& cells) { cells[2]["operations"]["bytes"] = 401; }),
            1);
  EXPECT_EQ(outcome([](auto& cells) { cells.erase(cells.begin()); }), 3);
  EXPECT_EQ(CheckExitCode(Check({}, Cells())), 3);
  EXPECT_EQ(
      attnbench::CheckExitCode(CheckAgainst(
          std::nullopt, "base.json", MadeUpResult("mine.json", Cells()), {})),
      3);
}

// Results with these counts of instructions, none where there is 0.
ReadSweep WithCounts(const std::vector<double>& counts) {
  ReadSweep read = MadeUpResult("mine.json", Cells());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) read.result.cells.at(i).instructions = counts[i];
  }
  return read;
}

CheckReport CheckCounted(const ReadSweep& baseline, const ReadSweep& result) {
  return CheckAgainst(baseline, "base.json", result, {});
}

TEST(Check, CountsOfInstructionsMayGrowByTheSlackAndNoMore) {
  const ReadSweep base = WithCounts({1000, 2000, 4000});
  const auto check = [&](const std::vector<double>& counts) {
    return CheckCounted(base, WithCounts(counts));
  };
  EXPECT_EQ(CheckExitCode(ToJson(check({1000, 2000, 4000}))), 0);
  EXPECT_EQ(CheckExitCode(ToJson(check({1005, 2000, 4000}))), 0);
  const CheckReport more = check({1000, 2011, 3900});
  EXPECT_EQ(CheckExitCode(ToJson(more)), 1);
  EXPECT_EQ(attnbench::CheckText(more),
            "REGRESSED: mocha: 2,000 -> 2,011 instructions (+0.55 %)\n"
            "FEWER: matcha: 4,000 -> 3,900 instructions (-2.50 %)\n"
            "instructions: 1 of 3 counts regressed, 1 fewer; the largest "
            "change is -2.50 %, of matcha; up to 0.5 % more is allowed\n"
            "base.json: 3 of 3 cells compared, 0 changed, 0 missing, 0 not in "
            "the baseline, 0 not measured\n");
  // Fewer instructions are no failure.
  EXPECT_EQ(CheckExitCode(ToJson(check({1000, 2000, 3900}))), 0);
}

TEST(Check, MarkdownShowsOnlyTheCountsThatAreNotTheSame) {
  const std::string text = CheckMarkdown(CheckCounted(
      WithCounts({1000, 2000, 4000}), WithCounts({1001, 2040, 4000})));
  EXPECT_THAT(text,
              HasSubstr("| mocha | REGRESSED | 2,000 | 2,040 | +2.00 % |"));
  EXPECT_THAT(text, Not(HasSubstr("| soft")));
}

TEST(Check, CountsOfOtherCodeAreNotCompared) {
  const ReadSweep base = WithCounts({1000, 2000, 4000});
  const auto why = [&](const ReadSweep& result) {
    const CheckReport check = CheckCounted(base, result);
    EXPECT_EQ(CheckExitCode(ToJson(check)), 3);
    EXPECT_TRUE(check.instructions->counts.empty());
    return check.instructions->incomparable.at(0);
  };
  ReadSweep other = base;
  other.result.context.compiler = "another";
  EXPECT_THAT(why(other), HasSubstr("compiler was"));
  other = base;
  other.result.context.simd = "another";
  EXPECT_THAT(why(other), HasSubstr("simd was"));
  other = base;
  other.result.context.libraries["valgrind"] = "9";
  EXPECT_THAT(why(other), HasSubstr("libraries.valgrind was null and is"));
  other = base;
  other.result.context.build_type = "Debug";
  EXPECT_THAT(why(other), HasSubstr("build_type was"));
  // Another commit and other flags are what a pull request may bring.
  other = base;
  other.result.context.commit = other.result.context.build_id = "another";
  other.result.context.flags = "another";
  EXPECT_EQ(CheckExitCode(ToJson(CheckCounted(base, other))), 0);

  EXPECT_THAT(why(WithCounts({})),
              HasSubstr("the result lacks those of all cells"));
  EXPECT_THAT(why(WithCounts({1000, 0, 0})),
              HasSubstr("the result lacks those of some cells"));
  const CheckReport check = CheckCounted(WithCounts({}), base);
  EXPECT_THAT(check.instructions->incomparable.at(0),
              HasSubstr("the baseline lacks those of all cells"));
  EXPECT_EQ(CheckExitCode(ToJson(check)), 3);
}

TEST(Check, AResultWithCountsIsNoBaseline) {
  EXPECT_EQ(WhyNoBaseline(WithCounts({}).result), "");
  EXPECT_THAT(WhyNoBaseline(WithCounts({1000}).result),
              HasSubstr("counts of instructions"));
}

TEST(Check, AMissingCellOutweighsAChangedNumber) {
  const Json check = AfterChange([](auto& cells) {
    cells.erase(cells.begin());
    cells[0]["operations"]["bytes"] = 401;
  });
  EXPECT_EQ(CheckExitCode(check), 3);
  const std::string text = CheckText(check);
  EXPECT_THAT(text,
              HasSubstr("changed: mocha: operations.bytes 400.0 -> 401.0\n"
                        "missing: soft\n"));
  EXPECT_THAT(text,
              HasSubstr("base.json: 2 of 3 cells compared, 1 changed, 1 "
                        "missing, 0 not in the baseline, 0 not measured\n"));
}

TEST(Check, ACellThatTheBaselineHasNotFails) {
  EXPECT_EQ(CheckExitCode(AfterChange(
                [](auto& cells) { cells.push_back(Cell("memory", 10)); })),
            3);
}

TEST(Check, CellsThatWereNotMeasuredAreNotCompared) {
  const auto skip = [](Json& cell) { cell["status"] = "skipped"; };
  std::vector<Json> cells = Cells();
  skip(cells[1]);
  const Json some = Check(cells, cells);
  EXPECT_EQ(CheckExitCode(some), 0);
  EXPECT_THAT(CheckText(some),
              HasSubstr("2 of 3 cells compared, 0 changed, 0 missing, 0 not in "
                        "the baseline, 1 not measured\n"));
  for (Json& cell : cells) skip(cell);
  EXPECT_EQ(CheckExitCode(Check(cells, cells)), 3);
  EXPECT_EQ(CheckExitCode(Check(cells, Cells())), 3);
  EXPECT_EQ(CheckExitCode(Check(Cells(), cells)), 3);
}

TEST(Check, ACellThatFailedOnBothSidesIsNamedAndFails) {
  for (const char* status : {"invalid", "error", "timeout"}) {
    std::vector<Json> cells = Cells();
    cells[1]["status"] = status;
    const Json check = Check(cells, cells);
    EXPECT_TRUE(check.at("changes").empty());
    EXPECT_EQ(CheckExitCode(check), 1) << status;
    EXPECT_THAT(CheckText(check),
                HasSubstr(std::string("failed: mocha: ") + status));
    // A cell that can be measured now is no failure, only a change.
    EXPECT_TRUE(Check(cells, Cells()).at("failed").empty());
  }
}

TEST(Check, EveryExactNumberCounts) {
  for (const char* name :
       {"energies", "chunk_energies", "memory_rows", "flops", "bytes"}) {
    const Json check = AfterChange([name](std::vector<Json>& cells) {
      Json& number = cells[0]["operations"][name];
      number = number.get<double>() + 1;
    });
    EXPECT_EQ(CheckExitCode(check), 1) << name;
  }
  const Json memory =
      AfterChange([](auto& cells) { cells[0]["peak_memory_bytes"] = 4097; });
  EXPECT_EQ(CheckExitCode(memory), 1);
  const Json latency = AfterChange([](auto& cells) {
    cells[0]["latency"] = {{"ap", 1}, {"al", 2}, {"laal", 2}, {"dal", 3}};
  });
  EXPECT_EQ(CheckExitCode(latency), 1);
  const Json status =
      AfterChange([](auto& cells) { cells[0]["status"] = "timeout"; });
  EXPECT_EQ(CheckExitCode(status), 1);
}

TEST(Check, SumsAreComparedToThePrecisionOfTheCell) {
  const auto num_changes = [](const char* precision, double factor) {
    std::vector<Json> before = {Cells()[0]};
    before[0]["precision"] = precision;
    std::vector<Json> after = before;
    after[0]["numerics"]["context_l2"] = 2.0 * factor;
    return Check(before, after).at("changes").size();
  };
  EXPECT_EQ(num_changes("f32", 1 + 0.9e-5), 0U);
  EXPECT_EQ(num_changes("f32", 1 + 1.1e-5), 1U);
  EXPECT_EQ(num_changes("f64", 1 + 0.9e-10), 0U);
  EXPECT_EQ(num_changes("f64", 1 - 1.1e-10), 1U);
}

TEST(Check, WhatAWholeDecoderReadIsExactAndItsBeamIsNamed) {
  std::vector<Json> before = {
      ToJson(testing::MadeUpDecoderCell("soft", 10, Samples(1000), 6)),
      ToJson(testing::MadeUpDecoderCell("soft", 10, Samples(2000), 6))};
  before[1]["beam"] = 1;
  std::vector<Json> after = before;
  after[1]["decoder"]["reads"]["memory_read"] = 0.5;
  before.push_back(before[0]);
  before.back()["beam"] = 2;
  const Json check = Check(before, after);
  ASSERT_EQ(check.at("changes").size(), 1U);
  EXPECT_EQ(check.at("changes")[0].at("field"), "decoder.reads");
  EXPECT_THAT(CheckText(check), HasSubstr("changed: soft beam=1: decoder"));
}

TEST(Check, AResultFromBeforeTheFieldLatencyHasNone) {
  const auto erase = [](std::vector<Json>& cells) {
    for (Json& cell : cells) cell.erase("latency");
  };
  EXPECT_EQ(CheckExitCode(AfterChange(erase)), 0);
}

TEST(Check, TimesAreLookedAtOnlyWhereAsked) {
  const auto slower = [](auto& cells) { cells[1] = Cell("mocha", 130); };
  EXPECT_EQ(CheckExitCode(AfterChange(slower)), 0);
  const Json check = AfterChange(slower, Timed());
  EXPECT_EQ(CheckExitCode(check), 1);
  EXPECT_THAT(
      CheckText(check),
      HasSubstr("REGRESSED: mocha / soft: 0.100 -> 0.130: the interval lies "
                "beyond 5 %\n"));
}

TEST(Check, AMachineThatIsSlowerInEverythingIsNoRegression) {
  const Json check = AfterChange(
      [](auto& cells) {
        cells = {Cell("soft", 3000), Cell("mocha", 300), Cell("matcha", 600)};
      },
      Timed());
  EXPECT_EQ(CheckExitCode(check), 0);
  ASSERT_EQ(check.at("time").at("ratios").size(), 2U);
  for (const Json& ratio : check.at("time").at("ratios")) {
    EXPECT_EQ(ratio.at("verdict"), "SAME");
    EXPECT_EQ(ratio.at("reference").at("mechanism"), "soft");
  }
}

TEST(Check, ARatioThatGotBetterIsGood) {
  EXPECT_EQ(CheckExitCode(AfterChange(
                [](auto& cells) { cells[1] = Cell("mocha", 50); }, Timed())),
            0);
}

TEST(Check, AFirstCellThatGotSlowerRegresses) {
  const auto outcome = [](const std::vector<double>& times) {
    const char* names[] = {"soft", "monotonic", "mocha", "matcha", "memory"};
    std::vector<Json> before, after;
    for (std::size_t i = 0; i < times.size(); ++i) {
      before.push_back(Cell(names[i], 100));
      after.push_back(Cell(names[i], times[i]));
    }
    return Check(before, after, Timed());
  };
  const Json check = outcome({130, 100, 100, 100});
  EXPECT_EQ(CheckExitCode(check), 1);
  EXPECT_THAT(CheckText(check),
              HasSubstr("REGRESSED: soft: 3 of 3 ratios to it fell beyond 5 %: "
                        "it got slower, or they all got faster\n"
                        "0 of 3 ratios regressed, 0 cells have none; 1 first "
                        "cell regressed against most others\n"));
  // One rival that also got slower does not hide it; a single rival cannot tell
  // which of the two moved.
  EXPECT_EQ(CheckExitCode(outcome({130, 130, 100, 100})), 1);
  EXPECT_EQ(CheckExitCode(outcome({130, 100})), 1);
  // Rivals may get faster, up to half of them.
  EXPECT_EQ(CheckExitCode(outcome({100, 70, 70, 100, 100})), 0);
  EXPECT_EQ(CheckExitCode(outcome({100, 70, 70, 70, 100})), 1);
  // This is within the margin.
  EXPECT_EQ(CheckExitCode(outcome({104, 100, 100, 100})), 0);
}

TEST(Check, TimesWithoutARatioAreNothingToCompare) {
  EXPECT_EQ(CheckExitCode(Check({Cells()[0]}, {Cells()[0]}, Timed())), 3);
  // Cells of different precisions are not compared with each other.
  std::vector<Json> cells = {Cells()[0], Cells()[1]};
  cells[1]["precision"] = "f64";
  EXPECT_EQ(CheckExitCode(Check(cells, cells, Timed())), 3);
}

TEST(Check, ATimedCellInNoRatioIsNamedAndNotGood) {
  const auto with_fourth = [](const Json& cell) {
    std::vector<Json> cells = Cells();
    cells.push_back(cell);
    return cells;
  };
  const Json same_rounds = Cell("memory", 500);
  Json other_rounds = same_rounds;
  other_rounds["processes"] = 4;
  Json other_point = same_rounds;
  other_point["point"] = "ffffffffffffffff";
  const struct {
    Json baseline;
    Json result;
    const char* why;
  } cases[] = {
      {other_rounds, same_rounds, "memory: its rounds are others than"},
      {same_rounds, other_rounds, "memory: its rounds are others than"},
      {same_rounds, other_point, "memory: the result has it in another point"},
      {other_point, other_point, "memory: no other cell of its point"}};
  for (const auto& [before, after, why] : cases) {
    const auto baseline = with_fourth(before);
    const auto result = with_fourth(after);
    EXPECT_EQ(CheckExitCode(Check(baseline, result)), 0);
    const Json check = Check(baseline, result, Timed());
    EXPECT_EQ(check.at("time").at("ratios").size(), 2U);
    EXPECT_EQ(CheckExitCode(check), 3) << why;
    const std::string text = CheckText(check);
    EXPECT_THAT(text, HasSubstr(std::string("no ratio: ") + why));
    EXPECT_THAT(text, HasSubstr("0 of 2 ratios regressed, 1 cell has none"));
  }
  const auto same = with_fourth(same_rounds);
  EXPECT_EQ(CheckExitCode(Check(same, same, Timed())), 0);
}

TEST(Check, TimesOfOneRoundHaveNoRatioAndAreNotGood) {
  std::vector<Json> cells = Cells();
  for (const char* mechanism : {"soft", "mocha"}) {
    cells.push_back(MadeUpCell(mechanism, 20, {100}));
  }
  std::vector<Json> slower = cells;
  slower.back() = MadeUpCell("mocha", 20, {1e6});
  EXPECT_EQ(CheckExitCode(Check(cells, slower)), 0);
  const Json check = Check(cells, slower, Timed());
  EXPECT_EQ(CheckExitCode(check), 3);
  EXPECT_EQ(check.at("time").at("ratios").size(), 2U);
  const std::string text = CheckText(check);
  EXPECT_THAT(text, HasSubstr("no ratio: mocha T=20 U=20: a single round has "
                              "no interval"));
  EXPECT_THAT(text, HasSubstr("no ratio: soft T=20 U=20: no ratio to it has"));
  EXPECT_THAT(text, HasSubstr("0 of 2 ratios regressed, 2 cells have none"));
}

// Of the ratio, s_run counts in each of the two runs, s_process where a run is
// of one process, and s_build if there are two builds.
TEST(Check, ARatioHasInItWhatRunsProcessesAndBuildsDo) {
  const auto half_width = [](std::int64_t builds, const std::string& build_id,
                             int processes = 4, std::int64_t of_baseline = 0) {
    std::vector<Json> cells = {
        MadeUpCell("soft", 10, {5, 5, 5, 5}, processes),
        MadeUpCell("mocha", 10, {7, 7, 7, 7}, processes)};
    for (Json& cell : cells) cell["builds"] = builds;
    ReadSweep result = MadeUpResult("mine.json", cells);
    result.result.context.build_id = build_id;
    if (of_baseline > 0) cells[1]["builds"] = cells[0]["builds"] = of_baseline;
    const CheckReport check = CheckAgainst(MadeUpResult("base.json", cells),
                                           "base.json", result, Timed());
    return std::log(check.time->ratios.at(0).interval->high);
  };
  const Effect effect = testing::QuietEffects().ratio;
  const std::string same = testing::MadeUpContext().build_id;
  const auto expected = [&](double of_builds, double of_processes = 0) {
    return HalfWidth(
        effect.Parts(
            {.builds = of_builds, .processes = of_processes, .runs = 2}),
        kDefaultLevel);
  };
  EXPECT_NEAR(half_width(1, same, 1), expected(0, 2), 1e-9);
  EXPECT_NEAR(half_width(1, same), expected(0), 1e-9);
  EXPECT_NEAR(half_width(1, "another"), expected(2), 1e-9);
  EXPECT_NEAR(half_width(2, "another"), expected(0), 1e-9);
  // Builds of one side do not show that of the other.
  EXPECT_NEAR(half_width(1, same, 4, 4), expected(1), 1e-9);
}

// Every other process is of the second build, which is slower: two builds tell
// less than four processes.
TEST(Check, ARatioIsOverBuildsWhereThereAreSeveral) {
  const auto width = [](std::int64_t builds) {
    std::vector<Json> cells = {MadeUpCell("soft", 10, {5, 5, 5, 5}, 4),
                               MadeUpCell("mocha", 10, {7, 8, 7, 8}, 4)};
    for (Json& cell : cells) cell["builds"] = builds;
    const Json ratio = Check(cells, cells, Timed()).at("time").at("ratios")[0];
    return std::log(ratio.at("interval")[1].get<double>());
  };
  EXPECT_GT(width(2), 2 * width(1));
}

TEST(Check, TimesOfAResultThatIsNotValidHaveTheirOwnExitCode) {
  ReadSweep result = MadeUpResult("mine.json", Cells());
  result.result.context.valid = false;
  result.result.context.invalid_reasons = {"a debug build"};
  for (const bool time : {false, true}) {
    const CheckReport check = CheckAgainst(MadeUpResult("base.json", Cells()),
                                           "base.json", result, {.time = time});
    EXPECT_EQ(attnbench::CheckExitCode(check), time ? 5 : 0);
  }
}

TEST(Check, WarningsStandWhereTimesAreComparedInEveryForm) {
  ReadSweep result = MadeUpResult("mine.json", Cells());
  result.result.context.warnings = {"other programs ran"};
  const auto check = [&](bool time) {
    return CheckAgainst(MadeUpResult("base.json", Cells()), "base.json", result,
                        {.time = time});
  };
  const std::string warning = "mine.json: other programs ran";
  EXPECT_THAT(attnbench::CheckText(check(true)),
              HasSubstr("warning: " + warning));
  EXPECT_THAT(CheckMarkdown(check(true)), HasSubstr("warning: " + warning));
  EXPECT_THAT(CheckJUnit(check(true)), HasSubstr("warning: " + warning));
  EXPECT_EQ(ToJson(check(true)).at("time").at("warnings"), Json{warning});
  EXPECT_THAT(CheckText(check(false)), Not(HasSubstr("warning")));
}

TEST(Check, TheReportOfTestsTellsWhatDiffersAndWhatTheTerminalSays) {
  ReadSweep result = MadeUpResult("mine.json", Cells());
  result.result.context.cpu = "another";
  const CheckReport check =
      CheckAgainst(MadeUpResult("base.json", Cells()), "base.json", result, {});
  const std::string report = CheckJUnit(check);
  EXPECT_THAT(report,
              HasSubstr("<property name=\"differs: cpu\" value=\"&quot;a "
                        "processor&quot; and &quot;another&quot;\"/>"));
  EXPECT_THAT(report.substr(report.find("<system-out>")),
              HasSubstr("differs: cpu: "));
}

TEST(Check, OnlyAWholeAndValidResultBecomesABaseline) {
  const auto why = [](const std::function<void(SweepResult&)>& change) {
    SweepResult result = MadeUpResult("r.json", Cells()).result;
    change(result);
    return WhyNoBaseline(result);
  };
  EXPECT_EQ(why([](auto&) {}), "");
  EXPECT_THAT(why([](auto& result) {
                result.context.valid = false;
                result.context.invalid_reasons = {"a debug build"};
              }),
              HasSubstr("a debug build"));
  EXPECT_THAT(why([](auto& result) {
                result.cells[1].status = CellStatus::kError;
                result.cells[1].message = "too large";
              }),
              HasSubstr("a cell of mocha is error: too large"));
  EXPECT_THAT(
      why([](auto& result) { result.context.points.push_back("another"); }),
      HasSubstr("1 of the 2 points"));
  EXPECT_THAT(why([](auto& result) {
                for (ResultCell& cell : result.cells) {
                  cell.status = CellStatus::kSkipped;
                }
              }),
              HasSubstr("no cell of it was measured"));
  EXPECT_THAT(why([](auto& result) { result.cells.clear(); }),
              HasSubstr("no cells"));
}

}  // namespace
}  // namespace attnbench
