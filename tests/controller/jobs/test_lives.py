#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_lives.py ROUNDHOUSE JAX_DIR: every recorded life, played against the controller on a real API server."""
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402

apiserver = support.apiserver
GOLDENS = pathlib.Path(__file__).resolve().parents[2] / "goldens"


def main(roundhouse, jax):
    apiserver.skip_without_assets()
    with apiserver.ApiServer() as api, tempfile.TemporaryDirectory() as folder:
        crds = subprocess.run([roundhouse, "crds", "--plugins", jax], check=True, capture_output=True, text=True).stdout
        api.kubectl("apply", "--server-side", "-f", "-", text=crds)
        with support.Controller(roundhouse, api.kubeconfig, folder, "--leader-elect=false", "--plugins", jax):
            with api.proxy() as base:
                command = [sys.executable, "-B", str(GOLDENS / "play_lives.py"), base, str(GOLDENS / "lives"),
                           *sys.argv[3:], "--allow", str(GOLDENS / "differences.json")]
                return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
