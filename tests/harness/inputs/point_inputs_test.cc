// Guards against mechanisms that are timed in scope attention on scores of
// their own, and against cotangents, cuts and output arrays that are not those
// of the sequence.
#include "harness/inputs/point_inputs.h"

#include <gmock/gmock.h>

#include <cmath>
#include <iterator>
#include <set>

#include "mechanisms/energy/energy.h"
#include "mechanisms/memory/memory.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

constexpr Index kT = 7;
constexpr Index kU = 5;
constexpr Index kD = 3;

PointInputs<double> Inputs(const std::string& workload = "uniform",
                           Index batch = 2, ArrayGaps* gaps = nullptr) {
  return PointInputs<double>({.workload = workload,
                              .memory_length = kT,
                              .output_length = kU,
                              .dim = kD,
                              .batch = batch,
                              .gaps = gaps});
}

Config ConfigOf(Mode mode) {
  Config config;
  config.dim = kD;
  config.mode = mode;
  return config;
}

const Description& About(const char* mechanism) {
  return FindMechanism<double>(mechanism)->Describe();
}

TrainingRequest AttentionOf(const Description& mechanism) {
  return {.attention_only = true, .mechanism = &mechanism};
}

double Product(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

TEST(PointInputs, EveryArrayHasAGapBehindIt) {
  for (const char* const workload : {"uniform", "wait_k:2"}) {
    ArrayGaps gaps{.seed = 7};
    auto inputs = Inputs(workload, 1, &gaps);
    const Sequence<double> one = inputs.workload().Draw(0, EnergyKind::kDot)[0];
    // The memory and the contexts; states or two scores; inputs beside them.
    const auto further = std::ranges::distance(one.inputs.further);
    const std::uint64_t drawn =
        2 + (one.states.data == nullptr ? 2U : 1U) + Size(further);
    EXPECT_EQ(gaps.count, drawn) << workload;
    one.inputs.parameters->Matrix("some.W", 2, 3);
    EXPECT_EQ(gaps.count, drawn + 1) << workload;
    inputs.Training(0, ConfigOf(Mode::kGradient), AttentionOf(About("mocha")));
    EXPECT_GE(gaps.count, drawn + 3) << workload;  // attention, its cotangent
  }
}

TEST(PointInputs, MakesTheScoresOfTheStatesOnceForAllMechanisms) {
  auto inputs = Inputs("bias:-1.5");
  const auto plain = inputs.workload().Draw(2, EnergyKind::kDot)[1];
  const auto chunk_keys = plain.inputs.further.Find("chunk_keys");
  const auto chunk_states = plain.inputs.further.Find("chunk_states");
  const auto soft =
      inputs.Training(2, ConfigOf(Mode::kExpect), AttentionOf(About("soft")));
  const auto mocha = inputs.Training(2, ConfigOf(Mode::kGradient),
                                     AttentionOf(About("mocha")));
  const auto& of_soft = soft.sequences[1].sequence.inputs.scores;
  const auto& of_mocha = mocha.sequences[1].sequence.inputs.scores;
  const auto matcha =
      inputs.Training(2, ConfigOf(Mode::kExpect), AttentionOf(About("mocha")));
  const auto& of_matcha = matcha.sequences[1].sequence.inputs.scores;
  EXPECT_EQ(of_matcha.Find("p_choose").data, of_mocha.Find("p_choose").data);
  EXPECT_EQ(of_matcha.Find("chunk_energies").data,
            of_mocha.Find("chunk_energies").data);
  EXPECT_EQ(of_soft.Find("chunk_energies").data, nullptr);
  EXPECT_EQ(of_soft.Find("p_choose").data, nullptr);
  EXPECT_EQ(of_mocha.Find("energies").data, nullptr);
  for (Index i = 0; i < kU; ++i) {
    for (Index j = 0; j < kT; ++j) {
      EXPECT_NEAR(of_soft.Find("energies")(i, j),
                  Product(plain.states.Row(i), plain.memory.Row(j)) - 1.5,
                  1e-14);
      EXPECT_NEAR(of_mocha.Find("p_choose")(i, j),
                  1 / (1 + std::exp(-of_soft.Find("energies")(i, j))), 1e-15);
      EXPECT_NEAR(of_mocha.Find("chunk_energies")(i, j),
                  Product(chunk_states.Row(i), chunk_keys.Row(j)), 1e-14);
    }
  }
  EXPECT_EQ(soft.sequences[1].sequence.states.data, nullptr);
  EXPECT_EQ(soft.sequences[1].sequence.contexts.data, nullptr);
}

TEST(PointInputs, KeepsDrawsSequencesAndEnergyFunctionsApart) {
  auto inputs = Inputs();
  Config config = ConfigOf(Mode::kExpect);
  const TrainingRequest request = AttentionOf(About("soft"));
  std::set<double> first_energies;
  for (const EnergyKind energy : {EnergyKind::kDot, EnergyKind::kAdditive}) {
    config.energy = energy;
    for (int draw = 0; draw < 3; ++draw) {
      for (const auto& one : inputs.Training(draw, config, request).sequences) {
        first_energies.insert(
            one.sequence.inputs.scores.Find("energies")(0, 0));
      }
    }
  }
  EXPECT_EQ(first_energies.size(), 2U * 3 * 2);
}

TEST(PointInputs, GivesProbabilitiesToAMechanismThatTakesNothingElse) {
  auto inputs = Inputs();
  const auto from_p = inputs.Training(0, ConfigOf(Mode::kExpect),
                                      AttentionOf(About("monotonic")));
  const auto from_e =
      inputs.Training(0, ConfigOf(Mode::kExpect), AttentionOf(About("soft")));
  const double e =
      from_e.sequences[0].sequence.inputs.scores.Find("energies")(3, 2);
  EXPECT_DOUBLE_EQ(
      from_p.sequences[0].sequence.inputs.scores.Find("p_choose")(3, 2),
      1 / (1 + std::exp(-e)));
  EXPECT_EQ(from_p.sequences[0].sequence.inputs.scores.Find("energies").data,
            nullptr);
}

TEST(PointInputs, MakesAScoreFromTheSameInputsWhicheverMechanismAsksFirst) {
  const Description newcomer = {.scores = {{kChunkEnergiesInput}}};
  const auto score = [](const Description& first) {
    auto inputs = Inputs();
    const auto batch =
        inputs.Training(0, ConfigOf(Mode::kExpect), AttentionOf(first));
    return batch.sequences[0].sequence.inputs.scores.Find("chunk_energies")(3,
                                                                            2);
  };
  EXPECT_EQ(score(newcomer), score(About("mocha")));
}

// The harness knows only the shape and the domain of this score, not its
// meaning.
TEST(PointInputs, DrawsAScoreThatOnlyAMechanismKnows) {
  auto inputs = Inputs();
  const Description newcomer = {
      .name = "newcomer",
      .scores = {
          {{.name = "gates", .shape = "TK", .domain = Domain::kProbability}}}};
  Config config = ConfigOf(Mode::kGradient);
  config.options["num_contexts"] = 32;
  const auto batch = inputs.Training(0, config, AttentionOf(newcomer));
  const auto& one = batch.sequences[0];
  const auto gates = one.sequence.inputs.scores.Find("gates");
  ASSERT_EQ(gates.rows, kT);
  ASSERT_EQ(gates.cols, 32);
  std::set<double> different;
  for (Index j = 0; j < gates.rows; ++j) {
    for (const double gate : gates.Row(j)) {
      EXPECT_TRUE(0 < gate && gate < 1) << gate;
      different.insert(gate);
    }
  }
  EXPECT_GT(different.size(), 50U);
  EXPECT_EQ(one.gradients.scores.Find("gates").rows, kT);
}

TEST(PointInputs, MakesTheScoresOfTheFixedSizeMemory) {
  auto inputs = Inputs();
  Config config = ConfigOf(Mode::kGradient);
  config.options["num_contexts"] = 4;
  const auto batch = inputs.Training(1, config, AttentionOf(About("memory")));
  const auto plain = inputs.workload().Draw(1, EnergyKind::kDot)[0];
  const auto encoder =
      plain.inputs.parameters->Matrix(memory::kEncoderParameter, 4, kD);
  const auto decoder =
      plain.inputs.parameters->Matrix(memory::kDecoderParameter, 4, kD);
  const auto& given = batch.sequences[0].sequence.inputs.scores;
  EXPECT_EQ(given.Find("encoder_scores").rows, kT);
  EXPECT_EQ(given.Find("decoder_scores").rows, kU);
  EXPECT_NEAR(given.Find("encoder_scores")(6, 3),
              Product(plain.memory.Row(6), encoder.Row(3)), 1e-14);
  EXPECT_NEAR(given.Find("decoder_scores")(4, 2),
              Product(plain.states.Row(4), decoder.Row(2)), 1e-14);
  EXPECT_EQ(batch.sequences[0].gradients.scores.Find("encoder_scores").rows,
            kT);
}

TEST(PointInputs, TakesTheScoresThatTheWorkloadGives) {
  auto inputs = Inputs("wait_k:3");
  for (const bool attention_only : {true, false}) {
    TrainingRequest request = AttentionOf(About("monotonic"));
    request.attention_only = attention_only;
    auto batch = inputs.Training(0, ConfigOf(Mode::kGradient), request);
    const TrainingSequence<double>& one = batch.sequences[0];
    EXPECT_EQ(one.sequence.inputs.scores.Find("p_choose")(0, 2), 1);
    EXPECT_EQ(one.sequence.inputs.scores.Find("energies").data, nullptr);
    EXPECT_EQ(one.gradients.scores.Find("p_choose").cols, kT);
    EXPECT_EQ(one.gradients.scores.Find("chunk_energies").data, nullptr)
        << "not taken";
    EXPECT_EQ(one.gradients.states.data, nullptr);
    EXPECT_EQ(one.gradients.memory.data == nullptr, attention_only);
    std::vector<ParameterGradients<double>> parameters;
    batch.AddParametersTo(parameters);
    EXPECT_EQ(batch.sequences[0].gradients.parameters, nullptr);
  }
}

std::vector<std::string> NamesOf(const TrainingSequence<double>& one) {
  std::vector<std::string> names;
  for (const auto& array : OutputsOf(one)) names.push_back(array.name);
  return names;
}

TEST(PointInputs, AsksInScopeFullForWhatFollowsFromStatesAndMemory) {
  auto inputs = Inputs();
  using ::testing::ElementsAre;
  TrainingRequest request;
  request.mechanism = &About("soft");
  const auto names = [&](Mode mode) {
    return NamesOf(inputs.Training(0, ConfigOf(mode), request).sequences[0]);
  };
  EXPECT_THAT(names(Mode::kExpect), ElementsAre("contexts"));
  EXPECT_THAT(
      names(Mode::kGradient),
      ElementsAre("contexts", "gradient of memory", "gradient of states"));
  EXPECT_TRUE(inputs.Training(0, ConfigOf(Mode::kExpect), request)
                  .sequences[0]
                  .sequence.inputs.further.empty());
  request.mechanism = &About("mocha");
  EXPECT_THAT(
      names(Mode::kGradient),
      ElementsAre("contexts", "gradient of memory", "gradient of states",
                  "gradient of chunk_keys", "gradient of chunk_states"));
  EXPECT_EQ(inputs.Training(0, ConfigOf(Mode::kExpect), request)
                .sequences[0]
                .sequence.inputs.further.Find("chunk_keys")
                .rows,
            kT);
  request.want_attention = true;
  EXPECT_THAT(names(Mode::kExpect), ElementsAre("attention", "contexts"));
  auto batch = inputs.Training(0, ConfigOf(Mode::kGradient), request);
  std::vector<ParameterGradients<double>> parameters;
  batch.AddParametersTo(parameters);
  EXPECT_EQ(batch.sequences[1].gradients.parameters, &parameters[1]);
}

TEST(PointInputs, CutsEverythingThatHasARowForEachOutput) {
  auto inputs = Inputs();
  for (const bool attention_only : {true, false}) {
    TrainingRequest request = AttentionOf(About("mocha"));
    request.attention_only = attention_only;
    request.most_outputs = 2;
    const auto batch = inputs.Training(0, ConfigOf(Mode::kGradient), request);
    for (const auto& array : OutputsOf(batch.sequences[1])) {
      const bool of_entries = array.name == "gradient of memory" ||
                              array.name == "gradient of chunk_keys";
      EXPECT_EQ(array.values.rows, of_entries ? kT : 2) << array.name;
    }
    const TrainingSequence<double>& one = batch.sequences[1];
    EXPECT_EQ(attention_only ? one.sequence.inputs.scores.Find("p_choose").rows
                             : one.sequence.states.rows,
              2);
    EXPECT_EQ(attention_only ? one.cotangent.attention.rows
                             : one.cotangent.contexts.rows,
              2);
  }
}

TEST(PointInputs, DrawsACotangentForEachSequence) {
  auto inputs = Inputs();
  const TrainingRequest request{.mechanism = &About("soft")};
  const auto batch = inputs.Training(0, ConfigOf(Mode::kGradient), request);
  const auto& first = batch.sequences[0].cotangent.contexts;
  const auto& second = batch.sequences[1].cotangent.contexts;
  EXPECT_NE(first(0, 0), second(0, 0));
  for (Index i = 0; i < kU; ++i) {
    for (const double value : first.Row(i)) {
      EXPECT_LE(-1, value);
      EXPECT_LT(value, 1);
    }
  }
  EXPECT_NE(first(0, 0), first(1, 0));
}

TEST(PointInputs, HasFewerDrawsWhereTablesAreLarge) {
  PointInputs<float> inputs({.workload = "uniform",
                             .memory_length = 2000,
                             .output_length = 4000,
                             .dim = 1});
  EXPECT_EQ(inputs.num_training_draws(false), 16);
  // 2 tables of 8 million doubles are 128 MB.
  EXPECT_EQ(inputs.num_training_draws(true), 2);
  EXPECT_EQ(Inputs("wait_k:3").num_training_draws(true), 16);
}

}  // namespace
}  // namespace attnbench
