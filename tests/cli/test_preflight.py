# SPDX-License-Identifier: Apache-2.0
"""What `run` says before it starts anything, and the plan of --dry-run."""
import contextlib
import json
import os
import re
import socket

from program import Case, call, job, main

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
