/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restarts that a plugin wants: of one replica, of a type, of all (rh_services.restart).
 */
#include "engine/decide/worlds.h"

#define RUNNING "conditions Created Running; started -100; counts Worker 3/0/0; all Running"
#define BOTH "conditions Created Running; started -100; counts Worker 2/0/0; counts Chief 1/0/0; all Running"

static const struct worlds_row requested_replica[] = {
	{"one that runs is stopped, and counts one", "kind=ToyJob Worker=Never*3 again=Worker/1", RUNNING,
     "ledger: attempt 0; Worker plugin=1 again=1\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "event Warning ToyJobRestarting: ToyJob j is restarting Worker-1.\n"
     "status: Created=True/ToyJobCreated Restarting=True/ToyJobRestarting; Worker 3/0/0; started\n"},
	{"it goes on to stop: nothing counts again", "kind=ToyJob Worker=Never*3 again=Worker/1",
     RUNNING "; counts Worker 2/0/0; ledger {'types':{'Worker':{'restarts':{'plugin':1},'again':'1'}}}",
     "delete pod j-worker-1 uid u-worker-1\n"},
	{"while it terminates nothing is to do", "kind=ToyJob Worker=Never*3 again=Worker/1",
     RUNNING "; counts Worker 2/0/0; pod worker-1 Running deleting; ledger "
             "{'types':{'Worker':{'restarts':{'plugin':1},'again':'1'}}}",
     ""},
	{"its next pod comes when it is gone", "kind=ToyJob Worker=Never*3 again=Worker/1",
     RUNNING "; counts Worker 2/0/0; gone worker-1; ledger "
             "{'types':{'Worker':{'restarts':{'plugin':1},'again':'1'}}}",
     "ledger: attempt 0; Worker plugin=1\n"
     "create pod j-worker-1\n"},
	{"one that succeeded runs again", "kind=ToyJob Worker=Never*3 again=Worker/1",
     RUNNING "; counts Worker 2/1/0; gone worker-1; ledger {'types':{'Worker':{'succeeded':'1'}}}",
     "ledger: attempt 0; Worker plugin=1 again=1\n"
     "event Warning ToyJobRestarting: ToyJob j is restarting Worker-1.\n"
     "status: Created=True/ToyJobCreated Restarting=True/ToyJobRestarting; Worker 2/1/0; started\n"},
	{"a failure for good is not one", "kind=ToyJob Worker=ExitCode*3 again=Worker/1",
     RUNNING "; pod worker-1 Failed code=1",
     "ledger: attempt 0; Worker plugin=1 again=1; fault Worker-1 code 1 attempt 0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "event Warning ToyJobRestarting: ToyJob j is restarting Worker-1.\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 1\n"
     "status: Created=True/ToyJobCreated Restarting=True/ToyJobRestarting; Worker 2/0/1; started\n"},
	{"free", "kind=ToyJob Worker=Never*3 again=Worker/1!", RUNNING,
     "ledger: attempt 0; Worker job=1 again=1\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "event Warning ToyJobRestarting: ToyJob j is restarting Worker-1.\n"
     "status: Created=True/ToyJobCreated Restarting=True/ToyJobRestarting; Worker 3/0/0; started\n"},
	{"one that has not begun is left alone", "kind=ToyJob Worker=Never*3 again=Worker/1",
     "conditions Created; started -1; counts Worker 0/0/0; pod worker-0 Running",
     "create pod j-worker-1\n"
     "create pod j-worker-2\n"
     "status: Created=True/ToyJobCreated; Worker 1/0/0; started\n"},
	{"the limit ends the job, and nothing is stopped for a restart",
     "kind=ToyJob Worker=Never*3 again=Worker/1 backoff=0", RUNNING,
     "ledger: attempt 0 end=backoff\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete pod j-worker-2 uid u-worker-2\n"
     "event Normal ToyJobFailed: Job j has failed because it has reached the specified backoff limit\n"
     "status: Created=True/ToyJobCreated Running=False/ToyJobRunning Failed=True/ToyJobFailed; Worker 3/0/0; started; "
     "completed\n"},
};

