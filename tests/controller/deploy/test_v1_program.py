#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_v1_program.py ROUNDHOUSE MXNET_DIR: the program of Training Operator V1 works, is stopped, ours goes on, and
then V1 again.

V1 is built from its Go module, once, into the cache of tests/cluster/assets.py, and runs with its own manifests and
account.
MXJob is a kind of a plugin from outside the tree. Pods are set by hand. The API server's audit log says who did what.
"""
import base64
import contextlib
import http.client
import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faults"))

MXNET = sys.argv.pop(2) if len(sys.argv) > 2 else ""
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import test_v1  # noqa: E402
import life  # noqa: E402
import audit  # noqa: E402
from support import apiserver, wait_for  # noqa: E402

GROUP = "/apis/kubeflow.org/v1/namespaces/default"
ACCOUNT = "system:serviceaccount:kubeflow:training-operator"
SECRET = "/api/v1/namespaces/kubeflow/secrets/training-operator-webhook-cert"
PROGRAM = "training-operator.v1"
# V1's program looks there, and nowhere else.
MOUNT = pathlib.Path("/tmp/k8s-webhook-server/serving-certs")
# plural: kind, field of the replicas, container, type of the first replica
KINDS = {"pytorchjobs": ("PyTorchJob", "pytorchReplicaSpecs", "pytorch", "Master"),
         "tfjobs": ("TFJob", "tfReplicaSpecs", "tensorflow", "Chief"),
         "xgboostjobs": ("XGBoostJob", "xgbReplicaSpecs", "xgboost", "Master"),
         "paddlejobs": ("PaddleJob", "paddleReplicaSpecs", "paddle", "Master"),
         "mpijobs": ("MPIJob", "mpiReplicaSpecs", "mpi", "Launcher"),
         "mxjobs": ("MXJob", "mxReplicaSpecs", "mxnet", "Scheduler")}
# What else a kind's jobs say.
FIELDS = {"mxjobs": {"jobMode": "MXTrain"}}
# V1 never makes a pod of an MPIJob anew.
RESTARTING = [plural for plural in KINDS if plural != "mpijobs"]
CHILDREN = ("pods", "services")


def v1_program():
    """-> the path of V1's program, built if need be; ends the test as skipped when it cannot be had"""
    path = apiserver.cache() / "bin" / PROGRAM
    if not os.access(path, os.X_OK):
        assets = pathlib.Path(apiserver.__file__).with_name("assets.py")
        done = subprocess.run([sys.executable, "-B", str(assets), PROGRAM], text=True, stderr=subprocess.PIPE)
        if done.returncode != 0 or not os.access(path, os.X_OK):
            apiserver.skip(f"{PROGRAM} cannot be built: {done.stderr[-1000:]}")
    return path


def mended(statuses):
    """-> statuses with what V1 leaves out: of some jobs that failed, when that was (v1-behaviour E.5-4)"""
    for status in statuses.values():
        failed = [c["lastTransitionTime"] for c in status["conditions"]
                  if (c["type"], c["status"]) == ("Failed", "True")]
        if failed:
            status.setdefault("completionTime", failed[0])
    return statuses


def own_mounts():
    """-> the command that runs another one with mounts of its own; ends the test as skipped where that is not
    allowed"""
    for command in (["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"]):
        if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL).returncode == 0:
            return command
    return apiserver.skip("unshare --mount is not allowed, and V1 wants its certificate below /tmp")


class V1(apiserver.Daemon):
    """V1's program as its Deployment runs it: the Secret is mounted, with what it holds."""

    def __init__(self, test):
        health, metrics = apiserver.free_ports(2)
        self.test, self.health, self.mount = test, health, test.folder / "mount"
        self.mount.mkdir()
        script = f'mount --bind "$0" {MOUNT} && exec env -u TMPDIR MY_POD_NAMESPACE={test_v1.NAMESPACE} "$@"'
        super().__init__("v1", [*own_mounts(), "sh", "-c", script, self.mount, test.program,
                                f"--kubeconfig={test.folder / 'account.kubeconfig'}",
                                f"--webhook-server-port={test.port}", f"--metrics-bind-address=127.0.0.1:{metrics}",
                                f"--health-probe-bind-address=127.0.0.1:{health}"],
                         test.folder)

    def __enter__(self):
        MOUNT.mkdir(parents=True, exist_ok=True)
        self.start()
        wait_for("V1's certificate", self.fill_mount, 120)
        wait_for("V1 is ready", self.is_ready, 120)
        return self

    def __exit__(self, kind, *_):
        self.stop()
        with contextlib.suppress(OSError):
            MOUNT.rmdir()
            MOUNT.parent.rmdir()
        if kind:
            print(f"--- {self.log}\n{self.log.read_text(errors='replace')[-4000:]}", file=sys.stderr)

    def fill_mount(self):
        self.assert_alive()
        data = json.loads(self.test.api.get(SECRET)).get("data", {})
        for name, text in data.items():
            (self.mount / name).write_bytes(base64.b64decode(text))
        return "tls.crt" in data

    def is_ready(self):
        self.assert_alive()
        connection = http.client.HTTPConnection("127.0.0.1", self.health, timeout=180)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.client.OK
        except OSError:
            return False
        finally:
            connection.close()


