// alpha by the closed form of MAD appendix C.1 (eq 30 of MoChA's notation),
//
//   alpha(j) = p(j) C(j) sum over k <= j of start(k) / C(k),
//   C(j)     = prod over n < j of (1 - p(n)),
//
// with the clippings that toolkits need to divide by C: one scalar template,
// and a table of their constants. Where C underflows, or is clipped, mass is
// lost. And alpha without a denominator, by a triangular matrix (EMMA, Ma et
// al. 2023, arXiv 2312.04515),
//
//   alpha(j) = p(j) sum over k <= j of start(k) M(k, j),
//   M(k, j)  = prod over n = k..j-1 of (1 - p(n)),
//
// which loses nothing and takes O(T^2) for each output.
#ifndef ATTNBENCH_MECHANISMS_MONOTONIC_PARALLEL_SELECTION_H_
#define ATTNBENCH_MECHANISMS_MONOTONIC_PARALLEL_SELECTION_H_

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "mechanisms/mechanism.h"

namespace attnbench {

// Says how one published closed form treats 1 - p and C.
struct ParallelConstants {
  enum class Term {
    kLogClip,  // C = exp of the sum of log(clip(1 - p, eps, 1))
    kLogAdd,   // C = exp of the sum of log(1 - p + eps)
    kClip,     // C = product of clip(1 - p, eps, 1)
    kRaw,      // C = product of 1 - p
  };
  enum class Denominator { kClip, kOne, kRaw };  // clip(C, eps, 1), 1, C

  std::string name;
  std::string toolkit = {};  // as in PublishedForm
  std::string source = {};
  Term term = Term::kLogClip;
  double term_eps = 0;  // 0 under kLogClip: the smallest normal number
  Denominator denominator = Denominator::kClip;
  double denominator_eps = 0;
  bool inclusive = false;       // C(j) takes in 1 - p(j) too
  bool clip_selection = false;  // alpha is clipped to [0, 1]
};

// The variants that make alpha in these two ways.
inline constexpr char kParallel[] = "parallel";
inline constexpr char kTriangular[] = "triangular";

// All presets: mad2017, tf, nsp ...
const std::vector<ParallelConstants>& ParallelPresets();
// What they stand for, in their order.
std::vector<PublishedForm> ParallelForms();
// The preset that option `preset` names. Under "none" the options term_eps and
// denominator_eps are taken.
ParallelConstants ParallelConstantsOf(const Config& config);
// Options preset, term_eps and denominator_eps, which only kParallel reads.
std::vector<OptionSpec> ParallelOptions();

// clip(x, least, 1); its derivative is 0 where it clips.
template <class Real, class Number>
Number ClipToOne(const Number& x, double least) {
  if (x < static_cast<Real>(least)) return Number(static_cast<Real>(least));
  if (x > Real{1}) return Number(Real{1});
  return x;
}

template <class Real, class Number>
Number ParallelFactor(const ParallelConstants& constants,
                      const Number& complement) {
  using Term = ParallelConstants::Term;
  switch (constants.term) {
    case Term::kLogClip:
    case Term::kClip: {
      const double eps =
          constants.term_eps > 0
              ? constants.term_eps
              : static_cast<double>(std::numeric_limits<Real>::min());
      return ClipToOne<Real>(complement, eps);
    }
    case Term::kLogAdd:
      return complement + static_cast<Real>(constants.term_eps);
    case Term::kRaw:
      break;
  }
  return complement;
}

// exp(x), sooner where it is 0: libraries take long over what underflows.
template <class Real, class Number>
Number ExpOfLogs(const Number& x) {
  using std::exp;
  if constexpr (std::is_same_v<Real, Number>) {
    constexpr Real kZero = sizeof(Real) == sizeof(float) ? -104 : -746;
    if (x < kZero) return 0;
  }
  return Number(exp(x));
}

// Number is Real, or a dual number over it. All arrays are [T].
template <class Real, class Number>
void ParallelSelect(const ParallelConstants& constants,
                    std::span<const Number> start, std::span<const Number> p,
                    std::span<Number> alpha) {
  using std::log;
  const bool in_logs = constants.term == ParallelConstants::Term::kLogClip ||
                       constants.term == ParallelConstants::Term::kLogAdd;
  Number log_product(Real{0});
  Number product(Real{1});
  Number sum(Real{0});
  for (std::size_t j = 0; j < alpha.size(); ++j) {
    const Number factor =
        ParallelFactor<Real, Number>(constants, Number(Real{1} - p[j]));
    const Number before = product;
    if (in_logs) {
      log_product += log(factor);
      product = ExpOfLogs<Real, Number>(log_product);
    } else {
      product *= factor;
    }
    const Number C = constants.inclusive ? product : before;
    switch (constants.denominator) {
      case ParallelConstants::Denominator::kClip:
        sum += start[j] / ClipToOne<Real>(C, constants.denominator_eps);
        break;
      case ParallelConstants::Denominator::kOne:
        sum += start[j];
        break;
      case ParallelConstants::Denominator::kRaw:
        sum += start[j] / C;
        break;
    }
    const Number product_of_all = p[j] * C * sum;
    alpha[j] = constants.clip_selection ? ClipToOne<Real>(product_of_all, 0)
                                        : product_of_all;
  }
}

// Like ParallelSelect. Rows of M are made one after another, and not kept.
template <class Number>
void TriangularSelect(std::span<const Number> start, std::span<const Number> p,
                      std::span<Number> alpha) {
  for (Number& sum : alpha) sum = Number(0);
  for (std::size_t k = 0; k < alpha.size(); ++k) {
    Number product(1);
    for (std::size_t j = k; j < alpha.size(); ++j) {
      alpha[j] += start[k] * product;
      product *= 1 - p[j];
    }
  }
  for (std::size_t j = 0; j < alpha.size(); ++j) alpha[j] *= p[j];
}

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_MONOTONIC_PARALLEL_SELECTION_H_
