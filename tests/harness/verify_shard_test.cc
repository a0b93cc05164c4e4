// Guards against shards of a verification that come out otherwise than one run,
// and against a merge of what does not belong together.
#include "harness/verify_shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "harness/environment.h"
#include "harness/error.h"
#include "harness/verify.h"
#include "spoiled_mechanism.h"
#include "tests/support/schema.h"

namespace attnbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeCase;
using testing::Spoil;
using testing::SpoiledMechanism;

VerifyRun ARun() {
  return {.context = MakeContext("attnbench verify", 1),
          .false_alarm_rate = 0.5,
          .trials = 150,
          .not_verified = Json::array({"nobody"})};
}

// Not judged. The first case is spoiled.
std::vector<CaseReport> Reports(const Spoil& spoil = {}) {
  std::vector<VerifyCase> grid = {
      MakeCase("monotonic", VerifyMethod::kSampling, 3, 2),
      MakeCase("soft", VerifyMethod::kExact, 2, 2),
      MakeCase("mocha", VerifyMethod::kSampling, 3, 2, "saturated"),
      MakeCase("matcha", VerifyMethod::kEnumeration, 2, 2),
      MakeCase("memory", VerifyMethod::kExact, 3, 1)};
  std::vector<CaseReport> reports;
  for (const VerifyCase& one : grid) {
    const SpoiledMechanism mechanism(one.mechanism,
                                     reports.empty() ? spoil : Spoil{});
    reports.push_back(RunVerifyCase(mechanism, one, {.trials = 150}));
  }
  return reports;
}

std::vector<ResultDocument> ShardsOf(const std::vector<CaseReport>& reports,
                                     std::int64_t count) {
  std::vector<VerifyCase> cases;
  for (const CaseReport& report : reports) {
    cases.push_back(report.verify_case);
  }
  std::vector<ResultDocument> files;
  for (std::int64_t i = 0; i < count; ++i) {
    const Shard shard{i, count};
    const Json document =
        VerifyShardDocument(shard.Of(reports), ARun(), shard, cases);
    // As it comes back from a file.
    files.push_back({shard.Text() + ".json", Json::parse(document.dump())});
  }
  return files;
}

std::string Judged(std::vector<CaseReport> reports) {
  JudgeAll(ARun().false_alarm_rate, reports);
  return VerifyDocument(reports, ARun())["cases"].dump();
}

TEST(VerifyShard, TheMergeOfAnyNumberOfShardsIsTheRunBitForBit) {
  const Spoil spoils[] = {
      {},
      {.expectation =
           [](const Expectation<double>& out) {
             out.attention(0, 0) = std::nan("");
           }},
      {.expectation =
           [](const Expectation<double>& out) { out.attention(0, 0) = 0.9; }},
      {.config = [](Config&) { throw Unsupported("no"); }}};
  for (const Spoil& spoil : spoils) {
    const std::vector<CaseReport> reports = Reports(spoil);
    for (const std::int64_t count : {1, 2, 3, 7}) {
      auto files = ShardsOf(reports, count);
      std::swap(files.front(), files.back());
      const MergedVerify merged = MergeVerifyShards(files);
      EXPECT_EQ(merged.missing, "");
      EXPECT_EQ(VerifyDocument(merged.reports, merged.run)["cases"].dump(),
                Judged(reports));
      EXPECT_EQ(merged.run.not_verified, ARun().not_verified);
    }
  }
}

TEST(VerifyShard, AMissingShardIsNamedAndNothingIsJudged) {
  auto files = ShardsOf(Reports(), 4);
  files.erase(files.begin() + 2);
  const MergedVerify merged = MergeVerifyShards(files);
  EXPECT_EQ(merged.missing, "shard 2/4 is missing");
  EXPECT_TRUE(merged.reports.empty());
  files.erase(files.begin());
  EXPECT_EQ(MergeVerifyShards(files).missing, "shards 0/4, 2/4 are missing");
}

