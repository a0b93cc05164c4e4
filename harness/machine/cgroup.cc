#include "harness/machine/cgroup.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace attnbench {
namespace {

// The interface tells "no limit" as a number near the largest, rounded to
// pages.
constexpr Index kNoLimit = Index{1} << 62;

// The different names of the same things in versions 1 and 2.
struct Names {
  const char* memory_limit;
  const char* memory_used;
  const char* memory_droppable;  // a key of memory.stat
};
constexpr Names kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                             "total_inactive_file"};
constexpr Names kVersion2 = {"memory.max", "memory.current", "inactive_file"};

// The number in the file; nothing if there is no file or it says "max".
std::optional<Index> NumberIn(const std::string& path) {
  std::ifstream file(path);
  Index number = 0;
  if (!(file >> number) || number < 0 || number >= kNoLimit) return {};
  return number;
}

Index StatOf(const std::string& folder, const std::string& key) {
  std::ifstream file(folder + "/memory.stat");
  Index number = 0;
  for (std::string name; file >> name >> number;) {
    if (name == key) return number;
  }
  return 0;
}

template <class Number>
void LowerLimit(Number number, std::optional<Number>& least) {
  least = std::min(number, least.value_or(number));
}

void LowerMemory(const std::string& folder, const Names& names,
                 CgroupLimits& limits) {
  const auto limit = NumberIn(folder + "/" + names.memory_limit);
  if (!limit) return;
  LowerLimit(*limit, limits.memory_bytes);
  const Index used = NumberIn(folder + "/" + names.memory_used).value_or(0) -
                     StatOf(folder, names.memory_droppable);
  LowerLimit(std::clamp<Index>(*limit - used, 0, *limit),
             limits.memory_left_bytes);
}

void LowerCpus(std::optional<Index> quota_us, std::optional<Index> period_us,
               CgroupLimits& limits) {
  if (!quota_us || !period_us || *period_us == 0) return;
  LowerLimit(static_cast<double>(*quota_us) / static_cast<double>(*period_us),
             limits.cpus);
}

void LowerCpusOfVersion1(const std::string& folder, CgroupLimits& limits) {
  LowerCpus(NumberIn(folder + "/cpu.cfs_quota_us"),
            NumberIn(folder + "/cpu.cfs_period_us"), limits);
}

// The file says "200000 100000", or "max 100000".
void LowerCpusOfVersion2(const std::string& folder, CgroupLimits& limits) {
  std::ifstream file(folder + "/cpu.max");
  Index quota_us = 0, period_us = 0;
  if (file >> quota_us >> period_us) LowerCpus(quota_us, period_us, limits);
}

// The folders of the group and of all above it. Inside a container the group's
// name is the host's, and only the folder of the mount is there.
std::vector<std::string> Folders(const std::string& mount, std::string group) {
  std::vector<std::string> folders = {mount};
  while (group.size() > 1) {
    folders.push_back(mount + group);
    group.erase(group.rfind('/'));
  }
  return folders;
}

bool HasItem(const std::string& list, std::string_view item) {
  std::istringstream items(list);
  for (std::string one; std::getline(items, one, ',');) {
    if (one == item) return true;
  }
  return false;
}

}  // namespace

CgroupLimits ReadCgroupLimits(const std::string& membership,
                              const std::string& mount) {
  CgroupLimits limits;
  std::ifstream file(membership);
  // Version 1 has lines such as "4:memory:/user/job", version 2 "0::/user/job".
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos ||
        line.find('/', second) != second + 1) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      for (const std::string& folder : Folders(mount, group)) {
        LowerMemory(folder, kVersion2, limits);
        LowerCpusOfVersion2(folder, limits);
      }
    }
    for (const std::string& folder :
         Folders(mount + "/" + controllers, group)) {
      if (HasItem(controllers, "memory"))
        LowerMemory(folder, kVersion1, limits);
      if (HasItem(controllers, "cpu")) LowerCpusOfVersion1(folder, limits);
    }
  }
  return limits;
}

}  // namespace attnbench
