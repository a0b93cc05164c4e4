#include "harness/campaign/decoder_processes.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>

#include "harness/base/exit_code.h"
#include "harness/campaign/decoder_timing.h"
#include "harness/machine/calibration.h"
#include "harness/measure/decoder_ratios.h"
#include "harness/system/child_process.h"
#include "mechanisms/kernels/kernels.h"

namespace attnbench {
namespace {

void Append(const Json& list, Json& to) {
  to.insert(to.end(), list.begin(), list.end());
}

void JoinCell(const Json& other, Json& cell) {
  if (cell.at("status") != "ok") return;
  if (other.at("status") != "ok") {
    cell = other;
    return;
  }
  for (const char* list : {"samples_ns", "attention_samples_ns"}) {
    Append(other.at(list), cell[list]);
  }
  cell["processes"] = cell.at("processes").get<int>() + 1;
}

// Of the cells of each point, in their order.
void SummarizeAgain(Json& cells) {
  std::map<std::string, std::vector<Json*>> points;
  for (Json& cell : cells) {
    SummarizeSamples("", cell);
    SummarizeSamples("attention_", cell);
    points[cell.at("point")].push_back(&cell);
  }
  for (const auto& [name, of_point] : points) {
    std::vector<Json> joined;
    for (const Json* cell : of_point) joined.push_back(*cell);
    AddRatiosToSoft(joined);
    for (std::size_t i = 0; i < joined.size(); ++i) {
      *of_point[i] = std::move(joined[i]);
    }
  }
}

Json MeasureInOne(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"/proc/self/exe", "--simd", SimdName()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  ChildProcess process({.arguments = words,
                        .environment = EnvironmentWith({}),
                        .longest_line = std::numeric_limits<std::size_t>::max(),
                        .echo_errors = true});
  std::string printed;
  while (auto line = process.ReadLine(ChildProcess::Clock::time_point::max())) {
    printed = std::move(*line);
  }
  const ProcessEnd end = process.Stop();
  const bool is_good =
      WIFEXITED(end.status) && WEXITSTATUS(end.status) == kGood;
  if (!is_good || printed.empty()) {
    throw std::runtime_error("a process that measures decoders " + end.Text() +
                             ": " + process.LastWords());
  }
  return Json::parse(printed);
}

}  // namespace

Json JoinProcesses(std::vector<Json> results) {
  Json joined = std::move(results.at(0));
  const auto context_of = [](const Json& result) {
    return FromJson<DecoderContext>(result.at("context"), "context");
  };
  DecoderContext context = context_of(joined);
  for (std::size_t n = 1; n < results.size(); ++n) {
    const DecoderContext other = context_of(results[n]);
    context.load_end = std::max(context.load_end, other.load_end);
    for (std::size_t i = 0; i < joined["cells"].size(); ++i) {
      JoinCell(results[n].at("cells")[i], joined["cells"][i]);
    }
    for (std::size_t i = 0; i < context.calibration.size(); ++i) {
      const auto& more = other.calibration.at(i).samples_ns;
      auto& samples = context.calibration[i].samples_ns;
      samples.insert(samples.end(), more.begin(), more.end());
    }
  }
  for (Calibration& entry : context.calibration) {
    entry = CalibrationOf(entry.point, entry.samples_ns);
  }
  joined["context"] = ToJson(context);
  SummarizeAgain(joined["cells"]);
  return joined;
}

Json MeasureInProcesses(int count, const std::vector<std::string>& arguments) {
  std::vector<Json> results;
  for (int n = 0; n < count; ++n) results.push_back(MeasureInOne(arguments));
  return JoinProcesses(std::move(results));
}

}  // namespace attnbench
