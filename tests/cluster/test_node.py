#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_node.py ROUNDHOUSE JAX_DIR SOURCE [TEST...]: pods really run, on a node of the test's own (node/node.py).

First the controller is a process of this machine and the published client drives it; then it is the pod that controls
the cluster.
"""
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import yaml

from client import client_env
from node import node
import v1_module

ARGUMENTS = 3
V1_FOLDER = "ROUNDHOUSE_TEST_V1"
IMAGES = ["train", "kubectl"]


def fetch_v1():
    """-> {V1_FOLDER: where V1's module lies}, or {}. Outside, where there is a network."""
    try:
        return {V1_FOLDER: str(v1_module.fetch())}
    except v1_module.Absent as why:
        print(why, file=sys.stderr)
        return {}


if __name__ == "__main__":
    client_env.enter()
    node.enter(IMAGES, fetch_v1)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "controller"))
import support  # noqa: E402
from support import wait_for  # noqa: E402

from client import client_jobs  # noqa: E402
from node import node_programs  # noqa: E402
from client.client_jobs import BY_NAME, KINDS, PATIENCE_S  # noqa: E402

ROUNDHOUSE, JAX, SOURCE = sys.argv[1:1 + ARGUMENTS] if len(sys.argv) > ARGUMENTS else ("roundhouse", "", ".")
del sys.argv[1:1 + ARGUMENTS]

IMAGE = "localhost/roundhouse:test"
PLUGIN_IMAGE = "localhost/jax-plugin:test"
# Of kubectl, shorter than that of the one who waits for kubectl (apiserver.py).
LIMIT_S = PATIENCE_S - 10
JOB_LABEL = "training.kubeflow.org/job-name"
# Collected with the job.
OWNED = "pods,services,configmaps,serviceaccounts,roles,rolebindings"
LEDGER = "roundhouse.dev/ledger"
# Three pods start torch, and fail: far above what that takes on a machine that does other things too.
FAULT_PATIENCE_S = 900
# A training in which a chosen rank goes wrong in a chosen way.
FAULTY = pathlib.Path(__file__).resolve().parents[1] / "local" / "first_fault" / "programs" / "torch_train.py"
# What every namespace has.
OTHERS = {"service/kubernetes", "serviceaccount/default", "configmap/kube-root-ca.crt"}


def setUpModule():
    """One node for all classes."""
    Case.api = unittest.enterModuleContext(node.Node(IMAGES))
    crds = subprocess.run([ROUNDHOUSE, "crds", "--plugins", JAX], check=True, capture_output=True, text=True).stdout
    Case.api.kubectl("apply", "--server-side", "-f", "-", text=crds)
    Case.api.wait_served()


@functools.cache
def make_image():
    """The image of the controller, from the build that is tested; once."""
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(ROUNDHOUSE).resolve().parents[1]
        subprocess.run([f"{SOURCE}/packaging/image.sh", "-t", IMAGE, "-b", build, f"{folder}/image.tar"], check=True)
        Case.api.load(f"{folder}/image.tar")


