# SPDX-License-Identifier: Apache-2.0
"""The ways in which a distributed training fails: what is run, who is to be named, and by which of its lines."""
import dataclasses
import os
import pathlib

import recording

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[2]
PROGRAMS = HERE / "programs"

# Output of victims. It must never be the first line that is shown of a known cause.
CLOSED = r"Connection closed by peer|Connection reset by peer"
# What distinguishes the replica at fault from its victims.
OWN = "its own error; closed connections and time-outs of peers never win over it"
END = "its exit code or signal; peers report a lost connection"
SILENT = "it alone has not failed, while its peers waited in vain"
ALIKE = "all failed alike, and the message says so"
EARLY = "it left while others still needed it: they lost a connection, and no other replica is missing"
SUMMARY = "torchrun's summary names the rank and how it ended; no process wrote an error of its own"
BANNER = "mpirun's message about the rank that ended; its other banners are left out"
UNSTARTED = "the message says that it could not be started, and why"
NOBODY = "the output does not show who waits for whom; the message shows what each replica wrote last"
KINDS = {
    "PyTorchJob": ("pytorchReplicaSpecs", "pytorch"),
    "TFJob": ("tfReplicaSpecs", "tensorflow"),
    "MPIJob": ("mpiReplicaSpecs", "mpi"),
}


def environment_of(framework):
    """The folder of an environment that examples/setup made, or nothing."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = pathlib.Path(os.environ.get("ROUNDHOUSE_ENV_DIR") or os.path.join(cache, "roundhouse", "env"))
    ready = [path.parent for path in folder.glob(f"{framework}-*/.roundhouse-ready")]
    return max(ready, key=lambda path: path.stat().st_mtime, default=None)


def python_of(framework):
    """The Python that has a framework, or nothing."""
    if framework in ("torch2", "tensorflow"):
        place = environment_of({"torch2": "pytorch"}.get(framework, framework))
        return str(place / "bin" / "python3") if place else None
    return "/usr/bin/python3"


@dataclasses.dataclass
class Way:
    """One row.

    culprit: the replicas that it is right to name; None among them, or no replica at all: that nobody can be blamed
    alone. says: what its lines must contain; never: what they must not contain.
    """
    name: str
    what: str
    label: str
    framework: str
    words: list
    culprit: tuple
    says: str = ""
    never: tuple = ()
    kind: str = "PyTorchJob"
    types: dict = dataclasses.field(default_factory=lambda: {"Master": 1, "Worker": 2})
    env: dict = dataclasses.field(default_factory=dict)
    policy: str = "Never"
    # how the run ends: by itself, or by its "timeout", an "interrupt", the job's "deadline"
    ending: str = "itself"
    # members of every pod spec, of every main container, and of the job's spec
    pod: dict = dataclasses.field(default_factory=dict)
    container: dict = dataclasses.field(default_factory=dict)
    spec: dict = dataclasses.field(default_factory=dict)
    record_seconds: int = 60
    # another row's recording
    recorded_as: str = ""
    # the rank that is to be named, where several share a container
    rank: int = None
    annotations: dict = dataclasses.field(default_factory=dict)
    # commands of types that have another than `words`; None: none, it is the kind's own
    others: dict = dataclasses.field(default_factory=dict)
    # command of a container "proxy" beside each main one, which is recorded as that is; all share the volume $DATA
    proxy: list = None
    # shell scripts, which need no recording: $LATE is a random pause
    live: bool = False
    # longest pause that stays as it was recorded, in milliseconds; longer where peers are late by more than Roundhouse
    # waits for them
    pause: int = 320

    # whether its lines are what the replica wrote; else they say why it did not start
    own: bool = True
    # what the run notes where this machine cannot play the row
    unless: str = ""
    # what distinguishes the culprit from its victims, if not the result of evidence()
    by: str = ""

    # why the program does not find this one yet: the tests run it without failing
    not_yet: str = ""

    def evidence(self):
        if self.by:
            return self.by
        if None in (self.culprit or (None,)):
            return ALIKE if self.says and "hang" not in self.name else NOBODY
        if "hangs" in self.name or "stopped" in self.name:
            return SILENT
        return OWN if self.says else END

    def commands(self):
        """Type of replica to the command of the real program; a Worker of mpirun has none."""
        return {kind: self.others.get(kind, self.words) for kind in self.types}

    def recorded_containers(self):
        return sum(count for kind, count in self.types.items() if self.commands()[kind]) * (2 if self.proxy else 1)

    def environment(self):
        """Further variables of the run."""
        made = {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        if self.framework == "rh_comm":
            made["PYTHONPATH"] = str(SOURCE / "comm" / "python")
        return made

    def template(self, command, proxy):
        env = [{"name": key, "value": value} for key, value in self.env.items()]
        container = {"name": KINDS[self.kind][1], "image": "none", "env": env, **self.container}
        if command:
            container["command"] = command
        pod = dict(self.pod)
        beside = [container | {"name": "proxy", "command": proxy}] if proxy else pod.pop("beside", [])
        return {"spec": {"containers": [container, *beside], **pod}}

    def job(self, commands, name="job", wrap=lambda words, *container: words, deadline=60):
        """The job's object. deadline: activeDeadlineSeconds of a row that ends by it."""
        specs = {kind: {"replicas": count, "restartPolicy": self.policy,
                        "template": self.template(commands[kind] and wrap(commands[kind]),
                                                  self.proxy and wrap(self.proxy, "proxy"))} for kind,
                 count in self.types.items()}
        policy = {"runPolicy": {"activeDeadlineSeconds": deadline}} if self.ending == "deadline" else {}
        return {"apiVersion": "kubeflow.org/v1", "kind": self.kind, "metadata": {"name": name,
                                                                                 "annotations": self.annotations},
                "spec": {**self.spec, **policy, KINDS[self.kind][0]: specs}}


