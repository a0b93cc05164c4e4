// Guards against a beam search that loses a hypothesis, adds up what is not its
// own, or hands a row the state, cell or context of another one.
#include "harness/model/translator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/inputs/drawn_parameters.h"
#include "harness/model/attention_record.h"
#include "harness/model/reference.h"
#include "mechanisms/monotonic/monotonic.h"
#include "mechanisms/soft/soft.h"
#include "tests/support/drawn_inputs.h"
#include "tests/support/two_heads.h"

namespace attnbench {
namespace {

constexpr ModelSizes kSizes = {.vocabulary = 5, .units = 6, .forget_bias = 1};

// Makes weights large enough for hypotheses to differ in every step.
void Enlarge(std::string_view /*name*/, const MatrixView<double>& matrix) {
  Scale(5, matrix);
}

// A model with a mechanism, which may be null, and its reference.
struct Subject {
  explicit Subject(const std::string& mechanism_name)
      : parameters(11, &Enlarge),
        mechanism(mechanism_name == "none"
                      ? nullptr
                      : FindMechanism<double>(mechanism_name)),
        weights(WeightsOf<double>(parameters, kSizes, mechanism != nullptr)) {
    inputs.parameters = &parameters;
    if (mechanism == nullptr) return;
    config = testing::DefaultConfig(*mechanism, kSizes.units);
    // Under bilinear an energy's sign depends on the state, so hypotheses
    // choose different entries.
    config.energy = mechanism->Describe().online ? EnergyKind::kBilinear
                                                 : EnergyKind::kAdditive;
    config.end = EndPolicy::kRestart;
    config.options["num_contexts"] = 3;
    config.options["chunk_width"] = 2;
  }
  Translator<double> MakeTranslator() const {
    return {weights, kSizes, mechanism, config, inputs};
  }
  double LogProbability(const TranslationTask& task,
                        const std::vector<Symbol>& symbols) const {
    return ReferenceForce(weights, kSizes, mechanism, config, inputs,
                          ReferenceEncode(weights, kSizes, task.source), task,
                          symbols, {})
        .log_probability;
  }

  const DrawnParameters<double> parameters;
  const Mechanism<double>* mechanism;
  const ModelWeights<double> weights;
  SequenceInputs<double> inputs;
  Config config;
};

// A mechanism that declares one more input.
class WithInput final : public Mechanism<double> {
 public:
  WithInput(const Mechanism<double>& mechanism, const InputSpec& input)
      : mechanism_(mechanism), about_(mechanism.Describe()) {
    about_.further.push_back(input);
  }
  const Description& Describe() const override { return about_; }
  std::unique_ptr<Decoder<double>> MakeDecoder(
      const Config& config,
      const SequenceInputs<double>& inputs) const override {
    return mechanism_.MakeDecoder(config, inputs);
  }
  Operations Count(const Config& config,
                   const CountedWork& work) const override {
    return mechanism_.Count(config, work);
  }

 private:
  const Mechanism<double>& mechanism_;
  Description about_;
};

// Attends to the mean of entries i - 2 to i in output i: it evaluates energies
// online, and chooses none of the entries.
class LocalWindow final : public Mechanism<double>, public Decoder<double> {
 public:
  const Description& Describe() const override {
    static const Description about = {
        .name = "local_window", .online = true, .beam = true};
    return about;
  }
  std::unique_ptr<Decoder<double>> MakeDecoder(
      const Config&, const SequenceInputs<double>&) const override {
    return std::make_unique<LocalWindow>();
  }
  Operations Count(const Config&, const CountedWork&) const override {
    return {};
  }
  void Append(const MatrixView<const double>& memory) override {
    memory_ = memory;
  }
  void Close() override {}
  StepResult<double> Step(std::span<const double>,
                          std::span<double> context) override {
    return Attend(output_++, context);
  }
  void StepBeam(std::span<const double>, std::span<Hypothesis> hypotheses,
                std::span<double> contexts,
                std::span<StepResult<double>> results) override {
    const std::size_t dim = Size(memory_.cols);
    for (std::size_t r = 0; r < hypotheses.size(); ++r) {
      const auto output = hypotheses[r].Get<Index>();
      results[r] = Attend(output, contexts.subspan(r * dim, dim));
      hypotheses[r].Set(output + 1);
    }
  }

