// Guards against a verification that calls right what is wrong or wrong what is
// right more often than it says, that depends on threads, that leaves a
// mechanism out, and against documents that are not those of the schema.
#include "harness/verify/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "harness/base/error.h"
#include "harness/machine/environment.h"
#include "harness/machine/sanitized.h"
#include "harness/sweep/values.h"
#include "mechanisms/description.h"
#include "spoiled_mechanism.h"
#include "tests/support/schema.h"

namespace attnbench {
namespace {

using testing::MakeCase;
using testing::Renormalize;
using testing::Spoil;
using testing::SpoiledMechanism;

// How many of these seeds a test takes: one of five if there is a sanitizer,
// which has seen all memory after a few.
constexpr int Seeds(int plain) { return kIsSanitized ? plain / 5 : plain; }

// The grid that false alarms are counted on.
std::vector<VerifyCase> SmallGrid() {
  std::vector<VerifyCase> grid = {
      MakeCase("monotonic", VerifyMethod::kSampling, 3, 2),
      MakeCase("mocha", VerifyMethod::kSampling, 3, 2, "saturated")};
  grid[1].config.end = EndPolicy::kRestart;
  return grid;
}

std::vector<CaseReport> RunGrid(const std::vector<VerifyCase>& grid,
                                const VerifyOptions& options,
                                const Spoil& spoil = {}) {
  std::vector<CaseReport> reports;
  for (const VerifyCase& one : grid) {
    const SpoiledMechanism mechanism(one.mechanism, spoil);
    reports.push_back(RunVerifyCase(mechanism, one, options));
  }
  JudgeAll(options.level, reports);
  return reports;
}

CaseReport RunOne(const VerifyCase& one, const VerifyOptions& options,
                  const Spoil& spoil = {}) {
  return RunGrid({one}, options, spoil)[0];
}

const Quantity& Find(const CaseReport& report, const std::string& what) {
  for (const Quantity& quantity : report.quantities) {
    if (quantity.what() == what) return quantity;
  }
  ADD_FAILURE() << "no " << what << ": " << report.Text();
  return report.quantities.at(0);
}

TEST(Verify, FalseAlarmsAreNoMoreThanTheirRate) {
  constexpr std::uint64_t kSeeds = 2000;
  constexpr double kLevel = 0.05;
  int alarms = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto reports =
        RunGrid(SmallGrid(), {.trials = 60, .seed = seed, .level = kLevel});
    if (TotalsOf(reports).failed_cases > 0) ++alarms;
  }
  EXPECT_LE(alarms, static_cast<int>(kLevel * kSeeds));
  // Otherwise the level would hold because nothing is ever called wrong.
  EXPECT_GT(alarms, 0);
}

TEST(Verify, ADiscrepancyOfTheStatedSizeIsSeenWithTheStatedPower) {
  constexpr int kSeeds = Seeds(300);
  const VerifyCase one = MakeCase("monotonic", VerifyMethod::kSampling, 2, 1);
  const auto options = [](int seed) {
    return VerifyOptions{
        .trials = 400, .seed = static_cast<std::uint64_t>(seed), .level = 1e-4};
  };
  int seen = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const double detectable =
        Find(RunOne(one, options(seed)), "selection").detectable();
    ASSERT_LT(detectable, 0.2);
    const Spoil off = {.expectation = [=](const Expectation<double>& out) {
      if (out.selection.data == nullptr) return;
      out.selection(0, 0) +=
          out.selection(0, 0) < 0.5 ? detectable : -detectable;
    }};
    const CaseReport report = RunOne(one, options(seed), off);
    if (!Find(report, "selection").passed()) ++seen;
  }
  EXPECT_GE(seen, static_cast<int>(kPower * kSeeds));
}

// Expects that all of ten seeds see the defect in `what`. Gradients from states
// are compared with differences, of which trials tell nothing.
void ExpectSeen(const VerifyCase& one, const char* what, const Spoil& spoil) {
  constexpr std::uint64_t kSeeds = Seeds(10);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const VerifyOptions options = {.trials = one.from_states ? 100 : 4000,
                                   .seed = seed};
    EXPECT_TRUE(RunOne(one, options).passed()) << what;
    const CaseReport report = RunOne(one, options, spoil);
    EXPECT_FALSE(Find(report, what).passed()) << what << ", seed " << seed;
    EXPECT_FALSE(report.passed());
    EXPECT_EQ(report.Worst()->worst().p_value <= 1e-6, true) << report.Text();
  }
}

