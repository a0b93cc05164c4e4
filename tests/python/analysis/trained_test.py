"""Guards against a verdict on trained models that is not of their errors: runs that do
not pair, a sign that is the wrong way round, a run that diverged and does not count, one seed
that passes for many, a mean of ratios that few errors make too large.
"""

import collections
import contextlib
import io
import json
import math
import os
import pathlib
import tempfile
import unittest

import numpy
from documents import ROOT, read, validate
from made_up import make_trained, make_trained_run

from attnbench.analysis import trained
from pages import trained_table


def side(*alternatives, **more):
    return {"alternatives": list(alternatives), **more}


def quantities(runs, of, to=None, per=(), **more):
    document = make_trained("stretch", runs)
    validate(document, "trained")
    asked = {"of": of, **({"to": to} if to else {}), **more}
    return trained.quantities(document, asked, per)


def value(quantity):
    return quantity.of_seeds.at().value


def stretch():
    return [
        make_trained_run("noise0", 1, 2.0, 9.0, noise=0),
        make_trained_run("noise0", 2, 2.0, 11.0, noise=0),
        make_trained_run("noise1", 1, 3.0, 4.0, noise=1),
        make_trained_run("noise1", 2, 3.0, 4.2, noise=1),
        make_trained_run("noise1", 3, 90.0, 90.0, noise=1),
        make_trained_run("clipped", 1, 3.0, 6.0, noise=1, alpha="clipped"),
        make_trained_run("clipped", 2, 3.0, 6.4, noise=1, alpha="clipped"),
        make_trained_run("mocha", 1, 3.0, 5.0), make_trained_run("matcha", 1, 3.0, 4.0),
        make_trained_run("soft", 1, 2.0),
    ]


HARD = {"measures": ["threshold"]}


