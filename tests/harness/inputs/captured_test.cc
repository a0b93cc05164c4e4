// Guards against padding that becomes entries, places that name another number,
// and a workload whose sequences are not those of the file.
#include "harness/inputs/captured.h"

#include <gmock/gmock.h>

#include <cmath>
#include <utility>
#include <vector>

#include "harness/inputs/score_batch.h"
#include "harness/inputs/workload.h"
#include "tests/support/energies_file.h"
#include "tests/support/error_text.h"

namespace attnbench {
namespace {

using ::testing::ElementsAre;
using testing::EnergiesFile;
using testing::ErrorText;
using ::testing::HasSubstr;

NumberArray ArrayOf(std::vector<Index> shape, std::vector<double> values) {
  return {"a.npy", std::move(shape), std::move(values)};
}

// Makes a batch of two, with two heads.
ScoreBatch Batch() {
  std::vector<double> values(2 * 2 * 3 * 4);
  for (std::size_t n = 0; n < values.size(); ++n) {
    values[n] = static_cast<double>(n);
  }
  return ScoreBatch(ArrayOf({2, 2, 3, 4}, values));
}

TEST(ScoreBatch, TheLengthOfABatchIsThatOfAllItsHeads) {
  const ScoreBatch batch = Batch();
  EXPECT_EQ(batch.count, 4);
  EXPECT_THAT(LengthsOf(ArrayOf({2}, {3, 1}), batch, batch.T),
              ElementsAre(3, 3, 1, 1));
  EXPECT_THAT(LengthsOfMask(ArrayOf({2, 4}, {0, 0, 0, 1, 0, 1, 1, 1}), batch),
              ElementsAre(3, 3, 1, 1));
  EXPECT_THAT(LengthsOfMask(ArrayOf({2, 4}, {0, 0, 0, 0, 0, 0, 0, 0}), batch),
              ElementsAre(4, 4, 4, 4));
}

TEST(ScoreBatch, AMaskWithAHoleNamesIt) {
  const auto text_of = [](std::vector<double> mask) {
    return ErrorText([&] {
      LengthsOfMask(ArrayOf({2, 4}, std::move(mask)), Batch());
    });
  };
  EXPECT_THAT(text_of({0, 0, 1, 1, 0, 1, 0, 1}),
              HasSubstr("a.npy[2, 3]: is False behind padding"));
  EXPECT_THAT(text_of({0, 0, 1, 1, 1, 1, 1, 0}),
              HasSubstr("a.npy[2, 1]: is True, so that the sequence begins"));
}

TEST(ScoreBatch, ATableIsThatOfItsSequence) {
  ScoreBatch batch = Batch();
  batch.outputs[2] = 2;
  batch.entries[2] = 3;
  const Table<float> table =
      CutTable<float>(BatchLike(batch, Batch().array), 2, ScoreKind::kEnergies);
  EXPECT_THAT(table.values, ElementsAre(24, 25, 26, 28, 29, 30));
}

TEST(ScoreBatch, ANumberThatCannotBeIsNamedByBatchHeadOutputAndEntry) {
  ScoreBatch batch = Batch();
  batch.array.values[24 + 4 + 2] = std::nan("");
  EXPECT_EQ(ErrorText([&] { CutTable<float>(batch, 2, ScoreKind::kEnergies); }),
            "a.npy[2, 1, 2, 3]: is nan, not finite in f32 (lengths or mask "
            "leaves padding out)");
}

WorkloadSpec SpecOf(const EnergiesFile& file, Index batch) {
  return {.workload = file.workload(),
          .memory_length = 3,
          .output_length = 2,
          .dim = 5,
          .batch = batch};
}

TEST(Captured, IsOneDrawOfAllItsSequencesInBothPrecisions) {
  const EnergiesFile file;
  const auto check = [&](auto real) {
    using Real = decltype(real);
    const auto workload = MakeWorkload<Real>(SpecOf(file, 2));
    EXPECT_EQ(workload->num_draws(), 1);
    const auto batch = workload->Draw(0, EnergyKind::kDot);
    ASSERT_EQ(batch.size(), 2U);
    for (std::size_t b = 0; b < 2; ++b) {
      const MatrixView<const Real> captured =
          batch[b].inputs.captured.Find("energies");
      ASSERT_EQ(captured.rows, 2);
      EXPECT_EQ(captured(0, 1), static_cast<Real>(file.energies()[6 * b + 1]));
      EXPECT_EQ(captured(1, 2), static_cast<Real>(file.energies()[6 * b + 5]));
      EXPECT_EQ(batch[b].states.rows, 2);
      EXPECT_TRUE(batch[b].inputs.scores.empty());
    }
  };
  check(float{});
  check(double{});
}

TEST(Captured, ServesNoPointOfOtherLengths) {
  const EnergiesFile file;
  EXPECT_THROW(MakeWorkload<float>(SpecOf(file, 1)), WorkloadUnsupported);
}

}  // namespace
}  // namespace attnbench