static const struct worlds_row requested_type[] = {
	{"all of it stop, and count one; other types go on", "kind=ToyJob Worker=Never*2 Chief=Never again=Worker", BOTH,
     "ledger: attempt 0; Worker job=1 plugin=1 again=0-1\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "event Warning ToyJobRestarting: ToyJob j is restarting all Worker replica(s).\n"
     "status: Created=True/ToyJobCreated Restarting=True/ToyJobRestarting; Worker 2/0/0; Chief 1/0/0; started\n"},
	{"those that are gone wait for the others", "kind=ToyJob Worker=Never*2 Chief=Never again=Worker",
     BOTH "; counts Worker 0/0/0; gone worker-0; pod worker-1 Running deleting; ledger "
          "{'types':{'Worker':{'restarts':{'plugin':1},'again':'0-1'}}}",
     ""},
	{"then they come, index 0 first", "kind=ToyJob Worker=Never*2 Chief=Never again=Worker",
     BOTH "; counts Worker 0/0/0; gone worker-0; gone worker-1; ledger "
          "{'types':{'Worker':{'restarts':{'plugin':1},'again':'0-1'}}}",
     "ledger: attempt 0; Worker plugin=1\n"
     "create pod j-worker-0\n"},
	{"a token is carried out once", "kind=ToyJob Worker=Never*2 Chief=Never again=Worker@a", BOTH,
     "ledger: attempt 0; Worker job=1 plugin=1 again=0-1 token=a\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "event Warning ToyJobRestarting: ToyJob j is restarting all Worker replica(s).\n"
     "status: Created=True/ToyJobCreated Restarting=True/ToyJobRestarting; Worker 2/0/0; Chief 1/0/0; started\n"},
	{"and not again", "kind=ToyJob Worker=Never*2 Chief=Never again=Worker@a",
     BOTH "; ledger {'types':{'Worker':{'restarts':{'plugin':1},'token':'a'}}}", ""},
	{"another one is", "kind=ToyJob Worker=Never*2 Chief=Never again=Worker@b",
     BOTH "; ledger {'types':{'Worker':{'restarts':{'plugin':1},'token':'a'}}}",
     "ledger: attempt 0; Worker job=1 plugin=2 again=0-1 token=b\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "event Warning ToyJobRestarting: ToyJob j is restarting all Worker replica(s).\n"
     "status: Created=True/ToyJobCreated Restarting=True/ToyJobRestarting; Worker 2/0/0; Chief 1/0/0; started\n"},
	{"it goes before the restart of its replicas", "kind=ToyJob Worker=Never*2 Chief=Never again=Worker/0+Worker", BOTH,
     "ledger: attempt 0; Worker job=1 plugin=1 again=0-1\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "event Warning ToyJobRestarting: ToyJob j is restarting all Worker replica(s).\n"
     "status: Created=True/ToyJobCreated Restarting=True/ToyJobRestarting; Worker 2/0/0; Chief 1/0/0; started\n"},
	{"it waits for a restart in progress, and what it covers is no failure meanwhile",
     "kind=ToyJob Worker=ExitCode*3 again=Worker",
     RUNNING "; counts Worker 1/0/0; pod worker-0 Running deleting; pod worker-1 Failed code=1; ledger "
             "{'types':{'Worker':{'restarts':{'plugin':1},'again':'0'}}}",
     "ledger: attempt 0; Worker plugin=1 again=0; fault Worker-1 code 1 attempt 0\n"
     "status: Created=True/ToyJobCreated Running=True/ToyJobRunning; Worker 1/0/1; started\n"},
	{"one beyond the replicas that the job has now is not made", "kind=ToyJob Worker=Never*1",
     "conditions Created Running; started -100; counts Worker 0/0/0; ledger "
     "{'types':{'Worker':{'restarts':{'plugin':1},'again':'0-1'}}}",
     "ledger: attempt 0; Worker plugin=1 lost=1\n"
     "create pod j-worker-0\n"},
};

