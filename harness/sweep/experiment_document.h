// Experiment files (experiments/*.json) as they are written: of sweeps
// (experiment.cc) and of whole decoders (decoder_experiment.cc). What a value
// of an axis may be depends on the axes table; those who read a document check
// it.
#ifndef ATTNBENCH_HARNESS_SWEEP_EXPERIMENT_DOCUMENT_H_
#define ATTNBENCH_HARNESS_SWEEP_EXPERIMENT_DOCUMENT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/document.h"
#include "harness/sweep/axes.h"
#include "harness/sweep/decoder_experiment.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

inline const Rule kMayBeAbsent{.may_be_absent = true};

// By axis: a number, a name, or what the command line takes ("4:128:x2"), or a
// list of such. An axis without values is not in the file.
struct AxesDocument {
  std::map<std::string, OneOrMore<AxisValue>> of = {};

  static void Fields(auto& self, auto& visit) {
    for (const Axis& axis : StandardAxes()) {
      visit(axis.name.c_str(), self.of[axis.name],
            Rule{.may_be_absent = true, .definition = axis.name});
    }
  }
};

using OptionsDocument = std::map<std::string, OneOrMore<OptionValue>>;

// A mechanism with values of its own, which stand beside its name.
struct AlternativeDocument : AxesDocument {
  std::string mechanism = {};
  OptionsDocument options = {};

  static void Fields(auto& self, auto& visit) {
    visit("mechanism", self.mechanism, Rule{.one_of = MechanismNames()});
    OwnFields(self, visit);
  }
  static void OwnFields(auto& self, auto& visit) {
    AxesDocument::Fields(self, visit);
    visit("options", self.options,
          Rule{.may_be_absent = true, .definition = "options"});
  }
};

struct ExclusionDocument : AxesDocument {
  OneOrMore<std::string> mechanisms = {};

  static void Fields(auto& self, auto& visit) {
    visit("mechanism", self.mechanisms,
          Rule{.one_of = MechanismNames(), .may_be_absent = true});
    AxesDocument::Fields(self, visit);
  }
  static Json Conditions() { return {{"minProperties", 1}}; }
};

// What a file and its profiles may say.
struct ProfileDocument {
  std::optional<int> repetitions = {}, trials = {}, processes = {};
  AxesDocument axes = {};
  std::optional<std::vector<AlternativeDocument>> alternatives = {};

  static void Fields(auto& self, auto& visit) {
    visit("repetitions", self.repetitions,
          Rule{.description = "rounds, each with a sample of each cell",
               .minimum = 1,
               .maximum = kMostRepetitions,
               .absent_if_unset = true});
    visit("trials", self.trials,
          Rule{.description = "least number of trials of a cell over all "
                              "rounds",
               .minimum = 1,
               .maximum = kMostTrials,
               .absent_if_unset = true});
    visit("processes", self.processes,
          Rule{.description = "fresh processes, each with all rounds",
               .minimum = 1,
               .maximum = kMostProcesses,
               .absent_if_unset = true});
    visit("axes", self.axes,
          Rule{.description = "what is crossed, for every mechanism; an axis "
                              "that is missing has its default",
               .may_be_absent = true});
    visit("alternatives", self.alternatives,
          Rule{.min_items = 1,
               .absent_if_unset = true,
               .definition = "alternatives"});
  }
};

struct ProfilesDocument {
  std::optional<ProfileDocument> quick = {};

  static void Fields(auto& self, auto& visit) {
    visit("quick", self.quick, Rule{.absent_if_unset = true});
  }
};

// What every experiment file says of itself.
struct ExperimentHead {
  std::string name = {}, question = {}, source = {};
  std::int64_t seed = 1;

  static void Fields(auto& self, auto& visit) {
    visit("name", self.name,
          Rule{.description = "name of the file without .json",
               .not_empty = true});
    visit("question", self.question,
          Rule{.description = "what the experiment answers",
               .not_empty = true,
               .may_be_absent = true});
    visit("source", self.source,
          Rule{.description = "where grid and settings come from",
               .not_empty = true,
               .may_be_absent = true});
    visit("seed", self.seed,
          Rule{.description = "of the inputs and of the order of measuring",
               .minimum = 0,
               .maximum = 0x1p63,
               .may_be_absent = true});
  }
};

struct ExperimentDocument : ExperimentHead, ProfileDocument {
  static constexpr char kTitle[] = "Experiment of attnbench";

