# SPDX-License-Identifier: Apache-2.0
"""What becomes of pods in a run of the real program: volumes, sidecars, crash loops, the closing table.
Usage: test_pods.py PROGRAM [TEST]"""
import glob
import os
import re
import signal
import sys

from support import LIMIT, Place, job, main, wait_for

WITH_MOUNTS = 'skip: this machine allows no private mounts'


def can_mount(program):
    """Whether volumes appear at their mountPath here."""
    with Place(program) as place:
        _, output = place.run(job(master="test -d /roundhouse-test-volume && echo mounted",
                                  pod="volumes: [{name: v, emptyDir: {}}]").replace(
                                      "command:", "volumeMounts: [{name: v, mountPath: /roundhouse-test-volume}]\n"
                                      "            command:"))
        return "mounted" in output


def mounted(text, *places):
    """The job with an empty volume at each of the places."""
    mounts = ", ".join(f"{{name: v{i}, mountPath: {place}}}" for i, place in enumerate(places))
    return text.replace("command:", f"volumeMounts: [{mounts}]\n            command:")


def volumes(count):
    return "volumes: [" + ", ".join(f"{{name: v{i}, emptyDir: {{}}}}" for i in range(count)) + "]"


def test_volumes_cover_what_the_run_needs(program):
    """Volumes over /tmp, /dev, the home, the state folder, the job's own folder: the pod starts in the job's folder all
    the same."""
    if not can_mount(program):
        print(WITH_MOUNTS)
        return
    with Place(program) as place:
        place.write("beside.txt", "beside the job\n")
        script = 'cat beside.txt; for d in $PLACES; do echo x > $d/new && echo wrote $d; done'
        rows = [["/tmp"], ["/dev"], ["/run"], ["/var/tmp"], [os.path.expanduser("~")], [place.tmp], [place.folder],
                [place.files], ["/tmp", "/dev", "/run", "/var/tmp", "/tmp/deep/er"]]
        for row in rows:
            row = [path for path in row if path.startswith("/tmp/") or os.path.isdir(path)]
            text = mounted(job(master=f"PLACES='{' '.join(row)}'; {script}", pod=volumes(len(row))), *row)
            status, output = place.run(text)
            assert status == 0, (row, output)
            assert "beside the job" in output, (row, output)
            assert all(f"wrote {path}\n" in output for path in row), (row, output)
        place.expect_nothing_left(files=False)


def test_exec_from_a_pod_whose_volume_covers_the_run(program):
    if not can_mount(program):
        print(WITH_MOUNTS)
        return
    with Place(program) as place:
        script = '"$ROUNDHOUSE_PROGRAM" exec j-worker-0 -- sh -c "echo over there"'
        text = mounted(job(master=script, worker="exec sleep 600", pod=volumes(2)), place.folder,
                       os.path.dirname(program))
        status, output = place.run(text, "--linger", "0")
        assert status == 0 and "over there" in output, output


def test_memory_limit(program):
    """Enforced, or the note says why not: as root also where the controllers are version 1's."""
    with Place(program) as place:
        script = "exec head -c 300000000 /dev/zero | exec tail -c 200000000 > /dev/null"
        text = job(master=script).replace(
            "command:", "resources: {limits: {memory: 24Mi, cpu: '1'}}\n            command:")
        status, output = place.run(text)
        if "limits of cpu and memory are not enforced" in output:
            reasons = "version 1, and this user may not write", "this user may write no cgroup"
            assert any(reason in output for reason in reasons), output
            return
        assert status == 1 and "OOMKilled" in output, output
        place.expect_nothing_left()


def test_sidecar(program):
    """A native sidecar: up before the container, not waited for, and not the pod's end."""
    with Place(program) as place:
        pod = ("initContainers: [{name: helper, image: x, restartPolicy: Always, "
               "command: [sh, -c, 'echo up > side; trap \"echo bye; exit 5\" TERM; while :; do sleep 0.05; done']}]")
        status, output = place.run(job(master="until [ -e side ]; do sleep 0.01; done; echo trained", pod=pod))
        assert status == 0 and "trained" in output and "bye" in output, output
        row = next(line.split() for line in output.splitlines() if line.startswith("Master-0 "))
        assert row[1:4] == ["Succeeded", "0", "0"], row
        place.expect_nothing_left()


RAISE = ("echo 'Traceback (most recent call last):'; echo '  File \"train.py\", line 1'; "
         "echo \"ModuleNotFoundError: No module named 'numpy'\"; ")
REPLICAS = ["Master-0", "Worker-0", "Worker-1"]


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def rows_of(output):
    """The closing table. -> {replica: (outcome, exit code)}"""
    found = {}
    for line in output.splitlines():
        words = line.split()
        if words and words[0] in REPLICAS and len(words) >= 5:
            found[words[0]] = (words[1], words[2])
    return found


def late_of(output):
    """-> the replicas whose ends were not known when the job failed: their supervisors lacked a processor"""
    found = re.search(r"exited with code 1; (.*) had not ended yet:", output)
    return re.findall(r"\w+-\d+", found[1]) if found else []


