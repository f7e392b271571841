/* SPDX-License-Identifier: Apache-2.0 */
/* Which failure is the first one, in whatever order and at whatever time the ends are seen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "engine/decide/worlds.h"
#include "random.h"

#define RUNNING "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 3/0/0; all Running"
#define NEVER "Master=Never Worker=Never*3"
#define CLOSED "lines=RuntimeError:_[pair.cc:598]_Connection_closed_by_peer"
#define LATE "lines=RuntimeError:_Timed_out_waiting_6000ms_for_recv"
#define RAISED "lines=ValueError:_error:_bad_batch"

#define FULL "lines=The_node_was_low_on_resource:_ephemeral-storage."

/* Several ends, parted by ";", and whom they name. */
struct ends_row {
	const char *name;
	const char *ends;
	const char *fault;
};

static const struct ends_row ends_rows[] = {
	{"a cause that ends after its victims",
     "pod master-0 Failed code=1 at=-3.5 " CLOSED ";pod worker-0 Failed code=1 at=-3.4 " CLOSED
     ";pod worker-1 Failed code=1 at=-2.5 " RAISED ";pod worker-2 Failed code=1 at=-3.3 " CLOSED,
     "Worker-1 code 1"},
	{"of two causes the earlier",
     "pod master-0 Failed code=1 at=-2.5 " RAISED ";pod worker-2 Failed code=1 at=-3.5 " RAISED
     ";pod worker-1 Failed code=1 at=-4.5 " CLOSED ";pod worker-0 Failed code=1 at=-3.4 " RAISED,
     "Worker-2 code 1"},
	{"a silent end among victims",
     "pod master-0 Failed code=1 at=-3.5 " CLOSED
     ";pod worker-0 Failed code=3 at=-3.1;pod worker-1 Failed code=1 at=-3.4 " CLOSED
     ";pod worker-2 Failed code=1 at=-3.2 " LATE,
     "Worker-0 code 3"},
	{"somebody kills one",
     "pod worker-2 Failed code=137 at=-3.5;pod master-0 Failed code=1 at=-3.6 " CLOSED
     ";pod worker-0 Failed code=1 at=-3.4 " CLOSED ";pod worker-1 Failed code=1 at=-3.3 " CLOSED,
     "Worker-2 code 137"},
	{"a container beyond its memory, seen last",
     "pod worker-1 Failed code=137 reason=OOMKilled at=-3.1 lines=loading;pod master-0 Failed code=1 at=-3.4 " CLOSED
     ";pod worker-0 Failed code=1 at=-3.3 " CLOSED ";pod worker-2 Failed code=137 at=-3.2",
     "Worker-1 code 137"},
	{"a node whose disk is full: the pod that it evicts",
     "pod worker-2 Failed reason=Evicted at=-3.1 " FULL ";pod master-0 Failed code=1 at=-3.4 " CLOSED
     ";pod worker-0 Failed code=1 at=-3.3 " CLOSED ";pod worker-1 Failed code=1 at=-3.2 " LATE,
     "Worker-2 code -1"},
	{"a node whose disk is full: who could not write before it evicts",
     "pod worker-2 Failed reason=Evicted at=-3.4 " FULL
     ";pod worker-1 Failed code=1 at=-3.3 lines=OSError:_No_space_left_on_device;pod master-0 Failed code=1 "
     "at=-3.2 " CLOSED ";pod worker-0 Failed code=1 at=-3.1 " CLOSED,
     "Worker-1 code 1"},
	{"a signal that comes after the cause",
     "pod worker-2 Failed code=143 at=-3.1;pod worker-0 Failed code=1 at=-3.5 " RAISED
     ";pod master-0 Failed code=137 at=-3.2;pod worker-1 Failed code=1 at=-3.3 " CLOSED,
     "Worker-0 code 1"},
	{"a silent end long before anything else",
     "pod worker-1 Failed code=3 at=-9.5;pod master-0 Failed code=1 at=-3.5 " RAISED
     ";pod worker-0 Failed code=1 at=-3.4 " RAISED ";pod worker-2 Failed code=1 at=-3.3 " RAISED,
     "Worker-1 code 3"},
	{"who waited in vain before who lost a connection",
     "pod worker-1 Failed code=1 at=-3.1 " LATE ";pod master-0 Failed code=1 at=-3.5 " CLOSED
     ";pod worker-0 Failed code=1 at=-3.4 " CLOSED ";pod worker-2 Failed code=1 at=-3.3 " CLOSED,
     "Worker-1 code 1"},
	{"whole seconds: a crash before an end that was seen in the same second",
     "pod worker-2 Failed code=139 at=-3;pod master-0 Failed code=134 at=-3;pod worker-0 Failed code=1 at=-3 " CLOSED
     ";pod worker-1 Failed code=1 at=-3 " CLOSED,
     "Worker-2 code 139"},
	{"all alike: the first",
     "pod worker-2 Failed code=1 at=-3.3 " CLOSED ";pod master-0 Failed code=1 at=-3.2 " CLOSED
     ";pod worker-0 Failed code=1 at=-3.5 " CLOSED ";pod worker-1 Failed code=1 at=-3.4 " CLOSED,
     "Worker-0 code 1"},
};

