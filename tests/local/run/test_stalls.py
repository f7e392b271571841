# SPDX-License-Identifier: Apache-2.0
"""Ranks of rh_comm that stand still, as a run shows it. Usage: test_stalls.py PROGRAM LIBRARY SOURCE"""
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys

from support import LIMIT, Place, job, main, wait_for

LIBRARY, SOURCE = sys.argv[2], sys.argv[3]
VERDICT = re.compile(r"job j: rank 1 did not come to number (\d+), barrier; rank 0 has waited (\d+)\.\d+ s there; "
                     r"(?:rank 1 has given no sign of life for \d+\.\d+ s; )?rank 1 \(process (\d+)\) (.+)")
ENDED = "job j: goes on: rank 1 has come"
# Rank 1 does something else after five barriers. Once there is a file "end", rank 0 says at which barrier all end.
RANK = """import fcntl, os, random, signal, sys, time, roundhouse
def hold():
    {hold}
with roundhouse.Comm() as comm:
    open("started", "a").close()
    for step in range(5):
        comm.barrier()
    if comm.rank == 1:
        hold()
    for step in range(1 << 30):
        if comm.rank == 0 and os.path.exists("end"):
            with open("last.new", "w") as file:
                file.write(str(step))
            os.rename("last.new", "last")
        comm.barrier()
        if os.path.exists("last") and open("last").read() == str(step):
            break
        time.sleep(0.02)
"""


