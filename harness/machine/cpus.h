// Tells which CPUs there are and which of them this program may use, and lists
// of them as Linux writes them: "0-3,8".
#ifndef ATTNBENCH_HARNESS_MACHINE_CPUS_H_
#define ATTNBENCH_HARNESS_MACHINE_CPUS_H_

#include <span>
#include <string>
#include <vector>

namespace attnbench {

// Counts the CPUs of the machine, whoever uses them; at least 1.
int MachineCores();

// The affinity mask of the program, ascending; empty where it cannot be read.
std::vector<int> AllowedCpus();

// `cpus` ascend.
std::string CpuListText(std::span<const int> cpus);

// The number of CPUs in a list; 0 if the text is no list.
int CountCpus(const std::string& list);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_CPUS_H_
