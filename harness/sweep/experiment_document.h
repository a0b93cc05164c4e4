// Experiment files (experiments/*.json) as they are written. What a value of an
// axis may be depends on the axes table; those who read a document check it.
#ifndef ATTNBENCH_HARNESS_SWEEP_EXPERIMENT_DOCUMENT_H_
#define ATTNBENCH_HARNESS_SWEEP_EXPERIMENT_DOCUMENT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/document.h"
#include "harness/base/parse_text.h"
#include "harness/sweep/request.h"

namespace attnbench {

// By axis: a number, a name, or what the command line takes ("4:128:x2"), or a
// list of such. An axis without values is not in the file.
struct AxesDocument {
  std::map<std::string, OneOrMore<AxisValue>> of = {};

  static void Fields(auto& self, auto& visit) {
    for (const Axis& axis : AllAxes()) {
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
    visit("mechanism", self.mechanism, Rule{.one_of = CellMechanismNames()});
    AxesDocument::Fields(self, visit);
    visit("options", self.options,
          Rule{.may_be_absent = true, .definition = "options"});
  }
};

struct ExclusionDocument : AxesDocument {
  OneOrMore<std::string> mechanisms = {};

  static void Fields(auto& self, auto& visit) {
    visit("mechanism", self.mechanisms,
          Rule{.one_of = CellMechanismNames(), .may_be_absent = true});
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

struct ExperimentDocument : ProfileDocument {
  static constexpr char kTitle[] = "Experiment of attnbench";

  std::string name = {}, question = {}, source = {};
  std::int64_t seed = 1;
  OptionsDocument options = {};
  std::optional<std::vector<ExclusionDocument>> exclusions = {};
  ProfilesDocument profiles = {};

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
               .maximum = kGreatestSeed,
               .may_be_absent = true});
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

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SWEEP_EXPERIMENT_DOCUMENT_H_
