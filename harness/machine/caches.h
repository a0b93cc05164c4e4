// The caches between a core and memory, as Linux describes them: how much of
// each a thread has to itself decides what it can keep there.
#ifndef ATTNBENCH_HARNESS_MACHINE_CACHES_H_
#define ATTNBENCH_HARNESS_MACHINE_CACHES_H_

#include <string>
#include <vector>

#include "mechanisms/common/array.h"

namespace attnbench {

struct DataCache {
  int level = 0;  // 1 is next to the core
  Index size_bytes = 0;
  Index sharing_cpus = 1;  // logical CPUs that share this cache
};

// The first CPU's caches that hold data, nearest first; empty where the machine
// does not tell them. `folder` has index0, index1 ... with the files level,
// type, size and shared_cpu_list. A cache without one of these files is left
// out.
std::vector<DataCache> ReadDataCaches(
    const std::string& folder = "/sys/devices/system/cpu/cpu0/cache");

// The part of the cache that each of `threads` threads has when they are spread
// over `cpus` logical CPUs; a single thread has all of it.
Index ShareBytes(const DataCache& cache, int threads, int cpus);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_CACHES_H_
