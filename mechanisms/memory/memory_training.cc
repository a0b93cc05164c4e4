#include "mechanisms/memory/memory_training.h"

#include <algorithm>

#include "mechanisms/common/eigen_views.h"
#include "mechanisms/memory/position_encoding.h"
#include "mechanisms/memory/scoring.h"

namespace attnbench::memory {
namespace {

// A matrix of our own, without values until somebody writes it.
template <class Real>
struct Table {
  void Resize(Index num_rows, Index num_cols) {
    rows = num_rows;
    cols = num_cols;
    values.resize(Size(rows * cols));
  }
  void ResizeToZeros(Index num_rows, Index num_cols) {
    Resize(num_rows, num_cols);
    std::ranges::fill(values, Real{0});
  }
  MatrixView<Real> View() { return {values.data(), rows, cols}; }
  MatrixMap<Real> map() { return Map(View()); }

  UnsetBuffer<Real> values;
  Index rows = 0;
  Index cols = 0;
};

// Does both directions of one sequence; call Backward after Forward.
template <class Real>
class Training {
 public:
  Training(const Config& config, const Sequence<Real>& sequence)
      : num_contexts_(NumContexts(config)),
        dim_(config.dim),
        given_(FindGiven(sequence.inputs, NumContexts(config))),
        score_encoder_(config.Option<std::string>("encoder_scoring")),
        score_decoder_(config.Option<std::string>("decoder_scoring")),
        encoding_(config),
        memory_(sequence.memory),
        states_(sequence.states) {
    if (given_) return;
    const auto& source = *sequence.inputs.parameters;
    encoder_ = source.Matrix(kEncoderParameter, num_contexts_, dim_);
    decoder_ = source.Matrix(kDecoderParameter, num_contexts_, dim_);
  }

  void Forward(const Expectation<Real>& out, const MatrixView<Real>& contexts) {
    MakeScores();
    if (out.attention.data != nullptr) {
      Map(out.attention).noalias() = beta_.map() * alpha_.map().transpose();
    }
    if (contexts.data == nullptr) return;
    MakeContexts();
    Map(contexts).noalias() = beta_.map() * contexts_.map();
  }

  void Backward(const Cotangent<Real>& cotangent,
                const Gradients<Real>& gradients) {
    d_alpha_.ResizeToZeros(alpha_.rows, num_contexts_);
    d_beta_.ResizeToZeros(beta_.rows, num_contexts_);
    ZeroInputGradients(gradients);
    if (cotangent.attention.data != nullptr) {
      d_alpha_.map().noalias() +=
          Map(cotangent.attention).transpose() * beta_.map();
      d_beta_.map().noalias() += Map(cotangent.attention) * alpha_.map();
    }
    if (cotangent.contexts.data != nullptr) {
      BackThroughContexts(cotangent.contexts, gradients.memory);
    }
    BackThroughScores();
    Hand(gradients);
  }

 private:
  // alpha [T, K], eqs 5 and 9, and beta [U, K], eq 7.
  void MakeScores() {
    alpha_.Resize(given_ ? given_->encoder.rows : memory_.rows, num_contexts_);
    beta_.Resize(given_ ? given_->decoder.rows : states_.rows, num_contexts_);
    if (!given_) {
      alpha_.map().noalias() = Map(memory_) * Map(encoder_).transpose();
      beta_.map().noalias() = Map(states_) * Map(decoder_).transpose();
    }
    encoding_.SetLength(alpha_.rows);
    for (Index t = 0; t < alpha_.rows; ++t) {
      Real* const alpha = alpha_.View().Row(t).data();
      const Real* scores = given_ ? given_->encoder.Row(t).data() : alpha;
      if (encoding_.inside()) {
        if (given_) std::copy_n(scores, num_contexts_, alpha);
        encoding_.Apply(t, alpha);
        scores = alpha;
      }
      score_encoder_(num_contexts_, scores, alpha);
    }
    for (Index i = 0; i < beta_.rows; ++i) {
      Real* const beta = beta_.View().Row(i).data();
      score_decoder_(num_contexts_,
                     given_ ? given_->decoder.Row(i).data() : beta, beta);
    }
    if (!encoding_.outside()) return;
    scored_ = alpha_;
    for (Index t = 0; t < alpha_.rows; ++t) {
      encoding_.Apply(t, alpha_.View().Row(t).data());
    }
  }

  // C = alpha^T H, eq 4, once.
  void MakeContexts() {
    if (contexts_.rows > 0) return;
    ATTN_CHECK_EQ(memory_.rows, alpha_.rows);
    contexts_.Resize(num_contexts_, memory_.cols);
    contexts_.map().noalias() = alpha_.map().transpose() * Map(memory_);
  }

  // contexts = beta C with C = alpha^T H.
  void BackThroughContexts(const MatrixView<const Real>& cotangent,
                           const MatrixView<Real>& d_memory) {
    MakeContexts();
    d_beta_.map().noalias() += Map(cotangent) * contexts_.map().transpose();
    Table<Real> d_contexts;
    d_contexts.Resize(num_contexts_, memory_.cols);
    d_contexts.map().noalias() = beta_.map().transpose() * Map(cotangent);
    d_alpha_.map().noalias() += Map(memory_) * d_contexts.map().transpose();
    if (d_memory.data != nullptr) {
      Map(d_memory).noalias() += alpha_.map() * d_contexts.map();
    }
  }

