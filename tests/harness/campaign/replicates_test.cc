// Guards against processes that disagree and pass for one cell.
#include "harness/campaign/replicates.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "tests/support/made_up_results.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;

// The cell of one process; `first` is its first sample.
ResultCell Measured(double first) {
  ResultCell cell = testing::MadeUpResultCell("soft", 10, {});
  cell.samples_ns = {first, first + 1, first + 2};
  cell.prepare_samples_ns = {first, first};
  cell.draw_ns = {first, 2 * first};
  cell.latency = {.ap = 0.5, .al = 1.0, .laal = 1.0, .dal = 2.0};
  cell.limit = {.bound = "L1", .limit_ns = 10.0};
  cell.numerics = {.attention_mass = 3.0,
                   .context_sum = 1.0,
                   .context_l2 = {},
                   .error = 1e-7,
                   .error_bound = 1e-6};
  return cell;
}

ResultCell Joined(const std::vector<ResultCell>& cells, bool is_peers) {
  ResultCell joined = cells[0];
  for (std::size_t i = 1; i < cells.size() && joined.is_ok(); ++i) {
    AddProcess(cells[i], {.processes = std::ssize(cells)}, is_peers, joined);
  }
  return joined;
}

TEST(AddProcess, KeepsTheSamplesOfAllProcessesInTheirOrder) {
  const std::vector<ResultCell> cells = {Measured(10), Measured(40),
                                         Measured(20)};
  const ResultCell joined = Joined(cells, false);
  EXPECT_EQ(joined.status, CellStatus::kOk);
  EXPECT_EQ(joined.processes, 3);
  EXPECT_EQ(joined.samples_ns,
            (std::vector<double>{10, 11, 12, 40, 41, 42, 20, 21, 22}));
  EXPECT_EQ(joined.prepare_samples_ns.size(), 6U);
  EXPECT_EQ(joined.draw_ns, (std::vector<double>{10, 20}));
  EXPECT_EQ(ToJson(joined.operations), ToJson(cells[0].operations));
  ASSERT_TRUE(joined.median_ns.has_value());
  EXPECT_EQ(joined.limit->fraction, 10 / *joined.median_ns);
}

TEST(AddProcess, KeepsThePageFaultsOfTheProcessThatHadMost) {
  std::vector<ResultCell> cells = {Measured(10), Measured(20), Measured(30)};
  cells[0].page_faults = 1;
  cells[1].page_faults = 500;
  EXPECT_EQ(Joined(cells, false).page_faults, 500);
}

TEST(AddProcess, TakesTheErrorOfTheProcessThatWasChecked) {
  std::vector<ResultCell> cells = {Measured(10), Measured(20)};
  cells[1].numerics->error.reset();
  cells[1].numerics->error_bound.reset();
  const ResultCell joined = Joined(cells, false);
  EXPECT_EQ(joined.status, CellStatus::kOk);
  EXPECT_EQ(joined.numerics->error, 1e-7);
}

TEST(AddProcess, JoinsTheAttentionOfWholeDecoders) {
  std::vector<ResultCell> cells = {
      testing::MadeUpDecoderCell("soft", 10, {10, 12}),
      testing::MadeUpDecoderCell("soft", 10, {30, 32})};
  const ResultCell joined = Joined(cells, false);
  EXPECT_EQ(joined.status, CellStatus::kOk);
  EXPECT_EQ(joined.decoder->attention_samples_ns,
            (std::vector<double>{10, 12, 30, 32}));
  EXPECT_NEAR(*joined.decoder->attention_median_ns,
              std::pow(10.0 * 12 * 30 * 32, 0.25), 1e-9);
  cells[1].decoder->reads->memory_read = 0.5;
  const ResultCell other = Joined(cells, false);
  EXPECT_EQ(other.message,
            "decoder.reads of process 2 of 2 is not that of process 1");
  EXPECT_FALSE(other.decoder.has_value());
}

