#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_flags.py ROUNDHOUSE: V1's flags, and what a controller does while its API server is not there."""
import http.server
import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request

import support

ROUNDHOUSE = sys.argv.pop(1) if len(sys.argv) > 1 else "roundhouse"

# Command line, exit status, part of the message.
REFUSED = [
    (["--enable-scheme=tensorjob"], 2, "scheme tensorjob is not supported yet"),
    (["-enable-scheme", "TFJob", "-enable-scheme=nojob"], 2, "scheme nojob is not supported yet"),
    (["--enable-scheme="], 2, "--enable-scheme is empty; name a kind"),
    (["--leader-elect=perhaps"], 2, '"perhaps" is none of true|false'),
    (["--kube-api-qps", "fast"], 2, 'kube-api-qps: "fast" is not a number'),
    (["--kube-api-qps", "-1"], 2, 'kube-api-qps: "-1" is not a number'),
    (["--kube-api-qps", "inf"], 2, '--kube-api-qps: "inf" is not a number'),
    (["--kube-api-qps", ""], 2, '--kube-api-qps: "" is not a number'),
    (["--kube-api-burst", "1.5"], 2, '--kube-api-burst: "1.5" is not a whole number from 0 to 1000000'),
    (["--controller-threads", "many"], 2, '--controller-threads: "many" is not a whole number from 1'),
    (["--controller-threads", "0"], 2, '--controller-threads: "0" is not a whole number from 1'),
    (["--webhook-server-port", "70000"], 2, 'webhook-server-port: "70000" is not a whole number from 0 to 65535'),
    (["--webhook-server-port=-1"], 2, '--webhook-server-port: "-1" is not a whole number'),
    (["--webhook-cert-dir="], 2, "--webhook-cert-dir is empty"),
    (["--webhook-service-name", "A b"], 2, '--webhook-service-name: "A b" is not a name of an object'),
    (["--webhook-secret-name", ""], 2, '--webhook-secret-name: "" is not a name of an object'),
    (["--context", "nowhere"], 2, "nowhere"),
    (["--context="], 2, "--context is empty"),
    (["--log-format", "xml"], 2, '"xml" is none of text|json'),
    (["--log-level", "loud"], 2, '"loud" is none of'),
    (["--zap-log-level", "foo"], 2, '--zap-log-level: "foo" is neither one of debug|info|error|panic nor a whole '
     'number above 0'),
    (["--zap-log-level", "0"], 2, '--zap-log-level: "0" is neither one of'),
    (["--zap-stacktrace-level", "all"], 2, '--zap-stacktrace-level: "all" is not one of info|error|panic'),
    (["--zap-time-encoding", "stardate"], 2, '--zap-time-encoding: "stardate" is not one of epoch'),
    (["--zap-devel=2"], 2, '"2" is none of true|false'),
    (["--leader-elect", "false"], 2, "too many operands"),
    (["--pytorch-init-container-image", "a b"], 2, '--pytorch-init-container-image: init-container-image: "a b" is '
     'not a reference'),
    (["--mpi-kubectl-delivery-image", ""], 2, '--mpi-kubectl-delivery-image: kubectl-delivery-image: "" is not a '
     'reference'),
    (["--pytorch-init-container-max-tries", "0"], 2, '"0" is not a whole number from 1'),
    (["--metrics-bind-address", "here"], 2, 'metrics-bind-address: "here" is not an address'),
    (["--health-probe-bind-address", "1.2.3.4.5:6"], 2, "health-probe-bind-address"),
    (["--kubeconfig", "/does/not/exist"], 2, "/does/not/exist"),
    (["--gang-scheduler-name", "No Name"], 2, "gang-scheduler-name"),
    (["--metrics-address", ":1"], 2, "unknown option --metrics-address; did you mean --metrics-bind-address?"),
    (["-metrics-bind-adress", ":1"], 2, "did you mean --metrics-bind-address?"),
    (["--zap-encoder", "xml"], 2, '"xml" is none of json|console'),
    (["--namespace", "Bad_"], 2, 'namespace: "Bad_" is not a name of a namespace'),
    (["--leader-election-id", "A_b"], 2, 'leader-election-id: "A_b" is not a name of an object'),
    (["--leader-election-namespace=a.b"], 2, 'leader-election-namespace: "a.b" is not a name of a namespace'),
    (["--pytorch-init-container-max-tries", "x"], 2, 'init-container-max-tries: "x" is not a whole number'),
    (["operand"], 2, "too many operands"),
]

