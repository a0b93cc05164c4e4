// A newcomer whose attention follows from energies, for
// tests/torch/energy_attention_test.py. It only trains:
//
//   attention(i, j) = exp(e(i, j) / t) / sum over l of exp(e(i, l) / t)
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "mechanisms/training/attention_function.h"

namespace attnbench::tempered {
namespace {

constexpr double kHottest = 1000;

template <class Real>
class TemperedFunction final : public AttentionFunction<Real> {
 public:
  explicit TemperedFunction(double temperature)
      : temperature_(static_cast<Real>(temperature)) {}

  bool has_chunk_energies() const override { return false; }

  void Forward(const ScoreTables<Real>& scores,
               const Expectation<Real>& out) override {
    for (Index i = 0; i < scores.choice.rows; ++i) {
      ForwardRow(scores.choice.Row(i), out.attention.Row(i));
    }
  }

  // dL/de(j) = w(j) (d(j) - sum over l of w(l) d(l)) / t
  void Gradient(const ScoreTables<Real>& scores,
                const Cotangent<Real>& cotangent,
                const Expectation<Real>& /*out*/,
                const ScoreGradients<Real>& gradients) override {
    Buffer<Real> weights(Size(scores.choice.cols));
    for (Index i = 0; i < scores.choice.rows; ++i) {
      ForwardRow(scores.choice.Row(i), weights);
      const std::span<const Real> d = cotangent.attention.Row(i);
      const Real mean =
          std::inner_product(d.begin(), d.end(), weights.begin(), Real{0});
      std::ranges::transform(weights, d, gradients.choice.Row(i).begin(),
                             [&](Real weight, Real d_weight) {
                               return weight * (d_weight - mean) / temperature_;
                             });
    }
  }

 private:
  void ForwardRow(std::span<const Real> energies, std::span<Real> weights) {
    const Real largest = std::ranges::max(energies);
    std::ranges::transform(energies, weights.begin(), [&](Real e) {
      return std::exp((e - largest) / temperature_);
    });
    const Real sum = std::accumulate(weights.begin(), weights.end(), Real{0});
    for (Real& weight : weights) weight /= sum;
  }

  const Real temperature_;
};

const Description& About() {
  static const Description about = {
      .name = "tempered",
      .title = "soft attention with a temperature",
      .paper = "none: a test's",
      .modes = {Mode::kExpect, Mode::kGradient},
      .variants = {{"exact", "the softmax of e / t"}},
      .options = {{.name = "temperature", .default_value = 1.0, .least = 0.01}},
      .scores = {{{.name = "energies", .shape = "UT"}}}};
  return about;
}

template <class Real>
class Tempered final : public Mechanism<Real> {
 public:
  const Description& Describe() const override { return About(); }
  std::unique_ptr<Decoder<Real>> MakeDecoder(
      const Config& /*config*/,
      const SequenceInputs<Real>& /*inputs*/) const override {
    throw Unsupported("only trains");
  }
  void Expect(const Config& config, const Sequence<Real>& sequence,
              const Expectation<Real>& out) const override {
    TemperedFunction<Real> function(TemperatureOf(config));
    ExpectByFunction(function, config, sequence, out);
  }
  void Gradient(const Config& config, const Sequence<Real>& sequence,
                const Cotangent<Real>& cotangent, const Expectation<Real>& out,
                const Gradients<Real>& gradients) const override {
    TemperedFunction<Real> function(TemperatureOf(config));
    GradientByFunction(function, config, sequence, cotangent, out, gradients);
  }
  Operations Count(const Config& /*config*/,
                   const CountedWork& /*work*/) const override {
    return {};
  }

 private:
  static double TemperatureOf(const Config& config) {
    const auto temperature = config.Option<double>("temperature");
    if (temperature > kHottest) {
      throw Unsupported("has no temperature above 1000");
    }
    return temperature;
  }
};

}  // namespace

template <class Real>
std::unique_ptr<const Mechanism<Real>> MakeMechanism() {
  return std::make_unique<Tempered<Real>>();
}
template std::unique_ptr<const Mechanism<float>> MakeMechanism();
template std::unique_ptr<const Mechanism<double>> MakeMechanism();

}  // namespace attnbench::tempered
