#include "mechanisms/monotonic/hard_expectation.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "mechanisms/common/parallel.h"
#include "mechanisms/kernels/kernels.h"
#include "mechanisms/monotonic/selection.h"

namespace attnbench {
namespace {

template <class Real>
class HardExpectation final : public AttentionFunction<Real> {
 public:
  HardExpectation(const Config& config, MakeChunkExpectation<Real> make_chunk)
      : config_(config),
        make_chunk_(make_chunk),
        kernels_(BestKernels<Real>()) {
    if (make_chunk == nullptr) return;
    std::unique_ptr<ChunkExpectation<Real>> chunk = make_chunk(config);
    if (chunk != nullptr) chunks_.push_back(std::move(chunk));
  }

  bool has_chunk_energies() const override { return HasChunk(); }

  void Forward(const ScoreTables<Real>& scores,
               const Expectation<Real>& out) override {
    const Index U = scores.choice.rows;
    const Index T = scores.choice.cols;
    Prepare(scores);
    // These keep alpha of two turns where nobody wants all of it.
    const MatrixView<Real>& kept = KeptAlpha(out);
    const Index most = std::min(U, turn_);
    UnsetBuffer<Real> alphas(kept.data == nullptr ? Size(2 * most * T) : 0);
    std::span<const Real> start = first_;
    for (Index first = 0; first < U; first += turn_) {
      const Index count = std::min(turn_, U - first);
      const MatrixView<Real> alpha =
          kept.data != nullptr
              ? kept.Rows(first, count)
              : MatrixView<Real>(alphas.data() + first / turn_ % 2 * most * T,
                                 count, T);
      const Turn turn = MakeTurn(scores, first, count);
      const ChoiceRows<Real> rows = RowsOf(scores, first, turn, start, alpha);
      Scan(rows, alpha, RowsOrNone(out.arrived, first, count));
      if (out.attention.data != nullptr) {
        Attend(rows, out.attention.Rows(first, count));
      }
      start = Restarts() ? KeepStart(first) : alpha.Row(count - 1);
    }
  }

  void Gradient(const ScoreTables<Real>& scores,
                const Cotangent<Real>& cotangent, const Expectation<Real>& out,
                const ScoreGradients<Real>& gradients) override {
    const Index U = scores.choice.rows;
    const Index T = scores.choice.cols;
    MatrixView<Real> arrived = out.arrived;
    UnsetBuffer<Real> made;
    if (arrived.data == nullptr || Restarts() ||
        out.attention.data != nullptr || out.selection.data != nullptr) {
      made.resize(Size(U * T));
      arrived = {made.data(), U, T};
      Forward(scores, {.attention = out.attention,
                       .selection = out.selection,
                       .arrived = arrived});
    } else {
      Prepare(scores);
    }
    d_next_.assign(Size(T), 0);
    d_start_.assign(ReadsMore() ? Size(T) : 0, 0);
    // A chunk that reads starts wants those of restarts, output by output.
    const Index together =
        Restarts() && HasChunk() && !chunks_[0]->reads_selection_alone()
            ? 1
            : kRowsTogether * threads_;
    for (Index end = U; end > 0;) {
      const Index first = (end - 1) / together * together;
      BackwardTurn(scores, first, end - first, arrived, cotangent, gradients);
      end = first;
    }
    if (gradients.start.empty()) return;
    AddStart();
    Round(d_next_, gradients.start);
  }

 private:
  // So many outputs are taken together: enough for the lanes of the kernels,
  // and few enough for what is made of them to stay in the cache.
  static constexpr Index kRowsTogether = 32;
  static constexpr Index kRowsBlock = 8;  // those that a kernel takes at once
  // Threads that share a sequence pay from so many scores on.
  static constexpr Index kLeastShared = Index{1} << 16;

  // p and 1 - p of some outputs; the second without data where it is 1 minus p.
  struct Turn {
    MatrixView<const Real> p, complement;
    Turn Rows(Index first, Index count) const {
      return {p.Rows(first, count), RowsOrNone(complement, first, count)};
    }
  };

