/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restarts of replicas and of whole jobs (v1-behaviour B.3, C.3, E.5).
 */
#include <string.h>

#include "base/mem.h"
#include "engine/decide/worlds.h"

static const struct worlds_row restart_policies[] = {
	{"C.3 OnFailure: a failed pod is counted, deleted and reported", "",
     WORLDS_RUNNING "; pod worker-1 Failed code=1 at=-3",
     "ledger: attempt 0; Worker exit=1 lost=1; counted u-worker-1; fault Worker-1 code 1 attempt 0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 1\n"
     "event Warning PyTorchJobRestarting: job j is restarting because Worker replica(s) failed.\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 1/0/1;"
     " started\n"},
	{"C.3 Always: likewise", "Master=Always Worker=Always*2", WORLDS_RUNNING "; pod worker-1 Failed code=1 at=-3",
     "ledger: attempt 0; Worker exit=1 lost=1; counted u-worker-1; fault Worker-1 code 1 attempt 0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 1\n"
     "event Warning PyTorchJobRestarting: job j is restarting because Worker replica(s) failed.\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 1/0/1;"
     " started\n"},
	{"C.3 ExitCode: 128 and above likewise", "Master=ExitCode Worker=ExitCode*2",
     WORLDS_RUNNING "; pod worker-1 Failed code=130 at=-3",
     "ledger: attempt 0; Worker exit=1 lost=1; counted u-worker-1; fault Worker-1 code 130 attempt 0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 130\n"
     "event Warning PyTorchJobRestarting: job j is restarting because Worker replica(s) failed.\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 1/0/1;"
     " started\n"},
	{"C.3 ExitCode: an eviction likewise", "Master=ExitCode Worker=ExitCode*2",
     WORLDS_RUNNING "; pod worker-1 Failed reason=Evicted at=-3",
     "ledger: attempt 0; Worker evicted=1 lost=1; counted u-worker-1; fault Worker-1 code -1 attempt 0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "event Warning PyTorchJobRestarting: job j is restarting because Worker replica(s) failed.\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 1/0/1;"
     " started\n"},
	{"C.3 ExitCode: below 128 fails the job", "Master=ExitCode Worker=ExitCode*2",
     WORLDS_RUNNING "; pod worker-1 Failed code=1 at=-3",
     "ledger: attempt 0; counted u-worker-1; fault Worker-1 code 1 attempt 0\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 1\n"
     "event Warning PyTorchJobFailed: job \"j\" is failing because \"Worker\" replica(s) failed. First fault: "
     "Worker-1 (pod j-worker-1, container pytorch) exited with code 1 at 2025-12-31T23:59:57Z.\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Failed=True/PyTorchJobFailed; "
     "Master 1/0/0; Worker 1/0/1; started; completed\n"},
	{"C.3 Never: fails the job", "Master=Never Worker=Never*2",
     WORLDS_RUNNING "; pod worker-0 Failed code=1 at=-3 lines=oops",
     "ledger: attempt 0; counted u-worker-0; fault Worker-0 code 1 attempt 0\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-0 exited with code 1\n"
     "event Normal PyTorchJobFailed: PyTorchJob j is failed because 1 Worker replica(s) failed. First fault: "
     "Worker-0 (pod j-worker-0, container pytorch) exited with code 1 at 2025-12-31T23:59:57Z; last line: "
     "oops\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Failed=True/PyTorchJobFailed; "
     "Master 1/0/0; Worker 1/0/1; started; completed\n"},
	{"C.3 a policy that is no policy acts as Never", "kind=ToyJob Worker=Sometimes",
     "conditions Created; started -1; counts Worker 1/0/0; pod worker-0 Failed code=1 at=-3",
     "ledger: attempt 0; counted invalid/1cfc1b44305fc84f u-worker-0; fault Worker-0 code 1 attempt 0\n"
     "event Warning ToyJobFailedValidation: ToyJob failed validation because "
     "spec.toyReplicaSpecs[Worker].restartPolicy: Unsupported value: \"Sometimes\": supported values: "
     "\"Always\", \"ExitCode\", \"Never\", \"OnFailure\"\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-0 exited with code 1\n"
     "status: Created=True/ToyJobCreated; Worker 0/0/1; started\n"},
	{"a failure that did not end the job is reported once", "kind=ToyJob Worker=Never",
     "conditions Created; started -1; counts Worker 0/0/1; pod worker-0 Failed code=1 at=-3; ledger "
     "{'counted':['u-worker-0'],'fault':{'type':'Worker','index':0,'attempt':0,'exitCode':1,"
     "'at':'2025-12-31T23:59:57.000000Z','pod':'j-worker-0','container':'pytorch'}}",
     ""},
};

