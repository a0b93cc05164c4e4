"""Guards against operators that are measured beside PyTorch but give other numbers than our
mechanisms, or that no target reads, and against the time of a GPU that only queued its work,
or of a trial that meets the caches of another cell."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import numpy
import torch

import needs

PROGRAM = os.environ.get("ATTNBENCH")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEER = "/usr/bin/python3 " + os.path.join(ROOT, "experiments", "peers", "framework.py")
sys.path[:0] = [
    os.path.join(ROOT, name) for name in ("python", os.path.dirname(PEER.split()[1]))]
from attnbench.torch import library, matcha_attention, mocha_attention, monotonic_attention
import framework
import framework_common
import framework_operators
import framework_portable
import protocol
from framework_portable import of_emma, of_fairseq
from framework_training import adaptive, chunkwise, selection


def cell_of(axes, outputs):
    """A cell of one draw of one sequence, as far as its way is chosen by it."""
    sequence = types.SimpleNamespace(outputs=outputs)
    return types.SimpleNamespace(axes=axes, options={}, draws=[[sequence]])


class Operators(unittest.TestCase):
    @needs.program
    def test_operators_and_closed_forms_give_the_numbers_of_the_mechanisms(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            subprocess.run(
                [PROGRAM, "run-sweep", "--mechanism", "monotonic,mocha,matcha", "-T", "12",
                 "-U", "4", "-B", "2", "-w", "3", "--mode", "gradient", "--workload",
                 "bias:-20", "--variant", "framework,framework_operators", "--repetitions",
                 "2", "--peer", PEER, "-o", path],
                check=True, capture_output=True, timeout=300, cwd=ROOT)
            with open(path, encoding="utf-8") as file:
                cells = json.load(file)["cells"]
        self.assertEqual(len(cells), 6)
        for cell in cells:
            self.assertEqual(cell["status"], "ok", cell["message"])
            # Only what approximates has no bound; its error is recorded.
            is_ours = cell["variant"] == "framework_operators"
            self.assertEqual(cell["numerics"]["error_bound"] is not None, is_ours)

    def test_closed_forms_are_the_operators_where_they_clip_nothing(self):
        torch.manual_seed(1)
        p, u = 0.2 * torch.rand(2, 4, 12), torch.randn(2, 4, 12)
        tiny = float(torch.finfo(p.dtype).tiny)
        wide = [x.unsqueeze(1) for x in (p, u)]
        for by_logs in (False, True):
            for closed, ours in (
                    (selection(p, tiny, by_logs), monotonic_attention(p=wide[0])),
                    (chunkwise(p, u, 3, tiny, by_logs),
                     mocha_attention(wide[1], 3, p=wide[0])[0]),
                    (adaptive(p, u, tiny, by_logs),
                     matcha_attention(wide[1], p=wide[0])[0])):
                self.assertTrue(torch.allclose(closed, ours.squeeze(1), atol=1e-5))


    def test_the_portable_path_is_measured_with_its_checks_of_numbers_and_without(self):
        class WithoutAttention:
            def by_operators(self, leaves):
                return framework_operators.OPERATORS.monotonic_attention(p=leaves)

        p = torch.full((1, 1, 2, 3), 1.5)  # no probability
        for name, refuses in (("framework_portable", True),
                              ("framework_portable_unchecked", False)):
            make = framework_portable.VARIANTS[name].make
            cell = type("Cell", (WithoutAttention, make), {"__init__": lambda self: None})()
            with self.subTest(name=name):
                if refuses:
                    self.assertRaisesRegex(ValueError, "p", cell.attention, p)
                else:
                    self.assertEqual(cell.attention(p).shape, p.shape)


class Devices(unittest.TestCase):
    """No GPU is needed: device meta refuses what is mixed with tensors of the CPU, too."""

    def on_meta(self):
        return mock.patch.object(framework_common, "device", torch.device("meta"))

    def test_the_ways_to_write_it_follow_the_device_of_their_inputs(self):
        tiny = float(torch.finfo(torch.float32).tiny)
        for form, *others in ((selection, tiny, True), (of_fairseq,), (of_emma,),
                              (chunkwise, 3, tiny, False), (adaptive, tiny, False)):
            shape = (2, 4, 12)
            p = torch.rand(shape, device="meta", requires_grad=True)
            u = [torch.rand(shape, device="meta")] if form in (chunkwise, adaptive) else []
            with self.subTest(form=form.__name__):
                made = form(p, *u, *others)
                (gradient,) = torch.autograd.grad(made.sum(), p)
                for tensor in (made, gradient):
                    self.assertEqual((tensor.device.type, tensor.shape), ("meta", shape))

    def test_inputs_are_put_on_the_device_and_what_it_cannot_do_is_skipped_by_name(self):
        def cell(mode, variant):
            return types.SimpleNamespace(
                axes={"mode": mode, "variant": variant, "end": None}, options={}, draws=[])

        array = torch.zeros(3).numpy()
        self.assertEqual(framework_common.tensor(array).device.type, "cpu")
        framework.check(cell("decode", "framework"))
        with self.on_meta():
            self.assertEqual(framework_common.tensor(array).device.type, "meta")
            framework.check(cell("gradient", "framework_portable"))
            for refused, words in ((cell("decode", "framework"), "decodes on the CPU, not on meta"),
                                   (cell("expect", "framework_operators"), "are for the CPU")):
                with self.assertRaisesRegex(protocol.Skipped, words):
                    framework.check(refused)

    def test_the_clock_of_a_sample_stops_after_the_device_has_done_its_work(self):
        happened = []
        note = lambda what: lambda *_: happened.append(what) or len(happened)
        with mock.patch.object(protocol.time, "perf_counter_ns", note("clock")):
            took = protocol._time(note("run"), note("wait"),
                                  {"draws": [0], "first": 0, "trials": 2})
        self.assertEqual(happened, ["clock", "run", "run", "wait", "clock"])
        self.assertEqual(took["elapsed_ns"], 4)

    def test_the_fastest_way_is_chosen_by_what_the_device_has_done(self):
        happened = []
        with mock.patch.object(framework_common, "wait", lambda: happened.append("wait")):
            framework_common.fastest("ab", happened.append, cell_of({}, 3))
        self.assertEqual(set(happened[1::2]), {"wait"})
        self.assertEqual(set(happened[::2]), {"a", "b"})

    def test_a_cell_that_is_prepared_again_keeps_its_way_unless_it_has_other_outputs(self):
        tried = []
        for threads, outputs in ((2, 1), (3, 1), (3, 64)):
            cell = cell_of({"threads": threads}, outputs)
            tried.clear()
            way = framework_common.fastest("ab", tried.append, cell)
            self.assertEqual(set(tried), {"a", "b"})
            again = framework_common.fastest("ba", self.fail, cell)
            self.assertEqual(again, way)

    @needs.program
    def test_a_device_that_is_not_there_is_refused_in_one_line(self):
        for device, words in (("meta", "must be cpu, cuda or cuda:N"), ("cuda:", "must be cpu"),
                              ("cuda:99", "finds [0-9]+ CUDA devices")):
            with self.subTest(device=device), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(
                    [PROGRAM, "run-sweep", "-T", "4", "--peer", f"{PEER} --device {device}",
                     "-o", os.path.join(folder, "r.json")],
                    check=False, capture_output=True, text=True, timeout=120)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertRegex(done.stderr, "--device .*" + words)

    def test_a_gpu_without_a_number_is_the_first(self):
        # PyTorch refuses to set a device that has no number.
        for name, number in (("cuda", 0), ("cuda:1", 1)):
            with mock.patch.object(framework_common, "device"), \
                    mock.patch.object(torch.cuda, "device_count", lambda: 2), \
                    mock.patch.object(torch.cuda, "set_device") as chosen:
                framework_common.use_device(name)
                self.assertEqual(framework_common.device, torch.device(name))
            chosen.assert_called_once_with(number)

    def test_a_framework_without_openblas_names_what_it_was_built_with(self):
        maps = mock.mock_open(read_data="7f00-7f01 r-xp 0 0 0 /pip/nvidia/libcublas.so.13\n")
        with mock.patch("builtins.open", maps), \
                mock.patch.object(torch.__config__, "show",
                                  lambda: "Build settings: BLAS_INFO=mkl, BUILD_TYPE=Release"):
            self.assertEqual(framework.blas(), ({"torch_blas": "mkl"}, None))


class Samples(unittest.TestCase):
    def test_a_sample_of_training_begins_with_a_trial_that_is_not_timed(self):
        class Work(framework.Training):
            def __init__(self, happened):
                self.run = lambda draw: happened.append(("run", draw))

        happened = []
        cell = types.SimpleNamespace(axes={"threads": 1})
        work = framework.WithThreads(lambda _: Work(happened), cell, None)
        clock = lambda: happened.append("clock") or len(happened)
        with mock.patch.object(protocol.time, "perf_counter_ns", clock):
            protocol._answer({"call": "time", "cell": 1, "draws": [2, 3], "first": 0, "trials": 2},
                             None, None, {1: work})
        self.assertEqual(happened, [("run", 0), "clock", ("run", 2), ("run", 3), "clock"])


class OtherProcesses(unittest.TestCase):
    def sweep(self, *arguments, variants="framework_operators,framework_operators_before"):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            done = subprocess.run(
                [PROGRAM, "run-sweep", "--mechanism", "mocha", "-T", "12", "-U", "4", "-B", "2",
                 "-w", "3", "--mode", "gradient", "--scope", "attention", "--workload",
                 "bias:-2.7", "--variant", variants, "--repetitions", "2", "--peer",
                 shlex.join([*PEER.split(), *arguments]), "-o", path],
                check=False, capture_output=True, text=True, timeout=300, cwd=ROOT)
            if not os.path.exists(path):
                return done, None
            with open(path, encoding="utf-8") as file:
                return done, {cell["variant"]: cell for cell in json.load(file)["cells"]}

    @needs.program
    def test_an_older_library_is_measured_in_the_same_rounds(self):
        with tempfile.TemporaryDirectory() as folder:
            older = shutil.copy(library.find(), os.path.join(folder, "older one.so"))
            done, cells = self.sweep("--before", older)
        self.assertEqual(done.returncode, 0, done.stderr)
        ours, before = cells["framework_operators"], cells["framework_operators_before"]
        for cell in (ours, before):
            self.assertEqual(cell["status"], "ok", cell["message"])
            self.assertGreaterEqual(cell["page_faults"], 0)
        self.assertEqual(ours["point"], before["point"])
        self.assertEqual(ours["numerics"], before["numerics"])

    @needs.program
    def test_a_library_that_cannot_be_loaded_takes_no_cell_of_ours_with_it(self):
        with tempfile.NamedTemporaryFile(suffix=".so") as other:
            done, cells = self.sweep("--before", other.name)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertEqual(cells["framework_operators"]["status"], "ok")
            failed = cells["framework_operators_before"]
            self.assertEqual(failed["status"], "error")
            self.assertIn(f"{other.name} has no operators of attnbench", failed["message"])

    @needs.program
    def test_an_older_library_that_is_not_there_is_refused_or_skipped(self):
        done, cells = self.sweep("--before", "no/such.so")
        self.assertEqual((done.returncode, cells), (2, None), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("--before names no file: no/such.so", done.stderr)
        _, cells = self.sweep()
        skipped = cells["framework_operators_before"]
        self.assertEqual(skipped["status"], "skipped")
        self.assertIn("give framework.py --before LIBRARY", skipped["message"])

    def test_closed_forms_flush_denormal_numbers_on_every_thread(self):
        # alpha(1, j) is 2^-j, denormal from j = 127 to 149. Each of two threads has half of
        # the sequences.
        sequences, length = 64, 1024
        with tempfile.TemporaryDirectory() as folder:
            table, made = os.path.join(folder, "p"), os.path.join(folder, "alpha")
            numpy.full(length, 0.5, numpy.float32).tofile(table)
            place = {"offset": 0, "rows": 1, "columns": length}
            sequence = {"outputs": 1, "energy_bias": 0, "energy_scale": 0, "cotangent": {},
                        "memory": place, "given": {"p_choose": place}, "wanted": ["attention"]}
            axes = {"mechanism": "monotonic", "mode": "expect", "scope": "attention",
                    "precision": "f32", "energy": "dot", "chunk_width": None, "threads": 2,
                    "end": "absorb"}
            found = {}
            with subprocess.Popen(PEER.split(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, encoding="utf-8") as peer:
                def ask(**message):
                    peer.stdin.write(json.dumps(message) + "\n")
                    peer.stdin.flush()
                    return json.loads(peer.stdout.readline())

                for cell, variant in enumerate(("framework", "framework_flushed")):
                    axes["variant"] = variant
                    self.assertEqual({}, ask(
                        call="prepare", cell=cell, axes=axes, options={}, file=table,
                        parameters={}, draws=[[sequence] * sequences]))
                    answer = ask(call="output", cell=cell, draw=0, file=made)
                    self.assertEqual(len(answer["sequences"]), sequences, answer)
                    alpha = numpy.fromfile(made, numpy.float32).reshape(sequences, length)
                    is_denormal = (alpha > 0) & (alpha < numpy.finfo(numpy.float32).tiny)
                    found[variant] = is_denormal.sum(1)
                    self.assertEqual({}, ask(call="release", cell=cell))
                    self.assertIn("error", ask(call="output", cell=cell, draw=0, file=made))
                peer.stdin.close()
                self.assertEqual(peer.wait(), 0)
        self.assertGreater(found["framework"].min(), 0)
        self.assertEqual(found["framework_flushed"].max(), 0)


class Claims(unittest.TestCase):
    def answer(self, script, question):
        done = subprocess.run(
            ["/usr/bin/python3", os.path.join(ROOT, "experiments", "peers", script)],
            input=json.dumps(question), check=True, capture_output=True, text=True,
            timeout=120)
        answer = json.loads(done.stdout)
        self.assertEqual(answer.pop("framework"), "torch " + torch.__version__)
        return answer

    def test_gradients_are_those_of_the_framework_s_own_cumprod(self):
        cases = [{"x": [2, 3, 4]}, {"x": [0, 2, 3]}]
        self.assertEqual(self.answer("cumprod.py", cases),
                         {"gradients": [[16, 10, 6], [9, 0, 0]]})

    def test_what_a_gradient_keeps_is_an_array_of_t_by_t_an_output_at_least(self):
        T, U = 64, 5
        (kept,), (of_twice,) = (
            self.answer("matcha_bytes.py", {"memory_length": [T], "output_length": [u]})
            ["bytes"] for u in (U, 2 * U))
        square = 8 * T * T
        self.assertGreater(kept, U * square)
        self.assertLess(kept, 4 * U * square)
        # Only the mask of the pairs is there once.
        self.assertLess(of_twice, 2 * kept)
        self.assertGreaterEqual(of_twice, 2 * kept - T * T)
        both = self.answer("matcha_bytes.py",
                           {"memory_length": [8, T], "output_length": [U, 2 * U]})
        self.assertEqual(both["bytes"][2:], [kept, of_twice])


if __name__ == "__main__":
    unittest.main(verbosity=2)  # which tells the reason of a skip
