#include "harness/machine/clock.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <string>
#include <vector>

namespace attnbench {
namespace {

double MeasureResolutionNs() {
  using Clock = std::chrono::steady_clock;
  double smallest_ns = std::numeric_limits<double>::infinity();
  for (int step = 0; step < 100; ++step) {
    const auto start = Clock::now();
    auto now = start;
    while (now == start) now = Clock::now();
    smallest_ns =
        std::min(smallest_ns,
                 std::chrono::duration<double, std::nano>(now - start).count());
  }
  return smallest_ns;
}

// Keeps the time of the one run of an epoch and prints nothing.
class KeepTime final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      ns_per_trial_ =
          run.real_accumulated_time * 1e9 / static_cast<double>(run.iterations);
    }
  }
  double ns_per_trial() const { return ns_per_trial_; }

 private:
  double ns_per_trial_ = 0;
};

// The library takes its flags from the environment too (BENCHMARK_LIST_TESTS
// would make it print and measure nothing); what was set there is set back.
bool IgnoreBenchmarkVariables() {
  std::string flags[] = {"attnbench",
                         "--benchmark_list_tests=false",
                         "--benchmark_filter=",
                         "--benchmark_repetitions=1",
                         "--benchmark_min_warmup_time=0",
                         "--benchmark_enable_random_interleaving=false",
                         "--benchmark_perf_counters="};
  std::vector<char*> arguments;
  for (std::string& flag : flags) arguments.push_back(flag.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  return count == 1;
}

}  // namespace

double ClockResolutionNs() {
  static const double resolution_ns = MeasureResolutionNs();
  return resolution_ns;
}

double TimeTrialsNs(Index trials, const std::function<void()>& trial) {
  static const bool initialized = IgnoreBenchmarkVariables();
  ATTN_CHECK(initialized);
  std::exception_ptr failure;
  const auto epoch = [&](benchmark::State& state) {
    try {
      for (auto _ : state) trial();
    } catch (...) {
      failure = std::current_exception();
      state.SkipWithError("trial threw");
    }
  };
  benchmark::RegisterBenchmark("epoch", epoch)
      ->Iterations(trials)
      ->Repetitions(1)
      ->UseRealTime();
  KeepTime reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter, "^epoch/");
  benchmark::ClearRegisteredBenchmarks();
  if (failure) std::rethrow_exception(failure);
  return reporter.ns_per_trial();
}

}  // namespace attnbench
