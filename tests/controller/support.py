# SPDX-License-Identifier: Apache-2.0
"""A controller as a process, for tests."""
import http.client
import json
import os
import pathlib
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "cluster"), str(TESTS)]
import apiserver  # noqa: E402
import v1_module  # noqa: E402, F401 (for those who import this)
from waits import PATIENCE_S, wait_for  # noqa: E402, F401 (likewise)


class Controller:
    """`roundhouse controller`, from start() or `with` on. Attributes: metrics_port, health_port, log (a path).

    A test of something else than elections starts it with --leader-elect=false: a process that gets no processor for
    ten seconds loses its Lease, and ends, as V1's does; nothing here starts it again as a kubelet would."""

    def __init__(self, roundhouse, kubeconfig, folder, *flags, environment=None, name="controller"):
        self.metrics_port, self.health_port = apiserver.free_ports(2)
        self.log = pathlib.Path(folder) / f"{name}.log"
        self.command = [str(roundhouse), "controller", "--kubeconfig", str(kubeconfig),
                        "--metrics-bind-address", f"127.0.0.1:{self.metrics_port}",
                        "--health-probe-bind-address", f"127.0.0.1:{self.health_port}",
                        "--webhook-cert-dir", str(pathlib.Path(folder) / "no-certificate"), *map(str, flags)]
        kept = {key: value for key, value in os.environ.items()
                if not key.startswith(("ROUNDHOUSE_", "KUBE")) and "proxy" not in key.lower()}
        self.environment = {**kept, **(environment or {})}
        self.process = None

    def __enter__(self):
        self.start()
        try:
            self.wait_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, kind, *_):
        if kind:
            print(f"--- {self.log.name}\n{self.text()[-4000:]}", file=sys.stderr)
            self.kill()
        else:
            self.stop()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=self.environment, preexec_fn=apiserver.die_with_parent)

    def stop(self):
        """SIGTERM, and it must end well."""
        self.process.terminate()
        code = self.wait()
        if code != 0:
            raise AssertionError(f"the controller ended with {code}:\n{self.text()[-4000:]}")

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def wait(self):
        return self.process.wait(PATIENCE_S)

    def text(self):
        return self.log.read_text(errors="replace")

    def wait_for_log(self, words):
        wait_for(f"log line with {words!r}", lambda: words in self.text() or self.assert_alive())

    def assert_alive(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the controller ended with {self.process.returncode}:\n{self.text()[-4000:]}")

    def wait_ready(self):
        wait_for("ready", lambda: self.get("/readyz")[0] == 200 or self.assert_alive())

    def get(self, path, port=None):
        """-> (status, text); status 0 when nobody listens."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.health_port, timeout=PATIENCE_S)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, ""
        finally:
            connection.close()

    def state(self):
        status, text = self.get("/debug/state")
        assert status == 200, (status, text)
        return json.loads(text)

    def is_idle(self, synced=False):
        """-> whether everything is decided and sent; synced: and read, which it is not where a right is missing. False
        while nobody answers"""
        status, text = self.get("/debug/state")
        if status != http.client.OK:
            return False
        engine, store = (json.loads(text)[part] for part in ("engine", "store"))
        return not (engine["due"] or engine["requests"] or store["waiting"] or store["inFlight"]
                    or (synced and engine["watchesNotSynced"]))

    def wait_idle(self, synced=False):
        wait_for("idle", lambda: self.is_idle(synced) or self.assert_alive())

    def metrics(self):
        """-> {name with labels: value}"""
        status, text = self.get("/metrics", self.metrics_port)
        assert status == 200, (status, text)
        rows = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        return {name: float(value) for name, value in rows}