def run_alike(place, text):
    """A run that sees how its replicas end when all have: it is stopped meanwhile. -> its output"""
    paths = [place.write(f"pid-{rank}", "") for rank in range(3)]
    run = place.start(place.write("job.yaml", text))
    pids = [wait_for(lambda path=path: place_text(path), "a replica") for path in paths]
    os.kill(run.pid, signal.SIGSTOP)
    place.write("go", "")
    wait_for(lambda: all(has_ended(pid) for pid in pids), "the ends of all replicas")
    os.kill(run.pid, signal.SIGCONT)
    output, _ = run.communicate(timeout=LIMIT)
    assert run.returncode == 1, output
    os.remove(os.path.join(place.files, "go"))
    return output


def place_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def test_table_where_all_fail_alike(program):
    """The exit code of each, and no replica is at fault, also where failures are followed by restarts."""
    script = ("echo $$$$ > pid-$RANK.new; mv pid-$RANK.new pid-$RANK; "
              f"until [ -e go ]; do sleep 0.02; done; {RAISE} exit 1")
    rows = [("Never", "", "{}"), ("OnFailure", "runPolicy: {backoffLimit: 0}", "{}"),
            ("OnFailure", "runPolicy: {backoffLimit: 1}", "{roundhouse.dev/restart: job}")]
    for policy, spec, annotations in rows:
        with Place(program) as place:
            output = run_alike(place, job(policy=policy, master=script, worker=script, workers=2, spec=spec,
                                          annotations=annotations))
            late = late_of(output)
            assert len(late) < len(REPLICAS), output
            assert rows_of(output) == {name: ("Stopped" if name in late else "Failed", "1") for name in REPLICAS}, (
                policy, spec, output)
            if policy == "Never":
                assert re.search(r"First fault: all 3 replicas failed alike, as \S+ \(container pytorch\) exited with "
                                 r"code 1(; .* had not ended yet)?:\n    Traceback", output), output
            place.expect_nothing_left(files=False)


def test_table_where_one_was_about_to_fail_alike(program):
    """A replica that had written the same error, and not ended, was stopped: the sentence says what the table says."""
    with Place(program) as place:
        others = f"until [ -e go ]; do sleep 0.02; done; {RAISE} exit 1"
        worker = f"[ $RANK = 1 ] && {{ {others}; }}; {RAISE} exec sleep 600"
        run = place.start(place.write("job.yaml", job(master=others, worker=worker, workers=2)))
        shown = []
        while not shown or "worker-1 | ModuleNotFoundError" not in shown[-1]:
            shown.append(run.stdout.readline())
            assert shown[-1], shown
        place.write("go", "")
        output, _ = run.communicate(timeout=LIMIT)
        assert run.returncode == 1, output
        assert re.search(r"First fault: all 3 replicas failed alike, as (Master-0|Worker-0) \(container pytorch\) "
                         r"exited with code 1; Worker-1 had not ended yet:\n", output), output
        assert rows_of(output)["Worker-1"] == ("Stopped", "143"), output


def parent_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def has_failed(place):
    """Whether the kept run says that its job has failed."""
    found = glob.glob(os.path.join(place.state, "roundhouse", "runs", "*", "events.jsonl"))
    return found and '"state":"Failed"' in place_text(found[0])


def test_table_where_a_report_was_late(program):
    """A replica that has failed alike is known to have when its supervisor gets a processor, after the verdict: the
    sentence says what the table says."""
    script = (f"echo $$$$ > pid-$RANK.new; mv pid-$RANK.new pid-$RANK; {RAISE} until [ -e go ]; do sleep 0.02; done; "
              "exit 1")
    with Place(program) as place:
        path = os.path.join(place.files, "pid-2")
        run = place.start(place.write("job.yaml", job(master=script, worker=script, workers=2,
                                                      pod="terminationGracePeriodSeconds: 600")))
        shown = ""
        while shown.count("ModuleNotFoundError") < len(REPLICAS):
            line = run.stdout.readline()
            assert line, shown
            shown += line
        supervisor = parent_of(place_text(path))
        os.kill(supervisor, signal.SIGSTOP)
        place.write("go", "")
        wait_for(lambda: has_failed(place), "the verdict")
        os.kill(supervisor, signal.SIGCONT)
        output, _ = run.communicate(timeout=LIMIT)
        assert run.returncode == 1 and "First fault: all 3 replicas failed alike" in output, output
        stopped = [name for name, (outcome, _) in rows_of(output).items() if outcome == "Stopped"]
        assert late_of(output) == stopped, output


def test_the_crash_loop_that_began_first(program):
    """Of two replicas that fail again and again, the one whose first failure was earlier is named, though the other's
    last failure is."""
    worker = ('[ -e again ] && { [ -e last ] && { echo third; exec sleep 600; }; until [ -e other ]; do sleep 0.01; '
              'done; touch last; }; touch again; echo "ValueError: shard 7"; exit 1')
    master = ('[ -e failed ] && { touch other; exec sleep 600; }; until [ -e again ]; do sleep 0.01; done; '
              'touch failed; echo "ValueError: no room"; exit 1')
    with Place(program) as place:
        run = place.start(place.write("job.yaml", job(policy="OnFailure", master=master, worker=worker)))
        shown = ""
        while "third" not in shown:
            line = run.stdout.readline()
            assert line, shown
            shown += line
        run.send_signal(signal.SIGINT)
        output, _ = run.communicate(timeout=LIMIT)
        assert "First fault: Worker-0 (container pytorch) exited with code 1" in output, output
        assert "    ValueError: shard 7" in output, output


TESTS = [value for name, value in list(globals().items()) if name.startswith("test_")]
sys.exit(main(TESTS, sys.argv[1]))
