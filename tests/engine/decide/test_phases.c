/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs that end, have ended, or are suspended (v1-behaviour B.1, B.2, B.4, B.5, E).
 */
#include "base/mem.h"
#include "engine/decide/worlds.h"

static const struct worlds_row phases_ends[] = {
	{"E.5-1 the master's success ends the job", "", WORLDS_RUNNING "; pod master-0 Succeeded",
     "ledger: attempt 0; Master succeeded=0\n"
     "event Normal ExitedWithCode: Pod: default.j-master-0 exited with code 0\n"
     "event Normal PyTorchJobSucceeded: PyTorchJob j is successfully completed.\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning "
     "Succeeded=True/PyTorchJobSucceeded; Master 0/1/0; Worker 0/2/0; started; completed\n"},
	{"E.5-1 without a master all workers'", "Worker=OnFailure*2",
     "conditions Created Running; started -100; counts Worker 1/1/0; all Succeeded; ledger "
     "{'types':{'Worker':{'succeeded':'0'}}}",
     "ledger: attempt 0; Worker succeeded=0-1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 0\n"
     "event Normal PyTorchJobSucceeded: PyTorchJob default/j successfully completed.\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning "
     "Succeeded=True/PyTorchJobSucceeded; Worker 0/2/0; started; completed\n"},
	{"E.6 a success before anybody saw it run", "Worker=OnFailure",
     "conditions Created; started -1; counts Worker 0/0/0; all Succeeded",
     "ledger: attempt 0; Worker succeeded=0\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-0 exited with code 0\n"
     "event Normal PyTorchJobSucceeded: PyTorchJob default/j successfully completed.\n"
     "status: Created=True/PyTorchJobCreated Succeeded=True/PyTorchJobSucceeded; Worker 0/1/0; started; "
     "completed\n"},
	{"E.5-4 an ExitCode failure has a completionTime", "Master=ExitCode Worker=ExitCode*2",
     WORLDS_RUNNING "; pod worker-1 Failed code=1 at=-3",
     "ledger: attempt 0; counted u-worker-1; fault Worker-1 code 1 attempt 0\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 1\n"
     "event Warning PyTorchJobFailed: job \"j\" is failing because \"Worker\" replica(s) failed. First fault: "
     "Worker-1 (pod j-worker-1, container pytorch) exited with code 1 at 2025-12-31T23:59:57Z.\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Failed=True/PyTorchJobFailed; "
     "Master 1/0/0; Worker 1/0/1; started; completed\n"},
};

static const struct worlds_row phases_clean_policy[] = {
	{"B.1 None: nothing goes", "clean=None",
     "conditions Created Running=False Succeeded; started -100; completed -5; counts Master 0/1/0; counts "
     "Worker 0/2/0; all Running; pod master-0 Succeeded",
     "done\n"},
	{"B.1 Running: what has not ended goes, with its Service", "clean=Running",
     "conditions Created Running=False Succeeded; started -100; completed -5; counts Master 0/1/0; counts "
     "Worker 0/2/0; all Running; pod master-0 Succeeded; pod worker-1 Pending",
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete service j-worker-0 uid s-j-worker-0\n"
     "delete service j-worker-1 uid s-j-worker-1\n"},
	{"B.1 All: all goes", "clean=All",
     "conditions Created Running=False Succeeded; started -100; completed -5; counts Master 0/1/0; counts "
     "Worker 0/2/0; all Running; pod master-0 Succeeded",
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-master-0 uid u-master-0\n"
     "delete service j-master-0 uid s-j-master-0\n"
     "delete service j-worker-0 uid s-j-worker-0\n"
     "delete service j-worker-1 uid s-j-worker-1\n"},
	{"B.1 Running: a Service whose pod has gone before it goes too", "clean=Running",
     "conditions Created Running=False Succeeded; started -100; completed -5; counts Master 0/1/0; counts "
     "Worker 0/2/0; all Succeeded; gone worker-1",
     "delete service j-worker-1 uid s-j-worker-1\n"},
	{"B.1 what is being deleted already is not deleted again", "clean=All",
     "conditions Created Running=False Succeeded; started -100; completed -5; counts Master 0/1/0; counts "
     "Worker 0/0/0; pod worker-0 Running deleting=9; service worker-0 deleting",
     ""},
};

