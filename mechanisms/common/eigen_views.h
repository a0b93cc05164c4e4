// Gives Eigen's matrices over our views, rows strided or not, for matrix
// products, which run on OpenBLAS. Nothing here allocates.
#ifndef ATTNBENCH_MECHANISMS_COMMON_EIGEN_VIEWS_H_
#define ATTNBENCH_MECHANISMS_COMMON_EIGEN_VIEWS_H_

#include <Eigen/Core>

#include "mechanisms/common/array.h"

namespace attnbench {

template <class Real>
using RowMajor =
    Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class Real>
using ConstMatrixMap =
    Eigen::Map<const RowMajor<Real>, 0, Eigen::OuterStride<>>;
template <class Real>
using MatrixMap = Eigen::Map<RowMajor<Real>, 0, Eigen::OuterStride<>>;
template <class Real>
using ConstVectorMap = Eigen::Map<const Eigen::Matrix<Real, Eigen::Dynamic, 1>>;
template <class Real>
using VectorMap = Eigen::Map<Eigen::Matrix<Real, Eigen::Dynamic, 1>>;

template <class Real>
ConstMatrixMap<Real> Map(const MatrixView<const Real>& m) {
  return {m.data, m.rows, m.cols, Eigen::OuterStride<>(m.row_stride)};
}

template <class Real>
MatrixMap<Real> Map(const MatrixView<Real>& m) {
  return {m.data, m.rows, m.cols, Eigen::OuterStride<>(m.row_stride)};
}

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_COMMON_EIGEN_VIEWS_H_
