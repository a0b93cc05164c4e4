"""attnbench expect from outside. tests/harness/commands/malformed_cases.json has case
files that it refuses, as decode does.

Guards against expectations and gradients that are not those of the papers or are
printed with too few digits, options that are taken but not used, and wrong input
that is taken or not explained.
"""
import glob
import json
import math
import os
import re
import subprocess
import unittest

from documents import strict
from in_folder import InFolder

ATTNBENCH = os.environ["ATTNBENCH"]
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOLDEN = sorted(glob.glob(os.path.join(TESTS, "golden", "*.json")))


def run(*arguments, command="expect"):
    return subprocess.run([ATTNBENCH, command, *map(str, arguments)],
                          capture_output=True, text=True, check=False)


class CaseTest(InFolder):
    def case(self, mechanism, options=None, **inputs):
        path = os.path.join(self.folder, "case.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"mechanism": mechanism, "options": options or {},
                       "inputs": inputs}, file)
        return path

    def expect(self, *arguments):
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""), arguments)
        return strict(result.stdout)

    def assert_refused(self, *arguments, naming, command="expect"):
        result = run(*arguments, command=command)
        self.assertEqual((result.returncode, result.stdout), (2, ""),
                         (arguments, result.stderr))
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn(naming, result.stderr)

    def assert_near(self, found, expected, tolerance, what):
        self.assertEqual(len(found), len(expected), what)
        for found_row, expected_row in zip(found, expected):
            self.assertEqual(len(found_row), len(expected_row), what)
            for a, b in zip(found_row, expected_row):
                self.assertLessEqual(abs(a - b), tolerance, what)


class Latency(CaseTest):
    P = [[0.5, 0.5, 0.25], [0.25, 0.5, 0.5]]

    def latency(self, *arguments, options=None, **inputs):
        inputs = inputs or {"p_choose": self.P}
        return self.expect(self.case("monotonic", options, **inputs),
                           *arguments)["latency"]

    def test_the_proportion_follows_from_the_selection(self):
        for end in ("absorb", "stay_last", "restart"):
            output = self.expect(self.case("monotonic", {"end": end}, p_choose=self.P))
            latency = output["latency"]
            self.assertEqual(latency["expected_delays"][0], 1 * .5 + 2 * .25 + 3 * .25)
            # The second output starts from entry 1, 2 and, chosen or not, 3.
            self.assertEqual(latency["expected_delays"][1],
                             .5 * (1 * .25 + 2 * .375 + 3 * .375)
                             + .25 * (2 * .5 + 3 * .5) + .25 * 3)
            self.assertAlmostEqual(
                latency["ap"], sum(latency["expected_delays"]) / 6, delta=1e-15)

    def test_the_gradient_is_the_derivative_of_the_proportion(self):
        step = 1e-6
        gradient = self.latency()["ap_gradient"]
        self.assertEqual(list(gradient), ["p_choose"])
        for i in range(2):
            for j in range(3):
                moved = [row[:] for row in self.P]
                moved[i][j] += step
                above = self.latency(p_choose=moved)["ap"]
                moved[i][j] -= 2 * step
                below = self.latency(p_choose=moved)["ap"]
                self.assertAlmostEqual((above - below) / (2 * step),
                                       gradient["p_choose"][i][j], delta=1e-9)

    def test_sampled_paths_agree_with_the_proportion(self):
        latency = self.latency("--latency-samples", "20000", "--seed", "3")
        sampled = latency["sampled"]
        self.assertEqual(sampled["paths"], 20000)
        proportion = sampled["ap"]
        self.assertGreater(proportion["standard_error"], 0)
        self.assertLess(abs(proportion["mean"] - latency["ap"]),
                        4 * proportion["standard_error"])
        errors = sampled["ap_errors"]
        self.assertEqual([(e["paths"], e["batches"]) for e in errors],
                         [(1, 20000), (4, 5000), (16, 1250), (64, 312), (256, 78),
                          (1024, 19)])
        for more, fewer in zip(errors[1:], errors):
            self.assertLess(more["rms"], fewer["rms"])
        # The mean AL is not the AL of the expected delays.
        self.assertGreater(
            abs(sampled["al"]["mean"] - latency["of_expected_delays"]["al"]),
            10 * sampled["al"]["standard_error"])
        again = self.latency("--latency-samples", "20000", "--seed", "3")
        self.assertEqual(again, latency)
        self.assertNotEqual(self.latency("--latency-samples", "20000"), latency)

    def test_a_longer_reference_lengthens_laal_alone(self):
        plain = self.latency()["of_expected_delays"]
        longer = self.latency("--reference-length", "4")["of_expected_delays"]
        self.assertGreater(longer["laal"], plain["laal"])
        self.assertEqual({**longer, "laal": 0}, {**plain, "laal": 0})

    def test_a_published_variant_has_the_latency_of_the_process(self):
        options = {"variant": "parallel", "preset": "fsq"}
        self.assertEqual(self.latency(options=options), self.latency())

    def test_what_cannot_be_is_refused(self):
        case = self.case("monotonic", p_choose=self.P)
        for value in ("1", "many", "100000001"):
            self.assert_refused(case, "--latency-samples", value,
                                naming="--latency-samples")
        self.assert_refused(case, "--reference-length", "0",
                            naming="--reference-length")
        noisy = self.case("monotonic", {"noise": 1}, p_choose=self.P)
        self.assert_refused(noisy, "--latency-samples", "9", naming="noise")
        soft = self.case("soft", energies=[[1, 2]])
        for option in ("--latency-samples", "--reference-length"):
            self.assert_refused(soft, option, "9", naming=option)


