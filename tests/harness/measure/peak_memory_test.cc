// Guards against results that leave out an algorithm's memory: claims about it
// (MoChA appendix C) could then not be measured.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "harness/measure/point_runner.h"

namespace attnbench {
namespace {

constexpr Index kReal = sizeof(double);

// The peak_memory_bytes by variant, of one output over T entries in scope
// attention.
std::map<std::string, Index> PeakBytes(const std::string& mechanism, Index T,
                                       const std::vector<AxisValue>& variants) {
  SweepRequest request;
  request.axes = {
      {"memory_length", {T}}, {"output_length", {1}},   {"dim", {2}},
      {"mode", {"expect"}},   {"scope", {"attention"}}, {"precision", {"f64"}}};
  request.alternatives = {{mechanism, {{"variant", variants}}, {}}};
  const Sweep sweep = ExpandSweep(request);
  const RunOptions options{
      .seed = 1, .repetitions = 1, .trials = 1, .epoch_ns = 1e3};
  std::map<std::string, Index> bytes;
  for (const ResultCell& cell :
       RunPoint(sweep.points[0], options, [](std::size_t, double) {})) {
    EXPECT_TRUE(cell.is_ok()) << cell.message.value_or("");
    bytes[cell.Text("variant")] = cell.peak_memory_bytes.value_or(0);
  }
  return bytes;
}

// All have these arrays [T]: start, p, and the tables of p, alpha and
// attention.
constexpr Index kCommon = 5;

TEST(PeakMemory, OfMatchasPublishedAlgorithmsIsLinearAndQuadratic) {
  for (const Index T : {Index{16}, Index{64}}) {
    const auto bytes = PeakBytes("matcha", T, {"nested", "partial_sums"});
    // It adds the table of u and exp(u).
    EXPECT_EQ(bytes.at("nested"), kReal * (kCommon + 2) * T);
    // It adds these, all partial sums, and a product and a sum for each entry.
    EXPECT_EQ(bytes.at("partial_sums"), kReal * (T * T + (kCommon + 4) * T));
  }
}

TEST(PeakMemory, OfEveryPublishedExpectationIsCounted) {
  const Index T = 16;
  EXPECT_EQ(PeakBytes("monotonic", T, {"parallel"}).at("parallel"),
            kReal * kCommon * T);
  const auto bytes = PeakBytes("mocha", T, {"nested", "moving_sum", "clipped"});
  // It adds the table of u, exp(u) and sums over chunks.
  EXPECT_EQ(bytes.at("nested"), kReal * (kCommon + 3) * T);
  // It also adds the sums over the chunks that an entry is in.
  EXPECT_EQ(bytes.at("clipped"), kReal * (kCommon + 4) * T);
  // It also adds their cumulative sums, one more than there are entries.
  EXPECT_EQ(bytes.at("moving_sum"), kReal * ((kCommon + 5) * T + 1));
}

}  // namespace
}  // namespace attnbench
