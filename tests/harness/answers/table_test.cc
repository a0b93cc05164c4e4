// Guards against a table that shows a speed-up over another cell than it says,
// an interval of its own making, or one of a decoder that attends to nothing
// without a mark.
#include "harness/answers/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/answers/columns.h"
#include "harness/results/summary.h"
#include "harness/stats/effects.h"
#include "tests/support/made_up_results.h"
#include "tests/support/schema.h"

namespace attnbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MadeUpContext;
using testing::MadeUpDecoderCell;
using testing::MadeUpResultCell;
using ::testing::Not;

TEST(FactorText, IsNeverZeroNorLongerThanAColumn) {
  EXPECT_EQ(FactorText(0.376), "0.376");
  EXPECT_EQ(FactorText(0), "0.000");
  EXPECT_EQ(FactorText(1e-5), "1e-05");
  EXPECT_EQ(FactorText(5e-324), "4.94e-324");
  EXPECT_EQ(FactorText(1e300), "1e+300");
  EXPECT_EQ(FactorText(HUGE_VAL), "over 1e308");
}

TEST(TimeText, HasThreeDigitsAtTheEndsOfItsRange) {
  EXPECT_EQ(TimeText(1234e9, {}), "1234 s");
  EXPECT_EQ(TimeText(1e308, {}), "1e+299 s");
  EXPECT_EQ(TimeText(5e-324, {}), "4.94e-324 ns");
}

// Rounds that the machine makes up to four times as long, all cells alike.
std::vector<double> RoundsOf(double time_ns) {
  std::vector<double> samples;
  for (int i = 0; i < 8; ++i) {
    samples.push_back(time_ns * (1 + i % 4) * (1 + 0.01 * (i % 3)));
  }
  return samples;
}

ResultCell TimedCell(const std::string& mechanism, double time_ns,
                     int memory_length = 10) {
  return MadeUpResultCell(mechanism, memory_length, RoundsOf(time_ns), 2);
}

SweepResult ResultOf(const std::vector<ResultCell>& cells) {
  SweepResult result;
  result.context = MadeUpContext();
  result.cells = cells;
  return result;
}

CellTable TableOf(const std::vector<ResultCell>& cells) {
  CellTable table;
  AddRows(ResultOf(cells), "r.json", table);
  return table;
}

std::vector<std::string> Overs(const CellTable& table) {
  std::vector<std::string> overs;
  for (const TableRow& row : table.rows) overs.push_back(row.over.value_or(""));
  return overs;
}

ResultCell With(ResultCell cell, const std::string& axis,
                const AxisValue& value) {
  cell.axes[axis] = value;
  return cell;
}

TEST(Table, ASpeedUpIsOfTheSameRoundsByTheOneRuleOfIntervals) {
  const ResultCell soft = TimedCell("soft", 1000);
  const ResultCell mocha = With(TimedCell("mocha", 250), "chunk_width", 4);
  const CellTable table = TableOf({soft, mocha});
  const Estimate ratio =
      Exp(EstimateOf(PairedLogRatios(SamplesOf(soft), SamplesOf(mocha)),
                     /*builds=*/1, CommittedEffects().ratio));
  const TableRow& row = table.rows[1];
  EXPECT_NEAR(*row.speedup, 4, 1e-12);
  EXPECT_EQ(*row.speedup, ratio.value);
  EXPECT_EQ(row.speedup_interval->low, ratio.interval.low);
  EXPECT_EQ(row.speedup_interval->high, ratio.interval.high);
  EXPECT_LT(row.speedup_interval->high, 5);  // far below that of the times
  EXPECT_EQ(row.cell, "mocha w=4");
  EXPECT_EQ(row.over, "soft");
  EXPECT_FALSE(table.rows[0].speedup.has_value());
}

TEST(Table, APeersRatioHasThePeersEffect) {
  const ResultCell soft = TimedCell("soft", 1000);
  const ResultCell peer = With(TimedCell("soft", 2000), "variant", "framework");
  const CellTable table = TableOf({soft, peer});
  const Estimate ratio =
      Exp(EstimateOf(PairedLogRatios(SamplesOf(soft), SamplesOf(peer)),
                     /*builds=*/1, CommittedEffects().peer));
  EXPECT_EQ(table.rows[1].speedup_interval->low, ratio.interval.low);
}