@functools.cache
def make_plugin_image():
    """An image with busybox and a plugin in /plugins, as an author would ship it; once."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder, "root")
        (root / "bin").mkdir(parents=True)
        (root / "plugins").mkdir()
        shutil.copy("/bin/busybox", root / "bin")
        (root / "bin" / "cp").symlink_to("busybox")
        for file in pathlib.Path(JAX).glob("*.so"):
            shutil.copy(file, root / "plugins")
        subprocess.run([sys.executable, "-B", f"{SOURCE}/tests/cluster/kubernetes/src/mkimage.py",
                        f"{folder}/image.tar", root, PLUGIN_IMAGE, "{}"], check=True)
        Case.api.load(f"{folder}/image.tar")


def without_crds(manifests):
    return yaml.safe_dump_all(one for one in yaml.load_all(manifests, yaml.CSafeLoader) if one
                              and one["kind"] != "CustomResourceDefinition")


def replica(container, command, count=1, image="localhost/python:1", restart="Never"):
    body = {"name": container, "image": image, "imagePullPolicy": "IfNotPresent", "command": command}
    return {"replicas": count, "restartPolicy": restart,
            "template": {"spec": {"terminationGracePeriodSeconds": 1, "containers": [body]}}}


class Case(unittest.TestCase):
    api = None

    def kubectl(self, *words, **how):
        return self.api.kubectl(*words, **how).stdout

    def run_job(self, kind, name, field, replicas, annotations=None, **policy):
        """Create it and wait until it has succeeded. -> how to name it to kubectl"""
        self.kubectl("create", "-f", "-", text=json.dumps({
            "apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {"runPolicy": {"cleanPodPolicy": "None", **policy}, field: replicas}}))
        what = f"{kind.lower()}/{name}"
        try:
            self.kubectl("wait", "--for=condition=Succeeded", what, f"--timeout={LIMIT_S}s")
        except AssertionError:
            self.describe(name)
            raise
        return what

    def describe(self, name):
        """What there is to know of a job that did not do what it should."""
        for words in (["describe", "pods", "-l", f"{JOB_LABEL}={name}"], ["events"]):
            print(self.kubectl(*words, check=False), file=sys.stderr)
        print(*self.logs(name).items(), sep="\n", file=sys.stderr)

    def logs(self, name):
        """-> {pod: its log} of a job"""
        pods = self.kubectl("get", "pods", "-l", f"{JOB_LABEL}={name}", "-o", "name").split()
        return {pod.removeprefix("pod/"): self.api.kubectl("logs", pod, check=False).stdout for pod in pods}

    def phases(self, name):
        rows = self.kubectl("get", "pods", "-l", f"{JOB_LABEL}={name}", "--no-headers", "-o",
                            "custom-columns=:.metadata.name,:.status.phase")
        return dict(row.split() for row in rows.splitlines())

    def belonging(self):
        return set(self.kubectl("get", OWNED, "-o", "name").replace(".rbac.authorization.k8s.io", "").split()) - OTHERS

    def drop(self, what):
        """Delete a job: nothing of it is left, in the API or on the node."""
        name = what.partition("/")[2]
        self.kubectl("delete", what, f"--timeout={LIMIT_S}s")
        mine = re.compile(rf"/{name}(-|$)")
        wait_for(f"everything of {what} gone", lambda: not any(map(mine.search, self.belonging())), patience=PATIENCE_S)


class Jobs:
    """Jobs that every controller has to bring to their end."""

    def test_torch(self):
        """PyTorch trains on three pods; the Services' names are resolved, and all ranks end with the same weights."""
        command = ["python3", "-c", node_programs.TORCH]
        what = self.run_job("PyTorchJob", "ddp", "pytorchReplicaSpecs", {
            "Master": replica("pytorch", command, image="localhost/train:1"),
            "Worker": replica("pytorch", command, count=2, image="localhost/train:1")})
        logs = self.logs("ddp")
        self.assertEqual(sorted(logs), ["ddp-master-0", "ddp-worker-0", "ddp-worker-1"])
        address = self.kubectl("get", "pod/ddp-master-0", "-o", "jsonpath={.status.podIP}")
        lines = [re.search(r"rank (\d) of 3 weights (\[.*\]) loss (\S+)", log) for log in logs.values()]
        self.assertTrue(all(lines), logs)
        self.assertEqual([line[1] for line in lines], ["0", "1", "2"])
        self.assertEqual(len({line[2] for line in lines}), 1, "one model on all ranks")
        self.assertLess(max(float(line[3]) for line in lines), 0.01)
        for log in logs.values():
            self.assertIn(f"master ddp-master-0 is {address}\n", log)
        self.drop(what)

    def test_parameter_servers(self):
        """They never end; the chief's success is the job's, and what still runs is cleaned away."""
        what = self.run_job("TFJob", "ps", "tfReplicaSpecs", {
            "Chief": replica("tensorflow", ["python3", "-c", node_programs.CHIEF]),
            "PS": replica("tensorflow", ["python3", "-c", node_programs.PS], count=2),
            "Worker": replica("tensorflow", ["python3", "-c", node_programs.CHIEF])}, cleanPodPolicy="Running")
        wait_for("servers gone", lambda: not [pod for pod in self.phases("ps") if "-ps-" in pod], patience=PATIENCE_S)
        self.assertEqual(self.phases("ps").get("ps-chief-0"), "Succeeded")
        log = self.logs("ps")["ps-chief-0"]
        self.assertEqual(json.loads(log.splitlines()[0]), {
            "cluster": {"chief": ["ps-chief-0.default.svc:2222"], "worker": ["ps-worker-0.default.svc:2222"],
                        "ps": ["ps-ps-0.default.svc:2222", "ps-ps-1.default.svc:2222"]},
            "task": {"type": "chief", "index": 0}, "environment": "cloud"})
        for index in range(2):
            self.assertIn(f"ps-ps-{index}.default.svc:2222 ps-ps-{index}\n", log)
        self.drop(what)

    def test_mpi(self):
        """The launcher starts processes on the workers with kubectl exec; they are cleaned away when it has ended."""
        what = self.run_job("MPIJob", "ring", "mpiReplicaSpecs", {
            "Launcher": replica("mpi", ["bash", "-c", node_programs.LAUNCHER], image="localhost/train:1"),
            "Worker": replica("mpi", [], count=2, image="localhost/train:1")}, cleanPodPolicy="Running")
        log = self.logs("ring")["ring-launcher"]
        self.assertEqual(sorted(re.findall(r"^rank .*$", log, re.M)),
                         [f"rank {rank} of 2 on ring-worker-{rank} sum 3" for rank in range(2)])
        wait_for("workers gone", lambda: self.phases("ring") == {"ring-launcher": "Succeeded"}, patience=PATIENCE_S)
        self.drop(what)


