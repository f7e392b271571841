# SPDX-License-Identifier: Apache-2.0
"""Commands as a person meets them: help, mistakes, completion, manual, plugins."""
import fcntl
import json
import os
import re
import shutil
import struct
import subprocess
import termios
import unittest

from program import PROGRAM, Case, call, job, main

COMMANDS = ["run", "ls", "logs", "attach", "describe", "view", "top", "ps", "stop", "rerun", "runs", "sweep", "render",
            "lint", "plugins", "version", "completion", "man"]


class Help(Case):
    def test_program_lists_every_command_but_the_hidden(self):
        done = call("--help")
        self.assertEqual(done.returncode, 0)
        for name in COMMANDS:
            self.assertIn(f"  {name} ", done.stdout)
        self.assertNotIn("shim", done.stdout)

    def test_each_command_has_help(self):
        for name in COMMANDS:
            for words in ([name, "--help"], ["help", name]):
                done = call(*words)
                self.assertEqual(done.returncode, 0, words)
                self.assertTrue(done.stdout.startswith(f"usage: roundhouse {name}"), done.stdout)

    def test_lines_fit(self):
        """A terminal's width, from 40 to 100; 80 where there is none."""
        for name in COMMANDS:
            self.assertLessEqual(max(map(len, call(name, "--help").stdout.splitlines()[1:])), 80, name)
        for columns, width in ((20, 40), (50, 50), (70, 70), (100, 100), (200, 100)):
            lines = self.on_terminal(columns, "run", "--help")
            self.assertIn("Exit status: 0 every job succeeded",
                          lines[[i for i, line in enumerate(lines) if line.startswith("Exit")][0]])
            self.assertLessEqual(max(len(line) for line in lines if not line.startswith(("usage", "  "))), width)
            self.assertGreater(max(map(len, lines)), width - 12)

    def on_terminal(self, columns, *words):
        """The lines of standard output, which is a terminal."""
        leader, follower = os.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with subprocess.Popen([PROGRAM, *words], stdout=follower) as child:
            os.close(follower)
            text = b""
            try:
                while more := os.read(leader, 65536):
                    text += more
            except OSError:
                pass  # the terminal is gone with its last user
            os.close(leader)
        self.assertEqual(child.returncode, 0)
        return text.decode().replace("\r", "").splitlines()

    def test_version(self):
        for words in (["version"], ["--version"]):
            self.assertRegex(call(*words).stdout, r"^roundhouse \d+\.\d+\.\d+ \(plugin ABI \d+\.\d+\)\n$")
        reported = json.loads(call("version", "-o", "json").stdout)
        self.assertEqual(call("version").stdout, f"roundhouse {reported['version']} (plugin ABI "
                         f"{reported['pluginAbi']})\n")

    def test_long_options_keep_the_column(self):
        self.assertRegex(call("controller", "--help").stdout, r"\n      --gang-scheduler-name NAME\n {31}volcano")


class Mistakes(Case):
    def test_statuses_and_words(self):
        rows = [
            ([], "no command"),
            (["rnu"], 'did you mean "run"?'),
            (["list"], 'did you mean "ls"?'),
            (["kill", "x"], 'did you mean "stop"?'),
            (["rm", "x"], 'did you mean "runs prune"?'),
            (["inspect"], 'did you mean "describe"?'),
            (["run"], "missing operand: FILE..."),
            (["run", "--timout", "3", "x"], "did you mean --timeout?"),
            (["run", "--timeout", "soon", "x"], "option --timeout"),
            (["render", "-o", "xml", "x"], '"xml" is none of'),
            (["run", "/nowhere/job.yaml"], "/nowhere/job.yaml"),
            (["lint", "/nowhere/job.yaml"], "/nowhere/job.yaml"),
            (["plugins", "lsit"], "plugins list"),
            (["plugins", "check", "/nowhere.so"], "/nowhere.so"),
            (["completion", "tcsh"], "bash, zsh, fish"),
            (["--config", "x"], "unknown command"),
            (["render", "--config", "/nowhere.ini", "x"], "/nowhere.ini"),
            (["render", "--plugins", "/nowhere", "x"], 'option --plugins: there is no folder "/nowhere"'),
            (["run", "https://example.com/job.yaml"], "is an address, not a file"),
        ]
        for words, message in rows:
            done = call(*words)
            self.assertEqual(done.returncode, 2, (words, done.stderr))
            self.assertIn(message, done.stderr, words)
            self.assertEqual(done.stdout, "", words)

    def test_full_standard_output_is_no_success(self):
        path = self.file(job(command="'echo lost'"))
        for words in (["man"], ["--help"], ["run", "-q", path], ["lint", path]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, timeout=120, check=False)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn(b"standard output", done.stderr)

    def test_a_closed_pipe_is_no_trouble(self):
        """`roundhouse man | head -1`: not a word on standard error."""
        path = self.file(job(command="'seq 1000'"))
        for words in ("man", "completion bash", "--help", "explain pytorchjob", "crds", "manifests", f"render '{path}'",
                      f"run -q '{path}'"):
            done = subprocess.run(["sh", "-c", f'exec 3>&1; {{ "$0" {words}; echo "$?" >&3; }} | true', PROGRAM],
                                  capture_output=True, text=True, timeout=180, check=False)
            self.assertEqual(done.stderr, "", words)
            self.assertIn(done.stdout, ("0\n", "1\n"), words)

    def test_closed_descriptors_do_no_harm(self):
        path = self.file(job(command="'exit 0'"))
        done = subprocess.run(["sh", "-c", 'exec "$0" run "$1" <&- >&- 2>&-', PROGRAM, path], timeout=120, check=False)
        self.assertEqual(done.returncode, 0)


