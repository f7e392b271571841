# SPDX-License-Identifier: Apache-2.0
"""A real node for tests: etcd, API server, controller manager, scheduler, kubelet, containerd, DNS, Service addresses.

    if __name__ == "__main__":
        node.enter(["train"])      # goes on inside, where all of them start; or ends the test as skipped, with the
                                   reason
        with node.Node() as api:   # an apiserver.ApiServer

Everything runs in namespaces of the test's own: network (so ports, bridge and firewall meet nobody's), mounts, and
processes.
However the test ends, the kernel ends every process and mount with it; cgroups and settings of the machine are put back
by the process outside, or by the next run.
"""
import ctypes
import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import apiserver

SCRIPTS = pathlib.Path(__file__).resolve().parents[1] / "kubernetes"
INSIDE = "ROUNDHOUSE_TEST_NODE"
SKIPPED = 77
PROGRAMS = ("etcd", "kube-apiserver", "kubectl", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy",
            "coredns")
PACKAGES = {"containerd": "containerd", "ctr": "containerd", "runc": "runc", "iptables": "iptables",
            "busybox": "busybox-static", "ethtool": "ethtool", "conntrack": "conntrack", "socat": "socat",
            "mmdebstrap": "mmdebstrap", "ip": "iproute2", "unshare": "util-linux", "gcc": "gcc", "openssl": "openssl",
            "curl": "curl", "/usr/lib/cni/bridge": "containernetworking-plugins"}
# What programs of a node write outside the folder they are given.
PRIVATE = ("/run/containerd", "/run/netns", "/var/lib/cni", "/var/lib/kubelet", "/var/log/containers")
# What kubelet sets for the whole machine.
SETTINGS = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
            "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes")
CGROUPS = pathlib.Path("/sys/fs/cgroup")
API_PORT = 26443


class Missing(Exception):
    """Why there can be no node here."""


def folder():
    """The cluster's state; a short path, because sockets lie in it."""
    return apiserver.cache() / "node"


# --- outside

def check_machine():
    if os.geteuid() != 0:
        raise Missing("a node needs root")
    packages = {package for program, package in PACKAGES.items()
                if not shutil.which(program, path=f"{os.defpath}:/usr/sbin:/sbin")}
    if packages:
        raise Missing(f"not installed: {', '.join(sorted(packages))} (apt-get install --no-install-recommends)")
    tried = subprocess.run(["unshare", "-n", "-m", "-p", "-f", "--mount-proc", "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        raise Missing(f"no namespaces for a node: {tried.stderr.strip()}")


def check_cgroups():
    """kubelet takes the name kubepods; what an earlier run left is empty."""
    drop_cgroups()
    if list_cgroups():
        raise Missing("a kubelet runs on this machine: the cgroup kubepods is there, and in use")


def list_cgroups():
    """-> every folder of kubepods, the inner ones first"""
    tops = [*CGROUPS.glob("kubepods"), *CGROUPS.glob("*/kubepods")]
    return [pathlib.Path(path) for top in tops for path, _, _ in os.walk(top, topdown=False)]


def drop_cgroups():
    for path in list_cgroups():
        try:
            path.rmdir()
        except OSError:
            pass


def setting(name):
    return pathlib.Path("/proc/sys") / name


class Machine:
    """What is put back behind a node: settings, cgroups, folders that were made to be covered. One node at a time."""

    def __init__(self, state):
        self.state, self.saved = state, state / "settings"
        self.lock = open(state.with_suffix(".lock"), "w", encoding="utf-8")  # pylint: disable=consider-using-with
        self.made = []

    def __enter__(self):
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.restore()
        check_cgroups()
        shutil.rmtree(self.state, ignore_errors=True)
        self.state.mkdir(parents=True)
        self.saved.write_text("".join(f"{name} {setting(name).read_text()}" for name in SETTINGS
                                      if setting(name).exists()))
        for place in map(pathlib.Path, PRIVATE):
            if not place.exists():
                place.mkdir(parents=True)
                self.made.append(place)
        return self

    def __exit__(self, *_):
        self.restore()
        drop_cgroups()
        for place in self.made:
            place.rmdir()
        shutil.rmtree(self.state, ignore_errors=True)
        self.lock.close()

    def restore(self):
        """Also after a run that was killed."""
        if not self.saved.exists():
            return
        for name, value in map(str.split, self.saved.read_text().splitlines()):
            if setting(name).read_text().strip() != value:
                setting(name).write_text(value)


def make_images(names):
    subprocess.run(["bash", str(SCRIPTS / "images.sh"), "pause", "busybox", "python", *names], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "K8S_ROOT": str(apiserver.cache())})


def prepare(images):
    check_machine()
    missing = [name for name in PROGRAMS if not os.access(apiserver.cache() / "bin" / name, os.X_OK)]
    if missing:
        raise Missing(f"no {', '.join(missing)}; tests/cluster/assets.py node builds what a node needs")
    try:
        make_images(images)
    except subprocess.CalledProcessError as error:
        raise Missing(f"images could not be made: images.sh ended with {error.returncode}") from error


def enter(images, fetch=dict):
    """Go on inside; never returns outside. Images: further ones of kubernetes/images.sh; fetch() is asked outside,
    where there is a network, for variables of the environment inside."""
    if os.environ.get(INSIDE):
        cover()
        return
    try:
        prepare(images)
        with Machine(folder()):
            sys.exit(run_inside(fetch()))
    except Missing as reason:
        print(f"SKIPPED: {reason}", flush=True)
        sys.exit(SKIPPED)


def run_inside(environment):
    without = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
    command = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child=KILL", sys.executable,
               "-B", *sys.argv]
    with subprocess.Popen(command, env={**without, **environment, INSIDE: str(folder())},
                          preexec_fn=apiserver.die_with_parent) as process:
        # who stops the test stops what is inside with the same signal
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: process.kill())
        return process.wait()


# --- inside

def cover():
    """This process is the first of its namespaces."""
    libc = ctypes.CDLL(None, use_errno=True)
    for place in PRIVATE:
        if libc.mount(b"node", place.encode(), b"tmpfs", 0, None) != 0:
            raise OSError(ctypes.get_errno(), f"cannot cover {place}")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


class Node(apiserver.ApiServer):
    """The cluster with its one node. Attributes beside those of ApiServer: address (under which pods reach this
    machine)."""
    address = "10.88.0.1"

    def __init__(self, images=()):
        super().__init__(folder=folder() / "run" / "pki")
        self.root, self.images = folder(), images
        self.programs = apiserver.cache() / "bin"
        self.port, self.url = API_PORT, f"https://127.0.0.1:{API_PORT}"
        self.kubeconfig = self.root / "run" / "admin.kubeconfig"

    def prepare(self):
        for name in ("bin", "images"):
            (self.root / name).symlink_to(apiserver.cache() / name)

    def start(self, name=None):
        for words in (["up.sh"], ["node.sh"], ["node.sh", "import",
                                               *(self.root / "images" / f"{image}.tar" for image in self.images)]):
            self.script(*words)

    def close(self):
        """Nothing to stop: everything ends with the namespaces."""
        if self.connection:
            self.connection.close()

    def script(self, name, *words):
        done = subprocess.run(["bash", SCRIPTS / name, *map(str, words)], capture_output=True, text=True,
                              env={**os.environ, "K8S_ROOT": str(self.root), "API_PORT": str(API_PORT)})
        if done.returncode != 0:
            raise RuntimeError(f"{name} {' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}")

    def load(self, archive):
        """Load an image from a file; its name is the one inside."""
        self.script("node.sh", "import", archive)
