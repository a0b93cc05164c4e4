// Guards against a working set of something else than what a thread touches:
// arrays of other mechanisms, all sequences of a batch where a thread has one,
// the memory in scope attention, parameters counted once a sequence.
#include "harness/working_set.h"

#include <gtest/gtest.h>

#include "harness/asked_parameters.h"
#include "harness/point_inputs.h"
#include "harness/runner.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

constexpr Index T = 7, U = 5, d = 3, K = 2;
constexpr Index kReal = sizeof(float);

using Scores = std::vector<std::vector<std::string>>;
const Scores kChoice = {{"p_choose", "energies"}};
const Scores kChunks = {{"p_choose", "energies"}, {"chunk_energies"}};

// A sequence whose every view there is has data.
struct Made {
  std::vector<float> numbers = std::vector<float>(1000);
  Sequence<float> sequence;
  GivenScores<float> given;
  Config config;

  Made() {
    config.dim = d;
    sequence.memory.memory = {numbers.data(), T, d};
    sequence.memory.chunk_keys = {numbers.data(), T, d};
    sequence.states = {numbers.data(), U, d};
    sequence.chunk_states = {numbers.data(), U, d};
    sequence.contexts = {numbers.data(), U, d};
  }
};

TEST(ViewBytes, OfDecodingAreMemoryStatesAndContexts) {
  const Made made;
  EXPECT_EQ(ViewBytes(made.config, kChoice, made.sequence),
            kReal * (T * d + U * d + U * d));
}

TEST(ViewBytes, OfChunkEnergiesAreTheirOwnKeysAndStatesUnderDot) {
  Made made;
  EXPECT_EQ(ViewBytes(made.config, kChunks, made.sequence),
            kReal * (2 * T * d + 2 * U * d + U * d));
  made.config.energy = EnergyKind::kAdditive;
  EXPECT_EQ(ViewBytes(made.config, kChunks, made.sequence),
            kReal * (T * d + U * d + U * d));
}

TEST(ViewBytes, OfGivenScoresAreOneTableOfEachList) {
  Made made;
  made.given.p_choose = {made.numbers.data(), U, T};
  made.given.energies = {made.numbers.data(), U, T};
  made.given.encoder_scores = {made.numbers.data(), T, K};
  made.given.decoder_scores = {made.numbers.data(), U, K};
  made.sequence.inputs.given = &made.given;
  const Index common = kReal * (T * d + U * d);
  EXPECT_EQ(ViewBytes(made.config, kChoice, made.sequence),
            common + kReal * U * T);
  EXPECT_EQ(ViewBytes(made.config, {{"encoder_scores"}, {"decoder_scores"}},
                      made.sequence),
            common + kReal * (T + U) * K);
}

TEST(ViewBytes, OfTrainingAreTablesAndTheirGradients) {
  Made made;
  made.given.energies = {made.numbers.data(), U, T};
  made.given.chunk_energies = {made.numbers.data(), U, T};
  made.sequence.inputs.given = &made.given;
  made.sequence.contexts = {};
  made.config.attention_only = true;
  TrainingSequence<float> one{made.sequence, {}, {}, {}};
  one.expectation.attention = {made.numbers.data(), U, T};
  EXPECT_EQ(ViewBytes(made.config, kChunks, one), kReal * 3 * U * T);
  one.cotangent.attention = {made.numbers.data(), U, T};
  one.gradients.energies = {made.numbers.data(), U, T};
  one.gradients.chunk_energies = {made.numbers.data(), U, T};
  EXPECT_EQ(ViewBytes(made.config, kChunks, one), kReal * 6 * U * T);
  made.config.attention_only = false;
  ParameterGradients<float> parameters;
  parameters.Matrix("attention.W", d, d);
  one.gradients.parameters = &parameters;
  EXPECT_EQ(ViewBytes(made.config, kChunks, one),
            kReal * (6 * U * T + T * d + d * d));
}

TEST(AskedParameters, CountsEachArrayOnce) {
  class Source final : public ParameterSource<float> {
   public:
    MatrixView<const float> Matrix(std::string_view, Index rows,
                                   Index cols) const override {
      return {numbers_, rows, cols};
    }

   private:
    float numbers_[100] = {};
  };
  const Source source;
  const AskedParameters<float> counted(source);
  EXPECT_EQ(counted.bytes(), 0);
  EXPECT_EQ(counted.Matrix("W", 3, 4).cols, 4);
  counted.Matrix("v", 1, 4);
  counted.Matrix("W", 3, 4);
  EXPECT_EQ(counted.bytes(), kReal * 16);
}

TEST(WorkingSetBytes, IsOfTheThreadWithTheMostSequences) {
  EXPECT_EQ(WorkingSetBytes(1000, 7, 1, 1), 1007);
  EXPECT_EQ(WorkingSetBytes(1000, 7, 1, 4), 1007);
  EXPECT_EQ(WorkingSetBytes(1000, 7, 10, 1), 1007);
  EXPECT_EQ(WorkingSetBytes(1000, 7, 10, 2), 507);
  EXPECT_EQ(WorkingSetBytes(1000, 7, 10, 3), 407);
  EXPECT_EQ(WorkingSetBytes(1001, 7, 10, 2), 508);
}

// From the sweep's own arrays, with what the mechanism holds itself.
TEST(WorkingSet, OfACellIsWhatItsTrialTouches) {
  MachineLimits machine{.precision = "f32", .threads = 1};
  machine.peak_flops_per_s = 1e9;
  machine.levels.resize(1);
  machine.levels[0].name = "DRAM";
  machine.levels[0].read_bytes_per_s = 2e9;
  const std::vector<MachineLimits> limits = {machine};
  SweepRequest request;
  request.axes = {{"memory_length", {T}},
                  {"output_length", {U}},
                  {"dim", {d}},
                  {"batch", {2}}};
  request.alternatives = {{"monotonic", {}, {}},
                          {"memory", {{"num_contexts", {K}}}, {}},
                          {"soft", {{"mode", {"gradient"}}}, {}}};
  const Sweep sweep = ExpandSweep(StandardAxes(), request);
  ASSERT_EQ(sweep.points.size(), 1U);
  RunOptions options{.seed = 1, .repetitions = 2, .trials = 1, .epoch_ns = 1e4};
  const auto run = [&] {
    return RunPoint(StandardAxes(), sweep.points[0], options,
                    [](std::size_t, double) {});
  };
  for (const Json& cell : run()) {
    EXPECT_EQ(cell.at("status"), "ok");
    EXPECT_TRUE(cell.at("limit").is_null());
  }
  options.limits = limits;
  const std::vector<Json> cells = run();
  const auto wanted = [&](std::size_t cell, Index of_sequence, Index shared) {
    const Index own = cells[cell].at("peak_memory_bytes");
    const Json& limit = cells[cell].at("limit");
    EXPECT_EQ(limit.at("working_set_bytes"),
              kReal * (2 * of_sequence + shared) + own);
    return limit;
  };
  const Json limit = wanted(0, T * d + 2 * U * d, 0);
  wanted(1, T * d + 2 * U * d, 2 * K * d);
  wanted(2, 4 * U * T, 0);
  const Json& operations = cells[0].at("operations");
  const double limit_ns = std::max(operations.at("flops").get<double>() / 1,
                                   operations.at("bytes").get<double>() / 2);
  EXPECT_DOUBLE_EQ(limit.at("limit_ns"), limit_ns);
  EXPECT_DOUBLE_EQ(limit.at("fraction"),
                   limit_ns / cells[0].at("median_ns").get<double>());
}

}  // namespace
}  // namespace attnbench
