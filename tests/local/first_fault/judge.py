# SPDX-License-Identifier: Apache-2.0
"""Runs of the program, the first fault that it reports for each job, and whether that is right."""
import functools
import json
import os
import re
import signal
import subprocess


class Run:
    """One `roundhouse run -o json`, read to its end."""

    def __init__(self, program, manifest, folder, *options, environment=None):
        self.rows, self.interrupted = [], False
        settings = folder / "roundhouse.ini"
        settings.write_text("[local]\nrestart-backoff = 50ms\nrestart-backoff-max = 200ms\ngrace-period = 5s\n")
        temporary = folder / "tmp"
        temporary.mkdir(exist_ok=True)
        self.errors = open(folder / "stderr", "w+", encoding="utf-8")
        self.child = subprocess.Popen([program, "run", "-o", "json", "--config", str(settings), *options,
                                       str(manifest)], stdout=subprocess.PIPE,
                                      stderr=self.errors, cwd=folder, text=True,
                                      env=os.environ | {"TMPDIR": str(temporary),
                                                        "XDG_STATE_HOME": str(folder / "state")}
                                      | (environment or {}))

    def read(self):
        with self.child:
            self.rows += [json.loads(line) for line in self.child.stdout]
        self.errors.seek(0)
        self.complaint = errors = self.errors.read()
        self.errors.close()
        if not any(row["type"] == "result" for row in self.rows):
            raise AssertionError(f"the run has no result (status {self.child.returncode}):\n{errors[-3000:]}")
        return self

    def ended(self, job):
        """Whether the job finished before the run did."""
        return any(condition["type"] in ("Failed", "Succeeded") and condition["status"] == "True"
                   for row in self.rows if row["type"] == "job" and row["object"]["metadata"]["name"] == job
                   for condition in row["object"].get("status", {}).get("conditions", []))

    @functools.cached_property
    def ended_pods(self):
        """Names of the pods that the run has seen with a container that ended before it was stopped, restarted or
        not."""
        found = set()
        for row in self.rows:
            if row["type"] != "pod" or "deletionTimestamp" in row["object"]["metadata"]:
                continue
            statuses = row["object"].get("status", {}).get("containerStatuses", [])
            if any("terminated" in status.get(state, {}) for status in statuses for state in ("state", "lastState")):
                found.add(row["object"]["metadata"]["name"])
        return found

    def end(self, job):
        """How the run itself ended, and what it reported of the job at last."""
        result = next(row for row in self.rows if row["type"] == "result")
        notes = [row["text"] for row in self.rows if row["type"] in ("note", "warning") and "text" in row]
        last = [row["object"].get("status", {}).get("conditions") for row in self.rows if row["type"] == "job" and
                row["object"]["metadata"]["name"] == job][-1:]
        return (f"status {self.child.returncode}, result {result.get('result')}, {notes[-3:]}, "
                f"{self.complaint[-1500:]}; "
                f"its conditions: {json.dumps(last)}")

    def output(self, job, replica):
        """All that a replica, such as "Worker-1", wrote."""
        return "\n".join(row["line"] for row in self.rows if row["type"] == "log" and row["job"] == job and
                         row["replica"].lower() in (replica.lower(), replica.lower().rpartition("-")[0]))

    def interrupt(self):
        self.child.send_signal(signal.SIGINT)

    def faults(self):
        """Name of a job to its firstFault, as the last row that has one says."""
        found = {}
        for row in self.rows:
            if row["type"] == "job" and row.get("firstFault"):
                found[row["object"]["metadata"]["name"]] = row["firstFault"]
            for name, fault in (row.get("firstFaults") or {}).items() if row["type"] == "result" else ():
                found[name] = fault
        return found


def complaints(way, fault, output):
    """What is wrong with what the program says of a job; nothing when it is right. output(replica) is all that it
    wrote."""
    if not fault:
        return ["there is no firstFault"]
    made, replica, lines = [], fault.get("replica") or None, fault.get("lines") or []
    text = "\n".join(lines)
    if replica not in (way.culprit or (None,)):
        made.append(f"it names {replica or 'nobody'}, not {' or '.join(str(one) for one in way.culprit) or 'nobody'}")
    if way.says and not re.search(way.says, text):
        made.append(f"its lines have no /{way.says}/")
    made += [f"its lines have /{pattern}/" for pattern in way.never if re.search(pattern, text)]
    if way.rank is not None and fault.get("rank") not in (None, way.rank):
        made.append(f"it names rank {fault['rank']}, not {way.rank}")
    if way.own and replica in way.culprit and replica:
        # the last is no line of the replica, and any process on this machine may be the reason for it
        written = output(replica) + ("killed by signal 9; the kernel's out-of-memory killer was active on this machine "
                                     "meanwhile")
        made += [f"that replica never wrote {line!r}" for line in lines if line.strip()
                 and line.strip(" .…") not in written][:1]
    return made
