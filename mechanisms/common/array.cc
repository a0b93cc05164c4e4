#include "mechanisms/common/array.h"

#include <algorithm>
#include <atomic>

namespace attnbench {
namespace {

constexpr std::align_val_t kCacheLine{64};
std::atomic<Index> allocation_limit_bytes{std::numeric_limits<Index>::max()};

}  // namespace

MemoryUse& ThreadMemoryUse() {
  thread_local MemoryUse use;
  return use;
}

void SetAllocationLimit(Index bytes) {
  allocation_limit_bytes.store(bytes, std::memory_order_relaxed);
}

void* AllocateCounted(std::size_t bytes) {
  MemoryUse& use = ThreadMemoryUse();
  const Index limit = allocation_limit_bytes.load(std::memory_order_relaxed);
  if (bytes > static_cast<std::size_t>(limit) ||
      use.current_bytes > limit - static_cast<Index>(bytes)) {
    throw std::bad_alloc();
  }
  void* pointer = ::operator new(bytes, kCacheLine);
  use.current_bytes += static_cast<Index>(bytes);
  use.peak_bytes = std::max(use.peak_bytes, use.current_bytes);
  return pointer;
}

void DeallocateCounted(void* pointer, std::size_t bytes) noexcept {
  ThreadMemoryUse().current_bytes -= static_cast<Index>(bytes);
  ::operator delete(pointer, kCacheLine);
}

}  // namespace attnbench
