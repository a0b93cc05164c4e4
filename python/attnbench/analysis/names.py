"""The names that readers see: mechanisms as the papers call them, and toolkits in full.

The program and its results have short names ("mocha", "fsq_op"); figures and pages take
what stands for them from here.
"""

import re

MECHANISMS = {
    "none": "no attention",
    "soft": "soft",
    "monotonic": "monotonic",
    "mocha": "MoChA",
    "matcha": "MAtChA",
    "memory": "fixed-size memory",
    "alignatt": "AlignAtt",
}


# Preset or variant of alpha -> the toolkit or paper that it stands for, in full, as
# `attnbench list` has it; figures are drawn without the program.
FORMS = {
    "mad2017": "MAD",
    "tf": "TensorFlow",
    "nsp": "neural_sp",
    "nsp_no_denominator": "neural_sp, no_denom",
    "fsq": "fairseq 0.10",
    "fsq_op": "fairseq 0.12",
    "jmin": "MoChA-pytorch",
    "denominator_one": "MAD, denominator 1",
    "triangular": "EMMA",
}
# (mechanism, variant) -> whose algorithm it is.
VARIANTS = {
    ("monotonic", "parallel"): "closed form, denominator not clipped",
    ("mocha", "nested"): "MoChA, eq 17",
    ("mocha", "moving_sum"): "MoChA, eqs 19 and 25",
    ("mocha", "clipped"): "MoChA, authors' notebook",
    ("matcha", "nested"): "MAtChA, eq 28",
    ("matcha", "partial_sums"): "MAtChA, eqs 40 to 43",
    ("matcha", "pairs"): "MAtChA, pair by pair, ours",
}
# Variants that differ in who wrote the decoder.
BUILDS = {"exact": "ours", "published_O0": "Eigen, -O0", "published_O3": "Eigen, -O3"}


def mechanism(name):
    return MECHANISMS.get(name, name)


def label(text):
    """Gives settings.label with the papers' name, 'MoChA, w = 4', or several, by '; '."""
    return "; ".join(re.sub(r"^\w+", lambda found: mechanism(found[0]), part)
                     for part in text.split("; "))


def form(mechanism_name, variant, preset=None):
    """Names an algorithm of an expectation: that of a toolkit, of a paper, or ours."""
    if variant == "exact" and not preset:
        return f"{mechanism(mechanism_name)}, ours"
    known = FORMS.get(preset or variant) or VARIANTS.get((mechanism_name, variant))
    return known or f"{mechanism(mechanism_name)}, {preset or variant}"


# ---- trained models -----------------------------------------------------------

TASKS = {
    "stretch": "symbols held for frames",
    "copy": "copying",
    "reorder": "reordering",
    "reversal": "reversal",
    "folder": "own data",
}
# Where the folders of corpora.py begin.
CORPORA = {"build/corpora/g2p": "letters to phones", "build/corpora/speech-": "spoken phones"}


def _noise(settings):
    if not settings["noise"]:
        return "no noise"
    how = "noise rising to" if settings.get("noise_rise") else "noise"
    return f"{how} {settings['noise']:g}"


# What tells runs apart -> how.
_SETTINGS = {
    ("task",): lambda of: TASKS.get(of["task"], of["task"]),
    ("chunk_width",): lambda of: f"w = {of['chunk_width']}",
    ("num_contexts",): lambda of: f"K = {of['num_contexts']}",
    ("noise", "noise_rise"): _noise,
    ("encoder_units",): lambda of: f"encoder of {of['encoder_units']} units",
    ("energy",): lambda of: "energy of MAD eq 15" if of["energy"] == "additive" else "",
    ("energy_bias",): lambda of: (
        "" if of.get("energy") == "additive" else f"r from {of['energy_bias']:g}"),
    ("energy_units",): lambda of: f"energies of {of['energy_units']} units",
    ("most_symbols",): lambda of: f"L = {of['most_symbols']}",
    ("alpha",): lambda of: "" if of["alpha"] == "exact" else f"MAD's {of['alpha']} alpha",
    ("encoder_scoring", "decoder_scoring"): lambda of: (
        "" if of["encoder_scoring"] == of.get("decoder_scoring") == "softmax"
        else f"{of['encoder_scoring']} then {of.get('decoder_scoring')}"),
    ("position_encoding",): lambda of: (
        "" if of["position_encoding"] == "none"
        else f"position encoding {of['position_encoding'].replace('_', ', ')}"),
}
_OF = {"chunk_width": "mocha", "num_contexts": "memory"}  # these always say theirs


def task(settings):
    """Says what a model is trained to do."""
    fed = ", last context fed back" if settings.get("input_feeding") else ""
    data = settings.get("data") or ""
    corpus = next((words for begin, words in CORPORA.items() if data.startswith(begin)), None)
    return (corpus or TASKS.get(settings["task"], settings["task"])) + fed


def of_experiment(what, document):
    """What models are trained to do, with the experiment's name if the data are its own."""
    own = any(run["settings"]["task"] == "folder" for run in document["runs"])
    return what + f", {document['experiment']}" * own + ", quick" * document["quick"]


def runs(settings):
    """Gives alternative -> words for it, of {alternative: settings}: its mechanism, and
    what tells it from the others of that mechanism. Alternatives that still have the same
    words keep their own name behind them.
    """
    found = {}
    for name, own in settings.items():
        others = [one for one in settings.values() if one["mechanism"] == own["mechanism"]]
        parts = [mechanism(own["mechanism"])]
        for keys, to_text in _SETTINGS.items():
            values = {tuple(one.get(key) for key in keys) for one in others}
            is_said = _OF[keys[0]] == own["mechanism"] if keys[0] in _OF else len(values) > 1
            if is_said and own.get(keys[0]) is not None:
                parts.append(to_text(own))
        found[name] = ", ".join(filter(None, parts))
    words = list(found.values())
    return {name: text if words.count(text) == 1 else f"{text} ({name})"
            for name, text in found.items()}


def apart(named):
    """Gives what all of several such words begin with, and what is left of each."""
    if len(named) < 2:
        return "", named
    parts = {name: text.split(", ") for name, text in named.items()}
    count = 0
    while len({tuple(of[:count + 1]) for of in parts.values()}) == 1:
        count += 1
    common = next(iter(parts.values()))[:count]
    rest = {name: ", ".join(of[count:]) or "plain" for name, of in parts.items()}
    return ", ".join(common), rest
