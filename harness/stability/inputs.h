// Makes the inputs of `attnbench stability`, and finds the variants that it
// compares: all that have the mode, found in the Description, so that a new
// variant, or mechanism, is measured without a line here.
//
// Families of p = sigmoid(e), chosen for what closed forms divide by:
//   uniform        p uniform in [0, 1)
//   recommended    e ~ N(-4, 1): the start r = -4 that others recommend
//   sharpness_S    e ~ S N(0, 1), S in 1, 2, 4, 8, 16; 8 is saturated: most p
//                  are near 0 or 1, and some are 1 in f32
// A mechanism that takes no p gets e = logit(p), or N(0, 1) for its K scores.
// All numbers are rounded to f32 first: both precisions see the same.
#ifndef ATTNBENCH_HARNESS_STABILITY_INPUTS_H_
#define ATTNBENCH_HARNESS_STABILITY_INPUTS_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/arrays.h"
#include "harness/stability/result.h"
#include "mechanisms/mechanism.h"

namespace attnbench {

// The names of the families; the three that are measured over T come first.
const std::vector<std::string>& StabilityFamilies();
inline constexpr std::size_t kMainFamilies = 3;

// One setting of the inputs of a mechanism.
struct StabilityPoint {
  std::string mechanism;
  std::string family;
  double chunk_energy_scale = 0;  // u ~ scale N(0, 1); 0: takes none
  Index memory_length = 1;        // T
  Index output_length = 1;        // U
};

// Tables by the names of the scores, and the cotangent of attention [U, T],
// uniform in [-1, 1). An element depends only on seed, draw, table and its
// indices, not on T and U: a longer memory begins with the shorter one.
using StabilityScores = std::map<std::string, Table<float>>;
StabilityScores DrawStabilityScores(const StabilityPoint& point,
                                    const Description& about,
                                    std::uint64_t seed, std::uint32_t draw);

// The scores in one precision, as a sequence.
template <class Real>
class StabilityInputs {
 public:
  explicit StabilityInputs(const StabilityScores& scores);
  StabilityInputs(const StabilityInputs&) = delete;
  StabilityInputs& operator=(const StabilityInputs&) = delete;

  Sequence<Real> sequence() const;
  MatrixView<const Real> cotangent() const { return View("cotangent"); }
  // The names of the scores.
  std::vector<std::string> names() const;
  // The table of that name; a view without data if there is none.
  MatrixView<const Real> View(const std::string& name) const;

 private:
  std::map<std::string, Table<Real>> tables_;
};

// A variant, with a preset if it takes one.
struct StabilitySubject {
  std::string variant;
  std::string preset;  // empty: the variant takes none
  Config config;       // complete, for this variant and preset
};

// The variants of a mechanism that have the mode, `exact` first and without the
// oracle; a variant that takes presets is there once for each. Empty if the
// mechanism lacks the mode, or cannot start from given scores.
std::vector<StabilitySubject> StabilitySubjects(const Description& about,
                                                Mode mode);

// What a preset, or a variant that was run without, stands for; null: nothing.
const PublishedForm* FindForm(const std::string& mechanism,
                              const std::string& name);
// What people call a variant, or the preset that it was run with: the toolkit
// in full, or else the names that it has in results.
std::string FormName(const std::string& mechanism, const std::string& variant,
                     const std::optional<std::string>& preset);

const std::vector<StabilityLimit>& StabilityLimits();
// Whether the subject is measured at this length.
bool IsMeasured(const StabilityPoint& point, const StabilitySubject& subject);

// Whether `score` is among those that it can start from.
bool TakesScore(const Description& about, const std::string& score);

// The tables that the mechanism takes, of all outputs or of the first.
inline constexpr Index kAllOutputs = std::numeric_limits<Index>::max();
StabilityScores ScoresOf(const Description& about,
                         const StabilityScores& scores,
                         Index outputs = kAllOutputs);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_STABILITY_INPUTS_H_