def torch_ways(framework):
    """Of both torch 1.13 and torch 2, with gloo; the Master is rank 0, Worker-1 is rank 2."""
    version = {"torch1": "torch 1.13", "torch2": "torch 2"}[framework]

    def way(name, what, program, culprit, says="", never=(CLOSED,), rank=2, limit=None, **more):
        env = {"COLLECTIVE_SECONDS": str(limit)} if limit else {}
        return Way(f"{framework}-{name}", what, version, framework,
                   [python_of(framework) or "python3", str(PROGRAMS / "torch_train.py"), program, str(rank)], culprit,
                   says, never,
                   env=env, **more)
    worker = ("Worker-1",)
    shard = r"ValueError: shard 7 of the data set holds a label 12"
    return [
        way("raises", "a rank raises", "raises", worker, shard),
        way("master-raises", "rank 0 raises", "raises", ("Master-0",), shard, rank=0),
        way("raises-slowly", "a rank leaves the group and reports its exception later, when its peers have ended",
            "raises_slowly", worker, shard, pause=2000),
        way("raises-loudly", "a rank raises and writes much afterwards", "raises_loudly", worker, shard),
        way("two-raise", "two ranks raise, one a second later", "two_raise", worker, r"rank 2: shard 7",
            by="of two errors the one that was written first", pause=2000),
        way("all-raise", "all ranks raise alike", "all_raise", (),
            r"No such file or directory: '/data/train/index.json'"),
        way("import-one", "an import fails in one rank", "import_one", worker,
            "ModuleNotFoundError: No module named 'flash_attention_extra'"),
        way("import-all", "an import fails in all ranks", "import_all", (),
            "ModuleNotFoundError: No module named 'flash_attention_extra'"),
        way("exits", "a rank ends with an exit code and no word", "exits_without_a_word", worker),
        way("ends-early", "a rank has fewer batches and ends with 0", "exits_early_with_0", worker,
            "no more batches, done", by=EARLY),
        way("segfault", "a rank ends by SIGSEGV", "segfaults", worker),
        way("segfault-trace", "a rank ends by SIGSEGV, with faulthandler", "segfaults_with_trace", worker,
            "Fatal Python error: Segmentation fault"),
        way("abort", "a corrupt heap in one rank", "aborts", worker, r"free\(\): (invalid|double free)"),
        way("no-memory", "an allocation fails in one rank", "runs_out_of_memory", worker,
            r"can't allocate memory|not enough memory"),
        way("no-memory-python", "an allocation of Python fails in one rank", "is_out_of_memory_in_python", worker,
            r"MemoryError"),
        way("disk-full", "the disk is full for one rank", "fills_disk", worker,
            r"No space left on device|PytorchStreamWriter failed|write failed"),
        way("file-limit", "a file becomes too large in one rank", "fills_file", worker, r"File too large"),
        way("terminated", "somebody ends a rank by SIGTERM", "is_terminated", worker),
        way("killed", "somebody, or the machine that is out of memory, ends a rank by SIGKILL", "is_killed", worker),
        way("nan", "an assertion fails in one rank", "finds_nan", worker, r"AssertionError: loss is nan at step 3"),
        way("shape", "a rank's model has another shape", "differs_in_shape", worker, r"appears not to match sizes"),
        way("loader-raises", "an exception in a data loader's process", "loader_raises", worker,
            r"KeyError: 'image_00005.png'"),
        way("loader-dies", "a data loader's process is killed", "loader_dies", worker,
            r"DataLoader worker .* is killed by signal: Killed"),
        way("warns", "a rank raises; another one has written an error that it survives", "warns_and_another_raises",
            worker, shard),
        way("catches", "a rank raises; another one has written a traceback that it survives",
            "catches_and_another_raises", worker, shard),
        way("thread", "a thread ends the program", "thread_raises", worker,
            r"prefetch failed: \[Errno 5\] Input/output error"),
        way("raises-before-init", "a rank raises before it joins", "raises_before_init", worker,
            r"PermissionError: \[Errno 13\] Permission denied"),
        way("port-taken", "the port of rank 0 is taken", "port_taken", ("Master-0",), r"[Aa]ddress already in use",
            limit=10),
        way("wrong-world", "the world is larger than the job", "wrong_world",
            (None, "Master-0", "Worker-0", "Worker-1"), r"(?i)time(d )?out", pause=1500, limit=6),
        way("same-rank", "two ranks have the same number", "same_rank", ("Worker-0", "Worker-1", None), "", never=(),
            limit=6),
        way("wrong-master", "a rank has a wrong address of rank 0", "wrong_master", worker,
            r"trying to connect to \(127[\d.]+, 1\)", pause=1500, limit=6, record_seconds=90),
        way("wrong-name", "a rank cannot resolve the name of rank 0", "wrong_name", worker, r"digits-master-0.invalid",
            pause=1500, limit=6, record_seconds=90),
        way("hangs-collective", "a rank is in another collective than its peers", "hangs_in_other_collective",
            ("Worker-1", None), "", never=(), limit=6),
        way("hangs-loader", "a rank hangs in its data loader", "hangs_in_loader", worker, "reading shard 7", limit=6),
        way("hangs-lock", "a rank hangs in a lock", "hangs_in_lock", worker, "waiting for the tokenizer's lock",
            limit=6),
        way("hangs-before-init", "a rank hangs before it joins", "hangs_before_init", worker,
            "downloading the data set", limit=6),
        way("stopped", "a rank is frozen", "is_stopped", worker, "step 2 done", limit=6),
        way("hangs-at-end", "a rank hangs after its last step", "hangs_after_last_step", worker,
            "closing the data loader", limit=6),
        way("hangs-everywhere", "all ranks hang, without a limit of time", "hangs_everywhere", (), r"computes metrics",
            ending="timeout", record_seconds=40),
        way("hangs-loader-timeout", "a rank hangs in its data loader, and only the run has a limit of time",
            "hangs_in_loader", ("Worker-1", None), "reading shard 7",
            ending="timeout", record_seconds=40),
    ]


