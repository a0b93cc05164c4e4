// What samples are summarised by: the median, which a few disturbed samples do
// not move, and an interval of the median that assumes nothing about how times
// are distributed (they are neither normal nor symmetric).
#ifndef ATTNBENCH_HARNESS_STATISTICS_H_
#define ATTNBENCH_HARNESS_STATISTICS_H_

#include <span>

namespace attnbench {

// The middle sample, or the mean of the two in the middle. At least one sample.
double Median(std::span<const double> samples);

struct Interval {
  double low = 0;
  double high = 0;
};

// The narrowest interval [x(k), x(n+1-k)] of order statistics that covers the
// median of the distribution with probability at least 0.95: the number of
// samples below the median is Binomial(n, 1/2), so the interval misses with
// probability 2 P(B < k). Fewer than 6 samples cannot give 0.95; theirs is the
// whole range. At least one sample.
Interval MedianInterval(std::span<const double> samples);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_STATISTICS_H_
