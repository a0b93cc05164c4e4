// Guards against a bias in the wrong place, and schedules, energies or keys
// that compute something else than the reference of the online schedule.
#include "mechanisms/energy/energy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/drawn_inputs.h"
#include "tests/support/given_inputs.h"

namespace attnbench {
namespace {

using testing::DecodeKeepingSteps;
using testing::DefaultConfig;
using testing::DrawnInputs;
using testing::GivenInputs;

constexpr EnergyKind kAllEnergies[] = {
    EnergyKind::kDot, EnergyKind::kBilinear, EnergyKind::kAdditive,
    EnergyKind::kNormalizedAdditive, EnergyKind::kScaledBilinear};

template <class Real>
constexpr double kTolerance = std::is_same_v<Real, float> ? 3e-5 : 1e-12;

template <class Real>
void ExpectNear(const std::vector<Real>& actual,
                const std::vector<Real>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t n = 0; n < actual.size(); ++n) {
    const double error = std::abs(static_cast<double>(actual[n]) -
                                  static_cast<double>(expected[n]));
    if (!(error <= kTolerance<Real>)) {
      FAIL() << "[" << n << "] is " << actual[n] << ", not " << expected[n];
    }
  }
}

template <class Real>
class EnergyTest : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(EnergyTest, Precisions);

// Decodes `actual` and `reference` with their own configs and compares.
template <class Real>
void ExpectAgreement(const Mechanism<Real>& mechanism, const Config& config,
                     Config reference_config, Real bias) {
  DrawnInputs<Real> actual(19, 11, 6, 4), expected(19, 11, 6, 4);
  Sequence<Real> sequence = actual.View(), reference = expected.View();
  sequence.inputs.energy_bias = reference.inputs.energy_bias = bias;
  const auto steps = DecodeKeepingSteps(mechanism, config, sequence);
  std::vector<Index> positions;
  if (config.schedule == Schedule::kOnline) {
    for (const auto& step : steps) positions.push_back(step.position);
  }
  reference_config.variant = "reference";
  const auto reference_steps =
      DecodeKeepingSteps(mechanism, reference_config, reference, positions);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].position, reference_steps[i].position);
    EXPECT_EQ(steps[i].inspected, reference_steps[i].inspected);
    ExpectNear(steps[i].weights, reference_steps[i].weights);
  }
  ExpectNear(actual.contexts, expected.contexts);
}

TYPED_TEST(EnergyTest, TheBiasIsAddedToEveryEnergyOfTheChoice) {
  using Real = TypeParam;
  const Mechanism<Real>& mechanism = *FindMechanism<Real>("mocha");
  for (const EnergyKind energy : kAllEnergies) {
    for (const std::string keys : {"precomputed", "on_demand"}) {
      for (const double bias : {-0.7, -0.2, 0.4}) {
        SCOPED_TRACE(keys + " " + std::to_string(static_cast<int>(energy)) +
                     " " + std::to_string(bias));
        Config config = DefaultConfig(mechanism, 6);
        config.energy = energy;
        config.options["keys"] = keys;
        config.want_weights = true;
        ExpectAgreement(mechanism, config, config, static_cast<Real>(bias));
      }
    }
  }
}

// A softmax does not notice a bias until it swallows the energies' last digits.
TYPED_TEST(EnergyTest, TheBiasIsNotAddedToChunkEnergies) {
  using Real = TypeParam;
  const Real swallows = 1 / std::numeric_limits<Real>::epsilon();
  for (const char* name : {"mocha", "matcha"}) {
    const Mechanism<Real>& mechanism = *FindMechanism<Real>(name);
    for (const EnergyKind energy : kAllEnergies) {
      Config config = DefaultConfig(mechanism, 6);
      config.energy = energy;
      config.end = EndPolicy::kStayLast;  // a chunk, though nothing is chosen
      config.want_weights = true;
      ExpectAgreement(mechanism, config, config, Real{-1} * swallows);
    }
  }
}

