# SPDX-License-Identifier: Apache-2.0
"""examples/mpi with Debian's Open MPI: training, the death of a worker under each policy, no mount namespace. usage:
test_mpi.py PROGRAM SOURCE"""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile

import kit

FLOOR = 0.93
# what a shell does first where no mount namespace can be had
WITHOUT_MOUNTS = 'echo 0 > /proc/sys/user/max_mnt_namespaces && exec "$@"'

SUM = ("import os; from mpi4py import MPI; world = MPI.COMM_WORLD; "
       "print(f'rank {world.rank} of {os.environ[\"HOSTNAME\"]}: sum {world.allreduce(world.rank)}', flush=True)")

# Where the daemon of a process keeps its files, as Open MPI reports it; into files, because mpirun mixes lines.
FOLDER = """import json, os
with open("SEEN/" + os.environ["OMPI_COMM_WORLD_RANK"], "w") as file:
    json.dump([os.environ["OMPI_MCA_orte_top_session_dir"], os.environ.get("TMPDIR")], file)
"""
VERSIONS = ("kubeflow.org/v1", "kubeflow.org/v2beta1")


def slots_pod(**container):
    return {"template": {"spec": {"containers": [{"name": "mpi", "image": "x", **container}]}}}


def slots_job(program, version="kubeflow.org/v1", options=(), workers=2, **launcher):
    """Two processes in each worker; launcher: what its container has beside the command."""
    command = ["mpirun", *options, "-np", str(2 * workers), "/usr/bin/python3", "-c", program]
    return {"apiVersion": version, "kind": "MPIJob", "metadata": {"name": "slots"}, "spec": {
        "slotsPerWorker": 2, "runPolicy": {"cleanPodPolicy": "Running"}, "mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, **slots_pod(command=command, **launcher)},
            "Worker": {"replicas": workers, **slots_pod()}}}}


def leftovers():
    """What Open MPI leaves in the machine's own folders when it is killed."""
    return {path for folder in ("/tmp", "/dev/shm") for path in os.listdir(folder)
            if path.startswith(("ompi.", "vader_segment", "pmix"))}


