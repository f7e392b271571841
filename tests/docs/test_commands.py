# SPDX-License-Identifier: Apache-2.0
"""test_commands.py PROGRAM SOURCE JAX_DIR: every command of README.md, CONTRIBUTING.md and docs/ works.

A command of a block of sh is in one of these tables: RUN, and is run here; TESTED, and the named test runs it; NOT_RUN,
with the reason, and what is run in its place. A command that is in none fails, and so does an entry that no page has.
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import pages

sys.path.insert(0, str(pages.SOURCE / "tests"))
import waits  # noqa: E402

PROGRAM, SOURCE, JAX = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
LIMIT = 300  # seconds; a command that does not end is a failure, however slow the machine is
BIN = "build/release/bin/roundhouse"
IMAGE = "--image registry.example/roundhouse:0.1.0"

# Of docs/writing-a-plugin.md, one after the other.
AUTHOR = [
    "roundhouse plugins new foo --kind FooJob --replicas Leader,Worker --lang cpp",
    "cmake -S foo -B foo/build -DCMAKE_PREFIX_PATH=/usr/local",
    "cmake --build foo/build",
    "ctest --test-dir foo/build --output-on-failure",
    "roundhouse explain --plugins foo/build foojob",
    "roundhouse run --plugins foo/build foo/job.yaml",
    "roundhouse plugins new bar --kind BarJob --replicas Peer --lang rust",
    "make -C bar",
    "make -C bar test",
    "make -C bar package",
    "cpack --config foo/build/CPackConfig.cmake -B foo/build",
    "sudo cmake --install foo/build --prefix /usr/local",
    "roundhouse plugins list",
    "roundhouse crds --kind FooJob | kubectl apply -f -",
]
# command: what it prints
RUN = {
    f"{BIN} lint examples/pytorch/*.yaml": r"\d+ jobs, no error",
    "roundhouse lint --strict examples/pytorch/*.yaml": r"\d+ jobs, no error, 0 warnings",
    "roundhouse convert --to trainjob examples/pytorch/digits.yaml": r"kind: TrainingRuntime[^~]*kind: TrainJob",
    f"{BIN} explain tfjob": r"TF_CONFIG",
    f"{BIN} render examples/pytorch/digits.yaml": r"name: digits-worker-1",
    f"{BIN} comm bench --local 2": r"all-reduce",
    "roundhouse run --dry-run examples/pytorch/digits.yaml --replicas Worker=1 -e EPOCHS=2 --args=--verbose":
        r"Worker: 1 replica\n +pytorch: /usr/bin/python3 digits.py --verbose",
    "roundhouse lint examples/pytorch/digits.yaml --set spec.pytorchReplicaSpecs.Worker.replicas=4": r"1 job, no error",
    f"{BIN} manifests {IMAGE} | kubectl apply --server-side -f -": r"kubectl apply: \d\d objects",
    f"roundhouse manifests {IMAGE} | kubectl apply --server-side -f -": r"kubectl apply: \d\d objects",
    "roundhouse comm bench --local 2": r"all-reduce",
    "kubectl apply --server-side -k conf/deploy/base": r"kubectl apply: \d+ objects",
    "kubectl apply -k conf/crds": r"kubectl apply: 5 objects",
    "roundhouse crds --plugins ./my-plugins --kind JAXJob | kubectl apply -f -": r"kubectl apply: 1 objects",
    "helm install roundhouse conf/deploy/helm/roundhouse -n roundhouse --create-namespace "
    "--set image.repository=registry.example/roundhouse": r"chart roundhouse",
    "examples/setup --list": r"tensorflow",
}
# command: (the test that runs it, words that it has)
TESTED = {
    f"{BIN} run examples/pytorch/restart.yaml": ("tests/examples/test_pytorch.py", "pytorch/restart.yaml"),
    "roundhouse exec digits-worker-1 -- sh -c 'echo $RANK; py-spy dump --pid 1234'": ("tests/docs/test_commands.py",
                                                                                      "def test_exec"),
    "roundhouse run --attach master-0 train.yaml": ("tests/cli/test_view.py", '"run", "--attach", "master-0"'),
    "roundhouse run --timestamps --only worker-1 examples/pytorch/digits.yaml": ("tests/cli/test_view.py",
                                                                                 '"--timestamps"'),
    "roundhouse sweep train.yaml --param lr=0.1,0.01 --param batch=32,48 --parallel 2 --metric 'accuracy ([0-9.]+)'":
        ("tests/cli/sweep/test_sweep.py", '"--metric", "accuracy'),
    "roundhouse sweep train.yaml --resume --svg plot.svg": ("tests/cli/sweep/test_sweep.py", '"--resume"'),
    "roundhouse ls": ("tests/cli/test_runs.py", "def test_runs_that_go_on_and_that_have_ended"),
    "roundhouse logs digits worker-1 --tail 20": ("tests/cli/test_runs.py", '"--tail", "1"'),
    "roundhouse logs -f --timestamps digits": ("tests/cli/test_runs.py", "def test_follow_ends_with_the_run"),
    "roundhouse describe digits": ("tests/cli/test_runs.py", '"describe", "j"'),
    "roundhouse view": ("tests/cli/page/test_page.py", 'self.call("view")'),
    "roundhouse view digits": ("tests/cli/page/test_page.py", 'self.call("view", "one")'),
    "roundhouse view digits -o page.html": ("tests/cli/page/test_page.py", '"one", "-o", path'),
    "roundhouse run -d examples/pytorch/digits.yaml": ("tests/cli/test_runs.py", '"run", "-d"'),
    "roundhouse attach digits": ("tests/cli/test_runs.py", "def test_attach_ends_as_the_run"),
    "roundhouse top digits": ("tests/cli/test_runs.py", '"top", "j"'),
    "roundhouse stop digits": ("tests/cli/test_runs.py", '"stop", "j"'),
    "roundhouse rerun digits": ("tests/cli/test_runs.py", '"rerun", "-q", "j"'),
    "roundhouse runs prune --older-than 72h": ("tests/cli/test_runs.py", '"prune", "--older-than"'),
    "packaging/image.sh -t registry.example/roundhouse:0.1.0 roundhouse.tar": ("tests/controller/deploy/test_image.py",
                                                                               "image.sh"),
    "roundhouse manifests --plugin dask.so | kubectl apply --server-side -f -":
        ("tests/controller/deploy/test_manifests.py", '"--plugin", file'),
    "roundhouse manifests --plugins ./plugins --plugin-image dask=registry.example/dask-plugin:1.0":
        ("tests/controller/deploy/test_manifests.py", "--plugin-image="),
    "roundhouse convert old.yaml > new.yaml": ("tests/cli/test_convert.py", "def test_each_becomes_what_it_should"),
    "roundhouse lint new.yaml": ("tests/cli/test_convert.py", "def test_the_result_is_valid"),
    "roundhouse convert --to mpi-v2beta1 mpijob.yaml": ("tests/cli/test_convert.py", '"--to", "mpi-v2beta1"'),
    "roundhouse convert trainjob.yaml runtime.yaml > job.yaml": ("tests/cli/test_convert_trainjob.py",
                                                                 "def test_jobs_of_all_policies"),
    "roundhouse convert --cluster --all -n team --to trainjob > trainjobs.yaml": ("tests/cluster/test_convert.py",
                                                                                  '"--cluster", "--all", "--to"'),
    "roundhouse convert --cluster trainjob/mnist > job.yaml": ("tests/cluster/test_convert.py",
                                                               '"--cluster", "trainjob/'),
    "roundhouse config check roundhouse.ini": ("tests/cli/config/test_config.py", '"config", "check", ini'),
    "roundhouse config show": ("tests/cli/config/test_config.py", '"config", "show"'),
    "roundhouse config explain restart-backoff": ("tests/cli/config/test_config.py", '"restart-backoff"'),
    "roundhouse plugins pin": ("tests/cli/config/test_config.py", "def test_print"),
    "roundhouse plugins pin --write --config roundhouse.ini": ("tests/cli/config/test_config.py",
                                                               '"plugins", "pin", "--write", "--config", ini)'),
    "roundhouse plugins pin --write --config roundhouse.ini /opt/dask/dask.so":
        ("tests/cli/config/test_config.py", '"plugins", "pin", "--write", "--config", ini, str('),
    "roundhouse comm check": ("tests/comm/bench/test_program.py", '"check"'),
    "roundhouse comm bench -o json --svg pairs.svg": ("tests/comm/bench/test_program.py", '"--svg"'),
    "roundhouse comm trace /dev/shm/job/*.rhtrace": ("tests/comm/bench/test_program.py", 'call("trace"'),
    "roundhouse comm trace nccl_trace_rank_*": ("tests/comm/bench/trace/test_foreign.py", "nccl_trace_rank_{}"),
    "roundhouse comm trace ras.txt": ("tests/comm/bench/trace/test_foreign.py", 'call(FILES / "ras.txt")'),
    "roundhouse comm ps --mode sync --rule adam --rate 0.02": ("tests/comm/ps/job.sh", "roundhouse run --plugins"),
    "roundhouse comm ps --replicas 2": ("tests/comm/ps/replicas.sh", "comm ps --replicas 2"),
    "roundhouse crds --pod-schema cluster | kubectl apply --server-side --force-conflicts -f -":
        ("tests/cluster/test_crds.py", '"--pod-schema", "cluster"'),
    **{command: ("tests/install/test_author.py", "docs/writing-a-plugin.md") for command in AUTHOR},
    "examples/setup tensorflow": ("tests/examples/test_setup.py", "self.setup("),
    "roundhouse run --config ~/.cache/roundhouse/env/roundhouse.ini examples/tensorflow/multi-worker.yaml":
        ("tests/examples/test_tensorflow.py", "tensorflow/multi-worker.yaml"),
    "examples/setup openmpi": ("tests/examples/test_setup.py", "self.setup("),
    "$HOME/.cache/roundhouse/env/openmpi-HASH/bin/mpirun -n 2 build/release/bin/roundhouse-comm check --backend mpi":
        ("tests/comm/mpi/test_openmpi5.py", "mpirun"),
    "roundhouse plugins test dask.so": ("tests/conformance/test_kit.py", "def test_a_report_for_people"),
    "roundhouse plugins test dask.so job.yaml": ("tests/conformance/test_kit.py",
                                                 "def test_jobs_of_the_author_are_used"),
    "roundhouse plugins test dask.so job.yaml --kubeconfig ~/.kube/config": ("tests/conformance/test_server.py",
                                                                             "def test_jobs"),
    "roundhouse plugins test -o junit dask.so > report.xml": ("tests/conformance/test_kit.py", '"-o", "junit"'),
    "roundhouse plugins test dask.so jobs/*.yaml --record golden": ("tests/conformance/test_kit.py",
                                                                    '"--record", golden'),
    "roundhouse plugins test dask.so jobs/*.yaml --golden golden": ("tests/conformance/test_kit.py",
                                                                    '"--golden", golden'),
}
# command: (why it is not run here, what is run in its place)
NOT_RUN = {
    "./quickstart": ("installs packages and builds; tools/bare.sh runs it in a fresh Debian", "./quickstart --help"),
    **{f"tools/test {words}": ("builds build/dev first", "tools/test --help") for words in (
        "--list", "--list kube", "--list base/json/json", "base/json/json::types", "cli/lint::Goldens",
        "--preset asan engine")},
    "./check": ("this test is a part of it", "./check --help"),
    "./check --quick": ("this test is a part of it", "./check --help"),
    "./check --coverage": ("runs the tests again", "./check --help"),
    "./check --slow": ("downloads gigabytes", "./check --help"),
    "sudo tools/bare.sh": ("needs root and makes a Debian", "tools/bare.sh --help"),
    "kubectl -n kubeflow set image deployment/training-operator training-operator=registry.example/roundhouse:0.1.0":
        ("needs a cluster with V1; tests/controller/deploy/test_v1.py serves V1's objects, test_image.py runs "
         "/manager of the image", "true"),
    "cmake --preset release -DRH_OPENMPI=$HOME/.cache/roundhouse/env/openmpi-HASH && cmake --build --preset release":
        ("a build; tests/comm/mpi/test_openmpi5.py compiles the module with Open MPI 5",
         "grep RH_OPENMPI CMakeLists.txt comm -r"),
    "cmake --preset release -DRH_BUILD_TESTS=ON && cmake --build --preset release": ("a build",
            "grep RH_BUILD_TESTS CMakeLists.txt"),
    "sudo python3 tests/bench/comm/bench.py build/release --mpich /var/tmp/mpich --first":
        ("a benchmark of minutes, as root",
         "python3 -B tests/bench/comm/bench.py --help | grep -e --mpich -A 9 | grep -e --first"),
    "python3 tests/bench/bench.py build/release": ("a benchmark", "grep 'def main' tests/bench/bench.py"),
    "python3 tests/bench/isolation.py build/release": ("a benchmark", "grep 'def main' tests/bench/isolation.py"),
    "python3 tests/bench/controller/bench.py build/release": ("a benchmark",
                                                              "python3 -B tests/bench/controller/bench.py --help"),
    "python3 tests/bench/controller/bench.py build/release --only --foreign":
        ("a benchmark", "python3 -B tests/bench/controller/bench.py --help | grep -e --foreign -A 9 | grep -e --only"),
    "python3 tests/bench/controller/isolation.py build/release --trouble --bursts --many 50":
        ("a benchmark", "python3 -B tests/bench/controller/isolation.py --help | grep -e --bursts -A 9 | grep -e "
         "--trouble"),
    "python3 tests/bench/controller/servers.py build/release": ("a benchmark",
                                                                "python3 -B tests/bench/controller/servers.py --help"),
    "python3 tests/bench/controller/tenants.py build/release": ("a benchmark",
                                                                "python3 -B tests/bench/controller/tenants.py --help"),
    "python3 tests/bench/controller/trainer.py build/release": ("a benchmark",
                                                                "python3 -B tests/bench/controller/trainer.py --help"),
    "build/release/tests/bench_cache build/release/.../pytorch.so": ("a benchmark", "ls tests/bench/bench_cache.c"),
    "build/release/tests/bench_json": ("a benchmark", "ls tests/bench/bench_json.c"),
}

JOB = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: digits}
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: &pod {spec: {containers: [{name: pytorch, image: none, command: [sleep, "600"]}]}}}
    Worker: {replicas: 2, template: *pod}
"""


