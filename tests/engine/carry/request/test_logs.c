/* SPDX-License-Identifier: Apache-2.0 */
/* A job fails, and what its containers wrote is in their logs alone: the engine reads them before it judges. */
#include "engine/carry/sim.h"

#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "engine/plan.h"

#define VICTIM "step 7\nRuntimeError: Connection closed by peer [127.0.0.1]:4711\n"
#define CAUSE                                      \
	"step 7\nTraceback (most recent call last):\n" \
	"  File \"/train.py\", line 7, in <module>\n"  \
	"    raise ValueError(\"bad batch\")\n"        \
	"ValueError: bad batch\n"
#define LOGS_MAX 64

/* A store whose answers about logs can be kept back, in front of the one of a simulation. */
struct logs {
	struct rh_store face; /* first */
	struct rh_store *real;
	struct sim sim;
	const char *texts[LOGS_MAX][2]; /* "pod/container", or with "<" in front for an earlier instance, and its log */
	bool forbidden;
	size_t throttled;    /* so many requests are refused for the moment */
	enum rh_verb busy;   /* of this verb */
	int64_t retry_after; /* as the answer to them says, microseconds */
	bool silent;         /* logs are not answered */
	size_t asked;        /* requests for logs */
	size_t cancelled;    /* of those that are not answered */
	size_t reads;        /* other requests of one pod */
	int32_t lines;       /* of the last request */
	char order[4096];    /* L: a log is read; D: a pod is deleted; S: a status is written */
};

static uint64_t logs_watch(struct rh_store *face, const struct rh_resource *resource, const char *label,
                           rh_watch_fn *fn, void *arg)
{
	struct rh_store *real = ((struct logs *)face)->real;

	return real->watch(real, resource, label, fn, arg);
}

static void logs_unwatch(struct rh_store *face, uint64_t watch)
{
	struct rh_store *real = ((struct logs *)face)->real;

	real->unwatch(real, watch);
}

static int logs_submit(struct rh_store *face, struct rh_request *request, rh_done_fn *done, void *arg, uint64_t *ret_id,
                       struct rh_error *err)
{
	struct logs *logs = (struct logs *)face;

	if (request->verb != RH_VERB_LOG || !logs->silent)
		return logs->real->submit(logs->real, request, done, arg, ret_id, err);
	logs->asked++;
	*ret_id = UINT64_MAX;
	return 0;
}

static void logs_cancel(struct rh_store *face, uint64_t id)
{
	struct logs *logs = (struct logs *)face;

	if (id == UINT64_MAX)
		logs->cancelled++;
	else
		logs->real->cancel(logs->real, id);
}

static const char *logs_text(void *arg, const struct rh_request *request)
{
	const struct logs *logs = arg;
	rh_auto_free char *name =
		rh_asprintf("%s%s/%s", request->log->previous ? "<" : "", request->name, request->log->container);

	for (size_t i = 0; i < LOGS_MAX && logs->texts[i][0]; i++) {
		if (strcmp(logs->texts[i][0], name) == 0)
			return logs->texts[i][1];
	}
	return NULL;
}

static bool logs_gate(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome, bool *ret_apply)
{
	struct logs *logs = arg;
	bool pod = strcmp(request->resource->kind, "Pod") == 0;
	size_t length = strlen(logs->order);
	char letter = request->verb == RH_VERB_LOG             ? 'L'
	              : request->verb == RH_VERB_DELETE && pod ? 'D'
	              : request->verb == RH_VERB_PATCH_STATUS  ? 'S'
	                                                       : 0;

	*ret_apply = false;
	logs->reads += pod && request->verb == RH_VERB_GET;
	if (letter && length + 1 < sizeof(logs->order))
		logs->order[length] = letter;
	if (request->verb == RH_VERB_LOG) {
		logs->asked++;
		logs->lines = request->log->lines;
	}
	if (pod && request->verb == logs->busy && logs->throttled > 0) {
		logs->throttled--;
		*ret_outcome = (struct rh_outcome){
			.code = RH_OUTCOME_THROTTLED, .message = "too many requests", .retry_after = logs->retry_after};
		return true;
	}
	if (request->verb != RH_VERB_LOG || !logs->forbidden)
		return false;
	*ret_outcome = (struct rh_outcome){.code = RH_OUTCOME_DENIED, .message = "forbidden", .forbidden = true};
	return true;
}

