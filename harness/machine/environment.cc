#include "harness/machine/environment.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <omp.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

#include "build_info.h"
#include "harness/base/hash.h"
#include "harness/base/parse_text.h"
#include "harness/machine/caches.h"
#include "harness/machine/cgroup.h"
#include "harness/machine/cpus.h"
#include "harness/machine/sanitized.h"
#include "mechanisms/kernels/kernels.h"

// Not every cblas.h declares these.
extern "C" {
char* openblas_get_config();
char* openblas_get_corename();
int openblas_get_num_threads();
}

namespace attnbench {
namespace {

constexpr char kUnknown[] = "unknown";

// The first line of a file of the operating system; empty if there is none.
std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<std::string> Caches() {
  std::vector<std::string> texts;
  std::ranges::transform(ReadCaches(), std::back_inserter(texts), CacheText);
  return texts;
}

std::optional<std::string> Governor() {
  std::string governor =
      FirstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (governor.empty()) return {};
  return governor;
}

// Whether the clock may run faster than its nominal rate. The drivers tell it
// in two ways, the second with the opposite meaning.
std::optional<bool> Turbo() {
  const std::string folder = "/sys/devices/system/cpu/";
  const std::string boost = FirstLine(folder + "cpufreq/boost");
  if (!boost.empty()) return boost == "1";
  const std::string no_turbo = FirstLine(folder + "intel_pstate/no_turbo");
  if (no_turbo.empty()) return {};
  return no_turbo == "0";
}

// The randomisation of the address space: 0 is none, 2 all.
std::optional<std::int64_t> Aslr() {
  constexpr unsigned long kAsk = 0xffffffff;
  const int persona = personality(kAsk);
  if (persona >= 0 && (persona & ADDR_NO_RANDOMIZE) != 0) return 0;
  const std::string level = FirstLine("/proc/sys/kernel/randomize_va_space");
  if (level != "0" && level != "1" && level != "2") return {};
  return level[0] - '0';
}

std::optional<std::string> Affinity() {
  const std::vector<int> cpus = AllowedCpus();
  if (cpus.empty()) return {};
  return CpuListText(cpus);
}

// A line of /proc/meminfo, in bytes; nothing if it is not there.
std::optional<Index> MemoryInfo(const std::string& wanted) {
  std::ifstream file("/proc/meminfo");
  for (std::string name; file >> name;) {
    Index kibibytes = 0;
    if (name == wanted && file >> kibibytes) return kibibytes * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return {};
}

std::optional<std::int64_t> MemoryBytes() {
  const std::optional<Index> machine = MemoryInfo("MemTotal:");
  const std::optional<Index> group = ReadCgroupLimits().memory_bytes;
  if (!machine) return group;
  return std::min(*machine, group.value_or(*machine));
}

// What the limits of this process leave of its address space (ulimit -v) and of
// the part that it can write (ulimit -d).
Index AddressSpaceLeftBytes() {
  std::ifstream file("/proc/self/statm");
  Index total = 0, resident = 0, shared = 0, text = 0, library = 0, data = 0;
  file >> total >> resident >> shared >> text >> library >> data;
  Index left = std::numeric_limits<Index>::max();
  const auto apply = [&left](__rlimit_resource resource, Index pages) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0) return;
    if (limit.rlim_cur > static_cast<rlim_t>(left))
      return;  // RLIM_INFINITY too
    const Index taken = pages * sysconf(_SC_PAGESIZE);
    left =
        std::clamp<Index>(static_cast<Index>(limit.rlim_cur) - taken, 0, left);
  };
  apply(RLIMIT_AS, total);
  apply(RLIMIT_DATA, data);
  return left;
}

std::optional<std::string> Variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) return {};
  CheckUtf8(value, name);
  return value;
}

// The file from which the loader takes a function; the program itself if it is
// linked into it.
std::string FileOf(const char* function) {
  Dl_info program{}, info{};
  dladdr(reinterpret_cast<const void*>(&FileOf), &program);
  void* const address = dlsym(RTLD_DEFAULT, function);
  if (address == nullptr || dladdr(address, &info) == 0 ||
      info.dli_fbase == program.dli_fbase) {
    return "the program";
  }
  std::error_code error;
  const auto real = std::filesystem::canonical(info.dli_fname, error);
  std::string path = error ? info.dli_fname : real.string();
  CheckUtf8(path, "the path of a library");
  return path;
}

// The BLAS that makes our matrix products need not be the OpenBLAS that the
// program was linked with, whose other functions are there all the same.
LoadedLibrary LoadedBlas() {
  LoadedLibrary blas{.file = FileOf("sgemm_")};
  if (blas.file != FileOf("openblas_get_corename")) return blas;
  // "OpenBLAS 0.3.21 NO_LAPACKE ..."
  const std::string config = openblas_get_config();
  const std::size_t name = config.find(' ');
  blas.version = config.substr(0, config.find(' ', name + 1));
  blas.core = openblas_get_corename();
  blas.threads = openblas_get_num_threads();
  return blas;
}

LoadedLibrary LoadedC() {
  LoadedLibrary c{.file = FileOf("memcpy")};
#ifdef __GLIBC__
  c.version = gnu_get_libc_version();
#endif
  return c;
}

std::map<std::string, LoadedLibrary> LoadedLibraries() {
  return {{"blas", LoadedBlas()},
          {"openmp", {.file = FileOf("omp_get_max_threads")}},
          {"malloc", {.file = FileOf("malloc")}},
          {"math", {.file = FileOf("exp")}},
          {"c", LoadedC()}};
}

