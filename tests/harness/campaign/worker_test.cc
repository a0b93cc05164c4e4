// Guards against a worker that measures something else than was asked for.
#include "harness/campaign/worker.h"

#include <gmock/gmock.h>

#include "harness/machine/roofline.h"
#include "tests/support/made_up_results.h"

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
  const Sweep sweep = ExpandSweep(asked);
  WorkerRequest request;
  request.axes = sweep.points.at(0).axes;
  for (const Cell& cell : sweep.points.at(0).cells) {
    request.cells.push_back({cell});
  }
  request.seed = (std::uint64_t{1} << 63) + 1;
  request.repetitions = 4;
  request.first_round = 12;
  request.trials = 5;
  request.peer = "a peer";
  request.peer_limit_s = 6;
  request.cell_limit_s = 7;
  request.epoch_ns = 8;
  request.most_draws = 9;
  request.cells[0].replicate = Replicate{48};
  request.cells[1].is_peers = true;
  request.cells[1].peer_approximates = true;
  const auto arrived =
      FromJson<WorkerRequest>(Json::parse(ToJson(request).dump()), "request");
  EXPECT_EQ(ToJson(arrived), ToJson(request));
  EXPECT_EQ(arrived.seed, request.seed);
  ASSERT_EQ(arrived.cells.size(), request.cells.size());
  EXPECT_GE(arrived.cells.size(), 3U);
  for (std::size_t i = 0; i < arrived.cells.size(); ++i) {
    const Cell& cell = request.cells[i];
    EXPECT_EQ(arrived.cells[i].options, cell.options);
    EXPECT_EQ(arrived.cells[i].skip_reason, cell.skip_reason);
    EXPECT_EQ(arrived.cells[i].Key(), cell.Key());
  }
}

TEST(WorkerAnswer, ArrivesAsItWasSent) {
  WorkerAnswer answer;
  answer.cells.push_back({testing::MadeUpResultCell("soft", 10, {1.5, 2.5})});
  answer.rounds = {.times = {{{"chain", 7}, {"L2", 3}}, {{"chain", 8}}},
                   .again = 1};
  const auto arrived =
      FromJson<WorkerAnswer>(Json::parse(ToJson(answer).dump()), "answer");
  ASSERT_EQ(arrived.cells.size(), 1U);
  EXPECT_EQ(arrived.cells[0].samples_ns, (std::vector<double>{1.5, 2.5}));
  EXPECT_EQ(arrived.cells[0].point, "");
  EXPECT_EQ(arrived.rounds.times, answer.rounds.times);
  EXPECT_EQ(arrived.rounds.again, 1);
  EXPECT_FALSE(arrived.failed.has_value());
}

TEST(MachineLimits, ArriveAsTheyWereSent) {
  const MachineLimits limits{
      .precision = Precision::kF64,
      .threads = 2,
      .peak_flops_per_s = 1.1e11,
      .peak_samples = {1e11, 1.1e11},
      .levels = {{.name = "L1",
                  .size_bytes = 49152,
                  .array_bytes = 100,
                  .read_bytes_per_s = 0.1,
                  .copy_bytes_per_s = 0.2,
                  .read_interval_bytes_per_s = {},
                  .copy_interval_bytes_per_s = Interval{0.14, 0.25},
                  .read_samples = {0.1},
                  .copy_samples = {0.2, 0.15}},
                 {.name = "DRAM",
                  .size_bytes = {},
                  .array_bytes = 7,
                  .read_bytes_per_s = 0.3,
                  .copy_bytes_per_s = 0.4,
                  .read_interval_bytes_per_s = {},
                  .copy_interval_bytes_per_s = {},
                  .read_samples = {0.3},
                  .copy_samples = {0.4}}}};
  EXPECT_EQ(ToJson(FromJson<MachineLimits>(ToJson(limits), "limits")),
            ToJson(limits));
}

}  // namespace
}  // namespace attnbench
