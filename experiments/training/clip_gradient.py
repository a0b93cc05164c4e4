#!/usr/bin/env python3
"""Computes what training tells hard monotonic attention about entries that are behind it: the
gradient of one output's loss by our exact operator and by closed forms that clip.

usage: clip_gradient.py [-o RESULT]
example: /usr/bin/python3 experiments/training/clip_gradient.py -o results/clip_gradient.json

It prints the table that docs/clipping.md has.

The output before has chosen entry START, this one should choose TARGET, so its loss is
-log alpha(TARGET). Some entries BEHIND are starts of symbols that were chosen already, and look
like it: all of them have one energy, which the rows vary. The scan begins at START and never
reads them, so the exact gradient of their energies is 0. Numbers are f32, as training has them.
"""

import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import measured
from attnbench.analysis import command, start
with start.imports("clip_gradient.py", measured.NEEDED):
    import torch

    from attnbench.torch import library, monotonic_attention
    from attnbench.torch.published import FORMS
    from attnbench.train.attention import clipped_alpha
    library.load()  # without it the exact gradient would be that of the portable path

MEMORY_LENGTH, START, TARGET, BEHIND = 24, 12, 16, (2, 6, 10)
OTHERS, OF_TARGET = -2.0, 2.0  # energies; the first is where training begins
ENERGIES = range(13)
CLIPS = (1e-10, 1e-6, 1e-4, 1e-2, 1.0)


def exact(p, before):
    return monotonic_attention(p=p, start=before)


def forms():
    """Gives name -> (clip or None, alpha from p and where the output begins)."""
    return {
        "exact": (None, exact),
        **{f"clip {clip:g}": (clip, lambda p, before, clip=clip: clipped_alpha(p, before, clip))
           for clip in CLIPS},
        **{form.toolkit: (None, lambda p, before, form=form: form.row(p[:, :, 0], before)[:, :, None])
           for form in FORMS},
    }


def gradient(make, energy):
    """Gives (mass of alpha, gradient of the loss by each energy [T], in f64)."""
    energies = torch.full((1, 1, 1, MEMORY_LENGTH), OTHERS)
    energies[..., list(BEHIND)] = energy
    energies[..., TARGET] = OF_TARGET
    energies.requires_grad_()
    before = torch.zeros(1, 1, MEMORY_LENGTH)
    before[..., START] = 1
    alpha = make(energies.sigmoid(), before)
    (-alpha[..., TARGET].log()).sum().backward()
    return alpha.sum().item(), energies.grad.flatten().double()


def rows():
    made = forms()
    for energy in ENERGIES:
        _, right = gradient(made["exact"][1], energy)
        for name, (clip, make) in made.items():
            mass, found = gradient(make, energy)
            is_finite = math.isfinite(mass) and bool(found.isfinite().all())
            size = found.norm().item() if is_finite else None
            yield {
                "form": name, "clip": clip, "energy": energy,
                "p": torch.tensor(float(energy)).sigmoid().item(),
                "mass": mass if math.isfinite(mass) else None,
                "gradient_behind": found[BEHIND[0]].item() if is_finite else None,
                "gradient_target": found[TARGET].item() if is_finite else None,
                "size_over_exact": size / right.norm().item() if is_finite else None,
                "cosine": (found @ right).item() / (size * right.norm().item())
                if size else None,
            }


def table(rows):
    """Gives lines of Markdown: from which energy behind on each published form misleads."""
    text = ("| form | what it clips | misleads from energy (p) | gradient there, at an entry "
            "behind | length of the whole gradient | cosine |\n| --- | --- | --- | --- | --- | --- |\n")
    for form in FORMS:
        wrong = [row for row in rows if row["form"] == form.toolkit and not row["cosine"] > 0.5]
        first = wrong[0]
        text += (f"| {form.toolkit} | {form.clips} | {first['energy']} ({first['p']:.4g}) | "
                 f"{round(first['gradient_behind'], 2) + 0.0:.2f} | {first['size_over_exact']:.1f}x | "
                 f"{first['cosine']:.2f} |\n")
    return text


def main(arguments):
    parser = command.parser("clip_gradient.py", __doc__)
    parser.add_argument("-o", "--output", metavar="RESULT", help="all rows; default: the table alone")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    found = list(rows())
    print(table(found), end="")
    if options.output:
        result = measured.result(
            "clip_gradient", "training/clip_gradient.py", arguments,
            memory_length=MEMORY_LENGTH, start=START, target=TARGET, behind=list(BEHIND),
            energy_others=OTHERS, energy_target=OF_TARGET, rows=found)
        # No time is in it.
        result["context"].update(valid=True, invalid_reasons=[], warnings=[])
        measured.write(result, options.output)


if __name__ == "__main__":
    main(sys.argv[1:])
