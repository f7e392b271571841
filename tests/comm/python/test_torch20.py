# SPDX-License-Identifier: Apache-2.0
"""The oldest torch that has the backend "rh". usage: test_torch20.py LIBRARY SOURCE

torch 2.0.1 is downloaded once, 2.2 GB with the libraries of CUDA that it does not start without, below
~/.cache/roundhouse/torch20.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import kit

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "roundhouse", "torch20")
PYTHON = "/usr/bin/python3"  # Debian's 3.11, for which there is a torch 2.0.1
# triton is left out: nothing is compiled here
PACKAGES = """
    torch==2.0.1 numpy==1.26.4 filelock==3.13.1 typing-extensions==4.9.0 sympy==1.12 networkx==3.2.1 jinja2==3.1.3
    markupsafe==2.1.5 mpmath==1.3.0 nvidia-cuda-nvrtc-cu11==11.7.99 nvidia-cuda-runtime-cu11==11.7.99
    nvidia-cuda-cupti-cu11==11.7.101 nvidia-cudnn-cu11==8.5.0.96 nvidia-cublas-cu11==11.10.3.66
    nvidia-cufft-cu11==10.9.0.58 nvidia-curand-cu11==10.2.10.91 nvidia-cusolver-cu11==11.4.0.1
    nvidia-cusparse-cu11==11.7.4.91 nvidia-nccl-cu11==2.14.3 nvidia-nvtx-cu11==11.7.91""".split()


def made():
    """The Python with torch 2.0.1."""
    python = str(CACHE / "bin" / "python")
    if (CACHE / "ready").exists():
        return python
    if subprocess.run([PYTHON, "-c", "import sys, ensurepip; assert sys.version_info[:2] == (3, 11)"],
                      stderr=subprocess.DEVNULL, check=False).returncode != 0:
        kit.skip(f"{PYTHON} is not Python 3.11 with venv, for which there is a torch 2.0.1; install python3-venv")
    shutil.rmtree(CACHE, ignore_errors=True)
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([PYTHON, "-m", "venv", str(CACHE)], check=True)
    subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-cache-dir", "--no-deps",
                    *PACKAGES], check=True)
    (CACHE / "ready").touch()
    return python


if "--case" not in sys.argv:
    # each rank gets these words too, and test_torch2 reads the Python from them
    sys.argv[3:] = [made()]
import test_torch2  # noqa: E402 (it looks for its Python when it is imported)

# what torch 2.0 does not have itself, or calls otherwise; and its new_group() waits for members that it refused
LEFT_OUT = r"sharded|in_the_background|without_devices|coalesced|group_of_some"


class Torch20(test_torch2.Torch2):
    def test_version(self):
        """Without `devices` in register_backend()."""
        script = """
import inspect, torch, torch.distributed as dist
assert torch.__version__.startswith("2.0.1")
assert "devices" not in inspect.signature(dist.Backend.register_backend).parameters
import roundhouse.torch
assert hasattr(dist.Backend, "RH")
"""
        subprocess.run([test_torch2.PYTHON, "-c", script], env=os.environ | {"PYTHONPATH": kit.PACKAGE}, check=True)


for _name in dir(Torch20):
    if re.search(LEFT_OUT, _name):
        setattr(Torch20, _name, None)

if __name__ == "__main__":
    kit.main()
