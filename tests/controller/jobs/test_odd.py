#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_odd.py ROUNDHOUSE JAX_DIR: objects that are legal and odd, on a real API server: none of them harms another's
job."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import case  # noqa: E402
from case import Case, LABEL, job  # noqa: E402
from support import wait_for  # noqa: E402

LEDGER = "roundhouse.dev/ledger"
INDEX = "training.kubeflow.org/replica-index"


class Odd(Case):
    """Everything that happens here is done by users who may: to their own jobs and pods."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = cls.enterClassContext(cls().controller("--leader-elect=false"))

    def assert_works(self):
        """A further job gets its pods, so all earlier events are processed; no request is repeated endlessly, no watch
        fails."""
        name = f"further-{self.id().rpartition('_')[2]}"
        self.create(job(name))
        wait_for(f"pods of {name}", lambda: len(self.pods(name)) == 2)
        self.cluster.wait_idle()
        wait_for("no problem", lambda: not self.cluster.state()["problems"])
        self.drop_job(name)

    def begin(self, body, plural="pytorchjobs", phase="Running"):
        """A job whose two pods are there, and run. -> its pods"""
        name, namespace = body["metadata"]["name"], body["metadata"]["namespace"]
        self.create(body, plural)
        pods = wait_for(f"pods of {name}", lambda: len(p := self.pods(name, namespace)) == 2 and p)
        for pod in pods:
            self.set_phase(pod, phase)
        if phase == "Running":
            wait_for(f"{name} runs", lambda: self.conditions(name, plural, namespace).get("Running") == "True")
        return pods

    def patch(self, path, body):
        status, answer = self.request("PATCH", path, body, "application/merge-patch+json")
        self.assertEqual(status, 200, answer)

    def patch_pod(self, name, metadata, namespace="default"):
        self.patch(f"/api/v1/namespaces/{namespace}/pods/{name}", {"metadata": metadata})

    def lose(self, pod, code=138):
        """It ends in a way that starts it again, where ExitCode says so."""
        meta = pod["metadata"]
        state = {"name": "pytorch", "image": "i", "imageID": "", "ready": False, "restartCount": 0,
                 "state": {"terminated": {"exitCode": code}}}
        self.patch(f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status",
                   {"status": {"phase": "Failed", "containerStatuses": [state]}})

    def uids(self, name, namespace="default"):
        return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in self.pods(name, namespace)}

    def delete_pod(self, name, namespace="default"):
        self.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/{name}?gracePeriodSeconds=0")

    def job_events(self, name, namespace="default"):
        """-> reasons and messages of the job's Events"""
        return [(e["reason"], e["message"]) for e in self.items("v1", "events", namespace)
                if e["involvedObject"].get("name") == name]

    def restarting(self, name, **metadata):
        body = job(name)
        body["metadata"].update(metadata)
        body["spec"]["pytorchReplicaSpecs"]["Worker"]["restartPolicy"] = "ExitCode"
        return body

    # --- what they hold

    def test_texts_that_end_too_early(self):
        """U+0000, which ends a text in C: in a job, in its template, in a pod."""
        body = job("zero")
        body["metadata"]["annotations"] = {"example.org/zero": "a\x00b", "example.org/half": "\ud800"}
        body["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["env"] = [{"name": "ZERO",
                "value": "a\x00b"}]
        self.begin(body)
        self.patch_pod("zero-worker-0", {"annotations": {"example.org/zero": "\x00"}})
        self.assert_works()
        self.read_anew("zero")

    def test_nested_deeply(self):
        """No type of ours says how deep a template is."""
        for depth in (60, 120, 400):
            name = f"deep-{depth}"
            text = json.dumps(job(name)).replace('"image": "i:1"',
                                                 '"image": "i:1", "deep": ' + '{"a":' * depth + "1" + "}" * depth)
            status, answer = self.api.request("POST", self.path("pytorchjobs"), text)
            self.assertEqual(status, 201, answer[:300])
            wait_for(f"pods of {name}", lambda: len(self.pods(name)) == 2)
            wait_for(f"status of {name}", lambda: self.conditions(name).get("Created") == "True")
        self.assert_works()
        for depth in (60, 120, 400):
            self.read_anew(f"deep-{depth}")

    def test_long_texts(self):
        """Characters that the server escapes as six bytes, as many as an object may hold."""
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "long", "labels": {LABEL: "nobody"}},
                "spec": {"containers": [{"name": "c", "image": "i", "args": ["<" * 1500000]}]}}
        text = json.dumps(body)
        status, answer = self.api.request("POST", "/api/v1/namespaces/default/pods", text)
        self.assertEqual(status, 201, answer[:300])
        self.assertGreater(len(self.api.get("/api/v1/namespaces/default/pods/long")), 8 << 20)
        self.assert_works()
        self.delete_pod("long")

    def read_anew(self, name):
        """A controller that starts finds it in a list, and the job ends well. Then it is dropped."""
        self.cluster.stop()
        self.cluster.start()
        self.cluster.wait_ready()
        for pod in self.pods(name):
            self.set_phase(pod, "Succeeded")
        wait_for(f"{name} succeeded", lambda: self.conditions(name).get("Succeeded") == "True")
        self.drop_job(name)

    def test_annotations_without_room(self):
        """The ledger finds no room: nothing is lost, its words say why, and with room all goes on."""
        pods = self.begin(self.restarting("full", annotations={"example.org/large": "x" * 262100}))
        self.lose(pods[0])
        wait_for("words", lambda: any("annotations: Too long" in message for _, message in self.job_events("full")))
        self.assertEqual(self.uids("full"), {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods})
        self.patch(self.path("pytorchjobs", name="full"), {"metadata": {"annotations": {"example.org/large": None}}})
        wait_for("another pod", lambda: self.uids("full").get("full-worker-0") not in (None,
                                                                                       pods[0]["metadata"]["uid"]))
        self.assert_works()
        self.drop_job("full")

    def test_ledgers_of_others(self):
        """What stands in its annotation is of another job, or is no ledger."""
        for at, text in enumerate(("{", "[]", "null", '{"uid":5}', "x" * 100000,
                                   '{"uid":"u","attempt":7,"types":{"Worker":{"restarts":-5}}}')):
            self.begin(self.restarting(f"junk-{at}", annotations={LEDGER: text}))
        for at in range(6):
            self.patch(self.path("pytorchjobs", name=f"junk-{at}"), {"metadata": {"annotations": {LEDGER: "}"}}})
            pods = self.pods(f"junk-{at}")
            self.lose(pods[0])
            wait_for("another pod", lambda: self.uids(f"junk-{at}").get(f"junk-{at}-worker-0") not in (None,
                    pods[0]["metadata"]["uid"]))
            ledger = json.loads(self.request("GET", self.path("pytorchjobs",
                                                              name=f"junk-{at}"))[1]["metadata"]["annotations"][LEDGER])
            self.assertEqual(ledger["types"]["Worker"]["restarts"], {"exit": 1}, ledger)
        self.assert_works()
        for at in range(6):
            self.drop_job(f"junk-{at}")

    # --- what is edited by hand

    def test_labels_of_a_pod(self):
        """A pod that says it is another replica, or none, is named and left alone, at longer and longer intervals."""
        pods = self.begin(job("labelled"))
        for wrong in ("junk", None):
            self.patch_pod("labelled-worker-0", {"labels": {INDEX: wrong}})
            wait_for("stalled", lambda: self.conditions("labelled").get("Stalled") == "True")
            self.assertTrue(any(reason == "FailedCreatePod" and "is labelled as another replica or as none" in message
                                and INDEX in message
                                for reason, message in self.job_events("labelled")), self.job_events("labelled"))
            self.assert_works()
            self.patch_pod("labelled-worker-0", {"labels": {INDEX: "0"}})
            wait_for("goes on", lambda: "Stalled" not in self.conditions("labelled"))
        self.assertEqual(self.uids("labelled"), {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods})
        for pod in pods:
            self.set_phase(pod, "Succeeded")
        wait_for("succeeded", lambda: self.conditions("labelled").get("Succeeded") == "True")
        self.drop_job("labelled")

    def test_owner_of_a_pod(self):
        """Taken off, it is put back."""
        pods = self.begin(job("owned"))
        self.patch_pod("owned-worker-1", {"ownerReferences": None})
        owner = pods[1]["metadata"]["ownerReferences"]
        wait_for("owner", lambda: self.pods("owned")[1]["metadata"].get("ownerReferences") == owner)
        self.assertEqual(self.uids("owned"), {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods})
        self.assert_works()
        self.drop_job("owned")

    def test_services_are_deleted(self):
        self.begin(job("named"))
        self.request("DELETE", "/api/v1/namespaces/default/services/named-worker-1")
        wait_for("Service", lambda: self.request("GET", "/api/v1/namespaces/default/services/named-worker-1")[0] == 200)
        self.assert_works()
        self.drop_job("named")

    def test_spec_changes_while_it_runs(self):
        """Pods that run stay as they are; the next one is made by what the job says then."""
        pods = self.begin(self.restarting("changed"))
        template = {"spec": {"containers": [{"name": "pytorch", "image": "other:2"}]}}
        self.patch(self.path("pytorchjobs", name="changed"),
                   {"spec": {"pytorchReplicaSpecs": {"Worker": {"template": template}}}})
        self.assert_works()
        self.assertEqual(self.uids("changed"), {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods})
        self.lose(pods[1])
        image = wait_for("another pod", lambda: [pod["spec"]["containers"][0]["image"] for pod in self.pods("changed")
                                                 if pod["metadata"]["uid"] not in (pods[0]["metadata"]["uid"],
                                                                                   pods[1]["metadata"]["uid"])])
        self.assertEqual(image, ["other:2"])
        self.drop_job("changed")

    # --- what is deleted

    def test_finalizers_of_others(self):
        """A job that is being deleted gets no pods any more, however long that takes."""
        body = job("held")
        body["metadata"]["finalizers"] = ["example.org/held"]
        self.begin(body)
        self.request("DELETE", self.path("pytorchjobs", name="held"))
        self.delete_pod("held-worker-0")
        self.assert_works()
        self.assertEqual(list(self.uids("held")), ["held-worker-1"])
        self.patch(self.path("pytorchjobs", name="held"), {"metadata": {"finalizers": None}})
        self.assert_works()
        self.drop_job("held")

    def test_finalizers_of_pods(self):
        """A pod that is kept by somebody is waited for, and not forced."""
        pods = self.begin(self.restarting("kept"))
        self.patch_pod("kept-worker-0", {"finalizers": ["example.org/kept"]})
        self.lose(pods[0])
        wait_for("being deleted", lambda: self.pods("kept")[0]["metadata"].get("deletionTimestamp"))
        self.assert_works()
        self.assertEqual(self.uids("kept")["kept-worker-0"], pods[0]["metadata"]["uid"])
        self.patch_pod("kept-worker-0", {"finalizers": None})
        wait_for("another pod", lambda: self.uids("kept").get("kept-worker-0") not in (None,
                                                                                       pods[0]["metadata"]["uid"]))
        self.drop_job("kept")

    def test_suspended_job_is_deleted(self):
        self.create(job("asleep", suspend=True))
        wait_for("suspended", lambda: self.conditions("asleep").get("Suspended") == "True")
        self.request("DELETE", self.path("pytorchjobs", name="asleep"))
        self.assert_works()
        self.assertEqual(self.pods("asleep"), [])

    def test_name_comes_again(self):
        """Deleted and created at once: what the former job had is not the new one's, and what is collected is made
        anew."""
        old = self.begin(job("again"))
        self.request("DELETE", self.path("pytorchjobs", name="again"))
        new = self.create(job("again"))["metadata"]["uid"]
        wait_for("stalled", lambda: self.conditions("again").get("Stalled") == "True")
        self.assertEqual(self.uids("again"), {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in old})
        for index in range(2):
            self.delete_pod(f"again-worker-{index}")
            self.request("DELETE", f"/api/v1/namespaces/default/services/again-worker-{index}")
        pods = wait_for("pods", lambda: len(p := self.pods("again")) == 2 and p)
        self.assertEqual({pod["metadata"]["ownerReferences"][0]["uid"] for pod in pods}, {new})
        wait_for("goes on", lambda: "Stalled" not in self.conditions("again"))
        self.assert_works()
        self.drop_job("again")

    def test_two_kinds_of_one_name(self):
        """They want pods of the same names: the first has them, the other says so, and has them when the first is
        gone."""
        first = self.begin(job("twin"))
        self.create(job("twin", kind="TFJob"), "tfjobs")
        wait_for("stalled", lambda: self.conditions("twin", "tfjobs").get("Stalled") == "True")
        self.assertNotIn("Stalled", self.conditions("twin"))
        self.assertEqual(self.uids("twin"), {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in first})
        self.assert_works()
        self.drop_job("twin")
        pods = wait_for("pods", lambda: len(p := self.pods("twin")) == 2 and p)
        self.assertEqual({pod["metadata"]["ownerReferences"][0]["kind"] for pod in pods}, {"TFJob"})
        self.drop_job("twin", "tfjobs")

    def test_namespace_ends(self):
        """Nothing can be created in it any more: that is reported, with few requests."""
        self.api.kubectl("create", "namespace", "ends")
        self.begin(job("leaving", namespace="ends"))
        self.request("DELETE", "/api/v1/namespaces/ends")
        self.delete_pod("leaving-worker-0", "ends")
        wait_for("stalled", lambda: self.conditions("leaving", namespace="ends").get("Stalled") == "True")
        self.assert_works()


if __name__ == "__main__":
    case.main()
