// MAD algorithm 1 and the first half of MoChA algorithm 1, line by line, in a
// wider type: the scan that the references of monotonic, mocha and matcha start
// from. Nothing is shared with hard_mechanism.cc, which it is the oracle of.
#ifndef ATTNBENCH_MECHANISMS_MONOTONIC_REFERENCE_SCAN_H_
#define ATTNBENCH_MECHANISMS_MONOTONIC_REFERENCE_SCAN_H_

#include "mechanisms/follow.h"
#include "mechanisms/soft/reference_softmax.h"

namespace attnbench {

template <class Real>
class ReferenceScan {
 public:
  ReferenceScan(const Config& config, const SequenceInputs<Real>& inputs);

  // Does what Follower::Follow says.
  void Follow(std::span<const Index> positions) { follow_ = positions; }

  enum class Outcome { kChosen, kNone, kNeedMemory };
  // Makes output i with state s(i-1). Once the outcome is not kNeedMemory, t(),
  // last_t() and inspected() are those of that output.
  Outcome Next(const ReferenceMemory<Real>& memory, std::span<const Real> s);

  Index i() const { return i_; }            // the output just made, from 0
  Index t() const { return t_; }            // the entry chosen
  Index last_t() const { return last_t_; }  // t(i-1), where the scan began
  Index inspected() const { return inspected_; }

 private:
  bool Chooses(const BoundedEnergy<Real>& e, Index j) const;
  bool Sample(const BoundedEnergy<Real>& e, Index j) const;

  const Config config_;
  const SequenceInputs<Real> inputs_;
  const ReferenceEnergy<Real> a_;
  std::span<const Index> follow_;
  Index i_ = -1;
  Index j_ = 0;
  Index t_ = 0;
  Index last_t_ = 0;
  Index inspected_ = 0;
  bool resuming_ = false;
  bool absorbed_ = false;
};

// A reference decoder that is the scan and what an output does with its choice.
template <class Real>
class HardReference : public Decoder<Real>, public Follower {
 public:
  HardReference(const Config& config, const SequenceInputs<Real>& inputs)
      : scan_(config, inputs) {}

  void Append(const MatrixView<const Real>& rows) override {
    memory_.Append(rows);
  }
  void Close() override { memory_.closed = true; }
  void Follow(std::span<const Index> positions) override {
    scan_.Follow(positions);
  }
  StepResult<Real> Step(std::span<const Real> s, std::span<Real> c) override;

 protected:
  // Writes c(i) for the choice t(i) = scan_.t() and weights_; returns v, the
  // first entry weighted.
  virtual Index Attend(std::span<const Real> s, std::span<Real> c) = 0;

  ReferenceMemory<Real> memory_;
  ReferenceScan<Real> scan_;
  std::vector<Real> weights_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_MONOTONIC_REFERENCE_SCAN_H_
