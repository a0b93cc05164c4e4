// Guards against sweeps that measure a cell twice, drop one, or cross an axis
// that a mechanism does not have; and against an axis that has to be written
// down in more than one place.
#include "harness/sweep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "harness/commands/commands.h"
#include "tests/support/error_text.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const SweepRequest& request) {
  return testing::ErrorText([&] { ExpandSweep(request); });
}

// A request for these mechanisms on one small point.
SweepRequest SmallRequest(const std::vector<std::string>& mechanisms) {
  SweepRequest request;
  request.axes["memory_length"] = {3};
  for (const std::string& name : mechanisms) {
    request.alternatives.push_back({name, {}, {}});
  }
  return request;
}

std::vector<Cell> AllCells(const Sweep& sweep) {
  std::vector<Cell> cells;
  for (const Point& point : sweep.points) {
    cells.insert(cells.end(), point.cells.begin(), point.cells.end());
  }
  return cells;
}

TEST(ExpandSweep, WithoutARequestEveryMechanismIsMeasuredWithDefaults) {
  const Sweep sweep = ExpandSweep({});
  ASSERT_EQ(sweep.points.size(), 1U);
  ASSERT_EQ(sweep.points[0].cells.size(), MechanismNames().size());
  const Cell& cell = sweep.points[0].cells[0];
  EXPECT_EQ(cell.Int("memory_length"), 100);
  EXPECT_EQ(cell.Int("output_length"), 100);
  EXPECT_EQ(cell.Text("precision"), "f32");
  EXPECT_EQ(cell.skip_reason, std::nullopt);
}

TEST(ExpandSweep, PointsAreInTheTablesOrderWithTheLastAxisFastest) {
  SweepRequest request = SmallRequest({"soft", "monotonic"});
  request.axes["dim"] = {8, 4};
  request.axes["memory_length"] = {3, 2};
  request.axes["precision"] = {"f32", "f64"};
  const Sweep sweep = ExpandSweep(request);
  std::vector<std::string> points;
  for (const Point& point : sweep.points) {
    points.push_back(point.axes["memory_length"].Shown() + " " +
                     point.axes["dim"].Shown());
    EXPECT_EQ(point.cells.size(), 4U);
    for (const Cell& cell : point.cells) {
      EXPECT_EQ(cell.axes["dim"], point.axes["dim"]);
    }
  }
  EXPECT_THAT(points, ::testing::ElementsAre("3 8", "3 4", "2 8", "2 4"));
}

TEST(ExpandSweep, AnAxisThatIsNotDeclaredIsNullAndNotCrossed) {
  SweepRequest request = SmallRequest({"soft", "mocha"});
  request.axes["chunk_width"] = {2, 8, "inf"};
  const std::vector<Cell> cells = AllCells(ExpandSweep(request));
  ASSERT_EQ(cells.size(), 4U);
  EXPECT_TRUE(cells[0].axes["chunk_width"].is_null());
  EXPECT_EQ(cells[1].Int("chunk_width"), 2);
  EXPECT_EQ(cells[3].Int("chunk_width"), kInfiniteWidth);
}

TEST(ExpandSweep, AReferenceTakesTheValueOfItsPointOrCell) {
  SweepRequest request = SmallRequest({"mocha"});
  request.axes["memory_length"] = {5, 7};
  request.axes["output_length"] = {"=T", 5};
  request.axes["chunk_width"] = {"=U"};
  const std::vector<Cell> cells = AllCells(ExpandSweep(request));
  ASSERT_EQ(cells.size(), 3U) << "T=5 has U=5 twice";
  EXPECT_EQ(cells[0].Int("output_length"), 5);
  EXPECT_EQ(cells[1].Int("output_length"), 7);
  EXPECT_EQ(cells[1].Int("chunk_width"), 7);
  EXPECT_EQ(cells[2].Int("chunk_width"), 5);
}

TEST(ExpandSweep, AReferenceWithoutANumberOfItsOwnIsRefused) {
  SweepRequest request = SmallRequest({"mocha"});
  request.axes["output_length"] = {"=w"};
  EXPECT_THAT(ErrorOf(request), HasSubstr("differs between the cells"));
  request.axes["output_length"] = {"=T"};
  request.axes["memory_length"] = {"=U"};
  EXPECT_THAT(ErrorOf(request), HasSubstr("which leads back to"));
  request = SmallRequest({"soft"});
  request.axes["threads"] = {"=K"};
  EXPECT_THAT(ErrorOf(request), HasSubstr("num_contexts, which a mechanism"));
  request.axes["threads"] = {"=T"};
  request.axes["memory_length"] = {1'000'000};
  EXPECT_THAT(ErrorOf(request), HasSubstr("threads: '=T': 1000000 is out of"));
}

