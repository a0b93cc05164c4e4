// Names many numbers by a few digits, so that a test can hold them to a file.
#ifndef ATTNBENCH_TESTS_SUPPORT_DIGEST_H_
#define ATTNBENCH_TESTS_SUPPORT_DIGEST_H_

#include <string>
#include <vector>

#include "harness/base/hash.h"

namespace attnbench::testing {

// Of the bytes of the numbers, one array after another.
class Digest {
 public:
  template <class T>
  void Add(const std::vector<T>& numbers) {
    hash_.Add({reinterpret_cast<const char*>(numbers.data()),
               numbers.size() * sizeof(T)});
  }
  std::string Hex() const { return hash_.Hex(); }

 private:
  Fnv1a hash_;
};

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_DIGEST_H_