#define ENDS_MAX 4

/* The ends one after the other, each seen alone, with the ledger that the decision before left. */
static void fault_play(const struct ends_row *row, uint64_t *seed)
{
	struct worlds *worlds = worlds_new(NEVER, RUNNING);
	rh_auto_free char *copy = rh_strdup(row->ends);
	char *ends[ENDS_MAX], *rest = copy;
	char wanted[64], got[64];
	size_t count = 0;

	for (char *end; count < ENDS_MAX && (end = strsep(&rest, ";"));)
		ends[count++] = end;
	for (size_t left = count; left > 0; left--) {
		size_t pick = test_random_below(seed, (uint32_t)left);
		rh_auto_plan plan = {0};

		worlds_change(worlds, ends[pick]);
		ends[pick] = ends[left - 1];
		worlds_decide(worlds, &plan);
		if (!plan.write_ledger)
			continue;
		rh_ledger_deinit(&worlds->ledger);
		assert_int_equal(rh_ledger_copy(&worlds->ledger, &plan.ledger), 0);
		/* what was judged stays; here it is to be seen whether what is known is the same in the end */
		if (worlds->ledger.fault.blame == RH_BLAME_HUNG)
			rh_first_fault_deinit(&worlds->ledger.fault);
	}
	(void)snprintf(wanted, sizeof(wanted), "%s", row->fault);
	(void)snprintf(got, sizeof(got), "%s-%d code %d", worlds->ledger.fault.type, worlds->ledger.fault.index,
	               worlds->ledger.fault.exit_code);
	if (strcmp(got, wanted) != 0)
		fail_msg("%s: %s, not %s", row->name, got, wanted);
	worlds_free(worlds);
}

static void test_fault__any_order(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(ends_rows) / sizeof(*ends_rows); i++) {
		for (int order = 0; order < 100; order++)
			fault_play(&ends_rows[i], &seed);
	}
}

#define WAITS                                                                                                      \
	"ledger: attempt 0; fault Master-0 code 1 attempt 0\n"                                                         \
	"status: Created=True/PyTorchJobCreated Running=True/PyTorchJobRunning; Master 0/0/1; Worker 3/0/0; started\n" \
	"wake at 2026-01-01T00:00:05Z\n"
#define LEDGER(until)                                                                                         \
	"ledger {'fault':{'type':'Master','index':0,'attempt':0,'exitCode':1,'at':'2025-12-31T23:59:57.000000Z'," \
	"'pod':'j-master-0','container':'pytorch','reason':'','class':'victim','until':'" until "',"              \
	"'lastLines':'RuntimeError: [pair.cc:598] Connection closed by peer'}}"

#define CAUSE(until)                                                                                          \
	"ledger {'fault':{'type':'Master','index':0,'attempt':0,'exitCode':1,'at':'2025-12-31T23:59:57.000000Z'," \
	"'pod':'j-master-0','container':'pytorch','reason':'','class':'cause','until':'" until "',"               \
	"'lastLines':'ValueError: error: bad batch'}}"
