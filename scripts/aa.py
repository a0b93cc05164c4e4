#!/usr/bin/env python3
"""Measures how far apart runs and builds of one program are, and whether the rule of
intervals knows it: an A/A study. Then it plants a slow-down and looks for it.

usage: aa.py measure BUILD FOLDER   times experiments/aa.json again and again with the
                                    program of a build folder and with relinks of it
       aa.py effects FOLDER         writes results/effects.json from the runs that are
                                    for it
       aa.py plant BUILD FOLDER     slows one mechanism down, and looks for it again and
                                    again with `compare --programs`
       aa.py judge BUILD FOLDER     writes results/aa.json: the share of rows of pairs of
                                    other runs that are called different, and how often
                                    the planted slow-down was found
example: scripts/aa.py measure build/release build/aa

`effects` comes into the program when it is built, so build it anew before the others. The
two runs of a pair are as far apart in time as can be. An error gives one line on stderr
and exit code 2. Each part takes up to half an hour, and other programs spoil it.
"""

import json
import math
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time

import numpy
from scipy import stats

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "plots"), os.path.join(ROOT, "scripts")]

import relink  # noqa: E402
from analysis import intervals, load, series, whole_file  # noqa: E402

EXPERIMENT = os.path.join(ROOT, "experiments", "aa.json")
PEERS = os.path.join(ROOT, "experiments", "peers", "alpha.json")
FRAMEWORK = f"/usr/bin/python3 {os.path.join(ROOT, 'experiments/peers/framework.py')}"
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
DESIGNS = [(20, 2), (40, 5)]  # processes of each program, rounds of a process


def main(arguments):
    commands = {"measure": (measure, 2), "effects": (effects, 1), "plant": (plant, 2),
                "judge": (judge, 2)}
    command, count = commands.get(arguments[0] if arguments else "", (None, 0))
    if command is None or len(arguments) != count + 1:
        sys.exit(__doc__)
    command(*arguments[1:])


# ---- measuring ---------------------------------------------------------------


def measure(build, folder):
    relinks = BUILDS + 2 * PAIRS["relinks"]
    run([sys.executable, os.path.join(ROOT, "scripts/relink.py"), build, str(relinks)])
    os.makedirs(folder, exist_ok=True)
    own = os.path.join(build, "attnbench")
    halves = [[], []]
    for number in range(PAIRS["runs"]):
        for half in (0, 1):
            halves[half].append((own, f"runs-{number}-{half}"))
    for number in range(PAIRS["relinks"]):
        for half in (0, 1):
            relink = os.path.join(
                build, "relinks", f"attnbench-{BUILDS + 1 + 2 * number + half}")
            halves[half].append((relink, f"relinks-{number}-{half}"))
    plan = halves[0] + halves[1]
    between = len(plan) // RUNS
    for number, (program, name) in enumerate(plan):
        if number % between == 0 and number // between < RUNS:
            sweep(own, f"effects-{number // between}", folder, EXPERIMENT,
                  "--builds", str(BUILDS))
            sweep(own, f"peers-{number // between}", folder, PEERS, "-T", "256",
                  "-U", "128", "--repetitions", "5", "--processes", "2",
                  "--peer", FRAMEWORK)
        sweep(program, name, folder, EXPERIMENT)
        print(f"aa.py: {number + 1} of {len(plan)}", flush=True)


def sweep(program, name, folder, experiment, *options):
    path = os.path.join(folder, name + ".json")
    run([program, "run-sweep", experiment, *options, "-o", path, "--force"])


