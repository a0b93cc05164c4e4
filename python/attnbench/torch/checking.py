"""Is my alpha right? `check` compares an alpha, or a beta, that someone else's code made with the
exact one of the same p, and says which published closed form it looks like.
"""

import dataclasses
from typing import Callable, Dict, Iterator, Optional, Tuple

import torch
from torch import Tensor

from attnbench.torch import arguments, functions, published

# A form is named if it is near, as a share of the mass, and this many times nearer than the exact
# numbers, which are farther off than rounding; and with it all forms that are at most twice as
# far as the nearest: many clip nothing that tells them apart.
_NEAR = 1e-3
_NEARER = 10
_ROUNDING_UNITS, _ROUNDING_UNITS_OF_16_BITS = 64, 2
_LEAST_OFF = 1e-30  # in f32 the rest of such an output has few digits, or none
_NO_WIDTH = object()


@dataclasses.dataclass(frozen=True)
class Check:
    """What `check` found. Places are indices into the tensor that was given, from 0; those of
    `attnbench diagnose` count from 1.
    """

    name: str  # alpha or beta
    tolerance: float
    error: float  # the largest |alpha - exact|
    error_at: Tuple[int, ...]
    off: float  # the largest sum of |alpha - exact| of an output, as a share of its mass
    off_at: Tuple[int, ...]
    lost_mass: float  # the largest share of its mass that an output has lost
    first_wrong: Optional[Tuple[int, ...]]  # the first output that is off by more than tolerance
    difference: float  # the sum of |alpha - exact| of all outputs, as a share of their mass
    is_exact: bool  # to rounding, all together
    looks_like: Dict[str, str]  # published forms, by their full names, and what each clips

    @property
    def is_right(self) -> bool:
        return self.first_wrong is None

    def __str__(self) -> str:
        if self.is_right:
            text = f"right: no output is off by more than {self.tolerance:g} of its mass"
        else:
            text = (f"wrong: {self._place(self.first_wrong)} is the first output off by more than"
                    f" {self.tolerance:g} of its mass")
        text = (f"{self.name} is {text}\nthe worst, {self._place(self.off_at)}, is off by"
                f" {self.off:.2g} of its mass; up to {self.lost_mass:.2g} of an output's mass is"
                f" lost\nlargest error: {self.error:.2g}, at {self._place(self.error_at)}")
        for form, clips in self.looks_like.items():
            text += f"\nlooks like {form}. Clips: {clips}"
        if not self.looks_like:
            text += "\nexact, to rounding" if self.is_exact else "\nlooks like no published form"
        return text

    def _place(self, place: Tuple[int, ...]) -> str:
        return f"{self.name}{list(place)}"


def check(
    alpha: Optional[Tensor] = None,
    *,
    p: Optional[Tensor] = None,
    energies: Optional[Tensor] = None,
    lengths: Optional[Tensor] = None,
    start: Optional[Tensor] = None,
    end: str = "absorb",
    beta: Optional[Tensor] = None,
    chunk_energies: Optional[Tensor] = None,
    width=_NO_WIDTH,
    tolerance: Optional[float] = None,
) -> Check:
    """Says how wrong an alpha of your own is, or a beta, and which published closed form it looks
    like; print it. It is [U, T], [B, U, T] or [B, H, U, T], and p, or energies, and
    chunk_energies u have its shape; lengths are [B], start has no U. These and `end` are those of
    monotonic_attention. A beta is MoChA's with its `width` (None: infinite lookback), and
    MAtChA's without.

    The exact numbers are those of monotonic_attention, mocha_attention or matcha_attention in
    f64. An output is wrong if the sum over the entries of |alpha - exact| is more than
    `tolerance` of the exact sum of alpha, its mass: 1e-3, and for bfloat16 its rounding, 2^-7.
    Published forms are computed from the same p in the type of alpha (16-bit types in f32). Under
    stay_last the last entry, where toolkits put what is left, does not tell them apart.

    It runs on the CPU, without gradients, and makes all forms: of MAtChA's beta that takes nine
    times as long as the function. Wrong shapes and numbers (NaN, negative) raise
    ValueError, wrong types TypeError; both name the argument.
    """
    arguments.check_text(end=end)
    name, given = _one("alpha", alpha, "beta", beta)
    scores_name, scores = _one("p", p, "energies", energies)
    _check_weights(name, given)
    _check_like(scores_name, scores, name, given)
    if (chunk_energies is None) != (beta is None):
        raise ValueError(
            "chunk_energies must be given with beta" if beta is not None
            else "chunk_energies are of beta, but alpha is given")
    if chunk_energies is not None:
        _check_like("chunk_energies", chunk_energies, name, given)
    if width is not _NO_WIDTH:
        if beta is None:
            raise ValueError("width is of beta, but alpha is given")
        arguments.check_width(width)
    if tolerance is None:
        tolerance = max(1e-3, torch.finfo(given.dtype).eps)
    if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float)):
        raise TypeError(f"tolerance must be a number, but is of type {type(tolerance).__name__}")
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance must be in (0, 1), but is {tolerance}")
    if start is not None:
        wanted = [*given.shape[:-2], given.shape[-1]]
        arguments.check_floating("start", start, f"{wanted}", 1)
        if list(start.shape) != wanted:
            raise ValueError(
                f"start must be {wanted}, as {name} is, but its shape is {list(start.shape)}")
        start = _four(start.detach().cpu().unsqueeze(-2))[:, :, 0]
    mine = _four(given.detach().cpu())
    if lengths is not None:
        lengths = arguments.take_lengths("lengths", lengths, mine, most=mine.size(-1))
    with torch.no_grad():
        inputs = _Inputs(
            _four(scores.detach().cpu()), scores_name == "p", lengths, start, end,
            None if chunk_energies is None else _four(chunk_energies.detach().cpu()), width)
        return _compared(name, given.dim(), mine, inputs, float(tolerance))