#define ENDS(fault)                                                                                                 \
	"event Normal ExitedWithCode: Pod: default.j-master-0 exited with code 1\n"                                     \
	"event Normal PyTorchJobFailed: PyTorchJob j is failed because 1 Master replica(s) failed. First fault: " fault \
	"\n"                                                                                                            \
	"status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Failed=True/PyTorchJobFailed; Master "  \
	"0/0/1; "                                                                                                       \
	"Worker 3/0/0; started; completed\n"
#define BAD_BATCH                                                                                          \
	"Master-0 (pod j-master-0, container pytorch) exited with code 1 at 2025-12-31T23:59:57Z; last line: " \
	"ValueError: error: bad batch"

static const struct worlds_row wait_rows[] = {
	{"a cause waits for peers that run, and may fail alike", NEVER,
     RUNNING "; peers 1; pod master-0 Failed code=1 at=-3 " RAISED,
     "ledger: attempt 0; fault Master-0 code 1 attempt 0\n"
     "status: Created=True/PyTorchJobCreated Running=True/PyTorchJobRunning; Master 0/0/1; Worker 3/0/0; started\n"
     "wake at 2026-01-01T00:00:01Z\n"},
	{"a cause after a victim waits no longer than a cause", NEVER,
     RUNNING "; peers 1; pod master-0 Failed code=1 at=-3 " CLOSED
             "; " LEDGER("2026-01-01T00:00:04.000000Z") "; pod worker-0 Failed code=1 at=-2 " RAISED,
     "ledger: attempt 0; fault Worker-0 code 1 attempt 0\n"
     "status: Created=True/PyTorchJobCreated Running=True/PyTorchJobRunning; Master 0/0/1; Worker 2/0/1; started\n"
     "wake at 2026-01-01T00:00:01Z\n"},
	{"until it is over: a cause", NEVER,
     RUNNING "; peers 1; pod master-0 Failed code=1 at=-3 " RAISED "; " CAUSE("2026-01-01T00:00:00.000000Z"),
     "ledger: attempt 0; counted u-master-0; fault Master-0 code 1 attempt 0\n" ENDS(BAD_BATCH)},
	{"an end that no peer has to explain waits for one that is known and not reported", NEVER,
     RUNNING "; awaited 3; pod master-0 Failed code=1 at=-3",
     "ledger: attempt 0; fault Master-0 code 1 attempt 0\n"
     "status: Created=True/PyTorchJobCreated Running=True/PyTorchJobRunning; Master 0/0/1; Worker 3/0/0; started\n"
     "wake at 2026-01-01T00:00:03Z\n"},
	{"a cause waits for one longer than for peers that run", NEVER,
     RUNNING "; peers 1; awaited 3; pod master-0 Failed code=1 at=-3 " RAISED,
     "ledger: attempt 0; fault Master-0 code 1 attempt 0\n"
     "status: Created=True/PyTorchJobCreated Running=True/PyTorchJobRunning; Master 0/0/1; Worker 3/0/0; started\n"
     "wake at 2026-01-01T00:00:03Z\n"},
	{"until that is over", NEVER,
     RUNNING "; peers 1; awaited 0; pod master-0 Failed code=1 at=-3 " RAISED "; " CAUSE("2026-01-01T00:00:00.000000Z"),
     "ledger: attempt 0; counted u-master-0; fault Master-0 code 1 attempt 0\n" ENDS(BAD_BATCH)},
	{"a victim waits for peers that run", NEVER, RUNNING "; pod master-0 Failed code=1 at=-3 " CLOSED, WAITS},
	{"until it is over: several run, and none can be named", NEVER,
     RUNNING "; pod master-0 Failed code=1 at=-3 " CLOSED "; " LEDGER("2026-01-01T00:00:00.000000Z"),
     "ledger: attempt 0; counted u-master-0; fault Master-0 code 1 attempt 0\n"
     "event Normal ExitedWithCode: Pod: default.j-master-0 exited with code 1\n"
     "event Normal PyTorchJobFailed: PyTorchJob j is failed because 1 Master replica(s) failed. First fault: Master-0 "
     "(pod j-master-0, container pytorch) exited with code 1 at 2025-12-31T23:59:57Z; last line: RuntimeError: "
     "[pair.cc:598] Connection closed by peer\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Failed=True/PyTorchJobFailed; Master "
     "0/0/1; "
     "Worker 3/0/0; started; completed\n"},
	{"a clock that was set back makes no longer wait", NEVER,
     RUNNING "; pod master-0 Failed code=1 at=-3 " CLOSED "; " LEDGER("2026-01-01T01:00:00.000000Z"),
     "ledger: attempt 0; counted u-master-0; fault Master-0 code 1 attempt 0\n"
     "event Normal ExitedWithCode: Pod: default.j-master-0 exited with code 1\n"
     "event Normal PyTorchJobFailed: PyTorchJob j is failed because 1 Master replica(s) failed. First fault: Master-0 "
     "(pod j-master-0, container pytorch) exited with code 1 at 2025-12-31T23:59:57Z; last line: RuntimeError: "
     "[pair.cc:598] Connection closed by peer\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Failed=True/PyTorchJobFailed; Master "
     "0/0/1; "
     "Worker 3/0/0; started; completed\n"},
};

