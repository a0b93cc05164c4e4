"""A comparison (comparison.py) for people, for a pull request, and for CI."""

import collections
import math
import re
from xml.etree import ElementTree

from attnbench.analysis import command, load
from attnbench.answers import change, comparison, match

SUITE = "attnbench compare"


def text(document):
    """First validity, warnings, setups and changes of other things than times, then a line
    a cell.
    """
    names = names_in(document)
    lines = head_lines(document, names)
    if document["rows"]:
        lines.append(_columns("verdict", "change", "interval", "B / A") + "cell: reason")
    for row in document["rows"]:
        lines.append(_columns(row["verdict"], *_factors(row))
                     + f"{names.of(row)}: {row['reason']}")
    return "".join(f"{line}\n" for line in lines + foot_lines(document, names))


def _columns(verdict, ratio, interval, alone):
    return f"{verdict:<10}{ratio:>7} {interval:<16} {alone:>7} "


def _factors(row):
    return (factor_text(row["ratio"]), span_text(row["interval"]),
            factor_text(row["b_ns"] / row["a_ns"]))


def names_in(document):
    return match.Names(row for name in ("rows", "untimed", "changes", "only_a", "only_b")
                       for row in document[name])


def head_lines(document, names):
    """What stands above the table."""
    lines = []
    for side in (document["a"], document["b"]):
        lines += [f"INVALID: {side['path']}: {reason}" for reason in side["invalid_reasons"]]
        lines += [f"warning: {side['path']}: {warning}" for warning in side["warnings"]]
    lines += [f"differs: {one['field']}: {_both(one, ' and ')}"
              for one in document["differences"]]
    lines += [f"changed: {names.of(one)}: {one['field']} {_both(one, ' -> ')}"
              for one in document["changes"]]
    return lines + [common_text(document)] * bool(document["rows"])


def _both(one, between):
    return load.json_text(one["a"]) + between + load.json_text(one["b"])


def common_text(document):
    if not document["relative"]:
        return (f"fewer than {comparison.LEAST_COMMON} cells: they cannot be divided by what "
                "they have in common, so each ratio has in it what the machine did")
    whose = "all of the code" if document["paired"] else "the machine, or all of the code"
    return (f"all together B takes {factor_text(document['common_ratio'])} "
            f"{span_text(document['common_interval'])} times as long as A: {whose}; each "
            "change is beside that")


def foot_lines(document, names):
    """What stands below the table."""
    lines = [f"no time: {names.of(one)}: {one['a_status']} in A, {one['b_status']} in B"
             for one in document["untimed"]]
    for side in "ab":
        lines += [f"only in {side.upper()}: {names.of(one)}"
                  for one in document[f"only_{side}"]]
    if document["placement"] is not None:
        lines.append(
            f"where a side is one build, no change below "
            f"{change.percent_of(document['placement'])} can be told from another placement "
            "of the code")
    return [*lines, _summary(document), _sight(document)]


def _summary(document):
    found = collections.Counter(row["verdict"] for row in document["rows"])
    counts = ", ".join(f"{found[kind]} {kind}" for kind in change.KINDS)
    return (f"{counts}; at most {document['level']:g} for any false FASTER or SLOWER among "
            f"{document['comparisons']}, margin {change.percent(document['margin'])}")


def _sight(document):
    """Says what could have been found, so that nobody takes AMBIGUOUS for sameness."""
    found = sorted(row["detectable"] for row in document["rows"]
                   if row["detectable"] is not None)
    if not found:
        return "it could have found no change of a time"
    none = len(document["rows"]) - len(found)
    least, most = map(change.percent_of, (found[0], found[-1]))
    more = f" to {most}, by cell" if most != least else ""
    blind = f"; none in {command.counted(none, 'cell')}" if none else ""
    return f"the smallest change that it could have found: {least}{more}{blind}"


def factor_text(factor):
    """Three decimals, or three digits where that would be 0.000 or longer than a column."""
    if factor == 0 or 0.0005 <= factor < 99_999.9995:
        return f"{factor:.3f}"
    return "over 1e308" if math.isinf(factor) else f"{factor:.3g}"


def span_text(interval):
    return "[{}, {}]".format(*map(factor_text, interval)) if interval else "[none]"


# ---- for a pull request -----------------------------------------------------


