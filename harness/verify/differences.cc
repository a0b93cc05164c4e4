#include "harness/verify/differences.h"

#include "harness/stats/central_difference.h"

namespace attnbench {

void CompareWithDifferences(VerifySubject& subject, const Trained& trained,
                            const std::function<double()>& loss,
                            std::vector<Quantity>& quantities) {
  for (const auto& [name, gradient] : trained.gradients) {
    quantities.push_back(
        Quantity::Exact("gradient of " + name, kDifferenceTolerance));
    Table<double>& input = subject.inputs().arrays().at(name);
    for (std::size_t n = 0; n < input.values.size(); ++n) {
      const auto place = static_cast<Index>(n);
      quantities.back().CompareExact(
          place / input.cols, place % input.cols, gradient.values[n],
          CentralDifference(input.values[n], kDifferenceStep, loss));
    }
  }
}

}  // namespace attnbench
