#include "harness/machine/roofline.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <new>

#include "harness/base/arrays.h"
#include "harness/machine/caches.h"
#include "harness/machine/clock.h"
#include "harness/machine/cpus.h"
#include "harness/machine/environment.h"
#include "harness/system/pages.h"
#include "mechanisms/common/parallel.h"
#include "mechanisms/kernels/limits.h"

namespace attnbench {
namespace {

constexpr Index kStepsPerPass = 1000;  // of multiply_add: some microseconds
constexpr Index kMostPasses = Index{1} << 40;

// Arrays for DRAM have this many times the size of the last cache.
constexpr Index kDramShares = 4;
constexpr Index kLeastDramShares = 2;
constexpr Index kEnoughDramBytes = Index{512} << 20;
// A pass goes through this much of them, the next pass through what follows: by
// the time that it comes back, a part has left the caches.
constexpr Index kDramPassBytes = Index{8} << 20;
// The size of the last cache if a machine does not tell it: more than most
// have.
constexpr Index kUnknownCacheBytes = Index{64} << 20;

// Work that every thread repeats, and how fast it was.
struct Load {
  std::function<void(Index thread)> pass;
  double amount = 0;  // flops or bytes of one pass of one thread
  Index passes = 1;   // passes of a sample
  std::vector<double> samples = {};
};

double TimePassesNs(const Load& load, int threads) {
  return TimeTrialsNs(1, [&] {
    ParallelFor(threads, threads, [&](Index thread) {
      for (Index n = 0; n < load.passes; ++n) load.pass(thread);
    });
  });
}

// Sets the number of passes, on one thread alone: waiting for threads whose
// cores are taken must not look like long passes. It is measured twice, so that
// one interruption does not either. This also warms up.
void Calibrate(double sample_ns, Load& load) {
  const auto is_enough = [&] {
    return TimePassesNs(load, 1) >= sample_ns / 2 || load.passes >= kMostPasses;
  };
  while (!is_enough() || !is_enough()) load.passes *= 2;
}

void MeasureAll(int threads, const RooflineOptions& options,
                std::vector<Load>& loads) {
  for (Load& load : loads) Calibrate(options.sample_ns, load);
  for (int round = 0; round < options.rounds; ++round) {
    for (Load& load : loads) {
      const double elapsed_ns = TimePassesNs(load, threads);
      load.samples.push_back(load.amount * static_cast<double>(load.passes) *
                             threads / (elapsed_ns * 1e-9));
    }
  }
}

double Best(const std::vector<double>& samples) {
  return *std::ranges::max_element(samples);
}

// The levels with their sizes, not yet measured. The array for the nearest
// cache is half of it. For another cache it is the geometric mean of the nearer
// level's size and its own: well beyond the former, and small enough if other
// programs take a part of a shared cache.
std::vector<LevelLimits> LevelsOf(const std::vector<Cache>& caches,
                                  int threads) {
  std::vector<LevelLimits> levels;
  Index nearer_bytes = 0;
  for (const Cache& cache : caches) {
    if (cache.holds == "Instruction") continue;
    const Index share_bytes = ShareBytes(cache, threads, omp_get_num_procs());
    if (share_bytes <= nearer_bytes) continue;
    LevelLimits level;
    level.name = fmt::format("L{}", cache.level);
    level.size_bytes = share_bytes;
    level.array_bytes =
        nearer_bytes == 0
            ? share_bytes / 2
            : static_cast<Index>(std::sqrt(static_cast<double>(nearer_bytes) *
                                           static_cast<double>(share_bytes)));
    levels.push_back(std::move(level));
    nearer_bytes = share_bytes;
  }
  const Index last_bytes =
      nearer_bytes == 0 ? kUnknownCacheBytes : nearer_bytes;
  const Index least = kLeastDramShares * last_bytes;
  LevelLimits dram;
  dram.name = "DRAM";
  dram.array_bytes =
      std::min({kDramShares * last_bytes, std::max(least, kEnoughDramBytes),
                AvailableMemoryBytes() / 2 / threads});
  if (dram.array_bytes >= least) levels.push_back(std::move(dram));
  return levels;
}

template <class Real>
MachineLimits Measure(int threads, const RooflineOptions& options) {
  const LimitKernels<Real>& kernels = ChosenLimitKernels<Real>();
  MachineLimits limits{.precision = kPrecisionOf<Real>, .threads = threads};
  limits.levels = LevelsOf(ReadCaches(), threads);
  Index most_bytes = 0;
  for (const LevelLimits& level : limits.levels) {
    most_bytes = std::max(most_bytes, level.array_bytes);
  }
  CheckFits(Times(most_bytes, threads));
  // Each thread writes its own pages first: the system puts them near that
  // thread. They go back to it at once: a program that is killed while it holds
  // a gigabyte is there, with its locks, until the system has taken that.
  std::vector<Pages> pages(Size(threads));
  std::vector<Real*> arrays(Size(threads));
  ParallelFor(threads, threads, [&](Index thread) {
    Pages& own = pages[Size(thread)] = Pages(most_bytes);
    if (own.data() == nullptr) throw std::bad_alloc();
    std::ranges::fill(own.template as<Real>(), Real{0});
    arrays[Size(thread)] = own.template as<Real>().data();
  });

  std::vector<Load> loads;
  loads.push_back({.pass = [&](Index) { kernels.multiply_add(kStepsPerPass); },
                   .amount = static_cast<double>(2 * kernels.chain_numbers *
                                                 kStepsPerPass)});
  for (const LevelLimits& level : limits.levels) {
    // The pass copies one half of its part to the other.
    const Index part_bytes = level.size_bytes
                                 ? level.array_bytes
                                 : std::min(level.array_bytes, kDramPassBytes);
    const Index half = part_bytes / 2 / static_cast<Index>(sizeof(Real));
    const Index parts = level.array_bytes / part_bytes;
    const double bytes = 2.0 * static_cast<double>(half) * sizeof(Real);
    // Reading and copying share the number of the next part, so that neither
    // finds in a cache what the other has brought there.
    const auto next_part = [&arrays, half, parts,
                            next = std::make_shared<std::vector<Index>>(
                                Size(threads))](Index thread) {
      const Index part = (*next)[Size(thread)]++ % parts;
      return arrays[Size(thread)] + part * 2 * half;
    };
    loads.push_back({.pass =
                         [&kernels, half, next_part](Index thread) {
                           kernels.read(next_part(thread), 2 * half);
                         },
                     .amount = bytes});
    loads.push_back({.pass =
                         [&kernels, half, next_part](Index thread) {
                           Real* const from = next_part(thread);
                           kernels.copy(from, half, from + half);
                         },
                     .amount = bytes});
  }
  MeasureAll(threads, options, loads);

  auto load = loads.begin();
  limits.peak_samples = (load++)->samples;
  limits.peak_flops_per_s = Best(limits.peak_samples);
  limits.peak_interval_flops_per_s = RateInterval(limits.peak_samples);
  for (LevelLimits& level : limits.levels) {
    level.read_samples = (load++)->samples;
    level.read_bytes_per_s = Best(level.read_samples);
    level.read_interval_bytes_per_s = RateInterval(level.read_samples);
    level.copy_samples = (load++)->samples;
    level.copy_bytes_per_s = Best(level.copy_samples);
    level.copy_interval_bytes_per_s = RateInterval(level.copy_samples);
  }
  return limits;
}

// The time that `amount` takes at a rate.
Binding BindingOf(const std::string& bound, double amount, double rate,
                  const std::optional<Interval>& interval) {
  const auto ns_at = [amount](double per_s) { return amount / per_s * 1e9; };
  Binding binding{bound, ns_at(rate)};
  if (interval)
    binding.interval_ns = {ns_at(interval->high), ns_at(interval->low)};
  return binding;
}

}  // namespace

std::optional<Interval> RateInterval(const std::vector<double>& samples) {
  if (samples.size() < 2) return {};
  ProcessSamples rates;  // each counts as a unit
  for (const double rate : samples) rates.push_back({rate});
  Interval interval =
      Exp(EstimateOf(Logs(rates), /*builds=*/1, Effect())).interval;
  interval.high = std::max(interval.high, Best(samples));
  return interval;
}

MachineLimits MeasureLimits(Precision precision, int threads,
                            const RooflineOptions& options) {
  CheckThreads(threads);
  return precision == Precision::kF64 ? Measure<double>(threads, options)
                                      : Measure<float>(threads, options);
}

std::optional<Binding> BindingLimit(const MachineLimits& limits,
                                    const Operations& operations,
                                    Index working_set_bytes, Mode mode) {
  const auto holds = [&](const LevelLimits& level) {
    return !level.size_bytes || working_set_bytes <= *level.size_bytes;
  };
  const auto level = std::ranges::find_if(limits.levels, holds);
  if (level == limits.levels.end()) return std::nullopt;
  const Binding compute =
      BindingOf("compute", operations.flops, limits.peak_flops_per_s,
                limits.peak_interval_flops_per_s);
  const Binding memory =
      mode == Mode::kDecode
          ? BindingOf(level->name, operations.bytes, level->read_bytes_per_s,
                      level->read_interval_bytes_per_s)
          : BindingOf(level->name, operations.bytes, level->copy_bytes_per_s,
                      level->copy_interval_bytes_per_s);
  return compute.limit_ns >= memory.limit_ns ? compute : memory;
}

void SetFraction(double median_ns, const std::optional<Interval>& interval_ns,
                 CellLimit& limit) {
  limit.fraction = limit.limit_ns / median_ns;
  limit.fraction_interval.reset();
  if (!limit.limit_interval_ns || !interval_ns || !(limit.fraction > 0)) return;
  const auto distance = [](double limits, double times) {
    return std::exp(std::hypot(std::log(limits), std::log(times)));
  };
  limit.fraction_interval = {
      limit.fraction / distance(limit.limit_ns / limit.limit_interval_ns->low,
                                interval_ns->high / median_ns),
      limit.fraction * distance(limit.limit_interval_ns->high / limit.limit_ns,
                                median_ns / interval_ns->low)};
}

std::optional<CellLimit> LimitOf(std::span<const MachineLimits> all,
                                 const CellFacts& facts) {
  const auto limits = std::ranges::find_if(all, [&](const MachineLimits& one) {
    return one.precision == facts.precision && one.threads == facts.threads;
  });
  if (limits == all.end()) return std::nullopt;
  const std::optional<Binding> binding = BindingLimit(
      *limits, facts.operations, facts.working_set_bytes, facts.mode);
  if (!binding) return std::nullopt;
  CellLimit limit{.bound = binding->bound,
                  .limit_ns = binding->limit_ns,
                  .limit_interval_ns = binding->interval_ns,
                  .working_set_bytes = facts.working_set_bytes};
  SetFraction(facts.median_ns, facts.interval_ns, limit);
  return limit;
}

void AddLimits(const std::vector<MachineLimits>& more,
               std::vector<MachineLimits>& limits) {
  for (const MachineLimits& one : more) {
    const bool is_there =
        std::ranges::any_of(limits, [&one](const MachineLimits& other) {
          return other.precision == one.precision &&
                 other.threads == one.threads;
        });
    if (!is_there) limits.push_back(one);
  }
}

}  // namespace attnbench
