/* SPDX-License-Identifier: Apache-2.0 */
/* Further objects that pods mount or are allowed by, and what waits for them. */
#include "engine/decide/worlds.h"

#define CREATED "status: Created=True/PyTorchJobCreated; Master 0/0/0; Worker 0/0/0; started\n"
#define TAKEN                                                                                                \
	"status: Created=True/PyTorchJobCreated Stalled=True/PyTorchJobErrResourceExists; Master 0/0/0; Worker " \
	"0/0/0; started\n"
#define MAP "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c'}}"
#define ACCOUNT "{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'name':'a'}}"
#define ROLE "{'apiVersion':'rbac.authorization.k8s.io/v1','kind':'Role','metadata':{'name':'r'}}"
#define BINDING "{'apiVersion':'rbac.authorization.k8s.io/v1','kind':'RoleBinding','metadata':{'name':'b'}}"
#define SCALER "{'apiVersion':'autoscaling/v2','kind':'HorizontalPodAutoscaler','metadata':{'name':'h'}}"
/* In an order in which the binding does not stand last. */
#define BEGUN                                                                                                      \
	"conditions Created; started -100; counts Master 0/0/0; counts Worker 0/0/0; wants [" BINDING "," MAP "," ROLE \
	"," ACCOUNT "]; "
#define WORKERS "pod worker-0 Pending; service worker-0; pod worker-1 Pending; service worker-1; "
#define MASTER "pod master-0 Pending; service master-0; "
#define OWN_MAP "object ConfigMap c hash=same; "
#define OWN_ACCOUNT "object ServiceAccount a hash=same; "
#define OWN_ROLE "object Role r rbac hash=same; "
#define OWN_BINDING "object RoleBinding b rbac hash=same; "

#define CREATE_MAP "create object v1 ConfigMap c\n"
#define CREATE_ACCOUNT "create object v1 ServiceAccount a\n"
#define CREATE_ROLE "create object rbac.authorization.k8s.io/v1 Role r\n"
#define CREATE_BINDING "create object rbac.authorization.k8s.io/v1 RoleBinding b\n"
#define DELETE_BINDING "delete object rbac.authorization.k8s.io/v1 RoleBinding b uid s-b\n"

static const struct worlds_row order_rows[] = {
	{"what pods need goes first, a binding is none of it", "", BEGUN, CREATE_MAP CREATE_ROLE CREATE_ACCOUNT},
	{"what is being made is not there yet", "", BEGUN OWN_ROLE OWN_ACCOUNT "object ConfigMap c hash=same coming", ""},
	{"then the pods, but for those that lead; a binding would open pods of others that have their names", "",
     BEGUN OWN_MAP OWN_ROLE OWN_ACCOUNT, "create pod j-worker-0\ncreate service j-worker-0\n"},
	{"one pod is missing", "", BEGUN OWN_MAP OWN_ROLE OWN_ACCOUNT "pod worker-0 Pending; service worker-0",
     "create pod j-worker-1\ncreate service j-worker-1\n"},
	{"one is being made", "",
     BEGUN OWN_MAP OWN_ROLE OWN_ACCOUNT
     "pod worker-0 Pending; service worker-0; pod worker-1 Pending uid=; service worker-1",
     ""},
	{"one is another's", "",
     BEGUN OWN_MAP OWN_ROLE OWN_ACCOUNT
     "pod worker-0 Pending; service worker-0; pod worker-1 Pending owner=x; refused Pod j-worker-1 alone what=name",
     "create pod j-worker-1\ncreate service j-worker-1\n" TAKEN},
	{"then the rights", "", BEGUN OWN_MAP OWN_ROLE OWN_ACCOUNT WORKERS, CREATE_BINDING},
	{"rights that are being granted are waited for", "",
     BEGUN OWN_MAP OWN_ROLE OWN_ACCOUNT WORKERS "object RoleBinding b rbac hash=same coming", ""},
	{"then those that lead", "", BEGUN OWN_MAP OWN_ROLE OWN_ACCOUNT OWN_BINDING WORKERS,
     "create pod j-master-0\ncreate service j-master-0\n"},
	{"all is there", "", BEGUN OWN_MAP OWN_ROLE OWN_ACCOUNT OWN_BINDING WORKERS MASTER, ""},
	{"without rights nobody comes last", "",
     "conditions Created; started -100; counts Master 0/0/0; counts Worker 0/0/0; wants [" MAP "]; " OWN_MAP,
     "create pod j-master-0\ncreate pod j-worker-0\ncreate service j-master-0\ncreate service j-worker-0\n"},
	{"what only follows the job holds up nobody", "",
     "conditions Created; started -100; counts Master 0/0/0; counts Worker 0/0/0; wants [" SCALER "]; "
     "refused HorizontalPodAutoscaler h alone",
     "create object autoscaling/v2 HorizontalPodAutoscaler h\ncreate pod j-master-0\ncreate pod j-worker-0\n"
     "create service j-master-0\ncreate service j-worker-0\n"
     "status: Created=True/PyTorchJobCreated Stalled=True/PyTorchJobCreateRefused; Master 0/0/0; Worker 0/0/0; "
     "started\n"},
};

