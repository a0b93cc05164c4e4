"""The papers' formulas as they are written, term by term, for tests: one sequence at a time,
[U, T], in whatever torch can differentiate.
"""

import torch


def alphas_and_starts(p, start=None, end="absorb"):
    """Gives alpha [U, T] (MAD eq 9), by the sums over all k of all products of 1 - p, and where
    each output starts [U, T].
    """
    U, T = p.shape
    if end == "stay_last":
        p = torch.cat([p[:, :-1], torch.ones_like(p[:, -1:])], 1)
    if start is None:
        start = torch.eye(T, dtype=p.dtype)[0]
    alphas, starts = [], []
    for row in p:
        starts.append(start)
        alphas.append(torch.stack([row[j] * sum(start[k] * passed(row, k, j)
                                                for k in range(j + 1)) for j in range(T)]))
        if end == "restart":
            start = torch.stack([alphas[-1][k] + start[k] * passed(row, k, T)
                                 for k in range(T)])
        else:
            start = alphas[-1]
    return torch.stack(alphas), torch.stack(starts), p


def passed(row, first, end):
    """The product of 1 - p over [first, end)."""
    return torch.prod(1 - row[first:end]) if end > first else torch.ones((), dtype=row.dtype)


def monotonic(p, start=None, end="absorb"):
    return alphas_and_starts(p, start, end)[0]


def mocha(p, u, width, start=None, end="absorb"):
    """MoChA eqs 17 to 19; width None: all entries up to the choice."""
    alpha, _, _ = alphas_and_starts(p, start, end)
    U, T = alpha.shape
    beta = []
    for i in range(U):
        total = [torch.zeros((), dtype=p.dtype)] * T
        for k in range(T):
            begin = 0 if width is None else max(0, k - width + 1)
            weights = torch.softmax(u[i, begin:k + 1], 0)
            for j in range(begin, k + 1):
                total[j] = total[j] + alpha[i, k] * weights[j - begin]
        beta.append(torch.stack(total))
    return torch.stack(beta), alpha


def matcha(p, u, start=None, end="absorb"):
    """MoChA eq 28: all pairs of a start k and a choice l."""
    alpha, starts, p = alphas_and_starts(p, start, end)
    U, T = alpha.shape
    beta = []
    for i in range(U):
        total = [torch.zeros((), dtype=p.dtype)] * T
        for k in range(T):
            for l in range(k, T):
                weights = torch.softmax(u[i, k:l + 1], 0)
                mass = starts[i, k] * passed(p[i], k, l) * p[i, l]
                for j in range(k, l + 1):
                    total[j] = total[j] + mass * weights[j - k]
        beta.append(torch.stack(total))
    return torch.stack(beta), alpha


def memory(encoder, decoder, encoder_scoring="softmax", decoder_scoring="softmax",
           position_encoding="none", place="inside", max_length=0):
    """Britz eqs 5 to 10."""
    T, K = encoder.shape
    score = {"softmax": lambda x: torch.softmax(x, 1), "sigmoid": torch.sigmoid}
    k = torch.arange(1, K + 1, dtype=encoder.dtype) / K
    t = torch.arange(1, T + 1, dtype=encoder.dtype).unsqueeze(1) / (max_length or T)
    L = (1 - k) * (1 - t) + k * t
    if position_encoding.startswith("renormalized"):
        L = L / L.sum(0)
    if position_encoding == "renormalized_mean":
        L = L * T
    if position_encoding == "none":
        alpha = score[encoder_scoring](encoder)
    elif place == "inside":
        alpha = score[encoder_scoring](encoder * L)
    else:
        alpha = score[encoder_scoring](encoder) * L
    return score[decoder_scoring](decoder) @ alpha.T


def batched(function, tables, lengths, more=()):
    """Calls function(*tables of one sequence, *rows of one) for every batch and head, with the
    first `length` columns, and pads each result with zeros.
    """
    B, H, _, T = tables[0].shape
    made = []
    for b in range(B):
        n = int(lengths[b]) if lengths is not None else T
        for h in range(H):
            cut = [table[b, h, :, :n] for table in tables] + [row[b, h, :n] for row in more]
            results = function(*cut)
            results = results if isinstance(results, tuple) else (results,)
            made.append([torch.nn.functional.pad(r, (0, T - n)) for r in results])
    return tuple(torch.stack(column).view(B, H, *column[0].shape) for column in zip(*made))
