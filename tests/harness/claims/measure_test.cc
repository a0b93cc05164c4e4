// Guards against claims on trained models that are judged by anything but a
// stored result, and measurements that are made again for each of their parts.
#include "harness/claims/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "harness/base/error.h"
#include "harness/base/json_file.h"
#include "harness/system/temporary_folder.h"
#include "tests/support/schema.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;

ClaimsLedger LedgerOf(const char* id) {
  ClaimsLedger ledger = ReadClaimsLedger(
      "experiments/claims.json", "results/schema/claims_ledger.schema.json");
  KeepClaims({id}, ledger);
  return ledger;
}

class ClaimsMeasure : public ::testing::Test {
 protected:
  MeasuredDocuments Measure(const ClaimsLedger& ledger) {
    return MeasureClaims(ledger, {.root = folder_.path(),
                                  .folder = folder_.path(),
                                  .quick = true,
                                  .command_line = "attnbench claims"})
        .value();
  }
  void WriteTrained(const Json& document) {
    const auto folder =
        std::filesystem::path(folder_.path()) / "results" / "training";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "copy.json") << document.dump();
  }

  const TemporaryFolder folder_;
};

TEST_F(ClaimsMeasure, ATrainingResultIsStoredAndNeverMade) {
  const ClaimsLedger ledger = LedgerOf("britz-scoring");
  EXPECT_EQ(Measure(ledger).at("trained_copy").none, "no training result");
  WriteTrained({{"kind", "trained"}, {"runs", Json::array()}});
  const MeasuredDocument found = Measure(ledger).at("trained_copy");
  EXPECT_EQ(found.none, std::nullopt);
  EXPECT_THAT(found.path.value(), HasSubstr("results/training/copy.json"));
  EXPECT_EQ(found.file, found.path);
}

TEST_F(ClaimsMeasure, AVerificationSaysWhatItWasMadeWith) {
  // This claim reads nothing else, so nothing else is measured.
  ClaimsLedger ledger = LedgerOf("mad-binary");
  Measurement& verify = ledger.measurements.at("verify");
  verify.mechanisms = {"memory"};
  verify.quick->trials = 100;
  const Json context =
      ReadJsonFile(Measure(ledger).at("verify").path.value()).at("context");
  EXPECT_EQ(context.at("command"), "attnbench claims");
  EXPECT_TRUE(context.at("valid").get<bool>() ==
              context.at("invalid_reasons").empty());
}

TEST_F(ClaimsMeasure, AQuantityOfSeveralPartsIsComputedOnce) {
  ClaimsLedger ledger = LedgerOf("mocha-params");
  std::vector<LedgerPart>& parts = ledger.claims[0].parts;
  parts.push_back(parts[0]);
  // Two readings of the paper.
  EXPECT_EQ(ComputedDocument(ledger, "exact", Context()).quantities.size(), 2U);
  parts[1].quantity.inputs["added"].push_back(
      {{"layer", "dense"}, {"inputs", 1}, {"units", 1}});
  EXPECT_EQ(ComputedDocument(ledger, "exact", Context()).quantities.size(), 4U);
}

TEST_F(ClaimsMeasure, WhatTheJudgeIsAskedIsAsItsSchemaSays) {
  const JudgeRequest request{
      .ledger = "experiments/claims.json",
      .claims = {"mad-linear"},
      .measurements = {{"linear", {.path = "a.json", .file = "a.json"}},
                       {"exact", {.none = "not made"}}}};
  const nlohmann::json schema = testing::SchemaOf("judge_request");
  EXPECT_TRUE(testing::Validates(schema, ToJson(request)));
  Json made = SchemaOf<JudgeRequest>();
  for (const char* key : {"$schema", "title"}) made[key] = schema.at(key);
  // The judge hands the context on without reading it.
  made["properties"]["context"] = Json::object();
  EXPECT_EQ(nlohmann::json(made), schema);
}

