# SPDX-License-Identifier: Apache-2.0
"""cases.py --list | NAME SCRIPT [WORD...]: run a test script of Python with its words, but only the cases that are
named, or list them.

NAME is a part of what --list prints, or a pattern with * and ?. tools/test calls this; a script need not know of it.
"""
import fnmatch
import os
import runpy
import sys
import unittest


def flat(suite):
    """-> the cases of a suite, and of the suites in it"""
    for item in suite:
        yield from flat(item) if isinstance(item, unittest.TestSuite) else [item]


def choose(name, names):
    """-> those of the names that are meant"""
    return [one for one in names if fnmatch.fnmatchcase(one, f"*{name}*")]


def refuse(name):
    sys.exit(f'error: no case "{name}"; --list prints them')


class Program(unittest.TestProgram):
    """unittest.main() of the script."""
    wanted = ""

    def runTests(self):
        # as unittest prints them, without the module
        cases = {case.id().removeprefix("__main__."): case for case in flat(self.test)}
        if self.wanted == "--list":
            print("\n".join(cases))
            sys.exit(0)
        chosen = choose(self.wanted, cases)
        if not chosen:
            refuse(self.wanted)
        self.test = unittest.TestSuite(cases[name] for name in chosen)
        super().runTests()


def main():
    Program.wanted, *sys.argv = sys.argv[1:]
    # for scripts that are no unittest: tests/local/run/support.py
    os.environ["RH_TEST_CASE"] = Program.wanted
    unittest.main = Program
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
