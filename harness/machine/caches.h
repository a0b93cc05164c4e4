// The caches between a core and memory, as the system describes them: how much
// of each a thread has to itself decides what it can keep there.
#ifndef ATTNBENCH_HARNESS_MACHINE_CACHES_H_
#define ATTNBENCH_HARNESS_MACHINE_CACHES_H_

#include <string>
#include <vector>

#include "mechanisms/common/array.h"

namespace attnbench {

struct Cache {
  int level = 0;           // 1 is next to the core
  std::string holds = {};  // "Data", "Instruction" or "Unified"
  Index size_bytes = 0;
  Index sharing_cpus = 1;  // logical CPUs that share this cache
};

// The caches of the first CPU, nearest first; empty where the system does not
// tell them. A `synthetic` machine, in hwloc's words, takes the place of this
// one: "l2:2(size=1048576) pu:2".
std::vector<Cache> ReadCaches(const std::string& synthetic = "");

// "L1 Data 48K"
std::string CacheText(const Cache& cache);

// The part of the cache that each of `threads` threads has when they are spread
// over `cpus` logical CPUs; a single thread has all of it.
Index ShareBytes(const Cache& cache, int threads, int cpus);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_CACHES_H_
