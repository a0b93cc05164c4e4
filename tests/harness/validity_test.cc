// Guards against a result that passes for valid although its times mean
// nothing, and against a warning that does not say what to do.
#include "harness/validity.h"

#include <gmock/gmock.h>

#include <functional>

#include "harness/calibration.h"

namespace attnbench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Json GoodContext() {
  return Json::parse(R"({"dirty": false, "governor": "performance",
    "turbo": false, "load": 0.1, "load_end": 0.9, "calibration": []})");
}

Circumstances Good() { return {.machine_cores = 4}; }

Json Judged(const std::function<void(Json&, Circumstances&)>& change) {
  Json context = GoodContext();
  Circumstances circumstances = Good();
  change(context, circumstances);
  Judge(circumstances, context);
  EXPECT_EQ(context["valid"].get<bool>(), context["invalid_reasons"].empty());
  return context;
}

void ExpectReason(const std::function<void(Json&, Circumstances&)>& change,
                  const char* text, const char* remedy) {
  const Json context = Judged(change);
  ASSERT_EQ(context["invalid_reasons"].size(), 1U) << text;
  EXPECT_THAT(context["invalid_reasons"][0].get<std::string>(),
              AllOf(HasSubstr(text), HasSubstr(remedy)));
  EXPECT_TRUE(context["warnings"].empty()) << context["warnings"];
}

void ExpectWarning(const std::function<void(Json&, Circumstances&)>& change,
                   const char* text, const char* remedy) {
  const Json context = Judged(change);
  EXPECT_TRUE(context["valid"].get<bool>()) << context["invalid_reasons"];
  ASSERT_EQ(context["warnings"].size(), 1U) << text;
  EXPECT_THAT(context["warnings"][0].get<std::string>(),
              AllOf(HasSubstr(text), HasSubstr(remedy)));
}

// Two points of which the second is slower by `drift`.
Json Drifting(double drift) {
  const std::vector<double> one(10, 100.0), other(10, 100.0 * (1 + drift));
  return Json::array({CalibrationJson("a", one), CalibrationJson("b", other)});
}

// A point of whose rounds half are slower by `drift`.
Json Unsteady(double drift) {
  std::vector<double> samples(10, 100.0);
  for (std::size_t i = 0; i < 5; ++i) samples[i] *= 1 + drift;
  return Json::array({CalibrationJson("here", samples)});
}

TEST(Validity, AQuietRunIsValidWithoutWarnings) {
  const Json context = Judged([](Json&, Circumstances&) {});
  EXPECT_TRUE(context["valid"].get<bool>());
  EXPECT_TRUE(context["warnings"].empty()) << context["warnings"];
  EXPECT_EQ(ValidityText(context), "valid");
}

TEST(Validity, WhatIsNotKnownIsNotHeldAgainstARun) {
  Json context = Json::object();
  Judge(Good(), context);
  EXPECT_TRUE(context["valid"].get<bool>());
  EXPECT_TRUE(context["warnings"].empty());
}

TEST(Validity, ABuildWhoseTimesMeanNothingIsInvalid) {
  ExpectReason([](Json&, Circumstances& c) { c.is_optimised = false; },
               "without optimisation", "preset release");
  ExpectReason([](Json&, Circumstances& c) { c.is_sanitized = true; },
               "sanitizer", "preset release");
  ExpectWarning([](Json&, Circumstances& c) { c.has_checks = true; },
                "checks inside timed loops", "-DNDEBUG");
}

TEST(Validity, ABusyMachineIsToldAndAVeryBusyOneIsInvalid) {
  ExpectWarning([](Json& c, Circumstances&) { c["load"] = 1.5; },
                "1.5 on 4 cores at the start", "stop them");
  // What was before the times is no reason against them.
  ExpectWarning([](Json& c, Circumstances&) { c["load"] = 2.5; },
                "2.5 on 4 cores at the start", "stop them");
  ExpectReason([](Json& c, Circumstances&) { c["load_end"] = 3.5; },
               "3.5 on 4 cores while it measured", "stop them");
}

TEST(Validity, WhatTimesNothingIsOnlyWarnedOfABusyMachine) {
  ExpectWarning(
      [](Json& c, Circumstances&) {
        c["load"] = 3.5;
        c["load_end"] = nullptr;
      },
      "3.5 on 4 cores at the start", "stop them");
}

TEST(Validity, DriftOfTheClockIsToldAndALargeOneIsInvalid) {
  ExpectWarning(
      [](Json& c, Circumstances&) { c["calibration"] = Drifting(.05); },
      "5.0 % between points", "cpupower");
  ExpectReason([](Json& c, Circumstances&) { c["calibration"] = Drifting(.2); },
               "20.0 % between points", "cpupower");
  ExpectWarning(
      [](Json& c, Circumstances&) { c["calibration"] = Unsteady(.1); },
      "rounds of point here", "cpupower");
  ExpectReason([](Json& c, Circumstances&) { c["calibration"] = Unsteady(.5); },
               "rounds of point here", "cpupower");
  const Json steady =
      Judged([](Json& c, Circumstances&) { c["calibration"] = Drifting(.01); });
  EXPECT_TRUE(steady["warnings"].empty());
}

TEST(Validity, SettingsThatDisturbAreToldWithWhatToDo) {
  ExpectWarning([](Json& c, Circumstances&) { c["governor"] = "powersave"; },
                "'powersave'", "-g performance");
  ExpectWarning([](Json& c, Circumstances&) { c["turbo"] = true; }, "turbo",
                "no_turbo");
  ExpectWarning([](Json& c, Circumstances&) { c["dirty"] = true; },
                "uncommitted", "commit them");
}

TEST(Validity, TheLineSaysInvalidFirstAndWhy) {
  Json context = Judged([](Json& c, Circumstances& circumstances) {
    circumstances.is_optimised = false;
    circumstances.is_sanitized = true;
    c["dirty"] = true;
  });
  EXPECT_THAT(ValidityText(context),
              AllOf(::testing::StartsWith("INVALID: built without optim"),
                    ::testing::EndsWith("(and 1 more)")));
  context = Judged([](Json& c, Circumstances&) { c["dirty"] = true; });
  EXPECT_EQ(ValidityText(context), "valid, 1 warning");
}

}  // namespace
}  // namespace attnbench
