#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_node.py ROUNDHOUSE [TEST...]: the published client of Kubeflow Trainer sends functions to pods that really run,
on a node of the test's own (node.py), with the stock runtimes."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

CLUSTER = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CLUSTER))
from client import client_env  # noqa: E402
from node import node  # noqa: E402

ARGUMENTS = 1
IMAGES = ["train"]
if __name__ == "__main__":
    client_env.enter(client_env.TRAINER)
    node.enter(IMAGES)

sys.path.insert(0, str(CLUSTER.parent / "controller"))
import support  # noqa: E402
from support import wait_for  # noqa: E402

import sdk  # noqa: E402
from kubeflow import trainer as types  # noqa: E402
from kubeflow.trainer import options  # noqa: E402

ROUNDHOUSE = sys.argv[1] if len(sys.argv) > ARGUMENTS else "roundhouse"
del sys.argv[1:1 + ARGUMENTS]
IMAGE = "localhost/train:1"
PATIENCE_S = 600
OWNED = "trainjobs,pods,services,configmaps,secrets"


def average(rate):
    """What the client sends: each rank has a number, and all get their mean."""
    # pylint: disable=import-outside-toplevel
    import torch
    import torch.distributed as dist
    dist.init_process_group("gloo")
    number = torch.tensor([float(dist.get_rank())])
    dist.all_reduce(number)
    print("rank", dist.get_rank(), "of", dist.get_world_size(), "mean",
          number.item() / dist.get_world_size(), "rate", rate, flush=True)
    dist.barrier()


def fail():
    raise ValueError("shard 7 holds a label 12")


def without_retries():
    """-> torch-distributed as torch-once. The stock runtime retries six times, with the pauses of a kubelet."""
    stock = {one["metadata"]["name"]: one for one in yaml.safe_load_all(sdk.STOCK.read_text())}
    made = stock["torch-distributed"]
    made["metadata"]["name"] = "torch-once"
    made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["backoffLimit"] = 0
    return made


class Node(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        config = pathlib.Path(folder, "roundhouse.ini")
        config.write_text("[plugins]\nallow = trainer\n", encoding="utf-8")
        cls.api = cls.enterClassContext(node.Node(IMAGES))
        objects = subprocess.run([ROUNDHOUSE, "manifests", "--config", config, "-o", "json"], check=True,
                                 capture_output=True, text=True).stdout
        crds = [one for one in json.loads(objects)["items"] if one["kind"] == "CustomResourceDefinition"]
        cls.api.kubectl("apply", "--server-side", "-f", "-",
                        text=json.dumps({"apiVersion": "v1", "kind": "List", "items": crds}))
        for name in sdk.KINDS:
            cls.api.kubectl("wait", "--for=condition=Established", f"crd/{name}.trainer.kubeflow.org")
        cls.api.kubectl("apply", "--server-side", "-f", str(sdk.STOCK))
        cls.api.kubectl("apply", "--server-side", "-f", "-", text=yaml.safe_dump(without_retries()))
        cls.enterClassContext(support.Controller(ROUNDHOUSE, cls.api.kubeconfig, folder, "--config", config,
                                                 "--first-fault=logs"))
        cls.client = sdk.connect(cls.api)

    def describe(self, name):
        for words in (["describe", f"trainjob/{name}"], ["describe", "pods"], ["events"]):
            print(self.api.kubectl(*words, check=False).stdout[-6000:], file=sys.stderr)

    def train(self, name, function, nodes, runtime="torch-distributed", arguments=None):
        """-> the job's last state, of the client"""
        self.client.train(runtime=self.client.get_runtime(runtime), options=[options.Name(name)],
                          trainer=types.CustomTrainer(func=function, func_args=arguments, image=IMAGE, num_nodes=nodes))
        try:
            return self.client.wait_for_job_status(name, status={"Complete", "Failed"}, timeout=PATIENCE_S)
        except TimeoutError:
            self.describe(name)
            raise

    def belonging(self, name):
        rows = self.api.kubectl("get", OWNED, "-o", "name").stdout.split()
        return [row for row in rows if re.search(rf"/{name}(-|$)", row)]

    def delete(self, name):
        """Nothing of it stays."""
        self.assertTrue(self.belonging(name))
        self.client.delete_job(name)
        wait_for(f"everything of {name} gone", lambda: not self.belonging(name), patience=PATIENCE_S)

    def test_runtimes(self):
        self.assertIn("torch-distributed", [one.name for one in self.client.list_runtimes()])

    def test_function(self):
        """Two nodes meet by the names of their pods, and the client reads what each of them wrote."""
        job = self.train("mean", average, 2, arguments={"rate": 0.5})
        if job.status != "Complete":
            self.describe("mean")
        self.assertEqual(sdk.shown_job(job)["status"], "Complete")
        self.assertEqual([step.status for step in job.steps], ["Succeeded"] * 2)
        text = "\n".join(line for index in range(2) for line in self.client.get_job_logs("mean", step=f"node-{index}"))
        self.assertEqual(sorted(re.findall(r"rank \d of 2 mean \S+ rate \S+", text)),
                         [f"rank {rank} of 2 mean 0.5 rate 0.5" for rank in range(2)], text)
        self.delete("mean")

    def test_failure(self):
        """A function that raises: the job fails, and the condition has the exception."""
        name = "raises"
        job = self.train(name, fail, 1, runtime="torch-once")
        self.assertEqual(job.status, "Failed")
        found = self.api.object("trainjob", name)
        message = next(one["message"] for one in found["status"]["conditions"] if one["type"] == "Failed")
        self.assertIn("First fault: node-0", message)
        self.assertIn("shard 7 holds a label 12", message)
        self.delete(name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
