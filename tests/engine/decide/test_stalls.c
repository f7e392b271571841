/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that wait for one that does not come, as the log of rank 0 has it. */
#include "engine/decide/worlds.h"

#define RUNS "status: Created=True/PyTorchJobCreated Running=True/PyTorchJobRunning"
#define COUNTS "; Master 1/0/0; Worker 2/0/0; started\n"
#define STALLED RUNS " Stalled=True/PyTorchJobRankMissing"
#define IPS "pod master-0 Running ip=10.0.0.0; pod worker-0 Running ip=10.0.0.1; pod worker-1 Running ip=10.0.0.2; "
#define NAMED "stalls 5 rank=2 at=10.0.0.2 since=-90 seen=0 " SAYS
#define EVICTS "evict pod j-worker-1 uid u-worker-1\n"
#define AGAIN                                                                                                      \
	"event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed.\nstatus: " \
	"Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 1/0/"
#define RESTARTS                                                                                                  \
	"delete pod j-worker-0 uid u-worker-0\ndelete pod j-master-0 uid u-master-0\ndelete pod j-worker-1 uid "      \
	"u-worker-1\nevent Warning PyTorchJobRestarting: PyTorchJob j is restarting all replicas: " SAYS "\nstatus: " \
	"Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting" COUNTS
#define SAYS "rank 1 has waited 12 s in number 3, barrier"

