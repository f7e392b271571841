# SPDX-License-Identifier: Apache-2.0
"""Plugins that do harm when they are loaded: each is left out by name, and takes nothing else down."""
import json
import os
import shutil
import subprocess
import unittest

import hostile
from hostile import INSTRUMENTED, Case

WHERE = {"load": "its constructors", "entry": "rh_plugin_entry_v1()", "init": "init()", "describe": "describe()",
         "fini": "fini()"}


class Probe(Case):
    def states(self, **more):
        done = self.call("plugins", "list", "-o", "json", **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {os.path.basename(row["file"]): row for row in json.loads(done.stdout)}

    def left_out(self, name, *words):
        """The plugin is broken, for this reason; a job of another kind runs, and one warning names the file."""
        path = self.add(name)
        row = self.states()[name + ".so"]
        self.assertEqual(row["state"], "broken", row)
        done = self.call("run", "-q", self.harmless)
        self.assertEqual(done.returncode, 0, (name, done.stderr))
        self.assertIn("harmless", done.stdout)
        self.assertEqual(done.stderr.count(path), 1, done.stderr)
        for word in words:
            self.assertIn(word, row["reason"])
            self.assertIn(word, done.stderr)

    def test_a_crash(self):
        for where in ("load", "entry", "init", "describe", "fini"):
            self.left_out(f"{where}-segv", WHERE[where],
                          *([] if INSTRUMENTED else ["it crashed", "Segmentation fault"]))
        self.left_out("init-abort", "init()")

    @unittest.skipIf(INSTRUMENTED, "a sanitizer's stack is larger")
    def test_the_end_of_the_stack(self):
        self.left_out("load-stack", "it crashed", WHERE["load"])

    def test_an_end_of_the_process(self):
        for what, places in (("exit", ("load", "init", "describe", "fini")), ("leave", ("init", "fini")),
                             ("kernel", ("load", "describe"))):
            for where in places:
                self.left_out(f"{where}-{what}", "it ended the process", WHERE[where])

    def test_a_signal_from_outside_is_no_fault_of_a_plugin(self):
        self.add("init-ended")
        done = subprocess.run([hostile.PROGRAM, "plugins", "list", "-o", "json"], capture_output=True, text=True,
                              env=self.environment(), timeout=hostile.PATIENCE, start_new_session=True)
        states = {os.path.basename(row["file"]): row["state"] for row in json.loads(done.stdout)}
        self.assertEqual(states["init-ended.so"], "ready", done.stderr)

    def test_no_end(self):
        self.left_out("init-loop", "it did not come back from init() within 1 s")
        self.left_out("load-sleep", "it did not come back from", WHERE["load"], "within 1 s")

    def test_its_own_kind_is_missed_with_the_reason(self):
        path = self.add("init-segv")
        for words in (["run"], ["render"]):
            done = self.call(*words, self.hostile)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(path, done.stderr)
            self.assertIn("init()", done.stderr)
        done = self.call("crds", "--kind", "HostileJob")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(path, done.stderr)

    def test_check_names_file_and_operation(self):
        for name, words in (("init-leave", "it ended the process in init()"),
                            ("init-loop", "did not come back from init()")):
            path = self.add(name)
            done = self.call("plugins", "check", path)
            self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
            self.assertIn(words, done.stderr)
            self.assertIn(path, done.stderr)
        self.assertEqual(self.call("plugins", "check", self.add("fine")).returncode, 0)

    def test_others_beside_it_are_ready(self):
        self.add("fine", "init-segv", "load-leave")
        states = {name: row["state"] for name, row in self.states().items()}
        self.assertEqual((states["fine.so"], states["init-segv.so"], states["load-leave.so"]),
                         ("ready", "broken", "broken"))
        self.assertEqual({states[f"{name}.so"] for name in ("mpi", "paddle", "pytorch", "tensorflow", "xgboost")},
                         {"ready"})

    def test_a_definition_that_cannot_be_made(self):
        """crds and manifests of all other kinds are printed."""
        for name, words in (("cel-at", 'cel_rules[0].at is "nowhere"'),
                            ("cel-text", "cel_rules[0].rule must be a string"),
                            ("cel-empty", "cel_rules[0].rule is empty"), ("cel-none", "cel_rules[0].rule is missing"),
                            ("cel-item", "cel_rules[0] must be an object"), ("cel-open", '")" is expected'),
                            ("cel-quote", "no closing quote"), ("cel-member", "massage"),
                            ("cel-reason", "FieldValueInvalid"), ("rbac-item", "rbac_rules[0] must be an object"),
                            ("columns-item", "columns[0].name must be a string"),
                            ("schema-scalar", "spec_schema.size must be a schema")):
            path = self.add(name)
            check = self.call("plugins", "check", path)
            self.assertEqual(check.returncode, 1, check.stdout)
            self.assertIn(words, check.stderr)
            for command in ("crds", "manifests") if name in ("cel-at", "rbac-item") else ("crds",):
                done = self.call(command)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("pytorchjobs", done.stdout)
                self.assertNotIn("hostilejobs", done.stdout)
                self.assertEqual(done.stderr.count(path), 1, done.stderr)


class Trust(Case):
    def test_what_is_not_allowed_is_not_opened(self):
        self.file("roundhouse.ini", "[plugins]\nallow = pytorch\nisolation = none\n")
        mark = os.path.join(self.folder, "mark")
        self.add("load-leave", "other")
        done = self.call("plugins", "list", "-o", "json", HOSTILE_MARK=mark)
        rows = {os.path.basename(row["file"]): row for row in json.loads(done.stdout)}
        for name in ("load-leave", "other", "mpi"):
            self.assertEqual(rows[f"{name}.so"]["state"], "disabled")
            self.assertIn(f'"{name}" is not among those that [plugins] allow names', rows[f"{name}.so"]["reason"])
        self.assertEqual(rows["pytorch.so"]["state"], "ready")
        self.assertFalse(os.path.exists(mark))
        self.file("roundhouse.ini", "[plugins]\nallow = pytorch fine\nisolation = none\n")
        self.add("fine")
        self.call("plugins", "list", HOSTILE_MARK=mark)
        self.assertTrue(os.path.exists(mark))

    def test_a_name_of_another_file_is_not_enough(self):
        """A plugin that is called as an allowed one, in a file of another name."""
        self.file("roundhouse.ini", "[plugins]\nallow = fine mpi\n")
        shutil.copyfile(os.path.join(hostile.OWN, "pytorch.so"), os.path.join(self.plugins, "fine.so"))
        done = self.call("plugins", "list")
        self.assertIn('its name "pytorch" is not among those', done.stdout)

    def test_who_else_can_write(self):
        mark = os.path.join(self.folder, "mark")
        path = self.add("fine")
        for target, mode, words in ((path, 0o664, "by its group"), (path, 0o646, "by every user"),
                                    (self.plugins, 0o775, "by its group"), (self.plugins, 0o777, "by every user"),
                                    (self.folder, 0o777, "by every user")):
            before = os.stat(target).st_mode & 0o7777
            os.chmod(target, mode)
            done = self.call("plugins", "check", path, HOSTILE_MARK=mark)
            os.chmod(target, before)
            self.assertEqual(done.returncode, 1, (target, oct(mode), done.stdout))
            self.assertIn(f'"{target}" can be written {words}; take that away with chmod', done.stderr)
        self.assertFalse(os.path.exists(mark))

    def test_a_configuration_that_others_can_write(self):
        self.add("fine")
        for target, mode in ((self.ini, 0o666), (self.ini, 0o664), (self.folder, 0o777)):
            before = os.stat(target).st_mode & 0o7777
            os.chmod(target, mode)
            done = self.call("lint", self.harmless)
            os.chmod(target, before)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f'configuration "{self.ini}": ', done.stderr)
            self.assertIn(f'"{target}" can be written by', done.stderr)


hostile.main()
