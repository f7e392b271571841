# SPDX-License-Identifier: Apache-2.0
"""`roundhouse exec` with a run that goes on: from outside, from a pod, and as kubectl. Usage: test_exec.py PROGRAM
[TEST]"""
import os
import signal
import subprocess
import sys

from support import LIMIT, Place, job, main, wait_for

# a launcher's words: what V1's kubexec.sh runs, without and with the container that spec.mainContainer names
AS_KUBECTL = ("ln -s \"$ROUNDHOUSE_PROGRAM\" kubectl && "
              "./kubectl exec j-worker-0 -- /bin/sh -c 'echo one in $HOSTNAME, rank $RANK' && "
              "./kubectl exec j-worker-0 --container pytorch -- /bin/sh -c 'echo two in $HOSTNAME'")


class Going:
    """A run whose replicas sleep."""

    def __init__(self, place, worker="exec sleep 600", **more):
        self.place, self.stopped = place, False
        self.process = place.start(place.write("job.yaml",
                                               job(master="echo started; exec sleep 600", worker=worker, **more)))
        wait_for(lambda: self.call("j-worker-0", "true").returncode == 0, "the worker")

    def call(self, *words, options=(), **how):
        how.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run([self.place.program, "exec", *options, words[0], "--", *words[1:]],
                              env=self.place.environment, text=True, capture_output="stdout" not in how, timeout=LIMIT,
                              check=False, **how)

    def folder(self):
        base = os.path.join(self.place.tmp, f"roundhouse-{os.geteuid()}")
        return os.path.join(base, next(name for name in os.listdir(base) if name.startswith("run-")))

    def __enter__(self):
        return self

    def stop(self):
        """Once: at the very end of the run a further signal would meet no handler any more."""
        if not self.stopped:
            self.stopped = True
            self.process.send_signal(signal.SIGINT)

    def __exit__(self, *ignored):
        self.stop()
        self.process.communicate(timeout=LIMIT)
        self.place.expect_nothing_left()


def test_from_outside(program):
    with Place(program) as place, Going(place) as run:
        for options in ([], ["-n", "default"], ["--run-dir", run.folder()],
                        ["--namespace=default", "-c", "pytorch", "-i", "-t"]):
            done = run.call("j-worker-0", "sh", "-c", "echo rank $RANK; echo bad >&2; exit 3", options=options)
            assert (done.returncode, done.stdout, done.stderr) == (3, "rank 1\n", "bad\n"), (options, done)
        assert run.call("pod/j-master-0", "sh", "-c", "kill -9 $$").returncode == 137


def test_streams_are_passed(program):
    with Place(program) as place, Going(place) as run:
        words = [program, "exec", "j-worker-0", "--", "cat"]
        done = subprocess.run(words, env=place.environment, input="a\nb\n", capture_output=True, text=True,
                              timeout=LIMIT, check=False)
        assert (done.returncode, done.stdout) == (0, "a\nb\n"), done
        assert run.call("j-worker-0", "cat").stdout == ""


def test_errors_are_reported(program):
    with Place(program) as place, Going(place) as run:
        for words, options, status, message in (
                (["j-worker-9", "true"], [], 2, 'pod "j-worker-9" does not run in namespace "default"'),
                (["j-worker-0", "true"], ["-n", "other"], 2, 'pod "j-worker-0" does not run in namespace "other"'),
                (["j-worker-0", "true"], ["-c", "none"], 1, 'container "none" is not in pod "j-worker-0", which has "'),
                (["j-worker-0", "no-such-program"], [], 127, 'cannot start "no-such-program": no such program in PATH'),
                (["a/b", "true"], [], 2, '"a/b" in namespace "default" is not the name of a pod'),
                (["j-worker-0", "true"], ["--run-dir", "/no/such"], 2, 'there is no run in "/no/such"'),
                (["j-worker-0", "true"], ["--pod-running-timeout", "x"], 2, "option --pod-running-timeout: "),
                (["j-worker-0"], [], 2, "missing operand: POD -- COMMAND...")):
            done = run.call(*words, options=options)
            assert done.returncode == status and message in done.stderr, done
            assert done.stderr.startswith("roundhouse exec: "), done


