// Guards against a distance between what trains and what decodes that hides one
// of them, or that does not vanish where they agree.
#include "harness/latency/sharpness.h"

#include <gtest/gtest.h>

#include <cmath>

#include "mechanisms/registry.h"
#include "tests/support/given_inputs.h"

namespace attnbench {
namespace {

using testing::GivenInputs;
using testing::GivenRows;

HardDistance Distance(const GivenRows& rows, double sharpness,
                      const std::string& mechanism = "monotonic") {
  GivenInputs<double> inputs(rows);
  const Mechanism<double>& by_name = *FindMechanism<double>(mechanism);
  Config config = testing::DefaultConfig(by_name, inputs.dim());
  config.mode = Mode::kExpect;
  config.schedule = Schedule::kTeacherForced;
  return DistanceToHard(by_name, config, inputs.View(), true, sharpness);
}

TEST(Sharpness, DistanceIsThatOfTheWeights) {
  // The decoder takes entry 2. The expectation gives 1/4 and 3/4 of 3/4, the
  // rest to nothing.
  const HardDistance distance = Distance({.p_choose = {{0.25, 0.75}}}, 1);
  EXPECT_DOUBLE_EQ(distance.attention, 1 - 9.0 / 16);
  // The memory is the identity, whose rows have length 1.
  EXPECT_DOUBLE_EQ(distance.context.value(), std::hypot(0.25, 7.0 / 16));
}

TEST(Sharpness, SharpeningIsThatOfTheEnergies) {
  const double e = std::log(3.0);
  const HardDistance of_p = Distance({.p_choose = {{0.25, 0.75}}}, 2);
  const HardDistance of_energies = Distance({.energies = {{-e, e}}}, 2);
  // p = sigmoid(2 e) = 9/10.
  EXPECT_NEAR(of_p.attention, 1 - 0.81, 1e-15);
  EXPECT_NEAR(of_energies.attention, of_p.attention, 1e-15);
  EXPECT_NEAR(of_energies.context.value(), of_p.context.value(), 1e-15);
}

TEST(Sharpness, NothingIsLeftWhereEverythingIsZeroOrOne) {
  const GivenRows hard = {.p_choose = {{0, 1, 0}, {1, 0, 1}, {1, 0, 0}}};
  EXPECT_EQ(Distance(hard, 1).attention, 0);
  EXPECT_EQ(Distance(hard, 100).context, 0);
  for (const char* mechanism : {"monotonic", "mocha", "matcha"}) {
    const GivenRows soft = {.p_choose = {{0.4, 0.7, 0.2}, {0.3, 0.1, 0.9}},
                            .chunk_energies = {{1, 2, 3}, {3, 1, 2}}};
    EXPECT_GT(Distance(soft, 1, mechanism).attention, 0.1) << mechanism;
    EXPECT_LT(Distance(soft, 1000, mechanism).attention, 1e-12) << mechanism;
  }
}

TEST(Sharpness, AnEvenChoiceStaysOne) {
  for (const double sharpness : {1.0, 1e4}) {
    EXPECT_DOUBLE_EQ(Distance({.p_choose = {{0.5, 1}}}, sharpness).attention,
                     0.5);
  }
}

TEST(Sharpness, MissingWeightCounts) {
  // The decoder chooses nothing; the expectation gives the entry a weight of
  // 0.4.
  EXPECT_DOUBLE_EQ(Distance({.p_choose = {{0.4}}}, 1).attention, 0.4);
}

}  // namespace
}  // namespace attnbench
