#include <vector>

#include "mechanisms/memory/memory_training.h"
#include "mechanisms/memory/reference_scores.h"

namespace attnbench::memory {
namespace {

// Makes the sums over all pairs (i, t) that the formulas are, never C.
template <class Real>
class Reference {
  using Wide = Wider<Real>;
  using Vector = std::vector<Wide>;
  using Table = std::vector<Vector>;

 public:
  Reference(const Config& config, const Sequence<Real>& sequence)
      : given_(FindGiven(sequence.inputs, NumContexts(config))),
        K_(Size(NumContexts(config))),
        scores_(config, sequence.inputs),
        h_(sequence.memory),
        s_(sequence.states) {
    T_ = Size(given_ ? given_->encoder.rows : h_.rows);
    U_ = Size(given_ ? given_->decoder.rows : s_.rows);
    scores_.SetLength(static_cast<Index>(T_));
    for (std::size_t t = 0; t < T_; ++t) {
      alpha_.push_back(scores_.Alpha(static_cast<Index>(t), RowOf(h_, t)));
    }
    for (std::size_t i = 0; i < U_; ++i) {
      beta_.push_back(scores_.Beta(static_cast<Index>(i), RowOf(s_, i)));
    }
    attention_.assign(U_, Vector(T_));
    for (std::size_t i = 0; i < U_; ++i) {
      for (std::size_t t = 0; t < T_; ++t) {
        for (std::size_t k = 0; k < K_; ++k) {
          attention_[i][t] += beta_[i][k] * alpha_[t][k];
        }
      }
    }
  }

  void WriteExpectation(const Expectation<Real>& out,
                        const MatrixView<Real>& contexts) const {
    Write(attention_, out.attention);
    if (contexts.data == nullptr) return;
    for (Index i = 0; i < contexts.rows; ++i) {
      for (Index n = 0; n < contexts.cols; ++n) {
        Wide sum = 0;
        for (std::size_t t = 0; t < T_; ++t) {
          sum += attention_[Size(i)][t] * h_(static_cast<Index>(t), n);
        }
        contexts(i, n) = static_cast<Real>(sum);
      }
    }
  }

  void WriteGradients(const Cotangent<Real>& cotangent,
                      const Gradients<Real>& out) const {
    const Table d_attention = OfAttention(cotangent);
    ZeroInputGradients(out);
    Table dx, dy;  // of the scores of entries and outputs
    for (std::size_t t = 0; t < T_; ++t) dx.push_back(OfEntry(t, d_attention));
    for (std::size_t i = 0; i < U_; ++i) dy.push_back(OfOutput(i, d_attention));
    Write(dx, out.scores.Find(kEncoderScores));
    Write(dy, out.scores.Find(kDecoderScores));
    Table dh = OfMemory(cotangent.contexts, Size(h_.cols));
    Table ds(U_, Vector(Size(out.states.cols)));
    if (!given_) {
      AddProducts(dx, scores_.W_alpha(), dh);
      AddProducts(dy, scores_.W_beta(), ds);
      AddParameter(dx, h_, kEncoderParameter, out.parameters);
      AddParameter(dy, s_, kDecoderParameter, out.parameters);
    }
    Write(dh, out.memory);
    Write(ds, out.states);
  }

 private:
  static std::span<const Real> RowOf(const MatrixView<const Real>& m,
                                     std::size_t r) {
    return m.data == nullptr ? std::span<const Real>()
                             : m.Row(static_cast<Index>(r));
  }
  static void Write(const Table& values, const MatrixView<Real>& out) {
    if (out.data == nullptr) return;
    for (Index r = 0; r < out.rows; ++r) {
      for (Index c = 0; c < out.cols; ++c) {
        out(r, c) = static_cast<Real>(values[Size(r)][Size(c)]);
      }
    }
  }

  // dL/d attention(i, t), of which the context is the sum over h_t.
  Table OfAttention(const Cotangent<Real>& cotangent) const {
    Table sum(U_, Vector(T_));
    for (std::size_t i = 0; i < U_; ++i) {
      for (std::size_t t = 0; t < T_; ++t) {
        const auto row = static_cast<Index>(i), col = static_cast<Index>(t);
        if (cotangent.attention.data != nullptr) {
          sum[i][t] = cotangent.attention(row, col);
        }
        for (Index n = 0; n < cotangent.contexts.cols; ++n) {
          sum[i][t] +=
              static_cast<Wide>(cotangent.contexts(row, n)) * h_(col, n);
        }
      }
    }
    return sum;
  }

  Table OfMemory(const MatrixView<const Real>& d_contexts,
                 std::size_t dim) const {
    Table dh(T_, Vector(dim));
    for (Index i = 0; i < d_contexts.rows; ++i) {
      for (std::size_t t = 0; t < T_; ++t) {
        for (std::size_t n = 0; n < dim; ++n) {
          dh[t][n] +=
              attention_[Size(i)][t] * d_contexts(i, static_cast<Index>(n));
        }
      }
    }
    return dh;
  }

