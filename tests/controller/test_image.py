#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_image.py BUILD_DIR: the container image of this build: whole, the same each time, and its programs start in it."""
import gzip
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

BUILD = sys.argv.pop(1) if len(sys.argv) > 1 else "build/dev"
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "image.sh"
NAME = "registry.example/team/roundhouse:9.9"


def make(out):
    done = subprocess.run([SCRIPT, "-b", os.path.abspath(BUILD), "-t", NAME, out], capture_output=True, text=True,
                          env={**os.environ, "SOURCE_DATE_EPOCH": "1767225600"})
    assert done.returncode == 0, done.stderr
    return done.stdout


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.said = make(cls.folder / "one.tar")
        with tarfile.open(cls.folder / "one.tar") as archive:
            cls.files = {info.name: archive.extractfile(info).read() for info in archive if info.isfile()}
        cls.index = json.loads(cls.files["index.json"])
        cls.manifest = json.loads(cls.blob(cls.index["manifests"][0]))
        cls.config = json.loads(cls.blob(cls.manifest["config"]))
        cls.tar = gzip.decompress(cls.blob(cls.manifest["layers"][0]))
        with tarfile.open(fileobj=io.BytesIO(cls.tar)) as layer:
            cls.entries = {info.name: info for info in layer}

    @classmethod
    def blob(cls, described):
        data = cls.files["blobs/sha256/" + described["digest"].removeprefix("sha256:")]
        assert len(data) == described["size"] and hashlib.sha256(data).hexdigest() == described["digest"][7:]
        return data

    def test_names(self):
        self.assertEqual(json.loads(self.files["oci-layout"]), {"imageLayoutVersion": "1.0.0"})
        notes = self.index["manifests"][0]["annotations"]
        self.assertEqual(notes, {"io.containerd.image.name": NAME, "org.opencontainers.image.ref.name": "9.9"})
        self.assertEqual(self.config["rootfs"]["diff_ids"], ["sha256:" + hashlib.sha256(self.tar).hexdigest()])
        self.assertIn(self.index["manifests"][0]["digest"], self.said)
        self.assertIn("MB packed", self.said)

    def test_not_root(self):
        self.assertEqual(self.config["config"]["User"], "65532:65532")
        self.assertEqual(self.entries["tmp"].mode, 0o1777)
        self.assertEqual({(info.uid, info.gid) for info in self.entries.values()}, {(0, 0)})
        self.assertEqual([name for name, info in self.entries.items() if info.mode & 0o6000], [])

    def test_manager(self):
        self.assertEqual(self.entries["manager"].linkname, "usr/bin/roundhouse-controller")

    def test_same_each_time(self):
        make(self.folder / "two.tar")
        self.assertEqual((self.folder / "one.tar").read_bytes(), (self.folder / "two.tar").read_bytes())

    def test_starts(self):
        """In a root file system that holds nothing else."""
        if os.geteuid() != 0:
            self.skipTest("chroot needs root")
        root = self.folder / "root"
        with tarfile.open(fileobj=io.BytesIO(self.tar)) as layer:
            layer.extractall(root)
        environment = dict(pair.split("=", 1) for pair in self.config["config"]["Env"])
        for command, said in ((["/manager", "--help"], "--leader-election-id"),
                              (["/usr/bin/roundhouse", "plugins", "list"], "PyTorchJob")):
            done = subprocess.run(["/usr/sbin/chroot", "--userspec=65532:65532", root, *command], capture_output=True, text=True,
                                  env=environment)
            self.assertIn(said, done.stdout, done.stderr)


if __name__ == "__main__":
    unittest.main()
