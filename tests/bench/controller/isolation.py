#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What plugins in processes of their own cost the controller on a real kube-apiserver, and what one in trouble costs
others.
usage: isolation.py BUILD_DIR [--rounds N] [--trouble FAULT...] [--operations OPERATION...] [--jobs N] [--bursts]
[--many N]

    --bursts     1 x 1000 and 250 x 4 with --plugin-isolation process and none, in turns
    --many N     the memory of a controller with N further plugins that no job uses, beside one without them
    --trouble    faults of a plugin beside which jobs of another kind get their first pods (--jobs each), in turns with
                 a controller whose plugin does nothing wrong; the faults are names of tests/host/containment/hostile.c

BUILD_DIR is a release build with tests: cmake --preset release -DRH_BUILD_TESTS=ON

Nothing here passes or fails: machines differ. Ratios come from runs that alternate.
"""
import argparse
import glob
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import bench as base  # noqa: E402
from bench import apiserver, support  # noqa: E402

FAULTS = ("segv", "abort", "stack", "exit", "leave", "kernel", "child", "sleep", "loop", "slow", "memory", "garbage",
          "close", "words", "many", "large", "variable", "edit", "json", "late", "socket", "write", "kill", "program")
OPERATIONS = ("validate", "objects", "pod", "judge", "init")
HARMFUL = "/apis/example.org/v1/namespaces/{}/hostilejobs"
# How long a process has nothing to do until it ends, and some seconds more.
REST_S = 66


def harmful(name):
    template = {"spec": {"containers": [{"name": "hostile", "image": "i"}]}}
    return {"apiVersion": "example.org/v1", "kind": "HostileJob", "metadata": {"name": name},
            "spec": {"hostileReplicaSpecs": {"Worker": {"replicas": 1, "template": template}}}}


class Watch(threading.Thread):
    """When each job's first pod was seen, from ready on."""

    def __init__(self, api, namespace):
        super().__init__(daemon=True)
        url = f"{api.url}/api/v1/namespaces/{namespace}/pods?watch=true"
        self.seen = {}
        self.curl = subprocess.Popen(["curl", "-sN", "--cacert", api.ca, "--cert", api.folder / "admin.crt", "--key",
                                      api.folder / "admin.key", url], stdout=subprocess.PIPE, env=api.environment(),
                                     preexec_fn=apiserver.die_with_parent)

    def run(self):
        for line in self.curl.stdout:
            labels = json.loads(line)["object"]["metadata"].get("labels", {})
            self.seen.setdefault(labels.get(base.LABEL), time.monotonic())

    def stop(self):
        self.curl.terminate()
        self.curl.wait()


def private(pid):
    """-> private KiB of a process"""
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith("Private_"))


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(word) for word in f.read().split()]


def processor_time(pid):
    """-> CPU seconds of a process, of its children and of those that it has waited for"""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + sum(map(processor_time, children(pid)))


