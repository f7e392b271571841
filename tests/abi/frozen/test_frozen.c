/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins of frozen versions (frozen/1.0 and later), and of one that is to come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/os/file.h"
#include "host/fixture.h"
#include "job/expansion.h"
#include "job/lookups/lookup_files.h"

#define FROZEN_TEMPLATE "template: {spec: {containers: [{name: main, image: i}, {name: side, image: i}]}}"

static const char frozen_job[] = "apiVersion: example.org/v1\n"
								 "kind: VeteranJob\n"
								 "metadata: {name: old}\n"
								 "spec:\n"
								 "  word: hello\n"
								 "  count: 7\n"
								 "  flag: true\n"
								 "  list: [a, b]\n"
								 "  veteranReplicaSpecs:\n"
								 "    Chief: {" FROZEN_TEMPLATE "}\n"
								 "    Worker: {restartPolicy: ExitCode, " FROZEN_TEMPLATE "}\n";

static const char frozen_set_job[] = "apiVersion: example.org/v1\n"
									 "kind: VeteranSetJob\n"
									 "metadata: {name: set, uid: u, namespace: ns}\n"
									 "spec: {runtime: r}\n";

static const char frozen_grown_job[] = "apiVersion: example.org/v1\n"
									   "kind: GrownJob\n"
									   "metadata: {name: new}\n"
									   "spec: {grownReplicaSpecs: {Worker: {replicas: 5, " FROZEN_TEMPLATE "}}}\n";

/* @param state the minor version whose plugin is meant */
static void frozen_open(struct fixture *fixture, void **state)
{
	rh_auto_free char *path = rh_asprintf(RH_ABI_VETERANS ".%d.so", *(const int *)*state);

	assert_non_null(path);
	fixture_open_file(fixture, path, "[plugin veteran]\ngreeting = salve\n", frozen_job);
}

static void frozen_assert_text(const struct rh_json *json, const char *path, const char *want)
{
	const char *got = rh_json_string_at(json, path);

	if (!rh_text_equal(got, want))
		fail_msg("%s is \"%s\", not \"%s\"", path, got ? got : "NULL", want ? want : "NULL");
}

static void test_frozen__is_ready_with_its_kind(void **state)
{
	struct rh_plugin_info info;
	const struct rh_kind *kind;
	auto_fixture fixture;

	frozen_open(&fixture, state);
	rh_host_plugin(fixture.host, 0, &info);
	assert_int_equal(info.state, RH_PLUGIN_READY);
	assert_string_equal(info.name, "veteran");
	kind = fixture.job->kind;
	assert_int_equal(kind->head.major, 1);
	assert_int_equal(kind->head.minor, *(const int *)*state);
	assert_int_equal(kind->port, 4242);
	assert_int_equal(kind->flags, 7);
	assert_string_equal(kind->contract, "[{\"what\":\"env\",\"name\":\"READ\",\"value\":\"what was read\"}]");
	assert_int_equal(rh_job_total_replicas(fixture.job), 3);
}

static void test_frozen__pod(void **state)
{
	rh_auto(json) pod = NULL;
	rh_auto(builder) builder = NULL;
	auto_fixture fixture;

	frozen_open(&fixture, state);
	assert_int_equal(rh_builder_new(&fixture.snapshot, &builder, NULL), 0);
	if (rh_build_pod(builder, "Worker", 1, &pod, &fixture.err) < 0)
		fail_msg("%s", fixture.err.message);
	frozen_assert_text(pod, "spec.containers[0].env[0].value", "hello 1 7 1 2 [\"a\",\"b\"] salve default");
	frozen_assert_text(pod, "spec.containers[0].env[1].value",
	                   "Chief,Worker 2 ExitCode old-worker-1 old-worker-1 4242 0 0");
	frozen_assert_text(pod, "spec.containers[1].env[0].name", "READ");
	assert_null(rh_json_at(pod, "spec.containers[1].env[1]"));
	frozen_assert_text(pod, "metadata.annotations[\"example.org/me\"]", "Worker 1 2");
}

