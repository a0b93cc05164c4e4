// Hard monotonic attention with two heads as a registered mechanism, for
// tests/cli/newcomer_test.py.
#include "tests/support/two_heads.h"

#include "mechanisms/monotonic/monotonic.h"

namespace attnbench::two_heads {

template <class Real>
std::unique_ptr<const Mechanism<Real>> MakeMechanism() {
  return std::make_unique<testing::TwoHeads<Real>>(
      monotonic::MakeMechanism<Real>());
}
template std::unique_ptr<const Mechanism<float>> MakeMechanism();
template std::unique_ptr<const Mechanism<double>> MakeMechanism();

}  // namespace attnbench::two_heads
