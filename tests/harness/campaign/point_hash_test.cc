#include "harness/campaign/point_hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "harness/system/temporary_folder.h"

namespace attnbench {
namespace {

using ::testing::MatchesRegex;

Sweep SmallSweep() {
  SweepRequest request;
  request.axes = {{"memory_length", {8, 16}}};
  request.alternatives = {{"soft", {}, {}}, {"monotonic", {}, {}}};
  return ExpandSweep(request);
}

std::string HashOf(const Sweep& sweep, std::size_t point = 0,
                   const char* build_id = "build", const char* peer = "",
                   std::int64_t num_builds = 1) {
  return PointHash(sweep, sweep.points.at(point), WorkloadFiles(sweep),
                   build_id, num_builds, peer);
}

TEST(PointHash, IsTheSameForTheSame) {
  const std::string hash = HashOf(SmallSweep());
  EXPECT_EQ(hash, HashOf(SmallSweep()));
  EXPECT_THAT(hash, MatchesRegex("[0-9a-f]{16}"));
}

TEST(PointHash, DiffersInWhateverResultsFollowFrom) {
  std::set<std::string> hashes = {HashOf(SmallSweep()), HashOf(SmallSweep(), 1),
                                  HashOf(SmallSweep(), 0, "another"),
                                  HashOf(SmallSweep(), 0, "build", "", 2)};
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
    hashes.insert(HashOf(sweep));
  }
  EXPECT_EQ(hashes.size(), 4 + std::size(changes));
}

// numpy's format 1: magic, version, length of the header, header, data.
std::string Npy(char first, char second) {
  std::string header =
      "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2), }";
  header.resize(117, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) +
         '\0' + header + first + second;
}

TEST(PointHash, DiffersIfAnArrayThatACaseNamesDoes) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/case.json";
  const std::string array = folder.path() + "/p.npy";
  std::ofstream(path)
      << R"({"mechanism": "monotonic", "inputs": {"p_choose": ")" << array
      << "\"}}";
  std::set<std::string> hashes;
  for (const char value : {'\0', '\1'}) {
    std::ofstream(array) << Npy(1, value);
    Sweep sweep = SmallSweep();
    sweep.points[0].axes["workload"] = "file:" + path;
    hashes.insert(HashOf(sweep));
  }
  EXPECT_EQ(hashes.size(), 2U);
}

TEST(PointHash, IsTheSameWhereverThePointStands) {
  Sweep sweep = SmallSweep();
  std::swap(sweep.points[0], sweep.points[1]);
  EXPECT_EQ(HashOf(sweep, 1), HashOf(SmallSweep(), 0));
  EXPECT_EQ(HashOf(sweep, 0), HashOf(SmallSweep(), 1));
}

TEST(PointHash, DiffersByThePeerWhereOneIsMeasured) {
  Sweep sweep = SmallSweep();
  EXPECT_EQ(HashOf(sweep, 0, "build", "one"), HashOf(sweep));
  sweep.points[0].cells[1].is_peers = true;
  EXPECT_NE(HashOf(sweep, 0, "build", "one"),
            HashOf(sweep, 0, "build", "another"));
}

TEST(PointHash, DiffersWhereTheCaseFileDoes) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/case.json";
  Sweep sweep = SmallSweep();
  sweep.points[0].axes["workload"] = "file:" + path;
  const auto hash_of = [&](const char* inputs) {
    std::ofstream(path) << R"({"mechanism": "soft", "inputs": )" << inputs
                        << "}";
    return HashOf(sweep);
  };
  const std::string hash = hash_of(R"({"energies": [[1]]})");
  EXPECT_EQ(hash_of(R"({"energies": [[1]]})"), hash);
  const WorkloadFiles files(sweep);
  EXPECT_TRUE(files.AreUnchanged(sweep.points[0]));
  EXPECT_NE(hash_of(R"({"energies": [[2]]})"), hash);
  EXPECT_FALSE(files.AreUnchanged(sweep.points[0]));
  EXPECT_TRUE(files.AreUnchanged(sweep.points[1]));
}

}  // namespace
}  // namespace attnbench
