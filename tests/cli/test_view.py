# SPDX-License-Identifier: Apache-2.0
"""What `run` shows: on pipes, on a terminal, quietly, and as JSON for programs."""
import fcntl
import json
import os
import re
import struct
import subprocess
import sys
import termios
import unittest.mock

import program
from program import Case, call, job, main, wait_for
from terminal import Talk, on_terminal


BESIDE = """          - name: beside
            image: example/train:1
            command: [sh, -c, 'echo two']
"""
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"


class Pipes(Case):
    def test_logs_on_standard_output_and_the_rest_beside_it(self):
        done = call("run", self.file(job(command="'echo first; echo second >&2'")))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), ["master-0 | first", "master-0 | second"])
        self.assertIn("one: Succeeded: PyTorchJob one is successfully completed.", done.stderr)
        self.assertRegex(done.stderr, r"(?m)^Master-0 +Succeeded +0 +0 ")
        self.assertNotIn("\033", done.stdout + done.stderr)

    def test_failure_shows_the_replica_and_its_last_lines(self):
        done = call("run", self.file(job(command="'echo the cause; exit 7'")))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"First fault: Master-0 \(container pytorch\) exited with code 7:\n    the "
                         r"cause\n")
        self.assertRegex(done.stderr, r"(?m)^Master-0 +Failed +7 ")

    def test_traceback_is_shown_once_and_as_it_was(self):
        script = self.file("def f():\n    raise ValueError('bad batch')\n\n\nf()\n", "train.py")
        done = call("run", self.file(job(command=f"'echo step 1; python3 {script}'")))
        shown = done.stderr.split("\nFirst fault: ")[1]
        self.assertRegex(shown.splitlines()[0], r"^Master-0 \(container pytorch\) exited with code 1:$")
        frames = shown.splitlines()[1:shown.splitlines().index("Failed")]
        self.assertEqual(frames[0], "    Traceback (most recent call last):")
        self.assertIn(f'      File "{script}", line 2, in f', frames)
        self.assertEqual(frames[-1], "    ValueError: bad batch")
        self.assertEqual(done.stderr.count("Traceback"), 1)
        self.assertNotIn(" | ", done.stderr)

    def test_traceback_that_torch_recorded_in_its_file(self):
        stack = r"Traceback (most recent call last):\n  File \"train.py\", line 2\nValueError: bad batch\n"
        note = self.file('{"message": {"message": "x", "extraInfo": {"py_callstack": "%s"}}}' % stack, "error.json")
        done = call("run", self.file(job(command=f"'echo step 1; cp {note} $TORCHELASTIC_ERROR_FILE; exit 1'")))
        self.assertIn('\n      File "train.py", line 2\n    ValueError: bad batch\nFailed\n', done.stderr)

    def test_what_is_no_file_is_not_read_as_one_of_torch(self):
        done = call("run", self.file(job(command="'mkfifo $TORCHELASTIC_ERROR_FILE; exit 1'")))
        self.assertEqual(done.returncode, 1)

    def test_what_commands_a_terminal_is_not_shown(self):
        done = call("run", self.file(job(command=r"""'printf "\033[2J\007error: x\n"; exit 3'""")))
        self.assertIn("\n    ?[2J?error: x\n", done.stderr)

    def test_timed_out_run_shows_what_hangs(self):
        done = call("run", "--timeout", "3", self.file(job(command="'echo reading; sleep 100'")))
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"\nFirst fault: Master-0 had not ended; it wrote last \S+ ago:\n    "
                         r"reading\nTimedOut\n")

    def test_logs_are_live_behind_a_pipe(self):
        go = os.path.join(self.folder, "go")
        path = self.file(job(command=f"'echo early; while [ ! -e \"{go}\" ]; do sleep 0.05; done; echo late'"))
        with subprocess.Popen([program.PROGRAM, "run", "-q", path], stdout=subprocess.PIPE, text=True) as child:
            self.assertEqual(child.stdout.readline(), "master-0 | early\n")
            self.file("", "go")
            self.assertEqual(child.stdout.read(), "master-0 | late\n")
        self.assertEqual(child.returncode, 0)

    def test_quiet_is_quiet(self):
        done = call("run", "-q", self.file(job(command="'echo hello'")))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "master-0 | hello\n", ""))
        done = call("run", "-q", self.file(job(command="'exit 3'")))
        self.assertEqual(done.returncode, 1)
        self.assertIn("First fault", done.stderr)

    def test_times(self):
        done = call("run", "-q", "--timestamps", self.file(job(command="'echo x; echo y'")))
        self.assertRegex(done.stdout, rf"^master-0 \| {TIME} x\nmaster-0 \| {TIME} y\n$")

    def test_containers_are_named_where_a_pod_has_several(self):
        text = job(command="'echo one'") + BESIDE
        done = call("run", "-q", self.file(text))
        self.assertEqual(sorted(done.stdout.splitlines()), ["master-0/beside | two", "master-0/pytorch | one"])
        self.assertEqual(sorted(call("logs", "one").stdout.splitlines()), sorted(done.stdout.splitlines()))
        self.assertEqual(sorted(call("logs", "one", "master-0").stdout.splitlines()), sorted(done.stdout.splitlines()))
        self.assertEqual(call("logs", "one", "master-0", "-c", "beside").stdout, "two\n")
        init = text.replace("          containers:", "          initContainers: [{name: prepare, image: x, command: "
                            "[echo, three]}]\n          containers:")
        done = call("run", "-q", self.file(init))
        self.assertIn("master-0/prepare | three\n", done.stdout)
        alone = init.replace(BESIDE, "")
        self.assertEqual(call("run", "-q", self.file(alone)).stdout, "master-0/prepare | three\nmaster-0 | one\n")

    def test_one_replica_alone(self):
        text = job("one", "'echo x'") + "---\n" + job("two", "'echo y'")
        for word, shown in (("master-0", ["one/master-0 | x", "two/master-0 | y"]),
                            ("Master", ["one/master-0 | x", "two/master-0 | y"]),
                            ("two-master-0", ["two/master-0 | y"])):
            done = call("run", "-q", "--only", word, self.file(text))
            self.assertEqual((done.returncode, sorted(done.stdout.splitlines())), (0, shown), done.stderr)
        done = call("run", "-q", "--only", "one-master-0", "--only", "two-master-0", self.file(text))
        self.assertEqual(len(done.stdout.splitlines()), 2)
        done = call("run", "-o", "json", "--only", "one-master-0", self.file(text))
        self.assertEqual([row["job"] for row in map(json.loads, done.stdout.splitlines()) if row["type"] == "log"],
                         ["one"])
        self.assertEqual(call("logs", "two", "master-0").stdout, "y\n")  # all is kept
        done = call("run", "--only", "worker-7", self.file(text))
        self.assertEqual(done.returncode, 2)
        self.assertIn('option --only: there is no replica "worker-7"; there are master-0, master-0', done.stderr)

    def test_prefixes_of_several_jobs_differ(self):
        text = job("one", "'echo x'") + "---\n" + job("two", "'echo y'")
        done = call("run", self.file(text))
        self.assertEqual(sorted(done.stdout.splitlines()), ["one/master-0 | x", "two/master-0 | y"])

    def test_long_names_keep_the_columns(self):
        done = call("run", self.file(job("a-name-of-twenty-four-letters") + "---\n" + job("two")))
        table = done.stderr.split("\n\n")[1].splitlines()[:3]
        self.assertEqual(len({len(line) for line in table}), 1, table)


    def test_a_failure_is_reported_once(self):
        done = call("run", self.file(job(command="'exit 7'")))
        self.assertEqual(done.stderr.count("First fault"), 1, done.stderr)
        self.assertIn("one: Failed: PyTorchJob one is failed because 1 Master replica(s) failed.\n", done.stderr)
        both = call("run", self.file(job("one", "'exit 7'") + "---\n" + job("two")))
        self.assertEqual(both.stderr.count("First fault"), 1, both.stderr)
        quiet = call("run", "-q", self.file(job(command="'exit 7'")))
        self.assertEqual(quiet.stderr.count("First fault"), 1, quiet.stderr)

    def test_a_failed_replica_of_a_job_that_succeeded(self):
        # the worker fails by itself, well after the master has succeeded
        mark = os.path.join(self.folder, "succeeded")
        path = self.file(job(command=f"'rm -f {mark}; sleep 0.1; touch {mark}'").rstrip() + f"""
    Worker:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          containers:
          - name: pytorch
            image: x
            command: [sh, -c, 'trap "" TERM; sleep 0.2; until [ -e {mark} ]; do sleep 0.05; done; sleep 1.5; exit 4']
""")
        for words, status in (((), 0), (("--strict",), 1), (("-q",), 0)):
            done = call("run", *words, path)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertRegex(done.stderr, r"WARNING: PyTorchJob one succeeded by .* these replicas failed: Worker-0; "
                             r"--strict")
        rows = [json.loads(line) for line in call("run", "-o", "json", path).stdout.splitlines()]
        self.assertEqual(len([r for r in rows if r["type"] == "warning"]), 1)

    def test_a_long_line_is_marked_where_it_is_split(self):
        done = call("run", "-q", self.file(job(command="""'head -c 70000 /dev/zero | tr "\\\\0" x; echo'""")))
        first, second = done.stdout.splitlines()
        self.assertTrue(first.endswith("xxx [the line goes on]"), first[-40:])
        self.assertTrue(second.endswith("xxx"), second[-40:])
        self.assertEqual((first + second).count("x"), 70000)

    def test_a_crash_loop_ends(self):
        text = job(command="'exit 3'").replace("Never", "OnFailure")
        config = self.file("[local]\nrestart-backoff = 10ms\nrestart-backoff-max = 20ms\nmax-restarts = 2\n", "r.ini")
        for words, times in (((), 2), (("--max-restarts", "1"), 1)):
            done = call("run", "--config", config, *words, self.file(text))
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"replica Master-0 was restarted {times} times in a row and still fails", done.stderr)
            restarts = re.search(r"(?m)^Master-0 +Failed +3 +(\d+) ", done.stderr)
            self.assertIsNotNone(restarts, done.stderr)
            self.assertGreaterEqual(int(restarts[1]), times)  # it begins again until it is stopped
        done = call("run", "--max-restarts", "many", self.file(text))
        self.assertEqual(done.returncode, 2)
        self.assertIn('option --max-restarts: "many" is not a count', done.stderr)


