// From what was asked for (command line, experiment file) to the points and
// cells to be measured.
#ifndef ATTNBENCH_HARNESS_SWEEP_SWEEP_H_
#define ATTNBENCH_HARNESS_SWEEP_SWEEP_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/sweep/cell.h"

namespace attnbench {

// What another program offers to compute (peer.h): a variant of a mechanism
// that is not ours.
struct PeerVariant {
  std::string mechanism = {};
  std::string name = {};  // as Axis::other_names of the axis variant
  std::string help = {};
  // Values of the axes mode, schedule, scope, energy and precision.
  std::vector<std::string> modes = {}, schedules = {}, scopes = {},
                           energies = {}, precisions = {};
  // In modes expect and gradient it computes a published approximation.
  bool approximates = false;

  static void Fields(auto& self, auto& visit) {
    const auto names = [](const char* axis) {
      return Rule{.one_of = FindAxis(axis, "peer").names, .min_items = 1};
    };
    visit("mechanism", self.mechanism, Rule{.one_of = MechanismNames()});
    visit("name", self.name,
          Rule{.pattern = FindAxis("variant", "peer").other_names});
    visit("help", self.help, kNotEmpty);
    visit("modes", self.modes, names("mode"));
    visit("schedules", self.schedules, names("schedule"));
    visit("scopes", self.scopes, names("scope"));
    visit("energies", self.energies, names("energy"));
    visit("precisions", self.precisions, names("precision"));
    visit("approximates", self.approximates);
  }
};

// All cells that share their data: one setting of the axes marked of_point.
struct Point {
  AxisMap axes;
  std::vector<Cell> cells;
};

// What to measure and how long.
struct Sweep {
  std::string name;  // of the experiment, or "sweep"
  std::uint64_t seed = 1;
  int repetitions = 10;  // rounds
  int trials = 1;        // at least this many trials of a cell over all rounds
  int processes = 1;     // each measures everything, one after another
  std::vector<Point> points;
  std::size_t num_excluded = 0;  // cells that exclusions left out of them
};

// What was asked for, before it is crossed: axis name -> values, option name ->
// values as they were written (ExpandSweep gives each the type that its
// mechanism declares). An alternative is a mechanism with values and options of
// its own, which replace the common ones.
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
struct SweepRequest {
  std::string name = "sweep";
  std::uint64_t seed = 1;
  int repetitions = 10;
  int trials = 1;
  int processes = 1;
  std::map<std::string, std::vector<AxisValue>> axes;
  std::map<std::string, std::vector<OptionValue>> options;
  std::vector<Alternative> alternatives;  // empty: all mechanisms
  std::vector<PeerVariant> peer_variants = {};
  std::vector<Exclusion> exclusions = {};
};

// More than anybody waits for: each cell is timed for milliseconds at least.
inline constexpr std::int64_t kMostCells = 200'000;

inline constexpr std::int64_t kMostRepetitions = 1'000'000;
inline constexpr std::int64_t kMostProcesses = 1'000;
inline constexpr std::int64_t kMostTrials = 1'000'000'000;

// Crosses the request: points in the order in which they first appear, the axes
// in the table's order, the last one fastest. Axes that a mechanism does not
// declare are null and not crossed; combinations that its Description rules
// out, scope `attention` under mode `decode`, schedule `online` under the
// others, and what a whole decoder does not have, become cells with a
// skip_reason. Equal cells appear once, excluded ones not at all. Throws
// UserError for values that no mechanism has, for options that none of those
// asked for declares, for an axis that an alternative sets and its mechanism
// does not declare, for an axis of whole decoders where no cell is one, for
// more than kMostCells cells, and where exclusions leave none.
Sweep ExpandSweep(const SweepRequest& request);

// Cells as points, each cell once.
std::vector<Point> GroupCells(std::vector<Cell> cells);

// Makes cells on more threads than the machine has cores skipped ones: their
// times would be those of threads that wait for each other's core.
void SkipThreadsBeyond(std::int64_t cores, Sweep& sweep);

// An experiment file (experiments/*.json; experiments/README.md) as a request.
// `profile` is "full", the file's own values, or "quick", which replaces what
// it names, each axis by itself. Throws UserError with file and key, whichever
// profile is wrong; unknown keys name the nearest valid one. An exclusion that
// leaves nothing out in either profile is an error.
SweepRequest ReadExperiment(const std::string& path, const std::string& profile,
                            std::vector<PeerVariant> peer_variants = {});

struct ProfileDocument;  // experiment_document.h

// The request with what a profile says in the place of its own. Throws
// UserError naming `where`.
SweepRequest WithProfile(SweepRequest request, const ProfileDocument& profile,
                         const std::string& where);

// Makes the cell a peer's where its variant is one of these, and gives it a
// skip_reason where the peer does not have what its axes ask for.
void TakePeerVariant(const std::vector<PeerVariant>& variants, Cell& cell);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SWEEP_SWEEP_H_
