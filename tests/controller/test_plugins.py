#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_plugins.py ROUNDHOUSE JAX_DIR: plugins are exchanged while the controller works; the audit log says who wrote
what.

Pods are set by hand. The folder of plugins is laid out as the kubelet mounts a ConfigMap: links through ..data. The
second version is the first one with another text for its release, and another name for one of its variables.
"""
import os
import pathlib
import shutil
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "faults"))
import audit  # noqa: E402
import case  # noqa: E402
import support  # noqa: E402
from case import GROUP, JAX, ROUNDHOUSE  # noqa: E402
from support import wait_for  # noqa: E402

JOBS = 200
LOADED = 'roundhouse_plugin_reloads_total{result="loaded"}'
REFUSED = 'roundhouse_plugin_reloads_total{result="refused"}'
CREATED = 'training_operator_jobs_created_total{job_namespace="default",framework="jax"}'
# Of the first version, and of the second one: as long as each other.
RELEASE = (b"\x000.1.0\x00", b"\x000.2.0\x00")
VARIABLE = ("NUM_PROCESSES", "SUM_PROCESSES")


def job(name):
    template = {"spec": {"containers": [{"name": "jax", "image": "i:1"}]}}
    return {"apiVersion": GROUP, "kind": "JAXJob", "metadata": {"name": name},
            "spec": {"jaxReplicaSpecs": {"Worker": {"replicas": 1, "template": template}}}}


class Mounted:
    """A folder of plugins as a ConfigMap: each version is a folder, and ..data leads to the one that counts."""

    def __init__(self, folder):
        self.folder, self.count = pathlib.Path(folder), 0
        self.folder.mkdir()

    def swap(self, **files):
        """Put these files, by name, in place of all there are."""
        self.count += 1
        version = self.folder / f"..version_{self.count}"
        version.mkdir()
        for name, content in files.items():
            (version / f"{name}.so").write_bytes(content)
        (self.folder / "..data_tmp").symlink_to(version.name)
        os.rename(self.folder / "..data_tmp", self.folder / "..data")
        for name in files:
            if not os.path.lexists(link := self.folder / f"{name}.so"):
                link.symlink_to(f"..data/{name}.so")
        for link in self.folder.glob("*.so"):
            if not link.exists():
                link.unlink()
        for other in self.folder.glob("..version_*"):
            if other != version:
                shutil.rmtree(other)


class Exchange(case.Case):
    @classmethod
    def make_server(cls):
        return audit.Server()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.first = (pathlib.Path(JAX) / "jax.so").read_bytes()
        cls.second = cls.first.replace(*RELEASE).replace(*(name.encode() for name in VARIABLE))
        assert cls.second != cls.first and len(cls.second) == len(cls.first)

    def setUp(self):
        self.mounted = Mounted(self.folder / self.id().rsplit(".", 1)[1])
        self.mounted.swap(jax=self.first)

    def run_controller(self, *flags):
        name = self.mounted.folder.name + "-log"
        return support.Controller(ROUNDHOUSE, self.api.kubeconfig_of("controller"), self.folder, "--plugins",
                                  self.mounted.folder, "--leader-elect=false", *flags, name=name)

    def wait_for_count(self, controller, name, number):
        wait_for(f"{name} {number}", lambda: controller.metrics().get(name) == number or controller.assert_alive())

    def add(self, name):
        self.create(job(name), "jaxjobs")
        return wait_for("a pod", lambda: self.pods(name))

    def variables(self, name):
        (pod,) = self.pods(name)
        return {entry["name"] for entry in pod["spec"]["containers"][0]["env"]}

    def drop(self, *names):
        for name in names:
            self.drop_job(name, "jaxjobs")

    def test_jobs_live_on(self):
        """Of 200 jobs that run, an upgrade writes none; the next job is the new version's, and so is what comes next of
        the old ones."""
        names = [f"old-{index}" for index in range(JOBS)]
        with self.run_controller() as controller:
            for name in names:
                self.create(job(name), "jaxjobs")
            pods = wait_for("pods", lambda: len(p := self.items("v1", "pods")) == JOBS and p)
            for pod in pods:
                self.set_phase(pod, "Running")
            wait_for("all run", lambda: all(
                any((c["type"], c["status"]) == ("Running", "True")
                    for c in item.get("status", {}).get("conditions", []))
                for item in self.items(GROUP, "jaxjobs")))
            controller.wait_idle(synced=True)
            versions = {item["metadata"]["name"]: item["metadata"]["resourceVersion"]
                        for item in self.items(GROUP, "jaxjobs")}
            before = len(self.api.writes())
            self.mounted.swap(jax=self.second)
            self.wait_for_count(controller, LOADED, 1)
            controller.wait_idle(synced=True)
            self.assertEqual(controller.state()["engine"]["jobs"], JOBS)
            self.add("new")
            controller.wait_idle(synced=True)
            written = {audit.what(event) for event in self.api.writes()[before:]}
            self.assertEqual({what for what in written if "new" not in what}, set())
            self.assertEqual({item["metadata"]["name"]: item["metadata"]["resourceVersion"]
                              for item in self.items(GROUP, "jaxjobs")
                              if item["metadata"]["name"] != "new"}, versions)
            self.assertIn(VARIABLE[0], self.variables("old-0"))
            self.assertIn(VARIABLE[1], self.variables("new"))
            self.assertIn("plugins were loaded anew: ", controller.text())
            self.assertIn("jax 0.2.0", controller.text())
            metrics = controller.metrics()
            self.assertEqual((metrics[CREATED], metrics["roundhouse_plugins_current"]), (JOBS + 1, 1))
            self.go_on("old-1", "old-2")
        self.drop("new", *names)

    def go_on(self, ended, lost):
        """Two jobs of the first version: the pod of one ends, that of the other is deleted."""
        self.set_phase(self.pods(ended)[0], "Succeeded")
        wait_for("a job that has succeeded", lambda: self.conditions(ended, "jaxjobs").get("Succeeded") == "True")
        (before,) = self.pods(lost)
        self.assertIn(VARIABLE[0], self.variables(lost))
        self.api.kubectl("delete", "pod", before["metadata"]["name"], "--grace-period=0", "--force")
        wait_for("another pod", lambda: any(pod["metadata"]["uid"] != before["metadata"]["uid"]
                                            for pod in self.pods(lost)))
        self.assertIn(VARIABLE[1], self.variables(lost))

    def test_what_is_refused(self):
        """Half a file, a plugin that ends the process, none at all: one message each, and the former ones stay at
        work."""
        with self.run_controller() as controller:
            self.add("before")
            for number, (files, words) in enumerate((
                    ({"jax": self.second[:len(self.second) // 2]}, "the file is truncated"),
                    ({"jax": self.first, "other": b"no plugin"}, "other.so"),
                    ({"jax": self.first, "twin": self.second}, 'its name "jax" is that of the plugin in'),
                    ({}, "no plugin would serve JAXJob of kubeflow.org/v1 any more")), 1):
                with self.subTest(words):
                    self.mounted.swap(**files)
                    self.wait_for_count(controller, REFUSED, number)
                    (line,) = [line for line in controller.text().splitlines() if words in line]
                    self.assertIn("the installed plugins are refused, those that were loaded before stay at work: ",
                                  line)
                    self.assertEqual(controller.metrics()["roundhouse_plugins_current"], 0)
                    self.add(f"during-{number}")
                    self.assertIn(VARIABLE[0], self.variables(f"during-{number}"))
            self.mounted.swap(jax=self.second)
            self.wait_for_count(controller, LOADED, 1)
            self.assertEqual(controller.metrics()["roundhouse_plugins_current"], 1)
            self.add("after")
            self.assertIn(VARIABLE[1], self.variables("after"))
        self.drop("before", "after", *(f"during-{number}" for number in range(1, 5)))

    def test_a_process_that_ends(self):
        """It is started again with the file that was loaded, though another one, which was refused, is at its path."""
        with self.run_controller() as controller:
            self.add("first")
            self.mounted.swap(jax=self.second[:len(self.second) // 2])
            self.wait_for_count(controller, REFUSED, 1)
            for pid in self.workers(controller, "jax.so"):
                os.kill(pid, signal.SIGKILL)
            self.add("second")
            self.assertIn(VARIABLE[0], self.variables("second"))
        self.drop("first", "second")

    def workers(self, controller, name):
        """-> the processes of the controller that run the plugin"""
        children = pathlib.Path(
            f"/proc/{controller.process.pid}/task/{controller.process.pid}/children").read_text().split()
        found = [int(pid) for pid in children if name in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode()]
        self.assertTrue(found)
        return found

    def test_signal(self):
        """SIGHUP loads what is there, changed or not, with the configuration of that moment; what cannot be exchanged
        stays."""
        configuration = self.folder / "roundhouse.ini"
        configuration.write_text("[plugins]\n")
        with self.run_controller("--config", configuration) as controller:
            controller.process.send_signal(signal.SIGHUP)
            self.wait_for_count(controller, LOADED, 1)
            self.add("one")
            configuration.write_text("[plugins]\nallow = jux\n")
            self.wait_for_count(controller, REFUSED, 1)
            self.assertIn(f"{configuration}:2: allow: there is no file \"jux.so\" in a folder of plugins; did you "
                          "mean \"jax\"?", controller.text())
        with self.run_controller("--plugin-isolation=none") as controller:
            controller.process.send_signal(signal.SIGHUP)
            controller.wait_for_log("SIGHUP: plugins are not loaded anew: they are not in processes of their own")
            self.add("two")
        self.drop("one", "two")

    def test_standby(self):
        """Who waits for the Lease exchanges plugins as who has it does."""
        with support.Controller(ROUNDHOUSE, self.api.kubeconfig_of("controller"), self.folder, "--plugins", JAX,
                                name="leader"), \
                support.Controller(ROUNDHOUSE, self.api.kubeconfig_of("other"), self.folder, "--plugins",
                                   self.mounted.folder, name="standby") as standby:
            self.assertEqual(standby.state()["state"], "standby")
            self.mounted.swap(jax=self.second)
            self.wait_for_count(standby, LOADED, 1)
            self.assertEqual(standby.state()["state"], "standby")


if __name__ == "__main__":
    case.main()