class Terminal(Case):
    def test_status_line_is_wiped_before_anything_else_is_written(self):
        go = os.path.join(self.folder, "go")
        script = f"'echo hello; while [ ! -e \"{go}\" ]; do sleep 0.05; done'"

        def seen(text):
            if text.count("\033[7m") > 1:
                self.file("", "go")
        status, text = on_terminal("run", self.file(job("a-long-name-that-needs-more-than-a-line", script)), seen=seen)
        self.assertEqual(status, 0)
        lines = re.findall("\033\\[7m([^\033]*)\033\\[0m(.{4})", text, re.S)
        self.assertGreater(len(lines), 1)
        for shown, after in lines:
            self.assertEqual(after, "\r\033[K", shown)
            self.assertLess(len(shown), 80)
        self.assertIn("hello", text)

    def test_a_prompt_is_shown_before_its_line_ends(self):
        """It stays below what others write, and is a line when it has ended."""
        go = os.path.join(self.folder, "go")
        script = f"'echo first; printf \"continue? \"; while [ ! -e \"{go}\" ]; do sleep 0.05; done; echo yes'"

        def seen(text):
            if "continue? " in text:
                self.file("", "go")
        status, text = on_terminal("run", self.file(job(command=script)), seen=seen)
        self.assertEqual(status, 0, text)
        self.assertRegex(text, "\033\\[[0-9]+mmaster-0 \\|\033\\[0m continue\\? yes\r\n")
        self.assertIn("\033[A\033[K", text)  # two rows were wiped

    def test_a_progress_bar_is_redrawn(self):
        """Its states are one row; its last one is the line."""
        go = os.path.join(self.folder, "go")
        script = f"'printf \"\\r 10%%\\r 20%%\"; while [ ! -e \"{go}\" ]; do sleep 0.05; done; printf \"\\r100%%\\n\"'"

        def seen(text):
            if "20%" in text:
                self.file("", "go")
        status, text = on_terminal("run", "-q", self.file(job(command=script)), seen=seen)
        self.assertEqual(status, 0, text)
        self.assertNotIn("10%", text)
        self.assertRegex(text, "\r\033\\[K\033\\[[0-9]+mmaster-0 \\|\033\\[0m 100%\r\n$")
        done = call("run", "-o", "json", self.file(job(command=script)))
        self.assertIn('"line":"\\r 10%\\r 20%\\r100%"', done.stdout)  # a program gets what was written

    def test_status_line_has_progress_and_load(self):
        """It says how far the training is, what it uses, and has room from 40 columns on."""
        go = os.path.join(self.folder, "go")
        script = (r"""'printf "\r 37%%|###7      | 37/100 [00:10<00:17,  3.65it/s]\033[2J"; """
                  f"while [ ! -e \"{go}\" ]; do sleep 0.05; done'")
        for columns, wanted in ((120, r"one  Running  Master 1/1 running  cpu \d+%  mem \S+  step 37/100  17s left"),
                                (40, r"one  1/1  step 37/100  17s left")):
            def seen(text):
                if re.search(f"\033\\[7m {wanted} \033", text):
                    self.file("", "go")
            _, text = on_terminal("run", self.file(job(command=script)), columns=columns, seen=seen)
            self.assertRegex(text, f"\033\\[7m {wanted} \033")
            self.assertNotIn("\033[2J", text)
            os.remove(go)

    def test_status_line_has_the_counters_of_rh_comm(self):
        """Of a training that prints no progress; what each rank did last is kept with the run."""
        library = os.environ.get("RH_TEST_COMM", "")
        if not os.path.exists(library):
            self.skipTest("RH_TEST_COMM names no librhcomm.so: it is not built, or for a sanitizer")
        go = os.path.join(self.folder, "go")
        script = self.file(f"""import array, os, time, roundhouse
with roundhouse.Comm() as comm:
    data = array.array("f", [1])
    while data[0] < 2:
        data[0] += comm.rank == 0 and os.path.exists({go!r})
        comm.all_reduce(data, op="max")
        time.sleep(0.02)
""", "train.py")
        text = job(command=f"'exec {sys.executable} {script}'").replace("Master:", "Master: &replica") + \
            "    Worker: *replica\n"
        counted = r"rh_comm \d+ operations, [\d.]+/s"

        def seen(shown):
            if re.search(counted, shown):
                self.file("", "go")
        with unittest.mock.patch.dict(os.environ, PYTHONPATH=os.path.join(program.SOURCE, "comm", "python"),
                                      RH_COMM_LIBRARY=library):
            status, shown = on_terminal("run", self.file(text), columns=120, seen=seen)
        self.assertEqual(status, 0, shown)
        self.assertRegex(shown, counted)
        kept = re.search(r"Kept in (\S+)", shown)[1]
        self.assertEqual(sorted(os.listdir(os.path.join(kept, "comm", "one"))), ["rank-0.rhtrace", "rank-1.rhtrace"])

    def test_status_line_has_gpus(self):
        """With a libnvidia-ml.so.1 of ours (tests/local/gpus): there are two GPUs, then the replica uses them."""
        folder = os.environ.get("RH_TEST_NVML", "")
        if not os.path.exists(os.path.join(folder, "libnvidia-ml.so.1")):
            self.skipTest("RH_TEST_NVML names no folder with the library: build rh_fake_nvml, or use ctest")
        use, go = self.file("0 0 0 0\n1 0 0 0\n1 1 4096 9\n", "nvml"), os.path.join(self.folder, "go")
        bare, full = r"running  cpu \d+%  mem \S+ \033", r"mem \S+  gpu 120%  gpu mem 2\.0G \033"
        script = (f"'until test -e {go}1; do sleep 0.05; done; echo 0 $$$$ 1073741824 50 >{use}.new; "
                  f"echo 1 $$$$ 1073741824 70 >>{use}.new; mv {use}.new {use}; "
                  f"until test -e {go}2; do sleep 0.05; done'")

        def seen(text):
            for wanted, name in ((bare, "go1"), (full, "go2")):
                if re.search(wanted, text):
                    self.file("", name)
        with unittest.mock.patch.dict(os.environ, LD_LIBRARY_PATH=folder, RH_FAKE_NVML=use):
            status, text = on_terminal("run", self.file(job(command=script)), columns=120, seen=seen)
        self.assertEqual(status, 0, text)
        self.assertRegex(text, full)

    def test_who_attaches_sees_prompts_too(self):
        go = os.path.join(self.folder, "go")
        script = f"'printf \"continue? \"; while [ ! -e \"{go}\" ]; do sleep 0.05; done; echo yes'"
        name = call("run", "-d", "--wait", self.file(job(command=script))).stdout.strip()

        def seen(text):
            if "continue? " in text:
                self.file("", "go")
        status, text = on_terminal("attach", name, seen=seen)
        self.assertEqual(status, 0, text)
        self.assertRegex(text, "master-0 \\|\033\\[0m continue\\? \r\033\\[K\033\\[[0-9]+mmaster-0 \\|\033\\[0m "
                         "continue\\? yes\r\n")

    def test_rows_fit(self):
        go = os.path.join(self.folder, "go")
        script = f"'printf \"%0200d\" 7; while [ ! -e \"{go}\" ]; do sleep 0.05; done; echo'"

        def seen(text):
            if "000" in text:
                self.file("", "go")
        _, text = on_terminal("run", self.file(job(command=script)), columns=40, seen=seen)
        rows = re.findall("master-0 \\|\033\\[0m (0+)\n", text.replace("\r", ""))
        self.assertTrue(rows and all(len(row) <= 40 - len("master-0 | ") - 2 for row in rows), text)

    def test_no_color_is_honoured(self):
        os.environ["NO_COLOR"] = "1"
        self.addCleanup(os.environ.pop, "NO_COLOR")
        _, text = on_terminal("run", self.file(job(command="'echo hello'")))
        self.assertNotIn("\033[", text)


    def test_table_fits(self):
        """Names that are too long lose their middle, not their index."""
        text = job("a-name-that-is-much-too-long-for-any-terminal") + "---\n" + job("two", "'exit 3'")
        for columns, whole in ((60, False), (48, False), (200, True)):
            _, shown = on_terminal("run", "-q", self.file(text), columns=columns)
            table = shown.replace("\r", "").split("REPLICA", 1)[1].splitlines()
            rows = ["REPLICA" + table[0], *table[1:3]]
            self.assertTrue(all(len(row) <= columns for row in rows), rows)
            self.assertEqual(len({len(row) for row in rows}), 1, rows)
            self.assertIn("/Master-0 ", rows[1])
            self.assertEqual("..." in rows[1], not whole, rows)

    def test_jobs_cannot_clear_the_screen(self):
        script = (r"""'printf "a\033[2Jb\033[Hc"""
                  r"""\033[1;31mred\033]0;title\007d\033cE\033[?1049hf\033[6n\302\2332Jg\n"; """
                  "echo plain'")
        _, text = on_terminal("run", "-q", self.file(job(command=script)))
        self.assertIn("abc\033[1;31mreddEfg\033[0m\r\n", text)
        done = call("run", "-q", self.file(job(command=script)))
        self.assertIn("\033[2J", done.stdout)  # a file gets what was written


