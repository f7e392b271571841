# SPDX-License-Identifier: Apache-2.0
"""lint: what V1 refused is refused in its words, what it wrongly let in too, and files of any kind get one clear
message."""
import glob
import json
import os
import random
import re

from program import SOURCE, Case, call, job, main

GOLDENS = os.path.join(SOURCE, "tests", "goldens")


def pytorch(folder):
    """The recorded PyTorchJobs of a folder."""
    for path in sorted(glob.glob(os.path.join(GOLDENS, folder, "*.yaml"))):
        with open(path, encoding="utf-8") as f:
            if "kind: PyTorchJob" in f.read():
                yield path


class Goldens(Case):
    def test_what_v1_refused_is_refused_in_its_words(self):
        with open(os.path.join(GOLDENS, "invalid", "messages.json"), encoding="utf-8") as f:
            messages = json.load(f)
        seen = 0
        for path in pytorch("invalid"):
            want = messages[os.path.basename(path)[:-5]]
            done = call("lint", path)
            self.assertEqual(done.returncode, 2, path)
            seen += 1
            if want.get("by") != "webhook":
                continue
            for part in want["message"].strip("[]").split(", spec."):
                self.assertIn(part.removeprefix("spec."), done.stdout, path)
        self.assertGreaterEqual(seen, 8)

    def test_wrong_type_names_field_and_type(self):
        done = call("lint", os.path.join(GOLDENS, "invalid", "bad-replicas-string.yaml"))
        self.assertIn("spec.pytorchReplicaSpecs[Master].replicas: Invalid value", done.stdout)
        self.assertIn('Invalid value: "one": must be of type integer', done.stdout)
        done = call("run", os.path.join(GOLDENS, "invalid", "bad-replicas-string.yaml"))
        self.assertEqual(done.returncode, 2)
        self.assertIn('replicas in body must be of type integer: "string"; it is "one"', done.stderr)

    def test_what_v1_took_passes(self):
        for path in pytorch("objects"):
            done = call("lint", path)
            self.assertEqual((done.returncode, done.stderr), (0, ""), path + done.stdout)


class Hangs(Case):
    """What starts, and then waits for ever: ranks that nobody starts, and variables of one's own that are not what the
    program sees."""

    def lint(self, command, spec='nprocPerNode: "2"', env=""):
        text = job().replace("command: [sh, -c, 'exit 0']",
                             f"command: {command}" + (f"\n            env: {env}" if env else ""))
        path = self.file(text.replace("spec:\n  pytorch", f"spec:\n  {spec}\n  pytorch", 1))
        done = call("lint", path)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_ranks_that_nobody_starts(self):
        words = 'spec.nprocPerNode is "2", so WORLD_SIZE counts that many processes of each replica'
        single = ["[python, train.py]", "[/usr/bin/python3.11, -u, train.py]", '[sh, -c, "cd /x && python3 train.py"]']
        several = ["[torchrun, train.py]", "[python, -m, torch.distributed.run, train.py]",
                   "[python3, -m, torch.distributed.launch, x]", "[accelerate, launch, train.py]",
                   '[sh, -c, "exec torchrun train.py"]', "[./train]",
                   "[python, -m, accelerate.commands.launch, x]"]
        for command in single:
            self.assertIn(words, self.lint(command), command)
        for command in several:
            self.assertNotIn(words, self.lint(command), command)
        for spec in ('nprocPerNode: "1"', "nprocPerNode: auto"):
            self.assertNotIn("WORLD_SIZE", self.lint(single[0], spec), spec)

    def test_variables_that_the_job_replaces(self):
        env = ('[{name: WORLD_SIZE, value: "7"}, {name: MASTER_ADDR, value: one-master-0}, {name: MINE, value: x}, '
               '{name: RANK, value: "5"}]')
        shown = self.lint("[torchrun, x]", "runPolicy: {}", env)
        at = "spec.pytorchReplicaSpecs[Master].template.spec.containers[0]"
        self.assertIn(f'{at}.env[0]: WORLD_SIZE: "7" has no effect: the job sets WORLD_SIZE after it, to "1" in '
                      'Master-0', shown)
        self.assertIn(f'{at}.env[3]: RANK: "5" has no effect', shown)
        # the same value, and a variable of one's own
        self.assertNotIn("MASTER_ADDR", shown)
        self.assertNotIn("MINE", shown)
        done = call("run", "-q", self.file(job(command="'echo $WORLD_SIZE'") + f"            env: {env}\n", "run.yaml"))
        self.assertIn('RANK: "5" has no effect', done.stderr)
        self.assertEqual(done.stdout, "master-0 | 1\n")


