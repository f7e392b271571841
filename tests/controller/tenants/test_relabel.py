#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_relabel.py ROUNDHOUSE JAX_DIR [unittest's words]: labels of pods change, and what goes while nobody watches is
replaced.

The controller has the rights that `roundhouse manifests` gives it.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import case  # noqa: E402
from case import LABEL, Case, job  # noqa: E402
from support import wait_for  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faults"))
import proxy  # noqa: E402

OPERATOR = "training.kubeflow.org/operator-name"
PREFIX = "training.kubeflow.org/"


class Relabel(Case):
    """Each test has jobs of its own."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.token = cls.apply_manifests()

    def account(self, url=None):
        """-> the path of a kubeconfig of the account of the manifests"""
        path = self.folder / f"account-{url.rpartition(':')[2] if url else 'direct'}.kubeconfig"
        kept, self.api.url = self.api.url, url or self.api.url
        self.api.write_kubeconfig(path, {"token": self.token})
        self.api.url = kept
        return path

    def start(self, name, url=None):
        return self.controller("--leader-elect=false", "--enable-scheme=PyTorchJob", kubeconfig=self.account(url),
                               name=name)

    def uid(self, pod, namespace="default"):
        status, body = self.request("GET", f"/api/v1/namespaces/{namespace}/pods/{pod}")
        return body["metadata"]["uid"] if status == 200 else None

    def relabel(self, pod, labels, namespace="default"):
        status, body = self.request("PATCH", f"/api/v1/namespaces/{namespace}/pods/{pod}",
                                    {"metadata": {"labels": labels}}, "application/merge-patch+json")
        self.assertEqual(status, 200, body)

    def delete(self, pod, namespace="default"):
        self.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/{pod}?gracePeriodSeconds=0")

    def begin(self, name, namespace="default"):
        """A job of two workers that run."""
        self.create(job(name, namespace=namespace))
        for pod in wait_for("pods", lambda: len(p := self.pods(name, namespace)) == 2 and p):
            self.set_phase(pod, "Running")
        wait_for("running", lambda: self.conditions(name, namespace=namespace).get("Running") == "True")

    def check(self, name, labels):
        """The job says that the name is taken; once the pod is gone, it goes on."""
        pod = f"{name}-worker-1"
        before = self.uid(pod)
        self.relabel(pod, labels)
        wait_for("stalled", lambda: self.conditions(name).get("Stalled") == "True")
        self.assertEqual(self.uid(pod), before)
        self.delete(pod)
        wait_for("another pod", lambda: self.uid(pod) not in (None, before))
        wait_for("goes on", lambda: self.conditions(name).get("Stalled") != "True")
        self.assertEqual(len(self.pods(name)), 2)

    def test_labels(self):
        """Another job's name, the name of no job, no operator, another operator; one after the other, and no start
        between."""
        with self.start("labels"):
            self.begin("other")
            self.begin("mine")
            for labels in ({LABEL: "other"}, {LABEL: "nobody"}, {OPERATOR: None}, {OPERATOR: "tfjob-controller"},
                           {PREFIX + "replica-index": "x"}):
                with self.subTest(labels):
                    self.check("mine", labels)
            self.assertEqual(len(self.pods("other")), 2)
        for name in ("mine", "other"):
            self.drop_job(name)

    def test_label_that_is_watched(self):
        """Without it the server says DELETED of a pod that is there, and nothing when it goes."""
        with self.start("unwatched"):
            self.begin("unseen")
            before = self.uid("unseen-worker-0")
            self.relabel("unseen-worker-0", {LABEL: None})
            wait_for("stalled", lambda: self.conditions("unseen").get("Stalled") == "True")
            self.relabel("unseen-worker-0", {LABEL: "unseen"})
            wait_for("goes on", lambda: self.conditions("unseen").get("Stalled") != "True")
            self.assertEqual(self.uid("unseen-worker-0"), before)
            self.check("unseen", {LABEL: None})
        self.drop_job("unseen")

    def test_gap_with_many_labels(self):
        """One tenant's pod has 64 labels of ours; a pod of another goes while the server has forgotten what
        happened."""
        gap = {"open": False, "refused": 0}

        def judge(call):
            if not gap["open"] or call.method != "GET" or call.path != "/api/v1/pods":
                return None
            gap["refused"] += 1
            return proxy.FAULTS["gone" if call.watches else "away"]
        for namespace in ("tenant-a", "tenant-b"):
            self.api.kubectl("create", "namespace", namespace)
        # the server sorts labels: these come before job-name
        labels = {f"{PREFIX}a{number:02}": "y" for number in range(64)}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "greedy",
                                                                "labels": {**labels, LABEL: "greedy"}},
                "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
        status, answer = self.request("POST", "/api/v1/namespaces/tenant-a/pods", body)
        self.assertEqual(status, 201, answer)
        with proxy.Proxy(self.api, judge) as between, self.start("gap", between.url) as controller:
            self.begin("quiet", "tenant-b")
            before = self.uid("quiet-worker-1", "tenant-b")
            gap["open"] = True
            with between.lock:
                for upstream in between.upstreams:
                    proxy.shut(upstream.sock)
            wait_for("a gap", lambda: gap["refused"] > 1)
            self.delete("quiet-worker-1", "tenant-b")
            self.assertIsNone(self.uid("quiet-worker-1", "tenant-b"))
            gap["open"] = False
            wait_for("another pod", lambda: self.uid("quiet-worker-1", "tenant-b") not in (None, before), patience=120)
            wait_for("no problems", lambda: not controller.state()["problems"], patience=120)
        self.drop_job("quiet", namespace="tenant-b")
        self.delete("greedy", "tenant-a")


if __name__ == "__main__":
    case.main()
