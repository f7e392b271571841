/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jobs.h"

#define OBJECTS_JOB(elastic) JOBS_JOB("  elasticPolicy: {" elastic "}\n", JOBS_WORKERS("2"))

#define OBJECTS_HPA(min, max, metrics)                                                              \
	"[{\"apiVersion\":\"autoscaling/"                                                               \
	"v2\",\"kind\":\"HorizontalPodAutoscaler\",\"metadata\":{\"name\":\"mnist\"},\"spec\":{"        \
	"\"scaleTargetRef\":{\"kind\":\"PyTorchJob\",\"name\":\"mnist\",\"apiVersion\":\"kubeflow.org/" \
	"v1\"},\"minReplicas\":" min ",\"maxReplicas\":" max ",\"metrics\":" metrics "}}]"

/** A job at one moment, and what it needs beside pods and Services (v1-behaviour D.5). */
struct objects_case {
	const char *name;
	const char *job;
	bool suspended;
	bool finished;
	const char *objects;
};

static const struct objects_case objects_cases[] = {
	{"not elastic", JOBS_JOB("", JOBS_WORKERS("2")), false, false, "[]"},
	{"no metrics", OBJECTS_JOB("minReplicas: 1"), false, false, "[]"},
	{"metrics are null", OBJECTS_JOB("metrics: null"), false, false, "[]"},
	{"metrics", OBJECTS_JOB("minReplicas: 1, maxReplicas: 4, metrics: [{type: Resource}]"), false, false,
     OBJECTS_HPA("1", "4", "[{\"type\":\"Resource\"}]")},
	{"bounds are defaulted", OBJECTS_JOB("metrics: [{type: Resource}]"), false, false,
     OBJECTS_HPA("2", "2", "[{\"type\":\"Resource\"}]")},
	{"an empty list is there", OBJECTS_JOB("metrics: []"), false, false, OBJECTS_HPA("2", "2", "[]")},
	{"suspended", OBJECTS_JOB("metrics: [{type: Resource}]"), true, false, "[]"},
	{"finished", OBJECTS_JOB("metrics: [{type: Resource}]"), false, true, "[]"},
};

static void test_pytorch_objects__autoscaler(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(objects_cases) / sizeof(objects_cases[0]); i++) {
		const struct objects_case *row = &objects_cases[i];
		rh_auto(json) objects = NULL;
		auto_fixture fixture;

		print_message("%s\n", row->name);
		jobs_open(&fixture, NULL, row->job);
		fixture.snapshot.suspended = row->suspended;
		fixture.snapshot.finished = row->finished;
		if (rh_host_objects(&fixture.snapshot, &objects, &fixture.err) < 0)
			fail_msg("%s", fixture.err.message);
		fixture_assert_json(objects, row->objects);
	}
}

static void test_pytorch_objects__survive_allocation_failures(void **state)
{
	int r = RH_ENOMEM;
	auto_fixture fixture;

	(void)state;
	jobs_open(&fixture, NULL, OBJECTS_JOB("metrics: [{type: Resource}]"));
	for (long n = 0; r == RH_ENOMEM && n < 200; n++) {
		rh_auto(json) objects = NULL;

		rh_mem_fail_after(n);
		r = rh_host_objects(&fixture.snapshot, &objects, NULL);
		rh_mem_fail_after(-1);
		assert_true(r == RH_ENOMEM || rh_json_size(objects) == 1);
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pytorch_objects__autoscaler),
		cmocka_unit_test(test_pytorch_objects__survive_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
