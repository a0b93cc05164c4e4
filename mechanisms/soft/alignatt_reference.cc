// The policy of alignatt.h as it reads there: one entry more, and the whole
// row of weights looked at again.
#include <algorithm>
#include <cmath>

#include "mechanisms/follow.h"
#include "mechanisms/soft/alignatt.h"
#include "mechanisms/soft/reference_softmax.h"

namespace attnbench::soft {
namespace {

template <class Real>
class Reference final : public Decoder<Real>, public Follower {
 public:
  Reference(const Config& config, const SequenceInputs<Real>& inputs)
      : f_(config.Option<Index>("f")),
        a_(config, inputs, EnergyRole::kAttention) {}

  void Append(const MatrixView<const Real>& rows) override {
    memory_.Append(rows);
  }
  void Close() override { memory_.closed = true; }
  void Follow(std::span<const Index> positions) override {
    follow_ = positions;
  }

  StepResult<Real> Step(std::span<const Real> s, std::span<Real> c) override {
    while (!IsEmitted(s)) {
      if (n_ < memory_.T()) {
        ++n_;
      } else if (memory_.closed) {
        break;
      } else {
        return {.need_memory = true};
      }
    }
    alpha_ = ReferenceSoftmax(a_, memory_, i_++, 0, n_, s, c);
    e_.clear();
    return {.end = n_, .inspected = n_, .weights = alpha_};
  }

 private:
  // The largest of some energies, as far as rounding in Real lets one tell.
  struct Largest {
    Wider<Real> value = -INFINITY;
    Wider<Real> least = -INFINITY;
    Wider<Real> most = -INFINITY;

    void Add(const BoundedEnergy<Real>& e) {
      value = std::max(value, e.value);
      least = std::max(least, e.value - e.rounding);
      most = std::max(most, e.value + e.rounding);
    }
  };

  // argmax over j < n of e(i, j) < n - f. Weights grow with energies.
  bool IsEmitted(std::span<const Real> s) {
    while (std::ssize(e_) < n_) {
      const Index j = std::ssize(e_);
      e_.push_back(a_(i_, j, s, memory_.h[Size(j)]));
    }
    if (n_ <= f_) return false;
    Largest old, last;
    for (Index j = 0; j < n_; ++j) {
      (j < n_ - f_ ? old : last).Add(e_[Size(j)]);
    }
    const bool is_certain = old.least >= last.most || old.most < last.least;
    if (!is_certain && Size(i_) < follow_.size()) {
      return follow_[Size(i_)] == n_ - 1;
    }
    return old.value >= last.value;
  }

  const Index f_;
  const ReferenceEnergy<Real> a_;
  ReferenceMemory<Real> memory_;
  std::vector<BoundedEnergy<Real>> e_;  // of this output, for j < n
  std::vector<Real> alpha_;
  std::span<const Index> follow_;
  Index i_ = 0;
  Index n_ = 0;
};

}  // namespace

template <class Real>
std::unique_ptr<Decoder<Real>> MakeAlignAttReference(
    const Config& config, const SequenceInputs<Real>& inputs) {
  return std::make_unique<Reference<Real>>(config, inputs);
}

template std::unique_ptr<Decoder<float>> MakeAlignAttReference(
    const Config&, const SequenceInputs<float>&);
template std::unique_ptr<Decoder<double>> MakeAlignAttReference(
    const Config&, const SequenceInputs<double>&);

}  // namespace attnbench::soft
