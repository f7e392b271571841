# SPDX-License-Identifier: Apache-2.0
"""The first fault of each way to fail, from recordings that are played again under random delays.

usage: test_recorded.py PROGRAM REPLAY [--runs N] [--seed N] [--only REGEX] [--half] [--copies N] [--keep]
                        [--scores] [--everywhere]
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import judge
import recording
import ways

# Seconds that a run may take which is to end by itself: only one that hangs takes so long.
LIMIT = 900.0
# A busy machine may play steps in another order than the recorded one; such a play shows nothing.
LATE_PLAYS = 4
# Seconds from what a replica does last to the end of the time of a run: what comes later may miss the verdict.
LAST_MOMENT = 1.5
# Jobs of one run, and runs at the same time.
JOBS, RUNS = 50, 3
ENDINGS = ("itself", "timeout", "deadline", "interrupt")


def job_of(way, folder, replay, chance, deadline):
    """The job that plays a row, and how many of its containers will hang."""
    if way.live:
        late = f"{chance.uniform(0, recording.LATE) / 1000:.3f}"
        lock = str(folder / f"{way.name}.lock")
        return way_with(way_with(way, "LATE", late), "LOCK", lock).job(way.commands(), name=way.name,
                                                                       deadline=deadline), 0
    hang = recording.write(folder, way, way.name, chance)
    way = ways.dataclasses.replace(way, proxy=way.proxy and [replay, str(folder), "proxy"])
    commands = {kind: [replay, str(folder)] if recorded(way, kind) else way.commands()[kind] for kind in way.types}
    return way.job(commands, name=way.name, deadline=deadline), hang


def way_with(way, name, value):
    """The row with a further variable in all containers."""
    made = ways.dataclasses.replace(way, env=way.env | {name: value})
    variables = [{"name": name, "value": value}]
    made.pod = {key: value if key == "volumes" else [one | {"env": [*one.get("env", []), *variables]} for one in value]
                for key, value in way.pod.items()}
    return made


def recorded(way, kind):
    return any(name.startswith(kind.lower()) for name in recording.load(way))


class Play:
    """All rows that end alike, as the jobs of one run, once."""

    def __init__(self, arguments, rows, ending, number):
        self.arguments, self.rows, self.ending, self.number = arguments, rows, ending, number
        self.seed = f"{arguments.seed}-{number}"

    def __call__(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="roundhouse-fault-"))
        try:
            for _ in range(LATE_PLAYS):
                results = self.judged(self.play_whole(folder))
                late = [way.name for way, _, wrong, _ in results if wrong and list(folder.glob(f"{way.name}-*.late"))]
                if not late:
                    break
                print(f"run {self.number}: this machine played {', '.join(late)} later than recorded; once more")
            return results
        finally:
            if not self.arguments.keep:
                shutil.rmtree(folder)

    def play_whole(self, folder):
        for patience in (6, 30, 120):
            run = self.play(folder, patience)
            if run:
                return run
        raise AssertionError("the replicas do not come to where they hang")

    def judged(self, run):
        faults = run.faults()
        if self.ending == "itself":
            for way in self.rows:
                if not run.ended(way.name):
                    print(f"run {self.number}, {way.name}: does not end; {run.end(way.name)}")
        return [(way, self.number, judge.complaints(way, faults.get(way.name), lambda replica,
                                                    job=way.name: run.output(job, replica)), faults.get(way.name))
                for way in self.rows if not self.is_left_out(way, run)]

    def is_left_out(self, way, run):
        """Whether this machine cannot play the row; then the run's note is shown."""
        notes = [row["text"] for row in run.rows if row["type"] in ("note", "warning")
                 and way.unless in row.get("text", "")] if way.unless else []
        if notes:
            print(f"run {self.number}, {way.name} is left out: {notes[0]}")
        return bool(notes)

    def play(self, folder, patience):
        """The run, or nothing where the time was too short for all to come to where they hang."""
        made, hang = [], 0
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for way in self.rows:
            job, hangs = job_of(way, folder, self.arguments.replay, random.Random(f"{self.seed}-{way.name}"), patience)
            made.append(json.dumps(job))
            hang += hangs
        manifest = folder / "jobs.yaml"
        manifest.write_text("\n---\n".join(made))
        options = ["--timeout", f"{patience}s"] if self.ending == "timeout" else ["--timeout", f"{LIMIT:g}s"]
        limit = time.time() + patience - LAST_MOMENT if self.ending in ("timeout", "deadline") else float("inf")
        run = judge.Run(self.arguments.program, manifest, folder, *options)
        if self.ending == "interrupt":
            with concurrent.futures.ThreadPoolExecutor() as pool:
                pool.submit(self.interrupt, run, folder, hang, patience)
                run.read()
        run.read() if self.ending != "interrupt" else None
        came = [path.stat().st_mtime < limit for path in folder.glob("*.hangs")]
        in_time = len(came) >= hang and all(came)
        return run if self.ending == "itself" or in_time and self.have_failed(run) else None

    def have_failed(self, run):
        """Whether the run has seen the end of each replica that ends in the recording. A busy machine may come to it
        after the time of the run."""
        return all(f"{way.name}-{name}".partition(".")[0] in run.ended_pods for way in self.rows if not way.live
                   for name, one in recording.load(way).items() if one["end"] is not None)

    def interrupt(self, run, folder, hang, patience):
        """Ctrl-C, when all that will hang do, and those that fail have had time to fail more than once."""
        limit = time.monotonic() + LIMIT
        while len(list(folder.glob("*.hangs"))) < hang and time.monotonic() < limit and run.child.poll() is None:
            time.sleep(0.05)
        # nothing shows that a program has failed once more: it does not end
        time.sleep(patience / 2.4)
        run.interrupt()


