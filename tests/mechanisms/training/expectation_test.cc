// Guards against an expectation that is not that of the sampled process: every
// path is enumerated for all T, U <= 5, with p that are exactly 0 and 1 among
// them, under every end policy, and gradients likewise. The loop over outputs,
// the start distributions and the variants `exact` and `reference` are what is
// tested; mocha and matcha have their own tests for larger sizes.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/support/enumerate.h"
#include "tests/support/training.h"

namespace attnbench {
namespace {

using testing::DefaultConfig;
using testing::Enumerate;
using testing::EnumeratedExpectation;
using testing::GivenRows;
using testing::HardProcess;
using testing::OwnTable;
using testing::Rows;
using testing::Train;
using testing::Trained;

constexpr EndPolicy kEnds[] = {EndPolicy::kAbsorb, EndPolicy::kStayLast,
                               EndPolicy::kRestart};
const char* const kVariants[] = {"exact", "reference"};

// Draws probabilities of which about a third are exactly 0 or 1.
Rows DrawP(std::size_t U, std::size_t T, std::mt19937& generator) {
  std::uniform_real_distribution<double> uniform(0, 1);
  Rows rows(U, std::vector<double>(T));
  for (auto& row : rows) {
    for (double& p : row) {
      const double kind = uniform(generator);
      p = kind < 0.2 ? 0 : kind < 0.35 ? 1 : uniform(generator);
    }
  }
  return rows;
}

Rows DrawTable(std::size_t U, std::size_t T, double scale,
               std::mt19937& generator) {
  std::uniform_real_distribution<double> uniform(-scale, scale);
  Rows rows(U, std::vector<double>(T));
  for (auto& row : rows) {
    for (double& value : row) value = uniform(generator);
  }
  return rows;
}

testing::LongRows Long(const Rows& rows) {
  testing::LongRows all;
  for (const auto& row : rows) all.emplace_back(row.begin(), row.end());
  return all;
}

void ExpectSame(const OwnTable<double>& found,
                const testing::LongRows& expected, double tolerance,
                const std::string& what) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (std::size_t j = 0; j < expected[i].size(); ++j) {
      const double value = found(static_cast<Index>(i), static_cast<Index>(j));
      const double error =
          std::abs(value - static_cast<double>(expected[i][j]));
      if (!(error <= tolerance)) {
        ADD_FAILURE() << what << " (" << i << ", " << j << ") is " << value
                      << ", not " << static_cast<double>(expected[i][j]);
      }
    }
  }
}

long double Product(const testing::LongRows& a, const Rows& b) {
  long double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a[i].size(); ++j) sum += a[i][j] * b[i][j];
  }
  return sum;
}

// dL/d table by central differences of the enumeration: exact for p, in which
// L is linear.
testing::LongRows Differences(HardProcess process,
                              testing::LongRows HardProcess::*table,
                              const Rows& cotangent, long double step) {
  testing::LongRows gradient = process.*table;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    for (std::size_t j = 0; j < gradient[i].size(); ++j) {
      long double& x = (process.*table)[i][j];
      const long double at = x;
      x = at + step;
      const long double above =
          Product(Enumerate(process).attention, cotangent);
      x = at - step;
      const long double below =
          Product(Enumerate(process).attention, cotangent);
      x = at;
      gradient[i][j] = (above - below) / (2 * step);
    }
  }
  return gradient;
}

struct Case {
  const char* mechanism;
  Index chunk_width;
};
const Case kCases[] = {
    {"monotonic", 1},          {"mocha", 1}, {"mocha", 2}, {"mocha", 3},
    {"mocha", kInfiniteWidth}, {"matcha", 1}};

std::string Name(const Case& c, EndPolicy end, const char* variant) {
  return std::string(c.mechanism) + " w " + std::to_string(c.chunk_width) +
         " end " + std::to_string(static_cast<int>(end)) + " " + variant;
}

Config ConfigOf(const Case& c, EndPolicy end, const char* variant) {
  Config config = DefaultConfig(*FindMechanism<double>(c.mechanism), 0);
  config.options["chunk_width"] = c.chunk_width;
  config.end = end;
  config.variant = variant;
  return config;
}

