# SPDX-License-Identifier: Apache-2.0
"""Objects of a TrainJob in the form in which they are compared with those that Trainer made: by kind and name, without
what an API server fills in, what cannot be the same without JobSet (owners, UIDs, the random end of a pod's name), and
the order of env, which changes with each start of Trainer."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import compare_objects  # noqa: E402

UIDS = {"jobset.sigs.k8s.io/jobset-uid", "batch.kubernetes.io/controller-uid", "controller-uid"}
FINALIZERS = ("batch.kubernetes.io/job-tracking", "kubernetes.io/pvc-protection")
BELOW = ("Pod", "Service", "PersistentVolumeClaim")


def drop_default(value, **defaults):
    for key, default in defaults.items():
        if value.get(key) == default:
            del value[key]


def prune(value):
    """Without nulls, and without empty maps and lists but emptyDir."""
    if isinstance(value, dict):
        kept = {key: prune(member) for key, member in value.items()}
        return {key: member for key, member in kept.items() if member not in (None, {}, []) or key == "emptyDir"}
    return [prune(item) for item in value] if isinstance(value, list) else value


def strip_env(container):
    for entry in container.get("env", []):
        drop_default(entry.get("valueFrom", {}).get("fieldRef", {}), apiVersion="v1")
    container.get("env", []).sort(key=lambda entry: entry["name"])
    for probe in ("readinessProbe", "livenessProbe", "startupProbe"):
        drop_default(container.get(probe, {}), timeoutSeconds=1, periodSeconds=10, successThreshold=1,
                     failureThreshold=3)


def strip(item):
    """One object, compared by this form."""
    metadata, spec = item["metadata"], item.get("spec", {})
    owners = metadata.pop("ownerReferences", [])
    for table in (metadata.get("labels", {}), metadata.get("annotations", {}), spec.get("selector", {})):
        table.update({key: "UID" for key in UIDS & set(table)})
    metadata["finalizers"] = [name for name in metadata.get("finalizers", []) if name not in FINALIZERS]
    if item["kind"] == "Pod":
        metadata["name"] = spec.get("hostname", metadata["name"])
        for container in spec.get("containers", []) + spec.get("initContainers", []):
            strip_env(container)
        for volume in spec.get("volumes", []):
            for source in ("configMap", "secret"):
                drop_default(volume.get(source, {}), defaultMode=420)
    item = compare_objects.strip(item)
    if item["kind"] == "Secret":
        item["data"] = {key: "(key material)" for key in item.get("data", {})}
    if item["kind"] == "ConfigMap" and metadata["name"].endswith("-runtime-snapshot"):
        item["data"] = {key: "(the runtime as YAML)" for key in item.get("data", {})}
    if item["kind"] not in BELOW or not any(owner["kind"] in ("Job", "JobSet") for owner in owners):
        item["owner"] = [owner["kind"] for owner in owners if owner.get("controller")]
    else:
        item["owner"] = ["TrainJob"]
    item["metadata"].pop("namespace", None)
    return prune(item)


def by_name(items):
    made = [strip(json.loads(json.dumps(item))) for item in items]
    return {(item["kind"], item["metadata"]["name"]): item for item in made}


def load(path):
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    return by_name(found["items"] if isinstance(found, dict) else found)
