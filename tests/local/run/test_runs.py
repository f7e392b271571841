# SPDX-License-Identifier: Apache-2.0
"""`roundhouse run` seen from outside: signals, several runs at a time, a full disk, a killed run. Usage: test_runs.py
PROGRAM [TEST]"""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time

from support import LIMIT, Place, job, main, wait_for

STUBBORN = 'trap "echo no" TERM; echo ready; while :; do sleep 0.05; done'


def wait_for_output(process, text):
    """Read the process's output until `text` is in it."""
    seen = ""
    end = time.monotonic() + LIMIT
    while text not in seen:
        ready, _, _ = select.select([process.stdout], [], [], max(0, end - time.monotonic()))
        data = os.read(process.stdout.fileno(), 65536).decode() if ready else ""
        if not data:
            process.kill()
            raise AssertionError(f"the output has no {text!r}:\n{seen}")
        seen += data
    return seen


def finish(process):
    try:
        return process.communicate(timeout=LIMIT)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError("the run does not end") from None


def test_success(program):
    with Place(program) as place:
        status, output = place.run(job(master="echo hello from $RANK", worker="echo hello from $RANK", workers=2))
        assert status == 0, output
        assert all(f"hello from {rank}" in output for rank in range(3)), output
        place.expect_nothing_left()


def test_failure_is_named(program):
    with Place(program) as place:
        status, output = place.run(job(master="sleep 600",
                                       worker="[ $RANK = 1 ] && exec sleep 600; echo bad luck >&2; exit 7",
                                       workers=2))
        assert status == 1, output
        assert "worker-1" in output and "bad luck" in output and "7" in output, output
        place.expect_nothing_left()


def test_failed_init_container_is_named(program):
    """What never ran has no duration, and the exit code is that of the container that ended it."""
    with Place(program) as place:
        status, output = place.run(job(pod="initContainers: [{name: prepare, image: x, command: [sh, -c, exit 9]}]"))
        assert status == 1, output
        assert "container prepare) exited with code 9" in output, output
        row = next(line.split() for line in output.splitlines() if line.startswith("Master-0 "))
        assert row == ["Master-0", "Failed", "(prepare)", "9", "0", "0.0s"], row
        place.expect_nothing_left()


def test_state_dir_of_the_user_stays(program):
    with Place(program, "state-dir = mine\n") as place:
        folder = os.path.join(place.files, "mine")
        os.mkdir(folder, 0o700)
        status, output = place.run(job())
        assert status == 0, output
        assert os.listdir(folder) == [], os.listdir(folder)
        place.expect_nothing_left()


def test_stopping_is_reported(program):
    with Place(program) as place:
        status, output = place.run(job(master="sleep 600"), "--timeout", "0.5")
        assert status == 3 and "the time limit of the run is over" in output, output
        place.expect_nothing_left()


def test_two_runs_never_collide(program):
    """Ten runs at a time: no address, and no port, is given twice."""
    with Place(program) as place:
        # each goes on when all have begun
        begun = os.path.join(place.files, "begun")
        script = (f"echo $$ >> {begun}; until [ $(wc -l < {begun}) = 10 ]; do sleep 0.05; done; "
                  "echo place $(hostname -i 2>/dev/null || true) $POD_IP $MASTER_ADDR $MASTER_PORT")
        path = place.write("job.yaml", job(master=script, worker="exec sleep 600", workers=3))
        runs = [place.start(path) for _ in range(10)]
        outputs = [finish(run) for run in runs]
        assert all(run.returncode == 0 for run in runs), outputs
        places = [re.search(r"place .*(127\S+) (\d+)$", output, re.M).groups() for output in outputs]
        assert len({address for address, _ in places}) == 10, places
        assert len({port for _, port in places}) == 10, places
        place.expect_nothing_left()


def test_interrupt_once(program):
    with Place(program) as place:
        process = place.start(place.write("job.yaml", job(master='trap "echo bye; exit 0" TERM; echo ready; '
                                                                 "while :; do sleep 0.05; done",
                                                          worker="exec sleep 600")))
        wait_for_output(process, "ready")
        process.send_signal(signal.SIGINT)
        output = finish(process)
        assert process.returncode == 130, output
        assert "bye" in output, output
        place.expect_nothing_left()


def test_interrupt_twice(program):
    with Place(program, "grace-period = 300s\n") as place:
        process = place.start(place.write("job.yaml", job(master=STUBBORN, worker=STUBBORN)))
        wait_for_output(process, "ready")
        process.send_signal(signal.SIGINT)
        wait_for_output(process, "no\n")
        process.send_signal(signal.SIGTERM)
        output = finish(process)
        assert process.returncode == 130, output
        place.expect_nothing_left()


def test_interrupt_from_a_terminal(program):
    """Ctrl-C reaches the whole foreground group; the replicas must see only what the run sends them."""
    with Place(program) as place:
        path = place.write("job.yaml", job(master='trap "echo INT" INT; trap "echo bye; exit 0" TERM; echo ready; '
                                                  "while :; do sleep 0.05; done"))
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(place.files)
            os.execve(program, [program, "run", path], place.environment)
        seen = read_terminal(terminal, lambda text: "ready" in text)
        os.write(terminal, b"\x03")
        seen += read_terminal(terminal, lambda text: False)
        _, status = os.waitpid(pid, 0)
        os.close(terminal)
        assert os.waitstatus_to_exitcode(status) == 130, seen
        assert "bye" in seen and "INT\r" not in seen, seen
        place.expect_nothing_left()


