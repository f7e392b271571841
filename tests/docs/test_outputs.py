# SPDX-License-Identifier: Apache-2.0
"""test_outputs.py PROGRAM SOURCE: the outputs that docs/local.md shows are what the program prints.

Every block of text, json and ini of the page is in BLOCKS, by its first line, and a test makes what it shows anew. What
no two runs have in common is left out of the comparison: times, sizes, shares, names of runs, and where the home is.
"""
import json
import os
import re
import shlex
import subprocess
import sys

import pages

sys.path.insert(0, str(pages.SOURCE / "tests" / "cli"))
import program  # noqa: E402
from program import Case, main  # noqa: E402
from terminal import Talk  # noqa: E402

PAGE = pages.SOURCE / "docs" / "local.md"
# first line of a block: the test that compares it
BLOCKS = {
    "[images]": "test_images",
    "docker.io/kubeflowkatib/pytorch-mnist:* = /home/ada/venv ; /home/ada/roundhouse.ini:2": "test_images",
    "$ roundhouse run pvc.yaml": "test_preflight",
    "PyTorchJob digits (examples/pytorch/digits.yaml)": "test_dry_run",
    "roundhouse run: option --set: PyTorchJob digits: there is no field \"replica\" in "
    "spec.pytorchReplicaSpecs[Worker]; did you mean \"replicas\"?": "test_set",
    "$ roundhouse run label.yaml": "test_runs",
    "master-0/pytorch | epoch 1": "test_containers",
    "digits  Running  Master 1/1 running  Worker 2/2 running  cpu 66%  mem 51M  epoch 2/3  step 35/100  1s left":
        "test_status_line",
    "train: Created: PyTorchJob train is created.": "test_debugger",
    '{"trainerStatus": {"progressPercentage": 45, "estimatedRemainingSeconds": 80,': "test_report",
    "$ roundhouse ls": "test_runs",
    "train-0001 lr=0.1 batch=32: Succeeded, 0.803 (1 of 4)": "test_sweep",
    "            command: [python3, train.py]": "test_sweep",
    "First fault: Worker-1 (container pytorch), rank 2, exited with code 1:": "test_first_fault",
}
# first line of a block: why there is nothing to compare
NOT_COMPARED = {"roundhouse run -- lifeline --> shim (one for each pod: session leader, subreaper) --> containers and "
                "all that they start": "a drawing"}
JOB = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: {name}}}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: Never
      template: &pod
        spec:
          containers:
          - name: pytorch
            image: example/train:1
{container}
    Worker: {{replicas: 2, restartPolicy: Never, template: *pod}}
"""
# As examples/pytorch/digits.py writes, without PyTorch.
DIGITS = """import os, time
rank = int(os.environ["RANK"])
print(f"epoch {os.environ.get('EPOCH', '1')}/3", flush=True)
step = int(os.environ.get("STEP", "100"))
print(f"step {step - (rank > 0) * (step < 100)}/100", flush=True)
while not os.path.exists("go"):
    time.sleep(0.02)
"""
BAR = (r"printf 'epoch 2/3\n\r 35%%|###7      | 35/100 [00:01<00:01, 50.00it/s]'; "
       "until test -e go; do sleep 0.05; done")
# The last one fails when all have started.
LABEL = ('touch label-$RANK; test $RANK = 2 || exec sleep 600; '
         'until test -e label-0 && test -e label-1; do sleep 0.02; done; echo "shard 7 holds a label 12"; exit 1')
PDB = """def train(step):
    loss = step * 2
    # the next line stops
    breakpoint()
    return loss


train(21)
"""
POST = """import os, ssl, urllib.request
context = ssl.create_default_context(cafile=os.environ["KUBEFLOW_TRAINER_SERVER_CA_CERT"])
token = open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]).read().strip()
request = urllib.request.Request(os.environ["KUBEFLOW_TRAINER_SERVER_URL"], data=open("report.json", "rb").read(),
                                 headers={"Authorization": "Bearer " + token})
print(urllib.request.urlopen(request, context=context).status)
"""
SCORES = """import sys
print("accuracy", {"0.1": {"32": 0.803, "48": 0.805}, "0.01": {"32": 0.301, "48": 0.301}}[sys.argv[2]][sys.argv[4]])
"""


def blocks():
    """-> the text of every block of the page that is no command, by its first line"""
    found, fence, text = {}, None, []
    for line in PAGE.read_text(encoding="utf-8").split("\n"):
        if not line.startswith("```"):
            text.append(line)
        elif fence is None:
            fence, text = line[3:], []
        else:
            if fence != "sh":
                found[text[0]] = "\n".join(text) + "\n"
            fence = None
    return found


def shared(text, home="/home/ada"):
    """What two runs have in common."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.replace("\r", "")).replace(home, "HOME")
    for pattern, word in ((r"-\d{8}-\d{6}(-\d+)?", "-TIME"), (r"\d{4}-\d\d-\d\dT[\d:]+(\.\d+)?Z", "WHEN"),
                          (r"\b\d+(\.\d+)?s\b", "TIME"), (r"\b\d+(\.\d+)?( MiB|[KMG]\b)", "SIZE"),
                          (r"\b\d+%", "SHARE"), (r"\(\d of 4\)", "(N of 4)"),
                          (r"machine has \d+", "machine has N"), (r"-[01] +\d+ +\d+ +[DRS] ", "-N PID PARENT STATE "),
                          (r" +", " "), (r" +\n", "\n")):
        text = re.sub(pattern, word, text)
    return text


