#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_client.py ROUNDHOUSE JAX_DIR [TEST...]: the published client of V1 drives jobs of every kind; a real API server,
a played kubelet."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from client import client_env

ARGUMENTS = 2
if __name__ == "__main__":
    client_env.enter()

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "controller"))
import support  # noqa: E402
from support import apiserver  # noqa: E402

from client import client_jobs  # noqa: E402
from node import node_played  # noqa: E402

ROUNDHOUSE, JAX = sys.argv[1:1 + ARGUMENTS] if len(sys.argv) > ARGUMENTS else ("roundhouse", "")
del sys.argv[1:1 + ARGUMENTS]


class Client(client_jobs.Lives, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.api = cls.enterClassContext(apiserver.ApiServer())
        crds = subprocess.run([ROUNDHOUSE, "crds", "--plugins", JAX], check=True, capture_output=True, text=True).stdout
        cls.api.kubectl("apply", "--server-side", "-f", "-", text=crds)
        cls.api.wait_served()
        cls.enterClassContext(support.Controller(ROUNDHOUSE, cls.api.kubeconfig, folder, "--leader-elect=false",
                                                 "--plugins", JAX))
        cls.kubelet = cls.enterClassContext(node_played.PlayedKubelet(cls.api))

    def finish(self, names, code):
        self.kubelet.finish(names, code)

    def test_from_function(self):
        """create_job with a function: the client makes the job, for PyTorch and TensorFlow."""
        for kind, workers, pods in (("PyTorchJob", 3, ["master-0", "worker-0", "worker-1"]),
                                    ("PyTorchJob", 1, ["master-0"]), ("TFJob", 2, ["worker-0", "worker-1"])):
            with self.subTest(kind=kind, workers=workers):
                kind, name = client_jobs.BY_NAME[kind], f"func-{kind.lower()}-{workers}"
                client = self.client(kind)
                client.create_job(name=name, train_func=lambda: None, num_workers=workers,
                                  base_image="localhost/train:1")
                self.wait(client, name, "Running")
                names = [f"{name}-{pod}" for pod in pods]
                support.wait_for(f"pods of {name}", lambda: sorted(client.get_job_pod_names(name)) == names)
                self.wait_started(names)
                self.finish(names, 0)
                self.wait(client, name, "Succeeded")
                self.delete(client, name, kind)


if __name__ == "__main__":
    apiserver.skip_without_assets()
    # the client would take them for those of the API server
    for key in [key for key in os.environ if "proxy" in key.lower()]:
        del os.environ[key]
    unittest.main(verbosity=2)