static const struct worlds_row rows[] = {
	{"the log of rank 0 is read", "", WORLDS_RUNNING "; stalls 0",
     "read log of rank 0, j-master-0/pytorch\nwake at 2026-01-01T00:00:30Z\n"},
	{"of its first worker, where there is no master", "Worker=OnFailure*2",
     "conditions Created Running; started -100; counts Worker 2/0/0; pod worker-0 Running; service worker-0; pod "
     "worker-1 Running; service worker-1; stalls 0",
     "read log of rank 0, j-worker-0/pytorch\nwake at 2026-01-01T00:00:30Z\n"},
	{"not before it is due", "", WORLDS_RUNNING "; stalls 5", "wake at 2026-01-01T00:00:05Z\n"},
	{"a clock that was set back does not count", "", WORLDS_RUNNING "; stalls 700",
     "read log of rank 0, j-master-0/pytorch\nwake at 2026-01-01T00:00:30Z\n"},
	{"nor while it does not run", "",
     "conditions Created; started -100; counts Master 0/0/0; counts Worker 0/0/0; pod master-0 Pending; service "
     "master-0; pod worker-0 Pending; service worker-0; pod worker-1 Pending; service worker-1; stalls 0",
     ""},
	{"what it says is a condition", "", WORLDS_RUNNING "; stalls 5 " SAYS,
     RUNS " Stalled=True/PyTorchJobRankMissing" COUNTS "wake at 2026-01-01T00:00:05Z\n"},
	{"what the store refuses comes first", "", WORLDS_RUNNING "; refused Pod j-worker-1; stalls 5 " SAYS,
     RUNS " Stalled=True/PyTorchJobCreateRefused" COUNTS "wake at 2026-01-01T00:00:05Z\n"},
	{"a rank that does not come restarts the job", "stalls=restart backoff=0", WORLDS_RUNNING "; " IPS NAMED,
     "ledger: attempt 0 stopping; Master job=1; Worker job=1 stalled=1\n" RESTARTS},
	{"not before the time is over", "stalls=restart after=91s", WORLDS_RUNNING "; " IPS NAMED,
     STALLED COUNTS "wake at 2026-01-01T00:00:01Z\n"},
	{"not by a report that is older", "stalls=restart",
     WORLDS_RUNNING "; " IPS "stalls 5 rank=2 at=10.0.0.2 since=-90 seen=-31 " SAYS,
     "read log of rank 0, j-master-0/pytorch\n" STALLED COUNTS "wake at 2026-01-01T00:00:30Z\n"},
	{"nor when others say that it is that of an earlier pod", "stalls=restart",
     WORLDS_RUNNING "; " IPS "stalls 5 rank=2 at=10.0.0.2 since=-90 seen=0 by=gone " SAYS,
     "wake at 2026-01-01T00:00:05Z\n"},
	{"a report of the log may have no address", "stalls=restart",
     WORLDS_RUNNING "; " IPS "stalls 5 rank=2 since=-90 seen=0 by=u-master-0 " SAYS,
     "ledger: attempt 0 stopping; Master stalled=1; Worker job=2\n" RESTARTS},
	{"one with the address of a pod that is gone is over", "stalls=restart",
     WORLDS_RUNNING "; " IPS "stalls 5 rank=2 at=10.0.0.9 since=-90 seen=0 by=u-master-0 " SAYS,
     STALLED COUNTS "wake at 2026-01-01T00:00:05Z\n"},
	{"pods may share the address of their node", "stalls=restart",
     WORLDS_RUNNING "; pod master-0 Running ip=10.0.0.2; pod worker-0 Running ip=10.0.0.1; pod worker-1 Running "
                    "ip=10.0.0.2; " NAMED,
     "ledger: attempt 0 stopping; Master stalled=1; Worker job=2\n" RESTARTS},
	{"its pod is evicted", "stalls=evict", WORLDS_RUNNING "; " IPS NAMED,
     "ledger: attempt 0; counted stalled/Worker-1\n" EVICTS STALLED COUNTS "wake at 2026-01-01T00:00:05Z\n"},
	{"and again when the rank is found missing again", "stalls=evict",
     WORLDS_RUNNING "; " IPS "stalls 5 rank=2 at=10.0.0.2 since=-90 seen=0 tried=-30 refusal=budget " SAYS
                    "; ledger {'counted':['stalled/Worker-1']}",
     EVICTS STALLED COUNTS "wake at 2026-01-01T00:00:05Z\n"},
	{"once for each time", "stalls=evict",
     WORLDS_RUNNING "; " IPS "stalls 5 rank=2 at=10.0.0.2 since=-90 seen=0 tried=0 " SAYS
                    "; ledger {'counted':['stalled/Worker-1']}",
     STALLED COUNTS "wake at 2026-01-01T00:00:05Z\n"},
	{"not when it is known by nothing", "stalls=evict",
     WORLDS_RUNNING "; " IPS "stalls 5 rank=2 at=10.0.0.9 since=-90 seen=0 " SAYS,
     STALLED COUNTS "wake at 2026-01-01T00:00:05Z\n"},
	{"nor when its pod is younger than the report", "stalls=evict",
     WORLDS_RUNNING "; " IPS "pod worker-1 Running ip=10.0.0.2 created=-80; " NAMED,
     STALLED COUNTS "wake at 2026-01-01T00:00:05Z\n"},
	{"nor when two pods have the address of their node", "stalls=evict",
     WORLDS_RUNNING "; " IPS "pod worker-0 Running ip=10.0.0.2; " NAMED,
     STALLED COUNTS "wake at 2026-01-01T00:00:05Z\n"},
	{"nor more often than the job says", "stalls=evict limit=2",
     WORLDS_RUNNING "; " IPS NAMED "; ledger {'types':{'Worker':{'restarts':{'stalled':2}}}}",
     STALLED COUNTS "wake at 2026-01-01T00:00:05Z\n"},
	{"an eviction goes when ranks go on", "stalls=evict",
     WORLDS_RUNNING "; stalls 5; ledger {'counted':['stalled/Worker-1']}",
     "ledger: attempt 0\nwake at 2026-01-01T00:00:05Z\n"},
	{"what is evicted does not count against backoffLimit", "stalls=evict backoff=0",
     WORLDS_RUNNING "; pod worker-1 Running deleting; stalls 5; ledger {'counted':['stalled/Worker-1']}",
     "ledger: attempt 0; Worker stalled=1 lost=1; counted u-worker-1; fault Worker-1 code -1 attempt 0\n" AGAIN
     "0; started\n"},
	{"nor as its exit", "stalls=evict backoff=0",
     WORLDS_RUNNING "; pod worker-1 Failed deleting code=1; stalls 5; ledger {'counted':['stalled/Worker-1']}",
     "ledger: attempt 0; Worker stalled=1 lost=1; counted u-worker-1; fault Worker-1 code 1 attempt 0\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 1\n"
     "event Warning PyTorchJobRestarting: job j is restarting because Worker replica(s) failed.\n" AGAIN
     "1; started\n"},
	{"it goes when ranks go on", "", WORLDS_RUNNING "; conditions Stalled=True/RankMissing; stalls 5",
     RUNS COUNTS "wake at 2026-01-01T00:00:05Z\n"},
};

static void test_stalls__table(void **state)
{
	(void)state;
	worlds_check(rows, sizeof(rows) / sizeof(rows[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stalls__table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
