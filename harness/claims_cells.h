// Cells of sweeps and of whole decoders, as quantities of claims read them:
// alone, or in pairs that were timed in the same rounds.
#ifndef ATTNBENCH_HARNESS_CLAIMS_CELLS_H_
#define ATTNBENCH_HARNESS_CLAIMS_CELLS_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/claims_document.h"
#include "harness/statistics.h"

namespace attnbench {

// A cell that a selector picked.
struct ClaimCell {
  const Json* cell = nullptr;  // of the document, which outlives this
  Json labels = {};            // mechanism, axes, "options.NAME"
  Json evidence = {};
  std::string why = {};  // it has no numbers; empty: it has
};

// Those of the document's cells that match, but for skipped ones: what cannot
// be measured at all is no reading. `none` becomes the reason where there is
// none.
std::vector<ClaimCell> CellsOf(const ClaimDocument& document,
                               const Json& selector, std::string& none);

// Two cells of one point, whose axes agree where neither selector names them;
// one that a mechanism does not declare agrees with anything.
struct ClaimPair {
  ClaimCell of, to;
  // Those of `of`, and where it has none those of `to`; the mechanism is that
  // of `to` where its selector has several.
  Json labels;
  Json evidence;
  std::string why = {};
};
std::vector<ClaimPair> PairsOf(const ClaimDocument& document,
                               const Json& quantity, std::string& none);

// A list of samples of a cell, by process.
ProcessSamples SamplesOf(const Json& cell, const char* list = "samples_ns");

// `of` over `to`, logarithms by process and round.
ProcessSamples LogRatiosOf(const ClaimPair& pair,
                           const char* list = "samples_ns");

// Of logarithms of times (kOfTime) or of ratios (kOfRatio) the centre with its
// interval, as wide as what the processes that are not there would have shown:
// with few of them (HasFewProcesses) layout moves a ratio by kLayoutFactor at
// most, and each of its two times by half of that.
enum class LayoutReach { kOfTime, kOfRatio };
Estimate CenterWithLayout(const ProcessSamples& logs, double miss,
                          LayoutReach reach);

// A figure of several series of logarithms, that of their medians. `of` takes
// one number of each series.
//
// Its interval, where the figure is linear: series of different points share no
// rounds, and which of them are put together is arbitrary, but any choice
// estimates the same, so the figure is made anew in each round, and Center has
// the interval of these. Where it is not (a correlation, a fit), the figure of
// single rounds is another one than that of medians: the centre of each series
// is drawn again by itself (RedrawnCenter), and the interval has what lies
// between the quantiles of the figures of these.
//
// With few processes it is wider by what layout could do: the sum of what the
// figure moves by when each series is moved alone, as CenterWithLayout does.
// The series have equal shapes.
enum class FigureKind { kLinear, kNotLinear };
using FigureOfSeries = std::function<double(std::span<const double>)>;
Estimate FigureOf(const std::vector<ProcessSamples>& log_series, double miss,
                  LayoutReach reach, FigureKind kind, const FigureOfSeries& of);

// Whether all series have equally many processes and rounds.
bool HaveEqualShapes(const std::vector<ProcessSamples>& series);

// The level of one of `count` intervals that a part has.
inline double MissOfOne(std::size_t count) {
  return kMiss / static_cast<double>(count);
}

Reading ReadingOf(const Json& labels, const Estimate& estimate, Json evidence);
Reading ReadingOf(const Json& labels, double value, Json evidence);
Reading NoReading(const Json& labels, const std::string& why, Json evidence);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CLAIMS_CELLS_H_
