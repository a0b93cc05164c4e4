#include "harness/sweep/shard.h"

#include <fmt/format.h>

#include "harness/base/error.h"
#include "harness/base/parse_text.h"
#include "harness/base/printable.h"
#include "harness/sweep/axes.h"

namespace attnbench {

std::string Shard::Text() const { return fmt::format("{}/{}", index, count); }

std::size_t Shard::NumberOf(std::size_t size) const {
  const auto first = static_cast<std::size_t>(index);
  const auto step = static_cast<std::size_t>(count);
  return size <= first ? 0 : (size - first - 1) / step + 1;
}

std::vector<std::size_t> Shard::Indices(std::size_t size) const {
  std::vector<std::size_t> own(NumberOf(size));
  for (std::size_t n = 0; n < own.size(); ++n) {
    own[n] =
        static_cast<std::size_t>(index) + n * static_cast<std::size_t>(count);
  }
  return own;
}

Shard ParseShard(std::string_view text) {
  constexpr char kOption[] = "--shard";
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    throw UserError(kOption,
                    fmt::format("'{}' is not i/n, such as 0/4 for the first of "
                                "four shards",
                                Shortened(text)));
  }
  const std::string where = fmt::format("{}: {}", kOption, Shortened(text));
  Shard shard;
  shard.count = ParseInteger(text.substr(slash + 1), 1, kMostShards, where);
  const std::string_view index = text.substr(0, slash);
  try {
    shard.index = ParseInteger(index, 0, shard.count - 1, where);
  } catch (const UserError&) {
    throw UserError(kOption, fmt::format("'{}': i is 0 to {}", Shortened(text),
                                         shard.count - 1));
  }
  return shard;
}

}  // namespace attnbench
