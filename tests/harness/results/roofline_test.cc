// Guards against a fraction of the wrong limit: of another level of memory, of
// reading where writing binds, of another precision; against shared caches that
// count as a thread's own, and against a schema that takes a limit that nobody
// measured.
#include "harness/machine/roofline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/results/sweep_result.h"
#include "tests/support/schema.h"

namespace attnbench {
namespace {

LevelLimits Level(const std::string& name, std::optional<Index> size_bytes,
                  double read_bytes_per_s, double copy_bytes_per_s) {
  LevelLimits level;
  level.name = name;
  level.size_bytes = size_bytes;
  level.array_bytes = 1;
  level.read_bytes_per_s = read_bytes_per_s;
  level.copy_bytes_per_s = copy_bytes_per_s;
  level.read_samples = {read_bytes_per_s};
  level.copy_samples = {copy_bytes_per_s};
  return level;
}

// The machine makes 100 flops a ns, reads 40, 20, 10 and 5 bytes a ns, and
// copies at half of that.
MachineLimits MadeUp() {
  MachineLimits limits{.precision = Precision::kF32, .threads = 2};
  limits.peak_flops_per_s = 100e9;
  limits.peak_samples = {90e9, 100e9};
  limits.levels = {Level("L1", 1000, 40e9, 20e9), Level("L2", 8000, 20e9, 10e9),
                   Level("L3", 64000, 10e9, 5e9),
                   Level("DRAM", std::nullopt, 5e9, 2.5e9)};
  return limits;
}

// The limit that binds 1000 flops and 4000 bytes with this working set.
Binding Bound(Index working_set_bytes, Mode mode = Mode::kDecode,
              double flops = 1000) {
  const auto binding = BindingLimit(MadeUp(), {.flops = flops, .bytes = 4000},
                                    working_set_bytes, mode);
  return binding.value_or(Binding{"nothing", -1});
}

void ExpectBound(const Binding& binding, const std::string& bound,
                 double limit_ns) {
  EXPECT_EQ(binding.bound, bound);
  EXPECT_DOUBLE_EQ(binding.limit_ns, limit_ns);
}

TEST(BindingLimit, IsTheBandwidthOfTheLevelThatHoldsTheWorkingSet) {
  ExpectBound(Bound(1), "L1", 100);
  ExpectBound(Bound(1000), "L1", 100);
  ExpectBound(Bound(1001), "L2", 200);
  ExpectBound(Bound(8000), "L2", 200);
  ExpectBound(Bound(8001), "L3", 400);
  ExpectBound(Bound(64000), "L3", 400);
  ExpectBound(Bound(64001), "DRAM", 800);
  ExpectBound(Bound(Index{1} << 60), "DRAM", 800);
}

TEST(BindingLimit, IsThePeakWhereTheFlopsTakeLonger) {
  ExpectBound(Bound(1000, Mode::kDecode, 9999), "L1", 100);
  ExpectBound(Bound(1000, Mode::kDecode, 10001), "compute", 100.01);
  ExpectBound(Bound(64001, Mode::kDecode, 10001), "DRAM", 800);
}

TEST(BindingLimit, OfTrainingIsOfCopying) {
  ExpectBound(Bound(1000, Mode::kExpect), "L1", 200);
  ExpectBound(Bound(64001, Mode::kGradient), "DRAM", 1600);
}

TEST(BindingLimit, IsNothingWhereNoLevelHoldsTheWorkingSet) {
  MachineLimits limits = MadeUp();
  limits.levels.pop_back();
  const Operations operations = {.flops = 1000, .bytes = 4000};
  EXPECT_TRUE(
      BindingLimit(limits, operations, 64000, Mode::kDecode).has_value());
  EXPECT_FALSE(
      BindingLimit(limits, operations, 64001, Mode::kDecode).has_value());
}

TEST(LimitOf, IsOfTheCellsOwnPrecisionAndThreads) {
  MachineLimits other = MadeUp();
  other.precision = Precision::kF64;
  other.peak_flops_per_s = 1;
  const std::vector<MachineLimits> all = {other, MadeUp()};
  CellFacts facts{.precision = Precision::kF32,
                  .threads = 2,
                  .mode = Mode::kDecode,
                  .operations = {.flops = 1000, .bytes = 4000},
                  .working_set_bytes = 8000,
                  .median_ns = 250};
  const std::optional<CellLimit> limit = LimitOf(all, facts);
  ASSERT_TRUE(limit.has_value());
  EXPECT_EQ(limit->bound, "L2");
  EXPECT_DOUBLE_EQ(limit->limit_ns, 200);
  EXPECT_DOUBLE_EQ(limit->fraction, 0.8);
  EXPECT_EQ(limit->working_set_bytes, 8000);
  facts.precision = Precision::kF64;
  EXPECT_EQ(LimitOf(all, facts)->bound, "compute");
  facts.threads = 1;
  EXPECT_FALSE(LimitOf(all, facts).has_value());
  EXPECT_FALSE(LimitOf({}, facts).has_value());
}

TEST(LimitOf, TheIntervalOfAFractionHasBothTimesErrors) {
  MachineLimits limits = MadeUp();
  CellFacts facts{.precision = Precision::kF32,
                  .threads = 2,
                  .mode = Mode::kDecode,
                  .operations = {.flops = 1000, .bytes = 4000},
                  .working_set_bytes = 8000,
                  .median_ns = 250,
                  .interval_ns = Interval{200, 300}};
  EXPECT_FALSE(LimitOf({&limits, 1}, facts)->fraction_interval.has_value())
      << "the bandwidth of an old result has no interval";
  limits.levels[1].read_interval_bytes_per_s = Interval{16e9, 25e9};
  limits.levels[1].copy_interval_bytes_per_s = Interval{1e9, 99e9};
  limits.peak_interval_flops_per_s = Interval{1e9, 999e9};
  const CellLimit limit = *LimitOf({&limits, 1}, facts);
  EXPECT_DOUBLE_EQ(limit.limit_interval_ns->low, 160);
  EXPECT_DOUBLE_EQ(limit.limit_interval_ns->high, 250);
  // Independent errors of 25 % and of 20 % downwards, of 25 % twice upwards.
  const double down = std::hypot(std::log(1.25), std::log(1.2));
  const double up = std::sqrt(2) * std::log(1.25);
  EXPECT_NEAR(limit.fraction_interval->low, 0.8 * std::exp(-down), 1e-12);
  EXPECT_NEAR(limit.fraction_interval->high, 0.8 * std::exp(up), 1e-12);
  facts.interval_ns.reset();
  EXPECT_FALSE(LimitOf({&limits, 1}, facts)->fraction_interval.has_value());
  facts.interval_ns = Interval{200, 300};
  facts.operations = {.flops = 1e6};
  EXPECT_DOUBLE_EQ(LimitOf({&limits, 1}, facts)->limit_interval_ns->low,
                   1e6 / 999);
  facts.operations = {};
  EXPECT_FALSE(LimitOf({&limits, 1}, facts)->fraction_interval.has_value())
      << "nothing has no logarithm";
}

TEST(RateInterval, IsStudentsOfTheLogarithmsUpToTheBest) {
  EXPECT_FALSE(RateInterval({5}).has_value());
  // The quantile of 2 degrees of freedom is 4.302653; the logarithms' standard
  // deviation is 1.
  const double half_width = 4.302653 / std::sqrt(3);
  const Interval wide = *RateInterval({std::exp(1), std::exp(2), std::exp(3)});
  EXPECT_NEAR(std::log(wide.low), 2 - half_width, 1e-6);
  EXPECT_NEAR(std::log(wide.high), 2 + half_width, 1e-6);
  std::vector<double> many(20, 10.0);
  many[3] = 11;
  EXPECT_DOUBLE_EQ(RateInterval(many)->high, 11);
  EXPECT_LT(RateInterval(many)->low, 10.05);
}

// The test asserts no speed, only that there is one.
TEST(MeasureLimits, GivesEveryLevelASampleARoundAndTheBestOfThem) {
  const MachineLimits limits =
      MeasureLimits(Precision::kF32, 2, {.rounds = 2, .sample_ns = 1e3});
  EXPECT_EQ(limits.precision, Precision::kF32);
  EXPECT_EQ(limits.threads, 2);
  EXPECT_EQ(limits.peak_samples.size(), 2U);
  EXPECT_THAT(limits.peak_samples,
              ::testing::Contains(limits.peak_flops_per_s));
  EXPECT_GE(limits.peak_interval_flops_per_s->high, limits.peak_flops_per_s);
  Index nearer_bytes = 0;
  for (const LevelLimits& level : limits.levels) {
    SCOPED_TRACE(level.name);
    EXPECT_GT(level.array_bytes, nearer_bytes);
    if (level.size_bytes) {
      EXPECT_LT(level.array_bytes, *level.size_bytes);
      nearer_bytes = *level.size_bytes;
    }
    for (const auto& [best, samples] :
         {std::pair(level.read_bytes_per_s, level.read_samples),
          std::pair(level.copy_bytes_per_s, level.copy_samples)}) {
      EXPECT_EQ(samples.size(), 2U);
      EXPECT_DOUBLE_EQ(best, std::max(samples.at(0), samples.at(1)));
      EXPECT_GT(std::min(samples.at(0), samples.at(1)), 0);
    }
    EXPECT_GE(level.read_interval_bytes_per_s->high, level.read_bytes_per_s);
    EXPECT_GE(level.copy_interval_bytes_per_s->high, level.copy_bytes_per_s);
  }
}

Json Document() {
  return {{"schema_version", kSchemaVersion},
          {"kind", "roofline"},
          {"context", Json::parse(R"({"commit": "abc", "dirty": null,
      "build_id": "0", "command": "x", "date": "2020-01-01T00:00:00Z",
      "seed": 0, "compiler": "g", "flags": "-O", "build_type": "Release",
      "cpu": "c", "caches": [], "cores": 2, "affinity": "0-1",
      "memory_bytes": 1024, "kernel": "6.1", "governor": null,
      "turbo": true, "aslr": 2, "load": 0.5, "load_end": null,
      "simd": "AVX2", "openmp": {"version": 1, "max_threads": 1,
      "OMP_NUM_THREADS": null, "OMP_PROC_BIND": null, "OMP_PLACES": null,
      "OMP_WAIT_POLICY": null}, "libraries": {}, "valid": true,
      "invalid_reasons": [], "warnings": []})")},
          {"limits", ToJson(std::vector<MachineLimits>{MadeUp()})}};
}

TEST(RooflineSchema, IsOfTheDocumentAndWantsEveryField) {
  const auto schema = testing::SchemaOf("roofline");
  EXPECT_TRUE(testing::Validates(schema, Document()));
  const Json good = Document();
  for (const auto& [name, value] : good.items()) {
    Json document = good;
    document.erase(name);
    EXPECT_FALSE(testing::Validates(schema, document)) << name;
  }
  for (const auto& [name, value] : good["limits"][0].items()) {
    if (name.find("interval") != std::string::npos) continue;  // new
    Json document = good;
    document["limits"][0].erase(name);
    EXPECT_FALSE(testing::Validates(schema, document)) << name;
  }
  for (const auto& [name, value] : good["limits"][0]["levels"][0].items()) {
    if (name.find("interval") != std::string::npos) continue;  // new
    Json document = good;
    document["limits"][0]["levels"][0].erase(name);
    EXPECT_FALSE(testing::Validates(schema, document)) << name;
  }
  Json document = good;
  document["limits"][0]["peak_flops_per_s"] = 0;
  EXPECT_FALSE(testing::Validates(schema, document));
}

TEST(RooflineSchema, HasTheLimitsAndTheContextOfASweep) {
  const auto of_sweep = testing::SchemaOf("sweep")["properties"]["context"];
  const auto properties = testing::SchemaOf("roofline")["properties"];
  EXPECT_EQ(properties["limits"]["items"],
            of_sweep["properties"]["limits"]["items"]);
  EXPECT_EQ(properties["context"], testing::CommonContext());
}

}  // namespace
}  // namespace attnbench
