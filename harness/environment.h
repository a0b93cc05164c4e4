// What a result was measured with: enough to tell, a year later and on another
// machine, whether two results may be compared, and why they differ. Also the
// one place that asks the machine how much memory it has left.
#ifndef ATTNBENCH_HARNESS_ENVIRONMENT_H_
#define ATTNBENCH_HARNESS_ENVIRONMENT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/axes.h"
#include "mechanisms/common/array.h"

namespace attnbench {

// The `context` of a result document, judged by what is known at the start
// (validity.h). What cannot be read on this machine is null or "unknown".
// `load` is for those who time something, and null.
// `command` is as the user typed it. Which fields two results are compared by
// stands in fingerprint.h.
Json MakeContext(const std::string& command, std::uint64_t seed);

// At the end of a run that times something: `load_end` becomes that, and the
// context is judged again, with its `load` and `calibration`. What loads are,
// and who reads them, stands in load_watch.h.
void FinishContext(const Json& load_end, Json& context);

// FNV-1a, 64 bits: stable names for contents. Not against adversaries.
class Fnv1a {
 public:
  void Add(std::string_view bytes);
  std::uint64_t hash() const { return hash_; }
  std::string Hex() const;  // 16 digits

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

// A hash of the running program's own file: tells builds apart where the commit
// does not (edited files, other flags), so that a resumed run never mixes two.
// 16 hexadecimal digits.
std::string BuildId();

// Cores that this program can have; at least 1. Those of its affinity mask, and
// no more than the whole ones in its control groups' quota of CPU time: on more
// threads it would be stopped for a part of every period.
int Cores();

// Memory that programs can still have without swapping (MemAvailable of Linux,
// or what its control groups leave; elsewhere no limit). The operating system
// promises more than it has and kills the program that believes it, so large
// arrays ask here first.
Index AvailableMemoryBytes();

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_ENVIRONMENT_H_
