#include "harness/model/lstm.h"

#include <algorithm>

#include "mechanisms/common/eigen_views.h"

namespace attnbench {
namespace {

template <class Real>
using ArrayMap = Eigen::Map<Eigen::Array<Real, Eigen::Dynamic, 1>>;

// The columns first .. first + count - 1.
template <class Real>
MatrixView<const Real> Columns(const MatrixView<const Real>& m, Index first,
                               Index count) {
  return {m.data + first, m.rows, count, m.row_stride};
}

}  // namespace

template <class Real>
LstmLayer<Real>::LstmLayer(const LstmWeights<Real>& weights, double forget_bias)
    : kernels_(BestKernels<Real>()),
      weights_(weights),
      units_(weights.units()),
      bias_(weights.b.data, weights.b.data + weights.b.cols) {
  ATTN_CHECK_EQ(weights.W.rows, 4 * units_);
  for (Index k = units_; k < 2 * units_; ++k) {
    bias_[Size(k)] += static_cast<Real>(forget_bias);
  }
}

template <class Real>
void LstmLayer<Real>::Step(const MatrixView<const Real>& joined,
                           const MatrixView<Real>& cells,
                           const MatrixView<Real>& outputs) {
  gates_.resize(Size(joined.rows * 4 * units_));
  const MatrixView<Real> gates(gates_.data(), joined.rows, 4 * units_);
  Map(gates).noalias() = Map(joined) * Map(weights_.W).transpose();
  for (Index r = 0; r < joined.rows; ++r) {
    Real* const row = gates.Row(r).data();
    kernels_.add(row, bias_.data(), 4 * units_, row);
    Activate(row, cells.Row(r).data(), outputs.Row(r).data());
  }
}

template <class Real>
void LstmLayer<Real>::Run(const MatrixView<const Real>& inputs, bool backwards,
                          const MatrixView<Real>& outputs,
                          std::span<Real> cell) {
  std::fill(cell.begin(), cell.end(), Real{0});
  const Index length = inputs.rows;
  if (length == 0) return;
  gates_.resize(Size(length * 4 * units_));
  const MatrixView<Real> gates(gates_.data(), length, 4 * units_);
  Map(gates).noalias() =
      Map(inputs) * Map(Columns(weights_.W, 0, weights_.inputs())).transpose();
  const auto recurrent = Map(Columns(weights_.W, weights_.inputs(), units_));
  const Real* last = nullptr;
  for (Index step = 0; step < length; ++step) {
    const Index t = backwards ? length - 1 - step : step;
    Real* const row = gates.Row(t).data();
    if (last != nullptr) {
      VectorMap<Real>(row, 4 * units_).noalias() +=
          recurrent * ConstVectorMap<Real>(last, units_);
    }
    kernels_.add(row, bias_.data(), 4 * units_, row);
    Activate(row, cell.data(), outputs.Row(t).data());
    last = outputs.Row(t).data();
  }
}

template <class Real>
void LstmLayer<Real>::Activate(Real* gates, Real* cell, Real* output) const {
  const Index H = units_;
  kernels_.sigmoid(gates, 2 * H, gates, nullptr);
  kernels_.sigmoid(gates + 3 * H, H, gates + 3 * H, nullptr);
  const ArrayMap<Real> i(gates, H), f(gates + H, H), g(gates + 2 * H, H),
      o(gates + 3 * H, H);
  ArrayMap<Real> c(cell, H), h(output, H);
  c = f * c + i * g.tanh();
  h = o * c.tanh();
}

template class LstmLayer<float>;
template class LstmLayer<double>;

}  // namespace attnbench
