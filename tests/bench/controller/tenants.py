#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one tenant's jobs cost the others, on a real kube-apiserver.
usage: tenants.py BUILD_DIR [--program ROUNDHOUSE...] [--rounds N] [--flood N...] [--pods N] [--large N]

    --flood N...   another namespace creates N jobs while this one creates its own, one after the other; 0: nobody else
    --pods N       of each job of the flood (1)
    --plain        also create a plain pod after each job of the calm namespace, and show its time to the watch: what
                   the API server itself takes
    --large N      instead: N jobs of 1.3 MB are created, all annotated, and the controller is started anew: its peak
                   memory
    --program P... programs that are compared, in turn; that of BUILD_DIR when none is named

The time to the first pod is from the answer to the job's create until a watch shows the pod. The API server shares the
machine, and is busy with the flood itself; so its audit log says how much of that time is the controller's: from the
end of the job's create to the arrival of the pod's.

BUILD_DIR is a release build with tests: cmake --preset release -DRH_BUILD_TESTS=ON. Nothing here passes or fails.
"""
import argparse
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import bench
from bench import apiserver, support

# Jobs of the calm namespace at the least, and the pause between two.
CALM = 60
PAUSE_S = 0.05


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def show(values):
    return f"{percentile(values, 0.5) * 1000:.0f} and {percentile(values, 0.99) * 1000:.0f} ms" if values else "none"


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def peak(controller):
    """-> the most memory that it has had at any time, MiB"""
    with open(f"/proc/{controller.process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


class Watch(threading.Thread):
    """When the first pod of each job of a namespace, and each plain pod, was seen.
    Attributes: seen, {name: monotonic}."""

    def __init__(self, api, namespace):
        super().__init__(daemon=True)
        self.seen = {}
        self.curl = subprocess.Popen(["curl", "-sN", "--cacert", api.ca, "--cert", api.folder / "admin.crt", "--key",
                                      api.folder / "admin.key",
                                      f"{api.url}/api/v1/namespaces/{namespace}/pods?watch=true"],
                                     stdout=subprocess.PIPE, env=api.environment(),
                                     preexec_fn=apiserver.die_with_parent)

    def run(self):
        for line in self.curl.stdout:
            now = time.monotonic()
            metadata = json.loads(line)["object"]["metadata"]
            self.seen.setdefault(metadata.get("labels", {}).get(bench.LABEL, metadata["name"]), now)

    def stop(self):
        self.curl.terminate()
        self.curl.wait()
        self.join()
        self.curl.stdout.close()


class Tenants(bench.Bench):
    def flood(self, namespace, count, pods):
        """-> a thread that creates the jobs"""
        objects = [(bench.JOBS.format(namespace), bench.job(f"j{n}", pods)) for n in range(count)]
        thread = threading.Thread(target=self.post, args=(objects, bench.PARALLEL[0]))
        thread.start()
        return thread

    def controller_share(self, namespace):
        """-> seconds from the end of each job's create to the arrival of the create of its first pod"""
        made, asked = {}, {}
        for event in self.api.audit_events():
            about = event.get("objectRef", {})
            if event["verb"] != "create" or about.get("namespace") != namespace or about.get("subresource"):
                continue
            if about["resource"] == "pytorchjobs":
                made[about["name"]] = moment(event["stageTimestamp"])
            elif about["resource"] == "pods" and "name" in about:
                asked.setdefault(about["name"].rsplit("-", 2)[0], moment(event["requestReceivedTimestamp"]))
        return [asked[name] - at for name, at in made.items() if name in asked]

    def plain_pod(self, namespace, name):
        """-> when its create began"""
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
               "spec": bench.job(name, 1)["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]}
        began = time.monotonic()
        self.client.ask("POST", f"/api/v1/namespaces/{namespace}/pods", pod)
        return began

    def fairness(self, flood, pods, plain):
        """One namespace creates a flood, another one job after the other. -> (seconds to first pods, the controller's,
        of the flood, of plain pods)"""
        noisy, calm = self.namespace(), self.namespace()
        watch, posted, made = Watch(self.api, calm), {}, {}
        watch.start()
        with self.controller() as controller:
            time.sleep(1)
            before, start, thread = self.created(controller), time.monotonic(), None
            if flood:
                thread = self.flood(noisy, flood, pods)
                time.sleep(1)
            while len(posted) < CALM or (thread and (thread.is_alive() or
                                                     self.created(controller) < before + flood * pods + len(posted))):
                name = f"c{len(posted)}"
                self.client.ask("POST", bench.JOBS.format(calm), bench.job(name, 1))
                posted[name] = time.monotonic()
                if plain:
                    made[f"plain-{name}"] = self.plain_pod(calm, f"plain-{name}")
                time.sleep(PAUSE_S)
            took = time.monotonic() - start
            support.wait_for("pods of all", lambda: {*posted, *made} <= set(watch.seen), patience=600)
            if thread:
                thread.join()
            self.settle(controller)
        watch.stop()
        share = self.controller_share(calm)
        for namespace in (noisy, calm):
            self.clean(namespace)
        times, plain_times = ([watch.seen[name] - at for name, at in of.items()] for of in (posted, made))
        return times, share, took, plain_times

    def large(self, count):
        """-> ([the most memory of the controller, MiB: while they are created and annotated, and after a start],
        [seconds until another namespace's job had its pod, as often])"""
        namespace, calm, numbers = self.namespace(), self.namespace(), ",".join(["1"] * 650_000)
        peaks, waits = [], []

        def post(number):
            body = bench.job(f"large{number}", 1)
            body["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]["numbers"] = ["NUMBERS"]
            status, answer = self.client.send("POST", bench.JOBS.format(namespace),
                                              json.dumps(body).replace('"NUMBERS"', numbers))
            assert status == 201, answer[:300]

        def note(number, round_):
            self.client.ask("PATCH", f"{bench.JOBS.format(namespace)}/large{number}",
                            {"metadata": {"annotations": {"n": str(round_)}}})
        for round_ in range(2):
            with self.controller() as controller, ThreadPoolExecutor(2) as pool:
                if round_ == 0:
                    list(pool.map(post, range(count)))
                    self.progress(f"{count} created: VmHWM {peak(controller):.1f} MiB")
                list(pool.map(lambda number, round_=round_: note(number, round_), range(count)))
                waits.append(self.first_pod_in(calm, f"calm{round_}"))
                self.settle(controller)
                peaks.append(peak(controller))
                self.progress(f"all annotated: VmHWM {peaks[-1]:.1f} MiB, another's first pod {waits[-1]:.2f} s")
        return peaks, waits

    def first_pod_in(self, namespace, name):
        """-> seconds until a new job has its pod"""
        start = time.monotonic()
        self.client.ask("POST", bench.JOBS.format(namespace), bench.job(name, 1))
        query = f"/api/v1/namespaces/{namespace}/pods?labelSelector={bench.LABEL}={name}"
        support.wait_for(name, lambda: json.loads(self.api.get(query))["items"], patience=600)
        return time.monotonic() - start


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path, nargs="*")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--flood", type=int, nargs="*", default=[0, 1250, 5000])
    parser.add_argument("--pods", type=int, default=1)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--large", type=int, default=0)
    return parser.parse_args()


def measure(tenants, options, program):
    tenants.roundhouse = program.resolve()
    if options.large:
        peaks, waits = tenants.large(options.large)
        tenants.say(f"{options.large} jobs of 1.3 MB, {program}: VmHWM",
                    f"{peaks[0]:.1f} MiB; after a start {peaks[1]:.1f} MiB", "64 MiB")
        tenants.say("first pod of another namespace's job meanwhile", " and ".join(f"{wait:.2f} s" for wait in waits))
        return
    for flood in options.flood:
        times, share, took, plain = tenants.fairness(flood, options.pods, options.plain)
        tenants.say(f"first pod beside {flood} jobs of another namespace, {program}: p50 and p99",
                    f"{show(times)}, of which the controller's {show(share)} ({len(times)} jobs, {took:.1f} s)",
                    "3 x alone")
        if plain:
            tenants.say("a plain pod created meanwhile, until the watch shows it: p50 and p99", show(plain))


def main():
    options = parse()
    if not apiserver.assets():
        sys.exit("no kube-apiserver: run tests/cluster/assets.py, or set KUBEBUILDER_ASSETS")
    flags = ["--enable-priority-and-fairness=false", "--max-mutating-requests-inflight=1000",
             "--max-requests-inflight=1000"]
    with tempfile.TemporaryDirectory() as folder, apiserver.ApiServer(flags=flags, audit=True) as api:
        tenants = Tenants(api, options.build.resolve(), folder)
        for _ in range(options.rounds):
            for program in options.program or [options.build / "bin" / "roundhouse"]:
                measure(tenants, options, program)


if __name__ == "__main__":
    main()
