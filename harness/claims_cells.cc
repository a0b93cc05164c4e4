#include "harness/claims_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>

#include "harness/decoder_experiment.h"
#include "harness/decoder_ratios.h"
#include "harness/purposes.h"

namespace attnbench {
namespace {

const std::vector<std::string>& LabelNames(const Json& document) {
  static const std::vector<std::string> of_decoders = [] {
    std::vector<std::string> names = {"mechanism", "units", "memory_share",
                                      "length", "beam"};
    names.insert(names.end(), std::begin(kDecoderAxes), std::end(kDecoderAxes));
    return names;
  }();
  static const std::vector<std::string> of_sweeps = [] {
    std::vector<std::string> names = AxisNames(StandardAxes());
    names.insert(names.begin(), "mechanism");
    return names;
  }();
  return document.at("kind") == "sweep" ? of_sweeps : of_decoders;
}

Json LabelsOf(const Json& cell, const std::vector<std::string>& names) {
  Json labels = Json::object();
  for (const std::string& name : names) labels[name] = FieldOf(cell, name);
  for (const auto& [name, value] : FieldOf(cell, "options").items()) {
    labels["options." + name] = value;
  }
  return labels;
}

std::string WhyNoNumbers(const Json& cell) {
  const std::string status = cell.value("status", "ok");
  if (status == "ok") return WhyNotAsTrained(cell);
  return fmt::format("{}: {}", status,
                     AxisValueText(cell.value("message", Json())));
}

// Whether the axes that neither selector names agree.
bool AgreeOtherwise(const ClaimCell& a, const ClaimCell& b, const Json& of,
                    const Json& to, const std::vector<std::string>& names) {
  if (FieldOf(*a.cell, "point") != FieldOf(*b.cell, "point")) return false;
  return std::ranges::all_of(names, [&](const std::string& name) {
    if (name == "mechanism" || of.contains(name) || to.contains(name)) {
      return true;
    }
    const Json& left = a.labels.at(name);
    const Json& right = b.labels.at(name);
    return left.is_null() || right.is_null() || left == right;
  });
}

ClaimPair MakePair(const ClaimCell& of, const ClaimCell& to,
                   bool mechanism_of_to) {
  ClaimPair pair{.of = of, .to = to, .labels = of.labels, .evidence = {}};
  for (const auto& [name, value] : to.labels.items()) {
    Json& label = pair.labels[name];
    if (label.is_null()) label = value;
  }
  if (mechanism_of_to) pair.labels["mechanism"] = to.labels.at("mechanism");
  pair.evidence = Json::array({of.evidence, to.evidence});
  pair.why = of.why.empty() ? to.why : of.why;
  if (pair.why.empty() &&
      !HaveEqualShapes({SamplesOf(*of.cell), SamplesOf(*to.cell)})) {
    pair.why = "the two were not timed in the same rounds";
  }
  return pair;
}

// What an interval is over.
std::vector<double> UnitsOf(const ProcessSamples& logs) {
  return logs.size() == 1 ? logs[0] : ProcessMedians(logs);
}

Interval OverRounds(const std::vector<ProcessSamples>& series, double miss,
                    const FigureOfSeries& of) {
  ProcessSamples figures;
  std::vector<double> round(series.size());
  for (std::size_t p = 0; p < series[0].size(); ++p) {
    std::vector<double>& of_process = figures.emplace_back();
    for (std::size_t r = 0; r < series[0][p].size(); ++r) {
      for (std::size_t i = 0; i < series.size(); ++i) {
        round[i] = series[i][p][r];
      }
      of_process.push_back(of(round));
    }
  }
  return Center(figures, miss).interval;
}

Interval Redrawn(const std::vector<ProcessSamples>& series, double miss,
                 const FigureOfSeries& of) {
  constexpr std::uint32_t kTimes = 2000;
  constexpr std::uint64_t kSeed = 1;
  std::vector<std::vector<double>> units;
  for (const ProcessSamples& one : series) units.push_back(UnitsOf(one));
  if (units[0].size() == 1) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return {-kInfinity, kInfinity};
  }
  std::vector<double> figures;
  std::vector<double> centers(units.size());
  for (std::uint32_t n = 0; n < kTimes; ++n) {
    std::uint64_t drawn = 0;
    const auto uniform = [&] {
      return Uniform24(Philox(kSeed, kResamplePurpose, n, drawn++)[0]);
    };
    for (std::size_t i = 0; i < units.size(); ++i) {
      centers[i] = RedrawnCenter(units[i], miss, uniform);
    }
    figures.push_back(of(centers));
  }
  std::ranges::sort(figures);
  // A figure may be infinite, so none lies between two.
  const auto outside = static_cast<std::size_t>(miss / 2 * kTimes);
  return {figures[outside], figures[kTimes - 1 - outside]};
}

double LayoutLog(LayoutReach reach) {
  return std::log(kLayoutFactor) / (reach == LayoutReach::kOfTime ? 2 : 1);
}

// How far layout moves the figure of these medians at most, to first order.
double LayoutOf(double figure, std::vector<double> medians, LayoutReach reach,
                const FigureOfSeries& of) {
  const double most = LayoutLog(reach);
  double sum = 0;
  for (double& median : medians) {
    const double center = median;
    double moved = 0;
    for (const double by : {-most, most}) {
      median = center + by;
      moved = std::max(moved, std::fabs(of(medians) - figure));
    }
    median = center;
    sum += moved;
  }
  return sum;
}

}  // namespace

