// attnbench list: everything that has a name, from the same registry and axis
// table as the rest, for people, for programs and for the documentation.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "harness/commands/commands.h"
#include "harness/error.h"
#include "harness/experiment_schema.h"
#include "harness/json_number.h"
#include "harness/result_schema.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

Json OptionSpecJson(const OptionSpec& spec) {
  Json option = {{"name", spec.name}};
  std::visit([&option](const auto& v) { option["default"] = v; },
             spec.default_value);
  option["allowed"] = spec.allowed;
  option["least"] = NumberOrNull(spec.least);
  option["greatest"] = NumberOrNull(spec.greatest);
  option["help"] = spec.help;
  return option;
}

Json MechanismJson(const Description& description) {
  Json variants = Json::array();
  for (const VariantSpec& spec : description.variants) {
    variants.push_back(
        {{"name", spec.name},
         {"help", spec.help},
         {"modes", spec.modes.empty() ? description.modes : spec.modes}});
  }
  Json options = Json::array();
  for (const OptionSpec& spec : description.options) {
    options.push_back(OptionSpecJson(spec));
  }
  return {{"name", description.name},
          {"title", description.title},
          {"paper", description.paper},
          {"online", description.online},
          {"axes", description.axes},
          {"modes", description.modes},
          {"schedules", description.schedules},
          {"variants", variants},
          {"options", options},
          {"scores", description.scores}};
}

Json AxisJson(const Axis& axis) {
  Json json = {
      {"name", axis.name},
      {"letter", axis.letter.empty() ? Json(nullptr) : Json(axis.letter)},
      {"default", axis.default_value},
      {"training_default", DefaultOf(axis, "expect")},
      {"default_text", DefaultText(axis)},
      {"declared", axis.declared}};
  if (axis.type == AxisType::kInteger) {
    json["least"] = axis.least;
    json["greatest"] = axis.greatest;
    json["infinite"] = axis.allow_infinite;
  } else {
    json["values"] = axis.names;
  }
  json["help"] = axis.help;
  return json;
}

Json NamesOfAxis(const AxisTable& table, const std::string& name) {
  return FindAxis(table, name, "list").names;
}

