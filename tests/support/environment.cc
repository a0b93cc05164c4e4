// Every test program computes as the program does: products on one thread, and
// kernels of the SIMD level that ATTNBENCH_SIMD names.
#include <gtest/gtest.h>

#include <cstdlib>

#include "mechanisms/common/blas_threads.h"
#include "mechanisms/kernels/kernels.h"

namespace {

class AsTheProgram final : public ::testing::Environment {
  void SetUp() override {
    attnbench::UseOneBlasThread();
    const char* const level = std::getenv("ATTNBENCH_SIMD");
    if (level != nullptr && *level != 0) attnbench::ForceSimdLevel(level);
  }
};
[[maybe_unused]] const auto* const kEnvironment =
    ::testing::AddGlobalTestEnvironment(new AsTheProgram);

}  // namespace
