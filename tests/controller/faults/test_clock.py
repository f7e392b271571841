#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_clock.py ROUNDHOUSE PLUGIN_DIR [unittest's words]: the clock of the controller's machine is set while jobs run,
on a real API server whose clock is right. Nothing may be made twice or end before its time, and the controller goes on
by itself.
"""
import base64
import functools
import json
import pathlib
import signal
import socket
import ssl
import time

import field
import life
import support
import audit
from support import wait_for

HOUR_S, DAY_S = 3600, 86400
SWAPPED = "validator.training-operator.kubeflow.org"


class Clock:
    """The clock of one controller. Attributes: environment, for the program that is to have it."""

    def __init__(self, folder, name):
        self.path = folder / f"{name}.clock"
        self.environment = {"LD_PRELOAD": str(pathlib.Path(field.PLUGINS) / "preload" / "clock.so"),
                            "RH_TEST_CLOCK": str(self.path)}
        self.set(0)

    def set(self, wall_s, asleep_s=0):
        """It is so much ahead of the machine's, and has run for so much longer than the program was awake."""
        new = self.path.with_suffix(".new")
        new.write_text(f"{wall_s} {asleep_s}")
        new.rename(self.path)


class WithClock(field.Field):
    """Controllers with clocks of their own."""

    def run_with_clock(self, name, *flags, **options):
        """-> (clock, controller); the controller is not started"""
        clock = Clock(self.folder, name)
        return clock, self.controller(name, *flags, environment=clock.environment, **options)

    def set(self, clock, controller, wall_s):
        """Set the clock, and wait until the controller has seen that; it may sleep, so something happens."""
        before = controller.text().count("the clock was set")
        clock.set(wall_s)
        self.nudge()
        wait_for("it is seen", lambda: controller.text().count("the clock was set") > before
                 or controller.assert_alive())

    def nudge(self):
        """A job that comes and has nothing to do."""
        self.api.request("POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": "nudge"}}))
        body = life.job("nudge", suspend=True)
        body["metadata"] = {"generateName": "nudge-", "namespace": "nudge"}
        self.assertEqual(self.api.request("POST", f"{life.GROUP}/namespaces/nudge/pytorchjobs", json.dumps(body))[0],
                         201)

    def status(self, namespace):
        status, text = self.api.request("GET", f"{life.GROUP}/namespaces/{namespace}/pytorchjobs/life")
        return json.loads(text).get("status", {}) if status == 200 else None

    def conditions(self, namespace):
        return audit.conditions(self.status(namespace))

    def start_all(self, director, one):
        """Until the job runs."""
        def started():
            seen = director.look().get(one.namespace)
            return seen and one.start_all(seen[1]) and self.conditions(one.namespace).get("Running") == "True"
        wait_for("it runs", started)


