#include "mechanisms/common/array.h"

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <array>
#include <atomic>

namespace attnbench {
namespace {

constexpr std::align_val_t kCacheLine{64};
// Smaller arrays lie on a page or two that others keep in use.
constexpr std::size_t kLeastKeptBytes = 4096;

void* NewArray(std::size_t bytes) { return ::operator new(bytes, kCacheLine); }
void DeleteArray(void* pointer, std::size_t /*bytes*/) noexcept {
  ::operator delete(pointer, kCacheLine);
}
ArraySource source_of_large{&NewArray, &DeleteArray};

std::atomic<Index> allocation_limit_bytes{std::numeric_limits<Index>::max()};
std::atomic<bool> keeps_arrays{false};

class KeptArrays;
// An array that outlives its thread's other objects finds no KeptArrays: this
// has no destructor, and is null again by then.
thread_local KeptArrays* kept = nullptr;

// What a thread has freed and keeps. A trial has fewer arrays at once than
// there are places, so a search is short.
class KeptArrays {
 public:
  KeptArrays() { kept = this; }
  ~KeptArrays() {
    Release();
    kept = nullptr;
  }
  KeptArrays(const KeptArrays&) = delete;
  KeptArrays& operator=(const KeptArrays&) = delete;

  Index bytes() const { return bytes_; }

  // The one of this size that was freed last, as it may still be in a cache;
  // null where there is none.
  void* Take(std::size_t bytes) {
    std::size_t place = count_;
    while (place > 0 && blocks_[place - 1].bytes != bytes) --place;
    if (place == 0) return nullptr;
    void* const pointer = blocks_[place - 1].pointer;
    const auto found = blocks_.begin() + static_cast<Index>(place);
    std::copy(found, blocks_.begin() + static_cast<Index>(count_), found - 1);
    --count_;
    bytes_ -= static_cast<Index>(bytes);
    ASAN_UNPOISON_MEMORY_REGION(pointer, bytes);
    return pointer;
  }

  void Keep(void* pointer, std::size_t bytes) noexcept {
    if (count_ == kMostBlocks) Release();
    blocks_[count_++] = {pointer, bytes};
    bytes_ += static_cast<Index>(bytes);
    ASAN_POISON_MEMORY_REGION(pointer, bytes);
  }

  void Release() noexcept {
    for (std::size_t place = 0; place < count_; ++place) {
      ASAN_UNPOISON_MEMORY_REGION(blocks_[place].pointer, blocks_[place].bytes);
      source_of_large.give(blocks_[place].pointer, blocks_[place].bytes);
    }
    count_ = 0;
    bytes_ = 0;
  }

 private:
  struct Block {
    void* pointer;
    std::size_t bytes;
  };
  static constexpr std::size_t kMostBlocks = 256;
  std::array<Block, kMostBlocks> blocks_;
  std::size_t count_ = 0;
  Index bytes_ = 0;
};

// Null: this thread keeps nothing.
KeptArrays* Kept() {
  if (!keeps_arrays.load(std::memory_order_relaxed)) return nullptr;
  static thread_local KeptArrays arrays;
  return kept;
}

}  // namespace

MemoryUse& ThreadMemoryUse() {
  thread_local MemoryUse use;
  return use;
}

void SetAllocationLimit(Index bytes) {
  allocation_limit_bytes.store(bytes, std::memory_order_relaxed);
}

void KeepFreedArrays() { keeps_arrays.store(true, std::memory_order_relaxed); }

Index KeptBytes() { return Kept() == nullptr ? 0 : Kept()->bytes(); }

void ReleaseKeptArrays() {
  if (Kept() != nullptr) Kept()->Release();
}

void SetArraySource(const ArraySource& source) { source_of_large = source; }

void* AllocateCounted(std::size_t bytes) {
  MemoryUse& use = ThreadMemoryUse();
  const Index limit = allocation_limit_bytes.load(std::memory_order_relaxed);
  if (bytes > static_cast<std::size_t>(limit) ||
      use.current_bytes > limit - static_cast<Index>(bytes)) {
    throw std::bad_alloc();
  }
  const bool is_large = bytes >= kLeastKeptBytes;
  KeptArrays* const arrays = is_large ? Kept() : nullptr;
  void* pointer = arrays == nullptr ? nullptr : arrays->Take(bytes);
  if (pointer == nullptr) {
    if (arrays != nullptr && arrays->bytes() + use.current_bytes >
                                 limit - static_cast<Index>(bytes)) {
      arrays->Release();
    }
    pointer = is_large ? source_of_large.take(bytes) : NewArray(bytes);
  }
  use.current_bytes += static_cast<Index>(bytes);
  use.peak_bytes = std::max(use.peak_bytes, use.current_bytes);
  return pointer;
}

void DeallocateCounted(void* pointer, std::size_t bytes) noexcept {
  ThreadMemoryUse().current_bytes -= static_cast<Index>(bytes);
  if (bytes < kLeastKeptBytes) return DeleteArray(pointer, bytes);
  KeptArrays* const arrays = Kept();
  if (arrays == nullptr) return source_of_large.give(pointer, bytes);
  arrays->Keep(pointer, bytes);
}

}  // namespace attnbench
