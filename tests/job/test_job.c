/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/os/clock.h"
#include "job/job.h"
#include "job/kinds.h"
#include "job/support.h"
#include "job/values/names.h"

static void test_job__metadata(void **state)
{
	rh_auto(job) job = test_pytorch_job("'namespace':'n','uid':'u','resourceVersion':'9',"
	                                    "'creationTimestamp':'1970-01-01T00:00:03Z','deletionTimestamp':'x'",
	                                    "");

	(void)state;
	assert_string_equal(job->name, "j");
	assert_string_equal(job->namespace_, "n");
	assert_string_equal(job->uid, "u");
	assert_string_equal(job->resource_version, "9");
	assert_int_equal(job->created_at, 3 * RH_SECOND);
	assert_true(job->deleting);
	assert_ptr_equal(job->kind, &test_pytorch);
}

static void test_job__metadata_defaults(void **state)
{
	rh_auto(job) job = test_pytorch_job("'namespace':'','uid':null,'creationTimestamp':'soon'", "");

	(void)state;
	assert_string_equal(job->namespace_, "default");
	assert_string_equal(job->uid, "");
	assert_string_equal(job->resource_version, "");
	assert_int_equal(job->created_at, 0);
	assert_false(job->deleting);
	assert_int_equal(job->scope, RH_SCOPE_REPLICA);
	assert_true(job->terminating_timeout == RH_NEVER);
	assert_int_equal(job->status.condition_count, 0);
}

/* v1-behaviour A.3: the object stays as the user wrote it. */
static void test_job__spec_defaults(void **state)
{
	rh_auto(job) job =
		test_job(&test_pytorch, "{'metadata':{'name':'j'},'spec':{'pytorchReplicaSpecs':{'Worker':{}}}}");

	(void)state;
	assert_int_equal(job->spec_count, 1);
	assert_int_equal(job->specs[0].replicas, 1);
	assert_int_equal(job->specs[0].policy, RH_RESTART_ON_FAILURE);
	assert_null(job->specs[0].template_);
	assert_int_equal(job->policy.clean, RH_CLEAN_NONE);
	assert_int_equal(job->policy.ttl_seconds, -1);
	assert_int_equal(job->policy.deadline_seconds, -1);
	assert_int_equal(job->policy.backoff_limit, -1);
	assert_int_equal(job->policy.scheduling.min_available, -1);
	assert_int_equal(job->policy.scheduling.timeout_seconds, -1);
	assert_false(job->policy.scheduling.present);
	assert_false(job->policy.suspend);
	assert_null(job->policy.managed_by);
	assert_null(rh_json_at(job->object, "spec.pytorchReplicaSpecs.Worker.replicas"));
}

static void test_job__run_policy(void **state)
{
	rh_auto(job) job = test_pytorch_job(
		"", "'runPolicy':{'cleanPodPolicy':'Running','suspend':true,'ttlSecondsAfterFinished':5,"
			"'activeDeadlineSeconds':4294967296,'backoffLimit':0,'managedBy':'kueue.x-k8s.io/multikueue',"
			"'schedulingPolicy':{'minAvailable':2,'queue':'q','priorityClass':'p','scheduleTimeoutSeconds':7,"
			"'minResources':{'cpu':1}}}");
	const struct rh_run_policy *policy = &job->policy;

	(void)state;
	assert_int_equal(policy->clean, RH_CLEAN_RUNNING);
	assert_true(policy->suspend);
	assert_int_equal(policy->ttl_seconds, 5);
	assert_int_equal(policy->deadline_seconds, INT64_C(4294967296));
	assert_int_equal(policy->backoff_limit, 0);
	assert_string_equal(policy->managed_by, "kueue.x-k8s.io/multikueue");
	assert_true(policy->scheduling.present);
	assert_int_equal(policy->scheduling.min_available, 2);
	assert_int_equal(policy->scheduling.timeout_seconds, 7);
	assert_string_equal(policy->scheduling.queue, "q");
	assert_string_equal(policy->scheduling.priority_class, "p");
	assert_int_equal(rh_json_size(policy->scheduling.min_resources), 1);
}

