// Guards against a gate that lets a wrong expectation or gradient through: then
// a speed could be that of a wrong answer.
#include "harness/measure/training_gate.h"

#include <gmock/gmock.h>

#include <cmath>

#include "mechanisms/registry.h"
#include "tests/harness/measure/fake_training.h"

namespace attnbench {
namespace {

using ::attnbench::testing::FakeTraining;
using ::attnbench::testing::TrainingDefect;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr Index kT = 6;
constexpr Index kU = 4;
constexpr Index kBatch = 2;
using Made = TrainingSequence<float>;

struct Way {
  Mode mode;
  bool attention_only;
};
constexpr Way kWays[] = {{Mode::kExpect, false},
                         {Mode::kExpect, true},
                         {Mode::kGradient, false},
                         {Mode::kGradient, true}};

Config ConfigOf(const Way& way) {
  Config config = DefaultConfig(FakeTraining().Describe());
  config.dim = 3;
  config.mode = way.mode;
  return config;
}

PointInputs<float> SmallInputs() {
  return PointInputs<float>({.workload = "uniform",
                             .memory_length = kT,
                             .output_length = kU,
                             .dim = 3,
                             .batch = kBatch});
}

TrainingRequest RequestOf(const Way& way) {
  TrainingRequest request;
  request.attention_only = way.attention_only;
  request.mechanism = &FakeTraining().Describe();
  return request;
}

GateResult Check(const FakeTraining& mechanism, const Way& way,
                 const char* variant = "exact") {
  auto inputs = SmallInputs();
  Config config = ConfigOf(way);
  config.variant = variant;
  return CheckTraining<float>(mechanism, config, RequestOf(way), 1, inputs);
}

std::string MessageOf(TrainingDefect defect, const Way& way) {
  return Check(FakeTraining(std::move(defect)), way).message;
}

TEST(TrainingGate, LetsARightOutputThrough) {
  for (const Way& way : kWays) {
    const FakeTraining mechanism;
    const GateResult result = Check(mechanism, way);
    EXPECT_EQ(result.message, "");
    EXPECT_EQ(result.error, 0);
    EXPECT_GT(result.error_bound, 0);
    EXPECT_LT(result.error_bound, 1e-4);
    // The gate takes 16 draws, each alone and in a batch.
    EXPECT_EQ(mechanism.num_calls(), 16 * 2 * kBatch);
  }
}

TEST(TrainingGate, LetsRoundingThroughAndReportsIt) {
  const FakeTraining mechanism(
      [](int, const Made& made) { made.expectation.attention(0, 0) += 3e-8F; });
  const GateResult result = Check(mechanism, {Mode::kExpect, true});
  EXPECT_EQ(result.message, "");
  EXPECT_NEAR(result.error, 3e-8, 2e-8);
}

// A weight of MoChA is a sum over the chunks that it is in, each of which loses
// what is below the normal numbers.
TEST(TrainingGate, LetsUnderflowOfEachTermThrough) {
  const Mechanism<float>& mocha = *FindMechanism<float>("mocha");
  const Way way = {Mode::kExpect, true};
  for (const char* const workload : {"bias:-4", "bias:-6", "bias:-8"}) {
    PointInputs<float> inputs({.workload = workload,
                               .memory_length = 32,
                               .output_length = 64,
                               .dim = 4,
                               .batch = 1});
    Config config = DefaultConfig(mocha.Describe());
    config.dim = 4;
    config.mode = way.mode;
    config.options["chunk_width"] = 8;
    TrainingRequest request = RequestOf(way);
    request.mechanism = &mocha.Describe();
    const GateResult result =
        CheckTraining<float>(mocha, config, request, 1, inputs);
    EXPECT_EQ(result.message, "") << workload;
    EXPECT_GT(result.error, 0) << workload;
    EXPECT_LT(result.error_bound, 1e-4) << workload;
  }
}

// The defect is in one element, of output 3 and of the second sequence, in
// every array.
TEST(TrainingGate, SeesOneWrongElementOfEveryArrayAndNamesItsPlace) {
  using View = MatrixView<float>;
  const struct {
    Way way;
    const char* name;
    std::function<View(const Made&)> array;
  } arrays[] = {
      {{Mode::kExpect, true},
       "attention",
       [](const Made& made) { return made.expectation.attention; }},
      {{Mode::kExpect, false},
       "contexts",
       [](const Made& made) { return made.sequence.contexts; }},
      {{Mode::kGradient, true},
       "attention",
       [](const Made& made) { return made.expectation.attention; }},
      {{Mode::kGradient, true},
       "gradient of energies",
       [](const Made& made) { return made.gradients.scores.Find("energies"); }},
      {{Mode::kGradient, false},
       "contexts",
       [](const Made& made) { return made.sequence.contexts; }},
      {{Mode::kGradient, false},
       "gradient of memory",
       [](const Made& made) { return made.gradients.memory; }},
      {{Mode::kGradient, false}, "gradient of states", [](const Made& made) {
         return made.gradients.states;
       }}};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [way, name, array] : arrays) {
    for (const float error : {1e-3F, -0.5F, nan}) {
      const std::string message = MessageOf(
          [&, &view_of = array](int call, const Made& made) {
            if (call == 1) view_of(made)(2, 1) += error;
          },
          way);
      EXPECT_THAT(message,
                  AllOf(HasSubstr(std::string(name) +
                                  " [3, 2] of draw 0, sequence 2: differs by"),
                        HasSubstr("bound")))
          << error;
    }
  }
}

TEST(TrainingGate, SeesAWrongAndADroppedGradientOfAParameter) {
  const Way way{Mode::kGradient, false};
  EXPECT_THAT(MessageOf(
                  [](int, const Made& made) {
                    made.gradients.parameters->Matrix("fake.w", 1, 1)(0, 0) *=
                        1.01F;
                  },
                  way),
              HasSubstr("gradient of fake.w [1, 1] of draw 0, sequence 1"));
  EXPECT_THAT(MessageOf(
                  [](int, const Made& made) {
                    made.gradients.parameters->Matrix("of nothing", 1, 2)(
                        0, 1) = 1;
                  },
                  way),
              HasSubstr("gradient of of nothing [1, 2]"));
  const FakeTraining dropped([](int, const Made&) {}, "fake.w");
  EXPECT_THAT(Check(dropped, way).message, HasSubstr("gradient of fake.w"));
}

// The arrays hold the right output of another cell.
TEST(TrainingGate, SeesAnArrayThatIsNotWritten) {
  const struct {
    const char* name;
    bool attention_only;
  } arrays[] = {{"energies", true}, {"states", false}, {"memory", false}};
  for (const auto& [name, attention_only] : arrays) {
    const Way way{Mode::kGradient, attention_only};
    auto inputs = SmallInputs();
    const auto batch = inputs.Training(0, ConfigOf(way), RequestOf(way));
    TrainBatch<float>(FakeTraining(), ConfigOf(way), batch.sequences, 1);
    const FakeTraining lazy([](int, const Made&) {}, name);
    EXPECT_THAT(
        CheckTraining<float>(lazy, ConfigOf(way), RequestOf(way), 1, inputs)
            .message,
        HasSubstr(std::string("gradient of ") + name + " [1, 1]"));
  }
}

TEST(TrainingGate, SeesADefectOfALaterDraw) {
  EXPECT_THAT(MessageOf(
                  [](int call, const Made& made) {
                    if (call == 3 * 2 * kBatch) {
                      made.sequence.contexts(0, 0) += 1;
                    }
                  },
                  {Mode::kExpect, false}),
              HasSubstr("contexts [1, 1] of draw 3, sequence 1"));
}

TEST(TrainingGate, SeesABatchThatIsNotItsSequencesAlone) {
  for (const Way& way : kWays) {
    EXPECT_THAT(MessageOf(
                    [](int call, const Made& made) {
                      if (call != kBatch + 1) return;
                      const MatrixView<float>& values =
                          made.expectation.attention.data != nullptr
                              ? made.expectation.attention
                              : made.sequence.contexts;
                      values(1, 1) = std::nextafter(values(1, 1), 9.0F);
                    },
                    way),
                HasSubstr("sequence 2 of draw 0: in a batch on 1 threads"));
  }
}

TEST(TrainingGate, RecordsTheErrorOfAPublishedVariantAndLetsItThrough) {
  const FakeTraining wrong([](int call, const Made& made) {
    if (call == 0) made.expectation.attention(0, 0) += 0.5F;
    // The batch has the same bits.
    if (call == kBatch) made.expectation.attention(0, 0) += 0.5F;
  });
  GateResult result = Check(wrong, {Mode::kExpect, true}, "published");
  EXPECT_EQ(result.message, "");
  EXPECT_NEAR(result.error, 0.5, 1e-6);
  EXPECT_TRUE(std::isnan(result.error_bound));
  const FakeTraining infinite([](int, const Made& made) {
    made.expectation.attention(0, 0) = std::numeric_limits<float>::quiet_NaN();
  });
  result = Check(infinite, {Mode::kExpect, true}, "published");
  EXPECT_EQ(result.message, "");
  EXPECT_TRUE(std::isnan(result.error));
}

// What a bound says of each array, and of which it says nothing.
TEST(TrainingGate, LetsAnErrorThroughUpToTheBoundOfTheVariant) {
  using Array = float& (*)(const Made& made);
  const struct {
    Way way;
    const char* name;
    Array element;
    double allowed;  // 0: any error
  } cases[] = {
      {{Mode::kExpect, true},
       "attention",
       [](const Made& made) -> float& {
         return made.expectation.attention(1, 2);
       },
       0.01},
      {{Mode::kExpect, false},
       "contexts",
       [](const Made& made) -> float& { return made.sequence.contexts(1, 2); },
       0.01},  // entries are within 1
      {{Mode::kGradient, true},
       "gradient of energies",
       [](const Made& made) -> float& {
         return made.gradients.scores.Find("energies")(1, 2);
       },
       1.5 * 0.01 * kU},  // cotangents are within 1
      {{Mode::kGradient, false},
       "gradient of memory",
       [](const Made& made) -> float& { return made.gradients.memory(1, 2); },
       0},
  };
  for (const auto& one : cases) {
    const auto check = [&](float error) {
      return Check(FakeTraining([&](int, const Made& made) {
                     one.element(made) += error;
                   }),
                   one.way, "bounded");
    };
    if (one.allowed == 0) {
      EXPECT_EQ(check(10).message, "") << one.name;
      continue;
    }
    const auto allowed = static_cast<float>(one.allowed);
    const GateResult right = check(0.8F * allowed);
    EXPECT_EQ(right.message, "") << one.name;
    EXPECT_GE(right.error, 0.75 * one.allowed) << one.name;
    EXPECT_GE(right.error_bound, 0.8 * one.allowed) << one.name;
    EXPECT_THAT(check(1.1F * allowed).message, HasSubstr(one.name));
  }
}

// A certificate is one of the L1 error of a row: elements that are each within
// it may be too many.
TEST(TrainingGate, HoldsTheSumOfARowsErrorsToItsCertificate) {
  const Way way = {Mode::kExpect, true};
  const auto check = [&](float error, std::vector<double> mass_cut) {
    return Check(FakeTraining([&](int, const Made& made) {
                   for (float& weight : made.expectation.attention.Row(1)) {
                     weight += error / kT;
                   }
                   if (made.expectation.band == nullptr) return;
                   made.expectation.band->mass_cut = mass_cut;
                 }),
                 way, "bounded")
        .message;
  };
  EXPECT_EQ(check(0.0099F, {}), "");
  EXPECT_THAT(check(0.0101F, {}), HasSubstr("attention [2] of draw 0"));
  EXPECT_THAT(check(0.01F * kT, {}), HasSubstr("attention [2] of draw 0"));
  EXPECT_EQ(check(0.0039F, {0, 0.004, 0.004, 0.01}), "");
  EXPECT_THAT(check(0.0041F, {0, 0.004, 0.01, 0.01}),
              HasSubstr("differs by 0.0041 from the reference, bound 0.004"));
  // A certificate beyond the bound is none.
  EXPECT_NE(check(0.0101F, {1, 1, 1, 1}), "");
}

// An output takes T (T + d) multiply-adds: half of the budget is enough for 16
// outputs, a fifteenth of the other half for one.
TEST(TrainingGate, ChecksTheFirstOutputsOfEveryDrawWhereTheReferenceIsSlow) {
  PointInputs<float> inputs({.workload = "uniform",
                             .memory_length = 2000,
                             .output_length = 20,
                             .dim = 3});
  std::vector<Index> rows;
  const FakeTraining mechanism([&](int, const Made& made) {
    rows.push_back(made.sequence.contexts.rows);
  });
  const Way way{Mode::kExpect, false};
  EXPECT_EQ(
      CheckTraining<float>(mechanism, ConfigOf(way), RequestOf(way), 1, inputs)
          .message,
      "");
  std::vector<Index> expected = {16, 16};
  expected.resize(2 * 16, 1);
  EXPECT_EQ(rows, expected);
}

TEST(TrainingGate, RefusesToCheckWhatRoundingAloneMayDecide) {
  PointInputs<float> inputs({.workload = "bias:1e7",
                             .memory_length = kT,
                             .output_length = kU,
                             .dim = 3});
  const Way way{Mode::kExpect, false};
  EXPECT_THROW(CheckTraining<float>(FakeTraining(), ConfigOf(way),
                                    RequestOf(way), 1, inputs),
               std::runtime_error);
}

}  // namespace
}  // namespace attnbench
