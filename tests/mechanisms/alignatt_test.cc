// Guards against a policy that emits at another entry than AlignAtt says: one
// too early or too late, or by an energy of an entry that it does not weigh;
// and against energies that are evaluated twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "mechanisms/description.h"
#include "tests/support/given_inputs.h"
#include "tests/support/property.h"

namespace attnbench {
namespace {

using testing::CheckProperty;
using testing::DecodeKeepingSteps;
using testing::DefaultConfig;
using testing::DrawIndex;
using testing::DrawnInputs;
using testing::DrawOneOf;
using ::testing::ElementsAre;
using testing::GivenInputs;
using testing::GivenRows;
using testing::KeptStep;
using testing::Rows;

template <class Real>
const Mechanism<Real>& Soft() {
  return *FindMechanism<Real>("soft");
}

Config ConfigOf(Index f, Index dim, const std::string& variant = "exact") {
  Config config = DefaultConfig(Soft<double>(), dim);
  config.options["policy"] = std::string("alignatt");
  config.options["f"] = f;
  config.variant = variant;
  config.want_weights = true;
  return config;
}

// The statement of the policy by itself: how many entries each output reads.
std::vector<Index> Statement(const Rows& energies, Index f) {
  std::vector<Index> reads;
  Index n = 0;
  for (const std::vector<double>& e : energies) {
    const auto T = static_cast<Index>(e.size());
    for (; n < T; ++n) {
      const auto largest = std::max_element(e.begin(), e.begin() + n);
      if (n > 0 && largest - e.begin() < n - f) break;
    }
    reads.push_back(n);
  }
  return reads;
}

// The softmax of the first n energies.
std::vector<double> Softmax(const std::vector<double>& e, Index n) {
  std::vector<double> weights(Size(n));
  double sum = 0;
  for (std::size_t j = 0; j < Size(n); ++j) sum += weights[j] = std::exp(e[j]);
  for (double& weight : weights) weight /= sum;
  return weights;
}

template <class Real>
std::vector<Index> ReadsOf(const std::vector<KeptStep<Real>>& steps) {
  std::vector<Index> reads;
  for (const auto& step : steps) reads.push_back(step.end);
  return reads;
}

std::vector<Index> Reads(const Rows& energies, Index f,
                         const std::string& variant) {
  GivenInputs<double> inputs({.energies = energies});
  return ReadsOf(DecodeKeepingSteps(
      Soft<double>(), ConfigOf(f, inputs.dim(), variant), inputs.View()));
}

TEST(AlignAtt, WaitsWhileTheLargestIsAmongTheLastF) {
  const Rows energies = {{0, 5, 0, 0, 0, 0, 0, 0},
                         {0, 1, 2, 3, 4, 0, 0, 0},
                         {9, 0, 0, 0, 0, 0, 0, 0},
                         {0, 1, 2, 3, 4, 5, 6, 7}};
  for (const char* variant : {"exact", "reference"}) {
    EXPECT_THAT(Reads(energies, 1, variant), ElementsAre(3, 6, 6, 8));
    EXPECT_THAT(Reads(energies, 2, variant), ElementsAre(4, 7, 7, 8));
    EXPECT_THAT(Reads(energies, 7, variant), ElementsAre(8, 8, 8, 8));
    EXPECT_THAT(Reads(energies, 8, variant), ElementsAre(8, 8, 8, 8));
    EXPECT_THAT(Reads(energies, 100, variant), ElementsAre(8, 8, 8, 8));
  }
}

TEST(AlignAtt, OfEqualWeightsTheOldestCounts) {
  const Rows energies = {{2, 2, 2, 2}, {1, 2, 2, 2}};
  for (const char* variant : {"exact", "reference"}) {
    EXPECT_THAT(Reads(energies, 1, variant), ElementsAre(2, 3));
    EXPECT_THAT(Reads(energies, 2, variant), ElementsAre(3, 4));
  }
}

TEST(AlignAtt, ReadsWeighsAndCountsWhatItsStatementSays) {
  CheckProperty(
      [] {
        const Index T = DrawIndex("T", 1, 40), U = DrawIndex("U", 1, 8);
        // Few values make ties.
        const Index most = DrawOneOf<Index>("values", {2, 5, 1000});
        const Index f = DrawIndex("f", 1, T + 1);
        Rows energies(Size(U), std::vector<double>(Size(T)));
        for (auto& row : energies) {
          for (double& e : row) {
            e = static_cast<double>(*rc::gen::inRange<Index>(0, most)) / 100;
          }
        }
        const std::vector<Index> expected = Statement(energies, f);
        for (const char* variant : {"exact", "reference"}) {
          GivenInputs<double> inputs({.energies = energies});
          const auto steps = DecodeKeepingSteps(
              Soft<double>(), ConfigOf(f, inputs.dim(), variant),
              inputs.View());
          for (std::size_t i = 0; i < steps.size(); ++i) {
            const Index n = expected[i];
            RC_ASSERT(steps[i].begin == 0);
            RC_ASSERT(steps[i].end == n);
            RC_ASSERT(steps[i].inspected == n);
            RC_ASSERT(steps[i].position == -1);
            const std::vector<double> weights = Softmax(energies[i], n);
            RC_ASSERT(std::ssize(steps[i].weights) == n);
            for (Index j = 0; j < T; ++j) {
              const double weight = j < n ? weights[Size(j)] : 0;
              // The memory is the identity.
              RC_ASSERT(std::abs(inputs.context(static_cast<Index>(i), j) -
                                 weight) < 1e-14);
              if (j >= n) continue;
              RC_ASSERT(std::abs(steps[i].weights[Size(j)] - weight) < 1e-14);
            }
          }
        }
      },
      400);
}

template <class Real>
class AlignAttTest : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(AlignAttTest, Precisions);

// streaming_test.cc has that no output depends on how the memory comes.
TYPED_TEST(AlignAttTest, AsksForNoEntryThatItDoesNotWeigh) {
  using Real = TypeParam;
  CheckProperty([] {
    const Index T = DrawIndex("T", 0, 50), U = DrawIndex("U", 1, 8);
    const Config config =
        ConfigOf(DrawIndex("f", 1, 9), 5,
                 DrawOneOf<std::string>("variant", {"exact", "reference"}));
    DrawnInputs<Real> inputs(T, U, 5,
                             static_cast<unsigned>(DrawIndex("seed", 0, 1000)));
    const Sequence<Real> sequence = inputs.View();
    const auto decoder = Soft<Real>().MakeDecoder(config, sequence.inputs);
    Index appended = 0;
    bool closed = false;
    for (Index i = 0; i < U; ++i) {
      const auto make = [&] {
        return decoder->Step(sequence.states.Row(i), sequence.contexts.Row(i));
      };
      StepResult<Real> step = make();
      for (; step.need_memory; step = make()) {
        RC_ASSERT(!closed);
        closed = appended == T;
        if (closed) {
          decoder->Close();
        } else {
          decoder->Append(sequence.memory.Rows(appended++, 1));
        }
      }
      RC_ASSERT(step.inspected == step.end);
      RC_ASSERT(step.end == appended);
    }
  });
}

TYPED_TEST(AlignAttTest, WithFOfTheWholeMemoryItIsAsWithoutAPolicy) {
  using Real = TypeParam;
  for (const Index T : {1, 7, 40}) {
    DrawnInputs<Real> policy(T, 6, 5, 3), offline(T, 6, 5, 3);
    const auto with =
        DecodeKeepingSteps(Soft<Real>(), ConfigOf(T, 5), policy.View());
    Config config = ConfigOf(T, 5);
    config.options["policy"] = std::string("offline");
    const auto without =
        DecodeKeepingSteps(Soft<Real>(), config, offline.View());
    for (std::size_t i = 0; i < with.size(); ++i) {
      EXPECT_EQ(with[i].end, without[i].end);
      EXPECT_EQ(with[i].inspected, without[i].inspected);
    }
    const double tolerance = 100 * std::numeric_limits<Real>::epsilon();
    for (std::size_t n = 0; n < policy.contexts.size(); ++n) {
      EXPECT_NEAR(policy.contexts[n], offline.contexts[n], tolerance);
    }
  }
}

// Two energies as near as f32 has them: rounding alone decides.
TEST(AlignAtt, AReferenceFollowsWhereRoundingDecides) {
  DrawnInputs<float> inputs(3, 1, 2, 1);
  inputs.states = {1, 1};
  inputs.memory = {1, 1e-9F, 1, 0, -5, 0};
  const Config config = ConfigOf(1, 2, "reference");
  for (const Index last : {1, 2}) {
    const std::vector<Index> follow = {last};
    const auto steps =
        DecodeKeepingSteps(Soft<float>(), config, inputs.View(), follow);
    EXPECT_EQ(steps[0].end, last + 1);
  }
}

TEST(AlignAtt, OtherSchedulesVariantsAndScoresAreRefused) {
  DrawnInputs<double> inputs(3, 2, 4, 1);
  const SequenceInputs<double> read = inputs.View().inputs;
  Config config = ConfigOf(1, 4);
  config.schedule = Schedule::kTeacherForced;
  EXPECT_THROW(Soft<double>().MakeDecoder(config, read), Unsupported);
  EXPECT_THROW(Soft<double>().MakeDecoder(ConfigOf(1, 4, "published_O3"), read),
               Unsupported);
  GivenInputs<double> p({.p_choose = {{.5, .5}}});
  EXPECT_THROW(Soft<double>().MakeDecoder(ConfigOf(1, 2), p.View().inputs),
               Unsupported);
}

TEST(AlignAtt, OnlyDecodingIsOnline) {
  const Description& about = Soft<double>().Describe();
  EXPECT_FALSE(about.online);
  EXPECT_TRUE(DecodesOnline(about, ConfigOf(1, 4)));
  EXPECT_FALSE(DecodesOnline(about, DefaultConfig(Soft<double>(), 4)));
  EXPECT_FALSE(
      HasPolicy(FindMechanism<double>("monotonic")->Describe(),
                DefaultConfig(*FindMechanism<double>("monotonic"), 4)));
}

}  // namespace
}  // namespace attnbench