def torchrun_ways(framework):
    """Two nodes under torchrun, the agent of torch; with two processes a node ranks 2 and 3 are on Worker-0."""
    version = {"torch1": "torch 1.13", "torch2": "torch 2"}[framework]

    def way(name, what, program, culprit, says="", never=(CLOSED, "ChildFailedError"), rank=3, each=2, limit=None,
            **more):
        env = {"COLLECTIVE_SECONDS": str(limit)} if limit else {}
        if framework == "torch1":
            # it does not start on Python 3.11 unless something is redirected; this is a rank that does not exist
            env |= {"PET_REDIRECTS": "9:1", "PET_TEE": "9:1"}
        words = [python_of(framework) or "python3", "-m", "torch.distributed.run", str(PROGRAMS / "torch_train.py"),
                 program, str(rank)]
        more.setdefault("rank", rank if culprit and isinstance(rank, int) else None)
        more = {"types": {"Master": 1, "Worker": 1}, "spec": {"nprocPerNode": str(each)}, "record_seconds": 90} | more
        return Way(f"torchrun{framework[5:]}-{name}", what, f"torchrun of {version}"
                   + (", 1 rank a node" if each == 1 else ""), framework, words, culprit, says, never,
                   env=env, **more)
    worker, shard = ("Worker-0",), r"ValueError: shard 7 of the data set holds a label 12"
    return [
        way("raises", "a rank raises", "raises", worker, shard),
        way("raises-recorded", "a rank raises under @record", "record_raises", worker, shard),
        way("master-raises", "rank 1 of the Master's node raises", "raises", ("Master-0",), shard, rank=1),
        way("one-raises", "a rank raises", "raises", worker, shard, rank=1, each=1),
        way("raises-slowly", "a rank leaves the group and reports its exception later", "raises_slowly", worker, shard,
            pause=2000),
        way("one-raises-slowly", "a rank leaves the group and reports its exception later", "raises_slowly", worker,
            shard, rank=1, each=1, pause=2000),
        way("all-raise", "all ranks raise alike", "all_raise", (),
            r"No such file or directory: '/data/train/index.json'"),
        way("import-all", "an import fails in all ranks", "import_all", (),
            "ModuleNotFoundError: No module named 'flash_attention_extra'"),
        way("segfault", "a rank ends by SIGSEGV", "segfaults", worker, r"SIGSEGV|-11", by=SUMMARY),
        way("killed", "a rank ends by SIGKILL", "is_killed", worker, r"SIGKILL|-9", by=SUMMARY),
        way("exits", "a rank ends with an exit code and no word", "exits_without_a_word", worker, r"exitcode\s*: 3",
            by=SUMMARY),
        way("no-memory", "an allocation fails in one rank", "runs_out_of_memory", worker,
            r"can't allocate memory|not enough memory"),
        way("hangs-loader", "a rank hangs in its data loader", "hangs_in_loader", worker, "reading shard 7",
            never=("ChildFailedError",), limit=6),
        way("elastic", "a rank raises in each of its attempts, with c10d and maxRestarts 1", "raises", ("Worker-1",),
            shard, rank="worker-1", each=1,
            types={"Worker": 2}, record_seconds=240, spec={"nprocPerNode": "1",
                                                           "elasticPolicy": {"rdzvBackend": "c10d", "minReplicas": 2,
                                                                             "maxReplicas": 2, "maxRestarts": 1}}),
        way("agent-terminated", "somebody ends the agent of a node by SIGTERM", "terminates_agent", worker, never=(),
            rank=2),
        way("agent-killed", "the agent of a node is killed", "kills_agent", worker, never=("ChildFailedError",),
            rank=2),
        way("file-missing", "the script is not there on one node", "raises", worker, r"can't open file|No such file",
            rank="nobody", by=OWN + "; the agents wait for each other, and nobody has ended",
            others={"Worker": [python_of(framework) or "python3", "-m", "torch.distributed.run", "/nowhere/train.py"]},
            ending="timeout", record_seconds=30),
    ]


