// Guards against inputs that depend on precision, order or how many draws were
// asked for before, and against workloads that are not what their names say.
#include "harness/inputs/workload.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <set>

#include "harness/base/error.h"
#include "harness/system/temporary_folder.h"
#include "mechanisms/energy/energy_reference.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;

WorkloadSpec Spec(const std::string& workload, Index T = 7, Index U = 5,
                  Index d = 6, Index batch = 2) {
  return {.workload = workload,
          .memory_length = T,
          .output_length = U,
          .dim = d,
          .batch = batch,
          .seed = 3};
}

template <class Real>
std::vector<double> Numbers(const MatrixView<const Real>& matrix) {
  std::vector<double> numbers;
  for (Index r = 0; r < matrix.rows; ++r) {
    for (Index c = 0; c < matrix.cols; ++c) {
      numbers.push_back(static_cast<double>(matrix(r, c)));
    }
  }
  return numbers;
}

template <class Real>
std::vector<std::vector<double>> Arrays(Workload<Real>& workload, int draw,
                                        Index sequence) {
  const auto batch = workload.Draw(draw, EnergyKind::kDot);
  const Sequence<Real>& s = batch.at(Size(sequence));
  return {Numbers(s.memory), Numbers(s.inputs.further.Find("chunk_keys")),
          Numbers(s.states), Numbers(s.inputs.further.Find("chunk_states"))};
}

class EveryWorkload : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(OfStates, EveryWorkload,
                         ::testing::Values("uniform", "planted", "diagonal",
                                           "bias:-1.5", "symbols:8:4"));

TEST_P(EveryWorkload, HasNoMoreDrawsThanAreAskedFor) {
  WorkloadSpec spec = Spec(GetParam());
  spec.most_draws = 2;
  EXPECT_EQ(MakeWorkload<float>(spec)->num_draws(), 2);
}

TEST_P(EveryWorkload, GivesBothPrecisionsTheSameNumbers) {
  const auto floats = MakeWorkload<float>(Spec(GetParam()));
  const auto doubles = MakeWorkload<double>(Spec(GetParam()));
  ASSERT_EQ(floats->num_draws(), 16);
  ASSERT_EQ(doubles->num_draws(), 16);
  for (const int draw : {0, 15}) {
    EXPECT_EQ(Arrays(*floats, draw, 1), Arrays(*doubles, draw, 1));
    EXPECT_EQ(floats->Draw(draw, EnergyKind::kDot)[0].inputs.energy_bias,
              doubles->Draw(draw, EnergyKind::kDot)[0].inputs.energy_bias);
  }
}

TEST_P(EveryWorkload, GivesADrawTheSameNumbersInAnyOrder) {
  const auto forwards = MakeWorkload<float>(Spec(GetParam()));
  const auto backwards = MakeWorkload<float>(Spec(GetParam()));
  const auto first = Arrays(*forwards, 0, 0);
  Arrays(*backwards, 9, 1);
  EXPECT_EQ(Arrays(*backwards, 0, 0), first);
  EXPECT_EQ(Arrays(*forwards, 0, 0), first);
}

TEST(Workload, GivesAMechanismOnlyTheInputsThatItDeclares) {
  const auto workload = MakeWorkload<double>(Spec("uniform"));
  const auto names = [&](const Description& mechanism) {
    std::vector<std::string> found;
    const auto batch = workload->DrawFor(mechanism, 1, EnergyKind::kDot);
    for (const auto& one : batch.at(1).inputs.further) {
      found.push_back(one.name);
    }
    return found;
  };
  EXPECT_THAT(names({}), ::testing::IsEmpty());
  EXPECT_THAT(names({.further = {kChunkStatesInput}}),
              ::testing::ElementsAre("chunk_states"));
  const auto all = workload->Draw(1, EnergyKind::kDot);
  const auto own =
      workload->DrawFor({.further = {kChunkStatesInput}}, 1, EnergyKind::kDot);
  EXPECT_EQ(own[1].inputs.further.Find("chunk_states").data,
            all[1].inputs.further.Find("chunk_states").data);
  EXPECT_EQ(own[1].memory.data, all[1].memory.data);
}

TEST(Uniform, FillsEveryArrayWithNumbersOfItsOwn) {
  const auto workload = MakeWorkload<double>(Spec("uniform", 50, 40, 9));
  std::set<std::vector<double>> all;
  for (const int draw : {0, 1}) {
    for (const Index sequence : {0, 1}) {
      for (auto& array : Arrays(*workload, draw, sequence)) {
        for (const double number : array) {
          EXPECT_GE(number, -1);
          EXPECT_LT(number, 1);
        }
        array.resize(40 * 9);  // states are shorter than the memory
        EXPECT_TRUE(all.insert(array).second);
      }
    }
  }
}

