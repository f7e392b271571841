/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/observe.h"

#include <string.h>

#include "base/log.h"
#include "base/os/clock.h"
#include "base/support.h"

#define NOW (INT64_C(1000) * RH_SECOND)

static const struct rh_kind kind = {
	.group = "kubeflow.org", .version = "v1", .kind = "PyTorchJob", .framework = "pytorch", .controller = "c"};

/* One version of a job, with two replicas of one type. */
struct version {
	struct rh_job job;
	struct rh_ledger ledger;
};

static const char *const labels[] = {"team", "pytorch"};
static const char *const framework[] = {"pytorch"};

static void set_condition(struct rh_job *job, const char *type, bool status)
{
	struct rh_condition *condition = &job->status.conditions[job->status.condition_count++];

	condition->type = rh_strdup(type);
	condition->status = status;
}

/* A job of which @p active pods run, with the True condition @p type (NULL: none) and @p restarts by exit. */
static void make(struct version *version, int32_t active, const char *type, int restarts)
{
	struct rh_job *job = &version->job;

	memset(version, 0, sizeof(*version));
	job->kind = &kind;
	job->namespace_ = "team";
	job->name = "mnist";
	job->uid = "u";
	job->created_at = NOW - 7 * RH_SECOND;
	job->spec_count = 1;
	job->specs[0].type = "Worker";
	job->specs[0].replicas = 2;
	job->status.replica_count = 1;
	job->status.replicas[0].type = rh_strdup("Worker");
	job->status.replicas[0].active = active;
	if (type)
		set_condition(job, type, true);
	for (int i = 0; i < restarts; i++)
		assert_true(rh_ledger_count(&version->ledger, "Worker", RH_CAUSE_EXIT, NULL) >= 0);
}

static void drop(struct version *version)
{
	rh_job_status_deinit(&version->job.status);
	rh_ledger_deinit(&version->ledger);
}

static void observe(struct rh_metrics *metrics, struct version *before, struct version *after, uint32_t *flags)
{
	static const struct rh_ledger none;
	const struct rh_engine_change change = {
		.kind = &kind,
		.first = !before,
		.before = before ? &before->job : NULL,
		.ledger_before = before ? &before->ledger : &none,
		.after = after ? &after->job : NULL,
		.ledger_after = after ? &after->ledger : &none,
		.flags = flags,
	};

	rh_observe_change(metrics, &change, NOW);
}

/* Two versions, and which counters rise. */
struct row {
	const char *name;
	int32_t active_before;
	const char *type_before;
	int restarts_before;
	int32_t active;
	const char *type;
	int restarts;
	int successful;
	int failed;
	int restarted;
	int started;
	bool started_before; /* all replicas were seen to run */
};

static const struct row rows[] = {
	{"nothing new", 1, "Created", 0, 1, "Created", 0, 0, 0, 0, 0, false},
	{"all run", 1, "Created", 0, 2, "Running", 0, 0, 0, 0, 1, false},
	{"all run, and did", 1, "Running", 0, 2, "Running", 0, 0, 0, 0, 0, true},
	{"all run, some ran before", 1, "Running", 0, 2, "Running", 0, 0, 0, 0, 1, false},
	{"all run after a restart", 1, "Created", 1, 2, "Running", 1, 0, 0, 0, 0, false},
	{"succeeded", 2, "Running", 0, 0, "Succeeded", 0, 1, 0, 0, 0, false},
	{"had succeeded", 2, "Succeeded", 0, 0, "Succeeded", 0, 0, 0, 0, 0, false},
	{"failed", 2, "Running", 0, 1, "Failed", 0, 0, 1, 0, 0, false},
	{"had failed", 2, "Failed", 0, 1, "Failed", 0, 0, 0, 0, 0, false},
	{"restarted", 2, "Running", 1, 1, "Restarting", 3, 0, 0, 2, 0, false},
	{"ledger was lost", 2, "Running", 3, 2, "Running", 0, 0, 0, 0, 0, true},
};

static void check_row(const struct row *row)
{
	rh_auto(metrics) metrics = rh_metrics_new();
	const char *const cause[] = {"pytorch", "exit"};
	struct version before;
	struct version after;
	uint32_t flags = row->started_before ? UINT32_C(3) : 1;

	support_row(row->name);
	make(&before, row->active_before, row->type_before, row->restarts_before);
	make(&after, row->active, row->type, row->restarts);
	observe(metrics, &before, &after, &flags);
	assert_int_equal(rh_metrics_value(metrics, RH_METRIC_JOBS_CREATED, labels), 0);
	assert_int_equal(rh_metrics_value(metrics, RH_METRIC_JOBS_SUCCESSFUL, labels), row->successful);
	assert_int_equal(rh_metrics_value(metrics, RH_METRIC_JOBS_FAILED, labels), row->failed);
	assert_int_equal(rh_metrics_value(metrics, RH_METRIC_JOBS_RESTARTED, labels), row->restarted);
	assert_int_equal(rh_metrics_value(metrics, RH_METRIC_RESTARTS, cause), row->restarted);
	assert_int_equal(rh_metrics_value(metrics, RH_METRIC_START_TIME, framework), row->started);
	drop(&before);
	drop(&after);
}

static void test_observe__changes(void **state)
{
	(void)state;
	rh_log_setup(RH_LOG_ERROR, false);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(&rows[i]);
}