static const struct worlds_row restart_sequence[] = {
	{"counted, and its delete was lost", "",
     "conditions Created Restarting; started -100; counts Master 1/0/0; counts Worker 1/0/1; all Running; pod "
     "worker-1 Failed code=1 at=-3; ledger {'types':{'Worker':{'restarts':{'exit':1},'lost':'1'}},"
     "'counted':['u-worker-1'],'fault':{'type':'Worker','index':1,'attempt':0,'exitCode':1,"
     "'at':'2025-12-31T23:59:57.000000Z','pod':'j-worker-1','container':'pytorch'}}",
     "delete pod j-worker-1 uid u-worker-1\n"},
	{"gone: it is created again", "",
     "conditions Created Restarting; started -100; counts Master 1/0/0; counts Worker 1/0/1; all Running; gone "
     "worker-1; ledger {'types':{'Worker':{'restarts':{'exit':1},'lost':'1'}},'counted':['u-worker-1'],"
     "'fault':{'type':'Worker','index':1,'attempt':0,'exitCode':1,'at':'2025-12-31T23:59:57.000000Z',"
     "'pod':'j-worker-1','container':'pytorch'}}",
     "create pod j-worker-1\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 1/0/0;"
     " started\n"},
	{"the status was not written in time: no second count", "",
     "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 2/0/0; all Running; gone "
     "worker-1; ledger {'types':{'Worker':{'restarts':{'exit':1},'lost':'1'}}}",
     "create pod j-worker-1\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 1/0/0;"
     " started\n"},
	{"its next pod is there: Running again", "",
     "conditions Created Restarting; started -100; counts Master 1/0/0; counts Worker 1/0/0; all Running; pod "
     "worker-1 Pending uid=new; ledger {'types':{'Worker':{'restarts':{'exit':1},'lost':'1'}},"
     "'counted':['u-worker-1']}",
     "ledger: attempt 0; Worker exit=1\n"
     "status: Created=True/PyTorchJobCreated Running=True/PyTorchJobRunning; Master 1/0/0; Worker 1/0/0; "
     "started\n"},
	{"its next pod runs: nothing is lost any more, and the fault is over", "",
     "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 2/0/0; all Running; pod "
     "worker-1 Running uid=new; ledger {'types':{'Worker':{'restarts':{'exit':1},'lost':'1'}},"
     "'counted':['u-worker-1'],'fault':{'type':'Worker','index':1,'attempt':0,'exitCode':1,"
     "'at':'2025-12-31T23:59:57.000000Z','pod':'j-worker-1'}}",
     "ledger: attempt 0; Worker exit=1; fault Worker-1 code 1 attempt 0\n"},
	{"a restart that never came to Running is over when the job is: Restarting is False",
     "Master=Never Worker=OnFailure*2",
     "conditions Created Restarting; started -100; counts Master 1/0/0; counts Worker 1/0/0; all Running; gone "
     "worker-1; pod master-0 Succeeded; ledger {'types':{'Worker':{'restarts':{'exit':1},'lost':'1'}}}",
     "ledger: attempt 0; Worker exit=1; Master succeeded=0\n"
     "event Normal ExitedWithCode: Pod: default.j-master-0 exited with code 0\n"
     "event Normal PyTorchJobSucceeded: PyTorchJob j is successfully completed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=False/PyTorchJobRestarting "
     "Succeeded=True/PyTorchJobSucceeded; Master 0/1/0; Worker 0/1/0; started; completed\n"},
	{"a status that is behind: what is lost already makes no other replica lost", "Master=OnFailure Worker=OnFailure*3",
     "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 2/0/0; all Running; gone "
     "worker-1; gone worker-2; ledger {'types':{'Worker':{'restarts':{'exit':1},'lost':'1'}}}",
     "create pod j-worker-1\n"
     "create pod j-worker-2\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 1/0/0;"
     " started\n"},
	{"a status that is behind: the mark stays", "",
     "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 2/0/0; all Running; pod "
     "worker-1 Pending uid=new; ledger {'types':{'Worker':{'restarts':{'exit':1},'lost':'1'}}}",
     "status: Created=True/PyTorchJobCreated Running=True/PyTorchJobRunning; Master 1/0/0; Worker 1/0/0; "
     "started\n"},
	{"a status that is abreast: the mark goes", "",
     "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 1/0/0; all Running; pod "
     "worker-1 Pending uid=new; ledger {'types':{'Worker':{'restarts':{'exit':1},'lost':'1'}}}",
     "ledger: attempt 0; Worker exit=1\n"},
};

