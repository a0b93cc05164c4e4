#include "harness/measure/whole_decoder_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "harness/model/reference.h"
#include "mechanisms/energy/energy.h"

namespace attnbench {
namespace {

constexpr std::size_t kAloneSymbols = 17;     // more than a block of keys
constexpr std::size_t kReferenceSymbols = 3;  // which scalar loops translate

// The longest of the sources, cut; nothing is favoured. Captured energies are
// of so many outputs and no more.
TranslationTask Beginning(std::span<const TranslationTask> tasks,
                          std::size_t most) {
  TranslationTask task;
  for (const TranslationTask& one : tasks) {
    if (one.source.size() <= task.source.size()) continue;
    task.source = one.source;
    task.captured = one.captured;
  }
  task.source = task.source.first(std::min(most, task.source.size()));
  task.num_steps = static_cast<Index>(task.source.size()) + 1;
  if (task.captured == nullptr) return task;
  const Index outputs = task.captured->floats.Find(kEnergiesInput.name).rows;
  task.num_steps = std::min(task.num_steps, outputs);
  return task;
}

class DecoderGate {
 public:
  explicit DecoderGate(const WholeDecoder& decoder)
      : decoder_(decoder), translator_(decoder.MakeTranslator()) {}

  void CheckAlone(const TranslationTask& task) {
    const std::vector<Translation> found = Translate(task);
    for (const Translation* one : {&found.front(), &found.back()}) {
      Compare(*one, translator_.Force(task, one->symbols), "alone");
    }
  }

  void CheckReference(const TranslationTask& task) {
    const DecoderModel& model = *decoder_.model;
    const auto weights = model.Weights<double>(decoder_.mechanism != nullptr);
    const ReferenceEncoded encoded =
        ReferenceEncode(weights, model.sizes(), task.source);
    const std::vector<Translation> found = Translate(task);
    for (const Translation* one : {&found.front(), &found.back()}) {
      Compare(*one,
              ReferenceForce(weights, model.sizes(), decoder_.reference,
                             decoder_.config, model.Inputs<double>(), encoded,
                             task, one->symbols, one->positions),
              "in the reference");
    }
  }

  const GateResult& result() const { return result_; }

 private:
  void Fail(const std::string& message) {
    if (result_.message.empty()) result_.message = message;
  }

  // What would be timed.
  std::vector<Translation> Translate(const TranslationTask& task) {
    std::vector<Translation> found =
        translator_.BeamSearch(task, decoder_.beam);
    if (decoder_.beam == 1 &&
        translator_.Greedy(task) != found.front().symbols) {
      Fail("greedy and a beam of 1 emit different symbols");
    }
    for (std::size_t n = 1; n < found.size(); ++n) {
      if (!(found[n].log_probability <= found[n - 1].log_probability)) {
        Fail(fmt::format("hypothesis {} is less probable than the next", n));
      }
      if (found[n].symbols == found[n - 1].symbols) {
        Fail(fmt::format("hypotheses {} and {} are the same", n, n + 1));
      }
    }
    return found;
  }

  void Compare(const Translation& found, const Translation& other,
               const char* where) {
    const auto steps = static_cast<double>(found.symbols.size());
    const double bound = kStepError * (steps + 1);
    const double error =
        std::abs(found.log_probability - other.log_probability);
    result_.error_bound = std::max(result_.error_bound, bound);
    // Both written so that NaN is kept, and fails.
    if (!(error <= result_.error)) result_.error = error;
    if (!(error <= bound)) {
      Fail(fmt::format(
          "a hypothesis of {} symbols has log-probability {:.7g}, "
          "{} {:.7g}, bound of the difference {:.3g}",
          steps, found.log_probability, where, other.log_probability, bound));
    }
    const auto [a, b] = std::ranges::mismatch(found.positions, other.positions);
    if (a == found.positions.end() && b == other.positions.end()) return;
    Fail(fmt::format("output {} of a hypothesis chose another entry than {}",
                     a - found.positions.begin() + 1, where));
  }

  const WholeDecoder& decoder_;
  Translator<float> translator_;
  GateResult result_;
};

}  // namespace

Translator<float> WholeDecoder::MakeTranslator() const {
  return {model->Weights<float>(mechanism != nullptr), model->sizes(),
          mechanism, config, model->Inputs<float>()};
}

GateResult CheckWholeDecoder(const WholeDecoder& decoder,
                             std::span<const TranslationTask> tasks) {
  DecoderGate gate(decoder);
  gate.CheckReference({.source = {}, .num_steps = 1});
  gate.CheckReference(Beginning(tasks, kReferenceSymbols));
  gate.CheckAlone(Beginning(tasks, kAloneSymbols));
  return gate.result();
}

}  // namespace attnbench
