# SPDX-License-Identifier: Apache-2.0
"""explain: what a kind is, from its plugin, on a page for people and as JSON; and clear words for what is not there."""
import json

from program import Case, call, main

KINDS = ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "MPIJob")


class Kinds(Case):
    def page(self, what):
        done = call("explain", what)
        self.assertEqual((done.returncode, done.stderr), (0, ""), what)
        return done.stdout

    def test_every_kind_has_a_page_with_all_parts(self):
        for kind in KINDS:
            text = self.page(kind)
            self.assertIn(f"KIND       {kind} (", text)
            for part in ("kubeflow.org/v1", "PLUGIN", "REPLICA TYPES", "RULES", "FIELDS",
                         "spec.runPolicy.suspend <boolean>"):
                self.assertIn(part, text, kind)
            self.assertIn("\nENVIRONMENT\n", text)
            for name in (kind.lower(), kind.lower() + "s", kind.upper()):
                self.assertEqual(self.page(name), text)

    def test_lines_of_the_page(self):
        text = self.page("pytorchjob")
        for part in ("CONTAINER  pytorch\n", "PORT       pytorchjob-port 23456\n",
                     "  Master     default 1; exactly 1; must be written; its pods have the master role\n",
                     "  spec.elasticPolicy.rdzvBackend <string>\n",
                     "\n      default c10d\n",
                     "  WORLD_SIZE\n      all replicas times nprocPerNode",
                     "; when the job has a Master\n      from spec.nprocPerNode\n",
                     "\nSETTINGS in section [plugin pytorch] of roundhouse.ini\n  init-container-image <string>\n",
                     "\n      How often it tries.\n      default 100\n",
                     "\nFURTHER ADDITIONS\n  initContainer init-pytorch (Worker)\n"):
            self.assertIn(part, text)

    def test_every_field_of_a_plugin_is_described(self):
        for kind in KINDS:
            for field in json.loads(call("explain", "-o", "json", kind).stdout)["fields"]:
                self.assertTrue(field.get("description"), (kind, field))
                self.assertTrue(field["type"], (kind, field))

    def test_every_listed_field_has_a_page(self):
        for kind in ("pytorchjob", "mpijob"):
            page = json.loads(call("explain", "-o", "json", kind).stdout)
            for field in page["fields"]:
                own = json.loads(call("explain", "-o", "json", f"{kind}.{field['path'].replace('[TYPE]', '')}").stdout)
                for key in ("path", "type", "description", "default", "rules"):
                    self.assertEqual(own.get(key), field.get(key), field["path"])


class Fields(Case):
    def test_one_field(self):
        text = call("explain", "tfjob.spec.tfReplicaSpecs.worker.restartPolicy").stdout
        self.assertIn("FIELD      spec.tfReplicaSpecs[Worker].restartPolicy <string>\n", text)
        self.assertIn("           default Never", text)
        self.assertNotIn("ENVIRONMENT", text)
        self.assertNotIn("FIELDS", text)

    def test_status(self):
        text = call("explain", "pytorchjob.status.conditions").stdout
        self.assertIn("FIELD      status.conditions <[]object>\n", text)
        self.assertIn("  status.conditions[].type <string>\n", text)
        self.assertIn("status.replicaStatuses <map[string]object>", call("explain", "pytorchjob.status").stdout)
        self.assertIn("status.conditions[].lastTransitionTime <string>",
                      call("explain", "mpijobs.status.conditions.lastTransitionTime").stdout)

    def test_group_as_kubectl_takes_it(self):
        for name in ("pytorchjobs.kubeflow.org", "pytorchjob.v1.kubeflow.org", "PyTorchJob.KUBEFLOW.org"):
            self.assertEqual(call("explain", name).stdout, call("explain", "pytorchjob").stdout, name)
            self.assertEqual(call("explain", f"{name}.spec.runPolicy").stdout,
                             call("explain", "pytorchjob.spec.runPolicy").stdout)

    def test_into_the_pod_template(self):
        text = call("explain", "paddlejob.spec.paddleReplicaSpecs.Worker.template.spec.containers.env").stdout
        self.assertIn("containers[].env <[]EnvVar>", text)
        self.assertIn("  spec.paddleReplicaSpecs[Worker].template.spec.containers[].env[].valueFrom <EnvVarSource>\n",
                      text)


class Mistakes(Case):
    def refused(self, *words, part):
        done = call(*words)
        self.assertEqual((done.returncode, done.stdout), (2, ""), words)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(part, done.stderr)

    def test_what_is_not_there(self):
        self.refused("explain", "tfjbo", part="did you mean TFJob?")
        self.refused("explain", "tfjobs.kubeflow.com", part='it has no field "kubeflow"; there are')
        self.refused("explain", "tfjob.status.condition",
                     part='TFJob: status has no field "condition"; there are conditions,')
        self.refused("explain", "tfjob.spec.sucessPolicy",
                     part='TFJob: spec has no field "sucessPolicy"; there are successPolicy,')
        self.refused("explain", "mpijob.spec.mpiReplicaSpecs.Chief", part="there are Worker, Launcher, replicas,")

    def test_operands(self):
        self.refused("explain", part="missing operand")
        self.refused("explain", "tfjob", "mpijob", part="too many operands")
        self.refused("explain", "-o", "yaml", "tfjob", part="none of text|json")

    def test_the_plugin_that_is_not_allowed_is_named(self):
        ini = self.file("[plugins]\nallow = pytorch\n", "roundhouse.ini")
        self.refused("explain", "--config", ini, "TFJob", part="; [plugins] allow leaves out ")
        self.refused("explain", "--config", ini, "TFJob", part='/tensorflow.so"')

    def test_completion_and_manual_have_it(self):
        self.assertIn("explain", call("completion", "bash").stdout)
        self.assertIn("explain", call("completion", "fish").stdout)
        self.assertIn(".SS explain", call("man").stdout)


main()
