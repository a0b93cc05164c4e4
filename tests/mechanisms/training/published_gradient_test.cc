// Guards against gradients of published forms that depend on which scores are
// asked for, or overflow where an energy is far below zero.
#include <gtest/gtest.h>

#include "tests/support/training.h"

namespace attnbench {
namespace {

using testing::DefaultConfig;
using testing::OwnTable;
using testing::Rows;
using testing::Train;

// Gradients of some scores are those of the whole, beyond the lengths that the
// whole is made for, too.
TEST(PublishedGradientTest, OfSomeScoresAloneIsTheSameAtAnyLength) {
  const Description& about = FindMechanism<double>("monotonic")->Describe();
  const Rows p = {{.2, .5, .1}, {.6, .3, .4}};
  const Rows cotangent = {{1, -2, .5}, {.25, 3, -1}};
  Config config = DefaultConfig(*FindMechanism<double>("monotonic"), 0);
  for (const char* variant : {"parallel", "triangular"}) {
    config.variant = variant;
    const auto whole =
        Train<double>("monotonic", config, {.p_choose = p}, cotangent);
    const OwnTable<double> scores(p), d_attention(cotangent);
    Sequence<double> sequence;
    sequence.inputs.scores.Set("p_choose", scores.view());
    OwnTable<double> attention(2, 3);
    OwnTable<double> gradient(Rows(2, {7, 7, 7}));
    const ScorePlace only[] = {{0, 2}, {1, 0}};
    Gradients<double> gradients;
    gradients.scores.Set("p_choose", gradient.view());
    gradients.only = only;
    FindMechanism<double>(about.name)
        ->Gradient(config, sequence, {.attention = d_attention.view()},
                   {.attention = attention.view()}, gradients);
    EXPECT_EQ(gradient(0, 2), whole.d_choice(0, 2)) << variant;
    EXPECT_EQ(gradient(1, 0), whole.d_choice(1, 0)) << variant;
    EXPECT_EQ(gradient(0, 0), 0) << variant;
  }
  const Rows longer(1, std::vector<double>(65, .5));
  EXPECT_THROW(Train<double>("monotonic", config, {.p_choose = longer}, longer),
               Unsupported);
}

// exp(-x) overflows in f64 from 710 on, in f32 from 89 on.
template <class Real>
void ExpectFiniteGradients(double energy) {
  Config config = DefaultConfig(*FindMechanism<Real>("monotonic"), 0);
  for (const char* variant : {"parallel", "triangular"}) {
    config.variant = variant;
    const auto trained =
        Train<Real>("monotonic", config, {.energies = {{energy, 1}}}, {{1, 1}});
    EXPECT_NEAR(trained.d_choice(0, 0), 0, 1e-30) << variant;
    EXPECT_NEAR(trained.d_choice(0, 1), 0.19661193324148185, 1e-6) << variant;
  }
}

TEST(PublishedGradientTest, OfAnEnergyFarBelowZeroIsZero) {
  ExpectFiniteGradients<float>(-95);
  ExpectFiniteGradients<double>(-800);
}

}  // namespace
}  // namespace attnbench
