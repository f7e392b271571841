# SPDX-License-Identifier: Apache-2.0
"""The program roundhouse-shim, as `roundhouse run` starts it. Usage: test_program.py PROGRAM [TEST]"""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run"))
from support import LIMIT, Place, job, main, wait_for  # noqa: E402

# Each further library would cost every pod time and memory. (A debug build calls libm for what are instructions else.)
LIBRARIES = ("linux-vdso", "libcjson", "libc.so", "libm.so", "/lib")
INSTRUMENTED = ("libasan", "libubsan", "libtsan")


def shim_of(program):
    return os.path.join(os.path.dirname(program), "..", "libexec", "roundhouse", "roundhouse-shim")


def copy_of(program, folder):
    """An installation of its own. Returns its program."""
    top = os.path.join(os.path.dirname(program), "..")
    for part in ("bin/roundhouse", "libexec/roundhouse", "lib/roundhouse/plugins"):
        target = os.path.join(folder, part)
        if os.path.isdir(os.path.join(top, part)):
            shutil.copytree(os.path.join(top, part), target)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(os.path.join(top, part), target)
    return os.path.join(folder, "bin", "roundhouse")


def test_it_loads_little(program):
    loaded = subprocess.run(["ldd", shim_of(program)], stdout=subprocess.PIPE, text=True, check=True).stdout
    names = [line.split()[0] for line in loaded.splitlines()]
    if not any(word in loaded for word in INSTRUMENTED):
        assert all(name.startswith(LIBRARIES) for name in names), loaded


def test_it_is_for_run_alone(program):
    for words, text in (([], "starts this program"), (["0.0.0"], "and roundhouse of 0.0.0; install both again")):
        done = subprocess.run([shim_of(program), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 2 and text in done.stderr, (done.returncode, done.stderr)


def test_it_is_missing(program):
    with Place(program) as place:
        place.program = copy_of(program, os.path.join(place.folder, "copy"))
        assert place.run(job())[0] == 0
        os.unlink(shim_of(place.program))
        status, output = place.run(job())
        assert status == 1 and "shim\", which is installed with roundhouse: No such file" in output, (status, output)
        place.expect_nothing_left()


def test_it_is_replaced_during_a_run(program):
    """A pod that is made again gets the shim of the release that started the run."""
    with Place(program) as place:
        place.program = copy_of(program, os.path.join(place.folder, "copy"))
        script = "[ -e again ] && exit 0; touch again; while [ ! -e gone ]; do sleep 0.05; done; exit 143"
        process = place.start(place.write("job.yaml", job(policy="ExitCode", master=script)))
        wait_for(lambda: os.path.exists(os.path.join(place.files, "again")), "the first pod")
        os.unlink(shim_of(place.program))
        place.write("gone", "")
        output, _ = process.communicate(timeout=LIMIT)
        assert process.returncode == 0, output
        place.expect_nothing_left()


if __name__ == "__main__":
    sys.exit(main([value for name, value in sorted(globals().items()) if name.startswith("test_")], sys.argv[1]))
