#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_gang.py ROUNDHOUSE JAX_DIR: jobs under gang schedulers, on a real API server; the schedulers' part is played by
hand."""
import json
import pathlib
import sys

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import case  # noqa: E402
from case import Case, GOLDENS, job  # noqa: E402
from support import wait_for  # noqa: E402

import compare_objects  # noqa: E402
import run_objects  # noqa: E402

VOLCANO, PLUGINS = "scheduling.volcano.sh/v1beta1", "scheduling.x-k8s.io/v1alpha1"
FIELDS = {VOLCANO: {"minMember": "integer", "queue": "string", "priorityClassName": "string"},
          PLUGINS: {"minMember": "integer", "scheduleTimeoutSeconds": "integer"}}


def definition(api_version):
    """-> the CRD of a scheduler's PodGroups, as far as it matters here; Volcano's has a status of its own, as the real
    ones"""
    group, _, version = api_version.partition("/")
    quantities = {"type": "object", "additionalProperties": {"anyOf": [{"type": "integer"}, {"type": "string"}],
                                                             "x-kubernetes-int-or-string": True}}
    spec = {"type": "object", "properties": {**{name: {"type": kind} for name, kind in FIELDS[api_version].items()},
                                             "minResources": quantities}}
    schema = {"type": "object", "properties": {"spec": spec,
                                               "status": {"type": "object",
                                                          "properties": {"phase": {"type": "string"}}}}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            # the group's own names are reserved unless this says otherwise
            "metadata": {"name": f"podgroups.{group}", "annotations": {"api-approved.kubernetes.io": "unapproved"}},
            "spec": {"group": group, "scope": "Namespaced",
                     "names": {"kind": "PodGroup", "plural": "podgroups", "singular": "podgroup"},
                     "versions": [{"name": version, "served": True, "storage": True, "subresources": {"status": {}},
                                   "schema": {"openAPIV3Schema": schema}}]}}


class Gang(Case):
    """A subclass says scheduler and api_version."""
    scheduler = api_version = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.crd = json.dumps(definition(cls.api_version))
        cls.install()

    @classmethod
    def install(cls):
        cls.api.kubectl("apply", "--server-side", "-f", "-", text=cls.crd)
        cls.api.wait_served()

    def groups(self):
        return {item["metadata"]["name"]: item for item in self.items(self.api_version, "podgroups")}

    def group_path(self, name):
        return f"/apis/{self.api_version}/namespaces/default/podgroups/{name}"

    def enqueue(self, name):
        """What Volcano does when there is room."""
        status, answer = self.request("PATCH", self.group_path(name) + "/status", {"status": {"phase": "Inqueue"}},
                                      "application/merge-patch+json")
        self.assertEqual(status, 200, answer)

    def own(self, uid):
        """-> all that belongs to the job, PodGroups too"""
        owned = self.owned(uid)
        for name, item in self.groups().items():
            if item["metadata"]["ownerReferences"][0]["uid"] == uid:
                owned["PodGroup", name] = compare_objects.strip({**item, "apiVersion": self.api_version,
                                                                 "kind": "PodGroup"})
        return owned

    def drop_all(self, body, uid):
        self.request("DELETE", self.path(body["kind"].lower() + "s", name=body["metadata"]["name"]))
        self.request("DELETE", self.group_path(body["metadata"]["name"]))
        self.drop_owned(uid)

    def begin(self, body):
        """Create it and wait for its PodGroup. -> UID"""
        uid = self.create(body, body["kind"].lower() + "s")["metadata"]["uid"]
        wait_for("PodGroup", lambda: body["metadata"]["name"] in self.groups())
        return uid

    def check_goldens(self):
        """What V1 was seen to create, with its PodGroup."""
        entries = [e for e in json.loads((GOLDENS / "differences.json").read_text()) if e.get("suite") == "gang"]
        found = [row for row in run_objects.cases(str(GOLDENS), "gang", "") if row[0].endswith("." + self.scheduler)]
        self.assertGreaterEqual(len(found), 3)
        with self.controller(f"--gang-scheduler-name={self.named}"):
            for golden, source, path, _ in found:
                with self.subTest(golden=golden):
                    body = yaml.load(pathlib.Path(source).read_text(), yaml.CSafeLoader)
                    want = compare_objects.load(path)
                    uid = self.begin(body)
                    try:
                        self.let_in(body, uid)
                        wait_for(f"{len(want)} objects", lambda: len(self.own(uid)) >= len(want))
                        self.assertEqual(list(run_objects.unlisted(golden, want, self.own(uid), entries, set())), [])
                    finally:
                        self.drop_all(body, uid)

    def check_life(self):
        """Suspended, it has no PodGroup; resumed, it has one again; when it has ended, it is gone, with V1's events."""
        with self.controller(f"--gang-scheduler-name={self.named}") as controller:
            body = job("life")
            uid = self.begin(body)
            self.let_in(body, uid)
            wait_for("pods", lambda: len(self.pods("life")) == 2)
            for suspend in (True, False):
                self.api.kubectl("patch", "pytorchjob", "life", "--type=merge", "-p",
                                 json.dumps({"spec": {"runPolicy": {"suspend": suspend}}}))
                wait_for("PodGroup", lambda: ("life" in self.groups()) != suspend)
                for pod in self.pods("life") if suspend else []:
                    self.request(
                        "DELETE", f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}?gracePeriodSeconds=0")
            self.let_in(body, uid)
            pods = wait_for("pods", lambda: len(p := self.pods("life")) == 2 and p)
            self.api.kubectl("patch", "pytorchjob", "life", "--type=merge", "-p",
                             '{"spec":{"runPolicy":{"schedulingPolicy":{"minAvailable":1}}}}')
            wait_for("the spec is followed", lambda: self.groups()["life"]["spec"]["minMember"] == 1)
            for pod in pods:
                self.set_phase(pod, "Succeeded")
            wait_for("no PodGroup", lambda: "life" not in self.groups())
            self.assertEqual(self.conditions("life").get("Succeeded"), "True")
            reasons = lambda: {e["reason"] for e in self.items("v1", "events") if e["involvedObject"]["name"] == "life"}
            wait_for("events", lambda: {"JobTerminated", "SuccessfulDeletePodGroup"} <= reasons())
            wait_for("no problem", lambda: not controller.state()["problems"])
            self.drop_all(body, uid)

    def check_definition_is_missing(self):
        """The log names it, no pod is created, and everything continues once it exists."""
        self.api.kubectl("delete", "crd", f"podgroups.{self.api_version.partition('/')[0]}")
        self.addCleanup(self.install)
        with self.controller(f"--gang-scheduler-name={self.named}") as controller:
            controller.wait_for_log("podgroups." + self.api_version.partition("/")[0])
            body = job("early")
            uid = self.create(body)["metadata"]["uid"]
            wait_for("stalled", lambda: self.conditions("early").get("Stalled") == "True")
            self.assertEqual(self.pods("early"), [])
            self.install()
            wait_for("PodGroup", lambda: "early" in self.groups(), patience=180)
            self.let_in(body, uid)
            wait_for("pods", lambda: len(self.pods("early")) == 2, patience=180)
            wait_for("no problem", lambda: not controller.state()["problems"], patience=180)
            self.drop_all(body, uid)