class Process(client_jobs.Lives, Jobs, Case):
    """The controller is a process outside of the cluster."""
    has_kubelet = True

    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.enterClassContext(support.Controller(ROUNDHOUSE, cls.api.kubeconfig, folder, "--plugins", JAX))

    def finish(self, names, code):
        for name in names:
            self.kubectl("exec", name, "--", "sh", "-c", f"echo {code} > {client_jobs.END}")

    def test_torchrun(self):
        """A function that the client sends to three nodes, started by torchrun."""
        def train(parameters):
            import torch.distributed as dist  # pylint: disable=import-outside-toplevel
            dist.init_process_group("gloo")
            print("rank", dist.get_rank(), "of", dist.get_world_size(), "with", parameters["rate"], flush=True)
            dist.barrier()

        client = self.client(BY_NAME["PyTorchJob"])
        client.create_job(name="func", train_func=train, parameters={"rate": 0.5}, num_workers=3,
                          num_procs_per_worker=1, base_image="localhost/train:1")
        try:
            self.wait(client, "func", "Succeeded")
        except (RuntimeError, TimeoutError):
            self.describe("func")
            raise
        logs, _ = client.get_job_logs("func", is_master=False)
        self.assertEqual(sorted(re.findall(r"rank \d of 3 with 0\.5", "".join(logs.values()))),
                         [f"rank {rank} of 3 with 0.5" for rank in range(3)])
        self.delete(client, "func", BY_NAME["PyTorchJob"])

    def test_times(self):
        """How long a small job takes; V1 needed 4 to 8 s on such a node. No bound: the machine may be busy."""
        for kind in KINDS:
            client, name = self.client(kind), f"quick-{kind.name.lower()}"
            begin = time.monotonic()
            client.create_job(client_jobs.make_job(kind, name, script="true"))
            job = self.wait(client, name, "Succeeded")
            took = time.monotonic() - begin
            print(f"{kind.name}, {len(kind.pods(name))} pods: {took:.1f} s from create to Succeeded", file=sys.stderr)
            self.assertIsNotNone(job.status.completion_time)
            self.delete(client, name, kind)


