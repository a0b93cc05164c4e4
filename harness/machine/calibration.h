// Probes tell how fast the machine itself was during a sweep: work that never
// changes is timed once a round, before the cells.
//
// The chain is a loop of dependent multiply-adds. It touches no memory and
// cannot be overlapped, so its time is a fixed number of cycles over the clock
// rate: where it drifts, times of different points, or of two results, are not
// of the same clock (ratios within a round are). It does not see a neighbour on
// the same core or in a cache, so there are probes of these, too: a throughput
// that fills the core's ports, and reads of L2, L3 and DRAM. A round in which
// one of them is far above its median was disturbed, and is measured again
// (point_runner.h).
#ifndef ATTNBENCH_HARNESS_MACHINE_CALIBRATION_H_
#define ATTNBENCH_HARNESS_MACHINE_CALIBRATION_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/base/document.h"
#include "harness/machine/caches.h"
#include "harness/machine/context.h"
#include "harness/system/pages.h"

namespace attnbench {

// The times of the probes of a round in ns, by name: "chain" and "throughput",
// and "L2", "L3" and "DRAM" where the machine tells its caches. Every round of
// a process has the same names.
using ProbeTimes = std::map<std::string, double>;

// Times the probes. What they read lies in pages of its own, not in the memory
// of malloc, where it would decide which arrays of the cells find a place. It
// is bounded: a level that wants more than kMostBytes has no probe, and that of
// DRAM flushes what it reads from the caches, whose size a virtual machine may
// tell and not have. (Reading twice the last cache instead took a gigabyte.)
class Probes {
 public:
  static constexpr Index kMostBytes = Index{64} << 20;  // of a level

  explicit Probes(const std::vector<Cache>& caches = ReadCaches());

  // The least of a few short runs of each probe, because an interruption makes
  // one of them longer and a slower machine all of them. A call takes the
  // longer, the larger L2 is, because each run reads a share of its size.
  ProbeTimes Time();

  // What all levels read.
  Index bytes() const;

 private:
  // Each run reads the next part of the buffer.
  struct Reading {
    std::string name;
    int runs = 1;
    bool is_flushed = false;  // before the runs
    Pages pages = {};
    Index part = 0;   // in numbers, as `begin`
    Index begin = 0;  // of the next part
  };
  void Add(Reading reading, Index bytes, Index part_bytes);

  std::vector<Reading> readings_;
};

// What the probes say of the rounds that were kept.
struct ProbedRounds {
  std::vector<ProbeTimes> times;
  std::int64_t again = 0;  // how many rounds were measured again

  static void Fields(auto& self, auto& visit) {
    visit("times", self.times);
    visit("again", self.again, kAtLeastZero);
  }
};

// A round strays if one of its probes takes more than this many times its
// median. A lower limit would measure many rounds of a busy machine again.
inline constexpr double kStraying = 1.3;

// For each round, how many times its median the worst of its probes takes.
class Excess {
 public:
  explicit Excess(const std::vector<ProbeTimes>& rounds);
  double operator()(const ProbeTimes& round) const;

 private:
  ProbeTimes medians_;
};

// The entry of `context.calibration` of a point. There is one round at least,
// and the rounds are those of all processes, so that a process that was
// disturbed all the time strays from the others. `deviation` is how far drift
// between the rounds may move the median of the chain: two of its standard
// errors (CenterOf), relative to it.
Calibration CalibrationOf(const std::string& point, const ProbedRounds& rounds);

// The entry of the rounds of both, `b` after `a`, with the probes that both
// have. What counts of several processes is the mean of their medians, so the
// squares of their deviations add up, over the square of their number.
Calibration Joined(const Calibration& a, const Calibration& b);

// The drift over all entries together.
struct Drift {
  double between_points = 0;  // (greatest - least) / least of the medians
  double within_point = 0;    // the largest deviation
  std::string worst_point;    // the point of that deviation; may be empty
};
Drift DriftOf(const std::vector<Calibration>& calibration);

// The points to measure again where the clock drifted intolerably between
// points: those outside the largest group whose medians are within
// kIntolerableDrift of each other (of groups as large, that of the fastest
// clock). None where more than half of all points are outside: such a clock
// never was steady, and measuring again would take as long as the whole.
std::set<std::string> DriftedPoints(
    const std::vector<Calibration>& calibration);

// For each of the other probes, by name: (greatest - least) / least of its
// medians of the points. What the cells of a point leave in the caches is a
// part of it, so less is asked of it than of the clock.
std::map<std::string, double> DriftOfProbes(
    const std::vector<Calibration>& calibration);

// A larger share of rounds that stray, of all points together, is a warning.
inline constexpr double kNoticeableStrayed = 0.05;

// A drift beyond this is a warning. A fixed clock stays within 0.1 percent even
// if other programs keep every core busy; a step of another one (100 MHz) is 2
// to 5 percent.
inline constexpr double kNoticeableDrift = 0.02;
// A drift beyond this is as large as the differences that times are to show, so
// the times alone mean nothing.
inline constexpr double kIntolerableDrift = 0.10;

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_CALIBRATION_H_
