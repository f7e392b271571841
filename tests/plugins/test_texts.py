# SPDX-License-Identifier: Apache-2.0
"""Checks the JSON files that are embedded into plugins against the documentation of include/roundhouse/plugin.h.

usage: test_texts.py PLUGINS, the folder plugins/ of the source tree
"""
import json
import pathlib
import re
import sys
import unittest

PLUGINS = pathlib.Path(sys.argv.pop(1))
STEMS = {"schema", "cel", "columns", "rbac", "contract", "settings", "conditions", "lookups", "status", "resources"}


def unique(pairs):
    """Reject a JSON object that has a member twice: the parser would keep only the last one."""
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names), f"duplicate member in {names}"
    return dict(pairs)


def texts(stem):
    """Yield (path, value) of every file STEM.json."""
    for path in sorted(PLUGINS.glob(f"*/{stem}.json")):
        yield path, json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique)


class Texts(unittest.TestCase):
    def check_schema(self, where, schema):
        self.assertIn(schema.get("type"), {"object", "array", "string", "integer", "boolean"}, where)
        for name, member in schema.get("properties", {}).items():
            self.assertTrue(member.get("description", "").endswith("."), f"{where}.{name}: needs a description")
            self.check_schema(f"{where}.{name}", member)
        if schema["type"] == "array":
            self.check_schema(where + "[]", schema["items"])
        for rule in schema.get("x-kubernetes-validations", []):
            self.assertLessEqual({"rule", "message"}, rule.keys(), where)

    def check_members(self, path, entry, required, optional=()):
        self.assertLessEqual(set(required), entry.keys(), f"{path}: {entry}")
        self.assertLessEqual(entry.keys(), set(required) | set(optional), f"{path}: {entry}")

    def test_file_names_are_known(self):
        for path in PLUGINS.glob("*/*.json"):
            self.assertIn(path.stem, STEMS, path)

    def test_every_plugin_has_a_contract(self):
        folders = {path.parent.name for path in PLUGINS.glob("*/CMakeLists.txt")}
        self.assertEqual(folders, {path.parent.name for path, _ in texts("contract")})

    def test_files_are_embedded(self):
        for path in PLUGINS.glob("*/*.json"):
            cmake = (path.parent / "CMakeLists.txt").read_text(encoding="utf-8")
            self.assertIn(path.name, cmake.split("TEXTS")[1], path)

    def test_sources_have_no_json_tables(self):
        for path in PLUGINS.glob("*/*.c"):
            found = re.search(r'(?m)^static const char \w+\[\] =\s*"[\[{]', path.read_text(encoding="utf-8"))
            self.assertIsNone(found, f"{path}: move the JSON text to a .json file")

    def test_schemas(self):
        for path, value in texts("schema"):
            self.check_schema(str(path), {"type": "object", "properties": value})

    def test_cel_rules(self):
        for path, rules in texts("cel"):
            for rule in rules:
                self.check_members(path, rule, ["at", "rule", "message"], ["reason", "fieldPath", "optionalOldSelf"])
                self.assertIn(rule["at"], {"spec", "replicas"}, path)

    def test_columns(self):
        for path, columns in texts("columns"):
            for column in columns:
                self.check_members(path, column, ["name", "type", "jsonPath"], ["description", "priority", "format"])

    def test_rbac_rules(self):
        for path, rules in texts("rbac"):
            for rule in rules:
                self.check_members(path, rule, ["apiGroups", "resources", "verbs"], ["resourceNames"])
                self.assertNotIn("*", sum(rule.values(), []), f"{path}: name each right")

    def test_contracts(self):
        for path, entries in texts("contract"):
            for entry in entries:
                self.check_members(path, entry, ["what", "name", "value"], ["types", "when", "source"])
                self.assertIn(entry["what"], {"env", "initContainer", "volume", "mount", "field", "object"}, path)

    def test_settings(self):
        for path, settings in texts("settings"):
            for name, setting in settings.items():
                self.assertRegex(name, r"^[a-z][a-z0-9-]*$", path)
                self.check_members(path, setting, ["type", "description"],
                                   ["minimum", "maximum", "enum", "format", "default", "variables"])


if __name__ == "__main__":
    unittest.main()
