# SPDX-License-Identifier: Apache-2.0
"""A real etcd and kube-apiserver for tests, on free ports of loopback, with a folder of their own.

    with apiserver.ApiServer() as api:
        api.kubectl("apply", "-f", "-", text=manifest)

Nothing outlives the test: daemons are stopped by their process id on the way out, and die with a test that is killed.
The programs come from $KUBEBUILDER_ASSETS, or from the cache that assets.py fills.
"""
import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import re
import secrets
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ports import free_port  # noqa: E402
from waits import wait_for  # noqa: E402

PROGRAMS = ("etcd", "kube-apiserver", "kubectl")
SKIPPED = 77
# Generous: the machine may be busy with other tests.
PATIENCE_S = 120
# How far the heap of a server grows before it is collected, in percent: it lives for a minute, and here memory is
# cheaper than a processor.
GOGC = "400"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(os.environ.get("K8S_ROOT") or os.path.join(base, "roundhouse-cluster"))


def assets():
    """-> the folder with the programs, or None."""
    chosen = os.environ.get("KUBEBUILDER_ASSETS")
    folder = pathlib.Path(chosen) if chosen else cache() / "bin"
    return folder if all(os.access(folder / name, os.X_OK) for name in PROGRAMS) else None


def skip(why):
    """Ends the test as skipped; ./check repeats the reason, of one line."""
    print("SKIPPED:", " | ".join(str(why).strip().splitlines()), flush=True)
    sys.exit(SKIPPED)


def skip_without_assets():
    """Ends the test as skipped when the programs are not there."""
    if not assets():
        skip(f"no {', '.join(PROGRAMS)}; run tests/cluster/assets.py, or set KUBEBUILDER_ASSETS")


def free_ports(count):
    """A program that is started again finds its port still free."""
    return [free_port() for _ in range(count)]


