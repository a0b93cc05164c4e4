// The room `machine` says what the machine is, and whether times on it count.
//
// What a result was measured with: enough to tell, a year later and on another
// machine, whether two results may be compared, and why they differ. Also the
// one place that asks the machine how much memory it has left.
#ifndef ATTNBENCH_HARNESS_MACHINE_ENVIRONMENT_H_
#define ATTNBENCH_HARNESS_MACHINE_ENVIRONMENT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/machine/context.h"
#include "harness/machine/validity.h"
#include "mechanisms/common/array.h"

namespace attnbench {

// What this program on this machine says in the context of a result, judged by
// what is known at the start (validity.h). Who times something adds the loads
// (load_watch.h). `command` is as the user typed it.
Context MakeContext(const std::string& command, std::uint64_t seed);

// How this program was built, and the machine's cores.
Circumstances CircumstancesNow();

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

// Throws std::bad_alloc for more than the machine has left.
void CheckFits(Index bytes);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_ENVIRONMENT_H_
