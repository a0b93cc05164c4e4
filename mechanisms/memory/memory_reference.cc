#include <algorithm>
#include <cmath>

#include "mechanisms/energy/energy_reference.h"
#include "mechanisms/memory/memory.h"

namespace attnbench::memory {
namespace {

template <class Real>
class Reference final : public Decoder<Real> {
  using Wide = Wider<Real>;

 public:
  Reference(const Config& config, const SequenceInputs<Real>& inputs)
      : config_(config), given_(inputs.given), K_(config.num_contexts) {
    if (given_ != nullptr) return;
    W_alpha_ = inputs.parameters->Matrix(kEncoderParameter, K_, config.dim);
    W_beta_ = inputs.parameters->Matrix(kDecoderParameter, K_, config.dim);
  }

  void Append(const MemoryRows<Real>& rows) override {
    for (Index t = 0; t < rows.memory.rows; ++t) {
      h_.push_back(rows.memory.Row(t));
    }
  }

  void Close() override {
    T_ = static_cast<Index>(h_.size());
    S_ = PositionScale(config_.Option<std::int64_t>("max_length"), T_);
    for (Index k = 1; k <= K_; ++k) {
      Wide sum = 0;
      for (Index s = 1; s <= T_; ++s) sum += RawL(k, s);
      sum_of_L_.push_back(sum);
    }
    for (Index t = 0; t < T_; ++t) alpha_.push_back(Alpha(t));
    const std::size_t dim = h_.empty() ? 0 : h_[0].size();
    C_.assign(Size(K_), std::vector<Wide>(dim, 0));
    for (Index k = 0; k < K_; ++k) {  // eq 4
      for (Index t = 0; t < T_; ++t) {
        for (std::size_t n = 0; n < dim; ++n) {
          C_[Size(k)][n] += alpha_[Size(t)][Size(k)] * h_[Size(t)][n];
        }
      }
    }
    closed_ = true;
  }

  StepResult<Real> Step(const DecoderState<Real>& s,
                        std::span<Real> c) override {
    if (!closed_) return {.need_memory = true};
    const std::vector<Wide> beta = Beta(s.state);
    ++i_;
    for (std::size_t n = 0; n < c.size(); ++n) {  // eq 6
      Wide sum = 0;
      if (T_ > 0) {
        for (Index k = 0; k < K_; ++k) sum += beta[Size(k)] * C_[Size(k)][n];
      }
      c[n] = static_cast<Real>(sum);
    }
    weights_.clear();
    for (Index t = 0; t < T_; ++t) {
      Wide sum = 0;
      for (Index k = 0; k < K_; ++k) {
        sum += beta[Size(k)] * alpha_[Size(t)][Size(k)];
      }
      weights_.push_back(static_cast<Real>(sum));
    }
    return {.end = T_, .weights = weights_};
  }

 private:
  static void Score(const std::string& scoring, std::vector<Wide>& x) {
    if (scoring == "sigmoid") {
      for (Wide& value : x) value = 1 / (1 + std::exp(-value));
      return;
    }
    const Wide largest = *std::max_element(x.begin(), x.end());
    Wide sum = 0;
    for (Wide& value : x) sum += value = std::exp(value - largest);
    for (Wide& value : x) value /= sum;
  }

  std::vector<Wide> Products(const MatrixView<const Real>& W,
                             std::span<const Real> x) const {
    std::vector<Wide> product(Size(K_), 0);
    for (Index k = 0; k < K_; ++k) {
      for (std::size_t n = 0; n < x.size(); ++n) {
        product[Size(k)] +=
            static_cast<Wide>(W(k, static_cast<Index>(n))) * x[n];
      }
    }
    return product;
  }

  // Eq 10, with k and s from 1.
  Wide RawL(Index k, Index s) const {
    const Wide k_part = static_cast<Wide>(k) / static_cast<Wide>(K_);
    const Wide s_part = static_cast<Wide>(s) / static_cast<Wide>(S_);
    return (1 - k_part) * (1 - s_part) + k_part * s_part;
  }

  // The same, renormalised over s = 1..T.
  Wide L(Index k, Index s) const {
    const auto encoding = config_.Option<std::string>("position_encoding");
    if (encoding == "raw") return RawL(k, s);
    const Wide normalized = RawL(k, s) / sum_of_L_[Size(k - 1)];
    return encoding == "renormalized" ? normalized
                                      : normalized * static_cast<Wide>(T_);
  }

  std::vector<Wide> Alpha(Index t) const {  // eqs 5 and 9
    std::vector<Wide> x =
        given_ != nullptr
            ? std::vector<Wide>(given_->encoder_scores.Row(t).begin(),
                                given_->encoder_scores.Row(t).end())
            : Products(W_alpha_, h_[Size(t)]);
    const bool encoded =
        config_.Option<std::string>("position_encoding") != "none";
    const bool inside = config_.Option<std::string>("place") == "inside";
    const auto encode = [&] {
      for (Index k = 0; k < K_; ++k) x[Size(k)] *= L(k + 1, t + 1);
    };
    if (encoded && inside) encode();
    Score(config_.Option<std::string>("encoder_scoring"), x);
    if (encoded && !inside) encode();
    return x;
  }

  std::vector<Wide> Beta(std::span<const Real> s) const {  // eq 7
    std::vector<Wide> x =
        given_ != nullptr
            ? std::vector<Wide>(given_->decoder_scores.Row(i_).begin(),
                                given_->decoder_scores.Row(i_).end())
            : Products(W_beta_, s);
    Score(config_.Option<std::string>("decoder_scoring"), x);
    return x;
  }

  const Config config_;
  const GivenScores<Real>* const given_;
  const Index K_;
  MatrixView<const Real> W_alpha_;
  MatrixView<const Real> W_beta_;
  Index T_ = 0;
  Index S_ = 1;
  std::vector<Wide> sum_of_L_;  // over s = 1..T, for each k
  Index i_ = 0;
  std::vector<std::span<const Real>> h_;
  std::vector<std::vector<Wide>> alpha_;  // [T][K]
  std::vector<std::vector<Wide>> C_;      // [K][d]
  std::vector<Real> weights_;
  bool closed_ = false;
};

}  // namespace

template <class Real>
std::unique_ptr<Decoder<Real>> MakeReference(
    const Config& config, const SequenceInputs<Real>& inputs) {
  return std::make_unique<Reference<Real>>(config, inputs);
}

template std::unique_ptr<Decoder<float>> MakeReference(
    const Config&, const SequenceInputs<float>&);
template std::unique_ptr<Decoder<double>> MakeReference(
    const Config&, const SequenceInputs<double>&);

}  // namespace attnbench::memory
