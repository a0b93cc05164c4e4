// Guards against training something else than what decodes: another softmax
// axis, a position encoding in the wrong place or forgotten on the way back, a
// gradient of scores taken after the score, or one of two paths (scores and
// values) into the memory dropped.
#include "mechanisms/memory/memory_training.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/drawn_inputs.h"
#include "tests/support/finite_difference.h"

namespace attnbench {
namespace {

using testing::DecodeKeepingSteps;
using testing::DefaultConfig;
using testing::Differentiated;
using testing::DrawnInputs;
using testing::ExpectClose;
using testing::Padded;

template <class Real>
const Mechanism<Real>& TheMechanism() {
  static const auto mechanism = memory::MakeMechanism<Real>();
  return *mechanism;
}

template <class Real>
Config ConfigOf(Index K, Index d) {
  Config config = DefaultConfig(TheMechanism<Real>(), d);
  config.options["num_contexts"] = K;
  config.want_weights = true;
  return config;
}

// Runs `body` with every scoring, position encoding and place.
template <class Real, class Body>
void ForAll(Index K, Index d, const Body& body) {
  Config config = ConfigOf<Real>(K, d);
  for (const std::string encoder : {"softmax", "sigmoid"}) {
    for (const std::string decoder : {"softmax", "sigmoid"}) {
      for (const std::string encoding :
           {"none", "raw", "renormalized", "renormalized_mean"}) {
        for (const std::string place : {"inside", "outside"}) {
          SCOPED_TRACE(encoder + " " + decoder + " " + encoding + " " + place);
          config.options["encoder_scoring"] = encoder;
          config.options["decoder_scoring"] = decoder;
          config.options["position_encoding"] = encoding;
          config.options["place"] = place;
          body(config);
        }
      }
    }
  }
}

// A sequence, from states or from scores, with cotangents of attention and
// contexts, and everything that training makes of it, in padded rows.
template <class Real>
class Problem {
 public:
  Problem(const Config& config, Index T, Index U, bool scores_given)
      : config_(config),
        inputs_(T, U, config.dim, 3),
        scores_(T, U, config.Option<Index>("num_contexts"), 4),
        d_attention_(T, 1, U, 5),
        d_contexts_(1, U, config.dim, 6),
        scores_given_(scores_given),
        attention_(U, T, Real{7}),
        contexts_(U, config.dim, Real{7}),
        to_encoder_(T, config.Option<Index>("num_contexts"), Real{7}),
        to_decoder_(U, config.Option<Index>("num_contexts"), Real{7}),
        to_memory_(T, config.dim, Real{7}),
        to_states_(U, config.dim, Real{7}) {
    for (Real& x : scores_.memory) x *= 2;
    const Index K = config.Option<Index>("num_contexts");
    given_.Set("encoder_scores", {scores_.memory.data(), T, K});
    given_.Set("decoder_scores", {scores_.states.data(), U, K});
  }

  Sequence<Real> View() {
    Sequence<Real> sequence = inputs_.View();
    sequence.contexts = contexts_.View();
    if (scores_given_) {
      sequence.inputs.scores = given_;
      sequence.inputs.parameters = nullptr;
      sequence.states = {};
    }
    return sequence;
  }
  Expectation<Real> Out() {
    Expectation<Real> out;
    out.attention = attention_.View();
    return out;
  }
  Cotangent<Real> GivenCotangent() const {
    return {{d_attention_.memory.data(), inputs_.U, inputs_.T},
            {d_contexts_.states.data(), inputs_.U, inputs_.d}};
  }
  Gradients<Real> Wanted() {
    Gradients<Real> wanted;
    wanted.scores.Set("encoder_scores", to_encoder_.View());
    wanted.scores.Set("decoder_scores", to_decoder_.View());
    wanted.memory = to_memory_.View();
    wanted.states = to_states_.View();
    wanted.parameters = &parameters_;
    return wanted;
  }

  void Expect() { TheMechanism<Real>().Expect(config_, View(), Out()); }
  void Gradient(const Cotangent<Real>& cotangent) {
    TheMechanism<Real>().Gradient(config_, View(), cotangent, Out(), Wanted());
  }
  void Gradient() { Gradient(GivenCotangent()); }

  double Loss() {
    Expect();
    double sum = 0;
    const std::vector<Real> attention = attention_.Rows();
    for (std::size_t n = 0; n < attention.size(); ++n) {
      sum += static_cast<double>(attention[n] * d_attention_.memory[n]);
    }
    const std::vector<Real> contexts = contexts_.Rows();
    for (std::size_t n = 0; n < contexts.size(); ++n) {
      sum += static_cast<double>(contexts[n] * d_contexts_.states[n]);
    }
    return sum;
  }

