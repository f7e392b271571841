/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"
#include "base/support.h"

static void test_str__append(void **state)
{
	rh_auto_str str = {0};

	(void)state;
	assert_string_equal(rh_str_text(&str), "");
	rh_str_append(&str, "ab");
	rh_str_append_bytes(&str, "cde", 2);
	rh_str_appendf(&str, "%d%s", 12, "x");
	assert_string_equal(rh_str_text(&str), "abcd12x");
	assert_int_equal(str.length, 7);
	assert_false(str.failed);
}

static void test_str__append_nothing_makes_an_empty_text(void **state)
{
	rh_auto_str str = {0};

	(void)state;
	rh_str_append(&str, "");
	assert_non_null(str.data);
	assert_string_equal(str.data, "");
}

static void test_str__grows_over_every_length(void **state)
{
	rh_auto_str str = {0};

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		rh_str_append(&str, "x");
		assert_int_equal(strlen(rh_str_text(&str)), i + 1);
		assert_true(str.capacity > str.length);
	}
}

static void test_str__formatted_text_longer_than_the_room(void **state)
{
	rh_auto_str str = {0};

	(void)state;
	rh_str_append(&str, "ab");
	rh_str_appendf(&str, "%0500d", 7);
	assert_int_equal(str.length, 502);
	assert_string_equal(str.data + 498, "0007");
}

static void test_str__keeps_zero_bytes(void **state)
{
	rh_auto_str str = {0};

	(void)state;
	rh_str_append_bytes(&str, "a\0b", 3);
	assert_int_equal(str.length, 3);
	assert_memory_equal(str.data, "a\0b\0", 4);
}

static void test_str__clear_keeps_the_room(void **state)
{
	rh_auto_str str = {0};
	size_t capacity;

	(void)state;
	rh_str_append(&str, "text");
	capacity = str.capacity;
	rh_str_clear(&str);
	assert_string_equal(rh_str_text(&str), "");
	assert_int_equal(str.length, 0);
	assert_int_equal(str.capacity, capacity);
}

static void test_str__cut(void **state)
{
	rh_auto_str str = {0};

	(void)state;
	rh_str_cut(&str, 0);
	rh_str_cut(&str, 3);
	assert_string_equal(rh_str_text(&str), "");
	rh_str_append(&str, "text");
	rh_str_cut(&str, 5);
	assert_string_equal(rh_str_text(&str), "text");
	rh_str_cut(&str, 2);
	rh_str_append(&str, "a");
	assert_string_equal(rh_str_text(&str), "tea");
	rh_str_cut(&str, 0);
	assert_string_equal(rh_str_text(&str), "");
}

static void test_str__take(void **state)
{
	struct rh_str str = {0};
	rh_auto_free char *empty = rh_str_take(&str);
	rh_auto_free char *text = NULL;

	(void)state;
	assert_string_equal(empty, "");
	rh_str_append(&str, "text");
	text = rh_str_take(&str);
	assert_string_equal(text, "text");
	assert_null(str.data);
	assert_int_equal(str.length, 0);
}

static void test_str__failure_sticks_until_cleared(void **state)
{
	rh_auto_str str = {0};

	(void)state;
	rh_str_append(&str, "kept");
	rh_mem_fail_after(0);
	rh_str_appendf(&str, "%0500d", 7);
	rh_mem_fail_after(-1);
	assert_true(str.failed);
	rh_str_append(&str, "x");
	assert_string_equal(rh_str_text(&str), "");
	assert_int_equal(str.length, 4);
	rh_str_clear(&str);
	rh_str_append(&str, "y");
	assert_string_equal(rh_str_text(&str), "y");
}

static void test_str__take_reports_failure_and_empties(void **state)
{
	struct rh_str str = {0};
	rh_auto_free char *text = NULL;

	(void)state;
	rh_mem_fail_after(0);
	rh_str_append(&str, "x");
	rh_mem_fail_after(-1);
	assert_null(rh_str_take(&str));
	assert_false(str.failed);
	rh_str_append(&str, "y");
	text = rh_str_take(&str);
	assert_string_equal(text, "y");
}

static void test_str__lengths_that_overflow_fail(void **state)
{
	rh_auto_str str = {0};

	(void)state;
	rh_str_append(&str, "x");
	rh_str_append_bytes(&str, "", SIZE_MAX);
	assert_true(str.failed);
	rh_str_clear(&str);
	rh_str_append_bytes(&str, "", SIZE_MAX / 2);
	assert_true(str.failed);
}

static void test_str__ends_with(void **state)
{
	(void)state;
	assert_true(rh_ends_with("mpi.so", ".so"));
	assert_false(rh_ends_with(".so", ".so"));
	assert_false(rh_ends_with("mpi.so.1", ".so"));
	assert_false(rh_ends_with("o", ".so"));
}

static void test_str__starts_with(void **state)
{
	(void)state;
	assert_true(rh_starts_with("worker-0", "worker-"));
	assert_true(rh_starts_with("worker", "worker"));
	assert_true(rh_starts_with("", ""));
	assert_false(rh_starts_with("work", "worker"));
	assert_false(rh_starts_with("Worker", "worker"));
}

static void test_str__text_equal(void **state)
{
	(void)state;
	assert_true(rh_text_equal(NULL, NULL));
	assert_true(rh_text_equal("a", "a"));
	assert_false(rh_text_equal("a", "b"));
	assert_false(rh_text_equal(NULL, ""));
	assert_false(rh_text_equal("", NULL));
}

static void test_str__copy_truncates(void **state)
{
	char room[4] = "zzz";

	(void)state;
	rh_copy(room, sizeof(room), "ab");
	assert_string_equal(room, "ab");
	rh_copy(room, sizeof(room), "abcdef");
	assert_string_equal(room, "abc");
	rh_copy(room, 1, "x");
	assert_string_equal(room, "");
	room[0] = 'k';
	rh_copy(room, 0, "x");
	assert_int_equal(room[0], 'k');
}

