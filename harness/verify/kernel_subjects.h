// The kernels whose errors are measured (kernel_errors.h): which numbers each
// takes, and how far it is off for some of them.
#ifndef ATTNBENCH_HARNESS_VERIFY_KERNEL_SUBJECTS_H_
#define ATTNBENCH_HARNESS_VERIFY_KERNEL_SUBJECTS_H_

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "mechanisms/common/array.h"
#include "mechanisms/kernels/kernels.h"

namespace attnbench {

// The same numbers everywhere, unlike the distributions of the library.
class KernelRandom {
 public:
  explicit KernelRandom(std::uint64_t seed) : generator_(seed) {}
  double Uniform(double low = 0, double high = 1) {
    const auto bits = static_cast<double>(generator_() >> 11);
    return low + (high - low) * bits * 0x1p-53;
  }
  std::size_t Below(std::size_t count) { return generator_() % count; }

 private:
  std::mt19937_64 generator_;
};

// The arrays that a kernel reads, in its own order.
template <class Real>
using KernelInput = std::vector<std::vector<Real>>;

// What an array may hold: valid numbers, and ordinary ones.
struct NumberRange {
  Index size = 0;
  double least = 0, greatest = 1;
  double low = 0, high = 1;
  bool rises = false;
};

// The largest error of one result beside its bound.
struct WorstError {
  double error = 0, bound = 1;
  double ratio = -1;  // infinite where the error is not finite

  // `floor` is what underflow may add to an error.
  void Add(long double error, long double unit, double bound,
           long double floor = 0);
  void Add(const WorstError& other) {
    if (other.ratio > ratio) *this = other;
  }
};

template <class Real>
struct KernelSubject {
  struct Result {
    std::string what, unit;
  };

  std::string kernel;
  std::vector<Result> results;
  // Lengths of inputs, and which of them the search takes.
  std::vector<Index> sizes;
  Index search_size = 0;
  int searched = 0;  // inputs, at effort 1
  std::function<std::vector<NumberRange>(Index size)> ranges;
  // Makes ordinary numbers cancel.
  std::function<void(KernelRandom&, KernelInput<Real>&)> cancel;
  // Makes numbers that are valid one by one valid together; may be empty.
  std::function<void(KernelInput<Real>&)> repair;
  // Adds the errors of all results.
  std::function<void(const Kernels<Real>&, const KernelInput<Real>&,
                     std::vector<WorstError>&)>
      measure;
};

template <class Real>
std::vector<KernelSubject<Real>> KernelSubjects();

namespace kernel_subjects {

// Subjects of the monotonic scan.
template <class Real>
std::vector<KernelSubject<Real>> ScanSubjects();

// Subjects that read pairs of numbers: sums over them, MAtChA's short blocks.
template <class Real>
std::vector<KernelSubject<Real>> PairSubjects();

}  // namespace kernel_subjects

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_VERIFY_KERNEL_SUBJECTS_H_
