#include "harness/base/hash.h"

#include <fmt/format.h>

namespace attnbench {

void Fnv1a::Add(std::string_view bytes) {
  for (const char byte : bytes) {
    hash_ ^= static_cast<unsigned char>(byte);
    hash_ *= 0x100000001b3;
  }
}

std::string Fnv1a::Hex() const { return fmt::format("{:016x}", hash_); }

}  // namespace attnbench
