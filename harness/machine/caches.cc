#include "harness/machine/caches.h"

#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <type_traits>

namespace attnbench {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const {
    hwloc_topology_destroy(topology);
  }
};
using Topology =
    std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroy>;

// Nothing where the system cannot be read.
Topology LoadCaches(const std::string& synthetic) {
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) return {};
  Topology topology(made);
  hwloc_topology_set_all_types_filter(made, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_cache_types_filter(made, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_icache_types_filter(made, HWLOC_TYPE_FILTER_KEEP_ALL);
  // CPUs that this program may not use share caches, too.
  hwloc_topology_set_flags(made, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  // That component moves this thread from CPU to CPU to ask each.
  hwloc_topology_set_components(made, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                "x86");
  if (!synthetic.empty() &&
      hwloc_topology_set_synthetic(made, synthetic.c_str()) != 0) {
    return {};
  }
  if (hwloc_topology_load(made) != 0) return {};
  return topology;
}

std::string HoldsOf(hwloc_obj_cache_type_t type) {
  switch (type) {
    case HWLOC_OBJ_CACHE_DATA:
      return "Data";
    case HWLOC_OBJ_CACHE_INSTRUCTION:
      return "Instruction";
    default:
      return "Unified";
  }
}

}  // namespace

std::vector<Cache> ReadCaches(const std::string& synthetic) {
  std::vector<Cache> caches;
  const Topology topology = LoadCaches(synthetic);
  if (topology == nullptr) return caches;
  for (hwloc_obj_t object =
           hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_PU, 0);
       object != nullptr; object = object->parent) {
    if (hwloc_obj_type_is_cache(object->type) == 0) continue;
    const auto& cache = object->attr->cache;
    if (cache.size == 0) continue;
    caches.push_back(
        {.level = static_cast<int>(cache.depth),
         .holds = HoldsOf(cache.type),
         .size_bytes = static_cast<Index>(cache.size),
         .sharing_cpus = hwloc_bitmap_weight(object->complete_cpuset)});
  }
  std::ranges::sort(caches, {}, [](const Cache& cache) {
    return std::tie(cache.level, cache.holds);
  });
  return caches;
}

std::string CacheText(const Cache& cache) {
  return fmt::format("L{} {} {}K", cache.level, cache.holds,
                     cache.size_bytes >> 10);
}

Index ShareBytes(const Cache& cache, int threads, int cpus) {
  const Index sharing_threads =
      (threads * cache.sharing_cpus + cpus - 1) / std::max(cpus, 1);
  return cache.size_bytes / std::max<Index>(sharing_threads, 1);
}

}  // namespace attnbench
