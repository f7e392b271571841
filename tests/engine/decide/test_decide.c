/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the rules, and what makes a job run (v1-behaviour 0, C.1, E).
 */
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "engine/decide/worlds.h"

static const struct worlds_row decide_runs[] = {
	{"0-3 a new job is created and started", "", "",
     "create pod j-master-0\n"
     "create pod j-worker-0\n"
     "create service j-master-0\n"
     "create service j-worker-0\n"
     "status: Created=True/PyTorchJobCreated; Master 0/0/0; Worker 0/0/0; started\n"},
	{"0.4 another manager's job is left alone", "managedBy=kueue.x-k8s.io/multikueue", "", "done\n"},
	{"B.6 our own manager is named", "managedBy=kubeflow.org/training-operator", "",
     "create pod j-master-0\n"
     "create pod j-worker-0\n"
     "create service j-master-0\n"
     "create service j-worker-0\n"
     "status: Created=True/PyTorchJobCreated; Master 0/0/0; Worker 0/0/0; started\n"},
	{"index 0 of each type is first; a create under way is waited for", "",
     "conditions Created; started -1; counts Master 0/0/0; counts Worker 0/0/0; pod master-0 Pending uid=; pod "
     "worker-0 Pending uid=",
     "create service j-master-0\n"
     "create service j-worker-0\n"},
	{"the rest follows when index 0 exists", "",
     "conditions Created; started -1; counts Master 0/0/0; counts Worker 0/0/0; pod master-0 Pending; service "
     "master-0; pod worker-0 Pending; service worker-0",
     "create pod j-worker-1\n"
     "create service j-worker-1\n"},
	{"each type waits for its own index 0", "",
     "conditions Created; started -1; counts Master 0/0/0; counts Worker 0/0/0; pod worker-0 Pending; service "
     "worker-0; service master-0",
     "create pod j-master-0\n"
     "create pod j-worker-1\n"
     "create service j-worker-1\n"},
	{"an idle job needs nothing", "", WORLDS_RUNNING, ""},
	{"E.5-1 the master makes it Running", "",
     "conditions Created; started -1; counts Master 0/0/0; counts Worker 0/0/0; all Pending; pod master-0 "
     "Running",
     "status: Created=True/PyTorchJobCreated Running=True/PyTorchJobRunning; Master 1/0/0; Worker 0/0/0; "
     "started\n"},
	{"E.5-1 a worker alone does not", "",
     "conditions Created; started -1; counts Master 0/0/0; counts Worker 0/0/0; all Pending; pod worker-0 "
     "Running",
     "status: Created=True/PyTorchJobCreated; Master 0/0/0; Worker 1/0/0; started\n"},
	{"E.5-1 without a master a worker does", "Worker=OnFailure*2",
     "conditions Created; started -1; counts Worker 0/0/0; all Pending; pod worker-1 Running",
     "status: Created=True/PyTorchJobCreated Running=True/PyTorchJobRunning; Worker 1/0/0; started\n"},
	{"a worker that succeeds is remembered", "", WORLDS_RUNNING "; pod worker-1 Succeeded",
     "ledger: attempt 0; Worker succeeded=1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 0\n"
     "status: Created=True/PyTorchJobCreated Running=True/PyTorchJobRunning; Master 1/0/0; Worker 1/1/0; "
     "started\n"},
	{"a worker that succeeded and whose pod is gone is not run again", "",
     "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 1/1/0; all Running; gone "
     "worker-1; ledger {'types':{'Worker':{'succeeded':'1'}}}",
     ""},
	{"E.4 a count of a type that is gone goes", "Worker=OnFailure",
     "conditions Created Running; started -1; counts Master 1/0/0; counts Worker 1/0/0; all Running",
     "status: Created=True/PyTorchJobCreated Running=True/PyTorchJobRunning; Worker 1/0/0; started\n"},
};

static const struct worlds_row decide_pods[] = {
	{"C.1 foreign pods are no pods of the job", "Worker=Never",
     "conditions Created; started -1; counts Worker 0/0/0; pod worker-0 Running owner=other; pod worker-0 "
     "Running uid=x owner=other",
     "create pod j-worker-0\n"
     "create service j-worker-0\n"},
	{"of two pods for one index the elder counts", "Worker=OnFailure",
     "conditions Created Running; started -100; counts Worker 1/0/0; all Running; second worker-0 Running "
     "uid=younger name=zz created=-5",
     "ledger: attempt 0; counted younger\n"
     "delete pod zz uid younger\n"},
	{"of two pods for one index the living counts", "Worker=OnFailure",
     "conditions Created Running; started -100; counts Worker 1/0/0; service worker-0; pod worker-0 Failed "
     "code=1 created=-200 name=zz uid=dead; second worker-0 Running uid=alive",
     "ledger: attempt 0; counted dead\n"
     "delete pod zz uid dead\n"},
	{"a pod whose index label is invalid is ignored", "Worker=OnFailure",
     "conditions Created Running; started -100; counts Worker 1/0/0; all Running; second worker-0 Running uid=x "
     "index=-1; second worker-0 Running uid=y type=chief",
     ""},
};

