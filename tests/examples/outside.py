# SPDX-License-Identifier: Apache-2.0
"""The plugin of an example, built against nothing but an installation, as its author would."""
import atexit
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import kit


def quietly(*words):
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))} failed:\n{done.stdout}")


def build_with_cmake(cmake, source, prefix):
    quietly(cmake, "-S", source, "-B", source / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    quietly(cmake, "--build", source / "build")
    quietly(cmake, "--install", source / "build", "--prefix", prefix)


def build_with_cargo(source, prefix):
    if not shutil.which("cargo"):
        kit.skip("cargo is not installed; apt-get install cargo")
    cargo = source / "Cargo.toml"
    cargo.write_text(cargo.read_text().replace("/usr/local", str(prefix)))
    quietly("make", "-C", source, "install", f"PREFIX={prefix}")


def install(name, cmake):
    """Install the build and the plugin into a folder of their own; returns the program there."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"roundhouse-{name}-"))
    atexit.register(shutil.rmtree, folder)
    prefix, source = folder / "prefix", folder / name
    quietly(cmake, "--install", os.path.dirname(os.path.dirname(kit.PROGRAM)), "--prefix", prefix)
    # a copy, so that no path leads back to the sources
    shutil.copytree(os.path.join(kit.EXAMPLES, "plugins", name), source)
    if (source / "Cargo.toml").exists():
        build_with_cargo(source, prefix)
    else:
        build_with_cmake(cmake, source, prefix)
    return str(prefix / "bin" / "roundhouse")
