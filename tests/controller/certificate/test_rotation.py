#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_rotation.py ROUNDHOUSE: two controllers change the certificate of V1's webhooks while a real API server calls
both.

Their account has the rights of `roundhouse manifests`, and V1's rights to Secrets and webhooks.
"""
import base64
import contextlib
import copy
import json
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402
from support import apiserver, wait_for  # noqa: E402

ROUNDHOUSE = sys.argv.pop(1) if len(sys.argv) > 1 else "roundhouse"
NAMESPACE = "kubeflow"
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/training-operator-webhook-cert"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/validator.training-operator.kubeflow.org"
V1_RULES = [{"apiGroups": [group], "resources": [resource], "verbs": ["get", "list", "update", "watch"]} for group,
            resource in
            (("", "secrets"), ("admissionregistration.k8s.io", "validatingwebhookconfigurations"))]
BEGIN = "-----BEGIN CERTIFICATE-----"


def job(kind, replicas, container):
    template = {"spec": {"containers": [{"name": container, "image": "i"}]}}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": "tried"},
            "spec": {replicas: {"Worker": {"replicas": 1, "template": template}}}}


class Load:
    """Creates of one kind that only are tried, one after the other, until the block ends. Attributes: count,
    refused."""

    def __init__(self, api, plural, body):
        self.api, self.path, self.body = copy.copy(
            api), f"/apis/kubeflow.org/v1/namespaces/default/{plural}?dryRun=All", json.dumps(body)
        self.api.connection = None
        self.count, self.refused, self.over = 0, [], threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.over.is_set():
            status, answer = self.api.request("POST", self.path, self.body)
            self.count += 1
            if status != 201:
                self.refused.append(answer)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        if self.api.connection:
            self.api.connection.close()


class Rotation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.api = cls.enterClassContext(apiserver.ApiServer(users={"account": []}))
        cls.ports = apiserver.free_ports(2)
        (cls.folder / "certs").mkdir()
        made = subprocess.run([ROUNDHOUSE, "manifests"], check=True, capture_output=True, text=True).stdout
        cls.objects = list(yaml.load_all(made, yaml.CSafeLoader))
        cls.apply([o for o in cls.objects if o["kind"] == "CustomResourceDefinition"])
        cls.api.wait_served()
        meta = {"name": NAMESPACE}
        cls.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": meta}])

    @classmethod
    def apply(cls, objects):
        cls.api.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-",
                        text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def setUp(self):
        """V1's objects as its manifests have them: an empty Secret, and webhooks that trust nobody. Each instance
        serves one kind."""
        rules = [rule for o in self.objects if o["kind"] in ("ClusterRole", "Role") and o["metadata"]["name"] in
                 ("roundhouse", "roundhouse-leader-election") for rule in o["rules"]]
        group = "rbac.authorization.k8s.io"
        hooks = [{"name": f"{plural}.example.org", "failurePolicy": "Fail", "sideEffects": "None",
                  "admissionReviewVersions": ["v1"], "rules": [{"apiGroups": ["kubeflow.org"], "apiVersions": ["v1"],
                                                                "resources": [plural], "operations": ["CREATE"]}],
                  "clientConfig": {"service": {"name": "training-operator", "namespace": NAMESPACE, "port": port,
                                               "path": f"/validate-kubeflow-org-v1-{plural[:-1]}"}}}
                 for plural, port in zip(("pytorchjobs", "tfjobs"), self.ports)]
        self.api.request("DELETE", HOOKS)
        self.api.request("DELETE", SECRET)
        self.apply([
            {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": "account"},
             "rules": rules + V1_RULES},
            {"apiVersion": f"{group}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "account"},
             "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "account"},
             "subjects": [{"kind": "User", "apiGroup": group, "name": "account"}]},
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "training-operator-webhook-cert",
                                                                "namespace": NAMESPACE}},
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "training-operator", "namespace": NAMESPACE},
             "spec": {"type": "ExternalName", "externalName": "localhost"}},
            {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
             "metadata": {"name": HOOKS.rsplit("/", 1)[1]}, "webhooks": hooks}])

    def controllers(self):
        """Two instances. Without an election: a server that is slow for a while must not end one."""
        out = []
        for number, port in enumerate(self.ports):
            one = support.Controller(ROUNDHOUSE, self.api.kubeconfig_of("account"), self.folder, "--leader-elect=false",
                                     f"--webhook-server-port={port}", f"--webhook-cert-dir={self.folder / 'certs'}",
                                     name=f"{self._testMethodName}-{number}",
                                     environment={"MY_POD_NAMESPACE": NAMESPACE})
            self.enterContext(one)
            out.append(one)
        return out

    def shown(self, port):
        """-> the certificate that the instance shows, PEM"""
        context = ssl._create_unverified_context()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=180) as plain, \
                context.wrap_socket(plain) as tls:
            return ssl.DER_cert_to_PEM_cert(tls.getpeercert(binary_form=True)).strip()
        return None

    def held(self):
        """-> {key: text} of the Secret"""
        data = json.loads(self.api.get(SECRET)).get("data") or {}
        return {key: base64.b64decode(value).decode() for key, value in data.items()}

    def bundles(self):
        return [base64.b64decode(hook["clientConfig"].get("caBundle", "")).decode()
                for hook in json.loads(self.api.get(HOOKS))["webhooks"]]

    def patch(self, data):
        status, answer = self.api.request("PATCH", SECRET, json.dumps({"data": data}), "application/merge-patch+json")
        self.assertEqual(status, 200, answer)

    def wait_all_show(self, before):
        """Both show the certificate of the Secret, which is not the one of before. -> it"""
        def same():
            crt = self.held().get("tls.crt", "").strip()
            return crt not in ("", before) and [self.shown(port) for port in self.ports] == [crt, crt] and crt
        return wait_for("both show a new certificate", same)

    def load(self, kind):
        plural = kind.lower() + "s"
        body = job(kind, *{"PyTorchJob": ("pytorchReplicaSpecs", "pytorch"),
                           "TFJob": ("tfReplicaSpecs", "tensorflow")}[kind])
        path = f"/apis/kubeflow.org/v1/namespaces/default/{plural}?dryRun=All"
        wait_for(f"webhook of {kind}", lambda: self.api.request("POST", path, json.dumps(body))[0] == 201)
        return Load(self.api, plural, body)

    def test_certificate_changes_under_load(self):
        """Many times, and no call is refused; so also when the authority is another one."""
        self.controllers()
        crt = self.wait_all_show(None)
        with self.load("PyTorchJob") as one, self.load("TFJob") as two:
            authority = self.held()["ca.crt"]
            for _ in range(10):
                self.patch({"tls.crt": None, "tls.key": None})
                crt = self.wait_all_show(crt)
            self.assertEqual(self.held()["ca.crt"], authority)
            for _ in range(2):
                self.patch({key: None for key in ("ca.crt", "ca.key", "tls.crt", "tls.key")})
                crt = self.wait_all_show(crt)
            counts = one.count, two.count
            wait_for("more calls", lambda: one.count > counts[0] + 20 and two.count > counts[1] + 20)
        self.assertEqual([*one.refused, *two.refused], [])
        self.assertNotEqual(self.held()["ca.crt"], authority)
        for bundle in self.bundles():
            self.assertIn(self.held()["ca.crt"], bundle)
            self.assertIn(authority, bundle)
            self.assertEqual(bundle.count(BEGIN), 3)

    def test_secret_is_emptied(self):
        """And one instance is started anew. The other is called all the while, and takes the new certificate soon."""
        _, second = self.controllers()
        crt = self.wait_all_show(None)
        with self.load("PyTorchJob") as load:
            second.stop()
            self.patch({key: None for key in ("ca.crt", "ca.key", "tls.crt", "tls.key")})
            second.start()
            second.wait_ready()
            self.wait_all_show(crt)
            count = load.count
            wait_for("more calls", lambda: load.count > count + 20)
        self.assertEqual(load.refused, [])
        self.assertEqual([bundle.count(BEGIN) for bundle in self.bundles()], [2, 2])

    def test_webhooks_are_applied_anew(self):
        """Who applies V1's manifests again takes the trust away: it is there again at once."""
        self.controllers()
        self.wait_all_show(None)
        hooks = json.loads(self.api.get(HOOKS))["webhooks"]
        for hook in hooks:
            del hook["clientConfig"]["caBundle"]
        status, answer = self.api.request("PATCH", HOOKS, json.dumps({"webhooks": hooks}),
                                          "application/merge-patch+json")
        self.assertEqual(status, 200, answer)
        wait_for("trust", lambda: self.bundles() == [self.held()["ca.crt"]] * 2)


if __name__ == "__main__":
    apiserver.skip_without_assets()
    unittest.main()
