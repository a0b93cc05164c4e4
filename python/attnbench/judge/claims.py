"""Judges measurements by a ledger and writes down every claim with its verdict.

`attnbench claims` measures and then runs this, with a request: a file that says which
ledger, which of its claims, and where the documents of its measurements are
(results/schema/judge_request.schema.json). It writes a result of kind "claims"
(results/schema/claims.schema.json), and prints it as a table, or as JSON.
"""

import json
import sys

from attnbench.analysis import claims_result, command, load, published, whole_file
from attnbench.judge import ledger, quantities, readings, verdicts
from attnbench.judge.readings import Document
from attnbench.analysis.words import validity_text


def main(arguments=None):
    parser = command.parser("judge.py", __doc__)
    parser.add_argument("request", metavar="REQUEST", nargs="?")
    parser.add_argument(
        "--ready", action="store_true",
        help="REQUEST is a ledger: only say whether it can be judged by, exit 0",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="e.g. -o claims.json")
    parser.add_argument("--force", action="store_true", help="replace the output file")
    parser.add_argument("--json", action="store_true", help="print the result itself")
    options = parser.parse_args(arguments)
    if options.request is None:
        parser.error("REQUEST is missing")
    try:
        if options.ready:
            ledger.read(options.request)
            published.papers()
            return 0
        document = result(*read_request(options.request))
        if options.output is not None:
            text_of_file = load.document_text(document).encode()
            whole_file.write(options.output, text_of_file, options.force)
    except load.DataError as error:
        return command.fail(error)
    except FileExistsError:
        return command.fail(f"{options.output}: is there already; --force replaces it")
    except OSError as error:
        return command.fail(f"{options.output}: cannot be written: {error.strerror}")
    sys.stdout.write(
        load.json_text(document) + "\n"
        if options.json
        else command.printable(text(document))
    )
    return 0


# ---- what is judged ---------------------------------------------------------


def read_request(path):
    """What `result` takes."""
    request = load.read_json(path)
    load.check_schema(request, "judge_request", path)
    asked = ledger.read(request["ledger"])
    wanted = request["claims"]
    claims = [one for one in asked["claims"] if not wanted or one["id"] in wanted]
    documents = {
        name: read_document(name, asked["measurements"][name], **measured)
        for name, measured in request["measurements"].items()
    }
    # A folder that a quick run has left can be judged again.
    is_quick = request["quick"] or any(map(_is_of_quick_run, documents.values()))
    full = claims_result.verdicts_of(claims) if is_quick else None
    return claims, documents, request["context"], full


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
