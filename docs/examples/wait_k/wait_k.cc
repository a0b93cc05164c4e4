// Wait-k (Ma et al. 2019, section 3.1) as a mechanism of attnbench: energies, a
// scan, and training. Output i weighs the entries that were read by then, which
// are the first g(i) = min(k + i - 1, T):
//
//   c(i) = sum over j = 1..g(i) of softmax(e(i, 1..g(i)))_j h(j)
//
// k is option `wait`. With k >= T it is soft attention. An output takes
// O(g(i) d), and nothing is clipped.
#include <algorithm>
#include <memory>

#include "mechanisms/common/joined_rows.h"
#include "mechanisms/description.h"
#include "mechanisms/soft/softmax_context.h"
#include "mechanisms/soft/softmax_function.h"

namespace attnbench::wait_k {

// The oracles, in wait_k_reference.cc, which shares no code with this file.
template <class Real>
std::unique_ptr<Decoder<Real>> MakeReference(
    const Config& config, const SequenceInputs<Real>& inputs);
template <class Number>
std::unique_ptr<AttentionFunction<Number>> MakeReferenceFunction(
    const Config& config);

namespace {

// g(i), for outputs that are counted from 0.
Index NumRead(Index wait, Index i, Index T) { return std::min(wait + i, T); }

// ---- decoding ---------------------------------------------------------------

template <class Real>
class WaitKDecoder final : public Decoder<Real> {
 public:
  WaitKDecoder(const Config& config, const SequenceInputs<Real>& inputs)
      : wait_(config.Option<Index>("wait")),
        energy_(MakeEnergy(config, inputs, EnergyRole::kAttention,
                           EnergyUse::kMany)),
        softmax_(config.want_weights) {}

  void Append(const MatrixView<const Real>& rows) override {
    energy_->Append(rows);
    memory_.Append(rows);
  }
  void Close() override { closed_ = true; }

  // The scan goes to the last entry that this output waits for. Nothing may
  // change before it is there, as the caller comes again with the same state. A
  // scan that energies decide keeps how far it came, and the state of the
  // output, between the calls (monotonic/hard_mechanism.cc).
  StepResult<Real> Step(std::span<const Real> state,
                        std::span<Real> context) override {
    if (memory_.all().rows < wait_ + output_ && !closed_) {
      return {.need_memory = true};
    }
    energy_->SetState(output_, state);
    return Attend(output_++, context);
  }

  // Only a beam of several hypotheses needs this, and `beam` in About. What a
  // hypothesis has to remember is the number of its next output.
  void StepBeam(std::span<const Real> states, std::span<Hypothesis> hypotheses,
                std::span<Real> contexts,
                std::span<StepResult<Real>> results) override {
    energy_->SetStates(std::ssize(hypotheses), states);
    const std::size_t d = contexts.size() / hypotheses.size();
    for (std::size_t r = 0; r < hypotheses.size(); ++r) {
      const auto i = hypotheses[r].Get<Index>();
      energy_->UseState(i, static_cast<Index>(r));
      results[r] = Attend(i, contexts.subspan(r * d, d));
      hypotheses[r].Set(i + 1);
    }
  }

 private:
  StepResult<Real> Attend(Index i, std::span<Real> context) {
    const Index end = NumRead(wait_, i, memory_.all().rows);
    const std::span<const Real> weights =
        softmax_.Mix(*energy_, memory_.all(), 0, end, context);
    return {.end = end, .inspected = end, .weights = weights};
  }

  const Index wait_;
  std::unique_ptr<Energy<Real>> energy_;
  SoftmaxContext<Real> softmax_;
  JoinedRows<Real> memory_;
  Index output_ = 0;
  bool closed_ = false;
};

// ---- training ---------------------------------------------------------------

// The step from energies to attention, and back:
//   dL/de(j) = a(j) (d(j) - sum over l of a(l) d(l)) for dL/da = d.
template <class Real>
class WaitKFunction final : public AttentionFunction<Real> {
 public:
  explicit WaitKFunction(const Config& config)
      : wait_(config.Option<Index>("wait")) {}
  bool has_chunk_energies() const override { return false; }

  void Forward(const ScoreTables<Real>& scores,
               const Expectation<Real>& out) override {
    for (Index i = 0; i < scores.choice.rows; ++i) {
      ForwardRow(i, scores.choice.Row(i), out.attention.Row(i));
    }
  }

