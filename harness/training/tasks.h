// The room `training` decodes trained models, and knows what that needs: the
// tasks that models learn, the settings of a run, and checkpoints. Training is
// in Python (python/attnbench/train/), as are its experiments and results.
//
// Four tasks, each from n symbols, uniform and independent, with n uniform in
// least_symbols..most_symbols:
//
//   stretch   "speech in miniature": before each symbol 0 to 4 frames of
//             silence, then the symbol itself for 2 to 6 frames; 0 to 4 frames
//             of silence and one frame of the end symbol close the source. A
//             frame is the symbol's prototype (silence: zeros) plus noise. Two
//             neighbours are never equal, or nothing would tell two runs from
//             one. The target is the symbols.
//   reorder   tokens. Windows follow one another; a window's first symbol,
//             modulo 3, says how long it is (2 to 4, or what is left). In the
//             target the last symbol of each window goes to its front: abcd
//             becomes dabc.
//   copy      tokens; the target is the source (Britz 4.1).
//   reversal  tokens; the target is the source backwards.
//
// Sources of tokens end with the end symbol, and so do all targets. The task
// `folder` is a user's own data (folder.h).
//
// Every example is a pure function of (task, set, seed, index): the same
// whatever the batches, the machine and the order. Training and held-out sets
// have purposes of their own, so that no example of one is drawn from a key of
// the other; only Python makes those of training
// (python/attnbench/train/tasks.py).
#ifndef ATTNBENCH_HARNESS_TRAINING_TASKS_H_
#define ATTNBENCH_HARNESS_TRAINING_TASKS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/model/weights.h"

namespace attnbench {

inline constexpr Symbol kTaskVocabulary = 20;  // with the two special symbols
inline constexpr Index kFrameSize = 16;

inline constexpr char kOwnDataTask[] = "folder";

struct Task {
  std::string name = "stretch";  // one of TaskNames()
  Index least_symbols = 2;
  Index most_symbols = 6;
  double frame_noise = 0.7;  // standard deviation, of `stretch` only

  bool has_frames() const { return name == "stretch"; }
  // Entries of the longest source, with its end.
  Index most_entries() const;
};

std::vector<std::string> TaskNames();

struct Example {
  std::vector<Symbol> tokens;  // the source; empty where it is frames
  std::vector<float> frames;   // [T, frame_size]; empty where it is tokens
  std::vector<Symbol> target;  // with the end symbol
  Index frame_size = kFrameSize;

  Index source_length() const {
    return tokens.empty() ? static_cast<Index>(frames.size()) / frame_size
                          : static_cast<Index>(tokens.size());
  }
};

// Of the held-out set. Not of kOwnDataTask.
Example MakeExample(const Task& task, std::uint64_t seed, std::uint32_t index);

// The target of these symbols, both without the end symbol.
std::vector<Symbol> TargetOf(const Task& task, std::span<const Symbol> symbols);

// The frame [kFrameSize] of a symbol, without noise: the same for all seeds.
std::vector<float> Prototype(Symbol symbol);

// The edit distance of two outputs (Levenshtein): the least number of symbols
// to insert, remove or replace.
Index EditDistance(std::span<const Symbol> a, std::span<const Symbol> b);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINING_TASKS_H_
