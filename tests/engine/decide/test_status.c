/* SPDX-License-Identifier: Apache-2.0 */
/* Which changes of the status are written at once, and which may wait for more of their kind. */
#include "engine/decide/worlds.h"

#define PAIR "Master=OnFailure Worker=OnFailure*2"
#define CREATED "conditions Created; started -100; counts Master 0/0/0; counts Worker 0/0/0; "
#define RUNNING "conditions Created Running; started -100; "
#define STATUS(counts) "status: Created=True/PyTorchJobCreated Running=True/PyTorchJobRunning; " counts "; started\n"
#define ALL_RUN "counts Master 1/0/0; counts Worker 2/0/0; all Running; "
#define ONE_STARTS "counts Master 1/0/0; counts Worker 0/0/0; all Running; pod worker-0 Pending; "

static const struct worlds_row status_rows[] = {
	{"without patience everything is written", PAIR, RUNNING ONE_STARTS, STATUS("Master 1/0/0; Worker 1/0/0")},
	{"counts alone wait", PAIR, RUNNING ONE_STARTS "patience 3", "wake at 2026-01-01T00:00:03Z\n"},
	{"from when they differ first", PAIR, RUNNING ONE_STARTS "patience 3; held -1", "wake at 2026-01-01T00:00:02Z\n"},
	{"and no longer than that", PAIR, RUNNING ONE_STARTS "patience 3; held -3", STATUS("Master 1/0/0; Worker 1/0/0")},
	{"a clock that was set back makes nothing wait longer", PAIR, RUNNING ONE_STARTS "patience 3; held 50",
     STATUS("Master 1/0/0; Worker 1/0/0")},
	{"when all run there is nothing to wait for", PAIR,
     RUNNING "counts Master 1/0/0; counts Worker 1/0/0; all Running; patience 3", STATUS("Master 1/0/0; Worker 2/0/0")},
	{"a condition does not wait, and takes the counts along", PAIR,
     CREATED "all Running; pod worker-0 Pending; patience 3", STATUS("Master 1/0/0; Worker 1/0/0")},
	{"what has ended may wait for the end of the job", PAIR,
     RUNNING ALL_RUN "pod worker-1 Succeeded code=0 at=-1; patience 3; ledger {'types':{'Worker':{'succeeded':'1'}}}",
     "wake at 2026-01-01T00:00:03Z\n"},
	{"but its ledger does not", PAIR, RUNNING ALL_RUN "pod worker-1 Succeeded code=0 at=-1; patience 3",
     "ledger: attempt 0; Worker succeeded=1\nevent Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 0\n"
     "wake at 2026-01-01T00:00:03Z\n"},
	{"the end of the job does not wait", PAIR,
     RUNNING ALL_RUN "pod master-0 Succeeded code=0 at=-1; patience 3; ledger {'types':{'Master':{'succeeded':'0'}}}",
     "event Normal PyTorchJobSucceeded: PyTorchJob j is successfully completed.\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Succeeded=True/PyTorchJobSucceeded; "
     "Master 0/1/0; Worker 0/2/0; started; completed\n"},
	{"what is less does not wait: a loss is known by it", "Master=OnFailure Worker=OnFailure*1",
     RUNNING ALL_RUN "pod master-0 Pending; patience 3", STATUS("Master 0/0/0; Worker 1/0/0")},
	{"what was not written yet counts as if it were", PAIR " backoff=3",
     RUNNING "counts Master 1/0/0; counts Worker 0/0/0; unwritten Master 1/0/0; unwritten Worker 1/0/0; held -1; "
             "patience 3; all Running; pod worker-1 Running restarts=4",
     "ledger: attempt 0 end=backoff\n"
     "delete pod j-master-0 uid u-master-0\ndelete pod j-worker-0 uid u-worker-0\ndelete pod j-worker-1 uid "
     "u-worker-1\n"
     "delete service j-master-0 uid s-j-master-0\ndelete service j-worker-0 uid s-j-worker-0\n"
     "delete service j-worker-1 uid s-j-worker-1\n"
     "event Normal PyTorchJobFailed: Job j has failed because it has reached the specified backoff limit\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Failed=True/PyTorchJobFailed; "
     "Master 1/0/0; Worker 1/0/0; started; completed\n"},
	{"the next attempt starts once the held status counts no pod either", PAIR " scope=job",
     RUNNING "counts Master 0/0/0; counts Worker 0/0/0; unwritten Worker 1/0/0; held -1; patience 3; "
             "ledger {'stopping':true}",
     "wake at 2026-01-01T00:00:00Z\n"},
	{"and then it does", PAIR " scope=job",
     RUNNING "counts Master 0/0/0; counts Worker 0/0/0; patience 3; ledger {'stopping':true}", "ledger: attempt 1\n"},
	{"what a finished job says does not wait", PAIR,
     "conditions Created Succeeded; completed -5; counts Master 0/1/0; counts Worker 1/1/0; patience 3",
     "status: Created=True/PyTorchJobCreated Succeeded=True/PyTorchJobSucceeded; Master 0/1/0; Worker 0/2/0; "
     "completed\n"},
};

static void test_status__table(void **state)
{
	(void)state;
	worlds_check(status_rows, sizeof(status_rows) / sizeof(status_rows[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status__table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
