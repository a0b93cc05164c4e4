// Guards against decoders and references that share a misreading of the papers:
// the expected values come from enumerating every path of the hard processes at
// 50 digits, by a program that shares nothing with this one.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/given_inputs.h"

namespace attnbench {
namespace {

using nlohmann::json;
using testing::DecodeKeepingSteps;
using testing::DefaultConfig;
using testing::DenseWeights;
using testing::GivenInputs;
using testing::GivenRows;
using testing::Rows;

json ReadCase(const std::string& name) {
  std::ifstream file("tests/golden/" + name + ".json");
  EXPECT_TRUE(file) << name;
  return json::parse(file);
}

GivenRows InputsOf(const json& inputs) {
  const auto rows = [&](const char* key) { return inputs.value(key, Rows()); };
  return {.p_choose = rows("p_choose"),
          .energies = rows("energies"),
          .chunk_energies = rows("chunk_energies"),
          .encoder_scores = rows("encoder_scores"),
          .decoder_scores = rows("decoder_scores"),
          .memory = rows("memory")};
}

Config ConfigOf(const json& golden, const Mechanism<double>& mechanism) {
  Config config = DefaultConfig(mechanism, 0);
  config.want_weights = true;
  for (const auto& [key, value] : golden["options"].items()) {
    if (key == "chunk_width") {
      config.chunk_width = value.get<Index>();
    } else if (value.is_string()) {
      config.options.at(key) = value.get<std::string>();
    } else {
      config.options.at(key) = value.get<std::int64_t>();
    }
  }
  const Rows scores = golden["inputs"].value("decoder_scores", Rows());
  if (!scores.empty()) {
    config.num_contexts = static_cast<Index>(scores[0].size());
  }
  return config;
}

void ExpectRow(const json& expected, const auto& actual, double tolerance,
               const std::string& what) {
  for (std::size_t n = 0; n < expected.size(); ++n) {
    const double error =
        std::abs(actual(n) - expected[n].template get<double>());
    if (!(error <= tolerance)) {
      ADD_FAILURE() << what << "[" << n << "] is " << actual(n) << ", not "
                    << expected[n];
    }
  }
}

class GoldenTest : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenTest, DecodingGivesTheExpectedWeightsAndContexts) {
  const json golden = ReadCase(GetParam());
  const auto& mechanism =
      *FindMechanism<double>(golden["mechanism"].get<std::string>());
  GivenInputs<double> inputs(InputsOf(golden["inputs"]));
  Config config = ConfigOf(golden, mechanism);
  config.dim = inputs.dim();
  const double tolerance = golden["tolerance"].get<double>();
  for (const char* variant : {"exact", "reference"}) {
    SCOPED_TRACE(variant);
    config.variant = variant;
    const Rows weights = DenseWeights(
        DecodeKeepingSteps(mechanism, config, inputs.View()), inputs.T());
    const json& expected = golden["expected"];
    ASSERT_EQ(weights.size(), expected["attention"].size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::string output = "[" + std::to_string(i) + "]";
      ASSERT_EQ(weights[i].size(), expected["attention"][i].size());
      ASSERT_EQ(Size(inputs.dim()), expected["context"][i].size());
      ExpectRow(
          expected["attention"][i],
          [&](std::size_t j) { return weights[i][j]; }, tolerance,
          "attention" + output);
      ExpectRow(
          expected["context"][i],
          [&](std::size_t k) {
            return inputs.context(static_cast<Index>(i), static_cast<Index>(k));
          },
          tolerance, "context" + output);
    }
  }
}

constexpr const char* kDeterministic[] = {
    "monotonic-hard",
    "mocha-hard",
    "matcha-hard",
    "soft-plain",
    "soft-large-energies",
    "memory-sigmoid-sigmoid-none",
    "memory-sigmoid-sigmoid-raw",
    "memory-sigmoid-sigmoid-renormalized",
    "memory-sigmoid-softmax-none",
    "memory-sigmoid-softmax-raw",
    "memory-sigmoid-softmax-renormalized",
    "memory-softmax-sigmoid-none",
    "memory-softmax-sigmoid-raw",
    "memory-softmax-sigmoid-renormalized",
    "memory-softmax-softmax-none",
    "memory-softmax-softmax-raw",
    "memory-softmax-softmax-renormalized",
};

std::string NameOf(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenTest, ::testing::ValuesIn(kDeterministic),
                         NameOf);

// Where some p lie between 0 and 1 the expected attention is a mean over the
// hard process: sampled contexts must have it.
class SampledGoldenTest : public ::testing::TestWithParam<const char*> {};

TEST_P(SampledGoldenTest, SampledWeightsHaveTheExpectedMean) {
  const json golden = ReadCase(GetParam());
  const auto& mechanism =
      *FindMechanism<double>(golden["mechanism"].get<std::string>());
  GivenInputs<double> inputs(InputsOf(golden["inputs"]));
  Config config = ConfigOf(golden, mechanism);
  config.dim = inputs.dim();
  config.options["sample"] = true;
  constexpr std::uint32_t kStreams = 20000;
  Sequence<double> sequence = inputs.View();
  sequence.inputs.seed = 11;
  Rows sum(Size(inputs.U()), std::vector<double>(Size(inputs.T()), 0));
  for (std::uint32_t stream = 0; stream < kStreams; ++stream) {
    sequence.inputs.stream = stream;
    const Rows weights = DenseWeights(
        DecodeKeepingSteps(mechanism, config, sequence), inputs.T());
    for (std::size_t i = 0; i < sum.size(); ++i) {
      for (std::size_t j = 0; j < sum[i].size(); ++j)
        sum[i][j] += weights[i][j];
    }
  }
  const auto expected = golden["expected"]["attention"].get<Rows>();
  ASSERT_EQ(expected.size(), sum.size());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    for (std::size_t j = 0; j < sum[i].size(); ++j) {
      const double mean = expected[i][j];
      // A weight in [0, 1] varies no more than a Bernoulli draw of its mean.
      const double sigma = std::sqrt(mean * (1 - mean) / kStreams);
      const double error = std::abs(sum[i][j] / kStreams - mean);
      if (!(error <= 6 * sigma + 1e-12)) {
        ADD_FAILURE() << "[" << i << "][" << j << "]: " << error / sigma
                      << " sigma from " << mean;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SampledGoldenTest,
                         ::testing::Values("monotonic-exact-zeros-and-ones",
                                           "mocha-exact-zeros-and-ones",
                                           "matcha-exact-zeros-and-ones"),
                         NameOf);

}  // namespace
}  // namespace attnbench
