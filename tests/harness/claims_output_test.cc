// Guards against a ledger that loses a claim on its way to the page, a document
// that is not as its schema says, and times that mean nothing shown as valid.
#include "harness/claims_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/error.h"
#include "tests/support/doctored_claims.h"
#include "tests/support/schema.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;

constexpr char kLedger[] = "experiments/claims.json";
constexpr char kSchema[] = "results/schema/claims_ledger.schema.json";

// What every run says of itself; of the schema, only what is read here.
Json Context() {
  return {{"valid", true},
          {"invalid_reasons", Json::array()},
          {"warnings", {"turbo is on"}}};
}

std::map<std::string, ClaimDocument> NoDocuments(const ClaimsLedger& ledger) {
  std::map<std::string, ClaimDocument> documents;
  for (const std::string& name : MeasurementsOf(ledger)) {
    documents[name] = {.measurement = name, .none = "no " + name};
  }
  return documents;
}

// Without the context, which is tested where it is made.
bool IsValid(Json result) {
  nlohmann::json schema = testing::SchemaOf("claims");
  schema["properties"]["context"] = {{"type", "object"}};
  return testing::Validates(schema, result);
}

TEST(ClaimsOutput, EveryClaimOfTheLedgerIsInTheResultAndInTheTable) {
  const ClaimsLedger ledger = ReadClaimsLedger(kLedger, kSchema);
  ASSERT_EQ(ledger.claims.size(), 38U);
  const Json result =
      ClaimsResult(ledger, NoDocuments(ledger), Json::object(), Context(), "");
  EXPECT_TRUE(IsValid(result));
  const std::string text = ClaimsText(result);
  for (std::size_t i = 0; i < ledger.claims.size(); ++i) {
    const Json& claim = result.at("claims").at(i);
    EXPECT_EQ(claim.at("id"), ledger.claims[i].id);
    EXPECT_THAT(claim.at("verdict"), HasSubstr("not measurable here: "));
    EXPECT_EQ(claim.at("measured").size(), ledger.claims[i].parts.size());
    EXPECT_THAT("\n" + text, HasSubstr("\n" + ledger.claims[i].id + " "));
  }
  EXPECT_THAT(text, HasSubstr("38 claims: 0 hold, 0 fail, 0 hold only if, 38 "
                              "not measurable here; valid, 1 warning"));
  EXPECT_THAT(text, HasSubstr("warning: turbo is on"));
}

// A claim with one part, that at most one comparison fails.
ClaimsLedger OneClaim() {
  ClaimsLedger ledger;
  ledger.measurements = {{"verify", {{"kind", "verify"}}}};
  ClaimPart part{.name = "failures", .unit = "quantities", .rule = ClaimRule()};
  part.rule->high = 1;
  part.rule->json = {{"kind", "at_most"}, {"bound", 1}};
  part.quantity = {{"kind", "verify"},
                   {"from", "verify"},
                   {"of", {{"mechanism", "mocha"}}},
                   {"field", "failed"}};
  ledger.claims = {{.id = "mad-one",
                    .source = "a paper",
                    .claim = "It is so.",
                    .parts = {part}}};
  return ledger;
}

Json ResultWith(double failures, Json context_of_measurement = {}) {
  const ClaimsLedger ledger = OneClaim();
  ClaimDocument document{.measurement = "verify",
                         .file = "v.json",
                         .json = testing::DoctoredVerify(
                             ledger.claims[0].parts[0].quantity, failures)};
  if (!context_of_measurement.is_null()) {
    document.json["context"] = std::move(context_of_measurement);
  }
  return ClaimsResult(ledger, {{"verify", document}}, Json::object(), Context(),
                      "");
}

TEST(ClaimsOutput, AVerdictComesWithItsFigureItsBoundAndItsPlace) {
  const Json result = ResultWith(3);
  EXPECT_TRUE(IsValid(result));
  const Json& claim = result.at("claims").at(0);
  EXPECT_EQ(claim.at("verdict"), "fails");
  EXPECT_EQ(claim.at("bound"), "failures: at most 1");
  EXPECT_EQ(claim.at("measured")[0].at("groups")[0].at("greatest").at("value"),
            3);
  EXPECT_EQ(claim.at("evidence"),
            Json::array({{{"measurement", "verify"},
                          {"file", "v.json"},
                          {"point", nullptr},
                          {"place", "cases[0]: output 1"}}}));
  const std::string text = ClaimsText(result);
  EXPECT_THAT(text, HasSubstr("mad-one                 fails\n"));
  EXPECT_THAT(text, HasSubstr("failures: 3 quantities; at most 1: fails\n"));
  EXPECT_THAT(text, HasSubstr("1 claims: 0 hold, 1 fail"));
  EXPECT_EQ(ResultWith(0).at("claims")[0].at("verdict"), "holds");
}

TEST(ClaimsOutput, ItsContextIsThatOfEveryResult) {
  for (const char* kind : {"claims", "computed"}) {
    EXPECT_EQ(testing::SchemaOf(kind)["properties"]["context"],
              testing::CommonContext())
        << kind;
  }
}

TEST(ClaimsOutput, AMeasurementThatIsInvalidMakesTheLedgerInvalid) {
  const Json invalid = {{"valid", false},
                        {"invalid_reasons", {"the machine was busy"}},
                        {"warnings", {"turbo is on", "dirty"}}};
  const Json result = ResultWith(0, invalid);
  EXPECT_EQ(result.at("context").at("valid"), false);
  EXPECT_EQ(result.at("context").at("invalid_reasons"),
            Json::array({"verify: the machine was busy"}));
  EXPECT_EQ(result.at("context").at("warnings"),
            Json::array({"turbo is on", "dirty"}));
  EXPECT_THAT(ClaimsText(result), HasSubstr("INVALID: verify: the machine"));
}

TEST(ClaimsLedger, ClaimsArePickedByTheirIds) {
  ClaimsLedger ledger = ReadClaimsLedger(kLedger, kSchema);
  KeepClaims({"mocha-w1", "mad-linear"}, ledger);
  ASSERT_EQ(ledger.claims.size(), 2U);
  EXPECT_EQ(ledger.claims[0].id, "mad-linear");
  // What nobody reads is not measured.
  EXPECT_EQ(MeasurementsOf(ledger),
            (std::vector<std::string>{"linear", "exact"}));
  try {
    KeepClaims({"mocha-w2"}, ledger);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'mocha-w1'"));
  }
}

TEST(ClaimsLedger, RulesAreToldInWords) {
  EXPECT_EQ(RuleText({{"kind", "at_least"}, {"bound", 0.5}}), "at least 0.5");
  EXPECT_EQ(RuleText({{"kind", "within"}, {"low", 1}, {"high", 2}}),
            "from 1 to 2");
  EXPECT_EQ(RuleText({{"kind", "within"}, {"low", 1}, {"high", 1}}),
            "exactly 1");
}

}  // namespace
}  // namespace attnbench
