// alpha and beta of Britz eqs 5, 7, 9 and 10 as written there, in scalar loops
// and a wider type: what the references of decoding and of training share.
#ifndef ATTNBENCH_MECHANISMS_MEMORY_REFERENCE_SCORES_H_
#define ATTNBENCH_MECHANISMS_MEMORY_REFERENCE_SCORES_H_

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "mechanisms/energy/energy_reference.h"
#include "mechanisms/memory/memory.h"

namespace attnbench::memory {

template <class Real>
class ReferenceScores {
 public:
  using Wide = Wider<Real>;
  using Vector = std::vector<Wide>;

  ReferenceScores(const Config& config, const SequenceInputs<Real>& inputs)
      : encoding_(config.Option<std::string>("position_encoding")),
        place_(config.Option<std::string>("place")),
        encoder_scoring_(config.Option<std::string>("encoder_scoring")),
        decoder_scoring_(config.Option<std::string>("decoder_scoring")),
        max_length_(config.Option<std::int64_t>("max_length")),
        given_(FindGiven(inputs, NumContexts(config))),
        K_(NumContexts(config)) {
    if (given_) return;
    W_alpha_ = inputs.parameters->Matrix(kEncoderParameter, K_, config.dim);
    W_beta_ = inputs.parameters->Matrix(kDecoderParameter, K_, config.dim);
  }

  // Call it before Alpha and L.
  void SetLength(Index T) {
    T_ = T;
    S_ = PositionScale(max_length_, T);
    sum_of_L_.clear();
    for (Index k = 1; k <= K_; ++k) {
      Wide sum = 0;
      for (Index s = 1; s <= T_; ++s) sum += RawL(k, s);
      sum_of_L_.push_back(sum);
    }
  }

  // The scores before encoding and scoring; t and i from 0.
  Vector EncoderScores(Index t, std::span<const Real> h) const {
    return given_ ? Row(given_->encoder, t) : Products(W_alpha_, h);
  }
  Vector DecoderScores(Index i, std::span<const Real> s) const {
    return given_ ? Row(given_->decoder, i) : Products(W_beta_, s);
  }

  Vector Alpha(Index t, std::span<const Real> h) const {  // eqs 5 and 9
    Vector x = EncoderScores(t, h);
    for (Index k = 0; k < K_; ++k) x[Size(k)] *= InsideL(k + 1, t + 1);
    x = Score(encoder_scoring_, x);
    for (Index k = 0; k < K_; ++k) x[Size(k)] *= OutsideL(k + 1, t + 1);
    return x;
  }
  Vector Beta(Index i, std::span<const Real> s) const {  // eq 7
    return Score(decoder_scoring_, DecoderScores(i, s));
  }

  // These multiply before and after the score; k and s count from 1.
  Wide InsideL(Index k, Index s) const {
    return place_ == "inside" ? L(k, s) : 1;
  }
  Wide OutsideL(Index k, Index s) const {
    return place_ == "outside" ? L(k, s) : 1;
  }

  static Vector Score(const std::string& scoring, Vector x) {
    if (scoring == "sigmoid") {
      for (Wide& value : x) value = 1 / (1 + std::exp(-value));
      return x;
    }
    const Wide largest = *std::max_element(x.begin(), x.end());
    Wide sum = 0;
    for (Wide& value : x) sum += value = std::exp(value - largest);
    for (Wide& value : x) value /= sum;
    return x;
  }

  const std::string& encoder_scoring() const { return encoder_scoring_; }
  const std::string& decoder_scoring() const { return decoder_scoring_; }
  const MatrixView<const Real>& W_alpha() const { return W_alpha_; }
  const MatrixView<const Real>& W_beta() const { return W_beta_; }

 private:
  static Vector Row(const MatrixView<const Real>& m, Index r) {
    return Vector(m.Row(r).begin(), m.Row(r).end());
  }
  Vector Products(const MatrixView<const Real>& W,
                  std::span<const Real> x) const {
    Vector product(Size(K_), 0);
    for (Index k = 0; k < K_; ++k) {
      for (std::size_t n = 0; n < x.size(); ++n) {
        product[Size(k)] +=
            static_cast<Wide>(W(k, static_cast<Index>(n))) * x[n];
      }
    }
    return product;
  }

  // Eq 10.
  Wide RawL(Index k, Index s) const {
    const Wide k_part = static_cast<Wide>(k) / static_cast<Wide>(K_);
    const Wide s_part = static_cast<Wide>(s) / static_cast<Wide>(S_);
    return (1 - k_part) * (1 - s_part) + k_part * s_part;
  }
  // Gives the same, renormalised over s = 1..T.
  Wide L(Index k, Index s) const {
    if (encoding_ == "none") return 1;
    if (encoding_ == "raw") return RawL(k, s);
    const Wide normalized = RawL(k, s) / sum_of_L_[Size(k - 1)];
    return encoding_ == "renormalized" ? normalized
                                       : normalized * static_cast<Wide>(T_);
  }

  const std::string encoding_;
  const std::string place_;
  const std::string encoder_scoring_;
  const std::string decoder_scoring_;
  const Index max_length_;
  const std::optional<GivenScores<Real>> given_;
  const Index K_;
  MatrixView<const Real> W_alpha_;
  MatrixView<const Real> W_beta_;
  Index T_ = 0;
  Index S_ = 1;
  Vector sum_of_L_;  // over s = 1..T, for each k
};

}  // namespace attnbench::memory

#endif  // ATTNBENCH_MECHANISMS_MEMORY_REFERENCE_SCORES_H_
