# SPDX-License-Identifier: Apache-2.0
"""test_jobs.py ROUNDHOUSE: TrainJobs that no recording has: who has the plugin, how patches are merged, what is refused
by name, and what real processes find in their environment on one machine."""
import copy
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples"
API = "trainer.kubeflow.org/v1alpha1"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
needs_mpirun = unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun; install openmpi-bin")


def runtime(policy=None, node=None, **spec):
    pod = {"containers": [{"name": "node", "image": "i", **(node or {})}]}
    job = {"name": "node", "template": {"metadata": {"labels": {STEP: "trainer"}}, "spec": {"template": {"spec": pod}}}}
    return {"apiVersion": API, "kind": "ClusterTrainingRuntime", "metadata": {"name": "r"},
            "spec": {"mlPolicy": {"numNodes": 1, **(policy or {})},
                     "template": {"spec": {"replicatedJobs": [job], **spec}}}}


def job(**spec):
    return {"apiVersion": API, "kind": "TrainJob", "metadata": {"name": "j"},
            "spec": {"runtimeRef": {"name": "r"}, "trainer": {}, **spec}}


class Jobs(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def call(self, *words, objects=None, **env):
        path = pathlib.Path(self.folder, "objects.yaml")
        path.write_text("\n---\n".join(json.dumps(item) for item in objects or []), encoding="utf-8")
        words = [*words, *([path] if objects else [])]
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False,
                              env={**os.environ, "XDG_STATE_HOME": self.folder, **env})

    def pods(self, *objects):
        for isolation in ("none", "process"):
            done = self.call("render", "-o", "json", f"--plugin-isolation={isolation}", objects=objects)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [item for item in json.loads(done.stdout)["items"] if item["kind"] == "Pod"]

    def refused(self, words, *objects):
        done = self.call("lint", objects=objects)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn(words, done.stdout)


