// A cell of a sweep: a mechanism with a value for every axis and option, and
// how the mechanism sees these.
#ifndef ATTNBENCH_HARNESS_SWEEP_CELL_H_
#define ATTNBENCH_HARNESS_SWEEP_CELL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/document.h"
#include "harness/sweep/axes.h"
#include "mechanisms/mechanism.h"

namespace attnbench {

// The names of all mechanisms, in the registry's order.
std::vector<std::string> MechanismNames();

// The mechanism that all others are compared with, and that of a cell that is a
// whole decoder without attention.
inline constexpr char kSoftAttention[] = "soft";
inline constexpr char kNoAttention[] = "none";

// The names that the mechanism of a cell may have.
std::vector<std::string> CellMechanismNames();

// A mechanism, the values of its axes and options: what tells a cell from all
// others of its sweep, and finds it in another result.
struct CellIdentity {
  std::string mechanism;
  AxisMap axes;                                // every axis of the table
  std::map<std::string, OptionValue> options;  // all of the mechanism's

  std::int64_t Int(std::string_view axis) const;  // "inf": kInfiniteWidth
  const std::string& Text(std::string_view axis) const {
    return axes.at(axis).text();
  }
  // The same for the same identity, and different for different ones. An option
  // that only another variant reads is left out at its default: results from
  // before it have the same cells. Journals hold hashes of it.
  std::string Key() const;

  static void Fields(auto& self, auto& visit) {
    visit("mechanism", self.mechanism, Rule{.pattern = "."});
    for (const Axis& axis : AllAxes()) {
      visit(axis.name.c_str(), self.axes[axis.name], RuleOf(axis));
    }
    visit("options", self.options);
  }
};

// A cell that is to be measured.
struct Cell : CellIdentity {
  bool is_peers = false;           // the variant is one of a peer's
  bool peer_approximates = false;  // PeerVariant::approximates
  // Why it cannot be measured at all ("variant moving_sum is not one of
  // soft's"); it is in the result as `skipped`.
  std::optional<std::string> skip_reason;
  // What another process found: all processes of a cell take samples alike. 0:
  // to be found.
  std::int64_t trials_per_sample = 0;

  // Whether another process has measured it.
  bool was_measured() const { return trials_per_sample > 0; }
};

// Whether a whole encoder and decoder is timed, and not attention alone.
inline bool IsWholeDecoder(const AxisMap& axes) {
  return axes.at("scope").text() == "decoder";
}

// The mechanism's view of a cell.
Config MakeConfig(const CellIdentity& cell);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SWEEP_CELL_H_
