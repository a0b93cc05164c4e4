#include "mechanisms/soft/soft.h"

#include "mechanisms/common/eigen_views.h"
#include "mechanisms/common/joined_rows.h"
#include "mechanisms/description.h"
#include "mechanisms/published/published.h"
#include "mechanisms/soft/alignatt.h"
#include "mechanisms/soft/softmax_context.h"
#include "mechanisms/soft/softmax_function.h"

namespace attnbench::soft {
namespace {

// contexts = softmax of each row of `energies`, which become the weights, times
// the memory.
template <class Real>
void MixRows(const Kernels<Real>& kernels, const MatrixView<Real>& energies,
             const MatrixView<const Real>& memory, std::span<Real> contexts) {
  for (Index i = 0; i < energies.rows; ++i) {
    Real* row = energies.Row(i).data();
    const Real sum = kernels.exp_sum(row, kernels.largest(row, energies.cols),
                                     energies.cols, row);
    kernels.scale(1 / sum, energies.cols, row);
  }
  Map(MatrixView<Real>(contexts.data(), energies.rows, memory.cols)).noalias() =
      Map(MatrixView<const Real>(energies)) * Map(memory);
}

template <class Real>
class OnlineDecoder final : public Decoder<Real> {
 public:
  OnlineDecoder(const Config& config, const SequenceInputs<Real>& inputs)
      : energy_(MakeEnergy(config, inputs, EnergyRole::kAttention,
                           EnergyUse::kMany)),
        softmax_(config.want_weights) {}

  void Append(const MatrixView<const Real>& rows) override {
    energy_->Append(rows);
    memory_.Append(rows);
  }
  void Close() override { closed_ = true; }

  StepResult<Real> Step(std::span<const Real> state,
                        std::span<Real> context) override {
    if (!closed_) return {.need_memory = true};
    const Index length = memory_.all().rows;
    if (length > 0) energy_->SetState(output_, state);
    ++output_;
    const std::span<const Real> weights =
        softmax_.Mix(*energy_, memory_.all(), 0, length, context);
    return {.end = length, .inspected = length, .weights = weights};
  }

  // A block of keys stays in the first-level cache while every hypothesis takes
  // its energies, and the contexts are one matrix product.
  void StepBeam(std::span<const Real> states, std::span<Hypothesis> hypotheses,
                std::span<Real> contexts,
                std::span<StepResult<Real>> results) override {
    ATTN_CHECK(closed_);
    const Index length = memory_.all().rows;
    const auto count = static_cast<Index>(hypotheses.size());
    if (length == 0) {
      std::fill(contexts.begin(), contexts.end(), Real{0});
    } else {
      weights_.resize(Size(count * length));
      energy_->SetStates(count, states);
      for (Index first = 0; first < length; first += kBlock) {
        for (Index n = 0; n < count; ++n) {
          energy_->UseState(hypotheses[Size(n)].template Get<Index>(), n);
          energy_->Evaluate(first, std::min(kBlock, length - first),
                            &weights_[Size(n * length + first)]);
        }
      }
      MixRows(kernels_, MatrixView<Real>(weights_.data(), count, length),
              memory_.all(), contexts);
    }
    for (Hypothesis& hypothesis : hypotheses) {
      hypothesis.Set(hypothesis.Get<Index>() + 1);
    }
    std::ranges::fill(results,
                      StepResult<Real>{.end = length, .inspected = length});
  }

 private:
  static constexpr Index kBlock = 16;  // keys of d = 256 in f32: 16 KiB
  const Kernels<Real>& kernels_ = BestKernels<Real>();
  std::unique_ptr<Energy<Real>> energy_;
  SoftmaxContext<Real> softmax_;
  JoinedRows<Real> memory_;
  UnsetBuffer<Real> weights_;  // of a beam, [n, T]
  Index output_ = 0;
  bool closed_ = false;
};

// Makes all U outputs in one Step.
template <class Real>
class TeacherForcedDecoder final : public Decoder<Real> {
 public:
  TeacherForcedDecoder(const Config& config, const SequenceInputs<Real>& inputs)
      : kernels_(BestKernels<Real>()),
        dim_(config.dim),
        energy_(MakeEnergy(config, inputs, EnergyRole::kAttention,
                           EnergyUse::kMany)) {}

  void Append(const MatrixView<const Real>& rows) override {
    energy_->Append(rows);
    memory_.Append(rows);
  }
  void Close() override { closed_ = true; }

