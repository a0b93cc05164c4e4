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

TEST(Fingerprint, MembersAreToldOneByOne) {
  const Json a = {{"libraries", {{"fmt", "9"}, {"json", "3"}, {"a", "1"}}}};
  const Json b = {{"libraries", {{"fmt", "9"}, {"json", "4"}, {"b", "1"}}}};
  EXPECT_THAT(Differing(a, b),
              ElementsAre("libraries.json", "libraries.a", "libraries.b"));
  EXPECT_TRUE(FingerprintDifferences(a, b)[1].b.is_null());
}

TEST(Fingerprint, AFieldThatIsMissingIsTakenForNull) {
  EXPECT_THAT(Differing({{"turbo", nullptr}}, Json::object()), IsEmpty());
  EXPECT_THAT(Differing({{"turbo", true}}, Json::object()),
              ElementsAre("turbo"));
}

}  // namespace
}  // namespace attnbench
