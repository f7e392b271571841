#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""attack.py COUNT ROUNDS SECONDS PORT...: clients that keep a server of this machine busy, and want nothing from it.

COUNT connections at a time, to the ports of loopback in turn: some send a request byte by byte, some half of one and
then hang up their sending side, some nothing, some a head that announces a body that never comes. It prints a line when
all are connected.
A line of its standard input makes the next round begin, with all of them anew. It ends by itself: after ROUNDS, when
its standard input is closed, and after SECONDS at the latest.
"""
import errno
import resource
import select
import socket
import sys
import time

HEAD = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
BODY = b"POST /readyz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n"
# What a kind of client sends at first.
KINDS = {"slow": HEAD[:11], "half": HEAD[:20], "silent": b"", "headers": HEAD, "body": BODY[:-1]}
# A byte each so often from those that are slow.
PACE_S = 0.5


def connect(port, kind):
    one = socket.socket()
    one.setblocking(False)
    try:
        one.connect(("127.0.0.1", port))
    except BlockingIOError:
        pass
    return one, kind


def write(one, data):
    """-> whether the connection is still there"""
    try:
        one.send(data)
    except OSError as error:
        return error.errno in (errno.EAGAIN, errno.ENOTCONN)
    return True


def begin(count, ports):
    names = sorted(KINDS)
    clients = [connect(ports[i % len(ports)], names[i % len(names)]) for i in range(count)]
    poll = select.poll()
    for one, _ in clients:
        poll.register(one, select.POLLOUT)
    waiting = {one.fileno(): (one, kind) for one, kind in clients}
    deadline = time.monotonic() + 5
    while waiting and time.monotonic() < deadline:
        for number, _ in poll.poll(100):
            poll.unregister(number)
            one, kind = waiting.pop(number)
            if KINDS[kind]:
                write(one, KINDS[kind])
            if kind == "half":
                try:
                    one.shutdown(socket.SHUT_WR)
                except OSError:
                    pass
    return clients


def feed(clients, until):
    """Byte after byte, as slowly as a server lets. -> whether another round is wanted"""
    while time.monotonic() < until:
        if select.select([sys.stdin], [], [], min(PACE_S, max(0, until - time.monotonic())))[0]:
            return sys.stdin.readline() != ""
        clients = [(one, kind) for one, kind in clients if kind not in ("slow", "headers") or write(one, b"x")]
    return False


def main():
    count, rounds, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    ports = [int(word) for word in sys.argv[4:]]
    end = time.monotonic() + seconds
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(count + 64, 1024)), hard))
    for number in range(rounds):
        clients = begin(count, ports)
        print(number + 1, flush=True)
        goes_on = feed(clients, end)
        for one, _ in clients:
            one.close()
        if not goes_on:
            return


if __name__ == "__main__":
    main()
