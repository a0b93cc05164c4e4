// Guards against claims on trained models that are judged by anything but a
// stored result, and measurements that are made again for each of their parts.
#include "harness/claims_measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/claims_judge.h"
#include "harness/claims_quantities.h"
#include "harness/error.h"
#include "harness/temporary_folder.h"

namespace attnbench {
namespace {

ClaimsLedger LedgerOf(const char* id) {
  ClaimsLedger ledger = ReadClaimsLedger(
      "experiments/claims.json", "results/schema/claims_ledger.schema.json");
  KeepClaims({id}, ledger);
  return ledger;
}

class ClaimsMeasure : public ::testing::Test {
 protected:
  std::map<std::string, ClaimDocument> Measure(const ClaimsLedger& ledger) {
    return MeasureClaims(StandardAxes(), ledger,
                         {.root = folder_.path(),
                          .folder = folder_.path(),
                          .quick = true,
                          .command_line = "attnbench claims"})
        .value();
  }
  void WriteTraining(const Json& document) {
    const auto folder =
        std::filesystem::path(folder_.path()) / "results" / "training";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "copy.json") << document.dump();
  }

  const TemporaryFolder folder_;
};

TEST_F(ClaimsMeasure, AStoredTrainingResultIsRead) {
  const ClaimsLedger ledger = LedgerOf("britz-scoring");
  EXPECT_EQ(Measure(ledger).at("trained_copy").none, "no training result");
  const auto row = [](const char* encoder, double accuracy) {
    return Json{
        {"name", "accuracy_of_scoring"},
        {"labels",
         {{"encoder_scoring", encoder}, {"decoder_scoring", "softmax"}}},
        {"value", accuracy},
        {"interval", {accuracy - 1, accuracy + 1}},
        {"seeds", {1, 2}}};
  };
  WriteTraining({{"kind", "training"},
                 {"quantities", {row("softmax", 98), row("sigmoid", 40)}}});
  const auto documents = Measure(ledger);
  const ClaimPart& part = ledger.claims[0].parts[0];
  const PartVerdict judged = JudgePart(
      part, ReadQuantity(part, documents.at("trained_copy"), Json::object()),
      "");
  EXPECT_EQ(judged.verdict.Text(), "holds only if encoder_scoring = softmax");
  EXPECT_THAT(judged.groups[0].least.evidence[0].at("file"),
              documents.at("trained_copy").file);
}

TEST_F(ClaimsMeasure, AnotherResultInItsPlaceIsAnError) {
  WriteTraining({{"kind", "sweep"}, {"cells", Json::array()}});
  EXPECT_THROW(Measure(LedgerOf("britz-scoring")), UserError);
}

TEST_F(ClaimsMeasure, WithoutItsExperimentADecoderIsNotMeasured) {
  const auto documents = Measure(LedgerOf("mocha-upper-bound"));
  EXPECT_TRUE(documents.at("decoder").json.is_null());
  EXPECT_EQ(documents.at("decoder").none,
            "experiments/britz_table1.json is not there");
}

TEST_F(ClaimsMeasure, AQuantityOfSeveralPartsIsComputedOnce) {
  ClaimsLedger ledger = LedgerOf("mocha-params");
  ledger.claims.push_back(ledger.claims[0]);
  const Json document = ComputedDocument(ledger, "exact", Json::object());
  EXPECT_EQ(document.at("quantities").size(), 1U);
  ledger.claims[1].parts[0].quantity["inputs"]["added"].push_back(
      {{"layer", "dense"}, {"inputs", 1}, {"units", 1}});
  EXPECT_EQ(
      ComputedDocument(ledger, "exact", Json::object()).at("quantities").size(),
      2U);
}

}  // namespace
}  // namespace attnbench