  bool HasChunk() const { return !chunks_.empty(); }
  bool Restarts() const { return config_.end == EndPolicy::kRestart; }
  bool Stays() const { return config_.end == EndPolicy::kStayLast; }
  // Whether an output reads where it starts, and p, other than through alpha.
  bool ReadsMore() const {
    return Restarts() || (HasChunk() && !chunks_[0]->reads_selection_alone());
  }

  // The table that all of alpha is written to; without data there is none.
  const MatrixView<Real>& KeptAlpha(const Expectation<Real>& out) const {
    const bool is_attention = out.selection.data == nullptr && !HasChunk();
    return is_attention ? out.attention : out.selection;
  }

  void Prepare(const ScoreTables<Real>& scores) {
    const Index U = scores.choice.rows;
    const Index T = scores.choice.cols;
    const bool is_shared = HasChunk() && U * T >= kLeastShared;
    threads_ = is_shared ? scores.threads : 1;
    while (HasChunk() && std::ssize(chunks_) < threads_) {
      chunks_.push_back(make_chunk_(config_));
    }
    // A restart is made of the output before.
    turn_ = Restarts() ? 1 : kRowsTogether * threads_;
    first_.assign(Size(T), 0);
    if (!scores.start.empty()) {
      std::ranges::copy(scores.start, first_.begin());
    } else if (T > 0) {
      first_[0] = 1;
    }
    start_.assign(first_.begin(), first_.end());
    if (Restarts()) {
      began_.resize(Size(T));
      starts_.resize(Size(U * T));
    }
  }

  static void Round(std::span<const Carry<Real>> from, std::span<Real> to) {
    std::ranges::transform(from, to.begin(), [](Carry<Real> value) {
      return static_cast<Real>(value);
    });
  }

  // This is where output i starts, under restarts.
  std::span<const Real> StartRow(Index i) const {
    const std::size_t T = first_.size();
    return i == 0 ? std::span<const Real>(first_)
                  : std::span(starts_).subspan(Size(i - 1) * T, T);
  }
  // Remembers where the output behind i starts.
  std::span<const Real> KeepStart(Index i) {
    const std::size_t T = first_.size();
    Round(start_, std::span(starts_).subspan(Size(i) * T, T));
    return StartRow(i + 1);
  }

  // Makes p and 1 - p of some outputs; they follow from energies as sigmoid(e)
  // and sigmoid(-e). They last until the next call.
  Turn MakeTurn(const ScoreTables<Real>& scores, Index first, Index count) {
    const Index T = scores.choice.cols;
    if (scores.probabilities && !Stays()) {
      return {scores.choice.Rows(first, count), {}};
    }
    p_.resize(Size(count * T));
    complement_.resize(scores.probabilities ? 0 : Size(count * T));
    for (Index n = 0; n < count && T > 0; ++n) {
      const std::span<const Real> given = scores.choice.Row(first + n);
      Real* const p = p_.data() + n * T;
      if (scores.probabilities) {
        std::ranges::copy(given, p);
      } else {
        Real* const complement = complement_.data() + n * T;
        kernels_.sigmoid(given.data(), T, p, complement);
        if (Stays()) complement[T - 1] = 0;
      }
      if (Stays()) p[T - 1] = 1;
    }
    Turn turn{{p_.data(), count, T}, {}};
    if (!scores.probabilities) turn.complement = {complement_.data(), count, T};
    return turn;
  }

  ChoiceRows<Real> RowsOf(const ScoreTables<Real>& scores, Index first,
                          const Turn& turn, std::span<const Real> start,
                          const MatrixView<const Real>& alpha) const {
    return {.start = start,
            .p = turn.p,
            .complement = turn.complement,
            .selection = alpha,
            .chunk_energies =
                RowsOrNone(scores.chunk_energies, first, turn.p.rows)};
  }

  // Writes alpha of a turn's outputs, the first of which starts at start_, and
  // unless it is null the mass that arrived. start_ becomes where the next turn
  // does.
  void Scan(const ChoiceRows<Real>& rows, const MatrixView<Real>& alpha,
            const MatrixView<Real>& arrived) {
    const Index T = alpha.cols;
    if (T == 0) return;
    if (Restarts()) began_ = start_;
    kernels_.select_rows(rows.p.data, rows.p.row_stride, rows.complement.data,
                         start_.data(), alpha.rows, T, alpha.data,
                         alpha.row_stride, arrived.data, arrived.row_stride);
    if (Restarts()) Restart<Real>(rows.Row(0), began_, start_);
  }

