#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/gap/processes.h"

namespace attnbench {
namespace {

using Vector = std::vector<double>;

// Follows every choice, output by output. Nothing here is shared with the
// decoder and the expectation, which are held to it.
class Enumeration {
 public:
  Enumeration(const ClosedLoop& loop, PathSums& sums)
      : loop_(loop), sums_(sums) {}

  // All paths from output i on, where the scan begins at `begin`; T: an output
  // before chose none.
  void Follow(Index i, Index begin, double weight, Vector state,
              const Vector& context) {
    if (i == loop_.num_outputs()) return;
    const MatrixView<const double> memory = loop_.memory();
    loop_.Advance(i, context, state);
    Vector energies(Size(memory.rows));
    loop_.Energies(state, energies);
    for (Index j = begin; j < memory.rows; ++j) {
      const double p = 1 / (1 + std::exp(-energies[Size(j)]));
      const auto h = memory.Row(j);
      Take({i, j, state, h, {}}, weight * p, j);
      weight *= 1 - p;
    }
    const Vector none(context.size());
    Take({i, memory.rows, state, none, {}}, weight, memory.rows);
  }

 private:
  void Take(PathStep step, double weight, Index begin) {
    Vector p(Size(loop_.vocabulary()));
    loop_.Probabilities(step.state, step.context, p);
    step.probabilities = p;
    sums_.AddStep(step, weight);
    Follow(step.output + 1, begin, weight,
           Vector(step.state.begin(), step.state.end()),
           Vector(step.context.begin(), step.context.end()));
  }

  const ClosedLoop& loop_;
  PathSums& sums_;
};

}  // namespace

PathSums EnumeratePaths(const ClosedLoop& loop) {
  PathSums sums(loop);
  sums.weight = 1;
  Vector state(Size(loop.state_size()));
  loop.FirstState(state);
  Enumeration(loop, sums)
      .Follow(0, 0, 1, state, Vector(Size(loop.memory().cols)));
  return sums;
}

}  // namespace attnbench
