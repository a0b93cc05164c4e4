// Guards against models that do not learn, against decoding that is not what
// was trained, and against a resumed run that is not the run.
#include "harness/trainer/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/base/json_file.h"
#include "mechanisms/torch/operators.h"
#include "tests/support/digest.h"
#include "tests/support/error_text.h"
#include "tests/support/tiny_run.h"

namespace attnbench {
namespace {

using at::Tensor;
using ::testing::HasSubstr;
using testing::RunOf;
using testing::TinySettings;

double MeanLoss(Trainer& trainer, int steps) {
  double sum = 0;
  for (int n = 0; n < steps; ++n) sum += trainer.Step().loss;
  return sum / steps;
}

class EveryMechanism : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { at::set_num_threads(1); }
};

TEST_P(EveryMechanism, LearnsATinyCopyTask) {
  Trainer trainer(RunOf(TinySettings(GetParam())));
  const double first = MeanLoss(trainer, 5);
  MeanLoss(trainer, 20);
  EXPECT_LT(MeanLoss(trainer, 5), 0.85 * first);
  EXPECT_TRUE(trainer.IsDone());
  ASSERT_EQ(trainer.curve().size(), 3u);
  EXPECT_LT(trainer.curve()[2].loss, trainer.curve()[0].loss);
}

// Decoding takes one output at a time, training all at once.
TEST_P(EveryMechanism, MakesTheSameOutputsOneAtATimeAsTogether) {
  const at::NoGradGuard no_gradient;
  const TrainingSettings settings = TinySettings(GetParam());
  Trainer trainer(RunOf(settings));
  const Model& model = trainer.model();
  const Batch batch =
      MakeBatch(settings.task_spec(), ExampleSet::kHeldOut, 1, 0, 5);
  const Encoding encoding = model.Encode(batch);
  for (const bool is_hard : {false, true}) {
    const DecoderOutputs together = model.Decode(
        encoding, encoding.first, batch.previous, {.is_hard = is_hard});
    DecoderState state = encoding.first;
    for (std::int64_t i = 0; i < batch.previous.size(0); ++i) {
      const DecoderOutputs one =
          model.Decode(encoding, state, batch.previous.narrow(0, i, 1),
                       {.is_hard = is_hard});
      EXPECT_TRUE(at::allclose(one.logits[0], together.logits[i], 1e-4, 1e-5))
          << i << " " << is_hard;
      state = one.last;
    }
  }
}

TEST_P(EveryMechanism, SequencesOfABatchAreThoseAlone) {
  const at::NoGradGuard no_gradient;
  const TrainingSettings settings = TinySettings(GetParam());
  Trainer trainer(RunOf(settings));
  const Model& model = trainer.model();
  const Task task = settings.task_spec();
  const auto decode = [&](std::uint32_t first, Index count) {
    const Batch batch = MakeBatch(task, ExampleSet::kHeldOut, 1, first, count);
    const Encoding encoding = model.Encode(batch);
    return model.Decode(encoding, encoding.first, batch.previous, {}).logits;
  };
  const Tensor all = decode(0, 6);
  for (std::uint32_t b = 0; b < 6; ++b) {
    const Tensor alone = decode(b, 1);
    EXPECT_TRUE(at::allclose(alone.select(1, 0),
                             all.select(1, b).narrow(0, 0, alone.size(0)), 1e-4,
                             1e-5))
        << b;
  }
}

TEST_P(EveryMechanism, AttentionIsWhatContextsAreMadeBy) {
  for (const bool is_fed : {false, true}) {
    TrainingSettings settings = TinySettings(GetParam());
    settings.input_feeding = is_fed && settings.mechanism != "none";
    Trainer trainer(RunOf(settings));
    MeanLoss(trainer, 5);
    const at::NoGradGuard no_gradient;
    const Batch batch =
        MakeBatch(settings.task_spec(), ExampleSet::kHeldOut, 1, 0, 5);
    const Encoding encoding = trainer.model().Encode(batch);
    const DecoderOutputs made = trainer.model().Decode(
        encoding, encoding.first, batch.previous, {.wants_attention = true});
    const Tensor& attention = made.attended.attention;
    ASSERT_EQ(attention.defined(), settings.mechanism != "none");
    if (!attention.defined()) continue;
    ASSERT_EQ(attention.size(2), batch.previous.size(0));
    const Tensor contexts = made.attended.contexts;
    EXPECT_TRUE(at::allclose(
        at::bmm(attention.squeeze(1), encoding.memory.entries)
            .narrow(1, attention.size(2) - contexts.size(1), contexts.size(1)),
        contexts, 1e-4, 1e-5));
  }
}

TEST_P(EveryMechanism, TellsWhatOneLongSequenceAttendsTo) {
  const TrainingSettings settings = TinySettings(GetParam());
  const bool is_memory = settings.mechanism == "memory";
  Trainer trainer(RunOf(settings));
  MeanLoss(trainer, 5);
  const AttentionExample example = trainer.Example();
  if (settings.mechanism == "none") {
    EXPECT_TRUE(example.attention.empty());
    return;
  }
  // Three symbols and the end.
  ASSERT_EQ(example.attention.size(), 4u);
  for (const std::vector<double>& row : example.attention) {
    ASSERT_EQ(row.size(), 4u);
    const double sum = std::accumulate(row.begin(), row.end(), 0.0);
    // The scores of memory's encoder do not sum to 1 over the entries.
    EXPECT_LE(sum, is_memory ? 4 : 1.0025);
    EXPECT_GT(sum, settings.mechanism == "soft" ? 0.9975 : 0);
  }
  ASSERT_EQ(example.choices.size(), settings.is_monotonic() ? 4u : 0u);
  Index last = 0;
  for (const Index choice : example.choices) {
    EXPECT_GE(choice, last);
    EXPECT_LE(choice, 4);
    last = choice;
  }
  ASSERT_EQ(example.contexts.size(),
            Size(is_memory ? settings.num_contexts : 0));
  for (const std::vector<double>& row : example.contexts) {
    EXPECT_EQ(row.size(), 4u);
  }
}

INSTANTIATE_TEST_SUITE_P(Trainer, EveryMechanism,
                         ::testing::ValuesIn(TrainedMechanismNames()),
                         [](const auto& each) { return each.param; });

TEST(Trainer, LearnsWithInputFeedingAndWithFrames) {
  TrainingSettings settings = TinySettings("mocha");
  settings.input_feeding = true;
  Trainer fed(RunOf(settings));
  const double first = MeanLoss(fed, 5);
  MeanLoss(fed, 20);
  EXPECT_LT(MeanLoss(fed, 5), 0.85 * first);

  settings = TinySettings("monotonic");
  settings.task = "stretch";
  Trainer stretch(RunOf(settings));
  const double before = MeanLoss(stretch, 5);
  MeanLoss(stretch, 20);
  EXPECT_LT(MeanLoss(stretch, 5), 0.85 * before);
}

// Feeding zeros out the weights that read the context leaves a decoder without
// feeding.
TEST(Trainer, InputFeedingReadsTheLastContextAndNothingElse) {
  const at::NoGradGuard no_gradient;
  TrainingSettings settings = TinySettings("monotonic");
  settings.input_feeding = true;
  Trainer fed(RunOf(settings));
  Checkpoint checkpoint = fed.Save();
  const Index E = settings.embedding, d = settings.dim;
  CheckpointArray& weights = checkpoint.parameters["decoder.W"];
  CheckpointArray without = weights;
  for (auto* numbers : {&without.values, &without.means, &without.squares}) {
    numbers->clear();
  }
  for (Index row = 0; row < 4 * d; ++row) {
    for (Index column = 0; column < E + 2 * d; ++column) {
      const std::size_t at = Size(row * (E + 2 * d) + column);
      if (column >= E && column < E + d) {
        weights.values[at] = 0;
        continue;
      }
      without.values.push_back(weights.values[at]);
      without.means.push_back(0);
      without.squares.push_back(0);
    }
  }
  const Batch batch =
      MakeBatch({.name = "copy", .least_symbols = 2, .most_symbols = 4},
                ExampleSet::kHeldOut, 1, 0, 4);
  const auto logits = [&](const Trainer& trainer) {
    const Encoding encoding = trainer.model().Encode(batch);
    return trainer.model()
        .Decode(encoding, encoding.first, batch.previous, {})
        .logits;
  };
  const Tensor with_context = logits(fed);
  fed.Restore(checkpoint, "c.json");
  const Tensor with_zeros = logits(fed);
  EXPECT_FALSE(at::allclose(with_context, with_zeros, 1e-4, 1e-5));

  settings.input_feeding = false;
  Trainer plain(RunOf(settings));
  checkpoint.run.settings = settings;
  without.shape = {4 * d, E + d};
  weights = without;
  plain.Restore(checkpoint, "c.json");
  EXPECT_TRUE(at::allclose(logits(plain), with_zeros, 1e-4, 1e-5));
}

TEST(Trainer, GoesOnFromACheckpointWithTheSameBits) {
  at::set_num_threads(1);
  TrainingSettings settings = TinySettings("mocha");
  settings.noise = 1;
  settings.noise_rise = 0.5;
  const TrainingRun run = RunOf(settings);
  Trainer whole(run);
  Checkpoint middle;
  for (int n = 0; n < 17; ++n) whole.Step();
  // As it comes from the disk.
  middle = FromJson<Checkpoint>(ToJson(whole.Save()), "c.json");
  while (!whole.IsDone()) whole.Step();
  Trainer resumed(run);
  resumed.Restore(middle, "c.json");
  while (!resumed.IsDone()) resumed.Step();
  EXPECT_EQ(ToJson(resumed.Save()), ToJson(whole.Save()));
  EXPECT_EQ(ToJson(resumed.Evaluate(16)), ToJson(whole.Evaluate(16)));
}

// Time passes between the hooks of outputs and inputs, and only between them.
TEST(Trainer, TimesItsAttentionForwardAndBackward) {
  for (const std::string mechanism : {"soft", "mocha", "memory"}) {
    TrainingSettings settings = TinySettings(mechanism);
    settings.input_feeding = mechanism == "mocha";
    Trainer trainer(RunOf(settings));
    const Model& model = trainer.model();
    const AttentionModel& attention = model.attention();
    const Batch batch =
        MakeBatch(settings.task_spec(), ExampleSet::kHeldOut, 1, 0, 5);
    const Encoding encoding = model.Encode(batch);
    const double prepared = attention.Seconds();
    EXPECT_GT(prepared, 0) << mechanism;
    const Tensor logits =
        model.Decode(encoding, encoding.first, batch.previous, {}).logits;
    const double attended = attention.Seconds();
    EXPECT_GT(attended, prepared) << mechanism;
    logits.sum().backward();
    EXPECT_GT(attention.Seconds(), attended) << mechanism;
    trainer.Step();
    const StepTimes& times = trainer.times();
    EXPECT_EQ(times.steps, 1) << mechanism;
    EXPECT_GT(times.attention_seconds, 0) << mechanism;
    EXPECT_LT(times.attention_seconds, times.seconds) << mechanism;
  }
}

TEST(Trainer, RefusesACheckpointOfAnotherModelByName) {
  const TrainingRun run = RunOf(TinySettings("monotonic"));
  const Trainer trainer(run);
  Trainer other(run);
  const auto error = [&](const auto& change) {
    Checkpoint checkpoint = trainer.Save();
    change(checkpoint);
    return testing::ErrorText([&] { other.Restore(checkpoint, "c.json"); });
  };
  EXPECT_THAT(error([](Checkpoint& c) { c.parameters.erase("mix.W"); }),
              HasSubstr("c.json: parameters.mix.W: is missing"));
  EXPECT_THAT(error([](Checkpoint& c) { c.parameters["more"] = {}; }),
              HasSubstr("c.json: parameters.more: is no parameter"));
  EXPECT_THAT(
      error([](Checkpoint& c) {
        c.parameters["mix.W"].shape = {32, 16};
      }),
      HasSubstr("c.json: parameters.mix.W: has the shape [32, 16]; expected "
                "[16, 32]"));
  EXPECT_THAT(error([](Checkpoint& c) { c.run.settings.mechanism = "soft"; }),
              HasSubstr("c.json: is of a run with mechanism"));
  EXPECT_EQ(error([](Checkpoint&) {}), "");
}

// The trainer in Python is held to the same file.
TEST(Trainer, StartsFromTheParametersThatWereStored) {
  const Json drawn = ReadJsonFile("tests/train/drawn.json");
  ASSERT_FALSE(drawn["parameters"].empty());
  for (const Json& one : drawn["parameters"]) {
    TrainingRun run;
    run.settings = FromJson<TrainingSettings>(one["settings"], "drawn.json");
    run.seed = one["seed"];
    Json digests = Json::object();
    for (const auto& [name, array] : Trainer(run).Save().parameters) {
      testing::Digest digest;
      digest.Add(std::vector<float>(array.values.begin(), array.values.end()));
      digests[name] = digest.Hex();
    }
    EXPECT_EQ(digests, one["digests"]) << run.settings.mechanism;
  }
}

TEST(Trainer, SaysWhereItDiverged) {
  for (const std::string mechanism : {"soft", "monotonic"}) {
    TrainingSettings settings = TinySettings(mechanism);
    settings.learning_rate = 1e30;
    Trainer trainer(RunOf(settings));
    try {
      while (!trainer.IsDone()) trainer.Step();
      FAIL() << mechanism;
    } catch (const Diverged& diverged) {
      EXPECT_THAT(diverged.what(), HasSubstr("in step 2"));
    }
  }
}

TEST(Trainer, NoiseRisesAndSeedsDecideEverything) {
  TrainingSettings settings = TinySettings("monotonic");
  settings.curve_every = 0;
  const auto losses = [](const TrainingRun& run) {
    Trainer trainer(run);
    std::vector<double> all;
    for (int n = 0; n < 3; ++n) all.push_back(trainer.Step().loss);
    return all;
  };
  const auto without = losses(RunOf(settings));
  settings.noise = 3;
  const auto with = losses(RunOf(settings));
  EXPECT_NE(with[0], without[0]);
  EXPECT_EQ(losses(RunOf(settings)), with);
  settings.noise_rise = 1;
  EXPECT_EQ(losses(RunOf(settings))[0], without[0]) << "it rises from 0";
  EXPECT_NE(losses(RunOf(settings))[2], without[2]);
  TrainingRun other = RunOf(settings);
  other.seed = 2;
  EXPECT_NE(losses(other)[0], without[0]);
}

TEST(Attention, HardSelectsTheFirstEntryFromTheLastOneOnThatP_Allows) {
  const at::NoGradGuard no_gradient;
  Trainer trainer(RunOf(TinySettings("monotonic")));
  const Batch batch =
      MakeBatch({.name = "copy", .least_symbols = 4, .most_symbols = 9},
                ExampleSet::kHeldOut, 1, 0, 16);
  const Encoding encoding = trainer.model().Encode(batch);
  const Attended attended =
      trainer.model()
          .Decode(encoding, encoding.first, batch.previous, {.is_hard = true})
          .attended;
  int chosen = 0, passed = 0;
  for (std::int64_t b = 0; b < 16; ++b) {
    std::int64_t j = 0;
    const std::int64_t length = batch.lengths[b].item<std::int64_t>();
    for (std::int64_t i = 0; i < batch.previous.size(0); ++i) {
      const Tensor energies = attended.energies[b][0][i];
      while (j < length && energies[j].item<float>() < 0) ++j, ++passed;
      Tensor expected = at::zeros({batch.source.size(0)});
      if (j < length) expected[j] = 1, ++chosen;
      EXPECT_TRUE(at::equal(attended.selection[b][0][i], expected));
    }
  }
  EXPECT_GT(chosen, 0);
  EXPECT_GT(passed, 0);
}

TEST(Evaluation, TheHistogramOfP_HasTheDiscreteShareInItsOuterBins) {
  TrainingSettings settings = TinySettings("monotonic");
  settings.energy_bias = 3;
  Trainer trainer(RunOf(settings));
  MeanLoss(trainer, 30);
  const FinalEvaluation evaluation = trainer.Evaluate(64);
  const std::vector<double> bins = evaluation.p_histogram.value();
  ASSERT_EQ(std::ssize(bins), kHistogramBins);
  EXPECT_NEAR(std::accumulate(bins.begin(), bins.end(), 0.0), 1, 1e-6);
  EXPECT_NEAR(bins.front() + bins.back(), evaluation.discrete_share.value(),
              1e-6);
  EXPECT_GT(bins.front() + bins.back(), 0);
  EXPECT_LT(bins.front() + bins.back(), 1);
  EXPECT_FALSE(Trainer(RunOf(TinySettings("soft"))).Evaluate(4).p_histogram);
}

TEST(Evaluation, TheSpreadOfContextsIsThatOfItsFormula) {
  TrainingSettings settings = TinySettings("memory");
  settings.encoder_scoring = "sigmoid";
  settings.position_encoding = "raw";
  settings.place = "outside";
  Trainer trainer(RunOf(settings));
  MeanLoss(trainer, 30);
  const at::NoGradGuard no_gradient;
  constexpr Index kCount = 12;
  const Batch batch =
      MakeBatch(settings.task_spec(), ExampleSet::kHeldOut, 1, 0, kCount);
  const Tensor weights = trainer.model().attention().ContextWeights(
      trainer.model().Encode(batch).memory);
  double sum = 0, sequences = 0;
  for (Index b = 0; b < kCount; ++b) {
    const Index T = batch.lengths[b].item<std::int64_t>();
    if (T < 2) continue;
    double spread = 0, held = 0;
    for (Index k = 0; k < settings.num_contexts; ++k) {
      double s = 0, first = 0, second = 0;
      for (Index t = 0; t < T; ++t) {
        const double alpha = weights[b][0][k][t].item<double>();
        const auto place = static_cast<double>(t);
        s += alpha, first += alpha * place, second += alpha * place * place;
      }
      spread += s * std::sqrt(second / s - first / s * first / s);
      held += s;
    }
    const auto length = static_cast<double>(T);
    sum += spread / (held * std::sqrt((length * length - 1) / 12));
    ++sequences;
  }
  ASSERT_GT(sequences, 2);
  ASSERT_LT(sequences, kCount) << "some have one entry";
  const double spread = trainer.Evaluate(kCount).context_spread.value();
  EXPECT_NEAR(spread, sum / sequences, 1e-5);
  EXPECT_GT(std::abs(spread - 1), 0.01);

  // One context of softmax takes all of every entry.
  settings.encoder_scoring = "softmax";
  settings.position_encoding = "none";
  settings.num_contexts = 1;
  EXPECT_NEAR(Trainer(RunOf(settings)).Evaluate(kCount).context_spread.value(),
              1, 1e-6);
  EXPECT_FALSE(Trainer(RunOf(TinySettings("soft"))).Evaluate(4).context_spread);
}

TEST(Attention, TheWeightsOfContextsAreTheirScoresAfterScoring) {
  const at::NoGradGuard no_gradient;
  for (const std::string scoring : {"softmax", "sigmoid"}) {
    TrainingSettings settings = TinySettings("memory");
    settings.encoder_scoring = settings.decoder_scoring = scoring;
    const Trainer trainer(RunOf(settings));
    const Batch batch =
        MakeBatch({.name = "copy", .least_symbols = 3, .most_symbols = 3},
                  ExampleSet::kHeldOut, 1, 0, 5);
    const AttendedMemory memory = trainer.model().Encode(batch).memory;
    const Tensor scored = scoring == "softmax" ? memory.scores.softmax(3)
                                               : memory.scores.sigmoid();
    EXPECT_TRUE(at::allclose(trainer.model().attention().ContextWeights(memory),
                             scored.transpose(2, 3), 1e-4, 1e-6));
  }
}

TEST(Attention, ByEnergiesIsTheMechanismsOwnWithItsGradient) {
  at::manual_seed(1);
  const Tensor energies = at::randn({2, 1, 3, 5}).requires_grad_();
  const Tensor lengths = at::tensor({5, 3}, at::kLong);
  const Tensor padding =
      at::arange(5).view({1, 1, 1, 5}) >= lengths.view({2, 1, 1, 1});
  const Tensor expected = energies.masked_fill(padding, -INFINITY).softmax(3);
  const Tensor made =
      torch_operators::EnergyAttention("soft", energies, {}, lengths);
  EXPECT_TRUE(at::allclose(made, expected, 1e-5, 1e-6));
  const Tensor d = at::randn_like(made);
  const auto gradient = [&](const Tensor& of) {
    return torch::autograd::grad({(of * d).sum()}, {energies})[0];
  };
  EXPECT_TRUE(at::allclose(gradient(made), gradient(expected), 1e-4, 1e-6));
}

TEST(Attention, ClippedAlphaIsTheExactOneUntilItsDenominatorIsClipped) {
  at::manual_seed(1);
  const Tensor p = at::rand({2, 1, 3, 9}, at::kDouble) * 0.6 + 0.2;
  const auto exact = [](const Tensor& of) {
    return torch_operators::MonotonicAttention(
        of, torch_operators::ScoreKind::kProbabilities);
  };
  EXPECT_TRUE(at::allclose(ClippedSelection(p, {}), exact(p), 1e-9, 1e-12));
  const Tensor start = ClippedSelection(p, {}).select(2, 2);
  EXPECT_TRUE(at::allclose(
      ClippedSelection(p, start),
      torch_operators::MonotonicAttention(
          p, torch_operators::ScoreKind::kProbabilities, {}, start),
      1e-9, 1e-12));
  // Before the last entry 0.01^8 is left, which is below the bound.
  const Tensor sharp = at::full({1, 1, 1, 9}, 0.99, at::kDouble);
  Tensor late = at::zeros({1, 1, 9}, at::kDouble);
  late[0][0][8] = 1;
  EXPECT_NEAR(ClippedSelection(sharp, late)[0][0][0][8].item<double>(), 0.99e-6,
              1e-9);
}

TEST(Adam, MakesTheStepsOfItsPaperAndClipsByTheNorm) {
  Parameters parameters({{"x", {2}, 0, 1}}, 1);
  const Tensor& x = parameters["x"];
  ((x * at::tensor({3.0F, 4.0F})).sum()).backward();
  EXPECT_FLOAT_EQ(static_cast<float>(parameters.ClipGradients(2.5)), 5);
  EXPECT_TRUE(at::allclose(x.grad(), at::tensor({1.5F, 2.0F})));
  EXPECT_NEAR(parameters.ClipGradients(100), 2.5, 1e-6);
  // m / (1 - 0.9) = g and v / (1 - 0.999) = g^2: the first step is the rate.
  parameters.AdamStep(0.5, 1);
  EXPECT_TRUE(at::allclose(x, at::tensor({0.5F, 0.5F}), 1e-5, 1e-6));
  parameters.ZeroGradients();
  parameters.AdamStep(0.5, 2);
  // m = 0.9 (0.1 g) / 0.19, v = 0.999 (0.001 g^2) / 0.001999.
  const double step = 0.5 * (0.09 / 0.19) / std::sqrt(0.000999 / 0.001999);
  EXPECT_NEAR(x[0].item<double>(), 0.5 - step, 1e-5);
}

}  // namespace
}  // namespace attnbench
