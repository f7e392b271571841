#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_controller.py ROUNDHOUSE JAX_DIR: the controller on a real API server; pods are set by hand, no kubelet runs."""
import glob
import json
import os
import pathlib
import signal
import subprocess
import tempfile

import yaml

import case
import support
from case import Case, GOLDENS, JAX, ROUNDHOUSE, job
from support import wait_for

import compare_objects
import run_objects


class Objects(Case):
    """What is created for every recorded job."""

    def test_goldens(self):
        entries = [e for e in json.loads((GOLDENS / "differences.json").read_text())
                   if e.get("suite", "objects") == "objects"]
        with self.controller():
            for path in sorted(glob.glob(str(GOLDENS / "objects/*.objects.json"))):
                name = os.path.basename(path)[:-len(".objects.json")]
                with self.subTest(golden=name):
                    self.check(name, path, entries)

    def check(self, name, path, entries):
        want = compare_objects.load(path)
        body = yaml.load((GOLDENS / "objects" / f"{name}.yaml").read_text(), yaml.CSafeLoader)
        plural = body["kind"].lower() + "s"
        made = self.create(body, plural)
        uid = made["metadata"]["uid"]
        try:
            wait_for(f"{len(want)} objects of {name}", lambda: len(self.owned(uid)) >= len(want))
            self.assertEqual(list(run_objects.unlisted(name, want, self.owned(uid), entries, set())), [])
        finally:
            self.request("DELETE", self.path(plural, name=made["metadata"]["name"]))
            self.drop_owned(uid)


