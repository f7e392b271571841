# SPDX-License-Identifier: Apache-2.0
"""Plugins that do harm in a process of their own: their jobs fail with the reason, everything else goes on."""
import json
import os
import unittest

import hostile
from hostile import INSTRUMENTED, Case

OPERATIONS = ("validate", "pod", "objects", "judge")
LOADING = ("load", "entry", "init", "describe")


class Worker(Case):
    def setUp(self):
        super().setUp()
        self.file("roundhouse.ini", "[plugins]\ntime-limit = 1s\nisolation = process\n")

    def fails(self, name, *words, command="run"):
        """The command ends with 1 and names plugin, file, operation, job and reason; the job beside it is fine."""
        path = self.add(name)
        done = self.call(command, self.hostile, self.harmless)
        output = done.stdout + done.stderr
        self.assertEqual(done.returncode, 1, (name, output))
        for word in (f"plugin {name}", path, f"{name.split('-')[0]}()", "HostileJob default/one", *words):
            self.assertIn(word, output)
        if command == "run" and not name.startswith("validate"):  # run checks all jobs before it starts one
            self.assertIn("harmless", output)
        return done

    def test_a_crash(self):
        for operation in OPERATIONS:
            self.fails(f"{operation}-segv", *([] if INSTRUMENTED else ["it crashed in", "Segmentation fault"]))
        self.fails("pod-abort", *([] if INSTRUMENTED else ["it crashed in", "Aborted"]))
        self.fails("pod-segv", command="render")
        self.fails("validate-segv", command="lint")

    @unittest.skipIf(INSTRUMENTED, "a sanitizer's stack is larger")
    def test_the_end_of_the_stack(self):
        self.fails("judge-stack", "it crashed in judge()")

    def test_an_end_of_the_process(self):
        for operation in OPERATIONS:
            self.fails(f"{operation}-kernel", "it ended the process in", "with status 0")
        self.fails("pod-exit", "it ended the process in")
        self.fails("pod-leave", "it ended the process in")

    def test_no_end(self):
        for operation in OPERATIONS:
            self.fails(f"{operation}-loop", "it did not come back from", "within 1 s ([plugins] time-limit)")
        self.fails("validate-sleep", "within 1 s", command="lint")

    @unittest.skipIf(INSTRUMENTED, "a sanitizer maps terabytes")
    def test_too_much_memory(self):
        self.file("roundhouse.ini", "[plugins]\ntime-limit = 1m\nisolation = process\n")
        self.fails("pod-memory", "it crashed in pod()")

    def test_an_answer_that_is_none(self):
        self.fails("pod-garbage", "a malformed answer in pod()")
        self.fails("judge-garbage", "a malformed answer in judge()")
        # it is ended for that, or has ended already because it can no longer answer
        done = self.fails("objects-close")
        self.assertRegex(done.stdout + done.stderr, r"(ended the process|closed the connection,) in objects\(\)")

    @unittest.skipIf(INSTRUMENTED, "a sanitizer writes more")
    def test_its_last_lines_are_shown(self):
        self.fails("pod-words", "it wrote: first line last words")

    @unittest.skipIf(INSTRUMENTED, "no filter of system calls in such a build")
    def test_what_it_cannot_do(self):
        """It goes on, as after any call that fails."""
        for what in ("socket", "write", "kill", "secret", "program"):
            for where in ("pod", "load") if what != "secret" else ("pod",):
                self.add(f"{where}-{what}")
                done = self.call("render", self.hostile)
                self.assertEqual(done.returncode, 0, (what, done.stderr))
                self.assertIn("kind: Pod", done.stdout)
                self.assertFalse(os.path.exists("written"))

    def test_a_plugin_that_does_not_load_is_left_out(self):
        for where in LOADING:
            for what, words in (("segv", "it crashed in"), ("kernel", "it ended the process in"),
                                ("sleep", "it did not come back from")):
                if INSTRUMENTED and what == "segv":
                    continue
                path = self.add(f"{where}-{what}")
                done = self.call("run", "-q", self.harmless)
                self.assertEqual(done.returncode, 0, (where, what, done.stderr))
                self.assertIn("harmless", done.stdout)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stderr.count(path), 1, done.stderr)

    def test_what_it_notes_in_init_is_logged(self):
        for isolation in ("process", "none"):
            self.file("roundhouse.ini", f"[plugins]\ntime-limit = 1m\nisolation = {isolation}\n")
            self.add("init-note")
            done = self.call("render", self.hostile)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count("plugin init-note: noted in init()"), 1, (isolation, done.stderr))

    def test_fini_harms_nobody(self):
        for what in ("segv", "loop", "kernel"):
            self.add(f"fini-{what}")
            self.assertEqual(self.call("render", self.hostile).returncode, 0)

    def test_others_beside_it_are_ready(self):
        self.add("fine", "init-segv", "load-leave")
        done = self.call("plugins", "list", "-o", "json")
        states = {os.path.basename(row["file"]): row["state"] for row in json.loads(done.stdout)}
        self.assertEqual((states["fine.so"], states["init-segv.so"], states["load-leave.so"]),
                         ("ready", "broken", "broken"))

    def test_a_plugin_that_is_not_of_the_release_gets_a_process_by_default(self):
        self.file("roundhouse.ini", "[plugins]\ntime-limit = 1s\n")
        self.fails("pod-kernel", "it ended the process in")

    def test_ctrl_c_and_the_time_limit_of_a_run_end_a_wait(self):
        self.file("roundhouse.ini", "[plugins]\ntime-limit = 10m\nisolation = process\n")
        self.add("judge-loop")
        done = self.call("run", "--timeout", "1s", self.hostile)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn('plugin "judge-loop" does not come back from judge()', done.stderr)


hostile.main()