  // Everything that Gradient wrote.
  std::map<std::string, std::vector<Real>> Made() {
    std::map<std::string, std::vector<Real>> made = {
        {"attention", attention_.Rows()},
        {"contexts", contexts_.Rows()},
        {"encoder_scores", to_encoder_.Rows()},
        {"decoder_scores", to_decoder_.Rows()},
        {"to_memory", to_memory_.Rows()},
        {"to_states", to_states_.Rows()}};
    for (const auto& [name, values] : parameters_.arrays()) {
      made[name].assign(values.begin(), values.end());
    }
    return made;
  }
  bool PaddingIsUntouched() const {
    return attention_.PaddingIsUntouched() && contexts_.PaddingIsUntouched() &&
           to_encoder_.PaddingIsUntouched() &&
           to_decoder_.PaddingIsUntouched() &&
           to_memory_.PaddingIsUntouched() && to_states_.PaddingIsUntouched();
  }

  // Everything that the loss depends on, with the gradients in `made`.
  std::vector<Differentiated> Inputs(
      const std::map<std::string, std::vector<Real>>& made) {
    std::vector<Differentiated> all = {
        {"memory", inputs_.memory, made.at("to_memory")}};
    if (scores_given_) {
      all.push_back(
          {"encoder_scores", scores_.memory, made.at("encoder_scores")});
      all.push_back(
          {"decoder_scores", scores_.states, made.at("decoder_scores")});
      return all;
    }
    all.push_back({"states", inputs_.states, made.at("to_states")});
    for (const char* name : {"memory.encoder", "memory.decoder"}) {
      const auto view = inputs_.parameters.Matrix(
          name, config_.Option<Index>("num_contexts"), config_.dim);
      // The array is not const, so a derivative may move it.
      all.push_back(
          {name,
           {const_cast<Real*>(view.data), Size(view.rows * view.cols)},
           made.at(name)});
    }
    return all;
  }

  std::vector<Real>& states() { return inputs_.states; }
  ParameterGradients<Real>& parameters() { return parameters_; }
  NamedViews<const Real>& given() { return given_; }