static void logs_close(struct logs *logs)
{
	sim_close(&logs->sim);
}

#define auto_logs __attribute__((cleanup(logs_close))) struct logs

static void logs_open(struct logs *logs, bool reads)
{
	struct rh_error err = {0};

	*logs = (struct logs){
		.face = {.watch = logs_watch, .unwatch = logs_unwatch, .submit = logs_submit, .cancel = logs_cancel}};
	sim_open(&logs->sim, false);
	logs->real = rh_memory_store_face(logs->sim.store);
	rh_memory_store_set_gate(logs->sim.store, logs_gate, logs);
	rh_memory_store_set_logs(logs->sim.store, logs_text, logs);
	logs->sim.options.host = logs->sim.host;
	logs->sim.options.store = &logs->face;
	logs->sim.options.reads_logs = reads;
	assert_int_equal(rh_engine_new(&logs->sim.options, &logs->sim.engine, &err), 0);
}

static void logs_write(struct logs *logs, const char *name, const char *text)
{
	size_t i = 0;

	while (logs->texts[i][0])
		i++;
	assert_true(i < LOGS_MAX);
	logs->texts[i][0] = name;
	logs->texts[i][1] = text;
}

/* As an API server has it, which fills in the policy. */
#define CONTAINER(name) "{'name':'" name "','image':'i','terminationMessagePolicy':'File'}"

/* A job of a master and workers that all run. @param containers of each */
static void logs_run_of(struct logs *logs, const char *name, int workers, const char *restart, const char *containers)
{
	rh_auto_free char *template =
		rh_asprintf("'restartPolicy':'%s','template':{'spec':{'containers':[%s]}}", restart, containers);
	rh_auto_free char *text =
		rh_asprintf("{'metadata':{'name':'%s'},'spec':{'runPolicy':{'backoffLimit':1,'cleanPodPolicy':'All'},"
	                "'pytorchReplicaSpecs':{'Master':{'replicas':1,%s},'Worker':{'replicas':%d,%s}}}}",
	                name, template, workers, template);
	rh_auto_free char *master = rh_asprintf("%s-master-0", name);

	sim_create(&logs->sim, sim_json(text));
	sim_settle(&logs->sim);
	sim_set_pod(&logs->sim, master, "Running", 0, 0);
	for (int i = 0; i < workers; i++) {
		rh_auto_free char *worker = rh_asprintf("%s-worker-%d", name, i);

		sim_set_pod(&logs->sim, worker, "Running", 0, 0);
	}
	sim_settle(&logs->sim);
}

static void logs_run(struct logs *logs, const char *name, int workers)
{
	logs_run_of(logs, name, workers, "Never", CONTAINER("pytorch"));
}

static void logs_patch_pod(struct logs *logs, const char *pod, char *status)
{
	rh_auto_free char *text = status;

	(void)sim_user(&logs->sim, (struct rh_request){.verb = RH_VERB_PATCH_STATUS,
	                                               .resource = &rh_resource_pods,
	                                               .name = pod,
	                                               .body = sim_json(text)});
}

/* A container ends as most do: the kubelet has no message for it. */
#define ENDED(at) "{'terminated':{'exitCode':1,'reason':'Error','finishedAt':'2026-01-01T00:00:" at "Z'}}"

static void logs_fail(struct logs *logs, const char *pod)
{
	logs_patch_pod(
		logs, pod,
		rh_strdup("{'status':{'phase':'Failed','containerStatuses':[{'name':'pytorch','state':" ENDED("05") "}]}}"));
}

static const char *logs_message(const struct logs *logs, const char *job)
{
	const struct rh_json *conditions = rh_json_at(sim_job(&logs->sim, job), "status.conditions");

	for (const struct rh_json *item = rh_json_first(conditions); item; item = rh_json_next(item)) {
		if (strcmp(rh_json_string_at(item, "type"), "Failed") == 0)
			return rh_json_string_at(item, "message");
	}
	return "";
}

static void assert_message(const struct logs *logs, const char *job, const char *part)
{
	if (!strstr(logs_message(logs, job), part))
		fail_msg("no \"%s\" in \"%s\"", part, logs_message(logs, job));
}

