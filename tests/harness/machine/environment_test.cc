// Guards against results that do not say what they were measured with.
#include "harness/machine/environment.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "harness/base/hash.h"
#include "harness/machine/cpus.h"

extern "C" char* openblas_get_corename();

namespace attnbench {
namespace {

bool HasReason(const char* text, const Context& context) {
  const auto& reasons = context.invalid_reasons;
  return std::any_of(reasons.begin(), reasons.end(),
                     [text](const std::string& reason) {
                       return reason.find(text) != std::string::npos;
                     });
}

TEST(Context, HasTheKeysOfTheFormat) {
  std::vector<std::string> keys;
  const Json context = ToJson(MakeContext("attnbench x", 7));
  for (const auto& [key, value] : context.items()) {
    keys.push_back(key);
  }
  EXPECT_THAT(
      keys,
      ::testing::ElementsAre(
          "commit", "dirty", "build_id", "seed", "compiler", "flags",
          "build_type", "cpu", "architecture", "caches", "cores", "affinity",
          "kernel", "governor", "turbo", "aslr", "simd", "openmp", "libraries",
          "loaded", "environment", "command", "date", "memory_bytes", "load",
          "load_end", "valid", "invalid_reasons", "warnings"));
}

TEST(Context, SaysWhatWasAskedForAndWhen) {
  const Context context = MakeContext("attnbench run-sweep -o 'a b'", 7);
  EXPECT_EQ(context.command, "attnbench run-sweep -o 'a b'");
  EXPECT_EQ(context.seed, 7U);
  EXPECT_TRUE(std::regex_match(
      context.date, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")));
  EXPECT_FALSE(context.simd.empty());
  EXPECT_GE(context.cores, 1);
}

TEST(Context, OfABuildWithoutOptimisationIsInvalid) {
  const Context context = MakeContext("", 1);
  EXPECT_EQ(context.build_type == "Debug",
            HasReason("without optimisation", context));
  EXPECT_EQ(context.valid, context.invalid_reasons.empty());
}

// Other programs tell the same of this machine.
TEST(Context, SaysWhatTheMachineIsAndWhatTheProgramMayUse) {
  const Context context = MakeContext("", 1);
  std::ifstream release("/proc/sys/kernel/osrelease");
  std::string kernel;
  std::getline(release, kernel);
  EXPECT_EQ(context.kernel, kernel);
#if defined(__x86_64__)
  EXPECT_EQ(context.architecture, "x86_64");
#elif defined(__aarch64__)
  EXPECT_EQ(context.architecture, "aarch64");
#endif
  EXPECT_EQ(context.affinity, CpuListText(AllowedCpus()));
  EXPECT_LE(context.cores, static_cast<std::int64_t>(AllowedCpus().size()));
  EXPECT_GT(context.memory_bytes, 1 << 20);
  EXPECT_GE(context.memory_bytes, AvailableMemoryBytes());
  EXPECT_FALSE(context.load_end.has_value());
}

// OpenBLAS chose its kernels when it was loaded; a test's program has set one
// thread (tests/support/environment.cc).
TEST(Context, SaysWhichFilesWereLoadedAndWhatOpenBlasRuns) {
  const Context context = MakeContext("", 1);
  ASSERT_TRUE(context.loaded.has_value());
  const auto& loaded = *context.loaded;
  for (const char* what : {"blas", "openmp", "malloc", "math", "c"}) {
    ASSERT_TRUE(loaded.contains(what));
    const std::string& file = loaded.at(what).file;
    EXPECT_TRUE(file == "the program" || file.starts_with('/')) << file;
  }
  const LoadedLibrary& blas = loaded.at("blas");
  EXPECT_EQ(blas.core, openblas_get_corename());
  EXPECT_EQ(blas.threads, 1);
  EXPECT_TRUE(std::regex_match(blas.version.value_or(""),
                               std::regex("OpenBLAS [0-9.]+[^ ]*")));
}

TEST(Context, SaysWhichVariablesAreSetThatDecideTimes) {
  const auto with = [](const char* name) {
    setenv(name, "1", /*overwrite=*/1);
    const Context context = MakeContext("", 1);
    unsetenv(name);
    return context.environment.value().contains(name);
  };
  for (const char* name :
       {"OPENBLAS_CORETYPE", "GOMP_SPINCOUNT", "OMP_SCHEDULE", "GLIBC_TUNABLES",
        "MALLOC_ARENA_MAX", "LD_PRELOAD", "MKL_CBWR", "ATEN_CPU_CAPABILITY"}) {
    EXPECT_TRUE(with(name)) << name;
  }
  // It is set for every worker and peer, a member of `openmp`, or no matter.
  for (const char* name :
       {"OPENBLAS_NUM_THREADS", "OMP_DYNAMIC", "HOME", "LD_PRELOADED"}) {
    EXPECT_FALSE(with(name)) << name;
  }
}

TEST(Context, SaysWhetherAddressesAreLaidOutAtRandom) {
  const int before = personality(0xffffffff);
  ASSERT_GE(before, 0);
  const auto persona = static_cast<unsigned long>(before);
  std::ifstream file("/proc/sys/kernel/randomize_va_space");
  int of_system = -1;
  file >> of_system;
  const bool is_off = (persona & ADDR_NO_RANDOMIZE) != 0;
  EXPECT_EQ(MakeContext("", 1).aslr, is_off ? 0 : of_system);
  // Randomisation stays as it is if a container forbids to switch it off.
  const bool switched = personality(persona | ADDR_NO_RANDOMIZE) >= 0;
  EXPECT_EQ(MakeContext("", 1).aslr, switched || is_off ? 0 : of_system);
  ASSERT_TRUE(!switched || personality(persona) >= 0);
}

TEST(Context, AMaskOfOneCpuIsOneCore) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  const std::vector<int> allowed = AllowedCpus();
  ASSERT_FALSE(allowed.empty());
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(allowed.back()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  const Context context = MakeContext("", 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(context.cores, 1);
  EXPECT_EQ(context.affinity, std::to_string(allowed.back()));
}

TEST(Fnv1a, GivesThePublishedHashes) {
  const auto hash = [](std::string_view text) {
    Fnv1a fnv;
    fnv.Add(text);
    return fnv.hash();
  };
  EXPECT_EQ(hash(""), 0xcbf29ce484222325);
  EXPECT_EQ(hash("a"), 0xaf63dc4c8601ec8c);
  EXPECT_EQ(hash("foobar"), 0x85944171f73967e8);
}

TEST(BuildId, IsSixteenDigitsAndStays) {
  EXPECT_TRUE(std::regex_match(BuildId(), std::regex("[0-9a-f]{16}")));
  EXPECT_EQ(BuildId(), BuildId());
  std::ifstream program("/proc/self/exe", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(program), {}};
  ASSERT_FALSE(bytes.empty());
  Fnv1a fnv;
  fnv.Add(bytes);
  EXPECT_EQ(BuildId(), fmt::format("{:016x}", fnv.hash()));
}

TEST(AvailableMemory, IsPositive) { EXPECT_GT(AvailableMemoryBytes(), 0); }

// With ulimit -v the system says that there is memory, and gives none.
TEST(AvailableMemory, IsNoMoreThanTheAddressSpaceThatIsLeft) {
  constexpr Index kLeft = Index{64} << 20;
  Index pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + kLeft);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  const Index available = AvailableMemoryBytes();
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_GT(available, kLeft / 2);
  EXPECT_LE(available, kLeft);
}

}  // namespace
}  // namespace attnbench
