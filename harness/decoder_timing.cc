#include "harness/decoder_timing.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/calibration.h"
#include "harness/decoder_cell.h"
#include "harness/decoder_ratios.h"
#include "harness/environment.h"
#include "harness/load_watch.h"
#include "harness/result_schema.h"

namespace attnbench {
namespace {

// Those of SourceLengths, and an empty one, which hardly takes time but is to
// be among them at every L.
std::vector<CopyTask> TasksOf(const DecoderExperiment& experiment,
                              Index longest) {
  std::vector<CopyTask> tasks;
  std::vector<Index> lengths =
      SourceLengths(experiment.seed, longest, experiment.num_sequences);
  lengths.push_back(0);
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    tasks.emplace_back(DrawSource(experiment.seed, static_cast<Index>(n),
                                  lengths[n], experiment.sizes.vocabulary),
                       experiment.sizes.vocabulary);
  }
  return tasks;
}

// A name of the point in this program, as those of sweeps.
std::string PointName(const DecoderExperiment& experiment, Index length,
                      Index beam) {
  Fnv1a hash;
  hash.Add(fmt::format("{} {} {} {} {} {} {} {} {}", BuildId(), experiment.name,
                       experiment.seed, experiment.repetitions,
                       experiment.num_sequences, experiment.sizes.vocabulary,
                       experiment.sizes.units, length, beam));
  for (const Cell& cell : experiment.cells) {
    hash.Add(cell.mechanism + cell.axes.dump() + OptionsJson(cell).dump());
  }
  return hash.Hex();
}

std::vector<Json> MeasurePoint(const DecoderExperiment& experiment,
                               const DecoderPoint& point, Json& calibration) {
  std::vector<std::unique_ptr<CellRun>> runs;
  if (experiment.has_plain) runs.push_back(MakeDecoderCell(point, nullptr));
  for (const Cell& cell : experiment.cells) {
    runs.push_back(MakeDecoderCell(point, &cell));
  }
  std::vector<double> calibration_ns;
  std::vector<Json> cells =
      RunCells(runs, DecoderPointKey(point.length, point.beam),
               {.seed = experiment.seed,
                .repetitions = experiment.repetitions,
                .calibration_ns = &calibration_ns},
               [](std::size_t, double) {});
  AddRatiosToSoft(cells);
  calibration.push_back(CalibrationJson(point.name, calibration_ns));
  return cells;
}

}  // namespace

std::uint64_t DecoderPointKey(Index length, Index beam) {
  Fnv1a hash;
  hash.Add(fmt::format("{} {}", length, beam));
  return hash.hash();
}

Json MeasureDecoders(const DecoderExperiment& experiment, Json context,
                     const PointDone& on_point) {
  const DecoderModel model(experiment.sizes, experiment.seed, Scan::kCounting);
  const DecoderModel random_scans(experiment.sizes, experiment.seed,
                                  Scan::kRandom);
  Json cells = Json::array();
  Json points = Json::array();
  context["calibration"] = Json::array();
  LoadWatch watch = BeginWatch(context);
  const std::size_t total = experiment.lengths.size() * experiment.beams.size();
  for (const Index length : experiment.lengths) {
    const std::vector<CopyTask> tasks = TasksOf(experiment, length);
    Json lengths = Json::array();
    for (const CopyTask& task : tasks) lengths.push_back(task.length());
    for (const Index beam : experiment.beams) {
      const DecoderPoint point{.model = &model,
                               .random_scans = &random_scans,
                               .length = length,
                               .beam = beam,
                               .tasks = tasks,
                               .name = PointName(experiment, length, beam)};
      for (Json& cell :
           MeasurePoint(experiment, point, context["calibration"])) {
        cells.push_back(std::move(cell));
      }
      points.push_back({{"point", point.name},
                        {"length", length},
                        {"beam", beam},
                        {"source_lengths", lengths}});
      LookAgain(watch, context);
      on_point(points.size(), total);
    }
  }
  return {{"schema_version", kSchemaVersion},
          {"kind", "decoder"},
          {"context", std::move(context)},
          {"experiment", experiment.name},
          {"model",
           {{"vocabulary", experiment.sizes.vocabulary},
            {"units", experiment.sizes.units},
            {"layers", kLayers},
            {"forget_bias", experiment.sizes.forget_bias}}},
          {"points", std::move(points)},
          {"cells", std::move(cells)}};
}

// Fitted by eye to one machine: every step reads all weights, and a beam
// multiplies them by its rows.
double EstimateDecodersS(const DecoderExperiment& experiment) {
  const auto d = static_cast<double>(experiment.sizes.units);
  const auto V = static_cast<double>(experiment.sizes.vocabulary);
  const double of_encoder = 2 * kLayers * 8 * d * d;
  const double of_decoder = 20 * d * d + 2 * d * d + V * d;
  const double per_weight_s = 4 / 70e9;
  double of_round_s = 0;
  for (const Index length : experiment.lengths) {
    for (const Index beam : experiment.beams) {
      const double steps = static_cast<double>(length) / 2 + 1;
      const double of_rows =
          beam == 1 ? 0 : static_cast<double>(beam) * 2 / 45e9;
      const double of_step =
          of_encoder * per_weight_s + of_decoder * (per_weight_s + of_rows);
      of_round_s +=
          static_cast<double>(experiment.num_sequences) * steps * of_step;
    }
  }
  const double cells = static_cast<double>(experiment.cells.size()) +
                       (experiment.has_plain ? 1 : 0);
  const double of_gate = 2;  // rounds that gate and records take
  return cells * of_round_s *
         (static_cast<double>(experiment.repetitions) + of_gate);
}

}  // namespace attnbench
