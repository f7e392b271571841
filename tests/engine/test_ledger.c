/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/ledger.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "engine/decide/worlds.h"
#include "job/values/names.h"

static struct rh_json *ledger_annotations(const struct worlds *worlds)
{
	return rh_json_at(worlds->job->object, "metadata.annotations");
}

static void ledger_annotate(const struct worlds *worlds, const char *text)
{
	assert_int_equal(rh_json_set_string(ledger_annotations(worlds), RH_ANNOTATION_LEDGER, text), 0);
}

static void ledger_fill_fault(struct rh_first_fault *fault, const char *last_lines)
{
	fault->type = rh_strdup("Worker");
	fault->index = 1;
	fault->pod = rh_strdup("j-worker-1");
	fault->node = rh_strdup("n1");
	fault->container = rh_strdup("pytorch");
	fault->reason = rh_strdup("Error");
	fault->last_lines = rh_strdup(last_lines);
	fault->reported_by = rh_strdup("Worker-0: late");
	fault->exit_code = 137;
	fault->blame = RH_BLAME_HUNG;
	fault->rank = 3;
	fault->until = WORLDS_NOW + 6;
	fault->attempt = 2;
	fault->message_offset = 52;
	fault->at = WORLDS_NOW + 5;
}

/* A ledger with something everywhere. */
static void ledger_fill(struct rh_ledger *ledger)
{
	ledger->attempt = 2;
	ledger->stopping = true;
	ledger->end = RH_END_DEADLINE;
	assert_int_equal(rh_ledger_count(ledger, "Worker", RH_CAUSE_EXIT, "u1"), 1);
	assert_int_equal(rh_ledger_count(ledger, "Worker", RH_CAUSE_IN_PLACE, NULL), 1);
	assert_int_equal(rh_ledger_count(ledger, "Master", RH_CAUSE_JOB, NULL), 1);
	assert_int_equal(rh_ledger_note(ledger, "waiting/u2"), 1);
	for (int32_t i = 0; i < 9; i++)
		assert_int_equal(rh_ledger_set_succeeded(ledger, "Worker", i == 8 ? 12 : i), 0);
	assert_int_equal(rh_index_set_add(&rh_ledger_type_of(ledger, "Worker")->lost, 40), 0);
	assert_int_equal(rh_index_set_add(&rh_ledger_type_of(ledger, "Worker")->again, 41), 0);
	assert_int_equal(rh_ledger_set_token(&rh_ledger_type_of(ledger, "Worker")->token, "t"), 0);
	assert_int_equal(rh_ledger_set_token(&ledger->token, "first"), 0);
	assert_int_equal(rh_ledger_set_token(&ledger->token, "second"), 0);
	assert_int_equal(rh_ledger_set_token(&ledger->token, NULL), 0);
	ledger_fill_fault(&ledger->fault, "boom");
}

static void test_ledger__counts_once(void **state)
{
	rh_auto_ledger ledger = {0};

	(void)state;
	assert_int_equal(rh_ledger_count(&ledger, "Worker", RH_CAUSE_EXIT, "b"), 1);
	assert_int_equal(rh_ledger_count(&ledger, "Worker", RH_CAUSE_DELETED, "b"), 0);
	assert_int_equal(rh_ledger_count(&ledger, "Master", RH_CAUSE_EVICTED, "a"), 1);
	assert_int_equal(rh_ledger_count(&ledger, "Worker", RH_CAUSE_DELETED, NULL), 1);
	assert_int_equal(rh_ledger_count(&ledger, "Worker", RH_CAUSE_JOB, NULL), 1);
	assert_int_equal(rh_ledger_restarts(&ledger), 3);
	assert_int_equal(rh_ledger_restarts_of(&ledger, RH_CAUSE_DELETED), 1);
	assert_string_equal(ledger.counted[0], "a");
	assert_true(rh_ledger_counted(&ledger, "b"));
	rh_ledger_unnote(&ledger, "c");
	rh_ledger_unnote(&ledger, "a");
	assert_false(rh_ledger_counted(&ledger, "a"));
	assert_int_equal(ledger.counted_count, 1);
}

