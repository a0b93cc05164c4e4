// A mechanism with a defect that a test chooses, and its reference. Its context
// is the mean of the memory plus the state. Tests see with it what the harness
// does with mechanisms that are wrong or fail.
#ifndef ATTNBENCH_TESTS_HARNESS_MEASURE_FAKE_MECHANISM_H_
#define ATTNBENCH_TESTS_HARNESS_MEASURE_FAKE_MECHANISM_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>

#include "mechanisms/common/joined_rows.h"
#include "mechanisms/mechanism.h"

namespace attnbench::testing {

// The places where a defect may strike. They are called for the variant `exact`
// only, with the number of calls of Step so far over all decoders.
struct Defects {
  std::function<void(int call, std::span<float> context,
                     StepResult<float>& result)>
      in_step = [](int, std::span<float>, StepResult<float>&) {};
  std::function<void()> in_append = [] {};
  std::function<void()> in_make = [] {};
  // It makes an output once this many entries are there, and not only once the
  // memory is closed; then it reads as many that are still to come.
  Index waits_for = std::numeric_limits<Index>::max();
  Index reads_ahead = 0;
  // It and its reference read no more entries than these, and the reference
  // waits for no more.
  Index needs = std::numeric_limits<Index>::max();
  // Its variant says that it waits for the end of the memory.
  bool says_it_waits = false;
  // It asks for more when the memory is closed.
  bool never_ends = false;
};

class FakeMechanism final : public Mechanism<float> {
 public:
  explicit FakeMechanism(Defects defects = {}) : defects_(std::move(defects)) {
    about_.variants[0].waits_for_end = defects_.says_it_waits;
  }

  const Description& Describe() const override { return about_; }
  std::unique_ptr<Decoder<float>> MakeDecoder(
      const Config& config,
      const SequenceInputs<float>& inputs) const override {
    EXPECT_TRUE(inputs.further.empty()) << "it declares none";
    const bool is_reference = config.variant == "reference";
    if (!is_reference) defects_.in_make();
    return std::make_unique<FakeDecoder>(*this, is_reference);
  }
  Operations Count(const Config& config,
                   const CountedWork& work) const override {
    Operations operations;
    operations.memory_rows = static_cast<double>(
        work.memory_length * static_cast<Index>(work.steps.size()));
    operations.flops = operations.memory_rows * static_cast<double>(config.dim);
    return operations;
  }
  int num_steps() const { return num_steps_; }

 private:
  class FakeDecoder final : public Decoder<float> {
   public:
    FakeDecoder(const FakeMechanism& owner, bool is_reference)
        : owner_(owner), is_reference_(is_reference) {}
    void Append(const MatrixView<const float>& rows) override {
      if (!is_reference_) owner_.defects_.in_append();
      memory_.Append(rows);
      scratch_.resize(Size(rows.cols));  // counted as peak memory
    }
    void Close() override { closed_ = true; }
    StepResult<float> Step(std::span<const float> state,
                           std::span<float> context) override {
      MatrixView<const float> read = memory_.all();
      const Defects& defects = owner_.defects_;
      if (!closed_) {
        const Index wanted = is_reference_ ? defects.needs : defects.waits_for;
        if (read.rows < wanted) return {.need_memory = true};
        read.rows += is_reference_ ? 0 : defects.reads_ahead;
      } else if (defects.never_ends) {
        return {.need_memory = true};
      }
      read.rows = std::min(read.rows, defects.needs);
      for (std::size_t k = 0; k < context.size(); ++k) {
        float sum = 0;
        for (Index j = 0; j < read.rows; ++j) sum += read.Row(j)[k];
        context[k] = sum / static_cast<float>(read.rows) + state[k];
      }
      weights_.assign(Size(read.rows), 1.0F / static_cast<float>(read.rows));
      StepResult<float> result{.end = read.rows, .weights = weights_};
      if (!is_reference_) {
        owner_.defects_.in_step(owner_.num_steps_++, context, result);
      }
      return result;
    }

   private:
    const FakeMechanism& owner_;
    const bool is_reference_;
    JoinedRows<float> memory_;
    bool closed_ = false;
    Buffer<float> scratch_;
    std::vector<float> weights_;
  };

  const Defects defects_;
  Description about_ = {.name = "fake",
                        .title = "fake",
                        .paper = "none",
                        .axes = {},
                        .modes = {Mode::kDecode},
                        .schedules = {Schedule::kOnline},
                        .variants = {{"exact", ""}, {"reference", ""}},
                        .options = {}};
  mutable std::atomic<int> num_steps_ = 0;
};

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_HARNESS_MEASURE_FAKE_MECHANISM_H_
