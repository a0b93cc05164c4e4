#include "harness/shard.h"

#include <fmt/format.h>

#include "harness/axes.h"
#include "harness/error.h"

namespace attnbench {

std::string Shard::Text() const { return fmt::format("{}/{}", index, count); }

Shard ParseShard(std::string_view text) {
  constexpr char kOption[] = "--shard";
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    throw UserError(kOption,
                    fmt::format("'{}' is not i/n, such as 0/4 for the first of "
                                "four shards",
                                text));
  }
  const std::string where = fmt::format("{}: {}", kOption, text);
  Shard shard;
  shard.count = ParseInteger(text.substr(slash + 1), 1, kMostShards, where);
  const std::string_view index = text.substr(0, slash);
  try {
    shard.index = ParseInteger(index, 0, shard.count - 1, where);
  } catch (const UserError&) {
    throw UserError(kOption,
                    fmt::format("'{}': i is 0 to {}", text, shard.count - 1));
  }
  return shard;
}

}  // namespace attnbench
