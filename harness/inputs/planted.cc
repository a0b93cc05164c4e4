#include "harness/inputs/planted.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/purposes.h"
#include "harness/inputs/workload.h"

namespace attnbench {
namespace {

constexpr double kEnergy = 4;  // the a of planted.h

// Draws random shares of the way, about a quarter of them 0.
std::vector<std::uint64_t> Shares(std::uint64_t seed, std::uint32_t stream,
                                  Index count) {
  std::vector<std::uint64_t> shares(Size(count));
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const auto words = Philox(seed, kPathPurpose, stream, i);
    const bool stays = Uniform24(words[0]) < 0.25;
    shares[i] = stays ? 0 : 1 + (words[1] >> 8);
  }
  return shares;
}

// Makes whole advances with sum `distance`, proportional to the shares.
std::vector<Index> Advances(const std::vector<std::uint64_t>& shares,
                            Index distance) {
  __extension__ using Wide = unsigned __int128;
  Wide total = 0;
  for (const std::uint64_t share : shares) total += share;
  std::vector<Index> advances(shares.size(), 0);
  if (total == 0) {
    advances.back() = distance;
    return advances;
  }
  Wide sum = 0;
  Index done = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    sum += shares[i];
    const auto reached =
        static_cast<Index>(sum * static_cast<Wide>(distance) / total);
    advances[i] = reached - done;
    done = reached;
  }
  return advances;
}

// Moves what exceeds `largest` to the next outputs that have room, then to
// earlier ones.
void Redistribute(Index largest, std::vector<Index>& advances) {
  Index excess = 0;
  const auto settle = [&](Index& advance) {
    advance += excess;
    excess = std::max<Index>(0, advance - largest);
    advance -= excess;
  };
  for (Index& advance : advances) settle(advance);
  std::for_each(advances.rbegin(), advances.rend(), settle);
  ATTN_CHECK_EQ(excess, 0);
}

// Adds four partial sums, in a fixed order.
template <class Real>
double Dot(std::span<const Real> a, std::span<const Real> b) {
  double sums[4] = {0, 0, 0, 0};
  for (std::size_t k = 0; k < a.size(); ++k) {
    sums[k % 4] += static_cast<double>(a[k]) * static_cast<double>(b[k]);
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Solves A x = b for a symmetric positive definite A [n, n], of which only the
// lower triangle is read; A becomes its factor L and b becomes x. False where A
// is not positive definite.
bool CholeskySolve(std::vector<double>& A, std::vector<double>& b) {
  const std::size_t n = b.size();
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c <= r; ++c) {
      const std::span<const double> left(&A[r * n], c);
      const std::span<const double> right(&A[c * n], c);
      const double rest = A[r * n + c] - Dot(left, right);
      if (c < r) {
        A[r * n + c] = rest / A[c * n + c];
      } else if (rest > 0) {
        A[r * n + r] = std::sqrt(rest);
      } else {
        return false;
      }
    }
  }
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c < r; ++c) b[r] -= A[r * n + c] * b[c];
    b[r] /= A[r * n + r];
  }
  for (std::size_t r = n; r-- > 0;) {
    for (std::size_t c = r + 1; c < n; ++c) b[r] -= A[c * n + r] * b[c];
    b[r] /= A[r * n + r];
  }
  return true;
}

// The least-norm s with h_j . s = energies[j] for the given entries:
// s = H^T x with H H^T x = energies.
template <class Real>
void LeastNormState(const MatrixView<const Real>& entries,
                    std::vector<double>& energies, std::span<float> state) {
  const std::size_t n = energies.size();
  std::vector<double> gram(n * n);
  for (Index r = 0; r < entries.rows; ++r) {
    for (Index c = 0; c <= r; ++c) {
      gram[Size(r) * n + Size(c)] = Dot(entries.Row(r), entries.Row(c));
    }
  }
  if (!CholeskySolve(gram, energies)) {
    throw WorkloadUnsupported(
        "workload planted: memory entries that one output inspects depend on "
        "each other linearly");
  }
  std::vector<double> sum(state.size(), 0);
  for (Index r = 0; r < entries.rows; ++r) {
    const std::span<const Real> h = entries.Row(r);
    for (std::size_t k = 0; k < sum.size(); ++k) {
      sum[k] += energies[Size(r)] * static_cast<double>(h[k]);
    }
  }
  std::transform(sum.begin(), sum.end(), state.begin(),
                 [](double value) { return static_cast<float>(value); });
}

}  // namespace

std::vector<Index> PlantedPath(std::uint64_t seed, std::uint32_t stream,
                               Index memory_length, Index output_length,
                               Index dim) {
  const Index largest = std::max<Index>(1, dim / 2) - 1;
  const Index distance = memory_length - 1;
  // This divides, because a product might overflow.
  const bool reachable =
      distance == 0 ||
      (largest > 0 && (distance - 1) / largest + 1 <= output_length);
  if (!reachable) {
    throw WorkloadUnsupported(fmt::format(
        "workload planted: {} outputs of at most {} entries each (dim / 2 - 1) "
        "do not reach the end of {} entries",
        output_length, largest, memory_length));
  }
  std::vector<Index> path =
      Advances(Shares(seed, stream, output_length), distance);
  Redistribute(largest, path);
  Index position = 0;
  for (Index& entry : path) {
    position += entry;
    entry = position;
  }
  return path;
}

template <class Real>
std::vector<float> PlantedStates(const MatrixView<const Real>& memory,
                                 std::span<const Index> path,
                                 std::uint64_t seed, std::uint32_t stream) {
  const std::size_t dim = Size(memory.cols);
  std::vector<float> states(path.size() * dim);
  std::vector<double> energies;
  std::uint64_t num_energies = 0;
  Index start = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Index count = path[i] - start + 1;
    energies.assign(Size(count), -kEnergy);
    energies.back() = kEnergy;
    for (double& energy : energies) {
      energy += SymmetricUniform24(
          Philox(seed, kPlantedNoisePurpose, stream, num_energies++)[0]);
    }
    LeastNormState(memory.Rows(start, count), energies,
                   std::span<float>(states).subspan(i * dim, dim));
    start = path[i];
  }
  return states;
}

template std::vector<float> PlantedStates(const MatrixView<const float>&,
                                          std::span<const Index>, std::uint64_t,
                                          std::uint32_t);
template std::vector<float> PlantedStates(const MatrixView<const double>&,
                                          std::span<const Index>, std::uint64_t,
                                          std::uint32_t);

}  // namespace attnbench
