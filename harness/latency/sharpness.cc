#include "harness/latency/sharpness.h"

#include <algorithm>
#include <cmath>

#include "harness/base/arrays.h"
#include "harness/stats/statistics.h"
#include "mechanisms/decode.h"
#include "mechanisms/energy/energy.h"

namespace attnbench {
namespace {

// Applies the function to every element of a table.
template <class Function>
Table<double> Mapped(const MatrixView<const double>& from,
                     const Function& function) {
  Table<double> made(from.rows, from.cols);
  for (Index i = 0; i < from.rows; ++i) {
    std::ranges::transform(from.Row(i), made.view().Row(i).begin(), function);
  }
  return made;
}

double Sharpened(double p, double sharpness) {
  return 1 / (1 + std::pow((1 - p) / p, sharpness));
}

double SquaredDistance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    sum += (a[k] - b[k]) * (a[k] - b[k]);
  }
  return sum;
}

struct Outputs {
  Outputs(Index U, Index T, Index dim) : attention(U, T), contexts(U, dim) {}
  Table<double> attention;
  Table<double> contexts;
};

Outputs Decoded(const Mechanism<double>& mechanism, Config config,
                Sequence<double> sequence, Index U, Index T) {
  config.mode = Mode::kDecode;
  config.schedule = Schedule::kOnline;
  config.variant = "exact";
  config.options["sample"] = false;
  config.want_weights = true;
  Outputs made(U, T, sequence.memory.cols);
  sequence.contexts = made.contexts.view();
  DecodeSequence(mechanism, config, sequence,
                 [&](Index i, const StepResult<double>& step) {
                   AddWeights(step, made.attention.view().Row(i));
                 });
  return made;
}

}  // namespace

HardDistance DistanceToHard(const Mechanism<double>& mechanism,
                            const Config& config,
                            const Sequence<double>& sequence, bool has_memory,
                            double sharpness) {
  const auto [scores, has_p] =
      FindGivenScore(sequence.inputs, EnergyRole::kAttention);
  const Index U = scores.rows;
  const Index T = scores.cols;
  const MatrixView<const double>& h = sequence.memory;
  const Table<double> sharp = Mapped(scores, [&, is_p = has_p](double value) {
    return is_p ? Sharpened(value, sharpness) : value * sharpness;
  });
  const Outputs hard = Decoded(mechanism, config, sequence, U, T);
  Outputs expected(U, T, h.cols);
  Sequence<double> trained = sequence;
  trained.inputs.scores.Set(
      has_p ? kProbabilitiesInput.name : kEnergiesInput.name, sharp.view());
  trained.contexts = expected.contexts.view();
  mechanism.Expect(config, trained, {.attention = expected.attention.view()});
  HardDistance distance{.sharpness = sharpness};
  double squares = 0;
  for (Index i = 0; i < U; ++i) {
    distance.attention += TotalVariation(expected.attention.view().Row(i),
                                         hard.attention.view().Row(i));
    squares += SquaredDistance(expected.contexts.view().Row(i),
                               hard.contexts.view().Row(i));
  }
  distance.attention /= static_cast<double>(U);
  if (!has_memory) return distance;
  double lengths = 0;
  for (Index j = 0; j < T; ++j) {
    for (const double value : h.Row(j)) lengths += value * value;
  }
  distance.context = std::sqrt(squares / static_cast<double>(U) /
                               (lengths / static_cast<double>(T)));
  return distance;
}

}  // namespace attnbench
