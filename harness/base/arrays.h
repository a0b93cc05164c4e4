// The harness's own arrays: what is drawn for the mechanisms, and where they
// write. They do not count among what a mechanism allocates.
#ifndef ATTNBENCH_HARNESS_BASE_ARRAYS_H_
#define ATTNBENCH_HARNESS_BASE_ARRAYS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <vector>

#include "harness/base/purposes.h"
#include "mechanisms/common/array.h"
#include "mechanisms/common/philox.h"

namespace attnbench {

// How arrays lie in memory relative to each other moves times, and is the same
// in every process that allocates the same. So each leaves as many cache lines
// free behind its arrays, up to a page behind each, as its own draws say. All
// arrays of a point draw from one, also those that threads ask for.
struct ArrayGaps {
  std::uint64_t seed = 0;
  std::uint32_t process = 0;
  std::atomic<std::uint64_t> count = 0;

  std::size_t NextBytes() {
    constexpr std::size_t kLineBytes = 64, kLinesOfPage = 64;
    return Philox(seed, kArrayGapPurpose, process, count++)[0] % kLinesOfPage *
           kLineBytes;
  }
};

// Arrays are aligned like the mechanisms' own, and have no gaps behind them
// where `gaps` is null; else it outlives them.
template <class T>
struct AlignedAllocator {
  using value_type = T;
  // NOLINTNEXTLINE(google-explicit-constructor): Array<T>(gaps) reads well.
  AlignedAllocator(ArrayGaps* array_gaps = nullptr) : gaps(array_gaps) {}
  template <class U>
  // NOLINTNEXTLINE(google-explicit-constructor): required of an allocator.
  AlignedAllocator(const AlignedAllocator<U>& other) : gaps(other.gaps) {}

  T* allocate(std::size_t count) {
    const std::size_t gap = gaps == nullptr ? 0 : gaps->NextBytes();
    return static_cast<T*>(::operator new(count * sizeof(T) + gap, kCacheLine));
  }
  void deallocate(T* pointer, std::size_t /*count*/) noexcept {
    ::operator delete(pointer, kCacheLine);
  }
  template <class U>
  bool operator==(const AlignedAllocator<U>& /*other*/) const {
    return true;  // any of them frees what another has allocated
  }

  static constexpr std::align_val_t kCacheLine{64};
  ArrayGaps* gaps;
};
template <class T>
using Array = std::vector<T, AlignedAllocator<T>>;

// An array whose size overflows cannot be allocated either.
inline Index Times(Index a, Index b) {
  Index product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw std::bad_alloc();
  return product;
}
inline Index Plus(Index a, Index b) {
  Index sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw std::bad_alloc();
  return sum;
}

// An array [rows, cols] that owns its numbers, rows one after another; zeros
// at first.
template <class Real>
struct Table {
  std::vector<Real> values;
  Index rows = 0;
  Index cols = 0;

  Table() = default;
  Table(Index num_rows, Index num_cols)
      : values(Size(num_rows * num_cols)), rows(num_rows), cols(num_cols) {}
  MatrixView<Real> view() { return {values.data(), rows, cols}; }
  MatrixView<const Real> view() const { return {values.data(), rows, cols}; }
  Real operator()(Index r, Index c) const { return view()(r, c); }
};

// Fills the array with numbers uniform in [-1, 1). Element n is a function of
// the key and n alone.
template <class T>
void Fill(std::uint64_t seed, std::uint32_t purpose, std::uint32_t stream,
          Index count, Array<T>& array) {
  array.resize(Size(count));
  for (std::size_t n = 0; n < array.size(); n += 4) {
    const auto words = Philox(seed, purpose, stream, n / 4);
    for (std::size_t k = n; k < std::min(n + 4, array.size()); ++k) {
      array[k] = static_cast<T>(SymmetricUniform24(words[k - n]));
    }
  }
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_BASE_ARRAYS_H_