static const struct worlds_row restart_deletions[] = {
	{"E.5-6 a pod that somebody deletes is restarted, whatever the policy", "Master=Never Worker=Never*2",
     WORLDS_RUNNING "; pod worker-0 Running deleting=30",
     "ledger: attempt 0; Worker deleted=1 lost=0; counted u-worker-0; fault Worker-0 code -1 attempt 0\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 1/0/0;"
     " started\n"},
	{"E.5-6 counted once by its UID", "Master=Never Worker=Never*2",
     "conditions Created Restarting; started -100; counts Master 1/0/0; counts Worker 1/0/0; all Running; pod "
     "worker-0 Running deleting=30; ledger {'types':{'Worker':{'restarts':{'deleted':1},'lost':'0'}},"
     "'counted':['u-worker-0'],'fault':{'type':'Worker','index':0,'attempt':0,'exitCode':-1,'reason':'Deleted',"
     "'at':'2025-12-31T23:59:57.000000Z','pod':'j-worker-0'}}",
     ""},
	{"E.5-6 it died of its deletion: no failure", "Master=Never Worker=Never*2",
     WORLDS_RUNNING "; pod worker-0 Failed code=143 at=-1 deleting=30",
     "ledger: attempt 0; Worker deleted=1 lost=0; counted u-worker-0; fault Worker-0 code 143 attempt 0\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-0 exited with code 143\n"
     "event Warning PyTorchJobRestarting: job j is restarting because Worker replica(s) failed.\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 1/0/1;"
     " started\n"},
	{"E.5-6 it failed, and is deleted: a failure", "Master=Never Worker=Never*2",
     WORLDS_RUNNING "; pod worker-0 Failed code=3 at=-1 deleting=30",
     "ledger: attempt 0; counted u-worker-0; fault Worker-0 code 3 attempt 0\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-0 exited with code 3\n"
     "event Normal PyTorchJobFailed: PyTorchJob j is failed because 1 Worker replica(s) failed. First fault: "
     "Worker-0 (pod j-worker-0, container pytorch) exited with code 3 at 2025-12-31T23:59:59Z.\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Failed=True/PyTorchJobFailed; "
     "Master 1/0/0; Worker 1/0/1; started; completed\n"},
	{"a pending pod that somebody deletes is no restart", "",
     "conditions Created; started -100; counts Master 0/0/0; counts Worker 0/0/0; all Pending; pod worker-0 "
     "Pending deleting=30",
     ""},
	{"pt-pod-deleted: gone without a trace, but the status knew it", "", WORLDS_RUNNING "; gone worker-0",
     "ledger: attempt 0; Worker deleted=1 lost=0; fault Worker-0 code -1 attempt 0\n"
     "create pod j-worker-0\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 1/0/0;"
     " started\n"},
	{"gone without a trace: only those that ran are missed", "",
     "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 1/0/0; all Running; pod "
     "worker-0 Pending; gone worker-1",
     "ledger: attempt 0; Worker deleted=1 lost=1; fault Worker-1 code -1 attempt 0\n"
     "create pod j-worker-1\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 0/0/0;"
     " started\n"},
	{"gone without a trace: nothing is missed that never ran", "",
     "conditions Created; started -100; counts Master 0/0/0; counts Worker 0/0/0; all Pending; gone worker-1",
     "create pod j-worker-1\n"},
	{"gone without a trace: one that is scaled away still accounts for itself", "Master=OnFailure Worker=OnFailure*2",
     "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 2/0/0; all Running; gone "
     "worker-1; pod worker-2 Running",
     "create pod j-worker-1\n"
     "status: Created=True/PyTorchJobCreated Running=True/PyTorchJobRunning; Master 1/0/0; Worker 1/0/0; "
     "started\n"},
	{"gone without a trace, beside one that succeeded", "",
     "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 1/1/0; all Running; gone "
     "worker-0; pod worker-1 Succeeded; ledger {'types':{'Worker':{'succeeded':'1'}}}",
     "ledger: attempt 0; Worker deleted=1 succeeded=1 lost=0; fault Worker-0 code -1 attempt 0\n"
     "create pod j-worker-0\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 0/1/0;"
     " started\n"},
	{"gone without a trace, after it failed", "",
     "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 1/0/1; all Running; gone "
     "worker-1",
     "ledger: attempt 0; Worker deleted=1 lost=1; fault Worker-1 code -1 attempt 0\n"
     "create pod j-worker-1\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 1/0/0;"
     " started\n"},
};

