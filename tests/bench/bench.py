#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print what local mode costs, beside its yardsticks.

Nothing here passes or fails: machines differ. Ratios come from runs that alternate.
"""
import argparse
import contextlib
import json
import os
import pty
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

REPLICA = """    {type}:
      replicas: {count}
      restartPolicy: Never
      template:
        spec:
          containers:
          - {{name: pytorch, image: none, command: [{command}]}}
"""
HEAD = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: bench}\nspec:\n  pytorchReplicaSpecs:\n"


def job(folder, workers, command):
    """A job file with one master and so many workers."""
    path = os.path.join(folder, f"bench-{workers}.yaml")
    with open(path, "w", encoding="utf-8") as out:
        out.write(HEAD + REPLICA.format(type="Master", count=1, command=command))
        if workers > 0:
            out.write(REPLICA.format(type="Worker", count=workers, command=command))
    return path


def peak(pid):
    """Peak KiB of a running process; 0 when it is gone. (The figure of wait4 starts with this interpreter's own
    size.)"""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            return max((int(line.split()[1]) for line in f if line.startswith("VmHWM")), default=0)
    except OSError:
        return 0


def measure(words):
    """Wall seconds and peak KiB of the process itself (not of its children)."""
    most, start = 0, time.monotonic()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        while child.poll() is None:
            most = max(most, peak(child.pid))
            time.sleep(0.005)
    if child.returncode != 0:
        sys.exit(f"bench: {' '.join(words)} ended with {child.returncode}")
    return time.monotonic() - start, most


def overhead(program, folder, rounds):
    """Three sleeping processes under `run`, and under a shell, in turn."""
    path = job(folder, 2, "sleep, '0.5'")
    shell = ["sh", "-c", "sleep 0.5 & sleep 0.5 & sleep 0.5 & wait"]
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(measure([program, "run", "-q", path])[0])
        theirs.append(measure(shell)[0])
    extra = statistics.median(a - b for a, b in zip(ours, theirs))
    print(f"run adds to a shell script of the same 3 processes: {extra * 1000:.0f} ms (yardstick: 150 ms)")


def processor(words):
    """Milliseconds of processor time that a command and all that it waits for take; None: it does not know a word."""
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # wait4 below, not Popen.wait
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 2):
        sys.exit(f"bench: {' '.join(words)} ended with {child.returncode}")
    return (usage.ru_utime + usage.ru_stime) * 1000 if child.returncode == 0 else None


def start(program, folder, rounds, other=None):
    """Processor time of three replicas of /bin/true, not kept, kept and by another build, in turn."""
    path = job(folder, 2, "/bin/true")
    kinds = {"not kept": [program, "run", "-q", "--no-keep", path], "kept": [program, "run", "-q", path]}
    if other:
        kinds["other build"] = [other, "run", "-q", "--no-keep", path]
        if processor(kinds["other build"]) is None:  # a commit that keeps no run
            kinds["other build"].remove("--no-keep")
    took = {kind: [] for kind in kinds}
    for _ in range(max(rounds, 31)):
        for kind, words in kinds.items():
            took[kind].append(processor(words))
    for kind, times in took.items():
        print(f"start of a run, {kind}: {min(times):.1f} ms of processor time at least, median "
              f"{statistics.median(times):.1f} ms")


def judgement(program, folder, rounds):
    """From the end of the last process of a job that fails until the run is over and has named the first fault."""
    script = ('sleep 0.3; case $HOSTNAME in *worker-1) echo "ValueError: shard 7";; *) echo "RuntimeError: Connection '
              'closed by peer";; esac; '
              'touch "$ENDED/$HOSTNAME"; exit 1')
    path = job(folder, 2, f"sh, -c, {json.dumps(script)}")
    took = []
    for number in range(rounds):
        ended = os.path.join(folder, f"ended-{number}")
        os.mkdir(ended)
        done = subprocess.run([program, "run", "-q", path], capture_output=True, text=True,
                              env={**os.environ, "ENDED": ended}, check=False)
        over = time.time()
        if done.returncode != 1 or "Worker-1" not in done.stdout + done.stderr:
            sys.exit(f"bench: the first fault is not named: {done.stdout}{done.stderr}")
        took.append(over - max(entry.stat().st_mtime for entry in os.scandir(ended)))
    print(f"first fault of 3 failed processes: {statistics.median(took) * 1000:.0f} ms after the last one ended, "
          f"at most {max(took) * 1000:.0f} ms (yardstick: 1000 ms)")


def many(program, folder, rounds):
    """200 replicas that end at once."""
    path = job(folder, 199, "/bin/true")
    runs = [measure([program, "run", "-q", path]) for _ in range(rounds)]
    print(f"200 replicas of /bin/true: {statistics.median(r[0] for r in runs):.2f} s (yardstick: 2 s), "
          f"own peak memory {max(r[1] for r in runs) / 1024:.1f} MiB (yardstick: 10 MiB)")


def keeping(program, folder, rounds):
    """Three replicas that write three million lines, kept and not, in turn."""
    path = job(folder, 2, "sh, -c, 'seq 1000000'")
    ratios, rates = [], []
    for _ in range(rounds):
        plain = measure([program, "run", "-q", "--no-keep", path])[0]
        kept = measure([program, "run", "-q", path])[0]
        ratios.append(kept / plain)
        rates.append(3 / kept)
    print(f"keeping a run costs {100 * (statistics.median(ratios) - 1):.1f} % (yardstick: 3 %) "
          f"at {statistics.median(rates):.1f} million lines/s")


def listing(program, folder, rounds):
    """A thousand runs that are kept."""
    runs = subprocess.run([program, "runs", "path"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    shutil.rmtree(runs, ignore_errors=True)
    measure([program, "run", "-q", job(folder, 2, "/bin/true")])
    first = os.path.join(runs, os.listdir(runs)[0])
    for number in range(999):
        shutil.copytree(first, f"{first}-{number}")
    took = statistics.median(measure([program, "ls"])[0] for _ in range(rounds))
    print(f"ls of 1000 kept runs: {took * 1000:.0f} ms (yardstick: 50 ms)")


def processor_time(pid):
    """Nanoseconds that the threads of a process have had a processor."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="utf-8") as file:
            total += int(file.read().split()[0])
    return total


