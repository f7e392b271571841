# SPDX-License-Identifier: Apache-2.0
"""Jobs of all kinds by chance, from what V1's definitions have; a few fields of each are odd or wrong."""
import random

MAPS = {"PyTorchJob": "pytorchReplicaSpecs", "TFJob": "tfReplicaSpecs", "XGBoostJob": "xgbReplicaSpecs",
        "MPIJob": "mpiReplicaSpecs", "PaddleJob": "paddleReplicaSpecs"}
MAIN = {"PyTorchJob": "pytorch", "TFJob": "tensorflow", "XGBoostJob": "xgboost", "MPIJob": "mpi", "PaddleJob": "paddle"}
TYPES = {"PyTorchJob": (["Worker"], ["Master"], ["Master", "Worker"]),
         "TFJob": (["Worker"], ["Chief", "PS", "Worker"], ["worker", "evaluator"]),
         "XGBoostJob": (["Master"], ["Master", "Worker"]), "MPIJob": (["Launcher"], ["Launcher", "Worker"]),
         "PaddleJob": (["Worker"], ["Master", "Worker"])}
QUANTITIES = (1, 0, "500m", "1Gi", "1e3", "1E2", "1e-2", "+2", ".5", "2.", "3k", "1n", "100u", "2E", "5Pi", None,
              "${CPU}", "", "lots", "1e", "1e1.5", "1 Gi", "-1", 0.5, True, "1Ki ", "0x10", "1mm")