/* A stored job may hold what is refused today: it must not turn into "unset" (-1), nor overflow later. */
static void test_job__odd_numbers(void **state)
{
	rh_auto(job) job = test_pytorch_job("", "'runPolicy':{'ttlSecondsAfterFinished':-1,'backoffLimit':-5,"
	                                        "'activeDeadlineSeconds':-1,'schedulingPolicy':{'minAvailable':-1}}");
	rh_auto(job) late = test_pytorch_job("", "'runPolicy':{'activeDeadlineSeconds':9007199254740992}");

	(void)state;
	assert_int_equal(job->policy.ttl_seconds, 0);
	assert_int_equal(job->policy.backoff_limit, 0);
	assert_int_equal(job->policy.deadline_seconds, 0);
	assert_int_equal(job->policy.scheduling.min_available, 0);
	assert_true(late->policy.deadline_seconds < (INT64_MAX - rh_clock_wall()) / RH_SECOND);
	assert_true(late->policy.deadline_seconds > INT32_MAX);
}

struct clean_row {
	const char *spec;
	enum rh_clean_policy pytorch;
	enum rh_clean_policy mpi;
};

/* v1-behaviour A.3-1, B.1 */
static const struct clean_row clean_rows[] = {
	{"'runPolicy':{}", RH_CLEAN_NONE, RH_CLEAN_NONE},
	{"'runPolicy':null", RH_CLEAN_NONE, RH_CLEAN_NONE},
	{"'runPolicy':{'cleanPodPolicy':null}", RH_CLEAN_NONE, RH_CLEAN_NONE},
	{"'runPolicy':{'cleanPodPolicy':'None'}", RH_CLEAN_NONE, RH_CLEAN_NONE},
	{"'runPolicy':{'cleanPodPolicy':'Running'}", RH_CLEAN_RUNNING, RH_CLEAN_RUNNING},
	{"'runPolicy':{'cleanPodPolicy':'All'}", RH_CLEAN_ALL, RH_CLEAN_ALL},
	{"'runPolicy':{'cleanPodPolicy':'running'}", RH_CLEAN_ALL, RH_CLEAN_ALL},
	{"'runPolicy':{'cleanPodPolicy':''}", RH_CLEAN_ALL, RH_CLEAN_ALL},
	{"'cleanPodPolicy':'All'", RH_CLEAN_NONE, RH_CLEAN_ALL},
	{"'cleanPodPolicy':'Running','runPolicy':{'suspend':true}", RH_CLEAN_NONE, RH_CLEAN_RUNNING},
	{"'cleanPodPolicy':'All','runPolicy':{'cleanPodPolicy':'None'}", RH_CLEAN_NONE, RH_CLEAN_NONE},
	{"'cleanPodPolicy':5", RH_CLEAN_NONE, RH_CLEAN_NONE},
};

static void test_job__clean_policy(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(clean_rows) / sizeof(clean_rows[0]); i++) {
		rh_auto_free char *text = rh_asprintf("{'metadata':{'name':'j'},'spec':{%s}}", clean_rows[i].spec);
		rh_auto(job) pytorch = test_job(&test_pytorch, text);
		rh_auto(job) mpi = test_job(&test_mpi, text);

		if (pytorch->policy.clean != clean_rows[i].pytorch || mpi->policy.clean != clean_rows[i].mpi)
			fail_msg("%s: %d and %d", clean_rows[i].spec, (int)pytorch->policy.clean, (int)mpi->policy.clean);
	}
}

struct policy_row {
	const char *word;
	enum rh_restart_policy policy;
	const char *name;
};

static const struct policy_row policy_rows[] = {
	{"'Always'", RH_RESTART_ALWAYS, "Always"},    {"'OnFailure'", RH_RESTART_ON_FAILURE, "OnFailure"},
	{"'Never'", RH_RESTART_NEVER, "Never"},       {"'ExitCode'", RH_RESTART_EXIT_CODE, "ExitCode"},
	{"'Sometimes'", RH_RESTART_UNKNOWN, "Never"}, {"'always'", RH_RESTART_UNKNOWN, "Never"},
	{"''", RH_RESTART_ON_FAILURE, "OnFailure"},   {"null", RH_RESTART_ON_FAILURE, "OnFailure"},
};

static void test_job__restart_policy(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(policy_rows) / sizeof(policy_rows[0]); i++) {
		rh_auto_free char *text =
			rh_asprintf("{'metadata':{'name':'j'},'spec':{'pytorchReplicaSpecs':{'Worker':{'restartPolicy':%s}}}}",
		                policy_rows[i].word);
		rh_auto(job) job = test_job(&test_pytorch, text);

		assert_int_equal(job->specs[0].policy, policy_rows[i].policy);
		assert_string_equal(rh_restart_policy_name(job->specs[0].policy), policy_rows[i].name);
	}
}

