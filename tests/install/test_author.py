# SPDX-License-Identifier: Apache-2.0
"""test_author.py CMAKE BUILD_DIR SOURCE c|cpp|rust|page: what the author of a plugin does with an installation.

c, cpp, rust: the project that `plugins new` writes is built and tested, and its package works in another installation,
with the commands of its README. page: every command of docs/writing-a-plugin.md, one after the other.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD, SOURCE, WHAT = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]).resolve(), sys.argv[4]
PAGE = SOURCE / "docs/writing-a-plugin.md"
LIMIT = 550  # seconds; a hang
SKIP = 77


def skip_without(*programs):
    missing = [name for name in programs if not shutil.which(name)]
    if missing:
        print(f"SKIPPED: {', '.join(missing)} is not installed")
        sys.exit(SKIP)


def commands(text):
    """-> the lines of a page's blocks of sh, or of a README's indented ones."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.S | re.M)
    return "".join(blocks).splitlines() if blocks else re.findall(r"^    (\S.*)$", text, re.M)


class Author(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(kept.cleanup)
        cls.folder = pathlib.Path(kept.name)
        cls.prefix = cls.folder / "prefix"
        cls.environment = {key: value for key, value in os.environ.items() if key not in ("DESTDIR", "MAKEFLAGS")}
        cls.environment |= {"PATH": f"{cls.prefix}/bin:{os.environ['PATH']}", "CARGO_NET_OFFLINE": "true"}
        cls.must(CMAKE, "--install", BUILD, "--prefix", cls.prefix)

    @classmethod
    def call(cls, *words, **more):
        return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=LIMIT, check=False, env=cls.environment,
                              **{"cwd": cls.folder, **more})

    @classmethod
    def must(cls, *words, **more):
        done = cls.call(*words, **more)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, words))}: {done.stdout}")
        return done.stdout

    def run_commands(self, lines, folder):
        """As a user would type them; here nobody is root, and the prefix is this test's."""
        for line in lines:
            with self.subTest(line):
                self.must("bash", "-euo", "pipefail", "-c",
                          line.replace("sudo ", "").replace("/usr/local", str(self.prefix)), cwd=folder)

    def check_file(self, file):
        symbols = self.must("nm", "-D", "--defined-only", file).splitlines()
        self.assertEqual([line.split()[-1] for line in symbols], ["rh_plugin_entry_v1"])

    @unittest.skipIf(WHAT == "page", "the projects are those of the page")
    def test_project(self):
        for number, (name, replicas) in enumerate((("my-foo", "Leader,Worker"), ("one", "Peer"))):
            project = self.folder / name
            kind = f"Foo{number}Job"
            self.must("roundhouse", "plugins", "new", name, "--kind", kind, "--replicas", replicas, "--lang", WHAT)
            readme = commands((project / "README.md").read_text())
            self.assertGreaterEqual(len(readme), 4)
            self.run_commands(readme, project)
            self.check_file(project / f"build/{name}.so")
            self.assertRegex(self.must("roundhouse", "plugins", "list"), rf"{name} +ready +0\.1\.0 +{kind}")
            self.check_run(project, replicas.split(","))
            self.check_package(project, name)

    def check_run(self, project, types):
        """The job ends with its first replica, so on a busy machine the others may not have run by then."""
        output = self.must("roundhouse", "run", project / "job.yaml")
        self.assertRegex(output, rf"{types[0]}: rank 0 of {len(types)}, the first is at [0-9.]+:\d+")
        rendered = self.must("roundhouse", "render", project / "job.yaml")
        self.assertEqual(sorted(re.findall(r"name: \w+_RANK\n +value: \"(\d+)\"", rendered)),
                         [str(rank) for rank in range(len(types))])

    def check_package(self, project, name):
        """Unpacked below another prefix."""
        other = self.folder / f"other-{name}"
        other.mkdir()
        archive, = (project / "build").glob("*.tar.gz")
        self.must("tar", "-xzf", archive, "-C", other)
        self.assertEqual([str(path.relative_to(other)) for path in other.rglob("*") if path.is_file()],
                         [f"lib/roundhouse/plugins/{name}.so"])
        self.must("roundhouse", "plugins", "check", other / f"lib/roundhouse/plugins/{name}.so")

    @unittest.skipIf(WHAT == "rust", "for C and C++")
    def test_without_cmake(self):
        """pkg-config names the headers and the version script."""
        self.environment["PKG_CONFIG_PATH"] = str(self.prefix / "lib/pkgconfig")
        flags = self.must("pkg-config", "--cflags", "--libs", "roundhouse-plugin").split()
        for compiler, source in (("cc", "examples/plugin/echo.c"), ("c++", "examples/plugins/dask/dask.cpp")):
            file = self.folder / (pathlib.Path(source).stem + ".so")
            self.must(compiler, "-fPIC", "-shared", *([] if compiler == "cc" else ["-std=c++17"]), SOURCE / source,
                      *flags, "-o", file)
            self.check_file(file)
            self.must("roundhouse", "plugins", "check", file)

    @unittest.skipUnless(WHAT == "page", "of the page")
    def test_page(self):
        programs = self.folder / "programs"
        programs.mkdir()
        (programs / "kubectl").symlink_to(SOURCE / "tests/docs/stand_in.py")
        self.environment["PATH"] = f"{programs}:{self.environment['PATH']}"
        self.run_commands(commands(PAGE.read_text()), self.folder)
        self.check_file(self.prefix / "lib/roundhouse/plugins/foo.so")
        self.check_run(self.folder / "foo", ["Leader", "Worker"])


skip_without(*({"rust": ["cargo", "make"], "page": ["cargo", "make", "c++"], "cpp": ["c++"]}.get(WHAT, [])))
unittest.main(argv=sys.argv[:1], verbosity=2)
