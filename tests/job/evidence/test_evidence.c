/* SPDX-License-Identifier: Apache-2.0 */
/* What ends say, by outputs as frameworks write them. */
#include "job/evidence/evidence.h"

#include <string.h>

#include "base/mem.h"
#include "job/support.h"

#define FRAMES                                   \
	"Traceback (most recent call last):\n"       \
	"  File \"train.py\", line 9, in <module>\n" \
	"    main()\n"
#define TEN "1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n"
#define STACK4                                           \
	"frame #3: <unknown function> + 0x6 (0x7 in x.so)\n" \
	"frame #4: /opt/venv/bin/python3() [0x53ad87]\n"     \
	"frame #5: PyObject_Call + 0xb1 (0x5 in python3)\n"  \
	"frame #42: _start + 0x21 (0x6 in python3)\n"
#define STACK STACK4 STACK4 STACK4 STACK4 STACK4 STACK4 STACK4 STACK4 STACK4 STACK4 STACK4 STACK4
#define RECEIVED                                                                                           \
	"[W1122 11:58:29.309623247 TCPStore.cpp:138] [c10d] recvValueWithTimeout failed on SocketImpl(fd=3): " \
	"Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?"
#define RAISED_AT \
	"Exception raised from recvBytes at torch/csrc/distributed/c10d/Utils.hpp:786 (most recent call first):"
#define RAISED RAISED_AT "\n"
#define RULE "============================================================\n"
#define LINE "------------------------------------------------------------\n"
#define BANNER "--------------------------------------------------------------------------\n"
#define GLOO "RuntimeError: [../gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:20895\n"
#define AGENT                                                                                                         \
	"Traceback (most recent call last):\n  File \"run.py\", line 246, in launch_agent\n    raise ChildFailedError(\n" \
	"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n" RULE "train.py FAILED\n" LINE
#define CHILD(rank, code)                                                                                    \
	"[0]:\n  time      : 2026\n  host      : h\n  rank      : " rank " (local_rank: 1)\n  exitcode  : " code \
	" (pid: 7)\n  error_file: <N/A>\n  traceback : To enable traceback see: https://x/errors.html\n"
#define ALONE "Failures:\n  <NO_OTHER_FAILURES>\n" LINE "Root Cause (first observed failure):\n"

struct end_row {
	const char *name;
	int32_t code;
	const char *reason;
	const char *output;
	enum rh_blame blame;
	const char *headline;
	int32_t rank;
	int32_t accused;
};

