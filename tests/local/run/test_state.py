# SPDX-License-Identifier: Apache-2.0
"""State folders that cannot be used, and users that are not root. Usage: test_state.py PROGRAM

Folders are file systems in memory, in a mount namespace of each test; without root, in a user namespace. What needs the
root of this machine is left out without it, and says so.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys

from support import LIMIT, Place, job, main

NOBODY = 65534
AS_NOBODY = f"setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups"
# Where a note says what to do.
ADVICE = "(name another folder with XDG_STATE_HOME, or use --no-keep)"


def namespace():
    """-> the words that start a command in a mount namespace of its own, or None"""
    for words in (["unshare", "-m"], ["unshare", "-rm"]):
        if shutil.which("unshare") and subprocess.run([*words, "true"], check=False,
                                                      capture_output=True).returncode == 0:
            return words
    print("     SKIPPED: no mount namespace: neither root nor user namespaces")
    return None


def can_be_nobody(program):
    """-> whether another user can be tried: who starts the tests is root, and nobody may read program and plugins"""
    if os.getuid() == 0 and shutil.which("setpriv") and subprocess.run(
            [*AS_NOBODY.split(), program, "explain", "pytorchjob"], check=False, capture_output=True).returncode == 0:
        return True
    print("     SKIPPED: needs root, setpriv, and a build that other users may read")
    return False


class Session:
    """Shell commands, one after the other, in one mount namespace with a file system in memory as the state folder.
    Those of the program are noted."""

    def __init__(self, place, size):
        self.place, self.count = place, 0
        self.lines = ["set -e", f"mount -t tmpfs -o size={size} none {place.state}", f"cd {place.files}", "set +e"]

    def shell(self, line):
        self.lines.append(f"{{ {line}; }} || exit 1")

    def call(self, *words, before=""):
        self.count += 1
        self.lines.append(f"{before} {shlex.join([self.place.program, *words])} >{self.count}.out 2>&1 </dev/null; "
                          f"echo $? >{self.count}.status")

    def play(self, words):
        """-> exit status and output of each call"""
        done = subprocess.run([*words, "sh", "-c", "\n".join(self.lines)], env=self.place.environment, text=True,
                              capture_output=True, timeout=LIMIT, check=False)
        assert done.returncode == 0, done.stderr
        return [self.read(number) for number in range(1, self.count + 1)]

    def read(self, number):
        path = os.path.join(self.place.files, str(number))
        with open(path + ".status", encoding="utf-8") as status, open(path + ".out", encoding="utf-8") as out:
            return int(status.read()), out.read()


def expect_run_goes_on(result, why):
    """It is not kept, and one note says why and what to do."""
    status, output = result
    assert status == 0 and "master-0 | hello" in output, output
    notes = [line for line in output.splitlines() if "not kept" in line]
    assert len(notes) == 1 and why in notes[0] and ADVICE in notes[0], output
    assert "Kept in" not in output, output


def expect_message(result, status, *parts):
    """One line that says what is wrong."""
    assert result[0] == status and len(result[1].splitlines()) == 1, result
    for part in parts:
        assert part in result[1], result


def test_read_only(program):
    """What is there can be read; runs go on, and what would have to write ends with one message."""
    words = namespace()
    if not words:
        return
    with Place(program) as place:
        path = place.write("job.yaml", job(master="echo hello"))
        session = Session(place, "40m")
        session.call("run", "-q", path)
        session.shell(f"mount -o remount,bind,ro {place.state}")
        for one in (["run", path], ["ls", "-o", "name"], ["logs", "j"], ["sweep", path, "--param", "A=1"], ["view"],
                    ["runs", "prune", "--all"]):
            session.call(*one)
        kept, run, listed, logs, sweep, view, prune = session.play(words)
        assert kept == (0, "master-0 | hello\n"), kept
        expect_run_goes_on(run, "Read-only file system")
        assert listed[0] == 0 and listed[1].startswith("j-2") and len(listed[1].split()) == 1, listed
        assert logs == (0, "master-0 | hello\n"), logs
        expect_message(sweep, 1, "/sweeps", "Read-only file system", "name another folder with XDG_STATE_HOME")
        expect_message(view, 1, "Read-only file system", "name another file with -o FILE")
        expect_message(prune, 1, "cannot remove", "Read-only file system")
        place.expect_nothing_left()


def test_full(program):
    """As `prune`, which the note names, makes room, runs are kept again."""
    words = namespace()
    if not words:
        return
    with Place(program) as place:
        path = place.write("job.yaml", job(master="echo hello"))
        large = place.write("large.yaml", job(name="large", master="head -c 12000000 /dev/zero | tr '\\\\0' x"))
        session = Session(place, "40m")
        session.call("run", "-q", large)
        session.shell(f"head -c 15000000 /dev/zero >{place.state}/other")
        for one in (["run", path], ["sweep", path, "--param", "A=1"], ["ls", "-o", "name"], ["runs", "prune", "--all"],
                    ["run", path]):
            session.call(*one)
        kept, run, sweep, listed, prune, again = session.play(words)
        assert kept[0] == 0, kept
        expect_run_goes_on(run, "less than 16 MiB are free")
        assert "`roundhouse runs prune` makes room" in run[1], run
        expect_message(sweep, 1, "less than 16 MiB are free", "`roundhouse runs prune` makes room")
        assert listed[1].startswith("large-2"), listed
        assert prune[0] == 0 and "1 run removed" in prune[1], prune
        assert again[0] == 0 and "Kept in " in again[1], again
        place.expect_nothing_left()


def test_of_another_user(program):
    """Of nobody for root, and of root for nobody, who may or may not look into it."""
    words = namespace()
    if not words or not can_be_nobody(program):
        return
    for owner, user, mode, why in ((NOBODY, "", "755", "is not a folder of this user"),
                                   (0, AS_NOBODY, "755", "is not a folder of this user"),
                                   (0, AS_NOBODY, "700", "Permission denied")):
        with Place(program) as place:
            open_for_all(place)
            path = place.write("job.yaml", job(master="echo hello"))
            session = Session(place, "40m")
            session.shell(f"mkdir -p {place.state}/roundhouse/runs; chmod -R {mode} {place.state}; "
                          f"chown -R {owner} {place.state}")
            for one in (["run", path], ["sweep", path, "--param", "A=1"], ["ls"]):
                session.call(*one, before=user)
            run, sweep, listed = session.play(words)
            expect_run_goes_on(run, why)
            expect_message(sweep, 1 if mode == "700" else 2, why, "name another folder with XDG_STATE_HOME")
            expect_message(listed, *((1, "Permission denied") if mode == "700" else (0, "no run is kept")))
            place.expect_nothing_left()


def open_for_all(place):
    """Let nobody use the folders of the test as their own."""
    for folder in (place.folder, place.files):
        os.chmod(folder, 0o755)
    for folder in (place.tmp, place.runtime):
        os.chown(folder, NOBODY if os.getuid() == 0 else -1, -1)


def tour(place, user, home):
    """The same day as a user with a home of its own. -> what each call gave, by its words"""
    environment = {"HOME": home, "TMPDIR": os.path.join(home, "tmp"), "XDG_RUNTIME_DIR": os.path.join(home, "tmp"),
                   "XDG_STATE_HOME": ""}
    results = {}
    for line in ("run -q good.yaml", "run bad.yaml", "run -d --wait long.yaml", "ps long", "top --once long",
                 "exec long-master-0 -- id -u", "stop long", "logs good", "describe bad", "rerun -q good", "view bad",
                 "sweep good.yaml --param X=1,2", "runs prune --keep 3", "ls"):
        words = [os.path.join(place.files, word) if word.endswith(".yaml") else word for word in line.split()]
        done = subprocess.run([*user.split(), place.program, *words], env=place.environment | environment, cwd=home,
                              text=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=False)
        results[line] = (done.returncode, done.stdout, done.stderr)
    return results


def check_tour(day, uid, home):
    """What each command of a day has to show."""
    runs = os.path.join(home, ".local", "state", "roundhouse", "runs")
    hello = rf"master-0 \| user {uid}\n"
    for line, pattern in (
            ("run -q good.yaml", hello), ("logs good", hello), ("rerun -q good", hello),
            ("run -d --wait long.yaml", r"long-\d{8}-\d{6}\n"),
            ("ps long", r"RUN .*\n.* long/master-0 +\d+ .*\n.* long/worker-0 +\d+ (?s:.*)"),
            ("top --once long", r"(?s)RUN +REPLICA +PROCESSES .*\blong/master-0 +1 .*\blong/worker-0 +1 .*"),
            ("exec long-master-0 -- id -u", f"{uid}\n"),
            ("describe bad", r"(?s).*\n  First fault: Worker-0 \(container pytorch\) exited with code 7:\n"
             r"      cause\n.*"),
            ("view bad", re.escape(runs) + r"/bad-\d{8}-\d{6}/view\.html\n"),
            ("sweep good.yaml --param X=1,2", r"(?s)TRIAL +X +STATE .*good-0001 +1 +Succeeded "
             r".*good-0002 +2 +Succeeded .*"),
            ("runs prune --keep 3", r"(long|bad|good)-(?s:.*)"), ("ls", r"RUN (?s:.*)")):
        assert day[line][0] == 0 and re.fullmatch(pattern, day[line][1]), (line, day[line])
    status, _, message = day["run bad.yaml"]
    assert status == 1 and "First fault: Worker-0 (container pytorch) exited with code 7" in message, message
    assert re.fullmatch(r"long-\d{8}-\d{6}: Interrupted\n", day["stop long"][1]) and day["stop long"][0] == 0, day
    assert {os.stat(os.path.join(top, name)).st_uid for top, folders, names in os.walk(os.path.dirname(runs))
            for name in (".", *names)} == {uid}, runs
    assert os.listdir(os.path.join(home, "tmp")) == [], home


def test_root_and_an_ordinary_user(program):
    """A day of runs ends in the same way for both; each has its own home, processes and kept runs. Who is not root
    plays it alone."""
    both = can_be_nobody(program)
    with Place(program) as place:
        if both:
            open_for_all(place)
        place.write("good.yaml", job(name="good", master='echo "$(id -u) $MASTER_PORT" >$HOME/port; echo user $(id -u)',
                                     pod="volumes: [{name: v, emptyDir: {}}]"))
        place.write("bad.yaml", job(name="bad", master="exec sleep 600", worker="echo cause; exit 7"))
        place.write("long.yaml", job(name="long", master="exec sleep 600", worker="exec sleep 600"))
        seen = []
        for uid, user in ((os.getuid(), ""), (NOBODY, AS_NOBODY))[:2 if both else 1]:
            home = os.path.join(place.folder, f"home of {uid}")
            os.makedirs(os.path.join(home, "tmp"), 0o700)
            for folder in (home, os.path.join(home, "tmp")):
                os.chown(folder, uid, -1)
            day = tour(place, user, home)
            check_tour(day, uid, home)
            seen.append(([result[0] for result in day.values()],
                         sorted(line.split()[1:3] for line in day["ls"][1].splitlines()[1:])))
        assert seen[0] == seen[-1], seen
        place.expect_nothing_left()


if __name__ == "__main__":
    sys.exit(main([value for name, value in sorted(globals().items()) if name.startswith("test_")], sys.argv[1]))
