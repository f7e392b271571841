#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_refused.py ROUNDHOUSE JAX_DIR: what an API server refuses, what others manage, and nodes that are lost; on a
real server."""
import datetime
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import case  # noqa: E402
from case import Case, GROUP, LABEL, job  # noqa: E402
from support import wait_for  # noqa: E402

KUBEFLOW = {"apiGroups": ["kubeflow.org"], "resources": ["*"], "verbs": ["*"]}
CORE = {"apiGroups": [""], "resources": ["services", "events", "pods"], "verbs": ["*"]}
POLICY = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
# Many enough to fill a window, few enough for a busy machine.
MANY = 120


class Refused(Case):
    """The audit log shows how often a request was sent."""
    options = {"audit": True}

    def condition(self, name, kind, namespace="default"):
        _, body = self.request("GET", self.path("pytorchjobs", namespace, name))
        return next((c for c in body.get("status", {}).get("conditions", []) if c["type"] == kind
                     and c["status"] == "True"), None)

    def stalled(self, name, words, namespace="default"):
        return wait_for(f"{name} is stalled: {words}", lambda: words in (self.condition(name, "Stalled", namespace)
                                                                         or {}).get("message", ""))

    def job_events(self, name, namespace="default"):
        return {(e["type"], e["reason"]): e["message"] for e in self.items("v1", "events", namespace)
                if e["involvedObject"].get("name") == name}

    def tries(self, verb, resource, code, namespace):
        """-> how often it was tried, and so answered"""
        return sum(1 for e in self.api.audit_events() if e["verb"] == verb and e.get("responseStatus",
                                                                                     {}).get("code") == code
                   and (ref := e.get("objectRef", {})).get("resource") == resource and ref.get("namespace") == namespace
                   and e.get("userAgent", "").startswith("roundhouse"))

    # --- admission

    def quota(self, namespace, pods):
        path = f"/api/v1/namespaces/{namespace}/resourcequotas"
        self.request("POST", path, {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"},
                                    "spec": {"hard": {"pods": pods}}})
        # nothing counts here: the test sets what is used
        self.request("PATCH", f"{path}/few/status", {"status": {"hard": {"pods": pods}, "used": {"pods": "0"}}},
                     "application/merge-patch+json")

    def test_quota(self):
        """One condition with the server's words, few tries and few Events, however large the job; then all goes on."""
        self.api.kubectl("create", "namespace", "small")
        self.quota("small", "3")
        with self.controller("--leader-elect=false", name="quota") as controller:
            self.create(job("large", workers=MANY, namespace="small"))
            self.stalled("large", "exceeded quota: few", "small")
            controller.wait_idle()
            self.assertEqual(len(self.pods("large", "small")), 3)
            self.assertLess(self.tries("create", "pods", 403, "small"), MANY)
            events = [e for e in self.items("v1", "events", "small") if e["reason"] == "FailedCreatePod"]
            self.assertLess(len(events), 15)
            self.request("DELETE", "/api/v1/namespaces/small/resourcequotas/few")
            wait_for("all pods", lambda: len(self.pods("large", "small")) == MANY, patience=120)
            wait_for("goes on", lambda: not self.condition("large", "Stalled", "small"))
        self.drop_job("large", namespace="small")

    def test_admission_policy(self):
        """A cluster's own rule for pods: its words reach the user."""
        policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
                  "metadata": {"name": "signed"},
                  "spec": {"failurePolicy": "Fail", "validations": [{"expression": "false",
                                                                     "message": "images must be signed"}],
                           "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
                                                                   "operations": ["CREATE"],
                                                                   "resources": ["pods"]}]}}}
        binding = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
                   "metadata": {"name": "signed"},
                   "spec": {"policyName": "signed", "validationActions": ["Deny"]}}
        self.api.kubectl("create", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List",
                                                               "items": [policy, binding]}))
        pod = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"},
                          "spec": {"containers": [{"name": "c", "image": "i"}]}})
        wait_for("the policy holds", lambda: self.api.request("POST", "/api/v1/namespaces/default/pods?dryRun=All",
                                                              pod)[0] != 201)
        with self.controller("--leader-elect=false", name="policy"):
            self.create(job("unsigned"))
            self.stalled("unsigned", "images must be signed")
            self.request("DELETE", POLICY.replace("policies", "policybindings") + "/signed")
            wait_for("pods", lambda: len(self.pods("unsigned")) == 2, patience=120)
            wait_for("goes on", lambda: not self.condition("unsigned", "Stalled"))
        self.drop_job("unsigned")
        self.request("DELETE", POLICY + "/signed")

    def test_template_is_not_valid(self):
        """What the server does not take as a pod, and will not take later either: index 0 alone was tried."""
        with self.controller("--leader-elect=false", name="invalid") as controller:
            self.api.kubectl("create", "namespace", "wrong")
            body = job("bad", workers=20, namespace="wrong")
            body["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["priorityClassName"] = "nobody-has-it"
            self.create(body)
            self.stalled("bad", "nobody-has-it", "wrong")
            controller.wait_idle()
            names = {e["objectRef"].get("name") for e in self.api.audit_events() if e["verb"] == "create"
                     and e["objectRef"].get("namespace") == "wrong"
                     and e["objectRef"]["resource"] == "pods"}
            self.assertEqual(names, {"bad-worker-0"})
        self.drop_job("bad", namespace="wrong")

    # --- rights

    def limited(self, name, rules):
        self.grant(rules)
        return self.controller("--leader-elect=false", "--enable-scheme=PyTorchJob",
                               kubeconfig=self.api.kubeconfig_of("limited"), name=name)

    def test_status_may_not_be_patched(self):
        """Everything else works, the event names the missing permission, and with it the status is written."""
        jobs = {"apiGroups": ["kubeflow.org"], "resources": ["pytorchjobs"], "verbs": ["*"]}
        with self.limited("no-status", [jobs, CORE]) as controller:
            self.create(job("silent"))
            pods = wait_for("pods", lambda: len(p := self.pods("silent")) == 2 and p)
            for pod in pods:
                self.set_phase(pod, "Running")
            wait_for("words", lambda: any("pytorchjobs/status" in m and kind == "Warning" for (kind, _),
                                          m in self.job_events("silent").items()))
            controller.wait_idle()
            self.assertLess(self.tries("patch", "pytorchjobs", 403, "default"), 30)
            self.grant([KUBEFLOW, CORE])
            wait_for("status", lambda: self.conditions("silent").get("Running") == "True", patience=180)
        self.drop_job("silent")

    def test_pods_may_not_be_created(self):
        """Verb, resource and namespace, and the rule."""
        core = [{**CORE, "resources": ["services", "events"]}, {**CORE, "resources": ["pods"],
                                                                "verbs": ["get", "list", "watch", "delete", "patch"]}]
        with self.limited("no-pods", [KUBEFLOW, *core]):
            self.create(job("empty"))
            self.stalled("empty", 'cannot create resource "pods" in API group "" in the namespace "default"')
            self.assertIn("resources: [pods]", self.condition("empty", "Stalled")["message"])
            self.assertIn("verbs: [create", self.condition("empty", "Stalled")["message"])
            self.grant([KUBEFLOW, CORE])
            wait_for("pods", lambda: len(self.pods("empty")) == 2, patience=120)
        self.drop_job("empty")

    def test_ledger_may_not_be_written(self):
        """Then no pod is deleted: nothing would know of it."""
        jobs = [{**KUBEFLOW, "resources": ["pytorchjobs"], "verbs": ["get", "list", "watch"]},
                {**KUBEFLOW, "resources": ["pytorchjobs/status"]}]
        with self.limited("no-ledger", [*jobs, CORE]) as controller:
            body = job("unwritten")
            body["spec"]["pytorchReplicaSpecs"]["Worker"]["restartPolicy"] = "ExitCode"
            self.create(body)
            pods = wait_for("pods", lambda: len(p := self.pods("unwritten")) == 2 and p)
            self.fail_pod(pods[0])
            wait_for("words", lambda: any('cannot patch resource "pytorchjobs"' in m
                                          for m in self.job_events("unwritten").values()))
            controller.wait_idle()
            self.assertEqual([p["metadata"]["uid"] for p in self.pods("unwritten")],
                             [p["metadata"]["uid"] for p in pods])
            self.grant([KUBEFLOW, CORE])
            wait_for("another pod", lambda: pods[0]["metadata"]["uid"] not in {p["metadata"]["uid"]
                    for p in self.pods("unwritten")}, patience=120)
        self.drop_job("unwritten")

    def fail_pod(self, pod, code=138):
        state = {"name": "pytorch", "image": "i", "imageID": "", "ready": False, "restartCount": 0,
                 "state": {"terminated": {"exitCode": code}}}
        self.request("PATCH", f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}/status",
                     {"status": {"phase": "Failed", "containerStatuses": [state]}}, "application/merge-patch+json")

    def test_account_is_made_anew(self):
        """Its token is worth nothing any more, and another one comes into the file, as kubelet puts it there."""
        self.api.kubectl("create", "serviceaccount", "renewed")
        self.api.kubectl("create", "clusterrolebinding", "renewed", "--clusterrole=cluster-admin",
                         "--serviceaccount=default:renewed")
        token = self.folder / "token"
        kubeconfig = self.folder / "renewed"
        token.write_text(self.api.kubectl("create", "token", "renewed").stdout.strip())
        self.api.write_kubeconfig(kubeconfig, {"tokenFile": str(token)})
        with self.controller("--leader-elect=false", kubeconfig=kubeconfig, name="renewed") as controller:
            self.api.kubectl("delete", "serviceaccount", "renewed")
            self.api.kubectl("create", "serviceaccount", "renewed")
            # watches that are open stay so: a server that is started again ends them
            self.api.restart("kube-apiserver")
            wait_for("401", lambda: any(p["status"] == 401 for p in controller.state()["problems"]), patience=120)
            token.write_text(self.api.kubectl("create", "token", "renewed").stdout.strip())
            wait_for("works", lambda: not controller.state()["problems"], patience=180)
            self.create(job("later"))
            wait_for("pods", lambda: len(self.pods("later")) == 2)
        self.drop_job("later")

    # --- others

    def test_managed_by_another(self):
        """Kueue's, as V1 has it: no status, no pod, no Event; also when it changes hands."""
        with self.controller("--leader-elect=false", name="managed") as controller:
            self.create(job("theirs", managedBy="kueue.x-k8s.io/multikueue"))
            self.create(job("ours", managedBy="kubeflow.org/training-operator"))
            wait_for("pods", lambda: len(self.pods("ours")) == 2)
            controller.wait_idle()
            self.assertEqual((self.pods("theirs"), self.conditions("theirs"), self.job_events("theirs")), ([], {}, {}))
        for name in ("theirs", "ours"):
            self.drop_job(name)

    def test_queue_by_suspension(self):
        """Kueue makes jobs wait by suspend, and lets them in with a node selector in the template."""
        with self.controller("--leader-elect=false", name="kueue"):
            self.create(job("queued", suspend=True))
            wait_for("suspended", lambda: self.conditions("queued").get("Suspended") == "True")
            self.assertEqual(self.pods("queued"), [])
            template = {"spec": {"nodeSelector": {"pool": "a"}, "containers": [{"name": "pytorch", "image": "i:1"}]}}
            body = {"spec": {"runPolicy": {"suspend": False},
                             "pytorchReplicaSpecs": {"Worker": {"template": template}}}}
            self.request("PATCH", self.path("pytorchjobs", name="queued"), body, "application/merge-patch+json")
            pods = wait_for("pods", lambda: len(p := self.pods("queued")) == 2 and p)
            self.assertEqual([pod["spec"]["nodeSelector"] for pod in pods], [{"pool": "a"}] * 2)
        self.drop_job("queued")

    def test_node_is_lost(self):
        """A pod on a dead node stays, being deleted: if the job requests it, it is force-deleted by its UID, and an
        event has the cause."""
        with self.controller("--leader-elect=false", name="lost") as controller:
            names = ("patient", "forced")
            for name in names:
                body = job(name)
                body["spec"]["pytorchReplicaSpecs"]["Worker"]["restartPolicy"] = "ExitCode"
                body["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["nodeName"] = "dead"
                if name == "forced":
                    body["metadata"]["annotations"] = {"roundhouse.dev/terminating-timeout": "2s"}
                self.create(body)
            before = {name: wait_for("pods", lambda: len(p := self.pods(name)) == 2 and p)[0]["metadata"]["uid"]
                      for name in names}
            for name in names:
                for pod in self.pods(name):
                    self.set_phase(pod, "Running")
                # who evicts the pods of a lost node says how long they have
                self.request("DELETE", f"/api/v1/namespaces/default/pods/{name}-worker-0?gracePeriodSeconds=1")
            wait_for("another pod", lambda: self.uid("forced-worker-0") not in (None, before["forced"]))
            controller.wait_idle()
            self.assertEqual(self.uid("patient-worker-0"), before["patient"])
            wait_for("event", lambda: "forced-worker-0" in self.job_events("forced").get(("Warning", "ForcedDeletePod"),
                                                                                         ""))
            self.assertIn("its node dead may be lost", self.job_events("forced")["Warning", "ForcedDeletePod"])
            self.assertFalse(any("force" in r.lower() for _, r in self.job_events("patient")))
        for name in names:
            self.drop_job(name)

    def uid(self, pod):
        return next((p["metadata"]["uid"] for p in self.items("v1", "pods") if p["metadata"]["name"] == pod), None)

    def test_events_of_a_large_job(self):
        """What matters is among them: its failure is not drowned by a thousand creations."""
        with self.controller("--leader-elect=false", name="events") as controller:
            body = job("loud", workers=MANY)
            body["spec"]["pytorchReplicaSpecs"]["Worker"]["restartPolicy"] = "Never"
            self.create(body)
            pods = wait_for("pods", lambda: len(p := self.pods("loud")) == MANY and p, patience=120)
            self.fail_pod(pods[7], 1)
            wait_for("failed", lambda: self.conditions("loud").get("Failed") == "True")
            wait_for("event", lambda: any(reason == "PyTorchJobFailed" for _, reason in self.job_events("loud")))
            controller.wait_idle()
            events = [e for e in self.items("v1", "events") if e["involvedObject"].get("name") == "loud"]
            self.assertLess(len(events), 60, "V1's correlator lets 10 of a sort through, then counts")
        self.drop_job("loud")

    # --- what is read

    def test_what_is_listed(self):
        """Secrets never; pods and Services with a job's label; ConfigMaps by the one name of a job's own."""
        with self.controller("--leader-elect=false", name="reads"):
            pod = {"spec": {"containers": [{"name": "mpi", "image": "i:1"}]}}
            body = {"apiVersion": GROUP, "kind": "MPIJob", "metadata": {"name": "reads", "namespace": "default"},
                    "spec": {"mpiReplicaSpecs": {"Launcher": {"replicas": 1, "template": pod},
                                                 "Worker": {"replicas": 1, "template": pod}}}}
            uid = self.create(body, "mpijobs")["metadata"]["uid"]
            wait_for("pods", lambda: len(self.pods("reads")) == 2)
        reads = [e for e in self.api.audit_events() if e["verb"] in ("list", "watch", "get")
                 and e.get("userAgent", "").startswith("roundhouse")]
        self.assertTrue(reads)
        for event in reads:
            resource, uri = event.get("objectRef", {}).get("resource"), event["requestURI"]
            self.assertNotEqual(resource, "secrets", uri)
            if resource in ("pods", "services") and event["verb"] != "get":
                self.assertIn(f"labelSelector={LABEL.replace('/', '%2F')}", uri)
            if resource == "configmaps" and event["verb"] != "get":
                self.assertRegex(uri, "fieldSelector=metadata.name(=|%3D)")
        self.drop_owned(uid)
        self.drop_job("reads", "mpijobs")


class Slow(Case):
    """A rate that is given is kept."""
    options = {"audit": True}

    def test_rate(self):
        """As V1's token bucket: the burst at once, and then so many a second. The times are those of the server."""
        rate, burst, workers = 10, 5, 20
        with self.controller("--leader-elect=false", f"--kube-api-qps={rate}", f"--kube-api-burst={burst}",
                             name="rate"):
            self.create(job("slow", workers=workers))
            wait_for("pods", lambda: len(self.pods("slow")) == workers)
        made = sorted(e["requestReceivedTimestamp"] for e in self.api.audit_events() if e["verb"] == "create"
                      and e.get("userAgent", "").startswith("roundhouse") and e["objectRef"]["resource"] in ("pods",
                              "services") and e["objectRef"].get("namespace") == "default")
        self.assertEqual(len(made), 2 * workers)
        took = (datetime.datetime.fromisoformat(made[-1]) - datetime.datetime.fromisoformat(made[0])).total_seconds()
        self.assertGreater(took, (2 * workers - burst - 1) / rate - 0.5)


if __name__ == "__main__":
    case.main()