static const struct end_row end_rows[] = {
	{"it ended well", 0, "Completed", "done\n", RH_BLAME_NONE, "done", -1, -1},
	{"an exception", 1, "Error", "step 1\n" FRAMES "ValueError: bad batch\n", RH_BLAME_CAUSE, "ValueError: bad batch",
     -1, -1},
	{"an assertion without words", 1, "Error", FRAMES "AssertionError\n", RH_BLAME_CAUSE, "AssertionError", -1, -1},
	{"an import", 1, "Error", FRAMES "ModuleNotFoundError: No module named 'x'\n", RH_BLAME_CAUSE,
     "ModuleNotFoundError: No module named 'x'", -1, -1},
	{"a crash", 139, "Error", "step 1\n", RH_BLAME_CAUSE, "step 1", -1, -1},
	{"a crash with a trace", 139, "Error", "Fatal Python error: Segmentation fault\n\nCurrent thread\n", RH_BLAME_CAUSE,
     "Fatal Python error: Segmentation fault", -1, -1},
	{"an abort that reports its reason", 134, "Error", "free(): invalid pointer\nFatal error\n", RH_BLAME_CAUSE,
     "Fatal error", -1, -1},
	{"no memory", 137, "OOMKilled", "step 1\n", RH_BLAME_CAUSE, "step 1", -1, -1},
	{"a full disk", 1, "Error", "tar: write: No space left on device\nbye\n", RH_BLAME_CAUSE,
     "tar: write: No space left on device", -1, -1},
	{"a port in use", 1, "Error",
     FRAMES "torch.distributed.DistNetworkError: The server socket has failed to listen. code: -98, name: EADDRINUSE\n",
     RH_BLAME_CAUSE,
     "torch.distributed.DistNetworkError: The server socket has failed to listen. code: -98, name: EADDRINUSE", -1, -1},
	{"a message above a long stack", 1, "Error", "step 1\n" RECEIVED "\n" RAISED STACK "\n", RH_BLAME_VICTIM, RECEIVED,
     -1, -1},
	{"an exception, and the long stack of a warning after it", 1, "Error",
     FRAMES "ValueError: bad batch\n\n" RECEIVED "\n" RAISED STACK, RH_BLAME_CAUSE, "ValueError: bad batch", -1, -1},
	{"its own words", 3, "Error", "error: no checkpoint to go on from\n", RH_BLAME_CAUSE,
     "error: no checkpoint to go on from", -1, -1},
	{"no program", 127, "StartError", "", RH_BLAME_CAUSE, "", -1, -1},
	{"no word", 3, "Error", "step 1\n", RH_BLAME_UNKNOWN, "step 1", -1, -1},
	{"killed", 137, "Error", "step 1\n", RH_BLAME_KILLED, "step 1", -1, -1},
	{"terminated", 143, "Error", "error: a warning that it survived\n", RH_BLAME_KILLED,
     "error: a warning that it survived", -1, -1},
	{"taken away", -1, "Evicted", "", RH_BLAME_KILLED, "", -1, -1},
	{"Gloo: closed", 1, "Error", FRAMES GLOO, RH_BLAME_VICTIM,
     "RuntimeError: [../gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:20895", -1, -1},
	{"Gloo: late", 1, "Error", FRAMES "RuntimeError: [unbound_buffer.cc:81] Timed out waiting 6000ms for recv\n",
     RH_BLAME_LATE, "RuntimeError: [unbound_buffer.cc:81] Timed out waiting 6000ms for recv", -1, -1},
	{"NCCL: the watchdog aborts", 134, "Error",
     "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL\nterminate called after throwing\n",
     RH_BLAME_LATE, "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL", -1, -1},
	{"NCCL: in several lines", 1, "Error",
     FRAMES "torch.distributed.DistBackendError: NCCL error in: x.cpp, NCCL version 2.20\n"
            "ncclRemoteError: A call failed possibly due to a network error\nLast error:\nx\n",
     RH_BLAME_VICTIM, "torch.distributed.DistBackendError: NCCL error in: x.cpp, NCCL version 2.20", -1, -1},
	{"rh_comm: died", 1, "Error",
     FRAMES "roundhouse.errors.PeerError: rank 2 at 127.0.0.1 died: its connection closed\n", RH_BLAME_VICTIM,
     "roundhouse.errors.PeerError: rank 2 at 127.0.0.1 died: its connection closed", -1, 2},
	{"rh_comm: late", 1, "Error", FRAMES "roundhouse.errors.DeadlineError: rank 2 of 3 did not come in time\n",
     RH_BLAME_LATE, "roundhouse.errors.DeadlineError: rank 2 of 3 did not come in time", -1, 2},
	{"TensorFlow", 1, "Error",
     FRAMES "tensorflow.python.framework.errors_impl.UnavailableError: Graph execution error:\nSocket closed\n",
     RH_BLAME_VICTIM, "tensorflow.python.framework.errors_impl.UnavailableError: Graph execution error:", -1, -1},
	{"rank 0 is not there", 1, "Error",
     FRAMES "TimeoutError: The client socket has timed out after 6s while trying to connect to (h, 1).\n",
     RH_BLAME_UNREACHED, "TimeoutError: The client socket has timed out after 6s while trying to connect to (h, 1).",
     -1, -1},
	{"a chain of exceptions: its first is the reason", 1, "Error",
     FRAMES GLOO "\nDuring handling of the above exception, another exception occurred:\n\n" FRAMES
                 "RuntimeError: training failed\n",
     RH_BLAME_VICTIM, "RuntimeError: training failed", -1, -1},
	{"Python ignores it", 1, "Error",
     FRAMES "ValueError: bad batch\nException ignored in: <function x>\n" FRAMES "BrokenPipeError: [Errno 32]\n",
     RH_BLAME_CAUSE, "ValueError: bad batch", -1, -1},
	{"a traceback that was survived", 137, "Error",
     FRAMES "ValueError: x\n" TEN TEN TEN TEN TEN TEN TEN TEN TEN "step 2\n", RH_BLAME_KILLED, "step 2", -1, -1},
	{"ranks of one container, marked", 1, "Error",
     "[rank2]: Traceback (most recent call last):\n[rank3]: Traceback (most recent call last):\n[rank2]:   File \"x\"\n"
     "[rank3]:   File \"y\"\n[rank2]: " GLOO "[rank3]: ValueError: bad batch\n" AGENT ALONE CHILD("2", "1") RULE,
     RH_BLAME_CAUSE, "ValueError: bad batch", 3, -1},
	{"torchrun: the only rank that failed", 1, "Error",
     FRAMES "ValueError: bad batch\n" AGENT ALONE CHILD("3", "1") RULE, RH_BLAME_CAUSE, "ValueError: bad batch", 3, -1},
	{"torchrun: two tracebacks whose ranks are unknown", 1, "Error",
     FRAMES "ValueError: bad batch\n" FRAMES GLOO AGENT ALONE CHILD("3", "1") RULE, RH_BLAME_CAUSE,
     "ValueError: bad batch", -1, -1},
	{"torchrun: a rank crashed, and another one is its victim", 1, "Error",
     FRAMES GLOO AGENT "Failures:\n" CHILD("2", "1") LINE "Root Cause (first observed failure):\n" CHILD("3", "-11")
         RULE,
     RH_BLAME_CAUSE, "exitcode  : -11 (pid: 7)", 3, -1},
	{"torchrun: a rank was killed", 1, "Error",
     "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 7 closing signal SIGTERM\n" AGENT ALONE
         CHILD("3", "-9") RULE,
     RH_BLAME_UNKNOWN, "exitcode  : -9 (pid: 7)", 3, -1},
	{"torchrun: a rank waited in vain, and another one had to be stopped", 1, "Error",
     "reading shard 7\n" FRAMES "RuntimeError: Timed out waiting 6000ms for recv\n"
     "W1122 12:16:04.5 7 torch/distributed/elastic/multiprocessing/api.py:1028] Sending process 7 closing signal "
     "SIGTERM\n" AGENT "Failures:\n" CHILD("3", "-15") LINE "Root Cause (first observed failure):\n" CHILD("2", "1")
         RULE,
     RH_BLAME_STUCK, "exitcode  : -15 (pid: 7)", 3, -1},
	{"mpirun: a rank raised, another one wrote meanwhile", 1, "Error",
     "Traceback (most recent call last):\n  File \"x\"\nstep 2 loss 0.3\n    f()\nValueError: bad batch\n" BANNER
     "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\nwith errorcode 1.\n" BANNER,
     RH_BLAME_CAUSE, "ValueError: bad batch", 1, -1},
	{"mpirun: a rank was killed", 137, "Error",
     "step 2\n" BANNER "Primary job  terminated normally, but 1 process returned\na non-zero exit code.\n" BANNER BANNER
     "mpirun noticed that process rank 1 with PID 0 on node n exited on signal 9 (Killed).\n" BANNER,
     RH_BLAME_UNKNOWN, "mpirun noticed that process rank 1 with PID 0 on node n exited on signal 9 (Killed).", 1, -1},
	{"mpirun: a rank gave up", 3, "Error",
     "error: no checkpoint\nstep 2\n" BANNER "mpirun detected that one or more processes exited\n\n"
     "  Process name: [[5792,1],1]\n  Exit code:    3\n" BANNER,
     RH_BLAME_CAUSE, "error: no checkpoint", 1, -1},
	{"a launcher that names no process", 1, "Error", FRAMES "subprocess.CalledProcessError: Command 'x' returned 1\n",
     RH_BLAME_SUMMARY, "subprocess.CalledProcessError: Command 'x' returned 1", -1, -1},
};

