// Guards against a comparison that passes although nothing, or not everything,
// was compared, and that misses what times do not show: changed counts, a cell
// that has no time any more, a result that is not valid.
#include "harness/answers/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/support/made_up_results.h"

namespace attnbench {
namespace {

using Members = std::map<std::string, Json>;

using ::testing::HasSubstr;
using testing::MadeUpCell;
using testing::MadeUpResult;
using ::testing::Not;

// Ten processes have two rounds each, half a percent apart.
std::vector<double> Samples(double time_ns) {
  std::vector<double> samples;
  for (int i = 0; i < 20; ++i) {
    samples.push_back(time_ns * (1 + 0.0005 * (i / 2)));
  }
  return samples;
}

std::vector<Json> Cells() {
  return {MadeUpCell("soft", 10, Samples(1000), 10),
          MadeUpCell("mocha", 10, Samples(100), 10),
          MadeUpCell("soft", 20, Samples(4000), 10)};
}

Json Compare(const ReadSweep& a, const ReadSweep& b) {
  return ToJson(CompareResults(a, b, {.effects = testing::QuietEffects()}));
}

// The report of tests has to say the same.
int CompareExitCode(const Json& json) {
  const auto comparison = FromJson<Comparison>(json, "test");
  const int code = attnbench::CompareExitCode(comparison);
  EXPECT_EQ(testing::HasBadCase(CompareJUnit(comparison)), code != 0);
  return code;
}

// Compares a result with itself after a change to its cells.
Json AfterChange(const std::function<void(std::vector<Json>&)>& change) {
  std::vector<Json> cells = Cells();
  change(cells);
  return Compare(MadeUpResult("a.json", Cells()),
                 MadeUpResult("b.json", cells));
}

std::string TextOf(const Json& comparison) {
  return CompareText(FromJson<Comparison>(comparison, "test"));
}

TEST(Compare, AResultIsTheSameAsItself) {
  const Json comparison = AfterChange([](auto&) {});
  EXPECT_EQ(CompareExitCode(comparison), 0);
  EXPECT_EQ(comparison.at("comparisons"), 3);
  EXPECT_EQ(comparison.at("common_ratio"), 1);
  for (const Json& row : comparison.at("rows")) {
    EXPECT_EQ(row.at("verdict"), "SAME");
  }
  for (const char* list :
       {"differences", "untimed", "changes", "only_a", "only_b"}) {
    EXPECT_TRUE(comparison.at(list).empty()) << list;
  }
}

TEST(Compare, TellsOfAMachineThatOnlyAPartOfAResultIsOf) {
  const ReadSweep a = MadeUpResult("a.json", Cells());
  ReadSweep b = a;
  MeasuringRun of_another;
  of_another.differs = Members{{"cpu", "another"}};
  b.result.context.runs = {MeasuringRun(), of_another};
  EXPECT_THAT(TextOf(Compare(a, b)),
              HasSubstr("differs: cpu: \"a processor\" and "
                        "[\"a processor\",\"another\"]\n"));
}

TEST(Compare, TheReportOfTestsTellsWhatDiffersAndWhatTheTerminalSays) {
  const ReadSweep a = MadeUpResult("a.json", Cells());
  ReadSweep b = a;
  b.path = "b.json";
  b.result.context.cpu = "another";
  b.result.context.warnings = {"other programs ran"};
  const Comparison comparison = CompareResults(a, b, {});
  const std::string report = CompareJUnit(comparison);
  EXPECT_THAT(report,
              HasSubstr("<property name=\"differs: cpu\" value=\"&quot;a "
                        "processor&quot; and &quot;another&quot;\"/>"));
  EXPECT_THAT(report, HasSubstr("<property name=\"warning: b.json\" value=\""
                                "other programs ran\"/>"));
  const std::string said = CompareText(comparison);
  EXPECT_THAT(said, HasSubstr("warning: b.json: other programs ran\n"));
  const std::string output = report.substr(report.find("<system-out>"));
  for (const char* line : {">warning: b.json: other programs ran\n",
                           "\ndiffers: cpu: ", "\nall together B takes ",
                           " margin 5 %\n</system-out>"}) {
    EXPECT_THAT(output, HasSubstr(line));
  }
}

TEST(Compare, FindsTheSlowerAndTheFasterCellWhereverTheyStand) {
  const Json comparison = AfterChange([](auto& cells) {
    cells[1] = MadeUpCell("mocha", 10, Samples(120), 10);
    cells[2] = MadeUpCell("soft", 20, Samples(3000), 10);
    std::swap(cells[0], cells[2]);
  });
  const Json& rows = comparison.at("rows");
  EXPECT_EQ(rows[0].at("verdict"), "SAME");
  EXPECT_EQ(rows[1].at("mechanism"), "mocha");
  EXPECT_EQ(rows[1].at("verdict"), "SLOWER");
  EXPECT_NEAR(rows[1].at("ratio").get<double>(), 1.2, 1e-9);
  EXPECT_GT(rows[1].at("interval")[0], 1.15);
  EXPECT_EQ(rows[1].at("b_processes"), 10);
  EXPECT_EQ(rows[2].at("verdict"), "FASTER");
  EXPECT_EQ(CompareExitCode(comparison), 1);
  EXPECT_THAT(TextOf(comparison), HasSubstr("SLOWER      1.200 [1.1"));
  EXPECT_THAT(TextOf(comparison), HasSubstr("]     1.200 mocha T=10"));
  EXPECT_THAT(TextOf(comparison), HasSubstr("1 FASTER, 1 SLOWER, 1 SAME"));
}

TEST(Compare, FasterAloneIsGood) {
  EXPECT_EQ(CompareExitCode(AfterChange([](auto& cells) {
              cells[1] = MadeUpCell("mocha", 10, Samples(80), 10);
            })),
            0);
}

std::vector<Json> ScaledCells(double factor) {
  std::vector<Json> cells = Cells();
  for (Json& cell : cells) {
    for (Json& sample : cell["samples_ns"]) {
      sample = factor * sample.get<double>();
    }
  }
  return cells;
}

TEST(Compare, WhatAllCellsHaveInCommonIsSaidAndIsNoVerdict) {
  const Json comparison = Compare(MadeUpResult("a.json", Cells()),
                                  MadeUpResult("b.json", ScaledCells(1.3)));
  EXPECT_EQ(CompareExitCode(comparison), 0);
  EXPECT_TRUE(comparison.at("relative"));
  EXPECT_NEAR(comparison.at("common_ratio").get<double>(), 1.3, 1e-9);
  // The machine's state is in each of the two runs; t with 10 degrees is 2.228.
  EXPECT_NEAR(comparison.at("common_interval")[1].get<double>(),
              1.3 * std::exp(2.2281 * std::sqrt(2) * 0.02), 1e-4);
  for (const Json& row : comparison.at("rows")) {
    EXPECT_EQ(row.at("verdict"), "SAME");
    EXPECT_NEAR(row.at("ratio").get<double>(), 1, 1e-9);
  }
  EXPECT_THAT(TextOf(comparison), HasSubstr("all together B takes 1.300 [1.2"));
  EXPECT_THAT(TextOf(comparison), HasSubstr("the machine, or all of the code"));
  EXPECT_THAT(TextOf(comparison), HasSubstr("]     1.300 mocha T=10"));
}

TEST(Compare, ACellIsJudgedBesideWhatAllHaveInCommon) {
  std::vector<Json> cells = ScaledCells(1.3);
  cells[1] = MadeUpCell("mocha", 10, Samples(100), 10);
  const Json comparison =
      Compare(MadeUpResult("a.json", Cells()), MadeUpResult("b.json", cells));
  EXPECT_EQ(comparison.at("rows")[1].at("verdict"), "FASTER");
  EXPECT_NEAR(comparison.at("rows")[1].at("ratio").get<double>(), 1 / 1.3,
              1e-9);
}

TEST(Compare, FewerThanThreeCellsHaveInThemWhatTheMachineDid) {
  const auto two = [](double factor) {
    std::vector<Json> cells = ScaledCells(factor);
    cells.pop_back();
    return MadeUpResult("r.json", cells);
  };
  const Json comparison = Compare(two(1), two(1.3));
  EXPECT_FALSE(comparison.at("relative"));
  EXPECT_TRUE(comparison.at("common_interval").is_null());
  EXPECT_NEAR(comparison.at("common_ratio").get<double>(), 1.3, 1e-9);
  EXPECT_EQ(CompareExitCode(comparison), 1);
  EXPECT_THAT(TextOf(comparison), HasSubstr("fewer than 3 cells"));
  // Two runs of the same program explain 7 percent.
  EXPECT_EQ(CompareExitCode(Compare(two(1), two(1.06))), 0);
}

TEST(Compare, IntervalsAreCorrectedForTheNumberOfCells) {
  const auto width = [](std::size_t count) {
    std::vector<Json> cells;
    while (cells.size() < count) {
      cells.push_back(MadeUpCell("soft", static_cast<int>(cells.size()) + 1,
                                 Samples(1000), 10));
    }
    const ReadSweep result = MadeUpResult("r.json", cells);
    const Json interval = Compare(result, result).at("rows")[0].at("interval");
    return interval[1].get<double>() - interval[0].get<double>();
  };
  EXPECT_GT(width(30), 1.3 * width(3));
}

TEST(Compare, SamplesOfOneDrawAndOfAllMayDifferAsDrawsDo) {
  const auto after = [](int trials_of_b, double slowest_draw) {
    return AfterChange([&](std::vector<Json>& cells) {
             cells[0] = MadeUpCell("soft", 10, Samples(2000), 10);
             cells[0]["draw_ns"] = std::vector<double>(16, 1.0);
             cells[0]["draw_ns"][3] = slowest_draw;
             cells[0]["trials_per_sample"] = trials_of_b;
           })
        .at("rows")[0]
        .at("verdict")
        .get<std::string>();
  };
  EXPECT_EQ(after(32, 3), "SLOWER");
  EXPECT_EQ(after(15, 3), "AMBIGUOUS");
  EXPECT_EQ(after(15, 1.5), "SLOWER");
}

// Of another speed of the machine by a factor of e a cell may have a tenth
// more or less.
TEST(Compare, AnotherSpeedOfTheMachineDoesNotMoveAllCellsAlike) {
  Effects effects = testing::QuietEffects();
  const auto half_width = [&](double factor) {
    const Comparison comparison = CompareResults(
        MadeUpResult("a.json", Cells()),
        MadeUpResult("b.json", ScaledCells(factor)), {.effects = effects});
    return std::log(comparison.rows[0].interval->high /
                    comparison.rows[0].ratio);
  };
  const double alike = half_width(std::exp(1.0));
  EXPECT_NEAR(half_width(1), alike, 1e-9);
  effects.speed_share = 0.1;
  effects.speed_degrees = 1e9;
  EXPECT_NEAR(half_width(1), alike, 1e-9);
  EXPECT_GT(half_width(std::exp(1.0)), 0.1);
}

TEST(Compare, OneSideOfSeveralBuildsLeavesThatOfTheOther) {
  const auto half_width = [](int builds_of_a, int builds_of_b) {
    const auto result = [](int builds) {
      std::vector<Json> cells;
      for (const int length : {10, 20, 30}) {
        cells.push_back(
            MadeUpCell("soft", length, std::vector<double>(4, 100), 4));
        cells.back()["builds"] = builds;
      }
      return MadeUpResult("r.json", cells);
    };
    return std::log(Compare(result(builds_of_a), result(builds_of_b))
                        .at("rows")[0]
                        .at("interval")[1]
                        .get<double>());
  };
  const Effect effect = testing::QuietEffects().ratio;
  const auto expected = [&](double of_builds) {
    return HalfWidth(effect.Parts({.builds = of_builds, .runs = 1}), 0.05 / 3);
  };
  EXPECT_NEAR(half_width(4, 4), expected(0), 1e-9);
  EXPECT_NEAR(half_width(1, 1), expected(0), 1e-9);
  EXPECT_NEAR(half_width(4, 1), expected(0.5), 1e-9);
}

TEST(Compare, AProcessAloneDoesNotShowWhatProcessesDo) {
  const auto half_width = [](int processes) {
    const std::vector<double> still(4, 100);
    const std::vector<Json> cells = {MadeUpCell("soft", 10, still, processes),
                                     MadeUpCell("soft", 20, still, processes),
                                     MadeUpCell("soft", 30, still, processes)};
    const ReadSweep result = MadeUpResult("r.json", cells);
    return std::log(
        Compare(result, result).at("rows")[0].at("interval")[1].get<double>());
  };
  const Effect effect = testing::QuietEffects().ratio;
  EXPECT_NEAR(half_width(4), HalfWidth(effect.Parts({.runs = 1}), 0.05 / 3),
              1e-9);
  EXPECT_NEAR(half_width(1),
              HalfWidth(effect.Parts({.processes = 1, .runs = 1}), 0.05 / 3),
              1e-9);
}

TEST(Compare, SaysWhatAnotherPlacementExplainsUnlessBuildsShowIt) {
  const auto compare = [](std::int64_t builds, const std::string& build_id) {
    std::vector<Json> cells = Cells();
    for (Json& cell : cells) cell["builds"] = builds;
    ReadSweep b = MadeUpResult("b.json", cells);
    b.result.context.build_id = build_id;
    return Compare(MadeUpResult("a.json", Cells()), b);
  };
  const Json one = compare(1, "another");
  const auto expected = [](double of_builds) {
    return std::expm1(HalfWidth(
        testing::QuietEffects().ratio.Parts({.builds = of_builds, .runs = 1}),
        0.05 / 3));
  };
  EXPECT_NEAR(one.at("placement").get<double>(), expected(1), 1e-9);
  EXPECT_THAT(TextOf(one),
              HasSubstr("where a side is one build, no change below 1."));
  // A has one build still.
  EXPECT_NEAR(compare(5, "another").at("placement").get<double>(),
              expected(0.5), 1e-9);
  EXPECT_TRUE(
      compare(1, testing::MadeUpContext().build_id).at("placement").is_null());
}

// Then each side's build is in its own times.
TEST(Compare, OfFewCellsEachSidesBuildCounts) {
  const ReadSweep a = MadeUpResult("a.json", {Cells()[0]});
  ReadSweep b = a;
  b.result.context.build_id = "another";
  EXPECT_NEAR(
      Compare(a, b).at("placement").get<double>(),
      std::expm1(HalfWidth(
          testing::QuietEffects().time.Parts({.builds = 2, .runs = 2}), 0.05)),
      1e-9);
}

TEST(Compare, WritesATableForAPullRequest) {
  std::vector<Json> cells = ScaledCells(1.3);
  cells[1] = MadeUpCell("mocha", 10, Samples(100), 10);
  cells.pop_back();
  cells.push_back(MadeUpCell("a|b", 20, Samples(1300), 10));
  std::vector<Json> before = Cells();
  before[2] = MadeUpCell("a|b", 20, Samples(1000), 10);
  before.push_back(MadeUpCell("soft", 40, Samples(1), 10));
  const std::string text = CompareMarkdown(CompareResults(
      MadeUpResult("a.json", before), MadeUpResult("b.json", cells),
      {.effects = testing::QuietEffects()}));
  EXPECT_THAT(text, ::testing::StartsWith("- all together B takes 1.300 ["));
  EXPECT_THAT(
      text,
      HasSubstr("\n\n| cell | verdict | change | interval | B / A | reason |\n"
                "| --- | --- | ---: | --- | ---: | --- |\n| soft T=10"));
  EXPECT_THAT(text, HasSubstr("| mocha T=10 U=10 | FASTER | 0.769 | [0.7"));
  EXPECT_THAT(text, HasSubstr("] | 1.000 | the interval excludes 1 |\n"));
  EXPECT_THAT(text, HasSubstr("| a\\|b T=20"));
  EXPECT_THAT(text, HasSubstr("|\n\n- only in A: soft T=40 U=40\n- 1 FASTER"));
}

TEST(Compare, CellsOfOneSideFailWhateverTheOthersSay) {
  const auto drop_last = [](auto& cells) { cells.pop_back(); };
  EXPECT_EQ(CompareExitCode(AfterChange(drop_last)), 3);
  EXPECT_THAT(TextOf(AfterChange(drop_last)), HasSubstr("only in A: soft"));
  const Json added = AfterChange([](auto& cells) {
    cells[0] = MadeUpCell("soft", 10, Samples(9000), 10);
    cells.push_back(MadeUpCell("soft", 30, Samples(1), 10));
  });
  EXPECT_EQ(CompareExitCode(added), 3);
  EXPECT_THAT(TextOf(added), HasSubstr("only in B: soft T=30"));
}

TEST(Compare, NothingInCommonIsNotGood) {
  EXPECT_EQ(
      CompareExitCode(Compare(MadeUpResult("a", {}), MadeUpResult("b", {}))),
      3);
  // An axis or an option that differs makes another cell.
  for (const char* key : {"precision", "options"}) {
    const Json comparison = AfterChange([key](auto& cells) {
      for (Json& cell : cells) cell[key] = key[0] == 'p' ? Json("f64") : Json{};
      for (Json& cell : cells) {
        if (cell[key].is_null()) cell[key] = {{"threshold", 0.6}};
      }
    });
    EXPECT_EQ(CompareExitCode(comparison), 3) << key;
    EXPECT_EQ(comparison.at("only_a").size(), 3U) << key;
  }
}

TEST(Compare, ACellThatLostItsTimeFails) {
  const auto fail = [](auto& cells) {
    cells[1]["status"] = "error";
    cells[1]["samples_ns"] = Json::array();
  };
  const Json comparison = AfterChange(fail);
  EXPECT_EQ(CompareExitCode(comparison), 1);
  EXPECT_EQ(comparison.at("comparisons"), 2);
  EXPECT_EQ(comparison.at("changes")[0].at("field"), "status");
  EXPECT_THAT(TextOf(comparison),
              HasSubstr("no time: mocha T=10 U=10: ok in A, error in B"));
}

TEST(Compare, ACellThatFailedOnBothSidesFails) {
  for (const char* status : {"invalid", "error", "timeout"}) {
    std::vector<Json> cells = Cells();
    cells[1]["status"] = status;
    const ReadSweep failed = MadeUpResult("r.json", cells);
    const Json comparison = Compare(failed, failed);
    EXPECT_TRUE(comparison.at("changes").empty());
    EXPECT_EQ(CompareExitCode(comparison), 1) << status;
  }
}

TEST(Compare, AStatusMayOnlyBecomeGood) {
  const auto exit_code = [](const char* before, const char* after) {
    std::vector<Json> cells = Cells();
    cells[1]["status"] = before;
    const ReadSweep a = MadeUpResult("a.json", cells);
    cells[1]["status"] = after;
    return CompareExitCode(Compare(a, MadeUpResult("b.json", cells)));
  };
  EXPECT_EQ(exit_code("error", "ok"), 0);
  EXPECT_EQ(exit_code("skipped", "skipped"), 0);
  EXPECT_EQ(exit_code("skipped", "error"), 1);
  EXPECT_EQ(exit_code("ok", "skipped"), 1);
}

TEST(Compare, WhatChangedBesideTimesFailsAndComesFirst) {
  const Json comparison = AfterChange([](auto& cells) {
    cells[0]["operations"]["flops"] = 101.5;
    cells[1]["peak_memory_bytes"] = nullptr;
    cells[2]["numerics"]["context_sum"] = -0.2501;
  });
  std::vector<std::string> fields;
  for (const Json& change : comparison.at("changes")) {
    fields.push_back(change.at("field"));
  }
  EXPECT_EQ(fields,
            (std::vector<std::string>{"operations.flops", "peak_memory_bytes",
                                      "numerics.context_sum"}));
  EXPECT_EQ(CompareExitCode(comparison), 1);
  EXPECT_THAT(
      TextOf(comparison),
      ::testing::StartsWith(
          "changed: soft T=10 U=10: operations.flops 100.5 -> 101.5\n"
          "changed: mocha T=10 U=10: peak_memory_bytes 4096 -> null\n"
          "changed: soft T=20 U=20: numerics.context_sum -0.25 -> -0.2501\n"
          "all together B takes 1.000 ["));
  for (const Json& row : comparison.at("rows")) {
    EXPECT_EQ(row.at("verdict"), "SAME");
  }
}

TEST(Compare, EachNumberThatChangedFailsAlone) {
  for (const char* pointer :
       {"/operations/energies", "/peak_memory_bytes", "/numerics/context_l2"}) {
    EXPECT_EQ(CompareExitCode(AfterChange([pointer](auto& cells) {
                cells[1][Json::json_pointer(pointer)] = 7;
              })),
              1)
        << pointer;
  }
}

TEST(Compare, WhatAWholeDecoderReadIsExactAndItsBeamIsNamed) {
  std::vector<Json> cells = {
      ToJson(testing::MadeUpDecoderCell("soft", 10, Samples(1000), 10)),
      ToJson(testing::MadeUpDecoderCell("soft", 10, Samples(2000), 10))};
  cells[1]["beam"] = 1;
  const ReadSweep a = MadeUpResult("a.json", cells);
  cells[1]["decoder"]["reads"]["memory_read"] = 0.5;
  const Json comparison = Compare(a, MadeUpResult("b.json", cells));
  ASSERT_EQ(comparison.at("changes").size(), 1U);
  EXPECT_EQ(comparison.at("changes")[0].at("field"), "decoder.reads");
  EXPECT_THAT(TextOf(comparison),
              ::testing::StartsWith("changed: soft beam=1: decoder.reads "));
}

TEST(Compare, SumsAreComparedToThePrecisionOfTheCell) {
  const auto num_changes = [](const char* precision, double factor) {
    std::vector<Json> cells = {Cells()[0]};
    cells[0]["precision"] = precision;
    const ReadSweep a = MadeUpResult("a.json", cells);
    cells[0]["numerics"]["context_l2"] = 2.0 * factor;
    return Compare(a, MadeUpResult("b.json", cells)).at("changes").size();
  };
  EXPECT_EQ(num_changes("f32", 1 + 0.9e-5), 0U);
  EXPECT_EQ(num_changes("f32", 1 + 1.1e-5), 1U);
  EXPECT_EQ(num_changes("f64", 1 + 0.9e-10), 0U);
  EXPECT_EQ(num_changes("f64", 1 - 1.1e-10), 1U);
}

TEST(Compare, SaysFirstWhatIsNotValidAndWhatDiffers) {
  const ReadSweep a = MadeUpResult("a.json", Cells());
  ReadSweep b = MadeUpResult("b.json", Cells());
  b.result.context.valid = false;
  b.result.context.invalid_reasons = {"built without optimisation"};
  b.result.context.cpu = "another";
  const Json comparison = Compare(a, b);
  EXPECT_EQ(CompareExitCode(comparison), 5);
  EXPECT_THAT(
      TextOf(comparison),
      ::testing::StartsWith("INVALID: b.json: built without optimisation\n"
                            "differs: cpu: \"a processor\" and \"another\"\n"));
}

TEST(Compare, TimesOfAResultThatIsNotValidAreNoVerdictButItsNumbersAre) {
  const auto exit_code = [](const auto& change) {
    std::vector<Json> cells = Cells();
    change(cells);
    ReadSweep b = MadeUpResult("b.json", cells);
    b.result.context.valid = false;
    return CompareExitCode(Compare(MadeUpResult("a.json", Cells()), b));
  };
  EXPECT_EQ(exit_code([](auto& cells) {
              cells[1] = MadeUpCell("mocha", 10, Samples(200), 10);
            }),
            5);
  EXPECT_EQ(exit_code([](auto& cells) { cells[1]["peak_memory_bytes"] = 7; }),
            1);
  EXPECT_EQ(exit_code([](auto& cells) { cells.pop_back(); }), 3);
}

TEST(Compare, TimesOfOneRoundAreNothingToCompare) {
  const std::vector<Json> one = {MadeUpCell("soft", 10, {1000})};
  const std::vector<Json> slower = {MadeUpCell("soft", 10, {9000})};
  const Json comparison =
      Compare(MadeUpResult("a.json", one), MadeUpResult("b.json", slower));
  EXPECT_EQ(CompareExitCode(comparison), 3);
  // One cell with an interval is enough.
  std::vector<Json> more = one;
  more.push_back(Cells()[1]);
  const ReadSweep result = MadeUpResult("r.json", more);
  EXPECT_EQ(CompareExitCode(Compare(result, result)), 0);
}

}  // namespace
}  // namespace attnbench
