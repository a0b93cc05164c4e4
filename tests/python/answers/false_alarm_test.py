"""Guards against verdicts on nothing: the same code, measured twice by a simulated clock,
must not look changed more often than the level says, over all cells of a table together,
whatever the machine, the run and the build do; and against a tool that never alarms: real
slow-downs are found, and sameness is said. 1000 comparisons, with fixed seeds; a rate of
twice the level would be seen with 99.8 percent.
"""

import unittest
from dataclasses import dataclass
from unittest import mock

import numpy
from scipy import stats

from attnbench.analysis import intervals
from attnbench.answers import change, comparison
from attnbench.answers.change import AMBIGUOUS, SAME, SLOWER

TABLES = 1000  # for rare outcomes
FEW_TABLES = 200  # for common ones
# Of TABLES. A rate of half the level has so few or fewer with less than 1 percent.
TOO_FEW_ALARMS = 10


@dataclass(frozen=True)
class Clock:
    """Times as a machine would give them: standard deviations of logarithms, unless
    something else is said.
    """

    machine_of_run: float = 0.1  # of a run, for all cells together
    run: float = 0.014  # of a cell in a run
    build: float = 0.021  # of a cell in a build
    two_speeds: bool = False  # a build has exp(-build) or exp(build)
    process: float = 0.02  # of a cell in a process
    machine: float = 0.02  # of a round, for all cells together
    noise: float = 0.01  # of a sample
    disturbed: float = 0.04  # share of the samples that are disturbed
    disturbance: float = 0.3  # how much longer these take on average
    drift: float = 0.01  # of the change over a process

    def layouts(self, random, cells, builds):
        """[cell, build, 1, 1]"""
        drawn = random.standard_normal((cells, builds, 1, 1))
        return self.build * (numpy.sign(drawn) if self.two_speeds else drawn)

    def logs(self, random, layouts, processes, rounds):
        """[cell, build, process, round] of one run."""
        cells, builds = layouts.shape[:2]
        shape = (cells, builds, processes // builds, rounds)
        normal = random.standard_normal
        drift = self.drift * normal((1, *shape[1:3], 1)) * numpy.arange(rounds) / rounds
        is_disturbed = random.random(shape) < self.disturbed
        return (self.machine_of_run * normal() + self.run * normal((cells, 1, 1, 1)) + layouts
                + self.process * normal((*shape[:3], 1)) + drift
                + self.machine * normal((1, *shape[1:])) + self.noise * normal(shape)
                + is_disturbed * random.exponential(self.disturbance, shape))


@dataclass(frozen=True)
class Design:
    clock: Clock = Clock()
    cells: int = 10
    processes: int = 10
    rounds: int = 5
    builds: int = 1  # of each side
    same_program: bool = False  # A and B are of the same builds
    is_paired: bool = False  # the processes of A and B are measured in turn
    all: float = 1.0  # how much longer all cells take in B
    slow_down: float = 1.0  # of cell 0 in B, beside that
    margin: float = 1e-6  # so that the interval alone must keep the level
    tables: int = TABLES

    def effects(self, random):
        """The effects as a study of so many degrees would find them."""
        def estimate(deviation, degrees):
            return float(deviation * numpy.sqrt(random.chisquare(degrees) / degrees))

        def effect(build, process, run):
            return {"s_build": estimate(build, 19), "build_degrees": 19,
                    "s_process": estimate(process, 77), "process_degrees": 77,
                    "s_run": estimate(run, 10), "run_degrees": 10}
        clock, two = self.clock, numpy.sqrt(2)  # a ratio is of two cells
        return {
            "time": effect(clock.build, clock.process,
                           numpy.hypot(clock.machine_of_run, clock.run)),
            "ratio": effect(two * clock.build, two * clock.process, two * clock.run),
            "speed": {"share": 0.0, "degrees": 1}}

    def side(self, random, layouts, factors):
        logs = self.clock.logs(random, layouts, self.processes, self.rounds)
        times = 1000 * numpy.exp(logs) * numpy.reshape(factors, (-1, 1, 1, 1))
        # Process k is of build k mod builds.
        return [{"samples_ns": of.swapaxes(0, 1).ravel(), "processes": self.processes,
                 "builds": self.builds, "variant": "exact", "trials_per_sample": 1,
                 "draw_ns": [1.0]} for of in times]

    def verdicts(self, table):
        random = numpy.random.default_rng((1, table))
        of_a = self.clock.layouts(random, self.cells, self.builds)
        of_b = of_a if self.same_program else self.clock.layouts(
            random, self.cells, self.builds)
        factors = numpy.full(self.cells, self.all)
        factors[0] *= self.slow_down
        a = self.side(random, of_a, numpy.ones(self.cells))
        b = self.side(random, of_b, factors)
        with mock.patch.object(intervals, "EFFECTS", self.effects(random)):
            told = comparison.judged(list(zip(a, b)), self.same_program, change.LEVEL,
                                     self.margin, self.is_paired)
        return [one.kind for one in told.changes]


@dataclass
class Rates:
    false_alarms: int = 0  # tables with FASTER or SLOWER, but for the slower cell
    found: int = 0  # tables whose cell 0 is SLOWER
    same: int = 0  # cells called SAME


def simulate(**design):
    design, rates = Design(**design), Rates()
    for table in range(design.tables):
        verdicts = design.verdicts(table)
        rates.found += verdicts[0] == SLOWER
        rates.same += verdicts.count(SAME)
        others = verdicts[1:] if design.slow_down != 1 else verdicts
        rates.false_alarms += not {SAME, AMBIGUOUS}.issuperset(others)
    return rates


# Every process has a machine of its own, and no estimate is needed of it.
IN_TURN = Clock(machine_of_run=0, run=0, machine=0.2, drift=0.1)


class FalseAlarms(unittest.TestCase):
    def assert_within_level(self, rates):
        """The chance of as many alarms or more, at the level, is not below 1e-3."""
        chance = stats.binom.sf(rates.false_alarms - 1, TABLES, change.LEVEL)
        print(f"{rates.false_alarms} false alarms in {TABLES} tables", flush=True)
        self.assertGreaterEqual(chance, 1e-3, rates)

    def test_they_stay_within_the_level_whatever_the_run_does(self):
        rates = simulate(same_program=True)
        self.assert_within_level(rates)
        # Almost as many as allowed must occur, or the intervals are too wide.
        self.assertGreater(rates.false_alarms, TOO_FEW_ALARMS)

    def test_they_stay_within_the_level_for_one_build_a_side(self):
        self.assert_within_level(simulate())

    def test_they_stay_within_the_level_for_one_process_a_side(self):
        self.assert_within_level(simulate(processes=1, rounds=20))

    def test_they_stay_within_the_level_for_builds_of_two_speeds(self):
        clock = Clock(build=0.04, two_speeds=True)
        self.assert_within_level(simulate(clock=clock))
        self.assert_within_level(simulate(clock=clock, processes=20, rounds=2, builds=20))

    def test_they_stay_within_the_level_of_two_cells_that_have_nothing_in_common(self):
        self.assert_within_level(simulate(cells=2))

    def test_they_stay_within_the_level_of_three_cells(self):
        self.assert_within_level(simulate(cells=3))

    def test_they_stay_within_the_level_where_all_cells_took_longer(self):
        self.assert_within_level(simulate(all=1.3))

    def test_they_stay_within_the_level_of_processes_in_turn_whatever_the_machine_does(self):
        rates = simulate(clock=IN_TURN, rounds=3, same_program=True, is_paired=True)
        self.assert_within_level(rates)
        self.assertGreater(rates.false_alarms, TOO_FEW_ALARMS)
        self.assert_within_level(simulate(clock=IN_TURN, rounds=3, is_paired=True))

    def test_same_is_said_of_a_quiet_machine(self):
        rates = simulate(clock=Clock(run=0.003, build=0.003, process=0.01),
                         margin=change.MARGIN, tables=FEW_TABLES)
        self.assertGreaterEqual(rates.same, FEW_TABLES * 10 * 0.95)
        self.assertEqual(rates.false_alarms, 0)

    def test_a_quarter_slower_is_found_whatever_all_cells_do(self):
        # What a run and a build explain is 12 percent, at the level of ten cells.
        rates = simulate(all=1.3, slow_down=1.25, margin=change.MARGIN, tables=FEW_TABLES)
        self.assertGreaterEqual(rates.found, FEW_TABLES * 0.95)

    def test_many_builds_in_turn_find_an_eighth(self):
        rates = simulate(clock=IN_TURN, processes=20, rounds=3, builds=20, is_paired=True,
                         slow_down=1.125, margin=change.MARGIN, tables=FEW_TABLES)
        self.assertGreaterEqual(rates.found, FEW_TABLES * 0.95)
        # Of 1000 tables 2 have one: what is beyond the margin is rarer than the level.
        self.assertLessEqual(rates.false_alarms, 1)


if __name__ == "__main__":
    unittest.main()
