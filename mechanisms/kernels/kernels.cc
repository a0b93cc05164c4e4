#include "mechanisms/kernels/kernels.h"

#include "mechanisms/kernels/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mechanisms/kernels/kernels.cc"
// foreach_target.h must come before highway.h.
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "mechanisms/kernels/adaptive-inl.h"
#include "mechanisms/kernels/cauchy-inl.h"
#include "mechanisms/kernels/elements-inl.h"
#include "mechanisms/kernels/rows-inl.h"
#include "mechanisms/kernels/scan-inl.h"
#include "mechanisms/kernels/sums-inl.h"
#include "mechanisms/kernels/windows-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace attnbench::HWY_NAMESPACE {
namespace {

template <class Real>
const Kernels<Real>* Table() {
  static constexpr Kernels<Real> table = {
      .lanes = static_cast<Index>(hn::MaxLanes(hn::ScalableTag<Real>())),
      .dot_rows = &DotRows<Real>,
      .additive_rows = &AdditiveRows<Real>,
      .additive_backward = &AdditiveBackward<Real>,
      .exp_twice = &ExpTwice<Real>,
      .factored_additive_rows = &FactoredAdditiveRows<Real>,
      .factored_additive_backward = &FactoredAdditiveBackward<Real>,
      .add_rows = &AddRows<Real>,
      .scale = &Scale<Real>,
      .add = &Add<Real>,
      .multiply = &Multiply<Real>,
      .largest = &Largest<Real>,
      .range = &Range<Real>,
      .exp_sum = &ExpSum<Real>,
      .exp_scaled = &ExpScaled<Real>,
      .softmax_backward = &SoftmaxBackward<Real>,
      .sigmoid = &Sigmoid<Real>,
      .select_rows = &SelectRows<Real>,
      .select_rows_backward = &SelectRowsBackward<Real>,
      .sums_from = &SumsFrom<Real>,
      .ratios_up_to = &RatiosUpTo<Real>,
      .windows_backward = &WindowsBackward<Real>,
      .reciprocal_sums = &ReciprocalSums<Real>,
      .reciprocal_moments = &ReciprocalMoments<Real>,
      .cauchy_sums = &CauchySums<Real>,
      .cauchy_moments = &CauchyMoments<Real>,
      .adaptive_blocks = &AdaptiveBlocks<Real>,
      .adaptive_blocks_backward = &AdaptiveBlocksBackward<Real>};
  return &table;
}

// HWY_EXPORT takes functions, not templates.
const Kernels<float>* SingleTable() { return Table<float>(); }
const Kernels<double>* DoubleTable() { return Table<double>(); }

}  // namespace
}  // namespace attnbench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnbench {
namespace {

HWY_EXPORT(SingleTable);
HWY_EXPORT(DoubleTable);

template <class Real>
const Kernels<Real>& DispatchedTable() {
  if constexpr (sizeof(Real) == sizeof(float)) {
    return *HWY_DYNAMIC_DISPATCH(SingleTable)();
  } else {
    return *HWY_DYNAMIC_DISPATCH(DoubleTable)();
  }
}

}  // namespace

template <class Real>
const Kernels<Real>& BestKernels() {
  static const Kernels<Real>& best = [&]() -> const Kernels<Real>& {
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return DispatchedTable<Real>();
  }();
  return best;
}

std::vector<std::string> SimdLevels() {
  std::vector<std::string> names;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    names.emplace_back(hwy::TargetName(target));
  }
  return names;
}

template <class Real>
const Kernels<Real>& KernelsAt(const std::string& level) {
  BestKernels<Real>();  // chosen before the view is narrowed
  return AtLevel(level, &DispatchedTable<Real>);
}

std::string SimdName() { return SimdLevels().front(); }

void ForceSimdLevel(const std::string& level) {
  RestrictTargets(TargetOf(level));
}

template const Kernels<float>& BestKernels();
template const Kernels<double>& BestKernels();
template const Kernels<float>& KernelsAt(const std::string&);
template const Kernels<double>& KernelsAt(const std::string&);

}  // namespace attnbench
#endif  // HWY_ONCE
