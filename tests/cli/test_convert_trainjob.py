# SPDX-License-Identifier: Apache-2.0
"""convert between V1's kinds and TrainJobs of Kubeflow Trainer: what each becomes, and that nothing is lost on the way
there and back but what a note names."""
import copy
import json
import pathlib
import random
import re

import yaml

from program import SOURCE, Case, call, main

TESTS = pathlib.Path(SOURCE) / "tests"
TRAINER = TESTS / "cli" / "trainer"
# kind: (map of replicas, main container, default restartPolicy, types in the order of their ranks)
NODES = {"PyTorchJob": ("pytorchReplicaSpecs", "pytorch", "OnFailure", ("Master", "Worker")),
         "XGBoostJob": ("xgbReplicaSpecs", "xgboost", "Never", ("Master", "Worker")),
         "JAXJob": ("jaxReplicaSpecs", "jax", "Never", ("Worker",)),
         "MPIJob": ("mpiReplicaSpecs", "mpi", "Never", ("Launcher", "Worker"))}
TYPES = {"TFJob": ("tfReplicaSpecs", "tensorflow", "Never"),
         "PaddleJob": ("paddleReplicaSpecs", "paddle", "OnFailure")}
SEED, MADE = 17, 400
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def convert(objects, *words):
    """-> (the objects printed, {job: [(effect, path, the rest)]})"""
    done = call("convert", "-o", "json", *words, "-",
                text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    notes = {}
    for line in done.stderr.splitlines():
        found = re.fullmatch(r".*?: \w+Job (\S+): (moved|changed|implied|lost): (\S+)(.*)", line)
        if found:
            notes.setdefault(found[1], []).append((found[2], found[3].rstrip(":"), found[4]))
    return json.loads(done.stdout)["items"], notes


def there(job):
    """-> (runtime, TrainJob, notes) of one job of V1."""
    (runtime, trainjob), notes = convert([job], "--to", "trainjob")
    return runtime, trainjob, notes.get(job["metadata"]["name"], [])


def jobs_of(runtime):
    return {job["name"]: job for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]}


def pod(job):
    return job["template"]["spec"]["template"]["spec"]


def documents(folder):
    """-> the jobs of all goldens"""
    for path in sorted((TESTS / "goldens" / folder).glob("*.yaml")):
        for document in yaml.load_all(path.read_text(encoding="utf-8"), yaml.CSafeLoader):
            job = document.get("job", document) if document else {}
            if job.get("apiVersion") == "kubeflow.org/v1":
                yield job


def goldens(kinds):
    """-> jobs of these kinds, each with a name of its own"""
    jobs = [job for folder in ("objects", "lives", "gang") for job in documents(folder) if job["kind"] in kinds]
    for number, job in enumerate(jobs):
        job["metadata"]["name"] = f"golden-{number}"
    return jobs


