// Guards against effects that nobody reads, and against a file of which a part
// is not understood.
#include "harness/stats/effects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/error_text.h"
#include "tests/support/schema.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;

Json Document() {
  const Json effect = {{"s_build", 0.01},   {"build_degrees", 19},
                       {"s_process", 0.03}, {"process_degrees", 77},
                       {"s_run", 0.02},     {"run_degrees", 10}};
  Json effects;
  double s_run = 0.1;
  for (const char* kind : {"time", "ratio", "peer"}) {
    effects[kind] = effect;
    effects[kind]["s_run"] = s_run++;
  }
  effects["speed"] = {{"share", 0.4}, {"degrees", 95}};
  return {{"schema_version", 1}, {"kind", "effects"}, {"effects", effects}};
}

std::string ErrorAfter(const char* place, const Json& value) {
  Json document = Document();
  document[Json::json_pointer(place)] = value;
  EXPECT_FALSE(
      testing::Validates(nlohmann::json::parse(EffectsSchemaText()), document))
      << place;
  return testing::ErrorText([&] { EffectsOf(document, "e.json"); });
}

TEST(Effects, AreReadByTheirKinds) {
  const Effects effects = EffectsOf(Document(), "e.json");
  EXPECT_EQ(effects.time.s_run, 0.1);
  EXPECT_EQ(effects.ratio.s_run, 1.1);
  EXPECT_EQ(effects.peer.s_run, 2.1);
  EXPECT_EQ(effects.time.s_build, 0.01);
  EXPECT_EQ(effects.time.build_degrees, 19);
  EXPECT_EQ(effects.time.s_process, 0.03);
  EXPECT_EQ(effects.time.process_degrees, 77);
  EXPECT_EQ(effects.time.run_degrees, 10);
}

TEST(Effects, AreRefusedWithTheirPlaceWhereSomethingIsWrong) {
  EXPECT_THAT(ErrorAfter("/effects/time/s_run", -0.1),
              HasSubstr("e.json: effects.time.s_run"));
  EXPECT_THAT(ErrorAfter("/effects/peer/run_degrees", 0),
              HasSubstr("effects.peer.run_degrees"));
  EXPECT_THAT(ErrorAfter("/effects/gpu", 1), HasSubstr("gpu"));
  EXPECT_THAT(ErrorAfter("/kind", "sweep"), HasSubstr("kind"));
}

TEST(Effects, OfTheProgramAreTheCommittedOnes) {
  std::ifstream file("results/effects.json");
  const Effects committed =
      EffectsOf(Json::parse(file), "results/effects.json");
  EXPECT_EQ(CommittedEffects().ratio.s_build, committed.ratio.s_build);
  EXPECT_EQ(CommittedEffects().time.s_run, committed.time.s_run);
  // A machine's state is in a time and drops out of a ratio.
  EXPECT_GT(CommittedEffects().time.s_run, CommittedEffects().ratio.s_run);
}

TEST(Effects, HaveTheCommittedSchema) {
  EXPECT_EQ(testing::SchemaFile("effects"), EffectsSchemaText());
}

}  // namespace
}  // namespace attnbench
