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
    const std::size_t T = Size(scores.choice.cols);
    Prepare(T);
    // These keep the last two rows where nobody wants all: where an output
    // starts, and where the next one will.
    const MatrixView<Real>& kept =
        out.selection.data == nullptr && chunk_ == nullptr ? out.attention
                                                           : out.selection;
    Buffer<Real> alphas(kept.data == nullptr ? 2 * T : 0);
    Buffer<Real> restarts(Restarts() ? 2 * T : 0);
    std::span<const Real> start = first_;
    for (Index i = 0; i < scores.choice.rows; ++i) {
      const std::size_t turn = Size(i % 2) * T;
      const std::span<Real> alpha = kept.data != nullptr
                                        ? kept.Row(i)
                                        : std::span(alphas).subspan(turn, T);
      const ChoiceRow<Real> row = MakeRow(scores, i, start, alpha);
      ForwardRow(row, alpha, nullptr, out.attention.Row(i));
      start = alpha;
      if (!Restarts()) continue;
      const auto next = std::span(restarts).subspan(turn, T);
      Restart(row, next);
      start = next;
    }
  }

  void Gradient(const ScoreTables<Real>& scores,
                const MatrixView<const Real>& d_attention,
                const Expectation<Real>& out,
                const ScoreGradients<Real>& gradients) override {
    const Index U = scores.choice.rows;
    const Index T = scores.choice.cols;
    Prepare(Size(T));
    for (Buffer<Real>* row : {&d_next_, &d_alpha_, &d_start_, &d_p_}) {
      row->assign(Size(T), 0);
    }
    scratch_.resize(Restarts() ? Size(T) : 0);
    // BackwardRow wants of every output alpha, the mass that arrived, and where
    // it started, if that is not alpha of the one before.
    Buffer<Real> alphas(out.selection.data == nullptr ? Size(U * T) : 0);
    alphas_ = out.selection.data != nullptr ? out.selection
                                            : MatrixView(alphas.data(), U, T);
    Buffer<Real> arrived(Size(U * T));
    Buffer<Real> restarts(Restarts() ? Size(U * T) : 0);
    starts_ = Restarts() ? MatrixView(restarts.data(), U, T) : alphas_;
    for (Index i = 0; i < U; ++i) {
      const ChoiceRow<Real> row =
          MakeRow(scores, i, StartRow(i), alphas_.Row(i));
      ForwardRow(row, alphas_.Row(i), arrived.data() + i * T,
                 out.attention.Row(i));
      if (Restarts()) Restart(row, starts_.Row(i));
    }
    for (Index i = U; i-- > 0;) {
      BackwardRow(scores, i, arrived.data() + i * T, d_attention.Row(i),
                  gradients);
    }
  }

 private:
  bool Restarts() const { return end_ == EndPolicy::kRestart; }

  void Prepare(std::size_t T) {
    first_.assign(T, 0);
    if (T > 0) first_[0] = 1;
    p_.resize(T);
    complement_.resize(T);
  }

  // This says where output i starts.
  std::span<const Real> StartRow(Index i) const {
    return i == 0 ? std::span<const Real>(first_) : starts_.Row(i - 1);
  }

  // Makes the row of output i. p and 1 - p follow from energies as sigmoid(e)
  // and sigmoid(-e).
  ChoiceRow<Real> MakeRow(const ScoreTables<Real>& scores, Index i,
                          std::span<const Real> start,
                          std::span<const Real> alpha) {
    ChoiceRow<Real> row{.start = start,
                        .p = scores.choice.Row(i),
                        .complement = {},
                        .selection = alpha,
                        .chunk_energies = {}};
    if (chunk_ != nullptr) row.chunk_energies = scores.chunk_energies.Row(i);
    const std::span<const Real> given = row.p;
    if (!scores.probabilities) {
      const Index T = scores.choice.cols;
      kernels_.sigmoid(given.data(), T, p_.data(), complement_.data());
      row.p = p_;
      row.complement = complement_;
    } else if (end_ == EndPolicy::kStayLast) {
      std::ranges::copy(given, p_.begin());
      row.p = p_;
    }
    if (end_ == EndPolicy::kStayLast && !p_.empty()) {
      p_.back() = 1;
      complement_.back() = 0;
    }
    return row;
  }

  static const Real* DataOrNull(std::span<const Real> row) {
    return row.empty() ? nullptr : row.data();
  }

  // Writes alpha, attention and, unless it is null, the mass that arrived.
  void ForwardRow(const ChoiceRow<Real>& row, std::span<Real> alpha,
                  Real* arrived, std::span<Real> attention) {
    kernels_.select(row.p.data(), DataOrNull(row.complement), row.start.data(),
                    static_cast<Index>(alpha.size()), alpha.data(), arrived);
    if (chunk_ != nullptr) {
      chunk_->Forward(row, attention);
    } else if (alpha.data() != attention.data()) {
      std::ranges::copy(alpha, attention.begin());
    }
  }

  // Goes back through output i: d_next_ is dL/d of where output i + 1 starts,
  // and becomes that of output i.
  void BackwardRow(const ScoreTables<Real>& scores, Index i,
                   const Real* arrived, std::span<const Real> d_attention,
                   const ScoreGradients<Real>& gradients) {
    const Index T = scores.choice.cols;
    const ChoiceRow<Real> row = MakeRow(scores, i, StartRow(i), alphas_.Row(i));
    const std::span<Real> d_scores = gradients.choice.Row(i);
    // This is what does not pass through alpha.
    const bool has_more = chunk_ != nullptr || Restarts();
    if (has_more) {
      for (Buffer<Real>* buffer : {&d_start_, &d_p_}) {
        std::ranges::fill(*buffer, Real{0});
      }
      d_alpha_ = d_next_;
      const ChoiceRowGradient<Real> gradient{
          .start = d_start_,
          .p = d_p_,
          .selection = d_alpha_,
          .chunk_energies = chunk_ == nullptr
                                ? std::span<Real>()
                                : gradients.chunk_energies.Row(i)};
      if (Restarts()) {
        RestartBackward<Real>(row, d_next_, scratch_, gradient);
      }
      if (chunk_ != nullptr) chunk_->Backward(row, d_attention, gradient);
    }
    if (chunk_ == nullptr) {
      kernels_.add(d_next_.data(), d_attention.data(), T, d_alpha_.data());
    }
    kernels_.select_backward(row.p.data(), DataOrNull(row.complement), arrived,
                             d_alpha_.data(), T, d_scores.data(),
                             d_next_.data());
    if (has_more) {
      kernels_.add(d_scores.data(), d_p_.data(), T, d_scores.data());
      kernels_.add(d_next_.data(), d_start_.data(), T, d_next_.data());
    }
    // dL/de = p (1 - p) dL/dp. Under `stay_last` the last p is no variable.
    if (!scores.probabilities) {
      kernels_.multiply(d_scores.data(), p_.data(), T, d_scores.data());
      kernels_.multiply(d_scores.data(), complement_.data(), T,
                        d_scores.data());
    }
    if (end_ == EndPolicy::kStayLast && T > 0) d_scores.back() = 0;
  }

  const Kernels<Real>& kernels_;
  const EndPolicy end_;
  const std::unique_ptr<ChunkExpectation<Real>> chunk_;
  Buffer<Real> first_;           // where the first output starts
  Buffer<Real> p_, complement_;  // of the output at hand, where not given
  // Gradient keeps alpha of every output, and where the output after it starts.
  MatrixView<Real> alphas_, starts_;
  Buffer<Real> d_next_, d_alpha_, d_start_, d_p_;
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