TEST(ExpectationTest, EqualsTheEnumerationOfEveryPathForSmallTAndU) {
  std::mt19937 generator(7);
  for (std::size_t T = 1; T <= 5; ++T) {
    for (std::size_t U = 1; U <= 5; ++U) {
      const Rows p = DrawP(U, T, generator);
      const Rows u = DrawTable(U, T, 4, generator);
      for (const Case& c : kCases) {
        for (const EndPolicy end : kEnds) {
          const EnumeratedExpectation expected =
              Enumerate({c.mechanism, c.chunk_width, end, Long(p), Long(u)});
          for (const char* variant : kVariants) {
            const std::string name = Name(c, end, variant);
            const auto made =
                Train<double>(c.mechanism, ConfigOf(c, end, variant),
                              {.p_choose = p, .chunk_energies = u});
            ExpectSame(made.attention, expected.attention, 1e-14, name);
            ExpectSame(made.selection, expected.selection, 1e-14, name);
          }
        }
      }
    }
  }
}

TEST(ExpectationTest, GradientsEqualThoseOfTheEnumerationForSmallTAndU) {
  std::mt19937 generator(8);
  for (std::size_t T = 1; T <= 5; ++T) {
    for (std::size_t U = 1; U <= 5; ++U) {
      const Rows p = DrawP(U, T, generator);
      const Rows u = DrawTable(U, T, 3, generator);
      const Rows cotangent = DrawTable(U, T, 1, generator);
      for (const Case& c : kCases) {
        for (const EndPolicy end : kEnds) {
          const HardProcess process{c.mechanism, c.chunk_width, end, Long(p),
                                    Long(u)};
          const auto d_p =
              Differences(process, &HardProcess::p, cotangent, 0.5L);
          const auto d_u =
              Differences(process, &HardProcess::u, cotangent, 1e-5L);
          for (const char* variant : kVariants) {
            const std::string name = Name(c, end, variant);
            const auto made =
                Train<double>(c.mechanism, ConfigOf(c, end, variant),
                              {.p_choose = p, .chunk_energies = u}, cotangent);
            ExpectSame(made.d_choice, d_p, 1e-13, name + " dp");
            ExpectSame(made.d_chunk_energies, d_u, 1e-8, name + " du");
          }
        }
      }
    }
  }
}

TEST(ExpectationTest, EnergiesGiveWhatTheirSigmoidsGive) {
  std::mt19937 generator(9);
  const Rows e = DrawTable(4, 6, 5, generator);
  const Rows cotangent = DrawTable(4, 6, 1, generator);
  Rows p = e;
  for (auto& row : p) {
    for (double& x : row) x = 1 / (1 + std::exp(-x));
  }
  for (const EndPolicy end : kEnds) {
    for (const char* variant : kVariants) {
      const Config config = ConfigOf({"monotonic", 1}, end, variant);
      const auto of_p =
          Train<double>("monotonic", config, {.p_choose = p}, cotangent);
      const auto of_e =
          Train<double>("monotonic", config, {.energies = e}, cotangent);
      for (Index i = 0; i < 4; ++i) {
        for (Index j = 0; j < 6; ++j) {
          const double q = p[Size(i)][Size(j)];
          EXPECT_NEAR(of_e.attention(i, j), of_p.attention(i, j), 1e-15);
          EXPECT_NEAR(of_e.d_choice(i, j), q * (1 - q) * of_p.d_choice(i, j),
                      1e-15);
        }
      }
    }
  }
}

// With a rounded p, 1 - p would be exactly 0 here.
TEST(ExpectationTest, TheComplementOfASaturatedEnergyKeepsItsDigits) {
  Config config = ConfigOf({"monotonic", 1}, EndPolicy::kAbsorb, "exact");
  const auto made = Train<double>(
      "monotonic", config, {.energies = {{50.0, 50.0, -3.0}}}, {{0, 1, 0}});
  const double passes = 1 / (1 + std::exp(50.0));
  EXPECT_NEAR(made.attention(0, 1) / passes, 1, 1e-12);
  EXPECT_NEAR(made.d_choice(0, 0) / -passes, 1, 1e-12);
  const auto floats =
      Train<float>("monotonic", config, {.energies = {{50.0, 50.0, -3.0}}});
  EXPECT_NEAR(static_cast<double>(floats.attention(0, 1)) / passes, 1, 1e-5);
}

