// Guards against a head of an output that is lost, or that is taken for an
// output, and against a hypothesis that is copied in part.
#include <gtest/gtest.h>

#include "mechanisms/monotonic/monotonic.h"
#include "mechanisms/soft/soft.h"
#include "tests/support/drawn_inputs.h"
#include "tests/support/two_heads.h"

namespace attnbench {
namespace {

using testing::DecodeKeepingSteps;
using testing::DefaultConfig;
using testing::DrawnInputs;
using testing::KeptStep;
using testing::TwoHeads;

using Steps = std::vector<KeptStep<double>>;

// The steps of both heads, each decoded alone.
std::vector<Steps> EachAlone(const Mechanism<double>& head, Config config,
                             DrawnInputs<double> inputs) {
  std::vector<Steps> steps;
  for (int n = 0; n < 2; ++n) {
    steps.push_back(DecodeKeepingSteps(head, config, inputs.View()));
    for (double& element : inputs.states) element = -element;
  }
  return steps;
}

void ExpectBothHeads(const Mechanism<double>& two, const Config& config,
                     DrawnInputs<double>& inputs,
                     const std::vector<Steps>& alone) {
  std::vector<StepTrace> traces;
  Index num_outputs = 0;
  DecodeSequence(
      two, config, inputs.View(), [&](Index i, const StepResult<double>& step) {
        EXPECT_EQ(i, num_outputs++);
        std::vector<double> weights(Size(inputs.T)), expected(weights);
        AddTraces(step, traces);
        AddWeights(step, std::span(weights));
        ASSERT_EQ(traces.size(), Size(2 * i + 2));
        for (std::size_t n = 0; n < 2; ++n) {
          const KeptStep<double>& head = alone[n][Size(i)];
          const StepTrace& trace = traces[Size(2 * i) + n];
          EXPECT_EQ(trace.head, static_cast<Index>(n));
          EXPECT_EQ(trace.position, head.position);
          EXPECT_EQ(trace.begin, head.begin);
          EXPECT_EQ(trace.end, head.end);
          EXPECT_EQ(trace.inspected, head.inspected);
          for (std::size_t k = 0; k < head.weights.size(); ++k) {
            expected[Size(head.begin) + k] += head.weights[k];
          }
        }
        for (std::size_t j = 0; j < weights.size(); ++j) {
          EXPECT_NEAR(weights[j], expected[j], 1e-12) << i << " " << j;
        }
      });
  EXPECT_EQ(num_outputs, inputs.U);
}

TEST(Heads, OfAnOutputAreThoseThatMadeIt) {
  const auto head = monotonic::MakeMechanism<double>();
  const TwoHeads<double> two(monotonic::MakeMechanism<double>());
  DrawnInputs<double> inputs(30, 9, 6, 3);
  Config config = DefaultConfig(*head, 6);
  config.end = EndPolicy::kRestart;
  config.want_weights = true;
  const std::vector<Steps> alone = EachAlone(*head, config, inputs);
  bool differ = false;
  for (std::size_t i = 0; i < 9; ++i) {
    differ = differ || alone[0][i].position != alone[1][i].position;
  }
  EXPECT_TRUE(differ);
  ExpectBothHeads(two, config, inputs, alone);
}

TEST(Heads, OfOutputsThatAreMadeAtOnceAreThoseOfEachOutput) {
  const auto head = soft::MakeMechanism<double>();
  const TwoHeads<double> two(soft::MakeMechanism<double>());
  DrawnInputs<double> inputs(7, 5, 6, 3);
  Config config = DefaultConfig(*head, 6);
  config.want_weights = true;
  const std::vector<Steps> online = EachAlone(*head, config, inputs);
  config.schedule = Schedule::kTeacherForced;
  ExpectBothHeads(two, config, inputs, online);
}

TEST(Follow, GivesEachHeadItsOwnPositions) {
  const TwoHeads<double> two(monotonic::MakeMechanism<double>());
  Config config = DefaultConfig(two, 2);
  config.variant = "reference";
  // Every energy is 1 - 1, where rounding alone decides.
  DrawnInputs<double> inputs(4, 2, 2, 7);
  inputs.memory.assign(8, 1);
  inputs.states = {1, -1, 1, -1};
  const auto decoder = two.MakeDecoder(config, inputs.View().inputs);
  const std::vector<Index> told = {0, 2, 3, 2};
  Follow(*decoder, told);
  std::vector<StepTrace> traces;
  DecodeWith(*decoder, config, inputs.View(),
             [&](Index, const auto& step) { AddTraces(step, traces); });
  std::vector<Index> positions;
  for (const StepTrace& trace : traces) positions.push_back(trace.position);
  EXPECT_EQ(positions, told);
}

TEST(Hypothesis, IsZeroUntilItIsSetAndIsCopiedWhole) {
  struct Place {
    Index output;
    double last[15];
  };
  Hypothesis one;
  EXPECT_EQ(one.Get<Place>().output, 0);
  EXPECT_EQ(one.Get<Place>().last[14], 0);
  one.Set(Place{.output = 3,
                .last = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}});
  const Hypothesis fork = one;
  one.Set(Place{.output = 4, .last = {}});
  EXPECT_EQ(fork.Get<Place>().output, 3);
  EXPECT_EQ(fork.Get<Place>().last[14], 15);
  EXPECT_EQ(one.Get<Place>().output, 4);
}

}  // namespace
}  // namespace attnbench
