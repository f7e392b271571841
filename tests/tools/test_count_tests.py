# SPDX-License-Identifier: Apache-2.0
"""The last line of ./check, from files as ctest writes them."""
import contextlib
import io
import pathlib
import tempfile
import unittest

import tool

MISSING = '<skipped message="Unable to find executable: x"/>'
# name: (runs by file, each a list of (test, status, inner text), last line, exit status)
CASES = {
    "nothing ran": ({}, "0 passed, 0 failed, 0 skipped", 0),
    "all three": ({"dev": [("a", "run", ""), ("b", "fail", ""), ("c", "notrun", '<skipped message="x"/>')]},
                  "1 passed, 1 failed, 1 skipped", 1),
    "disabled is skipped": ({"dev": [("a", "disabled", "")]}, "0 passed, 0 failed, 1 skipped", 0),
    "once for all builds": ({"dev": [("a", "run", ""), ("b", "run", "")], "asan": [("a", "run", "")]},
                            "2 passed, 0 failed, 0 skipped", 0),
    "failed in one build": ({"dev": [("a", "run", "")], "asan": [("a", "fail", "")]}, "0 passed, 1 failed, 0 skipped",
                            1),
    "skipped in one build": ({"asan": [("a", "notrun", "")], "dev": [("a", "run", "")]},
                             "1 passed, 0 failed, 0 skipped", 0),
    "not built": ({"dev": [("a", "notrun", MISSING)]}, "0 passed, 1 failed, 0 skipped", 1),
}


def run(runs, seconds=None, logs=None):
    count_tests = tool.load("count_tests")
    with tempfile.TemporaryDirectory() as folder:
        for name, cases in runs.items():
            inner = "".join(f'<testcase name="{test}" status="{status}" '
                            f'time="{(seconds or {}).get((name, test), 0)}">{text}</testcase>'
                            for test, status, text in cases)
            pathlib.Path(folder, name + ".xml").write_text(f"<testsuite>{inner}</testsuite>")
        files = [str(path) for path in pathlib.Path(folder).iterdir()]
        for name, text in (logs or {}).items():
            pathlib.Path(folder, name + ".log").write_text(text)
        count_tests.sys.argv = ["count_tests.py", *files, folder + "/absent.xml"]
        with contextlib.redirect_stdout(io.StringIO()) as output:
            status = count_tests.main()
    return output.getvalue().splitlines(), status


class CountTests(unittest.TestCase):
    def test_count_tests__last_line(self):
        for name, (runs, line, status) in CASES.items():
            with self.subTest(name):
                written, found = run(runs)
                self.assertEqual((written[-1], found), (line, status))

    def test_count_tests__names_what_failed_once(self):
        log = ("      Start  7: a/b\n"
               "    Test  #7: a/b ..............................***Failed    0.10 sec\n"
               " 1/4 Test  #7: a/b ..............................***Failed    0.10 sec\nwords\n"
               " 2/4 Test  #8: a/c ..............................***Timeout   0.10 sec\n"
               " 3/4 Test #10: a/d ..............................***Skipped   0.10 sec\n"
               " 3/4 Test #11: a/e ..............................   Passed    0.10 sec\n"
               " 4/4 Test  #7: a/b ..............................   Passed    0.10 sec\n")
        runs = {"dev": [("a/b", "run", ""), ("a/c", "fail", ""), ("a/d", "notrun", ""), ("a/e", "run", "")]}
        written, status = run(runs, logs={"dev": log})
        self.assertEqual(status, 1)
        once = [line for line in written if line.startswith("failed once")]
        self.assertEqual(len(once), 1)
        self.assertRegex(once[0], r"^failed once in dev, and passed when it ran again: a/b; see .*/dev\.log$")
        self.assertIn("failed in dev: a/c", written)

    def test_count_tests__names_what_was_skipped(self):
        why = '<skipped message="SKIP_RETURN_CODE=77"/><system-out>some words\nSKIPPED: no torch here\n</system-out>'
        written, _ = run({"dev": [("b", "notrun", why), ("c", "notrun", why), ("a", "disabled", "")],
                          "asan": [("c", "run", "")]})
        self.assertEqual(written, ["skipped: a", "skipped: b: no torch here", "1 cases in 1 tests that ran",
                                   "1 passed, 0 failed, 2 skipped"])

    def test_count_tests__names_skipped_cases(self):
        cmocka = "<system-out>[ RUN      ] test_a\nSKIPPED: not root\n[  SKIPPED ] test_a\n" \
                 "[  SKIPPED ] 1 test(s), listed below:\n" \
                 "[  SKIPPED ] test_a\n</system-out>"
        counted = "<system-out>..ss.\nOK (skipped=2)\n</system-out>"
        report = ("<system-out>test_x (m.C.test_x) ... skipped &quot;no man&apos;s land&quot;\nOK (skipped=1)\n"
                  "</system-out>")
        written, status = run({"dev": [("c", "run", cmocka), ("u", "run", counted), ("v", "run", report),
                                       ("w", "run", counted)],
                               "asan": [("c", "run", cmocka), ("w", "run", "<system-out>OK\n</system-out>")]})
        self.assertEqual((written, status), (["skipped in part: c: not root; test_a", "skipped in part: u: 2 cases",
                                              "skipped in part: v: no man's land", "4 cases in 4 tests that ran",
                                              "4 passed, 0 failed, 0 skipped"], 0))

    def test_count_tests__slowest_and_cases(self):
        cmocka = "<system-out>[==========] Running 34 test(s).\n[ RUN      ] test_a\n</system-out>"
        ours = "<system-out>Ran 7 tests in 0.1s\n\nOK\n</system-out>"
        runs = {"dev": [("c", "run", cmocka), ("u", "run", ours), *((f"t{number}", "run", "") for number in range(30))],
                "asan": [("c", "run", cmocka)]}
        seconds = {("dev", "u"): 30, ("asan", "c"): 60, **{("dev", f"t{number}"): 0.5 for number in range(20)}}
        written, _ = run(runs, seconds)
        self.assertEqual(written[:4], ["slowest of 33 tests, which took 100 s one after the other:",
                                       "   60.0 s 60.0 %  asan: c", "   30.0 s 30.0 %  dev: u",
                                       "    0.5 s  0.5 %  dev: t0"])
        self.assertEqual(written[21:], ["71 cases in 32 tests that ran", "32 passed, 0 failed, 0 skipped"])


if __name__ == "__main__":
    unittest.main()