class Sharpness(CaseTest):
    P = [[0.25, 0.75]]

    def test_the_distance_to_what_is_decoded_falls_to_nothing(self):
        case = self.case("mocha", {"chunk_width": 2}, p_choose=self.P,
                         chunk_energies=[[0, 0]], memory=[[1], [-1]])
        output = self.expect(case, "--sharpness", "1,2,500")
        # The decoder weights both entries with 1/2.
        one, two, many = output["sharpness"]
        alpha = [0.25, 0.75 * 0.75]
        beta = [alpha[0] + alpha[1] / 2, alpha[1] / 2]
        missing = 1 - sum(beta)
        self.assertAlmostEqual(
            one["attention_distance"],
            (abs(beta[0] - .5) + abs(beta[1] - .5) + missing) / 2, delta=1e-15)
        self.assertAlmostEqual(one["context_distance"], beta[0] - beta[1], delta=1e-15)
        self.assertLess(two["attention_distance"], one["attention_distance"])
        self.assertLess(many["attention_distance"], 1e-15)
        self.assertEqual([p["sharpness"] for p in output["sharpness"]], [1, 2, 500])

    def test_without_a_memory_there_are_no_contexts(self):
        output = self.expect(self.case("monotonic", p_choose=self.P), "--sharpness", "1")
        self.assertIsNone(output["sharpness"][0]["context_distance"])

    def test_what_cannot_be_is_refused(self):
        case = self.case("monotonic", p_choose=self.P)
        for value in ("0", "-1", "1,,2", "steep", "inf", "nan"):
            self.assert_refused(case, "--sharpness", value, naming="--sharpness")
        self.assert_refused(self.case("soft", energies=[[1, 2]]), "--sharpness", "1",
                            naming="--sharpness")


class Golden(CaseTest):
    def test_every_case_is_what_all_paths_add_up_to(self):
        self.assertEqual(len(GOLDEN), 45)
        for path in GOLDEN:
            with open(path, encoding="utf-8") as file:
                case = json.load(file)
            output = self.expect(path)
            expected = case["expected"]
            self.assertEqual(
                set(output) - {"mechanism", "variant", "latency"}, set(expected), path)
            for key in expected:
                if key != "gradients":
                    self.assert_near(output[key], expected[key], case["tolerance"],
                                     (path, key))
            gradients = expected.get("gradients", {})
            self.assertEqual(set(output.get("gradients", {})), set(gradients), path)
            for key, values in gradients.items():
                self.assert_near(output["gradients"][key], values, case["tolerance"],
                                 (path, key))


