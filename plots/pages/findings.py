"""Writes FINDINGS.md: which mechanism to use when, what is new, and which claims of the
papers failed or were confirmed.

example:
  plots/findings.py -o FINDINGS.md

It is made of the committed results (results/) and of the ledger. What is wrong with one
is one line on stderr, exit code 2, and no page.
"""

from attnbench.analysis import (
    claims_result,
    command,
    intervals,
    load,
    names,
    pairing,
    series,
    settings,
    trained,
    whole_decoders,
    whole_file,
    words,
)
from attnbench.judge import verdicts
from pages import claim_words, markdown, new_findings, trained_table

# Whole decoders as rows, by settings.label, with the task that each is for.
STREAMS, WHOLE = "the input streams in", "the whole input is there"
POLICY = f"alignatt, f = {new_findings.F}"  # it has a result of its own
DECODERS = {
    "monotonic": STREAMS,
    "mocha, w = 4": STREAMS,
    POLICY: f"{STREAMS}, soft attention stays",
    "memory, K = 32": WHOLE,
    "none": "(no attention: the most to gain)",
}
# Task -> its result, and of each mechanism the alternative that is trained with noise.
TASKS = {
    "letters to phones": ("g2p", {
        "soft": "soft", "monotonic": "monotonic", "mocha": "mocha_w4", "matcha": "matcha"}),
    "spoken phones": ("speech", {
        "soft": "soft", "monotonic": "monotonic", "mocha": "mocha_w4", "matcha": "matcha"}),
    "symbols held for frames, in order": ("stretch", {
        "soft": "soft", "monotonic": "noise1", "mocha": "mocha", "matcha": "matcha"}),
    "neighbours swapped": ("reorder", {
        "soft": "soft", "monotonic": "monotonic", "mocha": "mocha_w4", "matcha": "matcha"}),
    "in reverse": ("reversal", {
        "soft": "soft", "monotonic": "monotonic", "mocha": "mocha"}),
    "20 symbols copied": ("copy", {"soft": "soft_L20", "memory": "K32_L20"}),
    "40 symbols copied": ("copy", {"soft": "soft_L40", "memory": "K32_L40"}),
}
FAILED = "What failed"
# Heading -> the verdicts under it, and what it says first.
SECTIONS = {
    FAILED: (
        (verdicts.REFUTED, verdicts.NOT_REPRODUCED),
        "`attnbench claims NAME` measures a claim again; its name leads to the paper's figures "
        "beside ours. Ranges are over all that was measured.",
    ),
    "What holds only in part": (
        (verdicts.HOLDS_ONLY_IF, verdicts.DEPENDS),
        "The text says under which conditions, or in which reading of the paper.",
    ),
    "What was confirmed": (
        (verdicts.HOLDS,),
        "These hold by the numbers that decide them; each name leads to them, and to what stands "
        "beside.",
    ),
}


def lines():
    result = claims_result.read(claims_result.FULL)
    return [
        "# Findings",
        "",
        "This is what we found when we ran three papers on attention that decodes online and in "
        "linear time. `plots/findings.py -o FINDINGS.md` writes it from [results](results); do "
        "not edit it. The [README](README.md#mechanisms) explains the "
        "mechanisms. Brackets are 95 % intervals, of claims 90 % ones, and \"times as fast\" is "
        "soft attention's time over the other's.",
        "",
        *_speed(),
        *_errors(),
        *new_findings.lines(),
        *_claims(result),
    ]


# ---- what to use when -------------------------------------------------------


