// The exact training expectations as PyTorch operators: tensors in, tensors
// out, with their gradients. They are operators of PyTorch's dispatcher, under
// torch.ops.attnbench, where the Python module attnbench.torch finds them; a
// C++ program calls the functions here. docs/operators.md has examples.
//
// Shapes are [B, H, U, T]: batch, heads, outputs, entries. Every pair of batch
// and head is a sequence of its own. `lengths` [B], int64, has the number of
// entries of each batch, 0 to T (all T if it is not given): what lies beyond is
// not read, and weights and gradients there are 0.
//
// Tensors are f32 or f64 on the CPU, all of one type. Half and bfloat16 are
// computed in f32 and returned in kind. Tensors on `meta` give results on
// `meta`: shapes and types without numbers. Contiguous tensors are read where
// they are. Sequences run on at::get_num_threads() threads, and results have
// the same bits for every number of threads.
//
// Gradients are exact, and of the `lengths` that the output was made with,
// whatever is written to them later. Second and forward-mode derivatives are
// not there: to ask for one throws c10::Error.
//
// Errors: a tensor of another shape, type or device, a length outside [0, T],
// a number that is not allowed (NaN anywhere; p outside [0, 1]) throw
// c10::ValueError or c10::TypeError, both c10::Error, that name the argument
// and the place in at most 300 characters.
#ifndef ATTNBENCH_MECHANISMS_TORCH_OPERATORS_H_
#define ATTNBENCH_MECHANISMS_TORCH_OPERATORS_H_

#include <ATen/core/Tensor.h>
#include <c10/util/Optional.h>

#include <cstdint>
#include <string>
#include <tuple>

#include "mechanisms/mechanism.h"

namespace attnbench::torch_operators {

// What the scores of a choice are.
enum class ScoreKind {
  kProbabilities,  // p, in [0, 1]
  kEnergies,       // e, with p = sigmoid(e)
};

using OptionalTensor = c10::optional<at::Tensor>;

// alpha [B, H, U, T], the probability that output i chooses entry j:
//
//   alpha(i, j) = p(i, j) sum over k <= j of alpha(i - 1, k)
//                       prod over l = k..j-1 of (1 - p(i, l))      (MAD eq 9)
//
// from scores [B, H, U, T]. `start` [B, H, T] stands in place of alpha of the
// output before the first (not given: entry 0 has all of it), and has a
// gradient, too: with U = 1 and the last alpha as `start` this is one step of a
// decoder whose next state depends on its last context. `start` is refused with
// `end` = kRestart, where alpha does not say where the next output starts.
at::Tensor MonotonicAttention(const at::Tensor& scores, ScoreKind kind,
                              const OptionalTensor& lengths = {},
                              const OptionalTensor& start = {},
                              EndPolicy end = EndPolicy::kAbsorb);

// Infinite lookback: the chunk begins at the first entry.
inline constexpr std::int64_t kInfiniteLookback = -1;

// (beta, alpha), both [B, H, U, T]: alpha as above, and the expected weights
//
//   beta(i, j) = sum over k = j..j+w-1 of alpha(i, k) exp(u(i, j))
//                / sum over l = k-w+1..k of exp(u(i, l))  (MoChA eqs 17-19)
//
// with chunk_energies u [B, H, U, T] and w = `width` >= 1, or
// kInfiniteLookback.
std::tuple<at::Tensor, at::Tensor> MochaAttention(
    const at::Tensor& scores, ScoreKind kind, const at::Tensor& chunk_energies,
    std::int64_t width, const OptionalTensor& lengths = {},
    const OptionalTensor& start = {}, EndPolicy end = EndPolicy::kAbsorb);

// (beta, alpha): the chunk begins where the last output chose (MoChA appendix
// C, eqs 28 and 43).
std::tuple<at::Tensor, at::Tensor> MatchaAttention(
    const at::Tensor& scores, ScoreKind kind, const at::Tensor& chunk_energies,
    const OptionalTensor& lengths = {}, const OptionalTensor& start = {},
    EndPolicy end = EndPolicy::kAbsorb);

// Attention [B, H, U, T] of any registered mechanism that follows from
// `energies` [B, H, U, T], and from `chunk_energies` where it declares them,
// both finite. Outputs of some depend on the ones before: give all from the
// first on. `options` are NAME=VALUE,NAME=VALUE (options.h). Throws
// c10::ValueError if there is no such mechanism or option, too.
at::Tensor EnergyAttention(const std::string& mechanism,
                           const at::Tensor& energies,
                           const OptionalTensor& chunk_energies = {},
                           const OptionalTensor& lengths = {},
                           const std::string& options = "");

// The options of fixed-size memory attention, by the names and with the values
// of `attnbench list`.
struct MemoryOptions {
  std::string encoder_scoring = "softmax";  // or sigmoid
  std::string decoder_scoring = "softmax";  // or sigmoid
  // Or raw, renormalized, renormalized_mean: L of Britz eq 10.
  std::string position_encoding = "none";
  std::string place = "inside";  // of L, or outside the score
  std::int64_t max_length = 0;   // S of eq 10; 0: the length of the sequence
};

// Attention [B, H, U, T] of the fixed-size memory,
//
//   attention(i, t) = sum over k of beta(i, k) alpha(t, k)   (Britz eqs 4-10)
//
// from encoder_scores W_alpha h [B, H, T, K] and decoder_scores W_beta s
// [B, H, U, K]. This takes O(U T K).
at::Tensor MemoryAttention(const at::Tensor& encoder_scores,
                           const at::Tensor& decoder_scores,
                           const MemoryOptions& options = {},
                           const OptionalTensor& lengths = {});

// Contexts [B, H, U, d] of the same attention over memory [B, H, T, d], through
// the K contexts: O(K d (T + U)), without a table [U, T].
at::Tensor MemoryContexts(const at::Tensor& encoder_scores,
                          const at::Tensor& decoder_scores,
                          const at::Tensor& memory,
                          const MemoryOptions& options = {},
                          const OptionalTensor& lengths = {});

// Additive energies [B, H, U, T] of projected states and entries,
//
//   e(i, j) = v . tanh(queries(i) + keys(j))                     (MAD eq 15)
//
// from queries W s [B, H, U, d], keys V h + b [B, H, T, d] and v, [d] for all
// heads or [H, d]. No table [U, T, d] is made, forwards or backwards.
at::Tensor AdditiveEnergies(const at::Tensor& queries, const at::Tensor& keys,
                            const at::Tensor& v,
                            const OptionalTensor& lengths = {});

// Gives the memory that the process keeps for results, and no result uses,
// back to the system. docs/operators.md says how much that may be.
void ReleaseMemory();

}  // namespace attnbench::torch_operators

#endif  // ATTNBENCH_MECHANISMS_TORCH_OPERATORS_H_