static void test_frozen__objects(void **state)
{
	rh_auto(json) objects = NULL;
	rh_auto(json) none = NULL;
	auto_fixture fixture;

	frozen_open(&fixture, state);
	assert_int_equal(rh_host_objects(&fixture.snapshot, &objects, NULL), 0);
	frozen_assert_text(rh_json_item(objects, 0), "metadata.name", "old");
	fixture.snapshot.finished = true;
	assert_int_equal(rh_host_objects(&fixture.snapshot, &none, NULL), 0);
	assert_int_equal(rh_json_size(none), 0);
}

static void test_frozen__rules(void **state)
{
	static const struct {
		const char *word;
		const char *detail;
	} rows[] = {
		{"hello", ""},
		{"odd", "spec.word is odd"},
		{"bad", "Forbidden: must not be bad"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_findings findings = {0};
		auto_fixture fixture;

		frozen_open(&fixture, state);
		assert_int_equal(rh_json_set_string(rh_json_get(fixture.job->object, "spec"), "word", rows[i].word), 0);
		assert_int_equal(rh_host_validate(&fixture.snapshot, &findings, NULL), 0);
		assert_int_equal(findings.count, *rows[i].detail ? 1 : 0);
		if (findings.count)
			assert_string_equal(findings.items[0].detail, rows[i].detail);
	}
}

/* What 1.2 brought: lists of keys, defaults of the run policy and of a type, a type beside the map. */
static void test_frozen__newest_reads(void **state)
{
	rh_auto(json) pod = NULL;
	rh_auto(builder) builder = NULL;
	auto_fixture fixture;

	frozen_open(&fixture, state);
	assert_int_equal(fixture.job->policy.clean, RH_CLEAN_ALL);
	assert_string_equal(fixture.job->kind->types[2]->path, "spec.head");
	assert_int_equal(rh_json_set(rh_json_get(fixture.job->object, "metadata"), "labels", fixture_yaml("{a.b/c: d}")),
	                 0);
	assert_int_equal(rh_builder_new(&fixture.snapshot, &builder, NULL), 0);
	if (rh_build_pod(builder, "Chief", 0, &pod, &fixture.err) < 0)
		fail_msg("%s", fixture.err.message);
	frozen_assert_text(pod, "spec.containers[0].env[2].value", "metadata.labels[\"a.b/c\"] d -");
}

static void frozen_assert_made(const struct fixture *fixture, const char *name, const uint8_t *random, uint32_t bytes,
                               const char *want)
{
	const struct rh_made made = {.head = RH_HEAD(struct rh_made),
	                             .api_version = "v1",
	                             .kind = "Secret",
	                             .name = name,
	                             .random = random,
	                             .random_bytes = bytes};
	struct rh_json *object = NULL;

	assert_int_equal(rh_host_make(&fixture->snapshot, &made, &object, NULL), 0);
	frozen_assert_text(object, "metadata.name", name);
	frozen_assert_text(object, "stringData.text", want);
	rh_json_free_secret(object);
}

static void test_frozen__newest_objects(void **state)
{
	static const uint8_t random[RH_PAIR_BYTES] = {7, 0, 0, 9};
	static const char *const names[] = {"old", "word", "pair", "kept"};
	rh_auto(json) objects = NULL;
	auto_fixture fixture;

	frozen_open(&fixture, state);
	assert_int_equal(rh_host_objects(&fixture.snapshot, &objects, NULL), 0);
	assert_int_equal(rh_json_size(objects), 4);
	for (int i = 0; i < 4; i++)
		frozen_assert_text(rh_json_item(objects, i), "metadata.name", names[i]);
	frozen_assert_text(rh_json_item(objects, 0), "data.word", "of old");
	frozen_assert_made(&fixture, "word", random, 4, "7 9");
	frozen_assert_made(&fixture, "pair", random, RH_PAIR_BYTES, "pair of 199");
}

/* @return the judgement of a job that wishes @p wish, to be freed by the caller */
static struct rh_judgement frozen_wish(struct fixture *fixture, const char *wish)
{
	static const size_t offsets[] = {0, 1};
	const struct rh_pod chief = {.phase = RH_PHASE_RUNNING, .exit_code = -1, .ready = true};
	const struct rh_pod *pods[3] = {&chief, NULL, NULL};
	struct rh_judgement judgement = {0};

	fixture->counts[1].ready = 4;
	fixture->snapshot.pods = pods;
	fixture->snapshot.offsets = offsets;
	assert_int_equal(rh_json_set_string(rh_json_get(fixture->job->object, "spec"), "wish", wish), 0);
	assert_int_equal(rh_host_judge(&fixture->snapshot, &judgement, &fixture->err), 0);
	assert_int_equal(judgement.count, 1);
	assert_string_equal(judgement.items[0].reason, "VeteranSaid");
	fixture_assert_json(judgement.status, "{\"rounds\":41}");
	return judgement;
}

static void test_frozen__newest_judge(void **state)
{
	struct rh_judgement judgement;
	auto_fixture fixture;

	frozen_open(&fixture, state);
	judgement = frozen_wish(&fixture, "hold");
	assert_int_equal(judgement.hold_count, 1);
	assert_string_equal(judgement.holds[0].type, "Worker");
	assert_int_equal(judgement.holds[0].index, -1);
	rh_judgement_deinit(&judgement);
	judgement = frozen_wish(&fixture, "restart");
	assert_int_equal(judgement.restart_count, 1);
	assert_string_equal(judgement.restarts[0].type, "Worker");
	assert_int_equal(judgement.restarts[0].index, 1);
	assert_int_equal(judgement.restarts[0].flags, RH_RESTART_FREE);
	assert_string_equal(judgement.restarts[0].message, "once more");
	rh_judgement_deinit(&judgement);
	judgement = frozen_wish(&fixture, "again");
	assert_int_equal(judgement.restart_count, 1);
	assert_null(judgement.restarts[0].type);
	assert_string_equal(judgement.restarts[0].token, "round-1");
	rh_judgement_deinit(&judgement);
}

/* Replica types of an object that the job names. */
static void test_frozen__newest_expand(void **state)
{
	rh_auto_free char *path = rh_asprintf(RH_ABI_VETERANS ".%d.so", *(const int *)*state);
	rh_auto(lookups) lookups = NULL;
	rh_auto(builder) builder = NULL;
	rh_auto(json) runtime = fixture_yaml("{spec: {template: {spec: {containers: [{name: main, image: i}]}}}}");
	rh_auto(json) pod = NULL;
	auto_fixture fixture;

	assert_non_null(path);
	fixture_open_file(&fixture, path, NULL, frozen_set_job);
	assert_int_equal(rh_lookups_new(fixture.job, &lookups), 0);
	assert_int_equal(rh_lookups_keep(lookups, rh_lookups_due(lookups), runtime), 0);
	fixture.snapshot.lookups = lookups;
	assert_int_equal(rh_host_expand(&fixture.snapshot, fixture.job, &fixture.err), 0);
	assert_int_equal(fixture.job->spec_count, 2);
	assert_string_equal(fixture.job->specs[0].type, "launcher");
	assert_int_equal(fixture.job->specs[1].replicas, 2);
	assert_int_equal(fixture.job->specs[1].policy, RH_RESTART_ON_FAILURE);
	assert_int_equal(fixture.job->policy.backoff_limit, 2);
	assert_int_equal(rh_builder_new(&fixture.snapshot, &builder, NULL), 0);
	if (rh_build_pod(builder, "node", 1, &pod, &fixture.err) < 0)
		fail_msg("%s", fixture.err.message);
	frozen_assert_text(pod, "spec.containers[0].env[0].value", "set-node-0-1.set.ns.svc");
}

static void frozen_judge(struct fixture *fixture, const char *want)
{
	struct rh_judgement judgement = {0};

	assert_int_equal(rh_host_judge(&fixture->snapshot, &judgement, &fixture->err), 0);
	assert_int_equal(judgement.count, 1);
	assert_string_equal(judgement.items[0].message, want);
	rh_judgement_deinit(&judgement);
}

static void test_frozen__judge(void **state)
{
	static const size_t offsets[] = {0, 1};
	const struct rh_pod chief = {.phase = RH_PHASE_RUNNING, .exit_code = -1};
	const struct rh_pod *pods[3] = {&chief, NULL, NULL};
	auto_fixture fixture;

	frozen_open(&fixture, state);
	fixture.counts[1] = (struct rh_counts){.desired = 2, .active = 3, .succeeded = 4, .failed = 5, .restarting = 6};
	fixture.snapshot.pods = pods;
	fixture.snapshot.offsets = offsets;
	frozen_judge(&fixture, "2 3 4 5 6, 2 -1, 0");
	/* without pods it leaves the judgement to the core */
	fixture.snapshot.pods = NULL;
	fixture.counts[0].succeeded = 1;
	frozen_judge(&fixture, "VeteranJob old is successfully completed.");
}

static void test_frozen__a_later_minor_is_taken(void **state)
{
	auto_fixture fixture;

	(void)state;
	fixture_open_file(&fixture, RH_ABI_GROWN, NULL, frozen_grown_job);
	assert_int_equal(fixture.job->kind->head.minor, RH_ABI_MINOR + 3);
	frozen_judge(&fixture, "well");
}

/* The newest minor version that was released; the one after it may be in the making. */
#define FROZEN_NEWEST 2
_Static_assert(RH_ABI_MINOR == FROZEN_NEWEST || RH_ABI_MINOR == FROZEN_NEWEST + 1,
               "a minor version needs a folder below frozen, and a row in main()");

/* Each promise has a file; a change of one of them is a mistake. */
static void test_frozen__headers_are_those_of_today_as_far_as_they_go(void **state)
{
	static const char *const names[] = {"status.h", "plugin.h"};
	size_t count = RH_ABI_MINOR == FROZEN_NEWEST ? 2 : 1; /* layout.c compares what is in the making */

	(void)state;
	for (size_t i = 0; i < count; i++) {
		rh_auto_free char *old_path =
			rh_asprintf("%s/tests/abi/frozen/1.%d/roundhouse/%s", RH_SOURCE_DIR, FROZEN_NEWEST, names[i]);
		rh_auto_free char *new_path = rh_asprintf("%s/include/roundhouse/%s", RH_SOURCE_DIR, names[i]);
		rh_auto_free char *old_text = NULL;
		rh_auto_free char *new_text = NULL;

		assert_int_equal(rh_file_read(old_path, 1 << 20, &old_text, NULL, NULL), 0);
		assert_int_equal(rh_file_read(new_path, 1 << 20, &new_text, NULL, NULL), 0);
		assert_string_equal(old_text, new_text);
	}
}

#define FROZEN_TEST(name)                         \
	{                                             \
#name, name, NULL, NULL, (void *)&version \
	}

static int frozen_run_newest(void)
{
	static const int version = 2;
	const struct CMUnitTest tests[] = {
		FROZEN_TEST(test_frozen__newest_reads),
		FROZEN_TEST(test_frozen__newest_objects),
		FROZEN_TEST(test_frozen__newest_judge),
		FROZEN_TEST(test_frozen__newest_expand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

static int frozen_run(int version)
{
	const struct CMUnitTest tests[] = {
		FROZEN_TEST(test_frozen__is_ready_with_its_kind),
		FROZEN_TEST(test_frozen__pod),
		FROZEN_TEST(test_frozen__objects),
		FROZEN_TEST(test_frozen__rules),
		FROZEN_TEST(test_frozen__judge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frozen__a_later_minor_is_taken),
		cmocka_unit_test(test_frozen__headers_are_those_of_today_as_far_as_they_go),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	for (int version = 0; version <= FROZEN_NEWEST; version++)
		failed += frozen_run(version);
	return failed + frozen_run_newest();
}
