# SPDX-License-Identifier: Apache-2.0
"""The callback of Hugging Face Transformers reports to a run. Usage: test_transformers.py PROGRAM

The package is installed once, without a framework, below ~/.cache/roundhouse; where that fails, the test is skipped."""
import json
import os
import pathlib
import subprocess
import sys
import venv

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run"))
from support import Place, job, main  # noqa: E402

SKIPPED = 77
# The first release that has the callback.
PACKAGE = "transformers>=5.23"
# What its Trainer calls in a training of ten steps; Trainer itself would need PyTorch.
TRAINING = """
import types
from transformers import TrainerControl, TrainerState
from transformers.integrations.integration_utils import KubeflowCallback

callback = KubeflowCallback()
callback._MIN_UPDATE_INTERVAL = 0
arguments, control = types.SimpleNamespace(max_steps=10), TrainerControl()
state = TrainerState(max_steps=10, num_train_epochs=1)
callback.on_train_begin(arguments, state, control)
for step in range(1, 11):
    state.global_step, state.epoch = step, step / 10
    callback.on_step_end(arguments, state, control)
    callback.on_log(arguments, state, control, logs={"loss": 1 / step})
callback.on_train_end(arguments, state, control)
"""


def interpreter():
    """-> path of a Python that has the package; ends the test as skipped where there is none"""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = cache / "roundhouse" / "transformers"
    python = folder / "bin" / "python"
    has = [python, "-c", "from transformers.integrations.integration_utils import KubeflowCallback"]
    try:
        if not python.exists() or subprocess.run(has, capture_output=True, check=False).returncode != 0:
            venv.create(folder, clear=True, with_pip=True)
            subprocess.run([python, "-m", "pip", "install", "-q", PACKAGE], check=True, capture_output=True, text=True)
        subprocess.run(has, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print("SKIPPED: transformers cannot be installed:", error, getattr(error, "stderr", ""))
        sys.exit(SKIPPED)
    return python


def test_each_step_is_reported(program):
    python = interpreter()
    with Place(program) as place:
        status, output = place.run(job(master=f"exec {python} {place.write('train.py', TRAINING)}"), "-o", "json")
        assert status == 0, output
        rows = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        reports = [row["trainerStatus"] for row in rows if row["type"] == "progress"]
        percentages = [report["progressPercentage"] for report in reports]
        assert percentages[0] == 0 and percentages[-1] == 100 and percentages == sorted(percentages), reports
        assert {"name": "loss", "value": "0.1"} in reports[-1]["metrics"], reports[-1]
        place.expect_nothing_left()


if __name__ == "__main__":
    sys.exit(main([test_each_step_is_reported], sys.argv[1]))
