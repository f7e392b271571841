# SPDX-License-Identifier: Apache-2.0
"""test_render.py PROGRAM SOURCE: what `roundhouse render` prints is what the controller makes."""
import os
import tempfile
import unittest

from program import Case, call, main

JOB = """
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: t, namespace: team}
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: tensorflow, image: "i:1"}]}}
"""


class ClusterDomain(Case):
    """V1's variable counts, and the configuration counts before it."""

    def render(self, domain, *words):
        return call("render", *words, "-", text=JOB, env={**os.environ, "CUSTOM_CLUSTER_DOMAIN": domain})

    def test_variable(self):
        self.assertIn("t-worker-1.team.svc.example.org:2222", self.render("example.org").stdout)
        self.assertIn('t-worker-1.team.svc:2222', self.render("").stdout)

    def test_configuration(self):
        with tempfile.NamedTemporaryFile("w", suffix=".ini") as ini:
            ini.write("[plugin tensorflow]\ncluster-domain = cluster.local\n")
            ini.flush()
            self.assertIn("t-worker-1.team.svc.cluster.local:2222",
                          self.render("example.org", "--config", ini.name).stdout)

    def test_value_that_is_none(self):
        done = self.render("a_b")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn('$CUSTOM_CLUSTER_DOMAIN: cluster-domain: "a_b" is not a domain', done.stderr)


if __name__ == "__main__":
    main()
