# SPDX-License-Identifier: Apache-2.0
"""Parameter servers from Python. usage: test_ps.py LIBRARY SOURCE"""
import array
import os
import signal
import subprocess
import sys
import tempfile
import unittest

import kit
import roundhouse
from roundhouse import library, ps

if not hasattr(library.lib, "rh_ps_connect"):
    kit.skip(f"{kit.LIBRARY} has no parameter servers")


@kit.case
def server():
    ps.serve(index=0, workers=int(os.environ["TEST_WORKERS"]), mode=os.environ.get("TEST_MODE", "sync"),
             rule=os.environ.get("TEST_RULE", "sgd"), rate=0.5, host="127.0.0.1", port=int(os.environ["TEST_PORT"]),
             folder=os.environ.get("TEST_FOLDER") or None)


def connect():
    return roundhouse.ParameterServer(f"127.0.0.1:{os.environ['TEST_PORT']}", int(os.environ["TEST_RANK"]),
                                      int(os.environ["TEST_WORKERS"]))


@kit.case
def worker():
    with connect() as server:
        weights = {"a": array.array("f", [server.worker + 5.0] * 1000), 7: array.array("d", [1.0, 2.0])}
        # worker 0's values count, whatever the others give
        assert server.init(weights) is weights and set(weights["a"]) == {5.0}, weights["a"][:3]
        gradients = {"a": array.array("f", [server.worker + 1.0] * 1000), 7: array.array("d", [1.0, 0.0])}
        mean = sum(range(1, server.workers + 1)) / server.workers
        server.push(gradients)
        server.pull(weights)
        assert set(weights["a"]) == {5.0 - 0.5 * mean} and list(weights[7]) == [0.5, 2.0], weights
        assert server.push_pull(gradients, weights) is weights
        assert weights["a"][0] == 5.0 - mean and weights[7][0] == 0.0, weights
        server.barrier()
        request = server.push_pull_start(gradients, weights)
        while not request.test():
            pass
        assert request.wait() is weights
        server.barrier()
        if server.worker == 0:
            server.set_rate(0.0)
        server.barrier()
        before = list(weights[7])
        assert list(server.push_pull(gradients, weights)[7]) == before


@kit.case
def rows():
    """An embedding of 100 rows of 4: each worker pushes row 7 twice, and one of its own."""
    with connect() as server:
        table = array.array("f", [1.0] * 400)
        server.init({"table": table}, widths={"table": 4})
        mine = array.array("q", [7, 7, 20 + server.worker])
        gradient = array.array("f", [1.0] * 8 + [2.0] * 4)
        out = {"table": array.array("f", [0.0] * 12)}
        assert server.push_pull_rows({"table": (mine, gradient)}, out) is out
        # the mean of a round: both workers push 2 to row 7, and one of them 2 to the other row
        assert list(out["table"]) == [1.0 - 0.5 * 2.0] * 8 + [1.0 - 0.5 * 2.0 / server.workers] * 4, out
        server.push_rows({"table": (array.array("q"), array.array("f"))})
        some = array.array("Q", [0, 7, 99])
        pulled = server.pull_rows({"table": (some, array.array("f", [9.0] * 12))})["table"]
        assert list(pulled) == [1.0] * 4 + [0.0] * 4 + [1.0] * 4, pulled
        # all of the value is pushed and pulled as ever
        server.push({"table": array.array("f", [1.0] * 400)})
        assert server.pull({"table": table})["table"][0] == 0.5, table[:8]
        calls = {
            "sort the rows": lambda: server.push_rows({"table": (array.array("q", [2, 1]), gradient[:8])}),
            "must be below 100": lambda: server.pull_rows({"table": (array.array("q", [100]), gradient[:4])}),
            'key "table": 8 elements are not 1 rows of 4':
                lambda: server.push_rows({"table": (array.array("q", [1]), gradient[:8])}),
            "must be int64 or uint64": lambda: server.push_rows({"table": (array.array("i", [1]), gradient[:4])}),
            'key "other" has no rows': lambda: server.push_rows({"other": (mine, gradient)}),
            "nothing to pull": lambda: server.push_pull_rows({"table": (mine, gradient)}, {}),
        }
        for words, call in calls.items():
            try:
                call()
            except roundhouse.InvalidError as error:
                assert words in str(error), (words, error)
            else:
                raise AssertionError(words)
        server.barrier()


