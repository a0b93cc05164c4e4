// Guards against faults between the steps of training that have tests of their
// own, for every registered mechanism: from memory and states, by every energy
// function, to contexts, and back to states, memory and parameters. These could
// be a batch that is not its sequences alone, padding that is read, a gradient
// that is dropped on the way.
#include "tests/support/training.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "harness/stats/central_difference.h"
#include "tests/support/full_scope.h"
#include "tests/support/property.h"

namespace attnbench {
namespace {

using testing::DefaultConfig;
using testing::DrawnInputs;
using testing::FullScope;
using testing::Has;
using testing::kEnergies;
using testing::OwnTable;
using testing::Rows;

template <class Real>
Config ConfigFor(const Mechanism<Real>& mechanism, Index dim) {
  Config config = DefaultConfig(mechanism, dim);
  config.mode = Mode::kGradient;
  config.options["chunk_width"] = 3;
  config.options["num_contexts"] = 4;
  return config;
}

template <class Real>
void RunOne(const Mechanism<Real>& mechanism, const Config& config,
            const TrainingSequence<Real>& one) {
  TrainBatch(mechanism, config, std::span(&one, 1), 1);
}

// The derivative d/dx of L = <d_contexts, contexts>, where `inputs` owns the
// element x.
double Difference(const Mechanism<double>& mechanism, const Config& config,
                  FullScope<double>& scope, double& x) {
  const auto loss = [&] {
    TrainingSequence<double> one = scope.View();
    mechanism.Expect(config, one.sequence, {});
    double sum = 0;
    for (Index i = 0; i < scope.inputs.U; ++i) {
      for (Index k = 0; k < scope.inputs.d; ++k) {
        sum += scope.d_contexts(i, k) * one.sequence.contexts(i, k);
      }
    }
    return sum;
  };
  return CentralDifference(x, 1e-5, loss);
}

void ExpectGradient(const Mechanism<double>& mechanism, const Config& config,
                    FullScope<double>& scope, std::vector<double>& inputs,
                    const OwnTable<double>& gradient, const std::string& what) {
  for (std::size_t n = 0; n < inputs.size(); ++n) {
    const double expected = Difference(mechanism, config, scope, inputs[n]);
    EXPECT_NEAR(gradient.values()[n], expected,
                1e-6 * std::max(1.0, std::abs(expected)))
        << what << " " << n;
  }
}

TEST(TrainingTest, GradientsOfStatesAndMemoryAreThoseOfFiniteDifferences) {
  for (const auto* mechanism : Mechanisms<double>()) {
    for (const EnergyKind energy : kEnergies) {
      if (energy != EnergyKind::kDot &&
          !Has(mechanism->Describe().axes, "energy")) {
        continue;
      }
      DrawnInputs<double> inputs(6, 4, 3, /*seed=*/5);
      FullScope<double> scope(inputs);
      Config config = ConfigFor(*mechanism, 3);
      config.energy = energy;
      RunOne(*mechanism, config, scope.View());
      const std::string name = mechanism->Describe().name + " energy " +
                               std::to_string(static_cast<int>(energy));
      ExpectGradient(*mechanism, config, scope, inputs.memory, scope.d_memory,
                     name + " memory");
      ExpectGradient(*mechanism, config, scope, inputs.states, scope.d_states,
                     name + " states");
      ExpectGradient(*mechanism, config, scope, inputs.chunk_keys,
                     scope.d_chunk_keys, name + " chunk keys");
      ExpectGradient(*mechanism, config, scope, inputs.chunk_states,
                     scope.d_chunk_states, name + " chunk states");
    }
  }
}

TEST(TrainingTest, GradientsOfGAndRAreThoseOfFiniteDifferences) {
  for (const char* name : {"soft", "monotonic", "mocha", "matcha"}) {
    const auto& mechanism = *FindMechanism<double>(name);
    for (const EnergyKind energy :
         {EnergyKind::kNormalizedAdditive, EnergyKind::kScaledBilinear}) {
      DrawnInputs<double> inputs(6, 4, 3, /*seed=*/6);
      FullScope<double> scope(inputs);
      Config config = ConfigFor(mechanism, 3);
      config.energy = energy;
      RunOne(mechanism, config, scope.View());
      const auto& arrays = scope.parameters.arrays();
      double g = arrays.at("attention.g")[0];
      if (arrays.contains("chunk.g")) g += arrays.at("chunk.g")[0];
      EXPECT_NEAR(g, Difference(mechanism, config, scope, scope.scale), 1e-7)
          << name;
      EXPECT_NEAR(arrays.at("attention.r")[0],
                  Difference(mechanism, config, scope, scope.bias), 1e-7)
          << name;
    }
  }
}

template <class Real>
void ExpectExactEqualsReference(double tolerance) {
  for (const auto* mechanism : Mechanisms<Real>()) {
    for (const EnergyKind energy : kEnergies) {
      std::vector<std::vector<Real>> found;
      for (const char* variant : {"exact", "reference"}) {
        DrawnInputs<Real> inputs(23, 9, 8, /*seed=*/7);
        FullScope<Real> scope(inputs);
        Config config = ConfigFor(*mechanism, 8);
        config.energy = energy;
        config.variant = variant;
        RunOne(*mechanism, config, scope.View());
        found.push_back(scope.Everything());
      }
      ASSERT_EQ(found[0].size(), found[1].size());
      for (std::size_t n = 0; n < found[0].size(); ++n) {
        const auto reference = static_cast<double>(found[1][n]);
        EXPECT_NEAR(static_cast<double>(found[0][n]), reference,
                    tolerance * std::max(1.0, std::abs(reference)))
            << mechanism->Describe().name << " " << n;
      }
    }
  }
}

TEST(TrainingTest, ExactEqualsTheReferenceInF32) {
  ExpectExactEqualsReference<float>(3e-5);
}
TEST(TrainingTest, ExactEqualsTheReferenceInF64) {
  ExpectExactEqualsReference<double>(1e-13);
}

// ---- batches ----

TEST(TrainingTest, ABatchOnAnyNumberOfThreadsIsItsSequencesAlone) {
  for (const auto* mechanism : Mechanisms<float>()) {
    const Index lengths[][2] = {{7, 3}, {1, 5}, {40, 2}, {13, 13}, {2, 1}};
    const Config config = ConfigFor(*mechanism, 5);
    std::vector<std::vector<float>> alone;
    for (const int threads : {0, 1, 2, 3, 8}) {  // 0: one by one
      std::vector<DrawnInputs<float>> inputs;
      unsigned seed = 0;
      for (const auto& [T, U] : lengths) inputs.emplace_back(T, U, 5, ++seed);
      std::vector<FullScope<float>> scopes(inputs.begin(), inputs.end());
      std::vector<TrainingSequence<float>> batch;
      for (FullScope<float>& scope : scopes) batch.push_back(scope.View());
      if (threads == 0) {
        for (const auto& one : batch) RunOne(*mechanism, config, one);
      } else {
        TrainBatch<float>(*mechanism, config, batch, threads);
      }
      for (std::size_t b = 0; b < scopes.size(); ++b) {
        if (threads == 0) {
          alone.push_back(scopes[b].Everything());
        } else {
          EXPECT_TRUE(testing::SameBits(scopes[b].Everything(), alone[b]))
              << mechanism->Describe().name << " sequence " << b << " on "
              << threads << " threads";
        }
      }
    }
  }
}

// Rows with NaN between them, which nothing may read, and sentinels that
// nothing may overwrite.
class Padded {
 public:
  Padded(const std::vector<float>& values, Index rows, Index cols)
      : rows_(rows), cols_(cols), stride_(cols + 3) {
    padded_.assign(Size(rows * stride_),
                   std::numeric_limits<float>::quiet_NaN());
    for (Index r = 0; r < rows; ++r) {
      for (Index c = 0; c < cols; ++c)
        view()(r, c) = values[Size(r * cols + c)];
    }
  }
  MatrixView<float> view() { return {padded_.data(), rows_, cols_, stride_}; }
  bool paddingIsNaN() {
    for (Index r = 0; r < rows_; ++r) {
      for (Index c = cols_; c < stride_; ++c) {
        if (!std::isnan(padded_[Size(r * stride_ + c)])) return false;
      }
    }
    return true;
  }

