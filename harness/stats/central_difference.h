// The numerical derivative that gradients are compared with, in `attnbench
// verify` and in tests.
#ifndef ATTNBENCH_HARNESS_STATS_CENTRAL_DIFFERENCE_H_
#define ATTNBENCH_HARNESS_STATS_CENTRAL_DIFFERENCE_H_

namespace attnbench {

// (loss at x + step - loss at x - step) / (2 step), where loss() reads x. Its
// error is step^2 / 6 times the third derivative, and rounding of loss / step.
// x is then what it was.
template <class Loss>
double CentralDifference(double& x, double step, const Loss& loss) {
  const double kept = x;
  x = kept + step;
  const double above = loss();
  x = kept - step;
  const double below = loss();
  x = kept;
  return (above - below) / (2 * step);
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_STATS_CENTRAL_DIFFERENCE_H_