class TrainedTest(unittest.TestCase):
    def test_seeds_pair_and_numbers_are_those_of_the_runs_that_all_sides_have(self):
        (one,) = quantities(stretch(), side("clipped", **HARD), side("noise1"))
        self.assertEqual(one.seeds, (6 / 4, 6.4 / 4.2))
        self.assertAlmostEqual(value(one), 12.4 / 8.2)
        self.assertEqual(one.places, [5, 6, 2, 3])
        self.assertEqual(one.labels["seeds"], 2)
        expected, hard = quantities(
            stretch(), side("clipped", measures=["expected", "threshold"]), side("noise1"))
        self.assertEqual(value(expected), 1)
        self.assertEqual((expected.labels["measure"], value(hard)),
                         ("expected", value(one)))
        (lost,) = quantities(stretch(), side("noise1", **HARD),
                             side("noise1", measure="expected"))
        for found, wanted in zip(lost.seeds, (4 / 3, 4.2 / 3, 1), strict=True):
            self.assertAlmostEqual(found, wanted)

    def test_what_is_taken_off_is_taken_off_seed_by_seed(self):
        gap = side("noise0", less=["clipped"], **HARD)
        (one,) = quantities(stretch(), gap, side("noise0", less=["noise1"]))
        for found, wanted in zip(one.seeds, (3 / 5, 4.6 / 6.8), strict=True):
            self.assertAlmostEqual(found, wanted)
        self.assertAlmostEqual(value(one), 7.6 / 11.8)
        (points,) = quantities(stretch(), gap)
        self.assertAlmostEqual(value(points), (3 + 4.6) / 2)

    def test_a_single_alternative_goes_with_all_of_the_other_side(self):
        found = quantities(stretch(), side("noise1", **HARD), side("noise0", "clipped"))
        self.assertEqual([one.labels["to"] for one in found], ["noise0", "clipped"])
        self.assertAlmostEqual(value(found[1]), 8.2 / 12.4)
        found = quantities(stretch(), side("noise0", "noise1", **HARD), side("clipped"),
                           per=["noise"])
        self.assertEqual([one.labels["noise"] for one in found], [0, 1])

    def test_one_seed_has_a_number_and_gives_no_verdict(self):
        (one,) = quantities(stretch(), side("matcha", **HARD), side("mocha"))
        self.assertIn("one seed", one.why)
        self.assertEqual((value(one), one.of_seeds.at().high), (4 / 5, math.inf))

    def test_a_run_that_diverged_has_all_symbols_wrong(self):
        runs = stretch()
        runs[0].update(status="diverged", message="m", result=None)
        ratio = side("noise0", **HARD), side("noise1")
        (one,) = quantities(runs, *ratio)
        self.assertAlmostEqual(value(one), (100 + 11) / (4 + 4.2))
        self.assertEqual(one.places, [0, 1, 2, 3])
        self.assertEqual(len(trained.Runs(make_trained("stretch", runs)).finished("noise0")), 1)
        for run in runs:
            run.update(status="diverged", message="m", result=None)
        (one,) = quantities(runs, *ratio)
        self.assertEqual(value(one), 1)
        (one,) = quantities(runs, side("noise0", measures=["spread"]))
        self.assertEqual((one.of_seeds, one.why), (None, "its runs do not have the number"))

    def test_a_ratio_of_few_errors_is_that_of_the_means(self):
        errors = {"a": (3, 1, 2, 2), "b": (1, 3, 2, 2)}
        runs = [make_trained_run(name, seed, error) for name in errors
                for seed, error in enumerate(errors[name], 1)]
        (one,) = quantities(runs, side("a", measures=["decoded"]), side("b"))
        self.assertAlmostEqual(value(one), 1)
        self.assertGreater(numpy.mean(one.seeds), 1.3)
        # By hand: differences 2, -2, 0, 0 over a mean of 2, and 3.182 of 3 degrees.
        self.assertAlmostEqual(one.of_seeds.at().high, 1 + 3.182 * math.sqrt(2 / 3 / 4), 3)

    def test_what_is_not_there_gives_no_number_and_says_so(self):
        for of, to, why in (
            (side("noise9", **HARD), None, "it has no alternative noise9"),
            (side("noise0", less=["noise9"], **HARD), None, "it has no alternative noise9"),
            (side("noise0", **HARD), side("soft"), "its runs do not have the number"),
            (side("noise0", measures=["spread"]), None, "its runs do not have the number"),
        ):
            (one,) = quantities(stretch(), of, to)
            self.assertEqual((one.of_seeds, one.why), (None, why))
        runs = [make_trained_run(name, 1, 0.0) for name in "ab"]
        (one,) = quantities(runs, side("a", measures=["decoded"]), side("b"))
        self.assertEqual((one.of_seeds, one.why), (None, "the ratio is over 0"))

    def test_steps_that_were_not_enough_count_as_all_of_them(self):
        runs = [make_trained_run("K32", 1, 1, steps=(200,)),
                make_trained_run("K1", 1, 1, steps=(100,))]
        for point in runs[1]["curve"]:
            point["soft_error"] = 0.5
        (one,) = quantities(runs, side("K32", measures=["steps_at_least"]), side("K1"))
        self.assertAlmostEqual(value(one), 200 / 300)
        (one,) = quantities(runs, side("K1", measures=["steps"]))
        self.assertEqual(value(one), math.inf)

    def test_deviations_are_compared_by_the_f_distribution(self):
        runs = [make_trained_run(name, seed, 10 + size * (-1) ** seed)
                for seed in range(1, 9) for name, size in (("mocha_w2", 2), ("soft", 1))]
        decoded = {"measures": ["decoded"]}
        (one,) = quantities(runs, side("mocha_w2", **decoded), side("soft"),
                            statistic="deviation")
        span = one.of_seeds.at(0.1)
        self.assertAlmostEqual(span.value, 2)
        # From a table: F of 7 and 7 degrees is above 3.787 with probability 0.05.
        self.assertAlmostEqual(span.low, 2 / math.sqrt(3.787), 3)
        self.assertAlmostEqual(span.high, 2 * math.sqrt(3.787), 2)
        # Two folders whose errors are 30 apart: within them the same spread, of 6 degrees.
        for run in runs:
            place = run["seed"] > 4
            run["settings"]["data"] = "ab"[place]
            run["result"]["soft_error"] += 0.3 * place
        (one,) = quantities(runs, side("mocha_w2", **decoded), side("soft"),
                            statistic="deviation")
        span = one.of_seeds.at(0.1)
        self.assertAlmostEqual(span.value, 2)
        self.assertAlmostEqual(span.low, 2 / math.sqrt(4.284), 3)
        runs = [make_trained_run(name, seed, 1) for seed in (1, 2) for name in "ab"]
        (one,) = quantities(runs, side("a", **decoded), side("b"), statistic="deviation")
        self.assertEqual((one.of_seeds, one.why), (None, "all of its seeds are alike"))

    def test_a_t_test_takes_runs_for_independent(self):
        runs = [make_trained_run(name, seed, base + seed)
                for seed in range(1, 5) for name, base in (("a", 12), ("b", 10))]
        (one,) = quantities(runs, side("a", measures=["decoded"]), side("b"),
                            statistic="t_test")
        # Means 2 apart, variances of 5 / 3: t = 2 / sqrt(5 / 6) = 2.191 of 6 degrees.
        self.assertAlmostEqual(value(one), 0.0710, 4)
        self.assertEqual(one.of_seeds.at(0.1), one.of_seeds.at(0.5))
        runs = [make_trained_run(name, seed, 1) for seed in (1, 2) for name in "ab"]
        (one,) = quantities(runs, side("a", measures=["decoded"]), side("b"), statistic="t_test")
        self.assertEqual((one.of_seeds, one.why), (None, "all of its seeds are alike"))

    def test_contexts_are_found_by_their_names(self):
        runs = trained.Runs(make_trained("copy", [
            make_trained_run(name, 1, 1) for name in
            ("K32_L10", "K4_L10", "K4_L20", "K4_L20_long", "soft_L10")]))
        self.assertEqual(trained.contexts(runs),
                         {10: {4: "K4_L10", 32: "K32_L10"}, 20: {4: "K4_L20"}})

    def test_committed_results_are_whole_and_of_the_committed_experiments(self):
        names = sorted(os.listdir(os.path.join(ROOT, "results", "training")))
        self.assertIn("stretch.json", names)
        for name in names:
            document, experiment = (read(folder, "training", name)
                                    for folder in ("results", "experiments"))
            validate(document, "trained")
            self.assertTrue(document["complete"] and not document["quick"], name)
            self.assertTrue(document["context"]["valid"], name)
            wanted = {one["name"]: one.get("seeds", experiment.get("seeds", 1))
                      for one in experiment["alternatives"]}
            made = collections.Counter(run["name"] for run in document["runs"])
            self.assertEqual(made, wanted, name)

    def test_pages_have_the_tables_of_the_committed_results(self):
        pages = "".join(path.read_text() for path in pathlib.Path(ROOT, "docs").glob("*.md"))

        def check(name, *paths):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertEqual(trained_table.main([str(path) for path in paths]), 0)
            table = pages.split(f"<!-- trained {name} -->\n")[1].split("<!-- /trained")[0]
            self.assertEqual(table, out.getvalue(), name)

        for path in sorted(pathlib.Path(ROOT, "results", "training").iterdir()):
            check(path.stem, path)
        check("several", *sorted(pathlib.Path(ROOT, "results", "quick", "training").iterdir()))

    def test_one_model_of_each_task_has_a_committed_result_of_its_quick_profile(self):
        tasks = {}
        for path in pathlib.Path(ROOT, "experiments", "training").glob("*.json"):
            settings = read(path)["settings"]
            # Own data are a task for each folder that an experiment begins with.
            data = read(path).get("folders", [settings.get("data")])[0]
            tasks.setdefault((settings["task"], data), set()).add(path.name)
        made = {path.name: read(path) for path in
                pathlib.Path(ROOT, "results", "quick", "training").iterdir()}
        for task, experiments in tasks.items():
            self.assertEqual(len(experiments & set(made)), 1, task)
        for name, document in made.items():
            validate(document, "trained")
            self.assertTrue(document["quick"] and document["context"]["valid"], name)
            self.assertEqual([run["status"] for run in document["runs"]], ["ok"], name)

    def test_a_table_of_several_results_has_a_row_for_each_alternative(self):
        first, second = (make_trained(name, runs) for name, runs in (
            ("stretch", stretch()), ("copy", [make_trained_run("soft", 1, 2.0)])))
        second["quick"] = True
        for seconds, run in zip((10, 21, 30), first["runs"][2:5], strict=True):
            run["seconds"] = seconds
        first["runs"][4].update(status="diverged", result=None)
        second["runs"][0]["seconds"] = 7
        lines = trained_table.overview(
            [trained.Runs(document) for document in (first, second)]).splitlines()
        self.assertEqual(lines[0].count("Commit"), 1, "both are of one machine and commit")
        self.assertEqual(lines[2], "| experiment | alternative | seeds | seconds a run "
                                   "| expected, % | threshold, % |")
        self.assertEqual(lines[5], "| stretch | noise1 | 3 | 16 | 3.00, 3.00, 100.00 "
                                   "| 4.00, 4.20, 100.00 |")
        self.assertEqual(lines[-1], "| copy, quick | soft | 1 | 7 | 2.00 | – |")

    def test_numbers_of_few_seeds_stand_in_a_table_themselves(self):
        for values, text in (((0.5,), "0.50"), ((0.5, 0.51), "0.50, 0.51"),
                             ((0.5, 0.5), "0.50 (all)"), ((0.5, math.inf), "0.50, –"),
                             ((math.inf,) * 2, "–"), ((0.5,) * 4 + (math.inf,), "–")):
            self.assertEqual(trained_table.values_text(numpy.array(values), "spread", 2), text)
        # Student's t of four degrees: 2.776 times 0.447 / sqrt(5) = 0.555.
        self.assertEqual(
            trained_table.values_text(numpy.array([0, 0, 0, 0, 1.0]), "spread", 2),
            "0.20 [0.00, 0.76]")
        self.assertEqual(trained_table.values_text(None, "spread", 2), "–")

    def test_the_table_has_a_column_for_what_any_alternative_has(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(make_trained("stretch", stretch()), file)
            with contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertEqual(trained_table.main([path]), 0)
            self.assertIn("| noise0 | 2 | 2.00 (all) | 9.00, 11.00 | 0.510, 0.520 |",
                          out.getvalue())
            self.assertIn("| mocha | 1 | 3.00 | 5.00 |", out.getvalue())
            self.assertIn("| alternative | seeds | expected, % | threshold, % | discrete | mass |\n",
                          out.getvalue())
            self.assertNotIn("inf", out.getvalue())
            with open(path, "w", encoding="utf-8") as file:
                file.write("{}")
            with contextlib.redirect_stderr(io.StringIO()) as error:
                self.assertEqual(trained_table.main([path]), 2)
            self.assertIn("r.json", error.getvalue())

    def test_a_result_with_speakers_has_a_second_table_of_them_and_of_times(self):
        def speakers(*errors):
            return [{"speaker": str(error), "in_training": error < 10, "soft_error": 0.5,
                     "hard_error": error / 100} for error in errors]

        runs = [make_trained_run("mono", seed, 9.0, 9.5, task="folder", data_facts={
            "hash": "a", "vocabulary": 9, "frame_ms": 30, "longest_source": 9}, more={
                "speakers": speakers(2 + seed, 4 + seed, 20), "alignment_error": 2.5,
                "lateness": -seed, "average_proportion": 0.5, "average_lagging": 4,
                "differentiable_average_lagging": 10}) for seed in (1, 2)]
        soft = make_trained_run("soft", 1, 8.0, more={"speakers": []})
        document = make_trained("speech", [*runs, soft])
        validate(document, "trained")
        table = trained_table.table(trained.Runs(document))
        parts = table.split("\n\n")
        self.assertEqual(len(parts), 3, "one speaker held out has no third table")
        _, first, second = parts
        self.assertIn("| mono | 2 | 9.00 (all) | 9.50 (all) |", first)
        self.assertNotIn("AL", first)
        self.assertEqual(second.splitlines()[::2], [
            "| alternative | seeds | speakers heard, % | not heard, % | alignment error, ms "
            "| lateness, ms | AP | AL, ms | DAL, ms |",
            "| mono | 2 | 4.00, 5.00 | 20.00 (all) | 75 (all) | -30, -60 | 0.50 (all) "
            "| 120 (all) | 300 (all) |"])
        for run in runs:
            del run["result"]["speakers"]
        self.assertNotIn("AL", trained_table.table(trained.Runs(document)))

    def test_errors_on_each_speaker_who_was_held_out_show_both_spreads(self):
        def run(name, seed, held_out, error):
            return make_trained_run(name, seed, 9.0, more={"speakers": [
                {"speaker": speaker, "in_training": speaker != held_out,
                 "soft_error": error / 100 if speaker == held_out else 0.01, "hard_error": None}
                for speaker in ("slt", "awb")]})

        document = make_trained("speech", [
            run("soft", 1, "slt", 30), run("soft", 2, "awb", 20), run("soft", 3, "slt", 32),
            run("mono", 1, "slt", 40)])
        validate(document, "trained")
        third = trained_table.table(trained.Runs(document)).split("\n\n")[-1]
        self.assertEqual(third.splitlines()[::2] + third.splitlines()[3:4], [
            "| alternative | awb not heard, % | slt not heard, % |",
            "| soft | 20.00 | 30.00, 32.00 |", "| mono | – | 40.00 |"])


if __name__ == "__main__":
    unittest.main()
