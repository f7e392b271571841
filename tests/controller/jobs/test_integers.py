#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_integers.py ROUNDHOUSE JAX_DIR [TEST...]: integers come through as they are, from file to API server.

The fields are those of the pod schema that the program carries; for each value the API server's own answer to a pod is
the judge. The controller has the rights that `roundhouse manifests` grants.
"""
import copy
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from case import JAX, ROUNDHOUSE, Case, job, main  # noqa: E402
from support import wait_for  # noqa: E402

SCHEMA = pathlib.Path(__file__).resolve().parents[3] / "conf" / "pod-template.openapi.json"
VALUES = [1, 600, 2**31 - 1, 2**31, -2**31, -2**31 - 1, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, -2**63, 2**63,
          -2**63 - 1]
TERM = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
ITEM = {"key": "a", "path": "a"}
DOWNWARD = {"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}
# What must stand beside a field, by the end of the path of the object that holds it.
BESIDE = {
    "Containers[]": {"name": "c", "image": "i"}, "containers[]": {"name": "c", "image": "i"},
    "ports[]": {"containerPort": 1},
    "nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[]": {"preference": TERM},
    "podAffinity.preferredDuringSchedulingIgnoredDuringExecution[]": {"podAffinityTerm": {"topologyKey": "a"}},
    "podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[]": {"podAffinityTerm": {"topologyKey": "a"}},
    "tolerations[]": {"key": "a", "operator": "Exists", "effect": "NoExecute"}, "volumes[]": {"name": "v"},
    "topologySpreadConstraints[]": {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"},
    "awsElasticBlockStore": {"volumeID": "a"}, "gcePersistentDisk": {"pdName": "a"},
    "fc": {"targetWWNs": ["a"], "lun": 0}, "iscsi": {"targetPortal": "a", "iqn": "iqn.2001-04.com.example:a"},
    "volumes[].configMap": {"name": "a"}, "volumes[].secret": {"secretName": "a"}, "sources[].configMap": {"name": "a"},
    "sources[].secret": {"name": "a"}, "configMap.items[]": ITEM, "secret.items[]": ITEM,
    "downwardAPI.items[]": DOWNWARD, "serviceAccountToken": {"path": "a"},
    "volumeClaimTemplate": {"spec": CLAIM},
}
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
# Handlers of a probe; a probe without one gets a command.
HANDLERS = ("grpc", "httpGet", "tcpSocket")
# Numbers as people write them in YAML and in JSON. What kubectl makes of them counts.
LITERALS = ["0", "-0", "+5", "1_000", "1__0", "017", "0o17", "0x1F", "-0x10", "0b101", "08", "1e3", "1.0", "5.",
            "9007199254740993", "9223372036854775807", "-9223372036854775808", "9_223_372_036_854_775_807", "1e18",
            "0x7fffffffffffffff", "9007199254740993.0", "!!int 7", "!!int 0x10"]
JSON_LITERALS = ["0", "-0", "1e3", "1.0", "1E+3", "9007199254740993", "9223372036854775807", "-9223372036854775808",
                 "1e18"]


def fields():
    """-> [path]: every integer of a pod template, such as spec.volumes[].secret.items[].mode

    But for those of ephemeral containers, which are containers that no pod is created with.
    """
    definitions = json.loads(SCHEMA.read_text())["definitions"]
    found = []

    def walk(node, path, seen):
        name = node.get("$ref")
        if name in seen:
            return
        node = definitions[name] if name else node
        seen = {*seen, name} if name else seen
        if "format" in node:
            found.append(path)
        for key, below in node.get("properties", {}).items():
            if key == "ephemeralContainers":
                continue
            walk(below, f"{path}.{key}" if path else key, seen)
        if "items" in node:
            walk(node["items"], path + "[]", seen)

    walk({"$ref": "PodTemplateSpec"}, "", set())
    return found


def template(path, value, mark):
    """-> the smallest template with that value; mark: an own name for what has a name."""
    root = {"spec": {"serviceAccountName": "a", "containers": [{"name": "c", "image": "i"}]}}
    if not path.startswith("spec.containers"):
        root["spec"]["containers"][0]["name"] = f"c{mark}"
    at, walked = root, ""
    steps = path.split(".")
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        walked += ("." if walked else "") + step
        key, listed = step.removesuffix("[]"), step.endswith("[]")
        if last:
            at[key] = [value] if listed else value
            break
        below = at.setdefault(key, [{}] if listed else {})
        at = below[0] if listed else below
        for end, beside in BESIDE.items():
            if walked.endswith(end):
                at.update({k: copy.deepcopy(v) for k, v in beside.items() if k not in at})
        if key in PROBES and steps[number + 1] not in HANDLERS:
            at["exec"] = {"command": ["x"]}
        if "name" in at and (key.lower().endswith("containers") or key == "volumes"):
            at["name"] = f"{key[0]}{mark}"
        if key == "topologySpreadConstraints":
            at["topologyKey"] = f"a{mark}"
    return root


def join(into, other):
    """What two templates hold, lists one after the other."""
    for key, value in other.items():
        if isinstance(value, dict):
            join(into.setdefault(key, {}), value)
        elif isinstance(value, list):
            into.setdefault(key, []).extend(value)
        else:
            into[key] = value


def lacks(wanted, got, path=""):
    """-> what stands in wanted and is not the same in got: [path]"""
    if isinstance(wanted, dict) and isinstance(got, dict):
        return [row for key, value in wanted.items() for row in lacks(value, got.get(key), f"{path}.{key}")]
    if isinstance(wanted, list) and isinstance(got, list):
        pairs = zip(wanted, got[:len(wanted)] + [None] * (len(wanted) - len(got)))
        return [row for index, (a, b) in enumerate(pairs) for row in lacks(a, b, f"{path}[{index}]")]
    return [] if wanted == got else [f"{path}: {wanted} became {got}"]


def job_of(name, body):
    made = job(name, workers=1)
    spec = copy.deepcopy(body)
    spec["spec"]["containers"][0]["name"] = "pytorch"
    made["spec"]["pytorchReplicaSpecs"]["Worker"]["template"] = spec
    return made


class Integers(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.fields = fields()
        cls.rows = [(path, value, *cls.ask(path, value)) for path in cls.fields for value in VALUES]

    @classmethod
    def ask(cls, path, value):
        """-> (status, message) of the API server about a pod; 200 for one that it changes"""
        pod = {"apiVersion": "v1", "kind": "Pod", **template(path, value, 0)}
        pod["metadata"] = {**pod.get("metadata", {}), "name": "x"}
        status, text = cls.api.request("POST", "/api/v1/namespaces/default/pods?dryRun=All", json.dumps(pod))
        answer = json.loads(text)
        return 200 if status == 201 and lacks(pod["spec"], answer["spec"]) else status, answer.get("message", "")

    def lint(self, text):
        """-> {job: [finding]}"""
        done = subprocess.run([ROUNDHOUSE, "lint", "--plugins", JAX, "-"], input=text, capture_output=True, text=True)
        found = {}
        for line in done.stdout.splitlines():
            match = re.match(r"standard input.*?: PyTorchJob (\S+): error: (.*)", line)
            if match:
                found.setdefault(match[1], []).append(match[2])
        return found

    def test_every_field_is_asked_about(self):
        """The table is whole, and the smallest templates are such that most fields can be set."""
        self.assertGreater(len(self.fields), 100)
        accepted = {path for path, _, status, _ in self.rows if status == 201}
        refused = re.compile(r"initContainers.*(lifecycle|Probe)|spec.priority$|volumeClaimTemplate.metadata|"
                             "readinessProbe.terminationGracePeriodSeconds|"
                             "restartPolicyRules|podCertificate")  # of feature gates that are off by default
        self.assertEqual([path for path in self.fields if path not in accepted and not refused.search(path)], [])

    def test_lint_agrees_about_types(self):
        """What the API server cannot decode (400) lint refuses, and no other integer for its size."""
        jobs = {f"j{number}": row for number, row in enumerate(self.rows)}
        text = "\n---\n".join(json.dumps(job_of(name, template(row[0], row[1], 0))) for name, row in jobs.items())
        found = self.lint(text)
        wrong = []
        for name, (path, value, status, message) in jobs.items():
            refused = any("must be of type" in f or re.search(r"between -(2147483648|9223372036854775808) and", f)
                          for f in found.get(name, []))
            if refused != (status == 400):
                wrong.append((path, value, status, message, found.get(name)))
        self.assertEqual(wrong, [])

    def test_pods_have_the_values(self):
        """Jobs with many fields each; the values that the API server takes."""
        accepted = {}
        for path, value, status, _ in self.rows:
            if status == 201 and path.startswith("spec."):
                accepted.setdefault(path, []).append(value)
        jobs = {}
        for turn in range(max(map(len, accepted.values()))):
            body = {"spec": {"containers": [{"name": "pytorch", "image": "i"}]}}
            for number, (path, values) in enumerate(accepted.items()):
                part = template(path, values[turn % len(values)], number)
                if not path.startswith("spec.containers"):
                    part["spec"]["containers"] = []
                join(body, part)
            jobs[f"many-{turn}"] = body
        with self.controller(kubeconfig=self.account(), name="many"):
            for name, body in jobs.items():
                self.create(job_of(name, body))
            for name, body in jobs.items():
                pod = wait_for("its pod", lambda: self.pods(name) or self.stalled(name))[0]
                self.assertEqual(lacks(body["spec"], pod["spec"]), [], name)
                self.drop_job(name)

    def stalled(self, name):
        """Fails when the job is not to get its pods."""
        for condition in self.conditions_of(name):
            self.assertNotIn(condition["type"], ("Stalled", "Failed"), condition)

    def conditions_of(self, name):
        status, body = self.request("GET", self.path("pytorchjobs", name=name))
        self.assertEqual(status, 200, body)
        return body.get("status", {}).get("conditions", [])

    def test_refusals_are_those_of_the_value(self):
        """A value that the API server refuses is refused as that value, not as one near it."""
        chosen = {}
        for path, value, status, message in self.rows:
            leaf = path.rsplit(".", 1)[-1]
            if status in (400, 422) and value in (2**31, 2**53 + 1, 2**63 - 1,
                                                  -2**63) and str(value) in message and path.startswith("spec."):
                chosen.setdefault((leaf, value), path)
        with self.controller(kubeconfig=self.account(), name="refused"):
            waiting = {}
            for number, ((_, value), path) in enumerate(chosen.items()):
                body = job_of(f"refused-{number}", template(path, value, 0))
                status, answer = self.request("POST", self.path("pytorchjobs"), body)
                if status != 201:
                    self.assertEqual(status, 422, (path, value, answer))
                    continue
                waiting[f"refused-{number}"] = (path, value)
            for name, (path, value) in waiting.items():
                found = wait_for(f"{path} = {value}", lambda: [c for c in self.conditions_of(name)
                                                               if c["type"] in ("Stalled", "Failed")])
                self.assertIn(str(value), found[0]["message"], path)
        self.assertGreater(len(waiting), 30)

    def compare_literals(self, literals, text_of):
        """What a tolerationSeconds is, to kubectl and to render."""
        listed = [(number, literal) for number, literal in enumerate(literals)]
        pods = "\n---\n".join(text_of("v1", "Pod", number, '{"containers": [{"name": "c", "image": "i"}], '
                                      '"tolerations": [{"tolerationSeconds": %s}]}' % literal) for number,
                              literal in listed)
        jobs = "\n---\n".join(text_of("kubeflow.org/v1", "PyTorchJob", number,
                                      '{"pytorchReplicaSpecs": {"Worker": {"template": {"spec": '
                                      '{"containers": [{"name": "pytorch", "image": "i"}], "tolerations": '
                                      '[{"tolerationSeconds": %s}]}}}}}'
                                      % literal) for number, literal in listed)
        theirs = self.api.kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-",
                                  text=pods).stdout
        wanted = [int(one) if one.lstrip("-").isdigit() else one
                  for one in re.findall(r'"tolerationSeconds": (.*)', theirs)]
        done = subprocess.run([ROUNDHOUSE, "render", "--plugins", JAX, "-o", "json", "-"], input=jobs,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        ours = [p["spec"]["tolerations"][0]["tolerationSeconds"] for p in json.loads(done.stdout)["items"]
                if p["kind"] == "Pod"]
        self.assertEqual([(literal, repr(value)) for literal, value in zip(literals, ours)],
                         [(literal, repr(value)) for literal, value in zip(literals, wanted)])

    def test_literals_of_yaml(self):
        self.compare_literals(LITERALS,
                              lambda version, kind, number,
                              spec: f'apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x{number}}}\nspec: '
                              f'{spec}\n')

    def test_literals_of_json(self):
        self.compare_literals(JSON_LITERALS, lambda version, kind, number, spec:
                              f'{{"apiVersion": "{version}", "kind": "{kind}", "metadata": {{"name": "x{number}"}}, '
                              f'"spec": {spec}}}')


if __name__ == "__main__":
    main()
