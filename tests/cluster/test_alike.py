# SPDX-License-Identifier: Apache-2.0
"""test_alike.py PROGRAM [COUNT [SEED]]: lint, the definitions on a real API server and the controller judge jobs alike.

COUNT jobs (200) are made by chance (definitions/job_maker.py), always the same for a SEED (1). Each goes to lint and to
the API server, and what the server takes to the controller. A definition cannot say everything: what it lets pass and
lint refuses must be on the list below, which docs/crds.md explains, and then the controller must refuse it, too.
"""
import json
import pathlib
import re
import subprocess
import sys
import time
import unittest

import apiserver
from definitions import job_maker

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests" / "controller"))
import support  # noqa: E402

PROGRAM = sys.argv[1]
PATIENCE_S = 60
ELSEWHERE = "another controller's"
COUNT, SEED = (int(word) for word in [*sys.argv[2:4], *["200", "1"][len(sys.argv) - 2:]])
FAILED = " failed validation because "
# "path: detail" of lint, where the small definitions let a job pass.
CANNOT_SAY = [re.compile(text) for text in (
    r"volumeMounts\[\d+\]\.name: Not found",
    r"ports\[\d+\]\.name: (Duplicate value|Invalid value: .*must be no more than 15)",
    r"ports\[\d+\]\.containerPort: (Invalid value: .*must be between|Required value)",
    r"ontainers\[\d+\]\.name: (Duplicate value|Required value|Invalid value: .*RFC 1123)",
    r"initContainers\[\d+\]\.image: Required value",
    r"requests\[[^]]*\]: Invalid value: .*must be less than or equal",
    r"\.name: Required value|mountPath: Required value",
    # types of fields that they do not name
    r"\.template\.spec\.(?!containers|initContainers)\w+.*must be of type",
)]


class Alike(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = cls.enterClassContext(apiserver.ApiServer())
        cls.api.kubectl("apply", "-k", SOURCE / "conf" / "crds")
        cls.api.wait_served()

    def plural(self, job):
        return f"/apis/kubeflow.org/v1/namespaces/default/{job['kind'].lower()}s"

    def lint(self, jobs):
        """-> {name: [error]}"""
        files = []
        for job in jobs:
            files.append(self.api.folder / f"{job['metadata']['name']}.json")
            files[-1].write_text(json.dumps(job))
        done = subprocess.run([PROGRAM, "lint", "-o", "json", *map(str, files)], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.stderr, "")
        errors = {job["metadata"]["name"]: [] for job in jobs}
        for row in json.loads(done.stdout):
            if row["severity"] == "error":
                errors[pathlib.Path(row["source"]).stem].append(f"{row['path']}: {row['detail']}")
        return errors

    def apply(self, jobs):
        """-> {name: why the API server refuses it, or ""}"""
        answers = {}
        for job in jobs:
            status, text = self.api.request("POST", self.plural(job) + "?fieldValidation=Ignore", json.dumps(job))
            answer = json.loads(text)
            self.assertIn(status, (201, 400, 422), (answer, job))
            answers[job["metadata"]["name"]] = "" if status == 201 else answer["message"]
        return answers

    def judged(self, job):
        """-> why the controller refuses a stored job, "" where it does not, or None as long as it has not looked."""
        stored = json.loads(self.api.get(f"{self.plural(job)}/{job['metadata']['name']}"))
        if stored["spec"].get("runPolicy", {}).get("managedBy") == "kueue.x-k8s.io/multikueue":
            return ELSEWHERE
        conditions = {c["type"]: c for c in stored.get("status", {}).get("conditions", []) if c["status"] == "True"}
        bad = conditions.get("Stalled") or (conditions.get("Failed")
                                            if FAILED in conditions.get("Failed", {}).get("message", "") else None)
        if bad:
            return bad["message"]
        if "Failed" in conditions:
            return ""  # of its deadline
        return "" if {"Created", "Suspended"} & set(conditions) and self.has_pods(job, stored) else None

    def has_pods(self, job, stored):
        if stored["spec"].get("runPolicy", {}).get("suspend"):
            return True
        wanted = sum(replica.get("replicas", 1) for replica in stored["spec"][job_maker.MAPS[job["kind"]]].values())
        label = f"training.kubeflow.org/job-name={job['metadata']['name']}"
        pods = json.loads(self.api.get(f"/api/v1/namespaces/default/pods?labelSelector={label}"))["items"]
        # an MPIJob's launcher waits for its workers, which nobody runs here
        return len(pods) > 0 or wanted == 0

    def verdicts(self, jobs):
        """-> {name: as judged()}; None for what has none when all others long have theirs."""
        found = {}
        deadline = time.monotonic() + PATIENCE_S
        while len(found) < len(jobs) and time.monotonic() < deadline:
            for job in jobs:
                name = job["metadata"]["name"]
                verdict = self.judged(job) if name not in found else None
                if verdict is not None:
                    found[name] = verdict
                    deadline = time.monotonic() + PATIENCE_S
        return found

    def test_all_of_them(self):
        maker = job_maker.Maker(SEED)
        jobs = [maker.job(f"case-{number}") for number in range(COUNT)]
        lint, server = self.lint(jobs), self.apply(jobs)
        stored = [job for job in jobs if not server[job["metadata"]["name"]]]
        with support.Controller(PROGRAM, self.api.kubeconfig, self.api.folder, "--leader-elect=false"):
            verdicts = self.verdicts(stored)
        for job in jobs:
            self.compare(job, lint[job["metadata"]["name"]], server[job["metadata"]["name"]],
                         verdicts.get(job["metadata"]["name"]))
        # neither side may be all there is
        self.assertGreater(len(stored), COUNT // 5)
        self.assertGreater(len(jobs) - len(stored), COUNT // 5)

    def compare(self, job, errors, refused, verdict):
        with self.subTest(json.dumps(job)):
            if refused:
                self.assertTrue(errors, f"lint takes it, the API server does not: {refused}")
                return
            for error in errors:
                self.assertTrue(any(row.search(error) for row in CANNOT_SAY),
                                f"the API server takes it, lint does not: {error}")
            self.assertIsNotNone(verdict, "the controller does nothing")
            if verdict == ELSEWHERE:
                return
            self.assertEqual(bool(errors), bool(verdict), f"lint: {errors}; the controller: {verdict}")


if __name__ == "__main__":
    apiserver.skip_without_assets()
    unittest.main(argv=sys.argv[:1], verbosity=2)
