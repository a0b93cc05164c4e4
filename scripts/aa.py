#!/usr/bin/env python3
"""Measures how far apart runs and builds of one program are, and whether the rule of
intervals knows it: an A/A study. Then it plants a slow-down and looks for it.

usage: aa.py measure BUILD FOLDER   times experiments/aa.json again and again with the
                                    program of a build folder and with relinks of it
                                    (a run that is in FOLDER is not made again, so the
                                    study may be stopped and go on another time)
       aa.py effects FOLDER         writes results/effects.json from the runs that are
                                    for it
       aa.py plant BUILD FOLDER     slows one mechanism down, and looks for it again and
                                    again with `compare --programs`
       aa.py judge BUILD FOLDER     writes results/aa.json: the share of rows of pairs of
                                    other runs that are called different, and how often
                                    the planted slow-down was found
example: scripts/aa.py measure build/release build/aa

The program is built with effects.json in it: run `effects`, build again, then `plant` and
`judge`. The two runs of a pair are as far apart in time as can be. An error gives one line
on stderr and exit code 2. Each part takes up to half an hour, and other programs spoil it.
"""

import json
import math
import os
import shlex
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "python"), os.path.join(ROOT, "scripts")]

import relink  # noqa: E402
from attnbench.analysis import start  # noqa: E402
with start.imports("aa.py"):
    import numpy
    from scipy import stats

    from attnbench.analysis import intervals, load, series, whole_file
    from attnbench.answers import change

EXPERIMENT = os.path.join(ROOT, "experiments", "aa.json")
PEERS = os.path.join(ROOT, "experiments", "peers", "alpha.json")
FRAMEWORK = shlex.join(
    [sys.executable, os.path.join(ROOT, "experiments/peers/framework.py")])
RUNS, BUILDS = 12, 8
PAIRS = {"runs": 40, "relinks": 20}
# Every seventh entry of a memory is scored twice.
PLANTED = {
    "mechanism": "memory",
    "mode": "decode",
    "file": "mechanisms/memory/memory.cc",
    "old": "        ScoreEntry(first + n);\n",
    "new": "        ScoreEntry(first + n);\n"
           "        if ((first + n) % 7 == 0) ScoreEntry(first + n);\n",
}
SEARCHES, MARGIN = 10, 0.02
DESIGNS = [(20, 2), (40, 10)]  # processes of each program, rounds of a process


def main(arguments):
    commands = {"measure": (measure, 2), "effects": (effects, 1), "plant": (plant, 2),
                "judge": (judge, 2)}
    command, count = commands.get(arguments[0] if arguments else "", (None, 0))
    if command is None or len(arguments) != count + 1:
        sys.exit(__doc__)
    command(*arguments[1:])


# ---- measuring ---------------------------------------------------------------


def measure(build, folder):
    relink.main(build, BUILDS + 2 * PAIRS["relinks"])
    os.makedirs(folder, exist_ok=True)
    own = os.path.join(build, "attnbench")
    halves = [[], []]
    for number in range(PAIRS["runs"]):
        for half in (0, 1):
            halves[half].append((own, f"runs-{number}-{half}"))
    for number in range(PAIRS["relinks"]):
        for half in (0, 1):
            program = os.path.join(
                build, "relinks", f"attnbench-{BUILDS + 1 + 2 * number + half}")
            halves[half].append((program, f"relinks-{number}-{half}"))
    plan = halves[0] + halves[1]
    between = len(plan) // RUNS
    for number, (program, name) in enumerate(plan):
        if number % between == 0 and number // between < RUNS:
            sweep(own, f"effects-{number // between}", folder, EXPERIMENT,
                  "--builds", str(BUILDS))
            sweep(own, f"peers-{number // between}", folder, PEERS, "-T", "256",
                  "-U", "128", "--repetitions", "5", "--processes", "6",
                  "--peer", FRAMEWORK)
        sweep(program, name, folder, EXPERIMENT)
        print(f"aa.py: {number + 1} of {len(plan)}", flush=True)


