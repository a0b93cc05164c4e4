// Guards against cells of a sweep whose latency is not that of what was
// decoded, is missing, or stands where nothing is decoded online.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "harness/measure/point_runner.h"

namespace attnbench {
namespace {

std::vector<Json> Cells(
    const std::string& workload,
    std::map<std::string, std::vector<AxisValue>> axes = {}) {
  SweepRequest request;
  request.axes = {{"memory_length", {12}},
                  {"output_length", {12}},
                  {"dim", {4}},
                  {"workload", {workload}}};
  for (const auto& [name, values] : axes) request.axes[name] = values;
  const Sweep sweep = ExpandSweep(request);
  const RunOptions options{
      .seed = 1, .repetitions = 1, .trials = 1, .epoch_ns = 1e3};
  std::vector<Json> cells;
  for (const ResultCell& cell :
       RunPoint(sweep.points.at(0), options, [](std::size_t, double) {})) {
    cells.push_back(ToJson(cell));
  }
  return cells;
}

TEST(LatencyOfACell, IsKWhereADecoderWaitsForKEntries) {
  int online = 0;
  for (const Json& cell : Cells("wait_k:3", {{"batch", {2}}})) {
    if (cell.at("status") != "ok") continue;
    ++online;
    const Json& latency = cell.at("latency");
    EXPECT_EQ(latency.at("al"), 3.0) << cell.at("mechanism");
    EXPECT_EQ(latency.at("laal"), 3.0);
    EXPECT_EQ(latency.at("dal"), 3.0);
    // The delays are 3, 4, .. 12, 12, 12 of 12.
    EXPECT_EQ(latency.at("ap"), 99.0 / 144);
  }
  EXPECT_EQ(online, 3);
}

TEST(LatencyOfACell, IsThatOfNeverChoosingWhereNothingIsChosen) {
  for (const char* end : {"absorb", "stay_last", "restart"}) {
    for (const Json& cell : Cells("bias:-100", {{"end", {end}}})) {
      const Json& latency = cell.at("latency");
      const bool is_online =
          cell.at("mechanism") != "soft" && cell.at("mechanism") != "memory";
      ASSERT_EQ(cell.at("status"), "ok");
      ASSERT_EQ(latency.is_object(), is_online) << cell.at("mechanism");
      if (!is_online) continue;
      EXPECT_EQ(latency.at("ap"), 1.0);
      EXPECT_EQ(latency.at("al"), 12.0);
      EXPECT_EQ(latency.at("dal"), 12.0);
    }
  }
}

TEST(LatencyOfACell, IsOfDecodingOnly) {
  for (const Json& cell : Cells("uniform", {{"mode", {"expect"}}})) {
    EXPECT_EQ(cell.at("status"), "ok");
    EXPECT_TRUE(cell.at("latency").is_null());
  }
}

TEST(LatencyOfACell, IsAMeanOverDrawsAndSequences) {
  // Each draw has a batch of two, whose latencies are averaged.
  for (const Json& cell : Cells("uniform", {{"batch", {2}}})) {
    if (cell.at("latency").is_null()) continue;
    const double ap = cell.at("latency").at("ap");
    EXPECT_GT(ap, 1.0 / 12);
    EXPECT_LT(ap, 1);
    // The 16 draws of two sequences read whole numbers of entries.
    const double entries = ap * 144 * 32;
    EXPECT_NEAR(entries, std::round(entries), 1e-6);
  }
}

}  // namespace
}  // namespace attnbench
