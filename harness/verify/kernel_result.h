// The result document of kind "kernel_errors", which `attnbench verify
// --kernels` makes. results/schema/kernel_errors.schema.json is made from it.
#ifndef ATTNBENCH_HARNESS_VERIFY_KERNEL_RESULT_H_
#define ATTNBENCH_HARNESS_VERIFY_KERNEL_RESULT_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/document.h"
#include "harness/base/precision.h"
#include "harness/machine/context.h"
#include "harness/results/sweep_result.h"
#include "harness/verify/result.h"

namespace attnbench {

// The families of inputs, and their names in this order.
enum class KernelFamily { kRandom, kCancelling, kSaturated, kAdversarial };
inline const std::vector<std::string> kKernelFamilies = {
    "random", "cancelling", "saturated", "adversarial"};

// What one kernel makes of one family of inputs, at one SIMD level.
struct KernelError {
  std::string kernel = {}, what = {};
  Precision precision = Precision::kF32;
  std::string level = {}, family = {}, unit = {};
  // Unset where it is not finite.
  std::optional<double> error = {};
  double bound = 1;
  std::int64_t inputs = 1;
  std::string verdict = {};

  static void Fields(auto& self, auto& visit) {
    visit("kernel", self.kernel,
          Rule{.description = "its name in mechanisms/kernels/kernels.h",
               .not_empty = true});
    visit("what", self.what,
          Rule{.description = "which of its results", .not_empty = true});
    visit("precision", self.precision);
    visit("level", self.level,
          Rule{.description = "the SIMD level", .not_empty = true});
    visit("family", self.family,
          Rule{.description = "of the inputs; adversarial ones are searched "
                              "for",
               .one_of = kKernelFamilies});
    visit("unit", self.unit,
          Rule{.description = "of error and bound; u is half the machine "
                              "epsilon of the precision",
               .not_empty = true});
    visit("error", self.error,
          Rule{.description = "against the scalar loop in long double, where "
                              "it is largest beside its bound; null where it "
                              "is not finite",
               .minimum = 0});
    visit("bound", self.bound,
          Rule{.description = "what kernels.h promises for that input",
               .exclusive_minimum = 0});
    visit("inputs", self.inputs, kAtLeastOne);
    visit("verdict", self.verdict, kVerdict);
  }
};

struct KernelErrorsResult {
  static constexpr char kTitle[] = "Result of attnbench verify --kernels";

  int schema_version = kSchemaVersion;
  std::string kind = "kernel_errors";
  Context context = {};
  bool quick = false;
  std::string verdict = {};
  std::vector<KernelError> rows = {};

  static void Fields(auto& self, auto& visit) {
    visit("schema_version", self.schema_version, kThisSchemaVersion);
    visit("kind", self.kind, Rule{.one_of = {"kernel_errors"}});
    visit("context", self.context);
    visit("quick", self.quick,
          Rule{.description = "whether the search was a short one"});
    visit("verdict", self.verdict, kVerdict);
    visit("rows", self.rows, Rule{.min_items = 1});
  }
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_VERIFY_KERNEL_RESULT_H_
