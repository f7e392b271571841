#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the controller costs against a real kube-apiserver, beside the raw limit: the same creates, sent by creates.c in
the same run.
usage: bench.py BUILD_DIR [--rounds N] [--only] [--large] [--foreign] [--finished N] [--flat N] [--failover N]

    --large      also 20,000 pods, and a start with them (some minutes)
    --foreign    also 700 ConfigMaps of 200 KB and 5,000 pods that are not ours
    --finished N also the first pod of a new job beside N jobs that have ended
    --flat N     also the memory while N jobs are created, end and are deleted, in rounds (minutes for each 1000)
    --failover N also the time from the death of who works to the first pod by another, N times (half a minute each)
    --only       only these, without what is measured otherwise

BUILD_DIR is a release build with tests: cmake --preset release -DRH_BUILD_TESTS=ON

Nothing here passes or fails: machines differ. The API server takes most of the time, so look at ratios, and at more
than one run.
"""
import argparse
import http.client
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "controller"), str(TESTS / "cluster")]
import apiserver  # noqa: E402
import support  # noqa: E402

LABEL = "training.kubeflow.org/job-name"
JOBS = "/apis/kubeflow.org/v1/namespaces/{}/pytorchjobs"
# Requests at once of the raw limit: as many as the controller begins with, and twice that; the better counts.
PARALLEL = (32, 64)
# A server that queues requests by fairness would measure itself.
SERVER = ["--enable-priority-and-fairness=false", "--max-mutating-requests-inflight=1000",
          "--max-requests-inflight=1000"]
# Jobs of one round of --flat.
ROUND = 500
WHOSE = {"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "namespace"}
# What the server adds. A Service keeps its clusterIP, None: without, the server would have to find an address for each.
DROPPED = {"pods": ["nodeName", "terminationGracePeriodSeconds", "dnsPolicy", "securityContext", "schedulerName",
                    "tolerations", "priority", "enableServiceLinks", "preemptionPolicy"],
           "services": ["clusterIPs", "sessionAffinity", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy",
                        "type"]}
DROPPED_OF_CONTAINERS = ["terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy"]


def job(name, pods):
    """A master and its workers."""
    template = {"spec": {"containers": [{"name": "pytorch", "image": "registry.example/train:1",
                                         "command": ["python", "train.py"],
                                         "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name},
            "spec": {"runPolicy": {"cleanPodPolicy": "None"}, "pytorchReplicaSpecs": {
                kind: {"replicas": count, "restartPolicy": "Never", "template": template}
                for kind, count in (("Master", 1), ("Worker", pods - 1)) if count}}}


class Client(threading.local):
    """One connection a thread."""

    def __init__(self, api):
        super().__init__()
        self.api, self.connection = api, None

    def ask(self, method, path, body=None):
        status, text = self.send(method, path, None if body is None else json.dumps(body))
        if status >= 300 and status != 404:
            raise AssertionError(f"{method} {path}: {status} {text[:300]!r}")
        return json.loads(text)

    def send(self, method, path, text):
        """The request of ApiServer, on a connection of this thread's own. -> (status, body)"""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        try:
            return apiserver.ApiServer.request(Borrowed(self), method, path, text, kind)
        except (OSError, http.client.HTTPException):  # a server closes what was idle for a while
            return apiserver.ApiServer.request(Borrowed(self), method, path, text, kind)


class Borrowed:
    """What ApiServer.request() needs of an ApiServer."""

    def __init__(self, client):
        object.__setattr__(self, "client", client)

    def __getattr__(self, name):
        return self.client.connection if name == "connection" else getattr(self.client.api, name)

    def __setattr__(self, name, value):
        setattr(self.client, name, value)


