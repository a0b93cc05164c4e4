// A cell of an experiment of kind "decoder": one whole decoder, timed on the
// sources of its point, whole and attention alone in every round.
#ifndef ATTNBENCH_HARNESS_MEASURE_DECODER_CELL_H_
#define ATTNBENCH_HARNESS_MEASURE_DECODER_CELL_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/measure/decoder_model.h"
#include "harness/measure/point_runner.h"
#include "harness/sweep/decoder_experiment.h"

namespace attnbench {

// What the cells of a point share; all of it outlives them.
struct DecoderPoint {
  const DecoderModel* model = nullptr;         // what is timed
  const DecoderModel* random_scans = nullptr;  // for the gate as well
  DecoderSetting setting;
  std::span<const CopyTask> tasks;
  std::string name;  // 16 hexadecimal digits
};

class DecoderCellRun : public CellRun {
 public:
  virtual Json Result() const = 0;
};

// `cell` is the mechanism with its axes and options; null: no attention. The
// result is a cell of results/schema/decoder.schema.json without
// `ratio_to_soft` (decoder_ratios.h).
std::unique_ptr<DecoderCellRun> MakeDecoderCell(const DecoderPoint& point,
                                                const Cell* cell);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MEASURE_DECODER_CELL_H_
