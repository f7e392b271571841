# SPDX-License-Identifier: Apache-2.0
"""Runs that are kept, seen from outside: what is in their folders, however the run ends. Usage: test_keep.py PROGRAM"""
import json
import os
import re
import signal
import stat
import subprocess
import sys

from support import LIMIT, Place, job, main, wait_for

RUNS = os.path.join("roundhouse", "runs")


def folders(place):
    """The folders of the runs that are kept, by name."""
    path = os.path.join(place.state, RUNS)
    return [os.path.join(path, name) for name in sorted(os.listdir(path))
            if name[0] != "."] if os.path.isdir(path) else []


def read(folder, *names):
    with open(os.path.join(folder, *names), encoding="utf-8") as file:
        return file.read()


def state(folder):
    return json.loads(read(folder, "state.json"))


def test_a_run_is_kept(program):
    """Logs, events, result and the job as it ran, for this user alone."""
    with Place(program) as place:
        status, output = place.run(job(master="echo hello; exit 7", worker="sleep 600"))
        assert status == 1, output
        folder, = folders(place)
        assert output.rstrip().endswith(f"Kept in {folder}"), output
        assert os.path.basename(folder).startswith("j-2"), folder
        for path in (folder, os.path.dirname(folder)):
            assert stat.S_IMODE(os.stat(path).st_mode) == 0o700, path
        assert read(folder, "logs", "j", "master-0", "pytorch.log") == "hello\n"
        seen = state(folder)
        assert (seen["version"], seen["result"], seen["exitStatus"]) == (1, "Failed", 1), seen
        assert seen["jobs"][0]["state"] == "Failed" and seen["jobs"][0]["replicas"] == {"Master": 1, "Worker": 1}, seen
        assert seen["jobs"][0]["firstFault"]["replica"] == "Master-0", seen
        assert {(r["replicaType"], r["outcome"]) for r in seen["results"]} == {("Master", "Failed"),
                                                                               ("Worker", "Stopped")}, seen
        rows = [json.loads(line) for line in read(folder, "events.jsonl").splitlines()]
        assert [row["state"] for row in rows if row["type"] == "job"][-1] == "Failed", rows
        assert any(row["type"] == "event" and row["reason"] == "ExitedWithCode" for row in rows), rows
        lint = subprocess.run([program, "lint", os.path.join(folder, "jobs.yaml")], capture_output=True, text=True,
                              timeout=LIMIT, check=False)
        assert lint.returncode == 0, lint.stderr
        place.expect_nothing_left()


def test_json_names_the_folder_in_its_last_line(program):
    with Place(program) as place:
        status, output = place.run(job(), "-o", "json")
        folder, = folders(place)
        assert status == 0 and json.loads(output.splitlines()[-1])["kept"] == folder, output


def test_quiet_success_says_nothing(program):
    with Place(program) as place:
        assert place.run(job(), "-q") == (0, "")
        assert len(folders(place)) == 1


def test_no_keep(program):
    with Place(program) as place:
        status, output = place.run(job(), "--no-keep")
        assert status == 0 and not folders(place) and "Kept" not in output, output


def test_a_folder_for_the_traces_of_rh_comm(program):
    """Kept with the run if there is a trace; the variable of the user or the pod comes first."""
    show = "echo trace=${RH_COMM_TRACE-none}"
    with Place(program) as place:
        traced = show + "; touch $RH_COMM_TRACE/rank-0.rhtrace"
        for script, options in ((traced, []), (show, []), (show, ["--no-keep"])):
            status, output = place.run(job(master=script), *options)
            named = re.search("trace=(.+)", output)[1]
            kept = re.search("Kept in (.+)", output)
            assert status == 0 and os.path.exists(named) == ("touch" in script), output
            assert kept is None or named == os.path.join(kept[1], "comm", "j"), output
            assert kept is None or os.path.exists(os.path.dirname(named)) == ("touch" in script), output
        text = job(master=show) + "            env: [{name: RH_COMM_TRACE, value: mine}]\n"
        assert "trace=mine" in place.run(text)[1]
        if os.getuid() == 0:
            for folder in (place.folder, place.files):
                os.chmod(folder, 0o755)
            output = place.run(job(master=show, pod="securityContext: {runAsUser: 65534}"))[1]
            assert "trace=none" in output, output
        place.environment["RH_COMM_TRACE"] = "/of/the/user"
        assert "trace=/of/the/user" in place.run(job(master=show))[1]
        place.expect_nothing_left()