static const struct worlds_row decide_reports[] = {
	{"C.2 a template's restartPolicy is reported once", "Master=OnFailure template=x Worker=OnFailure", "",
     "create pod j-master-0\n"
     "create pod j-worker-0\n"
     "create service j-master-0\n"
     "create service j-worker-0\n"
     "event Warning SetPodTemplateRestartPolicy: Restart policy in pod template will be overwritten by "
     "restart policy in replica spec\n"
     "status: Created=True/PyTorchJobCreated; Master 0/0/0; Worker 0/0/0; started\n"},
	{"F.1 a pod that cannot start is reported once", "",
     "conditions Created; started -1; counts Master 0/0/0; counts Worker 0/0/0; all Pending; pod worker-1 "
     "Pending waiting=ErrImagePull message=no_such_image; pod worker-0 Pending waiting=Unschedulable "
     "message=0/3_nodes; pod "
     "master-0 Pending waiting=ContainerCreating",
     "ledger: attempt 0; counted waiting/u-worker-0 waiting/u-worker-1\n"
     "event Warning Unschedulable: Error pod j-worker-0 condition message: 0/3 nodes\n"
     "event Warning ErrImagePull: Error pod j-worker-1 waiting message: no such image\n"},
	{"F.1 and not again", "",
     "conditions Created; started -1; counts Master 0/0/0; counts Worker 0/0/0; all Pending; pod worker-1 "
     "Pending waiting=ImagePullBackOff message=back-off; ledger {'counted':['waiting/u-worker-1']}",
     ""},
};

static const struct worlds_row decide_refuses[] = {
	{"A.5 a new job that breaks a rule fails", "Master=OnFailure*2", "",
     "event Warning PyTorchJobFailedValidation: PyTorchJob failed validation because "
     "spec.pytorchReplicaSpecs[Master].replicas: Forbidden: must be 1\n"
     "status: Created=True/PyTorchJobCreated Failed=True/PyTorchJobFailedValidation; completed\n"},
	{"A.5 one that has started is only reported", "Master=OnFailure*2",
     "conditions Created Running; started -1; counts Master 2/0/0; all Running",
     "ledger: attempt 0; counted invalid/6f24792d97f558ce\n"
     "event Warning PyTorchJobFailedValidation: PyTorchJob failed validation because "
     "spec.pytorchReplicaSpecs[Master].replicas: Forbidden: must be 1\n"},
	{"A.5 more replicas than can be decided about", "kind=ToyJob Worker=Never*2000000", "",
     "event Warning ToyJobFailedValidation: ToyJob failed validation because spec.toyReplicaSpecs: Invalid "
     "value: 2000000: must be at most 1000000 replicas\n"
     "status: Created=True/ToyJobCreated Failed=True/ToyJobFailedValidation; completed\n"},
};

static const struct worlds_row decide_kinds[] = {
	{"a job without Services and selectors", "kind=ToyJob Worker=Never*2", "",
     "create pod j-worker-0\n"
     "status: Created=True/ToyJobCreated; Worker 0/0/0; started\n"},
	{"scaled to nothing", "kind=ToyJob Worker=Never*0", "conditions Created; started -1",
     "status: Created=True/ToyJobCreated; Worker 0/0/0; started\n"},
	{"pods of a type that an object makes are none of the core's", "kind=OuterJob Launcher=Never Worker=Never*2", "",
     "create pod j-worker-0\n"
     "status: Created=True/OuterJobCreated; Launcher 0/0/0; Worker 0/0/0; started\n"},
};

static void test_decide__runs(void **state)
{
	(void)state;
	worlds_check(decide_runs, sizeof(decide_runs) / sizeof(*decide_runs));
}

static void test_decide__pods(void **state)
{
	(void)state;
	worlds_check(decide_pods, sizeof(decide_pods) / sizeof(*decide_pods));
}

static void test_decide__reports(void **state)
{
	(void)state;
	worlds_check(decide_reports, sizeof(decide_reports) / sizeof(*decide_reports));
}

static void test_decide__refuses(void **state)
{
	(void)state;
	worlds_check(decide_refuses, sizeof(decide_refuses) / sizeof(*decide_refuses));
}

static void test_decide__kinds(void **state)
{
	(void)state;
	worlds_check(decide_kinds, sizeof(decide_kinds) / sizeof(*decide_kinds));
}

/* Messages of conditions, which a printed plan leaves out. */
static void test_decide__messages(void **state)
{
	static const struct {
		const char *job;
		const char *world;
		const char *type;
		const char *message;
	} rows[] = {
		{"", "", "Created", "PyTorchJob j is created."},
		{"", "conditions Created; pod master-0 Running", "Running", "PyTorchJob j is running."},
		{"Worker=Never", "conditions Created; pod worker-0 Running", "Running", "PyTorchJob default/j is running."},
		{"", "conditions Created; pod master-0 Succeeded", "Succeeded", "PyTorchJob j is successfully completed."},
		{"suspend", "", "Suspended", "PyTorchJob j is suspended."},
		{"", "conditions Created Suspended", "Suspended", "PyTorchJob j is resumed."},
		{"", WORLDS_RUNNING "; pod worker-0 Failed code=1", "Restarting",
	     "PyTorchJob j is restarting because 1 Worker replica(s) failed."},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct worlds *worlds = worlds_new(rows[i].job, rows[i].world);
		const struct rh_condition *condition;
		rh_auto_plan plan = {0};

		worlds_decide(worlds, &plan);
		condition = rh_job_status_condition(&plan.status, rows[i].type);
		assert_non_null(condition);
		assert_string_equal(condition->message, rows[i].message);
		worlds_free(worlds);
	}
}