def samples(program, folder, rounds):
    """What a run takes while nothing happens but its looks at what three replicas use: kept, and not, in turn."""
    path, span = job(folder, 2, "sleep, '1000'"), 10
    shares = {(): [], ("--no-keep",): []}
    for _ in range(rounds):
        for options, share in shares.items():
            with subprocess.Popen([program, "run", "-o", "json", *options, path], stdout=subprocess.PIPE) as child:
                started = set()
                while len(started) < 3:
                    row = json.loads(child.stdout.readline())
                    if row["type"] == "pod" and row["object"]["status"].get("phase") == "Running":
                        started.add(row["object"]["metadata"]["name"])
                before, start = processor_time(child.pid), time.monotonic()
                time.sleep(span)
                share.append((processor_time(child.pid) - before) / 1e9 / (time.monotonic() - start))
                child.terminate()
                child.stdout.read()
    kept, plain = (100 * statistics.median(share) for share in shares.values())
    print(f"an idle run takes {kept:.3f} % of a processor with resource samples, {plain:.3f} % without "
          "(yardstick: 1 %)")


def watching(program, folder, rounds):
    """`top` on a terminal, for twelve seconds of ten replicas that have written much."""
    path = job(folder, 9, "sh, -c, 'seq -f \"step %.0f/100000\" 100000; exec sleep 12'")
    shares = []
    for _ in range(rounds):
        with subprocess.Popen([program, "run", "-q", path], stdout=subprocess.DEVNULL) as run:
            while subprocess.run([program, "top", "--once", "bench"], capture_output=True, check=False).returncode:
                time.sleep(0.2)
            start = time.monotonic()
            child, terminal = pty.fork()
            if child == 0:
                os.execv(program, [program, "top", "bench"])
            with contextlib.suppress(OSError):
                while os.read(terminal, 65536):
                    pass
            os.close(terminal)
            used = os.wait4(child, 0)[2]
            shares.append((used.ru_utime + used.ru_stime) / (time.monotonic() - start))
            run.wait()
    print(f"top of 10 replicas takes {100 * statistics.median(shares):.2f} % of a processor (yardstick: 1 %)")


def sweeping(program, folder, rounds):
    """A hundred trials, eight at a time."""
    path = job(folder, 0, "/bin/true")
    words = [program, "sweep", path, "--param", f"N={','.join(map(str, range(100)))}", "--parallel", "8"]
    took = statistics.median(measure(words)[0] for _ in range(rounds))
    print(f"a sweep of 100 jobs of /bin/true, 8 at once: {took:.2f} s (yardstick: 3 s)")


def render(program, folder, rounds):
    """Bodies of a 1000-replica job, printed."""
    path = job(folder, 999, "/bin/true")
    for form in ("json", "yaml"):
        runs = [measure([program, "render", "-o", form, path])[0] for _ in range(rounds)]
        print(f"render of 1000 replicas as {form}: {statistics.median(runs) * 1000:.0f} ms (yardstick: 100 ms)")


def local(program, folder, rounds, other):
    """What local mode costs."""
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} before, {rounds} rounds")
    overhead(program, folder, max(rounds, 15))
    start(program, folder, rounds, other)
    judgement(program, folder, max(rounds, 15))
    many(program, folder, rounds)
    keeping(program, folder, rounds)
    listing(program, folder, max(rounds, 15))
    samples(program, folder, rounds)
    watching(program, folder, rounds)
    sweeping(program, folder, rounds)
    render(program, folder, rounds)
    print(f"load {os.getloadavg()[0]:.1f} after")


def main():
    """All numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="a build folder")
    parser.add_argument("rounds", type=int, nargs="?", default=5)
    parser.add_argument("other", nargs="?", help="the build folder of another commit, whose start of a run is compared")
    parser.add_argument("--local", action="store_true", help="not the engine; needs no tests in the build")
    words = parser.parse_args()
    build = os.path.abspath(words.build)
    program = os.path.join(build, "bin", "roundhouse")
    other = os.path.join(os.path.abspath(words.other), "bin", "roundhouse") if words.other else None
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = os.path.join(folder, "state")
        local(program, folder, words.rounds, other)
    if words.local:
        return
    plugin = os.path.join(build, "lib", "roundhouse", "plugins", "pytorch.so")
    for name in ("bench_decide", "bench_cache", "bench_split"):
        subprocess.run(["cmake", "--build", build, "--target", name], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([os.path.join(build, "tests", name), plugin], check=True)


if __name__ == "__main__":
    main()
