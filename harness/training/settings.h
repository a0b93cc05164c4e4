// All that decides what a run of training makes, beside its seed. The members
// are the keys of experiment files, checkpoints and results, whose schemas in
// results/schema/ have them as they are here; what is not written has the
// default here.
#ifndef ATTNBENCH_HARNESS_TRAINING_SETTINGS_H_
#define ATTNBENCH_HARNESS_TRAINING_SETTINGS_H_

#include <optional>
#include <string>
#include <vector>

#include "harness/base/document.h"
#include "harness/training/tasks.h"

namespace attnbench {

// The registered mechanisms that can be trained, and "none": a decoder without
// attention. Beside those that have an operator in mechanisms/torch these are
// all that take energies and have a gradient.
std::vector<std::string> TrainedMechanismNames();

// Of the held-out set.
inline constexpr Index kMostSequences = 1'000'000;
// Sequences of that set that are evaluated together.
inline constexpr Index kEvaluationBatch = 128;

// What `attnbench train` reads from a folder of own data (docs/own_data.md), so
// that a model's shapes are known without it.
struct DataFacts {
  std::string hash = {};  // FolderData::hash
  Index vocabulary = 3;   // of targets, with the two special symbols
  // One of them: sources are tokens, or frames.
  std::optional<Index> source_vocabulary = {}, frame_size = {};
  Index longest_source = 1;
  std::optional<double> frame_ms = {};
  std::optional<std::string> source = {};

  static void Fields(auto& self, auto& visit) {
    constexpr double kMostSymbols = 100'000, kMostFrameSize = 4096;
    visit("hash", self.hash,
          Rule{.description = "of all that is read", .not_empty = true});
    visit("vocabulary", self.vocabulary,
          Rule{.description = "symbols of targets, with start and end",
               .minimum = 3,
               .maximum = kMostSymbols});
    visit("source_vocabulary", self.source_vocabulary,
          Rule{.description = "symbols of sources, with start and end; absent: "
                              "sources are frames",
               .minimum = 3,
               .maximum = kMostSymbols,
               .absent_if_unset = true});
    visit("frame_size", self.frame_size,
          Rule{.description = "numbers of a frame; absent: sources are tokens",
               .minimum = 1,
               .maximum = kMostFrameSize,
               .absent_if_unset = true});
    visit("longest_source", self.longest_source,
          Rule{.description = "entries; of tokens with the end symbol",
               .minimum = 1,
               .maximum = 1'000'000});
    visit("frame_ms", self.frame_ms,
          Rule{.description = "time of a frame",
               .exclusive_minimum = 0,
               .absent_if_unset = true});
    visit("source", self.source,
          Rule{.description = "where the data come from, with version and "
                              "licence",
               .absent_if_unset = true});
  }
};

struct TrainingSettings {
  // The task (tasks.h).
  std::string task = "stretch";
  std::optional<std::string> data = {};
  std::optional<DataFacts> data_facts = {};
  Index least_symbols = 2, most_symbols = 6;
  double frame_noise = 0.7;
  // Attention.
  std::string mechanism = "monotonic";
  std::string alpha = "exact";
  double clip = 1e-10, clip_until = 1;
  Index chunk_width = 4;
  Index num_contexts = 32;
  std::string encoder_scoring = "softmax", decoder_scoring = "softmax";
  std::string position_encoding = "none", place = "inside";
  double energy_bias = -2;
  std::optional<std::string> energy = {};
  std::optional<Index> energy_units = {};
  // The model.
  Index dim = 64;
  Index encoder_units = 64;
  bool bidirectional = false;
  bool embedding_in_memory = false;
  Index embedding = 32;
  bool starts_from_encoder = false;
  bool input_feeding = false;
  // Training.
  Index steps = 5000;
  Index batch = 32;
  double learning_rate = 0.005;
  double greatest_norm = 1;
  double noise = 0;
  double noise_rise = 0;
  // Evaluation.
  Index held_out = 4096;
  Index curve_every = 500;
  Index curve_held_out = 256;

