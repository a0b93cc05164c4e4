#include "harness/environment.h"

#include <fmt/format.h>
#include <omp.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <limits>
#include <thread>

#include "build_info.h"
#include "mechanisms/kernels/kernels.h"

#if defined(__has_feature)
#define ATTNBENCH_CLANG_SANITIZES \
  (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define ATTNBENCH_CLANG_SANITIZES 0
#endif

namespace attnbench {
namespace {

constexpr char kUnknown[] = "unknown";

// The first line of a file of the operating system; empty where there is none.
std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return kUnknown;
}

// As in "L1 Data 48K".
Json Caches() {
  Json caches = Json::array();
  for (int index = 0;; ++index) {
    const std::string folder =
        fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    const std::string level = FirstLine(folder + "level");
    if (level.empty()) return caches;
    caches.push_back(fmt::format("L{} {} {}", level, FirstLine(folder + "type"),
                                 FirstLine(folder + "size")));
  }
}

Json Governor() {
  const std::string governor =
      FirstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  return governor.empty() ? Json(nullptr) : Json(governor);
}

Json LoadAverage() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? Json(load) : Json(nullptr);
}

Json OpenMp() {
  Json openmp = {{"version", _OPENMP}, {"max_threads", omp_get_max_threads()}};
  for (const char* name :
       {"OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "OMP_WAIT_POLICY"}) {
    const char* const value = std::getenv(name);
    openmp[name] = value == nullptr ? Json(nullptr) : Json(value);
  }
  return openmp;
}

std::string Compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

Json Dirty() {
  const std::string dirty = ATTNBENCH_DIRTY;
  return dirty == kUnknown ? Json(nullptr) : Json(dirty == "yes");
}

std::string DateUtc() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[sizeof("2000-01-01T00:00:00Z")];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

// Reasons why the times of this build mean nothing.
std::vector<std::string> InvalidBuild() {
  std::vector<std::string> reasons;
#ifndef __OPTIMIZE__
  reasons.emplace_back(
      "built without optimisation: times mean nothing; use the preset release");
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    ATTNBENCH_CLANG_SANITIZES
  reasons.emplace_back(
      "built with a sanitizer: times mean nothing; use the preset release");
#endif
  return reasons;
}

void AddWarnings(const Json& governor, const Json& load, int cores,
                 std::vector<std::string>& warnings) {
#ifndef NDEBUG
  warnings.emplace_back(
      "checks inside timed loops are on; build with -DNDEBUG (preset release)");
#endif
  if (governor.is_string() && governor != "performance") {
    warnings.push_back(
        fmt::format("the frequency governor is '{}', so the clock rate varies; "
                    "set it with: cpupower frequency-set -g performance",
                    governor.get<std::string>()));
  }
  if (load.is_number() && load.get<double>() > 0.5 * cores) {
    warnings.push_back(
        fmt::format("the load was {:.1f} on {} cores at the start; stop other "
                    "programs and measure again",
                    load.get<double>(), cores));
  }
}

}  // namespace

int Cores() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

Json MakeContext(const std::string& command, std::uint64_t seed) {
  const int cores = Cores();
  const Json governor = Governor();
  const Json load = LoadAverage();
  const std::vector<std::string> invalid_reasons = InvalidBuild();
  std::vector<std::string> warnings;
  AddWarnings(governor, load, cores, warnings);
  return {{"commit", ATTNBENCH_COMMIT},
          {"dirty", Dirty()},
          {"build_id", BuildId()},
          {"command", command},
          {"date", DateUtc()},
          {"seed", seed},
          {"compiler", Compiler()},
          {"flags", ATTNBENCH_FLAGS},
          {"build_type", ATTNBENCH_BUILD_TYPE},
          {"cpu", CpuName()},
          {"caches", Caches()},
          {"cores", cores},
          {"governor", governor},
          {"load", load},
          {"simd", SimdName()},
          {"openmp", OpenMp()},
          {"libraries", Json::object({ATTNBENCH_LIBRARIES})},
          {"valid", invalid_reasons.empty()},
          {"invalid_reasons", invalid_reasons},
          {"warnings", warnings}};
}

void Fnv1a::Add(std::string_view bytes) {
  for (const char byte : bytes) {
    hash_ ^= static_cast<unsigned char>(byte);
    hash_ *= 0x100000001b3;
  }
}

std::string BuildId() {
  static const std::string id = [] {
    std::ifstream program("/proc/self/exe", std::ios::binary);
    Fnv1a hash;
    std::string block(1 << 16, '\0');
    while (
        program.read(block.data(), static_cast<std::streamsize>(block.size()))
            .gcount() > 0) {
      hash.Add({block.data(), static_cast<std::size_t>(program.gcount())});
    }
    return fmt::format("{:016x}", hash.hash());
  }();
  return id;
}

Index AvailableMemoryBytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string name; file >> name;) {
    Index kibibytes = 0;
    if (name == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::numeric_limits<Index>::max();
}

}  // namespace attnbench
