#include "harness/gap/trained_loop.h"

#include <algorithm>

namespace attnbench {
namespace {

void Convert(const auto& from, const auto& to) {
  std::ranges::transform(from, std::ranges::begin(to), [&](auto value) {
    return static_cast<std::ranges::range_value_t<decltype(to)>>(value);
  });
}

// The two halves of a state, and a context.
TrainedDecoder::State StateOf(std::span<const double> state,
                              std::span<const double> context) {
  const std::size_t d = state.size() / 2;
  TrainedDecoder::State made{Array<float>(d), Array<float>(d), Array<float>(d)};
  Convert(state.first(d), std::span(made.output));
  Convert(state.last(d), std::span(made.cell));
  Convert(context, std::span(made.context));
  return made;
}

void Write(const TrainedDecoder::State& made, std::span<double> state) {
  Convert(made.output, state.first(state.size() / 2));
  Convert(made.cell, state.last(state.size() / 2));
}

}  // namespace

TrainedLoop::TrainedLoop(TrainedDecoder& decoder, const Example& example)
    : forced_(decoder, example),
      memory_(forced_.memory().rows, forced_.memory().cols) {
  for (Index j = 0; j < memory_.rows; ++j) {
    Convert(forced_.memory().Row(j), memory_.view().Row(j));
  }
}

void TrainedLoop::FirstState(std::span<double> state) const {
  Write(forced_.FirstState(), state);
}

void TrainedLoop::Advance(Index i, std::span<const double> context,
                          std::span<double> state) const {
  TrainedDecoder::State made = StateOf(state, context);
  forced_.Advance(i, made);
  Write(made, state);
}

void TrainedLoop::Energies(std::span<const double> state,
                           std::span<double> energies) const {
  Array<float> made(energies.size());
  forced_.Energies(StateOf(state, {}), made);
  Convert(made, energies);
}

void TrainedLoop::Probabilities(std::span<const double> state,
                                std::span<const double> context,
                                std::span<double> p) const {
  Convert(forced_.Logits(StateOf(state, context)), p);
  SoftmaxInPlace(p);
}

}  // namespace attnbench
