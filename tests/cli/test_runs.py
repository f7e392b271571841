# SPDX-License-Identifier: Apache-2.0
"""Runs that are kept, from another terminal: ls, logs, attach, describe, stop, prune, and the truth after kill -9."""
import contextlib
import datetime
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import tempfile
import time

import program
from program import Case, call, job, main, wait_for
from terminal import Talk

WORKERS = """    Worker:
      replicas: 2
      restartPolicy: Never
      template:
        spec:
          containers:
          - name: pytorch
            image: x
            command: [sh, -c, {command}]
"""


def jobs(name="one", master="'exit 0'", worker="'exit 0'"):
    return job(name, master) + WORKERS.format(command=worker)


class Runs(Case):
    """Each test has a state folder of its own."""

    def setUp(self):
        super().setUp()
        state = tempfile.TemporaryDirectory()
        self.addCleanup(state.cleanup)
        self.env = {**os.environ, "XDG_STATE_HOME": state.name}
        self.runs = os.path.join(state.name, "roundhouse", "runs")

    def call(self, *words):
        return call(*words, env=self.env)

    def ls(self, *words):
        done = self.call("ls", "-o", "json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def start(self, text, *options):
        """Start a run and wait until its job runs; it is killed at the end of the test."""
        path = self.file(text, f"job-{time.monotonic_ns()}.yaml")
        before = {row["name"] for row in self.ls()}
        child = subprocess.Popen([program.PROGRAM, "run", *options, path], env=self.env, text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(self.end, child)

        def running():
            return [row["name"] for row in self.ls() if row["name"] not in before
                    and row["jobs"][0]["state"] == "Running"]
        return child, wait_for(running, "the run")[0]

    @staticmethod
    def end(child):
        with contextlib.suppress(OSError):
            child.kill()
        with child:
            child.wait()


class List(Runs):
    def test_nothing_is_kept(self):
        done = self.call("ls")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", "no run is kept\n"))
        self.assertEqual(self.ls(), [])
        self.assertFalse(os.path.exists(self.runs))

    def test_runs_that_go_on_and_that_have_ended(self):
        self.call("run", self.file(jobs("bad", "'exit 0'", "'echo no data; exit 3'").replace("'exit 0'",
                                                                                             "'sleep 100'")))
        self.call("run", self.file(jobs("good")))
        _, name = self.start(jobs("slow", "'exec sleep 600'", "'exec sleep 600'"))
        done = self.call("ls")
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r"^RUN +JOB +STATE +REPLICAS +AGE +DURATION +FIRST FAULT$")
        self.assertRegex(lines[1], rf"^{name} +slow +Running +[0-3]/3 running +\S+ +\S+ +$")
        self.assertRegex(lines[2], r"^good-\d{8}-\d{6} +good +Succeeded +3 succeeded ")
        self.assertRegex(lines[3], r"^bad-\d{8}-\d{6} +bad +Failed +.* failed.* Worker-\d \(container pytorch\).* "
                         r"exited with code 3$")
        self.assertEqual([row["state"] for row in self.ls()], ["Running", "Succeeded", "Failed"])
        self.assertEqual([row["name"] for row in self.ls("--running")], [name])
        self.assertEqual(self.call("ls", "-r", "-o", "name").stdout, name + "\n")

    def test_rows_end_at_the_edge_of_a_terminal(self):
        self.start(job("j", "'exec sleep 600'"))
        talk = Talk("ls", columns=40, environment=self.env)
        self.assertEqual(talk.end(), 0)
        self.assertRegex(talk.text.replace("\r", ""), r"^RUN .*\nj-.* Running +1.*\n$")
        self.assertEqual([len(line) for line in talk.text.split("\r\n")], [40, 40, 0])

    def test_a_killed_run(self):
        """Its processes end with it, and everybody says so."""
        child, name = self.start(jobs("j", "'echo $$$$; exec sleep 600'", "'exec sleep 600'"))
        child.kill()
        child.communicate()
        self.assertEqual([(row["state"], row["jobs"][0]["state"]) for row in self.ls()], [("Killed", "Killed")])
        self.assertEqual(self.ls("--running"), [])
        self.assertRegex(self.call("ls").stdout, rf"(?m)^{name} +j +Killed ")
        done = self.call("stop", name)
        self.assertEqual(done.returncode, 2)
        self.assertIn("it is Killed", done.stderr)
        self.assertEqual(self.call("logs", "j", "master-0").returncode, 0)
        self.assertEqual(self.call("runs", "prune", "--all").stdout, name + "\n")
        self.assertEqual(self.ls(), [])

    def test_a_killed_run_lasted_until_its_last_sign_of_life(self):
        """Not until its last event, which may be hours before."""
        child, name = self.start(job("j", "'exec sleep 600'"))
        samples = os.path.join(self.runs, name, "samples.jsonl")
        wait_for(lambda: os.path.exists(samples) and pathlib.Path(samples).read_text().count('{"t":') > 1, "samples")
        child.kill()
        child.wait()
        events = os.stat(os.path.join(self.runs, name, "events.jsonl")).st_mtime
        lasted = float(re.search(rf"(?m)^{name} .* Killed +1 +\S+ +(\S+)s ", self.call("ls").stdout)[1])
        self.assertGreater(lasted + 0.1, os.stat(samples).st_mtime - events)

    def test_a_state_that_is_cut_at_any_byte(self):
        """What was written last counts, else the state at the start; never a failure."""
        self.call("run", self.file(job("j", "'echo hello; exit 3'")))
        folder = os.path.join(self.runs, self.ls()[0]["name"])
        files = {}
        for name in ("state.json", "run.json", "events.jsonl"):
            with open(os.path.join(folder, name), "rb") as file:
                files[name] = file.read()
        whole = files["state.json"]
        for name, content in files.items():
            for cut in [*range(0, len(content), max(1, len(content) // 20)), len(content) - 1]:
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(content[:cut])
                row, = self.ls()
                whole_state = name != "state.json" or cut >= len(whole) - 1
                self.assertEqual(row["state"], "Failed" if whole_state else "Killed", (name, cut))
                self.assertEqual(self.call("describe", "j").returncode, 0)
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(content)
        for name in ("state.json", "run.json"):
            os.truncate(os.path.join(folder, name), 5)
        self.assertEqual([row["state"] for row in self.ls()], ["Unreadable"])
        self.assertEqual(self.call("runs", "prune", "--all").returncode, 0)
        self.assertEqual(self.ls(), [])

    def test_the_state_of_a_later_version(self):
        self.call("run", self.file(job("j")))
        path = os.path.join(self.runs, self.ls()[0]["name"], "state.json")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace('"version":1', '"version":1,"later":[{}]'))
        self.assertEqual(self.ls()[0]["state"], "Succeeded")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace('"version":1', '"version":2'))
        self.assertEqual(self.ls()[0]["state"], "Unreadable")


class Logs(Runs):
    def write_times(self, base):
        """Line N of each replica's log was read N s after @p base, and that of a later rank 0.1 s later.
        -> {replica: times, as `logs -t` shows them}"""
        shown = {}
        for rank, who in enumerate(("master-0", "worker-0", "worker-1")):
            times = [base + i * 1000000 + rank * 100000 for i in (1, 2, 3)]
            path = os.path.join(self.runs, self.ls()[0]["name"], "times", "j", who, "pytorch")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(f"{at * len('0 says 1') + at} {time_}\n" for at, time_ in enumerate(times))
            shown[who] = [f"{datetime.datetime.fromtimestamp(at // 1000000, datetime.timezone.utc):%Y-%m-%dT%H:%M:%S}"
                          f".{at % 1000000:06}Z" for at in times]
        return shown

    def test_of_all_replicas_in_the_order_of_their_times(self):
        script = "'for i in 1 2 3; do echo $RANK says $i; done'"
        self.call("run", self.file(jobs("j", script, script)))
        times = self.write_times(int(time.time() - 60) * 1000000)
        self.assertEqual(self.call("logs", "j").stdout.splitlines(),
                         [f"{who} | {rank} says {i}" for i in (1, 2, 3)
                          for who, rank in (("master-0", 0), ("worker-0", 1), ("worker-1", 2))])
        for word in ("worker-1", "Worker-1", "j-worker-1"):
            self.assertEqual(self.call("logs", "j", word).stdout, "2 says 1\n2 says 2\n2 says 3\n", word)
        self.assertEqual(sorted(self.call("logs", "j", "worker", "--tail", "1").stdout.splitlines()),
                         ["worker-0 | 1 says 3", "worker-1 | 2 says 3"])
        self.assertEqual(self.call("logs", "j", "master-0", "--tail", "1").stdout, "0 says 3\n")
        self.assertEqual(self.call("logs", "j", "master-0", "--tail", "0").stdout, "")
        self.assertEqual(self.call("logs", "j", "--since", "1h").stdout.count("\n"), 9)
        self.assertEqual(self.call("logs", "j", "--since", "2100-01-01T00:00:00Z").stdout, "")
        self.assertEqual(self.call("logs", "j", "--since", times["worker-0"][2]).stdout,
                         "worker-0 | 1 says 3\nworker-1 | 2 says 3\n")
        self.assertEqual(self.call("logs", "-t", "j", "worker-0").stdout,
                         "".join(f"{at} 1 says {i}\n" for i, at in enumerate(times["worker-0"], 1)))
        rows = [json.loads(line) for line in self.call("logs", "-o", "json", "j").stdout.splitlines()]
        self.assertEqual({(row["type"], row["job"], row["container"]) for row in rows}, {("log", "j", "pytorch")})

    def test_mistakes(self):
        self.call("run", self.file(job("j")))
        for words, message in ((("logs", "k"), 'no run or job "k" is kept; there are j-2'),
                               (("logs", "J"), 'no run or job "J" is kept; did you mean "j"?'),
                               (("logs", "j", "worker-9"), 'has no log of replica "worker-9"'),
                               (("logs", "j", "-c", "x"), 'has no logs of a container "x"; leave out -c'),
                               (("logs", "j", "--since", "soon"), 'option --since: "soon" is neither'),
                               (("logs", "j", "--tail", "x"), 'option --tail: "x" is not a count'),
                               (("attach", "j"), "no run of a job"), (("stop", "j"), "no run of a job"),
                               (("runs", "prune"), "use --keep N"),
                               (("runs", "list"), "`roundhouse ls` lists the runs")):
            done = self.call(*words)
            self.assertEqual(done.returncode, 2, (words, done.stdout, done.stderr))
            self.assertIn(message, done.stderr, words)

    def test_follow_ends_with_the_run(self):
        go = os.path.join(self.folder, "go")
        self.start(jobs("j", f"'echo early; while [ ! -e \"{go}\" ]; do sleep 0.05; done; echo late; printf end'",
                        "'echo hi; exec sleep 600'"))
        with subprocess.Popen([program.PROGRAM, "logs", "-f", "j", "master-0"], env=self.env, stdout=subprocess.PIPE,
                              text=True) as child:
            self.assertEqual(child.stdout.readline(), "early\n")
            self.file("", "go")
            self.assertEqual(child.stdout.read(), "late\nend\n")
        self.assertEqual(child.returncode, 0)

    def test_follow_ends_with_a_killed_run(self):
        run, _ = self.start(job("j", "'echo early; exec sleep 600'"))
        with subprocess.Popen([program.PROGRAM, "logs", "-f", "j"], env=self.env, stdout=subprocess.PIPE,
                              text=True) as child:
            self.assertEqual(child.stdout.readline(), "master-0 | early\n")
            run.send_signal(signal.SIGKILL)
            self.assertEqual(child.stdout.read(), "")
        self.assertEqual(child.returncode, 0)

    def test_attach_ends_as_the_run(self):
        go = os.path.join(self.folder, "go")
        self.start(job("j", f"'echo early; while [ ! -e \"{go}\" ]; do sleep 0.05; done; echo late; exit 5'"))
        with subprocess.Popen([program.PROGRAM, "attach", "j"], env=self.env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as child:
            self.assertEqual(child.stdout.readline(), "master-0 | early\n")
            self.file("", "go")
            self.assertEqual(child.stdout.read(), "master-0 | late\n")
            self.assertRegex(child.stderr.read(), r"^j-\S+: Failed\n$")
        self.assertEqual(child.returncode, 1)

    def test_attach_to_one_replica(self):
        go = os.path.join(self.folder, "go")
        script = f"'echo $RANK; while [ ! -e \"{go}\" ]; do sleep 0.05; done; echo $RANK'"
        self.start(jobs("j", script, script))
        with subprocess.Popen([program.PROGRAM, "attach", "--only", "worker-1", "j"], env=self.env,
                              stdout=subprocess.PIPE, text=True) as child:
            self.assertEqual(child.stdout.readline(), "2\n")
            self.file("", "go")
            self.assertEqual(child.stdout.read(), "2\n")
        self.assertEqual(child.returncode, 0)


class Stop(Runs):
    def test_gracefully(self):
        child, name = self.start(job("j", "'trap \"echo bye; exit 0\" TERM; while :; do sleep 0.05; done'"))
        done = self.call("stop", "j")
        self.assertEqual((done.returncode, done.stdout), (0, f"{name}: Interrupted\n"), done.stderr)
        self.assertEqual(child.wait(program.TIMEOUT), 130)
        self.assertIn("bye", self.call("logs", "j").stdout)

    def test_what_does_not_end(self):
        for words in (("--now",), ("--time", "0.3")):
            child, name = self.start(job("j", "'trap : TERM; while :; do sleep 0.05; done'").replace(
                "containers:", "terminationGracePeriodSeconds: 600\n          containers:"))
            done = self.call("stop", *words, name)
            self.assertEqual((done.returncode, done.stdout), (0, f"{name}: Interrupted\n"), done.stderr)
            self.assertEqual(child.wait(program.TIMEOUT), 130)

    def test_one_job_of_several(self):
        """It ends with all its processes, gracefully; the others go on, and decide nothing of it."""
        bye = "'trap \"echo bye; exit 0\" TERM; while :; do sleep 0.05; done'"
        stubborn = job("s", "'trap : TERM; while :; do sleep 0.05; done'").replace(
            "containers:", "terminationGracePeriodSeconds: 600\n          containers:")
        go = os.path.join(self.folder, "go")
        last = job("k", f"'while [ ! -e \"{go}\" ]; do sleep 0.05; done; echo end'")
        child, name = self.start("---\n".join([job("j", bye), stubborn, last]))
        wait_for(lambda: all(one["state"] == "Running" for one in self.ls()[0]["jobs"]), "three jobs that run")
        for words, named in ((("j",), "j"), (("--time", "0.3", name, "s"), "s")):
            done = self.call("stop", *words)
            self.assertEqual((done.returncode, done.stdout), (0, f"{name}: job {named} is stopped\n"), done.stderr)
        self.assertEqual([one["state"] for one in self.ls()[0]["jobs"]], ["Failed", "Failed", "Running"])
        processes = json.loads(self.call("ps", "-o", "json", name).stdout)
        self.assertEqual({one["job"] for one in processes}, {"k"})
        self.assertIn("bye", self.call("logs", "j").stdout)
        for words, message in ((("j",), f'job "j" of run "{name}" has ended; it is Failed'),
                               ((name, "none"), f'run "{name}" has no job "none"')):
            done = self.call("stop", *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)
        self.file("", "go")
        self.assertEqual(child.wait(program.TIMEOUT), 1)
        self.assertEqual([one["state"] for one in self.ls()[0]["jobs"]], ["Failed", "Failed", "Succeeded"])
        shown = self.call("describe", name).stdout
        self.assertIn("was stopped by roundhouse stop", shown)
        self.assertNotIn("First fault", shown)

    def test_jobs_that_end_one_after_another(self):
        """Some pod is always stopping, for longer than one may take; the others go on to their own ends."""
        self.env["ROUNDHOUSE_CONFIG"] = self.file("[local]\ngrace-period = 1\n", "roundhouse.ini")
        stubborn = "'trap : TERM; while :; do sleep 0.1; done'"
        text = [jobs(f"j{i}", f"'sleep {2 * i}; exit 3'", stubborn).replace(
            "containers:", "terminationGracePeriodSeconds: 3\n          containers:") for i in range(1, 9)]
        done = self.call("run", "-q", self.file("---\n".join([*text, job("last", "'sleep 19'")])))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual([one["state"] for one in self.ls()[0]["jobs"]], ["Failed"] * 8 + ["Succeeded"], done.stdout)

    def test_several_that_go_on(self):
        names = [self.start(job("j", "'exec sleep 600'"))[1] for _ in range(2)]
        done = self.call("stop", "j")
        self.assertEqual(done.returncode, 2)
        self.assertIn('2 runs of "j" go on; name one of them: ', done.stderr)
        self.assertEqual(self.call("stop", names[0]).returncode, 0)
        self.assertEqual(self.call("stop", "j").returncode, 0)
        self.assertEqual([row["state"] for row in self.ls()], ["Interrupted", "Interrupted"])


class Describe(Runs):
    def test_all_that_is_known(self):
        self.call("run", self.file(job("j", "'echo the cause; exit 3'")))
        done = self.call("describe", "j")
        for pattern in (r"(?m)^Run: +j-\d", r"(?m)^State: +Failed$", r"(?m)^From: +/.*job\.yaml$",
                        r"(?m)^Logs: +/.*/logs$", r"\nPyTorchJob default/j: Failed, replicas: 1 failed\n",
                        r"\n  Master-0 +Failed +3 +0 +\S+(?: .*)?\n",
                        r"\n  First fault: Master-0 \(container pytorch\) exited with code 3:\n      the cause\n",
                        r"\nEvents, by the time since the start:\n.*Created"):
            self.assertRegex(done.stdout, pattern)
        self.assertEqual(json.loads(self.call("describe", "-o", "json",
                                              "j").stdout)["jobs"][0]["firstFault"]["exitCode"], 3)


class Detached(Runs):
    def test_outlives_its_terminal(self):
        go = os.path.join(self.folder, "go")
        path = self.file(job("j", f"'echo early; while [ ! -e \"{go}\" ]; do sleep 0.05; done; echo late; exit 5'"))
        child, fd = pty.fork()
        if child == 0:
            os.execve(program.PROGRAM, [program.PROGRAM, "run", "-d", path], self.env)
        shown = b""
        with contextlib.suppress(OSError):
            while part := os.read(fd, 4096):
                shown += part
        os.close(fd)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0, shown)
        row, = self.ls()
        self.assertRegex(shown.decode(), rf"^{row['name']}\r\n`roundhouse attach {row['name']}` shows its output, ")
        self.assertEqual(row["state"], "Running")
        self.file("", "go")
        wait_for(lambda: self.ls()[0]["state"] == "Failed", "the end")
        self.assertEqual(self.call("logs", "j").stdout, "master-0 | early\nmaster-0 | late\n")

    def test_waits_until_every_job_runs(self):
        path = self.file(job("j", "'exec sleep 600'") + "---\n" + job("k", "'exec sleep 600'"))
        done = self.call("run", "-d", "--wait", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.addCleanup(self.call, "stop", "--now", done.stdout.strip())
        self.assertEqual([one["state"] for one in self.ls()[0]["jobs"]], ["Running", "Running"])

    def test_bad_input_is_reported_before(self):
        for text, status, message in ((job("j").replace("PyTorchJob", "PyTrochJob"), 2, "PyTrochJob"),
                                      (job("j").replace("spec:\n", "spec:\n  runPolicy: {suspend: true}\n", 1), 2,
                                       "suspend")):
            done = self.call("run", "-d", self.file(text))
            self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
            self.assertIn(message, done.stderr)
            self.assertEqual(self.ls(), [])
        for words, message in ((("-d", "--no-keep"), "option --detach needs"),
                               (("--wait",), "option --wait is for --detach")):
            done = self.call("run", *words, self.file(job("j")))
            self.assertEqual(done.returncode, 2)
            self.assertIn(message, done.stderr)


class Processes(Runs):
    def test_of_all_runs_and_of_one(self):
        _, name = self.start(jobs("j", "'sleep 601 & exec sleep 600'", "'exec sleep 602'"))
        self.start(job("k", "'exec sleep 603'"))
        # a replica runs before its shell has become the program
        wait_for(lambda: sorted(re.findall(r"(?m) (sleep \d+)$", self.call("ps").stdout)) ==
                 [f"sleep {number}" for number in (600, 601, 602, 602, 603)], "every program")
        rows = json.loads(self.call("ps", "-o", "json", name).stdout)
        self.assertEqual(sorted((row["job"], row["replica"], row["command"]) for row in rows),
                         [("j", "master-0", "sleep 600"), ("j", "master-0", "sleep 601"),
                          ("j", "worker-0", "sleep 602"), ("j", "worker-1", "sleep 602")])
        for row in rows:
            with open(f"/proc/{row['pid']}/cmdline", "rb") as file:
                self.assertEqual(file.read().replace(b"\0", b" ").decode().strip(), row["command"])
        done = self.call("ps")
        self.assertRegex(done.stdout, r"^RUN +REPLICA +PID +PARENT +STATE +CPU +MEMORY +COMMAND\n")
        self.assertRegex(done.stdout, rf"(?m)^{name} +j/worker-1 +\d+ +\d+ +S +\S+ +\S+ +sleep 602$")
        self.assertIn("sleep 603", done.stdout)

    def test_none(self):
        for words in (("ps",), ("top",)):
            self.assertEqual((self.call(*words).stdout, self.call(*words).stderr), ("", "no run goes on\n"))
            self.assertEqual(json.loads(self.call(*words, "-o", "json").stdout), [])
            self.assertEqual(self.call(*words, "j").returncode, 2)

    def test_the_old_word_for_a_parameter_server(self):
        new = self.call("comm", "ps", "--workers", "none")
        old = self.call("ps", "--workers", "none")
        self.assertNotEqual(new.returncode, 0)
        self.assertEqual((old.returncode, old.stderr),
                         (new.returncode, "roundhouse ps: the word for a parameter server is `roundhouse comm ps`\n"
                          + new.stderr))
        self.assertIn("--rule", self.call("comm", "ps", "--help").stdout)
        self.assertIn("unknown option --output", self.call("comm", "ps", "-o", "json").stderr
                      + self.call("comm", "ps", "--output", "json").stderr)

    def test_what_replicas_use(self):
        _, name = self.start(jobs("j", "'echo hello; while :; do :; done'", "'exec sleep 600'"))
        # on a busy machine a replica may get no processor between two looks
        shown = []
        wait_for(lambda: shown.append(self.call("top", "j").stdout) or re.search(
            rf"(?m)^{name} +j/master-0 +1 +[1-9]\d*% +\S+ +\d+ +\d+ +\S+ ago$", shown[-1]), "its share of a processor")
        self.assertRegex(shown[-1], r"^RUN +REPLICA +PROCESSES +CPU +MEMORY +READ/S +WRITE/S +LAST OUTPUT\n")
        self.assertRegex(shown[-1], rf"(?m)^{name} +j/worker-0 +1 +0% +\S+ +0 +0 +-$")
        wait_for(lambda: json.loads(self.call("top", "-o", "json", "j").stdout)[0]["cpu"] > 0, "the same in JSON")
        rows = {row["replica"]: row for row in json.loads(self.call("top", "-o", "json").stdout)}
        self.assertGreater(rows["worker-1"]["memory"], 0)
        self.assertIsNone(rows["worker-1"]["lastOutput"])

    def test_how_far_replicas_are(self):
        """Each by what it wrote; one that has written nothing by what its job reported, else nothing."""
        bar = self.file("epoch 2/3\n 35%|###   | 35/100 [00:10<00:20,  3it/s]\r"
                        " 36%|###   | 36/100 [00:10<00:19,  3it/s]\nhello\n", "bar")
        _, name = self.start(jobs("j", f"'cat {bar}; exec sleep 600'", "'exec sleep 600'"))
        wait_for(lambda: self.call("logs", "j", "master-0").stdout.endswith("hello\n"), "its output")
        done = self.call("top", "j")
        self.assertRegex(done.stdout, r"^RUN .* WRITE/S +PROGRESS +LAST OUTPUT\n")
        self.assertRegex(done.stdout, rf"(?m)^{name} +j/master-0 .* epoch 2/3  step 36/100  19s left +\S+ ago$")
        self.assertRegex(done.stdout, rf"(?m)^{name} +j/worker-0 +1 +0% +\S+ +0 +0 +- +-$")
        rows = {row["replica"]: row for row in json.loads(self.call("top", "-o", "json").stdout)}
        self.assertEqual(rows["master-0"]["progress"], {"epoch": "2/3", "step": "36/100", "secondsLeft": 19})
        self.assertNotIn("progress", rows["worker-0"])

    def test_what_replicas_use_of_gpus(self):
        """With a libnvidia-ml.so.1 of ours (tests/local/gpus); a replica's processes on all GPUs count together."""
        folder = os.environ.get("RH_TEST_NVML", "")
        if not os.path.exists(os.path.join(folder, "libnvidia-ml.so.1")):
            self.skipTest("RH_TEST_NVML names no folder with the library: build rh_fake_nvml, or use ctest")
        _, name = self.start(jobs("j", "'exec sleep 600'", "'exec sleep 600'"))
        self.assertNotIn("GPU", self.call("top", "j").stdout)
        pids = {row["replica"]: row["pid"] for row in json.loads(self.call("ps", "-o", "json", "j").stdout)}
        self.env |= {"LD_LIBRARY_PATH": folder, "RH_FAKE_NVML": self.file(
            f"0 {pids['master-0']} 1073741824 50\n1 {pids['master-0']} 1073741824 70\n1 1 4096 9\n"
            f"1 {pids['worker-1']} - 5\n", "nvml")}
        done = self.call("top", "j")
        self.assertRegex(done.stdout, r"^RUN .* MEMORY +GPU +GPU MEMORY +READ/S ")
        self.assertRegex(done.stdout, rf"(?m)^{name} +j/master-0 +1 +0% +\S+ +120% +2\.0G +0 ")
        self.assertRegex(done.stdout, rf"(?m)^{name} +j/worker-0 +1 +0% +\S+ +- +- +0 ")
        self.assertRegex(done.stdout, rf"(?m)^{name} +j/worker-1 +1 +0% +\S+ +5% +- +0 ")
        rows = {row["replica"]: row for row in json.loads(self.call("top", "-o", "json").stdout)}
        self.assertEqual([(rows[one]["gpu"], rows[one]["gpuMemory"]) for one in ("master-0", "worker-0", "worker-1")],
                         [(1.2, 2147483648), (0, 0), (0.05, None)])

    def test_the_table_is_renewed_until_the_run_ends(self):
        """The last one stays. A single run needs no name, and rows fit."""
        self.start(job("j", "'exec sleep 600'"))
        talk = Talk("top", "j", columns=40, environment=self.env)
        for _ in range(2):
            talk.expect("\033[H\033[J")
        self.assertEqual(self.call("stop", "j").returncode, 0)
        self.assertEqual(talk.end(), 0, talk.text)
        lines = talk.text.split("\033[H\033[J")[-1].replace("\r", "").split("\n")
        self.assertRegex(lines[0], r"^REPLICA +PROCESSES +CPU +MEMORY ")
        self.assertRegex(lines[1], r"^j/master-0 ")
        self.assertEqual(([len(line) for line in lines[:2]], lines[2:]), ([40, 40], [""]))

    def test_several_runs_have_names(self):
        names = [self.start(job("j", "'exec sleep 600'"))[1] for _ in range(2)]
        talk = Talk("top", columns=120, environment=self.env)
        for name in sorted(names):
            talk.expect(name)
        for name in names:
            self.assertEqual(self.call("stop", name).returncode, 0)
        self.assertEqual(talk.end(), 0, talk.text)


class Stopped(Runs):
    def test_ctrl_z_stops_the_run_alone(self):
        """Its replicas are in sessions of their own: they go on, and what they wrote is shown when it goes on, too."""
        go = os.path.join(self.folder, "go")
        child, name = self.start(job("j", f"'until test -e {go}; do sleep 0.1; done; echo late'"))
        os.kill(child.pid, signal.SIGSTOP)
        self.file("", "go")
        log = os.path.join(self.runs, name, "logs", "j", "master-0", "pytorch.log")

        def written():
            with open(log, encoding="utf-8") as file:
                return file.read() == "late\n"
        wait_for(written, "the output")
        self.assertEqual(self.ls()[0]["state"], "Running")
        os.kill(child.pid, signal.SIGCONT)
        shown = child.communicate()[0]
        self.assertEqual(child.returncode, 0, shown)
        self.assertIn("master-0 | late\n", shown)


class Spaces(Runs):
    def test_in_paths(self):
        """Of the job file, the program, the environment, the kept runs, a claim and the page."""
        place = os.path.join(self.folder, "a b", "c'd")
        tools = os.path.join(place, "my tools")
        data = os.path.join(place, "the data")
        os.makedirs(tools)
        os.mkdir(data)
        self.env["XDG_STATE_HOME"] = os.path.join(place, "my state")
        path = os.path.join(place, "the job.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(job("j", "'my-tool; cat \"$DATA/x\"; cat \"the script.sh\"'") +
                       "            env: [{name: DATA, value: /data}]\n"
                       "            volumeMounts: [{name: d, mountPath: /data}]\n"
                       "          volumes: [{name: d, persistentVolumeClaim: {claimName: c}}]\n")
        for name, text in ((os.path.join(tools, "my-tool"), "#!/bin/sh\necho tool\n"),
                           (os.path.join(data, "x"), "data\n"), (os.path.join(place, "the script.sh"), "script\n")):
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(name, 0o755)
        words = ("--image", f"example/*={tools}", "--volume", f"c={data}")
        expected = "master-0 | tool\nmaster-0 | data\nmaster-0 | script\n"
        for first in (("run", path), ("rerun", "j")):
            done = self.call(*first, *words, "-q")
            self.assertEqual((done.returncode, done.stdout), (0, expected), done.stderr)
            self.assertEqual(self.call("logs", "j").stdout, expected)
        page = os.path.join(place, "my page.html")
        self.assertEqual(self.call("view", "j", "-o", page).returncode, 0)
        self.assertTrue(os.path.getsize(page) > 0)
        self.assertEqual(len(self.ls()), 2)


class Again(Runs):
    def test_the_jobs_as_they_ran(self):
        path = self.file(job("j", "'cat word; pwd'"))
        self.file("hello\n", "word")
        self.assertEqual(self.call("run", "-q", path).returncode, 0)
        self.file(job("j", "'echo changed'"))
        os.chdir("/")
        done = self.call("rerun", "-q", "j")
        self.assertEqual((done.returncode, done.stdout),
                         (0, f"master-0 | hello\nmaster-0 | {os.path.realpath(self.folder)}\n"), done.stderr)
        self.assertEqual(len(self.ls()), 2)
        self.assertEqual(self.call("rerun", "k").returncode, 2)


class Earlier(Runs):
    """Runs of the first version that kept runs (kept_by_first_version.json: each file of them): without lines in their
    lock files, names of containers, starts and ends of containers, and samples."""

    def setUp(self):
        super().setUp()
        with open(os.path.join(program.SOURCE, "tests", "cli", "kept_by_first_version.json"), encoding="utf-8") as file:
            files = json.load(file)
        for name, text in files.items():
            path = pathlib.Path(self.runs, name)
            path.parent.mkdir(0o700, parents=True, exist_ok=True)
            path.write_text(text.replace("/home/ada", self.folder), encoding="utf-8")
        self.names = sorted({name.split("/")[0] for name in files})

    def expect(self, line, status, *parts):
        done = self.call(*line.split())
        self.assertEqual(done.returncode, status, done.stderr)
        for part in parts:
            self.assertRegex(done.stdout + done.stderr, part)
        return done.stdout

    def test_they_are_read(self):
        steps = "(?s)^" + ".*".join(rf"{who}-0 \| step {step}/3 loss=0.{step}\n" for step in (1, 2, 3)
                                   for who in ("master", "worker"))
        fault = r"Worker-0 \(container pytorch\) exited with code 7"
        self.expect("ls", 0, r"good-\S+ +good +Succeeded +2 succeeded ", r"gone +Killed +2 ",
                    rf"bad +Failed +1 failed, 1 stopped .*{fault}\n")
        self.assertEqual(self.ls("--running"), [])
        self.expect("logs good", 0, steps)
        self.expect("logs --timestamps gone worker-0", 0, r"^2026-11-24T15:22:1\d\S* rank 1\n$")
        self.expect("logs bad", 0, r"^worker-0 \| shard 7 holds a label 12\n$")
        self.expect("attach good", 2, "is going on")
        self.expect("describe bad", 0, rf"First fault: {fault}:\n      shard 7 holds a label 12\n",
                    r"\n  \d\.\ds  ExitedWithCode +Pod: default\.bad-worker-0 exited with code 7\n")
        self.expect("describe gone", 0, r"State: +Killed\n", "PyTorchJob gone is running")
        self.expect(f"stop {self.names[1]}", 2, "it is Killed")
        for name in self.names:
            with open(self.expect(f"view {name}", 0).strip(), encoding="utf-8") as page:
                self.assertIn(name, page.read())

    def test_they_run_again_and_are_removed(self):
        self.expect("rerun -q good", 0, r"master-0 \| step 3/3 loss=0.3\n")
        self.assertEqual(len(self.ls()), len(self.names) + 1)
        self.assertEqual(sorted(self.expect("runs prune --keep 1", 0).split()), self.names)
        self.assertEqual([row["state"] for row in self.ls()], ["Succeeded"])


class Prune(Runs):
    def run_some(self, count):
        path = self.file(job("j"))
        for _ in range(count):
            self.assertEqual(self.call("run", "-q", path).returncode, 0)
        return [row["name"] for row in self.ls()]

    def test_the_oldest_go(self):
        names = self.run_some(4)
        self.assertEqual(self.call("runs", "prune", "--keep", "2", "--dry-run").stdout.split(), names[2:])
        self.assertEqual([row["name"] for row in self.ls()], names)
        done = self.call("runs", "prune", "--keep", "2")
        self.assertEqual(done.stdout.split(), names[2:])
        self.assertRegex(done.stderr, r"^2 runs removed, \d+\.\d MiB\n$")
        self.assertEqual([row["name"] for row in self.ls()], names[:2])
        self.assertEqual(self.call("runs", "prune", "--older-than", "1h").stdout, "")
        self.assertEqual(self.call("runs", "prune", "--keep-mebibytes", "0").stdout.split(), names[:2])

    def test_each_run_rotates(self):
        config = self.file("[local]\nkeep-runs = 2\n", "r.ini")
        path = self.file(job("j"))
        for _ in range(4):
            self.assertEqual(self.call("run", "-q", "--config", config, path).returncode, 0)
        self.assertEqual(len(self.ls()), 2)
        self.call("run", "-q", "--config", self.file("[local]\nkeep-runs = 0\n", "r.ini"), path)
        self.assertEqual(len(self.ls()), 2)

    def test_the_states_of_ended_runs_are_not_read(self):
        """Their lock files have what decides, so that many large states cost a run nothing."""
        names = self.run_some(3)
        for name in names:
            with open(os.path.join(self.runs, name, "lock"), encoding="utf-8") as file:
                self.assertRegex(file.read(), r"^1 \d{16} \d{16} \d+\n$")
            for state in ("state.json", "run.json"):
                os.truncate(os.path.join(self.runs, name, state), 0)
        done = self.call("runs", "prune", "--keep", "1")
        self.assertEqual(done.stdout.split(), names[1:], done.stderr)

    def test_runs_of_an_earlier_version(self):
        """Their lock files are empty: the state decides, and is read once."""
        names = self.run_some(4)
        with open(os.path.join(self.runs, names[3], "lock"), encoding="utf-8") as file:
            line = file.read()
        for name, cut in ((names[1], 0), (names[2], 9), (names[3], len(line) - 1)):
            os.truncate(os.path.join(self.runs, name, "lock"), cut)
        self.assertEqual(self.call("runs", "prune", "--keep-mebibytes", "1", "--dry-run").stdout, "")
        self.assertEqual(os.path.getsize(os.path.join(self.runs, names[1], "lock")), 0)
        self.assertEqual(self.call("runs", "prune", "--keep-mebibytes", "1").stdout, "")
        with open(os.path.join(self.runs, names[3], "lock"), encoding="utf-8") as file:
            self.assertEqual(file.read(), line)
        self.assertEqual(self.call("runs", "prune", "--keep", "2").stdout.split(), names[2:])
        self.assertEqual(self.ls()[1]["name"], names[1])

    def test_a_killed_run(self):
        """It counts from its last sign of life on, and is noted as ended where it is seen."""
        run, name = self.start(job("j", "'echo hello; exec sleep 600'"))
        lock = os.path.join(self.runs, name, "lock")
        self.call("runs", "prune", "--keep", "5", "--older-than", "1h")
        self.assertEqual(os.path.getsize(lock), 0)
        run.kill()
        run.wait()
        self.call("runs", "prune", "--keep", "5", "--older-than", "1h")
        self.assertGreater(os.path.getsize(lock), 0)
        self.assertEqual(self.ls()[0]["state"], "Killed")
        self.assertEqual(self.call("runs", "prune", "--keep", "0").stdout.split(), [name])

    def test_what_goes_on_stays(self):
        _, name = self.start(job("j", "'exec sleep 600'"))
        self.assertEqual(self.call("runs", "prune", "--all").stdout, "")
        self.assertEqual([row["name"] for row in self.ls()], [name])

    def test_what_killed_processes_left(self):
        self.run_some(1)
        for name in (".new-abcdef", ".old-j-1"):
            os.makedirs(os.path.join(self.runs, name, "logs"))
            os.utime(os.path.join(self.runs, name), (0, 0))
        self.assertEqual(len(self.ls()), 1)
        self.call("runs", "prune", "--keep", "5")
        self.assertEqual(len(os.listdir(self.runs)), 1, os.listdir(self.runs))
        self.assertEqual(self.call("runs", "path").stdout, self.runs + "\n")

    def test_a_run_that_is_being_made_stays(self):
        """It has its lock file a moment before its lock."""
        self.run_some(1)
        path = os.path.join(self.runs, ".new-abcdef")
        os.mkdir(path)
        with open(os.path.join(path, "lock"), "w", encoding="utf-8"):
            pass
        self.call("runs", "prune", "--keep", "5")
        self.assertTrue(os.path.exists(path))
        os.utime(path, (0, 0))
        self.call("runs", "prune", "--keep", "5")
        self.assertFalse(os.path.exists(path))


main()