/* Two of a job fail in the same second, of which one has lost the other. */
static void logs_fail_two(struct logs *logs, const char *cause)
{
	logs_run(logs, "j", 2);
	logs_write(logs, "j-worker-0/pytorch", VICTIM);
	logs_write(logs, "j-worker-1/pytorch", cause);
	logs_fail(logs, "j-worker-0");
	logs_fail(logs, "j-worker-1");
}

static void test_logs__name_the_cause(void **state)
{
	auto_logs logs;

	(void)state;
	logs_open(&logs, true);
	logs_fail_two(&logs, CAUSE);
	memset(logs.order, 0, sizeof(logs.order));
	sim_settle(&logs.sim);
	assert_message(&logs, "j", "First fault: Worker-1 (pod j-worker-1, container pytorch) exited with code 1 at ");
	assert_message(&logs, "j", "; last line: ValueError: bad batch");
	assert_int_equal(logs.asked, 2);
	assert_int_equal(logs.lines, 200);
	/* every log is read before the first pod is deleted */
	assert_non_null(strchr(logs.order, 'D'));
	assert_true(strrchr(logs.order, 'L') < strchr(logs.order, 'D'));
}

static void test_logs__are_kept_when_the_pod_changes(void **state)
{
	auto_logs logs;

	(void)state;
	logs_open(&logs, true);
	logs_run_of(&logs, "j", 1, "Never", CONTAINER("pytorch"));
	/* a victim: the cause may be the master, which runs; so the verdict waits, and the pod changes meanwhile */
	logs_write(&logs, "j-worker-0/pytorch", VICTIM);
	logs_fail(&logs, "j-worker-0");
	sim_settle(&logs.sim);
	assert_string_equal(logs_message(&logs, "j"), "");
	logs_patch_pod(&logs, "j-worker-0", rh_strdup("{'status':{'hostIP':'10.0.0.1'}}"));
	sim_wait(&logs.sim, 6);
	assert_message(&logs, "j", "Master-0 (pod j-master-0) had not ended when its peers failed");
	assert_message(&logs, "j", "Worker-0: RuntimeError: Connection closed by peer");
	assert_int_equal(logs.asked, 1);
}

static void test_logs__are_not_read_unless_wanted(void **state)
{
	auto_logs logs;

	(void)state;
	logs_open(&logs, false);
	logs_fail_two(&logs, CAUSE);
	sim_settle(&logs.sim);
	assert_message(&logs, "j", "First fault: unknown: 2 replicas failed alike in the same second");
	assert_int_equal(logs.asked, 0);
	assert_int_equal(logs.reads, 0);
}

static void test_logs__one_refusal_is_enough(void **state)
{
	auto_logs logs;

	(void)state;
	logs_open(&logs, true);
	logs.forbidden = true;
	logs_fail_two(&logs, CAUSE);
	sim_settle(&logs.sim);
	assert_message(&logs, "j", "First fault: unknown: 2 replicas failed alike in the same second");
	assert_int_equal(logs.asked, 1);
	assert_int_equal(logs.reads, 0);
	/* others of the namespace do not ask */
	logs_run(&logs, "k", 1);
	logs_fail(&logs, "k-worker-0");
	sim_settle(&logs.sim);
	assert_message(&logs, "k", "its output is unknown");
	assert_int_equal(logs.asked, 1);
	/* until the right may have been granted */
	sim_wait(&logs.sim, 601);
	logs.forbidden = false;
	logs_run(&logs, "l", 1);
	logs_write(&logs, "l-worker-0/pytorch", CAUSE);
	logs_fail(&logs, "l-worker-0");
	sim_settle(&logs.sim);
	assert_message(&logs, "l", "ValueError: bad batch");
	assert_int_equal(logs.asked, 2);
}

