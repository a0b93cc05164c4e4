// Guards against a certificate that does not hold: mass that is cut and not
// counted, or more of it than was allowed, which nobody would see in results
// that look right. Guards, too, against gradients of another computation than
// the banded one, and against energies that are evaluated but not counted.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "mechanisms/monotonic/banded_selection.h"
#include "tests/support/full_scope.h"

namespace attnbench {
namespace {

using testing::DefaultConfig;
using testing::DrawnInputs;
using testing::FullScope;
using testing::GivenRows;
using testing::OwnTable;
using testing::Rows;

using LongRow = std::vector<long double>;
using LongRows = std::vector<LongRow>;

// Gives p of a table, and counts what it is asked for.
template <class Real>
class TableSource final : public BandSource<Real> {
 public:
  explicit TableSource(const Rows& p) : p_(p) {}
  bool gives_probabilities() const override { return true; }
  void Evaluate(Index i, Index first, Index count, Real* p) override {
    for (Index n = 0; n < count; ++n) {
      p[n] = static_cast<Real>(p_.at(Size(i)).at(Size(first + n)));
    }
    evaluated_ += count;
  }
  Index evaluated() const { return evaluated_; }

 private:
  const Rows& p_;
  Index evaluated_ = 0;
};

// alpha by MAD eq 9, on the entries of a band where there is one, and the mass
// that the band cuts in each row, recounted.
struct Expected {
  LongRows alpha;
  LongRow cut;
};
Expected Exact(const LongRows& p, EndPolicy end,
               const BandRows* band = nullptr) {
  Expected made;
  const std::size_t T = p[0].size();
  LongRow start(T, 0);
  start[0] = 1;
  for (std::size_t i = 0; i < p.size(); ++i) {
    std::vector<BandSegment> parts = {{0, static_cast<Index>(T), 0}};
    if (band != nullptr) {
      const auto row = band->Row(static_cast<Index>(i));
      parts.assign(row.begin(), row.end());
    }
    LongRow alpha(T, 0);
    long double cut = 0;
    for (const long double mass : start) cut += mass;
    for (const BandSegment& part : parts) {
      long double q = 0;
      for (std::size_t j = Size(part.begin); j < Size(part.end); ++j) {
        const bool is_last = end == EndPolicy::kStayLast && j + 1 == T;
        q += start[j];
        cut -= start[j];
        alpha[j] = is_last ? q : p[i][j] * q;
        q -= alpha[j];
      }
      if (Size(part.end) < T) cut += q;
    }
    made.cut.push_back(cut);
    made.alpha.push_back(alpha);
    start = alpha;
  }
  return made;
}

LongRows Long(const Rows& rows) {
  LongRows all;
  for (const auto& row : rows) all.emplace_back(row.begin(), row.end());
  return all;
}

// This runs the band on p in f64, and compares its rows and its report with the
// definition. It gives false where the band was too wide.
bool HoldCertificate(const Rows& p, double bound, EndPolicy end,
                     const std::string& name) {
  SCOPED_TRACE(name);
  const auto U = static_cast<Index>(p.size());
  const auto T = static_cast<Index>(p[0].size());
  TableSource<double> source(p);
  BandedSelection<double> selection(end, bound);
  Band<double> band;
  const bool fits = selection.Forward(U, T, {}, source, band);
  EXPECT_EQ(band.report.energies, static_cast<double>(source.evaluated()));
  EXPECT_LE(band.report.energies,
            kMostBandShare * static_cast<double>(T) * static_cast<double>(U));
  EXPECT_EQ(band.report.dense, !fits);
  if (!fits) return false;
  const Expected exact = Exact(Long(p), end);
  const Expected on_band = Exact(Long(p), end, &band.rows);
  constexpr double kRounding = 1e-13;
  double certificate = 0;
  for (Index i = 0; i < U; ++i) {
    LongRow found(Size(T), 0);
    for (const BandSegment& part : band.rows.Row(i)) {
      for (std::size_t n = 0; n < part.size(); ++n) {
        found[Size(part.begin) + n] = band.alpha[part.at + n];
      }
    }
    long double error = 0;
    for (std::size_t j = 0; j < found.size(); ++j) {
      EXPECT_LE(found[j], exact.alpha[Size(i)][j] + kRounding);
      EXPECT_NEAR(static_cast<double>(found[j]),
                  static_cast<double>(on_band.alpha[Size(i)][j]), kRounding);
      error += std::abs(exact.alpha[Size(i)][j] - found[j]);
    }
    certificate += static_cast<double>(on_band.cut[Size(i)]);
    EXPECT_NEAR(band.report.mass_cut[Size(i)], certificate, kRounding);
    EXPECT_LE(static_cast<double>(error),
              band.report.mass_cut[Size(i)] + kRounding);
    // Earlier rows leave the later ones their shares.
    EXPECT_LE(band.report.mass_cut[Size(i)], bound);
  }
  return true;
}

// p as of `symbols`: sharp at entries that have what an output looks for.
Rows SharpP(std::size_t U, std::size_t T, double sharpness, double background,
            double noise, std::mt19937& generator) {
  std::uniform_int_distribution<std::size_t> symbol(0, T / U);
  std::normal_distribution<double> normal(0, noise);
  std::vector<std::size_t> of_entry(T);
  for (std::size_t& one : of_entry) one = symbol(generator);
  Rows p(U, std::vector<double>(T));
  for (auto& row : p) {
    const std::size_t wanted = symbol(generator);
    for (std::size_t j = 0; j < T; ++j) {
      const double e = of_entry[j] == wanted ? sharpness : -background;
      row[j] = 1 / (1 + std::exp(-e - normal(generator)));
    }
  }
  return p;
}

TEST(Banded, ItsCertificateHoldsOnAThousandDraws) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  int fitting = 0;
  for (int draw = 0; draw < 1000; ++draw) {
    const auto U = static_cast<std::size_t>(1 + 20 * uniform(generator));
    const auto T = static_cast<std::size_t>(100 + 500 * uniform(generator));
    const Rows p =
        SharpP(U, T, 2 + 18 * uniform(generator), 2 + 18 * uniform(generator),
               uniform(generator) < 0.5 ? 0 : 1, generator);
    const double bound = std::pow(10, -8 * uniform(generator));
    const EndPolicy end =
        draw % 2 == 0 ? EndPolicy::kAbsorb : EndPolicy::kStayLast;
    fitting += HoldCertificate(p, bound, end, "draw " + std::to_string(draw));
    if (HasFailure()) return;
  }
  EXPECT_GT(fitting, 400);
}

TEST(Banded, ItsCertificateHoldsWhereDrawsDoNotGo) {
  constexpr std::size_t kU = 8, kT = 400;
  std::mt19937 generator(2);
  Rows far(kU, std::vector<double>(kT, 0));  // mass in two places
  for (auto& row : far) row[300] = 1;
  far[0].assign(kT, 0);
  far[0][1] = 0.5;
  for (std::size_t j = 2; j < 300; ++j) far[0][j] = 0;
  Rows two = far;
  for (std::size_t i = 1; i < kU; ++i) {
    two[i][1] = 1 - 1e-5;
    two[i][300] = 0.999;
    two[i][399] = 1;
  }
  Rows saturated = SharpP(kU, kT, 40, 40, 1, generator);
  Rows zeros = SharpP(kU, kT, 800, 800, 0, generator);  // exactly 0 and 1
  Rows ones(kU, std::vector<double>(kT, 1));
  Rows creeping(kU, std::vector<double>(kT, 1e-4));  // every cut is tempting
  for (auto& row : creeping) row[5] = row[200] = 1 - 1e-6;
  Rows none(kU, std::vector<double>(kT, 0));
  const std::pair<const char*, const Rows&> kCases[] = {
      {"far", far},     {"two", two},   {"saturated", saturated},
      {"zeros", zeros}, {"ones", ones}, {"creeping", creeping},
      {"none", none}};
  for (const auto& [name, p] : kCases) {
    for (const double bound : {1.0, 0.1, 1e-3, 1e-6, kLeastBound}) {
      for (const EndPolicy end : {EndPolicy::kAbsorb, EndPolicy::kStayLast}) {
        HoldCertificate(p, bound, end, name);
      }
    }
  }
  EXPECT_TRUE(HoldCertificate(two, 1e-3, EndPolicy::kAbsorb, "two") ||
              HoldCertificate(two, 1, EndPolicy::kAbsorb, "two"));
  EXPECT_TRUE(HoldCertificate(ones, 1e-6, EndPolicy::kAbsorb, "ones"));
}

// L is linear in every p, so that differences are exact.
TEST(Banded, GradientIsThatOfTheBandedComputation) {
  constexpr Index kU = 20, kT = 400;
  std::mt19937 generator(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (const EndPolicy end : {EndPolicy::kAbsorb, EndPolicy::kStayLast}) {
    const Rows p = SharpP(kU, kT, 6, 6, 1, generator);
    TableSource<double> source(p);
    BandedSelection<double> selection(end, 0.3);
    Band<double> band;
    ASSERT_TRUE(selection.Forward(kU, kT, {}, source, band));
    std::vector<double> d_alpha(band.p.size()), d_p(band.p.size());
    for (double& d : d_alpha) d = uniform(generator);
    std::vector<double> d_start(Size(kT));
    selection.Backward(band, d_alpha, d_p, d_start);
    const auto loss = [&](const LongRows& at) {
      const Expected made = Exact(at, end, &band.rows);
      long double sum = 0;
      for (Index i = 0; i < kU; ++i) {
        for (const BandSegment& part : band.rows.Row(i)) {
          for (std::size_t n = 0; n < part.size(); ++n) {
            sum += d_alpha[part.at + n] *
                   made.alpha[Size(i)][Size(part.begin) + n];
          }
        }
      }
      return sum;
    };
    LongRows at = Long(p);
    for (Index i = 0; i < kU; ++i) {
      for (const BandSegment& part : band.rows.Row(i)) {
        for (std::size_t n = 0; n < part.size(); ++n) {
          long double& x = at[Size(i)][Size(part.begin) + n];
          const long double kept = x;
          x = kept + 0.01L;
          const long double above = loss(at);
          x = kept - 0.01L;
          const long double below = loss(at);
          x = kept;
          EXPECT_NEAR(d_p[part.at + n],
                      static_cast<double>((above - below) / 0.02L), 1e-12);
        }
      }
    }
    EXPECT_NEAR(d_start[0], static_cast<double>(loss(at)), 1e-12);
  }
}

Config ConfigOf(const char* mechanism, const char* variant, double bound,
                Index chunk_width = 5) {
  Config config = DefaultConfig(*FindMechanism<double>(mechanism), 6);
  config.variant = variant;
  config.options["bound"] = bound;
  if (mechanism == std::string("mocha")) {
    config.options["chunk_width"] = chunk_width;
  }
  return config;
}

// Energies of about +-`size`, as a model's that were captured.
template <class Real>
OwnTable<Real> SharpEnergies(Index U, Index T, unsigned seed,
                             double size = 12) {
  std::mt19937 generator(seed);
  Rows e = SharpP(Size(U), Size(T), size, size, 1, generator);
  for (auto& row : e) {
    for (double& x : row) x = std::log(x / (1 - x));
  }
  return OwnTable<Real>(e);
}

template <class Real>
BandReport RunFull(FullScope<Real>& run, const char* mechanism,
                   const char* variant, double bound, EnergyKind energy,
                   const OwnTable<Real>& captured, Index chunk_width = 5) {
  Config config = ConfigOf(mechanism, variant, bound, chunk_width);
  config.energy = energy;
  config.mode = Mode::kGradient;
  run.Clear();
  BandReport report;
  TrainingSequence<Real> one = run.View();
  one.expectation.band = &report;
  one.sequence.inputs.captured.Set("energies", captured.view());
  TrainBatch<Real>(*FindMechanism<Real>(mechanism), config, std::span(&one, 1),
                   1);
  return report;
}

// With a bound so small that nothing is missed every array is that of `exact`:
// contexts, and gradients of memory, states, keys and parameters.
TEST(Banded, OfASmallBoundIsExactInEveryArray) {
  constexpr Index kU = 100, kT = 1500;
  DrawnInputs<double> inputs(kT, kU, 6, 4);
  const OwnTable<double> captured = SharpEnergies<double>(kU, kT, 5);
  for (const char* const mechanism : {"monotonic", "mocha"}) {
    for (const EnergyKind energy : testing::kEnergies) {
      FullScope<double> run(inputs);
      RunFull(run, mechanism, "exact", 1, energy, captured);
      const std::vector<double> exact = run.Everything();
      const BandReport report =
          RunFull(run, mechanism, "banded", 1e-8, energy, captured);
      ASSERT_FALSE(report.dense);
      EXPECT_LT(report.energies, 0.3 * kU * kT);
      EXPECT_EQ(report.chunk_energies > 0, mechanism == std::string("mocha"));
      const std::vector<double> banded = run.Everything();
      ASSERT_EQ(banded.size(), exact.size());
      double largest = 0;
      for (std::size_t n = 0; n < exact.size(); ++n) {
        largest = std::max(largest, std::abs(exact[n]));
        ASSERT_NEAR(banded[n], exact[n], 1e-6) << mechanism << " " << n;
      }
      EXPECT_GT(largest, 0.1);
    }
  }
}

// The certificate is that of what training writes, of beta as of alpha.
TEST(Banded, KeepsItsBoundInBothPrecisions) {
  constexpr Index kU = 20, kT = 2000;
  const auto check = [&](auto real) {
    using Real = decltype(real);
    DrawnInputs<Real> inputs(kT, kU, 6, 6);
    const OwnTable<Real> captured = SharpEnergies<Real>(kU, kT, 7);
    for (const char* const mechanism : {"monotonic", "mocha"}) {
      FullScope<Real> run(inputs);
      RunFull(run, mechanism, "exact", 1, EnergyKind::kAdditive, captured);
      const OwnTable<Real> exact = run.attention;
      for (const double bound : {0.1, 1e-2, 1e-4}) {
        const BandReport report = RunFull(run, mechanism, "banded", bound,
                                          EnergyKind::kAdditive, captured);
        ASSERT_FALSE(report.dense);
        for (Index i = 0; i < kU; ++i) {
          double error = 0;
          for (Index j = 0; j < kT; ++j) {
            error += std::abs(static_cast<double>(exact(i, j)) -
                              static_cast<double>(run.attention(i, j)));
          }
          EXPECT_LE(error, report.mass_cut[Size(i)] + 1e-5) << mechanism;
        }
      }
    }
  };
  check(float{});
  check(double{});
}

TEST(Banded, TakesScoresThatAreGivenAndWhereTheFirstOutputBegins) {
  constexpr Index kU = 6, kT = 300;
  std::mt19937 generator(8);
  const OwnTable<double> p(SharpP(kU, kT, 6, 6, 1, generator));
  const OwnTable<double> d(SharpP(kU, kT, 1, 1, 1, generator));
  std::vector<double> start(Size(kT), 0), d_start(Size(kT));
  start[3] = 0.25;
  start[200] = 0.5;
  std::vector<OwnTable<double>> made;
  for (const char* const variant : {"exact", "banded"}) {
    Config config = ConfigOf("monotonic", variant, 1e-9);
    Sequence<double> sequence;
    sequence.inputs.scores.Set("p_choose", p.view());
    sequence.inputs.start = start;
    OwnTable<double> attention(kU, kT), selection(kU, kT), d_p(kU, kT);
    Gradients<double> gradients;
    gradients.scores.Set("p_choose", d_p.view());
    gradients.start = d_start;
    FindMechanism<double>("monotonic")
        ->Gradient(
            config, sequence, {.attention = d.view(), .selection = d.view()},
            {.attention = attention.view(), .selection = selection.view()},
            gradients);
    OwnTable<double> starts(1, kT);
    std::ranges::copy(d_start, starts.view().Row(0).begin());
    for (const auto& one : {attention, selection, d_p}) made.push_back(one);
    if (variant == std::string("banded")) {
      // Where nothing starts the band need not be.
      EXPECT_NEAR(starts(0, 3), made[3](0, 3), 1e-6);
      EXPECT_NEAR(starts(0, 200), made[3](0, 200), 1e-6);
    } else {
      made.push_back(starts);
    }
  }
  for (std::size_t n = 0; n < 3; ++n) {
    for (Index i = 0; i < kU; ++i) {
      for (Index j = 0; j < kT; ++j) {
        ASSERT_NEAR(made[n](i, j), made[4 + n](i, j), 1e-6) << n;
      }
    }
  }
}

// Cotangents are within 1, so D is 1. Energies are so near 0 that what is cut
// has a gradient: the bound must be near enough to be broken by a wrong one.
TEST(Banded, KeepsTheBoundOfTheGradientOfEnergies) {
  constexpr Index kU = 5, kT = 2000;
  std::mt19937 generator(9);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Config exact = ConfigOf("monotonic", "exact", 1);
  constexpr double kBounds[] = {1e-3, 1e-4, 1e-5};
  std::map<double, double> largest;  // error over its bound, of each bound
  for (unsigned draw = 0; draw < 50; ++draw) {
    const OwnTable<double> e = SharpEnergies<double>(kU, kT, 20 + draw, 4);
    GivenRows rows;
    // Neighbours are worth the same: what is cut is worth the other thing.
    std::vector<double> worth(kT);
    for (std::size_t j = 0; j < worth.size(); ++j) {
      worth[j] = j % 50 > 0 ? worth[j - 1] : uniform(generator) < 0 ? -1 : 1;
    }
    const Rows cotangent(kU, worth);
    for (Index i = 0; i < kU; ++i) {
      const auto row = e.view().Row(i);
      rows.energies.emplace_back(row.begin(), row.end());
    }
    const auto of_exact =
        testing::Train<double>("monotonic", exact, rows, cotangent);
    for (const double bound : kBounds) {
      const auto banded = testing::Train<double>(
          "monotonic", ConfigOf("monotonic", "banded", bound), rows, cotangent);
      for (Index i = 0; i < kU; ++i) {
        for (Index j = 0; j < kT; ++j) {
          const double error =
              std::abs(banded.d_choice(i, j) - of_exact.d_choice(i, j));
          ASSERT_LE(error, 1.5 * bound * kU);
          largest[bound] = std::max(largest[bound], error / (1.5 * bound * kU));
        }
      }
    }
  }
  for (const double bound : kBounds) EXPECT_GT(largest[bound], 0.01) << bound;
}

TEST(Banded, IsExactWhereTheBandWouldBeTooWide) {
  DrawnInputs<float> inputs(200, 10, 6, 9);
  const OwnTable<float> diffuse(Rows(10, std::vector<double>(200, -6)));
  for (const char* const mechanism : {"monotonic", "mocha"}) {
    FullScope<float> run(inputs);
    RunFull(run, mechanism, "exact", 1, EnergyKind::kDot, diffuse);
    const std::vector<float> exact = run.Everything();
    const BandReport report =
        RunFull(run, mechanism, "banded", 1e-6, EnergyKind::kDot, diffuse);
    EXPECT_TRUE(report.dense);
    EXPECT_EQ(report.mass_cut, std::vector<double>(10, 0));
    EXPECT_GT(report.energies, 2000) << "those in vain are counted";
    EXPECT_EQ(run.Everything(), exact) << mechanism;
  }
}

// Outputs choose near the end: their band is narrow, but chunks that reach back
// to the first entry have nearly all pairs.
TEST(Banded, IsExactWhereChunksWouldHaveTooManyEnergies) {
  constexpr Index kU = 20, kT = 400;
  DrawnInputs<float> inputs(kT, kU, 6, 9);
  Rows late(kU, std::vector<double>(kT, -20));
  for (auto& row : late) row[kT - 10] = 20;
  const OwnTable<float> captured(late);
  FullScope<float> run(inputs);
  const auto banded = [&](Index chunk_width) {
    return RunFull(run, "mocha", "banded", 1e-3, EnergyKind::kDot, captured,
                   chunk_width);
  };
  EXPECT_FALSE(banded(5).dense);
  RunFull(run, "mocha", "exact", 1, EnergyKind::kDot, captured, kT);
  const std::vector<float> exact = run.Everything();
  const BandReport report = banded(kT);
  EXPECT_TRUE(report.dense);
  EXPECT_EQ(report.mass_cut, std::vector<double>(kU, 0));
  EXPECT_EQ(report.chunk_energies, kU * kT);
  EXPECT_EQ(run.Everything(), exact);
}

TEST(Banded, SaysThatItNeverReachesTheEnd) {
  Rows p(8, std::vector<double>(400, 0.5));
  for (auto& row : p) row[7] = 1;
  TableSource<double> source(p);
  BandedSelection<double> selection(EndPolicy::kAbsorb, 1e-3);
  Band<double> band;
  ASSERT_TRUE(selection.Forward(8, 400, {}, source, band));
  EXPECT_EQ(band.report.reach, 8);
}

TEST(Banded, CannotRestart) {
  EXPECT_THROW(BandedSelection<double>(EndPolicy::kRestart, 1e-3), Unsupported);
}

TEST(Banded, CountsTheEnergiesOfTheBand) {
  Config config = ConfigOf("mocha", "banded", 1e-3);
  config.mode = Mode::kExpect;
  const std::vector<StepTrace> steps(5);
  const BandReport band{.mass_cut = {}, .energies = 70, .chunk_energies = 90};
  const Operations counted = FindMechanism<float>("mocha")->Count(
      config, {.memory_length = 100, .steps = steps, .band = &band});
  EXPECT_EQ(counted.energies, 70);
  EXPECT_EQ(counted.chunk_energies, 90);
  // Two dot products, a context of 2 d, 10 for alpha and p, and 9 for beta.
  EXPECT_EQ(counted.flops, 70 * (2 * 6 + 10) + 90 * (2 * 6 + 2 * 6 + 9));
}

// A pair of additive energies that is not in the band costs nothing backwards,
// but under dot all pairs are one product.
TEST(Banded, CountsTheGradientsOfTheBand) {
  const std::vector<StepTrace> steps(5);
  const auto count = [&](EnergyKind energy, double energies) {
    Config config = ConfigOf("monotonic", "banded", 1e-3);
    config.energy = energy;
    config.mode = Mode::kGradient;
    const BandReport band{.mass_cut = {}, .energies = energies};
    return FindMechanism<float>("monotonic")
        ->Count(config, {.memory_length = 100, .steps = steps, .band = &band});
  };
  const auto of_ten = [&](EnergyKind energy) {
    Operations more = count(energy, 80);
    const Operations less = count(energy, 70);
    more.flops -= less.flops;
    more.memory_rows -= less.memory_rows;
    return more;
  };
  // Forwards an energy takes what its function says, a context 2 d, and alpha
  // and p 10; backwards contexts take 4 d, and alpha and p 8.
  const auto flops = [](double energy) {
    return 10 * (energy + 2 * 6 + 10 + 4 * 6 + 8);
  };
  EXPECT_EQ(of_ten(EnergyKind::kDot).flops, flops(2 * 6));
  EXPECT_EQ(of_ten(EnergyKind::kDot).memory_rows, 10);
  EXPECT_EQ(of_ten(EnergyKind::kAdditive).flops, flops(5 * 6 + 9 * 6));
  EXPECT_EQ(of_ten(EnergyKind::kAdditive).memory_rows, 10 + 10);
}

}  // namespace
}  // namespace attnbench