def mpirun_ways():
    """Open MPI: what the ranks write comes out of the Launcher; rank 1 runs in Worker-1. Both are right: that Worker,
    or the Launcher."""
    either = ("Launcher-0", "Worker-1")
    def way(name, what, program, says="", never=(), python=(), culprit=either, rank=1, mpirun=("-np", "2"), **more):
        words = ["mpirun", *mpirun, "--bind-to", "none", "/usr/bin/python3", *python, str(PROGRAMS / "mpi_train.py"),
                 program, "1"]
        more = {"others": {"Worker": None}} | more
        return Way(f"mpirun-{name}", what, "Open MPI", "mpirun", words, culprit, says, never, kind="MPIJob",
                   types={"Launcher": 1, "Worker": 2}, spec={"slotsPerWorker": 1,
                                                             "runPolicy": {"cleanPodPolicy": "Running"}}, rank=rank,
                   **{"record_seconds": 60} | more)
    shard = r"ValueError: shard 7 of the data set holds a label 12"
    return [
        way("raises", "a rank raises under python -m mpi4py", "raises", shard, python=("-m", "mpi4py")),
        way("raises-hangs", "a rank raises, and all hang in MPI_Finalize", "raises", shard, ending="timeout",
            record_seconds=40, by=OWN + "; nobody has ended"),
        way("gives-up", "a rank calls MPI_Abort", "gives_up", "the learning rate is not a number", never=()),
        way("segfault", "a rank ends by SIGSEGV", "segfaults", r"[Ss]egmentation fault|signal 11", by=BANNER),
        way("killed", "a rank ends by SIGKILL", "is_killed", r"signal 9|Killed", by=BANNER),
        way("exits", "a rank leaves with an exit code", "exits", "no checkpoint to go on from"),
        way("misuses", "a message is longer than its receiver expects", "misuses", r"MPI_ERR_TRUNCATE|truncated"),
        way("import-all", "an import fails in all ranks", "import_all", "No module named 'flash_attention_extra'",
            culprit=("Launcher-0", "Worker-0", "Worker-1"),
            rank=None),
        way("no-program", "the program is not there", "raises", r"could not find|unable to (find|launch)|No such file",
            culprit=("Launcher-0",), rank=None,
            mpirun=("-np", "2", "/nowhere/train")),
        way("few-slots", "more processes than slots", "raises", r"not enough slots", culprit=("Launcher-0",), rank=None,
            mpirun=("-np", "5")),
        way("hangs", "a rank hangs", "hangs", "reading shard 7", ending="timeout", record_seconds=40,
            culprit=(*either, None), rank=None),
        way("worker-killed", "a Worker ends", "hangs", "", culprit=("Worker-1", ), rank=None,
            others={"Worker": ["sh", "-c",
                               'sleep 6; case $HOSTNAME in *-worker-1) kill -KILL $$$$;; esac; sleep 365d']}),
    ]


