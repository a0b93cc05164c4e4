#include "harness/training/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "harness/base/error.h"
#include "harness/base/json_file.h"
#include "harness/base/printable.h"

namespace attnbench {
namespace {

TrainingSettings Laid(const std::vector<const SomeSettings*>& layers,
                      const Place& place) {
  Json json = Json::object();
  for (const SomeSettings* layer : layers) json.update(layer->json);
  const auto settings = FromJson<TrainingSettings>(json, place);
  CheckSettings(settings, place);
  return settings;
}

// An error is a share of the targets' symbols.
void CheckHasSymbols(const TrainingSettings& settings, std::uint64_t seed,
                     const char* key, Index count, const Place& place) {
  const Task task = settings.task_spec();
  if (HasSymbols(task, ExampleSet::kHeldOut, seed, count)) return;
  FailAt(Place(place, key),
         fmt::format("is {}, and the targets of these sequences of seed {} are "
                     "empty, so that there is no error; expected more of them, "
                     "or least_symbols from 1 on",
                     count, seed));
}

}  // namespace

TrainingExperiment ReadTrainingExperiment(const std::string& path) {
  auto experiment = FromJson<TrainingExperiment>(ReadJsonFile(path), path);
  const std::string name = std::filesystem::path(path).stem().string();
  if (experiment.name != name) {
    throw UserError(
        path + ": name",
        "is '" + experiment.name + "'; expected the file's, '" + name + "'");
  }
  return experiment;
}

std::vector<TrainingRun> RunsOfExperiment(const TrainingExperiment& experiment,
                                          bool quick, const std::string& path) {
  const Place place(path), list(place, "alternatives");
  if (quick && !experiment.profiles.quick) {
    FailAt(Place(place, "profiles"), "has no quick");
  }
  const TrainingProfile profile =
      quick ? *experiment.profiles.quick : TrainingProfile();
  std::set<std::string> names;
  std::vector<TrainingRun> runs;
  for (std::size_t n = 0; n < experiment.alternatives.size(); ++n) {
    const TrainingAlternative& one = experiment.alternatives[n];
    const Place here(list, n);
    if (!names.insert(one.name).second) {
      FailAt(Place(here, "name"), "is there twice: '" + one.name + "'");
    }
    const Place where(here, "settings");
    const TrainingSettings settings =
        Laid({&experiment.settings, &one.settings, &profile.settings}, where);
    CheckHasSymbols(settings, experiment.seed, "held_out", settings.held_out,
                    where);
    if (settings.curve_every > 0) {
      CheckHasSymbols(settings, experiment.seed, "curve_held_out",
                      settings.curve_held_out, where);
    }
    Index seeds = one.seeds.value_or(experiment.seeds);
    if (profile.seeds) seeds = std::min(seeds, *profile.seeds);
    const std::uint64_t last =
        experiment.seed + static_cast<std::uint64_t>(seeds - 1);
    if (last > static_cast<std::uint64_t>(kGreatestSeed)) {
      FailAt(Place(place, "seed"),
             fmt::format("is {}, and the last of {} of '{}' would be {}; the "
                         "greatest is {}",
                         experiment.seed, Counted(Size(seeds), "seed"),
                         one.name, last, kGreatestSeed));
    }
    for (Index k = 0; k < seeds; ++k) {
      runs.push_back({one.name, experiment.seed + static_cast<std::uint64_t>(k),
                      experiment.seed, settings});
    }
  }
  std::ranges::stable_sort(runs, {}, &TrainingRun::seed);
  return runs;
}

}  // namespace attnbench
