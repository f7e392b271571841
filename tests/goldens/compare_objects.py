#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare the objects a program makes for a job with the recorded ones.

usage: compare_objects.py JOB.objects.json MADE.json [--allow FILE]

MADE.json is a Kubernetes List (or a JSON array) of objects: what `render -o json` prints, or what a controller created.
What kube-apiserver itself fills in is dropped on both sides; pods that the Job controller made are left out, and of a
Secret's data only the form is compared (secret_form). --allow names the differences file: a JSON list of objects
with at least "golden" (a glob on the golden's name) and "path" (a glob on what is printed before the colon, brackets
literal).
Exit 0 when alike; otherwise prints one line per difference that is not allowed.
"""
import base64
import fnmatch
import json
import os
import sys

DROP = {"creationTimestamp", "status", "uid", "resourceVersion", "managedFields", "generation"}


def clean(o):
    """Drop nulls, empty maps (but for emptyDir) and server-owned metadata."""
    if isinstance(o, dict):
        kept = {k: clean(v) for k, v in o.items() if k not in DROP}
        return {k: v for k, v in kept.items() if v is not None and (v != {} or k == "emptyDir")}
    if isinstance(o, list):
        return [clean(x) for x in o]
    return o


def pop_default(o, **defaults):
    for k, v in defaults.items():
        if o.get(k) == v:
            del o[k]


def strip_pod(s):
    pop_default(s, dnsPolicy="ClusterFirst", schedulerName="default-scheduler", terminationGracePeriodSeconds=30,
                enableServiceLinks=True)
    if s.get("serviceAccount") == s.get("serviceAccountName"):
        s.pop("serviceAccount", None)
    for c in s.get("containers", []) + s.get("initContainers", []):
        pop_default(c, terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File")
        name = c.get("image", "").rsplit("/", 1)[-1]
        tag = name.split(":", 1)[1] if ":" in name else "latest"
        pop_default(c, imagePullPolicy="Always" if tag == "latest" else "IfNotPresent")
        for probe in ("readinessProbe", "livenessProbe", "startupProbe"):
            pop_default(c.get(probe, {}), failureThreshold=3, periodSeconds=10, successThreshold=1, timeoutSeconds=1)
        for p in c.get("ports", []):
            pop_default(p, protocol="TCP")
            if s.get("hostNetwork") and p.get("hostPort") == p.get("containerPort"):
                p.pop("hostPort", None)
        for e in c.get("env", []):
            pop_default(e.get("valueFrom", {}).get("fieldRef", {}), apiVersion="v1")
            pop_default(e, value="")
        r = c.get("resources") or {}
        if r.get("limits") and r.get("requests"):
            r["requests"] = {k: v for k, v in r["requests"].items() if r["limits"].get(k) != v}
            if not r["requests"]:
                del r["requests"]
    for v in s.get("volumes", []):
        for t in ("configMap", "secret"):
            pop_default(v.get(t, {}), defaultMode=420)


def secret_form(data):
    """The properties of ssh keys, whose bytes differ from run to run."""
    form, point = {}, None
    for k, v in sorted(data.items()):
        raw = base64.b64decode(v)
        if raw.startswith(b"-----BEGIN "):
            lines = raw.decode().strip().splitlines()
            der = base64.b64decode("".join(lines[1:-1]))
            curve = next((n for n, oid in (("P-256", b"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"),
                                           ("P-384", b"\x06\x05\x2b\x81\x04\x00\x22"),
                                           ("P-521", b"\x06\x05\x2b\x81\x04\x00\x23")) if oid in der), "?")
            at = der.find(b"\x03\x81\x86\x00\x04")          # BIT STRING, uncompressed point of P-521
            point = der[at + 4:at + 4 + 133] if at > 0 else None
            form[k] = (f"{lines[0]} {curve}, lines of {max(map(len, lines[1:-1]))}, "
                       f"newline at end: {raw.endswith(b'-----' + bytes([10]))}")
    for k, v in sorted(data.items()):
        raw = base64.b64decode(v)
        if raw.startswith((b"ssh-", b"ecdsa-")):
            words = raw.split()
            match = point is not None and base64.b64decode(words[1]).endswith(point)
            form[k] = (f"{words[0].decode()}, words: {len(words)}, newline at end: {raw.endswith(bytes([10]))}, "
                       f"fits the private key: {match}")
        form.setdefault(k, "other")
    return form


def strip_job(s):
    pop_default(s, backoffLimit=6, completionMode="NonIndexed", completions=1, parallelism=1, suspend=False,
                manualSelector=False)
    s.pop("selector", None)
    t = s["template"]
    for k in ("batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name"):
        t.get("metadata", {}).get("labels", {}).pop(k, None)
    for r in t.get("metadata", {}).get("ownerReferences", []):
        r.pop("uid", None)
    strip_pod(t["spec"])


def strip(o):
    if o.get("kind") == "Secret" and all(len(v) > 60 and " " not in v for v in o.get("data", {}).values()):
        o = dict(o, data=secret_form(o["data"]))
    o = clean(o)
    s = o.get("spec", {})
    if o.get("kind") == "Pod":
        strip_pod(s)
    elif o.get("kind") == "Job":
        strip_job(s)
    elif o.get("kind") == "Service":
        pop_default(s, type="ClusterIP", sessionAffinity="None", internalTrafficPolicy="Cluster")
        for p in s.get("ports", []):
            pop_default(p, protocol="TCP")
            if p.get("targetPort") in (p.get("port"), 0):
                p.pop("targetPort")
    for r in o["metadata"].get("ownerReferences", []):
        r.pop("uid", None)
    o["metadata"].pop("namespace", None)
    return clean(o)


def load(path):
    with open(path) as f:
        d = json.load(f)
    items = d["items"] if isinstance(d, dict) else d
    return {(o["kind"], o["metadata"]["name"]): strip(o) for o in items
            if not any(r["kind"] == "Job" for r in o["metadata"].get("ownerReferences", []))}


def by_name(items):
    """-> {name: item} in the order of the list; None where an item has no name, or two have the same"""
    names = [item.get("name") if isinstance(item, dict) else None for item in items]
    return dict(zip(names, items)) if None not in names and len(set(names)) == len(names) else None


def differ_named(path, want, got):
    """Lists such as variables: which are on one side alone, which differ, and whether the others have one order."""
    for name in [*want, *(name for name in got if name not in want)]:
        yield from differ(f"{path}[{name}]", want.get(name), got.get(name))
    both = [name for name in want if name in got], [name for name in got if name in want]
    if both[0] != both[1]:
        yield f"{path}.order", *both


def differ(path, want, got):
    if isinstance(want, dict) and isinstance(got, dict):
        for k in sorted(want.keys() | got.keys()):
            yield from differ(f"{path}.{k}", want.get(k), got.get(k))
    elif isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        for i, (w, g) in enumerate(zip(want, got)):
            yield from differ(f"{path}[{i}]", w, g)
    elif isinstance(want, list) and isinstance(got, list) and by_name(want) and by_name(got):
        yield from differ_named(path, by_name(want), by_name(got))
    elif want != got:
        yield path, want, got


def allowed(allow, golden, where):
    return any(fnmatch.fnmatch(golden, a["golden"]) and fnmatch.fnmatch(where, a["path"].replace("[", "[[]"))
               for a in allow)


def take_allowed(argv):
    """-> what the file behind --allow allows; both words leave the command line"""
    if "--allow" not in argv:
        return []
    i = argv.index("--allow")
    with open(argv[i + 1]) as f:
        allow = json.load(f)
    del argv[i:i + 2]
    return allow


def main(argv):
    allow = take_allowed(argv)
    golden = os.path.basename(argv[1]).replace(".objects.json", "")
    want, got = load(argv[1]), load(argv[2])
    bad = 0
    for key in sorted(want.keys() | got.keys()):
        for path, w, g in differ("", want.get(key), got.get(key)):
            where = f"{key[0]}/{key[1]}{path}"
            if allowed(allow, golden, where):
                continue
            bad += 1
            print(f"{where}: V1 {json.dumps(w)[:300]} here {json.dumps(g)[:300]}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
