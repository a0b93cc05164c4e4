// A cell of an experiment of kind "decoder": one whole decoder, timed on the
// sources of its point, whole and attention alone in every round.
#ifndef ATTNBENCH_HARNESS_DECODER_CELL_H_
#define ATTNBENCH_HARNESS_DECODER_CELL_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/decoder_experiment.h"
#include "harness/decoder_model.h"
#include "harness/runner.h"

namespace attnbench {

// What the cells of a point share; all of it outlives them.
struct DecoderPoint {
  const DecoderModel* model = nullptr;         // what is timed
  const DecoderModel* random_scans = nullptr;  // for the gate as well
  DecoderSetting setting;
  std::span<const CopyTask> tasks;
  std::string name;  // 16 hexadecimal digits
};

// `cell` is the mechanism with its axes and options; null: no attention. The
// result is a cell of results/schema/decoder.schema.json without
// `ratio_to_soft` (decoder_ratios.h).
std::unique_ptr<CellRun> MakeDecoderCell(const DecoderPoint& point,
                                         const Cell* cell);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_DECODER_CELL_H_