// These are vectors of other implementations (../peers) for the three end
// policies.
TEST(ExpectationTest, TheThreeEndPoliciesGiveTheirPublishedVectors) {
  const Rows p = {{.2, .5, .1}, {.6, .3, .4}, {.5, .5, .5}};
  const testing::LongRows expected[] = {
      {{.2L, .4L, .04L}, {.12L, .144L, .1504L}, {.06L, .102L, .1262L}},
      {{.2L, .4L, .4L}, {.12L, .144L, .736L}, {.06L, .102L, .838L}},
      {{.2L, .4L, .04L},
       {.336L, .1872L, .19072L},
       {.21504L, .28512L, .24992L}}};
  for (const char* variant : kVariants) {
    for (std::size_t n = 0; n < 3; ++n) {
      const auto made = Train<double>(
          "monotonic", ConfigOf({"monotonic", 1}, kEnds[n], variant),
          {.p_choose = p});
      ExpectSame(made.attention, expected[n], 1e-15, variant);
    }
  }
}

TEST(ExpectationTest, StayLastIsAbsorbWithTheRestWrittenIntoTheLastColumn) {
  std::mt19937 generator(10);
  Rows p = DrawTable(5, 7, 0.5, generator);
  for (auto& row : p) {
    for (double& x : row) x += 0.5;
  }
  const auto made = [&](EndPolicy end) {
    return Train<double>("monotonic", ConfigOf({"monotonic", 1}, end, "exact"),
                         {.p_choose = p});
  };
  const auto absorb = made(EndPolicy::kAbsorb);
  const auto stay_last = made(EndPolicy::kStayLast);
  for (Index i = 0; i < 5; ++i) {
    double others = 0;
    for (Index j = 0; j < 6; ++j) {
      EXPECT_NEAR(stay_last.attention(i, j), absorb.attention(i, j), 1e-15);
      others += absorb.attention(i, j);
    }
    EXPECT_NEAR(stay_last.attention(i, 6), 1 - others, 1e-15);
  }
}

// MAD 2.3: for p in {0, 1} training and test-time processes agree.
TEST(ExpectationTest, ForPOfZerosAndOnesItIsTheHardProcessExactly) {
  std::mt19937 generator(11);
  for (int trial = 0; trial < 50; ++trial) {
    Rows p = DrawTable(6, 9, 1, generator);
    for (auto& row : p) {
      for (double& x : row) x = x > 0.4 ? 1 : 0;
    }
    const GivenRows rows{.p_choose = p,
                         .chunk_energies = DrawTable(6, 9, 4, generator)};
    for (const Case& c : kCases) {
      for (const EndPolicy end : kEnds) {
        Config config = ConfigOf(c, end, "exact");
        const auto made = Train<double>(c.mechanism, config, rows);
        testing::GivenInputs<double> inputs(rows);
        config.dim = inputs.dim();
        config.want_weights = true;
        const Rows hard = testing::DenseWeights(
            testing::DecodeKeepingSteps(*FindMechanism<double>(c.mechanism),
                                        config, inputs.View()),
            9);
        ExpectSame(made.attention, Long(hard), 1e-15, Name(c, end, "exact"));
      }
    }
  }
}

TEST(ExpectationTest, ContextsAreAttentionTimesMemory) {
  std::mt19937 generator(12);
  const GivenRows rows{.p_choose = DrawP(4, 6, generator),
                       .chunk_energies = DrawTable(4, 6, 2, generator),
                       .memory = DrawTable(6, 3, 1, generator)};
  for (const char* variant : kVariants) {
    const auto made = Train<double>(
        "mocha", ConfigOf({"mocha", 3}, EndPolicy::kAbsorb, variant), rows);
    for (Index i = 0; i < 4; ++i) {
      for (Index k = 0; k < 3; ++k) {
        double c = 0;
        for (Index j = 0; j < 6; ++j) {
          c += made.attention(i, j) * rows.memory[Size(j)][Size(k)];
        }
        EXPECT_NEAR(made.contexts(i, k), c, 1e-15);
      }
    }
  }
}

