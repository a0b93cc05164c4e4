#include "mechanisms/monotonic/hard_mechanism.h"

#include <algorithm>

#include "mechanisms/common/joined_rows.h"
#include "mechanisms/description.h"
#include "mechanisms/energy/energy.h"
#include "mechanisms/monotonic/banded_training.h"
#include "mechanisms/monotonic/choice.h"
#include "mechanisms/monotonic/hard_expectation.h"
#include "mechanisms/monotonic/reference_expectation.h"
#include "mechanisms/soft/softmax_context.h"
#include "mechanisms/training/noise.h"

namespace attnbench {
namespace {

template <class Real>
class HardDecoder final : public Decoder<Real> {
 public:
  HardDecoder(const Config& config, const SequenceInputs<Real>& inputs,
              ChunkRule rule)
      : end_(config.end),
        rule_(rule),
        energy_(MakeEnergy(config, inputs, EnergyRole::kAttention,
                           EnergyUse::kFew)),
        chunk_energy_(rule.has_energies()
                          ? MakeEnergy(config, inputs, EnergyRole::kChunk,
                                       rule.energy_use())
                          : nullptr),
        choice_(config, inputs, energy_->gives_probabilities()),
        softmax_(config.want_weights) {}

  void Append(const MatrixView<const Real>& rows) override {
    energy_->Append(rows);
    if (chunk_energy_) chunk_energy_->Append(rows);
    memory_.Append(rows);
  }
  void Close() override { closed_ = true; }

  StepResult<Real> Step(std::span<const Real> state,
                        std::span<Real> context) override {
    return MakeOutput(
        [&](Energy<Real>& energy) { energy.SetState(output_, state); },
        context);
  }

  // Projects the states of all hypotheses together, also of those that inspect
  // nothing any more; then each scans on from its own entry.
  void StepBeam(std::span<const Real> states, std::span<Hypothesis> hypotheses,
                std::span<Real> contexts,
                std::span<StepResult<Real>> results) override {
    ATTN_CHECK(closed_);
    const auto count = static_cast<Index>(hypotheses.size());
    energy_->SetStates(count, states);
    if (chunk_energy_) chunk_energy_->SetStates(count, states);
    const std::size_t dim = contexts.size() / hypotheses.size();
    for (Index n = 0; n < count; ++n) {
      const auto place = hypotheses[Size(n)].template Get<Place>();
      output_ = place.output;
      start_ = scan_ = place.start;
      results[Size(n)] =
          MakeOutput([&](Energy<Real>& energy) { energy.UseState(output_, n); },
                     contexts.subspan(Size(n) * dim, dim));
      results[Size(n)].weights = {};
      hypotheses[Size(n)].Set(Place{output_, start_});
    }
  }

 private:
  enum class Outcome { kChosen, kNone, kNeedMemory };
  // Says where a hypothesis stands.
  struct Place {
    Index output;
    Index start;
  };

  // Does what Step does; use_state(energy) makes the state of this output that
  // of the energy.
  template <class UseState>
  StepResult<Real> MakeOutput(const UseState& use_state,
                              std::span<Real> context) {
    const Outcome outcome = Scan(use_state);
    if (outcome == Outcome::kNeedMemory) return {.need_memory = true};
    StepResult<Real> result{.inspected = inspected_};
    if (outcome == Outcome::kChosen) {
      result.position = scan_;
      result.begin = rule_.Begin(start_, scan_);
      result.end = scan_ + 1;
      result.weights = Attend(use_state, result.begin, result.end, context);
      start_ = scan_;
    } else {
      std::fill(context.begin(), context.end(), Real{0});
      if (end_ == EndPolicy::kAbsorb) start_ = scan_;  // past the last entry
    }
    scan_ = start_;
    inspected_ = 0;
    ++output_;
    return result;
  }

  // Moves scan_ to the chosen entry, or past the last one there is.
  template <class UseState>
  Outcome Scan(const UseState& use_state) {
    const Index length = memory_.all().rows;
    bool state_is_set = false;
    for (; scan_ < length; ++scan_) {
      if (end_ == EndPolicy::kStayLast && scan_ + 1 == length) {
        return closed_ ? Outcome::kChosen : Outcome::kNeedMemory;
      }
      if (!state_is_set) {
        use_state(*energy_);
        state_is_set = true;
      }
      Real value;
      energy_->Evaluate(scan_, 1, &value);
      ++inspected_;
      if (choice_(value, output_, scan_)) return Outcome::kChosen;
    }
    return closed_ ? Outcome::kNone : Outcome::kNeedMemory;
  }

