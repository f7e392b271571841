# SPDX-License-Identifier: Apache-2.0
"""Parameter servers of Roundhouse, of which one goes wrong. usage: ps_train.py WAY TASK, TASK as "ps0" or "worker1" """
import json
import os
import signal
import sys
import threading
import time

import numpy as np
import roundhouse
import roundhouse.ps

TASK = json.loads(os.environ["TF_CONFIG"])["task"]
NAME = f"{TASK['type']}{TASK['index']}"


def fails(seconds):
    time.sleep(seconds)
    if sys.argv[1] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    print("server failed: no space for the snapshot", file=sys.stderr, flush=True)
    os._exit(1)


def main():
    print(f"{NAME} starts", flush=True)
    if NAME == sys.argv[2]:
        threading.Thread(target=fails, args=(3.0,), daemon=True).start()
    if TASK["type"] == "ps":
        roundhouse.ps.serve()
        return
    server = roundhouse.ParameterServer()
    weights = {"weights": np.zeros(100, dtype="float32")}
    server.init(weights)
    for number in range(1000):
        server.push_pull({"weights": np.ones(100, dtype="float32")}, weights)
        time.sleep(0.1)
        if TASK["type"] == "chief" and number % 10 == 0:
            print(f"step {number} weight {weights['weights'][0]:.2f}", flush=True)


if __name__ == "__main__":
    main()