  // dL/d of the scores of entry t: eqs 5, 9 and 10 backwards.
  Vector OfEntry(std::size_t t, const Table& d_attention) const {
    const auto index = static_cast<Index>(t);
    Vector inside(K_), gradient(K_);
    const Vector x = scores_.EncoderScores(index, RowOf(h_, t));
    for (std::size_t k = 0; k < K_; ++k) {
      const Index one_based = static_cast<Index>(k) + 1;
      inside[k] = x[k] * scores_.InsideL(one_based, index + 1);
      for (std::size_t i = 0; i < U_; ++i) {
        gradient[k] += d_attention[i][t] * beta_[i][k];
      }
      gradient[k] *= scores_.OutsideL(one_based, index + 1);
    }
    gradient = ScoreBack(scores_.encoder_scoring(), inside, gradient);
    for (std::size_t k = 0; k < K_; ++k) {
      gradient[k] *= scores_.InsideL(static_cast<Index>(k) + 1, index + 1);
    }
    return gradient;
  }

  // Does the same for output i, eq 7.
  Vector OfOutput(std::size_t i, const Table& d_attention) const {
    Vector gradient(K_);
    for (std::size_t k = 0; k < K_; ++k) {
      for (std::size_t t = 0; t < T_; ++t) {
        gradient[k] += d_attention[i][t] * alpha_[t][k];
      }
    }
    return ScoreBack(scores_.decoder_scoring(),
                     scores_.DecoderScores(static_cast<Index>(i), RowOf(s_, i)),
                     gradient);
  }

  // sum over l of dL/dy_l dy_l/dx_k at y = score(x).
  Vector ScoreBack(const std::string& scoring, const Vector& x,
                   const Vector& dy) const {
    const Vector y = ReferenceScores<Real>::Score(scoring, x);
    Vector dx(K_);
    for (std::size_t k = 0; k < K_; ++k) {
      for (std::size_t l = 0; l < K_; ++l) {
        if (scoring == "softmax") {
          dx[k] += dy[l] * y[l] * ((k == l ? 1 : 0) - y[k]);
        } else if (k == l) {
          dx[k] += dy[k] * y[k] / (1 + std::exp(x[k]));
        }
      }
    }
    return dx;
  }

  // sums[r] += sum over k of d_scores[r][k] W_k.
  void AddProducts(const Table& d_scores, const MatrixView<const Real>& W,
                   Table& sums) const {
    for (std::size_t r = 0; r < sums.size(); ++r) {
      for (std::size_t k = 0; k < K_; ++k) {
        for (std::size_t n = 0; n < sums[r].size(); ++n) {
          sums[r][n] +=
              d_scores[r][k] * W(static_cast<Index>(k), static_cast<Index>(n));
        }
      }
    }
  }

  // dW_kn += sum over r of d_scores[r][k] x(r, n).
  void AddParameter(const Table& d_scores, const MatrixView<const Real>& x,
                    const char* name, ParameterGradients<Real>* out) const {
    if (out == nullptr) return;
    const MatrixView<Real> dW =
        out->Matrix(name, static_cast<Index>(K_), x.cols);
    for (Index k = 0; k < dW.rows; ++k) {
      for (Index n = 0; n < dW.cols; ++n) {
        Wide sum = dW(k, n);
        for (Index r = 0; r < x.rows; ++r) {
          sum += d_scores[Size(r)][Size(k)] * x(r, n);
        }
        dW(k, n) = static_cast<Real>(sum);
      }
    }
  }

  const std::optional<GivenScores<Real>> given_;
  const std::size_t K_;
  ReferenceScores<Real> scores_;
  const MatrixView<const Real> h_;
  const MatrixView<const Real> s_;
  std::size_t T_ = 0;
  std::size_t U_ = 0;
  Table alpha_;      // [T][K]
  Table beta_;       // [U][K]
  Table attention_;  // [U][T]
};

}  // namespace

template <class Real>
void ReferenceExpect(const Config& config, const Sequence<Real>& sequence,
                     const Expectation<Real>& out) {
  Reference<Real>(config, sequence).WriteExpectation(out, sequence.contexts);
}

template <class Real>
void ReferenceGradient(const Config& config, const Sequence<Real>& sequence,
                       const Cotangent<Real>& cotangent,
                       const Expectation<Real>& out,
                       const Gradients<Real>& gradients) {
  const Reference<Real> reference(config, sequence);
  reference.WriteExpectation(out, sequence.contexts);
  reference.WriteGradients(cotangent, gradients);
}

#define ATTN_INSTANTIATE(Real)                                        \
  template void ReferenceExpect(const Config&, const Sequence<Real>&, \
                                const Expectation<Real>&);            \
  template void ReferenceGradient(                                    \
      const Config&, const Sequence<Real>&, const Cotangent<Real>&,   \
      const Expectation<Real>&, const Gradients<Real>&)
ATTN_INSTANTIATE(float);
ATTN_INSTANTIATE(double);
#undef ATTN_INSTANTIATE

}  // namespace attnbench::memory