class Clocks(WithClock):
    """One controller."""

    def test_lives(self):
        """Jobs go on while the clock is set forward and back; those that have ended stay until their time comes."""
        clock, controller = self.run_with_clock("lives", "--leader-elect=false")
        director = life.Director(self.api)
        with controller:
            for number in range(6):
                director.add(f"lives-{number}", activeDeadlineSeconds=1800, ttlSecondsAfterFinished=HOUR_S // 2).begin()
            director.strike([functools.partial(self.set, clock, controller, wall_s)
                             for wall_s in (HOUR_S, -HOUR_S, 0, 2 * HOUR_S, 0, -DAY_S, DAY_S)])
            self.assert_idle(controller)
            # what was under way when the clock was set back is given up, and may stand in the server's log as a failure
            wrong = [f"{namespace}: {words}" for namespace, one in director.lives.items()
                     for words in one.verdict(self.events(namespace), exact=False)]
            self.assertEqual(wrong, [])
            wait_for("no problem", lambda: controller.state()["problems"] == [])
        self.assertEqual({n: c for n in director.lives if (c := self.conditions(n)).get("Succeeded") != "True"}, {})
        director.clear()

    def test_time_to_live(self):
        """What has ended is kept for as long as it was to be; who starts on a wrong clock has nothing but that."""
        clock, controller = self.run_with_clock("ttl", "--leader-elect=false")
        director = life.Director(self.api)
        with controller:
            director.add("ttl", ttlSecondsAfterFinished=HOUR_S).begin()
            director.play()
            self.set(clock, controller, 2 * HOUR_S)
            self.set(clock, controller, 0)
            self.set(clock, controller, 2 * HOUR_S)
            self.assert_idle(controller)
            self.assertEqual(self.conditions("ttl").get("Succeeded"), "True")
        with controller:
            wait_for("it is gone", lambda: self.status("ttl") is None)

    def test_deadline(self):
        """A job ends when it has lasted so long, whatever the clock says meanwhile."""
        clock, controller = self.run_with_clock("deadline", "--leader-elect=false")
        director = life.Director(self.api)
        with controller:
            long = director.add("long", activeDeadlineSeconds=1800)
            short = director.add("short", activeDeadlineSeconds=20)
            for one in (long, short):
                one.begin()
                self.start_all(director, one)
            self.set(clock, controller, HOUR_S)
            wait_for("the short one fails", lambda: self.conditions("short").get("Failed") == "True")
            self.assertGreaterEqual(self.lasted("short"), 19)
            late = director.add("late", activeDeadlineSeconds=3)
            late.begin()
            wait_for("one of the new time fails", lambda: self.conditions("late").get("Failed") == "True")
            self.set(clock, controller, 0)
            self.assertEqual(self.conditions("long").get("Running"), "True")
            self.assertNotIn("Failed", self.conditions("long"))
            self.assert_idle(controller)
        director.clear()

    def lasted(self, namespace):
        """-> seconds by the server's clock from the first status until that which says Failed"""
        times = {}
        for event in self.events(namespace):
            if event["objectRef"].get("subresource") == "status":
                failed = audit.conditions(event["responseObject"]["status"]).get("Failed") == "True"
                times.setdefault(failed, when(event["requestReceivedTimestamp"]))
        return times[True] - times[False]

    def test_refused_creates_are_tried_again(self):
        """What waits for a time is not forgotten when that time is far away all at once."""
        clock, controller = self.run_with_clock("refused", "--leader-elect=false")
        director = life.Director(self.api)
        with controller:
            one = director.add("refused")
            quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"},
                     "spec": {"hard": {"pods": "0"}}}
            director.ask("POST", "/api/v1/namespaces/refused/resourcequotas", quota)
            director.ask("PATCH", "/api/v1/namespaces/refused/resourcequotas/none/status",
                         {"status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}})
            one.begin()
            wait_for("stalled", lambda: self.conditions("refused").get("Stalled") == "True")
            self.set(clock, controller, -30 * DAY_S)
            director.ask("DELETE", "/api/v1/namespaces/refused/resourcequotas/none")
            director.play()
            self.assertEqual(one.verdict(self.events("refused"), exact=False), [])
            self.assert_idle(controller)
        director.clear()

    def test_server_seems_expired(self):
        """The clock is beyond the certificate of the server, and the server is started again: until it is set right,
        nothing can be done, and then all goes on."""
        clock, controller = self.run_with_clock("expired", "--leader-elect=false")
        director = life.Director(self.api)
        with controller:
            one = director.add("expired")
            one.begin()
            self.start_all(director, one)
            self.set(clock, controller, 400 * DAY_S)
            self.api.restart("kube-apiserver", signal.SIGKILL)
            wait_for("no connection", lambda: any("expired" in p["message"] for p in controller.state()["problems"]))
            self.assertEqual(controller.get("/healthz")[0], 200)
            clock.set(0)
            director.play()
            self.assertEqual(one.verdict(self.events("expired"), exact=False), [])
            self.assert_idle(controller)
        director.clear()


class Webhooks(WithClock):
    """The certificate of V1's webhooks, which the controller looks after."""

    def install(self):
        self.port = support.apiserver.free_ports(1)[0]
        hook = {"name": "validator.pytorchjob.training-operator.kubeflow.org", "sideEffects": "None",
                "failurePolicy": "Fail", "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": {"name": "training-operator", "namespace": "swap", "port": self.port,
                                             "path": "/validate-kubeflow-org-v1-pytorchjob"}},
                "rules": [{"apiGroups": ["kubeflow.org"], "apiVersions": ["v1"], "operations": ["CREATE"],
                           "resources": ["pytorchjobs"]}],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "swap"}}}
        objects = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "swap"}},
                   {"apiVersion": "v1", "kind": "Secret",
                    "metadata": {"name": "training-operator-webhook-cert", "namespace": "swap"}},
                   {"apiVersion": "v1", "kind": "Service",
                    "metadata": {"name": "training-operator", "namespace": "swap"},
                    "spec": {"type": "ExternalName", "externalName": "localhost"}},
                   {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                    "metadata": {"name": SWAPPED}, "webhooks": [hook]}]
        self.api.kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def test_certificate(self):
        """One that was made by a wrong clock is not valid yet by the right one, and is replaced as soon as that is
        there."""
        self.install()
        (self.folder / "certificates").mkdir()
        clock, controller = self.run_with_clock("webhooks", "--leader-elect=false")
        controller.environment["MY_POD_NAMESPACE"] = "swap"
        controller.command += [f"--webhook-server-port={self.port}",
                               f"--webhook-cert-dir={self.folder / 'certificates'}"]
        with controller:
            for at, wall_s in enumerate((None, 400 * DAY_S, 0)):
                if wall_s is not None:
                    self.set(clock, controller, wall_s)
                wait_for("a new certificate", lambda: controller.text().count("a new certificate was put") > at)
                wait_for(f"clock {wall_s}", lambda: ("not yet valid" if wall_s else "valid") == self.served())
                if not wall_s:
                    wait_for("accepted", lambda: self.answer() == "accepted")
        self.api.kubectl("delete", "validatingwebhookconfiguration", SWAPPED)

    def served(self):
        """-> what somebody who connects now says of the certificate; the API server keeps its connection, and goes
        on"""
        _, text = self.api.request(
            "GET", f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{SWAPPED}")
        bundle = json.loads(text)["webhooks"][0]["clientConfig"].get("caBundle", "")
        try:
            context = ssl.create_default_context(cadata=base64.b64decode(bundle).decode())
            with socket.create_connection(("127.0.0.1", self.port), timeout=180) as plain, \
                    context.wrap_socket(plain, server_hostname="training-operator.swap.svc"):
                return "valid"
        except ssl.SSLCertVerificationError as error:
            return "not yet valid" if "not yet valid" in error.verify_message else error.verify_message
        except (OSError, ValueError) as error:
            return str(error)

    def answer(self):
        """-> what becomes of a job that is only tried; all are refused while the webhook cannot be asked"""
        status, text = self.api.request("POST", f"{life.GROUP}/namespaces/swap/pytorchjobs?dryRun=All",
                                        json.dumps(life.job("swap")))
        return "accepted" if status == 201 else text.decode()


class Election(WithClock):
    """Two controllers, each with a clock of its own."""
    LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases"

    def lease(self):
        (lease,) = json.loads(self.api.get(self.LEASE))["items"]
        return lease["spec"]

    def wait_renewed(self, times=2):
        for _ in range(times):
            renewed = self.lease()["renewTime"]
            wait_for("renewed", lambda: self.lease()["renewTime"] != renewed)

    def test_election(self):
        """Only what runs on matters to a Lease: neither a leader nor who waits minds a clock that is set. Who has slept
        for longer than a Lease lasts has lost it, though its program did not notice."""
        clock, first = self.run_with_clock("first")
        other_clock, other = self.run_with_clock("other", user="other")
        director = life.Director(self.api)
        with other, first:
            self.assertEqual({first.state()["state"], other.state()["state"]} - {"working", "standby"}, set())
            wait_for("one works", lambda: "working" in (first.state()["state"], other.state()["state"]))
            if other.state()["state"] == "working":
                clock, first, other_clock, other = other_clock, other, clock, first
            holder = self.lease()["holderIdentity"]
            for wall_s in (HOUR_S, -HOUR_S, 0):
                self.set(clock, first, wall_s)
                self.set(other_clock, other, -wall_s)
                self.wait_renewed()
            self.assertEqual((self.lease()["holderIdentity"], self.lease().get("leaseTransitions", 0)), (holder, 0))
            one = director.add("election")
            one.begin()
            self.start_all(director, one)
            clock.set(60, 60)
            self.assertEqual(first.wait(), 1)
            self.assertIn("was lost", first.text())
            first.start()
            director.play()
            self.assertEqual(one.verdict(self.events("election", ("controller", "other")), exact=False), [])
            self.assertNotEqual(self.lease()["holderIdentity"], holder)
        director.clear()


def when(text):
    """-> seconds since the epoch of a time in the audit log"""
    whole, _, fraction = text.rstrip("Z").partition(".")
    return time.mktime(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float("0." + (fraction or "0"))


if __name__ == "__main__":
    field.main()
