// Times the whole decoders of an experiment against each other: attnbench
// decoder, and what else wants its result. In this process, on one thread; a
// round times every cell of a point once, in an order of its own (runner.h).
#ifndef ATTNBENCH_HARNESS_DECODER_TIMING_H_
#define ATTNBENCH_HARNESS_DECODER_TIMING_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "harness/decoder_experiment.h"

namespace attnbench {

// Decides the order of the rounds of a point (schedule.h): it follows from what
// the point is, so that it is the same in an experiment of other lengths.
std::uint64_t DecoderPointKey(const DecoderSetting& setting);

// After each point.
using PointDone = std::function<void(std::size_t done, std::size_t total)>;

// The result document, kind "decoder" (results/schema/decoder.schema.json).
// `context` is that of MakeContext, with `limits`; it is finished here. A cell
// that fails is in it with status and message, and the others go on.
Json MeasureDecoders(const DecoderExperiment& experiment, Json context,
                     const PointDone& on_point);

// How long that takes, roughly, in seconds, on a machine with AVX2 or more.
double EstimateDecodersS(const DecoderExperiment& experiment);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_DECODER_TIMING_H_
