#include "harness/campaign/decoder_timing.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/hash.h"
#include "harness/machine/calibration.h"
#include "harness/machine/environment.h"
#include "harness/machine/load_watch.h"
#include "harness/measure/decoder_cell.h"
#include "harness/measure/decoder_ratios.h"
#include "harness/results/sweep_result.h"

namespace attnbench {
namespace {

// The sources have the lengths of SourceLengths; an empty one, which hardly
// takes time, is among them at every L.
std::vector<CopyTask> TasksOf(const DecoderExperiment& experiment,
                              Index longest) {
  std::vector<CopyTask> tasks;
  std::vector<Index> lengths =
      SourceLengths(experiment.seed, longest, experiment.num_sequences);
  lengths.push_back(0);
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    tasks.emplace_back(DrawSource(experiment.seed, static_cast<Index>(n),
                                  lengths[n], experiment.vocabulary),
                       experiment.vocabulary);
  }
  return tasks;
}

// A name of the point in this program, as those of sweeps.
std::string PointName(const DecoderExperiment& experiment,
                      const DecoderSetting& setting) {
  Fnv1a hash;
  hash.Add(fmt::format("{} {} {} {} {} {} {} {} {} {}", BuildId(),
                       experiment.name, experiment.seed, experiment.repetitions,
                       experiment.num_sequences, experiment.vocabulary,
                       setting.units, setting.memory_share, setting.length,
                       setting.beam));
  for (const Cell* cell : CellsOfPoint(experiment, setting)) {
    hash.Add(cell->mechanism + ToJson(cell->axes).dump() +
             OptionsJson(*cell).dump());
  }
  return hash.Hex();
}

std::vector<Json> MeasurePoint(const DecoderExperiment& experiment,
                               const DecoderPoint& point,
                               std::vector<Calibration>& calibration) {
  std::vector<std::unique_ptr<DecoderCellRun>> runs;
  if (experiment.has_plain) runs.push_back(MakeDecoderCell(point, nullptr));
  for (const Cell* cell : CellsOfPoint(experiment, point.setting)) {
    runs.push_back(MakeDecoderCell(point, cell));
  }
  std::vector<double> calibration_ns;
  std::vector<CellRun*> steps;
  for (const auto& run : runs) steps.push_back(run.get());
  RunCells(steps, DecoderPointKey(point.setting),
           {.seed = experiment.seed,
            .repetitions = experiment.repetitions,
            .calibration_ns = &calibration_ns},
           [](std::size_t, double) {});
  std::vector<Json> cells;
  for (const auto& run : runs) cells.push_back(run->Result());
  AddRatiosToSoft(cells);
  calibration.push_back(CalibrationOf(point.name, calibration_ns));
  return cells;
}

}  // namespace

std::uint64_t DecoderPointKey(const DecoderSetting& setting) {
  Fnv1a hash;
  hash.Add(fmt::format("{} {} {} {}", setting.length, setting.beam,
                       setting.units, setting.memory_share));
  return hash.hash();
}

Json MeasureDecoders(const DecoderExperiment& experiment,
                     const DecoderContext& begin, const PointDone& on_point) {
  DecoderContext context = begin;
  Json cells = Json::array();
  Json points = Json::array();
  LoadWatch watch = BeginWatch(context);
  const std::vector<DecoderSetting> settings = SettingsOf(experiment);
  std::map<Index, DecoderModel> random_scans;              // of each d
  std::map<std::pair<Index, double>, DecoderModel> timed;  // of each d and s
  for (const DecoderSetting& setting : settings) {
    const Index d = setting.units;
    const double share = setting.memory_share;
    const ModelSizes sizes{.vocabulary = experiment.vocabulary, .units = d};
    const auto random_scan =
        random_scans.try_emplace(d, sizes, experiment.seed, Scan::kRandom);
    const auto counting = timed.try_emplace({d, share}, sizes, experiment.seed,
                                            Scan::kCounting, share);
    const std::vector<CopyTask> tasks = TasksOf(experiment, setting.length);
    Json lengths = Json::array();
    for (const CopyTask& task : tasks) lengths.push_back(task.length());
    const DecoderPoint point{.model = &counting.first->second,
                             .random_scans = &random_scan.first->second,
                             .setting = setting,
                             .tasks = tasks,
                             .name = PointName(experiment, setting)};
    for (Json& cell : MeasurePoint(experiment, point, context.calibration)) {
      cells.push_back(std::move(cell));
    }
    points.push_back({{"point", point.name},
                      {"units", setting.units},
                      {"memory_share", setting.memory_share},
                      {"length", setting.length},
                      {"beam", setting.beam},
                      {"source_lengths", std::move(lengths)}});
    LookAgain(watch, context.calibration, context);
    on_point(points.size(), settings.size());
  }
  return {{"schema_version", kSchemaVersion},
          {"kind", "decoder"},
          {"context", ToJson(context)},
          {"experiment", experiment.name},
          {"model",
           {{"vocabulary", experiment.vocabulary},
            {"layers", kLayers},
            {"forget_bias", ModelSizes{}.forget_bias}}},
          {"points", std::move(points)},
          {"cells", std::move(cells)}};
}

// Fitted by eye to one machine: every step reads all weights, and a beam
// multiplies them by its rows.
double EstimateDecodersS(const DecoderExperiment& experiment) {
  const auto V = static_cast<double>(experiment.vocabulary);
  const double per_weight_s = 4 / 70e9;
  double of_round_s = 0;
  for (const DecoderSetting& setting : SettingsOf(experiment)) {
    const auto d = static_cast<double>(setting.units);
    const double of_encoder = 2 * kLayers * 8 * d * d;
    const double of_decoder = 20 * d * d + 2 * d * d + V * d;
    const double steps = static_cast<double>(setting.length) / 2 + 1;
    const double of_rows =
        setting.beam == 1 ? 0 : static_cast<double>(setting.beam) * 2 / 45e9;
    const double of_step =
        of_encoder * per_weight_s + of_decoder * (per_weight_s + of_rows);
    of_round_s += static_cast<double>(CellCount(experiment, setting) *
                                      experiment.num_sequences) *
                  steps * of_step;
  }
  const double of_gate = 2;  // rounds that gate and records take
  return of_round_s * (static_cast<double>(experiment.repetitions) + of_gate);
}

}  // namespace attnbench
