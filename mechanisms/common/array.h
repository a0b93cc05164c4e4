// Views of arrays that somebody else owns, and the one owning array of the
// mechanisms. Everything that a mechanism allocates goes through Buffer, so
// that `peak_memory_bytes` of a result is an exact count of bytes requested
// and not a guess from the resident set size.
#ifndef ATTNBENCH_MECHANISMS_COMMON_ARRAY_H_
#define ATTNBENCH_MECHANISMS_COMMON_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "mechanisms/common/check.h"

namespace attnbench {

using Index = std::int64_t;

// A matrix [rows, cols] that is not owned. Element (r, c) is at
// data[r * row_stride + c].
template <class T>
struct MatrixView {
  T* data = nullptr;
  Index rows = 0;
  Index cols = 0;
  Index row_stride = 0;

  MatrixView() = default;
  MatrixView(T* first, Index num_rows, Index num_cols)
      : MatrixView(first, num_rows, num_cols, num_cols) {}
  MatrixView(T* first, Index num_rows, Index num_cols, Index stride_of_rows)
      : data(first),
        rows(num_rows),
        cols(num_cols),
        row_stride(stride_of_rows) {}
  // NOLINTNEXTLINE(google-explicit-constructor): a view to const is a view.
  operator MatrixView<const T>() const {
    return MatrixView<const T>(data, rows, cols, row_stride);
  }

  T& operator()(Index r, Index c) const {
    ATTN_DCHECK_LT(r, rows);
    ATTN_DCHECK_LT(c, cols);
    return data[r * row_stride + c];
  }
  // Row r as a contiguous span.
  std::span<T> Row(Index r) const {
    ATTN_DCHECK_LT(r, rows);
    return {data + r * row_stride, static_cast<std::size_t>(cols)};
  }
  // The rows first .. first + count - 1.
  MatrixView Rows(Index first, Index count) const {
    ATTN_CHECK_LE(first + count, rows);
    return MatrixView(data + first * row_stride, count, cols, row_stride);
  }
  bool empty() const { return rows == 0 || cols == 0; }
};

// Bytes requested through Allocator by the calling thread.
struct MemoryUse {
  Index current_bytes = 0;
  Index peak_bytes = 0;  // largest current_bytes since the last reset
};
MemoryUse& ThreadMemoryUse();

// Requests that would bring a thread's current_bytes above this many throw
// std::bad_alloc. The kernel of the operating system hands out memory that it
// does not have, and kills the program when it is touched: a sweep must
// survive a cell that is too large.
void SetAllocationLimit(Index bytes);

// Lets every thread keep the larger arrays that it frees, for its next request
// of the same size; not kept by default. What is timed wants it: a trial frees
// its tables and the next one asks for them again, and whether malloc then has
// a place for them, or takes fresh pages that the system must clear first,
// depends on all that the process did before. What is kept counts towards the
// limit of a thread, and goes back to malloc where that leaves no room.
void KeepFreedArrays();
// The bytes that this thread keeps, and the end of them.
Index KeptBytes();
void ReleaseKeptArrays();

// Where arrays of a page and more come from and go to, in place of malloc. It
// is set before the first of them is made. `take` gives memory aligned to a
// cache line, or throws.
struct ArraySource {
  void* (*take)(std::size_t bytes);
  void (*give)(void* pointer, std::size_t bytes) noexcept;
};
void SetArraySource(const ArraySource& source);

void* AllocateCounted(std::size_t bytes);
void DeallocateCounted(void* pointer, std::size_t bytes) noexcept;

// Hands out memory aligned to a cache line and counts it.
template <class T>
struct Allocator {
  using value_type = T;
  Allocator() = default;
  template <class U>
  // NOLINTNEXTLINE(google-explicit-constructor): required of an allocator.
  Allocator(const Allocator<U>& /*other*/) {}

  T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T) / 2) {
      throw std::bad_alloc();
    }
    return static_cast<T*>(AllocateCounted(count * sizeof(T)));
  }
  void deallocate(T* pointer, std::size_t count) noexcept {
    DeallocateCounted(pointer, count * sizeof(T));
  }
  template <class U>
  bool operator==(const Allocator<U>& /*other*/) const {
    return true;
  }
};

template <class T>
using Buffer = std::vector<T, Allocator<T>>;

// Leaves new elements without a value, so that arrays which are written at once
// are not written twice.
template <class T>
struct UnsetAllocator : Allocator<T> {
  void construct(T* at) { new (at) T; }
  template <class... Arguments>
  void construct(T* at, Arguments&&... arguments) {
    new (at) T(std::forward<Arguments>(arguments)...);
  }
};

// A Buffer of numbers whose new elements have no value. Whoever makes one
// writes all of it before anything is read.
template <class T>
using UnsetBuffer = std::vector<T, UnsetAllocator<T>>;

// A number of elements as the standard library wants it.
inline std::size_t Size(Index count) {
  ATTN_CHECK_LE(0, count);
  return static_cast<std::size_t>(count);
}

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_COMMON_ARRAY_H_