class Shells(Case):
    def test_bash_completion_parses_and_completes(self):
        script = call("completion", "bash").stdout
        probe = script + """
        try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _roundhouse; echo "${COMPREPLY[*]}"; }
        try roundhouse r; try roundhouse run --tim; try roundhouse render -o ""
        """
        done = subprocess.run(["bash", "-c", probe], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.stdout.split("\n")[0].split(), ["run", "rerun", "runs", "render"])
        self.assertIn("--timeout", done.stdout.split("\n")[1])
        self.assertEqual(done.stdout.split("\n")[2].split(), ["yaml", "json"])

    def runs(self):
        """-> an environment with this program in PATH as roundhouse, and one run that is kept, and its name"""
        programs = os.path.join(self.folder, "bin")
        os.mkdir(programs)
        os.symlink(PROGRAM, os.path.join(programs, "roundhouse"))
        env = {"XDG_STATE_HOME": self.folder, "PATH": programs + os.pathsep + os.environ["PATH"]}
        self.assertEqual(call("run", self.file(job("seen", "'exit 0'"), "job.yaml"), env=env).returncode, 0)
        return {**os.environ, **env}, call("ls", "-o", "name", env=env).stdout.strip()

    def test_bash_completes_runs(self):
        env, name = self.runs()
        probe = call("completion", "bash").stdout + """
        try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _roundhouse; echo "${COMPREPLY[*]}"; }
        cd bin; try roundhouse logs se; try roundhouse describe ""; try roundhouse stop se
        """
        done = subprocess.run(["bash", "-c", probe], capture_output=True, text=True, timeout=120, check=False, env=env,
                              cwd=self.folder)
        self.assertEqual((done.stdout, done.stderr), (f"{name}\n{name}\n\n", ""))

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_completes_runs(self):
        env, name = self.runs()
        probe = call("completion", "fish").stdout + "\ncd bin; complete -C 'roundhouse logs se'\n"
        done = subprocess.run(["fish", "--no-config"], input=probe, capture_output=True, text=True, timeout=180,
                              check=False, env=env, cwd=self.folder)
        self.assertEqual((done.stdout, done.stderr), (name + "\n", ""))

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_completes(self):
        probe = (call("completion", "fish").stdout +
                 "\ncomplete -C 'roundhouse ren'; complete -C 'roundhouse render -o '; "
                 "complete -C 'roundhouse run --log-d'\n")
        done = subprocess.run(["fish", "--no-config"], input=probe, capture_output=True, text=True, timeout=180,
                              check=False)
        self.assertEqual(done.stderr, "")
        self.assertEqual([line.split("\t")[0] for line in done.stdout.splitlines()],
                         ["render", "json", "yaml", "--log-dir"])

    def test_quotes_in_fish_are_closed(self):
        for line in call("completion", "fish").stdout.splitlines()[1:]:
            self.assertEqual(line.replace("\\'", "").count("'") % 2, 0, line)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_completes_from_a_folder_of_functions(self):
        """At the first TAB, when zsh has just loaded the file."""
        self.file(call("completion", "zsh").stdout, "_roundhouse")
        probe = """
        zmodload zsh/zpty; zpty shell zsh -f -i
        zpty -w shell "fpath=($1 \\$fpath); autoload -U compinit; compinit -u -D; echo rea''dy"
        zpty -r shell text '*ready*'
        zpty -w -n shell $'roundhouse ren\t'; zpty -r shell text '*render*'; zpty -d shell; echo done
        """
        done = subprocess.run(["zsh", "-f", "-c", probe, "zsh", self.folder], capture_output=True, text=True,
                              timeout=180, check=False)
        self.assertEqual((done.stdout, done.stderr), ("done\n", ""))

    def test_fish_and_zsh_name_every_command(self):
        for shell in ("fish", "zsh"):
            script = call("completion", shell).stdout
            for name in COMMANDS:
                self.assertIn(name, script, shell)

    @unittest.skipUnless(shutil.which("man"), "man is not installed")
    def test_manual_has_no_warnings(self):
        page = call("man").stdout
        done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-"], input=page, text=True,
                              capture_output=True, timeout=120, check=False,
                              env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = re.sub(".\b", "", done.stdout)
        for name in COMMANDS:
            self.assertIn(f"\n   {name}", text)
        self.assertIn("--timeout", text)


