#include <cmath>
#include <vector>

#include "mechanisms/energy/energy_gradient.h"

namespace attnbench {
namespace {

// This class makes every sum in Wider<Real> and then adds it to the caller's
// gradient.
template <class Real>
class Reference {
  using Wide = Wider<Real>;
  using Vector = std::vector<Wide>;
  using Table = std::vector<Vector>;

 public:
  Reference(const Config& config, const Sequence<Real>& sequence,
            EnergyRole role, const MatrixView<const Wide>& d_energies)
      : kind_(config.energy),
        role_(role),
        d_(Size(config.dim)),
        U_(Size(d_energies.rows)),
        T_(Size(d_energies.cols)),
        de_(d_energies),
        g_(sequence.inputs.energy_scale),
        ds_(U_, Vector(d_)),
        dh_(T_, Vector(d_)),
        dW_(d_, Vector(d_)),
        dV_(d_, Vector(d_)),
        db_(1, Vector(d_)),
        dv_(1, Vector(d_)) {
    const bool own = OfChunkUnderDot();
    const auto& further = sequence.inputs.further;
    s_ = Widened(own ? further.Find(kChunkStatesInput.name) : sequence.states);
    h_ = Widened(own ? further.Find(kChunkKeysInput.name) : sequence.memory);
    if (g_ == 0) g_ = 1 / std::sqrt(static_cast<Wide>(config.dim));
    if (kind_ != EnergyKind::kDot) {
      const auto given =
          GetEnergyParameters(config, *sequence.inputs.parameters, role);
      W_ = Widened(given.W);
      V_ = Widened(given.V);
      b_ = Widened(given.b);
      v_ = Widened(given.v);
    }
  }

  void Run() {
    for (std::size_t i = 0; i < U_; ++i) {
      for (std::size_t j = 0; j < T_; ++j) dr_ += De(i, j);
    }
    if (kind_ == EnergyKind::kDot) {
      Dot();
    } else if (IsAdditive(kind_)) {
      Additive();
    } else {
      Bilinear();
    }
  }

  void AddTo(const Gradients<Real>& out) const {
    const bool own = OfChunkUnderDot();
    Add(ds_, own ? out.further.Find(kChunkStatesInput.name) : out.states);
    Add(dh_, own ? out.further.Find(kChunkKeysInput.name) : out.memory);
    if (out.parameters == nullptr) return;
    const bool choice = role_ == EnergyRole::kAttention;
    const std::string prefix = choice ? "attention." : "chunk.";
    const auto add = [&](const char* name, const Table& sum) {
      Add(sum,
          out.parameters->Matrix(prefix + name, static_cast<Index>(sum.size()),
                                 static_cast<Index>(sum[0].size())));
    };
    if (choice) add("r", {{dr_}});
    if (kind_ == EnergyKind::kDot) return;
    add("W", dW_);
    if (IsScaled(kind_)) add("g", {{dg_}});
    if (!IsAdditive(kind_)) return;
    add("V", dV_);
    add("b", db_);
    add("v", dv_);
  }

 private:
  bool OfChunkUnderDot() const {
    return role_ == EnergyRole::kChunk && kind_ == EnergyKind::kDot;
  }
  Wide De(std::size_t i, std::size_t j) const {
    return de_(static_cast<Index>(i), static_cast<Index>(j));
  }
  static Table Widened(const MatrixView<const Real>& m) {
    Table rows;
    for (Index r = 0; r < m.rows; ++r) {
      rows.emplace_back(m.Row(r).begin(), m.Row(r).end());
    }
    return rows;
  }
  static void Add(const Table& sum, const MatrixView<Real>& out) {
    if (out.data == nullptr) return;
    for (Index r = 0; r < out.rows; ++r) {
      for (Index c = 0; c < out.cols; ++c) {
        out(r, c) = static_cast<Real>(out(r, c) + sum[Size(r)][Size(c)]);
      }
    }
  }

  // e = sum over k of s_k h_k.
  void Dot() {
    for (std::size_t i = 0; i < U_; ++i) {
      for (std::size_t j = 0; j < T_; ++j) {
        for (std::size_t k = 0; k < d_; ++k) {
          ds_[i][k] += De(i, j) * h_[j][k];
          dh_[j][k] += De(i, j) * s_[i][k];
        }
      }
    }
  }