TEST(Verify, SamplingSeesDefects) {
  const VerifyCase monotonic =
      MakeCase("monotonic", VerifyMethod::kSampling, 4, 4);
  ExpectSeen(monotonic, "selection",
             {.expectation = [](const Expectation<double>& out) {
               if (out.selection.data != nullptr) Renormalize(out.selection);
             }});
  ExpectSeen(monotonic, "attention",
             {.expectation = [](const Expectation<double>& out) {
               Renormalize(out.attention);
             }});
  // Training takes the start distribution of restart for that of absorb.
  VerifyCase restart = monotonic;
  restart.config.end = EndPolicy::kRestart;
  ExpectSeen(restart, "pairs of choices", {.config = [](Config& config) {
               config.end = EndPolicy::kAbsorb;
             }});
  VerifyCase mocha = MakeCase("mocha", VerifyMethod::kSampling, 4, 3);
  ExpectSeen(mocha, "attention", {.config = [](Config& config) {
               config.options["chunk_width"] = 3;
             }});
  ExpectSeen(mocha, "context", {.config = [](Config& config) {
               config.options["chunk_width"] = 1;
             }});
}

TEST(Verify, SamplingSeesWrongGradients) {
  const VerifyCase one = MakeCase("mocha", VerifyMethod::kSampling, 3, 2);
  ExpectSeen(one, "gradient of the choice's energies",
             {.gradients = [](const Gradients<double>& out) {
               for (double& value : out.scores.Find("p_choose").Row(0))
                 value += 3;
             }});
  ExpectSeen(one, "gradient of memory",
             {.gradients = [](const Gradients<double>& out) {
               for (double& value : out.memory.Row(0)) value -= 0.5;
             }});
  ExpectSeen(one, "gradient of chunk_energies",
             {.gradients = [](const Gradients<double>& out) {
               for (double& value : out.scores.Find("chunk_energies").Row(1))
                 value += 0.2;
             }});
}

// A small case with energies from states and parameters.
VerifyCase FromStates(const char* mechanism, VerifyMethod method,
                      EnergyKind energy) {
  VerifyCase one = MakeCase(mechanism, method, 3, 2);
  one.from_states = true;
  one.config.energy = energy;
  return one;
}

TEST(Verify, GradientsFromStatesAreComparedByEveryInput) {
  const std::vector<std::string> data = {"memory", "states", "energy_bias",
                                         "energy_scale"};
  std::vector<std::string> additive = data;
  additive.insert(additive.end(), {"chunk_keys", "chunk_states"});
  for (const char* role : {"attention.", "chunk."}) {
    for (const char* name : {"W", "V", "b", "v"}) {
      additive.push_back(std::string("parameter ") + role + name);
    }
  }
  const auto expect = [](const VerifyCase& one,
                         const std::vector<std::string>& inputs) {
    const CaseReport report = RunOne(one, {.trials = 100});
    EXPECT_TRUE(report.passed()) << report.Text();
    for (const std::string& input : inputs) {
      const Quantity& quantity = Find(report, "gradient of " + input);
      EXPECT_TRUE(quantity.exact()) << input;
      EXPECT_EQ(quantity.detectable(), 1e-6) << input;
    }
    EXPECT_EQ(std::ranges::count(inputs, "chunk_keys"),
              std::ranges::count(report.quantities, "gradient of chunk_keys",
                                 &Quantity::what));
  };
  expect(FromStates("mocha", VerifyMethod::kSampling,
                    EnergyKind::kNormalizedAdditive),
         additive);
  expect(FromStates("monotonic", VerifyMethod::kSampling, EnergyKind::kDot),
         data);
  expect(FromStates("soft", VerifyMethod::kExact, EnergyKind::kScaledBilinear),
         {"memory", "states", "energy_scale", "parameter attention.W"});
  expect(FromStates("memory", VerifyMethod::kExact, EnergyKind::kDot),
         {"memory", "states", "parameter memory.encoder",
          "parameter memory.decoder"});
}