class Table(Case):
    def test_every_block_is_compared(self):
        self.assertEqual(set(blocks()), {*BLOCKS, *NOT_COMPARED})
        for name in BLOCKS.values():
            self.assertTrue(hasattr(Outputs, name), name)


class Outputs(Case):
    """A home in which nothing was run before, and where no run of others is seen."""
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.folder = os.path.realpath(self.folder)
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ROUNDHOUSE_"))}
        runtime = os.path.join(self.folder, "runtime")
        os.mkdir(runtime, 0o700)
        self.env |= {"HOME": self.folder, "TERM": "xterm", "TMPDIR": runtime, "XDG_RUNTIME_DIR": runtime}
        self.blocks = blocks()
        self.addCleanup(self.finish)

    def finish(self):
        self.file("", "go")
        for name in self.call("ls", "--running", "-o", "name").split():
            self.call("attach", name)

    def call(self, *words, status=(0, 1, 2), cwd=None, apart=False):
        """-> what a command writes; with `apart`, the two outputs"""
        done = subprocess.run([program.PROGRAM, *words], cwd=cwd or self.folder, env=self.env, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=program.TIMEOUT,
                              stderr=subprocess.PIPE if apart else subprocess.STDOUT, check=False)
        self.assertIn(done.returncode, status, done.stdout)
        return (done.stdout, done.stderr) if apart else done.stdout

    def block(self, start):
        return self.blocks[next(first for first in self.blocks if first.startswith(start))]

    def same(self, shown, printed, ordered=True):
        """What is shown may end with a line "...": the rest differs from run to run. What is not ordered has lines of
        several processes."""
        shown, printed = shared(shown), shared(printed, self.folder)
        if shown.endswith("\n...\n"):
            shown = shown.removesuffix("...\n")
            printed = printed[:len(shown)]
        self.assertEqual(*((shown, printed) if ordered else map(sorted, (shown.split("\n"), printed.split("\n")))))

    def replay(self, start, before=lambda command: None):
        """Type the commands of a block, and compare what each prints; `before` sees each first."""
        for part in re.split(r"(?m)^\$ roundhouse ", self.block(start))[1:]:
            command, shown = part.split("\n", 1)
            before(command)
            self.same(shown, self.call(*shlex.split(command)))

    def job(self, name, container, workers=True):
        text = JOB.format(name=name, container=container if container.startswith(" ") else " " * 12 + container)
        return self.file(text if workers else text.split("    Worker")[0], f"{name}.yaml")

    def test_images(self):
        os.makedirs(os.path.join(self.folder, "venv"))
        os.makedirs(os.path.join(self.folder, "venvs", "torch"))
        self.file(self.block("[images]"), "roundhouse.ini")
        self.call("config", "check", "roundhouse.ini", status=(0,))
        self.assertIn(shared(self.block("docker.io/")), shared(self.call("config", "show"), self.folder))

    def test_preflight(self):
        self.job("pvc", """command: [accelerate, launch, train.py]
            resources: {limits: {nvidia.com/gpu: 64}}
            volumeMounts: [{name: data, mountPath: /data}]
          volumes: [{name: data, persistentVolumeClaim: {claimName: mnist}}]""", workers=False)
        self.replay("$ roundhouse run pvc.yaml")

    def test_dry_run(self):
        command = next(command for _, command in pages.commands(PAGE.read_text(encoding="utf-8"))
                       if command.startswith("roundhouse run --dry-run"))
        self.assertEqual(self.call(*command.split()[1:], cwd=pages.SOURCE), self.block("PyTorchJob digits ("))

    def test_set(self):
        self.assertEqual(self.call("run", "examples/pytorch/digits.yaml", "--set",
                                   "spec.pytorchReplicaSpecs.Worker.replica=4", cwd=pages.SOURCE, status=(2,)),
                         self.block("roundhouse run: option --set"))

    def test_containers(self):
        path = self.job("one", "command: [echo, epoch 1]\n          - {name: tensorboard, image: x, command: [echo, "
                        "serving]}", workers=False)
        printed = self.call("run", "-q", path)
        self.assertEqual(sorted(printed.splitlines()), sorted(self.block("master-0/pytorch").splitlines()))

    def test_status_line(self):
        self.job("digits", f"command: [sh, -c, {json.dumps(BAR)}]")
        wanted = shared(self.block("digits  Running")).strip()
        talk = Talk("run", "digits.yaml", columns=200, folder=self.folder, environment=self.env)
        while wanted not in shared(talk.text):
            self.assertTrue(talk.read(), talk.text)
        self.file("", "go")
        self.assertEqual(talk.end(), 0, talk.text)

    def test_debugger(self):
        self.file(PDB, "train.py")
        self.job("train", "command: [python3, train.py]", workers=False)
        talk = Talk("run", "--attach", "master-0", "train.yaml", folder=self.folder,
                    environment=self.env)
        for typed in ("p loss", "c"):
            talk.expect("(Pdb) ")
            talk.type(typed + "\r")
        self.assertEqual(talk.end(), 0, talk.text)
        printed = talk.text[:talk.text.index("(Pdb) c") + len("(Pdb) c")].replace("\r", "") + "\n"
        # the debugger may ask before the run knows that its replica runs: this line comes at any place
        running = "train: Running: PyTorchJob train is running.\n"
        self.assertEqual(printed.count(running), 1)
        self.same(self.block("train: Created").replace(running, ""), printed.replace(running, ""))

    def test_report(self):
        self.file(self.block('{"trainerStatus"'), "report.json")
        self.file(POST, "post.py")
        self.job("train", "command: [python3, post.py]", workers=False)
        self.assertEqual(self.call("run", "-q", "train.yaml"), "master-0 | 200\n")
        shown = re.search(r"status line \(`([^`]+)`\)", PAGE.read_text(encoding="utf-8"))[1]
        self.assertIn(f"Progress: {shown}\n", self.call("describe", "train"))

    def test_runs(self):
        """A day, in the order of the page: a run that succeeds, one that fails, one that goes on."""
        self.file(DIGITS, "digits.py")
        self.file("", "go")
        self.job("digits", "command: [python3, digits.py]")
        self.call("run", "digits.yaml", status=(0,))
        self.job("label", f"""command: [sh, -c, '{LABEL}']""")
        command, shown = self.block("$ roundhouse run label.yaml").split("\n", 1)
        # the worker may have failed before the run knows that all replicas run
        running = "label: Running: PyTorchJob label is running.\n"
        self.assertIn(running, shown)
        printed = self.call(*command.split()[2:])
        self.same(shown.replace(running, ""), printed.replace(running, ""), ordered=False)
        os.remove(os.path.join(self.folder, "go"))
        self.job("train", """command: [python3, digits.py]
            env: [{name: STEP, value: '42'}]""")
        self.call("run", "-d", "--wait", "digits.yaml", "-e", "STEP=42", status=(0,))
        self.wait_for_output("digits", 3)
        self.replay("$ roundhouse ls", before=self.wait_for_train)

    def wait_for_train(self, command):
        """Its replicas are shown when each has written all that it writes."""
        if command.startswith(("ps", "top")):
            self.wait_for_output("train", 3)

    def wait_for_output(self, name, replicas):
        """Until each replica has written all that it writes."""
        with subprocess.Popen([program.PROGRAM, "logs", "-f", name], cwd=self.folder, env=self.env, text=True,
                              stdout=subprocess.PIPE) as logs:
            while replicas > 0:
                replicas -= "step " in logs.stdout.readline()
            logs.terminate()

    def test_sweep(self):
        self.file(SCORES, "train.py")
        self.job("train", self.block("            command:").rstrip("\n"), workers=False)
        command = next(command for _, command in pages.commands(PAGE.read_text(encoding="utf-8"))
                       if command.startswith("roundhouse sweep train.yaml --param"))
        words = re.findall(r"'([^']*)'|(\S+)", command)[1:]
        table, report = self.call(*(quoted or word for quoted, word in words), apart=True)
        shown = self.block("train-0001").splitlines()
        ends, table_shown, kept = shown[:4], "\n".join(shown[4:-1]) + "\n", shown[-1] + "\n"
        *ends_printed, kept_printed = report.splitlines()
        self.assertEqual(sorted(map(shared, ends)), sorted(map(shared, ends_printed)))
        self.same(kept, kept_printed + "\n")
        times = re.compile(r"(?m)[\d.]+( +train-\d+-\d+-\d+)$")
        self.same(times.sub(r"TIME\1", table_shown), times.sub(r"TIME\1", table))

    def test_first_fault(self):
        block = self.block("First fault: Worker-1")
        lines = [line[4:] for line in block.splitlines()[1:]]
        self.file("\n".join(lines) + "\n", "traceback")
        self.job("train", "command: [sh, -c, 'test $RANK = 2 || exec sleep 600; cat traceback >&2; exit 1']")
        self.assertIn(block, self.call("run", "train.yaml", status=(1,)))


if __name__ == "__main__":
    main()
