# SPDX-License-Identifier: Apache-2.0
"""The wheel: what it holds, that it is the same each time, that it installs without a network. usage: test_wheel.py
LIBRARY SOURCE WHEEL"""
import csv
import hashlib
import base64
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

import kit

WHEEL = pathlib.Path(sys.argv[3])


def backend():
    spec = importlib.util.spec_from_file_location("backend", os.path.join(kit.PACKAGE, "backend.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Wheel(unittest.TestCase):
    def test_holds_all_of_the_package_and_the_library(self):
        with zipfile.ZipFile(WHEEL) as wheel:
            names = set(wheel.namelist())
            with open(kit.LIBRARY, "rb") as library:
                self.assertEqual(wheel.read("roundhouse/librhcomm.so.0"), library.read())
            for path in pathlib.Path(kit.PACKAGE, "roundhouse").rglob("*.py"):
                self.assertEqual(wheel.read(path.relative_to(kit.PACKAGE).as_posix()), path.read_bytes())
            self.assertFalse([name for name in names if "__pycache__" in name])
            backends = {f"roundhouse/{path.name}" for path in pathlib.Path(kit.LIBRARY).parent.glob("librhcomm_*.so")}
            self.assertLessEqual(backends, names)

    def test_record(self):
        with zipfile.ZipFile(WHEEL) as wheel:
            record = next(name for name in wheel.namelist() if name.endswith(".dist-info/RECORD"))
            rows = list(csv.reader(wheel.read(record).decode().splitlines()))
            self.assertEqual({row[0] for row in rows}, set(wheel.namelist()))
            for name, digest, size in rows:
                if name != record:
                    data = wheel.read(name)
                    self.assertEqual((digest, size), ("sha256=" + base64.urlsafe_b64encode(
                        hashlib.sha256(data).digest()).rstrip(b"=").decode(), str(len(data))))

    def test_same_files_same_wheel(self):
        with tempfile.TemporaryDirectory() as folder:
            twice = []
            for name in ("a", "b"):
                made = backend().make(os.path.join(folder, name), kit.LIBRARY, platform="linux_x86_64")
                self.assertEqual(made, "roundhouse-0.1.0-py3-none-linux_x86_64.whl")
                twice.append(pathlib.Path(folder, name, made).read_bytes())
            self.assertEqual(*twice)

    def test_without_library_it_is_for_any_platform(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(backend().make(folder), "roundhouse-0.1.0-py3-none-any.whl")

    def test_versions_agree(self):
        import roundhouse
        self.assertEqual(backend().setting("version"), roundhouse.__version__)
        with open(os.path.join(kit.SOURCE, "CMakeLists.txt"), encoding="utf-8") as file:
            self.assertIn(f"VERSION {roundhouse.__version__} ", file.read())


class Install(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        made = subprocess.run([sys.executable, "-m", "venv", self.folder.name], capture_output=True, text=True,
                              check=False)
        if made.returncode != 0:
            self.skipTest(f"{sys.executable} makes no environments; install python3-venv")

    def test_installs_and_runs_without_network(self):
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("RH_", "PYTHON"))}
        python = os.path.join(self.folder.name, "bin", "python")
        subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-index", str(WHEEL)],
                       env=clean, check=True)
        script = ("import array, roundhouse, roundhouse.library as l; c = roundhouse.Comm(0, 1); "
                  "c.all_reduce(array.array('f', [1.0]));"
                  "c.close(); print(l.lib._name)")
        output = subprocess.run([python, "-c", script], env=clean, check=True, capture_output=True, text=True).stdout
        self.assertTrue(output.startswith(self.folder.name) and output.strip().endswith("roundhouse/librhcomm.so.0"),
                        output)


kit.main()
