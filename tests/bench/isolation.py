#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print what plugins in processes of their own cost, beside plugins in the program. usage: isolation.py BUILD_DIR
[ROUNDS]

Nothing here passes or fails: machines differ. Ratios come from runs that alternate.
"""
import glob
import os
import statistics
import subprocess
import sys
import tempfile
import time

REPLICAS = 4000
HEAD = "apiVersion: kubeflow.org/v1\nkind: {kind}\nmetadata: {{name: bench}}\nspec:\n  {field}:\n"
REPLICA = ("    {type}:\n      replicas: {count}\n      template: {{spec: {{containers: [{{name: {name}, image: "
           "none{more}}}]}}}}\n")
KINDS = (("PyTorchJob", "pytorchReplicaSpecs", "pytorch", "Master", REPLICAS),
         ("XGBoostJob", "xgbReplicaSpecs", "xgboost", "Master", REPLICAS),
         ("TFJob", "tfReplicaSpecs", "tensorflow", "Chief", REPLICAS // 4))


def write(folder, kind, field, name, first, count, more=""):
    path = os.path.join(folder, f"{kind}-{count}.yaml")
    with open(path, "w", encoding="utf-8") as out:
        out.write(HEAD.format(kind=kind, field=field) + REPLICA.format(type=first, count=1, name=name, more=more))
        if count > 1:
            out.write(REPLICA.format(type="Worker", count=count - 1, name=name, more=more))
    return path


def seconds(words):
    began = time.monotonic()
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - began


def alternate(words, rounds):
    """Medians of both ways, and of the ratios of runs that follow each other."""
    pairs = [[seconds([*words, "--plugin-isolation", how]) for how in ("none", "process")] for _ in range(rounds)]
    none, process = (statistics.median(column) for column in zip(*pairs))
    return none, process, statistics.median(b / a for a, b in pairs)


def workers(parent):
    """{plugin file: private KiB} of the processes that the program started."""
    found = {}
    for folder in glob.glob("/proc/[0-9]*"):
        try:
            with open(folder + "/cmdline", "rb") as f:
                words = f.read().split(b"\0")
            with open(folder + "/stat", encoding="utf-8") as f:
                above = int(f.read().rsplit(")", 1)[1].split()[1])
            if above != parent or words[0] != b"roundhouse-plugin-worker":
                continue
            with open(folder + "/smaps_rollup", encoding="utf-8") as f:
                found[os.path.basename(words[1].decode())] = sum(int(line.split()[1]) for line in f
                                                                 if line.startswith("Private_"))
        except OSError:
            continue
    return found


def memory(program, folder):
    """Private KiB of each idle worker, while a job of one process runs."""
    path = write(folder, "PyTorchJob", "pytorchReplicaSpecs", "pytorch", "Master", 1, ", command: [sleep, '30']")
    run = subprocess.Popen([program, "run", "-q", "--plugin-isolation", "process", path], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
    found, until = {}, time.monotonic() + 20
    while len(found) < 5 and time.monotonic() < until:
        found = workers(run.pid)
    time.sleep(1)  # what they do after they are loaded has no end that can be seen
    found = workers(run.pid)
    run.terminate()
    run.wait()
    return found


def main():
    program, rounds = os.path.join(sys.argv[1], "bin", "roundhouse"), int(sys.argv[2]) if len(sys.argv) > 2 else 7
    with tempfile.TemporaryDirectory() as folder:
        print(f"| what | in the program | in processes | ratio, median of {rounds} |\n|---|---|---|---|")
        for kind in KINDS:
            none, process, ratio = alternate([program, "render", write(folder, *kind)], rounds)
            print(f"| render of a {kind[0]} of {kind[4]} pods | {none:.2f} s | {process:.2f} s | {ratio:.2f} |",
                  flush=True)
        none, process, ratio = alternate([program, "plugins", "list"], rounds * 3)
        print(f"| load of the five plugins, `plugins list` | {none * 1e3:.1f} ms | {process * 1e3:.1f} ms | "
              f"{ratio:.2f} |")
        for name, size in sorted(memory(program, folder).items()):
            print(f"| private memory of the idle worker of {name} | | {size} KiB | |")


if __name__ == "__main__":
    main()