static void evidence_check(const struct end_row *row, const char *output, const char *when)
{
	const struct rh_end end = {.exit_code = row->code, .reason = row->reason, .output = output};
	struct rh_evidence evidence = rh_evidence_read(&end);

	if (evidence.blame != row->blame || evidence.rank != row->rank || evidence.accused != row->accused)
		fail_msg("%s, %s: %s, rank %d, accused %d", row->name, when, rh_blame_name(evidence.blame), evidence.rank,
		         evidence.accused);
	if (evidence.headline_length != strlen(row->headline) ||
	    strncmp(evidence.headline, row->headline, evidence.headline_length) != 0)
		fail_msg("%s, %s: \"%.*s\"", row->name, when, (int)evidence.headline_length, evidence.headline);
}

/* An excerpt has the classification of the whole output. */
static void test_evidence__ends(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(end_rows) / sizeof(*end_rows); i++) {
		const struct end_row *row = &end_rows[i];
		const struct rh_end end = {.exit_code = row->code, .reason = row->reason, .output = row->output};
		rh_auto_str lines = {0};

		evidence_check(row, row->output, "whole");
		rh_evidence_excerpt(&end, 2048, &lines);
		evidence_check(row, rh_str_text(&lines), "excerpt");
	}
}

struct excerpt_row {
	const char *name;
	const char *output;
	const char *excerpt;
};