@kit.case
def refused():
    with connect() as server:
        known = {"a": array.array("f", [0.0] * 4)}
        server.init(known)
        calls = {
            "another length": lambda: server.push({"a": array.array("f", [1.0])}),
                "nothing to pull into": lambda: server.push_pull(known, {}),
            "another type to pull into": lambda: server.push_pull(known, {"a": array.array("d", [0.0] * 4)}),
            "a key below 0": lambda: server.pull({-1: known["a"]}),
            "a key that is too large": lambda: server.pull({2 ** 63: known["a"]}),
            "elements without a type": lambda: server.push({"a": memoryview(bytearray(8)).cast("P")}),
        }
        for name, call in calls.items():
            try:
                call()
            except roundhouse.CommError as error:
                assert isinstance(error, roundhouse.InvalidError), (name, error)
                # errors of the server name the key as the caller did
                assert name != "another length" or 'key "a"' in str(error), error
            else:
                raise AssertionError(name)
        server.pull(known)
        # a key that nobody has made known yet is waited for
        try:
            server.pull({"b": array.array("f", [1.0])}, timeout=0.2)
        except roundhouse.DeadlineError as error:
            assert 'the first value of key "b"' in str(error), error
            return
        raise AssertionError("nobody made it known")


@kit.case
def counts():
    """Adds 1 again and again, across the death of the server."""
    with connect() as server:
        total = {"n": array.array("q", [0])}
        server.init(total)
        for step in range(300):
            if step == 299 and "TEST_HELD" in os.environ:
                sys.stdin.read()  # the server does not end before it is killed
            server.push({"n": array.array("q", [1])})
            if step == 50:
                print("half way", flush=True)
        server.barrier()
        assert server.pull(total)["n"][0] == 300 * server.workers, total


def work(server):
    total = {"n": array.array("q", [0])}
    server.init(total)
    server.push({"n": array.array("q", [1])})
    assert server.pull(total)["n"][0] == 1, total


@kit.case
def forgets():
    """No close(), a request that nobody waits for, and a forked child that ends first, as a worker of a data loader
    does."""
    server = connect()
    work(server)
    child = os.fork()
    if child == 0:
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    server.pull({"n": array.array("q", [0])})
    server.kept = server.push_start({"n": array.array("q", [1])})


@kit.case
def drops():
    """No close(), and the object is gone long before the end."""
    work(connect())
    print("dropped", flush=True)
    sys.stdin.read()


@kit.case
def raises():
    server = connect()
    work(server)
    raise RuntimeError("the model is not well")


@kit.case
def vanishes():
    """A worker that ends without close(), and without what Python does at the end."""
    server = connect()
    server.init({"n": array.array("q", [0])})
    os._exit(0)


@kit.case
def scheduler():
    ps.schedule(servers=1, workers=2, host="127.0.0.1", port=int(os.environ["TEST_PORT"]))


@kit.case
def replicated_scheduler():
    ps.schedule(servers=1, workers=2, host="127.0.0.1", port=int(os.environ["TEST_PORT"]), replicas=2)


def follow(role):
    os.environ.update(DMLC_ROLE=role, DMLC_PS_ROOT_URI="127.0.0.1", DMLC_PS_ROOT_PORT=os.environ["TEST_PORT"])


@kit.case
def scheduled_server():
    follow("server")
    ps.serve(mode="async", rule="sum", host="127.0.0.1")


@kit.case
def scheduled_worker():
    follow("worker")
    with roundhouse.ParameterServer(backend="own") as server:
        total = {"n": array.array("q", [0])}
        server.init(total)
        server.push({"n": array.array("q", [1])})
        server.barrier()
        assert server.workers == 2 and server.pull(total)["n"][0] == 2, total