  // Calls use(chunk, first, count) for parts of a turn's outputs, on threads
  // where they share the sequence.
  template <class Use>
  void ForEachPart(Index count, const Use& use) {
    const Index blocks = (count + kRowsBlock - 1) / kRowsBlock;
    const Index parts = std::min(threads_, blocks);
    ParallelFor(parts, static_cast<int>(parts), [&](Index n) {
      const Index first = n * blocks / parts * kRowsBlock;
      const Index end = std::min(count, (n + 1) * blocks / parts * kRowsBlock);
      use(*chunks_[Size(n)], first, end - first);
    });
  }

  void Attend(const ChoiceRows<Real>& rows, const MatrixView<Real>& attention) {
    if (HasChunk()) {
      ForEachPart(rows.count(), [&](ChunkExpectation<Real>& chunk, Index first,
                                    Index count) {
        chunk.Forward(rows.Rows(first, count), attention.Rows(first, count));
      });
    } else if (rows.selection.data != attention.data) {
      for (Index n = 0; n < attention.rows; ++n) {
        std::ranges::copy(rows.selection.Row(n), attention.Row(n).begin());
      }
    }
  }

  // Adds to d_next_ what d_start_ has, which has nothing then.
  void AddStart() {
    std::ranges::transform(d_start_, d_next_, d_next_.begin(), std::plus());
    std::ranges::fill(d_start_, Carry<Real>{0});
  }

  // Goes back through a turn's outputs: the sum of d_next_ and d_start_ is dL/d
  // of where the output behind them starts, and becomes that of the first.
  void BackwardTurn(const ScoreTables<Real>& scores, Index first, Index count,
                    const MatrixView<Real>& arrived,
                    const Cotangent<Real>& cotangent,
                    const ScoreGradients<Real>& gradients) {
    const Index T = scores.choice.cols;
    if (T == 0) return;
    const bool reads_before = ReadsMore() && !Restarts() && first > 0;
    const Index before = reads_before ? 1 : 0;
    const Turn all = MakeTurn(scores, first - before, count + before);
    const Turn turn = all.Rows(before, count);
    const MatrixView<const Real> d_attention =
        cotangent.attention.Rows(first, count);
    // An output starts where the one before it chose. Beside that alpha is
    // worth d_alpha, by itself, and d_more, by what is made of it.
    const MatrixView<const Real> d_selection =
        RowsOrNone(cotangent.selection, first, count);
    const MatrixView<const Real>& d_alpha =
        HasChunk() ? d_selection : d_attention;
    MatrixView<Carry<Real>> d_more;
    if (HasChunk() || d_selection.data != nullptr) {
      d_more_.resize(Size(count * T));
      d_more = {d_more_.data(), count, T};
      if (ReadsMore()) {
        std::ranges::fill(d_more_, Carry<Real>{0});
        // It is added where it would be if the output behind were of this turn.
        if (!Restarts())
          std::ranges::copy(d_start_, d_more.Row(count - 1).begin());
      }
      if (!HasChunk()) {
        for (Index n = 0; n < count; ++n) {
          std::ranges::copy(d_selection.Row(n), d_more.Row(n).begin());
        }
      }
    }
    if (ReadsMore()) {
      std::ranges::fill(d_start_, Carry<Real>{0});
      d_p_.assign(Size(count * T), 0);
    }
    ChoiceRowsGradient<Real> gradient{.start = d_start_,
                                      .p = {d_p_.data(), count, T},
                                      .selection = d_more,
                                      .chunk_energies = {}};
    ChoiceRows<Real> rows;
    if (HasChunk() || Restarts()) {
      const MatrixView<Real> alphas =
          MakeAlpha(all, arrived.Rows(first - before, count + before));
      rows = RowsOf(scores, first, turn,
                    reads_before               ? alphas.Row(0)
                    : Restarts() || first == 0 ? StartRow(first)
                                               : std::span<const Real>(),
                    alphas.Rows(before, count));
    }
    if (HasChunk()) {
      gradient.chunk_energies = gradients.chunk_energies.Rows(first, count);
      ForEachPart(
          count, [&](ChunkExpectation<Real>& chunk, Index from, Index size) {
            chunk.Backward(rows.Rows(from, size), d_attention.Rows(from, size),
                           gradient.Rows(from, size));
          });
    }
    const MatrixView<Real> d_scores = gradients.choice.Rows(first, count);
    // A restart hands back more than alpha, so an output waits for the next.
    const Index step = Restarts() ? 1 : count;
    for (Index n = count - step; n >= 0; n -= step) {
      const auto from = [n](const auto& table) {
        return table.data == nullptr ? nullptr : table.Row(n).data();
      };
      if (Restarts()) {
        ChoiceRow<Real> row = rows.Row(n);
        row.start = StartRow(first + n);
        ChoiceRowGradient<Real> d_row = gradient.Row(n);
        d_row.start = d_start_;
        scratch_.resize(Size(T));
        RestartBackward<Real>(row, d_next_, scratch_, d_row);
      }
      kernels_.select_rows_backward(
          from(turn.p), turn.p.row_stride, from(turn.complement),
          arrived.Row(first + n).data(), arrived.row_stride, from(d_alpha),
          d_alpha.row_stride, from(d_more), step, T, from(d_scores),
          d_scores.row_stride, d_next_.data());
      if (Restarts()) AddStart();
    }
    for (Index n = 0; n < count; ++n) {
      Real* const d = d_scores.Row(n).data();
      if (ReadsMore()) kernels_.add(d, d_p_.data() + n * T, T, d);
      // dL/de = p (1 - p) dL/dp. Under `stay_last` the last p is no variable.
      if (!scores.probabilities) {
        kernels_.multiply(d, turn.p.Row(n).data(), T, d);
        kernels_.multiply(d, turn.complement.Row(n).data(), T, d);
      }
      if (Stays()) d[T - 1] = 0;
    }
  }

