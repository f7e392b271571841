# SPDX-License-Identifier: Apache-2.0
"""Jobs that the rules in our CRDs refuse: (name, job, what the API server says).

A row whose job V1's CRDs take, too, is also used as one that was stored before our rules came: stored=True.
"""
import collections

Case = collections.namedtuple("Case", "name job says stored", defaults=[True])


def template(container, image="example/train:1", **fields):
    return {"spec": {"containers": [{"name": container, "image": image}], **fields}}


def job(kind, field, replicas, name="one", policy=None, **spec):
    policy = {"runPolicy": policy} if policy else {}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": name, "namespace": "default"},
            "spec": {field: replicas, **policy, **spec}}


def pytorch(replicas=None, **rest):
    return job("PyTorchJob", "pytorchReplicaSpecs", master() if replicas is None else replicas, **rest)


def tensorflow(replicas, **rest):
    return job("TFJob", "tfReplicaSpecs", {key: {"template": template("tensorflow"), **value} for key,
                                           value in replicas.items()},
               **rest)


def mpi(launcher=None, **rest):
    return job("MPIJob", "mpiReplicaSpecs", {"Launcher": {"template": template("launch"), **(launcher or {})},
                                             "Worker": {"replicas": 2, "template": template("work")}}, **rest)


def xgboost(master_, **rest):
    return job("XGBoostJob", "xgbReplicaSpecs", {"Master": {"template": template("xgboost"), **master_}}, **rest)


def master(**fields):
    return {"Master": {"replicas": 1, "template": template("pytorch"), **fields}}


def container(**fields):
    """-> a Master whose container has these fields."""
    return master(template={"spec": {"containers": [{"name": "pytorch", "image": "example/train:1", **fields}]}})


def workers(count=2):
    return {"Worker": {"replicas": count, "template": template("pytorch")}}


def without(job_, *path):
    at = job_
    for key in path[:-1]:
        at = at[key]
    del at[path[-1]]
    return job_


