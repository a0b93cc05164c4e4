#include "harness/machine/caches.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "harness/machine/cpus.h"

namespace attnbench {
namespace {

// Reads "32K", "1024K", "8M" or plain bytes; gives 0 for anything else.
Index SizeBytes(const std::string& folder) {
  std::ifstream file(folder + "/size");
  Index number = 0;
  if (!(file >> number) || number < 0) return 0;
  switch (file.get()) {
    case 'K':
      return number << 10;
    case 'M':
      return number << 20;
    case 'G':
      return number << 30;
    default:
      return number;
  }
}

}  // namespace

std::vector<DataCache> ReadDataCaches(const std::string& folder) {
  std::vector<DataCache> caches;
  for (int index = 0;; ++index) {
    const std::string entry = folder + "/index" + std::to_string(index);
    std::error_code unreadable;
    if (!std::filesystem::is_directory(entry, unreadable)) break;
    DataCache cache;
    std::ifstream(entry + "/level") >> cache.level;
    std::string type;
    std::ifstream(entry + "/type") >> type;
    cache.size_bytes = SizeBytes(entry);
    std::string cpus;
    std::getline(std::ifstream(entry + "/shared_cpu_list"), cpus);
    cache.sharing_cpus = CountCpus(cpus);
    const bool has_data = type == "Data" || type == "Unified";
    if (has_data && cache.level > 0 && cache.size_bytes > 0 &&
        cache.sharing_cpus > 0) {
      caches.push_back(cache);
    }
  }
  std::ranges::sort(caches, {}, &DataCache::level);
  return caches;
}

Index ShareBytes(const DataCache& cache, int threads, int cpus) {
  const Index sharing_threads =
      (threads * cache.sharing_cpus + cpus - 1) / std::max(cpus, 1);
  return cache.size_bytes / std::max<Index>(sharing_threads, 1);
}

}  // namespace attnbench
