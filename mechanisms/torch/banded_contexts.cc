// Contexts [B, H, U, m] of weights on a band, as banded_operators.cc makes it:
// weights [N] at rising places `entries` [N] of a table [B, H, U, T] that is 0
// elsewhere, over memory [B, T, m], in the work of the band alone.
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <tuple>

#include "mechanisms/common/parallel.h"
#include "mechanisms/kernels/kernels.h"
#include "mechanisms/torch/arguments.h"
#include "mechanisms/torch/operators.h"
#include "mechanisms/torch/pool.h"
#include "mechanisms/torch/registration.h"

namespace attnbench::torch_operators {
namespace {

using at::Tensor;
using OptionalRef = const OptionalTensor&;

struct BandedWeights {
  Tensor weights, entries, memory;
  Index heads, outputs;

  Index batch() const { return memory.size(0); }
  Index num_entries() const { return memory.size(1); }
  Index size() const { return memory.size(2); }
};

BandedWeights ValidWeights(const Tensor& weights, const Tensor& entries,
                           const Tensor& memory, std::int64_t heads,
                           std::int64_t outputs) {
  BandedWeights valid{ValidArray(weights, "weights", "[N]", 1),
                      {},
                      ValidArray(memory, "memory", "[B, T, m]", 3),
                      heads,
                      outputs};
  CheckFits(memory, "memory", {-1, -1, -1}, weights, "weights");
  TORCH_CHECK_TYPE(!weights.is_meta(), "weights has no numbers: it is on meta");
  TORCH_CHECK_TYPE(entries.device().is_cpu() &&
                       entries.scalar_type() == at::kLong &&
                       entries.layout() == at::kStrided,
                   "entries must be int64 on the CPU");
  TORCH_CHECK_VALUE(entries.sizes() == weights.sizes(),
                    "entries must be of the shape of weights, ",
                    weights.sizes(), ", but is ", entries.sizes());
  TORCH_CHECK_VALUE(heads >= 0 && outputs >= 0,
                    "heads and outputs must be at least 0");
  valid.entries = entries.contiguous();
  const std::span all(valid.entries.data_ptr<std::int64_t>(),
                      Size(entries.numel()));
  const Index most = valid.batch() * heads * outputs * valid.num_entries();
  TORCH_CHECK_VALUE(
      all.empty() || (all.front() >= 0 && all.back() < most &&
                      std::ranges::adjacent_find(
                          all, std::ranges::greater_equal()) == all.end()),
      "entries must rise within [0, ", most, ")");
  return valid;
}

// Calls use(row, first entry, count, where its weights begin) for entries of
// rows [first, last) of all B H U that follow one another.
template <class Use>
void ForEachRun(const BandedWeights& of, Index first, Index last,
                const Use& use) {
  const Index T = of.num_entries();
  const auto* const begin = of.entries.data_ptr<std::int64_t>();
  const auto* const end = begin + of.entries.numel();
  const auto* at = std::lower_bound(begin, end, first * T);
  while (at < end && *at < last * T) {
    const Index row = *at / T;
    const auto* next = at + 1;
    while (next < end && *next == next[-1] + 1 && *next < (row + 1) * T) ++next;
    use(row, *at % T, next - at, at - begin);
    at = next;
  }
}

template <class Real>
MatrixView<Real> Rows(const Tensor& table) {
  const at::Tensor rows = table.flatten(0, -2);
  return {rows.data_ptr<Real>(), rows.size(0), rows.size(1)};
}

Tensor Contexts(const Tensor& weights, const Tensor& entries,
                const Tensor& memory, std::int64_t heads,
                std::int64_t outputs) {
  const BandedWeights of =
      ValidWeights(weights, entries, memory, heads, outputs);
  const Tensor contexts =
      MakeResult({of.batch(), heads, outputs, of.size()}, of.memory.options())
          .zero_();
  AT_DISPATCH_FLOATING_TYPES(of.weights.scalar_type(), "attnbench", [&] {
    const Kernels<scalar_t>& kernels = BestKernels<scalar_t>();
    const auto h = Rows<scalar_t>(of.memory), made = Rows<scalar_t>(contexts);
    const auto* const w = of.weights.data_ptr<scalar_t>();
    ParallelFor(of.batch() * heads, at::get_num_threads(), [&](Index n) {
      ForEachRun(of, n * outputs, (n + 1) * outputs,
                 [&](Index row, Index first, Index count, Index at) {
                   const Index of_batch = n / heads * of.num_entries();
                   kernels.add_rows(w + at, h.Row(of_batch + first).data(),
                                    h.cols, count, h.cols,
                                    made.Row(row).data());
                 });
    });
  });
  return InTypeOf(weights, contexts);
}

std::tuple<Tensor, Tensor> ContextsGradient(
    OptionalRef d_contexts, std::array<bool, 2> wanted, const Tensor& weights,
    const Tensor& entries, const Tensor& memory, std::int64_t heads,
    std::int64_t outputs) {
  const BandedWeights of =
      ValidWeights(weights, entries, memory, heads, outputs);
  const Tensor cotangent = ValidCotangent(
      d_contexts, "d_contexts", {of.batch(), heads, outputs, of.size()},
      weights, "weights");
  Tensor d_weights = MakeResultLike(of.weights).zero_();
  Tensor d_memory = wanted[1] ? MakeResultLike(of.memory).zero_() : Tensor();
  if (cotangent.defined()) {
    AT_DISPATCH_FLOATING_TYPES(of.weights.scalar_type(), "attnbench", [&] {
      const Kernels<scalar_t>& kernels = BestKernels<scalar_t>();
      const auto h = Rows<scalar_t>(of.memory), d = Rows<scalar_t>(cotangent);
      const auto* const w = of.weights.data_ptr<scalar_t>();
      auto* const d_w = d_weights.data_ptr<scalar_t>();
      // Heads of a batch share its memory.
      ParallelFor(of.batch(), at::get_num_threads(), [&](Index b) {
        const Index rows = heads * outputs;
        ForEachRun(of, b * rows, (b + 1) * rows,
                   [&](Index row, Index first, Index count, Index at) {
                     const Index j = b * of.num_entries() + first;
                     const scalar_t* const d_row = d.Row(row).data();
                     kernels.dot_rows(d_row, h.Row(j).data(), h.cols, count,
                                      h.cols, d_w + at);
                     for (Index k = 0; wanted[1] && k < count; ++k) {
                       kernels.add_rows(
                           w + at + k, d_row, h.cols, 1, h.cols,
                           Rows<scalar_t>(d_memory).Row(j + k).data());
                     }
                   });
      });
    });
  }
  return {InTypeOf(weights, d_weights), InTypeOf(weights, d_memory)};
}

TORCH_LIBRARY_FRAGMENT(attnbench, library) {
  Define(library,
         {.name = "banded_contexts",
          .arguments = "Tensor weights, Tensor entries, Tensor memory,"
                       " int heads, int outputs",
          .results = "Tensor",
          .cotangents = "Tensor? d_contexts, bool[2] output_mask",
          .gradients = "(Tensor weights, Tensor memory)"},
         &Contexts, &ContextsGradient);
}

}  // namespace
}  // namespace attnbench::torch_operators
