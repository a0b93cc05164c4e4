#include "mechanisms/monotonic/hard_expectation.h"

#include <algorithm>

#include "mechanisms/kernels/kernels.h"
#include "mechanisms/monotonic/selection.h"

namespace attnbench {
namespace {

template <class Real>
class HardExpectation final : public AttentionFunction<Real> {
 public:
  HardExpectation(const Config& config,
                  std::unique_ptr<ChunkExpectation<Real>> chunk)
      : kernels_(BestKernels<Real>()),
        end_(config.end),
        chunk_(std::move(chunk)) {}

  bool has_chunk_energies() const override { return chunk_ != nullptr; }

  void Forward(const ScoreTables<Real>& scores,
               const Expectation<Real>& out) override {
    Prepare(scores);
    for (Index i = 0; i < scores.choice.rows; ++i) {
      ForwardRow(scores, i, out, start_, next_);
      std::swap(start_, next_);
    }
  }

  void Gradient(const ScoreTables<Real>& scores,
                const MatrixView<const Real>& d_attention,
                const Expectation<Real>& out,
                const ScoreGradients<Real>& gradients) override {
    const Index U = scores.choice.rows;
    const std::size_t T = Size(scores.choice.cols);
    Prepare(scores);
    // start(i) of every output, one more for the last one's next.
    starts_.assign(Size(U + 1) * T, 0);
    Buffer<Real> alpha(out.selection.data == nullptr ? Size(U) * T : 0);
    Expectation<Real> kept = out;
    if (out.selection.data == nullptr) {
      kept.selection = {alpha.data(), U, scores.choice.cols};
    }
    if (T > 0) starts_[0] = 1;
    for (Index i = 0; i < U; ++i) {
      ForwardRow(scores, i, kept, StartRow(i, T), StartRow(i + 1, T));
    }
    d_start_.assign(T, 0);
    d_next_.assign(T, 0);
    d_alpha_.resize(T);
    d_p_.resize(T);
    scratch_.resize(T);
    for (Index i = U; i-- > 0;) {
      BackwardRow(scores, i, kept, d_attention, gradients);
    }
  }

 private:
  void Prepare(const ScoreTables<Real>& scores) {
    const std::size_t T = Size(scores.choice.cols);
    for (Buffer<Real>* row : {&p_, &complement_, &alpha_, &start_, &next_}) {
      row->assign(T, 0);
    }
    if (T > 0) start_[0] = 1;
  }

  // p and 1 - p of output i; from energies, 1 - p = sigmoid(-e).
  void SetProbabilities(const ScoreTables<Real>& scores, Index i) {
    const std::span<const Real> row = scores.choice.Row(i);
    const std::size_t T = row.size();
    if (scores.probabilities) {
      std::ranges::copy(row, p_.begin());
      for (std::size_t j = 0; j < T; ++j) complement_[j] = 1 - row[j];
    } else {
      kernels_.sigmoid(row.data(), scores.choice.cols, p_.data());
      for (std::size_t j = 0; j < T; ++j) complement_[j] = -row[j];
      kernels_.sigmoid(complement_.data(), scores.choice.cols,
                       complement_.data());
    }
    if (end_ == EndPolicy::kStayLast && T > 0) {
      p_[T - 1] = 1;
      complement_[T - 1] = 0;
    }
  }

  ChoiceRow<Real> MakeRow(const ScoreTables<Real>& scores, Index i,
                          std::span<const Real> start,
                          std::span<const Real> alpha) const {
    return {.start = start,
            .p = p_,
            .complement = complement_,
            .selection = alpha,
            .chunk_energies = chunk_ == nullptr ? std::span<const Real>()
                                                : scores.chunk_energies.Row(i)};
  }

  void ForwardRow(const ScoreTables<Real>& scores, Index i,
                  const Expectation<Real>& out, std::span<const Real> start,
                  std::span<Real> next) {
    SetProbabilities(scores, i);
    const std::span<Real> attention = out.attention.Row(i);
    std::span<Real> alpha = out.selection.data != nullptr
                                ? out.selection.Row(i)
                                : std::span<Real>(alpha_);
    const ChoiceRow<Real> row = MakeRow(scores, i, start, alpha);
    Select(row, alpha);
    NextStart(end_, row, next);
    if (chunk_ == nullptr) {
      std::ranges::copy(alpha, attention.begin());
    } else {
      chunk_->Forward(row, attention);
    }
  }

  void BackwardRow(const ScoreTables<Real>& scores, Index i,
                   const Expectation<Real>& out,
                   const MatrixView<const Real>& d_attention,
                   const ScoreGradients<Real>& gradients) {
    SetProbabilities(scores, i);
    const ChoiceRow<Real> row =
        MakeRow(scores, i, StartRow(i, p_.size()), out.selection.Row(i));
    std::swap(d_start_, d_next_);  // dL/d start(i+1) is what is handed down
    for (Buffer<Real>* buffer : {&d_start_, &d_alpha_, &d_p_}) {
      std::ranges::fill(*buffer, Real{0});
    }
    const ChoiceRowGradient<Real> gradient{
        .start = d_start_,
        .p = d_p_,
        .selection = d_alpha_,
        .chunk_energies = chunk_ == nullptr ? std::span<Real>()
                                            : gradients.chunk_energies.Row(i)};
    if (chunk_ == nullptr) {
      std::ranges::copy(d_attention.Row(i), d_alpha_.begin());
    } else {
      chunk_->Backward(row, d_attention.Row(i), gradient);
    }
    NextStartBackward<Real>(end_, row, d_next_, scratch_, gradient);
    SelectBackward<Real>(row, scratch_, gradient);
    WriteScoreGradient(scores, gradients.choice.Row(i));
  }

  // dL/de = p (1 - p) dL/dp. Under `stay_last` the last p is no variable.
  void WriteScoreGradient(const ScoreTables<Real>& scores,
                          std::span<Real> d_scores) const {
    for (std::size_t j = 0; j < d_scores.size(); ++j) {
      d_scores[j] =
          scores.probabilities ? d_p_[j] : p_[j] * complement_[j] * d_p_[j];
    }
    if (end_ == EndPolicy::kStayLast && !d_scores.empty()) d_scores.back() = 0;
  }

  std::span<Real> StartRow(Index i, std::size_t T) {
    return {starts_.data() + Size(i) * T, T};
  }

  const Kernels<Real>& kernels_;
  const EndPolicy end_;
  const std::unique_ptr<ChunkExpectation<Real>> chunk_;
  Buffer<Real> p_, complement_, alpha_, start_, next_;
  Buffer<Real> starts_;  // [U + 1, T], of Gradient
  Buffer<Real> d_start_, d_next_, d_alpha_, d_p_;
  Buffer<Carry<Real>> scratch_;
};

}  // namespace

template <class Real>
std::unique_ptr<AttentionFunction<Real>> MakeHardExpectation(
    const Config& config, std::unique_ptr<ChunkExpectation<Real>> chunk) {
  return std::make_unique<HardExpectation<Real>>(config, std::move(chunk));
}

template std::unique_ptr<AttentionFunction<float>> MakeHardExpectation(
    const Config&, std::unique_ptr<ChunkExpectation<float>>);
template std::unique_ptr<AttentionFunction<double>> MakeHardExpectation(
    const Config&, std::unique_ptr<ChunkExpectation<double>>);

}  // namespace attnbench