static const struct worlds_row phases_ttl[] = {
	{"B.2 before its time", "ttl=10",
     "conditions Created Succeeded; started -100; completed -4; counts Master 0/1/0; counts Worker 0/2/0",
     "wake at 2026-01-01T00:00:06Z\n"
     "done\n"},
	{"B.2 at its time", "ttl=10",
     "conditions Created Succeeded; started -100; completed -10; counts Master 0/1/0; counts Worker 0/2/0",
     "delete job j uid job-uid\n"},
	{"B.2 the clock was set forward meanwhile", "ttl=10",
     "conditions Created Succeeded; started -100; completed -10; counts Master 0/1/0; counts Worker 0/2/0; set -9 5",
     "wake at 2026-01-01T00:00:05Z\n"
     "done\n"},
	{"B.2 a time of 0", "ttl=0",
     "conditions Created Succeeded; started -100; completed 0; counts Master 0/1/0; counts Worker 0/2/0",
     "delete job j uid job-uid\n"},
	{"B.2 a suspended job is not deleted", "ttl=10 suspend",
     "conditions Created Succeeded; started -100; completed -10; counts Master 0/1/0; counts Worker 0/2/0", "done\n"},
	{"B.2 the longest time", "ttl=2147483647",
     "conditions Created Succeeded; started -100; completed -10; counts Master 0/1/0; counts Worker 0/2/0",
     "wake at 2094-01-19T03:13:57Z\n"
     "done\n"},
};

