// Guards against an alpha of a user's own that is called right where an output
// is off by a share of its mass, or that is said to be of a toolkit whose form
// it is not.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/stability/diagnosis.h"

namespace attnbench {
namespace {

// Output 1 chooses entry 36 alone, and p of output 2 is 1/2: the closed form of
// MAD gives 2^-35 / 1e-10 = 0.291 times the exact alpha of output 2, in which
// nothing but the clip of the denominator is at work.
class GivenAlpha : public ::testing::Test {
 protected:
  GivenAlpha() {
    Table<float> p(2, kEntries);
    Table<double> exact(2, kEntries);
    p.view()(0, kFirst) = 1;
    exact.view()(0, kFirst) = 1;
    double alpha = 1;
    for (Index j = 0; j < kEntries; ++j) {
      p.view()(1, j) = 0.5F;
      if (j >= kFirst) exact.view()(1, j) = alpha *= 0.5;
    }
    request_.sequences = {{{"p_choose", p}}};
    request_.alpha = {exact};
    request_.alpha_file = "mine.npy";
  }

  // With output 2 times a factor.
  DiagnosedAlpha Scaled(double factor) const {
    DiagnosisRequest request = request_;
    for (double& alpha : request.alpha[0].view().Row(1)) alpha *= factor;
    return DiagnoseAlpha(request);
  }

  static constexpr Index kEntries = 40, kFirst = 35;
  DiagnosisRequest request_;
};

std::vector<std::string> Names(const DiagnosedAlpha& alpha) {
  std::vector<std::string> names;
  for (const DiagnosedForm& form : alpha.looks_like) {
    names.push_back(form.preset);
  }
  return names;
}

TEST_F(GivenAlpha, LooksLikeNoFormWhereItIsExactOrOnlyNearOne) {
  const DiagnosedAlpha exact = Scaled(1);
  EXPECT_TRUE(exact.is_exact);
  EXPECT_FALSE(exact.first_wrong.has_value());
  EXPECT_EQ(Names(exact), std::vector<std::string>{});
  EXPECT_EQ(Names(Scaled(0.28)), std::vector<std::string>{});
  EXPECT_EQ(Names(Scaled(0.9999)), std::vector<std::string>{});
}

TEST_F(GivenAlpha, LooksLikeAllFormsThatNothingTellsApart) {
  EXPECT_EQ(Names(Scaled(0x1p-35 / 1e-10)),
            (std::vector<std::string>{"mad2017", "tf"}));
}

TEST_F(GivenAlpha, IsWrongByAShareOfTheMassOfAnOutput) {
  EXPECT_FALSE(Scaled(1 - 0.9e-3).first_wrong.has_value());
  const DiagnosedAlpha wrong = Scaled(1 - 1.1e-3);
  ASSERT_TRUE(wrong.first_wrong.has_value());
  EXPECT_EQ(wrong.first_wrong->output, 2);
  EXPECT_NEAR(wrong.off, 1.1e-3, 1e-9);
  EXPECT_NEAR(wrong.lost_mass, 1.1e-3, 1e-9);
  EXPECT_EQ(Scaled(1.5).lost_mass, 0);
  EXPECT_NEAR(Scaled(1.5).off, 0.5, 1e-9);
}

}  // namespace
}  // namespace attnbench
