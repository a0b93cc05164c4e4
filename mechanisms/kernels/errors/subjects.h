// The kernels whose errors are bounded: which numbers each takes, and how far
// it is off for some of them. The kernels' tests, and the search for the
// largest errors (search.h), take them from here.
#ifndef ATTNBENCH_MECHANISMS_KERNELS_ERRORS_SUBJECTS_H_
#define ATTNBENCH_MECHANISMS_KERNELS_ERRORS_SUBJECTS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "mechanisms/kernels/error_bounds.h"
#include "mechanisms/kernels/errors/guarded_array.h"
#include "mechanisms/kernels/scalar_kernels.h"

namespace attnbench::kernel_errors {

// The same numbers everywhere, unlike the distributions of the library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : generator_(seed) {}
  double Uniform(double low = 0, double high = 1) {
    const auto bits = static_cast<double>(generator_() >> 11);
    return low + (high - low) * bits * 0x1p-53;
  }
  std::size_t Below(std::size_t count) { return generator_() % count; }

 private:
  std::mt19937_64 generator_;
};

// The arrays that a kernel reads or makes.
template <class Real>
using Arrays = std::vector<std::vector<Real>>;

// What an array may hold: valid numbers, and ordinary ones.
struct NumberRange {
  Index size = 0;
  double least = 0, greatest = 1;
  double low = 0, high = 1;
  bool rises = false;
};
using Ranges = std::vector<NumberRange>;

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

// A result of a kernel, and the unit of its error and bound.
struct Result {
  std::string what, unit;
};

template <class Real>
struct Subject {
  std::string kernel;
  std::vector<Result> results;
  std::function<Ranges(Index length)> ranges;
  // Makes ordinary numbers cancel.
  std::function<void(Random&, Arrays<Real>&)> cancel;
  // Makes numbers that are valid one by one valid together; may be empty.
  std::function<void(Arrays<Real>&)> repair = {};
  // The errors of all results. They are infinite if the kernel writes beyond
  // an array.
  std::function<std::vector<WorstError>(const Kernels<Real>&,
                                        const Arrays<Real>&)>
      measure = {};

  // Makes all numbers of an input of this length valid.
  void MakeValid(Index length, Arrays<Real>& in) const {
    const Ranges limits = ranges(length);
    for (std::size_t n = 0; n < in.size(); ++n) {
      const auto least = static_cast<Real>(limits[n].least);
      const auto greatest = static_cast<Real>(limits[n].greatest);
      for (Real& value : in[n]) value = std::clamp(value, least, greatest);
      if (limits[n].rises) std::ranges::sort(in[n]);
    }
    if (repair) repair(in);
  }
};

// Kernels of one row of numbers, of the monotonic scan and of windows, and of
// pairs.
template <class Real>
std::vector<Subject<Real>> ElementSubjects();
template <class Real>
std::vector<Subject<Real>> ScanSubjects();
template <class Real>
std::vector<Subject<Real>> PairSubjects();

template <class Real>
std::vector<Subject<Real>> AllSubjects();

// ---- how a kernel is compared -----------------------------------------------

using Wide = long double;
template <class T>
using Array = std::vector<T>;
template <class Real>
constexpr bool kSingle = sizeof(Real) == sizeof(float);
template <class Real>
constexpr Wide kUnit = std::numeric_limits<Real>::epsilon() / 2;
template <class Real>
constexpr Wide kLeast = std::numeric_limits<Real>::denorm_min();

// One call of a kernel: its inputs have NaN around them, its outputs a number.
template <class T>
class Call {
 public:
  using Number = T;

  Call(const Kernels<T>& table, const Arrays<T>& in) : kernels(table) {
    for (const Array<T>& array : in) {
      GuardedArray<T>& guarded = in_.emplace_back(
          std::ssize(array), std::numeric_limits<T>::quiet_NaN());
      std::ranges::copy(array, guarded.data());
    }
  }

  const T* In(std::size_t n) const { return in_[n].data(); }
  Index Length(std::size_t n) const { return in_[n].size(); }

  // An array of zeros, which is the next result.
  template <class U = T>
  U* Out(Index size) {
    const auto array = NewArray<U>(size, 0);
    reads_.push_back([array] {
      return Array<Wide>(array->data(), array->data() + array->size());
    });
    return array->data();
  }
  // One of NaN that is no result.
  template <class U = T>
  U* Scratch(Index size) {
    return NewArray<U>(size, std::numeric_limits<U>::quiet_NaN())->data();
  }