std::vector<ClaimCell> CellsOf(const ClaimDocument& document,
                               const Json& selector, std::string& none) {
  const Json& cells = document.json.at("cells");
  const std::vector<std::string>& names = LabelNames(document.json);
  std::vector<ClaimCell> selected;
  for (const std::size_t i : SelectRows(cells, selector)) {
    ClaimCell cell{.cell = &cells[i],
                   .labels = LabelsOf(cells[i], names),
                   .evidence = EvidenceOf(document, "cells", i),
                   .why = WhyNoNumbers(cells[i])};
    if (cells[i].value("status", "ok") == "skipped") {
      if (none.empty()) none = cell.why;
      continue;
    }
    selected.push_back(std::move(cell));
  }
  if (selected.empty() && none.empty()) {
    none = "no cell is " + selector.dump();
  }
  return selected;
}

std::vector<ClaimPair> PairsOf(const ClaimDocument& document,
                               const Json& quantity, std::string& none) {
  const Json& of = quantity.at("of");
  const Json& to = quantity.at("to");
  const std::vector<ClaimCell> of_cells = CellsOf(document, of, none);
  const std::vector<ClaimCell> to_cells = CellsOf(document, to, none);
  const bool several = FieldOf(to, "mechanism").is_array();
  std::vector<ClaimPair> pairs;
  for (const ClaimCell& a : of_cells) {
    for (const ClaimCell& b : to_cells) {
      if (!AgreeOtherwise(a, b, of, to, LabelNames(document.json))) continue;
      pairs.push_back(MakePair(a, b, several));
    }
  }
  if (pairs.empty() && !of_cells.empty() && !to_cells.empty()) {
    none = "no point has a cell of both";
  }
  return pairs;
}

ProcessSamples SamplesOf(const Json& cell, const char* list) {
  return SplitProcesses(cell.at(list).get<std::vector<double>>(),
                        cell.value("processes", 1));
}

ProcessSamples LogRatiosOf(const ClaimPair& pair, const char* list) {
  return PairedLogRatios(SamplesOf(*pair.of.cell, list),
                         SamplesOf(*pair.to.cell, list));
}

bool HaveEqualShapes(const std::vector<ProcessSamples>& series) {
  std::set<std::vector<std::size_t>> shapes;
  for (const ProcessSamples& one : series) {
    std::vector<std::size_t> rounds;
    for (const std::vector<double>& process : one) {
      rounds.push_back(process.size());
    }
    shapes.insert(std::move(rounds));
  }
  return shapes.size() == 1;
}

Estimate CenterWithLayout(const ProcessSamples& logs, double miss,
                          LayoutReach reach) {
  Estimate center = Center(logs, miss);
  if (!HasFewProcesses(logs)) return center;
  const double layout = LayoutLog(reach);
  center.interval.low -= layout;
  center.interval.high += layout;
  return center;
}

Estimate FigureOf(const std::vector<ProcessSamples>& log_series, double miss,
                  LayoutReach reach, FigureKind kind,
                  const FigureOfSeries& of) {
  std::vector<double> medians;
  for (const ProcessSamples& one : log_series) {
    medians.push_back(Median(UnitsOf(one)));
  }
  Estimate figure = {of(medians), kind == FigureKind::kLinear
                                      ? OverRounds(log_series, miss, of)
                                      : Redrawn(log_series, miss, of)};
  if (HasFewProcesses(log_series[0])) {
    const double layout = LayoutOf(figure.value, std::move(medians), reach, of);
    figure.interval.low -= layout;
    figure.interval.high += layout;
  }
  return figure;
}

Reading ReadingOf(const Json& labels, const Estimate& estimate, Json evidence) {
  return {.labels = labels,
          .value = estimate.value,
          .interval = estimate.interval,
          .evidence = std::move(evidence)};
}

Reading ReadingOf(const Json& labels, double value, Json evidence) {
  return {.labels = labels, .value = value, .evidence = std::move(evidence)};
}

Reading NoReading(const Json& labels, const std::string& why, Json evidence) {
  return {.labels = labels, .why = why, .evidence = std::move(evidence)};
}

}  // namespace attnbench
