"""What decides a run, beside its seed: settings, and experiments, which have them
(experiments/training/*.json).

Names, defaults and bounds of settings are read from the schema of experiments, which has them
as the program does (harness/training/settings.h).
"""

import dataclasses
import functools
import os

from attnbench.analysis import command, load, schema
from attnbench.train import folder, tasks

KIND = "training_experiment"
SCHEMA = schema.read(KIND)["properties"]["settings"]["properties"]
GREATEST_SEED = int(schema.read(KIND)["properties"]["seed"]["maximum"])
# Sequences of the held-out set that are evaluated together.
EVALUATION_BATCH = 128
# Numbers of an array [batch, U, T] of attention: 128 MiB of f32, of which training has
# several.
MOST_WEIGHTS = 2**25
MOST_NUMBERS = 2**30  # of any other array
MOST_EXAMPLES = 2**32  # each has a stream of random numbers, of which there are no more


class _Derived:
    """What follows from settings."""

    @property
    def task_spec(self):
        return tasks.Task(
            self.task, self.least_symbols, self.most_symbols, self.frame_noise)

    @property
    def has_frames(self):
        return "frame_size" in self.data_facts if self.data_facts else self.task_spec.has_frames

    @property
    def vocabulary(self):
        """Symbols of targets, with START and END."""
        return self.data_facts["vocabulary"] if self.data_facts else tasks.VOCABULARY

    @property
    def source_vocabulary(self):
        """Symbols of sources of tokens, with START and END."""
        return self.data_facts["source_vocabulary"] if self.data_facts else tasks.VOCABULARY

    @property
    def symbol_names(self):
        """{number: symbol} of targets of own data."""
        vocabulary = folder.opened(self.data).tables.vocabulary
        return {number: symbol for symbol, number in vocabulary.items()}

    @functools.cached_property
    def training_speakers(self):
        """Speakers of own data whom training hears."""
        return {one.speaker for one in folder.opened(self.data).of_split[tasks.TRAINING]}

    @property
    def most_entries(self):
        """Entries of the longest source, with its end."""
        return (self.data_facts["longest_source"] if self.data_facts
                else self.task_spec.most_entries)

    @property
    def evaluation_batch(self):
        """Held-out sequences that are evaluated together; those of own data may be long."""
        return self.batch if self.data_facts else EVALUATION_BATCH

    def examples(self, which, seed, first, count):
        """As tasks.examples."""
        if self.task == folder.TASK:
            return folder.opened(self.data).examples(which, seed, first, count)
        return tasks.examples(self.task_spec, which, seed, first, count)

    @property
    def directions(self):
        return 2 if self.bidirectional else 1

    @property
    def longest_source(self):
        """Entries of the longest source of tokens, with END; 0: not known."""
        return 0 if self.has_frames else self.most_entries

    @property
    def most_outputs(self):
        """Where greedy decoding is cut off: a few symbols after the longest target."""
        return self.most_symbols + 5

    @property
    def source_size(self):
        """Numbers of the encoder's inputs."""
        if self.has_frames:
            return self.data_facts["frame_size"] if self.data_facts else tasks.FRAME_SIZE
        if self.embedding_in_memory:
            return self.dim - self.directions * self.encoder_units
        return self.embedding

    @property
    def decoder_inputs(self):
        """Numbers of the decoder's inputs."""
        return self.embedding + (self.dim if self.input_feeding else 0)

    @property
    def attends(self):
        return self.mechanism != "none"

    @property
    def is_monotonic(self):
        """Whether outputs choose entries one after another."""
        return self.mechanism == "monotonic" or self.has_chunks

    @property
    def has_chunks(self):
        return self.mechanism in ("mocha", "matcha")

    @property
    def is_normalized(self):
        """Whether its attention has g and r."""
        return self.energy != "additive"

    def __post_init__(self):
        for name, about in SCHEMA.items():
            if about["type"] == "number":  # JSON may have 1 for 1.0
                object.__setattr__(self, name, float(getattr(self, name)))


_TYPES = {"integer": int, "number": float, "boolean": bool, "string": str, "object": dict}
Settings = dataclasses.make_dataclass(
    "Settings",
    [(name, _TYPES[about["type"]], about.get("default")) for name, about in SCHEMA.items()],
    bases=(_Derived,), frozen=True)


@dataclasses.dataclass(frozen=True)
class Run:
    name: str
    seed: int
    held_out_seed: int
    settings: Settings

    def document(self):
        """As checkpoints and results have it."""
        made = dataclasses.asdict(self)
        made["settings"] = {
            key: value for key, value in made["settings"].items() if value is not None}
        return made


def run_of(document):
    """The run of a document that meets its schema."""
    return Run(**{**document, "settings": Settings(**document["settings"])})


def read_experiment(path):
    """The document of an experiment. DataError names the file and the place."""
    document = load.read_json(path)
    load.check_schema(document, KIND, path)
    name = os.path.splitext(os.path.basename(path))[0]
    if document["name"] != name:
        raise load.DataError(
            f"{path}: name", f"is '{document['name']}'; expected the file's, '{name}'")
    return document


def know_mechanisms(names):
    """Lets experiments, checkpoints and results name these, too: a native library may have
    more mechanisms than the schemas.
    """
    for kind in (KIND, "checkpoint", "trained"):
        _add_mechanisms(schema.read(kind), names)


def _add_mechanisms(part, names):
    if isinstance(part, dict):
        known = part.get("mechanism", {}).get("enum", [])
        known += (name for name in names if name not in known)
    for inner in part.values() if isinstance(part, dict) else part:
        if isinstance(inner, (dict, list)):
            _add_mechanisms(inner, names)