def worker_process(pod):
    """The first process of a worker's container: V1 lets it sleep."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{entry}/environ", "rb") as file:
                environment = file.read().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", b"365d"] and f"HOSTNAME={pod}".encode() in environment:
            return int(entry)
    raise AssertionError(f"no process of {pod}")


class WorkerKiller:
    """Kills worker 1, not the rank in it, once, when the training has come to its third epoch."""

    killed = None

    def __call__(self, row):
        if not self.killed and row.get("line", "").startswith("epoch 2 "):
            self.killed = worker_process("digits-mpi-worker-1")
            os.kill(self.killed, signal.SIGKILL)


class Mpi(kit.Training):
    def setUp(self):
        self.before = leftovers()
        self.folder = tempfile.mkdtemp(prefix="roundhouse-example-")
        self.addCleanup(shutil.rmtree, self.folder)
        # a training that lasts long enough to be disturbed; mpirun hands its own variables on
        os.environ["EPOCH_SECONDS"] = "0"

    def tearDown(self):
        self.assertEqual(leftovers() - self.before, set())

    def variant(self, annotations="{}", policy="Never"):
        """The example with another restart policy, and slow enough to be disturbed."""
        with open(os.path.join(kit.EXAMPLES, "mpi", "digits.yaml"), encoding="utf-8") as file:
            text = file.read()
        for old, new in (("  name: digits-mpi\n", f"  name: digits-mpi\n  annotations: {annotations}\n"),
                         ("      replicas:", f"      restartPolicy: {policy}\n      replicas:"),
                         ("mpirun, -np", "mpirun, -x, EPOCH_SECONDS, -np")):
            self.assertIn(old, text)
            text = text.replace(old, new)
        shutil.copy(os.path.join(kit.EXAMPLES, "mpi", "digits.py"), self.folder)
        with open(os.path.join(self.folder, "variant.yaml"), "w", encoding="utf-8") as file:
            file.write(text)
        os.environ["EPOCH_SECONDS"] = "0.3"
        return os.path.join(self.folder, "variant.yaml")

    def check_places(self, seen):
        """Each rank ran in a worker of its own."""
        places = {text.split()[-1] for text in kit.lines(seen) if " is ready, process " in text}
        self.assertEqual(places, {"digits-mpi-worker-0", "digits-mpi-worker-1"})

    def test_digits_learns(self):
        status, seen = kit.rows("mpi/digits.yaml")
        self.check_learnt(status, seen, world=2, floor=FLOOR)
        self.check_falls(seen)
        self.check_places(seen)
        self.assertEqual(kit.outcomes(seen), {"Launcher-0": "Succeeded", "Worker-0": "Stopped", "Worker-1": "Stopped"})
        logs = {row["replicaType"]: row["log"] for row in seen if row["type"] == "replica"}
        self.assertTrue(logs["Launcher"].endswith("/digits-mpi/launcher/mpi.log"), logs)

    def test_killed_worker_fails_the_job(self):
        killer = WorkerKiller()
        status, seen = kit.rows(self.variant(), react=killer)
        self.assertTrue(killer.killed)
        self.assertEqual(status, 1)
        self.assertIn("First fault: Worker-1", kit.conditions(seen)["Failed"])
        self.assertIn("SIGKILL", kit.conditions(seen)["Failed"])
        self.check_nothing_left(seen)

    def test_killed_worker_is_started_again_in_place(self):
        killer = WorkerKiller()
        status, seen = kit.rows(self.variant(policy="OnFailure"), react=killer)
        self.assertTrue(killer.killed)
        self.check_learnt(status, seen, world=2, floor=FLOOR)
        restarts = {f"{row['replicaType']}-{row['index']}": row["restarts"] for row in seen if row["type"] == "replica"}
        self.assertEqual((restarts["Worker-0"], restarts["Worker-1"]), (0, 1), seen)
        self.assertGreaterEqual(restarts["Launcher-0"], 1)

    def test_killed_worker_restarts_the_job(self):
        killer = WorkerKiller()
        status, seen = kit.rows(self.variant("{roundhouse.dev/restart: job}", "OnFailure"), react=killer)
        self.assertTrue(killer.killed)
        self.check_learnt(status, seen, world=2, floor=FLOOR)
        self.assertIn("First fault: Worker-1", kit.conditions(seen)["Restarting"])
        self.assertEqual({row["restarts"] for row in seen if row["type"] == "replica"}, {1})

    def without_mounts(self):
        """A program that runs this one where nobody may make a mount namespace."""
        path = os.path.join(self.folder, "program")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec unshare -Ur sh -c '{WITHOUT_MOUNTS}' sh {kit.PROGRAM} \"$@\"\n")
        os.chmod(path, 0o755)
        if subprocess.run(["unshare", "-Ur", "sh", "-c", WITHOUT_MOUNTS, "sh", "true"], check=False,
                          capture_output=True).returncode != 0:
            self.skipTest("this user may not make user namespaces")
        return path

    def test_without_mount_namespaces(self):
        """V1's paths /etc/mpi and /opt/kube cannot be made then; the job file is the same."""
        status, seen = kit.rows("mpi/digits.yaml", program=self.without_mounts())
        self.check_learnt(status, seen, world=2, floor=FLOOR)
        self.check_places(seen)

    def output_of(self, job, program):
        path = os.path.join(self.folder, "slots.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(job, file)
        status, seen = kit.rows(path, program=program)
        text = "\n".join(kit.lines(seen))
        self.assertEqual(status, 0, text)
        return text

    def check_two_slots(self, program):
        text = self.output_of(slots_job(SUM), program)
        # mpirun may put two of them into one line
        self.assertEqual(sorted(re.findall(r"rank (\d) of slots-worker-(\d): sum 6", text)),
                         [("0", "0"), ("1", "0"), ("2", "1"), ("3", "1")], text)

    def test_two_processes_in_each_worker(self):
        """They use shared memory, and the workers are one host."""
        self.check_two_slots(kit.PROGRAM)

    def test_two_processes_in_each_worker_without_mount_namespaces(self):
        self.check_two_slots(self.without_mounts())

    def folders_of(self, program, ranks, **job):
        """-> rank to the folder of its daemon and to its TMPDIR"""
        seen = tempfile.mkdtemp(dir=self.folder)
        self.output_of(slots_job(FOLDER.replace("SEEN", seen), **job), program)
        self.assertEqual(sorted(os.listdir(seen)), [str(rank) for rank in range(ranks)])
        found = {}
        for rank in range(ranks):
            with open(os.path.join(seen, str(rank)), encoding="utf-8") as file:
                found[rank] = json.load(file)
        return found

    def test_each_daemon_has_a_folder_of_its_own_without_mount_namespaces(self):
        """Two in one folder overwrite each other's files. TMPDIR of the ranks is not touched."""
        program = self.without_mounts()
        os.environ["TMPDIR"] = self.folder
        self.addCleanup(os.environ.pop, "TMPDIR")
        for version in VERSIONS:
            with self.subTest(version):
                found = self.folders_of(program, 4, version=version)
                folders = [found[rank][0] for rank in range(4)]
                self.assertEqual((folders[0], folders[2]), (folders[1], folders[3]))
                self.assertNotEqual(folders[0], folders[2])
                # below the run's folder, which goes with it
                self.assertEqual([os.path.commonpath([folder, self.folder]) for folder in folders], [self.folder] * 4)
                self.assertEqual([own for _, own in found.values()], [self.folder] * 4)

    def test_the_users_own_folder_without_mount_namespaces(self):
        """By a variable of the Launcher, which mpirun gives on, and by an option of mpirun. One worker: all daemons of
        the job are in that folder then."""
        program = self.without_mounts()
        own = os.path.join(self.folder, "own")
        os.mkdir(own)
        ways = ({"env": [{"name": "OMPI_MCA_orte_tmpdir_base", "value": own}]},
                {"options": ["-mca", "orte_tmpdir_base", own]})
        for version in VERSIONS:
            for way in ways:
                with self.subTest(version, **way):
                    found = self.folders_of(program, 2, version=version, workers=1, **way)
                    self.assertEqual({os.path.dirname(folder) for folder, _ in found.values()}, {own})


if not shutil.which("mpirun") or subprocess.run(["/usr/bin/python3", "-c", "import mpi4py, sklearn"],
                                                stderr=subprocess.DEVNULL, check=False).returncode != 0:
    kit.skip("Open MPI, mpi4py or sklearn is not there; install openmpi-bin, python3-mpi4py and python3-sklearn")
kit.main()
