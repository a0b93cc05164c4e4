#include "harness/trainer/parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "harness/base/error.h"
#include "harness/inputs/drawn_parameters.h"

namespace attnbench {
namespace {

// Collects the parameters of a model; a matrix has outputs of about its inputs'
// variance.
class Specs {
 public:
  void Matrix(const std::string& name, Index rows, Index cols) {
    all.push_back({name, {rows, cols}, 1 / static_cast<double>(cols)});
  }
  void Embedding(const std::string& name, Index size) {
    all.push_back({name, {kTaskVocabulary, size}, 1});
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
  // MAD eq 16, with g as MAD 2.4 starts it.
  void Energy(const std::string& name, Index dim) {
    Matrix(name + ".W", dim, dim);
    Matrix(name + ".V", dim, dim);
    Bias(name + ".b", dim);
    all.push_back({name + ".v", {dim}, 1 / static_cast<double>(dim)});
    Scalar(name + ".g", 1 / std::sqrt(static_cast<double>(dim)));
  }

  std::vector<ParameterSpec> all;
};

std::int64_t CountOf(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t length : shape) count *= length;
  return count;
}

std::vector<double> NumbersOf(const at::Tensor& flat) {
  const float* const first = flat.data_ptr<float>();
  return {first, first + flat.numel()};
}

void SetNumbers(const std::vector<double>& numbers, const at::Tensor& flat) {
  std::ranges::transform(numbers, flat.data_ptr<float>(),
                         [](double x) { return static_cast<float>(x); });
}

}  // namespace

std::vector<ParameterSpec> ParameterSpecsOf(const TrainingSettings& settings) {
  Specs specs;
  const Index d = settings.dim;
  const bool attends = settings.mechanism != "none";
  if (!settings.task_spec().has_frames()) {
    specs.Embedding("source_embedding", settings.source_size());
  }
  specs.Lstm("forward", settings.source_size(), settings.encoder_units);
  if (settings.bidirectional) {
    specs.Lstm("backward", settings.source_size(), settings.encoder_units);
  }
  specs.Embedding("target_embedding", settings.embedding);
  specs.Lstm("decoder", settings.embedding + (settings.input_feeding ? d : 0),
             d);
  if (settings.mechanism == "memory") {
    specs.Matrix("memory.encoder", settings.num_contexts, d);
    specs.Matrix("memory.decoder", settings.num_contexts, d);
  } else if (attends) {
    specs.Energy("attention", d);
  }
  if (settings.is_monotonic()) {
    specs.Scalar("attention.r", settings.energy_bias);
  }
  if (settings.has_chunks()) specs.Energy("chunk", d);
  if (attends) {
    specs.Matrix("mix.W", d, 2 * d);
    specs.Bias("mix.b", d);
  }
  specs.Matrix("output.W", kTaskVocabulary, d);
  specs.Bias("output.b", kTaskVocabulary);
  return std::move(specs.all);
}

Parameters::Parameters(const std::vector<ParameterSpec>& specs,
                       std::uint64_t seed) {
  std::int64_t count = 0;
  for (const ParameterSpec& spec : specs) count += CountOf(spec.shape);
  values_ = at::empty({count}, at::kFloat);
  gradients_ = at::zeros({count}, at::kFloat);
  means_ = at::zeros({count}, at::kFloat);
  squares_ = at::zeros({count}, at::kFloat);
  const DrawnParameters<float> drawn(seed);
  std::int64_t first = 0;
  for (const ParameterSpec& spec : specs) {
    const std::int64_t size = CountOf(spec.shape);
    const at::Tensor values = values_.narrow(0, first, size);
    // A single column has variance 1.
    const auto gain = static_cast<float>(std::sqrt(spec.variance));
    const float* const from = drawn.Matrix(spec.name, size, 1).data;
    std::transform(from, from + size, values.data_ptr<float>(), [&](float x) {
      return gain * x + static_cast<float>(spec.value);
    });
    at::Tensor tensor = values.view(spec.shape).requires_grad_();
    tensor.mutable_grad() = gradients_.narrow(0, first, size).view(spec.shape);
    all_.push_back({spec.name, first, tensor});
    first += size;
  }
}

const at::Tensor& Parameters::operator[](const std::string& name) const {
  const auto found = std::ranges::find(all_, name, &Named::name);
  ATTN_CHECK(found != all_.end());
  return found->tensor;
}

double Parameters::ClipGradients(double greatest_norm) {
  const double norm = gradients_.norm().item<double>();
  if (norm > greatest_norm) gradients_.mul_(greatest_norm / norm);
  return norm;
}

void Parameters::AdamStep(double rate, Index step) {
  constexpr double kMeans = 0.9, kSquares = 0.999, kEpsilon = 1e-8;
  const auto t = static_cast<double>(step);
  const at::NoGradGuard no_gradient;
  means_.mul_(kMeans).add_(gradients_, 1 - kMeans);
  squares_.mul_(kSquares).addcmul_(gradients_, gradients_, 1 - kSquares);
  const at::Tensor root =
      (squares_ / (1 - std::pow(kSquares, t))).sqrt_().add_(kEpsilon);
  values_.addcdiv_(means_, root, -rate / (1 - std::pow(kMeans, t)));
}

std::map<std::string, CheckpointArray> Parameters::Save() const {
  std::map<std::string, CheckpointArray> arrays;
  for (const Named& one : all_) {
    const auto part = [&](const at::Tensor& of) {
      return NumbersOf(of.narrow(0, one.first, one.tensor.numel()));
    };
    arrays[one.name] = {one.tensor.sizes().vec(), part(values_), part(means_),
                        part(squares_)};
  }
  return arrays;
}

void Parameters::Load(const std::map<std::string, CheckpointArray>& arrays,
                      const std::string& path) {
  for (const Named& one : all_) {
    const auto found = arrays.find(one.name);
    const std::string place = path + ": parameters." + one.name;
    if (found == arrays.end()) throw UserError(place, "is missing");
    const std::vector<Index> shape = one.tensor.sizes().vec();
    if (found->second.shape != shape) {
      throw UserError(place, fmt::format("has the shape {}; expected {}",
                                         found->second.shape, shape));
    }
    const auto part = [&](const at::Tensor& of) {
      return of.narrow(0, one.first, one.tensor.numel());
    };
    SetNumbers(found->second.values, part(values_));
    SetNumbers(found->second.means, part(means_));
    SetNumbers(found->second.squares, part(squares_));
  }
  if (arrays.size() == all_.size()) return;
  for (const auto& [name, array] : arrays) {
    if (std::ranges::find(all_, name, &Named::name) == all_.end()) {
      throw UserError(path + ": parameters." + name,
                      "is no parameter of this model");
    }
  }
}

}  // namespace attnbench
