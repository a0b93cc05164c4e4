// With G = dL/d energies [U, T], S [U, d] the states and H [T, d] the memory,
// everything is a matrix product except the tanh of the additive energies,
// which is made again for every (i, j): a table of them would be [U, T, d].
#include "mechanisms/energy/energy_gradient.h"

#include "mechanisms/common/eigen_views.h"
#include "mechanisms/energy/additive_pairs.h"

namespace attnbench {
namespace {

// A matrix of our own, zero at first.
template <class Real>
class Scratch {
 public:
  Scratch(Index rows, Index cols)
      : values_(Size(rows * cols)), rows_(rows), cols_(cols) {}
  MatrixView<Real> View() { return {values_.data(), rows_, cols_}; }
  MatrixMap<Real> map() { return Map(View()); }

 private:
  Buffer<Real> values_;
  const Index rows_;
  const Index cols_;
};

template <class Real>
class EnergyGradient {
 public:
  EnergyGradient(const Config& config, const Sequence<Real>& sequence,
                 EnergyRole role, const MatrixView<const Real>& d_energies,
                 const Gradients<Real>& gradients)
      : dim_(config.dim),
        num_outputs_(d_energies.rows),
        length_(d_energies.cols),
        role_(role),
        scaled_(IsScaled(config.energy)),
        g_(static_cast<Real>(EnergyScale(config, sequence.inputs))),
        G_(d_energies),
        d_parameters_(gradients.parameters) {
    const bool chunk =
        role == EnergyRole::kChunk && config.energy == EnergyKind::kDot;
    const std::string& states = kChunkStatesInput.name;
    const std::string& keys = kChunkKeysInput.name;
    const auto& further = sequence.inputs.further;
    states_ = chunk ? further.Find(states) : sequence.states;
    memory_ = chunk ? further.Find(keys) : sequence.memory;
    d_states_ = chunk ? gradients.further.Find(states) : gradients.states;
    d_memory_ = chunk ? gradients.further.Find(keys) : gradients.memory;
    ATTN_CHECK_EQ(states_.rows, num_outputs_);
    ATTN_CHECK_EQ(memory_.rows, length_);
    if (config.energy != EnergyKind::kDot) {
      parameters_ =
          GetEnergyParameters(config, *sequence.inputs.parameters, role);
    }
  }

  // e = S H^T.
  void Dot() {
    if (d_states_.data != nullptr) {
      Map(d_states_).noalias() += Map(G_) * Map(memory_);
    }
    if (d_memory_.data != nullptr) {
      Map(d_memory_).noalias() += Map(G_).transpose() * Map(states_);
    }
  }

  // e = g S W H^T.
  void Bilinear() {
    Scratch<Real> product(num_outputs_, dim_);
    product.map().noalias() = Map(G_) * Map(memory_);
    if (d_states_.data != nullptr) {
      Map(d_states_).noalias() +=
          g_ * product.map() * Map(parameters_.W).transpose();
    }
    if (d_parameters_ != nullptr) {
      Scratch<Real> d_W(dim_, dim_);  // of g W
      d_W.map().noalias() = Map(states_).transpose() * product.map();
      Map(Parameter("W", dim_, dim_)) += g_ * d_W.map();
      if (scaled_) {
        AddScalar("g", Map(parameters_.W).cwiseProduct(d_W.map()).sum());
      }
    }
    if (d_memory_.data != nullptr) {
      Scratch<Real> transposed(length_, dim_);
      transposed.map().noalias() = Map(G_).transpose() * Map(states_);
      Map(d_memory_).noalias() += g_ * transposed.map() * Map(parameters_.W);
    }
  }

