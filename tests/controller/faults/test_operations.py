#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_operations.py ROUNDHOUSE PLUGIN_DIR [--all] [unittest's words]: what happens to a cluster while it is operated.

On a real API server, with the rights of `roundhouse manifests`. With --all there are as many jobs as docs/operations.md
says.
"""
import collections
import contextlib
import http.client
import json
import pathlib
import shutil
import ssl
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import field
import support
from support import apiserver, wait_for

# Of what waits for an event that always comes.
PATIENCE_S = 120
# The limit of the manifests is 128 MiB.
MOST_MIB = 64
LABEL = "training.kubeflow.org/job-name"


def path(namespace, name=""):
    return f"/apis/kubeflow.org/v1/namespaces/{namespace}/pytorchjobs" + (f"/{name}" if name else "")


def job(name, policy="Never", replicas=1, **run_policy):
    template = {"spec": {"containers": [{"name": "pytorch", "image": "i:1"}]}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name}, "spec": {
        "runPolicy": run_policy, "pytorchReplicaSpecs": {"Worker": {"replicas": replicas, "restartPolicy": policy,
                                                                    "template": template}}}}


def peak_mib(controller):
    with open(f"/proc/{controller.process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def cpu_s(controller):
    with open(f"/proc/{controller.process.pid}/stat", encoding="ascii") as stat:
        words = stat.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / 100


class Administrator(threading.local):
    """One connection a thread."""

    def __init__(self, api):
        super().__init__()
        self.connection = http.client.HTTPSConnection("127.0.0.1", api.port, timeout=PATIENCE_S,
                                                      context=self.context(api))

    @staticmethod
    def context(api):
        context = ssl.create_default_context(cafile=api.ca)
        context.load_cert_chain(api.folder / "admin.crt", api.folder / "admin.key")
        return context

    def ask(self, method, where, body=None):
        try:
            return self.send(method, where, body)
        except http.client.RemoteDisconnected:
            # the API server closes a connection that nobody has used for a while
            self.connection.close()
            return self.send(method, where, body)

    def send(self, method, where, body):
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        self.connection.request(method, where, None if body is None else json.dumps(body), {"Content-Type": kind})
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())


class Operations(field.Field):
    """The user "controller" has the rights of our manifests."""
    options = {"groups": []}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        done = subprocess.run([field.ROUNDHOUSE, "manifests", "--without-crds", "-o", "json"], check=True,
                              capture_output=True, text=True)
        cls.role = next(item for item in json.loads(done.stdout)["items"]
                        if (item["kind"], item["metadata"]["name"]) == ("ClusterRole", "roundhouse"))
        cls.admin = Administrator(cls.api)
        cls.apply(cls.role, {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                             "metadata": {"name": "roundhouse"},
                             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                                         "name": "roundhouse"},
                             "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io",
                                           "name": "controller"},
                                          {"kind": "ServiceAccount", "namespace": "default", "name": "controller"}]},
                  *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
                    for name in ("noisy", "calm")))

    @classmethod
    def apply(cls, *objects):
        cls.api.kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def ask(self, method, where, body=None):
        status, answer = self.admin.ask(method, where, body)
        self.assertIn(status, (200, 201), answer)
        return answer

    def each(self, names, action):
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(action, names))

    def create(self, namespace, *jobs):
        self.each(jobs, lambda one: self.ask("POST", path(namespace), one))

    def pods(self, namespace, query=""):
        return self.ask("GET", f"/api/v1/namespaces/{namespace}/pods{query}")["items"]

    def assert_served(self, name, namespace="calm"):
        """A new job gets its pod. -> seconds"""
        start = time.monotonic()
        self.create(namespace, job(name))
        wait_for(name, lambda: self.pods(namespace, f"?labelSelector={LABEL}={name}"), PATIENCE_S)
        return time.monotonic() - start

    def attempts(self, namespace, resource, verb="create", subresource=None):
        """-> the controller's requests, refused or not"""
        return [event for event in self.api.attempts() if event["verb"] == verb
                and event["objectRef"].get("namespace") == namespace
                and event["objectRef"].get("resource") == resource
                and event["objectRef"].get("subresource") == subresource
                and event["user"]["username"] == "controller"]

    def assert_small(self, controller):
        self.assertLess(peak_mib(controller), MOST_MIB)

    def say(self, words):
        print(f"{self.id()}: {words}", file=sys.stderr, flush=True)

    def write_kubeconfig(self, ca, user):
        config = self.folder / f"{self.id()}.kubeconfig"
        kept, self.api.ca = self.api.ca, ca
        self.api.write_kubeconfig(config, user)
        self.api.ca = kept
        return config

    def run_with(self, config):
        return support.Controller(field.ROUNDHOUSE, config, self.folder, "--plugins", field.PLUGINS,
                                  "--enable-scheme=PyTorchJob", "--leader-elect=false", name=self.id())


