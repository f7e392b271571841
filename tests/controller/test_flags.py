#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_flags.py ROUNDHOUSE: V1's flags, and what a controller does while its API server is not there."""
import json
import os
import pathlib
import signal
import ssl
import subprocess
import sys
import tempfile
import unittest
import urllib.request

import support

ROUNDHOUSE = sys.argv.pop(1) if len(sys.argv) > 1 else "roundhouse"

# Command line, exit status, part of what is said.
REFUSED = [
    (["--enable-scheme=tensorjob"], 2, "scheme tensorjob is not supported yet"),
    (["-enable-scheme", "TFJob", "-enable-scheme=nojob"], 2, "scheme nojob is not supported yet"),
    (["--leader-elect=perhaps"], 2, '"perhaps" is none of true|false'),
    (["--kube-api-qps", "fast"], 2, 'kube-api-qps: "fast" is no number'),
    (["--kube-api-qps", "-1"], 2, 'kube-api-qps: "-1" is no number'),
    (["--webhook-server-port", "70000"], 2, 'webhook-server-port: "70000" is no number from 0 to 65535'),
    (["--metrics-bind-address", "here"], 2, 'metrics-bind-address: "here" is no address'),
    (["--health-probe-bind-address", "1.2.3.4.5:6"], 2, "health-probe-bind-address"),
    (["--kubeconfig", "/does/not/exist"], 2, "/does/not/exist"),
    (["--gang-scheduler-name", "No Name"], 2, "gang-scheduler-name"),
    (["--metrics-address", ":1"], 2, "unknown option --metrics-address; did you mean --metrics-bind-address?"),
    (["-metrics-bind-adress", ":1"], 2, "did you mean --metrics-bind-address?"),
    (["--zap-encoder", "xml"], 2, '"xml" is none of json|console'),
    (["--namespace", "Bad_"], 2, 'namespace: "Bad_" is no name of a namespace'),
    (["--leader-election-id", "A_b"], 2, 'leader-election-id: "A_b" is no name of a Lease'),
    (["--leader-election-namespace=a.b"], 2, 'leader-election-namespace: "a.b" is no name of a namespace'),
    (["--pytorch-init-container-max-tries", "x"], 2, 'pytorch-init-container-max-tries: "x" is no number'),
    (["operand"], 2, "too many operands"),
]

KUBECONFIG = {"apiVersion": "v1", "kind": "Config", "current-context": "c",
              "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1", "insecure-skip-tls-verify": True}}],
              "users": [{"name": "u", "user": {"token": "t"}}],
              "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "own"}}]}

# Every flag of V1, as an existing Deployment may have it.
V1_FLAGS = ["-controller-threads=4", "--pytorch-init-container-template-file", "/etc/config/initContainer.yaml",
            "-pytorch-init-container-image=busybox:1", "--pytorch-init-container-max-tries=5",
            "-mpi-kubectl-delivery-image", "kubectl:1", "--webhook-service-name=training-operator",
            "--webhook-secret-name", "cert", "--webhook-server-port=0", "-zap-devel=false", "--zap-encoder=console",
            "-zap-log-level=2", "--zap-stacktrace-level", "panic", "--zap-time-encoding=iso8601", "--kube-api-qps=30",
            "-kube-api-burst=60", "--leader-elect=F", "--leader-election-id", "mine", "-namespace=team",
            "--enable-scheme=tfjob", "--enable-scheme=PyTorchJob", "--gang-scheduler-name=volcano"]


