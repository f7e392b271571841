# SPDX-License-Identifier: Apache-2.0
"""Lint every recorded job that breaks a rule, and compare its findings with the answers of V1.

usage: run_invalid.py ROUNDHOUSE [GOLDENS]

Every one of them must be refused. Where V1 refused it, the errors must be V1's, word for word; where V1 let it in, or
worded it differently, an entry of differences.json with "suite": "invalid" names the error ("path" is "errors[N]"),
which must then be what the entry says; "ours": null lets the job in. An entry that nothing uses fails, too. GOLDENS is
the folder of this file unless it is given.
"""
import glob
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def lint(program, path):
    """The exit status, and the errors as "path: detail"."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ROUNDHOUSE_")}
    done = subprocess.run([program, "lint", "-o", "json", path], capture_output=True, text=True, env=environment,
                          check=False)
    rows = json.loads(done.stdout)
    return done.returncode, [f"{row['path']}: {row['detail']}" for row in rows if row["severity"] == "error"]


def split(response):
    """V1's errors: one as it is, several as "[a, b]"; the API server's own in lines."""
    if response["accepted"]:
        return []
    found = response["message"].startswith("Found") or "* " in response["message"]
    if response["by"] in ("apiserver", "operator") and not found:
        return [response["message"].rpartition(" is invalid: ")[2].strip()]
    if response["by"] not in ("webhook", "operator"):
        return [line[2:] for line in response["message"].split("\n") if line.startswith("* ") and "<nil>" not in line]
    text = response["message"].removeprefix("Found validation errors: ")
    inner = re.fullmatch(r"\[(.*)\]", text)
    return re.split(r", (?=spec\.|metadata\.)", inner[1]) if inner else [text]


def compare(golden, want, got, entries, used):
    """Problems of one job."""
    for i in range(max(len(want), len(got))):
        v1 = want[i] if i < len(want) else None
        ours = got[i] if i < len(got) else None
        listed = [e for e in entries if e["golden"] == golden and e["path"] == f"errors[{i}]"]
        used.update(e["id"] for e in listed)
        if v1 == ours and not listed:
            continue
        if not any(e["v1"] == v1 and e["ours"] == ours for e in listed):
            yield f"{golden}: error {i}: V1 {json.dumps(v1)} here {json.dumps(ours)}"


def main(argv):
    program = argv[1]
    goldens = argv[2] if len(argv) > 2 else HERE
    with open(os.path.join(goldens, "differences.json"), encoding="utf-8") as file:
        entries = [entry for entry in json.load(file) if entry.get("suite") == "invalid"]
    with open(os.path.join(goldens, "invalid", "messages.json"), encoding="utf-8") as file:
        messages = json.load(file)
    paths = sorted(glob.glob(os.path.join(goldens, "invalid", "*.yaml")))
    problems, used = [], set()
    if sorted(messages) != [os.path.basename(path)[:-len(".yaml")] for path in paths]:
        problems.append("messages.json and the files are not about the same jobs")
    for path in paths:
        golden = os.path.basename(path)[:-len(".yaml")]
        status, got = lint(program, path)
        allowed = any(e["golden"] == golden and e["path"] == "errors[0]" and e["ours"] is None for e in entries)
        if (status != 2 or not got) and not allowed:
            problems.append(f"{golden}: exit status {status}, {len(got)} errors")
        problems += compare(golden, split(messages[golden]), got, entries, used)
    problems += [f"differences.json: nothing uses {entry['id']}" for entry in entries if entry["id"] not in used]
    print("\n".join(problems) if problems else f"{len(paths)} jobs are refused as by V1")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
