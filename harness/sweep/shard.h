// A part of a list of work that several machines share: of n shards, shard i/n
// (i from 0) takes the indices i, i + n, i + 2n ..., so that all get their
// share of long and short work.
#ifndef ATTNBENCH_HARNESS_SWEEP_SHARD_H_
#define ATTNBENCH_HARNESS_SWEEP_SHARD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attnbench {

struct Shard {
  std::int64_t index = 0;
  std::int64_t count = 1;

  // The indices of its things among `size`.
  std::vector<std::size_t> Indices(std::size_t size) const;
  // Its things, in their order.
  template <class T>
  std::vector<T> Of(const std::vector<T>& all) const {
    std::vector<T> own;
    for (const std::size_t i : Indices(all.size())) own.push_back(all[i]);
    return own;
  }
  std::string Text() const;  // "0/4"
};

inline constexpr std::int64_t kMostShards = 1'000'000;

// Reads "i/n". Throws UserError naming `where`.
Shard ParseShard(std::string_view text, const std::string& where);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SWEEP_SHARD_H_
