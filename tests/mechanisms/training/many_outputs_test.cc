// Guards against errors that grow with the number of outputs: what goes on from
// output to output, or is summed over them, rounded in f32 at each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
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
using Sizes = std::vector<std::size_t>;

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
  // worth, whose parts, of d_next and of the chunks, are sums of their own.
  Wide Back(std::size_t k, Wide start, const WideRow& p, const WideRow& e,
            const WideRow& d, const WideRow& d_next, std::size_t i) {
    const std::size_t T = p.size();
    WideRow arrives(T), mean(T), size(T), sum(T);
    Wide mass = start;
    for (std::size_t l = k; l < T; ++l) {
      arrives[l] = mass;
      mass *= 1 - p[l];
      const std::size_t first = FirstOf(k, l);
      for (std::size_t j = first; j <= l; ++j) {
        sum[l] += e[j];
        mean[l] += e[j] * d[j];
        size[l] += e[j] * std::abs(d[j]);
      }
      mean[l] /= sum[l];
      size[l] /= sum[l];
    }
    Wide of_next = restarts ? d_next[k] : 0, of_chunks = 0;
    for (std::size_t l = T; l-- > k;) {
      d_p[i][l] += arrives[l] * (mean[l] + d_next[l] - of_next - of_chunks);
      // A mean over a chunk errs by a part of all that it is the mean of.
      terms_of_p[i][l] += arrives[l] * (size[l] + std::abs(d_next[l]) +
                                        std::abs(mean[l] - of_chunks) +
                                        std::abs(d_next[l] - of_next));
      of_next = p[l] * d_next[l] + (1 - p[l]) * of_next;
      of_chunks = p[l] * mean[l] + (1 - p[l]) * of_chunks;
      for (std::size_t j = FirstOf(k, l); j <= l; ++j) {
        const Wide weight = arrives[l] * p[l] * e[j] / sum[l];
        d_u[i][j] += weight * (d[j] - mean[l]);
        terms_of_u[i][j] += weight * (std::abs(d[j]) + size[l]);
      }
    }
    return of_next + of_chunks;
  }

  std::size_t FirstOf(std::size_t k, std::size_t l) const {
    if (chunk == Chunk::kSinceLast) return k;
    return l + 1 > width ? l + 1 - width : 0;
  }
};

// The greatest error of what was found beyond `lost`, in units of f32 of the
// terms.
Wide WorstError(const testing::OwnTable<float>& found, const WideTable& exact,
                const WideTable& terms, Wide lost) {
  Wide worst = 0;
  for (Index i = 0; i < found.rows(); ++i) {
    for (Index j = 0; j < found.cols(); ++j) {
      const Wide error = std::abs(found(i, j) - exact[Size(i)][Size(j)]);
      if (error <= lost) continue;
      const Wide units = (error - lost) / (kUnit * terms[Size(i)][Size(j)]);
      if (std::isnan(units)) return units;
      worst = std::max(worst, units);
    }
  }
  return worst;
}

// One way to make an expectation, and its sums in long double.
struct Form {
  std::string mechanism;
  Exact exact;

  Config config() const {
    Config config = testing::DefaultConfig(*FindMechanism<float>(mechanism), 1);
    if (exact.chunk == Chunk::kWindow) {
      config.options["chunk_width"] = static_cast<Index>(exact.width);
    }
    if (exact.restarts) config.end = EndPolicy::kRestart;
    return config;
  }
};

std::vector<Form> Forms() {
  return {{"monotonic", {Chunk::kNone, 1, false}},
          {"matcha", {Chunk::kSinceLast, 0, false}},
          {"mocha", {Chunk::kWindow, 8, false}},
          {"monotonic", {Chunk::kNone, 1, true}},
          {"mocha", {Chunk::kWindow, 8, true}}};
}

// What a form reads, in f32.
struct Tables {
  testing::Rows p, u, d;
};

