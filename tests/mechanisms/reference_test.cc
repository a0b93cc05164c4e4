// Guards against a decoder that computes something else than its paper says:
// every mechanism, energy, end policy, option and size against the scalar
// reference, in both precisions.
#include <gtest/gtest.h>

#include <algorithm>

#include "mechanisms/description.h"
#include "tests/support/drawn_inputs.h"

namespace attnbench {
namespace {

using testing::DecodeKeepingSteps;
using testing::DefaultConfig;
using testing::DrawnInputs;

struct Shape {
  Index T, U, d;
};
constexpr Shape kShapes[] = {{1, 1, 1},   {1, 5, 3},    {7, 3, 2},
                             {5, 9, 16},  {33, 20, 17}, {16, 16, 64},
                             {50, 7, 33}, {0, 3, 4}};

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// All configs of a mechanism worth telling apart.
template <class Real>
std::vector<Config> Configs(const Mechanism<Real>& mechanism, Index dim) {
  const Description about = mechanism.Describe();
  std::vector<Config> configs = {DefaultConfig(mechanism, dim)};
  const auto cross = [&](const auto& values, const auto& set) {
    std::vector<Config> crossed;
    for (const Config& config : configs) {
      for (const auto& value : values) {
        crossed.push_back(config);
        set(crossed.back(), value);
      }
    }
    configs = crossed;
  };
  if (Has(about.axes, "energy")) {
    cross(std::vector{EnergyKind::kDot, EnergyKind::kBilinear,
                      EnergyKind::kAdditive, EnergyKind::kNormalizedAdditive,
                      EnergyKind::kScaledBilinear},
          [](Config& c, EnergyKind kind) { c.energy = kind; });
  }
  if (Has(about.axes, "end")) {
    cross(std::vector{EndPolicy::kAbsorb, EndPolicy::kStayLast,
                      EndPolicy::kRestart},
          [](Config& c, EndPolicy end) { c.end = end; });
  }
  if (FindOption(about, "chunk_width") != nullptr) {
    cross(std::vector<Index>{1, 3, kInfiniteWidth},
          [](Config& c, Index w) { c.options["chunk_width"] = w; });
  }
  if (FindOption(about, "num_contexts") != nullptr) {
    cross(std::vector<Index>{1, 5},
          [](Config& c, Index K) { c.options["num_contexts"] = K; });
  }
  for (const OptionSpec& option : about.options) {
    if (option.name == "threshold") {
      cross(std::vector{0.5, 0.9}, [](Config& c, double threshold) {
        c.options["threshold"] = threshold;
      });
    }
    if (option.name == "sample") {
      cross(std::vector{false, true},
            [](Config& c, bool sample) { c.options["sample"] = sample; });
    }
    if (option.name == "max_length") {
      cross(std::vector<std::int64_t>{0, 100},
            [](Config& c, std::int64_t S) { c.options["max_length"] = S; });
    }
    // What only a variant of training reads changes no decoder.
    if (!option.allowed.empty() && option.variant.empty()) {
      cross(option.allowed, [&](Config& c, const std::string& name) {
        c.options[option.name] = name;
      });
    }
  }
  return configs;
}

std::string Name(const std::string& mechanism, const Config& config,
                 const Shape& shape) {
  std::string text =
      mechanism + " T=" + std::to_string(shape.T) +
      " U=" + std::to_string(shape.U) + " d=" + std::to_string(shape.d) +
      " energy=" + std::to_string(static_cast<int>(config.energy)) +
      " end=" + std::to_string(static_cast<int>(config.end));
  for (const auto& [key, value] : config.options) {
    if (const auto* name = std::get_if<std::string>(&value)) {
      text += " " + key + "=" + *name;
    } else if (const auto* number = std::get_if<Index>(&value)) {
      text += " " + key + "=" + std::to_string(*number);
    }
  }
  return text;
}

template <class Real>
class ReferenceTest : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ReferenceTest, Precisions);

TYPED_TEST(ReferenceTest, EveryDecoderAgreesWithItsReference) {
  using Real = TypeParam;
  const double tolerance = std::is_same_v<Real, float> ? 3e-5 : 1e-12;
  for (const Mechanism<Real>* mechanism : Mechanisms<Real>()) {
    for (const Shape& shape : kShapes) {
      // Drawing takes longer than decoding, so all configs share it.
      DrawnInputs<Real> inputs(shape.T, shape.U, shape.d, 7);
      DrawnInputs<Real> again(shape.T, shape.U, shape.d, 7);
      for (Config config : Configs(*mechanism, shape.d)) {
        SCOPED_TRACE(Name(mechanism->Describe().name, config, shape));
        config.want_weights = true;
        for (auto* contexts : {&inputs.contexts, &again.contexts}) {
          std::ranges::fill(*contexts, Real{0});
        }
        Sequence<Real> sequence = inputs.View();
        const auto steps = DecodeKeepingSteps(*mechanism, config, sequence);
        std::vector<Index> positions;
        for (const auto& step : steps) positions.push_back(step.position);
        config.variant = "reference";
        const auto expected =
            DecodeKeepingSteps(*mechanism, config, again.View(), positions);
        ASSERT_EQ(steps.size(), expected.size());
        for (std::size_t i = 0; i < steps.size(); ++i) {
          SCOPED_TRACE("output " + std::to_string(i));
          ASSERT_EQ(steps[i].position, expected[i].position);
          ASSERT_EQ(steps[i].begin, expected[i].begin);
          ASSERT_EQ(steps[i].end, expected[i].end);
          ASSERT_EQ(steps[i].inspected, expected[i].inspected);
          ASSERT_EQ(steps[i].weights.size(), expected[i].weights.size());
          for (std::size_t n = 0; n < steps[i].weights.size(); ++n) {
            const double error =
                std::abs(static_cast<double>(steps[i].weights[n]) -
                         static_cast<double>(expected[i].weights[n]));
            if (!(error <= tolerance)) FAIL() << "weight " << n << " " << error;
          }
        }
        for (std::size_t n = 0; n < inputs.contexts.size(); ++n) {
          const double error =
              std::abs(static_cast<double>(inputs.contexts[n]) -
                       static_cast<double>(again.contexts[n]));
          if (!(error <= tolerance)) FAIL() << "context " << n << " " << error;
        }
      }
    }
  }
}

// An energy of 1 - 1 is the cut itself, as far as its rounding tells.
TEST(Follow, WhereRoundingAloneDecidesAReferenceChoosesAsItIsTold) {
  for (const char* name : {"monotonic", "mocha", "matcha"}) {
    SCOPED_TRACE(name);
    const Mechanism<double>& mechanism = *FindMechanism<double>(name);
    Config config = DefaultConfig(mechanism, 2);
    config.variant = "reference";
    DrawnInputs<double> inputs(4, 3, 2, 7);
    inputs.memory.assign(8, 1);
    const auto choices = [&](const std::vector<double>& state,
                             const std::vector<Index>& follow) {
      for (std::size_t n = 0; n < 6; ++n) inputs.states[n] = state[n % 2];
      std::vector<Index> positions;
      for (const auto& step :
           DecodeKeepingSteps(mechanism, config, inputs.View(), follow)) {
        positions.push_back(step.position);
      }
      return positions;
    };
    const std::vector<Index> first = {0, 0, 0}, told = {1, 3, -1};
    EXPECT_EQ(choices({1, -1}, {}), first);
    EXPECT_EQ(choices({1, -1}, told), told);
    EXPECT_EQ(choices({1, 1}, told), first);
    // A list that ends early leaves the rest to the reference.
    EXPECT_EQ(choices({1, -1}, {1}), (std::vector<Index>{1, 1, 1}));
  }
}

}  // namespace
}  // namespace attnbench
