// The room `machine` says what the machine is, and whether times on it count.
//
// This header describes what a result was measured with: enough to tell, a year
// later and on another machine, whether two results may be compared, and why
// they differ. It is also the one place that asks how much memory the machine
// has left.
#ifndef ATTNBENCH_HARNESS_MACHINE_ENVIRONMENT_H_
#define ATTNBENCH_HARNESS_MACHINE_ENVIRONMENT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/machine/context.h"
#include "harness/machine/validity.h"
#include "mechanisms/common/array.h"

namespace attnbench {

// Makes the context of a result of this program on this machine, judged by what
// is known at the start (validity.h). Commands that time something add the
// loads (load_watch.h). `command` is as the user typed it.
Context MakeContext(const std::string& command, std::uint64_t seed);

// "attnbench 0.1.0, commit 0123456789, Release" of this program.
std::string VersionText();

// Says how this program was built, and how many cores the machine has.
Circumstances CircumstancesNow();

// A hash of the running program's own file: tells builds apart where the commit
// does not (edited files, other flags), so that a resumed run never mixes two.
// 16 hexadecimal digits.
std::string BuildId();

// The number of cores that this program can have; at least 1. These are the
// cores of its affinity mask, but no more than its control groups' quota of CPU
// time allows: on more threads it would be stopped for a part of every period.
int Cores();

// The memory that programs can still have without swapping (MemAvailable of
// Linux, or what its control groups or limits leave; elsewhere no limit). The
// operating system promises more than it has and kills the program that
// believes it, so code that needs large arrays asks here first.
Index AvailableMemoryBytes();

// Throws std::bad_alloc if `bytes` exceed the memory that the machine has left.
void CheckFits(Index bytes);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_ENVIRONMENT_H_
