/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that wait for one that does not come, as the log of rank 0 has it. */
#include "engine/decide/worlds.h"

#define RUNS "status: Created=True/PyTorchJobCreated Running=True/PyTorchJobRunning"
#define COUNTS "; Master 1/0/0; Worker 2/0/0; started\n"
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