struct types_row {
	const struct rh_kind *kind;
	const char *map;
	const char *line; /* "Type(key)=replicas", unknown types with ? */
};

static const struct types_row types_rows[] = {
	{&test_pytorch, "{}", ""},
	{&test_pytorch, "{'Worker':{'replicas':3},'Master':{}}", "Master(Master)=1 Worker(Worker)=3 "},
	{&test_pytorch, "{'worker':{},'Chief':{},'Master':{}}", "Master(Master)=1 ?Chief(Chief)=1 ?worker(worker)=1 "},
	{&test_tensorflow, "{'evaluator':{},'WORKER':{},'ps':{},'CHIEF':{}}",
     "Chief(CHIEF)=1 PS(ps)=1 Worker(WORKER)=1 Evaluator(evaluator)=1 "},
	{&test_tensorflow, "{'Worker':{'replicas':2},'worker':{'replicas':3}}", "Worker(worker)=3 "},
	{&test_tensorflow, "{'worker':{'replicas':3},'Worker':{'replicas':2}}", "Worker(worker)=3 "},
	{&test_tensorflow, "{'Zeta':{},'Alpha':{'replicas':4},'Worker':{}}",
     "Worker(Worker)=1 ?Alpha(Alpha)=4 ?Zeta(Zeta)=1 "},
	{&test_mpi, "{'Launcher':{},'Worker':{}}", "Worker(Worker)=0 Launcher(Launcher)=1 "},
	{&test_pytorch, "{'Worker':{'replicas':-3}}", "Worker(Worker)=0 "},
	{&test_pytorch, "{'Worker':{'replicas':null}}", "Worker(Worker)=1 "},
	{&test_pytorch, "{'Worker':{},'Master':null}", "Worker(Worker)=1 "},
};

/* An API server drops them where a definition names the field; a small definition does not name all. */
static void test_job__null_members_are_absent(void **state)
{
	rh_auto(job) job =
		test_job(&test_pytorch,
	             "{'metadata':{'name':'j','labels':null},'spec':{'pytorchReplicaSpecs':{'Worker':{'template':{'spec':{"
	             "'nodeSelector':{'a':null,'b':'c'},'containers':[{'name':'pytorch','image':'i','command':['a',null],"
	             "'env':[{'name':'A','value':null}],'resources':{'limits':{'cpu':null},'requests':null}}]}}}}}}");
	rh_auto_free char *text = rh_json_text(rh_json_at(job->object, "spec.pytorchReplicaSpecs.Worker.template.spec"));

	(void)state;
	assert_null(rh_json_at(job->object, "metadata.labels"));
	assert_string_equal(text, "{\"nodeSelector\":{\"b\":\"c\"},\"containers\":[{\"name\":\"pytorch\",\"image\":\"i\","
	                          "\"command\":[\"a\",null],\"env\":[{\"name\":\"A\"}],\"resources\":{\"limits\":{}}}]}");
}

static void test_job__types(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(types_rows) / sizeof(types_rows[0]); i++) {
		const struct types_row *row = &types_rows[i];
		rh_auto_free char *text =
			rh_asprintf("{'metadata':{'name':'j'},'spec':{'%s':%s}}", row->kind->replicas_field, row->map);
		rh_auto(job) job = test_job(row->kind, text);
		rh_auto_str line = {0};

		for (size_t j = 0; j < job->spec_count; j++)
			rh_str_appendf(&line, "%s%s(%s)=%d ", job->specs[j].known ? "" : "?", job->specs[j].type, job->specs[j].key,
			               (int)job->specs[j].replicas);
		assert_string_equal(rh_str_text(&line), row->line);
	}
}

struct annotation_row {
	const char *annotations;
	enum rh_restart_scope scope;
	int64_t timeout;
};

