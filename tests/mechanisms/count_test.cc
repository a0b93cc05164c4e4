// Guards against operation counts that are plausible and wrong: they are
// compared exactly between machines and decide claims about complexity. Each
// expected number was added up on paper, term by term, for d = 4 in f32.
#include <gtest/gtest.h>

#include "tests/support/given_inputs.h"

namespace attnbench {
namespace {

using testing::DefaultConfig;

constexpr Index kDim = 4;
constexpr double kRowBytes = 4 * kDim;  // of d numbers in f32

// The steps of T = 5, U = 3: output 1 inspects entries 1 and 2 and chooses the
// second; output 2 inspects 2..5 in vain; output 3 does nothing. That makes 6
// energies.
StepTrace Choice(Index begin) {
  return {.position = 1, .begin = begin, .end = 2, .inspected = 2};
}
std::vector<StepTrace> HardSteps(Index begin) {
  return {Choice(begin), {.inspected = 4}, {}};
}

struct Expected {
  double energies, chunk_energies, memory_rows, flops, bytes;
};

void ExpectCount(const std::string& name, const Config& config, Index T,
                 const std::vector<StepTrace>& steps, const Expected& expected,
                 bool scores_given = false, bool attention_only = false) {
  const Operations count = FindMechanism<float>(name)->Count(
      config, {T, steps, scores_given, attention_only});
  EXPECT_EQ(count.energies, expected.energies);
  EXPECT_EQ(count.chunk_energies, expected.chunk_energies);
  EXPECT_EQ(count.memory_rows, expected.memory_rows);
  EXPECT_EQ(count.flops, expected.flops);
  EXPECT_EQ(count.bytes, expected.bytes);
}

Config ConfigFor(const std::string& name) {
  return DefaultConfig(*FindMechanism<float>(name), kDim);
}

// A softmax of n energies and its context take 4 n, 2 n d, d and one division.
double Softmax(double n) { return 4 * n + 2 * n * kDim + kDim + 1; }

TEST(CountTest, MonotonicUnderDot) {
  // There are 6 dot products of 2 d flops, 6 comparisons; 6 keys and the copied
  // row; 2 states and 3 contexts.
  ExpectCount("monotonic", ConfigFor("monotonic"), 5, HardSteps(1),
              {6, 0, 6 + 1, 6 * 8 + 6, kRowBytes * (6 + 1 + 2 + 3)});
}

TEST(CountTest, MochaAddsTheChunkUnderDot) {
  Config config = ConfigFor("mocha");
  config.options["chunk_width"] = 2;
  // This adds to monotonic 2 chunk energies on 2 keys of their own, 2 mixed
  // rows and the chunk's state.
  ExpectCount("mocha", config, 5, HardSteps(0),
              {6, 2, 6 + 2 + 2, 6 * 8 + 6 + 2 * 8 + Softmax(2),
               kRowBytes * (6 + 2 + 2 + 2 + 1 + 3)});
}

TEST(CountTest, MochaOfWidthOneCountsAsMonotonic) {
  Config config = ConfigFor("mocha");
  config.options["chunk_width"] = 1;
  ExpectCount("mocha", config, 5, HardSteps(1),
              {6, 0, 6 + 1, 6 * 8 + 6, kRowBytes * (6 + 1 + 2 + 3)});
}

TEST(CountTest, MatchaCountsItsOwnChunk) {
  ExpectCount("matcha", ConfigFor("matcha"), 5, HardSteps(0),
              {6, 2, 6 + 2 + 2, 6 * 8 + 6 + 2 * 8 + Softmax(2),
               kRowBytes * (6 + 2 + 2 + 2 + 1 + 3)});
}

TEST(CountTest, MochaUnderBilinearKeysOnDemand) {
  Config config = ConfigFor("mocha");
  config.energy = EnergyKind::kBilinear;
  config.options["keys"] = std::string("on_demand");
  // W^T s costs 2 d^2 = 32 flops and reads d rows, for each of the 2 states
  // and the chunk's; then energies are dot products with the memory, and the
  // rows of the chunk's are those that are mixed.
  ExpectCount("mocha", config, 5, HardSteps(0),
              {6, 2, 6 + 2, 6 * 8 + 6 + 2 * 32 + 2 * 8 + 32 + Softmax(2),
               kRowBytes * (8 + 2 * (1 + 4) + (1 + 4) + 3)});
}

TEST(CountTest, MochaUnderBilinearKeysPrecomputed) {
  Config config = ConfigFor("mocha");
  config.energy = EnergyKind::kBilinear;
  // Each of the 5 entries has two W h, each reading a row and writing one.
  ExpectCount(
      "mocha", config, 5, HardSteps(0),
      {6, 2, 2 * 5 * 2 + 6 + 2 + 2, 2 * 5 * 32 + 6 * 8 + 6 + 2 * 8 + Softmax(2),
       kRowBytes * (30 + 2 + 1 + 3)});
}

// Two outputs that weigh all of 5 entries.
std::vector<StepTrace> SoftSteps() {
  return std::vector<StepTrace>(2, StepTrace{.end = 5});
}

TEST(CountTest, SoftReadsTTimesUEntries) {
  // Under dot the row of an energy is the row that is mixed.
  ExpectCount("soft", ConfigFor("soft"), 5, SoftSteps(),
              {10, 0, 10, 10 * 8 + 2 * Softmax(5), kRowBytes * (10 + 2 + 2)});
}

TEST(CountTest, SoftUnderAdditiveKeysPrecomputed) {
  Config config = ConfigFor("soft");
  config.energy = EnergyKind::kAdditive;
  // V h + b takes 2 d^2 + d = 36 for each entry and the exp 2 d = 8, with one
  // row read and one written; W s 32 for each output, and its exp 8; each
  // energy 5 d = 20, with a key and a row read.
  ExpectCount(
      "soft", config, 5, SoftSteps(),
      {10, 0, 5 * 2 + 10 * 2, 5 * 44 + 2 * 40 + 10 * 20 + 2 * Softmax(5),
       kRowBytes * (30 + 2 * (1 + 4) + 2)});
}

TEST(CountTest, SoftUnderAdditiveKeysOnDemand) {
  Config config = ConfigFor("soft");
  config.energy = EnergyKind::kAdditive;
  config.options["keys"] = std::string("on_demand");
  // Each of the 10 energies has its V h + b; bytes have the d rows of V each.
  ExpectCount("soft", config, 5, SoftSteps(),
              {10, 0, 10, 2 * 32 + 10 * (16 + 36) + 2 * Softmax(5),
               kRowBytes * (50 + 2 * (1 + 4) + 2)});
}

TEST(CountTest, GivenScoresCostNothingToMake) {
  Config config = ConfigFor("soft");
  ExpectCount("soft", config, 5, SoftSteps(),
              {10, 0, 10, 2 * Softmax(5), kRowBytes * (10 + 2)},
              /*scores_given=*/true);
  config = ConfigFor("mocha");
  config.options["chunk_width"] = 2;
  // The scores are still compared with the threshold.
  ExpectCount("mocha", config, 5, HardSteps(0),
              {6, 2, 2, 6 + Softmax(2), kRowBytes * (2 + 3)},
              /*scores_given=*/true);
}

// T = 5 and U = 2 make 10 pairs.
TEST(CountTest, TrainingFromStatesToContexts) {
  Config config = ConfigFor("monotonic");
  config.mode = Mode::kExpect;
  // Each pair takes 2 d for the energy, 10 for alpha and 2 d for the context.
  // The bytes are all rows once for energies and once for contexts, 2 states, 2
  // contexts, and tables of scores and alpha.
  ExpectCount(
      "monotonic", config, 5, std::vector<StepTrace>(2),
      {10, 0, 5 + 5, 10 * (8 + 10 + 8), kRowBytes * (10 + 2 + 2) + 4 * 10 * 2});
  config = ConfigFor("soft");
  config.mode = Mode::kGradient;
  // The way back takes two products for each product, and 4 for the softmax; it
  // reads rows, states and contexts again and writes them, and tables twice.
  ExpectCount("soft", config, 5, std::vector<StepTrace>(2),
              {10, 0, 3 * (5 + 5), 10 * (3 * (8 + 8) + 5 + 4),
               kRowBytes * (30 + 3 * (2 + 2)) + 2 * 4 * 10 * 2});
}

TEST(CountTest, TrainingUnderAdditiveReadsAKeyForEachPair) {
  Config config = ConfigFor("monotonic");
  config.mode = Mode::kExpect;
  config.energy = EnergyKind::kAdditive;
  config.options["noise"] = 1.0;
  // V h + b takes 44 for each entry with the exp, W s 40 for each output; each
  // pair takes 5 d, 10, 8 for noise and 2 d. The rows are memory read and key
  // written, a key for each pair, the memory for contexts, and W for each
  // output.
  const double flops = 5 * 44 + 2 * 40 + 10 * (20 + 10 + 8 + 8);
  ExpectCount("monotonic", config, 5, std::vector<StepTrace>(2),
              {10, 0, 2 * 5 + 10 + 5, flops,
               kRowBytes * (25 + 2 * (1 + 4) + 2) + 4 * 10 * 2});
  config.options["keys"] = std::string("on_demand");
  // Each pair reads the memory, and the d rows of V with it.
  ExpectCount("monotonic", config, 5, std::vector<StepTrace>(2),
              {10, 0, 10 + 5, 2 * 32 + 10 * (16 + 36 + 10 + 8 + 8),
               kRowBytes * (15 + 10 * 4 + 2 * (1 + 4) + 2) + 4 * 10 * 2});
}

TEST(CountTest, TrainingFromScoresToAttention) {
  Config config = ConfigFor("mocha");
  config.mode = Mode::kGradient;
  config.options["chunk_width"] = 2;
  ExpectCount("mocha", config, 5, std::vector<StepTrace>(2),
              {10, 10, 0, 10 * (4 + 6 + 9 + 21), 2 * 4 * 10 * 3},
              /*scores_given=*/true, /*attention_only=*/true);
  config.options["chunk_width"] = 5;  // all entries: windows are prefixes
  ExpectCount("mocha", config, 5, std::vector<StepTrace>(2),
              {10, 10, 0, 10 * (4 + 6 + 5 + 13), 2 * 4 * 10 * 3},
              /*scores_given=*/true, /*attention_only=*/true);
  config.options["chunk_width"] = 1;  // no chunk energies
  ExpectCount("mocha", config, 5, std::vector<StepTrace>(2),
              {10, 0, 0, 10 * (4 + 6), 2 * 4 * 10 * 2}, /*scores_given=*/true,
              /*attention_only=*/true);
  config = ConfigFor("matcha");
  config.mode = Mode::kExpect;
  // Each output has 15 pairs of start and choice.
  ExpectCount("matcha", config, 5, std::vector<StepTrace>(2),
              {10, 10, 0, 10 * (4 + 8) + 2 * 15 * 6, 4 * 10 * 3},
              /*scores_given=*/true, /*attention_only=*/true);
  ExpectCount("matcha", config, 5, std::vector<StepTrace>(2),
              {10, 10, 5, 10 * (4 + 8 + 8) + 2 * 15 * 6,
               kRowBytes * (5 + 2) + 4 * 10 * 3},
              /*scores_given=*/true);
}

TEST(CountTest, TrainingOfMemory) {
  Config config = ConfigFor("memory");
  config.options["num_contexts"] = 2;
  config.mode = Mode::kGradient;
  // The K scores take 5, and 4 back, for 3 entries and 2 outputs; scores and
  // contexts take 2 K d for each, and twice that back. Rows are as in decoding,
  // three times; beside them are K parameter rows, states, the K contexts and
  // contexts.
  ExpectCount("memory", config, 3, std::vector<StepTrace>(2),
              {0, 0, 3 * (3 + 4), 5 * (2 * 9 + 3 * (16 + 16)),
               kRowBytes * 3 * (7 + 2 * 5 + 2 + 2 * 2 + 2)});
  config.mode = Mode::kExpect;
  ExpectCount("memory", config, 3, std::vector<StepTrace>(2),
              {0, 0, 0, 5 * 2 * 5 + 2 * 6 * 2, 4 * (2 * 5 + 6)},
              /*scores_given=*/true, /*attention_only=*/true);
}

TEST(CountTest, AnEmptyMemoryCostsItsContexts) {
  ExpectCount("soft", ConfigFor("soft"), 0, std::vector<StepTrace>(2),
              {0, 0, 0, 0, kRowBytes * 2});
  ExpectCount("monotonic", ConfigFor("monotonic"), 0, std::vector<StepTrace>(2),
              {0, 0, 0, 0, kRowBytes * 2});
}

TEST(CountTest, MemoryInClosedForm) {
  Config config = ConfigFor("memory");
  config.options["num_contexts"] = 2;
  // Each of 3 entries and 2 outputs takes K products of 2 d (16), a score of 5
  // K (10) and K updates of 2 d (16). The rows are 3 entries and 2 contexts for
  // each output; bytes also have K parameter rows each time, the K contexts
  // twice, and the state and context of each output.
  ExpectCount("memory", config, 3, std::vector<StepTrace>(2),
              {0, 0, 3 + 2 * 2, (3 + 2) * (16 + 10 + 16),
               kRowBytes * (7 + 2 * (3 + 2) + 2 * 2 + 2 * 2)});
  config.options["position_encoding"] = std::string("raw");
  // Each entry takes K more.
  ExpectCount("memory", config, 3, std::vector<StepTrace>(2),
              {0, 0, 7, 5 * 42 + 3 * 2, kRowBytes * (7 + 10 + 4 + 4)});
  ExpectCount("memory", config, 3, std::vector<StepTrace>(2),
              {0, 0, 7, 5 * 26 + 3 * 2, kRowBytes * (7 + 4 + 4)},
              /*scores_given=*/true);
}

TEST(CountTest, AnOutputOfMemoryCostsTheSameWhateverTheLength) {
  const Config config = ConfigFor("memory");
  const auto cost_of_an_output = [&](Index T) {
    const Mechanism<float>& memory = *FindMechanism<float>("memory");
    const std::vector<StepTrace> three_steps(3), two_steps(2);
    const Operations three = memory.Count(config, {T, three_steps});
    const Operations two = memory.Count(config, {T, two_steps});
    return three.flops - two.flops;
  };
  EXPECT_EQ(cost_of_an_output(10), cost_of_an_output(100000));
  EXPECT_EQ(cost_of_an_output(10), 32 * (4 * kDim + 5));
}

// The counts follow from the decoders' reports, so those must be true.
TEST(CountTest, DecodersReportTheEnergiesThatTheyEvaluated) {
  const Mechanism<float>& mechanism = *FindMechanism<float>("monotonic");
  testing::GivenInputs<float> inputs(
      {.p_choose = {{0, 1, 0, 0, 0}, {0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}}});
  const auto steps = testing::DecodeKeepingSteps(
      mechanism, DefaultConfig(mechanism, inputs.dim()), inputs.View());
  std::vector<StepTrace> traces;
  for (const auto& step : steps) {
    traces.push_back({step.position, step.begin, step.end, step.inspected});
  }
  ExpectCount("monotonic", ConfigFor("monotonic"), 5, traces,
              {6, 0, 6 + 1, 6 * 8 + 6, kRowBytes * (6 + 1 + 2 + 3)});
}

// The bytes are those of the precision.
TEST(CountTest, DoublePrecisionReadsTwiceTheBytes) {
  for (std::size_t m = 0; m < Mechanisms<float>().size(); ++m) {
    const Mechanism<double>& wide = *Mechanisms<double>()[m];
    const Mechanism<float>& single = *Mechanisms<float>()[m];
    const Config config = DefaultConfig(wide, kDim);
    const std::vector<StepTrace> steps = HardSteps(1);
    const Operations of_wide = wide.Count(config, {5, steps});
    const Operations of_single = single.Count(config, {5, steps});
    EXPECT_EQ(of_wide.bytes, 2 * of_single.bytes);
    EXPECT_EQ(of_wide.flops, of_single.flops);
  }
}

}  // namespace
}  // namespace attnbench
