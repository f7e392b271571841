/* SPDX-License-Identifier: Apache-2.0 */
/* When a job may run under a gang scheduler (v1-behaviour B.8). */
#include "base/mem.h"
#include "engine/decide/worlds.h"

#define GROUP "{'apiVersion':'v1','kind':'PodGroup','metadata':{'name':'j'}}"
#define VOLCANO "gang volcano; wants [" GROUP "]; "
#define PLUGINS "gang scheduler-plugins; wants [" GROUP "]; "
#define WAITING "status: Created=True/PyTorchJobCreated\n"
#define STARTING                                                                                           \
	"create pod j-master-0\ncreate pod j-worker-0\ncreate service j-master-0\ncreate service j-worker-0\n" \
	"status: Created=True/PyTorchJobCreated; Master 0/0/0; Worker 0/0/0; started\n"
#define PAIR "Master=OnFailure Worker=OnFailure"

static const struct worlds_row gang_rows[] = {
	{"B.8 the PodGroup comes first", PAIR, VOLCANO, "create object v1 PodGroup j\n" WAITING},
	{"B.8 a PodGroup that is being made is none yet", PAIR, VOLCANO "object PodGroup j hash=same coming", WAITING},
	{"B.8 Volcano: a PodGroup without phase, or Pending, holds pods back", PAIR,
     VOLCANO "object PodGroup j hash=same idle", WAITING},
	{"B.8 Volcano: one that goes, too", PAIR, VOLCANO "object PodGroup j hash=same deleting", WAITING},
	{"B.8 the coscheduling plugin has pods made at once", PAIR, PLUGINS "object PodGroup j hash=same idle", STARTING},
	{"B.8 Volcano: any other phase lets them be made", PAIR, VOLCANO "object PodGroup j hash=same", STARTING},
	{"B.8 no gang scheduler, no PodGroup", PAIR, "", STARTING},
	{"B.8 a deadline does not run in a queue", PAIR " deadline=5",
     VOLCANO "conditions Created; object PodGroup j hash=same idle", "status: Created=True/PyTorchJobCreated\n"},
	{"B.8 what runs goes on, and nothing is made anew", PAIR,
     VOLCANO "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 1/0/0; all Running; gone "
             "worker-0; object PodGroup j hash=same idle; ledger {'types':{'Worker':{'lost':'0'}}}",
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 0/0/0; "
     "started\n"},
	{"B.8 a template that names another scheduler is reported once, with the start", "scheduler=mine Worker=OnFailure",
     VOLCANO "object PodGroup j hash=same",
     "create pod j-worker-0\ncreate service j-worker-0\n"
     "event Warning SetPodTemplateSchedulerName: Another scheduler is specified when gang-scheduling is enabled and it "
     "will not be overwritten\n"
     "status: Created=True/PyTorchJobCreated; Worker 0/0/0; started\n"},
	{"B.8 the gang's own scheduler may be named", "scheduler=volcano Worker=OnFailure",
     VOLCANO "object PodGroup j hash=same",
     "create pod j-worker-0\ncreate service j-worker-0\n"
     "status: Created=True/PyTorchJobCreated; Worker 0/0/0; started\n"},
	{"B.8 a finished job gives its PodGroup back", PAIR,
     "gang volcano; wants []; conditions Created Succeeded; completed -5; object PodGroup j",
     "delete object v1 PodGroup j uid s-j\n"},
	{"B.8 a finished job that wants one gets none", PAIR, VOLCANO "conditions Created Succeeded; completed -5",
     "done\n"},
	{"B.8 a suspended job gives its PodGroup back", PAIR " suspend",
     "gang volcano; wants []; conditions Created Suspended; object PodGroup j",
     "delete object v1 PodGroup j uid s-j\n"},
};

static void test_gang__table(void **state)
{
	(void)state;
	worlds_check(gang_rows, sizeof(gang_rows) / sizeof(gang_rows[0]));
}

static void test_gang__the_time_of_waiting_is_written_once(void **state)
{
	struct worlds *worlds = worlds_new(PAIR, VOLCANO "object PodGroup j hash=same idle; conditions Created");
	rh_auto_plan plan = {0};

	(void)state;
	worlds_decide(worlds, &plan);
	assert_true(plan.write_status);
	assert_int_equal(plan.status.reconciled_at, worlds->now);
	assert_int_equal(plan.status.started_at, 0);
	worlds->job->status.reconciled_at = worlds->now;
	worlds->now += 60 * 1000000;
	rh_plan_deinit(&plan);
	worlds_decide(worlds, &plan);
	assert_true(rh_plan_is_empty(&plan));
	worlds_free(worlds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gang__table),
		cmocka_unit_test(test_gang__the_time_of_waiting_is_written_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