def replace(file, text):
    new = pathlib.Path(f"{file}.new")
    new.touch(mode=0o600)
    new.write_text(text)
    new.rename(file)


class Tokens(Operations):
    """The token of a service account is good no more, and is replaced in its file."""

    def token(self):
        """Make the ServiceAccount anew: no token that it had is good any more. -> one that is"""
        self.api.kubectl("delete", "serviceaccount", "controller", "--ignore-not-found")
        self.api.kubectl("create", "serviceaccount", "controller")
        return self.api.kubectl("create", "token", "controller").stdout.strip()

    def is_refused(self, token):
        """The API server goes on to take a token that it has seen for some seconds."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.api.port, timeout=PATIENCE_S,
                                                 context=ssl.create_default_context(cafile=self.api.ca))
        with contextlib.closing(connection):
            connection.request("GET", "/api", headers={"Authorization": f"Bearer {token}"})
            return connection.getresponse().status == http.client.UNAUTHORIZED

    def test_token(self):
        file, old = self.folder / "token", self.token()
        replace(file, old)
        with self.run_with(self.write_kubeconfig(self.api.ca, {"tokenFile": str(file)})) as controller:
            self.assert_served("first")
            new = self.token()
            wait_for("old token refused", lambda: self.is_refused(old))
            self.assertNotIn("Unauthorized", controller.text())
            self.create("calm", job("second"))
            controller.wait_for_log('cannot authenticate: Unauthorized; context "test", user "user": the token in '
                                    f'{file} is not accepted')
            replace(file, new)
            start = time.monotonic()
            wait_for("second", lambda: self.pods("calm", f"?labelSelector={LABEL}=second"), PATIENCE_S)
            self.say(f"pod after the file was replaced: {time.monotonic() - start:.1f} s")
            wait_for("no problem", lambda: controller.state()["problems"] == [])
            self.assertIn("requests: works again", controller.text())
            self.assert_served("third")


class Authorities(Operations):
    """The API server gets a certificate of another authority."""

    def test_authority(self):
        trusted = self.folder / "trusted.crt"
        shutil.copy(self.api.ca, trusted)
        with self.run_with(self.write_kubeconfig(trusted, {"token": self.api.tokens["controller"]})) as controller:
            self.assert_served("first")
            self.restart_with_another()
            controller.wait_for_log("certificate-authority")
            self.create("calm", job("second"))
            replace(trusted, self.api.ca.read_text())
            start = time.monotonic()
            wait_for("second", lambda: self.pods("calm", f"?labelSelector={LABEL}=second"), PATIENCE_S)
            self.say(f"after the file was replaced: {time.monotonic() - start:.1f} s")
            wait_for("no problem", lambda: controller.state()["problems"] == [])

    def restart_with_another(self):
        folder = self.folder / "other"
        folder.mkdir()
        other = apiserver.Authority(folder)
        other.issue("apiserver", "/CN=kube-apiserver", "IP:127.0.0.1")
        self.api.stop("kube-apiserver")
        command = self.api.daemons["kube-apiserver"].command
        for flag, file in (("--tls-cert-file", other.cert("apiserver")),
                           ("--tls-private-key-file", other.key("apiserver"))):
            command[command.index(flag) + 1] = str(file)
        self.api.ca, self.api.connection = other.cert("ca"), None
        self.api.start("kube-apiserver")
        type(self).admin = Administrator(self.api)


class Terminating(Operations):
    """A namespace is being deleted, and its jobs want pods."""

    def test_terminating(self):
        names = [f"job-{number}" for number in range(50)]
        with self.controller("terminating", "--leader-elect=false") as controller:
            self.create("noisy", *(job(name, suspend=True) for name in names))
            self.ask("DELETE", "/api/v1/namespaces/noisy")  # nothing finishes that here
            self.each(names, lambda name: self.ask("PATCH", path("noisy", name),
                                                   {"spec": {"runPolicy": {"suspend": False}}}))
            wait_for("refusals", lambda: len(self.attempts("noisy", "pods")) >= len(names))
            counts = [(time.monotonic(), self.attempted())]
            for number in range(3):
                # how often it tries in this time is what is measured
                time.sleep(10)
                self.say(f"job of another namespace: {self.assert_served(f'calm-{number}'):.2f} s")
                counts.append((time.monotonic(), self.attempted()))
            # on a busy machine each took longer than that
            grown = [round(10 * (later - before) / (end - start)) for (start, before),
                     (end, later) in zip(counts, counts[1:])]
            self.say(f"creates in each 10 s: {grown}; {peak_mib(controller):.1f} MiB; CPU {cpu_s(controller):.2f} s")
            self.assertLess(grown[2], 4 * len(names))
            self.assertLess(len(self.attempts("noisy", "pytorchjobs", "patch", "status")), 6 * len(names))
            self.assert_small(controller)

    def attempted(self):
        return len(self.attempts("noisy", "pods")) + len(self.attempts("noisy", "services"))


class Invalid(Operations):
    """Jobs that the schema lets in and the controller's validation does not."""

    def assert_written_once(self, names):
        """Each job has failed by one write and has one Event, and nothing else was made or written for it."""
        found = collections.Counter((event["verb"], event["objectRef"]["resource"],
                                     event["objectRef"]["name"].partition(".")[0])
                                    for event in self.events("noisy"))
        self.assertEqual(found, {(*what, name): 1 for name in names
                                 for what in (("patch", "pytorchjobs"), ("create", "events"))})

    def test_invalid(self):
        names = [f"job-{number}" for number in range(2000 if field.ALL else 100)]
        with self.controller("invalid", "--leader-elect=false") as controller:
            start = time.monotonic()
            self.create("noisy", *(job(name, replicas=1_000_001) for name in names))
            calm = self.assert_served("calm")
            wait_for("Events", lambda: len(self.attempts("noisy", "events")) >= len(names))
            took = time.monotonic() - start
            self.assert_idle(controller)
            self.say(f"{len(names)} jobs: {took:.1f} s; a job of another namespace has its pod after {calm:.2f} s; "
                     f"{peak_mib(controller):.1f} MiB; CPU {cpu_s(controller):.2f} s")
            self.assert_small(controller)
        self.assert_written_once(names)
        self.assert_untouched()
        for item in self.ask("GET", path("noisy"))["items"]:
            self.assertEqual([c["type"] for c in item["status"]["conditions"]], ["Created", "Failed"])


