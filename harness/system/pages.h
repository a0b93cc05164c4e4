// Memory straight from the system and back to it: what lies there leaves no
// trace in malloc, and costs nothing once it is gone.
#ifndef ATTNBENCH_HARNESS_SYSTEM_PAGES_H_
#define ATTNBENCH_HARNESS_SYSTEM_PAGES_H_

#include <sys/mman.h>

#include <cstdint>
#include <span>
#include <utility>

namespace attnbench {

// Owns whole pages, zeros at first; none if the system has no room for them.
class Pages {
 public:
  Pages() = default;
  explicit Pages(std::int64_t bytes) {
    if (bytes <= 0) return;
    void* const made =
        mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return;
    data_ = made;
    bytes_ = bytes;
  }
  ~Pages() {
    if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(bytes_));
  }
  Pages(Pages&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  const void* data() const { return data_; }  // null: there are none
  std::int64_t bytes() const { return bytes_; }

  // As many numbers as fit.
  template <class T>
  std::span<T> as() const {
    return {static_cast<T*>(data_),
            static_cast<std::size_t>(bytes_) / sizeof(T)};
  }

 private:
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SYSTEM_PAGES_H_
