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
  AxisMap axes;  // every axis of the table
  // All of the mechanism's but what the cell does not read (options.h).
  std::map<std::string, OptionValue> options;

  std::int64_t Int(std::string_view axis) const;  // "inf": kInfiniteWidth
  const std::string& Text(std::string_view axis) const {
    return axes.at(axis).text();
  }
  // The value of an axis that has one of an enumeration's.
  template <Named Value>
  Value As(std::string_view axis) const {
    return FindNamed<Value>(Text(axis)).value();
  }
  Mode mode() const { return As<Mode>("mode"); }
  Scope scope() const { return As<Scope>("scope"); }
  Schedule schedule() const { return As<Schedule>("schedule"); }
  Precision precision() const { return As<Precision>("precision"); }
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

// What a first process found of a cell. Later ones take samples alike, and
// leave out what cannot differ between processes.
struct Replicate {
  std::int64_t trials_per_sample = 1;
};

// A cell that is to be measured.
struct Cell : CellIdentity {
  bool is_peers = false;           // the variant is one of a peer's
  bool peer_approximates = false;  // PeerVariant::approximates
  // Why it cannot be measured at all ("variant moving_sum is not one of
  // soft's"); it is in the result as `skipped`.
  std::optional<std::string> skip_reason;
  std::optional<Replicate> replicate;  // none in the first process

  // What a worker is told, which may be of an older program.
  static void Fields(auto& self, auto& visit) {
    CellIdentity::Fields(self, visit);
    visit("is_peers", self.is_peers);
    visit("peer_approximates", self.peer_approximates);
    visit("skip_reason", self.skip_reason);
    std::int64_t trials =
        self.replicate ? self.replicate->trials_per_sample : 0;
    visit("trials_per_sample", trials);
    if constexpr (requires { self.replicate.reset(); }) {
      if (trials > 0) self.replicate = Replicate{trials};
    }
  }
};

// Whether a whole encoder and decoder is timed, and not attention alone.
inline bool IsWholeDecoder(const AxisMap& axes) {
  return axes.at("scope").text() == NameOf(Scope::kDecoder);
}

// The mechanism's view of a cell.
Config MakeConfig(const CellIdentity& cell);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SWEEP_CELL_H_
