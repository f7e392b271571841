/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "job/kinds.h"
#include "job/values/patterns.h"

static struct rh_kind patterns_kind(const char *pod, const char *host)
{
	struct rh_kind kind = test_pytorch;

	kind.pod_name = pod;
	kind.host_name = host;
	return kind;
}

static const struct rh_pattern_replica patterns_worker = {"j", "n", "u", "Worker", 3};
static const struct rh_pattern_replica patterns_single = {"j", "n", "u", "Launcher", -1};

static void test_patterns__names(void **state)
{
	static const struct {
		const char *pod;
		const char *host;
		const char *domain;
		const char *worker;
		const char *single;
		const char *reached;
	} rows[] = {
		{NULL, NULL, NULL, "j-worker-3", "j-launcher", "j-worker-3"},
		{"{job}-{type}-0-{index}", NULL, NULL, "j-worker-0-3", "j-launcher-0", "j-worker-0-3"},
		{"{job}-x-{index}-{type}", "{pod}.{job}.{namespace}.svc{domain}", NULL, "j-x-3-worker", "j-x-launcher",
	     "j-x-3-worker.j.n.svc"},
		{"{job}-{type}-{index}", "{pod}.{job}.{namespace}.svc{domain}", "cluster.local", "j-worker-3", "j-launcher",
	     "j-worker-3.j.n.svc.cluster.local"},
		{NULL, "{job}-{type}-0-{index}.{job}", "cluster.local", "j-worker-3", "j-launcher", "j-worker-0-3.j"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct rh_kind kind = patterns_kind(rows[i].pod, rows[i].host);
		char name[RH_NAME_SIZE];
		rh_auto_str host = {0};

		assert_string_equal(rh_patterns_pod(&kind, &patterns_worker, name), rows[i].worker);
		assert_int_equal(strlen(name), strlen("j") + strlen("worker") + strlen("3") + rh_patterns_fixed(&kind));
		assert_string_equal(rh_patterns_replica(&kind, &patterns_worker, name), rows[i].worker + strlen("j-"));
		assert_string_equal(rh_patterns_pod(&kind, &patterns_single, name), rows[i].single);
		assert_string_equal(rh_patterns_replica(&kind, &patterns_single, name), rows[i].single + strlen("j-"));
		rh_patterns_host(&kind, &patterns_worker, rows[i].domain, &host);
		assert_string_equal(rh_str_text(&host), rows[i].reached);
		assert_int_equal(rh_patterns_check(&kind, NULL), 0);
	}
}

/* The same for each pod of a replica, another one for another replica or job. */
static void test_patterns__a_suffix_is_the_replicas(void **state)
{
	const struct rh_kind kind = patterns_kind("{job}-{type}-0-{index}-{suffix}", NULL);
	const struct rh_pattern_replica other = {"j", "n", "v", "Worker", 3};
	char first[RH_NAME_SIZE], again[RH_NAME_SIZE], job[RH_NAME_SIZE];

	(void)state;
	(void)rh_patterns_pod(&kind, &patterns_worker, first);
	(void)rh_patterns_pod(&kind, &patterns_worker, again);
	(void)rh_patterns_pod(&kind, &other, job);
	assert_string_equal(first, again);
	assert_string_not_equal(first, job);
	assert_string_equal(rh_patterns_replica(&kind, &patterns_worker, again), first + strlen("j-"));
	assert_int_equal(strlen(first), strlen("j-worker-0-3-sssss"));
	assert_int_equal(strspn(first + strlen("j-worker-0-3-"), "bcdfghjklmnpqrstvwxz2456789"), 5);
	assert_int_equal(rh_patterns_fixed(&kind), 10);
	assert_string_equal(rh_patterns_describe(&kind, first), "NAME-TYPE-0-INDEX-SUFFIX");
	assert_string_equal(rh_patterns_describe(&test_pytorch, first), "NAME-TYPE-INDEX");
}

static void test_patterns__what_is_refused(void **state)
{
	static const char *const pods[] = {"",
	                                   "{type}-{index}",
	                                   "{job}-{index}",
	                                   "{job}-{type}",
	                                   "{job}{type}-{index}",
	                                   "{job}-{type}{index}",
	                                   "{job}-{type}-{index}x",
	                                   "{job}-{type}-{index}-",
	                                   "{job}--{type}-{index}",
	                                   "{job}-{type}-{index}-{index}",
	                                   "{job}-{type}-{index}-{pod}",
	                                   "{job}-{type}-{index}-{",
	                                   "{job}-{type}-{index}.x",
	                                   "{job}-Worker-{type}-{index}"};
	static const char *const hosts[] = {
		"",        "{job}",    "{job}.{namespace}", "{type}.{job}", "{index}.svc", "{pod}{domain}.x", "{pod}.{suffix}",
		"{pod}_x", "{pod}.SVC"};
	struct rh_error err = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(pods) / sizeof(pods[0]); i++) {
		const struct rh_kind kind = patterns_kind(pods[i], NULL);

		if (rh_patterns_check(&kind, &err) != RH_EPLUGIN)
			fail_msg("%s", pods[i]);
		assert_non_null(strstr(err.message, "pod_name is \""));
	}
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		const struct rh_kind kind = patterns_kind(NULL, hosts[i]);

		if (rh_patterns_check(&kind, &err) != RH_EPLUGIN)
			fail_msg("%s", hosts[i]);
		assert_non_null(strstr(err.message, "host_name is \""));
	}
}

static void test_patterns__labels(void **state)
{
	struct rh_kind own = test_pytorch;
	char text[4 * RH_NAME_SIZE], usual[4 * RH_NAME_SIZE];

	(void)state;
	own.flags |= RH_KIND_OWN_LABELS;
	assert_string_equal(rh_patterns_label(&test_pytorch, RH_LABEL_TYPE), RH_LABEL_TYPE);
	assert_string_equal(rh_patterns_label(&own, RH_LABEL_TYPE), "roundhouse.dev/replica-type");
	assert_string_equal(rh_patterns_label(&own, RH_LABEL_JOB), RH_LABEL_JOB);
	assert_string_equal(rh_patterns_selector(&own, "j", "Worker", text, sizeof(text)),
	                    "roundhouse.dev/operator-name=pytorchjob-controller,roundhouse.dev/replica-type=worker,"
	                    "training.kubeflow.org/job-name=j");
	assert_string_equal(rh_patterns_selector(&test_pytorch, "j", "Worker", text, sizeof(text)),
	                    rh_name_selector("j", test_pytorch.controller, "Worker", usual, sizeof(usual)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns__names),
		cmocka_unit_test(test_patterns__a_suffix_is_the_replicas),
		cmocka_unit_test(test_patterns__what_is_refused),
		cmocka_unit_test(test_patterns__labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
