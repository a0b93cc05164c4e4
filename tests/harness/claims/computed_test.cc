// Guards against exact quantities of claims that are not what their names say.
// Known answers are those of design notes and hand calculation.
#include "harness/claims/computed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "harness/base/error.h"
#include "harness/base/json_file.h"
#include "tests/support/error_text.h"
#include "tests/support/schema.h"

namespace attnbench {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Le;

ComputedRows Rows(const std::string& name, const Json& inputs) {
  return ReadQuantity(name, inputs, Place("ledger"))(1);
}

std::vector<double> Values(const std::string& name, const Json& inputs) {
  std::vector<double> values;
  for (const ComputedRow& row : Rows(name, inputs)) {
    values.push_back(row.value.value);
  }
  return values;
}

// What is said of inputs that are wrong; "" where they are not.
std::string Refusal(const std::string& name, const Json& inputs) {
  return testing::ErrorText(
      [&] { ReadQuantity(name, inputs, Place("ledger")); });
}

// The quantities of the ledger that are computed, as `claims` asks for them.
std::vector<AskedQuantity> OfLedger() {
  std::vector<AskedQuantity> asked;
  const Json ledger = ReadJsonFile("experiments/claims.json");
  for (const Json& claim : ledger["claims"]) {
    for (const Json& part : claim["parts"]) {
      const Json& quantity = part["quantity"];
      if (quantity["kind"] != "computed") continue;
      asked.push_back(
          {.place = "ledger.json: " + claim["id"].get<std::string>(),
           .name = quantity["name"],
           .inputs = FromJson<OrderedMap<Json>>(
               quantity.value("inputs", Json::object()), "inputs")});
    }
  }
  return asked;
}

TEST(ClaimsComputed, EveryQuantityOfTheLedgerIsThereAndNoOther) {
  std::vector<std::string> read;
  for (const AskedQuantity& one : OfLedger()) read.push_back(one.name);
  for (const std::string& name : ComputedQuantityNames()) {
    EXPECT_THAT(read, Contains(name));
  }
}

TEST(ClaimsComputed, WrongInputsAreToldWithPlaceQuantityAndMember) {
  const auto said = [](const std::string& name, const char* key,
                       const Json& value) -> std::string {
    for (AskedQuantity asked : OfLedger()) {
      if (asked.name != name) continue;
      Json inputs = ToJson(asked.inputs);
      if (value.is_null()) {
        inputs.erase(key);
      } else {
        inputs[key] = value;
      }
      asked.inputs =
          OrderedMap<Json>(FromJson<OrderedMap<Json>>(inputs, "inputs"));
      try {
        ReadQuantities({asked});
      } catch (const UserError& error) {
        return error.what();
      }
    }
    return "";
  };
  EXPECT_THAT(said("width_one_difference", "draws", "4"),
              HasSubstr("ledger.json: mocha-w1: width_one_difference.draws: "
                        "\"4\" is no whole number from 1"));
  EXPECT_THAT(said("online_difference", "dim", nullptr),
              HasSubstr("online_difference: has no 'dim'"));
  EXPECT_THAT(said("decay_linearity", "bias", 0),
              HasSubstr("unknown key 'bias'; did you mean 'biases'"));
}

TEST(ClaimsComputed, RowsSayOfWhichQuantityTheyAre) {
  const AskedQuantity asked{
      .name = "position_encoding_center",
      .inputs = FromJson<OrderedMap<Json>>(
          Json{{"num_contexts", {8}}, {"max_length", {12}}}, "inputs")};
  for (const Computation& compute : ReadQuantities({asked})) {
    const ComputedRows rows = compute(1);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].name, asked.name);
    EXPECT_EQ(ToJson(rows[0].inputs), ToJson(asked.inputs));
  }
}

TEST(ComputedSchema, TheCommittedFileIsWhatTheProgramMakes) {
  auto made = nlohmann::json::parse(SchemaTextOf<ComputedResult>());
  EXPECT_EQ(testing::SchemaOf("computed"), made)
      << "write it again: attnbench list --schema=computed";
}

TEST(ComputedSchema, TheContextIsThatOfEveryResult) {
  for (const char* kind : {"claims", "computed"}) {
    EXPECT_EQ(testing::SchemaOf(kind)["properties"]["context"],
              testing::CommonContext())
        << kind;
  }
  EXPECT_EQ(testing::SchemaOf("advice")["properties"]["context"],
            testing::SchemaOf("sweep")["properties"]["context"]);
}

