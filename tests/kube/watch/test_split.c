/* SPDX-License-Identifier: Apache-2.0 */
#include "base/support.h"
#include "kube/watch/split.h"

#define LIST_HEAD \
	"{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"c\"},"
#define MANAGED "\"managedFields\":[{\"manager\":\"k,}]\\\"\",\"fieldsV1\":{\"f:a\":{\".\":{}}}}]"

/* What was handed over, one object a line; then how it ended. */
struct record {
	struct rh_str text;
	int refuse; /* returned by the function once it has been called so often; 0: never */
	int calls;
};

static int note(void *arg, struct rh_json *object, struct rh_error *err)
{
	struct record *record = arg;

	rh_json_print(object, false, &record->text);
	rh_str_append(&record->text, "\n");
	record->calls++;
	if (record->text.failed)
		return rh_fail_oom(err);
	return record->refuse && record->calls >= record->refuse ? rh_fail(err, RH_EIO, "enough") : 0;
}

/* Feed @p text in two pieces, cut at @p cut, or byte by byte when that is SIZE_MAX. */
static int feed_cut(struct rh_split *split, const char *text, size_t length, size_t cut, struct rh_error *err)
{
	int r = 0;

	if (cut != SIZE_MAX) {
		r = rh_split_feed(split, text, cut, err);
		return r < 0 ? r : rh_split_feed(split, text + cut, length - cut, err);
	}
	for (size_t i = 0; i < length && r == 0; i++)
		r = rh_split_feed(split, text + i, 1, err);
	return r;
}

static void split_cut(enum rh_split_form form, const char *text, size_t cut, struct rh_str *out)
{
	struct record record = {0};
	struct rh_error err = {0};
	rh_auto(split) split = rh_split_new(form, 400, note, &record);
	int r = feed_cut(split, text, strlen(text), cut, &err);

	if (r == 0)
		r = rh_split_end(split, &err);
	rh_str_append(out, rh_str_text(&record.text));
	if (r == 0 && rh_split_metadata(split))
		rh_json_print(rh_split_metadata(split), false, out);
	if (r < 0)
		rh_str_append(out, err.message);
	rh_str_deinit(&record.text);
}

/* However the text is cut, @p expected is what comes of it. */
static void assert_split(enum rh_split_form form, const char *text, const char *expected)
{
	support_row(text);
	for (size_t cut = 0; cut <= strlen(text) + 1; cut++) {
		rh_auto_str got = {0};

		split_cut(form, text, cut > strlen(text) ? SIZE_MAX : cut, &got);
		if (strcmp(rh_str_text(&got), expected) != 0)
			fail_msg("cut at %zu: %s", cut, rh_str_text(&got));
	}
}

