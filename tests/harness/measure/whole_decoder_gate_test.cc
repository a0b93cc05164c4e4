// Guards against a gate of whole decoders that lets a defect of the beam, or of
// one mechanism, be timed.
#include "harness/measure/whole_decoder_gate.h"

#include <gmock/gmock.h>

#include <functional>
#include <utility>

#include "harness/measure/whole_decoder_inputs.h"
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
  void Append(const MatrixView<const float>& rows) override {
    good_->Append(rows);
  }
  void Close() override { good_->Close(); }
  StepResult<float> Step(std::span<const float> state,
                         std::span<float> context) override {
    return good_->Step(state, context);
  }
  void StepBeam(std::span<const float> states, std::span<Hypothesis> hypotheses,
                std::span<float> contexts,
                std::span<StepResult<float>> results) override {
    good_->StepBeam(states, hypotheses, contexts, results);
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
  const Description& Describe() const override { return good_.Describe(); }
  std::unique_ptr<Decoder<float>> MakeDecoder(
      const Config& config,
      const SequenceInputs<float>& inputs) const override {
    return std::make_unique<SpoiledDecoder>(good_.MakeDecoder(config, inputs),
                                            spoil_);
  }
  Operations Count(const Config& config,
                   const CountedWork& work) const override {
    return good_.Count(config, work);
  }

 private:
  const Mechanism<float>& good_;
  const Spoil spoil_;
};