def volume(**more):
    """A volume in memory at /data."""
    return {"pod": {"volumes": [{"name": "data", "emptyDir": {"medium": "Memory", **more}}]},
            "container": {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}}


def comm_ways():
    """rh_comm, backend native: its error names the rank that died."""
    worker, shard = ("Worker-1",), r"ValueError: shard 7 of the data set holds a label 12"

    def way(name, what, program, culprit=worker, says="", never=("PeerError", "AbortedError"), rank=2, limit=None,
            **more):
        env = {"COLLECTIVE_SECONDS": str(limit), "RH_COMM_INIT_TIMEOUT": str(limit)} if limit else {}
        env |= {"DATA": "/data"} if "container" in more else {}
        return Way(f"rhcomm-{name}", what, "rh_comm", "rh_comm", ["/usr/bin/python3", str(PROGRAMS / "comm_train.py"),
                                                                  program, str(rank)],
                   culprit, says, never, env=env, annotations={"roundhouse.dev/comm": "native"}, **more)
    return [
        way("raises", "a rank raises", "raises", says=shard),
        way("master-raises", "rank 0 raises", "raises", ("Master-0",), says=shard, rank=0),
        way("segfault", "a rank ends by SIGSEGV", "segfaults"),
        way("killed", "a rank ends by SIGKILL", "killed"),
        way("exits", "a rank ends with an exit code and no word", "exits"),
        way("hangs", "a rank hangs in its data loader", "hangs", says="reading shard 7", limit=5),
        way("hangs-before-init", "a rank hangs before it joins", "hangs_before_init", says="downloading the data set",
            limit=5),
        way("sidecar-fails", "a container beside the main one fails, which then misses it", "asks_proxy", **volume(),
            says="proxy: the certificate of the data store has expired",
            never=("PeerError", "AbortedError", "Connection refused"),
            by="of two containers of a pod, the one that failed first",
            proxy=["/usr/bin/python3", str(PROGRAMS / "proxy.py"), "worker-1"]),
        # a volume in memory is as small as it says where it can be mounted
        way("disk-full", "the volume of a rank's checkpoints is full", "fills_disk", **volume(sizeLimit="128Ki"),
            says=r"OSError: \d+ requested and \d+ written"),
        *(Way(f"rhcomm-ps-{name}", f"a parameter server {what}", "rh_comm", "rh_comm",
              ["/usr/bin/python3", str(PROGRAMS / "ps_train.py"), name, "ps0"], ("PS-0",),
              says, ("PeerError",), kind="TFJob", types={"Chief": 1, "PS": 2, "Worker": 2},
              annotations={"roundhouse.dev/comm": "native"})
          for name, what, says in (("killed", "ends by SIGKILL", ""), ("fails", "fails", "no space for the snapshot"))),
    ]


