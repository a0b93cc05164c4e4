// Guards against a comparison that passes although nothing, or not everything,
// was compared, and that misses what times do not show: changed counts, a cell
// that has no time any more, a result that is not valid.
#include "harness/results/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  return ToJson(CompareResults(a, b, {}));
}

int CompareExitCode(const Json& comparison) {
  return attnbench::CompareExitCode(FromJson<Comparison>(comparison, "test"));
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
  attnbench::Run of_another;
  of_another.differs = Members{{"cpu", "another"}};
  b.result.context.runs = {attnbench::Run(), of_another};
  EXPECT_THAT(TextOf(Compare(a, b)),
              HasSubstr("differs: cpu: \"a processor\" and "
                        "[\"a processor\",\"another\"]\n"));
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
  EXPECT_THAT(TextOf(comparison), HasSubstr("1 FASTER, 1 SLOWER, 1 SAME"));
}

TEST(Compare, FasterAloneIsGood) {
  EXPECT_EQ(CompareExitCode(AfterChange([](auto& cells) {
              cells[1] = MadeUpCell("mocha", 10, Samples(80), 10);
            })),
            0);
}

TEST(Compare, IntervalsAreCorrectedForTheNumberOfCells) {
  const auto width = [](const Json& comparison) {
    const Json& interval = comparison.at("rows")[0].at("interval");
    return interval[1].get<double>() - interval[0].get<double>();
  };
  const ReadSweep one = MadeUpResult("r.json", {Cells()[0]});
  EXPECT_GT(width(AfterChange([](auto&) {})), 1.2 * width(Compare(one, one)));
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
          "verdict "));
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
  EXPECT_EQ(CompareExitCode(comparison), 1);
  EXPECT_THAT(
      TextOf(comparison),
      ::testing::StartsWith("INVALID: b.json: built without optimisation\n"
                            "differs: cpu: \"a processor\" and \"another\"\n"));
}

TEST(Compare, OneProcessEachIsNotSame) {
  const ReadSweep one =
      MadeUpResult("r.json", {MadeUpCell("soft", 10, Samples(1000), 1)});
  const Json comparison = Compare(one, one);
  EXPECT_EQ(comparison.at("rows")[0].at("verdict"), "AMBIGUOUS");
  EXPECT_EQ(CompareExitCode(comparison), 0);
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