class ClaimsLedgerTest : public ::testing::Test {
 protected:
  // The error of ReadClaimsLedger for the project's ledger after a change.
  std::string ErrorOf(const std::function<void(Json&)>& change) {
    Json ledger = ReadJsonFile("experiments/claims.json");
    change(ledger);
    const std::string path = folder_.path() + "/ledger.json";
    std::ofstream(path) << ledger.dump();
    try {
      ReadClaimsLedger(path, "results/schema/claims_ledger.schema.json");
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }

  const TemporaryFolder folder_;
};

TEST_F(ClaimsLedgerTest, AClaimIsThereOnce) {
  EXPECT_EQ(ErrorOf([](Json&) {}), "");
  EXPECT_THAT(ErrorOf([](Json& ledger) {
                ledger["claims"].push_back(ledger["claims"][4]);
              }),
              HasSubstr("claim mad-speedup-where is there twice"));
}

TEST_F(ClaimsLedgerTest, APartReadsAMeasurementOfItsKind) {
  EXPECT_THAT(ErrorOf([](Json& ledger) {
                ledger["claims"][0]["parts"][0]["quantity"]["from"] = "verify";
              }),
              HasSubstr("a quantity count is not read from verify"));
}

// The part of "exact" in the claim of that place.
Json& InputsIn(Json& ledger, const char* id) {
  for (Json& claim : ledger["claims"]) {
    if (claim["id"] == id) return claim["parts"][0]["quantity"]["inputs"];
  }
  throw std::out_of_range(id);
}

TEST_F(ClaimsLedgerTest, WrongInputsAreToldWithClaimPartQuantityAndMember) {
  EXPECT_THAT(ErrorOf([](Json& ledger) {
                InputsIn(ledger, "mocha-w1")["draws"] = "4";
              }),
              HasSubstr("ledger.json: mocha-w1, 'numbers that differ': "
                        "width_one_difference.draws: \"4\" is no whole number "
                        "from 1"));
  EXPECT_THAT(ErrorOf([](Json& ledger) {
                InputsIn(ledger, "mad-online").erase("dim");
              }),
              HasSubstr("online_difference: has no 'dim'"));
  EXPECT_THAT(ErrorOf([](Json& ledger) {
                InputsIn(ledger, "mad-decay-r")["bias"] = 0;
              }),
              HasSubstr("unknown key 'bias'; did you mean 'biases'"));
}

TEST_F(ClaimsLedgerTest, AMeasurementIsToldWithItsMember) {
  EXPECT_THAT(ErrorOf([](Json& ledger) {
                ledger["measurements"]["verify"]["mechanisms"][1] = "mochi";
              }),
              HasSubstr("ledger.json: measurements.verify.mechanisms[1]: "
                        "unknown value 'mochi'; did you mean 'mocha'"));
  EXPECT_THAT(ErrorOf([](Json& ledger) {
                ledger["measurements"]["bytes"]["full"]["trials"] = 0;
              }),
              HasSubstr("measurements.bytes.full.trials: 0 is no whole"));
}

TEST_F(ClaimsLedgerTest, ClaimsArePickedByTheirIds) {
  ClaimsLedger ledger = ReadClaimsLedger(
      "experiments/claims.json", "results/schema/claims_ledger.schema.json");
  ASSERT_GT(ledger.claims.size(), 2U);
  KeepClaims({"mocha-w1", "mad-linear"}, ledger);
  EXPECT_EQ(ledger.Ids(), (std::vector<std::string>{"mad-linear", "mocha-w1"}));
  // A measurement that nobody reads is not made.
  EXPECT_EQ(MeasurementsOf(ledger),
            (std::vector<std::string>{"linear", "exact"}));
  try {
    KeepClaims({"mocha-w2"}, ledger);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'mocha-w1'"));
  }
}

TEST(ClaimsSchema, TheCommittedFileIsWhatTheProgramMakes) {
  auto made = nlohmann::json::parse(SchemaTextOf<ComputedResult>());
  EXPECT_EQ(testing::SchemaOf("computed"), made)
      << "write it again: attnbench list --schema=computed";
}

TEST(ClaimsSchema, TheContextIsThatOfEveryResult) {
  for (const char* kind : {"claims", "computed"}) {
    EXPECT_EQ(testing::SchemaOf(kind)["properties"]["context"],
              testing::CommonContext())
        << kind;
  }
}

}  // namespace
}  // namespace attnbench
