// Guards against sources of whole decoders that are not those that were asked
// for.
#include "harness/measure/whole_decoder_inputs.h"

#include <gmock/gmock.h>

#include "tests/support/energies_file.h"

namespace attnbench {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Lt;

AxisMap PointOf(Index longest, Index num_sources, const char* workload) {
  AxisMap axes;
  axes["memory_length"] = longest;
  axes["output_length"] = longest;
  axes["layers"] = 3;
  axes["dim"] = 12;
  axes["batch"] = num_sources;
  axes["beam"] = 3;
  axes["vocabulary"] = 9;
  axes["workload"] = workload;
  return axes;
}

TEST(DecoderInputs, AreThoseOfThePoint) {
  const DecoderInputs inputs(PointOf(20, 5, "copy:0.25"), 7);
  EXPECT_EQ(inputs.beam(), 3);
  EXPECT_EQ(inputs.timed().sizes().vocabulary, 9);
  EXPECT_EQ(inputs.timed().sizes().units, 12);
  EXPECT_EQ(inputs.timed().sizes().layers, 3);
  EXPECT_EQ(inputs.random_scans().sizes().units, 12);
  std::vector<Index> lengths;
  for (const TranslationTask& task : inputs.tasks()) {
    lengths.push_back(std::ssize(task.source));
    EXPECT_EQ(task.num_steps, lengths.back() + 1);
    EXPECT_EQ(task.favoured.back(), kEndSymbol);
    EXPECT_TRUE(std::ranges::equal(task.favoured.first(task.source.size()),
                                   task.source));
  }
  std::vector<Index> wanted = SourceLengths(7, 20, 5);
  wanted.push_back(0);  // and an empty one
  EXPECT_EQ(lengths, wanted);
}

TEST(DecoderInputs, HaveGapsBehindTheirWeights) {
  ArrayGaps gaps{.seed = 7};
  const DecoderInputs inputs(PointOf(20, 5, "copy:1"), 7, &gaps);
  inputs.timed().Weights<float>(/*has_attention=*/true);
  const std::uint64_t weights = gaps.count;
  EXPECT_GT(weights, 3U);
  inputs.random_scans().Weights<double>(/*has_attention=*/true);
  EXPECT_EQ(gaps.count, 2 * weights);
}

TEST(DecoderInputs, HaveOutputsInProportionToTheirSources) {
  for (const Index outputs : {1, 5, 8, 16, 48}) {
    AxisMap axes = PointOf(16, 5, "copy:1");
    axes["output_length"] = outputs;
    const DecoderInputs inputs(axes, 7);
    for (const TranslationTask& task : inputs.tasks()) {
      const auto length = static_cast<Index>(task.source.size());
      EXPECT_EQ(task.num_steps, length * outputs / 16 + 1);
      EXPECT_EQ(std::ssize(task.favoured), task.num_steps);
    }
  }
}

TEST(DecoderInputs, HaveASourceForEachCapturedSequenceAndAStepForEachOutput) {
  const testing::EnergiesFile file;
  AxisMap axes = PointOf(3, 2, file.workload().c_str());
  axes["output_length"] = 2;
  const DecoderInputs inputs(axes, 7);
  ASSERT_EQ(inputs.tasks().size(), 2U);
  for (const TranslationTask& task : inputs.tasks()) {
    EXPECT_EQ(task.source.size(), 3U);
    EXPECT_EQ(task.num_steps, 2);
    EXPECT_EQ(task.favoured.back(), kEndSymbol);
    ASSERT_NE(task.captured, nullptr);
  }
  EXPECT_EQ(inputs.tasks()[1].captured->doubles.Find("energies")(0, 2), 9);
}

TEST(Sources, AreCopiedToAnyNumberOfOutputs) {
  const std::vector<Symbol> source = {2, 3, 4, 5};
  EXPECT_THAT(CopyOf(source, 4), ElementsAre(2, 3, 4, 5, kEndSymbol));
  EXPECT_THAT(CopyOf(source, 2), ElementsAre(2, 4, kEndSymbol));
  EXPECT_THAT(CopyOf(source, 6), ElementsAre(2, 2, 3, 4, 4, 5, kEndSymbol));
  EXPECT_THAT(CopyOf({}, 0), ElementsAre(kEndSymbol));
}

TEST(Sources, HaveLengthsFromNoneToTheLongest) {
  for (const Index count : {1, 4, 7, 201}) {
    const std::vector<Index> lengths = SourceLengths(1, 200, count);
    ASSERT_EQ(static_cast<Index>(lengths.size()), count);
    Index sum = 0;
    for (Index n = 0; n < count; ++n) {
      EXPECT_GE(lengths[Size(n)], n * 201 / count - 1);
      EXPECT_LE(lengths[Size(n)], (n + 1) * 201 / count);
      sum += lengths[Size(n)];
    }
    EXPECT_EQ(sum, 100 * count);
  }
  EXPECT_EQ(SourceLengths(1, 200, 201).front(), 0);
  EXPECT_EQ(SourceLengths(1, 200, 201).back(), 200);
  EXPECT_THAT(SourceLengths(1, 0, 3), Each(0));
  EXPECT_NE(SourceLengths(1, 200, 8), SourceLengths(2, 200, 8));
}

TEST(Sources, HaveSymbolsThatMeanSomething) {
  const std::vector<Symbol> source = DrawSource(1, 0, 1000, 20);
  EXPECT_EQ(source.size(), 1000U);
  EXPECT_THAT(source, Each(AllOf(Ge(kFirstSymbol), Lt(20))));
  for (Symbol v = kFirstSymbol; v < 20; ++v) {
    EXPECT_THAT(source, ::testing::Contains(v));
  }
  EXPECT_NE(source, DrawSource(1, 1, 1000, 20));
  EXPECT_TRUE(DrawSource(1, 0, 0, 20).empty());
}

}  // namespace
}  // namespace attnbench