class Flags(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.kubeconfig = self.folder / "kubeconfig"
        self.kubeconfig.write_text(json.dumps(KUBECONFIG))

    def controller(self, *flags, environment=None):
        controller = support.Controller(ROUNDHOUSE, self.kubeconfig, self.folder, *flags, environment=environment)
        controller.start()
        self.addCleanup(controller.kill)
        support.wait_for("alive", lambda: controller.get("/healthz") == (200, "ok") or controller.assert_alive())
        return controller

    def test_refused(self):
        for words, status, said in REFUSED:
            with self.subTest(words=words):
                flags = words if "--kubeconfig" in words else ["--kubeconfig", str(self.kubeconfig), *words]
                done = subprocess.run([ROUNDHOUSE, "controller", "--metrics-bind-address=0", "--health-probe-bind-address=0",
                                       *flags], capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(said, done.stderr)

    def test_help(self):
        for flag in ("--help", "-help", "-h"):
            done = subprocess.run([ROUNDHOUSE, "controller", flag], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0)
            self.assertIn("--leader-election-id", done.stdout)

    def test_v1_flags(self):
        controller = self.controller(*V1_FLAGS)
        state = controller.state()
        self.assertEqual(state["kinds"], ["PyTorchJob", "TFJob"])
        self.assertEqual((state["namespace"], state["state"]), ("team", "working"))
        for spent in ("controller-threads", "pytorch-init-container-template-file", "zap-time-encoding"):
            self.assertIn(f"--{spent} has no effect", controller.text())
        controller.stop()

    def test_manager(self):
        link = self.folder / "manager"
        link.symlink_to(os.path.realpath(ROUNDHOUSE))
        done = subprocess.run([str(link), "-enable-scheme=nojob", "--kubeconfig", str(self.kubeconfig)], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("scheme nojob is not supported yet", done.stderr)

    def test_configuration(self):
        ini = self.folder / "roundhouse.ini"
        ini.write_text("[controller]\nnamespace = from-file\nenable-scheme = mpijob, tfjob\nleader-elect = false\n"
                       "log-format = json\nkube-api-qps = 5\n")
        controller = self.controller("--config", ini)
        self.assertEqual(controller.state()["namespace"], "from-file")
        self.assertEqual(controller.state()["kinds"], ["MPIJob", "TFJob"])
        self.assertTrue(all(line.startswith("{") for line in controller.text().splitlines()), controller.text())
        controller.stop()
        controller = self.controller("--config", ini, "--namespace", "from-flag", environment={"KUBEFLOW_NAMESPACE": "x"})
        self.assertEqual(controller.state()["namespace"], "from-flag")
        controller.stop()

    def test_namespace_variable(self):
        controller = self.controller("--leader-elect=false", environment={"KUBEFLOW_NAMESPACE": "from-variable"})
        self.assertEqual(controller.state()["namespace"], "from-variable")
        controller.stop()

    def test_server_is_not_there(self):
        controller = self.controller("--leader-elect=false")
        controller.wait_said("cannot list")
        self.assertEqual(controller.get("/readyz")[0], 500)
        self.assertEqual(controller.get("/readyz")[1], "[-]readyz failed: reason withheld\nreadyz check failed\n")
        state = controller.state()
        self.assertFalse(state["ready"])
        self.assertTrue(all(problem["status"] == 0 for problem in state["problems"]))
        metrics = controller.metrics()
        self.assertEqual(metrics['roundhouse_build_info{version="%s"}' % state["version"]], 1)
        self.assertGreater(metrics["process_resident_memory_bytes"], 1e6)
        self.assertEqual(controller.get("/nothing")[0], 404)
        self.assertEqual(controller.get("/metrics")[0], 404)
        controller.stop()

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            controller = self.controller()
            controller.process.send_signal(number)
            self.assertEqual(controller.wait(), 0)
            self.assertIn("ending", controller.text())

    def certificate(self, name):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                        "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.folder / "certs/tls.key.new",
                        "-out", self.folder / "certs/tls.crt"], check=True, capture_output=True)
        (self.folder / "certs/tls.key.new").rename(self.folder / "certs/tls.key")

    def review(self, port, body):
        context = ssl.create_default_context(cafile=self.folder / "certs/tls.crt")
        request = urllib.request.Request(f"https://127.0.0.1:{port}/validate-kubeflow-org-v1-pytorchjob",
                                         json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.build_opener(urllib.request.HTTPSHandler(context=context),
                                         urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
            return json.load(answer)["response"]

    def test_webhook(self):
        """The folder is there, its files come later, as a Secret that is filled."""
        (self.folder / "certs").mkdir()
        port = support.apiserver.free_ports(1)[0]
        controller = self.controller("--leader-elect=false", "--webhook-cert-dir", self.folder / "certs",
                                     f"--webhook-server-port={port}")
        controller.wait_said("waiting for tls.crt")
        self.certificate("webhook")
        controller.wait_said("webhooks: served")
        job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "Bad"}, "spec": {}}
        answer = self.review(port, {"request": {"uid": "u", "operation": "CREATE", "object": job}})
        self.assertEqual((answer["uid"], answer["allowed"], answer["status"]["code"]), ("u", False, 403))
        self.assertIn("metadata.name: Invalid value", answer["status"]["message"])
        controller.stop()


if __name__ == "__main__":
    unittest.main()
