# SPDX-License-Identifier: Apache-2.0
"""What becomes of pods in a run of the real program: volumes, sidecars, crash loops, the closing table.
Usage: test_pods.py PROGRAM [TEST]"""
import json
import os
import sys

from support import Place, job, main

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


TESTS = [value for name, value in list(globals().items()) if name.startswith("test_")]
sys.exit(main(TESTS, sys.argv[1]))
