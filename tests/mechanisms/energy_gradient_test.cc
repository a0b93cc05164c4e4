// Guards against a wrong or dropped term in the gradients of the energy
// functions: a transposed matrix, v normalised but not its gradient, g or r
// forgotten or given to the wrong role, and gradients written where they are to
// be added.
#include "mechanisms/energy/energy_gradient.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/drawn_inputs.h"
#include "tests/support/finite_difference.h"

namespace attnbench {
namespace {

using testing::Differentiated;
using testing::DrawnInputs;
using testing::ExpectClose;
using testing::Padded;

constexpr EnergyKind kAllEnergies[] = {
    EnergyKind::kDot, EnergyKind::kBilinear, EnergyKind::kAdditive,
    EnergyKind::kNormalizedAdditive, EnergyKind::kScaledBilinear};
constexpr EnergyRole kRoles[] = {EnergyRole::kAttention, EnergyRole::kChunk};

std::string Trace(EnergyKind kind, EnergyRole role) {
  return "energy " + std::to_string(static_cast<int>(kind)) + " role " +
         std::to_string(static_cast<int>(role));
}

Config ConfigOf(EnergyKind kind, Index dim) {
  Config config;
  config.dim = dim;
  config.energy = kind;
  config.options["keys"] = std::string("precomputed");
  return config;
}

// The loss sum of G(i, j) e(i, j), everything it depends on, and its gradient.
// Arrays that are added to hold kStart at first.
template <class Real>
class Problem {
 public:
  static constexpr Real kStart = Real{0.5};

  Problem(EnergyKind kind, EnergyRole role, Index T, Index U, Index d)
      : config_(ConfigOf(kind, d)),
        role_(role),
        inputs_(T, U, d, 5),
        cotangent_(T, 1, U, 6),
        d_states_(U, d, kStart),
        d_chunk_states_(U, d, kStart),
        d_memory_(T, d, kStart),
        d_chunk_keys_(T, d, kStart) {
    for (Real& h : inputs_.memory) h *= Real{1.5};
    // Some weights are 0, and one output has no others.
    for (std::size_t n = 0; n < cotangent_.memory.size(); ++n) {
      if (n % 3 == 1 || n < Size(T)) cotangent_.memory[n] = 0;
    }
  }

  Sequence<Real> View() {
    Sequence<Real> sequence = inputs_.View();
    sequence.inputs.energy_scale = scale_;
    sequence.inputs.energy_bias = bias_;
    return sequence;
  }

  double Loss() {
    const Sequence<Real> sequence = View();
    const auto energy =
        MakeEnergy(config_, sequence.inputs, role_, EnergyUse::kMany);
    energy->Append(sequence.memory);
    std::vector<Real> energies(cotangent_.memory.size());
    energy->EvaluateAll(inputs_.states,
                        {energies.data(), inputs_.U, inputs_.T});
    double sum = 0;
    for (std::size_t n = 0; n < energies.size(); ++n) {
      sum += static_cast<double>(cotangent_.memory[n] * energies[n]);
    }
    return sum;
  }

  Gradients<Real> Wanted() {
    Gradients<Real> wanted;
    wanted.states = d_states_.View();
    wanted.further.Set("chunk_states", d_chunk_states_.View());
    wanted.memory = d_memory_.View();
    wanted.further.Set("chunk_keys", d_chunk_keys_.View());
    wanted.parameters = &d_parameters_;
    return wanted;
  }

  void Run() { Run(View(), Wanted()); }
  void Run(const Sequence<Real>& sequence, const Gradients<Real>& wanted) {
    AddEnergyGradient(config_, sequence, role_, G(), wanted);
  }
  void RunReference() {
    const std::vector<Wider<Real>> wide(cotangent_.memory.begin(),
                                        cotangent_.memory.end());
    AddReferenceEnergyGradient<Real>(
        config_, View(), role_, {wide.data(), inputs_.U, inputs_.T}, Wanted());
  }

  // The sums that were added, by name.
  std::map<std::string, std::vector<Real>> Added() {
    std::map<std::string, std::vector<Real>> added = {
        {"states", d_states_.Rows()},
        {"chunk_states", d_chunk_states_.Rows()},
        {"memory", d_memory_.Rows()},
        {"chunk_keys", d_chunk_keys_.Rows()}};
    for (auto& [name, values] : added) {
      for (Real& x : values) x -= kStart;
    }
    for (const auto& [name, values] : d_parameters_.arrays()) {
      added[name].assign(values.begin(), values.end());
    }
    return added;
  }

