"""Guards against a target against an older program that is read from two runs of other
days, from the wrong side of a ratio or with an interval too narrow, and against an
exponent of fewer lengths than it says."""

import unittest

import made_up
from attnbench.analysis import load
from attnbench.judge import ledger
from pages import targets
from targets_test import CONTEXT, SOFT, TableTest, cells

# What a row of a comparison is known by.
REQUIRED = ["mechanism", "memory_length", "output_length", "chunk_width", "num_contexts",
            "dim", "batch", "threads", "precision", "mode", "scope", "schedule", "energy",
            "variant", "workload", "end"]
PROGRAMS = {"schema_version": 1,
            "measurements": {"x": {"kind": "sweep", "experiment": "x"},
                             "again": {"kind": "compare", "experiment": "again"}},
            "claims": [{"id": "target-x", "source": "Target", "claim": "It is faster.",
                        "parts": []}]}


class ProgramsTest(TableTest):
    """Two programs, of which one is older; and how one grows."""

    def comparison(self, *rows, **changes):
        """Of rows (T, B / A over the common ratio, interval)."""
        def side(name):
            return {"path": name, "commit": 40 * name, "build_id": "x", "simd": "AVX2",
                    "cpu": CONTEXT["cpu"], "date": CONTEXT["date"], "valid": True,
                    "invalid_reasons": [], "warnings": []}
        axes = made_up.make_cell("soft", 100, 10, time_ns=1)
        known = [*REQUIRED, "options"]
        made = [{**{key: axes[key] for key in known}, "memory_length": t,
                 "verdict": "FASTER", "reason": "", "ratio": ratio, "interval": ends,
                 "a_ns": 5000.0, "a_processes": 4, "b_ns": 2000.0, "b_processes": 4}
                for t, ratio, ends in rows]
        return {"schema_version": 1, "kind": "compare", "a": side("a"), "b": {
                    **side("b"), "commit": CONTEXT["commit"]},
                "differences": [], "level": 0.05, "margin": 0.05,
                "comparisons": len(made), "common_ratio": 0.5,
                "common_interval": [0.4, 0.625], "relative": True, "paired": True,
                "placement": None, "rows": made, "untimed": [], "changes": [],
                "only_a": [], "only_b": [], **changes}

    def table_of(self, quantity, rule, again=None, measured=()):
        parts = [{"name": "work", "role": "claim", "unit": "ratio", "quantity": quantity,
                  "rule": dict(zip(("kind", "bound"), rule))}]
        asked = {**PROGRAMS, "claims": [{**PROGRAMS["claims"][0], "parts": parts}]}
        paths = [self.write("x.json", made_up.make_document(measured or cells()))]
        if again:
            paths.append(self.write("again.json", again))
        return targets.table(ledger.read(self.write("t.json", asked)), paths)

    def fields(self, *arguments, **keywords):
        line = self.table_of(*arguments, **keywords).splitlines()[4]
        return [field.strip() for field in line.split("|")[2:-1]]

    def test_a_speed_over_the_program_before_is_beside_nothing_in_common(self):
        quantity = {"kind": "program_speed_over", "from": "again",
                    "of": {"memory_length": 100}}
        again = self.comparison((100, 0.4, [0.32, 0.5]), (200, 2.0, [1.9, 2.1]))
        # B takes 0.4 x 0.5 of the time, and its interval has both errors.
        for bound, said in ((3, "met"), (5, "open"), (8, "missed")):
            self.assertEqual(
                self.fields(quantity, ("at_least", bound), again),
                [f"≥ {bound}x the program before", "5.0x [3.2, 7.8]", said, "–",
                 "200 ns per output"])
        alone = {**again, "relative": False, "common_interval": None}
        self.assertEqual(self.fields(quantity, ("at_least", 2), alone)[1:3],
                         ["2.5x [2.0, 3.1]", "met"])

    def test_a_cell_without_a_time_misses_its_target(self):
        quantity = {"kind": "program_speed_over", "from": "again",
                    "of": {"memory_length": 100}}
        again = self.comparison((100, 0.4, [0.32, 0.5]), (200, 2.0, [1.9, 2.1]))
        again["untimed"] = [{
            **{key: again["rows"][0][key] for key in (*REQUIRED, "options")},
            "a_status": "ok", "b_status": "invalid"}]
        del again["rows"][0]
        self.assertEqual(self.fields(quantity, ("at_least", 2), again)[1:],
                         ["before: ok, now: invalid", "missed", "–", "–"])

    def test_the_slowest_cell_is_the_one_whose_interval_begins_last(self):
        quantity = {"kind": "slowest_program_over", "from": "again"}
        again = self.comparison((100, 4.0, [2.0, 8.0]), (200, 2.4, [2.3, 2.5]),
                                common_interval=[0.5, 0.5])
        fields = self.fields(quantity, ("at_most", 1.03), again)
        self.assertEqual(fields[1:3], [
            "1.1x of 2 cells: soft, exact, uniform, T = 200, U = 10, dot, online, decode, "
            "full (1.2x [1.1, 1.2])", "missed"])
        again["rows"][1].update(energy=None)  # as of `memory`
        self.assertIn("U = 10, online, decode, full (",
                      self.fields(quantity, ("at_most", 1.03), again)[1])
        again["rows"][1].update(ratio=2.0, interval=[1.9, 2.1])
        self.assertEqual(self.fields(quantity, ("at_most", 1.03), again)[2], "met")

    def test_the_program_before_is_named_and_must_have_taken_turns(self):
        quantity = {"kind": "program_speed_over", "from": "again",
                    "of": {"memory_length": 100}}
        again = self.comparison((100, 0.4, [0.32, 0.5]))
        self.assertIn("The program before: commit aaaaaaaaaa.",
                      self.table_of(quantity, ("at_least", 2), again))
        with self.assertRaisesRegex(load.DataError, "is of two results"):
            self.table_of(quantity, ("at_least", 2), {**again, "paired": False})
        again["b"]["simd"] = "AVX3"
        with self.assertRaisesRegex(load.DataError, "mixed data: simd is AVX2, AVX3"):
            self.table_of(quantity, ("at_least", 2), again)
        again["b"].update(commit=40 * "c", simd="AVX2")
        with self.assertRaisesRegex(load.DataError, "mixed data: commit"):
            self.table_of(quantity, ("at_least", 2), again)

    def test_a_speed_up_with_many_outputs_without_a_context_is_marked(self):
        quantity = {"kind": "speed_over", "from": "x", "of": {"variant": "exact"},
                    "to": {"variant": "framework"}}
        for mass, mark in ((9.4, " \\*"), (9.6, "")):
            measured = [made_up.make_cell("monotonic", 100, 10, variant=variant, time_ns=ns,
                                          numerics={"attention_mass": mass})
                        for variant, ns in (("exact", 100.0), ("framework", 2000.0))]
            made = self.table_of(quantity, ("at_least", 2), measured=measured)
            self.assertIn(f"| 20x{mark} |", made)
            self.assertEqual("of the outputs have no context" in made, bool(mark))

    def test_an_exponent_is_of_all_its_lengths(self):
        quantity = {"kind": "exponent", "from": "x", "field": "time",
                    "against": ["memory_length"],
                    "of": {"variant": "exact", "memory_length": [100, 200, 400]}}
        measured = [made_up.make_cell("soft", t, 10, mode="expect", time_ns=t**1.5)
                    for t in (50, 100, 200, 400)]
        text, said = self.fields(
            quantity, ("at_most", 1.6), measured=measured)[1:3]
        self.assertTrue(text.startswith("1.5 ["), text)
        self.assertEqual(said, "met")
        self.assertEqual(
            self.fields(quantity, ("at_most", 1.3), measured=measured)[2], "missed")
        self.assertEqual(
            self.fields(quantity, ("at_most", 2), measured=measured[:-1])[1:],
            ["T = 400 was not measured", "missed", "–", "–"])

    def test_a_comparison_is_read_by_its_own_quantities_alone(self):
        for kind, name in (("program_speed_over", "x"), ("ns_per_entry", "again")):
            with self.assertRaisesRegex(load.DataError, "is not read from"):
                self.table_of({"kind": kind, "from": name, "of": SOFT}, ("at_most", 1))


if __name__ == "__main__":
    unittest.main()