static const struct annotation_row annotation_rows[] = {
	{"{'roundhouse.dev/restart':'replica'}", RH_SCOPE_REPLICA, RH_NEVER},
	{"{'roundhouse.dev/restart':'job'}", RH_SCOPE_JOB, 60 * RH_SECOND},
	{"{'roundhouse.dev/restart':'Job'}", RH_SCOPE_REPLICA, RH_NEVER},
	{"{'roundhouse.dev/restart':true}", RH_SCOPE_REPLICA, RH_NEVER},
	{"{'roundhouse.dev/restart':'job','roundhouse.dev/terminating-timeout':'30s'}", RH_SCOPE_JOB, 30 * RH_SECOND},
	{"{'roundhouse.dev/terminating-timeout':'2m'}", RH_SCOPE_REPLICA, 120 * RH_SECOND},
	{"{'roundhouse.dev/terminating-timeout':'0s'}", RH_SCOPE_REPLICA, 0},
	{"{'roundhouse.dev/restart':'job','roundhouse.dev/terminating-timeout':'soon'}", RH_SCOPE_JOB, 60 * RH_SECOND},
	{"{'roundhouse.dev/terminating-timeout':30}", RH_SCOPE_REPLICA, RH_NEVER},
	{"null", RH_SCOPE_REPLICA, RH_NEVER},
};

static void test_job__annotations(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(annotation_rows) / sizeof(annotation_rows[0]); i++) {
		rh_auto_free char *metadata = rh_asprintf("'annotations':%s", annotation_rows[i].annotations);
		rh_auto(job) job = test_pytorch_job(metadata, "");

		assert_int_equal(job->scope, annotation_rows[i].scope);
		if (job->terminating_timeout != annotation_rows[i].timeout)
			fail_msg("%s: %lld", annotation_rows[i].annotations, (long long)job->terminating_timeout);
	}
}

static void test_job__status(void **state)
{
	rh_auto(job) job =
		test_job(&test_pytorch, "{'metadata':{'name':'j'},'spec':{},'status':{'conditions':["
	                            "{'type':'Failed','status':'True'}],'replicaStatuses':{'Worker':{'failed':2}}}}");

	(void)state;
	assert_true(rh_job_status_finished(&job->status));
	assert_int_equal(job->status.replicas[0].failed, 2);
}

struct bad_row {
	const char *text;
	const char *message;
};

#define IN_SPEC(spec) "{'metadata':{'name':'j'},'spec':" spec "}"
#define IN_POLICY(policy) IN_SPEC("{'runPolicy':" policy "}")
#define IN_MASTER(master) IN_SPEC("{'pytorchReplicaSpecs':{'Master':" master "}}")
#define IS_TYPE(path, found, wanted) \
	path ": Invalid value: \"" found "\": " path " in body must be of type " wanted ": \"" found "\""

