// Guards against a task whose target does not follow from its source, and
// against the same sequences again under another seed or index: either would
// make every error of a trained model mean something else. drawn_test.cc guards
// against held-out sequences that were trained on.
#include "harness/training/tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace attnbench {
namespace {

Task TaskOf(const std::string& name, Index least = 4, Index most = 12) {
  return {.name = name, .least_symbols = least, .most_symbols = most};
}

std::vector<Symbol> WithoutEnd(std::vector<Symbol> symbols) {
  EXPECT_EQ(symbols.back(), kEndSymbol);
  symbols.pop_back();
  return symbols;
}

TEST(Tasks, ReorderMovesTheLastSymbolOfEachWindowToItsFront) {
  // A window's first symbol modulo 3 is its length less 2.
  const Task task = TaskOf("reorder");
  EXPECT_EQ(TargetOf(task, std::vector<Symbol>{5, 7, 9, 8}),
            (std::vector<Symbol>{8, 5, 7, 9}));
  EXPECT_EQ(TargetOf(task, std::vector<Symbol>{3, 4, 7, 8, 9}),
            (std::vector<Symbol>{4, 3, 9, 7, 8}));
  EXPECT_EQ(TargetOf(task, std::vector<Symbol>{6, 7, 5, 3}),
            (std::vector<Symbol>{7, 6, 3, 5}))
      << "the last window is cut";
  EXPECT_TRUE(TargetOf(task, {}).empty());
}

TEST(Tasks, TargetsOfTokensFollowFromTheirSources) {
  for (std::uint32_t n = 0; n < 200; ++n) {
    const auto make = [&](const std::string& name) {
      return MakeExample(TaskOf(name), 1, n);
    };
    const Example copy = make("copy");
    EXPECT_EQ(copy.tokens, copy.target);
    const Example reversal = make("reversal");
    std::vector<Symbol> backwards = WithoutEnd(reversal.target);
    std::ranges::reverse(backwards);
    EXPECT_EQ(backwards, WithoutEnd(reversal.tokens));
    const Example reorder = make("reorder");
    EXPECT_EQ(TargetOf(TaskOf("reorder"), WithoutEnd(reorder.tokens)),
              WithoutEnd(reorder.target));
    const Index length = std::ssize(copy.target) - 1;
    EXPECT_GE(length, 4);
    EXPECT_LE(length, 12);
  }
}

// The symbols whose prototypes the frames are, without silences; a run counts
// once.
std::vector<Symbol> ReadFrames(const Example& example) {
  std::vector<Symbol> symbols;
  Symbol last = -1;
  for (Index t = 0; t < example.source_length(); ++t) {
    const auto begin = example.frames.begin() + t * kFrameSize;
    const std::vector<float> frame(begin, begin + kFrameSize);
    Symbol now = -1;
    for (Symbol s = kEndSymbol; s < kTaskVocabulary; ++s) {
      if (frame == Prototype(s)) now = s;
    }
    const bool silent = frame == std::vector<float>(Size(kFrameSize));
    EXPECT_EQ(silent, now < 0);
    if (now >= 0 && now != last) symbols.push_back(now);
    last = now;
  }
  return symbols;
}

TEST(Tasks, FramesWithoutNoiseSpellTheTarget) {
  Task task = TaskOf("stretch", 2, 6);
  task.frame_noise = 0;
  for (std::uint32_t n = 0; n < 100; ++n) {
    const Example example = MakeExample(task, 1, n);
    EXPECT_EQ(ReadFrames(example), example.target) << n;
  }
}

TEST(Tasks, FrameNoiseHasItsStandardDeviationAndMovesNothingElse) {
  Task task = TaskOf("stretch", 2, 6);
  task.frame_noise = 0;
  double sum = 0, squares = 0, count = 0;
  for (std::uint32_t n = 0; n < 100; ++n) {
    const Example clean = MakeExample(task, 2, n);
    Task noisy_task = task;
    noisy_task.frame_noise = 0.5;
    const Example noisy = MakeExample(noisy_task, 2, n);
    ASSERT_EQ(noisy.target, clean.target);
    ASSERT_EQ(noisy.frames.size(), clean.frames.size());
    for (std::size_t k = 0; k < clean.frames.size(); ++k) {
      const double noise = static_cast<double>(noisy.frames[k]) -
                           static_cast<double>(clean.frames[k]);
      sum += noise;
      squares += noise * noise;
      ++count;
    }
  }
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(squares / count, 0.25, 0.01);
}

TEST(Tasks, SeedsAndIndicesEachGiveOtherExamplesAndNothingElseDoes) {
  const Task task = TaskOf("copy", 12, 12);
  std::set<std::vector<Symbol>> seen;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    for (std::uint32_t n = 0; n < 100; ++n) {
      const Example example = MakeExample(task, seed, n);
      EXPECT_TRUE(seen.insert(example.tokens).second);
      EXPECT_EQ(MakeExample(task, seed, n).tokens, example.tokens);
    }
  }
}

TEST(Tasks, LengthsAndSymbolsAreUniform) {
  const Task task = TaskOf("copy", 0, 3);
  std::vector<int> lengths(4), symbols(Size(kTaskVocabulary));
  for (std::uint32_t n = 0; n < 4000; ++n) {
    const Example example = MakeExample(task, 1, n);
    ++lengths[example.tokens.size() - 1];
    for (const Symbol symbol : example.tokens) ++symbols[Size(symbol)];
  }
  for (const int count : lengths) EXPECT_NEAR(count, 1000, 120);
  EXPECT_EQ(symbols[Size(kStartSymbol)], 0);
  for (Symbol s = kFirstSymbol; s < kTaskVocabulary; ++s) {
    EXPECT_NEAR(symbols[Size(s)], 6000 / 18, 80) << s;
  }
}

TEST(EditDistance, CountsInsertionsRemovalsAndReplacements) {
  const std::vector<Symbol> abc = {2, 3, 4};
  EXPECT_EQ(EditDistance(abc, abc), 0);
  EXPECT_EQ(EditDistance(abc, {}), 3);
  EXPECT_EQ(EditDistance({}, abc), 3);
  EXPECT_EQ(EditDistance(abc, std::vector<Symbol>{2, 9, 4}), 1);
  EXPECT_EQ(EditDistance(abc, std::vector<Symbol>{3, 4}), 1);
  EXPECT_EQ(EditDistance(abc, std::vector<Symbol>{3, 4, 2}), 2);
  EXPECT_EQ(EditDistance(abc, std::vector<Symbol>{4, 3, 2}), 2);
}

}  // namespace
}  // namespace attnbench
