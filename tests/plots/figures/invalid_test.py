"""Guards against a picture or a table of an invalid run that does not say so
where it is seen first."""

import types
import unittest

from plot_case import PlotTest  # isort: skip (finds plots/)
from pages import targets
from made_up import make_document, mocha_cells, stability_document

WHY = "built without optimisation"


def invalid(document):
    document["context"].update(valid=False, invalid_reasons=[WHY])
    return document


class Invalid(PlotTest):
    def drawn(self, document, name):
        out = self.draws("--figure", name, self.write(document))
        return out, (self.folder / f"{name}.svg").read_text()

    def test_a_picture_is_marked_above_its_panels_and_in_its_caption(self):
        for document, name in (
            (make_document(mocha_cells([10, 20])), "mocha_figure3"),
            (stability_document(), "stability"),
        ):
            with self.subTest(name=name):
                out, picture = self.drawn(document, name)
                self.assertNotIn("INVALID", out + picture)
                out, picture = self.drawn(invalid(document), name)
                self.assertIn("INVALID: see below", picture)
                self.assertEqual(picture.count("INVALID"), 2)
                said = out.splitlines()[2]
                self.assertEqual(said, f"  INVALID: {WHY}")

    def test_a_table_of_several_runs_tells_of_the_invalid_one(self):
        def frame(date, document):
            context = {**document["context"], "date": date}
            return types.SimpleNamespace(attrs={"context": context})

        def line(first):
            return targets.context_line({
                "a": frame("2026-01-01", first),
                "b": frame("2026-01-02", make_document([])),
            })

        self.assertNotIn("INVALID", line(make_document([])))
        self.assertIn(f"INVALID: {WHY}", line(invalid(make_document([]))))


if __name__ == "__main__":
    unittest.main()