#define SERVICE "{'apiVersion':'v1','kind':'Service','metadata':{'name':'s'}}"
#define JOB(suspend) "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'l'},'spec':{'suspend':" suspend "}}"
/* The Job stands before what its pods use. */
#define BEGUN_JOB(suspend)                                                                     \
	"conditions Created; started -100; counts Master 0/0/0; counts Worker 0/0/0; wants [" JOB( \
		suspend) "," SERVICE "]; " MASTER WORKERS

static const struct worlds_row job_rows[] = {
	{"a Job makes pods: it waits as pods do", "", BEGUN_JOB("false"), "create object v1 Service s\n"},
	{"what its pods use is there", "", BEGUN_JOB("false") "object Service s hash=same",
     "create object batch/v1 Job l\n"},
	{"what its pods use is another's", "", BEGUN_JOB("false") "refused Service s alone what=name",
     "look at object v1 Service s\n" TAKEN},
	{"nor does one that is there resume then", "",
     BEGUN_JOB("false") "object Job l batch hash=1; refused Service s alone what=name",
     "look at object v1 Service s\n" TAKEN},
	{"a suspended one has no pods", "", BEGUN_JOB("true"),
     "create object v1 Service s\ncreate object batch/v1 Job l\n"},
};

/* A Service without a replica type is what the plugin named, and not one of a replica. */
static const struct worlds_row service_rows[] = {
	{"a Service that the plugin names is made as any object", "",
     "conditions Created; started -100; counts Master 0/0/0; counts Worker 0/0/0; wants [" SERVICE "]; " MASTER WORKERS,
     "create object v1 Service s\n"},
	{"it stays", "",
     "conditions Created; started -100; counts Master 0/0/0; counts Worker 0/0/0; wants [" SERVICE
     "]; object Service s hash=same; " MASTER WORKERS,
     ""},
	{"one that it does not name any more goes", "",
     "conditions Created; started -100; counts Master 0/0/0; counts Worker 0/0/0; wants []; object Service s "
     "hash=1; " MASTER WORKERS,
     "delete object v1 Service s uid s-s\n"},
};