  // Makes alpha of outputs as the product that it is, so that it is the same
  // whoever kept q.
  MatrixView<Real> MakeAlpha(const Turn& turn,
                             const MatrixView<const Real>& arrived) {
    const Index count = arrived.rows, T = arrived.cols;
    alphas_.resize(Size(count * T));
    const MatrixView<Real> alphas(alphas_.data(), count, T);
    for (Index n = 0; n < count; ++n) {
      kernels_.multiply(turn.p.Row(n).data(), arrived.Row(n).data(), T,
                        alphas.Row(n).data());
    }
    return alphas;
  }

  const Config& config_;
  const MakeChunkExpectation<Real> make_chunk_;
  const Kernels<Real>& kernels_;
  // One for each thread that shares a sequence; none where attention is alpha.
  std::vector<std::unique_ptr<ChunkExpectation<Real>>> chunks_;
  Index threads_ = 1;
  Index turn_ = 1;                    // outputs that are taken together
  Buffer<Real> first_;                // where the first output starts
  Buffer<Carry<Real>> start_;         // where the turn to come does
  Buffer<Carry<Real>> began_;         // where the turn did, with restarts
  UnsetBuffer<Real> p_, complement_;  // of a turn's outputs, where not given
  UnsetBuffer<Real> starts_;  // with restarts, where all but the first start
  Buffer<Carry<Real>> d_next_, d_start_;
  UnsetBuffer<Carry<Real>> d_more_;
  Buffer<Real> d_p_;
  UnsetBuffer<Real> alphas_;
  Buffer<Carry<Real>> scratch_;
};

}  // namespace

template <class Real>
std::unique_ptr<AttentionFunction<Real>> MakeHardExpectation(
    const Config& config, MakeChunkExpectation<Real> make_chunk) {
  return std::make_unique<HardExpectation<Real>>(config, make_chunk);
}

template std::unique_ptr<AttentionFunction<float>> MakeHardExpectation(
    const Config&, MakeChunkExpectation<float>);
template std::unique_ptr<AttentionFunction<double>> MakeHardExpectation(
    const Config&, MakeChunkExpectation<double>);

}  // namespace attnbench
