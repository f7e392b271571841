# SPDX-License-Identifier: Apache-2.0
"""The published client of Kubeflow Trainer, unmodified: what it asks the API server for, and what it returns.

Imports the client: only for tests that have entered its environment (client_env.py).
"""
import pathlib
import re
import urllib.parse

from kubeflow.common.types import KubernetesBackendConfig
from kubeflow.trainer import TrainerClient
from kubernetes.client import rest

SOURCE = pathlib.Path(__file__).resolve().parents[3]
GOLDENS = SOURCE / "tests" / "goldens" / "trainer"
STOCK = SOURCE / "plugins" / "trainer" / "runtimes" / "stock.yaml"
KINDS = ("clustertrainingruntimes", "trainingruntimes", "trainjobs")
SCRIPT = "(a shell script that writes the function to a file and runs it)"


def connect(api, namespace="default"):
    return TrainerClient(KubernetesBackendConfig(config_file=str(api.kubeconfig), namespace=namespace))


def shown_runtime(runtime):
    trainer = runtime.trainer
    return {"name": runtime.name, "kind": runtime.kind.value, "framework": trainer.framework, "device": trainer.device,
            "device_count": trainer.device_count, "num_nodes": trainer.num_nodes, "type": trainer.trainer_type.value,
            "command": trainer.command[0]}


def shown_job(job):
    """Steps by name: pods of one second have no order."""
    steps = sorted([step.name, step.status, step.device, step.device_count] for step in job.steps)
    return {"name": job.name, "status": job.status, "num_nodes": job.num_nodes, "runtime": job.runtime.name,
            "steps": steps}


def plain_body(value):
    """Without the script that the client makes of a function."""
    if isinstance(value, dict):
        return {key: plain_body(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain_body(one) for one in value]
    return SCRIPT if isinstance(value, str) and "\n" in value else value


class Requests:
    """with Requests() as requests: ...: what the client sends meanwhile, as rows like those of the recording. The
    client is not changed; its library for HTTP is listened to."""

    def __init__(self):
        self.rows, self.original = [], rest.RESTClientObject.request

    def __enter__(self):
        requests, original = self, self.original

        def request(self, method, url, query_params=None, body=None, **more):
            status = 0
            try:
                answer = original(self, method, url, query_params=query_params, body=body, **more)
                status = answer.status
                return answer
            except rest.ApiException as error:
                status = error.status
                raise
            finally:
                requests.note(method, url, query_params, body, status)
        rest.RESTClientObject.request = request
        return self

    def __exit__(self, *_):
        rest.RESTClientObject.request = self.original

    def note(self, method, url, query, body, status):
        path = urllib.parse.urlsplit(url).path
        if query:
            path += "?" + "&".join(f"{key}={value}" for key, value in query)
        row = {"method": method, "path": path, "status": status}
        if method == "POST":
            row["body"] = plain_body(body)
        self.rows.append(row)


def distinct(rows):
    """Each request once, in the order of paths: who waits asks again and again, and two threads ask at once. The random
    end of a pod's name is left out."""
    plain = []
    for row in rows:
        row = {**row, "path": re.sub(r"(/pods/.*)-\w{5}/log", r"\1-XXXXX/log", row["path"])}
        if row not in plain:
            plain.append(row)
    return sorted(plain, key=lambda row: (row["method"], row["path"]))