 private:
  const Config config_;
  DrawnInputs<Real> inputs_;
  DrawnInputs<Real> scores_;       // memory, states: encoder, decoder scores
  DrawnInputs<Real> d_attention_;  // its memory [T, U] holds [U, T]
  DrawnInputs<Real> d_contexts_;   // its states
  const bool scores_given_;
  NamedViews<const Real> given_;
  Padded<Real> attention_, contexts_;
  Padded<Real> to_encoder_, to_decoder_, to_memory_, to_states_;
  ParameterGradients<Real> parameters_;
};

TEST(MemoryTrainingTest, EveryElementOfTheGradientIsTheDerivative) {
  for (const bool scores_given : {false, true}) {
    for (const Index K : {1, 3}) {
      ForAll<double>(K, 2, [&](const Config& config) {
        Problem<double> problem(config, 4, 3, scores_given);
        problem.Gradient();
        const auto made = problem.Made();
        for (const Differentiated& input : problem.Inputs(made)) {
          ExpectDerivatives(input, [&] { return problem.Loss(); });
        }
      });
    }
  }
}

TEST(MemoryTrainingTest, ADirectionThroughALargeProblemIsTheDerivative) {
  ForAll<double>(8, 24, [](const Config& config) {
    Problem<double> problem(config, 30, 20, false);
    problem.Gradient();
    const auto made = problem.Made();
    ExpectDirectionalDerivative(problem.Inputs(made),
                                [&] { return problem.Loss(); });
  });
}

template <class Real>
class MemoryTrainingOf : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MemoryTrainingOf, Precisions);

template <class Real>
constexpr double kTolerance = std::is_same_v<Real, float> ? 2e-5 : 1e-13;

template <class Real>
void ExpectSame(Problem<Real>& actual, Problem<Real>& expected) {
  const auto made = actual.Made();
  for (const auto& [name, values] : expected.Made()) {
    ExpectClose<Real>(made.at(name), values, kTolerance<Real>, name);
  }
  EXPECT_TRUE(actual.PaddingIsUntouched());
  EXPECT_TRUE(expected.PaddingIsUntouched());
}

TYPED_TEST(MemoryTrainingOf, AgreesWithItsReference) {
  using Real = TypeParam;
  for (const bool scores_given : {false, true}) {
    for (const Index K : {1, 5}) {
      ForAll<Real>(K, 7, [&](Config config) {
        Problem<Real> exact(config, 21, 13, scores_given);
        config.variant = "reference";
        Problem<Real> reference(config, 21, 13, scores_given);
        exact.Gradient();
        reference.Gradient();
        ExpectSame(exact, reference);
      });
    }
  }
}

TYPED_TEST(MemoryTrainingOf, IsWhatDecodes) {
  using Real = TypeParam;
  for (const bool scores_given : {false, true}) {
    ForAll<Real>(3, 6, [&](const Config& config) {
      Problem<Real> problem(config, 11, 7, scores_given);
      problem.Expect();
      const auto made = problem.Made();
      DrawnInputs<Real> contexts(0, 7, 6, 1);
      Sequence<Real> sequence = problem.View();
      sequence.contexts = contexts.View().contexts;
      const auto steps =
          DecodeKeepingSteps(TheMechanism<Real>(), config, sequence);
      std::vector<Real> weights;
      for (const auto& step : steps) {
        weights.insert(weights.end(), step.weights.begin(), step.weights.end());
      }
      ExpectClose<Real>(made.at("attention"), weights, kTolerance<Real>,
                        "attention");
      ExpectClose<Real>(made.at("contexts"), contexts.contexts,
                        kTolerance<Real>, "contexts");
    });
  }
}

// Each cotangent is given alone, and together they give the sum.
TYPED_TEST(MemoryTrainingOf, CotangentsAddUpAndNoneIsZero) {
  using Real = TypeParam;
  for (const char* variant : {"exact", "reference"}) {
    Config config = ConfigOf<Real>(4, 5);
    config.variant = variant;
    Problem<Real> both(config, 6, 5, false), none(config, 6, 5, false);
    Problem<Real> parts[] = {Problem<Real>(config, 6, 5, false),
                             Problem<Real>(config, 6, 5, false)};
    both.Gradient();
    none.Gradient({});
    const auto zeros = none.Made();
    Cotangent<Real> cotangent = parts[0].GivenCotangent();
    cotangent.contexts = {};
    parts[0].Gradient(cotangent);
    cotangent = parts[1].GivenCotangent();
    cotangent.attention = {};
    parts[1].Gradient(cotangent);
    for (const auto& [name, values] : both.Made()) {
      if (name == "attention" || name == "contexts") continue;
      std::vector<Real> sum = parts[0].Made().at(name);
      for (std::size_t n = 0; n < sum.size(); ++n) {
        sum[n] += parts[1].Made().at(name)[n];
      }
      ExpectClose<Real>(sum, values, kTolerance<Real>, name);
      for (const Real x : zeros.at(name)) EXPECT_EQ(x, 0) << name;
    }
  }
}

// K = 1 and d = 1 make vectors of the matrices, with a stride between elements.
TYPED_TEST(MemoryTrainingOf, ReadsNoPaddingAndAddsToParametersOnly) {
  using Real = TypeParam;
  for (const Index K : {1, 3}) {
    for (const Index d : {1, 5}) {
      const Config config = ConfigOf<Real>(K, d);
      Problem<Real> once(config, 8, 6, false), twice(config, 8, 6, false);
      once.Gradient();
      twice.Gradient();
      Sequence<Real> sequence = twice.View();
      Padded<Real> memory(sequence.memory), states(sequence.states);
      sequence.memory = memory.View();
      sequence.states = states.View();
      TheMechanism<Real>().Gradient(config, sequence, twice.GivenCotangent(),
                                    twice.Out(), twice.Wanted());
      const auto made = twice.Made();
      for (auto [name, values] : once.Made()) {
        if (name.starts_with("memory.")) {
          for (Real& x : values) x *= 2;
        }
        ExpectClose<Real>(made.at(name), values, kTolerance<Real>, name);
      }
    }
  }
}

TYPED_TEST(MemoryTrainingOf, AnEmptyMemoryGivesZeros) {
  using Real = TypeParam;
  for (const char* variant : {"exact", "reference"}) {
    ForAll<Real>(3, 4, [&](Config config) {
      config.variant = variant;
      Problem<Real> problem(config, 0, 2, false);
      problem.Gradient();
      for (const auto& [name, values] : problem.Made()) {
        for (const Real x : values) EXPECT_EQ(x, 0) << name;
      }
    });
  }
}

// This makes attention alone, from scores alone.
TYPED_TEST(MemoryTrainingOf, GivenScoresNeedNoMemory) {
  using Real = TypeParam;
  for (const char* variant : {"exact", "reference"}) {
    Config config = ConfigOf<Real>(3, 4);
    config.variant = variant;
    Problem<Real> whole(config, 6, 5, true), scores_only(config, 6, 5, true);
    Cotangent<Real> cotangent = whole.GivenCotangent();
    cotangent.contexts = {};
    whole.Gradient(cotangent);
    Sequence<Real> sequence;
    sequence.inputs = scores_only.View().inputs;
    Gradients<Real> wanted;
    wanted.scores = scores_only.Wanted().scores;
    TheMechanism<Real>().Gradient(config, sequence, cotangent,
                                  scores_only.Out(), wanted);
    for (const char* name : {"attention", "encoder_scores", "decoder_scores"}) {
      EXPECT_EQ(scores_only.Made().at(name), whole.Made().at(name));
    }
  }
}

TYPED_TEST(MemoryTrainingOf, RefusesMissingScoresAndAMaximumBelowTheLength) {
  using Real = TypeParam;
  for (const char* variant : {"exact", "reference"}) {
    Config config = ConfigOf<Real>(3, 4);
    config.variant = variant;
    for (const bool encoder : {false, true}) {
      Problem<Real> problem(config, 6, 5, true);
      problem.given().Set(encoder ? "encoder_scores" : "decoder_scores", {});
      EXPECT_THROW(problem.Expect(), Unsupported);
      EXPECT_THROW(problem.Gradient(), Unsupported);
    }
    config.options["max_length"] = std::int64_t{5};
    Problem<Real> problem(config, 6, 5, false);
    EXPECT_THROW(problem.Expect(), Unsupported);
    EXPECT_THROW(problem.Gradient(), Unsupported);
    config.options["max_length"] = std::int64_t{6};
    Problem<Real>(config, 6, 5, false).Expect();
  }
}

// sigmoid(1000) is 1 and has the slope 0; a softmax of such scores takes one
// entry.
TYPED_TEST(MemoryTrainingOf, ExtremeScoresHaveFiniteGradients) {
  using Real = TypeParam;
  ForAll<Real>(3, 4, [](const Config& config) {
    Problem<Real> problem(config, 6, 5, false);
    for (Real& x : problem.states()) x *= 10000;
    problem.Gradient();
    for (const auto& [name, values] : problem.Made()) {
      for (const Real x : values) EXPECT_TRUE(std::isfinite(x)) << name;
    }
  });
}

// The sizes are T = 3, U = 2, K = 4, d = 5.
TEST(MemoryTrainingTest, CountsProductsAndTables) {
  Config config = ConfigOf<float>(4, 5);
  const std::vector<StepTrace> steps(2);
  const auto count = [&](Mode mode, bool scores_given) {
    config.mode = mode;
    return TheMechanism<float>().Count(config,
                                       {.memory_length = 3,
                                        .steps = steps,
                                        .scores_given = scores_given,
                                        .attention_only = scores_given});
  };
  const Operations decode = count(Mode::kDecode, false);
  const Operations expect = count(Mode::kExpect, false);
  EXPECT_EQ(expect.flops, decode.flops);
  EXPECT_EQ(expect.bytes, decode.bytes);
  EXPECT_EQ(expect.memory_rows, 3 + 2 * 4);
  const Operations gradient = count(Mode::kGradient, false);
  EXPECT_EQ(gradient.flops, expect.flops + (3 + 2) * (8 * 4 * 5 + 4 * 4));
  EXPECT_EQ(gradient.bytes, 3 * expect.bytes);
  EXPECT_EQ(gradient.memory_rows, 3 * expect.memory_rows);

  const Operations scores = count(Mode::kExpect, true);
  EXPECT_EQ(scores.flops, (3 + 2) * 5 * 4 + 2 * 2 * 3 * 4);
  EXPECT_EQ(scores.bytes, 4 * (4 * (3 + 2) + 2 * 3));
  EXPECT_EQ(scores.memory_rows, 0);
  EXPECT_EQ(count(Mode::kGradient, true).flops,
            scores.flops + (3 + 2) * 4 * 4 + 4 * 2 * 3 * 4);
  config.options["position_encoding"] = std::string("raw");
  EXPECT_EQ(count(Mode::kExpect, true).flops, scores.flops + 3 * 4);
  EXPECT_EQ(count(Mode::kGradient, false).flops, gradient.flops + 2 * 3 * 4);
}

}  // namespace
}  // namespace attnbench
