// Programs that are linked from the same objects in other orders. Where code
// lies moves its times, which no number of processes of one program shows.
#ifndef ATTNBENCH_HARNESS_SYSTEM_RELINKS_H_
#define ATTNBENCH_HARNESS_SYSTEM_RELINKS_H_

#include <string>
#include <vector>

namespace attnbench {

// Gives `count` programs, linked anew (scripts/relink.py) where the folder
// `build` does not have them yet. Throws UserError naming `option` if they
// cannot be linked.
std::vector<std::string> RelinksOf(const std::string& build, int count,
                                   const std::string& option);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SYSTEM_RELINKS_H_
