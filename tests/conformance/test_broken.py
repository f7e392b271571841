# SPDX-License-Identifier: Apache-2.0
"""The conformance kit sees each rule that a plugin breaks, names it, and says nothing of others.

usage: test_broken.py ROUNDHOUSE FOLDER RULES : for each line of RULES the plugin FOLDER/RULE.so is tested.
"""
import concurrent.futures
import json
import os
import subprocess
import sys
import unittest

PROGRAM, FOLDER, RULES = sys.argv[1:4]
PATIENCE = 300
WARNINGS = {"exports", "output"}
# Rules whose break makes further checks find something.
BESIDE = {"CORE_METADATA": {"contract"}, "CORE_CONTAINERS": {"contract"}, "ENV_TWICE": {"contract"},
          "OBJECT_CLUSTER": {"rbac", "contract"}, "OBJECT_NAME": {"contract"}, "OBJECT_NAMESPACE": {"contract"},
          "RBAC_GRANT": {"contract"}, "ENV_NAME": {"contract"}, "UTF8_ENV": {"env", "contract"},
          "SCHEMA_LIMITS": {"contract"},
          # a thread that is left sleeps, and its code goes away with the plugin
          "THREAD_INIT": {"crash", "time"}, "THREAD_OBJECTS": {"crash", "time"}}


def rules():
    with open(RULES, encoding="utf-8") as file:
        for line in file:
            if line[0] != "#":
                yield line.rstrip("\n").split(" ", 2)


def test(rule):
    limit = ["--time-limit", "2s"] if rule.startswith("HANG") else []
    return subprocess.run([PROGRAM, "plugins", "test", *limit, "-o", "json", os.path.join(FOLDER, rule + ".so")],
                          capture_output=True, text=True, timeout=PATIENCE, check=False)


class Broken(unittest.TestCase):
    def check(self, rule, check, words):
        if check == "server":  # which alone sees it: test_server.py
            check = "-"
        done = DONE[rule].result()
        self.assertIn(done.returncode, (0, 1), done.stderr)
        report = json.loads(done.stdout)
        found = {row["name"]: row for row in report["checks"] if row["findings"]}
        if check == "-":
            self.assertEqual((found, done.returncode), ({}, 0))
            return
        self.assertIn(check, found, found)
        text = " ".join(f"{finding['where']} {finding['what']}" for finding in found[check]["findings"])
        for word in words.split("|"):
            self.assertIn(word, text)
        warning = check in WARNINGS or rule == "VERDICT_NONE"
        self.assertEqual((found[check]["result"], done.returncode), ("warning", 0) if warning else ("failed", 1))
        self.assertLessEqual(set(found) - {check}, BESIDE.get(rule, set()), found)


def add(rule, check, words):
    setattr(Broken, f"test_{rule.lower()}", lambda self: self.check(rule, check, words))


# Each test waits for the next second of the clock, so several run at a time.
POOL = concurrent.futures.ThreadPoolExecutor(max_workers=4)
DONE = {}
for row in rules():
    add(*row)
    DONE[row[0]] = POOL.submit(test, row[0])

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
