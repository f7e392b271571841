#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A rank behind a slow link is found and named. usage: test_slow.py ROUNDHOUSE_COMM

Four ranks in network namespaces on one bridge, of which one is throttled. It needs root, `ip` and `tc`.
"""
import json
import os
import re
import subprocess
import sys

COMM = sys.argv[1]
RANKS, SLOW = 4, 2
SKIP = 77
TIMEOUT = 100
FOREIGN = re.compile(r"^(RH_COMM_|OMPI_|PMI_|RANK$|WORLD_SIZE$|MASTER_)")
PREFIX = f"rhs{os.getpid()}"
BRIDGE = PREFIX + "h"


def ip(*words, program="ip"):
    """Run one step of building the network."""
    subprocess.run([program, *words], check=True, capture_output=True, text=True)


def build():
    """A bridge in a namespace of its own, and a rank's namespace at each of its ports."""
    ip("netns", "add", BRIDGE)
    ip("-n", BRIDGE, "link", "add", "bridge", "type", "bridge")
    ip("-n", BRIDGE, "link", "set", "bridge", "up")
    for rank in range(RANKS):
        name, port = f"{PREFIX}r{rank}", f"port{rank}"
        ip("netns", "add", name)
        ip("-n", BRIDGE, "link", "add", port, "type", "veth", "peer", "name", "rh0", "netns", name)
        ip("-n", BRIDGE, "link", "set", port, "master", "bridge", "up")
        ip("-n", name, "addr", "add", f"10.231.9.{rank + 1}/24", "dev", "rh0")
        ip("-n", name, "link", "set", "rh0", "up")
        ip("-n", name, "link", "set", "lo", "up")
    throttle = ["qdisc", "add", "dev", None, "root", "tbf", "rate", "80mbit", "burst", "64kb", "latency", "400ms"]
    for name, device in ((f"{PREFIX}r{SLOW}", "rh0"), (BRIDGE, f"port{SLOW}")):
        ip("-n", name, *[word or device for word in throttle], program="tc")


def destroy():
    """Namespaces take their devices with them."""
    for name in (BRIDGE, *(f"{PREFIX}r{rank}" for rank in range(RANKS))):
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def start(rank):
    """One rank in its namespace."""
    own = {key: value for key, value in os.environ.items() if not FOREIGN.match(key)}
    own.update(RANK=str(rank), WORLD_SIZE=str(RANKS), MASTER_ADDR="10.231.9.1", RH_COMM_PORT="29600", RH_COMM_LOG="off",
               RH_COMM_BACKEND="native", RH_COMM_SHM="off")
    return subprocess.Popen(["ip", "netns", "exec", f"{PREFIX}r{rank}", COMM, "check", "--only", "pairs", "--time", "4",
                             "-o", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=own)


def judge(ends):
    """What must be true. -> a sentence when it is not"""
    result = json.loads(ends[0][0])
    found = [(item["kind"], item["from"]) for item in result["findings"]]
    if [status for _, _, status in ends] != [1] * RANKS:
        return "not every rank ended with 1"
    return "" if ("slow-rank", SLOW) in found else f"the slow rank is not named: {found}"


def main():
    """Build, run, look, destroy."""
    if os.geteuid() != 0:
        print("SKIPPED: only root can make network namespaces")
        return SKIP
    try:
        build()
        processes = [start(rank) for rank in range(RANKS)]
        ends = [(*process.communicate(timeout=TIMEOUT), process.returncode) for process in processes]
        wrong = judge(ends)
        print(wrong or "rank 2 was named")
        for out, err, status in ends if wrong else []:
            print(status, out, err)
        return 1 if wrong else 0
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"SKIPPED: no throttled network can be made here: {getattr(error, 'stderr', '')} {error}")
        return SKIP
    finally:
        destroy()


if __name__ == "__main__":
    sys.exit(main())
