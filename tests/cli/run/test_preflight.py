# SPDX-License-Identifier: Apache-2.0
"""What `run` says before it starts anything, and the plan of --dry-run."""
import contextlib
import json
import os
import pathlib
import re
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program  # noqa: E402
from program import Case, call, job, main  # noqa: E402

BAD = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bad}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]
          containers:
          - name: pytorch
            image: example/train:1
            command: [no-such-program]
            envFrom: [{secretRef: {name: token}}]
            volumeMounts: [{name: d, mountPath: /data}]
    Worker:
      replicas: 1
      template: {spec: {containers: [{name: pytorch, image: example/train:1, command: [python3, /opt/mnist/mnist.py]}]}}
"""
PROBLEMS = ["[Master].template.spec.containers[0].command[0]: there is no program \"no-such-program\"",
            "--image 'example/train:1=FOLDER'", "no Secret \"token\"", "--volume 'data=FOLDER'",
            "[Worker].template.spec.containers[0].command[1]: there is no file \"/opt/mnist/mnist.py\""]


class Preflight(Case):
    def test_all_problems_at_once(self):
        done = call("run", self.file(BAD))
        self.assertEqual(done.returncode, 2)
        for problem in PROBLEMS:
            self.assertIn(problem, done.stderr)
        self.assertIn("4 problems on this machine; nothing was started", done.stderr)
        self.assertNotIn("Created", done.stdout + done.stderr)
        self.assertEqual(json.loads(call("ls", "-o", "json").stdout or "[]"), [])

    def test_lint_reports_the_same(self):
        path = self.file(BAD)
        self.assertEqual(call("lint", path).returncode, 0)
        done = call("lint", "--local", path)
        self.assertEqual(done.returncode, 2)
        for problem in PROBLEMS:
            self.assertIn(problem, done.stdout)

    def test_fixes_that_are_offered_work(self):
        """The claim and the image get folders, the Secret stands in a second file."""
        tools = os.path.join(self.folder, "tools")
        os.mkdir(tools)
        with open(os.path.join(tools, "no-such-program"), "w", encoding="utf-8") as out:
            out.write("#!/bin/sh\necho it is $KEY\n")
        os.chmod(out.name, 0o755)
        secret = self.file("apiVersion: v1\nkind: Secret\nmetadata: {name: token}\nstringData: {KEY: there}\n",
                           "s.yaml")
        path = self.file(BAD.replace("python3, /opt/mnist/mnist.py", "sh, -c, 'exit 0'"))
        done = call("run", "--no-keep", path, secret, "--image", f"example/*={tools}", "--volume",
                    f"data={self.folder}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("it is there", done.stdout)

    def test_framework_of_an_image(self):
        """The images of V1's examples are known by name."""
        for image, framework in (("docker.io/kubeflowkatib/pytorch-mnist:v1beta1-45c5727", "pytorch"),
                                 ("kubeflow/tf-mnist-with-summaries:latest", "tensorflow"),
                                 ("docker.io/kubeflow/xgboost-dist-iris:latest", "xgboost"),
                                 ("registry.baidubce.com/paddlepaddle/paddle:2.4.0rc0-cpu", "paddle"),
                                 ("mpioperator/tensorflow-benchmarks:latest", "horovod")):
            done = call("run", self.file(BAD.replace("example/train:1", image)))
            self.assertIn(f"or make one that has {framework}, with `roundhouse run --setup`", done.stderr)
        self.assertNotIn("--setup", call("run", self.file(BAD)).stderr)

    def test_port_in_use(self):
        """A fixed port of a server that listens: who that is, by its number; a containerPort only warns."""
        with socket.create_server(("", 0)) as server:
            port = server.getsockname()[1]
            who = f"is in use on this machine by process {os.getpid()} ("
            done = call("run", self.file(job().replace("[sh, -c,", f"[sh, -c, 'exit 0', --master_port={port},")))
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"command[3]: port {port} {who}", done.stderr)
            text = job() + f"            ports: [{{name: pytorchjob-port, containerPort: {port}}}]\n"
            done = call("run", "--no-keep", self.file(text))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr, rf"warning: .*containerPort {port} {re.escape(who)}")
            self.assertIn(f"port {port} of Master 0 is in use on this machine; it gets port ", done.stderr)
        done = call("run", "--no-keep", self.file(job().replace("'exit 0'", f"'exit 0', --master_port={port}")))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_wrong_mappings(self):
        for words in (["--image", "example"], ["--image", "=x"], ["--image", "x=/usr:/no/such"],
                      ["--volume", "data=/no/such"], ["--volume", "data=/usr:/usr"]):
            done = call("run", self.file(job()), *words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"option {words[0]}", done.stderr)


CLAIM = """---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}
"""
# The first attempt leaves a file in the volume and is killed; the second one finds it.
KEEPS = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: keeps, annotations: {roundhouse.dev/restart: job}}
spec:
  runPolicy: {backoffLimit: 1}
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]
          containers:
          - name: pytorch
            image: example/train:1
            command: [sh, -c, 'test -e $DIR/step && exec cat $DIR/step; echo went on > $DIR/step; kill -9 $$$$']
            env: [{name: DIR, value: /data}]
            volumeMounts: [{name: d, mountPath: /data}]
