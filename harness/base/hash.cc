#include "harness/base/hash.h"

#include <fmt/format.h>

#include <array>

namespace attnbench {
namespace {

// What a byte makes of a state of zeros.
constexpr std::array<std::uint32_t, 256> kCrcOfByte = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t state = byte;
    for (int bit = 0; bit < 8; ++bit) {
      state = (state >> 1) ^ ((state & 1) != 0 ? 0xedb88320 : 0);
    }
    table[byte] = state;
  }
  return table;
}();

}  // namespace

void Fnv1a::Add(std::string_view bytes) {
  for (const char byte : bytes) {
    hash_ ^= static_cast<unsigned char>(byte);
    hash_ *= 0x100000001b3;
  }
}

std::string Fnv1a::Hex() const { return fmt::format("{:016x}", hash_); }

void Crc32::Add(std::string_view bytes) {
  for (const char byte : bytes) {
    const auto low =
        static_cast<unsigned char>(state_) ^ static_cast<unsigned char>(byte);
    state_ = (state_ >> 8) ^ kCrcOfByte[static_cast<std::size_t>(low)];
  }
}

std::string Crc32::Hex() const { return fmt::format("{:08x}", ~state_); }

}  // namespace attnbench
