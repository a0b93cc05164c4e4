// Guards against training that breaks a property of all scores: exact variants
// equal their reference, one mechanism is a limit of another, weights are never
// negative and have the mass of what was chosen, the future changes nothing,
// and any finite input gives a finite output.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/support/property.h"
#include "tests/support/training.h"

namespace attnbench {
namespace {

using testing::CheckProperty;
using testing::DefaultConfig;
using testing::DrawIndex;
using testing::DrawOneOf;
using testing::GivenRows;
using testing::OwnTable;
using testing::Rows;
using testing::Train;

Rows DrawRows(const std::string& name, Index U, Index T, double scale) {
  const Index seed = DrawIndex(name, 0, 1 << 20);
  std::mt19937 generator(static_cast<unsigned>(seed));
  std::uniform_real_distribution<double> uniform(-scale, scale);
  Rows rows(Size(U), std::vector<double>(Size(T)));
  for (auto& row : rows) {
    for (double& value : row) value = uniform(generator);
  }
  return rows;
}

GivenRows DrawScores(Index U, Index T, double scale) {
  return {.energies = DrawRows("energies", U, T, scale),
          .chunk_energies = DrawRows("chunk_energies", U, T, scale)};
}

Config DrawHardConfig(const std::string& mechanism) {
  Config config = DefaultConfig(*FindMechanism<double>(mechanism), 0);
  config.end = DrawOneOf<EndPolicy>(
      "end", {EndPolicy::kAbsorb, EndPolicy::kStayLast, EndPolicy::kRestart});
  config.options["chunk_width"] =
      DrawOneOf<Index>("chunk_width", {1, 2, 3, 7, 29, 30, 31, kInfiniteWidth});
  return config;
}

void RequireNear(const std::vector<double>& a, const std::vector<double>& b,
                 double tolerance) {
  RC_ASSERT(a.size() == b.size());
  for (std::size_t n = 0; n < a.size(); ++n) {
    RC_ASSERT(std::abs(a[n] - b[n]) <= tolerance);
  }
}

TEST(TrainingPropertyTest, ExactEqualsTheReference) {
  for (const std::string mechanism : {"monotonic", "mocha", "matcha"}) {
    CheckProperty([&mechanism] {
      const Index T = DrawIndex("T", 1, 30);
      const Index U = DrawIndex("U", 1, 6);
      const double scale = DrawOneOf<double>("scale", {1, 8, 200, 1e4});
      const GivenRows rows = DrawScores(U, T, scale);
      const Rows cotangent = DrawRows("cotangent", U, T, 1);
      Config config = DrawHardConfig(mechanism);
      const auto exact = Train<double>(mechanism, config, rows, cotangent);
      config.variant = "reference";
      const auto reference = Train<double>(mechanism, config, rows, cotangent);
      RequireNear(exact.attention.values(), reference.attention.values(),
                  1e-13);
      RequireNear(exact.selection.values(), reference.selection.values(),
                  1e-13);
      RequireNear(exact.d_choice.values(), reference.d_choice.values(), 1e-12);
      RequireNear(exact.d_chunk_energies.values(),
                  reference.d_chunk_energies.values(), 1e-12);
    });
  }
}

TEST(TrainingPropertyTest, MochaOfOneEntryIsMonotonicAndOfAllEntriesInfinite) {
  CheckProperty([] {
    const Index T = DrawIndex("T", 1, 30);
    const Index U = DrawIndex("U", 1, 6);
    const GivenRows rows = DrawScores(U, T, 5);
    const Rows cotangent = DrawRows("cotangent", U, T, 1);
    Config config = DrawHardConfig("mocha");
    const auto of_width = [&](Index width) {
      config.options["chunk_width"] = width;
      return Train<double>("mocha", config, rows, cotangent);
    };
    Config monotonic = DefaultConfig(*FindMechanism<double>("monotonic"), 0);
    monotonic.end = config.end;
    const auto one = of_width(1);
    const auto hard = Train<double>("monotonic", monotonic, rows, cotangent);
    RC_ASSERT(one.attention.values() == hard.attention.values());
    RC_ASSERT(one.d_choice.values() == hard.d_choice.values());
    const auto infinite = of_width(kInfiniteWidth);
    for (const Index width : {T, T + 1, 3 * T}) {
      const auto wide = of_width(width);
      RequireNear(wide.attention.values(), infinite.attention.values(), 1e-14);
      RequireNear(wide.d_choice.values(), infinite.d_choice.values(), 1e-14);
    }
  });
}

TEST(TrainingPropertyTest, AttentionIsNeverNegativeAndHasTheMassOfSelection) {
  for (const std::string mechanism : {"monotonic", "mocha", "matcha"}) {
    CheckProperty([&mechanism] {
      const Index T = DrawIndex("T", 1, 30);
      const Index U = DrawIndex("U", 1, 6);
      const double scale = DrawOneOf<double>("scale", {1, 30, 1e4, 1e300});
      const Config config = DrawHardConfig(mechanism);
      const auto made = Train<double>(
          mechanism, config, DrawScores(U, T, scale), DrawRows("d", U, T, 1));
      double before = 1;
      for (Index i = 0; i < U; ++i) {
        double attention = 0, selection = 0;
        for (Index j = 0; j < T; ++j) {
          RC_ASSERT(made.attention(i, j) >= 0);
          RC_ASSERT(std::isfinite(made.d_choice(i, j)));
          RC_ASSERT(mechanism == "monotonic" ||
                    std::isfinite(made.d_chunk_energies(i, j)));
          attention += made.attention(i, j);
          selection += made.selection(i, j);
        }
        RC_ASSERT(std::abs(attention - selection) <= 1e-12);
        RC_ASSERT(selection <= before + 1e-12);
        // Under `restart` the mass that chose nothing starts where it did
        // before.
        if (config.end != EndPolicy::kRestart) before = selection;
      }
    });
  }
}

TEST(TrainingPropertyTest, LaterEntriesAndOutputsChangeNothingBefore) {
  for (const std::string mechanism : {"monotonic", "mocha", "matcha"}) {
    CheckProperty([&mechanism] {
      const Index T = DrawIndex("T", 2, 20);
      const Index U = DrawIndex("U", 2, 6);
      GivenRows rows = DrawScores(U, T, 4);
      Config config = DrawHardConfig(mechanism);
      config.end = EndPolicy::kAbsorb;
      const auto all = Train<double>(mechanism, config, rows);
      const Index shorter = DrawIndex("shorter T", 1, T - 1);
      const Index fewer = DrawIndex("fewer U", 1, U - 1);
      for (Rows* table : {&rows.energies, &rows.chunk_energies}) {
        table->resize(Size(fewer));
        for (auto& row : *table) row.resize(Size(shorter));
      }
      const auto part = Train<double>(mechanism, config, rows);
      for (Index i = 0; i < fewer; ++i) {
        for (Index j = 0; j < shorter; ++j) {
          RC_ASSERT(std::abs(part.selection(i, j) - all.selection(i, j)) <=
                    1e-14);
        }
      }
    });
  }
}

// The inputs are any finite numbers of the type, the largest ones included.
template <class Real>
void ExpectFiniteForAnyFiniteInput() {
  constexpr Real kMax = std::numeric_limits<Real>::max();
  constexpr Real kMin = std::numeric_limits<Real>::denorm_min();
  const std::vector<Real> values = {0,    -0.0F, kMin, -kMin,    kMax,  -kMax,
                                    1e4F, -1e4F, 88,   -103.97F, 1e-30F};
  std::mt19937 generator(4);
  std::uniform_int_distribution<std::size_t> any(0, values.size() - 1);
  for (const std::string mechanism : {"soft", "monotonic", "mocha", "matcha"}) {
    for (int trial = 0; trial < 200; ++trial) {
      GivenRows rows;
      const std::size_t T = 1 + static_cast<std::size_t>(trial) % 40;
      for (Rows* table : {&rows.energies, &rows.chunk_energies}) {
        table->assign(3, std::vector<double>(T));
        for (auto& row : *table) {
          for (double& x : row) x = static_cast<double>(values[any(generator)]);
        }
      }
      Config config = DefaultConfig(*FindMechanism<Real>(mechanism), 0);
      config.options["chunk_width"] =
          trial % 3 == 0 ? kInfiniteWidth : 1 + trial % 9;
      const auto made = Train<Real>(mechanism, config, rows,
                                    Rows(3, std::vector<double>(T, 1)));
      std::vector<const OwnTable<Real>*> tables = {&made.attention,
                                                   &made.d_choice};
      if (config.Option<Index>("chunk_width") > 1 &&
          (mechanism == "mocha" || mechanism == "matcha")) {
        tables.push_back(&made.d_chunk_energies);
      }
      for (const OwnTable<Real>* table : tables) {
        for (const Real value : table->values()) {
          ASSERT_TRUE(std::isfinite(value)) << mechanism << " trial " << trial;
        }
      }
    }
  }
}

TEST(TrainingTest, AnyFiniteInputGivesFiniteOutputInF32) {
  ExpectFiniteForAnyFiniteInput<float>();
}
TEST(TrainingTest, AnyFiniteInputGivesFiniteOutputInF64) {
  ExpectFiniteForAnyFiniteInput<double>();
}

TEST(TrainingTest, WhatIsNotGivenIsRefused) {
  const Config config = DefaultConfig(*FindMechanism<double>("mocha"), 0);
  EXPECT_THROW(Train<double>("mocha", config, {.p_choose = {{0.5}}}),
               Unsupported);
  EXPECT_THROW(Train<double>("soft", config, {.p_choose = {{0.5}}}),
               Unsupported);
}

}  // namespace
}  // namespace attnbench
