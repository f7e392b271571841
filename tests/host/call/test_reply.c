/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "host/call/reply.h"
#include "host/fixture.h"

static void reply_assert_blamed(const struct rh_reply *reply, const char *words)
{
	assert_int_equal(reply->status, RH_EPLUGIN);
	if (!strstr(reply->error.message, words))
		fail_msg("\"%s\" does not say \"%s\"", reply->error.message, words);
}

static void test_reply__fail_keeps_the_first_error(void **state)
{
	struct rh_reply reply = {.operation = RH_OPERATION_INIT};

	(void)state;
	assert_int_equal(rh_reply_fail(&reply, RH_EINVAL, "first %s"), RH_EINVAL);
	assert_int_equal(rh_reply_fail(&reply, RH_EIO, "second"), RH_EIO);
	assert_int_equal(reply.status, RH_EINVAL);
	assert_string_equal(reply.error.message, "first %s");
}

static void test_reply__fail_takes_only_known_codes(void **state)
{
	static const int32_t codes[] = {0, 1, -9, INT32_MIN, INT32_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct rh_reply reply = {.operation = RH_OPERATION_POD};

		assert_int_equal(rh_reply_fail(&reply, codes[i], "x"), RH_EPLUGIN);
		reply_assert_blamed(&reply, "fail(): the code");
	}
}

static void test_reply__notes_are_warnings_of_validate_alone(void **state)
{
	rh_auto_findings findings = {0};
	struct rh_reply reply = {.operation = RH_OPERATION_VALIDATE, .plugin = "fake", .findings = &findings};

	(void)state;
	assert_int_equal(rh_reply_note(&reply, RH_NOTE_DEBUG, "quiet"), 0);
	assert_int_equal(rh_reply_note(&reply, RH_NOTE_WARN, "100% loud"), 0);
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.items[0].severity, RH_FINDING_WARNING);
	assert_string_equal(findings.items[0].path, "");
	assert_string_equal(findings.items[0].detail, "100% loud");
	reply.operation = RH_OPERATION_POD;
	assert_int_equal(rh_reply_note(&reply, RH_NOTE_DEBUG, "elsewhere"), 0);
	assert_int_equal(findings.count, 1);
	assert_int_equal(rh_reply_note(&reply, 3, "x"), RH_EPLUGIN);
	assert_int_equal(rh_reply_note(&reply, RH_NOTE_INFO, NULL), RH_EPLUGIN);
}

static void test_reply__refuse(void **state)
{
	rh_auto_findings findings = {0};
	struct rh_reply reply = {.operation = RH_OPERATION_VALIDATE, .findings = &findings};

	(void)state;
	assert_int_equal(rh_reply_refuse(&reply, "spec.x", "Forbidden: 100%"), 0);
	assert_int_equal(findings.items[0].severity, RH_FINDING_ERROR);
	assert_string_equal(findings.items[0].path, "spec.x");
	assert_string_equal(findings.items[0].detail, "Forbidden: 100%");
	assert_int_equal(rh_reply_refuse(&reply, NULL, "x"), RH_EPLUGIN);
	reply_assert_blamed(&reply, "refuse(): the path is NULL");
}

static void test_reply__env_goes_to_every_regular_container(void **state)
{
	rh_auto(json) pod =
		fixture_yaml("spec: {initContainers: [{name: i}], containers: [{name: a, env: [{name: U}]}, {name: b}]}");
	struct rh_reply reply = {.operation = RH_OPERATION_POD, .pod = pod};

	(void)state;
	assert_int_equal(rh_reply_env(&reply, NULL, "K", "v"), 0);
	assert_int_equal(rh_reply_env(&reply, "b", "ONLY", ""), 0);
	fixture_assert_json(
		pod, "{\"spec\":{\"initContainers\":[{\"name\":\"i\"}],\"containers\":["
			 "{\"name\":\"a\",\"env\":[{\"name\":\"U\"},{\"name\":\"K\",\"value\":\"v\"}]},"
			 "{\"name\":\"b\",\"env\":[{\"name\":\"K\",\"value\":\"v\"},{\"name\":\"ONLY\",\"value\":\"\"}]}]}}");
}

static void test_reply__env_refusals(void **state)
{
	static const struct {
		const char *container;
		const char *name;
		const char *value;
		const char *words;
	} rows[] = {
		{NULL, NULL, "v", "name is empty"},
		{NULL, "", "v", "name is empty"},
		{NULL, "K", NULL, "value is NULL"},
		{"absent", "K", "v", "no such container"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) pod = fixture_yaml("spec: {containers: [{name: a}]}");
		struct rh_reply reply = {.operation = RH_OPERATION_POD, .pod = pod};

		assert_int_equal(rh_reply_env(&reply, rows[i].container, rows[i].name, rows[i].value), RH_EPLUGIN);
		reply_assert_blamed(&reply, rows[i].words);
	}
}

