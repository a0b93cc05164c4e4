// Guards against advice that takes one cell's time for another's, a gain that
// cannot be told for one that can, or a scan that read nothing for a fast one.
#include "harness/answers/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "harness/base/error.h"
#include "harness/results/cell_match.h"
#include "harness/sweep/sweep.h"
#include "tests/support/made_up_results.h"
#include "tests/support/schema.h"

namespace attnbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MadeUpContext;
using testing::MadeUpDecoderCell;
using ::testing::Not;

const AdvisedShape kShape{.memory_length = 400, .output_length = 60};

std::vector<double> RoundsOf(double time_ns) {
  std::vector<double> samples;
  for (int i = 0; i < 20; ++i) samples.push_back(time_ns * (1 + i % 4));
  return samples;
}

// What attention and the model around it take at a length.
struct Parts {
  double attention = 0;
  double rest = 0;
};

ResultCell DecoderAt(const std::string& mechanism, int length,
                     const Parts& times) {
  ResultCell cell = MadeUpDecoderCell(mechanism, 2 * length,
                                      RoundsOf(times.rest + times.attention));
  if (mechanism == kNoAttention) {
    cell.decoder = DecoderFigures{};
  } else {
    cell.decoder->attention_samples_ns = RoundsOf(times.attention);
  }
  Summarize(cell);
  return cell;
}

// Of three lengths; by default attention is a fifth of the decoder at 400, and
// monotonic's is faster from 50 on.
struct Made {
  double rest = 4000;
  double monotonic = 50;
  double read = 1;
  double empty = 0;

  SweepResult Result() const {
    SweepResult result;
    result.context = MadeUpContext();
    for (const int length : {25, 100, 400}) {
      result.cells.push_back(DecoderAt("none", length, {0, rest}));
      result.cells.push_back(DecoderAt("soft", length, {2.5 * length, rest}));
      result.cells.push_back(
          DecoderAt("monotonic", length,
                    {monotonic * 2.5 * std::sqrt(length / 50.0), rest}));
      result.cells.back().decoder->reads->memory_read = read;
      result.cells.back().decoder->reads->zero_contexts = empty;
      result.cells.back().latency = Latency{.ap = 0.5, .dal = 12};
    }
    return result;
  }
  Advice Of() const { return AdviceOf(Result(), kShape); }
};

TEST(Advice, HasTheTimesAtTheLengthThatIsAskedFor) {
  const SweepResult result = Made().Result();
  const Advice advice = AdviceOf(result, kShape);
  EXPECT_THAT(advice.lengths, ElementsAre(25, 100, 400));
  ASSERT_EQ(advice.mechanisms.size(), 3U);
  const AdvisedMechanism& monotonic = advice.mechanisms[2];
  const double of_monotonic = 125 * std::sqrt(8);
  EXPECT_NEAR(monotonic.attention->speedup, 1000 / of_monotonic, 1e-9);
  EXPECT_NEAR(monotonic.decoder->speedup, 5000 / (4000 + of_monotonic), 1e-9);
  const auto wanted = SpeedupOf(result.cells[8], result.cells[7]);
  EXPECT_EQ(monotonic.decoder->speedup_interval->low, wanted->interval.low);
  EXPECT_NEAR(*advice.attention_share, 0.2, 1e-12);
  EXPECT_EQ(advice.mechanisms[1].decoder->speedup, 1);
  EXPECT_FALSE(advice.mechanisms[0].attention.has_value());
  EXPECT_NEAR(advice.mechanisms[0].decoder->speedup, 1.25, 1e-9);
}

TEST(Advice, AGainThatCanBeToldPays) {
  const Advice advice = Made{.rest = 100}.Of();
  EXPECT_THAT(advice.conclusion, HasSubstr("It pays: the whole decoder is 2."));
  EXPECT_THAT(advice.conclusion, HasSubstr("with monotonic as with soft"));
  EXPECT_THAT(advice.conclusion,
              HasSubstr("Soft attention takes 91 % of the decoder's time."));
}

TEST(Advice, AGainThatMayBeThereOrNotIsNoAnswer) {
  const Advice advice = Made{.rest = 40000}.Of();
  EXPECT_THAT(advice.conclusion, HasSubstr("It cannot be told: more"));
  EXPECT_THAT(advice.conclusion, HasSubstr("The best is monotonic with 1"));
}

TEST(Advice, ALossThatCanBeToldDoesNotPay) {
  const Advice advice = Made{.rest = 100, .monotonic = 2000}.Of();
  EXPECT_THAT(advice.conclusion,
              HasSubstr("It does not pay: no mechanism makes the whole"));
  EXPECT_THAT(advice.conclusion, HasSubstr("The best is monotonic with 0"));
}

TEST(Advice, WhereTheBestWaitsForItsInputTheBestThatDoesNotIsNamedToo) {
  SweepResult result = Made{.rest = 100}.Result();
  result.cells.push_back(DecoderAt("memory", 400, {10, 100}));
  const std::string conclusion = AdviceOf(result, kShape).conclusion;
  EXPECT_THAT(conclusion, HasSubstr("It pays: the whole decoder is 10x ["));
  EXPECT_THAT(conclusion,
              HasSubstr("Of those that decode online the best is monotonic "
                        "with 2."));
  EXPECT_THAT(Made{.rest = 100}.Of().conclusion, Not(HasSubstr("online")));
}

