# SPDX-License-Identifier: Apache-2.0
"""convert: jobs of old and other APIs, what is reported about each field, and that the results work as jobs of
today."""
import json
import pathlib

from program import SOURCE, Case, call, main

GOLDENS = pathlib.Path(SOURCE) / "tests/goldens/objects"
POD = {"spec": {"containers": [{"name": "tensorflow", "image": "i"}]}}
XGBOOST = {"spec": {"containers": [{"name": "xgboost", "image": "i"}]}}
TORCH = {"spec": {"containers": [{"name": "pytorch", "image": "i"}]}}


def manifest(kind, api, spec, name="old"):
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec}


def container(image="i", name="c", **fields):
    return {"spec": {"containers": [{"name": name, "image": image, **fields}]}}


# name: (the old job, the spec that it becomes, the notes without their details)
CASES = {
    "tf v1alpha1": (
        manifest("TFJob", "kubeflow.org/v1alpha1", {
            "RuntimeId": "x7", "tfImage": "tf", "tensorboard": {"logDir": "/logs"},
            "terminationPolicy": {"chief": {"replicaName": "MASTER", "replicaIndex": 0}},
            "replicaSpecs": [
                {"replicas": 1, "tfReplicaType": "MASTER", "tfPort": 2222, "template": POD},
                {"replicas": 2, "tfReplicaType": "WORKER", "tfPort": 3333,
                 "template": {"spec": {**POD["spec"], "restartPolicy": "OnFailure"}}},
                {"tfReplicaType": "PS", "template": POD}]}),
        {"tfReplicaSpecs": {
            "Master": {"replicas": 1, "template": POD, "restartPolicy": "Never"},
            "Worker": {"replicas": 2, "restartPolicy": "OnFailure",
                       "template": {"spec": {"containers": [{**POD["spec"]["containers"][0],
                                                             "ports": [{"name": "tfjob-port",
                                                                        "containerPort": 3333}]}]}}},
            "PS": {"template": POD, "restartPolicy": "Never"}}},
        ["moved: spec.replicaSpecs to spec.tfReplicaSpecs", "lost: spec.tfImage", "lost: spec.tensorboard",
         "lost: spec.RuntimeId"]),
    "another chief": (
        manifest("TfJob", "tensorflow.org/v1alpha1", {
            "terminationPolicy": {"chief": {"replicaName": "WORKER", "replicaIndex": 1}},
            "replicaSpecs": [{"tfReplicaType": "WORKER", "replicas": 2, "template": POD}]}),
        {"tfReplicaSpecs": {"Worker": {"replicas": 2, "template": POD, "restartPolicy": "Never"}}},
        ["moved: spec.replicaSpecs to spec.tfReplicaSpecs", "lost: spec.terminationPolicy"]),
    "tf v1alpha2": (
        manifest("TFJob", "kubeflow.org/v1alpha2", {
            "ttlSecondsAfterFinishing": 60, "tfReplicaSpecs": {"Worker": {"replicas": 2, "template": POD}}}),
        {"tfReplicaSpecs": {"Worker": {"replicas": 2, "template": POD}},
         "runPolicy": {"ttlSecondsAfterFinished": 60, "cleanPodPolicy": "Running"}},
        ["moved: spec.ttlSecondsAfterFinishing to spec.runPolicy.ttlSecondsAfterFinished",
         'changed: spec.runPolicy.cleanPodPolicy to "Running"']),
    "tf v1beta2": (
        manifest("TFJob", "kubeflow.org/v1beta2", {
            "cleanPodPolicy": "All", "backoffLimit": 3, "activeDeadlineSeconds": 9, "ttlSecondsAfterFinished": 0,
            "tfReplicaSpecs": {"Chief": {"template": POD}, "Evaluator": {"template": POD}}}),
        {"tfReplicaSpecs": {"Chief": {"template": POD}, "Evaluator": {"template": POD}},
         "runPolicy": {"cleanPodPolicy": "All", "backoffLimit": 3, "activeDeadlineSeconds": 9,
                       "ttlSecondsAfterFinished": 0}},
        ["moved: spec.cleanPodPolicy to spec.runPolicy.cleanPodPolicy",
         "moved: spec.ttlSecondsAfterFinished to spec.runPolicy.ttlSecondsAfterFinished",
         "moved: spec.activeDeadlineSeconds to spec.runPolicy.activeDeadlineSeconds",
         "moved: spec.backoffLimit to spec.runPolicy.backoffLimit"]),
    "pytorch v1alpha1": (
        manifest("PyTorchJob", "kubeflow.org/v1alpha1", {
            "pytorchImage": "p", "terminationPolicy": {"master": {"replicaName": "MASTER", "replicaRank": 0}},
            "replicaSpecs": [{"replicas": 1, "pytorchReplicaType": "MASTER", "masterPort": 2000, "template": TORCH},
                             {"replicas": 3, "pytorchReplicaType": "WORKER", "template": TORCH}]}),
        {"pytorchReplicaSpecs": {
            "Master": {"replicas": 1, "restartPolicy": "Never",
                       "template": {"spec": {"containers": [{**TORCH["spec"]["containers"][0], "ports": [
                           {"name": "pytorchjob-port", "containerPort": 2000}]}]}}},
            "Worker": {"replicas": 3, "template": TORCH, "restartPolicy": "Never"}}},
        ["moved: spec.replicaSpecs to spec.pytorchReplicaSpecs", "lost: spec.terminationPolicy",
         "lost: spec.pytorchImage"]),
    "pytorch v1beta1": (
        manifest("PyTorchJob", "kubeflow.org/v1beta1", {
            "cleanPodPolicy": "All", "runPolicy": {"cleanPodPolicy": "Running"},
            "pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": TORCH}}}),
        {"runPolicy": {"cleanPodPolicy": "Running"},
         "pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": TORCH}}},
        ["lost: spec.cleanPodPolicy"]),
    "xgboost": (
        manifest("XGBoostJob", "xgboostjob.kubeflow.org/v1alpha1", {
            "cleanPodPolicy": "None", "xgbReplicaSpecs": {"Master": {"replicas": 1, "template": XGBOOST}}}),
        {"runPolicy": {"cleanPodPolicy": "None"}, "xgbReplicaSpecs": {"Master": {"replicas": 1, "template": XGBOOST}}},
        ["moved: spec.cleanPodPolicy to spec.runPolicy.cleanPodPolicy"]),
    "mpi v1alpha1 by GPUs": (
        manifest("MPIJob", "kubeflow.org/v1alpha1", {
            "gpus": 8, "gpusPerNode": 4, "launcherOnMaster": True,
            "template": container(resources={"limits": {"cpu": 1}})}),
        {"mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, "restartPolicy": "OnFailure",
                         "template": container(resources={"limits": {"cpu": 1}})},
            "Worker": {"replicas": 2, "restartPolicy": "Never",
                       "template": container(resources={"limits": {"cpu": 1, "nvidia.com/gpu": 4}})}},
         "slotsPerWorker": 4, "runPolicy": {"backoffLimit": 6}},
        ["changed: spec.template to spec.mpiReplicaSpecs", "lost: spec.launcherOnMaster",
         "changed: spec.backoffLimit to 6"]),
    "mpi v1alpha1 by replicas": (
        manifest("MPIJob", "kubeflow.org/v1alpha1", {
            "replicas": 3, "backoffLimit": 1, "slotsPerWorker": 2,
            "template": container(resources={"limits": {"nvidia.com/gpu": 2}})}),
        {"mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, "restartPolicy": "OnFailure", "template": container(resources={"limits": {}})},
            "Worker": {"replicas": 3, "restartPolicy": "Never",
                       "template": container(resources={"limits": {"nvidia.com/gpu": 2}})}},
         "slotsPerWorker": 2, "runPolicy": {"backoffLimit": 1}},
        ["changed: spec.template to spec.mpiReplicaSpecs", "moved: spec.backoffLimit to spec.runPolicy.backoffLimit"]),
    "mpi v1alpha2": (
        manifest("MPIJob", "kubeflow.org/v1alpha2", {
            "mpiDistribution": "mpich", "backoffLimit": 2,
            "mpiReplicaSpecs": {"Launcher": {"restartPolicy": "Always", "template": container()},
                                "Worker": {"replicas": 2, "template": container()}}}),
        {"runPolicy": {"backoffLimit": 2},
         "mpiReplicaSpecs": {"Launcher": {"restartPolicy": "OnFailure", "template": container()},
                             "Worker": {"replicas": 2, "template": container()}}},
        ["lost: spec.mpiDistribution", 'changed: spec.mpiReplicaSpecs[Launcher].restartPolicy to "OnFailure"',
         "moved: spec.backoffLimit to spec.runPolicy.backoffLimit"]),
    "mpi v2beta1": (
        manifest("MPIJob", "kubeflow.org/v2beta1", {
            "slotsPerWorker": 2, "sshAuthMountPath": "/home/u/.ssh", "mpiImplementation": "MPICH",
            "launcherCreationPolicy": "WaitForWorkersReady", "runLauncherAsWorker": True,
            "runPolicy": {"managedBy": "kubeflow.org/mpi-operator", "ttlSecondsAfterFinished": 5},
            "mpiReplicaSpecs": {"Launcher": {"template": container(command=["mpirun"])},
                                "Worker": {"replicas": 2,
                                           "template": container(command=["/usr/sbin/sshd"], args=["-De"])}}}),
        {"slotsPerWorker": 2, "runPolicy": {"ttlSecondsAfterFinished": 5, "backoffLimit": 6},
         "mpiReplicaSpecs": {"Launcher": {"restartPolicy": "OnFailure", "template": container(command=["mpirun"])},
                             "Worker": {"replicas": 2, "template": container()}}},
        ["lost: spec.sshAuthMountPath", "implied: spec.launcherCreationPolicy", "lost: spec.mpiImplementation",
         "lost: spec.runLauncherAsWorker", 'changed: spec.mpiReplicaSpecs[Launcher].restartPolicy to "OnFailure"',
         "changed: spec.runPolicy.backoffLimit to 6", "changed: spec.runPolicy.ttlSecondsAfterFinished",
         "implied: spec.runPolicy.managedBy", "changed: spec.mpiReplicaSpecs[Worker].template.spec.containers"]),
}


