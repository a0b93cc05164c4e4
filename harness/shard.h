// A part of a list of work that several machines share: of n shards, shard i
// takes what has the indices i, i + n, i + 2n ..., so that long and short work
// is dealt out alike.
#ifndef ATTNBENCH_HARNESS_SHARD_H_
#define ATTNBENCH_HARNESS_SHARD_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace attnbench {

struct Shard {
  std::int64_t index = 0;
  std::int64_t count = 1;

  bool Has(std::size_t i) const {
    return static_cast<std::int64_t>(i) % count == index;
  }
  std::string Text() const;  // "0/4"
};

inline constexpr std::int64_t kMostShards = 1'000'000;

// The value of --shard, "i/n". Throws UserError naming the option.
Shard ParseShard(std::string_view text);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SHARD_H_
