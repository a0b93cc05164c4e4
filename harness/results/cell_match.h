// Matches two results: pairs of cells that are the same measurement, the cells
// that only one of them has, and the numbers of a pair that must not depend on
// machine or moment.
#ifndef ATTNBENCH_HARNESS_RESULTS_CELL_MATCH_H_
#define ATTNBENCH_HARNESS_RESULTS_CELL_MATCH_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/results/sweep_result.h"
#include "harness/stats/statistics.h"

namespace attnbench {

// The pointers are into the two documents, which outlive this.
struct CellMatch {
  struct Pair {
    const ResultCell* a;
    const ResultCell* b;
  };
  std::vector<Pair> both;  // in a's order
  std::vector<const ResultCell*> only_a;
  std::vector<const ResultCell*> only_b;
};

// Cells are paired by their CellIdentity.
CellMatch MatchCells(const SweepResult& a, const SweepResult& b);

// What a comparison of the pair's times does not show, as two runs measured
// them. Builds count unless both sides are of the same program alone.
EffectCounts HiddenIn(const CellMatch::Pair& pair, bool same_program);

// The group of a cell: cells of one point that do the same thing are compared
// with each other. It is point, mode, scope, precision and threads.
std::string GroupOf(const ResultCell& cell);

// Whether round r of one is round r of the other, if both are of a point.
bool HaveSameRounds(const ResultCell& a, const ResultCell& b);

// How many times as fast as `over` the cell is, by the ratios of the same
// rounds, with an interval that misses with probability `miss`; none where
// their rounds are not the same.
std::optional<Estimate> SpeedupOf(const ResultCell& cell,
                                  const ResultCell& over, double miss = kMiss);

// The value of an axis in a name: "T=10", "beam=4", "f32".
std::string AxisText(const Axis& axis, const AxisValue& value);

// Short names of cells, "mocha T=10 w=4 f64": the mechanism, and the axes and
// options that differ between the cells that were added.
class CellNames {
 public:
  void Add(const CellIdentity& cell);
  void AddAll(const auto& cells) {
    for (const CellIdentity& cell : cells) Add(cell);
  }
  // The short name of a cell that was added.
  std::string Name(const CellIdentity& cell) const;

 private:
  std::map<std::string, std::set<AxisValue>> axis_values_;
  // The key is mechanism and option.
  std::map<std::string, std::set<OptionValue>> option_values_;
};

struct NumberChange {
  std::string field;  // "status", "operations.flops"
  Json a;
  Json b;
};

// The differences of the two cells: in `status`; if both are ok, in
// `operations`, `latency`, `peak_memory_bytes` and `decoder.reads`, which are
// exact, and in `attention_mass`, `context_sum` and `context_l2`, as IsSameSum
// has it.
std::vector<NumberChange> NumberChanges(const ResultCell& a,
                                        const ResultCell& b);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_RESULTS_CELL_MATCH_H_
