// Guards against a decoder whose output depends on how its memory arrives: a
// scan that forgets where it waited, an energy counted twice, sums grouped by
// Append, an output made before the entries that it needs.
#include <gtest/gtest.h>

#include "tests/support/property.h"

namespace attnbench {
namespace {

using testing::CheckProperty;
using testing::DecodeKeepingSteps;
using testing::DrawConfig;
using testing::DrawIndex;
using testing::DrawnInputs;
using testing::DrawOneOf;
using testing::KeptStep;
using testing::SameBits;

template <class Real>
struct StreamedStep {
  KeptStep<Real> step;
  Index appended;  // entries that the decoder had when it made this output
  bool closed;
};

// Steps as soon as a decoder exists, and appends the next piece, entries one by
// one when the pieces are used up, only when the decoder asks.
template <class Real>
std::vector<StreamedStep<Real>> Stream(const Mechanism<Real>& mechanism,
                                       const Config& config,
                                       const Sequence<Real>& sequence,
                                       const std::vector<Index>& pieces) {
  const auto decoder = mechanism.MakeDecoder(config, sequence.inputs);
  const Index T = sequence.memory.rows;
  Index appended = 0;
  std::size_t piece = 0;
  bool closed = false;
  const auto give_more = [&] {
    RC_ASSERT(!closed);
    if (appended == T) {
      decoder->Close();
      closed = true;
      return;
    }
    const Index wanted = piece < pieces.size() ? pieces[piece++] : 1;
    const Index count = std::min(wanted, T - appended);
    decoder->Append(sequence.memory.Rows(appended, count));
    appended += count;
  };
  std::vector<StreamedStep<Real>> made;
  for (Index i = 0; i < sequence.contexts.rows; ++i) {
    const std::span<const Real> state = sequence.states.Row(i);
    StepResult<Real> step = decoder->Step(state, sequence.contexts.Row(i));
    while (step.need_memory) {
      give_more();
      step = decoder->Step(state, sequence.contexts.Row(i));
    }
    made.push_back({{step.position,
                     step.begin,
                     step.end,
                     step.inspected,
                     {step.weights.begin(), step.weights.end()}},
                    appended,
                    closed});
  }
  return made;
}

std::vector<Index> DrawPieces() {
  return *rc::gen::container<std::vector<Index>>(rc::gen::inRange<Index>(0, 9))
              .as("pieces");
}

template <class Real>
class StreamingTest : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(StreamingTest, Precisions);

TYPED_TEST(StreamingTest, AppendingInAnyPiecesGivesTheSameBits) {
  using Real = TypeParam;
  for (const Mechanism<Real>* mechanism : Mechanisms<Real>()) {
    SCOPED_TRACE(mechanism->Describe().name);
    CheckProperty([mechanism] {
      const Index T = DrawIndex("T", 0, 40), U = DrawIndex("U", 0, 20);
      const Index d = DrawIndex("d", 1, 20);
      const auto seed = static_cast<unsigned>(DrawIndex("seed", 0, 1000));
      const Config config = DrawConfig(*mechanism, d);
      DrawnInputs<Real> at_once(T, U, d, seed), streamed(T, U, d, seed);
      Sequence<Real> whole = at_once.View(), parts = streamed.View();
      whole.inputs.energy_bias = DrawOneOf<Real>("bias", {0, -1, -2});
      whole.inputs.expected_length = DrawOneOf<Index>("expected", {0, T});
      parts.inputs.energy_bias = whole.inputs.energy_bias;
      const auto expected = DecodeKeepingSteps(*mechanism, config, whole);
      const auto made = Stream(*mechanism, config, parts, DrawPieces());
      RC_ASSERT(made.size() == expected.size());
      for (std::size_t i = 0; i < made.size(); ++i) {
        RC_ASSERT(SameBits(made[i].step, expected[i]));
      }
      RC_ASSERT(SameBits(streamed.contexts, at_once.contexts));
    });
  }
}

// Keys made by matrix products of any number of rows need not have the same
// bits, but the outputs must agree.
TYPED_TEST(StreamingTest, AppendingInAnyPiecesAgreesForEveryEnergy) {
  using Real = TypeParam;
  const double tolerance = std::is_same_v<Real, float> ? 3e-5 : 1e-12;
  for (const EnergyKind energy :
       {EnergyKind::kBilinear, EnergyKind::kAdditive,
        EnergyKind::kNormalizedAdditive, EnergyKind::kScaledBilinear}) {
    for (const std::string keys : {"precomputed", "on_demand"}) {
      const Mechanism<Real>& mechanism = *FindMechanism<Real>("mocha");
      Config config = testing::DefaultConfig(mechanism, 5);
      config.energy = energy;
      config.options["keys"] = keys;
      config.options["chunk_width"] = 3;
      DrawnInputs<Real> at_once(23, 9, 5, 8), streamed(23, 9, 5, 8);
      DecodeKeepingSteps(mechanism, config, at_once.View());
      Stream(mechanism, config, streamed.View(), {2, 0, 7, 1, 5});
      for (std::size_t n = 0; n < at_once.contexts.size(); ++n) {
        const Real error = at_once.contexts[n] - streamed.contexts[n];
        if (!(std::abs(static_cast<double>(error)) <= tolerance)) {
          FAIL() << keys << " context " << n << " error " << error;
        }
      }
    }
  }
}

// MAD 2.2: a decision on entry j waits for no later entry.
TYPED_TEST(StreamingTest, AnOnlineDecoderWaitsForNothingBeyondItsChoice) {
  using Real = TypeParam;
  for (const char* name : {"monotonic", "mocha", "matcha"}) {
    SCOPED_TRACE(name);
    const Mechanism<Real>& mechanism = *FindMechanism<Real>(name);
    CheckProperty([&mechanism] {
      const Index T = DrawIndex("T", 0, 30), U = DrawIndex("U", 1, 15);
      Config config = DrawConfig(mechanism, 6);
      DrawnInputs<Real> inputs(T, U, 6, 5);
      Index appended = 0;
      for (const auto& made : Stream(mechanism, config, inputs.View(), {})) {
        // The next entry shows that one is not the last.
        const Index beyond = config.end == EndPolicy::kStayLast ? 2 : 1;
        if (made.step.position < 0) {
          RC_ASSERT(made.closed);
        } else {
          RC_ASSERT(made.appended <=
                    std::max(appended, made.step.position + beyond));
        }
        appended = made.appended;
      }
    });
  }
}

TYPED_TEST(StreamingTest, SoftAndMemoryEmitNothingBeforeTheMemoryIsComplete) {
  using Real = TypeParam;
  for (const char* name : {"soft", "memory"}) {
    const Mechanism<Real>& mechanism = *FindMechanism<Real>(name);
    EXPECT_FALSE(mechanism.Describe().online);
    DrawnInputs<Real> inputs(6, 3, 4, 1);
    for (const auto& made :
         Stream(mechanism, testing::DefaultConfig(mechanism, 4), inputs.View(),
                {})) {
      EXPECT_TRUE(made.closed);
      EXPECT_EQ(made.appended, 6);
    }
  }
}

}  // namespace
}  // namespace attnbench
