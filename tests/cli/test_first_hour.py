# SPDX-License-Identifier: Apache-2.0
"""The first hour of somebody who knows Kubernetes and has only README.md and --help.

The usual mistakes are made. Each message has to name the object, the field or option, and the value, and what to do
about it; the test then does literally that, and it has to work. Whatever is called is named by `roundhouse --help` or
README.md, and so are its options by its own --help.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import program
from program import Case, main
from terminal import Talk

TRAINING = """import os, sys, time
rank, go = os.environ["RANK"], os.environ.get("GO")
print("rank", rank, "of", os.environ["WORLD_SIZE"], flush=True)
for step in range(1, 4):
    print(f"step {step}/3 loss={1 / step:.2f}", flush=True)
    while go and not os.path.exists(go):
        time.sleep(0.02)
if os.environ.get("BREAK") == rank:
    raise ValueError("shard 7 holds a label 12")
print("accuracy", 5 * float(os.environ.get("LR", "0.1")), flush=True)
"""
JOB = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: train
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          containers:
          - name: pytorch
            image: registry.example/train:1
            command: [python3, train.py]
    Worker:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          containers:
          - name: pytorch
            image: registry.example/train:1
            command: [python3, train.py]
"""
COMMAND = "command: [python3, train.py]"
CONTAINER = "spec.pytorchReplicaSpecs[Master].template.spec.containers[0]"
# What a message must not need: words of errno and of the program's inside.
JARGON = re.compile(r"No such file or directory|Invalid argument|errno|\(null\)|assert|core dumped|RH_[A-Z]")


class Hour(Case):
    """Somebody in a folder with a training script and a job file, and a home of their own."""

    def setUp(self):
        super().setUp()
        self.folder = os.path.realpath(self.folder)
        home = os.path.join(self.folder, "home")
        os.mkdir(home)
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ROUNDHOUSE_"))}
        self.env["HOME"] = home
        self.known = {}
        self.file(TRAINING, "train.py")
        self.file(JOB, "train.yaml")

        self.addCleanup(self.clean)

    def clean(self):
        """Nothing goes on when a test has failed, either."""
        for name in self.roundhouse("ls", "--running", "-o", "name").stdout.split():
            self.roundhouse("stop", "--now", name)

    def roundhouse(self, *words):
        return subprocess.run([program.PROGRAM, *words], cwd=self.folder, env=self.env, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=program.TIMEOUT, check=False)

    def help(self, *words):
        if words not in self.known:
            done = self.roundhouse(*words, "--help")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.known[words] = done.stdout
        return self.known[words]

    def check_known(self, words):
        """The command and its options are where a stranger finds them."""
        readme = pathlib.Path(program.SOURCE, "README.md").read_text(encoding="utf-8")
        self.assertTrue(f"  {words[0]} " in self.help() or f"`{words[0]}`" in readme, words[0])
        for word in words[1:]:
            if word.startswith("-"):
                self.assertIn(word.split("=")[0], self.help(words[0]))

    def do(self, *words, status=0):
        """What works. -> the two outputs"""
        self.check_known(words)
        done = self.roundhouse(*words)
        self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
        return done

    def mistake(self, *words, says):
        """A call that is refused, before anything starts. -> its message, without the line breaks"""
        before = self.names()
        done = self.roundhouse(*words)
        self.assertEqual((done.returncode, done.stdout), (2, ""), (words, done.stderr))
        for part in says:
            self.assertIn(part, done.stderr)
        self.assertNotRegex(done.stderr, JARGON)
        self.assertEqual(self.names(), before)
        return done.stderr

    def names(self):
        done = self.roundhouse("ls", "-o", "name")
        return done.stdout.split()

    def edit(self, old, new, text=JOB):
        """Save the job file with a change."""
        self.assertIn(old, text)
        self.file(text.replace(old, new), "train.yaml")
        return text.replace(old, new)

    def meant(self, message):
        """What the message thinks was meant."""
        found = re.search(r'did you mean "?([^"?]+?)"?\?', message)
        self.assertIsNotNone(found, message)
        return found[1]

    def start(self, *words):
        """A run that goes on until the file `go` is there. -> its name"""
        return self.do("run", "-d", "--wait", "train.yaml", "-e", "GO=" + os.path.join(self.folder, "go"),
                       *words).stdout.strip()


