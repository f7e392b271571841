/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/file.h"
#include "jobs.h"

/** What Linux takes as one variable: MAX_ARG_STRLEN, less the name, the equals sign and the final zero. */
#define SPEC_VALUE_MAX (128 * 1024 - (int)sizeof("TF_CONFIG="))

/** A job and its findings: "E path: detail" and "W detail", one a line. */
struct spec_case {
	const char *job;
	const char *findings;
};

#define SPEC_WORKER JOBS_TYPE("Worker", "1")

static const struct spec_case spec_cases[] = {
	{JOBS_JOB("", SPEC_WORKER), ""},
	{JOBS_JOB("", SPEC_WORKER JOBS_TYPE("Tuner", "1")), ""},
	{JOBS_JOB("", SPEC_WORKER JOBS_TYPE("chief", "1")), ""},
	{JOBS_JOB("  successPolicy: ''\n", SPEC_WORKER), ""},
	{JOBS_JOB("  successPolicy: null\n", SPEC_WORKER), ""},
	{JOBS_JOB("  successPolicy: AllWorkers\n  enableDynamicWorker: false\n", SPEC_WORKER), ""},
	{JOBS_JOB("", JOBS_TYPE("Chief", "1") JOBS_TYPE("Master", "1")),
     "E spec.tfReplicaSpecs: Forbidden: must not have more than 1 Chief or Master role\n"},
	{JOBS_JOB("  successPolicy: allworkers\n", SPEC_WORKER),
     "E spec.successPolicy: Unsupported value: \"allworkers\": supported values: \"\", \"AllWorkers\"\n"},
	{JOBS_JOB("  successPolicy: 1\n", SPEC_WORKER),
     "E spec.successPolicy: Unsupported value: 1: supported values: \"\", \"AllWorkers\"\n"},
	{JOBS_JOB("  enableDynamicWorker: 'true'\n", SPEC_WORKER),
     "E spec.enableDynamicWorker: Invalid value: \"true\": must be of type boolean\n"},
	{JOBS_JOB("", JOBS_TYPE("PS", "1")),
     "W spec.tfReplicaSpecs has no Chief, Master or Worker: this job never succeeds\n"},
	{JOBS_JOB("", SPEC_WORKER JOBS_TYPE("Master", "2")),
     "E spec.tfReplicaSpecs[Master].replicas: Forbidden: must be at most 1\n"},
};

static void test_tensorflow_spec__rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < KIT_COUNT(spec_cases); i++) {
		auto_kit kit;

		print_message("%zu\n", i);
		kit_open(&kit, "tensorflow", NULL, spec_cases[i].job);
		kit_assert_findings(&kit, spec_cases[i].findings);
	}
}

/* V1 let it in (tests/goldens/invalid), but TensorFlow knows one chief at most. */
static void test_tensorflow_spec__two_chiefs(void **state)
{
	rh_auto_free char *yaml = NULL;
	auto_kit kit;

	(void)state;
	assert_int_equal(rh_file_read(RH_GOLDENS "/invalid/bad-tf-two-chiefs.yaml", 1 << 20, &yaml, NULL, NULL), 0);
	kit_open(&kit, "tensorflow", NULL, yaml);
	kit_assert_findings(&kit, "E spec.tfReplicaSpecs[Chief].replicas: Forbidden: must be at most 1\n");
}

static const char *spec_job_of(int workers, const char *spec, char *buffer, size_t size)
{
	snprintf(buffer, size,
	         "%s%s    Worker: {replicas: %d, template: {spec: {containers: [{name: tensorflow, image: i}]}}}\n", spec,
	         JOBS_TYPE("PS", "11") JOBS_TYPE("Evaluator", "1"), workers);
	return buffer;
}

/* How long the longest TF_CONFIG of so many workers really is, also where the core makes no pod with it. */
static int spec_real_length(int workers)
{
	static const char words[] = "TFJob team/mnist: variable TF_CONFIG would have ";
	char yaml[1024];
	auto_kit kit;
	rh_auto(json) pod = NULL;
	rh_auto(builder) builder = NULL;

	kit_open(&kit, "tensorflow", "[plugin tensorflow]\ncluster-domain = c.d\n",
	         spec_job_of(workers, JOBS_JOB("", ""), yaml, sizeof(yaml)));
	assert_int_equal(rh_builder_new(&kit.fixture.snapshot, &builder, NULL), 0);
	if (rh_build_pod(builder, "Worker", workers - 1, &pod, &kit.fixture.err) == 0)
		return (int)strlen(rh_json_string_at(pod, "spec.containers[0].env[0].value"));
	assert_true(rh_starts_with(kit.fixture.err.message, words));
	return (int)strtol(kit.fixture.err.message + strlen(words), NULL, 10) - (int)sizeof("TF_CONFIG=");
}

/* What the message says; all zero when the job is accepted. */
struct spec_refusal {
	int bytes;
	int fits;
};

static struct spec_refusal spec_refused(int workers, const char *spec)
{
	rh_auto_findings findings = {0};
	struct spec_refusal refusal = {0};
	const char *limit;
	char yaml[1024];
	auto_kit kit;

	kit_open(&kit, "tensorflow", "[plugin tensorflow]\ncluster-domain = c.d\n",
	         spec_job_of(workers, spec, yaml, sizeof(yaml)));
	assert_int_equal(rh_host_validate(&kit.fixture.snapshot, &findings, NULL), 0);
	if (findings.count == 0)
		return refusal;
	assert_int_equal(findings.count, 1);
	assert_string_equal(findings.items[0].path, "spec.tfReplicaSpecs[Worker].replicas");
	limit = strstr(findings.items[0].detail, "at most ");
	assert_non_null(limit);
	assert_int_equal(sscanf(limit, "at most %d replicas of this type fit", &refusal.fits), 1);
	assert_int_equal(sscanf(findings.items[0].detail, "Invalid value: %*d: TF_CONFIG would have %d", &refusal.bytes),
	                 1);
	return refusal;
}

/* The documented count fits, to the byte, and one more does not. */
static void test_tensorflow_spec__config_fits_a_variable(void **state)
{
	static const int counts[] = {9999, 20000, 1000000};

	(void)state;
	for (size_t i = 0; i < KIT_COUNT(counts); i++) {
		int fits = spec_refused(counts[i], JOBS_JOB("", "")).fits;

		assert_true(fits > 3000 && fits < 5000);
		assert_true(spec_real_length(fits) <= SPEC_VALUE_MAX);
		assert_true(spec_real_length(fits + 1) > SPEC_VALUE_MAX);
		assert_int_equal(spec_refused(fits, JOBS_JOB("", "")).bytes, 0);
		assert_int_equal(spec_refused(fits + 1, JOBS_JOB("", "")).fits, fits);
		assert_int_equal(spec_refused(fits + 1, JOBS_JOB("", "")).bytes, spec_real_length(fits + 1));
	}
}

/* Dynamic workers are not listed, so any number of them fits. */
static void test_tensorflow_spec__dynamic_workers_always_fit(void **state)
{
	(void)state;
	assert_int_equal(spec_refused(1000000, JOBS_JOB("  enableDynamicWorker: true\n", "")).bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tensorflow_spec__rules),
		cmocka_unit_test(test_tensorflow_spec__two_chiefs),
		cmocka_unit_test(test_tensorflow_spec__config_fits_a_variable),
		cmocka_unit_test(test_tensorflow_spec__dynamic_workers_always_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
