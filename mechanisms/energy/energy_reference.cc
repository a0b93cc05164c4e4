#include "mechanisms/energy/energy_reference.h"

#include <cmath>
#include <limits>

namespace attnbench {
namespace {

// Bounds the rounding of an inner product of n terms whose magnitudes add up to
// `magnitude`: by 4 sqrt(n) + 16 units of half the machine epsilon, which holds
// with high probability (Higham and Mary 2019). The certain bound, n units,
// would call many decisions undecidable that no order of summation gets wrong.
template <class Real>
Wider<Real> InnerProductRounding(Index n, Wider<Real> magnitude) {
  const Wider<Real> unit = std::numeric_limits<Real>::epsilon() / 2;
  return unit * (4 * std::sqrt(static_cast<Wider<Real>>(n)) + 16) * magnitude;
}

}  // namespace

template <class Real>
ReferenceEnergy<Real>::ReferenceEnergy(const Config& config,
                                       const SequenceInputs<Real>& inputs,
                                       EnergyRole role)
    : config_(config),
      role_(role),
      bias_(role == EnergyRole::kAttention ? inputs.energy_bias : Real{0}),
      g_(inputs.energy_scale) {
  // MAD 2.4 starts it so.
  if (g_ == 0) g_ = 1 / std::sqrt(static_cast<Wider<Real>>(config.dim));
  if (!inputs.scores.empty()) {
    given_ = FindGivenScore(inputs, role);
  } else if (const auto captured = FindCaptured(inputs, role); captured.data) {
    given_ = {captured};
  } else if (config.energy != EnergyKind::kDot) {
    parameters_ = GetEnergyParameters(config, *inputs.parameters, role);
  } else if (role == EnergyRole::kChunk) {
    chunk_keys_ = inputs.further.Find(kChunkKeysInput.name);
    chunk_states_ = inputs.further.Find(kChunkStatesInput.name);
  }
}

template <class Real>
BoundedEnergy<Real> ReferenceEnergy<Real>::operator()(
    Index i, Index j, std::span<const Real> state,
    std::span<const Real> memory) const {
  if (given_.table.data != nullptr) return {given_.table(i, j), 0};
  BoundedEnergy<Real> e;
  if (config_.energy == EnergyKind::kDot) {
    const bool chunk = role_ == EnergyRole::kChunk;
    const std::span<const Real> s = chunk ? chunk_states_.Row(i) : state;
    const std::span<const Real> h = chunk ? chunk_keys_.Row(j) : memory;
    Wider<Real> magnitude = 0;
    for (std::size_t k = 0; k < s.size(); ++k) {
      const Wider<Real> term = static_cast<Wider<Real>>(s[k]) * h[k];
      e.value += term;
      magnitude += std::abs(term);
    }
    e.rounding = InnerProductRounding<Real>(config_.dim, magnitude);
  } else if (IsAdditive(config_.energy)) {
    e = Additive(state, memory);
  } else {
    e = Bilinear(state, memory);
  }
  e.value += bias_;
  e.rounding += std::numeric_limits<Real>::epsilon() * std::abs(e.value);
  return e;
}

// v . tanh(W s + V h + b), MAD eq 15; g v/|v| for v in eq 16.
template <class Real>
BoundedEnergy<Real> ReferenceEnergy<Real>::Additive(
    std::span<const Real> s, std::span<const Real> h) const {
  const Index d = config_.dim;
  BoundedEnergy<Real> e;
  Wider<Real> square = 0;
  for (Index r = 0; r < d; ++r) {
    Wider<Real> x = parameters_.b(0, r);
    Wider<Real> magnitude = std::abs(x);
    for (Index c = 0; c < d; ++c) {
      const auto k = static_cast<std::size_t>(c);
      const Wider<Real> from_s =
          static_cast<Wider<Real>>(parameters_.W(r, c)) * s[k];
      const Wider<Real> from_h =
          static_cast<Wider<Real>>(parameters_.V(r, c)) * h[k];
      x += from_s + from_h;
      magnitude += std::abs(from_s) + std::abs(from_h);
    }
    const Wider<Real> v = parameters_.v(0, r);
    square += v * v;
    e.value += v * std::tanh(x);
    // tanh has slope at most 1; its own error and that of the sum over r are
    // covered by the 1.
    e.rounding +=
        std::abs(v) * InnerProductRounding<Real>(2 * d, magnitude + 1);
  }
  if (config_.energy == EnergyKind::kNormalizedAdditive) {
    // v = 0 has no direction: v/|v| is 0 then.
    const Wider<Real> scale = square == 0 ? g_ : g_ / std::sqrt(square);
    e.value *= scale;
    e.rounding *= std::abs(scale);
  }
  return e;
}

// s^T W h, times g in MAD eq 17.
template <class Real>
BoundedEnergy<Real> ReferenceEnergy<Real>::Bilinear(
    std::span<const Real> s, std::span<const Real> h) const {
  const Index d = config_.dim;
  BoundedEnergy<Real> e;
  Wider<Real> magnitude = 0;
  for (Index r = 0; r < d; ++r) {
    for (Index c = 0; c < d; ++c) {
      const Wider<Real> term = static_cast<Wider<Real>>(s[Size(r)]) *
                               parameters_.W(r, c) * h[Size(c)];
      e.value += term;
      magnitude += std::abs(term);
    }
  }
  e.rounding = 2 * InnerProductRounding<Real>(d, magnitude);
  if (config_.energy == EnergyKind::kScaledBilinear) {
    e.value *= g_;
    e.rounding *= std::abs(g_);
  }
  return e;
}

template class ReferenceEnergy<float>;
template class ReferenceEnergy<double>;

}  // namespace attnbench
