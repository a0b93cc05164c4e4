#include "harness/trainer/energy_attention.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

#include "harness/sweep/default_config.h"
#include "mechanisms/energy/energy.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

template <class Do>
void ForEachSequence(const Tensor& lengths, const Do& do_sequence) {
  for (Index b = 0; b < lengths.size(0); ++b) {
    do_sequence(b, lengths.data_ptr<std::int64_t>()[b]);
  }
}

MatrixView<float> TableOf(const Tensor& tables, Index b, Index length) {
  const Index U = tables.size(2), T = tables.size(3);
  return {tables.data_ptr<float>() + b * U * T, U, length, T};
}

Sequence<float> SequenceOf(const Tensor& energies, Index b, Index length) {
  Sequence<float> sequence;
  sequence.inputs.scores.Set(kEnergiesInput.name, TableOf(energies, b, length));
  return sequence;
}

class EnergyFunction : public torch::autograd::Function<EnergyFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& given,
                        const Tensor& lengths, const std::string& name) {
    const Tensor energies = given.contiguous();
    const Mechanism<float>& mechanism = *FindMechanism<float>(name);
    const Config config = DefaultConfig(mechanism.Describe());
    const Tensor attention = at::zeros_like(energies);
    ForEachSequence(lengths, [&](Index b, Index length) {
      mechanism.Expect(config, SequenceOf(energies, b, length),
                       {.attention = TableOf(attention, b, length)});
    });
    context->save_for_backward({energies, lengths});
    context->saved_data["mechanism"] = name;
    return attention;
  }

  static tensor_list backward(AutogradContext* context, tensor_list d_results) {
    TORCH_CHECK(!at::GradMode::is_enabled(),
                "EnergyAttention has no second derivative");
    const auto saved = context->get_saved_variables();
    const Tensor &energies = saved[0], &lengths = saved[1];
    const Mechanism<float>& mechanism =
        *FindMechanism<float>(context->saved_data["mechanism"].toStringRef());
    const Config config = DefaultConfig(mechanism.Describe(), "gradient");
    const Tensor d_attention = d_results[0].contiguous();
    const Tensor d_energies = at::zeros_like(energies);
    ForEachSequence(lengths, [&](Index b, Index length) {
      Gradients<float> wanted;
      wanted.scores.Set(kEnergiesInput.name, TableOf(d_energies, b, length));
      mechanism.Gradient(config, SequenceOf(energies, b, length),
                         {.attention = TableOf(d_attention, b, length)}, {},
                         wanted);
    });
    return {d_energies, Tensor(), Tensor()};
  }
};

}  // namespace

Tensor EnergyAttention(const Mechanism<float>& mechanism,
                       const Tensor& energies, const Tensor& lengths) {
  return EnergyFunction::apply(energies, lengths, mechanism.Describe().name);
}

}  // namespace attnbench