def tensorflow_ways():
    def way(name, what, program, culprit, says="", never=(), task="worker1", types=None, **more):
        return Way(f"tf-{name}", what, "TensorFlow", "tensorflow",
                   [python_of("tensorflow") or "python3", str(PROGRAMS / "tf_train.py"), program, task], culprit, says,
                   never, kind="TFJob",
                   types=types or {"Worker": 3}, **{"record_seconds": 120} | more)
    servers, worker, shard = {"Chief": 1, "PS": 1, "Worker": 2}, ("Worker-1",
                                                                  ), r"shard 7 of the data set holds a label 12"
    away = ("UnavailableError", "Connection refused")
    return [
        way("raises", "a worker raises", "raises", worker, shard, away),
        way("first-raises", "worker 0 raises", "raises", ("Worker-0",), shard, away, task="worker0"),
        way("segfault", "a worker ends by SIGSEGV", "segfaults", worker, never=away),
        way("killed", "a worker ends by SIGKILL", "killed", worker, never=away),
        way("import-all", "an import fails in all workers", "import_all", (),
            "No module named 'tensorflow_addons_extra'"),
        way("hangs", "a worker hangs in its data", "hangs", ("Worker-1", None), "reading shard 7", ending="timeout",
            record_seconds=40),
        way("port-taken", "the port of a worker is taken", "port_taken", worker,
            r"[Aa]ddress already in use|Could not start gRPC server", away),
        way("exits", "a worker ends with an exit code and no word", "exits", worker, never=away),
        way("ends-early", "a worker has fewer batches and ends with 0", "ends_early", worker, "no more batches, done",
            away, by=EARLY),
        way("ps-killed", "a parameter server ends by SIGKILL", "killed", ("PS-0",), task="ps0", types=servers,
            never=away),
        way("ps-raises", "a parameter server fails", "raises", ("PS-0",), shard, task="ps0", types=servers, never=away),
        way("chief-raises", "the Chief raises", "raises", ("Chief-0",), shard, task="chief0", types=servers),
    ]


