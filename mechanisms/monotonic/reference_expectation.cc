#include "mechanisms/monotonic/reference_expectation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace attnbench {
namespace {

template <class Number>
class ReferenceExpectation final : public AttentionFunction<Number> {
  using Row = std::vector<Number>;

 public:
  ReferenceExpectation(const Config& config, ChunkRule rule)
      : end_(config.end), rule_(rule) {}

  bool has_chunk_energies() const override { return rule_.has_energies(); }

  void Forward(const ScoreTables<Number>& scores,
               const Expectation<Number>& out) override {
    const Index U = scores.choice.rows;
    T_ = Size(scores.choice.cols);
    starts_.assign(1, Row(T_, 0));
    if (!scores.start.empty()) {
      starts_[0].assign(scores.start.begin(), scores.start.end());
    } else if (T_ > 0) {
      starts_[0][0] = 1;
    }
    for (Index i = 0; i < U; ++i) {
      SetOutput(scores, i);
      Row next(T_, 0);
      Row alpha(T_, 0);
      const std::span<Number> beta = out.attention.Row(i);
      std::ranges::fill(beta, Number{0});
      for (std::size_t k = 0; k < T_; ++k) {
        if (starts_.back()[k] == 0) continue;
        const Row G = PathsFrom(k, starts_.back()[k], next[k]);
        for (std::size_t l = k; l < T_; ++l) alpha[l] += G[l];
        if (rule_.since_last()) AddChunksFrom(k, G, beta);
      }
      if (!rule_.since_last()) AddChunks(alpha, beta);
      for (std::size_t l = 0; l < T_; ++l) next[l] += alpha[l];
      if (out.selection.data != nullptr) {
        std::ranges::copy(alpha, out.selection.Row(i).begin());
      }
      starts_.push_back(next);
    }
  }

  void Gradient(const ScoreTables<Number>& scores,
                const Cotangent<Number>& cotangent,
                const Expectation<Number>& out,
                const ScoreGradients<Number>& gradients) override {
    Forward(scores, out);
    Row d_next(T_, 0);
    for (Index i = scores.choice.rows; i-- > 0;) {
      SetOutput(scores, i);
      const Row& start = starts_[Size(i)];
      const std::span<const Number> d = cotangent.attention.Row(i);
      Row d_start(T_, 0), d_p(T_, 0), d_u(T_, 0), alpha(T_, 0);
      Row mean = rule_.since_last() ? Row() : ChunkMeans(d);
      Row d_alpha(T_, 0);
      if (cotangent.selection.data != nullptr) {
        std::ranges::copy(cotangent.selection.Row(i), d_alpha.begin());
      }
      for (std::size_t k = 0; k < T_; ++k) {
        if (rule_.since_last()) mean = ChunkMeansFrom(k, d);
        Number ignored = 0;
        const Row G = PathsFrom(k, start[k], ignored);
        // V(n): expected value from n on, for a scan that began at k.
        Number V = end_ == EndPolicy::kRestart ? d_next[k] : 0;
        for (std::size_t n = T_; n-- > k;) {
          const Number chosen = mean[n] + d_next[n] + d_alpha[n];
          d_p[n] += arrives_[n] * (chosen - V);
          V = p_[n] * chosen + not_p_[n] * V;
        }
        d_start[k] = V;
        for (std::size_t l = k; l < T_; ++l) alpha[l] += G[l];
        if (rule_.since_last()) AddChunkGradientFrom(k, G, mean, d, d_u);
      }
      if (!rule_.since_last()) AddChunkGradient(alpha, mean, d, d_u);
      WriteScoreGradients(scores, i, d_p, d_u, gradients);
      d_next = d_start;
    }
    if (!gradients.start.empty()) {
      std::ranges::copy(d_next, gradients.start.begin());
    }
  }

 private:
  void SetOutput(const ScoreTables<Number>& scores, Index i) {
    p_.resize(T_);
    not_p_.resize(T_);
    arrives_.resize(T_);
    for (std::size_t j = 0; j < T_; ++j) {
      const Number x = scores.choice.Row(i)[j];
      p_[j] = scores.probabilities ? x : 1 / (1 + std::exp(-x));
      not_p_[j] = scores.probabilities ? 1 - x : 1 / (1 + std::exp(x));
    }
    if (end_ == EndPolicy::kStayLast && T_ > 0) {
      p_.back() = 1;
      not_p_.back() = 0;
    }
    if (has_chunk_energies()) u_ = scores.chunk_energies.Row(i);
  }

  // Gives G(k, l) for all l, and adds to `again` what chose nothing and starts
  // from k again. arrives_(l) = start(k) prod over n = k..l-1 of (1 - p(n)).
  Row PathsFrom(std::size_t k, Number start, Number& again) {
    Row G(T_, 0);
    Number passed = start;
    for (std::size_t l = k; l < T_; ++l) {
      arrives_[l] = passed;
      G[l] = passed * p_[l];
      passed *= not_p_[l];
    }
    if (end_ == EndPolicy::kRestart) again += passed;
    return G;
  }

  std::size_t ChunkBegin(std::size_t l) const {
    return Size(rule_.Begin(0, static_cast<Index>(l)));
  }

  // softmax over u(begin..l).
  Row ChunkWeights(std::size_t begin, std::size_t l) const {
    Row weights(l - begin + 1, 1);
    if (!has_chunk_energies()) return weights;
    const Number largest =
        *std::max_element(u_.begin() + static_cast<std::ptrdiff_t>(begin),
                          u_.begin() + static_cast<std::ptrdiff_t>(l) + 1);
    Number sum = 0;
    for (std::size_t n = begin; n <= l; ++n) {
      sum += weights[n - begin] = std::exp(u_[n] - largest);
    }
    for (Number& weight : weights) weight /= sum;
    return weights;
  }

