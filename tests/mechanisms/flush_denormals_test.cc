// Guards against a thread that counts denormal numbers as 0 after training has
// returned: the caller's own arithmetic would change.
#include "mechanisms/common/flush_denormals.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/training.h"

namespace attnbench {
namespace {

float HalfOf(float value) {
  volatile float at_run_time = value;  // the compiler must not fold it
  return at_run_time / 2;
}

constexpr float kLeastNormal = std::numeric_limits<float>::min();

#ifdef __SSE__
TEST(FlushDenormalsTest, DenormalsAreZeroWhileAnObjectLivesAndOnlyThen) {
  {
    const FlushDenormals flush;
    EXPECT_EQ(HalfOf(kLeastNormal), 0);
    EXPECT_EQ(HalfOf(4 * kLeastNormal), 2 * kLeastNormal);
    { const FlushDenormals inner; }
    EXPECT_EQ(HalfOf(kLeastNormal), 0);
  }
  EXPECT_GT(HalfOf(kLeastNormal), 0);
}
#endif

TEST(FlushDenormalsTest, TrainingLeavesTheArithmeticOfItsThreadAsItWas) {
  for (const char* mechanism : {"monotonic", "mocha", "matcha"}) {
    const Config config =
        testing::DefaultConfig(*FindMechanism<double>(mechanism), 0);
    const testing::Rows rows(2, std::vector<double>(3, 0.5));
    testing::GivenRows given;
    given.p_choose = rows;
    given.chunk_energies = rows;
    testing::Train<double>(mechanism, config, given, rows);
    EXPECT_GT(HalfOf(kLeastNormal), 0) << mechanism;
  }
}

}  // namespace
}  // namespace attnbench