TEST(AddProcess, IsInvalidWhereAProcessComputesSomethingElse) {
  const struct {
    const char* figure;
    std::function<void(ResultCell&)> change;
  } changes[] = {
      {"operations", [](ResultCell& cell) { cell.operations->flops = 6; }},
      {"latency", [](ResultCell& cell) { cell.latency->dal = 2.5; }},
      {"peak_memory_bytes",
       [](ResultCell& cell) { cell.peak_memory_bytes = 8; }},
      {"numerics.context_sum",
       [](ResultCell& cell) { cell.numerics->context_sum = 1 + 1e-15; }},
      {"numerics.context_l2",
       [](ResultCell& cell) { cell.numerics->context_l2 = 1.0; }},
      {"numerics.error",
       [](ResultCell& cell) { cell.numerics->error = 2e-7; }}};
  for (const auto& [figure, change] : changes) {
    std::vector<ResultCell> cells = {Measured(10), Measured(20), Measured(30)};
    change(cells[1]);
    const ResultCell joined = Joined(cells, false);
    EXPECT_EQ(joined.status, CellStatus::kInvalid) << figure;
    EXPECT_EQ(
        joined.message,
        std::string(figure) + " of process 2 of 3 is not that of process 1");
    EXPECT_TRUE(joined.samples_ns.empty());
    EXPECT_FALSE(joined.median_ns.has_value());
    EXPECT_FALSE(joined.limit.has_value());
    EXPECT_FALSE(joined.latency.has_value());
  }
}

TEST(AddProcess, CountsOnlyBuildsThatHaveEquallyManyProcesses) {
  ResultCell joined = Measured(10);
  std::vector<std::int64_t> builds;
  for (int process = 1; process < 8; ++process) {
    AddProcess(Measured(10), {.processes = 8, .builds = 4}, false, joined);
    builds.push_back(joined.builds);
  }
  EXPECT_EQ(builds, (std::vector<std::int64_t>{2, 3, 4, 1, 1, 1, 4}));
}

TEST(AddProcess, WhatIsInvalidIsOfNoBuilds) {
  for (int good = 1; good < 8; ++good) {
    ResultCell joined = Measured(10);
    const ProcessPlan plan{.processes = 8, .builds = 4};
    for (int process = 1; process < good; ++process) {
      AddProcess(Measured(10), plan, false, joined);
    }
    ResultCell other = Measured(10);
    other.operations->flops = 6;
    AddProcess(other, plan, false, joined);
    EXPECT_EQ(joined.status, CellStatus::kInvalid);
    EXPECT_EQ(joined.builds, 1);
    EXPECT_EQ(joined.processes, 8);
  }
}

TEST(AddProcess, FailsWhereTheNextProcessFailed) {
  ResultCell joined = Measured(10);
  const ResultCell failed =
      FailedCell(Cell(), CellStatus::kTimeout, "was not finished");
  AddProcess(failed, {.processes = 4}, false, joined);
  EXPECT_EQ(joined.status, CellStatus::kTimeout);
  EXPECT_EQ(joined.message, "process 2 of 4: was not finished");
  EXPECT_EQ(joined.processes, 4);
  EXPECT_TRUE(joined.samples_ns.empty());
}

TEST(AddProcess, LetsOnlyAPeersSumsDifferInTheirLastDigits) {
  const auto status = [](double sum, const char* precision) {
    std::vector<ResultCell> cells = {Measured(10), Measured(20)};
    for (ResultCell& cell : cells) cell.axes["precision"] = precision;
    cells[1].numerics->context_sum = sum;
    return NameOf(Joined(cells, true).status);
  };
  EXPECT_EQ(status(1 + 9e-6, "f32"), "ok");
  EXPECT_EQ(status(1 + 2e-5, "f32"), "invalid");
  EXPECT_EQ(status(1 + 9e-11, "f64"), "ok");
  EXPECT_EQ(status(1 + 2e-10, "f64"), "invalid");
}

TEST(AddProcess, JudgesAPeersSumThatCancelsByTheSizeOfItsContexts) {
  const auto status = [](double sum) {
    std::vector<ResultCell> cells = {Measured(10), Measured(20)};
    for (ResultCell& cell : cells) {
      cell.axes["precision"] = "f32";
      cell.numerics->context_l2 = 100;
    }
    cells[1].numerics->context_sum = sum;
    return NameOf(Joined(cells, true).status);
  };
  EXPECT_EQ(status(1 + 9e-4), "ok");
  EXPECT_EQ(status(1 + 2e-3), "invalid");
}

}  // namespace
}  // namespace attnbench
