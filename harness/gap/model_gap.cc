#include "harness/gap/model_gap.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "harness/base/error.h"
#include "harness/gap/gap.h"
#include "harness/gap/trained_loop.h"
#include "harness/stats/statistics.h"
#include "harness/training/held_out.h"
#include "mechanisms/common/parallel.h"

namespace attnbench {
namespace {

// What a sequence adds to each figure, over its outputs.
struct SequenceSums {
  double outputs = 0;
  OfParts<double> variation = {}, floor = {};
  double expectation = 0, at_mean_context = 0, sampled = 0, threshold = 0,
         lattice = 0;  // nats
  double wrong = 0, sampled_wrong = 0, threshold_wrong = 0;
  double kept_mass = 1;
};

// The nats of the target's symbols under rows of probabilities.
double NatsOf(const Table<double>& outputs, const std::vector<Symbol>& target) {
  double nats = 0;
  for (std::size_t i = 0; i < target.size(); ++i) {
    nats -= std::log(outputs(static_cast<Index>(i), target[i]));
  }
  return nats;
}

// How many outputs have another most probable symbol.
double WrongOf(const Table<double>& outputs,
               const std::vector<Symbol>& target) {
  double wrong = 0;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const auto p = outputs.view().Row(static_cast<Index>(i));
    wrong += std::ranges::max_element(p) - p.begin() != target[i];
  }
  return wrong;
}

SequenceSums SumsOf(TrainedDecoder& decoder, const Example& example,
                    const ModelGapRequest& request, std::uint64_t seed) {
  const TrainedLoop loop(decoder, example);
  const std::vector<Symbol>& target = example.target;
  SequenceSums sums{.outputs = static_cast<double>(target.size())};
  const DecoderGap gap = MeasureDecoderGap(
      loop,
      {.paths = request.paths,
       .noise = request.noise,
       .states = request.states.value_or(loop.memory().rows + 1)},
      seed, /*threads=*/1);
  const GapChain& chain = gap.chain;
  sums.expectation = NatsOf(chain.expectation.outputs, target);
  sums.at_mean_context = NatsOf(chain.at_mean_context.outputs, target);
  sums.sampled = NatsOf(chain.sampled.outputs, target);
  sums.threshold = NatsOf(chain.threshold.outputs, target);
  sums.lattice = NatsOf(chain.lattice.outputs, target);
  sums.wrong = WrongOf(chain.expectation.outputs, target);
  sums.sampled_wrong = WrongOf(chain.sampled.outputs, target);
  sums.threshold_wrong = WrongOf(chain.threshold.outputs, target);
  sums.kept_mass = gap.kept_mass;
  ForEachPart(
      [&](const MeasuredPart& part, double& variation, double& floor) {
        variation = part.value.back() * sums.outputs;
        floor = part.floor.back() * sums.outputs;
      },
      gap.parts, sums.variation, sums.floor);
  return sums;
}

std::vector<SequenceSums> MeasureSequences(const Checkpoint& checkpoint,
                                           const std::string& path,
                                           const ModelGapRequest& request) {
  const HeldOutExamples examples(checkpoint.run, request.sequences);
  std::vector<SequenceSums> all(Size(request.sequences));
  std::size_t done = 0;
  std::atomic<bool> lost_mass = false;  // the rest need not be measured
  ParallelForWith(
      request.sequences, omp_get_max_threads(),
      [&] { return std::make_unique<TrainedDecoder>(checkpoint, path); },
      [&](Index n, std::unique_ptr<TrainedDecoder>& decoder) {
        if (lost_mass) return;
        all[Size(n)] =
            SumsOf(*decoder, examples(n), request, GapSeed(request.seed, n));
        if (all[Size(n)].kept_mass < kLeastKeptMass) lost_mass = true;
#pragma omp critical(attnbench_model_gap)
        if (request.on_progress && !lost_mass)
          request.on_progress(++done, all.size());
      });
  return all;
}

void CheckIsFinite(const std::vector<SequenceSums>& all,
                   const std::string& path) {
  for (std::size_t n = 0; n < all.size(); ++n) {
    const SequenceSums& one = all[n];
    // A NaN or an infinity of any output is in one of them.
    if (std::isfinite(one.expectation + one.at_mean_context + one.sampled +
                      one.threshold + one.lattice)) {
      continue;
    }
    throw UserError(path, fmt::format("its outputs are not finite, or give a "
                                      "target no probability, in held-out "
                                      "sequence {}",
                                      n + 1));
  }
}

// The sum of what sequences have over that of their outputs, with the interval
// of a ratio of two sums.
GapMean RatioOf(const std::vector<double>& of_sequences,
                const std::vector<double>& outputs) {
  const double all = std::accumulate(outputs.begin(), outputs.end(), 0.0);
  const double ratio =
      std::accumulate(of_sequences.begin(), of_sequences.end(), 0.0) / all;
  double squares = 0;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const double off = of_sequences[k] - ratio * outputs[k];
    squares += off * off;
  }
  const auto n = static_cast<double>(outputs.size());
  const Variance variance{squares * n / (n - 1) / (all * all), n - 1};
  const double half = HalfWidth({&variance, 1}, kMiss);
  const auto rounded = [](double number) {
    return std::round(number * 1e5) / 1e5;
  };
  return {rounded(ratio), rounded(ratio - half), rounded(ratio + half)};
}