static const struct worlds_row content_rows[] = {
	{"what bears the job's UID and another content is written before pods use it", "",
     BEGUN OWN_ROLE OWN_ACCOUNT "object ConfigMap c hash=0", "update object v1 ConfigMap c\n"},
	{"what was right, and is to change, holds up no pod", "", BEGUN OWN_ROLE OWN_ACCOUNT "object ConfigMap c hash=1",
     "update object v1 ConfigMap c\ncreate pod j-worker-0\ncreate service j-worker-0\n"},
	{"no role is bound that says something else", "", BEGUN OWN_MAP OWN_ACCOUNT WORKERS "object Role r rbac hash=0",
     "update object rbac.authorization.k8s.io/v1 Role r\n"},
	{"nor one with the content that was desired before", "",
     BEGUN OWN_MAP OWN_ACCOUNT WORKERS "object Role r rbac hash=1",
     "update object rbac.authorization.k8s.io/v1 Role r\n"},
	{"a role of others is no role", "", BEGUN OWN_MAP OWN_ACCOUNT WORKERS "object Role r rbac hash=same owner=x",
     CREATE_ROLE},
	{"a bound role grows when the pods that it names are there", "",
     BEGUN OWN_MAP OWN_ACCOUNT OWN_BINDING MASTER "pod worker-0 Pending; service worker-0; object Role r rbac hash=1",
     "create pod j-worker-1\ncreate service j-worker-1\n"},
	{"they are there", "", BEGUN OWN_MAP OWN_ACCOUNT OWN_BINDING MASTER WORKERS "object Role r rbac hash=1",
     "update object rbac.authorization.k8s.io/v1 Role r\n"},
	{"one that says anything is put right at once", "",
     BEGUN OWN_MAP OWN_ACCOUNT OWN_BINDING MASTER
     "pod worker-0 Pending uid=; service worker-0; object Role r rbac hash=0",
     "update object rbac.authorization.k8s.io/v1 Role r\n"},
	{"a binding of the job that says something else is written, and waited for", "",
     BEGUN OWN_MAP OWN_ROLE OWN_ACCOUNT WORKERS "object RoleBinding b rbac hash=0",
     "update object rbac.authorization.k8s.io/v1 RoleBinding b\n"},
};

static const struct worlds_row taken_rows[] = {
	{"a name is another's: nothing is made", "", BEGUN "refused ConfigMap c alone what=name",
     "look at object v1 ConfigMap c\n" TAKEN},
	{"a role is another's", "", BEGUN "refused Role r alone what=name",
     "look at object rbac.authorization.k8s.io/v1 Role r\n" TAKEN},
	{"an account", "", BEGUN "refused ServiceAccount a alone what=name", "look at object v1 ServiceAccount a\n" TAKEN},
	{"a binding: no pod is made before that is known", "",
     BEGUN OWN_MAP OWN_ROLE OWN_ACCOUNT "refused RoleBinding b alone what=name",
     "look at object rbac.authorization.k8s.io/v1 RoleBinding b\n" TAKEN},
	{"several", "", BEGUN "refused Role r alone what=name; refused ConfigMap c alone what=name",
     "look at object v1 ConfigMap c\nlook at object rbac.authorization.k8s.io/v1 Role r\n" TAKEN},
	{"a binding to a role that is not the job's any more goes", "",
     BEGUN OWN_MAP OWN_ACCOUNT OWN_BINDING WORKERS MASTER "refused Role r alone what=name",
     "look at object rbac.authorization.k8s.io/v1 Role r\n" DELETE_BINDING TAKEN},
	{"so does one to a role that names a pod of another", "",
     BEGUN OWN_MAP OWN_ROLE OWN_ACCOUNT OWN_BINDING MASTER
     "pod worker-0 Pending; service worker-0; refused Pod j-worker-1 alone what=name",
     DELETE_BINDING "create pod j-worker-1\ncreate service j-worker-1\n" TAKEN},
	{"where the leader's name is another's, it stays: it is needed when the name is free", "",
     BEGUN OWN_MAP OWN_ROLE OWN_ACCOUNT OWN_BINDING WORKERS "refused Pod j-master-0 alone what=name",
     "create pod j-master-0\ncreate service j-master-0\n" TAKEN},
	{"one beside a ConfigMap of another stays", "",
     BEGUN OWN_ROLE OWN_ACCOUNT OWN_BINDING WORKERS MASTER "refused ConfigMap c alone what=name",
     "look at object v1 ConfigMap c\n" TAKEN},
	{"what only follows the job goes on", "",
     "conditions Created; started -100; counts Master 0/0/0; counts Worker 0/0/0; wants [" SCALER "," MAP "]; "
     "refused ConfigMap c alone what=name",
     "create object autoscaling/v2 HorizontalPodAutoscaler h\nlook at object v1 ConfigMap c\n" TAKEN},
	{"what is being made may turn out to be another's: it is not deleted by its name", "suspend",
     "conditions Created Suspended; wants []; object Role r rbac coming", ""},
	{"a suspended job wants none of it", "suspend",
     "conditions Created Suspended; wants []; refused ConfigMap c alone what=name", ""},
};

