#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the wheel. It is the build backend of pyproject.toml, and a program for the build:

    backend.py --output FOLDER [--library librhcomm.so.0] [--platform linux_x86_64] [--backend librhcomm_ucx.so ...]
    backend.py --name

Nothing but Python itself is needed, and no network. The same files give the same wheel to the bit. Without a library
the wheel is of Python alone, and librhcomm.so.0 is looked for where the system looks, or where RH_COMM_LIBRARY says. As
a build backend it takes the library that RH_COMM_LIBRARY names into the wheel.
"""
import argparse
import base64
import hashlib
import os
import pathlib
import re
import sys
import sysconfig
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = "librhcomm.so.0"
# the oldest time that a zip can hold
TIME = (1980, 1, 1, 0, 0, 0)


def setting(name):
    """A text of pyproject.toml. tomllib is of Python 3.11, and this file is as simple as it can be."""
    return re.search(rf'^{name} = "(.*)"$', (HERE / "pyproject.toml").read_text(), re.M)[1]


def metadata():
    head = [("Metadata-Version", "2.1"), ("Name", setting("name")), ("Version", setting("version")),
            ("Summary", setting("description")), ("License", "Apache-2.0"),
            ("Requires-Python", setting("requires-python")), ("Description-Content-Type", "text/markdown")]
    return "".join(f"{key}: {value}\n" for key, value in head) + "\n" + (HERE / "README.md").read_text()


def platform_tag():
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def package_files():
    return sorted(path for path in (HERE / "roundhouse").rglob("*.py"))


def wheel_base():
    return f"{setting('name')}-{setting('version')}"


def wheel_name(platform):
    return f"{wheel_base()}-py3-none-{platform}.whl"


class Wheel:
    """A wheel that is being written, and the list of what it holds."""

    def __init__(self, folder, platform):
        self.tag, self.base, self.name = f"py3-none-{platform}", wheel_base(), wheel_name(platform)
        self.path = pathlib.Path(folder) / self.name
        self.fresh = self.path.with_name(self.name + ".new")
        self.zip = zipfile.ZipFile(self.fresh, "w", zipfile.ZIP_DEFLATED)
        self.record = []

    def add(self, name, data, executable=False):
        about = zipfile.ZipInfo(name, TIME)
        about.external_attr = (0o755 if executable else 0o644) << 16
        about.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(about, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def finish(self):
        info = f"{self.base}.dist-info"
        self.add(f"{info}/METADATA", metadata().encode())
        pure = "true" if self.tag.endswith("-any") else "false"
        self.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: roundhouse\nRoot-Is-Purelib: {pure}\nTag: "
                 f"{self.tag}\n".encode())
        self.record.append(f"{info}/RECORD,,")
        self.zip.writestr(zipfile.ZipInfo(f"{info}/RECORD", TIME), "\n".join(self.record) + "\n")
        self.zip.close()
        os.replace(self.fresh, self.path)
        return self.name


def make(folder, library=None, backends=(), platform=None):
    """Write the wheel; returns its name."""
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    wheel = Wheel(folder, (platform or platform_tag()) if library else "any")
    for path in package_files():
        wheel.add(path.relative_to(HERE).as_posix(), path.read_bytes())
    if library:
        wheel.add(f"roundhouse/{LIBRARY}", pathlib.Path(library).read_bytes(), executable=True)
    for path in sorted(map(pathlib.Path, backends)):
        wheel.add(f"roundhouse/{path.name}", path.read_bytes(), executable=True)
    return wheel.finish()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517."""
    return make(wheel_directory, os.environ.get("RH_COMM_LIBRARY"), platform=os.environ.get("RH_COMM_PLATFORM"))


def build_sdist(sdist_directory, config_settings=None):
    """PEP 517."""
    base = wheel_base()
    files = [HERE / name for name in ("backend.py", "pyproject.toml", "README.md")] + package_files()
    with tarfile.open(pathlib.Path(sdist_directory) / f"{base}.tar.gz", "w:gz") as archive:
        for path in files:
            archive.add(path, f"{base}/{path.relative_to(HERE).as_posix()}")
    return f"{base}.tar.gz"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--output")
    parser.add_argument("--name", action="store_true", help="say what the wheel with a library is called, and make "
                        "nothing")
    parser.add_argument("--library")
    parser.add_argument("--backend", action="append", default=[])
    parser.add_argument("--platform")
    asked = parser.parse_args()
    if asked.name:
        print(wheel_name(asked.platform or platform_tag()))
        return
    if not asked.output:
        parser.error("--output is missing")
    print(make(asked.output, asked.library, asked.backend, asked.platform))


if __name__ == "__main__":
    main()
