# SPDX-License-Identifier: Apache-2.0
"""The native backend between network namespaces: packets get lost, and hosts are cut off. Needs root and iproute2."""
import os
import shutil
import subprocess
import sys
import time
import unittest

LOOP = sys.argv.pop(1) if len(sys.argv) > 1 else None
EPEER, ETIME = -20, -21
DEATH = 3
PATIENCE = 60
FOR_EVER = 1000000000


def run(*words):
	subprocess.run(words, check=True, capture_output=True)


def why_not():
	"""What is missing here, or None."""
	if os.geteuid() != 0:
		return "not root"
	for tool in ("ip", "iptables"):
		if not shutil.which(tool):
			return f"no {tool}"
	name = f"rhc{os.getpid()}x"
	if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode != 0:
		return "no network namespaces"
	ok = subprocess.run(["ip", "netns", "exec", name, "iptables", "-A", "INPUT", "-j", "DROP"], capture_output=True)
	run("ip", "netns", "del", name)
	return None if ok.returncode == 0 else "iptables does not work in a network namespace"


class Net:
	"""A namespace per rank, joined by a bridge in one more."""

	def __init__(self, world):
		self.names = [f"rhc{os.getpid()}n{rank}" for rank in range(world)]
		self.switch = f"rhc{os.getpid()}s"
		for name in [self.switch, *self.names]:
			run("ip", "netns", "add", name)
			run("ip", "-n", name, "link", "set", "lo", "up")
		run("ip", "-n", self.switch, "link", "add", "br0", "type", "bridge")
		run("ip", "-n", self.switch, "link", "set", "br0", "up")
		for rank, name in enumerate(self.names):
			run("ip", "link", "add", "eth0", "netns", name, "type", "veth", "peer", "name", f"port{rank}", "netns",
       self.switch)
			run("ip", "-n", self.switch, "link", "set", f"port{rank}", "master", "br0", "up")
			run("ip", "-n", name, "addr", "add", f"10.77.0.{rank + 1}/24", "dev", "eth0")
			run("ip", "-n", name, "link", "set", "eth0", "up")

	def rule(self, rank, *words):
		run("ip", "netns", "exec", self.names[rank], "iptables", *words)

	def cut_off(self, rank):
		for chain in ("INPUT", "OUTPUT"):
			self.rule(rank, "-A", chain, "!", "-i" if chain == "INPUT" else "-o", "lo", "-j", "DROP")

	def close(self):
		for name in [self.switch, *self.names]:
			subprocess.run(["ip", "netns", "del", name], capture_output=True)


class TestNetns(unittest.TestCase):
	def setUp(self):
		self.net = Net(3)
		self.addCleanup(self.net.close)

	def start(self, count, rounds, init_timeout=PATIENCE):
		processes = []
		for rank, name in enumerate(self.net.names):
			env = dict(os.environ, RH_COMM_RANK=str(rank), RH_COMM_WORLD="3", RH_COMM_HOST="10.77.0.1",
              RH_COMM_PORT="29777",
				RH_COMM_SHM="off", RH_COMM_LOG="off", RH_COMM_BACKEND="native", RH_COMM_DEATH_TIMEOUT=str(DEATH),
				RH_COMM_INIT_TIMEOUT=str(init_timeout))
			process = subprocess.Popen(["ip", "netns", "exec", name, LOOP, str(count), str(rounds)], env=env, text=True,
				stdout=subprocess.PIPE)
			self.addCleanup(process.stdout.close)
			self.addCleanup(process.wait)
			self.addCleanup(process.kill)
			processes.append(process)
		return processes

	def ready(self, processes):
		for process in processes:
			self.assertEqual(process.stdout.readline(), "ready\n")

	def end(self, process):
		"""@return code, rank and text of its error"""
		process.wait(PATIENCE)
		code, rank, text = process.stdout.readline().split(" ", 2)
		return int(code), int(rank), text

	def test_lost_packets_are_sent_again(self):
		for rank in range(3):
			self.net.rule(rank, "-A", "INPUT", "-p", "tcp", "-m", "statistic", "--mode", "random", "--probability",
                 "0.01",
				"-j", "DROP")
		processes = self.start(50000, 20)
		self.ready(processes)
		for process in processes:
			process.wait(PATIENCE)
			self.assertEqual(process.stdout.readline(), "done\n")

	def check_cut_off(self, victim, count):
		processes = self.start(count, FOR_EVER)
		self.ready(processes)
		# some of the exchange: it is to be under way, at any place
		time.sleep(0.3)
		self.net.cut_off(victim)
		for rank, process in enumerate(processes):
			code, named, text = self.end(process)
			self.assertEqual(code, EPEER, text)
			if rank != victim:
				self.assertEqual(named, victim, text)

	def test_a_host_that_is_cut_off_is_named_by_all(self):
		self.check_cut_off(2, 1)

	def test_a_host_that_is_cut_off_amid_large_data_is_named_by_all(self):
		self.check_cut_off(1, 1000000)

	def test_rank_0_that_is_cut_off_is_named_by_all(self):
		self.check_cut_off(0, 1000)

	def test_a_rank_that_ends_for_rank_0_is_not_the_culprit(self):
		"""T3: whoever finds out first that rank 0 is cut off ends, and with it its connections; nobody is there to say
		why."""
		processes = self.start(1000, FOR_EVER)
		self.ready(processes)
		# as above
		time.sleep(0.3)
		self.net.cut_off(0)
		processes[1].kill()
		code, named, text = self.end(processes[2])
		self.assertEqual((code, named), (EPEER, 0), text)

	def test_one_that_cannot_come_is_named(self):
		self.net.cut_off(2)
		processes = self.start(1, 1, init_timeout=3)
		ends = [self.end(process) for process in processes]
		for code, named, text in ends[:2]:
			self.assertEqual((code, named), (ETIME, 2), text)
			self.assertIn("rank 2 of 3 did not come in time", text)
		self.assertIn("rank 0 at 10.77.0.1 port 29777 was not reached in time", ends[2][2])


if __name__ == "__main__":
	reason = why_not()
	if reason:
		print(f"SKIPPED: network namespaces: {reason}")
		sys.exit(77)
	unittest.main()