class Maker:
    """Jobs by chance, as V1 takes them."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def maybe(self, value, chance=0.4):
        return [value] if self.random.random() < chance else []

    def container(self, name):
        pick = self.random.choice
        made = {"name": name, "image": pick(["a:1", "b:2"])}
        for key, value in (("command", ["python", "t.py"]), ("args", [pick("xyz")]), ("workingDir", "/w"),
                           ("env", [{"name": "A", "value": pick("12")}, {"name": "B", "value": "$(A)"}]),
                           ("resources", {"limits": {"nvidia.com/gpu": pick([1, 4])}, "requests": {"cpu": "500m"}}),
                           ("ports", [{"name": f"{name}job-port", "containerPort": pick([2222, 23456])}]),
                           ("volumeMounts", [{"name": "v", "mountPath": pick(["/v", "/w"])}]),
                           ("securityContext", {"runAsUser": pick([0, 1000])})):
            made.update({key: copied for copied in self.maybe(value)})
        return made

    def template(self, name):
        containers = [self.container(name), *self.maybe({"name": "beside", "image": "s"}, 0.2)]
        self.random.shuffle(containers)
        spec = {"containers": containers}
        for key, value in (("nodeSelector", {"disk": "ssd"}), ("volumes", [{"name": "v", "emptyDir": {}}]),
                           ("initContainers", [{"name": "i", "image": "i"}]), ("priorityClassName", "p"),
                           ("restartPolicy", "Always"), ("tolerations", [{"key": "a", "operator": "Exists"}])):
            spec.update({key: copied for copied in self.maybe(value, 0.2)})
        made = {"spec": spec}
        for labels in self.maybe({"labels": {"team.x/y": "z"}}, 0.2):
            made["metadata"] = labels
        return made

    def policy(self):
        pick, made = self.random.choice, {}
        for key, value in (("suspend", pick([True, False])), ("activeDeadlineSeconds", pick([0, 60])),
                           ("backoffLimit", pick([0, 3, 6])), ("ttlSecondsAfterFinished", pick([0, 5])),
                           ("cleanPodPolicy", pick(["None", "Running", "All"])),
                           ("managedBy", pick(["kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"])),
                           ("schedulingPolicy", {"queue": "q", "minAvailable": 2})):
            made.update({key: copied for copied in self.maybe(value, 0.3)})
        return made

    def replicas(self, kind, types, main):
        specs, same = {}, self.template(main)
        for name in types:
            spec = {"template": copy.deepcopy(same) if self.random.random() < 0.6 else self.template(main)}
            for policy in self.maybe(self.random.choice(["Never", "OnFailure", "Always", "ExitCode"]), 0.7):
                spec["restartPolicy"] = policy
            if name in ("Master", "Launcher"):
                spec.update({"replicas": one for one in self.maybe(1)})
            else:
                spec.update({"replicas": count for count in self.maybe(self.random.randint(1, 5), 0.8)})
            specs[name] = spec
        if kind in ("MPIJob", "XGBoostJob", "PyTorchJob") and self.random.random() < 0.2:
            specs.pop("Worker")
        elif kind == "PyTorchJob" and self.random.random() < 0.2:
            specs.pop("Master")
        return specs

    def job(self, number):
        kind = self.random.choice([*NODES])
        replicas, main_name, _, types = NODES[kind]
        spec = {replicas: self.replicas(kind, types, main_name)}
        for policy in self.maybe(self.policy(), 0.8):
            spec["runPolicy"] = policy
        if kind == "PyTorchJob":
            count = self.random.choice(["4", "auto", "cpu", "gpu"])
            spec.update({"nprocPerNode": copied for copied in self.maybe(count)})
            spec.update({"elasticPolicy": policy for policy in self.maybe({"minReplicas": 1}, 0.1)})
        if kind == "MPIJob":
            spec.update({"slotsPerWorker": count for count in self.maybe(self.random.choice([1, 2, 8]))})
            spec.update({"cleanPodPolicy": policy for policy in self.maybe("Running", 0.2)})
            if "Worker" in spec[replicas]:
                spec.update({"mainContainer": name for name in self.maybe(main_name, 0.2)})
        metadata = {"name": f"made-{number}", "namespace": "team", "labels": {"a": "b"}}
        metadata.update({"annotations": {"roundhouse.dev/restart": "job"} for _ in self.maybe(0, 0.1)})
        return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": metadata, "spec": spec}


def by_default(job):
    """-> the job with V1's defaults, and its nodes as a TrainJob counts them: one is the first type, the rest are
    Workers."""
    job = copy.deepcopy(job)
    replicas, _, restart, types = NODES[job["kind"]]
    # types of any case are V1's
    specs = job["spec"][replicas] = {key.capitalize(): spec for key, spec in job["spec"][replicas].items()}
    for name, spec in specs.items():
        spec.setdefault("replicas", 0 if (job["kind"], name) == ("MPIJob", "Worker") else 1)
        spec.setdefault("restartPolicy", restart)
    if job["kind"] == "MPIJob":
        job["spec"].setdefault("slotsPerWorker", 1)
        former = job["spec"].pop("cleanPodPolicy", None)
        if former:
            job["spec"].setdefault("runPolicy", {}).setdefault("cleanPodPolicy", former)
    elif types[0] == "Master" and "Master" not in specs:
        specs["Master"] = {**copy.deepcopy(specs["Worker"]), "replicas": 1}
        specs["Worker"]["replicas"] -= 1
    if specs.get("Worker", {}).get("replicas") == 0 and job["kind"] != "MPIJob":
        specs.pop("Worker")
    if not job["spec"].get("runPolicy", True):
        job["spec"].pop("runPolicy")
    job.pop("status", None)
    return job


def differences(one, other, path=""):
    """-> the paths at which two trees differ, keys with points between them"""
    if type(one) is type(other) is dict:
        for key in {**one, **other}:
            yield from differences(one.get(key), other.get(key), f"{path}.{key}")
    elif type(one) is type(other) is list and len(one) == len(other):
        for index, pair in enumerate(zip(one, other)):
            yield from differences(*pair, f"{path}.{index}")
    elif one != other:
        yield path[1:]


def plain(path):
    return path.replace("][", ".").replace("[", ".").replace("]", "")


def is_named(path, notes, kind):
    """-> whether a note is about this field, or about one in it or around it; that all replicas become something else
    is not enough"""
    for effect, noted, _ in notes:
        noted = plain(noted)
        if effect != "moved" and noted != f"spec.{NODES[kind][0]}" and (f"{path}.".startswith(f"{noted}.") or
                                                                        f"{noted}.".startswith(f"{path}.")):
            return True
    return False


class RoundTrips(Case):
    def there_and_back(self, jobs):
        made, notes = convert(jobs, "--to", "trainjob")
        self.assertEqual([item["kind"] for item in made], ["TrainingRuntime", "TrainJob"] * len(jobs))
        back, _ = convert(made)
        self.assertEqual(len(back), len(jobs))
        differ = 0
        for job, again in zip(jobs, back):
            name = job["metadata"]["name"]
            given = job["spec"][NODES[job["kind"]][0]]
            for path in differences(by_default(job), again):
                differ += 1
                if "Master" not in given:  # one of the Workers is the Master now
                    path = path.replace(".Master.", ".Worker.")
                self.assertTrue(is_named(path, notes[name], job["kind"]),
                                f"{path} is lost in silence (seed {SEED}):\n{json.dumps(job)}\n{json.dumps(again)}\n"
                                f"{notes[name]}")
        return differ

    def test_goldens_come_back_but_for_what_is_named(self):
        self.there_and_back(goldens(NODES))

    def test_jobs_by_chance_come_back_but_for_what_is_named(self):
        maker = Maker(SEED)
        self.assertGreater(self.there_and_back([maker.job(number) for number in range(MADE)]), MADE)

    def test_a_job_without_losses_comes_back_as_it_was(self):
        template = {"spec": {"containers": [{"name": "pytorch", "image": "i", "command": ["torchrun", "t.py"]}]}}
        spec = {"replicas": 1, "restartPolicy": "OnFailure", "template": template}
        job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "one"},
               "spec": {"nprocPerNode": "2", "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": 3},
                        "pytorchReplicaSpecs": {"Master": spec, "Worker": {**spec, "replicas": 3}}}}
        made, notes = convert([job], "--to", "trainjob")
        self.assertNotIn("lost", [effect for effect, _, _ in notes["one"]])
        self.assertEqual(convert(made)[0], [job])

    def test_what_comes_back_is_valid(self):
        back, _ = convert(convert(goldens(("PyTorchJob", "XGBoostJob", "MPIJob")), "--to", "trainjob")[0])
        done = call("lint", "-o", "json", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": back}))
        self.assertEqual(done.returncode, 0, done.stdout)


class Types(Case):
    """TFJob and PaddleJob: a replicated job for each type, with V1's variables."""

    def test_templates_stay_as_they_are(self):
        jobs = goldens(TYPES)
        made, _ = convert(jobs, "--to", "trainjob")
        self.assertEqual(len(made), 2 * len(jobs))
        for job, runtime in zip(jobs, made[::2]):
            replicas, main_name, restart = TYPES[job["kind"]]
            pods = 0
            for replicated in jobs_of(runtime).values():
                pods += replicated["template"]["spec"]["parallelism"]
                self.assertTrue(any(self.is_of(spec, replicated, main_name, restart)
                                    for spec in job["spec"][replicas].values()), (job, replicated))
            self.assertEqual(pods, sum(spec.get("replicas", 1) for spec in job["spec"][replicas].values()))

    def is_of(self, spec, replicated, main_name, restart):
        template = copy.deepcopy(replicated["template"]["spec"]["template"])
        policy = template["spec"].pop("restartPolicy")
        containers = template["spec"]["containers"]
        original = copy.deepcopy(spec["template"])
        original["spec"].pop("restartPolicy", None)
        for container, given in zip(containers, original["spec"]["containers"]):
            if container["name"] == "node":
                container["name"] = main_name
            # variables of the operator stand behind those of the job
            kept = container.get("env", [])[:len(given.get("env", []))]
            container.pop("env", None)
            container.update({"env": kept} if "env" in given else {})
        wanted = {"Always": "OnFailure", "ExitCode": "Never"}
        given = spec.get("restartPolicy", restart)
        return template == original and policy == wanted.get(given, given)

    def job(self, kind, **types):
        replicas, main_name, _ = TYPES[kind]
        return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": "j"}, "spec": {replicas: {
            name: {"replicas": count, "template": {"spec": {"containers": [{"name": main_name, "image": "i"}]}}}
            for name, count in types.items()}}}

    def env(self, job):
        return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in pod(job)["containers"][0]["env"]}

    def test_tf_config_names_the_pods_as_trainer_does(self):
        runtime, trainjob, _ = there(self.job("TFJob", Worker=2, PS=1))
        self.assertEqual(trainjob["spec"], {"runtimeRef": {"kind": "TrainingRuntime", "name": "j"}})
        jobs = jobs_of(runtime)
        self.assertEqual({name: job["template"].get("metadata", {}).get("labels") for name, job in jobs.items()},
                         {"ps": None, "node": {STEP: "trainer"}})
        for name, kind in (("node", "worker"), ("ps", "ps")):
            env = self.env(jobs[name])
            self.assertEqual([*env], ["JOB_COMPLETION_INDEX", "TF_CONFIG"])
            self.assertEqual(env["JOB_COMPLETION_INDEX"], {"fieldRef": {
                "fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}})
            config = json.loads(env["TF_CONFIG"].replace("$(JOB_COMPLETION_INDEX)", "1"))
            self.assertEqual(config, {"cluster": {"ps": ["j-ps-0-0.j:2222"],
                                                  "worker": ["j-node-0-0.j:2222", "j-node-0-1.j:2222"]},
                                      "task": {"type": kind, "index": 1}, "environment": "cloud"})

    def test_who_decides_is_as_in_v1(self):
        def policies(job):
            runtime, _, _ = there(job)
            return (runtime["spec"]["template"]["spec"].get("successPolicy", {}).get("targetReplicatedJobs"),
                    {name: job["template"]["spec"]["successPolicy"] for name, job in jobs_of(runtime).items()
                     if "successPolicy" in job["template"]["spec"]})
        first = {"rules": [{"succeededIndexes": "0"}]}
        self.assertEqual(policies(self.job("TFJob", Worker=2, PS=1)), (["node"], {"node": first}))
        self.assertEqual(policies(self.job("TFJob", Worker=2, Chief=1)), (["chief"], {}))
        self.assertEqual(policies(self.job("TFJob", Master=1)), (["node"], {}))
        every = self.job("TFJob", Worker=2)
        every["spec"]["successPolicy"] = "AllWorkers"
        self.assertEqual(policies(every), (["node"], {}))
        self.assertEqual(policies(self.job("PaddleJob", Worker=3)), (["node", "leader"], {}))
        self.assertEqual(policies(self.job("PaddleJob", Worker=3, Master=1)), (["master"], {}))

    def test_a_tfjob_of_one_has_no_config(self):
        runtime, _, _ = there(self.job("TFJob", Worker=1))
        self.assertNotIn("env", pod(jobs_of(runtime)["node"])["containers"][0])

    def test_what_a_tfjob_loses(self):
        job = self.job("TFJob", Worker=2, PS=0)
        job["spec"]["enableDynamicWorker"] = True
        job["spec"]["tfReplicaSpecs"]["Worker"]["restartPolicy"] = "Always"
        job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["env"] = [
            {"name": "TF_CONFIG", "value": "{}"}]
        runtime, _, notes = there(job)
        self.assertEqual([*jobs_of(runtime)], ["node"])
        self.assertEqual([path for effect, path, _ in notes if effect == "lost"], [
            "spec.tfReplicaSpecs[Worker].restartPolicy",
            "spec.tfReplicaSpecs[Worker].template.spec.containers[tensorflow].env[TF_CONFIG]",
            "spec.enableDynamicWorker"])
        self.assertIn(("implied", "spec.tfReplicaSpecs[PS]"), [note[:2] for note in notes])

    def test_the_first_paddle_worker_serves_the_rendezvous(self):
        runtime, _, _ = there(self.job("PaddleJob", Worker=3))
        jobs = jobs_of(runtime)
        self.assertEqual({name: job["template"]["spec"]["completions"] for name, job in jobs.items()},
                         {"node": 2, "leader": 1})
        self.assertEqual(self.env(jobs["leader"]), {
            "PYTHONUNBUFFERED": "1", "PADDLE_JOB_ID": "j", "PADDLE_NNODES": "3",
            "POD_IP_DUMMY": {"fieldRef": {"fieldPath": "status.podIP"}}, "PADDLE_MASTER": "$(POD_IP_DUMMY):36543"})
        self.assertEqual(self.env(jobs["node"])["PADDLE_MASTER"], "j-leader-0-0.j:36543")

    def test_exit_codes(self):
        job = self.job("TFJob", Worker=2)
        job["spec"]["tfReplicaSpecs"]["Worker"]["restartPolicy"] = "ExitCode"
        runtime, _, _ = there(job)
        spec = jobs_of(runtime)["node"]["template"]["spec"]
        self.assertEqual((spec["template"]["spec"]["restartPolicy"], spec["backoffLimit"]), ("Never", 2 ** 31 - 1))
        self.assertEqual(spec["podFailurePolicy"], {"rules": [{"action": "FailJob", "onExitCodes": {
            "containerName": "node", "operator": "In", "values": [*range(1, 128)]}}]})

    def test_what_cannot_be_read_is_refused(self):
        for spec, words in (({}, "no type has replicas"), ({"Worker": "x"}, r"\[Worker\]: must be the replicas"),
                            ({"Worker": {}}, "there is no container"),
                            ({"Worker": {"template": {"spec": {"containers": [
                                {"name": "tensorflow"}, {"name": "node"}]}}}}, "give the other one of that name anoth"),
                            ({"Worker": {"replicas": 10 ** 6, "template": {"spec": {"containers": [{}]}}}},
                             "longer than a variable")):
            job = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": "j"},
                   "spec": {"tfReplicaSpecs": spec}}
            done = call("convert", "--to", "trainjob", "-", text=json.dumps(job))
            self.assertEqual((done.returncode, done.stdout), (2, ""), spec)
            self.assertRegex(done.stderr, words)


class Mpi(Case):
    TEMPLATE = {"spec": {"containers": [{"name": "m", "image": "i", "command": ["mpirun", "t"],
                                         "resources": {"limits": {"nvidia.com/gpu": 2}}}]}}

    def job(self, api="kubeflow.org/v1", **spec):
        worker = copy.deepcopy(self.TEMPLATE)
        del worker["spec"]["containers"][0]["command"]
        return {"apiVersion": api, "kind": "MPIJob", "metadata": {"name": "m"}, "spec": {
            "mpiReplicaSpecs": {"Launcher": {"template": self.TEMPLATE}, "Worker": {"replicas": 3, "template": worker}},
            **spec}}

    def test_the_launcher_waits_for_nodes_with_sshd(self):
        runtime, trainjob, notes = there(self.job(slotsPerWorker=2))
        self.assertEqual(trainjob["spec"]["trainer"], {"numNodes": 3, "numProcPerNode": 2, "image": "i",
                                                       "command": ["mpirun", "t"]})
        self.assertEqual(runtime["spec"]["mlPolicy"], {"numNodes": 1, "mpi": {
            "mpiImplementation": "OpenMPI", "numProcPerNode": 2, "sshAuthMountPath": "/root/.ssh"}})
        jobs = jobs_of(runtime)
        self.assertEqual(jobs["launcher"]["dependsOn"], [{"name": "node", "status": "Ready"}])
        self.assertEqual(jobs["launcher"]["template"]["metadata"]["labels"], {STEP: "trainer"})
        self.assertEqual(pod(jobs["node"])["containers"], [{
            "name": "node", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 2}},
            "command": ["/usr/sbin/sshd", "-De"]}])
        self.assertEqual(jobs["node"]["template"]["spec"]["backoffLimit"], 0)
        self.assertNotIn("lost", [effect for effect, _, _ in notes])

    def test_v2beta1_keeps_what_trainer_has_too(self):
        runtime, trainjob, notes = there(self.job(
            "kubeflow.org/v2beta1", sshAuthMountPath="/home/u/.ssh", runLauncherAsWorker=True,
            mpiImplementation="MPICH", launcherCreationPolicy="WaitForWorkersReady",
            runPolicy={"backoffLimit": 4, "cleanPodPolicy": "Running"}))
        self.assertEqual(runtime["spec"]["mlPolicy"]["mpi"]["sshAuthMountPath"], "/home/u/.ssh")
        self.assertTrue(runtime["spec"]["mlPolicy"]["mpi"]["runLauncherAsNode"])
        self.assertEqual(trainjob["spec"]["trainer"]["numNodes"], 4)
        jobs = jobs_of(runtime)
        self.assertIn("dependsOn", jobs["launcher"])
        self.assertEqual({job["template"]["spec"]["backoffLimit"] for job in jobs.values()}, {4})
        self.assertEqual(pod(jobs["launcher"])["restartPolicy"], "OnFailure")
        self.assertEqual([path for effect, path, _ in notes if effect == "lost"], ["spec.mpiImplementation"])
        runtime, _, notes = there(self.job("kubeflow.org/v2beta1"))
        self.assertNotIn("dependsOn", jobs_of(runtime)["launcher"])
        self.assertNotIn("backoffLimit", jobs_of(runtime)["launcher"]["template"]["spec"])
        # ranks of the launcher as well as those of the nodes
        back, _ = convert(convert([self.job("kubeflow.org/v2beta1", runLauncherAsWorker=True)], "--to", "trainjob")[0])
        self.assertEqual(back[0]["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"], 4)

    def test_slots_are_the_gpus_where_nobody_says_how_many(self):
        made, _ = convert([self.job()], "--to", "trainjob")
        del made[1]["spec"]["trainer"]["numProcPerNode"]
        self.assertEqual(convert(made)[0][0]["spec"]["slotsPerWorker"], 2)

    def test_a_launcher_alone_gets_a_node(self):
        job = self.job()
        del job["spec"]["mpiReplicaSpecs"]["Worker"]
        runtime, trainjob, notes = there(job)
        self.assertEqual(trainjob["spec"]["trainer"]["numNodes"], 1)
        self.assertEqual(pod(jobs_of(runtime)["node"])["containers"][0]["command"], ["/usr/sbin/sshd", "-De"])
        self.assertIn(("changed", "spec.mpiReplicaSpecs[Worker].replicas"), [note[:2] for note in notes])

    def test_what_cannot_be_read_is_refused(self):
        for spec, words in (({"mpiReplicaSpecs": {}}, r"\[Launcher\]: Required value"),
                            ({"slotsPerWorker": 0}, "spec.slotsPerWorker: must be an integer of at least 1")):
            done = call("convert", "--to", "trainjob", "-", text=json.dumps(self.job(**spec)))
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, words)