  // What is in the results; not a number where a guard is gone.
  Arrays<Wide> Results() const {
    bool intact = true;
    for (const auto& is_intact : guards_) intact = intact && is_intact();
    Arrays<Wide> results;
    for (const auto& read : reads_) {
      results.push_back(read());
      if (!intact) std::ranges::fill(results.back(), std::nan(""));
    }
    return results;
  }

  const Kernels<T>& kernels;

 private:
  template <class U>
  std::shared_ptr<GuardedArray<U>> NewArray(Index size, U value) {
    constexpr U kGuard = 12345;
    auto array = std::make_shared<GuardedArray<U>>(size, kGuard);
    std::fill_n(array->data(), size, value);
    guards_.push_back([array] { return array->GuardsIntact(); });
    return array;
  }

  std::vector<GuardedArray<T>> in_;
  std::vector<std::function<Array<Wide>()>> reads_;
  std::vector<std::function<bool()>> guards_;
};

// What a kernel made of an input, and what the loops make of it.
struct Made {
  Arrays<Wide> in, found, exact;
  double lanes;
  // What the loops make of other numbers.
  std::function<Arrays<Wide>(const Arrays<Wide>&)> reference;
};

// Measures a subject: `run` calls the kernel of the table of a Call, `compare`
// adds the errors of what is Made to those of each result.
template <class Real, class Run, class Compare>
auto Measure(std::size_t results, const Run& run, const Compare& compare) {
  return [=](const Kernels<Real>& kernels, const Arrays<Real>& in) {
    const auto results_of = [&](const auto& table, const auto& numbers) {
      Call call(table, numbers);
      run(call);
      return call.Results();
    };
    const auto reference = [&](const Arrays<Wide>& numbers) {
      return results_of(ScalarKernels<Wide>(), numbers);
    };
    Arrays<Wide> wide;
    for (const Array<Real>& array : in) {
      wide.emplace_back(array.begin(), array.end());
    }
    std::vector<WorstError> worst(results);
    compare(Made{.in = wide,
                 .found = results_of(kernels, in),
                 .exact = reference(wide),
                 .lanes = static_cast<double>(kernels.lanes),
                 .reference = reference},
            worst);
    return worst;
  };
}

inline Array<Wide> Magnitudes(Array<Wide> array) {
  for (Wide& value : array) value = std::abs(value);
  return array;
}

inline Wide SumOfMagnitudes(const Array<Wide>& array) {
  Wide sum = 0;
  for (const Wide value : array) sum += std::abs(value);
  return sum;
}

// Adds errors in units of the last place; below the normal numbers, of the
// least of these.
template <class Real>
void AddUlps(const Array<Wide>& found, const Array<Wide>& exact, double bound,
             WorstError& worst) {
  using Limits = std::numeric_limits<Real>;
  for (std::size_t n = 0; n < found.size(); ++n) {
    const auto rounded = static_cast<Real>(exact[n]);
    const Wide next = std::nextafter(rounded, Limits::infinity());
    worst.Add(
        found[n] - exact[n],
        std::abs(exact[n]) < Limits::min() ? Limits::min() : next - rounded,
        bound);
  }
}

// Adds errors in units of `share` of `magnitudes`.
inline void AddShares(const Array<Wide>& found, const Array<Wide>& exact,
                      const Array<Wide>& magnitudes, Wide share, double bound,
                      Wide floor, WorstError& worst) {
  for (std::size_t n = 0; n < found.size(); ++n) {
    worst.Add(found[n] - exact[n], share * magnitudes[n], bound, floor);
  }
}

// ---- inputs that cancel -----------------------------------------------------

// Neighbours of opposite signs, whose sum is a few roundings.
template <class Real>
void AlternateSigns(Random& random, Array<Real>& values) {
  for (std::size_t n = 1; n < values.size(); n += 2) {
    values[n] =
        -values[n - 1] * (1 + static_cast<Real>(random.Uniform(-1e-6, 1e-6)));
  }
}

// Derivatives that are nearly the same, whose differences are few roundings.
template <class Real>
void NearOne(Random& random, Array<Real>& values) {
  for (Real& value : values) {
    value = static_cast<Real>(1 + random.Uniform(-1e-6, 1e-6));
  }
}

template <class Real>
void Spread(Random& random, double low, double high, Array<Real>& values) {
  for (Real& value : values) {
    value = static_cast<Real>(std::exp2(random.Uniform(low, high)));
  }
}

}  // namespace attnbench::kernel_errors

#endif  // ATTNBENCH_MECHANISMS_KERNELS_ERRORS_SUBJECTS_H_
