#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the controller costs against a real kube-apiserver, beside the raw limit: the same creates, sent by curl in parallel in the
same run. usage: bench.py BUILD_DIR [--rounds N] [--large] [--foreign] [--finished N]

    --large      also 20,000 pods, and a start with them (some minutes)
    --foreign    also 700 ConfigMaps of 200 KB and 5,000 pods that are not ours
    --finished N also the first pod of a new job beside N jobs that have ended

Nothing here passes or fails: machines differ. The API server takes most of the time, so look at ratios, and at more than one run.
"""
import argparse
import json
import os
import pathlib
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
# As many requests at once as the controller begins with.
PARALLEL = 32
WHOSE = {"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "namespace"}
DROPPED = {"pods": ["nodeName"], "services": ["clusterIP", "clusterIPs"]}


def job(name, pods):
    """A master and its workers."""
    template = {"spec": {"containers": [{"name": "pytorch", "image": "registry.example/train:1", "command": ["python", "train.py"],
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
        # the request of ApiServer, on a connection of this thread's own
        status, text = apiserver.ApiServer.request(Borrowed(self), method, path, None if body is None else json.dumps(body),
                                                   "application/merge-patch+json" if method == "PATCH" else "application/json")
        if status >= 300 and status != 404:
            raise AssertionError(f"{method} {path}: {status} {text[:300]!r}")
        return json.loads(text)


class Borrowed:
    """What ApiServer.request() needs of an ApiServer."""

    def __init__(self, client):
        object.__setattr__(self, "client", client)

    def __getattr__(self, name):
        return self.client.connection if name == "connection" else getattr(self.client.api, name)

    def __setattr__(self, name, value):
        setattr(self.client, name, value)


class Memory(threading.Thread):
    """Looks at a process until it is told to stop. Attributes: most, {name: MiB}."""

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
    def __init__(self, api, build, folder):
        self.api, self.roundhouse, self.folder = api, build / "bin" / "roundhouse", folder
        self.client, self.namespaces = Client(api), 0
        crds = subprocess.run([self.roundhouse, "crds", "--kind", "PyTorchJob"], check=True, capture_output=True, text=True).stdout
        api.kubectl("apply", "--server-side", "-f", "-", text=crds)
        api.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")

    def say(self, what, value, yardstick=""):
        print(f"| {what} | {value} | {yardstick} |", flush=True)

    def namespace(self):
        self.namespaces += 1
        name = f"bench-{self.namespaces}"
        self.client.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        return name

    def controller(self, *flags):
        return support.Controller(self.roundhouse, self.api.kubeconfig, self.folder, "--leader-elect=false",
                                  "--enable-scheme=PyTorchJob", *flags, name=f"controller-{time.monotonic()}")

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

    def create(self, namespace, jobs, pods):
        """Create the jobs, over as many connections as a busy user may have."""
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: self.client.ask("POST", JOBS.format(namespace), job(f"j{n}", pods)), range(jobs)))

    def burst(self, controller, jobs, pods):
        """-> (namespace, seconds until all pods and Services are there)"""
        namespace = self.namespace()
        before, start = self.created(controller), time.monotonic()
        self.create(namespace, jobs, pods)
        while self.created(controller) < before + jobs * pods:
            time.sleep(0.02)
        return namespace, time.monotonic() - start

    # --- the raw limit

    def bodies(self, namespace):
        """-> [(plural, body)] of what the controller made, as it sent it"""
        for plural in ("pods", "services"):
            for item in json.loads(self.api.get(f"/api/v1/namespaces/{namespace}/{plural}"))["items"]:
                item["metadata"] = {key: value for key, value in item["metadata"].items() if key not in WHOSE}
                item.pop("status")
                for key in DROPPED[plural]:
                    item["spec"].pop(key, None)
                yield plural, item

    def raw(self, like):
        """Create the same objects with curl, HTTP/2. -> seconds"""
        namespace = self.namespace()
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            config = pathlib.Path(folder) / "curl"
            parts = []
            for number, (plural, body) in enumerate(self.bodies(like)):
                path = pathlib.Path(folder) / str(number)
                path.write_text(json.dumps(body))
                parts.append("\n".join([
                    f'url = "{self.api.url}/api/v1/namespaces/{namespace}/{plural}"', f'cacert = "{self.api.ca}"',
                    f'cert = "{self.api.folder}/admin.crt"', f'key = "{self.api.folder}/admin.key"', "fail", "silent",
                    'header = "Content-Type: application/json"', f'data-binary = "@{path}"', "output = /dev/null"]))
            config.write_text("\nnext\n".join(parts) + "\n")
            start = time.monotonic()
            subprocess.run(["curl", "--parallel", "--parallel-max", str(PARALLEL), "--no-progress-meter", "--config", config],
                           check=True, capture_output=True, env=self.api.environment())
            return time.monotonic() - start

    def compare(self, controller, jobs, pods, rounds):
        """Controller and curl in turn, the better of each counts."""
        ours, theirs = [], []
        for _ in range(rounds):
            namespace, seconds = self.burst(controller, jobs, pods)
            ours.append(seconds)
            theirs.append(self.raw(namespace))
            self.clean(namespace)
        best, raw = min(ours), min(theirs)
        self.say(f"{jobs} x {pods}: pods and Services created", f"{best:.2f} s, curl {raw:.2f} s: {best / raw:.2f}x",
                 "1.25x of the raw limit")

    def clean(self, namespace):
        """No garbage collector runs here."""
        for path in (JOBS.format(namespace), f"/api/v1/namespaces/{namespace}/pods"):
            self.client.ask("DELETE", f"{path}?gracePeriodSeconds=0")
        names = [item["metadata"]["name"] for item in json.loads(self.api.get(f"/api/v1/namespaces/{namespace}/services"))["items"]]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda name: self.client.ask("DELETE", f"/api/v1/namespaces/{namespace}/services/{name}"), names))

    # --- a life, memory, times

    def set_phases(self, namespace, phase):
        state = {"running": {}} if phase == "Running" else {"terminated": {"exitCode": 0}}
        status = {"phase": phase, "containerStatuses": [{"name": "pytorch", "image": "i", "imageID": "", "ready": True,
                                                         "restartCount": 0, "state": state}]}
        names = [p["metadata"]["name"] for p in json.loads(self.api.get(f"/api/v1/namespaces/{namespace}/pods"))["items"]]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: self.client.ask("PATCH", f"/api/v1/namespaces/{namespace}/pods/{n}/status", {"status": status}),
                          names))

    def wait_for(self, namespace, condition, jobs):
        def reached():
            items = json.loads(self.api.get(JOBS.format(namespace)))["items"]
            return sum(any(c["type"] == condition and c["status"] == "True" for c in item.get("status", {}).get("conditions", []))
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
        self.say("the same: calls a job", f"{sum(calls.values()) / jobs:.1f} ({shown})", "pods + Services + events + 4 status writes")
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
                watch = subprocess.Popen(["curl", "-sN", "--cacert", self.api.ca, "--cert", self.api.folder / "admin.crt", "--key",
                                          self.api.folder / "admin.key", f"{self.api.url}{path}?watch=true"], stdout=subprocess.PIPE,
                                         env=self.api.environment(), preexec_fn=apiserver.die_with_parent)
                thread = threading.Thread(target=lambda out=watch.stdout: seen.append((out.readline(), time.monotonic())))
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
        self.say(f"first pod of a new job, {what}", f"{times[len(times) // 2] * 1000:.0f} ms (10 jobs: {times[0] * 1000:.0f} to "
                 f"{times[-1] * 1000:.0f})", "20 ms")

    def settle(self, controller):
        """Its events come last, and what memory is free goes back a little later."""
        support.wait_for("idle", lambda: sum(controller.state()["store"][key] for key in ("waiting", "inFlight")) == 0, patience=600)
        time.sleep(6)

    def fill(self, jobs, pods):
        with self.controller() as controller:
            namespace, seconds = self.burst(controller, jobs, pods)
            self.settle(controller)
            after = Memory.look(controller.process.pid)
        self.say(f"{jobs} x {pods} created, controller that did it", f"{seconds:.1f} s; VmRSS {after['VmRSS']:.1f}, RssAnon "
                 f"{after['RssAnon']:.1f} MiB", "")
        return namespace

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
                                             "lastTransitionTime": "2026-01-01T00:00:00Z", "lastUpdateTime": "2026-01-01T00:00:00Z"}],
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
    return parser.parse_args()


def main():
    options = parse()
    if not apiserver.assets():
        sys.exit("no kube-apiserver: run tests/cluster/assets.py, or set KUBEBUILDER_ASSETS")
    # a server that queues requests by fairness would measure itself
    flags = ["--enable-priority-and-fairness=false", "--max-mutating-requests-inflight=1000", "--max-requests-inflight=1000"]
    with tempfile.TemporaryDirectory() as folder, apiserver.ApiServer(flags=flags) as api:
        bench = Bench(api, options.build.resolve(), folder)
        print("| what | measured | yardstick |\n|---|---|---|")
        bench.memory("idle", "16 and 4 MiB")
        bench.first_pod("nothing else there")
        with bench.controller() as controller:
            bench.compare(controller, 1, 1000, options.rounds)
            bench.compare(controller, 250, 4, options.rounds)
        bench.life(100, 4)
        kept = bench.fill(250, 4)
        bench.memory("1000 pods in 250 jobs", "20 and 8 MiB")
        if options.foreign:
            bench.foreign()
            bench.memory("the same beside 700 ConfigMaps of 200 KB and 5,000 foreign pods", "+ 0")
        bench.clean(kept)
        if options.finished:
            bench.finished(options.finished)
            bench.first_pod(f"{options.finished} jobs that have ended")
        if options.large:
            bench.fill(20, 1000)
            bench.memory("20,000 pods", "48 and 36 MiB", start=False)


if __name__ == "__main__":
    main()
