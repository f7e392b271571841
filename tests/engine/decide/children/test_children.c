/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services, scaling and further objects (v1-behaviour D).
 */
#include "base/mem.h"
#include "engine/decide/worlds.h"

static const struct worlds_row children_services[] = {
	{"terminating timeout: also a pod that never ran", "timeout=30s",
     "conditions Created; started -100; counts Master 0/0/0; counts Worker 0/0/0; all Pending; pod worker-0 "
     "Pending deleting=-30",
     "delete pod j-worker-0 uid u-worker-0 by force\n"},
	{"D.1 a Service that is missing", "Master=OnFailure Worker=OnFailure",
     "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 1/0/0; pod master-0 Running; "
     "pod worker-0 Running; service master-0",
     "create service j-worker-0\n"},
	{"D.2 scale up: further indices", "Master=OnFailure Worker=OnFailure*3",
     "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 2/0/0; all Running; gone "
     "worker-2",
     "create pod j-worker-2\n"},
	{"D.2 scale down: first the status", "Master=OnFailure Worker=OnFailure*1",
     "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 3/0/0; all Running; pod "
     "worker-1 Running; pod worker-2 Running; service worker-1; service worker-2",
     "delete service j-worker-1 uid s-j-worker-1\n"
     "delete service j-worker-2 uid s-j-worker-2\n"
     "status: Created=True/PyTorchJobCreated Running=True/PyTorchJobRunning; Master 1/0/0; Worker 1/0/0; "
     "started\n"},
	{"D.2 scale down: then pods and Services", "Master=OnFailure Worker=OnFailure*1",
     "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 1/0/0; all Running; pod "
     "worker-1 Running; pod worker-2 Running deleting=20; service worker-1; service worker-2 deleting",
     "ledger: attempt 0; counted u-worker-1\n"
     "delete pod j-worker-1 uid u-worker-1\n"
     "delete service j-worker-1 uid s-j-worker-1\n"},
	{"D.2 scaled up again while the surplus pod terminates: no restart", "Master=OnFailure Worker=OnFailure*2",
     "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 1/0/0; all Running; pod "
     "worker-1 Running deleting=20; ledger {'counted':['u-worker-1']}",
     ""},
	{"D a foreign Service is not the job's", "Master=OnFailure Worker=OnFailure",
     "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 1/0/0; pod master-0 Running; "
     "pod worker-0 Running; service master-0; service worker-0 owner=other",
     "create service j-worker-0\n"},
	{"D.2 scaled up again before the surplus pod was deleted: its end counts again",
     "Master=OnFailure Worker=OnFailure*2", WORLDS_RUNNING "; ledger {'counted':['u-worker-1']}",
     "ledger: attempt 0\n"},
	{"D.2 a surplus Service goes with its replica", "Master=OnFailure Worker=OnFailure*1",
     "conditions Created Running; started -100; counts Master 1/0/0; counts Worker 1/0/0; all Running; service "
     "worker-7",
     "delete service j-worker-7 uid s-j-worker-7\n"},
	{"D.2 a type that the job does not have is left alone", "Worker=OnFailure",
     "conditions Created Running; started -100; counts Worker 1/0/0; all Running; second ps-0 Running; service "
     "ps-0",
     ""},
};

static const struct worlds_row children_objects[] = {
	{"D.5 an object is created", "",
     WORLDS_RUNNING "; wants [{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'j-config'},'data':{'a':'1'}}]",
     "create object v1 ConfigMap j-config\n"},
	{"D.5 an object is as it should be", "",
     WORLDS_RUNNING "; wants [{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'j-config'},'data':{'a':'1'}}]; "
                    "object ConfigMap j-config hash=same",
     ""},
	{"D.5 an object differs", "",
     WORLDS_RUNNING "; wants [{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'j-config'},'data':{'a':'1'}}]; "
                    "object ConfigMap j-config hash=7",
     "update object v1 ConfigMap j-config\n"},
	{"D.5 an object is not wanted any more", "", WORLDS_RUNNING "; wants []; object ConfigMap j-config hash=7",
     "delete object v1 ConfigMap j-config uid s-j-config\n"},
	{"D.5 an object is being deleted", "", WORLDS_RUNNING "; wants []; object ConfigMap j-config hash=7 deleting", ""},
	{"D.5 nothing is known of objects", "", WORLDS_RUNNING "; object ConfigMap j-config hash=7", ""},
	{"D.5 an object goes when the job is suspended", "suspend",
     "conditions Created Suspended; wants []; object HorizontalPodAutoscaler j hash=7",
     "delete object v1 HorizontalPodAutoscaler j uid s-j\n"},
	{"D.5 an object goes when the job has finished", "",
     "conditions Created Succeeded; started -100; completed -5; counts Master 0/1/0; counts Worker 0/2/0; wants "
     "[]; object HorizontalPodAutoscaler j hash=7",
     "delete object v1 HorizontalPodAutoscaler j uid s-j\n"},
};

static void test_children__services(void **state)
{
	(void)state;
	worlds_check(children_services, sizeof(children_services) / sizeof(*children_services));
}

static void test_children__objects(void **state)
{
	(void)state;
	worlds_check(children_objects, sizeof(children_objects) / sizeof(*children_objects));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_children__services),
		cmocka_unit_test(test_children__objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
