#include "harness/gap/gap.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "harness/base/error.h"
#include "harness/base/printable.h"
#include "harness/gap/lattice.h"
#include "harness/gap/processes.h"
#include "harness/gap/random_decoder.h"
#include "harness/machine/environment.h"
#include "harness/stats/statistics.h"
#include "mechanisms/common/parallel.h"

namespace attnbench {
namespace {

// Calls compare(from, to) for the two ends of each part.
template <class Compare>
auto ComparisonsOf(const GapChain& chain, const Compare& compare)
    -> OfParts<decltype(compare(Table<double>(), Table<double>()))> {
  const auto entries = [&](const Marginals& a, const Marginals& b) {
    return compare(a.entries, b.entries);
  };
  const auto outputs = [&](const Marginals& a, const Marginals& b) {
    return compare(a.outputs, b.outputs);
  };
  const auto& [noisy, expectation, at_mean, sampled, threshold, lattice] =
      chain;
  return {.entries = {.removed_noise = entries(noisy, expectation),
                      .mean_field = entries(expectation, sampled),
                      .threshold = entries(sampled, threshold),
                      .total = entries(noisy, threshold),
                      .lattice = entries(lattice, sampled)},
          .outputs = {{.removed_noise = outputs(noisy, expectation),
                       .mean_field = outputs(expectation, at_mean),
                       .threshold = outputs(sampled, threshold),
                       .total = outputs(noisy, threshold),
                       .lattice = outputs(lattice, sampled)},
                      outputs(at_mean, sampled)}};
}

Table<double> Difference(const Table<double>& a, const Table<double>& b) {
  Table<double> difference = a;
  AddScaled(b.values, -1, difference.values);
  return difference;
}

// The TV of each output, and of all outputs the mean [U + 1].
std::vector<double> Variation(const Table<double>& a, const Table<double>& b) {
  std::vector<double> variations;
  double sum = 0;
  for (Index i = 0; i < a.rows; ++i) {
    variations.push_back(TotalVariation(a.view().Row(i), b.view().Row(i)));
    sum += variations.back();
  }
  variations.push_back(sum / static_cast<double>(a.rows));
  return variations;
}

// What a number of paths, and of draws of the noise, add up to.
struct Batch {
  PathSums paths;
  PathSums noisy;  // marginals and weight alone

  explicit Batch(const ClosedLoop& loop) : paths(loop), noisy(loop) {}
  void Add(const Batch& other) {
    paths.Add(other.paths);
    noisy.Add(other.noisy);
  }
};

// Throws if the arrays of one decoder are too large. Each has a number for each
// output, and entry, symbol, or number of a state or context.
void CheckArraysFit(const ClosedLoop& loop) {
  constexpr Index kArrays = 4 * kGapBatches;  // two a batch, and sums of them
  const Index width = loop.memory().rows + 1 + loop.vocabulary() +
                      loop.state_size() + loop.memory().cols;
  CheckFits(
      Times(Times(kArrays, sizeof(double)), Times(loop.num_outputs(), width)));
}

// Measures one decoder.
class Measuring {
 public:
  Measuring(const ClosedLoop& loop, const GapSettings& settings,
            std::uint64_t seed)
      : loop_(loop),
        settings_(settings),
        seed_(seed),
        batches_(kGapBatches, Batch(loop)) {}

  DecoderGap Measure(int threads) {
    ParallelFor(kGapBatches, threads, [&](Index n) { Run(n); });
    Processes processes(loop_);
    Lattice lattice = MakeLattice(loop_, settings_.states);
    DecoderGap gap;
    gap.kept_mass = lattice.kept_mass;
    fixed_.expectation = processes.Expectation({});
    fixed_.threshold = processes.Threshold();
    fixed_.lattice = std::move(lattice.marginals);
    Batch all(loop_);
    for (const Batch& batch : batches_) all.Add(batch);
    gap.chain = ChainOf(all);
    ForEachPart(
        [](const std::vector<double>& value, MeasuredPart& part) {
          part = {value, std::vector<double>(value.size())};
        },
        VariationsOf(gap.chain), gap.parts);
    AddFloors(gap.parts);
    return gap;
  }

 private:
  void Run(Index n) {
    Processes processes(loop_);
    Batch& batch = batches_[Size(n)];
    const Index paths = (settings_.paths + kGapBatches - 1) / kGapBatches;
    for (Index path = n * paths; path < (n + 1) * paths; ++path) {
      const auto stream = static_cast<std::uint32_t>(path);
      processes.Sample(seed_, stream, [&](const PathStep& step) {
        batch.paths.AddStep(step);
      });
      ++batch.paths.weight;
      if (settings_.noise == 0 || path % kPathsOfNoise != 0) continue;
      const Marginals noisy =
          processes.Expectation({settings_.noise, seed_, stream});
      AddScaled(noisy.entries.values, 1, batch.noisy.marginals.entries.values);
      AddScaled(noisy.outputs.values, 1, batch.noisy.marginals.outputs.values);
      ++batch.noisy.weight;
    }
  }

  GapChain ChainOf(const Batch& sums) const {
    GapChain chain = fixed_;
    chain.with_noise =
        settings_.noise == 0 ? fixed_.expectation : MeansOf(sums.noisy);
    chain.at_mean_context = AtMeanContext(loop_, sums.paths);
    chain.sampled = MeansOf(sums.paths);
    return chain;
  }