class Flood(Operations):
    """One namespace creates thousands of jobs as fast as the API server takes them."""

    def count(self, namespace, resource):
        """How many there are, without reading them."""
        answer = self.ask("GET", f"/api/v1/namespaces/{namespace}/{resource}?limit=1")
        return len(answer["items"]) + answer["metadata"].get("remainingItemCount", 0)

    def test_flood(self):
        names, waited = [f"job-{number}" for number in range(5000 if field.ALL else 200)], []
        with self.controller("flood", "--leader-elect=false") as controller:
            start = time.monotonic()
            with ThreadPoolExecutor(1) as pool:
                made = pool.submit(self.create, "noisy", *(job(name) for name in names))
                while not made.done() or not waited:
                    waited.append(self.assert_served(f"calm-{len(waited)}"))
                made.result()
            created = time.monotonic() - start
            wait_for("all pods", lambda: self.count("noisy", "pods") >= len(names), 10 * PATIENCE_S)
            took = time.monotonic() - start
            self.assert_idle(controller)
            self.say(f"{len(names)} jobs in {created:.1f} s, their pods in {took:.1f} s; {len(waited)} jobs of "
                     "another namespace, one after the "
                     f"other, have their pods after {sorted(waited)[len(waited) // 2]:.2f} s in the median, "
                     f"{max(waited):.2f} s at most; "
                     f"{peak_mib(controller):.1f} MiB; CPU {cpu_s(controller):.2f} s")
            self.assert_small(controller)
        self.assertEqual(len(self.attempts("noisy", "pods")), len(names), "each pod is created once")
        owners = collections.Counter(pod["metadata"]["labels"][LABEL] for pod in self.pods("noisy"))
        self.assertEqual(owners, {name: 1 for name in names})


class Restarts(Operations):
    """Pods fail as soon as they are made, again and again, and nothing limits that."""

    def fail_all(self, over):
        state = {"name": "pytorch", "image": "i", "imageID": "", "ready": False, "restartCount": 0,
                 "state": {"terminated": {"exitCode": 137}}}
        while not over.is_set():
            names = [pod["metadata"]["name"] for pod in self.pods("noisy")
                     if pod.get("status", {}).get("phase") == "Pending"]
            self.each(names, lambda name: self.admin.ask("PATCH", f"/api/v1/namespaces/noisy/pods/{name}/status",
                                                         {"status": {"phase": "Failed", "containerStatuses": [state]}}))

    def test_restarts(self):
        count, over, made = 500 if field.ALL else 50, threading.Event(), []
        with self.controller("restarts", "--leader-elect=false") as controller:
            kubelet = threading.Thread(target=self.fail_all, args=(over,))
            kubelet.start()
            try:
                self.create("noisy", *(job(f"job-{number}", policy="ExitCode") for number in range(count)))
                for number in range(3):
                    before = len(self.attempts("noisy", "pods"))
                    # how many it makes in this time is what is measured
                    time.sleep(15)
                    made.append(len(self.attempts("noisy", "pods")) - before)
                    self.say(f"another's job {self.assert_served(f'calm-{number}'):.2f} s")
            finally:
                over.set()
                kubelet.join()
            self.say(f"{count} jobs: pods in each 15 s: {made}; {peak_mib(controller):.1f} MiB; CPU "
                     f"{cpu_s(controller):.2f} s")
            self.assert_small(controller)


if __name__ == "__main__":
    field.main()
