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

// A figure that is made of several series, anew in each round, and its centre
// over them: series of different points share no rounds, and which of them are
// put together is arbitrary, but any choice estimates the same. The series have
// equal shapes.
Estimate OverRounds(const std::vector<ProcessSamples>& series, double miss,
                    const std::function<double(std::span<const double>)>& of);

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
