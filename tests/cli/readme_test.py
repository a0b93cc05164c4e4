"""Guards against a README, or a page of docs/, that says what is no longer so: its
axes and commands are those of the program, its figures and quoted output those of
the committed results, its links lead somewhere."""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from matplotlib.figure import Figure

from attnbench.analysis import command, published, reads
from figures import britz_table1, draw
from pages import markdown, not_attempted

PROGRAM = os.environ["ATTNBENCH"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = os.path.join(ROOT, "results")
CROSSOVERS = ("crossover.json", "crossover_beam.json")
EXPECTED = ("expect_monotonic", "expect_mocha", "expect_matcha")
# Page, and figure -> results: what draw.py says of it is a block of its name. Such a block is
# written by: plots/draw.py --figure NAME RESULT... | grep '^  ' | plots/page.py PAGE NAME
DRAWN = (
    ("docs/latency.md", {"latency": ["latency_bias"], "memory_share": ["latency_bias"],
                         "policy": ["alignatt"], "sharpness": EXPECTED, "monte_carlo": EXPECTED}),
    ("docs/speed.md", {"threads": ["threads_16"]}),
    ("docs/stability.md", {"stability_chunks": ["claims/stability"],
                           "stability_gradient": ["claims/stability"],
                           "monotonic_algorithms": ["monotonic_algorithms"]}),
    ("docs/banded.md", {"frontier": ["frontier"]}),
    ("docs/clipping.md", {"clip_errors": ["training/clipping"],
                          "clip_gradient": ["clip_gradient"]}),
)


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def plots(script, *arguments):
    return run(sys.executable, os.path.join(ROOT, "plots", script), *arguments)


def drawn(figure, *results):
    """Gives what draw.py says of a figure of committed results; otherwise of its name. No
    picture is made, which takes most of the time.
    """
    paths = [os.path.join(RESULTS, name + ".json") for name in results or (figure,)]
    with mock.patch.object(Figure, "draw_without_rendering", lambda figure: None):
        ((_, lines),) = draw.draw_files(paths, figure).values()
    return command.printable("".join(f"  {line}\n" for line in lines))


def pages():
    """Gives README.md and the pages that it links to for users."""
    names = glob.glob("docs/*.md", root_dir=ROOT)
    assert len(names) > 3, names
    return ["README.md", *sorted(names)]


def documents():
    """Gives every page for people."""
    return sorted(
        name for pattern in ("*.md", "docs/*.md", "experiments/*.md",
                             "mechanisms/*/*.md")
        for name in glob.glob(pattern, root_dir=ROOT))


def anchors(text):
    """Gives what links can point at in a page, as GitHub names its headings."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text,
                                               flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in headings}


def prose(text):
    """Gives a page without its tables, its blocks of code, and what programs put
    between two lines.
    """
    for left_out in (r"^<!-- ([^/].*) -->\n(?:.*\n)*?<!-- (?:/|end of )\1 -->$",
                     r"^```.*\n(?:.*\n)*?```$", r"^\|.*$"):
        text = re.sub(left_out, "", text, flags=re.M)
    return text


def block(name, page):
    """Gives what stands in the block of code between the lines of that name."""
    found = re.search(f"^<!-- {name} -->\n```\n(.*?)^```\n<!-- /{name} -->\n",
                      read(page), re.MULTILINE | re.DOTALL)
    assert found, f"{page} has no block {name}"
    return found.group(1)


def table_of_verify(document):
    """Gives what `attnbench verify` prints of what it writes, but for the seconds."""
    rows = {}
    for case in document["cases"]:
        for quantity in case["quantities"]:
            exact = quantity["tolerance"] is not None
            key = case["mechanism"], case["method"], quantity["what"], exact
            row = rows.setdefault(key, {"cases": 0, "comparisons": 0, "worst": [],
                                        "detectable": [], "verdicts": set(),
                                        "chi_square": [0, 0]})
            row["cases"] += 1
            row["comparisons"] += quantity["comparisons"]
            row["worst"].append(quantity["largest_error"] if exact
                                else quantity["worst"]["p_value"])
            row["detectable"].append(quantity["detectable"])
            row["verdicts"].add(quantity["verdict"])
            if quantity["what"] == "selection" and case.get("chi_square"):
                row["chi_square"][0] += case["chi_square"]["statistic"]
                row["chi_square"][1] += case["chi_square"]["terms"]
    lines = ["{:<11} {:<12} {:<34} {:>6} {:>12} {:>14} {:>11}  {}".format(
        "mechanism", "method", "compared", "cases", "comparisons", "worst",
        "detectable", "verdict")]
    for (mechanism, method, what, exact), row in rows.items():
        worst = (f"error {max(row['worst']):.2g}" if exact
                 else f"p {min(row['worst']):.2g}")
        verdict = "passed" if row["verdicts"] == {"passed"} else "FAILED"
        line = (f"{mechanism:<11} {method:<12} {what:<34} {row['cases']:>6} "
                f"{row['comparisons']:>12} {worst:>14} "
                f"{max(row['detectable']):>11.2g}  {verdict}")
        statistic, terms = row["chi_square"]
        if terms:
            line += (f"  (chi-square {statistic:.0f} over {terms} terms, no part of "
                     "the verdict)")
        lines.append(line)
    lines.append(
        f"{len(document['cases'])} cases, {document['comparisons']} comparisons, "
        f"{document['sampled_comparisons']} of them by up to {document['trials']} "
        f"trials: all {document['verdict']}; false-alarm rate "
        f"{document['false_alarm_rate']:.2g}")
    return lines


class DocumentsTest(unittest.TestCase):
    def stands_in(self, text, names):
        """Expects exactly this text in one of the pages."""
        self.assertTrue(text.strip())
        self.assertTrue(any(text in read(name) for name in names),
                        f"stands nowhere in {', '.join(names)}:\n{text}")


class NumbersTest(DocumentsTest):
    def test_speed_ups_are_those_of_the_committed_results(self):
        quoted = [line for name in pages()
                  for line in re.findall(r"^  \S.*soft / .*x (?:\[|at ).*", read(name), re.MULTILINE)]
        self.assertGreater(len(quoted), 10)
        printed = (drawn("mad_figure8_builds", "claims/authors", "claims/speedup")
                   + drawn("mad_figure8", "claims/speedup")
                   + drawn("mocha_figure3", "claims/figure3")
                   + drawn("memory_share", "latency_bias")).splitlines()
        for line in quoted:
            self.assertIn(line, printed)
        self.assertTrue(any("] *" in line for line in quoted))

    def test_a_marked_speed_up_has_its_reason_on_the_same_page(self):
        for page in [*pages(), *glob.glob("results/*.md", root_dir=ROOT)]:
            text = read(page).replace("\\", "")
            if re.search(r"x \[[^]]*\] \*( |$)", text, re.MULTILINE):
                with self.subTest(page=page):
                    self.assertIn(reads.NOTE, text)

    def test_times_of_whole_decoders_are_those_of_the_committed_result(self):
        page = read("docs/decoder.md")
        quoted = re.findall(r"^  beam \d.*", page, re.MULTILINE)
        self.assertGreater(len(quoted), 2)
        printed = drawn("britz_table1", "claims/decoder").splitlines()
        for line in quoted:
            self.assertIn(line, printed)
        of_mocha = [line for line in printed if "mocha" in line]
        self.assertEqual(len(of_mocha), 2)  # with a beam, and greedy
        self.assertEqual(all(line.endswith(f": {britz_table1.NO_GAIN}")
                             for line in of_mocha),
                         f"with MoChA there is {britz_table1.NO_GAIN}" in page)

    def test_the_first_findings_are_those_of_the_picture_above_them(self):
        names = {"monotonic": "hard monotonic attention", "MoChA, w = 4": "MoChA",
                 "fixed-size memory, K = 32": "memory", "no attention": "Without attention"}
        found = 0
        for line in drawn("gains", "claims/figure3", "claims/decoder").splitlines():
            name, _, ratios = line.removeprefix("  T = U = 100, ").partition(": ")
            for ratio, interval, where in re.findall(
                    r"(\S+ times as fast) (\[[^]]*\])(?: \*)? (alone|in a whole)", ratios):
                said = self.finding(1 if where == "alone" else 2)
                # Nothing of another mechanism stands between the name and its number.
                self.assertRegex(said, rf"{names[name]}[^\[\d]* {re.escape(ratio)}"
                                       rf"[a-z ]* {re.escape(interval)}")
                found += 1
        self.assertEqual(found, 7)
        self.assertIn("over 5 % of the outputs", self.finding(1))

    def test_no_block_of_output_is_empty(self):
        for page in pages():
            for name in re.findall(r"^<!-- (\w+) -->\n```", read(page), re.MULTILINE):
                with self.subTest(page=page, name=name):
                    self.assertTrue(block(name, page).strip())

    def test_the_finding_about_closed_forms_is_that_of_the_committed_result(self):
        with open(os.path.join(RESULTS, "claims", "stability.json"), encoding="utf-8") as file:
            losses = json.load(file)["losses"]
        said = self.finding(3)
        for preset, name in (("fsq", "fairseq's"), ("tf", "TensorFlow's"), (None, "ours")):
            (row,) = [row for row in losses if row["memory_length"] == 1024
                      and row["preset"] == preset and row["precision"] == "f32"
                      and (preset or row["variant"] == "exact")]
            share = f"{100 * row['lost']:.1f} %"
            self.assertRegex(said, rf"{name}(?: loses)?(?: up to)? {share}")
            self.assertIn(f"(worst of {row['draws']} draws)", said)

    def test_the_page_on_stability_first_says_from_where_on_forms_lose_mass(self):
        page = read("docs/stability.md")
        starts = {}
        for form, start in re.findall(r"^\| ([^|]+) \|(?: `\w+` \|)? ([^|]+) \|",
                                      page.split("<!-- losses -->")[1], re.MULTILINE):
            starts.setdefault(start.strip(), []).append(form)
        for start, forms in (("750", ["MAD", "TensorFlow"]),
                             ("420", ["neural_sp", "fairseq 0.12"]),
                             ("not up to 2048", ["attnbench", "EMMA"])):
            self.assertEqual(starts[start], forms)
        first = page.split("## ")[0]
        self.assertIn("from T = 420 on with fairseq and neural_sp", first)
        self.assertIn("from T = 750 on with MAD and TensorFlow", first)
        self.assertIn("with EMMA it does not up to T = 2048", first)

    def finding(self, number):
        (line,) = re.findall(rf"^{number}\. (.*)$", read("README.md"), re.MULTILINE)
        return line

    def test_the_claims_are_counted_as_in_the_committed_report(self):
        (counted,) = re.findall(r"^\d+ claims: [^.]*\.", read("REPRODUCTION.md"), re.MULTILINE)
        self.stands_in(counted, ["README.md"])

    def test_what_is_not_attempted_is_said_in_the_readme(self):
        self.stands_in(not_attempted.sentence(published.papers()), ["README.md"])

    def test_the_readme_is_read_in_two_minutes(self):
        text = read("README.md")
        self.assertLess(len(text.splitlines()), 110)
        without_code = re.sub(r"^```.*\n(?:.*\n)*?```$", "", text, flags=re.M)
        self.assertLess(len([word for word in without_code.split()
                             if re.search(r"\w", word)]), 900)

    def test_no_page_takes_over_1000_words_beside_its_tables(self):
        for page in [*pages(), "HACKING.md", "CONTRIBUTING.md"]:
            with self.subTest(page=page):
                self.assertLessEqual(len(prose(read(page)).split()), 1000)

    def test_prose_is_what_stands_beside_tables_code_and_generated_text(self):
        self.assertEqual(
            prose("one <!-- x -->\n<!-- x y -->\ngone\n\n| t |\n<!-- end of x y -->\n"
                  "```text\ngone\n```\n| a | b |\ntwo | three\n"
                  "<!-- z -->\n```\ngone\n```\n<!-- /z -->\nfour\n").split(),
            ["one", "<!--", "x", "-->", "two", "|", "three", "four"])

    def test_the_finding_of_stability_is_that_of_the_committed_result(self):
        (finding,) = re.findall(r"^  (\S.*)$", drawn("stability", "claims/stability"),
                               re.MULTILINE)
        self.assertRegex(finding, r"\d.*\.$")
        self.stands_in(finding, ["docs/stability.md"])

    def test_the_finding_about_noise_is_that_of_the_committed_result(self):
        errors = dict(re.findall(r"^  symbols held for frames, monotonic, (no noise|noise 1): (.*)$",
                                 drawn("hard_errors", "training/stretch"), re.MULTILINE))
        with open(os.path.join(RESULTS, "training", "stretch.json"), encoding="utf-8") as file:
            runs = [run["name"] for run in json.load(file)["runs"]]
        said = self.finding(4)
        for name, words in (("noise0", "no noise"), ("noise1", "noise 1")):
            expected, hard = re.findall(r"\d\S* %", errors[words])
            self.assertRegex(said, f"{expected} (?:of symbols wrong by the expectation )?and {hard}")
            self.assertIn(f"{runs.count(name)} seeds", said)

    def test_what_is_said_of_a_figure_is_that_of_the_committed_results(self):
        for page, figures in DRAWN:
            for figure, results in figures.items():
                lines = re.findall("^  .*\n", drawn(figure, *results), re.MULTILINE)
                with self.subTest(page=page, figure=figure):
                    self.assertEqual(block(figure, page), "".join(lines))
                    self.assertIn(f"/figures/{figure}.png)", read(page))

    def test_the_findings_about_runs_of_one_program_are_those_of_the_committed_result(self):
        lines = [line for line in drawn("aa").splitlines() if line.startswith("  ")]
        self.assertEqual(len(lines), 6)
        self.stands_in("\n".join(lines), ["docs/comparing.md"])

    def test_the_targets_are_those_of_the_committed_results(self):
        made = plots("targets.py",
                     *sorted(glob.glob(os.path.join(RESULTS, "peers_*.json"))),
                     *(os.path.join(RESULTS, f"{name}.json") for name in
                       ("threads", "matcha_algorithms", "kernels_again")))
        self.stands_in(f"<!-- targets -->\n{made}<!-- /targets -->\n", pages())

    def test_the_portable_path_is_as_fast_as_the_committed_results_say(self):
        """One for each kind of device; the page names the GPU."""
        page, names = read("docs/speed.md"), []
        for path in sorted(glob.glob(os.path.join(RESULTS, "portable*.json"))):
            name = os.path.splitext(os.path.basename(path))[0]
            names.append(name)
            done = subprocess.run([PROGRAM, "show", f"results/{name}.json"], check=True,
                                  capture_output=True, text=True, cwd=ROOT)
            self.assertEqual(block(name, "docs/speed.md"), done.stdout)
            with open(path, encoding="utf-8") as file:
                context = json.load(file)["context"]
            if "torch_device" in context["libraries"]:
                for word in (context["libraries"]["torch_device"],
                             context["libraries"]["torch"], context["commit"][:10]):
                    self.assertIn(word, prose(page))
        self.assertEqual(names, re.findall("^<!-- (portable.*) -->$", page, re.MULTILINE))

    def test_operators_are_tested_where_logs_of_other_machines_have_seen_them_pass(self):
        rows = re.findall(r"^\| (.+) \| .+ \| (.+) \| .*\]\(\.\./(tests/torch/logs/[^)]+)\)",
                          read("docs/operators.md"), re.MULTILINE)
        told = {path: (device, version) for device, version, path in rows}
        for path in glob.glob("tests/torch/logs/*", root_dir=ROOT):
            log = json.loads(read(path))
            device, version = told.pop(path)
            self.assertEqual((log["device"].upper(), log["torch"].split("+")[0]),
                             (device.split()[0], version))
            self.assertEqual(log["failures"], {})
            self.assertGreater(sum(file["ran"] for file in log["tests"].values()),
                               10 * len(log["skips"]))
        self.assertEqual(told, {})

    def test_the_growth_is_that_of_the_committed_result(self):
        made = plots("growth.py", os.path.join(RESULTS, "growth.json"))
        self.stands_in(f"<!-- growth table -->\n{made}<!-- end of growth table -->\n",
                       pages())

    def test_the_members_of_a_cell_are_those_of_its_schema(self):
        self.assertIn(f"<!-- members -->\n{plots('members.py')}<!-- /members -->\n",
                      read("docs/results.md"),
                      "write it again: plots/members.py --into docs/results.md")

    def test_the_losses_of_closed_forms_are_those_of_the_committed_result(self):
        result = os.path.join(RESULTS, "claims", "stability.json")
        made = plots("losses.py", result)
        self.stands_in(f"<!-- losses -->\n{made}<!-- /losses -->\n", ["docs/stability.md"])

    def test_what_tells_the_loss_is_that_of_the_committed_result(self):
        results = ("clipping", "g2p", "energies", "guide", "speech")
        made = plots("predictors.py", *(os.path.join(RESULTS, "training", f"{name}.json")
                                        for name in results))
        self.stands_in(f"<!-- predictors -->\n{made}<!-- /predictors -->\n", ["docs/clipping.md"])

    def test_the_crossover_tables_are_those_of_the_committed_results(self):
        results = [os.path.join(RESULTS, name) for name in CROSSOVERS]
        there = [os.path.exists(result) for result in results]
        self.assertEqual(len(set(there)), 1, results)
        for page, options in (("results/crossover.md", ()),
                              ("docs/latency.md", ("--shares", "1"))):
            made = plots("crossover.py", *results, *options) if all(there) else ""
            self.assertIn("<!-- crossover table -->\n"
                          f"{made}<!-- end of crossover table -->\n", read(page))
            self.assertLessEqual(max(map(len, made.splitlines())), markdown.MOST_CHARACTERS)


class QuotedOutputTest(unittest.TestCase):
    """Expects that blocks of printed output are what their commands print
    (plots/page.py puts them there).
    """

    def test_the_advice_is_that_of_the_committed_result(self):
        shown = run(PROGRAM, "show", os.path.join(RESULTS, "advice.json"))
        self.assertEqual(shown, block("advise", "docs/decoder.md"))
        table = shown[shown.index("  mechanism"):shown.index("\nspeed-up: ")]
        words = block("advise", "README.md").removeprefix(table + "\n").split()
        self.assertEqual(words, shown.splitlines()[-1].split())

    def test_the_diagnosis_is_that_of_the_committed_result(self):
        self.assertEqual(run(PROGRAM, "show", os.path.join(RESULTS, "diagnosis.json")),
                         block("diagnose", "docs/stability.md"))

    def test_the_gaps_are_those_of_the_committed_results(self):
        for name in ("gap", "gap_model"):
            self.assertEqual(run(PROGRAM, "show", os.path.join(RESULTS, name + ".json")),
                             block(name, "docs/gap.md"))

    def test_the_check_is_that_of_the_committed_results(self):
        page = read("docs/comparing.md")
        (asked,) = re.findall("`(check results/.*?)` prints", page)
        done = subprocess.run([PROGRAM, *asked.split()], cwd=ROOT, capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertEqual(done.stdout, block("check", "docs/comparing.md"))

    def test_the_counts_are_those_of_the_committed_results(self):
        done = subprocess.run(
            [PROGRAM, "check", "results/compare/instructions_after.json", "--baseline",
             "results/compare/instructions_before.json"],
            cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertEqual(done.stdout, block("instructions", "docs/comparing.md"))

    def test_the_comparison_is_that_of_the_committed_results(self):
        # Exit code 1 means a cell that is SLOWER; both are good examples.
        done = subprocess.run(
            [PROGRAM, "compare", os.path.join("results", "compare", "before.json"),
             os.path.join("results", "compare", "after.json")],
            cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertEqual(done.stdout, block("compare", "docs/comparing.md"))

    def test_the_verification_is_that_of_the_committed_result(self):
        lines = block("verify", "docs/verification.md").splitlines()
        lines[-1] = re.sub(r", \d+ s$", "", lines[-1])
        self.assertEqual(
            lines, table_of_verify(json.loads(read("results/verify_mocha.json"))))

    def test_the_errors_of_kernels_are_those_of_the_committed_result(self):
        self.assertEqual(block("kernels", "docs/verification.md"),
                         read("results/kernel_errors.txt"))

    def test_what_was_measured_is_what_the_pages_say(self):
        for page, asked, result in (
            ("verification", "verify --quick", "verify_mocha"),
            ("verification", "--mechanism mocha", "verify_mocha"),
            *(("comparing", None, f"compare/{name}") for name in ("before", "after")),
        ):
            text = read(f"docs/{page}.md")
            if asked is None:
                (asked,) = re.findall(
                    rf"^build/release/(.*) -o {os.path.basename(result)}.json$", text,
                    re.MULTILINE)
            self.assertIn(asked, text)
            context = json.loads(read(f"results/{result}.json"))["context"]
            self.assertTrue(context["valid"], context["invalid_reasons"])
            for word in asked.split():
                self.assertIn(word, context["command"])


class ProgramTest(DocumentsTest):
    def test_the_axes_are_those_of_the_program(self):
        self.stands_in(run(PROGRAM, "list", "--markdown").strip(), pages())

    def test_the_published_forms_are_those_of_the_program(self):
        table = run(PROGRAM, "list", "--markdown=forms")
        self.assertIn("fairseq 0.12", table)
        self.stands_in(f"<!-- forms -->\n{table}<!-- /forms -->\n", ["docs/stability.md"])

    def test_the_commands_for_a_shape_of_ones_own_measure_it(self):
        advise, *sweeps = block("shapes", "docs/decoder.md").splitlines()
        self.assertEqual(len(sweeps), 2)
        for line in advise, *sweeps:
            # The same, small.
            _, *small = re.sub(r"-([TUd]) \S+", r"-\1 8", line).split()
            if line in sweeps:
                small = ["run-sweep", *small]
            with self.subTest(line), tempfile.TemporaryDirectory() as folder:
                small[-1] = os.path.join(folder, "r.json")
                done = subprocess.run([PROGRAM, *small, "--repetitions", "2"],
                                      capture_output=True, text=True, check=False)
                # A test's times need not be valid.
                self.assertIn(done.returncode, (0, 5) if line == advise else (0,), done.stderr)
                with open(small[-1], encoding="utf-8") as file:
                    found = file.read()
                for option, member in (("-w", "chunk_width"), ("-K", "num_contexts"),
                                       ("-B", "batch")):
                    if f" {option} " in line:
                        value = re.search(f" {option} (\\S+)", line)[1]
                        self.assertRegex(found, f'"{member}": ?{value}\\b')

    def test_the_commands_are_those_of_the_program(self):
        listed = run(PROGRAM, "--help").split("Subcommands:\n")[1]
        there = re.findall(r"^  (\S+)", listed, re.MULTILINE)
        self.assertIn("run-sweep", there)
        table = re.search(r"^\| task \|.*?\n\n", read("README.md"),
                          re.MULTILINE | re.DOTALL).group()
        said = [name for row in table.strip().splitlines()[2:]
                for name in re.findall(r"`([\w-]+)`", row.split("|")[2])]
        self.assertEqual(sorted(said), sorted(there))

    def test_the_commands_of_a_newcomer_are_those_that_ci_runs(self):
        block = read("README.md").split("## Two commands\n")[1].split("```")[1]
        scripts = [line.split()[0] for line in block.splitlines()
                   if line.startswith("scripts/")]
        self.assertEqual(scripts, ["scripts/reproduce.sh", "scripts/test.sh"])
        for script in scripts:
            self.assertTrue(os.access(os.path.join(ROOT, script), os.X_OK), script)
        self.assertIn('"$root/scripts/test.sh"', read(".ci/run"))


class LinksTest(unittest.TestCase):
    def test_every_link_leads_somewhere(self):
        for document in documents():
            text = read(document)
            folder = os.path.dirname(os.path.join(ROOT, document))
            for link in re.findall(r"\]\(([^)\s]+)\)", text):
                if re.match(r"[a-z]+:", link):
                    continue
                path, _, anchor = link.partition("#")
                with self.subTest(document=document, link=link):
                    target = os.path.join(folder, path) if path else os.path.join(
                        ROOT, document)
                    self.assertTrue(os.path.exists(target))
                    if anchor:
                        with open(target, encoding="utf-8") as file:
                            self.assertIn(anchor, anchors(file.read()))

    def test_every_page_of_docs_is_linked_from_the_readme(self):
        for page in pages()[1:]:
            self.assertIn(f"({page}", read("README.md"))

    def test_every_room_and_top_folder_stands_in_hacking(self):
        rows = [line.split("|")[1] for line in read("HACKING.md").splitlines()
                if line.startswith("| `")]
        named = {name.rstrip("/") for row in rows for name in re.findall(r"`([^`]+/)`", row)}
        folders = {entry.name for entry in os.scandir(ROOT)
                   if entry.is_dir() and not entry.name.startswith(".")}
        rooms = {f"harness/{entry.name}" for entry in os.scandir(os.path.join(ROOT, "harness"))
                 if entry.is_dir()}
        self.assertLessEqual(folders - {"build", "out"} | rooms, named)
        for name in named:
            self.assertTrue(any(os.path.isdir(os.path.join(ROOT, place, name))
                                for place in ("", "mechanisms", "scripts", "tests")), name)


if __name__ == "__main__":
    unittest.main()