TEST(Table, SoftAttentionIsTheReferenceWhereverItStands) {
  EXPECT_THAT(Overs(TableOf({TimedCell("monotonic", 1), TimedCell("memory", 1),
                             TimedCell("soft", 1), TimedCell("matcha", 1)})),
              ElementsAre("soft", "soft", "", "soft"));
  EXPECT_THAT(
      Overs(TableOf({TimedCell("monotonic", 1), TimedCell("memory", 1)})),
      ElementsAre("", "monotonic"));
}

// Without soft attention of the whole memory one that decodes early is what all
// are compared with, and must not pass for the other.
TEST(Table, AReferenceWithAPolicyIsNamedWithIt) {
  ResultCell early = TimedCell("soft", 1);
  early.options["policy"] = std::string("alignatt");
  early.options["f"] = std::int64_t{4};
  const CellTable table = TableOf({early, TimedCell("monotonic", 1)});
  EXPECT_THAT(Overs(table), ElementsAre("", "soft policy=alignatt f=4"));
  EXPECT_THAT(TableText(table),
              HasSubstr("speed-up: the time of soft policy=alignatt over"));
  EXPECT_THAT(Overs(TableOf({early, TimedCell("soft", 1)})),
              ElementsAre("soft", ""));
}

TEST(Table, TheReferenceIsTheOneThatHasMostInCommon) {
  const auto published = [](const ResultCell& cell) {
    return With(cell, "variant", "published_O3");
  };
  EXPECT_THAT(
      Overs(TableOf({TimedCell("soft", 1), published(TimedCell("soft", 1)),
                     TimedCell("monotonic", 1),
                     published(TimedCell("monotonic", 1)),
                     With(TimedCell("monotonic", 1), "variant", "reference")})),
      ElementsAre("", "soft exact", "soft exact", "soft published_O3",
                  "soft exact"));
}

TEST(Table, CellsOfOtherPointsModesOrRoundsGiveNoSpeedUp) {
  ResultCell fewer = TimedCell("mocha", 1);
  fewer.samples_ns.resize(4);
  const CellTable table =
      TableOf({TimedCell("soft", 1), TimedCell("mocha", 1, 20),
               With(TimedCell("mocha", 1), "mode", "expect"), fewer});
  for (const TableRow& row : table.rows) {
    EXPECT_FALSE(row.speedup.has_value()) << row.cell;
  }
  EXPECT_THAT(TableText(table), Not(HasSubstr("speed-up:")));
}

ResultCell Scan(double energies, double mass) {
  ResultCell cell = With(TimedCell("monotonic", 100, 20), "output_length", 10);
  cell.axes["end"] = "absorb";
  cell.axes["batch"] = 2;
  cell.operations->energies = energies;
  cell.numerics->attention_mass = mass;
  return cell;
}

TEST(Table, SharesAreOfEntriesPassedAndOfOutputsWithoutAContext) {
  // Of 40 entries of two sequences 18 were passed, and 2 of 20 outputs chose
  // nothing.
  const TableRow row = TableOf({Scan(36, 18)}).rows[0];
  EXPECT_NEAR(*row.memory_read, 18.0 / 40, 1e-12);
  EXPECT_NEAR(*row.zero_contexts, 0.1, 1e-12);
  EXPECT_EQ(TableOf({TimedCell("soft", 1)}).rows[0].memory_read, 1.0);
}

TEST(Table, AMechanismThatWeighsAllEntriesAlwaysHasAContext) {
  ResultCell cell = TimedCell("memory", 1);
  cell.numerics->attention_mass = 3;  // of 10 outputs: weights sum to T / K
  const TableRow row = TableOf({cell}).rows[0];
  EXPECT_EQ(row.zero_contexts, 0.0);
  EXPECT_EQ(row.memory_read, 1.0);
}

TEST(Table, SharesThatCountsDoNotTellAreLeftOut) {
  for (const auto& [axis, value] :
       {std::pair<std::string, AxisValue>{"end", "restart"},
        {"end", "stay_last"},
        {"mode", "expect"},
        {"workload", "file:case.json"}}) {
    const CellTable table = TableOf({With(Scan(36, 18), axis, value)});
    EXPECT_FALSE(table.rows[0].memory_read.has_value()) << axis;
    EXPECT_EQ(TableText(table).find("\nmemory read: - where counts") !=
                  std::string::npos,
              axis == "end");
  }
  EXPECT_FALSE(TableOf({With(Scan(36, 18), "workload", "file:case.json")})
                   .rows[0]
                   .zero_contexts.has_value());
}

