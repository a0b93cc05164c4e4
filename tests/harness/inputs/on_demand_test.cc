// Guards against a sequence that tells a decoder of entries that are still to
// come: it could answer too early and be right.
#include "harness/inputs/on_demand.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attnbench {
namespace {

// Numbers 1, 2 ... in an array of that shape.
Table<double> Counted(Index rows, Index cols) {
  Table<double> table(rows, cols);
  for (std::size_t n = 0; n < table.values.size(); ++n) {
    table.values[n] = static_cast<double>(n + 1);
  }
  return table;
}

std::vector<double> RowOf(const MatrixView<const double>& view, Index r) {
  const auto row = view.Row(r);
  return {row.begin(), row.end()};
}

bool IsHidden(std::span<const double> numbers) {
  return std::ranges::all_of(numbers, [](double x) { return std::isnan(x); });
}

TEST(OnDemand, NothingOfAnEntryIsThereBeforeItIsAskedFor) {
  constexpr Index T = 3, U = 2, d = 2;
  const Table<double> memory = Counted(T, d), states = Counted(U, d);
  const Table<double> energies = Counted(U, T), encoder = Counted(T, d);
  const Table<double> keys = Counted(T, d), chunk_states = Counted(U, d);
  Sequence<double> whole;
  whole.memory = memory.view();
  whole.states = states.view();
  whole.inputs.expected_length = T;
  whole.inputs.scores.Set("energies", energies.view());
  whole.inputs.scores.Set("encoder_scores", encoder.view());
  whole.inputs.further.Set("chunk_keys", keys.view());
  whole.inputs.further.Set("chunk_states", chunk_states.view());

  ArrivingSequence<double> arriving(whole);
  const Sequence<double>& seen = arriving.sequence();
  EXPECT_EQ(seen.inputs.expected_length, 0);
  EXPECT_EQ(RowOf(seen.states, 1), RowOf(states.view(), 1));
  EXPECT_EQ(RowOf(seen.inputs.further.Find("chunk_states"), 1),
            RowOf(chunk_states.view(), 1));
  for (Index j = 0; j < T; ++j) {
    EXPECT_FALSE(arriving.IsWhole());
    EXPECT_EQ(RowOf(arriving.Next(), 0), RowOf(memory.view(), j));
    EXPECT_EQ(arriving.num_entries(), j + 1);
    const auto by_entry = {
        std::pair{seen.memory, memory.view()},
        {seen.inputs.scores.Find("encoder_scores"), encoder.view()},
        {seen.inputs.further.Find("chunk_keys"), keys.view()}};
    for (const auto& [found, expected] : by_entry) {
      EXPECT_EQ(RowOf(found, j), RowOf(expected, j));
      for (Index later = j + 1; later < T; ++later) {
        EXPECT_TRUE(IsHidden(found.Row(later))) << later;
      }
    }
    const auto found = seen.inputs.scores.Find("energies");
    for (Index i = 0; i < U; ++i) {
      EXPECT_EQ(found(i, j), energies(i, j));
      EXPECT_TRUE(IsHidden(found.Row(i).subspan(Size(j + 1))));
    }
  }
  EXPECT_TRUE(arriving.IsWhole());
}

}  // namespace
}  // namespace attnbench
