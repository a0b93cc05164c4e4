"""Guards against a comparison that passes although nothing, or not everything, was
compared, and that misses what times do not show: changed counts, a cell that has no time
any more, a result that is not valid; and, of two programs measured in turn, against one
that the machine's changes disturb, or that takes processes of one build for builds.
"""

import math
import unittest

import compared
from compared import after_change, cell, cells, compare, result, samples, scaled

from attnbench.analysis import intervals, load
from attnbench.answers import change, comparison, match
from attnbench.answers.comparison import exit_code


class Compared(unittest.TestCase):
    def setUp(self):
        compared.use_quiet(self)

    def verdicts(self, document):
        return [row["verdict"] for row in document["rows"]]

    def test_a_result_is_the_same_as_itself(self):
        document = after_change(lambda _: None)
        self.assertEqual(exit_code(document), 0)
        self.assertEqual((document["comparisons"], document["common_ratio"]), (3, 1))
        self.assertEqual(self.verdicts(document), ["SAME"] * 3)
        for name in ("differences", "untimed", "changes", "only_a", "only_b"):
            self.assertEqual(document[name], [], name)

    def test_it_finds_the_slower_and_the_faster_cell_wherever_they_stand(self):
        def move(found):
            found[1] = cell("mocha", 10, samples(120))
            found[2] = cell("soft", 20, samples(3000))
            found[0], found[2] = found[2], found[0]
        document = after_change(move)
        self.assertEqual(self.verdicts(document), ["SAME", "SLOWER", "FASTER"])
        slower = document["rows"][1]
        self.assertEqual((slower["mechanism"], slower["b_processes"]), ("mocha", 10))
        self.assertAlmostEqual(slower["ratio"], 1.2, places=9)
        self.assertGreater(slower["interval"][0], 1.15)
        self.assertEqual(exit_code(document), 1)

    def test_faster_alone_is_good(self):
        def change_it(found):
            found[1] = cell("mocha", 10, samples(80))
        self.assertEqual(exit_code(after_change(change_it)), 0)

    def test_what_all_cells_have_in_common_is_said_and_is_no_verdict(self):
        document = compare(cells(), scaled(1.3))
        self.assertEqual(exit_code(document), 0)
        self.assertTrue(document["relative"])
        self.assertAlmostEqual(document["common_ratio"], 1.3, places=9)
        # The machine's state is in each of the two runs; t with 10 degrees is 2.228.
        self.assertAlmostEqual(document["common_interval"][1],
                               1.3 * math.exp(2.2281 * math.sqrt(2) * 0.02), places=4)
        self.assertEqual(self.verdicts(document), ["SAME"] * 3)
        for row in document["rows"]:
            self.assertAlmostEqual(row["ratio"], 1, places=9)

    def test_a_cell_is_judged_beside_what_all_have_in_common(self):
        after = scaled(1.3)
        after[1] = cell("mocha", 10, samples(100))
        document = compare(cells(), after)
        self.assertEqual(document["rows"][1]["verdict"], "FASTER")
        self.assertAlmostEqual(document["rows"][1]["ratio"], 1 / 1.3, places=9)

    def test_fewer_than_three_cells_have_in_them_what_the_machine_did(self):
        document = compare(cells()[:2], scaled(1.3)[:2])
        self.assertFalse(document["relative"])
        self.assertIsNone(document["common_interval"])
        self.assertAlmostEqual(document["common_ratio"], 1.3, places=9)
        self.assertEqual(exit_code(document), 1)
        # Two runs of the same program explain 7 percent.
        self.assertEqual(exit_code(compare(cells()[:2], scaled(1.06)[:2])), 0)

    def test_intervals_are_corrected_for_the_number_of_cells(self):
        def width(count):
            of = [cell("soft", length, samples(1000)) for length in range(1, count + 1)]
            low, high = compare(of, of)["rows"][0]["interval"]
            return high - low
        self.assertGreater(width(30), 1.3 * width(3))

    def test_samples_of_one_draw_and_of_all_may_differ_as_draws_do(self):
        def verdict(trials_of_b, slowest):
            def change_it(found):
                draws = [1.0] * 16
                draws[3] = slowest
                found[0] = cell("soft", 10, samples(2000), draw_ns=draws,
                                trials_per_sample=trials_of_b)
            row = after_change(change_it)["rows"][0]
            # A change is found if its interval, too, lies beyond what draws explain.
            if trials_of_b < 16:
                self.assertGreater(row["detectable"], slowest - 1)
            return row["verdict"]
        self.assertEqual(verdict(32, 3), "SLOWER")
        self.assertEqual(verdict(15, 3), "AMBIGUOUS")
        self.assertEqual(verdict(15, 1.5), "SLOWER")

    def test_another_speed_of_the_machine_does_not_move_all_cells_alike(self):
        # Of another speed by a factor of e a cell may have a tenth more or less.
        def half_width(factor):
            row = compare(cells(), scaled(factor))["rows"][0]
            return math.log(row["interval"][1] / row["ratio"])
        alike = half_width(math.e)
        self.assertAlmostEqual(half_width(1), alike, places=9)
        compared.use_quiet(self, speed={"share": 0.1, "degrees": 1e9})
        self.assertAlmostEqual(half_width(1), alike, places=9)
        self.assertGreater(half_width(math.e), 0.1)

    def half_width(self, builds_of_a=1, builds_of_b=1, processes=4):
        """Of cells whose samples are all equal."""
        a, b = ([cell("soft", length, [100.0] * 4, processes, builds=builds)
                 for length in (10, 20, 30)] for builds in (builds_of_a, builds_of_b))
        return math.log(compare(a, b)["rows"][0]["interval"][1])

    def test_one_side_of_several_builds_leaves_that_of_the_other(self):
        for builds, count in (((4, 4), 0), ((1, 1), 0), ((4, 1), 0.5), ((1, 4), 0.5)):
            self.assertAlmostEqual(
                self.half_width(*builds),
                compared.half_width("ratio", 0.05 / 3, builds=count, runs=1), places=9)

    def test_a_process_alone_does_not_show_what_processes_do(self):
        for processes, count in ((4, 0), (1, 1)):
            self.assertAlmostEqual(
                self.half_width(processes=processes),
                compared.half_width("ratio", 0.05 / 3, processes=count, runs=1), places=9)

    def test_it_says_what_another_placement_explains_unless_builds_show_it(self):
        def placement(builds, build_id):
            b = [{**one, "builds": builds} for one in cells()]
            return compare(cells(), result(b, build_id=build_id))["placement"]
        def expected(count):
            return math.expm1(compared.half_width("ratio", 0.05 / 3, builds=count, runs=1))
        self.assertAlmostEqual(placement(1, "another"), expected(1), places=9)
        # A has one build still.
        self.assertAlmostEqual(placement(5, "another"), expected(0.5), places=9)
        self.assertIsNone(placement(1, result([])["context"]["build_id"]))
        # Of few cells each side's build is in its own times.
        few = compare(cells()[:1], result(cells()[:1], build_id="another"))
        self.assertAlmostEqual(
            few["placement"],
            math.expm1(compared.half_width("time", 0.05, builds=2, runs=2)), places=9)

    def test_cells_of_one_side_fail_whatever_the_others_say(self):
        document = after_change(lambda found: found.pop())
        self.assertEqual(exit_code(document), 3)
        self.assertEqual([one["memory_length"] for one in document["only_a"]], [20])

        def add(found):
            found[0] = cell("soft", 10, samples(9000))
            found.append(cell("soft", 30, samples(1)))
        document = after_change(add)
        self.assertEqual(exit_code(document), 3)
        self.assertEqual([one["memory_length"] for one in document["only_b"]], [30])

    def test_nothing_in_common_is_not_good(self):
        self.assertEqual(exit_code(compare([], [])), 3)
        # An axis or an option that differs makes another cell.
        for changes in ({"precision": "f64"}, {"options": {"threshold": 0.6}}):
            document = compare(cells(), [{**one, **changes} for one in cells()])
            self.assertEqual(exit_code(document), 3, changes)
            self.assertEqual(len(document["only_a"]), 3, changes)

    def test_options_of_the_closed_form_are_none_of_others_at_their_defaults(self):
        read = {"preset": "none", "term_eps": 1e-10, "denominator_eps": 1e-10}

        def common(variant, **changes):
            older, newer = ([cell("mocha", 10, samples(1), variant=variant, options=options)]
                            for options in ({}, {**read, **changes}))
            return compare(older, newer)["comparisons"]
        self.assertEqual(common("exact"), 1)
        self.assertEqual(common("exact", preset="tf"), 0)
        self.assertEqual(common("parallel"), 0)

    def test_a_cell_that_is_there_twice_is_refused(self):
        with self.assertRaisesRegex(load.DataError, r"b.json: cells\[3\]: is there twice"):
            after_change(lambda found: found.append(found[0]))

    def with_status(self, before, after):
        a, b = cells(), cells()
        for found, status in ((a, before), (b, after)):
            if status != "ok":
                found[1].update(status=status, samples_ns=[], message="why")
        return compare(a, b)

    def test_a_cell_that_lost_its_time_fails(self):
        document = self.with_status("ok", "error")
        self.assertEqual((exit_code(document), document["comparisons"]), (1, 2))
        self.assertEqual(document["changes"][0]["field"], "status")
        self.assertEqual(document["untimed"][0]["b_status"], "error")

    def test_a_cell_that_failed_on_both_sides_fails(self):
        for status in ("invalid", "error", "timeout"):
            document = self.with_status(status, status)
            self.assertEqual((exit_code(document), document["changes"]), (1, []), status)

    def test_a_status_may_only_become_good(self):
        for before, after, code in (("error", "ok", 0), ("skipped", "skipped", 0),
                                    ("skipped", "error", 1), ("ok", "skipped", 1)):
            self.assertEqual(exit_code(self.with_status(before, after)), code, (before, after))

    def test_what_changed_beside_times_fails(self):
        def change_it(found):
            found[0]["operations"]["flops"] = 101.5
            found[1]["peak_memory_bytes"] = None
            found[2]["numerics"]["context_sum"] = -0.2501
        document = after_change(change_it)
        self.assertEqual(
            [(one["field"], one["a"], one["b"]) for one in document["changes"]],
            [("operations.flops", 100.5, 101.5), ("peak_memory_bytes", 4096, None),
             ("numerics.context_sum", -0.25, -0.2501)])
        self.assertEqual(exit_code(document), 1)
        self.assertEqual(self.verdicts(document), ["SAME"] * 3)

    def test_each_number_that_changed_fails_alone(self):
        for *owner, name in (("operations", "energies"), ("peak_memory_bytes",), ("latency",),
                             ("numerics", "context_l2"), ("numerics", "attention_mass")):
            def change_it(found):
                of = found[1][owner[0]] if owner else found[1]
                of[name] = 7
            self.assertEqual(exit_code(after_change(change_it)), 1, name)

    def test_what_a_whole_decoder_read_is_exact(self):
        def decoder(**changes):
            return cell("soft", 10, samples(1000), scope="decoder", operations=None, **changes)
        a = [decoder(decoder={"reads": {"memory_read": 1.0}})]
        b = [decoder(decoder={"reads": {"memory_read": 0.5}}, latency={"ap": 1})]
        # Older results have no latency of whole decoders.
        self.assertEqual([one["field"] for one in compare(a, b)["changes"]], ["decoder.reads"])

    def test_sums_are_compared_to_the_precision_of_the_cell(self):
        def num_changes(precision, name, value):
            a = [cell("soft", 10, samples(1), precision=precision)]
            b = [cell("soft", 10, samples(1), precision=precision)]
            b[0]["numerics"][name] = value
            return len(compare(a, b)["changes"])
        for precision, factor, count in (("f32", 1 + 0.9e-5, 0), ("f32", 1 + 1.1e-5, 1),
                                         ("f64", 1 + 0.9e-10, 0), ("f64", 1 - 1.1e-10, 1)):
            self.assertEqual(num_changes(precision, "context_l2", 2 * factor), count)
        # Contexts may cancel: their sum may differ by as much of context_l2, which is 2.
        self.assertEqual(num_changes("f32", "context_sum", -0.25 + 1.9e-5), 0)
        self.assertEqual(num_changes("f32", "context_sum", -0.25 + 2.1e-5), 1)

    def test_it_tells_of_a_machine_that_only_a_part_of_a_result_is_of(self):
        runs = [{}, {"differs": {"cpu": "another"}}]
        (told,) = compare(cells(), result(cells(), runs=runs, cpu="one"))["differences"]
        self.assertEqual((told["field"], told["b"]), ("cpu", ["one", "another"]))

    def test_members_of_a_setup_are_told_by_their_place_unless_one_is_older(self):
        a = result(cells(), libraries={"torch.so": "1"}, loaded={"blas": {"core": "Zen"}},
                   architecture="x86_64", date="later")
        b = result(cells(), libraries={}, loaded={"blas": {"core": "Haswell"}})
        self.assertEqual(
            {one["field"]: (one["a"], one["b"]) for one in compare(a, b)["differences"]},
            {"libraries.torch.so": ("1", None), "loaded.blas.core": ("Zen", "Haswell")})

    def test_times_of_a_result_that_is_not_valid_are_no_verdict_but_its_numbers_are(self):
        def compare_it(change_it, side="b"):
            changed = cells()
            change_it(changed)
            bad = {"valid": False, "invalid_reasons": ["a debug build"]}
            return compare(result(cells(), **(bad if side == "a" else {})),
                           result(changed, **(bad if side == "b" else {})))

        def slow(found):
            found[1] = cell("mocha", 10, samples(200))
        for side in "ab":
            document = compare_it(slow, side)
            self.assertEqual(exit_code(document), 5)
            self.assertEqual(self.verdicts(document), ["AMBIGUOUS"] * 3)
            for row in document["rows"]:
                self.assertIn("a result is INVALID", row["reason"])
                self.assertIsNone(row["detectable"])
            self.assertAlmostEqual(document["rows"][1]["ratio"], 2, places=9)
        self.assertEqual(
            exit_code(compare_it(lambda found: found[1].update(peak_memory_bytes=7))), 1)
        self.assertEqual(exit_code(compare_it(lambda found: found.pop())), 3)

    def test_times_of_one_round_are_nothing_to_compare(self):
        one = [cell("soft", 10, [1000.0], 1)]
        document = compare(one, [cell("soft", 10, [9000.0], 1)])
        self.assertEqual(exit_code(document), 3)
        # One cell with an interval is enough.
        more = [*one, cells()[1]]
        self.assertEqual(exit_code(compare(more, more)), 0)