  // A window does not depend on where the scan began: eq 17.
  void AddChunks(const Row& alpha, std::span<Number> beta) const {
    for (std::size_t l = 0; l < T_; ++l) {
      const std::size_t begin = ChunkBegin(l);
      const Row weights = ChunkWeights(begin, l);
      for (std::size_t j = begin; j <= l; ++j) {
        beta[j] += alpha[l] * weights[j - begin];
      }
    }
  }
  Row ChunkMeans(std::span<const Number> d) const {
    Row mean(T_, 0);
    for (std::size_t l = 0; l < T_; ++l) {
      const std::size_t begin = ChunkBegin(l);
      const Row weights = ChunkWeights(begin, l);
      for (std::size_t j = begin; j <= l; ++j) {
        mean[l] += weights[j - begin] * d[j];
      }
    }
    return mean;
  }
  void AddChunkGradient(const Row& alpha, const Row& mean,
                        std::span<const Number> d, Row& d_u) const {
    for (std::size_t l = 0; l < T_; ++l) {
      const std::size_t begin = ChunkBegin(l);
      const Row weights = ChunkWeights(begin, l);
      for (std::size_t j = begin; j <= l; ++j) {
        d_u[j] += alpha[l] * weights[j - begin] * (d[j] - mean[l]);
      }
    }
  }

  // Holds the sum of exp(u) over k..l for growing l, as the largest u and the
  // sum beside it: eq 28 with T^2 terms and no array of T x T.
  struct GrowingSum {
    Row largest, sum;
  };
  GrowingSum SumsFrom(std::size_t k) const {
    GrowingSum s{Row(T_), Row(T_)};
    Number largest = -std::numeric_limits<Number>::infinity();
    Number sum = 0;
    for (std::size_t l = k; l < T_; ++l) {
      const Number before = largest;
      largest = std::max(largest, u_[l]);
      sum = (sum == 0 ? 0 : sum * std::exp(before - largest)) +
            std::exp(u_[l] - largest);
      s.largest[l] = largest;
      s.sum[l] = sum;
    }
    return s;
  }
  // sum over l >= j of X(l) exp(u(j)) / sum of exp(u) over k..l, for all j.
  Row SpreadOver(std::size_t k, const GrowingSum& s, const Row& X) const {
    Row spread(T_, 0);
    Number later = 0;
    for (std::size_t j = T_; j-- > k;) {
      if (j + 1 < T_) later *= std::exp(s.largest[j] - s.largest[j + 1]);
      later += X[j] / s.sum[j];
      spread[j] = std::exp(u_[j] - s.largest[j]) * later;
    }
    return spread;
  }
  void AddChunksFrom(std::size_t k, const Row& G,
                     std::span<Number> beta) const {
    const Row spread = SpreadOver(k, SumsFrom(k), G);
    for (std::size_t j = k; j < T_; ++j) beta[j] += spread[j];
  }
  // Mean of d over k..l by the weights of that chunk, for all l.
  Row ChunkMeansFrom(std::size_t k, std::span<const Number> d) const {
    const GrowingSum s = SumsFrom(k);
    Row mean(T_, 0);
    Number weighted = 0;
    for (std::size_t l = k; l < T_; ++l) {
      if (l > k) weighted *= std::exp(s.largest[l - 1] - s.largest[l]);
      weighted += std::exp(u_[l] - s.largest[l]) * d[l];
      mean[l] = weighted / s.sum[l];
    }
    return mean;
  }
  void AddChunkGradientFrom(std::size_t k, const Row& G, const Row& mean,
                            std::span<const Number> d, Row& d_u) const {
    const GrowingSum s = SumsFrom(k);
    Row G_mean(T_, 0);
    for (std::size_t l = k; l < T_; ++l) G_mean[l] = G[l] * mean[l];
    const Row spread = SpreadOver(k, s, G);
    const Row spread_mean = SpreadOver(k, s, G_mean);
    for (std::size_t j = k; j < T_; ++j) {
      d_u[j] += spread[j] * d[j] - spread_mean[j];
    }
  }

  void WriteScoreGradients(const ScoreTables<Number>& scores, Index i,
                           const Row& d_p, const Row& d_u,
                           const ScoreGradients<Number>& gradients) const {
    const std::span<Number> d_choice = gradients.choice.Row(i);
    for (std::size_t j = 0; j < T_; ++j) {
      d_choice[j] = scores.probabilities ? d_p[j] : p_[j] * not_p_[j] * d_p[j];
      if (has_chunk_energies()) gradients.chunk_energies.Row(i)[j] = d_u[j];
    }
    if (end_ == EndPolicy::kStayLast && T_ > 0) d_choice.back() = 0;
  }

  const EndPolicy end_;
  const ChunkRule rule_;
  std::size_t T_ = 0;
  std::vector<Row> starts_;  // of every output, and after the last
  Row p_, not_p_, arrives_;
  std::span<const Number> u_;
};

}  // namespace

template <class Number>
std::unique_ptr<AttentionFunction<Number>> MakeReferenceExpectation(
    const Config& config, ChunkRule rule) {
  return std::make_unique<ReferenceExpectation<Number>>(config, rule);
}

template std::unique_ptr<AttentionFunction<double>> MakeReferenceExpectation(
    const Config&, ChunkRule);
template std::unique_ptr<AttentionFunction<long double>>
MakeReferenceExpectation(const Config&, ChunkRule);

}  // namespace attnbench
