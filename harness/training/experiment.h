// Experiments of training (experiments/training/*.json): data, one file a
// question. Settings stand once for all alternatives; each alternative replaces
// some of them. Seed s of one alternative draws the same parameters, training
// examples and noise as seed s of any other: they pair.
#ifndef ATTNBENCH_HARNESS_TRAINING_EXPERIMENT_H_
#define ATTNBENCH_HARNESS_TRAINING_EXPERIMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/parse_text.h"
#include "harness/training/settings.h"

namespace attnbench {

// Some of TrainingSettings; the rest is as it is elsewhere. It stays JSON until
// it is laid over the others.
struct SomeSettings {
  Json json = Json::object();
};
template <>
struct JsonForm<SomeSettings> {
  static Json Write(const SomeSettings& settings) { return settings.json; }
  static SomeSettings Read(const Json& json, const Rule& /*rule*/,
                           const Place& place) {
    FromJson<TrainingSettings>(json, place);  // names what is wrong here
    return {json};
  }
  // `attnbench train`, in Python, has the defaults from here.
  static Json Schema(const Rule& /*rule*/) {
    Json schema = SchemaOf<TrainingSettings>();
    const Json defaults = ToJson(TrainingSettings());
    for (const auto& [name, value] : defaults.items()) {
      schema["properties"][name]["default"] = value;
    }
    return schema;
  }
};

// More than anybody trains; each is a run of every alternative.
inline constexpr Index kMostSeeds = 10'000;

struct TrainingAlternative {
  std::string name = {};
  std::optional<Index> seeds = {};
  SomeSettings settings = {};

  static void Fields(auto& self, auto& visit) {
    visit("name", self.name,
          Rule{.description = "of the runs in results, unlike all others",
               .pattern = "^[A-Za-z0-9_.-]+$"});
    visit("seeds", self.seeds,
          Rule{.description = "how many, in place of the file's",
               .minimum = 1,
               .maximum = kMostSeeds,
               .absent_if_unset = true});
    visit("settings", self.settings, Rule{.may_be_absent = true});
  }
};

struct TrainingProfile {
  std::optional<Index> seeds = {};
  SomeSettings settings = {};

  static void Fields(auto& self, auto& visit) {
    visit("seeds", self.seeds,
          Rule{.description = "no alternative has more",
               .minimum = 1,
               .maximum = kMostSeeds,
               .absent_if_unset = true});
    visit("settings", self.settings,
          Rule{.description = "laid over those of every alternative",
               .may_be_absent = true});
  }
};

struct TrainingProfiles {
  std::optional<TrainingProfile> quick = {};

  static void Fields(auto& self, auto& visit) {
    visit("quick", self.quick, Rule{.absent_if_unset = true});
  }
};

struct TrainingExperiment {
  static constexpr char kTitle[] = "Experiment of attnbench train";

  std::string name = {}, question = {}, source = {};
  std::uint64_t seed = 1;
  Index seeds = 1;
  SomeSettings settings = {};
  std::optional<std::vector<std::string>> folders = {};
  std::vector<TrainingAlternative> alternatives = {};
  TrainingProfiles profiles = {};

  static void Fields(auto& self, auto& visit) {
    visit("name", self.name,
          Rule{.description = "name of the file without .json",
               .not_empty = true});
    visit(
        "question", self.question,
        Rule{.description = "what the experiment answers", .not_empty = true});
    visit("source", self.source,
          Rule{.description = "where task and settings come from",
               .not_empty = true});
    visit("seed", self.seed,
          Rule{.description = "the first; also of the held-out set, which all "
                              "runs share",
               .minimum = 0,
               .maximum = kGreatestSeed,
               .may_be_absent = true});
    visit("seeds", self.seeds,
          Rule{.description = "how many: seed, seed + 1 and so on",
               .minimum = 1,
               .maximum = kMostSeeds,
               .may_be_absent = true});
    visit("settings", self.settings, Rule{.may_be_absent = true});
    visit("folders", self.folders,
          Rule{.description = "task folder: data of the first seed, of the "
                              "second and so on, then of the first again",
               .min_items = 1,
               .absent_if_unset = true});
    visit("alternatives", self.alternatives, Rule{.min_items = 1});
    visit("profiles", self.profiles, Rule{.may_be_absent = true});
  }
};

// What identifies a run.
struct TrainingRun {
  std::string name = {};
  std::uint64_t seed = 0;
  std::uint64_t held_out_seed = 0;
  TrainingSettings settings = {};

  static void Fields(auto& self, auto& visit) {
    visit("name", self.name);
    visit("seed", self.seed);
    visit("held_out_seed", self.held_out_seed);
    visit("settings", self.settings);
  }
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINING_EXPERIMENT_H_