static void test_fault__waits(void **state)
{
	(void)state;
	worlds_check(wait_rows, sizeof(wait_rows) / sizeof(*wait_rows));
}

#define LIMITED "Master=OnFailure Worker=OnFailure*3 backoff=1"
/* Two victims were restarted in their places, which is beyond the limit. */
#define AT_LIMIT                                                                                            \
	RUNNING "; pod master-0 Running restarts=1 last=1 at=-3.5 " CLOSED "; pod worker-0 Running restarts=1 " \
			"last=1 at=-3.4 " CLOSED
#define WAITS_AT_LIMIT "ledger: attempt 0; fault Master-0 code 1 attempt 0\n"
#define STOPS(name) "delete pod j-" name " uid u-" name "\n"
#define ENDS_AT_LIMIT(who, stops, fault)                                                                            \
	"ledger: attempt 0 end=backoff; fault " who " attempt 0\n" stops "delete service j-master-0 uid s-j-master-0\n" \
	"delete service j-worker-0 uid s-j-worker-0\n"                                                                  \
	"delete service j-worker-1 uid s-j-worker-1\n"                                                                  \
	"delete service j-worker-2 uid s-j-worker-2\n"                                                                  \
	"event Normal PyTorchJobFailed: Job j has failed because it has reached the specified backoff limit. First "    \
	"fault: " fault "\n"                                                                                            \
	"status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Failed=True/PyTorchJobFailed; "         \
	"Master 1/0/0; Worker 3/0/0; started; completed\n"
#define LOST                                                                                                        \
	"Master-0 (pod j-master-0) exited with code 1 at 2025-12-31T23:59:56Z; last line: RuntimeError: [pair.cc:598] " \
	"Connection closed by peer"