def test_bad_input_is_not_kept(program):
    with Place(program) as place:
        status, output = place.run(job(spec="runPolicy: {suspend: true}"))
        assert status == 2 and not folders(place), output


def test_two_runs_of_one_name(program):
    with Place(program) as place:
        path = place.write("job.yaml", job(master="echo $MASTER_PORT"))
        runs = [place.start(path) for _ in range(6)]
        outputs = [run.communicate(timeout=LIMIT)[0] for run in runs]
        assert all(run.returncode == 0 for run in runs), outputs
        assert len(folders(place)) == 6, folders(place)
        assert len({read(folder, "logs", "j", "master-0", "pytorch.log") for folder in folders(place)}) == 6


def test_a_state_folder_that_cannot_be_used(program):
    """One note, and the run goes on."""
    with Place(program) as place:
        runs = os.path.join(place.state, RUNS)
        os.makedirs(runs, 0o700)
        os.chmod(runs, 0o722)
        status, output = place.run(job(master="echo hello"))
        assert status == 0 and "master-0 | hello" in output, output
        assert output.count("this run is not kept: others may write into") == 1, output
        os.rmdir(runs)
        os.symlink("/dev/null", runs)
        status, output = place.run(job(master="echo hello"))
        assert status == 0 and "master-0 | hello" in output and output.count("this run is not kept: ") == 1, output
        place.environment.update(XDG_STATE_HOME="", HOME="")
        status, output = place.run(job())
        assert status == 0 and "set one of them" in output, output
        place.expect_nothing_left()


def test_a_disk_that_fills_while_the_run_goes_on(program):
    """The training runs to its end and its result counts; a note says that output was lost."""
    with Place(program) as place:
        path = place.write("job.yaml", job(master="head -c 40000000 /dev/zero | tr '\\\\0' '\\\\n'"))
        small = place.state
        script = (f'mount -t tmpfs -o size=20m none {small} && {program} run --quiet {path} >/dev/null; s=$?; ls '
                  f'{small}/{RUNS}; umount {small}; exit $s')
        done = subprocess.run(["unshare", "-rm", "sh", "-c", script], env=place.environment, cwd=place.files, text=True,
                              capture_output=True, timeout=LIMIT, check=False)
        assert done.returncode == 0, done.stderr
        assert "cannot write the log" in done.stderr and done.stdout.startswith("j-2"), (done.stdout, done.stderr)


def test_log_dir_never_overwrites(program):
    with Place(program) as place:
        logs = os.path.join(place.folder, "logs")
        for word in ("one", "two", "three"):
            status, output = place.run(job(master=f"echo {word}"), "--log-dir", logs)
            assert status == 0, output
        assert sorted(os.listdir(logs)) == ["j", "j.1", "j.2"], os.listdir(logs)
        assert [read(logs, name, "master-0", "pytorch.log") for name in ("j.1", "j.2", "j")] == ["one\n", "two\n",
                                                                                                 "three\n"]


def test_log_dir_that_another_run_writes(program):
    with Place(program) as place:
        logs = os.path.join(place.folder, "logs")
        first = place.start("--log-dir", logs, place.write("first.yaml", job(master="sleep 600")))
        wait_for(lambda: os.path.isdir(os.path.join(logs, "j", "master-0")), "the first run")
        status, output = place.run(job(), "--log-dir", logs)
        assert status == 2 and "another run writes its logs to" in output, output
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=LIMIT)


def test_a_killed_run_leaves_what_it_wrote(program):
    with Place(program) as place:
        process = place.start(place.write("job.yaml", job(master="echo hello; sleep 600")))
        folder, = wait_for(lambda: folders(place), "the folder")
        log = os.path.join(folder, "logs", "j", "master-0", "pytorch.log")
        wait_for(lambda: os.path.exists(log) and read(log) == "hello\n", "the log")
        wait_for(lambda: os.path.exists(os.path.join(folder, "state.json"))
                 and state(folder)["jobs"][0]["state"] == "Running", "the state")
        process.kill()
        process.communicate(timeout=LIMIT)
        wait_for(lambda: not place.processes(), "the end of its processes")
        assert "result" not in state(folder) and read(log) == "hello\n"


if __name__ == "__main__":
    sys.exit(main([value for name, value in sorted(globals().items()) if name.startswith("test_")], sys.argv[1]))
