#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_lives_trainer.py ROUNDHOUSE [GLOB]: recorded lives of TrainJobs, played against the controller on a real API
server."""
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402

apiserver = support.apiserver
SOURCE = pathlib.Path(__file__).resolve().parents[3]
GOLDENS = SOURCE / "tests" / "goldens" / "trainer"
RUNTIMES = (SOURCE / "plugins" / "trainer" / "runtimes" / "stock.yaml", GOLDENS / "runtimes" / "own.yaml")
NAMES = ("clustertrainingruntimes", "trainingruntimes", "trainjobs")


def play(api, pattern):
    with api.proxy() as base:
        command = [sys.executable, "-B", GOLDENS / "play_lives.py", base, GOLDENS / "lives", *pattern,
                   "--allow", GOLDENS / "differences.json"]
        return subprocess.run(command, check=False).returncode


def main(roundhouse, pattern):
    apiserver.skip_without_assets()
    with apiserver.ApiServer() as api, tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "roundhouse.ini")
        config.write_text("[plugins]\nallow = trainer\n", encoding="utf-8")
        crds = subprocess.run([roundhouse, "crds", "--config", config], check=True, capture_output=True,
                              text=True).stdout
        api.kubectl("apply", "--server-side", "-f", "-", text=crds)
        for name in NAMES:
            api.kubectl("wait", "--for=condition=Established", f"crd/{name}.trainer.kubeflow.org")
        for path in RUNTIMES:
            api.kubectl("apply", "--server-side", "-f", str(path))
        with support.Controller(roundhouse, api.kubeconfig, folder, "--leader-elect=false", "--config", config):
            return play(api, pattern)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
