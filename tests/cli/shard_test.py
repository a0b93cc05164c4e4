"""Guards against shards of a sweep that lack a point or have one twice."""

import json
import unittest

from resuming import ResumeTest, figures, whole


class Sharded(ResumeTest):
    def test_shards_have_every_point_once(self):
        seen = {}
        for index in range(5):
            done = self.run_grid("--shard", f"{index}/5", "--force")
            document = self.read()
            self.assertIn("valid" if document["context"]["valid"] else "INVALID",
                          done.stdout)
            self.assertEqual(document["context"]["shard"], f"{index}/5")
            self.assertEqual(document["context"]["points"], whole()["context"]["points"])
            for cell in document["cells"]:
                seen.setdefault(cell["point"], []).append(figures(cell))
        cells = [cell for point in whole()["context"]["points"] for cell in seen[point]]
        self.assertEqual(cells, [figures(c) for c in whole()["cells"]])

    def test_more_shards_than_points_give_empty_results(self):
        self.run_grid("--shard", "12/13")
        self.assertEqual(self.read()["cells"], [])
        self.assertIn("nothing left", self.run_grid("--shard", "12/13", "--resume").stdout)

    def test_a_dry_run_shows_the_shard(self):
        done = self.run_grid("--shard", "1/5", "--dry-run", "--json")
        self.assertEqual(json.loads(done.stdout)["num_points"], 3)


if __name__ == "__main__":
    unittest.main()
