# SPDX-License-Identifier: Apache-2.0
"""The real Kueue on a real API server: its program, built once by assets.py, and its definitions from the same module.

    with kueue.Cluster(audit=True) as api: ...

Kueue has its webhooks and its certificates; no webhook is registered, so the API server never calls one. What the
definitions say of Workloads holds. Its own integrations are those that are asked for.
"""
import base64
import copy
import json
import os
import pathlib
import threading

import apiserver

VERSION = "v0.17.0"
MANAGER = "kube-controller-manager"
NAMESPACE = "kueue-system"
GROUP = "/apis/kueue.x-k8s.io/v1beta2"
CONVERTED = ("localqueues", "clusterqueues", "workloads", "cohorts", "multikueueclusters")
POLL_S = 0.1


def find(name):
    """-> the path of a program, or None"""
    places = (folder / name for folder in (apiserver.assets(), apiserver.cache() / "bin") if folder)
    return next((place for place in places if os.access(place, os.X_OK)), None)


def definitions():
    """-> the folder of Kueue's definitions, or None"""
    folder = pathlib.Path(os.environ.get("GOMODCACHE_K8S") or apiserver.cache() / "gomod",
                          f"sigs.k8s.io/kueue@{VERSION}", "config", "components", "crd", "bases")
    return folder if folder.is_dir() else None


def skip_without_programs():
    apiserver.skip_without_assets()
    missing = [name for name in ("kueue", MANAGER) if not find(name)]
    if missing:
        apiserver.skip(f"no {' and no '.join(missing)}; run tests/cluster/assets.py {' '.join(missing)}")
    if not definitions():
        apiserver.skip(f"no definitions of Kueue {VERSION} in the module cache; remove "
                       f"{apiserver.cache() / 'bin' / 'kueue'}, and run tests/cluster/assets.py kueue")


class Cluster(apiserver.ApiServer):
    """With the garbage collector, and with Kueue from start_kueue() on."""

    def __init__(self, **options):
        super().__init__(**options)
        self.stopping = threading.Event()

    def start(self, name=None):
        """The garbage collector after the server: it waits for it ten seconds, and no longer."""
        super().start(name)
        if MANAGER not in self.daemons:
            self.daemons[MANAGER] = apiserver.Daemon(MANAGER, [
                find(MANAGER), "--kubeconfig", self.kubeconfig, "--leader-elect=false", "--secure-port=0",
                "--controllers=garbage-collector-controller"], self.folder)
            self.daemons[MANAGER].start()

    def close(self):
        self.stopping.set()
        super().close()

    def install_kueue(self):
        """Its definitions, and what it writes its certificates into."""
        self.kubectl("apply", "--server-side", "-f", definitions())
        self.wait_served(stored_alone=True)
        conversion = {"spec": {"conversion": {"strategy": "Webhook", "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": {"service": {"name": "kueue-webhook-service", "namespace": NAMESPACE,
                                         "path": "/convert"}}}}}}
        for plural in CONVERTED:
            self.kubectl("patch", "crd", f"{plural}.kueue.x-k8s.io", "--type=merge", "-p", json.dumps(conversion))
        self.kubectl("create", "namespace", NAMESPACE)
        self.kubectl("create", "secret", "generic", "kueue-webhook-server-cert", "-n", NAMESPACE)
        for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
            name = f"kueue-{kind.removesuffix('WebhookConfiguration').lower()}-webhook-configuration"
            self.create({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name},
                         "webhooks": []})

    def create(self, *objects):
        for body in objects:
            self.kubectl("create", "-f", "-", text=json.dumps(body))

    def start_kueue(self, frameworks=("batch/job",), **more):
        """Kueue works from now on."""
        health, webhook = apiserver.free_ports(2)
        certificates = self.folder / "kueue-certificates"
        certificates.mkdir(exist_ok=True)
        config = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "namespace": NAMESPACE,
                  "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"}, "metrics": {"bindAddress": "0"},
                  "webhook": {"host": "127.0.0.1", "port": webhook, "certDir": str(certificates)},
                  "leaderElection": {"leaderElect": False}, "internalCertManagement": {"enable": True},
                  "clientConnection": {"qps": 500, "burst": 1000}, "integrations": {"frameworks": list(frameworks)},
                  **more}
        path = self.folder / "kueue.json"
        path.write_text(json.dumps(config))
        self.daemons["kueue"] = apiserver.Daemon("kueue", [
            find("kueue"), "--kubeconfig", self.kubeconfig, "--config", path,
            "--feature-gates=VisibilityOnDemand=false"], self.folder)
        self.daemons["kueue"].start()
        threading.Thread(target=self.mount_certificates, args=(certificates,), daemon=True).start()
        self.wait_certified()

    def wait_certified(self):
        """Until Kueue has written into its definitions: the API server then opens their storage anew."""
        log = self.folder / "kueue.log"

        def injected():
            self.daemons["kueue"].assert_alive()
            return "CA certs are injected" in log.read_text(errors="replace")
        apiserver.wait_for("Kueue has certificates", injected, apiserver.PATIENCE_S)
        self.wait_served(stored_alone=True)

    def mount_certificates(self, folder):
        """As a kubelet mounts the Secret that Kueue fills."""
        path = ["get", "secret", "kueue-webhook-server-cert", "-n", NAMESPACE, "-o", "json"]
        while not self.stopping.wait(POLL_S):
            data = json.loads(self.kubectl(*path).stdout).get("data", {})
            for name, text in data.items():
                (folder / name).write_bytes(base64.b64decode(text))
            if data:
                return


