#include "harness/trainer/parameters.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "harness/inputs/drawn_parameters.h"

namespace attnbench {
namespace {

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

void Parameters::Load(const std::map<std::string, CheckpointArray>& arrays) {
  for (const Named& one : all_) {
    const CheckpointArray& array = arrays.at(one.name);
    const auto part = [&](const at::Tensor& of) {
      return of.narrow(0, one.first, one.tensor.numel());
    };
    SetNumbers(array.values, part(values_));
    SetNumbers(array.means, part(means_));
    SetNumbers(array.squares, part(squares_));
  }
}

}  // namespace attnbench
