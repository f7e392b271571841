#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_faults.py ROUNDHOUSE PLUGIN_DIR [--all] [unittest's words]: faults at every call of a job's life, on a real API
server.

Every case is a job in a namespace of its own, with a controller of its own behind a proxy that does one thing wrong.
The API server's audit log says what was really done.
"""
import os
import unittest

import field
import proxy


class Faults(field.Field):
    """One fault in each life."""
    reference = quiet = None

    def measure(self):
        """How a life without faults ends, and how many calls it takes."""
        if not Faults.reference:
            quiet = field.Case("quiet", 1)
            self.assertEqual(self.play([quiet]), [])
            Faults.reference, Faults.quiet = quiet.status, quiet.calls
        return Faults.reference, range(1, len(Faults.quiet) + 1)

    def check(self, make):
        reference, numbers = self.measure()
        cases = [case for number in numbers for case in make(number)]
        if not field.ALL:
            cases = cases[os.getpid() % 5::5]
        self.assertEqual(self.play(cases, reference), [])
        missed = [case.namespace for case in cases if not case.hit]
        # how many calls a life takes differs a little from life to life
        self.assertLess(len(missed), len(cases) / 5, missed)

    def faults(self, *names, every=1):
        self.check(lambda number: [field.Case(name, number, proxy.FAULTS[name]) for at, name in enumerate(names)
                                   if field.ALL or (number + at) % every == 0])

    def test_refused(self):
        self.faults("conflict", "exists", "gone", "busy", "away", every=5)

    def test_failed(self):
        self.faults("error", "error-after", "timeout-after", every=3)

    def test_cut(self):
        self.faults("cut-before", "cut-after", "cut-inside", every=3)

    @unittest.skipUnless(field.ALL, "waits for time limits")
    def test_silent(self):
        self.faults("silence-before", "silence-after")

    def test_killed(self):
        self.check(lambda number: [field.Case(f"kill-{when}", number, kill=when) for when in ("before", "after")
                                   if field.ALL or (number + (when == "after")) % 2])


if __name__ == "__main__":
    field.main()