def read_terminal(terminal, enough):
    seen = ""
    while not enough(seen):
        try:
            data = os.read(terminal, 65536)
        except OSError:  # the other end has closed
            break
        if not data:
            break
        seen += data.decode(errors="replace")
    return seen


def test_hangup(program):
    with Place(program) as place:
        process = place.start(place.write("job.yaml", job(master="echo ready; exec sleep 600")))
        wait_for_output(process, "ready")
        process.send_signal(signal.SIGHUP)
        output = finish(process)
        assert process.returncode == 130, output
        place.expect_nothing_left()


def test_reader_that_goes_away(program):
    """The pipe that the output goes into closes: the replicas are still looked after."""
    with Place(program) as place:
        closed = os.path.join(place.files, "closed")
        process = place.start(place.write("job.yaml", job(master=f"echo ready; until [ -e {closed} ]; do sleep 0.02; "
                                                          "done; echo more; echo $(seq 9)")))
        wait_for_output(process, "ready")
        process.stdout.close()
        place.write("closed", "")
        wait_for(lambda: process.poll() is not None, "the run's end")
        place.expect_nothing_left()


def test_timeout(program):
    with Place(program) as place:
        started = time.monotonic()
        status, output = place.run(job(master=STUBBORN, worker="exec sleep 600"), "--timeout", "500ms")
        assert status == 3, output
        assert time.monotonic() - started < 30, output
        place.expect_nothing_left()


def test_killed_run_takes_all_with_it(program):
    with Place(program) as place:
        script = 'setsid sh -c "sleep 700 & sleep 700" & trap : TERM; echo ready; while :; do sleep 0.05; done'
        process = place.start(place.write("job.yaml", job(master=script, worker=script, workers=2)))
        wait_for_output(process, "ready")
        process.kill()
        process.wait()
        wait_for(lambda: not place.processes(), "the end of all processes")
        status, output = place.run(job())
        assert status == 0, output
        place.expect_nothing_left()  # the next run removed what the killed one had left


def test_replica_without_end_in_its_own_session(program):
    """What a replica leaves running in another session, re-parented twice, goes with it."""
    with Place(program) as place:
        begun = os.path.join(place.files, "begun")
        status, output = place.run(job(master=f'(setsid sh -c "(sleep 710 &) ; touch {begun}; sleep 710" &) ; '
                                       f"until [ -e {begun} ]; do sleep 0.02; done"))
        assert status == 0, output
        place.expect_nothing_left()


def test_log_dir(program):
    with Place(program) as place:
        logs = os.path.join(place.folder, "logs")
        status, output = place.run(job(master="echo one", worker="echo two"), "--log-dir", logs)
        assert status == 0, output
        with open(os.path.join(logs, "j", "worker-0", "pytorch.log"), encoding="utf-8") as file:
            assert file.read() == "two\n"
        assert sorted(os.listdir(os.path.join(logs, "j"))) == ["master-0", "worker-0"]
        place.expect_nothing_left()


def test_log_dir_that_cannot_be_written(program):
    with Place(program) as place:
        status, output = place.run(job(), "--log-dir", "/dev/null/logs")
        assert status == 2, (status, output)
        assert output.count("/dev/null") == 1 and "nothing was started" in output, output
        place.expect_nothing_left()


def full_disk(program, place, path):
    """Run a job whose logs go to a file system of 64 KiB, in a mount namespace of its own."""
    logs = os.path.join(place.folder, "small")
    os.mkdir(logs)
    script = (f'mount -t tmpfs -o size=64k none {logs} && {program} run --quiet --log-dir {logs} {path}; s=$?; umount '
              f'{logs}; exit $s')
    return subprocess.run(["unshare", "-rm", "sh", "-c", script], env=place.environment, cwd=place.files, text=True,
                          capture_output=True, timeout=LIMIT, check=False)


def test_full_disk(program):
    """Logs do not fit on the disk: the training runs to its end, and the run reports that and fails."""
    if not shutil.which("unshare") or subprocess.run(["unshare", "-rm", "true"], check=False,
                                                     capture_output=True).returncode:
        print("     test_full_disk needs user namespaces: left out")
        return
    with Place(program) as place:
        path = place.write("job.yaml", job(master=f"i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; "
                                                  f'echo done >"{place.files}/done"'))
        result = full_disk(program, place, path)
        assert result.returncode == 1, (result.returncode, result.stderr)
        assert os.path.exists(os.path.join(place.files, "done")), "the replica did not come to its end"
        assert "No space left" in result.stderr + result.stdout[-2000:], result.stderr
        place.expect_nothing_left()


def test_many_replicas(program):
    with Place(program) as place:
        started = time.monotonic()
        # the master's end is that of the job
        ended = os.path.join(place.files, "ended")
        master = f"until [ $(cat {ended} 2>/dev/null | wc -l) = 199 ]; do sleep 0.05; done"
        status, output = place.run(job(master=master, worker=f"echo $RANK >> {ended}", workers=199), "--quiet")
        assert status == 0, output[-3000:]
        print(f"     200 replicas: {time.monotonic() - started:.2f} s")
        place.expect_nothing_left()


def test_runs_in_a_row(program):
    """Nothing is used up: descriptors, ports, folders."""
    with Place(program, "ports = 21000-21003\n") as place:
        for _ in range(10):
            status, output = place.run(job(master="echo $MASTER_PORT", worker="true", workers=2))
            assert status == 0, output
        place.expect_nothing_left()


if __name__ == "__main__":
    sys.exit(main([value for name, value in sorted(globals().items()) if name.startswith("test_")], sys.argv[1]))
