// The operator AdditiveEnergies.
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "mechanisms/common/parallel.h"
#include "mechanisms/energy/additive_pairs.h"
#include "mechanisms/torch/arguments.h"
#include "mechanisms/torch/operators.h"
#include "mechanisms/torch/pool.h"
#include "mechanisms/torch/registration.h"

namespace attnbench::torch_operators {
namespace {

using at::Tensor;
using OptionalRef = const OptionalTensor&;

// What a call reads: queries [B, H, U, d], keys [B, H, T, d], v [H, d].
struct Inputs {
  Tensor queries;
  Tensor keys;
  Tensor v;
  SequenceLengths lengths;

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
      : inputs_(inputs), U_(inputs.num_outputs()), dim_(inputs.dim()) {}

  void Evaluate(const Tensor& energies) const {
    WrongNumbers wrong(inputs_.count());
    ParallelFor(inputs_.count(), at::get_num_threads(), [&](Index n) {
      const Index length = inputs_.lengths(n);
      ZeroFrom(length,
               SequenceOf<Real>(energies, n, U_, inputs_.num_entries()));
      const MatrixView<const Real> queries = Queries(n);
      const MatrixView<const Real> keys = Keys(n, length);
      if (!wrong.Allows(n, "queries", Numbers::kAny, queries) ||
          !wrong.Allows(n, "keys", Numbers::kAny, keys)) {
        return;
      }
      const AdditivePairs<Real> pairs(V(n), queries, keys);
      const MatrixView<Real> made = SequenceOf<Real>(energies, n, U_, length);
      for (Index i = 0; i < U_; ++i) {
        pairs.Evaluate(i, 0, length, made.Row(i).data());
      }
    });
    wrong.Throw(inputs_.heads());
  }

  // Writes dL/d queries and keys that lack the factor v, and the part
  // [B, H, d] of each sequence in dL/dv. `gradients` are zero before.
  void Gradient(const Tensor& cotangent, const Inputs& gradients) const {
    ParallelFor(inputs_.count(), at::get_num_threads(), [&](Index n) {
      const Index length = inputs_.lengths(n);
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

  const Inputs& inputs_;
  const Index U_;
  const Index dim_;
};

// Gives the arguments in a form that can be computed with, or throws.
Inputs ValidInputs(const Tensor& queries, const Tensor& keys, const Tensor& v,
                   const OptionalTensor& lengths) {
  Inputs inputs;
  inputs.queries = ValidArray(queries, "queries", "[B, H, U, d]", 4);
  inputs.keys = ValidTable(keys, "keys", "[B, H, T, d]");
  const auto sizes = inputs.queries.sizes();
  CheckFits(keys, "keys", {sizes[0], sizes[1], -1, sizes[3]}, queries,
            "queries");
  TORCH_CHECK_VALUE(sizes[3] > 0,
                    "queries must have at least one column, but "
                    "its shape is ",
                    sizes);
  const bool shared = v.defined() && v.dim() == 1;
  const Tensor some_v = ValidArray(v, "v", "[d] or [H, d]", shared ? 1 : 2);
  if (shared) {
    CheckFits(v, "v", {sizes[3]}, queries, "queries");
  } else {
    CheckFits(v, "v", {sizes[1], sizes[3]}, queries, "queries");
  }
  inputs.v = some_v.expand({sizes[1], sizes[3]}).contiguous();
  inputs.lengths =
      SequenceLengths(lengths, inputs.queries, inputs.num_entries());
  return inputs;
}

Tensor Compute(const Tensor& queries, const Tensor& keys, const Tensor& v,
               OptionalRef lengths) {
  const Inputs inputs = ValidInputs(queries, keys, v, lengths);
  const Tensor energies =
      MakeResult({inputs.queries.size(0), inputs.heads(), inputs.num_outputs(),
                  inputs.num_entries()},
                 inputs.queries.options());
  if (!energies.is_meta()) {
    TORCH_CHECK_VALUE(!inputs.v.isnan().any().item<bool>(),
                      "v must be numbers, but has a NaN");
    AT_DISPATCH_FLOATING_TYPES(energies.scalar_type(), "attnbench", [&] {
      Call<scalar_t>(inputs).Evaluate(energies);
    });
  }
  return InTypeOf(queries, energies);
}

// All gradients are made at once, so those that are not wanted cost nothing
// more.
std::tuple<Tensor, Tensor, Tensor> ComputeGradient(
    OptionalRef d_energies, std::array<bool, 3> /*output_mask*/,
    const Tensor& queries, const Tensor& keys, const Tensor& v,
    OptionalRef lengths) {
  const Inputs inputs = ValidInputs(queries, keys, v, lengths);
  const Tensor cotangent =
      ValidCotangent(d_energies, "d_energies",
                     {inputs.queries.size(0), inputs.heads(),
                      inputs.num_outputs(), inputs.num_entries()},
                     queries, "queries");
  const auto zeros = [&](at::IntArrayRef sizes) {
    return MakeResult(sizes, inputs.queries.options()).zero_();
  };
  const Inputs gradients{
      zeros(inputs.queries.sizes()),
      zeros(inputs.keys.sizes()),
      zeros({inputs.queries.size(0), inputs.heads(), inputs.dim()}),
      {}};
  if (cotangent.defined() && !cotangent.is_meta()) {
    AT_DISPATCH_FLOATING_TYPES(cotangent.scalar_type(), "attnbench", [&] {
      Call<scalar_t>(inputs).Gradient(cotangent, gradients);
    });
  }
  const Tensor factor = inputs.v.unsqueeze(1);  // [H, 1, d]
  Tensor d_v = gradients.v.sum(0);
  if (v.dim() == 1) d_v = d_v.sum(0);
  return {InTypeOf(queries, gradients.queries.mul_(factor)),
          InTypeOf(queries, gradients.keys.mul_(factor)),
          InTypeOf(queries, d_v)};
}

TORCH_LIBRARY_FRAGMENT(attnbench, library) {
  Define(library,
         {.name = "additive_energies",
          .arguments = "Tensor queries, Tensor keys, Tensor v,"
                       " Tensor? lengths=None",
          .results = "Tensor",
          .cotangents = "Tensor? d_energies, bool[3] output_mask",
          .gradients = "(Tensor queries, Tensor keys, Tensor v)"},
         &Compute, &ComputeGradient);
}

}  // namespace

at::Tensor AdditiveEnergies(const at::Tensor& queries, const at::Tensor& keys,
                            const at::Tensor& v,
                            const OptionalTensor& lengths) {
  static const auto operation =
      Operator<decltype(Compute)>("additive_energies");
  return operation.call(queries, keys, v, lengths);
}

}  // namespace attnbench::torch_operators
