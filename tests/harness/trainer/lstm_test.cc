// Guards against an LSTM whose gradient is not that of what it computes, which
// training would survive and be the worse for. torch's own LSTM is the oracle.
#include "harness/trainer/lstm.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace attnbench {
namespace {

using at::Tensor;

constexpr double kTolerance = 1e-12;

// What a layer reads, in f64.
struct Inputs {
  Tensor x, W, b, h, c;

  std::vector<Tensor> all() const { return {x, W, b, h, c}; }
};

Inputs MakeInputs(std::int64_t T, std::int64_t B, std::int64_t n,
                  std::int64_t H) {
  at::manual_seed(T + 10 * B + 100 * n + 1000 * H);
  const auto draw = [](at::IntArrayRef shape) {
    return at::randn(shape, at::kDouble).requires_grad_();
  };
  return {draw({T, B, n}), draw({4 * H, n + H}), draw({4 * H}), draw({B, H}),
          draw({B, H})};
}

// Outputs of all steps, and the cell of the last one.
std::pair<Tensor, Tensor> Oracle(const Inputs& in) {
  const std::int64_t n = in.x.size(2), H = in.h.size(1);
  const auto [outputs, h, c] = at::lstm(
      in.x, {in.h.unsqueeze(0), in.c.unsqueeze(0)},
      {in.W.narrow(1, 0, n), in.W.narrow(1, n, H), in.b, at::zeros_like(in.b)},
      /*has_biases=*/true, /*num_layers=*/1, /*dropout=*/0, /*train=*/true,
      /*bidirectional=*/false, /*batch_first=*/false);
  return {outputs, c[0]};
}

double Distance(const Tensor& a, const Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST(Lstm, HasOutputsCellsAndGradientsOfTorchs) {
  const std::int64_t shapes[][4] = {
      {1, 1, 1, 1}, {1, 3, 2, 5}, {2, 1, 4, 8}, {7, 4, 3, 17}, {5, 2, 9, 16}};
  for (const auto& [T, B, n, H] : shapes) {
    SCOPED_TRACE(::testing::Message() << T << " " << B << " " << n << " " << H);
    const Inputs in = MakeInputs(T, B, n, H);
    const LstmStates ours = RunLstm(in.x, in.W, in.b, in.h, in.c);
    const auto [outputs, cell] = Oracle(in);
    EXPECT_LE(Distance(ours.outputs, outputs), kTolerance);
    EXPECT_LE(Distance(ours.cells[T - 1], cell), kTolerance);
    const Tensor d_outputs = at::randn_like(outputs);
    const Tensor d_cell = at::randn_like(cell);
    const auto gradients = [&](const Tensor& of_outputs,
                               const Tensor& of_cell) {
      return torch::autograd::grad(
          {(of_outputs * d_outputs).sum() + (of_cell * d_cell).sum()},
          in.all());
    };
    const auto made = gradients(ours.outputs, ours.cells[T - 1]);
    const auto expected = gradients(outputs, cell);
    for (std::size_t k = 0; k < made.size(); ++k) {
      EXPECT_LE(Distance(made[k], expected[k]), 10 * kTolerance) << k;
      EXPECT_GT(expected[k].abs().max().item<double>(), 1e-3) << k;
    }
  }
}

TEST(Lstm, HasTheGradientOfCellsInTheMiddle) {
  const Inputs in = MakeInputs(6, 2, 3, 4);
  const LstmStates whole = RunLstm(in.x, in.W, in.b, in.h, in.c);
  Inputs part = in;
  part.x = in.x.narrow(0, 0, 3);
  const auto [outputs, cell] = Oracle(part);
  const auto made = torch::autograd::grad({whole.cells[2].sum()}, in.all());
  const auto expected = torch::autograd::grad({cell.sum()}, in.all());
  for (std::size_t k = 0; k < made.size(); ++k) {
    EXPECT_LE(Distance(made[k], expected[k]), 10 * kTolerance) << k;
  }
}

TEST(Lstm, WhatFollowsAShorterSequenceChangesNothingOfIt) {
  const Inputs in = MakeInputs(6, 2, 3, 4);
  Inputs other = in;
  other.x = in.x.detach().clone();
  other.x.narrow(0, 4, 2).fill_(7);
  other.x.requires_grad_();
  const auto run = [](const Inputs& inputs) {
    const LstmStates states =
        RunLstm(inputs.x, inputs.W, inputs.b, inputs.h, inputs.c);
    const Tensor outputs = states.outputs.narrow(0, 0, 4);
    auto all = torch::autograd::grad({outputs.sum()}, inputs.all());
    all.push_back(outputs);
    return all;
  };
  const auto made = run(in), expected = run(other);
  for (std::size_t k = 0; k < made.size(); ++k) {
    EXPECT_TRUE(at::equal(made[k], expected[k])) << k;
  }
}

TEST(Lstm, RefusesASecondDerivativeAndShapesThatDoNotFit) {
  const Inputs in = MakeInputs(2, 1, 2, 3);
  const Tensor sum = RunLstm(in.x, in.W, in.b, in.h, in.c).outputs.sum();
  EXPECT_THROW(torch::autograd::grad({sum}, {in.x}, {}, {},
                                     /*create_graph=*/true),
               c10::Error);
  EXPECT_THROW(RunLstm(in.x, in.W.t(), in.b, in.h, in.c), c10::Error);
  EXPECT_THROW(RunLstm(in.x[0], in.W, in.b, in.h, in.c), c10::Error);
  EXPECT_THROW(RunLstm(in.x, in.W, in.h, in.h, in.c), c10::Error);
}

}  // namespace
}  // namespace attnbench