TEST(Uniform, MakesFewerDrawsOfLargeArrays) {
  // 2 (T + U) d doubles are 64 MiB.
  EXPECT_EQ(MakeWorkload<float>(Spec("uniform", 1 << 14, 1 << 14, 128, 1))
                ->num_draws(),
            4);
}

TEST(Uniform, RefusesArraysThatNoMachineHolds) {
  for (const Index length : {Index{1} << 38, Index{1} << 60}) {
    EXPECT_THROW(MakeWorkload<float>(Spec("uniform", length)), std::bad_alloc);
    EXPECT_THROW(MakeWorkload<float>(Spec("uniform", 4, length)),
                 std::bad_alloc);
    EXPECT_THROW(MakeWorkload<float>(Spec("wait_k:1", length, length)),
                 std::bad_alloc);
  }
}

TEST(Parameters, HaveVarianceOneOverColumnsAndAreShared) {
  const auto workload = MakeWorkload<float>(Spec("uniform"));
  const auto& a = *workload->Draw(0, EnergyKind::kDot)[0].inputs.parameters;
  const auto& b = *workload->Draw(3, EnergyKind::kDot)[1].inputs.parameters;
  const auto matrix = a.Matrix("attention.W", 100, 64);
  EXPECT_EQ(matrix.data, b.Matrix("attention.W", 100, 64).data);
  EXPECT_NE(Numbers(matrix), Numbers(a.Matrix("attention.V", 100, 64)));
  double square = 0;
  for (const double value : Numbers(matrix)) square += value * value;
  EXPECT_NEAR(square / 6400, 1.0 / 64, 0.05 / 64);
  const auto doubles = MakeWorkload<double>(Spec("uniform"));
  EXPECT_EQ(
      Numbers(doubles->Draw(0, EnergyKind::kDot)[0].inputs.parameters->Matrix(
          "attention.W", 100, 64)),
      Numbers(matrix));
}

class Diagonal : public ::testing::TestWithParam<EnergyKind> {};
INSTANTIATE_TEST_SUITE_P(Energies, Diagonal,
                         ::testing::Values(EnergyKind::kDot,
                                           EnergyKind::kBilinear,
                                           EnergyKind::kAdditive,
                                           EnergyKind::kNormalizedAdditive,
                                           EnergyKind::kScaledBilinear));

TEST_P(Diagonal, ChoosesAsOftenAsTheScanNeeds) {
  const auto workload = MakeWorkload<double>(Spec("diagonal", 60, 20, 8, 1));
  Config config;
  config.dim = 8;
  config.energy = GetParam();
  int chosen = 0;
  int all = 0;
  for (int draw = 0; draw < workload->num_draws(); ++draw) {
    const auto s = workload->Draw(draw, GetParam())[0];
    const ReferenceEnergy<double> a(config, s.inputs, EnergyRole::kAttention);
    for (Index i = 0; i < 20; ++i) {
      for (Index j = 0; j < 60; ++j, ++all) {
        const auto e = a(i, j, s.states.Row(i), s.memory.Row(j));
        chosen += e.value >= 0 ? 1 : 0;
      }
    }
  }
  // U / (T + U) = 1/4, estimated from 4096 pairs.
  EXPECT_NEAR(static_cast<double>(chosen) / all, 0.25, 0.04);
}

TEST(Bias, IsWhatWasGiven) {
  const auto workload = MakeWorkload<float>(Spec("bias:-1.5"));
  EXPECT_EQ(workload->Draw(0, EnergyKind::kDot)[0].inputs.energy_bias, -1.5F);
}