TEST(ExpandSweep, AnAlternativesOwnValuesReplaceTheCommonOnes) {
  SweepRequest request = SmallRequest({"monotonic", "monotonic", "soft"});
  request.axes["end"] = {"absorb"};
  request.alternatives[1].axes["end"] = {"stay_last", "absorb"};
  const std::vector<Cell> cells = AllCells(ExpandSweep(request));
  ASSERT_EQ(cells.size(), 3U) << "absorb is asked for twice";
  EXPECT_EQ(cells[0].Text("end"), "absorb");
  EXPECT_EQ(cells[1].Text("end"), "stay_last");
  EXPECT_TRUE(cells[2].axes["end"].is_null());
  request.alternatives[2].axes["end"] = {"absorb"};
  EXPECT_THAT(ErrorOf(request), HasSubstr("soft does not have this axis"));
}

TEST(ExpandSweep, WhatAMechanismDoesNotHaveIsSkippedWithTheReason) {
  SweepRequest request = SmallRequest({"soft", "memory"});
  request.axes["schedule"] = {"teacher_forced"};
  std::vector<Cell> cells = AllCells(ExpandSweep(request));
  EXPECT_EQ(cells[0].skip_reason, std::nullopt);
  EXPECT_THAT(cells[1].skip_reason.value_or(""),
              HasSubstr("schedule teacher_forced is not one of memory's"));
  request = SmallRequest({"memory"});
  request.axes["variant"] = {"published_O3"};
  cells = AllCells(ExpandSweep(request));
  EXPECT_THAT(cells[0].skip_reason.value_or(""), HasSubstr("variant"));
  request = SmallRequest({"soft"});
  request.axes["scope"] = {"attention"};
  cells = AllCells(ExpandSweep(request));
  EXPECT_THAT(cells[0].skip_reason.value_or(""), HasSubstr("scope full"));
}

SweepRequest DecoderRequest(const std::vector<std::string>& mechanisms) {
  SweepRequest request = SmallRequest(mechanisms);
  request.axes["scope"] = {"decoder"};
  request.axes["workload"] = {"copy:1", "copy:0.5"};
  request.axes["beam"] = {1, 4};
  return request;
}

TEST(ExpandSweep, WholeDecodersHavePointsOfTheirOwn) {
  SweepRequest request = DecoderRequest({"none", "soft", "mocha"});
  request.axes["scope"] = {"full", "decoder"};
  request.axes["workload"] = {"copy:1"};
  const Sweep sweep = ExpandSweep(request);
  // The beam is none of attention's axes.
  ASSERT_EQ(sweep.points.size(), 3U);
  for (const Point& point : sweep.points) {
    ASSERT_EQ(point.cells.size(), 3U);
    for (const Cell& cell : point.cells) {
      const bool is_whole = cell.Text("scope") == "decoder";
      EXPECT_EQ(cell.axes["beam"].is_null(), !is_whole);
      EXPECT_EQ(cell.axes["vocabulary"].is_null(), !is_whole);
      EXPECT_EQ(cell.skip_reason.has_value(), !is_whole);
    }
  }
  EXPECT_EQ(sweep.points[1].axes["beam"], 1);
  EXPECT_EQ(sweep.points[2].axes["beam"], 4);
  EXPECT_TRUE(sweep.points[1].cells[0].axes["energy"].is_null());
}

