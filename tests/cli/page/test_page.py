# SPDX-License-Identifier: Apache-2.0
"""`roundhouse view`: the page of a run has what the run's folder has, and nothing in it becomes HTML."""
import base64
import hashlib
import html.parser
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import zlib

import browser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program  # noqa: E402
from program import Case, call, main, wait_for  # noqa: E402

# Logs of 200 replicas of 8 MiB each; the buffers of one log and the tables of the run are all that is in memory.
REPLICAS, LONG = 200, 8 * 1024 * 1024
MEMORY = 128 * 1024  # KiB, also with AddressSanitizer's quarantine; the logs have 1600 MiB
PAGE_MAX = 64 * 1024 * 1024


def pod(command, policy="Never"):
    return {"restartPolicy": policy, "replicas": 1, "template": {"spec": {"containers": [
        {"name": "pytorch", "image": "x", "command": ["sh", "-c", command]}]}}}


def job(name, master, worker=None, workers=2, policy="Never"):
    """The text of a job; JSON is YAML. `$` of the shell is written as it is."""
    specs = {"Master": pod(master.replace("$", "$$"))}
    if worker:
        specs["Worker"] = {**pod(worker.replace("$", "$$"), policy), "replicas": workers}
    return json.dumps({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name},
                       "spec": {"pytorchReplicaSpecs": specs}})


# What the page looks like: widths of the drawing and of its place, the least height of letters in it, the least width
# of the last column of logs and events, the least contrast of text (WCAG).
SEEN = """(() => {
	const boxes = query => [...document.querySelectorAll(query)].map(node => node.getBoundingClientRect());
	const light = colour => {
		const [r, g, b] = colour.match(/[0-9.]+/g).map(n => n / 255).map(c => c <= 0.03928 ? c / 12.92 :
			Math.pow((c + 0.055) / 1.055, 2.4));
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const style = query => getComputedStyle(document.querySelector(query));
	const back = light(style("body").backgroundColor);
	const contrasts = [style("body").color, style(".note").color, style("a").color, style("svg text").fill].map(light)
		.map(l => (Math.max(l, back) + 0.05) / (Math.min(l, back) + 0.05));
	return {main: boxes("main")[0].width, line: boxes("#line svg")[0].width, contrast: Math.min(...contrasts),
		letters: Math.min(...boxes("svg text").map(box => box.height)),
		words: Math.min(...boxes(".row .text, #events td:last-child").map(box => box.width))};
})()"""


class Parser(html.parser.HTMLParser):
    """Tags with their attributes, and the text of scripts and styles."""

    def __init__(self):
        super().__init__()
        self.tags, self.texts, self._open = [], [], None

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._open = [tag, dict(attrs), ""]
            self.texts.append(self._open)

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self._open = None

    def handle_data(self, data):
        if self._open:
            self._open[2] += data


class Pages(Case):
    """Each test has a state folder of its own."""

    def setUp(self):
        super().setUp()
        self.state = tempfile.TemporaryDirectory()
        self.addCleanup(self.state.cleanup)
        self.runs = os.path.join(self.state.name, "roundhouse", "runs")

    def call(self, *words, **env):
        return call(*words, env={"XDG_STATE_HOME": self.state.name, **env})

    def start(self, text, name="job.yaml"):
        """Run to the end, with output that is UTF-8 whatever the job writes. -> (the run's folder, the call)"""
        done = self.call("run", "-o", "json", self.file(text, name))
        return self.newest(), done

    def newest(self):
        return os.path.join(self.runs, self.call("ls", "-o", "name").stdout.split()[0])

    def view(self, *words):
        """-> (the parsed page, its JSON)"""
        done = self.call("view", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(done.stdout.strip(), encoding="utf-8") as file:
            return self.parse(file.read())

    def parse(self, text):
        parser = Parser()
        parser.feed(text)
        parser.close()
        style, data, script = parser.texts
        self.assertEqual(style[0], "style")
        self.assertEqual(data[:2], ["script", {"type": "application/json", "id": "run"}])
        self.assertEqual(script[:2], ["script", {}])
        self.assertNotRegex(data[2], r"[<>&]")
        self.expect_policy(parser, style[2], script[2])
        return parser, json.loads(data[2])

    def expect_policy(self, parser, style, script):
        """The policy allows this style and this script alone, and nothing has an address."""
        policy = next(attrs["content"] for tag, attrs in parser.tags
                      if attrs.get("http-equiv") == "Content-Security-Policy")
        hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
        self.assertEqual(policy, f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}';"
                         " base-uri 'none'; form-action 'none'")
        for tag, attrs in parser.tags:
            self.assertFalse({"src", "href", "action", "style"} & set(attrs), (tag, attrs))
            self.assertFalse([name for name in attrs if name.startswith("on")], (tag, attrs))

    @staticmethod
    def read(*path):
        with open(os.path.join(*path), "rb") as file:
            return file.read()

    @staticmethod
    def text_of(log):
        return "".join(part["text"] for part in log["parts"])


