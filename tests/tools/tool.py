# SPDX-License-Identifier: Apache-2.0
"""Loads the script tools/NAME.py as a module."""
import importlib.util
import pathlib


def load(name):
    path = pathlib.Path(__file__).resolve().parents[2] / "tools" / (name + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