class Attach(Case):
    SCRIPT = """import os, shutil, signal
def train(step):
    loss = step * 2
    breakpoint()
    return loss
print("train", train(21), "done")
print("terminal", os.isatty(0), os.isatty(1), os.isatty(2), os.ctermid() and os.open("/dev/tty", os.O_RDWR) > 0)
def resized(number, frame):
    print("size", shutil.get_terminal_size())
signal.signal(signal.SIGWINCH, resized)
print("ready", shutil.get_terminal_size())
while True:
    signal.pause()
"""

    def job(self):
        script = self.file(self.SCRIPT, "train.py")
        text = job(command=f"'exec python3 {script}'")
        worker = text[text.index("    Master:"):].replace("Master", "Worker")
        return self.file(text + worker.replace(f"'exec python3 {script}'", "'echo of the worker'"))

    def test_debugger(self):
        """pdb stops, shows variables and goes on; Ctrl-C and the size of the window reach the program."""
        talk = Talk("run", "--attach", "master-0", self.job())
        talk.expect("(Pdb) ")
        talk.type("p loss\r")
        talk.expect("42\r\r\n")
        talk.expect("(Pdb) ")
        talk.type("loss = 7\r")
        talk.expect("(Pdb) ")
        talk.type("c\r")
        talk.expect("train 7 done")
        talk.expect("terminal True True True True")
        talk.expect("ready os.terminal_size(columns=80, lines=24)")
        fcntl.ioctl(talk.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 132, 0, 0))
        talk.expect("size os.terminal_size(columns=132, lines=40)")
        self.assertFalse(termios.tcgetattr(talk.fd)[3] & termios.ICANON)
        talk.type("\x03")
        talk.expect("Program interrupted.")
        talk.expect("(Pdb) ")
        talk.type("!os._exit(0)\r")
        self.assertEqual(talk.end(), 0, talk.text)
        self.assertIn("Succeeded", talk.text)
        self.assertNotIn("of the worker", talk.text)
        self.assertNotIn("stopping the replicas", talk.text)
        logs = call("logs", "one").stdout
        self.assertIn("of the worker", logs)
        self.assertIn("(Pdb) p loss", logs)

    def await_lines(self, talk, wanted):
        """Wait until the terminal is the replica's, which gets each key, or the run's, which gets lines."""
        wait_for(lambda: bool(termios.tcgetattr(talk.fd)[3] & termios.ICANON) == wanted, "the terminal's mode")

    def test_terminal_is_given_back(self):
        """When the replica has ended, Ctrl-C is the run's again."""
        talk = Talk("run", "--attach", "worker-0", self.file(
            job(command="'exec sleep 600'") + job(command="'read line; echo over'").split("ReplicaSpecs:\n")[1].replace(
                "Master", "Worker")))
        self.await_lines(talk, False)
        talk.type("\n")
        talk.expect("over")
        self.await_lines(talk, True)
        talk.type("\x03")
        self.assertEqual(talk.end(), 130, talk.text)

    def test_bad_input(self):
        path = self.job()
        for words, message in ((("--attach", "master-0"), "needs a terminal at standard input"),
                               (("--attach", "master-0", "-d"), "leave out --detach")):
            done = call("run", *words, path)
            self.assertEqual(done.returncode, 2)
            self.assertIn(message, done.stderr)
        for word, message in (("worker-7", 'no replica "worker-7"; there are master-0, worker-0'),):
            status, text = on_terminal("run", "--attach", word, path)
            self.assertEqual(status, 2)
            self.assertIn(message, text)


