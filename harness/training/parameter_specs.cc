#include "harness/training/parameter_specs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/base/error.h"

namespace attnbench {
namespace {

// Collects the parameters of a model; a matrix has outputs of about its inputs'
// variance.
class Specs {
 public:
  void Matrix(const std::string& name, Index rows, Index cols) {
    all.push_back({name, {rows, cols}, 1 / static_cast<double>(cols)});
  }
  void Embedding(const std::string& name, Index symbols, Index size) {
    all.push_back({name, {symbols, size}, 1});
  }
  void Bias(const std::string& name, Index count) {
    all.push_back({name, {count}});
  }
  void Scalar(const std::string& name, double value) {
    all.push_back({name, {}, 0, value});
  }
  void Lstm(const std::string& name, Index inputs, Index units) {
    Matrix(name + ".W", 4 * units, inputs + units);
    Bias(name + ".b", 4 * units);
  }
  // MAD eq 15; of eq 16 there is g, too, as MAD 2.4 starts it.
  void Energy(const std::string& name, Index units, Index dim,
              bool is_normalized = true) {
    Matrix(name + ".W", units, dim);
    Matrix(name + ".V", units, dim);
    Bias(name + ".b", units);
    all.push_back({name + ".v", {units}, 1 / static_cast<double>(units)});
    if (!is_normalized) return;
    Scalar(name + ".g", 1 / std::sqrt(static_cast<double>(units)));
  }

  std::vector<ParameterSpec> all;
};

}  // namespace

std::vector<ParameterSpec> ParameterSpecsOf(const TrainingSettings& settings) {
  Specs specs;
  const Index d = settings.dim, units = settings.energy_units.value_or(d);
  const bool attends = settings.mechanism != "none";
  if (!settings.has_frames()) {
    specs.Embedding("source_embedding", settings.source_vocabulary(),
                    settings.source_size());
  }
  specs.Lstm("forward", settings.source_size(), settings.encoder_units);
  if (settings.bidirectional) {
    specs.Lstm("backward", settings.source_size(), settings.encoder_units);
  }
  specs.Embedding("target_embedding", settings.vocabulary(),
                  settings.embedding);
  specs.Lstm("decoder", settings.decoder_inputs(), d);
  if (settings.mechanism == "memory") {
    specs.Matrix("memory.encoder", settings.num_contexts, d);
    specs.Matrix("memory.decoder", settings.num_contexts, d);
  } else if (attends) {
    specs.Energy("attention", units, d, settings.is_normalized());
  }
  if (settings.is_monotonic() && settings.is_normalized()) {
    specs.Scalar("attention.r", settings.energy_bias);
  }
  if (settings.has_chunks()) specs.Energy("chunk", units, d);
  if (attends) {
    specs.Matrix("mix.W", d, 2 * d);
    specs.Bias("mix.b", d);
  }
  specs.Matrix("output.W", settings.vocabulary(), d);
  specs.Bias("output.b", settings.vocabulary());
  return std::move(specs.all);
}

void CheckParameters(const std::vector<ParameterSpec>& specs,
                     const std::map<std::string, CheckpointArray>& arrays,
                     const std::string& path) {
  for (const ParameterSpec& spec : specs) {
    const auto found = arrays.find(spec.name);
    const std::string place = path + ": parameters." + spec.name;
    if (found == arrays.end()) throw UserError(place, "is missing");
    if (found->second.shape == spec.shape) continue;
    throw UserError(place, fmt::format("has the shape {}; expected {}",
                                       found->second.shape, spec.shape));
  }
  for (const auto& [name, array] : arrays) {
    if (std::ranges::find(specs, name, &ParameterSpec::name) != specs.end()) {
      continue;
    }
    throw UserError(path + ": parameters." + name,
                    "is no parameter of this model");
  }
}

}  // namespace attnbench
