#include "harness/commands/case_request.h"

#include <fmt/format.h>

#include <limits>

#include "harness/base/error.h"
#include "harness/base/parse_text.h"
#include "harness/inputs/declared_inputs.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

std::vector<std::string> AxesOfCase(const Description& description) {
  std::vector<std::string> axes = {"variant"};
  for (const std::string& axis : description.axes) {
    if (axis == "chunk_width" || axis == "end") axes.push_back(axis);
  }
  return axes;
}

AxisValue CheckedAxis(const std::string& name, const OptionValue& value,
                      const std::string& place) {
  const Axis& axis = FindAxis(StandardAxes(), name, place);
  if (OptionText(value).starts_with('=')) {
    throw UserError(place, "refers to an axis; give the value itself");
  }
  return CheckAxisValue(StandardAxes(), axis, ToJson(value), place);
}

bool HasMode(const VariantSpec& variant, const std::string& mode) {
  if (mode == "decode") {
    return variant.name == "exact" || variant.name == "reference";
  }
  return variant.modes.empty() || Contains(variant.modes, mode);
}

void CheckVariant(const std::string& variant, const Description& description,
                  const std::string& mode, const std::string& place) {
  std::vector<std::string> valid;
  for (const VariantSpec& spec : description.variants) {
    if (HasMode(spec, mode)) valid.push_back(spec.name);
  }
  if (!Contains(valid, variant)) {
    throw UserError(
        place, UnknownName("variant", variant, valid) + " (mode " + mode + ")");
  }
}

constexpr Index kMostReferenceLength = Index{1} << 40;  // as of U

// What only the closed form reads, and the name that stands for both numbers.
constexpr const char* kPreset = "preset";
constexpr const char* kEpsilons[] = {"term_eps", "denominator_eps"};

void CheckClosedForm(const std::map<std::string, OptionValue>& options,
                     const std::string& variant, const std::string& where) {
  for (const char* name : {kPreset, kEpsilons[0], kEpsilons[1]}) {
    if (options.contains(name) && variant != "parallel") {
      throw UserError(
          where + "." + name,
          fmt::format("is of variant parallel; the variant is {}", variant));
    }
  }
  const auto preset = options.find(kPreset);
  if (preset == options.end() || OptionText(preset->second) == "none") return;
  for (const char* name : kEpsilons) {
    if (options.contains(name)) {
      throw UserError(where + "." + kPreset,
                      fmt::format("says {} itself; give one of them", name));
    }
  }
}

}  // namespace

SweepRequest RequestOfCase(const CaseFile& file, const std::string& mode) {
  const std::string where = file.path + ": options";
  const Description& description =
      FindMechanism<double>(file.mechanism)->Describe();
  const std::vector<std::string> axes = AxesOfCase(description);
  std::vector<std::string> valid = axes;
  for (const OptionSpec& option : description.options) {
    valid.push_back(option.name);
  }
  SweepRequest request;
  request.alternatives = {{file.mechanism, {}, {}}};
  std::string variant = "exact";
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
  CheckClosedForm(file.options, variant, where);
  request.axes["precision"] = {"f64"};
  request.axes["mode"] = {mode};
  if (file.Length('K') > 0) request.axes["num_contexts"] = {file.Length('K')};
  try {
    OneCell(request);
  } catch (const UserError& error) {
    throw UserError(where, error.what());
  }
  return request;
}

Cell OneCell(const SweepRequest& request) {
  const Sweep sweep = ExpandSweep(StandardAxes(), request);
  const Cell& cell = sweep.points.front().cells.front();
  if (cell.skip_reason.has_value()) {
    throw UserError(cell.mechanism, *cell.skip_reason);
  }
  return cell;
}

void AddReferenceLength(CLI::App& command, std::string& value) {
  command
      .add_option(kReferenceLength, value,
                  "outputs that there should have been, for the latency LAAL, "
                  "e.g. --reference-length 12")
      ->type_name("N")
      ->default_str("U");
}

Index ParseReferenceLength(const std::string& text, Index output_length) {
  return text.empty()
             ? output_length
             : ParseInteger(text, 1, kMostReferenceLength, kReferenceLength);
}

CaseSequence::CaseSequence(const CaseFile& file, std::uint64_t seed)
    : has_memory_(file.Find("memory") != nullptr),
      memory_(has_memory_ ? *file.Find("memory")
                          : Table<double>(file.Length('T'), 1)),
      contexts_(Size(file.Length('U') * memory_.cols)) {
  sequence_.inputs.scores = file.Scores();
  sequence_.inputs.further = file.ViewsOf(AllFurtherInputs());
  sequence_.inputs.seed = seed;
  sequence_.inputs.expected_length = memory_.rows;
  sequence_.memory = memory_.view();
  sequence_.states = file.View("states");
  sequence_.contexts = {contexts_.data(), file.Length('U'), memory_.cols};
}

}  // namespace attnbench
