#include "harness/inputs/declared_inputs.h"

#include "mechanisms/registry.h"

namespace attnbench {
namespace {

const InputSpec* Find(const std::vector<InputSpec>& inputs,
                      std::string_view name) {
  const auto found = std::ranges::find(inputs, name, &InputSpec::name);
  return found == inputs.end() ? nullptr : &*found;
}

void AddNew(const std::vector<InputSpec>& inputs, std::vector<InputSpec>& all) {
  for (const InputSpec& input : inputs) {
    if (Find(all, input.name) == nullptr) all.push_back(input);
  }
}

}  // namespace

const std::vector<InputSpec>& AllScores() {
  static const std::vector<InputSpec> scores = [] {
    std::vector<InputSpec> all;
    for (const auto* mechanism : Mechanisms<float>()) {
      for (const auto& list : mechanism->Describe().scores) AddNew(list, all);
    }
    return all;
  }();
  return scores;
}

const std::vector<InputSpec>& AllFurtherInputs() {
  static const std::vector<InputSpec> further = [] {
    std::vector<InputSpec> all;
    for (const auto* mechanism : Mechanisms<float>()) {
      AddNew(mechanism->Describe().further, all);
    }
    return all;
  }();
  return further;
}

const InputSpec* FindInput(std::string_view name) {
  const InputSpec* const score = Find(AllScores(), name);
  return score != nullptr ? score : Find(AllFurtherInputs(), name);
}

bool HasRowOfOutputs(std::string_view input) {
  const InputSpec* const found = FindInput(input);
  return found != nullptr && found->shape[0] == 'U';
}

}  // namespace attnbench
