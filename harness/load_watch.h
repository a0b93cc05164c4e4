// What other programs did while a run measured: the worst of the load averages
// at the ends of its points, each without what the run itself has left in it.
// The system's load average is a mean over the past of how many threads want to
// run, in which a second counts e times less for every minute that it is ago:
// a point of many threads is in it for minutes, and one that has just begun
// hardly yet. A pure function of what it is told.
#ifndef ATTNBENCH_HARNESS_LOAD_WATCH_H_
#define ATTNBENCH_HARNESS_LOAD_WATCH_H_

#include "harness/axes.h"

namespace attnbench {

class LoadWatch {
 public:
  // The run has kept at most `threads` threads busy for `seconds`, since it
  // began or since the last call; `load` is the load average now, or null.
  void Add(double seconds, int threads, const Json& load);

  // The load average at the end of the point where other programs had most of
  // it, null where none is known, and this run's own part of that.
  const Json& load() const { return worst_load_; }
  double own_load() const { return own_of_worst_; }

 private:
  double own_ = 0;
  Json worst_load_;
  double own_of_worst_ = 0;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_LOAD_WATCH_H_
