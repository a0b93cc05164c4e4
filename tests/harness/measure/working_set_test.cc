// Guards against a working set that is not what a thread touches: arrays of
// other mechanisms, all sequences of a batch where a thread has one, the memory
// in scope attention, parameters counted once a sequence.
#include "harness/measure/working_set.h"

#include <gtest/gtest.h>

#include "harness/inputs/asked_parameters.h"
#include "harness/inputs/point_inputs.h"
#include "harness/measure/point_runner.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

constexpr Index T = 7, U = 5, d = 3, K = 2;
constexpr Index kReal = sizeof(float);

const Description& About(const char* mechanism) {
  return FindMechanism<float>(mechanism)->Describe();
}

// A sequence with all that mocha reads from states.
struct Made {
  std::vector<float> numbers = std::vector<float>(1000);
  Sequence<float> sequence;
  Config config;

  Made() {
    config.dim = d;
    sequence.memory = {numbers.data(), T, d};
    sequence.inputs.further.Set("chunk_keys", {numbers.data(), T, d});
    sequence.states = {numbers.data(), U, d};
    sequence.inputs.further.Set("chunk_states", {numbers.data(), U, d});
    sequence.contexts = {numbers.data(), U, d};
  }
  void Give(const char* score, Index rows, Index cols) {
    sequence.inputs.scores.Set(score, {numbers.data(), rows, cols});
  }
};

TEST(ViewBytes, OfDecodingAreMemoryStatesAndContexts) {
  const Made made;
  EXPECT_EQ(ViewBytes(made.config, About("monotonic"), made.sequence),
            kReal * (T * d + U * d + U * d));
}

TEST(ViewBytes, OfChunkEnergiesAreTheirOwnKeysAndStatesUnderDot) {
  Made made;
  EXPECT_EQ(ViewBytes(made.config, About("mocha"), made.sequence),
            kReal * (2 * T * d + 2 * U * d + U * d));
  made.config.energy = EnergyKind::kAdditive;
  EXPECT_EQ(ViewBytes(made.config, About("mocha"), made.sequence),
            kReal * (T * d + U * d + U * d));
}

TEST(ViewBytes, OfGivenScoresAreOneTableOfEachList) {
  Made made;
  made.Give("p_choose", U, T);
  made.Give("energies", U, T);
  made.Give("encoder_scores", T, K);
  made.Give("decoder_scores", U, K);
  const Index common = kReal * (T * d + U * d);
  EXPECT_EQ(ViewBytes(made.config, About("monotonic"), made.sequence),
            common + kReal * U * T);
  EXPECT_EQ(ViewBytes(made.config, About("memory"), made.sequence),
            common + kReal * (T + U) * K);
}

TEST(ViewBytes, OfTrainingAreTablesAndTheirGradients) {
  Made made;
  made.Give("energies", U, T);
  made.Give("chunk_energies", U, T);
  made.sequence.contexts = {};
  TrainingSequence<float> one{made.sequence, {}, {}, {}};
  one.expectation.attention = {made.numbers.data(), U, T};
  EXPECT_EQ(ViewBytes(made.config, About("mocha"), one), kReal * 3 * U * T);
  one.cotangent.attention = {made.numbers.data(), U, T};
  one.gradients.scores.Set("energies", {made.numbers.data(), U, T});
  one.gradients.scores.Set("chunk_energies", {made.numbers.data(), U, T});
  EXPECT_EQ(ViewBytes(made.config, About("mocha"), one), kReal * 6 * U * T);
  one.sequence.contexts = {made.numbers.data(), U, d};
  ParameterGradients<float> parameters;
  parameters.Matrix("attention.W", d, d);
  one.gradients.parameters = &parameters;
  EXPECT_EQ(ViewBytes(made.config, About("mocha"), one),
            kReal * (6 * U * T + T * d + U * d + d * d));
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

// The arrays are the sweep's own, and the mechanism's own memory counts too.
TEST(WorkingSet, OfACellIsWhatItsTrialTouches) {
  MachineLimits machine{.precision = Precision::kF32, .threads = 1};
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
  const Sweep sweep = ExpandSweep(request);
  ASSERT_EQ(sweep.points.size(), 1U);
  RunOptions options{.seed = 1, .repetitions = 2, .trials = 1, .epoch_ns = 1e4};
  const auto run = [&] {
    return RunPoint(sweep.points[0], options, [](std::size_t, double) {});
  };
  for (const ResultCell& cell : run()) {
    EXPECT_TRUE(cell.is_ok());
    EXPECT_FALSE(cell.limit.has_value());
  }
  options.limits = limits;
  const std::vector<ResultCell> cells = run();
  const auto wanted = [&](std::size_t cell, Index of_sequence, Index shared) {
    const Index own = *cells[cell].peak_memory_bytes;
    const CellLimit limit = cells[cell].limit.value();
    EXPECT_EQ(limit.working_set_bytes,
              kReal * (2 * of_sequence + shared) + own);
    return limit;
  };
  const CellLimit limit = wanted(0, T * d + 2 * U * d, 0);
  wanted(1, T * d + 2 * U * d, 2 * K * d);
  wanted(2, 4 * U * T, 0);
  const CellOperations& operations = *cells[0].operations;
  const double limit_ns = std::max(operations.flops / 1, operations.bytes / 2);
  EXPECT_DOUBLE_EQ(limit.limit_ns, limit_ns);
  EXPECT_DOUBLE_EQ(limit.fraction, limit_ns / *cells[0].median_ns);
}

}  // namespace
}  // namespace attnbench
