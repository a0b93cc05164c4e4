#include "harness/commands/gap_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "harness/answers/columns.h"
#include "harness/base/printable.h"

namespace attnbench {
namespace {

using Columns = std::vector<std::string>;

// 0 for what rounds to -0.
std::string GapShown(double number, int digits = 3) {
  const double unit = std::pow(10, digits);
  return fmt::format("{:.{}f}", std::round(number * unit) / unit + 0.0, digits);
}

std::string GapShown(const GapEstimate& estimate) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", estimate.value, estimate.low,
                     estimate.high);
}

double LargestFloor(const GapParts<GapEstimate>& parts) {
  return std::max({parts.removed_noise.floor, parts.mean_field.floor,
                   parts.threshold.floor, parts.total.floor,
                   parts.lattice.floor});
}

Columns GapColumns(const GapPoint& point) {
  const GapParts<GapEstimate>& entries = point.mean.entries;
  const OutputGapParts<GapEstimate>& outputs = point.mean.outputs;
  return {fmt::format("{}", point.sharpness),
          fmt::format("{}", point.feedback),
          GapShown(entries.mean_field.value),
          GapShown(entries.lattice.value),
          GapShown(LargestFloor(entries)),
          GapShown(outputs.removed_noise.value),
          GapShown(outputs.mean_field.value),
          GapShown(outputs.sampling.value),
          GapShown(outputs.threshold.value),
          GapShown(outputs.total.value),
          GapShown(outputs.lattice.value),
          GapShown(std::max(LargestFloor(outputs), outputs.sampling.floor)),
          GapShown(point.kept_mass)};
}

std::string SentenceOf(const GapPoint& point) {
  const OutputGapParts<GapEstimate>& outputs = point.mean.outputs;
  std::vector<std::pair<const char*, const GapEstimate*>> parts = {
      {"removed noise", &outputs.removed_noise},
      {"the mean field", &outputs.mean_field},
      {"sampling", &outputs.sampling},
      {"the threshold", &outputs.threshold}};
  std::ranges::stable_sort(parts, [](const auto& a, const auto& b) {
    return a.second->value > b.second->value;
  });
  return fmt::format(
      "The largest gap, {} of the outputs, is at sharpness {} and feedback {}: "
      "its largest part is {}, {}, before {}, {}; the lattice is {} from the "
      "sampled process.\n",
      GapShown(outputs.total), point.sharpness, point.feedback, parts[0].first,
      GapShown(*parts[0].second), parts[1].first, GapShown(*parts[1].second),
      GapShown(outputs.lattice));
}

std::string GapShown(const GapMean& mean, double unit = 1) {
  const int digits = unit == 1 ? 3 : 1;
  return fmt::format("{} [{}, {}]", GapShown(unit * mean.value, digits),
                     GapShown(unit * mean.low, digits),
                     GapShown(unit * mean.high, digits));
}

// Names the parts that are above 0 beyond chance alone.
std::string SentenceOf(const ModelGap& model) {
  const GapNats& nats = model.nats;
  std::string text = fmt::format(
      "Decoding by the threshold costs {} nats an output, the expectation "
      "without noise {}. ",
      GapShown(nats.threshold.value), GapShown(nats.expectation.value));
  const std::pair<const char*, const GapMean*> parts[] = {
      {"the mean field", &nats.mean_field},
      {"sampling", &nats.sampling},
      {"the threshold", &nats.thresholding}};
  std::string added;
  for (const auto& [name, mean] : parts) {
    if (mean->low <= 0) continue;
    added += fmt::format("{}{} {}", added.empty() ? "What adds to it: " : ", ",
                         name, GapShown(mean->value));
  }
  text += added.empty() ? "No part between them is above chance." : added + ".";
  const double unseen = nats.mean_field.value + nats.sampling.value;
  const double seen = nats.lattice.value - nats.expectation.value;
  // A share of what chance alone may make says nothing, nor does one of a gap
  // that decoding does not have.
  if (nats.mean_field.low + nats.sampling.low > 0 &&
      nats.thresholding.value >= 0 && seen >= 0 && seen < 1.005 * unseen) {
    text += fmt::format(
        " A loss by the lattice would also see {:.0f} % of the {} nats that "
        "the mean field and sampling add together.",
        100 * seen / unseen, GapShown(unseen));
  }
  return text + "\n";
}

}  // namespace

