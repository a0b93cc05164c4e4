// Times the whole decoders of an experiment against each other: attnbench
// decoder, and what else wants its result. In this process, on one thread; a
// round times every cell of a point once, in an order of its own
// (point_runner.h).
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_DECODER_TIMING_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_DECODER_TIMING_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "harness/machine/context.h"
#include "harness/sweep/decoder_experiment.h"

namespace attnbench {

// Decides the order of the rounds of a point (round_order.h): it follows from
// what the point is, so that it is the same in an experiment of other lengths.
std::uint64_t DecoderPointKey(const DecoderSetting& setting);

// After each point.
using PointDone = std::function<void(std::size_t done, std::size_t total)>;

// The context of its result.
struct DecoderContext : Context {
  std::vector<MachineLimits> limits = {};
  std::vector<Calibration> calibration = {};

  static void Fields(auto& self, auto& visit) {
    Context::Fields(self, visit);
    visit("limits", self.limits);
    visit("calibration", self.calibration);
  }
};

// The result document, kind "decoder" (results/schema/decoder.schema.json).
// `begin` is its context so far. A cell
// that fails is in it with status and message, and the others go on.
Json MeasureDecoders(const DecoderExperiment& experiment,
                     const DecoderContext& begin, const PointDone& on_point);

// How long that takes, roughly, in seconds, on a machine with AVX2 or more.
double EstimateDecodersS(const DecoderExperiment& experiment);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_DECODER_TIMING_H_