WORDS = ("a", "", None, 3, True, ["a"], {"a": "b"})
COUNTS = (0, 1, 2, None, -1, "2", 1.5, 2 ** 31, True)


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def job(self, name):
        """-> a job; most are good but for what the twists make of them."""
        kind = self.random.choice(sorted(MAPS))
        replicas = {type_: {"replicas": 1, "template": self.template(kind)}
                    for type_ in self.random.choice(TYPES[kind])}
        spec = {MAPS[kind]: replicas}
        job = {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": name, "namespace": "default"},
               "spec": spec}
        twists = [getattr(self, twist) for twist in sorted(dir(self)) if twist.startswith("twist_")]
        for twist in self.random.choices(twists, k=self.random.randint(0, 3)):
            replica = self.random.choice([value for value in replicas.values() if value]
                                         or [{"template": self.template(kind)}])
            twist(job, replica, replica["template"], replica["template"]["spec"]["containers"][0])
        return job

    def template(self, kind):
        return {"spec": {"containers": [{"name": MAIN[kind], "image": "i:1"}]}}

    def one(self, *values):
        return self.random.choice(values)

    def several(self, make, most=3):
        return [make() for _ in range(self.random.randint(0, most))]

    def quantities(self):
        return {key: self.random.choice(QUANTITIES) for key in self.random.sample(["cpu", "memory",
                                                                                   "ephemeral-storage"], 2)}

    def policy(self, job):
        policy = job["spec"].setdefault("runPolicy", {})
        return policy if isinstance(policy, dict) else {}

    def twist_clean(self, job, *_):
        self.policy(job)["cleanPodPolicy"] = self.one("All", "None", "Running", None, "Some", 3)

    def twist_limits(self, job, *_):
        self.policy(job)[self.one("backoffLimit", "ttlSecondsAfterFinished", "activeDeadlineSeconds")] = self.one(1000,
                *COUNTS)

    def twist_suspend(self, job, *_):
        self.policy(job)["suspend"] = self.one(True, False, None, "yes")

    def twist_manager(self, job, *_):
        self.policy(job)["managedBy"] = self.one("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue", None,
                                                 "me", "")

    def twist_gang(self, job, *_):
        self.policy(job)["schedulingPolicy"] = self.one(
            None, {}, {"minAvailable": self.one(*COUNTS)}, {"queue": self.one(*WORDS)},
            {"minResources": self.quantities()}, {"priorityClass": self.one(*WORDS),
                                                  "scheduleTimeoutSeconds": self.one(*COUNTS)})

    def twist_no_policy(self, job, *_):
        job["spec"]["runPolicy"] = self.one(None, {}, [])

    def twist_replicas(self, job, replica, *_):
        replica["replicas"] = self.one(*COUNTS)

    def twist_restart(self, job, replica, *_):
        replica["restartPolicy"] = self.one("Always", "OnFailure", "Never", "ExitCode", "", None, "Maybe", 3)

    def twist_types(self, job, *_):
        types = job["spec"][MAPS[job["kind"]]]
        types[self.one("Worker", "Master", "worker", "Launcher", "Chief", "Strange", "odd_one")] = self.one(
            None, {}, {"replicas": 1, "template": self.template(job["kind"])})

    def twist_labels(self, job, replica, template, container):
        template["metadata"] = self.one(None, {"labels": {"a": self.one("b", None, 3)}},
                                        {"annotations": self.one(None, {"a": self.one("b", None, 3)})},
                                        {"name": "other"}, {"finalizers": []})

    def twist_env(self, job, replica, template, container):
        def variable():
            return {"name": self.one("A", "A", "B", "C", None, ""), **self.one(
                {}, {"value": self.one("1", None, "", 1, True)},
                {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"valueFrom": {"resourceFieldRef": {"resource": "limits.cpu",
                                                    "divisor": self.one("1m", "1", "one", None)}}})}
        container["env"] = self.one(None, [None], self.several(variable), self.several(variable))

    def twist_resources(self, job, replica, template, container):
        container["resources"] = self.one(None, {"limits": self.quantities()}, {"limits": self.quantities()},
                                          {"requests": self.quantities()},
                                          {"limits": None, "requests": self.quantities()})

    def twist_ports(self, job, replica, template, container):
        def port():
            return {"containerPort": self.one(80, 80, 81, 0, 70000, None, "80"), **self.one(
                {}, {}, {"protocol": self.one("TCP", "UDP", None)},
                {"name": self.one("a", "b", None, "much-too-long-a-name")})}
        container["ports"] = self.several(port)

    def twist_volumes(self, job, replica, template, container):
        def volume():
            return {"name": self.one("a", "b", "c", None),
                    "emptyDir": self.one({}, {"sizeLimit": self.one("1Gi", "big", None, 1)})}
        template["spec"]["volumes"] = self.several(volume)
        if self.one(True, False):
            container["volumeMounts"] = self.several(lambda: {"name": self.one("a", "b", "mpi-job-config"),
                                                              "mountPath": self.one("/a", "/b", None)})

    def twist_words(self, job, replica, template, container):
        container[self.one("command", "args")] = self.one([], None, ["a"], ["a", None], ["a", 3], "a")

    def twist_image(self, job, replica, template, container):
        container[self.one("image", "name")] = self.one("i", "", None, 3, "Not_A_Label")

    def twist_init(self, job, replica, template, container):
        template["spec"]["initContainers"] = self.one(None, [], [{"name": "i", "image": "i"}],
                                                      [{"name": "i", "image": "i"}] * 2,
                                                      [{"name": container.get("name"), "image": "i"}], [{"name": "i"}],
                                                      [None])

    def twist_containers(self, job, replica, template, container):
        template["spec"]["containers"] += self.one([{"name": "b", "image": "i"}], [{"name": "b", "image": "i"}] * 2,
                                                   [None], [{"image": "i"}])

    def twist_pod(self, job, replica, template, container):
        template["spec"].update(self.one(
            {"nodeSelector": {"a": self.one("b", None, 3)}}, {"hostNetwork": self.one(True, None, "yes")},
            {"restartPolicy": "Never"}, {"terminationGracePeriodSeconds": self.one(3, None, "3", 1.5)},
            {"tolerations": self.one([], None, [{"operator": "Exists"}], "all")},
            {"imagePullSecrets": self.several(lambda: {"name": self.one("a", "b")})},
            {"schedulerName": self.one("mine", None)}, {"securityContext": self.one(None,
                    {"runAsUser": self.one(1000, None, "root")})}, {"resources": None},
            {"affinity": self.one(None, {}, {"nodeAffinity": None}, 3)}))

    def twist_kind(self, job, *_):
        job["spec"].update({
            "PyTorchJob": self.one({"nprocPerNode": self.one("auto", "4", "hpu", "many", "", None, 4)},
                                   {"elasticPolicy": self.one(None,
                                                              {"minReplicas": 1, "maxReplicas": self.one(2, 0, None)},
                                                              {"rdzvBackend": self.one("c10d", None, 3)})}),
            "TFJob": self.one({"successPolicy": self.one("", "AllWorkers", None, "Any")},
                              {"enableDynamicWorker": self.one(True, None, "yes")}),
            "MPIJob": self.one({"slotsPerWorker": self.one(1, None, 0, "1")},
                               {"cleanPodPolicy": self.one("All", None, "Some")},
                               {"mainContainer": self.one("mpi", "", None, "other")}),
            "PaddleJob": {"elasticPolicy": self.one(None, {"maxReplicas": self.one(2, None)})},
            "XGBoostJob": {}}[job["kind"]])

    def twist_status(self, job, *_):
        job["status"] = self.one(None, {"conditions": [{"type": "Succeeded", "status": "True"}]}, "done")
