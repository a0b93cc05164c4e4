#include "harness/machine/calibration.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "harness/base/arrays.h"
#include "harness/machine/clock.h"
#include "harness/machine/environment.h"
#include "harness/stats/statistics.h"
#include "mechanisms/kernels/limits.h"

namespace attnbench {
namespace {

constexpr int kChainRuns = 5;
// Each step is a multiplication and an addition of three or four cycles: 9 to
// 15 us in all.
constexpr int kChainSteps = 5'500;
constexpr char kChain[] = "chain";

constexpr int kDramRuns = 6;
constexpr Index kDramPartBytes = Index{1} << 16;

// Takes memory out of all caches; false where a program cannot.
bool Flush([[maybe_unused]] const Pages& pages) {
#if defined(__x86_64__) || defined(__aarch64__)
  constexpr Index kLineBytes = 64;
  for (Index at = 0; at < pages.bytes(); at += kLineBytes) {
    const char* const line = static_cast<const char*>(pages.data()) + at;
#if defined(__x86_64__)
    _mm_clflush(line);
#else
    asm volatile("dc civac, %0" ::"r"(line) : "memory");
#endif
  }
#if defined(__x86_64__)
  _mm_mfence();
#else
  asm volatile("dsb sy" ::: "memory");
#endif
  return true;
#else
  return false;
#endif
}

constexpr int kThroughputRuns = 6;
// Each step is 7 cycles or more where a core begins two multiply-adds in each.
constexpr Index kThroughputSteps = 1'000;

// Each step needs the last one's result; x stays near 1. The loop is not
// inlined, or the compiler could compute its result for the known argument.
__attribute__((noinline)) double DependentSteps(double x) {
  for (int step = 0; step < kChainSteps; ++step) x = x * 0.999999 + 1e-6;
  return x;
}

template <class Work>
double LeastNs(int runs, const Work& work) {
  using Clock = std::chrono::steady_clock;
  double least_ns = std::numeric_limits<double>::infinity();
  for (int run = 0; run < runs; ++run) {
    const auto start = Clock::now();
    work();
    const std::chrono::duration<double, std::nano> elapsed =
        Clock::now() - start;
    least_ns = std::min(least_ns, DurationNs(elapsed.count()));
  }
  return least_ns;
}

// The samples of each probe, one a round.
std::map<std::string, std::vector<double>> SamplesOf(
    const std::vector<ProbeTimes>& rounds) {
  std::map<std::string, std::vector<double>> samples;
  for (const ProbeTimes& round : rounds) {
    for (const auto& [name, elapsed_ns] : round) {
      samples[name].push_back(elapsed_ns);
    }
  }
  return samples;
}

}  // namespace

Probes::Probes(const std::vector<Cache>& caches) {
  const auto size_of = [&caches](int level) {
    Index bytes = 0;
    for (const Cache& cache : caches) {
      if (cache.level == level && cache.holds != "Instruction") {
        bytes = cache.size_bytes;
      }
    }
    return bytes;
  };
  const Index l2 = size_of(2), l3 = size_of(3);
  const Index part = l2 / 4;
  if (l2 > 0) Add({.name = "L2", .runs = 8}, 2 * part, part);
  // By the time that a part is read again, it has left L2; the first walk may
  // be the one that brings it into L3.
  if (l2 > 0 && l3 >= 4 * l2) Add({.name = "L3", .runs = 12}, 8 * part, part);
  if (l2 + l3 > 0) {
    Add({.name = "DRAM", .runs = kDramRuns, .is_flushed = true},
        kDramRuns * kDramPartBytes, kDramPartBytes);
  }
}

// A level for which there is no memory has no probe.
void Probes::Add(Reading reading, Index bytes, Index part_bytes) {
  if (bytes > std::min(kMostBytes, AvailableMemoryBytes() / 2)) return;
  reading.pages = Pages(bytes);
  if (reading.pages.data() == nullptr) return;
  reading.part = part_bytes / static_cast<Index>(sizeof(float));
  // Pages that nobody has written would all be one page of zeros.
  std::ranges::fill(reading.pages.as<float>(), 1.0F);
  if (reading.is_flushed && !Flush(reading.pages)) return;
  readings_.push_back(std::move(reading));
}

Index Probes::bytes() const {
  Index bytes = 0;
  for (const Reading& reading : readings_) bytes += reading.pages.bytes();
  return bytes;
}

ProbeTimes Probes::Time() {
  static volatile double end = 0.5;
  const LimitKernels<float>& kernels = ChosenLimitKernels<float>();
  ProbeTimes times;
  times[kChain] = LeastNs(kChainRuns, [] { end = DependentSteps(end); });
  times["throughput"] =
      LeastNs(kThroughputRuns, [&] { kernels.multiply_add(kThroughputSteps); });
  for (Reading& reading : readings_) {
    if (reading.is_flushed) Flush(reading.pages);
    const std::span<const float> numbers = reading.pages.as<float>();
    times[reading.name] = LeastNs(reading.runs, [&] {
      kernels.read(numbers.data() + reading.begin, reading.part);
      reading.begin += reading.part;
      if (reading.begin + reading.part > std::ssize(numbers)) {
        reading.begin = 0;
      }
    });
  }
  return times;
}

Excess::Excess(const std::vector<ProbeTimes>& rounds) {
  for (const auto& [name, samples_ns] : SamplesOf(rounds)) {
    medians_[name] = Median(samples_ns);
  }
}

double Excess::operator()(const ProbeTimes& round) const {
  double most = 0;
  for (const auto& [name, elapsed_ns] : round) {
    most = std::max(most, elapsed_ns / medians_.at(name));
  }
  return most;
}

Calibration CalibrationOf(const std::string& point,
                          const ProbedRounds& rounds) {
  auto samples = SamplesOf(rounds.times);
  Calibration entry{.point = point,
                    .samples_ns = std::move(samples.extract(kChain).mapped())};
  entry.median_ns = Median(entry.samples_ns);
  // One round alone shows no drift.
  if (entry.samples_ns.size() > 1) {
    const Center center = CenterOf(Logs({entry.samples_ns}));
    entry.deviation = std::expm1(2 * std::sqrt(center.variance.value));
  }
  entry.probes = std::move(samples);
  const Excess excess(rounds.times);
  entry.strayed = {.again = rounds.again,
                   .still = std::ranges::count_if(
                       rounds.times, [&](const ProbeTimes& round) {
                         return excess(round) > kStraying;
                       })};
  return entry;
}

Calibration Joined(const Calibration& a, const Calibration& b) {
  ProbedRounds rounds;
  for (const Calibration* one : {&a, &b}) {
    const Calibration& other = one == &a ? b : a;
    for (std::size_t i = 0; i < one->samples_ns.size(); ++i) {
      ProbeTimes& times = rounds.times.emplace_back();
      times[kChain] = one->samples_ns[i];
      for (const auto& [name, samples_ns] : one->probes) {
        // A process with little memory lacks the probe of a level.
        if (other.probes.contains(name)) times[name] = samples_ns.at(i);
      }
    }
    if (one->strayed) rounds.again += one->strayed->again;
  }
  Calibration joined = CalibrationOf(a.point, rounds);
  const auto of_a = static_cast<double>(a.samples_ns.size());
  const auto of_b = static_cast<double>(b.samples_ns.size());
  joined.deviation =
      std::hypot(of_a * a.deviation, of_b * b.deviation) / (of_a + of_b);
  return joined;
}

Drift DriftOf(const std::vector<Calibration>& calibration) {
  Drift drift;
  double least_ns = 0, greatest_ns = 0;
  for (const Calibration& entry : calibration) {
    const bool is_first = drift.worst_point.empty();
    least_ns = is_first ? entry.median_ns : std::min(least_ns, entry.median_ns);
    greatest_ns = std::max(greatest_ns, entry.median_ns);
    if (is_first || entry.deviation > drift.within_point) {
      drift.within_point = entry.deviation;
      drift.worst_point = entry.point;
    }
  }
  if (least_ns > 0) drift.between_points = greatest_ns / least_ns - 1;
  return drift;
}

std::set<std::string> DriftedPoints(
    const std::vector<Calibration>& calibration) {
  const auto is_near = [](const Calibration& entry, double least_ns) {
    return entry.median_ns >= least_ns &&
           entry.median_ns / least_ns - 1 <= kIntolerableDrift;
  };
  double least_ns = 0;  // of the largest group
  std::ptrdiff_t most = 0;
  for (const Calibration& least : calibration) {
    const auto size = std::ranges::count_if(
        calibration,
        [&](const auto& entry) { return is_near(entry, least.median_ns); });
    if (size > most || (size == most && least.median_ns < least_ns)) {
      least_ns = least.median_ns;
      most = size;
    }
  }
  std::set<std::string> drifted;
  if (2 * most < std::ssize(calibration)) return drifted;
  for (const Calibration& entry : calibration) {
    if (!is_near(entry, least_ns)) drifted.insert(entry.point);
  }
  return drifted;
}

std::map<std::string, double> DriftOfProbes(
    const std::vector<Calibration>& calibration) {
  std::map<std::string, std::vector<double>> medians;
  for (const Calibration& entry : calibration) {
    for (const auto& [name, samples_ns] : entry.probes) {
      medians[name].push_back(Median(samples_ns));
    }
  }
  std::map<std::string, double> drifts;
  for (const auto& [name, of_points] : medians) {
    const auto [least, greatest] = std::ranges::minmax(of_points);
    drifts[name] = greatest / least - 1;
  }
  return drifts;
}

}  // namespace attnbench
