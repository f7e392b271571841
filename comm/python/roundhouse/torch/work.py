# SPDX-License-Identifier: Apache-2.0
"""What torch is given for an operation in flight: futures that end by themselves."""
import atexit
import collections
import threading
import time
import weakref

import torch

from roundhouse.errors import late

# Seconds that the end of Python waits for threads that are in torch.
_LAST_CALLS = 5


class Background:
    """The threads of ours that are in torch; each is so inside `with`.

    When Python ends, it ends its other threads by unwinding their stacks, as soon as they ask for its lock. The C++ of
    torch forbids that: the process would abort, whatever its status should be. So a thread that would enter then stays
    outside for ever, and end() waits for those that are inside.
    """

    def __init__(self):
        self.changed, self.inside, self.ended = threading.Condition(), 0, False

    def __enter__(self):
        with self.changed:
            self.changed.wait_for(lambda: not self.ended)
            self.inside += 1

    def __exit__(self, *_problem):
        with self.changed:
            self.inside -= 1
            self.changed.notify_all()

    def end(self):
        """Let nobody enter any more, and wait for those that are inside."""
        with self.changed:
            self.ended = True
            self.changed.wait_for(lambda: not self.inside, _LAST_CALLS)


_background = Background()
atexit.register(_background.end)


class Pending:
    """Requests of one operation, and what is to be done when all are done. Whoever waits first does the waiting.

    requests: what has join() and wait(), a Request or another Pending.
    """

    def __init__(self, requests, tensors, finish=None):
        self.requests, self.tensors, self.finish = requests, tensors, finish
        self.problem, self.ended = None, False
        self.lock, self.futures = threading.Lock(), []

    def wait(self, seconds=None):
        """Wait, for so many seconds at most, and finish; raises what went wrong, or DeadlineError."""
        if not self.join(seconds):
            raise late(seconds)
        if self.problem:
            raise self.problem

    def join(self, seconds=None):
        """Wait, for so many seconds at most, and finish. Returns whether it is done, well or not."""
        settled = self.settle(seconds)
        if settled:
            self.fire()
        return settled

    def block(self):
        """Wait until all requests are done, well or not, and finish nothing: no call into torch."""
        for request in self.requests:
            if isinstance(request, Pending):
                request.block()
            else:
                request.join()

    def settle(self, seconds=None):
        """join(), but the futures do not come true yet."""
        until = None if seconds is None else time.monotonic() + seconds
        if not self.lock.acquire(timeout=-1 if seconds is None else max(seconds, 0)):
            return False
        try:
            if not self.ended and all(request.join(None if until is None else until - time.monotonic())
                                      for request in self.requests):
                self._end()
            return self.ended
        finally:
            self.lock.release()

    def fire(self):
        """Let the futures come true; this runs their call-backs."""
        with self.lock:
            futures, self.futures = self.futures, []
        for future in futures:
            future.set_result(None)

    def _end(self):
        try:
            for request in self.requests:
                request.wait()
            if self.finish:
                self.finish()
        except Exception as problem:  # it is raised where the result is looked at
            self.problem = problem
        self.requests, self.finish, self.ended = (), None, True

    def done(self):
        """Whether it is done, well or not."""
        if self.ended:
            return True
        # somebody may be waiting for it: then it is his to finish
        return all(request.done() for request in self.requests) and self.join(0)

    def result(self, _future=None):
        """The tensors, or what went wrong."""
        if self.problem:
            raise self.problem
        return self.tensors

    def future(self):
        """A torch Future of result(). Somebody has to wait() for it to come true."""
        root = torch.futures.Future()
        # an exception from a call-back is one for C++, too, unlike one that is set
        made = root.then(self.result)
        with self.lock:
            if not self.ended:
                self.futures.append(root)
                return made
        root.set_result(None)
        return made


class Waiter:
    """Threads that wait for operations, in the order in which they were posted, so that their futures come true.

    One thread waits. Before it runs the call-backs of an operation it leaves the waiting to another one: a call-back
    may itself wait for any operation. There are as many threads as call-backs that wait at one time, and one.
    """

    def __init__(self, name):
        self.name, self.queue, self.threads = name, collections.deque(), []
        self.changed = threading.Condition()
        self.waiting, self.idle, self.closed = False, 0, False

    def add(self, pending):
        """Wait for it in the background."""
        with self.changed:
            self.queue.append(pending)
            self._appoint()

    def _appoint(self):
        """See to it that a thread waits, with the lock held."""
        if self.waiting or not self.queue:
            return
        if self.idle:
            self.changed.notify()
            return
        thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self.threads.append(thread)
        # it counts as idle from now on: whoever comes next starts no other
        self.idle += 1
        thread.start()

    def _take(self):
        """The next operation, for the one thread that waits; None at the end."""
        with self.changed:
            self.changed.wait_for(lambda: self.queue and not self.waiting or self.closed and not self.queue)
            self.idle -= 1
            if not self.queue:
                return None
            self.waiting = True
            return self.queue.popleft()

    def _hand_over(self):
        with self.changed:
            self.waiting = False
            if self.closed:
                self.changed.notify_all()
            self._appoint()

    def _run(self):
        for pending in iter(self._take, None):
            pending.block()
            with _background:
                pending.settle()
                self._hand_over()
                pending.fire()
                del pending
            with self.changed:
                self.idle += 1

    def close(self):
        """End the threads when all have come true."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()
            threads, self.threads = self.threads, []
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join()


_waiters = weakref.WeakKeyDictionary()
_waiters_lock = threading.Lock()


def waiter(comm):
    """The waiter of a Comm; it ends when the Comm closes."""
    with _waiters_lock:
        if comm not in _waiters:
            _waiters[comm] = Waiter(f"rh_comm {comm.rank}")
        return _waiters[comm]


def forget(comm):
    """End the waiter of a Comm."""
    with _waiters_lock:
        found = _waiters.pop(comm, None)
    if found:
        found.close()


def wait_alone(pending):
    """Wait in a thread of its own: messages may end in any order."""
    # the last reference is dropped inside, too: what it leads to is torch's
    pendings = [pending]

    def work():
        pendings[0].block()
        with _background:
            pendings.pop().join()

    threading.Thread(target=work, daemon=True, name="rh_comm message").start()
