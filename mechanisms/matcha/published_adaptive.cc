#include "mechanisms/matcha/published_adaptive.h"

#include <algorithm>
#include <cmath>

namespace attnbench::matcha {
namespace {

// Eq 28.
template <class Number>
void Nested(const PublishedRow<Number>& row, std::span<Number> beta) {
  const std::size_t T = beta.size();
  const Buffer<Number> e = UnshiftedExp(row.chunk_energies);
  for (std::size_t j = 0; j < T; ++j) {
    beta[j] = Number(0);
    for (std::size_t k = 0; k <= j; ++k) {
      Number S(0);
      Number product(1);  // of 1 - p over k..l-1
      for (std::size_t l = k; l < T; ++l) {
        S += e[l];
        if (l >= j) beta[j] += e[j] / S * row.start[k] * row.p[l] * product;
        product *= 1 - row.p[l];
      }
    }
  }
}

// AllPartialSums(j, l) of eqs 40 and 41, a difference of cumulative sums, and 1
// where j > l.
template <class Number>
Buffer<Number> AllPartialSums(const Buffer<Number>& x) {
  const std::size_t T = x.size();
  Buffer<Number> before(T + 1, Number(0));  // exclusive cumulative sum
  for (std::size_t j = 0; j < T; ++j) before[j + 1] = before[j] + x[j];
  Buffer<Number> sums(T * T, Number(1));
  for (std::size_t j = 0; j < T; ++j) {
    for (std::size_t l = j; l < T; ++l) {
      sums[j * T + l] = before[l + 1] - before[j];
    }
  }
  return sums;
}

// Eqs 42 and 43.
template <class Number>
void PartialSums(const PublishedRow<Number>& row, std::span<Number> beta) {
  const std::size_t T = beta.size();
  const Buffer<Number> e = UnshiftedExp(row.chunk_energies);
  const Buffer<Number> S = AllPartialSums(e);
  Buffer<Number> C(T, Number(1));  // exclusive cumulative product of 1 - p
  for (std::size_t j = 1; j < T; ++j) C[j] = C[j - 1] * (1 - row.p[j - 1]);
  // Columns of eq 42, one after another: sum over k <= j for each l.
  Buffer<Number> sum(T, Number(0));
  for (std::size_t j = 0; j < T; ++j) {
    Number total(0);
    for (std::size_t l = 0; l < T; ++l) {
      sum[l] += row.start[j] / (S[j * T + l] * C[j]);
      if (l < j) continue;
      const Number r = C[j] * sum[l];
      const Number partial_product = C[l] / C[j];
      total += row.p[l] * partial_product * r;
    }
    beta[j] = e[j] * total;
  }
}

// Eq 28 for each k, with m(l) the maximum of u over k..l and S(l) the sum of
// exp(u - m(l)) over k..l: beta(j) = sum over k of exp(u(j) - m(j)) / S(j)
// R(j), where R(j) = start(k) p(j) prod(1 - p over k..j-1)
//              + exp(m(j) - m(j+1)) S(j) / S(j+1) R(j+1).
// One number for m + log S would lose the digits of log S where u is large.
template <class Number>
void ByRunningMaximum(const PublishedRow<Number>& row, std::span<Number> beta) {
  using std::exp;
  const std::span<const Number> u = row.chunk_energies;
  const std::size_t T = beta.size();
  std::ranges::fill(beta, Number(0));
  Buffer<Number> m(T, Number(0));
  Buffer<Number> S(T, Number(0));
  Buffer<Number> ends(T, Number(0));  // the mass of chunks k..l
  for (std::size_t k = 0; k < T; ++k) {
    Number mass = row.start[k];
    for (std::size_t l = k; l < T; ++l) {
      ends[l] = mass * row.p[l];
      mass *= 1 - row.p[l];
      if (l == k) {
        m[l] = u[l];
        S[l] = Number(1);
      } else if (m[l - 1] < u[l]) {
        m[l] = u[l];
        S[l] = S[l - 1] * exp(Number(m[l - 1] - u[l])) + 1;
      } else {
        m[l] = m[l - 1];
        S[l] = S[l - 1] + exp(Number(u[l] - m[l]));
      }
    }
    Number R(0);
    for (std::size_t j = T; j-- > k;) {
      if (j + 1 < T) R *= exp(Number(m[j] - m[j + 1])) * S[j] / S[j + 1];
      R += ends[j];
      beta[j] += exp(Number(u[j] - m[j])) / S[j] * R;
    }
  }
}

}  // namespace

template <class Number>
void PublishedAdaptive(const Config& config, const PublishedRow<Number>& row,
                       std::span<Number> attention) {
  if (config.variant == kParallel) {
    ByRunningMaximum(row, attention);
  } else if (config.variant == "nested") {
    Nested(row, attention);
  } else {
    ATTN_CHECK_EQ(config.variant, "partial_sums");
    PartialSums(row, attention);
  }
}

template void PublishedAdaptive(const Config&, const PublishedRow<float>&,
                                std::span<float>);
template void PublishedAdaptive(const Config&, const PublishedRow<double>&,
                                std::span<double>);
template void PublishedAdaptive(const Config&, const PublishedRow<Dual<float>>&,
                                std::span<Dual<float>>);
template void PublishedAdaptive(const Config&,
                                const PublishedRow<Dual<double>>&,
                                std::span<Dual<double>>);

}  // namespace attnbench::matcha
