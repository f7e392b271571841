# SPDX-License-Identifier: Apache-2.0
"""A kubelet that is played: pods of a namespace run at once, and end when the test says so. No node, no container."""
import copy
import datetime
import json
import threading

POLL_S = 0.05


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def status_of(pod, phase, code=None):
    up = phase == "Running"
    state = {"running": {"startedAt": now()}} if up else \
        {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "startedAt": now(),
                        "finishedAt": now()}}
    containers = [{"name": one["name"], "image": one["image"], "imageID": "", "ready": up, "started": up,
                   "restartCount": 0, "state": state} for one in pod["spec"]["containers"]]
    return {"phase": phase, "startTime": now(), "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}],
            "containerStatuses": containers,
            "conditions": [{"type": "Ready", "status": str(up), "lastProbeTime": None, "lastTransitionTime": now()}]}


class PlayedKubelet:
    """with PlayedKubelet(api) as kubelet: ... kubelet.finish(names, code)"""

    def __init__(self, api, namespace="default"):
        # a connection of its own: it works in a thread
        self.api = copy.copy(api)
        self.api.connection = None
        self.path = f"/api/v1/namespaces/{namespace}/pods"
        self.lock, self.stopping, self.error = threading.Lock(), threading.Event(), None
        # by UID: a pod that is created again runs again
        self.codes = {}
        self.thread = threading.Thread(target=self.play, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()
        if self.api.connection:
            self.api.connection.close()
        if self.error:
            raise self.error

    def finish(self, names, code):
        """The pods of these names, which run, end with this code."""
        if self.error:
            raise self.error
        uids = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in self.pods()}
        with self.lock:
            self.codes.update({uids[name]: code for name in names})

    def pods(self):
        with self.lock:
            return json.loads(self.api.get(self.path))["items"]

    def play(self):
        try:
            while not self.stopping.wait(POLL_S):
                for pod in self.pods():
                    self.advance(pod)
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def advance(self, pod):
        phase = pod.get("status", {}).get("phase", "Pending")
        with self.lock:
            if phase == "Pending":
                self.write(pod, status_of(pod, "Running"))
            elif phase == "Running" and pod["metadata"]["uid"] in self.codes:
                code = self.codes[pod["metadata"]["uid"]]
                self.write(pod, status_of(pod, "Failed" if code else "Succeeded", code))

    def write(self, pod, status):
        body = json.dumps({"metadata": {"uid": pod["metadata"]["uid"]}, "status": status})
        answer, text = self.api.request("PATCH", f"{self.path}/{pod['metadata']['name']}/status", body,
                                        "application/merge-patch+json")
        # deleted meanwhile, and perhaps created again
        if answer not in (200, 404, 409):
            raise AssertionError(f"{pod['metadata']['name']}: {answer} {text[:300]!r}")