/* The kernel takes 128 KiB for name, equals sign, value and final zero. */
static void test_reply__env_fits_what_linux_takes(void **state)
{
	static const size_t limit = 128 * 1024 - sizeof("LIST=");
	rh_auto(json) pod = fixture_yaml("{spec: {containers: [{name: a}]}}");
	struct rh_reply reply = {.operation = RH_OPERATION_POD, .plugin = "fake", .pod = pod};
	rh_auto_free char *value = rh_alloc(limit + 2);

	(void)state;
	memset(value, 'x', limit);
	assert_int_equal(rh_reply_env(&reply, NULL, "LIST", value), 0);
	assert_int_equal(reply.status, 0);
	value[limit] = 'x';
	assert_int_equal(rh_reply_env(&reply, NULL, "LIST", value), RH_EINVAL);
	assert_string_equal(reply.error.message,
	                    "variable LIST would have 131073 bytes, and Linux takes 131072: the job needs fewer replicas "
	                    "(plugin fake)");
	assert_int_equal(rh_json_size(rh_json_at(pod, "spec.containers[0].env")), 1);
}

/* What one call answers is limited, whichever services it uses, and an answer of nothing is not free. */
static void test_reply__an_answer_has_limits(void **state)
{
	static const char object[] = "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\"}}";
	rh_auto(json) pod = rh_json_new_object();
	rh_auto(json) objects = rh_json_new_array();
	rh_auto_findings findings = {0};
	struct rh_reply many = {.operation = RH_OPERATION_OBJECTS, .objects = objects};
	struct rh_reply large = {.operation = RH_OPERATION_POD, .pod = pod};
	struct rh_reply small = {.operation = RH_OPERATION_VALIDATE, .findings = &findings};
	rh_auto_free char *text = rh_alloc(RH_ANSWER_BYTES_MAX + 1);
	size_t calls = 0;

	(void)state;
	for (size_t i = 0; i < RH_ANSWER_OBJECTS_MAX; i++)
		assert_int_equal(rh_reply_object(&many, object), 0);
	assert_int_equal(rh_reply_object(&many, object), RH_EPLUGIN);
	assert_string_equal(many.error.message, "object(): more than the limit of 1000 objects");
	assert_int_equal(rh_json_size(objects), RH_ANSWER_OBJECTS_MAX);

	memset(text, ' ', RH_ANSWER_BYTES_MAX - RH_ANSWER_TEXT_COST);
	assert_int_equal(rh_reply_edit(&large, "spec.a", text), RH_EPLUGIN);
	assert_string_equal(large.error.message, "edit(): the answer is larger than the limit of 4194304 bytes");
	assert_int_equal(rh_reply_edit(&large, "b", "1"), RH_EPLUGIN);
	assert_null(rh_json_get(pod, "b"));

	while (rh_reply_refuse(&small, "", "") == 0)
		calls++;
	assert_int_equal(calls, RH_ANSWER_BYTES_MAX / RH_ANSWER_TEXT_COST);
}

static void test_reply__edit(void **state)
{
	rh_auto(json) pod = rh_json_new_object();
	struct rh_reply reply = {.operation = RH_OPERATION_POD, .pod = pod};

	(void)state;
	assert_int_equal(rh_reply_edit(&reply, "spec.hostNetwork", "true"), 0);
	assert_int_equal(rh_reply_edit(&reply, "spec.volumes[+]", "{\"name\":\"v\"}"), 0);
	assert_int_equal(rh_reply_edit(&reply, "metadata.annotations[\"a/b\"]", "\"c\""), 0);
	fixture_assert_json(pod, "{\"spec\":{\"hostNetwork\":true,\"volumes\":[{\"name\":\"v\"}]},"
	                         "\"metadata\":{\"annotations\":{\"a/b\":\"c\"}}}");
}

