#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How soon /healthz answers while clients that want nothing keep the port busy. usage: servers.py BUILD_DIR [--count N]
[--rounds N]

Each question is a connection of its own, as a kubelet's. The clients are those of tests/controller/attack.py: each
round begins with all of them anew. There is no API server. Nothing here passes or fails: machines differ, and the
clients share this one.
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

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "controller"), str(TESTS / "cluster")]
import apiserver  # noqa: E402
import support  # noqa: E402

ATTACK = TESTS / "controller" / "attack.py"
KUBECONFIG = {"apiVersion": "v1", "kind": "Config", "current-context": "x",
              "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
              "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
              "users": [{"name": "u", "user": {}}]}


def cpu(controller):
    """-> seconds of CPU that the controller has taken"""
    program = controller.process.pid
    fields = pathlib.Path(f"/proc/{program}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Asker(threading.Thread):
    """Asks until it is over. Attributes: times, in ms; failed."""

    def __init__(self, controller):
        super().__init__()
        self.controller, self.times, self.failed, self.over = controller, [], 0, threading.Event()
        self.cpu = cpu(controller)

    def run(self):
        while not self.over.wait(0.01):
            begun = time.perf_counter()
            self.failed += self.controller.get("/healthz")[0] != 200
            self.times.append((time.perf_counter() - begun) * 1000)

    def end(self, what):
        self.over.set()
        self.join()
        times = sorted(self.times)
        print(f"| {what} | {len(times)} | {self.failed} | {times[len(times) // 2]:.1f} | "
              f"{times[len(times) * 99 // 100]:.1f} | {times[-1]:.1f} | "
              f"{cpu(self.controller) - self.cpu:.2f} |",
              flush=True)


def attack(port, count, rounds):
    command = [sys.executable, "-B", ATTACK, str(count), str(rounds), "600", str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          preexec_fn=apiserver.die_with_parent) as process:
        for _ in range(rounds):
            process.stdout.readline()
            time.sleep(0.2)  # the slow ones are slow for a while
            process.stdin.write("\n")
            process.stdin.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = pathlib.Path(folder, "kubeconfig")
        kubeconfig.write_text(json.dumps(KUBECONFIG))
        controller = support.Controller(options.build / "bin" / "roundhouse", kubeconfig, folder,
                                        "--leader-elect=false")
        controller.start()
        try:
            support.wait_for("healthz", lambda: controller.get("/healthz")[0] == 200 or controller.assert_alive())
            print("| /healthz | asked | not answered | median ms | 99 % ms | most ms | CPU s |\n"
                  "|---|---|---|---|---|---|---|")
            asker = Asker(controller)
            asker.start()
            time.sleep(3)
            asker.end("alone")
            asker = Asker(controller)
            asker.start()
            attack(controller.health_port, options.count, options.rounds)
            asker.end(f"{options.count} clients, {options.rounds} times")
        finally:
            controller.kill()


if __name__ == "__main__":
    main()