def sweep(program, name, folder, experiment, *options):
    path = os.path.join(folder, name + ".json")
    if os.path.exists(path):
        return
    run([program, "run-sweep", experiment, *options, "-o", path, "--force"])


def run(command, codes=(0,)):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", errors="replace", check=False)
    if done.returncode not in codes:
        said = done.stderr.strip().splitlines() or ["no reason given"]
        raise load.DataError(" ".join(command), said[-1])
    return done.stdout


# ---- effects -----------------------------------------------------------------


def effects(folder):
    ours = [cells_of(folder, f"effects-{number}") for number in range(RUNS)]
    peers = [cells_of(folder, f"peers-{number}") for number in range(RUNS)]
    found = {
        "time": effect([[series.logs(cell) for cell in cells] for cells in ours]),
        "ratio": effect([rows_of(cells) for cells in ours]),
        "peer": effect([rows_of(cells) for cells in peers]),
        "speed": effect_of_speed(ours),
    }
    # A peer is not linked again, so that only our side of a ratio moves with builds. Both
    # sides move with processes; those of peers are few.
    ratio, peer = found["ratio"], found["peer"]
    for what in ("build", "process"):
        if what == "build" or peer["s_process"] < ratio["s_process"]:
            peer.update({key: ratio[key] for key in (f"s_{what}", f"{what}_degrees")})
    document = {"schema_version": 1, "kind": "effects", "effects": found}
    write("effects.json", document)


def cells_of(folder, name):
    frame = load.load(os.path.join(folder, name + ".json"))
    return [cell for cell in frame.to_dict("records") if cell["status"] == "ok"]


def rows_of(cells):
    """Gives the series of each cell over the first of its point, of the same rounds."""
    bases, rows = {}, []
    for cell in cells:
        base = bases.setdefault(cell["point"] + cell["scope"], cell)
        if base is not cell:
            rows.append(series.log_ratios(cell, base))
    return rows


def effect(runs):
    """Gives the effect of builds, processes and runs on rows [run][row][build, process,
    round]: standard deviations with their degrees of freedom, the mean over rows. Each run
    has a process of each build. A mean of builds or runs has a share of what processes do,
    which is left in, so that its degrees are known.
    """
    # A run of one build has processes in their place. [run, row, build]
    table = numpy.array([
        [numpy.median(row, axis=2).reshape(-1) for row in rows] for rows in runs])
    errors = numpy.array([
        [[intervals.center(rounds.reshape(1, 1, -1))[1][0]
          for rounds in row.reshape(-1, row.shape[2])] for row in rows] for rows in runs])
    count_runs, _, count_builds = table.shape
    process = of_processes(table, errors)
    by_jackknife = (count_runs - 1) * numpy.var([
        of_processes(numpy.delete(table, one, 0), numpy.delete(errors, one, 0))
        for one in range(count_runs)])
    degrees = 2 * process**2 / by_jackknife if process > 0 else 1
    found = {
        "build": (mean_square(table.mean(axis=0)), count_builds - 1),
        "process": (process, float(numpy.clip(degrees, 1, count_runs - 1))),
        "run": (mean_square(table.mean(axis=2).T), count_runs - 1),
    }
    return {
        key: value
        for what, (square, degrees) in found.items()
        for key, value in ((f"s_{what}", round(math.sqrt(max(0.0, square)), 4)),
                           (f"{what}_degrees", round(degrees, 1)))
    }


def mean_square(values):
    """Gives the variance of values [row, one], the mean over rows."""
    return numpy.var(values, axis=1, ddof=1).mean()


def of_processes(table, errors):
    """Gives the variance of processes of a table [run, row, build], whose rounds show the
    squared `errors`: what neither runs nor builds nor rounds explain.
    """
    rest = (table - table.mean(axis=0, keepdims=True) - table.mean(axis=2, keepdims=True)
            + table.mean(axis=(0, 2), keepdims=True))
    degrees = (table.shape[0] - 1) * (table.shape[2] - 1)
    return (rest**2).sum(axis=(0, 2)).mean() / degrees - errors.mean()


