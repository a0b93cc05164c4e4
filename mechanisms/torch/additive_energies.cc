// The operator AdditiveEnergies.
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "mechanisms/common/parallel.h"
#include "mechanisms/energy/additive_pairs.h"
#include "mechanisms/torch/arguments.h"
#include "mechanisms/torch/operators.h"

namespace attnbench::torch_operators {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// From so many outputs on, factors of a key cost less than each tanh.
constexpr Index kFewestForFactors = 4;

// What a call reads: queries [B, H, U, d], keys [B, H, T, d], v [H, d].
struct Inputs {
  Tensor queries;
  Tensor keys;
  Tensor v;
  Tensor lengths;

  Index heads() const { return queries.size(1); }
  Index count() const { return queries.size(0) * heads(); }
  Index num_outputs() const { return queries.size(2); }
  Index num_entries() const { return keys.size(2); }
  Index dim() const { return queries.size(3); }
};

template <class Real>
class Call {
 public:
  explicit Call(const Inputs& inputs)
      : inputs_(inputs),
        U_(inputs.num_outputs()),
        dim_(inputs.dim()),
        lengths_(inputs.lengths, inputs.heads(), inputs.num_entries()) {}

  void Evaluate(const Tensor& energies) const {
    WrongNumbers wrong(inputs_.count());
    ParallelFor(inputs_.count(), at::get_num_threads(), [&](Index n) {
      const Index length = lengths_(n);
      ZeroFrom(length,
               SequenceOf<Real>(energies, n, U_, inputs_.num_entries()));
      const MatrixView<const Real> queries = Queries(n);
      const MatrixView<const Real> keys = Keys(n, length);
      if (!wrong.Allows(n, "queries", Numbers::kAny, queries) ||
          !wrong.Allows(n, "keys", Numbers::kAny, keys)) {
        return;
      }
      EvaluateOne(V(n), queries, keys,
                  SequenceOf<Real>(energies, n, U_, length));
    });
    wrong.Throw(inputs_.heads());
  }

  // Writes dL/d queries and keys that lack the factor v, and the part
  // [B, H, d] of each sequence in dL/dv. `gradients` are zero before.
  void Gradient(const Tensor& cotangent, const Inputs& gradients) const {
    ParallelFor(inputs_.count(), at::get_num_threads(), [&](Index n) {
      const Index length = lengths_(n);
      UnsetBuffer<Real> keys(Size(length * dim_));
      const MatrixView<Real> copy(keys.data(), length, dim_);
      CopyRows(Keys(n, length), copy);
      AddAdditivePairs<Real>(Queries(n), copy,
                             SequenceOf<Real>(cotangent, n, U_, length),
                             SequenceOf<Real>(gradients.queries, n, U_, dim_),
                             SequenceOf<Real>(gradients.keys, n, length, dim_),
                             gradients.v.data_ptr<Real>() + n * dim_);
    });
  }

 private:
  MatrixView<const Real> Queries(Index n) const {
    return SequenceOf<Real>(inputs_.queries, n, U_, dim_);
  }
  MatrixView<const Real> Keys(Index n, Index length) const {
    return SequenceOf<Real>(inputs_.keys, n, length, dim_);
  }
  std::span<const Real> V(Index n) const {
    return {inputs_.v.data_ptr<Real>() + n % inputs_.heads() * dim_,
            Size(dim_)};
  }

  static void CopyRows(const MatrixView<const Real>& from,
                       const MatrixView<Real>& to) {
    for (Index j = 0; j < to.rows; ++j) {
      std::ranges::copy(from.Row(j), to.Row(j).begin());
    }
  }

  void EvaluateOne(std::span<const Real> v,
                   const MatrixView<const Real>& queries,
                   const MatrixView<const Real>& rows,
                   const MatrixView<Real>& energies) const {
    AdditiveKeys<Real> keys(v, rows.rows, U_ >= kFewestForFactors);
    CopyRows(rows, keys.Extend(rows.rows));
    keys.Finish();
    UnsetBuffer<Real> factors(keys.factored() ? Size(U_ * dim_) : 0);
    if (keys.factored()) {
      FactorQueries(U_, dim_, queries.data, factors.data());
    }
    for (Index i = 0; i < U_; ++i) {
      keys.Evaluate(queries.Row(i).data(),
                    keys.factored() ? factors.data() + i * dim_ : nullptr, 0,
                    rows.rows, energies.Row(i).data());
    }
  }

