// Guards against a gate of whole decoders that lets a defect of the beam, or of
// one mechanism, be timed.
#include "harness/decoder_gate.h"

#include <gmock/gmock.h>

#include <functional>
#include <utility>

#include "harness/decoder_bias.h"
#include "harness/decoder_experiment.h"
#include "harness/decoder_ratios.h"
#include "harness/model/attention_record.h"
#include "tests/support/drawn_inputs.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Called with what a beam's step has made.
using Spoil = std::function<void(std::span<Hypothesis>, std::span<float>)>;

class SpoiledDecoder final : public Decoder<float> {
 public:
  SpoiledDecoder(std::unique_ptr<Decoder<float>> good, const Spoil& spoil)
      : good_(std::move(good)), spoil_(spoil) {}
  void Append(const MemoryRows<float>& rows) override { good_->Append(rows); }
  void Close() override { good_->Close(); }
  StepResult<float> Step(const DecoderState<float>& state,
                         std::span<float> context) override {
    return good_->Step(state, context);
  }
  void StepBeam(const DecoderState<float>& states,
                std::span<Hypothesis> hypotheses,
                std::span<float> contexts) override {
    good_->StepBeam(states, hypotheses, contexts);
    spoil_(hypotheses, contexts);
  }

 private:
  const std::unique_ptr<Decoder<float>> good_;
  const Spoil& spoil_;
};

class SpoiledBeam final : public Mechanism<float> {
 public:
  SpoiledBeam(const std::string& name, Spoil spoil)
      : good_(*FindMechanism<float>(name)), spoil_(std::move(spoil)) {}
  Description Describe() const override { return good_.Describe(); }
  std::unique_ptr<Decoder<float>> MakeDecoder(
      const Config& config,
      const SequenceInputs<float>& inputs) const override {
    return std::make_unique<SpoiledDecoder>(good_.MakeDecoder(config, inputs),
                                            spoil_);
  }
  Operations Count(const Config& config, Index memory_length,
                   std::span<const StepTrace> steps) const override {
    return good_.Count(config, memory_length, steps);
  }

 private:
  const Mechanism<float>& good_;
  const Spoil spoil_;
};

struct Subject {
  Subject() {
    for (const Index length : {0, 7, 45}) {
      std::vector<Symbol> source;
      for (Index t = 0; t < length; ++t) {
        source.push_back(kFirstSymbol + static_cast<Symbol>(t * t % 13));
      }
      tasks.emplace_back(source, model.sizes().vocabulary);
    }
  }
  WholeDecoder Make(const std::string& name, Index beam) const {
    WholeDecoder decoder{.model = &model, .config = {}, .beam = beam};
    if (name == "none") return decoder;
    decoder.mechanism = FindMechanism<float>(name);
    decoder.reference = FindMechanism<double>(name);
    decoder.config =
        testing::DefaultConfig(*decoder.reference, model.sizes().units);
    decoder.config.energy = EnergyKind::kAdditive;
    // Of the longest.
    decoder.energy_bias = SourceBiases(decoder, tasks).back();
    return decoder;
  }
  std::string Spoiled(const std::string& name, Spoil spoil) const {
    const SpoiledBeam spoiled(name, std::move(spoil));
    WholeDecoder decoder = Make(name, 4);
    decoder.mechanism = &spoiled;
    return CheckDecoder(decoder, tasks).message;
  }

  const DecoderModel model{{.vocabulary = 15, .units = 24}, 3};
  std::vector<CopyTask> tasks;
};

TEST(DecoderGate, EveryMechanismPassesWellWithinTheBound) {
  const Subject subject;
  for (const char* name :
       {"none", "soft", "monotonic", "mocha", "matcha", "memory"}) {
    SCOPED_TRACE(name);
    for (const Index beam : {1, 4}) {
      const GateResult result =
          CheckDecoder(subject.Make(name, beam), subject.tasks);
      EXPECT_EQ(result.message, "");
      EXPECT_GT(result.error, 0);
      EXPECT_LT(result.error, result.error_bound / 5);
    }
  }
}

TEST(DecoderGate, CatchesAForkThatForgetsWhereItStood) {
  EXPECT_THAT(Subject().Spoiled("monotonic",
                                [](std::span<Hypothesis> all, auto) {
                                  for (Hypothesis& one : all) one.start = 0;
                                }),
              Not(IsEmpty()));
}

