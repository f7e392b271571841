# SPDX-License-Identifier: Apache-2.0
"""Which Python has torch 2: that of the third argument of a test, else the environment that examples/setup made for
pytorch."""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys

import kit


def _made():
    loader = importlib.machinery.SourceFileLoader("setup", os.path.join(kit.SOURCE, "examples", "setup"))
    setup = importlib.util.module_from_spec(importlib.util.spec_from_loader("setup", loader))
    loader.exec_module(setup)
    framework = setup.Framework("pytorch", setup.PYTHON)
    if not framework.ready():
        kit.skip("the environment of pytorch is not made; run examples/setup pytorch")
    return str(framework.place / "bin" / "python")


def given():
    """Whether the caller named a Python."""
    return len(sys.argv) > 3 and sys.argv[3] != "--case"


def python():
    """A Python with torch 2; without one the test is skipped, with the reason."""
    found = sys.argv[3] if given() else _made()
    if subprocess.run([found, "-c", "import torch; assert int(torch.__version__.split('.')[0]) >= 2"],
                      stderr=subprocess.DEVNULL, check=False).returncode != 0:
        kit.skip(f"{found} has no torch 2")
    return found
