# SPDX-License-Identifier: Apache-2.0
"""The allow-list of plugins: names, hashes and signatures are checked before anything of a file runs."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "containment"))
from hostile import OWN, Case  # pylint: disable=wrong-import-position

MINISIGN = shutil.which("minisign")


class Allow(Case):
    def setUp(self):
        super().setUp()
        self.mark = os.path.join(self.folder, "mark")

    def ini_with(self, *lines, name="roundhouse.ini"):
        return self.file(name, "\n".join(["[plugins]", *lines]) + "\n")

    def row(self, name):
        """The state of a plugin, the same in a process of its own and in the program's, and whether its code ran in
        that."""
        rows = []
        for how in ("process", "none"):
            done = self.call("plugins", "list", "-o", "json", "--plugin-isolation", how, HOSTILE_MARK=self.mark)
            self.assertEqual(done.returncode, 0, done.stderr)
            rows.append({os.path.basename(row["file"]): row for row in json.loads(done.stdout)}[name + ".so"])
        self.assertEqual(*(row["state"] for row in rows))
        ran = os.path.exists(self.mark)
        if ran:
            os.unlink(self.mark)
        return rows[0], ran

    def test_a_hash(self):
        path = self.add("fine")
        own, fine = (hashlib.sha256(pathlib.Path(file).read_bytes()).hexdigest()
                     for file in (os.path.join(OWN, "mpi.so"), path))
        self.ini_with(f"allow = mpi@sha256:{own.upper()}", f"allow = fine@sha256:{fine}")
        self.assertEqual(self.row("mpi")[0]["state"], "ready")
        self.assertTrue(self.row("fine")[1])
        with open(path, "ab") as file:
            file.write(b"\n")
        row, ran = self.row("fine")
        self.assertEqual((row["state"], ran), ("refused", False), row)
        self.assertIn(f"and not {fine} as {self.ini}:3 says; restore the file, or", row["reason"])
        self.assertIn("its SHA-256 is " + hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest(), row["reason"])

    def test_a_pin_without_a_list(self):
        """A file of plugins.d checks the hash of its plugin, and does not switch the others off."""
        path = self.add("fine")
        os.mkdir(os.path.join(self.folder, "plugins.d"), 0o755)
        self.ini_with()
        pin = self.ini_with("allow = fine@sha256:" + "0" * 64, name="plugins.d/fine.ini")
        row, ran = self.row("fine")
        self.assertEqual((row["state"], ran), ("refused", False))
        self.assertIn(f"as {pin}:2 says", row["reason"])
        self.assertEqual(self.row("mpi")[0]["state"], "ready")
        os.unlink(path)
        self.assertIn(f'{pin}:2: allow: there is no file "fine.so" in "', self.call("plugins").stderr)

    def test_names_without_a_file(self):
        for name, hint in (("pytoch", 'did you mean "pytorch"?'), ("unheard-of", "install it, or remove the name")):
            self.ini_with("time-limit = 1s", f"allow = mpi, {name}")
            for command in (["plugins"], ["lint", self.harmless], ["run", self.harmless]):
                done = self.call(*command)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(f'{self.ini}:3: allow: there is no file "{name}.so" in ', done.stderr)
                self.assertIn(hint, done.stderr)

    def test_a_list_that_is_malformed(self):
        for value, words in (("mpi@sha256:12", "is neither NAME nor NAME@sha256:HASH"),
                             ("mpi, mpi", '"mpi" is named twice'), ("mpi.so", "is a file; write the plugin's name")):
            self.ini_with(f"allow = {value}")
            done = self.call("plugins")
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertIn(f"{self.ini}:2: allow: ", done.stderr)
            self.assertIn(words, done.stderr)

    def test_no_signature(self):
        path = self.add("fine")
        self.ini_with("public-key = RWSUrf0YGkbLCgXDum42e52BVUpUeeI4tknevFXQfkxHGC2QZPHlLaWw")
        row, ran = self.row("fine")
        self.assertEqual((row["state"], ran), ("refused", False))
        self.assertIn(f'it has no signature "{os.path.realpath(path)}.minisig", which [plugins] public-key demands; '
                      'sign it with', row["reason"])
        self.file("plugins/fine.so.minisig", "x")
        self.assertIn("it is not a signature of minisign; sign the file with minisign -Sm FILE",
                      self.row("fine")[0]["reason"])

    @unittest.skipUnless(MINISIGN, "minisign is not installed (Debian: minisign)")
    def test_signatures_of_minisign(self):
        path = self.add("fine")
        public, secret = os.path.join(self.folder, "key.pub"), os.path.join(self.folder, "key")
        subprocess.run([MINISIGN, "-G", "-W", "-p", public, "-s", secret], check=True, stdout=subprocess.DEVNULL,
                       timeout=60)
        self.ini_with("public-key = " + pathlib.Path(public).read_text(encoding="utf-8").split("\n")[1])
        subprocess.run([MINISIGN, "-S", "-W", "-s", secret, "-m", path], check=True, stdout=subprocess.DEVNULL,
                       timeout=60)
        row, ran = self.row("fine")
        self.assertEqual((row["state"], ran), ("ready", True), row)
        with open(path, "ab") as file:
            file.write(b"\n")
        row, ran = self.row("fine")
        self.assertEqual((row["state"], ran), ("refused", False), row)
        self.assertIn("the file has changed since it was signed", row["reason"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