def die_with_parent():
    """Runs in the child: the kernel ends it when the test is gone, however that went."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, **options)


class Authority:
    """A certificate authority for one test."""

    def __init__(self, folder):
        self.folder = folder
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
            "-subj", "/CN=test-ca", "-keyout", self.key("ca"), "-out", self.cert("ca"),
            "-addext", "keyUsage=critical,keyCertSign,cRLSign,digitalSignature")

    def key(self, name):
        return self.folder / f"{name}.key"

    def cert(self, name):
        return self.folder / f"{name}.crt"

    def issue(self, name, subject, names=""):
        run("openssl", "req", "-x509", "-CA", self.cert("ca"), "-CAkey", self.key("ca"), "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-keyout", self.key(name), "-out", self.cert(name),
            "-subj", subject, "-addext", "basicConstraints=CA:FALSE", "-addext", "keyUsage=digitalSignature",
            "-addext", "extendedKeyUsage=serverAuth,clientAuth",
            *(["-addext", f"subjectAltName={names}"] if names else []))


class Daemon:
    """One program that runs until stop()."""

    def __init__(self, name, command, folder):
        self.name, self.command, self.log = name, [str(word) for word in command], folder / f"{name}.log"
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True, preexec_fn=die_with_parent,
                                            env={**os.environ, "GOGC": GOGC})

    def stop(self, how=signal.SIGTERM):
        if not self.process:
            return
        if self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        self.process = None

    def assert_alive(self):
        if self.process and self.process.poll() is not None:
            tail = self.log.read_text(errors="replace")[-3000:]
            raise RuntimeError(f"{self.name} ended with {self.process.returncode}:\n{tail}")


class ApiServer:
    """etcd and kube-apiserver. Attributes: url, kubeconfig (of an administrator), ca, folder, audit_log.

    users    {name: [group...]}: users with a bearer token; see kubeconfig_of()
    audit    True: every request is a line of JSON in audit_log (read it with audit_events())
    flags    further flags of kube-apiserver
    """

    def __init__(self, users=None, audit=False, flags=(), folder=None):
        self.programs = assets()
        if not self.programs:
            raise RuntimeError("no kube-apiserver: run tests/cluster/assets.py, or set KUBEBUILDER_ASSETS")
        self.own_folder = folder is None
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="roundhouse-api-"))
        self.users = dict(users or {})
        self.tokens = {name: secrets.token_hex(16) for name in self.users}
        self.flags = [*flags]
        self.audit_log = self.folder / "audit.log" if audit else None
        self.audit_from = 0
        self.kubeconfig = self.folder / "admin.kubeconfig"
        self.ca = self.folder / "ca.crt"
        self.etcd_port, self.peer_port, self.port = free_ports(3)
        self.url = f"https://127.0.0.1:{self.port}"
        self.daemons = {}
        self.connection = None

    def __enter__(self):
        try:
            self.prepare()
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.connection:
            self.connection.close()
        for daemon in reversed(list(self.daemons.values())):
            daemon.stop()
        if self.own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    # --- start and stop

    def prepare(self):
        authority = Authority(self.folder)
        authority.issue("apiserver", "/CN=kube-apiserver",
                        "IP:127.0.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes.default.svc")
        authority.issue("admin", "/O=system:masters/CN=admin")
        run("openssl", "genrsa", "-out", authority.key("sa"), "2048")
        self.write_kubeconfig(self.kubeconfig, {"client-certificate": str(authority.cert("admin")),
                                                "client-key": str(authority.key("admin"))})
        self.daemons = {"etcd": Daemon("etcd", self.etcd_command(), self.folder),
                        "kube-apiserver": Daemon("kube-apiserver", self.api_command(authority), self.folder)}

    def etcd_command(self):
        client, peer = (f"http://127.0.0.1:{port}" for port in (self.etcd_port, self.peer_port))
        return [self.programs / "etcd", "--name", "test", "--data-dir", self.folder / "etcd", "--unsafe-no-fsync",
                "--log-level", "warn", "--listen-client-urls", client, "--advertise-client-urls", client,
                "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"test={peer}"]

    def api_command(self, authority):
        command = [self.programs / "kube-apiserver", "--etcd-servers", f"http://127.0.0.1:{self.etcd_port}",
                   "--bind-address", "127.0.0.1", "--secure-port", self.port, "--advertise-address", "10.96.0.1",
                   "--endpoint-reconciler-type", "none",
                   "--tls-cert-file", authority.cert("apiserver"), "--tls-private-key-file", authority.key("apiserver"),
                   "--client-ca-file", authority.cert("ca"), "--authorization-mode", "RBAC", "--allow-privileged=true",
                   "--service-cluster-ip-range", "10.96.0.0/16", "--service-account-issuer",
                   "https://kubernetes.default.svc", "--service-account-key-file", authority.key("sa"),
                   "--service-account-signing-key-file", authority.key("sa"),
                   "--disable-admission-plugins", "ServiceAccount"]
        if self.users:
            command += ["--token-auth-file", self.write_tokens()]
        if self.audit_log:
            command += ["--audit-policy-file", self.write_audit_policy(), "--audit-log-path", self.audit_log]
        return command + self.flags

    def start(self, name=None):
        """Start one daemon, or all that do not run, and wait until the server is ready."""
        for daemon in [self.daemons[name]] if name else self.daemons.values():
            if not daemon.process:
                daemon.start()
        if all(daemon.process for daemon in self.daemons.values()):
            self.wait_ready()

    def stop(self, name, how=signal.SIGTERM):
        self.daemons[name].stop(how)

    def restart(self, name, how=signal.SIGTERM):
        self.stop(name, how)
        self.start(name)

    def wait_ready(self):
        def ask():
            for daemon in self.daemons.values():
                daemon.assert_alive()
            return self.is_ready()
        wait_for(f"kube-apiserver is ready; see {self.folder}", ask, PATIENCE_S)

    def is_ready(self):
        try:
            return self.request("GET", "/readyz")[0] == http.client.OK
        except (OSError, http.client.HTTPException):
            return False

    # --- files

    def write_kubeconfig(self, path, user):
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "test",
                  "clusters": [{"name": "test", "cluster": {"server": self.url,
                                                            "certificate-authority": str(self.ca)}}],
                  "users": [{"name": "user", "user": user}],
                  "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user"}}]}
        path.touch(mode=0o600)
        path.write_text(json.dumps(config))

    def kubeconfig_of(self, user):
        """-> the path of a kubeconfig with the token of one of the users."""
        path = self.folder / f"{user}.kubeconfig"
        self.write_kubeconfig(path, {"token": self.tokens[user]})
        return path

    def write_tokens(self):
        path = self.folder / "tokens.csv"
        path.touch(mode=0o600)
        path.write_text("".join(f'{token},{name},{name},"{",".join(self.users[name])}"\n' for name,
                                token in self.tokens.items()))
        return path

    def write_audit_policy(self):
        path = self.folder / "audit-policy.json"
        path.write_text(json.dumps({"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
                                    "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}))
        return path

    def audit_events(self):
        """-> the audit log's events so far, oldest first; a line that is still being written is left out."""
        if not self.audit_log.exists():
            return []
        with open(self.audit_log, encoding="utf-8") as log:
            log.seek(self.audit_from)
            lines = log.readlines()
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def forget_audit(self):
        """What was done so far is not shown any more."""
        if self.audit_log and self.audit_log.exists():
            self.audit_from = self.audit_log.stat().st_size

    # --- requests

    def request(self, method, path, body=None, content_type="application/json"):
        """One request as the administrator, over a connection that is kept. -> (status, body)"""
        try:
            return self.send(method, path, body, content_type)
        except http.client.RemoteDisconnected:  # a server closes what was idle for a while
            if method != "GET":
                raise
            return self.send(method, path, body, content_type)

    def send(self, method, path, body, content_type):
        if not self.connection:
            context = ssl.create_default_context(cafile=self.ca)
            context.load_cert_chain(self.folder / "admin.crt", self.folder / "admin.key")
            self.connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE_S, context=context)
        try:
            self.connection.request(method, path, body, {"Content-Type": content_type} if body else {})
            answer = self.connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            raise

    def get(self, path):
        """-> the body of a GET that has to succeed."""
        status, body = self.request("GET", path)
        if status != http.client.OK:
            raise AssertionError(f"GET {path}: {status} {body[:500]!r}")
        return body

    def environment(self):
        """-> an environment for programs that are to find this server."""
        without = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
        return {**without, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder),
                "PATH": f"{self.programs}:{os.environ.get('PATH', '')}"}

    def kubectl(self, *words, text=None, check=True):
        """Run kubectl as the administrator, with text on its standard input. -> CompletedProcess"""
        done = subprocess.run([str(self.programs / "kubectl"), *map(str, words)], input=text, text=True,
                              capture_output=True, env=self.environment(), timeout=PATIENCE_S)
        if check and done.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(map(str, words))}: {done.stderr.strip()}")
        return done

    @contextlib.contextmanager
    def proxy(self):
        """`kubectl proxy`, for programs that do not log in. -> its URL"""
        command = [self.programs / "kubectl", "proxy", "--port=0"]
        with subprocess.Popen(command, env=self.environment(), text=True, stdout=subprocess.PIPE,
                              preexec_fn=die_with_parent) as proxy:
            try:
                yield "http://" + re.search(r"[\d.]+:\d+", proxy.stdout.readline()).group(0)
            finally:
                proxy.terminate()

    def wait_served(self, stored_alone=False):
        """Wait until the server takes objects of all definitions that it has; stored_alone: in the version that is
        stored, as others need a webhook for their conversion, which is not there yet.

        `kubectl wait` fails for a definition that has no conditions yet, and the server answers 404 for a moment after
        it says Established."""
        paths = []
        for crd in json.loads(self.get(CRDS))["items"]:
            names = crd["spec"]["names"]
            paths += [f"/apis/{crd['spec']['group']}/{version['name']}/{names['plural']}?limit=1"
                      for version in crd["spec"]["versions"]
                      if version["served"] and (version["storage"] or not stored_alone)]
        for path in paths:
            wait_for(f"{path} is served", lambda path=path: self.request("GET", path)[0] == http.client.OK, PATIENCE_S)

    def object(self, *words):
        """-> what kubectl get ... -o json prints, parsed."""
        return json.loads(self.kubectl("get", *words, "-o", "json").stdout)
