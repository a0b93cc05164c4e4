#include "harness/system/relinks.h"

#include <fmt/format.h>

#include "harness/base/error.h"
#include "harness/base/exit_code.h"
#include "harness/system/python.h"

namespace attnbench {

std::vector<std::string> RelinksOf(const std::string& build, int count,
                                   const std::string& option) {
  if (RunPython(option, "scripts/relink.py", {build, std::to_string(count)}) !=
      kGood) {
    throw UserError(option,
                    "needs a build folder that can link the program "
                    "again; see above");
  }
  std::vector<std::string> programs;
  for (int number = 1; number <= count; ++number) {
    programs.push_back(fmt::format("{}/relinks/attnbench-{}", build, number));
  }
  return programs;
}

}  // namespace attnbench