class History:
    """with History(api, paths) as history: ... history.events(): each change of the objects below the paths, in the
    order in which the store took them. Times of an audit log cannot say that: a request is answered some time after its
    change, when others have seen it and have gone on."""

    def __init__(self, api, *paths):
        self.api, self.lock, self.stopping = api, threading.Lock(), threading.Event()
        self.seen, self.error, self.connections = [], None, {}
        self.threads = [threading.Thread(target=self.watch, args=(path,), daemon=True) for path in paths]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        for one in self.connections.values():
            if one.connection:
                one.connection.close()

    def watch(self, path):
        """Resumed where the server has ended it."""
        try:
            revision = json.loads(self.own(path).get(f"{path}?limit=1"))["metadata"]["resourceVersion"]
            while not self.stopping.is_set():
                revision = self.read(path, revision)
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def own(self, path):
        """-> the API with a connection of this path's thread"""
        if path not in self.connections:
            self.connections[path] = copy.copy(self.api)
            self.connections[path].connection = None
        return self.connections[path]

    def read(self, path, revision):
        """One watch, of a second: so it ends soon when it has to. -> the revision to go on from"""
        query = f"watch=true&resourceVersion={revision}&timeoutSeconds=1&allowWatchBookmarks=true"
        for line in self.own(path).get(f"{path}?{query}").splitlines():
            event = json.loads(line)
            if event["type"] == "ERROR":
                raise AssertionError(f"{path}: {event}")
            revision = event["object"]["metadata"]["resourceVersion"]
            if event["type"] != "BOOKMARK":
                with self.lock:
                    self.seen.append((int(revision), event["type"], event["object"]))
        return revision

    def events(self):
        """-> [(revision, "ADDED", "MODIFIED" or "DELETED", object)] so far"""
        if self.error:
            raise self.error
        with self.lock:
            return sorted(self.seen, key=lambda one: one[0])


def flavor(name, **spec):
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}


def cluster_queue(name, cpu, flavor_name, **spec):
    group = {"coveredResources": ["cpu"],
             "flavors": [{"name": flavor_name, "resources": [{"name": "cpu", "nominalQuota": cpu}]}]}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": name},
            "spec": {"namespaceSelector": {}, "resourceGroups": [group], **spec}}


def local_queue(name, cluster, namespace="default"):
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": namespace}, "spec": {"clusterQueue": cluster}}


def priority_class(name, value):
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": {"name": name},
            "value": value}
