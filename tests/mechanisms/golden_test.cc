// Guards against decoders, expectations, gradients and references that share a
// misreading of the papers: the expected values come from enumerating every
// path of the sampled processes at 50 digits, by a program that shares nothing
// with this one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
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

std::vector<std::string> CaseNames() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator("tests/golden")) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

json ReadCase(const std::string& name) {
  std::ifstream file("tests/golden/" + name + ".json");
  EXPECT_TRUE(file) << name;
  return json::parse(file);
}

Rows InputOf(const json& golden, const char* key) {
  return golden["inputs"].value(key, Rows());
}

GivenRows InputsOf(const json& golden) {
  return {.p_choose = InputOf(golden, "p_choose"),
          .energies = InputOf(golden, "energies"),
          .chunk_energies = InputOf(golden, "chunk_energies"),
          .encoder_scores = InputOf(golden, "encoder_scores"),
          .decoder_scores = InputOf(golden, "decoder_scores"),
          .memory = InputOf(golden, "memory")};
}

template <class Real>
const Mechanism<Real>& MechanismOf(const json& golden) {
  return *FindMechanism<Real>(golden["mechanism"].get<std::string>());
}

// `config` has the defaults.
Config ConfigOf(const json& golden, Config config) {
  config.want_weights = true;
  for (const auto& [key, value] : golden["options"].items()) {
    if (key == "chunk_width") {
      config.options["chunk_width"] = value.get<Index>();
    } else if (value.is_string()) {
      config.options.at(key) = value.get<std::string>();
    } else {
      config.options.at(key) = value.get<std::int64_t>();
    }
  }
  const Rows scores = InputOf(golden, "decoder_scores");
  if (!scores.empty()) {
    config.options["num_contexts"] = static_cast<Index>(scores[0].size());
  }
  return config;
}

// Expects every number of row i within tolerance(expected, i); fails on NaN.
void ExpectNear(const Rows& expected, const Rows& found, const auto& tolerance,
                const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(found[i].size(), expected[i].size()) << what;
    const double allowed = tolerance(expected, i);
    for (std::size_t j = 0; j < expected[i].size(); ++j) {
      const double error = std::abs(found[i][j] - expected[i][j]);
      if (!(error <= allowed)) {
        ADD_FAILURE() << what << "[" << i << "][" << j << "] is " << found[i][j]
                      << ", not " << expected[i][j] << ", an error of " << error
                      << " > " << allowed;
      }
    }
  }
}

TEST(GoldenCases, AreAllThere) { EXPECT_EQ(CaseNames().size(), 45U); }

// ---- expectations and gradients ---------------------------------------------

// A table that a mechanism writes; an element that it leaves out shows.
template <class Real>
class Written {
 public:
  MatrixView<Real> Make(std::size_t rows, std::size_t cols) {
    cols_ = cols;
    values_.assign(rows * cols, Real{-7});
    return {values_.data(), static_cast<Index>(rows), static_cast<Index>(cols)};
  }
  Rows rows() const {
    Rows rows;
    for (std::size_t n = 0; n < values_.size(); n += cols_) {
      rows.emplace_back(
          values_.begin() + static_cast<std::ptrdiff_t>(n),
          values_.begin() + static_cast<std::ptrdiff_t>(n + cols_));
    }
    return rows;
  }

 private:
  std::size_t cols_ = 0;
  std::vector<Real> values_;
};

// The arrays that Expect makes of a case, or Gradient if there is a cotangent,
// by the keys of its `expected`, such as "gradients.p_choose".
template <class Real>
std::map<std::string, Rows> Made(const json& golden, const char* variant,
                                 bool with_gradient) {
  const Mechanism<Real>& mechanism = MechanismOf<Real>(golden);
  GivenInputs<Real> inputs(InputsOf(golden));
  Config config = ConfigOf(golden, DefaultConfig(mechanism, inputs.dim()));
  config.variant = variant;
  config.mode = with_gradient ? Mode::kGradient : Mode::kExpect;
  std::map<std::string, Written<Real>> tables;
  const auto make = [&](const std::string& key, const json& like) {
    return tables[key].Make(like.size(), like[0].size());
  };
  const json& expected = golden["expected"];
  Sequence<Real> sequence = inputs.View();
  sequence.contexts = make("context", expected["context"]);
  Expectation<Real> out;
  out.attention = make("attention", expected["attention"]);
  if (expected.contains("selection")) {
    out.selection = make("selection", expected["selection"]);
  }
  if (with_gradient) {
    Gradients<Real> gradients;
    for (const auto& [name, like] : expected["gradients"].items()) {
      gradients.scores.Set(name, make("gradients." + name, like));
    }
    Written<Real> given;
    const auto rows = InputOf(golden, "cotangent");
    const MatrixView<Real> values = given.Make(rows.size(), rows[0].size());
    for (Index i = 0; i < values.rows; ++i) {
      std::ranges::transform(
          rows[Size(i)], values.Row(i).begin(),
          [](double value) { return static_cast<Real>(value); });
    }
    Cotangent<Real> cotangent;
    cotangent.attention = values;
    mechanism.Gradient(config, sequence, cotangent, out, gradients);
  } else {
    mechanism.Expect(config, sequence, out);
  }
  std::map<std::string, Rows> made;
  for (const auto& [key, table] : tables) made[key] = table.rows();
  return made;
}

