/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/metrics.h"

#include <stdio.h>
#include <string.h>

#include "base/support.h"
#include "controller/process.h"

static const char *const job[] = {"team", "pytorch"};

/* Print, and compare with the whole text. */
static void check_text(const struct rh_metrics *metrics, const char *expected)
{
	rh_auto_str out = {0};

	rh_metrics_print(metrics, &out);
	assert_string_equal(rh_str_text(&out), expected);
}

static void test_metrics__empty(void **state)
{
	rh_auto(metrics) metrics = rh_metrics_new();

	(void)state;
	check_text(metrics, "");
	assert_true(rh_metrics_value(metrics, RH_METRIC_JOBS_CREATED, job) == 0);
}

static void test_metrics__counter(void **state)
{
	rh_auto(metrics) metrics = rh_metrics_new();
	const char *const other[] = {"other", "mpi"};

	(void)state;
	rh_metrics_add(metrics, RH_METRIC_JOBS_CREATED, job, 1);
	rh_metrics_add(metrics, RH_METRIC_JOBS_CREATED, job, 2);
	rh_metrics_add(metrics, RH_METRIC_JOBS_CREATED, other, 1);
	check_text(metrics,
	           "# HELP training_operator_jobs_created_total Jobs that were created, and at a start each that exists\n"
	           "# TYPE training_operator_jobs_created_total counter\n"
	           "training_operator_jobs_created_total{job_namespace=\"team\",framework=\"pytorch\"} 3\n"
	           "training_operator_jobs_created_total{job_namespace=\"other\",framework=\"mpi\"} 1\n");
	assert_true(rh_metrics_value(metrics, RH_METRIC_JOBS_CREATED, job) == 3);
}

static void test_metrics__gauge(void **state)
{
	rh_auto(metrics) metrics = rh_metrics_new();

	(void)state;
	rh_metrics_set(metrics, RH_METRIC_JOBS, NULL, 7);
	rh_metrics_set(metrics, RH_METRIC_JOBS, NULL, 2.5);
	check_text(metrics, "# HELP roundhouse_jobs Jobs in the cache, finished ones included\n"
	                    "# TYPE roundhouse_jobs gauge\nroundhouse_jobs 2.5\n");
}

static void test_metrics__histogram(void **state)
{
	rh_auto(metrics) metrics = rh_metrics_new();
	const char *const name[] = {"jobs"};
	rh_auto_str out = {0};

	(void)state;
	rh_metrics_observe(metrics, RH_METRIC_QUEUE_TIME, name, 0.0001);
	rh_metrics_observe(metrics, RH_METRIC_QUEUE_TIME, name, 0.02);
	rh_metrics_observe(metrics, RH_METRIC_QUEUE_TIME, name, 1000);
	rh_metrics_print(metrics, &out);
	assert_non_null(strstr(rh_str_text(&out),
	                       "# TYPE workqueue_queue_duration_seconds histogram\n"
	                       "workqueue_queue_duration_seconds_bucket{name=\"jobs\",le=\"0.0001\"} 1\n"
	                       "workqueue_queue_duration_seconds_bucket{name=\"jobs\",le=\"0.0005\"} 1\n"));
	assert_non_null(strstr(rh_str_text(&out), "{name=\"jobs\",le=\"0.01\"} 1\n"));
	assert_non_null(strstr(rh_str_text(&out), "{name=\"jobs\",le=\"0.05\"} 2\n"));
	assert_non_null(strstr(rh_str_text(&out), "{name=\"jobs\",le=\"60\"} 2\n"));
	assert_non_null(strstr(rh_str_text(&out), "{name=\"jobs\",le=\"+Inf\"} 3\n"
	                                          "workqueue_queue_duration_seconds_sum{name=\"jobs\"} 1000.0201\n"
	                                          "workqueue_queue_duration_seconds_count{name=\"jobs\"} 3\n"));
	assert_true(rh_metrics_value(metrics, RH_METRIC_QUEUE_TIME, name) == 3);
}