static void test_reply__edit_refusals(void **state)
{
	static const struct {
		const char *path;
		const char *json;
		const char *words;
	} rows[] = {
		{NULL, "1", "path is NULL"},
		{"spec.x", NULL, "JSON is NULL"},
		{"spec.x", "", "no JSON"},
		{"spec.x", "{", "no JSON"},
		{"spec.x", "1 2", "no JSON"},
		{"spec..x", "1", "a key is empty"},
		{"kind", "1", "the core's"},
		{"apiVersion", "1", "the core's"},
		{"status", "1", "the core's"},
		{"status.phase", "1", "the core's"},
		{"metadata.namespace", "1", "the core's"},
		{"metadata.ownerReferences[+]", "1", "the core's"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) pod = rh_json_new_object();
		struct rh_reply reply = {.operation = RH_OPERATION_POD, .pod = pod};

		assert_int_equal(rh_reply_edit(&reply, rows[i].path, rows[i].json), RH_EPLUGIN);
		reply_assert_blamed(&reply, rows[i].words);
		fixture_assert_json(pod, "{}");
	}
}

/* In objects() it edits the one that was named last. */
static void test_reply__edit_of_objects(void **state)
{
	static const char *const core[] = {
		"kind", "apiVersion", "status.phase", "metadata.name", "metadata[\"annotations\"]", "[\"metadata\"].name"};
	rh_auto(json) objects = rh_json_new_array();
	struct rh_reply reply = {.operation = RH_OPERATION_OBJECTS, .objects = objects};
	struct rh_reply empty = {.operation = RH_OPERATION_OBJECTS, .objects = rh_json_new_array()};

	(void)state;
	assert_int_equal(rh_reply_edit(&empty, "spec.a", "1"), RH_EPLUGIN);
	reply_assert_blamed(&empty, "no object was named before");
	rh_json_free(empty.objects);
	assert_int_equal(rh_reply_object(&reply, "{\"apiVersion\":\"v1\",\"kind\":\"A\",\"metadata\":{\"name\":\"a\"}}"),
	                 0);
	assert_int_equal(rh_reply_object(&reply, "{\"apiVersion\":\"v1\",\"kind\":\"B\",\"metadata\":{\"name\":\"b\"},"
	                                         "\"spec\":{\"id\":9007199254740993}}"),
	                 0);
	assert_int_equal(rh_reply_edit(&reply, "spec.list[+]", "9223372036854775807"), 0);
	fixture_assert_json(objects, "[{\"apiVersion\":\"v1\",\"kind\":\"A\",\"metadata\":{\"name\":\"a\"}},"
	                             "{\"apiVersion\":\"v1\",\"kind\":\"B\",\"metadata\":{\"name\":\"b\"},"
	                             "\"spec\":{\"id\":9007199254740993,\"list\":[9223372036854775807]}}]");
	for (size_t i = 0; i < sizeof(core) / sizeof(core[0]); i++) {
		struct rh_reply refused = {.operation = RH_OPERATION_OBJECTS, .objects = objects};

		assert_int_equal(rh_reply_edit(&refused, core[i], "1"), RH_EPLUGIN);
		reply_assert_blamed(&refused, "given when it is named");
	}
}

static void test_reply__a_name_that_only_starts_like_the_core_s_is_free(void **state)
{
	rh_auto(json) pod = rh_json_new_object();
	struct rh_reply reply = {.operation = RH_OPERATION_POD, .pod = pod};

	(void)state;
	assert_int_equal(rh_reply_edit(&reply, "kinds", "1"), 0);
	assert_int_equal(rh_reply_edit(&reply, "metadata.name", "\"n\""), 0);
}

