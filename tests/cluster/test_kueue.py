# SPDX-License-Identifier: Apache-2.0
"""test_kueue.py PROGRAM [ADMISSIONS [SEED [WORD...]]]: jobs in the queues of the real Kueue, on a real API server.

Kueue works without its integrations of our kinds, and a watch shows which pods were there, change by change. A played
kubelet binds pods, runs them, and lets them terminate, as a real one does: their quota is in use until they are gone.
ADMISSIONS are played in the random test; without any it is skipped. WORDs are unittest's.
"""
import json
import pathlib
import random
import subprocess
import sys
import unittest

import apiserver
import kueue
from node import node_played

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "controller"))
import support  # noqa: E402

PROGRAM = sys.argv[1]
ADMISSIONS, SEED = (int(word) for word in [*sys.argv[2:4], *["0", "1"][len(sys.argv) - 2:]])
sys.argv[1:] = sys.argv[4:]
QUOTA = 4
JOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
WORKLOADS = f"{kueue.GROUP}/namespaces/default/workloads"
PODS = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"
QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"


class Kubelet(node_played.PlayedKubelet):
    """Also binds pods, and ends those that are deleted. A pod that was killed has failed with 143."""

    def __init__(self, api):
        super().__init__(api)
        self.all = None  # how every pod ends, once it runs

    def advance(self, pod):
        name, status = pod["metadata"]["name"], pod.get("status", {}).get("phase", "Pending")
        if pod["metadata"].get("deletionTimestamp"):
            if status == "Running":
                with self.lock:
                    self.write(pod, node_played.status_of(pod, "Failed", 143))
            self.send("DELETE", f"{self.path}/{name}?gracePeriodSeconds=0",
                      {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
                       "preconditions": {"uid": pod["metadata"]["uid"]}})
        elif pod["spec"].get("schedulingGates"):
            return
        elif not pod["spec"].get("nodeName"):
            self.send("POST", f"{self.path}/{name}/binding", {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "uid": pod["metadata"]["uid"]},
                "target": {"apiVersion": "v1", "kind": "Node", "name": "node"}})
        else:
            if self.all is not None and status == "Running":
                self.codes.setdefault(pod["metadata"]["uid"], self.all)
            super().advance(pod)

    def send(self, method, path, body):
        with self.lock:
            answer, text = self.api.request(method, path, json.dumps(body))
        if answer not in (200, 201, 404, 409):
            raise AssertionError(f"{method} {path}: {answer} {text[:300]!r}")


def job(name, workers=0, priority=None, queue="queue", **policy):
    pod = {"spec": {"containers": [{"name": "pytorch", "image": "localhost/busybox:1", "command": ["sleep", "9"],
                                    "resources": {"requests": {"cpu": "1"}}}]}}
    one = {"restartPolicy": "OnFailure", "template": pod}
    types = {"Master": {**one, "replicas": 1}, **({"Worker": {**one, "replicas": workers}} if workers else {})}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
            "metadata": {"name": name, "labels": {QUEUE: queue, **({PRIORITY: priority} if priority else {})}},
            "spec": {"runPolicy": {"cleanPodPolicy": "Running", **policy}, "pytorchReplicaSpecs": types}}


def uses(pod):
    """-> whether it uses quota: it is there, and has not ended"""
    return pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")


def line_of(event):
    """-> a change in one line, for who looks for the cause of a failure"""
    revision, what, body = event
    status, meta = body.get("status", {}), body["metadata"]
    conditions = " ".join(f"{one['type']}={one['status']}" for one in status.get("conditions", []))
    return (f"{revision} {what} {body['kind']} {meta['name']} {status.get('phase', '')} "
            f"{'deleting ' if meta.get('deletionTimestamp') else ''}{body['kind'] == 'Workload' and conditions or ''}")


def most_pods(events):
    """-> (the most pods that were there at once, what came before that)"""
    now, most, at = {}, set(), 0
    for place, (_, what, body) in enumerate(events):
        if body["kind"] == "Pod":
            now[body["metadata"]["uid"]] = what != "DELETED" and uses(body)
            there = {uid for uid, is_there in now.items() if is_there}
            if len(there) > len(most):
                most, at = there, place
    return len(most), "\n".join(map(line_of, events[max(0, at - 60):at + 20]))


