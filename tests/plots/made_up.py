"""Made-up documents in the form that run-sweep and decode give theirs, with
times in the shape that theory predicts, for the tests of the figures.
"""

import copy
import itertools
import math
import random

ROUNDS = 12
POINT = "0123456789abcdef"
# Members of a cell, and what is in them where a test does not say.
PARTS = {
    "operations": dict.fromkeys(
        ("energies", "chunk_energies", "memory_rows", "flops", "bytes"), 0),
    "numerics": dict.fromkeys(
        ("attention_mass", "context_sum", "context_l2", "error", "error_bound")),
    "limit": {"bound": "L1", "limit_ns": 0, "fraction": 0, "working_set_bytes": 0},
}


# What every kind of result has.
CONTEXT = {
    "commit": "0123456789abcdef0123456789abcdef01234567",
    "dirty": False,
    "build_id": "0123456789abcdef",
    "seed": 1,
    "compiler": "A Compiler 1.0",
    "flags": "-O3",
    "build_type": "Release",
    "cpu": "An Invented Processor 3000 @ 2.50GHz",
    "caches": [],
    "cores": 2,
    "affinity": None,
    "kernel": None,
    "governor": None,
    "turbo": None,
    "aslr": None,
    "simd": "AVX2",
    "openmp": {
        "version": 201511, "max_threads": 2, "OMP_NUM_THREADS": None,
        "OMP_PROC_BIND": None, "OMP_PLACES": None, "OMP_WAIT_POLICY": None,
    },
    "libraries": {},
    "command": "attnbench run-sweep",
    "date": "2026-01-02T03:04:05Z",
    "memory_bytes": None,
    "load": None,
    "load_end": None,
    "valid": True,
    "invalid_reasons": [],
    "warnings": [],
}