static const struct worlds_row backoff_rows[] = {
	{"victims wait for a peer that has not failed", LIMITED, AT_LIMIT, WAITS_AT_LIMIT "wake at 2026-01-01T00:00:05Z\n"},
	{"the wait is not prolonged", LIMITED, AT_LIMIT "; " LEDGER("2026-01-01T00:00:02.000000Z"),
     WAITS_AT_LIMIT "wake at 2026-01-01T00:00:02Z\n"},
	{"until it is over", LIMITED, AT_LIMIT "; " LEDGER("2026-01-01T00:00:00.000000Z"),
     ENDS_AT_LIMIT("Master-0 code 1", STOPS("worker-2") STOPS("master-0") STOPS("worker-1") STOPS("worker-0"), LOST)},
	{"the cause ends last", LIMITED,
     AT_LIMIT "; pod worker-1 Running restarts=1 last=1 at=-0.5 " RAISED "; " LEDGER("2026-01-01T00:00:02.000000Z"),
     ENDS_AT_LIMIT(
		 "Worker-1 code 1", STOPS("worker-2") STOPS("master-0") STOPS("worker-0") STOPS("worker-1"),
		 "Worker-1 (pod j-worker-1) exited with code 1 at 2025-12-31T23:59:59Z; last line: ValueError: error: "
		 "bad batch")},
	{"a cause waits for peers that run, and may fail alike", LIMITED,
     RUNNING "; peers 1; pod master-0 Running restarts=1 last=1 at=-3 " RAISED,
     WAITS_AT_LIMIT "wake at 2026-01-01T00:00:01Z\n"},
	{"nobody else can show the cause", LIMITED,
     AT_LIMIT "; pod worker-1 Running restarts=1 last=1 at=-3 " CLOSED
              "; pod worker-2 Running restarts=1 last=1 at=-3 " CLOSED,
     ENDS_AT_LIMIT("Master-0 code 1", STOPS("worker-1") STOPS("master-0") STOPS("worker-0") STOPS("worker-2"), LOST)},
	{"an end that is known and not reported", LIMITED,
     RUNNING "; awaited 3; pod master-0 Running restarts=1 last=3 at=-3",
     "ledger: attempt 0; fault Master-0 code 3 attempt 0\n"
     "wake at 2026-01-01T00:00:03Z\n"},
};

static void test_fault__waits_at_the_backoff_limit(void **state)
{
	(void)state;
	worlds_check(backoff_rows, sizeof(backoff_rows) / sizeof(*backoff_rows));
}

#define UNKNOWN \
	"its output is unknown, so a peer may be the cause (terminationMessagePolicy: FallbackToLogsOnError shows it)."

/* What a job ends with, and what its message says of the first fault. */
struct message_row {
	const char *name;
	const char *ends;
	const char *message;
};

static const struct message_row message_rows[] = {
	{"a cause is judged at once", "pod worker-1 Failed code=1 at=-3 " RAISED,
     "First fault: Worker-1 (pod j-worker-1, container pytorch) exited with code 1 at 2025-12-31T23:59:57Z; last line: "
     "ValueError: error: bad batch"},
	{"a silent end, too", "pod worker-1 Failed code=3 at=-3",
     "First fault: Worker-1 (pod j-worker-1, container pytorch) exited with code 3 at 2025-12-31T23:59:57Z."},
	{"the only one that has not ended",
     "pod master-0 Failed code=1 at=-3 " LATE "; pod worker-0 Failed code=1 at=-3 " LATE "; pod worker-2 Failed code=1 "
     "at=-3 " LATE,
     "First fault: Worker-1 (pod j-worker-1) had not ended when its peers failed at 2025-12-31T23:59:57Z; Master-0: "
     "RuntimeError: Timed out waiting 6000ms for recv"},
	{"the one that a peer names",
     "pod master-0 Failed code=1 at=-3 lines=x.PeerError:_rank_2_died; pod worker-2 Failed code=1 at=-3 " CLOSED,
     "First fault: Worker-1 (pod j-worker-1) had not ended when its peers failed at 2025-12-31T23:59:57Z; Master-0: "
     "x.PeerError: rank 2 died"},
	{"one that ended well too early",
     "pod master-0 Failed code=1 at=-3 " CLOSED "; pod worker-0 Failed code=1 at=-3 " CLOSED
     "; pod worker-2 Failed code=1 at=-3 " CLOSED "; pod worker-1 Succeeded",
     "First fault: Worker-1 (pod j-worker-1) had ended well when its peers failed at 2025-12-31T23:59:57Z; Master-0: "
     "RuntimeError: [pair.cc:598] Connection closed by peer"},
	{"output that is unknown: a peer that runs may be the cause", "pod worker-0 Failed code=1 at=-3 silent",
     "First fault: Worker-0 (pod j-worker-0, container pytorch) exited with code 1 at 2025-12-31T23:59:57Z; " UNKNOWN},
	{"outputs that are unknown: the first to end",
     "pod worker-0 Failed code=1 at=-3 silent; pod worker-1 Failed code=1 at=-4 silent; pod master-0 Failed code=1 "
     "at=-3 silent",
     "First fault: Worker-1 (pod j-worker-1, container pytorch) exited with code 1 at 2025-12-31T23:59:56Z; " UNKNOWN},
	{"outputs that are unknown: all in one second",
     "pod worker-0 Failed code=1 at=-3 silent; pod worker-1 Failed code=1 at=-3 silent; pod master-0 Failed code=1 "
     "at=-3 silent; pod worker-2 Failed code=134 at=-2 silent",
     "First fault: unknown: 3 replicas failed alike in the same second, one of them Master-0 (pod j-master-0, "
     "container pytorch) exited with code 1 at 2025-12-31T23:59:57Z; " UNKNOWN},
	{"an output that is known wins over those that are not",
     "pod master-0 Failed code=1 at=-3 silent; pod worker-1 Failed code=1 at=-3 " RAISED,
     "First fault: Worker-1 (pod j-worker-1, container pytorch) exited with code 1 at 2025-12-31T23:59:57Z; last line: "
     "ValueError: error: bad batch"},
	{"a crash needs no output", "pod worker-2 Failed code=139 at=-3 silent",
     "First fault: Worker-2 (pod j-worker-2, container pytorch) exited with code 139 (SIGSEGV) at "
     "2025-12-31T23:59:57Z."},
	{"times of one machine are exact", "pod worker-0 Failed code=1 at=-3.5 silent",
     "First fault: Worker-0 (pod j-worker-0, container pytorch) exited with code 1 at 2025-12-31T23:59:56Z."},
	{"a rank of a replica",
     "pod worker-1 Failed code=1 at=-3 lines=[rank5]:_Traceback_(most_recent_call_last):\\n[rank5]:_ValueError:_x",
     "First fault: Worker-1 (pod j-worker-1, container pytorch) rank 5 exited with code 1 at 2025-12-31T23:59:57Z; "
     "last "
     "line: ValueError: x"},
};

