# SPDX-License-Identifier: Apache-2.0
"""torch's monitored_barrier() over torch's own store: the group goes on after a failed one, and the message says who
was missing."""
import time

import torch.distributed as dist

from roundhouse.errors import DeadlineError

# seconds between two looks at the store: first, and at most
_SOON, _LATER = 0.001, 0.05
_FINE = "all came"


class Monitored:
    """The monitored barriers of a group, of which each has a number. Rank 0 waits for the others, and publishes what it
    found."""

    def __init__(self, store, rank, world):
        self._store, self._rank, self._world = dist.PrefixStore("rh/monitored", store), rank, world
        self._number = 0

    def _comes(self, key, until):
        """Wait for a key until that time. Returns whether it is there. Between looks Ctrl-C counts, unlike in
        store.wait()."""
        pause = _SOON
        while not self._store.check([key]):
            if time.monotonic() >= until:
                return False
            time.sleep(pause)
            pause = min(2 * pause, _LATER)
        return True

    def _missing(self, number, until, everybody):
        """The ranks that did not come: of several the first alone, if not everybody is to be waited for."""
        missing = []
        for rank in range(1, self._world):
            if not self._comes(f"{number}/{rank}", until):
                missing.append(rank)
                if not everybody:
                    break
        return missing

    def _forget(self, number):
        """Remove the keys of a barrier that everybody has left."""
        try:
            for name in ("verdict", *range(self._world)):
                self._store.delete_key(f"{number}/{name}")
        except (RuntimeError, NotImplementedError):
            # some stores cannot
            pass

    def _judge(self, number, seconds, everybody):
        """What rank 0 finds."""
        missing = self._missing(number, time.monotonic() + seconds, everybody)
        if not missing:
            return _FINE
        return (f"monitored_barrier: rank{'s' if len(missing) > 1 else ''} {', '.join(map(str, missing))} did not "
                f"come within {seconds:g} s")

    def _ask(self, number, seconds):
        """What another rank finds: what rank 0 did, if that comes in time."""
        if not self._comes(f"{number}/0", time.monotonic() + seconds):
            return f"monitored_barrier: rank 0 did not come within {seconds:g} s"
        # rank 0 may have come last, and waits as long as this rank did; what it then writes is a moment away
        if not self._comes(f"{number}/verdict", time.monotonic() + 2 * seconds + 1):
            return f"monitored_barrier: rank 0 came, and did not end it within {2 * seconds + 1:g} s"
        return _FINE

    def run(self, seconds, everybody):
        """Wait for all ranks, for so many seconds. Raises DeadlineError on every rank that comes, now or later, with
        those that did not."""
        number, self._number = self._number, self._number + 1
        self._store.set(f"{number}/{self._rank}", "")
        found = self._judge(number, seconds, everybody) if self._rank == 0 else self._ask(number, seconds)
        # the first finding counts for all
        verdict = self._store.compare_set(f"{number}/verdict", "", found).decode()
        if verdict != _FINE:
            raise DeadlineError(verdict, -21)
        if self._rank == 0 and number > 0:
            # whoever came to this one has left the one before
            self._forget(number - 1)
