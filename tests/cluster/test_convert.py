# SPDX-License-Identifier: Apache-2.0
"""test_convert.py PROGRAM SOURCE: convert on a real kube-apiserver: Kubeflow Trainer's own definitions take what it
makes, and --cluster converts what is there."""
import http.client
import json
import pathlib
import subprocess
import sys
import unittest

import yaml

import apiserver
import v1_module

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
GOLDENS = SOURCE / "tests" / "goldens"
TRAINER = SOURCE / "tests" / "cli" / "trainer"
TRAINER_API = "trainer.kubeflow.org/v1alpha1"
PLURALS = {"TrainJob": "trainjobs", "TrainingRuntime": "trainingruntimes",
           "ClusterTrainingRuntime": "clustertrainingruntimes", "PyTorchJob": "pytorchjobs", "TFJob": "tfjobs",
           "XGBoostJob": "xgboostjobs", "MPIJob": "mpijobs", "PaddleJob": "paddlejobs"}
# A user who may read the jobs of V1 alone.
READER = "reader"


def documents(path):
    return [document for document in yaml.load_all(path.read_text(encoding="utf-8"), yaml.CSafeLoader) if document]


def golden_jobs(with_jax=True):
    """-> the jobs of V1's goldens, each with a name of its own"""
    jobs = [document.get("job", document) for folder in ("objects", "lives")
            for path in sorted((GOLDENS / folder).glob("*.yaml")) for document in documents(path)]
    jobs = [job for job in jobs if job["kind"] in PLURALS or (with_jax and job["kind"] == "JAXJob")]
    for number, job in enumerate(jobs):
        job["metadata"] = {**job["metadata"], "name": f"golden-{number}", "namespace": "default"}
        job.pop("status", None)
    return jobs


def by_name(objects):
    return {(item["kind"], item["metadata"]["name"]): item for item in objects}


def specs(objects):
    return {key: item["spec"] for key, item in by_name(objects).items()}


