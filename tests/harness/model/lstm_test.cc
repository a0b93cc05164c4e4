// Guards against gates in another order, a forget bias in the wrong one, a
// direction that runs the other way, and a sequence that differs from its
// steps.
#include "harness/model/lstm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "harness/inputs/drawn_parameters.h"
#include "harness/model/reference.h"

namespace attnbench {
namespace {

constexpr Index kInputs = 5;
constexpr Index kUnits = 7;
constexpr Index kLength = 9;

template <class Real>
LstmWeights<Real> DrawnWeights(const ParameterSource<Real>& source) {
  return {source.Matrix("W", 4 * kUnits, kInputs + kUnits),
          source.Matrix("b", 1, 4 * kUnits)};
}

// One unit with one input is worked out by hand: the gates are in the order i,
// f, g, o.
TEST(Lstm, AStepIsTheFormula) {
  const std::vector<double> W = {1, 0.5, -2, 0.25, 3, -0.5, 0.75, 2};
  const std::vector<double> b = {0.1, -0.2, 0.3, -0.4};
  const LstmWeights<double> weights{{W.data(), 4, 2}, {b.data(), 1, 4}};
  const double x = 0.6, last_h = -0.3, last_c = 0.8;
  const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
  const double i = sigmoid(1 * x + 0.5 * last_h + 0.1);
  const double f = sigmoid(-2 * x + 0.25 * last_h - 0.2 + 1);
  const double g = std::tanh(3 * x - 0.5 * last_h + 0.3);
  const double o = sigmoid(0.75 * x + 2 * last_h - 0.4);
  const double c = f * last_c + i * g;

  const LstmState reference =
      ReferenceLstm(weights, 1, {x}, {{last_h}, {last_c}});
  EXPECT_NEAR(reference.c[0], c, 1e-15);
  EXPECT_NEAR(reference.h[0], o * std::tanh(c), 1e-15);

  LstmLayer<double> layer(weights, 1);
  const std::vector<double> joined = {x, last_h};
  std::vector<double> cell = {last_c};
  std::vector<double> output = {99};
  layer.Step({joined.data(), 1, 2}, {cell.data(), 1, 1}, {output.data(), 1, 1});
  EXPECT_NEAR(cell[0], c, 1e-14);
  EXPECT_NEAR(output[0], o * std::tanh(c), 1e-14);
}

template <class Real>
void ExpectRowsOfAStepAreTheReference(double tolerance) {
  const DrawnParameters<Real> parameters(3);
  const DrawnParameters<double> wide(3);
  LstmLayer<Real> layer(DrawnWeights(parameters), 1);
  for (const Index rows : {1, 2, 10}) {
    Array<Real> joined, cells;
    Fill(5, 90, 0, rows * (kInputs + kUnits), joined);
    Fill(5, 91, 0, rows * kUnits, cells);
    const Array<Real> last_cells = cells;
    Array<Real> outputs(Size(rows * kUnits), Real{-9});
    layer.Step({joined.data(), rows, kInputs + kUnits},
               {cells.data(), rows, kUnits}, {outputs.data(), rows, kUnits});
    for (Index r = 0; r < rows; ++r) {
      const Real* const row = &joined[Size(r * (kInputs + kUnits))];
      const Real* const cell = &last_cells[Size(r * kUnits)];
      const LstmState expected = ReferenceLstm(
          DrawnWeights<double>(wide), 1, Vector(row, row + kInputs),
          {Vector(row + kInputs, row + kInputs + kUnits),
           Vector(cell, cell + kUnits)});
      for (Index k = 0; k < kUnits; ++k) {
        EXPECT_NEAR(outputs[Size(r * kUnits + k)], expected.h[Size(k)],
                    tolerance);
        EXPECT_NEAR(cells[Size(r * kUnits + k)], expected.c[Size(k)],
                    tolerance);
      }
    }
  }
}

TEST(Lstm, EveryRowOfAStepIsTheReference) {
  ExpectRowsOfAStepAreTheReference<float>(1e-6);
  ExpectRowsOfAStepAreTheReference<double>(1e-14);
}

TEST(Lstm, ASequenceIsItsStepsInEitherDirection) {
  const DrawnParameters<double> parameters(3);
  const LstmWeights<double> weights = DrawnWeights<double>(parameters);
  LstmLayer<double> layer(weights, 0.5);
  Array<double> inputs;
  Fill(7, 90, 0, kLength * kInputs, inputs);
  for (const bool backwards : {false, true}) {
    for (const Index length : {kLength, Index{1}, Index{0}}) {
      Array<double> outputs(Size(kLength * kUnits), -9);
      Array<double> cell(Size(kUnits), -9);
      layer.Run({inputs.data(), length, kInputs}, backwards,
                {outputs.data(), length, kUnits}, cell);
      LstmState state{Vector(Size(kUnits)), Vector(Size(kUnits))};
      for (Index step = 0; step < length; ++step) {
        const Index t = backwards ? length - 1 - step : step;
        const double* const x = &inputs[Size(t * kInputs)];
        state = ReferenceLstm(weights, 0.5, Vector(x, x + kInputs), state);
        for (Index k = 0; k < kUnits; ++k) {
          EXPECT_NEAR(outputs[Size(t * kUnits + k)], state.h[Size(k)], 1e-14);
        }
      }
      for (Index k = 0; k < kUnits; ++k) {
        EXPECT_NEAR(cell[Size(k)], state.c[Size(k)], 1e-14);
      }
    }
  }
}

}  // namespace
}  // namespace attnbench
