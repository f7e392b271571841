#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_sdk.py ROUNDHOUSE [TEST...]: what the published client of Kubeflow Trainer did with Trainer itself, it does with
the controller: recorded calls are made again, and ask for and return the same; a real API server, no kubelet."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CLUSTER = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CLUSTER))
from client import client_env  # noqa: E402

ARGUMENTS = 1
if __name__ == "__main__":
    client_env.enter(client_env.TRAINER)

sys.path.insert(0, str(CLUSTER.parent / "controller"))
import support  # noqa: E402
from support import apiserver, wait_for  # noqa: E402

sys.path.insert(0, str(CLUSTER.parent / "goldens"))
import player  # noqa: E402

import sdk  # noqa: E402
from kubeflow import trainer as types  # noqa: E402
from kubeflow.trainer import options  # noqa: E402

ROUNDHOUSE = sys.argv[1] if len(sys.argv) > ARGUMENTS else "roundhouse"
del sys.argv[1:1 + ARGUMENTS]
JOBS = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs"


class Direct:
    """An ApiServer as player.set_phase() wants it."""

    def __init__(self, api):
        self.api = api

    def call(self, method, path, body=None, kind="application/json"):
        status, text = self.api.request(method, path, json.dumps(body) if body is not None else None, kind)
        return status, json.loads(text or "{}")


def train():
    print("step")


