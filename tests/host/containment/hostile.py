# SPDX-License-Identifier: Apache-2.0
"""What the tests with the hostile plugin share: copies of it, whose names say what they do, beside the plugins of the
build."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from waits import PATIENCE_S as PATIENCE  # noqa: E402
from waits import wait_for  # noqa: E402, F401 (for those who import this)

PROGRAM, SOURCE, PLUGIN = sys.argv[1:4]
INSTRUMENTED = sys.argv[4:5] == ["instrumented"]
OWN = os.path.join(os.path.dirname(PROGRAM), "..", "lib", "roundhouse", "plugins")

HOSTILE = """apiVersion: example.org/v1
kind: HostileJob
metadata: {{name: one}}
spec:
  hostileReplicaSpecs:
    Worker:
      replicas: {replicas}
      template: {{spec: {{containers: [{{name: hostile, image: i, command: [sh, -c, '{command}']}}]}}}}
"""
HARMLESS = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: two}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: Never
      template: {spec: {containers: [{name: pytorch, image: i, command: [sh, -c, 'echo harmless']}]}}
"""


class Case(unittest.TestCase):
    """A test with a folder of its own, for plugins, files and what runs leave."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.plugins = os.path.join(self.folder, "plugins")
        os.mkdir(self.plugins, 0o755)
        os.chmod(self.plugins, 0o755)
        self.ini = self.file("roundhouse.ini", "[plugins]\ntime-limit = 1s\nisolation = none\n")
        self.hostile = self.file("hostile.yaml", HOSTILE.format(replicas=1, command="exit 0"))
        self.harmless = self.file("harmless.yaml", HARMLESS)

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        os.chmod(path, 0o644)
        return path

    def add(self, *names):
        """Put copies of the plugin into the test's folder, and nothing else. Returns the path of the first."""
        for name in os.listdir(self.plugins):
            os.unlink(os.path.join(self.plugins, name))
        for name in names:
            path = os.path.join(self.plugins, name + ".so")
            shutil.copyfile(PLUGIN, path)
            os.chmod(path, 0o644)
        return os.path.join(self.plugins, names[0] + ".so")

    def environment(self, **more):
        return {**os.environ, "ROUNDHOUSE_PLUGIN_PATH": f"{self.plugins}:{OWN}", "ROUNDHOUSE_CONFIG": self.ini,
                "TMPDIR": self.folder, "XDG_RUNTIME_DIR": self.folder, **more}

    def start(self, *words, **how):
        return subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment(), **how)

    def call(self, *words, **more):
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True, env=self.environment(**more),
                              timeout=PATIENCE, check=False)


def main():
    unittest.main(module="__main__", argv=sys.argv[:1], verbosity=2)