def make_cell(mechanism, memory_length, output_length, **changes):
    """A cell as run-sweep writes it; every sample is `time_ns`."""
    time_ns = changes.pop("time_ns", 1000.0)
    samples = changes.pop("samples_ns", [time_ns] * ROUNDS)
    cell = {
        "mechanism": mechanism,
        "variant": "exact",
        "mode": "decode",
        "scope": "full",
        "schedule": "online",
        "energy": None if mechanism == "memory" else "dot",
        "workload": "uniform",
        "end": None if mechanism in ("soft", "memory") else "absorb",
        "precision": "f32",
        "memory_length": memory_length,
        "output_length": output_length,
        "chunk_width": None,
        "num_contexts": None,
        "dim": 256,
        "batch": 1,
        "threads": 1,
        "options": {"threshold": 0.5} if mechanism != "soft" else {},
        "status": "ok",
        "message": None,
        "samples_ns": samples,
        "trials_per_sample": 100,
        "processes": 1,
        "median_ns": sorted(samples)[len(samples) // 2],
        "interval_ns": [min(samples), max(samples)],
        "prepare_ns": 0,
        "spread": {
            "rounds": 0.0, "processes": None, "draws": 0.0, "outliers": 0,
            "drift": 0.0, "drift_p": 1.0,
        },
        "prepare_samples_ns": [],
        "draw_ns": [1.0],
        "operations": {"energies": 1},
        "peak_memory_bytes": 0,
        "limit": None,
        "numerics": {"attention_mass": float(output_length)},
        "point": POINT,
    }
    cell.update(changes)
    for key, part in PARTS.items():
        if cell[key] is not None:
            cell[key] = {**part, **cell[key]}
    return cell


def make_decoder_cell(mechanism, length, beam, ratio=1.0, **changes):
    """A cell of a whole decoder: `ratio` over one of ratio 1, and a tenth less to a tenth
    more with its interval. Its attention takes a tenth of the time.
    """
    samples = [1e6 * ratio * factor for factor in (0.9, 1, 1.1) for _ in range(4)]
    if ratio == 1:
        samples = [1e6] * ROUNDS
    tenths = [sample / 10 for sample in samples]
    cell = make_cell(
        mechanism, length, length, samples_ns=samples, scope="decoder",
        workload="copy:1", beam=beam, vocabulary=20, layers=2,
        encoder="timed", prepare_ns=None, draw_ns=[],
        operations=None, peak_memory_bytes=None, numerics={"error": 0.0},
        point=f"{length:08x}{beam:08x}")
    cell["decoder"] = {
        "source_lengths": [length // 2, length, 0],
        "attention_samples_ns": [] if mechanism == "none" else tenths,
        "attention_trials_per_sample": 1,
        "attention_median_ns": 1e5 * ratio,
        "attention_interval_ns": [min(tenths), max(tenths)],
        "reads": None,
    }
    if mechanism in ("none", "memory"):
        cell.update(energy=None, end=None)
    cell.update(changes)
    return cell


def reads(memory_read, zero_contexts, energies_per_output=2.0):
    """What a whole decoder read."""
    return {"energies_per_output": energies_per_output, "memory_read": memory_read,
            "zero_contexts": zero_contexts}


def stop(cell, status, message):
    """Makes of a cell one without times."""
    cell.pop("decoder", None)
    cell.pop("latency", None)
    cell.pop("least_ns", None)
    for key in ("median_ns", "interval_ns", "prepare_ns", "spread", "operations", "limit"):
        cell[key] = None
    cell.update(status=status, message=message, samples_ns=[], draw_ns=[])


def make_document(cells):
    document = make_result("sweep", cells=cells)
    document["context"].update(points=[POINT], shard=None, limits=[], calibration=[])
    return document


def make_result(kind, **members):
    """A result of any kind."""
    context = copy.deepcopy(CONTEXT)
    return {"schema_version": 1, "kind": kind, "context": context, **members}


def make_trained_run(name, seed, soft, hard=None, steps=(), more=None, example=None,
                     **settings):
    """A run of `attnbench train`. Errors are in percent; the curve is 80 percent right
    from the first of `steps` on, if there are any. `more` is what its result has besides.
    """
    result = {"soft_error": soft / 100, "hard_error": None if hard is None else hard / 100,
              "loss": 0.5, "selected_mass": None if hard is None else 0.8,
              "discrete_share": None if hard is None else 0.5 + seed / 100}
    points = [{**result, "soft_error": 0.21 if step < min(steps) else 0.2, "step": step,
              "training_loss": 1.0} for step in (100, 200, 300)] if steps else []
    shown = {} if example is None else {"example": example}
    return {"name": name, "seed": seed, "held_out_seed": 1, "settings": settings,
            "status": "ok", "message": None, "seconds": 3.0, 
            "result": {**result, **(more or {})}, "curve": points, **shown}


def make_trained(experiment, runs):
    """A result of `attnbench train`."""
    all_settings = {
        "task": "copy", "least_symbols": 0, "most_symbols": 3, "frame_noise": 0.7,
        "mechanism": "monotonic", "alpha": "exact", "chunk_width": 4, "num_contexts": 32,
        "encoder_scoring": "softmax", "decoder_scoring": "softmax",
        "position_encoding": "none", "place": "inside", "energy_bias": -2, "dim": 64,
        "encoder_units": 64, "bidirectional": False, "embedding_in_memory": False,
        "embedding": 32, "starts_from_encoder": False, "input_feeding": False,
        "steps": 300, "batch": 32, "learning_rate": 0.005, "greatest_norm": 1, "noise": 0,
        "noise_rise": 0, "held_out": 4096, "curve_every": 100, "curve_held_out": 256}
    for run in runs:
        run["settings"] = {**all_settings, **run["settings"]}
    return make_result("trained", experiment=experiment, quick=False, complete=True,
                       runs=runs)


def limits(levels, precision="f32", threads=1, peak_flops_per_s=1e11):
    """What a machine can do; `levels` are (name, size, bytes read in a second), and copies
    are half as fast.
    """
    def level(name, size, rate):
        rates = {"read": rate, "copy": rate / 2}
        return {"name": name, "size_bytes": size, "array_bytes": 1,
                **{f"{what}_bytes_per_s": rate for what, rate in rates.items()},
                **{f"{what}_samples": [rate, rate] for what, rate in rates.items()}}
    return {"precision": precision, "threads": threads,
            "peak_flops_per_s": peak_flops_per_s, "peak_samples": [peak_flops_per_s],
            "levels": [level(*one) for one in levels]}


def stability_row(mechanism, variant, preset, family, t, u, **changes):
    """A row of the result of `attnbench stability`."""
    return {
        **_drawn(mechanism, variant, preset, family, t, u),
        "draws": 3,
        "attention_error": 1e-7,
        "relative_error": 1e-6,
        "mass_error": 2e-7,
        "selection_error": 1e-7,
        **changes,
    }


def _stability_gradient(mechanism, variant, preset, family, t, u, **changes):
    return {
        **_drawn(mechanism, variant, preset, family, t, u),
        "gradient_error": 1e-7,
        "relative_error": 1e-6,
        "largest_exact": 1.5,
        **changes,
    }


def _drawn(mechanism, variant, preset, family, t, u):
    return {
        "mechanism": mechanism,
        "variant": variant,
        "preset": preset,
        "precision": "f32",
        "family": family,
        "chunk_energy_scale": None,
        "memory_length": t,
        "output_length": u,
        "not_finite": 0,
    }


def stability_document():
    """Errors that grow with T, of tf and jmin; one of jmin's is a NaN."""
    rows, gradients = [], []
    for precision, family, t in itertools.product(
        ("f32", "f64"), ("uniform", "sharpness_8"), (4, 16, 64)
    ):
        for variant, preset, error in (
            ("exact", None, 1e-7 if precision == "f32" else 0),
            ("parallel", "tf", t / 100),
            ("parallel", "jmin", 0.5),
        ):
            errors = {"attention_error": error, "mass_error": error}
            if preset == "jmin" and t == 64:
                errors = dict.fromkeys((*errors, "relative_error"))
                errors["not_finite"] = 7
            rows.append(
                stability_row(
                    "monotonic", variant, preset, family, t, t // 4,
                    precision=precision, **errors,
                )
            )
            gradients.append(
                _stability_gradient(
                    "monotonic", variant, preset, family, 64, t, precision=precision,
                    largest_gradient=1.5 if preset is None else 10.0 * t,
                    gradient_error=1e-7 if preset is None else 10.0 * t - 1.5,
                )
            )
        rows += [
            stability_row(
                "mocha", variant, None, family, t, t // 4, precision=precision,
                chunk_energy_scale=scale, attention_error=error,
            )
            for variant, error in (("exact", 1e-7), ("clipped", 0.3))
            for scale in (1, 10)
        ]
        # One output only: not what the figure is about.
        rows.append(
            stability_row(
                "monotonic", "parallel", "tf", family, t, 1,
                precision=precision, attention_error=1e-8,
            )
            if t > 4
            else stability_row("soft", "exact", None, family, t, 1,
                               precision=precision)
        )
    return make_result(
        "stability", rows=rows, gradients=gradients, ledger=[], peers=[], limits=[])


def noisy(rng, time_ns, round_factors):
    """Samples that share what the machine did in each round."""
    return [
        time_ns * factor * math.exp(rng.gauss(0, 0.02))
        for factor in round_factors
    ]


def mad_cells(lengths=(4, 8, 16, 32, 64, 128)):
    """Figure 8's grid: two workloads, three builds, soft and monotonic."""
    rng = random.Random(1)
    cells = []
    for workload, (variant, slow), t, u in itertools.product(
        ("uniform", "planted"),
        (("exact", 1), ("published_O3", 6), ("published_O0", 40)),
        lengths,
        lengths,
    ):
        axes = {"variant": variant, "workload": workload}
        if variant != "exact":
            axes["precision"] = "f64"
        factors = [math.exp(rng.gauss(0, 0.2)) for _ in range(ROUNDS)]
        read = t if workload == "planted" else min(t, u)
        for mechanism, work in (("soft", 1.3 * t * u), ("monotonic", read + u)):
            samples = noisy(rng, slow * (90 + 20 * work), factors)
            cell = make_cell(mechanism, t, u, samples_ns=samples, **axes)
            if variant != "exact" and mechanism == "monotonic":
                cell["end"] = "stay_last"
            cells.append(cell)
    return cells


def mocha_cells(lengths=range(10, 101, 10), extra=()):
    """Figure 3's mechanisms, and `extra` ones, at T = U."""
    rng = random.Random(2)
    cells = []
    for t in lengths:
        factors = [math.exp(rng.gauss(0, 0.2)) for _ in range(ROUNDS)]
        settings = [
            ("soft", {}, t * t),
            ("monotonic", {}, 3 * t),
            *(("mocha", {"chunk_width": w}, (3 + w) * t) for w in (2, 4, 8)),
            ("matcha", {}, 4.5 * t),
            ("memory", {"num_contexts": 32}, 32 * t),
            *((name, {}, 2 * t) for name in extra),
        ]
        for mechanism, axes, work in settings:
            samples = noisy(rng, 200 + 15 * work, factors)
            cells.append(make_cell(mechanism, t, t, samples_ns=samples, **axes))
    return cells


def decoded(mechanism, length=30, num_outputs=12, width=1):
    """What `attnbench decode` prints for a made-up monotone path."""
    rng = random.Random(3)
    steps, start = [], 1
    for output in range(1, num_outputs + 1):
        if mechanism in ("soft", "memory"):
            centre = output * length / num_outputs
            spread = 2 if mechanism == "soft" else 8
            raw = [
                math.exp(-abs(j - centre) / spread)
                for j in range(1, length + 1)
            ]
            weights = [value / sum(raw) for value in raw]
            inspected = length if mechanism == "soft" else 0
            position, begin, end = None, 1, length
        else:
            position = min(length, start + rng.randrange(0, 6))
            begin, end = max(1, position - width + 1), position
            weights = [1 / (end - begin + 1)] * (end - begin + 1)
            inspected = position - start + 1
            start = position
        steps.append(
            {
                "position": position,
                "begin": begin,
                "end": end,
                "weights": weights,
                "inspected": inspected,
                "context": [0.0],
            }
        )
    return {"mechanism": mechanism, "memory_length": length, "steps": steps}
