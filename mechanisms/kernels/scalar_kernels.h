// The kernels as plain loops, in the order of their formulas: the oracle of the
// kernels' tests, there in long double, and what their speed is quoted against.
#ifndef ATTNBENCH_MECHANISMS_KERNELS_SCALAR_KERNELS_H_
#define ATTNBENCH_MECHANISMS_KERNELS_SCALAR_KERNELS_H_

#include "mechanisms/kernels/kernels.h"

namespace attnbench {

// They are compiled without vectorisation. Real may be long double.
template <class Real>
const Kernels<Real>& ScalarKernels();

// This is the same source with what vectorisation the compiler finds.
template <class Real>
const Kernels<Real>& CompilerKernels();

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_KERNELS_SCALAR_KERNELS_H_
