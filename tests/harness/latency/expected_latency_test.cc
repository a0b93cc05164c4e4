// Guards against an expected latency that is not the mean over the decoder's
// paths, a wrong gradient of it, and metrics of expected delays that pass for
// expectations.
#include "harness/latency/expected_latency.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "mechanisms/registry.h"
#include "mechanisms/sample.h"
#include "tests/support/finite_difference.h"
#include "tests/support/training.h"

namespace attnbench {
namespace {

using testing::GivenInputs;
using testing::GivenRows;
using testing::Rows;

constexpr EndPolicy kEveryEnd[] = {EndPolicy::kAbsorb, EndPolicy::kStayLast,
                                   EndPolicy::kRestart};

// These have zeros and ones among them.
const Rows kP = {
    {0.2, 0.5, 0.1, 0.7}, {0.6, 0.0, 0.4, 0.3}, {0.5, 1, 0.5, 0.5}};
const Rows kU = {{1, -1, 2, 0}, {0, 0, 1, 3}, {-2, 1, 0, 1}};

Config ConfigOf(const std::string& mechanism, EndPolicy end) {
  Config config = testing::DefaultConfig(*FindMechanism<double>(mechanism), 0);
  config.end = end;
  return config;
}

// Calls path(delays, probability) for every path of the process, with the
// delays that a user sees. It is written from the algorithm alone.
void ForEachPath(
    const Rows& p, EndPolicy end,
    const std::function<void(const std::vector<double>&, double)>& path) {
  const std::size_t T = p[0].size();
  std::vector<double> delays;
  const std::function<void(std::size_t, std::size_t, double)> go_on =
      [&](std::size_t i, std::size_t start, double probability) {
        if (i == p.size()) return path(delays, probability);
        double arrives = probability;
        const double read = delays.empty() ? 0 : delays.back();
        const auto output = [&](std::size_t entries, std::size_t next,
                                double mass) {
          delays.push_back(std::max(read, static_cast<double>(entries)));
          go_on(i + 1, next, mass);
          delays.pop_back();
        };
        for (std::size_t j = start; j < T; ++j) {
          const bool is_forced = end == EndPolicy::kStayLast && j + 1 == T;
          const double chooses = is_forced ? 1 : p[i][j];
          output(j + 1, j, arrives * chooses);
          arrives *= 1 - chooses;
        }
        output(T, end == EndPolicy::kRestart ? start : T, arrives);
      };
  go_on(0, 0, 1);
}

Latency MeanOverPaths(const Rows& p, EndPolicy end) {
  Latency mean;
  ForEachPath(p, end, [&](const std::vector<double>& delays, double mass) {
    const Latency latency =
        LatencyOf(delays, static_cast<Index>(p[0].size()), 0).value();
    for (double Latency::*const value : kLatencyFigures) {
      mean.*value += mass * latency.*value;
    }
  });
  return mean;
}

ExpectedLatency Expected(const Config& config, const GivenRows& rows,
                         const Gradients<double>& gradients = {}) {
  GivenInputs<double> inputs(rows);
  return ExpectLatency(config, inputs.View(), 0, gradients);
}

TEST(ExpectedLatency, OfTheProportionIsTheMeanOverAllPathsWhateverTheEnd) {
  for (const char* mechanism : {"monotonic", "mocha", "matcha"}) {
    for (const EndPolicy end : kEveryEnd) {
      const ExpectedLatency expected = Expected(
          ConfigOf(mechanism, end), {.p_choose = kP, .chunk_energies = kU});
      EXPECT_NEAR(expected.ap, MeanOverPaths(kP, end).ap, 1e-15) << mechanism;
      EXPECT_EQ(expected.delays.size(), 3U);
      EXPECT_EQ(expected.of_expected_delays.ap, expected.ap);
    }
  }
}

TEST(ExpectedLatency, OfWhatIsCertainIsThatOfTheDelays) {
  const Rows p = {{0, 1, 0, 0}, {0, 0, 0, 1}, {0, 0, 0, 0}};
  const ExpectedLatency expected =
      Expected(ConfigOf("monotonic", EndPolicy::kAbsorb), {.p_choose = p});
  EXPECT_EQ(expected.delays, (std::vector<double>{2, 4, 4}));
  EXPECT_DOUBLE_EQ(expected.ap, 10.0 / 12);
  EXPECT_DOUBLE_EQ(expected.of_expected_delays.al, (6.0 - 4.0 / 3) / 2);
}

TEST(ExpectedLatency, OfAverageLaggingIsNotThatOfTheExpectedDelays) {
  // Either output may be the first at the end, and AL forgets what follows it.
  const Rows p = {{0.5, 0.5}, {0.5, 0.5}};
  const ExpectedLatency expected =
      Expected(ConfigOf("monotonic", EndPolicy::kAbsorb), {.p_choose = p});
  const Latency mean = MeanOverPaths(p, EndPolicy::kAbsorb);
  // g is (1, 1), (1, 2) or (2, 2), with AL 1/2, 1 and 2.
  EXPECT_DOUBLE_EQ(mean.al, 0.25 * 0.5 + 0.25 * 1 + 0.5 * 2);
  EXPECT_DOUBLE_EQ(expected.of_expected_delays.al, (1.5 + 1.75 - 1) / 2);
  EXPECT_GT(std::abs(mean.al - expected.of_expected_delays.al), 0.1);
  EXPECT_NEAR(mean.ap, expected.ap, 1e-15);
}

TEST(ExpectedLatency, TheGradientOfTheProportionIsItsDerivative) {
  for (const bool of_energies : {false, true}) {
    std::vector<double> scores;
    for (const std::vector<double>& row : kP) {
      for (const double p : row) scores.push_back(of_energies ? 3 * p - 1 : p);
    }
    const std::size_t T = kP[0].size();
    const auto rows = [&] {
      Rows as_rows;
      for (std::size_t i = 0; i < kP.size(); ++i) {
        as_rows.emplace_back(&scores[i * T], &scores[i * T] + T);
      }
      GivenRows given{.chunk_energies = kU};
      (of_energies ? given.energies : given.p_choose) = as_rows;
      return given;
    };
    const Config config = ConfigOf("mocha", EndPolicy::kRestart);
    testing::OwnTable<double> gradient(3, 4);
    Gradients<double> gradients;
    gradients.scores.Set(of_energies ? "energies" : "p_choose",
                         gradient.view());
    Expected(config, rows(), gradients);
    testing::ExpectDerivatives({.name = of_energies ? "energies" : "p_choose",
                                .values = scores,
                                .gradient = gradient.values()},
                               [&] { return Expected(config, rows()).ap; });
  }
}

TEST(ExpectedLatency, OfSampledPathsIsWithinItsErrorOfTheMeanOverAll) {
  for (const EndPolicy end : kEveryEnd) {
    GivenInputs<double> inputs({.p_choose = kP, .chunk_energies = kU});
    Sequence<double> sequence = inputs.View();
    sequence.inputs.seed = 5;
    Config config = ConfigOf("matcha", end);
    config.dim = inputs.dim();
    config.mode = Mode::kExpect;
    config.schedule = Schedule::kTeacherForced;
    config.variant = "nested";
    const SampledLatency sampled = SampleLatency(
        *FindMechanism<double>("matcha"), config, sequence, 0, 20000);
    const Latency mean = MeanOverPaths(kP, end);
    for (double Latency::*const value : kLatencyFigures) {
      const double error = sampled.standard_error.*value;
      EXPECT_GT(error, 0);
      EXPECT_LT(error, 0.02);
      // One number in 16000 would be further away; these numbers are fixed.
      EXPECT_NEAR(sampled.mean.*value, mean.*value, 4 * error);
    }
  }
}

TEST(ExpectedLatency, TheStandardErrorIsThatOfAMean) {
  // One output over two entries: AL is 1 or 2, each half of the time.
  GivenInputs<double> inputs({.p_choose = {{0.5, 1}}});
  Config config = ConfigOf("monotonic", EndPolicy::kAbsorb);
  config.dim = inputs.dim();
  const SampledLatency sampled = SampleLatency(
      *FindMechanism<double>("monotonic"), config, inputs.View(), 0, 10000);
  const double p = sampled.mean.al - 1;
  EXPECT_NEAR(sampled.standard_error.al, std::sqrt(p * (1 - p) / 9999), 1e-12);
}

TEST(ExpectedLatency, ErrorsOfBatchesAreThoseOfTheirMeans) {
  // The values are 1 and 3 in turn, against 2.5: each is off by 1.5 or 0.5,
  // each mean of four by 0.5. 65 values are 16 batches of four and one more.
  std::vector<double> values;
  for (int n = 0; n < 65; ++n) values.push_back(n % 2 == 0 ? 1 : 3);
  const std::vector<BatchError> errors = BatchErrors(values, 2.5);
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0].paths, 1);
  EXPECT_EQ(errors[0].batches, 65);
  EXPECT_DOUBLE_EQ(errors[0].rms, std::sqrt((33 * 2.25 + 32 * 0.25) / 65));
  EXPECT_EQ(errors[1].paths, 4);
  EXPECT_EQ(errors[1].batches, 16);
  EXPECT_DOUBLE_EQ(errors[1].rms, 0.5);
  EXPECT_TRUE(BatchErrors(std::vector<double>(15), 1).empty());
}

TEST(ExpectedLatency, IsOfMechanismsThatChooseByTheScan) {
  for (const auto& [name, chooses] :
       {std::pair("soft", false), std::pair("monotonic", true),
        std::pair("mocha", true), std::pair("matcha", true),
        std::pair("memory", false)}) {
    EXPECT_EQ(ChoosesByScan(FindMechanism<double>(name)->Describe()), chooses);
  }
}

}  // namespace
}  // namespace attnbench
