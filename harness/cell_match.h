// What two results have in common: pairs of the cells that are the same
// measurement, the cells that only one of them has, and the numbers of a pair
// that must not depend on machine or moment.
#ifndef ATTNBENCH_HARNESS_CELL_MATCH_H_
#define ATTNBENCH_HARNESS_CELL_MATCH_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/axes.h"

namespace attnbench {

// Pointers are into the two documents, which outlive this.
struct CellMatch {
  struct Pair {
    const Json* a;
    const Json* b;
  };
  std::vector<Pair> both;  // in a's order
  std::vector<const Json*> only_a;
  std::vector<const Json*> only_b;
};

// By CellIdentity. Documents are checked (result_reader.h).
CellMatch MatchCells(const AxisTable& table, const Json& a, const Json& b);

// Short names of cells, "mocha T=10 w=4 f64": the mechanism, and the axes and
// options that differ between the cells that the document has anywhere.
class CellNames {
 public:
  CellNames(const AxisTable& table, const Json& document);
  // Of one of these cells.
  std::string Name(const Json& cell) const;

 private:
  void Add(const Json& json);

  const AxisTable& table_;
  std::map<std::string, std::set<std::string>> axis_values_;
  // By mechanism and option.
  std::map<std::string, std::set<std::string>> option_values_;
};

// Whether a cell was timed, so that it has numbers at all.
bool IsMeasured(const Json& cell);

// Of a cell's `status`: that of a cell that should have been timed and was not.
bool IsFailure(const Json& status);

// The members that identify a cell, as they stand in documents about results.
Json IdentityJson(const AxisTable& table, const Json& cell);

struct NumberChange {
  std::string field;  // "status", "operations.flops"
  Json a;
  Json b;
};

// Where the two cells differ in `status`; where both are ok, in `operations`,
// `latency` and `peak_memory_bytes`, which are exact, and in `attention_mass`,
// `context_sum` and `context_l2` beyond 1e-5 (f32) or 1e-10 (f64) of the larger
// of the two.
std::vector<NumberChange> NumberChanges(const Json& a, const Json& b);

// NumberChanges of all pairs: identity, `field`, and the two values under the
// given names.
Json ChangesJson(const AxisTable& table, const CellMatch& match,
                 const char* a_name, const char* b_name);

// FingerprintDifferences of two documents, in the same way.
Json DifferencesJson(const Json& a, const Json& b, const char* a_name,
                     const char* b_name);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CELL_MATCH_H_