TYPED_TEST(EnergyTest, TeacherForcedSoftAttentionIsThatOfTheOnlineReference) {
  using Real = TypeParam;
  const Mechanism<Real>& mechanism = *FindMechanism<Real>("soft");
  for (const EnergyKind energy : kAllEnergies) {
    for (const std::string keys : {"precomputed", "on_demand"}) {
      for (const double bias : {0.0, -0.5}) {
        SCOPED_TRACE(keys + " " + std::to_string(static_cast<int>(energy)));
        Config online = DefaultConfig(mechanism, 6);
        online.energy = energy;
        online.options["keys"] = keys;
        online.want_weights = true;
        Config config = online;
        config.schedule = Schedule::kTeacherForced;
        ExpectAgreement(mechanism, config, online, static_cast<Real>(bias));
      }
    }
  }
}

// Soft attention cannot tell: a softmax ignores a shift.
TYPED_TEST(EnergyTest, AllEnergiesAtOnceAreThoseOneByOneBiasIncluded) {
  using Real = TypeParam;
  const Mechanism<Real>& soft = *FindMechanism<Real>("soft");
  for (const EnergyKind kind : kAllEnergies) {
    DrawnInputs<Real> inputs(9, 5, 6, 3);
    Sequence<Real> sequence = inputs.View();
    sequence.inputs.energy_bias = Real{-1.5};
    Config config = DefaultConfig(soft, 6);
    config.energy = kind;
    for (const EnergyUse use : {EnergyUse::kFew, EnergyUse::kMany}) {
      const auto energy =
          MakeEnergy(config, sequence.inputs, EnergyRole::kAttention, use);
      energy->Append(sequence.memory);
      std::vector<Real> all(5 * 9), one_by_one(5 * 9);
      energy->EvaluateAll(inputs.states, {all.data(), 5, 9});
      for (Index i = 0; i < 5; ++i) {
        energy->SetState(i, sequence.states.Row(i));
        energy->Evaluate(0, 9, &one_by_one[Size(9 * i)]);
      }
      ExpectNear(all, one_by_one);
    }
  }
}

// Entries 2 and 5 are so large that exp of twice their keys is no number, and
// so is the state of output 1.
TYPED_TEST(EnergyTest, KeysWithoutFactorsTakeTheirTanhInAnyPieces) {
  using Real = TypeParam;
  const Mechanism<Real>& soft = *FindMechanism<Real>("soft");
  for (const EnergyKind kind :
       {EnergyKind::kAdditive, EnergyKind::kNormalizedAdditive}) {
    DrawnInputs<Real> inputs(9, 5, 6, 3);
    for (const Index j : {2, 5}) {
      for (Index k = 0; k < 6; ++k) inputs.memory[Size(6 * j + k)] *= 1000;
    }
    for (Index k = 0; k < 6; ++k) inputs.states[Size(6 + k)] *= 1000;
    const Sequence<Real> sequence = inputs.View();
    Config config = DefaultConfig(soft, 6);
    config.energy = kind;
    const auto energies = [&](EnergyUse use, Index piece) {
      const auto energy =
          MakeEnergy(config, sequence.inputs, EnergyRole::kAttention, use);
      for (Index j = 0; j < 9; j += piece) {
        energy->Append(sequence.memory.Rows(j, std::min(piece, 9 - j)));
      }
      std::vector<Real> made(5 * 9);
      energy->SetStates(5, inputs.states);
      for (Index i = 0; i < 5; ++i) {
        energy->UseState(i, i);
        energy->Evaluate(0, 9, &made[Size(9 * i)]);
      }
      return made;
    };
    // The projections of keys round by how many there are.
    for (const Index piece : {9, 4, 1}) {
      ExpectNear(energies(EnergyUse::kMany, piece),
                 energies(EnergyUse::kFew, piece));
    }
  }
}

TYPED_TEST(EnergyTest, ALargeVTakesItsTanhForEveryEnergy) {
  using Real = TypeParam;
  const Mechanism<Real>& soft = *FindMechanism<Real>("soft");
  DrawnInputs<Real> inputs(9, 1, 6, 3);
  for (Real& x : inputs.memory) x *= 30;
  Sequence<Real> sequence = inputs.View();
  sequence.inputs.energy_scale =
      static_cast<Real>(std::is_same_v<Real, float> ? 1e30 : 1e160);
  Config config = DefaultConfig(soft, 6);
  config.energy = EnergyKind::kNormalizedAdditive;
  const auto energies = [&](EnergyUse use) {
    const auto energy =
        MakeEnergy(config, sequence.inputs, EnergyRole::kAttention, use);
    energy->Append(sequence.memory);
    std::vector<Real> made(9);
    energy->SetState(0, inputs.states);
    energy->Evaluate(0, 9, made.data());
    return made;
  };
  EXPECT_EQ(energies(EnergyUse::kMany), energies(EnergyUse::kFew));
}

