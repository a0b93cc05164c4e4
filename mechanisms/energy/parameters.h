// The learned parameters of the energy functions, by the names under which
// ParameterSource knows them: "attention.W", "chunk.V" and so on, and the scale
// g, which is not among them.
#ifndef ATTNBENCH_MECHANISMS_ENERGY_PARAMETERS_H_
#define ATTNBENCH_MECHANISMS_ENERGY_PARAMETERS_H_

#include <algorithm>
#include <cmath>
#include <string>

#include "mechanisms/energy/energy.h"

namespace attnbench {

template <class Real>
struct EnergyParameters {
  MatrixView<const Real> W;  // [d, d]
  MatrixView<const Real> V;  // [d, d], of the additive ones
  MatrixView<const Real> b;  // [1, d], of the additive ones
  MatrixView<const Real> v;  // [1, d], of the additive ones
};

inline bool IsAdditive(EnergyKind kind) {
  return kind == EnergyKind::kAdditive ||
         kind == EnergyKind::kNormalizedAdditive;
}

inline bool IsScaled(EnergyKind kind) {
  return kind == EnergyKind::kNormalizedAdditive ||
         kind == EnergyKind::kScaledBilinear;
}

inline std::string ParameterPrefix(EnergyRole role) {
  return role == EnergyRole::kAttention ? "attention." : "chunk.";
}

// g of MAD eqs 16 and 17, and 1 for the energies without it.
template <class Real>
double EnergyScale(const Config& config, const SequenceInputs<Real>& inputs) {
  if (!IsScaled(config.energy)) return 1;
  if (inputs.energy_scale != Real{0}) {
    return static_cast<double>(inputs.energy_scale);
  }
  return 1 / std::sqrt(static_cast<double>(config.dim));
}

// |v| of MAD eq 16, whose squares may be too large or too small for Real; 1 for
// v = 0, which has no direction: v/|v| is 0 then.
template <class Real>
double NormOf(const MatrixView<const Real>& v) {
  double largest = 0;
  for (const Real x : v.Row(0)) {
    largest = std::max(largest, std::abs(static_cast<double>(x)));
  }
  if (largest == 0) return 1;
  const int exponent = std::ilogb(largest);  // of 2: to scale rounds nothing
  double square = 0;
  for (const Real x : v.Row(0)) {
    const double scaled = std::ldexp(static_cast<double>(x), -exponent);
    square += scaled * scaled;
  }
  return std::ldexp(std::sqrt(square), exponent);
}

template <class Real>
EnergyParameters<Real> GetEnergyParameters(const Config& config,
                                           const ParameterSource<Real>& source,
                                           EnergyRole role) {
  const std::string prefix = ParameterPrefix(role);
  EnergyParameters<Real> parameters;
  if (config.energy == EnergyKind::kDot) return parameters;
  parameters.W = source.Matrix(prefix + "W", config.dim, config.dim);
  if (IsAdditive(config.energy)) {
    parameters.V = source.Matrix(prefix + "V", config.dim, config.dim);
    parameters.b = source.Matrix(prefix + "b", 1, config.dim);
    parameters.v = source.Matrix(prefix + "v", 1, config.dim);
  }
  return parameters;
}

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_ENERGY_PARAMETERS_H_