class Fields(Case):
    def check(self, text, *parts, status=2):
        done = call("lint", self.file(text))
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        for part in parts:
            self.assertIn(part, done.stdout + done.stderr)

    def test_misspelt_fields_at_every_depth(self):
        base = job()
        rows = [
            (base.replace("spec:\n  pytorch", "sepc:\n  pytorch"), 'did you mean "spec"'),
            (base.replace("restartPolicy: Never", "restartpolicy: Never"),
             'spec.pytorchReplicaSpecs[Master].restartpolicy: Unknown field: did you mean "restartPolicy"'),
            (base.replace("image:", "imgae:"), 'containers[0].imgae: Unknown field: did you mean "image"'),
            (base.replace("spec:\n  pyt", "spec:\n  runPolicy: {backofLimit: 3}\n  pyt"), 'spec.runPolicy.backofLimit'),
            (base.replace("spec:\n  pyt", "spec:\n  frobnicate: 1\n  pyt"),
             "spec.frobnicate: Unknown field: remove it"),
        ]
        for text, part in rows:
            self.check(text, part)

    def test_unknown_fields_of_pods_are_passed_on(self):
        """A newer API server may know them."""
        passed_on = "Kubernetes 1.34 has no such field here; it is passed on to the pods as it is"
        self.check(job() + "            volumeMount: []\n", 'did you mean "volumeMounts"?', passed_on, status=0)
        text = job() + "            frobnicate: 1\n"
        self.check(text, "frobnicate: Unknown field: " + passed_on, status=0)
        self.assertIn("frobnicate: 1", call("render", self.file(text)).stdout)

    def test_misplaced_fields_are_sent_home(self):
        text = job().replace("spec:\n  pyt", "spec:\n  cleanPodPolicy: None\n  pyt")
        self.check(text, "spec.cleanPodPolicy: Unknown field: move it to spec.runPolicy.cleanPodPolicy")
        done = call("render", self.file(text))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warning: spec.cleanPodPolicy: Unknown field: move it to spec.runPolicy.cleanPodPolicy",
                      done.stderr)
        text = job().replace("        spec:\n", "        spec:\n          resources: {limits: {cpu: 1}}\n")
        self.check(text, "template.spec.resources: Kubernetes 1.34 takes this for cpu and memory of the pod", status=0)
        # MPI has one at the top, too
        mpi = job().replace("PyTorchJob", "MPIJob").replace("pytorchReplicaSpecs",
                                                            "cleanPodPolicy: None\n  mpiReplicaSpecs")
        self.check(mpi.replace("Master", "Launcher"), "1 job, no error, 0 warnings", status=0)

    def test_null_in_a_map_is_absent(self):
        text = job() + ("            resources: {limits: {cpu: , memory: 1Gi}, requests: }\n            env: [{name: "
                        "A, value: }]\n"
                        "          nodeSelector: {a: }\n    Worker:\n")
        self.check(text, "1 job, no error, 0 warnings", status=0)
        done = call("render", self.file(text))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotIn("null", done.stdout)
        self.assertIn("nodeSelector: {}", done.stdout)
        self.check(job() + "            args: [a, null]\n", "containers[0].args[1]: Invalid value: null:")

    def test_mounts_of_what_the_plugin_adds(self):
        text = """apiVersion: kubeflow.org/v1
kind: MPIJob
metadata: {name: mounts}
spec:
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          initContainers:
          - name: wait
            image: i
            volumeMounts: [{name: mpi-job-config, mountPath: /a}, {name: mpi-job-kubectl, mountPath: /b}]
          containers: [{name: mpi, image: i}]
    Worker:
      template:
        spec:
          containers: [{name: mpi, image: i, volumeMounts: [{name: %s, mountPath: /a}]}]
"""
        self.check(text % "mpi-job-config", "1 job, no error", status=0)
        self.assertEqual(call("render", self.file(text % "mpi-job-config")).returncode, 0)
        for name in ("mpi-job-kubectl", "none"):
            # workers have no kubectl
            self.check(text % name, 'spec.mpiReplicaSpecs[Worker].template.spec.containers[0].volumeMounts[0].name: '
                       f'Not found: "{name}"')

    def test_duplicates(self):
        self.check(job() + "            env: [{name: A}, {name: A}]\n",
                   'containers[0].env[1]: Duplicate value: {"name":"A"}')
        self.check(job() + "            ports: [{containerPort: 1}, {containerPort: 1, protocol: TCP}]\n",
                   "ports[1]: Duplicate value")
        self.check(job() + "          volumes: [{name: a, emptyDir: {}}, {name: a, emptyDir: {}}]\n",
                   "volumes[1].name: Duplicate value")

    def test_quantities(self):
        for text, good in (("${CPU}", False), ("", False), ("1e", False), ("1e1.5", False), ("-1", False),
                           ("1 Gi", False), ("500m", True), ("1e3", True), ("1E-2", True), ("+2", True), (".5", True),
                           ("1.", True), ("12E", True), ("3Ki", True)):
            text = job() + f"            resources: {{limits: {{cpu: '{text}'}}}}\n"
            self.check(text, "limits[cpu]: Invalid value" if not good else "no error", status=0 if good else 2)
        self.check(job() + "            resources: {limits: {cpu: 0.5}}\n", "must be of type integer or string")

    def test_status_is_not_looked_at(self):
        text = job() + "status: {conditions: [{type: Succeeded, status: 'True'}]}\n"
        self.check(text, "1 job, no error", status=0)
        self.assertEqual(call("render", self.file(text)).stdout, call("render", self.file(job())).stdout)
        self.check(job() + "status: {conditions: none}\n", "1 job, no error", status=0)

    def test_generate_name(self):
        text = job().replace("name: one", "generateName: one-")
        self.check(text, "1 job, no error", status=0)
        self.check(text.replace("image:", "image: ''\n            imge:"), "PyTorchJob one-: error:")
        first, second = (call("render", self.file(text)).stdout for _ in range(2))
        self.assertEqual(first, second)
        self.assertIn("name: one-bbbbb-master-0", first)
        both = call("render", "-", text=text + "---\n" + text).stdout
        self.assertIn("name: one-bbbbc-master-0", both)
        path = self.file(text.replace("exit 0", "echo I am $HOSTNAME"))
        names = [re.search(r"one-[bcdfghjklmnpqrstvwxz2456789]{5}\b", call("run", path).stdout)[0] for _ in range(2)]
        self.assertNotEqual(*names)

    def test_apis_of_others(self):
        rows = [("kubeflow.org/v1alpha2", "MPIJob", "MPI Operator"),
                ("kubeflow.org/v2alpha1", "TrainJob", "Kubeflow Trainer"),
                ("kubeflow.org/v1beta2", "TFJob", "came before Training Operator V1"),
                ("xgboostjob.kubeflow.org/v1", "XGBoostJob", "former XGBoost operator")]
        for version, kind, whose in rows:
            path = self.file(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{}}\n")
            for command in ("lint", "run", "render"):
                done = call(command, path)
                self.assertEqual(done.returncode, 2, (command, kind))
                self.assertIn(f'no plugin serves kind "{kind}" of {version}: it is ', done.stdout + done.stderr)
                self.assertIn(whose, done.stdout + done.stderr)
                self.assertNotIn("is there as", done.stdout + done.stderr)

    def test_wrong_types_in_the_template(self):
        self.check(job() + "            env: {A: b}\n", "env", "must be of type array")
        self.check(job() + "            tty: 'yes'\n", "tty", "must be of type boolean")

    def test_policies_and_long_names(self):
        self.check(job().replace("Never", "Sometimes"), "restartPolicy", "Sometimes", "OnFailure")
        self.check(job(name="a" * 60), "63")

    def test_json_report(self):
        done = call("lint", "-o", "json", self.file(job().replace("image:", "imgae:")))
        rows = json.loads(done.stdout)
        self.assertEqual(done.returncode, 2)
        misspelt = [r for r in rows if r["path"].endswith("imgae")]
        self.assertEqual(len(misspelt), 1)
        self.assertEqual((misspelt[0]["severity"], misspelt[0]["kind"], misspelt[0]["name"]),
                         ("warning", "PyTorchJob", "one"))

    def test_json_report_has_files_that_cannot_be_read(self):
        broken, missing = self.file("a: [1\n"), os.path.join(self.folder, "missing.yaml")
        done = call("lint", "-o", "json", broken, missing)
        rows = json.loads(done.stdout)
        self.assertEqual((done.returncode, done.stderr), (2, ""))
        self.assertEqual([(r["source"], r["severity"], r["kind"]) for r in rows],
                         [(broken, "error", ""), (missing, "error", "")])
        self.assertIn("line 2", rows[0]["detail"])

    def test_a_kind_of_ours_in_another_group_is_refused(self):
        """V0's group, and a typing error: neither is an object that only stands beside the jobs."""
        for group in ("kubeflow/v1", "kubeflow.org.v1", "v1"):
            path = self.file(job() + "---\n" + job("two").replace("kubeflow.org/v1", group))
            for command in ("lint", "run", "render"):
                done = call(command, path)
                self.assertEqual(done.returncode, 2, (command, group))
                self.assertIn(f'no plugin serves kind "PyTorchJob" of {group}', done.stdout + done.stderr)

    def test_a_file_without_a_job_says_why(self):
        """As when the plugin of the kind is not there."""
        path = self.file(job().replace("kubeflow.org", "loom.example.com").replace("PyTorchJob", "LoomJob"))
        expected = 'no plugin serves kind "LoomJob" of loom.example.com/v1; there are MPIJob,'
        done = call("lint", path)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"LoomJob one: error: kind: there is no job in the file: {expected}", done.stdout)
        for command in ("run", "render"):
            done = call(command, path)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"no job in {path}: {expected}", done.stderr)

    def test_strict(self):
        """Warnings are errors, and so is an object beside the jobs that was meant to be one."""
        odd = job().replace("metadata:", "metadata:\n  annotations: {roundhouse.dev/restrat: job}", 1)
        path = self.file(odd if "restrat" in odd else job().replace("metadata: {",
                "metadata: {annotations: {roundhouse.dev/restrat: job}, "))
        done = call("lint", path)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("warning: metadata.annotations[roundhouse.dev/restrat]", done.stdout)
        done = call("lint", "--strict", path)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("error: metadata.annotations[roundhouse.dev/restrat]", done.stdout)
        self.assertEqual({row["severity"] for row in json.loads(call("lint", "--strict", "-o", "json", path).stdout)},
                         {"error"})
        path = self.file(job() + "---\n" + job("two").replace("kubeflow.org", "loom.example.com").replace("PyTorchJob",
                                                                                                          "LoomJob"))
        self.assertEqual(call("lint", path).returncode, 0)
        done = call("lint", "--strict", path)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn('LoomJob two: error: kind: no plugin serves kind "LoomJob"', done.stdout)

    def test_rules_and_limits_of_a_schema(self):
        """Each is reported once: the plugin's words come before those of its schema."""
        text = job().replace("spec:\n", "spec:\n  elasticPolicy: {minReplicas: 3, maxReplicas: 2, rdzvPort: 0}\n", 1)
        done = call("lint", self.file(text))
        self.assertEqual(done.returncode, 2, done.stdout)
        for words in ("spec.elasticPolicy.rdzvPort: Invalid value: 0: must be ",
                      "spec.elasticPolicy.minReplicas: "):
            self.assertEqual(done.stdout.count(words), 1, done.stdout)

    def test_run_and_render_warn_of_unknown_fields(self):
        """The job goes on without the field, as on a cluster, but nobody has to guess why it has no effect."""
        path = self.file(job(command="'echo ran'").replace("restartPolicy:", "restartPolcy:"))
        expected = ('job.yaml: PyTorchJob one: warning: spec.pytorchReplicaSpecs[Master].restartPolcy: Unknown field: '
                    'did you mean "restartPolicy"?')
        for command, out in (("run", "ran"), ("render", "kind: Pod")):
            done = call(command, path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(out, done.stdout)
            self.assertEqual(sum(expected in line for line in done.stderr.splitlines()), 1, done.stderr)


class Files(Case):
    def refused(self, path, *parts, command="lint"):
        done = call(command, path)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertLess(len(done.stderr.splitlines()), 4, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_broken_files(self):
        rows = [
            ("a: [1, 2\n", "line"),
            ("a: 1\na: 2\n", "a"),
            ("\tkey: 1\n", "line"),
            ("a: &x [1]\nb: *y\n", "line"),
            ("[" * 5000 + "]" * 5000, ""),
            ("{\"a\": 1, \"a\": 2}", "a"),
            ("just text\n", ""),
            ("a: !!python/object:os.system x\n", ""),
            ("\xff\xfe", ""),
            ("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n", "metadata.name"),
        ]
        for text, part in rows:
            for command in ("lint", "run", "render"):
                self.refused(self.file(text), "job.yaml", part, command=command)

    def test_aliases_that_explode(self):
        lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
        lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
        self.refused(self.file("\n".join(lines) + "\n"), "alias")

    def test_huge_file(self):
        path = os.path.join(self.folder, "huge.yaml")
        with open(path, "wb") as out:
            out.truncate(100 * 1024 * 1024)
        self.refused(path, "huge.yaml")

    def test_folder_and_missing_file(self):
        self.refused(self.folder, self.folder)
        self.refused(os.path.join(self.folder, "missing.yaml"), "missing.yaml")

    def test_mutations_never_crash(self):
        chooser = random.Random(7)
        with open(os.path.join(GOLDENS, "objects", "pt-elastic-etcd-hpa.yaml"), "rb") as f:
            base = f.read()
        for _ in range(40):
            data = bytearray(base)
            for _ in range(chooser.randint(1, 6)):
                at = chooser.randrange(len(data))
                data[at:at + chooser.randint(0, 3)] = bytes(chooser.choices(b"\n\t :-[]{}\"'&*%!|>0aZ\xff",
                                                                            k=chooser.randint(0, 3)))
            path = os.path.join(self.folder, "m.yaml")
            with open(path, "wb") as out:
                out.write(data)
            self.assertIn(call("lint", path).returncode, (0, 2))


class Annotations(Case):
    def test_misspelt_one_of_ours_is_a_warning(self):
        text = job().replace("  name: one", "  name: one\n  annotations: {roundhouse.dev/restrt: job, "
                             "example.org/own: x}")
        done = call("lint", self.file(text))
        self.assertEqual(done.returncode, 0)
        self.assertIn('warning: metadata.annotations[roundhouse.dev/restrt]: unknown annotation', done.stdout)
        self.assertIn('did you mean "roundhouse.dev/restart"', done.stdout)
        self.assertNotIn("example.org", done.stdout)


class Streams(Case):
    def test_byte_order_mark_says_nothing(self):
        for text in (job(), json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})):
            done = call("lint", self.file("\ufeff" + text))
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_standard_input_and_several_documents(self):
        done = call("lint", "-", text=job("one") + "---\n" + job("two"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("2 jobs, no error", done.stdout)

    def test_two_jobs_of_one_name_are_refused(self):
        done = call("lint", "-", text=job("one") + "---\n" + job("one"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("one", done.stderr)


main()