class FirstFault(Case):
    """Torch trains on three pods until Worker-1, rank 2, fails: job and ledger name it, whatever its peers report."""

    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.enterClassContext(support.Controller(ROUNDHOUSE, cls.api.kubeconfig, folder, "--plugins", JAX))

    def has_failed(self, name):
        """Whether the job has failed, after LIMIT_S at most."""
        return self.api.kubectl("wait", "--for=condition=Failed", f"pytorchjob/{name}", f"--timeout={LIMIT_S}s",
                                check=False).returncode == 0

    def fault(self, name, way, policy="FallbackToLogsOnError"):
        """-> (the ledger's fault, the message of the condition Failed), which names Worker-1"""
        found = self.fail_job(name, way, policy)
        self.assertIn(f"First fault: Worker-1 (pod {name}-worker-1, container pytorch, node ", found[1], found)
        return found

    def fail_job(self, name, way, policy):
        def body(count):
            made = replica("pytorch", ["python3", "-c", FAULTY.read_text(), way, "2"], count, "localhost/train:1")
            container = made["template"]["spec"]["containers"][0]
            container |= {"terminationMessagePolicy": policy,
                          "resources": {"limits": {"memory": "1Gi"}},
                          "env": [{"name": "OMP_NUM_THREADS", "value": "1"}]}
            return made
        self.kubectl("create", "-f", "-", text=json.dumps({
            "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name},
            "spec": {"runPolicy": {"cleanPodPolicy": "None"},
                     "pytorchReplicaSpecs": {"Master": body(1), "Worker": body(2)}}}))
        try:
            wait_for(f"{name} failed", lambda: self.has_failed(name), patience=FAULT_PATIENCE_S)
        except AssertionError:
            self.describe(name)
            raise
        job = self.api.object("pytorchjob", name)
        message = next(one["message"] for one in job["status"]["conditions"] if one["type"] == "Failed")
        found = json.loads(job["metadata"]["annotations"][LEDGER])["fault"], message
        self.drop(f"pytorchjob/{name}")
        return found

    def test_raises(self):
        """The pod's own exception, though its peers ended in the same second with closed connections."""
        fault, message = self.fault("raises", "raises")
        # after the exception torch 1.13 may crash while it ends
        self.assertIn(fault["exitCode"], (1, 139))
        self.assertEqual((fault["type"], fault["index"], fault["class"]), ("Worker", 1, "cause"))
        self.assertIn("ValueError: shard 7 of the data set holds a label 12", message)

    def test_exits(self):
        """An exit code and no word: that its peers lost it is known from their last lines."""
        fault, message = self.fault("exits", "exits_without_a_word")
        self.assertEqual((fault["index"], fault["exitCode"]), (1, 3))
        self.assertIn("exited with code 3", message)

    def test_segmentation_fault(self):
        fault, message = self.fault("segv", "segfaults")
        self.assertEqual((fault["index"], fault["exitCode"]), (1, 139))
        self.assertIn("exited with code 139 (SIGSEGV)", message)

    def test_out_of_memory(self):
        """The kernel ends it at its limit, and the kubelet says so."""
        fault, message = self.fault("oom", "exceeds_limit")
        self.assertEqual((fault["index"], fault["exitCode"], fault["reason"]), (1, 137, "OOMKilled"))
        self.assertIn("exited with code 137 (SIGKILL, OOMKilled)", message)

    def test_without_output(self):
        """Kubernetes' own policy, File: no pod says why it failed, and the message admits that."""
        _, message = self.fail_job("silent", "exits_without_a_word", "File")
        self.assertRegex(message, "its output is unknown, so a peer may be the cause|failed alike")