class Back(Case):
    """What Trainer takes, as jobs of V1."""

    @classmethod
    def setUpClass(cls):
        cls.runtimes = [*yaml.load_all((TRAINER / "runtimes.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)]
        cls.jobs = {job["metadata"]["name"]: job
                    for job in yaml.load_all((TRAINER / "jobs.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)}

    def back(self, name):
        (job,), notes = convert([self.jobs[name], *(runtime for runtime in self.runtimes if self.is_of(name, runtime))])
        return job, notes[name]

    def is_of(self, name, runtime):
        reference = self.jobs[name]["spec"]["runtimeRef"]
        return (runtime["metadata"]["name"], runtime["kind"]) == (reference["name"],
                                                                 reference.get("kind", "ClusterTrainingRuntime"))

    def test_jobs_of_all_policies(self):
        kinds = {}
        for name, job in self.jobs.items():
            if name.startswith("plain"):
                continue
            made, _ = self.back(name)
            kinds[made["kind"]] = kinds.get(made["kind"], 0) + 1
            replicas = NODES[made["kind"]][0]
            counted = sum(spec["replicas"] for spec in made["spec"][replicas].values())
            nodes = job["spec"].get("trainer", {}).get("numNodes")
            if nodes and made["kind"] != "MPIJob":
                self.assertEqual(counted, nodes, name)
            # the volume of the initializers is lost, and named
            if made["kind"] != "JAXJob" and name not in ("pt-init", "tune-1b"):
                done = call("lint", "-", text=json.dumps(made))
                self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual({*kinds}, {*NODES})

    def test_the_trainjob_counts_before_its_runtime(self):
        made, notes = self.back("pt-ns-runtime")
        job, container = self.jobs["pt-ns-runtime"]["spec"]["trainer"], None
        for container in made["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"]:
            if container["name"] == "pytorch":
                break
        wanted = {"LEVEL": "info", "KEEP": "yes"} | {entry["name"]: entry["value"] for entry in job["env"]}
        self.assertEqual({entry["name"]: entry["value"] for entry in container["env"]}, wanted)
        self.assertEqual(container["volumeMounts"], [{"name": "scratch", "mountPath": "/scratch"}])
        self.assertIn("TrainingRuntime.spec.mlPolicy.torch.envInjection",
                      [path for effect, path, _ in notes if effect == "lost"])

    def test_every_loss_is_named(self):
        lost = {name: [path for effect, path, _ in self.back(name)[1] if effect == "lost"]
                for name in ("pt-init", "pt-patches", "pt-cosched", "pt-volcano")}
        self.assertIn("spec.initializer", lost["pt-init"])
        jobs = "TrainingRuntime.spec.template.spec.replicatedJobs"
        for path in (f"{jobs}[dataset-initializer]", f"{jobs}[model-initializer]",
                     "TrainingRuntime.spec.template.spec.volumeClaimPolicies"):
            self.assertIn(path, lost["pt-init"])
        self.assertTrue(any(path.startswith(f"{jobs}.node.dependsOn") for path in lost["pt-init"]), lost["pt-init"])
        self.assertIn("spec.runtimePatches", lost["pt-patches"])
        self.assertIn("TrainingRuntime.spec.podGroupPolicy", lost["pt-cosched"])
        self.assertIn("spec.trainer.command", [path for effect, path, _ in self.back("tune-1b")[1] if effect == "lost"])
        self.assertTrue(any("scheduling.volcano.sh/queue-name" in path for path in lost["pt-volcano"]))

    def test_restarts(self):
        def made(limit, policy):
            runtime = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime",
                       "metadata": {"name": "r", "namespace": "default"}, "spec": {
                           "mlPolicy": {"torch": {}}, "template": {"spec": {"replicatedJobs": [{
                               "name": "node", "template": {"spec": {**limit, "template": {"spec": {
                                   **policy, "containers": [{"name": "node", "image": "i"}]}}}}}]}}}}
            job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "j"},
                   "spec": {"runtimeRef": {"kind": "TrainingRuntime", "name": "r"}}}
            spec = convert([runtime, job])[0][0]["spec"]
            return spec["pytorchReplicaSpecs"]["Master"]["restartPolicy"], spec["runPolicy"].get("backoffLimit")
        self.assertEqual(made({}, {}), ("OnFailure", 6))
        self.assertEqual(made({"backoffLimit": 0}, {"restartPolicy": "Never"}), ("Never", None))
        self.assertEqual(made({"backoffLimit": 2}, {"restartPolicy": "Never"}), ("OnFailure", 2))
        self.assertEqual(made({"backoffLimit": 2 ** 31 - 1}, {"restartPolicy": "OnFailure"}), ("OnFailure", None))

    def test_the_runtime_has_to_be_there_and_to_have_a_policy(self):
        job = self.jobs["pt-2n"]
        done = call("convert", "-", text=json.dumps(job))
        self.assertEqual(done.returncode, 2)
        self.assertIn('spec.runtimeRef: no ClusterTrainingRuntime "torch-distributed" among the files', done.stderr)
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [self.jobs["plain-2n"], *self.runtimes]})
        done = call("convert", "-", text=text)
        self.assertEqual(done.returncode, 2)
        self.assertIn("the runtime has no mlPolicy for which there is a kind", done.stderr)
        for reference, words in (({}, "spec.runtimeRef.name: Required value"),
                                 ({"name": "r", "kind": "Runtime"}, '"Runtime" must be TrainingRuntime or Cluster')):
            done = call("convert", "-", text=json.dumps({**job, "spec": {"runtimeRef": reference}}))
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)

    def test_what_cannot_be_read_is_refused(self):
        runtime = next(item for item in self.runtimes if item["metadata"]["name"] == "torch-distributed")
        for trainer, words in (({"env": "x"}, "spec.trainer.env: must be a list"), ({"numNodes": 0}, "at least 1"),
                               ({"resourcesPerNode": [1]}, "spec.trainer.resourcesPerNode: must be an object"),
                               ({"numProcPerNode": "auto"}, "spec.trainer.numProcPerNode: must be an integer")):
            job = copy.deepcopy(self.jobs["pt-2n"])
            job["spec"]["trainer"] = trainer
            done = call("convert", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": [job, runtime]}))
            self.assertEqual((done.returncode, done.stdout), (2, ""), trainer)
            self.assertIn(words, done.stderr)
        job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "j"},
               "spec": {"runPolicy": ["x"], "pytorchReplicaSpecs": {"Master": {"template": {"spec": {
                   "containers": [{"name": "pytorch", "image": "i"}]}}}}}}
        done = call("convert", "--to", "trainjob", "-", text=json.dumps(job))
        self.assertEqual(done.returncode, 2)
        self.assertIn("spec.runPolicy: must be an object", done.stderr)

    def test_trainjobs_become_mpijobs_of_v2beta1_through_v1(self):
        made = [item for item in self.runtimes if item["metadata"]["name"] == "own-mpi"]
        (job,), _ = convert([self.jobs["mpi-own"], *made], "--to", "mpi-v2beta1")
        self.assertEqual((job["apiVersion"], job["kind"]), ("kubeflow.org/v2beta1", "MPIJob"))
        self.assertEqual(job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"], 3)

    def test_runtimes_that_no_trainjob_uses_are_printed(self):
        self.assertEqual(len(convert(self.runtimes)[0]), len(self.runtimes))


if __name__ == "__main__":
    main()
