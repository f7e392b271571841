# SPDX-License-Identifier: Apache-2.0
"""One API server for classes of a test that need the same, one class after the other.

    cls.api = cls.enterClassContext(reuse.server(apiserver.ApiServer, audit=True))

To start one takes seconds of a processor, to delete what a class has left takes less. Definitions of the group
kubeflow.org stay: each class applies those that it needs. A server is not used again when a class has changed how it is
started, or when something cannot be deleted.
"""
import atexit
import contextlib
import http.client
import json
import time

import apiserver

OURS = "kubeflow.org"
# What the server makes for itself, and makes again: never deleted.
OWN_RESOURCES = {"apiservices", "componentstatuses", "customresourcedefinitions", "flowschemas", "ipaddresses",
                 "namespaces", "prioritylevelconfigurations", "servicecidrs"}
OWN_NAMESPACES = {"default", "kube-system", "kube-public", "kube-node-lease"}
OWN_LABELS = {"kubernetes.io/bootstrapping", "apiserver.kubernetes.io/identity"}
# Deleted definitions are there until the server has emptied them.
GONE_S = 30

# {options: [server that nobody uses]}
idle = {}


def is_own(item):
    meta = item["metadata"]
    return bool(OWN_LABELS & meta.get("labels", {}).keys() or meta["name"].startswith(("system:", "system-"))
                or (meta.get("namespace") == "default" and meta["name"] == "kubernetes")
                or meta["name"] in ("extension-apiserver-authentication",
                                    "kube-apiserver-legacy-service-account-token-tracking"))


def resources(api):
    """-> (path of the group and version, description) of all that can be listed and deleted"""
    groups = json.loads(api.get("/apis"))["groups"]
    for root in ["/api/v1", *(f"/apis/{group['preferredVersion']['groupVersion']}" for group in groups)]:
        status, text = api.request("GET", root)
        # a definition that is being deleted goes from one list before the other
        for resource in json.loads(text)["resources"] if status == http.client.OK else ():
            if "/" not in resource["name"] and resource["name"] not in OWN_RESOURCES and {"list",
                    "delete"} <= set(resource["verbs"]):
                yield root, resource


def listed(api, path):
    """-> the objects there; none where the definition goes, and a new one has to be waited for"""
    deadline = time.monotonic() + apiserver.PATIENCE_S
    while True:
        status, text = api.request("GET", path)
        if status == http.client.OK:
            return json.loads(text)["items"]
        if status == http.client.NOT_FOUND:
            return []
        if status != http.client.TOO_MANY_REQUESTS or time.monotonic() > deadline:
            raise AssertionError(f"GET {path}: {status} {text[:300]!r}")
        time.sleep(0.2)


def send(api, method, path, body, kind="application/json"):
    status, text = api.request(method, path, json.dumps(body), kind)
    if status not in (200, 201, 202, 404, 409):
        raise AssertionError(f"{method} {path}: {status} {text[:300]!r}")


def delete(api, path, item):
    """At once, whoever waits for that."""
    if item["metadata"].get("finalizers"):
        send(api, "PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    send(api, "DELETE", path, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})


def delete_all(api, root, resource):
    """-> how many there were"""
    items = [item for item in listed(api, f"{root}/{resource['name']}") if not is_own(item)]
    for item in items:
        namespace = item["metadata"].get("namespace")
        place = f"namespaces/{namespace}/" if namespace else ""
        delete(api, f"{root}/{place}{resource['name']}/{item['metadata']['name']}", item)
    return len(items)


def delete_namespaces(api):
    """No controller empties them here, and nothing but a finalizer keeps them."""
    names = {item["metadata"]["name"] for item in listed(api, "/api/v1/namespaces")} - OWN_NAMESPACES
    for name in names:
        path = f"/api/v1/namespaces/{name}"
        send(api, "DELETE", path, {})
        send(api, "PUT", f"{path}/finalize", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name},
                                              "spec": {"finalizers": []}})
    return len(names)


def delete_definitions(api):
    names = [item["metadata"]["name"] for item in listed(api, apiserver.CRDS) if item["spec"]["group"] != OURS]
    for name in names:
        send(api, "DELETE", f"{apiserver.CRDS}/{name}", {})
    return len(names)


def clean(api):
    """Delete what tests have made. -> whether all of it is gone"""
    deadline = time.monotonic() + GONE_S
    while time.monotonic() < deadline:
        left = sum(delete_all(api, root, resource) for root, resource in list(resources(api)))
        if left + delete_namespaces(api) + delete_definitions(api) == 0:
            return True
    return False


def commands(api):
    return {name: list(daemon.command) for name, daemon in api.daemons.items()}


def is_as_it_was(api, started):
    return commands(api) == started and api.ca == api.folder / "ca.crt" and all(
        daemon.process and daemon.process.poll() is None for daemon in api.daemons.values())


def give_back(key, api, started):
    if api.connection:
        # the server may have closed it while a test was at something else
        api.connection.close()
        api.connection = None
    try:
        kept = is_as_it_was(api, started) and clean(api)
    except (AssertionError, OSError, http.client.HTTPException):
        kept = False  # it is not known what is left there
    if kept:
        api.forget_audit()
        idle.setdefault(key, []).append(api)
    else:
        api.close()


@contextlib.contextmanager
def server(kind=apiserver.ApiServer, **options):
    """-> a server of the kind with these options, with nothing of a former class on it"""
    key = (kind, json.dumps(options, sort_keys=True))
    api = idle[key].pop() if idle.get(key) else kind(**options).__enter__()
    started = commands(api)
    try:
        yield api
    except BaseException:
        api.close()
        raise
    give_back(key, api, started)


@atexit.register
def close_all():
    while idle:
        for api in idle.popitem()[1]:
            api.close()
