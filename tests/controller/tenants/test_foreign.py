#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_foreign.py ROUNDHOUSE JAX_DIR: names that a job needs and that belong to another, on a real API server.

The controller has the rights that `roundhouse manifests` grants. A tenant may edit one namespace and have jobs there;
he may neither make roles nor bind them. No garbage collector runs.
"""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import case  # noqa: E402
from case import Case, GROUP, job  # noqa: E402
from support import wait_for  # noqa: E402

RBAC = "rbac.authorization.k8s.io"
SPACE = "team"
TENANT = "limited"
POWER = [{"apiGroups": [RBAC], "resources": ["roles"], "verbs": ["create", "update"]},
         {"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "delete"]}]
# What no launcher may do: verb, group, resource.
FORBIDDEN = [("create", "", "pods"), ("delete", "", "pods"), ("update", RBAC, "roles"), ("create", RBAC, "roles"),
             ("get", "", "secrets")]
PLURALS = {"ConfigMap": "v1/configmaps", "ServiceAccount": "v1/serviceaccounts", "Role": f"{RBAC}/v1/roles",
           "Pod": "v1/pods", "RoleBinding": f"{RBAC}/v1/rolebindings", "Service": "v1/services"}


def mpi_job(name, **policy):
    template = {"spec": {"containers": [{"name": "mpi", "image": "i:1"}]}}
    return {"apiVersion": GROUP, "kind": "MPIJob", "metadata": {"name": name, "namespace": SPACE},
            "spec": {"runPolicy": policy, "mpiReplicaSpecs": {"Launcher": {"replicas": 1, "template": template},
                                                              "Worker": {"replicas": 2, "template": template}}}}


def path_of(kind, name=""):
    group, _, plural = PLURALS[kind].rpartition("/")
    root = "/api/v1" if group == "v1" else f"/apis/{group}"
    return f"{root}/namespaces/{SPACE}/{plural}" + (f"/{name}" if name else "")


def thing(kind, name, **more):
    group = PLURALS[kind].rpartition("/")[0]
    return {"apiVersion": group, "kind": kind, "metadata": {"name": name, "namespace": SPACE}, **more}


def map_of(name):
    return thing("ConfigMap", f"{name}-config", data={"kubexec.sh": "#!/bin/sh\nsteal", "hostfile": "theirs slots=1\n"})


def role_of(name):
    return thing("Role", f"{name}-launcher", rules=POWER)


def binding_of(name):
    """It cannot be made the job's by another content: a roleRef stays as it is."""
    return thing("RoleBinding", f"{name}-launcher", subjects=[],
                 roleRef={"apiGroup": RBAC, "kind": "Role", "name": "other"})


def pod_of(name):
    return thing("Pod", name, spec={"containers": [{"name": "c", "image": "i:1"}]})


