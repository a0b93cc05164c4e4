// Published approximations of the training expectation, as one scalar template
// over plain numbers and dual numbers: no SIMD and no hand-written adjoint.
// What a mechanism adds is the step from alpha to attention.
#ifndef ATTNBENCH_MECHANISMS_MONOTONIC_PUBLISHED_EXPECTATION_H_
#define ATTNBENCH_MECHANISMS_MONOTONIC_PUBLISHED_EXPECTATION_H_

#include <boost/math/differentiation/autodiff.hpp>
#include <cmath>
#include <memory>
#include <span>

#include "mechanisms/monotonic/parallel_selection.h"
#include "mechanisms/training/attention_function.h"

namespace attnbench {

// A number and its derivative in one direction.
template <class Real>
using Dual = boost::math::differentiation::autodiff_fvar<Real, 1>;

// One output; every array is [T]. 1 - p is formed from p, as those who
// published did.
template <class Number>
struct PublishedRow {
  std::span<const Number> start;           // alpha of the output before
  std::span<const Number> p;               // p_choose
  std::span<const Number> selection;       // alpha
  std::span<const Number> chunk_energies;  // u
};

// exp(u), of variants that subtract no largest energy first: it may overflow.
template <class Number>
Buffer<Number> UnshiftedExp(std::span<const Number> u) {
  using std::exp;
  Buffer<Number> e;
  e.reserve(u.size());
  for (const Number& energy : u) e.push_back(exp(energy));
  return e;
}

// Writes attention [T] of the variant that config names.
template <class Number>
using PublishedChunk = void (*)(const Config& config,
                                const PublishedRow<Number>& row,
                                std::span<Number> attention);

template <class Real>
struct PublishedChunks {
  PublishedChunk<Real> plain = nullptr;  // null: attention is alpha
  PublishedChunk<Dual<Real>> dual = nullptr;
};

// The largest T and U of whole gradients, one forward pass for each of U T
// scores.
inline constexpr Index kMostForwardMode = 64;

// Makes alpha as the variant says (kParallel, kTriangular; any other: by MAD eq
// 9), then the chunk. The gradient is by forward mode and throws Unsupported
// beyond kMostForwardMode, unless only some scores are asked for
// (Gradients::only).
template <class Real>
std::unique_ptr<AttentionFunction<Real>> MakePublishedExpectation(
    const Config& config, PublishedChunks<Real> chunks);

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_MONOTONIC_PUBLISHED_EXPECTATION_H_
