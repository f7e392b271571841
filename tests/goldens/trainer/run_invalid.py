# SPDX-License-Identifier: Apache-2.0
"""Lint every recorded object that breaks a rule, and compare its errors with the answer of Kubeflow Trainer.

usage: run_invalid.py ROUNDHOUSE

What Trainer refused must be refused with an error about the same field that says the same: the value that an API server
prints may differ. A runtime is linted with a TrainJob that names it. Where that is not so, an entry of differences.json
with "suite": "invalid" says what the errors are ("ours"; null: none). An entry that nothing uses fails, too.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def with_job(text):
    """The file with a TrainJob that names its runtime, when it is one."""
    name = re.search(r"kind: ClusterTrainingRuntime\nmetadata:\n  name: (\S+)", text)
    job = "---\napiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: j}\n" \
          "spec: {runtimeRef: {name: %s}, trainer: {}}\n"
    return text + job % name[1] if name else text


def lint(program, path):
    """The exit status, and the errors as "path: detail"."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ROUNDHOUSE_")}
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        file.write(with_job(path.read_text(encoding="utf-8")))
        file.flush()
        done = subprocess.run([program, "lint", "-o", "json", file.name, *sorted(HERE.glob("runtimes/*.yaml"))],
                              capture_output=True, text=True, env=environment, check=False)
    rows = json.loads(done.stdout)
    errors = [": ".join(filter(None, (row["path"], row["detail"]))) for row in rows if row["severity"] == "error"]
    return done.returncode, [re.sub(r"/\S+/share/", "PREFIX/share/", error) for error in errors]


def normal(message):
    """An error without the value it is about, and without what an API server puts before it."""
    text = re.sub(r'^TrainJob.* is invalid: |^ClusterTrainingRuntime.*? is invalid: ', "", message)
    text = re.sub(r"Invalid value: (\{.*\}|\[\{.*\}\]|\"[^\"]*\"|-?\d+): ", "Invalid value: ", text)
    return re.sub(r"^@?ClusterTrainingRuntime \S+: ", "", text)


def main(program):
    entries = {entry["golden"]: entry for entry in json.loads((HERE / "differences.json").read_text(encoding="utf-8"))
               if entry["suite"] == "invalid"}
    messages = json.loads((HERE / "invalid" / "messages.json").read_text(encoding="utf-8"))
    paths = sorted(HERE.glob("invalid/*.yaml"))
    problems = [] if sorted(messages) == [path.stem for path in paths] else ["messages.json is about other objects"]
    used = set()
    for path in paths:
        status, got = lint(program, path)
        theirs = None if messages[path.stem]["accepted"] else messages[path.stem]["message"]
        if (status == 2) != bool(got) or status not in (0, 2):
            problems.append(f"{path.stem}: exit status {status}, errors {got}")
        if path.stem in entries:
            used.add(path.stem)
            if (got or None) != entries[path.stem]["ours"] or theirs != entries[path.stem]["v1"]:
                problems.append(f"{path.stem}: Trainer {theirs!r} here {got}, listed otherwise")
        elif theirs is None and got or theirs and normal(theirs) not in map(normal, got):
            problems.append(f"{path.stem}: Trainer {theirs!r} here {got}")
    problems += [f"differences.json: nothing uses {name}" for name in entries if name not in used]
    print("\n".join(problems) if problems else f"{len(paths)} objects are refused as by Trainer")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