class Volcano(Gang):
    """It says when a job's pods may be made."""
    scheduler = "volcano"
    named = "Volcano"
    api_version = VOLCANO

    def let_in(self, body, uid):
        """Nothing is made before."""
        self.assertEqual([key for key in self.own(uid) if key[0] in ("Pod", "Service")], [])
        self.assertTrue(self.wait_waiting(body))
        self.enqueue(body["metadata"]["name"])

    def wait_waiting(self, body):
        plural, name = body["kind"].lower() + "s", body["metadata"]["name"]
        return wait_for("it waits", lambda: self.request("GET", self.path(plural, name=name))[1].get("status",
                {}).get("lastReconcileTime"))

    def test_goldens(self):
        self.check_goldens()

    def test_life(self):
        self.check_life()

    def test_definition_is_missing(self):
        self.check_definition_is_missing()

    def test_queue_stays(self):
        """One that somebody gave to the PodGroup, as V1 left it."""
        with self.controller("--gang-scheduler-name=volcano"):
            body = job("queued")
            uid = self.begin(body)
            status, answer = self.request("PATCH", self.group_path("queued"), {"spec": {"queue": "research"}},
                                          "application/merge-patch+json")
            self.assertEqual(status, 200, answer)
            self.enqueue("queued")
            wait_for("pods", lambda: len(self.pods("queued")) == 2)
            self.api.kubectl("patch", "pytorchjob", "queued", "--type=merge", "-p",
                             '{"spec":{"runPolicy":{"schedulingPolicy":{"minAvailable":1}}}}')
            wait_for("the spec is followed", lambda: self.groups()["queued"]["spec"]["minMember"] == 1)
            self.assertEqual(self.groups()["queued"]["spec"]["queue"], "research")
            self.drop_all(body, uid)


class SchedulerPlugins(Gang):
    """It wants the pods at once; its name is that of the scheduler."""
    scheduler = "scheduler-plugins"
    named = "scheduler-plugins-scheduler"
    api_version = PLUGINS

    def let_in(self, _body, _uid):
        """Nobody needs to."""

    def test_goldens(self):
        self.check_goldens()

    def test_life(self):
        self.check_life()

    def test_definition_is_missing(self):
        self.check_definition_is_missing()


if __name__ == "__main__":
    case.main()