TEST(ExpectationTest, OneEntryAndOneOutputWork) {
  for (const Case& c : kCases) {
    for (const EndPolicy end : kEnds) {
      const auto made = Train<double>(
          c.mechanism, ConfigOf(c, end, "exact"),
          {.p_choose = {{0.25}}, .chunk_energies = {{1e4}}}, {{2.0}});
      const bool forced = end == EndPolicy::kStayLast;
      EXPECT_EQ(made.attention(0, 0), forced ? 1 : 0.25);
      EXPECT_EQ(made.d_choice(0, 0), forced ? 0 : 2.0);
    }
  }
}

TEST(ExpectationTest, ALongMemoryKeepsItsDigitsInF32) {
  constexpr std::size_t kT = 20000;
  std::mt19937 generator(13);
  std::normal_distribution<double> normal(-4, 1);
  // The cases are the recommended start; a p that hardly ever chooses, whose
  // 1 - p rounds to the same number everywhere; the same p for all; and a p
  // below the rounding of f32, which a mass carried in f32 would lose too fast.
  for (const double shared : {0.0, -12.0, -7.3, -17.0}) {
    Rows e(2, std::vector<double>(kT));
    for (auto& row : e) {
      for (double& x : row) {
        x = static_cast<float>(shared == 0 ? normal(generator) : shared);
      }
    }
    const Config config =
        ConfigOf({"monotonic", 1}, EndPolicy::kAbsorb, "exact");
    const auto floats = Train<float>("monotonic", config, {.energies = e});
    const auto doubles = Train<double>("monotonic", config, {.energies = e});
    for (Index i = 0; i < 2; ++i) {
      double largest = 0;
      double error = 0;
      for (Index j = 0; j < static_cast<Index>(kT); ++j) {
        largest = std::max(largest, doubles.attention(i, j));
        const double difference = static_cast<double>(floats.attention(i, j)) -
                                  doubles.attention(i, j);
        error = std::max(error, std::abs(difference));
      }
      EXPECT_LE(error, 2e-5 * largest) << shared << " output " << i;
      EXPECT_GT(error, 0) << "f32 was not computed in f32";
    }
  }
}

TEST(ExpectationTest, GradientsNeverGrowBeyondTheCotangent) {
  std::mt19937 generator(14);
  const Rows e = DrawTable(200, 30, 8, generator);
  Rows cotangent(200, std::vector<double>(30, 0));
  cotangent.back().assign(30, 1);
  const auto made = Train<double>(
      "monotonic", ConfigOf({"monotonic", 1}, EndPolicy::kAbsorb, "exact"),
      {.energies = e}, cotangent);
  double largest = 0;
  for (const double g : made.d_choice.values()) {
    largest = std::max(largest, std::abs(g));
  }
  EXPECT_LE(largest, 1);
  EXPECT_GT(largest, 0);
}

