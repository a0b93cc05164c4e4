#include "harness/point_hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <set>
#include <string>

namespace attnbench {
namespace {

using testing::MatchesRegex;

Sweep SmallSweep() {
  SweepRequest request;
  request.axes = {{"memory_length", {8, 16}}};
  request.alternatives = {{"soft", {}, {}}, {"monotonic", {}, {}}};
  return ExpandSweep(StandardAxes(), request);
}

TEST(PointHash, IsTheSameForTheSame) {
  const std::string hash = PointHash(StandardAxes(), SmallSweep(), 0, "build");
  EXPECT_EQ(hash, PointHash(StandardAxes(), SmallSweep(), 0, "build"));
  EXPECT_THAT(hash, MatchesRegex("[0-9a-f]{16}"));
}

TEST(PointHash, DiffersInWhateverResultsFollowFrom) {
  std::set<std::string> hashes = {
      PointHash(StandardAxes(), SmallSweep(), 0, "build"),
      PointHash(StandardAxes(), SmallSweep(), 1, "build"),
      PointHash(StandardAxes(), SmallSweep(), 0, "another")};
  const std::function<void(Sweep&)> changes[] = {
      [](Sweep& sweep) { ++sweep.seed; },
      [](Sweep& sweep) { ++sweep.repetitions; },
      [](Sweep& sweep) { ++sweep.trials; },
      [](Sweep& sweep) { ++sweep.processes; },
      [](Sweep& sweep) { sweep.points[0].axes["batch"] = 2; },
      [](Sweep& sweep) { sweep.points[0].cells.pop_back(); },
      [](Sweep& sweep) { sweep.points[0].cells[0].axes["threads"] = 2; },
      [](Sweep& sweep) { sweep.points[0].cells[1].options["threshold"] = 0.7; },
      [](Sweep& sweep) { sweep.points[0].cells[0].skip_reason = "no core"; }};
  for (const auto& change : changes) {
    Sweep sweep = SmallSweep();
    change(sweep);
    hashes.insert(PointHash(StandardAxes(), sweep, 0, "build"));
  }
  EXPECT_EQ(hashes.size(), 3 + std::size(changes));
}

TEST(PointHash, DiffersWhereTheCaseFileDoes) {
  const std::string path = testing::TempDir() + "point_hash_test.json";
  Sweep sweep = SmallSweep();
  sweep.points[0].axes["workload"] = "file:" + path;
  const auto hash_of = [&](const char* text) {
    std::ofstream(path) << text;
    return PointHash(StandardAxes(), sweep, 0, "build");
  };
  const std::string hash = hash_of(R"({"inputs": 1})");
  EXPECT_EQ(hash_of(R"({"inputs":1})"), hash);
  EXPECT_NE(hash_of(R"({"inputs": 2})"), hash);
}

}  // namespace
}  // namespace attnbench