class Isolation(base.Bench):
    def run_with(self, *flags, environment=None):
        return support.Controller(self.roundhouse, self.api.kubeconfig, self.folder, "--leader-elect=false", *flags,
                                  name=f"controller-{time.monotonic()}", environment=environment)

    def bursts(self, rounds):
        for jobs, pods in ((1, 1000), (250, 4)):
            pairs = []
            # the first burst on a server that has just started is slower, whoever makes it
            with self.run_with("--enable-scheme=PyTorchJob", "--plugin-isolation=none") as controller:
                self.clean(self.burst(controller, jobs, pods)[0])
            for number in range(rounds):
                took, used = {}, {}
                for how in ("none", "process") if number % 2 else ("process", "none"):
                    with self.run_with("--enable-scheme=PyTorchJob", f"--plugin-isolation={how}") as controller:
                        namespace, took[how] = self.burst(controller, jobs, pods)
                        support.wait_for("idle", lambda c=controller: sum(c.state()["store"][k]
                                                                          for k in ("waiting", "inFlight")) == 0, 600)
                        used[how] = processor_time(controller.process.pid)
                    self.clean(namespace)
                pairs.append((took["none"], took["process"], used["none"], used["process"]))
                self.progress(f"{jobs} x {pods}: {took}, CPU {used}")
            none, process, none_used, process_used = (statistics.median(column) for column in zip(*pairs))
            ratio = statistics.median(pair[1] / pair[0] for pair in pairs)
            self.say(f"{jobs} x {pods}: jobs posted, pods and Services created",
                     f"{none:.2f} s, in processes {process:.2f} s",
                     f"{ratio:.2f}, median of {rounds} pairs")
            self.say(f"{jobs} x {pods}: CPU of the controller and its processes",
                     f"{none_used:.2f} s, in processes {process_used:.2f} s",
                     f"{statistics.median(pair[3] / pair[2] for pair in pairs):.2f}")

    def many(self, count):
        """Copies of a small plugin with a kind each."""
        program = pathlib.Path(
            glob.glob(str(self.roundhouse.parents[1] / "tests" / "host" / "hostile.so"))[0]).read_bytes()
        folder = pathlib.Path(self.folder) / "many"
        folder.mkdir(mode=0o755)
        for number in range(count):
            mark = f"ost{number:03}".encode()
            path = folder / f"idle{number:03}.so"
            path.write_bytes(program.replace(b"ostile", mark))
            path.chmod(0o644)
        sums = []
        for flags in ((), ("--plugins", folder)):
            with self.run_with("--enable-scheme=PyTorchJob", *flags) as controller:
                pid = controller.process.pid
                at_start = len(children(pid))
                time.sleep(REST_S)
                left = children(pid)
                sums.append(private(pid) + sum(map(private, left)))
                self.progress(f"{flags}: {at_start} processes after the start, {len(left)} at rest, {sums[-1]} KiB "
                              "private")
        self.say(f"{count} plugins that no job uses", f"+ {(sums[1] - sums[0]) / 1024:.1f} MiB ({len(left)} processes)",
                 "+ 10 MiB")

    def latencies(self, plugin, jobs):
        """-> seconds from the create of each job until its first pod is seen, while jobs of @p plugin come, too"""
        folder = pathlib.Path(self.folder) / f"{plugin}-{time.monotonic()}"
        folder.mkdir(mode=0o755)
        shutil.copy(self.roundhouse.parents[1] / "tests" / "host" / "hostile.so", folder / f"{plugin}.so")
        config = pathlib.Path(self.folder) / "trouble.ini"
        config.write_text("[plugins]\ntime-limit = 5s\n", encoding="utf-8")
        config.chmod(0o644)
        namespace, began = self.namespace(), {}
        watch = Watch(self.api, namespace)
        watch.start()
        with self.run_with("--plugins", folder, environment={"ROUNDHOUSE_CONFIG": str(config)}) as controller:
            pid = controller.process.pid
            for number in range(jobs):
                if number % 10 == 0:
                    self.client.ask("POST", HARMFUL.format(namespace), harmful(f"h{number}"))
                self.client.ask("POST", base.JOBS.format(namespace), base.job(f"j{number}", 1))
                began[f"j{number}"] = time.monotonic()
                time.sleep(0.02)
            support.wait_for("all pods", lambda: all(name in watch.seen for name in began))
            assert controller.process.poll() is None and controller.process.pid == pid
        watch.stop()
        self.clean(namespace)
        return [max(0.0, watch.seen[name] - start) for name, start in began.items()]

    def trouble(self, faults, operations, jobs):
        crds = subprocess.run([self.roundhouse, "crds", "--plugins", self.roundhouse.parents[1] / "tests" / "host"],
                              check=True, capture_output=True, text=True).stdout
        self.api.kubectl("apply", "--server-side", "-f", "-", text=crds)
        self.api.wait_served()
        pairs = []
        for fault in faults:
            for operation in operations:
                turn = ("harmless", f"{operation}-{fault}")
                took = {plugin: self.latencies(plugin, jobs) for plugin in (turn if len(pairs) % 2 else turn[::-1])}
                pairs.append([took[plugin] for plugin in turn])
                self.progress(f"{turn[1]}: 99 % of others {quantile(pairs[-1][1], 99) * 1e3:.0f} ms, without "
                              f"{quantile(pairs[-1][0], 99) * 1e3:.0f}")
        calm, beside = ([one for pair in pairs for one in pair[side]] for side in (0, 1))
        for share in (50, 99):
            self.say(f"job to first pod of others, {share} %, {len(pairs)} faults of a plugin, {jobs} jobs each",
                     f"{quantile(calm, share) * 1e3:.0f} ms, beside the fault {quantile(beside, share) * 1e3:.0f} ms",
                     f"{quantile(beside, share) / quantile(calm, share):.2f}; 1.1")


def quantile(values, share):
    return statistics.quantiles(values, n=100, method="inclusive")[share - 1]


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bursts", action="store_true")
    parser.add_argument("--many", type=int, default=0)
    parser.add_argument("--trouble", nargs="*", choices=FAULTS)
    parser.add_argument("--operations", nargs="*", choices=OPERATIONS, default=OPERATIONS)
    parser.add_argument("--jobs", type=int, default=100)
    return parser.parse_args()


def main():
    options = parse()
    os.umask(0o022)
    if not apiserver.assets():
        sys.exit("no kube-apiserver: run tests/cluster/assets.py, or set KUBEBUILDER_ASSETS")
    flags = ["--enable-priority-and-fairness=false", "--max-mutating-requests-inflight=1000",
             "--max-requests-inflight=1000"]
    with tempfile.TemporaryDirectory() as folder, apiserver.ApiServer(flags=flags) as api:
        isolation = Isolation(api, options.build.resolve(), folder)
        print("| what | measured | goal |\n|---|---|---|")
        if options.trouble is not None:
            isolation.trouble(options.trouble or FAULTS, options.operations, options.jobs)
        if options.bursts:
            isolation.bursts(options.rounds)
        if options.many:
            isolation.many(options.many)


if __name__ == "__main__":
    main()
