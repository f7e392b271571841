# SPDX-License-Identifier: Apache-2.0
"""examples/xgboost with real XGBoost. usage: test_xgboost.py PROGRAM SOURCE"""
import kit

CONFIG = kit.configuration("xgboost")
ALL = {"Master-0": "Succeeded", "Worker-0": "Succeeded", "Worker-1": "Succeeded"}


class XGBoost(kit.Training):
    def test_learns_and_learns_again_at_once(self):
        """The tracker refuses a port that was used within the last minute, so a second run must have got another
        one."""
        for attempt in range(2):
            with self.subTest(attempt=attempt):
                status, seen = kit.rows("xgboost/digits.yaml", CONFIG)
                self.check_learnt(status, seen, world=3, floor=0.93)
                self.check_falls(seen)
                self.assertEqual(kit.outcomes(seen), ALL)

    def test_ranks_are_those_of_the_job(self):
        _, seen = kit.rows("xgboost/digits.yaml", CONFIG)
        found = {kit.replica_of(row): row["line"].split(",")[0] for row in seen
                 if row.get("line", "").startswith("rank ")}
        self.assertEqual(found, {"Master-0": "rank 0 of 3 is ready", "Worker-0": "rank 1 of 3 is ready",
                                 "Worker-1": "rank 2 of 3 is ready"})


kit.main()
