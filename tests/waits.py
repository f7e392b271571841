# SPDX-License-Identifier: Apache-2.0
"""Waiting for what can only be seen by looking: a state of a server, a file, the end of somebody else's process. The
output and the end of a process of the test are events: read, or wait for them."""
import time

# Generous: the machine may be busy with other tests, and only a hang reaches it.
PATIENCE_S = 180


def wait_for(what, ask, patience=PATIENCE_S, pause=0.05):
    """Ask until the answer is true. @param what is waited for, in words. -> the answer"""
    deadline = time.monotonic() + patience
    while True:
        answer = ask()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not after {patience} s")
        time.sleep(pause)
