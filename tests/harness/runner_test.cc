// Guards against times of wrong outputs, and against one failing cell that
// takes the others with it.
#include "harness/runner.h"

#include <gmock/gmock.h>

#include <cmath>

#include "harness/error.h"
#include "tests/harness/fake_mechanism.h"

namespace attnbench {
namespace {

using ::attnbench::testing::Defects;
using ::attnbench::testing::FakeMechanism;
using ::testing::HasSubstr;

// A cell of the fake mechanism, everything at its default.
Cell FakeCell() {
  Cell cell;
  cell.mechanism = "fake";
  for (const Axis& axis : StandardAxes()) {
    cell.axes[axis.name] = nullptr;
    if (axis.declared) continue;
    cell.axes[axis.name] =
        axis.default_value.starts_with('=')
            ? Json(5)
            : ParseAxisValues(StandardAxes(), axis, axis.default_value, "")[0];
  }
  cell.axes["memory_length"] = 8;
  cell.axes["dim"] = 3;
  return cell;
}

RunOptions Quick() {
  return {.seed = 1, .repetitions = 4, .trials = 1, .epoch_ns = 1e4};
}

// Runs one cell for each mechanism as one point.
std::vector<Json> RunAll(const std::vector<const FakeMechanism*>& mechanisms,
                         const Cell& cell = FakeCell()) {
  const auto workload = MakeWorkload<float>({.workload = "uniform",
                                             .memory_length = 8,
                                             .output_length = 5,
                                             .dim = 3});
  const RunOptions options = Quick();
  std::vector<std::unique_ptr<CellRun>> runs;
  for (const FakeMechanism* mechanism : mechanisms) {
    runs.push_back(MakeCellRun<float>(
        StandardAxes(), cell, *mechanism,
        [&]() -> Workload<float>& { return *workload; }, options));
  }
  return RunCells(runs, 0, options, [](double) {});
}

void ExpectNoTimes(const Json& cell) {
  EXPECT_TRUE(cell["samples_ns"].empty());
  EXPECT_TRUE(cell["draw_ns"].empty());
  for (const char* key : {"trials_per_sample", "median_ns", "interval_ns",
                          "prepare_ns", "operations", "peak_memory_bytes"}) {
    EXPECT_TRUE(cell[key].is_null()) << key;
  }
}

TEST(Runner, MeasuresACellThatIsRight) {
  const FakeMechanism mechanism;
  const Json cell = RunAll({&mechanism})[0];
  EXPECT_EQ(cell["status"], "ok");
  EXPECT_TRUE(cell["message"].is_null());
  EXPECT_EQ(cell["samples_ns"].size(), 4U);
  EXPECT_GE(cell["trials_per_sample"], 1);
  EXPECT_GT(cell["median_ns"], 0);
  EXPECT_LE(cell["interval_ns"][0], cell["median_ns"]);
  EXPECT_GE(cell["interval_ns"][1], cell["median_ns"]);
  EXPECT_GT(cell["prepare_ns"], 0);
  EXPECT_EQ(cell["draw_ns"].size(), 16U);
  EXPECT_EQ(cell["operations"]["memory_rows"], 8 * 5);
  EXPECT_EQ(cell["operations"]["flops"], 8 * 5 * 3);
  EXPECT_EQ(cell["peak_memory_bytes"], 3 * sizeof(float));
  EXPECT_NEAR(cell["numerics"]["attention_mass"].get<double>(), 5, 1e-5);
  EXPECT_GT(cell["numerics"]["context_l2"], 0);
  EXPECT_EQ(cell["numerics"]["error"], 0);
}

TEST(Runner, GivesEveryKeyOfTheFormatInItsOrder) {
  const FakeMechanism mechanism;
  std::vector<std::string> expected = {"mechanism"};
  for (const Axis& axis : StandardAxes()) expected.push_back(axis.name);
  for (const char* key :
       {"options", "status", "message", "samples_ns", "trials_per_sample",
        "median_ns", "interval_ns", "prepare_ns", "draw_ns", "operations",
        "peak_memory_bytes", "numerics"}) {
    expected.emplace_back(key);
  }
  std::vector<std::string> keys;
  const Json cell = RunAll({&mechanism})[0];
  for (const auto& [key, value] : cell.items()) keys.push_back(key);
  EXPECT_EQ(keys, expected);
}

TEST(Runner, GivesAWrongOutputNoTime) {
  Defects defects;
  defects.in_step = [](int, std::span<float> context, StepResult<float>&) {
    context[0] += 0.5F;
  };
  const FakeMechanism wrong(defects);
  const FakeMechanism right;
  const auto cells = RunAll({&wrong, &right});
  EXPECT_EQ(cells[0]["status"], "invalid");
  EXPECT_THAT(cells[0]["message"].get<std::string>(),
              HasSubstr("context differs by 0.5"));
  ExpectNoTimes(cells[0]);
  EXPECT_NEAR(cells[0]["numerics"]["error"].get<double>(), 0.5, 1e-6);
  // Nothing more was decoded once the first output was seen to be wrong.
  EXPECT_EQ(wrong.num_steps(), 5);
  EXPECT_EQ(cells[1]["status"], "ok");
}

TEST(Runner, RecordsHowACellFailedAndGoesOn) {
  const struct {
    std::function<void()> defect;
    const char* status;
    const char* message;
  } failures[] = {
      {[] { throw std::bad_alloc(); }, "error",
       "needs more memory than there is"},
      {[] { throw std::runtime_error("broke"); }, "error", "broke"},
      {[] { throw Unsupported("cannot"); }, "skipped", "cannot"},
      {[] { throw WorkloadUnsupported("no data"); }, "skipped", "no data"},
      {[] { throw 7; }, "error", "threw something that is no std::exception"}};
  for (const auto& [defect, status, message] : failures) {
    Defects defects;
    defects.in_append = defect;
    const FakeMechanism failing(defects);
    const FakeMechanism right;
    const auto cells = RunAll({&failing, &right});
    EXPECT_EQ(cells[0]["status"], status);
    EXPECT_EQ(cells[0]["message"], message);
    ExpectNoTimes(cells[0]);
    EXPECT_TRUE(cells[0]["numerics"].is_null());
    EXPECT_EQ(cells[1]["status"], "ok");
  }
}

TEST(Runner, RecordsACellThatFailsWhileItIsTimed) {
  Defects defects;
  // The gate takes 2 decodes of each of 16 draws, the counts 2 more; what
  // follows is timed.
  defects.in_step = [](int call, std::span<float>, StepResult<float>&) {
    if (call >= 4 * 16 * 5) throw std::runtime_error("broke");
  };
  const FakeMechanism failing(defects);
  const FakeMechanism right;
  const auto cells = RunAll({&failing, &right});
  EXPECT_EQ(cells[0]["status"], "error");
  EXPECT_EQ(cells[0]["message"], "broke");
  ExpectNoTimes(cells[0]);
  EXPECT_EQ(cells[1]["status"], "ok");
}

TEST(Runner, SkipsWhatTheSweepRuledOutWithoutTouchingIt) {
  const FakeMechanism mechanism;
  Cell cell = FakeCell();
  cell.skip_reason = "not measurable";
  const Json result = RunAll({&mechanism}, cell)[0];
  EXPECT_EQ(result["status"], "skipped");
  EXPECT_EQ(result["message"], "not measurable");
  ExpectNoTimes(result);
  EXPECT_EQ(mechanism.num_steps(), 0);
}

TEST(Runner, TellsHowMuchIsDone) {
  const FakeMechanism mechanism;
  const RunOptions options = Quick();
  Cell cell = FakeCell();
  cell.skip_reason = "not measurable";
  std::vector<std::unique_ptr<CellRun>> runs;
  runs.push_back(MakeCellRun<float>(
      StandardAxes(), cell, mechanism,
      []() -> Workload<float>& { throw WorkloadUnsupported(""); }, options));
  std::vector<double> shares;
  RunCells(runs, 0, options, [&](double share) { shares.push_back(share); });
  ASSERT_FALSE(shares.empty());
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.back(), 1);
}

// The registered mechanisms, through the whole of a point.
SweepRequest SmallRequest() {
  SweepRequest request;
  request.axes = {{"memory_length", {9}},
                  {"output_length", {6}},
                  {"dim", {8}},
                  {"precision", {"f32", "f64"}}};
  return request;
}

std::vector<Json> RunFirstPoint(const SweepRequest& request) {
  const Sweep sweep = ExpandSweep(StandardAxes(), request);
  return RunPoint(StandardAxes(), sweep.points.at(0), 0, Quick(),
                  [](double) {});
}

TEST(RunPoint, MeasuresEveryMechanismInBothPrecisions) {
  const auto cells = RunFirstPoint(SmallRequest());
  EXPECT_GE(cells.size(), 10U);
  for (const Json& cell : cells) {
    EXPECT_EQ(cell["status"], "ok") << cell.dump();
    EXPECT_LE(cell["numerics"]["error"], cell["numerics"]["error_bound"]);
  }
}

TEST(RunPoint, GivesTheSameFiguresForEveryNumberOfThreads) {
  SweepRequest request = SmallRequest();
  request.axes["batch"] = {3};
  request.axes["threads"] = {1};
  const auto one = RunFirstPoint(request);
  request.axes["threads"] = {3};
  const auto three = RunFirstPoint(request);
  ASSERT_EQ(one.size(), three.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    for (const char* key : {"operations", "peak_memory_bytes", "numerics"}) {
      EXPECT_EQ(one[i][key], three[i][key]) << key;
    }
  }
}

TEST(RunPoint, RecordsArraysThatCannotBeAllocated) {
  SweepRequest request = SmallRequest();
  request.axes["memory_length"] = {Index{1} << 40};
  for (const Json& cell : RunFirstPoint(request)) {
    EXPECT_EQ(cell["status"], "error");
    EXPECT_EQ(cell["message"], "needs more memory than there is");
  }
}

TEST(RunPoint, PassesOnAFileThatCannotBeRead) {
  SweepRequest request = SmallRequest();
  request.axes["workload"] = {"file:absent.json"};
  EXPECT_THROW(RunFirstPoint(request), UserError);
}

}  // namespace
}  // namespace attnbench
