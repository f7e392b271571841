#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TrainJobs against a real kube-apiserver: from the first create of a job to the last of its pods, beside the raw limit
of bench.py: the same jobs, ConfigMaps, Services and pods, sent by creates.c in the same run.
usage: trainer.py BUILD_DIR [--rounds N] [--isolation none|process]

    --isolation  of plugins; by default that of the configuration

BUILD_DIR is a release build with tests, as for bench.py. Nothing here passes or fails.
"""
import argparse
import pathlib
import sys
import tempfile

import bench

API = "trainer.kubeflow.org/v1alpha1"
STOCK = bench.TESTS.parent / "plugins" / "trainer" / "runtimes" / "stock.yaml"


class TrainJobs(bench.Bench):
    flags = []
    jobs = f"/apis/{API}/namespaces/{{}}/trainjobs"
    made = ("configmaps", "services", "pods")

    def install(self):
        config = pathlib.Path(self.folder, "roundhouse.ini")
        config.write_text("[plugins]\nallow = trainer\n", encoding="utf-8")
        self.flags = ["--config", config, *self.flags]
        self.define("--config", config)
        for name in ("clustertrainingruntimes", "trainingruntimes", "trainjobs"):
            self.api.kubectl("wait", "--for=condition=Established", f"crd/{name}.trainer.kubeflow.org")
        self.api.kubectl("apply", "--server-side", "-f", str(STOCK))

    def job(self, name, pods):
        return {"apiVersion": API, "kind": "TrainJob", "metadata": {"name": name}, "spec": {
            "runtimeRef": {"name": "torch-distributed"},
            "trainer": {"numNodes": pods, "image": "registry.example/train:1", "command": ["python", "train.py"],
                        "resourcesPerNode": {"limits": {"cpu": "1", "memory": "1Gi"}}}}}

    @staticmethod
    def leave(spec):
        spec["managedBy"] = "kueue.x-k8s.io/multikueue"

    def created(self, controller):
        return controller.metrics().get('roundhouse_api_requests_total{verb="create",resource="pods",code="201"}', 0)

    def measure(self, jobs, pods, rounds):
        """The best of some rounds of each, and what the first one asked of the API server."""
        ours, theirs, calls = [], [], None
        with self.controller() as controller:
            for number in range(rounds):
                before = self.calls(controller)
                namespace, seconds = self.burst(controller, jobs, pods)
                self.settle(controller)
                after = self.calls(controller)
                calls = calls or {name: value - before.get(name, 0) for name, value in after.items()}
                ours.append(seconds)
                theirs += [self.raw(namespace, parallel) for parallel in bench.PARALLEL]
                self.clean(namespace)
                self.settle(controller)
                self.progress(f"{jobs} x {pods}, round {number + 1}: {seconds:.2f} s")
        best, raw = min(ours), min(theirs)
        self.say(f"TrainJob {jobs} x {pods}: created to all pods created", f"{best:.2f} s ({max(ours):.2f} at most), "
                 f"libcurl with all objects {raw:.2f} s: {best / raw:.2f}x")
        shown = ", ".join(f"{name} {value / jobs:.2f}" for name, value in sorted(calls.items()) if value)
        self.say("the same: calls a job", f"{sum(calls.values()) / jobs:.1f} ({shown})")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--isolation")
    options = parser.parse_args()
    if options.isolation:
        TrainJobs.flags = [f"--plugin-isolation={options.isolation}"]
    bench.check(options.build)
    with tempfile.TemporaryDirectory() as folder, bench.apiserver.ApiServer(flags=bench.SERVER) as api:
        trainer = TrainJobs(api, options.build.resolve(), folder)
        print("| what | measured | |\n|---|---|---|")
        trainer.measure(1, 100, options.rounds)
        trainer.measure(100, 4, options.rounds)


if __name__ == "__main__":
    main()
