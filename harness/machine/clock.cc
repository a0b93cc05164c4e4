#include "harness/machine/clock.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#include "harness/base/error.h"

namespace attnbench {
namespace {

constexpr char kClock[] = "the steady clock (CLOCK_MONOTONIC)";

[[noreturn]] void FailAtClock(const std::string& what) {
  throw UserError(
      kClock,
      what +
          "; choose another clock: write a word of available_clocksource to "
          "current_clocksource, both in "
          "/sys/devices/system/clocksource/clocksource0");
}

double MeasureResolutionNs() {
  using Clock = std::chrono::steady_clock;
  constexpr int kMostReadings = 100'000'000;  // some seconds
  double smallest_ns = std::numeric_limits<double>::infinity();
  for (int step = 0; step < 100; ++step) {
    const auto start = Clock::now();
    auto now = start;
    for (int n = 0; now == start; ++n) {
      if (n == kMostReadings) FailAtClock("does not move");
      now = Clock::now();
    }
    const double step_ns =
        std::chrono::duration<double, std::nano>(now - start).count();
    if (step_ns < 0) {
      FailAtClock(fmt::format("went back by {:.0f} ns", -step_ns));
    }
    smallest_ns = std::min(smallest_ns, step_ns);
  }
  return smallest_ns;
}

// Keeps the time of the one run of an epoch and prints nothing.
class KeepTime final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      elapsed_ns_ = run.real_accumulated_time * 1e9;
    }
  }
  double elapsed_ns() const { return elapsed_ns_; }

 private:
  double elapsed_ns_ = 0;
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

void CheckClock() {
  const double step_ns = ClockResolutionNs();
  if (step_ns <= kCoarsestClockNs) return;
  FailAtClock(fmt::format(
      "moves in steps of {:.0f} ns; those above {:.0f} ns are too coarse to "
      "time anything",
      step_ns, kCoarsestClockNs));
}

double DurationNs(double elapsed_ns) {
  if (elapsed_ns < 0) {
    FailAtClock(fmt::format("went back by {:.0f} ns", -elapsed_ns));
  }
  return elapsed_ns > 0 ? elapsed_ns : ClockResolutionNs();
}

std::int64_t PageFaults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
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
  return DurationNs(reporter.elapsed_ns()) / static_cast<double>(trials);
}

}  // namespace attnbench