def everything():
    """-> (place, command) of every block of sh."""
    for page in pages.pages():
        for number, command in pages.commands(page.read_text()):
            yield f"{page.relative_to(pages.SOURCE)}:{number}", command


class Tree(unittest.TestCase):
    """A folder in which the commands find what they find in this tree, with the program under test in build/release."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = pathlib.Path(folder.name) / "tree"
        cls.root.mkdir()
        for entry in SOURCE.iterdir():
            if entry.name not in ("build", ".git"):
                (cls.root / entry.name).symlink_to(entry)
        (cls.root / "build/release").mkdir(parents=True)
        (cls.root / "build/release/bin").symlink_to(PROGRAM.parent)
        (cls.root / "my-plugins").symlink_to(JAX)
        programs = cls.root.parent / "programs"
        programs.mkdir()
        for name in ("kubectl", "helm", "py-spy"):
            (programs / name).symlink_to(SOURCE / "tests/docs/stand_in.py")
        cls.environment = {**os.environ, "PATH": f"{programs}:{PROGRAM.parent}:{os.environ['PATH']}",
                           "TMPDIR": folder.name,
                           "HOME": folder.name, "PYTHONDONTWRITEBYTECODE": "1"}

    def call(self, command):
        """Run a line of shell; its result has returncode and stdout, with what went to standard error."""
        return subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=self.root, env=self.environment, text=True,
                              timeout=LIMIT,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


class Tables(unittest.TestCase):
    def test_every_command_is_in_a_table(self):
        for place, command in everything():
            with self.subTest(place):
                self.assertEqual(sum(command in table for table in (RUN, TESTED, NOT_RUN)), 1, f"{place}: {command}")

    def test_every_entry_is_a_command(self):
        known = {command for _, command in everything()}
        self.assertEqual({*RUN, *TESTED, *NOT_RUN} - known, set())

    def test_the_named_test_runs_it(self):
        for command, (file, words) in TESTED.items():
            with self.subTest(command):
                self.assertIn(words, (SOURCE / file).read_text())

    def test_every_command_is_in_a_block_of_sh(self):
        for page in pages.pages():
            with self.subTest(page.name):
                self.assertEqual(list(pages.strays(page.read_text())), [])


class Commands(Tree):
    def test_run(self):
        # pages call the program of the build or the installed one: it is the same here
        for command, words in {command.replace(BIN, "roundhouse"): words for command, words in RUN.items()}.items():
            with self.subTest(command):
                done = self.call(command)
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertRegex(done.stdout, words)

    def test_in_its_place(self):
        for _, command in sorted(set(NOT_RUN.values())):
            with self.subTest(command):
                done = self.call(command)
                self.assertEqual(done.returncode, 0, done.stdout)

    def test_exec(self):
        job = self.root.parent / "digits.yaml"
        job.write_text(JOB)
        output = self.root.parent / "output"
        with output.open("w") as out, subprocess.Popen(["roundhouse", "run", "-t", str(LIMIT), job], cwd=self.root,
                                                       env=self.environment,
                                                       stdout=out, stderr=out) as run:
            try:
                command = next(command for command in TESTED if command.startswith("roundhouse exec"))
                done = []

                def ask():
                    done[:] = [self.call(command)]
                    return done[0].returncode == 0 or run.poll() is not None
                waits.wait_for("the replica takes a command", ask, LIMIT)
            finally:
                run.send_signal(signal.SIGINT)
        self.assertEqual((done[0].returncode, done[0].stdout), (0, "2\npy-spy: dump --pid 1234\n"), output.read_text())


class Mentions(Tree):
    """`roundhouse COMMAND --option` in a sentence: the command exists and has the option."""

    def help_of(self, command):
        done = self.call(f"roundhouse {command} --help")
        return done.stdout if done.returncode == 0 else ""

    def test_commands_and_options(self):
        known = {}
        for page in pages.pages():
            for number, words in pages.mentions(page.read_text()):
                command = words[0]
                with self.subTest(f"{page.name}:{number} {words}"):
                    if command not in known:
                        known[command] = self.help_of(command)
                    self.assertTrue(known[command] or command in ("help", "--help"), f'no command "{command}"')
                    own = words[: words.index("--")] if "--" in words else words
                    for option in re.findall(r"(?<!\S)--[a-z-]+", " ".join(own)):
                        self.assertIn(option, known[command])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