static const struct worlds_row restart_limits[] = {
	{"the limit is that of an object of the plugin", "kind=OuterJob Launcher=Never Worker=OnFailure backoff=0",
     "conditions Created; started -100; counts Launcher 0/0/0; counts Worker 1/0/0; pod worker-0 Running restarts=5",
     ""},
	{"B.3 a restart in place reaches the limit", "backoff=3",
     WORLDS_RUNNING "; pod worker-0 Running restarts=2; pod worker-1 Running restarts=1",
     "ledger: attempt 0 end=backoff\n"
     "delete pod j-master-0 uid u-master-0\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete service j-master-0 uid s-j-master-0\n"
     "delete service j-worker-0 uid s-j-worker-0\n"
     "delete service j-worker-1 uid s-j-worker-1\n"
     "event Normal PyTorchJobFailed: Job j has failed because it has reached the specified backoff limit\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Failed=True/PyTorchJobFailed; "
     "Master 1/0/0; Worker 2/0/0; started; completed\n"},
	{"B.3 and one below it does not", "backoff=3",
     WORLDS_RUNNING "; pod worker-0 Running restarts=1; pod worker-1 Running restarts=1", ""},
	{"B.3 limit 0 bears no restart in place", "backoff=0", WORLDS_RUNNING "; pod worker-0 Running restarts=1",
     "ledger: attempt 0 end=backoff\n"
     "delete pod j-master-0 uid u-master-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete service j-master-0 uid s-j-master-0\n"
     "delete service j-worker-0 uid s-j-worker-0\n"
     "delete service j-worker-1 uid s-j-worker-1\n"
     "event Normal PyTorchJobFailed: Job j has failed because it has reached the specified backoff limit\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Failed=True/PyTorchJobFailed; "
     "Master 1/0/0; Worker 2/0/0; started; completed\n"},
	{"restarts of an init container count, whose pod does not run yet", "backoff=3",
     WORLDS_RUNNING "; pod worker-0 Pending restarts=3",
     "ledger: attempt 0 end=backoff\n"
     "delete pod j-master-0 uid u-master-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete service j-master-0 uid s-j-master-0\n"
     "delete service j-worker-0 uid s-j-worker-0\n"
     "delete service j-worker-1 uid s-j-worker-1\n"
     "event Normal PyTorchJobFailed: Job j has failed because it has reached the specified backoff limit\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Failed=True/PyTorchJobFailed; "
     "Master 1/0/0; Worker 2/0/0; started; completed\n"},
	{"B.3 limit 0 without restarts", "backoff=0", WORLDS_RUNNING, ""},
	{"B.3 restarts of a Never type in place are not counted", "backoff=1 Master=Never Worker=Never*2",
     WORLDS_RUNNING "; pod worker-0 Running restarts=5", ""},
	{"B.3 re-creations: as many as the limit says", "backoff=2",
     WORLDS_RUNNING "; pod worker-1 Failed code=1 at=-3; ledger {'types':{'Worker':{'restarts':{'exit':1}}}}",
     "ledger: attempt 0; Worker exit=2 lost=1; counted u-worker-1; fault Worker-1 code 1 attempt 0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 1\n"
     "event Warning PyTorchJobRestarting: job j is restarting because Worker replica(s) failed.\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 1/0/1;"
     " started\n"},
	{"B.3 re-creations: and no more", "backoff=2",
     WORLDS_RUNNING
     "; pod worker-1 Failed code=1 at=-3; ledger {'types':{'Worker':{'restarts':{'exit':1,'deleted':1}}}}",
     "ledger: attempt 0 end=backoff; Worker exit=1 deleted=1; counted u-worker-1; fault Worker-1 code 1 "
     "attempt 0\n"
     "delete pod j-master-0 uid u-master-0\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete service j-master-0 uid s-j-master-0\n"
     "delete service j-worker-0 uid s-j-worker-0\n"
     "delete service j-worker-1 uid s-j-worker-1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 1\n"
     "event Normal PyTorchJobFailed: Job j has failed because it has reached the specified backoff limit. "
     "First fault: Worker-1 (pod j-worker-1, container pytorch) exited with code 1 at 2025-12-31T23:59:57Z.\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Failed=True/PyTorchJobFailed; "
     "Master 1/0/0; Worker 2/0/0; started; completed\n"},
	{"B.3 limit 0 bears no re-creation", "backoff=0",
     WORLDS_RUNNING "; pod worker-1 Failed code=137 at=-3 reason=OOMKilled node=n1 lines=a",
     "ledger: attempt 0 end=backoff; counted u-worker-1; fault Worker-1 code 137 attempt 0\n"
     "delete pod j-master-0 uid u-master-0\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete service j-master-0 uid s-j-master-0\n"
     "delete service j-worker-0 uid s-j-worker-0\n"
     "delete service j-worker-1 uid s-j-worker-1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 137\n"
     "event Normal PyTorchJobFailed: Job j has failed because it has reached the specified backoff limit. "
     "First fault: Worker-1 (pod j-worker-1, container pytorch, node n1) exited with code 137 (SIGKILL, "
     "OOMKilled) at 2025-12-31T23:59:57Z; last line: a\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Failed=True/PyTorchJobFailed; "
     "Master 1/0/0; Worker 2/0/0; started; completed\n"},
	{"B.3 restarts in place of a pod that is replaced are kept", "backoff=9",
     WORLDS_RUNNING "; pod worker-1 Failed code=1 at=-3 restarts=2",
     "ledger: attempt 0; Worker exit=1 in-place=2 lost=1; counted u-worker-1; fault Worker-1 code 1 attempt 0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 1\n"
     "event Warning PyTorchJobRestarting: job j is restarting because Worker replica(s) failed.\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 1/0/1;"
     " started\n"},
	{"B.3 restarts in place of a pod that succeeded are kept", "backoff=9",
     WORLDS_RUNNING "; pod worker-1 Succeeded restarts=2",
     "ledger: attempt 0; Worker in-place=2 succeeded=1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 0\n"
     "status: Created=True/PyTorchJobCreated Running=True/PyTorchJobRunning; Master 1/0/0; Worker 1/1/0; "
     "started\n"},
	{"B.3 the end was decided, and its status was lost", "backoff=3", WORLDS_RUNNING "; ledger {'end':'backoff'}",
     "delete pod j-master-0 uid u-master-0\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete service j-master-0 uid s-j-master-0\n"
     "delete service j-worker-0 uid s-j-worker-0\n"
     "delete service j-worker-1 uid s-j-worker-1\n"
     "event Normal PyTorchJobFailed: Job j has failed because it has reached the specified backoff limit\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Failed=True/PyTorchJobFailed; "
     "Master 1/0/0; Worker 2/0/0; started; completed\n"},
	{"success wins over failure", "Master=Never Worker=Never*2",
     WORLDS_RUNNING "; pod master-0 Succeeded; pod worker-1 Failed code=1 at=-1",
     "ledger: attempt 0; Master succeeded=0; counted u-worker-1; fault Worker-1 code 1 attempt 0\n"
     "event Normal ExitedWithCode: Pod: default.j-master-0 exited with code 0\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 1\n"
     "event Normal PyTorchJobSucceeded: PyTorchJob j is successfully completed.\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning "
     "Succeeded=True/PyTorchJobSucceeded; Master 0/1/0; Worker 0/1/1; started; completed\n"},
	{"success wins over the limit", "backoff=0",
     WORLDS_RUNNING "; pod master-0 Succeeded; pod worker-1 Failed code=1 at=-1",
     "ledger: attempt 0; Master succeeded=0; counted u-worker-1; fault Worker-1 code 1 attempt 0\n"
     "event Normal ExitedWithCode: Pod: default.j-master-0 exited with code 0\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 1\n"
     "event Normal PyTorchJobSucceeded: PyTorchJob j is successfully completed.\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning "
     "Succeeded=True/PyTorchJobSucceeded; Master 0/1/0; Worker 0/1/1; started; completed\n"},
};