std::string GapText(const GapResult& result) {
  const GapSettings& settings = result.settings;
  std::string text = fmt::format(
      "total variation, the mean over {} of {}: T = {}, d = {}, {} symbols, "
      "noise {}, {} paths each, {} of the lattice\n",
      Counted(static_cast<std::size_t>(settings.sizes.output_length), "output"),
      Counted(static_cast<std::size_t>(settings.decoders), "random decoder"),
      settings.sizes.memory_length, settings.sizes.dim,
      settings.sizes.vocabulary, settings.noise, settings.paths,
      Counted(static_cast<std::size_t>(settings.states), "state"));
  std::vector<Columns> lines = {
      {"", "", "entries:", "", "", "outputs:", "", "", "", "", "", "", ""},
      {"sharpness", "feedback", "mean field", "lattice", "floor", "noise",
       "mean field", "sampling", "threshold", "total", "lattice", "floor",
       "kept mass"}};
  for (const GapPoint& point : result.points)
    lines.push_back(GapColumns(point));
  for (const std::string& line : Aligned(lines)) text += line + "\n";
  const auto largest = std::ranges::max_element(
      result.points, {},
      [](const GapPoint& point) { return point.mean.outputs.total.value; });
  return text +
         "(noise, mean field, sampling and threshold lead from training to the "
         "threshold, which is total; they bound it, and do not add up; floor: "
         "what sampling error alone gives, at most)\n" +
         SentenceOf(*largest);
}

std::string GapText(const ModelGap& model) {
  const TrainingRun& run = model.run;
  std::string text = fmt::format(
      "{} seed {}: {} trained on {}, step {} of {}; {} outputs of {} held-out "
      "sequences, each given the target's symbols before it; noise {}, {} "
      "paths each\n",
      run.name, run.seed, run.settings.mechanism, run.settings.task, model.step,
      run.settings.steps, model.outputs, model.sequences, model.noise,
      model.paths);
  const GapNats& nats = model.nats;
  const GapErrors& errors = model.errors;
  const auto part = [](const GapEstimate& estimate) {
    return GapShown(estimate) + fmt::format(", floor {:.3f}", estimate.floor);
  };
  const GapParts<GapEstimate>& entries = model.gap.entries;
  const OutputGapParts<GapEstimate>& outputs = model.gap.outputs;
  const std::vector<Columns> lines = {
      {"", "total variation of outputs", "of entries"},
      {"removed noise", part(outputs.removed_noise),
       part(entries.removed_noise)},
      {"mean field", part(outputs.mean_field), part(entries.mean_field)},
      {"sampling", part(outputs.sampling), "-"},
      {"threshold", part(outputs.threshold), part(entries.threshold)},
      {"total", part(outputs.total), part(entries.total)},
      {"lattice", part(outputs.lattice), part(entries.lattice)},
      {"", "nats", "errors in percent"},
      {"expectation", GapShown(nats.expectation),
       GapShown(errors.expectation, 100)},
      {"+ mean field", GapShown(nats.mean_field), ""},
      {"+ sampling", GapShown(nats.sampling), ""},
      {"= sampled", GapShown(nats.sampled), GapShown(errors.sampled, 100)},
      {"+ threshold", GapShown(nats.thresholding), ""},
      {"= threshold", GapShown(nats.threshold),
       GapShown(errors.threshold, 100)},
      {"lattice", GapShown(nats.lattice), ""}};
  for (const std::string& line : Aligned(lines)) text += line + "\n";
  return text + SentenceOf(model);
}

}  // namespace attnbench
