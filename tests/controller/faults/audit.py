# SPDX-License-Identifier: Apache-2.0
"""The API server's audit log as the reference: what was really done, whoever says what."""
import collections
import json

import support

TIMES = {"lastUpdateTime", "lastTransitionTime", "startTime", "completionTime", "lastReconcileTime"}
WRITES = {"create", "update", "patch", "delete", "deletecollection"}


class Server(support.apiserver.ApiServer):
    """An API server whose audit log has bodies of jobs, and of leases whose name is in them."""

    def __init__(self, groups=("system:masters",), **options):
        super().__init__(users={"controller": list(groups), "other": list(groups)}, audit=True, **options)
        self.audit_read, self.audit_kept = 0, []

    def forget_audit(self):
        super().forget_audit()
        self.audit_read, self.audit_kept = self.audit_from, []

    def write_audit_policy(self):
        path = self.folder / "audit-policy.json"
        path.write_text(json.dumps({
            "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
            "omitManagedFields": True, "rules": [{"level": "RequestResponse", "verbs": ["patch", "update"],
                                                  "resources": [{"group": "kubeflow.org"}]},
                      {"level": "Metadata", "verbs": sorted(WRITES)}, {"level": "None"}]}))
        return path

    def attempts(self):
        """-> all that was to be written, by anybody, refused or not"""
        with open(self.audit_log, "rb") as log:
            log.seek(self.audit_read)
            for line in log:
                if not line.endswith(b"\n"):
                    break
                self.audit_read += len(line)
                # a server that was killed may have left half a line, and gone on in it
                if (event := parse(line)) and event.get("verb") in WRITES:
                    self.audit_kept.append(event)
        return self.audit_kept

    def writes(self, user="controller"):
        """-> what was written by the user and went well, oldest first, without Leases"""
        return [event for event in self.attempts() if event["user"].get("username") == user
                and 200 <= event.get("responseStatus", {}).get("code", 0) < 300
                and event.get("objectRef", {}).get("resource") not in ("leases", None)]


def parse(line):
    try:
        return json.loads(line)
    except ValueError:
        return None


def what(event):
    ref = event["objectRef"]
    return (f"{event['verb']} {ref['resource']}{'/' + ref['subresource'] if 'subresource' in ref else ''} "
            f"{ref.get('name', '')}")


def count(events, verb, resource):
    return collections.Counter(e["objectRef"]["name"] for e in events
                               if e["verb"] == verb and e["objectRef"]["resource"] == resource)


def conditions(status):
    return {c["type"]: c["status"] for c in (status or {}).get("conditions", [])}


def timeless(value):
    """-> a status without times"""
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items() if key not in TIMES}
    return [timeless(item) for item in value] if isinstance(value, list) else value


def statuses(events):
    """-> every status that a job had after a write, in the order of their versions"""
    jobs = [e["responseObject"] for e in events if e["objectRef"].get("apiGroup") == "kubeflow.org"
            and "responseObject" in e
            and e["verb"] in ("patch", "update")]
    jobs.sort(key=lambda job: int(job["metadata"]["resourceVersion"]))
    return [job.get("status") or {} for job in jobs]


def lost(events):
    """-> what a status write has lost of what was known; nothing may be."""
    out, start, ended = [], None, None
    seen = set()
    for status in statuses(events):
        now = conditions(status)
        # V1 drops Running and Restarting when the other comes, and Stalled goes with its reason
        gone = seen - set(now) - {"Running", "Restarting", "Stalled"}
        seen |= set(now)
        out += [f"condition {name} vanished" for name in sorted(gone)]
        if start and status.get("startTime") != start:
            out.append(f"startTime was {start} and became {status.get('startTime')}")
        start = status.get("startTime") or start
        if ended and now.get(ended) != "True":
            out.append(f"{ended} was True and became {now.get(ended)}")
        ended = ended or next((name for name in ("Succeeded", "Failed") if now.get(name) == "True"), None)
    return out


def touched(events):
    """-> writes to a job that had ended: nothing but cleaning up and its reports may come."""
    for at, event in enumerate(events):
        status = event.get("responseObject", {}).get("status")
        if event["objectRef"].get("subresource") == "status" and conditions(status).get("Succeeded") == "True":
            return [what(later) for later in events[at + 1:]
                    if later["objectRef"]["resource"] != "events" and not is_cleaning(later)
                    and later.get("responseObject", {}).get("status") != status]
    return []


def is_cleaning(event):
    return event["verb"] == "delete" and event["objectRef"]["resource"] in ("pods", "services")


def trespasses(events, users):
    """-> writes of who did not write the Lease last, in words. events: those of one namespace, that of the Lease"""
    mine = [event for event in events if event["user"]["username"] in users]
    holder, wrong = None, []
    for event in sorted(mine, key=lambda event: event["requestReceivedTimestamp"]):
        user = event["user"]["username"]
        if event["objectRef"]["resource"] == "leases":
            holder = user if 200 <= event.get("responseStatus", {}).get("code", 0) < 300 else holder
        elif user != holder:
            wrong.append(f"{event['requestReceivedTimestamp']} {user} while {holder} has it: {what(event)}")
    return wrong
