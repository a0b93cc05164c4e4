#include "harness/commands/case_request.h"

#include <fmt/format.h>

#include <iostream>

#include "harness/base/error.h"
#include "harness/commands/options.h"
#include "mechanisms/description.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

std::vector<std::string> AxesOfCase(const Description& description) {
  std::vector<std::string> axes = {"variant"};
  for (const std::string& axis : DeclaredAxes(description)) {
    if (axis == "chunk_width" || axis == "end") axes.push_back(axis);
  }
  return axes;
}

AxisValue CheckedAxis(const std::string& name, const OptionValue& value,
                      const std::string& place) {
  const Axis& axis = FindAxis(name, place);
  if (OptionText(value).starts_with('=')) {
    throw UserError(place, "refers to an axis; give the value itself");
  }
  return CheckAxisValue(axis, ToJson(value), place);
}

void CheckVariant(const std::string& variant, const Description& description,
                  Mode mode, const std::string& place) {
  std::vector<std::string> valid;
  for (const VariantSpec& spec : description.variants) {
    if (spec.reads_scores && HasMode(spec, mode)) valid.push_back(spec.name);
  }
  if (!Contains(valid, variant)) {
    throw UserError(place, UnknownName("variant", variant, valid) + " (mode " +
                               NameOf(mode) + ")");
  }
}

// A preset stands for all other options of its variant: it is not given beside
// them.
constexpr char kPreset[] = "preset";

}  // namespace

void CheckOptionsOfVariant(const std::map<std::string, OptionValue>& options,
                           const std::string& variant,
                           const Description& description,
                           const std::string& where) {
  const auto preset = options.find(kPreset);
  const bool has_preset =
      preset != options.end() && OptionText(preset->second) != "none";
  for (const OptionSpec& spec : description.options) {
    if (spec.variant.empty() || !options.contains(spec.name)) continue;
    if (spec.variant != variant) {
      throw UserError(where + spec.name,
                      fmt::format("is of variant {}; the variant is {}",
                                  spec.variant, variant));
    }
    if (has_preset && spec.name != kPreset) {
      throw UserError(
          where + kPreset,
          fmt::format("says {} itself; give one of them", spec.name));
    }
  }
}

SweepRequest RequestOfCase(const CaseFile& file, Mode mode) {
  const std::string where = file.path + ": options";
  const Description& description =
      FindMechanism<double>(file.mechanism)->Describe();
  const std::vector<std::string> axes = AxesOfCase(description);
  std::vector<std::string> valid = axes;
  for (const OptionSpec& option : description.options) {
    if (!Contains(valid, option.name)) valid.push_back(option.name);
  }
  SweepRequest request;
  request.alternatives = {{file.mechanism, {}, {}}};
  std::string variant = Config().variant;
  for (const auto& [name, value] : file.options) {
    if (!Contains(valid, name)) {
      throw UserError(where, UnknownName("option", name, valid));
    }
    const std::string place = where + "." + name;
    if (Contains(axes, name)) {
      request.axes[name] = {CheckedAxis(name, value, place)};
      if (name == "variant") variant = OptionText(value);
    } else {
      request.options[name] = {value};
    }
  }
  CheckVariant(variant, description, mode, where + ".variant");
  CheckOptionsOfVariant(file.options, variant, description, where + ".");
  request.axes["precision"] = {NameOf(Precision::kF64)};
  request.axes["mode"] = {NameOf(mode)};
  if (file.Length('K') > 0) request.axes["num_contexts"] = {file.Length('K')};
  if (file.Length('T') > 0) request.axes["memory_length"] = {file.Length('T')};
  try {
    OneCell(request);
  } catch (const UserError& error) {
    throw UserError(where, error.what());
  }
  return request;
}

Cell OneCell(const SweepRequest& request) {
  const Sweep sweep = ExpandSweep(request);
  const Cell& cell = sweep.points.front().cells.front();
  if (cell.skip_reason.has_value()) {
    throw UserError(cell.mechanism, *cell.skip_reason);
  }
  return cell;
}

void AddReferenceLength(CLI::App& command, std::optional<Index>& value) {
  AddNumber(command, kReferenceLength, value, 1, kGreatestLength,
            "outputs that there should have been, for the latency LAAL, e.g. "
            "--reference-length 12")
      ->default_str("U");
}

AnswerFile::AnswerFile(const std::string& case_path, const std::string& output,
                       bool may_replace) {
  if (output.empty()) return;
  if (!case_path.empty()) RefuseToReplace({case_path}, output);
  file_.emplace(output, may_replace);
}

void AnswerFile::Write(const Json& answer) const {
  if (file_) {
    file_->Write(answer);
  } else {
    std::cout << JsonText(answer);
  }
}

CaseSequence::CaseSequence(const CaseFile& file, std::uint64_t seed)
    : has_memory_(file.Find("memory") != nullptr),
      memory_(has_memory_ ? *file.Find("memory")
                          : Table<double>(file.Length('T'), 1)),
      contexts_(Size(file.Length('U') * memory_.cols)) {
  sequence_.inputs.scores = file.Scores();
  sequence_.inputs.further =
      file.ViewsOf(FindMechanism<double>(file.mechanism)->Describe().further);
  sequence_.inputs.seed = seed;
  sequence_.inputs.expected_length = memory_.rows;
  sequence_.memory = memory_.view();
  sequence_.states = file.View("states");
  sequence_.contexts = {contexts_.data(), file.Length('U'), memory_.cols};
}

}  // namespace attnbench