static void test_ledger__room(void **state)
{
	rh_auto_ledger ledger = {0};
	bool keep[RH_LEDGER_COUNTED_MAX + 1] = {false};
	char uid[16];

	(void)state;
	for (int i = 0; i < RH_LEDGER_COUNTED_MAX; i++) {
		snprintf(uid, sizeof(uid), "u%d", i);
		assert_int_equal(rh_ledger_note(&ledger, uid), 1);
	}
	assert_int_equal(rh_ledger_room(&ledger), 0);
	assert_int_equal(rh_ledger_count(&ledger, "Worker", RH_CAUSE_EXIT, "one more"), 0);
	assert_int_equal(rh_ledger_restarts(&ledger), 0);
	keep[rh_ledger_place(&ledger, "u77")] = true;
	keep[rh_ledger_place(&ledger, "not there")] = true;
	rh_ledger_retain(&ledger, keep);
	assert_int_equal(ledger.counted_count, 1);
	assert_string_equal(ledger.counted[0], "u77");
}

static void test_ledger__types_have_an_end(void **state)
{
	rh_auto_ledger ledger = {0};
	char type[16];

	(void)state;
	for (int i = 0; i < RH_TYPES_MAX; i++) {
		snprintf(type, sizeof(type), "T%d", i);
		assert_non_null(rh_ledger_type_of(&ledger, type));
	}
	assert_null(rh_ledger_type_of(&ledger, "one more"));
	assert_non_null(rh_ledger_type_of(&ledger, "T3"));
	assert_null(rh_ledger_find(&ledger, "one more"));
}

static void test_ledger__equal(void **state)
{
	rh_auto_ledger full = {0}, copy = {0}, empty = {0}, entry = {0};

	(void)state;
	ledger_fill(&full);
	assert_int_equal(rh_ledger_copy(&copy, &full), 0);
	assert_true(rh_ledger_equal(&full, &copy));
	assert_non_null(rh_ledger_type_of(&entry, "Worker"));
	assert_true(rh_ledger_equal(&entry, &empty));
	assert_false(rh_ledger_equal(&full, &empty));
	copy.fault.at++;
	assert_false(rh_ledger_equal(&full, &copy));
	copy.fault.at--;
	copy.fault.message_offset++;
	assert_false(rh_ledger_equal(&full, &copy));
	copy.fault.message_offset--;
	copy.fault.blame = RH_BLAME_CAUSE;
	assert_false(rh_ledger_equal(&full, &copy));
	copy.fault.blame = full.fault.blame;
	copy.types[0].restarts[RH_CAUSE_DELETED]++;
	assert_false(rh_ledger_equal(&full, &copy));
	copy.types[0].restarts[RH_CAUSE_DELETED]--;
	assert_int_equal(rh_ledger_set_token(&copy.token, "third"), 0);
	assert_false(rh_ledger_equal(&full, &copy));
	assert_int_equal(rh_ledger_set_token(&copy.token, "second"), 0);
	rh_index_set_remove(&rh_ledger_type_of(&copy, "Worker")->again, 41);
	assert_false(rh_ledger_equal(&full, &copy));
	assert_int_equal(rh_index_set_add(&rh_ledger_type_of(&copy, "Worker")->again, 41), 0);
	assert_true(rh_ledger_equal(&full, &copy));
	rh_ledger_unnote(&copy, "u1");
	assert_false(rh_ledger_equal(&full, &copy));
}

static void test_ledger__text(void **state)
{
	struct worlds *worlds = worlds_new("", "");
	rh_auto_ledger ledger = {0}, again = {0};
	rh_auto_free char *text = NULL;

	(void)state;
	ledger_fill(&ledger);
	text = rh_ledger_text(&ledger, worlds->job);
	assert_string_equal(
		text,
		"{\"uid\":\"job-uid\",\"attempt\":2,\"stopping\":true,\"token\":\"second\",\"end\":\"deadline\",\"types\":{"
		"\"Worker\":{\"restarts\":{\"exit\":1,\"in-place\":1},\"succeeded\":\"0-7,12\",\"lost\":\"40\","
		"\"again\":\"41\",\"token\":\"t\"},"
		"\"Master\":{\"restarts\":{\"job\":1}}},\"fault\":{\"type\":\"Worker\",\"index\":1,\"attempt\":2,"
		"\"exitCode\":137,\"at\":\"2026-01-01T00:00:00.000005Z\",\"pod\":\"j-worker-1\",\"node\":\"n1\","
		"\"container\":\"pytorch\",\"reason\":\"Error\",\"class\":\"hung\",\"rank\":3,"
		"\"until\":\"2026-01-01T00:00:00.000006Z\",\"messageOffset\":52,\"reportedBy\":\"Worker-0: "
		"late\",\"lastLines\":\"boom\"},"
		"\"counted\":[\"u1\",\"waiting/u2\"]}");
	ledger_annotate(worlds, text);
	assert_int_equal(rh_ledger_read(worlds->job, &again), 0);
	assert_true(rh_ledger_equal(&ledger, &again));
	worlds_free(worlds);
}

