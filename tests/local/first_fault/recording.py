# SPDX-License-Identifier: Apache-2.0
"""Recordings of record.py, and how they are played again: with short pauses, and each replica late by chance."""
import json
import pathlib
import re

RECORDED = pathlib.Path(__file__).resolve().parent / "recorded"
LATE = 150  # milliseconds that all a replica does comes late at most, and its end once more
NAMES = re.compile(r"\bjob-(?=master|worker|launcher|chief|ps)")


def load(way):
    """Pod's name without the job's, and ".proxy" for the container beside, to what it did."""
    path = RECORDED / f"{way.recorded_as or way.name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


class Clock:
    """Recorded times to times of the play: the same order, and no pause is longer than a limit."""

    def __init__(self, times, limit):
        self.made, last, now = {}, min(times, default=0), 0
        for at in sorted(set(times)):
            now += min(at - last, limit)
            last = at
            self.made[at] = now

    def __getitem__(self, at):
        return self.made[at]


def text_step(kind, at, text):
    data = text.encode()
    return f"{kind} {int(at * 1000)} {len(data)}\n".encode() + data


def end_step(at, one):
    if "signal" in one:
        return f"signal {int(at * 1000)} {one['signal']}\n".encode()
    return f"exit {int(at * 1000)} {one['exit']}\n".encode()


def steps(one, clock, late, late_end, job):
    """What one container does, after the times of a clock."""
    made = [text_step("out", clock[at] + late, NAMES.sub(f"{job}-", text)) for at, text in one["out"]]
    if "file" in one:
        made.append(text_step("file", clock[one["end"]] + late, one["file"]))
    return b"".join([*made, end_step(clock[one["end"]] + late + late_end, one)])


def script(one, clock, count, job, chance):
    """The steps of one container for replay.c."""
    late, late_end = chance.uniform(0, LATE), chance.uniform(0, LATE)
    begin = f"meet {count} {job}\n".encode()
    if one["end"] is not None:
        return begin + steps(one, clock, late, late_end, job)
    made = begin + b"".join(text_step("out", clock[at] + late, NAMES.sub(f"{job}-", text)) for at,
                            text in one["out"]) + b"hang\n"
    term = one["term"]
    if term.get("signal") in (9, 15) and not term["out"]:
        return made
    return made + b"term\n" + steps(term, Clock([0, *(at for at, _ in term["out"]), term["end"]], 250), 0, 0, job)


def write(folder, way, job, chance):
    """Writes the scripts of a job's pods. Returns how many of them will hang."""
    recorded = load(way)
    times = [at for one in recorded.values() for at, _ in one["out"]] + [one["end"] for one in recorded.values()
                                                                         if one["end"] is not None]
    clock = Clock(times, way.pause)
    for name, one in sorted(recorded.items()):
        (folder / f"{job}-{name}").write_bytes(script(one, clock, len(recorded), job, chance))
    return sum(one["end"] is None for one in recorded.values())

