// A cell in scope decoder: one whole decoder, timed on the sources of its
// point, whole and attention alone in every round.
#ifndef ATTNBENCH_HARNESS_MEASURE_WHOLE_DECODER_CELL_H_
#define ATTNBENCH_HARNESS_MEASURE_WHOLE_DECODER_CELL_H_

#include <functional>
#include <memory>

#include "harness/measure/point_runner.h"
#include "harness/measure/whole_decoder_inputs.h"

namespace attnbench {

// A sample of attention alone lasts at least so long.
inline constexpr double kAttentionSampleNs = 2e6;

// The inputs, made when a cell first needs them.
using DecoderInputsSource = std::function<const DecoderInputs&()>;

// Everything that is referred to outlives the run.
std::unique_ptr<CellRun> MakeDecoderRun(const Cell& cell,
                                        DecoderInputsSource inputs,
                                        const RunOptions& options);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MEASURE_WHOLE_DECODER_CELL_H_
