#include "harness/stats/effects.h"

#include "committed_effects.h"

namespace attnbench {
namespace {

struct WrittenEffect : Effect {
  static void Fields(auto& self, auto& visit) {
    visit("s_build", self.s_build, kAtLeastZero);
    visit("build_degrees", self.build_degrees, kAboveZero);
    visit("s_process", self.s_process, kAtLeastZero);
    visit("process_degrees", self.process_degrees, kAboveZero);
    visit("s_run", self.s_run, kAtLeastZero);
    visit("run_degrees", self.run_degrees, kAboveZero);
  }
};

// Only `compare` reads it, which is in Python.
struct WrittenSpeed {
  double share = 0;
  double degrees = 1;

  static void Fields(auto& self, auto& visit) {
    visit("share", self.share, kAtLeastZero);
    visit("degrees", self.degrees, kAboveZero);
  }
};

struct WrittenEffects {
  WrittenEffect time = {}, ratio = {}, peer = {};
  WrittenSpeed speed = {};

  static void Fields(auto& self, auto& visit) {
    visit("time", self.time,
          Rule{.description = "a time alone, with the machine's state"});
    visit("ratio", self.ratio,
          Rule{.description = "the ratio of two cells of one run"});
    visit("peer", self.peer,
          Rule{.description = "the ratio of a cell of ours and a peer's"});
    visit("speed", self.speed,
          Rule{.description =
                   "how far a cell's ratio of two runs moves away from "
                   "the one that all cells have in common, as a share "
                   "of that one's logarithm"});
  }
};

struct EffectsDocument {
  static constexpr char kTitle[] =
      "Standard deviations of logarithms of times from build to build, from "
      "process to process and from run to run";

  int schema_version = 1;
  std::string kind = "effects";
  WrittenEffects effects = {};

  static void Fields(auto& self, auto& visit) {
    visit("schema_version", self.schema_version,
          Rule{.minimum = 1, .maximum = 1});
    visit("kind", self.kind, Rule{.one_of = {"effects"}});
    visit("effects", self.effects);
  }
};

}  // namespace

Effects EffectsOf(const Json& document, const std::string& path) {
  const auto read = FromJson<EffectsDocument>(document, path).effects;
  return {.time = read.time, .ratio = read.ratio, .peer = read.peer};
}

const Effects& CommittedEffects() {
  static const Effects effects =
      EffectsOf(Json::parse(kCommittedEffects), "results/effects.json");
  return effects;
}

std::string EffectsSchemaText() { return SchemaTextOf<EffectsDocument>(); }

}  // namespace attnbench
