// Checks the description that a peer gives.
#include <fmt/format.h>

#include <algorithm>

#include "harness/base/error.h"
#include "harness/peer/peer.h"

namespace attnbench {

PeerInfo ParsePeerInfo(const Json& answer) {
  try {
    auto info = FromJson<PeerInfo>(answer, "its answer to 'describe'");
    for (const PeerVariant& one : info.variants) {
      const auto same = std::ranges::count_if(
          info.variants, [&one](const PeerVariant& other) {
            return other.mechanism == one.mechanism && other.name == one.name;
          });
      if (same == 1) continue;
      throw PeerError(fmt::format(
          "describes itself wrongly: variant '{}' of {} is there twice",
          one.name, one.mechanism));
    }
    return info;
  } catch (const UserError& error) {
    throw PeerError(std::string("describes itself wrongly: ") + error.what());
  }
}

}  // namespace attnbench
