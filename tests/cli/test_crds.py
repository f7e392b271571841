# SPDX-License-Identifier: Apache-2.0
"""crds: what is printed, that conf/crds is fresh, and that V1's fields, names and columns are all there."""
import json
import os
import subprocess
import sys

import yaml

from program import PROGRAM, SOURCE, Case, call, main

sys.path.insert(0, os.path.join(SOURCE, "tests", "cluster"))
import v1_module  # noqa: E402

SIZE_MAX = 56 * 1000
# What V1 1.9, of Kubernetes 1.31, has since: the module that is compared with is older. The ends of paths.
SINCE_1_9 = ("hostAliases[]", "imagePullSecrets[].name")
KINDS = {"MPIJob", "PaddleJob", "PyTorchJob", "TFJob", "XGBoostJob"}
OPENAPI = {"definitions": {"io.k8s.api.core.v1.PodTemplateSpec": {"type": "object", "properties": {"spec": {
    "type": "object", "properties": {"containers": {"type": "array", "items": {
        "type": "object", "properties": {"fieldOfTomorrow": {"type": "string"}}}}}}}}}}


def crds(*words):
    done = call("crds", *words)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def version(crd):
    return crd["spec"]["versions"][0]


def v1_crds():
    """V1's own, where a test on a cluster has fetched its Go module before."""
    folder = v1_module.find()
    for path in (folder / "manifests" / "base" / "crds").glob("kubeflow.org_*.yaml") if folder else []:
        with open(path, encoding="utf-8") as file:
            crd = yaml.load(file, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        if crd["spec"]["names"]["kind"] in KINDS:
            yield crd


class Fresh(Case):
    def test_conf_crds_is_what_the_program_prints(self):
        done = subprocess.run([sys.executable, "-B", os.path.join(SOURCE, "tools", "crds.py"), "--check", PROGRAM],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


class Output(Case):
    def test_every_kind_and_each_is_small(self):
        text = call("crds").stdout
        self.assertEqual({crd["spec"]["names"]["kind"] for crd in yaml.safe_load_all(text)}, KINDS)
        for part in text.split("\n---\n"):
            self.assertLess(len(part), SIZE_MAX)

    def test_one_kind_by_any_of_its_names(self):
        for name in ("TFJob", "tfjob", "tfjobs", "TFJOBS"):
            self.assertEqual([crd["metadata"]["name"] for crd in crds("--kind", name)], ["tfjobs.kubeflow.org"])

    def test_json_is_a_list_or_the_one(self):
        every = json.loads(call("crds", "-o", "json").stdout)
        self.assertEqual((every["kind"], every["items"]), ("List", crds()))
        self.assertEqual(json.loads(call("crds", "--kind", "MPIJob", "-o", "json").stdout), crds("--kind", "MPIJob")[0])

    def test_the_pod_template_of_a_document(self):
        path = self.file(json.dumps(OPENAPI), "openapi.json")
        crd = crds("--kind", "TFJob", "--pod-schema", path)[0]
        spec = version(crd)["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["tfReplicaSpecs"]
        pod = spec["additionalProperties"]["properties"]["template"]["properties"]["spec"]
        container = pod["properties"]["containers"]["items"]
        self.assertEqual(container["properties"], {"fieldOfTomorrow": {"type": "string"}})
        self.assertTrue(pod["x-kubernetes-preserve-unknown-fields"]
                        and container["x-kubernetes-preserve-unknown-fields"])

    def test_bad_input(self):
        rows = [
            (["--kind", "JobJob"], 2, 'no plugin serves the kind "JobJob"'),
            (["--pod-schema", self.folder + "/none"], 2, self.folder + "/none"),
            (["--pod-schema", self.file("{", "half.json")], 2, "half.json: "),
            (["--pod-schema", self.file("{}", "empty.json")], 2, "kubectl get --raw /openapi/v3/api/v1"),
            (["--installed", self.folder + "/none"], 2, self.folder + "/none"),
            (["--installed", self.file("{", "half.json")], 2, "half.json"),
            (["-o", "text"], 2, "yaml"),
            (["more"], 2, "more"),
        ]
        for words, status, says in rows:
            with self.subTest(words):
                done = call("crds", *words)
                self.assertEqual((done.returncode, done.stdout), (status, ""))
                self.assertIn(says, done.stderr)

    def test_versions_that_a_cluster_has_stored(self):
        """Of the definitions that are printed, each version that nobody serves is a warning; others are not ours."""
        installed = crds()
        for crd in installed:
            stored = ["v1", "v2beta1"] if crd["spec"]["names"]["kind"] == "MPIJob" else ["v1"]
            crd["status"] = {"storedVersions": stored}
        installed.append({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                          "metadata": {"name": "others.example.org"}, "status": {"storedVersions": ["v7"]}})
        path = self.file(json.dumps({"apiVersion": "v1", "kind": "List", "items": installed}), "installed.json")
        done = call("crds", "--installed", path)
        self.assertEqual((done.returncode, done.stdout), (0, call("crds").stdout))
        self.assertEqual(done.stderr, "warning: mpijobs.kubeflow.org: the cluster may have objects that are stored as "
                         "v2beta1 (status.storedVersions), which no loaded plugin serves: the API server refuses a "
                         "definition without it, so load the plugin that has it, too\n")
        self.assertEqual(call("crds", "--kind", "TFJob", "--installed", path).stderr, "")
        config = self.file("[plugins]\nallow = mpi, mpi2\n", "roundhouse.ini")
        done = call("crds", "--installed", path, "--config", config)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_no_cluster(self):
        path = self.file("{}", "kubeconfig")
        for option in ("--pod-schema", "--installed"):
            done = call("crds", option, "cluster", "--kubeconfig", path)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(path, done.stderr)
            self.assertTrue(done.stderr.startswith("roundhouse crds: "), done.stderr)


class LikeV1(Case):
    def setUp(self):
        super().setUp()
        self.ours = {crd["spec"]["names"]["kind"]: crd for crd in crds()}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.theirs = list(v1_crds())

    def pairs(self):
        if not self.theirs:
            self.skipTest("V1's module is not on this machine: ./check fetches it for the tests on a cluster")
        for theirs in self.theirs:
            yield self.ours[theirs["spec"]["names"]["kind"]], theirs

    def test_names_columns_and_subresources(self):
        for ours, theirs in self.pairs():
            self.assertEqual(ours["metadata"]["name"], theirs["metadata"]["name"])
            for key in ("group", "names", "scope"):
                self.assertEqual(ours["spec"][key], theirs["spec"][key])
            for key in ("additionalPrinterColumns", "name", "served", "storage", "subresources"):
                self.assertEqual(version(ours)[key], version(theirs)[key], ours["metadata"]["name"])

    def test_every_field_of_v1_is_there_with_its_type(self):
        for ours, theirs in self.pairs():
            self.compare(version(ours)["schema"]["openAPIV3Schema"], version(theirs)["schema"]["openAPIV3Schema"],
                         ours["metadata"]["name"])

    def compare(self, ours, theirs, path):
        if path.endswith(SINCE_1_9):
            return
        keeps = ours.get("x-kubernetes-preserve-unknown-fields")
        for key in ("type", "format", "default", "x-kubernetes-int-or-string"):
            self.assertEqual(ours.get(key), theirs.get(key), f"{path}: {key}")
        self.assertLessEqual(set(ours.get("required", [])), set(theirs.get("required", [])), path)
        for name, field in theirs.get("properties", {}).items():
            if name not in ours.get("properties", {}):
                self.assertTrue(keeps, f"{path}.{name} is not there")
            else:
                self.compare(ours["properties"][name], field, f"{path}.{name}")
        for key in ("items", "additionalProperties"):
            if key in theirs and not keeps:
                self.compare(ours[key], theirs[key], f"{path}[]")


if __name__ == "__main__":
    main()
