# SPDX-License-Identifier: Apache-2.0
"""Replicas that report their progress to the run. Usage: test_reports.py PROGRAM"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run"))
from support import LIMIT, Place, job, main, wait_for  # noqa: E402

# What a replica does with the three variables, with Python's own HTTP and TLS.
CLIENT = """
import json, os, ssl, socket, sys, urllib.error, urllib.parse, urllib.request
url = os.environ["KUBEFLOW_TRAINER_SERVER_URL"]
context = ssl.create_default_context(cafile=os.environ["KUBEFLOW_TRAINER_SERVER_CA_CERT"])
token = open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]).read().strip()

def post(body, url=url, token=token, method="POST"):
    request = urllib.request.Request(url, method=method, data=body.encode() if body is not None else None, headers={
        "Authorization": "Bearer " + token, "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120, context=context) as answer:
            return answer.status, answer.read().decode().strip()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode().strip()

def report(**status):
    return post(json.dumps({"trainerStatus": status}))

def place():
    parts = urllib.parse.urlsplit(url)
    return parts.hostname, parts.port
"""


def script(place, body, name="client.py"):
    return f"exec {sys.executable} {place.write(name, CLIENT + body)}"


def rows(output, kind="progress"):
    found = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return [row for row in found if row["type"] == kind]


def lines(output):
    return [row["line"] for row in rows(output, "log")]


def state(place):
    folder = os.path.join(place.state, "roundhouse", "runs")
    name, = [name for name in os.listdir(folder) if name[0] != "."]
    with open(os.path.join(folder, name, "state.json"), encoding="utf-8") as file:
        return json.load(file)


def test_a_report_is_shown_and_kept(program):
    with Place(program) as place:
        status, output = place.run(job(master=script(place, """
print(report(progressPercentage=45, estimatedRemainingSeconds=80, metrics=[{"name": "loss", "value": "0.25"}]))
""")), "-o", "json")
        assert status == 0, output
        row, = rows(output)
        assert row["job"] == "j" and row["namespace"] == "default", row
        assert row["trainerStatus"] == {"progressPercentage": 45, "estimatedRemainingSeconds": 80,
                                        "metrics": [{"name": "loss", "value": "0.25"}]}, row
        assert lines(output)[0].startswith("(200, "), output
        assert state(place)["jobs"][0]["trainerStatus"] == row["trainerStatus"], state(place)
        shown = place.start("j", command="describe").communicate(timeout=LIMIT)[0]
        assert "  Progress: 45%  1:20 left  loss 0.25\n      loss 0.25\n" in shown, shown
        place.expect_nothing_left()


def test_ls_shows_the_progress_of_a_run_that_goes_on(program):
    with Place(program) as place:
        path = place.write("job.yaml", job(master=script(place, """
print(report(progressPercentage=45), flush=True)
import time
time.sleep(600)
""")))
        run = place.start(path)

        def shows():
            return "Running 45%" in place.start(command="ls").communicate(timeout=LIMIT)[0]
        try:
            wait_for(shows, "the progress in ls")
        finally:
            run.terminate()
            run.communicate(timeout=LIMIT)
        place.expect_nothing_left()


def test_only_the_token_of_the_job_opens_its_path(program):
    """Two jobs: each has a token of its own, and a certificate that is checked."""
    with Place(program) as place:
        first = job(name="a", master=script(place, """
other = url.replace("/trainjobs/a/", "/trainjobs/b/")
codes = [post("{}", url=other), post("{}", token="x" * 64), post("{}", token=""), post("{}", url=url + "/x"),
         post(None, method="GET"), post("{}")]
print(*[code for code, text in codes])
print(codes[0][1])
try:
    urllib.request.urlopen(url, timeout=120)
except urllib.error.URLError as error:
    print(type(error.reason).__name__)
"""))
        status, output = place.run(first + "---\n" + job(name="b", master=script(place, "", "idle.py")), "-o", "json")
        assert status == 0, output
        shown = lines(output)
        assert shown[0] == "403 403 403 404 404 200", output
        assert json.loads(shown[1]) == {"status": "Failure", "message": "Forbidden", "reason": "Forbidden", "code": 403}
        assert shown[2] == "SSLCertVerificationError", output
        assert not rows(output), output


def test_a_wrong_report_is_refused_with_its_field(program):
    with Place(program) as place:
        status, output = place.run(job(master=script(place, """
print(*report(progressPercentage=101))
print(post("{")[0], post("[]")[0], post('{"trainerStatus": {"metrics": [{"name": "x"}]}}')[0])
""")), "-o", "json")
        assert status == 0, output
        shown = lines(output)
        assert shown[0].startswith("422 ") and "trainerStatus.progressPercentage: 101" in shown[0], output
        assert shown[1] == "422 422 422", output
        assert not rows(output), output


def test_a_hostile_replica_only_loses_its_own_reports(program):
    """Too much at once, too long bodies, connections that say nothing, garbage: the run goes on, and takes a report of
    another job."""
    with Place(program) as place:
        marker = os.path.join(place.files, "attacked")
        hostile = job(name="hostile", master=script(place, f"""
codes = [report(progressPercentage=i % 100)[0] for i in range(60)]
print(codes[0], set(codes) <= {{200, 429}})
silent = [socket.create_connection(place()) for _ in range(200)]
for one in silent[:100]:
    try:
        one.send(b"\\x16\\x03\\x01" + os.urandom(200))
    except OSError:
        pass
try:
    print(post("x" * 1000000)[0])
except OSError as error:
    print(413, error)  # closed before all was sent
open({marker!r}, "w").close()
""", "hostile.py"))
        other = job(name="other", master=script(place, f"""
import time
while not os.path.exists({marker!r}):
    time.sleep(0.02)
print(report(progressPercentage=7, metrics=[{{"name": "loss\\x1b[2J", "value": "\\x1b[2J"}}])[0])
""", "other.py"))
        status, output = place.run(hostile + "---\n" + other, "-o", "json")
        assert status == 0, output
        shown = lines(output)
        assert "200 True" in shown and any(line.startswith("413") for line in shown) and "200" in shown, output
        taken = [row for row in rows(output) if row["job"] == "hostile"]
        assert taken, output
        assert [row["trainerStatus"]["progressPercentage"] for row in rows(output) if row["job"] == "other"] == [7]
        shown = place.start("other", command="describe").communicate(timeout=LIMIT)[0]
        assert "Progress: 7%" in shown and "\x1b" not in shown, shown
        place.expect_nothing_left()


def test_off(program):
    """By the flag, by the configuration, and where no command names Python."""
    show = f"{sys.executable} -c 'import os; print(os.environ.get(\"KUBEFLOW_TRAINER_SERVER_URL\"))'"
    plain = "echo URL ${KUBEFLOW_TRAINER_SERVER_URL-None}"
    with Place(program) as place:
        for text, options in ((show, ["--no-progress"]), (plain, [])):
            status, output = place.run(job(master=text), "-q", *options)
            assert status == 0 and "None" in output, output
    with Place(program, "progress = false\n") as place:
        status, output = place.run(job(master=show), "-q")
        assert status == 0 and "None" in output, output


def test_a_pod_that_sets_the_variables_keeps_its_own(program):
    with Place(program) as place:
        text = job(master="echo python $KUBEFLOW_TRAINER_SERVER_URL")
        text += "            env: [{name: KUBEFLOW_TRAINER_SERVER_URL, value: mine}]\n"
        status, output = place.run(text, "-q")
        assert status == 0 and "python mine" in output, output


def test_each_trial_of_a_sweep_reports_for_itself(program):
    """At the same time, each with a path and a token of its own; not with --no-progress."""
    report_of = """
import time
print(*report(progressPercentage=int(os.environ["P"])))
open(os.environ["MARK"] + os.environ["P"], "w").close()
while not all(os.path.exists(os.environ["MARK"] + other) for other in "78"):
    time.sleep(0.02)
"""
    with Place(program) as place:
        path = place.write("job.yaml", job(master=script(place, report_of)))
        marks = "MARK=" + os.path.join(place.files, "reported-")
        sweep = place.start(path, "-e", marks, "--param", "P=7,8", "--parallel", "2", "-o", "json", command="sweep",
                            stderr=subprocess.PIPE)
        table, message = sweep.communicate(timeout=LIMIT)
        assert sweep.returncode == 0, message
        for trial, percentage in (("j-0001", 7), ("j-0002", 8)):
            shown = place.start(trial, command="describe").communicate(timeout=LIMIT)[0]
            assert f"  Progress: {percentage}%\n" in shown, shown
        assert [row["state"] for row in json.loads(table)] == ["Succeeded", "Succeeded"], table
        show = f"{sys.executable} -c 'import os; print(os.environ.get(\"KUBEFLOW_TRAINER_SERVER_URL\"))'"
        path = place.write("job.yaml", job(name="silent", master=show))
        sweep = place.start(path, "--no-progress", "--param", "P=7", command="sweep")
        message = sweep.communicate(timeout=LIMIT)[0]
        assert sweep.returncode == 0, message
        shown = place.start("silent-0001", command="logs").communicate(timeout=LIMIT)[0]
        assert shown == "master-0 | None\n", shown
        place.expect_nothing_left()


if __name__ == "__main__":
    sys.exit(main([value for name, value in sorted(globals().items()) if name.startswith("test_")], sys.argv[1]))