class Replay(unittest.TestCase):
    """The calls of tests/goldens/trainer/sdk/calls.json, in their order: each test takes those of its job."""

    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        config = pathlib.Path(folder, "roundhouse.ini")
        config.write_text("[plugins]\nallow = trainer\n", encoding="utf-8")
        cls.api = cls.enterClassContext(apiserver.ApiServer())
        objects = subprocess.run([ROUNDHOUSE, "manifests", "--config", config, "--namespace", "kubeflow-system"],
                                 check=True, capture_output=True, text=True).stdout
        cls.api.kubectl("create", "namespace", "kubeflow-system")
        cls.api.kubectl("apply", "--server-side", "-f", "-", text=objects)
        for name in sdk.KINDS:
            cls.api.kubectl("wait", "--for=condition=Established", f"crd/{name}.trainer.kubeflow.org")
        for path in (sdk.STOCK, sdk.GOLDENS / "runtimes" / "own.yaml"):
            cls.api.kubectl("apply", "--server-side", "-f", str(path))
        cls.enterClassContext(support.Controller(ROUNDHOUSE, cls.api.kubeconfig, folder, "--leader-elect=false",
                                                 "--config", config))
        cls.calls = json.loads((sdk.GOLDENS / "sdk" / "calls.json").read_text())
        cls.client = sdk.connect(cls.api)

    def replay(self, call, act, after=None):
        """Make a recorded call. @param after the call before which it was made again, where several have this name"""
        begin = next(i for i, one in enumerate(self.calls) if one["call"] == after) if after else 0
        recorded = next(one for one in self.calls[begin:] if one["call"] == call)
        with self.subTest(call=call), sdk.Requests() as requests:
            returned = act()
            self.assertEqual(returned, recorded["returned"])
            self.assertEqual(sdk.distinct(requests.rows), sdk.distinct(recorded["requests"]))

    def job(self, name):
        return sdk.shown_job(self.client.get_job(name))

    def pods(self, name):
        """-> {replicated job and index: pod}"""
        text = self.api.get(f"/api/v1/namespaces/default/pods?labelSelector=jobset.sigs.k8s.io/jobset-name={name}")
        found = {}
        for pod in json.loads(text)["items"]:
            labels = pod["metadata"]["labels"]
            found[labels["jobset.sigs.k8s.io/replicatedjob-name"] + "-"
                  + labels["batch.kubernetes.io/job-completion-index"]] = pod
        return found

    def expect_pods(self, name, *which):
        """-> the pods, once they are exactly these"""
        wait_for(f"pods {which} of {name}", lambda: sorted(self.pods(name)) == sorted(which))
        return self.pods(name)

    def set_phase(self, pod, phase, code=None):
        status, body = player.set_phase(Direct(self.api), pod, phase, code)
        self.assertEqual(status, 200, body)

    def suspend(self, name, value):
        self.api.kubectl("patch", "trainjob", name, "--type=merge", "-p", json.dumps({"spec": {"suspend": value}}))

    def delete(self, name, after):
        self.replay("delete_job()", lambda: self.client.delete_job(name), after)
        for pod in self.pods(name).values():  # nobody collects garbage here
            self.api.kubectl("delete", "pod", pod["metadata"]["name"], "--now")

    def test_runtimes(self):
        self.replay("TrainerClient()", lambda: sdk.connect(self.api) and None)
        wanted = next(one for one in self.calls if one["call"] == "list_runtimes()")["returned"]
        self.calls = [{**one, "returned": sorted(wanted, key=str)} if one["returned"] == wanted else one
                      for one in self.calls]
        self.replay("list_runtimes()", lambda: sorted(map(sdk.shown_runtime, self.client.list_runtimes()), key=str))
        for name in ("torch-distributed", "own-torch-ns"):
            self.replay(f"get_runtime({name!r})", lambda name=name: sdk.shown_runtime(self.client.get_runtime(name)))

    def test_function(self):
        """A function becomes a job of two nodes, which runs and ends."""
        client, name = self.client, "sdk-torch"
        trainer = types.CustomTrainer(func=train, num_nodes=2, resources_per_node={"cpu": 2, "memory": "1Gi"},
                                      env={"A": "1"})
        self.replay("train(CustomTrainer)", lambda: client.train(
            runtime=client.get_runtime("torch-distributed"), trainer=trainer,
            options=[options.Name(name), options.Labels({"l": "1"}), options.Annotations({"a": "1"})]))
        pods = self.expect_pods(name, "node-0", "node-1")
        self.replay("get_job() after create", lambda: self.job(name))
        self.replay("get_job_logs() while Pending", lambda: list(client.get_job_logs(name)))
        self.set_phase(pods["node-0"], "Running")
        self.replay("get_job() one of two running", lambda: self.job(name))
        self.set_phase(pods["node-1"], "Running")
        self.replay("wait_for_job_status(Running)", lambda: sdk.shown_job(
            client.wait_for_job_status(name, status={"Running"}, polling_interval=1)))
        self.replay("get_job_logs()", lambda: self.read_logs(name))
        for pod in pods.values():
            self.set_phase(pod, "Succeeded", 0)
        self.replay("wait_for_job_status()", lambda: sdk.shown_job(
            client.wait_for_job_status(name, polling_interval=1)))
        self.events(name)
        self.replay("list_jobs()", lambda: list(map(sdk.shown_job, client.list_jobs())))
        self.replay("list_jobs(runtime=jax)", lambda: client.list_jobs(client.get_runtime("jax-distributed")))
        self.delete(name, "train(CustomTrainer)")

    def read_logs(self, name):
        """Without a kubelet they are empty; the pod and the container that it asks for are compared."""
        self.assertEqual(list(self.client.get_job_logs(name)), [])
        return "ok"

    def events(self, name):
        """Trainer's Events have no firstTimestamp, so the client shows none; ours have, and it shows those of the
        job."""
        shown = self.client.get_job_events(name)
        self.assertEqual({(one.involved_object_kind, one.involved_object_name) for one in shown}, {("TrainJob", name)})
        self.assertEqual({one.reason for one in shown}, {"SuccessfulCreatePod", "ExitedWithCode"})

    def test_mpi(self):
        """The launcher is the client's first node."""
        client, name = self.client, "sdk-mpi"
        self.replay("train(mpi)", lambda: client.train(
            runtime=client.get_runtime("deepspeed-distributed"), options=[options.Name(name)],
            trainer=types.CustomTrainer(func=train, num_nodes=3)))
        for pod in self.expect_pods(name, "node-0", "node-1").values():
            self.set_phase(pod, "Running")
        pods = self.expect_pods(name, "launcher-0", "node-0", "node-1")
        self.replay("get_job() mpi nodes running", lambda: self.job(name))
        self.set_phase(pods["launcher-0"], "Running")
        self.replay("get_job() mpi all running", lambda: self.job(name))
        self.set_phase(pods["launcher-0"], "Succeeded", 0)
        self.expect_pods(name, "launcher-0")
        wait_for("the end", lambda: self.job(name)["status"] == "Complete")
        self.replay("get_job() mpi launcher succeeded", lambda: self.job(name))
        self.delete(name, "train(mpi)")

    def test_builtin(self):
        """Data set and model are fetched first."""
        client, name = self.client, "sdk-tune"
        config = types.TorchTuneConfig(batch_size=4, epochs=2, resources_per_node={"gpu": 2})
        initializer = types.Initializer(
            dataset=types.HuggingFaceDatasetInitializer(storage_uri="hf://tatsu-lab/alpaca/data"),
            model=types.HuggingFaceModelInitializer(storage_uri="hf://meta-llama/Llama-3.2-1B-Instruct",
                                                    access_token="TOKEN"))
        self.replay("train(BuiltinTrainer)", lambda: client.train(
            runtime=client.get_runtime("torchtune-llama3.2-1b"), initializer=initializer,
            trainer=types.BuiltinTrainer(config=config), options=[options.Name(name)]))
        pods = self.expect_pods(name, "dataset-initializer-0", "model-initializer-0")
        self.replay("get_job() initializers pending", lambda: self.job(name))
        for pod in pods.values():
            self.set_phase(pod, "Succeeded", 0)
        pods = self.expect_pods(name, "dataset-initializer-0", "model-initializer-0", "node-0")
        self.set_phase(pods["node-0"], "Running")
        self.replay("get_job() trainer running", lambda: self.job(name))
        self.delete(name, "train(BuiltinTrainer)")

    def test_suspend(self):
        client, name = self.client, "sdk-plain"
        self.replay("train(CustomTrainerContainer)", lambda: client.train(
            runtime=client.get_runtime("torch-distributed"), options=[options.Name(name)],
            trainer=types.CustomTrainerContainer(image="example/train:1", num_nodes=1)))
        self.expect_pods(name, "node-0")
        self.suspend(name, True)
        self.expect_pods(name)
        self.replay("get_job() suspended", lambda: self.job(name))
        self.suspend(name, False)
        self.set_phase(self.expect_pods(name, "node-0")["node-0"], "Running")
        wait_for("the status", lambda: b'"Resumed"' in self.api.get(f"{JOBS}/{name}"))
        self.replay("get_job() resumed and running", lambda: self.job(name))
        self.delete(name, "train(CustomTrainerContainer)")

    def test_unknown(self):
        def get():
            try:
                return self.client.get_job("nope")
            except RuntimeError as error:
                return f"RuntimeError: {error}"
        self.replay("get_job('nope')", get)


if __name__ == "__main__":
    apiserver.skip_without_assets()
    # the client would take them for those of the API server
    for key in [key for key in os.environ if "proxy" in key.lower()]:
        del os.environ[key]
    unittest.main(verbosity=2)