static void test_reply__object(void **state)
{
	static const char *const bad[] = {"", "[]", "{}", "{\"apiVersion\":\"v1\",\"kind\":\"A\",\"metadata\":{}}",
	                                  "{\"apiVersion\":\"v1\",\"kind\":1,\"metadata\":{\"name\":\"n\"}}"};
	rh_auto(json) objects = rh_json_new_array();
	struct rh_reply reply = {.operation = RH_OPERATION_OBJECTS, .objects = objects};

	(void)state;
	assert_int_equal(rh_reply_object(&reply, "{\"apiVersion\":\"v1\",\"kind\":\"A\",\"metadata\":{\"name\":\"n\"}}"),
	                 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(rh_reply_object(&reply, bad[i]), RH_EPLUGIN);
	assert_int_equal(rh_reply_object(&reply, NULL), RH_EPLUGIN);
	assert_int_equal(rh_json_size(objects), 1);
}

static void test_reply__verdicts(void **state)
{
	struct rh_judgement judgement = {0};
	struct rh_reply reply = {.operation = RH_OPERATION_JUDGE, .judgement = &judgement};

	(void)state;
	assert_int_equal(rh_reply_verdict(&reply, RH_VERDICT_FAILED, "Worker", "words"), 0);
	assert_int_equal(rh_reply_verdict(&reply, RH_VERDICT_RUNNING, NULL, NULL), 0);
	assert_int_equal(judgement.count, 2);
	assert_string_equal(judgement.items[0].type, "Worker");
	assert_string_equal(judgement.items[0].message, "words");
	assert_null(judgement.items[1].type);
	assert_int_equal(rh_reply_verdict(&reply, 0, NULL, NULL), RH_EPLUGIN);
	assert_int_equal(rh_reply_verdict(&reply, 5, NULL, NULL), RH_EPLUGIN);
	while (judgement.count < RH_VERDICTS_MAX)
		assert_int_equal(rh_reply_verdict(&reply, RH_VERDICT_RUNNING, NULL, NULL), 0);
	assert_int_equal(rh_reply_verdict(&reply, RH_VERDICT_RUNNING, NULL, NULL), RH_EPLUGIN);
	rh_judgement_deinit(&judgement);
	assert_int_equal(judgement.count, 0);
}

static void test_reply__restarts(void **state)
{
	static const struct {
		const char *type;
		int32_t index;
		uint32_t flags;
		const char *token;
		const char *blamed; /* NULL: it is taken */
	} rows[] = {
		{NULL, -1, 0, NULL, NULL},
		{NULL, -1, RH_RESTART_FREE, "Failure-2_a.b", NULL},
		{"Worker", -1, 0, "t", NULL},
		{"Worker", 0, RH_RESTART_FREE, NULL, NULL},
		{NULL, 0, 0, NULL, "the job has no such replica"},
		{"Worker", -2, 0, NULL, "the job has no such replica"},
		{"Worker", 99, 0, NULL, "the job has no such replica"},
		{"Boss", -1, 0, NULL, "the job has no such replica"},
		{"Worker", -1, 2, NULL, "it has a flag that this host does not know"},
		{"Worker", 0, 0, "t", "one replica has no token"},
		{"Worker", -1, 0, "", "the token is not"},
		{"Worker", -1, 0, "a b", "the token is not"},
		{NULL, -1, 0, "0123456789012345678901234567890123456789012345678901234567890123", "the token is not"},
	};
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), fixture_job);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_judgement judgement = {0};
		struct rh_reply reply = {.operation = RH_OPERATION_JUDGE, .judgement = &judgement, .job = fixture.job};
		int32_t r = rh_reply_restart(&reply, rows[i].type, rows[i].index, rows[i].flags, rows[i].token, "words");

		assert_int_equal(r, rows[i].blamed ? RH_EPLUGIN : 0);
		if (rows[i].blamed)
			reply_assert_blamed(&reply, rows[i].blamed);
		else
			assert_string_equal(judgement.restarts[0].message, "words");
		assert_int_equal(judgement.restart_count, !rows[i].blamed);
		if (!rows[i].blamed && rows[i].type)
			assert_string_equal(judgement.restarts[0].type, fixture.job->specs[1].type);
		rh_judgement_deinit(&judgement);
	}
}

static void test_reply__services_belong_to_operations(void **state)
{
	static const enum rh_operation all[] = {RH_OPERATION_INIT, RH_OPERATION_VALIDATE, RH_OPERATION_POD,
	                                        RH_OPERATION_OBJECTS, RH_OPERATION_JUDGE};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct rh_reply reply = {.operation = all[i]};

		if (all[i] != RH_OPERATION_VALIDATE)
			assert_int_equal(rh_reply_refuse(&reply, "p", "d"), RH_EPLUGIN);
		if (all[i] != RH_OPERATION_POD)
			assert_int_equal(rh_reply_env(&reply, NULL, "n", "v"), RH_EPLUGIN);
		if (all[i] != RH_OPERATION_POD)
			assert_int_equal(rh_reply_edit(&reply, "p", "1"), RH_EPLUGIN);
		if (all[i] != RH_OPERATION_OBJECTS)
			assert_int_equal(rh_reply_object(&reply, "{}"), RH_EPLUGIN);
		if (all[i] != RH_OPERATION_JUDGE)
			assert_int_equal(rh_reply_verdict(&reply, RH_VERDICT_RUNNING, NULL, NULL), RH_EPLUGIN);
		reply_assert_blamed(&reply, "is not a service of this operation");
	}
}