class Cluster(unittest.TestCase):
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        apiserver.skip_without_assets()
        cls.api = cls.enterClassContext(apiserver.ApiServer(users={READER: []}, audit=True))
        cls.api.kubectl("apply", "-k", SOURCE / "conf" / "crds")
        try:
            cls.trainer = v1_module.fetch(v1_module.TRAINER) / "manifests" / "base" / "crds"
        except v1_module.Absent as why:
            cls.trainer = None
            print("SKIPPED: Kubeflow Trainer's definitions:", " | ".join(str(why).splitlines()), flush=True)
        else:
            for path in sorted(cls.trainer.glob("trainer.kubeflow.org_*.yaml")):
                status, text = cls.api.request("POST", apiserver.CRDS, path.read_text(encoding="utf-8"),
                                               "application/yaml")
                if status != http.client.CREATED:
                    raise AssertionError(f"{path}: {status} {text[:500]!r}")
        cls.api.wait_served()

    def with_trainer(self):
        if not self.trainer:
            self.skipTest("no definitions of Kubeflow Trainer, see above")

    def convert(self, *words, text=None, status=0, kubeconfig=None):
        environment = {**self.api.environment(), **({"KUBECONFIG": str(kubeconfig)} if kubeconfig else {})}
        done = subprocess.run([PROGRAM, "convert", "-o", "json", *words], input=text, capture_output=True, text=True,
                              env=environment, timeout=apiserver.PATIENCE_S, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)["items"] if done.stdout else done.stderr

    def convert_files(self, objects, *words):
        return self.convert(*words, "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def create(self, item, dry=False):
        """Fields that the definition does not have are refused. Without a webhook a reference may lead nowhere."""
        namespace = item["metadata"].get("namespace", "default")
        scope = "" if item["kind"].startswith("Cluster") else f"namespaces/{namespace}/"
        path = f"/apis/{item['apiVersion']}/{scope}{PLURALS[item['kind']]}?fieldValidation=Strict"
        status, text = self.api.request("POST", path + ("&dryRun=All" if dry else ""), json.dumps(item))
        self.assertEqual(status, http.client.CREATED, (item, text))
        made = json.loads(text)
        if not dry:
            self.addCleanup(self.api.request, "DELETE", f"/apis/{item['apiVersion']}/{scope}{PLURALS[item['kind']]}/"
                            f"{item['metadata']['name']}")
        return made

    def got(self, *kinds):
        """-> what kubectl prints of them"""
        return self.api.object(",".join(kinds))["items"]

    def test_trainer_takes_every_golden_of_v1(self):
        self.with_trainer()
        made = self.convert_files(golden_jobs(), "--to", "trainjob")
        self.assertGreater(len(made), 100)
        for item in made:
            self.create(item, dry=True)

    def test_trainer_takes_mpijobs_of_the_mpi_operator(self):
        self.with_trainer()
        jobs = [job for job in golden_jobs() if job["kind"] == "MPIJob"]
        later = self.convert_files(jobs, "--to", "mpi-v2beta1")
        self.assertEqual({job["apiVersion"] for job in later}, {"kubeflow.org/v2beta1"})
        made = self.convert_files(later, "--to", "trainjob")
        for item in made:
            self.create(item, dry=True)

    def test_v1_takes_every_trainjob(self):
        runtimes, jobs = documents(TRAINER / "runtimes.yaml"), documents(TRAINER / "jobs.yaml")
        jobs = [job for job in jobs if not job["metadata"]["name"].startswith("plain")]
        for item in self.convert_files([*runtimes, *jobs]):
            if item["kind"] in PLURALS and item["apiVersion"] == "kubeflow.org/v1":
                self.create(item, dry=True)

    def test_jobs_of_a_cluster_are_converted_as_those_of_files(self):
        jobs = golden_jobs(with_jax=False)
        for job in jobs:
            self.create(job)
        self.api.forget_audit()
        made = by_name(self.convert("--cluster", "--all", "--to", "trainjob", "-n", "default"))
        self.assertEqual(len(made), 2 * len(jobs))
        for item in made.values():
            self.assertEqual({*item["metadata"]} - {"labels", "annotations"}, {"name", "namespace"})
        kinds = {job["kind"].lower() for job in jobs}
        self.assertEqual(specs(made.values()), specs(self.convert_files(self.got(*kinds), "--to", "trainjob")))
        kind = jobs[0]["kind"].lower()
        for word in (f"{kind}/golden-0", f"{kind}s/golden-0", f"{jobs[0]['kind']}/golden-0"):
            self.assertEqual(by_name(self.convert("--cluster", word, "--to", "trainjob")),
                             {key: item for key, item in made.items() if key[1] == "golden-0"})
        self.assertEqual(self.convert("--cluster", "--all", "--to", "trainjob", "-n", "kube-system"), [])
        self.assertEqual({event["verb"] for event in self.api.audit_events()
                          if "roundhouse" in event.get("userAgent", "") or "kubeflow.org" in event["requestURI"]},
                         {"get", "list"})

    def test_trainjobs_of_a_cluster_are_read_with_their_runtimes(self):
        self.with_trainer()
        runtimes = {item["metadata"]["name"]: item for item in documents(TRAINER / "runtimes.yaml")}
        jobs = {item["metadata"]["name"]: item for item in documents(TRAINER / "jobs.yaml")}
        mine = [runtimes["torch-distributed"], runtimes["own-torch-ns"], jobs["pt-2n"], jobs["pt-ns-runtime"]]
        for item in mine:
            self.create(item)
        made = by_name(self.convert("--cluster", "--all"))
        self.assertEqual({*made}, {("PyTorchJob", "pt-2n"), ("PyTorchJob", "pt-ns-runtime")})
        there = self.got("trainjobs", "trainingruntimes", "clustertrainingruntimes")
        self.assertEqual(specs(made.values()), specs(self.convert_files(there)))
        self.assertEqual(self.convert("--cluster", "trainjob/pt-2n"), [made["PyTorchJob", "pt-2n"]])
        self.create({**jobs["pt-2n"], "metadata": {"name": "lost"}, "spec": {"runtimeRef": {"name": "nowhere"}}})
        self.assertIn('the cluster has no ClusterTrainingRuntime "nowhere"',
                      self.convert("--cluster", "trainjob/lost", status=2))

    def test_what_is_not_there_or_not_allowed_is_named(self):
        for word, message in (("pytorchjob", "must be KIND/NAME"), ("pytorchjob/", "must be KIND/NAME"),
                              ("pod/x", "no kind pod that is converted"),
                              ("pytorchjob/nobody", "there is no such job in the namespace default")):
            self.assertIn(message, self.convert("--cluster", "--to", "trainjob", word, status=2))
        message = self.convert("--cluster", "--all", "--to", "trainjob", status=1,
                               kubeconfig=self.api.kubeconfig_of(READER))
        self.assertRegex(message, r'the server answers with 403: .*"reader" cannot list')


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