 private:
  Index rows_, cols_, stride_;
  std::vector<float> padded_;
};

TEST(TrainingTest, PaddingIsNeitherReadNorWritten) {
  for (const auto* mechanism : Mechanisms<float>()) {
    for (const EnergyKind energy : kEnergies) {
      DrawnInputs<float> inputs(9, 4, 5, /*seed=*/11);
      FullScope<float> scope(inputs);
      Config config = ConfigFor(*mechanism, 5);
      config.energy = energy;
      RunOne(*mechanism, config, scope.View());
      const std::vector<float> packed = scope.Everything();

      TrainingSequence<float> one = scope.View();
      std::vector<Padded> kept;
      kept.reserve(20);
      const auto pad_input = [&](MatrixView<const float>& view) {
        const std::vector<float> values(view.data,
                                        view.data + view.rows * view.cols);
        view = kept.emplace_back(values, view.rows, view.cols).view();
      };
      const auto pad_output = [&](MatrixView<float>& view) {
        const std::vector<float> values(Size(view.rows * view.cols), -7.0F);
        view = kept.emplace_back(values, view.rows, view.cols).view();
      };
      pad_input(one.sequence.memory);
      pad_input(one.sequence.states);
      pad_input(one.cotangent.contexts);
      MatrixView<float> d_keys = one.gradients.further.Find("chunk_keys");
      MatrixView<float> d_states = one.gradients.further.Find("chunk_states");
      const std::vector<MatrixView<float>*> outputs = {
          &one.sequence.contexts, &one.expectation.attention,
          &one.gradients.memory,  &d_keys,
          &one.gradients.states,  &d_states};
      for (MatrixView<float>* view : outputs) pad_output(*view);
      one.gradients.further.Set("chunk_keys", d_keys);
      one.gradients.further.Set("chunk_states", d_states);
      for (const char* name : {"chunk_keys", "chunk_states"}) {
        MatrixView<const float> view = one.sequence.inputs.further.Find(name);
        pad_input(view);
        one.sequence.inputs.further.Set(name, view);
      }
      ParameterGradients<float> parameters;
      one.gradients.parameters = &parameters;
      RunOne(*mechanism, config, one);

      std::size_t n = 0;
      for (const MatrixView<float>* view : outputs) {
        for (Index r = 0; r < view->rows; ++r) {
          for (const float value : view->Row(r)) {
            EXPECT_NEAR(value, packed[n++], 2e-6) << mechanism->Describe().name;
          }
        }
      }
      for (Padded& padded : kept) EXPECT_TRUE(padded.paddingIsNaN());
    }
  }
}

TEST(TrainingTest, AnEmptyMemoryGivesZeroContexts) {
  for (const auto* mechanism : Mechanisms<double>()) {
    DrawnInputs<double> inputs(0, 3, 2, /*seed=*/1);
    FullScope<double> scope(inputs);
    RunOne(*mechanism, ConfigFor(*mechanism, 2), scope.View());
    for (const double c : inputs.contexts) {
      EXPECT_EQ(c, 0) << mechanism->Describe().name;
    }
  }
}

TEST(TrainingTest, ACotangentOfContextsIsOneOfAttentionTimesMemory) {
  std::mt19937 generator(2);
  for (const auto* mechanism : Mechanisms<double>()) {
    DrawnInputs<double> inputs(7, 4, 3, /*seed=*/12);
    FullScope<double> by_contexts(inputs);
    const Config config = ConfigFor(*mechanism, 3);
    RunOne(*mechanism, config, by_contexts.View());
    OwnTable<double> d_attention(4, 7);
    for (Index i = 0; i < 4; ++i) {
      for (Index j = 0; j < 7; ++j) {
        double sum = 0;
        for (Index k = 0; k < 3; ++k) {
          sum += by_contexts.d_contexts(i, k) * inputs.memory[Size(j * 3 + k)];
        }
        d_attention.view()(i, j) = sum;
      }
    }
    DrawnInputs<double> same(7, 4, 3, /*seed=*/12);
    FullScope<double> by_attention(same);
    TrainingSequence<double> one = by_attention.View();
    one.cotangent = {.attention = std::as_const(d_attention).view()};
    RunOne(*mechanism, config, one);
    for (std::size_t n = 0; n < by_contexts.d_states.values().size(); ++n) {
      EXPECT_NEAR(by_attention.d_states.values()[n],
                  by_contexts.d_states.values()[n], 1e-13)
          << mechanism->Describe().name;
    }
  }
}

}  // namespace
}  // namespace attnbench
