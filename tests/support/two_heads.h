// A mechanism of two heads, for tests of what must see both. Each is a decoder
// of a mechanism with one; the second gets the negated state. A context is the
// mean of the two.
#ifndef ATTNBENCH_TESTS_SUPPORT_TWO_HEADS_H_
#define ATTNBENCH_TESTS_SUPPORT_TWO_HEADS_H_

#include <memory>
#include <utility>
#include <vector>

#include "mechanisms/follow.h"

namespace attnbench::testing {

template <class Real>
class TwoHeadedDecoder final : public Decoder<Real>, public Follower {
 public:
  TwoHeadedDecoder(std::unique_ptr<Decoder<Real>> first,
                   std::unique_ptr<Decoder<Real>> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  void Append(const MatrixView<const Real>& memory) override {
    first_->Append(memory);
    second_->Append(memory);
  }
  void Close() override {
    first_->Close();
    second_->Close();
  }
  void Follow(std::span<const Index> positions) override {
    for (std::size_t n = 0; n < positions.size(); ++n) {
      positions_[n % 2].push_back(positions[n]);
    }
    attnbench::Follow(*first_, positions_[0]);
    attnbench::Follow(*second_, positions_[1]);
  }
  StepResult<Real> Step(std::span<const Real> state,
                        std::span<Real> context) override {
    if (!first_is_made_) {
      first_context_.resize(context.size());
      first_result_ = first_->Step(state, first_context_);
      if (first_result_.need_memory) return first_result_;
      first_is_made_ = true;
    }
    second_result_ = second_->Step(Negated(state), context);
    if (second_result_.need_memory) return second_result_;
    first_is_made_ = false;
    AddFirst(context);
    first_result_.next_head = &second_result_;
    return first_result_;
  }
  // A hypothesis is the number of its row of places_.
  void StepBeam(std::span<const Real> states, std::span<Hypothesis> hypotheses,
                std::span<Real> contexts,
                std::span<StepResult<Real>> results) override {
    std::vector<Hypothesis> first, second;
    for (const Hypothesis& hypothesis : hypotheses) {
      const auto& place = places_[hypothesis.Get<std::size_t>()];
      first.push_back(place.first);
      second.push_back(place.second);
    }
    first_context_.resize(contexts.size());
    second_results_.resize(results.size());
    first_->StepBeam(states, first, first_context_, results);
    second_->StepBeam(Negated(states), second, contexts, second_results_);
    AddFirst(contexts);
    for (std::size_t r = 0; r < results.size(); ++r) {
      results[r].next_head = &second_results_[r];
      hypotheses[r].Set(places_.size());
      places_.emplace_back(first[r], second[r]);
    }
  }

 private:
  std::span<const Real> Negated(std::span<const Real> states) {
    negated_.assign(states.begin(), states.end());
    for (Real& element : negated_) element = -element;
    return negated_;
  }
  void AddFirst(std::span<Real> context) const {
    for (std::size_t k = 0; k < context.size(); ++k) {
      context[k] = (first_context_[k] + context[k]) / 2;
    }
  }

  const std::unique_ptr<Decoder<Real>> first_, second_;
  StepResult<Real> first_result_, second_result_;
  bool first_is_made_ = false;
  Buffer<Real> first_context_, negated_;
  std::vector<Index> positions_[2];
  std::vector<StepResult<Real>> second_results_;
  std::vector<std::pair<Hypothesis, Hypothesis>> places_{1};
};

template <class Real>
class TwoHeads final : public Mechanism<Real> {
 public:
  explicit TwoHeads(std::unique_ptr<const Mechanism<Real>> head)
      : head_(std::move(head)) {
    about_ = head_->Describe();
    about_.name = "two_heads";
    about_.modes = {Mode::kDecode};
  }

  const Description& Describe() const override { return about_; }
  std::unique_ptr<Decoder<Real>> MakeDecoder(
      const Config& config, const SequenceInputs<Real>& inputs) const override {
    return std::make_unique<TwoHeadedDecoder<Real>>(
        head_->MakeDecoder(config, inputs), head_->MakeDecoder(config, inputs));
  }
  Operations Count(const Config& config,
                   const CountedWork& work) const override {
    std::vector<StepTrace> of_head[2];
    for (const StepTrace& step : work.steps) {
      of_head[step.head].push_back(step);
    }
    Operations total;
    for (const std::vector<StepTrace>& steps : of_head) {
      CountedWork half = work;
      half.steps = steps;
      const Operations one = head_->Count(config, half);
      total.energies += one.energies;
      total.chunk_energies += one.chunk_energies;
      total.memory_rows += one.memory_rows;
      total.flops += one.flops;
      total.bytes += one.bytes;
    }
    return total;
  }

 private:
  const std::unique_ptr<const Mechanism<Real>> head_;
  Description about_;
};

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_TWO_HEADS_H_