class Json(Case):
    def rows(self, *words):
        done = call("run", "-o", "json", *words)
        return done, [json.loads(line) for line in done.stdout.splitlines()]

    def test_stream_has_everything(self):
        done, rows = self.rows(self.file(job(command="'echo hello; exit 4'")))
        self.assertEqual(done.returncode, 1)
        kinds = {r["type"] for r in rows}
        self.assertLessEqual({"log", "job", "pod", "event", "replica", "result"}, kinds)
        log = [r for r in rows if r["type"] == "log"]
        self.assertEqual([(r["job"], r["replica"], r["container"], r["line"]) for r in log],
                         [("one", "master-0", "pytorch", "hello")])
        replica = [r for r in rows if r["type"] == "replica"][0]
        self.assertEqual((replica["replicaType"], replica["index"], replica["exitCode"]), ("Master", 0, 4))
        self.assertEqual((rows[-1]["result"], rows[-1]["exitStatus"]), ("Failed", 1))
        fault = rows[-1]["firstFault"]
        self.assertEqual(rows[-1]["firstFaults"], {"one": fault})
        for row in (row for row in rows if row["type"] == "job"):
            failed = any(c["type"] == "Failed" for c in row["object"].get("status", {}).get("conditions", []))
            self.assertEqual(row.get("firstFault"), fault if failed else None)
        self.assertIn("firstFault", [row for row in rows if row["type"] == "job"][-1])
        self.assertRegex(fault.pop("at"), r"^\d{4}-\d\d-\d\dT")
        self.assertEqual(fault, {"job": "one", "replica": "Master-0", "rank": None, "container": "pytorch",
                                 "exitCode": 4, "signal": None, "reason": "Error", "class": "unknown",
                                 "lines": ["hello"], "message": "Master-0 (container pytorch) exited with code 4"})

    def test_all_is_well_and_nothing_is_at_fault(self):
        _, rows = self.rows(self.file(job()))
        self.assertEqual([row for row in rows if "firstFault" in row], [])

    def test_any_bytes_are_valid_json(self):
        _, rows = self.rows(self.file(job(command=r"""'printf "a\377b\303\050c\000d\n"'""")))
        self.assertEqual([r["line"] for r in rows if r["type"] == "log"], ["a\ufffdb\ufffd(c\ufffdd"])


main()