def markdown(document):
    """The same lines as lists, and a table of the rows that matter: what is FASTER or
    SLOWER, or was measured so, by more than the margin. The others are counted.
    """
    names, margin = names_in(document), 1 + document["margin"]
    left = collections.Counter()
    shown = []
    for row in document["rows"]:
        is_near = row["interval"] and 1 / margin <= row["ratio"] <= margin
        if row["verdict"] == change.SAME or row["verdict"] == change.AMBIGUOUS and is_near:
            left[row["verdict"]] += 1
        else:
            shown.append(row)
    lines = [f"- {words(line)}" for line in head_lines(document, names)]
    if shown:
        lines += ["", "| cell | verdict | change | interval | B / A | reason |",
                  "| --- | --- | ---: | --- | ---: | --- |"]
    for row in shown:
        cells = (words(names.of(row)), row["verdict"], *_factors(row), words(row["reason"]))
        lines.append(f"| {' | '.join(cells)} |")
    lines.append("")
    if left[change.SAME]:
        lines.append(f"- not shown: {left[change.SAME]} SAME")
    if left[change.AMBIGUOUS]:
        lines.append(f"- not shown: {left[change.AMBIGUOUS]} AMBIGUOUS whose ratio lies within "
                     "the margin; their intervals reach beyond it, so nobody knows")
    lines += [f"- {words(line)}" for line in foot_lines(document, names)]
    return "".join(f"{line}\n" for line in lines)


# "[0.9, 1.1]" alone is no link, "_" inside a word no emphasis; "1." begins a list.
_MARKUP = re.compile(r"^([0-9]+)(?=[.)])|[\\`*~|]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"
                     r"|\](?=[(\[])|^[#+\-=\[]")
_INSTEAD = str.maketrans({"\n": " ", "\r": " ", "&": "&amp;", "<": "&lt;", ">": "&gt;",
                          "$": "&#36;"})  # GitHub ignores \$


def words(told):
    """A text as words of Markdown as GitHub reads it, in a cell of a table or an item of a
    list: nothing in it becomes a bar, a tag, code, emphasis, mathematics or a link.
    """
    escaped = _MARKUP.sub(
        lambda found: f"{found[1]}\\" if found[1] else f"\\{found[0]}", told)
    return escaped.translate(_INSTEAD)


# ---- for CI -----------------------------------------------------------------


def junit(document):
    """A report of tests (JUnit's, as Jenkins and GitLab take it): a case for each cell and
    each change, a property for each difference of the setups and each warning, and the
    lines around the table as the suite's output. A case is a failure or an error if and
    only if the exit code is not 0. What is AMBIGUOUS or has no time is skipped.
    """
    names = names_in(document)
    cases = list(_cases(document, names))
    outcomes = collections.Counter(outcome for _, outcome, _ in cases)
    root = ElementTree.Element("testsuites")
    suite = _add(root, "testsuite", name=SUITE, tests=len(cases), failures=outcomes["failure"],
                 errors=outcomes["error"], skipped=outcomes["skipped"])
    properties = [(f"differs: {one['field']}", _both(one, " and "))
                  for one in document["differences"]]
    properties += [(f"warning: {side['path']}", warning)
                   for side in (document["a"], document["b"]) for warning in side["warnings"]]
    if properties:
        inner = _add(suite, "properties")
        for name, value in properties:
            _add(inner, "property", name=name, value=value)
    for name, outcome, message in cases:
        case = _add(suite, "testcase", classname=SUITE, name=name)
        if outcome != "passed":
            _add(case, outcome, message=message)
        elif message:
            _add(case, "system-out").text = _held(message)
    lines = head_lines(document, names) + foot_lines(document, names)
    _add(suite, "system-out").text = "".join(f"{_held(line)}\n" for line in lines)
    ElementTree.indent(root)
    made = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{made}\n'


def _add(parent, tag, **attributes):
    return ElementTree.SubElement(
        parent, tag, {name: _held(str(value)) for name, value in attributes.items()})


def _held(told):
    """A line without what XML cannot hold, or a terminal should not show."""
    return re.sub("[\x00-\x1f\x7f-\x9f\ufffe\uffff]", "?", told)


def _cases(document, names):
    """(name, outcome, message)"""
    for side in (document["a"], document["b"]):
        if not side["valid"]:
            yield f"valid: {side['path']}", "error", "; ".join(side["invalid_reasons"])
    if not comparison.has_intervals(document):
        yield "times", "error", "none could be compared"
    if comparison.are_all_slower(document):
        yield "all together", "failure", common_text(document)
    for row in document["rows"]:
        outcome = {change.SLOWER: "failure", change.AMBIGUOUS: "skipped"}.get(
            row["verdict"], "passed")
        yield names.of(row), outcome, (
            f"{row['verdict']}: {factor_text(row['ratio'])} {span_text(row['interval'])}: "
            f"{row['reason']}")
    for one in document["changes"]:
        yield (f"{names.of(one)}: {one['field']}",
               "failure" if comparison.is_worse(one) else "passed", _both(one, " -> "))
    for one in document["untimed"]:
        yield (names.of(one), "failure" if comparison.has_failed(one) else "skipped",
               f"no time: {one['a_status']} in A, {one['b_status']} in B")
    for side in "ab":
        for one in document[f"only_{side}"]:
            yield names.of(one), "error", f"only in {side.upper()}"