@dataclasses.dataclass(frozen=True)
class _Inputs:
    """All [B, H, U, T], on the CPU."""

    scores: Tensor
    is_p: bool
    lengths: Optional[Tensor]
    start: Optional[Tensor]
    end: str
    chunk_energies: Optional[Tensor]
    width: object

    def exact(self) -> Tuple[Tensor, Tensor]:
        """Gives what is checked, and alpha, whose sums are the masses; in f64."""
        arguments_of_all = {
            "p" if self.is_p else "energies": self.scores.double(), "lengths": self.lengths,
            "start": None if self.start is None else self.start.double(), "end": self.end}
        if self.chunk_energies is None:
            alpha = functions.monotonic_attention(**arguments_of_all)
            return alpha, alpha
        u = self.chunk_energies.double()
        if self.width is _NO_WIDTH:
            return functions.matcha_attention(u, **arguments_of_all)
        return functions.mocha_attention(u, self.width, **arguments_of_all)

    def there(self) -> Tensor:
        """Says which entries are within the lengths, [B, 1, 1, T]."""
        T = self.scores.size(-1)
        lengths = self.lengths
        if lengths is None:
            lengths = torch.tensor([T], device=self.scores.device)
        return torch.arange(T, device=lengths.device) < lengths.view(-1, 1, 1, 1)

    def last(self) -> Tensor:
        """Says which entry is the last of each sequence, [B, 1, 1, T]."""
        there = self.there()
        return there & ~torch.nn.functional.pad(there, (0, 1))[..., 1:]

    def forms(self, dtype: torch.dtype) -> Iterator[Tuple[str, str, Tensor]]:
        """Gives names, clips and numbers of published forms, in a type."""
        p = self.scores.to(dtype)
        p = (p if self.is_p else p.sigmoid()).where(self.there(), p.new_zeros(()))
        if self.end == "stay_last":
            p = p.where(~self.last(), p.new_ones(()))
        start = None if self.start is None else self.start.to(dtype)
        for form in published.FORMS:
            alpha, starts = published.alpha_and_starts(form, p, start, self.end)
            for chunks, clips, make in self._chunks(p):
                if bool(alpha.isfinite().all()):  # `given` is
                    yield form.toolkit + chunks, form.clips + clips, make(alpha, starts)
        if self.chunk_energies is not None and self.width is not _NO_WIDTH:
            alpha = functions.monotonic_attention(
                p=p, start=start, end="absorb" if self.end == "stay_last" else self.end)
            for chunks, clips, make in self._chunks(p)[1:]:
                yield "exact alpha" + chunks, "nothing of alpha" + clips, make(alpha, None)

    def _chunks(self, p: Tensor) -> Tuple[Tuple[str, str, Callable], ...]:
        """Gives what can follow alpha, exactly first, with what its name and clips add."""
        if self.chunk_energies is None:
            return (("", "", lambda alpha, starts: alpha),)
        # Padding may hold any number. It gets the least energy, which changes no weight.
        inside, u = self.there(), self.chunk_energies.to(p.dtype)
        least = u.where(inside, u.new_tensor(float("inf"))).min(-1, True)[0]
        u = u.where(inside, least.where(least.isfinite(), torch.zeros_like(least)))
        if self.width is _NO_WIDTH:
            return (("", "", lambda alpha, starts: published.matcha_chunks(p, starts, u)),)
        return (
            ("", "", lambda alpha, starts: published.exact_chunks(alpha, u, self.width)),
            (", chunks of MoChA's notebook", "; exp(u - max): [1e-05, inf)",
             lambda alpha, starts: published.clipped_chunks(alpha, u, self.width)))


