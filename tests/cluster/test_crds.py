# SPDX-License-Identifier: Apache-2.0
"""test_crds.py PROGRAM SOURCE: the generated CRDs on a real kube-apiserver."""
import collections
import copy
import glob
import json
import pathlib
import subprocess
import sys
import unittest

import yaml

import apiserver
from definitions import crd_cases
import v1_module

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
GOLDENS = SOURCE / "tests" / "goldens"
CRDS = SOURCE / "conf" / "crds"
MAPS = {"PyTorchJob": "pytorchReplicaSpecs", "TFJob": "tfReplicaSpecs", "XGBoostJob": "xgbReplicaSpecs",
        "MPIJob": "mpiReplicaSpecs", "PaddleJob": "paddleReplicaSpecs"}
KINDS = tuple(MAPS)
RULES = ("x-kubernetes-validations", "enum", "pattern", "minimum", "maximum", "maxItems", "maxLength", "maxProperties",
         "x-kubernetes-list-type", "x-kubernetes-list-map-keys")
PATIENCE_S = 180
# libyaml, where PyYAML was built with it: V1's CRDs are half a megabyte each.
FAST = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def crds(*words, env=None):
    done = subprocess.run([PROGRAM, "crds", "-o", "json", *words], capture_output=True, text=True, env=env, check=False)
    if done.returncode != 0:
        raise AssertionError(f"crds {' '.join(words)}: {done.stderr}")
    printed = json.loads(done.stdout)
    return printed["items"] if printed["kind"] == "List" else [printed]


def manifest(objects):
    """-> text for kubectl. As JSON: these are large, and Python's YAML is slow."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})


def yaml_files(folder):
    return [pathlib.Path(path) for path in sorted(glob.glob(str(GOLDENS / folder / "*.yaml")))]


def golden_jobs(kinds=KINDS):
    """-> (file name, job) of all jobs that V1 took, of these kinds."""
    for path in yaml_files("objects") + yaml_files("lives"):
        document = yaml.load(path.read_text(), yaml.CSafeLoader)
        job = document.get("job", document)
        if job["kind"] in kinds:
            yield path.name, job


def permissive(crd):
    """-> the CRD without its rules: the same types, as V1's CRDs had them."""
    def walk(schema):
        if isinstance(schema, list):
            return [walk(item) for item in schema]
        if not isinstance(schema, dict):
            return schema
        # a field may be called as a rule is
        return {key: {name: walk(field) for name, field in value.items()} if key == "properties" else walk(value)
                for key, value in schema.items() if key not in RULES}
    crd = copy.deepcopy(crd)
    version = crd["spec"]["versions"][0]
    version["schema"] = walk(version["schema"])
    return crd


def v1_crds():
    """-> V1's own CRDs of our kinds; none when they cannot be had."""
    try:
        folder = v1_module.fetch() / "manifests" / "base" / "crds"
    except v1_module.Absent as why:
        print("SKIPPED:", " | ".join(str(why).splitlines()))
        return []
    documents = [yaml.load(path.read_text(), FAST) for path in folder.glob("kubeflow.org_*.yaml")]
    return [crd for crd in documents if crd["spec"]["names"]["kind"] in KINDS]


Answer = collections.namedtuple("Answer", "ok message object")


class Cluster(unittest.TestCase):
    """A server of its own for each class, with the CRDs that install() puts there."""

    @classmethod
    def setUpClass(cls):
        cls.api = cls.enterClassContext(apiserver.ApiServer())
        cls.install()

    @classmethod
    def install(cls):
        cls.apply_ours("-k", CRDS)

    @classmethod
    def apply_ours(cls, *words, text=None):
        cls.api.kubectl("apply", *words, text=text)
        cls.wait_served(rules=True)

    @classmethod
    def wait_served(cls, rules):
        """The API server takes a new schema up a moment after it was stored: ask until it answers by it."""
        for kind in KINDS:
            # no replicas at all: our rules refuse that, types alone do not
            job = {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": "probe", "namespace": "default"},
                   "spec": {MAPS[kind]: {}}}
            cls.eventually(f"{kind} is served", lambda: cls.is_served(job, rules))

    @classmethod
    def is_served(cls, job, rules):
        answer = cls.request("POST", job, dry=True)
        return "is invalid" in answer.message if rules else answer.ok

    @classmethod
    def request(cls, method, job, body=None, subresource="", dry=False, strict=False):
        name = "" if method == "POST" else f"/{job['metadata']['name']}{subresource}"
        query = (f"?fieldValidation={'Strict' if strict else 'Ignore'}{'&dryRun=All' if dry else ''}"
                 if method != "GET" else "")
        status, text = cls.api.request(
            method, f"/apis/kubeflow.org/v1/namespaces/default/{job['kind'].lower()}s{name}{query}",
                                       json.dumps(job if method == "POST" else body) if method in ("POST", "PATCH")
                                       else None, "application/merge-patch+json" if method == "PATCH"
                                       else "application/json")
        answer = json.loads(text) if text.startswith(b"{") else {}
        return Answer(status < 300, answer.get("message", ""), answer)

    def create(self, job):
        self.assert_done(self.request("POST", job), json.dumps(job))

    def try_job(self, job, strict=True):
        return self.request("POST", job, dry=True, strict=strict)

    def patch(self, job, change, subresource=""):
        return self.request("PATCH", job, change, subresource)

    def stored(self, job):
        return self.request("GET", job).object

    def assert_done(self, answer, what):
        self.assertTrue(answer.ok, f"{what}: {answer.message}")

    def assert_refused(self, answer, *parts):
        self.assertFalse(answer.ok, answer.object)
        for part in parts:
            self.assertIn(part, answer.message)

    @classmethod
    def eventually(cls, what, condition):
        apiserver.wait_for(what, condition, PATIENCE_S)


