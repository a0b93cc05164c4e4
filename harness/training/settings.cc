#include "harness/training/settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/error.h"
#include "mechanisms/energy/energy.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

// Numbers of an array [batch, U, T] of attention: 128 MiB of f32, of which
// training has several.
constexpr Index kMostWeights = Index{1} << 25;

bool HasOperator(const std::string& name) {
  return name == "monotonic" || name == "mocha" || name == "matcha" ||
         name == "memory";
}

bool TakesEnergies(const Description& about) {
  return about.scores.size() == 1 && TakesEnergiesAlone(about);
}

void CheckData(const TrainingSettings& settings, const Place& place) {
  const bool is_own = settings.task == kOwnDataTask;
  if (is_own != settings.data.has_value()) {
    FailAt(Place(place, "data"),
           is_own ? "is missing; expected a folder"
                  : "is for task folder; the task is " + settings.task);
  }
  if (is_own != settings.data_facts.has_value()) {
    FailAt(Place(place, "data_facts"),
           is_own ? "is missing"
                  : "is for task folder; the task is " + settings.task);
  }
  if (is_own && settings.data_facts->frame_size.has_value() ==
                    settings.data_facts->source_vocabulary.has_value()) {
    FailAt(Place(place, "data_facts"),
           "expected one of frame_size and source_vocabulary");
  }
}

}  // namespace

std::vector<std::string> TrainedMechanismNames() {
  std::vector<std::string> names = {"none"};
  for (const Mechanism<float>* mechanism : Mechanisms<float>()) {
    const Description& about = mechanism->Describe();
    if (HasOperator(about.name) || TakesEnergies(about)) {
      names.push_back(about.name);
    }
  }
  return names;
}

void CheckSettings(const TrainingSettings& settings, const Place& place) {
  CheckData(settings, place);
  if (settings.least_symbols > settings.most_symbols) {
    FailAt(Place(place, "least_symbols"),
           fmt::format("is {}, more than most_symbols, {}",
                       settings.least_symbols, settings.most_symbols));
  }
  const Index entries = settings.most_entries();
  const Index outputs = settings.most_symbols + 1;
  const Index together = std::max(settings.batch, settings.evaluation_batch());
  if (together * outputs * entries > kMostWeights) {
    const std::string what =
        fmt::format("{} x {} x {} weights, more than {}", together, outputs,
                    entries, kMostWeights);
    if (settings.data) {  // whose symbols nobody sets
      FailAt(Place(place, "batch"),
             fmt::format("is {}: with these data attention has up to {}",
                         settings.batch, what));
    }
    FailAt(Place(place, "most_symbols"),
           fmt::format("is {}: with batch {} attention has up to {}",
                       settings.most_symbols, settings.batch, what));
  }
  const Index encoded = settings.directions() * settings.encoder_units;
  const Index embedded = settings.dim - encoded;
  if (settings.embedding_in_memory ? embedded < 1 : embedded != 0) {
    FailAt(Place(place, "encoder_units"),
           fmt::format("makes {} numbers of a memory entry; expected {} dim, "
                       "{}",
                       encoded,
                       settings.embedding_in_memory ? "less than" : "all of",
                       settings.dim));
  }
  if (settings.embedding_in_memory && settings.has_frames()) {
    FailAt(Place(place, "embedding_in_memory"),
           "is for tasks of tokens; " + settings.task + " has frames");
  }
  if (settings.embedding_in_memory && settings.starts_from_encoder) {
    FailAt(Place(place, "starts_from_encoder"),
           "needs an encoder of dim numbers, without embedding_in_memory");
  }
  if (settings.input_feeding && settings.mechanism == "none") {
    FailAt(Place(place, "input_feeding"), "needs a mechanism; none is given");
  }
}

}  // namespace attnbench
