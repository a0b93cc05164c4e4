// Guards against a kernel that errs beyond its bound and passes, against a
// bound that no kernel keeps, and against rows that depend on threads.
#include "harness/verify/kernel_errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "harness/machine/environment.h"
#include "mechanisms/common/array.h"
#include "tests/support/schema.h"

namespace attnbench {
namespace {

KernelErrorOptions Short(int threads = 1) {
  return {.threads = threads, .effort = 0.01, .levels = {SimdName()}};
}

std::vector<KernelError> MeasureShortly(int threads = 1) {
  return MeasureKernelErrors(Short(threads), [](std::size_t, std::size_t) {});
}

std::set<std::string> FailedKernels(const std::vector<KernelError>& rows) {
  std::set<std::string> failed;
  for (const KernelError& row : rows) {
    if (row.verdict != "passed") failed.insert(row.kernel);
  }
  return failed;
}

TEST(KernelErrors, EveryKernelKeepsItsBoundInEveryFamily) {
  const std::vector<KernelError> rows = MeasureShortly();
  std::set<std::string> kernels, families;
  for (const KernelError& row : rows) {
    kernels.insert(row.kernel);
    families.insert(row.family);
    EXPECT_EQ(row.verdict, "passed")
        << row.kernel << ", " << row.what << ", " << NameOf(row.precision)
        << ", " << row.family << ": " << row.error.value_or(-1) << " of "
        << row.bound;
  }
  EXPECT_EQ(kernels.size(), 17U);
  EXPECT_EQ(families.size(), kKernelFamilies.size());
}

// One errs by little more than its bound, one by an entry of each window, and
// one in a single number.
TEST(KernelErrors, AWrongKernelFailsAndNoOther) {
  const Kernels<float>& right = BestKernels<float>();
  Kernels<float> wrong = right;
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
  const std::vector<KernelError> rows = MeasureTable(wrong, "none", Short());
  EXPECT_EQ(FailedKernels(rows),
            (std::set<std::string>{"sigmoid", "sums_from", "cauchy_sums"}));
  for (const KernelError& row : rows) {
    const bool is_nan =
        row.kernel == "cauchy_sums" && row.what == "column sums";
    EXPECT_EQ(row.error.has_value(), !is_nan) << row.kernel << row.what;
  }
  EXPECT_TRUE(FailedKernels(MeasureTable(right, "none", Short())).empty());
}

// Errors grow towards one number, which the other families hardly meet.
TEST(KernelErrors, TheSearchGoesWhereErrorsGrow) {
  Kernels<double> wrong = BestKernels<double>();
  wrong.exp_twice = [](const double* x, double limit, Index count, double* e) {
    const std::vector<double> copy(x, x + count);
    BestKernels<double>().exp_twice(x, limit, count, e);
    for (Index n = 0; n < count; ++n) {
      e[n] *= 1 + 4e-15 / (1 + 1000 * std::abs(copy[Size(n)] - 0.7));
    }
  };
  KernelErrorOptions options = Short();
  options.effort = 0.2;
  std::size_t seen = 0;
  for (const KernelError& row : MeasureTable(wrong, "none", options)) {
    if (row.kernel != "exp_twice") continue;
    ++seen;
    EXPECT_EQ(row.verdict, row.family == "adversarial" ? "failed" : "passed")
        << row.family << ": " << row.error.value_or(-1);
  }
  EXPECT_EQ(seen, kKernelFamilies.size());
}

Json DocumentOf(const std::vector<KernelError>& rows) {
  KernelErrorsResult result = {
      .context = MakeContext("x", 1), .verdict = "passed", .rows = rows};
  return ToJson(result);
}

TEST(KernelErrors, RowsDoNotDependOnThreadsAndAreAsTheSchemaSays) {
  const Json one = DocumentOf(MeasureShortly(1)),
             two = DocumentOf(MeasureShortly(2));
  EXPECT_EQ(one["rows"], two["rows"]);
  EXPECT_TRUE(testing::Validates(testing::SchemaOf("kernel_errors"), one));
  Json wrong = one;
  wrong["rows"][0]["family"] = "lucky";
  EXPECT_FALSE(testing::Validates(testing::SchemaOf("kernel_errors"), wrong));
}

TEST(KernelErrors, TheCommittedSchemaIsWhatTheProgramMakes) {
  EXPECT_EQ(testing::SchemaOf("kernel_errors"),
            nlohmann::json::parse(SchemaTextOf<KernelErrorsResult>()))
      << "write it again: attnbench list --schema=kernel_errors";
}

}  // namespace
}  // namespace attnbench
