/* SPDX-License-Identifier: Apache-2.0 */
/* What the store refuses, and children without owner. */
#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "engine/decide/worlds.h"

#define STATUS(more) "status: Created=True/PyTorchJobCreated" more "; Master 0/0/0; Worker 0/0/0; started\n"
#define STALLED STATUS(" Stalled=True/PyTorchJobCreateRefused")
#define BEGUN "conditions Created; started -100; counts Master 0/0/0; counts Worker 0/0/0; "

#define ALL_THERE                                                                                                  \
	BEGUN "pod master-0 Pending; service master-0; pod worker-0 Pending; service worker-0; pod worker-1 Pending; " \
		  "service worker-1; "
#define WANTED "wants [{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c'}}]"

static const struct worlds_row refusal_rows[] = {
	{"what is refused waits, and so does all of its kind", "",
     BEGUN "pod master-0 Pending; service master-0; pod worker-0 Pending; service worker-0; refused Pod j-worker-1 "
           "until=5",
     STALLED "wake at 2026-01-01T00:00:05Z\n"},
	{"then one is tried, not all", "",
     BEGUN "pod master-0 Pending; service master-0; refused Pod j-master-0 until=0; pod worker-0 Pending; service "
           "worker-0; conditions Stalled=True/CreateRefused",
     "create pod j-worker-1\ncreate service j-worker-1\n" STALLED},
	{"one at a time: another that is under way is the one", "",
     BEGUN "pod master-0 Pending; service master-0; refused Pod j-worker-0 until=0; pod worker-0 Pending uid=; service "
           "worker-0",
     STALLED},
	{"Services are another kind", "",
     BEGUN "pod master-0 Pending; pod worker-0 Pending; pod worker-1 Pending; refused Pod j-worker-1 until=5",
     "create service j-master-0\ncreate service j-worker-0\ncreate service j-worker-1\n" STALLED
     "wake at 2026-01-01T00:00:05Z\n"},
	{"of Services, too, one is tried", "",
     BEGUN "pod master-0 Pending; pod worker-0 Pending; pod worker-1 Pending; refused Service j-worker-1 until=0",
     "create service j-master-0\n" STALLED},
	{"a name that is taken holds nothing else up", "",
     BEGUN "pod master-0 Pending; service master-0; pod worker-0 Pending; service worker-0; service worker-1; refused "
           "Pod j-worker-7 single until=5",
     "create pod j-worker-1\n" STALLED},
	{"after a start the answer is waited for before the condition goes", "",
     BEGUN
     "conditions Stalled=True/CreateRefused; pod master-0 Pending; service master-0; pod worker-0 Pending; service "
     "worker-0; service worker-1",
     "create pod j-worker-1\n"},
	{"it goes when all is there", "", WORLDS_RUNNING "; conditions Stalled=True/CreateRefused",
     "status: Created=True/PyTorchJobCreated Running=True/PyTorchJobRunning; Master 1/0/0; Worker 2/0/0; started\n"},
	{"what of a further object may not be read", "", ALL_THERE WANTED "; refused ConfigMap c single what=read until=5",
     "create object v1 ConfigMap c\n" STATUS(" Stalled=True/PyTorchJobReadRefused")},
	{"an update is another matter", "",
     ALL_THERE WANTED "; object ConfigMap c hash=1; refused ConfigMap c single what=update until=5",
     "update object v1 ConfigMap c\n" STATUS(" Stalled=True/PyTorchJobUpdateRefused")},
	{"and so is a delete", "", ALL_THERE "wants []; object ConfigMap c; refused ConfigMap c single what=delete until=5",
     "delete object v1 ConfigMap c uid s-c\n" STATUS(" Stalled=True/PyTorchJobDeleteRefused")},
	{"an update that is not wanted any more holds nothing up", "",
     ALL_THERE "refused ConfigMap c single what=update until=5; conditions Stalled=True/UpdateRefused", STATUS("")},
	{"after a start the answer about an object is waited for, too", "",
     ALL_THERE WANTED "; conditions Stalled=True/ReadRefused", "create object v1 ConfigMap c\n"},
	{"a message is not written again when another controller has written a different one", "",
     ALL_THERE WANTED "; conditions Stalled=True/CreateRefused; refused ConfigMap c single what=read until=5; "
                      "stalled PyTorchJob j cannot read ConfigMap c: no",
     "create object v1 ConfigMap c\n"},
	{"nor when another took it away", "",
     ALL_THERE WANTED "; refused ConfigMap c single what=read; stalled PyTorchJob j cannot read ConfigMap c: no",
     "create object v1 ConfigMap c\n"},
	{"another message is written", "",
     ALL_THERE WANTED "; refused ConfigMap c single what=read; stalled PyTorchJob j cannot read ConfigMap c: yes",
     "create object v1 ConfigMap c\n" STATUS(" Stalled=True/PyTorchJobReadRefused")},
	{"a suspended job is not stalled", "suspend",
     "conditions Created Suspended Stalled=True/CreateRefused; refused Pod j-worker-1",
     "status: Created=True/PyTorchJobCreated Suspended=True/PyTorchJobSuspended\n"},
	{"a finished one neither", "", "conditions Created Succeeded Stalled; completed -5; refused Pod j-worker-1",
     "status: Created=True/PyTorchJobCreated Succeeded=True/PyTorchJobSucceeded; completed\n"},
};

