// attnbench list: shows everything that has a name, to people, programs and the
// documentation, from the same registry and axis table as all commands use.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "harness/answers/table.h"
#include "harness/base/document.h"
#include "harness/base/error.h"
#include "harness/base/parse_text.h"
#include "harness/base/printable.h"
#include "harness/claims/computed.h"
#include "harness/commands/commands.h"
#include "harness/gap/result.h"
#include "harness/results/sweep_result.h"
#include "harness/stability/diagnosis.h"
#include "harness/stability/result.h"
#include "harness/stats/effects.h"
#include "harness/sweep/experiment.h"
#include "harness/system/source_tree.h"
#include "harness/training/checkpoint.h"
#include "harness/training/settings.h"
#include "harness/verify/result.h"
#include "mechanisms/description.h"
#include "mechanisms/energy/energy.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

struct ListedVariant {
  std::string name = {}, help = {};
  std::vector<std::string> modes = {};

  static void Fields(auto& self, auto& visit) {
    visit("name", self.name);
    visit("help", self.help);
    visit("modes", self.modes);
  }
};

struct ListedOption : OptionSpec {
  static void Fields(auto& self, auto& visit) {
    visit("name", self.name);
    visit("type", std::string(TypeName(self.default_value)));
    visit("default", self.default_value);
    visit("allowed", self.allowed);
    visit("least", self.least);
    visit("greatest", self.greatest);
    visit("help", self.help);
  }
};

// A use of a mechanism, and which of its functions is missing for that.
struct ListedUse {
  std::string name = {};
  std::optional<std::string> lacks = {};

  static void Fields(auto& self, auto& visit) {
    visit("name", self.name);
    visit("lacks", self.lacks);
  }
};

struct ListedForm {
  std::string name = {}, toolkit = {}, source = {}, clips = {};

  static void Fields(auto& self, auto& visit) {
    visit("name", self.name);
    visit("toolkit", self.toolkit);
    visit("source", self.source);
    visit("clips", self.clips);
  }
};

struct ListedMechanism {
  std::string name = {}, title = {}, paper = {};
  bool online = false;
  std::vector<std::string> axes = {}, modes = {}, schedules = {};
  std::vector<ListedVariant> variants = {};
  std::vector<ListedOption> options = {};
  std::vector<std::vector<std::string>> scores = {};
  std::vector<ListedUse> uses = {};

  static void Fields(auto& self, auto& visit) {
    visit("name", self.name);
    visit("title", self.title);
    visit("paper", self.paper);
    visit("online", self.online);
    visit("axes", self.axes);
    visit("modes", self.modes);
    visit("schedules", self.schedules);
    visit("variants", self.variants);
    visit("options", self.options);
    visit("scores", self.scores);
    visit("uses", self.uses);
  }
};

// A whole-number axis has a range, any other axis has values.
struct ListedAxis {
  std::string name = {};
  std::optional<std::string> letter = {};
  std::string default_value = {}, training_default = {}, default_text = {};
  bool declared = false;
  std::optional<std::int64_t> least = {}, greatest = {};
  std::optional<bool> infinite = {};
  std::optional<std::vector<std::string>> values = {};
  std::string help = {};

  static void Fields(auto& self, auto& visit) {
    const Rule optional{.absent_if_unset = true};
    visit("name", self.name);
    visit("letter", self.letter);
    visit("default", self.default_value);
    visit("training_default", self.training_default);
    visit("default_text", self.default_text);
    visit("declared", self.declared);
    visit("least", self.least, optional);
    visit("greatest", self.greatest, optional);
    visit("infinite", self.infinite, optional);
    visit("values", self.values, optional);
    visit("help", self.help);
  }
};

struct Everything {
  std::vector<ListedMechanism> mechanisms = {};
  std::vector<ListedAxis> axes = {};
  std::vector<ListedForm> forms = {};
  std::vector<std::string> energies = {}, variants = {}, workloads = {},
                           experiments = {};

