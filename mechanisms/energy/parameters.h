// The learned parameters of the energy functions, by the names under which
// ParameterSource knows them: "attention.W", "chunk.V" and so on.
#ifndef ATTNBENCH_MECHANISMS_ENERGY_PARAMETERS_H_
#define ATTNBENCH_MECHANISMS_ENERGY_PARAMETERS_H_

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

template <class Real>
EnergyParameters<Real> GetEnergyParameters(const Config& config,
                                           const ParameterSource<Real>& source,
                                           EnergyRole role) {
  const std::string prefix =
      role == EnergyRole::kAttention ? "attention." : "chunk.";
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