/* In the lines of a row \n stands for the end of one. */
static void fault_break_lines(struct worlds *worlds)
{
	for (size_t i = 0; i < worlds->pod_count; i++) {
		struct rh_pod *pod = worlds->pods[i];
		struct rh_end end = {.exit_code = pod->failed_code, .reason = pod->reason, .output = pod->last_lines};
		char *at;

		while ((at = strstr(pod->last_lines, "\\n"))) {
			*at = '\n';
			memmove(at + 1, at + 2, strlen(at + 2) + 1);
			pod->rank = rh_evidence_read(&end).rank;
		}
	}
}

static void test_fault__messages(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(message_rows) / sizeof(*message_rows); i++) {
		struct worlds *worlds = worlds_new(NEVER, RUNNING);
		const struct rh_condition *failed;
		const struct rh_first_fault *fault;
		rh_auto_plan plan = {0}, later = {0};

		worlds_change(worlds, message_rows[i].ends);
		fault_break_lines(worlds);
		worlds_decide(worlds, &plan);
		assert_int_equal(rh_ledger_copy(&worlds->ledger, &plan.ledger), 0);
		worlds->now += 5 * RH_SECOND;
		worlds_decide(worlds, &later);
		failed = rh_job_status_condition(&plan.status, RH_CONDITION_FAILED);
		if (!failed)
			failed = rh_job_status_condition(&later.status, RH_CONDITION_FAILED);
		assert_non_null(failed);
		if (!strstr(failed->message, message_rows[i].message))
			fail_msg("%s: %s", message_rows[i].name, failed->message);
		/* the ledger knows where the message goes on with the fault */
		fault = later.ledger.fault.message_offset > 0 ? &later.ledger.fault : &plan.ledger.fault;
		assert_in_range(fault->message_offset, 1, strlen(failed->message));
		assert_int_equal(strncmp(failed->message + fault->message_offset, " First fault: ", 14), 0);
		worlds_free(worlds);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fault__any_order),
		cmocka_unit_test(test_fault__waits),
		cmocka_unit_test(test_fault__waits_at_the_backoff_limit),
		cmocka_unit_test(test_fault__messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
