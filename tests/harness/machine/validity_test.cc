// Guards against a result that passes for valid although its times mean
// nothing, and against a warning that does not say what to do.
#include "harness/machine/validity.h"

#include <gmock/gmock.h>

#include <functional>

#include "harness/machine/calibration.h"
#include "tests/support/probed.h"

namespace attnbench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The facts that a run's validity follows from.
struct Facts {
  Context context;
  Circumstances circumstances = {.machine_cores = 4};
  std::vector<Calibration> calibration;
};

using Change = std::function<void(Facts&)>;

Context Judged(const Change& change) {
  Facts facts;
  facts.context.dirty = false;
  facts.context.governor = "performance";
  facts.context.turbo = false;
  facts.context.load = 0.1;
  facts.context.load_end = 0.9;
  change(facts);
  SetValidity(facts.circumstances, facts.calibration, facts.context);
  EXPECT_EQ(facts.context.valid, facts.context.invalid_reasons.empty());
  return facts.context;
}

void ExpectReason(const Change& change, const char* text, const char* remedy) {
  const Context context = Judged(change);
  EXPECT_THAT(context.invalid_reasons,
              ElementsAre(AllOf(HasSubstr(text), HasSubstr(remedy))));
  EXPECT_THAT(context.warnings, IsEmpty());
}

void ExpectWarning(const Change& change, const char* text, const char* remedy) {
  const Context context = Judged(change);
  EXPECT_THAT(context.invalid_reasons, IsEmpty());
  EXPECT_THAT(context.warnings,
              ElementsAre(AllOf(HasSubstr(text), HasSubstr(remedy))));
}

// Two points of which the second is slower by `drift`.
std::vector<Calibration> Drifting(double drift) {
  const std::vector<double> one(10, 100.0), other(10, 100.0 * (1 + drift));
  return {CalibrationOf("a", testing::ChainOnly(one)),
          CalibrationOf("b", testing::ChainOnly(other))};
}

// A point of which half of the rounds are slower by `drift`.
std::vector<Calibration> Unsteady(double drift) {
  std::vector<double> samples(10, 100.0);
  for (std::size_t i = 0; i < 5; ++i) samples[i] *= 1 + drift;
  return {CalibrationOf("here", testing::ChainOnly(samples))};
}

TEST(Validity, AQuietRunIsValidWithoutWarnings) {
  const Context context = Judged([](Facts&) {});
  EXPECT_TRUE(context.valid);
  EXPECT_THAT(context.warnings, IsEmpty());
  EXPECT_EQ(ValidityText(context), "valid");
}

// The BLAS that a machine of so wide vectors has loaded.
Change Blas(LoadedLibrary blas, int vector_bits) {
  return [=](Facts& facts) {
    facts.circumstances.vector_bits = vector_bits;
    facts.context.loaded = {{"blas", blas}};
  };
}

TEST(Validity, ACoreOfOpenBlasBelowTheMachinesIsTold) {
  const auto of = [](const char* core, int vector_bits) {
    return Blas({.file = "/lib/openblas.so", .core = core}, vector_bits);
  };
  ExpectWarning(of("Prescott", 512), "kernels for Prescott, without AVX-512",
                "set OPENBLAS_CORETYPE=SkylakeX");
  ExpectWarning(of("Sandybridge", 256), "without AVX2",
                "OPENBLAS_CORETYPE=Haswell");
  ExpectWarning(of("Haswell", 512), "without AVX-512", "OPENBLAS_CORETYPE");
  EXPECT_THAT(Judged(of("Haswell", 256)).warnings, IsEmpty());
  EXPECT_THAT(Judged(of("SkylakeX", 512)).warnings, IsEmpty());
  EXPECT_THAT(Judged(of("Prescott", 0)).warnings, IsEmpty());
  EXPECT_THAT(Judged(of("NEOVERSEN1", 0)).warnings, IsEmpty());
}

TEST(Validity, AnotherBlasThanOpenBlasIsTold) {
  ExpectWarning(Blas({.file = "/lib/libblas.so.3"}, 0),
                "those of /lib/libblas.so.3, which is not OpenBLAS",
                "LD_PRELOAD");
}