  void Gradient(const ScoreTables<Real>& scores,
                const Cotangent<Real>& cotangent, const Expectation<Real>& out,
                const ScoreGradients<Real>& gradients) override {
    std::ranges::fill(gradients.start, Real{0});
    unwanted_.resize(Size(scores.choice.cols));
    for (Index i = 0; i < scores.choice.rows; ++i) {
      const std::span<Real> attention = out.attention.data == nullptr
                                            ? std::span<Real>(unwanted_)
                                            : out.attention.Row(i);
      const Index n = ForwardRow(i, scores.choice.Row(i), attention);
      const std::span<Real> row = gradients.choice.Row(i);
      kernels_.softmax_backward(
          attention.data(), cotangent.attention.Row(i).data(), n, row.data());
      std::fill(row.begin() + n, row.end(), Real{0});
    }
  }

 private:
  // Gives the number of entries that were read.
  Index ForwardRow(Index i, std::span<const Real> energies,
                   std::span<Real> attention) const {
    const Index n = NumRead(wait_, i, std::ssize(energies));
    std::fill(attention.begin() + n, attention.end(), Real{0});
    if (n == 0) return n;
    const Real* const e = energies.data();
    const Real sum =
        kernels_.exp_sum(e, kernels_.largest(e, n), n, attention.data());
    kernels_.scale(1 / sum, n, attention.data());
    return n;
  }

  const Kernels<Real>& kernels_ = BestKernels<Real>();
  const Index wait_;
  Buffer<Real> unwanted_;
};

// ---- the mechanism ----------------------------------------------------------

const Description& About() {
  static const Description about = {
      .name = "wait_k",
      .title = "wait-k",
      .paper = "Ma et al. 2019, section 3.1",
      .axes = {"energy"},
      .modes = {Mode::kDecode, Mode::kExpect, Mode::kGradient},
      .schedules = {Schedule::kOnline},
      .variants = {{"exact", "softmax over the entries that were read"},
                   {.name = "reference",
                    .help = "the formula in scalar loops",
                    .is_reference = true,
                    .counts_memory = false}},
      .options = {{.name = "wait",
                   .default_value = std::int64_t{3},
                   .least = 1,
                   .help = "k, entries that the first output waits for",
                   .verified = {std::int64_t{1}, std::int64_t{3}}},
                  KeysOption()},
      .scores = {{kEnergiesInput}},
      .online = true,
      .beam = true};
  return about;
}

template <class Real>
class WaitK final : public Mechanism<Real> {
 public:
  const Description& Describe() const override { return About(); }

  std::unique_ptr<Decoder<Real>> MakeDecoder(
      const Config& config, const SequenceInputs<Real>& inputs) const override {
    CheckScores(inputs);
    if (VariantOf(About(), config).is_reference) {
      return MakeReference(config, inputs);
    }
    return std::make_unique<WaitKDecoder<Real>>(config, inputs);
  }

  void Expect(const Config& config, const Sequence<Real>& sequence,
              const Expectation<Real>& out) const override {
    CheckScores(sequence.inputs);
    if (VariantOf(About(), config).is_reference) {
      return ExpectByReference(*MakeReferenceFunction<Wider<Real>>(config),
                               config, sequence, out);
    }
    WaitKFunction<Real> function(config);
    ExpectByFunction(function, config, sequence, out);
  }
  void Gradient(const Config& config, const Sequence<Real>& sequence,
                const Cotangent<Real>& cotangent, const Expectation<Real>& out,
                const Gradients<Real>& gradients) const override {
    CheckScores(sequence.inputs);
    if (VariantOf(About(), config).is_reference) {
      return GradientByReference(*MakeReferenceFunction<Wider<Real>>(config),
                                 config, sequence, cotangent, out, gradients);
    }
    WaitKFunction<Real> function(config);
    GradientByFunction(function, config, sequence, cotangent, out, gradients);
  }

  Operations Count(const Config& config,
                   const CountedWork& work) const override {
    if (config.mode != Mode::kDecode) {
      return CountTraining<Real>(config, work, /*has_chunk_energies=*/false,
                                 soft::kSoftmaxCost);
    }
    return CountSoftmaxDecoding<Real>(config, work);
  }

 private:
  // Every workload offers its scores; this mechanism can start from one kind.
  static void CheckScores(const SequenceInputs<Real>& inputs) {
    if (inputs.scores.Find(kProbabilitiesInput.name).data != nullptr) {
      throw Unsupported("wait-k takes energies, not p_choose");
    }
  }
};

}  // namespace

template <class Real>
std::unique_ptr<const Mechanism<Real>> MakeMechanism() {
  return std::make_unique<WaitK<Real>>();
}

template std::unique_ptr<const Mechanism<float>> MakeMechanism();
template std::unique_ptr<const Mechanism<double>> MakeMechanism();

}  // namespace attnbench::wait_k