TEST(Advice, AScanThatDidNotReadTheMemoryIsMarkedAndCountsForNothing) {
  for (const Made& made :
       {Made{.rest = 100, .read = 0.89}, Made{.rest = 100, .empty = 0.06}}) {
    const Advice advice = made.Of();
    EXPECT_THAT(advice.conclusion, HasSubstr("Nothing can be said"));
    EXPECT_THAT(AdviceText(advice), HasSubstr("] *"));
    EXPECT_THAT(AdviceText(advice), HasSubstr("\n*: under 90 %"));
  }
  EXPECT_THAT(AdviceText(Made().Of()), Not(HasSubstr("*")));
}

TEST(Advice, AScanReadsTheShareThatATrainedModelReads) {
  AdvisedShape shape = kShape;
  shape.memory_read = 0.5;
  for (const Point& point : ExpandSweep(AdviceRequest(shape)).points) {
    EXPECT_EQ(point.axes.at("workload"), AxisValue("copy:0.5"));
  }
  Advice advice = AdviceOf(Made{.rest = 100, .read = 0.46}.Result(), shape);
  EXPECT_THAT(advice.conclusion, HasSubstr("It pays"));
  EXPECT_THAT(AdviceText(advice), HasSubstr("scans read 50 % of the memory"));
  advice = AdviceOf(Made{.rest = 100, .read = 0.44}.Result(), shape);
  EXPECT_THAT(advice.conclusion, HasSubstr("Nothing can be said"));
  EXPECT_THAT(AdviceText(advice), HasSubstr("\n*: under 45 %"));
  advice.model = {{.zero_contexts = 0.2,
                   .memory_read = 0.5,
                   .latency = Latency{.ap = 0.4, .dal = 3}},
                  "m seed 1"};
  EXPECT_THAT(
      AdviceText(advice),
      HasSubstr(
          "m seed 1: its decoding by the threshold reads 50 % of the memory "
          "and leaves 20 % of its outputs without a context; AP "
          "0.40, DAL 3.0 entries\n"));
}

std::string BreaksEven(double monotonic) {
  const Advice advice = Made{.monotonic = monotonic}.Of();
  const std::string text = AdviceText(advice);
  const auto at = text.find("\n  monotonic");
  const std::string line =
      text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  return line.substr(line.rfind("  ") + 2);
}

TEST(Advice, ItBreaksEvenBetweenTheLengthsThatWereMeasured) {
  // 2.5 T and 2.5 m sqrt(T / 50) are equal at T = m^2 / 50.
  EXPECT_EQ(BreaksEven(50), "about 50");
  EXPECT_EQ(BreaksEven(10), "below 25");
  EXPECT_EQ(BreaksEven(100), "about 200");
  EXPECT_EQ(BreaksEven(200), "not up to 400");
}

TEST(Advice, ACellWithoutATimeSaysWhy) {
  SweepResult result = Made().Result();
  ResultCell& cell = result.cells[8];
  const CellIdentity identity = cell;
  const std::string point = cell.point;
  cell = FailedCell({}, CellStatus::kSkipped, "it has no beam");
  static_cast<CellIdentity&>(cell) = identity;
  cell.point = point;
  EXPECT_THAT(AdviceText(AdviceOf(result, kShape)),
              HasSubstr("\n  monotonic  it has no beam\n"));
  result.cells[7].status = CellStatus::kTimeout;
  result.cells[7].message = "too slow";
  EXPECT_THROW(AdviceOf(result, kShape), UserError);
}

TEST(Advice, TheSweepHasASourceOfEachLengthAndOutputsInProportion) {
  const Sweep sweep = ExpandSweep(AdviceRequest(kShape));
  std::map<std::int64_t, std::int64_t> outputs;
  for (const Point& point : sweep.points) {
    outputs[point.axes.at("memory_length").whole() / 2] =
        point.axes.at("output_length").whole() / 2;
    EXPECT_EQ(point.axes.at("batch"), AxisValue(1));
    EXPECT_EQ(point.cells.size(), CellMechanismNames().size());
    for (const auto& cell : point.cells) {
      EXPECT_FALSE(cell.skip_reason.has_value()) << *cell.skip_reason;
    }
  }
  EXPECT_EQ(outputs, (std::map<std::int64_t, std::int64_t>{
                         {25, 4}, {100, 15}, {400, 60}}));
  const AdvisedShape least{.memory_length = 1, .output_length = 1};
  EXPECT_EQ(ExpandSweep(AdviceRequest(least)).points.size(), 1U);
}

TEST(Advice, TheCommittedSchemaIsTheProgramsOwn) {
  EXPECT_EQ(testing::SchemaFile("advice"), SchemaTextOf<Advice>());
}

}  // namespace
}  // namespace attnbench
