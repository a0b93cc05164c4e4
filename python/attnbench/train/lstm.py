"""An LSTM layer (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000). Of an
input x, the last output h' and the last cell c' it makes, with the constant forget bias r,

    i = sigmoid(W_i [x; h'] + b_i)        f = sigmoid(W_f [x; h'] + b_f + r)
    g = tanh(W_g [x; h'] + b_g)           o = sigmoid(W_o [x; h'] + b_o)
    c = f c' + i g                        h = o tanh(c)

It is not torch.nn.LSTM because that gives no cells but the last, which padded sequences need, and
because its gradient makes step by step what is here made for all steps at once.
"""

import torch
from torch import Tensor, nn
from torch.autograd import Function

# Of y, the sigmoid or the tanh of x: d y (1 - y), d (1 - y^2).
sigmoid_backward = torch.ops.aten.sigmoid_backward
tanh_backward = torch.ops.aten.tanh_backward

FORGET_BIAS = 1.0  # r; TensorFlow's BasicLSTMCell has the same (Jozefowicz et al. 2015)


class Lstm(nn.Module):
    """Parameters: W [4 H, n + H] and b [4 H]. Rows of i, f, g and o follow one another, and so do
    the columns of x and h'.
    """

    def __init__(self, inputs: int, units: int):
        super().__init__()
        self.units = units
        self.W = nn.Parameter(torch.zeros(4 * units, inputs + units))
        self.b = nn.Parameter(torch.zeros(4 * units))
        r = torch.zeros(4, units)
        r[1] = FORGET_BIAS
        self.register_buffer("r", r.flatten(), persistent=False)

    def forward(self, inputs: Tensor, output: Tensor, cell: Tensor):
        """Gives h and c of every step, both [T, B, H], of inputs [T, B, n], from the states
        `output` and `cell` [B, H].
        """
        return _Steps.apply(inputs, self.W, self.b + self.r, output, cell)


class _Steps(Function):
    @staticmethod
    def forward(ctx, x, W, b, output, cell):
        T, B, n = x.shape
        H = output.size(1)
        gates = torch.addmm(b, x.reshape(T * B, n), W[:, :n].t()).view(T, B, 4 * H)
        recurrent = W[:, n:].t()
        # Row t + 1 is of step t.
        h, c = x.new_empty(T + 1, B, H), x.new_empty(T + 1, B, H)
        h[0], c[0] = output, cell
        tanh_c = x.new_empty(T, B, H)
        both, f = gates[..., : 2 * H], gates[..., H : 2 * H]
        i, g, o = gates[..., :H], gates[..., 2 * H : 3 * H], gates[..., 3 * H :]
        for gates_t, both_t, i_t, f_t, g_t, o_t, tanh_t, h_last, h_t, c_last, c_t in zip(
            gates, both, i, f, g, o, tanh_c, h, h[1:], c, c[1:]
        ):
            gates_t.addmm_(h_last, recurrent)
            both_t.sigmoid_()
            g_t.tanh_()
            o_t.sigmoid_()
            torch.mul(f_t, c_last, out=c_t).addcmul_(i_t, g_t)
            torch.mul(o_t, torch.tanh(c_t, out=tanh_t), out=h_t)
        ctx.save_for_backward(x, W, gates, h, c, tanh_c)
        ctx.set_materialize_grads(False)  # cells are seldom read
        return h[1:], c[1:]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, d_outputs, d_cells):
        x, W, gates, h, c, tanh_c = ctx.saved_tensors
        T, B, n = x.shape
        H = tanh_c.size(2)
        i, f, g, o = gates.view(T, B, 4, H).unbind(2)
        # What dL/dc, of i, f and g, and dL/dh, of o, are multiplied by.
        d_gates = torch.empty_like(gates).view(T, B, 4, H)
        d_i, d_f, d_g, d_o = d_gates.unbind(2)
        sigmoid_backward(g, i, grad_input=d_i)
        sigmoid_backward(c[:-1], f, grad_input=d_f)
        tanh_backward(i, g, grad_input=d_g)
        sigmoid_backward(tanh_c, o, grad_input=d_o)
        of_cell, of_output = d_gates[:, :, :3], d_o
        d_tanh = tanh_backward(o, tanh_c)
        rows = d_gates.view(T, B, 4 * H)
        d_h, d_c = torch.zeros_like(h[0]), torch.zeros_like(c[0])
        recurrent, as_row = W[:, n:], d_c.unsqueeze(1)
        for t in range(T - 1, -1, -1):
            d_h.add_(d_outputs[t])
            if d_cells is not None:
                d_c.add_(d_cells[t])
            d_c.addcmul_(d_h, d_tanh[t])
            of_cell[t].mul_(as_row)
            of_output[t].mul_(d_h)
            d_c.mul_(f[t])
            torch.mm(rows[t], recurrent, out=d_h)
        rows = rows.view(T * B, 4 * H)
        d_W = torch.empty_like(W)
        torch.mm(rows.t(), x.reshape(T * B, n), out=d_W[:, :n])
        torch.mm(rows.t(), h[:-1].reshape(T * B, H), out=d_W[:, n:])
        d_x = (rows @ W[:, :n]).view(T, B, n) if ctx.needs_input_grad[0] else None
        return d_x, d_W, rows.sum(0), d_h, d_c