TEST(ExpandSweep, AWholeDecoderHasOneWayToRun) {
  EXPECT_EQ(AllCells(ExpandSweep(DecoderRequest({"none", "soft"}))).size(), 8U);
  for (const auto& [axis, value] :
       std::map<std::string, AxisValue>{{"mode", "expect"},
                                        {"schedule", "teacher_forced"},
                                        {"variant", "reference"},
                                        {"precision", "f64"},
                                        {"threads", 2},
                                        {"workload", "uniform"}}) {
    SweepRequest request = DecoderRequest({"soft"});
    request.axes[axis] = {value};
    for (const Cell& cell : AllCells(ExpandSweep(request))) {
      EXPECT_THAT(cell.skip_reason.value_or(""),
                  HasSubstr(axis == "workload" ? "captured:FILE, not uniform"
                                               : ", not " + value.Shown()));
    }
  }
  SweepRequest request = SmallRequest({"none"});
  EXPECT_THAT(AllCells(ExpandSweep(request))[0].skip_reason.value_or(""),
              HasSubstr("scope decoder only"));
  request = DecoderRequest({"soft"});
  request.axes["memory_length"] = {100'001};
  EXPECT_THAT(AllCells(ExpandSweep(request))[0].skip_reason.value_or(""),
              HasSubstr("at most memory_length 100000, not 100001"));
  request.axes["memory_length"] = {10};
  request.axes["output_length"] = {100'001};
  EXPECT_THAT(AllCells(ExpandSweep(request))[0].skip_reason.value_or(""),
              HasSubstr("at most output_length 100000, not 100001"));
  request.axes["output_length"] = {4};
  EXPECT_FALSE(AllCells(ExpandSweep(request))[0].skip_reason.has_value());
}

TEST(ExpandSweep, AnAxisOfWholeDecodersIsRefusedWhereThereAreNone) {
  SweepRequest request = SmallRequest({"soft"});
  request.axes["beam"] = {4};
  EXPECT_EQ(ErrorOf(request),
            "beam: is an axis of whole decoders: scope decoder");
  request = SmallRequest({"soft", "mocha"});
  request.alternatives[1].axes["vocabulary"] = {4};
  EXPECT_THAT(ErrorOf(request), HasSubstr("vocabulary"));
  request.alternatives[1].axes["scope"] = {"decoder"};
  EXPECT_EQ(ErrorOf(request), "");
  request = DecoderRequest({"soft"});
  request.axes["output_length"] = {"=beam"};
  EXPECT_THAT(ErrorOf(request), HasSubstr("which only whole decoders have"));
  request = DecoderRequest({"none"});
  request.alternatives[0].axes["num_contexts"] = {2};
  EXPECT_THAT(ErrorOf(request), HasSubstr("none does not have this axis"));
}

TEST(ExpandSweep, ScopeAndScheduleDependOnTheModeWhereTheyAreNotGiven) {
  SweepRequest request = SmallRequest({"soft"});
  request.axes["mode"] = {"decode", "expect", "gradient"};
  std::vector<std::string> settings;
  for (const Cell& cell : AllCells(ExpandSweep(request))) {
    EXPECT_EQ(cell.skip_reason, std::nullopt);
    EXPECT_EQ(MakeConfig(cell).mode, cell.mode());
    settings.push_back(cell.Text("mode") + " " + cell.Text("scope") + " " +
                       cell.Text("schedule"));
  }
  EXPECT_THAT(settings,
              ::testing::ElementsAre("decode full online",
                                     "expect attention teacher_forced",
                                     "gradient attention teacher_forced"));
}

TEST(ExpandSweep, TrainingIsNotCrossedWithWhatOnlyDecodingHas) {
  const auto reason = [](const char* axis, const char* value) {
    SweepRequest request = SmallRequest({"monotonic"});
    request.axes["mode"] = {"expect"};
    request.axes[axis] = {value};
    return AllCells(ExpandSweep(request)).at(0).skip_reason.value_or("");
  };
  EXPECT_EQ(reason("scope", "full"), "");
  EXPECT_THAT(reason("schedule", "online"),
              HasSubstr("mode expect knows all states beforehand"));
  EXPECT_THAT(reason("variant", "published_O3"),
              HasSubstr("mode expect is not one of variant published_O3's: "
                        "decode"));
  SweepRequest request = SmallRequest({"monotonic"});
  request.axes["variant"] = {"parallel"};
  EXPECT_THAT(AllCells(ExpandSweep(request))[0].skip_reason.value_or(""),
              HasSubstr("mode decode is not one of variant parallel's"));
}

TEST(ExpandSweep, WhatNoMechanismHasIsRefused) {
  SweepRequest request = SmallRequest({"soft"});
  request.axes["variant"] = {"fast"};
  EXPECT_THAT(ErrorOf(request), HasSubstr("variant: unknown variant 'fast'"));
  EXPECT_THAT(ErrorOf(SmallRequest({"mocah"})),
              HasSubstr("did you mean 'mocha'?"));
  request = SmallRequest({"soft"});
  request.axes["dim"] = {};
  EXPECT_THAT(ErrorOf(request), HasSubstr("dim: the list of values is empty"));
  request.axes.erase("dim");
  request.axes["dims"] = {4};
  EXPECT_THAT(ErrorOf(request), HasSubstr("did you mean 'dim'?"));
}

TEST(ExpandSweep, APeersVariantIsRefusedUnlessAPeerHasIt) {
  SweepRequest request = SmallRequest({"soft"});
  request.axes["variant"] = {"framework"};
  EXPECT_THAT(ErrorOf(request), HasSubstr("unknown variant 'framework'"));
  request.axes.clear();
  request.alternatives[0].axes["variant"] = {"framework"};
  EXPECT_THAT(ErrorOf(request), HasSubstr("unknown variant 'framework'"));
  request.peer_variants = {{.mechanism = "soft", .name = "framework_compiled"}};
  EXPECT_THAT(ErrorOf(request), HasSubstr("valid: exact, reference"));
  request.peer_variants[0].name = "framework";
  EXPECT_EQ(ErrorOf(request), "");
  request.options["policy"] = {"alignatt"};
  EXPECT_THAT(AllCells(ExpandSweep(request))[0].skip_reason.value_or(""),
              HasSubstr("variant framework has no policy"));
}

TEST(ExpandSweep, AnOptionIsCrossedWhereItIsDeclaredInItsType) {
  SweepRequest request = SmallRequest({"soft", "monotonic"});
  request.options["threshold"] = {std::string("0.25"), std::int64_t{1}};
  const std::vector<Cell> cells = AllCells(ExpandSweep(request));
  ASSERT_EQ(cells.size(), 3U);
  EXPECT_FALSE(cells[0].options.contains("threshold"));
  EXPECT_TRUE(cells[0].options.contains("keys")) << "defaults are there too";
  EXPECT_EQ(cells[1].options.at("threshold"), OptionValue(0.25));
  EXPECT_EQ(cells[2].options.at("threshold"), OptionValue(1.0));
  EXPECT_EQ(cells[1].options.at("threshold"), OptionValue(0.25));
}

TEST(ExpandSweep, AnOptionThatIsAWholeNumberIsWrittenAsAnAxisIs) {
  SweepRequest request = SmallRequest({"soft", "memory"});
  request.axes["memory_length"] = {6, 9};
  request.options["max_length"] = {std::string("40:50:5"), std::int64_t{90},
                                   std::string("=T")};
  std::vector<OptionValue> values;
  for (const Cell& cell : AllCells(ExpandSweep(request))) {
    EXPECT_EQ(cell.options.contains("max_length"), cell.mechanism == "memory");
    if (cell.mechanism != "memory") continue;
    values.push_back(cell.options.at("max_length"));
    EXPECT_EQ(MakeConfig(cell).Option<Index>("max_length"),
              std::get<std::int64_t>(values.back()));
  }
  const std::vector<OptionValue> expected = {40, 45, 50, 90, 6,
                                             40, 45, 50, 90, 9};
  EXPECT_EQ(values, expected);
}

TEST(ExpandSweep, WrongOptionsAreRefused) {
  const auto error_with = [](const std::string& key, OptionValue value) {
    SweepRequest request = SmallRequest({"soft", "monotonic"});
    request.options[key] = {std::move(value)};
    return ErrorOf(request);
  };
  using std::string;
  EXPECT_THAT(error_with("thresold", 0.5), HasSubstr("mean 'threshold'?"));
  EXPECT_THAT(error_with("threshold", string("half")),
              HasSubstr("option threshold: 'half' is not a number from"));
  EXPECT_THAT(error_with("threshold", 2.0), HasSubstr("'2.0' is not a number"));
  EXPECT_THAT(error_with("threshold", string("nan")), HasSubstr("'nan'"));
  EXPECT_THAT(error_with("threshold", true), HasSubstr("'true' is not a num"));
  EXPECT_THAT(error_with("strict", std::int64_t{1}),
              HasSubstr("'1' is not true or false"));
  EXPECT_THAT(error_with("keys", string("precomputd")),
              HasSubstr("did you mean 'precomputed'?"));
  EXPECT_THAT(error_with("chunk_width", std::int64_t{3}),
              HasSubstr("chunk_width is an axis: use --chunk-width"));
  SweepRequest request = SmallRequest({"memory"});
  for (const auto& [value, message] :
       {std::pair("=", "unknown axis ''"),
        {"=w", "'=w' refers to what the cell does not have"},
        {"=energy", "must name another axis that is a number"},
        {"-1", "option max_length: -1 is out of range"}}) {
    request.options["max_length"] = {string(value)};
    EXPECT_THAT(ErrorOf(request), HasSubstr(message)) << value;
  }
  request = SmallRequest({"soft"});
  request.alternatives[0].options["threshold"] = {0.5};
  EXPECT_THAT(ErrorOf(request), HasSubstr("options of soft: unknown option"));
}

TEST(ExpandSweep, APolicyIsACellOfItsOwnAndItsOptionsAreReadThereAlone) {
  SweepRequest request = SmallRequest({"soft", "monotonic"});
  request.options["policy"] = {"offline", "alignatt"};
  request.options["f"] = {std::int64_t{1}, std::int64_t{2}};
  const std::vector<Cell> cells = AllCells(ExpandSweep(request));
  ASSERT_EQ(cells.size(), 4U);
  // A result from before policies has this cell.
  EXPECT_EQ(AllCells(ExpandSweep(SmallRequest({"soft"})))[0].Key(),
            cells[0].Key());
  EXPECT_EQ(cells[0].options.size(), 1U);
  EXPECT_EQ(MakeConfig(cells[0]).Option<std::string>("policy"), "offline");
  for (const Index f : {1, 2}) {
    const Config config = MakeConfig(cells[Size(f)]);
    EXPECT_EQ(config.Option<std::string>("policy"), "alignatt");
    EXPECT_EQ(config.Option<Index>("f"), f);
    EXPECT_TRUE(cells[Size(f)].options.contains("f"));
  }
  // Training reads no policy.
  request.axes["mode"] = {"expect"};
  EXPECT_EQ(AllCells(ExpandSweep(request)).size(), 2U);
}

TEST(ExpandSweep, OptionsOfAPolicyAreRefusedWithoutItAndSkippedAboveT) {
  SweepRequest request = SmallRequest({"soft"});
  request.options["f"] = {std::int64_t{2}};
  EXPECT_THAT(ErrorOf(request),
              HasSubstr("option f: is read with policy=alignatt only"));
  request.options["policy"] = {"alignatt"};
  request.options["f"] = {std::int64_t{0}};
  EXPECT_THAT(ErrorOf(request), HasSubstr("option f: 0 is out of range"));
  request.axes["memory_length"] = {6, 7};
  request.options["f"] = {std::int64_t{7}};
  const std::vector<Cell> cells = AllCells(ExpandSweep(request));
  EXPECT_THAT(cells[0].skip_reason.value_or(""),
              HasSubstr("option f is 7, but memory_length is 6: at most 6 "
                        "is allowed"));
  EXPECT_EQ(cells[1].skip_reason, std::nullopt);
}

TEST(ExpandSweep, ASweepThatNobodyCanWaitForIsRefusedAtOnce) {
  SweepRequest request;
  std::vector<AxisValue> many;
  for (int i = 1; i <= 100'000; ++i) many.emplace_back(i);
  request.axes["memory_length"] = many;
  request.axes["output_length"] = many;
  EXPECT_THAT(ErrorOf(request), HasSubstr("at most 200000 are allowed"));
}

TEST(SkipThreadsBeyond, LeavesCellsThatFitAndWhyOthersWereSkippedBefore) {
  SweepRequest request = SmallRequest({"soft"});
  request.axes["threads"] = {1, 2, 3};
  request.axes["variant"] = {"exact", "moving_sum"};
  Sweep sweep = ExpandSweep(request);
  SkipThreadsBeyond(2, sweep);
  std::vector<Cell> cells = AllCells(sweep);
  ASSERT_EQ(cells.size(), 6U);
  for (const Cell& cell : cells) {
    const std::string reason = cell.skip_reason.value_or("none");
    if (cell.Text("variant") == "moving_sum") {
      EXPECT_THAT(reason, HasSubstr("variant moving_sum is not one of soft's"));
    } else if (cell.Int("threads") == 3) {
      EXPECT_EQ(reason, "3 threads: this machine has 2 cores");
    } else {
      EXPECT_EQ(reason, "none");
    }
  }
}

// The hashes of journals are made of it.
TEST(CellIdentity, HasAKeyOfAxesInTheTablesOrderAndThenOptions) {
  SweepRequest request = SmallRequest({"mocha"});
  request.axes["chunk_width"] = {"inf"};
  EXPECT_THAT(
      AllCells(ExpandSweep(request))[0].Key(),
      ::testing::StartsWith(
          R"({"mechanism":"mocha","memory_length":3,"output_length":3,)"
          R"("chunk_width":"inf","num_contexts":null,"dim":256,"batch":1,)"
          R"("beam":null,"vocabulary":null,"layers":null,"encoder":null,)"
          R"("threads":1,"precision":"f32","mode":"decode",)"
          R"("scope":"full","schedule":"online",)"
          R"("energy":"dot","variant":"exact","workload":"uniform",)"
          R"("end":"absorb","options":{)"));
}

TEST(CellIdentity, HasAnotherKeyWhereAnyAxisOrOptionDiffers) {
  SweepRequest request = SmallRequest({"soft", "monotonic", "mocha"});
  request.axes["chunk_width"] = {1, 11, "inf"};
  request.axes["threads"] = {1, 11};
  request.axes["energy"] = {"dot", "additive"};
  request.options["threshold"] = {0.5, 0.25};
  const std::vector<Cell> cells = AllCells(ExpandSweep(request));
  std::set<std::string> keys;
  for (const Cell& cell : cells) keys.insert(cell.Key());
  EXPECT_EQ(keys.size(), cells.size());
  EXPECT_EQ(cells.size(), 4U + 8U + 24U);
}

TEST(CellIdentity, IsThatOfAResultFromBeforeAnOptionOfAnotherVariant) {
  SweepRequest request = SmallRequest({"mocha"});
  request.options["preset"] = {"none", "tf"};
  const std::vector<Cell> cells = AllCells(ExpandSweep(request));
  CellIdentity before = cells[0];
  for (const char* option : {"bound", "preset", "term_eps"}) {
    EXPECT_FALSE(before.options.contains(option)) << option;
  }
  before.options["preset"] = std::string("none");
  before.options["term_eps"] = 1e-10;
  EXPECT_EQ(before.Key(), cells[0].Key());
  EXPECT_NE(before.Key(), cells[1].Key());
  Cell reads = cells[0];
  reads.axes["variant"] = before.axes["variant"] = "parallel";
  EXPECT_NE(before.Key(), reads.Key());
}

TEST(MakeConfig, TakesTheCellAndLeavesWhatIsNotDeclared) {
  SweepRequest request = SmallRequest({"mocha"});
  request.axes["dim"] = {12};
  request.axes["chunk_width"] = {"inf"};
  request.axes["energy"] = {"normalized_additive"};
  request.axes["end"] = {"restart"};
  const Config config = MakeConfig(AllCells(ExpandSweep(request))[0]);
  EXPECT_EQ(config.dim, 12);
  EXPECT_EQ(config.Option<Index>("chunk_width"), kInfiniteWidth);
  EXPECT_FALSE(config.options.contains("num_contexts"));
  EXPECT_EQ(config.energy, EnergyKind::kNormalizedAdditive);
  EXPECT_EQ(config.end, EndPolicy::kRestart);
  EXPECT_EQ(config.Option<double>("threshold"), 0.5);
}

TEST(MakeConfig, KnowsEveryEnergyAndEndOfTheTable) {
  SweepRequest request = SmallRequest({"mocha"});
  for (const char* name : {"energy", "end"}) {
    const Axis& axis = FindAxis(name, "test");
    request.axes[name] = {axis.names.begin(), axis.names.end()};
  }
  std::set<std::pair<EnergyKind, EndPolicy>> settings;
  for (const Cell& cell : AllCells(ExpandSweep(request))) {
    const Config config = MakeConfig(cell);
    settings.insert({config.energy, config.end});
  }
  EXPECT_EQ(settings.size(), 15U);
}

TEST(EveryAxis, ShowsInCommandLineListAndKeyOfACell) {
  CLI::App app;
  Command run;
  AddRunSweep(app, "", run);
  AddList(app, run);
  const CLI::App* const command = app.get_subcommand("run-sweep");
  app.parse(std::vector<std::string>{"--json", "list"});
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run(), 0);
  std::cout.flush();
  const Json list = Json::parse(::testing::internal::GetCapturedStdout());
  const Json key =
      Json::parse(AllCells(ExpandSweep(SmallRequest({"soft"})))[0].Key());
  ASSERT_EQ(list["axes"].size(), AllAxes().size());
  for (std::size_t i = 0; i < AllAxes().size(); ++i) {
    const Axis& axis = AllAxes()[i];
    EXPECT_NE(command->get_option_no_throw(OptionName(axis)), nullptr);
    if (!axis.letter.empty()) {
      EXPECT_NE(command->get_option_no_throw("-" + axis.letter), nullptr);
    }
    EXPECT_EQ(list["axes"][i]["name"], axis.name);
    EXPECT_TRUE(key.contains(axis.name)) << axis.name;
  }
}

}  // namespace
}  // namespace attnbench
