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

// Runs Expect of a subject, or Gradient (of `only` some scores, see Gradients)
// if its config has that mode. Tables are of the shape of the cotangent, or,
// where there is none, of any score.
template <class Real>
Expected<Real> Evaluate(const std::string& name_of_mechanism,
                        const Config& config, const StabilityScores& scores,
                        std::span<const ScorePlace> only = {}) {
  const Mechanism<Real>& mechanism = *FindMechanism<Real>(name_of_mechanism);
  const StabilityInputs<Real> inputs(scores);
  const auto cotangent = scores.find("cotangent");
  const Table<float>& like =
      cotangent == scores.end() ? scores.begin()->second : cotangent->second;
  Expected<Real> out;
  Expectation<Real> views;
  out.attention = Table<Real>(like.rows, like.cols);
  views.attention = out.attention.view();
  if (ChoosesAtRandom(mechanism.Describe())) {
    out.selection = out.attention;
    views.selection = out.selection.view();
  }
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
  Cotangent<Real> of_attention;
  of_attention.attention = inputs.cotangent();
  mechanism.Gradient(config, inputs.sequence(), of_attention, views, gradients);
  return out;
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_STABILITY_EVALUATE_H_