  static void Fields(auto& self, auto& visit) {
    visit("mechanisms", self.mechanisms);
    visit("axes", self.axes);
    visit("forms", self.forms);
    visit("energies", self.energies);
    visit("variants", self.variants);
    visit("workloads", self.workloads);
    visit("experiments", self.experiments);
  }
};

std::vector<ListedUse> UsesOf(const Description& about) {
  std::vector<ListedUse> uses;
  const auto add = [&](const char* name, bool works, const char* lacks) {
    uses.push_back({name, works ? std::nullopt : std::optional(lacks)});
  };
  const auto of_mode = [&](const char* name, Mode mode) {
    add(name, HasMode(about, mode), FunctionOf(mode));
  };
  of_mode("decode", Mode::kDecode);
  add("beam", about.beam, "StepBeam");
  of_mode("advise", Mode::kDecode);
  of_mode("expect", Mode::kExpect);
  of_mode("verify", Mode::kExpect);
  of_mode("gradient", Mode::kGradient);
  const bool trains = Contains(TrainedMechanismNames(), about.name);
  const bool has_gradient = HasMode(about, Mode::kGradient);
  add("operator", trains || TakesEnergiesAlone(about),
      has_gradient ? "energies as scores" : "Gradient");
  add("train", trains,
      has_gradient ? "energies as its only scores" : "Gradient");
  return uses;
}

ListedMechanism Listed(const Description& about) {
  ListedMechanism mechanism = {.name = about.name,
                               .title = about.title,
                               .paper = about.paper,
                               .online = about.online,
                               .axes = DeclaredAxes(about),
                               .modes = NamesOf(about.modes),
                               .schedules = NamesOf(about.schedules)};
  for (const std::vector<InputSpec>& list : about.scores) {
    std::vector<std::string>& names = mechanism.scores.emplace_back();
    for (const InputSpec& score : list) names.push_back(score.name);
  }
  for (const VariantSpec& spec : about.variants) {
    mechanism.variants.push_back(
        {spec.name, spec.help,
         NamesOf(spec.modes.empty() ? about.modes : spec.modes)});
  }
  mechanism.uses = UsesOf(about);
  for (const OptionSpec& spec : OptionsBesideAxes(about)) {
    mechanism.options.push_back({spec});
  }
  return mechanism;
}

ListedAxis Listed(const Axis& axis) {
  ListedAxis listed = {.name = axis.name,
                       .default_value = axis.default_value,
                       .training_default = DefaultOf(axis, Mode::kExpect),
                       .default_text = DefaultText(axis),
                       .declared = axis.declared,
                       .help = axis.help};
  if (!axis.letter.empty()) listed.letter = axis.letter;
  if (axis.type == AxisType::kInteger) {
    listed.least = axis.least;
    listed.greatest = axis.greatest;
    listed.infinite = axis.allow_infinite;
  } else {
    listed.values = axis.names;
  }
  return listed;
}

// The experiments of the current folder, or else of the program's own sources.
// The ledger of claims beside them is no experiment.
std::vector<std::string> ExperimentNames() {
  std::vector<std::string> names;
  std::error_code no_folder;
  for (const auto& entry : std::filesystem::directory_iterator(
           HereOrInSources("experiments"), no_folder)) {
    std::error_code unreadable;  // such as a loop of links
    if (entry.path().extension() != ".json" ||
        !entry.is_regular_file(unreadable) ||
        entry.path().filename() == "claims.json") {
      continue;
    }
    names.push_back(entry.path().stem().string());
    CheckUtf8(names.back(), "a file in ./experiments");
  }
  std::sort(names.begin(), names.end());
  return names;
}