static const struct worlds_row restart_first_fault[] = {
	{"first fault: the earliest counts", "",
     WORLDS_RUNNING "; pod worker-0 Failed code=1 at=-3; pod worker-1 Failed code=2 at=-5",
     "ledger: attempt 0; Worker exit=2 lost=0-1; counted u-worker-0 u-worker-1; fault Worker-1 code 2 attempt "
     "0\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-0 exited with code 1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 2\n"
     "event Warning PyTorchJobRestarting: job j is restarting because Worker replica(s) failed.\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 2 Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 0/0/2;"
     " started\n"},
	{"first fault: a signal before a code in one second", "",
     WORLDS_RUNNING "; pod worker-0 Failed code=1 at=-3; pod worker-1 Failed code=139 at=-3",
     "ledger: attempt 0; Worker exit=2 lost=0-1; counted u-worker-0 u-worker-1; fault Worker-1 code 139 "
     "attempt 0\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-0 exited with code 1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 139\n"
     "event Warning PyTorchJobRestarting: job j is restarting because Worker replica(s) failed.\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 2 Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 0/0/2;"
     " started\n"},
	{"first fault: the lower rank in one second", "",
     WORLDS_RUNNING "; pod worker-0 Failed code=1 at=-3; pod worker-1 Failed code=1 at=-3",
     "ledger: attempt 0; Worker exit=2 lost=0-1; counted u-worker-0 u-worker-1; fault Worker-0 code 1 attempt "
     "0\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-0 exited with code 1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 1\n"
     "event Warning PyTorchJobRestarting: job j is restarting because Worker replica(s) failed.\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 2 Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 0/0/2;"
     " started\n"},
	{"first fault: an earlier one that shows up later", "",
     "conditions Created Restarting; started -100; counts Master 1/0/0; counts Worker 1/0/1; all Running; pod "
     "worker-0 Failed code=9 at=-8; pod worker-1 Failed code=1 at=-3 deleting=20; ledger "
     "{'types':{'Worker':{'restarts':{'exit':1},'lost':'1'}},'counted':['u-worker-1'],'fault':{'type':'Worker',"
     "'index':1,'attempt':0,'exitCode':1,'at':'2025-12-31T23:59:57.000000Z','pod':'j-worker-1'}}",
     "ledger: attempt 0; Worker exit=2 lost=0-1; counted u-worker-0 u-worker-1; fault Worker-0 code 9 attempt "
     "0\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-0 exited with code 9\n"
     "event Warning PyTorchJobRestarting: job j is restarting because Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 0/0/2;"
     " started\n"},
	{"first fault: of a replica that runs again is over", "",
     WORLDS_RUNNING "; pod worker-0 Failed code=5 at=-3; ledger {'types':{'Worker':{'restarts':{'exit':1}}},"
                    "'fault':{'type':'Worker','index':1,'attempt':0,'exitCode':9,'at':'2025-12-31T23:00:00.000000Z',"
                    "'pod':'j-worker-1'}}",
     "ledger: attempt 0; Worker exit=2 lost=0; counted u-worker-0; fault Worker-0 code 5 attempt 0\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-0 exited with code 5\n"
     "event Warning PyTorchJobRestarting: job j is restarting because Worker replica(s) failed.\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 1/0/1;"
     " started\n"},
	{"first fault: restarts in place that reach the limit", "backoff=3",
     WORLDS_RUNNING "; pod worker-0 Running restarts=1 last=3 at=-9; pod worker-1 Running restarts=2 last=137 "
                    "container=pytorch at=-3 reason=OOMKilled lines=boom",
     "ledger: attempt 0 end=backoff; fault Worker-1 code 137 attempt 0\n"
     "delete pod j-master-0 uid u-master-0\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete service j-master-0 uid s-j-master-0\n"
     "delete service j-worker-0 uid s-j-worker-0\n"
     "delete service j-worker-1 uid s-j-worker-1\n"
     "event Normal PyTorchJobFailed: Job j has failed because it has reached the specified backoff limit. "
     "First fault: Worker-1 (pod j-worker-1, container pytorch) exited with code 137 (SIGKILL, OOMKilled) at "
     "2025-12-31T23:59:57Z; last line: boom\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Failed=True/PyTorchJobFailed; "
     "Master 1/0/0; Worker 2/0/0; started; completed\n"},
	{"first fault: where times are exact they decide", "",
     WORLDS_RUNNING "; pod worker-1 Failed code=1 at=-3.5; pod worker-0 Failed code=134 at=-3.4",
     "ledger: attempt 0; Worker exit=2 lost=0-1; counted u-worker-0 u-worker-1; fault Worker-1 code 1 attempt "
     "0\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-0 exited with code 134\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 1\n"
     "event Warning PyTorchJobRestarting: job j is restarting because Worker replica(s) failed.\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 2 Worker replica(s) failed.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 0/0/2;"
     " started\n"},
	{"first fault: a deadline has none", "deadline=99",
     WORLDS_RUNNING "; pod worker-1 Running restarts=2 last=137 at=-3; ledger {'fault':{'type':'Worker','index':0,"
                    "'attempt':0,'exitCode':1,'at':'2025-12-31T23:59:57.000000Z','pod':'j-worker-0'}}",
     "ledger: attempt 0 end=deadline\n"
     "delete pod j-master-0 uid u-master-0\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete service j-master-0 uid s-j-master-0\n"
     "delete service j-worker-0 uid s-j-worker-0\n"
     "delete service j-worker-1 uid s-j-worker-1\n"
     "event Normal PyTorchJobFailed: Job j has failed because it was active longer than specified deadline\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Failed=True/PyTorchJobFailed; "
     "Master 1/0/0; Worker 2/0/0; started; completed\n"},
};