struct Subject {
  explicit Subject(Scan scan = Scan::kRandom, const Counting& counting = {},
                   Index units = 24, Index layers = 2)
      : model({.vocabulary = 15, .units = units, .layers = layers}, 3, scan,
              counting) {
    for (const Index length : {0, 7, 45}) {
      std::vector<Symbol>& source = sources.emplace_back();
      for (Index t = 0; t < length; ++t) {
        source.push_back(kFirstSymbol + static_cast<Symbol>(t * t % 13));
      }
      tasks.push_back({.source = source});
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
    return decoder;
  }
  std::string Spoiled(const std::string& name, Spoil spoil) const {
    const SpoiledBeam spoiled(name, std::move(spoil));
    WholeDecoder decoder = Make(name, 4);
    decoder.mechanism = &spoiled;
    return CheckWholeDecoder(decoder, tasks).message;
  }

  const DecoderModel model;
  std::vector<std::vector<Symbol>> sources;
  std::vector<TranslationTask> tasks;
};

TEST(WholeDecoderGate, EveryMechanismPassesWellWithinTheBound) {
  for (const auto& [scan, layers] : {std::pair(Scan::kRandom, 2),
                                     {Scan::kCounting, 2},
                                     {Scan::kRandom, 1},
                                     {Scan::kRandom, 3}}) {
    SCOPED_TRACE(layers);
    const Subject subject(scan, {}, 24, layers);
    for (const char* name :
         {"none", "soft", "monotonic", "mocha", "matcha", "memory"}) {
      SCOPED_TRACE(name);
      for (const Index beam : {1, 4}) {
        const GateResult result =
            CheckWholeDecoder(subject.Make(name, beam), subject.tasks);
        EXPECT_EQ(result.message, "");
        EXPECT_GT(result.error, 0);
        EXPECT_LT(result.error, result.error_bound / 5);
      }
    }
  }
}

TEST(WholeDecoderGate, CatchesAForkThatForgetsWhereItStood) {
  EXPECT_THAT(Subject().Spoiled("monotonic",
                                [](std::span<Hypothesis> all, auto) {
                                  std::ranges::fill(all, Hypothesis());
                                }),
              Not(IsEmpty()));
}

TEST(WholeDecoderGate, CatchesRowsThatChangedPlaces) {
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

TEST(WholeDecoderGate, CatchesASlightlyWrongContext) {
  EXPECT_THAT(
      Subject().Spoiled("soft",
                        [](std::span<Hypothesis>, std::span<float> contexts) {
                          for (float& c : contexts) c *= 1.02F;
                        }),
      HasSubstr("log-probability"));
}

TEST(WholeDecoderGate, CatchesAContextThatIsNoNumber) {
  EXPECT_THAT(
      Subject().Spoiled("memory",
                        [](std::span<Hypothesis>, std::span<float> contexts) {
                          contexts[0] = std::nanf("");
                        }),
      Not(IsEmpty()));
}

// Both ways to decode alike wrong, so that only the reference tells.
TEST(WholeDecoderGate, CatchesAMechanismThatIsWrongAltogether) {
  const Subject subject;
  WholeDecoder decoder = subject.Make("soft", 4);
  decoder.mechanism = FindMechanism<float>("memory");
  decoder.config.options =
      testing::DefaultConfig(*decoder.mechanism, 24).options;
  decoder.config.options.merge(
      testing::DefaultConfig(*decoder.reference, 24).options);
  EXPECT_THAT(CheckWholeDecoder(decoder, subject.tasks).message,
              HasSubstr("in the reference"));
}

// Without gaps: a choice inspects the entry where the last one was, and where
// it takes the next one that too.
void ExpectPassed(double memory_share) {
  // As many features as take the noise out of the energies.
  const Subject subject(Scan::kCounting, {.entries_per_output = memory_share},
                        /*units=*/64);
  for (const char* name : {"monotonic", "mocha", "matcha"}) {
    for (const Index beam : {1, 4}) {
      const WholeDecoder decoder = subject.Make(name, beam);
      Translator<float> translator = decoder.MakeTranslator();
      BeamAttention<float> attention(*decoder.mechanism, decoder.config,
                                     subject.model.Inputs<float>());
      for (const Index length : {1, 2, 6, 19, 31, 200}) {
        SCOPED_TRACE(::testing::Message()
                     << name << ", beam " << beam << ", length " << length);
        const std::vector<Symbol> source = DrawSource(3, length, length, 15);
        const std::vector<Symbol> copy = CopyOf(source, length);
        AttentionRecord<float> record(translator, CopyTask(source, copy, 15),
                                      beam);
        const AttentionReads reads = record.Reads(attention);
        const auto T = static_cast<double>(length);
        const double last = std::floor(memory_share * (T - 0.5));
        EXPECT_EQ(reads.furthest, std::max(last, 0.0) + 1);
        EXPECT_EQ(reads.zero_contexts, 0);
        const double passed = static_cast<double>(beam) * reads.furthest;
        EXPECT_LE(reads.energies, reads.outputs + passed);
      }
    }
  }
}

TEST(DecoderModel, TheScanReadsTheMemoryWhileItMakesTheOutput) {
  ExpectPassed(1);
}

TEST(DecoderModel, TheScanPassesTheShareOfTheMemoryThatIsAskedFor) {
  for (const double share : {1.0 / 2, 1.0 / 3, 1.0 / 4, 1.0 / 10}) {
    SCOPED_TRACE(share);
    ExpectPassed(share);
  }
}

// AlignAtt reads f entries behind the one that a scan chooses, at once or while
// energies still rise.
TEST(DecoderModel, APolicyReadsTheMemoryWhileItMakesTheOutput) {
  for (const auto& [length, outputs] :
       {std::pair<Index, Index>{200, 20}, {400, 60}, {40, 80}, {300, 300}}) {
    const double entries =
        static_cast<double>(length) / static_cast<double>(outputs);
    const Subject subject(Scan::kAligned,
                          {.entries_per_output = entries, .longest = length},
                          /*units=*/64);
    for (const Index f : {1, 3}) {
      SCOPED_TRACE(::testing::Message()
                   << length << ", " << outputs << ", " << f);
      WholeDecoder decoder = subject.Make("soft", 4);
      decoder.config.options["policy"] = std::string("alignatt");
      decoder.config.options["f"] = f;
      EXPECT_EQ(CheckWholeDecoder(decoder, subject.tasks).message, "");
      Translator<float> translator = decoder.MakeTranslator();
      BeamAttention<float> attention(*decoder.mechanism, decoder.config,
                                     subject.model.Inputs<float>());
      const std::vector<Symbol> source = DrawSource(3, 1, length, 15);
      const std::vector<Symbol> copy = CopyOf(source, outputs);
      AttentionRecord<float> record(translator, CopyTask(source, copy, 15), 4);
      const AttentionReads reads = record.Reads(attention);
      EXPECT_GE(reads.furthest, 0.95 * static_cast<double>(length));
      for (const std::vector<double>& delays : reads.delays) {
        for (Index i = 0; i < outputs; ++i) {
          const double wanted = std::min(
              entries * static_cast<double>(i) + static_cast<double>(f),
              static_cast<double>(length));
          EXPECT_NEAR(delays[Size(i)], wanted, entries + 3) << i;
        }
      }
    }
  }
}

// Of T entries U outputs and the one of the end symbol choose entries with
// equal gaps, the last one the last entry.
TEST(DecoderModel, TheScanReadsTheMemoryWithAnyNumberOfOutputs) {
  for (const auto& [length, outputs] : {std::pair<Index, Index>{200, 20},
                                        {400, 60},
                                        {30, 2},
                                        {1500, 300},
                                        {40, 80},
                                        {700, 700}}) {
    SCOPED_TRACE(::testing::Message() << length << ", " << outputs);
    const double entries =
        static_cast<double>(length) / static_cast<double>(outputs);
    for (const Index layers : {1, 2, 3}) {
      const Subject subject(Scan::kCounting,
                            {.entries_per_output = entries, .longest = length},
                            /*units=*/64, layers);
      const WholeDecoder decoder = subject.Make("mocha", 4);
      Translator<float> translator = decoder.MakeTranslator();
      BeamAttention<float> attention(*decoder.mechanism, decoder.config,
                                     subject.model.Inputs<float>());
      const std::vector<Symbol> source = DrawSource(3, 1, length, 15);
      const std::vector<Symbol> copy = CopyOf(source, outputs);
      AttentionRecord<float> record(translator, CopyTask(source, copy, 15), 4);
      const AttentionReads reads = record.Reads(attention);
      EXPECT_GE(reads.furthest, static_cast<double>(length) - 1);
      EXPECT_EQ(reads.zero_contexts, 0);
      ASSERT_EQ(reads.delays.size(), 4U);
      for (const std::vector<double>& delays : reads.delays) {
        ASSERT_EQ(std::ssize(delays), outputs + 1);
        for (Index i = 0; i < outputs; ++i) {
          // The first entry behind e (i + 1 / 2) - 1 or so.
          const double wanted = entries * (static_cast<double>(i) + 0.5);
          EXPECT_NEAR(delays[Size(i)], wanted, entries / 2 + 2);
        }
      }
    }
  }
}

}  // namespace
}  // namespace attnbench