def run(command, codes=(0,)):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
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
    }
    # A peer is not linked again, so that only our side of a ratio moves with builds.
    found["peer"].update(
        (key, found["ratio"][key]) for key in ("s_build", "build_degrees"))
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
    round]: the components of variance of a table of runs and builds, the mean over rows.
    Each run has a process of each build; its rounds show a part of what is left.
    """
    # A run of one build has processes in their place.
    table = numpy.array([
        [numpy.median(row, axis=2).reshape(-1) for row in rows] for rows in runs
    ])  # [run, row, build]
    count_runs, _, count_builds = table.shape
    whole = table.mean(axis=(0, 2), keepdims=True)
    of_runs = table.mean(axis=2, keepdims=True) - whole
    of_builds = table.mean(axis=0, keepdims=True) - whole
    rest = table - whole - of_runs - of_builds
    degrees = {"build": count_builds - 1, "run": count_runs - 1}
    degrees["process"] = degrees["build"] * degrees["run"]
    noise = (rest**2).sum(axis=(0, 2)) / degrees["process"]
    of_rounds = numpy.mean([
        [intervals.center(row[build:build + 1, process:process + 1])[1][0]
         for build in range(row.shape[0]) for process in range(row.shape[1])]
        for rows in runs for row in rows
    ])
    squares = {
        "build": (of_builds**2).sum(axis=(0, 2)) / degrees["build"] - noise / count_runs,
        "process": noise - of_rounds,
        "run": (of_runs**2).sum(axis=(0, 2)) / degrees["run"] - noise / count_builds,
    }
    return {
        key: value
        for what, square in squares.items()
        for key, value in (
            (f"s_{what}", round(math.sqrt(max(0.0, square.mean())), 4)),
            (f"{what}_degrees", degrees[what]),
        )
    }


# ---- a planted slow-down -----------------------------------------------------


def plant(build, folder):
    planted = plant_build(build, folder)
    for processes, rounds in DESIGNS:
        for one in (build, planted):
            run([sys.executable, relink.__file__, one, str(processes)])
        for number in range(SEARCHES):
            start = time.monotonic()
            said = run([os.path.join(build, "attnbench"), "compare", "--programs", build,
                        planted, EXPERIMENT, "--processes", str(processes), "--repetitions",
                        str(rounds), "--margin", str(MARGIN), "--json"], codes=(0, 1, 5))
            found = {"minutes": (time.monotonic() - start) / 60, **json.loads(said)}
            with open(path_of_search(folder, processes, rounds, number), "w") as file:
                json.dump(found, file)
            print(f"aa.py: {number + 1} of {SEARCHES} with {processes} processes of "
                  f"{rounds} rounds", flush=True)


def path_of_search(folder, processes, rounds, number):
    return os.path.join(folder, f"planted-{processes}-{rounds}-{number}.json")


def plant_build(build, folder):
    """Gives a build folder with all that a program is linked from; one object of it is
    compiled from the changed source.
    """
    build, planted = pathlib.Path(build).resolve(), pathlib.Path(folder).resolve() / "build"
    source = pathlib.Path(ROOT, PLANTED["file"])
    text = source.read_text()
    if text.count(PLANTED["old"]) != 1:
        raise load.DataError(source, "no longer has the text that is to be changed")
    commands = relink.commands_of(build)
    kept, objects = relink.link_words(commands)
    for name in ["build.ninja", "CMakeFiles/rules.ninja", *objects]:
        os.makedirs((planted / name).parent, exist_ok=True)
        shutil.copy2(build / name, planted / name)
    changed = planted / source.name
    changed.write_text(text.replace(PLANTED["old"], PLANTED["new"]))
    [compiling] = [one for one in commands if one.endswith(str(source))]
    subprocess.run([*shlex.split(compiling)[:-1], changed], cwd=planted, check=True)
    (planted / "relinks").mkdir(exist_ok=True)
    (planted / relink.NAME).touch()
    relink.link(planted, kept, objects, 0)
    os.replace(planted / "relinks" / f"{relink.NAME}-0", planted / relink.NAME)
    return str(planted)


def planted_of(folder):
    """Gives what each search for the slow-down found."""
    searches = []
    for processes, rounds, number in (
            (*design, number) for design in DESIGNS for number in range(SEARCHES)):
        found = load.read_json(path_of_search(folder, processes, rounds, number))
        slow = [row["mechanism"] == PLANTED["mechanism"] and row["mode"] == PLANTED["mode"]
                for row in found["rows"]]
        [row] = [row for row, is_slow in zip(found["rows"], slow) if is_slow]
        searches.append({
            "processes": processes,
            "rounds": rounds,
            "minutes": round(found["minutes"], 2),
            "rows": len(slow),
            "verdict": row["verdict"],
            "ratio": row["ratio"],
            "interval": row["interval"],
            "others_different": sum(
                row["verdict"] in ("FASTER", "SLOWER") and not is_slow
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
    """Gives the context of the first run, with how many of all runs were disturbed."""
    contexts = [
        load.read_json(os.path.join(folder, f"{of}-{number}-{half}.json"))["context"]
        for of in PAIRS for number in range(PAIRS[of]) for half in (0, 1)
    ]
    disturbed = [one for one in contexts if not one["valid"]]
    keys = ("commit", "dirty", "build_id", "compiler", "flags", "cpu", "caches", "cores",
            "kernel", "simd", "date")
    return {
        **{key: contexts[0][key] for key in keys},
        "valid": True,
        "invalid_reasons": [],
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
            "compare": sum(row["verdict"] in ("FASTER", "SLOWER") for row in rows),
            "table": sum(distance > 1 for distance in distances),
        },
        "distances": [round(distance, 4) for distance in distances],
    }


def distances_of(a_cells, b_cells, are_builds):
    """Gives the distance of each row's two values in half widths of the interval of their
    difference: what one run tells of another.
    """
    distances = []
    for a, b in zip(rows_of(a_cells), rows_of(b_cells), strict=True):
        both = [intervals.center(one) for one in (a, b)]
        parts = [part for _, part in both]
        build, *others = intervals.effects("ratio", a.shape, count=2)
        parts += [build, *others] if are_builds else others
        span = intervals.Estimate(both[0][0] - both[1][0], tuple(parts)).at()
        distances.append(abs(span.value) / (span.high - span.value))
    return distances


def share(pairs, of, by):
    """Gives the share of rows that are called different; its interval is over pairs, as
    the rows of a pair are of the same two runs.
    """
    shares = [one["different"][by] / one["rows"][by] for one in pairs if one["of"] == of]
    mean = numpy.mean(shares)
    half = stats.t.isf(intervals.MISS / 2, len(shares) - 1) * stats.sem(shares)
    return {"of": of, "by": by, "pairs": len(shares), "share": round(float(mean), 5),
            "low": round(max(0.0, float(mean - half)), 5), "high": round(float(mean + half), 5)}


def write(name, document):
    text = json.dumps(document, indent=2) + "\n"
    whole_file.write(os.path.join(ROOT, "results", name), text.encode())


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (load.DataError, OSError) as error:
        print(f"aa.py: {error}", file=sys.stderr)
        sys.exit(2)
