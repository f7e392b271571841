#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cut what a pod template may hold out of a Kubernetes OpenAPI document.

usage: pod_schema.py SWAGGER.json [KUBERNETES_VERSION] > conf/pod-template.openapi.json

SWAGGER.json is what `kubectl get --raw /openapi/v2` prints, or api/openapi-spec/swagger.json of a Kubernetes release,
which does not say its version: then it is given ("1.34"). tests/cluster/test_fields.py fails when the API server of the
tests has other fields; `python3 tests/cluster/test_fields.py --write` brings the file up to date.

Descriptions are dropped; what is left is enough to find unknown fields and values of a wrong type.
"""
import json
import sys

ROOT = "io.k8s.api.core.v1.PodTemplateSpec"
# What OpenAPI v2 cannot express is added here: they are written as a number or a text; a number may have to be an
# int32.
INT_OR_STRING = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"x-kubernetes-int-or-string": True},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"x-kubernetes-int-or-string": True, "format": "int32"},
}


def short(name):
    return name.rsplit(".", 1)[-1]


def shrink(node, seen):
    """A schema node with its references shortened; definitions that it needs are added to seen."""
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[-1]
        seen.setdefault(short(name), name)
        return {"$ref": short(name)}
    kept = {}
    if node.get("x-kubernetes-int-or-string") or node.get("format") == "int-or-string":
        return {"x-kubernetes-int-or-string": True}
    if "type" in node:
        kept["type"] = node["type"]
    if node.get("type") == "integer" and "format" in node:
        kept["format"] = node["format"]
    if "properties" in node:
        kept["properties"] = {k: shrink(v, seen) for k, v in sorted(node["properties"].items())}
    if "items" in node:
        kept["items"] = shrink(node["items"], seen)
    if "additionalProperties" in node:
        kept["additionalProperties"] = shrink(node["additionalProperties"], seen)
    if "required" in node:
        kept["required"] = sorted(node["required"])
    return kept


def cut(document, version=None):
    """-> what the file holds: a table of the types that a pod template needs."""
    definitions = document["definitions"]
    seen, done = {short(ROOT): ROOT}, {}
    while len(done) < len(seen):
        for key, name in list(seen.items()):
            if key in done:
                continue
            done[key] = INT_OR_STRING.get(name) or shrink(definitions[name], seen)
    return {"kubernetes": version or document["info"]["version"], "root": short(ROOT),
            "definitions": dict(sorted(done.items()))}


def text(table):
    """The table as the file has it: a line for each definition."""
    rows = [f"  {json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in table["definitions"].items()]
    return "\n".join(["{", f' "kubernetes": {json.dumps(table["kubernetes"])},',
                      f' "root": {json.dumps(table["root"])},', ' "definitions": {', ",\n".join(rows), " }", "}", ""])


def main(argv):
    with open(argv[1], encoding="utf-8") as f:
        sys.stdout.write(text(cut(json.load(f), argv[2] if len(argv) > 2 else None)))


if __name__ == "__main__":
    main(sys.argv)
