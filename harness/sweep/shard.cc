#include "harness/sweep/shard.h"

#include <fmt/format.h>

#include "harness/base/error.h"
#include "harness/base/parse_text.h"
#include "harness/base/printable.h"
#include "harness/sweep/axes.h"

namespace attnbench {

std::string Shard::Text() const { return fmt::format("{}/{}", index, count); }

std::vector<std::size_t> Shard::Indices(std::size_t size) const {
  std::vector<std::size_t> own;
  for (auto i = static_cast<std::size_t>(index); i < size;
       i += static_cast<std::size_t>(count)) {
    own.push_back(i);
  }
  return own;
}

Shard ParseShard(std::string_view text, const std::string& where) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    throw UserError(where,
                    fmt::format("'{}' is not i/n, such as 0/4 for the first of "
                                "four shards",
                                Shortened(text)));
  }
  const std::string value = fmt::format("{}: {}", where, Shortened(text));
  Shard shard;
  shard.count = ParseInteger(text.substr(slash + 1), 1, kMostShards, value);
  const std::string_view index = text.substr(0, slash);
  try {
    shard.index = ParseInteger(index, 0, shard.count - 1, value);
  } catch (const UserError&) {
    throw UserError(where, fmt::format("'{}': i is 0 to {}", Shortened(text),
                                       shard.count - 1));
  }
  return shard;
}

}  // namespace attnbench
