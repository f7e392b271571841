# SPDX-License-Identifier: Apache-2.0
"""What the tests of faults share: a real API server, controllers behind a proxy, and what has to be true afterwards.

Words of the command line: ROUNDHOUSE PLUGIN_DIR [--all] [unittest's words]. Without --all a few cases of each sort are
played.
"""
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402
from support import apiserver, wait_for  # noqa: E402

import life  # noqa: E402
import proxy  # noqa: E402
import audit  # noqa: E402
import reuse  # noqa: E402

ROUNDHOUSE, PLUGINS = sys.argv[1:3] if len(sys.argv) > 2 else ("roundhouse", "")
del sys.argv[1:3]
ALL = "--all" in sys.argv
if ALL:
    sys.argv.remove("--all")
# How many controllers run at once.
BATCH = 40
# A status that only counts anew is held back for less.
HELD_S = 0.5


class Case:
    """A job, its controller, and what goes wrong at which of the controller's calls."""

    def __init__(self, name, number, fault=None, kill=""):
        self.namespace = f"{name}-{number}"
        self.number, self.calls, self.hit = number, [], None
        self.fault, self.controller, self.killed, self.shift = fault, None, False, 0
        if kill:
            self.fault = proxy.Fault(f"kill-{kill}", reaches=kill == "after", ending="cut", then=self.kill)

    def kill(self):
        self.controller.process.kill()
        self.controller.process.wait()
        self.killed = True

    def judge(self, call):
        self.calls.append(str(call))
        if self.fault and len(self.calls) == self.number:
            self.hit = str(call)
            return self.fault
        return None

    def revive(self):
        if self.killed:
            self.killed = False
            self.controller.start()


class Field(unittest.TestCase):
    """An API server with our CRDs for all tests of a class, whose audit log is read."""
    maxDiff = None
    options = {}  # of the server

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.api = cls.enterClassContext(reuse.server(audit.Server, **cls.options))
        crds = subprocess.run([ROUNDHOUSE, "crds", "--plugins", PLUGINS], check=True, capture_output=True,
                              text=True).stdout
        cls.api.kubectl("apply", "--server-side", "-f", "-", text=crds)
        cls.api.wait_served()

    def kubeconfig(self, user="controller", url=None):
        url = url or self.api.url
        path = self.folder / f"{user}-{url.rpartition(':')[2]}.kubeconfig"
        if not path.exists():
            kept, self.api.url = self.api.url, url
            self.api.write_kubeconfig(path, {"token": self.api.tokens[user]})
            self.api.url = kept
        return path

    def controller(self, name, *flags, user="controller", url=None, environment=None):
        return support.Controller(ROUNDHOUSE, self.kubeconfig(user, url), self.folder, "--plugins", PLUGINS,
                                  "--enable-scheme=PyTorchJob", *flags, name=name, environment=environment)

    def events(self, namespace, users=("controller",)):
        """-> what these users wrote there, in the order in which it was done"""
        found = [e for user in users for e in self.api.writes(user) if e["objectRef"].get("namespace") == namespace]
        return sorted(found, key=lambda event: event["stageTimestamp"])

    def assert_idle(self, controller, revive=lambda: None):
        """Nothing waits, nothing is under way, nothing is tried again and again. revive() starts it again if it was
        killed: its last call may be one that nobody waits for, as that of an Event."""
        def idle():
            revive()
            return controller.is_idle()
        wait_for("idle", idle)

    def assert_untouched(self):
        """A controller that finds only jobs that have ended writes nothing."""
        before = len(self.api.writes())
        with self.controller("again", "--leader-elect=false") as again:
            self.assert_idle(again)
        self.assertEqual([audit.what(event) for event in self.api.writes()[before:]], [])

    # --- cases behind a proxy

    def play(self, cases, reference=None):
        """Play cases, some at once. -> what is wrong, in words"""
        wrong = []
        for at in range(0, len(cases), BATCH):
            wrong += self.play_batch({case.namespace: case for case in cases[at:at + BATCH]}, reference)
        return wrong

    def play_batch(self, cases, reference):
        director = life.Director(self.api)
        with proxy.Proxy(self.api, lambda call: cases[call.namespace].judge(call)) as between:
            try:
                for case in cases.values():
                    self.begin(case, director, between)
                director.play(lambda: [case.revive() for case in cases.values()])
                for case in cases.values():
                    self.assert_idle(case.controller, case.revive)
                time.sleep(HELD_S)
                for case in cases.values():
                    self.assert_idle(case.controller, case.revive)
                    case.controller.stop()
            except BaseException:
                self.show(cases, director)
                raise
            finally:
                for case in cases.values():
                    if case.controller:
                        case.controller.kill()
        wrong = [f"{case.namespace} ({case.hit}): {words}" for case in cases.values()
                 for words in director.lives[case.namespace].verdict(self.events(case.namespace), reference)]
        self.assert_untouched()
        for case in cases.values():
            case.status = audit.timeless(director.lives[case.namespace].last["status"])
        director.clear()
        return wrong

    def begin(self, case, director, between):
        """The job is there before its controller in every second case."""
        case.controller = self.controller(case.namespace, f"--namespace={case.namespace}", "--leader-elect=false",
                                          url=between.url)
        one = director.add(case.namespace)
        if case.number % 2:
            one.begin()
        case.controller.start()
        if not case.number % 2:
            one.begin()

    def show(self, cases, director):
        for case in cases.values():
            if case.namespace in director.lives and not director.lives[case.namespace].done and case.controller:
                print(f"--- {case.namespace}: {case.hit}\n{case.controller.text()[-3000:]}\n"
                      + "\n".join(case.calls[-30:]), file=sys.stderr)


def main():
    apiserver.skip_without_assets()
    unittest.main()