TEST(Validity, WhatIsNotKnownIsNotHeldAgainstARun) {
  Context context;
  SetValidity({}, {}, context);
  EXPECT_TRUE(context.valid);
  EXPECT_THAT(context.warnings, IsEmpty());
}

TEST(Validity, ABuildWhoseTimesMeanNothingIsInvalid) {
  ExpectReason([](Facts& f) { f.circumstances.is_optimised = false; },
               "without optimisation", "preset release");
  ExpectReason([](Facts& f) { f.circumstances.is_sanitized = true; },
               "sanitizer", "preset release");
  ExpectWarning([](Facts& f) { f.circumstances.has_checks = true; },
                "checks inside timed loops", "-DNDEBUG");
}

TEST(Validity, ABusyMachineIsToldAndAVeryBusyOneIsInvalid) {
  ExpectWarning([](Facts& f) { f.context.load = 1.5; },
                "1.5 on 4 cores at the start", "stop them");
  // A load before the times does not make them invalid.
  ExpectWarning([](Facts& f) { f.context.load = 2.5; },
                "2.5 on 4 cores at the start", "stop them");
  ExpectReason([](Facts& f) { f.context.load_end = 3.5; },
               "3.5 on 4 cores while it measured", "stop them");
}

TEST(Validity, WhatTimesNothingIsOnlyWarnedOfABusyMachine) {
  ExpectWarning(
      [](Facts& f) {
        f.context.load = 3.5;
        f.context.load_end.reset();
      },
      "3.5 on 4 cores at the start", "stop them");
}

TEST(Validity, DriftOfTheClockIsToldAndALargeOneIsInvalid) {
  ExpectWarning([](Facts& f) { f.calibration = Drifting(.05); },
                "5.0 % between points", "cpupower");
  ExpectReason([](Facts& f) { f.calibration = Drifting(.2); },
               "20.0 % between points", "cpupower");
  ExpectWarning([](Facts& f) { f.calibration = Unsteady(.1); },
                "rounds of point here", "cpupower");
  ExpectReason([](Facts& f) { f.calibration = Unsteady(.5); },
               "rounds of point here", "cpupower");
  const Context steady =
      Judged([](Facts& f) { f.calibration = Drifting(.01); });
  EXPECT_THAT(steady.warnings, IsEmpty());
}

// A point with a probe that takes this long, and rounds of which some stray.
Calibration Probed(double read_ns, std::int64_t rounds, std::int64_t still) {
  const std::vector<double> chain(static_cast<std::size_t>(rounds), 10.0);
  Calibration entry = CalibrationOf("p", testing::ChainOnly(chain));
  entry.probes["L2"] = {read_ns};
  entry.strayed->still = still;
  return entry;
}

TEST(Validity, AProbeThatIsSlowerAtAPointIsTold) {
  ExpectWarning(
      [](Facts& f) {
        f.calibration = {Probed(10, 9, 0), Probed(14, 9, 0)};
      },
      "probe L2 took 40 % longer", "stop it");
  EXPECT_THAT(Judged([](Facts& f) {
                f.calibration = {Probed(10, 9, 0), Probed(12.9, 9, 0)};
              }).warnings,
              IsEmpty());
}

TEST(Validity, RoundsThatStillStrayAreToldWhereTheyAreMoreThanOneInTwenty) {
  ExpectWarning(
      [](Facts& f) {
        f.calibration = {Probed(9, 10, 2), Probed(9, 20, 0)};
      },
      "2 of 30 rounds were disturbed", "stop it");
  EXPECT_THAT(Judged([](Facts& f) {
                f.calibration = {Probed(9, 10, 1), Probed(9, 10, 0)};
              }).warnings,
              IsEmpty());
  EXPECT_THAT(Judged([](Facts& f) {
                f.calibration = {Probed(9, 1, 1)};
                f.calibration[0].strayed.reset();
              }).warnings,
              IsEmpty())
      << "an old result does not know";
}

TEST(Validity, SettingsThatDisturbAreToldWithWhatToDo) {
  ExpectWarning([](Facts& f) { f.context.governor = "powersave"; },
                "'powersave'", "-g performance");
  ExpectWarning([](Facts& f) { f.context.turbo = true; }, "turbo", "no_turbo");
  ExpectWarning([](Facts& f) { f.context.dirty = true; }, "uncommitted",
                "commit them");
}

