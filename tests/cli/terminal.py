# SPDX-License-Identifier: Apache-2.0
"""The program under test on a pseudo-terminal."""
import fcntl
import os
import pty
import select
import struct
import termios
import time

import program


def on_terminal(*words, columns=0, seen=None):
    """Run the program on a pseudo-terminal of so many columns; returns its exit status and all that it wrote.

    `seen` gets what was written so far, whenever there is more."""
    child, fd = pty.fork()
    if child == 0:
        os.environ.update(TERM="xterm")
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execv(program.PROGRAM, [program.PROGRAM, *words])
    text, end = b"", time.monotonic() + program.TIMEOUT
    while time.monotonic() < end:
        if not select.select([fd], [], [], 1)[0]:
            continue
        try:
            part = os.read(fd, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
        if seen:
            seen(text.decode(errors="replace"))
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text.decode()


class Talk:
    """A person at a terminal: waits for what is shown, and types."""

    def __init__(self, *words, folder=None, columns=80, environment=None):
        self.child, self.fd = pty.fork()
        if self.child == 0:
            os.chdir(folder or ".")
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.execve(program.PROGRAM, [program.PROGRAM, *words], {**(environment or os.environ), "TERM": "xterm"})
        self.text, self.seen = "", 0

    def read(self):
        if not select.select([self.fd], [], [], program.TIMEOUT)[0]:
            raise AssertionError(f"nothing follows {self.text!r}")
        try:
            part = os.read(self.fd, 65536).decode(errors="replace")
        except OSError:
            part = ""
        self.text += part
        return part

    def expect(self, wanted):
        while wanted not in self.text[self.seen:]:
            if not self.read():
                raise AssertionError(f"{wanted!r} is not in {self.text[self.seen:]!r}")
        self.seen = self.text.index(wanted, self.seen) + len(wanted)

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        while self.read():
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])