CASES = [Case(*row) for row in [
    ("no spec", without(pytorch(), "spec"), "spec.pytorchReplicaSpecs: Required value: must be required"),
    ("no map", without(pytorch(), "spec", "pytorchReplicaSpecs"), "spec.pytorchReplicaSpecs: Required value", False),
    ("an empty map", pytorch({}), "spec.pytorchReplicaSpecs: Required value: must have at least one replica type"),
    ("name too long", pytorch(name="a" * 64), "metadata.name: Invalid value: \"object\": must be no more than 63 "
     "characters"),
    ("name of an MPIJob too long", mpi(name="a" * 64), "metadata.name: Invalid value: \"object\": must be no more "
     "than 63"),
    ("name with a dot", pytorch(name="a.b"),
     "metadata.name: Invalid value: \"object\": should match: a DNS-1035 label"),
    ("name of a Service too long", pytorch(workers(11), name="a" * 54),
     "metadata.name: Invalid value: \"object\": must be shorter: the names of the job's Services"),
    ("another's", pytorch(policy={"managedBy": "me"}), "spec.runPolicy.managedBy: Unsupported value: \"me\""),
    ("nobody's", pytorch(policy={"managedBy": ""}), "spec.runPolicy.managedBy: Unsupported value: \"\""),
    ("clean-up", mpi(cleanPodPolicy="Some"), "spec.cleanPodPolicy: Unsupported value: \"Some\""),
    ("restart", xgboost({"replicas": 1, "restartPolicy": "Maybe"}),
     "spec.xgbReplicaSpecs[Master].restartPolicy: Invalid value"),
    ("a count below zero", pytorch(policy={"backoffLimit": -1}), "spec.runPolicy.backoffLimit: Invalid value: -1"),
    ("a count beyond 32 bits", pytorch(policy={"backoffLimit": 2 ** 31}),
     "spec.runPolicy.backoffLimit: Invalid value: 2147483648", False),
    ("a gang below zero", pytorch(policy={"schedulingPolicy": {"minAvailable": -1}}),
     "spec.runPolicy.schedulingPolicy.minAvailable: Invalid value: -1"),
    ("no quantity", pytorch(policy={"schedulingPolicy": {"minResources": {"cpu": "lots"}}}),
     "spec.runPolicy.schedulingPolicy.minResources.cpu: Invalid value: \"lots\"", False),
    ("master without count", pytorch(without(master(), "Master", "replicas")),
     "spec.pytorchReplicaSpecs[Master].replicas: Forbidden: must be 1"),
    ("two masters of XGBoost", xgboost({"replicas": 2}), "spec.xgbReplicaSpecs[Master].replicas: Forbidden: must be 1"),
    ("master of XGBoost without count", xgboost({}), "spec.xgbReplicaSpecs[Master].replicas: Forbidden: must be 1"),
    ("two launchers", mpi({"replicas": 2}), "spec.mpiReplicaSpecs[Launcher].replicas: Forbidden: must be 1"),
    ("no workers at all", pytorch(workers(0)), "spec.pytorchReplicaSpecs[Worker].replicas: Forbidden: must be at "
     "least 1"),
    ("a chief too many", tensorflow({"chief": {"replicas": 2}}),
     "spec.tfReplicaSpecs[Chief].replicas: Forbidden: must be at most 1"),
    ("fewer than none", tensorflow({"Worker": {"replicas": -1}}),
     "spec.tfReplicaSpecs.Worker.replicas: Invalid value: -1"),
    ("more than anyone has", tensorflow({"Worker": {"replicas": 10000001}}), "replicas: Invalid value: 10000001"),
    ("chief and master", tensorflow({"Chief": {}, "master": {}}),
     "spec.tfReplicaSpecs: Forbidden: must not have more than 1 Chief or Master role"),
    ("a type that names no pod", tensorflow({"wor_ker": {}}),
     "spec.tfReplicaSpecs: Invalid value: \"object\": a replica type must"),
    ("when it is done", tensorflow({"Worker": {}}, successPolicy="Any"),
     "spec.successPolicy: Unsupported value: \"Any\""),
    ("no template", pytorch(without(master(), "Master", "template")),
     "spec.pytorchReplicaSpecs[Master].template.spec.containers: Required value: must be specified"),
    ("no containers", pytorch({"Master": {"replicas": 1, "template": {"spec": {"containers": []}}}}),
     "spec.pytorchReplicaSpecs[Master].template.spec.containers: Required value: must be specified"),
    ("no image", mpi({"template": {"spec": {"containers": [{"name": "launch"}]}}}),
     "spec.mpiReplicaSpecs[Launcher].template.spec.containers[0].image: Required value: must be required"),
    ("a number for text", pytorch(master(template={"spec": {"containers": [
        {"name": "pytorch", "image": "i", "env": [{"name": "A", "value": 1}]}]}})), "env[0].value: Invalid value",
     False),
    ("elastic without workers", pytorch(elasticPolicy={"maxRestarts": 3}),
     "spec.pytorchReplicaSpecs[Worker]: Required value: must be configured if elastic policy is used"),
    ("elastic upside down", pytorch(workers(), elasticPolicy={"minReplicas": 3, "maxReplicas": 2}),
     "spec.elasticPolicy.minReplicas: Invalid value: \"object\": must not be greater than maxReplicas"),
    ("elastic from none", pytorch(workers(), elasticPolicy={"minReplicas": 0}),
     "spec.elasticPolicy.minReplicas: Invalid value: 0"),
    ("no port", pytorch(workers(), elasticPolicy={"rdzvPort": 65536}),
     "spec.elasticPolicy.rdzvPort: Invalid value: 65536"),
    ("key with a comma", pytorch(workers(), elasticPolicy={"rdzvConf": [{"key": "a,b", "value": "1"}]}),
     "spec.elasticPolicy.rdzvConf[0].key: Invalid value: \"a,b\""),
    ("key without a value", pytorch(workers(), elasticPolicy={"rdzvConf": [{"key": "a"}]}),
     "spec.elasticPolicy.rdzvConf[0]: Invalid value: \"object\": must have a key and a value"),
    *[(f"quantity {text!r}", pytorch(container(resources={"limits": {"cpu": text}})),
       "resources.limits.cpu: Invalid value", stored)
      for text, stored in (("${CPU}", False), ("", False), ("1 Gi", False), ("1e", False), (0.5, False),
                           ("1e1.5", True))],
    ("request", pytorch(container(resources={"requests": {"memory": "lots"}})),
     "resources.requests.memory: Invalid value", False),
    ("size of a volume", pytorch(master(template=template("pytorch",
                                                          volumes=[{"name": "a", "emptyDir": {"sizeLimit": "big"}}]))),
     "emptyDir.sizeLimit: Invalid value", False),
    ("variable twice", pytorch(container(env=[{"name": "A"}, {"name": "A"}])), "env[1]: Duplicate value"),
    ("port twice", pytorch(container(ports=[{"containerPort": 1}, {"containerPort": 1, "protocol": "TCP"}])),
     "ports[1]: Duplicate value", False),
    ("folder twice", pytorch(container(volumeMounts=[{"name": "a", "mountPath": "/a"}] * 2)),
     "volumeMounts[1]: Duplicate value"),
    ("container twice", pytorch(master(template={"spec": {"containers": [{"name": "pytorch", "image": "i"}] * 2}})),
     "containers[1]: Duplicate value"),
    ("volume twice", pytorch(master(template=template("pytorch", volumes=[{"name": "a"}] * 2))),
     "volumes[1]: Duplicate value"),
    ("null in a list", pytorch(container(command=["a", None])), "command[1]: Invalid value: \"null\"", False),
    ("processes as a number", pytorch(nprocPerNode=4), "spec.nprocPerNode in body must be of type string", False),
    ("slots", mpi(slotsPerWorker=0), "spec.slotsPerWorker: Invalid value: 0"),
    ("a container that no worker has", mpi(mainContainer="launch"),
     "spec.mainContainer: Invalid value: \"object\": must be the name of a container of Worker"),
]]