static const struct worlds_row requested_all[] = {
	{"all stop; the next attempt begins when they are gone", "kind=ToyJob Worker=Never*2 Chief=Never again=all", BOTH,
     "ledger: attempt 0 stopping; Worker job=1 plugin=1; Chief job=1\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete pod j-chief-0 uid u-chief-0\n"
     "event Warning ToyJobRestarting: ToyJob j is restarting.\n"
     "status: Created=True/ToyJobCreated Restarting=True/ToyJobRestarting; Worker 2/0/0; Chief 1/0/0; started\n"},
	{"free, with a token", "kind=ToyJob Worker=Never*2 Chief=Never again=all@g1!", BOTH,
     "ledger: attempt 0 stopping token=g1; Worker job=2; Chief job=1\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete pod j-chief-0 uid u-chief-0\n"
     "event Warning ToyJobRestarting: ToyJob j is restarting.\n"
     "status: Created=True/ToyJobCreated Restarting=True/ToyJobRestarting; Worker 2/0/0; Chief 1/0/0; started\n"},
	{"the same token again", "kind=ToyJob Worker=Never*2 Chief=Never again=all@g1!", BOTH "; ledger {'token':'g1'}",
     ""},
	{"the token of a job without pods is kept, and nothing stops",
     "kind=ToyJob Worker=Never*2 Chief=Never again=all@g1", "",
     "ledger: attempt 0 token=g1\n"
     "create pod j-worker-0\n"
     "create pod j-chief-0\n"
     "status: Created=True/ToyJobCreated; Worker 0/0/0; Chief 0/0/0; started\n"},
	{"it goes before others", "kind=ToyJob Worker=Never*2 Chief=Never again=Worker/0+Worker+all", BOTH,
     "ledger: attempt 0 stopping; Worker job=1 plugin=1; Chief job=1\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete pod j-chief-0 uid u-chief-0\n"
     "event Warning ToyJobRestarting: ToyJob j is restarting.\n"
     "status: Created=True/ToyJobCreated Restarting=True/ToyJobRestarting; Worker 2/0/0; Chief 1/0/0; started\n"},
	{"the limit ends the job", "kind=ToyJob Worker=Never*2 Chief=Never again=all backoff=1",
     BOTH "; ledger {'types':{'Worker':{'restarts':{'plugin':1}}}}",
     "ledger: attempt 0 end=backoff; Worker plugin=1\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete pod j-chief-0 uid u-chief-0\n"
     "event Normal ToyJobFailed: Job j has failed because it has reached the specified backoff limit\n"
     "status: Created=True/ToyJobCreated Running=False/ToyJobRunning Failed=True/ToyJobFailed; Worker 2/0/0; Chief "
     "1/0/0; started; completed\n"},
	{"the first fault is reported", "kind=ToyJob Worker=Never*2 Chief=Never again=all",
     BOTH "; pod worker-1 Failed code=1 at=-3",
     "ledger: attempt 0 stopping; Worker job=1 plugin=1; Chief job=1; fault Worker-1 code 1 attempt 0\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-chief-0 uid u-chief-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 1\n"
     "event Warning ToyJobRestarting: ToyJob j is restarting. First fault: Worker-1 (pod j-worker-1, container "
     "pytorch) exited with code 1 at 2025-12-31T23:59:57Z.\n"
     "status: Created=True/ToyJobCreated Restarting=True/ToyJobRestarting; Worker 1/0/1; Chief 1/0/0; started\n"},
	{"a suspension goes before it", "kind=ToyJob Worker=Never*2 Chief=Never again=all suspend", BOTH,
     "event Normal ToyJobSuspended: ToyJob j is suspended.\n"
     "status: Created=True/ToyJobCreated Running=False/ToyJobSuspended Suspended=True/ToyJobSuspended; Worker 0/0/0; "
     "Chief 0/0/0; started\n"},
};

static void test_requested__replica(void **state)
{
	(void)state;
	worlds_check(requested_replica, sizeof(requested_replica) / sizeof(*requested_replica));
}

static void test_requested__type(void **state)
{
	(void)state;
	worlds_check(requested_type, sizeof(requested_type) / sizeof(*requested_type));
}

static void test_requested__all(void **state)
{
	(void)state;
	worlds_check(requested_all, sizeof(requested_all) / sizeof(*requested_all));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requested__replica),
		cmocka_unit_test(test_requested__type),
		cmocka_unit_test(test_requested__all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
