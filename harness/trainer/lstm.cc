#include "harness/trainer/lstm.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

#include <cstdint>

#include "mechanisms/kernels/kernels.h"

namespace attnbench {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

template <class Real>
struct Step {
  std::int64_t rows, units;
  // Each is [rows, units], but gates [rows, 4 units]: i, f, g, o.
  Real* gates;
  Real* cells;
  Real* tanh_cells;
  Real* outputs;
};

// tanh(x) = 2 sigmoid(2 x) - 1 lets one kernel serve all gates.
template <class Real>
void Activate(const Step<Real>& at, const Real* last_cells) {
  const Kernels<Real>& kernels = BestKernels<Real>();
  const std::int64_t H = at.units;
  for (std::int64_t r = 0; r < at.rows; ++r) {
    kernels.scale(2, H, at.gates + (4 * r + 2) * H);
  }
  kernels.sigmoid(at.gates, at.rows * 4 * H, at.gates, nullptr);
  for (std::int64_t r = 0; r < at.rows; ++r) {
    const Real* const i = at.gates + 4 * r * H;
    const Real* const f = i + H;
    Real* const g = at.gates + (4 * r + 2) * H;
    Real* const c = at.cells + r * H;
    Real* const twice = at.tanh_cells + r * H;
    const Real* const last = last_cells + r * H;
    for (std::int64_t k = 0; k < H; ++k) {
      g[k] = 2 * g[k] - 1;
      c[k] = f[k] * last[k] + i[k] * g[k];
      twice[k] = 2 * c[k];
    }
  }
  kernels.sigmoid(at.tanh_cells, at.rows * H, at.tanh_cells, nullptr);
  for (std::int64_t r = 0; r < at.rows; ++r) {
    const Real* const o = at.gates + (4 * r + 3) * H;
    Real* const tanh_c = at.tanh_cells + r * H;
    Real* const h = at.outputs + r * H;
    for (std::int64_t k = 0; k < H; ++k) {
      tanh_c[k] = 2 * tanh_c[k] - 1;
      h[k] = o[k] * tanh_c[k];
    }
  }
}

// From dL/dh in `d_outputs` and dL/dc of the step in `d_cells`: dL/d of what
// the gates' functions read, in `d_gates`, and dL/dc of the last step, in
// `d_cells`.
template <class Real>
void ActivateBackward(const Step<Real>& at, const Real* last_cells,
                      const Real* d_outputs, Real* d_cells, Real* d_gates) {
  const std::int64_t H = at.units;
  for (std::int64_t r = 0; r < at.rows; ++r) {
    const Real* const i = at.gates + 4 * r * H;
    const Real* const f = i + H;
    const Real* const g = i + 2 * H;
    const Real* const o = i + 3 * H;
    Real* const d_i = d_gates + 4 * r * H;
    for (std::int64_t k = 0; k < H; ++k) {
      const Real d_h = d_outputs[r * H + k];
      const Real tanh_c = at.tanh_cells[r * H + k];
      const Real d_c = d_cells[r * H + k] + d_h * o[k] * (1 - tanh_c * tanh_c);
      d_i[k] = d_c * g[k] * i[k] * (1 - i[k]);
      d_i[H + k] = d_c * last_cells[r * H + k] * f[k] * (1 - f[k]);
      d_i[2 * H + k] = d_c * i[k] * (1 - g[k] * g[k]);
      d_i[3 * H + k] = d_h * tanh_c * o[k] * (1 - o[k]);
      d_cells[r * H + k] = d_c * f[k];
    }
  }
}

template <class Real>
Step<Real> StepOf(const Tensor& gates, const Tensor& cells,
                  const Tensor& tanh_cells, const Tensor& outputs,
                  std::int64_t t) {
  const std::int64_t rows = cells.size(1), units = cells.size(2);
  const std::int64_t first = t * rows * units;
  return {rows,
          units,
          gates.data_ptr<Real>() + 4 * first,
          cells.data_ptr<Real>() + first,
          tanh_cells.data_ptr<Real>() + first,
          outputs.data_ptr<Real>() + first};
}

class LstmFunction : public torch::autograd::Function<LstmFunction> {
 public:
  static tensor_list forward(AutogradContext* context, const Tensor& inputs,
                             const Tensor& W, const Tensor& b,
                             const Tensor& first_output,
                             const Tensor& first_cell) {
    const std::int64_t T = inputs.size(0), B = inputs.size(1),
                       n = inputs.size(2), H = first_cell.size(1);
    const Tensor x = inputs.contiguous();
    const Tensor h0 = first_output.contiguous(), c0 = first_cell.contiguous();
    const Tensor recurrent = W.narrow(1, n, H).t();
    const Tensor gates = at::addmm(b, x.view({T * B, n}), W.narrow(1, 0, n).t())
                             .view({T, B, 4 * H});
    const Tensor cells = at::empty({T, B, H}, x.options());
    const Tensor tanh_cells = at::empty_like(cells);
    const Tensor outputs = at::empty_like(cells);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "lstm", [&] {
      for (std::int64_t t = 0; t < T; ++t) {
        gates[t].addmm_(t == 0 ? h0 : outputs[t - 1], recurrent);
        const Tensor last = t == 0 ? c0 : cells[t - 1];
        Activate(StepOf<scalar_t>(gates, cells, tanh_cells, outputs, t),
                 last.data_ptr<scalar_t>());
      }
    });
    context->save_for_backward(
        {x, W, h0, c0, gates, cells, tanh_cells, outputs});
    return {outputs, cells};
  }

