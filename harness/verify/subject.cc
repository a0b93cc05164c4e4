#include "harness/verify/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "harness/base/error.h"
#include "harness/inputs/declared_inputs.h"
#include "mechanisms/description.h"
#include "mechanisms/sample.h"

namespace attnbench {
namespace {

// Lets Gradient write the gradient of an input that is no parameter to `view`.
void Want(const std::string& name, const MatrixView<double>& view,
          const Description& about, Gradients<double>& gradients) {
  if (name == "memory") {
    gradients.memory = view;
  } else if (name == "states") {
    gradients.states = view;
  } else if (FindScore(about, name) != nullptr) {
    gradients.scores.Set(name, view);
  } else if (FindInput(name) != nullptr) {
    gradients.further.Set(name, view);
  }
}

bool HasGradient(const std::string& name) {
  const InputSpec* const input = FindInput(name);
  return input == nullptr || input->has_gradient;
}

// Adds the gradient of a parameter to that of the input that it is: g is one
// number in both roles.
void AddParameter(const std::string& name, std::span<const double> values,
                  std::map<std::string, Table<double>>& gradients) {
  static const std::map<std::string, std::string> scalars = {
      {"attention.r", "energy_bias"},
      {"attention.g", "energy_scale"},
      {"chunk.g", "energy_scale"}};
  const auto scalar = scalars.find(name);
  const auto input = gradients.find(
      scalar == scalars.end() ? kParameterKey + name : scalar->second);
  if (input == gradients.end() ||
      input->second.values.size() != values.size()) {
    throw std::runtime_error(fmt::format(
        "Gradient gives {} numbers for parameter {}, which is no input of "
        "that size",
        values.size(), name));
  }
  std::ranges::transform(values, input->second.values,
                         input->second.values.begin(), std::plus());
}

}  // namespace

VerifySubject::VerifySubject(const Mechanism<double>& mechanism,
                             const VerifyCase& verify_case, std::uint64_t seed)
    : mechanism_(mechanism),
      about_(mechanism.Describe()),
      case_(verify_case),
      sampling_(SamplingConfig(about_, verify_case.config)),
      inputs_(verify_case, about_, seed) {
  if (ChoosesAtRandom(about_)) FindProbabilities();
}

void VerifySubject::FindProbabilities() {
  if (const Table<double>* p = inputs_.Find("p_choose"); p != nullptr) {
    choice_name_ = "p_choose";
    p_ = complement_ = *p;
    for (double& value : complement_.values) value = 1 - value;
  } else if (const Table<double>* e = inputs_.Find("energies"); e != nullptr) {
    choice_name_ = "energies";
    p_ = complement_ = *e;
    for (double& value : p_.values) value = 1 / (1 + std::exp(-value));
    for (double& value : complement_.values) value = 1 / (1 + std::exp(value));
  }
}

Decoded VerifySubject::MakeDecoded() const {
  return {Table<double>(U(), T()), Table<double>(U(), d()),
          std::vector<StepTrace>(Size(U()))};
}

Trained VerifySubject::Train() const {
  Trained trained;
  trained.attention = Table<double>(U(), T());
  trained.selection = Table<double>(U(), T());
  trained.contexts = Table<double>(U(), d());
  trained.attention_beside_gradients = Table<double>(U(), T());
  Expect({.attention = trained.attention.view(),
          .selection = trained.selection.view()},
         trained.contexts);
  if (HasMode(about_, Mode::kGradient)) AddGradients(trained);
  return trained;
}

void VerifySubject::Expect(const Expectation<double>& out,
                           Table<double>& contexts) const {
  mechanism_.Expect(case_.config, inputs_.MakeSequence(contexts), out);
}

void VerifySubject::AddGradients(Trained& trained) const {
  Gradients<double> gradients;
  for (const auto& [name, array] : inputs_.arrays()) {
    if (!HasGradient(name)) continue;
    Table<double>& gradient = trained.gradients[name];
    gradient = Table<double>(array.rows, array.cols);
    Want(name, gradient.view(), about_, gradients);
  }
  ParameterGradients<double> parameters;
  gradients.parameters = &parameters;
  Table<double> contexts(U(), d());
  mechanism_.Gradient(
      case_.config, inputs_.MakeSequence(contexts),
      {.attention = inputs_.cotangent_attention().view(),
       .contexts = inputs_.cotangent_contexts().view()},
      {.attention = trained.attention_beside_gradients.view(), .selection = {}},
      gradients);
  // The mechanism may have asked for more arrays meanwhile.
  for (const auto& [name, array] : inputs_.arrays()) {
    if (!HasGradient(name)) continue;
    trained.gradients.try_emplace(name, array.rows, array.cols);
  }
  for (const auto& [name, values] : parameters.arrays()) {
    AddParameter(name, values, trained.gradients);
  }
}

double VerifySubject::ExpectedLoss() const {
  Decoded expected = MakeDecoded();
  Expect({.attention = expected.attention.view(), .selection = {}},
         expected.contexts);
  return Loss(expected);
}

bool VerifySubject::HasEnd(EndPolicy end) const {
  return case_.config.end == end && Contains(about_.axes, "end");
}

std::vector<double> VerifySubject::SelectionOfSecond(
    const Table<double>& p_choose) const {
  Table<double> contexts(2, d());
  Table<double> attention(2, T());
  Table<double> selection(2, T());
  Sequence<double> sequence = inputs_.MakeSequence(contexts);
  NamedViews<const double>& scores = sequence.inputs.scores;
  scores.Set("p_choose", p_choose.view());
  scores.Set("energies", {});
  const Table<double> chunk_energies(2, T());
  if (scores.Find("chunk_energies").data != nullptr) {
    scores.Set("chunk_energies", chunk_energies.view());
  }
  mechanism_.Expect(
      case_.config, sequence,
      {.attention = attention.view(), .selection = selection.view()});
  const std::span<double> second = selection.view().Row(1);
  return {second.begin(), second.end()};
}

void VerifySubject::Sample(std::uint32_t trial, Decoded& decoded) {
  Decode(sampling_, inputs_.MakeSequence(decoded.contexts), trial, decoded);
}

void VerifySubject::DecodeForced(const Table<double>& z, Decoded& decoded) {
  Sequence<double> sequence = inputs_.MakeSequence(decoded.contexts);
  sequence.inputs.scores.Set("p_choose", z.view());
  sequence.inputs.scores.Set("energies", {});
  // With option `sample`, z = u < p is then certain, whatever u is.
  Decode(sampling_, sequence, 0, decoded);
}

namespace {

// Checks an output of a scan over T entries that began at `start`.
void CheckStep(const StepResult<double>& step, Index i, Index start, Index T) {
  const bool is_run =
      0 <= step.begin && step.begin <= step.end && step.end <= T &&
      static_cast<Index>(step.weights.size()) == step.end - step.begin;
  const bool is_scan = 0 <= step.inspected && start + step.inspected <= T;
  const bool is_choice = start <= step.position && step.position < T;
  if (is_run && is_scan && (is_choice || step.position < 0)) return;
  const std::string chosen =
      step.position < 0 ? "none" : fmt::format("entry {}", step.position + 1);
  throw std::runtime_error(fmt::format(
      "the decoder's output {} is impossible: after entry {}, of {}, it "
      "inspected {}, chose {} and gave {} weights from entry {} to {}",
      i + 1, start + 1, T, step.inspected, chosen, step.weights.size(),
      step.begin + 1, step.end));
}

}  // namespace

void VerifySubject::Decode(const Config& config,
                           const Sequence<double>& sequence,
                           std::uint32_t trial, Decoded& decoded) const {
  std::fill(decoded.attention.values.begin(), decoded.attention.values.end(),
            0.0);
  Index start = 0;
  SampleSequence(
      mechanism_, config, sequence, trial,
      [&](Index i, const StepResult<double>& step) {
        StepTrace trace{step.position, step.begin, step.end, step.inspected};
        ForEachHead(step, [&](const StepResult<double>& head) {
          CheckStep(head, i, &head == &step ? start : 0, T());
          trace.begin = std::min(trace.begin, head.begin);
          trace.end = std::max(trace.end, head.end);
        });
        if (step.position >= 0) start = step.position;
        decoded.steps[Size(i)] = trace;
        AddWeights(step, decoded.attention.view().Row(i));
      });
}

double VerifySubject::Loss(const Decoded& decoded, Index i) const {
  const auto dot = [i](const Table<double>& a, const Table<double>& b) {
    const std::span<const double> row = a.view().Row(i);
    return std::inner_product(row.begin(), row.end(), b.view().Row(i).begin(),
                              0.0);
  };
  return dot(inputs_.cotangent_attention(), decoded.attention) +
         dot(inputs_.cotangent_contexts(), decoded.contexts);
}

double VerifySubject::Loss(const Decoded& decoded) const {
  double loss = 0;
  for (Index i = 0; i < U(); ++i) loss += Loss(decoded, i);
  return loss;
}

}  // namespace attnbench
