/* SPDX-License-Identifier: Apache-2.0 */
/* conditions.c: conditions and a status of the kind's own; what the engine does with them is in engine/carry/job. */
#include <string.h>

#include "abi/plugins/both.h"
#include "job/status/shown.h"
#include "schema/crd.h"

#define TEMPLATE "template: {spec: {containers: [{name: main, image: i}]}}"
#define JOB(annotations)                                            \
	"apiVersion: example.org/v1\nkind: WordsJob\n"                  \
	"metadata: {name: w, uid: u, annotations: {" annotations "}}\n" \
	"spec: {wordsReplicaSpecs: {Worker: {" TEMPLATE "}}}\n"

static void conditions_judge(struct fixture *fixture, struct rh_judgement *judgement)
{
	fixture->counts[0] = (struct rh_counts){.head = RH_HEAD(struct rh_counts), .desired = 2, .active = 2, .ready = 1};
	fixture->snapshot.counts = fixture->counts;
	if (rh_host_judge(&fixture->snapshot, judgement, &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
}

static void test_conditions__judge_sets_members_of_status(void **state)
{
	static const struct {
		const char *job;
		const char *status;
	} rows[] = {
		{JOB(""), "{\"jobsStatus\":[{\"name\":\"worker\",\"active\":2,\"ready\":1,\"succeeded\":0,\"failed\":0,"
	              "\"suspended\":0}]}"},
		{JOB("field: jobsStatus, value: '[]'"), "{\"jobsStatus\":[]}"},
		{JOB("field: jobsStatus, value: 'null'"), "{\"jobsStatus\":null}"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_judgement judgement = {0};
		auto_fixture fixture;

		both_open(&fixture, state, rows[i].job);
		conditions_judge(&fixture, &judgement);
		fixture_assert_json(judgement.status, rows[i].status);
		rh_judgement_deinit(&judgement);
	}
}

static void test_conditions__status_is_refused(void **state)
{
	static const struct {
		const char *job;
		const char *words;
	} rows[] = {
		{JOB("field: conditions, value: '[]'"), "status(): status_schema does not have this field"},
		{JOB("field: replicaStatuses, value: '{}'"), "status(): status_schema does not have this field"},
		{JOB("field: trainerStatus"), "status(): the JSON is NULL"},
		{JOB("field: trainerStatus, value: '{'"), "status(): no JSON"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_judgement judgement = {0};
		auto_fixture fixture;

		both_open(&fixture, state, rows[i].job);
		fixture.counts[0] = (struct rh_counts){.head = RH_HEAD(struct rh_counts), .desired = 2};
		fixture.snapshot.counts = fixture.counts;
		assert_int_equal(rh_host_judge(&fixture.snapshot, &judgement, &fixture.err), RH_EPLUGIN);
		if (!strstr(fixture.err.message, rows[i].words))
			fail_msg("%s", fixture.err.message);
	}
}

static void test_conditions__the_definition_has_the_plugins_members(void **state)
{
	rh_auto(json) crd = NULL;
	const struct rh_json *status;
	auto_fixture fixture;

	both_open(&fixture, state, JOB(""));
	assert_int_equal(rh_crd_build(fixture.job->kind, NULL, &crd, NULL), 0);
	status = rh_json_at(crd, "spec.versions[0].schema.openAPIV3Schema.properties.status.properties");
	both_assert_text(status, "jobsStatus.type", "array");
	both_assert_text(status, "conditions.type", "array");
	assert_null(rh_json_get(status, "startTime"));
	assert_null(rh_json_get(status, "replicaStatuses"));
}

static int conditions_run(bool remote)
{
	const struct CMUnitTest tests[] = {
		BOTH_TEST(test_conditions__judge_sets_members_of_status),
		BOTH_TEST(test_conditions__status_is_refused),
		BOTH_TEST(test_conditions__the_definition_has_the_plugins_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return both_run(conditions_run);
}
