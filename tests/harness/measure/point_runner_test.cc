// Guards against times of wrong outputs, and against one failing cell that
// takes the others with it.
#include "harness/measure/point_runner.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "harness/base/error.h"
#include "harness/results/sweep_result.h"
#include "harness/system/pages.h"
#include "tests/harness/measure/fake_mechanism.h"
#include "tests/harness/measure/fake_training.h"

namespace attnbench {
namespace {

using ::attnbench::testing::Defects;
using ::attnbench::testing::FakeMechanism;
using ::attnbench::testing::FakeTraining;
using ::testing::HasSubstr;

// A cell of the fake mechanism, with everything at its default.
Cell FakeCell() {
  Cell cell;
  cell.mechanism = "fake";
  for (const Axis& axis : AllAxes()) {
    cell.axes[axis.name] = nullptr;
    if (axis.declared || axis.of_decoder) continue;
    cell.axes[axis.name] =
        axis.default_value.starts_with('=')
            ? AxisValue(5)
            : ParseAxisValues(axis, axis.default_value, "")[0];
  }
  cell.axes["memory_length"] = 8;
  cell.axes["dim"] = 3;
  return cell;
}

std::vector<Json> AsJson(const std::vector<ResultCell>& cells) {
  std::vector<Json> json;
  for (const ResultCell& cell : cells) json.push_back(ToJson(cell));
  return json;
}

RunOptions Quick() {
  return {.seed = 1, .repetitions = 4, .trials = 1, .epoch_ns = 1e4};
}

// Runs one cell for each mechanism as one point.
std::vector<Json> RunAll(const std::vector<const Mechanism<float>*>& mechanisms,
                         const Cell& cell = FakeCell()) {
  PointInputs<float> inputs({.workload = "uniform",
                             .memory_length = 8,
                             .output_length = 5,
                             .dim = 3,
                             .batch = cell.axes.at("batch").whole()});
  const RunOptions options = Quick();
  std::vector<std::unique_ptr<CellRun>> runs;
  for (const Mechanism<float>* mechanism : mechanisms) {
    runs.push_back(MakeCellRun<float>(
        cell, *mechanism, [&]() -> PointInputs<float>& { return inputs; },
        options));
  }
  return AsJson(RunCells(runs, 0, options, [](std::size_t, double) {}));
}

TEST(Runner, CountsThePagesThatTheSystemClearsForATrial) {
  constexpr Index kPages = 64;
  const FakeMechanism clean;
  const FakeMechanism faulting(
      Defects{.in_step = [](int, std::span<float>, StepResult<float>&) {
        const Pages pages(kPages * sysconf(_SC_PAGESIZE));
        std::ranges::fill(pages.as<char>(), char{1});
      }});
  const std::vector<Json> cells = RunAll({&clean, &faulting});
  EXPECT_LE(cells[0]["page_faults"], 16);
  EXPECT_GE(cells[1]["page_faults"], 5 * kPages) << "5 outputs";
}

void ExpectNoTimes(const Json& cell) {
  EXPECT_TRUE(cell["samples_ns"].empty());
  EXPECT_TRUE(cell["draw_ns"].empty());
  for (const char* key :
       {"trials_per_sample", "median_ns", "interval_ns", "prepare_ns",
        "operations", "peak_memory_bytes", "limit"}) {
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
  EXPECT_EQ(cell["prepare_samples_ns"].size(), 4U) << "one a round";
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
  std::set<std::string> elsewhere = {"band", "decoder", "instructions"};
  for (const Axis& axis : AllAxes()) {
    if (axis.of_decoder) elsewhere.insert(axis.name);
  }
  const Json schema = SweepSchema();
  std::vector<std::string> expected;
  for (const auto& [key, value] :
       schema["properties"]["cells"]["items"]["properties"].items()) {
    if (!elsewhere.contains(key)) expected.push_back(key);
  }
  ASSERT_EQ(expected[0], "mechanism");
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
  // Nothing more was decoded after the first wrong output.
  EXPECT_EQ(wrong.num_steps(), 5);
  EXPECT_EQ(cells[1]["status"], "ok");
}

TEST(Runner, ComparesDecodingInTheFirstOfSeveralProcessesOnly) {
  Cell cell = FakeCell();
  cell.replicate = Replicate{16};
  const FakeMechanism mechanism;
  const Json first = RunAll({&mechanism})[0];
  const Json later = RunAll({&mechanism}, cell)[0];
  EXPECT_EQ(later["status"], "ok");
  EXPECT_TRUE(later["numerics"]["error"].is_null());
  EXPECT_TRUE(later["numerics"]["error_bound"].is_null());
  EXPECT_EQ(later["numerics"]["context_sum"], first["numerics"]["context_sum"]);
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
  // The gate takes 2 decodes of each of 16 draws and an output, the counts 2
  // decodes more; the rest is timed.
  defects.in_step = [](int call, std::span<float>, StepResult<float>&) {
    if (call >= 4 * 16 * 5 + 1) throw std::runtime_error("broke");
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
      cell, mechanism,
      []() -> PointInputs<float>& { throw WorkloadUnsupported(""); }, options));
  runs.push_back(MakeCellRun<float>(
      cell, mechanism,
      []() -> PointInputs<float>& { throw WorkloadUnsupported(""); }, options));
  std::vector<double> shares;
  std::vector<std::size_t> cells;
  RunCells(runs, 0, options, [&](std::size_t index, double share) {
    cells.push_back(index);
    shares.push_back(share);
  });
  // Each cell has these steps: checks, rounds in any order, each draw alone.
  ASSERT_EQ(shares.size(), 2U * (4 + 2));
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.front(), 0);
  EXPECT_LT(shares.back(), 1);
  EXPECT_EQ(std::count(cells.begin(), cells.end(), 0U), 4 + 2);
  EXPECT_EQ((std::vector<std::size_t>{cells[0], cells[1]}),
            (std::vector<std::size_t>{0, 1}));
}

Cell TrainingCell(const char* mode, const char* scope) {
  Cell cell = FakeCell();
  cell.axes["mode"] = mode;
  cell.axes["scope"] = scope;
  cell.axes["schedule"] = "teacher_forced";
  cell.axes["batch"] = 2;
  return cell;
}

TEST(Runner, MeasuresTrainingFromStatesToContexts) {
  const FakeTraining mechanism;
  for (const char* mode : {"expect", "gradient"}) {
    const Json cell = RunAll({&mechanism}, TrainingCell(mode, "full"))[0];
    EXPECT_EQ(cell["status"], "ok") << cell["message"];
    EXPECT_EQ(cell["samples_ns"].size(), 4U);
    EXPECT_EQ(cell["draw_ns"].size(), 16U);
    EXPECT_TRUE(cell["prepare_ns"].is_null()) << "nothing is apart";
    EXPECT_EQ(cell["operations"]["energies"], 2 * 8 * 5);
    // Each of two sequences allocates this; outputs are not its own.
    EXPECT_EQ(cell["peak_memory_bytes"],
              mode == std::string("expect") ? 2 * 3 * sizeof(float) : 0);
    EXPECT_TRUE(cell["numerics"]["attention_mass"].is_number());
    EXPECT_GT(cell["numerics"]["context_l2"], 0);
    EXPECT_EQ(cell["numerics"]["error"], 0);
    EXPECT_GT(cell["numerics"]["error_bound"], 0);
  }
}

TEST(Runner, MeasuresTrainingFromScoresToAttention) {
  const FakeTraining mechanism;
  Json masses = Json::array();
  for (const char* mode : {"expect", "gradient"}) {
    const Json cell = RunAll({&mechanism}, TrainingCell(mode, "attention"))[0];
    EXPECT_EQ(cell["status"], "ok") << cell["message"];
    EXPECT_TRUE(cell["numerics"]["context_sum"].is_null());
    EXPECT_TRUE(cell["numerics"]["context_l2"].is_null());
    masses.push_back(cell["numerics"]["attention_mass"]);
  }
  EXPECT_TRUE(masses[0].is_number());
  EXPECT_EQ(masses[0], masses[1]) << "gradients have the forward pass's";
}

TEST(Runner, GivesAWrongGradientNoTime) {
  const FakeTraining wrong([](int, const TrainingSequence<float>& made) {
    made.gradients.states(4, 2) += 0.5F;
  });
  const FakeTraining right;
  const auto cells = RunAll({&wrong, &right}, TrainingCell("gradient", "full"));
  EXPECT_EQ(cells[0]["status"], "invalid");
  EXPECT_THAT(cells[0]["message"].get<std::string>(),
              HasSubstr("gradient of states [5, 3]"));
  ExpectNoTimes(cells[0]);
  EXPECT_EQ(wrong.num_calls(), 1) << "nothing more was run";
  EXPECT_EQ(cells[1]["status"], "ok");
}

// The gate runs each of 2 sequences alone and in a batch, for 16 draws.
TEST(Runner, SeesWhatIsNotFiniteWhereTheGateDidNotLook) {
  const auto defect = [](int call, const TrainingSequence<float>& made) {
    if (call < 2 * 2 * 16) return;
    made.gradients.scores.Find("energies")(0, 0) =
        std::numeric_limits<float>::infinity();
  };
  const FakeTraining late(defect);
  Cell cell = TrainingCell("gradient", "attention");
  const Json failed = RunAll({&late}, cell)[0];
  EXPECT_EQ(failed["status"], "invalid");
  EXPECT_EQ(failed["message"], "an output of draw 0 is not finite");
  ExpectNoTimes(failed);
  cell.axes["variant"] = "published";
  const FakeTraining published(defect);
  EXPECT_EQ(RunAll({&published}, cell)[0]["status"], "ok");
  cell.axes["variant"] = "bounded";
  cell.options["bound"] = 0.01;
  const FakeTraining bounded(defect);
  EXPECT_EQ(RunAll({&bounded}, cell)[0]["status"], "invalid");
}

TEST(Runner, RecordsTheErrorOfAPublishedVariantWithoutABound) {
  const FakeTraining wrong([](int, const TrainingSequence<float>& made) {
    made.expectation.attention(0, 0) += 0.25F;
  });
  Cell cell = TrainingCell("expect", "attention");
  cell.axes["variant"] = "published";
  const Json result = RunAll({&wrong}, cell)[0];
  EXPECT_EQ(result["status"], "ok");
  EXPECT_NEAR(result["numerics"]["error"].get<double>(), 0.25, 1e-6);
  EXPECT_TRUE(result["numerics"]["error_bound"].is_null());
}

// Registered mechanisms go through the whole of a point.
SweepRequest SmallRequest() {
  SweepRequest request;
  request.axes = {{"memory_length", {9}},
                  {"output_length", {6}},
                  {"dim", {8}},
                  {"precision", {"f32", "f64"}}};
  return request;
}

std::vector<Json> RunFirstPoint(const SweepRequest& request) {
  const Sweep sweep = ExpandSweep(request);
  return AsJson(
      RunPoint(sweep.points.at(0), Quick(), [](std::size_t, double) {}));
}

// The cells of a point in the order in which its steps begin.
std::vector<std::size_t> OrderOf(const Point& point) {
  std::vector<std::size_t> order;
  RunPoint(point, Quick(),
           [&order](std::size_t cell, double) { order.push_back(cell); });
  return order;
}

TEST(RunPoint, TheOrderOfRoundsIsThatOfThePointWhereverItStands) {
  SweepRequest request = SmallRequest();
  request.axes["memory_length"] = {9, 10};
  const Sweep sweep = ExpandSweep(request);
  request.axes["memory_length"] = {8, 9};
  const Sweep other = ExpandSweep(request);
  ASSERT_EQ(other.points[1].axes, sweep.points[0].axes);
  EXPECT_EQ(OrderOf(other.points[1]), OrderOf(sweep.points[0]));
  EXPECT_NE(OrderOf(sweep.points[1]), OrderOf(sweep.points[0]));
}

TEST(RunPoint, ItsArraysHaveTheGapsOfTheProcess) {
  for (const auto& [precision, scope, workload] :
       {std::array{"f32", "full", "uniform"},
        {"f64", "full", "uniform"},
        {"f32", "decoder", "copy:1"}}) {
    SweepRequest request = SmallRequest();
    request.alternatives = {{"soft", {}, {}}};
    request.axes["precision"] = {precision};
    request.axes["scope"] = {scope};
    request.axes["workload"] = {workload};
    ArrayGaps gaps{.seed = 1};
    RunOptions options = Quick();
    options.gaps = &gaps;
    const Sweep sweep = ExpandSweep(request);
    RunPoint(sweep.points.at(0), options, [](std::size_t, double) {});
    EXPECT_GT(gaps.count, 3U) << precision << " " << scope;
  }
}

TEST(RunPoint, MeasuresEveryMechanismInBothPrecisions) {
  const auto cells = RunFirstPoint(SmallRequest());
  EXPECT_GE(cells.size(), 10U);
  for (const Json& cell : cells) {
    EXPECT_EQ(cell["status"], "ok") << cell.dump();
    EXPECT_LE(cell["numerics"]["error"], cell["numerics"]["error_bound"]);
  }
}

TEST(RunPoint, TimesWholeDecodersAndTheirAttentionAlone) {
  SweepRequest request;
  request.axes = {{"memory_length", {9}},   {"dim", {16}},
                  {"batch", {3}},           {"beam", {2}},
                  {"vocabulary", {7}},      {"scope", {"decoder"}},
                  {"energy", {"additive"}}, {"workload", {"copy:1"}}};
  for (const char* name : {"none", "memory", "soft", "monotonic"}) {
    request.alternatives.push_back({name, {}, {}});
  }
  const auto cells = RunFirstPoint(request);
  ASSERT_EQ(cells.size(), 4U);
  for (const Json& cell : cells) {
    EXPECT_EQ(cell["status"], "ok") << cell.dump();
    EXPECT_LE(cell["numerics"]["error"], cell["numerics"]["error_bound"]);
    EXPECT_EQ(cell["trials_per_sample"], 1);
    EXPECT_EQ(cell["samples_ns"].size(), 4U);
    const Json& decoder = cell["decoder"];
    EXPECT_EQ(decoder["source_lengths"].size(), 3U + 1);
    const bool has_attention = cell["mechanism"] != "none";
    EXPECT_EQ(decoder["attention_samples_ns"].size(), has_attention ? 4U : 0U);
    EXPECT_EQ(decoder["attention_median_ns"].is_null(), !has_attention);
    EXPECT_EQ(decoder["reads"].is_null(), !has_attention);
  }
  EXPECT_EQ(cells[2]["decoder"]["reads"]["memory_read"], 1);
}

TEST(RunPoint, SkipsTheModelWithoutAttentionWhereAttentionIsTimed) {
  SweepRequest request = SmallRequest();
  request.alternatives = {{"none", {}, {}}};
  for (const Json& cell : RunFirstPoint(request)) {
    EXPECT_EQ(cell["status"], "skipped");
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

TEST(RunPoint, TrainsEveryMechanismInEveryScopeOnAnyNumberOfThreads) {
  SweepRequest request = SmallRequest();
  request.axes["mode"] = {"expect", "gradient"};
  request.axes["scope"] = {"full", "attention"};
  request.axes["batch"] = {3};
  request.axes["threads"] = {1, 3};
  for (const char* workload : {"uniform", "wait_k:2"}) {
    request.axes["workload"] = {workload};
    const auto cells = RunFirstPoint(request);
    EXPECT_GE(cells.size(), 5U * 2 * 2 * 2 * 2);
    std::map<std::string, Json> figures;  // the key is all axes but threads
    for (const Json& cell : cells) {
      // The mechanisms say which of them can start from p_choose.
      if (workload == std::string("uniform")) {
        EXPECT_EQ(cell["status"], "ok") << cell.dump();
      }
      if (cell["status"] == "skipped") continue;
      EXPECT_EQ(cell["status"], "ok") << cell.dump();
      EXPECT_LE(cell["numerics"]["error"], cell["numerics"]["error_bound"]);
      std::string key = cell["mechanism"];
      for (const char* axis : {"mode", "scope", "precision"}) {
        key += " " + cell[axis].get<std::string>();
      }
      const Json counted = {cell["operations"], cell["peak_memory_bytes"],
                            cell["numerics"]};
      EXPECT_EQ(figures.try_emplace(key, counted).first->second, counted)
          << key;
    }
    EXPECT_GE(figures.size(), 8U);
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