/* A job that failed because it has too many replicas needs no further decision. */
static const struct worlds_row phases_too_many_replicas[] = {
	{"it has failed for that and is done", "kind=ToyJob Worker=Never*1000001",
     "conditions Created Failed; completed -5", "done\n"},
	{"its time is over", "kind=ToyJob Worker=Never*1000001 ttl=5", "conditions Created Failed; completed -5",
     "delete job j uid job-uid\n"},
	{"edited after its end: its pods and Services go", "clean=Running Worker=OnFailure*1000001",
     "conditions Created Failed; completed -5; pod worker-0 Running; service worker-0",
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete service j-worker-0 uid s-j-worker-0\n"},
};

static const struct worlds_row phases_deadline[] = {
	{"the deadline is that of an object of the plugin", "kind=OuterJob Launcher=Never Worker=Never deadline=99",
     "conditions Created; started -100; counts Launcher 0/0/0; counts Worker 1/0/0; pod worker-0 Running", ""},
	{"B.4 the deadline is a timer", "deadline=150", WORLDS_RUNNING, "wake at 2026-01-01T00:00:50Z\n"},
	{"B.4 a start within its second is not ended early", "deadline=100", WORLDS_RUNNING,
     "wake at 2026-01-01T00:00:00Z\n"},
	{"B.4 the clock was set forward: the job has not lasted longer for it", "deadline=99",
     WORLDS_RUNNING "; set -90 60", "wake at 2026-01-01T00:00:59Z\n"},
	{"B.4 the clock was set before the job started", "deadline=150", WORLDS_RUNNING "; set -170 60",
     "wake at 2026-01-01T00:00:50Z\n"},
	{"B.4 the deadline is over: all goes", "deadline=99 clean=None",
     WORLDS_RUNNING "; pod worker-1 Succeeded; ledger {'types':{'Worker':{'succeeded':'1'}}}",
     "ledger: attempt 0 end=deadline; Worker succeeded=1\n"
     "delete pod j-master-0 uid u-master-0\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete service j-master-0 uid s-j-master-0\n"
     "delete service j-worker-0 uid s-j-worker-0\n"
     "delete service j-worker-1 uid s-j-worker-1\n"
     "event Normal PyTorchJobFailed: Job j has failed because it was active longer than specified deadline\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Failed=True/PyTorchJobFailed; "
     "Master 1/0/0; Worker 2/0/0; started; completed\n"},
	{"B.4 what a limit ended is cleaned whatever the policy says", "deadline=99 clean=None",
     "conditions Created Running=False Failed; started -100; completed -1; counts Master 1/0/0; counts Worker "
     "2/0/0; all Running; ledger {'end':'deadline'}",
     "delete pod j-master-0 uid u-master-0\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete service j-master-0 uid s-j-master-0\n"
     "delete service j-worker-0 uid s-j-worker-0\n"
     "delete service j-worker-1 uid s-j-worker-1\n"},
	{"B.4 and then it is done", "deadline=99 clean=None",
     "conditions Created Running=False Failed; started -100; completed -1; counts Master 1/0/0; counts Worker "
     "2/0/0; ledger {'end':'deadline'}",
     "done\n"},
};

static const struct worlds_row phases_suspend[] = {
	{"B.5 created suspended", "suspend", "",
     "event Normal PyTorchJobSuspended: PyTorchJob j is suspended.\n"
     "status: Created=True/PyTorchJobCreated Suspended=True/PyTorchJobSuspended\n"},
	{"B.5 and nothing more", "suspend", "conditions Created Suspended", ""},
	{"B.5 suspended while it runs: first the status", "suspend",
     WORLDS_RUNNING "; ledger {'types':{'Worker':{'succeeded':'1'}}}",
     "event Normal PyTorchJobSuspended: PyTorchJob j is suspended.\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobSuspended "
     "Suspended=True/PyTorchJobSuspended; Master 0/0/0; Worker 0/0/0; started\n"},
	{"B.5 then the pods and Services", "suspend",
     "conditions Created Running=False/Suspended Suspended; started -100; counts Master 0/0/0; counts Worker "
     "0/0/0; all Running; pod worker-1 Running deleting=20",
     "delete pod j-master-0 uid u-master-0\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete service j-master-0 uid s-j-master-0\n"
     "delete service j-worker-0 uid s-j-worker-0\n"
     "delete service j-worker-1 uid s-j-worker-1\n"},
	{"B.5 all gone: nothing", "suspend",
     "conditions Created Running=False/Suspended Suspended; started -100; counts Master 0/0/0; counts Worker "
     "0/0/0",
     ""},
	{"B.5 resumed while pods still terminate: they are waited for", "",
     "conditions Created Running=False/Suspended Suspended; started -100; counts Master 0/0/0; counts Worker "
     "0/0/0; all Running; pod worker-1 Running deleting=20; pod worker-0 Running deleting=20",
     "delete pod j-master-0 uid u-master-0\n"},
	{"B.5 resumed", "",
     "conditions Created Running=False/Suspended Suspended; started -100; counts Master 0/0/0; counts Worker "
     "0/0/0",
     "event Normal PyTorchJobResumed: PyTorchJob j is resumed.\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobSuspended "
     "Suspended=False/PyTorchJobResumed; Master 0/0/0; Worker 0/0/0; started\n"},
	{"B.5 and it starts again", "",
     "conditions Created Running=False/Suspended Suspended=False/Resumed; started 0; counts Master 0/0/0; "
     "counts Worker 0/0/0",
     "create pod j-master-0\n"
     "create pod j-worker-0\n"
     "create service j-master-0\n"
     "create service j-worker-0\n"},
	{"B.5 suspended while it restarts", "suspend",
     "conditions Created Restarting; started -100; counts Master 1/0/0; counts Worker 1/0/0; all Running; gone "
     "worker-1; ledger {'types':{'Worker':{'restarts':{'exit':1},'lost':'1'}}}",
     "ledger: attempt 0; Worker exit=1\n"
     "event Normal PyTorchJobSuspended: PyTorchJob j is suspended.\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobSuspended "
     "Suspended=True/PyTorchJobSuspended; Master 0/0/0; Worker 0/0/0; started\n"},
	{"B.5 a job that has succeeded is not suspended", "suspend", WORLDS_RUNNING "; pod master-0 Succeeded",
     "ledger: attempt 0; Master succeeded=0\n"
     "event Normal ExitedWithCode: Pod: default.j-master-0 exited with code 0\n"
     "event Normal PyTorchJobSucceeded: PyTorchJob j is successfully completed.\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning "
     "Succeeded=True/PyTorchJobSucceeded; Master 0/1/0; Worker 0/2/0; started; completed\n"},
	{"B.5 a finished job is not suspended", "suspend",
     "conditions Created Succeeded; started -100; completed -10; counts Master 0/1/0; counts Worker 0/2/0", "done\n"},
	{"B.5 suspended: all ranks will run again, and the attempt that was being stopped is over", "suspend",
     "conditions Created Suspended; started -100; ledger {'attempt':4,'stopping':true,"
     "'types':{'Worker':{'restarts':{'exit':1},'succeeded':'0-1'}}}",
     "ledger: attempt 5; Worker exit=1\n"},
};

static const struct worlds_row phases_finished[] = {
	{"a finished job makes no pods", "",
     "conditions Created Running=False Succeeded; started -100; completed -5; counts Master 0/1/0; counts "
     "Worker 0/2/0",
     "done\n"},
	{"E.1 a failed job makes no pods", "",
     "conditions Created Failed; started -100; completed -5; counts Master 0/0/1; counts Worker 0/0/0", "done\n"},
	{"0.7-2 active replicas that V1 left are folded", "",
     "conditions Created Running=False Succeeded; started -100; completed -5; counts Master 0/1/0; counts "
     "Worker 2/0/0",
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning "
     "Succeeded=True/PyTorchJobSucceeded; Master 0/1/0; Worker 0/2/0; started; completed\n"},
	{"E.5-4 a completionTime that V1 forgot is the condition's time", "ttl=100",
     "conditions Created Failed; started -100; counts Master 1/0/0; counts Worker 1/0/1",
     "status: Created=True/PyTorchJobCreated Failed=True/PyTorchJobFailed; Master 1/0/0; Worker 1/0/1; "
     "started; completed\n"
     "wake at 2026-01-01T00:00:50Z\n"},
};

static void test_phases__ends(void **state)
{
	(void)state;
	worlds_check(phases_ends, sizeof(phases_ends) / sizeof(*phases_ends));
}

static void test_phases__clean_policy(void **state)
{
	(void)state;
	worlds_check(phases_clean_policy, sizeof(phases_clean_policy) / sizeof(*phases_clean_policy));
}

static void test_phases__ttl(void **state)
{
	(void)state;
	worlds_check(phases_ttl, sizeof(phases_ttl) / sizeof(*phases_ttl));
}

static void test_phases__too_many_replicas(void **state)
{
	(void)state;
	worlds_check(phases_too_many_replicas, sizeof(phases_too_many_replicas) / sizeof(*phases_too_many_replicas));
}

static void test_phases__deadline(void **state)
{
	(void)state;
	worlds_check(phases_deadline, sizeof(phases_deadline) / sizeof(*phases_deadline));
}

static void test_phases__suspend(void **state)
{
	(void)state;
	worlds_check(phases_suspend, sizeof(phases_suspend) / sizeof(*phases_suspend));
}

static void test_phases__finished(void **state)
{
	(void)state;
	worlds_check(phases_finished, sizeof(phases_finished) / sizeof(*phases_finished));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_phases__too_many_replicas), cmocka_unit_test(test_phases__ends),
		cmocka_unit_test(test_phases__clean_policy),      cmocka_unit_test(test_phases__ttl),
		cmocka_unit_test(test_phases__deadline),          cmocka_unit_test(test_phases__suspend),
		cmocka_unit_test(test_phases__finished),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