def other_ways():
    """What needs no framework: containers beside the main one, and commands that do not start."""
    def way(name, what, words, culprit, says="", never=(), types=None, **more):
        return Way(f"pod-{name}", what, "any", "none", words, culprit, says, never, types=types
                   or {"Master": 1, "Worker": 2}, live=True, **more)

    def at_worker_1(script):
        return ["sh", "-c", f"case $HOSTNAME in *-worker-1) sleep $LATE; {script};; esac"]
    waits = ["sh", "-c", "sleep 1000"]
    worker, two = ("Worker-1",), {"Master": 1, "Worker": 1}
    # peers lose a connection when the process of Worker-1 has ended, however long that takes: it holds a lock, and they
    # wait for it
    lost = ('until [ -e $LOCK ]; do sleep 0.1; done; flock $LOCK true; echo "RuntimeError: Connection closed by '
            'peer"; exit 1')

    def beside_peers(script):
        return ["sh", "-c", "case $HOSTNAME in *-worker-1) sleep $LATE; exec 9>$LOCK.new; flock 9; mv $LOCK.new $LOCK; "
                f"{script};; *) {lost};; esac"]
    peer = ["sh", "-c", 'sleep $LATE; case $HOSTNAME in *-worker-1) sleep 1000;; esac; sleep 1000']
    return [
        way("init-fails", "an init container fails", waits, worker, "fetch: no such bucket",
            pod={"initContainers": [{"name": "fetch", "image": "none",
                                     "command": at_worker_1('echo "fetch: no such bucket"; exit 4')}]}),
        way("sidecar-fails", "a container beside the main one fails, and then the main one",
            ["sh", "-c", 'case $HOSTNAME in *-worker-1) sleep $LATE; sleep 0.5; echo "cannot reach the proxy: '
             'Connection refused"; exit 1;; esac; sleep 1000'],
            worker, "proxy: the certificate has expired", never=("Connection refused",),
            by="of two containers of a pod, the one that failed first",
            pod={"beside": [{"name": "proxy", "image": "none",
                             "command": ["sh", "-c",
                                         'case $HOSTNAME in *-worker-1) sleep $LATE; echo "proxy: the certificate has '
                                         'expired"; exit 5;; esac; sleep 1000']}]}),
        way("sidecar-fails-alone", "a container beside the main one fails, and the main one goes on for ever", waits,
            worker,
            "proxy: the certificate has expired", ending="timeout",
            pod={"beside": [{"name": "proxy", "image": "none",
                             "command": ["sh", "-c",
                                         'case $HOSTNAME in *-worker-1) sleep $LATE; echo "proxy: the certificate has '
                                         'expired"; exit 5;; esac; sleep 1000']}]}),
        way("out-of-memory", "a container needs more memory than its limit, and its cgroup kills it",
            beside_peers("echo loading; exec dd if=/dev/zero of=/dev/null bs=512M count=1"), worker, "loading",
            never=(CLOSED,),
            container={"resources": {"limits": {"memory": "32Mi"}}},
            unless="limits of cpu and memory are not enforced",
            by="Kubernetes' word OOMKilled; peers say that they lost a connection"),
        # a volume in memory is as small as it says where it can be mounted
        way("disk-full", "a volume is full for one container",
            beside_peers("dd if=/dev/zero of=$DATA/checkpoint bs=64k count=64 && dd if=/dev/zero of=/dev/full count=1"),
            worker, "No space left on device", never=(CLOSED,), env={"DATA": "/data"}, **volume(sizeLimit="128Ki")),
        way("no-command", "the command is not there", waits, ("Worker-0",),
            # the variable keeps it from being looked for before the start
            r'cannot start "/nowhere/\$\(GONE\)": no such file', types=two, others={"Worker": ["/nowhere/$(GONE)"]},
            own=False, by=UNSTARTED),
        way("no-permission", "the command may not be run", waits, ("Worker-0",),
            r'cannot start "/dev/null": Permission denied', types=two, others={"Worker": ["/dev/null"]}, own=False,
            by=UNSTARTED),
        way("no-folder", "the working folder is not there", peer, ("Master-0", "Worker-0", "Worker-1", None),
            r'working directory "[^"]*/\$\(GONE\)"',  # one that is not looked for before the start
            container={"workingDir": "$(GONE)"}, own=False, by=UNSTARTED),
        way("deadline", "activeDeadlineSeconds ends a replica that hangs",
            ["sh", "-c", 'case $HOSTNAME in *-worker-1) echo "reading shard 7"; sleep 1000;; esac; echo "step 2"; '
             'sleep 1000'], ("Worker-1", None), "",
            ending="deadline"),
    ]