def test_two_runs_of_one_job(program):
    with Place(program) as place, Going(place) as run:
        first = run.folder()
        other = place.start(os.path.join(place.files, "job.yaml"))
        wait_for(lambda: "2 runs have a pod" in run.call("j-worker-0", "true").stderr, "the second run")
        assert run.call("j-worker-0", "true", options=["--run-dir", first]).returncode == 0
        other.send_signal(signal.SIGINT)
        other.communicate(timeout=LIMIT)


def test_as_kubectl_in_a_pod(program):
    with Place(program) as place:
        status, output = place.run(job(master=AS_KUBECTL, worker="exec sleep 600",
                                       spec="runPolicy: {cleanPodPolicy: Running}"))
        assert status == 0, output
        assert "one in j-worker-0, rank 1\n" in output and "two in j-worker-0\n" in output, output
        place.expect_nothing_left(files=False)


def test_kubectl_is_exec_alone(program):
    with Place(program) as place:
        link = os.path.join(place.files, "kubectl")
        os.symlink(program, link)
        for words in ([], ["get", "pods"], ["version"]):
            done = subprocess.run([link, *words], capture_output=True, text=True, timeout=LIMIT, check=False)
            assert done.returncode == 2 and done.stderr.startswith("kubectl: on one machine there is only `kubectl "
                                                                   "exec"), done


def test_in_a_pod_the_others_are_waited_for(program):
    """Each replica runs something in the other: whichever is started first finds the other one later."""
    with Place(program) as place:
        status, output = place.run(job(master="\"$ROUNDHOUSE_PROGRAM\" exec j-worker-0 -- sh -c 'echo to $HOSTNAME'",
                                       worker="\"$ROUNDHOUSE_PROGRAM\" exec j-master-0 -- sh -c 'echo to $HOSTNAME' "
                                       "|| true; exec sleep 600", spec="runPolicy: {cleanPodPolicy: Running}"))
        assert status == 0 and "to j-worker-0" in output, output
        place.expect_nothing_left()


def test_a_command_ends_with_its_pod(program):
    """By SIGTERM: the grace period is one that a machine without a processor to spare does not use up."""
    with Place(program) as place:
        with Going(place, pod="terminationGracePeriodSeconds: 600") as run:
            words = [program, "exec", "j-worker-0", "--", "sh", "-c", "setsid -f sleep 600; echo ready; exec sleep 600"]
            command = subprocess.Popen(words, env=place.environment, text=True, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
            assert command.stdout.readline() == "ready\n"
            run.stop()
            command.communicate(timeout=LIMIT)
            assert command.returncode in (1, 143), command.returncode
        place.expect_nothing_left()


def test_hanging_up_ends_the_command(program):
    with Place(program) as place, Going(place) as run:
        words = [program, "exec", "j-worker-0", "--", "sh", "-c", "echo $$; exec sleep 600"]
        command = subprocess.Popen(words, env=place.environment, text=True, stdout=subprocess.PIPE)
        inside = int(command.stdout.readline())
        assert os.path.exists(f"/proc/{inside}")
        command.send_signal(signal.SIGINT)
        command.communicate(timeout=LIMIT)
        wait_for(lambda: not os.path.exists(f"/proc/{inside}"), "the end of the command")
        assert run.call("j-worker-0", "true").returncode == 0


def test_replicas_with_one_name_in_turn(program):
    """Behind a restart of the whole job the name leads to the new pod."""
    with Place(program) as place:
        worker = "if [ -e again ]; then exec sleep 600; fi; echo > again; exit 1"
        with Going(place, worker=worker, policy="OnFailure", annotations="{roundhouse.dev/restart: job}") as run:
            done = wait_for(lambda: [d for d in [run.call("j-worker-0", "sh", "-c", "ls again")] if d.returncode == 0],
                            "the second worker")
            assert done[0].stdout == "again\n", done


if __name__ == "__main__":
    sys.exit(main([value for name, value in sorted(globals().items()) if name.startswith("test_")], sys.argv[1]))
