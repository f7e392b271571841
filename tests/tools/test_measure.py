# SPDX-License-Identifier: Apache-2.0
"""Each rule is broken once, in a tree of its own, and must be reported at that place and nothing else."""
import contextlib
import io
import pathlib
import tempfile
import unittest

import tool

SPDX_C = "/* SPDX-License-Identifier: Apache-2.0 */\n"
SHORT = SPDX_C + "int f(void)\n{\n}\n" * 40
SPDX_PY = "# SPDX-License-Identifier: Apache-2.0\n"
# name: (file, text, words of the one report)
BROKEN = {
    "long function": ("core/base/a.c", SPDX_C + "int f(void)\n{\n" + "\tf();\n" * 58 + "}\n", "a.c:2: f has 61 lines"),
    "nesting": ("core/base/a.c", SPDX_C + "int f(void)\n{\n{{{{{ }}}}}\n}\n", "a.c:2: f nests 5"),
    "parameters": ("core/base/a.c", SPDX_C + "int f(int a, int b, int c, int d, int e, int g, int h)\n{\n}\n",
                   "f has 7 parameters"),
    "long file": ("core/base/a.c", SPDX_C + "\n" * 600, "601 lines"),
    "long file of tests": ("tests/base/a.c", SPDX_C + "\n" * 800, "801 lines"),
    "long file of the library": ("comm/core/a.c", SPDX_C + "\n" * 600, "601 lines"),
    "long private header": ("core/base/a.h", SPDX_C + "\n" * 150, "a.h: 151 lines, at most 150"),
    "long header of the engine": ("core/engine/carry/child/a.h", SPDX_C + "\n" * 80, "a.h: 81 lines, at most 80"),
    "banned call": ("plugins/p/a.c", SPDX_C + "void f(char *s)\n{\n\tstrcpy(s, \"x\");\n}\n",
                    "a.c:4: strcpy() is banned"),
    "thread": ("core/kube/a.c", SPDX_C + "void f(void)\n{\n\tuv_queue_work(0, 0, 0, 0);\n}\n",
               "a.c:4: uv_queue_work() makes a thread"),
    "mark": ("core/base/a.c", SPDX_C + "/* FIXME: later */\n", "a.c:2: FIXME"),
    "word that left": ("core/base/a.c", SPDX_C + "/* The peer is told. */\n", 'a.c:2: "told" left the tree'),
    "word that left in a script": ("check", SPDX_PY + "# Nobody is told.\n", 'check:2: "told" left the tree'),
    "name that explains nothing": ("core/base/a.c", SPDX_C + "/* wanted */\nint f(int wanted);\n",
                                   'a.c:3: "wanted" explains nothing'),
    "word in a name": ("examples/README.md", "`rh_engine_tell()` emits it.\n", 'README.md:1: "tell" left the tree'),
    "licence": ("core/base/a.c", "int f(void);\n", "a.c:1: the first line"),
    "licence of a script": ("tools/x.py", "#!/usr/bin/python3\nimport sys\n", "x.py:1: the first lines"),
    "undocumented": ("core/base/a.h", SPDX_C + "/** fine */\nint f(void);\nint g(int a,\n      int b);\n",
                     "a.h:4: declaration"),
    "undocumented member": ("include/roundhouse/a.h", SPDX_C + "struct a {\n\tint b; /**< fine */\n\tint c;\n};\n",
                            "a.h:4: member"),
    "arrow": ("core/base/a.c", SPDX_C + '#include "job/b.h"\n', "layer base must not include layer job"),
    "plugin and core": ("plugins/p/a.c", SPDX_C + '#include "job/b.h"\n', "a plugin includes nothing of the core"),
    "library": ("core/job/a.c", SPDX_C + "#include <yaml.h>\n", "may be included by core/base/yaml/yaml.c only"),
    "cycle": ("core/job/b.h", SPDX_C + '#include "job/c.h"\n', "include cycle"),
    "variable": ("core/base/a.c", SPDX_C + "static const char *last = 0;\n", "a.c:2: mutable variable"),
    "variable of a struct": ("core/base/a.c", SPDX_C + "static struct a all[4];\n", "a.c:2: mutable variable"),
    "name of a test": ("tests/base/test_a.c", SPDX_C + "static void test_b__x(void **state)\n{\n}\n",
                       "must be named test_a__<case>"),
}
FINE = {
    "in flight": "/* requests in flight: rh_in_flight() */\n",
    "constant": "static const char *const names[] = {\"a\", \"b\"};\nstatic const struct x table[] = {{1}, {2}};\n",
    "comment": "/* strcpy(a, b) in words */\n",
    "string": "const char *f(void)\n{\n\treturn \"strcpy(a) { { { { {\";\n}\n",
    "method": "void f(struct x *x)\n{\n\tx->system(1);\n}\n",
    "types": "struct a;\nstruct b {\n\tint c;\n};\nenum d { E, F };\nRH_DEFINE_CLEANUP(b);\nextern \"C\" {\nint "
    "g(void);\n}\n", "a signal handler's": "static int *_Atomic last;\nstatic _Atomic int count = 1;\n",
    "long table": "static const int t[] = {\n" + "\t1,\n" * 200 + "};\n",
    "attribute": "static int f(int a) __attribute__((pure));\nstatic int f(int a)\n{\n\treturn a;\n}\n",
}


