#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_lives_mpi2.py ROUNDHOUSE [GLOB]: recorded lives of MPIJobs of v2beta1, played against the controller on a real
API server, with the Job controller of kube-controller-manager for the launchers.

Without GLOB those are left out whose states last some seconds only, by the clock of the Job controller: on a busy
machine such a state is over before it is seen."""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402

apiserver = support.apiserver
GOLDENS = pathlib.Path(__file__).resolve().parents[2] / "goldens" / "mpi2"
TIMED = "backoff-limit,deadline,launcher-pod-deleted,ttl"
CONTROLLERS = "job-controller,ttl-after-finished-controller,garbage-collector-controller"


def play(api, pattern):
    with api.proxy() as base:
        command = [sys.executable, "-B", GOLDENS / "play_lives.py", base, GOLDENS / "lives",
                   *(pattern or ["*", "--without", TIMED]), "--allow", GOLDENS / "differences.json"]
        return subprocess.run(command, check=False).returncode


def main(roundhouse, pattern):
    apiserver.skip_without_assets()
    manager_program = apiserver.assets() / "kube-controller-manager"
    if not os.access(manager_program, os.X_OK):
        apiserver.skip("no kube-controller-manager; run tests/cluster/assets.py kube-controller-manager")
    with apiserver.ApiServer() as api, tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "roundhouse.ini")
        config.write_text("[plugins]\nallow = mpi, mpi2\n", encoding="utf-8")
        crds = subprocess.run([roundhouse, "crds", "--config", config], check=True, capture_output=True,
                              text=True).stdout
        api.kubectl("apply", "--server-side", "-f", "-", text=crds)
        with open(os.path.join(folder, "manager.log"), "w", encoding="utf-8") as log:
            manager = subprocess.Popen([manager_program, f"--kubeconfig={api.kubeconfig}", "--leader-elect=false",
                                        "--secure-port=0", f"--controllers={CONTROLLERS}"], env=api.environment(),
                                       stdout=log, stderr=log, preexec_fn=apiserver.die_with_parent)
            try:
                with support.Controller(roundhouse, api.kubeconfig, folder, "--leader-elect=false", "--config", config):
                    return play(api, pattern)
            finally:
                manager.terminate()
                manager.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
