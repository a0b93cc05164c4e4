#include "mechanisms/monotonic/published_expectation.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

namespace attnbench {
namespace {

// Scores, and what becomes of them, as the published code has them.
template <class Number>
struct PublishedTables {
  Index U = 0;
  std::size_t T = 0;
  Buffer<Number> choice;  // [U, T], p_choose or energies
  bool probabilities = false;
  Buffer<Number> chunk_energies;  // [U, T] or empty
  UnsetBuffer<Number> attention;  // [U, T]
  UnsetBuffer<Number> selection;  // [U, T]

  std::span<Number> Row(auto& table, Index i) const {
    return table.empty() ? std::span<Number>()
                         : std::span<Number>(&table[Size(i) * T], T);
  }
};

// alpha by MAD eq 9, with 1 - p formed from p.
template <class Number>
void Recur(std::span<const Number> start, std::span<const Number> p,
           std::span<Number> alpha) {
  Number q(0);
  for (std::size_t j = 0; j < alpha.size(); ++j) {
    q += start[j];
    alpha[j] = p[j] * q;
    q *= 1 - p[j];
  }
}

template <class Number>
void NextStart(EndPolicy end, std::span<const Number> p,
               std::span<const Number> alpha, Buffer<Number>& start) {
  if (end != EndPolicy::kRestart) {
    std::ranges::copy(alpha, start.begin());
    return;
  }
  Number reaches_end(1);
  for (std::size_t k = start.size(); k-- > 0;) {
    reaches_end *= 1 - p[k];
    start[k] = alpha[k] + start[k] * reaches_end;
  }
}

template <class Real, class Number>
void SelectAlpha(const Config& config,
                 const std::optional<ParallelConstants>& closed_form,
                 std::span<const Number> start, std::span<const Number> p,
                 std::span<Number> alpha) {
  if (closed_form) {
    ParallelSelect<Real, Number>(*closed_form, start, p, alpha);
  } else if (config.variant == kTriangular) {
    TriangularSelect<Number>(start, p, alpha);
  } else {
    Recur<Number>(start, p, alpha);
  }
}

// 1 / (1 + exp(-x)). For x far below 0 exp(-x) overflows, and the derivative
// would be infinite over infinite.
template <class Number>
Number Sigmoid(const Number& x) {
  using std::exp;
  if (x >= 0) return Number(1 / (1 + exp(-x)));
  const Number e = exp(x);
  return Number(e / (1 + e));
}

template <class Real, class Number>
void Compute(const Config& config,
             const std::optional<ParallelConstants>& closed_form,
             PublishedChunk<Number> chunk, PublishedTables<Number>& tables) {
  Buffer<Number> start(tables.T, Number(0));
  if (tables.T > 0) start[0] = Number(1);
  Buffer<Number> p(tables.T);
  for (Index i = 0; i < tables.U; ++i) {
    const std::span<const Number> x = tables.Row(tables.choice, i);
    for (std::size_t j = 0; j < tables.T; ++j) {
      p[j] = tables.probabilities ? x[j] : Sigmoid(x[j]);
    }
    if (config.end == EndPolicy::kStayLast && tables.T > 0) {
      p.back() = Number(1);
    }
    const std::span<Number> alpha = tables.Row(tables.selection, i);
    SelectAlpha<Real, Number>(config, closed_form, start, p, alpha);
    const std::span<Number> attention = tables.Row(tables.attention, i);
    if (chunk == nullptr) {
      std::copy(alpha.begin(), alpha.end(), attention.begin());
    } else {
      chunk(config,
            {.start = start,
             .p = p,
             .selection = alpha,
             .chunk_energies = tables.Row(tables.chunk_energies, i)},
            attention);
    }
    NextStart<Number>(config.end, p, alpha, start);
  }
}

template <class Real>
class PublishedExpectation final : public AttentionFunction<Real> {
  using Derivative = Dual<Real>;

 public:
  PublishedExpectation(const Config& config, PublishedChunks<Real> chunks)
      : config_(config), chunks_(chunks) {
    if (config.variant == kParallel) closed_form_ = ParallelConstantsOf(config);
  }

  bool has_chunk_energies() const override { return chunks_.plain != nullptr; }

  void Forward(const ScoreTables<Real>& scores,
               const Expectation<Real>& out) override {
    if (!scores.start.empty()) {
      throw Unsupported("variant " + config_.variant +
                        " begins at the first entry");
    }
    PublishedTables<Real> tables = MakeTables<Real>(scores);
    Compute<Real, Real>(config_, closed_form_, chunks_.plain, tables);
    CopyIfWanted(tables, tables.attention, out.attention);
    CopyIfWanted(tables, tables.selection, out.selection);
  }

