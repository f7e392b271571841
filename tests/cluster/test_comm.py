#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_comm.py ROUNDHOUSE: what [comm] puts into the pods of jobs that use rh_comm, as a real API server stores
them."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import apiserver

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "controller"))
import support  # noqa: E402

ROUNDHOUSE = sys.argv.pop(1) if len(sys.argv) > 1 else "roundhouse"
CONFIGURATION = """[comm]
image = registry.example/roundhouse:1
shm-size = 2Gi
env.COMMON = 1
[comm rdma]
node-selector = example.com/network=rdma
backends = ucx, nccl
image =
shm-size = 8Gi
resources = rdma/hca=2
capabilities = IPC_LOCK, SYS_NICE
env.UCX_TLS = rc
"""
RDMA = {"nodeSelector": {"example.com/network": "rdma"}}
MEMORY = {"medium": "Memory"}
# Name, annotation, members of the pod, members of its container, and what stands where in the stored pod; None: nothing
# does.
ROWS = [
    ("none", None, {}, {}, {"initContainers": None, "volumes[0]": None, "containers[0].securityContext": None,
                            "env": {}}),
    ("plain", "native", {}, {}, {
        "volumes": {"roundhouse-comm": {"emptyDir": {}},
                    "roundhouse-dev-shm": {"emptyDir": {**MEMORY, "sizeLimit": "2Gi"}}},
        "mounts": {"/opt/roundhouse": "roundhouse-comm", "/dev/shm": "roundhouse-dev-shm"},
        "initContainers[0].image": "registry.example/roundhouse:1",
        "initContainers[0].command": ["/usr/bin/roundhouse", "inject", "/opt/roundhouse"],
        "initContainers[0].securityContext.capabilities": {"drop": ["ALL"]},
        "containers[0].resources": {}, "containers[0].securityContext": None,
        "env": {"RH_COMM_BACKEND": "native", "COMMON": "1", "PYTHONPATH": "/opt/roundhouse"}}),
    ("profile", "ucx", RDMA, {}, {
        "volumes": {"roundhouse-dev-shm": {"emptyDir": {**MEMORY, "sizeLimit": "8Gi"}}}, "initContainers": None,
        "containers[0].resources": {"limits": {"rdma/hca": "2"}, "requests": {"rdma/hca": "2"}},
        "containers[0].securityContext.capabilities": {"add": ["IPC_LOCK", "SYS_NICE"]},
        "env": {"RH_COMM_BACKEND": "ucx", "COMMON": "1", "UCX_TLS": "rc"}}),
    ("other-backend", "native", RDMA, {}, {
        "containers[0].resources": {}, "initContainers[0].name": "roundhouse-comm",
        "env": {"RH_COMM_BACKEND": "native", "UCX_TLS": None}}),
    ("own-resources", "ucx", RDMA, {"resources": {"limits": {"rdma/hca": "5", "cpu": "1"}}}, {
        "containers[0].resources.limits": {"rdma/hca": "5", "cpu": "1"}}),
    ("own-capabilities", "ucx", RDMA, {"securityContext": {"capabilities": {"drop": ["SYS_NICE"]}}}, {
        "containers[0].securityContext.capabilities": {"drop": ["SYS_NICE"], "add": ["IPC_LOCK"]}}),
    ("own-variables", "ucx", RDMA, {"env": [{"name": "UCX_TLS", "value": "tcp"},
                                            {"name": "RH_COMM_BACKEND", "value": "mpi"}]}, {
        "env": {"UCX_TLS": "tcp", "RH_COMM_BACKEND": "mpi", "COMMON": "1"}}),
    ("own-shm", "ucx", {**RDMA, "volumes": [{"name": "mine", "emptyDir": {**MEMORY, "sizeLimit": "1Mi"}}]},
     {"volumeMounts": [{"name": "mine", "mountPath": "/dev/shm"}]}, {
         "volumes": {"mine": {"emptyDir": {**MEMORY, "sizeLimit": "1Mi"}}}, "mounts": {"/dev/shm": "mine"}}),
    ("own-library", "native", {"volumes": [{"name": "roundhouse-comm", "hostPath": {"path": "/nfs", "type": ""}}]}, {},
     {
        "initContainers": None, "env": {"PYTHONPATH": None}}),
]


def job(name, annotation, pod, container):
    body = {"name": "pytorch", "image": "example/train:1", **container}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
            "metadata": {"name": name, "annotations": {"roundhouse.dev/comm": annotation} if annotation else {}},
            "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1,
                                                        "template": {"spec": {"containers": [body], **pod}}}}}}


def at(value, path):
    """-> what stands at a path as "containers[0].resources", or None"""
    for step in path.replace("[", ".").replace("]", "").split("."):
        if isinstance(value, list):
            value = value[int(step)] if int(step) < len(value) else None
        else:
            value = value.get(step) if value else None
    return value


class Pods(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.api = cls.enterClassContext(apiserver.ApiServer())
        crds = subprocess.run([ROUNDHOUSE, "crds"], check=True, capture_output=True, text=True).stdout
        cls.api.kubectl("apply", "--server-side", "-f", "-", text=crds)
        cls.api.wait_served()
        (folder / "roundhouse.ini").write_text(CONFIGURATION)
        cls.enterClassContext(support.Controller(ROUNDHOUSE, cls.api.kubeconfig, folder, "--leader-elect=false",
                                                 "--config", folder / "roundhouse.ini"))

    def pod(self, name):
        done = self.api.kubectl("get", "pod", f"{name}-master-0", "-o", "json", "--ignore-not-found")
        return json.loads(done.stdout)["spec"] if done.stdout else None

    def test_rows(self):
        for name, annotation, pod, container, _ in ROWS:
            self.api.kubectl("create", "-f", "-", text=json.dumps(job(name, annotation, pod, container)))
        for name, _, _, _, wanted in ROWS:
            with self.subTest(name=name):
                self.check(support.wait_for(f"the pod of {name}", lambda name=name: self.pod(name)), wanted)

    def check(self, spec, wanted):
        spec["mounts"] = {mount["mountPath"]: mount["name"] for mount in spec["containers"][0].get("volumeMounts", [])
                          if not mount["mountPath"].startswith("/var/run/secrets")}
        volumes = {volume.pop("name"): volume for volume in spec.get("volumes", [])}
        spec["volumes"] = {name: volume for name, volume in volumes.items() if not name.startswith("kube-api-access")}
        env = {item["name"]: item.get("value") for item in spec["containers"][0].get("env", [])}
        for path, value in wanted.items():
            if path == "env":
                self.assertEqual({key: env.get(key) for key in value}, value)
            elif path == "volumes[0]":
                self.assertEqual(spec["volumes"], {})
            else:
                self.assertEqual(at(spec, path), value, path)


if __name__ == "__main__":
    apiserver.skip_without_assets()
    unittest.main()
