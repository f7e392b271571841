# SPDX-License-Identifier: Apache-2.0
"""Which libraries a command loads: each takes time of every start, and memory of every pod. libcrypto alone takes 3 MiB
and 4 ms; it is loaded where a hash, a signature or a pair of keys is needed."""
import os
import pathlib
import re

from program import SOURCE, Case, call, job, main

HEAVY = re.compile(r"lib(crypto|ssl|gnutls|curl|microhttpd)\.so")
KEYS = os.path.join(SOURCE, "tests/goldens/mpi2/objects/ompi-2w.yaml")


class Loads(Case):
    def loaded(self, *words):
        """What the program and its processes load for a command that must end well."""
        done = call(*words, env={"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": os.path.join(self.folder, "loads")})
        self.assertEqual(done.returncode, 0, done.stderr)
        notes = list(pathlib.Path(self.folder).glob("loads.*"))
        self.assertTrue(notes)
        return set(HEAVY.findall("".join(re.findall(r"calling init: .*\n", "".join(
            note.read_text(errors="replace") for note in notes)))))

    def test_a_run_and_lint_load_no_library_for_keys(self):
        for isolation in ("none", "process"):
            more = [f"--plugin-isolation={isolation}", self.file(job())]
            self.assertEqual(self.loaded("lint", *more), set())
            self.assertEqual(self.loaded("run", *more), set())

    def test_who_makes_keys_loads_it(self):
        self.assertEqual(self.loaded("render", KEYS), {"crypto"})


main()