TYPED_TEST(EnergyTest, SoftAttentionRefusesProbabilities) {
  using Real = TypeParam;
  const Mechanism<Real>& soft = *FindMechanism<Real>("soft");
  const std::vector<Real> p = {0.5, 0.5};
  SequenceInputs<Real> inputs;
  inputs.scores.Set("p_choose", {p.data(), 1, 2});
  for (const char* variant : {"exact", "reference"}) {
    Config config = DefaultConfig(soft, 0);
    config.variant = variant;
    EXPECT_THROW(soft.MakeDecoder(config, inputs), Unsupported);
  }
}

TYPED_TEST(EnergyTest, AMaximumLengthBelowTheLengthIsRefusedWithoutEncodings) {
  using Real = TypeParam;
  const Mechanism<Real>& memory = *FindMechanism<Real>("memory");
  DrawnInputs<Real> inputs(5, 1, 2, 1);
  Config config = DefaultConfig(memory, 2);
  config.options["max_length"] = std::int64_t{4};
  for (const char* variant : {"exact", "reference"}) {
    config.variant = variant;
    const auto decoder = memory.MakeDecoder(config, inputs.View().inputs);
    decoder->Append(inputs.View().memory);
    EXPECT_THROW(decoder->Close(), Unsupported) << variant;
  }
}

TYPED_TEST(EnergyTest, TeacherForcedSoftAttentionTakesGivenEnergies) {
  using Real = TypeParam;
  const Mechanism<Real>& mechanism = *FindMechanism<Real>("soft");
  GivenInputs<Real> inputs({.energies = {{0, 0}, {1e4, -1e4}, {-1e4, -1e4}}});
  Config config = DefaultConfig(mechanism, inputs.dim());
  config.schedule = Schedule::kTeacherForced;
  DecodeKeepingSteps(mechanism, config, inputs.View());
  EXPECT_EQ(inputs.context(0, 0), Real(0.5));
  EXPECT_EQ(inputs.context(1, 0), 1);
  EXPECT_EQ(inputs.context(1, 1), 0);
  EXPECT_EQ(inputs.context(2, 1), Real(0.5));
}

TYPED_TEST(EnergyTest, TeacherForcedHasNoOtherVariant) {
  const auto& mechanism = *FindMechanism<TypeParam>("soft");
  Config config = DefaultConfig(mechanism, 2);
  config.schedule = Schedule::kTeacherForced;
  config.variant = "reference";
  EXPECT_THROW(mechanism.MakeDecoder(config, {}), Unsupported);
}

TYPED_TEST(EnergyTest, ScoresThatWereNotGivenAreUnsupported) {
  using Real = TypeParam;
  const std::vector<Real> score = {1};
  SequenceInputs<Real> inputs;
  inputs.scores.Set("of nobody", {score.data(), 1, 1});
  for (const Mechanism<Real>* mechanism : Mechanisms<Real>()) {
    EXPECT_THROW(mechanism->MakeDecoder(DefaultConfig(*mechanism, 2), inputs),
                 Unsupported)
        << mechanism->Describe().name;
  }
  GivenInputs<Real> no_chunks({.p_choose = {{1, 0}}});
  for (const char* name : {"mocha", "matcha"}) {
    const Mechanism<Real>& mechanism = *FindMechanism<Real>(name);
    EXPECT_THROW(mechanism.MakeDecoder(DefaultConfig(mechanism, 2),
                                       no_chunks.View().inputs),
                 Unsupported)
        << name;
  }
}

// Gives the sequence energies and chunk energies of a model, as scores or as
// captured ones.
template <class Real>
NamedViews<const Real> TablesOf(const DrawnInputs<Real>& drawn, Index outputs,
                                Index entries) {
  NamedViews<const Real> tables;
  tables.Set(kEnergiesInput.name, {drawn.memory.data(), outputs, entries});
  tables.Set(kChunkEnergiesInput.name,
             {drawn.memory.data() + outputs * entries, outputs, entries});
  return tables;
}