static const struct bad_row bad_rows[] = {
	{"5", IS_TYPE("object", "integer", "object")},
	{"{}", "metadata.name: Required value: name is required"},
	{"{'metadata':{'name':''},'spec':{}}", "metadata.name: Required value: name is required"},
	{"{'metadata':[],'spec':{}}", IS_TYPE("metadata", "array", "object")},
	{"{'metadata':{'name':5},'spec':{}}", IS_TYPE("metadata.name", "integer", "string")},
	{"{'metadata':{'name':'j','annotations':'x'},'spec':{}}", IS_TYPE("metadata.annotations", "string", "object")},
	{"{'metadata':{'name':'j','uid':[]},'spec':{}}", IS_TYPE("metadata.uid", "array", "string")},
	{"{'metadata':{'name':'j'}}", "spec: Required value"},
	{"{'metadata':{'name':'j'},'spec':null}", "spec: Required value"},
	{IN_SPEC("'x'"), IS_TYPE("spec", "string", "object")},
	{IN_SPEC("{'runPolicy':[]}"), IS_TYPE("spec.runPolicy", "array", "object")},
	{IN_POLICY("{'cleanPodPolicy':1}"), IS_TYPE("spec.runPolicy.cleanPodPolicy", "integer", "string")},
	{IN_POLICY("{'suspend':'yes'}"), IS_TYPE("spec.runPolicy.suspend", "string", "boolean")},
	{IN_POLICY("{'ttlSecondsAfterFinished':'5'}"),
     IS_TYPE("spec.runPolicy.ttlSecondsAfterFinished", "string", "integer")},
	{IN_POLICY("{'ttlSecondsAfterFinished':4294967296}"),
     "spec.runPolicy.ttlSecondsAfterFinished: Invalid value: 4294967296: must be between -2147483648 and 2147483647"},
	{IN_POLICY("{'activeDeadlineSeconds':1.5}"), IS_TYPE("spec.runPolicy.activeDeadlineSeconds", "number", "integer")},
	{IN_POLICY("{'backoffLimit':true}"), IS_TYPE("spec.runPolicy.backoffLimit", "boolean", "integer")},
	{IN_POLICY("{'managedBy':1}"), IS_TYPE("spec.runPolicy.managedBy", "integer", "string")},
	{IN_POLICY("{'schedulingPolicy':1}"), IS_TYPE("spec.runPolicy.schedulingPolicy", "integer", "object")},
	{IN_POLICY("{'schedulingPolicy':{'minAvailable':'1'}}"),
     IS_TYPE("spec.runPolicy.schedulingPolicy.minAvailable", "string", "integer")},
	{IN_POLICY("{'schedulingPolicy':{'queue':1}}"),
     IS_TYPE("spec.runPolicy.schedulingPolicy.queue", "integer", "string")},
	{IN_POLICY("{'schedulingPolicy':{'minResources':[]}}"),
     IS_TYPE("spec.runPolicy.schedulingPolicy.minResources", "array", "object")},
	{IN_SPEC("{'pytorchReplicaSpecs':[]}"), IS_TYPE("spec.pytorchReplicaSpecs", "array", "object")},
	{IN_MASTER("[]"), IS_TYPE("spec.pytorchReplicaSpecs.Master", "array", "object")},
	{IN_MASTER("{'replicas':'one'}"), IS_TYPE("spec.pytorchReplicaSpecs.Master.replicas", "string", "integer")},
	{IN_MASTER("{'replicas':1.5}"), IS_TYPE("spec.pytorchReplicaSpecs.Master.replicas", "number", "integer")},
	{IN_MASTER("{'replicas':2147483648}"),
     "spec.pytorchReplicaSpecs.Master.replicas: Invalid value: 2147483648: must be between -2147483648 and 2147483647"},
	{IN_MASTER("{'restartPolicy':7}"), IS_TYPE("spec.pytorchReplicaSpecs.Master.restartPolicy", "integer", "string")},
	{IN_MASTER("{'template':'x'}"), IS_TYPE("spec.pytorchReplicaSpecs.Master.template", "string", "object")},
};

static void test_job__bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad_rows) / sizeof(bad_rows[0]); i++) {
		struct rh_error err = {0};
		struct rh_job *job = NULL;

		assert_int_equal(rh_job_parse(&test_pytorch, test_json(bad_rows[i].text), &job, &err), RH_EINVAL);
		assert_null(job);
		if (strstr(err.message, "; it is "))
			*strstr(err.message, "; it is ") = '\0';
		assert_string_equal(err.message, bad_rows[i].message);
	}
}

/* The API server's words, as recorded, and then the value. */
static void test_job__golden_bad_type(void **state)
{
	rh_auto(json) messages = test_golden("invalid/messages.json");
	const char *wanted = rh_json_string(rh_json_get(rh_json_get(messages, "bad-replicas-string"), "message"));
	struct rh_error err = {0};
	struct rh_job *job = NULL;

	(void)state;
	assert_int_equal(rh_job_parse(&test_pytorch, test_golden("invalid/bad-replicas-string.yaml"), &job, &err),
	                 RH_EINVAL);
	assert_non_null(strstr(err.message, "; it is \"one\""));
	*strstr(err.message, "; it is ") = '\0';
	assert_non_null(strstr(wanted, err.message));
}

static void test_job__too_many_types(void **state)
{
	rh_auto_str text = {0};
	struct rh_error err = {0};
	struct rh_job *job = NULL;

	(void)state;
	rh_str_append(&text, "{'metadata':{'name':'j'},'spec':{'tfReplicaSpecs':{'Worker':{}");
	for (int i = 0; i < RH_TYPES_MAX; i++)
		rh_str_appendf(&text, ",'T%d':{}", i);
	rh_str_append(&text, "}}}");
	assert_int_equal(rh_job_parse(&test_tensorflow, test_json(rh_str_text(&text)), &job, &err), RH_EINVAL);
	assert_string_equal(err.message, "spec.tfReplicaSpecs: Too many: at most 16 replica types are allowed");
}

