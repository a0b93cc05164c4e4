// Guards against a gate that lets a wrong output through: then a speed could be
// that of a wrong answer.
#include "harness/measure/decode_gate.h"

#include <gmock/gmock.h>

#include "harness/inputs/drawn_parameters.h"
#include "harness/measure/gate_rounding.h"
#include "tests/harness/measure/fake_mechanism.h"
#include "tests/support/two_heads.h"

namespace attnbench {
namespace {

using ::attnbench::testing::Defects;
using ::attnbench::testing::FakeMechanism;
using ::testing::HasSubstr;

constexpr Index kT = 6;
constexpr Index kU = 4;
constexpr Index kBatch = 2;

GateResult Check(const Mechanism<float>& mechanism, int threads = 1) {
  const auto workload = MakeWorkload<float>({.workload = "uniform",
                                             .memory_length = kT,
                                             .output_length = kU,
                                             .dim = 3,
                                             .batch = kBatch});
  Config config;
  config.dim = 3;
  return CheckAgainstReference<float>(mechanism, config, threads, *workload);
}

GateResult CheckDefect(
    std::function<void(int, std::span<float>, StepResult<float>&)> in_step) {
  Defects defects;
  defects.in_step = std::move(in_step);
  return Check(FakeMechanism(std::move(defects)));
}

TEST(Gate, LetsARightOutputThrough) {
  const FakeMechanism mechanism;
  const GateResult result = Check(mechanism, 2);
  EXPECT_EQ(result.message, "");
  EXPECT_EQ(result.error, 0);
  EXPECT_GT(result.error_bound, 0);
  EXPECT_LT(result.error_bound, 1e-3);
  // The gate takes 16 draws, each alone and in a batch, and an output entry by
  // entry.
  EXPECT_EQ(mechanism.num_steps(), 16 * 2 * kBatch * kU + 1);
}

TEST(Gate, LetsRoundingThroughAndReportsIt) {
  const GateResult result =
      CheckDefect([](int, std::span<float> context, StepResult<float>&) {
        context[0] += 1e-6F;
      });
  EXPECT_EQ(result.message, "");
  EXPECT_NEAR(result.error, 1e-6, 2e-7);
}

// Their error does not shrink with the states.
TEST(Gate, HasRoomForTheFactorsOfAdditiveEnergies) {
  constexpr Index kDim = 64;
  const DrawnParameters<float> parameters(1);
  const std::vector<float> tiny(kDim, 1e-6F);
  Sequence<float> sequence;
  sequence.inputs.parameters = &parameters;
  sequence.states = sequence.memory = {tiny.data(), 1, kDim};
  Config config;
  config.dim = kDim;
  const double dot = EnergyRounding(sequence, config);
  const auto row = parameters.Matrix("attention.v", 1, kDim).Row(0);
  double sum = 0, square = 0;
  for (const float v : row) {
    sum += std::abs(v);
    square += v * v;
  }
  const double unit = 6 * kRoundoff<float> * sum;
  config.energy = EnergyKind::kAdditive;
  EXPECT_NEAR(EnergyRounding(sequence, config) - dot, unit, 1e-6 * unit);
  config.energy = EnergyKind::kNormalizedAdditive;
  sequence.inputs.energy_scale = 2;
  EXPECT_NEAR(EnergyRounding(sequence, config) - dot,
              2 / std::sqrt(square) * unit, 1e-5 * unit);
}

TEST(Gate, SeesOneWrongElementAndNamesItsPlace) {
  // The defect is in output 3 of the second sequence.
  const GateResult result =
      CheckDefect([](int call, std::span<float> context, StepResult<float>&) {
        if (call == kU + 1 + 2) context[2] += 0.5F;
      });
  EXPECT_THAT(
      result.message,
      HasSubstr("output 3 of draw 0, sequence 2: context differs by 0.5 "
                "from the reference, bound "));
}

TEST(Gate, SeesZeroPermutedUnwrittenAndInfiniteOutputs) {
  using Context = std::span<float>;
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  const std::function<void(Context)> defects[] = {
      [](Context c) { std::fill(c.begin(), c.end(), 0.0F); },
      [](Context c) { std::rotate(c.begin(), c.begin() + 1, c.end()); },
      [nan](Context c) { c[1] = nan; },
      [](Context c) { c[1] = std::numeric_limits<float>::infinity(); }};
  for (const auto& defect : defects) {
    const GateResult result = CheckDefect(
        [&](int, Context context, StepResult<float>&) { defect(context); });
    EXPECT_THAT(result.message, HasSubstr("output 1 of draw 0, sequence 1"));
  }
}

TEST(Gate, SeesADefectOfALaterDraw) {
  const GateResult result =
      CheckDefect([](int call, std::span<float> context, StepResult<float>&) {
        if (call == 3 * 2 * kBatch * kU + 1) context[0] += 1;
      });
  EXPECT_THAT(result.message, HasSubstr("output 1 of draw 3, sequence 1"));
}

// The T d^2 of an additive energy is more than a draw's share of the budget.
TEST(Gate, ChecksAnOutputOfEveryDrawHoweverLongTheReferenceTakes) {
  constexpr Index kDim = 512;
  const auto workload = MakeWorkload<float>({.workload = "uniform",
                                             .memory_length = 64,
                                             .output_length = kU,
                                             .dim = kDim});
  Config config;
  config.dim = kDim;
  config.energy = EnergyKind::kAdditive;
  const FakeMechanism right;
  EXPECT_EQ(CheckAgainstReference<float>(right, config, 1, *workload).message,
            "");
  // The gate takes all of draw 0 and an output of 15 others, each alone and in
  // a batch, and an output entry by entry.
  EXPECT_EQ(right.num_steps(), 2 * (kU + 15) + 1);
  Defects defects;
  defects.in_step = [](int call, std::span<float> context, StepResult<float>&) {
    if (call == 2 * (kU + 9) + 1) context[0] += 1;
  };
  const FakeMechanism wrong(std::move(defects));
  EXPECT_THAT(CheckAgainstReference<float>(wrong, config, 1, *workload).message,
              HasSubstr("output 1 of draw 10, sequence 1"));
}

TEST(Gate, ChecksTheFirstOutputsOfAFirstDrawThatTheReferenceCannotMakeWhole) {
  constexpr Index kDim = 512;
  const auto workload = MakeWorkload<float>({.workload = "uniform",
                                             .memory_length = 64,
                                             .output_length = 1024,
                                             .dim = kDim});
  Config config;
  config.dim = kDim;
  config.energy =
      EnergyKind::kAdditive;  // 2^24 multiply-adds and one an output
  const FakeMechanism right;
  EXPECT_EQ(CheckAgainstReference<float>(right, config, 1, *workload).message,
            "");
  EXPECT_EQ(right.num_steps(), 2 * (511 + 15) + 1);
  Defects defects;
  defects.in_step = [](int call, std::span<float> context, StepResult<float>&) {
    if (call == 510) context[0] += 1;
  };
  const FakeMechanism wrong(std::move(defects));
  EXPECT_THAT(CheckAgainstReference<float>(wrong, config, 1, *workload).message,
              HasSubstr("output 511 of draw 0, sequence 1"));
}

TEST(Gate, ComparesPositionsAndEntriesExactly) {
  EXPECT_THAT(CheckDefect([](int, std::span<float>, StepResult<float>& result) {
                result.position = 4;
              }).message,
              HasSubstr("output 1 of draw 0, sequence 1: position 5, "
                        "reference 0"));
  EXPECT_THAT(CheckDefect([](int, std::span<float>, StepResult<float>& result) {
                result.begin = 1;
              }).message,
              HasSubstr("begin 2, reference 1"));
  EXPECT_THAT(CheckDefect([](int, std::span<float>, StepResult<float>& result) {
                result.end = 5;
              }).message,
              HasSubstr("end 5, reference 6"));
}

TEST(Gate, ComparesEveryHead) {
  const auto check = [](const Defects& defects) {
    const testing::TwoHeads<float> mechanism(
        std::make_unique<FakeMechanism>(defects));
    return Check(mechanism).message;
  };
  EXPECT_EQ(check({}), "");
  Defects defects;
  defects.in_step = [](int call, std::span<float>, StepResult<float>& result) {
    if (call % 2 == 1) result.position = 4;  // of the second head
  };
  EXPECT_THAT(check(defects), HasSubstr("output 1 of draw 0, sequence 1: head "
                                        "2: position 5, reference 0"));
  static const StepResult<float> kUnheardOf;
  EXPECT_THAT(CheckDefect([](int, std::span<float>, StepResult<float>& result) {
                result.next_head = &kUnheardOf;
              }).message,
              HasSubstr("heads 2, reference 1"));
}

TEST(Gate, SeesABatchThatIsNotItsSequencesAlone) {
  const GateResult result =
      CheckDefect([](int call, std::span<float> context, StepResult<float>&) {
        if (call == kBatch * kU + 1 + 1) context[0] += 1e-7F;
      });
  EXPECT_THAT(result.message, HasSubstr("sequence 1 of draw 0: decoded in a "
                                        "batch on 1 threads"));
}

// With all entries at once both of these give what the reference gives.
TEST(Gate, SeesAnOutputThatIsMadeBeforeItsEntriesAreThere) {
  const std::string place =
      "output 1 of draw 0, sequence 1, made when it had asked for ";
  Defects defects;
  defects.waits_for = 2;
  EXPECT_EQ(Check(FakeMechanism(defects)).message,
            place + "2 of 6 entries: end 2, reference 6");
  defects.waits_for = kT - 1;
  defects.reads_ahead = 1;
  EXPECT_THAT(Check(FakeMechanism(defects)).message,
              HasSubstr(place + "5 of 6 entries: context differs by nan"));
  // It knew from elsewhere that no more would come.
  defects.waits_for = kT;
  defects.reads_ahead = 0;
  EXPECT_EQ(Check(FakeMechanism(defects)).message,
            place +
                "6 of 6 entries: it did not wait for the end of the memory, "
                "as the reference did");
}

TEST(Gate, SeesAnOutputThatWaitsForEntriesThatItDoesNotNeed) {
  Defects defects;
  defects.needs = 2;
  defects.waits_for = 2;
  EXPECT_EQ(Check(FakeMechanism(defects)).message, "");
  defects.waits_for = 3;
  EXPECT_EQ(Check(FakeMechanism(defects)).message,
            "output 1 of draw 0, sequence 1, made when it had asked for 3 of 6 "
            "entries: entries asked for 3, reference 2");
}

TEST(Gate, HoldsAVariantToItsWordThatItWaitsForTheEnd) {
  Defects defects;
  defects.needs = 2;
  defects.says_it_waits = true;
  EXPECT_EQ(Check(FakeMechanism(defects)).message, "");
  for (const Index too_few : {Index{2}, kT}) {
    defects.waits_for = too_few;
    EXPECT_THAT(Check(FakeMechanism(defects)).message,
                HasSubstr("it did not wait for the end of the memory, as its "
                          "variant says"));
  }
}

TEST(Gate, RefusesADecoderThatAsksForMoreThanThereIs) {
  Defects defects;
  defects.never_ends = true;
  EXPECT_THAT([&] { Check(FakeMechanism(defects)); },
              ::testing::ThrowsMessage<std::logic_error>(
                  "the decoder asks for more memory (need_memory) after "
                  "Close"));
}

TEST(Gate, PassesOnWhatTheMechanismThrows) {
  Defects defects;
  defects.in_make = [] { throw Unsupported("not that"); };
  EXPECT_THROW(Check(FakeMechanism(defects)), Unsupported);
}

}  // namespace
}  // namespace attnbench
