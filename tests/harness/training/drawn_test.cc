// Guards against examples and noise that are others than those of stored
// results, and than those that the trainer in Python draws: the tests of both
// read tests/train/drawn.json, which this program printed once.
#include <gtest/gtest.h>

#include "harness/base/json_file.h"
#include "harness/training/settings.h"
#include "mechanisms/training/noise.h"
#include "tests/support/digest.h"

namespace attnbench {
namespace {

TEST(Drawn, HeldOutExamplesAreThoseThatWereStored) {
  const Json drawn = ReadJsonFile("tests/train/drawn.json");
  int sets = 0;
  for (const Json& one : drawn["examples"]) {
    if (one["set"] == "training") continue;  // which Python alone draws
    SCOPED_TRACE(one.dump());
    const Task task =
        FromJson<TrainingSettings>(one["settings"], "settings").task_spec();
    testing::Digest digest;
    for (std::uint32_t n = 0; n < one["count"]; ++n) {
      const Example example =
          MakeExample(task, one["seed"], one["first"].get<std::uint32_t>() + n);
      digest.Add(example.tokens);
      digest.Add(example.frames);
      digest.Add(example.target);
      if (n > 0) continue;
      EXPECT_EQ(Json(example.target), one["target"]);
      EXPECT_EQ(Json(example.tokens), one["tokens"]);
      EXPECT_EQ(example.source_length(), one["length"]);
    }
    EXPECT_EQ(digest.Hex(), one["digest"]);
    ++sets;
  }
  EXPECT_GE(sets, 5);
}

TEST(Drawn, NoiseIsThatWhichWasStored) {
  const Json drawn = ReadJsonFile("tests/train/drawn.json");
  ASSERT_FALSE(drawn["noise"].empty());
  for (const Json& one : drawn["noise"]) {
    SCOPED_TRACE(one.dump());
    std::vector<float> noise;
    for (Index i = 0; i < one["outputs"]; ++i) {
      for (Index j = 0; j < one["entries"]; ++j) {
        noise.push_back(static_cast<float>(
            one["deviation"].get<double>() *
            StandardNoise(one["seed"], one["stream"], i, j)));
      }
    }
    testing::Digest digest;
    digest.Add(noise);
    EXPECT_EQ(Json(noise[0]), one["first"]);
    EXPECT_EQ(digest.Hex(), one["digest"]);
  }
}

}  // namespace
}  // namespace attnbench