# Lines of a configuration, and their message, which begins with the file.
REFUSED_INI = [
    ("[controller]\nkube-api-qps = abc", ':2: kube-api-qps: "abc" is not a number from 0 to 1000000'),
    ("[controller]\nkube-api-burst = 1.5", ':2: kube-api-burst: "1.5" is not a whole number'),
    ("[controller]\nnamespace = a.b", ':2: namespace: "a.b" is not a name of a namespace'),
    ("[controller]\nleader-elect = 1", ':2: leader-elect: "1" is neither true nor false'),
    ("[controller]\nleader-election-id =", ':2: leader-election-id: "" is not a name'),
    ("[controller]\nleader-election-namespace = A", ':2: leader-election-namespace: "A" is not a name'),
    ("[controller]\nmetrics-bind-address = 8080", ':2: metrics-bind-address: "8080" is not an address'),
    ("[controller]\nhealth-probe-bind-address = x:1", ':2: health-probe-bind-address: "x:1" is not an address'),
    ("[controller]\nwebhook-server-port = x", ':2: webhook-server-port: "x" is not a whole number'),
    ("[controller]\nwebhook-cert-dir =", ":2: webhook-cert-dir is empty"),
    ("[controller]\nwebhook-secret-name = a b", ':2: webhook-secret-name: "a b" is not a name'),
    ("[controller]\nwebhook-service-name =", ':2: webhook-service-name: "" is not a name'),
    ("[controller]\nlog-format = xml", ':2: log-format: "xml" is not one of text|json'),
    ("[controller]\ngang-scheduler = volcno", ":2: gang-scheduler: "),
    ("[controller]\ngang-scheduler-name = volcano", ':2: unknown key "gang-scheduler-name" in section [controller]; '
     'did you mean "gang-scheduler"?'),
    ("[plugin pytorch]\ninit-container-max-tries = 0",
     ':2: init-container-max-tries: "0" is not a whole number from 1'),
    ("[plugin pytorch]\ninit-container-image = A B", ':2: init-container-image: "A B" is not a reference'),
    ("[plugin pytorch]\ninit-container-images = a", 'did you mean "init-container-image"?'),
    ("[plugin pytorch]\ninit-container-template-file = no.yaml", ":2: init-container-template-file: "),
    ("[plugin mpi]\nkubectl-delivery-image =", ':2: kubectl-delivery-image: "" is not a reference'),
    ("[plugin tensorflow]\ncluster-domain = a_b", ':2: cluster-domain: "a_b" is not a domain name'),
    ("[plugin xgboost]\nx = 1",
     ':2: unknown key "x" in section [plugin xgboost]; the plugin has no settings: remove it'),
    ("[plugin pytorhc]\nx = 1", ":2: section [plugin pytorhc]: there is no plugin of that name; did you mean pytorch?"),
]

# V1's own template, with another name.
TEMPLATE = """
- name: mine
  image: {{.InitContainerImage}}
  command: ['sh', '-c', 'for i in $(seq {{.MaxTries}}); do nslookup {{.MasterAddr}}; done']
"""