  const Inputs& inputs_;
  const Index U_;
  const Index dim_;
  const SequenceLengths lengths_;
};

// The gradient as a function of its own, which has none.
class AdditiveGradient : public torch::autograd::Function<AdditiveGradient> {
 public:
  static variable_list forward(AutogradContext* /*context*/,
                               const Tensor& queries, const Tensor& keys,
                               const Tensor& v, const OptionalTensor& lengths,
                               const Tensor& cotangent) {
    const Inputs inputs{queries, keys, v, lengths.value_or(Tensor())};
    const auto zeros = [&](at::IntArrayRef sizes) {
      return at::zeros(sizes, queries.options().requires_grad(false));
    };
    const Inputs gradients{
        zeros(queries.sizes()),
        zeros(keys.sizes()),
        zeros({queries.size(0), queries.size(1), queries.size(3)}),
        {}};
    AT_DISPATCH_FLOATING_TYPES(queries.scalar_type(), "attnbench", [&] {
      Call<scalar_t>(inputs).Gradient(cotangent, gradients);
    });
    const Tensor factor = v.unsqueeze(1);  // [H, 1, d]
    return {gradients.queries.mul_(factor), gradients.keys.mul_(factor),
            gradients.v.sum(0)};
  }

  static constexpr auto backward = &RefuseSecondDerivative;
};

class Additive : public torch::autograd::Function<Additive> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& queries,
                        const Tensor& keys, const Tensor& v,
                        const OptionalTensor& lengths) {
    const Inputs inputs{queries, keys, v, lengths.value_or(Tensor())};
    context->save_for_backward({queries, keys, v, inputs.lengths});
    const Tensor energies = at::empty(
        {queries.size(0), queries.size(1), queries.size(2), keys.size(2)},
        queries.options().requires_grad(false));
    AT_DISPATCH_FLOATING_TYPES(queries.scalar_type(), "attnbench", [&] {
      Call<scalar_t>(inputs).Evaluate(energies);
    });
    return energies;
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& cotangents) {
    const variable_list saved = context->get_saved_variables();
    variable_list gradients = AdditiveGradient::apply(
        saved[0], saved[1], saved[2], OptionalTensor(saved[3]),
        cotangents[0].resolve_neg().contiguous());
    gradients.emplace_back();  // of lengths
    return gradients;
  }
};

}  // namespace

at::Tensor AdditiveEnergies(const at::Tensor& queries, const at::Tensor& keys,
                            const at::Tensor& v,
                            const OptionalTensor& lengths) {
  const Tensor all_queries = TakeArray(queries, "queries", "[B, H, U, d]", 4);
  const Tensor all_keys = TakeTable(keys, "keys", "[B, H, T, d]");
  const auto sizes = all_queries.sizes();
  CheckFits(keys, "keys", {sizes[0], sizes[1], -1, sizes[3]}, queries,
            "queries");
  TORCH_CHECK_VALUE(sizes[3] > 0,
                    "queries must have at least one column, but "
                    "its shape is ",
                    sizes);
  const bool shared = v.defined() && v.dim() == 1;
  const Tensor some_v = TakeArray(v, "v", "[d] or [H, d]", shared ? 1 : 2);
  if (shared) {
    CheckFits(v, "v", {sizes[3]}, queries, "queries");
  } else {
    CheckFits(v, "v", {sizes[1], sizes[3]}, queries, "queries");
  }
  TORCH_CHECK_VALUE(!some_v.detach().isnan().any().item<bool>(),
                    "v must be numbers, but has a NaN");
  const Tensor all_v = some_v.expand({sizes[1], sizes[3]}).contiguous();
  const Tensor taken = TakeLengths(lengths, sizes[0], all_keys.size(2));
  return Additive::apply(all_queries, all_keys, all_v, OptionalTensor(taken))
      .to(queries.scalar_type());
}

}  // namespace attnbench::torch_operators