class Base(unittest.TestCase):
    def request(self, method, path, body=None, content_type="application/json", codes=(200, 201)):
        status, text = self.api.request(method, path, json.dumps(body) if body else None, content_type)
        self.assertIn(status, codes, text[:500])
        return json.loads(text)

    def create(self, body):
        return self.request("POST", JOBS, body)

    def jobs(self):
        return {one["metadata"]["name"]: one for one in json.loads(self.api.get(JOBS))["items"]}

    def workloads(self):
        """-> the Workloads by the names of their jobs"""
        return {one["metadata"]["ownerReferences"][0]["name"]: one
                for one in json.loads(self.api.get(WORKLOADS))["items"]}

    def conditions(self, body):
        return {one["type"] for one in (body or {}).get("status", {}).get("conditions", []) if one["status"] == "True"}

    def condition(self, body, name):
        return next((one for one in (body or {}).get("status", {}).get("conditions", []) if one["type"] == name), {})

    def pods(self, name):
        found = json.loads(self.api.get(f"{PODS}?labelSelector=training.kubeflow.org/job-name={name}"))["items"]
        return {pod["metadata"]["name"]: pod for pod in found}

    def wait_running(self, name, count):
        support.wait_for(f"{name} runs", lambda: "Running" in self.conditions(self.jobs()[name]) and sum(
            pod["status"].get("phase") == "Running" for pod in self.pods(name).values()) == count)

    def wait_waiting(self, name):
        support.wait_for(f"{name} waits", lambda: name in self.workloads() and "Suspended" in self.conditions(
            self.jobs()[name]) and not self.pods(name))

    def assert_nothing_counted(self, body):
        """No pod that Kueue has ended counts as failed, and none as restarted."""
        ledger = json.loads(body["metadata"].get("annotations", {}).get("roundhouse.dev/ledger", "{}"))
        self.assertNotIn("restarts", json.dumps(ledger), body["metadata"]["name"])
        self.assertNotIn("Failed", self.conditions(body))
        for replica in body["status"].get("replicaStatuses", {}).values():
            self.assertEqual(replica.get("failed", 0), 0)