static void test_split__lists(void **state)
{
	static const char *const rows[][2] = {
		{"{\"items\":[]}", ""},
		{"{\"items\":null}", ""},
		{" { \"items\" : [ ] } \n", ""},
		{LIST_HEAD "\"items\":[]}", "{\"resourceVersion\":\"7\",\"continue\":\"c\"}"},
		{LIST_HEAD "\"items\":[{\"a\":1},{\"b\":[{}]}]}",
	     "{\"a\":1}\n{\"b\":[{}]}\n{\"resourceVersion\":\"7\",\"continue\":\"c\"}"},
		{"{\"items\":[ {\"a\" : 1 } ,\n{\"a\": [ 1 , -2.5e3,true ]} ],\"metadata\":{}}",
	     "{\"a\":1}\n{\"a\":[1,-2500,true]}\n{}"},
		{"{\"a\":1,\"b\":[1,[2]],\"c\":true,\"d\":\"}]\",\"items\":[{\"x\":\"\\\"}],{\"}],\"e\":null}",
	     "{\"x\":\"\\\"}],{\"}\n"},
		{"{\"items\":[{\"metadata\":{\"name\":\"p\"," MANAGED "}}]}", "{\"metadata\":{\"name\":\"p\"}}\n"},
		{"{\"items\":[{\"metadata\":{" MANAGED ",\"name\":\"p\"},\"managedFields\":1}]}",
	     "{\"metadata\":{\"name\":\"p\"},\"managedFields\":1}\n"},
		{"{\"items\":[{\"a\":{\"metadata\":{\"managedFields\":1}},\"managedField\":2}]}",
	     "{\"a\":{\"metadata\":{\"managedFields\":1}},\"managedField\":2}\n"},
		{"{\"items\":[{\"metadata\":[{\"managedFields\":1}]}]}", "{\"metadata\":[{\"managedFields\":1}]}\n"},
		{"{\"items\":[{\"metadata\":\"managedFields\"}]}", "{\"metadata\":\"managedFields\"}\n"},
		{"{\"metadata\":{\"metadata\":{\"managedFields\":{\"x\":1}}},\"items\":[]}",
	     "{\"metadata\":{\"managedFields\":{\"x\":1}}}"},
		{"{\"items\":[{\"metadata\":{\"managedFields\\u0073\":1,\"aVeryLongKeyIndeed12345\":2}}]}",
	     "{\"metadata\":{\"managedFieldss\":1,\"aVeryLongKeyIndeed12345\":2}}\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_split(RH_SPLIT_LIST, rows[i][0], rows[i][1]);
}

static void test_split__events(void **state)
{
	static const char *const rows[][2] = {
		{"", ""},
		{"\n \n", ""},
		{"{\"type\":\"ADDED\",\"object\":{}}\n", "{\"type\":\"ADDED\",\"object\":{}}\n"},
		{"{\"a\":1}\n{\"b\":2}{\"c\":3}", "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n"},
		{"{\"object\":{\"metadata\":{\"name\":\"p\"," MANAGED "}},\"type\":\"X\"}\n",
	     "{\"object\":{\"metadata\":{\"name\":\"p\"}},\"type\":\"X\"}\n"},
		{"{\"metadata\":{\"managedFields\":1}}", "{\"metadata\":{\"managedFields\":1}}\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_split(RH_SPLIT_EVENTS, rows[i][0], rows[i][1]);
}

static void test_split__may_keep_managed_fields(void **state)
{
	static const char text[] = "{\"items\":[{\"metadata\":{" MANAGED ",\"name\":\"p\"}}]}";

	(void)state;
	for (size_t cut = 1; cut < sizeof(text); cut++) {
		struct record record = {0};
		rh_auto(split) split = rh_split_new(RH_SPLIT_LIST, 400, note, &record);

		rh_split_keep_managed(split);
		assert_int_equal(feed_cut(split, text, sizeof(text) - 1, cut, NULL), 0);
		assert_string_equal(rh_str_text(&record.text), "{\"metadata\":{" MANAGED ",\"name\":\"p\"}}\n");
		rh_str_deinit(&record.text);
	}
}

static void test_split__refuses_lists(void **state)
{
	static const char *const rows[][2] = {
		{"", "the server's answer ends in the middle"},
		{"{}", "the server's answer is not a list: it has no items"},
		{"{\"items\":[{}]", "{}\nthe server's answer ends in the middle"},
		{"{\"items\":[{}", "{}\nthe server's answer ends in the middle"},
		{"{\"items\":[{\"a\":\"", "the server's answer ends in the middle"},
		{"[]", "the server's answer is not a list: unexpected byte 0x5b"},
		{"{\"items\":{}}", "the server's answer is not a list: unexpected byte 0x7b"},
		{"{\"items\":[1]}", "the server's answer is not a list: unexpected byte 0x31"},
		{"{\"items\":[{},]}", "{}\nthe server's answer is not a list: unexpected byte 0x5d"},
		{"{\"items\":[,{}]}", "the server's answer is not a list: unexpected byte 0x2c"},
		{"{\"items\":[{}{}]}", "{}\nthe server's answer is not a list: unexpected byte 0x7b"},
		{"{\"items\" []}", "the server's answer is not a list: unexpected byte 0x5b"},
		{"{\"a\":}", "the server's answer is not a list: unexpected byte 0x7d"},
		{"{\"a\":1,}", "the server's answer is not a list: unexpected byte 0x7d"},
		{"{\"items\":[]}x", "the server's answer is not a list: unexpected byte 0x78"},
		{"{\"items\":[{]}]}", "the server's answer is not JSON: a bracket does not match"},
		{"{\"a\":[}]}", "the server's answer is not JSON: a bracket does not match"},
		{"{\"items\":[{\"a\":1 2}]}", "the server's answer: line 1, column 8: expected , or }"},
		{"{\"items\":[{\"a\":tru}]}", "the server's answer: line 1, column 6: expected a value"},
		{"{\"items\":[{\"a\":[1:2]}]}", "the server's answer: line 1, column 8: expected , or ]"},
		{"{\"metadata\":{\"a\"},\"items\":[]}", "the server's answer: line 1, column 5: expected :"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_split(RH_SPLIT_LIST, rows[i][0], rows[i][1]);
}

static void test_split__refuses_events(void **state)
{
	static const char *const rows[][2] = {
		{"{\"a\":1", "the server's answer ends in the middle"},
		{"{\"a\":1}\n{\"b\"", "{\"a\":1}\nthe server's answer ends in the middle"},
		{"[]", "the server's answer is not a stream of events: unexpected byte 0x5b"},
		{"<html>", "the server's answer is not a stream of events: unexpected byte 0x3c"},
		{"{\"a\":1},{}", "{\"a\":1}\nthe server's answer is not a stream of events: unexpected byte 0x2c"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_split(RH_SPLIT_EVENTS, rows[i][0], rows[i][1]);
}

static void test_split__refuses_a_zero_byte(void **state)
{
	static const char text[] = "{\"items\":[{\"a\":\0 1}]}";
	struct record record = {0};
	struct rh_error err = {0};
	rh_auto(split) split = rh_split_new(RH_SPLIT_LIST, 0, note, &record);

	(void)state;
	assert_int_equal(rh_split_feed(split, text, sizeof(text) - 1, &err), RH_EINVAL);
	assert_string_equal(err.message, "the server's answer is not JSON: it holds a zero byte");
}

/* @p before, then @p open @p depth times, one, the same number of @p close, then @p after. */
static char *nest(const char *before, char open, size_t depth, const char *after)
{
	struct rh_str text = {0};

	rh_str_append(&text, before);
	for (size_t i = 0; i < depth; i++)
		rh_str_append(&text, open == '[' ? "[" : "{\"}\\\"\":");
	rh_str_append(&text, "\"]\"");
	for (size_t i = 0; i < depth; i++)
		rh_str_append(&text, open == '[' ? "]" : "}");
	rh_str_append(&text, after);
	return rh_str_take(&text);
}

/* How many arrays and objects are within each other. */
static size_t count_depth(const struct rh_json *json)
{
	size_t depth = 0;

	while (rh_json_type(json) >= RH_JSON_ARRAY) {
		depth++;
		json = rh_json_first(json);
	}
	return depth;
}

struct depths {
	size_t count;
	size_t depth[2];
};

static int note_depth(void *arg, struct rh_json *object, struct rh_error *err)
{
	struct depths *depths = arg;

	(void)err;
	assert_true(depths->count < 2);
	depths->depth[depths->count++] = count_depth(rh_json_get(object, "a"));
	return 0;
}

/* Too deep values of one object become null; all other objects arrive unchanged. */
static void test_split__nesting_is_bounded(void **state)
{
	static const char after[] = ",\"b\":{\"c\":[1]}},{\"a\":[1]}]}";

	(void)state;
	for (size_t i = 0; i < 12; i++) {
		static const size_t levels[] = {98, 99, 100, 101, 1000, 100000};
		rh_auto_free char *text = nest("{\"items\":[{\"a\":", i % 2 ? '[' : '{', levels[i / 2], after);
		struct depths depths = {0};
		rh_auto(split) split = rh_split_new(RH_SPLIT_LIST, 0, note_depth, &depths);
		struct rh_error err = {0};

		assert_int_equal(rh_split_feed(split, text, strlen(text), &err), 0);
		assert_int_equal(rh_split_end(split, &err), 0);
		assert_int_equal(depths.count, 2);
		assert_int_equal(depths.depth[0], levels[i / 2] < 99 ? levels[i / 2] : 99);
		assert_int_equal(depths.depth[1], 1);
	}
}

/* Where nothing is kept, or what is kept is of no use, depth changes nothing. */
static void test_split__nesting_of_what_is_dropped(void **state)
{
	static const char *const rows[][2] = {
		{"{\"x\":", ",\"items\":[{\"a\":[1]}]}"},
		{"{\"metadata\":", ",\"items\":[{\"a\":[1]}]}"},
		{"{\"items\":[{\"metadata\":{\"managedFields\":", ",\"name\":\"n\"},\"a\":[1]}]}"},
	};

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		rh_auto_free char *text = nest(rows[i / 2][0], i % 2 ? '[' : '{', 200, rows[i / 2][1]);
		struct depths depths = {0};
		rh_auto(split) split = rh_split_new(RH_SPLIT_LIST, 0, note_depth, &depths);
		struct rh_error err = {0};

		support_row(rows[i / 2][0]);
		for (const char *at = text; *at; at++)
			assert_int_equal(rh_split_feed(split, at, 1, &err), 0);
		assert_int_equal(rh_split_end(split, &err), 0);
		assert_int_equal(depths.count, 1);
		assert_int_equal(depths.depth[0], 1);
	}
}

/* What texts here cannot hold, or what stands twice, in one object must not hide the others. */
static void test_split__odd_texts(void **state)
{
	static const char text[] = "{\"items\":[{\"a\":[\"\\u0000\",{\"x\\u0000\":[[1]],\"x\\ufffd\":2}]},{\"a\":[1]}]}";
	struct depths depths = {0};
	rh_auto(split) split = rh_split_new(RH_SPLIT_LIST, 0, note_depth, &depths);
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(rh_split_feed(split, text, sizeof(text) - 1, &err), 0);
	assert_int_equal(rh_split_end(split, &err), 0);
	assert_int_equal(depths.count, 2);
}

/* Feed an item whose string, dropped or not, has @p length bytes. */
static int feed_long(const char *before, size_t length, size_t limit, struct rh_error *err)
{
	struct record record = {0};
	rh_auto(split) split = rh_split_new(RH_SPLIT_LIST, limit, note, &record);
	int r = rh_split_feed(split, before, strlen(before), err);

	for (size_t i = 0; i < length && r == 0; i++)
		r = rh_split_feed(split, "x", 1, err);
	if (r == 0)
		r = rh_split_feed(split, "\"}}]}", 5, err);
	if (r == 0)
		r = rh_split_end(split, err);
	rh_str_deinit(&record.text);
	return r;
}

static void test_split__size_of_an_object_is_bounded(void **state)
{
	static const char kept[] = "{\"items\":[{\"metadata\":{\"a\":\"";
	static const char dropped[] = "{\"items\":[{\"metadata\":{\"managedFields\":\"";
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(feed_long(kept, 50, 100, &err), 0);
	assert_int_equal(feed_long(kept, 100, 100, &err), RH_EINVAL);
	assert_string_equal(err.message, "an object of the server's answer has more than 100 bytes");
	assert_int_equal(feed_long(dropped, 1000, 100, &err), 0);
	assert_int_equal(feed_long(kept, 600000, 0, &err), 0);
}

static void test_split__the_listener_can_end_it(void **state)
{
	struct record record = {.refuse = 2};
	struct rh_error err = {0};
	rh_auto(split) split = rh_split_new(RH_SPLIT_EVENTS, 0, note, &record);

	(void)state;
	assert_int_equal(rh_split_feed(split, "{}\n{}\n{}\n", 9, &err), RH_EIO);
	assert_string_equal(err.message, "enough");
	assert_int_equal(record.calls, 2);
	rh_str_deinit(&record.text);
}

static int split_all(void *arg)
{
	const char *text = arg;
	struct record record = {0};
	rh_auto(split) split = rh_split_new(RH_SPLIT_LIST, 0, note, &record);
	int r = split ? rh_split_feed(split, text, strlen(text), NULL) : RH_ENOMEM;

	rh_str_deinit(&record.text);
	return r == 0 ? rh_split_end(split, NULL) : r;
}

static void test_split__survives_out_of_memory(void **state)
{
	(void)state;
	support_fail_each(split_all,
	                  (void *)(uintptr_t)(LIST_HEAD "\"items\":[{\"metadata\":{\"name\":\"p\"," MANAGED "}}]}"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split__lists),
		cmocka_unit_test(test_split__events),
		cmocka_unit_test(test_split__may_keep_managed_fields),
		cmocka_unit_test(test_split__refuses_lists),
		cmocka_unit_test(test_split__refuses_events),
		cmocka_unit_test(test_split__refuses_a_zero_byte),
		cmocka_unit_test(test_split__nesting_is_bounded),
		cmocka_unit_test(test_split__nesting_of_what_is_dropped),
		cmocka_unit_test(test_split__odd_texts),
		cmocka_unit_test(test_split__size_of_an_object_is_bounded),
		cmocka_unit_test(test_split__the_listener_can_end_it),
		cmocka_unit_test(test_split__survives_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