class Typing(Hour):
    """What is typed wrongly is understood."""

    def test_a_command(self):
        message = self.mistake("rnu", "train.yaml", says=['unknown command "rnu"'])
        self.do(self.meant(message), "train.yaml")
        self.assertIn("`roundhouse --help` lists them", self.mistake(says=["no command"]))
        message = self.mistake("run", says=["missing operand: FILE..."])
        advice = re.search("`roundhouse (run) (--help)`", message)
        self.assertIn("FILE...", self.roundhouse(*advice.groups()).stdout)

    def test_the_path_of_the_job_file(self):
        os.mkdir(os.path.join(self.folder, "jobs"))
        shutil.copy(os.path.join(self.folder, "train.yaml"), os.path.join(self.folder, "jobs", "train.yaml"))
        shutil.copy(os.path.join(self.folder, "train.py"), os.path.join(self.folder, "jobs"))
        for wrong in ("trian.yaml", "train.yml", "jobs/tran.yaml"):
            message = self.mistake("run", wrong, says=[f'cannot open "{wrong}": there is no such file'])
            self.do("run", self.meant(message))
        self.mistake("run", "jobs", says=['"jobs" is a directory, not a file'])

    def test_an_option(self):
        message = self.mistake("run", "train.yaml", "--dryrun", says=["unknown option --dryrun"])
        self.assertIn("nothing was started", self.do("run", "train.yaml", self.meant(message)).stdout)
        self.mistake("run", "train.yaml", "--timeout", "soon", says=['option --timeout: "soon"', "90s, 1.5m or 1h30m"])
        self.do("run", "train.yaml", "--timeout", "1.5m")
        self.mistake("run", "train.yaml", "--replicas", "Worker", says=['"Worker"', "TYPE=N, as Worker=4"])
        self.do("run", "train.yaml", "--replicas", "Worker=2")
        self.mistake("run", "train.yaml", "--replicas", "Workr=3", says=['no replica type "Workr"', "Master, Worker"])
        message = self.mistake("run", "train.yaml", "--set", "spec.pytorchReplicaSpecs.Worker.replica=2",
                               says=['there is no field "replica"', "spec.pytorchReplicaSpecs[Worker]"])
        self.do("run", "train.yaml", "--set", f"spec.pytorchReplicaSpecs.Worker.{self.meant(message)}=2")

    def test_a_field(self):
        """`lint` names it; so does `run`, which goes on without it."""
        self.edit("      replicas: 1\n      restartPolicy: Never\n      template", "      replica: 1\n      "
                  "restartPolicy: Never\n      template")
        done = self.roundhouse("lint", "train.yaml")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("train.yaml: PyTorchJob train: error: spec.pytorchReplicaSpecs[Worker].replica: Unknown field",
                      done.stderr + done.stdout)
        self.edit("      replica: 1", f"      {self.meant(done.stderr + done.stdout)}: 1",
                  JOB.replace("      replicas: 1", "      replica: 1"))
        self.do("lint", "train.yaml")
        self.do("run", "train.yaml")

    def test_a_field_of_a_container(self):
        text = self.edit("            command:", "            comand:")
        message = self.mistake("run", "train.yaml", says=[
            f"train.yaml: PyTorchJob train: warning: {CONTAINER}.comand", f"{CONTAINER}.command: Required value",
            'image "registry.example/train:1"', "nothing was started"])
        self.edit("comand", self.meant(message), text)
        self.do("run", "train.yaml")

    def test_names_in_the_job(self):
        for old, new, says in (("PyTorchJob", "PytorchJob", ['no plugin serves kind "PytorchJob"']),
                               ("    Worker:", "    Workers:", ['spec.pytorchReplicaSpecs[Workers]', '"Workers"'])):
            text = self.edit(old, new)
            self.edit(new.strip(" :"), self.meant(self.mistake("run", "train.yaml", says=says)), text)
            self.do("run", "train.yaml")

    def test_the_indent(self):
        self.edit("      restartPolicy: Never\n      template", "     restartPolicy: Never\n      template")
        message = self.mistake("run", "train.yaml", says=["train.yaml: line ", "indent this line as its neighbours"])
        line = int(re.search("line ([0-9]+), column", message)[1])
        self.assertIn(line, (8, 9, 10))
        self.edit("      replicas: 1", "\treplicas: 1")
        self.mistake("run", "train.yaml", says=["train.yaml: line 8", "indent with spaces"])

    def test_a_run(self):
        self.do("run", "train.yaml")
        for words in (("logs",), ("describe",), ("view",), ("rerun",)):
            message = self.mistake(*words, "trian", says=['no run or job "trian" is kept'])
            self.do(*words, self.meant(message))
        advice = re.search("missing operand: JOB.*; `roundhouse (.*)`", self.mistake("logs", says=["missing operand"]))
        self.do("logs", self.do(*advice[1].split()).stdout.split()[0])
        message = self.mistake("logs", "train", "worker-7", says=['no log of replica "worker-7"'])
        advice = re.search("`roundhouse (describe) ([^`]+)`", message)
        self.assertIn("Worker-0", self.do(*advice.groups()).stdout)
        self.mistake("logs", "train", "-c", "torch", says=['a container "torch"', "leave out -c"])
        self.assertIn("step 3/3", self.do("logs", "train").stdout)
        self.mistake("stop", "train", says=['no run of a job "train" is going on', "`roundhouse ls` lists all"])
        self.do("ls")
        self.mistake("exec", "train-master-9", "--", "ls", says=['pod "train-master-9" does not run in namespace'])


