// Guards against a planted path that is not the one that the scan takes: the
// speed-ups on `planted` would then be those of some other workload.
#include "harness/inputs/planted.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "harness/inputs/workload.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

TEST(PlantedPath, ClimbsToTheLastEntryInStepsThatAStateCanSolve) {
  const struct {
    Index T, U, d;
  } shapes[] = {{1, 1, 1},   {1, 5, 1},    {128, 4, 256}, {128, 1, 256},
                {4, 128, 8}, {100, 99, 4}, {100, 50, 6},  {64, 64, 256},
                {3, 2, 4},   {255, 2, 256}};
  for (const auto& [T, U, d] : shapes) {
    for (std::uint32_t stream = 0; stream < 20; ++stream) {
      const auto path = PlantedPath(1, stream, T, U, d);
      const std::string shape = std::to_string(T) + " x " + std::to_string(U);
      ASSERT_EQ(path.size(), Size(U)) << shape;
      EXPECT_EQ(path.back(), T - 1) << shape;
      Index last = 0;
      for (const Index entry : path) {
        EXPECT_GE(entry, last) << shape;
        EXPECT_LE(entry - last, std::max<Index>(1, d / 2) - 1) << shape;
        last = entry;
      }
    }
  }
}

TEST(PlantedPath, HasRunsAndSilencesAndDiffersBetweenStreams) {
  const auto path = PlantedPath(1, 0, 1000, 400, 256);
  int stays = 0;
  Index longest = 0;
  for (std::size_t i = 1; i < path.size(); ++i) {
    stays += path[i] == path[i - 1] ? 1 : 0;
    longest = std::max(longest, path[i] - path[i - 1]);
  }
  EXPECT_GT(stays, 60);
  EXPECT_LT(stays, 180);
  EXPECT_GE(longest, 5);
  EXPECT_NE(path, PlantedPath(1, 1, 1000, 400, 256));
  EXPECT_NE(path, PlantedPath(2, 0, 1000, 400, 256));
}

TEST(PlantedPath, RefusesWhatItCannotReachAndSaysWhy) {
  const struct {
    Index T, U, d;
  } shapes[] = {{2, 1, 1}, {2, 9, 3}, {129, 1, 256}, {100, 97, 4}};
  for (const auto& [T, U, d] : shapes) {
    EXPECT_THROW(PlantedPath(1, 0, T, U, d), WorkloadUnsupported) << T;
  }
}

template <class Real>
class Planted : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Planted, Precisions);

TYPED_TEST(Planted, PathIsTheOneThatTheScanTakes) {
  using Real = TypeParam;
  const Index T = 40;
  const Index U = 25;
  const Index d = 32;
  const auto workload = MakeWorkload<Real>({.workload = "planted",
                                            .memory_length = T,
                                            .output_length = U,
                                            .dim = d,
                                            .batch = 2,
                                            .seed = 5});
  Config config;
  config.dim = d;
  config.options = {{"threshold", 0.5},
                    {"strict", false},
                    {"sample", false},
                    {"keys", std::string("precomputed")}};
  for (int draw = 0; draw < workload->num_draws(); ++draw) {
    const auto batch = workload->Draw(draw, EnergyKind::kDot);
    for (std::size_t b = 0; b < batch.size(); ++b) {
      const auto path = PlantedPath(
          5,
          static_cast<std::uint32_t>(draw * 2) + static_cast<std::uint32_t>(b),
          T, U, d);
      DecodeSequence(*FindMechanism<Real>("monotonic"), config, batch[b],
                     [&](Index i, const StepResult<Real>& step) {
                       EXPECT_EQ(step.position, path[Size(i)])
                           << "output " << i << " of draw " << draw;
                     });
    }
  }
}

}  // namespace
}  // namespace attnbench