def effect_of_speed(runs):
    """Gives how far a cell's time of one process moves away from the mean of all cells of
    that process, as a share of the mean's own move: by regression of squares on squares,
    so that what moves at any speed is the intercept.
    """
    times = numpy.array([
        [numpy.median(series.logs(cell), axis=2).reshape(-1) for cell in cells]
        for cells in runs
    ])  # [run, cell, process]
    moves = times - times.mean(axis=(0, 2), keepdims=True)
    common = moves.mean(axis=1, keepdims=True)
    fit = stats.linregress((common**2).reshape(-1),
                           ((moves - common) ** 2).mean(axis=1).reshape(-1))
    return {"share": round(math.sqrt(max(0.0, fit.slope)), 3), "degrees": len(runs) - 1}


# ---- a planted slow-down -----------------------------------------------------


def plant(build, folder):
    planted = relink.plant(build, os.path.join(folder, "build"), PLANTED)
    for one in (build, planted):
        relink.main(one, max(processes for processes, _ in DESIGNS))
    for number in range(SEARCHES):
        for processes, rounds in DESIGNS:
            start = time.monotonic()
            said = run([os.path.join(build, "attnbench"), "compare", "--programs", build,
                        planted, EXPERIMENT, "--processes", str(processes), "--repetitions",
                        str(rounds), "--margin", str(MARGIN), "--json"], codes=(0, 1, 5))
            found = {"minutes": (time.monotonic() - start) / 60, "planted": PLANTED,
                     **json.loads(said)}
            with open(path_of_search(folder, processes, rounds, number), "w",
                      encoding="utf-8") as file:
                json.dump(found, file)
            print(f"aa.py: {number + 1} of {SEARCHES} with {processes} processes of "
                  f"{rounds} rounds", flush=True)


def path_of_search(folder, processes, rounds, number):
    return os.path.join(folder, f"planted-{processes}-{rounds}-{number}.json")


def planted_of(folder):
    """Gives what each search for the slow-down found."""
    searches = []
    for processes, rounds, number in (
            (*design, number) for design in DESIGNS for number in range(SEARCHES)):
        path = path_of_search(folder, processes, rounds, number)
        found = load.read_json(path)
        if found["planted"] != PLANTED:
            raise load.DataError(path, "is of another planted slow-down")
        slow = [row["mechanism"] == PLANTED["mechanism"] and row["mode"] == PLANTED["mode"]
                for row in found["rows"]]
        [row] = [row for row, is_slow in zip(found["rows"], slow) if is_slow]
        searches.append({
            "processes": processes,
            "rounds": rounds,
            "minutes": round(found["minutes"], 2),
            "rows": len(slow),
            "valid": found["a"]["valid"] and found["b"]["valid"],
            "verdict": row["verdict"],
            "ratio": row["ratio"],
            "interval": row["interval"],
            "others_different": sum(
                is_different(row, MARGIN) and not is_slow
                for row, is_slow in zip(found["rows"], slow)),
        })
    return {key: PLANTED[key] for key in ("mechanism", "mode", "file", "new")} | {
        "margin": MARGIN, "searches": searches}


# ---- pairs -------------------------------------------------------------------


def judge(build, folder):
    program = os.path.join(build, "attnbench")
    pairs = [
        pair(program, folder, of, number) for of in PAIRS for number in range(PAIRS[of])
    ]
    context = context_of(folder)
    document = {
        "schema_version": 1,
        "kind": "aa",
        "context": context,
        "pairs": pairs,
        "shares": [share(pairs, of, by) for of in PAIRS for by in ("compare", "table")],
        "planted": planted_of(folder),
    }
    write("aa.json", document)
    for one in document["shares"]:
        print(f"{one['of']} by {one['by']}: {100 * one['share']:.2g} % "
              f"[{100 * one['low']:.2g}, {100 * one['high']:.2g}] of rows called different")


