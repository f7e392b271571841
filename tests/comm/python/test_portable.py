# SPDX-License-Identifier: Apache-2.0
"""The wheel for old systems: its symbols, and two ranks in an older system. usage: test_portable.py LIBRARY SOURCE
C-SOURCE...

zig and the older system are downloaded once, below ~/.cache/roundhouse/portable; what is not available is printed, and
skipped.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import kit

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "roundhouse", "portable")
ZIG = "ziglang==0.17.1"
# Debian 10 has the C library 2.28, Debian 11 has 2.31; mirrors keep the former no longer everywhere.
SYSTEMS = [("buster", "http://archive.debian.org/debian"), ("buster", "http://deb.debian.org/debian"),
           ("bullseye", "http://deb.debian.org/debian")]
SCRIPT = """
import array, os, roundhouse
comm = roundhouse.Comm()
assert list(comm.all_reduce(array.array("f", [comm.rank + 1.0] * 100000))) == [3.0] * 100000
got = comm.all_gather(array.array("i", [comm.rank]), array.array("i", [0, 0]))
assert list(got) == [0, 1]
comm.close()
print("rank", comm.rank, "with", os.confstr("CS_GNU_LIBC_VERSION"))
"""


def zig():
    """A Python with ziglang."""
    place = CACHE / ZIG.replace("==", "-")
    if not (place / "ready").exists():
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        subprocess.run([str(place / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "-q",
                        ZIG], check=True)
        (place / "ready").touch()
    return str(place / "bin" / "python")


def system():
    """The folder of an older Debian with Python, and its name."""
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        raise unittest.SkipTest("an older system is made by debootstrap, as root; install debootstrap")
    tried = []
    for name, mirror in SYSTEMS:
        place = CACHE / name
        if (place / "ready").exists():
            return place, name
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        made = subprocess.run(["debootstrap", "--variant=minbase", "--include=python3-minimal,libpython3-stdlib", name,
                               str(place), mirror],
                              capture_output=True, text=True, check=False)
        if made.returncode == 0:
            (place / "ready").touch()
            return place, name
        shutil.rmtree(place, ignore_errors=True)
        tried.append(f"{name} from {mirror}: {(made.stderr or made.stdout).strip().splitlines()[-1:]}")
    raise unittest.SkipTest("no older system can be had; " + "; ".join(tried))


class Portable(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        made = subprocess.run([sys.executable, "-B", os.path.join(kit.PACKAGE, "portable.py"), "--output",
                               cls.folder.name, "--zig", PYTHON, *sys.argv[3:]], check=True, stdout=subprocess.PIPE,
                              text=True)
        cls.wheel = pathlib.Path(cls.folder.name, made.stdout.strip())

    def libraries(self):
        with zipfile.ZipFile(self.wheel) as wheel, tempfile.TemporaryDirectory() as folder:
            for name in wheel.namelist():
                if ".so" in name:
                    yield name, wheel.extract(name, folder)

    def test_is_tagged(self):
        self.assertRegex(self.wheel.name, r"^roundhouse-[\d.]+-py3-none-manylinux_2_28_\w+\.whl$")

    def test_needs_no_newer_symbols(self):
        seen = []
        for name, path in self.libraries():
            seen.append(name)
            outputs = subprocess.run(["objdump", "-T", path], check=True, capture_output=True, text=True).stdout
            newer = [found for found in re.findall(r"GLIBC_([0-9.]+)", outputs)
                     if tuple(map(int, found.split("."))) > (2, 28)]
            self.assertEqual(newer, [], name)
        self.assertIn("roundhouse/librhcomm.so.0", seen)

    def test_needs_the_c_library_alone(self):
        for name, path in self.libraries():
            outputs = subprocess.run(["objdump", "-p", path], check=True, capture_output=True, text=True).stdout
            needed = set(re.findall(r"NEEDED\s+(\S+)", outputs))
            self.assertLessEqual(needed, {"libc.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libm.so.6",
                                          "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}, name)

    def test_exports_what_the_other_exports(self):
        def names(path):
            outputs = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True,
                                     text=True).stdout
            return {line.split()[-1].split("@")[0] for line in outputs.splitlines() if "rh_" in line}
        for name, path in self.libraries():
            if name.endswith("librhcomm.so.0"):
                self.assertEqual(names(path), names(kit.LIBRARY))

    def test_two_ranks_in_an_older_system(self):
        root, name = system()
        place = pathlib.Path(tempfile.mkdtemp(dir=root / "tmp"))
        self.addCleanup(shutil.rmtree, place)
        with zipfile.ZipFile(self.wheel) as wheel:
            wheel.extractall(place)
        (place / "script.py").write_text(SCRIPT)
        inside, port = "/" + str(place.relative_to(root)), kit.free_port()
        children = []
        for rank in range(2):
            environment = kit.environment(rank, 2, port, "rh", {"PYTHONPATH": inside, "PATH": "/usr/bin:/bin"})
            del environment["RH_COMM_LIBRARY"]
            children.append(subprocess.Popen([shutil.which("chroot"), str(root), "/usr/bin/python3",
                                              inside + "/script.py"], env=environment,
                                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        outputs = [child.communicate(timeout=kit.TIMEOUT)[0] for child in children]
        self.assertEqual([child.returncode for child in children], [0, 0], outputs)
        print(name, outputs)


if __name__ == "__main__":
    try:
        PYTHON = zig()
    except (OSError, subprocess.CalledProcessError) as error:
        kit.skip(f"{ZIG} cannot be had: {error}; it comes from the package index")
    unittest.main(argv=sys.argv[:1], verbosity=2)