Everything ListEverything() {
  const auto names = [&](const char* axis) {
    return FindAxis(axis, "list").names;
  };
  Everything everything = {.energies = names("energy"),
                           .variants = names("variant"),
                           .workloads = names("workload"),
                           .experiments = ExperimentNames()};
  for (const auto* mechanism : Mechanisms<float>()) {
    const Description& about = mechanism->Describe();
    everything.mechanisms.push_back(Listed(about));
    for (const PublishedForm& form : about.forms) {
      if (std::ranges::find(everything.forms, form.name, &ListedForm::name) ==
          everything.forms.end()) {
        everything.forms.push_back(
            {form.name, form.toolkit, form.source, form.clips});
      }
    }
  }
  for (const Axis& axis : AllAxes()) everything.axes.push_back(Listed(axis));
  return everything;
}

std::string Joined(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string ValuesText(const ListedAxis& axis) {
  if (axis.values) return Joined(*axis.values);
  return fmt::format("{} to {}{}", *axis.least, *axis.greatest,
                     *axis.infinite ? ", inf" : "");
}

std::string AllowedText(const ListedOption& option) {
  if (!option.allowed.empty()) return Joined(option.allowed);
  std::string text = TypeName(option.default_value);
  if (std::isfinite(option.least))
    text += fmt::format(" from {}", option.least);
  if (std::isfinite(option.greatest)) {
    text += fmt::format(" to {}", option.greatest);
  }
  return text;
}

std::string MechanismText(const ListedMechanism& mechanism) {
  std::string text = fmt::format(
      "  {}  {} ({})\n    axes: {}\n    modes: {}\n    schedules: {}\n",
      mechanism.name, mechanism.title, mechanism.paper, Joined(mechanism.axes),
      Joined(mechanism.modes), Joined(mechanism.schedules));
  std::vector<std::string> works, lacks;
  for (const ListedUse& use : mechanism.uses) {
    (use.lacks ? lacks : works)
        .push_back(use.lacks ? use.name + " (no " + *use.lacks + ")"
                             : use.name);
  }
  text += "    works: " + Joined(works) +
          (lacks.empty() ? "" : "; not: " + Joined(lacks)) + "\n";
  for (const ListedVariant& variant : mechanism.variants) {
    text += fmt::format("    --variant {}  {}{}\n", variant.name, variant.help,
                        variant.modes == mechanism.modes
                            ? ""
                            : " (" + Joined(variant.modes) + ")");
  }
  for (const ListedOption& option : mechanism.options) {
    text += fmt::format("    --option {}={}  {} ({})\n", option.name,
                        OptionText(option.default_value), option.help,
                        AllowedText(option));
  }
  return text;
}

std::string EverythingText(const Everything& everything) {
  std::string text = "mechanisms\n";
  for (const ListedMechanism& mechanism : everything.mechanisms) {
    text += MechanismText(mechanism);
  }
  text += "axes\n";
  for (const ListedAxis& axis : everything.axes) {
    text += fmt::format("  {:<2}  {:<13}  default {}; {}\n      {}\n",
                        axis.letter.value_or("-"), axis.name, axis.default_text,
                        ValuesText(axis), axis.help);
  }
  text += "forms (of alpha, by toolkits and papers: presets, and variants)\n";
  for (const ListedForm& form : everything.forms) {
    text += fmt::format("  {}  {}: {}. Clips: {}\n", form.name, form.toolkit,
                        form.source, form.clips);
  }
  return text + fmt::format(
                    "energies\n  {}\nvariants\n  {}\nworkloads\n  "
                    "{}\nexperiments\n  {}\n",
                    Joined(everything.energies), Joined(everything.variants),
                    Joined(everything.workloads),
                    Joined(everything.experiments));
}

std::string MarkdownTable(const std::vector<ListedAxis>& axes) {
  std::string text =
      "| letter | axis | default | values | meaning |\n"
      "| --- | --- | --- | --- | --- |\n";
  for (const ListedAxis& axis : axes) {
    text += fmt::format("| {} | `{}` | `{}` | {} | {} |\n",
                        axis.letter.value_or(""), axis.name, axis.default_text,
                        ValuesText(axis), axis.help);
  }
  return text;
}

std::string MarkdownTable(const std::vector<ListedForm>& forms) {
  std::string text =
      "| toolkit or paper | preset | stands for | clips |\n"
      "| --- | --- | --- | --- |\n";
  for (const ListedForm& form : forms) {
    text += fmt::format("| {} | `{}` | {} | {} |\n", form.toolkit, form.name,
                        form.source, form.clips);
  }
  return text;
}

std::string MarkdownText(const std::string& table,
                         const Everything& everything) {
  if (table == "axes") return MarkdownTable(everything.axes);
  if (table == "forms") return MarkdownTable(everything.forms);
  throw UserError(
      "--markdown",
      UnknownName("table", table, std::vector<std::string>{"axes", "forms"}));
}

// The schema of a kind of document, as it is printed and committed. Throws
// UserError for a kind without a schema here.
std::string SchemaText(const std::string& kind) {
  const std::map<std::string, std::function<std::string()>> kinds = {
      {"sweep", [] { return SweepSchema().dump(2) + "\n"; }},
      {"experiment", [&] { return ExperimentSchemaText(); }},
      {"verify", SchemaTextOf<VerifyResult>},
      {"stability", SchemaTextOf<StabilityResult>},
      {"gap", SchemaTextOf<GapResult>},
      {"model_gap", SchemaTextOf<ModelGap>},
      {"computed", SchemaTextOf<ComputedResult>},
      {"table", SchemaTextOf<CellTable>},
      {"diagnosis", SchemaTextOf<Diagnosis>},
      {"checkpoint", SchemaTextOf<Checkpoint>},
      {"effects", EffectsSchemaText}};
  const auto found = kinds.find(kind);
  if (found != kinds.end()) return found->second();
  std::vector<std::string> valid;
  for (const auto& [name, text] : kinds) valid.push_back(name);
  throw UserError("--schema", UnknownName("kind", kind, valid));
}

struct Formats {
  bool json = false;
  std::optional<std::string> schema;
  bool experiment_schema = false;
  std::optional<std::string> markdown;
};

int List(const Formats& formats) {
  if (formats.schema || formats.experiment_schema) {
    std::cout << SchemaText(formats.schema.value_or("experiment"));
    return 0;
  }
  const Everything everything = ListEverything();
  if (formats.json) {
    std::cout << JsonText(ToJson(everything), 2);
  } else if (formats.markdown) {
    std::cout << MarkdownText(*formats.markdown, everything);
  } else {
    std::cout << PrintableLines(EverythingText(everything));
  }
  return 0;
}

}  // namespace