def parts(rows):
    count = -(-len(rows) // JOBS)
    return [rows[place::count] for place in range(count)]


def report(results, scores):
    """Prints what went wrong; returns whether all was right."""
    table, shown = {}, 0
    for way, number, wrong, fault in results:
        right, count = table.get(way.name, (0, 0))
        table[way.name] = (right + (not wrong), count + 1)
        if wrong and (shown < 40 or scores):
            shown += 1
            print(f"run {number}, {way.name} ({way.what}, {way.label}): {'; '.join(wrong)}\n    "
                  f"{json.dumps(fault)[:2500]}")
    for name, (right, count) in table.items() if scores else ():
        print(f"{name:45} {right:3} of {count}")
    print(f"{sum(right == count for right, count in table.values())} of {len(table)} ways are right each time; "
          f"{sum(right for right, _ in table.values())} of {sum(count for _, count in table.values())} runs")
    excused = {way.name: way.not_yet for way, _, _, _ in results if way.not_yet}
    for name, why in excused.items():
        print(f"not yet: {name}, {table[name][0]} of {table[name][1]}: {why}")
    return all(right == count for name, (right, count) in table.items() if name not in excused)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("replay", type=os.path.abspath)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", default=str(time.time_ns()))
    parser.add_argument("--only", default=".*")
    parser.add_argument("--half", action="store_true", help="play every other row in each run, in turns")
    parser.add_argument("--copies", type=int, default=1, help="play each row as so many jobs of a run")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the runs")
    parser.add_argument("--scores", action="store_true", help="print how often each way was right")
    parser.add_argument("--everywhere", action="store_true",
                        help="play each way under each restart policy and with each end of the run")
    arguments = parser.parse_args()
    all_rows = ways.everywhere() if arguments.everywhere else ways.WAYS
    rows = [way for way in all_rows if re.fullmatch(arguments.only, way.name)]
    if arguments.copies > 1:
        rows = [ways.dataclasses.replace(way, name=f"{way.name}-{copy}", recorded_as=way.recorded_as or way.name)
                for way in rows
                for copy in range(arguments.copies)]
    missing = [way.name for way in rows if not way.live and not recording.load(way)]
    if missing:
        sys.exit(f"no recording of {', '.join(missing)}: run record.py PROGRAM {' '.join(missing)}")
    plays = [Play(arguments, some, ending, number) for number in range(arguments.runs) for ending in ENDINGS
             for some in parts([way for place, way in enumerate(rows) if way.ending == ending
                                and not (arguments.half and (place + number) % 2)])]
    print(f"{len(rows)} ways, {arguments.runs} runs each; again with --seed {arguments.seed}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(RUNS) as pool:
        results = [result for played in pool.map(lambda play: play(), plays) for result in played]
    good = report(results, arguments.scores)
    if not good:
        print(f"FAILED; again with --seed {arguments.seed} [--only WAY]")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