class Queued(Base):
    @classmethod
    def setUpClass(cls):
        cls.api = cls.enterClassContext(kueue.Cluster())
        cls.api.kubectl("apply", "-k", pathlib.Path(__file__).resolve().parents[2] / "conf" / "crds")
        cls.api.install_kueue()
        cls.api.start_kueue()
        cls.api.create(kueue.flavor("flavor", nodeLabels={"pool": "train"},
                                    tolerations=[{"key": "train", "operator": "Exists"}]),
                       kueue.cluster_queue("cluster", str(QUOTA), "flavor",
                                           preemption={"withinClusterQueue": "LowerPriority"}),
                       kueue.local_queue("queue", "cluster"), kueue.priority_class("low", 1),
                       kueue.priority_class("high", 100))
        cls.controller = cls.enterClassContext(support.Controller(
            PROGRAM, cls.api.kubeconfig, cls.api.folder, "--leader-elect=false", "--kueue=true"))
        cls.kubelet = cls.enterClassContext(Kubelet(cls.api))

    def tearDown(self):
        self.kubelet.all = None
        self.api.kubectl("delete", "pytorchjobs", "--all", "--wait=false")
        support.wait_for("all is gone", lambda: not self.jobs() and not self.workloads() and not json.loads(
            self.api.get(PODS))["items"])

    def patch_workload(self, name, body):
        self.request("PATCH", f"{WORKLOADS}/{self.workloads()[name]['metadata']['name']}", body, MERGE, (200, 404, 409))

    def test_admitted(self):
        """Pods get what the flavor and the pod set say; others are not touched, and quota ends with the job."""
        self.create(job("one", 1, "low"))
        self.wait_running("one", 2)
        for name, pod in self.pods("one").items():
            self.assertEqual(pod["spec"]["nodeSelector"], {"pool": "train"})
            self.assertIn({"key": "train", "operator": "Exists"}, pod["spec"]["tolerations"])
            self.assertEqual(pod["metadata"]["labels"]["kueue.x-k8s.io/podset"], name.split("-")[1])
        workload = self.workloads()["one"]
        self.assertEqual(workload["spec"]["priority"], 1)
        self.assertEqual([(one["name"], one["count"]) for one in workload["spec"]["podSets"]],
                         [("master", 1), ("worker", 1)])
        support.wait_for("the pods are ready", lambda: "PodsReady" in self.conditions(self.workloads()["one"]))
        self.create(job("full", 2))
        self.wait_waiting("full")
        self.assertTrue(self.jobs()["full"]["spec"]["runPolicy"]["suspend"])
        free = job("free", 3)
        del free["metadata"]["labels"]
        self.create(free)
        self.wait_running("free", 4)
        self.assertNotIn("free", self.workloads())
        self.kubelet.finish(["one-master-0"], 0)
        self.wait_running("full", 3)
        ended = self.workloads()["one"]
        self.assertEqual(self.condition(ended, "Finished")["reason"], "Succeeded")
        support.wait_for("the Workload is let go",
                         lambda: not self.workloads()["one"]["metadata"].get("finalizers"))

    def test_preempted(self):
        """A preemption is neither a failure nor a restart, also for a job that may have none."""
        self.create(job("low", 2, "low", backoffLimit=0))
        self.wait_running("low", 3)
        self.create(job("high", 3, "high"))
        self.wait_running("high", 4)
        self.wait_waiting("low")
        self.assertEqual(self.condition(self.workloads()["low"], "Evicted").get("reason"), "Preempted")
        self.assert_nothing_counted(self.jobs()["low"])
        self.kubelet.finish(["high-master-0"], 0)
        self.wait_running("low", 3)
        self.assert_nothing_counted(self.jobs()["low"])
        self.kubelet.finish(["low-master-0"], 0)
        support.wait_for("low succeeds", lambda: "Succeeded" in self.conditions(self.jobs()["low"]))
        self.assert_nothing_counted(self.jobs()["low"])

    def test_deactivated(self):
        """spec.active of a Workload stops its job, and starts it again; a deleted Workload is made again."""
        self.create(job("held", 1))
        self.wait_running("held", 2)
        self.patch_workload("held", {"spec": {"active": False}})
        self.wait_waiting("held")
        support.wait_for("its quota is free", lambda: "QuotaReserved" not in self.conditions(self.workloads()["held"]))
        self.patch_workload("held", {"spec": {"active": True}})
        self.wait_running("held", 2)
        before = self.workloads()["held"]["metadata"]
        self.api.kubectl("delete", "workload", before["name"], "--wait=false")
        support.wait_for("a new Workload", lambda: self.workloads().get("held", {"metadata": before})["metadata"]["uid"]
                         != before["uid"])
        self.wait_running("held", 2)
        self.assert_nothing_counted(self.jobs()["held"])

    def test_changed(self):
        """Who asks for more while he runs, queues for that."""
        self.create(job("grows", 0))
        self.wait_running("grows", 1)
        self.request("PATCH", f"{JOBS}/grows", {"spec": {"pytorchReplicaSpecs": {"Worker": job("x", 2)["spec"][
            "pytorchReplicaSpecs"]["Worker"]}}}, MERGE)
        self.wait_running("grows", 3)
        self.assertEqual([one["count"] for one in self.workloads()["grows"]["spec"]["podSets"]], [1, 2])

    def test_succeeded(self):
        """Replicas that have succeeded give their quota back while the others run; at an eviction all queue again."""
        self.create(job("early", 3, "low"))
        self.wait_running("early", 4)
        self.create(job("next", 0, "low"))
        self.wait_waiting("next")
        self.kubelet.finish(["early-worker-1"], 0)
        self.wait_running("next", 1)
        self.assertEqual(self.workloads()["early"]["status"]["reclaimablePods"], [{"name": "worker", "count": 1}])
        self.create(job("high", 1, "high"))
        self.wait_running("high", 2)
        self.wait_waiting("early")
        support.wait_for("it asks for all", lambda: not self.workloads()["early"]["status"].get("reclaimablePods"))
        self.kubelet.finish(["high-master-0", "next-master-0"], 0)
        self.wait_running("early", 4)
        self.kubelet.all = 0
        support.wait_for("all end", lambda: all("Succeeded" in self.conditions(one) for one in self.jobs().values()))
        self.assert_nothing_counted(self.jobs()["early"])

    def test_partial(self):
        """A job that says with how many workers it runs at least gets those that there is room for."""
        self.create(job("first", 0))
        self.wait_running("first", 1)
        fewer = job("fewer", 5)
        fewer["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "2"}
        self.create(fewer)
        self.wait_running("fewer", 3)
        self.assertEqual(self.jobs()["fewer"]["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"], 2)
        self.assertEqual(self.workloads()["fewer"]["spec"]["podSets"][1]["count"], 5)
        self.assertEqual(self.workloads()["fewer"]["spec"]["podSets"][1]["minCount"], 2)
        self.patch_workload("fewer", {"spec": {"active": False}})
        self.wait_waiting("fewer")
        self.assertEqual(self.jobs()["fewer"]["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"], 5)
        wrong = job("wrong", 1)
        wrong["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "two"}
        self.create(wrong)
        support.wait_for("it says what is wrong", lambda: "minCount" in self.condition(
            self.jobs()["wrong"], "Stalled").get("message", ""))

    def test_topology(self):
        """Pods that ask for it come into one rack: Kueue places each, and lets it be scheduled then."""
        levels = ["rack", "kubernetes.io/hostname"]
        self.api.create({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Topology", "metadata": {"name": "racks"},
                         "spec": {"levels": [{"nodeLabel": label} for label in levels]}},
                        kueue.flavor("racked", nodeLabels={"racked": "yes"}, topologyName="racks"),
                        kueue.cluster_queue("racked", "8", "racked"), kueue.local_queue("racked", "racked"))
        room = {"cpu": "1", "memory": "1Gi", "pods": "9"}
        for name, rack in (("a0", "a"), ("b0", "b"), ("b1", "b"), ("b2", "b")):
            self.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {
                "name": name, "labels": {"racked": "yes", "rack": rack, "kubernetes.io/hostname": name}}})
            self.request("PATCH", f"/api/v1/nodes/{name}/status", {"status": {
                "capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}}, MERGE)
            self.api.kubectl("taint", "node", name, "node.kubernetes.io/not-ready-", check=False)
        near = job("near", 2, queue="racked")
        near["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["metadata"] = {
            "annotations": {"kueue.x-k8s.io/podset-required-topology": "rack"}}
        self.create(near)
        self.wait_running("near", 3)
        workers = [pod["spec"] for name, pod in self.pods("near").items() if "worker" in name]
        nodes = sorted(spec["nodeSelector"]["kubernetes.io/hostname"] for spec in workers)
        self.assertTrue(set(nodes) < {"b0", "b1", "b2"} and len(set(nodes)) == 2, nodes)
        self.assertEqual(self.workloads()["near"]["spec"]["podSets"][1]["topologyRequest"], {
            "required": "rack", "podIndexLabel": "training.kubeflow.org/replica-index"})

    def test_restarted(self):
        """A controller that starts again finds who runs and who waits, and changes nothing."""
        self.create(job("runs", 2))
        self.wait_running("runs", 3)
        self.create(job("waits", 2))
        self.wait_waiting("waits")
        uids = {pod["metadata"]["uid"] for pod in self.pods("runs").values()}
        self.controller.kill()
        self.controller.start()
        self.controller.wait_ready()
        self.create(job("fits", 0))
        self.wait_running("fits", 1)
        self.assertEqual({pod["metadata"]["uid"] for pod in self.pods("runs").values()}, uids)
        self.assertFalse(self.pods("waits"))

    def test_forged(self):
        """Who writes suspend and the note into his job runs nothing."""
        self.create(job("first", 3))
        self.wait_running("first", 4)
        forged = job("forged", 1, suspend=False)
        forged["metadata"]["annotations"] = {"roundhouse.dev/kueue-admission": json.dumps(
            {"workload": "x", "admission": "0", "podSets": []})}
        with kueue.History(self.api, PODS) as history:
            self.create(forged)
            self.wait_waiting("forged")
            support.wait_for("it is suspended", lambda: self.jobs()["forged"]["spec"]["runPolicy"]["suspend"])
        self.assertNotIn("ADDED", [what for _, what, _ in history.events()])

    def test_quota(self):
        """Jobs come, end, are deleted and preempted, and lose their Workloads, by chance: no pod is ever outside the
        quota. None is deactivated: Kueue then gives its quota to others before its pods are gone."""
        if ADMISSIONS == 0:
            self.skipTest("admissions by chance take a second each: cluster/kueue_long, ./check --slow")
        chance = random.Random(SEED)
        count = 0
        before = self.controller.text().count("admitted by ClusterQueue")

        def admissions():
            return self.controller.text().count("admitted by ClusterQueue") - before

        def turn():
            nonlocal count
            there, workloads = self.jobs(), self.workloads()
            name = chance.choice(sorted(there) or [""])
            what = chance.choice(["create"] * 4 + ["finish", "finish", "delete", "forget"])
            if what == "create" or not name:
                if sum(not {"Succeeded", "Failed"} & self.conditions(one) for one in there.values()) < 8:
                    count += 1
                    self.create(job(f"job-{count}", chance.randrange(QUOTA), chance.choice(["low", "high", None]),
                                    backoffLimit=0))
            elif what == "finish":
                master = self.pods(name).get(f"{name}-master-0")
                if master and master["status"].get("phase") == "Running":
                    with self.kubelet.lock:
                        self.kubelet.codes[master["metadata"]["uid"]] = 0
            elif what == "delete":
                self.request("DELETE", f"{JOBS}/{name}", codes=(200, 202, 404))
            elif name in workloads and "Finished" not in self.conditions(workloads[name]):
                self.request("DELETE", f"{WORKLOADS}/{workloads[name]['metadata']['name']}", codes=(200, 202, 404))
            return admissions() >= ADMISSIONS

        with kueue.History(self.api, PODS, WORKLOADS) as history:
            support.wait_for(f"{ADMISSIONS} admissions", turn, patience=ADMISSIONS * 10)
            self.kubelet.all = 0
            support.wait_for("all end", lambda: all({"Succeeded", "Failed"} & self.conditions(one)
                                                    for one in self.jobs().values()), patience=600)
        for body in self.jobs().values():
            self.assert_nothing_counted(body)
        most, around = most_pods(history.events())
        print(f"    {count} jobs, {admissions()} admissions, at most {most} of {QUOTA} pods", flush=True)
        self.assertEqual(most, QUOTA, around)


class Other(Base):
    """Kueue's own integration is on."""

    def test_stands_down(self):
        with kueue.Cluster() as self.api:
            self.api.kubectl("apply", "-k", pathlib.Path(__file__).resolve().parents[2] / "conf" / "crds")
            self.api.install_kueue()
            self.api.start_kueue(("kubeflow.org/pytorchjob",))
            self.api.create(kueue.flavor("flavor"), kueue.cluster_queue("cluster", str(QUOTA), "flavor"),
                            kueue.local_queue("queue", "cluster"))
            with support.Controller(PROGRAM, self.api.kubeconfig, self.api.folder, "--leader-elect=false",
                                    "--kueue=true") as controller, Kubelet(self.api):
                text = "KUEUE'S OWN INTEGRATION OF THIS KIND IS ON"
                for name in ("one", "two"):
                    self.create(job(name, 1))
                    # it may have been ours until Kueue's controller of the kind has begun
                    support.wait_for("it is reported", lambda: text in controller.text())
                    support.wait_for("Kueue's Workload is admitted", lambda name=name: "Admitted" in self.conditions(
                        self.workloads().get(name)) and "roundhouse" not in str(self.workloads()[name]["metadata"]))
                    self.wait_running(name, 2)
                    self.assertTrue(self.workloads()[name]["spec"]["podSets"][0]["template"]["spec"]["containers"][0]
                                    .get("command"))
                self.assertEqual(controller.text().count(text), 1)


class Absent(Base):
    """Kueue comes later than the jobs."""

    def test_absent(self):
        with kueue.Cluster() as self.api:
            self.api.kubectl("apply", "-k", pathlib.Path(__file__).resolve().parents[2] / "conf" / "crds")
            self.api.wait_served()
            manifests = subprocess.run([PROGRAM, "manifests", "--kueue", "-o", "json"], check=True, capture_output=True,
                                       text=True).stdout
            self.assertIn("workloadpriorityclasses", manifests)
            with support.Controller(PROGRAM, self.api.kubeconfig, self.api.folder, "--leader-elect=false",
                                    "--kueue=true") as controller, Kubelet(self.api):
                self.create(job("early", 1))
                support.wait_for("it says why it waits", lambda: "kueue.x-k8s.io cannot be read" in self.condition(
                    self.jobs()["early"], "Stalled").get("message", ""))
                self.assertFalse(self.pods("early"))
                self.assertEqual(controller.text().count("workloads.kueue.x-k8s.io: cannot list"), 1)
                self.api.install_kueue()
                self.api.start_kueue()
                self.api.create(kueue.flavor("flavor"), kueue.cluster_queue("cluster", str(QUOTA), "flavor"),
                                kueue.local_queue("queue", "cluster"))
                self.wait_running("early", 2)
                self.assertNotIn("Stalled", self.conditions(self.jobs()["early"]))
                lost = job("lost", 1, "missing")
                self.create(lost)
                support.wait_for("it says what is missing", lambda: "WorkloadPriorityClass \"missing\" does not exist"
                                 in self.condition(self.jobs()["lost"], "Stalled").get("message", ""))
                self.api.create(kueue.priority_class("missing", 5))
                self.wait_running("lost", 2)


if __name__ == "__main__":
    kueue.skip_without_programs()
    unittest.main(verbosity=2)
