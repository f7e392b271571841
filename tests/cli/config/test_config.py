# SPDX-License-Identifier: Apache-2.0
"""roundhouse config, roundhouse plugins pin, and the files that are made of the table of keys."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program  # noqa: E402
from program import SOURCE, call  # noqa: E402

OWN = pathlib.Path(program.PROGRAM).parent.parent / "lib" / "roundhouse" / "plugins"


class Case(program.Case):
    def ini(self, text, name="roundhouse.ini"):
        path = self.file(text, name)
        os.chmod(path, 0o644)
        return path

    def good(self, *words, **more):
        done = call(*words, **more)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return done.stdout

    def bad(self, *words):
        """One message on standard error, and status 2."""
        done = call(*words)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
        return done.stderr


class Generated(Case):
    def test_page_and_shipped_file(self):
        for form, file in (("markdown", "docs/configuration.md"), ("ini", "conf/roundhouse.ini")):
            made = self.good("config", "explain", "-o", form)
            if made != pathlib.Path(SOURCE, file).read_text(encoding="utf-8"):
                self.fail(f"{file} is not what the table says: build/dev/bin/roundhouse config explain -o {form} > "
                          f"{file}")


class Check(Case):
    def test_good(self):
        ini = self.ini("[local]\nports = 21000-21999\n")
        self.assertEqual(self.good("config", "check", ini), f"{ini}: 1 settings, no error\n")

    def test_bad(self):
        for text, words in (("[local]\nport = 1\n", 'unknown key "port" in section [local]; did you mean "ports"?'),
                            ("[loca]\nport = 1\n", "unknown section [loca]; did you mean [local]?"),
                            ("[local]\nports = 1\n", 'ports: "1" is not a range of ports; write FIRST-LAST'),
                            ("[plugins]\nallow = mpj\n",
                             'allow: there is no file "mpj.so" in a folder of plugins; did you mean "mpi"?'),
                            ("[plugins]\npublic-key = x\n", 'public-key: "x" is not a public key of minisign'),
                            ("[plugin mpi]\nimage = x\n", 'unknown key "image" in section [plugin mpi]')):
            ini = self.ini(text)
            message = self.bad("config", "check", ini)
            self.assertIn(f"{ini}:2: ", message)
            self.assertIn(words, message)

    def test_additions(self):
        ini = self.ini("")
        os.mkdir(os.path.join(self.folder, "plugins.d"), 0o755)
        added = self.ini("\n[comm]\nbackend = ucs\n", "plugins.d/x.ini")
        self.assertIn(f'{added}:3: backend: "ucs" is not a backend', self.bad("config", "check", ini))

    def test_no_such_file(self):
        self.assertIn('cannot open "/nonexistent.ini": No such file', self.bad("config", "check", "/nonexistent.ini"))

    def test_words(self):
        self.assertIn("use `config show`, `config check [FILE]` or `config explain [KEY]`", self.bad("config", "chekc"))
        self.assertIn("`config check` has none", self.bad("config", "check", "-o", "json"))


class Show(Case):
    def rows(self, *words, **more):
        return {(row["section"], row["key"]): (row["value"], row["origin"])
                for row in json.loads(self.good("config", "show", "-o", "json", *words, **more))}

    def test_origins(self):
        ini = self.ini("[local]\nports = 21000-21999\n[images]\nexample/*:1 = /venv\n[comm x]\nshm-size = 1Gi\n"
                       "[plugin mpi]\nkubectl-delivery-image = a:1\n")
        rows = self.rows("--config", ini, env={"KUBEFLOW_NAMESPACE": "team", "CUSTOM_CLUSTER_DOMAIN": "a.b"})
        self.assertEqual(rows["local", "ports"], ("21000-21999", f"{ini}:2"))
        self.assertEqual(rows["local", "grace-period"], ("30s", "default"))
        self.assertEqual(rows["images", "example/*:1"], ("/venv", f"{ini}:4"))
        self.assertEqual(rows["comm x", "shm-size"], ("1Gi", f"{ini}:6"))
        self.assertEqual(rows["comm", "shm-size"], (None, "default"))
        self.assertEqual(rows["plugin mpi", "kubectl-delivery-image"], ("a:1", f"{ini}:8"))
        self.assertEqual(rows["plugin pytorch", "init-container-max-tries"], ("100", "default"))
        self.assertEqual(rows["controller", "namespace"], ("team", "$KUBEFLOW_NAMESPACE"))
        self.assertEqual(rows["plugin tensorflow", "cluster-domain"], ("a.b", "$CUSTOM_CLUSTER_DOMAIN"))

    def test_folders_and_list(self):
        ini = self.ini("[plugins]\npath = p\nallow = mpi\n")
        rows = self.rows("--config", ini, "--plugins", str(OWN))
        self.assertEqual(rows["plugins", "path"], (f"{OWN}:{self.folder}/p", f"--plugins, {ini}:2"))
        self.assertEqual(rows["plugins", "allow"], ("mpi", f"{ini}:3"))
        rows = self.rows("--config", ini, env={"ROUNDHOUSE_PLUGIN_PATH": str(OWN)})
        self.assertEqual(rows["plugins", "path"], (str(OWN), "$ROUNDHOUSE_PLUGIN_PATH"))

    def test_the_text_is_a_configuration(self):
        """What is shown can be read, and shows the same again."""
        ini = self.ini("[local]\nports = 21000-21999\n[plugin mpi]\nkubectl-delivery-image = a:1\n[plugins]\nallow = "
                       "mpi\n")
        text = self.good("config", "show", "--config", ini)
        self.assertRegex(text, rf"(?m)^ports = 21000-21999 +; {ini}:2$")
        again = self.ini(text, "again.ini")
        values = [{key: value for key, (value, _) in self.rows("--config", file).items()} for file in (ini, again)]
        self.assertEqual(*values)


class Own(Case):
    """The files of a user and of a working directory."""

    def setUp(self):
        super().setUp()
        self.folder = os.path.realpath(self.folder)
        for name in ("home/.config/roundhouse/plugins.d", "work"):
            os.makedirs(os.path.join(self.folder, name), 0o755)
        self.user = self.ini("[local]\nports = 21000-21999\ngrace-period = 7s\n[images]\na:* = venv:~/tools\nb:* = "
                             "/b\n", "home/.config/roundhouse/roundhouse.ini")
        self.project = self.ini("[local]\nports = 22000-22999\n[images]\na:1 = ./env\n", "work/roundhouse.ini")
        self.env = {key: value for key, value in os.environ.items()
                    if key not in ("ROUNDHOUSE_CONFIG", "XDG_CONFIG_HOME")}
        self.env["HOME"] = os.path.join(self.folder, "home")

    def here(self, *words, env=None):
        return subprocess.run([program.PROGRAM, *words], capture_output=True, text=True, env=env or self.env,
                              check=False, cwd=os.path.join(self.folder, "work"))

    def shown(self, *words, env=None):
        done = self.here("config", "show", "-o", "json", *words, env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {(row["section"], row["key"]): (row["value"], row["origin"]) for row in json.loads(done.stdout)}

    def test_order(self):
        rows = self.shown()
        self.assertEqual(rows["local", "ports"], ("22000-22999", f"{self.project}:2"))
        self.assertEqual(rows["local", "grace-period"], ("7s", f"{self.user}:3"))
        own = os.path.dirname(self.user)
        self.assertEqual(rows["images", "a:*"], (f"{own}/venv:{self.folder}/home/tools", f"{self.user}:5"))
        self.assertEqual(rows["images", "a:1"], (f"{self.folder}/work/env", f"{self.project}:4"))

    def test_plugins_d_of_the_user(self):
        added = self.ini("[comm]\nbackend = ucx\n", "home/.config/roundhouse/plugins.d/x.ini")
        self.assertEqual(self.shown()["comm", "backend"], ("ucx", f"{added}:2"))

    def test_images_by_precedence(self):
        """The folder's file comes before the user's, whose globs are wider; --image comes before both."""
        for name in ("work/env/bin", "home/.config/roundhouse/venv/bin", "home/tools", "given"):
            os.makedirs(os.path.join(self.folder, name))
        path = self.file(program.job().replace("example/train:1", "a:1"))
        self.assertIn(f"image a:1: {self.folder}/work/env ({self.project}:4)",
                      self.here("run", "--dry-run", path).stdout)
        given = os.path.join(self.folder, "given")
        self.assertIn(f"image a:1: {given} (--image)", self.here("run", "--dry-run", path, "--image",
                                                                 f"a*={given}").stdout)
        os.unlink(self.project)
        self.assertIn(f"({self.user}:5)", self.here("run", "--dry-run", path).stdout)

    def test_a_folder_names_no_code(self):
        self.ini("[plugins]\npath = lib\n", "work/roundhouse.ini")
        done = self.here("lint", self.file(program.job()))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn(f"{self.project}:2: section [plugins] names code to load", done.stderr)
        self.assertIn("~/.config/roundhouse/roundhouse.ini", done.stderr)

    def test_who_names_a_file_gets_that_file(self):
        other = self.ini("[local]\nports = 23000-23999\n", "other.ini")
        ports = ("23000-23999", f"{other}:2")
        for words, env in ((("--config", other), self.env), ((), self.env | {"ROUNDHOUSE_CONFIG": other})):
            rows = self.shown(*words, env=env)
            self.assertEqual((rows["local", "ports"], rows["local", "grace-period"]), (ports, ("30s", "default")))
        self.assertEqual(self.shown(env=self.env | {"ROUNDHOUSE_CONFIG": ""})["local", "ports"],
                         ("20000-29999", "default"))

    def test_a_cluster_does_not_depend_on_them(self):
        self.ini("[loca]\nx = 1\n", "home/.config/roundhouse/roundhouse.ini")
        self.assertEqual(self.here("manifests").returncode, 0)
        self.assertEqual(self.here("crds").returncode, 2)

    def test_a_file_that_others_can_change(self):
        os.chmod(self.project, 0o666)
        done = self.here("config", "show")
        self.assertEqual(done.returncode, 2)
        self.assertIn(self.project, done.stderr)


class Explain(Case):
    def test_a_key(self):
        for word in ("restart-backoff", "local.restart-backoff", "LOCAL.Restart-Backoff"):
            text = self.good("config", "explain", word)
            self.assertIn("KEY      [local] restart-backoff\nTYPE     a duration\nDEFAULT  1s\n", text)
            self.assertNotIn("restart-backoff-max", text)

    def test_sections_and_plugins(self):
        self.assertEqual(self.good("config", "explain", "local").count("KEY "), 9)
        for word in ("pytorch", "plugin pytorch"):
            self.assertEqual(self.good("config", "explain", word).count("KEY "), 3)
        self.assertIn("TYPE     a whole number from 1", self.good("config", "explain",
                                                                  "pytorch.init-container-max-tries"))

    def test_json(self):
        rows = json.loads(self.good("config", "explain", "-o", "json"))
        self.assertGreater(len(rows), 40)
        self.assertIn({"section": "local", "key": "max-restarts"},
                      [{key: row[key] for key in ("section", "key")} for row in rows])

    def test_unknown(self):
        self.assertIn('there is no key or section "ports-x"; did you mean "ports"?',
                      self.bad("config", "explain", "ports-x"))
        self.assertIn("`roundhouse config explain` lists them", self.bad("config", "explain", "zzzzzzz"))

    def test_manual_page(self):
        page = self.good("man")
        self.assertIn(".SS [local]\n.TP\n\\fBrestart\\-backoff\\fR = a duration\n", page)

    @unittest.skipUnless(shutil.which("bash"), "no bash")
    def test_completion(self):
        script = self.good("completion", "bash")
        for words, reply in (("config", "explain"), ("config explain local.p", "local.ports"),
                             ("config show -", "--output")):
            line = ["roundhouse", *words.split(" ")]
            if words == "config":
                line.append("e")
            ask = (f"{script}\nCOMP_WORDS=({' '.join(line)}); COMP_CWORD={len(line) - 1}; _roundhouse; echo "
                   f"\"${{COMPREPLY[@]}}\"")
            done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, timeout=60, check=False)
            self.assertIn(reply, done.stdout.split(), done.stderr)


class Pin(Case):
    def setUp(self):
        super().setUp()
        self.plugins = pathlib.Path(self.folder, "plugins")
        self.plugins.mkdir(0o755)
        self.hash = {}
        for name in ("mpi", "pytorch"):
            shutil.copyfile(OWN / f"{name}.so", self.plugins / f"{name}.so")
            self.hash[name] = hashlib.sha256((OWN / f"{name}.so").read_bytes()).hexdigest()

    def line(self, name):
        return f"allow = {name}@sha256:{self.hash[name]}\n"

    def test_print(self):
        ini = self.ini("[plugins]\npath = plugins\n")
        everything = "[plugins]\n" + self.line("mpi") + self.line("pytorch")
        self.assertEqual(self.good("plugins", "pin", "--config", ini), everything)
        self.assertEqual(self.good("plugins", "pin", str(self.plugins / "mpi.so")), "[plugins]\n" + self.line("mpi"))
        self.assertEqual(self.good("plugins", "--config", self.ini(f"{everything}path = plugins\n")).count(" ready "),
                         2)

    def test_write(self):
        """Comments, other keys and the file's mode stay; an allow-list that leaves a plugin out goes on to do so."""
        before = "; mine\n[plugins]\npath = plugins\n; which\nallow = pytorch ; this\n[local]\nports = 21000-21001"
        ini = self.ini(before)
        os.chmod(ini, 0o640)
        self.assertEqual(self.good("plugins", "pin", "--write", "--config", ini),
                         f"{os.path.realpath(ini)}: 1 plugins are pinned\n")
        after = before.replace("allow = pytorch ; this\n", self.line("pytorch")) + "\n"
        self.assertEqual(pathlib.Path(ini).read_text(encoding="utf-8"), after)
        self.assertEqual(os.stat(ini).st_mode & 0o777, 0o640)
        self.good("plugins", "pin", "--write", "--config", ini)
        self.assertEqual(pathlib.Path(ini).read_text(encoding="utf-8"), after)
        self.good("plugins", "pin", "--write", "--config", ini, str(self.plugins / "mpi.so"))
        self.assertEqual(pathlib.Path(ini).read_text(encoding="utf-8"),
                         after.replace(self.line("pytorch"), self.line("mpi") + self.line("pytorch")))

    def test_write_without_a_list(self):
        both = self.line("mpi") + self.line("pytorch")
        for before, after in (("[plugins]\npath = plugins\n", f"[plugins]\n{both}path = plugins\n"),):
            ini = self.ini(before)
            self.good("plugins", "pin", "--write", "--config", ini)
            self.assertEqual(pathlib.Path(ini).read_text(encoding="utf-8"), after)
        ini = self.ini("[local]\nports = 21000-21001\n")
        self.good("plugins", "pin", "--write", "--config", ini, "--plugins", str(self.plugins))
        self.assertIn("\n[plugins]\nallow = mpi@sha256:", pathlib.Path(ini).read_text(encoding="utf-8"))

    def test_stale(self):
        """A list whose plugin has changed is repaired by the command that its message names."""
        ini = self.ini("[plugins]\npath = plugins\n" + self.line("mpi"))
        with open(self.plugins / "mpi.so", "ab") as file:
            file.write(b"\n")
        self.assertIn("run `roundhouse plugins pin`", self.good("plugins", "--config", ini))
        self.good("plugins", "pin", "--write", "--config", ini)
        self.assertIn(" ready ", self.good("plugins", "--config", ini))

    def test_what_plugins_d_pins(self):
        ini = self.ini("[plugins]\npath = plugins\nallow = pytorch\n")
        os.mkdir(os.path.join(self.folder, "plugins.d"), 0o755)
        added = self.ini("[plugins]\n" + self.line("mpi"), "plugins.d/mpi.ini")
        self.good("plugins", "pin", "--write", "--config", ini)
        self.assertEqual(self.good("plugins", "--config", ini).count(" ready "), 2)
        self.ini("[plugins]\nallow = mpi\n", "plugins.d/mpi.ini")
        self.assertIn(f'plugin "mpi" is named in {added}:2; change it there: {self.line("mpi").strip()}',
                      self.bad("plugins", "pin", "--write", "--config", ini))

    def test_refusals(self):
        self.assertIn("there is no plugin file in the configured folders",
                      self.bad("plugins", "pin", "--config", self.ini("[plugins]\npath = x\n")))
        self.assertIn('plugin "/nonexistent.so": No such file', self.bad("plugins", "pin", "/nonexistent.so"))
        self.assertIn("option --write does not belong to `plugins list`", self.bad("plugins", "list", "--write"))
        ini = self.ini("[plugins]\npath = plugins\n")
        os.chmod(self.plugins, 0o777)
        done = call("plugins", "pin", "--config", ini)
        self.assertEqual(done.returncode, 1)
        self.assertIn("can be written by every user; take that away with chmod o-w", done.stderr)
        os.chmod(self.plugins, 0o755)


if __name__ == "__main__":
    program.main()