TEST(Table, OfAWholeDecoderTheSharesAreThoseThatItCounted) {
  ResultCell cell = MadeUpDecoderCell("mocha", 10, RoundsOf(100), 2);
  cell.decoder->reads->memory_read = 0.25;
  cell.decoder->reads->zero_contexts = 0.75;
  const TableRow row = TableOf({cell}).rows[0];
  EXPECT_EQ(row.memory_read, 0.25);
  EXPECT_EQ(row.zero_contexts, 0.75);
}

TEST(Table, ASpeedUpWithoutContextsIsMarkedAndTheMarkExplained) {
  const auto text = [](double mass) {
    ResultCell soft = Scan(0, 20);
    soft.mechanism = "soft";
    return TableText(TableOf({soft, Scan(36, mass)}));
  };
  EXPECT_THAT(text(18.9), HasSubstr("] *"));
  EXPECT_THAT(text(18.9), HasSubstr("\n*: over 5 % of the outputs have no"));
  EXPECT_THAT(text(19.1), Not(HasSubstr("*")));
}

TEST(Table, TextHasAHeadingForEachPointAndNamesWhatDiffersThere) {
  ResultCell skipped = FailedCell({}, CellStatus::kSkipped, "no energies");
  static_cast<CellIdentity&>(skipped) = TimedCell("memory", 1, 20);
  skipped.point = TimedCell("soft", 1, 20).point;
  const auto text = TableText(TableOf(
      {TimedCell("soft", 1.2e6), With(TimedCell("mocha", 3e5), "threads", 1),
       TimedCell("soft", 5e6, 20),
       With(TimedCell("soft", 5e6, 20), "precision", "f64"), skipped}));
  EXPECT_THAT(text, HasSubstr("T=10 U=10 d=256 B=1 f32\n  cell        time"));
  EXPECT_THAT(text, HasSubstr("\nT=20 U=20 d=256 B=1\n"));
  EXPECT_THAT(text, HasSubstr("\n  soft f64  "));
  EXPECT_THAT(text, HasSubstr("  skipped: no energies\n"));
  EXPECT_THAT(text, HasSubstr("  soft        2.98 ms ["));
}

TEST(Table, OptionsAndSettingsThatAreNoDefaultsAreNamed) {
  ResultCell mocha = With(TimedCell("mocha", 1), "energy", "additive");
  mocha.options["threshold"] = 0.75;
  const TableRow row = TableOf({mocha}).rows[0];
  EXPECT_EQ(row.cell, "mocha threshold=0.75");
  EXPECT_EQ(row.point_text, "T=10 U=10 d=256 B=1 additive");
}

TEST(Table, AnOptionThatIsSweptIsNamedAtItsDefault) {
  ResultCell other = TimedCell("mocha", 1);
  const ResultCell mocha = other, monotonic = TimedCell("monotonic", 1);
  other.options["threshold"] = 0.75;
  const CellTable table = TableOf({mocha, other, monotonic});
  EXPECT_EQ(table.rows[0].cell, "mocha threshold=0.5");
  EXPECT_EQ(table.rows[1].cell, "mocha threshold=0.75");
  EXPECT_EQ(table.rows[2].cell, "monotonic");
}

TEST(Table, RowsBeyondTheLimitAreCounted) {
  const CellTable table = TableOf({TimedCell("soft", 1), TimedCell("memory", 1),
                                   TimedCell("monotonic", 1)});
  const std::string text = TableText(table, 2);
  EXPECT_THAT(text, HasSubstr("1 more rows: attnbench show r.json\n"));
  EXPECT_THAT(text, Not(HasSubstr("monotonic")));
  EXPECT_THAT(TableText(table), HasSubstr("monotonic"));
}

TEST(Table, MarkdownAndCsvEscapeWhatWouldEndACell) {
  ResultCell failed = FailedCell({}, CellStatus::kError, "a|b, \"c\"");
  static_cast<CellIdentity&>(failed) = TimedCell("soft", 1);
  failed.point = TimedCell("soft", 1).point;
  const CellTable table = TableOf({failed, TimedCell("memory", 1)});
  EXPECT_THAT(TableMarkdown(table),
              HasSubstr("| soft | error: a\\|b, \"c\" |  |"));
  const std::string csv = TableCsv(table);
  EXPECT_THAT(csv, HasSubstr(",error,\"a|b, \"\"c\"\"\",,"));
  EXPECT_THAT(csv, ::testing::StartsWith("result,point,cell,mechanism,memory_"
                                         "length,output_length,"));
}

TEST(Table, TheCommittedSchemaIsTheProgramsOwn) {
  EXPECT_EQ(testing::SchemaFile("table"), SchemaTextOf<CellTable>());
}

}  // namespace
}  // namespace attnbench