  static tensor_list backward(AutogradContext* context, tensor_list d_results) {
    TORCH_CHECK(!at::GradMode::is_enabled(),
                "RunLstm has no second derivative");
    const auto saved = context->get_saved_variables();
    const Tensor &x = saved[0], &W = saved[1], &h0 = saved[2], &c0 = saved[3],
                 &gates = saved[4], &cells = saved[5], &tanh_cells = saved[6],
                 &outputs = saved[7];
    const std::int64_t T = x.size(0), B = x.size(1), n = x.size(2),
                       H = c0.size(1);
    const Tensor recurrent = W.narrow(1, n, H);
    const Tensor d_gates = at::empty_like(gates);
    Tensor d_h = at::zeros_like(h0);
    Tensor d_c = at::zeros_like(c0);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "lstm_backward", [&] {
      for (std::int64_t t = T - 1; t >= 0; --t) {
        if (d_results[0].defined()) d_h += d_results[0][t];
        if (d_results[1].defined()) d_c += d_results[1][t];
        const Tensor last = t == 0 ? c0 : cells[t - 1];
        ActivateBackward(StepOf<scalar_t>(gates, cells, tanh_cells, outputs, t),
                         last.data_ptr<scalar_t>(), d_h.data_ptr<scalar_t>(),
                         d_c.data_ptr<scalar_t>(),
                         d_gates[t].data_ptr<scalar_t>());
        at::mm_out(d_h, d_gates[t], recurrent);
      }
    });
    const Tensor rows = d_gates.view({T * B, 4 * H});
    const Tensor last_outputs =
        at::cat({h0.unsqueeze(0), outputs.narrow(0, 0, T - 1)});
    const Tensor d_W = at::cat({rows.t().mm(x.view({T * B, n})),
                                rows.t().mm(last_outputs.view({T * B, H}))},
                               1);
    Tensor d_x;
    if (context->needs_input_grad(0)) {
      d_x = rows.mm(W.narrow(1, 0, n)).view({T, B, n});
    }
    return {d_x, d_W, rows.sum(0), d_h, d_c};
  }
};

}  // namespace

LstmStates RunLstm(const Tensor& inputs, const Tensor& W, const Tensor& b,
                   const Tensor& output, const Tensor& cell) {
  TORCH_CHECK(inputs.dim() == 3 && inputs.size(0) > 0,
              "inputs must be [T, B, n]");
  TORCH_CHECK(cell.dim() == 2 && cell.size(0) == inputs.size(1) &&
                  output.sizes() == cell.sizes(),
              "output and cell must be [B, H]");
  const std::int64_t H = cell.size(1);
  TORCH_CHECK(
      W.dim() == 2 && W.size(0) == 4 * H && W.size(1) == inputs.size(2) + H,
      "W must be [4 H, n + H]");
  TORCH_CHECK(b.dim() == 1 && b.size(0) == 4 * H, "b must be [4 H]");
  const tensor_list made = LstmFunction::apply(inputs, W, b, output, cell);
  return {made[0], made[1]};
}

}  // namespace attnbench
