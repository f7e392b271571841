#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_election.py ROUNDHOUSE PLUGIN_DIR [--all] [unittest's words]: two controllers with the rights of `roundhouse
manifests`, and elections in which an answer fails or the rights go and come, on a real API server.

Jobs come all the time, so whoever works writes. The API server's audit log says that all writes are those of who holds
the Lease.
"""
import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import field
import proxy
import audit
from support import wait_for

USERS = ("controller", "other")
RIGHTS = {"Role", "RoleBinding"}
BINDING = "roundhouse-leader-election"
# How many elections are held at once, each of two controllers.
BATCH = 7
# Between two jobs, seconds.
PACE_S = 0.3
AWAY_S = 180
# A holder that cannot renew goes on for ten seconds (kube/lease); with some to spare.
HOLDER_S = 8


def late(seconds):
    """A request comes to the server, but so much later; after 5 s nobody waits for it."""
    return functools.partial(time.sleep, seconds)


# By name: a Fault, or what is done before the request goes on.
FAULTS = {
    "403": proxy.Fault("forbidden", 403, "Forbidden"), "429": proxy.FAULTS["busy"], "500": proxy.FAULTS["error"],
    "500-done": proxy.FAULTS["error-after"], "lost": proxy.FAULTS["cut-before"], "lost-done": proxy.FAULTS["cut-after"],
    "silence": proxy.FAULTS["silence-before"], "silence-done": proxy.FAULTS["silence-after"], "late-3": late(3),
    "late-12": late(12)}


class Position:
    """Which of the requests about the Lease it is: of whom, and the how many-th of those that match."""

    def __init__(self, name, user, number, matches=lambda call: True):
        self.name, self.user, self.number, self.matches = name, user, number, matches


def gives_up(call):
    return call.method == "PUT" and json.loads(call.body)["spec"]["holderIdentity"] == ""


def takes(call):
    return call.method != "GET" and not gives_up(call)


POSITIONS = [
    Position("first-look", "controller", 1), Position("create", "controller", 1, takes),
    Position("renewal", "controller", 2, takes), Position("later-renewal", "controller", 3, takes),
    Position("release", "controller", 1, gives_up),
    Position("other-first-look", "other", 1), Position("other-look", "other", 3),
    Position("other-takes", "other", 1, takes), Position("other-renews", "other", 2, takes)]


class Election:
    """Two controllers with a namespace and a Lease of their own."""

    def __init__(self, name):
        self.namespace, self.jobs, self.two = name, 0, {}


class Case(Election):
    """An election in which one answer fails."""

    def __init__(self, position, fault):
        super().__init__(f"{position.name}-{fault}")
        self.position, self.fault, self.seen, self.hit = position, FAULTS[fault], 0, False
        self.lock = threading.Lock()

    def judge(self, user, call):
        if "/leases" not in call.path or user != self.position.user or not self.position.matches(call):
            return None
        with self.lock:
            self.seen += 1
            if self.seen != self.position.number:
                return None
            self.hit = True
        if isinstance(self.fault, proxy.Fault):
            return self.fault
        self.fault()
        return None


class Elections(field.Field):
    options = {"groups": []}

    def ask(self, method, path, body, good):
        status, text = self.api.request(method, path, json.dumps(body))
        self.assertIn(status, good, text)

    def manifests(self, namespace):
        """-> what the manifests grant in the namespace, for our two users"""
        done = subprocess.run([field.ROUNDHOUSE, "manifests", "--namespaced", f"--namespace={namespace}",
                               "--without-crds", "-o", "json"],
                              check=True, capture_output=True, text=True)
        objects = [item for item in json.loads(done.stdout)["items"] if item["kind"] in RIGHTS]
        for item in objects:
            if item["kind"] == "RoleBinding":
                item["subjects"] = [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}
                                    for user in USERS]
        return objects

    def install(self, election, urls=None):
        """Namespace, rights and controllers, not started yet."""
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": election.namespace}}, (201,))
        self.grant(self.manifests(election.namespace))
        for user in USERS:
            election.two[user] = self.controller(
                f"{election.namespace}-{user}", f"--namespace={election.namespace}",
                f"--leader-election-namespace={election.namespace}", user=user, url=(urls or {}).get(user))
            self.addCleanup(election.two[user].kill)

    def grant(self, objects):
        self.api.kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def feed(self, *elections):
        """One job for each, and time for what comes of it."""
        for election in elections:
            election.jobs += 1
            template = {"spec": {"containers": [{"name": "pytorch", "image": "i:1"}]}}
            self.ask("POST", f"/apis/kubeflow.org/v1/namespaces/{election.namespace}/pytorchjobs",
                     {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
                      "metadata": {"name": f"job-{election.jobs}"},
                      "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 1, "template": template}}}}, (201,))
        time.sleep(PACE_S)

    def feed_until(self, what, ask, *elections):
        """Jobs come until the answer is true."""
        def fed():
            self.feed(*elections)
            return ask()
        return wait_for(what, fed)

    def feed_for(self, seconds, *elections):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.feed(*elections)

    def works(self, controller):
        status, text = controller.get("/debug/state")
        return status == 200 and json.loads(text)["state"] == "working"

    def working(self, election):
        """-> the user whose controller works, or None"""
        users = [user for user in USERS if self.works(election.two[user])]
        self.assertLess(len(users), 2, f"{election.namespace}: two at work")
        return users[0] if users else None

    def witnessed(self, election):
        """-> what the audit log has against it"""
        events = [event for event in self.api.attempts() if event["objectRef"].get("namespace") == election.namespace]
        wrong = audit.trespasses(events, USERS)
        return [f"{election.namespace}: {words}" for words in wrong[:5]]

    def begin(self, name, urls=None):
        """-> (election, who works, the other); both are there"""
        election = Election(name)
        self.install(election, urls)
        election.two["controller"].start()
        wait_for("it works", lambda: self.works(election.two["controller"]))
        election.two["other"].start()
        election.two["other"].wait_ready()
        self.assertEqual(self.working(election), "controller")
        return election, election.two["controller"], election.two["other"]

    # --- rights

    def take_away(self, election):
        self.api.kubectl("delete", "rolebinding", BINDING, "-n", election.namespace)

    def give_back(self, election):
        self.grant([item for item in self.manifests(election.namespace) if item["metadata"]["name"] == BINDING])

    def test_rights_go_for_a_moment(self):
        """For four seconds: the holder goes on, and the other waits. On a busy machine it may be as long as a holder
        may go on."""
        election, first, other = self.begin("moment")
        began = time.monotonic()
        self.take_away(election)
        self.feed_until("it is seen", lambda: "cannot read or write the Lease" in other.text(), election)
        self.feed_for(4, election)
        self.give_back(election)
        self.feed_until("it is over", lambda: "can be read and written again" in other.text(), election)
        short = time.monotonic() - began < HOLDER_S
        self.feed_for(5, election)
        if short:
            self.assertEqual(self.working(election), "controller")
        else:
            self.feed_until("one works", lambda: self.working(election), election)
        self.assertNotIn("NO LEADER ELECTION", first.text() + other.text())
        self.assertEqual(self.witnessed(election), [])
        first.stop()
        self.feed_until("the other works", lambda: self.working(election) == "other", election)
        other.stop()
        self.assertEqual(self.witnessed(election), [])

    def test_rights_go_for_long(self):
        """The holder ends, is started anew, and works without a Lease, which the other never does; it ends as soon as
        the Lease can be read, and the other waits for as long as that may take."""
        election, first, other = self.begin("long")
        self.take_away(election)
        self.feed_until("it ends", lambda: first.process.poll() is not None, election)
        self.assertEqual(first.wait(), 1)
        self.assertIn("was lost", first.text())
        first.start()
        first.wait_for_log("THERE IS NO LEADER ELECTION")
        self.feed_until("it works", lambda: self.working(election) == "controller", election)
        self.feed_for(3, election)
        self.give_back(election)
        self.feed_until("it ends again", lambda: first.process.poll() is not None, election)
        self.assertEqual(first.wait(), 1)
        self.assertIn("it is held by", first.text())
        first.start()
        self.feed_until("one works", lambda: self.working(election), election)
        self.feed_for(3, election)
        self.assertEqual(self.witnessed(election), [])
        for one in (first, other):
            one.stop()

    def test_rights_come_later(self):
        """Two that start without rights cannot know of each other, and say so; with the rights one of them ends."""
        election = Election("later")
        self.install(election)
        self.take_away(election)
        for one in election.two.values():
            one.start()
        for one in election.two.values():
            one.wait_for_log("THERE IS NO LEADER ELECTION")
        self.give_back(election)
        wait_for("one ends", lambda: any(one.process.poll() is not None for one in election.two.values()))
        (ended,) = [user for user in USERS if election.two[user].process.poll() is not None]
        self.assertIn("was lost", election.two[ended].text())
        self.assertNotEqual(self.working(election), ended)
        election.two[ended].start()
        election.two[ended].wait_ready()
        self.feed_for(3, election)
        self.assertNotEqual(self.working(election), ended)
        for one in election.two.values():
            one.stop()

    # --- the end

    def test_ends_with_requests_in_flight(self):
        """What was sent and not answered may still be done, so the Lease is not given back: the other waits until it
        has run out."""
        holds = threading.Event()

        def judge(call):
            return (proxy.FAULTS["silence-before"] if holds.is_set() and call.path.endswith("/pods")
                    and call.method == "POST" else None)
        with proxy.Proxy(self.api, judge) as between:
            election, first, other = self.begin("unfinished", {"controller": between.url})
            holds.set()
            self.feed(election)
            wait_for("a request in flight", lambda: first.state()["store"]["inFlight"] > 0)
            first.process.terminate()
            self.assertEqual(first.wait(), 0)
        leases = f"/apis/coordination.k8s.io/v1/namespaces/{election.namespace}/leases"
        (lease,) = json.loads(self.api.get(leases))["items"]
        self.assertNotEqual(lease["spec"]["holderIdentity"], "")
        self.feed_until("the other works", lambda: self.working(election) == "other", election)
        self.feed_for(3, election)
        self.assertEqual(self.witnessed(election), [])
        other.stop()

    @unittest.skipUnless(field.ALL, "three minutes")
    def test_server_is_away(self):
        """The holder ends and is started anew; when the server is back, one of the two works again."""
        election, first, other = self.begin("away")
        self.feed_for(2, election)
        self.api.stop("kube-apiserver", signal.SIGKILL)
        self.assertEqual(first.wait(), 1)
        first.start()
        # longer than a lease is valid
        time.sleep(AWAY_S)
        for one in (first, other):
            one.assert_alive()
            self.assertEqual(one.get("/healthz")[0], 200)
            self.assertFalse(self.works(one))
        self.api.start("kube-apiserver")
        back = time.monotonic()
        self.feed_until("one works", lambda: self.working(election), election)
        print(f"the server was away for {AWAY_S} s; one works {time.monotonic() - back:.1f} s after it is back",
              file=sys.stderr)
        self.feed_for(5, election)
        self.assertEqual(self.witnessed(election), [])
        for one in (first, other):
            one.stop()

    # --- answers

    def test_one_answer(self):
        """Each fault at each position, with a hand-over at the end."""
        cases = [Case(position, fault) for position in POSITIONS for fault in FAULTS]
        if not field.ALL:
            # the one that the finding is about, and others by chance
            chosen = [case for case in cases if case.namespace == "other-look-403"]
            cases = chosen + [case for case in cases[os.getpid() % 15::15] if case not in chosen]
        for at in range(0, len(cases), BATCH):
            self.play(cases[at:at + BATCH])

    def judge(self, cases, user, call):
        return cases[call.namespace].judge(user, call) if call.namespace in cases else None

    def play(self, cases):
        named = {case.namespace: case for case in cases}
        with contextlib.ExitStack() as stack:
            urls = {user: stack.enter_context(proxy.Proxy(self.api, functools.partial(self.judge, named, user))).url
                    for user in USERS}
            for case in cases:
                self.install(case, urls)
                case.two["controller"].start()
            self.feed_until("first ones work", lambda: all(self.working(case) or case.two["controller"].assert_alive()
                                                           for case in cases),
                            *cases)
            for case in cases:
                case.two["other"].start()
            for case in cases:
                case.two["other"].wait_ready()
            self.feed_for(12, *cases)
            for case in cases:
                case.two["controller"].process.terminate()
            self.feed_until("others work", lambda: all(self.working(case) == "other" or case.two["other"].assert_alive()
                                                       for case in cases), *cases)
            self.feed_for(5, *cases)
            self.assertEqual([case.namespace for case in cases if not case.hit], [])
            for case in cases:
                self.assertEqual(case.two["controller"].wait(), 0, case.namespace)
                case.two["other"].stop()
        self.assertEqual([words for case in cases for words in self.witnessed(case)], [])


if __name__ == "__main__":
    field.main()
