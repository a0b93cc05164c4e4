#include "mechanisms/torch/pool.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Functions.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
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
#include <string>
#include <utility>

#include "mechanisms/torch/operators.h"

namespace attnbench::torch_operators {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
// Blocks from this size on are aligned to it, and ask for pages of this size.
constexpr std::size_t kHugePageBytes = 2 * kMiB;
constexpr const char* kLimitVariable = "ATTNBENCH_TORCH_POOL_MIB";
// What all results of a step of MoChA take at B x H = 32, U = 256, T = 1024 is
// half of it.
constexpr std::size_t kDefaultLimitMiB = 256;
constexpr std::size_t kMostLimitMiB = kMiB;
// The sanitizer then sees who reads beyond a result that fills its block.
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kGuardBytes = 64;
#else
constexpr std::size_t kGuardBytes = 0;
#endif

// The size of the block for so many bytes: four sizes between powers of two,
// so that results of nearly the same size share blocks. It is at most 1.25
// times as large, and pages that nobody writes take no memory.
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
// A block that is in use is alone in its list, and moves to the pool's, so that
// keeping it allocates nothing.
using Blocks = std::list<Block>;

// Gives null where there is no more memory.
void* NewMemory(std::size_t bytes) {
  // malloc takes its own memory back from these: a mapping each would be too
  // many for the system.
  if (bytes < kHugePageBytes) return c10::alloc_cpu(bytes);
  const std::size_t mapped_bytes = bytes + kHugePageBytes;
  void* const mapped = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const std::size_t before =
      -reinterpret_cast<std::uintptr_t>(mapped) % kHugePageBytes;
  char* const data = static_cast<char*>(mapped) + before;
  if (before > 0) munmap(mapped, before);
  munmap(data + bytes, kHugePageBytes - before);
  // A system without them says no, and gives small pages.
  madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

void FreeMemory(const Blocks& blocks) {
  for (const Block& block : blocks) {
    ASAN_UNPOISON_MEMORY_REGION(block.data, block.bytes);
    if (block.bytes < kHugePageBytes) {
      c10::free_cpu(block.data);
    } else {
      munmap(block.data, block.bytes);
    }
  }
}

std::size_t LimitFromEnvironment() {
  const char* const value = std::getenv(kLimitVariable);
  const std::string text = value == nullptr ? "" : value;
  if (text.empty()) return kDefaultLimitMiB * kMiB;
  std::size_t limit = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, limit);
  TORCH_CHECK_VALUE(
      error == std::errc() && last == end && limit <= kMostLimitMiB,
      kLimitVariable, " must be a whole number of MiB from 0 to ",
      kMostLimitMiB, ", but is ", text.substr(0, 40));
  return limit * kMiB;
}

// Blocks that no result uses, up to a limit. Blocks in use are not counted:
// results take what they take, with a pool or without.
class Pool {
 public:
  // It is never destroyed: results are dropped while a process ends, too.
  static Pool& Get() {
    static Pool& pool = *new Pool;
    return pool;
  }

  bool is_off() const { return limit_bytes_ == 0; }

  // Gives null where there is no more memory.
  at::DataPtr Take(std::size_t bytes) {
    const std::size_t block_bytes = BlockBytes(bytes);
    auto taken = std::make_unique<Blocks>();
    {
      const std::lock_guard lock(mutex_);
      Blocks& kept = kept_[block_bytes];
      if (!kept.empty()) {
        taken->splice(taken->begin(), kept, kept.begin());
        kept_bytes_ -= block_bytes;
      }
    }
    if (taken->empty()) {
      Block& block = taken->emplace_back(Block{.bytes = block_bytes});
      block.data = NewMemory(block_bytes);
      if (block.data == nullptr) {
        Shrink(0);
        block.data = NewMemory(block_bytes);
      }
      if (block.data == nullptr) return {};
    }
    void* const data = taken->front().data;
    ASAN_POISON_MEMORY_REGION(data, block_bytes);
    ASAN_UNPOISON_MEMORY_REGION(data, bytes);
    // The profiler sees what a result takes, as with PyTorch's own memory.
    c10::profiledCPUMemoryReporter().New(data, bytes);
    return {data, taken.release(), &Pool::Keep, at::kCPU};
  }

  // Gives the blocks that were kept first back to the system, until the rest
  // has at most so many bytes.
  void Shrink(std::size_t most_bytes) {
    Blocks unwanted;
    {
      const std::lock_guard lock(mutex_);
      while (kept_bytes_ > most_bytes) {
        const auto oldest =
            std::ranges::min_element(kept_, {}, [](const auto& same) {
              return same.second.empty() ? UINT64_MAX
                                         : same.second.back().kept_at;
            });
        Blocks& from = oldest->second;
        kept_bytes_ -= oldest->first;
        unwanted.splice(unwanted.begin(), from, std::prev(from.end()));
      }
    }
    FreeMemory(unwanted);
  }

 private:
  Pool() : limit_bytes_(LimitFromEnvironment()) {
    // A child has no other thread that could unlock its copy.
    pthread_atfork([] { Get().mutex_.lock(); }, [] { Get().mutex_.unlock(); },
                   [] { Get().mutex_.unlock(); });
  }

  // Takes the block of a result that is gone.
  static void Keep(void* context) {
    const std::unique_ptr<Blocks> taken(static_cast<Blocks*>(context));
    Pool& pool = Get();
    Block& block = taken->front();
    c10::profiledCPUMemoryReporter().Delete(block.data);
    // It would leave no room for others.
    if (block.bytes > pool.limit_bytes_) return FreeMemory(*taken);
    ASAN_POISON_MEMORY_REGION(block.data, block.bytes);
    {
      const std::lock_guard lock(pool.mutex_);
      block.kept_at = pool.count_++;
      pool.kept_bytes_ += block.bytes;
      Blocks& kept = pool.kept_.find(block.bytes)->second;
      kept.splice(kept.begin(), *taken);
    }
    pool.Shrink(pool.limit_bytes_);
  }

  const std::size_t limit_bytes_;
  std::mutex mutex_;
  // By size, and those of a size from the one that was kept last, as it may
  // still be in a cache. A size that was ever asked for stays.
  std::map<std::size_t, Blocks> kept_;
  std::size_t kept_bytes_ = 0;
  std::uint64_t count_ = 0;
};

TORCH_LIBRARY_FRAGMENT(attnbench, library) {
  library.def("release() -> ()", &ReleaseMemory);
}

}  // namespace

at::Tensor MakeResult(at::IntArrayRef sizes, const at::TensorOptions& options) {
  const std::size_t bytes = at::detail::computeStorageNbytesContiguous(
      sizes, options.dtype().itemsize());
  if (!options.device().is_cpu() || bytes == 0 || Pool::Get().is_off()) {
    return at::empty(sizes, options);
  }
  at::DataPtr data = Pool::Get().Take(bytes);
  if (!data) return at::empty(sizes, options);  // this says so
  // PyTorch's own allocator is that of a result that is resized.
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes, std::move(data),
                       c10::GetAllocator(at::kCPU), /*resizable=*/true);
  at::Tensor result = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
      options.dtype());
  result.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return result;
}

void ReleaseMemory() { Pool::Get().Shrink(0); }

}  // namespace attnbench::torch_operators