# Twelve processes of one round; process k takes so many times as long.
OF_A = [1, 1.5, 1, 2, 1, 1, 3, 1, 1, 1, 1, 1]
OF_B = [2, 1, 1, 1, 1, 4, 1, 1, 1.2, 1, 1, 1]


class Paired(unittest.TestCase):
    def setUp(self):
        # A run may do anything: the processes themselves show it.
        compared.use_quiet(self, of_run=10)

    def in_turn(self, build_id, times, machine, builds=1, layout=()):
        """A layout takes the second cell's processes so many times as long."""
        of = []
        for length, time_ns in enumerate(times, 1):
            found = [time_ns * speed * (1 + 0.0005 * (k % 5)) for k, speed in enumerate(machine)]
            if length == 2 and layout:
                found = [one * factor for one, factor in zip(found, layout)]
            of.append(cell("soft", length, found, len(machine), builds=builds))
        return result(of, build_id=build_id)

    def compare(self, a, b):
        return compare(a, b, is_paired=True)

    def test_what_the_machine_does_from_process_to_process_drops_out(self):
        document = self.compare(self.in_turn("a", (100, 200, 300), OF_A),
                                self.in_turn("b", (100, 220, 300), OF_B))
        self.assertEqual([row["verdict"] for row in document["rows"]],
                         ["SAME", "SLOWER", "SAME"])
        self.assertAlmostEqual(document["rows"][1]["ratio"], 1.1, places=9)
        self.assertTrue(document["relative"])
        self.assertGreater(document["common_interval"][1], 1)
        self.assertEqual(exit_code(document), 1)

    def test_all_together_may_be_slower(self):
        a, b = (self.in_turn(name, times, OF_A) for name, times in (
            ("a", (100, 200, 300)), ("b", (150, 300, 450))))
        slower = self.compare(a, b)
        self.assertTrue(slower["paired"])
        self.assertEqual(slower["rows"][0]["verdict"], "SAME")
        self.assertAlmostEqual(slower["common_ratio"], 1.5, places=9)
        self.assertEqual(exit_code(slower), 1)
        # Of two runs it may be the machine.
        apart = compare(a, b)
        self.assertFalse(apart["paired"])
        self.assertEqual(exit_code(apart), 0)

    def test_the_build_counts_once_unless_there_are_several(self):
        def half_width(name, builds):
            document = self.compare(*(self.in_turn(one, (100, 200, 300), machine, builds)
                                      for one, machine in (("a", OF_A), (name, OF_B))))
            return math.log(document["rows"][0]["interval"][1])
        expected = compared.half_width("ratio", 0.05 / 3, builds=1)
        self.assertAlmostEqual(half_width("b", 1), expected, places=9)
        self.assertAlmostEqual(half_width("b", 4), 0, places=9)
        self.assertAlmostEqual(half_width("a", 1), 0, places=9)

    def test_builds_are_the_unit_where_there_are_several(self):
        # The processes of builds 0 and 1 are a tenth faster and slower: as builds they are
        # 2 values, which tell next to nothing, as processes 12.
        def width(builds):
            a = self.in_turn("a", (100, 200, 300), OF_A, builds)
            b = self.in_turn("a", (100, 200, 300), OF_B, builds, layout=[0.9, 1.1] * 6)
            low, high = self.compare(a, b)["rows"][1]["interval"]
            return math.log(high / low)
        self.assertGreater(width(2), 5 * width(1))

    def test_processes_stand_in_their_order_whatever_builds_a_side_has(self):
        a = self.in_turn("a", (100, 200, 300), OF_A, builds=4)
        b = self.in_turn("b", (100, 220, 300), OF_A)
        document = self.compare(a, b)
        self.assertAlmostEqual(document["rows"][1]["ratio"], 1.1, places=9)
        span = document["common_interval"]
        effect = intervals.Estimate(0.0, tuple(
            intervals.hidden("ratio", builds=0.5).values())).at().high
        self.assertAlmostEqual(math.log(span[1] / span[0]) / 2, effect, places=9)

    def test_fewer_than_three_cells_are_compared_by_themselves(self):
        quiet = [1.0] * 12
        document = self.compare(self.in_turn("a", (100, 200), quiet),
                                self.in_turn("b", (130, 260), quiet))
        self.assertFalse(document["relative"])
        self.assertAlmostEqual(document["common_ratio"], 1.3, places=9)
        self.assertEqual(document["rows"][0]["verdict"], change.SLOWER)

    def test_one_process_each_has_no_interval(self):
        one = self.in_turn("a", (100, 200, 300), [1])
        document = self.compare(one, one)
        self.assertIsNone(document["rows"][0]["interval"])
        self.assertEqual(comparison.exit_code(document), 3)


class Names(unittest.TestCase):
    def test_a_policy_is_told_though_no_other_cell_has_one(self):
        options = {"keys": "precomputed"}
        plain = cell("soft", 10, samples(1), options=options)
        policies = [cell("soft", 10, samples(1), options={
            **options, "policy": "alignatt", "f": f}) for f in (2, 4)]
        for asked, told in ((policies[:1], ["soft policy=alignatt"]),
                            (policies, ["soft f=2 policy=alignatt", "soft f=4 policy=alignatt"])):
            names = match.Names([plain, *asked])
            self.assertEqual([names.of(one) for one in (plain, *asked)], ["soft", *told])


if __name__ == "__main__":
    unittest.main()