class FirstFaultOutput(Case):
    """Worker-1 cleans up until its peers have ended: its output shows that it is the cause. The job's template names no
    policy, and the controller has the rights of `roundhouse manifests`."""

    def account(self, folder, mode):
        """-> a kubeconfig with the rights that the manifests of this mode grant"""
        made = subprocess.run([ROUNDHOUSE, "manifests", "--plugins", JAX, "--without-crds", "-o", "json",
                               "--first-fault", mode], check=True, capture_output=True, text=True).stdout
        kinds = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
        items = {"apiVersion": "v1", "kind": "List", "items": [item for item in json.loads(made)["items"]
                                                               if item["kind"] in kinds]}
        self.kubectl("apply", "-f", "-", text=json.dumps(items))
        self.addCleanup(self.kubectl, "delete", "--ignore-not-found", "-f", "-", text=json.dumps(items))
        token = self.kubectl("create", "token", "-n", "roundhouse", "roundhouse").strip()
        self.api.write_kubeconfig(folder / "config", {"token": token})
        return folder / "config"

    def failed(self, mode):
        """-> (the message of the condition Failed, the policies of the pods)"""
        folder, name = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())), f"slow-{mode}"
        with support.Controller(ROUNDHOUSE, self.account(folder, mode), folder, "--plugins", JAX,
                                "--leader-elect=false", "--first-fault", mode):
            command = ["python3", "-c", node_programs.SLOW_CLEANUP]
            self.kubectl("create", "-f", "-", text=json.dumps({
                "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name},
                "spec": {"runPolicy": {"cleanPodPolicy": "None"}, "pytorchReplicaSpecs": {
                    "Master": replica("pytorch", command), "Worker": replica("pytorch", command, 2)}}}))
            try:
                self.kubectl("wait", "--for=condition=Failed", f"pytorchjob/{name}", f"--timeout={LIMIT_S}s")
            except AssertionError:
                self.describe(name)
                raise
            pods = self.api.object("pods", "-l", f"{JOB_LABEL}={name}")["items"]
            conditions = self.api.object("pytorchjob", name)["status"]["conditions"]
            self.drop(f"pytorchjob/{name}")
        return (next(one["message"] for one in conditions if one["type"] == "Failed"),
                {pod["spec"]["containers"][0]["terminationMessagePolicy"] for pod in pods})

    def check_culprit(self, mode, policy):
        message, policies = self.failed(mode)
        self.assertIn(f"First fault: Worker-1 (pod slow-{mode}-worker-1, container pytorch, node ", message)
        self.assertIn("; last line: ValueError: shard 7 holds a label 12", message)
        self.assertEqual(policies, {policy})

    def test_messages(self):
        self.check_culprit("messages", "FallbackToLogsOnError")

    def test_logs(self):
        self.check_culprit("logs", "File")

    def test_status(self):
        message, policies = self.failed("status")
        self.assertRegex(message, "its output is unknown, so a peer may be the cause|failed alike")
        self.assertNotIn("ValueError", message)
        self.assertEqual(policies, {"File"})