TEST(VerifyShard, WhatDoesNotBelongTogetherIsRefusedByName) {
  const std::vector<CaseReport> reports = Reports();
  const struct {
    std::function<void(Json&)> change;
    const char* message;
  } cases[] = {
      {[](Json& json) { json["shard"] = "0/3"; },
       "1/3.json: is shard 0/3, as "
       "0/3.json is"},
      {[](Json& json) { json["context"]["seed"] = 2; },
       "1/3.json: is no part of the run of 0/3.json: it has seed 2, not 1"},
      {[](Json& json) { json["context"]["build_id"] = "b"; },
       "it has build_id \"b\", not"},
      {[](Json& json) { json["context"]["simd"] = "another"; },
       "it has simd \"another\", not"},
      {[](Json& json) { json["trials"] = 7; }, "it has trials 7, not 150"},
      {[](Json& json) { json.erase("trials"); }, "1/3.json: has no trials"},
      {[](Json& json) { json["context"] = 1; },
       "1/3.json: has no context/commit"},
      {[](Json& json) { json["false_alarm_rate"] = 0.1; }, "false_alarm_rate"},
      {[](Json& json) { json["cases"].erase(0); }, "has 1 cases; shard 1/3"},
      {[](Json& json) { json["shard"] = "3/3"; },
       "1/3.json: --shard: '3/3': i is 0 to 2"},
      {[](Json& json) { json["num_cases"] = -1; },
       "1/3.json: num_cases: is -1, at least 1 is wanted"},
      {[](Json& json) { json["kind"] = "verify"; }, "is no shard of attnbench"},
      {[](Json& json) { json = 1; }, "1/3.json: is no shard of attnbench"},
      {[](Json& json) { json.erase("cases"); }, "1/3.json: cases: is missing"},
      {[](Json& json) { json["cases"][0]["trials"] = "many"; },
       "1/3.json: cases[0].trials: is \"many\", a whole number is wanted"},
      {[](Json& json) { json["cases_hash"] = "f"; }, "it has cases_hash"},
      {[](Json& json) { json["cases"][1].erase("scores"); },
       "1/3.json: cases[1].scores: is missing"},
      {[](Json& json) { json["cases"][0]["failure"] = 1; },
       "cases[0].failure: is 1, a text is wanted"},
      {[](Json& json) { json["cases"][0]["from_states"] = 1; },
       "cases[0].from_states: is 1, true or false is wanted"},
      {[](Json& json) { json["cases"][0]["quantities"] = Json::object(); },
       "cases[0].quantities: is object, a list is wanted"},
      {[](Json& json) {
         json["cases"][0]["quantities"][0]["worst"]["seen"] = "many";
       },
       "1/3.json: cases[0].quantities[0].worst.seen: is \"many\", a number, "
       "\"nan\", \"inf\" or \"-inf\" is wanted"},
      {[](Json& json) {
         json["cases"][0]["quantities"][0]["worst"]["p_value"] = "-inf";
       },
       "quantities[0].worst.p_value: is \"-inf\", a number from 0 to 1"},
      {[](Json& json) {
         json["cases"][0]["quantities"][0]["p_values"] = {0.5, 1.5};
       },
       "quantities[0].p_values[1]: is 1.5, a number from 0 to 1"},
      {[](Json& json) {
         json["cases"][0]["quantities"][0]["p_values"] = {"nan", 0.5};
       },
       "quantities[0].p_values[0]: is \"nan\", a number from 0 to 1"},
      {[](Json& json) { json["cases"][0]["method"] = "guess"; },
       "cases[0].method: is \"guess\", exact, enumeration or sampling"}};
  for (const auto& [change, message] : cases) {
    auto files = ShardsOf(reports, 3);
    change(files[1].json);
    try {
      MergeVerifyShards(files);
      ADD_FAILURE() << message;
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }
}

TEST(VerifyShard, AnotherMachineIsToldByTheMerge) {
  auto files = ShardsOf(Reports(), 3);
  files[0].json["context"]["warnings"] = {"dirty"};
  files[2].json["context"]["cpu"] = "another";
  const Json context = MergeVerifyShards(files).run.context;
  EXPECT_THAT(
      context.at("warnings").get<std::vector<std::string>>(),
      ElementsAre("dirty", "2/3.json: cpu is \"another\", in 0/3.json " +
                               context.at("cpu").dump()));
}

TEST(VerifyShard, ShardsOfOtherNumbersAreNotMixed) {
  const std::vector<CaseReport> reports = Reports();
  try {
    MergeVerifyShards({ShardsOf(reports, 3)[0], ShardsOf(reports, 2)[1]});
    ADD_FAILURE();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("is shard 1/2; 0/3.json is one of 3"));
  }
}

TEST(VerifyShardSchema, TheDocumentIsOfItAndEveryFieldIsWanted) {
  const auto schema = testing::SchemaOf("verify_shard");
  const Json good = ShardsOf(Reports(), 1)[0].json;
  EXPECT_TRUE(testing::Validates(schema, good));
  const auto refuses = [&](const auto& change) {
    Json document = good;
    change(document);
    return !testing::Validates(schema, document);
  };
  for (const auto& [name, value] : good.items()) {
    EXPECT_TRUE(refuses([&key = name](Json& json) { json.erase(key); }))
        << name;
  }
  for (const auto& [name, value] : good["cases"][0].items()) {
    EXPECT_TRUE(refuses([&key = name](Json& json) {
      json["cases"][0].erase(key);
    })) << name;
  }
  for (const auto& [name, value] : good["cases"][0]["quantities"][0].items()) {
    EXPECT_TRUE(refuses([&key = name](Json& json) {
      json["cases"][0]["quantities"][0].erase(key);
    })) << name;
  }
  EXPECT_EQ(schema["properties"]["context"], testing::CommonContext());
}

}  // namespace
}  // namespace attnbench