TEST(Verify, SeesWrongGradientsFromStates) {
  const VerifyCase one = FromStates("mocha", VerifyMethod::kSampling,
                                    EnergyKind::kNormalizedAdditive);
  const auto add = [](const char* name, Index rows) {
    return Spoil{.gradients = [=](const Gradients<double>& out) {
      out.parameters->Matrix(name, rows, rows == 1 ? 1 : 2)(0, 0) += 3e-6;
    }};
  };
  ExpectSeen(one, "gradient of parameter attention.W", add("attention.W", 2));
  ExpectSeen(one, "gradient of parameter chunk.V", add("chunk.V", 2));
  ExpectSeen(one, "gradient of energy_bias", add("attention.r", 1));
  ExpectSeen(one, "gradient of energy_scale", add("chunk.g", 1));
  ExpectSeen(one, "gradient of states",
             {.gradients = [](const Gradients<double>& out) {
               out.states(1, 0) += 3e-6;
             }});
  // A gradient that is left out is not zero.
  ExpectSeen(one, "gradient of memory",
             {.gradients = [](const Gradients<double>& out) {
               for (double& value : out.memory.Row(0)) value = 0;
             }});
  const VerifyCase dot =
      FromStates("mocha", VerifyMethod::kSampling, EnergyKind::kDot);
  ExpectSeen(dot, "gradient of chunk_keys",
             {.gradients = [](const Gradients<double>& out) {
               out.further.Find("chunk_keys")(0, 1) += 3e-6;
             }});
  ExpectSeen(dot, "gradient of chunk_states",
             {.gradients = [](const Gradients<double>& out) {
               out.further.Find("chunk_states")(0, 1) += 3e-6;
             }});
  const CaseReport unknown = RunOne(dot, {.trials = 100}, add("chunk.U", 2));
  EXPECT_NE(unknown.Text().find("chunk.U"), std::string::npos);
  EXPECT_FALSE(unknown.passed());
}

TEST(Verify, ADecoderWhoseStepIsImpossibleFails) {
  const auto expect = [](const char* what, const auto& step) {
    for (const auto method :
         {VerifyMethod::kSampling, VerifyMethod::kEnumeration}) {
      const CaseReport report = RunOne(MakeCase("monotonic", method, 3, 3),
                                       {.trials = 200}, {.step = step});
      EXPECT_FALSE(report.passed()) << what;
      EXPECT_NE(report.Text().find("impossible"), std::string::npos)
          << what << ": " << report.Text();
    }
  };
  expect("back to the first entry", [](Index i, StepResult<double>& step) {
    if (i > 0 && step.position > 0) step.position = 0;
  });
  expect("beyond the last entry",
         [](Index, StepResult<double>& step) { step.position = 3; });
  expect("inspects more than there are",
         [](Index, StepResult<double>& step) { step.inspected += 3; });
  expect("inspects more than there are and chooses nothing",
         [](Index, StepResult<double>& step) {
           step = {.inspected = 4, .weights = {}};
         });
  expect("a weight without an entry",
         [](Index, StepResult<double>& step) { --step.end; });
}

TEST(Verify, WhatTheEndPolicyMakesImpossibleFailsAtTheFirstHit) {
  VerifyCase stay_last = MakeCase("monotonic", VerifyMethod::kSampling, 3, 3);
  stay_last.config.end = EndPolicy::kStayLast;
  bool spoiled = false;
  const CaseReport none =
      RunOne(stay_last, {.trials = 500},
             {.step = [&](Index i, StepResult<double>& step) {
               if (i == 2 && !spoiled) step.position = -1;
               spoiled = spoiled || i == 2;
             }});
  EXPECT_EQ(Find(none, "selection").worst().p_value, 0) << none.Text();
  EXPECT_EQ(Find(none, "pairs of choices").worst().p_value, 0) << none.Text();
  // The default end, absorb, has one choice after none.
  spoiled = false;
  bool was_none = false;
  const CaseReport after =
      RunOne(MakeCase("monotonic", VerifyMethod::kSampling, 3, 3),
             {.trials = 500}, {.step = [&](Index i, StepResult<double>& step) {
               if (i == 2 && was_none && !spoiled) {
                 step.position = 2;
                 spoiled = true;
               }
               was_none = i == 1 && step.position < 0;
             }});
  EXPECT_TRUE(spoiled);
  EXPECT_EQ(Find(after, "pairs of choices").worst().p_value, 0) << after.Text();
}

TEST(Verify, WhatIsThrownIsAFailureThatIsNamed) {
  const VerifyCase one = MakeCase("soft", VerifyMethod::kExact, 2, 2);
  const CaseReport report = RunOne(
      one, {}, {.config = [](Config&) { throw Unsupported("not today"); }});
  EXPECT_FALSE(report.passed());
  EXPECT_NE(report.Text().find("not today"), std::string::npos);
  EXPECT_EQ(TotalsOf({report}).failed_cases, 1U);
}

