// Result documents that no run made, for tests of what reads results.
#ifndef ATTNBENCH_TESTS_SUPPORT_MADE_UP_RESULTS_H_
#define ATTNBENCH_TESTS_SUPPORT_MADE_UP_RESULTS_H_

#include <string>
#include <utility>
#include <vector>

#include "harness/results/summary.h"
#include "harness/results/sweep_result.h"
#include "harness/stats/effects.h"

namespace attnbench::testing {

// A cell that is ok, with `memory_length` in 16 digits as its point and every
// axis at its default.
inline ResultCell MadeUpResultCell(const std::string& mechanism,
                                   int memory_length,
                                   const std::vector<double>& samples_ns,
                                   int processes = 1) {
  ResultCell cell;
  cell.mechanism = mechanism;
  for (const Axis& axis : AllAxes()) {
    if (axis.declared || axis.of_decoder) {
      cell.axes[axis.name] = nullptr;
    } else if (axis.default_value.starts_with('=')) {
      cell.axes[axis.name] = memory_length;
    } else {
      cell.axes[axis.name] = ParseAxisValues(axis, axis.default_value, "")[0];
    }
  }
  cell.axes["memory_length"] = memory_length;
  cell.options = {{"threshold", 0.5}};
  cell.samples_ns = samples_ns;
  cell.trials_per_sample = 16;
  cell.processes = processes;
  cell.prepare_samples_ns = {1.0};
  cell.draw_ns = {10.0, 11.0};
  Summarize(cell);
  cell.operations = CellOperations{{.energies = 10,
                                    .chunk_energies = 0,
                                    .memory_rows = 20,
                                    .flops = 100.5,
                                    .bytes = 400}};
  cell.peak_memory_bytes = 4096;
  cell.numerics = {.attention_mass = 1.0,
                   .context_sum = -0.25,
                   .context_l2 = 2.0,
                   .error = 1e-7,
                   .error_bound = 1e-5};
  const std::string digits = std::to_string(memory_length);
  cell.point = std::string(16 - digits.size(), '0') + digits;
  return cell;
}
// A whole decoder, of whose attention alone there are as many samples.
inline ResultCell MadeUpDecoderCell(const std::string& mechanism,
                                    int memory_length,
                                    const std::vector<double>& samples_ns,
                                    int processes = 1) {
  ResultCell cell =
      MadeUpResultCell(mechanism, memory_length, samples_ns, processes);
  cell.axes["scope"] = "decoder";
  cell.axes["workload"] = "copy:1";
  cell.axes["beam"] = 4;
  cell.axes["vocabulary"] = 20;
  cell.axes["layers"] = 2;
  cell.axes["encoder"] = "timed";
  cell.prepare_samples_ns.clear();
  cell.draw_ns.clear();
  cell.operations.reset();
  cell.peak_memory_bytes.reset();
  cell.decoder = DecoderFigures{
      .source_lengths = {memory_length, 0},
      .attention_samples_ns = samples_ns,
      .attention_trials_per_sample = 2,
      .attention_median_ns = {},
      .attention_interval_ns = {},
      .reads = DecoderReads{
          .energies_per_output = 3, .zero_contexts = 0.0, .memory_read = 1.0}};
  Summarize(cell);
  return cell;
}

// Effects so small that a percent can be told; those of the program may change.
inline Effects QuietEffects() {
  const Effect ratio = {.s_build = 0.005,
                        .build_degrees = 19,
                        .s_process = 0.003,
                        .process_degrees = 77,
                        .s_run = 0.002,
                        .run_degrees = 10};
  Effects effects = {.time = ratio, .ratio = ratio, .peer = ratio};
  effects.time.s_run = 0.02;
  return effects;
}

// The same as JSON, for tests that change it here and there.
inline Json MadeUpCell(const std::string& mechanism, int memory_length,
                       const std::vector<double>& samples_ns,
                       int processes = 1) {
  return ToJson(
      MadeUpResultCell(mechanism, memory_length, samples_ns, processes));
}

inline SweepContext MadeUpContext() {
  SweepContext context;
  context.commit = "abc";
  context.build_id = "0123456789abcdef";
  context.command = "run-sweep";
  context.date = "2020-01-01T00:00:00Z";
  context.seed = 1;
  context.cpu = "a processor";
  context.load = 0.25;
  context.load_end = 1.25;
  context.simd = "AVX2";
  context.valid = true;
  return context;
}

// Its points are those of the cells, in their order. The cells need not fit
// together as a reader requires.
inline ReadSweep MadeUpResult(const std::string& path,
                              const std::vector<Json>& cells) {
  ReadSweep made{path, {}};
  SweepContext& context = made.result.context;
  context = MadeUpContext();
  for (const Json& json : cells) {
    const auto& cell =
        made.result.cells.emplace_back(FromJson<ResultCell>(json, path));
    if (context.points.empty() || context.points.back() != cell.point) {
      context.points.push_back(cell.point);
    }
  }
  return made;
}

// Whether a report of tests (answers/junit.h) has a case that CI takes for one
// that has not passed.
inline bool HasBadCase(const std::string& junit) {
  return junit.find("<failure ") != std::string::npos ||
         junit.find("<error ") != std::string::npos;
}

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_MADE_UP_RESULTS_H_