class Memory(threading.Thread):
    """Samples a process until stop() is called. Attributes: most, {name: MiB}."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.most, self.over = pid, {}, threading.Event()

    @staticmethod
    def look(pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            rows = dict(line.split(":", 1) for line in f)
        return {name: int(rows[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon")}

    def run(self):
        while not self.over.wait(0.02):
            try:
                now = self.look(self.pid)
            except (OSError, KeyError):
                return
            self.most = {name: max(value, self.most.get(name, 0)) for name, value in now.items()}


def cpu(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        words = f.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Bench:
    jobs = JOBS  # path of the jobs of a namespace
    flags = ["--enable-scheme=PyTorchJob"]  # of the controller
    made = ("pods", "services")  # what it makes of a job

    def __init__(self, api, build, folder):
        self.api, self.roundhouse, self.folder = api, build / "bin" / "roundhouse", folder
        self.creates = build / "tests" / "bench_creates"
        self.client, self.namespaces = Client(api), 0
        self.install()

    def install(self):
        self.define("--kind", "PyTorchJob")
        self.api.wait_served()

    def define(self, *flags):
        crds = subprocess.run([self.roundhouse, "crds", *flags], check=True, capture_output=True, text=True).stdout
        self.api.kubectl("apply", "--server-side", "-f", "-", text=crds)

    def job(self, name, pods):
        return job(name, pods)

    @staticmethod
    def leave(spec):
        """Write into the spec of a job that another controller serves it."""
        spec["runPolicy"]["managedBy"] = "kueue.x-k8s.io/multikueue"

    def say(self, what, value, yardstick=""):
        print(f"| {what} | {value} | {yardstick} |", flush=True)

    def progress(self, what):
        print(what, file=sys.stderr, flush=True)

    def namespace(self):
        self.namespaces += 1
        name = f"bench-{self.namespaces}"
        self.client.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        return name

    def controller(self, *flags, elect="false"):
        return support.Controller(self.roundhouse, self.api.kubeconfig, self.folder, f"--leader-elect={elect}",
                                  *self.flags, *flags, name=f"controller-{time.monotonic()}")

    def created(self, controller):
        """-> how many pods and Services it has created so far, as it counts itself"""
        metrics = controller.metrics()
        return min(metrics.get(f'roundhouse_api_requests_total{{verb="create",resource="{what}",code="201"}}', 0)
                   for what in ("pods", "services"))

    def calls(self, controller):
        """-> {"verb resource": count}"""
        out = {}
        for name, value in controller.metrics().items():
            if name.startswith("roundhouse_api_requests_total"):
                labels = dict(part.split("=", 1) for part in name[name.index("{") + 1:-1].split(","))
                key = f"{labels['verb']} {labels['resource']}".replace('"', "")
                out[key] = out.get(key, 0) + value
        return out

    def post(self, objects, parallel):
        """Create (path, body) objects with creates.c, so many at once. -> seconds"""
        with tempfile.NamedTemporaryFile("w", dir=self.folder) as lines:
            lines.writelines(f"{path} {json.dumps(body)}\n" for path, body in objects)
            lines.flush()
            done = subprocess.run([self.creates, self.api.url, self.api.ca, self.api.folder / "admin.crt",
                                   self.api.folder / "admin.key", str(parallel), lines.name], check=True,
                                  stdout=subprocess.PIPE, text=True)
        return float(done.stdout)

    def create(self, namespace, jobs, pods):
        self.post([(self.jobs.format(namespace), self.job(f"j{n}", pods)) for n in range(jobs)], PARALLEL[0])

    def burst(self, controller, jobs, pods):
        """-> (namespace, seconds until all pods and Services are there)"""
        namespace = self.namespace()
        before, start = self.created(controller), time.monotonic()
        self.create(namespace, jobs, pods)
        while self.created(controller) < before + jobs * pods:
            time.sleep(0.1)  # to look costs time, too
        return namespace, time.monotonic() - start

    # --- the raw limit

    def bodies(self, like, namespace):
        """-> [(path, body)] of all that a burst created: its jobs, left to another controller, and what ours made, as
        it sent it"""
        for item in json.loads(self.api.get(self.jobs.format(like)))["items"]:
            self.leave(item["spec"])
            yield self.jobs.format(namespace), {"apiVersion": item["apiVersion"], "kind": item["kind"],
                                                "spec": item["spec"], "metadata": {"name": item["metadata"]["name"]}}
        for plural in self.made:
            for item in json.loads(self.api.get(f"/api/v1/namespaces/{like}/{plural}"))["items"]:
                item["metadata"] = {key: value for key, value in item["metadata"].items() if key not in WHOSE}
                item.pop("status", None)
                for key in DROPPED.get(plural, []):
                    item["spec"].pop(key, None)
                for container in item.get("spec", {}).get("containers", []):
                    for key in DROPPED_OF_CONTAINERS:
                        container.pop(key, None)
                yield f"/api/v1/namespaces/{namespace}/{plural}", item

    def raw(self, like, parallel):
        """Create the same objects with libcurl alone. -> seconds"""
        namespace = self.namespace()
        seconds = self.post(list(self.bodies(like, namespace)), parallel)
        self.clean(namespace)
        return seconds

    def compare(self, controller, jobs, pods, rounds):
        """Controller and libcurl in turn, the best of each counts."""
        ours, theirs = [], []
        for number in range(rounds):
            namespace, seconds = self.burst(controller, jobs, pods)
            self.settle(controller)
            ours.append(seconds)
            theirs += [self.raw(namespace, parallel) for parallel in PARALLEL]
            self.clean(namespace)
            self.settle(controller)
            self.progress(f"{jobs} x {pods}, round {number + 1}: {seconds:.2f} s, libcurl "
                          f"{min(theirs[-len(PARALLEL):]):.2f} s")
        best, raw = min(ours), min(theirs)
        self.say(f"{jobs} x {pods}: jobs posted, pods and Services created",
                 f"{best:.2f} s, libcurl {raw:.2f} s: {best / raw:.2f}x",
                 "1.25x of the raw limit")

    def clean(self, namespace):
        """No garbage collector runs here. Some at a time: an API server ends what takes longer than a minute."""
        for path in (self.jobs.format(namespace),
                     *(f"/api/v1/namespaces/{namespace}/{plural}" for plural in self.made)):
            while json.loads(self.api.get(f"{path}?limit=1"))["items"]:
                try:
                    self.client.ask("DELETE", f"{path}?gracePeriodSeconds=0&limit=200")
                except (OSError, http.client.HTTPException):
                    continue  # it took too long, and is asked for again

    # --- a life, memory, times

    def set_phases(self, namespace, phase):
        state = {"running": {}} if phase == "Running" else {"terminated": {"exitCode": 0}}
        status = {"phase": phase, "containerStatuses": [{"name": "pytorch", "image": "i", "imageID": "", "ready": True,
                                                         "restartCount": 0, "state": state}]}
        names = (
            [p["metadata"]["name"] for p in json.loads(self.api.get(f"/api/v1/namespaces/{namespace}/pods"))["items"]])
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: self.client.ask("PATCH", f"/api/v1/namespaces/{namespace}/pods/{n}/status",
                                                    {"status": status}),
                          names))

    def wait_for(self, namespace, condition, jobs):
        def reached():
            items = json.loads(self.api.get(JOBS.format(namespace)))["items"]
            return sum(any(c["type"] == condition and c["status"] == "True"
                           for c in item.get("status", {}).get("conditions", []))
                       for item in items) == jobs
        support.wait_for(condition, reached, patience=300)

    def life(self, jobs, pods):
        """CPU and calls of jobs from created to Succeeded, by a controller that has done nothing else."""
        with self.controller() as controller:
            pid, before = controller.process.pid, self.calls(controller)
            used = cpu(pid)
            namespace, _ = self.burst(controller, jobs, pods)
            for phase, condition in (("Running", "Running"), ("Succeeded", "Succeeded")):
                self.set_phases(namespace, phase)
                self.wait_for(namespace, condition, jobs)
            self.settle(controller)
            used = cpu(pid) - used
            calls = {name: value - before.get(name, 0) for name, value in self.calls(controller).items()}
            still = self.calls(controller)
            time.sleep(3)
            idle = sum(self.calls(controller).values()) - sum(still.values())
        self.say(f"{jobs} x {pods}, created to Succeeded: CPU", f"{used:.2f} s", "1.06 s (V1: 5.3 s) for 100 x 4")
        shown = ", ".join(f"{name} {value / jobs:.2f}" for name, value in sorted(calls.items()) if value)
        self.say("the same: calls a job", f"{sum(calls.values()) / jobs:.1f} ({shown})",
                 "pods + Services + events + 4 status writes")
        self.say("idle jobs: calls in 3 s", f"{idle:.0f}", "0")
        self.clean(namespace)

    def memory(self, what, yardstick, start=True):
        """Of a controller after its first list, and the most until then."""
        controller = self.controller()
        controller.start()
        watcher = Memory(controller.process.pid)
        watcher.start()
        begin = time.monotonic()
        try:
            while controller.get("/readyz")[0] != 200:
                time.sleep(0.005)
            ready = time.monotonic() - begin
            time.sleep(2)
            now = Memory.look(controller.process.pid)
            watcher.over.set()
            watcher.join()
            controller.stop()
        finally:
            controller.kill()
        self.say(f"memory, {what}", f"VmRSS {now['VmRSS']:.1f}, RssAnon {now['RssAnon']:.1f} MiB; at most "
                 f"{watcher.most['VmRSS']:.1f} and {watcher.most['RssAnon']:.1f}", yardstick)
        if start:
            self.say(f"ready after start, {what}", f"{ready * 1000:.0f} ms", "200 ms")

    def first_pod(self, what):
        """From the answer to the job's create until a watch shows its first pod."""
        times = []
        with self.controller() as controller:
            for number in range(10):
                namespace = self.namespace()
                path = f"/api/v1/namespaces/{namespace}/pods"
                seen = []
                watch = subprocess.Popen(["curl", "-sN", "--cacert", self.api.ca, "--cert",
                                          self.api.folder / "admin.crt", "--key", self.api.folder / "admin.key",
                                          f"{self.api.url}{path}?watch=true"], stdout=subprocess.PIPE,
                                         env=self.api.environment(), preexec_fn=apiserver.die_with_parent)
                thread = threading.Thread(target=lambda out=watch.stdout: seen.append((out.readline(),
                                                                                       time.monotonic())))
                thread.start()
                time.sleep(0.3)
                self.client.ask("POST", JOBS.format(namespace), job("first", 1))
                start = time.monotonic()
                thread.join(60)
                times.append(seen[0][1] - start)
                watch.terminate()
                watch.wait()
                watch.stdout.close()
                self.clean(namespace)
            assert controller.process.poll() is None
        times.sort()
        self.say(f"first pod of a new job, {what}", f"{times[len(times) // 2] * 1000:.0f} ms (10 jobs: "
                 f"{times[0] * 1000:.0f} to "
                 f"{times[-1] * 1000:.0f})", "20 ms")

    def failover(self, rounds):
        """From SIGKILL of who works until the first pod of a job that comes then."""
        killed, signalled = [], []
        works, waits = self.controller(elect="true"), self.controller(elect="true")
        try:
            for one in (works, waits):
                one.start()
                support.wait_for("it works", lambda: works.get("/debug/state")[0] == 200
                                 and works.state()["state"] == "working")
                one.wait_ready()
            for number in range(2 * rounds):
                time.sleep(random.uniform(8, 12))  # at any moment between two renewals
                namespace, start = self.namespace(), time.monotonic()
                end = works.kill if number % 2 == 0 else works.stop
                end()
                self.client.ask("POST", JOBS.format(namespace), job("first", 1))
                while not json.loads(self.api.get(f"/api/v1/namespaces/{namespace}/pods"))["items"]:
                    time.sleep(0.02)
                (killed if number % 2 == 0 else signalled).append(time.monotonic() - start)
                works, waits = waits, works
                waits.start()
                waits.wait_ready()
                self.clean(namespace)
        finally:
            for one in (works, waits):
                one.kill()
        for what, times, yardstick in (("killed (SIGKILL)", killed, "16 s"), ("ended (SIGTERM)", signalled, "")):
            self.say(f"who works is {what}, first pod by another",
                     f"{min(times):.1f} to {max(times):.1f} s ({rounds} times)", yardstick)

    def settle(self, controller):
        """Its events come last, and what memory is free goes back a little later."""
        support.wait_for("idle", lambda: sum(controller.state()["store"][key] for key in ("waiting", "inFlight")) == 0,
                         patience=600)
        time.sleep(6)

    def fill(self, jobs, pods):
        with self.controller() as controller:
            watcher = Memory(controller.process.pid)
            watcher.start()
            namespace, seconds = self.burst(controller, jobs, pods)
            self.settle(controller)
            after = Memory.look(controller.process.pid)
            watcher.over.set()
            watcher.join()
        self.say(f"memory, controller that created {jobs} x {pods} ({seconds:.1f} s)",
                 f"VmRSS {after['VmRSS']:.1f}, RssAnon "
                 f"{after['RssAnon']:.1f} MiB; at most {watcher.most['VmRSS']:.1f} and {watcher.most['RssAnon']:.1f}",
                 {1000: "20 and 8 MiB", 20000: "48 and 36 MiB"}.get(jobs * pods, ""))
        return namespace

    def flat(self, count):
        """Rounds of jobs that are created, end and are deleted. Prints the memory after each."""
        with self.controller() as controller:
            start = Memory.look(controller.process.pid)
            for done in range(0, count, ROUND):
                namespace, _ = self.burst(controller, ROUND, 1)
                self.set_phases(namespace, "Succeeded")
                self.wait_for(namespace, "Succeeded", ROUND)
                self.clean(namespace)
                self.settle(controller)
                now = Memory.look(controller.process.pid)
                if done == 0:
                    first = now
                self.progress(f"{done + ROUND} jobs created, ended and deleted: VmRSS {now['VmRSS']:.1f}, "
                              f"RssAnon {now['RssAnon']:.1f} MiB")
        self.say(f"memory over {count} jobs created, ended and deleted",
                 f"RssAnon {start['RssAnon']:.1f} MiB at first, "
                 f"{first['RssAnon']:.1f} after {ROUND}, {now['RssAnon']:.1f} after all", "flat")

    def foreign(self):
        namespace = self.namespace()
        text = {"data": {"text": "x" * 200_000}}
        pod = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: self.client.ask("POST", f"/api/v1/namespaces/{namespace}/configmaps",
                                                    {"metadata": {"name": f"c{n}"}, **text}), range(700)))
            list(pool.map(lambda n: self.client.ask("POST", f"/api/v1/namespaces/{namespace}/pods",
                                                    {"metadata": {"name": f"p{n}"}, **pod}), range(5000)))

    def finished(self, count):
        namespace = self.namespace()
        status = {"status": {"conditions": [{"type": "Succeeded", "status": "True", "reason": "r", "message": "m",
                                             "lastTransitionTime": "2026-01-01T00:00:00Z",
                                             "lastUpdateTime": "2026-01-01T00:00:00Z"}],
                             "completionTime": "2026-01-01T00:00:00Z", "replicaStatuses": {"Worker": {"succeeded": 1}}}}

        def one(number):
            self.client.ask("POST", JOBS.format(namespace), job(f"old{number}", 4))
            self.client.ask("PATCH", f"{JOBS.format(namespace)}/old{number}/status", status)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(one, range(count)))


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--foreign", action="store_true")
    parser.add_argument("--finished", type=int, default=0)
    parser.add_argument("--flat", type=int, default=0)
    parser.add_argument("--failover", type=int, default=0)
    parser.add_argument("--only", action="store_true")
    return parser.parse_args()


