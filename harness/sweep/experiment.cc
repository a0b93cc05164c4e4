#include "harness/sweep/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/base/error.h"
#include "harness/base/json_file.h"
#include "harness/sweep/exclusions.h"
#include "harness/sweep/experiment_document.h"

namespace attnbench {
namespace {

std::vector<AxisValue> ValuesOf(const Axis& axis,
                                const OneOrMore<AxisValue>& said,
                                const Place& place) {
  std::vector<AxisValue> values;
  said.ForEach(place, [&](const AxisValue& value, const Place& at) {
    if (!value.is_text()) {
      values.push_back(CheckAxisValue(axis, ToJson(value), at.Text()));
      return;
    }
    for (AxisValue& one : ParseAxisValues(axis, value.text(), at.Text())) {
      values.push_back(std::move(one));
    }
  });
  return values;
}

void ApplyAxes(const AxesDocument& axes, const Place& place,
               std::map<std::string, std::vector<AxisValue>>& taken) {
  for (const auto& [name, said] : axes.of) {
    if (said.values.empty()) continue;
    const Place at(place, name);
    taken[name] = ValuesOf(FindAxis(name, at.Text()), said, at);
  }
}

std::map<std::string, std::vector<OptionValue>> OptionsOf(
    const OptionsDocument& options) {
  std::map<std::string, std::vector<OptionValue>> taken;
  for (const auto& [name, said] : options) taken[name] = said.values;
  return taken;
}

Alternative AlternativeOf(const AlternativeDocument& alternative,
                          const Place& place) {
  Alternative taken = {.mechanism = alternative.mechanism,
                       .axes = {},
                       .options = OptionsOf(alternative.options)};
  ApplyAxes(alternative, place, taken.axes);
  return taken;
}

Exclusion ExclusionOf(const ExclusionDocument& said, const Place& place) {
  Exclusion exclusion = {.mechanisms = said.mechanisms.values};
  ApplyAxes(said, place, exclusion.axes);
  if (exclusion.mechanisms.empty() && exclusion.axes.empty()) {
    FailAt(place, "says nothing, which holds for every cell");
  }
  return exclusion;
}

// What the file or a profile of it says, into `request`, which keeps what is
// not said.
void ApplyProfile(const ProfileDocument& said, const Place& place,
                  SweepRequest& request) {
  request.repetitions = said.repetitions.value_or(request.repetitions);
  request.trials = said.trials.value_or(request.trials);
  request.processes = said.processes.value_or(request.processes);
  ApplyAxes(said.axes, Place(place, "axes"), request.axes);
  if (!said.alternatives) return;
  const Place list(place, "alternatives");
  request.alternatives.clear();
  for (const AlternativeDocument& alternative : *said.alternatives) {
    const std::size_t index = request.alternatives.size();
    request.alternatives.push_back(
        AlternativeOf(alternative, Place(list, index)));
  }
}

}  // namespace

SweepRequest WithProfile(SweepRequest request, const ProfileDocument& profile,
                         const std::string& where) {
  ApplyProfile(profile, Place(where), request);
  return request;
}

SweepRequest ReadExperiment(const std::string& path, const std::string& profile,
                            std::vector<PeerVariant> peer_variants) {
  const Place file(path);
  const auto document = FromJson<ExperimentDocument>(ReadJsonFile(path), file);
  SweepRequest request;
  request.name = document.name;
  request.seed = static_cast<std::uint64_t>(document.seed);
  request.options = OptionsOf(document.options);
  request.peer_variants = std::move(peer_variants);
  ApplyProfile(document, file, request);
  const Place exclusions(file, "exclusions");
  for (const ExclusionDocument& said :
       document.exclusions.value_or(std::vector<ExclusionDocument>())) {
    const std::size_t index = request.exclusions.size();
    request.exclusions.push_back(ExclusionOf(said, Place(exclusions, index)));
  }
  std::vector<SweepRequest> profiles = {request};
  const Place place(file, "profiles");
  if (document.profiles.quick) {
    ApplyProfile(*document.profiles.quick, Place(place, "quick"),
                 profiles.emplace_back(request));
  }
  if (!request.exclusions.empty()) {
    CheckExclusions(profiles, exclusions.Text());
  }
  if (profile == "full") return request;
  if (profiles.size() == 1 || profile != "quick") {
    FailAt(place, fmt::format("there is no profile '{}'", profile));
  }
  return profiles.back();
}

}  // namespace attnbench
