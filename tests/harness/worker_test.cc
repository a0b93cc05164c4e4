// Guards against a worker that measures something else than was asked for.
#include "harness/worker.h"

#include <gmock/gmock.h>

#include "harness/roofline.h"

namespace attnbench {
namespace {

TEST(WorkerRequest, ArrivesAsItWasSent) {
  SweepRequest asked;
  asked.axes = {{"chunk_width", {"inf", 3}}, {"memory_length", {8}}};
  asked.options = {{"threshold", {0.25}},
                   {"keys", {std::string("on_demand")}},
                   {"strict", {true}}};
  asked.alternatives = {{"mocha", {}, {}}, {"soft", {}, {}}};
  asked.alternatives[1].axes = {{"variant", {"moving_sum"}}};
  const Sweep sweep = ExpandSweep(StandardAxes(), asked);
  WorkerRequest request{.point = sweep.points.at(0),
                        .seed = (std::uint64_t{1} << 63) + 1,
                        .repetitions = 4,
                        .trials = 5,
                        .peer = "a peer",
                        .peer_limit_s = 6,
                        .cell_limit_s = 7};
  request.point.cells[0].trials_per_sample = 48;
  request.point.cells[1].is_peers = true;
  request.point.cells[1].peer_approximates = true;
  const WorkerRequest arrived =
      ParseWorkerRequest(Json::parse(ToJson(request).dump()));
  EXPECT_EQ(ToJson(arrived), ToJson(request));
  EXPECT_EQ(arrived.seed, request.seed);
  ASSERT_EQ(arrived.point.cells.size(), request.point.cells.size());
  EXPECT_GE(arrived.point.cells.size(), 3U);
  for (std::size_t i = 0; i < arrived.point.cells.size(); ++i) {
    const Cell& cell = request.point.cells[i];
    EXPECT_EQ(arrived.point.cells[i].options, cell.options);
    EXPECT_EQ(arrived.point.cells[i].skip_reason, cell.skip_reason);
    EXPECT_EQ(CellKey(StandardAxes(), arrived.point.cells[i]),
              CellKey(StandardAxes(), cell));
  }
}

TEST(MachineLimits, ArriveAsTheyWereSent) {
  const MachineLimits limits{.precision = "f64",
                             .threads = 2,
                             .peak_flops_per_s = 1.1e11,
                             .peak_samples = {1e11, 1.1e11},
                             .levels = {{.name = "L1",
                                         .size_bytes = 49152,
                                         .array_bytes = 100,
                                         .read_bytes_per_s = 0.1,
                                         .copy_bytes_per_s = 0.2,
                                         .read_samples = {0.1},
                                         .copy_samples = {0.2, 0.15}},
                                        {.name = "DRAM",
                                         .size_bytes = {},
                                         .array_bytes = 7,
                                         .read_samples = {},
                                         .copy_samples = {}}}};
  EXPECT_EQ(ToJson(LimitsOf(ToJson(limits))), ToJson(limits));
}

}  // namespace
}  // namespace attnbench