TEST(DecoderGate, CatchesRowsThatChangedPlaces) {
  for (const char* name : {"soft", "memory", "mocha"}) {
    EXPECT_THAT(Subject().Spoiled(
                    name,
                    [](std::span<Hypothesis> all, std::span<float> contexts) {
                      if (all.size() < 2) return;
                      const auto dim = static_cast<std::ptrdiff_t>(
                          contexts.size() / all.size());
                      std::swap_ranges(contexts.begin(), contexts.begin() + dim,
                                       contexts.end() - dim);
                    }),
                HasSubstr("log-probability"))
        << name;
  }
}

TEST(DecoderGate, CatchesASlightlyWrongContext) {
  EXPECT_THAT(
      Subject().Spoiled("soft",
                        [](std::span<Hypothesis>, std::span<float> contexts) {
                          for (float& c : contexts) c *= 1.02F;
                        }),
      HasSubstr("log-probability"));
}

TEST(DecoderGate, CatchesAContextThatIsNoNumber) {
  EXPECT_THAT(
      Subject().Spoiled("memory",
                        [](std::span<Hypothesis>, std::span<float> contexts) {
                          contexts[0] = std::nanf("");
                        }),
      Not(IsEmpty()));
}

// Both ways to decode alike wrong, so that only the reference tells.
TEST(DecoderGate, CatchesAMechanismThatIsWrongAltogether) {
  const Subject subject;
  WholeDecoder decoder = subject.Make("soft", 4);
  decoder.mechanism = FindMechanism<float>("memory");
  decoder.config.options =
      testing::DefaultConfig(*decoder.mechanism, 24).options;
  decoder.config.options.merge(
      testing::DefaultConfig(*decoder.reference, 24).options);
  EXPECT_THAT(CheckDecoder(decoder, subject.tasks).message,
              HasSubstr("in the reference"));
}

struct Share {
  double read = 0;   // of the memory
  double empty = 0;  // of the outputs of sources that have entries
};

// `more` on top of the biases.
Share ShareOf(const Subject& subject, const WholeDecoder& decoder,
              std::span<const CopyTask> tasks, double more) {
  const std::vector<double> biases = SourceBiases(decoder, tasks);
  Translator<float> translator = decoder.MakeTranslator();
  BeamAttention<float> attention(*decoder.mechanism, decoder.config,
                                 subject.model.Inputs<float>(0));
  double entries = 0, outputs = 0;
  Share share;
  for (std::size_t n = 0; n < tasks.size(); ++n) {
    if (tasks[n].length() == 0) continue;
    TranslationTask task = tasks[n].task();
    task.energy_bias = biases[n] + more;
    AttentionRecord<float> record(translator, task, decoder.beam);
    const AttentionReads reads = record.Reads(attention);
    entries += static_cast<double>(tasks[n].length());
    outputs += reads.outputs;
    share.read += reads.furthest;
    share.empty += reads.zero_contexts;
  }
  return {share.read / entries, share.empty / outputs};
}

// With a smaller bias scans run off at once, with a larger one they stand
// still; and one for all sources does the one here and the other there.
TEST(DecoderBias, TheScanReadsTheMemoryWhileItMakesTheOutput) {
  const Subject subject;
  std::vector<CopyTask> tasks;
  for (const Index length : {0, 6, 19, 31, 44}) {
    tasks.emplace_back(DrawSource(3, length, length, 15), 15);
  }
  for (const char* name : {"monotonic", "mocha", "matcha"}) {
    SCOPED_TRACE(name);
    const WholeDecoder decoder = subject.Make(name, 1);
    const Share share = ShareOf(subject, decoder, tasks, 0);
    EXPECT_GE(share.read, kLeastMemoryRead);
    EXPECT_LE(share.empty, kMostZeroContexts);
    EXPECT_GT(ShareOf(subject, decoder, tasks, -30).empty, 0.9);
    EXPECT_LT(ShareOf(subject, decoder, tasks, 30).read, 0.2);
  }
  EXPECT_THAT(SourceBiases(subject.Make("soft", 1), tasks),
              ::testing::Each(0.0));
}

}  // namespace
}  // namespace attnbench
