# SPDX-License-Identifier: Apache-2.0
"""test_twin.py PROGRAM FOLDER: two plugins serve two versions of one kind; FOLDER has twin.so, which serves MPIJob of
v2beta1."""
import atexit
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, FOLDER = sys.argv[1:3]
KEPT = {"x-kubernetes-preserve-unknown-fields": True}


# The release has a plugin for this version, too: mpi2.
CONFIG = pathlib.Path(tempfile.mkdtemp(), "roundhouse.ini")
CONFIG.write_text("[plugins]\nallow = mpi, paddle, pytorch, tensorflow, twin, xgboost\n", encoding="utf-8")
atexit.register(shutil.rmtree, CONFIG.parent)


def call(*words, text=None, isolation="none"):
    return subprocess.run([PROGRAM, *words, "--config", CONFIG, "--plugins", FOLDER, f"--plugin-isolation={isolation}"],
                          input=text, capture_output=True, text=True, check=False)


def job(version, **spec):
    template = {"spec": {"containers": [{"name": "mpi", "image": "i", "command": ["sh", "-c", "echo by $TWIN"]}]}}
    return json.dumps({"apiVersion": f"kubeflow.org/{version}", "kind": "MPIJob", "metadata": {"name": f"m-{version}"},
                       "spec": {"mpiReplicaSpecs": {"Launcher": {"template": template},
                                                    "Worker": {"replicas": 1, "template": template}},
                                **spec}})


class Twin(unittest.TestCase):
    def ask(self, *words, **options):
        done = call(*words, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def test_one_definition_has_both_versions(self):
        for isolation in ("none", "process"):
            crd = json.loads(self.ask("crds", "--kind", "mpijob", "-o", "json", isolation=isolation))
            first, second = crd["spec"]["versions"]
            self.assertEqual([(v["name"], v["storage"], v["served"]) for v in (first, second)],
                             [("v1", True, True), ("v2beta1", False, True)])
            spec = [v["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] for v in (first, second)]
            self.assertEqual((spec[0]["sshAuthMountPath"], spec[1]["sshAuthMountPath"]["type"]), (KEPT, "string"))
            self.assertEqual((spec[0]["mainContainer"]["type"], spec[1]["mainContainer"]), ("string", KEPT))
        everything = json.loads(self.ask("crds", "-o", "json"))["items"]
        self.assertEqual([crd["metadata"]["name"] for crd in everything].count("mpijobs.kubeflow.org"), 1)

    def test_manifests_name_the_resource_once(self):
        items = json.loads(self.ask("manifests", "-o", "json"))["items"]
        self.assertEqual(sum(item["metadata"]["name"] == "mpijobs.kubeflow.org" for item in items), 1)
        for item in items:
            for rule in item.get("rules", []):
                self.assertLessEqual(rule.get("resources", []).count("mpijobs"), 1, rule)

    def test_explain_shows_one_and_names_the_other(self):
        for name in ("mpijob", "MPIJob", "mpijobs.kubeflow.org", "mpijob.v1.kubeflow.org"):
            page = json.loads(self.ask("explain", name, "-o", "json"))
            self.assertEqual((page["apiVersion"], page["otherVersions"]), ("kubeflow.org/v1", ["v2beta1"]))
        page = json.loads(self.ask("explain", "mpijob.v2beta1.kubeflow.org", "-o", "json"))
        self.assertEqual((page["apiVersion"], page["otherVersions"], page["plugin"]["name"]),
                         ("kubeflow.org/v2beta1", ["v1"], "twin"))
        self.assertIn("ALSO       mpijob.v2beta1.kubeflow.org", self.ask("explain", "mpijob"))
        field = self.ask("explain", "mpijob.v2beta1.kubeflow.org.spec.mpiImplementation")
        self.assertIn("Which MPI", field)
        self.assertIn("default OpenMPI", field)
        self.assertNotIn("otherVersions", json.loads(self.ask("explain", "tfjob", "-o", "json")))

    def test_each_version_has_its_own_rules(self):
        self.ask("lint", "-", text=job("v2beta1", mpiImplementation="MPICH"))
        for text, words in ((job("v1", mpiImplementation="MPICH"), "Unknown field"),
                            (job("v2beta1", mainContainer="mpi"), "Unknown field"),
                            (job("v2beta1", mpiImplementation="LAM"), "LAM")):
            done = call("lint", "-", text=text)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stdout)
        done = call("lint", "-", text=job("v3"))
        self.assertIn("MPIJob is there as kubeflow.org/v", done.stdout + done.stderr)

    def test_each_job_is_rendered_by_its_plugin(self):
        for isolation in ("none", "process"):
            made = self.ask("render", "-", text=job("v2beta1", mpiImplementation="Intel"), isolation=isolation)
            self.assertIn("name: TWIN\n", made)
            self.assertIn("value: kubeflow.org/v2beta1", made)
            self.assertIn("apiVersion: kubeflow.org/v2beta1", made)
            made = self.ask("render", "-", text=job("v1"), isolation=isolation)
            self.assertNotIn("name: TWIN\n", made)
            self.assertIn("OMPI_MCA_", made)

    def test_run(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "jobs.json"
            path.write_text(job("v2beta1"), encoding="utf-8")
            for isolation in ("none", "process"):
                done = call("run", str(path), isolation=isolation)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("by kubeflow.org/v2beta1", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
