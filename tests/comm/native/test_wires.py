# SPDX-License-Identifier: Apache-2.0
"""Delay, reordering, loss, and cuts of one direction or one pair, below the native backend. usage: test_wires.py LOOP
FOLDER"""
import os
import signal
import subprocess
import sys
import time
import unittest

LOOP = sys.argv.pop(1)
sys.path.insert(0, sys.argv.pop(1))
import wires  # noqa: E402

EPEER = -20
# What no rank may be silent for: the relay of the network needs the processor, too.
DEATH = 5
NO_DEATH = {"RH_COMM_DEATH_TIMEOUT": "60"}
PATIENCE = 300
FOR_EVER = 1000000000


class TestWires(unittest.TestCase):
	def setUp(self):
		self.net = wires.Wires(3)
		self.addCleanup(self.net.close)

	def start(self, count, rounds, **extra):
		processes = []
		for rank in range(3):
			env = os.environ | {
				"RH_COMM_RANK": str(rank), "RH_COMM_WORLD": "3", "RH_COMM_HOST": self.net.hosts[0],
				"RH_COMM_PORT": "29779", "RH_COMM_SHM": "off", "RH_COMM_LOG": "off", "RH_COMM_BACKEND": "native",
				"RH_COMM_DEATH_TIMEOUT": str(DEATH), "RH_COMM_INIT_TIMEOUT": str(PATIENCE)} | extra
			process = subprocess.Popen([*self.net.inside(rank), LOOP, str(count), str(rounds)], env=env, text=True,
				stdout=subprocess.PIPE)
			self.addCleanup(process.stdout.close)
			self.addCleanup(process.wait)
			self.addCleanup(process.kill)
			processes.append(process)
		return processes

	def line(self, process):
		process.wait(PATIENCE)
		return process.stdout.readline()

	def check_done(self, count, rounds, **extra):
		processes = self.start(count, rounds, **extra)
		for process in processes:
			self.assertEqual(process.stdout.readline(), "ready\n")
		for process in processes:
			self.assertEqual(self.line(process), "done\n")
		# it has gone this way, and no other
		self.assertGreater(self.net.frames, 100)

	def ready(self, processes):
		for process in processes:
			self.assertEqual(process.stdout.readline(), "ready\n")
		# some of the exchange: it is to be under way, at any place
		time.sleep(0.3)

	def end(self, process):
		code, rank, text = self.line(process).split(" ", 2)
		return int(code), int(rank), text

	def test_delay_between_small_vectors(self):
		self.net.delay(0.03)
		self.check_done(1, 10, **NO_DEATH)

	def test_delay_amid_large_vectors(self):
		self.net.delay(0.03)
		self.check_done(500000, 2, **NO_DEATH)

	def test_delay_close_to_the_death_timeout_kills_nobody(self):
		self.net.delay(1)
		self.check_done(1000, 3)

	def test_frames_that_overtake_each_other_and_get_lost(self):
		self.net.delay(0.002, jitter=0.01, loss=0.01)
		self.check_done(100000, 5, **NO_DEATH)

	def test_a_process_that_is_stopped_is_waited_for(self):
		processes = self.start(500000, 60)
		self.ready(processes)
		processes[2].send_signal(signal.SIGSTOP)
		time.sleep(2 * DEATH)
		self.assertEqual([process.poll() for process in processes], [None] * 3)
		processes[2].send_signal(signal.SIGCONT)
		for process in processes:
			self.assertEqual(self.line(process), "done\n")

	def check_cut(self, pairs, victims, count):
		processes = self.start(count, FOR_EVER)
		self.ready(processes)
		self.net.cut(*pairs)
		ends = [self.end(process) for process in processes]
		for rank, (code, named, text) in enumerate(ends):
			self.assertEqual(code, EPEER, text)
			self.assertIn(named, victims, (rank, text))
		return ends

	def test_a_host_that_receives_nothing_is_named(self):
		ends = self.check_cut([(0, 2), (1, 2)], (0, 2), 1000)
		self.assertEqual([named for _, named, _ in ends[:2]], [2, 2])

	def test_a_host_whose_packets_are_lost_is_named(self):
		ends = self.check_cut([(2, 0), (2, 1)], (0, 2), 1000)
		self.assertEqual([named for _, named, _ in ends[:2]], [2, 2])

	def test_hosts_that_are_cut_off_from_each_other_alone_are_named(self):
		ends = self.check_cut([(1, 2), (2, 1)], (1, 2), 1000)
		self.assertEqual(len({named for _, named, _ in ends}), 1)

	def test_the_same_amid_large_vectors(self):
		ends = self.check_cut([(1, 2), (2, 1)], (1, 2), 1000000)
		self.assertEqual(len({named for _, named, _ in ends}), 1)


if __name__ == "__main__":
	reason = wires.why_not()
	if reason:
		print(f"SKIPPED: network namespaces with a switch: {reason}")
		sys.exit(77)
	unittest.main()
