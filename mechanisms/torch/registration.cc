#include "mechanisms/torch/registration.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mechanisms/common/array.h"

namespace attnbench::torch_operators {
namespace {

using at::Tensor;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;
using torch::jit::Stack;

bool IsTensor(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined();
}
bool IsReal(const c10::IValue& value) {
  return IsTensor(value) && value.toTensor().is_floating_point();
}

std::span<c10::IValue> Last(std::size_t count, Stack& stack) {
  return std::span(stack).last(count);
}

// The operator that belongs to this one, if there is one.
c10::optional<c10::OperatorHandle> Sibling(const c10::OperatorHandle& operation,
                                           const char* suffix) {
  return c10::Dispatcher::singleton().findSchema(
      {operation.schema().name() + suffix, ""});
}

// The gradient of one call: a node of autograd's graph.
class Gradient : public torch::autograd::Node {
 public:
  // Replaces integers in `arguments` by copies of their own: forward checks
  // them, and their owner may write to them before backward reads them, past
  // autograd's count of versions if by NumPy.
  Gradient(const c10::OperatorHandle& operation,
           std::span<c10::IValue> arguments)
      : operation_(operation), backward_(Sibling(operation, "_backward")) {
    variable_list inputs;
    if (backward_.has_value()) {
      for (const c10::Argument& gradient : backward_->schema().returns()) {
        const c10::IValue& argument = arguments[Size(
            *operation.schema().argumentIndexWithName(gradient.name()))];
        inputs.push_back(IsTensor(argument) ? argument.toTensor() : Tensor());
      }
    } else {
      for (const c10::IValue& argument : arguments) {
        if (IsReal(argument)) inputs.push_back(argument.toTensor());
      }
    }
    set_next_edges(torch::autograd::collect_next_edges(inputs));
    if (!backward_.has_value()) return;  // nothing is going to be computed
    for (c10::IValue& argument : arguments) {
      if (IsTensor(argument) && !IsReal(argument)) {
        argument = argument.toTensor().clone();
      }
      const bool is_saved = IsReal(argument);
      saved_.push_back(is_saved ? SavedVariable(argument.toTensor(), false)
                                : SavedVariable());
      arguments_.push_back(is_saved ? c10::IValue() : argument);
    }
  }

  // What the call left behind, or an undefined tensor.
  void Keep(const Tensor& arrived) {
    arrived_ = SavedVariable(arrived, false);
    takes_arrived_ = true;
  }

  variable_list apply(variable_list&& cotangents) override {
    TORCH_CHECK(backward_.has_value(),
                "attnbench computes first derivatives only: its gradients "
                "cannot be differentiated again");
    const std::lock_guard lock(mutex_);
    const std::size_t count = num_outputs();
    if (std::ranges::none_of(cotangents, &Tensor::defined)) {
      return variable_list(count);
    }
    Stack stack;
    for (Tensor& cotangent : cotangents) {
      stack.push_back(cotangent.defined() ? c10::IValue(std::move(cotangent))
                                          : c10::IValue());
    }
    c10::List<bool> mask;
    for (std::size_t n = 0; n < count; ++n) {
      mask.push_back(task_should_compute_output(n));
    }
    stack.emplace_back(std::move(mask));
    for (std::size_t n = 0; n < saved_.size(); ++n) {
      Tensor argument = saved_[n].unpack();
      stack.push_back(argument.defined() ? c10::IValue(std::move(argument))
                                         : arguments_[n]);
    }
    if (takes_arrived_) {
      const Tensor arrived = arrived_.unpack();
      stack.push_back(arrived.defined() ? c10::IValue(arrived) : c10::IValue());
    }
    backward_->callBoxed(&stack);
    variable_list gradients;
    for (const c10::IValue& gradient : stack) {
      gradients.push_back(IsTensor(gradient) ? gradient.toTensor() : Tensor());
    }
    return gradients;
  }

  void release_variables() override {
    const std::lock_guard lock(mutex_);
    for (SavedVariable& one : saved_) one.reset_data();
    arrived_.reset_data();
  }

  std::string name() const override {
    return operation_.schema().name() + "_backward";
  }

 private:
  const c10::OperatorHandle operation_;
  const c10::optional<c10::OperatorHandle> backward_;
  Stack arguments_;  // without the tensors that are saved
  std::vector<SavedVariable> saved_;
  SavedVariable arrived_;
  bool takes_arrived_ = false;
};

}  // namespace

void Differentiate(const c10::OperatorHandle& operation,
                   c10::DispatchKeySet keys, Stack* stack) {
  const std::span<c10::IValue> arguments =
      Last(operation.schema().arguments().size(), *stack);
  bool wants_gradient = false;
  for (const c10::IValue& argument : arguments) {
    if (!IsTensor(argument)) continue;
    const Tensor& tensor = argument.toTensor();
    TORCH_CHECK(!tensor._fw_grad(0).defined(), operation.schema().name(),
                " has no forward-mode derivative: use backward-mode");
    wants_gradient = wants_gradient || tensor.requires_grad();
  }
  std::shared_ptr<Gradient> gradient;
  if (wants_gradient && c10::GradMode::is_enabled()) {
    gradient = {new Gradient(operation, arguments),
                torch::autograd::deleteNode};
  }
  const auto leaving =
      gradient == nullptr ? c10::nullopt : Sibling(operation, kWithArrived);
  {
    const at::AutoDispatchBelowADInplaceOrView below;
    leaving.value_or(operation).redispatchBoxed(
        keys & c10::after_autograd_keyset, stack);
  }
  if (leaving.has_value()) {
    const c10::IValue arrived = torch::jit::pop(*stack);
    gradient->Keep(IsTensor(arrived) ? arrived.toTensor() : Tensor());
  }
  if (gradient == nullptr) return;
  for (c10::IValue& result :
       Last(operation.schema().returns().size(), *stack)) {
    if (IsReal(result)) {
      torch::autograd::create_gradient_edge(result.toTensor(), gradient);
    } else {
      gradient->add_input_metadata(torch::autograd::Node::undefined_input());
    }
  }
}

}  // namespace attnbench::torch_operators