/* What does not fit is left out, least important first, and nothing else. */
static void test_ledger__text_is_bounded(void **state)
{
	struct worlds *worlds = worlds_new("", "");
	rh_auto_ledger ledger = {0}, again = {0};
	rh_auto_free char *text = NULL;
	char long_uid[128];

	(void)state;
	ledger_fill(&ledger);
	for (int i = 0; rh_ledger_room(&ledger) > 0; i++) {
		snprintf(long_uid, sizeof(long_uid), "%0*d", 58, i);
		assert_int_equal(rh_ledger_note(&ledger, long_uid), 1);
	}
	for (int32_t i = 0; i < 40000; i += 2)
		assert_int_equal(rh_ledger_set_succeeded(&ledger, "Master", i), 0);
	text = rh_ledger_text(&ledger, worlds->job);
	assert_in_range(strlen(text), RH_LEDGER_TEXT_MAX / 2, RH_LEDGER_TEXT_MAX);
	ledger_annotate(worlds, text);
	assert_int_equal(rh_ledger_read(worlds->job, &again), 0);
	assert_string_equal(again.fault.pod, "j-worker-1");
	assert_string_equal(again.fault.last_lines, "");
	assert_true(rh_ledger_succeeded(&again, "Worker", 12));
	assert_false(rh_ledger_succeeded(&again, "Master", 0));
	assert_int_equal(again.counted_count, RH_LEDGER_COUNTED_MAX);
	worlds_free(worlds);
}

static void test_ledger__last_lines_keep_their_end(void **state)
{
	struct worlds *worlds = worlds_new("", "");
	rh_auto_ledger ledger = {0}, again = {0};
	rh_auto_free char *text = NULL;
	char lines[3000];

	(void)state;
	memset(lines, 'a', sizeof(lines));
	/* A character of two bytes lies across the cut. */
	memcpy(lines + sizeof(lines) - 1 - 2048 - 1, "\xC3\xA9", 2);
	memcpy(lines + sizeof(lines) - 4, "end", 4);
	ledger_fill_fault(&ledger.fault, lines);
	text = rh_ledger_text(&ledger, worlds->job);
	ledger_annotate(worlds, text);
	assert_int_equal(rh_ledger_read(worlds->job, &again), 0);
	assert_int_equal(strlen(again.fault.last_lines), 2047);
	assert_string_equal(again.fault.last_lines + 2044, "end");
	worlds_free(worlds);
}