class Program(test_v1.Installed):
    """Jobs of every kind go from V1 to us and back."""
    server = audit.Server
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.program = v1_program()
        super().setUpClass()

    def manager(self):
        """With the folder of the plugin for MXJobs."""
        controller = super().manager()
        controller.command.append(f"--plugins={MXNET}")
        return controller

    # --- the audit log

    def mark(self):
        """-> what V1's account has written until now is not looked at again"""
        return len(self.api.writes(ACCOUNT))

    def writes(self, since):
        """-> what was done since then, without events"""
        return [e for e in self.api.writes(ACCOUNT)[since:] if e["objectRef"]["resource"] != "events"]

    def made(self, since):
        """-> {kind: names, as often as they were made}; whatever else was deleted than a pod that starts again is an
        error"""
        events = self.writes(since)
        deleted = {audit.what(e) for e in events if e["verb"].startswith("delete")}
        self.assertLessEqual(deleted, {f"delete pods again-{plural}-worker-0" for plural in RESTARTING})
        return {what: sorted(audit.count(events, "create", what).elements()) for what in CHILDREN}

    def check_who(self, since, agent):
        self.assertEqual({e["userAgent"].split("/")[0] for e in self.writes(since)}, {agent})

    # --- jobs

    def begin(self, plural, name):
        kind, field, container, lead = KINDS[plural]
        policy = "Never" if plural == "mpijobs" else "ExitCode"
        template = {"spec": {"containers": [{"name": container, "image": "i:1"}]}}
        specs = {role: {"replicas": count, "restartPolicy": policy, "template": template}
                 for role, count in ((lead, 1), ("Worker", 2))}
        body = {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": name},
                "spec": {**FIELDS.get(plural, {}), field: specs}}

        def made():
            status, text = self.api.request("POST", f"{GROUP}/{plural}", json.dumps(body))
            # a webhook that is not answered yet
            self.assertIn(status, (201, 500), text)
            return status == 201
        wait_for(f"{plural} {name} is let in", made)

    def status(self, plural, name):
        return json.loads(self.api.get(f"{GROUP}/{plural}/{name}")).get("status", {})

    def has(self, plural, name, condition):
        return audit.conditions(self.status(plural, name)).get(condition) == "True"

    def let_run(self, plural, name):
        """Start the pods, and wait for the words of who controls the job."""
        def runs():
            pods = self.pods(name)
            for pod in pods:
                if pod["status"].get("phase") == "Pending":
                    self.set_phase(pod, "Running")
            counts = self.status(plural, name).get("replicaStatuses") or {}
            return len(pods) == 3 and self.has(plural, name,
                                               "Running") and sum(one.get("active", 0) for one in counts.values()) == 3
        wait_for(f"{plural} {name} runs", runs)

    def finish(self, plural, name):
        for pod in self.pods(name):
            self.set_phase(pod, "Succeeded")
        wait_for(f"{plural} {name} has succeeded", lambda: self.has(plural, name, "Succeeded"))

    def lose(self, plural, name):
        """The first replica ends in a way that does not start it again."""
        lead = KINDS[plural][3].lower()
        (first,) = [pod for pod in self.pods(name) if f"-{lead}" in pod["metadata"]["name"]]
        self.set_phase(first, "Failed", 1)
        wait_for(f"{plural} {name} has failed", lambda: self.has(plural, name, "Failed"))

    def restart(self, plural, name):
        """Worker 0 is lost in a way that starts it again."""
        (lost,) = [pod for pod in self.pods(name) if pod["metadata"]["name"].endswith("-worker-0")]
        self.set_phase(lost, "Failed", 138)
        wait_for(f"{plural} {name} has a new worker", lambda: [
            pod for pod in self.pods(name) if pod["metadata"]["name"] == lost["metadata"]["name"]
            and pod["metadata"]["uid"] != lost["metadata"]["uid"]])
        self.let_run(plural, name)

    def children(self):
        """-> {kind: {name: UID}} of all that jobs have"""
        return {what: {o["metadata"]["name"]: o["metadata"]["uid"] for o in json.loads(self.api.get(
            f"/api/v1/namespaces/default/{what}?labelSelector={test_v1.LABEL}"))["items"]} for what in CHILDREN}

    def statuses(self):
        return {f"{plural} {job['metadata']['name']}": job.get("status") for plural in KINDS
                for job in json.loads(self.api.get(f"{GROUP}/{plural}"))["items"]}

    # --- the test

    def test_there_and_back(self):
        self.apply(*self.install())
        controller, v1 = self.manager(), V1(self)
        with v1:
            self.play_first()
        self.check_who(0, PROGRAM)
        before, mark = (self.children(), mended(self.statuses())), self.mark()
        with controller:
            wait_for("idle", lambda: self.is_idle(controller))
            self.assertEqual(self.made(mark), {what: [] for what in CHILDREN})
            self.check_kept(before)
            self.play_ours()
            wait_for("idle", lambda: self.is_idle(controller))
            wait_for("no problem", lambda: not controller.state()["problems"])
        self.check_who(mark, "roundhouse")
        self.assertEqual(self.made(mark), self.expected("new"))
        self.check_ledgers()
        before, mark = (self.children(), self.statuses()), self.mark()
        with v1:
            for plural in KINDS:
                self.begin(plural, f"probe-{plural}")
                self.let_run(plural, f"probe-{plural}")
            self.check_kept(before)
            self.play_last()
        self.check_who(mark, PROGRAM)
        self.assertEqual(self.made(mark), self.expected("probe"))

    def expected(self, name):
        """-> what is made when a job of this name begins for each kind, and worker 0 of some starts again"""
        made = {what: [] for what in CHILDREN}
        for plural, (_kind, _field, _container, lead) in KINDS.items():
            lead = "launcher" if plural == "mpijobs" else f"{lead.lower()}-0"
            names = [f"{name}-{plural}-{role}" for role in (lead, "worker-0", "worker-1")]
            made["pods"] += names
            # an MPIJob has no Services
            made["services"] += names if plural != "mpijobs" else []
        made["pods"] += [f"again-{plural}-worker-0" for plural in RESTARTING]
        return {what: sorted(names) for what, names in made.items()}

    def check_ledgers(self):
        """What was restarted before our time cannot be known; what was in it counts once."""
        for plural in RESTARTING:
            job = json.loads(self.api.get(f"{GROUP}/{plural}/again-{plural}"))
            ledger = json.loads(job["metadata"]["annotations"]["roundhouse.dev/ledger"])
            self.assertEqual(life.restarts(ledger), 1, ledger)

    def play_first(self):
        """V1 has one job of each kind that ends well, one that fails, two that run, and one that was restarted."""
        names = ("ended", "failed", "passed", "running", "again")
        for plural in KINDS:
            for name in names:
                self.begin(plural, f"{name}-{plural}")
        for plural in KINDS:
            for name in names:
                self.let_run(plural, f"{name}-{plural}")
            self.finish(plural, f"ended-{plural}")
            self.lose(plural, f"failed-{plural}")
        for plural in RESTARTING:
            self.restart(plural, f"again-{plural}")

    def play_ours(self):
        """What ran goes on to its end, or through one more restart; new jobs begin."""
        for plural in KINDS:
            self.finish(plural, f"passed-{plural}")
            self.begin(plural, f"new-{plural}")
            self.let_run(plural, f"new-{plural}")
        for plural in RESTARTING:
            self.restart(plural, f"again-{plural}")

    def play_last(self):
        for plural in RESTARTING:
            self.restart(plural, f"again-{plural}")
        for plural in KINDS:
            for name in ("running", "again", "new"):
                self.finish(plural, f"{name}-{plural}")

    def is_idle(self, controller):
        return controller.is_idle(synced=True) and controller.state()["engine"]["jobs"] == len(self.statuses())

    def check_kept(self, before):
        children, statuses = before
        now = self.children()
        self.assertEqual({what: {name: now[what].get(name) for name in children[what]} for what in CHILDREN}, children)
        now = self.statuses()
        self.assertEqual({name: now[name] for name in statuses}, statuses)


if __name__ == "__main__":
    apiserver.skip_without_assets()
    unittest.main()