// Prefixes of the variables that decide how fast we or a peer are. Where
// LD_LIBRARY_PATH leads is in LoadedLibraries.
constexpr std::string_view kDeciding[] = {
    "LD_PRELOAD=", "LD_AUDIT=", "GLIBC_TUNABLES=", "MALLOC_",
    "TCMALLOC_",   "OMP_",      "GOMP_",           "KMP_",
    "GOTO_",       "OPENBLAS_", "BLIS_",           "MKL_",
    "DNNL_",       "ONEDNN_",   "ATEN_",           "TORCH_",
    "PYTORCH_"};
// Workers and peers get their own values of the first three; the others are
// members of OpenMp.
constexpr std::string_view kNotDeciding[] = {
    "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",      "OMP_PROC_BIND",    "OMP_PLACES",
    "OMP_WAIT_POLICY",      "OMP_THREAD_LIMIT", "OMP_DYNAMIC"};

std::map<std::string, std::string> DecidingVariables() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto begins = [&](std::string_view one) {
      return text.starts_with(one);
    };
    if (std::ranges::none_of(kDeciding, begins)) continue;
    const std::string name(text.substr(0, text.find('=')));
    if (std::ranges::find(kNotDeciding, name) != std::end(kNotDeciding)) {
      continue;
    }
    CheckUtf8(std::string(text), name);
    variables[name] = text.substr(std::min(name.size() + 1, text.size()));
  }
  return variables;
}

// The width of the vectors that an x86 processor and its system have, by which
// OpenBLAS chooses a core.
int VectorBits() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vl")) return 512;
  if (__builtin_cpu_supports("avx2")) return 256;
#endif
  return 0;
}

std::string Compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

std::optional<bool> Dirty() {
  const std::string dirty = ATTNBENCH_DIRTY;
  if (dirty == kUnknown) return {};
  return dirty == "yes";
}

std::string DateUtc() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[sizeof("2000-01-01T00:00:00Z")];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace

int Cores() {
  const auto allowed = static_cast<int>(AllowedCpus().size());
  const int cores = allowed > 0 ? allowed : MachineCores();
  const double quota = ReadCgroupLimits().cpus.value_or(cores);
  return std::max(1, static_cast<int>(std::min<double>(quota, cores)));
}

Context MakeContext(const std::string& command, std::uint64_t seed) {
  Context context;
  context.commit = ATTNBENCH_COMMIT;
  context.dirty = Dirty();
  context.build_id = BuildId();
  context.seed = seed;
  context.compiler = Compiler();
  context.flags = ATTNBENCH_FLAGS;
  context.build_type = ATTNBENCH_BUILD_TYPE;
  std::ifstream cpuinfo("/proc/cpuinfo");
  context.cpu = CpuName(cpuinfo);
  context.caches = Caches();
  context.cores = Cores();
  context.affinity = Affinity();
  utsname system{};
  if (uname(&system) == 0) {
    context.architecture = system.machine;
    context.kernel = system.release;
  }
  context.governor = Governor();
  context.turbo = Turbo();
  context.aslr = Aslr();
  context.simd = SimdName();
  context.openmp = {.version = _OPENMP,
                    .max_threads = omp_get_max_threads(),
                    .num_threads = Variable("OMP_NUM_THREADS"),
                    .proc_bind = Variable("OMP_PROC_BIND"),
                    .places = Variable("OMP_PLACES"),
                    .wait_policy = Variable("OMP_WAIT_POLICY"),
                    .thread_limit = Variable("OMP_THREAD_LIMIT"),
                    .dynamic = Variable("OMP_DYNAMIC")};
  context.libraries = {ATTNBENCH_LIBRARIES};
  context.loaded = LoadedLibraries();
  context.environment = DecidingVariables();
  context.command = command;
  context.date = DateUtc();
  context.memory_bytes = MemoryBytes();
  SetValidity(CircumstancesNow(), /*calibration=*/{}, context);
  return context;
}

std::string VersionText() {
  return fmt::format(
      "attnbench {}, commit {:.10}{}, {}", ATTNBENCH_VERSION, ATTNBENCH_COMMIT,
      ATTNBENCH_DIRTY == std::string_view("yes") ? " with uncommitted changes"
                                                 : "",
      ATTNBENCH_BUILD_TYPE);
}

Circumstances CircumstancesNow() {
  Circumstances circumstances;
#ifndef __OPTIMIZE__
  circumstances.is_optimised = false;
#endif
  circumstances.is_sanitized = kIsSanitized;
#ifndef NDEBUG
  circumstances.has_checks = true;
#endif
  circumstances.machine_cores = MachineCores();
  circumstances.vector_bits = VectorBits();
  return circumstances;
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
    return hash.Hex();
  }();
  return id;
}

Index AvailableMemoryBytes() {
  // Half of what an Index holds, so that callers may add to it.
  const Index unlimited = std::numeric_limits<Index>::max() / 2;
  return std::min({MemoryInfo("MemAvailable:").value_or(unlimited),
                   ReadCgroupLimits().memory_left_bytes.value_or(unlimited),
                   AddressSpaceLeftBytes()});
}

void CheckFits(Index bytes) {
  if (bytes > AvailableMemoryBytes()) throw std::bad_alloc();
}

}  // namespace attnbench
