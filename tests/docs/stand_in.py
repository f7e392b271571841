#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands in for kubectl, helm and py-spy where there is no cluster: checks what a command of a page gives to them."""
import pathlib
import sys

import yaml


def kubectl(words):
    if "-k" in words:
        folder = pathlib.Path(words[words.index("-k") + 1])
        listed = yaml.load((folder / "kustomization.yaml").read_text(), yaml.CSafeLoader)["resources"]
        assert listed and all((folder / name).exists() for name in listed), f"{folder} lacks what it lists"
    elif words[-2:] == ["-f", "-"]:
        listed = [document for document in yaml.load_all(sys.stdin, yaml.CSafeLoader) if document]
        assert listed and all(document["kind"] and document["metadata"]["name"] for document in listed)
    else:
        raise SystemExit(f"kubectl {words}: no page has such a command")
    print(f"kubectl {words[0]}: {len(listed)} objects")


def helm(words):
    name, chart = words[1], pathlib.Path(words[2])
    assert words[0] == "install" and yaml.load((chart / "Chart.yaml").read_text(), yaml.CSafeLoader)["name"] == name
    value = yaml.load((chart / "values.yaml").read_text(), yaml.CSafeLoader)
    for key in words[words.index("--set") + 1].split("=")[0].split("."):
        value = value[key]
    print(f"helm: chart {name}")


if __name__ == "__main__":
    program = pathlib.Path(sys.argv[0]).name
    if program == "py-spy":
        print("py-spy:", *sys.argv[1:])
    else:
        {"kubectl": kubectl, "helm": helm}[program](sys.argv[1:])