/* A server that has no time is asked again when it says, as long as the verdict waits. */
static void test_logs__of_a_busy_server(void **state)
{
	static const struct {
		enum rh_verb verb;
		size_t times;
		int64_t retry_after; /* seconds; 0: the answer has none */
		const char *message;
	} rows[] = {
		{RH_VERB_LOG, 1, 0, "ValueError: bad batch"},
		{RH_VERB_LOG, 1, 9, "ValueError: bad batch"},
		{RH_VERB_LOG, 4, 2, "ValueError: bad batch"},
		{RH_VERB_GET, 2, 2, "ValueError: bad batch"},
		/* later than the verdict may wait */
		{RH_VERB_LOG, 2, 60, "First fault: unknown: 2 replicas failed alike in the same second"},
		{RH_VERB_LOG, 1000, 1, "First fault: unknown: 2 replicas failed alike in the same second"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_logs logs;

		logs_open(&logs, true);
		logs.busy = rows[i].verb;
		logs.throttled = rows[i].times;
		logs.retry_after = rows[i].retry_after * RH_SECOND;
		logs_fail_two(&logs, CAUSE);
		sim_settle(&logs.sim);
		sim_wait(&logs.sim, 11);
		assert_message(&logs, "j", rows[i].message);
		assert_true(logs.asked <= 12);
	}
}

/* A node that does not answer: the job is judged without it after a time, and no other job waits. */
static void test_logs__silence(void **state)
{
	auto_logs logs;

	(void)state;
	logs_open(&logs, true);
	logs.silent = true;
	logs_fail_two(&logs, CAUSE);
	sim_settle(&logs.sim);
	assert_string_equal(logs_message(&logs, "j"), "");
	assert_int_equal(logs.asked, 1); /* it would show whether there is the right */
	logs_run(&logs, "k", 1);
	sim_assert(&logs.sim, "k", "Created Running | master-0 Running, worker-0 Running");
	assert_string_equal(logs_message(&logs, "j"), "");
	sim_wait(&logs.sim, 11);
	assert_message(&logs, "j", "First fault: unknown: 2 replicas failed alike in the same second");
	assert_int_equal(logs.cancelled, logs.asked);
}

static void test_logs__of_pods_that_are_gone(void **state)
{
	auto_logs logs;

	(void)state;
	logs_open(&logs, true);
	logs.silent = true;
	logs_fail_two(&logs, CAUSE);
	sim_settle(&logs.sim);
	sim_delete_pod(&logs.sim, "j-worker-0", 0);
	sim_delete_pod(&logs.sim, "j-worker-1", 0);
	sim_wait(&logs.sim, 11);
	sim_delete(&logs.sim, "j");
	sim_wait(&logs.sim, 11);
	assert_int_equal(logs.cancelled, logs.asked);
}

static void test_logs__end_with_the_engine(void **state)
{
	auto_logs logs;

	(void)state;
	logs_open(&logs, true);
	logs.silent = true;
	logs_fail_two(&logs, CAUSE);
	sim_settle(&logs.sim);
	sim_kill(&logs.sim);
	assert_int_equal(logs.cancelled, 1);
}

static void test_logs__that_are_not_there(void **state)
{
	auto_logs logs;

	(void)state;
	logs_open(&logs, true);
	logs_run(&logs, "j", 1);
	logs_fail(&logs, "j-worker-0");
	sim_settle(&logs.sim);
	assert_message(&logs, "j", "its output is unknown");
	assert_int_equal(logs.asked, 1);
}

/* A program that wrote nothing is not one whose output is unknown. */
static void test_logs__that_are_empty(void **state)
{
	auto_logs logs;

	(void)state;
	logs_open(&logs, true);
	logs_run(&logs, "j", 1);
	logs_write(&logs, "j-worker-0/pytorch", "");
	logs_fail(&logs, "j-worker-0");
	sim_settle(&logs.sim);
	assert_message(&logs, "j", "First fault: Worker-0 (pod j-worker-0, container pytorch) exited with code 1 at ");
	assert_null(strstr(logs_message(&logs, "j"), "its output is unknown"));
}

/* A kubelet cuts a long text at its end, which is the part that counts. */
static void test_logs__too_long(void **state)
{
	rh_auto_str text = {0};
	auto_logs logs;

	(void)state;
	for (int i = 0; i < 300; i++)
		rh_str_appendf(&text, "step %d %01900d\n", i, 0);
	rh_str_append(&text, CAUSE);
	logs_open(&logs, true);
	logs_fail_two(&logs, rh_str_text(&text));
	sim_settle(&logs.sim);
	assert_message(&logs, "j", "First fault: Worker-1 (pod j-worker-1, container pytorch) ");
	assert_message(&logs, "j", "; last line: ValueError: bad batch");
	assert_true(logs.lines < 200);
}

/* Any bytes, in one line without an end that is longer than an answer. */
static void test_logs__garbage(void **state)
{
	rh_auto_str text = {0};
	auto_logs logs;

	(void)state;
	for (int i = 0; i < 70 * 1024; i++) {
		char byte = (char)(1 + (i * 7919) % 255);

		rh_str_append_bytes(&text, byte == '\n' ? "\x1b" : &byte, 1);
	}
	logs_open(&logs, true);
	logs_fail_two(&logs, rh_str_text(&text));
	sim_settle(&logs.sim);
	assert_message(&logs, "j", "First fault: Worker-");
	for (const char *at = logs_message(&logs, "j"); *at; at++)
		assert_true((unsigned char)*at >= ' ');
	assert_int_equal(logs.lines, 1);
}

/* A container beside the main one is the cause; the main one only lost it. */
static void test_logs__of_each_container(void **state)
{
	auto_logs logs;

	(void)state;
	logs_open(&logs, true);
	logs_run_of(&logs, "j", 1, "Never", CONTAINER("pytorch") "," CONTAINER("server"));
	logs_write(&logs, "j-worker-0/pytorch", VICTIM);
	logs_write(&logs, "j-worker-0/server", CAUSE);
	logs_patch_pod(&logs, "j-worker-0",
	               rh_strdup("{'status':{'phase':'Failed','containerStatuses':[{'name':'pytorch','state':" ENDED(
					   "05") "},{'name':'server','state':" ENDED("04") "}]}}"));
	sim_settle(&logs.sim);
	assert_message(&logs, "j", "First fault: Worker-0 (pod j-worker-0, container server) ");
	assert_message(&logs, "j", "; last line: ValueError: bad batch");
	assert_int_equal(logs.asked, 2);
}

/* A container that was restarted in its place: what counts is the log of the instance that ended. */
static void test_logs__of_an_earlier_instance(void **state)
{
	auto_logs logs;

	(void)state;
	logs_open(&logs, true);
	logs_run_of(&logs, "j", 1, "OnFailure", CONTAINER("pytorch"));
	logs_write(&logs, "<j-worker-0/pytorch", CAUSE);
	logs_patch_pod(&logs, "j-worker-0",
	               rh_strdup("{'status':{'phase':'Running','containerStatuses':[{'name':'pytorch','restartCount':1,"
	                         "'state':{'running':{}},'lastState':" ENDED("05") "}]}}"));
	sim_settle(&logs.sim);
	assert_message(&logs, "j", "First fault: Worker-0 (pod j-worker-0, container pytorch) ");
	assert_message(&logs, "j", "; last line: ValueError: bad batch");
	assert_int_equal(logs.asked, 1);
}

static void test_logs__of_so_many_pods(void **state)
{
	auto_logs logs;

	(void)state;
	logs_open(&logs, true);
	logs_run(&logs, "j", 40);
	for (int i = 0; i < 40; i++) {
		rh_auto_free char *pod = rh_asprintf("j-worker-%d", i);

		logs_fail(&logs, pod);
	}
	sim_settle(&logs.sim);
	assert_int_equal(logs.asked, RH_PLAN_LOGS_MAX);
	assert_message(&logs, "j", "First fault: ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_logs__name_the_cause),
		cmocka_unit_test(test_logs__are_kept_when_the_pod_changes),
		cmocka_unit_test(test_logs__are_not_read_unless_wanted),
		cmocka_unit_test(test_logs__one_refusal_is_enough),
		cmocka_unit_test(test_logs__of_a_busy_server),
		cmocka_unit_test(test_logs__silence),
		cmocka_unit_test(test_logs__of_pods_that_are_gone),
		cmocka_unit_test(test_logs__end_with_the_engine),
		cmocka_unit_test(test_logs__that_are_not_there),
		cmocka_unit_test(test_logs__that_are_empty),
		cmocka_unit_test(test_logs__too_long),
		cmocka_unit_test(test_logs__garbage),
		cmocka_unit_test(test_logs__of_each_container),
		cmocka_unit_test(test_logs__of_an_earlier_instance),
		cmocka_unit_test(test_logs__of_so_many_pods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
