// Guards against two results that are compared although they were measured
// with different things, and against differences that are none: a load or a
// date that is compared differs in every pair.
#include "harness/machine/fingerprint.h"

#include <gmock/gmock.h>

#include <functional>

#include "harness/machine/environment.h"

namespace attnbench {
namespace {

using Members = std::map<std::string, Json>;

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SweepContext ContextOf(const std::string& command, std::uint64_t seed) {
  SweepContext context;
  static_cast<Context&>(context) = MakeContext(command, seed);
  return context;
}

SweepContext After(const std::function<void(SweepContext&)>& change) {
  SweepContext context;
  change(context);
  return context;
}

std::vector<std::string> Differing(const SweepContext& a,
                                   const SweepContext& b) {
  std::vector<std::string> fields;
  for (const FingerprintDifference& difference : FingerprintDifferences(a, b)) {
    fields.push_back(difference.field);
  }
  return fields;
}

TEST(Fingerprint, TwoRunsOfOneProgramOnOneMachineDoNotDiffer) {
  const SweepContext a = ContextOf("a", 1);
  SweepContext b = ContextOf("b", 1);
  EXPECT_THAT(Differing(a, b), IsEmpty());
  EXPECT_EQ(FingerprintHash(a), FingerprintHash(b));
  b.seed = 2;
  EXPECT_THAT(Differing(a, b), ElementsAre("seed"));
}

TEST(Fingerprint, ALibraryIsComparedMemberByMember) {
  const auto with = [](const char* core) {
    return After([core](SweepContext& context) {
      context.loaded = {{"blas", {.file = "/lib/a.so", .core = core}}};
      context.environment.emplace()["OPENBLAS_CORETYPE"] = core;
    });
  };
  EXPECT_THAT(Differing(with("Haswell"), with("Prescott")),
              ElementsAre("loaded.blas.core", "environment.OPENBLAS_CORETYPE"));
  EXPECT_THAT(Differing(with("Haswell"), with("Haswell")), IsEmpty());
}

TEST(Fingerprint, AResultFromBeforeAMemberDoesNotDifferInIt) {
  const SweepContext before;
  const SweepContext after = After([](SweepContext& context) {
    context.loaded = {{"blas", {.file = "/lib/a.so"}}};
    context.environment.emplace();
  });
  EXPECT_THAT(Differing(before, after), IsEmpty());
  EXPECT_THAT(Differing(after, before), IsEmpty());
}

TEST(Fingerprint, EveryMemberOfASetupIsToldAndInTheHash) {
  attnbench::Setup all;
  all.architecture = "x86_64";
  all.loaded.emplace();
  all.environment.emplace();
  const Json setup = ToJson(all);
  for (const auto& [name, value] : setup.items()) {
    Json other = setup;
    other[name] = "another";
    const auto differences = SetupDifferences(setup, other);
    ASSERT_EQ(differences.size(), 1U) << name;
    EXPECT_EQ(differences[0].field, name);
    EXPECT_EQ(differences[0].a, value);
    EXPECT_EQ(differences[0].b, "another");
  }
  const std::string hash = FingerprintHash(attnbench::Setup());
  EXPECT_NE(FingerprintHash(After([](auto& c) { c.cpu = "x"; })), hash);
  EXPECT_NE(FingerprintHash(After([](auto& c) { c.aslr = 0; })), hash);
}

TEST(Fingerprint, WhatChangesFromRunToRunIsNotCompared) {
  const SweepContext later = After([](SweepContext& context) {
    context.date = "later";
    context.command = "another";
    context.memory_bytes = 7;
    context.load = 1;
    context.load_end = 2;
    context.warnings = {"busy"};
    context.limits.resize(1);
    context.calibration.resize(1);
    context.points = {"a"};
    context.shard = "0/1";
  });
  EXPECT_THAT(Differing(SweepContext(), later), IsEmpty());
  EXPECT_EQ(FingerprintHash(SweepContext()), FingerprintHash(later));
}

TEST(Fingerprint, MembersAreToldOneByOne) {
  const SweepContext a = After([](auto& context) {
    context.libraries = {{"fmt", "9"}, {"json", "3"}, {"a", "1"}};
  });
  const SweepContext b = After([](auto& context) {
    context.libraries = {{"fmt", "9"}, {"json", "4"}, {"b", "1"}};
  });
  EXPECT_THAT(Differing(a, b),
              ElementsAre("libraries.a", "libraries.json", "libraries.b"));
  EXPECT_TRUE(FingerprintDifferences(a, b)[0].b.is_null());
}

TEST(Fingerprint, ARunThatHadSomethingElseIsADifference) {
  const SweepContext one = After([](auto& context) {
    context.cpu = "x";
    context.libraries = {{"fmt", "9"}, {"json", "3"}};
  });
  SweepContext mixed = one;
  mixed.runs.resize(3);
  mixed.runs[1].differs =
      Members{{"cpu", "y"}, {"libraries", {{"fmt", "9"}, {"json", "4"}}}};
  mixed.runs[2].differs = Members{{"cpu", "y"}};
  for (const SweepContext& other : {one, mixed}) {
    EXPECT_THAT(Differing(mixed, other), ElementsAre("cpu", "libraries.json"));
    EXPECT_THAT(Differing(other, mixed), ElementsAre("cpu", "libraries.json"));
  }
  const FingerprintDifference cpu = FingerprintDifferences(mixed, one)[0];
  EXPECT_EQ(cpu.a, Json({"x", "y"}));
  EXPECT_EQ(cpu.b, "x");
  EXPECT_EQ(FingerprintDifferences(one, mixed)[0].b, Json({"x", "y"}));
}

TEST(Fingerprint, ARunHasTheSetupOfItsContextAndItsOwn) {
  const SweepContext context = After([](auto& made) {
    made.cpu = "x";
    made.load = 3;
  });
  MeasuringRun run;
  EXPECT_THAT(DifferingMembers(context, SetupOf(context, run)), IsEmpty());
  Json openmp = ToJson(context.openmp);
  openmp["max_threads"] = 4;
  run.differs = Members{{"openmp", openmp}, {"turbo", true}};
  const Json setup = SetupOf(context, run);
  EXPECT_EQ(setup["cpu"], "x");
  EXPECT_FALSE(setup.contains("load"));
  EXPECT_EQ(DifferingMembers(context, setup), *run.differs);
}

}  // namespace
}  // namespace attnbench