TEST(ExpectationTest, OneOutputAfterAnotherIsTheWholeSequence) {
  std::mt19937 generator(15);
  constexpr Index U = 5, T = 7;
  const OwnTable<double> p(DrawP(U, T, generator)),
      u(DrawTable(U, T, 3, generator)),
      d_attention(DrawTable(U, T, 1, generator)),
      d_selection(DrawTable(U, T, 1, generator));
  for (const Case& c : kCases) {
    for (const EndPolicy end : {EndPolicy::kAbsorb, EndPolicy::kStayLast}) {
      for (const char* variant : kVariants) {
        SCOPED_TRACE(Name(c, end, variant));
        const Config config = ConfigOf(c, end, variant);
        const auto& mechanism = *FindMechanism<double>(c.mechanism);
        const auto scores = [&](Index first, Index count) {
          SequenceInputs<double> inputs;
          inputs.scores.Set("p_choose", p.view().Rows(first, count));
          inputs.scores.Set("chunk_energies", u.view().Rows(first, count));
          return inputs;
        };
        OwnTable<double> attention(U, T), selection(U, T), d_p(U, T), d_u(U, T);
        Gradients<double> gradients;
        gradients.scores.Set("p_choose", d_p.view());
        gradients.scores.Set("chunk_energies", d_u.view());
        const Sequence<double> whole{
            .inputs = scores(0, U), .memory = {}, .states = {}, .contexts = {}};
        mechanism.Gradient(config, whole,
                           {.attention = d_attention.view(),
                            .contexts = {},
                            .selection = d_selection.view()},
                           {attention.view(), selection.view()}, gradients);

        // Forwards a step hands on where it chose, and backwards dL/d of that.
        OwnTable<double> alpha(U, T), beta(U, T), step_d_p(U, T),
            step_d_u(U, T);
        const auto step = [&](Index i) {
          Sequence<double> one{.inputs = scores(i, 1),
                               .memory = {},
                               .states = {},
                               .contexts = {}};
          if (i > 0) one.inputs.start = alpha.view().Row(i - 1);
          return one;
        };
        for (Index i = 0; i < U; ++i) {
          mechanism.Expect(config, step(i),
                           {beta.view().Rows(i, 1), alpha.view().Rows(i, 1)});
        }
        OwnTable<double> from_next(Rows(1, std::vector<double>(T, 0)));
        for (Index i = U; i-- > 0;) {
          for (Index j = 0; j < T; ++j) {
            from_next.view()(0, j) += d_selection(i, j);
          }
          OwnTable<double> d_start(1, T), ignored(2, T);
          Gradients<double> to;
          to.scores.Set("p_choose", step_d_p.view().Rows(i, 1));
          to.scores.Set("chunk_energies", step_d_u.view().Rows(i, 1));
          to.start = d_start.view().Row(0);
          mechanism.Gradient(
              config, step(i),
              {.attention = d_attention.view().Rows(i, 1),
               .contexts = {},
               .selection = from_next.view()},
              {ignored.view().Rows(0, 1), ignored.view().Rows(1, 1)}, to);
          from_next = d_start;
        }
        const auto expect_equal = [](const OwnTable<double>& found,
                                     const OwnTable<double>& expected,
                                     const char* what) {
          for (std::size_t n = 0; n < found.values().size(); ++n) {
            EXPECT_NEAR(found.values()[n], expected.values()[n], 1e-13)
                << what << " " << n;
          }
        };
        expect_equal(alpha, selection, "alpha");
        expect_equal(beta, attention, "beta");
        expect_equal(step_d_p, d_p, "d p");
        expect_equal(step_d_u, d_u, "d u");
      }
    }
  }
}

// ---- noise ----------------------------------------------------------------

TEST(ExpectationTest, GradientsAreTheSameWhateverElseIsWanted) {
  constexpr Index U = 6, T = 11;
  std::mt19937 generator(8);
  const OwnTable<float> e(DrawTable(U, T, 2, generator)),
      u(DrawTable(U, T, 2, generator)),
      d_attention(DrawTable(U, T, 1, generator));
  Sequence<float> sequence;
  sequence.inputs.scores.Set("energies", e.view());
  sequence.inputs.scores.Set("chunk_energies", u.view());
  for (const std::string name : {"soft", "monotonic", "mocha", "matcha"}) {
    const Mechanism<float>& mechanism = *FindMechanism<float>(name);
    const Description& about = mechanism.Describe();
    for (const std::string variant : {"exact", "parallel"}) {
      for (const EndPolicy end : {EndPolicy::kAbsorb, EndPolicy::kRestart}) {
        Config config = DefaultConfig(mechanism, 0);
        config.mode = Mode::kGradient;
        config.end = end;
        config.options["chunk_width"] = 3;
        config.variant = name == "soft" ? "exact" : variant;
        SCOPED_TRACE(about.name + " " + config.variant);
        const auto gradients_of = [&](const Expectation<float>& out) {
          OwnTable<float> d_e(U, T), d_u(U, T);
          Gradients<float> gradients;
          gradients.scores.Set("energies", d_e.view());
          gradients.scores.Set("chunk_energies", d_u.view());
          mechanism.Gradient(config, sequence,
                             {.attention = d_attention.view()}, out, gradients);
          return std::pair(d_e.values(), d_u.values());
        };
        OwnTable<float> attention(U, T), selection(U, T), alone(U, T);
        const auto all = gradients_of({attention.view(), selection.view()});
        const auto attention_only = gradients_of({.attention = alone.view()});
        const auto nothing = gradients_of({});
        for (const auto& made : {attention_only, nothing}) {
          EXPECT_EQ(made.first, all.first);
          if (about.scores.size() > 1) {
            EXPECT_EQ(made.second, all.second);
          }
        }
        EXPECT_EQ(alone.values(), attention.values());
      }
    }
  }
}

}  // namespace
}  // namespace attnbench