  OptionsDocument options = {};
  std::optional<std::vector<ExclusionDocument>> exclusions = {};
  ProfilesDocument profiles = {};

  static void Fields(auto& self, auto& visit) {
    ExperimentHead::Fields(self, visit);
    ProfileDocument::Fields(self, visit);
    visit("options", self.options,
          Rule{.may_be_absent = true, .definition = "options"});
    visit("exclusions", self.exclusions,
          Rule{.description = "cells to leave out: those for which everything "
                              "in one of these objects is so",
               .min_items = 1,
               .absent_if_unset = true});
    visit("profiles", self.profiles,
          Rule{.description = "what --quick replaces, each axis by itself",
               .may_be_absent = true});
  }
};

// An alternative of a decoder may be the model without attention.
struct DecoderAlternativeDocument : AlternativeDocument {
  static void Fields(auto& self, auto& visit) {
    std::vector<std::string> names = MechanismNames();
    names.emplace_back(kNoAttention);
    visit("mechanism", self.mechanism, Rule{.one_of = names});
    OwnFields(self, visit);
  }
};

struct DecoderModelDocument {
  std::optional<std::int64_t> vocabulary = {};
  OneOrMore<std::int64_t> units = {};
  OneOrMore<double> memory_share = {};

  static void Fields(auto& self, auto& visit) {
    visit("vocabulary", self.vocabulary,
          Rule{.minimum = kFirstSymbol + 1,
               .maximum = 1 << 22,
               .absent_if_unset = true});
    visit("units", self.units,
          Rule{.minimum = 1, .maximum = 1 << 14, .may_be_absent = true});
    visit("memory_share", self.memory_share,
          Rule{.minimum = 0.01, .maximum = 1, .may_be_absent = true});
  }
};

// What the file of a decoder and its profiles may say.
struct DecoderProfileDocument {
  std::optional<int> repetitions = {};
  DecoderModelDocument model = {};
  std::optional<std::int64_t> sequences = {};
  OneOrMore<std::int64_t> length = {}, beam = {};
  AxesDocument axes = {};
  std::optional<std::vector<DecoderAlternativeDocument>> alternatives = {};

  static void Fields(auto& self, auto& visit) {
    visit("repetitions", self.repetitions,
          Rule{.minimum = 1,
               .maximum = kMostRepetitions,
               .absent_if_unset = true});
    visit("model", self.model, kMayBeAbsent);
    visit("sequences", self.sequences,
          Rule{.minimum = 1, .maximum = 100'000, .absent_if_unset = true});
    visit("length", self.length,
          Rule{.minimum = 0, .maximum = 100'000, .may_be_absent = true});
    visit("beam", self.beam,
          Rule{.minimum = 1, .maximum = 1'000, .may_be_absent = true});
    visit("axes", self.axes, kMayBeAbsent);
    visit("alternatives", self.alternatives,
          Rule{.min_items = 1, .absent_if_unset = true});
  }
};

struct DecoderProfilesDocument {
  std::optional<DecoderProfileDocument> quick = {};

  static void Fields(auto& self, auto& visit) {
    visit("quick", self.quick, Rule{.absent_if_unset = true});
  }
};

struct DecoderExperimentDocument : ExperimentHead, DecoderProfileDocument {
  std::string kind = {};
  OptionsDocument options = {};
  DecoderProfilesDocument profiles = {};

  static void Fields(auto& self, auto& visit) {
    ExperimentHead::Fields(self, visit);
    visit("kind", self.kind, Rule{.may_be_absent = true});
    DecoderProfileDocument::Fields(self, visit);
    visit("options", self.options, kMayBeAbsent);
    visit("profiles", self.profiles, kMayBeAbsent);
  }
};

// Whether the document says that it is of a whole decoder.
inline bool IsOfDecoder(const Json& document) {
  return document.is_object() && document.value("kind", Json()) == "decoder";
}

// What parts of a document stand for in a request. Throw UserError naming the
// place.
void TakeAxes(const AxisTable& table, const AxesDocument& axes,
              const Place& place,
              std::map<std::string, std::vector<AxisValue>>& taken);
std::map<std::string, std::vector<OptionValue>> OptionsOf(
    const OptionsDocument& options);
Alternative AlternativeOf(const AxisTable& table,
                          const AlternativeDocument& alternative,
                          const Place& place);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SWEEP_EXPERIMENT_DOCUMENT_H_
