#include "harness/gap/model_gap.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <vector>

#include "harness/base/error.h"
#include "harness/gap/gap.h"
#include "harness/gap/trained_loop.h"
#include "harness/stats/statistics.h"
#include "mechanisms/common/parallel.h"

namespace attnbench {
namespace {

// What a sequence adds to a figure, over its outputs.
struct SequenceSums {
  double outputs = 0;
  OfParts<double> variation = {}, floor = {};
  double expectation = 0, at_mean_context = 0, sampled = 0, threshold = 0,
         lattice = 0, path = 0;  // nats
  double wrong = 0, sampled_wrong = 0, threshold_wrong = 0, path_wrong = 0;
  double kept_mass = 1;
};

bool IsWrong(std::span<const double> p, Symbol target) {
  return std::ranges::max_element(p) - p.begin() != target;
}

// Adds the nats of the target under rows of probabilities.
double NatsOf(const Table<double>& outputs, const std::vector<Symbol>& target) {
  double nats = 0;
  for (std::size_t i = 0; i < target.size(); ++i) {
    nats -= std::log(outputs(static_cast<Index>(i), target[i]));
  }
  return nats;
}

double WrongOf(const Table<double>& outputs,
               const std::vector<Symbol>& target) {
  double wrong = 0;
  for (std::size_t i = 0; i < target.size(); ++i) {
    wrong += IsWrong(outputs.view().Row(static_cast<Index>(i)), target[i]);
  }
  return wrong;
}

SequenceSums SumsOf(TrainedDecoder& decoder, const Example& example,
                    const ModelGapRequest& request, std::uint64_t seed) {
  const TrainedLoop loop(decoder, example);
  const std::vector<Symbol>& target = example.target;
  SequenceSums sums{.outputs = static_cast<double>(target.size())};
  GapSettings settings{
      .paths = request.paths, .noise = request.noise, .states = request.states};
  double steps = 0;
  const DecoderGap gap = MeasureDecoderGap(
      loop, settings, seed, /*threads=*/1, [&](const PathStep& step) {
        const Symbol y = target[Size(step.output)];
        sums.path -= std::log(step.probabilities[Size(y)]);
        sums.path_wrong += IsWrong(step.probabilities, y);
        ++steps;
      });
  sums.path *= sums.outputs / steps;
  sums.path_wrong *= sums.outputs / steps;
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

// The sum of a figure of all sequences over their outputs, with the interval of
// a ratio of two sums.
template <class Figure>
GapMean RatioOf(const std::vector<SequenceSums>& all, const Figure& figure) {
  double sum = 0;
  double outputs = 0;
  for (const SequenceSums& one : all) {
    sum += figure(one);
    outputs += one.outputs;
  }
  const double ratio = sum / outputs;
  double squares = 0;
  for (const SequenceSums& one : all) {
    const double off = figure(one) - ratio * one.outputs;
    squares += off * off;
  }
  const auto n = static_cast<double>(all.size());
  const Variance variance{squares * n / (n - 1) / (outputs * outputs), n - 1};
  const double half = HalfWidth({&variance, 1}, kMiss);
  const auto rounded = [](double number) {
    return std::round(number * 1e5) / 1e5;
  };
  return {rounded(ratio), rounded(ratio - half), rounded(ratio + half)};
}

GapRow RowOf(const std::vector<SequenceSums>& all) {
  // `values` is the array of a figure's parts.
  const auto estimate = [&](const auto& values, GapPart part) {
    const GapMean value = RatioOf(all, [&](const SequenceSums& one) {
      return values(one.variation)[part];
    });
    const GapMean floor = RatioOf(
        all, [&](const SequenceSums& one) { return values(one.floor)[part]; });
    return EstimateAround(value.value, floor.value, value.high - value.value);
  };
  const auto entries = [](const OfParts<double>& of) { return of.entries; };
  const auto outputs = [](const OfParts<double>& of) { return of.outputs; };
  return MakeGapRow([&](GapPart part) { return estimate(entries, part); },
                    [&](GapPart part) { return estimate(outputs, part); });
}

}  // namespace

ModelGap MeasureModelGap(const Checkpoint& checkpoint, const std::string& path,
                         const ModelGapRequest& request) {
  const TrainingRun& run = checkpoint.run;
  ATTN_CHECK(run.settings.mechanism == "monotonic");
  ATTN_CHECK_LE(2, request.sequences);
  std::vector<SequenceSums> all(Size(request.sequences));
  std::size_t done = 0;
  std::atomic<bool> lost_mass = false;  // the rest need not be measured
  ParallelForWith(
      request.sequences, omp_get_max_threads(),
      [&] { return std::make_unique<TrainedDecoder>(checkpoint, path); },
      [&](Index n, std::unique_ptr<TrainedDecoder>& decoder) {
        if (lost_mass) return;
        const Example example =
            MakeExample(run.settings.task_spec(), ExampleSet::kHeldOut,
                        run.held_out_seed, static_cast<std::uint32_t>(n));
        all[Size(n)] =
            SumsOf(*decoder, example, request, GapDecoderSeed(request.seed, n));
        if (all[Size(n)].kept_mass < kLeastKeptMass) lost_mass = true;
#pragma omp critical(attnbench_model_gap)
        if (request.on_progress && !lost_mass)
          request.on_progress(++done, all.size());
      });
  ModelGap model;
  model.run = run;
  model.step = checkpoint.step;
  model.sequences = request.sequences;
  model.paths = request.paths;
  model.noise = request.noise;
  model.states = request.states;
  for (std::size_t n = 0; n < all.size(); ++n) {
    const SequenceSums& one = all[n];
    // A NaN or an infinity of any output is in one of them.
    if (!std::isfinite(one.expectation + one.path + one.threshold)) {
      throw UserError(path, fmt::format("its outputs are not finite, or give a "
                                        "target no probability, in held-out "
                                        "sequence {}",
                                        n + 1));
    }
    model.outputs += static_cast<std::int64_t>(one.outputs);
    model.kept_mass = std::min(model.kept_mass, one.kept_mass);
  }
  CheckKeptMass(model.kept_mass, request.states, "a sequence of " + path);
  model.gap = RowOf(all);
  const auto nats = [&](auto figure) { return RatioOf(all, figure); };
  using One = const SequenceSums&;
  model.nats = {
      .expectation = nats([](One a) { return a.expectation; }),
      .mean_field =
          nats([](One a) { return a.at_mean_context - a.expectation; }),
      .sampling = nats([](One a) { return a.sampled - a.at_mean_context; }),
      .sampled = nats([](One a) { return a.sampled; }),
      .thresholding = nats([](One a) { return a.threshold - a.sampled; }),
      .threshold = nats([](One a) { return a.threshold; }),
      .lattice = nats([](One a) { return a.lattice; }),
      .path = nats([](One a) { return a.path; })};
  model.errors = {.expectation = nats([](One a) { return a.wrong; }),
                  .sampled = nats([](One a) { return a.sampled_wrong; }),
                  .threshold = nats([](One a) { return a.threshold_wrong; }),
                  .path = nats([](One a) { return a.path_wrong; })};
  return model;
}

}  // namespace attnbench