class Controllers(Case):
    def test_kubectl(self):
        """Columns, wait, events, scale."""
        with self.controller() as controller:
            self.create(job("columns"))
            pods = wait_for("pods", lambda: len(p := self.pods("columns")) == 2 and p)
            self.assertRegex(self.api.kubectl("get", "pytorchjobs").stdout, r"NAME +STATE +AGE\ncolumns +Created ")
            for pod in pods:
                self.set_phase(pod, "Running")
            self.api.kubectl("wait", "--for=condition=Running", "pytorchjob/columns", "--timeout=180s")
            described = self.api.kubectl("describe", "pytorchjob", "columns").stdout
            self.assertIn("SuccessfulCreatePod", described)
            self.assertIn("pytorchjob-controller", described)
            self.api.kubectl("scale", "--replicas=4", "pytorchjob/columns")
            wait_for("more pods", lambda: len(self.pods("columns")) == 4)
            # the list shows a pod before the response to its create is counted
            created = 'roundhouse_api_requests_total{verb="create",resource="pods",code="201"}'
            wait_for("counted creates", lambda: controller.metrics().get(created, 0) >= 4)
            metrics = controller.metrics()
            self.assertEqual(metrics['roundhouse_job_start_seconds_count{framework="pytorch"}'], 1)
            self.assertEqual(
                metrics['training_operator_jobs_created_total{job_namespace="default",framework="pytorch"}'], 1)
            self.drop_job("columns")

    def test_metrics(self):
        """V1's counters, and causes of restarts, over the lives of three jobs; lines of the log as JSON."""
        def counted(name, labels='job_namespace="default",framework="pytorch"'):
            return int(controller.metrics().get(f"{name}{{{labels}}}", 0))

        def policy(name, word, **more):
            body = job(name, **more)
            body["spec"]["pytorchReplicaSpecs"]["Worker"]["restartPolicy"] = word
            return body

        with self.controller("--leader-elect=false", "--log-format=json", name="metrics") as controller:
            ends = {"good": ("Succeeded", policy("good", "Never", ttlSecondsAfterFinished=0)),
                    "bad": ("Failed", policy("bad", "Never")), "restarted": ("Failed", policy("restarted", "ExitCode"))}
            uids = {name: self.create(body)["metadata"]["uid"] for name, (_, body) in ends.items()}
            for name, (phase, _) in ends.items():
                pods = wait_for("pods", lambda: len(p := self.pods(name)) == 2 and p)
                for pod in pods:
                    self.set_phase(pod, "Running")
                wait_for("runs", lambda: self.conditions(name).get("Running") == "True")
                for pod in pods if phase == "Succeeded" else pods[:1]:
                    self.set_phase(pod, phase, code=138 if name == "restarted" else 1)
            for name, number in (("created", 3), ("successful", 1), ("failed", 1), ("restarted", 1), ("deleted", 1)):
                wait_for(f"{name}: {number}", lambda: counted(f"training_operator_jobs_{name}_total") == number)
            wait_for("cause", lambda: counted("roundhouse_restarts_total", 'framework="pytorch",cause="exit"') == 1)
            lines = [json.loads(line) for line in controller.text().splitlines()]
            logged = {(line.get("kind"), line.get("namespace"), line.get("name"), line.get("uid")) for line in lines}
            self.assertLessEqual({("PyTorchJob", "default", name, uid) for name, uid in uids.items()}, logged)
        for name in ends:
            self.drop_job(name)

    def test_suspend_and_delete(self):
        with self.controller():
            self.create(job("stopped"))
            wait_for("pods", lambda: len(self.pods("stopped")) == 2)
            self.api.kubectl("patch", "pytorchjob", "stopped", "--type=merge", "-p",
                             '{"spec":{"runPolicy":{"suspend":true}}}')
            wait_for("suspended", lambda: self.conditions("stopped").get("Suspended") == "True")
            for pod in self.pods("stopped"):
                self.request(
                    "DELETE", f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}?gracePeriodSeconds=0")
            self.drop_job("stopped")

    def test_crd_is_missing(self):
        self.api.kubectl("delete", "crd", "mpijobs.kubeflow.org")
        try:
            with self.controller() as controller:
                controller.wait_for_log("roundhouse crds --kind MPIJob | kubectl apply --server-side -f -")
                self.create(job("others"))
                wait_for("pods", lambda: len(self.pods("others")) == 2)
                # A definition that goes makes the server begin the others' watches anew; those problems pass.
                wait_for("MPIJob's problem alone", lambda: [p["resource"].split(".")[0]
                                                            for p in controller.state()["problems"]]
                         == ["mpijobs"])
                self.api.kubectl("apply", "--server-side", "-f", "-", text=self.crds)
                wait_for("MPIJob", lambda: not controller.state()["problems"], patience=120)
        finally:
            self.api.kubectl("apply", "--server-side", "-f", "-", text=self.crds)
            self.drop_job("others")

    def test_rights_are_missing(self):
        """No Lease: it works without election, and says so. No pods: it says which rule to add."""
        rules = [{"apiGroups": ["kubeflow.org"], "resources": ["*"], "verbs": ["*"]},
                 {"apiGroups": [""], "resources": ["services", "events"], "verbs": ["*"]}]
        self.grant(rules)
        controller = self.controller(kubeconfig=self.api.kubeconfig_of("limited"), name="limited")
        controller.start()
        try:
            controller.wait_for_log("THERE IS NO LEADER ELECTION")
            controller.wait_for_log('{apiGroups: [""], resources: [pods], verbs: [list, watch]}')
            self.assertEqual(controller.get("/readyz")[0], 500)
            self.grant([*rules, {"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]}])
            controller.wait_ready()
            self.assertEqual(controller.state()["state"], "working")
            controller.stop()
        finally:
            controller.kill()

    def wrong_kubeconfig(self, name, user=None, **cluster):
        """-> a kubeconfig with other credentials, or another address"""
        config = yaml.load(pathlib.Path(self.api.kubeconfig).read_text(), yaml.CSafeLoader)
        config["users"][0]["user"] = user or config["users"][0]["user"]
        config["clusters"][0]["cluster"].update(cluster)
        path = self.folder / name
        path.write_text(yaml.safe_dump(config))
        return path, config["current-context"], config["users"][0]["name"]

    def test_credentials_are_wrong(self):
        """File, context, user and field, but not the token."""
        path, context, user = self.wrong_kubeconfig("wrong-token", {"token": "not-the-right-one"})
        controller = self.controller(kubeconfig=path, name="wrong-token")
        controller.start()
        self.addCleanup(controller.kill)
        expected = (f'context "{context}", user "{user}": the token in {path}: users[0].user.token is not accepted; '
                    'renew it')
        controller.wait_for_log(f"pods: cannot list: Unauthorized; {expected}")
        self.assertNotIn("not-the-right-one", controller.text())
        controller.stop()
        done = subprocess.run([ROUNDHOUSE, "crds", "--pod-schema", "cluster", "--kubeconfig", path],
                              capture_output=True, text=True, timeout=180)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(expected, done.stderr)

    def test_server_speaks_tls(self):
        """The address begins with http://."""
        path, _, _ = self.wrong_kubeconfig("plain", {"token": "t"}, server=self.api.url.replace("https:", "http:"))
        controller = self.controller(kubeconfig=path, name="plain")
        controller.start()
        self.addCleanup(controller.kill)
        controller.wait_for_log(f"the server uses TLS, and {path}: clusters[0].cluster.server begins with http://; "
                                "write https://")
        controller.stop()

    def test_two_controllers(self):
        """The second waits, takes over when the first ends, and when the first is killed."""
        first, second = self.controller(name="first"), self.controller(name="second")
        try:
            first.start()
            wait_for("first works", lambda: first.get("/readyz")[0] == 200 and first.state()["state"] == "working")
            second.start()
            second.wait_ready()
            self.create(job("taken"))
            wait_for("pods", lambda: len(self.pods("taken")) == 2)
            self.assertEqual((first.state()["state"], second.state()["state"]), ("working", "standby"))
            self.assertGreaterEqual(second.state()["engine"]["jobs"], 1)
            first.stop()
            wait_for("second works", lambda: second.state()["state"] == "working")
            first.start()
            first.wait_ready()
            second.kill()
            wait_for("first works again", lambda: first.state()["state"] == "working")
            for pod in self.pods("taken"):
                self.set_phase(pod, "Succeeded")
            wait_for("succeeded", lambda: self.conditions("taken").get("Succeeded") == "True")
            first.stop()
        finally:
            first.kill()
            second.kill()
            self.drop_job("taken")

    def test_lease_is_lost(self):
        """Somebody else writes his name into it: the program ends, so that nothing is done by two."""
        with tempfile.TemporaryDirectory() as folder:
            controller = support.Controller(ROUNDHOUSE, self.api.kubeconfig, folder, "--leader-election-id", "stolen")
            controller.start()
            try:
                wait_for("works", lambda: controller.get("/readyz")[0] == 200
                         and controller.state()["state"] == "working")
                self.api.kubectl("patch", "lease", "stolen", "--type=merge", "-p",
                                 '{"spec":{"holderIdentity":"thief","renewTime":"2099-01-01T00:00:00.000000Z"}}')
                self.assertEqual(controller.wait(), 1)
                self.assertIn('the Lease "stolen" was lost', controller.text())
            finally:
                controller.kill()

    def test_scope(self):
        self.api.kubectl("create", "namespace", "team")
        with self.controller("--namespace=team", "--enable-scheme=pytorchjob") as controller:
            self.create(job("outside"))
            self.create(job("other", kind="TFJob", namespace="team"), "tfjobs")
            self.create(job("inside", namespace="team"))
            wait_for("pods", lambda: len(self.pods("inside", "team")) == 2)
            self.assertEqual(controller.state()["kinds"], ["PyTorchJob"])
            self.assertEqual((self.conditions("outside"), self.conditions("other", "tfjobs", "team")), ({}, {}))
        self.drop_job("outside")

    def test_ends_in_the_middle(self):
        """SIGTERM and SIGKILL while pods are created: the next start goes on, and nothing is there twice."""
        for number, name in ((signal.SIGTERM, "ended"), (signal.SIGKILL, "killed")):
            controller = self.controller(name=name)
            controller.start()
            try:
                controller.wait_ready()
                self.create(job(name, workers=60))
                wait_for("first pods", lambda: len(self.pods(name)) >= 3)
                controller.process.send_signal(number)
                self.assertEqual(controller.wait(), 0 if number == signal.SIGTERM else -number)
            finally:
                controller.kill()
            with self.controller("--leader-elect=false"):
                wait_for("all pods", lambda: len(self.pods(name)) == 60)
                wait_for("created", lambda: self.conditions(name).get("Created") == "True")
            self.drop_job(name)

    def test_server_restarts(self):
        # without a Lease: a server that takes longer than its deadline to come back ends the instance, as it should
        with self.controller("--leader-elect=false") as controller:
            self.create(job("survives"))
            wait_for("pods", lambda: len(self.pods("survives")) == 2)
            self.api.restart("kube-apiserver", signal.SIGKILL)
            for pod in self.pods("survives"):
                self.set_phase(pod, "Succeeded")
            wait_for("succeeded", lambda: self.conditions("survives").get("Succeeded") == "True", patience=120)
            wait_for("no problems", lambda: not controller.state()["problems"])
        self.drop_job("survives")


class Rights(Case):
    """The controller with the rights that `roundhouse manifests` gives it; the API server's audit log shows what it
    did."""
    options = {"audit": True}
    ACCOUNT = "system:serviceaccount:roundhouse:roundhouse"
    # What a job without faults does not need: adoption of orphans, a get after a write with unknown outcome, repeated
    # events, and what an MPI launcher is granted, which only the owner of a right may grant.
    SPARE = {("patch", "pods"), ("patch", "services"), ("get", "services"), ("get", "pods"), ("patch", "events"),
             ("get", "pytorchjobs"), ("create", "pods/exec")}

    def test_one_namespace(self):
        """What `roundhouse manifests --namespaced` grants is enough in that namespace, and there is nothing outside."""
        objects = subprocess.run([ROUNDHOUSE, "manifests", "--plugins", JAX, "--namespaced", "--namespace=team"],
                                 check=True, capture_output=True, text=True).stdout
        self.api.kubectl("create", "namespace", "team")
        self.api.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", text=objects)
        path = self.folder / "team.kubeconfig"
        self.api.write_kubeconfig(path, {"token": self.api.kubectl("create", "token", "roundhouse", "-n",
                                                                   "team").stdout.strip()})
        arguments = next(o for o in yaml.load_all(objects, yaml.CSafeLoader) if o
                         and o["kind"] == "Deployment")["spec"]["template"]["spec"]["containers"][0]
        flags = [word for word in arguments["args"][1:] if "log-format" not in word]
        environment = {one["name"]: one.get("value", "team") for one in arguments.get("env", [])}
        with self.controller(*flags, "--leader-election-namespace=team", kubeconfig=path, name="team",
                             environment=environment) as controller:
            controller.wait_for_log("this instance works now")
            self.assertEqual(controller.state()["namespace"], "team")
            self.create(job("outside"))
            self.create(job("inside", namespace="team"))
            pods = wait_for("pods", lambda: len(p := self.pods("inside", "team")) == 2 and p)
            for pod in pods:
                self.set_phase(pod, "Succeeded")
            wait_for("succeeded", lambda: self.conditions("inside", namespace="team").get("Succeeded") == "True")
            # the definitions were just applied again: their watches may still be throttled for a moment
            wait_for("no problem", lambda: not controller.state()["problems"])
            self.assertEqual(self.conditions("outside"), {})
        denied = {(e["verb"], e["requestURI"]) for e in self.api.audit_events()
                  if e["user"]["username"] == "system:serviceaccount:team:roundhouse"
                  and e["responseStatus"].get("code") == 403}
        self.assertEqual(denied, set())
        self.drop_job("outside")

    def life(self, body):
        """Create, run, succeed, and be deleted when ttlSecondsAfterFinished is over."""
        plural, name = body["kind"].lower() + "s", body["metadata"]["name"]
        body["spec"].setdefault("runPolicy", {}).update(ttlSecondsAfterFinished=0, cleanPodPolicy="All")
        uid = self.create(body, plural)["metadata"]["uid"]
        wait_for(f"{name} created", lambda: self.conditions(name, plural).get("Created") == "True" and self.pods(name))
        for phase in ("Running", "Succeeded"):
            wait_for(f"{name} {phase}", lambda: self.advance(name, phase) or self.has_been(phase, name, plural))
        wait_for(f"{name} deleted", lambda: self.api.request("GET", self.path(plural, name=name))[0] == 404)
        self.drop_owned(uid)

    def has_been(self, phase, name, plural):
        status, body = self.request("GET", self.path(plural, name=name))
        conditions = body.get("status", {}).get("conditions", []) if status == 200 else []
        return status == 404 or any(c["type"] == phase and c["status"] == "True" for c in conditions)

    def advance(self, name, phase):
        for pod in self.pods(name):
            if pod["status"].get("phase") not in (phase, "Succeeded"):
                self.set_phase(pod, phase, good=(200, 404))  # the job may have succeeded, and cleaned up

    def test_rights_are_enough_and_needed(self):
        goldens = [yaml.load((GOLDENS / "objects" / f"{name}.yaml").read_text(), yaml.CSafeLoader)
                   for name in ("mpi-2w", "pt-elastic-etcd-hpa", "tf-ps")]
        with self.controller("--leader-election-namespace=roundhouse", kubeconfig=self.account()) as controller:
            controller.wait_for_log("this instance works now")
            for body in [job("plain"), *goldens]:
                self.life(body)
        events = [event for event in self.api.audit_events() if event["user"]["username"] == self.ACCOUNT]
        denied = {(e["verb"], e["requestURI"]) for e in events if e["responseStatus"].get("code") == 403}
        self.assertEqual(denied, set())
        self.assertLessEqual({unused for unused in self.granted() - self.used(events) if unused[1].split("/")[0] in
                              ("pods", "services", "events", "pytorchjobs")}, self.SPARE)

    def granted(self):
        rules = json.loads(self.api.kubectl("get", "clusterrole", "roundhouse", "-o", "json").stdout)["rules"]
        return {(verb, resource) for rule in rules for verb in rule["verbs"] for resource in rule["resources"]
                if not resource.endswith("/finalizers")}

    def used(self, events):
        return {(e["verb"], "/".join(filter(None, (e["objectRef"].get("resource"), e["objectRef"].get("subresource")))))
                for e in events if "objectRef" in e}


if __name__ == "__main__":
    case.main()
