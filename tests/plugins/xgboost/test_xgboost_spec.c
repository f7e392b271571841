/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "jobs.h"

/** What Linux takes as one variable: MAX_ARG_STRLEN, less the name, the equals sign and the final zero. */
#define SPEC_VALUE_MAX (128 * 1024 - (int)sizeof("WORKER_ADDRS="))

static void spec_open(struct kit *kit, int workers)
{
	char yaml[1024];

	snprintf(yaml, sizeof(yaml),
	         "%s    Worker: {replicas: %d, template: {spec: {containers: [{name: xgboost, image: i}]}}}\n",
	         JOBS_JOB("", JOBS_TYPE("Master", "1")), workers);
	kit_open(kit, "xgboost", NULL, yaml);
}

/* How long WORKER_ADDRS of so many Workers really is. */
static int spec_real_length(int workers)
{
	auto_kit kit;
	rh_auto(json) pod = NULL;

	spec_open(&kit, workers);
	pod = kit_pod(&kit, "Master", 0);
	return (int)strlen(rh_json_string_at(pod, "spec.containers[0].env[6].value"));
}

/** What the message says; all zero when the job is accepted. */
struct spec_refusal {
	int bytes;
	int fits;
};

static struct spec_refusal spec_refused(int workers)
{
	struct spec_refusal refusal = {0};
	rh_auto_findings findings = {0};
	auto_kit kit;

	spec_open(&kit, workers);
	assert_int_equal(rh_host_validate(&kit.fixture.snapshot, &findings, NULL), 0);
	if (findings.count == 0)
		return refusal;
	assert_int_equal(findings.count, 1);
	assert_string_equal(findings.items[0].path, "spec.xgbReplicaSpecs[Worker].replicas");
	assert_int_equal(
		sscanf(findings.items[0].detail,
	           "Invalid value: %*d: WORKER_ADDRS would have %d bytes, and a variable can have 131058: at most %d "
	           "replicas of this type fit",
	           &refusal.bytes, &refusal.fits),
		2);
	return refusal;
}

/* The documented count fits, to the byte, and one more does not. */
static void test_xgboost_spec__addresses_fit_a_variable(void **state)
{
	static const int counts[] = {9999, 20000, 1000000};

	(void)state;
	for (size_t i = 0; i < KIT_COUNT(counts); i++) {
		int fits = spec_refused(counts[i]).fits;

		assert_true(fits > 6000 && fits < 9000);
		assert_true(spec_real_length(fits) <= SPEC_VALUE_MAX);
		assert_int_equal(spec_refused(fits).bytes, 0);
		assert_int_equal(spec_refused(fits + 1).fits, fits);
		assert_true(spec_refused(fits + 1).bytes > SPEC_VALUE_MAX);
		assert_int_equal(spec_refused(fits + 1).bytes - spec_real_length(fits), (int)strlen(",mnist-worker-1234"));
	}
}

/* What no rule has refused in time is refused when the pod is made. */
static void test_xgboost_spec__no_pod_is_made_with_more(void **state)
{
	auto_kit kit;
	rh_auto(builder) builder = NULL;
	struct rh_json *pod = NULL;

	(void)state;
	spec_open(&kit, 9999);
	assert_int_equal(rh_builder_new(&kit.fixture.snapshot, &builder, NULL), 0);
	assert_int_equal(rh_build_pod(builder, "Master", 0, &pod, &kit.fixture.err), RH_EINVAL);
	assert_non_null(strstr(kit.fixture.err.message, "XGBoostJob team/mnist: variable WORKER_ADDRS would have "));
	assert_null(pod);
}

static void test_xgboost_spec__few_workers_are_fine(void **state)
{
	(void)state;
	assert_int_equal(spec_refused(0).bytes, 0);
	assert_int_equal(spec_refused(1000).bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_xgboost_spec__addresses_fit_a_variable),
		cmocka_unit_test(test_xgboost_spec__no_pod_is_made_with_more),
		cmocka_unit_test(test_xgboost_spec__few_workers_are_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