class Foreign(Case):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        account = cls.account("--force-conflicts")
        cls.api.kubectl("create", "namespace", SPACE)
        cls.api.kubectl("create", "clusterrole", "jobs", "--verb=*",
                        "--resource=mpijobs.kubeflow.org,pytorchjobs.kubeflow.org")
        # Nobody sums up the parts of `edit` here.
        for role in ("system:aggregate-to-edit", "system:aggregate-to-view", "jobs"):
            cls.api.kubectl("create", "rolebinding", role.replace(":", "-"), f"--clusterrole={role}",
                            f"--user={TENANT}", f"--namespace={SPACE}")
        cls.cluster = cls.enterClassContext(cls().controller(kubeconfig=account))

    # --- what people do

    def tenant(self, body):
        """The tenant makes an object."""
        done = subprocess.run([self.api.programs / "kubectl", "create", "-f", "-", "-o", "json"], text=True,
                              capture_output=True, input=json.dumps(body),
                              env={**self.api.environment(), "KUBECONFIG": str(self.api.kubeconfig_of(TENANT))})
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def administrator(self, body, owner=None):
        if owner:
            body["metadata"]["ownerReferences"] = [{"apiVersion": GROUP, "kind": "MPIJob",
                                                    "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
                                                    "controller": True}]
        status, answer = self.request("POST", path_of(body["kind"]), body)
        self.assertEqual(status, 201, answer)
        return answer

    def resume(self, name):
        status, answer = self.request("PATCH", self.path("mpijobs", SPACE, name),
                                      {"spec": {"runPolicy": {"suspend": False}}}, "application/merge-patch+json")
        self.assertEqual(status, 200, answer)

    # --- what is seen

    def find(self, kind, name):
        """-> the object, or None"""
        status, answer = self.request("GET", path_of(kind, name))
        return answer if status == 200 else None

    def may(self, name, verb, group, resource, of="", sub=""):
        """Whether the account of the launcher of job @name may do that."""
        status, answer = self.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": f"system:serviceaccount:{SPACE}:{name}-launcher",
                     "groups": ["system:serviceaccounts", f"system:serviceaccounts:{SPACE}"],
                     "resourceAttributes": {"namespace": SPACE, "verb": verb, "group": group, "resource": resource,
                                            "name": of, "subresource": sub}}})
        self.assertEqual(status, 201, answer)
        return answer["status"]["allowed"]

    def events(self, name, reason):
        return [e for e in self.items("v1", "events", SPACE) if e["involvedObject"].get("name") == name
                and e["reason"] == reason]

    def stalled(self, name, plural="mpijobs"):
        body = self.request("GET", self.path(plural, SPACE, name))[1]
        return next((c for c in body.get("status", {}).get("conditions", [])
                     if (c["type"], c["status"]) == ("Stalled", "True")), None)

    def assert_gained_nothing(self, name):
        for verb, group, resource in FORBIDDEN:
            self.assertFalse(self.may(name, verb, group, resource), (verb, resource))

    def assert_runs(self, name):
        """All is made, and the launcher may do what it needs and no more."""
        wait_for(f"pods of {name}", lambda: len(self.pods(name, SPACE)) == 3)
        wait_for("not stalled", lambda: not self.stalled(name))
        wait_for("right", lambda: self.may(name, "create", "", "pods", f"{name}-worker-1", "exec"))
        self.assertFalse(self.may(name, "create", "", "pods", "another", "exec"))
        self.assert_gained_nothing(name)
        uid = self.request("GET", self.path("mpijobs", SPACE, name))[1]["metadata"]["uid"]
        for kind, of in (("ConfigMap", "config"), ("ServiceAccount", "launcher"), ("Role", "launcher"),
                         ("RoleBinding", "launcher")):
            found = self.find(kind, f"{name}-{of}")
            self.assertEqual([owner["uid"] for owner in found["metadata"]["ownerReferences"]], [uid], kind)

    def check(self, name, foreign, pods=()):
        """A job, beside something of another that has a name of its own: V1's words, nothing made, and on it goes
        without it."""
        kind, taken = foreign["kind"], foreign["metadata"]["name"]
        self.tenant(mpi_job(name))
        wait_for("stalled", lambda: self.stalled(name))
        # It has been looked at once more.
        event = wait_for("event again", lambda: [e for e in self.events(name, "ErrResourceExists")
                                                 if e.get("count", 1) > 1])[0]
        self.assertEqual((event["type"], event["message"]),
                         ("Warning", f'Resource "{taken}" of MPIJobKind "{kind}" already exists and is not managed by '
                          'MPIJob'))
        self.assertEqual(self.stalled(name)["reason"], "MPIJobErrResourceExists")
        self.assertIn(event["message"], self.stalled(name)["message"])
        self.assertEqual({pod["metadata"]["name"] for pod in self.pods(name, SPACE)}, set(pods))
        self.assert_gained_nothing(name)
        self.assertFalse(self.may(name, "create", "", "pods", f"{name}-worker-0", "exec"))
        if kind != "RoleBinding":
            self.assertIsNone(self.find("RoleBinding", f"{name}-launcher"))
        self.assertEqual(self.find(kind, taken)["metadata"]["resourceVersion"], foreign["metadata"]["resourceVersion"])
        self.request("DELETE", path_of(kind, taken) + "?gracePeriodSeconds=0")
        self.assert_runs(name)

    # --- names that are taken

    def test_config_map(self):
        """The ConfigMap belongs to another: nothing is made, and the job says whose it is."""
        self.check("map", self.tenant(map_of("map")))

    def test_account(self):
        self.check("account", self.tenant(thing("ServiceAccount", "account-launcher")))

    def test_role(self):
        """The Role belongs to another: it is not bound to the launcher."""
        self.check("role", self.administrator(role_of("role")))

    def test_binding(self):
        """The RoleBinding belongs to another."""
        self.check("binding", self.administrator(binding_of("binding")))

    def test_first_worker(self):
        """A launcher that might run something in a pod of another."""
        self.check("first", self.tenant(pod_of("first-worker-0")))

    def test_second_worker(self):
        """The pod of the second worker belongs to another; the first worker is made."""
        self.check("second", self.tenant(pod_of("second-worker-1")), pods=["second-worker-0"])

    def test_of_a_former_job(self):
        """A job that is made again under its name waits until nothing of the former one is left."""
        former = {"metadata": {"name": "again", "uid": "00000000-0000-0000-0000-000000000000"}}
        self.check("again", self.administrator(map_of("again"), former))

    def test_service(self):
        """V1 created the pods and reported the Service: it stays as it is."""
        foreign = self.tenant(thing("Service", "served-worker-0", spec={"clusterIP": "None", "ports": [{"port": 1}]}))
        self.tenant(job("served", namespace=SPACE))
        message = wait_for("stalled", lambda: self.stalled("served", "pytorchjobs"))["message"]
        self.assertIn('cannot create Service served-worker-0: services "served-worker-0" already exists', message)
        wait_for("event", lambda: self.events("served", "FailedCreateService"))
        wait_for("pods", lambda: len(self.pods("served", SPACE)) == 2)
        self.assertEqual(self.find("Service", "served-worker-0")["metadata"]["resourceVersion"],
                         foreign["metadata"]["resourceVersion"])
        self.request("DELETE", path_of("Service", "served-worker-0"))
        wait_for("not stalled", lambda: not self.stalled("served", "pytorchjobs"))

    # --- owners that are forged

    def suspended(self, name):
        body = self.tenant(mpi_job(name, suspend=True))
        wait_for("suspended", lambda: self.conditions(name, "mpijobs", SPACE).get("Suspended") == "True")
        return body

    def test_role_that_bears_the_uid(self):
        """Who may not grant a right may yet make its role bear any owner. It says what is wanted before anybody is
        bound to it."""
        role = self.administrator(role_of("forged"), self.suspended("forged"))
        self.resume("forged")
        self.assert_runs("forged")
        after, binding = self.find("Role", "forged-launcher"), self.find("RoleBinding", "forged-launcher")
        self.assertEqual(after["metadata"]["uid"], role["metadata"]["uid"])
        self.assertNotIn("roles", json.dumps(after["rules"]))
        self.assertLess(int(after["metadata"]["resourceVersion"]), int(binding["metadata"]["resourceVersion"]))

    def test_map_that_bears_the_uid(self):
        """Its content is the job's before a pod is made."""
        self.administrator(map_of("filled"), self.suspended("filled"))
        self.resume("filled")
        self.assert_runs("filled")
        data, first = self.find("ConfigMap", "filled-config"), self.find("Pod", "filled-worker-0")
        self.assertNotIn("steal", data["data"]["kubexec.sh"])
        self.assertLess(int(data["metadata"]["resourceVersion"]), int(first["metadata"]["resourceVersion"]))

    def test_binding_that_bears_the_uid(self):
        """What it refers to cannot be changed: the job says so, and no launcher is made."""
        self.administrator(binding_of("bound"), self.suspended("bound"))
        self.resume("bound")
        condition = wait_for("stalled", lambda: self.stalled("bound"))
        self.assertEqual(condition["reason"], "MPIJobUpdateRefused")
        wait_for("workers", lambda: len(self.pods("bound", SPACE)) == 2)
        self.assertIsNone(self.find("Pod", "bound-launcher"))
        self.request("DELETE", path_of("RoleBinding", "bound-launcher"))
        self.assert_runs("bound")


if __name__ == "__main__":
    case.main()
