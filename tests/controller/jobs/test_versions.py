# SPDX-License-Identifier: Apache-2.0
"""Two plugins serve two versions of one resource on a real API server: nothing is pruned, and each job is handled by
one plugin alone.

Words of the command line: ROUNDHOUSE FOLDER [unittest's words]; FOLDER has twin.so, which serves MPIJob of v2beta1.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import case  # noqa: E402
from support import wait_for  # noqa: E402

MERGE = "application/merge-patch+json"


def mpi_job(name, version, policy=None, **spec):
    template = {"spec": {"containers": [{"name": "mpi", "image": "i:1"}]}}
    return {"apiVersion": f"kubeflow.org/{version}", "kind": "MPIJob",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"runPolicy": policy or {}, "mpiReplicaSpecs": {"Launcher": {"template": template},
                                                                    "Worker": {"template": template}},
                     **spec}}


def path(version, name=""):
    return f"/apis/kubeflow.org/{version}/namespaces/default/mpijobs" + (f"/{name}" if name else "")


class Versions(case.Case):
    def make(self, body):
        status, answer = self.request("POST", path(body["apiVersion"].split("/")[1]), body)
        self.assertEqual(status, 201, answer)
        return answer

    def read(self, version, name):
        status, answer = self.request("GET", path(version, name))
        self.assertEqual(status, 200, answer)
        return answer

    def drop(self, name):
        self.drop_job(name, "mpijobs")

    def launcher(self, name):
        return next((pod for pod in self.pods(name) if pod["metadata"]["name"] == f"{name}-launcher"), None)

    def variables(self, name):
        pod = wait_for(f"launcher of {name}", lambda: self.launcher(name))
        return pod, {one["name"]: one.get("value") for one in pod["spec"]["containers"][0].get("env", [])}

    def assert_handled_by(self, name, version):
        pod, env = self.variables(name)
        self.assertEqual(env.get("TWIN"), "kubeflow.org/v2beta1" if version == "v2beta1" else None, env)
        self.assertEqual([owner["apiVersion"] for owner in pod["metadata"]["ownerReferences"]],
                         [f"kubeflow.org/{version}"])
        job = wait_for("status", lambda: (lambda one: one if one.get("status") else None)(self.read(version, name)))
        self.assertEqual(job["metadata"]["annotations"]["roundhouse.dev/version"], version)
        # the server keeps no records of an object whose records somebody cleared
        for entry in job["metadata"].get("managedFields", []):
            if entry.get("subresource") == "status":
                self.assertEqual(entry["apiVersion"], f"kubeflow.org/{version}")
        owners = {owner["apiVersion"] for pod in self.pods(name)
                  for owner in pod["metadata"].get("ownerReferences", [])}
        self.assertEqual(owners, {f"kubeflow.org/{version}"})

    def test_each_job_is_handled_by_the_plugin_of_its_version(self):
        for isolation in ("process", "none"):
            with self.subTest(isolation=isolation), self.controller(f"--plugin-isolation={isolation}",
                                                                    name=isolation) as controller:
                old, new = f"old-{isolation}", f"new-{isolation}"
                self.make(mpi_job(old, "v1", mainContainer="mpi", cleanPodPolicy="All"))
                self.make(mpi_job(new, "v2beta1", mpiImplementation="Intel", sshAuthMountPath="/keys"))
                self.assert_handled_by(old, "v1")
                self.assert_handled_by(new, "v2beta1")
                # what a version alone has is kept whichever version stores and shows it
                for version in ("v1", "v2beta1"):
                    spec = self.read(version, new)["spec"]
                    self.assertEqual((spec["mpiImplementation"], spec["sshAuthMountPath"]), ("Intel", "/keys"))
                    spec = self.read(version, old)["spec"]
                    self.assertEqual((spec["mainContainer"], spec["cleanPodPolicy"]), ("mpi", "All"))
                self.assertEqual(controller.state()["engine"]["watchesNotSynced"], 0)
                self.drop(old)
                self.drop(new)

    def test_a_job_stays_with_its_plugin(self):
        """Also when it is edited in another version, and by another controller process."""
        with self.controller(name="before"):
            self.make(mpi_job("stays", "v2beta1", mpiImplementation="MPICH"))
            self.assert_handled_by("stays", "v2beta1")
        status, answer = self.request("PATCH", path("v1", "stays"), {"spec": {"runPolicy": {"backoffLimit": 7}}}, MERGE)
        self.assertEqual(status, 200, answer)
        with self.controller(name="after"):
            pod = self.launcher("stays")
            self.request("DELETE", f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}?gracePeriodSeconds=0")
            wait_for("another pod", lambda: (self.launcher("stays")
                                             or pod)["metadata"]["uid"] != pod["metadata"]["uid"])
            self.assert_handled_by("stays", "v2beta1")
        self.drop("stays")

    def test_a_job_whose_version_nobody_knows_is_v1s(self):
        """As one that is older than the definition with both versions, whose managedFields were cleared."""
        self.make(mpi_job("unknown", "v2beta1"))
        status, answer = self.request("PATCH", path("v2beta1", "unknown"), {"metadata": {"managedFields": [{}]}}, MERGE)
        self.assertEqual((status, answer["metadata"].get("managedFields")), (200, None), answer)
        with self.controller(name="unknown"):
            self.assert_handled_by("unknown", "v1")
        self.drop("unknown")

    def test_each_version_has_its_own_schema(self):
        for body in (mpi_job("bad", "v2beta1", mpiImplementation="LAM"), mpi_job("bad", "v1", cleanPodPolicy=3)):
            status, answer = self.request("POST", path(body["apiVersion"].split("/")[1]), body)
            self.assertEqual(status, 422, answer)

    def test_one_watch_for_both(self):
        with self.controller(name="watch") as controller:
            both = controller.state()["store"]["watches"]
        with self.controller("--enable-scheme=MPIJob", name="one") as controller:
            self.assertEqual(controller.state()["store"]["watches"], 3)
        self.assertEqual(both, 3 + len({item["metadata"]["name"] for item in self.definitions()}) - 1)

    def definitions(self):
        return json.loads(self.api.kubectl("get", "crd", "-o", "json").stdout)["items"]


if __name__ == "__main__":
    case.main()