static void test_refusal__table(void **state)
{
	(void)state;
	worlds_check(refusal_rows, sizeof(refusal_rows) / sizeof(refusal_rows[0]));
}

/* @return the message of the condition Stalled that is planned, owned by the caller */
static char *stalled_message(const struct worlds *worlds)
{
	rh_auto_plan plan = {0};
	const struct rh_condition *condition;

	worlds_decide(worlds, &plan);
	condition = rh_job_status_condition(&plan.status, RH_CONDITION_STALLED);
	assert_non_null(condition);
	assert_true(condition->status);
	return rh_strdup(condition->message);
}

static void test_refusal__the_condition_has_the_current_message(void **state)
{
	struct worlds *worlds =
		worlds_new("", BEGUN "refused Pod j-worker-0 until=5 message=first; refused Service x message=z");
	rh_auto_free char *first = stalled_message(worlds);
	rh_auto_free char *then = NULL;

	(void)state;
	assert_string_equal(first, "PyTorchJob j cannot create Pod j-worker-0: first");
	assert_int_equal(rh_job_status_set(&worlds->job->status, RH_CONDITION_STALLED, true, "PyTorchJobCreateRefused",
	                                   first, worlds->now),
	                 1);
	worlds_change(worlds, "");
	rh_free(worlds->refusals[0].message);
	worlds->refusals[0].message = rh_strdup("second");
	then = stalled_message(worlds);
	assert_string_equal(then, "PyTorchJob j cannot create Pod j-worker-0: second");
	worlds_free(worlds);
}

/* A thousand that are refused are one condition and one create. */
static void test_refusal__a_large_job_asks_once(void **state)
{
	struct worlds *worlds =
		worlds_new("Worker=OnFailure*1000", "conditions Created; started -100; pod worker-0 Pending; "
	                                        "service worker-0; refused Pod j-worker-1 until=0");
	rh_auto_plan plan = {0};

	(void)state;
	worlds_decide(worlds, &plan);
	assert_int_equal(plan.action_count, 2); /* a pod and its Service */
	worlds_free(worlds);
}

static const struct worlds_row orphan_rows[] = {
	{"0.7 a pod and a Service without owner become the job's", "",
     BEGUN "pod master-0 Running owner=; service master-0 owner=; pod worker-0 Pending; service worker-0; pod worker-1 "
           "Pending; service worker-1",
     "adopt pod j-master-0 uid u-master-0\nadopt service j-master-0 uid s-j-master-0\n"},
	{"another's are not asked for", "",
     BEGUN "pod master-0 Running owner=x; service master-0; pod worker-0 Pending; service worker-0; pod worker-1 "
           "Pending; service worker-1",
     "create pod j-master-0\n"},
	{"one that has ended says nothing about this job", "",
     BEGUN "pod master-0 Succeeded owner=; service master-0; pod worker-0 Pending; service worker-0; pod worker-1 "
           "Pending; service worker-1",
     "create pod j-master-0\n"},
	{"one that goes is waited for", "",
     BEGUN "pod master-0 Running owner= deleting; service master-0; pod worker-0 Pending; service worker-0; pod "
           "worker-1 Pending; service worker-1",
     "create pod j-master-0\n"},
	{"one of another name is not the replica's", "",
     BEGUN "pod master-0 Running owner= name=mine; service master-0; pod worker-0 Pending; service worker-0; pod "
           "worker-1 Pending; service worker-1",
     "create pod j-master-0\n"},
	{"where the job has its own, a second one is left single", "",
     BEGUN "pod master-0 Pending; second master-0 Running owner=; service master-0; pod worker-0 Pending; service "
           "worker-0; pod worker-1 Pending; service worker-1",
     ""},
	{"a suspended job adopts nothing", "suspend", "conditions Created Suspended; pod master-0 Running owner=", ""},
};

static void test_refusal__orphans(void **state)
{
	(void)state;
	worlds_check(orphan_rows, sizeof(orphan_rows) / sizeof(orphan_rows[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusal__table),
		cmocka_unit_test(test_refusal__the_condition_has_the_current_message),
		cmocka_unit_test(test_refusal__a_large_job_asks_once),
		cmocka_unit_test(test_refusal__orphans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