  StepResult<Real> Step(std::span<const Real> states,
                        std::span<Real> contexts) override {
    if (!closed_) return {.need_memory = true};
    const Index length = memory_.all().rows;
    const Index num_outputs = static_cast<Index>(contexts.size()) / dim_;
    if (length == 0) {
      std::fill(contexts.begin(), contexts.end(), Real{0});
      return {};
    }
    weights_.resize(Size(num_outputs * length));
    const MatrixView<Real> weights(weights_.data(), num_outputs, length);
    energy_->EvaluateAll(states, weights);
    MixRows(kernels_, weights, memory_.all(), contexts);
    return {
        .end = length, .inspected = num_outputs * length, .weights = weights_};
  }

 private:
  const Kernels<Real>& kernels_;
  const Index dim_;
  std::unique_ptr<Energy<Real>> energy_;
  JoinedRows<Real> memory_;
  UnsetBuffer<Real> weights_;
  bool closed_ = false;
};

std::vector<OptionSpec> Options() {
  std::vector<OptionSpec> options = PolicyOptions();
  options.push_back(KeysOption());
  return options;
}

const Description& About() {
  static const Description about = {
      .name = "soft",
      .title = "soft attention",
      .paper = "Raffel et al. 2017, 2.1, eqs 2-3; Bahdanau et al. 2015",
      .axes = {"energy"},
      .modes = {Mode::kDecode, Mode::kExpect, Mode::kGradient},
      .schedules = {Schedule::kOnline, Schedule::kTeacherForced},
      .variants = {{"exact", "softmax over the whole memory"},
                   {.name = "reference",
                    .help = "eqs 2 and 3 in scalar loops",
                    .is_reference = true,
                    .counts_memory = false},
                   published::VariantO3(),
                   published::VariantO0()},
      .options = Options(),
      .scores = {{kEnergiesInput}},
      .online = false,
      .beam = true};
  return about;
}

template <class Real>
class Soft final : public Mechanism<Real> {
 public:
  const Description& Describe() const override { return About(); }

  std::unique_ptr<Decoder<Real>> MakeDecoder(
      const Config& config, const SequenceInputs<Real>& inputs) const override {
    CheckScores(inputs);
    const bool is_reference = VariantOf(About(), config).is_reference;
    const bool is_published = published::IsPublished(config.variant);
    if (HasPolicy(About(), config)) {
      if (is_published || config.schedule != Schedule::kOnline) {
        throw Unsupported(
            "policy alignatt has schedule online, and variants exact and "
            "reference only");
      }
      return is_reference ? MakeAlignAttReference(config, inputs)
                          : MakeAlignAttDecoder(config, inputs);
    }
    if (config.schedule == Schedule::kTeacherForced) {
      if (is_reference || is_published) {
        throw Unsupported("schedule teacher_forced has variant exact only");
      }
      return std::make_unique<TeacherForcedDecoder<Real>>(config, inputs);
    }
    if (is_reference) return MakeReference(config, inputs);
    if (is_published) {
      return published::MakeSoftDecoder(config, inputs);
    }
    return std::make_unique<OnlineDecoder<Real>>(config, inputs);
  }

  // What training computes is what decoding does without a policy (MAD eqs 2
  // and 3).
  void Expect(const Config& config, const Sequence<Real>& sequence,
              const Expectation<Real>& out) const override {
    CheckScores(sequence.inputs);
    if (VariantOf(About(), config).is_reference) {
      return ExpectByReference(*MakeSoftmaxReference<Wider<Real>>(), config,
                               sequence, out);
    }
    ExpectByFunction(*MakeSoftmaxFunction<Real>(), config, sequence, out);
  }
  void Gradient(const Config& config, const Sequence<Real>& sequence,
                const Cotangent<Real>& cotangent, const Expectation<Real>& out,
                const Gradients<Real>& gradients) const override {
    CheckScores(sequence.inputs);
    if (VariantOf(About(), config).is_reference) {
      return GradientByReference(*MakeSoftmaxReference<Wider<Real>>(), config,
                                 sequence, cotangent, out, gradients);
    }
    GradientByFunction(*MakeSoftmaxFunction<Real>(), config, sequence,
                       cotangent, out, gradients);
  }

  Operations Count(const Config& config,
                   const CountedWork& work) const override {
    if (config.mode != Mode::kDecode) {
      return CountTraining<Real>(config, work, /*has_chunk_energies=*/false,
                                 kSoftmaxCost);
    }
    return CountSoftmaxDecoding<Real>(config, work);
  }

 private:
  static void CheckScores(const SequenceInputs<Real>& inputs) {
    if (inputs.scores.Find(kProbabilitiesInput.name).data != nullptr) {
      throw Unsupported("soft attention takes energies, not p_choose");
    }
  }
};

}  // namespace

template <class Real>
std::unique_ptr<const Mechanism<Real>> MakeMechanism() {
  return std::make_unique<Soft<Real>>();
}

template std::unique_ptr<const Mechanism<float>> MakeMechanism();
template std::unique_ptr<const Mechanism<double>> MakeMechanism();

}  // namespace attnbench::soft
