"""Guards against a log that fills with lines or says nothing for hours, and against lines that
tell something else than is so.
"""

import io
import types
import unittest

from attnbench.train import messages, progress

RUN = types.SimpleNamespace(name="hard", seed=3, settings=types.SimpleNamespace(steps=300))
POINT = {"soft_error": 0.0321, "hard_error": 0.0987, "selected_mass": 0.951}


def step(number=100, **members):
    return messages.Step(**{"step": number, "loss": 0.4123, "evaluation": None,
                            "steps_per_second": 40.0, **members})


class Terminal(io.StringIO):
    def isatty(self):
        return True


class ProgressTest(unittest.TestCase):
    def lines(self, stream, seconds):
        """What is told of a run that reports every second."""
        now = [0.0]
        told = progress.Progress(1, 0, stream, clock=lambda: now[0])
        told.begin(RUN)
        for second in range(1, seconds + 1):
            now[0] = second
            told.step(RUN, step(second))
        return stream.getvalue().splitlines()

    def test_a_log_has_a_line_a_minute_and_a_terminal_one_every_five_seconds(self):
        in_log = self.lines(io.StringIO(), 130)
        self.assertEqual([line.split(",")[0] for line in in_log],
                         ["hard seed 3: step 60 of 300", "hard seed 3: step 120 of 300"])
        self.assertEqual(len(self.lines(Terminal(), 130)), 26)

    def test_a_line_has_speed_loss_errors_and_the_time_left(self):
        self.assertEqual(progress.step_text(RUN, step()),
                         "step 100 of 300, 40 steps/s, loss 0.412, about 5 s left")
        self.assertEqual(
            progress.step_text(RUN, step(evaluation=POINT)),
            "step 100 of 300, 40 steps/s, loss 0.412, error 3.2 % (threshold 9.9 %), mass 0.95, "
            "about 5 s left")
        slow = step(evaluation={**POINT, "hard_error": None, "selected_mass": None},
                    steps_per_second=1.5)
        self.assertEqual(progress.step_text(RUN, slow),
                         "step 100 of 300, 1.5 steps/s, loss 0.412, error 3.2 %, "
                         "about 3 min left")

    def test_the_end_of_a_run_is_always_told_with_the_number_of_those_that_ended(self):
        stream = io.StringIO()
        told = progress.Progress(7, 4, stream)
        told.end(RUN, {"status": "ok", "message": None, "seconds": 11.2, "result": POINT})
        told.end(RUN, {"status": "diverged", "message": "in step 2\x1b", "seconds": 200,
                       "result": None})
        self.assertEqual(stream.getvalue(), (
            "hard seed 3: ok in 12 s: error 3.21 %, threshold 9.87 %; 5 of 7 runs\n"
            "hard seed 3: diverged in 4 min: in step 2?; 6 of 7 runs\n"))


if __name__ == "__main__":
    unittest.main()