class Comm(Case):
    """rh_comm in jobs, as the configuration of the controller has it: the library comes from our image, by an init
    container."""
    CONFIGURATION = f"""[comm]
image = {IMAGE}
shm-size = 96Mi
env.OF_THE_PROFILE = ours
[comm here]
node-selector = kubernetes.io/os=linux
shm-size = 48Mi
capabilities = IPC_LOCK
"""

    @classmethod
    def setUpClass(cls):
        make_image()
        folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        (folder / "roundhouse.ini").write_text(cls.CONFIGURATION)
        cls.enterClassContext(support.Controller(ROUNDHOUSE, cls.api.kubeconfig, folder, "--plugins", JAX, "--config",
                                                 folder / "roundhouse.ini"))

    def check(self, kind, name, field, types, selector=None, shm=96):
        """All ranks train over rh_comm and end with the same bits."""
        container = {"PyTorchJob": "pytorch", "TFJob": "tensorflow"}[kind]
        replicas = {type_: replica(container, ["python3", "-c", node_programs.COMM], count, "localhost/train:1")
                    for type_, count in types.items()}
        for body in replicas.values():
            body["template"]["spec"]["nodeSelector"] = selector or {}
        what = self.run_job(kind, name, field, replicas, annotations={"roundhouse.dev/comm": "native"})
        logs, world = self.logs(name), sum(types.values())
        ends = [re.search(rf"rank (\d) of {world} over native weights (\w+) loss (\S+)", log) for log in logs.values()]
        self.assertTrue(all(ends), logs)
        self.assertEqual(sorted(int(end[1]) for end in ends), list(range(world)))
        self.assertEqual(len({end[2] for end in ends}), 1, "one model on all ranks")
        self.assertLess(max(float(end[3]) for end in ends), 0.01)
        for log in logs.values():
            self.assertIn("package /opt/roundhouse/roundhouse/__init__.py\n", log)
            self.assertIn(f"shm {shm << 20} profile ours\n", log)
        return what

    def test_torch(self):
        what = self.check("PyTorchJob", "comm", "pytorchReplicaSpecs", {"Master": 1, "Worker": 2})
        pod = self.api.object("pod", "comm-worker-0")
        self.assertEqual([one["name"] for one in pod["spec"]["initContainers"]], ["roundhouse-comm", "init-pytorch"])
        self.assertEqual(pod["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"], 0)
        self.drop(what)

    def test_tfjob(self):
        """Nothing in a TFJob numbers its processes: the core does."""
        self.drop(self.check("TFJob", "commtf", "tfReplicaSpecs", {"Chief": 1, "Worker": 1}))

    def test_profile(self):
        """The nodes that a profile is for; what it leaves open is as everywhere."""
        what = self.check("PyTorchJob", "commp", "pytorchReplicaSpecs", {"Master": 1, "Worker": 1},
                          {"kubernetes.io/os": "linux"}, 48)
        pod = self.api.object("pod", "commp-master-0")
        self.assertEqual(pod["spec"]["containers"][0]["securityContext"]["capabilities"], {"add": ["IPC_LOCK"]})
        self.drop(what)


class Installed(Jobs):
    """The controller is a pod of the cluster that it controls. A subclass says namespace, deployment and
    manifests()."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        manifests = cls.manifests()
        make_image()
        cls.api.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", text=manifests)
        cls.addClassCleanup(cls.api.kubectl, "delete", "--ignore-not-found", "-f", "-", text=without_crds(manifests))
        try:
            cls.api.kubectl("rollout", "status", "-n", cls.namespace, cls.deployment, f"--timeout={LIMIT_S}s")
        except AssertionError:
            for words in (["describe", "pods"], ["events"], ["logs", "--all-pods", cls.deployment]):
                print(cls.api.kubectl("-n", cls.namespace, *words, check=False).stdout, file=sys.stderr)
            raise

    def log(self):
        return self.kubectl("logs", "--all-pods", "--tail=-1", "-n", self.namespace, self.deployment)


class Pod(Installed, Case):
    """Made and installed as users do."""
    namespace, deployment = "roundhouse", "deployment/roundhouse"

    @classmethod
    def manifests(cls):
        make_plugin_image()
        return subprocess.run([ROUNDHOUSE, "manifests", "--image", IMAGE, "--plugins", JAX, "--plugin-image",
                               f"jax={PLUGIN_IMAGE}"],
                              check=True, capture_output=True, text=True).stdout

    def test_plugin_of_an_image(self):
        """The controller's image does not have it; its kind is served with the rights that came with it."""
        self.drop(self.run_job("JAXJob", "guest", "jaxReplicaSpecs", {
            "Worker": replica("jax", ["sh", "-c", "env | grep ^COORDINATOR_ADDRESS"], count=2,
                              image="localhost/busybox:1")}))

    def controllers(self):
        return self.kubectl("get", "pods", "-n", self.namespace, "-o", "name").split()

    def working(self):
        """-> the pod that holds the Lease"""
        holder = self.kubectl("get", "lease", "-n", self.namespace, "-o", "jsonpath={.items[0].spec.holderIdentity}")
        return next((pod for pod in self.controllers() if holder.startswith(pod.removeprefix("pod/"))), None)

    def test_pods(self):
        """Two, ready, never restarted, not root; one of them works."""
        pods = self.api.object("pods", "-n", self.namespace)["items"]
        self.assertEqual([pod["status"]["containerStatuses"][0]["restartCount"] for pod in pods], [0, 0])
        for pod in pods:
            self.assertTrue(pod["spec"]["securityContext"]["runAsNonRoot"])
            container = pod["spec"]["containers"][0]["securityContext"]
            self.assertTrue(container["readOnlyRootFilesystem"])
            self.assertFalse(container["allowPrivilegeEscalation"])
        self.assertIn(self.working(), self.controllers())

    def test_working_pod_is_deleted(self):
        """The other goes on with the job; no replica notices."""
        self.kubectl("create", "-f", "-", text=json.dumps({
            "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "moved"},
            "spec": {"runPolicy": {"cleanPodPolicy": "None"}, "pytorchReplicaSpecs": {"Worker": replica(
                "pytorch", ["sh", "-c", client_jobs.SCRIPT], count=2, image="localhost/busybox:1")}}}))
        self.kubectl("wait", "--for=condition=Running", "pytorchjob/moved", f"--timeout={LIMIT_S}s")
        wait_for("both run", lambda: set(self.phases("moved").values()) == {"Running"}, patience=PATIENCE_S)
        uids = self.kubectl("get", "pods", "-l", f"{JOB_LABEL}=moved", "-o", "jsonpath={.items[*].metadata.uid}")
        before = self.working()
        self.kubectl("delete", before, "-n", self.namespace, f"--timeout={LIMIT_S}s")
        for index in range(2):
            self.kubectl("exec", f"moved-worker-{index}", "--", "sh", "-c", f"echo 0 > {client_jobs.END}")
        self.kubectl("wait", "--for=condition=Succeeded", "pytorchjob/moved", f"--timeout={LIMIT_S}s")
        self.assertNotIn(self.working(), (before, None))
        self.assertEqual(self.kubectl("get", "pods", "-l", f"{JOB_LABEL}=moved", "-o",
                                      "jsonpath={.items[*].metadata.uid}"), uids)
        self.drop("pytorchjob/moved")