// Expects every array of `made` near the expected one of that key.
void ExpectGolden(const json& golden, const std::map<std::string, Rows>& made,
                  const auto& tolerance) {
  const json& expected = golden["expected"];
  for (const auto& [key, rows] : made) {
    const std::size_t dot = key.find('.');
    const json& table = dot == std::string::npos
                            ? expected[key]
                            : expected["gradients"][key.substr(dot + 1)];
    ExpectNear(table.get<Rows>(), rows, tolerance, key);
  }
}

// The case's own tolerance, for every number.
auto ToleranceOf(const json& golden) {
  return [tolerance = golden["tolerance"].get<double>()](
             const Rows&, std::size_t) { return tolerance; };
}

class GoldenTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, TheExpectationIsThatOfAllPaths) {
  const json golden = ReadCase(GetParam());
  for (const char* variant : {"exact", "reference"}) {
    SCOPED_TRACE(variant);
    ExpectGolden(golden, Made<double>(golden, variant, false),
                 ToleranceOf(golden));
  }
}

TEST_P(GoldenTest, TheGradientIsThatOfAllPaths) {
  const json golden = ReadCase(GetParam());
  if (!golden["inputs"].contains("cotangent")) return;
  for (const char* variant : {"exact", "reference"}) {
    SCOPED_TRACE(variant);
    ExpectGolden(golden, Made<double>(golden, variant, true),
                 ToleranceOf(golden));
  }
}

// For such scores, rounding them to f32 changes no more than rounding the
// result.
bool IsModerate(const json& golden) {
  for (const char* key : {"energies", "chunk_energies", "encoder_scores",
                          "decoder_scores", "p_choose"}) {
    const bool is_probability = std::string(key) == "p_choose";
    for (const std::vector<double>& row : InputOf(golden, key)) {
      for (const double value : row) {
        if (is_probability ? value != 1 && 1 - value < 1e-6
                           : std::abs(value) > 10) {
          return false;
        }
      }
    }
  }
  return true;
}

double Largest(const std::vector<double>& row) {
  double largest = 0;
  for (const double value : row) largest = std::max(largest, std::abs(value));
  return largest;
}

TEST_P(GoldenTest, SinglePrecisionIsNear) {
  const json golden = ReadCase(GetParam());
  if (!IsModerate(golden)) return;
  for (const char* variant : {"exact", "reference"}) {
    SCOPED_TRACE(variant);
    ExpectGolden(golden, Made<float>(golden, variant, false),
                 [](const Rows& table, std::size_t i) {
                   return 2e-6 * Largest(table[i]);
                 });
    if (!golden["inputs"].contains("cotangent")) continue;
    // Gradients are differences, so an output's may be small by cancellation.
    ExpectGolden(golden, Made<float>(golden, variant, true),
                 [](const Rows& table, std::size_t) {
                   double largest = 0;
                   for (const std::vector<double>& row : table) {
                     largest = std::max(largest, Largest(row));
                   }
                   return 2e-6 * largest;
                 });
  }
}

std::string NameOf(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenTest, ::testing::ValuesIn(CaseNames()),
                         NameOf);

// ---- decoding ---------------------------------------------------------------

// If every p is 0 or 1, and if nothing is chosen, decoding is its expectation.
class DeterministicGoldenTest : public ::testing::TestWithParam<std::string> {};

TEST_P(DeterministicGoldenTest, DecodingGivesTheExpectedWeightsAndContexts) {
  const json golden = ReadCase(GetParam());
  const auto& mechanism = MechanismOf<double>(golden);
  GivenInputs<double> inputs(InputsOf(golden));
  Config config = ConfigOf(golden, DefaultConfig(mechanism, inputs.dim()));
  for (const char* variant : {"exact", "reference"}) {
    SCOPED_TRACE(variant);
    config.variant = variant;
    const Rows weights = DenseWeights(
        DecodeKeepingSteps(mechanism, config, inputs.View()), inputs.T());
    Rows contexts(Size(inputs.U()));
    for (Index i = 0; i < inputs.U(); ++i) {
      for (Index k = 0; k < inputs.dim(); ++k) {
        contexts[Size(i)].push_back(inputs.context(i, k));
      }
    }
    ExpectGolden(golden, {{"attention", weights}, {"context", contexts}},
                 ToleranceOf(golden));
  }
}

std::vector<std::string> DeterministicCases() {
  std::vector<std::string> names;
  for (const std::string& name : CaseNames()) {
    const Rows p = InputOf(ReadCase(name), "p_choose");
    if (std::ranges::all_of(p, [](const std::vector<double>& row) {
          return std::ranges::all_of(
              row, [](double value) { return value == 0 || value == 1; });
        })) {
      names.push_back(name);
    }
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Cases, DeterministicGoldenTest,
                         ::testing::ValuesIn(DeterministicCases()), NameOf);

// If some p lie between 0 and 1 the expected attention is a mean over the hard
// process, and sampled contexts must have that mean.
class SampledGoldenTest : public ::testing::TestWithParam<std::string> {};

TEST_P(SampledGoldenTest, SampledWeightsHaveTheExpectedMean) {
  const json golden = ReadCase(GetParam());
  const auto& mechanism = MechanismOf<double>(golden);
  GivenInputs<double> inputs(InputsOf(golden));
  Config config = ConfigOf(golden, DefaultConfig(mechanism, inputs.dim()));
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