static const struct worlds_row restart_terminating[] = {
	{"terminating timeout: a stuck pod is forced", "timeout=30s",
     "conditions Created Restarting; started -100; counts Master 1/0/0; counts Worker 1/0/0; all Running; pod "
     "worker-0 Running deleting=-31; ledger {'types':{'Worker':{'restarts':{'deleted':1},'lost':'0'}},"
     "'counted':['u-worker-0']}",
     "delete pod j-worker-0 uid u-worker-0 by force\n"},
	{"terminating timeout: the clock was set forward meanwhile", "timeout=30s",
     "conditions Created Restarting; started -100; counts Master 1/0/0; counts Worker 1/0/0; all Running; pod "
     "worker-0 Running deleting=-31; set -20 25; ledger {'types':{'Worker':{'restarts':{'deleted':1},'lost':'0'}},"
     "'counted':['u-worker-0'],'fault':{'type':'Worker','index':0,'attempt':0,'exitCode':-1,'reason':'Deleted',"
     "'at':'2025-12-31T23:59:57.000000Z','pod':'j-worker-0'}}",
     "wake at 2026-01-01T00:00:24Z\n"},
	{"terminating timeout: before it is over it is waited for", "timeout=30s",
     "conditions Created Restarting; started -100; counts Master 1/0/0; counts Worker 1/0/0; all Running; pod "
     "worker-0 Running deleting=-1; ledger {'types':{'Worker':{'restarts':{'deleted':1},'lost':'0'}},"
     "'counted':['u-worker-0'],'fault':{'type':'Worker','index':0,'attempt':0,'exitCode':-1,'reason':'Deleted',"
     "'at':'2025-12-31T23:59:57.000000Z','pod':'j-worker-0'}}",
     "wake at 2026-01-01T00:00:29Z\n"},
};

