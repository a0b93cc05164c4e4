// Guards against exact quantities of claims that are not what their names say.
// Known answers are those of design notes and hand calculation.
#include "harness/claims/computed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "harness/base/error.h"
#include "harness/claims/ledger.h"

namespace attnbench {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Le;

std::vector<double> Values(const std::string& name, const Json& inputs) {
  std::vector<double> values;
  for (const Json& row : ComputeQuantity(name, inputs, 1)) {
    values.push_back(row.at("value"));
  }
  return values;
}

TEST(ClaimsComputed, EveryQuantityOfTheLedgerIsThereAndNoOther) {
  const ClaimsLedger ledger = ReadClaimsLedger(
      "experiments/claims.json", "results/schema/claims_ledger.schema.json");
  std::vector<std::string> read;
  for (const LedgerPart& part : ledger.parts) {
    if (part.quantity.at("kind") != "computed") continue;
    read.push_back(part.quantity.at("name"));
    EXPECT_THAT(ComputedQuantityNames(), Contains(read.back()));
  }
  for (const std::string& name : ComputedQuantityNames()) {
    EXPECT_THAT(read, Contains(name));
  }
}

TEST(ClaimsComputed, AnUnknownNameAndAMissingInputAreTold) {
  const auto message = [](const std::string& name, const Json& inputs) {
    try {
      ComputeQuantity(name, inputs, 1);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message("reech", {}), HasSubstr("did you mean 'reach'"));
  EXPECT_THAT(message("reach", Json::object()), HasSubstr("biases"));
  EXPECT_THAT(
      message("parameter_share",
              {{"added", {{{"layer", "lstn"}, {"units", 1}, {"inputs", 1}}}},
               {"model", Json::array()}}),
      HasSubstr("did you mean 'lstm'"));
}

Json OnlineInputs(const char* mechanism) {
  return {{"mechanism", mechanism},
          {"workloads", {"planted", "uniform"}},
          {"memory_length", 24},
          {"output_length", 12},
          {"dim", 16},
          {"draws", 3}};
}

TEST(ClaimsComputed, AHardScanReadsNothingAhead) {
  for (const char* mechanism : {"monotonic", "mocha", "matcha"}) {
    EXPECT_THAT(Values("online_difference", OnlineInputs(mechanism)),
                Each(0.0));
    EXPECT_THAT(Values("online_lookahead", OnlineInputs(mechanism)), Each(0.0));
  }
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
  EXPECT_EQ(ComputeQuantity("width_one_difference", unknown, 1)[0].at("why"),
            "it is not compared");
}

TEST(ClaimsComputed, StatesThatFollowFromSamplesLeaveTheExpectation) {
  const auto gap = [](int outputs) {
    return Values("closed_loop_gap", {{"mechanism", "monotonic"},
                                      {"memory_length", 30},
                                      {"output_length", outputs},
                                      {"dim", 16},
                                      {"trials", 4000}})[0];
  };
  // The first state is the same in both, so only chance is left.
  EXPECT_LT(gap(1), 0.06);
  EXPECT_GT(gap(15), 0.1);
  EXPECT_LE(gap(15), 1);
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

TEST(ClaimsComputed, DenominatorOneForgetsWhatStartedBehindAOne) {
  const Json cases = {{{"p", {0, 0, 0, 0, 0, 1, 0, 0}}, {"start", 5}},
                      {{"p", {0, 0, 1, 0, 0, 1, 0, 0}}, {"start", 5}},
                      {{"p", {0, 0, 0, 0, 1, 0, 0, 0}}, {"start", 5}}};
  const auto rows =
      ComputeQuantity("denominator_one_error",
                      {{"preset", "denominator_one"}, {"cases", cases}}, 1);
  EXPECT_EQ(rows[0].at("labels").at("p_of_one_before_start"), false);
  EXPECT_EQ(rows[0].at("value"), 0.0);
  EXPECT_EQ(rows[1].at("labels").at("p_of_one_before_start"), true);
  EXPECT_EQ(rows[1].at("value"), 1.0);
  // Entries count from 1: a start at the first entry has none before it.
  EXPECT_EQ(rows[2].at("labels").at("p_of_one_before_start"), false);
  EXPECT_EQ(rows[2].at("value"), 0.0);
}

TEST(ClaimsComputed, DividingByAFactorOfZeroIsWrong) {
  const auto wrong = [](const Json& x, const Json& gradient) {
    return Values("cumprod_gradient_wrong",
                  {{"algorithms", {"division", "product_of_others"}},
                   {"cases", {{{"x", x}, {"gradient", gradient}}}}});
  };
  EXPECT_THAT(wrong({2, 3, 4}, {16, 10, 6}), Each(0.0));
  const auto with_zero = wrong({0, 2, 3}, {9, 0, 0});
  EXPECT_GT(with_zero[0], 0);
  EXPECT_EQ(with_zero[1], 0);
  // Both algorithms report gradients that are wrong.
  EXPECT_THAT(wrong({2, 3, 4}, {16, 11, 6}), Each(1.0));
}

Json DecayInputs(const Json& biases) {
  return {{"energy", "normalized_additive"},
          {"biases", biases},
          {"memory_length", 200},
          {"dim", 32},
          {"draws", 2}};
}

TEST(ClaimsComputed, MassDecaysExponentiallyAndANegativeBiasKeepsIt) {
  EXPECT_THAT(Values("decay_linearity", DecayInputs({0, -4})), Each(Gt(0.99)));
  EXPECT_THAT(Values("reach", DecayInputs({0})), Each(Le(2)));
  // p = 1 / (1 + e^4): half of the mass is gone after ln 2 / p entries.
  EXPECT_NEAR(Values("reach", DecayInputs({-4}))[0], 38, 6);
  const auto never = ComputeQuantity("reach", DecayInputs({-20}), 1);
  EXPECT_EQ(never[0].at("value"), "inf");
  EXPECT_THAT(Values("reach_ratio", DecayInputs({0, -4})), Each(Gt(10)));
}

TEST(ClaimsComputed, ParametersAreCountedLayerByLayer) {
  const auto count = [](Json layer) {
    const Json one = {{"layer", "embedding"}, {"inputs", 100}, {"units", 1}};
    return Values("parameter_share",
                  {{"added", Json::array({std::move(layer)})},
                   {"model", Json::array({one})}})[0];
  };
  EXPECT_EQ(count({{"layer", "dense"}, {"inputs", 3}, {"units", 2}}), 8);
  EXPECT_EQ(count({{"layer", "lstm"}, {"inputs", 3}, {"units", 2}}), 48);
  EXPECT_EQ(
      count({{"layer", "energy"}, {"inputs", 3}, {"states", 5}, {"units", 2}}),
      22);
  EXPECT_EQ(count({{"layer", "convolution"},
                   {"height", 3},
                   {"width", 3},
                   {"inputs", 2},
                   {"units", 4},
                   {"normalized", true}}),
            84);
  EXPECT_EQ(count({{"layer", "convolution_lstm"},
                   {"width", 3},
                   {"inputs", 2},
                   {"units", 4}}),
            304);
}

TEST(ClaimsComputed, ThePositionEncodingIsSymmetricAboutAHalf) {
  const Json inputs = {{"num_contexts", {8}}, {"max_length", {12}}};
  EXPECT_THAT(Values("position_encoding_asymmetry", inputs), Each(Le(1e-15)));
  EXPECT_THAT(Values("position_encoding_center", inputs), Each(0.5));
  EXPECT_THAT(Values("position_encoding_slope", inputs), Each(Le(1e-15)));
  EXPECT_THROW(Values("position_encoding_center",
                      {{"num_contexts", {7}}, {"max_length", {12}}}),
               UserError);
}

TEST(ClaimsComputed, EncodingsOutsideTheScoreOrderTheContexts) {
  const Json inputs = {{"position_encoding", {"none", "raw"}},
                       {"place", {"inside", "outside"}},
                       {"memory_length", 32},
                       {"num_contexts", 4},
                       {"draws", 32}};
  std::map<std::string, double> range;
  for (const Json& row : ComputeQuantity("context_position_range", inputs, 1)) {
    const Json& labels = row.at("labels");
    range[labels.at("position_encoding").get<std::string>() + " " +
          labels.at("place").get<std::string>()] = row.at("value");
    EXPECT_LT(row.at("interval")[0], row.at("value"));
    EXPECT_GT(row.at("interval")[1], row.at("value"));
  }
  EXPECT_NEAR(range.at("none inside"), 0, 0.1);
  EXPECT_GT(range.at("raw outside"), 0.2);
  const auto order = Values("context_position_order", inputs);
  EXPECT_GT(order[3], 0.9);
}

}  // namespace
}  // namespace attnbench
