#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Play the lives of jobs against a controller on a real API server, and compare with what V1 reported.

usage: play_lives.py API_BASE DIR [GLOB] [--allow FILE]     API_BASE is for example http://127.0.0.1:8001 (kubectl
                                                            proxy)

--allow names the differences file, as for compare_objects.py; "path" there is a glob on what is printed before the
colon.

Nothing else may change pods meanwhile: no kubelet, no fake nodes, no scheduler. The namespace default must have its
default service account. Prints one line per difference and a sum at the end; exit status 0 when all lives are alike.
Compared after each step: conditions (type, status, reason, message), replicaStatuses, presence of startTime and
completionTime, pods with their phase, services; at the end, the set of events. Left out is what V1 itself does not
repeat: the selector of a finished job's replica status, and events that say that something "is exist" or report a
second create.
"""
import fnmatch
import glob
import json
import os
import sys
import time

import yaml

import compare_objects
import player

PLURAL = {"PyTorchJob": "pytorchjobs", "TFJob": "tfjobs", "XGBoostJob": "xgboostjobs", "MPIJob": "mpijobs",
          "PaddleJob": "paddlejobs", "JAXJob": "jaxjobs"}


class Api(player.Api):
    def owned(self, what, name):
        code, o = self.call("GET", f"{player.CORE}/{what}?labelSelector={player.LABEL}={name}")
        assert code == 200, o
        return {x["metadata"]["name"]: x for x in o["items"]}


def job_path(job):
    return f"/apis/kubeflow.org/v1/namespaces/default/{PLURAL[job['kind']]}/{job['metadata']['name']}"


def snapshot(api, job):
    name = job["metadata"]["name"]
    code, o = api.call("GET", job_path(job))
    pods = api.owned("pods", name)
    if code == 404:
        return {"job": "gone", "pods": sorted(pods)}
    st = o.get("status", {})
    counts = {k: {a: b for a, b in v.items() if a != "labelSelector"}
              for k, v in (st.get("replicaStatuses") or {}).items()}
    return {"conditions": [{k: c.get(k) for k in ("type", "status", "reason", "message")}
                           for c in st.get("conditions", [])],
            "replicaStatuses": counts, "startTime": "startTime" in st, "completionTime": "completionTime" in st,
            "lastReconcileTime": "lastReconcileTime" in st,
            "pods": {k: v["status"].get("phase") for k, v in sorted(pods.items())},
            "services": sorted(api.owned("services", name))}


def settle(api, job, good, hold, limit=20.0):
    """The state once it is good, or has not become so in all that time. With hold it must also not have changed for a
    second; without, it is one that time alone changes next, as when ttlSecondsAfterFinished is over, and a busy machine
    may not be able to look twice."""
    last, same, start = None, 0, time.time()
    while True:
        s = snapshot(api, job)
        same, last = (same + 1, last) if s == last else (0, s)
        if (good(s) and not hold) or (same >= 5 and (good(s) or time.time() - start >= limit)):
            return last
        time.sleep(0.2 if hold else 0.05)


def clear(api, job):
    """Delete the job and all that it owns: no garbage collector runs."""
    name = job["metadata"]["name"]
    api.call("DELETE", job_path(job))
    for what in ("pods", "services"):
        for n in api.owned(what, name):
            api.call("DELETE", f"/api/v1/namespaces/default/{what}/{n}?gracePeriodSeconds=0")
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    for path in (f"/api/v1/namespaces/default/configmaps/{name}-config", f"{rbac}/roles/{name}-launcher",
                 f"/api/v1/namespaces/default/serviceaccounts/{name}-launcher", f"{rbac}/rolebindings/{name}-launcher",
                 f"/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/{name}"):
        api.call("DELETE", path)
    code, ev = api.call("GET", f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name={name}")
    for e in ev["items"]:
        api.call("DELETE", f"/api/v1/namespaces/default/events/{e['metadata']['name']}")
    time.sleep(0.3)


def has_ended(state):
    return any(c["type"] in ("Succeeded", "Failed") and c["status"] == "True" for c in state.get("conditions", []))


def wait_noticed(api, job, before, limit=20.0):
    """Wait until the controller has counted the change of a pod. V1 saw each change by itself, and one that sees
    several at once does something else, V1 too: restarts of pods that run are added up, so it fails a job before it
    runs; and it reports the exit of every pod that it finds ended, but of none that ends after the job."""
    start = time.time()
    while time.time() - start < limit and (snapshot(api, job).get("replicaStatuses")
                                           or {}) == (before.get("replicaStatuses") or {}):
        time.sleep(0.05)


def end_each(api, job, pods, phase, code):
    """End one pod after the other."""
    for pod, more in zip(pods, [*pods[1:], None]):
        before = snapshot(api, job)
        player.set_phase(api, pod, phase, code)
        if more and not has_ended(before):
            wait_noticed(api, job, before)


def do_step(api, job, step):
    name = job["metadata"]["name"]
    pods = api.owned("pods", name)

    def chosen(globs):
        return [p for k, p in sorted(pods.items()) if any(fnmatch.fnmatch(k, f"{name}-{g}") for g in globs)]

    if "run" in step:
        for p in chosen(step["run"]):
            if p["status"].get("phase") in ("Pending", "Running"):
                before = snapshot(api, job)
                player.set_phase(api, p, "Running", restarts=step.get("restartCount", 0))
                if "restartCount" in step:
                    wait_noticed(api, job, before)
    elif "succeed" in step:
        end_each(api, job, chosen(step["succeed"]), "Succeeded", 0)
    elif "fail" in step:
        end_each(api, job, chosen(step["fail"]), "Failed", step["exitCode"])
    elif "deletePod" in step:
        for p in chosen(step["deletePod"]):
            api.call("DELETE", f"/api/v1/namespaces/default/pods/{p['metadata']['name']}?gracePeriodSeconds=0")
    elif "patchJob" in step:
        api.call("PATCH", job_path(job), step["patchJob"], "application/merge-patch+json")
    elif "waitSeconds" in step:
        time.sleep(step["waitSeconds"])


def play(api, life, want, alike):
    """-> what was seen; alike(part of it, the same part of want) says whether it is as V1's"""
    job, steps = life["job"], life["steps"]
    clear(api, job)
    coll, name = job_path(job).rsplit("/", 1)
    code, o = api.call("POST", coll, job)
    if code != 201:
        return {"error": o.get("message")}
    out = {"afterCreate": settle(api, job, lambda s: alike({"afterCreate": s},
                                                           {"afterCreate": want.get("afterCreate")}), True),
           "afterStep": []}
    for i, step in enumerate(steps):
        do_step(api, job, step)
        before, wanted = out["afterStep"], (want.get("afterStep") or [])[:i + 1]
        time_is_next = i + 1 < len(steps) and "waitSeconds" in steps[i + 1]
        before.append(settle(api, job, lambda s: alike({"afterStep": [*before, s]}, {"afterStep": wanted},
                                                       f".afterStep[{i}]"), not time_is_next))
    _, ev = api.call("GET", f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name={name}")
    out["events"] = sorted({(e["type"], e["reason"], e["message"]) for e in ev["items"]})
    clear(api, job)
    return out


def steady(life):
    """Without what V1 itself reports one way in one run and another way in the next."""
    for s in [life.get("afterCreate") or {}] + (life.get("afterStep") or []):
        if has_ended(s):
            for counts in s["replicaStatuses"].values():
                counts.pop("selector", None)
    if "events" in life:
        life["events"] = [e for e in life["events"] if not e[1].endswith(" is exist") and "already exists" not in e[2]]
    return life


def main(argv):
    allow = compare_objects.take_allowed(argv)
    api, folder, pattern = Api(argv[1]), argv[2], argv[3] if len(argv) > 3 else "*"
    alike = total = 0
    for f in sorted(glob.glob(os.path.join(folder, pattern + ".yaml"))):
        name = os.path.basename(f)[:-5]
        with open(f) as a, open(f[:-5] + ".v1.json") as b:
            life, want = yaml.load(a, yaml.CSafeLoader), steady(json.load(b))

        def unlike(got, part, below=""):
            got = steady(json.loads(json.dumps(got)))
            return [d for d in compare_objects.differ("", part, got)
                    if d[0].startswith(below) and not compare_objects.allowed(allow, name, name + d[0])]

        got = play(api, life, want, lambda *parts: not unlike(*parts))
        diffs = unlike(got, want)
        for path, w, g in diffs:
            print(f"{name}{path}: V1 {json.dumps(w)[:300]} here {json.dumps(g)[:300]}", flush=True)
        total, alike = total + 1, alike + (not diffs)
    print(f"{alike} of {total} lives alike")
    return 0 if alike == total else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
