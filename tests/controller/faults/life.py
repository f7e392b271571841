# SPDX-License-Identifier: Apache-2.0
"""One life of a job, played by hand on a real API server, and what has to be true of it whatever happened meanwhile.

A master and two workers run; worker 0 is lost with exit code 138 and starts again; the master succeeds; all is cleaned
up.
"""
import http.client
import json
import time

import audit

GROUP = "/apis/kubeflow.org/v1"
LABEL = "training.kubeflow.org/job-name"
PATIENCE_S = 180
CREATED = {"life-master-0": 1, "life-worker-0": 2, "life-worker-1": 1}
SERVICES = {name: 1 for name in CREATED}


def replica(count):
    return {"replicas": count, "restartPolicy": "ExitCode",
            "template": {"spec": {"containers": [{"name": "pytorch", "image": "i:1"}]}}}


def job(namespace, **policy):
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "life", "namespace": namespace},
            "spec": {"runPolicy": {"cleanPodPolicy": "All", **policy},
                     "pytorchReplicaSpecs": {"Master": replica(1), "Worker": replica(2)}}}


class Life:
    """One of them, in a namespace of its own. Attributes: done, last (the job as it was seen last)."""

    def __init__(self, director, namespace, policy):
        self.director, self.namespace, self.policy = director, namespace, policy
        self.step, self.lost_uid, self.last, self.done = 0, None, None, False
        director.ask("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace",
                                                    "metadata": {"name": namespace}})

    def begin(self):
        self.director.ask("POST", f"{GROUP}/namespaces/{self.namespace}/pytorchjobs",
                          job(self.namespace, **self.policy))

    def set_phase(self, pod, phase, code=0):
        state = {"running": {}} if phase == "Running" else {"terminated": {"exitCode": code}}
        # the pod that was seen, and no other that took its name since: a request may be sent twice when the server was
        # away
        body = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": {"phase": phase, "containerStatuses": [
            {"name": "pytorch", "image": "i", "imageID": "", "ready": phase == "Running", "restartCount": 0,
             "state": state}]}}
        self.director.ask("PATCH", f"/api/v1/namespaces/{self.namespace}/pods/{pod['metadata']['name']}/status", body)

    def start_all(self, pods):
        """-> whether all pods run"""
        for pod in pods.values():
            if pod["status"].get("phase") == "Pending":
                self.set_phase(pod, "Running")
        return len(pods) == 3 and all(pod["status"].get("phase") == "Running" for pod in pods.values())

    def advance(self, seen, pods, services):
        """Look at what there is, and do what comes next."""
        self.last = seen
        conditions = audit.conditions(seen.get("status"))
        running = conditions.get("Running") == "True"
        if self.step == 0 and self.start_all(pods) and running and len(services) == 3:
            self.lost_uid = pods["life-worker-0"]["metadata"]["uid"]
            self.set_phase(pods["life-worker-0"], "Failed", 138)
            self.step = 1
        elif self.step == 1:
            again = pods.get("life-worker-0", {}).get("metadata", {}).get("uid", self.lost_uid) != self.lost_uid
            if again and self.start_all(pods) and running:
                self.set_phase(pods["life-master-0"], "Succeeded")
                self.step = 2
        elif self.step == 2:
            self.done = conditions.get("Succeeded") == "True" and not pods and not services

    def verdict(self, events, reference=None, exact=True):
        """-> what is wrong, in words. events: the controllers' writes in this namespace. exact: the audit log lost
        nothing"""
        wrong = [*audit.lost(events), *(f"after the end: {w}" for w in audit.touched(events))]
        for resource, wanted in (("pods", CREATED), ("services", SERVICES)):
            made = dict(audit.count(events, "create", resource))
            more = any(made.get(name, 0) > number for name,
                       number in wanted.items()) or not made.keys() <= wanted.keys()
            if more or (exact and made != wanted):
                wrong.append(f"{resource} created: {made}")
        if reference and (status := audit.timeless(self.last["status"])) != reference:
            wrong.append(f"status is {json.dumps(status)}, and has to be {json.dumps(reference)}")
        ledger = json.loads(self.last["metadata"]["annotations"].get("roundhouse.dev/ledger", "{}"))
        if restarts(ledger) != 1:
            wrong.append(f"the ledger counts {restarts(ledger)} restarts: {ledger}")
        return wrong


def restarts(ledger):
    """-> all restarts of all types, by whatever cause"""
    return sum(sum(one.get("restarts", {}).values()) if isinstance(one.get("restarts"), dict)
               else one.get("restarts", 0)
               for one in ledger.get("types", {}).values())


