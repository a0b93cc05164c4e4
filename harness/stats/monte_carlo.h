// The statistics behind `attnbench verify`: p-values of "the samples have this
// expectation" that hold for every sample size and every tail, how they are
// judged together, and which discrepancy would have been seen. No normal
// approximation: at a level of 1e-6 over 1e5 comparisons p-values of 1e-11
// decide, where the tails of chi-square and z statistics are wrong by orders of
// magnitude.
//
// All are pure functions. A p-value p is valid: under the expectation P(p <= x)
// <= x.
#ifndef ATTNBENCH_HARNESS_STATS_MONTE_CARLO_H_
#define ATTNBENCH_HARNESS_STATS_MONTE_CARLO_H_

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/base/document.h"

namespace attnbench {

// The power at which a discrepancy counts as one that would have been seen.
inline constexpr double kPower = 0.99;

// P(X >= hits) for X ~ Binomial(trials, p), by the incomplete beta function.
double BinomialUpperTail(std::int64_t trials, std::int64_t hits, double p);

// The two-sided p-value, min(1, 2 min tail), of `hits` in `trials` with the
// probability `expected`. A hit where `expected` is 0 gives 0. An expectation
// is a computed number: each tail is taken at the end of expected +- (1e-12 of
// its distance from 0 or 1, + rounding) that is kinder to it, and no distance
// from 1 counts as less than 1e-15, as one that rounds to 1 need not be it.
// `rounding` is for expectations that a subtraction made. An expectation that
// is no probability gives 0.
double CountPValue(std::int64_t trials, std::int64_t hits, double expected,
                   double rounding = 0);

// The least d such that counts with probability expected + d, or expected - d,
// have a p-value <= level with probability >= kPower; of two possible
// directions the larger d.
double CountDetectable(std::int64_t trials, double expected, double level);

// Sums of many numbers at each of several places. A place without a number in a
// trial counts as 0, so its range holds 0.
//
// Means are compensated (Neumaier 1974), exact to rounding however many numbers
// there are: a constant is often the end of its range, where a bound takes any
// drift beyond rounding for an impossibility. Squares only widen a bound.
class SampleSums {
 public:
  explicit SampleSums(std::size_t count);
  void Add(std::size_t place, double value) {
    Sums& sums = sums_[place];
    const double total = sums.sum + value;
    sums.lost += std::abs(sums.sum) >= std::abs(value)
                     ? (sums.sum - total) + value
                     : (value - total) + sums.sum;
    sums.sum = total;
    sums.square += value * value;
    sums.least = value < sums.least ? value : sums.least;
    sums.greatest = value > sums.greatest ? value : sums.greatest;
  }

 private:
  friend struct SampleMean SummarizeSamples(const SampleSums& sums,
                                            std::size_t place,
                                            std::int64_t trials, double low,
                                            double high);
  struct Sums {
    double sum = 0;
    double lost = 0;  // what rounding took from `sum`
    double square = 0;
    double least = 0;
    double greatest = 0;
  };
  std::vector<Sums> sums_;
};

// The mean and unbiased variance of `trials` independent numbers that are known
// to lie in [low, high].
struct SampleMean {
  std::int64_t trials = 0;
  double mean = 0;
  double variance = 0;
  double low = 0;
  double high = 1;
  bool in_range = true;  // no number was outside [low, high]
};
SampleMean SummarizeSamples(const SampleSums& sums, std::size_t place,
                            std::int64_t trials, double low, double high);

// Twice the smaller of two bounds, both two-sided: the empirical Bernstein
// inequality (Maurer and Pontil 2009, theorem 4), sharp where the variance is
// small, and Chernoff's exp(-n KL(mean, expected)), sharp near the ends of the
// range. It is 0 if the mean is off and `expected` is an end of the range, or
// if numbers lay outside of the range or were NaN. Differences below 1e-12 of
// the range are rounding.
double MeanPValue(const SampleMean& sample, double expected);

// By the same inequality, a mean that is off by this much has a p-value <=
// level with probability >= kPower, if the variance is the observed one.
double MeanDetectable(const SampleMean& sample, double level);

// Holm's procedure (1979): of all p-values of a run, those <= the result are
// rejected, and the probability that any true one is rejected is <= level,
// however they depend on each other. It is negative if none is.
double HolmThreshold(std::span<const double> p_values, double level);

// Pearson's statistic over the entries that are expected at least five times.
// It is only a figure to look at: the rows of a table depend on each other, so
// a verdict cannot rest on its tails.
struct ChiSquare {
  double statistic = 0;
  std::int64_t terms = 0;

  static void Fields(auto& self, auto& visit) {
    visit("statistic", self.statistic);
    visit("terms", self.terms, kAtLeastZero);
  }
  void Add(std::int64_t trials, std::int64_t hits, double expected);
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_STATS_MONTE_CARLO_H_