""" + CLAIM


class Claims(Case):
    """A claim that stands in the files is a new volume, as a cluster makes one."""

    def run_keeps(self, *words):
        done = call("run", "-o", "json", *words, self.file(KEEPS))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        seen = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([row["line"] for row in seen if row["type"] == "log"], ["went on"])
        return seen

    def test_a_new_folder_of_the_run(self):
        """It outlives the pods; two runs have one each, and it goes with its run."""
        folders = []
        for _ in range(2):
            seen = self.run_keeps()
            folders.append(os.path.join(seen[-1]["kept"], "claims", "default.data"))
            self.assertEqual([row["text"] for row in seen if row["type"] == "note" and "claim" in row["text"]],
                             [f'the claim "data" is the folder {folders[-1]}'])
            with open(os.path.join(folders[-1], "step"), encoding="utf-8") as kept:
                self.assertEqual(kept.read(), "went on\n")
        self.assertNotEqual(folders[0], folders[1])
        self.assertEqual(call("runs", "prune", "--all").returncode, 0)
        self.assertFalse(any(os.path.exists(folder) for folder in folders))

    def test_a_run_that_is_not_kept(self):
        seen = self.run_keeps("--no-keep")
        note = next(row["text"] for row in seen if row["type"] == "note" and "claim" in row["text"])
        self.assertFalse(os.path.exists(note.rsplit(" ", 1)[1]), note)

    def test_a_folder_that_is_named_comes_first(self):
        self.run_keeps("--volume", f"data={self.folder}")
        self.assertTrue(os.path.exists(os.path.join(self.folder, "step")))

    def test_the_plan(self):
        done = call("run", "--dry-run", self.file(KEEPS))
        self.assertIn("\n  claim data: a new folder of the run\n", done.stdout, done.stderr)
        done = call("run", "--dry-run", "--volume", "data=/usr", self.file(KEEPS))
        self.assertIn("\n  claim data: /usr\n", done.stdout, done.stderr)

    def test_a_claim_of_a_volume_that_is_there(self):
        """Its content is not on this machine."""
        done = call("run", self.file(KEEPS.replace("spec: {access", "spec: {volumeName: pv-1, access")))
        self.assertEqual(done.returncode, 2)
        self.assertIn("--volume 'data=FOLDER'", done.stderr)


class Page(Case):
    """docs/local.md shows what the program prints."""

    def test_of_a_plan_and_of_a_mistake(self):
        with open(os.path.join(program.SOURCE, "docs", "local.md"), encoding="utf-8") as file:
            page = file.read()
        with contextlib.chdir(program.SOURCE):
            example = "examples/pytorch/digits.yaml"
            plan = call("run", "--dry-run", example, "--replicas", "Worker=1", "-e", "EPOCHS=2", "--args=--verbose")
            mistake = call("run", example, "--set", "spec.pytorchReplicaSpecs.Worker.replica=4")
        self.assertIn(f"```text\n{plan.stdout}```\n", page)
        self.assertIn(f"```text\n{mistake.stderr}```\n", page)


class Plan(Case):
    def test_text(self):
        done = call("run", "--dry-run", self.file(job()), "--image", "example/*=/usr")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("PyTorchJob one", done.stdout)
        self.assertIn("  Master: 1 replica\n    pytorch: sh -c exit 0\n      image example/train:1: /usr (--image)\n",
                      done.stdout)
        self.assertTrue(done.stdout.endswith("nothing was started\n"))

    def test_an_image_with_several_folders(self):
        """The option takes what a line of [images] takes; relative folders start where the user is."""
        os.mkdir(os.path.join(self.folder, "tools"))
        with contextlib.chdir(self.folder):
            done = call("run", "--dry-run", self.file(job()), "--image", "example/*=tools:/usr")
        self.assertIn(f"image example/train:1: {os.path.realpath(self.folder)}/tools:/usr (--image)\n", done.stdout,
                      done.stderr)

    def test_json(self):
        done = call("run", "--dry-run", "-o", "json", self.file(job()))
        plan = json.loads(done.stdout)
        self.assertEqual((plan["kind"], plan["name"]), ("PyTorchJob", "one"))
        container = plan["replicas"][0]["containers"][0]
        self.assertEqual(container["command"], ["sh", "-c", "exit 0"])
        self.assertNotIn("environment", container)

    def test_active_environment(self):
        """Images that are not mapped use it: `run` says so, unless all are mapped, or nobody wants notes."""
        os.makedirs(os.path.join(self.folder, "bin"))
        path, note = (self.file(job()), "note: images that are not mapped use the active virtual environment "
                      f"{self.folder}\n")
        for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
            env = {"VIRTUAL_ENV": "", variable: self.folder, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
            self.assertIn(f"not mapped; the active virtual environment {self.folder}\n",
                          call("run", "--dry-run", path, env=env).stdout)
            self.assertIn(note, call("run", "--no-keep", path, env=env).stderr)
        self.assertNotIn(note, call("run", "--no-keep", path, "--image", "*=/usr", env=env).stderr)
        self.assertNotIn(note, call("run", "--no-keep", "-q", path, env=env).stderr)
        env["PATH"] = os.environ["PATH"]
        self.assertIn("not mapped; the PATH of this shell\n", call("run", "--dry-run", path, env=env).stdout)

    def test_problems_come_first(self):
        self.assertEqual(call("run", "--dry-run", self.file(BAD)).returncode, 2)


if __name__ == "__main__":
    main()