KUBECONFIG = {"apiVersion": "v1", "kind": "Config", "current-context": "c",
              "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1",
                                                     "insecure-skip-tls-verify": True}}],
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
        for words, status, expected in REFUSED:
            with self.subTest(words=words):
                flags = words if "--kubeconfig" in words else ["--kubeconfig", str(self.kubeconfig), *words]
                done = subprocess.run([ROUNDHOUSE, "controller", "--metrics-bind-address=0",
                                       "--health-probe-bind-address=0", *flags], capture_output=True, text=True,
                                      timeout=180)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(expected, done.stderr)

    def test_configuration_refused(self):
        """By every command that reads it, with file, line, key, value and hint."""
        ini = self.folder / "roundhouse.ini"
        for text, expected in REFUSED_INI:
            ini.write_text(text + "\n")
            for words in (["controller", "--kubeconfig", self.kubeconfig],) if "kube-api-qps" in text else (["plugins"],
                                                                                                            ):
                with self.subTest(text=text, words=words[0]):
                    done = subprocess.run([ROUNDHOUSE, *words, "--config", ini], capture_output=True, text=True,
                                          timeout=180)
                    self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                    self.assertIn(str(ini), done.stderr)
                    self.assertIn(expected, done.stderr)
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_schemes_of_the_configuration(self):
        """Which kinds there are, the controller alone knows."""
        ini = self.folder / "roundhouse.ini"
        ini.write_text("[controller]\n\nenable-scheme = tfjob, nojob\n")
        done = subprocess.run([ROUNDHOUSE, "controller", "--kubeconfig", self.kubeconfig, "--config", ini],
                              capture_output=True, text=True, timeout=180)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"{ini}:3: enable-scheme: scheme nojob is not supported yet", done.stderr)

    def test_configuration_as_it_is_shown(self):
        """conf/roundhouse.ini shows every setting in a comment: all of them are taken as they stand there."""
        shown = (pathlib.Path(__file__).resolve().parents[2] / "conf" / "roundhouse.ini").read_text()
        setting = re.compile(r"^; (\[.*\]|[a-zA-Z0-9._/:*-]+ =.*)$", re.M)
        self.assertGreater(len(setting.findall(shown)), 40)
        # plugins are where this build has them
        text = re.sub(r"^path = .*$", "", setting.sub(r"\1", shown), flags=re.M)
        ini = self.folder / "roundhouse.ini"
        ini.write_text(text)
        (self.folder / "initContainer.yaml").write_text(TEMPLATE)
        done = subprocess.run([ROUNDHOUSE, "plugins", "--config", ini], capture_output=True, text=True, timeout=180)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_variables_refused(self):
        for variable, value, expected in (("KUBEFLOW_NAMESPACE", "A_b",
                                           '$KUBEFLOW_NAMESPACE: namespace: "A_b" is not a name'),
                                      ("CUSTOM_CLUSTER_DOMAIN", "a_b",
                                       '$CUSTOM_CLUSTER_DOMAIN: cluster-domain: "a_b" is not a domain')):
            done = subprocess.run([ROUNDHOUSE, "controller", "--kubeconfig", self.kubeconfig], capture_output=True,
                                  text=True, timeout=180, env={**os.environ, variable: value})
            self.assertEqual(done.returncode, 2)
            self.assertIn(expected, done.stderr)

    def test_template_file(self):
        """One that is there and wrong is refused; one that is not there is V1's default, as in V1."""
        file = self.folder / "initContainer.yaml"
        for text, expected in ((TEMPLATE.replace("MaxTries", "Tries"),
                                '"{{.Tries}}); do nslookup {{.MasterAddr}}; done\']" is not understood; there are'),
                           ("name: x", "no list of containers")):
            file.write_text(text)
            done = subprocess.run([ROUNDHOUSE, "controller", "--kubeconfig", self.kubeconfig,
                                   "--pytorch-init-container-template-file", file], capture_output=True, text=True,
                                  timeout=180)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f'--pytorch-init-container-template-file: init-container-template-file: "{file}": ',
                          done.stderr)
            self.assertIn(expected, done.stderr)
        file.write_text(TEMPLATE)
        controller = self.controller("--leader-elect=false", "--pytorch-init-container-template-file", file)
        self.assertNotIn("template-file", controller.text())
        controller.stop()

    def test_help(self):
        for flag in ("--help", "-help", "-h"):
            done = subprocess.run([ROUNDHOUSE, "controller", flag], capture_output=True, text=True, timeout=180)
            self.assertEqual(done.returncode, 0)
            self.assertIn("--leader-election-id", done.stdout)

    def test_v1_flags(self):
        controller = self.controller(*V1_FLAGS)
        state = controller.state()
        self.assertEqual(state["kinds"], ["PyTorchJob", "TFJob"])
        self.assertEqual((state["namespace"], state["state"]), ("team", "working"))
        for spent in ("controller-threads", "zap-time-encoding"):
            self.assertIn(f"--{spent} has no effect", controller.text())
        self.assertIn('--pytorch-init-container-template-file: "/etc/config/initContainer.yaml" cannot be read: No '
                      'such file or '
                      'directory; the built-in container is used', controller.text())
        controller.stop()

    def test_manager(self):
        link = self.folder / "manager"
        link.symlink_to(os.path.realpath(ROUNDHOUSE))
        done = subprocess.run([str(link), "-enable-scheme=nojob", "--kubeconfig", str(self.kubeconfig)],
                              capture_output=True, text=True, timeout=180)
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
        controller = self.controller("--config", ini, "--namespace", "from-flag",
                                     environment={"KUBEFLOW_NAMESPACE": "x"})
        self.assertEqual(controller.state()["namespace"], "from-flag")
        controller.stop()

    def test_namespace_variable(self):
        controller = self.controller("--leader-elect=false", environment={"KUBEFLOW_NAMESPACE": "from-variable"})
        self.assertEqual(controller.state()["namespace"], "from-variable")
        controller.stop()

    def test_server_is_not_there(self):
        controller = self.controller("--leader-elect=false")
        controller.wait_for_log("cannot list")
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

    def test_server_without_tls(self):
        """An address that says https:// where nobody speaks TLS: file, field and hint."""
        class Silent(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                """Not a word."""

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silent)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        cluster = {"server": f"https://127.0.0.1:{server.server_port}", "insecure-skip-tls-verify": True}
        self.kubeconfig.write_text(json.dumps({**KUBECONFIG, "clusters": [{"name": "c", "cluster": cluster}]}))
        controller = self.controller("--leader-elect=false")
        controller.wait_for_log(f"the server does not speak TLS, and {self.kubeconfig}: clusters[0].cluster.server "
                                "begins with https://; write")
        controller.stop()

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            controller = self.controller()
            controller.process.send_signal(number)
            self.assertEqual(controller.wait(), 0)
            self.assertIn("ending", controller.text())

    def certificate(self, name):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                        self.folder / "certs/tls.key.new", "-out", self.folder / "certs/tls.crt"], check=True,
                       capture_output=True)
        (self.folder / "certs/tls.key.new").rename(self.folder / "certs/tls.key")

    def review(self, port, body):
        context = ssl.create_default_context(cafile=self.folder / "certs/tls.crt")
        request = urllib.request.Request(f"https://127.0.0.1:{port}/validate-kubeflow-org-v1-pytorchjob",
                                         json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.build_opener(urllib.request.HTTPSHandler(context=context),
                                         urllib.request.ProxyHandler({})).open(request, timeout=180) as answer:
            return json.load(answer)["response"]

    def test_webhook(self):
        """The folder is there, its files come later, as a Secret that is filled."""
        (self.folder / "certs").mkdir()
        port = support.apiserver.free_ports(1)[0]
        controller = self.controller("--leader-elect=false", "--webhook-cert-dir", self.folder / "certs",
                                     f"--webhook-server-port={port}")
        controller.wait_for_log("waiting for tls.crt")
        self.certificate("webhook")
        controller.wait_for_log("webhooks: served")
        job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "Bad"}, "spec": {}}
        answer = self.review(port, {"request": {"uid": "u", "operation": "CREATE", "object": job}})
        self.assertEqual((answer["uid"], answer["allowed"], answer["status"]["code"]), ("u", False, 403))
        self.assertIn("metadata.name: Invalid value", answer["status"]["message"])
        controller.stop()


if __name__ == "__main__":
    unittest.main()