class Machine(Hour):
    """What the job needs and this machine does not have."""

    def test_the_script(self):
        text = self.edit("train.py", "trian.py")
        message = self.mistake("run", "train.yaml", says=[
            f'train.yaml: PyTorchJob train: {CONTAINER}.command[1]: there is no file "trian.py"',
            "copy the file beside the job file"])
        self.assertEqual(self.meant(message), "train.py")
        shutil.copy(os.path.join(self.folder, "train.py"), os.path.join(self.folder, "trian.py"))  # beside the job file
        self.do("run", "train.yaml")
        self.edit("trian.py", self.meant(message), text)
        self.do("run", "train.yaml")

    def test_python_that_is_python3_here(self):
        os.mkdir(os.path.join(self.folder, "bin"))
        os.symlink(shutil.which("python3"), os.path.join(self.folder, "bin", "python3"))
        self.env["PATH"] = os.path.join(self.folder, "bin")
        text = self.edit(COMMAND, "command: [python, train.py]")
        message = self.mistake("run", "train.yaml", says=[f'{CONTAINER}.command[0]: there is no program "python"'])
        self.edit("[python,", f"[{self.meant(message)},", text)
        self.do("run", "train.yaml")

    def test_the_program_of_the_image(self):
        """By the option that the message names, and by the section that it names."""
        self.edit(COMMAND, "command: [trainer, train.py]")
        message = self.mistake("run", "train.yaml", says=[
            f'{CONTAINER}.command[0]: there is no program "trainer" in PATH', 'the image "registry.example/train:1"'])
        option, value = re.search(r"(--image) '([^']+)'", message).groups()
        self.mistake("run", "train.yaml", option, value.replace("FOLDER", "venv"), says=[
            "option --image: there is no folder", "/venv", "make it, or name another one"])
        os.makedirs(os.path.join(self.folder, "venv", "bin"))
        self.mistake("run", "train.yaml", option, value.replace("FOLDER", "venv"), says=[
            '"trainer"', "install it there"])
        os.symlink(shutil.which("python3"), os.path.join(self.folder, "venv", "bin", "trainer"))
        self.do("run", "train.yaml", option, value.replace("FOLDER", "venv"))
        section = re.search(r"section (\[images\]) of (roundhouse.ini)", message)
        self.file(f"{section[1]}\n{value.replace('=FOLDER', ' = venv')}\n", section[2])
        self.do("run", "train.yaml")
        self.mistake("run", "train.yaml", option, "venv", says=['option --image: "venv"', "IMAGE=FOLDER, as "])

    def test_a_claim(self):
        self.edit(COMMAND, COMMAND + "\n            volumeMounts: [{name: data, mountPath: /data}]\n          volumes: "
                  "[{name: data, persistentVolumeClaim: {claimName: mnist}}]")
        message = self.mistake("run", "train.yaml", says=[
            "PyTorchJob train: spec.pytorchReplicaSpecs[Master].template.spec.volumes[0]", 'the claim "mnist"'])
        option, value = re.search(r"(--volume) '([^']+)'", message).groups()
        value = value.replace("FOLDER", "data")
        self.mistake("run", "train.yaml", option, value, says=['option --volume: there is no folder "data"', "make it"])
        os.mkdir(os.path.join(self.folder, "data"))
        self.do("run", "train.yaml", option, value)
        self.mistake("run", "train.yaml", option, "data", says=['option --volume: "data"', "CLAIM=FOLDER, as "])

    def test_gpus(self):
        self.edit(COMMAND, COMMAND + "\n            resources: {limits: {nvidia.com/gpu: 1000}}")
        message = self.mistake("run", "train.yaml", says=["PyTorchJob train", "2000 nvidia.com/gpu", "machine has"])
        self.do("run", "train.yaml", re.search("with (--cpu)", message)[1])

    def test_a_secret(self):
        self.edit(COMMAND, COMMAND + "\n            env: [{name: KEY, valueFrom: {secretKeyRef: {name: wandb, key: "
                  "KEY}}}]")
        self.mistake("run", "train.yaml", says=[f"{CONTAINER}.env[0].valueFrom.secretKeyRef", 'Secret "wandb"',
                                                "add it to the job file, or name its file after this one",
                                                "kubectl create secret generic wandb --from-literal=KEY=VALUE"])
        # what that kubectl prints
        self.file("apiVersion: v1\ndata:\n  KEY: VkFMVUU=\nkind: Secret\nmetadata:\n  creationTimestamp: null\n"
                  "  name: wandb\n", "secret.yaml")
        self.do("run", "train.yaml", "secret.yaml")

    def test_all_at_once(self):
        """Not one problem at a time."""
        self.edit(COMMAND, "command: [trainer]\n            resources: {limits: {nvidia.com/gpu: 1000}}\n            "
                  "volumeMounts: [{name: data, mountPath: /data}]\n          volumes: [{name: data, "
                  "persistentVolumeClaim: {claimName: mnist}}]")
        self.mistake("run", "train.yaml", says=['"trainer"', '"mnist"', "--cpu", "5 problems on this machine"])


