#include "mechanisms/monotonic/hard_expectation.h"

#include <algorithm>
#include <functional>

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
    Prepare(scores);
    // These keep the rows of two turns where nobody wants all: where outputs
    // start, and where the next ones will.
    const MatrixView<Real>& kept = Kept(out);
    const std::size_t rows = Size(RowsTogether());
    UnsetBuffer<Real> alphas(kept.data == nullptr ? 2 * rows * T : 0);
    UnsetBuffer<Real> restarts(Restarts() ? 2 * T : 0);
    std::span<const Real> start = first_;
    ForEachTurn(scores.choice.rows, [&](Index first, Index count) {
      const std::size_t turn = Size(first) / rows % 2;
      const MatrixView<Real> alpha =
          kept.data != nullptr
              ? kept.Rows(first, count)
              : MatrixView<Real>(alphas.data() + turn * rows * T, count,
                                 scores.choice.cols);
      ForwardRows(scores, first, start, alpha, nullptr,
                  out.attention.Rows(first, count));
      start = alpha.Row(count - 1);
      if (!Restarts()) return;
      const auto next = std::span(restarts).subspan(turn * T, T);
      RoundStart(next);
      start = next;
    });
  }

  void Gradient(const ScoreTables<Real>& scores,
                const Cotangent<Real>& cotangent, const Expectation<Real>& out,
                const ScoreGradients<Real>& gradients) override {
    const Index U = scores.choice.rows;
    const Index T = scores.choice.cols;
    Prepare(scores);
    d_next_.assign(Size(T), 0);
    d_start_.resize(HasMore() ? Size(T) : 0);
    d_p_.resize(d_start_.size());
    scratch_.resize(Restarts() ? Size(T) : 0);
    // BackwardRow wants of every output alpha, the mass that arrived, and where
    // it started, if that is not alpha of the one before.
    const MatrixView<Real>& kept = Kept(out);
    UnsetBuffer<Real> alphas(kept.data == nullptr ? Size(U * T) : 0);
    alphas_ = kept.data != nullptr ? kept : MatrixView(alphas.data(), U, T);
    UnsetBuffer<Real> arrived(Size(U * T));
    UnsetBuffer<Real> restarts(Restarts() ? Size(U * T) : 0);
    starts_ = Restarts() ? MatrixView(restarts.data(), U, T) : alphas_;
    ForEachTurn(U, [&](Index first, Index count) {
      ForwardRows(scores, first, StartRow(first), alphas_.Rows(first, count),
                  arrived.data() + first * T,
                  out.attention.data == nullptr
                      ? MatrixView<Real>()
                      : out.attention.Rows(first, count));
      if (Restarts()) RoundStart(starts_.Row(first));
    });
    for (Index i = U; i-- > 0;) {
      BackwardRow(scores, i, arrived.data() + i * T, cotangent, gradients);
    }
    if (!gradients.start.empty()) Round(d_next_, gradients.start);
  }

 private:
  static constexpr Index kRowsTogether = 4;

  bool Restarts() const { return end_ == EndPolicy::kRestart; }
  // Whether a row has derivatives that do not pass through alpha.
  bool HasMore() const { return chunk_ != nullptr || Restarts(); }

  // The table that all of alpha is written to; without data there is none.
  const MatrixView<Real>& Kept(const Expectation<Real>& out) const {
    const bool is_attention = out.selection.data == nullptr && !chunk_;
    return is_attention ? out.attention : out.selection;
  }

  // Outputs that are taken together: a kernel makes several rows at once, but a
  // restart is made of the row before.
  Index RowsTogether() const { return Restarts() ? 1 : kRowsTogether; }
  template <class Turn>
  void ForEachTurn(Index outputs, const Turn& turn) const {
    for (Index first = 0; first < outputs; first += RowsTogether()) {
      turn(first, std::min(RowsTogether(), outputs - first));
    }
  }

  void Prepare(const ScoreTables<Real>& scores) {
    const std::size_t T = Size(scores.choice.cols);
    first_.assign(T, 0);
    if (!scores.start.empty()) {
      std::ranges::copy(scores.start, first_.begin());
    } else if (T > 0) {
      first_[0] = 1;
    }
    start_.assign(first_.begin(), first_.end());
    began_.resize(Restarts() ? T : 0);
    p_.resize(T * Size(RowsTogether()));
    complement_.resize(p_.size());
  }

  static void Round(std::span<const Carry<Real>> from, std::span<Real> to) {
    std::ranges::transform(from, to.begin(), [](Carry<Real> value) {
      return static_cast<Real>(value);
    });
  }
  // Gives start_ in Real.
  void RoundStart(std::span<Real> start) const { Round(start_, start); }

  // This says where output i starts.
  std::span<const Real> StartRow(Index i) const {
    return i == 0 ? std::span<const Real>(first_) : starts_.Row(i - 1);
  }

  // Makes p and 1 - p of a turn's outputs; they follow from energies as
  // sigmoid(e) and sigmoid(-e).
  void MakeTurn(const ScoreTables<Real>& scores, Index first, Index count) {
    const Index T = scores.choice.cols;
    const bool stays = end_ == EndPolicy::kStayLast;
    for (Index n = 0; n < count && T > 0; ++n) {
      const std::span<const Real> given = scores.choice.Row(first + n);
      Real* const p = p_.data() + n * T;
      Real* const complement = complement_.data() + n * T;
      if (!scores.probabilities) {
        kernels_.sigmoid(given.data(), T, p, complement);
      } else if (stays) {
        std::ranges::copy(given, p);
      }
      if (stays) p[T - 1] = 1, complement[T - 1] = 0;
    }
  }

  // Output n of the turn that was made.
  ChoiceRow<Real> RowOfTurn(const ScoreTables<Real>& scores, Index first,
                            Index n, std::span<const Real> start,
                            std::span<const Real> alpha) const {
    const std::size_t T = alpha.size();
    ChoiceRow<Real> row{.start = start,
                        .p = scores.choice.Row(first + n),
                        .complement = {},
                        .selection = alpha,
                        .chunk_energies = {}};
    if (chunk_ != nullptr) {
      row.chunk_energies = scores.chunk_energies.Row(first + n);
    }
    if (IsMade(scores)) row.p = std::span(p_).subspan(Size(n) * T, T);
    if (!scores.probabilities) {
      row.complement = std::span(complement_).subspan(Size(n) * T, T);
    }
    return row;
  }

  // Whether p is not the one that was given.
  bool IsMade(const ScoreTables<Real>& scores) const {
    return !scores.probabilities || end_ == EndPolicy::kStayLast;
  }

  static const Real* DataOrNull(std::span<const Real> row) {
    return row.empty() ? nullptr : row.data();
  }

  // Writes alpha of a turn's outputs, the first of which starts at start_,
  // rounded `start`, and unless they are null the mass that arrived and
  // attention. start_ becomes where the next turn does.
  void ForwardRows(const ScoreTables<Real>& scores, Index first,
                   std::span<const Real> start, const MatrixView<Real>& alpha,
                   Real* arrived, const MatrixView<Real>& attention) {
    const Index T = alpha.cols;
    if (T == 0) return;
    MakeTurn(scores, first, alpha.rows);
    const bool is_made = IsMade(scores);
    if (Restarts()) began_ = start_;
    kernels_.select_rows(is_made ? p_.data() : scores.choice.Row(first).data(),
                         is_made ? T : scores.choice.row_stride,
                         scores.probabilities ? nullptr : complement_.data(),
                         start_.data(), alpha.rows, T, alpha.data,
                         alpha.row_stride, arrived);
    if (Restarts()) {
      Restart<Real>(RowOfTurn(scores, first, 0, start, alpha.Row(0)), began_,
                    start_);
    }
    if (attention.data == nullptr) return;
    for (Index n = 0; n < alpha.rows; ++n) {
      if (chunk_ != nullptr) {
        chunk_->Forward(
            RowOfTurn(scores, first, n, n == 0 ? start : alpha.Row(n - 1),
                      alpha.Row(n)),
            attention.Row(n));
      } else if (alpha.data != attention.data) {
        std::ranges::copy(alpha.Row(n), attention.Row(n).begin());
      }
    }
  }

  // Goes back through output i: d_next_ is dL/d of where output i + 1 starts,
  // and becomes that of output i.
  void BackwardRow(const ScoreTables<Real>& scores, Index i,
                   const Real* arrived, const Cotangent<Real>& cotangent,
                   const ScoreGradients<Real>& gradients) {
    const Index T = scores.choice.cols;
    const std::span<const Real> d_attention = cotangent.attention.Row(i);
    MakeTurn(scores, i, 1);
    const ChoiceRow<Real> row =
        RowOfTurn(scores, i, 0, StartRow(i), alphas_.Row(i));
    const std::span<Real> d_scores = gradients.choice.Row(i);
    // Where an output starts is where the one before it chose: what alpha is
    // worth is added to d_next_.
    if (HasMore()) {
      std::ranges::fill(d_start_, Carry<Real>{0});
      std::ranges::fill(d_p_, Real{0});
      const ChoiceRowGradient<Real> gradient{
          .start = d_start_,
          .p = d_p_,
          .selection = d_next_,
          .chunk_energies = chunk_ == nullptr
                                ? std::span<Real>()
                                : gradients.chunk_energies.Row(i)};
      if (Restarts()) {
        RestartBackward<Real>(row, d_next_, scratch_, gradient);
      }
      if (chunk_ != nullptr) chunk_->Backward(row, d_attention, gradient);
    }
    if (cotangent.selection.data != nullptr) {
      std::ranges::transform(cotangent.selection.Row(i), d_next_,
                             d_next_.begin(), std::plus<Carry<Real>>());
    }
    kernels_.select_backward(row.p.data(), DataOrNull(row.complement), arrived,
                             chunk_ == nullptr ? d_attention.data() : nullptr,
                             T, d_scores.data(), d_next_.data());
    if (HasMore()) {
      kernels_.add(d_scores.data(), d_p_.data(), T, d_scores.data());
      std::ranges::transform(d_start_, d_next_, d_next_.begin(), std::plus());
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
  Buffer<Carry<Real>> start_;    // where the turn to come does
  Buffer<Carry<Real>> began_;    // where the turn did, with restarts
  Buffer<Real> p_, complement_;  // of a turn's outputs, where not given
  // Gradient keeps alpha of every output, and where the output after it starts.
  MatrixView<Real> alphas_, starts_;
  Buffer<Carry<Real>> d_next_, d_start_;
  Buffer<Real> d_p_;
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
