// Guards against a mechanism that reads an array of a case file which it does
// not declare.
#include "harness/commands/case_request.h"

#include <gtest/gtest.h>

namespace attnbench {
namespace {

// The number of rows of the chunk keys that the mechanism gets.
Index ChunkKeys(const std::string& mechanism) {
  CaseFile file;
  file.mechanism = mechanism;
  for (const char* input : {"memory", "states", "chunk_keys"}) {
    file.inputs[input] = Table<double>(3, 2);
  }
  const CaseSequence arrays(file, 1);
  return arrays.sequence().inputs.further.Find("chunk_keys").rows;
}

TEST(CaseSequence, HasOnlyTheInputsThatItsMechanismDeclares) {
  EXPECT_EQ(ChunkKeys("mocha"), 3);
  EXPECT_EQ(ChunkKeys("monotonic"), 0);
}

}  // namespace
}  // namespace attnbench
