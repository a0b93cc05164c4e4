// Guards against errors that grow with the number of outputs: what goes on from
// output to output, or is summed over them, rounded in f32 at each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "mechanisms/energy/energy_gradient.h"
#include "mechanisms/kernels/error_bounds.h"
#include "tests/support/training.h"

namespace attnbench {
namespace {

using Wide = long double;
using WideRow = std::vector<Wide>;
using WideTable = std::vector<WideRow>;

constexpr Wide kUnit = std::numeric_limits<float>::epsilon() / 2;

// The chunk of an output that chose l, after one that chose k.
enum class Chunk { kNone, kWindow, kSinceLast };

// The expectation and its gradient in long double, and the sums of the
// magnitudes of what each gradient is the sum of.
struct Exact {
  Chunk chunk;
  std::size_t width;
  bool restarts;

  WideTable selection = {}, d_p = {}, d_u = {}, terms_of_p = {},
            terms_of_u = {};

  void Run(const WideTable& p, const WideTable& u, const WideTable& d) {
    const std::size_t U = p.size(), T = p[0].size();
    selection = d_p = d_u = terms_of_p = terms_of_u = WideTable(U, WideRow(T));
    WideTable start(U + 1, WideRow(T));
    start[0][0] = 1;
    for (std::size_t i = 0; i < U; ++i) {
      for (std::size_t k = 0; k < T; ++k) {
        Wide arrives = start[i][k];
        for (std::size_t l = k; l < T; ++l) {
          selection[i][l] += arrives * p[i][l];
          arrives *= 1 - p[i][l];
        }
        if (restarts) start[i + 1][k] += arrives;
      }
      for (std::size_t l = 0; l < T; ++l) start[i + 1][l] += selection[i][l];
    }
    WideRow d_next(T);
    for (std::size_t i = U; i-- > 0;) {
      WideRow d_start(T), e = u[i];
      for (Wide& value : e) value = std::exp(value);
      for (std::size_t k = 0; k < T; ++k) {
        d_start[k] = Back(k, start[i][k], p[i], e, d[i], d_next, i);
      }
      d_next = d_start;
    }
  }

 private:
  // Takes back what starts at k of output i; returns what a scan from k is
  // worth. Its parts, of d_next and of the chunks, are sums of their own.
  Wide Back(std::size_t k, Wide start, const WideRow& p, const WideRow& e,
            const WideRow& d, const WideRow& d_next, std::size_t i) {
    const std::size_t T = p.size();
    WideRow arrives(T), mean(T), sum(T);
    Wide mass = start;
    for (std::size_t l = k; l < T; ++l) {
      arrives[l] = mass;
      mass *= 1 - p[l];
      const std::size_t first = FirstOf(k, l);
      for (std::size_t j = first; j <= l; ++j) {
        sum[l] += e[j];
        mean[l] += e[j] * d[j];
      }
      mean[l] /= sum[l];
    }
    Wide of_next = restarts ? d_next[k] : 0, of_chunks = 0;
    for (std::size_t l = T; l-- > k;) {
      d_p[i][l] += arrives[l] * (mean[l] + d_next[l] - of_next - of_chunks);
      terms_of_p[i][l] +=
          arrives[l] *
          (std::abs(mean[l]) + std::abs(d_next[l]) +
           std::abs(mean[l] - of_chunks) + std::abs(d_next[l] - of_next));
      of_next = p[l] * d_next[l] + (1 - p[l]) * of_next;
      of_chunks = p[l] * mean[l] + (1 - p[l]) * of_chunks;
      for (std::size_t j = FirstOf(k, l); j <= l; ++j) {
        const Wide weight = arrives[l] * p[l] * e[j] / sum[l];
        d_u[i][j] += weight * (d[j] - mean[l]);
        terms_of_u[i][j] += weight * (std::abs(d[j]) + std::abs(mean[l]));
      }
    }
    return of_next + of_chunks;
  }

