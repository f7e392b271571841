# SPDX-License-Identifier: Apache-2.0
"""A server and two workers between network namespaces: one is cut off. usage: test_netns.py LOOP SERVER MODULES
NETNS"""
import importlib.util
import os
import subprocess
import sys
import unittest

LOOP, SERVER, MODULES, NETNS = sys.argv[1:5]
EPEER = -20
PORT = 29778

SPEC = importlib.util.spec_from_file_location("netns", NETNS)
sys.argv[1:] = ["unused"]
netns = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(netns)


class TestNetns(unittest.TestCase):
	def setUp(self):
		self.net = netns.Net(3)
		self.addCleanup(self.net.close)

	def start(self, rank, backend, *words):
		env = dict(os.environ, RH_PS_SERVERS=f"10.77.0.1:{PORT}", RH_PS_WORKERS="2", RH_PS_BACKEND=backend,
             RH_COMM_PATH=MODULES,
			RH_COMM_LOG="off", RH_COMM_DEATH_TIMEOUT=str(netns.DEATH), RH_PS_SHM="off", RH_PS_RULE="sum")
		env |= {"RH_PS_PORT": str(PORT), "RH_PS_HOST": "10.77.0.1"} if rank == 0 else {"RH_PS_WORKER": str(rank - 1)}
		process = subprocess.Popen(["ip", "netns", "exec", self.net.names[rank], *words], env=env, text=True,
                             stdout=subprocess.PIPE)
		self.addCleanup(process.stdout.close)
		self.addCleanup(process.wait)
		self.addCleanup(process.kill)
		return process

	def check(self, backend, count):
		self.start(0, backend, SERVER)
		workers = [self.start(rank, backend, LOOP, str(count)) for rank in (1, 2)]
		for worker in workers:
			self.assertEqual(worker.stdout.readline(), "ready\n")
		self.net.cut_off(2)
		# the other one waits for it, and gets the error from the server
		outputs = [worker.communicate(timeout=netns.PATIENCE)[0] for worker in workers]
		self.assertRegex(outputs[0], f"^{EPEER} 1 server 0: worker 1 died or was cut off before push ")
		self.assertRegex(outputs[1], f"^{EPEER} 0 server 0 at 10.77.0.1 port {PORT} died or was cut off")

	def test_cut_off_between_small_values(self):
		self.check("own", 1)

	def test_cut_off_amid_large_values(self):
		self.check("own", 2000000)

	def test_cut_off_over_a_backend(self):
		self.check("native", 1)

	def test_cut_off_over_a_backend_amid_large_values(self):
		self.check("native", 2000000)


if __name__ == "__main__":
	reason = netns.why_not()
	if reason:
		print(f"SKIPPED: network namespaces: {reason}")
		sys.exit(77)
	unittest.main()