class Servers(unittest.TestCase):
    def start(self, name, rank=0, stdin=None, **more):
        words = [sys.executable, "-B", *sys.argv, "--case", name]
        further = {"TEST_PORT": self.port, "TEST_RANK": rank, "TEST_WORKERS": self.workers, "RH_PS_LOG": "off"} | more
        child = subprocess.Popen(words, env=kit.environment(0, 0, 0, "none", further), stdin=stdin,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def run_workers(self, name, count, **more):
        self.port, self.workers = kit.free_port(), count
        server = self.start("server", **more)
        children = [server] + [self.start(name, rank, **more) for rank in range(count)]
        outputs = [child.communicate(timeout=kit.TIMEOUT)[0] for child in children]
        self.assertEqual([child.returncode for child in children], [0] * (count + 1), outputs)

    def test_one_worker(self):
        self.run_workers("worker", 1)

    def test_three_workers(self):
        self.run_workers("worker", 3)

    def test_rows(self):
        self.run_workers("rows", 2)

    def test_refusals(self):
        self.run_workers("refused", 1)

    def test_counts(self):
        self.run_workers("counts", 2, TEST_MODE="async", TEST_RULE="sum")

    def test_a_server_ends_when_all_workers_are_gone_without_a_word(self):
        self.port, self.workers = kit.free_port(), 2
        more = {"TEST_MODE": "async", "TEST_RULE": "sum", "RH_PS_RETURN_TIMEOUT": 1}
        server = self.start("server", **more)
        children = [self.start("vanishes", rank, **more) for rank in range(2)]
        self.assertEqual([child.wait(kit.TIMEOUT) for child in children], [0, 0])
        outputs = server.communicate(timeout=kit.TIMEOUT)[0]
        self.assertNotEqual(server.returncode, 0, outputs)
        self.assertRegex(outputs, r"worker [01] died, or ended without rh_ps_free\(\) \(close\(\) in Python\), and "
                         r"did not come back")
    def end_of_server(self, name, **how):
        """-> statuses of the server and of its one worker, which does not close its connection"""
        self.port, self.workers = kit.free_port(), 1
        more = {"TEST_MODE": "async", "TEST_RULE": "sum"}
        server, child = self.start("server", **more), self.start(name, **more, **how)
        child.communicate(timeout=kit.TIMEOUT)
        return server.wait(kit.TIMEOUT), child.returncode

    def test_a_forgotten_close_is_made_up_for_at_the_end(self):
        self.assertEqual(self.end_of_server("forgets"), (0, 0))
        self.assertEqual(self.end_of_server("raises"), (0, 1))

    def test_a_forgotten_object_leaves(self):
        self.port, self.workers = kit.free_port(), 1
        more = {"TEST_MODE": "async", "TEST_RULE": "sum"}
        server, child = self.start("server", **more), self.start("drops", stdin=subprocess.PIPE, **more)
        self.assertEqual(child.stdout.readline(), "dropped\n")
        self.assertEqual(server.wait(kit.TIMEOUT), 0)
        child.stdin.close()
        self.assertEqual(child.wait(kit.TIMEOUT), 0)

    def test_a_scheduler_brings_all_together(self):
        self.port, self.workers = kit.free_port(), 2
        children = [self.start(name) for name in ("scheduler", "scheduled_server", "scheduled_worker",
                                                  "scheduled_worker")]
        outputs = [child.communicate(timeout=kit.TIMEOUT)[0] for child in children]
        self.assertEqual([child.returncode for child in children], [0] * 4, outputs)

    def test_a_server_with_a_backup(self):
        self.port, self.workers = kit.free_port(), 2
        children = [self.start(name) for name in ("replicated_scheduler", "scheduled_server", "scheduled_server",
                                                  "scheduled_worker", "scheduled_worker")]
        outputs = [child.communicate(timeout=kit.TIMEOUT)[0] for child in children]
        self.assertEqual([child.returncode for child in children], [0] * 5, outputs)

    def test_killed_server_counts_each_push_once(self):
        self.port, self.workers = kit.free_port(), 1
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        more = {"TEST_MODE": "async", "TEST_RULE": "sum", "TEST_FOLDER": folder.name, "RH_PS_GRACE": 60}
        server = self.start("server", **more)
        child = self.start("counts", stdin=subprocess.PIPE, TEST_HELD=1, **more)
        self.assertEqual(child.stdout.readline(), "half way\n")
        server.send_signal(signal.SIGKILL)
        server.wait()
        again = self.start("server", **more)
        outputs = child.communicate(timeout=kit.TIMEOUT)[0]
        self.assertEqual(child.returncode, 0, outputs)
        self.assertEqual(again.wait(kit.TIMEOUT), 0)


class Words(unittest.TestCase):
    def test_keys(self):
        server = ps.ParameterServer.__new__(ps.ParameterServer)
        server._keys = {}
        self.assertEqual(server._key(5), 5)
        self.assertEqual(server._key("weights"), server._key("weights"))
        self.assertGreaterEqual(server._key("weights"), 2 ** 63)
        self.assertNotEqual(server._key("weights"), server._key("bias"))
        server._keys[server._key("weights")] = "other"
        with self.assertRaisesRegex(roundhouse.InvalidError, "have the same hash"):
            server._key("weights")

    def test_unknown_words(self):
        for more in ({"mode": "now"}, {"rule": "sgdd"}, {"durable": "yes"}):
            with self.assertRaisesRegex(roundhouse.InvalidError, "there are"):
                ps.serve(index=0, workers=1, host="127.0.0.1", **more)


kit.main()
