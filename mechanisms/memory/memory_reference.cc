#include <vector>

#include "mechanisms/memory/memory.h"
#include "mechanisms/memory/reference_scores.h"

namespace attnbench::memory {
namespace {

template <class Real>
class Reference final : public Decoder<Real> {
  using Wide = Wider<Real>;

 public:
  Reference(const Config& config, const SequenceInputs<Real>& inputs)
      : K_(NumContexts(config)), scores_(config, inputs) {}

  void Append(const MatrixView<const Real>& rows) override {
    for (Index t = 0; t < rows.rows; ++t) {
      h_.push_back(rows.Row(t));
    }
  }

  void Close() override {
    T_ = static_cast<Index>(h_.size());
    scores_.SetLength(T_);
    for (Index t = 0; t < T_; ++t) {
      alpha_.push_back(scores_.Alpha(t, h_[Size(t)]));
    }
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

  StepResult<Real> Step(std::span<const Real> s, std::span<Real> c) override {
    if (!closed_) return {.need_memory = true};
    const std::vector<Wide> beta = scores_.Beta(i_, s);
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
  const Index K_;
  ReferenceScores<Real> scores_;
  Index T_ = 0;
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
