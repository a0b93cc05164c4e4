// Guards against results that depend on the number of threads: a sum whose
// order is that in which threads finish, a sequence that none of them takes
// where their number does not divide the batch, scratch memory that two of them
// share.
#include <gtest/gtest.h>

#include <deque>
#include <iterator>
#include <string>
#include <vector>

#include "mechanisms/decode.h"
#include "mechanisms/description.h"
#include "mechanisms/registry.h"
#include "mechanisms/train.h"
#include "tests/support/full_scope.h"
#include "tests/support/property.h"

namespace attnbench {
namespace {

using testing::DefaultConfig;
using testing::DrawnInputs;
using testing::FullScope;

// Every schedule of decoding, and every mode of training.
template <class Real>
std::vector<Config> ConfigsOf(const Mechanism<Real>& mechanism, Index dim) {
  const Description description = mechanism.Describe();
  std::vector<EnergyKind> energies = {EnergyKind::kDot};
  if (testing::Has(description.axes, "energy")) {
    energies.assign(std::begin(testing::kEnergies),
                    std::end(testing::kEnergies));
  }
  std::vector<Config> configs;
  for (const EnergyKind energy : energies) {
    Config config = DefaultConfig(mechanism, dim);
    config.energy = energy;
    config.options["chunk_width"] = 3;
    config.options["num_contexts"] = 4;
    for (const Schedule schedule : description.schedules) {
      config.schedule = schedule;
      configs.push_back(config);
    }
    for (const Mode mode : {Mode::kExpect, Mode::kGradient}) {
      if (!HasMode(description, mode)) continue;
      config.mode = mode;
      config.schedule = Schedule::kTeacherForced;
      configs.push_back(config);
    }
  }
  return configs;
}

// The sequences have different lengths, so threads finish out of order.
template <class Real>
class Batch {
 public:
  Batch(Index count, Index dim) {
    for (Index b = 0; b < count; ++b) {
      inputs_.emplace_back(1 + (b * 37) % 50, 1 + (b * 5) % 9, dim,
                           /*seed=*/static_cast<unsigned>(b + 1));
      scopes_.emplace_back(inputs_.back());
    }
  }
  // All numbers that the run writes.
  std::vector<Real> Run(const Mechanism<Real>& mechanism, const Config& config,
                        int threads) {
    std::vector<Sequence<Real>> sequences;
    std::vector<TrainingSequence<Real>> batch;
    for (FullScope<Real>& scope : scopes_) {
      scope.Clear();
      batch.push_back(scope.View());
      sequences.push_back(batch.back().sequence);
    }
    if (config.mode == Mode::kDecode) {
      DecodeBatch<Real>(mechanism, config, sequences, threads);
    } else {
      TrainBatch<Real>(mechanism, config, batch, threads);
    }
    std::vector<Real> all;
    for (const FullScope<Real>& scope : scopes_) {
      const std::vector<Real> one = scope.Everything();
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

 private:
  std::deque<DrawnInputs<Real>> inputs_;  // scopes refer to them
  std::deque<FullScope<Real>> scopes_;
};

template <class Real>
class ThreadsTest : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ThreadsTest, Precisions);

TYPED_TEST(ThreadsTest, EveryModeGivesTheSameBitsOnAnyNumber) {
  using Real = TypeParam;
  constexpr Index kDim = 19;
  for (const Index count : {7, 8}) {
    Batch<Real> batch(count, kDim);
    for (const auto* mechanism : Mechanisms<Real>()) {
      for (const Config& config : ConfigsOf(*mechanism, kDim)) {
        const std::vector<Real> alone = batch.Run(*mechanism, config, 1);
        // These are fewer than sequences, dividing them or not, and more.
        for (const int threads : {2, 3, 16}) {
          EXPECT_TRUE(
              testing::SameBits(batch.Run(*mechanism, config, threads), alone))
              << mechanism->Describe().name << ", "
              << static_cast<int>(config.mode) << ", "
              << static_cast<int>(config.schedule) << ", energy "
              << static_cast<int>(config.energy) << ", " << count
              << " sequences on " << threads << " threads";
        }
      }
    }
  }
}

}  // namespace
}  // namespace attnbench
