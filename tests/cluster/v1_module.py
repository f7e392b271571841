# SPDX-License-Identifier: Apache-2.0
"""The Go modules of Training Operator V1 and of Kubeflow Trainer, for tests that compare with their own manifests.

The first look fetches it, which needs a network and some Go (assets.py); later ones find it in the cache.
"""
import json
import os
import pathlib
import subprocess
import tempfile

import apiserver
import assets

MODULE = "github.com/kubeflow/training-operator@v1.8.1"
TRAINER = "github.com/kubeflow/trainer/v2@v2.3.0"


class Absent(Exception):
    """Why the module cannot be had."""


def find(module=MODULE):
    """-> its folder where some Go has fetched it before, or None. Never asks the network."""
    path = os.environ.get("GOPATH") or os.path.join(os.path.expanduser("~"), "go")
    caches = [os.environ.get("GOMODCACHE"), os.path.join(path, "pkg", "mod"), apiserver.cache() / "gomod"]
    folders = [pathlib.Path(cache, module) for cache in caches if cache]
    return next((folder for folder in folders if (folder / "manifests").is_dir()), None)


def fetch(module=MODULE):
    """-> its folder; Absent says why there is none."""
    there = find(module)
    if there:
        return there
    try:
        go = assets.find_go()
        done = subprocess.run([os.path.join(go, "go"), "mod", "download", "-json", module], capture_output=True,
                              text=True, cwd=tempfile.gettempdir(),
                              env={**os.environ, "GOMODCACHE": str(apiserver.cache() / "gomod")})
    except (OSError, subprocess.CalledProcessError) as error:
        raise Absent(f"no Go, which fetches {module}: {error}") from error
    if done.returncode != 0:
        raise Absent(f"{module} cannot be fetched: {done.stdout}{done.stderr}")
    return pathlib.Path(json.loads(done.stdout)["Dir"])