class Cluster(Jobs):
    def ask(self, allow, *words):
        config = pathlib.Path(self.folder, "roundhouse.ini")
        config.write_text(f"[plugins]\n{allow}\n", encoding="utf-8")
        done = self.call(*words, "--config", config, "-o", "json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)["items"]

    def definitions(self, allow):
        return {item["metadata"]["name"] for item in self.ask(allow, "crds")}

    def test_it_is_there_where_it_is_named(self):
        mine = {f"{plural}.trainer.kubeflow.org"
                for plural in ("trainjobs", "trainingruntimes", "clustertrainingruntimes")}
        self.assertEqual(self.definitions("") & mine, set())
        self.assertEqual(self.definitions("allow = trainer") & mine, mine)

    def test_rights(self):
        """No kind has a scale subresource: a rule without a resource would be refused by an API server."""
        made = self.ask("allow = trainer", "manifests")
        rules = [rule for item in made if item["kind"] in ("ClusterRole", "Role") for rule in item.get("rules", [])]
        self.assertTrue(all(rule["resources"] for rule in rules if "resources" in rule), rules)
        self.assertIn({"apiGroups": ["trainer.kubeflow.org"], "resources": ["clustertrainingruntimes",
                                                                            "trainingruntimes"],
                       "verbs": ["get", "list", "watch"]}, rules)

    def test_objects_of_clients(self):
        """What Trainer's clients and its users' bindings find under Trainer's names, where the plugin is allowed."""
        mine = {("ConfigMap", "kubeflow-trainer-public"), ("Role", "kubeflow-trainer-public"),
                ("RoleBinding", "kubeflow-trainer-public"), ("ClusterRole", "kubeflow-trainer-admin"),
                ("ClusterRole", "kubeflow-trainer-edit"), ("ClusterRole", "kubeflow-trainer-view")}
        for allow, words, wanted in (
                ("", [], set()), ("allow = trainer", [], mine),
                ("allow = trainer", ["--namespaced", "-n", "team"], {one for one in mine if one[0] != "ClusterRole"})):
            made = {(item["kind"], item["metadata"]["name"]): item for item in self.ask(allow, "manifests", *words)}
            self.assertEqual({key for key in made if "trainer" in key[1] and key[0] != "CustomResourceDefinition"},
                             wanted, (allow, words))
            self.assertFalse([item for item in made.values() if "x-roundhouse" in item])
            for kind, name in wanted:
                self.assertEqual(made[kind, name]["metadata"].get("namespace"),
                                 None if kind == "ClusterRole" else words[-1] if words else "roundhouse")


class Merge(Jobs):
    def patched(self, before, *patches):
        made = [{"manager": f"a.b/{place}", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
            {"name": "node", "template": {"spec": {"template": {"spec": patch}}}}]}}}}
                for place, patch in enumerate(patches)]
        start = runtime()
        start["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"].update(before)
        return self.pods(job(runtimePatches=made), start)[0]["spec"]

    def test_volume_has_one_source(self):
        spec = self.patched({"volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "emptyDir": {}}]},
                            {"volumes": [{"name": "c", "emptyDir": {}}, {"name": "b", "configMap": {"name": "m"}}]})
        self.assertEqual(spec["volumes"], [{"name": "c", "emptyDir": {}}, {"name": "a", "emptyDir": {}},
                                           {"name": "b", "configMap": {"name": "m"}}])

    def test_maps_and_lists(self):
        spec = self.patched({"nodeSelector": {"a": "1", "b": "2"}, "tolerations": [{"key": "x"}]},
                            {"nodeSelector": {"b": "3"}, "affinity": {"nodeAffinity": {}}},
                            {"nodeSelector": {"c": "4"}, "tolerations": [{"key": "y"}, {"key": "z"}]})
        self.assertEqual(spec["nodeSelector"], {"a": "1", "b": "3", "c": "4"})
        self.assertEqual(spec["tolerations"], [{"key": "y"}, {"key": "z"}])

    def test_variables(self):
        node = {"env": [{"name": "A", "value": "1"}, {"name": "PET_NNODES", "value": "9"}]}
        made = self.pods(job(trainer={"env": [{"name": "B", "value": "2"}, {"name": "A", "value": "3"}]}),
                         runtime({"torch": {}}, node))
        env = made[0]["spec"]["containers"][0]["env"]
        self.assertEqual(env[:2], [{"name": "A", "value": "3"}, {"name": "B", "value": "2"}])
        self.assertEqual([entry["value"] for entry in env if entry["name"] == "PET_NNODES"], ["1"])

    def test_subdomain(self):
        made = self.pods(job(), runtime({"torch": {}}, network={"subdomain": "other"}))[0]["spec"]
        self.assertEqual(made["subdomain"], "other")
        self.assertIn({"name": "PET_MASTER_ADDR", "value": "j-node-0-0.other"}, made["containers"][0]["env"])


class Tune(Jobs):
    def command(self, **trainer):
        words = ["tune", "run", "x", "--config", "llama3_2/1B_full", "dataset=d", "output_dir=/o"]
        made = self.pods(job(trainer={"command": ["tune", "run"], **trainer}),
                         runtime({"torch": {}}, {"command": words}))
        return made[0]["spec"]["containers"][0]["command"][2:]

    def test_recipes(self):
        lora = "model.lora_attn_modules=['q_proj']"
        for trainer, want in (
                ({"numProcPerNode": 1}, ["full_finetune_single_device", "--config", "llama3_2/1B_full_single_device"]),
                ({"numProcPerNode": 2}, ["--rdzv_endpoint=j-node-0-0.j:29500", "full_finetune_distributed", "--config",
                                         "llama3_2/1B_full"]),
                ({"numProcPerNode": 1, "args": [lora]}, ["lora_finetune_single_device", "--config",
                                                         "llama3_2/1B_lora_single_device"]),
                ({"numProcPerNode": 1, "args": [lora, "model.quantize_base=true"]},
                 ["lora_finetune_single_device", "--config", "llama3_2/1B_qlora_single_device"]),
                ({"numProcPerNode": 1, "args": [lora, "model.quantize_base=true", "model.use_dora=true"]},
                 ["lora_finetune_single_device", "--config", "llama3_2/1B_lora_single_device"])):
            self.assertEqual(self.command(**trainer), [*want, "output_dir=/o"], trainer)


class Refused(Jobs):
    def test_fields_that_nobody_reads(self):
        base = runtime()
        for path, value, words in (
                (("mlPolicy", "flux"), {}, "spec.mlPolicy.flux: Forbidden: plugin trainer does not serve this field"),
                (("template", "spec", "suspend"), True, "spec.template.spec.suspend: Forbidden"),
                (("template", "spec", "replicatedJobs", 0, "groupName"), "g",
                 'replicatedJobs[0].groupName: Unsupported value: supported values: "default"'),
                (("template", "spec", "replicatedJobs", 0, "template", "spec", "podFailurePolicy"), {},
                 "replicatedJobs[0].template.spec.podFailurePolicy: Forbidden"),
                (("template", "spec", "replicatedJobs", 0, "template", "spec", "activeDeadlineSeconds"), 1,
                 "replicatedJobs[0].template.spec.activeDeadlineSeconds: Forbidden"),
                (("template", "spec", "replicatedJobs", 0, "template", "spec", "completions"), 3,
                 "replicatedJobs[0].template.spec.completions: Invalid value: must be the same as parallelism"),
                (("template", "spec", "failurePolicy"), {"maxRestarts": 2},
                 "spec.template.spec.failurePolicy: Forbidden: each replicated job must have backoffLimit 0")):
            made = copy.deepcopy(base)
            at = made["spec"]
            for step in path[:-1]:
                at = at[step]
            at[path[-1]] = value
            self.refused(words, job(), made)

    def test_runtimes_of_other_apis(self):
        """Of another kind, another group, and another version: none is read, whatever its name is."""
        stock = {"name": "torch-distributed"}
        later = {**runtime(), "apiVersion": "trainer.kubeflow.org/v2"}
        only = f'supported values: "{API.split("/", maxsplit=1)[0]}"'
        for reference, others, words in (
                ({**stock, "kind": "JobSet"}, (),
                 'spec.runtimeRef.kind: Unsupported value: "JobSet": supported values: "ClusterTrainingRuntime", '
                 '"TrainingRuntime"'),
                ({**stock, "apiGroup": "x.org"}, (), f'spec.runtimeRef.apiGroup: Unsupported value: "x.org": {only}'),
                ({**stock, "apiGroup": API}, (), f'spec.runtimeRef.apiGroup: Unsupported value: "{API}": {only}'),
                ({"name": "r"}, (later,), 'spec.runtimeRef.name: Not found: "r": the ClusterTrainingRuntime r of the '
                                          f"files is of trainer.kubeflow.org/v2, and only those of {API} are served")):
            mine = job(runtimeRef=reference, trainer={"command": ["true"]})
            for command in ("lint", "run", "render"):
                done = self.call(command, objects=[mine, *others])
                text = done.stdout + done.stderr
                self.assertEqual((done.returncode, text.count(words)), (2, 1), (command, text))

    def test_no_trainer_in_the_runtime(self):
        made = runtime()
        del made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["metadata"]
        self.refused("one job must have the label trainer.kubeflow.org/trainjob-ancestor-step: trainer", job(), made)


class Run(Jobs):
    def test_nodes_meet(self):
        for isolation in ("none", "process"):
            done = self.call("run", f"--plugin-isolation={isolation}", EXAMPLES / "trainer" / "meet.yaml")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            for rank in range(3):
                self.assertIn(f"node {rank} of 3: the sum of all ranks is 3", done.stdout)

    def test_the_log_that_is_named(self):
        """Names of pods depend on the UID of the job: the result of a replica names the log that was written."""
        done = self.call("run", "-o", "json", objects=[job(), runtime({}, {"command": ["echo", "up"]})])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        (log,) = [row["log"] for row in rows if row["type"] == "replica"]
        self.assertEqual(pathlib.Path(log).read_text(encoding="utf-8"), "up\n")
        (pod,) = {row["object"]["metadata"]["name"] for row in rows if row["type"] == "pod"}
        self.assertEqual(pathlib.Path(log).parent.name, pod.removeprefix("j-"))

    def test_variables(self):
        """What processes see, by framework; patches of the pod apply here, too."""
        script = "import os; print(*(f'{k}={v};' for k, v in sorted(os.environ.items()) if k[:4] in %r))"
        for policy, prefixes, want in (
                ({"jax": {}}, ("JAX_", "JOB_"), ("JAX_NUM_PROCESSES=2;", "JAX_PROCESS_ID=1;",
                                                 "JAX_COORDINATOR_ADDRESS=127.", "JOB_COMPLETION_INDEX=1;")),
                ({"xgboost": {}}, ("DMLC",), ("DMLC_NUM_WORKER=2;", "DMLC_TASK_ID=1;", "DMLC_TRACKER_URI=127.")),
                ({"torch": {}}, ("PET_",), ("PET_NNODES=2;", "PET_NPROC_PER_NODE=4;", "PET_NODE_RANK=1;"))):
            trainer = {"numNodes": 2, "command": [sys.executable, "-c", script % (prefixes,)],
                       "resourcesPerNode": {"requests": {"cpu": "3500m"}}}
            done = self.call("run", objects=[job(trainer=trainer), runtime(policy)])
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            for word in want:
                self.assertIn(word, done.stdout)

    def test_a_job_that_waits(self):
        """dependsOn: the node starts when the initializer has ended, and finds what it wrote."""
        made = runtime({"torch": {}}, {"command": ["sh", "-c", f"cat {self.folder}/data"]})
        first = {"name": "dataset-initializer", "template": {
            "metadata": {"labels": {STEP: "dataset-initializer"}}, "spec": {"backoffLimit": 0, "template": {"spec": {
                "containers": [{"name": "dataset-initializer", "image": "i", "volumeMounts": [
                    {"name": "initializer", "mountPath": "/mnt/initializer"}],
                    "command": ["sh", "-c", f"sleep 1; echo got $STORAGE_URI > {self.folder}/data"]}],
                "volumes": [{"name": "initializer", "emptyDir": {}}]}}}}}
        jobs = made["spec"]["template"]["spec"]["replicatedJobs"]
        jobs[0]["dependsOn"] = [{"name": "dataset-initializer", "status": "Complete"}]
        jobs.insert(0, first)
        done = self.call("run", objects=[job(initializer={"dataset": {"storageUri": "hf://a/b"}}), made])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("got hf://a/b", done.stdout)

    def test_restarts(self):
        """failurePolicy: the first failure restarts all; at the limit the job fails."""
        script = f"echo run >> {self.folder}/runs; test $(wc -l < {self.folder}/runs) -gt $LIMIT"
        for limit, status in ((1, 0), (9, 1)):
            pathlib.Path(self.folder, "runs").unlink(missing_ok=True)
            made = runtime({}, {"command": ["sh", "-c", script], "env": [{"name": "LIMIT", "value": str(limit)}]},
                           failurePolicy={"maxRestarts": 2})
            made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["backoffLimit"] = 0
            done = self.call("run", objects=[job(), made])
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
            runs = len(pathlib.Path(self.folder, "runs").read_text(encoding="utf-8").splitlines())
            self.assertEqual(runs, 2 if status == 0 else 3)
        self.assertIn("jobset failed due to reaching max number of restarts (first failed job: j-node-0)",
                      done.stdout + done.stderr)

    def two_jobs(self, first, second, **spec):
        """A runtime with the jobs node and other, without retries; each is a shell command."""
        made = runtime({}, {"command": ["sh", "-c", first]}, **spec)
        jobs = made["spec"]["template"]["spec"]["replicatedJobs"]
        jobs[0]["template"]["spec"]["backoffLimit"] = 0
        jobs.append({"name": "other", "template": {"spec": {"backoffLimit": 0, "template": {"spec": {
            "containers": [{"name": "c", "image": "i", "command": ["sh", "-c", second]}]}}}}})
        done = self.call("run", "--log-level", "debug", objects=[job(), made])
        return done.returncode, done.stdout + done.stderr

    def test_success_policy(self):
        for policy, second in (({"operator": "Any"}, "sleep 1000"),
                               ({"operator": "All", "targetReplicatedJobs": ["node"]}, "sleep 1000"),
                               (None, "true")):
            status, text = self.two_jobs("true", second, **({"successPolicy": policy} if policy else {}))
            self.assertEqual(status, 0, text)
            self.assertIn("Complete: jobset completed successfully", text)

    def test_startup_policy(self):
        """InOrder: the second job is held back until the first one runs, and then both meet."""
        pipe = os.path.join(self.folder, "pipe")
        for order, waits in (("InOrder", True), ("AnyOrder", False)):
            status, text = self.two_jobs(f"mkfifo {pipe}; echo met > {pipe}; rm {pipe}",
                                         f"until test -p {pipe}; do sleep 0.1; done; cat {pipe}",
                                         startupPolicy={"startupPolicyOrder": order})
            self.assertEqual(status, 0, text)
            self.assertIn("| met", text)
            self.assertEqual("plugin trainer: other -1 waits" in text, waits)

    def test_failure_rules(self):
        for rules, words in (
                ([{"action": "FailJobSet", "targetReplicatedJobs": ["other"]}],
                 "applying FailJobSet failure policy action (first failed job: j-other-0)"),
                ([{"action": "FailJobSet", "targetReplicatedJobs": ["node"]}],
                 "jobset failed due to reaching max number of restarts (first failed job: j-other-0)"),
                ([{"action": "FailJobSet", "onJobFailureReasons": ["DeadlineExceeded"]}],
                 "jobset failed due to reaching max number of restarts (first failed job: j-other-0)")):
            status, text = self.two_jobs("sleep 1000", "exit 3", failurePolicy={"maxRestarts": 1, "rules": rules})
            self.assertEqual(status, 1, text)
            self.assertIn(words, text)

    def test_first_failure(self):
        status, text = self.two_jobs("sleep 1000", "exit 3")
        self.assertEqual(status, 1, text)
        self.assertIn("jobset failed due to one or more job failures (first failed job: j-other-0)", text)


# What a rank does: it says where it is, and one of them ends otherwise than the others.
RANK = """echo "<rank $OMPI_COMM_WORLD_RANK on ${HOSTNAME%-?????}>"
if test $OMPI_COMM_WORLD_RANK = $FAILS; then echo "no data for rank $FAILS" >&2; exit 3; fi"""


class Mpi(Jobs):
    """By real mpirun, without keys of ssh and without sshd."""

    def mpi(self, fails="none", **mpi):
        """Two processes in each node, of which there are three, by a runtime as the stock ones are, without retries."""
        made = runtime({"mpi": {"mpiImplementation": "OpenMPI", "sshAuthMountPath": "/home/mpiuser/.ssh", **mpi}},
                       {"command": ["/usr/sbin/sshd"], "args": ["-De"], "securityContext": {"runAsUser": 1000}})
        jobs = made["spec"]["template"]["spec"]["replicatedJobs"]
        launcher = {**copy.deepcopy(jobs[0]), "name": "launcher", "dependsOn": [{"name": "node", "status": "Ready"}]}
        launcher["template"]["spec"]["backoffLimit"] = 0
        del jobs[0]["template"]["metadata"]
        made["spec"]["template"]["spec"].update(
            replicatedJobs=[jobs[0], launcher],
            successPolicy={"operator": "All", "targetReplicatedJobs": ["launcher"]})
        words = ["mpirun", "-np", "6", "--bind-to", "none", "sh", "-c", RANK]
        return job(trainer={"numNodes": 3, "numProcPerNode": 2, "command": words, "args": [],
                            "env": [{"name": "FAILS", "value": fails}]}), made

    @needs_mpirun
    def test_ranks_are_where_the_hostfile_has_them(self):
        for works, hosts in ((True, ("node-0-0", "node-0-1", "launcher-0-0")),
                             (False, ("node-0-0", "node-0-1", "node-0-2"))):
            done = self.call("run", objects=self.mpi(runLauncherAsNode=works))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            # mpirun may put two of them into one line
            self.assertEqual(sorted(re.findall(r"<rank (\d) on j-([a-z0-9-]+)>", done.stdout)),
                             [(str(rank), hosts[rank // 2]) for rank in range(6)], done.stdout)

    @needs_mpirun
    def test_a_rank_that_fails_is_the_first_fault(self):
        done = self.call("run", objects=self.mpi(fails="1", runLauncherAsNode=True))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("First fault: launcher-0 (container node), rank 1, exited with code 3:", done.stderr)
        self.assertIn("no data for rank 1", done.stderr)

    def test_no_mpirun(self):
        os.symlink("/bin/sleep", os.path.join(self.folder, "sleep"))
        done = self.call("run", objects=self.mpi(), PATH=self.folder)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertRegex(done.stderr, r'(?m)\A.*expansion\[launcher\].*no program "mpirun" in PATH on this machine: '
                                      r".*; or install the package openmpi-bin$\n"
                                      r".*1 problem on this machine; nothing was started\n\Z")


if __name__ == "__main__":
    unittest.main()
