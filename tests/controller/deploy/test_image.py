#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_image.py BUILD_DIR: the container image of this build: whole, the same each time, and its programs start in
it."""
import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

BUILD = sys.argv.pop(1) if len(sys.argv) > 1 else "build/dev"
SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "packaging" / "image.sh"
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
        cls.output = make(cls.folder / "one.tar")
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
        self.assertIn(self.index["manifests"][0]["digest"], self.output)
        self.assertIn("MB packed", self.output)

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

    def unpack(self):
        """-> a root file system that holds nothing else but /proc and /dev, as in a container, and how to start a
        command in it"""
        if os.geteuid() != 0:
            self.skipTest("chroot needs root")
        root = self.folder / self.id()
        with tarfile.open(fileobj=io.BytesIO(self.tar)) as layer:
            layer.extractall(root)
        for name in ("proc", "dev"):
            (root / name).mkdir(exist_ok=True)
        environment = dict(pair.split("=", 1) for pair in self.config["config"]["Env"])
        enter = ('mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot --userspec=65532:65532 '
                 '"$0" "$@"')
        start = ["/usr/bin/unshare", "--mount", "--pid", "--fork", "/bin/sh", "-c",
                 f"PATH=/usr/sbin:/usr/bin:/sbin:/bin; {enter}", root]
        return root, lambda *command: subprocess.run([*start, *command], capture_output=True, text=True,
                                                     env=environment)

    def test_wheel(self):
        """Another wheel takes the place of the build's; names are of the folder in which one types."""
        wheel = next(pathlib.Path(BUILD).glob("comm/python/roundhouse-*.whl"))
        shutil.copy(wheel, self.folder / wheel.name)
        with zipfile.ZipFile(self.folder / wheel.name, "a") as archive:
            archive.writestr("roundhouse/other.txt", "another")
        done = subprocess.run([SCRIPT, "-b", os.path.abspath(BUILD), "-t", NAME, "-w", wheel.name, "wheel.tar"],
                              capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = []
        with tarfile.open(self.folder / "wheel.tar") as archive:
            for info in archive:
                data = archive.extractfile(info).read()
                if data.startswith(b"\x1f\x8b"):
                    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(data))) as layer:
                        found = [entry for entry in layer.getnames() if entry.endswith("inject/roundhouse/other.txt")]
        self.assertEqual(found, ["usr/share/roundhouse/inject/roundhouse/other.txt"])
        done = subprocess.run([SCRIPT, "-b", os.path.abspath(BUILD), "-t", NAME, "-w", "none.whl", "none.tar"],
                              capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no wheel", done.stderr)

    def test_starts(self):
        _, run = self.unpack()
        for command, expected in ((["/manager", "--help"], "--leader-election-id"),
                              (["/usr/bin/roundhouse", "plugins", "list"], "PyTorchJob"),
                              (["/usr/bin/roundhouse", "comm", "--help"], "all-reduce"),
                              (["/usr/bin/roundhouse-comm", "check", "--local", "1"], "1 rank"),
                              (["/usr/bin/roundhouse", "ps", "--help"], "--rule")):
            done = run(*command)
            self.assertIn(expected, done.stdout, (command, done.stderr))

    def test_plugins_in_other_languages(self):
        """What they load is there."""
        self.assertLessEqual({"lib/libstdc++.so.6", "lib/libgcc_s.so.1", "lib/libm.so.6"}, set(self.entries))
        compiler = shutil.which("c++")
        if not compiler:
            self.skipTest("no compiler for C++")
        root, run = self.unpack()
        tree = SCRIPT.parents[1]
        subprocess.run([compiler, "-std=c++17", "-fPIC", "-shared", f"-I{tree}/include",
                        f"-Wl,--version-script={tree}/cmake/plugin.map",
                        "-o", root / "usr/lib/roundhouse/plugins/dask.so", tree / "examples/plugins/dask/dask.cpp"],
                       check=True)
        done = run("/usr/bin/roundhouse", "plugins", "check", "/usr/lib/roundhouse/plugins/dask.so")
        self.assertIn("serves DaskJob", done.stdout, done.stderr)

    def test_inject(self):
        """Into a folder that others share: the package for their Python, and the programs, with the library beside
        them."""
        root, run = self.unpack()
        for again in range(2):
            done = run("/usr/bin/roundhouse", "inject", "/tmp/shared")
            self.assertEqual(done.returncode, 0, (again, done.stderr))
            self.assertIn("/tmp/shared: ", done.stdout)
        shared = root / "tmp" / "shared"
        clean = {key: value for key, value in os.environ.items() if key not in ("LD_LIBRARY_PATH", "RH_COMM_LIBRARY")}
        script = ("import roundhouse, roundhouse.library as l; print(roundhouse.__file__, l.__file__)\nwith "
                  "roundhouse.Comm() as c: print(c.world)")
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                              env={**clean, "PYTHONPATH": str(shared), "RH_COMM_RANK": "0", "RH_COMM_WORLD": "1",
                                   "RH_COMM_HOST": "127.0.0.1", "RH_COMM_PORT": "1"})
        self.assertIn(str(shared), done.stdout, done.stderr)
        self.assertTrue(done.stdout.endswith("\n1\n"), done.stdout)
        done = subprocess.run([shared / "bin" / "roundhouse-comm", "check", "--local", "2", "--time", "1"],
                              capture_output=True, text=True, env=clean)
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        maps = subprocess.run(["ldd", shared / "bin" / "roundhouse-ps"], capture_output=True, text=True, check=True,
                              env=clean).stdout
        self.assertIn(f"{shared}/", maps)
        done = run("/usr/bin/roundhouse", "inject", "/usr/share/none")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/usr/share/none", done.stderr)


if __name__ == "__main__":
    unittest.main()