def is_over(method, status, text):
    """-> whether what was asked for is there already, or what it was asked of is gone or another one"""
    if method == "PATCH":
        return status == 404 or (status == 422 and b"metadata.uid" in text)
    return status in {"POST": (409,), "DELETE": (404, 409)}.get(method, ())


class Director:
    """Plays many lives at once."""

    def __init__(self, api):
        self.api, self.lives, self.turn = api, {}, 0

    def ask(self, method, path, body=None):
        """A request that has to succeed, sooner or later: the server may be away. -> the answer"""
        deadline = time.monotonic() + PATIENCE_S
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        while True:
            try:
                status, text = self.api.request(method, path, None if body is None else json.dumps(body), kind)
                if status < 300 or is_over(method, status, text):
                    return json.loads(text)
                problem = f"{status} {text[:300]}"
            except (OSError, http.client.HTTPException) as e:
                problem = str(e)
            if time.monotonic() > deadline:
                raise AssertionError(f"{method} {path}: {problem}")
            time.sleep(0.1)

    def add(self, namespace, **policy):
        """A job that does not begin yet. policy: further fields of its runPolicy. -> Life"""
        self.lives[namespace] = Life(self, namespace, policy)
        return self.lives[namespace]

    def look(self):
        """-> {namespace: (job, {name: pod}, {name: service})} of all that there is"""
        found = {}
        for body in self.ask("GET", f"{GROUP}/pytorchjobs?resourceVersion=0")["items"]:
            if body["metadata"]["name"] == "life":
                found[body["metadata"]["namespace"]] = (body, {}, {})
        for at, what in ((1, "pods"), (2, "services")):
            for body in self.look_at(what):
                meta = body["metadata"]
                if meta["namespace"] in found:
                    found[meta["namespace"]][at][meta["name"]] = body
                    self.collect(meta)
        return found

    def look_at(self, what):
        """-> all pods or Services of the lives"""
        return self.ask("GET", f"/api/v1/{what}?labelSelector={LABEL}=life&resourceVersion=0")["items"]

    def collect(self, meta):
        """kube-controller-manager's podgc: a server whose client dies in the middle of a delete may leave a pod half
        deleted.
        What was seen may be old, so a pod that took the name meanwhile must not be meant."""
        if meta.get("deletionTimestamp") and meta.get("deletionGracePeriodSeconds") == 0:
            self.ask("DELETE", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}",
                     {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
                      "preconditions": {"uid": meta["uid"]}})

    def strike(self, blows):
        """Until all lives are over. Each blow, a function, falls when its part of all steps is done; so few lives go on
        between two looks that none of these parts is missed, however slow the machine is."""
        steps, left = 3 * len(self.lives), list(blows)

        def each():
            done = sum(3 if one.done else one.step for one in self.lives.values())
            if left and done >= steps * (len(blows) - len(left)) // len(blows):
                left.pop(0)()
        self.play(each, max(1, steps // len(blows) // 2) if blows else None)
        if left:
            raise AssertionError(f"{len(left)} of {len(blows)} blows did not fall")

    def play(self, each=lambda: None, at_once=None):
        """Until all lives are over. each() is called between looks, and then so many lives go on, all without a
        number."""
        deadline = time.monotonic() + PATIENCE_S
        while left := [life for life in self.lives.values() if not life.done]:
            each()
            seen = self.look()
            for life in self.some(left, at_once):
                if life.namespace in seen:
                    life.advance(*seen[life.namespace])
            if time.monotonic() > deadline:
                raise AssertionError("\n".join(self.stuck(life, seen) for life in left if not life.done))
            time.sleep(0.1)

    def some(self, lives, at_once):
        """-> so many of them; each has its turn, because one alone may have to wait for others"""
        count = len(lives) if at_once is None else min(at_once, len(lives))
        self.turn = (self.turn + count) % len(lives)
        return (lives + lives)[self.turn:self.turn + count]

    def stuck(self, life, seen):
        body, pods, services = seen.get(life.namespace, ({}, {}, {}))
        phases = {name: pod["status"].get("phase") for name, pod in pods.items()}
        return (f"{life.namespace} is stuck in step {life.step}: {json.dumps(body.get('status'))}, pods {phases}, "
                f"services {sorted(services)}")

    def clear(self):
        """Take away what the lives left: their jobs."""
        for namespace in self.lives:
            self.ask("DELETE", f"{GROUP}/namespaces/{namespace}/pytorchjobs/life")
        self.lives = {}