  template <class UseState>
  std::span<const Real> Attend(const UseState& use_state, Index begin,
                               Index end, std::span<Real> context) {
    if (chunk_energy_) {
      use_state(*chunk_energy_);
      return softmax_.Mix(*chunk_energy_, memory_.all(), begin, end, context);
    }
    const MatrixView<const Real>& memory = memory_.all();
    std::copy_n(memory.data + begin * memory.row_stride, context.size(),
                context.begin());
    return {&kOne, 1};
  }

  static constexpr Real kOne = 1;
  const EndPolicy end_;
  const ChunkRule rule_;
  std::unique_ptr<Energy<Real>> energy_;
  std::unique_ptr<Energy<Real>> chunk_energy_;
  const Choice<Real> choice_;
  SoftmaxContext<Real> softmax_;
  JoinedRows<Real> memory_;
  bool closed_ = false;
  Index output_ = 0;     // i
  Index start_ = 0;      // t(i-1): where the scan of this output begins
  Index scan_ = 0;       // j: the entry to inspect next
  Index inspected_ = 0;  // energies of this output so far
};

std::vector<OptionSpec> Options() {
  return {{.name = "threshold",
           .default_value = 0.5,
           .least = 0,
           .greatest = 1,
           .help = "an entry is chosen where p >= threshold"},
          {.name = "strict",
           .default_value = false,
           .help = "choose where p > threshold (MAD 2.5) instead"},
          {.name = "sample",
           .default_value = false,
           .help = "choose with probability p (MAD eq 8), no threshold"},
          NoiseOption(),
          KeysOption()};
}

// Flops of alpha for an entry: 1 - p, q (2) and alpha, by the recurrence;
// backwards the cotangent of alpha, dp (2) and dq (3). From energies it also
// takes the sigmoid and its complement (a division, an exp and an addition
// each), and backwards p (1 - p) (2).
constexpr double kSelectionForwardFlops = 4;
constexpr double kSelectionBackwardFlops = 6;
constexpr double kSigmoidForwardFlops = 6;
constexpr double kSigmoidBackwardFlops = 2;

}  // namespace

Description HardDescription(Description about, bool has_chunk_energies,
                            const std::vector<VariantSpec>& published) {
  about.modes = {Mode::kDecode, Mode::kExpect, Mode::kGradient};
  about.schedules = {Schedule::kOnline};
  about.variants = {
      {"exact", "the scan, energies when they are needed; its expectation"},
      {.name = "reference",
       .help = "the paper's algorithm in scalar loops",
       .is_reference = true,
       .counts_memory = false}};
  std::vector<VariantSpec> approximate = {
      {.name = kParallel,
       .help = "closed form of alpha (MAD C.1) with clipping, see option "
               "preset; what follows from alpha is exact"}};
  approximate.insert(approximate.end(), published.begin(), published.end());
  for (VariantSpec variant : approximate) {
    variant.modes = {Mode::kExpect, Mode::kGradient};
    variant.approximates = variant.bound.empty();
    about.variants.push_back(variant);
  }
  for (const auto& options : {Options(), ParallelOptions()}) {
    about.options.insert(about.options.end(), options.begin(), options.end());
  }
  about.forms = ParallelForms();
  about.scores = {{kProbabilitiesInput, kEnergiesInput}};
  if (has_chunk_energies) {
    about.scores.push_back({kChunkEnergiesInput});
    about.further = {kChunkKeysInput, kChunkStatesInput};
  }
  about.online = true;
  about.beam = true;
  return about;
}

template <class Real>
HardMechanism<Real>::HardMechanism(const Description& about, Rule rule,
                                   Reference reference,
                                   ChunkTraining<Real> training)
    : about_(about), rule_(rule), reference_(reference), training_(training) {}

template <class Real>
std::unique_ptr<Decoder<Real>> HardMechanism<Real>::MakeDecoder(
    const Config& config, const SequenceInputs<Real>& inputs) const {
  if (VariantOf(about_, config).is_reference) return reference_(config, inputs);
  return std::make_unique<HardDecoder<Real>>(config, inputs, rule_(config));
}

template <class Real>
std::unique_ptr<AttentionFunction<Real>> HardMechanism<Real>::MakeFunction(
    const Config& config) const {
  const VariantSpec& variant = VariantOf(about_, config);
  if (variant.approximates) {
    return MakePublishedExpectation(config, rule_(config).has_energies()
                                                ? training_.published
                                                : PublishedChunks<Real>());
  }
  if (!HasMode(variant, Mode::kExpect)) {
    throw Unsupported("variant " + variant.name + " has no expectation");
  }
  return MakeHardExpectation<Real>(config, training_.exact);
}

template <class Real>
void HardMechanism<Real>::Expect(const Config& config,
                                 const Sequence<Real>& sequence,
                                 const Expectation<Real>& out) const {
  if (VariantOf(about_, config).is_reference) {
    const auto function =
        MakeReferenceExpectation<Wider<Real>>(config, rule_(config));
    return ExpectByReference(*function, config, sequence, out);
  }
  MakeTrainer(config)->Expect(sequence, out);
}

template <class Real>
void HardMechanism<Real>::Gradient(const Config& config,
                                   const Sequence<Real>& sequence,
                                   const Cotangent<Real>& cotangent,
                                   const Expectation<Real>& out,
                                   const Gradients<Real>& gradients) const {
  if (VariantOf(about_, config).is_reference) {
    const auto function =
        MakeReferenceExpectation<Wider<Real>>(config, rule_(config));
    return GradientByReference(*function, config, sequence, cotangent, out,
                               gradients);
  }
  MakeTrainer(config)->Gradient(sequence, cotangent, out, gradients);
}

template <class Real>
std::unique_ptr<SequenceTrainer<Real>> HardMechanism<Real>::MakeTrainer(
    const Config& config) const {
  if (VariantOf(about_, config).is_reference) {
    return Mechanism<Real>::MakeTrainer(config);
  }
  if (config.variant == kBanded) {
    return MakeBandedTrainer(config, training_.exact);
  }
  return std::make_unique<FunctionTrainer<Real>>(config, MakeFunction(config));
}

template <class Real>
Operations HardMechanism<Real>::Count(const Config& config,
                                      const CountedWork& work) const {
  const ChunkRule rule = rule_(config);
  if (config.mode != Mode::kDecode) {
    FunctionCost cost = rule.has_energies()
                            ? training_.cost(config, work.memory_length)
                            : FunctionCost();
    if (work.band != nullptr && work.band->energies > 0) {
      // CountTraining counts by energies, and chunks have their own number.
      const double share = work.band->chunk_energies / work.band->energies;
      cost.forward *= share;
      cost.backward *= share;
    }
    cost.forward += kSelectionForwardFlops;
    cost.backward += kSelectionBackwardFlops;
    // Scores that are given are taken to be probabilities.
    if (!work.scores_given) {
      cost.forward += kSigmoidForwardFlops;
      cost.backward += kSigmoidBackwardFlops;
    }
    return CountTraining<Real>(config, work, rule.has_energies(), cost);
  }
  const EnergyCost energy = CostOfEnergy(config, EnergyRole::kAttention,
                                         EnergyUse::kFew, work.scores_given);
  const EnergyCost chunk = CostOfEnergy(config, EnergyRole::kChunk,
                                        rule.energy_use(), work.scores_given);
  const auto d = static_cast<double>(config.dim);
  const auto T = static_cast<double>(work.memory_length);
  Operations total;
  total.flops = T * energy.flops_per_entry;
  total.memory_rows = T * energy.rows_per_entry;
  double other_rows = 0;  // states, parameters and contexts
  if (rule.has_energies()) {
    total.flops += T * chunk.flops_per_entry;
    total.memory_rows += T * chunk.rows_per_entry;
  }
  for (const StepTrace& step : work.steps) {
    const auto inspected = static_cast<double>(step.inspected);
    total.energies += inspected;
    // Each is also compared with the threshold.
    total.flops += inspected * (energy.flops_per_energy + 1);
    total.memory_rows += inspected * energy.rows_per_energy;
    other_rows += inspected * energy.parameter_rows_per_energy;
    if (step.inspected > 0) {
      total.flops += energy.flops_per_state;
      other_rows += energy.rows_per_state;
    }
    other_rows += 1;  // the context, written
    if (step.position < 0) continue;
    const auto width = static_cast<double>(step.end - step.begin);
    if (!rule.has_energies()) {
      total.memory_rows += 1;  // the chosen entry, copied
      continue;
    }
    total.chunk_energies += width;
    total.flops += chunk.flops_per_state + width * chunk.flops_per_energy +
                   SoftmaxContextFlops(width, d);
    total.memory_rows += SoftmaxContextRows(width, chunk);
    other_rows +=
        chunk.rows_per_state + width * chunk.parameter_rows_per_energy;
  }
  total.bytes = sizeof(Real) * d * (total.memory_rows + other_rows);
  return total;
}

template class HardMechanism<float>;
template class HardMechanism<double>;

}  // namespace attnbench