GapRow RowOf(const std::vector<SequenceSums>& all) {
  std::vector<double> outputs;
  OfParts<std::vector<double>> variations, floors;  // of each sequence
  for (const SequenceSums& one : all) {
    outputs.push_back(one.outputs);
    ForEachPart(
        [](double variation, double floor, auto& of_variations,
           auto& of_floors) {
          of_variations.push_back(variation);
          of_floors.push_back(floor);
        },
        one.variation, one.floor, variations, floors);
  }
  GapRow row;
  ForEachPart(
      [&](const auto& variation, const auto& floor, GapEstimate& to) {
        const GapMean mean = RatioOf(variation, outputs);
        to = EstimateAround(mean.value, RatioOf(floor, outputs).value,
                            mean.high - mean.value);
      },
      variations, floors, row);
  return row;
}

}  // namespace

ModelGap MeasureModelGap(const Checkpoint& checkpoint, const std::string& path,
                         const ModelGapRequest& request) {
  ATTN_CHECK(checkpoint.run.settings.mechanism == "monotonic");
  ATTN_CHECK_LE(2, request.sequences);
  const std::vector<SequenceSums> all =
      MeasureSequences(checkpoint, path, request);
  CheckIsFinite(all, path);
  ModelGap model;
  model.run = checkpoint.run;
  model.step = checkpoint.step;
  model.sequences = request.sequences;
  model.paths = request.paths;
  model.noise = request.noise;
  model.states = request.states;
  for (const SequenceSums& one : all) {
    model.outputs += static_cast<std::int64_t>(one.outputs);
    model.kept_mass = std::min(model.kept_mass, one.kept_mass);
  }
  if (request.states) {
    CheckKeptMass(model.kept_mass, *request.states, "a sequence of " + path);
  }
  model.gap = RowOf(all);
  using One = const SequenceSums&;
  const auto mean = [&](auto figure) {
    std::vector<double> figures, outputs;
    for (One one : all) {
      figures.push_back(figure(one));
      outputs.push_back(one.outputs);
    }
    return RatioOf(figures, outputs);
  };
  model.nats = {
      .expectation = mean([](One a) { return a.expectation; }),
      .mean_field =
          mean([](One a) { return a.at_mean_context - a.expectation; }),
      .sampling = mean([](One a) { return a.sampled - a.at_mean_context; }),
      .sampled = mean([](One a) { return a.sampled; }),
      .thresholding = mean([](One a) { return a.threshold - a.sampled; }),
      .threshold = mean([](One a) { return a.threshold; }),
      .lattice = mean([](One a) { return a.lattice; })};
  const auto share = [&](auto figure) {
    GapMean errors = mean(figure);
    errors.low = std::max(errors.low, 0.0);
    errors.high = std::min(errors.high, 1.0);
    return errors;
  };
  model.errors = {.expectation = share([](One a) { return a.wrong; }),
                  .sampled = share([](One a) { return a.sampled_wrong; }),
                  .threshold = share([](One a) { return a.threshold_wrong; })};
  return model;
}

}  // namespace attnbench