class Output(CaseTest):
    def test_what_was_not_asked_for_is_not_there(self):
        self.assertEqual(self.expect(self.case("monotonic", p_choose=[[0.5]])),
                         {"mechanism": "monotonic", "variant": "exact",
                          "attention": [[0.5]], "selection": [[0.5]],
                          "latency": {"ap": 1, "ap_gradient": {"p_choose": [[0]]},
                                      "expected_delays": [1],
                                      "of_expected_delays":
                                      {"al": 1, "laal": 1, "dal": 1}}})
        self.assertEqual(self.expect(self.case("soft", energies=[[3, 3]])),
                         {"mechanism": "soft", "variant": "exact",
                          "attention": [[0.5, 0.5]]})

    def test_the_documentation_shows_what_is_printed(self):
        with open(os.path.join(os.path.dirname(TESTS), "docs", "verification.md"),
                  encoding="utf-8") as file:
            page = file.read()
        case = re.search(r'^{"mechanism": "mocha".*?}}$', page, re.M | re.S).group()
        shown = re.search(r'^{"mechanism":"mocha".*}$', page, re.M).group()
        case, shown = strict(case), strict(shown)
        output = self.expect(self.case(case["mechanism"], case["options"],
                                       cotangent=[[1, 0]], **case["inputs"]))
        self.assertEqual(list(output), list(shown))
        for key in ("attention", "selection", "context"):
            self.assert_near(output[key], shown[key], 1e-14, key)
        for key, values in shown["gradients"].items():
            self.assert_near(output["gradients"][key], values, 1e-14, key)

    def test_digits_give_the_same_double_back(self):
        result = run(self.case("monotonic", p_choose=[[0.1, 1 / 3]]))
        self.assertIn('"attention":[[0.1,0.3', result.stdout)
        third = strict(result.stdout)["attention"][0][1]
        self.assertEqual(third, (1 - 0.1) * (1 / 3))

    def test_energies_are_before_a_sigmoid(self):
        e = [[0.3, -0.7, 2.0], [1.0, 0.0, -1.5]]
        p = [[1 / (1 + math.exp(-x)) for x in row] for row in e]
        cotangent = [[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]]
        by_energies = self.expect(self.case("monotonic", energies=e, cotangent=cotangent))
        by_p = self.expect(self.case("monotonic", p_choose=p, cotangent=cotangent))
        self.assert_near(by_energies["attention"], by_p["attention"], 1e-15, "attention")
        self.assert_near(by_energies["gradients"]["energies"],
                         [[d * x * (1 - x) for d, x in zip(*rows)]
                          for rows in zip(by_p["gradients"]["p_choose"], p)],
                         1e-14, "gradients")

    def test_gradients_of_the_fixed_memory(self):
        encoder, decoder = [[0.5, 1.0], [-1.0, 2.0]], [[0.3, -0.4]]
        cotangent = [[2.0, -1.0]]
        gradients = self.expect(self.case(
            "memory", encoder_scores=encoder, decoder_scores=decoder,
            cotangent=cotangent))["gradients"]
        self.assertEqual(set(gradients), {"encoder_scores", "decoder_scores"})

        def loss():
            attention = self.expect(self.case(
                "memory", encoder_scores=encoder, decoder_scores=decoder))["attention"]
            return sum(a * c for a, c in zip(attention[0], cotangent[0]))
        for key, scores in (("encoder_scores", encoder), ("decoder_scores", decoder)):
            for r, row in enumerate(scores):
                for c, value in enumerate(row):
                    row[c] = value + 1e-5
                    more = loss()
                    row[c] = value - 1e-5
                    difference = (more - loss()) / 2e-5
                    row[c] = value
                    self.assertAlmostEqual(gradients[key][r][c], difference, 8)

    def test_a_window_of_one_entry_needs_no_chunk_energies_but_takes_them(self):
        p, u = [[0.2, 0.9]], [[1, 2]]
        for variant in ("exact", "reference"):
            output = self.expect(self.case(
                "mocha", {"chunk_width": 1, "variant": variant}, p_choose=p,
                chunk_energies=u, cotangent=[[1, 2]]))
            self.assertEqual(output["attention"], output["selection"])
            self.assertEqual(output["gradients"]["chunk_energies"], [[0, 0]])