static const struct worlds_row restart_scope_job[] = {
	{"scope job: one failure stops all", "scope=job", WORLDS_RUNNING "; pod worker-1 Failed code=137 at=-3 lines=boom",
     "ledger: attempt 0 stopping; Master job=1; Worker exit=1 job=1; counted u-worker-1; fault Worker-1 code "
     "137 attempt 0\n"
     "delete pod j-master-0 uid u-master-0\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 137\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed. "
     "First fault: Worker-1 (pod j-worker-1, container pytorch) exited with code 137 (SIGKILL) at "
     "2025-12-31T23:59:57Z; last line: boom\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 1/0/1;"
     " started\n"},
	{"scope job: a peer's bad exit code is a consequence", "scope=job Master=ExitCode Worker=ExitCode*3",
     "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 3/0/0; all Running; pod "
     "worker-1 Failed code=137 at=-3; pod worker-0 Failed code=1 at=-2",
     "ledger: attempt 0 stopping; Master job=1; Worker exit=1 job=2; counted u-worker-1; fault Worker-1 code "
     "137 attempt 0\n"
     "delete pod j-master-0 uid u-master-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete pod j-worker-2 uid u-worker-2\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-0 exited with code 1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 137\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 2 Worker replica(s) failed. "
     "First fault: Worker-1 (pod j-worker-1, container pytorch) exited with code 137 (SIGKILL) at "
     "2025-12-31T23:59:57Z.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 1/0/2;"
     " started\n"},
	{"scope job: a bad exit code that came first ends the job", "scope=job Master=ExitCode Worker=ExitCode*2",
     WORLDS_RUNNING "; pod worker-1 Failed code=137 at=-2; pod worker-0 Failed code=1 at=-3",
     "ledger: attempt 0; counted u-worker-0 u-worker-1; fault Worker-0 code 1 attempt 0\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-0 exited with code 1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 137\n"
     "event Warning PyTorchJobFailed: job \"j\" is failing because \"Worker\" replica(s) failed. First fault: "
     "Worker-0 (pod j-worker-0, container pytorch) exited with code 1 at 2025-12-31T23:59:57Z.\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Failed=True/PyTorchJobFailed; "
     "Master 1/0/0; Worker 0/0/2; started; completed\n"},
	{"scope job: a deleted pod restarts all", "scope=job Master=Never Worker=Never*2",
     WORLDS_RUNNING "; pod worker-1 Running deleting=30",
     "ledger: attempt 0 stopping; Master job=1; Worker deleted=1 job=1; counted u-worker-1; fault Worker-1 "
     "code -1 attempt 0\n"
     "delete pod j-master-0 uid u-master-0\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed. "
     "First fault: Worker-1 (pod j-worker-1) was deleted at 2026-01-01T00:00:00Z.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 1/0/0;"
     " started\n"
     "wake at 2026-01-01T00:01:30Z\n"},
	{"scope job: a lost pod restarts all", "scope=job", WORLDS_RUNNING "; gone worker-1",
     "ledger: attempt 0 stopping; Master job=1; Worker deleted=1 job=1; fault Worker-1 code -1 attempt 0\n"
     "delete pod j-master-0 uid u-master-0\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed. "
     "First fault: Worker-1 (pod j-worker-1) was deleted at 2026-01-01T00:00:00Z.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 1/0/0;"
     " started\n"},
	{"scope job: several failures count once", "scope=job backoff=1",
     WORLDS_RUNNING "; pod worker-1 Failed code=1 at=-3; pod worker-0 Failed code=1 at=-3",
     "ledger: attempt 0 stopping; Master job=1; Worker exit=1 job=1; counted u-worker-0; fault Worker-0 code "
     "1 attempt 0\n"
     "delete pod j-master-0 uid u-master-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-0 exited with code 1\n"
     "event Warning PyTorchJobRestarting: PyTorchJob j is restarting because 2 Worker replica(s) failed. "
     "First fault: Worker-0 (pod j-worker-0, container pytorch) exited with code 1 at 2025-12-31T23:59:57Z.\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 0/0/2;"
     " started\n"},
	{"scope job: the limit", "scope=job backoff=1",
     WORLDS_RUNNING "; pod worker-1 Failed code=1 at=-3; ledger {'attempt':0,'types':{'Worker':{'restarts':{'exit':1,"
                    "'job':2}}}}",
     "ledger: attempt 0 end=backoff; Worker exit=1 job=2; counted u-worker-1; fault Worker-1 code 1 attempt 0\n"
     "delete pod j-master-0 uid u-master-0\n"
     "delete pod j-worker-0 uid u-worker-0\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete service j-master-0 uid s-j-master-0\n"
     "delete service j-worker-0 uid s-j-worker-0\n"
     "delete service j-worker-1 uid s-j-worker-1\n"
     "event Normal ExitedWithCode: Pod: default.j-worker-1 exited with code 1\n"
     "event Normal PyTorchJobFailed: Job j has failed because it has reached the specified backoff limit. "
     "First fault: Worker-1 (pod j-worker-1, container pytorch) exited with code 1 at 2025-12-31T23:59:57Z.\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobRunning Failed=True/PyTorchJobFailed; "
     "Master 1/0/0; Worker 2/0/0; started; completed\n"},
	{"scope job: stopping goes on", "scope=job",
     "conditions Created Restarting; started -100; counts Master 1/0/0; counts Worker 1/0/1; all Running; pod "
     "worker-1 Failed code=1 at=-3 deleting; pod worker-0 Running deleting=25; ledger {'stopping':true,"
     "'types':{'Worker':{'restarts':{'exit':1}}}}",
     "delete pod j-master-0 uid u-master-0\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 1/0/0; Worker 0/0/1;"
     " started\n"
     "wake at 2026-01-01T00:01:25Z\n"},
	{"scope job: an earlier fault shows up while stopping", "scope=job",
     "conditions Created Restarting; started -100; counts Master 0/0/0; counts Worker 0/0/1; pod worker-1 "
     "Failed code=1 at=-3 deleting; pod worker-0 Failed code=139 at=-4 deleting=25; ledger {'stopping':true,"
     "'types':{'Worker':{'restarts':{'exit':1}}},'fault':{'type':'Worker','index':1,'attempt':0,'exitCode':1,"
     "'at':'2025-12-31T23:59:57.000000Z','pod':'j-worker-1'}}",
     "ledger: attempt 0 stopping; Worker exit=1; fault Worker-0 code 139 attempt 0\n"
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 0/0/0; Worker 0/0/2;"
     " started\n"
     "wake at 2026-01-01T00:01:25Z\n"},
	{"scope job: deaths that we caused are no faults", "scope=job",
     "conditions Created Restarting; started -100; counts Master 0/0/0; counts Worker 0/0/2; pod worker-1 "
     "Failed code=1 at=-3 deleting; pod worker-0 Failed code=143 at=-1 deleting=25; ledger {'stopping':true,"
     "'types':{'Worker':{'restarts':{'exit':1}}},'fault':{'type':'Worker','index':1,'attempt':0,'exitCode':1,"
     "'at':'2025-12-31T23:59:57.000000Z','pod':'j-worker-1'}}",
     "wake at 2026-01-01T00:01:25Z\n"},
	{"scope job: a stuck pod is forced", "scope=job timeout=10s",
     "conditions Created Restarting; started -100; counts Master 0/0/0; counts Worker 0/0/0; pod worker-0 "
     "Running deleting=-10; ledger {'stopping':true}",
     "delete pod j-worker-0 uid u-worker-0 by force\n"},
	{"scope job: stuck pods are forced after a minute without being asked", "scope=job",
     "conditions Created Restarting; started -100; counts Master 0/0/0; counts Worker 0/0/0; pod worker-0 "
     "Running deleting=-59; ledger {'stopping':true}",
     "wake at 2026-01-01T00:00:01Z\n"},
	{"scope job: all gone, but the status does not know it", "scope=job",
     "conditions Created Restarting; started -100; counts Master 1/0/0; counts Worker 1/0/0; ledger "
     "{'stopping':true}",
     "status: Created=True/PyTorchJobCreated Restarting=True/PyTorchJobRestarting; Master 0/0/0; Worker 0/0/0;"
     " started\n"},
	{"scope job: all gone: the next attempt begins, and all ranks run again", "scope=job",
     "conditions Created Restarting; started -100; counts Master 0/0/0; counts Worker 0/0/0; ledger "
     "{'stopping':true,'attempt':2,'types':{'Worker':{'restarts':{'exit':3},'succeeded':'1'}}}",
     "ledger: attempt 3; Worker exit=3\n"},
	{"scope job: its pods are made", "scope=job",
     "conditions Created Restarting; started -100; counts Master 0/0/0; counts Worker 0/0/0; service master-0; "
     "service worker-0; service worker-1; ledger {'attempt':3,'types':{'Worker':{'restarts':{'exit':3}}}}",
     "create pod j-master-0\n"
     "create pod j-worker-0\n"},
	{"scope job: a pod of the last attempt is in the way", "scope=job",
     "conditions Created Restarting; started -100; counts Master 0/0/0; counts Worker 0/0/0; all Pending; pod "
     "master-0 Pending attempt=3; pod worker-0 Pending attempt=3; pod worker-1 Running attempt=2; ledger "
     "{'attempt':3,'types':{'Worker':{'restarts':{'exit':3}}}}",
     "delete pod j-worker-1 uid u-worker-1\n"},
	{"scope job: Running again when the master runs", "scope=job",
     "conditions Created Restarting; started -100; counts Master 0/0/0; counts Worker 0/0/0; all Pending; pod "
     "master-0 Running attempt=3; pod worker-0 Pending attempt=3; pod worker-1 Pending attempt=3; ledger "
     "{'attempt':3,'types':{'Worker':{'restarts':{'exit':3}}}}",
     "status: Created=True/PyTorchJobCreated Running=True/PyTorchJobRunning; Master 1/0/0; Worker 0/0/0; "
     "started\n"},
	{"scope job: the ledger was removed: the pods know the attempt", "scope=job",
     "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 0/0/0; all Pending; pod "
     "master-0 Running attempt=3; pod worker-0 Pending attempt=3; pod worker-1 Pending attempt=3",
     "ledger: attempt 3\n"},
	{"scope job: the deadline comes while stopping", "scope=job deadline=60",
     "conditions Created Restarting; started -100; counts Master 0/0/0; counts Worker 0/0/0; pod worker-0 "
     "Running deleting; ledger {'stopping':true}",
     "ledger: attempt 0 stopping end=deadline\n"
     "event Normal PyTorchJobFailed: Job j has failed because it was active longer than specified deadline\n"
     "status: Created=True/PyTorchJobCreated Restarting=False/PyTorchJobRestarting "
     "Failed=True/PyTorchJobFailed; Master 0/0/0; Worker 0/0/0; started; completed\n"},
	{"scope job: suspended while stopping", "scope=job suspend",
     "conditions Created Restarting; started -100; counts Master 0/0/0; counts Worker 0/0/0; pod worker-0 "
     "Running deleting; ledger {'stopping':true}",
     "event Normal PyTorchJobSuspended: PyTorchJob j is suspended.\n"
     "status: Created=True/PyTorchJobCreated Running=False/PyTorchJobSuspended "
     "Suspended=True/PyTorchJobSuspended; Master 0/0/0; Worker 0/0/0; started\n"},
};