def _speed():
    cells, of_policy = (load.load(load.committed(*name))
                        for name in (("claims", "decoder"), ("alignatt",)))
    early = [(cell, pair) for cell, pair in _pairs(of_policy) if settings.label(cell) == POLICY]
    by_label = {}  # label -> (length, beam) -> pair
    for cell, pair in [*_pairs(cells), *early]:
        of_label = by_label.setdefault(settings.label(cell), {})
        of_label[cell["memory_length"], cell["beam"]] = pair
    beams = sorted(set(cells["beam"]), reverse=True)
    head = ["task", "use", "symbols"]
    for beam in beams:
        search = f"beam {beam}" if beam > 1 else "greedy"
        head += [f"attention, {search}", f"decoder, {search}"]
    rows = []
    for label, task in DECODERS.items():
        lengths = sorted({length for length, _ in by_label[label]})
        for length in lengths[::len(lengths) - 1]:
            texts = [text for beam in beams for text in map(
                _gain_text, by_label[label].get((length, beam), (None, None)))]
            first = length == lengths[0]
            rows.append([task if first else "", names.label(label) if first else "",
                         str(length), *texts])
    context = markdown.text(words.context_text(cells.attrs["context"]))
    invalid = markdown.text(words.invalid_text(of_policy.attrs["context"]))
    lag = max(cell["latency"]["dal"] for cell, _ in early)
    return [
        "## What to use when",
        "",
        "First, the time: how many times as fast as with soft attention are the attention "
        "in a decoder and the whole decoder? It is the decoder of Britz, with random "
        f"weights ({_shape(cells)}). Gains that their intervals show are bold; if none is "
        "in your row, we could not show that soft attention costs you time.",
        "",
        *markdown.table(head, rows),
        "",
        f"{invalid}With [AlignAtt](docs/latency.md#soft-attention-before-its-input-has-ended) "
        "([another run](results/alignatt.json)) "
        f"outputs are {lag:.1f} entries late ([DAL](docs/latency.md#what-is-measured)). "
        "[Figure](results/figures/britz_table1.png), [all lengths and K](docs/decoder.md). "
        f"{context} Your own shape: `attnbench advise -T 400 -U 60 -d 512 --beam 8`.",
        "",
    ]


def _shape(cells):
    (setting,) = whole_decoders.settings_of(cells)
    shape = dict(zip(whole_decoders.SETTING, setting))
    encoder = "encoder timed" if shape["encoder"] == "timed" else "encoder not timed"
    return (f"{shape['layers']} LSTM layers of {shape['dim']} units, {encoder}, scans of "
            "the whole memory")


def _pairs(cells):
    """Each whole decoder with (speed-up of its attention, of the whole), None where there
    is none or its scans did not read what those of trained weights do.
    """
    rows = whole_decoders.with_ratios(cells)
    soft = {cell["point"]: cell for cell in rows
            if cell["mechanism"] == pairing.BASELINE}
    for cell in rows:
        if not cell["ratio"] or not whole_decoders.is_as_trained(cell):
            yield cell, (None, None)
            continue
        base, own = map(whole_decoders.attention, (soft[cell["point"]], cell))
        alone = series.ratio(base, own).at().exp() if own["samples_ns"] else None
        yield cell, (alone, series.ratio(soft[cell["point"]], cell).at().exp())


def _gain_text(span):
    if span is None:
        return markdown.NONE
    value, low, high = map(words.ratio_text, (span.value, span.low, span.high))
    text = f"{value} [{low}, {high}]"
    return f"**{text}**" if span.low > 1 else text


def _errors():
    documents = {name: load.read(load.committed("training", name), "trained")
                 for name in sorted({name for name, _ in TASKS.values()})}
    runs = {name: trained.Runs(document) for name, document in documents.items()}
    invalid = words.invalid_text(*(one["context"] for one in documents.values()))
    chosen = {}  # mechanism -> settings, of the first task that has it
    for name, alternatives in TASKS.values():
        for mechanism, alternative in alternatives.items():
            chosen.setdefault(mechanism, runs[name].settings(alternative))
    rows = [
        [label, *(_error_text(runs[name], alternatives.get(mechanism),
                              _seeds(runs[name], alternatives.values()))
                  for name, alternatives in TASKS.values())]
        for mechanism, label in names.runs(chosen).items()
    ]
    return [
        f"{markdown.text(invalid)}Second, the error: percent of symbols a small model "
        "decodes wrongly, of [English words](docs/corpora.md), [spoken phones]"
        "(docs/speech.md) and made tasks. Phones are of four synthetic speakers, half of the "
        "sentences of one whom training has not heard. "
        "Means over seeds (of phones, common ones); "
        f"with fewer than {intervals.FEWEST_SEEDS}, each seed's.",
        "",
        *markdown.table(("mechanism", *TASKS), rows),
        "",
        "[Figure](results/figures/hard_errors.png), [all alternatives](docs/trained.md), "
        "[training](docs/training.md).",
        "",
    ]


