// What another program offers to compute (peer.h).
#ifndef ATTNBENCH_HARNESS_SWEEP_PEER_VARIANT_H_
#define ATTNBENCH_HARNESS_SWEEP_PEER_VARIANT_H_

#include <string>
#include <vector>

#include "harness/sweep/cell.h"

namespace attnbench {

// A variant of a mechanism that is not ours.
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

// Makes the cell a peer's where its variant is one of these, and gives it a
// skip_reason where the peer does not have what its axes ask for.
void ApplyPeerVariant(const std::vector<PeerVariant>& variants, Cell& cell);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SWEEP_PEER_VARIANT_H_