static void test_restart__policies(void **state)
{
	(void)state;
	worlds_check(restart_policies, sizeof(restart_policies) / sizeof(*restart_policies));
}

static void test_restart__sequence(void **state)
{
	(void)state;
	worlds_check(restart_sequence, sizeof(restart_sequence) / sizeof(*restart_sequence));
}

static void test_restart__deletions(void **state)
{
	(void)state;
	worlds_check(restart_deletions, sizeof(restart_deletions) / sizeof(*restart_deletions));
}

static void test_restart__limits(void **state)
{
	(void)state;
	worlds_check(restart_limits, sizeof(restart_limits) / sizeof(*restart_limits));
}

static void test_restart__first_fault(void **state)
{
	(void)state;
	worlds_check(restart_first_fault, sizeof(restart_first_fault) / sizeof(*restart_first_fault));
}

static void test_restart__terminating(void **state)
{
	(void)state;
	worlds_check(restart_terminating, sizeof(restart_terminating) / sizeof(*restart_terminating));
}

static void test_restart__scope_job(void **state)
{
	(void)state;
	worlds_check(restart_scope_job, sizeof(restart_scope_job) / sizeof(*restart_scope_job));
}

/* When everything fails at once, restarts are counted in portions that the ledger has room for, and each just once. */
static void test_restart__counted_is_bounded(void **state)
{
	struct worlds *worlds = worlds_new("kind=ToyJob Worker=OnFailure*1200",
	                                   "conditions Created; started -100; counts Worker 1200/0/0; all Failed");

	(void)state;
	for (int pass = 0; worlds->pod_count > 0; pass++) {
		rh_auto_plan plan = {0};
		rh_auto_free char *text = NULL;

		assert_in_range(pass, 0, 4);
		worlds_decide(worlds, &plan);
		assert_in_range(plan.ledger.counted_count, 1, RH_LEDGER_COUNTED_MAX);
		text = rh_ledger_text(&plan.ledger, worlds->job);
		assert_in_range(strlen(text), 1, RH_LEDGER_TEXT_MAX);
		rh_ledger_deinit(&worlds->ledger);
		assert_int_equal(rh_ledger_copy(&worlds->ledger, &plan.ledger), 0);
		for (size_t i = 0; i < plan.action_count; i++)
			worlds_remove_pod(worlds, plan.actions[i].verb == RH_DELETE_POD ? plan.actions[i].uid : "");
	}
	assert_int_equal(rh_ledger_restarts(&worlds->ledger), 1200);
	worlds_free(worlds);
}

/* Last lines in a message are one line, short, and whole characters. */
static void test_restart__fault_lines(void **state)
{
	static const struct {
		const char *lines;
		const char *end;
	} rows[] = {
		{"a\nb\n", "; last line: b"},
		{"tab\there\n\n", "; last line: tab here"},
		{"", " at 2025-12-31T23:59:57Z."},
	};
	struct worlds *worlds =
		worlds_new("Master=Never Worker=Never*2", WORLDS_RUNNING "; pod worker-0 Failed code=1 at=-3");
	struct rh_pod *pod = worlds_pod(worlds, "worker-0");

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		rh_auto_plan plan = {0};
		const char *message;

		rh_free(pod->last_lines);
		pod->last_lines = rh_strdup(rows[i].lines);
		worlds_decide(worlds, &plan);
		message = rh_job_status_condition(&plan.status, RH_CONDITION_FAILED)->message;
		assert_true(strlen(message) > strlen(rows[i].end));
		assert_string_equal(message + strlen(message) - strlen(rows[i].end), rows[i].end);
	}
	worlds_free(worlds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_restart__policies),    cmocka_unit_test(test_restart__sequence),
		cmocka_unit_test(test_restart__deletions),   cmocka_unit_test(test_restart__limits),
		cmocka_unit_test(test_restart__first_fault), cmocka_unit_test(test_restart__terminating),
		cmocka_unit_test(test_restart__scope_job),   cmocka_unit_test(test_restart__counted_is_bounded),
		cmocka_unit_test(test_restart__fault_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
