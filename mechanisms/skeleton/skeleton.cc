#include "mechanisms/skeleton/skeleton.h"

#include <algorithm>

#include "mechanisms/common/joined_rows.h"
#include "mechanisms/kernels/kernels.h"

namespace attnbench::skeleton {
namespace {

// Decodes one sequence. Everything that it allocates is a Buffer, so that the
// harness can count it; everything that is done for each entry and element is
// a kernel, so that it runs at the best SIMD level of the machine.
template <class Real>
class SkeletonDecoder final : public Decoder<Real> {
 public:
  SkeletonDecoder(const Config& config, const SequenceInputs<Real>& /*inputs*/)
      : kernels_(BestKernels<Real>()),
        want_weights_(config.want_weights),
        sum_(Size(config.dim)) {}

  // Keep views of the rows, not copies. Keys and the like are made here.
  void Append(const MemoryRows<Real>& rows) override {
    memory_.Append(rows.memory);
  }
  // The memory is complete; until then a Step may have to wait for more.
  void Close() override { closed_ = true; }

  StepResult<Real> Step(const DecoderState<Real>& /*state*/,
                        std::span<Real> context) override {
    const MatrixView<const Real>& h = memory_.all();
    // Entry i is not there yet. The caller appends and calls Step again, so
    // nothing may have changed before this line.
    if (h.rows <= output_ && !closed_) return {.need_memory = true};
    if (output_ < h.rows) {
      const Real one = 1;
      kernels_.add_rows(&one, h.Row(output_).data(), h.row_stride, 1, h.cols,
                        sum_.data());
    }
    ++output_;
    const Index n = std::min(output_, h.rows);
    std::copy(sum_.begin(), sum_.end(), context.begin());
    const Real weight = Real{1} / static_cast<Real>(std::max<Index>(n, 1));
    kernels_.scale(weight, h.cols, context.data());
    if (want_weights_) weights_.assign(Size(n), weight);
    return {.end = n, .weights = weights_};
  }

 private:
  const Kernels<Real>& kernels_;
  const bool want_weights_;
  JoinedRows<Real> memory_;
  Buffer<Real> sum_;  // of the entries so far, [d]
  Buffer<Real> weights_;
  Index output_ = 0;
  bool closed_ = false;
};

template <class Real>
class Skeleton final : public Mechanism<Real> {
 public:
  // What `list` shows and what a sweep may cross. Declare the axes that change
  // your mechanism (chunk_width, num_contexts, energy, end) and options of your
  // own; the harness checks their values before they get here.
  Description Describe() const override {
    return {
        .name = "skeleton",
        .title = "running mean of the memory",
        .paper = "none: the example to copy",
        .axes = {},
        .modes = {"decode"},
        .schedules = {"online"},
        .variants = {{"exact", "a sum that grows by an entry an output"},
                     {"reference", "every mean from its definition", false}},
        .options = {},
        .online = true};
  }

  // Throw Unsupported for combinations you cannot do: the cell is skipped, and
  // the text is in the result.
  std::unique_ptr<Decoder<Real>> MakeDecoder(
      const Config& config, const SequenceInputs<Real>& inputs) const override {
    if (config.variant == "reference") return MakeReference(config, inputs);
    return std::make_unique<SkeletonDecoder<Real>>(config, inputs);
  }

  // Exact operations from what the steps did, never from a clock.
  Operations Count(const Config& config, Index memory_length,
                   std::span<const StepTrace> steps) const override {
    const auto d = static_cast<double>(config.dim);
    const auto outputs = static_cast<double>(steps.size());
    const double entries =
        std::min(outputs, static_cast<double>(memory_length));
    Operations total;
    total.memory_rows = entries;
    total.flops = d * (2 * entries + outputs);
    total.bytes = sizeof(Real) * d * (entries + outputs);
    return total;
  }
};

}  // namespace

template <class Real>
std::unique_ptr<const Mechanism<Real>> MakeMechanism() {
  return std::make_unique<Skeleton<Real>>();
}

// Both precisions; no file names one.
template std::unique_ptr<const Mechanism<float>> MakeMechanism();
template std::unique_ptr<const Mechanism<double>> MakeMechanism();

}  // namespace attnbench::skeleton
