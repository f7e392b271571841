#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_plugins.py ROUNDHOUSE PLUGIN_DIR HOSTILE [unittest's words]: a plugin that hangs, crashes, is slow or takes all
memory.

On a real API server, with the rights of `roundhouse manifests`: jobs of other kinds go on, so do other jobs of the
plugin, the job at which it fails says so, and the controller lives.
"""
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import sys

HOSTILE = pathlib.Path(sys.argv.pop(3)) if len(sys.argv) > 3 else pathlib.Path()

import field  # noqa: E402
import support  # noqa: E402
from support import apiserver, wait_for  # noqa: E402

LABEL = "training.kubeflow.org/job-name"
JOBS = "/apis/{group}/namespaces/default/{plural}"
PYTORCH = ("kubeflow.org/v1", "PyTorchJob", "pytorchjobs", "pytorch")
HARMFUL = ("example.org/v1", "HostileJob", "hostilejobs", "hostile")
# Jobs of another kind that come while the plugin is in trouble.
OTHERS = 20


def job(kind, name, **annotations):
    group, word, _, container = kind
    template = {"spec": {"containers": [{"name": container, "image": "i:1"}]}}
    return {"apiVersion": group, "kind": word, "metadata": {"name": name, "annotations": annotations},
            "spec": {f"{container}ReplicaSpecs": {"Worker": {"replicas": 1, "restartPolicy": "Never",
                                                             "template": template}}}}


class Plugins(field.Field):
    """Each test has a controller with one copy of the plugin, whose name says what it does."""
    options = {"groups": []}

    def call(self, *words):
        return json.loads(subprocess.run([field.ROUNDHOUSE, *words, "-o", "json"], check=True, capture_output=True,
                                         text=True).stdout)

    def install(self, plugin):
        """The definitions, and the rights that the manifests grant with this plugin."""
        folder = self.folder / plugin
        folder.mkdir()
        shutil.copy(HOSTILE, folder / f"{plugin}.so")
        items = self.call("manifests", "--without-crds", "--plugins", str(folder))["items"]
        role = next(item for item in items if (item["kind"], item["metadata"]["name"]) == ("ClusterRole", "roundhouse"))
        binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                   "metadata": {"name": "roundhouse"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                                                                   "kind": "ClusterRole", "name": "roundhouse"},
                   "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "controller"}]}
        crds = subprocess.run([field.ROUNDHOUSE, "crds", "--plugins", str(folder), "--kind", "HostileJob"], check=True,
                              capture_output=True, text=True).stdout
        self.apply(crds)
        self.apply(json.dumps({"apiVersion": "v1", "kind": "List", "items": [role, binding]}))
        self.api.wait_served()
        return folder

    def apply(self, text):
        """Without a look at the server's whole schema, which takes long where the machine is busy."""
        self.api.kubectl("apply", "--server-side", "--force-conflicts", "--validate=false", "-f", "-", text=text)

    def ask(self, method, path, body=None):
        """-> (status, answer). The server closes a connection that nobody has used for a while."""
        try:
            status, text = self.api.request(method, path, body and json.dumps(body))
        except (OSError, http.client.HTTPException):
            self.api.connection = None
            status, text = self.api.request(method, path, body and json.dumps(body))
        return status, json.loads(text)

    def start(self, plugin, limit):
        folder = self.install(plugin)
        config = self.folder / f"{plugin}.ini"
        config.write_text(f"[plugins]\ntime-limit = {limit}\n", encoding="utf-8")
        config.chmod(0o644)
        return support.Controller(field.ROUNDHOUSE, self.kubeconfig(), self.folder, "--plugins", folder,
                                  "--leader-elect=false", "--enable-scheme=PyTorchJob", "--enable-scheme=HostileJob",
                                  name=plugin, environment={"ROUNDHOUSE_CONFIG": str(config)})

    def create(self, kind, name, **annotations):
        path = JOBS.format(group=kind[0], plural=kind[2])
        status, answer = self.ask("POST", path, job(kind, name, **annotations))
        self.assertIn(status, (201, 409), answer)  # 409: the first of two requests had succeeded

    def condition(self, name, kind=HARMFUL, word="Stalled"):
        found = self.ask("GET", JOBS.format(group=kind[0], plural=kind[2]) + f"/{name}")[1].get("status",
                {}).get("conditions", [])
        return next((c for c in found if c["type"] == word and c["status"] == "True"), None)

    def has_pod(self, name):
        return self.ask("GET", f"/api/v1/namespaces/default/pods?labelSelector={LABEL}={name}")[1]["items"]

    def drop(self, *names):
        for kind in (PYTORCH, HARMFUL):
            for name in names:
                self.ask("DELETE", JOBS.format(group=kind[0], plural=kind[2]) + f"/{name}")

    def serve_others(self, plugin):
        """-> the names of jobs of another kind, which got their pods one after the other"""
        names = [f"{plugin}-other-{number}" for number in range(OTHERS)]
        for name in names:
            self.create(PYTORCH, name)
            wait_for(name, lambda name=name: self.has_pod(name))
        return names

    def play(self, plugin, limit, *words):
        """The plugin fails at one job, whose condition has these words; without words it is late but does not fail."""
        with self.start(plugin, limit) as controller:
            pid = controller.process.pid
            self.create(HARMFUL, f"{plugin}-bad")
            self.create(HARMFUL, f"{plugin}-good", spared="true")
            others = self.serve_others(plugin)
            wait_for("the plugin's other job", lambda: self.has_pod(f"{plugin}-good"))
            if words:
                found = wait_for("the job is set aside", lambda: self.condition(f"{plugin}-bad"))
                self.assertEqual(found["reason"], "HostileJobPluginFailed")
                for word in (plugin, *words):
                    self.assertIn(word, found["message"])
                self.assertIsNone(self.condition(f"{plugin}-bad", word="Failed"))
            else:
                wait_for("the pod of the slow plugin", lambda: self.has_pod(f"{plugin}-bad"))
                self.assertIsNone(self.condition(f"{plugin}-bad"))
            self.assert_idle(controller)
            controller.assert_alive()
            self.assertEqual(controller.process.pid, pid)
            self.drop(f"{plugin}-bad", f"{plugin}-good", *others)

    def test_one_that_hangs(self):
        self.play("objects-sleep", "1s", "it did not come back from objects() within 1 s",
                  "it failed at this job 3 times")

    def test_while_one_hangs(self):
        """The limit is longer than the test: whoever waited for the plugin would wait for ever."""
        with self.start("judge-sleep", "10m") as controller:
            self.create(HARMFUL, "hangs")
            others = self.serve_others("hangs")
            self.assertIsNone(self.condition("hangs"))
            controller.assert_alive()
            self.drop("hangs", *others)

    def test_one_that_crashes(self):
        self.play("pod-segv", "1m", "it crashed in pod()", "it failed at this job 3 times")

    def test_one_that_ends_its_process(self):
        self.play("judge-kernel", "1m", "it ended the process in judge()", "it failed at this job 3 times")

    def test_one_that_takes_all_memory(self):
        self.play("validate-memory", "1m", "it crashed in validate()", "it failed at this job 3 times")

    def test_one_that_is_slow(self):
        for operation in ("validate", "objects", "pod", "judge"):
            with self.subTest(operation=operation):
                self.play(f"{operation}-slow", "1m")


if __name__ == "__main__":
    apiserver.skip_without_assets()
    os.umask(0o022)
    field.main()