def runs(experiment, path, quick=False, only=()):
    """The runs of an experiment in their order: every alternative, or those that `only`
    names, with the first seed, then with the next one. DataError names the place in `path`
    if settings do not fit each other.
    """
    profile = experiment.get("profiles", {}).get("quick")
    if quick and profile is None:
        raise load.DataError(f"{path}: profiles", "has no quick")
    profile = profile if quick else {}
    first, made, names = experiment.get("seed", 1), [], []
    folders = experiment.get("folders")
    for place, one in enumerate(experiment["alternatives"]):
        here = f"{path}: alternatives[{place}]"
        if one["name"] in names:
            raise load.DataError(f"{here}.name", f"is there twice: '{one['name']}'")
        names.append(one["name"])
        where = f"{here}.settings"
        merged = {}
        for owner in (experiment, one, profile):
            merged.update(owner.get("settings", {}))
        seeds = one.get("seeds", experiment.get("seeds", 1))
        seeds = min(seeds, profile.get("seeds", seeds))
        if folders is not None and "data" in merged:
            raise load.DataError(f"{where}.data", "is given, and so are folders")
        of_seeds = [_made(merged, first, where)] if folders is None else [
            _made({**merged, "data": data}, first, where) for data in folders[:seeds]]
        if first + seeds - 1 > GREATEST_SEED:
            raise load.DataError(
                f"{path}: seed",
                f"is {first}, and the last of {command.counted(seeds, 'seed')} of "
                f"'{one['name']}' would be {first + seeds - 1}; the greatest is "
                f"{GREATEST_SEED}")
        made += (Run(one["name"], first + k, first, of_seeds[k % len(of_seeds)])
                 for k in range(seeds))
    for name in only:
        if name not in names:
            raise load.DataError("--only", command.unknown("alternative", name, names))
    return sorted((run for run in made if not only or run.name in only),
                  key=lambda run: run.seed)


def _made(merged, first, place):
    if merged.get("task") == folder.TASK:
        merged = folder.with_facts(merged, place)
    settings = Settings(**merged)
    check(settings, place)
    if settings.task != folder.TASK:
        _check_held_out(settings, first, place)
    return settings


def check(settings, place):
    """Raises DataError if members do not fit each other; `place` is that of the settings."""

    def fail(key, what):
        raise load.DataError(f"{place}.{key}", what)

    is_own = settings.task == folder.TASK
    for key in ("data", "data_facts"):
        if (getattr(settings, key) is not None) != is_own:
            fail(key, "is missing" if is_own else f"is for task {folder.TASK}; the task is "
                 f"{settings.task}")
    if is_own and ("frame_size" in settings.data_facts) == (
            "source_vocabulary" in settings.data_facts):
        fail("data_facts", "expected one of frame_size and source_vocabulary")
    if settings.least_symbols > settings.most_symbols:
        fail("least_symbols", f"is {settings.least_symbols}, more than most_symbols, "
             f"{settings.most_symbols}")
    entries, outputs = settings.most_entries, settings.most_symbols + 1
    together = max(settings.batch, settings.evaluation_batch)
    if together * outputs * entries > MOST_WEIGHTS:
        what = f"{together} x {outputs} x {entries} weights, more than {MOST_WEIGHTS}"
        if is_own:  # whose symbols nobody sets
            fail("batch", f"is {settings.batch}: with these data attention has up to {what}")
        fail("most_symbols", f"is {settings.most_symbols}: with batch {settings.batch} "
             f"attention has up to {what}")
    numbers = together * max(
        entries * max(4 * settings.encoder_units, settings.source_size),
        outputs * max(4 * settings.dim, settings.vocabulary))
    if numbers > MOST_NUMBERS:
        fail("batch", f"is {settings.batch}: gates, frames or logits are up to {numbers} numbers, "
             f"more than {MOST_NUMBERS}")
    if settings.steps * settings.batch > MOST_EXAMPLES:
        fail("steps", f"is {settings.steps}: with batch {settings.batch} these are "
             f"{settings.steps * settings.batch} examples, more than {MOST_EXAMPLES}")
    encoded = settings.directions * settings.encoder_units
    embedded = settings.dim - encoded
    if embedded < 1 if settings.embedding_in_memory else embedded != 0:
        part = "less than" if settings.embedding_in_memory else "all of"
        fail("encoder_units", f"makes {encoded} numbers of a memory entry; expected {part} "
             f"dim, {settings.dim}")
    if settings.embedding_in_memory and settings.has_frames:
        fail("embedding_in_memory", f"is for tasks of tokens; {settings.task} has frames")
    if settings.embedding_in_memory and settings.starts_from_encoder:
        fail("starts_from_encoder",
             "needs an encoder of dim numbers, without embedding_in_memory")
    if settings.input_feeding and not settings.attends:
        fail("input_feeding", "needs a mechanism; none is given")
    if settings.alpha == "clipped" and settings.mechanism != "monotonic":
        fail("alpha", "can be clipped only for monotonic")


def _check_held_out(settings, seed, place):
    """An error is a share of the targets' symbols."""
    keys = ["held_out", "curve_held_out"][:2 if settings.curve_every else 1]
    for key in keys:
        count = getattr(settings, key)
        if not tasks.has_symbols(settings.task_spec, tasks.HELD_OUT, seed, count):
            raise load.DataError(
                f"{place}.{key}",
                f"is {count}, and the targets of these sequences of seed {seed} are empty, "
                "so that there is no error; expected more of them, or least_symbols from 1 on")