static void test_reply__out_of_memory_sticks(void **state)
{
	rh_auto(json) pod = fixture_yaml("spec: {containers: [{name: a}]}");
	struct rh_judgement judgement = {0};
	struct rh_reply reply = {.operation = RH_OPERATION_POD, .pod = pod};

	(void)state;
	rh_mem_fail_after(1);
	assert_int_equal(rh_reply_env(&reply, NULL, "K", "v"), RH_ENOMEM);
	rh_mem_fail_after(-1);
	assert_int_equal(reply.status, RH_ENOMEM);
	reply = (struct rh_reply){.operation = RH_OPERATION_JUDGE, .judgement = &judgement};
	rh_mem_fail_after(1);
	assert_int_equal(rh_reply_verdict(&reply, RH_VERDICT_FAILED, "Worker", "words"), RH_ENOMEM);
	rh_mem_fail_after(-1);
	rh_judgement_deinit(&judgement);
}

static void test_reply__options_of_objects(void **state)
{
	static const char object[] =
		"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\",\"annotations\":"
		"{\"roundhouse.dev/keep\":\"once\",\"a\":\"b\"}}}";
	static const struct {
		uint32_t flags, random;
		const char *annotation; /* NULL: refused */
	} rows[] = {
		{0, 0, ""},
		{RH_OBJECT_ONCE, 0, "once"},
		{RH_OBJECT_ONCE, 256, "once,random=256"},
		{RH_OBJECT_RETAIN, 0, "retain"},
		{RH_OBJECT_ONCE | RH_OBJECT_RETAIN, 0, "once,retain"},
		{RH_OBJECT_ONCE, 257, NULL},
		{0, 1, NULL},
		{RH_OBJECT_ONCE | RH_OBJECT_RETAIN, 1, NULL},
		{RH_OBJECT_ONCE | RH_OBJECT_PAIR, RH_PAIR_BYTES, "once,random=199,pair"},
		{RH_OBJECT_ONCE | RH_OBJECT_PAIR, RH_PAIR_BYTES - 1, NULL},
		{RH_OBJECT_ONCE | RH_OBJECT_PAIR, 0, NULL},
		{RH_OBJECT_PAIR, RH_PAIR_BYTES, NULL},
		{UINT32_C(8), 0, NULL},
		{UINT32_C(1) << 31, 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) objects = rh_json_new_array();
		struct rh_reply reply = {.operation = RH_OPERATION_OBJECTS, .objects = objects};
		const struct rh_object_options options = {
			.head = RH_HEAD(struct rh_object_options), .flags = rows[i].flags, .random_bytes = rows[i].random};
		int32_t r = rh_reply_object_with(&reply, object, &options);
		const char *keep = rh_json_string(
			rh_json_get(rh_json_at(rh_json_item(objects, 0), "metadata.annotations"), "roundhouse.dev/keep"));

		assert_int_equal(r, rows[i].annotation ? 0 : RH_EPLUGIN);
		if (rows[i].annotation)
			assert_string_equal(keep ? keep : "", rows[i].annotation);
	}
}

static void test_reply__only_so_many_are_made_once(void **state)
{
	const struct rh_object_options once = {.head = RH_HEAD(struct rh_object_options), .flags = RH_OBJECT_ONCE};
	rh_auto(json) objects = rh_json_new_array();
	struct rh_reply reply = {.operation = RH_OPERATION_OBJECTS, .objects = objects};
	static const char object[] = "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\"}}";

	(void)state;
	for (size_t i = 0; i < RH_ANSWER_ONCE_MAX; i++)
		assert_int_equal(rh_reply_object_with(&reply, object, &once), 0);
	assert_int_equal(rh_reply_object_with(&reply, object, NULL), 0);
	assert_int_equal(rh_reply_object_with(&reply, object, &once), RH_EPLUGIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reply__fail_keeps_the_first_error),
		cmocka_unit_test(test_reply__fail_takes_only_known_codes),
		cmocka_unit_test(test_reply__notes_are_warnings_of_validate_alone),
		cmocka_unit_test(test_reply__refuse),
		cmocka_unit_test(test_reply__env_goes_to_every_regular_container),
		cmocka_unit_test(test_reply__env_refusals),
		cmocka_unit_test(test_reply__env_fits_what_linux_takes),
		cmocka_unit_test(test_reply__an_answer_has_limits),
		cmocka_unit_test(test_reply__edit),
		cmocka_unit_test(test_reply__edit_refusals),
		cmocka_unit_test(test_reply__edit_of_objects),
		cmocka_unit_test(test_reply__a_name_that_only_starts_like_the_core_s_is_free),
		cmocka_unit_test(test_reply__object),
		cmocka_unit_test(test_reply__verdicts),
		cmocka_unit_test(test_reply__restarts),
		cmocka_unit_test(test_reply__services_belong_to_operations),
		cmocka_unit_test(test_reply__out_of_memory_sticks),
		cmocka_unit_test(test_reply__options_of_objects),
		cmocka_unit_test(test_reply__only_so_many_are_made_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
