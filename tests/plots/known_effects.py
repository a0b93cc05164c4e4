"""Effects of builds and runs that a test sets, so that its numbers can be computed by
hand.
"""

from unittest import mock

from attnbench.analysis import intervals


def use(test, s_build=0.0, s_run=0.0, build_degrees=19, run_degrees=10, s_process=0.0):
    """Gives all kinds these effects, by default none, until the test ends."""
    effect = {"s_build": s_build, "build_degrees": build_degrees,
              "s_process": s_process, "process_degrees": 77,
              "s_run": s_run, "run_degrees": run_degrees}
    effects = dict.fromkeys(("time", "ratio", "peer"), effect)
    patch = mock.patch.object(intervals, "EFFECTS", effects)
    patch.start()
    test.addCleanup(patch.stop)
