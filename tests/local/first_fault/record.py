#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Record how each way to fail looks: record.py PROGRAM [NAME...]

Each row of ways.py is run by `PROGRAM run` with the real framework. What each container writes, and when, and how it
ends is kept in recorded/NAME.json, without names and paths of this machine. A container that Roundhouse stops because
of another's failure goes on for a while, so that the recording says what it would have done by itself; what it does
when it is stopped at last is kept apart.
"""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE = float(os.environ.get("RECORD_PATIENCE", "15"))  # seconds that a container may go on after it was to stop
KILL_AFTER = 4.0
LONGEST = 30000  # bytes of output of one container that are kept


class Wrap:
    """Runs one container's command, and writes down what it does.

    It ends only when the commands of all have ended, or PATIENCE after the first: then Roundhouse stops nobody before
    its time.
    """

    def __init__(self, folder, count, name, words):
        self.folder, self.count, self.name, self.words = folder, count, name, words
        self.chunks, self.stopped, self.begin = [], None, time.clock_gettime(time.CLOCK_MONOTONIC)
        self.child = None

    def now(self):
        return int((time.clock_gettime(time.CLOCK_MONOTONIC) - self.begin) * 1000)

    def read(self):
        while True:
            data = os.read(self.child.stdout.fileno(), 65536)
            if not data:
                return
            self.chunks.append((self.now(), data.decode(errors="replace")))
            os.write(1, data)

    def others_wait(self):
        """Whether the others have waited long enough for this one."""
        times = [path.stat().st_mtime for path in self.folder.iterdir()]
        return len(times) >= self.count or (times and time.time() - min(times) > PATIENCE)

    def on_term(self, *_):
        """All that runs in the container gets the signal, the command too."""
        self.stopped = self.now() if self.stopped is None else self.stopped

    def wait(self):
        while self.child.poll() is None:
            time.sleep(0.002)
            if self.stopped is None and self.others_wait():
                self.stopped = self.now()
                self.child.send_signal(signal.SIGTERM)
            elif self.stopped is not None and self.now() > self.stopped + KILL_AFTER * 1000:
                self.child.kill()
        return self.now()

    def run(self):
        signal.signal(signal.SIGTERM, self.on_term)
        # where torch writes what a process under its @record raised
        errors = pathlib.Path(os.environ.setdefault("TORCHELASTIC_ERROR_FILE",
                                                    str(self.folder.parent / f"error-{os.environ['HOSTNAME']}")))
        with subprocess.Popen(self.words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as self.child:
            reader = threading.Thread(target=self.read, daemon=True)
            reader.start()
            ended = self.wait()
            # what it started may hold the pipe
            reader.join(1.0)
        code = self.child.returncode
        made = self.folder / self.name
        made.write_text(json.dumps({"begin": self.begin, "chunks": self.chunks, "stopped": self.stopped, "ended": ended,
                                    "code": code,
                                    "file": errors.read_text(errors="replace") if errors.exists() else None}))
        while self.stopped is None and not self.others_wait():
            time.sleep(0.01)
        os._exit(code if code >= 0 else 128 - code)


def shorten(chunks):
    """Keeps begin and end of much output."""
    total = sum(len(text) for _, text in chunks)
    if total <= LONGEST:
        return chunks
    kept, size = [], 0
    for at, text in chunks:
        if size < LONGEST // 2 or size > total - LONGEST // 2:
            kept.append([at, text])
        elif len(text) > 4096:
            kept.append([at, text[:2048] + "\n" + text[-2048:]])
        size += len(text)
    return kept


class Sanitizer:
    """Takes names and paths of this machine out of what was written."""

    def __init__(self, folder):
        self.folder = folder
        self.rules = [
            (re.compile(re.escape(str(HERE / "programs")) + r"/"), "/app/"),
            (re.compile(re.escape(folder)), "/run"),
            (re.compile(r"/[\w./-]*/roundhouse/env/\w+-[0-9a-f]{12}"), "/opt/venv"),
            (re.compile(r"/tmp/(?!openmpi)[\w.-]*roundhouse[\w.-]*"), "/run"),
            (re.compile(r"\b" + re.escape(socket.gethostname()) + r"\b"), "node-1"),
            (re.compile(r"\b" + re.escape(socket.gethostname().split(".")[0]) + r"\b"), "node-1"),
            (re.compile(re.escape(str(HERE.parents[2]))), "/src"),
            (re.compile(re.escape(os.path.expanduser("~")) + r"(?=/)"), "/home/user"),
        ]

    def __call__(self, text):
        for pattern, replacement in self.rules:
            text = pattern.sub(replacement, text)
        return text


def merge(chunks):
    """Joins what came within a few milliseconds of each other."""
    made = []
    for at, text in chunks:
        if made and at - made[-1][0] < 3:
            made[-1][1] += text
        else:
            made.append([at, text])
    return made


def replica(raw, zero, clean):
    offset = int((raw["begin"] - zero) * 1000)
    stopped = raw["stopped"]
    before = [[at + offset, clean(text)] for at, text in merge(shorten([c for c in raw["chunks"] if stopped is None
                                                                        or c[0] < stopped]))]
    end = {"exit": raw["code"]} if raw["code"] >= 0 else {"signal": -raw["code"]}
    if raw["file"]:
        end["file"] = clean(raw["file"])
    if stopped is None:
        return {"start": offset, "out": before, "end": raw["ended"] + offset, **end}
    after = [[at - stopped, clean(text)] for at, text in merge(shorten([c for c in raw["chunks"] if c[0] >= stopped]))]
    return {"start": offset, "out": before, "end": None, "term": {"out": after, "end": raw["ended"] - stopped, **end}}


def record(program, way):
    with tempfile.TemporaryDirectory(prefix="roundhouse-record-") as folder:
        raws = pathlib.Path(folder, "raw")
        raws.mkdir()

        def wrap(words, container=""):
            return ["/usr/bin/python3", "-S", str(HERE / "record.py"), "--wrap", str(raws),
                    str(way.recorded_containers()), container, *words]
        job = pathlib.Path(folder, "job.yaml")
        job.write_text(json.dumps(way.job(way.commands(), wrap=wrap)))
        settings = pathlib.Path(folder, "roundhouse.ini")
        settings.write_text(f"[local]\ngrace-period = {PATIENCE + KILL_AFTER + 20:g}s\n")
        words = [program, "run", "-o", "json", "--config", str(settings), "--timeout", f"{way.record_seconds}s",
                 str(job)]
        environment = os.environ | way.environment()
        with open(pathlib.Path(folder, "run.json"), "w", encoding="utf-8") as out:
            subprocess.run(words, stdout=out, env=environment, cwd=HERE / "programs", check=False)
        found = {path.name: json.loads(path.read_text()) for path in sorted(raws.iterdir())}
        if not found:
            sys.exit(f"{way.name}: nothing was recorded:\n{pathlib.Path(folder, 'run.json').read_text()[-3000:]}")
        zero = min(raw["begin"] for raw in found.values())
        clean = Sanitizer(folder)
        made = {name: replica(raw, zero, clean) for name, raw in found.items()}
    write(HERE / "recorded" / f"{way.name}.json", made)
    for name, one in made.items():
        last = "".join(text for _, text in one["out"]).strip().split("\n")[-1]
        how = {key: one.get(key) for key in ("end", "exit", "signal") if key in one}
        print(f"{way.name:40} {name:12} {how} {last[:110]}", flush=True)


def write(path, made):
    """One line for each piece of output, so that a change can be read."""
    lines = ["{"]
    for place, (name, one) in enumerate(sorted(made.items())):
        rest = {key: value for key, value in one.items() if key != "out"}
        lines.append(f' {json.dumps(name)}: {{"out": [')
        lines += [f"  {json.dumps(chunk)}{',' if at + 1 < len(one['out']) else ''}" for at,
                  chunk in enumerate(one["out"])]
        lines.append(f'  ], {json.dumps(rest)[1:]}{"," if place + 1 < len(made) else ""}')
    path.write_text("\n".join([*lines, "}"]) + "\n", encoding="utf-8")


def main():
    if sys.argv[1] == "--wrap":
        # the pod's name without the job's, and, but for main containers, the container's
        name = ".".join(filter(None, [os.environ["HOSTNAME"].removeprefix("job-"), sys.argv[4]]))
        Wrap(pathlib.Path(sys.argv[2]), int(sys.argv[3]), name, sys.argv[5:]).run()
        return
    sys.path.insert(0, str(HERE))
    import ways
    program, names = os.path.abspath(sys.argv[1]), sys.argv[2:]
    for way in ways.WAYS:
        if not way.recorded_as and not way.live and (not names or any(re.fullmatch(name, way.name) for name in names)):
            record(program, way)


if __name__ == "__main__":
    main()