class Ranks:
    """A run of two ranks, and what it has written so far."""

    def __init__(self, place, script, tools="", words=(), **more):
        command = f"exec {sys.executable} {place.write('train.py', script)}"
        environment = dict(place.environment, PYTHONPATH=os.path.join(SOURCE, "comm", "python"), RH_COMM_LOG="off",
                           RH_COMM_LIBRARY=LIBRARY, PATH=(tools + ":" if tools else "") + "/usr/bin:/bin")
        environment.pop("RH_COMM_TRACE", None)
        self.path = os.path.join(place.folder, "output")
        self.place = place
        self.environment = environment
        self.lock = os.path.join(place.files, "lock")
        self.started = os.path.join(place.files, "started")
        with open(self.path, "w", encoding="utf-8") as output:
            self.process = subprocess.Popen(
                [place.program, "run", *words, place.write("job.yaml", job(master=command, worker=command, **more))],
                env=environment, cwd=place.files, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def output(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def verdict(self):
        """Wait for it. -> number, seconds of waiting, process, what it does"""
        def found():
            assert self.process.poll() is None, self.output()
            return VERDICT.search(self.output())
        match = wait_for(found, "the verdict")
        return int(match[1]), int(match[2]), int(match[3]), match[4]

    def top(self, *words):
        """-> what `roundhouse top` prints of this run"""
        done = subprocess.run([self.place.program, "top", *words, "j"], env=self.environment, check=True, text=True,
                              stdout=subprocess.PIPE, timeout=LIMIT)
        return done.stdout

    def end(self):
        """-> its output, once it has Succeeded"""
        assert self.process.wait(timeout=LIMIT) == 0, self.output()
        return self.output()


def check_once(ranks):
    wait_for(lambda: ENDED in ranks.output(), "the end of the stall")
    ranks.place.write("end", "")
    output = ranks.end()
    assert len(VERDICT.findall(output)) == 1, output
    assert output.count(ENDED) == 1, output


def test_a_rank_that_sleeps_until_it_is_called(program):
    with Place(program) as place:
        go = os.path.join(place.files, "go")
        ranks = Ranks(place, RANK.format(hold=f"while not os.path.exists({go!r}): time.sleep(0.2)"))
        number, waited, _, does = ranks.verdict()
        assert (number, does.startswith("waits in ")) == (6, True) and "sleep" in does and waited >= 10, does
        place.write("go", "")
        check_once(ranks)


def test_a_rank_that_waits_for_a_lock(program):
    with Place(program) as place:
        with open(os.path.join(place.files, "lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            ranks = Ranks(place, RANK.format(hold="fcntl.flock(open('lock'), fcntl.LOCK_EX)"))
            _, _, _, does = ranks.verdict()
            assert does == "waits in flock on " + os.path.realpath(ranks.lock), does
        check_once(ranks)


def test_a_rank_that_is_stopped(program):
    with Place(program) as place:
        ranks = Ranks(place, RANK.format(hold="os.kill(os.getpid(), signal.SIGSTOP)"))
        _, _, process, does = ranks.verdict()
        assert does == "is stopped (SIGSTOP or Ctrl-Z)", does
        os.kill(process, signal.SIGCONT)
        check_once(ranks)


def test_a_rank_that_comes_last(program):
    with Place(program) as place:
        paces = "time.sleep(0.2 if comm.rank == 1 else 0.02)"
        ranks = Ranks(place, RANK.format(hold="pass").replace("time.sleep(0.02)", paces))

        def late():
            assert ranks.process.poll() is None, ranks.output()
            # before the first replica there is no run to show
            rows = json.loads(ranks.top("-o", "json")) if os.path.exists(ranks.started) else []
            return [row for row in rows if "late" in row]
        row, = wait_for(late, "the rank that comes last")
        assert (row["replica"], row["late"]["rank"]) == ("worker-0", 1), row
        assert 0.04 <= row["late"]["share"] <= 1, row
        table = ranks.top("--once").splitlines()
        assert "OTHERS WAIT" in table[0], table
        assert re.search(r"worker-0 .* \d+%, for rank 1 ", table[2]) and " - " in table[1], table
        place.write("end", "")
        ranks.end()


def test_its_stack_where_py_spy_is_installed(program):
    tool = shutil.which("py-spy")
    if not tool:
        print("no py-spy in PATH: its output is tested as recorded, in local/progress/stall")
        return
    with Place(program) as place:
        go = os.path.join(place.files, "go")
        ranks = Ranks(place, RANK.format(hold=f"while not os.path.exists({go!r}): time.sleep(0.2)"),
                      os.path.dirname(tool))
        _, _, _, does = ranks.verdict()
        assert re.match(r"is in hold \(train\.py:3\), called by <module> \(train\.py:8\)", does), does
        place.write("go", "")
        check_once(ranks)


# Rank 1 sleeps for ever, the first time that it runs.
ONCE = """import os, time, roundhouse
with roundhouse.Comm() as comm:
    for step in range(5):
        comm.barrier()
    if comm.rank == 1 and not os.path.exists("slept"):
        open("slept", "w").close()
        time.sleep(100000)
    comm.barrier()
"""
AFTER = "{roundhouse.dev/stalls-after: 1s}"


def test_all_replicas_are_restarted(program):
    with Place(program) as place:
        output = Ranks(place, ONCE, words=["--stalls=restart"], annotations=AFTER).end()
        assert len(VERDICT.findall(output)) == 1, output
        assert "is restarting all replicas: rank 1 did not come to number 6, barrier" in output, output


def test_one_replica_is_evicted(program):
    """Rank 0 loses it, and is restarted as its policy says."""
    with Place(program) as place:
        output = Ranks(place, ONCE, words=["--stalls=evict"], annotations=AFTER, policy="OnFailure").end()
        assert "Evicted pod: j-worker-0; rank 1 did not come to number 6, barrier" in output, output
        assert "is restarting all replicas" not in output, output


def test_what_the_job_asks_for(program):
    with Place(program) as place:
        asks = "{roundhouse.dev/stalls: restart, roundhouse.dev/stalls-after: 1s, roundhouse.dev/stalls-limit: '0'}"
        ranks = Ranks(place, ONCE, words=["--stalls=report"], annotations=asks)
        ranks.verdict()
        ranks.process.send_signal(signal.SIGINT)
        ranks.process.wait(timeout=LIMIT)
        assert "is restarting all replicas" not in ranks.output(), ranks.output()


def test_no_verdict_where_all_go_on(program):
    """Jitter, one long pause of all together, and ranks that wait in nothing."""
    with Place(program) as place:
        script = """import random, time, roundhouse
with roundhouse.Comm() as comm:
    for step in range(300):
        time.sleep(random.random() / 50)
        comm.barrier()
    time.sleep(13)
    for step in range(20):
        time.sleep(random.random() / 5)
        comm.barrier()
"""
        output = Ranks(place, script).end()
        assert "did not come" not in output and "goes on" not in output, output


if __name__ == "__main__":
    sys.exit(main([value for name, value in sorted(globals().items()) if name.startswith("test_")], sys.argv[1]))
