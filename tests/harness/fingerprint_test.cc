// Guards against two results that are compared although they were measured
// with different things, and against differences that are none: a load or a
// date that is compared differs in every pair.
#include "harness/fingerprint.h"

#include <gmock/gmock.h>

#include "harness/environment.h"
#include "harness/result_schema.h"

namespace attnbench {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Differing(const Json& a, const Json& b) {
  std::vector<std::string> fields;
  for (const FingerprintDifference& difference : FingerprintDifferences(a, b)) {
    fields.push_back(difference.field);
  }
  return fields;
}

TEST(Fingerprint, TheTableHasEveryFieldOfTheSchemaAndNoOther) {
  const Json schema = ResultSchema(StandardAxes())["properties"]["context"];
  std::vector<std::string> in_table;
  for (const ContextField& field : ContextFields()) {
    in_table.emplace_back(field.name);
    EXPECT_TRUE(schema["properties"].contains(field.name)) << field.name;
  }
  for (const auto& [name, value] : schema["properties"].items()) {
    EXPECT_THAT(in_table, Contains(name));
  }
}

TEST(Fingerprint, TwoRunsOfOneProgramOnOneMachineDoNotDiffer) {
  EXPECT_THAT(Differing(MakeContext("a", 1), MakeContext("b", 1)), IsEmpty());
}

TEST(Fingerprint, EveryComparedFieldIsToldAndNoOther) {
  for (const ContextField& field : ContextFields()) {
    const Json a = {{field.name, "one"}};
    const Json b = {{field.name, "two"}};
    if (!field.is_compared) {
      EXPECT_THAT(Differing(a, b), IsEmpty()) << field.name;
      continue;
    }
    const auto differences = FingerprintDifferences(a, b);
    ASSERT_EQ(differences.size(), 1U) << field.name;
    EXPECT_EQ(differences[0].field, field.name);
    EXPECT_EQ(differences[0].a, "one");
    EXPECT_EQ(differences[0].b, "two");
  }
}

TEST(Fingerprint, WhatChangesFromRunToRunIsNotCompared) {
  for (const ContextField& field : ContextFields()) {
    for (const char* unstable :
         {"load", "load_end", "date", "limits", "calibration"}) {
      EXPECT_FALSE(field.is_compared && field.name == std::string(unstable))
          << unstable;
    }
  }
}

TEST(Fingerprint, TheHashIsOfEveryComparedFieldAndNoOther) {
  const std::string of_none = FingerprintHash(Json::object());
  for (const ContextField& field : ContextFields()) {
    const std::string hash = FingerprintHash({{field.name, "one"}});
    EXPECT_EQ(hash != of_none, field.is_compared) << field.name;
    EXPECT_EQ(hash != FingerprintHash({{field.name, "two"}}), field.is_compared)
        << field.name;
  }
}

TEST(Fingerprint, MembersAreToldOneByOne) {
  const Json a = {{"libraries", {{"fmt", "9"}, {"json", "3"}, {"a", "1"}}}};
  const Json b = {{"libraries", {{"fmt", "9"}, {"json", "4"}, {"b", "1"}}}};
  EXPECT_THAT(Differing(a, b),
              ElementsAre("libraries.json", "libraries.a", "libraries.b"));
  EXPECT_TRUE(FingerprintDifferences(a, b)[1].b.is_null());
}

TEST(Fingerprint, ARunThatHadSomethingElseIsADifference) {
  const Json one = {{"cpu", "x"}, {"libraries", {{"fmt", "9"}, {"json", "3"}}}};
  Json mixed = one;
  mixed["runs"] = {
      Json::object(),
      {{"differs",
        {{"cpu", "y"}, {"libraries", {{"fmt", "9"}, {"json", "4"}}}}}},
      {{"differs", {{"cpu", "y"}}}}};
  for (const Json& other : {one, mixed}) {
    EXPECT_THAT(Differing(mixed, other), ElementsAre("cpu", "libraries.json"));
    EXPECT_THAT(Differing(other, mixed), ElementsAre("cpu", "libraries.json"));
  }
  const FingerprintDifference cpu = FingerprintDifferences(mixed, one)[0];
  EXPECT_EQ(cpu.a, Json({"x", "y"}));
  EXPECT_EQ(cpu.b, "x");
  EXPECT_EQ(FingerprintDifferences(one, mixed)[0].b, Json({"x", "y"}));
}

TEST(Fingerprint, ARunHasTheFieldsOfItsContextAndItsOwn) {
  const Json context = {{"cpu", "x"},
                        {"load", 3},
                        {"openmp", {{"version", 1}, {"max_threads", 2}}}};
  const Json differs = {{"openmp", {{"version", 1}, {"max_threads", 4}}},
                        {"turbo", true}};
  const Json fields = FieldsOfRun(context, {{"differs", differs}});
  EXPECT_EQ(fields["cpu"], "x");
  EXPECT_FALSE(fields.contains("load"));
  EXPECT_EQ(DifferingFields(context, fields),
            Json({{"turbo", true}, {"openmp", differs["openmp"]}}));
  EXPECT_THAT(DifferingFields(context, FieldsOfRun(context, nullptr)),
              IsEmpty());
}

TEST(Fingerprint, AFieldThatIsMissingIsTakenForNull) {
  EXPECT_THAT(Differing({{"turbo", nullptr}}, Json::object()), IsEmpty());
  EXPECT_THAT(Differing({{"turbo", true}}, Json::object()),
              ElementsAre("turbo"));
}

}  // namespace
}  // namespace attnbench
