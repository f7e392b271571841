# SPDX-License-Identifier: Apache-2.0
"""Check that each built plugin exports its entry function alone and links nothing of the core.

usage: test_exports.py READELF PLUGIN_DIR
"""
import glob
import re
import subprocess
import sys

LIBRARIES = re.compile(r"lib(c|m|pthread|dl|rt)\.so\.|ld-linux|ld-musl|libc\.musl")


def readelf(program, option, path):
    return subprocess.run([program, "--wide", option, path], check=True, capture_output=True, text=True).stdout


def exported(program, path):
    """Names of dynamic symbols that are defined, and that others can see."""
    for line in readelf(program, "--dyn-syms", path).splitlines():
        columns = line.split()
        if len(columns) >= 8 and columns[4] in ("GLOBAL", "WEAK") and columns[6] != "UND":
            yield columns[7]


def check(program, path):
    symbols = sorted(exported(program, path))
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", readelf(program, "--dynamic", path))
    foreign = [name for name in needed if not LIBRARIES.search(name)]
    problems = []
    if symbols != ["rh_plugin_entry_v1"]:
        problems.append(f"exports {symbols}")
    if foreign:
        problems.append(f"links {foreign}")
    for problem in problems:
        print(f"{path}: {problem}")
    return not problems


def main(argv):
    paths = sorted(glob.glob(f"{argv[2]}/*.so"))
    if not paths:
        print(f"no plugin in {argv[2]}")
        return 1
    return 0 if all([check(argv[1], path) for path in paths]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