  // The values behind a name of Added.
  std::span<Real> Values(const std::string& name) {
    if (name == "states") return inputs_.states;
    if (name == "chunk_states") return inputs_.chunk_states;
    if (name == "memory") return inputs_.memory;
    if (name == "chunk_keys") return inputs_.chunk_keys;
    if (name.ends_with(".g")) return {&scale_, 1};
    if (name.ends_with(".r")) return {&bias_, 1};
    const bool square = name.ends_with("W") || name.ends_with("V");
    const auto view =
        inputs_.parameters.Matrix(name, square ? config_.dim : 1, config_.dim);
    // The array is not const, so a derivative may move it.
    return {const_cast<Real*>(view.data), Size(view.rows * view.cols)};
  }

  MatrixView<const Real> G() const {
    return {cotangent_.memory.data(), inputs_.U, inputs_.T};
  }
  bool PaddingIsUntouched() const {
    return d_states_.PaddingIsUntouched() && d_memory_.PaddingIsUntouched() &&
           d_chunk_states_.PaddingIsUntouched() &&
           d_chunk_keys_.PaddingIsUntouched();
  }
  DrawnInputs<Real>& inputs() { return inputs_; }
  ParameterGradients<Real>& d_parameters() { return d_parameters_; }
  void set_scale(Real scale) { scale_ = scale; }

