# SPDX-License-Identifier: Apache-2.0
"""What torch is given for an operation in flight: futures that end by themselves."""
import queue
import threading
import weakref

import torch


class Pending:
    """Requests of one operation, and what is to be done when all are done. Whoever waits first does the waiting."""

    def __init__(self, requests, tensors, finish=None):
        self.requests, self.tensors, self.finish = requests, tensors, finish
        self.problem, self.done = None, False
        self.lock, self.futures = threading.Lock(), []

    def wait(self):
        """Wait, and finish; raises what went wrong."""
        with self.lock:
            if not self.done:
                self._end()
            futures, self.futures = self.futures, []
        for future in futures:
            future.set_result(None)
        if self.problem:
            raise self.problem

    def _end(self):
        try:
            for request in self.requests:
                request.wait()
            if self.finish:
                self.finish()
        except Exception as problem:  # it is raised where the result is looked at
            self.problem = problem
        self.requests, self.finish, self.done = (), None, True

    def test(self):
        """Whether it is done, well or not."""
        if self.done:
            return True
        if not all(request.done() for request in self.requests):
            return False
        try:
            self.wait()
        except Exception:  # result() has it
            pass
        return True

    def result(self, _future=None):
        """The tensors, or what went wrong."""
        if self.problem:
            raise self.problem
        return self.tensors

    def future(self):
        """A torch Future of result(). Somebody has to wait() for it to come true."""
        root = torch.futures.Future()
        # an exception from a callback is one for C++, too, unlike one that is set
        made = root.then(self.result)
        with self.lock:
            if not self.done:
                self.futures.append(root)
                return made
        root.set_result(None)
        return made


class Waiter:
    """A thread that waits for operations, in the order in which they were posted, so that their futures come true."""

    def __init__(self, name):
        self.name, self.queue, self.thread = name, queue.SimpleQueue(), None
        self.lock = threading.Lock()

    def add(self, pending):
        """Wait for it in the background."""
        with self.lock:
            if self.thread is None:
                self.thread = threading.Thread(target=self._run, name=self.name, args=(self.queue,), daemon=True)
                self.thread.start()
        self.queue.put(pending)

    @staticmethod
    def _run(waiting):
        for pending in iter(waiting.get, None):
            try:
                pending.wait()
            except Exception:  # the future has it
                pass
            del pending

    def close(self):
        """End the thread when all have come true."""
        with self.lock:
            thread, self.thread = self.thread, None
        if thread is not None:
            self.queue.put(None)
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
