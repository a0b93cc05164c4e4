// The room `stats` has statistics that are functions of numbers alone.
//
// There is one interval for everything. Samples are logarithms (of times, or of
// ratios), and the value of a process is the median of its rounds, which a few
// disturbed rounds do not move. Rounds of one process share its pages and its
// place in memory, processes of one program its layout, and all of a run its
// machine's state. So the unit that counts is the largest of which there are
// several: builds, then processes, then rounds. What the samples cannot show,
// because there is one build, one process or one run alone, an Effect adds: an
// estimate from elsewhere (effects.h).
#ifndef ATTNBENCH_HARNESS_STATS_STATISTICS_H_
#define ATTNBENCH_HARNESS_STATS_STATISTICS_H_

#include <cstdint>
#include <optional>
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

// None where it is infinite, as a document has no such number.
std::optional<Interval> Finite(const Interval& interval);

// The samples by [process][round]; there is at least one process, and each has
// equally many rounds.
using ProcessSamples = std::vector<std::vector<double>>;

// Splits the samples of a cell, which stand process after process. Their number
// is a multiple of `processes`.
ProcessSamples SplitProcesses(std::span<const double> samples, int processes);

ProcessSamples Logs(ProcessSamples samples);

// The medians of the processes' rounds.
std::vector<double> ProcessMedians(const ProcessSamples& samples);

// The mean of the processes' medians of each of `builds` builds: process k is
// of build k mod `builds`. The number of processes is a multiple of `builds`.
std::vector<double> BuildMeans(const ProcessSamples& logs, std::int64_t builds);

// A part of the variance of an estimate, and the degrees of freedom with which
// it is known.
struct Variance {
  double value = 0;
  double degrees = 1;
};

// The centre of the logarithms of one series, with its squared standard error.
struct Center {
  double value = 0;
  Variance variance;  // infinite if there is one round alone
};

// Takes the first of three units of which there are several:
//
// builds     mean of BuildMeans; s^2 / n, n - 1 degrees
// processes  mean of ProcessMedians; s^2 / n, n - 1 degrees
// rounds     median; pi / 2 (IQR / 1.349)^2 / (n - 1.1), (n - 1) / 2 degrees
//            but at least one: the variance of the median of n normal values,
//            whose standard deviation is taken from the interquartile range
//            (Quantile). That is too small for few values, hence 1.1, and tells
//            about half as much as all values would. By simulation the interval
//            then covers as often as it says
Center CenterOf(const ProcessSamples& logs, std::int64_t builds = 1);

// How often each of the squares of an Effect is in a variance.
struct EffectCounts {
  double builds = 0;
  double processes = 0;
  double runs = 0;
};

// By how much the logarithm of a time or ratio moves from build to build (a
// relink of the same objects in another order), from process to process of one
// build and from run to run, as standard deviations with their degrees of
// freedom.
struct Effect {
  double s_build = 0;
  double build_degrees = 1;
  double s_process = 0;
  double process_degrees = 1;
  double s_run = 0;
  double run_degrees = 1;

  std::vector<Variance> Parts(const EffectCounts& counts) const;
};

// Student's t(1 - miss / 2) times the root of the sum of the parts, with the
// degrees of freedom of Welch and Satterthwaite. It is infinite if a part is,
// and 0 if all are.
double HalfWidth(std::span<const Variance> parts, double miss);

struct Estimate {
  double value = 0;
  Interval interval;
};

// The centre of the logarithms of one run with the interval that misses with
// probability `miss`: the effect of the run is in it, and those of the build
// and the process unless there are several.
Estimate EstimateOf(const ProcessSamples& logs, std::int64_t builds,
                    const Effect& effect, double miss = kMiss);

// The logarithms of the ratios numerator / denominator, round by round, of two
// cells that were timed in the same rounds. What the machine does between
// rounds is in both times of a round and drops out. The shapes are equal, and
// samples are above 0.
ProcessSamples PairedLogRatios(const ProcessSamples& numerator,
                               const ProcessSamples& denominator);

// Takes exp of an estimate of logarithms. A value that no number holds is the
// greatest number; the ends of the interval may be infinite.
Estimate Exp(const Estimate& logs);

// The total variation of two distributions: half the sum of |a - b|. Mass that
// one of the two lacks counts as an outcome of its own.
double TotalVariation(std::span<const double> a, std::span<const double> b);

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