TEST(ClaimsComputed, AnUnknownNameAndAWrongInputAreTold) {
  EXPECT_THAT(Refusal("reech", {}), HasSubstr("did you mean 'reach'"));
  EXPECT_EQ(Refusal("reach", Json::object()), "ledger: reach: has no 'energy'");
  EXPECT_THAT(Refusal("position_encoding_center",
                      {{"num_contexts", {8, 7}}, {"max_length", {12}}}),
              HasSubstr("position_encoding_center.num_contexts[1]: 7 is no "
                        "whole number from 4 that is a multiple of 2"));
  EXPECT_THAT(
      Refusal("denominator_one_error",
              {{"preset", "tf"}, {"cases", {{{"p", {0, 1}}, {"start", 3}}}}}),
      HasSubstr("cases[0].start: 3 is no whole number from 1 to 2"));
  EXPECT_THAT(Refusal("denominator_one_error",
                      {{"preset", "denominator"}, {"cases", Json::array()}}),
              HasSubstr("did you mean 'denominator_one'"));
}

Json InputsOfOnline(const char* mechanism) {
  return {{"mechanism", mechanism},
          {"workloads", {"planted", "uniform"}},
          {"memory_length", 24},
          {"output_length", 12},
          {"dim", 16},
          {"draws", 3}};
}

TEST(ClaimsComputed, AHardScanReadsNothingAhead) {
  for (const char* mechanism : {"monotonic", "mocha", "matcha"}) {
    EXPECT_THAT(Values("online_difference", InputsOfOnline(mechanism)),
                Each(0.0));
    EXPECT_THAT(Values("online_lookahead", InputsOfOnline(mechanism)),
                Each(0.0));
  }
  EXPECT_THAT(Refusal("online_lookahead", InputsOfOnline("mochi")),
              HasSubstr("did you mean 'mocha'"));
}

TEST(ClaimsComputed, WidthOneDiffersFromMonotonicInNothing) {
  const Json inputs = {
      {"what",
       {"positions", "contexts", "expectation", "gradient", "chunk_energies"}},
      {"memory_length", 24},
      {"output_length", 12},
      {"dim", 16},
      {"draws", 2}};
  EXPECT_THAT(Values("width_one_difference", inputs), Each(0.0));
  Json unknown = inputs;
  unknown["what"] = {"colour"};
  EXPECT_THAT(Refusal("width_one_difference", unknown),
              HasSubstr("what[0]: unknown value 'colour'"));
}

TEST(ClaimsComputed, AlphaIsEveryPathsWhereStatesAreGiven) {
  std::map<double, double> gaps;
  for (const ComputedRow& row : Rows("enumerated_gap", {{"feedback", {0, 1}},
                                                        {"sharpness", 4},
                                                        {"memory_length", 4},
                                                        {"output_length", 3},
                                                        {"dim", 8},
                                                        {"draws", 2}})) {
    gaps[row.labels.at("feedback").get<double>()] = row.value.value;
  }
  EXPECT_LT(gaps.at(0), 1e-14);
  EXPECT_GT(gaps.at(1), 0.01);
}

TEST(ClaimsComputed, StatesThatFollowFromSamplesLeaveTheExpectation) {
  const auto gaps = [](const char* mechanism, int outputs) {
    std::map<std::string, double> found;
    for (const ComputedRow& row :
         Rows("loop_gap", {{"mechanism", mechanism},
                           {"loops", {"open", "closed"}},
                           {"memory_length", 30},
                           {"output_length", outputs},
                           {"dim", 16},
                           {"trials", 4000}})) {
      found[row.labels.at("loop").get<std::string>()] = row.value.value;
    }
    return found;
  };
  for (const char* mechanism : {"monotonic", "mocha", "matcha"}) {
    // The first state is the same in both, so only chance is left.
    EXPECT_LT(gaps(mechanism, 1).at("closed"), 0.06);
    const auto of_many = gaps(mechanism, 15);
    EXPECT_LT(of_many.at("open"), 0.06) << mechanism;
    EXPECT_GT(of_many.at("closed"), 0.1) << mechanism;
    EXPECT_LE(of_many.at("closed"), 1) << mechanism;
  }
}

TEST(ClaimsComputed, TheClosedFormIsRightWhereProductsStayLarge) {
  const auto error = [](double least, double greatest, int T) {
    return Values("closed_form_error", {{"least_p", least},
                                        {"greatest_p", greatest},
                                        {"memory_length", T},
                                        {"output_length", 4},
                                        {"draws", 2}})[0];
  };
  EXPECT_LT(error(0.1, 0.9, 20), 1e-12);
  EXPECT_TRUE(error(0.1, 1, 20) < 1e-6);
  const auto not_finite = [](int T) {
    return Values("closed_form_not_finite", {{"least_p", 0},
                                             {"greatest_p", 1},
                                             {"memory_length", T},
                                             {"output_length", 2},
                                             {"draws", 1}})[0];
  };
  EXPECT_EQ(not_finite(100), 0);
  EXPECT_GT(not_finite(2000), 0);
}