TYPED_TEST(EnergyTest, CapturedEnergiesDecideAsGivenScoresDo) {
  using Real = TypeParam;
  const DrawnInputs<Real> tables(2 * 11, 1, 19, 77);
  for (const char* name : {"soft", "monotonic", "mocha", "matcha"}) {
    const Mechanism<Real>& mechanism = *FindMechanism<Real>(name);
    for (const EnergyKind energy : kAllEnergies) {
      for (const Schedule schedule : mechanism.Describe().schedules) {
        SCOPED_TRACE(name);
        DrawnInputs<Real> actual(19, 11, 6, 4), expected(19, 11, 6, 4);
        Sequence<Real> captured = actual.View(), given = expected.View();
        captured.inputs.captured = TablesOf(tables, 11, 19);
        captured.inputs.energy_bias = Real{3};  // which they have no part of
        given.inputs.scores = captured.inputs.captured;
        if (std::string(name) == "soft" || std::string(name) == "monotonic") {
          given.inputs.scores.Set(kChunkEnergiesInput.name, {});
        }
        given.states = {};
        Config config = DefaultConfig(mechanism, 6);
        config.energy = energy;
        config.schedule = schedule;
        config.want_weights = true;
        for (const char* variant : {"exact", "reference"}) {
          config.variant = variant;
          if (schedule == Schedule::kTeacherForced) config.variant = "exact";
          const auto steps = DecodeKeepingSteps(mechanism, config, captured);
          const auto wanted = DecodeKeepingSteps(mechanism, config, given);
          for (std::size_t i = 0; i < steps.size(); ++i) {
            EXPECT_EQ(steps[i].position, wanted[i].position);
            EXPECT_EQ(steps[i].inspected, wanted[i].inspected);
            EXPECT_EQ(steps[i].weights, wanted[i].weights);
          }
          EXPECT_EQ(actual.contexts, expected.contexts);
        }
      }
    }
  }
}

TYPED_TEST(EnergyTest, HypothesesReadTheCapturedRowOfTheirOutput) {
  using Real = TypeParam;
  const DrawnInputs<Real> tables(2 * 11, 1, 19, 77);
  const Mechanism<Real>& soft = *FindMechanism<Real>("soft");
  DrawnInputs<Real> inputs(19, 11, 6, 4);
  Sequence<Real> sequence = inputs.View();
  sequence.inputs.captured = TablesOf(tables, 11, 19);
  const MatrixView<const Real> wanted =
      sequence.inputs.captured.Find(kEnergiesInput.name);
  Config config = DefaultConfig(soft, 6);
  config.energy = EnergyKind::kAdditive;
  const auto energy = MakeEnergy(config, sequence.inputs,
                                 EnergyRole::kAttention, EnergyUse::kMany);
  energy->Append(sequence.memory);
  energy->SetStates(2, {sequence.states.data, 2 * 6});
  for (const auto& [output, n] : {std::pair(3, 1), {7, 0}}) {
    energy->UseState(output, n);
    std::vector<Real> found(4);
    energy->Evaluate(5, 4, found.data());
    for (Index j = 0; j < 4; ++j) {
      EXPECT_EQ(found[Size(j)], wanted(output, 5 + j));
    }
  }
}

TYPED_TEST(EnergyTest, EnergiesOfARoleWithoutCapturedOnesAreComputed) {
  using Real = TypeParam;
  const DrawnInputs<Real> tables(2 * 11, 1, 19, 77);
  const Mechanism<Real>& mocha = *FindMechanism<Real>("mocha");
  DrawnInputs<Real> inputs(19, 11, 6, 4);
  Sequence<Real> sequence = inputs.View();
  Config config = DefaultConfig(mocha, 6);
  const auto first_chunk_energy = [&] {
    const auto energy = MakeEnergy(config, sequence.inputs, EnergyRole::kChunk,
                                   EnergyUse::kFew);
    energy->Append(sequence.memory);
    energy->SetState(0, sequence.states.Row(0));
    Real value = 0;
    energy->Evaluate(0, 1, &value);
    return value;
  };
  const Real computed = first_chunk_energy();
  sequence.inputs.captured = TablesOf(tables, 11, 19);
  EXPECT_NE(first_chunk_energy(), computed);
  sequence.inputs.captured.Set(kChunkEnergiesInput.name, {});
  EXPECT_EQ(first_chunk_energy(), computed);
}

}  // namespace
}  // namespace attnbench