/* A plan has no more creates than it may, index 0 excepted none before it, and the next plan has the rest. */
static void test_decide__portions(void **state)
{
	struct worlds *worlds = worlds_new("kind=ToyJob Worker=Never*600",
	                                   "conditions Created; started -1; counts Worker 0/0/0; pod worker-0 Pending");
	size_t created = 1;

	(void)state;
	while (created < 600) {
		rh_auto_plan plan = {0};

		worlds_decide(worlds, &plan);
		assert_in_range(plan.action_count, 1, RH_PLAN_CREATES_MAX);
		for (size_t i = 0; i < plan.action_count; i++)
			worlds_add_pod(worlds, plan.actions[i].type, plan.actions[i].index, NULL);
		created += plan.action_count;
	}
	assert_int_equal(created, 600);
	worlds_free(worlds);
}

/* What cannot be decided is an error that names the job's field, and no plan. */
static void test_decide__errors(void **state)
{
	struct worlds *worlds = worlds_new("kind=ToyJob Worker=Never*2000000", "conditions Created; started -1");
	struct rh_world world = worlds_view(worlds);
	struct rh_plan plan = {0};
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(rh_decide(&world, &plan, &err), RH_EINVAL);
	assert_string_equal(err.message, "spec.toyReplicaSpecs: wants 2000000 replicas; at most 1000000 can be run");
	assert_int_equal(plan.action_count, 0);
	worlds_free(worlds);
}

/* Fails the first, the second, … allocation until none fails. */
static void decide_torture(const char *job, const char *text)
{
	struct worlds *worlds = worlds_new(job, text);
	struct rh_world world = worlds_view(worlds);
	int r = RH_ENOMEM;

	for (long i = 0; r == RH_ENOMEM; i++) {
		rh_auto_plan plan = {0};
		struct rh_error err = {0};

		assert_true(i < 10000);
		rh_mem_fail_after(i);
		r = rh_decide(&world, &plan, &err);
		rh_mem_fail_after(-1);
		assert_true(r == 0 || r == RH_ENOMEM);
		assert_true(r == 0 || plan.action_count == 0);
	}
	worlds_free(worlds);
}

static void test_decide__out_of_memory(void **state)
{
	(void)state;
	decide_torture("", "");
	decide_torture("Master=OnFailure*2", "");
	decide_torture("Master=OnFailure*2", WORLDS_RUNNING);
	decide_torture("", WORLDS_RUNNING "; pod worker-0 Failed code=1 at=-3 lines=x; pod worker-1 Succeeded restarts=1");
	decide_torture("Master=Never Worker=Never*2",
	               WORLDS_RUNNING "; pod worker-0 Failed code=1; second worker-1 Running uid=z");
	decide_torture("scope=job", WORLDS_RUNNING "; pod worker-0 Failed code=1 at=-3 restarts=3; gone worker-1");
	decide_torture("scope=job",
	               "conditions Created Restarting; pod worker-0 Failed code=1 at=-3; ledger {'stopping':true}");
	decide_torture("backoff=0", WORLDS_RUNNING "; pod worker-0 Failed code=1 at=-3");
	decide_torture("clean=All ttl=0",
	               "conditions Created Restarting Succeeded; all Running; object A b; wants [{'kind':'A'}]");
	decide_torture("suspend", WORLDS_RUNNING);
	decide_torture("", "conditions Created Suspended; ledger {'stopping':true,'types':{'Worker':{'succeeded':'1'}}}");
	decide_torture("", "conditions Created; all Pending; pod worker-1 Pending waiting=A message=b; service worker-5; "
	                   "pod worker-9 Pending");
}

/* A large job at rest is decided without output, and one whose pods all fail at once has a bounded ledger. */
static void test_decide__large(void **state)
{
	struct worlds *worlds =
		worlds_new("Master=OnFailure Worker=OnFailure*999",
	               "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 999/0/0; "
	               "all Running");
	rh_auto_free char *plan = worlds_plan(worlds);

	(void)state;
	assert_string_equal(plan, "");
	worlds_free(worlds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decide__runs),          cmocka_unit_test(test_decide__pods),
		cmocka_unit_test(test_decide__reports),       cmocka_unit_test(test_decide__refuses),
		cmocka_unit_test(test_decide__kinds),         cmocka_unit_test(test_decide__messages),
		cmocka_unit_test(test_decide__portions),      cmocka_unit_test(test_decide__errors),
		cmocka_unit_test(test_decide__out_of_memory), cmocka_unit_test(test_decide__large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