  // e = v^ . tanh(W s + V h + b), where v^ is v or g v/|v|.
  void Additive() {
    Scratch<Real> query(num_outputs_, dim_), key(length_, dim_);
    query.map().noalias() = Map(states_) * Map(parameters_.W).transpose();
    key.map().noalias() = Map(memory_) * Map(parameters_.V).transpose();
    key.map().rowwise() += Map(parameters_.b).row(0);
    Scratch<Real> d_query(num_outputs_, dim_), d_key(length_, dim_);
    Scratch<Real> d_v(1, dim_);  // dL/d v^
    AddAdditivePairs<Real>(query.View(), key.View(), G_, d_query.View(),
                           d_key.View(), d_v.View().data);

    const auto v = Map(parameters_.v).row(0);
    const Real norm =
        scaled_ ? static_cast<Real>(NormOf(parameters_.v)) : Real{1};
    const Real scale = scaled_ ? g_ / norm : Real{1};  // v^ = scale v
    d_query.map().array().rowwise() *= scale * v.array();
    d_key.map().array().rowwise() *= scale * v.array();
    if (d_states_.data != nullptr) {
      Map(d_states_).noalias() += d_query.map() * Map(parameters_.W);
    }
    if (d_memory_.data != nullptr) {
      Map(d_memory_).noalias() += d_key.map() * Map(parameters_.V);
    }
    if (d_parameters_ == nullptr) return;
    Map(Parameter("W", dim_, dim_)).noalias() +=
        d_query.map().transpose() * Map(states_);
    Map(Parameter("V", dim_, dim_)).noalias() +=
        d_key.map().transpose() * Map(memory_);
    if (length_ > 0) {  // Eigen adds to the pointer of no rows
      Map(Parameter("b", 1, dim_)) += d_key.map()
                                          .template cast<double>()
                                          .colwise()
                                          .sum()
                                          .template cast<Real>();
    }
    // v^ does not change along v: that part of the gradient is g's alone.
    const Real along = scaled_ ? v.dot(d_v.map().row(0)) / norm : Real{0};
    Map(Parameter("v", 1, dim_)) +=
        scale * (d_v.map() - Map(parameters_.v) * (along / norm));
    if (scaled_) AddScalar("g", along);
  }

  // r is added to every energy of the choice.
  void Bias() {
    if (d_parameters_ == nullptr || role_ == EnergyRole::kChunk) return;
    // Of so many numbers the sum in f32 would err by a hundred roundings.
    const double sum = Map(G_).template cast<double>().sum();
    AddScalar("r", static_cast<Real>(sum));
  }

 private:
  MatrixView<Real> Parameter(const char* name, Index rows, Index cols) const {
    return d_parameters_->Matrix(ParameterPrefix(role_) + name, rows, cols);
  }
  void AddScalar(const char* name, Real value) const {
    Parameter(name, 1, 1)(0, 0) += value;
  }

  const Index dim_;
  const Index num_outputs_;
  const Index length_;
  const EnergyRole role_;
  const bool scaled_;
  const Real g_;
  const MatrixView<const Real> G_;
  EnergyParameters<Real> parameters_;
  MatrixView<const Real> states_;
  MatrixView<const Real> memory_;
  MatrixView<Real> d_states_;
  MatrixView<Real> d_memory_;
  ParameterGradients<Real>* const d_parameters_;
};

}  // namespace

template <class Real>
void AddEnergyGradient(const Config& config, const Sequence<Real>& sequence,
                       EnergyRole role,
                       const MatrixView<const Real>& d_energies,
                       const Gradients<Real>& gradients) {
  EnergyGradient<Real> gradient(config, sequence, role, d_energies, gradients);
  gradient.Bias();
  switch (config.energy) {
    case EnergyKind::kDot:
      gradient.Dot();
      return;
    case EnergyKind::kBilinear:
    case EnergyKind::kScaledBilinear:
      gradient.Bilinear();
      return;
    case EnergyKind::kAdditive:
    case EnergyKind::kNormalizedAdditive:
      gradient.Additive();
      return;
  }
}

double EnergyGradientFlops(const Config& config, Index memory_length,
                           Index output_length, double pairs) {
  const auto d = static_cast<double>(config.dim);
  const auto T = static_cast<double>(memory_length);
  const auto U = static_cast<double>(output_length);
  // These are G H and G^T S.
  if (config.energy == EnergyKind::kDot) return 4 * U * T * d;
  if (!IsAdditive(config.energy)) {
    // These are the same two, both times W for states and memory, and S^T times
    // the first for W itself.
    return 4 * U * T * d + d * d * (4 * U + 2 * T);
  }
  // Each element of a pair takes a product, an addition and a division for r; a
  // product and a sum for v; r - r^2 times G, and two sums for it. Each state
  // and entry takes a key with its exp, and a product each for itself and its
  // matrix. The rest is for b and v^.
  return 9 * pairs * d + 6 * d * d * (U + T) + d * (3 * U + 5 * T);
}

template void AddEnergyGradient(const Config&, const Sequence<float>&,
                                EnergyRole, const MatrixView<const float>&,
                                const Gradients<float>&);
template void AddEnergyGradient(const Config&, const Sequence<double>&,
                                EnergyRole, const MatrixView<const double>&,
                                const Gradients<double>&);

}  // namespace attnbench
