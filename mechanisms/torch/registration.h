// How an operator is made known to PyTorch, so that all that dispatches
// (autograd, fake tensors, tracers, functorch) sees one operator, and what it
// reads and makes, in place of memory that is written behind its back.
#ifndef ATTNBENCH_MECHANISMS_TORCH_REGISTRATION_H_
#define ATTNBENCH_MECHANISMS_TORCH_REGISTRATION_H_

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <cstddef>
#include <string>
#include <type_traits>

namespace attnbench::torch_operators {

// The schema of an operator NAME(arguments) -> results, and of its gradient
// NAME_backward(cotangents, arguments) -> gradients, an operator, too.
// Cotangents are one optional tensor for each result, and an `output_mask`,
// which says which gradients are wanted; the others are undefined. A gradient
// has the name of its argument.
//
// An operator may leave something behind for its gradient: NAME_with_arrived
// returns that, too, after the results, or an undefined tensor, and
// NAME_backward takes it as its last argument, or makes it again.
struct Schema {
  std::string name;
  std::string arguments;
  std::string results;
  std::string cotangents;
  std::string gradients;
};

// The Autograd kernel of all operators. NAME_backward has no gradient.
void Differentiate(const c10::OperatorHandle& operation,
                   c10::DispatchKeySet keys, torch::jit::Stack* stack);

inline constexpr char kWithArrived[] = "_with_arrived";

// Defines both operators, and the third if there is a `compute_with_arrived`.
// All refuse what they cannot compute with, on whatever device; for tensors on
// `meta` they make results without numbers.
template <class Compute, class ComputeGradient,
          class ComputeWithArrived = std::nullptr_t>
void Define(torch::Library& library, const Schema& schema, Compute* compute,
            ComputeGradient* compute_gradient,
            ComputeWithArrived compute_with_arrived = nullptr) {
  const auto define = [&](const std::string& name, const std::string& signature,
                          auto* kernel) {
    library.def((name + signature).c_str());
    library.impl(
        name.c_str(),
        torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, kernel));
    library.impl(
        name.c_str(),
        torch::dispatch(
            c10::DispatchKey::Autograd,
            torch::CppFunction::makeFromBoxedFunction<&Differentiate>()));
  };
  constexpr bool kLeaves = !std::is_same_v<ComputeWithArrived, std::nullptr_t>;
  define(schema.name, "(" + schema.arguments + ") -> " + schema.results,
         compute);
  define(schema.name + "_backward",
         "(" + schema.cotangents + ", " + schema.arguments +
             (kLeaves ? ", Tensor? arrived=None" : "") + ") -> " +
             schema.gradients,
         compute_gradient);
  if constexpr (kLeaves) {
    // Results are one tensor or a list in parentheses.
    std::string results = schema.results;
    if (results.back() == ')') results = results.substr(1, results.size() - 2);
    define(schema.name + kWithArrived,
           "(" + schema.arguments + ") -> (" + results + ", Tensor arrived)",
           compute_with_arrived);
  }
}

// The operator of this name whose kernel is a `Function`.
template <class Function>
c10::TypedOperatorHandle<Function> Operator(const char* name) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow((std::string("attnbench::") + name).c_str(), "")
      .typed<Function>();
}

}  // namespace attnbench::torch_operators

#endif  // ATTNBENCH_MECHANISMS_TORCH_REGISTRATION_H_
