// The formula of wait_k.cc again, in scalar loops and a wider type: what each
// cell must agree with before it is timed.
#include <limits>

#include "mechanisms/soft/reference_softmax.h"
#include "mechanisms/soft/softmax_function.h"

namespace attnbench::wait_k {
namespace {

template <class Real>
class Reference final : public Decoder<Real> {
 public:
  Reference(const Config& config, const SequenceInputs<Real>& inputs)
      : k_(config.Option<Index>("wait")),
        e_(config, inputs, EnergyRole::kAttention) {}

  void Append(const MatrixView<const Real>& rows) override {
    memory_.Append(rows);
  }
  void Close() override { memory_.closed = true; }

  StepResult<Real> Step(std::span<const Real> s, std::span<Real> c) override {
    Index g = 0;
    while (g < memory_.T() && g < k_ + i_) ++g;
    if (g < k_ + i_ && !memory_.closed) return {.need_memory = true};
    weights_ = ReferenceSoftmax(e_, memory_, i_++, 0, g, s, c);
    return {.end = g, .inspected = g, .weights = weights_};
  }

 private:
  const Index k_;
  const ReferenceEnergy<Real> e_;
  ReferenceMemory<Real> memory_;
  std::vector<Real> weights_;
  Index i_ = 0;
};

// The softmax over the whole memory, in which entries that were not read have
// energy -inf.
template <class Number>
class ReferenceFunction final : public AttentionFunction<Number> {
 public:
  explicit ReferenceFunction(const Config& config)
      : k_(config.Option<Index>("wait")) {}
  bool has_chunk_energies() const override { return false; }
  void Forward(const ScoreTables<Number>& scores,
               const Expectation<Number>& out) override {
    softmax_->Forward(Masked(scores), out);
  }
  void Gradient(const ScoreTables<Number>& scores,
                const Cotangent<Number>& cotangent,
                const Expectation<Number>& out,
                const ScoreGradients<Number>& gradients) override {
    softmax_->Gradient(Masked(scores), cotangent, out, gradients);
  }

 private:
  ScoreTables<Number> Masked(ScoreTables<Number> scores) {
    const MatrixView<const Number> e = scores.choice;
    masked_.clear();
    for (Index i = 0; i < e.rows; ++i) {
      for (Index j = 0; j < e.cols; ++j) {
        masked_.push_back(
            j < k_ + i ? e(i, j) : -std::numeric_limits<Number>::infinity());
      }
    }
    scores.choice = {masked_.data(), e.rows, e.cols};
    return scores;
  }

  const Index k_;
  const std::unique_ptr<AttentionFunction<Number>> softmax_ =
      soft::MakeSoftmaxReference<Number>();
  std::vector<Number> masked_;
};

}  // namespace

template <class Real>
std::unique_ptr<Decoder<Real>> MakeReference(
    const Config& config, const SequenceInputs<Real>& inputs) {
  return std::make_unique<Reference<Real>>(config, inputs);
}
template <class Number>
std::unique_ptr<AttentionFunction<Number>> MakeReferenceFunction(
    const Config& config) {
  return std::make_unique<ReferenceFunction<Number>>(config);
}

template std::unique_ptr<Decoder<float>> MakeReference(
    const Config&, const SequenceInputs<float>&);
template std::unique_ptr<Decoder<double>> MakeReference(
    const Config&, const SequenceInputs<double>&);
template std::unique_ptr<AttentionFunction<double>> MakeReferenceFunction(
    const Config&);
template std::unique_ptr<AttentionFunction<long double>> MakeReferenceFunction(
    const Config&);

}  // namespace attnbench::wait_k