TEST(Validity, TheLineSaysInvalidFirstAndWhy) {
  Context context = Judged([](Facts& f) {
    f.circumstances.is_optimised = false;
    f.circumstances.is_sanitized = true;
    f.context.dirty = true;
  });
  EXPECT_THAT(ValidityText(context),
              AllOf(::testing::StartsWith("INVALID: built without optim"),
                    ::testing::EndsWith("(and 1 more)")));
  context = Judged([](Facts& f) { f.context.dirty = true; });
  EXPECT_EQ(ValidityText(context), "valid, 1 warning");
}

// ---- of several runs --------------------------------------------------------

using Texts = std::vector<std::string>;

MeasuringRun RunOfDate(const std::string& date, const Texts& reasons,
                       const Texts& warnings) {
  MeasuringRun run;
  run.date = date;
  run.load = 0.5;
  run.invalid_reasons = reasons;
  run.warnings = warnings;
  return run;
}

SweepContext Judged(const std::vector<MeasuringRun>& runs,
                    const std::string& missing = "",
                    const std::vector<Calibration>& calibration = {}) {
  SweepContext context;
  context.runs = runs;
  context.calibration = calibration;
  SetValidityOfRuns(missing, {}, context);
  EXPECT_EQ(context.valid, context.invalid_reasons.empty());
  return context;
}

TEST(ValidityOfRuns, OneRunSpeaksForItself) {
  const SweepContext context =
      Judged({RunOfDate("1st", {"a debug build"}, {"dirty"})});
  EXPECT_THAT(context.invalid_reasons, ElementsAre("a debug build"));
  EXPECT_THAT(context.warnings, ElementsAre("dirty"));
}

TEST(ValidityOfRuns, WhatIsOfSomeNamesThemAndWhatIsOfAllIsToldOnce) {
  MeasuringRun third = RunOfDate("3rd", {"busy"}, {"dirty"});
  third.file = "c.json";
  const SweepContext context =
      Judged({RunOfDate("1st", {}, {"dirty"}),
              RunOfDate("2nd", {"busy"}, {"dirty", "turbo"}), third});
  EXPECT_THAT(context.invalid_reasons,
              ElementsAre("run of 2nd: busy", "c.json: busy"));
  EXPECT_THAT(context.warnings, ElementsAre("dirty", "run of 2nd: turbo"));
}

TEST(ValidityOfRuns, TheLoadIsTheWorst) {
  std::vector<MeasuringRun> runs(3, RunOfDate("1st", {}, {}));
  runs[1].load = 7.5;
  runs[2].load.reset();
  const SweepContext context = Judged(runs);
  EXPECT_EQ(context.load, 7.5);
  EXPECT_FALSE(context.load_end.has_value());
  runs[2].load_end = 0.25;
  runs[0].load_end = 0.125;
  EXPECT_EQ(Judged(runs).load_end, 0.25);
}

TEST(ValidityOfRuns, DriftIsJudgedOverThePointsOfAll) {
  const std::vector<MeasuringRun> runs(2, RunOfDate("1st", {}, {}));
  const std::vector<Calibration> points = Drifting(.2);
  EXPECT_THAT(Judged(runs, "", {points[0]}).invalid_reasons, IsEmpty());
  EXPECT_THAT(Judged(runs, "", points).invalid_reasons,
              ElementsAre(HasSubstr("drifted by 20.0 % between points")));
}

TEST(ValidityOfRuns, MissingPointsAreTheLastReason) {
  EXPECT_THAT(Judged({RunOfDate("1st", {"busy"}, {})}, "3 of 12 points")
                  .invalid_reasons,
              ElementsAre("busy", "3 of 12 points"));
}

TEST(ValidityOfRuns, JudgingAgainGivesTheSame) {
  SweepContext context =
      Judged({RunOfDate("1st", {"busy"}, {}), RunOfDate("2nd", {}, {"turbo"})});
  const Json once = ToJson(context);
  SetValidityOfRuns("", {}, context);
  EXPECT_EQ(ToJson(context), once);
}

}  // namespace
}  // namespace attnbench
