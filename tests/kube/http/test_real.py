# SPDX-License-Identifier: Apache-2.0
"""test_http_real.py FOLDER SOURCE: the client and elections against a real kube-apiserver."""
import json
import pathlib
import subprocess
import sys

PROGRAMS, SOURCE = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
sys.path.insert(0, str(SOURCE / "tests" / "cluster"))
import apiserver  # noqa: E402

TIMEOUT_S = 300
VERSION = "client.authentication.k8s.io/v1"


def plugin_config(api):
    """A kubeconfig whose credential comes from a program: it prints nobody's token."""
    (api.folder / "credential.json").write_text(
        json.dumps({"kind": "ExecCredential", "apiVersion": VERSION, "status": {"token": api.tokens["nobody"]}}))
    path = api.folder / "plugin.kubeconfig"
    api.write_kubeconfig(path, {"exec": {"apiVersion": VERSION, "interactiveMode": "Never", "command": "cat",
                                         "args": [str(api.folder / "credential.json")]}})
    return path


def stranger_config(api):
    path = api.folder / "stranger.kubeconfig"
    api.write_kubeconfig(path, {"token": "nobody-knows-this-one"})
    return path


def main():
    apiserver.skip_without_assets()
    with apiserver.ApiServer(users={"nobody": []}) as api:
        api.kubectl("apply", "--server-side", "-f", SOURCE / "conf" / "crds" / "kubeflow.org_pytorchjobs.yaml")
        api.wait_served()
        environment = {**api.environment(), "NOBODY_KUBECONFIG": str(api.kubeconfig_of("nobody")),
                       "PLUGIN_KUBECONFIG": str(plugin_config(api)), "STRANGER_KUBECONFIG": str(stranger_config(api))}
        return subprocess.run([str(PROGRAMS / "kube_http_real")], env=environment, timeout=TIMEOUT_S,
                              check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
