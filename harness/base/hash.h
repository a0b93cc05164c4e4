// Stable names for contents.
#ifndef ATTNBENCH_HARNESS_BASE_HASH_H_
#define ATTNBENCH_HARNESS_BASE_HASH_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace attnbench {

// FNV-1a, 64 bits: stable names for contents. It does not resist adversaries.
class Fnv1a {
 public:
  void Add(std::string_view bytes);
  std::uint64_t hash() const { return hash_; }
  std::string Hex() const;  // 16 digits

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

// CRC-32, as zip files and zlib have it, so that Python makes the same of a
// large file in a moment (zlib.crc32).
class Crc32 {
 public:
  void Add(std::string_view bytes);
  std::string Hex() const;  // 8 digits

 private:
  std::uint32_t state_ = 0xffffffff;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_BASE_HASH_H_
