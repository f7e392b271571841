# SPDX-License-Identifier: Apache-2.0
"""test_layout.py SOURCE CC: every size, offset and constant of the crate is that of roundhouse/plugin.h."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, COMPILER = pathlib.Path(sys.argv[1]), sys.argv[2]
HEADERS = [SOURCE / "include/roundhouse/plugin.h", SOURCE / "include/roundhouse/status.h"]
LIMIT = 500
SKIP = 77
# what the host alone decides
NOT_FOR_PLUGINS = {"RH_OK", "RH_EIO", "RH_ENOENT", "RH_EEXIST", "RH_ECONFLICT"}


def output(words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=LIMIT, **more).stdout


def of_header(folder, names):
    """What a program in C says of these names: "struct", "struct.member" or a constant."""
    lines = ["#include <stdio.h>", '#include "roundhouse/plugin.h"', "int main(void)", "{"]
    for name in names:
        struct, _, member = name.partition(".")
        value = (f"offsetof(struct {struct}, {member})" if member else f"sizeof(struct {struct})" if name.islower()
                 else name)
        lines.append(f'printf("{name} %d\\n", (int)({value}));')
    (folder / "layout.c").write_text("\n".join([*lines, "return 0;", "}"]))
    output([COMPILER, f"-I{SOURCE}/include", "-o", folder / "layout", folder / "layout.c"])
    return output([folder / "layout"])


class Layout(unittest.TestCase):
    def test_same(self):
        with tempfile.TemporaryDirectory() as kept:
            folder = pathlib.Path(kept)
            shutil.copytree(SOURCE / "bindings/rust/roundhouse-plugin", folder / "crate",
                            ignore=shutil.ignore_patterns("target"))
            crate = output([CARGO, "run", "--quiet", "--offline", "--example", "layout"], cwd=folder / "crate")
            names = [line.split()[0] for line in crate.splitlines()]
            self.assertGreater(len(names), 100)
            self.assertEqual(crate, of_header(folder, names))
            self.check_whole(set(names))

    def check_whole(self, names):
        """Nothing of the header is left out."""
        text = re.sub(r"/\*.*?\*/", "", "".join(path.read_text() for path in HEADERS), flags=re.S)
        words = "ABI_M|DEFAULT|STATE|REPLICA|KIND|LOOKUP|OBJECT|PAIR|PHASE|VERDICT|NOTE|RESTART"
        constants = set(re.findall(rf"^#define (RH_(?:{words})\w*) ", text, re.M))
        statuses = set(re.findall(r"(RH_\w+) = ", text)) - NOT_FOR_PLUGINS
        self.assertEqual(constants | statuses, {name for name in names if name.startswith("RH_")})
        for struct, body in re.findall(r"^struct (rh_\w+) \{(.*?)^\};", text, re.S | re.M):
            found = re.findall(r"\(\*(\w+)\)\(|(?<=[\s*])(\w+)(?:\[\d+\])?;", body)
            members = {f"{struct}.{pointer or plain}" for pointer, plain in found}
            self.assertEqual(members, {name for name in names if name.startswith(struct + ".")}, struct)


CARGO = shutil.which("cargo")
if not CARGO:
    print("SKIPPED: cargo is not installed")
    sys.exit(SKIP)
unittest.main(argv=sys.argv[:1], verbosity=2)