  static void Fields(auto& self, auto& visit) {
    const auto optional = [](Rule rule) {
      rule.may_be_absent = true;
      return rule;
    };
    const auto number = [&](const char* description, double least,
                            double most) {
      return optional(
          {.description = description, .minimum = least, .maximum = most});
    };
    const auto deviation = [&](const char* description) {
      return number(description, 0, 1e6);
    };
    const auto sequences = [&](const char* description) {
      return number(description, 1, kMostSequences);
    };
    // A model with the greatest of all sizes has a checkpoint that can be read.
    const auto size = [&](const char* description) {
      return number(description, 1, 1024);
    };
    const auto scoring = [&](const char* description) {
      return optional(
          {.description = description, .one_of = {"softmax", "sigmoid"}});
    };
    visit("task", self.task,
          optional({.description = "what is learned", .one_of = TaskNames()}));
    visit("data", self.data,
          Rule{.description = "folder of own data, as seen from the working "
                              "folder; task folder",
               .not_empty = true,
               .absent_if_unset = true});
    visit("data_facts", self.data_facts,
          Rule{.description = "what attnbench train has read from the data; "
                              "not for experiments",
               .absent_if_unset = true});
    visit("least_symbols", self.least_symbols,
          number("of a sequence, without its end", 0, 10'000));
    visit("most_symbols", self.most_symbols,
          number("of a sequence, without its end", 1, 10'000));
    visit("frame_noise", self.frame_noise,
          deviation("standard deviation of a frame's numbers; task stretch"));
    visit("mechanism", self.mechanism,
          optional({.description = "attention, or none",
                    .one_of = TrainedMechanismNames()}));
    visit("alpha", self.alpha,
          optional({.description = "how monotonic makes alpha in training: "
                                   "exactly, or by the closed form with its "
                                   "denominator clipped (MAD G)",
                    .one_of = {"exact", "clipped"}}));
    visit("clip", self.clip,
          optional({.description = "least denominator of a clipped alpha; with "
                                   "1 it is 1 everywhere",
                    .exclusive_minimum = 0,
                    .maximum = 1}));
    visit("clip_until", self.clip_until,
          number("share of the steps after which a clipped alpha is exact", 0,
                 1));
    visit("chunk_width", self.chunk_width, number("w of mocha", 1, 1e6));
    visit("num_contexts", self.num_contexts, size("K of memory"));
    visit("encoder_scoring", self.encoder_scoring, scoring("of memory"));
    visit("decoder_scoring", self.decoder_scoring, scoring("of memory"));
    visit("position_encoding", self.position_encoding,
          optional({.description = "of memory",
                    .one_of = {"none", "raw", "renormalized",
                               "renormalized_mean"}}));
    visit("place", self.place,
          optional({.description = "of memory's position encoding",
                    .one_of = {"inside", "outside"}}));
    visit("energy_bias", self.energy_bias,
          number("r of MAD eq 16 before training; trained", -1e6, 1e6));
    visit("energy", self.energy,
          Rule{.description = "of the attention: additive (MAD eq 15), which "
                              "has neither g nor r; normalized_additive (eq "
                              "16) if not given",
               .one_of = {"additive", "normalized_additive"},
               .absent_if_unset = true});
    visit("energy_units", self.energy_units,
          Rule{.description = "rows of W and V of MAD eq 16; dim if not given",
               .minimum = 1,
               .maximum = 1024,
               .absent_if_unset = true});
    visit("dim", self.dim,
          size("numbers of a memory entry and of a decoder state"));
    visit("encoder_units", self.encoder_units,
          size("of the encoder's LSTM in each direction"));
    visit("bidirectional", self.bidirectional,
          optional({.description = "both directions stand beside each other "
                                   "in a memory entry"}));
    visit("embedding_in_memory", self.embedding_in_memory,
          optional({.description = "a memory entry begins with the source's "
                                   "embedding, which takes what the encoder "
                                   "leaves of dim"}));
    visit("embedding", self.embedding,
          size("numbers of an embedding, of the source if it is not in the "
               "memory"));
    visit("starts_from_encoder", self.starts_from_encoder,
          optional({.description = "the decoder starts from the encoder's last "
                                   "states instead of zeros"}));
    visit("input_feeding", self.input_feeding,
          optional({.description = "the decoder reads the last context, too, "
                                   "so that training takes one output after "
                                   "another"}));
    visit("steps", self.steps, number("of training", 1, 1e9));
    visit("batch", self.batch, number("sequences of a step", 1, 1e6));
    visit("learning_rate", self.learning_rate,
          optional({.description = "of Adam at first; falls linearly to 0",
                    .exclusive_minimum = 0,
                    .maximum = 1}));
    // Adam adds 1e-8 to the root of the squares: of gradients that are less it
    // would learn nothing.
    visit("greatest_norm", self.greatest_norm,
          number("gradients of a greater norm are scaled to it", 1e-6, 1e6));
    visit("noise", self.noise,
          deviation("standard deviation of what is added to energies of the "
                    "choice in training (MAD 2.5)"));
    visit("noise_rise", self.noise_rise,
          number("share of the steps over which the noise rises from 0", 0, 1));
    visit("held_out", self.held_out,
          sequences("sequences that the final errors are measured on"));
    visit("curve_every", self.curve_every,
          number("steps between points of the curve; 0: no curve", 0, 1e9));
    visit("curve_held_out", self.curve_held_out,
          sequences("sequences of a point of the curve"));
  }

  Task task_spec() const {
    return {task, least_symbols, most_symbols, frame_noise};
  }
  bool has_frames() const {
    return data_facts ? data_facts->frame_size.has_value()
                      : task_spec().has_frames();
  }
  // Entries of the longest source, with its end.
  Index most_entries() const {
    return data_facts ? data_facts->longest_source : task_spec().most_entries();
  }
  // Sequences of the held-out set that are evaluated together; those of own
  // data may be long.
  Index evaluation_batch() const {
    return data_facts ? batch : kEvaluationBatch;
  }
  // Numbers of a frame.
  Index frame_size() const {
    return data_facts ? data_facts->frame_size.value_or(0) : kFrameSize;
  }
  // Symbols of targets and of sources of tokens, with the two special ones.
  Index vocabulary() const {
    return data_facts ? data_facts->vocabulary : kTaskVocabulary;
  }
  Index source_vocabulary() const {
    return data_facts ? data_facts->source_vocabulary.value_or(0)
                      : kTaskVocabulary;
  }
  Index directions() const { return bidirectional ? 2 : 1; }
  // Entries of the longest source of tokens, with its end; 0: not known.
  Index longest_source() const { return has_frames() ? 0 : most_entries(); }
  // Decoding of held-out sequences is cut off a few symbols after the longest
  // target.
  Index most_outputs() const { return most_symbols + 5; }
  // Numbers of the encoder's inputs.
  Index source_size() const {
    if (has_frames()) return frame_size();
    return embedding_in_memory ? dim - directions() * encoder_units : embedding;
  }
  // Numbers of the decoder's inputs.
  Index decoder_inputs() const { return embedding + (input_feeding ? dim : 0); }
  // Whether outputs choose entries one after another.
  bool is_monotonic() const { return mechanism == "monotonic" || has_chunks(); }
  bool has_chunks() const {
    return mechanism == "mocha" || mechanism == "matcha";
  }
  // Whether its attention has g and r.
  bool is_normalized() const { return energy != "additive"; }
};

// Throws UserError naming the place if members do not fit each other in a
// model. What else cannot be trained is known to the trainer alone
// (python/attnbench/train/settings.py).
void CheckSettings(const TrainingSettings& settings, const Place& place);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINING_SETTINGS_H_
