#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_servers.py ROUNDHOUSE: the servers for health, metrics and webhooks under clients of all kinds; there is no API
server."""
import contextlib
import json
import pathlib
import resource
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

import support
from support import apiserver, wait_for

ROUNDHOUSE = sys.argv.pop(1) if len(sys.argv) > 1 else "roundhouse"
ATTACK = pathlib.Path(__file__).with_name("attack.py")
KUBECONFIG = {"apiVersion": "v1", "kind": "Config", "current-context": "x",
              "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
              "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
              "users": [{"name": "u", "user": {}}]}
REVIEW = json.dumps({"request": {"uid": "u", "operation": "CREATE", "object": {
    "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "Bad"}, "spec": {}}}})
HOOK = "/validate-kubeflow-org-v1-pytorchjob"


class Servers(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.kubeconfig = self.folder / "kubeconfig"
        self.kubeconfig.write_text(json.dumps(KUBECONFIG))
        self.certs = self.folder / "certs"
        self.certs.mkdir()
        self.port = apiserver.free_ports(1)[0]

    def controller(self, *flags, descriptors=None):
        """One that runs, and answers."""
        controller = support.Controller(ROUNDHOUSE, self.kubeconfig, self.folder, "--leader-elect=false",
                                        "--webhook-server-port", self.port, *flags)
        if descriptors:
            controller.command = ["prlimit", f"--nofile={descriptors}:{descriptors}", *controller.command]
        controller.start()
        self.addCleanup(controller.kill)
        wait_for("healthz", lambda: controller.get("/healthz")[0] == 200 or controller.assert_alive())
        return controller

    @contextlib.contextmanager
    def attack(self, count, *ports, rounds=1):
        """Until the block ends, and 300 s at most. The first round has begun."""
        with subprocess.Popen([sys.executable, "-B", ATTACK, str(count), str(rounds), "300", *map(str, ports)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              preexec_fn=apiserver.die_with_parent) as process:
            try:
                self.assertEqual(process.stdout.readline(), "1\n")
                yield process
                if not process.stdin.closed:
                    self.assertIsNone(process.poll(), "the attack was over too soon")
            finally:
                process.stdin.close()
                process.wait()

    def assert_answers(self, controller):
        self.assertEqual(controller.get("/healthz"), (200, "ok"))
        self.assertEqual(controller.get("/readyz")[0], 500)
        self.assertEqual(controller.get("/metrics", controller.metrics_port)[0], 200)

    def test_slow_clients(self):
        """Who feeds requests byte by byte, or sends nothing, keeps nobody from health and metrics."""
        controller = self.controller()
        with self.attack(300, controller.health_port, controller.metrics_port):
            for _ in range(20):
                self.assert_answers(controller)
        self.assert_answers(controller)
        controller.stop()

    def test_slow_clients_that_go(self):
        """300 half requests that are closed together, and the listener goes on."""
        controller = self.controller()
        for _ in range(5):
            clients = [socket.create_connection(("127.0.0.1", controller.health_port)) for _ in range(300)]
            for one in clients:
                with contextlib.suppress(OSError):
                    one.send(b"GET /readyz HT")
            for one in clients:
                one.close()
            self.assert_answers(controller)
        controller.stop()

    def test_many_clients(self):
        """2,000 at a time, 50 times; each question is answered while they are at it."""
        controller = self.controller()
        rounds = 50
        with self.attack(2000, controller.health_port, rounds=rounds) as attack:
            for number in range(1, rounds + 1):
                for _ in range(3):
                    self.assertEqual(controller.get("/healthz"), (200, "ok"), number)
                if number < rounds:
                    attack.stdin.write("\n")
                    attack.stdin.flush()
                    self.assertEqual(controller.get("/healthz"), (200, "ok"), number)
                    self.assertEqual(attack.stdout.readline(), f"{number + 1}\n")
        controller.stop()

    def test_few_descriptors(self):
        """With 256 descriptors enough are left for the controller's own connections."""
        controller = self.controller(descriptors=256)
        with self.attack(600, controller.health_port, controller.metrics_port):
            self.assert_answers(controller)
            self.assertLess(len(list(pathlib.Path(f"/proc/{controller.process.pid}/fd").iterdir())), 256 - 32)
        controller.stop()

    def test_no_descriptors(self):
        """When there are none left, who waits is answered as soon as there is one."""
        controller = self.controller()
        with self.attack(300, controller.health_port) as attack:
            open_now = len(list(pathlib.Path(f"/proc/{controller.process.pid}/fd").iterdir()))
            resource.prlimit(controller.process.pid, resource.RLIMIT_NOFILE, (open_now, open_now))
            attack.stdin.close()
            attack.wait()
            self.assertEqual(controller.get("/healthz"), (200, "ok"))
            resource.prlimit(controller.process.pid, resource.RLIMIT_NOFILE, (8, open_now))
            with self.subTest("none at all"):
                waiting = socket.create_connection(("127.0.0.1", controller.health_port))
                waiting.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
                resource.prlimit(controller.process.pid, resource.RLIMIT_NOFILE, (open_now, open_now))
                self.assertTrue(waiting.recv(4096).startswith(b"HTTP/1"))
                waiting.close()
        controller.stop()

    def make_certificate(self, name):
        """-> (certificate, key), PEM"""
        run = apiserver.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                            "-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                            self.folder / "made.key", "-out", self.folder / "made.crt")
        self.assertEqual(run.returncode, 0)
        return (self.folder / "made.crt").read_text(), (self.folder / "made.key").read_text()

    def put(self, name, text):
        (self.certs / f"{name}.new").write_text(text)
        (self.certs / f"{name}.new").rename(self.certs / name)

    def shown(self):
        """-> the certificate that the server shows now, PEM; None: nobody listens"""
        context = ssl._create_unverified_context()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=180) as plain, \
                context.wrap_socket(plain) as tls:
            return ssl.DER_cert_to_PEM_cert(tls.getpeercert(binary_form=True))
        return None

    def served(self, *flags):
        """A controller with a certificate, and its two texts."""
        certificate, key = self.make_certificate("first")
        self.put("tls.crt", certificate)
        self.put("tls.key", key)
        controller = self.controller("--webhook-cert-dir", self.certs, *flags)
        controller.wait_for_log("webhooks: served")
        return controller, certificate, key

    def ask(self, context):
        """One call of the webhook on a connection of its own. -> its status line"""
        with socket.create_connection(("127.0.0.1", self.port),
                                      timeout=180) as plain, context.wrap_socket(plain) as tls:
            tls.sendall(f"POST {HOOK} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(REVIEW)}\r\n"
                        f"\r\n{REVIEW}".encode())
            return tls.recv(4096).split(b"\r\n")[0]

    def test_certificate_is_exchanged(self):
        """A new pair comes file by file while calls are made; none is refused, and no half pair is taken."""
        controller, certificate, _ = self.served()
        self.assertEqual(self.shown(), certificate)
        failed, answered, over = [], [0], threading.Event()

        def call():
            context = ssl._create_unverified_context()
            while not over.is_set():
                try:
                    answer = self.ask(context)
                    answered[0] += 1
                    if answer != b"HTTP/1.1 200 OK":
                        failed.append(answer)
                except OSError as error:
                    failed.append(error)

        threads = [threading.Thread(target=call) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            renewed, key = self.make_certificate("second")
            self.put("tls.crt", renewed)
            controller.wait_for_log("the former pair is kept")
            self.assertEqual(self.shown(), certificate)
            self.put("tls.key", key)
            wait_for("the new one", lambda: self.shown() == renewed)
        finally:
            over.set()
            for thread in threads:
                thread.join()
        self.assertEqual(failed, [])
        self.assertGreater(answered[0], 10)
        controller.stop()

    def test_port_is_taken(self):
        """The port of the webhooks is another's at the start; it is tried again, and /readyz and the state say so."""
        with socket.create_server(("", self.port), family=socket.AF_INET6, dualstack_ipv6=True):
            certificate, key = self.make_certificate("first")
            self.put("tls.crt", certificate)
            self.put("tls.key", key)
            controller = self.controller("--webhook-cert-dir", self.certs)
            controller.wait_for_log("webhooks: not served: cannot listen at")
            self.assertIn("in use; the next try is in 1 s", controller.text())
            self.assertEqual(controller.get("/readyz")[0], 500)
            self.assertIn("in use", controller.state()["webhooks"]["problem"])
        controller.wait_for_log("webhooks: served")
        self.assertEqual(controller.state()["webhooks"], {"served": True})
        controller.stop()

    def connects(self, *options):
        """Whether openssl agrees with the server on this."""
        done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{self.port}", *options],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180)
        return "Cipher is (NONE)" not in done.stdout and done.returncode == 0

    def test_tls(self):
        """TLS 1.3, or 1.2 with forward secrecy and authenticated encryption; with keys of both kinds."""
        controller, _, _ = self.served()
        apiserver.run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=rsa",
                      "-keyout", self.folder / "rsa.key", "-out", self.folder / "rsa.crt")
        self.check_tls("ECDSA")
        rsa = (self.folder / "rsa.crt").read_text()
        self.put("tls.crt", rsa)
        self.put("tls.key", (self.folder / "rsa.key").read_text())
        wait_for("the new one", lambda: self.shown() == rsa)
        self.check_tls("RSA")
        controller.stop()

    def check_tls(self, kind):
        old = "@SECLEVEL=0"
        self.assertTrue(self.connects("-tls1_3"))
        for cipher in (f"ECDHE-{kind}-AES128-GCM-SHA256", f"ECDHE-{kind}-AES256-GCM-SHA384",
                       f"ECDHE-{kind}-CHACHA20-POLY1305"):
            self.assertTrue(self.connects("-tls1_2", "-cipher", cipher), cipher)
        for cipher in (f"ECDHE-{kind}-AES128-SHA256", f"ECDHE-{kind}-AES256-SHA", "AES128-GCM-SHA256", "AES256-SHA",
                       "kRSA", "DHE-RSA-AES128-SHA"):
            self.assertFalse(self.connects("-tls1_2", "-cipher", cipher + old), cipher)
        for version in ("-tls1_1", "-tls1"):
            self.assertFalse(self.connects(version, "-cipher", "ALL" + old), version)

    def host_gets(self, controller, host):
        """-> the status of /debug/state for this Host"""
        with socket.create_connection(("127.0.0.1", controller.health_port), timeout=180) as one:
            one.sendall(f"GET /debug/state HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            return int(one.recv(4096).split()[1])

    def test_host(self):
        """A page of the web whose name leads to this machine cannot read the state."""
        controller = self.controller()
        for host in ("localhost", "localhost:9999", "127.0.0.1:8081", "[::1]:1", "LOCALHOST"):
            self.assertEqual(self.host_gets(controller, host), 200, host)
        for host in ("evil.example", "localhost.evil.example:8081", "127.0.0.1.evil.example", "", "10.0.0.1"):
            self.assertEqual(self.host_gets(controller, host), 403, host)
        controller.stop()

    def test_token_file(self):
        """A token file that others can write is reported."""
        token = self.folder / "token"
        token.write_text("abc")
        self.kubeconfig.write_text(json.dumps({**KUBECONFIG,
                                               "users": [{"name": "u", "user": {"tokenFile": str(token)}}]}))
        for mode, expected in ((0o600, None), (0o644, None), (0o620, "its group"), (0o666, "everybody")):
            token.chmod(mode)
            controller = self.controller()
            line = f'users[0].user: token file "{token}" can be written by {expected or ""}'
            self.assertEqual(controller.text().count(line), 1 if expected else 0, controller.text())
            controller.stop()
            controller.log.unlink()

    def sockets(self, controller):
        """-> how many sockets of the controller listen"""
        inodes = set()
        for link in pathlib.Path(f"/proc/{controller.process.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed since
                inodes.add(link.readlink().name)
        rows = [line.split() for table in ("tcp", "tcp6")
                for line in pathlib.Path(f"/proc/{controller.process.pid}/net/{table}").read_text().splitlines()[1:]]
        return sum(row[3] == "0A" and f"socket:[{row[9]}]" in inodes for row in rows)

    def test_nowhere(self):
        """Port 0 is nowhere, for each of the three, in each form."""
        for name in ("crt", "key"):
            self.put(f"tls.{name}", self.make_certificate("first")[name == "key"])
        controller = self.controller("--webhook-cert-dir", self.certs, "--webhook-server-port=0",
                                     "--metrics-bind-address=0")
        self.assertEqual(self.sockets(controller), 1)
        self.assertNotIn("webhooks", controller.state())
        controller.stop()
        for address in ("0", ":0", "127.0.0.1:0", "[::]:0"):
            controller = support.Controller(ROUNDHOUSE, self.kubeconfig, self.folder, "--leader-elect=false",
                                            "--webhook-server-port=0", f"--metrics-bind-address={address}",
                                            f"--health-probe-bind-address={address}", name=f"nowhere-{address}")
            controller.start()
            self.addCleanup(controller.kill)
            controller.wait_for_log("controller of")
            self.assertEqual(self.sockets(controller), 0, address)
            controller.stop()


if __name__ == "__main__":
    unittest.main()
