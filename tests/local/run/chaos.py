# SPDX-License-Identifier: Apache-2.0
"""Kill processes of random runs at random moments. Whatever is killed, the run ends in the right condition and leaves
nothing.

Usage: chaos.py PROGRAM [--kills N] [--seconds S] [--seed N]
Ends when N kills were made, or after S seconds. The seed that it prints makes the same choices again, though not at the
same moments.
"""
import argparse
import json
import os
import random
import signal
import sys
import time

from support import LIMIT, Place, job, wait_for

# Each replica leaves a child in its session and one outside it, and works for a moment.
REPLICA = '(setsid sleep 800 &); sleep 800 & for i in 1 2 3 4 5 6; do sleep 0.05; done'


class Round:
    """One run, and what was done to it."""

    def __init__(self, place, chance):
        self.place = place
        self.chance = chance
        self.scope = chance.choice(["replica", "job"])
        self.policy = chance.choice(["OnFailure", "ExitCode", "Never"])
        self.killed = []
        # a sanitizer looks for leaks with a process of its own, and hangs when that is killed
        place.environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        workers = chance.randint(1, 3)
        text = job(policy=self.policy, master=REPLICA, worker=REPLICA, workers=workers,
                   annotations=f"{{roundhouse.dev/restart: {self.scope}}}", pod="terminationGracePeriodSeconds: 1")
        self.process = place.start("-o", "json", "--linger", "1s", place.write(f"{chance.random()}.yaml", text),
                                   stdout=open(os.path.join(place.files, "out"), "w", encoding="utf-8"),
                                   stderr=open(os.path.join(place.files, "errors"), "w", encoding="utf-8"))

    def candidates(self):
        return [pid for pid in self.place.processes() if pid != self.process.pid]

    def kill_some(self, most):
        """Kill up to `most` random processes at random moments while the run lasts."""
        end = time.monotonic() + LIMIT
        # until its first line the run tries its plugins; one that is killed there is left out, and says so
        wait_for(lambda: self.output() or self.process.poll() is not None, "the first line of the run")
        while self.process.poll() is None:
            assert time.monotonic() < end, f"the run does not end after {self.killed}"
            time.sleep(self.chance.random() * 0.08)
            pids = self.candidates() if len(self.killed) < most else []
            if not pids:
                continue
            pid = self.chance.choice(pids)
            number = self.chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
            name = command_of(pid)
            try:
                os.kill(pid, number)
                self.killed.append(f"{name} {signal.Signals(number).name}")
            except OSError:
                pass

    def kill_run(self):
        """Kill the run itself: everything must go with it."""
        time.sleep(self.chance.random() * 0.4)
        self.process.kill()
        self.process.wait()
        self.killed.append("roundhouse run SIGKILL")
        wait_for(lambda: not self.place.processes(), "the end of what a killed run had started")

    def output(self, name="out"):
        with open(os.path.join(self.place.files, name), encoding="utf-8") as file:
            return file.read()

    def condition(self):
        """The type of the job's last condition that is True."""
        last = ""
        for line in self.output().splitlines():
            row = json.loads(line)
            if row.get("type") == "job":
                true = [item["type"] for item in row["object"].get("status", {}).get("conditions", [])
                        if item["status"] == "True"]
                last = true[-1] if true else ""
        return last

    def check(self):
        status = self.process.returncode
        condition = self.condition()
        self.place.expect_nothing_left()
        assert not self.output("errors"), self.output("errors")
        assert (status, condition) in ((0, "Succeeded"), (1, "Failed")), (status, condition)
        if self.policy == "OnFailure":
            assert status == 0, f"{self.policy} is restarted whatever happens"
        if self.policy == "ExitCode" and not any("SIGTERM" in text or "sleep" in text for text in self.killed):
            assert status == 0, f"{self.policy} is restarted after a kill"
        if not self.killed:
            assert status == 0, "nothing was killed"


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return " ".join(file.read().decode(errors="replace").split("\0")[:3]).strip()[:40]
    except OSError:
        return "gone"


def one_round(program, chance, most):
    """Returns how many kills were made."""
    with Place(program) as place:
        this = Round(place, chance)
        try:
            if chance.random() < 0.1:
                this.kill_run()
                return 1
            this.kill_some(most)
            this.check()
        except AssertionError as error:
            print(f"scope {this.scope}, policy {this.policy}, killed {this.killed}:\n{error}\n{this.output()[-4000:]}")
            raise
        return len(this.killed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    end = time.monotonic() + arguments.seconds
    kills = rounds = 0
    print(f"seed {arguments.seed}", flush=True)
    while kills < arguments.kills and time.monotonic() < end:
        try:
            kills += one_round(arguments.program, chance, chance.randint(1, 6))
        except AssertionError:
            return 1
        rounds += 1
    print(f"{kills} kills in {rounds} runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