TEST(Verify, NothingComparedIsNoPass) {
  CaseReport report;
  EXPECT_FALSE(report.passed());
  std::vector<CaseReport> reports(1);
  reports[0].quantities.push_back(Quantity::Exact("attention", 1));
  JudgeAll(1e-6, reports);
  EXPECT_FALSE(reports[0].passed());
}

TEST(Verify, ResultsDoNotDependOnThreads) {
  std::vector<VerifyCase> grid = SmallGrid();
  grid.push_back(MakeCase("soft", VerifyMethod::kExact, 4, 3));
  grid.push_back(MakeCase("mocha", VerifyMethod::kEnumeration, 3, 2));
  const auto texts = [&](int threads) {
    std::string text;
    std::size_t calls = 0;
    const auto reports = RunVerifyCases(
        grid, {.trials = 300, .threads = threads},
        [&](std::size_t finished) { EXPECT_EQ(finished, ++calls); });
    EXPECT_EQ(calls, grid.size());
    for (const CaseReport& report : reports)
      text += ToJson(report.Result()).dump();
    return text;
  };
  EXPECT_EQ(texts(1), texts(3));
}

TEST(VerifyCases, EveryMechanismThatTrainsHasCasesOfItsOwnNames) {
  for (const Mechanism<double>* mechanism : Mechanisms<double>()) {
    const Description about = mechanism->Describe();
    std::set<std::string> names;
    std::set<EndPolicy> ends;
    std::set<Index> widths;
    std::set<std::string> scores;
    const bool has_window = FindOption(about, "chunk_width") != nullptr;
    for (const bool quick : {true, false}) {
      const auto cases = MakeVerifyCases(about, quick);
      EXPECT_FALSE(cases.empty()) << about.name;
      names.clear();
      for (const VerifyCase& one : cases) {
        EXPECT_TRUE(names
                        .insert(MethodName(one.method) +
                                (one.from_states ? " states " : " ") + one.name)
                        .second)
            << one.name;
        ends.insert(one.config.end);
        if (has_window) {
          widths.insert(one.config.Option<Index>("chunk_width"));
        }
        scores.insert(one.scores);
      }
    }
    for (const char* family :
         {"uniform", "saturated", "recommended", "adversarial"}) {
      EXPECT_TRUE(scores.contains(family)) << about.name << " " << family;
    }
    const auto declares = [&](const char* axis) {
      return std::ranges::find(about.axes, axis) != about.axes.end();
    };
    EXPECT_EQ(ends.size(), declares("end") ? 3U : 1U);
    EXPECT_EQ(widths.contains(kInfiniteWidth), has_window);
  }
}

TEST(VerifyCases, WithoutModeExpectThereAreNone) {
  Description about = FindMechanism<double>("soft")->Describe();
  about.modes = {Mode::kDecode};
  EXPECT_TRUE(MakeVerifyCases(about, true).empty());
}

// How many cases have an option at each of its values.
std::map<OptionValue, std::size_t> CountValues(
    const std::vector<VerifyCase>& cases, const std::string& option) {
  std::map<OptionValue, std::size_t> counts;
  for (const VerifyCase& one : cases) {
    const OptionValue& value = one.config.options.at(option);
    ++counts[value];
    EXPECT_NE(one.name.find(option + "=" + OptionText(value)),
              std::string::npos)
        << one.name;
  }
  return counts;
}

TEST(VerifyCases, TakeANumberOptionAtTheValuesThatItsMechanismNames) {
  for (const char* name : {"soft", "mocha"}) {
    Description about = FindMechanism<double>(name)->Describe();
    const std::size_t before = MakeVerifyCases(about, true).size();
    about.options.push_back({.name = "ratio",
                             .default_value = std::int64_t{1},
                             .verified = {1, 3}});
    const auto cases = MakeVerifyCases(about, true);
    EXPECT_EQ(CountValues(cases, "ratio"),
              (std::map<OptionValue, std::size_t>{{1, before}, {3, before}}));
  }
}

TEST(VerifyCases, HaveNoPolicyWhichNoTrainingIsTheExpectationOf) {
  const Description& about = FindMechanism<double>("soft")->Describe();
  for (const VerifyCase& one : MakeVerifyCases(about, false)) {
    EXPECT_FALSE(HasPolicy(about, one.config)) << one.name;
  }
  EXPECT_THROW(
      MakeVerifyCases(about, true, {{"policy", std::string("alignatt")}}),
      UserError);
}