// Holds the errors of gradients to `most`, whatever the number of outputs is,
// and prints them.
void ExpectTheErrorOfOneOutput(Form form, const Tables& tables, Wide most) {
  const bool has_chunks = form.exact.chunk != Chunk::kNone;
  testing::GivenRows rows;
  rows.p_choose = tables.p;
  if (has_chunks) rows.chunk_energies = tables.u;
  const auto wide = [](const testing::Rows& from) {
    WideTable table;
    for (const auto& row : from) table.emplace_back(row.begin(), row.end());
    return table;
  };
  form.exact.Run(wide(tables.p), wide(tables.u), wide(tables.d));
  const auto made =
      testing::Train<float>(form.mechanism, form.config(), rows, tables.d);
  Wide worth = 0;  // of what follows a choice, at most
  for (const auto& row : tables.d) {
    Wide greatest = 0;
    for (const double d : row) greatest = std::max<Wide>(greatest, std::abs(d));
    worth += greatest;
  }
  // Masses below the normal numbers have fewer digits. Gradients of MAtChA drop
  // what is left of a scan below 1e-24 of its mass.
  const Wide mass = 1e-36L;
  const Wide lost = form.exact.chunk == Chunk::kSinceLast ? 1e-24L : mass;
  const auto hold = [&](const char* what, const testing::OwnTable<float>& found,
                        const WideTable& exact, const WideTable& terms,
                        Wide lost_of_it, Wide at_most) {
    const Wide worst = WorstError(found, exact, terms, lost_of_it);
    EXPECT_LE(worst, at_most) << what;
    std::cout << form.mechanism << (form.exact.restarts ? " restart" : "")
              << ": " << what << " errs by " << worst << " u\n";
  };
  hold("selection", made.selection, form.exact.selection, form.exact.selection,
       mass, 1.5L);
  hold("gradient of p", made.d_choice, form.exact.d_p, form.exact.terms_of_p,
       lost * worth, most);
  if (!has_chunks) return;
  hold("gradient of chunk energies", made.d_chunk_energies, form.exact.d_u,
       form.exact.terms_of_u, lost * worth, most);
}

testing::Rows Drawn(std::size_t U, std::size_t T, auto number) {
  testing::Rows rows(U, std::vector<double>(T));
  for (auto& row : rows) {
    for (double& value : row) value = static_cast<float>(number());
  }
  return rows;
}

// With f32 from output to output these are 12 to 24 for the selection, 5 to 40
// for the gradient of p and 7 to 23 for that of chunk energies.
TEST(ManyOutputs, TwoThousandErrAsOneDoes) {
  constexpr std::size_t kU = 2000, kT = 16;
  for (const Form& form : Forms()) {
    for (const double bias : {1.0, 3.0}) {
      SCOPED_TRACE(form.mechanism + " bias " + std::to_string(bias));
      std::mt19937 generator(7);
      std::normal_distribution<double> normal;
      const auto p = [&] {
        return 1 / (1 + std::exp(-normal(generator) - bias));
      };
      const auto number = [&] { return normal(generator); };
      const Tables tables = {Drawn(kU, kT, p), Drawn(kU, kT, number),
                             Drawn(kU, kT, number)};
      ExpectTheErrorOfOneOutput(form, tables, 4);
    }
  }
}

// Tables of any kind. With --gtest_shuffle every run draws others; with
// --gtest_repeat=25 they are a thousand.
TEST(ManyOutputs, AnyTablesErrAsOneOutputDoes) {
  std::mt19937 generator(
      static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed()));
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto one_of = [&](const auto& values) {
    return values[generator() % values.size()];
  };
  for (int n = 0; n < 40; ++n) {
    const Form form = Forms()[static_cast<std::size_t>(n) % Forms().size()];
    // At and beside what blocks of rows and of entries hold.
    const std::size_t T = one_of(Sizes{1, 2, 7, 8, 9, 16, 31, 48, 100, 520});
    std::size_t U = 0;
    do {
      U = one_of(Sizes{1, 7, 8, 9, 33, 64, 257, 2000});
    } while (U * T * T > 5'000'000);
    const double bias = one_of(std::vector{-7.0, -2.7, 0.0, 3.0});
    const double scale = one_of(std::vector{0.0, 1.0, 10.0});
    const std::size_t kind = generator() % 4, of_d = generator() % 3;
    SCOPED_TRACE(form.mechanism + " U " + std::to_string(U) + " T " +
                 std::to_string(T) + " kind " + std::to_string(kind) + ", " +
                 std::to_string(of_d));
    const auto p = [&] {
      const double energy = bias + scale * normal(generator);
      const double tiny = std::exp2(-60 * uniform(generator));
      if (kind == 0) return 1 / (1 + std::exp(-energy));
      if (kind == 1) return tiny;        // hardly anyone chooses
      if (kind == 2) return 1 - tiny;    // hardly anyone passes on
      return energy > bias ? 1.0 : 0.0;  // no doubt at all
    };
    const auto u = [&] { return normal(generator); };
    const auto d = [&] {
      if (of_d == 0) return normal(generator);
      // What a choice is worth is nearly what passing on is.
      if (of_d == 1) return 1 + 1e-6 * normal(generator);
      return std::exp2(20 * normal(generator) / 3) *
             (uniform(generator) < 0.5 ? -1 : 1);
    };
    const Tables tables = {Drawn(U, T, p), Drawn(U, T, u), Drawn(U, T, d)};
    ExpectTheErrorOfOneOutput(form, tables, 6);
  }
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
