// Guards against a kernel that leaves its caller's arithmetic changed: whoever
// called it would lose small numbers from then on.
#include "mechanisms/kernels/flush_denormals.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <stdexcept>

namespace attnbench::testing {
namespace {

constexpr float kLeastNormal = std::numeric_limits<float>::min();

// Calls are not moved out of a guard's scope, as arithmetic may be.
__attribute__((noinline)) void Half(const volatile float* x,
                                    volatile float* half) {
  *half = *x * 0.5F;
}
float HalfOf(float x) {
  volatile float number = x, half = 0;
  Half(&number, &half);
  return half;
}

TEST(FlushDenormalsTest, DenormalNumbersAreZeroInItsScopeAndNumbersBehindIt) {
  if (FlushDenormals::kMode == 0) {
    GTEST_SKIP() << "denormal numbers are flushed on x86-64 and Arm only";
  }
  const std::uint64_t before = FlushDenormals::Mode();
  ASSERT_GT(HalfOf(kLeastNormal), 0) << "this process flushes already";
  {
    const FlushDenormals flush;
    EXPECT_EQ(HalfOf(kLeastNormal), 0) << "what is made";
    EXPECT_EQ(HalfOf(kLeastNormal / 4), 0) << "what is read";
    {
      const FlushDenormals again;
      EXPECT_EQ(HalfOf(kLeastNormal), 0);
    }
    EXPECT_EQ(HalfOf(kLeastNormal), 0) << "after an inner scope";
  }
  EXPECT_GT(HalfOf(kLeastNormal), 0);
  EXPECT_EQ(FlushDenormals::Mode(), before);
}

TEST(FlushDenormalsTest, AnExceptionThatPassesItRestoresTheModeToo) {
  ASSERT_EQ(FlushDenormals::Mode(), 0);
  try {
    const FlushDenormals flush;
    EXPECT_EQ(FlushDenormals::Mode(), FlushDenormals::kMode);
    throw std::runtime_error("passes");
  } catch (const std::runtime_error&) {
    EXPECT_EQ(FlushDenormals::Mode(), 0);
  }
  EXPECT_GT(HalfOf(kLeastNormal), 0);
}

}  // namespace
}  // namespace attnbench::testing