def usual(bench, rounds):
    bench.memory("idle", "16 and 4 MiB")
    bench.first_pod("nothing else there")
    bench.life(100, 4)
    kept = bench.fill(250, 4)
    bench.memory("1000 pods in 250 jobs", "20 and 8 MiB")
    bench.clean(kept)
    with bench.controller() as controller:
        bench.compare(controller, 1, 1000, rounds)
        bench.compare(controller, 250, 4, rounds)


def check(build):
    """End where something is missing."""
    if not (build / "tests" / "bench_creates").exists():
        sys.exit(f"{build} was built without tests: cmake --preset release -DRH_BUILD_TESTS=ON")
    if not apiserver.assets():
        sys.exit("no kube-apiserver: run tests/cluster/assets.py, or set KUBEBUILDER_ASSETS")


def main():
    options = parse()
    check(options.build)
    with tempfile.TemporaryDirectory() as folder, apiserver.ApiServer(flags=SERVER) as api:
        bench = Bench(api, options.build.resolve(), folder)
        print("| what | measured | yardstick |\n|---|---|---|")
        if not options.only:
            usual(bench, options.rounds)
        if options.foreign:
            kept = bench.fill(250, 4)
            bench.memory("1000 pods in 250 jobs", "20 and 8 MiB")
            bench.foreign()
            bench.memory("the same beside 700 ConfigMaps of 200 KB and 5,000 foreign pods", "+ 0")
            bench.clean(kept)
        if options.flat:
            bench.flat(options.flat)
        if options.failover:
            bench.failover(options.failover)
        if options.finished:
            bench.finished(options.finished)
            bench.first_pod(f"{options.finished} jobs that have ended")
        if options.large:
            bench.fill(20, 1000)
            bench.memory("20,000 pods", "48 and 36 MiB", start=False)


if __name__ == "__main__":
    main()
