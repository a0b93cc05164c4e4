// What to measure, as it was asked for: before it is crossed.
#ifndef ATTNBENCH_HARNESS_SWEEP_REQUEST_H_
#define ATTNBENCH_HARNESS_SWEEP_REQUEST_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/sweep/peer_variant.h"

namespace attnbench {

// A mechanism with values of its own, which replace the common ones. Options
// stand as they were written: ExpandSweep gives each the type that its
// mechanism declares.
struct Alternative {
  std::string mechanism;
  std::map<std::string, std::vector<AxisValue>> axes;
  std::map<std::string, std::vector<OptionValue>> options;
};

// Leaves out the cells for which all of this is so (exclusions.h).
struct Exclusion {
  std::vector<std::string> mechanisms = {};  // one of them; empty: any
  std::map<std::string, std::vector<AxisValue>> axes =
      {};  // one of the values each
};

// How long to measure.
struct SweepSettings {
  std::string name = "sweep";  // or that of the experiment
  std::uint64_t seed = 1;
  int repetitions = 10;  // rounds
  int trials = 1;        // at least this many trials of a cell over all rounds
  int processes = 1;     // each measures everything, one after another
  bool counts_instructions = false;  // of a trial of each cell, beside its time
};

struct SweepRequest : SweepSettings {
  std::map<std::string, std::vector<AxisValue>> axes;
  std::map<std::string, std::vector<OptionValue>> options;
  std::vector<Alternative> alternatives;  // empty: all mechanisms
  std::vector<PeerVariant> peer_variants = {};
  std::vector<Exclusion> exclusions = {};
};

inline constexpr std::int64_t kMostRepetitions = 1'000'000;
inline constexpr std::int64_t kMostProcesses = 1'000;
inline constexpr std::int64_t kMostTrials = 1'000'000'000;

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SWEEP_REQUEST_H_
