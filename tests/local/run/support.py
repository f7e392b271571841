# SPDX-License-Identifier: Apache-2.0
"""Runs of the real program, and what they leave behind."""
import contextlib
import fnmatch
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import waits  # noqa: E402

MARK = "RUN_TEST_MARK"
LIMIT = waits.PATIENCE_S  # seconds after which anything that is waited for counts as hung


def job(name="j", policy="Never", master="true", worker=None, workers=1, spec="", annotations="{}", pod=""):
    """A PyTorchJob whose containers are shell scripts; `pod` holds further members of every pod spec, as YAML flow
    text."""
    types = [("Master", 1, master)] + ([("Worker", workers, worker)] if worker is not None else [])
    lines = ["apiVersion: kubeflow.org/v1", "kind: PyTorchJob", "metadata:", f"  name: {name}",
             f"  annotations: {annotations}", "spec:"]
    if spec:
        lines.append("  " + spec)
    lines.append("  pytorchReplicaSpecs:")
    for kind, count, script in types:
        quoted = script.replace("'", "''")
        lines += [f"    {kind}:", f"      replicas: {count}", f"      restartPolicy: {policy}", "      template:",
                  "        spec:"]
        if pod:
            lines.append("          " + pod)
        lines += ["          containers:", "          - name: pytorch", "            image: none",
                  f"            command: [sh, -c, '{quoted}']"]
    return "\n".join(lines) + "\n"


class Place:
    """A folder that stands for /tmp and the runtime folder of one or more runs, and an environment that marks their
    processes."""

    def __init__(self, program, settings=""):
        self.program = program
        self.folder = tempfile.mkdtemp(prefix="roundhouse-test-")
        self.tmp = os.path.join(self.folder, "tmp")
        self.runtime = os.path.join(self.folder, "runtime")
        self.files = os.path.join(self.folder, "files")
        self.state = os.path.join(self.folder, "state")
        for path in (self.tmp, self.runtime, self.files, self.state):
            os.mkdir(path, 0o700)
        self.mark = uuid.uuid4().hex
        self.settings = self.write("roundhouse.ini", "[local]\nrestart-backoff = 20ms\nrestart-backoff-max = 100ms\n"
                                   "grace-period = 2s\n" + settings)
        self.environment = dict(os.environ, TMPDIR=self.tmp, XDG_RUNTIME_DIR=self.runtime,
                                XDG_STATE_HOME=self.state, ROUNDHOUSE_CONFIG=self.settings,
                                **{MARK: self.mark})

    def write(self, name, text):
        path = os.path.join(self.files, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def start(self, *arguments, command="run", **how):
        how.setdefault("stdout", subprocess.PIPE)
        how.setdefault("stderr", subprocess.STDOUT)
        return subprocess.Popen([self.program, command, *arguments], env=self.environment, cwd=self.files, text=True,
                                stdin=subprocess.DEVNULL, **how)

    def run(self, text, *options, name="job.yaml"):
        """Run a job file to its end. Returns exit status and output."""
        process = self.start(*options, self.write(name, text))
        try:
            output, _ = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            raise AssertionError(f"the run does not end:\n{output}") from None
        return process.returncode, output

    def processes(self):
        """Processes of this place's runs, zombies apart."""
        found = []
        wanted = f"{MARK}={self.mark}".encode()
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if wanted in file.read().split(b"\0"):
                        found.append(int(entry))
            except OSError:
                continue
        return found

    def left(self):
        """What is left: processes and files."""
        files = [os.path.join(top, name) for root in (self.tmp, self.runtime)
                 for top, folders, names in os.walk(root) for name in folders + names]
        return self.processes(), files

    def expect_nothing_left(self, files=True):
        processes, paths = self.left()
        assert not processes, "left processes: " + ", ".join(describe(pid) for pid in processes)
        assert not files or not paths, f"left files: {paths}"

    def close(self):
        for pid in self.processes():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.close()


def describe(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return f"{pid} ({file.read().replace(bytes(1), b' ').decode(errors='replace').strip()})"
    except OSError:
        return str(pid)


def wait_for(condition, what, limit=LIMIT):
    """Wait until condition() holds; returns what it returned."""
    return waits.wait_for(what, condition, limit, pause=0.005)


def main(tests, program):
    """Run the tests with $RH_TEST_CASE in their names, or all; "--list" prints the names. -> the exit status"""
    wanted = os.environ.get("RH_TEST_CASE", "")
    if wanted == "--list":
        print("\n".join(test.__name__ for test in tests))
        return 0
    chosen = [test for test in tests if fnmatch.fnmatchcase(test.__name__, f"*{wanted}*")]
    failed = 0 if chosen else 1
    if not chosen:
        print(f'error: no case "{wanted}"; --list prints them', file=sys.stderr)
    for test in chosen:
        try:
            test(program)
            print("ok  ", test.__name__, flush=True)
        except AssertionError as error:
            failed += 1
            print("FAIL", test.__name__, error, flush=True)
    return 1 if failed else 0
