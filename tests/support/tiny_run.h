// Runs of training that take a few milliseconds.
#ifndef ATTNBENCH_TESTS_SUPPORT_TINY_RUN_H_
#define ATTNBENCH_TESTS_SUPPORT_TINY_RUN_H_

#include <string>

#include "harness/training/checkpoint.h"

namespace attnbench::testing {

// A model that learns to copy three symbols in a moment.
inline TrainingSettings TinySettings(const std::string& mechanism) {
  TrainingSettings settings;
  settings.task = "copy";
  settings.least_symbols = 0;
  settings.most_symbols = 3;
  settings.mechanism = mechanism;
  settings.energy_bias = 0;
  settings.chunk_width = 2;
  settings.num_contexts = 4;
  settings.dim = 16;
  settings.encoder_units = 8;
  settings.bidirectional = true;
  settings.embedding = 8;
  settings.starts_from_encoder = true;
  settings.batch = 8;
  settings.steps = 30;
  settings.learning_rate = 0.02;
  settings.curve_every = 10;
  settings.curve_held_out = 8;
  return settings;
}

inline TrainingRun RunOf(const TrainingSettings& settings) {
  return {.name = "tiny", .seed = 1, .held_out_seed = 1, .settings = settings};
}

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_TINY_RUN_H_
