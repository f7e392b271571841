#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Play the lives of v2beta1 MPIJobs against a controller on a real API server, and compare with what the MPI Operator
reported.

usage: play_lives.py API_BASE DIR [GLOB] [--allow FILE] [--without NAME,...]

API_BASE is for example http://127.0.0.1:8001 (kubectl proxy). Beside the controller there must run
kube-controller-manager with the controllers job, ttl-after-finished and garbage-collector only, the namespace default
must have its default service account, and nothing else may change pods: no kubelet, no fake nodes, no scheduler.
--allow names the differences file: a JSON list of {"golden": glob, "path": glob on what is printed before the colon}.
Prints one line per difference and a sum at the end; exit status 0 when all lives are alike.

Compared after each step: conditions (type, status, reason, message), replicaStatuses, presence of startTime and
completionTime, pods with their phase, the launcher Job (suspend, conditions, what may change of its template), hostfile
and discover_hosts.sh, the Service's selector, which other objects are there; at the end, the set of events on the job.
The random suffix of a launcher pod is written as its number in order of appearance (NAME-launcher.1); pods that
somebody deleted and that were created again have a "+" for each time.
"""
import fnmatch
import glob
import json
import os
import pathlib
import re
import sys
import time

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import compare_objects  # noqa: E402
import player  # noqa: E402

CORE, BATCH = player.CORE, "/apis/batch/v1/namespaces/default"
GANG = {"volcano": "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups",
        "scheduler-plugins": "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"}
KINDS = {"ConfigMap": CORE + "/configmaps", "Secret": CORE + "/secrets", "Service": CORE + "/services",
         "Pod": CORE + "/pods", "Job": BATCH + "/jobs", "PodGroup": GANG["scheduler-plugins"]}


class Api(player.Api):
    def pods(self, name):
        code, o = self.call("GET", f"{CORE}/pods?labelSelector={player.LABEL}={name}")
        assert code == 200, o
        return sorted(o["items"], key=lambda p: (p["metadata"]["creationTimestamp"],
                                                 int(p["metadata"]["resourceVersion"])))


class Names:
    """Stable names for the pods of one life."""
    def __init__(self, job):
        self.job, self.of = job, {}

    def name(self, pod):
        uid, real = pod["metadata"]["uid"], pod["metadata"]["name"]
        if uid not in self.of:
            if re.fullmatch(re.escape(self.job) + "-launcher-[a-z0-9]{5}", real):
                n = 1 + sum(x.startswith(f"{self.job}-launcher.") for x in self.of.values())
                self.of[uid] = f"{self.job}-launcher.{n}"
            else:
                self.of[uid] = real + "+" * sum(x.rstrip("+") == real for x in self.of.values())
        return self.of[uid]


def job_path(job):
    return f"/apis/{job['apiVersion']}/namespaces/default/mpijobs/{job['metadata']['name']}"


def present(api, path):
    code, o = api.call("GET", path)
    return o if code == 200 else None


def set_phase(api, pod, phase, code=None, restarts=0, **more):
    status, o = player.set_phase(api, pod, phase, code, restarts, **more)
    assert status == 200, o


def snapshot(api, job, names):
    name = job["metadata"]["name"]
    o = present(api, job_path(job))
    pods = {names.name(p): p["status"].get("phase") for p in api.pods(name)}
    out = {"pods": dict(sorted(pods.items()))}
    launcher = present(api, f"{BATCH}/jobs/{name}-launcher")
    out["launcherJob"] = launcher and {
        "suspend": launcher["spec"].get("suspend", False),
        "conditions": [f"{c['type']}={c['status']} {c.get('reason', '')}".strip()
                       for c in launcher["status"].get("conditions", [])],
        "image": launcher["spec"]["template"]["spec"]["containers"][0]["image"],
        "nodeSelector": launcher["spec"]["template"]["spec"].get("nodeSelector"),
        "ownLabels": sorted(k for k in launcher["spec"]["template"]["metadata"]["labels"] if "/" not in k
                            and k not in ("controller-uid", "job-name"))}
    cm = present(api, f"{CORE}/configmaps/{name}-config")
    out["config"] = cm and cm.get("data")
    svc = present(api, f"{CORE}/services/{name}")
    out["serviceSelector"] = svc and svc["spec"].get("selector")
    out["others"] = [k for k, p in (("Secret", f"{CORE}/secrets/{name}-ssh"), ("Service", f"{CORE}/services/{name}"),
                                    ("PodGroup/volcano", f"{GANG['volcano']}/{name}"),
                                    ("PodGroup/scheduler-plugins", f"{GANG['scheduler-plugins']}/{name}"))
                     if present(api, p)]
    for p in GANG.values():
        pg = present(api, f"{p}/{name}")
        if pg:
            out["podGroup"] = pg["spec"]
    if o is None:
        out["job"] = "gone"
        return out
    st = o.get("status", {})
    out.update({"conditions": [{k: c.get(k) for k in ("type", "status", "reason", "message")}
                               for c in st.get("conditions", [])],
                "replicaStatuses": st.get("replicaStatuses") or {}, "startTime": "startTime" in st,
                "completionTime": "completionTime" in st, "lastReconcileTime": "lastReconcileTime" in st})
    return out


def tidy(state):
    """A state with its conditions sorted by type: their order says nothing."""
    if state and state.get("conditions"):
        state["conditions"].sort(key=lambda condition: condition["type"])
    return state


def settle(api, job, names, fits, limit=30.0, quiet=1.3):
    """The state once it is the recorded one and stays so (the Job controller acts on pods once a second); at last
    another one. @param fits whether a state is the recorded one"""
    last, since, start = None, time.time(), time.time()
    while time.time() - start < limit and not (fits(last) and time.time() - since > quiet):
        s = tidy(json.loads(json.dumps(snapshot(api, job, names))))
        if s != last:
            since, last = time.time(), s
        time.sleep(0.25)
    return last


def clear(api, job):
    """Delete the job and all that it owns, and its events."""
    name = job["metadata"]["name"]
    now_ = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
    api.call("DELETE", job_path(job), now_)
    for path in (f"{BATCH}/jobs/{name}-launcher", f"{CORE}/configmaps/{name}-config", f"{CORE}/secrets/{name}-ssh",
                 f"{CORE}/services/{name}", f"{GANG['volcano']}/{name}", f"{GANG['scheduler-plugins']}/{name}"):
        api.call("DELETE", path, now_)
    for i in range(40):
        left = api.pods(name)
        for p in left:
            if p["metadata"].get("finalizers"):
                api.call("PATCH", f"{CORE}/pods/{p['metadata']['name']}", {"metadata": {"finalizers": None}},
                         "application/merge-patch+json")
            api.call("DELETE", f"{CORE}/pods/{p['metadata']['name']}?gracePeriodSeconds=0")
        if not left and not present(api, f"{BATCH}/jobs/{name}-launcher"):
            break
        time.sleep(0.25)
    for n in (name, name + "-launcher"):
        _, ev = api.call("GET", f"{CORE}/events?fieldSelector=involvedObject.name={n}")
        for e in ev["items"]:
            api.call("DELETE", f"{CORE}/events/{e['metadata']['name']}")
    time.sleep(0.5)


def do_step(api, job, step, names):
    name = job["metadata"]["name"]
    pods = {names.name(p).rstrip("+"): p for p in api.pods(name)}

    def chosen(globs):
        return [p for k, p in sorted(pods.items()) if any(fnmatch.fnmatch(k, f"{name}-{g}") for g in globs)]

    if "run" in step:
        for p in chosen(step["run"]):
            if p["status"].get("phase") in ("Pending", "Running"):
                set_phase(api, p, "Running", restarts=step.get("restartCount", 0))
    elif "succeed" in step:
        for p in chosen(step["succeed"]):
            set_phase(api, p, "Succeeded", 0)
    elif "fail" in step:
        for p in chosen(step["fail"]):
            if p["status"].get("phase") in ("Pending", "Running"):
                set_phase(api, p, "Failed", step["exitCode"], reason=step.get("reason"), message=step.get("message"))
    elif "deletePod" in step:
        for p in chosen(step["deletePod"]):
            api.call("DELETE", f"{CORE}/pods/{p['metadata']['name']}?gracePeriodSeconds=0")
    elif "deleteObject" in step:
        d = step["deleteObject"]
        api.call("DELETE", f"{KINDS[d['kind']]}/{d['name']}",
                 {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"})
    elif "patchObject" in step:
        d = step["patchObject"]  # of an object that may be gone: what follows shows it
        api.call("PATCH", f"{KINDS[d['kind']]}/{d['name']}", d["patch"], "application/merge-patch+json")
    elif "createObject" in step:
        d = step["createObject"]
        code, o = api.call("POST", KINDS[d["kind"]], d)
        assert code == 201, o
    elif "patchJob" in step:
        api.call("PATCH", job_path(job), step["patchJob"], "application/merge-patch+json")
    elif "deleteJob" in step:
        api.call("DELETE", job_path(job), {"kind": "DeleteOptions", "apiVersion": "v1",
                                           "propagationPolicy": step["deleteJob"]})
    elif "waitSeconds" in step:
        time.sleep(step["waitSeconds"])
    else:
        raise ValueError(step)


def play(api, life, fits):
    job = life["job"]
    clear(api, job)
    for d in life.get("before", []):
        api.call("DELETE", f"{KINDS[d['kind']]}/{d['metadata']['name']}")
        code, o = api.call("POST", KINDS[d["kind"]], d)
        assert code == 201, o
    coll, name = job_path(job).rsplit("/", 1)
    names = Names(name)
    code, o = api.call("POST", coll, job)
    if code != 201:
        return {"error": o.get("message")}
    out = {"afterCreate": settle(api, job, names, lambda state: fits(".afterCreate", state)), "afterStep": []}
    for number, step in enumerate(life["steps"]):
        do_step(api, job, step, names)
        out["afterStep"].append(settle(api, job, names, lambda state: fits(f".afterStep[{number}]", state)))
    _, ev = api.call("GET", f"{CORE}/events?fieldSelector=involvedObject.name={name},involvedObject.kind=MPIJob")
    out["events"] = sorted({(e["type"], e["reason"], e["message"]) for e in ev["items"]})
    clear(api, job)
    for d in life.get("before", []):
        api.call("DELETE", f"{KINDS[d['kind']]}/{d['metadata']['name']}")
    return out


def steady(life):
    """Without what is true of one run only: quarrels of two writers, pods made twice from a stale cache."""
    for state in [life.get("afterCreate"), *life.get("afterStep", [])]:
        tidy(state)
    if "events" in life:
        life["events"] = sorted([t, r, m] for t, r, m in life["events"] if "the object has been modified" not in m
                                and not ("created failed" in m and "already exists" in m))
    return life


def part(life, path):
    """The recorded state that a path names."""
    step = re.fullmatch(r"\.afterStep\[(\d+)\]", path)
    return life["afterStep"][int(step[1])] if step else life["afterCreate"]


def main(argv):
    allow = [entry for entry in compare_objects.take_allowed(argv) if entry.get("suite") == "lives"]
    without = []
    if "--without" in argv:
        i = argv.index("--without")
        without = argv[i + 1].split(",")
        del argv[i:i + 2]
    api, folder, pattern = Api(argv[1]), argv[2], argv[3] if len(argv) > 3 else "*"
    alike = total = 0
    for f in sorted(glob.glob(os.path.join(folder, pattern + ".yaml"))):
        name = os.path.basename(f)[:-5]
        if name in without:
            print(f"{name}: left out", flush=True)
            continue
        with open(f, encoding="utf-8") as a:
            life = yaml.load(a, yaml.CSafeLoader)
        with open(f[:-5] + ".v2.json", encoding="utf-8") as b:
            want = steady(json.load(b))

        def unlisted(path, state):
            return [d for d in compare_objects.differ(path, part(want, path), state)
                    if not compare_objects.allowed(allow, name, name + d[0])]

        got = steady(json.loads(json.dumps(play(api, life, lambda path, state: state and not unlisted(path, state)))))
        diffs = [d for d in compare_objects.differ("", want, got)
                 if not compare_objects.allowed(allow, name, name + d[0])]
        for path, w, g in diffs:
            print(f"{name}{path}: V2 {json.dumps(w)[:300]} here {json.dumps(g)[:300]}", flush=True)
        total, alike = total + 1, alike + (not diffs)
        print(f"{name}: {'alike' if not diffs else 'differs'}", flush=True)
    print(f"{alike} of {total} lives alike")
    return 0 if alike == total else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
