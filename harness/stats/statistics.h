// The room `stats` has statistics that are functions of numbers alone.
//
// Samples are summarised by medians, which a few disturbed samples do not move,
// and by intervals that assume as little about the distribution of times as the
// number of samples allows (it is neither normal nor symmetric).
//
// Rounds of one process share its code layout, its pages and its place in
// memory, so they are no independent repetitions of the measurement: if several
// processes measured, the process is the unit, and its rounds only make its
// median more exact.
#ifndef ATTNBENCH_HARNESS_STATS_STATISTICS_H_
#define ATTNBENCH_HARNESS_STATS_STATISTICS_H_

#include <cstddef>
#include <span>
#include <vector>

namespace attnbench {

// The share of cases in which an interval may miss, unless something else is
// said.
inline constexpr double kMiss = 0.05;

// The middle sample, or the mean of the two in the middle. At least one sample.
double Median(std::span<const double> samples);

// The value below which the share `q` of the samples lies, linear between two
// neighbours. At least one sample.
double Quantile(std::span<const double> samples, double q);

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

// An interval of the centre of logarithms of times or of ratios that misses
// with probability at most `miss`, and contains their median. It is made of
// order statistics as above if there are enough of them: from n = 1 + log2(1 /
// miss) on the range misses with probability 2^(1-n) <= miss, whatever the
// distribution. With fewer, only an assumption about the distribution can give
// the coverage: Student's interval of the mean, exact where logarithms are
// normal (so for times that many small causes multiply). One value alone has no
// interval: it is infinite. There is at least one value.
Interval CenterInterval(std::span<const double> logs, double miss);

// The samples by [process][round]; there is at least one process, and each has
// equally many rounds.
using ProcessSamples = std::vector<std::vector<double>>;

// Splits the samples of a cell, which stand process after process. Their number
// is a multiple of `processes`.
ProcessSamples SplitProcesses(std::span<const double> samples, int processes);

ProcessSamples Logs(ProcessSamples samples);

std::vector<double> ProcessMedians(const ProcessSamples& samples);

struct Estimate {
  double value = 0;
  Interval interval;
};

// The centre of logarithms with its interval: over processes if there are
// several, otherwise over rounds.
Estimate Center(const ProcessSamples& logs, double miss);

// The ratio numerator / denominator of two cells that were timed in the same
// rounds: the centre of the logarithms of every round's ratio. What the machine
// does between rounds is in both times of a round and drops out. The shapes are
// equal, and samples are above 0.
ProcessSamples PairedLogRatios(const ProcessSamples& numerator,
                               const ProcessSamples& denominator);

// Takes exp of an estimate of logarithms.
Estimate Exp(const Estimate& logs);

// Layout of code and memory alone, which one process cannot tell from the
// code's own speed, is assumed to move a time by up to 18 percent: an
// assumption, not measured here (pyperf starts 20 processes for that reason).
inline constexpr double kLayoutFactor = 1.18;

// At least this many processes on a side show what layout does. With fewer, two
// sides whose layouts have only two speeds would often differ by chance and
// show no spread at all (with 2 processes each in 1 case of 8, with 5 in 1 of
// 512).
inline constexpr std::size_t kLeastProcesses = 5;

inline bool HasFewProcesses(const ProcessSamples& samples) {
  return samples.size() < kLeastProcesses;
}

// The logarithm ln(b / a) of two measurements that were not made in the same
// rounds. With enough processes on both sides: the difference of the means of
// the processes' medians with Welch's interval, which has its coverage where
// logarithms of processes' medians are normal. With few on a side: the two
// sides' own intervals (Center), each with half of `miss`, and
// ln(kLayoutFactor) on both ends, for what the processes that are not there
// would have shown.
Estimate UnpairedLogRatio(const ProcessSamples& a_logs,
                          const ProcessSamples& b_logs, double miss);

// Spearman's correlation, which is Pearson's of the ranks; equal values have
// the mean of their ranks. It is 0 if all values of a side are equal. Both
// sides have equal lengths.
double RankCorrelation(std::span<const double> x, std::span<const double> y);

// Tells whether the samples of the last third of a process's rounds differ from
// those of the first third. `change` is the median late over the median early,
// minus 1, the median over processes. `p` is of the rank-sum statistic of the
// two thirds, added up over processes, in its normal approximation with
// correction for continuity; ties have mean ranks, which keeps p too large, not
// too small.
struct RoundDrift {
  double change = 0;
  double p = 1;
};
inline constexpr int kLeastDriftRounds = 9;  // number of rounds in a process
RoundDrift RoundDriftOf(const ProcessSamples& samples);

// The number of samples that lie more than 3 interquartile ranges outside the
// quartiles of their process (Tukey's far out).
int OutliersOf(const ProcessSamples& samples);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_STATS_STATISTICS_H_