 private:
  const Config config_;
  const EnergyRole role_;
  DrawnInputs<Real> inputs_;
  DrawnInputs<Real> cotangent_;  // its memory [T, U] holds G
  Padded<Real> d_states_, d_chunk_states_, d_memory_, d_chunk_keys_;
  ParameterGradients<Real> d_parameters_;
  Real scale_ = Real{0.75};
  Real bias_ = Real{-0.25};
};

// Runs `body` for every energy and role.
template <class Body>
void ForAll(const Body& body) {
  for (const EnergyKind kind : kAllEnergies) {
    for (const EnergyRole role : kRoles) {
      SCOPED_TRACE(Trace(kind, role));
      body(kind, role);
    }
  }
}

std::vector<Differentiated> AllInputs(
    Problem<double>& problem,
    const std::map<std::string, std::vector<double>>& added) {
  std::vector<Differentiated> inputs;
  for (const auto& [name, gradient] : added) {
    inputs.push_back({name, problem.Values(name), gradient});
  }
  return inputs;
}

TEST(EnergyGradientTest, EveryElementIsTheDerivative) {
  ForAll([](EnergyKind kind, EnergyRole role) {
    Problem<double> problem(kind, role, 5, 4, 3);
    problem.Run();
    const auto added = problem.Added();
    for (const Differentiated& input : AllInputs(problem, added)) {
      ExpectDerivatives(input, [&] { return problem.Loss(); });
    }
  });
}

TEST(EnergyGradientTest, ADirectionThroughALargeProblemIsTheDerivative) {
  ForAll([](EnergyKind kind, EnergyRole role) {
    Problem<double> problem(kind, role, 40, 30, 64);
    problem.Run();
    const auto added = problem.Added();
    ExpectDirectionalDerivative(AllInputs(problem, added),
                                [&] { return problem.Loss(); });
  });
}

TEST(EnergyGradientTest, EveryParameterOfTheEnergyHasAGradient) {
  const std::map<EnergyKind, std::set<std::string>> names = {
      {EnergyKind::kDot, {}},
      {EnergyKind::kBilinear, {"W"}},
      {EnergyKind::kAdditive, {"W", "V", "b", "v"}},
      {EnergyKind::kNormalizedAdditive, {"W", "V", "b", "v", "g"}},
      {EnergyKind::kScaledBilinear, {"W", "g"}}};
  ForAll([&](EnergyKind kind, EnergyRole role) {
    const bool choice = role == EnergyRole::kAttention;
    std::set<std::string> expected;
    for (const std::string& name : names.at(kind)) {
      expected.insert((choice ? "attention." : "chunk.") + name);
    }
    if (choice) expected.insert("attention.r");
    for (const bool reference : {false, true}) {
      Problem<double> problem(kind, role, 3, 2, 2);
      reference ? problem.RunReference() : problem.Run();
      std::set<std::string> actual;
      for (const auto& [name, values] : problem.d_parameters().arrays()) {
        actual.insert(name);
      }
      EXPECT_EQ(actual, expected);
    }
  });
}

TEST(EnergyGradientTest, GradientsOfParametersAreAddedUp) {
  ForAll([](EnergyKind kind, EnergyRole role) {
    Problem<double> once(kind, role, 4, 3, 5), twice(kind, role, 4, 3, 5);
    once.Run();
    twice.Run();
    twice.Run();
    for (auto [name, values] : once.Added()) {
      for (double& x : values) x *= 2;
      ExpectClose<double>(twice.Added().at(name), values, 1e-13, name);
    }
  });
}

template <class Real>
class EnergyGradientOf : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(EnergyGradientOf, Precisions);

// One of the shapes is below the sizes at which matrix products change their
// algorithm, the other above.
TYPED_TEST(EnergyGradientOf, AgreesWithItsReference) {
  using Real = TypeParam;
  const double tolerance = std::is_same_v<Real, float> ? 1e-5 : 1e-13;
  for (const bool large : {false, true}) {
    ForAll([&](EnergyKind kind, EnergyRole role) {
      const Index T = large ? 37 : 3, U = large ? 29 : 4, d = large ? 33 : 2;
      Problem<Real> problem(kind, role, T, U, d);
      Problem<Real> reference(kind, role, T, U, d);
      problem.Run();
      reference.RunReference();
      const auto expected = reference.Added();
      const auto actual = problem.Added();
      EXPECT_EQ(actual.size(), expected.size());
      for (const auto& [name, values] : expected) {
        ExpectClose<Real>(actual.at(name), values, tolerance, name);
      }
    });
  }
}

// d = 1 makes vectors of the matrices, with a stride between their elements.
TYPED_TEST(EnergyGradientOf, ReadsAndWritesNoPadding) {
  using Real = TypeParam;
  for (const Index d : {1, 6}) {
    ForAll([&](EnergyKind kind, EnergyRole role) {
      Problem<Real> dense(kind, role, 9, 7, d), strided(kind, role, 9, 7, d);
      dense.Run();
      Sequence<Real> sequence = strided.View();
      Padded<Real> memory(sequence.memory);
      NamedViews<const Real>& further = sequence.inputs.further;
      Padded<Real> chunk_keys(further.Find("chunk_keys"));
      Padded<Real> states(sequence.states);
      Padded<Real> chunk_states(further.Find("chunk_states"));
      Padded<Real> G(strided.G());
      sequence.memory = memory.View();
      further.Set("chunk_keys", chunk_keys.View());
      sequence.states = states.View();
      further.Set("chunk_states", chunk_states.View());
      AddEnergyGradient<Real>(ConfigOf(kind, d), sequence, role, G.View(),
                              strided.Wanted());
      EXPECT_TRUE(strided.PaddingIsUntouched());
      const auto expected = dense.Added();
      for (const auto& [name, values] : strided.Added()) {
        // v/|v| of one number is constant, so this is rounding.
        if (d == 1 && name.ends_with(".v")) continue;
        ExpectClose<Real>(values, expected.at(name), 1e-5, name);
      }
    });
  }
}

TYPED_TEST(EnergyGradientOf, WhatIsNotWantedIsNotNeeded) {
  using Real = TypeParam;
  ForAll([](EnergyKind kind, EnergyRole role) {
    Problem<Real> all(kind, role, 5, 4, 3), some(kind, role, 5, 4, 3);
    all.Run();
    Gradients<Real> wanted;
    wanted.memory = some.Wanted().memory;
    wanted.further.Set("chunk_keys", some.Wanted().further.Find("chunk_keys"));
    some.Run(some.View(), wanted);
    EXPECT_EQ(some.Added().at("memory"), all.Added().at("memory"));
    EXPECT_EQ(some.Added().at("chunk_keys"), all.Added().at("chunk_keys"));
    EXPECT_TRUE(some.d_parameters().arrays().empty());
  });
}

TYPED_TEST(EnergyGradientOf, NothingIsAddedWhereThereAreNoEntries) {
  using Real = TypeParam;
  ForAll([](EnergyKind kind, EnergyRole role) {
    for (const Index T : {0, 3}) {
      Problem<Real> problem(kind, role, T, 3 - T, 4);
      problem.Run();
      problem.RunReference();
      for (const auto& [name, values] : problem.Added()) {
        for (const Real x : values) EXPECT_EQ(x, 0) << name;
      }
    }
  });
}

// Energies and their reference agree whether g is given or left at its start.
TYPED_TEST(EnergyGradientOf, TheScaleIsOfScaledEnergiesAndStartsAtRootOfD) {
  using Real = TypeParam;
  ForAll([](EnergyKind kind, EnergyRole role) {
    constexpr Index kDim = 9;
    const auto evaluate = [&](Real scale, bool reference) {
      Problem<Real> problem(kind, role, 1, 1, kDim);
      problem.set_scale(scale);
      Sequence<Real> sequence = problem.View();
      sequence.inputs.energy_bias = 0;
      const Config config = ConfigOf(kind, kDim);
      const std::span<const Real> state = sequence.states.Row(0);
      if (reference) {
        const ReferenceEnergy<Real> energy(config, sequence.inputs, role);
        return static_cast<double>(
            energy(0, 0, state, sequence.memory.Row(0)).value);
      }
      const auto energy =
          MakeEnergy(config, sequence.inputs, role, EnergyUse::kMany);
      energy->Append(sequence.memory);
      energy->SetState(0, state);
      Real e = 0;
      energy->Evaluate(0, 1, &e);
      return static_cast<double>(e);
    };
    const bool scaled = kind == EnergyKind::kNormalizedAdditive ||
                        kind == EnergyKind::kScaledBilinear;
    for (const bool reference : {false, true}) {
      const double start = evaluate(0, reference);
      const double tolerance = 1e-5 * std::abs(start);
      EXPECT_NEAR(evaluate(Real{1} / 3, reference), start, tolerance);
      EXPECT_NEAR(evaluate(Real{2}, reference), scaled ? 6 * start : start,
                  6 * tolerance);
    }
  });
}

// Squares of v overflow or underflow; the energies are those of its direction.
TYPED_TEST(EnergyGradientOf,
           AVOfAnySizeGivesEnergiesAndGradientsOfItsDirection) {
  using Real = TypeParam;
  constexpr bool kIsSingle = std::is_same_v<Real, float>;
  for (const EnergyRole role : {EnergyRole::kAttention, EnergyRole::kChunk}) {
    const std::string v = ParameterPrefix(role) + "v";
    const auto make = [&](int exponent, bool reference) {
      Problem<Real> problem(EnergyKind::kNormalizedAdditive, role, 5, 3, 6);
      for (Real& x : problem.Values(v)) x = std::ldexp(x, exponent);
      if (reference) {
        problem.RunReference();
      } else {
        problem.Run();
      }
      auto added = problem.Added();
      for (Real& x : added[v]) x = std::ldexp(x, exponent);
      added["loss"] = {static_cast<Real>(problem.Loss())};
      return added;
    };
    for (const bool reference : {false, true}) {
      const auto expected = make(0, reference);
      for (const int exponent : {-74, 67, -566, 566}) {
        if (kIsSingle && std::abs(exponent) > 100) continue;
        const auto found = make(exponent, reference);
        for (const auto& [name, values] : expected) {
          for (std::size_t n = 0; n < values.size(); ++n) {
            EXPECT_NEAR(found.at(name)[n], values[n], 1e-5) << name << exponent;
          }
        }
      }
    }
  }
}

TYPED_TEST(EnergyGradientOf, AVOf0GivesEnergiesOfRAndFiniteGradients) {
  using Real = TypeParam;
  for (const bool reference : {false, true}) {
    Problem<Real> problem(EnergyKind::kNormalizedAdditive,
                          EnergyRole::kAttention, 2, 2, 6);
    for (Real& x : problem.Values("attention.v")) x = 0;
    const Sequence<Real> sequence = problem.View();
    const ReferenceEnergy<Real> energy(
        ConfigOf(EnergyKind::kNormalizedAdditive, 6), sequence.inputs,
        EnergyRole::kAttention);
    EXPECT_EQ(
        energy(0, 0, sequence.states.Row(0), sequence.memory.Row(0)).value,
        Real{-0.25});
    double sum = 0;
    for (Index i = 0; i < 2; ++i) {
      for (const Real g : problem.G().Row(i)) sum += static_cast<double>(g);
    }
    EXPECT_NE(sum, 0);
    EXPECT_NEAR(problem.Loss(), -0.25 * sum, 1e-6);
    if (reference) {
      problem.RunReference();
    } else {
      problem.Run();
    }
    for (const auto& [name, values] : problem.Added()) {
      for (const Real x : values) EXPECT_TRUE(std::isfinite(x)) << name;
    }
  }
}

// The sizes are T = 3, U = 2, d = 5.
TEST(EnergyGradientTest, CountsItsProducts) {
  const auto count = [](EnergyKind kind) {
    // One of the 6 pairs has no derivative, which saves no product of matrices.
    return EnergyGradientFlops(ConfigOf(kind, 5), 3, 2, 5);
  };
  EXPECT_EQ(count(EnergyKind::kDot), 4 * 30);
  EXPECT_EQ(count(EnergyKind::kBilinear), 4 * 30 + 25 * (4 * 2 + 2 * 3));
  EXPECT_EQ(count(EnergyKind::kScaledBilinear), count(EnergyKind::kBilinear));
  EXPECT_EQ(count(EnergyKind::kAdditive),
            9 * 25 + 6 * 25 * (2 + 3) + 5 * (6 + 15));
  EXPECT_EQ(count(EnergyKind::kNormalizedAdditive),
            count(EnergyKind::kAdditive));
}

}  // namespace
}  // namespace attnbench