  // e = g sum over k, l of s_k W_kl h_l, where bilinear has g = 1. `to_s` and
  // `to_h` are sums over the other side, which W does not change.
  void Bilinear() {
    const bool scaled = kind_ == EnergyKind::kScaledBilinear;
    const Wide g = scaled ? g_ : Wide{1};
    Table to_s(U_, Vector(d_)), to_h(T_, Vector(d_));
    for (std::size_t i = 0; i < U_; ++i) {
      for (std::size_t j = 0; j < T_; ++j) {
        for (std::size_t k = 0; k < d_; ++k) {
          to_s[i][k] += De(i, j) * h_[j][k];
          to_h[j][k] += De(i, j) * s_[i][k];
        }
      }
    }
    for (std::size_t k = 0; k < d_; ++k) {
      for (std::size_t l = 0; l < d_; ++l) {
        for (std::size_t i = 0; i < U_; ++i) {
          ds_[i][k] += g * W_[k][l] * to_s[i][l];
          dW_[k][l] += g * s_[i][k] * to_s[i][l];
          dg_ += W_[k][l] * s_[i][k] * to_s[i][l];
        }
        for (std::size_t j = 0; j < T_; ++j) {
          dh_[j][l] += g * W_[k][l] * to_h[j][k];
        }
      }
    }
  }

  // e = v . tanh(x), x = W s + V h + b; g v/|v| for v in MAD eq 16.
  void Additive() {
    const bool normalized = kind_ == EnergyKind::kNormalizedAdditive;
    Wide square = 0;
    for (const Wide v : v_[0]) square += v * v;
    if (square == 0) square = 1;  // v/|v| of v = 0 is 0, and not 0 / 0
    const Wide scale = normalized ? g_ / std::sqrt(square) : Wide{1};
    const Table Ws = Products(W_, s_), Vh = Products(V_, h_);
    Table of_s(U_, Vector(d_)), of_h(T_, Vector(d_));  // sums of dL/dx
    for (std::size_t i = 0; i < U_; ++i) {
      for (std::size_t j = 0; j < T_; ++j) {
        for (std::size_t k = 0; k < d_; ++k) {
          const Wide x = Ws[i][k] + Vh[j][k] + b_[0][k];
          const Wide cosh = std::cosh(x);
          const Wide dx = De(i, j) * scale * v_[0][k] / (cosh * cosh);
          of_s[i][k] += dx;
          of_h[j][k] += dx;
          db_[0][k] += dx;
          dv_[0][k] += De(i, j) * std::tanh(x);
        }
      }
    }
    AddProducts(of_s, W_, s_, ds_, dW_);
    AddProducts(of_h, V_, h_, dh_, dV_);
    if (normalized) Normalize(square);
  }

  // Goes from dL/d(g v/|v|), in dv_, to dv and dg:
  // d(v_k/|v|) / dv_l = (delta_kl - v_k v_l / |v|^2) / |v|.
  void Normalize(Wide square) {
    const Wide norm = std::sqrt(square);
    const Vector outer = dv_[0];
    for (std::size_t l = 0; l < d_; ++l) {
      dg_ += outer[l] * v_[0][l] / norm;
      dv_[0][l] = 0;
      for (std::size_t k = 0; k < d_; ++k) {
        const Wide delta = k == l ? 1 : 0;
        dv_[0][l] +=
            outer[k] * g_ * (delta - v_[0][k] * v_[0][l] / square) / norm;
      }
    }
  }

  // M x for every row x.
  Table Products(const Table& M, const Table& rows) const {
    Table products(rows.size(), Vector(d_));
    for (std::size_t n = 0; n < rows.size(); ++n) {
      for (std::size_t k = 0; k < d_; ++k) {
        for (std::size_t l = 0; l < d_; ++l) {
          products[n][k] += M[k][l] * rows[n][l];
        }
      }
    }
    return products;
  }

  // Goes back through y = M x, row by row: dx += M^T dy and dM += dy x^T.
  void AddProducts(const Table& dy, const Table& M, const Table& x, Table& dx,
                   Table& dM) const {
    for (std::size_t n = 0; n < x.size(); ++n) {
      for (std::size_t k = 0; k < d_; ++k) {
        for (std::size_t l = 0; l < d_; ++l) {
          dx[n][l] += M[k][l] * dy[n][k];
          dM[k][l] += dy[n][k] * x[n][l];
        }
      }
    }
  }

  const EnergyKind kind_;
  const EnergyRole role_;
  const std::size_t d_, U_, T_;
  const MatrixView<const Wide> de_;
  Wide g_;
  Table s_, h_, W_, V_, b_, v_;
  Table ds_, dh_, dW_, dV_, db_, dv_;
  Wide dg_ = 0;
  Wide dr_ = 0;
};

}  // namespace

template <class Real>
void AddReferenceEnergyGradient(const Config& config,
                                const Sequence<Real>& sequence, EnergyRole role,
                                const MatrixView<const Wider<Real>>& d_energies,
                                const Gradients<Real>& gradients) {
  Reference<Real> reference(config, sequence, role, d_energies);
  reference.Run();
  reference.AddTo(gradients);
}

template void AddReferenceEnergyGradient(const Config&, const Sequence<float>&,
                                         EnergyRole,
                                         const MatrixView<const double>&,
                                         const Gradients<float>&);
template void AddReferenceEnergyGradient(const Config&, const Sequence<double>&,
                                         EnergyRole,
                                         const MatrixView<const long double>&,
                                         const Gradients<double>&);

}  // namespace attnbench
