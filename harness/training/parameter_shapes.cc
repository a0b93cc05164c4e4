#include "harness/training/parameter_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "harness/base/error.h"

namespace attnbench {
namespace {

class Shapes {
 public:
  void Add(const std::string& name, const std::vector<Index>& shape) {
    all[name] = shape;
  }
  void Lstm(const std::string& name, Index inputs, Index units) {
    Add(name + ".W", {4 * units, inputs + units});
    Add(name + ".b", {4 * units});
  }
  // MAD eq 15; of eq 16 there is g, too.
  void Energy(const std::string& name, Index units, Index dim,
              bool is_normalized = true) {
    Add(name + ".W", {units, dim});
    Add(name + ".V", {units, dim});
    Add(name + ".b", {units});
    Add(name + ".v", {units});
    if (is_normalized) Add(name + ".g", {});
  }

  ParameterShapes all;
};

}  // namespace

ParameterShapes ParameterShapesOf(const TrainingSettings& settings) {
  Shapes shapes;
  const Index d = settings.dim, units = settings.energy_units.value_or(d);
  const bool attends = settings.mechanism != "none";
  if (!settings.has_frames()) {
    shapes.Add("source_embedding",
               {settings.source_vocabulary(), settings.source_size()});
  }
  shapes.Lstm("forward", settings.source_size(), settings.encoder_units);
  if (settings.bidirectional) {
    shapes.Lstm("backward", settings.source_size(), settings.encoder_units);
  }
  shapes.Add("target_embedding", {settings.vocabulary(), settings.embedding});
  shapes.Lstm("decoder", settings.decoder_inputs(), d);
  if (settings.mechanism == "memory") {
    shapes.Add("memory.encoder", {settings.num_contexts, d});
    shapes.Add("memory.decoder", {settings.num_contexts, d});
  } else if (attends) {
    shapes.Energy("attention", units, d, settings.is_normalized());
  }
  if (settings.is_monotonic() && settings.is_normalized()) {
    shapes.Add("attention.r", {});
  }
  if (settings.has_chunks()) shapes.Energy("chunk", units, d);
  if (attends) {
    shapes.Add("mix.W", {d, 2 * d});
    shapes.Add("mix.b", {d});
  }
  shapes.Add("output.W", {settings.vocabulary(), d});
  shapes.Add("output.b", {settings.vocabulary()});
  return std::move(shapes.all);
}

void CheckParameters(const ParameterShapes& shapes,
                     const std::map<std::string, CheckpointArray>& arrays,
                     const std::string& path) {
  for (const auto& [name, shape] : shapes) {
    const auto found = arrays.find(name);
    const std::string place = path + ": parameters." + name;
    if (found == arrays.end()) throw UserError(place, "is missing");
    if (found->second.shape == shape) continue;
    throw UserError(place, fmt::format("has the shape {}; expected {}",
                                       found->second.shape, shape));
  }
  for (const auto& [name, array] : arrays) {
    if (shapes.contains(name)) continue;
    throw UserError(path + ": parameters." + name,
                    "is no parameter of this model");
  }
}

}  // namespace attnbench