#define KEYS                                                                                    \
	"{'apiVersion':'v1','kind':'Secret','metadata':{'name':'k','annotations':{'roundhouse.dev/" \
	"keep':'once,random=8'}}}"
#define COPY \
	"{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'m','annotations':{'roundhouse.dev/keep':'once'}}}"
#define ONCE "conditions Created; started -100; counts Master 0/0/0; counts Worker 0/0/0; wants [" KEYS "]; "
#define PODS "create pod j-master-0\ncreate pod j-worker-0\ncreate service j-master-0\ncreate service j-worker-0\n"

static const struct worlds_row once_rows[] = {
	{"what is missing is made, or created as it is", "",
     "conditions Created; started -100; counts Master 0/0/0; counts Worker 0/0/0; wants [" KEYS "," COPY "]",
     "make object v1 Secret k\ncreate object v1 ConfigMap m\n"},
	{"its create is in flight", "", ONCE "object Secret k hash=same coming", ""},
	{"the answer of its create goes into the ledger before pods are created", "", ONCE "object Secret k hash=same",
     "ledger: attempt 0; made Secret/k=s-k\n" PODS},
	{"the ledger knows it", "", ONCE "object Secret k hash=0; ledger {'made':{'Secret/k':'s-k'}}", PODS},
	{"another one in its place is replaced", "", ONCE "object Secret k hash=0; ledger {'made':{'Secret/k':'other'}}",
     "delete object v1 Secret k uid s-k\n"},
	{"nobody knows it, and no pod uses it", "", ONCE "object Secret k hash=0", "delete object v1 Secret k uid s-k\n"},
	{"nobody knows it, and pods use it", "", WORLDS_RUNNING "; wants [" KEYS "]; object Secret k hash=0",
     "ledger: attempt 0; made Secret/k=s-k\n"},
	{"it is gone while pods run", "", WORLDS_RUNNING "; wants [" KEYS "]; ledger {'made':{'Secret/k':'s-k'}}",
     "make object v1 Secret k\n"},
	{"what is not named any more leaves the ledger", "",
     WORLDS_RUNNING "; wants []; ledger {'made':{'Secret/k':'s-k'}}", "ledger: attempt 0\n"},
};

static void test_objects__jobs_wait_as_pods_do(void **state)
{
	(void)state;
	worlds_check(job_rows, sizeof(job_rows) / sizeof(*job_rows));
}

static void test_objects__made_once(void **state)
{
	(void)state;
	worlds_check(once_rows, sizeof(once_rows) / sizeof(once_rows[0]));
}

static void test_objects__order(void **state)
{
	(void)state;
	worlds_check(order_rows, sizeof(order_rows) / sizeof(order_rows[0]));
}

static void test_objects__services(void **state)
{
	(void)state;
	worlds_check(service_rows, sizeof(service_rows) / sizeof(service_rows[0]));
}

static void test_objects__content(void **state)
{
	(void)state;
	worlds_check(content_rows, sizeof(content_rows) / sizeof(content_rows[0]));
}

static void test_objects__names_of_others(void **state)
{
	(void)state;
	worlds_check(taken_rows, sizeof(taken_rows) / sizeof(taken_rows[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_objects__jobs_wait_as_pods_do),
		cmocka_unit_test(test_objects__made_once),
		cmocka_unit_test(test_objects__order),
		cmocka_unit_test(test_objects__services),
		cmocka_unit_test(test_objects__content),
		cmocka_unit_test(test_objects__names_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