static void test_job__nothing_to_parse(void **state)
{
	struct rh_job *job = NULL;

	(void)state;
	assert_int_equal(rh_job_parse(&test_pytorch, NULL, &job, NULL), RH_EINVAL);
	rh_job_free(NULL);
}

struct role_row {
	const struct rh_kind *kind;
	const char *map;
	const char *type;
	int32_t index;
	bool leader;
	int32_t rank;
};

/* v1-behaviour C.1 */
static const struct role_row role_rows[] = {
	{&test_pytorch, "{'Master':{},'Worker':{'replicas':2}}", "Master", 0, true, 0},
	{&test_pytorch, "{'Master':{},'Worker':{'replicas':2}}", "Worker", 0, false, 1},
	{&test_pytorch, "{'Master':{},'Worker':{'replicas':2}}", "Worker", 1, false, 2},
	{&test_pytorch, "{'Worker':{'replicas':2}}", "Worker", 0, true, 0},
	{&test_pytorch, "{'Worker':{'replicas':2}}", "Worker", 1, false, 1},
	{&test_tensorflow, "{'Chief':{'replicas':2},'PS':{'replicas':3},'Worker':{}}", "Chief", 1, true, 1},
	{&test_tensorflow, "{'Chief':{'replicas':2},'PS':{'replicas':3},'Worker':{}}", "Worker", 0, false, 5},
	{&test_tensorflow, "{'PS':{'replicas':3},'Worker':{}}", "Worker", 0, true, 3},
	{&test_tensorflow, "{'PS':{'replicas':3},'Worker':{}}", "PS", 0, false, 0},
	{&test_tensorflow, "{'Worker':{},'odd':{'replicas':2}}", "odd", 1, false, 2},
	{&test_paddle, "{'Worker':{'replicas':2}}", "Worker", 0, false, 0},
	{&test_paddle, "{'Worker':{'replicas':2},'Master':{'replicas':2}}", "Master", 1, true, 1},
	{&test_jax, "{'Worker':{'replicas':2}}", "Worker", 0, true, 0},
	{&test_mpi, "{'Launcher':{},'Worker':{'replicas':2}}", "Launcher", 0, true, 2},
};

static void test_job__roles(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(role_rows) / sizeof(role_rows[0]); i++) {
		const struct role_row *row = &role_rows[i];
		rh_auto_free char *text =
			rh_asprintf("{'metadata':{'name':'j'},'spec':{'%s':%s}}", row->kind->replicas_field, row->map);
		rh_auto(job) job = test_job(row->kind, text);

		if (rh_job_is_leader(job, row->type, row->index) != row->leader ||
		    rh_job_rank(job, row->type, row->index) != row->rank)
			fail_msg("%s %s %d: rank %d", row->map, row->type, (int)row->index,
			         (int)rh_job_rank(job, row->type, row->index));
	}
}

static void test_job__totals(void **state)
{
	rh_auto(job) job = test_job(&test_pytorch, IN_SPEC("{'pytorchReplicaSpecs':{'Master':{'replicas':2000000000},"
	                                                   "'Worker':{'replicas':2000000000}}}"));

	(void)state;
	assert_int_equal(rh_job_total_replicas(job), INT64_C(4000000000));
	assert_int_equal(rh_job_rank(job, "Worker", 2000000000 - 1), INT32_MAX);
	assert_ptr_equal(rh_job_spec(job, "Worker"), &job->specs[1]);
	assert_null(rh_job_spec(job, "worker"));
}

static void test_job__is_ours(void **state)
{
	rh_auto(job) unset = test_pytorch_job("", "");
	rh_auto(job) ours = test_pytorch_job("", "'runPolicy':{'managedBy':'kubeflow.org/training-operator'}");
	rh_auto(job) kueue = test_pytorch_job("", "'runPolicy':{'managedBy':'kueue.x-k8s.io/multikueue'}");
	rh_auto(job) empty = test_pytorch_job("", "'runPolicy':{'managedBy':''}");

	(void)state;
	assert_true(rh_job_is_ours(unset));
	assert_true(rh_job_is_ours(ours));
	assert_false(rh_job_is_ours(kueue));
	assert_false(rh_job_is_ours(empty));
}

struct port_row {
	const char *containers;
	int32_t port;
};

#define OWN_PORT "[{'name':'other','containerPort':1},{'name':'pytorchjob-port','containerPort':29500}]"

