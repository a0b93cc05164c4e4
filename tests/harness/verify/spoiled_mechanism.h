// A registered mechanism with a defect that a test chooses, in training or
// decoding. Tests see with it whether `verify` notices that the two differ.
#ifndef ATTNBENCH_TESTS_HARNESS_VERIFY_SPOILED_MECHANISM_H_
#define ATTNBENCH_TESTS_HARNESS_VERIFY_SPOILED_MECHANISM_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "harness/verify/cases.h"
#include "mechanisms/registry.h"

namespace attnbench::testing {

// Each function is called with the right value and may change it.
struct Spoil {
  std::function<void(Config&)> config = [](Config&) {};  // of training only
  std::function<void(const Expectation<double>&)> expectation =
      [](const Expectation<double>&) {};
  std::function<void(const Gradients<double>&)> gradients =
      [](const Gradients<double>&) {};
  // Changes output i of a decoder.
  std::function<void(Index i, StepResult<double>&)> step =
      [](Index, StepResult<double>&) {};
};

class SpoiledDecoder final : public Decoder<double> {
 public:
  SpoiledDecoder(std::unique_ptr<Decoder<double>> good, const Spoil& spoil)
      : good_(std::move(good)), spoil_(spoil) {}

  void Append(const MatrixView<const double>& rows) override {
    good_->Append(rows);
  }
  void Close() override { good_->Close(); }
  StepResult<double> Step(std::span<const double> state,
                          std::span<double> context) override {
    StepResult<double> step = good_->Step(state, context);
    if (!step.need_memory) spoil_.step(output_++, step);
    return step;
  }

 private:
  const std::unique_ptr<Decoder<double>> good_;
  const Spoil& spoil_;
  Index output_ = 0;
};

class SpoiledMechanism final : public Mechanism<double> {
 public:
  SpoiledMechanism(const std::string& name, Spoil spoil)
      : good_(*FindMechanism<double>(name)), spoil_(std::move(spoil)) {}

  const Description& Describe() const override { return good_.Describe(); }
  std::unique_ptr<Decoder<double>> MakeDecoder(
      const Config& config,
      const SequenceInputs<double>& inputs) const override {
    return std::make_unique<SpoiledDecoder>(good_.MakeDecoder(config, inputs),
                                            spoil_);
  }
  void Expect(const Config& config, const Sequence<double>& sequence,
              const Expectation<double>& out) const override {
    Config spoiled = config;
    spoil_.config(spoiled);
    good_.Expect(spoiled, sequence, out);
    spoil_.expectation(out);
  }
  void Gradient(const Config& config, const Sequence<double>& sequence,
                const Cotangent<double>& cotangent,
                const Expectation<double>& out,
                const Gradients<double>& gradients) const override {
    Config spoiled = config;
    spoil_.config(spoiled);
    good_.Gradient(spoiled, sequence, cotangent, out, gradients);
    spoil_.expectation(out);
    spoil_.gradients(gradients);
  }
  Operations Count(const Config& config,
                   const CountedWork& work) const override {
    return good_.Count(config, work);
  }

 private:
  const Mechanism<double>& good_;
  const Spoil spoil_;
};

// A case of a registered mechanism, with every option at its default.
inline VerifyCase MakeCase(const std::string& mechanism, VerifyMethod method,
                           Index T, Index U,
                           const std::string& scores = "uniform") {
  VerifyCase one;
  one.mechanism = mechanism;
  one.method = method;
  one.memory_length = T;
  one.output_length = U;
  one.scores = scores;
  one.name = "test";
  for (const OptionSpec& option :
       FindMechanism<double>(mechanism)->Describe().options) {
    one.config.options[option.name] = option.default_value;
  }
  one.config.dim = 2;
  one.config.options["chunk_width"] = 2;
  one.config.options["num_contexts"] = 3;
  return one;
}

// Divides every row of a table by its sum.
inline void Renormalize(const MatrixView<double>& table) {
  for (Index i = 0; i < table.rows; ++i) {
    double sum = 0;
    for (const double value : table.Row(i)) sum += value;
    for (double& value : table.Row(i)) value /= sum > 0 ? sum : 1;
  }
}

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_HARNESS_VERIFY_SPOILED_MECHANISM_H_