def _compared(
    name: str, dimensions: int, mine: Tensor, inputs: _Inputs, tolerance: float
) -> Check:
    exact, alpha = inputs.exact()
    mass = alpha.sum(-1)
    errors = (mine.double() - exact).abs()
    off = errors.sum(-1)
    info = torch.finfo(mine.dtype)
    computed = torch.promote_types(mine.dtype, torch.float)
    rounding = _ROUNDING_UNITS * torch.finfo(computed).eps
    if computed != mine.dtype:
        rounding = _ROUNDING_UNITS_OF_16_BITS * info.eps
    # Numbers of 16 bits end early.
    told = off > max(_LEAST_OFF, mine.size(-1) * info.tiny * info.eps)
    # An output without mass has no share to lose.
    told = told.double() / mass.clamp(min=_LEAST_OFF)
    shares, lost = told * off, told * (mass - mine.double().sum(-1))

    def place(flat: int, shape: torch.Size) -> Tuple[int, ...]:
        found = []
        for size in reversed(shape):
            flat, index = divmod(flat, size)
            found.insert(0, index)
        return tuple(found[4 - dimensions:])

    wrong = (shares > tolerance).nonzero().tolist()
    first = min(wrong, key=lambda at: at[2]) if wrong else None
    # With all but what does not tell forms apart.
    kept = mine.double()
    if inputs.end == "stay_last":
        kept, exact, alpha = (x.masked_fill(inputs.last(), 0) for x in (kept, exact, alpha))
    total = max(float(alpha.sum()), _LEAST_OFF)
    difference = float((kept - exact).abs().sum()) / total
    forms = {}
    if difference > rounding:
        most = min(difference / _NEARER, max(_NEAR, rounding))
        forms = _nearest(kept, computed, inputs, total, rounding, most)
    return Check(
        name=name, tolerance=tolerance,
        error=float(errors.max()), error_at=place(int(errors.argmax()), errors.shape),
        off=float(shares.max()), off_at=place(int(shares.argmax()), shares.shape),
        lost_mass=max(0.0, float(lost.max())),
        first_wrong=None if first is None else tuple(first[4 - dimensions:]),
        difference=difference, is_exact=difference <= rounding, looks_like=forms)


def _nearest(
    kept: Tensor, dtype: torch.dtype, inputs: _Inputs, total: float, rounding: float, most: float
) -> Dict[str, str]:
    """Gives the forms that are as near to `kept` as the nearest, if that is at most `most` away."""
    found = []
    for name, clips, made in inputs.forms(dtype):
        if inputs.end == "stay_last":
            made = made.masked_fill(inputs.last(), 0)
        away = float((kept - made.double()).abs().sum()) / total
        if away <= most:
            found.append((away, name, clips))
    if not found:
        return {}
    near = max(2 * min(found)[0], rounding)
    return {name: clips for away, name, clips in found if away <= near}


def _one(first_name, first, second_name, second):
    """Gives name and value of the one that is given."""
    if (first is None) == (second is None):
        raise ValueError(f"give either {first_name} or {second_name}, and not both")
    return (first_name, first) if first is not None else (second_name, second)


def _four(tensor: Tensor) -> Tensor:
    """Gives [U, T], [B, U, T] and [B, H, U, T] as the latter."""
    if tensor.dim() == 4:
        return tensor
    return tensor.unsqueeze(0).unsqueeze(0) if tensor.dim() == 2 else tensor.unsqueeze(1)


def _check_weights(name: str, given: Tensor) -> None:
    arguments.check_floating(name, given, "[U, T], [B, U, T] or [B, H, U, T]", 2)
    if given.is_meta or given.layout != torch.strided:
        raise TypeError(f"{name} has no numbers" if given.is_meta else f"{name} must be dense")
    if given.dim() > 4 or given.numel() == 0:
        raise ValueError(
            f"{name} must be [U, T], [B, U, T] or [B, H, U, T], all at least 1, but its shape is"
            f" {list(given.shape)}")
    wrong = ~((given >= 0) & given.isfinite())
    if bool(wrong.any()):
        place = wrong.nonzero()[0].tolist()
        raise ValueError(
            f"{name} must be finite and not negative, but {name}{place} is"
            f" {float(given[tuple(place)]):.17g}")


def _check_like(name: str, tensor: Tensor, of: str, given: Tensor) -> None:
    arguments.check_floating(name, tensor, f"{list(given.shape)}", 0)
    if tensor.is_meta or tensor.layout != torch.strided:
        raise TypeError(f"{name} has no numbers" if tensor.is_meta else f"{name} must be dense")
    if tensor.shape != given.shape:
        raise ValueError(
            f"{name} must have the shape of {of}, {list(given.shape)}, but its shape is"
            f" {list(tensor.shape)}")