// The experiments of the folder that the program is run in, which is the
// project's where somebody follows its documentation. The ledger of claims
// beside them is none.
Json ExperimentNames() {
  std::vector<std::string> names;
  std::error_code no_folder;
  for (const auto& entry :
       std::filesystem::directory_iterator("experiments", no_folder)) {
    if (entry.path().extension() == ".json" && entry.is_regular_file() &&
        entry.path().filename() != "claims.json") {
      names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

Json Everything(const AxisTable& table) {
  Json mechanisms = Json::array();
  for (const auto* mechanism : Mechanisms<float>()) {
    mechanisms.push_back(MechanismJson(mechanism->Describe()));
  }
  Json axes = Json::array();
  for (const Axis& axis : table) axes.push_back(AxisJson(axis));
  return {{"mechanisms", mechanisms},
          {"axes", axes},
          {"energies", NamesOfAxis(table, "energy")},
          {"variants", NamesOfAxis(table, "variant")},
          {"workloads", NamesOfAxis(table, "workload")},
          {"experiments", ExperimentNames()}};
}

std::string Joined(const Json& names) {
  std::string text;
  for (const Json& name : names) {
    if (!text.empty()) text += ", ";
    text += name.get<std::string>();
  }
  return text.empty() ? "none" : text;
}

std::string ValuesText(const Json& axis) {
  if (axis.contains("values")) return Joined(axis.at("values"));
  return fmt::format("{} to {}{}", axis.at("least").get<std::int64_t>(),
                     axis.at("greatest").get<std::int64_t>(),
                     axis.at("infinite").get<bool>() ? ", inf" : "");
}

std::string OptionText(const Json& option) {
  const Json& allowed = option.at("allowed");
  return fmt::format(
      "    --option {}={}  {}{}\n", option.at("name").get<std::string>(),
      AxisValueText(option.at("default")), option.at("help").get<std::string>(),
      allowed.empty() ? "" : " (" + Joined(allowed) + ")");
}

std::string MechanismText(const Json& mechanism) {
  std::string text = fmt::format(
      "  {}  {} ({})\n    axes: {}\n    modes: {}\n    schedules: {}\n",
      mechanism.at("name").get<std::string>(),
      mechanism.at("title").get<std::string>(),
      mechanism.at("paper").get<std::string>(), Joined(mechanism.at("axes")),
      Joined(mechanism.at("modes")), Joined(mechanism.at("schedules")));
  for (const Json& variant : mechanism.at("variants")) {
    text += fmt::format("    --variant {}  {}{}\n",
                        variant.at("name").get<std::string>(),
                        variant.at("help").get<std::string>(),
                        variant.at("modes") == mechanism.at("modes")
                            ? ""
                            : " (" + Joined(variant.at("modes")) + ")");
  }
  for (const Json& option : mechanism.at("options")) text += OptionText(option);
  return text;
}

std::string EverythingText(const Json& everything) {
  std::string text = "mechanisms\n";
  for (const Json& mechanism : everything.at("mechanisms")) {
    text += MechanismText(mechanism);
  }
  text += "axes\n";
  for (const Json& axis : everything.at("axes")) {
    text += fmt::format("  {:<2}  {:<13}  default {}; {}\n      {}\n",
                        AxisValueText(axis.at("letter")),
                        axis.at("name").get<std::string>(),
                        axis.at("default_text").get<std::string>(),
                        ValuesText(axis), axis.at("help").get<std::string>());
  }
  for (const char* kind :
       {"energies", "variants", "workloads", "experiments"}) {
    text += fmt::format("{}\n  {}\n", kind, Joined(everything.at(kind)));
  }
  return text;
}

std::string MarkdownTable(const Json& axes) {
  std::string text =
      "| letter | axis | default | values | meaning |\n"
      "| --- | --- | --- | --- | --- |\n";
  for (const Json& axis : axes) {
    const Json& letter = axis.at("letter");
    text += fmt::format("| {} | `{}` | `{}` | {} | {} |\n",
                        letter.is_null() ? "" : letter.get<std::string>(),
                        axis.at("name").get<std::string>(),
                        axis.at("default_text").get<std::string>(),
                        ValuesText(axis), axis.at("help").get<std::string>());
  }
  return text;
}

struct Formats {
  bool json = false;
  bool schema = false;
  bool experiment_schema = false;
  bool markdown = false;
};

int List(const AxisTable& table, const Formats& formats) {
  if (formats.json + formats.schema + formats.experiment_schema +
          formats.markdown >
      1) {
    throw UserError("list",
                    "takes one of --json, --schema, --experiment-schema and "
                    "--markdown");
  }
  if (formats.schema) {
    std::cout << ResultSchemaText(table);
    return 0;
  }
  if (formats.experiment_schema) {
    std::cout << ExperimentSchemaText(table);
    return 0;
  }
  const Json everything = Everything(table);
  if (formats.json) {
    std::cout << everything.dump(2) << "\n";
  } else if (formats.markdown) {
    std::cout << MarkdownTable(everything.at("axes"));
  } else {
    std::cout << EverythingText(everything);
  }
  return 0;
}

}  // namespace

void AddList(CLI::App& app, const AxisTable& table, Command& run) {
  CLI::App* const command =
      app.add_subcommand("list",
                         "show mechanisms, axes, energies, variants, "
                         "workloads, and the experiments "
                         "in ./experiments");
  const auto formats = std::make_shared<Formats>();
  command->add_flag("--json", formats->json, "as JSON, e.g. list --json");
  command->add_flag("--schema", formats->schema,
                    "the JSON Schema of results, e.g. list --schema");
  command->add_flag(
      "--experiment-schema", formats->experiment_schema,
      "the JSON Schema of experiment files, e.g. list --experiment-schema");
  command->add_flag("--markdown", formats->markdown,
                    "the table of axes for the documentation, e.g. list "
                    "--markdown");
  command->callback([&table, &run, formats] {
    run = [&table, formats] { return List(table, *formats); };
  });
}

}  // namespace attnbench