static void test_metrics__values_are_escaped(void **state)
{
	rh_auto(metrics) metrics = rh_metrics_new();
	const char *const odd[] = {"a\"b\\c\nd", "x"};
	rh_auto_str out = {0};

	(void)state;
	rh_metrics_add(metrics, RH_METRIC_JOBS_FAILED, odd, 1);
	rh_metrics_print(metrics, &out);
	assert_non_null(strstr(rh_str_text(&out), "{job_namespace=\"a\\\"b\\\\c\\nd\",framework=\"x\"} 1\n"));
}

static void test_metrics__series_are_bounded(void **state)
{
	rh_auto(metrics) metrics = rh_metrics_new();
	const char *const other[] = {"other", "other"};
	char name[32];
	const char *const labels[] = {name, "pytorch"};

	(void)state;
	for (int i = 0; i < RH_METRIC_SERIES_MAX + 25; i++) {
		snprintf(name, sizeof(name), "ns-%d", i);
		rh_metrics_add(metrics, RH_METRIC_JOBS_CREATED, labels, 1);
	}
	assert_true(rh_metrics_value(metrics, RH_METRIC_JOBS_CREATED, other) == 25);
	snprintf(name, sizeof(name), "ns-0");
	rh_metrics_add(metrics, RH_METRIC_JOBS_CREATED, labels, 1);
	assert_true(rh_metrics_value(metrics, RH_METRIC_JOBS_CREATED, labels) == 2);
}

/* What there is no memory for is not counted, and nothing else happens. */
static void test_metrics__memory_is_out(void **state)
{
	(void)state;
	for (long n = 0; n < 40; n++) {
		rh_auto(metrics) metrics = rh_metrics_new();
		const char *const name[] = {"jobs"};

		rh_mem_fail_after(n);
		rh_metrics_add(metrics, RH_METRIC_JOBS_CREATED, job, 1);
		rh_metrics_observe(metrics, RH_METRIC_QUEUE_TIME, name, 1);
		rh_mem_fail_after(-1);
		assert_true(rh_metrics_value(metrics, RH_METRIC_JOBS_CREATED, job) <= 1);
	}
}

/* Every family can be printed as it is in the table: each name once, with help and type. */
static void test_metrics__families(void **state)
{
	rh_auto(metrics) metrics = rh_metrics_new();
	static const char *const labels[] = {"a", "b", "c"};
	rh_auto_str out = {0};
	size_t helps = 0;

	(void)state;
	for (int i = 0; i < RH_METRICS; i++) {
		bool histogram = i == RH_METRIC_START_TIME || i == RH_METRIC_RECONCILE_TIME || i == RH_METRIC_QUEUE_TIME ||
		                 i == RH_METRIC_API_TIME;

		if (histogram)
			rh_metrics_observe(metrics, (enum rh_metric)i, labels, 1);
		else
			rh_metrics_set(metrics, (enum rh_metric)i, labels, 1);
	}
	rh_metrics_print(metrics, &out);
	for (const char *at = rh_str_text(&out); (at = strstr(at, "# HELP ")); at++)
		helps++;
	assert_int_equal(helps, RH_METRICS);
}

static void test_metrics__process(void **state)
{
	rh_auto(metrics) metrics = rh_metrics_new();

	(void)state;
	rh_process_measure(metrics);
	assert_true(rh_metrics_value(metrics, RH_METRIC_PROCESS_RESIDENT, NULL) > 100000);
	assert_true(rh_metrics_value(metrics, RH_METRIC_PROCESS_VIRTUAL, NULL) >
	            rh_metrics_value(metrics, RH_METRIC_PROCESS_RESIDENT, NULL));
	assert_true(rh_metrics_value(metrics, RH_METRIC_PROCESS_FILES, NULL) >= 3);
	assert_true(rh_metrics_value(metrics, RH_METRIC_PROCESS_FILES, NULL) < 1000);
	assert_true(rh_metrics_value(metrics, RH_METRIC_PROCESS_START, NULL) > 1.5e9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_metrics__empty),
		cmocka_unit_test(test_metrics__counter),
		cmocka_unit_test(test_metrics__gauge),
		cmocka_unit_test(test_metrics__histogram),
		cmocka_unit_test(test_metrics__values_are_escaped),
		cmocka_unit_test(test_metrics__series_are_bounded),
		cmocka_unit_test(test_metrics__memory_is_out),
		cmocka_unit_test(test_metrics__families),
		cmocka_unit_test(test_metrics__process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