  std::size_t FirstOf(std::size_t k, std::size_t l) const {
    if (chunk == Chunk::kSinceLast) return k;
    return l + 1 > width ? l + 1 - width : 0;
  }
};

// What was found errs by at most `most` units of f32 of the terms.
void ExpectErrors(const std::string& what,
                  const testing::OwnTable<float>& found, const WideTable& exact,
                  const WideTable& terms, Wide most) {
  Wide worst = 0;
  for (Index i = 0; i < found.rows(); ++i) {
    for (Index j = 0; j < found.cols(); ++j) {
      // Numbers below the normal ones have fewer digits.
      if (terms[Size(i)][Size(j)] < 1e-30L) continue;
      const Wide error = std::abs(found(i, j) - exact[Size(i)][Size(j)]) /
                         (kUnit * terms[Size(i)][Size(j)]);
      if (!(error <= worst)) worst = error;
    }
  }
  EXPECT_LE(worst, most) << what;
}

void ExpectTheErrorOfOneOutput(const std::string& mechanism,
                               const Config& config, Exact exact) {
  constexpr std::size_t kU = 2000, kT = 16;
  for (const double bias : {1.0, 3.0}) {
    SCOPED_TRACE(mechanism + " bias " + std::to_string(bias));
    std::mt19937 generator(7);
    std::normal_distribution<double> normal;
    const auto draw = [&](const auto& number) {
      testing::Rows rows(kU, std::vector<double>(kT));
      for (auto& row : rows) {
        for (double& value : row) value = static_cast<float>(number());
      }
      return rows;
    };
    testing::GivenRows rows;
    rows.p_choose =
        draw([&] { return 1 / (1 + std::exp(-normal(generator) - bias)); });
    testing::Rows u = draw([&] { return normal(generator); });
    const testing::Rows d = draw([&] { return normal(generator); });
    if (exact.chunk != Chunk::kNone) rows.chunk_energies = u;
    const auto wide = [](const testing::Rows& from) {
      WideTable table;
      for (const auto& row : from) table.emplace_back(row.begin(), row.end());
      return table;
    };
    exact.Run(wide(rows.p_choose), wide(u), wide(d));
    const auto made = testing::Train<float>(mechanism, config, rows, d);
    ExpectErrors("selection", made.selection, exact.selection, exact.selection,
                 1.5L);
    ExpectErrors("gradient of p", made.d_choice, exact.d_p, exact.terms_of_p,
                 4);
    if (exact.chunk == Chunk::kNone) continue;
    ExpectErrors("gradient of chunk energies", made.d_chunk_energies, exact.d_u,
                 exact.terms_of_u, 4);
  }
}

// With f32 from output to output these are 12 to 24 for the selection, 5 to 40
// for the gradient of p and 7 to 23 for that of chunk energies.
TEST(ManyOutputs, TwoThousandErrAsOneDoes) {
  Config config = testing::DefaultConfig(*FindMechanism<float>("mocha"), 1);
  ExpectTheErrorOfOneOutput("monotonic", config, {Chunk::kNone, 1, false});
  ExpectTheErrorOfOneOutput("matcha", config, {Chunk::kSinceLast, 0, false});
  config.chunk_width = 8;
  ExpectTheErrorOfOneOutput("mocha", config, {Chunk::kWindow, 8, false});
  config.end = EndPolicy::kRestart;
  ExpectTheErrorOfOneOutput("monotonic", config, {Chunk::kNone, 1, true});
  ExpectTheErrorOfOneOutput("mocha", config, {Chunk::kWindow, 8, true});
}

// Equal terms round the same way: in f32 each of these sums would lose digits
// with every output, and none may lose more than a part of it does, the pairs
// of 64 outputs and, for v, 8 entries.
TEST(ManyOutputs, SumsOverThemOfGradientsOfEnergiesKeepTheirDigits) {
  constexpr Index kU = 30'000, kT = 9, kDim = 3;
  for (const float key : {0.3F, 40.0F}) {  // the latter has no factor
    SCOPED_TRACE("keys of " + std::to_string(key));
    Config config;
    config.dim = kDim;
    config.energy = EnergyKind::kAdditive;
    config.options["keys"] = std::string("precomputed");
    testing::DrawnInputs<float> inputs(kT, kU, kDim, 5);
    const std::vector<float> states(Size(kU * kDim), 0.2F),
        memory(Size(kT * kDim), key);
    Sequence<float> sequence = inputs.View();
    sequence.memory = {memory.data(), kT, kDim};
    sequence.states = {states.data(), kU, kDim};
    const auto gradient_of = [&](Index outputs) {
      testing::OwnTable<float> d_memory(
          testing::Rows(Size(kT), std::vector<double>(Size(kDim), 0)));
      ParameterGradients<float> parameters;
      Gradients<float> wanted;
      wanted.memory = d_memory.view();
      wanted.parameters = &parameters;
      const std::vector<float> G(Size(outputs * kT), 0.1F);
      Sequence<float> some = sequence;
      some.states = {states.data(), outputs, kDim};
      AddEnergyGradient(config, some, EnergyRole::kAttention,
                        MatrixView<const float>(G.data(), outputs, kT), wanted);
      auto all = parameters.arrays();
      all["memory"].assign(d_memory.values().begin(), d_memory.values().end());
      return all;
    };
    const auto one = gradient_of(1), all = gradient_of(kU);
    for (const auto& [name, values] : all) {
      if (name.ends_with("W") || name.ends_with("V")) continue;  // products
      for (std::size_t k = 0; k < values.size(); ++k) {
        const Wide exact = static_cast<Wide>(kU) * one.at(name)[k];
        // The terms of v are of both signs. Ten more are for what is made of
        // the sums.
        const bool is_v = name == "attention.v";
        const Wide terms = is_v ? 0.1L * kU * kT : std::abs(exact);
        const double most = FactoredBackwardError(is_v ? 64 * 8 : 64) + 10;
        EXPECT_LE(std::abs(values[k] - exact), most * kUnit * terms)
            << name << " " << k;
      }
    }
  }
}

}  // namespace
}  // namespace attnbench
