#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_storms.py ROUNDHOUSE PLUGIN_DIR [--all] [unittest's words]: many jobs at once while servers, connections and
controllers die, on a real API server. Its audit log says what was really done.
"""
import contextlib
import functools
import itertools
import os
import pathlib
import signal
import threading
import time
import unittest

import field
import life
import proxy
import audit
from support import wait_for

JOBS = 60 if field.ALL else 12
# Beyond the end of a Lease, after which another instance takes it.
ASLEEP_S = 25
# Of what waits for an event that always comes.
PATIENCE_S = 120
# Of two controllers, one of which falls.
LIVES = 4
STOP = pathlib.Path(field.PLUGINS) / "preload" / "stop.so"


class Storm(field.Field):
    """Many lives, one controller."""

    def lives(self, name):
        director = life.Director(self.api)
        for number in range(JOBS):
            director.add(f"{name}-{number}").begin()
        return director

    def judge(self, director, exact=True, users=("controller",)):
        """All lives went as they have to."""
        wrong = [f"{namespace}: {words}" for namespace, one in director.lives.items()
                 for words in one.verdict(self.events(namespace, users), exact=exact)]
        self.assertEqual(wrong, [])
        self.assert_untouched()
        director.clear()

    def storm(self, name, *blows, exact=True, url=None):
        with self.controller(name, "--leader-elect=false", url=url) as controller:
            director = self.lives(name)
            director.strike(blows)
            self.assert_idle(controller)
            # a watch that has just been broken once more is one, for a moment
            wait_for("no problem", lambda: controller.state()["problems"] == [])
        self.judge(director, exact)

    def test_server_is_killed(self):
        """What a server did in its last moment may be missing in its log; nothing may be there twice."""
        self.storm("server", *[lambda: self.api.restart("kube-apiserver", signal.SIGKILL)] * (3 if field.ALL else 1),
                   exact=False)

    def test_store_is_killed(self):
        self.storm("store", *[lambda: self.api.restart("etcd", signal.SIGKILL)] * (3 if field.ALL else 1), exact=False)

    def test_server_is_away(self):
        """Long enough for everything to fail several times."""
        def away():
            self.api.stop("kube-apiserver", signal.SIGKILL)
            time.sleep(8)
            self.api.start("kube-apiserver")
        self.storm("away", away, exact=False)

    def test_connections_are_cut(self):
        """HTTP/2: all that is under way on a connection goes with it, after a random count of bytes. What the server
        has done for a client that is gone may stand in its log as a failure."""
        for seed in range(4 if field.ALL else 1):
            with self.subTest(seed=seed), proxy.Cutter(self.api, seed, limit=8) as cutter:
                self.storm(f"cut-{seed}", exact=False, url=cutter.url)
                self.assertGreater(cutter.cuts, 2)

    def test_random_faults(self):
        """Every tenth call goes wrong, in all ways but silence."""
        names = [name for name in proxy.FAULTS if not name.startswith("silence")]
        for seed in range(3 if field.ALL else 1):
            with self.subTest(seed=seed):
                judge = Dice(seed, [proxy.FAULTS[name] for name in names])
                with proxy.Proxy(self.api, judge.ask) as between:
                    self.storm(f"dice-{seed}", url=between.url)
                self.assertGreater(judge.thrown, JOBS // 2)

    def test_controller_is_killed(self):
        """Again and again, at any moment."""
        controller = self.controller("killed", "--leader-elect=false")
        controller.start()
        try:
            director = self.lives("killed")

            def kill():
                controller.kill()
                controller.start()
            director.strike([kill] * (12 if field.ALL else 4))
            self.assert_idle(controller)
            controller.stop()
        finally:
            controller.kill()
        self.judge(director, exact=False)


class Dice:
    """Picks faults by a seed; which call gets which depends on the order in which they come."""

    def __init__(self, seed, faults):
        self.random, self.faults, self.thrown = proxy.random.Random(seed), faults, 0

    def ask(self, _call):
        if self.random.random() < 0.1:
            self.thrown += 1
            return self.random.choice(self.faults)
        return None


class Leaders(field.Field):
    """Two controllers, each with a name of its own in the audit log."""

    def lead(self, controller):
        wait_for("it works", lambda: controller.get("/healthz")[0] == 200 and controller.get("/readyz")[0] == 200
                 and controller.state()["state"] == "working")

    def assert_one_after_the_other(self, namespaces):
        """-> no write of the first comes after one of the other"""
        writes = sorted(((e["stageTimestamp"], user) for user in ("controller", "other") for name in namespaces
                         for e in self.events(name, [user])))
        users = [user for _, user in writes]
        self.assertEqual(users, sorted(users))
        self.assertEqual(set(users), {"controller", "other"})

    def play(self, name, blow, url=None, environment=None):
        self.awake = threading.Event()
        first = self.controller(f"{name}-first", url=url, environment=environment)
        other = self.controller(f"{name}-other", user="other")
        director = life.Director(self.api)
        try:
            first.start()
            self.lead(first)
            other.start()
            wait_for("standby", lambda: other.get("/readyz")[0] == 200)
            for number in range(LIVES):
                director.add(f"{name}-{number}").begin()
            fallen = []

            def each():
                if not fallen and any(one.step == 1 for one in director.lives.values()):
                    fallen.append(blow(first))
            director.play(each)
            self.assertEqual(other.state()["state"], "working")
            self.assert_idle(other)
            self.assert_end_of(first)
            # what the server did for the dead one may stand in its log as a failure
            wrong = [words for namespace, one in director.lives.items()
                     for words in one.verdict(self.events(namespace, ("controller", "other")), exact=False)]
            self.assertEqual(wrong, [])
            self.assert_one_after_the_other(list(director.lives))
            other.stop()
        finally:
            first.kill()
            other.kill()
        director.clear()

    def assert_end_of(self, first):
        """One that wakes up again finds that its time is over, and ends without a word to the server."""
        if first.process.poll() is None:
            self.awake.set()
            os.kill(first.process.pid, signal.SIGCONT)
            self.assertEqual(first.wait(), 1)
            self.assertIn("was lost", first.text())

    def test_one_of_two_is_killed_in_a_burst(self):
        """Started at once, and many jobs come at once: whoever works dies with much under way, and the other makes up
        for it."""
        users, fallen, made = ("controller", "other"), [], itertools.count(1)
        two = {}

        def judge(user, call):
            if not fallen and call.method == "POST" and call.path.endswith("/pods") and next(made) == JOBS:
                fallen.append(user)
                return proxy.Fault("kill", reaches=True, ending="cut", then=two[user].kill)
            return None
        with contextlib.ExitStack() as stack:
            for user in users:
                between = stack.enter_context(proxy.Proxy(self.api, functools.partial(judge, user)))
                two[user] = self.controller(f"burst-{user}", user=user, url=between.url)
                stack.callback(two[user].kill)
            director = life.Director(self.api)
            for number in range(JOBS):
                director.add(f"burst-{number}").begin()
            for one in two.values():
                one.start()
            director.play()
            (left,) = set(users) - set(fallen)
            self.assertEqual(two[left].state()["state"], "working")
            self.assert_idle(two[left])
            # what the server did for the dead one may stand in its log as a failure
            wrong = [f"{namespace}: {words}" for namespace, one in director.lives.items()
                     for words in one.verdict(self.events(namespace, users), exact=False)]
            self.assertEqual(wrong, [])
            two[left].stop()
        director.clear()

    def test_lease_is_lost_in_the_middle_of_writes(self):
        """The Lease cannot be renewed while creates are under way, and these come to the server when another works
        already."""
        lost, other_works = threading.Event(), threading.Event()

        def judge(call):
            if call.method == "POST" and call.path.endswith("/pods"):
                lost.set()
                other_works.wait(PATIENCE_S)
            return proxy.FAULTS["silence-before"] if lost.is_set() and "/leases" in call.path else None
        director = life.Director(self.api)
        with contextlib.ExitStack() as stack:
            between = stack.enter_context(proxy.Proxy(self.api, judge))
            stack.callback(other_works.set)
            first, other = self.controller("renews-first", url=between.url), self.controller("renews-other",
                                                                                             user="other")
            for one in (first, other):
                stack.callback(one.kill)
            first.start()
            self.lead(first)
            other.start()
            wait_for("standby", lambda: other.get("/readyz")[0] == 200)
            for number in range(4):
                director.add(f"renews-{number}").begin()
            self.assertEqual(first.wait(), 1)
            self.assertIn("was lost", first.text())
            self.lead(other)
            other_works.set()
            director.play()
            self.assert_idle(other)
            # whose create comes first is chance; the other one gets AlreadyExists
            wrong = [f"{namespace}: {words}" for namespace, one in director.lives.items()
                     for words in one.verdict(self.events(namespace, ("controller", "other")), exact=False)]
            self.assertEqual(wrong, [])
            other.stop()
        director.clear()

    def test_leader_is_killed(self):
        self.play("killed", lambda first: first.kill())

    def test_leader_sleeps(self):
        """Stopped as a whole, as a machine that hangs, while it has much to do; then it wakes up."""
        self.play("asleep", lambda first: os.kill(first.process.pid, signal.SIGSTOP))

    @unittest.skipUnless(STOP.exists(), "a sanitizer's library has to be the first one that is loaded")
    def test_leader_sleeps_with_a_create_in_its_hands(self):
        """Stopped in a turn of its loop, when it has looked at its Lease and libcurl has the create of a pod; what it
        was about to send does not come when it wakes up."""
        left, late = self.folder / "stop", []

        def judge(call):
            # what had left the process before it was stopped comes while it sleeps
            if call.method != "GET" and self.awake.is_set():
                late.append(str(call))
        left.write_bytes(b"." * (LIVES * 3 + 1))  # the first of those that are created again, or one before it
        with proxy.Proxy(self.api, judge) as between:
            self.play("sends", lambda first: None, between.url,
                      {"LD_PRELOAD": str(STOP), "RH_TEST_STOP": str(left)})
            self.assertEqual(left.read_bytes(), b"")
        self.assertEqual(late, [])


class Moody(field.Field):
    """A plugin that fails for one job."""
    PATH = "/apis/example.org/v1/namespaces/moody/moodyjobs"

    def test_plugin_fails(self):
        """The plugin's words reach the user, other jobs go on, and the job goes on as soon as the plugin lets it."""
        director = life.Director(self.api)
        with self.controller("moody", "--enable-scheme=MoodyJob", "--leader-elect=false") as controller:
            one = director.add("moody")
            peers = {"replicas": 2, "template": {"spec": {"containers": [{"name": "moody", "image": "i:1"}]}}}
            director.ask("POST", self.PATH, {"apiVersion": "example.org/v1", "kind": "MoodyJob",
                                             "metadata": {"name": "m"}, "spec": {"moodyReplicaSpecs": {"Peer": peers}}})
            wait_for("the plugin's words", lambda: "not with two" in self.api.kubectl("describe", "moodyjob", "m", "-n",
                                                                                      "moody").stdout)
            one.begin()
            director.play()
            self.assertEqual(one.verdict([e for e in self.events("moody") if self.is_of_life(e)]), [])
            self.assertEqual(list(self.made()), ["m-peer-0"])
            director.ask("PATCH", f"{self.PATH}/m", {"spec": {"moodyReplicaSpecs": {"Peer": {"replicas": 3}}}})
            wait_for("pods", lambda: len(self.made()) == 3)
            self.assertEqual(set(self.made().values()), {1})
            self.assert_idle(controller)

    def is_of_life(self, event):
        return event["objectRef"].get("name", "").startswith("life")

    def made(self):
        return {name: number for name, number in audit.count(self.events("moody"), "create", "pods").items()
                if name.startswith("m-")}


if __name__ == "__main__":
    field.main()