class Inject(Case):
    def tree(self):
        """-> a folder with a file, a program and a link"""
        source = os.path.join(self.folder, "source")
        os.makedirs(os.path.join(source, "bin"))
        for name, mode in (("bin/program", 0o755), ("text", 0o640)):
            with open(os.path.join(source, name), "w", encoding="utf-8") as out:
                out.write(name)
            os.chmod(out.name, mode)
        os.symlink("../text", os.path.join(source, "bin", "link"))
        return source

    def test_copies_files_programs_and_links(self):
        target = os.path.join(self.folder, "new", "target")
        for _ in range(2):
            done = call("inject", "--from", self.tree() if not os.path.exists(target)
                        else os.path.join(self.folder, "source"), target)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("2 files", done.stdout)
        self.assertEqual(os.readlink(os.path.join(target, "bin", "link")), "../text")
        self.assertEqual([os.stat(os.path.join(target, name)).st_mode & 0o777 for name in ("bin/program", "text")],
                         [0o755, 0o640])
        with open(os.path.join(target, "bin", "link"), encoding="utf-8") as text:
            self.assertEqual(text.read(), "text")

    def test_refused(self):
        source = self.tree()
        os.mkfifo(os.path.join(source, "pipe"))
        for words, status, expected in ((["inject"], 2, "missing operand: DIR"),
                                    (["inject", "--from", "/does/not/exist", self.folder], 2,
                                     "there is nothing to inject"),
                                    (["inject", "--from", source, os.path.join(self.folder, "out")], 2,
                                     'pipe" is not a file, folder or link'),
                                    (["inject", "--from", source, os.path.join(source, "text", "x")], 1, "text")):
            done = call(*words)
            self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
            self.assertIn(expected, done.stderr)


class Plugins(Case):
    def test_list_as_text_and_json(self):
        self.assertEqual(call("plugins").stdout, call("plugins", "list").stdout)
        text = call("plugins", "list").stdout
        self.assertRegex(text, r"(?m)^pytorch +ready +\S+ +PyTorchJob\.v1\.kubeflow\.org +/.+/pytorch\.so$")
        rows = {r["name"]: r for r in json.loads(call("plugins", "list", "-o", "json").stdout)}
        self.assertEqual((rows["pytorch"]["state"], *rows["pytorch"]["kinds"]), ("ready", "PyTorchJob.v1.kubeflow.org"))

    def test_list_shows_versions_of_one_kind_apart(self):
        rows = {r["name"]: r["kinds"] for r in json.loads(call("plugins", "list", "-o", "json").stdout)}
        self.assertEqual((rows["mpi"], rows["mpi2"]), (["MPIJob.v1.kubeflow.org"], ["MPIJob.v2beta1.kubeflow.org"]))
        for name, version in (("mpi", "v1"), ("mpi2", "v2beta1")):
            self.assertRegex(call("plugins").stdout, rf"(?m)^{name} +ready +\S+ +MPIJob\.{version}\.kubeflow\.org ")

    def test_check_of_a_good_and_a_bad_file(self):
        path = [r["file"] for r in json.loads(call("plugins", "list", "-o", "json").stdout)
                if r["name"] == "pytorch"][0]
        good = call("plugins", "check", path)
        self.assertEqual(good.returncode, 0, good.stderr)
        self.assertIn("serves PyTorchJob.v1.kubeflow.org", good.stdout)
        with open(path, "rb") as whole, open(os.path.join(self.folder, "cut.so"), "wb") as cut:
            cut.write(whole.read(9000))
        short = call("plugins", "check", cut.name)
        self.assertEqual(short.returncode, 1, short.stderr)
        self.assertIn("truncated", short.stderr)
        bad = call("plugins", "check", self.file("no shared object", "bad.so"))
        self.assertEqual(bad.returncode, 1)
        self.assertIn("bad.so", bad.stderr)

    def test_missing_plugin_names_what_is_there(self):
        done = call("lint", self.file(job().replace("PyTorchJob", "PytorchJob")))
        self.assertEqual(done.returncode, 2)
        self.assertIn('did you mean "PyTorchJob"', (done.stdout + done.stderr).replace("mean PyTorchJob",
                                                                                       'mean "PyTorchJob"'))


main()