  // Makes one pass for each score, which moves with derivative 1.
  void Gradient(const ScoreTables<Real>& scores,
                const Cotangent<Real>& cotangent, const Expectation<Real>& out,
                const ScoreGradients<Real>& gradients) override {
    if (cotangent.selection.data != nullptr || !gradients.start.empty()) {
      throw Unsupported("variant " + config_.variant +
                        " has gradients of attention by scores only");
    }
    if (gradients.only.empty() && (scores.choice.cols > kMostForwardMode ||
                                   scores.choice.rows > kMostForwardMode)) {
      throw Unsupported("gradients of variant " + config_.variant +
                        " are by forward mode, for at most " +
                        std::to_string(kMostForwardMode) +
                        " entries and outputs");
    }
    Forward(scores, out);
    PublishedTables<Derivative> tables = MakeTables<Derivative>(scores);
    WriteGradient(tables, tables.choice, cotangent.attention, gradients.only,
                  gradients.choice);
    if (has_chunk_energies()) {
      WriteGradient(tables, tables.chunk_energies, cotangent.attention,
                    gradients.only, gradients.chunk_energies);
    }
  }

 private:
  static void CopyIfWanted(PublishedTables<Real>& tables,
                           UnsetBuffer<Real>& table,
                           const MatrixView<Real>& to) {
    for (Index i = 0; to.data != nullptr && i < tables.U; ++i) {
      std::ranges::copy(tables.Row(table, i), to.Row(i).begin());
    }
  }

  template <class Number>
  PublishedTables<Number> MakeTables(const ScoreTables<Real>& scores) const {
    PublishedTables<Number> tables;
    tables.U = scores.choice.rows;
    tables.T = Size(scores.choice.cols);
    tables.probabilities = scores.probabilities;
    const std::size_t count = Size(tables.U) * tables.T;
    tables.choice.reserve(count);
    if (has_chunk_energies()) tables.chunk_energies.reserve(count);
    tables.attention.resize(count);
    tables.selection.resize(count);
    for (Index i = 0; i < tables.U; ++i) {
      for (const Real x : scores.choice.Row(i)) tables.choice.emplace_back(x);
      if (!has_chunk_energies()) continue;
      for (const Real u : scores.chunk_energies.Row(i)) {
        tables.chunk_energies.emplace_back(u);
      }
    }
    return tables;
  }

  void WriteGradient(PublishedTables<Derivative>& tables,
                     Buffer<Derivative>& inputs,
                     const MatrixView<const Real>& d_attention,
                     std::span<const ScorePlace> only,
                     const MatrixView<Real>& gradient) const {
    using boost::math::differentiation::make_fvar;
    const std::size_t count = only.empty() ? inputs.size() : only.size();
    for (std::size_t c = 0; c < count; ++c) {
      const std::size_t n =
          only.empty() ? c
                       : Size(only[c].output) * tables.T + Size(only[c].entry);
      const Derivative fixed = inputs[n];
      inputs[n] = make_fvar<Real, 1>(static_cast<Real>(fixed));
      Compute<Real, Derivative>(config_, closed_form_, chunks_.dual, tables);
      inputs[n] = fixed;
      Real sum = 0;
      for (Index i = 0; i < tables.U; ++i) {
        for (std::size_t j = 0; j < tables.T; ++j) {
          sum += d_attention.Row(i)[j] *
                 tables.Row(tables.attention, i)[j].derivative(1);
        }
      }
      gradient.Row(static_cast<Index>(n / tables.T))[n % tables.T] = sum;
    }
  }

  const Config config_;
  const PublishedChunks<Real> chunks_;
  std::optional<ParallelConstants> closed_form_;
};

}  // namespace

template <class Real>
std::unique_ptr<AttentionFunction<Real>> MakePublishedExpectation(
    const Config& config, PublishedChunks<Real> chunks) {
  return std::make_unique<PublishedExpectation<Real>>(config, chunks);
}

template std::unique_ptr<AttentionFunction<float>> MakePublishedExpectation(
    const Config&, PublishedChunks<float>);
template std::unique_ptr<AttentionFunction<double>> MakePublishedExpectation(
    const Config&, PublishedChunks<double>);

}  // namespace attnbench
