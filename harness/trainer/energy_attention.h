// Attention of any registered mechanism that takes energies, by its own Expect
// and Gradient: soft attention, and mechanisms that have no operator in
// mechanisms/torch.
#ifndef ATTNBENCH_HARNESS_TRAINER_ENERGY_ATTENTION_H_
#define ATTNBENCH_HARNESS_TRAINER_ENERGY_ATTENTION_H_

#include <ATen/core/Tensor.h>

#include "mechanisms/mechanism.h"

namespace attnbench {

// Attention [B, 1, U, T] from energies [B, 1, U, T], f32, of sequences with
// `lengths` [B] entries: what lies beyond is not read, and weights and
// gradients there are 0. All outputs from the first on are given, as those of
// some mechanisms depend on the ones before.
//
// Second derivatives are refused: asking for one throws c10::Error.
at::Tensor EnergyAttention(const Mechanism<float>& mechanism,
                           const at::Tensor& energies,
                           const at::Tensor& lengths);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINER_ENERGY_ATTENTION_H_