class Day(Hour):
    """Runs that fail, go on, are stopped, are looked at, and removed."""

    def test_a_failure(self):
        done = self.do("run", "train.yaml", "-e", "BREAK=0", status=1)
        self.assertRegex(done.stderr, r"First fault: Master-0 \(container pytorch\)(, rank 0)? exited with code 1:\n"
                         r"    Traceback")
        self.assertIn("ValueError: shard 7 holds a label 12\nFailed\nKept in ", done.stderr)
        kept = re.search("Kept in (.*)", done.stderr)[1]
        self.assertTrue(os.path.exists(os.path.join(kept, "logs", "train", "master-0", "pytorch.log")))
        self.assertRegex(self.do("ls").stdout, r"train +Failed .*Master-0 \(container pytorch\)")
        self.assertIn("shard 7 holds a label 12", self.do("describe", "train").stdout)
        self.assertIn("shard 7 holds", self.do("logs", "train", "master-0", "--tail", "1").stdout)
        self.edit("train.py", "gone.py")  # the job as it ran counts
        self.assertEqual(self.do("rerun", "train", "-e", "BREAK=none").returncode, 0)

    def test_ctrl_c(self):
        self.check_known(("run",))
        talk = Talk("run", "train.yaml", "-e", "GO=never", folder=self.folder, environment=self.env, columns=120)
        talk.expect("step 1/3")
        talk.type("\x03")
        self.assertEqual(talk.end(), 130, talk.text)
        self.assertIn("stopping the replicas; press Ctrl-C or send the signal again to kill them", talk.text)
        self.assertRegex(talk.text, r"Interrupted\r\nKept in ")
        self.assertRegex(self.do("ls").stdout, r"train +Interrupted ")
        self.assertEqual(self.do("ps").stderr, "no run goes on\n")

    def test_two_runs_of_one_name(self):
        """Both go on; `stop` asks which, and another terminal follows and stops them."""
        names = sorted(self.start() for _ in range(2))
        message = self.mistake("stop", "train", says=['2 runs of "train" go on', "name one of them"])
        self.assertEqual(sorted(re.search("name one of them: (.*)", message)[1].split(", ")), names)
        self.check_known(("logs", "-f"))
        with subprocess.Popen([program.PROGRAM, "logs", "-f", names[0]], cwd=self.folder, env=self.env, text=True,
                              stdout=subprocess.PIPE) as follower:
            self.assertRegex(follower.stdout.readline(), r"^(master|worker)-0 \| ")
            self.assertRegex(self.do("top", "--once", names[0]).stdout, r"train/master-0 +1 ")
            self.do("stop", names[0])
            follower.stdout.read()
        self.assertEqual(follower.returncode, 0)
        self.assertEqual(self.names(), sorted(names, reverse=True))
        attached = Talk("attach", "train", folder=self.folder, environment=self.env)
        attached.expect("step 1/3")
        self.file("", "go")
        self.assertEqual(attached.end(), 0, attached.text)
        self.assertRegex(self.do("ls").stdout, r"(?s)Succeeded.*Interrupted|Interrupted.*Succeeded")

    def test_a_closed_terminal(self):
        """run -d goes on."""
        talk = Talk("run", "-d", "train.yaml", "-e", "GO=" + os.path.join(self.folder, "go"), folder=self.folder,
                    environment=self.env)
        self.assertEqual(talk.end(), 0, talk.text)  # and its terminal with it
        self.assertEqual(json.loads(self.do("ls", "-o", "json").stdout)[0]["state"], "Running")
        attached = Talk("attach", "train", folder=self.folder, environment=self.env)
        attached.expect("step 1/3")
        self.file("", "go")
        self.assertEqual(attached.end(), 0, attached.text)
        self.assertIn("accuracy 0.5", attached.text)

    def test_a_sweep(self):
        self.mistake("sweep", "train.yaml", says=["option --param", "needs at least one, as --param lr=0.1"])
        self.mistake("sweep", "train.yaml", "--param", "LR", says=['"LR"', "NAME=VALUE,VALUE, as lr=0.1,0.01"])
        message = self.mistake("sweep", "train.yaml", "--param", "LR=0.1,0.2", "--metric", "accuracy",
                               says=['option --metric: "accuracy" has no group', "parentheses, as"])
        self.assertRegex(message, r"'loss \(\[0-9\.\]\+\)'")
        done = self.do("sweep", "train.yaml", "--param", "LR=0.1,0.2", "--metric", "accuracy ([0-9.]+)", "--parallel",
                       "2")
        self.assertRegex(done.stdout, r"TRIAL +LR +STATE +METRIC .*\ntrain-0002 +0\.2 +Succeeded +1 ")
        self.assertIn("accuracy 1.0", self.do("logs", "train-0002", "master-0").stdout)

    def test_a_page(self):
        self.do("run", "train.yaml")
        path = self.do("view").stdout.strip()
        self.assertIn("<html", pathlib.Path(path).read_text(encoding="utf-8"))

    def test_cleaning_up(self):
        for _ in range(3):
            self.do("run", "-q", "train.yaml")
        message = self.mistake("runs", "prune", says=["which runs?"])
        self.assertNotIn("removed", message)
        option = re.search("use (--keep) N", message)[1]
        self.mistake("runs", "prune", option, "one", says=['option --keep: "one" is not a count'])
        newest = self.names()[0]
        self.assertEqual(len(self.do("runs", "prune", option, "1", "--dry-run").stdout.split()), 2)
        self.assertEqual(len(self.names()), 3)
        self.do("runs", "prune", option, "1")
        self.assertEqual(self.names(), [newest])
        self.mistake("runs", "prune", "--older-than", "yesterday", says=['option --older-than: "yesterday"', "1h30m"])


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