class Options(CaseTest):
    def attention(self, options, *arguments, mechanism="monotonic", **inputs):
        return self.expect(self.case(mechanism, options, **inputs), *arguments)["attention"]

    def test_end_policies(self):
        p = [[0, 0.5, 0], [0, 0.5, 0]]
        for options, expected in (({}, [[0, 0.5, 0], [0, 0.25, 0]]),
                                  ({"end": "absorb"}, [[0, 0.5, 0], [0, 0.25, 0]]),
                                  ({"end": "stay_last"}, [[0, 0.5, 0.5], [0, 0.25, 0.75]]),
                                  ({"end": "restart"}, [[0, 0.5, 0], [0, 0.5, 0]])):
            self.assertEqual(self.attention(options, p_choose=p), expected, options)

    def test_chunk_width(self):
        inputs = {"p_choose": [[0, 0, 1]], "chunk_energies": [[5, 5, 5]]}
        for width, expected in ((1, [0, 0, 1]), (2, [0, 0.5, 0.5]),
                                ("inf", [1 / 3, 1 / 3, 1 / 3])):
            self.assert_near(self.attention({"chunk_width": width}, mechanism="mocha",
                                            **inputs), [expected], 1e-15, width)

    def test_noise_is_keyed_by_the_seed(self):
        e = [[0.5] * 16]
        plain = self.attention({}, energies=e)
        one = self.attention({"noise": 1}, "--seed", 1, energies=e)
        self.assertEqual(one, self.attention({"noise": 1}, energies=e))
        self.assertNotEqual(one, plain)
        self.assertNotEqual(one, self.attention({"noise": 1}, "--seed", 2, energies=e))
        self.assertEqual(plain, self.attention({"noise": 0}, "--seed", 2, energies=e))

    def test_a_published_variant_is_an_approximation(self):
        # The denominator is clipped, so mass that starts late is lost.
        p = [[0.9] * 12, [0.9] * 12]
        exact = self.attention({}, p_choose=p)
        clipped = self.attention({"variant": "parallel", "preset": "nsp"}, p_choose=p)
        self.assertAlmostEqual(exact[0][0], clipped[0][0])
        self.assertGreater(max(abs(a - b) for a, b in zip(exact[1], clipped[1])), 1e-9)
        self.assertEqual(clipped, self.attention(
            {"variant": "parallel", "preset": "nsp"}, p_choose=p))
        default = self.attention({"variant": "parallel"}, p_choose=p)
        wide = self.attention({"variant": "parallel", "denominator_eps": 0.1}, p_choose=p)
        self.assertNotEqual(default, wide)

    def test_what_is_not_finite_is_null_and_counted(self):
        p = [[1] * 40] * 2
        result = run(self.case("monotonic", {"variant": "parallel", "preset": "jmin"},
                               p_choose=p))
        self.assertEqual(result.returncode, 0)
        rows = strict(result.stdout)["attention"]
        nulls = sum(value is None for row in rows for value in row)
        self.assertGreater(nulls, 0)
        self.assertIn(f"{nulls} of attention", result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)

    def test_exact_results_beyond_double_precision_are_refused(self):
        self.assert_refused(
            self.case("memory", {"decoder_scoring": "sigmoid"},
                      encoder_scores=[[1, 1]] * 2, decoder_scores=[[50, 50]],
                      memory=[[1.7e308], [1.7e308]]),
            naming="beyond double precision: 1 of context")

    def test_gradients_of_published_variants_are_for_short_sequences(self):
        options = {"variant": "parallel", "preset": "tf"}
        for length in (64, 65):
            rows = [[0.1] * length]
            path = self.case("monotonic", options, p_choose=rows, cotangent=rows)
            if length == 64:
                self.assertIn("gradients", self.expect(path))
            else:
                self.assert_refused(path, naming="64")


class WrongInput(CaseTest):
    def test_paths_that_cannot_be_read(self):
        for command in ("decode", "expect"):
            for path in ("absent.json", self.folder, "a\nb.json", "x" * 5000):
                self.assert_refused(path, naming="cannot be read", command=command)

    def test_brackets_do_not_overflow_the_stack(self):
        path = os.path.join(self.folder, "deep.json")
        for text in ("[" * 100000, '{"a":' * 100000, '{"inputs": ' + "[" * 100000):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            for command in ("decode", "expect"):
                self.assert_refused(path, naming="is nested deeper than 64 levels",
                                    command=command)

    def test_help_has_an_example(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        self.assertIn("e.g. tests/golden/mocha-plain.json", " ".join(result.stdout.split()))


if __name__ == "__main__":
    unittest.main()