  // d_alpha_ and d_beta_ become gradients of the scores.
  void BackThroughScores() {
    Table<Real>& scored = encoding_.outside() ? scored_ : alpha_;
    for (Index t = 0; t < alpha_.rows; ++t) {
      Real* const gradient = d_alpha_.View().Row(t).data();
      if (encoding_.outside()) encoding_.Apply(t, gradient);
      score_encoder_.Back(num_contexts_, scored.View().Row(t).data(), gradient);
      if (encoding_.inside()) encoding_.Apply(t, gradient);
    }
    for (Index i = 0; i < beta_.rows; ++i) {
      score_decoder_.Back(num_contexts_, beta_.View().Row(i).data(),
                          d_beta_.View().Row(i).data());
    }
  }

  // Goes from the scores to what they were made of.
  void Hand(const Gradients<Real>& out) {
    const MatrixView<Real> d_encoder = out.scores.Find(kEncoderScores);
    if (d_encoder.data != nullptr) Map(d_encoder) = d_alpha_.map();
    const MatrixView<Real> d_decoder = out.scores.Find(kDecoderScores);
    if (d_decoder.data != nullptr) Map(d_decoder) = d_beta_.map();
    if (given_) return;
    if (out.memory.data != nullptr) {
      Map(out.memory).noalias() += d_alpha_.map() * Map(encoder_);
    }
    if (out.states.data != nullptr) {
      Map(out.states).noalias() = d_beta_.map() * Map(decoder_);
    }
    if (out.parameters == nullptr) return;
    const auto parameter = [&](const char* name) {
      return Map(out.parameters->Matrix(name, num_contexts_, dim_));
    };
    parameter(kEncoderParameter).noalias() +=
        d_alpha_.map().transpose() * Map(memory_);
    parameter(kDecoderParameter).noalias() +=
        d_beta_.map().transpose() * Map(states_);
  }

  const Index num_contexts_;
  const Index dim_;
  const std::optional<GivenScores<Real>> given_;
  const Scoring<Real> score_encoder_;
  const Scoring<Real> score_decoder_;
  PositionEncoding encoding_;
  const MatrixView<const Real> memory_;
  const MatrixView<const Real> states_;
  MatrixView<const Real> encoder_;  // W_alpha [K, d]
  MatrixView<const Real> decoder_;  // W_beta [K, d]
  Table<Real> alpha_;               // [T, K]
  Table<Real> scored_;              // alpha before L, where L is outside
  Table<Real> beta_;                // [U, K]
  Table<Real> contexts_;            // C [K, d], once made
  Table<Real> d_alpha_;
  Table<Real> d_beta_;
};

}  // namespace

template <class Real>
void Expect(const Config& config, const Sequence<Real>& sequence,
            const Expectation<Real>& out) {
  Training<Real>(config, sequence).Forward(out, sequence.contexts);
}

template <class Real>
void Gradient(const Config& config, const Sequence<Real>& sequence,
              const Cotangent<Real>& cotangent, const Expectation<Real>& out,
              const Gradients<Real>& gradients) {
  Training<Real> training(config, sequence);
  training.Forward(out, sequence.contexts);
  training.Backward(cotangent, gradients);
}

template <class Real>
Operations CountTraining(const Config& config, const CountedWork& work) {
  const auto T = static_cast<double>(work.memory_length);
  const auto U = static_cast<double>(work.steps.size());
  const auto K = static_cast<double>(NumContexts(config));
  const auto d = static_cast<double>(config.dim);
  const bool gradient = config.mode == Mode::kGradient;
  const bool encoded =
      config.Option<std::string>("position_encoding") != "none";
  // A score takes a comparison, a difference, an exp, a sum and a division, and
  // back a product, a sum, a difference and a product. An encoding multiplies
  // once each way.
  Operations total;
  total.flops = 5 * K * (T + U) + (encoded ? K * T : 0);
  if (gradient) total.flops += 4 * K * (T + U) + (encoded ? K * T : 0);
  const double products = gradient ? 6 : 2;  // two more for each one back
  // The gradient reads all rows once more, and writes as many.
  const double passes = gradient ? 3 : 1;
  double rows_of_d = 0;
  if (!work.scores_given) {
    total.flops += products * K * d * (T + U);
    rows_of_d += passes * (K * (T + U) + U);
  } else {
    total.bytes += sizeof(Real) * (gradient ? 2 : 1) * K * (T + U);
  }
  if (work.attention_only) {  // beta alpha^T
    total.flops += products * U * T * K;
    total.bytes += sizeof(Real) * (gradient ? 2 : 1) * U * T;
  } else {
    total.flops += products * K * d * (T + U);
    total.memory_rows = passes * (T + U * K);
    rows_of_d += total.memory_rows + passes * (2 * K + U);
  }
  total.bytes += sizeof(Real) * d * rows_of_d;
  return total;
}

#define ATTNBENCH_INSTANTIATE(Real)                                        \
  template void Expect(const Config&, const Sequence<Real>&,               \
                       const Expectation<Real>&);                          \
  template void Gradient(const Config&, const Sequence<Real>&,             \
                         const Cotangent<Real>&, const Expectation<Real>&, \
                         const Gradients<Real>&);                          \
  template Operations CountTraining<Real>(const Config&, const CountedWork&);
ATTNBENCH_INSTANTIATE(float)
ATTNBENCH_INSTANTIATE(double)
#undef ATTNBENCH_INSTANTIATE

}  // namespace attnbench::memory