static void test_str__utf8_length(void **state)
{
	static const struct {
		const char *name, *text;
		size_t length, expected;
	} rows[] = {
		{"nothing", "", 0, 0},
		{"ASCII", "ab", 2, 1},
		{"zero byte", "\0", 1, 1},
		{"two bytes", "\xC3\xA9", 2, 2},
		{"three bytes", "\xE2\x82\xAC", 3, 3},
		{"four bytes", "\xF0\x9F\x98\x80", 4, 4},
		{"last code point", "\xF4\x8F\xBF\xBF", 4, 4},
		{"beyond the last", "\xF4\x90\x80\x80", 4, 0},
		{"lone continuation", "\x80", 1, 0},
		{"overlong two", "\xC1\x81", 2, 0},
		{"overlong three", "\xE0\x9F\xBF", 3, 0},
		{"first of three", "\xE0\xA0\x80", 3, 3},
		{"overlong four", "\xF0\x8F\xBF\xBF", 4, 0},
		{"surrogate", "\xED\xA0\x80", 3, 0},
		{"before surrogates", "\xED\x9F\xBF", 3, 3},
		{"cut", "\xE2\x82", 2, 0},
		{"cut by length", "\xE2\x82\xAC", 2, 0},
		{"bad third byte", "\xE2\x82\x41", 3, 0},
		{"bad fourth byte", "\xF0\x9F\x98\xC0", 4, 0},
		{"five-byte lead", "\xF8\x88\x80\x80\x80", 5, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		support_row(rows[i].name);
		assert_int_equal(rh_utf8_length(rows[i].text, rows[i].length), rows[i].expected);
	}
}

static void test_str__nearest(void **state)
{
	static const char *const fields[] = {"replicas", "restartPolicy", "template", "image", "tty"};
	static const struct {
		const char *word, *expected;
	} rows[] = {
		{"replica", "replicas"},
		{"Replicas", "replicas"},
		{"restartpolicy", "restartPolicy"},
		{"restartPolciy", "restartPolicy"},
		{"templat", "template"},
		{"tempalte", "template"},
		{"imgae", "image"},
		{"imige", "image"},
		{"imxxe", NULL},
		{"ty", NULL},
		{"tyt", "tty"},
		{"", NULL},
		{"somethingelse", NULL},
		{"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *found = rh_nearest(rows[i].word, fields, sizeof(fields) / sizeof(fields[0]));

		support_row(rows[i].word);
		assert_true(rh_text_equal(found, rows[i].expected));
	}
}

static void test_str__words_have(void **state)
{
	static const struct {
		const char *words, *word;
		bool has;
	} rows[] = {
		{"one", "one", true},     {"one|two", "two", true},      {"one|two", "one", true},
		{"one|two", "on", false}, {"one|two", "ne", false},      {"one|two", "", false},
		{"one||two", "", true},   {"one|two", "one|two", false}, {"", "one", false},
		{NULL, "one", false},     {"one|twofold", "two", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(rh_words_have(rows[i].words, '|', rows[i].word, strlen(rows[i].word)), rows[i].has);
}

/* What others wrote stays one line, and is cut behind a whole character. */
static void test_str__append_line(void **state)
{
	static const struct {
		const char *text;
		size_t most;
		const char *line;
	} rows[] = {
		{"", 5, ""},
		{"error", 5, "error"},
		{"a\n\033[2Jb", 20, "a  [2Jb"},
		{"errors", 5, "error..."},
		{"caf\xc3\xa9", 4, "caf..."},
		{"caf\xc3\xa9", 5, "caf\xc3\xa9"},
		{"\xa9\xa9\xa9", 2, "..."},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_str line = {0};

		rh_str_append_line(&line, rows[i].text, strlen(rows[i].text), rows[i].most);
		assert_string_equal(rh_str_text(&line), rows[i].line);
	}
}

static void test_str__nearest_prefers_the_nearer_then_the_first(void **state)
{
	static const char *const words[] = {"workers", "worker", "workex"};
	static const char *const much_too_long[] = {
		"workerworkerworkerworkerworkerworkerworkerworkerworkerworkerworkerworkerworker"};

	(void)state;
	assert_string_equal(rh_nearest("worker", words, 3), "worker");
	assert_string_equal(rh_nearest("workez", words, 3), "worker");
	assert_null(rh_nearest("worker", much_too_long, 1));
	assert_null(rh_nearest("worker", NULL, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_str__append),
		cmocka_unit_test(test_str__append_nothing_makes_an_empty_text),
		cmocka_unit_test(test_str__grows_over_every_length),
		cmocka_unit_test(test_str__formatted_text_longer_than_the_room),
		cmocka_unit_test(test_str__keeps_zero_bytes),
		cmocka_unit_test(test_str__clear_keeps_the_room),
		cmocka_unit_test(test_str__cut),
		cmocka_unit_test(test_str__take),
		cmocka_unit_test(test_str__failure_sticks_until_cleared),
		cmocka_unit_test(test_str__take_reports_failure_and_empties),
		cmocka_unit_test(test_str__lengths_that_overflow_fail),
		cmocka_unit_test(test_str__starts_with),
		cmocka_unit_test(test_str__ends_with),
		cmocka_unit_test(test_str__text_equal),
		cmocka_unit_test(test_str__copy_truncates),
		cmocka_unit_test(test_str__utf8_length),
		cmocka_unit_test(test_str__append_line),
		cmocka_unit_test(test_str__words_have),
		cmocka_unit_test(test_str__nearest),
		cmocka_unit_test(test_str__nearest_prefers_the_nearer_then_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
