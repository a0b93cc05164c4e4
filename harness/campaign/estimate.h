// How long a sweep will take, roughly. Its rounds are known, and so is how long
// a sample of short trials lasts. How long a long trial lasts follows from a
// cell of its kind, which differs in lengths and batch alone: the time of a
// trial grows as the entries that it reads. Before a sweep one short cell of
// each kind tells that; while it runs every cell does.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_ESTIMATE_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_ESTIMATE_H_

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/results/cell.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

// How long an entry is taken to be read before a cell of the kind is measured,
// which may be wrong by orders of magnitude.
inline constexpr double kGuessedReadNs = 200;

class TimeEstimate {
 public:
  explicit TimeEstimate(const Sweep& sweep);

  // Learns from measured cells of the sweep, or of its probes. A cell counts if
  // it reads at least twice as much as what its kind was learnt from, as small
  // ones say little about large ones. Says whether the estimate has changed.
  bool Learn(std::span<const ResultCell> cells);

  // The time of a point in one process; the first has more to check.
  double StepSeconds(std::size_t point, bool is_first) const;
  // The time of a point, and of all points, in all processes.
  double PointSeconds(std::size_t point) const;
  double TotalSeconds() const;
  // The cells whose samples are long by that guess, and of whose kind nothing
  // was learnt.
  std::size_t NumUnknown() const;

 private:
  struct CellWork {
    std::string kind;
    double reads = 0;  // entries, in a trial
    double draws = 1;
  };
  struct Speed {
    double read_ns = kGuessedReadNs;
    double reads = 0;  // of the trials that it was learnt from
  };

  double TrialNs(const CellWork& cell) const;

  const SweepSettings settings_;
  std::vector<std::vector<CellWork>> points_;  // without skipped cells
  std::map<std::string, Speed> speeds_;        // of each kind
};

// The probes: of each kind with long samples, by that guess, the cell that
// reads most, with fewer outputs. They are to be measured with one draw and
// short samples.
Sweep ProbesOf(const Sweep& sweep);

// "12 s", "3 min", "2 h 5 min": rounded up.
std::string DurationText(double seconds);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_ESTIMATE_H_