/* Every job is counted once at a start, also one that has finished before; what it came to is not. */
static void test_observe__first(void **state)
{
	rh_auto(metrics) metrics = rh_metrics_new();
	struct version after;
	uint32_t flags = 0;

	(void)state;
	make(&after, 0, "Succeeded", 4);
	observe(metrics, NULL, &after, &flags);
	observe(metrics, &after, &after, &flags);
	observe(metrics, NULL, NULL, &flags);
	assert_int_equal(rh_metrics_value(metrics, RH_METRIC_JOBS_CREATED, labels), 1);
	assert_int_equal(rh_metrics_value(metrics, RH_METRIC_JOBS_SUCCESSFUL, labels), 0);
	assert_int_equal(rh_metrics_value(metrics, RH_METRIC_JOBS_RESTARTED, labels), 0);
	drop(&after);
}

static void test_observe__start_time(void **state)
{
	rh_auto(metrics) metrics = rh_metrics_new();
	struct version before;
	struct version after;
	rh_auto_str out = {0};
	uint32_t flags = 0;

	(void)state;
	make(&before, 0, "Created", 0);
	make(&after, 2, "Running", 0);
	observe(metrics, NULL, &before, &flags);
	assert_int_equal(flags, 1);
	observe(metrics, &before, &after, &flags);
	assert_int_equal(flags, 3);
	observe(metrics, &before, &after, &flags);
	rh_metrics_print(metrics, &out);
	assert_non_null(strstr(rh_str_text(&out), "roundhouse_job_start_seconds_sum{framework=\"pytorch\"} 7\n"));
	drop(&before);
	drop(&after);
}

static void test_observe__deletion(void **state)
{
	rh_auto(metrics) metrics = rh_metrics_new();
	rh_auto_plan plan = {0};
	struct version version;

	(void)state;
	rh_log_setup(RH_LOG_ERROR, false);
	make(&version, 0, "Succeeded", 0);
	rh_observe_plan(metrics, &version.job, &plan);
	assert_int_equal(rh_metrics_value(metrics, RH_METRIC_JOBS_DELETED, labels), 0);
	assert_non_null(rh_plan_act(&plan, RH_DELETE_POD, NULL, 0, "mnist-worker-0"));
	assert_non_null(rh_plan_act(&plan, RH_DELETE_JOB, NULL, 0, "mnist"));
	rh_observe_plan(metrics, &version.job, &plan);
	assert_int_equal(rh_metrics_value(metrics, RH_METRIC_JOBS_DELETED, labels), 1);
	drop(&version);
}

static void test_observe__calls(void **state)
{
	rh_auto(metrics) metrics = rh_metrics_new();
	const char *const create[] = {"create", "pods", "201"};
	const char *const cut[] = {"watch", "pods", "0"};
	const char *const watch[] = {"watch", "pods"};

	(void)state;
	rh_observe_call(metrics, &(struct rh_kube_call){"create", "pods", 201, 2000});
	rh_observe_call(metrics, &(struct rh_kube_call){"create", "pods", 201, 2000});
	rh_observe_call(metrics, &(struct rh_kube_call){"watch", "pods", 0, 600 * RH_SECOND});
	assert_int_equal(rh_metrics_value(metrics, RH_METRIC_API_REQUESTS, create), 2);
	assert_int_equal(rh_metrics_value(metrics, RH_METRIC_API_TIME, create), 2);
	assert_int_equal(rh_metrics_value(metrics, RH_METRIC_API_REQUESTS, cut), 1);
	assert_int_equal(rh_metrics_value(metrics, RH_METRIC_API_TIME, watch), 0);
}

/* What had failed to list, and then to watch, works again as a whole; other resources are not touched. */
static void test_observe__problems(void **state)
{
	static const char *const pods_list[] = {"pods", "list"};
	static const char *const pods_watch[] = {"pods", "watch"};
	static const char *const others[] = {"podgroups.x", "list"};
	rh_auto(metrics) metrics = rh_metrics_new();
	struct rh_kube_problem problem = {
		.resource = "pods", .verb = "list", .namespace_ = "", .status = 500, .message = ""};
	const struct rh_kube_problem other = {
		.resource = "podgroups.x", .verb = "list", .namespace_ = "", .status = 404, .message = ""};

	(void)state;
	rh_observe_problem(metrics, &problem);
	rh_observe_problem(metrics, &other);
	problem.verb = "watch";
	rh_observe_problem(metrics, &problem);
	assert_true(rh_metrics_value(metrics, RH_METRIC_WATCH_PROBLEMS, pods_list) == 1);
	assert_true(rh_metrics_value(metrics, RH_METRIC_WATCH_PROBLEMS, pods_watch) == 1);
	problem.status = 200;
	rh_observe_problem(metrics, &problem);
	assert_true(rh_metrics_value(metrics, RH_METRIC_WATCH_PROBLEMS, pods_list) == 0);
	assert_true(rh_metrics_value(metrics, RH_METRIC_WATCH_PROBLEMS, pods_watch) == 0);
	assert_true(rh_metrics_value(metrics, RH_METRIC_WATCH_PROBLEMS, others) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_observe__problems), cmocka_unit_test(test_observe__changes),
		cmocka_unit_test(test_observe__first),    cmocka_unit_test(test_observe__start_time),
		cmocka_unit_test(test_observe__deletion), cmocka_unit_test(test_observe__calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
