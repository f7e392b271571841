#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_unreadable.py ROUNDHOUSE JAX_DIR: jobs that were stored before the CRD forbade what they say; on a real API
server."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import case  # noqa: E402
from case import Case, job  # noqa: E402
from support import wait_for  # noqa: E402

CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/pytorchjobs.kubeflow.org"
LIMIT = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/runPolicy/properties/backoffLimit"
TOO_MANY = 2**40


class Unreadable(Case):
    """A count beyond 32 bits, as a CRD without limits lets it in."""
    options = {"audit": True}

    def setUp(self):
        """Two such jobs, and the CRD as it should be."""
        self.set_limit({"type": "integer"}, 201)
        self.create(job("old", backoffLimit=TOO_MANY))
        self.create(job("theirs", backoffLimit=TOO_MANY, managedBy="kueue.x-k8s.io/multikueue"))
        self.set_limit({"type": "integer", "format": "int32", "minimum": 0, "maximum": 2**31 - 1}, 422)
        self.addCleanup(lambda: [self.drop_job(name) for name in ("old", "theirs")])

    def set_limit(self, schema, code):
        """Give the field that schema. code: how the API server answers a job with too large a number from then on"""
        patch = [{"op": "replace", "path": LIMIT, "value": schema}]
        status, answer = self.request("PATCH", CRD, patch, "application/json-patch+json")
        self.assertEqual(status, 200, answer)
        probe = job("probe", backoffLimit=TOO_MANY)
        wait_for(f"{code}", lambda: self.request("POST", self.path("pytorchjobs") + "?dryRun=All", probe)[0] == code)

    def failed(self, name):
        _, body = self.request("GET", self.path("pytorchjobs", name=name))
        return next((c for c in body.get("status", {}).get("conditions", []) if c["type"] == "Failed"), None)

    def job_events(self, name):
        return [(e["reason"], e["message"], e["count"]) for e in self.items("v1", "events")
                if e["involvedObject"].get("name") == name]

    def patches(self):
        return [e["requestURI"] for e in self.api.audit_events() if e["verb"] == "patch"
                and e.get("userAgent", "").startswith("roundhouse")
                and e["objectRef"]["resource"] == "pytorchjobs"]

    def test_condition_and_event(self):
        """It fails as other jobs that are not valid, once, also after a restart of the controller; and begins when it
        is corrected."""
        for name in ("first", "second"):
            with self.controller("--leader-elect=false", name=name) as controller:
                failed = wait_for("failed", lambda: self.failed("old"))
                self.create(job(f"after-{name}"))
                wait_for("pods of another", lambda: len(self.pods(f"after-{name}")) == 2)
                wait_for("Event", lambda: self.job_events("old"))
                controller.wait_idle()
            self.drop_job(f"after-{name}")
        self.assertEqual((failed["status"], failed["reason"]), ("True", "PyTorchJobFailedValidation"))
        self.assertIn(f"spec.runPolicy.backoffLimit: Invalid value: {TOO_MANY}", failed["message"])
        self.assertEqual(self.job_events("old"), [("PyTorchJobFailedValidation", failed["message"], 1)])
        self.assertEqual(len([uri for uri in self.patches() if "/old" in uri]), 1)
        self.assertEqual((self.pods("old"), self.items("v1", "services",
                                                       query="?labelSelector=training.kubeflow.org/job-name=old")),
                         ([], []))
        self.assertEqual((self.failed("theirs"), self.job_events("theirs")), (None, []))
        with self.controller("--leader-elect=false", name="third"):
            better = {"spec": {"runPolicy": {"backoffLimit": 3}}}
            status, answer = self.request("PATCH", self.path("pytorchjobs", name="old"), better,
                                          "application/merge-patch+json")
            self.assertEqual(status, 200, answer)
            wait_for("pods", lambda: len(self.pods("old")) == 2)
            wait_for("created", lambda: self.conditions("old") == {"Created": "True"})


if __name__ == "__main__":
    case.main()
