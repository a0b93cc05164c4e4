// Prints how far the kernels err beside their bounds, at every SIMD level of
// this CPU and in both precisions (errors/search.h). Exit code 1: one errs by
// more. Examples:
//
//   build/release/kernel_errors >results/kernel_errors.txt
//   build/release/kernel_errors --quick
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "mechanisms/kernels/errors/search.h"

int main(int argc, char** argv) {
  using attnbench::kernel_errors::KernelError;
  const bool quick = argc == 2 && std::string(argv[1]) == "--quick";
  if (argc > 1 && !quick) {
    std::fprintf(stderr, "usage: kernel_errors [--quick]\n");
    return 2;
  }
  const attnbench::kernel_errors::SearchOptions options = {
      .effort = quick ? 0.05 : 1};
  std::vector<KernelError> errors, of_double;
  for (const std::string& level : attnbench::SimdLevels()) {
    const auto add = [&](auto& all, const auto& kernels) {
      std::ranges::move(SearchKernelErrors(kernels, level, options),
                        std::back_inserter(all));
    };
    add(errors, attnbench::KernelsAt<float>(level));
    add(of_double, attnbench::KernelsAt<double>(level));
  }
  std::ranges::move(of_double, std::back_inserter(errors));
  std::fputs(TableOf(errors).c_str(), stdout);
  bool passed = true;
  for (const KernelError& error : errors) passed = passed && error.passed();
  return passed ? 0 : 1;
}
