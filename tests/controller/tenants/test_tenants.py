#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one tenant can do to the others: test_tenants.py ROUNDHOUSE JAX_DIR, on a real API server, with the rights of
our manifests.

The controller runs within the memory that the manifests give it, in a cgroup where that can be made, and must stay far
below.
What bounds memory does not depend on how many jobs there are, so a few are enough; ROUNDHOUSE_TEST_LARGE_JOBS=100 in
the environment has 100 of them (20 minutes on two cores), and tests/bench/controller/tenants.py --large 100 measures.
"""
import http.client
import json
import os
import pathlib
import ssl
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import case  # noqa: E402
import support  # noqa: E402

# Of the manifests' limit of 128 MiB.
MOST_MIB = 64
LARGE_JOBS = int(os.environ.get("ROUNDHOUSE_TEST_LARGE_JOBS", "6"))
USUAL_JOBS = max(LARGE_JOBS // 2, 1)
# 1.3 MB as text, 26 MB as a tree of values; put in for the word when a job is printed.
NUMBERS = ",".join(["1"] * 650_000)
# 1.3 MB of what containers are given: it can be run.
VARIABLES = [{"name": f"VARIABLE_{number}", "value": "x" * 200} for number in range(5_400)]
CGROUPS = pathlib.Path("/sys/fs/cgroup")


def manifests():
    """-> {(kind, name): object} of what `roundhouse manifests` prints"""
    done = subprocess.run([case.ROUNDHOUSE, "manifests", "--without-crds", "--plugins", case.JAX], check=True,
                          capture_output=True, text=True)
    return {(o["kind"], o["metadata"]["name"]): o for o in yaml.load_all(done.stdout, yaml.CSafeLoader) if o}


class Cgroup:
    """The memory that the Deployment of our manifests may take; where no cgroup can be made, only VmHWM is looked
    at."""

    def __init__(self, limit):
        v2 = (CGROUPS / "cgroup.controllers").exists()
        self.folder = (CGROUPS if v2 else CGROUPS / "memory") / f"roundhouse-test-{os.getpid()}"
        try:
            self.folder.mkdir()
            # of version 2 only where the root hands memory down, and without it there is no such file
            (self.folder / ("memory.max" if v2 else "memory.limit_in_bytes")).write_text(str(limit))
            print(f"cgroup {self.folder}: {limit} bytes", file=sys.stderr, flush=True)
        except OSError as error:
            print(f"NO CGROUP ({error}): the controller's limit of {limit} bytes is not enforced, VmHWM alone is "
                  "looked at", file=sys.stderr, flush=True)
            self.close()
            self.folder = None

    def add(self, pid):
        if self.folder:
            (self.folder / "cgroup.procs").write_text(str(pid))

    def close(self):
        try:
            if self.folder:
                self.folder.rmdir()
        except OSError:
            pass


def peak_mib(pid):
    """-> the most memory that the process has had at any time"""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        rows = dict(line.split(":", 1) for line in status)
    return int(rows["VmHWM"].split()[0]) / 1024


class Tenant:
    """An account with edit rights in its namespace, one connection a thread."""

    def __init__(self, api, user, namespace):
        self.api, self.token, self.namespace = api, api.tokens[user], namespace
        self.own, self.connections = threading.local(), []

    def connect(self):
        connection = http.client.HTTPSConnection("127.0.0.1", self.api.port, timeout=support.PATIENCE_S,
                                                 context=ssl.create_default_context(cafile=self.api.ca))
        self.connections.append(connection)
        return connection

    def ask(self, method, path, body=None):
        """-> (status, body)"""
        try:
            return self.ask_once(method, path, body)
        except (OSError, http.client.HTTPException):  # a server closes what was idle for a while
            self.own.connection = None
            return self.ask_once(method, path, body)

    def ask_once(self, method, path, body):
        connection = self.own.connection = getattr(self.own, "connection", None) or self.connect()
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        connection.request(method, path, None if body is None else json.dumps(body).replace('"NUMBERS"', NUMBERS),
                           {"Content-Type": kind, "Authorization": f"Bearer {self.token}"})
        answer = connection.getresponse()
        return answer.status, answer.read()


class Tenants(case.Case):
    users = {"hostile": [], "calm": []}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.objects = manifests()
        pod = cls.objects["Deployment", "roundhouse"]["spec"]["template"]["spec"]
        limit = pod["containers"][0]["resources"]["limits"]["memory"]
        assert limit == "128Mi", limit
        cls.cgroup = Cgroup(128 << 20)
        cls.addClassCleanup(cls.cgroup.close)
        cls.api.kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": [
            cls.objects["ClusterRole", "roundhouse-jobs-edit"],
            *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": user}} for user in cls.users),
            *({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
               "metadata": {"name": "edit", "namespace": user},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                           "name": "roundhouse-jobs-edit"},
               "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}]}
              for user in cls.users)]}))

    def setUp(self):
        self.grant(self.objects["ClusterRole", "roundhouse"]["rules"])
        self.hostile, self.calm = (Tenant(self.api, user, user) for user in self.users)
        self.runs = 0

    def start(self):
        """-> a controller with the rights and the memory of our manifests"""
        self.runs += 1
        controller = self.controller("--leader-elect=false", kubeconfig=self.api.kubeconfig_of("limited"),
                                     name=f"{self.id()}-{self.runs}")
        controller.start()
        self.cgroup.add(controller.process.pid)
        self.addCleanup(controller.kill)
        controller.wait_ready()
        return controller

    def ask(self, tenant, method, name="", body=None):
        # on a busy machine the server may give up on a request that is a megabyte
        for again in range(5):
            status, answer = tenant.ask(method, self.path("pytorchjobs", tenant.namespace, name), body)
            if status == 409 and again > 0:
                return {}
            if status != 504:
                break
        self.assertIn(status, (200, 201), answer[:300])
        return json.loads(answer)

    def all(self, method, names, make):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda name: self.ask(self.hostile, method, name if method != "POST" else "", make(name)),
                          names))

    def tearDown(self):
        for tenant in (self.hostile, self.calm):
            for connection in tenant.connections:
                connection.close()

    def assert_served(self, name):
        """Another tenant's job gets its pods."""
        self.ask(self.calm, "POST", body=case.job(name, namespace="calm", workers=1))
        support.wait_for(f"pod of {name}", lambda: self.pods(name, "calm"), patience=300)

    def assert_small(self, controller):
        controller.assert_alive()
        peak = peak_mib(controller.process.pid)
        print(f"{self.id()}: at most {peak:.1f} MiB", file=sys.stderr, flush=True)
        self.assertLessEqual(peak, MOST_MIB)

    def play(self, make, names, reached):
        """Jobs are created, all annotated, and the controller is started anew; another tenant's jobs run meanwhile."""
        controller = self.start()
        self.all("POST", names, make)
        self.assert_served(f"{names[0]}-calm-1")
        for name in names:
            support.wait_for(name, lambda name=name: reached(name), patience=600)
        self.all("PATCH", names, lambda name: {"metadata": {"annotations": {"note": "x"}}})
        self.assert_served(f"{names[0]}-calm-2")
        self.assert_small(controller)
        controller.stop()
        controller = self.start()
        self.assert_served(f"{names[0]}-calm-3")
        self.all("PATCH", names, lambda name: {"metadata": {"annotations": {"note": "y"}}})
        self.assert_served(f"{names[0]}-calm-4")
        self.assert_small(controller)
        controller.stop()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda name: self.ask(self.hostile, "DELETE", name), names))

    def test_jobs_that_are_too_large(self):
        """Each is refused with a condition, and costs nobody anything."""
        def make(name):
            body = case.job(name, namespace="hostile", workers=1)
            body["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["numbers"] = ["NUMBERS"]
            return body

        def refused(name):
            found = self.ask(self.hostile, "GET", name).get("status", {}).get("conditions", [])
            return any(c["type"] == "Failed" and "Too long" in c["message"] for c in found)
        self.play(make, [f"large-{number}" for number in range(LARGE_JOBS)], refused)

    def test_large_jobs_that_run(self):
        """What is large and can be run is, a few at a time."""
        def make(name):
            body = case.job(name, namespace="hostile", workers=2)
            body["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["env"] = VARIABLES
            return body
        self.play(make, [f"usual-{number}" for number in range(USUAL_JOBS)],
                  lambda name: len(self.pods(name, "hostile")) == 2)


if __name__ == "__main__":
    case.main()