TEST(ClaimsComputed, TheClosedFormIsClippedAsTheLedgerSays) {
  const auto error = [](double term_eps) {
    return Values("closed_form_error", {{"precision", "f64"},
                                        {"term_eps", term_eps},
                                        {"denominator_eps", 0},
                                        {"least_p", 0.1},
                                        {"greatest_p", 0.9},
                                        {"memory_length", 20},
                                        {"output_length", 4},
                                        {"draws", 2}})[0];
  };
  EXPECT_LT(error(0), 1e-12);
  EXPECT_GT(error(0.5), 1e-3);
}

TEST(ClaimsComputed, DenominatorOneForgetsWhatStartedBehindAOne) {
  const Json cases = {{{"p", {0, 0, 0, 0, 0, 1, 0, 0}}, {"start", 5}},
                      {{"p", {0, 0, 1, 0, 0, 1, 0, 0}}, {"start", 5}},
                      {{"p", {0, 0, 0, 0, 1, 0, 0, 0}}, {"start", 5}}};
  const auto rows = Rows("denominator_one_error",
                         {{"preset", "denominator_one"}, {"cases", cases}});
  EXPECT_EQ(rows[0].labels.at("p_of_one_before_start"), false);
  EXPECT_EQ(rows[0].value.value, 0.0);
  EXPECT_EQ(rows[1].labels.at("p_of_one_before_start"), true);
  EXPECT_EQ(rows[1].value.value, 1.0);
  // Entries count from 1: a start at the first entry has none before it.
  EXPECT_EQ(rows[2].labels.at("p_of_one_before_start"), false);
  EXPECT_EQ(rows[2].value.value, 0.0);
}

Json InputsOfDecay(const Json& biases) {
  return {{"energy", "normalized_additive"},
          {"biases", biases},
          {"memory_length", 200},
          {"dim", 32},
          {"draws", 2}};
}

TEST(ClaimsComputed, MassDecaysExponentiallyAndANegativeBiasKeepsIt) {
  EXPECT_THAT(Values("decay_linearity", InputsOfDecay({0, -4})),
              Each(Gt(0.99)));
  EXPECT_THAT(Values("reach", InputsOfDecay({0})), Each(Le(2)));
  // p = 1 / (1 + e^4): half of the mass is gone after ln 2 / p entries.
  EXPECT_NEAR(Values("reach", InputsOfDecay({-4}))[0], 38, 6);
  EXPECT_THAT(Values("reach_ratio", InputsOfDecay({0, -4})), Each(Gt(10)));
}

TEST(ClaimsComputed, ARowSaysWhereItsNumberIsNotFinite) {
  const ComputedRow never = Rows("reach", InputsOfDecay({-20, 0.5}))[0];
  EXPECT_EQ(ToJson(never).at("value"), "inf");
  EXPECT_EQ(never.why, std::nullopt);
  EXPECT_EQ(ToJson(never.labels).dump(), R"({"bias":-20,"draw":0})");
  const ComputedRow none({}, std::nan(""));
  EXPECT_EQ(ToJson(none).at("value"), nullptr);
  EXPECT_EQ(none.why, "not a number");
}

TEST(ClaimsComputed, ThePositionEncodingIsSymmetricAboutAHalf) {
  const Json inputs = {{"num_contexts", {8}}, {"max_length", {12}}};
  EXPECT_THAT(Values("position_encoding_asymmetry", inputs), Each(Le(1e-15)));
  EXPECT_THAT(Values("position_encoding_center", inputs), Each(0.5));
  EXPECT_THAT(Values("position_encoding_slope", inputs), Each(Le(1e-15)));
}

TEST(ClaimsComputed, EncodingsOutsideTheScoreOrderTheContexts) {
  const Json inputs = {{"position_encoding", {"none", "raw"}},
                       {"place", {"inside", "outside"}},
                       {"memory_length", 32},
                       {"num_contexts", 4},
                       {"draws", 32}};
  std::map<std::string, double> range;
  for (const ComputedRow& row : Rows("context_position_range", inputs)) {
    range[row.labels.at("position_encoding").get<std::string>() + " " +
          row.labels.at("place").get<std::string>()] = row.value.value;
    EXPECT_LT(row.interval.value().at(0).value, row.value.value);
    EXPECT_GT(row.interval.value().at(1).value, row.value.value);
  }
  EXPECT_NEAR(range.at("none inside"), 0, 0.1);
  EXPECT_GT(range.at("raw outside"), 0.2);
  const auto order = Values("context_position_order", inputs);
  EXPECT_GT(order[3], 0.9);
}

}  // namespace
}  // namespace attnbench