 private:
  StepResult<double> Attend(Index output, std::span<double> context) const {
    const Index begin = std::max<Index>(0, output - 2);
    std::ranges::fill(context, 0);
    for (Index j = begin; j <= output; ++j) {
      for (std::size_t k = 0; k < context.size(); ++k) {
        context[k] +=
            memory_.Row(j)[k] / static_cast<double>(output + 1 - begin);
      }
    }
    return {.begin = begin,
            .end = output + 1,
            .inspected = output + 1 - begin,
            .weights = {}};
  }

  MatrixView<const double> memory_;
  Index output_ = 0;
};

const std::vector<std::string>& Names() {
  static const std::vector<std::string> names = {"none",  "soft",   "monotonic",
                                                 "mocha", "matcha", "memory"};
  return names;
}

const std::vector<Symbol> kSource = {2, 4, 3, 3, 2, 4, 4, 2,
                                     3, 4, 2, 2, 3, 4, 3, 2};

// All translations of that many symbols, the most probable first.
std::vector<Translation> AllTranslations(const Subject& subject,
                                         const TranslationTask& task) {
  std::vector<Translation> all;
  const auto count = static_cast<Index>(
      std::pow(kSizes.vocabulary, static_cast<double>(task.num_steps)));
  for (Index n = 0; n < count; ++n) {
    std::vector<Symbol> symbols;
    for (Index rest = n, i = 0; i < task.num_steps;
         ++i, rest /= kSizes.vocabulary) {
      symbols.push_back(static_cast<Symbol>(rest % kSizes.vocabulary));
    }
    all.push_back({.symbols = symbols,
                   .log_probability = subject.LogProbability(task, symbols),
                   .positions = {}});
  }
  std::ranges::sort(all, std::greater<>(), &Translation::log_probability);
  return all;
}

// A beam with room for every beginning never cuts anything off.
TEST(Translator, AWideBeamFindsWhatTryingEverythingFinds) {
  for (const std::string& name : Names()) {
    SCOPED_TRACE(name);
    const Subject subject(name);
    const TranslationTask task{.source = kSource, .num_steps = 3};
    const std::vector<Translation> all = AllTranslations(subject, task);
    const auto found = subject.MakeTranslator().BeamSearch(task, 125);
    ASSERT_EQ(found.size(), all.size());
    double sum = 0;
    for (std::size_t n = 0; n < found.size(); ++n) {
      EXPECT_EQ(found[n].symbols, all[n].symbols) << n;
      EXPECT_NEAR(found[n].log_probability, all[n].log_probability, 1e-10);
      sum += std::exp(found[n].log_probability);
    }
    EXPECT_NEAR(sum, 1, 1e-10);
  }
}

TEST(Translator, ASourceThatIsGivenIsNotEncoded) {
  const Subject subject("soft");
  const TranslationTask task{.source = kSource, .num_steps = 6};
  const TranslationTask other{.source = std::span(kSource).first(4),
                              .num_steps = 6};
  Translator<double> encoder = subject.MakeTranslator();
  const std::vector<Symbol> wanted = encoder.Greedy(other);
  Translator<double> translator = subject.MakeTranslator();
  ASSERT_NE(translator.Greedy(task), wanted);
  translator.UseEncoded(&encoder.encoded());
  EXPECT_EQ(translator.Greedy(task), wanted);
  translator.UseEncoded(nullptr);
  EXPECT_NE(translator.Greedy(task), wanted);
}

// A narrow beam is the same algorithm step by step, on the reference's numbers.
TEST(Translator, ANarrowBeamKeepsTheBestOfEveryStep) {
  constexpr std::size_t kBeam = 3;
  for (const std::string& name : Names()) {
    SCOPED_TRACE(name);
    const Subject subject(name);
    std::vector<std::vector<Symbol>> kept = {{}};
    TranslationTask task{.source = kSource};
    std::vector<Translation> best;
    for (Index steps = 1; steps <= 6; ++steps) {
      task.num_steps = steps;
      best.clear();
      for (const std::vector<Symbol>& beginning : kept) {
        for (Symbol v = 0; v < kSizes.vocabulary; ++v) {
          std::vector<Symbol> symbols = beginning;
          symbols.push_back(v);
          best.push_back(
              {.symbols = symbols,
               .log_probability = subject.LogProbability(task, symbols),
               .positions = {}});
        }
      }
      std::ranges::sort(best, std::greater<>(), &Translation::log_probability);
      best.resize(kBeam);
      kept.clear();
      for (const Translation& one : best) kept.push_back(one.symbols);
    }
    const auto found = subject.MakeTranslator().BeamSearch(task, kBeam);
    ASSERT_EQ(found.size(), kBeam);
    for (std::size_t n = 0; n < kBeam; ++n) {
      EXPECT_EQ(found[n].symbols, best[n].symbols) << n;
      EXPECT_NEAR(found[n].log_probability, best[n].log_probability, 1e-10);
    }
  }
}

TEST(Translator, ABeamOfOneIsGreedy) {
  for (const std::string& name : Names()) {
    SCOPED_TRACE(name);
    const Subject subject(name);
    Translator<double> translator = subject.MakeTranslator();
    const TranslationTask task{.source = kSource, .num_steps = 12};
    EXPECT_EQ(translator.Greedy(task),
              translator.BeamSearch(task, 1)[0].symbols);
  }
}

TEST(Translator, AHypothesisHasTheProbabilityAndThePlacesThatItHasAlone) {
  for (const std::string& name : Names()) {
    SCOPED_TRACE(name);
    const Subject subject(name);
    Translator<double> translator = subject.MakeTranslator();
    const TranslationTask task{.source = kSource, .num_steps = 20};
    const auto found = translator.BeamSearch(task, 4);
    for (const Translation& one : found) {
      const Translation alone = translator.Force(task, one.symbols);
      EXPECT_NEAR(one.log_probability, alone.log_probability, 1e-9);
      EXPECT_EQ(one.positions, alone.positions);
      EXPECT_EQ(one.positions.size(), name == "none" ? 0U : 20U);
    }
    if (subject.mechanism == nullptr || !subject.mechanism->Describe().online) {
      continue;
    }
    // Otherwise the test would not see a fork that stands where another one
    // does.
    EXPECT_NE(found.front().positions, found.back().positions);
  }
}

TEST(Translator, AnEmptySourceIsTranslated) {
  for (const std::string& name : Names()) {
    SCOPED_TRACE(name);
    const Subject subject(name);
    Translator<double> translator = subject.MakeTranslator();
    const TranslationTask task{.source = {}, .num_steps = 2};
    const auto found = translator.BeamSearch(task, 25);
    EXPECT_EQ(found.size(), 25U);
    EXPECT_NEAR(found[0].log_probability,
                subject.LogProbability(task, found[0].symbols), 1e-10);
    EXPECT_TRUE(translator.BeamSearch({}, 5)[0].symbols.empty());
  }
}

TEST(Translator, WhatIsFavouredIsEmitted) {
  const Subject subject("soft");
  Translator<double> translator = subject.MakeTranslator();
  const std::vector<Symbol> target = {4, 2, 2, 3};
  const TranslationTask task{
      .source = kSource, .num_steps = 4, .favoured = target, .favour = 50};
  EXPECT_EQ(translator.Greedy(task), target);
  EXPECT_EQ(translator.BeamSearch(task, 3)[0].symbols, target);
  EXPECT_NEAR(translator.Force(task, target).log_probability,
              subject.LogProbability(task, target), 1e-12);
}

// The last entry of every row of every step, and the row that it came from.
struct Steps {
  Steps(const Subject& subject, const TranslationTask& task, Index beam) {
    Translator<double> translator = subject.MakeTranslator();
    BeamAttention<double> attention(*subject.mechanism, subject.config,
                                    subject.inputs);
    translator.Observe([&](std::span<const Index> of,
                           const MatrixView<const double>& states) {
      if (parents.empty()) {
        attention.Start(translator.encoded().memory, false);
      }
      Buffer<double> contexts(Size(states.rows * states.cols));
      attention.Step(states, of, {contexts.data(), states.rows, states.cols});
      parents.emplace_back(of.begin(), of.end());
      ends.emplace_back();
      for (const StepResult<double>& one : attention.results()) {
        ends.back().push_back(
            one.begin == one.end ? translator.encoded().memory.rows : one.end);
      }
    });
    translator.BeamSearch(task, beam);
  }
  double FurthestOf(std::size_t row) const {
    Index furthest = 0;
    for (std::size_t i = ends.size(); i-- > 0;) {
      furthest = std::max(furthest, ends[i][row]);
      row = Size(parents[i][row]);
    }
    return static_cast<double>(furthest);
  }
  double FurthestOfAny() const {
    Index furthest = 0;
    for (const std::vector<Index>& rows : ends) {
      furthest = std::max(furthest, std::ranges::max(rows));
    }
    return static_cast<double>(furthest);
  }

