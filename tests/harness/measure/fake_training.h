// A mechanism that trains, with a defect that a test chooses. Tests see with it
// what the harness does with wrong training:
//
//   x(i, j)         given energies, or fake.w s(i) . h(j)
//   attention(i, j) = x(i, j) / T
//   c(i)            = sum over j of attention(i, j) h(j)
#ifndef ATTNBENCH_TESTS_HARNESS_MEASURE_FAKE_TRAINING_H_
#define ATTNBENCH_TESTS_HARNESS_MEASURE_FAKE_TRAINING_H_

#include <functional>
#include <string>
#include <vector>

#include "mechanisms/train.h"

namespace attnbench::testing {

// This is called after every call of a variant other than `reference`, with the
// number of such calls so far.
using TrainingDefect =
    std::function<void(int call, const TrainingSequence<float>& made)>;

class FakeTraining final : public Mechanism<float> {
 public:
  explicit FakeTraining(
      TrainingDefect defect = [](int, const TrainingSequence<float>&) {},
      std::string left_out = "")
      : defect_(std::move(defect)), left_out_(std::move(left_out)) {}

  const Description& Describe() const override {
    static const Description about = {
        .name = "fake",
        .title = "fake",
        .paper = "none",
        .axes = {},
        .modes = {Mode::kExpect, Mode::kGradient},
        .schedules = {},
        .variants = {{"exact", ""},
                     {"reference", ""},
                     {.name = "published", .help = "", .approximates = true},
                     {.name = "bounded", .help = "", .bound = "bound"}},
        .options = {{.name = "bound", .default_value = 0.01}},
        .scores = {{{.name = "energies", .shape = "UT"}}}};
    return about;
  }
  std::unique_ptr<Decoder<float>> MakeDecoder(
      const Config& /*config*/,
      const SequenceInputs<float>& /*inputs*/) const override {
    throw Unsupported("does not decode");
  }
  void Expect(const Config& config, const Sequence<float>& sequence,
              const Expectation<float>& out) const override {
    const Buffer<float> scratch(Size(sequence.memory.cols));
    Forward(sequence, out);
    if (config.variant != "reference") {
      defect_(num_calls_++, {sequence, out, {}, {}});
    }
  }
  void Gradient(const Config& config, const Sequence<float>& sequence,
                const Cotangent<float>& cotangent,
                const Expectation<float>& out,
                const Gradients<float>& gradients) const override {
    Forward(sequence, out);
    Backward(sequence, cotangent, gradients, config.variant == "reference");
    if (config.variant != "reference") {
      defect_(num_calls_++, {sequence, out, cotangent, gradients});
    }
  }
  Operations Count(const Config& /*config*/,
                   const CountedWork& work) const override {
    Operations operations;
    operations.energies = static_cast<double>(work.memory_length) *
                          static_cast<double>(work.steps.size());
    return operations;
  }
  int num_calls() const { return num_calls_; }

 private:
  static Index NumOutputs(const Sequence<float>& sequence) {
    const auto energies = sequence.inputs.scores.Find("energies");
    return energies.data != nullptr ? energies.rows : sequence.states.rows;
  }
  static double W(const Sequence<float>& sequence) {
    return sequence.inputs.parameters->Matrix("fake.w", 1, 1)(0, 0);
  }
  static double Product(std::span<const float> a, std::span<const float> b) {
    double sum = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      sum += static_cast<double>(a[k]) * static_cast<double>(b[k]);
    }
    return sum;
  }
  static double Attention(const Sequence<float>& sequence, Index i, Index j) {
    const MatrixView<const float>& h = sequence.memory;
    const auto energies = sequence.inputs.scores.Find("energies");
    const double x =
        energies.data != nullptr
            ? static_cast<double>(energies(i, j))
            : W(sequence) * Product(sequence.states.Row(i), h.Row(j));
    return x / static_cast<double>(h.rows);
  }

  void Forward(const Sequence<float>& sequence,
               const Expectation<float>& out) const {
    const MatrixView<const float>& h = sequence.memory;
    for (Index i = 0; i < NumOutputs(sequence); ++i) {
      for (Index j = 0; out.attention.data != nullptr && j < h.rows; ++j) {
        out.attention(i, j) = static_cast<float>(Attention(sequence, i, j));
      }
      if (sequence.contexts.data == nullptr) continue;
      for (Index k = 0; k < h.cols; ++k) {
        double sum = 0;
        for (Index j = 0; j < h.rows; ++j) {
          sum += Attention(sequence, i, j) * static_cast<double>(h(j, k));
        }
        sequence.contexts(i, k) = static_cast<float>(sum);
      }
    }
  }

  // Writes every array of `gradients` that is asked for, except the one left
  // out.
  void Backward(const Sequence<float>& sequence,
                const Cotangent<float>& cotangent,
                const Gradients<float>& gradients, bool is_reference) const {
    const MatrixView<const float>& h = sequence.memory;
    const auto wants = [&](const char* name, const MatrixView<float>& array) {
      return array.data != nullptr && (is_reference || left_out_ != name);
    };
    const auto zero = [](const MatrixView<float>& array) {
      std::fill_n(array.data, array.rows * array.cols, 0.0F);
    };
    const MatrixView<float> d_energies = gradients.scores.Find("energies");
    const bool wants_states = wants("states", gradients.states);
    const bool wants_memory = wants("memory", gradients.memory);
    if (wants_states) zero(gradients.states);
    if (wants_memory) zero(gradients.memory);
    double d_w = 0;
    for (Index i = 0; i < NumOutputs(sequence); ++i) {
      for (Index j = 0; j < h.rows; ++j) {
        const double d_attention =
            cotangent.attention.data != nullptr
                ? static_cast<double>(cotangent.attention(i, j))
                : Product(cotangent.contexts.Row(i), h.Row(j));
        const double d_x = d_attention / static_cast<double>(h.rows);
        if (wants("energies", d_energies)) {
          d_energies(i, j) = static_cast<float>(d_x);
        }
        for (Index k = 0; wants_states && k < h.cols; ++k) {
          gradients.states(i, k) +=
              static_cast<float>(d_x * W(sequence)) * h(j, k);
        }
        for (Index k = 0; wants_memory && k < h.cols; ++k) {
          gradients.memory(j, k) +=
              static_cast<float>(Attention(sequence, i, j)) *
              cotangent.contexts(i, k);
          if (sequence.states.data == nullptr) continue;
          gradients.memory(j, k) +=
              static_cast<float>(d_x * W(sequence)) * sequence.states(i, k);
        }
        if (sequence.states.data != nullptr) {
          d_w += d_x * Product(sequence.states.Row(i), h.Row(j));
        }
      }
    }
    if (gradients.parameters != nullptr &&
        (is_reference || left_out_ != "fake.w")) {
      gradients.parameters->Matrix("fake.w", 1, 1)(0, 0) +=
          static_cast<float>(d_w);
    }
  }

  const TrainingDefect defect_;
  const std::string left_out_;
  mutable int num_calls_ = 0;
};

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_HARNESS_MEASURE_FAKE_TRAINING_H_
