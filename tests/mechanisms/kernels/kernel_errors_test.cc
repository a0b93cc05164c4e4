// Guards against a kernel that errs beyond its bound and passes, against a
// bound that no kernel keeps, and against a search that finds nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "mechanisms/kernels/errors/search.h"
#include "tests/support/kernel_arrays.h"

namespace attnbench::testing {
namespace {

using kernel_errors::KernelError;

template <class Real>
std::vector<KernelError> Errors(const Kernels<Real>& kernels,
                                double effort = 0.01) {
  return kernel_errors::SearchKernelErrors(kernels, "none", {.effort = effort});
}

std::set<std::string> FailedKernels(const std::vector<KernelError>& errors) {
  std::set<std::string> failed;
  for (const KernelError& error : errors) {
    if (!error.passed()) failed.insert(error.kernel);
  }
  return failed;
}

template <class Real>
class KernelErrorsTest : public ::testing::Test {};
TYPED_TEST_SUITE(KernelErrorsTest, Precisions);

// Ordinary numbers, and those that cancel.
TYPED_TEST(KernelErrorsTest, EveryKernelKeepsItsBoundsAtEveryLength) {
  using Real = TypeParam;
  kernel_errors::Random random(1);
  for (const auto& subject : kernel_errors::AllSubjects<Real>()) {
    for (const Index length : Lengths()) {
      if (length == 0) continue;
      SCOPED_TRACE(subject.kernel + " length " + std::to_string(length));
      KernelInput<Real> in;
      for (const auto& range : subject.ranges(length)) {
        for (Real& value : in.emplace_back(Size(range.size))) {
          value = static_cast<Real>(random.Uniform(range.low, range.high));
        }
      }
      subject.MakeValid(length, in);
      ExpectWithinBounds(subject.kernel, in);
      subject.cancel(random, in);
      subject.MakeValid(length, in);
      ExpectWithinBounds(subject.kernel, in);
    }
  }
}

TYPED_TEST(KernelErrorsTest, EveryKernelKeepsItsBoundsInEveryFamily) {
  using Real = TypeParam;
  std::set<std::string> kernels, families;
  const std::vector<KernelError> errors = Errors(BestKernels<Real>());
  for (const KernelError& error : errors) {
    kernels.insert(error.kernel);
    families.insert(error.family);
    EXPECT_TRUE(error.passed())
        << error.kernel << ", " << error.result.what << ", " << error.family
        << ": " << error.worst.error << " of " << error.worst.bound;
  }
  EXPECT_EQ(kernels.size(), 17U);
  EXPECT_EQ(families.size(), 4U);
  EXPECT_EQ(TableOf(errors), TableOf(Errors(BestKernels<Real>())));
}

// One errs by little more than its bound, one by an entry of each window, one
// in a single number, and one writes beyond its array.
TEST(KernelErrors, AWrongKernelFailsAndNoOther) {
  Kernels<float> wrong = BestKernels<float>();
  wrong.sigmoid = [](const float* x, Index count, float* y, float* complement) {
    BestKernels<float>().sigmoid(x, count, y, complement);
    for (Index n = 0; n < count; ++n) y[n] *= 1 + 0x1p-21f;
  };
  wrong.sums_from = [](const float* x, const float* factors, Index count,
                       Index width, float* scratch, float* sums) {
    BestKernels<float>().sums_from(x, factors, count, width - 1, scratch, sums);
  };
  wrong.cauchy_sums = [](const float* x, const float* a, Index rows,
                         const float* y, const float* b, Index count,
                         float* row_sums, float* column_sums) {
    BestKernels<float>().cauchy_sums(x, a, rows, y, b, count, row_sums,
                                     column_sums);
    column_sums[count - 1] = std::numeric_limits<float>::quiet_NaN();
  };
  wrong.softmax_backward = [](const float* alpha, const float* d_alpha,
                              Index count, float* d_energies) {
    BestKernels<float>().softmax_backward(alpha, d_alpha, count, d_energies);
    d_energies[count] = 0;
  };
  const std::vector<KernelError> errors = Errors(wrong);
  EXPECT_EQ(FailedKernels(errors),
            (std::set<std::string>{"sigmoid", "sums_from", "cauchy_sums",
                                   "softmax_backward"}));
  for (const KernelError& error : errors) {
    const bool is_nan =
        error.result.what == "column sums" && error.kernel == "cauchy_sums";
    EXPECT_EQ(std::isfinite(error.worst.error),
              !is_nan && error.kernel != "softmax_backward")
        << error.kernel << error.result.what;
  }
  EXPECT_NE(TableOf(errors).find(" FAILED\n"), std::string::npos);
}

// Errors grow towards one number, which the other families hardly meet.
TEST(KernelErrors, TheSearchGoesWhereErrorsGrow) {
  Kernels<double> wrong = BestKernels<double>();
  wrong.exp_twice = [](const double* x, double limit, Index count, double* e) {
    const std::vector<double> copy(x, x + count);
    BestKernels<double>().exp_twice(x, limit, count, e);
    for (Index n = 0; n < count; ++n) {
      e[n] *= 1 + 4e-15 / (1 + 3000 * std::abs(copy[Size(n)] - 0.7));
    }
  };
  std::size_t seen = 0;
  for (const KernelError& error : Errors(wrong, 0.2)) {
    if (error.kernel != "exp_twice") continue;
    ++seen;
    EXPECT_EQ(error.passed(), error.family != "adversarial")
        << error.family << ": " << error.worst.error;
  }
  EXPECT_EQ(seen, 4U);
}

}  // namespace
}  // namespace attnbench::testing
