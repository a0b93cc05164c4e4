// Times the kernels by themselves, at every SIMD level and as plain loops, on
// Google Benchmark. Times are per element: a pair of memory entry and
// dimension, an entry of a row, or a pair of entries. Working sets fit the
// second-level cache. Examples:
//
//   build/release/kernel_benchmarks --benchmark_filter=select_rows/
//   build/release/kernel_benchmarks --benchmark_filter='dot_rows.*/f32'
#include <benchmark/benchmark.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "mechanisms/common/array.h"
#include "mechanisms/kernels/scalar_kernels.h"

namespace attnbench {
namespace {

constexpr Index kDim = 256;
constexpr Index kRows = 64;
constexpr Index kLength = 2048;
constexpr Index kPairs = 256;

// Inputs and outputs of all kernels.
template <class Real>
struct Arrays {
  Arrays() {
    std::mt19937 generator(1);
    std::uniform_real_distribution<double> uniform(0.01, 0.99);
    for (std::vector<Real>* array : {&rows, &x, &y, &z}) {
      for (Real& value : *array) value = static_cast<Real>(uniform(generator));
    }
    std::partial_sum(x.begin(), x.end(), std::back_inserter(sums));
  }
  std::vector<Real> rows = std::vector<Real>(Size(kRows * kDim));
  std::vector<Real> d_rows = rows;
  std::vector<Real> sums;  // in rising order
  std::vector<double> passed = std::vector<double>(Size(kLength), 0.5);
  std::vector<Real> x = std::vector<Real>(Size(kLength));
  std::vector<Real> y = x, z = x, out = x, other = x;
  std::vector<Carry<Real>> carried = std::vector<Carry<Real>>(Size(kLength));
  std::vector<Real> scratch = std::vector<Real>(Size(kLength + 1));
  std::vector<Carry<Real>> d_alpha = std::vector<Carry<Real>>(rows.size());
  Buffer<double> wide_scratch;
};

template <class Real>
void Register(const std::string& kernel, const std::string& level,
              double elements,
              std::function<void(const Kernels<Real>&, Arrays<Real>&)> run,
              const Kernels<Real>& kernels) {
  const std::string name =
      kernel + (sizeof(Real) == 4 ? "/f32/" : "/f64/") + level;
  benchmark::RegisterBenchmark(
      name.c_str(),
      [elements, run = std::move(run), &kernels](benchmark::State& state) {
        Arrays<Real> arrays;
        for (auto _ : state) {
          run(kernels, arrays);
          benchmark::ClobberMemory();
        }
        state.counters["per_element"] = benchmark::Counter(
            elements, benchmark::Counter::kIsIterationInvariantRate |
                          benchmark::Counter::kInvert);
      });
}

template <class Add>
void AddWindows(const Add& add, Index width) {
  add("sums_from_" + std::to_string(width), kLength,
      [width](const auto& k, auto& a) {
        k.sums_from(a.x.data(), a.y.data(), kLength, width, a.scratch.data(),
                    a.out.data());
      });
  add("ratios_up_to_" + std::to_string(width), kLength,
      [width](const auto& k, auto& a) {
        k.ratios_up_to(a.x.data(), a.y.data(), kLength, width, a.scratch.data(),
                       a.out.data());
      });
  add("windows_backward_" + std::to_string(width), kRows * kDim,
      [width](const auto& k, auto& a) {
        constexpr int kPowers[kRows] = {};
        a.wide_scratch.resize(Size(WindowsBackwardScratch(width, kDim)));
        k.windows_backward(a.rows.data(), kDim, kPowers, a.rows.data(), kDim,
                           a.rows.data(), kDim, kRows, kDim, width,
                           a.wide_scratch.data(), a.d_alpha.data(), kDim,
                           a.d_rows.data(), kDim);
      });
}

template <class Add>
void AddEnergies(const Add& add) {
  add("dot_rows", kRows * kDim, [](const auto& k, auto& a) {
    k.dot_rows(a.x.data(), a.rows.data(), kDim, kRows, kDim, a.out.data());
  });
  add("additive_rows", kRows * kDim, [](const auto& k, auto& a) {
    k.additive_rows(a.x.data(), a.rows.data(), kDim, a.y.data(), kRows, kDim,
                    a.out.data());
  });
  add("additive_backward", kDim, [](const auto& k, auto& a) {
    k.additive_backward(a.x.data(), a.y.data(), 1, kDim, a.out.data(),
                        a.other.data(), a.scratch.data());
  });
  add("factored_additive_rows", kRows * kDim, [](const auto& k, auto& a) {
    k.factored_additive_rows(a.x.data(), a.rows.data(), kDim, a.y.data(), kRows,
                             kDim, a.out.data());
  });
  add("factored_additive_backward", kRows * kDim, [](const auto& k, auto& a) {
    for (Index j = 0; j < kRows; j += 8) {
      k.factored_additive_backward(a.x.data(), &a.rows[Size(j * kDim)], kDim,
                                   a.y.data(), 8, kDim, a.out.data(),
                                   &a.d_rows[Size(j * kDim)], a.other.data());
    }
  });
  add("add_rows", kRows * kDim, [](const auto& k, auto& a) {
    k.add_rows(a.x.data(), a.rows.data(), kDim, kRows, kDim, a.out.data());
  });
}

template <class Add>
void AddElements(const Add& add) {
  add("scale", kLength,
      [](const auto& k, auto& a) { k.scale(1, kLength, a.out.data()); });
  add("add", kLength, [](const auto& k, auto& a) {
    k.add(a.x.data(), a.y.data(), kLength, a.out.data());
  });
  add("multiply", kLength, [](const auto& k, auto& a) {
    k.multiply(a.x.data(), a.y.data(), kLength, a.out.data());
  });
  add("largest", kLength, [](const auto& k, auto& a) {
    benchmark::DoNotOptimize(k.largest(a.x.data(), kLength));
  });
  add("range", kLength, [](const auto& k, auto& a) {
    k.range(a.x.data(), kLength, a.out.data(), a.other.data());
  });
  add("exp_scaled", kLength, [](const auto& k, auto& a) {
    k.exp_scaled(a.x.data(), kLength, 1, a.out.data());
  });
  add("softmax_backward", kLength, [](const auto& k, auto& a) {
    k.softmax_backward(a.x.data(), a.y.data(), kLength, a.out.data());
  });
  add("exp_sum", kLength, [](const auto& k, auto& a) {
    benchmark::DoNotOptimize(k.exp_sum(a.x.data(), 1, kLength, a.out.data()));
  });
  add("sigmoid", kLength, [](const auto& k, auto& a) {
    k.sigmoid(a.x.data(), kLength, a.out.data(), nullptr);
  });
  add("sigmoid_with_complement", kLength, [](const auto& k, auto& a) {
    k.sigmoid(a.x.data(), kLength, a.out.data(), a.other.data());
  });
}

template <class Add>
void AddScans(const Add& add) {
  add("select_rows", kLength, [](const auto& k, auto& a) {
    std::fill_n(a.carried.begin(), kDim, 0);
    a.carried[0] = 1;
    k.select_rows(a.x.data(), kDim, nullptr, a.carried.data(), kLength / kDim,
                  kDim, a.out.data(), kDim, nullptr, 0);
  });
  add("select_rows_backward", kLength, [](const auto& k, auto& a) {
    k.select_rows_backward(a.x.data(), kDim, nullptr, a.z.data(), kDim,
                           a.y.data(), kDim, nullptr, kLength / kDim, kDim,
                           a.out.data(), kDim, a.carried.data());
  });
}

template <class Real, class Add>
void AddPairs(const Add& add) {
  add("reciprocal_moments", kPairs, [](const auto& k, auto& a) {
    Real row_sums[4];
    Real* const columns[4] = {a.out.data(), a.out.data() + kPairs,
                              a.other.data(), a.other.data() + kPairs};
    k.reciprocal_moments(1, 1, 1, a.z.data(), a.y.data(), a.x.data(), kPairs,
                         row_sums, columns);
    benchmark::DoNotOptimize(row_sums);
  });
  add("reciprocal_sums", kPairs * kPairs, [](const auto& k, auto& a) {
    k.reciprocal_sums(a.x.data(), a.y.data(), kPairs, a.z.data(), a.y.data(),
                      kPairs, a.out.data(), a.other.data());
  });
  // Per number of one side.
  add("cauchy_sums", kLength, [](const auto& k, auto& a) {
    k.cauchy_sums(a.sums.data(), a.y.data(), kLength, a.sums.data(), a.z.data(),
                  kLength, a.out.data(), a.other.data());
  });
  add("adaptive_blocks", kLength, [](const auto& k, auto& a) {
    k.adaptive_blocks(a.x.data(), a.y.data(), a.z.data(), a.passed.data(),
                      kLength, a.out.data());
  });
}

template <class Real>
void RegisterLevel(const std::string& level, const Kernels<Real>& kernels) {
  const auto add =
      [&](const std::string& kernel, Index elements,
          std::function<void(const Kernels<Real>&, Arrays<Real>&)> run) {
        Register<Real>(kernel, level, static_cast<double>(elements),
                       std::move(run), kernels);
      };
  AddEnergies(add);
  AddElements(add);
  AddScans(add);
  for (const Index width : {4, 16, 17, 64, 256, 1024}) AddWindows(add, width);
  AddPairs<Real>(add);
}

template <class Real>
void RegisterAll() {
  for (const std::string& level : SimdLevels()) {
    RegisterLevel<Real>(level, KernelsAt<Real>(level));
  }
  RegisterLevel<Real>("compiler", CompilerKernels<Real>());
  RegisterLevel<Real>("scalar", ScalarKernels<Real>());
}

}  // namespace
}  // namespace attnbench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  attnbench::RegisterAll<float>();
  attnbench::RegisterAll<double>();
  return benchmark::RunSpecifiedBenchmarks() == 0 ? 1 : 0;
}
