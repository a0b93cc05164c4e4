// Guards against decoders that break a law which no reference has to know:
// attention that goes back, weights that are no distribution, a context that
// depends on an entry not yet read, more energies than T + U - 1.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/given_inputs.h"
#include "tests/support/property.h"

namespace attnbench {
namespace {

using testing::CheckProperty;
using testing::DecodeKeepingSteps;
using testing::DrawConfig;
using testing::DrawIndex;
using testing::DrawnInputs;
using testing::DrawOneOf;
using testing::GivenInputs;
using testing::KeptStep;
using testing::Rows;
using testing::SameBits;

// The sizes, and the seed of the numbers.
struct Shape {
  Index T, U, d;
  unsigned seed;
};

Shape DrawShape(Index least_length) {
  return {DrawIndex("T", least_length, 40), DrawIndex("U", 1, 25),
          DrawIndex("d", 1, 20),
          static_cast<unsigned>(DrawIndex("seed", 0, 1000))};
}

template <class Real>
const Mechanism<Real>& DrawHardMechanism() {
  return *FindMechanism<Real>(
      DrawOneOf<std::string>("mechanism", {"monotonic", "mocha", "matcha"}));
}

// Half of the energies of drawn inputs are positive; a bias varies how far the
// scan gets.
template <class Real>
Sequence<Real> WithBias(DrawnInputs<Real>& inputs) {
  Sequence<Real> sequence = inputs.View();
  sequence.inputs.energy_bias = DrawOneOf<Real>("bias", {0, -1, -2, 1});
  sequence.inputs.seed = 3;
  return sequence;
}

template <class Real>
class PropertiesTest : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PropertiesTest, Precisions);

TYPED_TEST(PropertiesTest, PositionsNeverGoBack) {
  using Real = TypeParam;
  CheckProperty([] {
    const Shape shape = DrawShape(0);
    const Mechanism<Real>& mechanism = DrawHardMechanism<Real>();
    const Config config = DrawConfig(mechanism, shape.d);
    DrawnInputs<Real> inputs(shape.T, shape.U, shape.d, shape.seed);
    Index last = 0;
    for (const auto& step :
         DecodeKeepingSteps(mechanism, config, WithBias(inputs))) {
      if (step.position < 0) {
        RC_ASSERT(step.begin == step.end);
        continue;
      }
      RC_ASSERT(step.position >= last);
      RC_ASSERT(step.position < shape.T);
      RC_ASSERT(0 <= step.begin && step.begin <= step.position);
      RC_ASSERT(step.end == step.position + 1);
      last = step.position;
    }
  });
}

TYPED_TEST(PropertiesTest, WeightsAreADistributionOrNone) {
  using Real = TypeParam;
  const double tolerance = 100 * std::numeric_limits<Real>::epsilon();
  CheckProperty([tolerance] {
    const Shape shape = DrawShape(0);
    const Mechanism<Real>& mechanism =
        *FindMechanism<Real>(DrawOneOf<std::string>(
            "mechanism", {"soft", "monotonic", "mocha", "matcha"}));
    const Config config = DrawConfig(mechanism, shape.d);
    DrawnInputs<Real> inputs(shape.T, shape.U, shape.d, shape.seed);
    for (const auto& step :
         DecodeKeepingSteps(mechanism, config, WithBias(inputs))) {
      RC_ASSERT(static_cast<Index>(step.weights.size()) ==
                step.end - step.begin);
      if (step.weights.empty()) continue;
      double sum = 0;
      for (const Real weight : step.weights) {
        RC_ASSERT(weight >= 0);
        sum += static_cast<double>(weight);
      }
      RC_ASSERT(std::abs(sum - 1) <= tolerance);
    }
  });
}

// Each entry spreads a weight of 1 over the K contexts, so outputs that mix
// them alike give every entry the weight 1/K.
TYPED_TEST(PropertiesTest, AnIndifferentOutputGivesEveryEntryOneKthOfAWeight) {
  using Real = TypeParam;
  const Real tolerance = 50 * std::numeric_limits<Real>::epsilon();
  CheckProperty([tolerance] {
    const Shape shape = DrawShape(0);
    const Mechanism<Real>& mechanism = *FindMechanism<Real>("memory");
    Config config = DrawConfig(mechanism, shape.d);
    config.options["encoder_scoring"] = std::string("softmax");
    config.options["decoder_scoring"] = std::string("softmax");
    config.options["place"] = std::string("inside");
    DrawnInputs<Real> inputs(shape.T, shape.U, shape.d, shape.seed);
    std::fill(inputs.states.begin(), inputs.states.end(), Real{0});
    for (const auto& step :
         DecodeKeepingSteps(mechanism, config, inputs.View())) {
      RC_ASSERT(static_cast<Index>(step.weights.size()) == shape.T);
      for (const Real weight : step.weights) {
        RC_ASSERT(std::abs(weight * static_cast<Real>(
                                        config.Option<Index>("num_contexts")) -
                           1) <= tolerance);
      }
    }
  });
}

TYPED_TEST(PropertiesTest, EntriesNotYetReadNeverChangeAContext) {
  using Real = TypeParam;
  CheckProperty([] {
    const Shape shape = DrawShape(1);
    const Mechanism<Real>& mechanism = DrawHardMechanism<Real>();
    Config config = DrawConfig(mechanism, shape.d);
    config.end = EndPolicy::kAbsorb;
    DrawnInputs<Real> inputs(shape.T, shape.U, shape.d, shape.seed);
    const Sequence<Real> sequence = WithBias(inputs);
    const auto steps = DecodeKeepingSteps(mechanism, config, sequence);
    const auto i = Size(DrawIndex("output", 0, shape.U - 1));
    if (steps[i].position < 0) return;
    const std::vector<Real> contexts = inputs.contexts;
    const Real replacement = DrawOneOf<Real>(
        "replacement", {std::numeric_limits<Real>::quiet_NaN(), 1e4, -1e4});
    const auto first = (steps[i].position + 1) * shape.d;
    std::fill(inputs.memory.begin() + first, inputs.memory.end(), replacement);
    std::fill(inputs.chunk_keys.begin() + first, inputs.chunk_keys.end(),
              replacement);
    const auto again = DecodeKeepingSteps(mechanism, config, sequence);
    for (std::size_t n = 0; n <= i; ++n) {
      RC_ASSERT(SameBits(steps[n], again[n]));
    }
    const std::size_t read = (i + 1) * Size(shape.d);
    const auto until_i = [read](const std::vector<Real>& all) {
      return std::vector<Real>(all.begin(),
                               all.begin() + static_cast<Index>(read));
    };
    RC_ASSERT(SameBits(until_i(contexts), until_i(inputs.contexts)));
  });
}

// Draws any p: zeros, ones, ties and numbers between.
GivenInputs<double> DrawGiven(const Shape& shape) {
  std::mt19937 generator(shape.seed);
  const auto percent_ones =
      static_cast<std::uint32_t>(DrawIndex("percent_ones", 0, 100));
  Rows p(Size(shape.U), std::vector<double>(Size(shape.T), 0));
  Rows u = p;
  for (std::size_t i = 0; i < p.size(); ++i) {
    for (std::size_t j = 0; j < p[i].size(); ++j) {
      const auto draw = static_cast<std::uint32_t>(generator() % 100);
      p[i][j] = draw < percent_ones ? 1 : draw % 3 == 0 ? 0.5 : draw / 250.0;
      u[i][j] = static_cast<double>(generator() % 1000) / 100;
    }
  }
  return GivenInputs<double>({.p_choose = p, .chunk_energies = u});
}

TEST(PropertiesOfGivenScores, AtMostTPlusUMinusOneEnergies) {
  CheckProperty(
      [] {
        const Shape shape = DrawShape(1);
        const Mechanism<double>& mechanism = DrawHardMechanism<double>();
        Config config = DrawConfig(mechanism, shape.T);
        config.end = DrawOneOf<EndPolicy>(
            "end", {EndPolicy::kAbsorb, EndPolicy::kStayLast});
        GivenInputs<double> inputs = DrawGiven(shape);
        Index inspected = 0;
        for (const auto& step :
             DecodeKeepingSteps(mechanism, config, inputs.View())) {
          inspected += step.inspected;
        }
        RC_ASSERT(inspected <= shape.T + shape.U - 1);
      },
      400);
}

TEST(PropertiesOfGivenScores, StayLastAlwaysChoosesAndLeavesOutOneEnergy) {
  CheckProperty([] {
    const Shape shape = DrawShape(1);
    const Mechanism<double>& mechanism = DrawHardMechanism<double>();
    Config config = DrawConfig(mechanism, shape.T);
    config.end = EndPolicy::kStayLast;
    GivenInputs<double> inputs = DrawGiven(shape);
    Index start = 0;
    for (const auto& step :
         DecodeKeepingSteps(mechanism, config, inputs.View())) {
      RC_ASSERT(step.position >= start);
      const bool last = step.position == shape.T - 1;
      RC_ASSERT(step.inspected == step.position - start + (last ? 0 : 1));
      start = step.position;
    }
  });
}

template <class Real>
struct Outcome {
  std::vector<KeptStep<Real>> steps;
  std::vector<Real> contexts;
};

template <class Real>
Outcome<Real> DecodeWith(const std::string& mechanism, const Config& config,
                         const Shape& shape, Real bias) {
  DrawnInputs<Real> inputs(shape.T, shape.U, shape.d, shape.seed);
  Sequence<Real> sequence = inputs.View();
  sequence.inputs.energy_bias = bias;
  auto steps =
      DecodeKeepingSteps(*FindMechanism<Real>(mechanism), config, sequence);
  return {std::move(steps), inputs.contexts};
}

TYPED_TEST(PropertiesTest, AWindowOfOneIsHardMonotonicAttentionBitForBit) {
  using Real = TypeParam;
  CheckProperty([] {
    const Shape shape = DrawShape(0);
    Config config = DrawConfig(*FindMechanism<Real>("mocha"), shape.d);
    config.options["chunk_width"] = 1;
    const Real bias = DrawOneOf<Real>("bias", {0, -1});
    const auto mocha = DecodeWith("mocha", config, shape, bias);
    const auto monotonic = DecodeWith("monotonic", config, shape, bias);
    RC_ASSERT(SameBits(mocha.steps, monotonic.steps));
    RC_ASSERT(SameBits(mocha.contexts, monotonic.contexts));
  });
}

TYPED_TEST(PropertiesTest, AnInfiniteWindowIsAWindowOfTheWholeMemory) {
  using Real = TypeParam;
  CheckProperty([] {
    const Shape shape = DrawShape(2);
    Config config = DrawConfig(*FindMechanism<Real>("mocha"), shape.d);
    const Real bias = DrawOneOf<Real>("bias", {0, -1});
    config.options["chunk_width"] = kInfiniteWidth;
    const auto infinite = DecodeWith("mocha", config, shape, bias);
    config.options["chunk_width"] = shape.T;
    const auto whole = DecodeWith("mocha", config, shape, bias);
    RC_ASSERT(SameBits(infinite.steps, whole.steps));
    RC_ASSERT(SameBits(infinite.contexts, whole.contexts));
    for (const auto& step : infinite.steps) RC_ASSERT(step.begin == 0);
  });
}

TYPED_TEST(PropertiesTest, AnAdaptiveChunkBeginsAtTheLastChoice) {
  using Real = TypeParam;
  CheckProperty([] {
    const Shape shape = DrawShape(0);
    const Config config = DrawConfig(*FindMechanism<Real>("matcha"), shape.d);
    const Real bias = DrawOneOf<Real>("bias", {0, -1});
    Index last = 0;
    for (const auto& step : DecodeWith("matcha", config, shape, bias).steps) {
      if (step.position < 0) continue;
      RC_ASSERT(step.begin == last);
      if (step.position == last) {
        RC_ASSERT(step.weights == std::vector<Real>{1});
      }
      last = step.position;
    }
  });
}

// Decoders do not show which states they use: the choosing state must be that
// of the attention, the weighting one that of the chunk.
TYPED_TEST(PropertiesTest, ChunkStatesAndKeysNeverChangeAChoice) {
  using Real = TypeParam;
  CheckProperty([] {
    const Shape shape = DrawShape(1);
    const Mechanism<Real>& mechanism = DrawHardMechanism<Real>();
    const Config config = DrawConfig(mechanism, shape.d);
    DrawnInputs<Real> inputs(shape.T, shape.U, shape.d, shape.seed);
    const Sequence<Real> sequence = WithBias(inputs);
    const auto steps = DecodeKeepingSteps(mechanism, config, sequence);
    for (Real& x : inputs.chunk_keys) x = -3 * x;
    for (Real& x : inputs.chunk_states) x = x / 2 + 1;
    const auto again = DecodeKeepingSteps(mechanism, config, sequence);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      RC_ASSERT(steps[i].position == again[i].position);
    }
  });
}

}  // namespace
}  // namespace attnbench
