#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Play the lives of TrainJobs against a controller on a real API server, and compare with what Kubeflow Trainer
reported.

usage: play_lives.py API_BASE DIR [GLOB] [--allow FILE]

API_BASE is for example http://127.0.0.1:8001 (kubectl proxy). Definitions and runtimes are installed, the namespace
default has its default service account, and nothing else changes pods: no kubelet, no fake nodes, no scheduler. --allow
names the differences file. Prints one line per difference and a sum at the end; exit status 0 when all lives are alike.

A pod is known by spec.hostname; when several have one hostname (a failed pod and its successor) their phases are joined
by "+". Compared after each step: conditions (type, status, reason, message), jobsStatus (by name), trainerStatus, pods
with their phase, whether a pod has left restart attempt 0, Services, ConfigMaps and Secrets of the job; at the end the
set of Events of the TrainJob.
"""
import fnmatch
import glob
import json
import os
import pathlib
import sys
import time

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import compare_objects  # noqa: E402
import player  # noqa: E402

CORE = player.CORE
LABEL = "jobset.sigs.k8s.io/jobset-name"
ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
# Events of the core about pods, which are events of the Job there.
OF_PODS = {"SuccessfulCreatePod", "SuccessfulDeletePod", "ExitedWithCode"}
TRAINER = "/apis/trainer.kubeflow.org/v1alpha1"


class Api(player.Api):
    def items(self, path):
        code, o = self.call("GET", path)
        return o["items"] if code == 200 else []

    def pods(self, name):
        return self.items(f"{CORE}/pods?labelSelector={LABEL}={name}")

    def kept(self, what, name):
        """Names of the objects that the job controls."""
        return sorted(x["metadata"]["name"] for x in self.items(f"{CORE}/{what}")
                      if any(r.get("controller") and r["kind"] == "TrainJob" and r["name"] == name
                             for r in x["metadata"].get("ownerReferences", [])))


def job_path(job):
    return f"{TRAINER}/namespaces/default/trainjobs/{job['metadata']['name']}"


def runtime_path(kind, name):
    return f"{TRAINER}/clustertrainingruntimes/{name}" if kind == "ClusterTrainingRuntime" else \
        f"{TRAINER}/namespaces/default/trainingruntimes/{name}"


def host(pod):
    return pod["spec"].get("hostname") or pod["metadata"]["name"]


def snapshot(api, job):
    name = job["metadata"]["name"]
    code, o = api.call("GET", job_path(job))
    phases, attempts = {}, set()
    for p in api.pods(name):
        gone = "/deleting" if p["metadata"].get("deletionTimestamp") else ""
        phases.setdefault(host(p), []).append(p["status"].get("phase", "") + gone)
        attempts.add(p["metadata"]["labels"].get(ATTEMPT, "0"))
    out = {"pods": {k: "+".join(sorted(v)) for k, v in sorted(phases.items())}, "restarted": bool(attempts - {"0"}),
           "services": api.kept("services", name), "configmaps": api.kept("configmaps", name),
           "secrets": api.kept("secrets", name)}
    if code == 404:
        return {"job": "gone", **out}
    st = o.get("status", {})
    return {"conditions": [{k: c.get(k) for k in ("type", "status", "reason", "message")}
                           for c in st.get("conditions", [])],
            "jobsStatus": sorted(st.get("jobsStatus") or [], key=lambda s: s["name"]),
            "trainerStatus": st.get("trainerStatus"), **out}


def images(api, job):
    return {host(p): {c["name"]: c["image"] for c in p["spec"]["containers"]} for p in api.pods(job["metadata"]["name"])}


def tidy(state, step=None):
    """Without what is there only to be read, and without pods where a step says that they are on their way; the order
    of conditions says nothing."""
    for condition in (state or {}).get("conditions", []):  # the core adds the first fault to what the plugin says
        condition["message"] = condition["message"].partition(". First fault: ")[0]
    for key in ("jobset", *(("pods", "jobsStatus") if step and step.get("comparePods") is False else ())):
        (state or {}).pop(key, None)
    if state and state.get("conditions"):
        state["conditions"].sort(key=lambda condition: condition["type"])
    return state


def settle(look, fits, limit=30.0, quiet=1.5):
    """The state once it is the recorded one and stays so; at last another one."""
    last, since, start = None, time.time(), time.time()
    while time.time() - start < limit and not (last is not None and fits(last) and time.time() - since > quiet):
        s = json.loads(json.dumps(look()))
        if s != last:
            since, last = time.time(), s
        time.sleep(0.25)
    return last


def clear(api, job):
    """Delete the job and all that it owns, and its events."""
    name = job["metadata"]["name"]
    api.call("DELETE", job_path(job))
    for _ in range(100):
        pods = api.pods(name)
        if not pods and api.call("GET", job_path(job))[0] == 404:
            break
        for p in pods:
            api.call("DELETE", f"{CORE}/pods/{p['metadata']['name']}?gracePeriodSeconds=0")
        time.sleep(0.2)
    for what in ("services", "configmaps", "secrets", "persistentvolumeclaims"):
        for n in api.kept(what, name):
            api.call("DELETE", f"{CORE}/{what}/{n}")
    for e in api.items(f"{CORE}/events"):
        if e["involvedObject"].get("name", "").startswith(name):
            api.call("DELETE", f"{CORE}/events/{e['metadata']['name']}")


def do_step(api, job, step):
    """-> what a refused patch was answered"""
    pods = api.pods(job["metadata"]["name"])
    prefix = job["metadata"]["name"] + "-"

    def chosen(globs, phases):
        return [p for p in sorted(pods, key=host) if p["status"].get("phase") in phases
                and any(fnmatch.fnmatch(host(p), prefix + g) for g in globs)]

    if "run" in step:
        for p in chosen(step["run"], ("Pending", "Running")):
            player.set_phase(api, p, "Running", restarts=step.get("restartCount", 0))
    elif "succeed" in step:
        for p in chosen(step["succeed"], ("Pending", "Running")):
            player.set_phase(api, p, "Succeeded", 0)
    elif "fail" in step:
        for p in chosen(step["fail"], ("Pending", "Running")):
            player.set_phase(api, p, "Failed", step["exitCode"])
    elif "deletePod" in step:
        for p in chosen(step["deletePod"], ("Pending", "Running", "Succeeded", "Failed")):
            api.call("DELETE", f"{CORE}/pods/{p['metadata']['name']}?gracePeriodSeconds=0")
    elif "patchJob" in step:
        code, o = api.call("PATCH", job_path(job), step["patchJob"], "application/merge-patch+json")
        return {} if code == 200 else {"refused": o.get("message")}
    elif "patchRuntime" in step:
        r = step["patchRuntime"]
        api.call("PATCH", runtime_path(r["kind"], r["name"]), r["patch"], "application/merge-patch+json")
    elif "deleteJob" in step:
        api.call("DELETE", job_path(job))
    elif "waitSeconds" in step:
        time.sleep(step["waitSeconds"])
    return {}


def events(api, name):
    return sorted({(e["type"], e["reason"], e["message"]) for e in api.items(f"{CORE}/events")
                   if e["involvedObject"].get("kind") == "TrainJob" and e["involvedObject"].get("name") == name
                   and e["reason"] not in OF_PODS})


def prepare(api, life):
    """-> what was refused"""
    clear(api, life["job"])
    for r in life.get("runtimes", []):
        path = runtime_path(r["kind"], r["metadata"]["name"])
        api.call("DELETE", path)
        code, o = api.call("POST", path.rsplit("/", 1)[0], r)
        if code != 201:
            return {"error": o.get("message")}
    code, o = api.call("POST", job_path(life["job"]).rsplit("/", 1)[0], life["job"])
    return {} if code == 201 else {"error": o.get("message")}


def play(api, life, fits):
    """@param fits whether a state is the recorded one: its path, and the state"""
    job = life["job"]
    refused = prepare(api, life)
    if refused:
        return refused
    out = {"afterCreate": settle(lambda: tidy(snapshot(api, job)), lambda state: fits(".afterCreate", state)),
           "afterStep": []}
    for number, step in enumerate(life["steps"]):
        more = do_step(api, job, step)

        def look():
            state = {**tidy(snapshot(api, job), step), **more}
            return {**state, "images": images(api, job)} if step.get("showImages") else state

        out["afterStep"].append(settle(look, lambda state: fits(f".afterStep[{number}]", state)))
    out["events"] = events(api, job["metadata"]["name"])
    clear(api, job)
    for r in life.get("runtimes", []):
        api.call("DELETE", runtime_path(r["kind"], r["metadata"]["name"]))
    return out


def recorded(path, steps):
    with open(path, encoding="utf-8") as b:
        want = json.load(b)
    want.pop("otherEvents", None)
    tidy(want.get("afterCreate"))
    for step, state in zip(steps, want.get("afterStep", [])):
        tidy(state, step)
    return want


def main(argv):
    allow = [entry for entry in compare_objects.take_allowed(argv) if entry.get("suite") == "lives"]
    api, folder, pattern = Api(argv[1]), argv[2], argv[3] if len(argv) > 3 else "*"
    alike = total = 0
    for f in sorted(glob.glob(os.path.join(folder, pattern + ".yaml"))):
        name = os.path.basename(f)[:-5]
        with open(f, encoding="utf-8") as a:
            life = yaml.safe_load(a)
        want = recorded(f[:-5] + ".trainer.json", life["steps"])

        def unlisted(path, state):
            part = want["afterCreate"] if path == ".afterCreate" else want["afterStep"][int(path[11:-1])]
            return [d for d in compare_objects.differ(path, part, state)
                    if not compare_objects.allowed(allow, name, name + d[0])]

        got = json.loads(json.dumps(play(api, life, lambda path, state: not unlisted(path, state))))
        diffs = [d for d in compare_objects.differ("", want, got)
                 if not compare_objects.allowed(allow, name, name + d[0])]
        for path, w, g in diffs:
            print(f"{name}{path}: Trainer {json.dumps(w)[:400]} here {json.dumps(g)[:400]}", flush=True)
        total, alike = total + 1, alike + (not diffs)
        print(f"{name}: {'alike' if not diffs else 'differs'}", flush=True)
    print(f"{alike} of {total} lives alike")
    return 0 if alike == total and total else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
