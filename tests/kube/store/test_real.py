# SPDX-License-Identifier: Apache-2.0
"""test_real.py FOLDER SOURCE: the store over a real kube-apiserver, also one that is killed, and one behind a
connection that breaks at random bytes."""
import json
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import unittest

PROGRAMS, SOURCE = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
sys.path.insert(0, str(SOURCE / "tests" / "cluster"))
import apiserver  # noqa: E402

PATIENCE_S = 120
PODS = "/api/v1/namespaces/default/pods"


def pod(name):
    return {"metadata": {"name": name, "labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


class Relay:
    """One connection through the proxy. Its sockets are closed by the last thread that uses them."""

    def __init__(self, near, far, budget):
        self.sockets, self.left, self.users, self.lock = (near, far), budget, 2, threading.Lock()
        for source, sink in ((near, far), (far, near)):
            threading.Thread(target=self.run, args=(source, sink, source is far), daemon=True).start()

    def run(self, source, sink, answers):
        try:
            while data := source.recv(65536):
                sink.sendall(data[: self.left] if answers and self.left is not None else data)
                if answers and self.left is not None:
                    self.left -= min(self.left, len(data))
                    if not self.left:
                        break
        except OSError:
            pass
        with self.lock:
            self.users -= 1
            self.shut()
            if not self.users:
                for one in self.sockets:
                    one.close()

    def shut(self):
        for one in self.sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        with self.lock:
            if self.users:
                self.shut()


class Proxy:
    """Between the follower and the server. budget() says after how many bytes a connection breaks; None: never."""

    def __init__(self, port):
        self.target, self.budget, self.closed, self.relays = port, None, False, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        with self.listener:
            while True:
                try:
                    near, _ = self.listener.accept()
                except OSError:
                    return
                self.take(near)

    def take(self, near):
        try:
            if self.closed:
                raise ConnectionError
            far = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            near.close()
            return
        self.relays.append(Relay(near, far, self.budget() if self.budget else None))

    def cut(self):
        while self.relays:
            self.relays.pop().cut()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.cut()


class Follower:
    """The program that follows the pods, and its output so far."""

    def __init__(self, kubeconfig, *words):
        environment = {**api.environment(), "KUBECONFIG": str(kubeconfig)}
        self.process = subprocess.Popen([str(PROGRAMS / "kube_follow"), *words], stdout=subprocess.PIPE, text=True,
                                        env=environment, preexec_fn=apiserver.die_with_parent)
        self.pods, self.synced, self.problems, self.calls, self.wrong = {}, 0, [], [], []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.take(*line.rstrip("\n").split(" ", 3))

    def take(self, what, name="", uid="", version=""):
        if what == "SYNCED":
            self.synced += 1
        elif what == "CALL":
            self.calls.append((name, version))
        elif what == "PROBLEM":
            self.problems.append((name, uid, version))
        else:
            known = self.pods.get(name)
            if (known is None) != (what == "ADDED") or (known and known[0] != uid):
                self.wrong.append(f"{what} {name} {uid} after {known}")
            if what == "DELETED":
                self.pods.pop(name, None)
            else:
                self.pods[name] = (uid, version)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def server_pods():
    items = json.loads(api.get(PODS + "?labelSelector=app"))["items"]
    return {item["metadata"]["name"]: (item["metadata"]["uid"], item["metadata"]["resourceVersion"]) for item in items}


def change(generator, count):
    """Random changes of twenty pods."""
    for _ in range(count):
        name = f"p{generator.randrange(20)}"
        status, _ = api.request("POST", PODS, json.dumps(pod(name)))
        if status == 409 and generator.random() < 0.5:
            api.request("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
        elif status == 409:
            api.request(
                "PATCH", f"{PODS}/{name}", json.dumps({"metadata": {"annotations": {"n": str(generator.random())}}}),
                        "application/merge-patch+json")


class StoreReal(unittest.TestCase):
    def setUp(self):
        api.request("DELETE", PODS + "?gracePeriodSeconds=0")
        self.proxy = Proxy(api.port)
        self.addCleanup(self.proxy.close)
        self.generator = random.Random(7)

    def follow(self, *words):
        config = json.loads(api.kubeconfig.read_text())
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{self.proxy.port}"
        path = api.folder / "proxy.kubeconfig"
        path.write_text(json.dumps(config))
        follower = Follower(path, *words)
        self.addCleanup(follower.stop)
        return follower

    def assert_agrees(self, follower):
        apiserver.wait_for("the follower has what the server has", lambda: follower.pods == server_pods())
        self.assertEqual(follower.wrong, [])
        self.assertEqual(follower.synced, 1)
        self.assertIsNone(follower.process.poll())

    def test_conformance(self):
        done = subprocess.run([str(PROGRAMS / "kube_store_real")], env=api.environment(), capture_output=True,
                              text=True, timeout=10 * PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_follows(self):
        change(self.generator, 30)
        follower = self.follow()
        change(self.generator, 60)
        self.assert_agrees(follower)
        self.assertEqual(follower.problems, [])

    def test_long_lists(self):
        # four pages of 500 are read as pages, and what is longer is streamed where the server can
        for index in range(2010):
            api.request("POST", PODS, json.dumps(pod(f"many-{index}")))
        for words, calls in ((), ["list"] * 4), (("pages",), ["list"] * 5):
            follower = self.follow(*words)
            self.assert_agrees(follower)
            self.assertEqual([verb for verb, _ in follower.calls], calls)

    def test_connections_that_break_anywhere(self):
        budgets = random.Random(8)
        change(self.generator, 40)
        follower = self.follow()
        apiserver.wait_for("first list", lambda: follower.synced)
        self.proxy.budget = lambda: budgets.randrange(40000)
        for _ in range(30):
            change(self.generator, 8)
            self.proxy.cut()
        self.proxy.budget = None
        self.proxy.cut()
        self.assert_agrees(follower)

    def test_server_that_is_killed(self):
        change(self.generator, 40)
        follower = self.follow()
        apiserver.wait_for("first list", lambda: follower.synced)
        for _ in range(2):
            api.stop("kube-apiserver", signal.SIGKILL)
            apiserver.wait_for("the problem is reported",
                               lambda: follower.problems and follower.problems[-1][2] != "200 ")
            api.start("kube-apiserver")
            change(self.generator, 20)
            self.assert_agrees(follower)
            apiserver.wait_for("the end of the problem is reported", lambda: follower.problems[-1][2].startswith("200"))

    def test_versions_that_the_server_has_forgotten(self):
        change(self.generator, 40)
        follower = self.follow()
        apiserver.wait_for("first list", lambda: follower.synced)
        self.proxy.closed = True
        self.proxy.cut()
        change(self.generator, 60)
        api.restart("kube-apiserver")
        self.proxy.closed = False
        self.assert_agrees(follower)


if __name__ == "__main__":
    apiserver.skip_without_assets()
    with apiserver.ApiServer() as api:
        api.kubectl("create", "namespace", "other")
        del sys.argv[1:]
        result = unittest.main(exit=False, verbosity=2).result
    sys.exit(not result.wasSuccessful())
