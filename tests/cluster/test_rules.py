# SPDX-License-Identifier: Apache-2.0
"""test_rules.py PROGRAM PLUGIN: lint judges rules and limits of a schema as a real API server does, in the same words.

The rules are those of definitions/cel_cases.py. PLUGIN is rules.so, which declares what the test gives it.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import apiserver
from definitions import cel_cases

PROGRAM, PLUGIN = sys.argv[1:3]
PATH = "/apis/example.org/v1/namespaces/default/rulejobs?dryRun=All&fieldValidation=Ignore"


def job(name, spec):
    template = {"spec": {"containers": [{"name": "rule", "image": "example/train:1"}]}}
    return {"apiVersion": "example.org/v1", "kind": "RuleJob", "metadata": {"name": name, "namespace": "default"},
            "spec": {"ruleReplicaSpecs": {"Worker": {"template": template}}, **spec}}


def with_rule(schema, *rules):
    return {**schema, "x-kubernetes-validations": [rule if isinstance(rule, dict) else {"rule": rule}
                                                   for rule in rules]}


class Rules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = cls.enterClassContext(apiserver.ApiServer())
        cls.plugins = cls.api.folder / "plugins"
        cls.plugins.mkdir()
        shutil.copy(PLUGIN, cls.plugins)

    def call(self, *words, fields=None, cel=None):
        """-> what the program says with a plugin of these fields of spec and cel_rules."""
        files = {"RULES_SCHEMA": fields or {}, "RULES_CEL": cel or []}
        environment = {**os.environ}
        for name, value in files.items():
            environment[name] = str(self.api.folder / f"{name}.json")
            pathlib.Path(environment[name]).write_text(json.dumps(value), encoding="utf-8")
        # the plugin reads the files, which it could not in a process of its own
        return subprocess.run([PROGRAM, *map(str, words), "--plugin-isolation=none"], capture_output=True, text=True,
                              check=False, env=environment)

    def define(self, fields, cel=None):
        """The definition of RuleJob on the server is that of a plugin with these."""
        made = self.call("crds", "--plugins", self.plugins, "--kind", "RuleJob", fields=fields, cel=cel)
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        self.api.kubectl("delete", "crd", "rulejobs.example.org", "--ignore-not-found", "--wait=true")
        self.api.kubectl("create", "-f", "-", text=made.stdout)
        self.api.wait_served()

    def lint(self, jobs, fields, cel=None):
        """-> {name: [(path, detail)]}"""
        files = []
        for one in jobs:
            files.append(self.api.folder / f"{one['metadata']['name']}.json")
            files[-1].write_text(json.dumps(one), encoding="utf-8")
        done = self.call("lint", "-o", "json", "--plugins", self.plugins, *files, fields=fields, cel=cel)
        self.assertEqual(done.stderr, "")
        found = {one["metadata"]["name"]: [] for one in jobs}
        for row in json.loads(done.stdout):
            self.assertEqual(row["severity"], "error", row)
            found[pathlib.Path(row["source"]).stem].append((row["path"], row["detail"]))
        return found

    def serve(self, jobs, keep=False):
        """-> {name: [(path, detail)]} as the server refuses them; keep: also what it gives no field for."""
        found = {}
        for one in jobs:
            status, text = self.api.request("POST", PATH, json.dumps(one))
            answer = json.loads(text)
            self.assertIn(status, (201, 422), answer)
            causes = answer.get("details", {}).get("causes", []) if status == 422 else []
            # it adds one without a field: that rules were not checked
            causes = [cause for cause in causes if cause["field"] != "<nil>" or keep]
            found[one["metadata"]["name"]] = [(cause["field"], cause["message"]) for cause in causes]
        return found

    def place(self, path, detail):
        """-> a path of lint as the server writes it: keys of maps behind a dot, and a member that is missing with its
        name."""
        path = re.sub(r"\[([^]\d]+)\]", r".\1", path)
        missing = re.search(r'member "(.*)" is missing', detail)
        return f"{path}.{missing[1]}" if missing else path

    def compare(self, cases, fields, cel=None, words=True):
        """cases: [(name, spec, whether it is valid)]"""
        jobs = [job(name, spec) for name, spec, _ in cases]
        self.define(fields, cel)
        lint, server = self.lint(jobs, fields, cel), self.serve(jobs)
        for name, spec, valid in cases:
            with self.subTest(name=name, spec=spec, schema=[fields.get(key) for key in spec]):
                self.assertEqual(server[name] == [], valid, server[name])
                if words:
                    self.assertEqual(lint[name], server[name])
                else:
                    self.assertEqual([self.place(*row) for row in lint[name]], [path for path, _ in server[name]],
                                     lint[name])

    def test_rules(self):
        self.assertGreaterEqual(len(cel_cases.GOOD), 100)
        fields = {f"f{i}": with_rule(schema, rule) for i, (schema, rule, _, _) in enumerate(cel_cases.GOOD)}
        cases = []
        for i, (_, _, good, bad) in enumerate(cel_cases.GOOD):
            cases += [(f"good-{i}", {f"f{i}": good}, True), (f"bad-{i}", {f"f{i}": bad}, False)]
        self.compare(cases, fields)

    def test_limits(self):
        fields = {f"f{i}": schema for i, (schema, _, _) in enumerate(cel_cases.LIMITS)}
        cases = []
        for i, (_, good, bad) in enumerate(cel_cases.LIMITS):
            cases.append((f"good-{i}", {f"f{i}": good}, True))
            if bad is not None:
                cases.append((f"bad-{i}", {f"f{i}": bad}, False))
        self.compare(cases, fields, words=False)

    def test_alternatives(self):
        """anyOf and its like: the server names the value in the text and not in the field, and adds why one alternative
        does not fit."""
        fields = {f"f{i}": schema for i, (schema, _, _) in enumerate(cel_cases.COMPOSED)}
        cases = [(f"{kind}-{i}-{j}", {f"f{i}": value}, kind == "good") for i,
                 (_, good, bad) in enumerate(cel_cases.COMPOSED)
                 for kind, values in (("good", good), ("bad", bad)) for j, value in enumerate(values)]
        jobs = [job(name, spec) for name, spec, _ in cases]
        self.define(fields)
        lint, server = self.lint(jobs, fields), self.serve(jobs, keep=True)
        for name, spec, valid in cases:
            with self.subTest(name=name, spec=spec, schema=[fields.get(key) for key in spec]):
                refused = [found.groups() for _, message in server[name]
                           for found in [re.search(r'"([^"]*)" (must (?:not )?validate .*)', message)] if found]
                found = [(path, found[1]) for path, detail in lint[name]
                         for found in [re.match(r"Invalid value: (must (?:not )?validate [^:]*)", detail)] if found]
                self.assertEqual(server[name] == [], valid, server[name])
                self.assertEqual(lint[name] == [], valid, lint[name])
                self.assertLessEqual(set(found), set(refused), server[name])

    def test_messages(self):
        fields = {
            "plain": with_rule(cel_cases.INT, {"rule": "self > 1", "message": "must be more"}),
            "words": with_rule(cel_cases.INT, {"rule": "self > 1", "message": "m",
                                               "messageExpression": "'not ' + (self > 0 ? 'more' : 'less')"}),
            "silent": with_rule(cel_cases.INT, {"rule": "self > 1", "message": "m",
                                                "messageExpression": "self > 0 ? 'x' : ''"}),
            "broken": with_rule(cel_cases.INT, {"rule": "self > 1", "message": "m",
                                                "messageExpression": "1 / self > 0 ? 'x' : 'y'"}),
            "forbidden": with_rule(cel_cases.INT, {"rule": "self > 1", "message": "m",
                                                   "reason": "FieldValueForbidden"}),
            "needed": with_rule(cel_cases.INT, {"rule": "self > 1", "message": "m", "reason": "FieldValueRequired"}),
            "twice": with_rule(cel_cases.INT, {"rule": "self > 1", "message": "m", "reason": "FieldValueDuplicate"}),
            "pair": with_rule(cel_cases.PAIR, {"rule": "self.a > 1", "message": "m", "fieldPath": ".a"}),
            "old": with_rule(cel_cases.INT, {"rule": "self == oldSelf"}),
            "maybe": with_rule(cel_cases.INT, {"rule": "oldSelf.hasValue() || self > 1", "optionalOldSelf": True}),
            "both": with_rule(cel_cases.INT, "self > 1", "self > 2"),
        }
        cases = [(name, {name: value}, valid) for name, value, valid in (
            ("plain", 1, False), ("words", 1, False), ("silent", 0, False), ("broken", 0, False),
            ("forbidden", 1, False), ("needed", 1, False), ("twice", 1, False), ("pair", {"a": 1}, False),
            ("old", 1, True), ("maybe", 1, False), ("both", 1, False))]
        self.compare(cases, fields)

    def test_rules_of_a_kind(self):
        fields = {"size": cel_cases.INT, "deep": cel_cases.PAIR}
        cel = [{"at": "spec", "rule": "!has(self.size) || self.size > 1", "message": "must be more",
                "fieldPath": ".size"},
               {"at": "replicas", "rule": "self.all(t, !has(self[t].replicas) || self[t].replicas < 5)",
                "message": "too many"},
               {"at": "spec", "rule": "!has(self.deep) || self.deep.a == "
                "self.ruleReplicaSpecs['Worker'].?replicas.orValue(1)"}]
        cases = [("fits", {"size": 2}, True), ("small", {"size": 1}, False), ("uneven", {"deep": {"a": 7}}, False),
                 ("even", {"deep": {"a": 1}}, True)]
        self.compare(cases, fields, cel)

    def check(self, schema, rule):
        return self.call("plugins", "check", self.plugins / pathlib.Path(PLUGIN).name,
                         fields={"field": with_rule(schema, rule)})

    def server_takes(self, number, schema, rule):
        """-> "", or why the server refuses the definition."""
        name = f"badjob{number}s"
        crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
               "metadata": {"name": f"{name}.example.org"},
               "spec": {"group": "example.org", "scope": "Namespaced",
                        "names": {"kind": f"BadJob{number}", "plural": name},
                        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                            "type": "object", "properties": {"spec": {"type": "object", "properties": {
                                "field": with_rule(schema, rule)}}}}}}]}}
        status, text = self.api.request("POST", apiserver.CRDS + "?dryRun=All", json.dumps(crd))
        return "" if status == 201 else json.loads(text)["message"]

    def test_rules_that_do_not_compile(self):
        for number, (schema, rule) in enumerate(cel_cases.BAD):
            with self.subTest(rule=rule):
                self.assertNotEqual(self.server_takes(number, schema, rule), "", "the server takes it")
                done = self.check(schema, rule)
                self.assertNotEqual(done.returncode, 0, done.stdout)
                if rule:
                    self.assertIn("spec_schema.field.x-kubernetes-validations[0].rule: ", done.stdout + done.stderr)

    def test_what_is_not_known_is_refused_by_name(self):
        for number, (schema, rule) in enumerate(cel_cases.NOT_KNOWN):
            with self.subTest(rule=rule):
                self.assertEqual(self.server_takes(number, schema, rule), "")
                done = self.check(schema, rule)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("x-kubernetes-validations[0].rule: ", done.stdout + done.stderr)

    def test_what_only_the_server_refuses(self):
        for number, (schema, rule) in enumerate(cel_cases.ONLY_SERVER):
            with self.subTest(rule=rule):
                self.assertIn("cost", self.server_takes(number, schema, rule))
                self.assertEqual(self.check(schema, rule).returncode, 0)


if __name__ == "__main__":
    apiserver.skip_without_assets()
    unittest.main(argv=sys.argv[:1], verbosity=2)