static const struct port_row port_rows[] = {
	{"[{'name':'pytorch','ports':" OWN_PORT "}]", 29500},
	{"[{'name':'side'},{'name':'pytorch','ports':" OWN_PORT "}]", 29500},
	{"[{'name':'side','ports':" OWN_PORT "},{'name':'pytorch'}]", 23456},
	{"[{'name':'first','ports':" OWN_PORT "},{'name':'second'}]", 29500},
	{"[{'name':'pytorch'}]", 23456},
	{"[{'name':'pytorch','ports':[{'containerPort':5}]}]", 23456},
	{"[{'name':'pytorch','ports':[{'name':'pytorchjob-port','containerPort':0}]}]", 23456},
	{"[{'name':'pytorch','ports':[{'name':'pytorchjob-port','containerPort':65536}]}]", 23456},
	{"[{'name':'pytorch','ports':[{'name':'pytorchjob-port','containerPort':'5'}]}]", 23456},
	{"[{'name':'pytorch','ports':{'name':'pytorchjob-port'}}]", 23456},
	{"[]", 23456},
	{"{'a':{'name':'pytorch','ports':" OWN_PORT "}}", 23456},
	{"[5,null]", 23456},
};

static void test_job__port(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(port_rows) / sizeof(port_rows[0]); i++) {
		rh_auto_free char *text =
			rh_asprintf(IN_MASTER("{'template':{'spec':{'containers':%s}}}"), port_rows[i].containers);
		rh_auto(job) job = test_job(&test_pytorch, text);

		if (rh_job_port(job, "Master") != port_rows[i].port)
			fail_msg("%s: port %d", port_rows[i].containers, (int)rh_job_port(job, "Master"));
		assert_int_equal(rh_job_port(job, "Worker"), -1);
	}
}

static void test_job__main_container(void **state)
{
	rh_auto(json) spec = test_json("{'containers':[{'name':'a'},{'name':'pytorch'}]}");

	(void)state;
	assert_string_equal(rh_json_string_at(rh_job_main_container(&test_pytorch, spec), "name"), "pytorch");
	assert_string_equal(rh_json_string_at(rh_job_main_container(&test_tensorflow, spec), "name"), "a");
	assert_string_equal(rh_json_string_at(rh_job_main_container(&test_mpi, spec), "name"), "a");
	assert_null(rh_job_main_container(&test_pytorch, NULL));
}

static void test_job__failing_allocations(void **state)
{
	rh_auto(json) object = test_golden("objects/pt-run-policy.yaml");
	long failures = 0;
	int r;

	(void)state;
	assert_int_equal(rh_json_set(object, "status",
	                             test_json("{'conditions':[{'type':'Created','status':'True'}],"
	                                       "'replicaStatuses':{'Worker':{'selector':'a'}}}")),
	                 0);
	do {
		rh_auto(job) job = NULL;
		struct rh_json *copy = rh_json_copy(object);
		struct rh_error err = {0};

		rh_mem_fail_after(failures++);
		r = rh_job_parse(&test_pytorch, copy, &job, &err);
		rh_mem_fail_after(-1);
		assert_true(r == 0 || (r == RH_ENOMEM && !job && err.code == RH_ENOMEM));
	} while (r != 0);
	assert_true(failures > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_job__metadata),
		cmocka_unit_test(test_job__metadata_defaults),
		cmocka_unit_test(test_job__spec_defaults),
		cmocka_unit_test(test_job__run_policy),
		cmocka_unit_test(test_job__odd_numbers),
		cmocka_unit_test(test_job__clean_policy),
		cmocka_unit_test(test_job__restart_policy),
		cmocka_unit_test(test_job__null_members_are_absent),
		cmocka_unit_test(test_job__types),
		cmocka_unit_test(test_job__annotations),
		cmocka_unit_test(test_job__status),
		cmocka_unit_test(test_job__bad),
		cmocka_unit_test(test_job__golden_bad_type),
		cmocka_unit_test(test_job__too_many_types),
		cmocka_unit_test(test_job__nothing_to_parse),
		cmocka_unit_test(test_job__roles),
		cmocka_unit_test(test_job__totals),
		cmocka_unit_test(test_job__is_ours),
		cmocka_unit_test(test_job__port),
		cmocka_unit_test(test_job__main_container),
		cmocka_unit_test(test_job__failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
