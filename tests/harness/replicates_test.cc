// Guards against processes that disagree and pass for one cell.
#include "harness/replicates.h"

#include <gmock/gmock.h>

#include <functional>

#include "harness/runner.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;

// What a process gave; `first` is its first sample.
Json Measured(double first) {
  SweepRequest request;
  request.alternatives = {{"soft", {}, {}}};
  const Sweep sweep = ExpandSweep(StandardAxes(), request);
  Json cell = FailedCell(StandardAxes(), sweep.points[0].cells[0], "ok", "");
  cell["message"] = nullptr;
  cell["samples_ns"] = {first, first + 1, first + 2};
  cell["prepare_samples_ns"] = {first, first};
  cell["draw_ns"] = {first, 2 * first};
  cell["trials_per_sample"] = 16;
  cell["operations"] = {{"flops", 5.0}};
  cell["latency"] = {{"ap", 0.5}, {"al", 1.0}, {"laal", 1.0}, {"dal", 2.0}};
  cell["peak_memory_bytes"] = 7;
  cell["limit"] = {{"bound", "L1"}, {"limit_ns", 10.0}, {"fraction", 0.0}};
  cell["numerics"] = {{"attention_mass", 3.0},
                      {"context_sum", 1.0},
                      {"context_l2", nullptr},
                      {"error", 1e-7},
                      {"error_bound", 1e-6}};
  return cell;
}

TEST(JoinReplicates, KeepsTheSamplesOfAllProcessesInTheirOrder) {
  const std::vector<Json> cells = {Measured(10), Measured(40), Measured(20)};
  const Json joined = JoinReplicates(cells, false);
  EXPECT_EQ(joined["status"], "ok");
  EXPECT_EQ(joined["processes"], 3);
  EXPECT_EQ(joined["samples_ns"],
            Json({10.0, 11.0, 12.0, 40.0, 41.0, 42.0, 20.0, 21.0, 22.0}));
  EXPECT_EQ(joined["prepare_samples_ns"].size(), 6U);
  EXPECT_EQ(joined["draw_ns"], Json({20.0, 40.0}));
  EXPECT_EQ(joined["operations"], cells[0]["operations"]);
  ASSERT_TRUE(joined["median_ns"].is_number());
  EXPECT_EQ(joined["limit"]["fraction"],
            10 / joined["median_ns"].get<double>());
}

TEST(JoinReplicates, IsInvalidWhereAProcessComputesSomethingElse) {
  const struct {
    const char* figure;
    std::function<void(Json&)> change;
  } changes[] = {
      {"operations", [](Json& cell) { cell["operations"]["flops"] = 6.0; }},
      {"latency", [](Json& cell) { cell["latency"]["dal"] = 2.5; }},
      {"peak_memory_bytes", [](Json& cell) { cell["peak_memory_bytes"] = 8; }},
      {"numerics.context_sum",
       [](Json& cell) { cell["numerics"]["context_sum"] = 1 + 1e-15; }},
      {"numerics.context_l2",
       [](Json& cell) { cell["numerics"]["context_l2"] = 1.0; }},
      {"numerics.error", [](Json& cell) { cell["numerics"]["error"] = 2e-7; }}};
  for (const auto& [figure, change] : changes) {
    std::vector<Json> cells = {Measured(10), Measured(20), Measured(30)};
    change(cells[1]);
    const Json joined = JoinReplicates(cells, false);
    EXPECT_EQ(joined["status"], "invalid") << figure;
    EXPECT_EQ(
        joined["message"],
        std::string(figure) + " of process 2 of 3 is not that of process 1");
    EXPECT_TRUE(joined["samples_ns"].empty());
    EXPECT_TRUE(joined["median_ns"].is_null());
    EXPECT_TRUE(joined["limit"].is_null());
    EXPECT_TRUE(joined["latency"].is_null());
  }
}

TEST(JoinReplicates, LetsOnlyAPeersSumsDifferInTheirLastDigits) {
  const auto status = [](double sum, const char* precision) {
    std::vector<Json> cells = {Measured(10), Measured(20)};
    for (Json& cell : cells) cell["precision"] = precision;
    cells[1]["numerics"]["context_sum"] = sum;
    return JoinReplicates(cells, true)["status"];
  };
  EXPECT_EQ(status(1 + 9e-6, "f32"), "ok");
  EXPECT_EQ(status(1 + 2e-5, "f32"), "invalid");
  EXPECT_EQ(status(1 + 9e-11, "f64"), "ok");
  EXPECT_EQ(status(1 + 2e-10, "f64"), "invalid");
}

}  // namespace
}  // namespace attnbench
