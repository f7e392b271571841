# SPDX-License-Identifier: Apache-2.0
"""What the players of recorded lives share (play_lives.py, mpi2/play_lives.py): the API server, and phases of pods."""
import datetime
import json
import urllib.error
import urllib.request

LABEL = "training.kubeflow.org/job-name"
CORE = "/api/v1/namespaces/default"


class Api:
    """An API server behind kubectl proxy."""
    def __init__(self, base):
        self.base = base

    def call(self, method, path, body=None, kind="application/json"):
        """-> status and body of the response; a body that is not JSON becomes {"message": text}"""
        data = None if body is None else json.dumps(body).encode()
        req = urllib.request.Request(self.base + path, method=method, data=data, headers={"Content-Type": kind})
        try:
            with urllib.request.urlopen(req, timeout=120) as f:
                return f.status, json.load(f)
        except urllib.error.HTTPError as e:
            text = e.read()
            try:
                return e.code, json.loads(text or b"{}")
            except ValueError:
                return e.code, {"message": text.decode(errors="replace")}


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def set_phase(api, pod, phase, code=None, restarts=0, **more):
    """Report the pod's status as a kubelet would. @param more further members of the status. -> as Api.call()"""
    states = []
    for c in pod["spec"]["containers"]:
        running = {"running": {"startedAt": now()}}
        ended = {"terminated": {"exitCode": code, "reason": "Completed" if code == 0 else "Error",
                                "startedAt": now(), "finishedAt": now()}}
        up = phase == "Running"
        states.append({"name": c["name"], "image": c["image"], "imageID": "", "ready": up, "started": up,
                       "restartCount": restarts, "state": running if up else ended, "lastState": {}})
    ready = {"type": "Ready", "status": "True" if phase == "Running" else "False", "lastProbeTime": None,
             "lastTransitionTime": now()}
    status = {"phase": phase, "startTime": now(), "containerStatuses": states, "conditions": [ready],
              **{key: value for key, value in more.items() if value is not None}}
    return api.call("PATCH", f"{CORE}/pods/{pod['metadata']['name']}/status", {"status": status},
                    "application/merge-patch+json")
