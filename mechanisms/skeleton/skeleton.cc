#include "mechanisms/skeleton/skeleton.h"

#include <algorithm>

#include "mechanisms/common/joined_rows.h"
#include "mechanisms/description.h"
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
  void Append(const MatrixView<const Real>& rows) override {
    memory_.Append(rows);
  }
  // The memory is complete; until then a Step may have to wait for more.
  void Close() override { closed_ = true; }

  StepResult<Real> Step(std::span<const Real> /*state*/,
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

// n, the number of entries that output i (from 0) is the mean of.
Index MeanLength(Index i, Index memory_length) {
  return std::min(i + 1, memory_length);
}

// Training knows everything beforehand, and asks for the expectation of what
// decoding draws. The running mean draws nothing, so it is its own expectation;
// a mechanism that chooses entries at random weights each by its probability.
// Views without data are not wanted, so they may be left out; all others are
// written whole.
template <class Real>
void MakeExpectation(const Sequence<Real>& sequence,
                     const Expectation<Real>& out) {
  const Kernels<Real>& kernels = BestKernels<Real>();
  const MatrixView<const Real>& h = sequence.memory;
  Buffer<Real> sum(Size(h.cols));
  for (Index i = 0; i < sequence.states.rows; ++i) {
    const Index n = MeanLength(i, h.rows);
    const Real weight = Real{1} / static_cast<Real>(std::max<Index>(n, 1));
    if (out.attention.data != nullptr) {
      const std::span<Real> row = out.attention.Row(i);
      std::fill(std::fill_n(row.begin(), n, weight), row.end(), Real{0});
    }
    if (sequence.contexts.data == nullptr) continue;
    if (i < h.rows) {
      const Real one = 1;
      kernels.add_rows(&one, h.Row(i).data(), h.row_stride, 1, h.cols,
                       sum.data());
    }
    const std::span<Real> context = sequence.contexts.Row(i);
    std::copy(sum.begin(), sum.end(), context.begin());
    kernels.scale(weight, h.cols, context.data());
  }
}

// Goes back from dL/dc(i) to dL/dh(j): entry j has weight 1/n in the outputs
// i = j, j + 1, ..., so the sum grows from the last output to the first, and
// this costs what the expectation does. Inputs that nothing depends on have
// gradient zero. The cotangent of attention goes nowhere here: no input changes
// the weights.
template <class Real>
void MakeGradient(const Sequence<Real>& sequence,
                  const Cotangent<Real>& cotangent,
                  const Gradients<Real>& gradients) {
  ZeroInputGradients(gradients);
  const MatrixView<const Real>& d_contexts = cotangent.contexts;
  if (gradients.memory.data == nullptr || d_contexts.data == nullptr) return;
  const Kernels<Real>& kernels = BestKernels<Real>();
  const Index length = sequence.memory.rows;
  Buffer<Real> sum(Size(d_contexts.cols));
  for (Index i = d_contexts.rows - 1; length > 0 && i >= 0; --i) {
    const Real weight = Real{1} / static_cast<Real>(MeanLength(i, length));
    kernels.add_rows(&weight, d_contexts.Row(i).data(), d_contexts.row_stride,
                     1, d_contexts.cols, sum.data());
    if (i < length) std::ranges::copy(sum, gradients.memory.Row(i).begin());
  }
}

// Says what `list` shows and what a sweep may cross. Declare the axes that
// change your mechanism (energy, end) and options of your own; the harness
// checks their values before they get here.
const Description& About() {
  static const Description about = {
      .name = "skeleton",
      .title = "running mean of the memory",
      .paper = "none: the example to copy",
      .axes = {},
      .modes = {Mode::kDecode, Mode::kExpect, Mode::kGradient},
      .schedules = {Schedule::kOnline},
      .variants = {{"exact", "a sum that grows by an entry an output"},
                   {.name = "reference",
                    .help = "every mean from its definition",
                    .is_reference = true,
                    .counts_memory = false}},
      .options = {},
      // Scores that can be given instead of states, and further arrays that the
      // mechanism reads: name, shape in the letters T, U, d and K, domain. They
      // arrive as SequenceInputs::scores and ::further, and Gradient finds by
      // the same names where their gradients go. Case files, workloads, peers
      // and `verify` take them from here.
      .scores = {},
      .further = {},
      .online = true};
  return about;
}

template <class Real>
class Skeleton final : public Mechanism<Real> {
 public:
  const Description& Describe() const override { return About(); }

  // Throw Unsupported for combinations you cannot do: the cell is skipped, and
  // the text is in the result.
  std::unique_ptr<Decoder<Real>> MakeDecoder(
      const Config& config, const SequenceInputs<Real>& inputs) const override {
    if (VariantOf(About(), config).is_reference)
      return MakeReference(config, inputs);
    return std::make_unique<SkeletonDecoder<Real>>(config, inputs);
  }

  // Leave out both, and the modes from Describe, of a mechanism that does not
  // train.
  void Expect(const Config& config, const Sequence<Real>& sequence,
              const Expectation<Real>& out) const override {
    if (VariantOf(About(), config).is_reference) {
      ReferenceExpect(sequence, out);
    } else {
      MakeExpectation(sequence, out);
    }
  }
  // This makes the expectation too: who times training wants both.
  void Gradient(const Config& config, const Sequence<Real>& sequence,
                const Cotangent<Real>& cotangent, const Expectation<Real>& out,
                const Gradients<Real>& gradients) const override {
    Expect(config, sequence, out);
    if (VariantOf(About(), config).is_reference) {
      ReferenceGradient(sequence, cotangent, gradients);
    } else {
      MakeGradient(sequence, cotangent, gradients);
    }
  }

  // Counts exact operations from what the steps did, never from a clock. Mode
  // expect does what decoding does; the gradient adds a multiplication and an
  // addition an element of every output, and writes as many rows as were read.
  Operations Count(const Config& config,
                   const CountedWork& work) const override {
    const auto d = static_cast<double>(config.dim);
    const auto outputs = static_cast<double>(work.steps.size());
    const double entries =
        std::min(outputs, static_cast<double>(work.memory_length));
    Operations total;
    total.memory_rows = entries;
    total.flops = d * (2 * entries + outputs);
    total.bytes = sizeof(Real) * d * (entries + outputs);
    if (config.mode != Mode::kGradient) return total;
    total.memory_rows *= 2;
    total.flops += d * 2 * outputs;
    total.bytes *= 2;
    return total;
  }
};

}  // namespace

template <class Real>
std::unique_ptr<const Mechanism<Real>> MakeMechanism() {
  return std::make_unique<Skeleton<Real>>();
}

// Every mechanism exists in both precisions; no file names one.
template std::unique_ptr<const Mechanism<float>> MakeMechanism();
template std::unique_ptr<const Mechanism<double>> MakeMechanism();

}  // namespace attnbench::skeleton