class Swap(Installed, Case):
    """V1's own manifests, with another image: its Deployment and command, rights, CRDs, webhooks and the empty
    Secret."""
    namespace, deployment = "kubeflow", "deployment/training-operator"

    @classmethod
    def manifests(cls):
        if not os.environ.get(V1_FOLDER):
            raise unittest.SkipTest(f"{v1_module.MODULE} could not be fetched")
        text = cls.api.kubectl("kustomize", f"{os.environ[V1_FOLDER]}/manifests/overlays/standalone").stdout
        text, count = re.subn(r"(?<=image: )kubeflow/training-operator:\S+", IMAGE, text)
        assert count == 1, count
        return text

    def test_mpi(self):
        """V1's role allows no get and no patch of ConfigMaps, Roles and RoleBindings: they are listed, and updated."""
        super().test_mpi()
        refused = [line for line in self.kubectl("events").splitlines() if "forbidden" in line]
        self.assertEqual(refused, [])

    def test_webhook(self):
        """V1's words, from the pod, for what V1 refuses."""
        body = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "refused"},
                "spec": {"pytorchReplicaSpecs": {"Master": replica("pytorch", ["true"], count=2)}}}
        refused = self.api.kubectl("create", "-f", "-", text=json.dumps(body), check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn('admission webhook "validator.pytorchjob.training-operator.kubeflow.org" denied the request: '
                      "spec.pytorchReplicaSpecs[Master].replicas: Forbidden: must be 1", refused.stderr)

    def test_log(self):
        """V1's role has no Leases: the log says so, and has no other problem."""
        lines = self.log().splitlines()
        refused = [line for line in lines if "forbidden" in line]
        self.assertEqual(len(refused), 2, refused)
        self.assertRegex(refused[0], "cannot read or write the Lease.* cannot get resource \"leases\"")
        self.assertRegex(refused[1], "THERE IS NO LEADER ELECTION.* cannot get resource \"leases\"")
        self.assertTrue(any("trusts the certificate now" in line for line in lines), lines)


if __name__ == "__main__":
    os.environ.pop("KUBECONFIG", None)
    unittest.main(verbosity=2)
