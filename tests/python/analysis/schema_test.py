"""Guards against a document that passes though its schema does not allow it: by a quick
test that is not as strict as jsonschema, or by an item that nobody looks at; against
messages that do not say where and what; and against schemas of training that are kept by
hand and no longer say what the program's own do."""

import copy
import random
import unittest

from documents import read
from made_up import make_cell, make_document

from attnbench.analysis import schema

# A result, its schema, and a list in it.
LISTS = (
    ("claims/figure3.json", "sweep", "cells"),
    ("claims/translation.json", "sweep", "cells"),
    ("claims/stability.json", "stability", "rows"),
    ("claims/verify.json", "verify", "cases"),
    ("claims/exact.json", "computed", "quantities"),
    ("claims.json", "claims", "claims"),
)
VALUES = (None, True, False, 0, 1, -1, 0.0, 2.5, 1e30, 2**63, "x", "inf", "ok", "skipped", "decode",
          "decoder", [], {}, [1], [1, 2], {"a": 1})


def places(value):
    """(owner, key) of all that is in a value."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from places(value[key])


def members(kind):
    """The members of a kind of document, by its schema."""
    return read("results", "schema", f"{kind}.schema.json")["properties"]


class SchemaTest(unittest.TestCase):
    def test_quick_tests_say_what_jsonschema_says(self):
        rng = random.Random(1)
        for name, kind, key in LISTS:
            items = read("results", name)[key]
            whole = read("results", "schema", f"{kind}.schema.json")
            wanted = whole["properties"][key]["items"]
            slow = schema.BASE(whole).evolve(schema=wanted)
            quick = schema.test_of(wanted, slow)
            said = []
            for _ in range(300):
                item = copy.deepcopy(rng.choice(items))
                for _ in range(rng.randint(0, 2)):
                    owner, place = rng.choice(list(places(item)))
                    if isinstance(owner, dict) and rng.random() < 0.3:
                        del owner[place]
                    else:
                        owner[place] = rng.choice(VALUES)
                said.append(quick(item))
                self.assertEqual(said[-1], slow.is_valid(item), (name, item))
            self.assertEqual(set(said), {True, False}, name)

    def test_each_keyword_is_what_jsonschema_takes_it_for(self):
        for wanted in ({"enum": [0, "x", None]}, {"const": 1}, {"minItems": 2},
                       {"maxItems": 1}, {"minimum": 1}, {"maximum": 0},
                       {"exclusiveMinimum": 0}, {"exclusiveMaximum": 1},
                       {"type": "integer"}, {"type": ["number", "null"]},
                       {"pattern": "^o"}, {"not": {"type": "array"}}, {"required": ["a"]},
                       {"items": {"minimum": 2}}, {"additionalProperties": False},
                       {"uniqueItems": True}, {"oneOf": [{"minimum": 0}, {"maximum": 0}]}):
            slow = schema.BASE(wanted)
            quick = schema.test_of(wanted, slow)
            for value in (*VALUES, [1, 1]):
                self.assertEqual(quick(value), slow.is_valid(value), (wanted, value))

    def test_the_place_and_what_must_be_there_are_told(self):
        for change, *told in (
            (lambda d, cell: cell.pop("status"), "cells[2]", "status is missing"),
            (lambda d, cell: cell.update(status="lost"), "cells[2]",
             "status is 'lost', it must be one of 'ok', 'invalid', 'error', 'timeout', "
             "'skipped'"),
            (lambda d, cell: cell.update(more=1), "cells[2]",
             "unknown member 'more'; did you mean 'mode'?"),
            (lambda d, cell: cell.update(chunk_width=0), "cells[2]",
             "chunk_width is 0, it must be integer from 1 up to 1099511627776"),
            (lambda d, cell: cell.update(chunk_width="x"), "cells[2]",
             "chunk_width is 'x', it must be integer from 1 up to 1099511627776 or 'inf' or "
             "null"),
            (lambda d, cell: cell.update(operations={}), "cells[2].operations",
             "energies is missing"),
            (lambda d, cell: cell.update(median_ns=None), "cells[2]",
             "median_ns is None, it must be not null"),
            (lambda d, cell: cell["spread"].pop("draws"), "cells[2].spread",
             "draws is missing"),
            (lambda d, cell: cell.update(status="skipped", message="why"), "cells[2]",
             "samples_ns is [1000.0, 1000.0, 1000.0, 1000.0, 1000.0, 1000.0, ...], it must "
             "be array of at most 0"),
            (lambda d, cell: cell["samples_ns"].insert(3, "x"), "cells[2]",
             "samples_ns[3] is 'x', it must be number from 0"),
            (lambda d, cell: cell.update(point="1"), "cells[2].point",
             "'1' does not match '^[0-9a-f]{16}$'"),
            (lambda d, cell: d["cells"].insert(1, 7), "",
             "cells[1] is 7, it must be object"),
            (lambda d, cell: d["context"].update(dirty="no"), "context",
             "dirty is 'no', it must be boolean or null"),
        ):
            document = make_document([make_cell("soft", t, 2) for t in (4, 8, 16)])
            change(document, document["cells"][2])
            self.assertEqual(schema.first_error(document, "sweep"), tuple(told))

    def test_of_two_items_that_are_wrong_the_first_is_told(self):
        document = make_document([make_cell("soft", t, 2) for t in (4, 8, 16)])
        self.assertIsNone(schema.first_error(document, "sweep"))
        del document["cells"][1]["spread"]["drift"], document["cells"][2]["spread"]
        self.assertEqual(schema.first_error(document, "sweep"),
                         ("cells[1].spread", "drift is missing"))


class TrainingSchemasTest(unittest.TestCase):
    """The program prints the schema of checkpoints, and a test holds that file to it."""

    def setUp(self):
        self.checkpoint = members("checkpoint")
        self.of_run = self.checkpoint["run"]["properties"]

    def test_a_run_of_a_result_is_what_a_checkpoint_says_of_it(self):
        trained = members("trained")
        run = trained["runs"]["items"]["properties"]
        self.assertEqual(trained["context"], members("verify")["context"])
        self.assertEqual({key: run[key] for key in self.of_run}, self.of_run)
        self.assertEqual(run["curve"], self.checkpoint["curve"])
        result = run["result"]["anyOf"][0]["properties"]
        point = self.checkpoint["curve"]["items"]["properties"]
        of_both = result.keys() & point.keys()
        self.assertEqual(point.keys() - of_both, {"step", "training_loss"})
        self.assertEqual({key: result[key] for key in of_both},
                         {key: point[key] for key in of_both})

    def test_settings_of_experiments_are_those_of_checkpoints_with_defaults(self):
        wanted = self.of_run["settings"]
        # All may be left out of either.
        self.assertEqual(wanted["required"], [])
        experiment = members("training_experiment")
        quick = experiment["profiles"]["properties"]["quick"]["properties"]
        alternative = experiment["alternatives"]["items"]["properties"]
        for name, settings in (("all", experiment["settings"]),
                               ("alternative", alternative["settings"]),
                               ("quick", quick["settings"])):
            with self.subTest(name):
                stated = copy.deepcopy(settings)
                stated.pop("description", None)
                defaults = {key: about.pop("default") for key, about in
                            stated["properties"].items() if "default" in about}
                self.assertEqual(stated, wanted)
                self.assertEqual(wanted["properties"].keys() - defaults.keys(),
                                 {"data", "data_facts", "energy", "energy_units"})
                self.assertEqual(settings["properties"], experiment["settings"]["properties"])
        self.assertEqual(experiment["seed"]["maximum"], members("experiment")["seed"]["maximum"])


if __name__ == "__main__":
    unittest.main()