class Content(Pages):
    def test_a_run_with_a_restart_and_a_failure(self):
        """All that the page shows is what the folder has."""
        once = os.path.join(self.folder, "once")
        worker = (f'if [ "$RANK" = 1 ]; then if [ ! -e "{once}" ]; then touch "{once}"; echo first; exit 2; fi; fi; '
                  'echo "rank $RANK"; exec sleep 600')
        # both workers have started, and one of them twice, when the master fails
        ready = f'[ -e "{once}" ] && [ $({program.PROGRAM} logs j worker | grep -c "rank") = 2 ]'
        master = ('echo "epoch=1 loss=0.5"; echo "epoch=2 loss=0.25"; '
                  f'until {ready}; do sleep 0.05; done; echo bye; exit 7')
        folder, done = self.start(job("j", master, worker, policy="OnFailure"))
        self.assertEqual(done.returncode, 1, done.stderr)
        parser, page = self.view("j")
        self.assertEqual(page["name"], os.path.basename(folder))
        self.assertEqual((page["result"], page["life"], page["path"]), ("Failed", "ended", folder))
        self.assertEqual(page["state"], json.loads(self.read(folder, "state.json")))
        self.assertEqual(page["events"], [json.loads(line) for line in self.read(folder, "events.jsonl").splitlines()])
        self.assertEqual(page["jobsText"], self.read(folder, "jobs.yaml").decode())
        self.assertEqual(page["objects"][0]["metadata"]["name"], "j")
        self.assertEqual([log["replica"] for log in page["logs"]], ["master-0", "worker-0", "worker-1"])
        for log in page["logs"]:
            content = self.read(folder, "logs", "j", log["replica"], "pytorch.log")
            self.assertEqual((self.text_of(log).encode(), log["size"], log["leftOut"]), (content, len(content), 0))
            self.assertEqual(log["path"], os.path.join(folder, "logs", "j", log["replica"], "pytorch.log"))
            self.assertEqual(log["parts"][0]["times"][0][0], 0)
        loss, = page["logs"][0]["metrics"]
        self.assertEqual((loss["name"], [point[1:] for point in loss["points"]]), ("loss", [[1, 0.5], [2, 0.25]]))
        self.expect_attempts(page)
        self.assertEqual([tag for tag, _ in parser.tags if tag in ("img", "iframe", "link", "b")], [])

    def expect_attempts(self, page):
        """Every start of a container and its end, which the time line draws."""
        rows = [row for row in page["events"] if row["type"] == "pod"]
        starts = [(row["replica"], row["startedAt"]) for row in rows if row["state"] == "running"]
        ends = [(row["replica"], row["startedAt"]) for row in rows if row["state"] == "ended"]
        self.assertEqual(len(starts), len(set(starts)))
        self.assertEqual(len(ends), len(set(ends)))
        # a start and its end that the run sees at once are one row
        self.assertGreaterEqual(len({at for replica, at in starts + ends if replica == "worker-0"}), 2, rows)
        first = next(row for row in rows if row["state"] == "ended" and row["replica"] == "worker-0")
        self.assertEqual((first["exitCode"], first["restarts"], first["container"]), (2, 0, "pytorch"))
        master, = [row for row in rows if row["state"] == "ended" and row["replica"] == "master-0"]
        self.assertEqual(master["exitCode"], 7)
        self.assertLess(master["startedAt"], master["finishedAt"])

    def test_bytes_that_would_be_html_or_script(self):
        hostile = (b"</script><script>alert(1)</script><!-- <img src=x onerror=alert(1)>\n"
                   b"\xff\xfe\x00 \xc3( \x1b[31mred\x1b[0m\x1b]0;title\x07 \"quote\\ \xe2\x80\xa8 "
                   b"\xe2\x80\xae half\rwhole ]]>&lt;\n")
        data = os.path.join(self.folder, "data")
        with open(data, "wb") as file:
            file.write(hostile)
        text = job("j", f'cat "{data}"; exit 3').replace('"name": "j"', '"name": "j", "annotations": {"a": '
                                                          '"</script><b>x</b>"}')
        folder, done = self.start(text, "job <b>&'.yaml")
        self.assertEqual(done.returncode, 1, done.stderr)
        parser, page = self.view()
        self.assertEqual([tag for tag, _ in parser.tags if tag in ("b", "img")], [])
        self.assertEqual(self.text_of(page["logs"][0]), hostile.decode("utf-8", "replace").replace("\0", "\ufffd"))
        self.assertEqual(page["state"]["sources"], [os.path.join(os.path.realpath(self.folder), "job <b>&'.yaml")])
        self.assertIn("</script><b>x</b>", page["jobsText"])
        self.assertIn("</script>", "".join(page["state"]["jobs"][0]["firstFault"]["lines"]))
        self.assertEqual(page["jobsText"], self.read(folder, "jobs.yaml").decode())

    def test_values_of_secrets_are_left_out(self):
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "annotations": {"last": "hush-1"}},
                  "stringData": {"password": "hush-2"}, "data": {"token": "aHVzaC0z"}}
        self.start(job("j", "exit 0") + "\n---\n" + json.dumps(secret))
        done = self.call("view", "-o", "-")
        self.assertNotRegex(done.stdout, "hush|aHVzaC0z")
        _, page = self.parse(done.stdout)
        found = next(item for item in page["objects"] if item["kind"] == "Secret")
        self.assertEqual(set(found["stringData"]) | set(found["data"]), {"password", "token"})

    def test_a_long_log(self):
        """Its start and its end are there, by lines, and metrics of all of it."""
        folder, _ = self.start(job("j", "i=0; while [ $i -lt 3 ]; do echo x; i=$((i+1)); done"))
        log = os.path.join(folder, "logs", "j", "master-0", "pytorch.log")
        lines = [f"step={i} loss={1 / (i + 1):.6f} {'x' * 60}\n".encode() for i in range(100_000)]
        content = b"".join(lines)
        with open(log, "wb") as file:
            file.write(content)
        _, page = self.view()
        log = page["logs"][0]
        head, tail = (part["text"].encode() for part in log["parts"])
        self.assertTrue(content.startswith(head) and head.endswith(b"\n"))
        self.assertTrue(content.endswith(tail) and tail.startswith(b"step="))
        self.assertEqual(content[log["parts"][1]["from"]:], tail)
        self.assertEqual((len(head) + len(tail) + log["leftOut"], log["size"]), (len(content), len(content)))
        self.assertLess(len(head) + len(tail), 1024 * 1024)
        loss, = log["metrics"]
        self.assertEqual((loss["count"], loss["points"][0][1:], loss["points"][-1][1]), (100_000, [0, 1], 99_999))
        self.assertLess(len(loss["points"]), 1000)

    def test_a_line_without_an_end(self):
        folder, _ = self.start(job("j", "printf none"))
        with open(os.path.join(folder, "logs", "j", "master-0", "pytorch.log"), "wb") as file:
            file.write(b"y" * (4 * 1024 * 1024))
        _, page = self.view()
        log = page["logs"][0]
        self.assertEqual(len(self.text_of(log)) + log["leftOut"], 4 * 1024 * 1024)

    def test_many_long_logs_need_little_memory(self):
        folder, _ = self.start(job("j", "echo x"))
        logs = os.path.join(folder, "logs", "j")
        long = os.path.join(folder, "long")
        with open(long, "wb") as file:
            for i in range(LONG // 64):
                file.write(f"step={i:07} loss=0.5 \x1b[31m".encode().ljust(63, b"<") + b"\n")
        for i in range(REPLICAS):
            os.mkdir(os.path.join(logs, f"worker-{i}"))
            os.link(long, os.path.join(logs, f"worker-{i}", "pytorch.log"))
        path = os.path.join(self.folder, "page.html")
        with subprocess.Popen([program.PROGRAM, "view", "-o", path], stdout=subprocess.DEVNULL,
                              env={**os.environ, "XDG_STATE_HOME": self.state.name}) as child:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(child.returncode, 0)
        self.assertLess(usage.ru_maxrss, MEMORY)
        self.assertLess(os.path.getsize(path), PAGE_MAX)
        with open(path, encoding="utf-8") as file:
            _, page = self.parse(file.read())
        self.assertEqual([log["replica"] for log in page["logs"]],
                         ["master-0", *(f"worker-{i}" for i in range(REPLICAS))])


class State(Pages):
    """Runs that go on, were killed, or whose folder is damaged."""

    def begin(self, text):
        """Start a run; -> its process when its first line is kept."""
        child = subprocess.Popen([program.PROGRAM, "run", self.file(text)], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 env={**os.environ, "XDG_STATE_HOME": self.state.name})
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        wait_for(lambda: self.call("logs", "j").stdout, "the first line of the run")
        return child

    def test_a_run_that_goes_on_then_is_killed(self):
        child = self.begin(job("j", "echo hello; exec sleep 600"))
        _, page = self.view()
        self.assertEqual((page["life"], page["result"], page["endedAt"]), ("running", "Running", None))
        self.assertEqual(self.text_of(page["logs"][0]), "hello\n")
        self.assertLess(page["startedAt"], page["madeAt"])
        child.send_signal(signal.SIGKILL)
        child.wait()
        _, page = self.view("j")
        self.assertEqual((page["life"], page["result"]), ("killed", "Killed"))
        self.assertEqual(self.text_of(page["logs"][0]), "hello\n")

    def samples(self):
        """Lines that say what replicas used, of the newest run."""
        path = os.path.join(self.newest(), "samples.jsonl")
        lines = self.read(path).split(b"\n")[:-1] if os.path.exists(path) else []
        return [row for row in map(json.loads, lines) if "u" in row]

    def test_what_replicas_used(self):
        """It is kept while the run goes on, and so it is there when the run is killed."""
        child = self.begin(job("j", "echo hello; exec sleep 600", "while :; do :; done", workers=1))

        def has_used():
            uses = [row["u"] for row in self.samples()]
            return sum({use[0] for use in row} == {0, 1} for row in uses) >= 2 and any(
                use[2] for row in uses for use in row)
        wait_for(has_used, "samples of both, and that the worker has had a processor for a while")
        child.send_signal(signal.SIGKILL)
        child.wait()
        samples = self.samples()
        _, page = self.view("j")
        self.assertEqual(page["life"], "killed")
        series = {row["replica"]: row for row in page["usage"]}
        self.assertEqual((set(series), {row["job"] for row in page["usage"]}), ({"master-0", "worker-0"}, {"j"}))
        for row in series.values():
            self.assertGreaterEqual(len(row["points"]), 2)
            self.assertGreater(row["most"]["memory"], 0)
            self.assertEqual(row["most"]["memory"], max(point[3] for point in row["points"]))
            for (from_, to, *_), (next_, *_) in zip(row["points"], row["points"][1:]):
                self.assertLess(from_, to)
                self.assertLessEqual(to, next_ + 1)
        self.assertGreater(series["worker-0"]["most"]["cpu"], 0)
        self.assertLessEqual(series["worker-0"]["points"][-1][1], samples[-1]["t"])
        described = json.loads(self.call("describe", "j", "-o", "json").stdout)["usage"]
        self.assertEqual({(row["replica"], row["mostMemory"]) for row in described},
                         {(name, row["most"]["memory"]) for name, row in series.items()})
        path = os.path.join(self.newest(), "samples.jsonl")
        os.truncate(path, os.path.getsize(path) - 5)
        self.assertEqual(sum(len(row["points"]) for row in self.view("j")[1]["usage"]),
                         sum(len(row["u"]) for row in samples[:-1]))

    def test_a_page_counts_where_runs_are_removed(self):
        """It is written after the run's bytes were counted, and it may go again."""
        self.start(job("j", "echo hello"))
        page = self.call("view").stdout.strip()

        def removed():
            return self.call("runs", "prune", "--keep-mebibytes", "1", "--dry-run").stdout
        self.assertEqual(removed(), "")
        with open(page, "ab") as out:
            out.write(bytes(2 * 1024 * 1024))
            out.flush()
            os.fsync(out.fileno())  # blocks are counted when they are on the disk
        self.assertIn("j-2", removed())
        os.remove(page)
        self.assertEqual(removed(), "")

    def test_describe_has_what_replicas_used_at_most(self):
        go = os.path.join(self.folder, "go")
        child = self.begin(job("j", f'echo hello; while [ ! -e "{go}" ]; do sleep 0.05; done'))
        wait_for(self.samples, "a sample")
        self.file("", "go")
        self.assertEqual(child.wait(), 0)
        text = self.call("describe", "j").stdout
        self.assertRegex(text, r"(?m)^ +REPLICA .* DURATION +MOST CPU +MOST MEMORY$")
        self.assertRegex(text, r"(?m)^ +Master-0 +Succeeded .* \d+% +[\d.]+[KMG]$")

    def test_a_folder_that_is_damaged(self):
        folder, _ = self.start(job("j", "echo hello"))
        name = os.path.basename(folder)
        for file in ("events.jsonl", "jobs.yaml"):
            os.truncate(os.path.join(folder, file), os.path.getsize(os.path.join(folder, file)) - 7)
        events = self.read(folder, "events.jsonl").splitlines()
        _, page = self.view(name)
        self.assertEqual(page["events"], [json.loads(line) for line in events[:-1]])
        for file in ("state.json", "run.json", "jobs.yaml"):
            with open(os.path.join(folder, file), "wb") as out:
                out.write(b'{"jobs": [\xff')
        os.remove(os.path.join(folder, "events.jsonl"))
        shutil.rmtree(os.path.join(folder, "times"))
        _, page = self.view(name)
        self.assertEqual((page["life"], page["result"], page["state"], page["jobsText"]),
                         ("unread", "Unreadable", None, None))
        self.assertEqual((page["events"], self.text_of(page["logs"][0])), ([], "hello\n"))
        os.remove(os.path.join(folder, "logs", "j", "master-0", "pytorch.log"))
        os.mkfifo(os.path.join(folder, "logs", "j", "master-0", "pytorch.log"))
        _, page = self.view(name)
        self.assertEqual(page["logs"][0]["error"], "not a regular file")
        shutil.rmtree(os.path.join(folder, "logs"))
        self.assertEqual(self.view(name)[1]["logs"], [])

    def test_a_run_without_starts_of_containers(self):
        """Of a version that did not keep them: the page has no time line, and all else."""
        folder, _ = self.start(job("j", "echo hello"))
        path = os.path.join(folder, "events.jsonl")
        kept = [line for line in self.read(path).splitlines(True) if b'"type":"pod"' not in line]
        with open(path, "wb") as out:
            out.writelines(kept)
        _, page = self.view()
        self.assertEqual(len(page["events"]), len(kept))


class Command(Pages):
    def test_where_it_is_written(self):
        first, _ = self.start(job("one", "echo 1"))
        second, _ = self.start(job("two", "echo 2"))
        self.assertEqual(self.call("view").stdout, os.path.join(second, "view.html") + "\n")
        self.assertEqual(self.call("view", "one").stdout, os.path.join(first, "view.html") + "\n")
        self.assertEqual(self.call("view", os.path.basename(first)).stdout, os.path.join(first, "view.html") + "\n")
        self.assertEqual(os.stat(os.path.join(first, "view.html")).st_mode & 0o777, 0o600)
        path = os.path.join(self.folder, "page.html")
        with open(path, "w", encoding="utf-8") as out:
            out.write("old")
        self.assertEqual(self.view("one", "-o", path)[1]["name"], os.path.basename(first))
        self.assertEqual(os.listdir(self.folder).count("page.html"), 1)
        self.assertFalse([name for name in os.listdir(self.folder) if name.startswith("page.html.")])
        self.assertEqual(self.parse(self.call("view", "one", "-o", "-").stdout)[1]["name"], os.path.basename(first))
        self.assertEqual(self.call("view", "one", "-o", "/dev/null").returncode, 0)

    def test_mistakes(self):
        done = self.call("view")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("no run is kept", done.stderr)
        self.start(job("j", "echo 1"))
        missing = os.path.join(self.folder, "missing", "page.html")
        for words, status, message in ((["k"], 2, 'no run or job "k" is kept; there are j-2'),
                                       (["j", "-o", missing], 1, f'cannot write "{missing}": No such file'),
                                       (["j", "-o", self.folder], 1, "Is a directory"),
                                       (["j", "-o", "/dev/full"], 1, "No space left"),
                                       (["j", "-o", ""], 2, "option --output"),
                                       (["j", "--open", "-o", "-"], 2, "option --open"), (["j", "k"], 2, "operand")):
            done = self.call("view", *words)
            self.assertEqual((done.returncode, done.stdout), (status, ""), (words, done.stderr))
            self.assertIn(message, done.stderr, words)
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([program.PROGRAM, "view", "j", "-o", "-"], stdout=full, stderr=subprocess.PIPE,
                                  text=True, env={**os.environ, "XDG_STATE_HOME": self.state.name}, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("No space left", done.stderr)

    def test_open(self):
        folder, _ = self.start(job("j", "echo 1"))
        seen = os.path.join(self.folder, "seen")
        opener = self.file(f'#!/bin/sh\nprintf "%s|" "$@" > "{seen}"\nexit "$STATUS"\n', "xdg-open")
        os.chmod(opener, 0o755)
        path = f"{self.folder}:/usr/bin:/bin"
        done = self.call("view", "j", "--open", PATH=path, STATUS="0")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.read(seen).decode(), os.path.join(folder, "view.html") + "|")
        done = self.call("view", "j", "--open", PATH=path, STATUS="3")
        self.assertEqual((done.returncode, done.stdout), (1, os.path.join(folder, "view.html") + "\n"))
        self.assertIn("open it in a browser", done.stderr)
        done = self.call("view", "j", "--open", PATH="/nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertIn("xdg-open", done.stderr)


@unittest.skipUnless(browser.find(), "no Chromium on this machine: the page's script is not run")
class Browser(Pages):
    """The page as a person meets it."""

    def show(self, path, fragment=""):
        page = browser.Page(browser.find(), f"file://{path}{fragment}", program.TIMEOUT)
        self.addCleanup(page.close)
        return page

    def rows(self, page):
        return page.evaluate("[...document.querySelectorAll('#rows .row')].map(row => row.textContent)")

    def test_a_run(self):
        data = os.path.join(self.folder, "data")
        with open(data, "wb") as file:
            file.write(b"</script><script>window.broken = 1</script><img src=x onerror='window.broken = 2'>\n"
                       b"\x1b[31mred\x1b[0m \xff\n 10%\r 90%\r done\n")
        folder, _ = self.start(job("j", f'for i in 1 2 3 4; do echo "epoch=$i loss=0.$((9 - i))"; done; cat "{data}"; '
                                   'exit 3', 'echo "worker $RANK waits"; exec sleep 600'))
        self.call("view")
        page = self.show(os.path.join(folder, "view.html"))
        self.assertEqual(page.evaluate("document.title"), os.path.basename(folder) + ": Failed")
        self.assertIn("exited with code 3", page.evaluate("document.getElementById('faults').textContent"))
        self.assertEqual(page.evaluate("document.querySelectorAll('#line rect').length"), 3)
        self.assertEqual(page.evaluate("document.querySelectorAll('#line rect.bad').length"), 1)
        self.assertEqual(page.evaluate("document.querySelectorAll('#metrics polyline').length"), 1)
        rows = self.rows(page)
        self.assertEqual(len([row for row in rows if "waits" in row]), 2, rows)
        self.assertTrue(any(row.endswith("red \ufffd") for row in rows), rows)
        self.assertTrue(any(row.endswith(" done") and "90%" not in row for row in rows), rows)
        self.assertIsNone(page.evaluate("window.broken"))
        page.evaluate("new Promise(done => { new MutationObserver(() => done())"
                      ".observe(document.getElementById('count'), {childList: true}); "
                      "const field = document.getElementById('search'); field.value = 'LOSS=0.'; "
                      "field.dispatchEvent(new Event('input')); })")
        rows = self.rows(page)
        self.assertEqual([row[-14:] for row in rows], [f"epoch={i} loss=0.{9 - i}"[-14:] for i in (1, 2, 3, 4)])
        self.assertEqual(page.evaluate("document.getElementById('count').textContent"), "4 of 9 lines")
        self.assertEqual(page.evaluate("document.querySelectorAll('#rows mark').length"), 4)
        self.assertEqual((page.problems, page.requests), ([], ["file://" + os.path.join(folder, "view.html")]))

    def test_a_restart(self):
        """Each start has a bar: what failed is red, what the end of the job stopped is not."""
        once = os.path.join(self.folder, "once")
        worker = f'if [ ! -e "{once}" ]; then touch "{once}"; exit 143; fi; echo again; exec sleep 600'
        master = (f'until {program.PROGRAM} logs j worker-0 2>/dev/null | grep -q again; do sleep 0.05; done; '
                  'echo broken; exit 7')
        folder, done = self.start(job("j", master, worker, workers=1, policy="ExitCode"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.call("view")
        page = self.show(os.path.join(folder, "view.html"))
        self.assertEqual(page.evaluate("[...document.querySelectorAll('#line rect')].map(bar => "
                                       "[bar.getAttribute('class'), bar.textContent.split(' after ')[0]])"),
                         [["bar bad", "master-0: exit code 7, Error"], ["bar bad", "worker-0: exit code 143, Error"],
                          ["bar stop", "worker-0: stopped"]])
        self.assertEqual(page.evaluate("document.querySelector('#line .fall').textContent"),
                         "first fault: Master-0 (container pytorch) exited with code 7")
        self.assertEqual(page.evaluate("document.querySelector('#faults pre').textContent"), "broken")
        self.assertEqual(page.evaluate("[...document.querySelectorAll('#line td:first-child')].map(cell => "
                                       "cell.textContent)"), ["Master-0", "Worker-0"])
        self.assertEqual((page.problems, page.requests), ([], ["file://" + os.path.join(folder, "view.html")]))
        self.expect_shown(page)

    def expect_shown(self, page):
        """In windows of both sizes and colours, also when they change, all can be read."""
        for width, scheme in ((1400, "light"), (400, "dark"), (400, "light"), (1400, "dark")):
            page.look(width, 1000, scheme)
            self.assertEqual(page.evaluate("document.documentElement.scrollWidth"),
                             page.evaluate("document.documentElement.clientWidth"), width)
            seen = page.evaluate(SEEN)
            self.assertGreaterEqual(seen["line"], 0.9 * seen["main"], (width, seen))
            self.assertGreaterEqual(seen["letters"], 9, (width, seen))
            self.assertGreaterEqual(seen["words"], 200, (width, seen))
            self.assertGreaterEqual(seen["contrast"], 4.5, (scheme, seen))
            page.evaluate("window.scrollTo(0, document.getElementById('faults').offsetTop)")
            self.expect_drawn(page.screenshot())

    def expect_drawn(self, png):
        """A window of one colour has rows of zeros."""
        self.assertEqual(png[:8], b"\x89PNG\r\n\x1a\n")
        at, packed = 8, b""
        while at < len(png):
            length = int.from_bytes(png[at:at + 4], "big")
            packed += png[at + 8:at + 8 + length] if png[at + 4:at + 8] == b"IDAT" else b""
            at += 12 + length
        points = zlib.decompress(packed)
        self.assertGreater(len(points) - points.count(0), len(points) / 200)

    def test_what_replicas_used(self):
        """A line for each replica in each panel, with a gap where it did not run."""
        folder, _ = self.start(job("j", "echo hello", "echo hello"))
        rows = [{"replica": 0, "job": "j", "name": "master-0"}, {"replica": 1, "job": "j", "name": "worker-0"}]
        rows += [{"t": t, "d": 1000, "u": [[0, 1, 500, 2048, 0, 0]] + ([[1, 1, 1500, 4096, 0, 7]] if t != 2000 else [])}
                 for t in (1000, 2000, 3000)]
        with open(os.path.join(folder, "samples.jsonl"), "w", encoding="utf-8") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows)
        self.call("view")
        page = self.show(os.path.join(folder, "view.html"))
        self.assertEqual(page.evaluate("[...document.querySelectorAll('[data-usage]')].map(node => "
                                       "[node.dataset.usage, node.querySelectorAll('polyline').length])"),
                         [["Processors", 3], ["Memory", 3], ["Written to disks", 3]])
        self.assertEqual(page.evaluate("document.querySelector('[data-usage=Memory] polyline title').textContent"),
                         "master-0: at most 2.0 MiB")
        self.assertEqual(page.problems, [])

    def test_a_link_to_a_log(self):
        folder, _ = self.start(job("j", "echo hello", 'echo "worker $RANK"'))
        self.call("view")
        page = self.show(os.path.join(folder, "view.html"), "#log=j%2Fworker-1%2Fpytorch&q=w.*2&regex=1")
        self.assertEqual(page.evaluate("document.getElementById('count').textContent"), "1 of 1 lines")
        page.evaluate("location.hash = '#log=j%2Fmaster-0%2Fpytorch'; new Promise(done => setTimeout(done, 0))")
        self.assertTrue(self.rows(page)[0].endswith("hello"))
        self.assertEqual(page.problems, [])

    def test_damaged_and_long(self):
        folder, _ = self.start(job("j", "echo hello"))
        with open(os.path.join(folder, "logs", "j", "master-0", "pytorch.log"), "wb") as out:
            out.writelines(b"line %d\n" % i for i in range(300_000))
        for file in ("state.json", "run.json", "jobs.yaml", "events.jsonl"):
            os.truncate(os.path.join(folder, file), 5)
        self.call("view", os.path.basename(folder))
        page = self.show(os.path.join(folder, "view.html"), "#q=line+1")
        self.assertIn("cannot be read", page.evaluate("document.getElementById('head').textContent"))
        page.evaluate("location.hash = ''; new Promise(done => setTimeout(done, 0))")
        self.assertEqual(len(self.rows(page)), 2000)
        page.evaluate("[...document.querySelectorAll('#logs button')].pop().click()")
        rows = self.rows(page)
        self.assertEqual(len([row for row in rows if re.search(r"left out here; the whole log is /", row)]), 1)
        self.assertTrue(rows[-1].endswith("line 299999"))
        self.assertEqual(page.problems, [])


if __name__ == "__main__":
    if not browser.find():
        print("SKIPPED: no Chromium (set ROUNDHOUSE_CHROMIUM): the page's script is not run", file=sys.stderr)
    main()
