# SPDX-License-Identifier: Apache-2.0
"""What the published client does with jobs of every kind, whoever runs their pods: a real node, or a kubelet that is
played.

Imports the client: only for tests that have entered its environment (client_env.py).
"""
import contextlib
import dataclasses
import io
import itertools
import json
import sys
import pathlib

from kubeflow.training import models, TrainingClient
from kubernetes.client import V1Container, V1ObjectMeta, V1PodSpec, V1PodTemplateSpec

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "controller"))
from support import wait_for  # noqa: E402

PATIENCE_S = 120
POLL_S = 0.1
IMAGE = "localhost/busybox:1"
# Greets, waits until somebody writes into this file how to end, and does.
END = "/tmp/end"
SCRIPT = f"echo hello from $HOSTNAME; until [ -s {END} ]; do sleep 0.1; done; exit $(cat {END})"


@dataclasses.dataclass(frozen=True)
class Kind:
    name: str
    model: str                # of the client, without its prefix
    field: str                # of the replicas, as the model spells it
    container: str
    replicas: dict            # how many of each type
    master: str               # the pod with the role "master", without the job's name; "": none
    decides: tuple            # replica types whose success is the job's

    @property
    def plural(self):
        return self.name.lower() + "s"

    def pods(self, job):
        """-> the names of all pods, sorted"""
        names = []
        for kind, count in self.replicas.items():
            names += [f"{job}-launcher"] if kind == "Launcher" else [f"{job}-{kind.lower()}-{i}" for i in range(count)]
        return sorted(names)

    def deciding(self, job):
        return [name for name in self.pods(job) if any(f"-{kind.lower()}" in name[len(job):] for kind in self.decides)]


KINDS = [
    Kind("PyTorchJob", "PyTorchJob", "pytorch_replica_specs", "pytorch", {"Master": 1, "Worker": 2}, "master-0",
         ("Master",)),
    Kind("TFJob", "TFJob", "tf_replica_specs", "tensorflow", {"Chief": 1, "PS": 1, "Worker": 1}, "chief-0", ("Chief",)),
    Kind("XGBoostJob", "XGBoostJob", "xgb_replica_specs", "xgboost", {"Master": 1, "Worker": 1}, "master-0",
         ("Master",)),
    Kind("MPIJob", "MPIJob", "mpi_replica_specs", "mpi", {"Launcher": 1, "Worker": 2}, "launcher", ("Launcher",)),
    Kind("PaddleJob", "PaddleJob", "paddle_replica_specs", "paddle", {"Worker": 2}, "", ("Worker",)),
    Kind("JAXJob", "JAXJob", "jax_replica_specs", "jax", {"Worker": 2}, "worker-0", ("Worker",)),
]
BY_NAME = {kind.name: kind for kind in KINDS}
# V1 never starts a launcher again.
WITHOUT = {("each_restart", "MPIJob")}


def one_kind(each, kind):
    def test(self):
        each(self, kind)
    test.__doc__ = each.__doc__
    return test


def make_job(kind, name, script=SCRIPT, image=IMAGE, restart="Never", replicas=None, **policy):
    """-> a job as the client's users write it: an object of the client's models."""
    template = V1PodTemplateSpec(spec=V1PodSpec(termination_grace_period_seconds=1, containers=[
        V1Container(name=kind.container, image=image, image_pull_policy="IfNotPresent", command=["sh", "-c", script])]))
    specs = {type_: models.KubeflowOrgV1ReplicaSpec(replicas=count, restart_policy=restart, template=template)
             for type_, count in (replicas or kind.replicas).items()}
    policy.setdefault("clean_pod_policy", "None")
    spec = getattr(models, f"KubeflowOrgV1{kind.model}Spec")(
        run_policy=models.KubeflowOrgV1RunPolicy(**policy), **{kind.field: specs})
    return getattr(models, f"KubeflowOrgV1{kind.model}")(
        api_version="kubeflow.org/v1", kind=kind.name, metadata=V1ObjectMeta(name=name), spec=spec)


