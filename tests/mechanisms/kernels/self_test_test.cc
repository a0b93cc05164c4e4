// Guards against wrong numbers on a CPU that no test has run on: Arm's SVE of
// 512 bits once gave zeros for entries 8 to 11 of 12, and exit code 0. The
// self-test of kernels has to see that, in every kernel, and nothing else.
#include "mechanisms/kernels/self_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "tests/support/kernel_arrays.h"

namespace attnbench::testing {
namespace {

template <class Real>
class SelfTest : public ::testing::Test {};
TYPED_TEST_SUITE(SelfTest, Precisions, );

// What the self-test says of a table at level TRIED; empty if it is right.
template <class Real>
std::string Complaint(const Kernels<Real>& kernels) {
  try {
    CheckKernels(kernels, "TRIED");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

template <class Real>
std::string Named(const std::string& kernel) {
  return "SIMD level TRIED: kernel " + kernel +
         " gives wrong numbers on this CPU, in " +
         (sizeof(Real) == sizeof(float) ? "f32" : "f64");
}

TYPED_TEST(SelfTest, EveryLevelOfThisMachineIsRight) {
  for (const std::string& level : SimdLevels()) {
    EXPECT_EQ(Complaint(KernelsAt<TypeParam>(level)), "") << level;
  }
  EXPECT_NO_THROW(CheckBestKernels());
}

// Puts a kernel that writes nothing in the place of one.
template <class Result, class... Arguments>
void TakeOut(Result (*&kernel)(Arguments...)) {
  kernel = [](Arguments...) -> Result { return Result(); };
}

TYPED_TEST(SelfTest, AKernelThatWritesNothingIsNamed) {
  using Table = Kernels<TypeParam>;
#define ATTNBENCH_KERNEL(name)                        \
  {                                                   \
#name, [](Table & table) { TakeOut(table.name); } \
  }
  const std::pair<std::string, std::function<void(Table&)>> kernels[] = {
      ATTNBENCH_KERNEL(dot_rows),
      ATTNBENCH_KERNEL(additive_rows),
      ATTNBENCH_KERNEL(additive_backward),
      ATTNBENCH_KERNEL(exp_twice),
      ATTNBENCH_KERNEL(factored_additive_rows),
      ATTNBENCH_KERNEL(factored_additive_backward),
      ATTNBENCH_KERNEL(add_rows),
      ATTNBENCH_KERNEL(scale),
      ATTNBENCH_KERNEL(add),
      ATTNBENCH_KERNEL(multiply),
      ATTNBENCH_KERNEL(largest),
      ATTNBENCH_KERNEL(range),
      ATTNBENCH_KERNEL(exp_sum),
      ATTNBENCH_KERNEL(exp_scaled),
      ATTNBENCH_KERNEL(softmax_backward),
      ATTNBENCH_KERNEL(sigmoid),
      ATTNBENCH_KERNEL(select_rows),
      ATTNBENCH_KERNEL(select_rows_backward),
      ATTNBENCH_KERNEL(sums_from),
      ATTNBENCH_KERNEL(ratios_up_to),
      ATTNBENCH_KERNEL(windows_backward),
      ATTNBENCH_KERNEL(reciprocal_sums),
      ATTNBENCH_KERNEL(reciprocal_moments),
      ATTNBENCH_KERNEL(cauchy_sums),
      ATTNBENCH_KERNEL(cauchy_moments),
      ATTNBENCH_KERNEL(adaptive_blocks),
      ATTNBENCH_KERNEL(adaptive_blocks_backward)};
#undef ATTNBENCH_KERNEL
  // The table has nothing else but its lanes.
  static_assert(sizeof(Table) == (std::size(kernels) + 1) * sizeof(void*));
  for (const auto& [name, take_out] : kernels) {
    Table table = BestKernels<TypeParam>();
    take_out(table);
    EXPECT_EQ(Complaint(table), Named<TypeParam>(name));
  }
}

// As SVE did: the first vector is right, what follows is not.
TYPED_TEST(SelfTest, ZerosAfterTheFirstVectorAreSeen) {
  using Real = TypeParam;
  Kernels<Real> table = BestKernels<Real>();
  table.sums_from = [](const Real* x, const Real* factors, Index count,
                       Index width, Real* scratch, Real* products) {
    BestKernels<Real>().sums_from(x, factors, count, width, scratch, products);
    const Index lanes = BestKernels<Real>().lanes;
    std::fill(products + std::min(lanes, count), products + count, Real{0});
  };
  EXPECT_EQ(Complaint(table), Named<Real>("sums_from"));
}

TYPED_TEST(SelfTest, LanesInAnotherOrderAreSeen) {
  using Real = TypeParam;
  Kernels<Real> table = BestKernels<Real>();
  table.multiply = [](const Real* x, const Real* y, Index count, Real* z) {
    BestKernels<Real>().multiply(x, y, count, z);
    if (count > 1) std::swap(z[count - 1], z[count - 2]);
  };
  EXPECT_EQ(Complaint(table), Named<Real>("multiply"));
}

TYPED_TEST(SelfTest, AResultThatIsNotANumberIsSeen) {
  using Real = TypeParam;
  Kernels<Real> table = BestKernels<Real>();
  table.largest = [](const Real*, Index) { return kNaN<Real>; };
  EXPECT_EQ(Complaint(table), Named<Real>("largest"));
}

}  // namespace
}  // namespace attnbench::testing