  void AddFloors(OfParts<MeasuredPart>& parts) const {
    constexpr int kWays = 4;
    static_assert(1 << kWays == kGapBatches);
    for (int way = 0; way < kWays; ++way) {
      Batch halves[] = {Batch(loop_), Batch(loop_)};
      for (std::size_t n = 0; n < batches_.size(); ++n) {
        halves[n >> way & 1].Add(batches_[n]);
      }
      ForEachPart(
          [](const Table<double>& a, const Table<double>& b,
             MeasuredPart& part) {
            const std::vector<double> apart = Variation(a, b);
            for (std::size_t i = 0; i < apart.size(); ++i) {
              part.floor[i] += apart[i] / 2 / kWays;
            }
          },
          ComparisonsOf(ChainOf(halves[0]), Difference),
          ComparisonsOf(ChainOf(halves[1]), Difference), parts);
    }
  }

  const ClosedLoop& loop_;
  const GapSettings& settings_;
  const std::uint64_t seed_;
  std::vector<Batch> batches_;
  GapChain fixed_;  // what has no chance in it
};

// Means over decoders, of which there are at least two.
class Mean {
 public:
  void Add(const MeasuredPart& part) { parts_.push_back(part); }

  GapEstimate At(std::size_t i) const {
    const auto n = static_cast<double>(parts_.size());
    double value = 0;
    double floor = 0;
    for (const MeasuredPart& part : parts_) {
      value += part.value[i] / n;
      floor += part.floor[i] / n;
    }
    double squares = 0;
    for (const MeasuredPart& part : parts_) {
      const double off = part.value[i] - value;
      squares += off * off;
    }
    const Variance variance{squares / (n - 1) / n, n - 1};
    return EstimateAround(value, floor, HalfWidth({&variance, 1}, kMiss));
  }

 private:
  std::vector<MeasuredPart> parts_;
};

GapRow RowAt(const OfParts<Mean>& means, std::size_t i) {
  GapRow row;
  ForEachPart([&](const Mean& mean, GapEstimate& to) { to = mean.At(i); },
              means, row);
  return row;
}

}  // namespace

void CheckKeptMass(double kept_mass, std::int64_t states,
                   const std::string& what) {
  if (kept_mass >= kLeastKeptMass) return;
  throw UserError(
      "--states",
      fmt::format("a lattice of {} keeps {:.3g} of the mass of {}, less than "
                  "{}: keep more states",
                  Counted(Size(states), "state"), kept_mass, what,
                  kLeastKeptMass));
}

GapEstimate EstimateAround(double value, double floor, double half_width) {
  const auto rounded = [](double number) {
    return std::round(std::clamp(number, 0.0, 1.0) * 1e5) / 1e5;
  };
  return {.value = rounded(value),
          .low = rounded(value - floor - half_width),
          .high = rounded(value + half_width),
          .floor = rounded(floor)};
}

OfParts<std::vector<double>> VariationsOf(const GapChain& chain) {
  return ComparisonsOf(chain, Variation);
}

DecoderGap MeasureDecoderGap(const ClosedLoop& loop,
                             const GapSettings& settings, std::uint64_t seed,
                             int threads) {
  CheckArraysFit(loop);
  return Measuring(loop, settings, seed).Measure(threads);
}

std::uint64_t GapSeed(std::uint64_t seed, std::int64_t number) {
  const auto words = Philox(seed, NamedPurpose("gap.decoder"),
                            static_cast<std::uint32_t>(number), 0);
  return (static_cast<std::uint64_t>(words[0]) << 32) ^ words[1];
}

GapResult MeasureGap(const GapRequest& request) {
  const GapSettings& settings = request.settings;
  ATTN_CHECK_LE(2, settings.decoders);
  GapResult result{.settings = settings};
  const std::size_t total = request.sharpness.size() * request.feedback.size() *
                            Size(settings.decoders);
  std::size_t done = 0;
  for (const double sharpness : request.sharpness) {
    for (const double feedback : request.feedback) {
      GapPoint point{.sharpness = sharpness, .feedback = feedback};
      OfParts<Mean> means;
      for (Index n = 0; n < settings.decoders; ++n) {
        const std::uint64_t seed = GapSeed(request.seed, n);
        const RandomDecoder decoder({.sizes = settings.sizes,
                                     .sharpness = sharpness,
                                     .feedback = feedback,
                                     .seed = seed});
        const DecoderGap gap =
            MeasureDecoderGap(decoder, settings, seed, omp_get_max_threads());
        point.kept_mass = std::min(point.kept_mass, gap.kept_mass);
        CheckKeptMass(point.kept_mass, settings.states,
                      fmt::format("a decoder at sharpness {} and feedback {}",
                                  sharpness, feedback));
        ForEachPart(
            [](const MeasuredPart& part, Mean& mean) { mean.Add(part); },
            gap.parts, means);
        if (request.on_progress) request.on_progress(++done, total);
      }
      const std::size_t U = Size(settings.sizes.output_length);
      point.mean = RowAt(means, U);
      for (std::size_t i = 0; i < U; ++i) {
        point.rows.push_back(RowAt(means, i));
        point.rows.back().output = static_cast<std::int64_t>(i) + 1;
      }
      result.points.push_back(std::move(point));
    }
  }
  return result;
}

}  // namespace attnbench