def run(files, measure=None):
    """-> status and output of measure.py on a tree of these files."""
    measure = measure or tool.load("measure")
    with tempfile.TemporaryDirectory() as folder:
        measure.ROOT = pathlib.Path(folder)
        everything = {"check": SPDX_PY, "quickstart": SPDX_PY, ".ci/run": SPDX_PY, "core/job/b.h": SPDX_C,
                      "core/job/d.c": SHORT, "core/job/c.h": SPDX_C + '#include "job/b.h"\n', **files}
        for name, text in everything.items():
            path = measure.ROOT / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        measure.sys.argv = ["measure.py"]
        with contextlib.redirect_stdout(io.StringIO()) as output:
            status = measure.main()
    return status, output.getvalue()


class Measure(unittest.TestCase):
    def test_measure__only_the_snapshot_reads_the_engine(self):
        text = SPDX_C + '#include "engine/carry/entry.h"\n'
        engine = {"core/engine/carry/entry.h": SPDX_C + '#include "engine/carry/entry_state.h"\n',
                  "core/engine/carry/entry_state.h": SPDX_C}
        status, output = run({**engine, "tests/engine/carry/snapshot.c": text})
        self.assertEqual(status, 0, output)
        status, output = run({**engine, "tests/engine/carry/test_a.c": text})
        self.assertEqual(status, 1, output)
        self.assertIn("tests/engine/carry/test_a.c: core/engine/carry/entry_state.h may be included by "
                      "tests/engine/carry/snapshot.c only", output)

    def test_measure__broken_rule_is_reported(self):
        for name, (file, text, words) in BROKEN.items():
            with self.subTest(name):
                status, output = run({file: text})
                self.assertEqual(status, 1)
                self.assertIn(words, output)
                self.assertIn("measures: 1 rules broken", output)

    def test_measure__fine_text_is_not(self):
        for name, text in FINE.items():
            with self.subTest(name):
                status, output = run({"core/base/a.c": SPDX_C + text})
                self.assertEqual((status, output.count("\n")), (0, 2), output)

    def test_measure__most_functions_must_be_short(self):
        body = SPDX_C + "".join(f"int f{i}(void)\n{{\n" + "\tf();\n" * 40 + "}\n" for i in range(40))
        status, output = run({"core/base/a.c": body})
        self.assertEqual(status, 1)
        self.assertIn("95 % have at most 43 lines", output)

    def test_measure__full_folder_is_reported(self):
        files = {f"core/base/{'abcdefghijklmnopqrstu'[i]}.c": SPDX_C for i in range(20)}
        self.assertEqual(run(files)[0], 0)
        status, output = run({**files, "core/base/u.c": SPDX_C})
        self.assertEqual(status, 1)
        self.assertIn("core/base: 21 files, at most 20 in a folder", output)

    def test_measure__pages_and_scripts_count_in_folders_and_data_does_not(self):
        for folder, suffix, text in (("docs", "md", "A page.\n"), ("tests/cli", "py", SPDX_PY),
                                     ("plugins/p", "json", "{}")):
            status, output = run({f"{folder}/{number}.{suffix}": text for number in range(21)})
            self.assertEqual(status, 1)
            self.assertIn(f"{folder}: 21 files, at most 20 in a folder", output)
        for folder in ("tests/fuzz/corpus/json", "tests/goldens/objects", "tests/local/first_fault/recorded/a"):
            status, output = run({f"{folder}/{number}.json": "{}" for number in range(21)})
            self.assertEqual(status, 0, output)

    def test_measure__include_guard_has_the_name_of_its_file(self):
        guard = "#ifndef RH_BASE_{0}_H\n#define RH_BASE_{0}_H\n#endif\n"
        self.assertEqual(run({"core/base/a.h": SPDX_C + guard.format("A")})[0], 0)
        status, output = run({"core/base/a.h": SPDX_C + guard.format("B")})
        self.assertEqual(status, 1)
        self.assertIn("core/base/a.h: its include guard is not RH_BASE_A_H", output)

    def test_measure__circle_of_calls_is_reported(self):
        files = {"core/job/a.c": SPDX_C + "int rh_a(void)\n{\n\treturn rh_b();\n}\n",
                 "core/job/x.c": SPDX_C + "int rh_b(void)\n{\n\treturn rh_c();\n}\n",
                 "core/base/y.c": SPDX_C + "int rh_c(void)\n{\n\treturn call(rh_a);\n}\n"}
        status, output = run(files)
        self.assertEqual(status, 1)
        self.assertIn("core/base/y.c: circle of calls: core/base/y.c -> core/job/a.c (rh_a); core/job/a.c -> "
                      "core/job/x.c (rh_b); "
                      "core/job/x.c -> core/base/y.c (rh_c)", output)
        self.assertIn("measures: 1 rules broken", output)

    def test_measure__calls_in_one_direction_are_fine(self):
        files = {"core/job/a.c": SPDX_C + "struct rh_b;\nstatic int rh_c(void)\n{\n\treturn rh_b();\n}\nint "
                 "rh_a(void)\n{\n\treturn rh_c();\n}\n",
                 "core/job/x.c": SPDX_C + "int rh_b(struct rh_a *a)\n{\n\treturn a->rh_a(a.rh_a) + rh_c();\n}\nint "
                 "rh_c(void)\n{\n}\n"}
        self.assertEqual(run(files)[0], 0)

    def test_measure__inline_functions_call_too(self):
        files = {"core/job/a.h": SPDX_C + "/** a */\nstatic inline int rh_a(void)\n{\n\treturn rh_y();\n}\n",
                 "core/job/x.c": SPDX_C + "int rh_x(void)\n{\n\treturn rh_a();\n}\n",
                 "core/base/y.c": SPDX_C + "int rh_y(void)\n{\n\treturn call(rh_x);\n}\n"}
        status, output = run(files)
        self.assertEqual(status, 1)
        self.assertIn("core/base/y.c: circle of calls: core/base/y.c -> core/job/x.c (rh_x); core/job/a.h -> "
                      "core/base/y.c (rh_y); "
                      "core/job/x.c -> core/job/a.h (rh_a)", output)

    def test_measure__header_and_its_file_are_one(self):
        """What an inline function of a header calls in the header's own file is no circle, and a declaration is no
        call."""
        files = {"core/job/a.h": SPDX_C + "/** b */\nint rh_b(void);\n/** x */\nint rh_x(void);\n"
                                          "/** a */\nstatic inline int rh_a(void)\n{\n\treturn rh_b();\n}\n",
                 "core/job/a.c": SPDX_C + "int rh_b(void)\n{\n\treturn rh_a();\n}\n",
                 "core/job/x.c": SPDX_C + "int rh_x(void)\n{\n\treturn rh_a();\n}\n"}
        self.assertEqual(run(files)[0], 0)


if __name__ == "__main__":
    unittest.main()