static const struct excerpt_row excerpt_rows[] = {
	{"a traceback as it was", "a\nb\n" FRAMES "ValueError: x\nsecond line\n\n", FRAMES "ValueError: x\nsecond line"},
	{"of one rank", "[rank1]: Traceback (most recent call last):\nother\n[rank1]:   File \"x\"\n[rank1]: KeyError: 1\n",
     "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"x\"\n[rank1]: KeyError: 1"},
	{"and who raised it", FRAMES "ValueError: x\n" AGENT ALONE CHILD("3", "1") RULE,
     FRAMES "ValueError: x\n  rank      : 3 (local_rank: 1)"},
	{"last lines", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n\n13\n", "2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13"},
	{"and the most specific line", "error: x\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n",
     "error: x\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14"},
	{"a message above a long stack", "1\n" RECEIVED "\n" RAISED STACK, "1\n" RECEIVED "\n" RAISED_AT},
	{"nothing", "", ""},
	{"blanks", " \n\t\n", ""},
};

static void test_evidence__excerpts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(excerpt_rows) / sizeof(*excerpt_rows); i++) {
		const struct rh_end end = {.exit_code = 1, .reason = "Error", .output = excerpt_rows[i].output};
		rh_auto_str lines = {0};

		rh_evidence_excerpt(&end, 2048, &lines);
		if (strcmp(rh_str_text(&lines), excerpt_rows[i].excerpt) != 0)
			fail_msg("%s: %s", excerpt_rows[i].name, rh_str_text(&lines));
	}
}

/* What is too long loses lines from its middle, and no line is cut in its middle. */
static void test_evidence__long_tracebacks(void **state)
{
	struct rh_end end = {.exit_code = 1, .reason = "Error"};
	rh_auto_str output = {0};
	rh_auto_str lines = {0};

	(void)state;
	rh_str_append(&output, "Traceback (most recent call last):\n");
	for (int i = 0; i < 500; i++)
		rh_str_appendf(&output, "  File \"/a/long/path/to/a/module_%03d.py\", line 1, in f\n", i);
	rh_str_append(&output, "RecursionError: too deep\n");
	end.output = rh_str_text(&output);
	rh_evidence_excerpt(&end, 1024, &lines);
	assert_in_range(lines.length, 512, 1024);
	assert_true(rh_starts_with(rh_str_text(&lines), "Traceback (most recent call last):\n  ...\n  File \"/a/long/"));
	assert_non_null(strstr(rh_str_text(&lines), "module_499.py\", line 1, in f\nRecursionError: too deep"));
}

/* A traceback that the end of a long output has left behind is found as far as it is looked for. */
static void test_evidence__much_is_written_after_it(void **state)
{
	struct rh_end end = {.exit_code = 1, .reason = "Error"};
	rh_auto_str output = {0};

	(void)state;
	rh_str_append(&output, FRAMES "ValueError: bad batch\n");
	while (output.length < RH_EVIDENCE_TEXT_MAX - 100)
		rh_str_append(&output, "uploading an artifact\n");
	end.output = rh_str_text(&output);
	assert_int_equal(rh_evidence_read(&end).blame, RH_BLAME_CAUSE);
	while (output.length < RH_EVIDENCE_TEXT_MAX + 1000)
		rh_str_append(&output, "uploading an artifact\n");
	end.output = rh_str_text(&output);
	assert_int_equal(rh_evidence_read(&end).blame, RH_BLAME_UNKNOWN);
}

static void test_evidence__names(void **state)
{
	(void)state;
	for (int i = RH_BLAME_NONE; i < RH_BLAMES; i++)
		assert_int_equal(rh_blame_of(rh_blame_name((enum rh_blame)i)), i);
	assert_int_equal(rh_blame_of("x"), RH_BLAME_NONE);
	assert_int_equal(rh_blame_of(NULL), RH_BLAME_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_evidence__ends),
		cmocka_unit_test(test_evidence__excerpts),
		cmocka_unit_test(test_evidence__long_tracebacks),
		cmocka_unit_test(test_evidence__much_is_written_after_it),
		cmocka_unit_test(test_evidence__names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