class Rules:
    """What holds with the small pod template and with the whole one."""

    def test_what_v1_took_is_taken(self):
        count = 0
        for name, job in golden_jobs():
            count += 1
            with self.subTest(name):
                self.assert_done(self.try_job(job), name)
        self.assertGreater(count, 50)

    def test_what_v1_refused_is_refused(self):
        messages = json.loads((GOLDENS / "invalid" / "messages.json").read_text())
        for path in yaml_files("invalid"):
            with self.subTest(path.stem):
                answer = self.try_job(yaml.load(path.read_text(), yaml.CSafeLoader))
                self.assert_refused(answer)
                for field, detail in self.of_v1(messages[path.stem]):
                    self.assertIn(field, answer.message)
                    self.assertIn(detail, answer.message)

    @staticmethod
    def of_v1(message):
        """-> (field, words) that must be in our refusal, too."""
        if message.get("by") != "webhook":
            return
        for part in message["message"].strip("[]").split(", spec."):
            field, kind, detail = part.split(": ", 2)
            field = field if field.startswith(("spec.", "metadata.")) else "spec." + field
            if kind == "Unsupported value":
                # a rule about keys stands at their map, and its words are fixed
                yield field.rsplit("[", 1)[0] + ":", "unsupported replica type"
            else:
                yield field, detail.split(": ", 1)[1] if kind == "Invalid value" else f"{kind}: {detail}"

    def test_further_refusals(self):
        for case in crd_cases.CASES:
            with self.subTest(case.name):
                answer = self.try_job(case.job)
                self.assert_refused(answer, case.says)
                self.assertNotIn("Specs.[", answer.message)  # the path has no dot before the type, as in V1

    def test_near_the_edge_is_taken(self):
        rows = [
            ("longest name of a Service", crd_cases.pytorch(crd_cases.workers(10), name="a" * 54)),
            ("longest name", crd_cases.mpi(name="a" * 63)),
            ("a restart policy that is empty", crd_cases.pytorch(crd_cases.master(restartPolicy=""))),
            ("no workers of a launcher", crd_cases.job("MPIJob", "mpiReplicaSpecs",
                                                       {"Launcher": {"template": crd_cases.template("a")}})),
            ("types in any case", crd_cases.tensorflow({"worker": {}, "CHIEF": {"replicas": 1}})),
            ("a type that TensorFlow does not know", crd_cases.tensorflow({"Helper": {}})),
            ("the largest count", crd_cases.tensorflow({"Worker": {"replicas": 10000000}})),
            ("container of the workers", crd_cases.mpi(mainContainer="work")),
            *[(f"quantity {text!r}", crd_cases.pytorch(crd_cases.container(resources={"limits": {"cpu": text}})))
              for text in (1, "500m", "1e3", "1E-2", "1e+2", "+2", ".5", "1.", "12E", "3Ki", "1n", "7u", "0")],
            ("words of torchrun", crd_cases.pytorch(nprocPerNode="xpu")),
            ("a word that is none", crd_cases.pytorch(nprocPerNode="many")),
            ("two protocols of a port",
             crd_cases.pytorch(crd_cases.container(ports=[{"containerPort": 1},
                                                          {"containerPort": 1, "protocol": "UDP"}]))),
            ("elastic with one number", crd_cases.pytorch(crd_cases.workers(), elasticPolicy={"maxReplicas": 4})),
        ]
        for name, job in rows:
            with self.subTest(name):
                self.assert_done(self.try_job(job), name)

    def test_null_is_absent(self):
        job = crd_cases.pytorch({**crd_cases.container(resources={"limits": {"cpu": None, "memory": "1Gi"},
                                                                  "requests": None},
                                                       env=[{"name": "A", "value": None}]), "Worker": None},
                                name="nulls")
        job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["nodeSelector"] = {"a": None, "b": "c"}
        self.create(job)
        stored = self.stored(job)["spec"]["pytorchReplicaSpecs"]
        self.assertEqual(list(stored), ["Master"])
        self.assertEqual(stored["Master"]["template"]["spec"], {"nodeSelector": {"b": "c"}, "containers": [
            {"name": "pytorch", "image": "example/train:1", "resources": {"limits": {"memory": "1Gi"}},
             "env": [{"name": "A"}]}]})

    def test_fields_of_pods_that_no_schema_names_stay(self):
        job = crd_cases.pytorch(name="newer")
        pod = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
        pod["fieldOfTomorrow"] = {"a": [1, {"b": "c"}]}
        pod["containers"][0]["anotherField"] = 7
        pod["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 1}}
        self.create(job)
        stored = self.stored(job)["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
        self.assertEqual(stored["fieldOfTomorrow"], pod["fieldOfTomorrow"])
        self.assertEqual(stored["containers"][0], pod["containers"][0])


class Small(Rules, Cluster):
    """conf/crds, applied as users do."""

    def test_they_can_be_applied_again(self):
        for words in (["apply"], ["apply", "--dry-run=server"],
                      ["apply", "--server-side", "--force-conflicts", "--dry-run=server"]):
            done = self.api.kubectl(*words, "-k", CRDS)
            self.assertEqual(len(done.stdout.splitlines()), len(KINDS))

    def test_managed_by_and_queue_cannot_change(self):
        manager = {"managedBy": "kueue.x-k8s.io/multikueue"}
        queue = {"schedulingPolicy": {"queue": "one"}}
        rows = [
            ("changed", manager, {"managedBy": "kubeflow.org/training-operator"}, "managedBy"),
            ("taken away", manager, {"managedBy": None}, "managedBy"),
            ("added", {"backoffLimit": 1}, manager, "managedBy"),
            ("added with the policy", None, manager, "managedBy"),
            ("queue changed", queue, {"schedulingPolicy": {"queue": "two"}}, "schedulingPolicy.queue"),
        ]
        for number, (name, before, after, field) in enumerate(rows):
            with self.subTest(name):
                job = crd_cases.pytorch(name=f"fixed-{number}", policy=before)
                self.create(job)
                self.assert_refused(self.patch(job, {"spec": {"runPolicy": after}}),
                                    f"spec.runPolicy.{field}: Invalid value", "immutable")
                self.assert_done(self.patch(job, {"spec": {"runPolicy": {"suspend": True}}}), "suspend")

    def test_scale(self):
        rows = [crd_cases.pytorch({**crd_cases.master(), **crd_cases.workers()}, name="scaled",
                                  elasticPolicy={"maxReplicas": 5}),
                crd_cases.job("PaddleJob", "paddleReplicaSpecs",
                              {"Worker": {"replicas": 2, "template": crd_cases.template("paddle")}},
                              name="scaled")]
        for job in rows:
            with self.subTest(job["kind"]):
                self.create(job)
                self.api.kubectl("scale", job["kind"], "scaled", "--current-replicas=2", "--replicas=4")
                self.assertEqual(self.stored(job)["spec"][MAPS[job["kind"]]]["Worker"]["replicas"], 4)
                status = {"status": {"replicaStatuses": {"Worker": {"active": 3, "selector": "a=b"}}}}
                self.assert_done(self.patch(job, status, "/status"), "status")
                scale = self.api.object(job["kind"], "scaled", "--subresource=scale")
                self.assertEqual((scale["spec"]["replicas"], scale["status"]), (4, {"replicas": 3, "selector": "a=b"}))

    def test_scale_beyond_a_service_name(self):
        job = crd_cases.pytorch(crd_cases.workers(10), name="s" * 54)
        self.create(job)
        done = self.api.kubectl("scale", "pytorchjob", "s" * 54, "--replicas=11", check=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("must be shorter", done.stderr)
        self.api.kubectl("scale", "pytorchjob", "s" * 54, "--replicas=9")

    def test_columns(self):
        conditions = [{"type": "Created", "status": "True"}, {"type": "Running", "status": "True"}]
        rows = [(crd_cases.pytorch(name="seen"), ["NAME", "STATE", "AGE"]),
                (crd_cases.mpi(name="seen"), ["NAME", "AGE", "STATE"])]
        for job, columns in rows:
            with self.subTest(job["kind"]):
                self.create(job)
                self.assert_done(self.patch(job, {"status": {"conditions": conditions}}, "/status"), "status")
                head, row = self.api.kubectl("get", job["kind"], "seen").stdout.splitlines()
                self.assertEqual(head.split(), columns)
                self.assertEqual(row.split()[columns.index("STATE")], "Running")

    def test_amounts_below_zero(self):
        """The whole pod template has one schema for all quantities, and some may be negative."""
        job = crd_cases.pytorch(crd_cases.container(resources={"limits": {"cpu": "-1"}}))
        self.assert_refused(self.try_job(job), "resources.limits.cpu: Invalid value: \"-1\"")

    def test_suspend_has_a_default(self):
        job = crd_cases.pytorch(name="defaults", policy={"backoffLimit": 1})
        self.create(job)
        self.assertEqual(self.stored(job)["spec"]["runPolicy"], {"backoffLimit": 1, "suspend": False})


class FromElsewhere(Cluster):
    """The kind of a plugin that is built outside the tree."""

    @classmethod
    def install(cls):
        folder = cls.api.folder / "plugins"
        folder.mkdir()
        subprocess.run(["cc", "-shared", "-fPIC", "-I", str(SOURCE / "include"), "-o", str(folder / "jax.so"),
                        *glob.glob(str(SOURCE / "examples/plugins/jax/*.c"))], check=True)
        cls.api.kubectl("apply", "-f", "-", text=manifest(crds("--plugins", str(folder), "--kind", "JAXJob")))
        cls.eventually("JAXJob is served", lambda: cls.is_served(cls.jax({}), True))

    @staticmethod
    def jax(replicas):
        return crd_cases.job("JAXJob", "jaxReplicaSpecs", replicas)

    def test_what_v1_took_is_taken(self):
        jobs = [job for _, job in golden_jobs({"JAXJob"})]
        self.assertGreaterEqual(len(jobs), 2)
        for job in jobs:
            self.assert_done(self.try_job(job), json.dumps(job))

    def test_what_v1_refused_is_refused(self):
        good = {"template": crd_cases.template("jax")}
        rows = [({"Master": good}, "spec.jaxReplicaSpecs: Invalid value: \"object\": unsupported replica type"),
                ({"worker": good}, "it is \"Worker\""),
                ({"Worker": {"template": crd_cases.template("other")}},
                 "must have at least one container with name jax")]
        for replicas, says in rows:
            self.assert_refused(self.try_job(self.jax(replicas)), says)


class Whole(Rules, Cluster):
    """With the pod template of the server's own OpenAPI document."""

    @classmethod
    def install(cls):
        cls.whole = crds("--pod-schema", "cluster", env=cls.api.environment())
        cls.apply_ours("--server-side", "-f", "-", text=manifest(cls.whole))

    def from_file(self, path):
        document = self.api.folder / "openapi.json"
        document.write_bytes(self.api.get(path))
        return crds("--pod-schema", str(document))

    def test_a_file_of_either_version_says_the_same(self):
        self.assertEqual(self.from_file("/openapi/v3/api/v1"), self.whole)
        done = self.api.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-",
                                text=manifest(self.from_file("/openapi/v2")))
        self.assertEqual(len(done.stdout.splitlines()), len(KINDS))

    def stranger(self):
        path = self.api.folder / "stranger.kubeconfig"
        self.api.write_kubeconfig(path, {"token": "wrong"})
        return path

    def test_a_cluster_that_refuses(self):
        with self.assertRaisesRegex(
            AssertionError, "roundhouse crds: .*/openapi/v3/api/v1: the server answers with 401"):
            crds("--pod-schema", "cluster", "--kubeconfig", str(self.stranger()))

    def warned(self):
        done = subprocess.run([PROGRAM, "crds", "--installed", "cluster"], capture_output=True, text=True, check=True,
                              env=self.api.environment())
        return done.stderr

    def test_versions_that_are_stored(self):
        """What is warned of is what the server refuses."""
        self.assertEqual(self.warned(), "")
        (definition,) = [crd for crd in self.whole if crd["metadata"]["name"] == "mpijobs.kubeflow.org"]
        other = json.loads(json.dumps(definition))
        other["spec"]["versions"].append({**other["spec"]["versions"][0], "name": "v2beta1"})
        other["spec"]["versions"][0]["storage"] = False
        self.addCleanup(self.api.kubectl, "apply", "--server-side", "-f", "-", text=json.dumps(definition))
        self.addCleanup(self.api.kubectl, "patch", "crd", "mpijobs.kubeflow.org", "--subresource=status",
                        "--type=merge", "-p", '{"status":{"storedVersions":["v1"]}}')
        self.api.kubectl("apply", "--server-side", "-f", "-", text=json.dumps(other))
        self.assertRegex(self.warned(), r"^warning: mpijobs\.kubeflow\.org: .* stored as v2beta1 .*\n$")
        done = self.api.kubectl("apply", "--server-side", "-f", "-", text=json.dumps(definition), check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("status.storedVersions[1]", done.stderr)

    def test_explain_goes_all_the_way_down(self):
        path = ("pytorchjob.spec.pytorchReplicaSpecs.template.spec.containers.securityContext.seccompProfile."
                "localhostProfile")
        self.eventually("explain", lambda: self.api.kubectl("explain", path, check=False).returncode == 0)
        self.assertIn("<string>", self.api.kubectl("explain", path).stdout)

    def test_wrong_types_deep_in_a_pod_are_refused(self):
        pod = crd_cases.template(
            "pytorch", affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": 3}})
        self.assert_refused(self.try_job(crd_cases.pytorch(crd_cases.master(template=pod))),
                            "nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution: Invalid value")

    def test_defaults_are_those_of_v1(self):
        job = crd_cases.pytorch(name="defaults")
        pod = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
        pod["containers"][0]["ports"] = [{"containerPort": 1}]
        pod["volumes"] = [{"name": "v", "configMap": {}}]
        self.create(job)
        stored = self.stored(job)["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
        self.assertEqual(stored["containers"][0]["ports"], [{"containerPort": 1, "protocol": "TCP"}])
        self.assertEqual(set(stored) - set(pod), set(), "no default makes a field of the pod")


V1_CRDS = v1_crds() if apiserver.assets() else []


class Stored:
    """Jobs from before, also those that our rules refuse, still live and end under our CRDs."""

    def test_jobs_from_before(self):
        jobs = self.bad_jobs()
        for number, job in enumerate(jobs):
            # one name for all but those whose name is what is wrong
            if job["metadata"]["name"] == "one":
                job["metadata"]["name"] = f"old-{number}"
            self.create(job)
        self.apply_ours("-k", CRDS)
        for job in jobs:
            with self.subTest(json.dumps(job)):
                self.live_and_end(job)

    @staticmethod
    def bad_jobs():
        goldens = [yaml.load(path.read_text(), yaml.CSafeLoader) for path in yaml_files("invalid")
                   if path.stem != "bad-replicas-string"]
        return goldens + [copy.deepcopy(case.job) for case in crd_cases.CASES if case.stored]

    def live_and_end(self, job):
        running = {"conditions": [{"type": "Running", "status": "True"}], "startTime": "2026-01-01T00:00:00Z"}
        ended = {"completionTime": "2026-01-01T00:00:01Z"}
        self.assert_done(self.patch(job, {"status": running}, "/status"), "status")
        self.assertEqual(self.stored(job)["status"], running)
        self.assert_done(self.patch(job, {"metadata": {"labels": {"a": "b"},
                                                       "finalizers": ["test.roundhouse.dev/wait"]}}), "metadata")
        if "spec" in job:
            self.assert_done(self.patch(job, {"spec": {"runPolicy": {"suspend": True}}}), "suspend")
            self.assert_done(self.patch(job, {"spec": {"runPolicy": {"suspend": False}}}), "resume")
        self.assert_done(self.request("DELETE", job), "delete")
        self.assert_done(self.patch(job, {"status": ended}, "/status"), "last status")
        self.assert_done(self.patch(job, {"metadata": {"finalizers": []}}), "finalizers")
        self.assertIn("not found", self.request("GET", job).message)


class StoredWithTypes(Stored, Cluster):
    """Under CRDs that only know the types of fields."""

    @classmethod
    def install(cls):
        cls.api.kubectl("apply", "-f", "-", text=manifest(map(permissive, crds())))
        cls.wait_served(rules=False)


@unittest.skipUnless(V1_CRDS, "V1's module cannot be had")
class StoredWithV1(Stored, Cluster):
    """Under the CRDs that V1 brought along."""

    @classmethod
    def install(cls):
        cls.api.kubectl("apply", "--server-side", "-f", "-", text=manifest(V1_CRDS))
        cls.wait_served(rules=False)


if __name__ == "__main__":
    apiserver.skip_without_assets()
    unittest.main(argv=sys.argv[:1], verbosity=2)
