#include "harness/training/tasks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "harness/base/purposes.h"

namespace attnbench {
namespace {

constexpr Index kMostSilence = 4;
constexpr Index kLeastRun = 2;
constexpr Index kMostRun = 6;

// The random numbers of one example, one after another.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint32_t index)
      : seed_(seed), stream_(index) {}

  // Uniform in first..last.
  Index Between(Index first, Index last) {
    const auto count = static_cast<std::uint64_t>(last - first + 1);
    return first + static_cast<Index>((Next()[0] * count) >> 32);
  }
  double Normal() { return StandardNormal(Next()); }

 private:
  std::array<std::uint32_t, 4> Next() {
    return Philox(seed_, kHeldOutSetPurpose, stream_, count_++);
  }

  const std::uint64_t seed_;
  const std::uint32_t stream_;
  std::uint64_t count_ = 0;
};

std::vector<Symbol> DrawSymbols(const Task& task, Draws& draws) {
  std::vector<Symbol> symbols;
  const Index count = draws.Between(task.least_symbols, task.most_symbols);
  while (std::ssize(symbols) < count) {
    const auto symbol =
        static_cast<Symbol>(draws.Between(kFirstSymbol, kTaskVocabulary - 1));
    if (task.has_frames() && !symbols.empty() && symbols.back() == symbol) {
      continue;
    }
    symbols.push_back(symbol);
  }
  return symbols;
}

void AddFrames(const Task& task, std::span<const float> prototype, Index count,
               Draws& draws, std::vector<float>& frames) {
  for (Index n = 0; n < count; ++n) {
    for (const float value : prototype) {
      frames.push_back(value +
                       static_cast<float>(task.frame_noise * draws.Normal()));
    }
  }
}

std::vector<float> Stretch(const Task& task, std::span<const Symbol> symbols,
                           Draws& draws) {
  const std::vector<float> silence(Size(kFrameSize));
  std::vector<float> frames;
  for (const Symbol symbol : symbols) {
    AddFrames(task, silence, draws.Between(0, kMostSilence), draws, frames);
    AddFrames(task, Prototype(symbol), draws.Between(kLeastRun, kMostRun),
              draws, frames);
  }
  AddFrames(task, silence, draws.Between(0, kMostSilence), draws, frames);
  AddFrames(task, Prototype(kEndSymbol), 1, draws, frames);
  return frames;
}

}  // namespace

Index Task::most_entries() const {
  if (!has_frames()) return most_symbols + 1;
  return (kMostSilence + kMostRun) * most_symbols + kMostSilence + 1;
}

std::vector<std::string> TaskNames() {
  return {"stretch", "reorder", "copy", "reversal", kOwnDataTask};
}

std::vector<Symbol> TargetOf(const Task& task,
                             std::span<const Symbol> symbols) {
  std::vector<Symbol> target(symbols.begin(), symbols.end());
  if (task.name == "reversal") std::ranges::reverse(target);
  if (task.name != "reorder") return target;
  for (auto window = target.begin(); window != target.end();) {
    const auto length =
        std::min<std::ptrdiff_t>(*window % 3 + 2, target.end() - window);
    std::rotate(window, window + length - 1, window + length);
    window += length;
  }
  return target;
}

Example MakeExample(const Task& task, std::uint64_t seed, std::uint32_t index) {
  ATTN_CHECK(task.name != kOwnDataTask);
  Draws draws(seed, index);
  Example example;
  std::vector<Symbol> symbols = DrawSymbols(task, draws);
  example.target = TargetOf(task, symbols);
  example.target.push_back(kEndSymbol);
  if (task.has_frames()) {
    example.frames = Stretch(task, symbols, draws);
  } else {
    example.tokens = std::move(symbols);
    example.tokens.push_back(kEndSymbol);
  }
  return example;
}

std::vector<float> Prototype(Symbol symbol) {
  std::vector<float> frame;
  for (Index k = 0; k < kFrameSize; ++k) {
    frame.push_back(static_cast<float>(StandardNormal(
        Philox(0, kPrototypePurpose, static_cast<std::uint32_t>(symbol),
               static_cast<std::uint64_t>(k)))));
  }
  return frame;
}

Index EditDistance(std::span<const Symbol> a, std::span<const Symbol> b) {
  // row[j] is the distance of what was read of `a` and the first j of `b`.
  std::vector<Index> row(b.size() + 1);
  std::iota(row.begin(), row.end(), Index{0});
  for (const Symbol symbol : a) {
    Index diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const Index replaced = diagonal + (symbol == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace attnbench
