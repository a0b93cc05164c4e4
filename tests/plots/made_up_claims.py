"""Made-up results of `attnbench claims` and of whole decoders, in their form, for the
tests of REPRODUCTION.md. Every claim of the ledger is in the former, with most of the
verdicts.
"""

import json
import pathlib

import made_up

ROOT = pathlib.Path(__file__).resolve().parents[2]
OF_PART = {"refuted": "fails", "not reproduced here": "fails"}
UNMEASURED = "not measurable here: no training result"


def reading(value, interval=None, **labels):
    return {"value": value, "interval": interval, "labels": labels}


def group(verdict, least, greatest=None, why=None, **labels):
    return {
        "labels": labels, "verdict": verdict, "why": why,
        "readings": 1 if greatest is None else 2,
        "least": least, "greatest": greatest or least,
    }


HOLDS = [group("holds", reading(3), reading(17))]
FAILS = [
    group("fails", reading(1.53, [1.3, 1.61], memory_length=4, dim=256),
          reading(34.9, [25, 42.2], memory_length=128, dim=256), workload="uniform"),
    group("undecided", reading(3.6, [3.1, 4.5]), workload="planted",
          why="the interval [3.1, 4.5] contains the bound 4"),
]
ONLY_IF = [
    group("holds", reading(8e-7), chunk_energy_scale=1, precision="f32"),
    group("fails", reading("inf"), chunk_energy_scale=10, precision="f32"),
]
WIDE = "the interval [-0.1, 0.2] contains 0"
WIDE_GROUPS = [group("undecided", reading(0.05, [-0.1, 0.2]), why=WIDE)]
# id -> (verdict, groups of its first part)
MEASURED = {
    "mad-binary": ("holds", HOLDS),
    "mad-speedup": ("refuted", FAILS),
    "mocha-reorder": ("not reproduced here", HOLDS),
    "mocha-params": ("depends on reading: it holds if reading = narrow", HOLDS),
    "matcha-no-better": ("waits for trained results of speech", []),
    "mocha-moving-sum": ("holds only if chunk_energy_scale = 1", ONLY_IF),
    "britz-gap-grows": (f"undecided: {WIDE}", WIDE_GROUPS),
}


def claim(asked):
    verdict, groups = MEASURED.get(asked["id"], (UNMEASURED, []))
    parts = [
        {"name": part["name"], "role": part["role"], "unit": part["unit"],
         "rule": part.get("rule"),
         "verdict": OF_PART.get(verdict, verdict) if number == 0 else UNMEASURED,
         "groups": groups if number == 0 else []}
        for number, part in enumerate(asked["parts"])
    ]
    evidence = [
        {"measurement": "speedup", "file": "results/claims/speedup.json",
         "point": "0123456789abcdef", "place": f"cells[{cell}]"}
        for cell in range(5)
    ]
    return {
        "id": asked["id"], "kind": asked["kind"], "source": asked["source"], "claim": asked["claim"],
        "measured": parts, "bound": "as the ledger says", "verdict": verdict,
        "because": "It is <so>." if asked["id"] == "mad-speedup" else None,
        "evidence": evidence if groups else [],
    }


def document():
    ledger = json.loads((ROOT / "experiments" / "claims.json").read_text())
    made = made_up.make_result(
        "claims", quick=False, claims=[claim(asked) for asked in ledger["claims"]])
    made["context"]["command"] = "attnbench claims -o claims.json"
    made["context"]["memory_bytes"] = 8 * 2**30
    return made


def decoder_document(lengths=(20, 50), **model):
    cells = []
    for length in lengths:
        for beam in (10, 1):
            def add(mechanism, ratio, **changes):
                cells.append(made_up.make_decoder_cell(
                    mechanism, length, beam, ratio, **model, **changes))

            add("soft", 1)
            add("memory", 0.8 if beam > 1 else 0.7, num_contexts=32)
            add("mocha", 0.6, chunk_width=4)
            cells[-1]["decoder"]["reads"] = made_up.reads(0.96, 0.08)
            add("monotonic", 1)
            made_up.stop(cells[-1], "skipped", "no room")
    made = made_up.make_document(cells)
    made["context"]["points"] = sorted({cell["point"] for cell in cells})
    return made