def convert(text, *words):
    return call("convert", "-o", "json", *words, "-", text=text)


def notes(done):
    """-> what standard error reports, without file, job and consequence"""
    lines = [line.split(": ", 2)[2] for line in done.stderr.splitlines() if line.startswith("standard input: ")]
    return [": ".join(line.split(": ")[:2]) for line in lines]


class Cases(Case):
    def test_each_becomes_what_it_should(self):
        for name, (old, spec, reported) in CASES.items():
            with self.subTest(name):
                done = convert(json.dumps(old))
                self.assertEqual(done.returncode, 0, done.stderr)
                new = json.loads(done.stdout)["items"][0]
                self.assertEqual((new["apiVersion"], new["kind"].lower()), ("kubeflow.org/v1", old["kind"].lower()))
                self.assertEqual(new["spec"], spec)
                self.assertEqual(notes(done), reported)

    def test_the_result_is_valid_and_has_no_unknown_field(self):
        for name, (old, _, _) in CASES.items():
            with self.subTest(name):
                done = call("lint", self.file(convert(json.dumps(old)).stdout))
                self.assertIn("no error", done.stdout, done.stdout + done.stderr)
                self.assertNotRegex(done.stdout, "unknown field")

    def test_status_and_generated_names(self):
        old = manifest("TFJob", "kubeflow.org/v1beta2", {"tfReplicaSpecs": {"Worker": {"template": POD}}})
        old["metadata"] = {"generateName": "gen-"}
        old["status"] = {"conditions": [{"type": "Succeeded", "status": "True"}]}
        new = json.loads(convert(json.dumps(old)).stdout)["items"][0]
        self.assertEqual(new["metadata"], {"generateName": "gen-"})
        self.assertNotIn("status", new)


