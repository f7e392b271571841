# SPDX-License-Identifier: Apache-2.0
"""Options that change the jobs of a file: --set, --env, --replicas, --cpu, --args; the same for run, rerun, render and
lint."""
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from program import Case, call, job, main  # noqa: E402

TWO = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: two, annotations: {note: x}}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: Never
      template: &template
        spec:
          containers:
          - name: pytorch
            image: x
            command: [sh, -c, 'echo $LR $NOTE; echo "$@"', sh]
            args: [old]
            env: [{name: LR, value: '0.1'}, {name: SECOND, value: $(LR)}]
            ports: [{name: web, containerPort: 8080}]
          - name: beside
            image: x
            command: [sh, -c, 'echo beside $NOTE']
    Worker:
      replicas: 1
      restartPolicy: Never
      template: *template
"""
MPI = """apiVersion: kubeflow.org/v1
kind: MPIJob
metadata: {name: m}
spec:
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template: {spec: {containers: [{name: mpi, image: x, command: [mpirun, train]}]}}
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: mpi, image: x}]}}
"""
WORKER = "spec.pytorchReplicaSpecs.Worker"


class Override(Case):
    def pods(self, *words, text=TWO):
        """The pods that `render` makes, by name."""
        done = call("render", "-o", "json", self.file(text), *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {item["metadata"]["name"]: item for item in json.loads(done.stdout)["items"] if item["kind"] == "Pod"}

    def container(self, path, value, index=0):
        """The first container of the first worker after one --set below its containers."""
        pods = self.pods("--set", f"{WORKER}.template.spec.containers[{index}].{path}={value}")
        return pods["two-worker-0"]["spec"]["containers"][index]


class Set(Override):
    def test_values_by_the_schema(self):
        self.assertEqual(len(self.pods("--set", WORKER + ".replicas=4")), 5)
        self.assertEqual(len(self.pods("--set", "spec.pytorchReplicaSpecs[worker].replicas=2")), 3)
        self.assertEqual(self.container("image", "123")["image"], "123")
        self.assertIs(self.container("tty", "true")["tty"], True)
        self.assertEqual(self.container("resources.limits.memory", "16Gi")["resources"]["limits"], {"memory": "16Gi"})
        self.assertEqual(self.container("resources.limits[nvidia.com/gpu]", "2")["resources"]["limits"],
                         {"nvidia.com/gpu": "2"})
        self.assertEqual(self.container("livenessProbe.httpGet.port", "80")["livenessProbe"]["httpGet"]["port"], 80)
        self.assertEqual(self.container("livenessProbe.httpGet.port", "web")["livenessProbe"]["httpGet"]["port"], "web")
        self.assertEqual(self.container("args", '["a", "b c"]')["args"], ["a", "b c"])
        self.assertEqual(self.container("securityContext", '{"runAsUser": 7}')["securityContext"], {"runAsUser": 7})

    def test_lists(self):
        self.assertEqual(self.container("args[0]", "new")["args"], ["new"])
        self.assertEqual(self.container("args[1]", "next")["args"], ["old", "next"])
        self.assertEqual(self.container("ports[0].containerPort", "99")["ports"][0],
                         {"name": "web", "containerPort": 99})
        self.assertEqual(self.container("args[0]", "first", index=1)["args"], ["first"])

    def test_keys_with_dots_and_null(self):
        pods = self.pods("--set", WORKER + ".template.metadata.annotations[a.b/c]=d", "--set", 'metadata.labels["x"]=y')
        self.assertEqual(pods["two-worker-0"]["metadata"]["annotations"]["a.b/c"], "d")
        self.assertNotIn("args", self.container("args", "null"))
        self.assertEqual(self.container("args[0]", "null")["args"], ["null"])

    def test_mistakes_are_named_with_the_nearest_field(self):
        path = self.file(TWO)
        for value, message in (
                (WORKER + ".replica=4", 'there is no field "replica" in spec.pytorchReplicaSpecs[Worker]; did you '
                 'mean "replicas"?'),
                ("spec.backoffLimit=4", 'there is no field "backoffLimit" in spec; did you mean '
                 'spec.runPolicy.backoffLimit?'),
                ("spec.pytorchReplicaSpecs.Wroker.replicas=4",
                 'there is no replica type "Wroker" in spec.pytorchReplicaSpecs; did you mean "Worker"?'),
                (WORKER + ".template.spec.containers[0].imag=x",
                 'there is no field "imag" in spec.pytorchReplicaSpecs[Worker].template.spec.containers[0]; did you '
                 'mean "image"?'),
                (WORKER + ".template.spec.containers[3].image=x", "spec.containers has 2 items: there is no [3]"),
                (WORKER + ".template.spec.containers.image=x",
                 'spec.containers is a list: "image" is not a place in it, as [0]'),
                (WORKER + ".template.spec.containers[3x].image=x",
                 'spec.containers is a list: "3x" is not a place in it'),
                (WORKER + ".replicas=four", 'spec.pytorchReplicaSpecs[Worker].replicas: "four" is not an integer'),
                (WORKER + ".replicas.x=4", "spec.pytorchReplicaSpecs[Worker].replicas has no fields"),
                (WORKER + ".template.spec.hostNetwork=yes", 'hostNetwork: "yes" is neither true nor false'),
                (WORKER + ".template.spec.containers[0].args=a b", 'args: "a b" is not a list in JSON'),
                ("kind=TFJob", '"kind" is not a field of metadata or spec'),
                ("status.x=1", '"status.x" is not a field of metadata or spec'),
                ("spec", '"spec" is not of the form PATH=VALUE'), ("spec..x=1", "the path has an empty step")):
            for command in ("run", "render", "lint"):
                done = call(command, path, "--set", value)
                self.assertEqual(done.returncode, 2, (command, value))
                self.assertIn(f"roundhouse {command}: option --set: PyTorchJob two: ", done.stderr)
                self.assertIn(message, done.stderr)

    def test_all_checks_apply_to_the_result(self):
        path = self.file(TWO)
        done = call("run", path, "--set", "spec.pytorchReplicaSpecs.Master.replicas=2")
        self.assertEqual(done.returncode, 2)
        self.assertIn("spec.pytorchReplicaSpecs[Master].replicas: Forbidden: must be 1", done.stderr)
        done = call("run", path, "--set", WORKER + '.template.spec.containers[0].command=["no-such-program"]')
        self.assertEqual(done.returncode, 2)
        self.assertIn('there is no program "no-such-program"', done.stderr)
        done = call("lint", "--local", path, "--set", WORKER
                    + '.template.spec.containers[0].command=["no-such-program"]')
        self.assertIn('there is no program "no-such-program"', done.stdout)
        done = call("lint", path, "--set", WORKER + ".template.spec.containers[0].resources.limits.memory=16Gx")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("resources.limits[memory]", done.stdout)

    def test_several_jobs(self):
        path = self.file(job("one") + "---\n" + job("two"))
        self.assertEqual(call("run", "-q", path, "--set", "spec.runPolicy.backoffLimit=3").returncode, 0)
        done = call("run", path, "--set", "metadata.name=x")
        self.assertEqual(done.returncode, 2)
        self.assertIn("the files have 2 jobs, which cannot have one name", done.stderr)
        done = call("run", "--dry-run", self.file(job("one")), "--set", "metadata.name=x")
        self.assertIn("PyTorchJob x (", done.stdout)


class Shortcuts(Override):
    def test_environment_of_all_containers(self):
        pods = self.pods("-e", "NOTE=a=b", "--env", "LR=7")
        for pod in pods.values():
            first, second = pod["spec"]["containers"]
            names = [row["name"] for row in first["env"]]
            values = {row["name"]: row.get("value") for row in first["env"]}
            self.assertEqual((values["LR"], values["NOTE"], values["SECOND"]), ("7", "a=b", "$(LR)"))
            self.assertLess(names.index("LR"), names.index("SECOND"))  # its place is kept for $(LR)
            self.assertIn({"name": "NOTE", "value": "a=b"}, second["env"])

    def test_a_reference_is_replaced(self):
        text = job().replace("command:", "env: [{name: T, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]\n       "
                             "     command:")
        env = self.pods("-e", "T=x", text=text)["one-master-0"]["spec"]["containers"][0]["env"]
        self.assertIn({"name": "T", "value": "x"}, env)

    def test_replicas(self):
        self.assertEqual(len(self.pods("--replicas", "worker=3")), 4)
        path = self.file(TWO)
        for value, message in (("Wroker=1", 'there is no replica type "Wroker" in the job; it has Master, Worker'),
                               ("Worker", '"Worker" is not of the form TYPE=N'),
                               ("Worker=-1", "is not of the form TYPE=N"), ("Worker=1.5", "is not of the form TYPE=N"),
                               ("=1", 'there is no replica type ""')):
            done = call("render", path, "--replicas", value)
            self.assertEqual(done.returncode, 2, value)
            self.assertIn(f"option --replicas: PyTorchJob two: ", done.stderr)
            self.assertIn(message, done.stderr)

    def test_cpu(self):
        """A job for GPUs starts where there are none; other resources stay."""
        text = job().replace("command:", "resources: {limits: {nvidia.com/gpu: 64, amd.com/gpu: 1, memory: 1Gi}, "
                             "requests: {cpu: 1}}\n"
                             "            command:", 1)
        container = self.pods("--cpu", text=text)["one-master-0"]["spec"]["containers"][0]
        self.assertEqual(container["resources"], {"limits": {"memory": "1Gi"}, "requests": {"cpu": "1"}})
        self.assertIn({"name": "CUDA_VISIBLE_DEVICES", "value": ""}, container["env"])
        done = call("run", "--no-keep", self.file(text))
        self.assertEqual(done.returncode, 2)
        self.assertIn("use none with --cpu", done.stderr)
        self.assertEqual(call("run", "--no-keep", "--cpu", self.file(text)).returncode, 0)

    def test_arguments_of_the_training_containers(self):
        for pod in self.pods("--args", "--lr 0.1 'two words'").values():
            first, second = pod["spec"]["containers"]
            self.assertEqual(first["args"], ["--lr", "0.1", "two words"])
            self.assertNotIn("args", second)
        done = call("render", self.file(TWO), "--args", "'open")
        self.assertIn("has a quote without an end", done.stderr)

    def test_arguments_of_a_launcher_alone(self):
        """The workers of an MPIJob have a command of the plugin, which would not take them."""
        pods = self.pods("--args=-n 4", text=MPI)
        self.assertEqual(pods["m-launcher"]["spec"]["containers"][0]["args"], ["-n", "4"])
        self.assertEqual(pods["m-worker-0"]["spec"]["containers"][0],
                         self.pods(text=MPI)["m-worker-0"]["spec"]["containers"][0])

    def test_mistakes(self):
        for value in ("NAME", "=x"):
            done = call("run", self.file(TWO), "-e", value)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f'option --env: PyTorchJob two: "{value}" is not of the form NAME=VALUE', done.stderr)

    def test_the_order_of_the_options_counts(self):
        self.assertEqual(len(self.pods("--replicas", "Worker=3", "--set", WORKER + ".replicas=1")), 2)
        self.assertEqual(len(self.pods("--set", WORKER + ".replicas=1", "--replicas", "Worker=3")), 4)


class Kept(Override):
    def test_a_run_keeps_the_jobs_as_they_ran(self):
        with tempfile.TemporaryDirectory() as state:
            env = {"XDG_STATE_HOME": state}
            done = call("run", "-q", self.file(TWO), "-e", "NOTE=hello", "--args=new", "--replicas", "Worker=2",
                        env=env)
            self.assertEqual(done.returncode, 0, done.stderr)
            expected = sorted(f"{who}/pytorch | {text}" for who in ("master-0", "worker-0", "worker-1")
                              for text in ("0.1 hello", "new"))
            self.assertEqual(sorted(line for line in done.stdout.splitlines() if "beside" not in line), expected)
            again = call("rerun", "-q", "two", "-e", "NOTE=bye", env=env)
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertEqual(sorted(line for line in again.stdout.splitlines() if "beside" not in line),
                             [line.replace("hello", "bye") for line in expected])
            runs = os.path.join(state, "roundhouse", "runs")
            for run, note in zip(sorted(os.listdir(runs)), ("hello", "bye")):
                with open(os.path.join(runs, run, "jobs.yaml"), encoding="utf-8") as file:
                    self.assertIn(note, file.read())


if __name__ == "__main__":
    main()
