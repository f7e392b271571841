# SPDX-License-Identifier: Apache-2.0
"""Plugins that do harm while they are asked about a job: nothing hangs, nothing is a success that is none, and the
plugin is named."""
import os
import signal
import time
import unittest

import hostile
from hostile import INSTRUMENTED, PATIENCE, Case

OPERATIONS = ("validate", "pod", "objects", "judge")


class Guard(Case):
    def ends(self, name, *words, command=("run",)):
        self.add(name)
        done = self.call(*command, self.hostile)
        self.assertNotEqual(done.returncode, 0, (name, done.stdout))
        for word in (f'plugin "{name}"', f"{name.split('-')[0]}()", "HostileJob default/one", *words):
            self.assertIn(word, done.stderr)
        return done

    def test_no_end(self):
        for operation in OPERATIONS:
            done = self.ends(f"{operation}-loop", "did not come back from", "within 1 s")
            self.assertEqual(done.returncode, 1)
        self.ends("validate-loop", "within 1 s", command=("lint",))
        self.ends("pod-loop", "within 1 s", command=("render",))

    def test_exit_is_no_success(self):
        for operation in OPERATIONS:
            for what in ("exit",) if INSTRUMENTED else ("exit", "leave"):
                done = self.ends(f"{operation}-{what}", "ended the program in")
                self.assertEqual(done.returncode, 1, done.stderr)
        self.ends("validate-exit", command=("lint",))

    @unittest.skipIf(INSTRUMENTED, "a sanitizer reports crashes")
    def test_a_crash_names_the_plugin(self):
        for operation in OPERATIONS:
            self.assertEqual(self.ends(f"{operation}-segv", "segmentation fault").returncode, -signal.SIGSEGV)
        self.assertEqual(self.ends("pod-stack", "segmentation fault").returncode, -signal.SIGSEGV)
        self.assertEqual(self.ends("pod-abort", "it was aborted").returncode, -signal.SIGABRT)

    def test_the_time_limit_of_a_run_and_ctrl_c_end_a_slow_call(self):
        """Before the plugin's own time is over."""
        self.file("roundhouse.ini", "[plugins]\ntime-limit = 10m\nisolation = none\n")
        self.add("judge-loop")
        done = self.call("run", "--timeout", "1s", self.hostile)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn('plugin "judge-loop" does not come back from judge(): the time limit of the run is over',
                      done.stderr)
        for number in (signal.SIGINT, signal.SIGTERM):
            self.assertEqual(self.interrupt(number), 130)

    def interrupt(self, number):
        """A signal that comes before the plugin is called has another end; then it is tried again, later."""
        errors, wait = "", 0.5
        while "does not come back" not in errors and wait < PATIENCE:
            run = self.start("run", self.hostile)
            # a plugin that loops shows nothing; too early is found out below, and tried again
            time.sleep(wait)
            while run.poll() is None:
                run.send_signal(number)
                time.sleep(0.1)
            errors = run.communicate(timeout=PATIENCE)[1]
            wait *= 2
        return run.returncode if "does not come back" in errors else errors

    def test_pods_end_with_the_run(self):
        """The plugin hangs once a pod runs; the pod's processes are gone soon after the program."""
        mark = os.path.join(self.folder, "alive")
        self.hostile = self.file("hostile.yaml", hostile.HOSTILE.format(replicas=1,
                                                                        command=f"echo $$$$ > {mark}; exec sleep 1000"))
        self.add("judge-late")
        done = self.call("run", self.hostile)
        self.assertEqual(done.returncode, 1, done.stderr)
        with open(mark, encoding="utf-8") as text:
            pid = int(text.read())
        hostile.wait_for("the end of the pod", lambda: not os.path.exists(f"/proc/{pid}"))

    def test_a_child_of_the_plugin_may_exit(self):
        self.add("pod-child")
        self.assertEqual(self.call("run", self.hostile).returncode, 0)


hostile.main()