// Most energies are near A or -B, of which one in T / U + 1 is a copy, and a
// scan of them goes about to the end.
TEST(Symbols, HaveEnergiesOfCopiesAndOfTheBackground) {
  constexpr Index kEntries = 400, kOutputs = 50;
  const auto workload =
      MakeWorkload<double>(Spec("symbols:9:4", kEntries, kOutputs));
  for (const EnergyKind energy : {EnergyKind::kDot, EnergyKind::kAdditive}) {
    const auto sequence = workload->Draw(0, energy)[1];
    ASSERT_NE(sequence.states.data, nullptr);
    const auto energies = sequence.inputs.captured.Find("energies");
    ASSERT_EQ(energies.rows, kOutputs);
    ASSERT_EQ(energies.cols, kEntries);
    int copies = 0;
    double square = 0;
    Index at = 0;
    for (Index i = 0; i < kOutputs; ++i) {
      for (Index j = 0; j < kEntries; ++j) {
        const bool is_copy = energies(i, j) > 2.5;
        const double noise = energies(i, j) - (is_copy ? 9 : -4);
        EXPECT_LE(std::abs(noise), 3.5);
        copies += is_copy;
        square += noise * noise;
      }
      while (at < kEntries - 1 && energies(i, at) < 2.5) ++at;
    }
    EXPECT_NEAR(copies, kOutputs * kEntries / 9, 400);
    EXPECT_NEAR(square / (kOutputs * kEntries), 1, 0.05);
    EXPECT_GT(at, kEntries / 2);
  }
}

TEST(WaitK, ChoosesFromEntryIPlusKMinusOneOn) {
  const auto workload = MakeWorkload<float>(Spec("wait_k:3"));
  const auto sequence = workload->Draw(0, EnergyKind::kDot)[0];
  ASSERT_FALSE(sequence.inputs.scores.empty());
  EXPECT_EQ(sequence.states.data, nullptr);
  const auto p = sequence.inputs.scores.Find("p_choose");
  for (Index i = 1; i <= 5; ++i) {
    for (Index j = 1; j <= 7; ++j) {
      EXPECT_EQ(p(i - 1, j - 1), j >= i + 3 - 1 ? 1 : 0) << i << " " << j;
    }
  }
  EXPECT_EQ(sequence.inputs.scores.Find("chunk_energies").rows, 5);
}

TEST(Planted, ServesDotOnly) {
  const auto workload = MakeWorkload<float>(Spec("planted"));
  EXPECT_THROW(workload->Draw(0, EnergyKind::kBilinear), WorkloadUnsupported);
}

class FromFile : public ::testing::Test {
 protected:
  std::string Workload(const std::string& inputs) {
    std::ofstream(path_) << R"({"mechanism": "monotonic", "inputs": )" << inputs
                         << "}";
    return "file:" + path_;
  }
  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/case.json";
};

TEST_F(FromFile, TakesStatesAndMemory) {
  const auto workload =
      MakeWorkload<float>(Spec(Workload(R"({"memory": [[1, 2], [3, 4], [5, 6]],
                        "states": [[7, 8]]})"),
                               3, 1, 2, 1));
  EXPECT_EQ(workload->num_draws(), 1);
  const auto sequence = workload->Draw(0, EnergyKind::kDot)[0];
  EXPECT_THAT(Numbers(sequence.memory),
              ::testing::ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(Numbers(sequence.states), ::testing::ElementsAre(7, 8));
  EXPECT_TRUE(sequence.inputs.scores.empty());
}

TEST_F(FromFile, TakesScoresAndDrawsTheMemoryThatIsMissing) {
  const auto workload = MakeWorkload<double>(
      Spec(Workload(R"({"p_choose": [[0, 1, 0.25]]})"), 3, 1, 4, 1));
  const auto sequence = workload->Draw(0, EnergyKind::kDot)[0];
  ASSERT_FALSE(sequence.inputs.scores.empty());
  EXPECT_THAT(Numbers(sequence.inputs.scores.Find("p_choose")),
              ::testing::ElementsAre(0, 1, 0.25));
  EXPECT_EQ(sequence.memory.rows, 3);
}

TEST_F(FromFile, IsSkippedWhereThePointHasOtherLengths) {
  const std::string name = Workload(R"({"p_choose": [[0, 1, 0.25]]})");
  const struct {
    Index T, U, batch;
    const char* message;
  } wrong[] = {{4, 1, 1, "has T = 3, the point has 4"},
               {3, 2, 1, "has U = 1, the point has 2"},
               {3, 1, 2, "one sequence"}};
  for (const auto& [T, U, batch, message] : wrong) {
    try {
      MakeWorkload<float>(Spec(name, T, U, 4, batch));
      ADD_FAILURE() << message;
    } catch (const WorkloadUnsupported& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }
}

TEST_F(FromFile, IsAUsersMistakeWhereItCannotBeRead) {
  EXPECT_THROW(MakeWorkload<float>(Spec("file:" + path_ + ".absent")),
               UserError);
  EXPECT_THROW(
      MakeWorkload<float>(Spec(Workload(R"({"memory": [[1]]})"), 1, 1, 1, 1)),
      UserError);
}

}  // namespace
}  // namespace attnbench