TEST(VerifyCases, TakeAnOptionThatIsAskedForInPlaceOfOthers) {
  const Description about = FindMechanism<double>("memory")->Describe();
  const auto cases = MakeVerifyCases(
      about, true, {{"max_length", 90}, {"place", std::string("outside")}});
  for (const char* option : {"max_length", "place"}) {
    const auto counts = CountValues(cases, option);
    ASSERT_EQ(counts.size(), 1U);
    EXPECT_EQ(counts.begin()->second, cases.size());
  }
  EXPECT_THROW(MakeVerifyCases(FindMechanism<double>("mocha")->Describe(), true,
                               {{"sample", false}}),
               UserError);
}

bool ValidatesVerify(const Json& document) {
  return testing::Validates(testing::SchemaOf("verify"), document);
}

Json Document(const std::vector<CaseReport>& reports) {
  return ToJson(MakeVerifyResult(reports, {.context = MakeContext("x", 1),
                                           .false_alarm_rate = 1e-6,
                                           .trials = 100,
                                           .not_verified = {"nobody"}}));
}

TEST(VerifySchema, DocumentsValidateGoodOrBad) {
  std::vector<VerifyCase> grid = SmallGrid();
  grid.push_back(MakeCase("soft", VerifyMethod::kExact, 2, 2));
  const VerifyOptions options = {.trials = 200};
  const Json good = Document(RunGrid(grid, options));
  EXPECT_EQ(good["verdict"], "passed") << good["worst"];
  EXPECT_TRUE(ValidatesVerify(good));
  const Json bad = Document(RunGrid(
      grid, options, {.expectation = [](const Expectation<double>& out) {
        out.attention(0, 0) = std::nan("");
      }}));
  EXPECT_EQ(bad["verdict"], "failed");
  EXPECT_TRUE(ValidatesVerify(bad));
  const Json thrown = Document(RunGrid(
      grid, options, {.config = [](Config&) { throw Unsupported("no"); }}));
  EXPECT_TRUE(ValidatesVerify(thrown));
}

TEST(VerifyDocument, NamesAPlaceByWhatItsRowsAndColumnsAre) {
  const Json document =
      Document(RunGrid({MakeCase("memory", VerifyMethod::kExact, 3, 2)}, {}));
  std::map<std::string, std::string> places;
  for (const Json& quantity : document.at("cases").at(0).at("quantities")) {
    places[quantity.at("what")] = quantity.at("worst").at("place");
  }
  for (const auto& [what, row, column] :
       {std::tuple("attention", "output", "entry"),
        std::tuple("context", "output", "component"),
        std::tuple("gradient of memory", "entry", "component"),
        std::tuple("gradient of encoder_scores", "entry", "context"),
        std::tuple("gradient of decoder_scores", "output", "context")}) {
    EXPECT_THAT(places[what],
                ::testing::MatchesRegex(std::string(what) + ", " + row +
                                        " [0-9]+, " + column + " [0-9]+: .*"));
  }
}

TEST(VerifySchema, EveryFieldIsWantedAndNoOtherIsTaken) {
  const Json good = Document(RunGrid(SmallGrid(), {.trials = 200}));
  const auto refuses = [&](const char* where, const auto& change) {
    Json document = good;
    change(document);
    EXPECT_FALSE(ValidatesVerify(document)) << where;
  };
  for (const auto& [name, value] : good.items()) {
    refuses("document", [&key = name](Json& json) { json.erase(key); });
  }
  for (const auto& [name, value] : good["cases"][0].items()) {
    refuses("case", [&key = name](Json& json) { json["cases"][0].erase(key); });
  }
  refuses("case", [](Json& json) { json["cases"][0]["speed"] = 1; });
  refuses("verdict", [](Json& json) { json["verdict"] = "fine"; });
  refuses("a failure that passed",
          [](Json& json) { json["cases"][0]["failure"] = "thrown"; });
  refuses("nothing compared",
          [](Json& json) { json["cases"][0]["quantities"] = Json::array(); });
  refuses("p-value", [](Json& json) {
    json["cases"][0]["quantities"][0]["worst"]["p_value"] = 2;
  });
}

TEST(VerifySchema, TheCommittedFileIsWhatTheProgramMakes) {
  auto made = nlohmann::json::parse(SchemaTextOf<VerifyResult>());
  EXPECT_EQ(testing::SchemaOf("verify"), made)
      << "write it again: attnbench list --schema=verify";
}

}  // namespace
}  // namespace attnbench
