#include "mechanisms/torch/pool.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Functions.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/alignment.h>
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <torch/library.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "mechanisms/common/array.h"
#include "mechanisms/torch/operators.h"

namespace attnbench::torch_operators {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
// Blocks from this size on are aligned to it, and ask for pages of this size.
constexpr std::size_t kHugePageBytes = 2 * kMiB;
constexpr const char* kLimitVariable = "ATTNBENCH_TORCH_POOL_MIB";
// Twice what all results of a training step of MoChA take at B x H = 32,
// U = 256, T = 1024.
constexpr std::size_t kDefaultLimitMiB = 256;
constexpr std::size_t kMostLimitMiB = 1 << 20;
// The sanitizer then sees who reads beyond a result that fills its block.
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kGuardBytes = 64;
#else
constexpr std::size_t kGuardBytes = 0;
#endif

// The size of the block for so many bytes: four sizes between powers of two,
// so that results of nearly the same size share blocks. It is at most 1.25
// times as large, but for whole cache lines, and pages that nobody writes take
// no memory.
std::size_t BlockBytes(std::size_t bytes) {
  bytes += kGuardBytes;
  const std::size_t step =
      std::max<std::size_t>(c10::gAlignment, std::bit_floor(bytes) / 4);
  return (bytes + step - 1) / step * step;
}

struct Block {
  void* data = nullptr;
  std::size_t bytes = 0;
  std::uint64_t kept_at = 0;  // counts the blocks that were kept
};
using Blocks = std::list<Block>;

// Gives null where there is no more memory.
void* NewMemory(std::size_t bytes) {
  // The system allows some 65,000 mappings: too few for small blocks.
  if (bytes < kHugePageBytes) {
    void* data = nullptr;
    return posix_memalign(&data, c10::gAlignment, bytes) == 0 ? data : nullptr;
  }
  const std::size_t mapped_bytes = bytes + kHugePageBytes;
  void* const mapped = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const std::size_t before =
      -reinterpret_cast<std::uintptr_t>(mapped) % kHugePageBytes;
  char* const data = static_cast<char*>(mapped) + before;
  if (before > 0) munmap(mapped, before);
  munmap(data + bytes, kHugePageBytes - before);
  // A system without huge pages refuses, and gives small ones.
  madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

void FreeMemory(const Block& block) {
  ASAN_UNPOISON_MEMORY_REGION(block.data, block.bytes);
  if (block.bytes < kHugePageBytes) {
    std::free(block.data);
  } else {
    munmap(block.data, block.bytes);
  }
}

// Blocks that nobody uses, up to a limit. Blocks in use are not counted:
// results take what they take, with a pool or without.
class Pool {
 public:
  Pool() {
    const char* const value = std::getenv(kLimitVariable);
    const std::string text = value == nullptr ? "" : value;
    if (text.empty()) return;
    std::size_t limit = 0;
    const char* const end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data(), end, limit);
    if (error != std::errc() || last != end || limit > kMostLimitMiB) {
      wrong_limit_ = text.substr(0, 40);
      limit = 0;
    }
    limit_bytes_ = limit * kMiB;
  }

  bool is_off() const { return limit_bytes_ == 0; }
  // Throws if the limit that the environment has is none.
  void CheckLimit() const {
    TORCH_CHECK_VALUE(wrong_limit_.empty(), kLimitVariable,
                      " must be a whole number of MiB from 0 to ",
                      kMostLimitMiB, ", but is ", wrong_limit_);
  }

  bool HasRoomFor(std::size_t bytes) const {
    return BlockBytes(bytes) <= limit_bytes_;
  }

  // Gives null where there is no more memory.
  void* Take(std::size_t bytes) {
    const std::size_t block_bytes = BlockBytes(bytes);
    void* data = TakeKept(block_bytes);
    if (data == nullptr) data = NewMemory(block_bytes);
    if (data == nullptr) {
      Shrink(0);
      data = NewMemory(block_bytes);
    }
    if (data == nullptr) return nullptr;
    ASAN_POISON_MEMORY_REGION(data, block_bytes);
    ASAN_UNPOISON_MEMORY_REGION(data, bytes);
    return data;
  }

  // Takes back what Take gave for so many bytes.
  void Give(void* data, std::size_t bytes) noexcept {
    Block block{data, BlockBytes(bytes)};
    // A larger one would leave no room for any.
    if (block.bytes > limit_bytes_) return FreeMemory(block);
    ASAN_POISON_MEMORY_REGION(data, block.bytes);
    try {
      Blocks one{block};
      const std::lock_guard lock(mutex_);
      one.front().kept_at = count_++;
      Blocks& same = kept_[block.bytes];
      same.splice(same.begin(), one);
      kept_bytes_ += block.bytes;
    } catch (const std::bad_alloc&) {
      return FreeMemory(block);
    }
    Shrink(limit_bytes_);
  }

  // Gives the blocks that were kept first back to the system, until the rest
  // has at most so many bytes.
  void Shrink(std::size_t most_bytes) {
    Blocks unwanted;
    {
      const std::lock_guard lock(mutex_);
      while (kept_bytes_ > most_bytes) {
        const auto oldest = std::ranges::min_element(
            kept_, {},
            [](const auto& one) { return one.second.back().kept_at; });
        Blocks& same = oldest->second;
        kept_bytes_ -= oldest->first;
        unwanted.splice(unwanted.begin(), same, std::prev(same.end()));
        if (same.empty()) kept_.erase(oldest);
      }
    }
    for (const Block& block : unwanted) FreeMemory(block);
  }

  // Around a fork: a child has no other thread that could unlock its copy.
  void Lock() { mutex_.lock(); }
  void Unlock() { mutex_.unlock(); }

 private:
  void* TakeKept(std::size_t block_bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(block_bytes);
    if (found == kept_.end()) return nullptr;
    void* const data = found->second.front().data;
    found->second.pop_front();
    if (found->second.empty()) kept_.erase(found);
    kept_bytes_ -= block_bytes;
    return data;
  }

  std::size_t limit_bytes_ = kDefaultLimitMiB * kMiB;
  std::string wrong_limit_;
  std::mutex mutex_;
  // By size, and those of a size from the one that was kept last, as it may
  // still be in a cache. None is empty.
  std::map<std::size_t, Blocks> kept_;
  std::size_t kept_bytes_ = 0;
  std::uint64_t count_ = 0;
};

// It is never destroyed: results are dropped while a process ends, too.
Pool& pool = *new Pool;

struct Result {
  void* data;
  std::size_t bytes;
};

void GiveBack(void* context) {
  const std::unique_ptr<Result> result(static_cast<Result*>(context));
  c10::profiledCPUMemoryReporter().Delete(result->data);
  pool.Give(result->data, result->bytes);
}

// Arrays of mechanisms, too: what they hold while they compute.
void* TakeArray(std::size_t bytes) {
  void* const data = pool.Take(bytes);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}
void GiveArray(void* data, std::size_t bytes) noexcept {
  pool.Give(data, bytes);
}

TORCH_LIBRARY_FRAGMENT(attnbench, library) {
  library.def("release() -> ()", &ReleaseMemory);
  if (!pool.is_off()) SetArraySource({&TakeArray, &GiveArray});
  pthread_atfork([] { pool.Lock(); }, [] { pool.Unlock(); },
                 [] { pool.Unlock(); });
}

}  // namespace

at::Tensor MakeResult(at::IntArrayRef sizes, const at::TensorOptions& options) {
  pool.CheckLimit();
  const std::size_t bytes = at::detail::computeStorageNbytesContiguous(
      sizes, options.dtype().itemsize());
  if (!options.device().is_cpu() || bytes == 0 || pool.is_off()) {
    return at::empty(sizes, options);
  }
  auto result = std::make_unique<Result>();
  result->data = pool.Take(bytes);
  result->bytes = bytes;
  if (result->data == nullptr) return at::empty(sizes, options);  // it throws
  // The profiler of PyTorch sees what it would see of its own memory.
  c10::profiledCPUMemoryReporter().New(result->data, bytes);
  void* const data = result->data;
  // A result that is resized moves to PyTorch's own memory.
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes,
                       {data, result.release(), &GiveBack, at::kCPU},
                       c10::GetAllocator(at::kCPU), /*resizable=*/true);
  at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
      options.dtype());
  made.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return made;
}

bool IsKept(const at::Tensor& like) {
  return like.device().is_cpu() &&
         pool.HasRoomFor(static_cast<std::size_t>(like.numel()) *
                         like.element_size());
}

void ReleaseMemory() { pool.Shrink(0); }

}  // namespace attnbench::torch_operators
