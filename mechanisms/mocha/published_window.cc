#include "mechanisms/mocha/published_window.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace attnbench::mocha {
namespace {

template <class Number>
Buffer<Number> ClippedExp(std::span<const Number> u) {
  using std::exp;
  const auto least = static_cast<Number>(1e-5);
  const Number largest = *std::max_element(u.begin(), u.end());
  Buffer<Number> e;
  e.reserve(u.size());
  for (const Number& energy : u) {
    const Number shifted = energy - largest;
    e.push_back(std::max(Number(exp(shifted)), least));
  }
  return e;
}

// The entries of eq 18, cut at the ends: [begin, end).
struct Run {
  Run(std::size_t length, std::size_t n, Index b, Index f) {
    const std::size_t back = std::min(Size(b - 1), n);
    const std::size_t forward = std::min(Size(f - 1), length - 1 - n);
    begin = n - back;
    end = n + forward + 1;
  }
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Eq 17: every chunk that the entry can be in, and every sum over a chunk, by a
// loop of its own; the sums over chunks once for all entries.
template <class Number>
void Nested(const PublishedRow<Number>& row, Index w,
            std::span<Number> attention) {
  const Buffer<Number> e = UnshiftedExp(row.chunk_energies);
  const Buffer<Number> chunk_sums = MovingSumByConvolution<Number>(e, w, 1);
  for (std::size_t j = 0; j < e.size(); ++j) {
    Number beta(0);
    const Run chunks(e.size(), j, 1, w);
    for (std::size_t k = chunks.begin; k < chunks.end; ++k) {
      beta += Number(row.selection[k] * e[j] / chunk_sums[k]);
    }
    attention[j] = beta;
  }
}

// Eq 17 for any energies: no exp is above 1, and each sum is at least 1.
template <class Number>
void Shifted(const PublishedRow<Number>& row, Index w,
             std::span<Number> attention) {
  using std::exp;
  const std::span<const Number> u = row.chunk_energies;
  std::ranges::fill(attention, Number(0));
  Buffer<Number> e;
  for (std::size_t k = 0; k < u.size(); ++k) {
    const Run chunk(u.size(), k, w, 1);
    const auto energies = u.subspan(chunk.begin, chunk.end - chunk.begin);
    const Number largest = *std::max_element(energies.begin(), energies.end());
    Number sum(0);
    e.clear();
    for (const Number& energy : energies) {
      e.push_back(Number(exp(Number(energy - largest))));
      sum += e.back();
    }
    const Number share = Number(row.selection[k] / sum);
    for (std::size_t n = 0; n < e.size(); ++n) {
      attention[chunk.begin + n] += Number(e[n] * share);
    }
  }
}

// Eq 19: beta = e MovingSum(alpha / MovingSum(e, w, 1), 1, w).
template <class Number>
void ByMovingSums(const PublishedRow<Number>& row, const Buffer<Number>& e,
                  Index w, MovingSum<Number> moving_sum,
                  std::span<Number> attention) {
  Buffer<Number> ratios = moving_sum(e, w, 1);
  for (std::size_t k = 0; k < e.size(); ++k) {
    ratios[k] = Number(row.selection[k] / ratios[k]);
  }
  const Buffer<Number> sums = moving_sum(ratios, 1, w);
  for (std::size_t j = 0; j < e.size(); ++j) {
    attention[j] = Number(e[j] * sums[j]);
  }
}

// Eq 17 for any energies, where those of a row lie close together by one exp an
// entry: e of the least is then a normal number.
template <class Number>
void OfAnyEnergies(const PublishedRow<Number>& row, Index w,
                   std::span<Number> attention) {
  using std::exp;
  const std::span<const Number> u = row.chunk_energies;
  const auto [least, largest] = std::minmax_element(u.begin(), u.end());
  if (!(Number(*largest - *least) <= Number(40))) {
    return Shifted(row, w, attention);
  }
  Buffer<Number> e;
  e.reserve(u.size());
  for (const Number& energy : u) {
    e.push_back(Number(exp(Number(energy - *largest))));
  }
  ByMovingSums(row, e, w, &MovingSumByConvolution<Number>, attention);
}

}  // namespace

template <class Number>
Buffer<Number> MovingSumByDifferences(std::span<const Number> x, Index b,
                                      Index f) {
  Buffer<Number> cumulative;
  cumulative.reserve(x.size() + 1);
  cumulative.emplace_back(0);
  for (const Number& value : x) {
    cumulative.push_back(Number(cumulative.back() + value));
  }
  Buffer<Number> sums;
  sums.reserve(x.size());
  for (std::size_t n = 0; n < x.size(); ++n) {
    const Run run(x.size(), n, b, f);
    sums.push_back(Number(cumulative[run.end] - cumulative[run.begin]));
  }
  return sums;
}

template <class Number>
Buffer<Number> MovingSumByConvolution(std::span<const Number> x, Index b,
                                      Index f) {
  const auto size = static_cast<Index>(x.size());
  Buffer<Number> sums(x.size(), Number(0));
  const Number* const from = x.data();
  Number* const to = sums.data();
  // One neighbour of all entries after another, in the order of the entries.
  for (Index m = -std::min(b, size) + 1; m < std::min(f, size); ++m) {
    const Index end = std::min(size, size - m);
    for (Index n = std::max(-m, Index{0}); n < end; ++n) {
      to[n] += from[n + m];
    }
  }
  return sums;
}

template <class Number>
void PublishedWindow(const Config& config, const PublishedRow<Number>& row,
                     std::span<Number> attention) {
  const Index w = config.Option<Index>("chunk_width");
  if (row.selection.empty()) return;
  if (w == 1) {  // hard monotonic attention: there are no chunk energies
    std::copy(row.selection.begin(), row.selection.end(), attention.begin());
  } else if (config.variant == kParallel) {
    OfAnyEnergies(row, w, attention);
  } else if (config.variant == "nested") {
    Nested(row, w, attention);
  } else if (config.variant == "moving_sum") {
    ByMovingSums(row, UnshiftedExp(row.chunk_energies), w,
                 &MovingSumByDifferences<Number>, attention);
  } else {
    ATTN_CHECK_EQ(config.variant, "clipped");
    ByMovingSums(row, ClippedExp(row.chunk_energies), w,
                 &MovingSumByConvolution<Number>, attention);
  }
}

#define ATTN_INSTANTIATE(Number)                                            \
  template Buffer<Number> MovingSumByDifferences(std::span<const Number>,   \
                                                 Index, Index);             \
  template Buffer<Number> MovingSumByConvolution(std::span<const Number>,   \
                                                 Index, Index);             \
  template void PublishedWindow(const Config&, const PublishedRow<Number>&, \
                                std::span<Number>)
ATTN_INSTANTIATE(float);
ATTN_INSTANTIATE(double);
ATTN_INSTANTIATE(Dual<float>);
ATTN_INSTANTIATE(Dual<double>);
#undef ATTN_INSTANTIATE

}  // namespace attnbench::mocha
