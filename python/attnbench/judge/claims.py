"""`attnbench claims`: measures what the papers claim, and says of each claim whether it
holds here, by the rules of the ledger.

It writes a result of kind "claims" (results/schema/claims.schema.json), and prints it as
a table, or as JSON. attnbench claims --help says what the options do.
"""

import json
import os
import sys

from attnbench.analysis import ROOT, claims_result, command, load, published, whole_file
from attnbench.analysis.words import validity_text
from attnbench.judge import ledger, measure, quantities, readings, verdicts
from attnbench.judge.readings import Document

LEDGER = os.path.join(ROOT, "experiments", "claims.json")


def main(arguments=None):
    options = parse(arguments)
    hint = "; --resume goes on" * (options.results is not None)
    return measure.exit_code_of("claims", lambda: run(options), hint)


def parse(arguments):
    parser = command.parser("attnbench claims", __doc__)
    parser.add_argument("claims", nargs="*", metavar="CLAIM")
    for name in ("--list", "--quick", "--json", "--force", "--resume", "--judge"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("-o", "--output", metavar="FILE")
    parser.add_argument("--results", metavar="FOLDER")
    parser.add_argument("--builds", metavar="N")
    parser.add_argument("--eigen", metavar="DIR", action="append", default=[])
    parser.add_argument("--ledger", metavar="FILE", default=LEDGER)
    return parser.parse_args(arguments)


def run(options):
    asked = ledger.read(options.ledger)
    keep(options.claims, asked)
    if options.list:
        for claim in asked["claims"]:
            text_of_it = f"{claim['id']} ({claim['source']})\n  {claim['claim']}\n"
            sys.stdout.write(command.printable(text_of_it))
        return 0
    published.papers()
    may_replace = options.force or options.resume
    with measure.temporary_folder() as temporary:
        processes = measure.Processes()
        measurer = measure.Measurer(asked, options.results or temporary, options, processes)
        if options.output is not None:
            # Without --results no measurement is read here.
            read = map(measurer.path, asked["measurements"]) if options.results else ()
            whole_file.check(options.output, (options.ledger, *read), may_replace)
        # What cannot be measured must show before hours of measuring.
        measurer.check()
        make_folder(options)
        context = measurer.context()
        documents = dict(documents_of(measurer, asked, options))
        # A folder that a quick run has left can be judged again.
        is_quick = options.quick or any(map(_is_of_quick_run, documents.values()))
        full = claims_result.verdicts_of(asked["claims"]) if is_quick else None
        deliver(result(asked["claims"], documents, context, full), options)
    return 0


def keep(ids, asked):
    """Keeps the claims of these ids, in the ledger's order; all where there are none."""
    known = [claim["id"] for claim in asked["claims"]]
    for name in ids:
        if name not in known:
            raise load.DataError("claims", command.unknown("claim", name, known))
    asked["claims"] = [claim for claim in asked["claims"] if not ids or claim["id"] in ids]


def make_folder(options):
    if options.results is None:
        return
    if options.judge:
        if not os.path.isdir(options.results):
            raise load.DataError(options.results, "is no folder of an earlier run")
        return
    try:
        os.makedirs(options.results, exist_ok=True)
    except OSError as error:
        raise load.DataError(options.results, f"cannot be made: {error.strerror}") from error


def documents_of(measurer, asked, options):
    """(name, Document) of what the claims read. Results of training are stored in the
    project, and never made here.
    """
    names, has_other = measure.names_of(asked), []
    for number, name in enumerate(names, 1):
        measurement, path = asked["measurements"][name], measurer.path(name)
        is_trained = measurement["kind"] == "trained"
        if is_trained:
            path = measure.seen_from_here(
                "results", "training", f"{measurement['experiment']}.json")
        if not options.judge:
            measure.tell(f"measurement {number} of {len(names)}, {name}")
            if not is_trained:
                measurer.make(name)
        # What cannot be read, such as a loop of links, is there.
        is_there = os.path.lexists(path)
        if not is_trained:
            has_other.append(is_there)
        if not is_there:
            none = "no training result" if is_trained else f"{path} is not there"
            yield name, read_document(name, measurement, None, None, none)
            continue
        is_kept = is_trained or options.results is not None
        yield name, read_document(name, measurement, path, path if is_kept else None, None)
        if options.judge and measurement["kind"] == "sweep":
            measurer.require_cells(name)
    if has_other and not any(has_other):
        raise load.DataError(options.results, "has no measurement that these claims read")


def deliver(document, options):
    """Writes and prints the result."""
    if options.output is not None:
        measure.write_document(options.output, document, options.force or options.resume)
    sys.stdout.write(
        load.json_text(document) + "\n"
        if options.json
        else command.printable(text(document))
    )


# ---- what is judged ---------------------------------------------------------


def read_document(name, measurement, path, file, none):
    """The Document of a measurement, whose content must be of its kind."""
    if path is None:
        is_trained = measurement["kind"] == "trained"
        waits_for = f"trained results of {measurement['experiment']}" if is_trained else ""
        return Document(name, None, None, none, waits_for)
    content = load.read(path, measurement["kind"])
    if measurement["kind"] == "sweep":
        load.require_some(content, "cells", path)
    return Document(name, file, content)


def _is_of_quick_run(document):
    return document.content is not None and (
        "--quick" in document.content["context"]["command"].split()
    )


# ---- the result -------------------------------------------------------------


def result(claims, documents, context, full=None):
    """A result of kind "claims". Its context becomes invalid with every measurement
    that is. A quick run gives `full`, the verdicts of the full one by their claims.
    """
    tables = readings.published_tables(published.papers())
    return {
        "schema_version": load.SCHEMA_VERSION,
        "kind": "claims",
        "quick": full is not None,
        "context": _joint_context(claims, documents, context),
        "claims": [_claim(claim, documents, tables, full) for claim in claims],
    }


def _claim(claim, documents, tables, full):
    parts, remedy = claim["parts"], "" if full is None else verdicts.QUICK_REMEDY
    judged = [
        verdicts.judge_part(
            part,
            quantities.read(part, documents[part["quantity"]["from"]], tables),
            remedy,
        )
        for part in parts
    ]
    own = [pair for pair in zip(parts, judged) if pair[0]["role"] != "beside"]
    bounds = (f"{part['name']}: {ledger.rule_text(part['rule'])}" for part, _ in own)
    verdict = verdicts.judge_claim(claim, judged, remedy)
    if full is not None and claim["id"] in full:
        verdict = verdicts.as_a_quick_run(verdict, full[claim["id"]])
    is_explained = verdict.kind in verdicts.EXPLAINED
    return {
        "id": claim["id"],
        "kind": claim["kind"],
        "source": claim["source"],
        "claim": claim["claim"],
        "measured": [_part(*pair) for pair in zip(parts, judged)],
        "bound": "; ".join(bounds),
        "verdict": str(verdict),
        "because": claim.get("because") if is_explained else None,
        "evidence": _evidence([one for _, one in own]),
    }


def _part(part, judged):
    return {
        "name": part["name"],
        "role": part["role"],
        "unit": part["unit"],
        "rule": part.get("rule"),
        "verdict": str(judged.verdict),
        "groups": [
            {
                "labels": group.labels,
                "verdict": group.state,
                "why": group.why or None,
                "readings": group.num_readings,
                "least": _reading(group.least),
                "greatest": _reading(group.greatest),
            }
            for group in judged.groups
        ],
    }


def _reading(one):
    made = {
        "value": readings.number_json(one.value),
        "interval": one.interval and [readings.number_json(end) for end in one.interval],
        "labels": {name: value for name, value in one.labels.items() if value is not None},
    }
    if one.least_effect is not None:
        made["seeds"] = [readings.number_json(value) for value in one.seeds]
        made["least_effect"] = readings.number_json(one.least_effect)
    return made


def _evidence(judged):
    """Tells where the least and the greatest readings stand, each place once."""
    places = {}
    for one in judged:
        for group in one.groups:
            for entry in group.least.evidence + group.greatest.evidence:
                places.setdefault(json.dumps(entry), entry)
    return list(places.values())


def _joint_context(claims, documents, context):
    """Times that mean nothing in one measurement mean nothing in the ledger, but for a
    sweep of which only counts are read.
    """
    reasons, warnings = list(context["invalid_reasons"]), list(context["warnings"])
    for name, document in sorted(documents.items()):
        if document.content is None:
            continue
        own = document.content["context"]
        if document.content["kind"] == "sweep" and not _reads_times(claims, document):
            continue
        reasons += [f"{name}: {reason}" for reason in own["invalid_reasons"]]
        warnings += own["warnings"]
    return {
        **context,
        "valid": context["valid"] and not reasons,
        "invalid_reasons": reasons,
        "warnings": list(dict.fromkeys(warnings)),
    }


def _reads_times(claims, document):
    parts = [part for claim in claims for part in claim["parts"]]
    return any(
        quantities.is_timed(part["quantity"], document.content)
        for part in parts
        if part["quantity"]["from"] == document.measurement
    )


# ---- for people -------------------------------------------------------------


def text(document):
    """The document as a table: a claim with its verdict, and a line for each part."""
    lines = []
    for claim in document["claims"]:
        verdict = claim["verdict"]
        lines.append(f"{claim['id']:<23} {verdict}")
        lines.append(f"  {claim['claim']} ({claim['source']})")
        if claim["because"] is not None:
            lines.append(f"  Why: {claim['because']}")
        lines += [_part_line(part, verdict) for part in claim["measured"]]
    context = document["context"]
    lines += [claims_result.summary(document["claims"]), validity_text(context)]
    lines += [f"  warning: {warning}" for warning in context["warnings"]]
    lines += [claims_result.QUICK_RUN] * document["quick"]
    return "\n".join(lines) + "\n"


def _part_line(part, verdict_of_claim):
    beside = "beside: " if part["role"] == "beside" else ""
    line = f"    {beside}{part['name']}: {_figure_text(part['groups'])} {part['unit']}"
    if part["rule"] is None:
        return line
    verdict = _shortened(part["verdict"], verdict_of_claim)
    return f"{line}; {ledger.rule_text(part['rule'])}: {verdict}"


def _shortened(verdict, of_claim):
    """Leaves out the reason where the claim's own verdict ends in it."""
    kind, _, why = verdict.partition(": ")
    says_why = kind in (verdicts.UNDECIDED, verdicts.NOT_MEASURABLE)
    is_said = says_why and of_claim.endswith(why)
    return kind if is_said else verdict


def _figure_text(groups):
    """The least and the greatest of all groups."""
    ends = claims_result.ends(groups)
    if ends is None:
        return "-"
    low, high = map(_reading_text, ends)
    return low if low == high else f"{low} .. {high}"


def _reading_text(one):
    return claims_result.reading_text(one, lambda value: f"{readings.number(value):.3g}")
