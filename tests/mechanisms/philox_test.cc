// Guards against another generator, or another use of its words, which would
// silently change every input and every stored result.
#include "mechanisms/common/philox.h"

#include <gtest/gtest.h>

#include <set>

namespace attnbench {
namespace {

// These are known answers of philox4x32-10 (Salmon et al. 2011, Random123's
// kat_vectors).
TEST(PhiloxTest, GivesThePublishedKnownAnswers) {
  EXPECT_EQ(Philox(0, 0, 0, 0),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
                                          0x9b00dbd8}));
  EXPECT_EQ(Philox(~std::uint64_t{0}, ~0U, ~0U, ~std::uint64_t{0}),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6,
                                          0x6d5451fd}));
  // The key is a4093822 299f31d0, the counter 243f6a88 85a308d3 13198a2e
  // 03707344.
  EXPECT_EQ(
      Philox(0x299f31d0'a4093822, 0x03707344, 0x13198a2e, 0x85a308d3'243f6a88),
      (std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420,
                                    0x24126ea1}));
}

TEST(PhiloxTest, EveryArgumentMatters) {
  const std::uint64_t high = std::uint64_t{1} << 32;
  const std::set<std::array<std::uint32_t, 4>> different = {
      Philox(0, 0, 0, 0),   Philox(1, 0, 0, 0), Philox(high, 0, 0, 0),
      Philox(0, 1, 0, 0),   Philox(0, 0, 1, 0), Philox(0, 0, 0, 1),
      Philox(0, 0, 0, high)};
  EXPECT_EQ(different.size(), 7u);
}

TEST(PhiloxTest, UniformsAreExactInSinglePrecisionAndStayBelowOne) {
  EXPECT_EQ(Uniform24(0), 0);
  EXPECT_EQ(Uniform24(~0U), 1 - 0x1p-24);
  EXPECT_EQ(SymmetricUniform24(0), -1);
  EXPECT_EQ(SymmetricUniform24(~0U), 1 - 0x1p-23);
  for (std::uint64_t n = 0; n < 1000; ++n) {
    for (const std::uint32_t word : Philox(5, 1, 2, n)) {
      for (const double x : {Uniform24(word), SymmetricUniform24(word)}) {
        ASSERT_EQ(static_cast<double>(static_cast<float>(x)), x);
      }
    }
  }
}

TEST(PhiloxTest, FiftyThreeBitsReachFromZeroToJustBelowOne) {
  EXPECT_EQ(Uniform53(0, 0), 0);
  EXPECT_EQ(Uniform53(~0U, ~0U), 1 - 0x1p-53);
  EXPECT_EQ(Uniform53(0x80000000, 0), 0.5);
  EXPECT_EQ(Uniform53(0, 1U << 11), 0x1p-53);
}

}  // namespace
}  // namespace attnbench