# Under each restart policy, and with each end of the run, of a few recordings.
ENDINGS = {
    "onfailure-backoff": {"policy": "OnFailure", "spec": {"runPolicy": {"backoffLimit": 1}}},
    "onfailure-timeout": {"policy": "OnFailure", "ending": "timeout"},
    "onfailure-interrupt": {"policy": "OnFailure", "ending": "interrupt"},
    "exitcode-backoff": {"policy": "ExitCode", "spec": {"runPolicy": {"backoffLimit": 1}}},
    "job-backoff": {"policy": "OnFailure", "annotations": {"roundhouse.dev/restart": "job"},
                    "spec": {"runPolicy": {"backoffLimit": 1}}},
}
# Under ExitCode an exit code below 128 is final, and a replica that a signal ended is started again.
FINAL_ENDINGS = {"exitcode": {"policy": "ExitCode"}}
SIGNAL_ENDINGS = {
    "exitcode-timeout": {"policy": "ExitCode", "ending": "timeout"},
    "exitcode-interrupt": {"policy": "ExitCode", "ending": "interrupt"},
}
HUNG_ENDINGS = {
    "interrupt": {"ending": "interrupt"},
    "onfailure-interrupt": {"policy": "OnFailure", "ending": "interrupt"},
    "deadline": {"ending": "deadline"},
}


def under(ways, names, endings):
    """The rows of these names again, under other policies and with other ends."""
    made = []
    for way in ways:
        for ending, change in endings.items() if way.name in names else ():
            change = dict(change)
            made.append(dataclasses.replace(way, name=f"{way.name}-{ending}",
                                            what=f"{way.what}; {ending.replace('-', ', ')}", recorded_as=way.name,
                                            spec=way.spec | change.pop("spec", {}), annotations=way.annotations
                                            | change.pop("annotations", {}), **change))
    return made


FIRST = [*torch_ways("torch1"), *torchrun_ways("torch1"), *torch_ways("torch2"), *torchrun_ways("torch2"),
         *mpirun_ways(), *comm_ways(),
         *tensorflow_ways(), *other_ways()]
WAYS = [*FIRST,
        *under(FIRST, ("torch1-raises", "torch2-raises-slowly", "torch1-killed", "torch2-segfault", "torchrun2-raises",
                       "rhcomm-raises", "tf-raises"), ENDINGS),
        *under(FIRST, ("torch1-raises", "rhcomm-raises"), FINAL_ENDINGS),
        *under(FIRST, ("torch1-killed", "torch2-segfault"), SIGNAL_ENDINGS),
        *under(FIRST, ("torch1-hangs-everywhere", "torch2-hangs-loader-timeout", "tf-hangs"), HUNG_ENDINGS)]

# Under each restart policy, and with each end of the run, where a job comes to it. Under Never a job whose replicas end
# is over before its run; under OnFailure no job ends by itself; where nobody ends, no limit of restarts is reached.
BACKOFF_ENDINGS = {name: ending for name, ending in ENDINGS.items() if name != "job-backoff"}
HUNG_EVERYWHERE = {
    "interrupt": {"ending": "interrupt"},
    "onfailure-timeout": {"policy": "OnFailure", "ending": "timeout"},
    "onfailure-interrupt": {"policy": "OnFailure", "ending": "interrupt"},
} | SIGNAL_ENDINGS


def is_final(way):
    """Whether a replica ends with an exit code that ends a job under ExitCode."""
    recorded = recording.load(way)
    return any(0 < one.get("exit", 0) < 128 for one in recorded.values() if one["end"] is not None) if recorded else (
        way.by != UNSTARTED)


def everywhere():
    """Each row under each policy and with each end."""
    made = []
    for way in FIRST:
        endings = BACKOFF_ENDINGS | (FINAL_ENDINGS if is_final(way) else SIGNAL_ENDINGS)
        made += [way, *under([way], (way.name,), endings if way.ending == "itself" else HUNG_EVERYWHERE)]
    return made
