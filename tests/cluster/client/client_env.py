# SPDX-License-Identifier: Apache-2.0
"""A published Python client, unmodified, in an environment of its own: that of Training Operator V1, or Kubeflow
Trainer's.

It is made once, with pip, in ~/.cache/roundhouse/env-client-HASH; the hash is that of what it holds and of the Python.
"""
import fcntl
import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import sys

V1 = ("kubeflow-training==1.9.4",)
TRAINER = ("kubeflow==0.5.0", "kubeflow-trainer-api==2.3.0")
READY = ".roundhouse-ready"
SKIPPED = 77


class Missing(Exception):
    """Why the client is not to be had."""


def folder(requirements):
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    digest = hashlib.sha256("\n".join([*requirements, platform.python_version()]).encode()).hexdigest()
    return pathlib.Path(cache) / "roundhouse" / f"env-client-{digest[:12]}"


def make(place, requirements):
    """Two tests that start at once make it once."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with open(place.with_suffix(".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (place / READY).exists():
            return
        print(f"making {place}", flush=True)
        try:
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True, capture_output=True,
                           text=True)
            subprocess.run([str(place / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check",
                            *requirements],
                           check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            shutil.rmtree(place, ignore_errors=True)
            lines = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
            why = lines[-1] if lines else error
            raise Missing(f"{', '.join(requirements)} could not be installed: {why}") from error
        (place / READY).touch()


def python(requirements):
    """-> the path of the environment's Python, which is made where it is not there yet; raises Missing."""
    place = folder(requirements)
    if not (place / READY).exists():
        make(place, requirements)
    return place / "bin" / "python"


def is_inside(requirements):
    return pathlib.Path(sys.prefix) == folder(requirements)


def enter(requirements=V1):
    """Go on as the environment's Python, with the same arguments; where there is none, the test counts as skipped."""
    if is_inside(requirements):
        return
    try:
        there = str(python(requirements))
    except Missing as reason:
        print(f"SKIPPED: {reason}", flush=True)
        sys.exit(SKIPPED)
    os.execv(there, [there, "-B", *sys.argv])