def context_of(folder):
    """Gives the context of the first run, when the last one began, and how many of all
    runs were disturbed.
    """
    contexts = [
        load.read_json(os.path.join(folder, f"{of}-{number}-{half}.json"))["context"]
        for of in PAIRS for number in range(PAIRS[of]) for half in (0, 1)
    ]
    disturbed = [one for one in contexts if not one["valid"]]
    if len({one["build_id"] for one in contexts[:2 * PAIRS["runs"]]}) > 1:
        raise load.DataError(folder, "has runs of several programs")
    is_disturbed = len(disturbed) > len(contexts) / 2
    keys = ("commit", "dirty", "build_id", "compiler", "flags", "cpu", "caches", "cores",
            "kernel", "simd", "date")
    return {
        **{key: contexts[0][key] for key in keys},
        "until": max(one["date"] for one in contexts),
        "valid": not is_disturbed,
        "invalid_reasons": ["most runs are not valid"] if is_disturbed else [],
        "warnings": [
            f"{len(disturbed)} of {len(contexts)} runs are not valid and count as they "
            f"came: {disturbed[0]['invalid_reasons'][0]}"
        ] if disturbed else [],
    }


def pair(program, folder, of, number):
    paths = [os.path.join(folder, f"{of}-{number}-{half}.json") for half in (0, 1)]
    # 1, 5: something is told; the pair may also be of runs that a load disturbed.
    said = json.loads(run([program, "compare", *paths, "--json"], codes=(0, 1, 5)))
    rows = said["rows"]
    distances = distances_of(*(cells_of(folder, f"{of}-{number}-{half}") for half in (0, 1)),
                             of == "relinks")
    return {
        "of": of,
        "rows": {"compare": len(rows), "table": len(distances)},
        "different": {
            "compare": sum(is_different(row, said["margin"]) for row in rows),
            "table": sum(distance > 1 for distance in distances),
        },
        "distances": [round(distance, 4) for distance in distances],
    }


def is_different(row, margin):
    """Whether the interval says FASTER or SLOWER: of a run that is not valid, and counts as
    it came, compare gives no verdict.
    """
    span = row["interval"] and intervals.Span(row["ratio"], *row["interval"])
    return bool(span) and change.kind_of(span, margin) in (change.FASTER, change.SLOWER)


def distances_of(a_cells, b_cells, are_builds):
    """Gives the distance of each row's two values in half widths of the interval of their
    difference: what one run tells of another.
    """
    distances = []
    for a, b in zip(rows_of(a_cells), rows_of(b_cells), strict=True):
        both = [intervals.center(one) for one in (a, b)]
        parts = [part for _, part in both]
        hidden = intervals.effects("ratio", a.shape, count=2)
        parts += hidden if are_builds else hidden[1:]
        span = intervals.Estimate(both[0][0] - both[1][0], tuple(parts)).at()
        distances.append(abs(span.value) / (span.high - span.value))
    return distances


def share(pairs, of, by):
    """Gives the share of rows that are called different, and the number of pairs with any
    such row. The share's interval is over pairs, as the rows of a pair are of the same two
    runs.
    """
    shares = [one["different"][by] / one["rows"][by] for one in pairs if one["of"] == of]
    value, own = intervals.center(numpy.reshape(shares, (-1, 1, 1)))
    span = intervals.Estimate(value, (own,)).at()
    return {"of": of, "by": by, "pairs": len(shares),
            "pairs_called": sum(one > 0 for one in shares), "share": round(value, 5),
            "low": round(max(0.0, span.low), 5), "high": round(span.high, 5)}


def write(name, document):
    text = json.dumps(document, indent=2) + "\n"
    whole_file.write(os.path.join(ROOT, "results", name), text.encode())


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (load.DataError, relink.RelinkError, subprocess.CalledProcessError,
            OSError) as error:
        print(f"aa.py: {error}", file=sys.stderr)
        sys.exit(2)
