// Training of fixed-size memory attention (formulas and shapes in memory.h).
// Decoding draws nothing, so the expectation is what decoding makes:
//
//   attention(i, t) = sum over k of beta_ik alpha_tk       contexts = beta C
//
// Contexts go through the K contexts, forwards and back: O(K d (T + U)), and
// O(K (T + U)) memory. Only attention, and a cotangent of it, is a [U, T]
// table: O(U T K).
#ifndef ATTNBENCH_MECHANISMS_MEMORY_MEMORY_TRAINING_H_
#define ATTNBENCH_MECHANISMS_MEMORY_MEMORY_TRAINING_H_

#include "mechanisms/memory/memory.h"

namespace attnbench::memory {

// These are Mechanism::Expect and Mechanism::Gradient. Gradients of
// encoder_scores and decoder_scores are those before encoding and scoring,
// given or W h and W s.
template <class Real>
void Expect(const Config& config, const Sequence<Real>& sequence,
            const Expectation<Real>& out);
template <class Real>
void Gradient(const Config& config, const Sequence<Real>& sequence,
              const Cotangent<Real>& cotangent, const Expectation<Real>& out,
              const Gradients<Real>& gradients);

// The oracle of both: scalar loops in a wider type, all [U, T] pairs.
template <class Real>
void ReferenceExpect(const Config& config, const Sequence<Real>& sequence,
                     const Expectation<Real>& out);
template <class Real>
void ReferenceGradient(const Config& config, const Sequence<Real>& sequence,
                       const Cotangent<Real>& cotangent,
                       const Expectation<Real>& out,
                       const Gradients<Real>& gradients);

// This is Mechanism::Count in modes expect and gradient.
template <class Real>
Operations CountTraining(const Config& config, const CountedWork& work);

}  // namespace attnbench::memory

#endif  // ATTNBENCH_MECHANISMS_MEMORY_MEMORY_TRAINING_H_
