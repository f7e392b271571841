# SPDX-License-Identifier: Apache-2.0
"""A job with many values: trials, their table, and a sweep that goes on after kill -9."""
import contextlib
import csv
import io
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program  # noqa: E402
from program import Case, call, job, main, wait_for  # noqa: E402

# What a Katib Experiment has as trialTemplate.trialSpec: Katib puts values in the place of ${trialParameters.NAME}.
TRIAL = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          containers:
          - name: pytorch
            image: example/train:1
            command: [sh, -c, 'echo lr=$2 batch=$4; echo accuracy $2$4', train]
            args: [--lr, '${trialParameters.learningRate}', --batch, '${trialParameters.batch}']
"""


class Sweep(Case):
    """Each test has a state folder of its own."""

    def setUp(self):
        super().setUp()
        state = tempfile.TemporaryDirectory()
        self.addCleanup(state.cleanup)
        self.state = state.name
        self.env = {"XDG_STATE_HOME": state.name}

    def sweep(self, text, *words, status=0):
        """Run a sweep; returns its rows, as of -o json."""
        done = call("sweep", self.file(text), "-o", "json", *words, env=self.env)
        self.assertEqual(done.returncode, status, done.stderr)
        self.stderr = done.stderr
        return json.loads(done.stdout)

    def lines(self):
        """The lines of the newest state of a sweep."""
        folder = os.path.join(self.state, "roundhouse", "sweeps")
        with open(os.path.join(folder, max(os.listdir(folder))), encoding="utf-8") as file:
            return file.read().splitlines()


class Terminal(Sweep):
    def test_a_row_says_how_far_the_trials_are(self):
        """Each trial writes its progress and waits until the row has shown it; at the end the row is gone."""
        bar = self.file(" 36%|###   | 36/100 [00:10<00:19,  3it/s]\n", "bar")
        go = os.path.join(self.folder, "go")
        path = self.file(job("one", f"'cat {bar}; until test -e {go}; do sleep 0.1; done'"))
        child, fd = pty.fork()
        if child == 0:
            os.execve(program.PROGRAM, [program.PROGRAM, "sweep", path, "--param", "LR=1,3", "--parallel", "2"],
                      {**os.environ, **self.env, "TERM": "xterm", "COLUMNS": "200"})
        shown = b""
        far = rb"0 of 2 \| one-0001 step 36/100  19s left \| one-0002 step 36/100  19s left"
        while not re.search(far, shown):
            part = os.read(fd, 4096)
            self.assertTrue(part, shown)
            shown += part
        self.file("", "go")
        with contextlib.suppress(OSError):
            while part := os.read(fd, 4096):
                shown += part
        os.close(fd)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0, shown)
        self.assertRegex(shown.decode(), r"\r\x1b\[Kone-000\d LR=\d: Succeeded \(1 of 2\)\r\n")
        self.assertRegex(shown.decode(), r"\r\nKept in \S+\r\n$")


class Trials(Sweep):
    def test_variables_and_all_combinations(self):
        rows = self.sweep(job("one", "'echo $LR $N; echo score $LR$N'"), "--param", "LR=1,3", "--param", "N=2,4",
                          "--metric", "score ([0-9]+)")
        self.assertEqual([(row["job"], row["params"], row["metric"], row["state"]) for row in rows],
                         [("one-0004", {"LR": "3", "N": "4"}, 34, "Succeeded"),
                          ("one-0003", {"LR": "3", "N": "2"}, 32, "Succeeded"),
                          ("one-0002", {"LR": "1", "N": "4"}, 14, "Succeeded"),
                          ("one-0001", {"LR": "1", "N": "2"}, 12, "Succeeded")])
        self.assertEqual(call("logs", "one-0003", env=self.env).stdout, "master-0 | 3 2\nmaster-0 | score 32\n")
        self.assertRegex(self.stderr, r"(?m)^one-0002 LR=1 N=4: Succeeded, 14 \(2 of 4\)$")

    def test_the_template_of_a_katib_trial(self):
        rows = self.sweep(TRIAL, "--param", "learningRate=7,1", "--param", "batch=3", "--metric", "accuracy ([0-9]+)",
                          "--goal", "min")
        self.assertEqual([(row["params"]["learningRate"], row["metric"]) for row in rows], [("1", 13), ("7", 73)])
        self.assertEqual(call("logs", "train-0001", "master-0", "--tail", "2", env=self.env).stdout,
                         "lr=7 batch=3\naccuracy 73\n")

    def test_own_placeholders_and_quotes(self):
        rows = self.sweep(job("one", "'echo \"{{my-word}}\"'"), "--param", 'my-word=a b,c\\d"', status=1)
        self.assertEqual([row["state"] for row in rows], ["Succeeded", "Failed"])  # a quote too many for the shell
        self.assertEqual(call("logs", "one-0001", "master-0", env=self.env).stdout, "a b\n")

    def test_paths_of_fields(self):
        rows = self.sweep(job("one"), "--param", "metadata.labels[a.b]=x,y", "--param", "spec.runPolicy.backoffLimit=3")
        self.assertEqual(len(rows), 2)
        with open(os.path.join(rows[1]["run"], "jobs.yaml"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn('a.b: "y"', text)
        self.assertIn("backoffLimit: 3", text)

    def test_overrides_come_first(self):
        rows = self.sweep(job("one", "'echo got $A $B'"), "-e", "A=5", "--param", "B=6", "--metric", "got 5 ([0-9])")
        self.assertEqual(rows[0]["metric"], 6)

    def test_failures_and_metrics_that_are_missing(self):
        rows = self.sweep(job("one", "'[ $N = 2 ] && exit 3; [ $N = 3 ] || echo v=1 v=$N.5e0; true'"), "--param",
                          "N=1,2,3,4", "--metric", "v=([0-9.e]+)", status=1)
        self.assertEqual([(row["trial"], row["state"], row["metric"]) for row in rows],
                         [(4, "Succeeded", 4.5), (1, "Succeeded", 1.5), (2, "Failed", None), (3, "Succeeded", None)])

    def test_random_choice_repeats_by_its_seed(self):
        words = ("--param", "A=1,2,3,4,5", "--param", "B=1,2,3,4", "--random", "3")
        chosen = [[row["params"] for row in self.sweep(job("one"), *words, "--seed", seed)] for seed in ("7", "7", "8")]
        self.assertEqual(len(chosen[0]), 3)
        self.assertEqual(chosen[0], chosen[1])
        self.assertNotEqual(chosen[0], chosen[2])
        free = [row["params"] for row in self.sweep(job("one"), *words)]
        seed = re.search(r"`--seed (\d+)` chooses the same 3 of 20", self.stderr)[1]
        self.assertEqual([row["params"] for row in self.sweep(job("one"), *words, "--seed", seed)], free)

    def test_several_at_a_time(self):
        """Each waits until three run."""
        script = f"'touch {self.folder}/$N; while [ $(ls {self.folder} | grep -c ^[1-3]$) -lt 3 ]; do sleep 0.02; done'"
        self.assertEqual(len(self.sweep(job("one", script), "--param", "N=1,2,3", "--parallel", "3")), 3)

    def test_a_hundred(self):
        text = job("one").replace("[sh, -c, 'exit 0']", "[/bin/true]")
        values = ",".join(str(i) for i in range(100))
        rows = self.sweep(text, "--param", "N=" + values, "--parallel", "8")
        self.assertEqual([row["state"] for row in rows], ["Succeeded"] * 100)

    def test_a_trial_that_takes_too_long(self):
        rows = self.sweep(job("one", "'exec sleep 600'"), "--param", "N=1", "--timeout", "1", status=1)
        self.assertEqual(rows[0]["state"], "TimedOut")


class Reports(Sweep):
    WORDS = ("--param", "A=1,\"x", "--param", "B=<2>", "--metric", "m=([0-9]+)")

    def test_table_csv_and_plot(self):
        path, svg = self.file(job("one", "'echo m=${#A}'")), os.path.join(self.folder, "plot.svg")
        done = call("sweep", path, *self.WORDS, "--svg", svg, env=self.env)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r"^TRIAL +A +B +STATE +METRIC +SECONDS +RUN$")
        self.assertRegex(lines[1], r'^one-0002 +"x +<2> +Succeeded +2 +[0-9.]+ +one-0002-\d{8}-\d{6}$')
        done = call("sweep", path, *self.WORDS, "-o", "csv", env=self.env)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual([(row["job"], row["A"], row["B"], row["metric"]) for row in rows],
                         [("one-0002", '"x', "<2>", "2"), ("one-0001", "1", "<2>", "1")])
        space = "{http://www.w3.org/2000/svg}"
        tree = xml.etree.ElementTree.parse(svg)
        self.assertEqual(len(tree.findall(f"{space}g")), 2)
        self.assertEqual(len(tree.findall(f".//{space}circle")), 4)
        texts = [text.text for text in tree.iter(f"{space}text")]
        self.assertLessEqual({"m=([0-9]+)", "A", "B", "1", '"x', "<2>", "2"}, set(texts))


    def test_values_below_a_plot_do_not_cover_each_other(self):
        svg = os.path.join(self.folder, "plot.svg")
        values = [f"v{i}" for i in range(20)]
        self.sweep(job("one", "'echo m=7'"), "--param", "A=" + ",".join(values), "--parallel", "4", "--metric", "m=(7)",
                   "--svg", svg)
        tree = xml.etree.ElementTree.parse(svg)
        self.assertEqual(len(list(tree.iter("{http://www.w3.org/2000/svg}circle"))), 20)
        shown = [text.text for text in tree.iter("{http://www.w3.org/2000/svg}text")]
        self.assertEqual([text for text in shown if text in values], ["v0", "v3", "v6", "v9", "v12", "v15", "v18"])


class Mistakes(Sweep):
    def test_nothing_is_started(self):
        path = self.file(job("one"))
        param = ("--param", "N=1,2")
        for words, message in (
                ((), "option --param: there is none"),
                (("--param", "N"), '"N" is not of the form NAME=VALUE,VALUE'),
                (("--param", "my-word=1"), 'option --param: "my-word" is neither a path of fields, nor the name of a '
                 'variable, nor does {{my-word}} stand'),
                (("--param", "spec.backoffLimit=1"), "option --param spec.backoffLimit: there is no field "
                 "\"backoffLimit\" in spec; did you mean"),
                (("--param", "spec.runPolicy.backoffLimit=1,x"), 'spec.runPolicy.backoffLimit: "x" is not an integer'),
                (("--param", "spec.pytorchReplicaSpecs.Master.replicas=1,2"), "1 error; nothing was done"),
                ((*param, "--metric", "x"), "has no group"), ((*param, "--metric", "("), 'option --metric: "(": '),
                ((*param, "--svg", "x.svg"), "need --metric"),
                ((*param, "--seed", "3"), "option --seed is for --random"),
                ((*param, "--parallel", "0"), 'option --parallel: "0" is not between 1 and 256'),
                ((*param, "--random", "x"), "option --random"), ((*param, "--timeout", "soon"), "option --timeout"),
                ((*param, "--resume"), 'there is no sweep of job "one" to go on with')):
            done = call("sweep", path, *words, env=self.env)
            self.assertEqual(done.returncode, 2, (words, done.stderr))
            self.assertIn(message, done.stderr)
        for text, count in ((job("one") + "---\n" + job("two"), 2),
                            ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n", 0)):
            done = call("sweep", self.file(text), *param, env=self.env)
            self.assertIn(f"the files have {count} jobs; a sweep is of one job", done.stderr)
        self.assertEqual(os.listdir(self.state), [])


class Resume(Sweep):
    """Trials write to a file of the test each time they start."""

    def script(self, then):
        return job("one", f"'echo $N >> {self.folder}/started; {then}'")

    def started(self):
        with open(os.path.join(self.folder, "started"), encoding="utf-8") as file:
            return file.read().split()

    def begin(self, text, *words):
        """Start a sweep that the test ends."""
        child = subprocess.Popen([program.PROGRAM, "sweep", self.file(text), *words], env={**os.environ, **self.env},
                                 text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(self.finish, child)
        return child

    @staticmethod
    def finish(child):
        """Its trials have its standard error, which ends with the last of them."""
        child.kill()
        if not child.stdout.closed:
            child.communicate(timeout=program.TIMEOUT)
        child.wait()

    def test_after_kill_9(self):
        """Nothing that has succeeded runs again, and what was cut off does."""
        go = os.path.join(self.folder, "go")
        text = self.script(f"[ $N -gt 2 ] && while [ ! -e {go} ]; do sleep 0.02; done; echo got $N")
        words = ("--param", "N=1,2,3,4,5", "--parallel", "2", "--metric", "got ([0-9])")
        child = self.begin(text, *words)
        wait_for(lambda: os.path.exists(os.path.join(self.folder, "started")) and {"3", "4"} <= set(self.started()),
                  "the trials")
        child.send_signal(signal.SIGKILL)
        child.wait()
        self.file("", "go")
        rows = self.sweep(text, "--resume")
        self.assertEqual([(row["trial"], row["state"], row["metric"]) for row in rows],
                         [(n, "Succeeded", n) for n in (5, 4, 3, 2, 1)])
        started = self.started()
        self.assertEqual([started.count(n) for n in "125"], [1, 1, 1])
        self.assertEqual(json.loads(call("ls", "--running", "-o", "json", env=self.env).stdout), [])
        again = self.sweep(text, "--resume", "--param", "N=1,2,3,4,5")
        self.assertEqual(again, rows)
        self.assertEqual(self.started(), started)

    def test_what_failed_is_tried_again(self):
        ok = os.path.join(self.folder, "ok")
        text = self.script(f"[ $N = 1 ] || [ -e {ok} ]")
        self.sweep(text, "--param", "N=1,2", status=1)
        self.file("", "ok")
        self.assertEqual([row["state"] for row in self.sweep(text, "--resume")], ["Succeeded", "Succeeded"])
        self.assertEqual(self.started(), ["1", "2", "2"])

    def test_a_success_that_the_sweep_did_not_see(self):
        """Its line is missing, as after kill -9 at that moment; its run is not."""
        text = self.script("echo got $N")
        rows = self.sweep(text, "--param", "N=1,2", "--metric", "got ([0-9])")
        folder = os.path.join(self.state, "roundhouse", "sweeps")
        path = os.path.join(folder, os.listdir(folder)[0])
        lines = self.lines()
        last = [line for line in lines if '"trial":2' in line and '"state"' in line][0]
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines if line != last) + last[:len(last) // 2])
        self.assertEqual(self.sweep(text, "--resume"), rows)
        self.assertEqual(self.started(), ["1", "2"])

    def test_ctrl_c(self):
        child = self.begin(self.script("exec sleep 600"), "--param", "N=1,2,3", "--parallel", "2")
        wait_for(lambda: os.path.exists(os.path.join(self.folder, "started")) and len(self.started()) == 2,
                  "the trials")
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=program.TIMEOUT)
        self.assertEqual(child.returncode, 130, out)
        self.assertRegex(out, r"(?m)^one-0001 +1 +Interrupted ")
        self.assertRegex(out, r"(?m)^one-0003 +3 +Pending ")
        self.assertEqual(json.loads(call("ls", "--running", "-o", "json", env=self.env).stdout), [])

    def test_another_sweep_is_refused(self):
        text = self.script("exec sleep 600")
        self.begin(text, "--param", "N=1")
        wait_for(lambda: os.path.exists(os.path.join(self.folder, "started")), "the trial")
        done = call("sweep", self.file(text), "--resume", env=self.env)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("the sweep goes on: process ", done.stderr)

    def test_other_jobs_and_values_are_refused(self):
        self.sweep(job("one"), "--param", "N=1,2")
        for words, text, message in ((("--param", "N=1,2,3"), job("one"), "has other parameters"),
                                     ((), job("one", "'exit 1'"), "the job is not the one"),
                                     (("--random", "2"), job("one"),
                                      "option --random: a sweep that goes on has its trials")):
            done = call("sweep", self.file(text), "--resume", *words, env=self.env)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    main()