void AddList(CLI::App& app, Command& run) {
  CLI::App* const command =
      app.add_subcommand("list",
                         "show mechanisms, axes, energies, variants, "
                         "workloads, and the experiments "
                         "in ./experiments or else of the sources");
  const auto formats = std::make_shared<Formats>();
  const std::vector<CLI::Option*> options = {
      command->add_flag("--json", formats->json, "as JSON, e.g. list --json"),
      command
          ->add_option(
              "--schema", formats->schema,
              "the JSON Schema of results of that kind: sweep, "
              "verify, stability, gap, model_gap, computed, effects, table, "
              "diagnosis; or of experiment files: "
              "experiment; e.g. list --schema=verify (default sweep)")
          ->type_name("KIND")
          ->expected(0, 1)
          ->default_str("sweep"),
      command->add_flag(
          "--experiment-schema", formats->experiment_schema,
          "the JSON Schema of experiment files, e.g. list --experiment-schema"),
      command
          ->add_option("--markdown", formats->markdown,
                       "a table for the documentation: axes, or forms, the "
                       "published forms of alpha; e.g. list --markdown=forms "
                       "(default axes)")
          ->type_name("TABLE")
          ->expected(0, 1)
          ->default_str("axes")};
  for (CLI::Option* const option : options) {
    for (CLI::Option* const other : options) {
      if (option != other) option->excludes(other);
    }
  }
  OnAsked(*command, run, [formats] { return List(*formats); });
}

}  // namespace attnbench