/* The annotation is input like any other. */
static void test_ledger__reads_anything(void **state)
{
	static const struct {
		const char *name;
		const char *text;
		int64_t restarts;
		int32_t attempt;
	} rows[] = {
		{"no JSON", "{", 0, 0},
		{"no object", "[1]", 0, 0},
		{"another job's", "{\"uid\":\"other\",\"attempt\":3}", 0, 0},
		{"no UID", "{\"attempt\":3}", 0, 0},
		{"a negative attempt", "{\"uid\":\"job-uid\",\"attempt\":-3}", 0, 0},
		{"a huge attempt", "{\"uid\":\"job-uid\",\"attempt\":9000000000}", 0, INT32_MAX},
		{"types that are a list", "{\"uid\":\"job-uid\",\"attempt\":1,\"types\":[1,2]}", 0, 1},
		{"types of wrong types", "{\"uid\":\"job-uid\",\"attempt\":1,\"types\":{\"Worker\":7,\"Master\":null}}", 0, 1},
		{"counts of wrong types",
	     "{\"uid\":\"job-uid\",\"types\":{\"Worker\":{\"restarts\":{\"exit\":\"x\",\"deleted\":-4,\"evicted\":2}}}}", 2,
	     0},
		{"sets of wrong types", "{\"uid\":\"job-uid\",\"types\":{\"Worker\":{\"succeeded\":7,\"lost\":[1]}}}", 0, 0},
		{"a set without end", "{\"uid\":\"job-uid\",\"types\":{\"Worker\":{\"succeeded\":\"0-9999999,0-9999999\"}}}", 0,
	     0},
		{"counted of wrong types", "{\"uid\":\"job-uid\",\"counted\":[1,null,{},\"u\"]}", 0, 0},
		{"counted that is no list", "{\"uid\":\"job-uid\",\"counted\":\"u\"}", 0, 0},
		{"a fault without time", "{\"uid\":\"job-uid\",\"fault\":{\"type\":\"Worker\"}}", 0, 0},
		{"a fault of wrong types", "{\"uid\":\"job-uid\",\"fault\":{\"type\":1,\"at\":2}}", 0, 0},
		{"an end that is none", "{\"uid\":\"job-uid\",\"end\":\"never\",\"stopping\":\"yes\"}", 0, 0},
	};
	struct worlds *worlds = worlds_new("", "");

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		rh_auto_ledger ledger = {0};

		ledger_annotate(worlds, rows[i].text);
		assert_int_equal(rh_ledger_read(worlds->job, &ledger), 0);
		if (rh_ledger_restarts(&ledger) != rows[i].restarts || ledger.attempt != rows[i].attempt)
			fail_msg("%s: %d restarts, attempt %d", rows[i].name, (int)rh_ledger_restarts(&ledger),
			         (int)ledger.attempt);
		assert_false(ledger.stopping || ledger.end || ledger.fault.type);
	}
	rh_json_remove(ledger_annotations(worlds), RH_ANNOTATION_LEDGER);
	worlds_free(worlds);
}

static void test_ledger__no_annotation(void **state)
{
	struct worlds *worlds = worlds_new("", "");
	rh_auto_ledger ledger = {0}, empty = {0};

	(void)state;
	assert_int_equal(rh_ledger_read(worlds->job, &ledger), 0);
	assert_true(rh_ledger_equal(&ledger, &empty));
	worlds_free(worlds);
}

/* Copy, print and read back with the n-th allocation failing. @return 0 or RH_ENOMEM */
static int ledger_round(const struct worlds *worlds, const struct rh_ledger *ledger)
{
	rh_auto_ledger copy = {0}, again = {0};
	rh_auto_free char *text = NULL;

	if (rh_ledger_copy(&copy, ledger) < 0)
		return RH_ENOMEM;
	text = rh_ledger_text(&copy, worlds->job);
	if (!text)
		return RH_ENOMEM;
	return rh_ledger_read(worlds->job, &again);
}

static void test_ledger__out_of_memory(void **state)
{
	struct worlds *worlds = worlds_new("", "");
	rh_auto_ledger ledger = {0};
	rh_auto_free char *text = NULL;
	int r = RH_ENOMEM;

	(void)state;
	ledger_fill(&ledger);
	text = rh_ledger_text(&ledger, worlds->job);
	ledger_annotate(worlds, text);
	for (long i = 0; r == RH_ENOMEM; i++) {
		assert_true(i < 1000);
		rh_mem_fail_after(i);
		r = ledger_round(worlds, &ledger);
		rh_mem_fail_after(-1);
	}
	assert_int_equal(r, 0);
	worlds_free(worlds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ledger__counts_once),
		cmocka_unit_test(test_ledger__room),
		cmocka_unit_test(test_ledger__types_have_an_end),
		cmocka_unit_test(test_ledger__equal),
		cmocka_unit_test(test_ledger__text),
		cmocka_unit_test(test_ledger__text_is_bounded),
		cmocka_unit_test(test_ledger__last_lines_keep_their_end),
		cmocka_unit_test(test_ledger__reads_anything),
		cmocka_unit_test(test_ledger__no_annotation),
		cmocka_unit_test(test_ledger__out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
