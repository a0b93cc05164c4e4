// Tells which CPUs there are and which of them this program may use.
#ifndef ATTNBENCH_HARNESS_MACHINE_CPUS_H_
#define ATTNBENCH_HARNESS_MACHINE_CPUS_H_

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

namespace attnbench {

// The processor's name in what /proc/cpuinfo says. On Arm the kernel tells
// codes instead, of every kind of core: "implementer 0x41 part 0xd08".
// "unknown" where there is neither.
std::string CpuName(std::istream& cpuinfo);

// Counts the CPUs of the machine, whoever uses them; at least 1.
int MachineCores();

// The affinity mask of the program, ascending; empty where it cannot be read.
std::vector<int> AllowedCpus();

// "0-3,8", as Linux writes it; `cpus` ascend.
std::string CpuListText(std::span<const int> cpus);

// Throws UserError if a parallel loop would not get so many threads: OpenMP has
// a limit of its own (OMP_THREAD_LIMIT), and the system one of processes.
void CheckThreads(int threads);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_CPUS_H_
