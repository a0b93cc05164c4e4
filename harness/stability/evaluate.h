// Computes what a subject of `attnbench stability` or `diagnose` makes of given
// scores.
#ifndef ATTNBENCH_HARNESS_STABILITY_EVALUATE_H_
#define ATTNBENCH_HARNESS_STABILITY_EVALUATE_H_

#include <map>
#include <span>
#include <string>

#include "harness/stability/inputs.h"
#include "mechanisms/registry.h"
#include "mechanisms/sample.h"

namespace attnbench {

template <class Real>
struct Expected {
  Table<Real> attention;  // [U, T]
  Table<Real> selection;  // [U, T], if the mechanism chooses
  std::map<std::string, Table<Real>> gradients;  // the key is the score
};

template <class Real>
Expectation<Real> MakeTables(const StabilityPoint& point, bool selects,
                             Expected<Real>& out) {
  const Index U = point.output_length;
  const Index T = point.memory_length;
  out.attention = Table<Real>(U, T);
  Expectation<Real> views;
  views.attention = out.attention.view();
  if (selects) {
    out.selection = Table<Real>(U, T);
    views.selection = out.selection.view();
  }
  return views;
}

// Runs Expect of a subject, or Gradient (of `only` some scores, see Gradients)
// if its config has that mode.
template <class Real>
Expected<Real> Evaluate(const StabilityPoint& point, const Config& config,
                        const StabilityScores& scores,
                        std::span<const ScorePlace> only = {}) {
  const Mechanism<Real>& mechanism = *FindMechanism<Real>(point.mechanism);
  const StabilityInputs<Real> inputs(scores);
  Expected<Real> out;
  const Expectation<Real> views =
      MakeTables(point, ChoosesAtRandom(mechanism.Describe()), out);
  if (config.mode == Mode::kExpect) {
    mechanism.Expect(config, inputs.sequence(), views);
    return out;
  }
  Gradients<Real> gradients;
  gradients.only = only;
  for (const std::string& name : inputs.names()) {
    const MatrixView<const Real> score = inputs.View(name);
    Table<Real>& gradient = out.gradients[name];
    gradient = Table<Real>(score.rows, score.cols);
    gradients.scores.Set(name, gradient.view());
  }
  Cotangent<Real> cotangent;
  cotangent.attention = inputs.cotangent();
  mechanism.Gradient(config, inputs.sequence(), cotangent, views, gradients);
  return out;
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_STABILITY_EVALUATE_H_