class Lives:
    """Tests; each_X() becomes test_X__KIND() for every kind. A subclass adds api (an ApiServer) and finish(pod names,
    exit code)."""
    namespace = "default"
    numbers = itertools.count()
    # whether there are logs, and what is deleted is collected
    has_kubelet = False

    def __init_subclass__(cls, **how):
        super().__init_subclass__(**how)
        for name, kind in itertools.product([name for name in dir(cls) if name.startswith("each_")], KINDS):
            if (name, kind.name) not in WITHOUT:
                setattr(cls, f"test_{name.removeprefix('each_')}__{kind.name.lower()}",
                        one_kind(getattr(cls, name), kind))

    def client(self, kind):
        return TrainingClient(config_file=str(self.api.kubeconfig), namespace=self.namespace, job_kind=kind.name)

    def wait(self, client, name, condition, **more):
        return client.wait_for_job_conditions(name, expected_conditions={condition}, wait_timeout=PATIENCE_S,
                                              polling_interval=POLL_S, **more)

    def start(self, kind, what, **how):
        """-> (client, name) of a job that runs"""
        client, name = self.client(kind), f"{what}-{kind.name.lower()}-{next(self.numbers)}"
        client.create_job(make_job(kind, name, **how))
        self.wait(client, name, "Running")
        wait_for(f"pods of {name}", lambda: sorted(client.get_job_pod_names(name)) == kind.pods(name))
        self.wait_started(kind.pods(name))
        return client, name

    @staticmethod
    def conditions(client, name):
        return [(one.type, one.status) for one in client.get_job_conditions(name)]

    def wait_started(self, names):
        wait_for(f"{names} started", lambda: {self.phase(name) for name in names} == {"Running"}, patience=PATIENCE_S)

    def phase(self, pod):
        status, body = self.api.request("GET", f"/api/v1/namespaces/{self.namespace}/pods/{pod}")
        return json.loads(body).get("status", {}).get("phase") if status == 200 else None

    def delete(self, client, name, kind):
        """And the job is not found any more, nor, where somebody collects them, its pods and Services."""
        client.delete_job(name)
        wait_for(f"{name} gone", lambda: name not in [job.metadata.name for job in client.list_jobs()])
        with self.assertRaisesRegex(RuntimeError, f"Failed to get {kind.name}: {self.namespace}/{name}"):
            client.get_job(name)
        if self.has_kubelet:
            wait_for(f"pods of {name} gone", lambda: not client.get_job_pod_names(name), patience=PATIENCE_S)
            wait_for(f"Services of {name} gone", lambda: not self.services(name), patience=PATIENCE_S)

    def services(self, name):
        text = self.api.get(
            f"/api/v1/namespaces/{self.namespace}/services?labelSelector=training.kubeflow.org/job-name={name}")
        return [item["metadata"]["name"] for item in json.loads(text)["items"]]

    # --- what every kind does

    def each_success(self, kind):
        client, name = self.start(kind, "good")
        self.check_running(client, name, kind)
        self.check_pods(client, name, kind)
        self.finish(kind.deciding(name), 0)
        seen = []
        job = self.wait(client, name, "Succeeded", callback=lambda job: seen.append(job.metadata.name))
        self.assertEqual(set(seen), {name})
        self.check_succeeded(client, name, kind, job)
        if self.has_kubelet:
            self.check_logs(client, name, kind)
        self.delete(client, name, kind)

    def check_running(self, client, name, kind):
        self.assertTrue(client.is_job_created(name))
        self.assertTrue(client.is_job_running(name))
        self.assertFalse(client.is_job_restarting(name) or client.is_job_succeeded(name) or client.is_job_failed(name))
        self.assertEqual(self.conditions(client, name), [("Created", "True"), ("Running", "True")])
        listed = {job.metadata.name: job for job in client.list_jobs()}
        self.assertEqual(type(listed[name]).__name__, f"KubeflowOrgV1{kind.model}")
        self.assertEqual(listed[name].metadata.uid, client.get_job(name).metadata.uid)
        running = {type_: status.active for type_, status in client.get_job(name).status.replica_statuses.items()}
        self.assertEqual(running, kind.replicas)

    def check_pods(self, client, name, kind):
        self.assertEqual(client.get_job_pod_names(name, is_master=True),
                         [f"{name}-{kind.master}"] if kind.master else [])
        for type_, count in kind.replicas.items():
            names = client.get_job_pod_names(name, replica_type=type_.lower())
            self.assertEqual(sorted(names), [pod for pod in kind.pods(name)
                                             if pod.startswith(f"{name}-{type_.lower()}")])
            self.assertEqual(len(names), count)
            if type_ != "Launcher":
                self.assertEqual(client.get_job_pod_names(name, replica_type=type_.lower(), replica_index=count - 1),
                                 [f"{name}-{type_.lower()}-{count - 1}"])
        for pod in client.get_job_pods(name):
            self.assertEqual([(owner.kind, owner.name, owner.controller) for owner in pod.metadata.owner_references],
                             [(kind.name, name, True)])

    def check_succeeded(self, client, name, kind, job):
        self.assertTrue(client.is_job_succeeded(name))
        self.assertFalse(client.is_job_running(job=job) or client.is_job_failed(job=job))
        self.assertEqual(self.conditions(client, name), [("Created", "True"), ("Running", "False"),
                                                         ("Succeeded", "True")])
        self.assertGreaterEqual(job.status.completion_time, job.status.start_time)
        for type_ in kind.decides:
            self.assertEqual(job.status.replica_statuses[type_].succeeded, kind.replicas[type_])

    def check_logs(self, client, name, kind):
        """Of the master, of all, and while they are written; with events."""
        logs, events = client.get_job_logs(name, verbose=True)
        master = f"{name}-{kind.master}"
        self.assertEqual(logs, {master: f"hello from {master}\n"} if kind.master else {})
        self.assertTrue(any("created" in line.lower() for line in events.get(f"{kind.name.lower()}/{name}", [])),
                        events)
        logs, _ = client.get_job_logs(name, is_master=False)
        self.assertEqual(logs, {pod: f"hello from {pod}\n" for pod in kind.pods(name)})
        decided = kind.decides[0]
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            logs, _ = client.get_job_logs(name, is_master=False, replica_type=decided.lower(), follow=True)
        self.assertEqual(logs, {pod: f"hello from {pod}" for pod in kind.deciding(name)})
        self.assertEqual(sorted(shown.getvalue().splitlines()),
                         [f"[Pod {pod}]: hello from {pod}" for pod in kind.deciding(name)])

    def each_failure(self, kind):
        client, name = self.start(kind, "bad")
        self.finish(kind.deciding(name)[:1], 3)
        job = self.wait(client, name, "Failed")
        self.assertTrue(client.is_job_failed(job=job))
        self.assertFalse(client.is_job_running(job=job) or client.is_job_succeeded(job=job))
        with self.assertRaisesRegex(RuntimeError, f"{kind.name} {self.namespace}/{name} is Failed"):
            self.wait(client, name, "Succeeded")
        self.delete(client, name, kind)

    def each_restart(self, kind):
        """A replica that fails and may, is started again: by the controller with ExitCode and 128 or more."""
        client, name = self.start(kind, "again", restart="ExitCode")
        pod = kind.deciding(name)[0]
        before = self.uid(pod)
        self.finish([pod], 130)
        wait_for(f"another {pod}", lambda: self.uid(pod) not in (None, before), patience=PATIENCE_S)
        self.wait_started(kind.pods(name))
        self.wait(client, name, "Running")
        self.finish(kind.deciding(name), 0)
        self.wait(client, name, "Succeeded")
        self.delete(client, name, kind)

    def uid(self, pod):
        status, body = self.api.request("GET", f"/api/v1/namespaces/{self.namespace}/pods/{pod}")
        return json.loads(body)["metadata"]["uid"] if status == 200 else None

    def each_suspend(self, kind):
        """Created suspended, resumed, suspended, resumed: with update_job, which patches."""
        client, name = self.client(kind), f"rest-{kind.name.lower()}-{next(self.numbers)}"
        client.create_job(make_job(kind, name, suspend=True))
        self.wait_suspended(client, name)
        job = client.get_job(name)
        for suspend in (False, True, False):
            job.spec.run_policy.suspend = suspend
            # what the server knows better: its status, and the version that is patched
            job.status = job.metadata.resource_version = None
            client.update_job(job, name)
            if suspend:
                self.wait_suspended(client, name)
                continue
            self.wait(client, name, "Running")
            self.wait_started(kind.pods(name))
        self.finish(kind.deciding(name), 0)
        self.wait(client, name, "Succeeded")
        self.delete(client, name, kind)

    def wait_suspended(self, client, name):
        """The client knows no such condition: look oneself. No pod is left."""
        wait_for(f"{name} suspended", lambda: ("Suspended", "True") in self.conditions(client, name),
                 patience=PATIENCE_S)
        wait_for(f"pods of {name} gone", lambda: not client.get_job_pod_names(name), patience=PATIENCE_S)
        self.assertFalse(client.is_job_running(name))

    # --- what some do

    def test_scale(self):
        """update_job with more workers, and with fewer."""
        kind = BY_NAME["PyTorchJob"]
        client, name = self.start(kind, "wide")
        for workers in (3, 1):
            replicas = {"pytorchReplicaSpecs": {"Worker": {"replicas": workers}}}
            client.update_job({"spec": replicas}, name)
            names = {f"{name}-master-0", *(f"{name}-worker-{i}" for i in range(workers))}
            wait_for(f"{workers} workers", lambda: set(client.get_job_pod_names(name)) == names, patience=PATIENCE_S)
        self.assertTrue(client.is_job_running(name))
        self.finish(kind.deciding(name), 0)
        self.wait(client, name, "Succeeded")
        self.delete(client, name, kind)

    def each_refused(self, kind):
        """The client makes an exception of what the server refuses."""
        client, name = self.client(kind), f"twice-{kind.name.lower()}-{next(self.numbers)}"
        client.create_job(make_job(kind, name, suspend=True))
        with self.assertRaisesRegex(RuntimeError, f"Failed to create {kind.name}: {self.namespace}/{name}"):
            client.create_job(make_job(kind, name))
        with self.assertRaisesRegex(RuntimeError, f"Failed to create {kind.name}: {self.namespace}/wrong"):
            client.create_job(make_job(kind, "wrong", restart="Maybe"))
        self.delete(client, name, kind)
        with self.assertRaisesRegex(RuntimeError, f"Failed to delete {kind.name}: {self.namespace}/absent"):
            client.delete_job("absent")
