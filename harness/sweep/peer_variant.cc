#include "harness/sweep/peer_variant.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <utility>

#include "harness/base/error.h"
#include "mechanisms/description.h"

namespace attnbench {
namespace {

// Names the cell's axes that the peer cannot do.
std::optional<std::string> PeerSkipReason(const PeerVariant& variant,
                                          const Cell& cell) {
  const bool decodes = cell.mode() == Mode::kDecode;
  if (cell.options.contains(kPolicyOption)) {
    return fmt::format(
        "variant {} has no policy: a peer decodes with the "
        "whole memory",
        variant.name);
  }
  for (const auto& [axis, has] :
       {std::pair("mode", &variant.modes),
        std::pair("schedule", decodes ? &variant.schedules : nullptr),
        std::pair("scope", decodes ? nullptr : &variant.scopes),
        std::pair("energy", &variant.energies),
        std::pair("precision", &variant.precisions)}) {
    if (has == nullptr || cell.axes.at(axis).is_null() ||
        Contains(*has, cell.Text(axis))) {
      continue;
    }
    return fmt::format("{} {} is not one of variant {}'s: {}", axis,
                       cell.Text(axis), variant.name, fmt::join(*has, ", "));
  }
  return std::nullopt;
}

}  // namespace

void ApplyPeerVariant(const std::vector<PeerVariant>& variants, Cell& cell) {
  for (const PeerVariant& variant : variants) {
    if (variant.mechanism != cell.mechanism ||
        variant.name != cell.Text("variant")) {
      continue;
    }
    cell.is_peers = true;
    cell.peer_approximates = variant.approximates;
    if (!cell.skip_reason) cell.skip_reason = PeerSkipReason(variant, cell);
  }
}

}  // namespace attnbench