class Ways(Case):
    def rendered(self, text):
        done = call("render", "-o", "json", "-", text=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_mpijobs_go_to_v2beta1_and_back_with_the_same_objects(self):
        files = sorted(GOLDENS.glob("mpi-*.yaml"))
        self.assertGreater(len(files), 3)
        for path in files:
            with self.subTest(path.name):
                there = convert(path.read_text(encoding="utf-8"), "--to", "mpi-v2beta1")
                self.assertEqual(there.returncode, 0, there.stderr)
                self.assertEqual({item["apiVersion"] for item in json.loads(there.stdout)["items"]
                                  if item["kind"] == "MPIJob"}, {"kubeflow.org/v2beta1"})
                back = convert(there.stdout)
                self.assertEqual(back.returncode, 0, back.stderr)
                self.assertEqual(self.rendered(path.read_text(encoding="utf-8")), self.rendered(back.stdout))

    def test_defaults_hold_for_a_job_without_a_run_policy(self):
        spec = {"mpiReplicaSpecs": {"Launcher": {"template": container()},
                                    "Worker": {"replicas": 1, "template": container()}}}
        for api, to, limit in (("v1", "mpi-v2beta1", 2147483647), ("v2beta1", "v1", 6)):
            done = convert(json.dumps(manifest("MPIJob", f"kubeflow.org/{api}", spec)), "--to", to)
            self.assertEqual(json.loads(done.stdout)["items"][0]["spec"]["runPolicy"], {"backoffLimit": limit})
            self.assertIn(f"changed: spec.runPolicy.backoffLimit to {limit}", notes(done))

    def test_former_defaults_hold_for_a_job_that_sets_no_policy_at_all(self):
        spec = {"tfReplicaSpecs": {"Worker": {"replicas": 1, "template": POD}}}
        done = convert(json.dumps(manifest("TFJob", "kubeflow.org/v1beta2", spec)))
        self.assertEqual(json.loads(done.stdout)["items"][0]["spec"]["runPolicy"], {"cleanPodPolicy": "Running"})
        self.assertEqual(notes(done), ['changed: spec.runPolicy.cleanPodPolicy to "Running"'])

    def test_old_mpijobs_go_to_v2beta1_through_v1(self):
        done = convert(json.dumps(CASES["mpi v1alpha1 by GPUs"][0]), "--to", "mpi-v2beta1")
        new = json.loads(done.stdout)["items"][0]
        self.assertEqual(new["apiVersion"], "kubeflow.org/v2beta1")
        self.assertEqual(new["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"], 2)

    def test_the_main_container_comes_first(self):
        spec = {"mainContainer": "two", "mpiReplicaSpecs": {"Launcher": {"template": {"spec": {"containers": [
            {"name": "one"}, {"name": "two"}, {"name": "three"}]}}},
                                                            "Worker": {"replicas": 1, "template": container()}}}
        done = convert(json.dumps(manifest("MPIJob", "kubeflow.org/v1", spec)), "--to", "mpi-v2beta1")
        new = json.loads(done.stdout)["items"][0]["spec"]
        self.assertEqual(
            [each["name"] for each in new["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"]],
                         ["two", "three", "one"])
        self.assertNotIn("mainContainer", new)
        self.assertIn("changed: spec.mainContainer", notes(done))

    def test_containers_that_are_malformed_are_left_to_lint(self):
        for containers in ([{"image": "i"}, {"name": "two"}], ["x"], [None], "x", {}):
            template = {"spec": {"containers": containers}}
            spec = {"mainContainer": "two", "mpiReplicaSpecs": {"Launcher": {"template": template},
                                                                "Worker": {"replicas": 1, "template": template}}}
            for old in (manifest("MPIJob", "kubeflow.org/v1", spec), manifest("MPIJob", "kubeflow.org/v2beta1", spec),
                        manifest("MPIJob", "kubeflow.org/v1alpha1", {"gpus": 2, "template": template}),
                        manifest("TFJob", "kubeflow.org/v1alpha1",
                                 {"replicaSpecs": [{"tfPort": 1, "template": template}]})):
                to = ("--to", "mpi-v2beta1") if old["apiVersion"] == "kubeflow.org/v1" else ()
                done = convert(json.dumps(old), *to)
                self.assertEqual(done.returncode, 0, (containers, old["apiVersion"], done.stderr))

    def trainjob(self, spec, kind="PyTorchJob", api="kubeflow.org/v1"):
        """-> the runtime, the job and the notes of a job that becomes a TrainJob."""
        old = manifest(kind, api, spec, "pt") | {"metadata": {"name": "pt", "namespace": "team"}}
        done = convert(json.dumps(old), "--to", "trainjob")
        self.assertEqual(done.returncode, 0, done.stderr)
        runtime, job = json.loads(done.stdout)["items"]
        self.assertEqual([(item["apiVersion"], item["kind"], item["metadata"]["name"], item["metadata"]["namespace"])
                          for item in (runtime, job)],
                         [("trainer.kubeflow.org/v1alpha1", kind, "pt", "team")
                          for kind in ("TrainingRuntime", "TrainJob")])
        return runtime["spec"], job["spec"], notes(done)

    def test_pytorchjobs_become_trainjobs(self):
        env, resources = [{"name": "A", "value": "b"}], {"limits": {"nvidia.com/gpu": 1}}
        template = {"metadata": {"labels": {"team": "x"}}, "spec": {
            "nodeSelector": {"disk": "ssd"}, "volumes": [{"name": "v", "emptyDir": {}}],
            "containers": [{"name": "beside", "image": "s"},
                           {"name": "pytorch", "image": "i", "command": ["torchrun"], "args": ["train.py"], "env": env,
                            "resources": resources, "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]}}
        runtime, job, reported = self.trainjob({
            "nprocPerNode": "2", "pytorchReplicaSpecs": {"Master": {"template": template, "restartPolicy": "Never"},
                                                         "Worker": {"replicas": 3, "template": template,
                                                                    "restartPolicy": "Never"}},
            "runPolicy": {"suspend": True, "activeDeadlineSeconds": 60, "backoffLimit": 2, "ttlSecondsAfterFinished": 5,
                          "cleanPodPolicy": "Running", "managedBy": "kueue.x-k8s.io/multikueue"}})
        self.assertEqual(job, {
            "runtimeRef": {"kind": "TrainingRuntime", "name": "pt"}, "suspend": True, "activeDeadlineSeconds": 60,
            "managedBy": "kueue.x-k8s.io/multikueue",
            "trainer": {"numNodes": 4, "numProcPerNode": 2, "image": "i", "command": ["torchrun"], "args": ["train.py"],
                        "env": env, "resourcesPerNode": resources}})
        pod = {"metadata": {"labels": {"team": "x"}}, "spec": {
            "nodeSelector": {"disk": "ssd"}, "volumes": [{"name": "v", "emptyDir": {}}], "restartPolicy": "Never",
            "containers": [{"name": "beside", "image": "s"},
                           {"name": "node", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]}}
        self.assertEqual(runtime, {"mlPolicy": {"numNodes": 4, "torch": {}}, "template": {"spec": {
            "ttlSecondsAfterFinished": 5,
            "replicatedJobs": [{"name": "node", "template": {
                "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                "spec": {"backoffLimit": 0, "template": pod}}}]}}})
        self.assertEqual([note.split(":")[0] for note in reported],
                         ["changed", "moved", "moved", "moved", "moved", "changed", "changed", "implied"])

    def test_what_a_trainjob_cannot_keep_is_named(self):
        other = {"spec": {"containers": [{"name": "pytorch", "image": "other"}]}}
        runtime, job, reported = self.trainjob({
            "nprocPerNode": "cpu", "elasticPolicy": {"minReplicas": 1},
            "pytorchReplicaSpecs": {"Master": {"template": TORCH, "restartPolicy": "ExitCode"},
                                    "Worker": {"replicas": 1, "template": other}},
            "runPolicy": {"activeDeadlineSeconds": 0, "cleanPodPolicy": "All", "schedulingPolicy": {"queue": "q"}}})
        self.assertEqual(job["trainer"], {"numNodes": 2, "image": "i"})
        node = runtime["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]
        self.assertEqual((node["backoffLimit"], node["template"]["spec"]["restartPolicy"]), (2147483647, "Never"))
        lost = ["spec.pytorchReplicaSpecs[Worker].template.spec.containers[0].image",
                "spec.pytorchReplicaSpecs[Worker].restartPolicy", "spec.nprocPerNode", "spec.elasticPolicy",
                "spec.runPolicy.activeDeadlineSeconds", "spec.runPolicy.cleanPodPolicy",
                "spec.runPolicy.schedulingPolicy"]
        self.assertEqual([note.removeprefix("lost: ") for note in reported if note.startswith("lost")], lost)
        done = convert(json.dumps(manifest("PyTorchJob", "kubeflow.org/v1",
                                           {"pytorchReplicaSpecs": {"Worker": {"template": TORCH}}}, "w")),
                       "--to", "trainjob", "--strict")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_other_kinds_that_trainer_knows(self):
        for kind, types, framework, first in (("XGBoostJob", "xgbReplicaSpecs", "xgboost", "Master"),
                                              ("JAXJob", "jaxReplicaSpecs", "jax", "Worker")):
            template = container("i", framework, command=["train"])
            specs = {first: {"template": template}, "Worker": {"replicas": 2, "template": template}}
            runtime, job, reported = self.trainjob({types: specs}, kind)
            self.assertEqual(job["trainer"], {"numNodes": 3 if first == "Master" else 2, "image": "i",
                                              "command": ["train"]})
            self.assertEqual(runtime["mlPolicy"], {"numNodes": job["trainer"]["numNodes"], framework: {}})
            node = runtime["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
            self.assertEqual(node, {"containers": [{"name": "node"}], "restartPolicy": "Never"})
            self.assertEqual(reported[0], f"changed: spec.{types} to spec.trainer, and a TrainingRuntime")

    def test_old_pytorchjobs_become_trainjobs_through_v1(self):
        _, job, reported = self.trainjob({"replicaSpecs": [{"replicaType": "MASTER", "template": TORCH}]},
                                         api="kubeflow.org/v1alpha1")
        self.assertEqual(job["trainer"], {"numNodes": 1, "image": "i"})
        self.assertIn("moved: spec.replicaSpecs to spec.pytorchReplicaSpecs", reported)

    def test_jobs_without_a_container_become_no_trainjobs(self):
        for types in ({}, {"Master": {}}, {"Master": {"template": {"spec": {"containers": ["x"]}}}}, "x", ["x"]):
            done = convert(json.dumps(manifest("PyTorchJob", "kubeflow.org/v1", {"pytorchReplicaSpecs": types})),
                           "--to", "trainjob")
            self.assertEqual(done.returncode, 2, types)
            self.assertIn("spec.pytorchReplicaSpecs: neither Master nor Worker has a template with a container",
                          done.stderr)

    def test_jobs_of_today_and_other_objects_are_printed_as_they_are(self):
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
        for path in sorted(GOLDENS.glob("*.yaml")):
            done = convert(path.read_text(encoding="utf-8"))
            self.assertEqual((done.returncode, done.stderr), (0, "roundhouse convert: no job needed a conversion\n"),
                             path)
        done = convert(json.dumps(config))
        self.assertEqual(json.loads(done.stdout)["items"], [config])

    def test_yaml_has_a_document_for_each_object(self):
        two = "\n---\n".join(json.dumps(CASES[name][0] | {"metadata": {"name": f"job{i}"}})
                             for i, name in enumerate(("tf v1beta2", "xgboost")))
        done = call("convert", "-", text=two)
        self.assertEqual(done.stdout.count("\n---\n"), 1)
        self.assertEqual(call("lint", "-", text=done.stdout).returncode, 0)


class Refusals(Case):
    def refused(self, old, words, *options):
        done = convert(json.dumps(old), *options)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertRegex(done.stderr, words)

    def test_what_cannot_be_converted(self):
        self.refused(CASES["tf v1beta2"][0], "TFJob of kubeflow.org/v1beta2 cannot be converted to "
                     "kubeflow.org/v2beta1", "--to", "mpi-v2beta1")
        for replicas, words in (({}, "must be a list of replicas"), ([1], "each item must be an object"),
                                ([{"tfReplicaType": "PS"}, {"tfReplicaType": "PS"}], "two items have the type PS")):
            self.refused(manifest("TFJob", "kubeflow.org/v1alpha1", {"replicaSpecs": replicas}), words)
        self.refused(manifest("MPIJob", "kubeflow.org/v1alpha1",
                              {"gpus": 7, "gpusPerNode": 4, "template": container()}),
                     "7 processing units are not a multiple of the 4 of a node")
        for resources, path in (("x", "resources"), ({"limits": 3}, "resources.limits")):
            self.refused(manifest("MPIJob", "kubeflow.org/v1alpha1",
                                  {"gpus": 2, "template": container(resources=resources)}),
                         rf"spec.template.spec.containers\[0\].{path}: must be an object")
        self.refused(manifest("TFJob", "kubeflow.org/v1beta2", {"cleanPodPolicy": "All", "runPolicy": "x"}),
                     '"runPolicy" must be an object')

    def test_strict_ends_with_1_if_a_field_is_lost(self):
        self.assertEqual(convert(json.dumps(CASES["tf v1beta2"][0]), "--strict").returncode, 0)
        done = convert(json.dumps(CASES["tf v1alpha1"][0]), "--strict")
        self.assertEqual(done.returncode, 1)
        self.assertIn("fields are lost", done.stderr)

    def test_files_that_are_not_there(self):
        self.assertEqual(call("convert", "/nowhere.yaml").returncode, 2)
        self.assertEqual(call("convert").returncode, 2)


class Documentation(Case):
    def test_the_tables_of_the_page_are_those_of_the_program(self):
        page = (pathlib.Path(SOURCE) / "docs/migration.md").read_text(encoding="utf-8")
        begin, end = "<!-- roundhouse convert --rules -->\n\n", "<!-- end -->"
        self.assertEqual(page[page.index(begin) + len(begin):page.index(end)], call("convert", "--rules").stdout)

    def test_lint_points_to_convert(self):
        for name, (old, _, _) in CASES.items():
            done = call("lint", "-", text=json.dumps(old))
            if name == "mpi v2beta1":  # plugin mpi2 serves it as it is
                self.assertEqual(done.returncode, 0, done.stdout)
            else:
                self.assertIn("`roundhouse convert`", done.stdout, name)


if __name__ == "__main__":
    main()