def _seeds(runs, alternatives):
    """Those that all alternatives have, where seeds hold out different speakers; else None."""
    folders = {folder for name in alternatives for folder in runs.data(name)}
    return runs.seeds(*alternatives) if len(folders) > 1 else None


def _error_text(runs, name, seeds):
    values = None if name is None else runs.values(name, "decoded", seeds)
    return trained_table.values_text(values, "decoded", 2)


# ---- the claims of the papers -----------------------------------------------


def _claims(result):
    """A list for each heading. Identities that hold are named together."""
    claims, invalid = result["claims"], markdown.text(words.invalid_text(result["context"]))
    identities = [claim for claim in claims if claim["kind"] == "identity"
                  and claims_result.kind(claim["verdict"]) == verdicts.HOLDS]
    shown = []
    for heading, (kinds, introduction) in SECTIONS.items():
        found = [claim for claim in claims if claim not in identities
                 and claims_result.kind(claim["verdict"]) in kinds]
        shown += [f"## {heading}", "", invalid + introduction, "", *claim_texts(found), ""]
    listed = {kind for kinds, _ in SECTIONS.values() for kind in kinds}
    still_open = [claim for claim in claims
                  if claims_result.kind(claim["verdict"]) not in listed]
    return [
        *shown,
        f"Beside these hold {len(identities)} that follow from definitions: "
        + ", ".join(map(_link, identities)) + ".",
        "",
        f"{len(still_open)} more claims have no verdict yet "
        f"({claims_result.counts(still_open)}): [why](REPRODUCTION.md#claims).",
    ]


def claim_texts(claims):
    """An item for each reason that claims came out so; without a reason, for each claim."""
    by_reason = {}
    for claim in claims:
        by_reason.setdefault(claim["because"] or claim["id"], []).append(claim)
    return ["- " + " ".join([*map(_claim_text, same),
                             *([markdown.text(reason)] if same[0]["because"] else [])])
            for reason, same in by_reason.items()]


def _claim_text(claim):
    """Of one that failed, with the first part that did. A range over settings for some of
    which a claim holds would tell nothing, and what one that holds measured its link says.
    """
    told = f"{_link(claim)}: {markdown.text(claim['claim'])}"
    if claims_result.kind(claim["verdict"]) not in SECTIONS[FAILED][0]:
        return told
    part = next(part for part in claims_result.own_parts(claim)
                if part["verdict"].startswith(verdicts.FAILS))
    return told + markdown.text(f" ({part['name']}: {_range_text(part)}; claimed "
                                f"{claim_words.rule_text(part['rule'])})")


def _range_text(part):
    """The least and the greatest reading; of one reading also its interval."""
    ends = claims_result.ends(part["groups"])
    low, high = (claim_words.number_text(end["value"]) for end in ends)
    return claim_words.reading_text(ends[0]) if low == high else f"{low} to {high}"


def _link(claim):
    paper = claim["source"].split()[0].lower()
    return f"[{claim['id']}](results/{paper}.md#{markdown.anchor(claim['id'])})"


# ---- command line -----------------------------------------------------------


def main(arguments=None):
    parser = command.parser("findings.py", __doc__)
    parser.add_argument("-o", "--output", metavar="FILE", required=True,
                        help="e.g. -o FINDINGS.md")
    output = parser.parse_args(arguments).output
    try:
        text = markdown.page(lines())
        why = whole_file.refusal(output, [claims_result.FULL])
        if why:
            return command.fail(f"{output}: {why}", parser.prog)
        whole_file.write(output, text.encode(errors="replace"))
    except load.DataError as error:
        return command.fail(error, parser.prog)
    except OSError as error:
        return command.fail(
            f"{output}: cannot be written: {error.strerror}", parser.prog)
    return 0
