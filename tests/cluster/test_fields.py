# SPDX-License-Identifier: Apache-2.0
"""test_fields.py PROGRAM | --write: the table of pod fields is that of the API server, and so are the lists without
duplicates.

With --write the table is made anew from the API server of the tests.
"""
import json
import pathlib
import subprocess
import sys
import unittest

import apiserver

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tools"))
import pod_schema  # noqa: E402

TABLE = SOURCE / "conf" / "pod-template.openapi.json"
CORE = "io.k8s.api.core.v1."
# A value of each field that is a key of a list.
KEYS = {"containerPort": 80, "protocol": "TCP"}


def numbers(version):
    return [int(part) for part in version.lstrip("v").split(".")[:2]]


class Table(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with apiserver.ApiServer() as api:
            cls.document = json.loads(api.get("/openapi/v2"))

    def test_it_is_not_old(self):
        have, want = json.loads(TABLE.read_text()), pod_schema.cut(self.document)
        if numbers(want["kubernetes"]) < numbers(have["kubernetes"]):
            self.skipTest(f"the API server is {want['kubernetes']}, the table is of {have['kubernetes']}")
        self.assertEqual(TABLE.read_text(), pod_schema.text(want),
                         f"{TABLE} is of Kubernetes {have['kubernetes']}, the API server is {want['kubernetes']}: "
                         "run python3 tests/cluster/test_fields.py --write")

    def lists(self, name):
        """-> (field, keys) of a type's lists that are maps."""
        for field, schema in self.document["definitions"][CORE + name]["properties"].items():
            if schema.get("x-kubernetes-list-type") == "map":
                yield field, schema["x-kubernetes-list-map-keys"]

    def lint(self, pod):
        job = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": "twice"},
               "spec": {"tfReplicaSpecs": {"Worker": {"template": {"spec": pod}}}}}
        done = subprocess.run([sys.argv[1], "lint", "-"], input=json.dumps(job), capture_output=True, text=True,
                              check=False)
        return done.stdout

    def test_each_list_without_duplicates(self):
        count = 0
        for name, put in (("PodSpec", lambda pod, part: pod.update(part)),
                          ("Container", lambda pod, part: pod["containers"][0].update(part)),
                          ("ResourceRequirements", lambda pod, part: pod["containers"][0].update(resources=part))):
            for field, keys in self.lists(name):
                if field == "ephemeralContainers":
                    continue  # no template may have them
                with self.subTest(field):
                    item = {key: KEYS.get(key, "a") for key in keys}
                    if field.endswith("ontainers"):
                        item.update(name="tensorflow", image="i")
                    pod = {"containers": [{"name": "tensorflow", "image": "i"}]}
                    put(pod, {field: [item, item]})
                    found = [line for line in self.lint(pod).splitlines() if "Duplicate value" in line
                             and f"{field}[1]" in line]
                    self.assertEqual(len(found), 1, self.lint(pod))
                    count += 1
        self.assertGreaterEqual(count, 12)


def write():
    with apiserver.ApiServer() as api:
        TABLE.write_text(pod_schema.text(pod_schema.cut(json.loads(api.get("/openapi/v2")))))


if __name__ == "__main__":
    apiserver.skip_without_assets()
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main(argv=sys.argv[:1], verbosity=2)