  std::vector<std::vector<Index>> parents, ends;
};

TEST(Translator, WhatWasReadIsWhatThoseThatAreLeftReadOnTheirWay) {
  int differ = 0;
  for (double bias = -8; bias <= 8; bias += 0.5) {
    Subject subject("monotonic");
    subject.inputs.energy_bias = bias;
    Translator<double> translator = subject.MakeTranslator();
    BeamAttention<double> attention(*subject.mechanism, subject.config,
                                    subject.inputs);
    const TranslationTask task{.source = kSource, .num_steps = 7};
    const Steps steps(subject, task, 4);
    double mean = 0;
    for (std::size_t row = 0; row < 4; ++row) mean += steps.FurthestOf(row) / 4;
    AttentionRecord<double> record(translator, task, 4);
    EXPECT_NEAR(record.Reads(attention).furthest, mean, 1e-12) << bias;
    differ += mean < steps.FurthestOfAny() ? 1 : 0;
  }
  EXPECT_GT(differ, 0);
}

TEST(Translator, AHypothesisKeepsTheChoicesOfAllHeads) {
  const testing::TwoHeads<double> two(monotonic::MakeMechanism<double>());
  Subject subject("monotonic");
  subject.mechanism = &two;
  const TranslationTask task{.source = kSource, .num_steps = 6};
  const ReferenceEncoded encoded =
      ReferenceEncode(subject.weights, kSizes, kSource);
  Translator<double> translator = subject.MakeTranslator();
  for (const Translation& found : translator.BeamSearch(task, 4)) {
    EXPECT_EQ(found.positions.size(), 12U);
    EXPECT_EQ(translator.Force(task, found.symbols).positions, found.positions);
    const Translation reference = ReferenceForce(
        subject.weights, kSizes, &two, subject.config, subject.inputs, encoded,
        task, found.symbols, found.positions);
    EXPECT_EQ(reference.positions, found.positions);
    EXPECT_NEAR(reference.log_probability, found.log_probability, 1e-10);
  }
}

TEST(Translator, TheEnergiesOfAllHeadsAreRead) {
  const testing::TwoHeads<double> two(soft::MakeMechanism<double>());
  Subject subject("soft");
  subject.mechanism = &two;
  Translator<double> translator = subject.MakeTranslator();
  BeamAttention<double> attention(two, subject.config, subject.inputs);
  for (const Index beam : {1, 4}) {
    AttentionRecord<double> record(translator,
                                   {.source = kSource, .num_steps = 7}, beam);
    const AttentionReads reads = record.Reads(attention);
    EXPECT_EQ(reads.outputs, 1 + 6 * beam);
    EXPECT_EQ(reads.energies, 2 * 16 * reads.outputs);
  }
}

TEST(Translator, EnergiesWithoutAChoiceDoNotReadTheWholeMemory) {
  const LocalWindow local;
  Subject subject("soft");
  subject.mechanism = &local;
  Translator<double> translator = subject.MakeTranslator();
  BeamAttention<double> attention(local, subject.config, subject.inputs);
  for (const Index beam : {1, 4}) {
    AttentionRecord<double> record(translator,
                                   {.source = kSource, .num_steps = 5}, beam);
    const AttentionReads reads = record.Reads(attention);
    EXPECT_EQ(reads.furthest, 5);
    EXPECT_EQ(reads.zero_contexts, 0);
    EXPECT_EQ(reads.energies, 1 + static_cast<double>(beam) * (2 + 3 + 3 + 3));
    const std::vector<double> delays = {1, 2, 3, 4, 5};
    EXPECT_EQ(reads.delays,
              std::vector<std::vector<double>>(Size(beam), delays));
  }
}

// The calls that are timed as attention alone are those of the model: every
// context is the same bits, so the next translation is too.
TEST(Translator, ARecordAsksTheAttentionForTheSame) {
  for (const std::string& name : Names()) {
    if (name == "none") continue;
    SCOPED_TRACE(name);
    const Subject subject(name);
    Translator<double> translator = subject.MakeTranslator();
    const TranslationTask task{.source = kSource, .num_steps = 7};
    BeamAttention<double> attention(*subject.mechanism, subject.config,
                                    subject.inputs);
    AttentionRecord<double> alone(translator, task, 1);
    EXPECT_EQ(alone.Reads(attention).outputs, 7);
    EXPECT_EQ(alone.memory_length(), 16);
    AttentionRecord<double> beam(translator, task, 4);
    const AttentionReads reads = beam.Reads(attention);
    EXPECT_EQ(reads.outputs, 1 + 6 * 4);
    if (name == "soft") {
      EXPECT_EQ(reads.energies, 16 * reads.outputs);
      EXPECT_EQ(reads.furthest, 16);
      EXPECT_EQ(reads.zero_contexts, 0);
    }
    if (name != "monotonic") continue;
    // The last hypotheses stand where those of the search did.
    std::vector<Index> positions;
    for (const StepResult<double>& one : attention.results()) {
      positions.push_back(one.position);
    }
    std::vector<Index> expected;
    for (const Translation& one : translator.BeamSearch(task, 4)) {
      expected.push_back(one.positions.back());
    }
    std::ranges::sort(positions);
    for (const Index position : expected) {
      EXPECT_TRUE(std::ranges::binary_search(positions, position));
    }
  }
}

// Says why there is no such translator; empty if there is one.
std::string Refusal(const Subject& subject) {
  try {
    subject.MakeTranslator();
    return {};
  } catch (const Unsupported& error) {
    return error.what();
  }
}

TEST(Translator, AnInputThatTheModelDoesNotMakeIsNamed) {
  Subject mocha("mocha");
  EXPECT_EQ(Refusal(mocha), "");
  mocha.config.energy = EnergyKind::kDot;
  EXPECT_EQ(Refusal(mocha),
            "under this energy it reads chunk_keys and chunk_states, which the "
            "model does not make");
  Subject newcomer("soft");
  const WithInput with_input(*newcomer.mechanism,
                             {.name = "gates", .shape = "Td"});
  newcomer.mechanism = &with_input;
  EXPECT_EQ(Refusal(newcomer), "it reads gates, which the model does not make");
}

TEST(Translator, AMechanismWhoseInputsAreGivenIsServed) {
  Subject subject("soft");
  const WithInput with_input(*subject.mechanism,
                             {.name = "gates", .shape = "Td"});
  subject.mechanism = &with_input;
  const std::vector<double> gates(Size(kSizes.units));
  subject.inputs.further.Set("gates", {gates.data(), 1, kSizes.units});
  EXPECT_EQ(Refusal(subject), "");
}

}  // namespace
}  // namespace attnbench
