# SPDX-License-Identifier: Apache-2.0
"""Hold what `roundhouse explain` says of a kind's pods and objects against what `roundhouse render` makes.

usage: test_contract.py ROUNDHOUSE KIND FILE... : all jobs of that kind in these files are rendered, as they are and as
VARIANTS change them. What a pod has beyond its template, and what objects there are, must be in the contract; what the
contract says without a condition must be in every pod; and each of its entries must occur, but for those of one
machine.
"""
import copy
import json
import os
import subprocess
import sys

import yaml

# Settings that no recorded job has.
VARIANTS = {
    "PyTorchJob": [{"elasticPolicy": {"standalone": True, "rdzvId": "i", "maxRestarts": 3,
                                      "rdzvConf": [{"key": "a", "value": "b"}]}}],
}
LOCAL = "the job runs on one machine"
IGNORED = {"restartPolicy"}  # the core's, as the main container's port is


def roundhouse(program, *words, text=None):
    done = subprocess.run([program, *words], input=text, capture_output=True, text=True, check=False,
                          env={k: v for k, v in os.environ.items() if not k.startswith("ROUNDHOUSE_")})
    if done.returncode != 0:
        raise SystemExit(f"roundhouse {' '.join(words)}: exit status {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def jobs(kind, paths):
    """Every job of that kind, and its variants where it has the field that one changes."""
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for job in yaml.load_all(file, yaml.CSafeLoader):
                if not job or job["kind"] != kind:
                    continue
                yield job
                for variant in VARIANTS.get(kind, []):
                    if all(field in job["spec"] for field in variant):
                        changed = copy.deepcopy(job)
                        for field, value in variant.items():
                            changed["spec"][field].update(value)
                        yield changed


def added(what, name, old, new):
    """(what, name) of each item of a list that the old one does not have."""
    before = {item[name] for item in old or []}
    return {(what, item[name]) for item in new or [] if item[name] not in before}


def container_additions(index, old, new):
    found = added("env", "name", old.get("env"), new.get("env"))
    found |= added("mount", "mountPath", old.get("volumeMounts"), new.get("volumeMounts"))
    for field in sorted(new.keys() - {"env", "volumeMounts", "ports", "resources"}):
        if old.get(field) != new[field]:
            found.add(("field", f"spec.containers[{index}].{field}"))
    return found


def pod_additions(template, pod):
    """What a pod's spec has beyond its template's."""
    old, new = template["spec"], pod["spec"]
    found = added("initContainer", "name", old.get("initContainers"), new.get("initContainers"))
    found |= added("volume", "name", old.get("volumes"), new.get("volumes"))
    for i, container in enumerate(new["containers"]):
        found |= container_additions(i, old["containers"][i], container)
    for field in sorted(new.keys() - {"containers", "initContainers", "volumes"} - IGNORED):
        if old.get(field) != new[field]:
            found.add(("field", f"spec.{field}"))
    return found


class Contract:
    def __init__(self, program, kind):
        page = roundhouse(program, "explain", "-o", "json", kind)
        self.kind = kind
        self.entries = {(entry["what"], entry["name"]): entry for entry in page["contract"]}
        self.used = set()
        self.problems = []
        if len(self.entries) != len(page["contract"]):
            self.problems.append("an entry is there twice")

    def check_pod(self, job, template, pod):
        name, kind = pod["metadata"]["name"], pod["metadata"]["labels"]["training.kubeflow.org/replica-type"]
        found = pod_additions(template, pod)
        for key in sorted(found):
            entry = self.entries.get(key)
            if not entry:
                self.problems.append(f"{job}: pod {name} has {key[0]} {key[1]}, which the contract does not name")
            elif kind not in [t.lower() for t in entry.get("types", [kind])]:
                self.problems.append(f"{job}: {key[0]} {key[1]} is not for type {kind}, but pod {name} has it")
            self.used.add(key)
        for key, entry in self.entries.items():
            meant = key[0] != "object" and "when" not in entry and kind in [t.lower()
                                                                            for t in entry.get("types", [kind])]
            if meant and key not in found:
                self.problems.append(f"{job}: pod {name} has no {key[0]} {key[1]}")

    def check_object(self, job, item):
        key = ("object", f"{item['kind']} {item['metadata']['name'].replace(job, 'JOB', 1)}")
        if key not in self.entries:
            self.problems.append(f"{job}: the contract does not name {key[1]}")
        self.used.add(key)

    def check(self, program, job):
        specs = next(value for field, value in job["spec"].items() if field.endswith("ReplicaSpecs"))
        templates = {name.lower(): spec["template"] for name, spec in specs.items()}
        name = job["metadata"]["name"]
        for item in roundhouse(program, "render", "-o", "json", "-", text=json.dumps(job))["items"]:
            if item["kind"] == "Pod":
                kind = item["metadata"]["labels"]["training.kubeflow.org/replica-type"]
                self.check_pod(name, templates[kind], item)
            elif item["kind"] != "Service":
                self.check_object(name, item)

    def finish(self):
        self.problems += [f"no job has {key[0]} {key[1]}" for key, entry in self.entries.items()
                          if key not in self.used and entry.get("when") != LOCAL]
        for problem in self.problems:
            print(f"{self.kind}: {problem}")
        return not self.problems


def main(argv):
    program, kind = argv[1:3]
    contract = Contract(program, kind)
    count = 0
    for job in jobs(kind, argv[3:]):
        contract.check(program, job)
        count += 1
    if count == 0:
        print(f"no job of kind {kind}")
    done = contract.finish() and count > 0
    if done:
        print(f"{kind}: {len(contract.entries)} entries hold for {count} jobs")
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
