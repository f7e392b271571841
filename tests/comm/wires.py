# SPDX-License-Identifier: Apache-2.0
"""Hosts whose wires delay, lose and reorder: network namespaces joined by a switch of ours. Needs root and
/dev/net/tun."""
import fcntl
import heapq
import os
import random
import select
import shutil
import struct
import subprocess
import threading
import time

TUNSETIFF = 0x400454CA
IFF_TAP = 0x0002
IFF_NO_PI = 0x1000
# Few large frames: the switch is written in Python.
MTU = 9000


def run(*words):
	subprocess.run(words, check=True, capture_output=True)


def why_not():
	"""What is missing here, or None."""
	if os.geteuid() != 0:
		return "not root"
	if not shutil.which("ip"):
		return "no ip"
	try:
		fd = os.open("/dev/net/tun", os.O_RDWR)
		fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", f"rhw{os.getpid()}x".encode(), IFF_TAP | IFF_NO_PI))
		os.close(fd)
	except OSError as error:
		return f"no TAP devices: {error}"
	name = f"rhw{os.getpid()}x"
	if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode != 0:
		return "no network namespaces"
	run("ip", "netns", "del", name)
	return None


class Wires:
	"""A namespace per rank, with address 10.78.0.RANK+1. What fate() says of each frame happens to it."""

	def __init__(self, world):
		self.names = [f"rhw{os.getpid()}n{rank}" for rank in range(world)]
		self.hosts = [f"10.78.0.{rank + 1}" for rank in range(world)]
		self.taps = [self.plug(rank, name) for rank, name in enumerate(self.names)]
		self.random = random.Random(1)
		self.fate = lambda source, target: 0
		self.frames = 0
		self.stop, self.stopped = os.pipe()
		self.thread = threading.Thread(target=self.switch, daemon=True)
		self.thread.start()

	def plug(self, rank, name):
		"""Make the namespace, and a device in it whose other end is ours."""
		device = f"rhw{os.getpid()}t{rank}"[:15]
		tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
		fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TAP | IFF_NO_PI))
		run("ip", "netns", "add", name)
		run("ip", "link", "set", device, "netns", name)
		run("ip", "-n", name, "link", "set", device, "name", "eth0", "address", f"02:00:00:00:00:{rank:02x}", "mtu",
      str(MTU))
		run("ip", "-n", name, "addr", "add", f"10.78.0.{rank + 1}/24", "dev", "eth0")
		run("ip", "-n", name, "link", "set", "eth0", "up")
		run("ip", "-n", name, "link", "set", "lo", "up")
		return tap

	def delay(self, seconds, jitter=0.0, loss=0.0):
		"""Every frame comes so much later, and jitter at most beside, so that frames overtake each other.

		Some never come."""
		self.fate = lambda source, target: (None if loss and self.random.random() < loss
			else seconds + (self.random.random() * jitter if jitter else 0))

	def cut(self, *pairs):
		"""Nothing goes from the first of each pair to the second any more; all else is as before."""
		before = self.fate
		self.fate = lambda source, target: None if (source, target) in pairs else before(source, target)

	def targets(self, source, frame):
		if frame[0] & 1:
			return [rank for rank in range(len(self.taps)) if rank != source]
		return [frame[5]] if frame[5] < len(self.taps) and frame[5] != source else []

	def take(self, source, due):
		"""All frames that have come from one host."""
		while True:
			try:
				frame = os.read(self.taps[source], MTU + 100)
			except BlockingIOError:
				return
			for target in self.targets(source, frame):
				late = self.fate(source, target)
				if late is not None:
					self.frames += 1
					heapq.heappush(due, (time.monotonic() + late, self.frames, target, frame))

	def switch(self):
		due = []
		while True:
			now = time.monotonic()
			while due and due[0][0] <= now:
				_, _, target, frame = heapq.heappop(due)
				try:
					os.write(self.taps[target], frame)
				except OSError:
					pass  # its queue is full, or it is down: a lost frame
			ready = select.select([*self.taps, self.stop], [], [],
                         max(0, due[0][0] - time.monotonic()) if due else None)[0]
			if self.stop in ready:
				return
			for tap in ready:
				self.take(self.taps.index(tap), due)

	def inside(self, rank):
		"""Words that start a program on that host."""
		return ["ip", "netns", "exec", self.names[rank]]

	def close(self):
		os.write(self.stopped, b"x")
		self.thread.join()
		for fd in [*self.taps, self.stop, self.stopped]:
			os.close(fd)
		for name in self.names:
			subprocess.run(["ip", "netns", "del", name], capture_output=True)
