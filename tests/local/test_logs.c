/* SPDX-License-Identifier: Apache-2.0 */
#include "local/logs.h"

#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/clock.h"
#include "base/os/file.h"
#include "local/scratch.h"

/* Received lines, each in brackets; long ones as their length. */
static void take_line(void *arg, const char *text, size_t length)
{
	struct rh_str *seen = arg;

	if (length > 100) {
		rh_str_appendf(seen, "[#%zu]", length);
		return;
	}
	rh_str_append(seen, "[");
	rh_str_append_bytes(seen, text, length);
	rh_str_append(seen, "]");
}

struct fixture {
	char *folder;
	struct rh_log log;
	struct rh_str seen;
};

static int set_up(void **state)
{
	struct fixture *fixture = rh_alloc(sizeof(*fixture));

	fixture->folder = test_scratch();
	fixture->log.path = rh_path_join(fixture->folder, "a.log");
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	rh_log_deinit(&fixture->log);
	rh_str_deinit(&fixture->seen);
	test_scratch_remove(fixture->folder);
	rh_free(fixture);
	return 0;
}

static void write_text(struct fixture *fixture, const char *text)
{
	test_scratch_append(fixture->folder, "a.log", text, strlen(text));
}

static void write_many(struct fixture *fixture, char byte, size_t count)
{
	rh_auto_free char *text = rh_alloc(count);

	memset(text, byte, count);
	test_scratch_append(fixture->folder, "a.log", text, count);
}

static void expect_read(struct fixture *fixture, const char *wanted)
{
	while (rh_log_read(&fixture->log, 1 << 20, take_line, &fixture->seen))
		;
	assert_string_equal(rh_str_text(&fixture->seen), wanted);
	rh_str_clear(&fixture->seen);
}

static void test_logs__missing_file_has_no_lines(void **state)
{
	struct fixture *fixture = *state;

	expect_read(fixture, "");
	assert_int_equal(rh_log_size(fixture->log.path), 0);
}

static void test_logs__lines_as_they_come(void **state)
{
	struct fixture *fixture = *state;

	write_text(fixture, "one\ntwo\n");
	expect_read(fixture, "[one][two]");
	write_text(fixture, "thr");
	expect_read(fixture, "");
	write_text(fixture, "ee\n\nfo");
	expect_read(fixture, "[three][]");
	rh_log_flush(&fixture->log, take_line, &fixture->seen);
	expect_read(fixture, "[fo]");
	rh_log_flush(&fixture->log, take_line, &fixture->seen);
	expect_read(fixture, "");
	assert_int_equal(rh_log_size(fixture->log.path), 17);
}

static void test_logs__long_lines_come_in_pieces(void **state)
{
	struct fixture *fixture = *state;

	write_many(fixture, 'x', RH_LOG_LINE_MAX);
	write_text(fixture, "\n");
	expect_read(fixture, "[#65536]");
	write_many(fixture, 'y', 2 * RH_LOG_LINE_MAX + 5);
	expect_read(fixture, "[#65555][#65555]"); /* with RH_LOG_SPLIT */
	write_text(fixture, "\n");
	expect_read(fixture, "[yyyyy]");
}

static void test_logs__bytes_are_not_changed(void **state)
{
	static const char bytes[] = "a\0b\xff\r\n";
	struct fixture *fixture = *state;

	test_scratch_append(fixture->folder, "a.log", bytes, sizeof(bytes) - 1);
	(void)rh_log_read(&fixture->log, 100, take_line, &fixture->seen);
	assert_int_equal(fixture->seen.length, 7);
	assert_memory_equal(fixture->seen.data, "[a\0b\xff\r]", 7);
}

static void test_logs__budget_bounds_one_read(void **state)
{
	struct fixture *fixture = *state;
	int reads = 1;

	for (int i = 0; i < 30000; i++)
		write_text(fixture, i % 2 ? "b\n" : "aaaaaaaa");
	while (rh_log_read(&fixture->log, 1, take_line, &fixture->seen))
		reads++;
	assert_true(reads > 3);
	assert_int_equal(fixture->log.offset, 150000);
	assert_int_equal(fixture->seen.length, 15000 * strlen("[aaaaaaaab]"));
}

/* One file and what its last lines are. */
struct tail_row {
	const char *name;
	const char *text;
	int64_t from;
	size_t limit;
	const char *wanted;
	int64_t to; /* 0: the end of the file */
};

static const struct tail_row tail_rows[] = {
	{"empty", "", 0, 100, "", 0},
	{"all of a short file", "one\ntwo\n", 0, 100, "one\ntwo", 0},
	{"no newline at the end", "one\ntwo", 0, 100, "one\ntwo", 0},
	{"several newlines at the end", "one\n\n\n", 0, 100, "one", 0},
	{"only what came after", "old\nnew\n", 4, 100, "new", 0},
	{"whole lines", "first line\nsecond\nthird\n", 0, 14, "second\nthird", 0},
	{"a last line that is too long", "0123456789", 0, 6, "456789", 0},
	{"characters are not cut", "\xc3\xa4\xc3\xb6\xc3\xbc", 0, 6, "\xc3\xbc", 0},
	{"a lone byte of a character", "a\xff\x62", 0, 100,
     "a\xef\xbf\xbd"
     "b",
     0},
	{"start beyond the end", "abc", 10, 100, "", 0},
	{"only what came before", "old\nnew\n", 0, 100, "old", 4},
	{"only what came between", "first\nold\nnew\n", 6, 100, "old", 10},
	{"the last lines before", "first\nold\nnew\n", 0, 4, "old", 10},
	{"an end beyond that of the file", "old\n", 0, 100, "old", 1000},
};

static void test_logs__tail(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(tail_rows) / sizeof(tail_rows[0]); i++) {
		const struct tail_row *row = &tail_rows[i];
		rh_auto_free char *path = rh_path_join(fixture->folder, row->name);
		rh_auto_str out = {0};

		test_scratch_append(fixture->folder, row->name, row->text, strlen(row->text));
		rh_log_tail(path, row->from, row->to ? row->to : RH_NEVER, row->limit, &out);
		if (strcmp(rh_str_text(&out), row->wanted) != 0)
			fail_msg("%s: \"%s\" is not \"%s\"", row->name, rh_str_text(&out), row->wanted);
	}
}

static void test_logs__tail_is_bounded_text(void **state)
{
	struct fixture *fixture = *state;

	write_many(fixture, (char)0xff, 10000);
	write_text(fixture, "\nx\n");
	for (size_t limit = 1; limit < 3000; limit += 37) {
		rh_auto_str out = {0};
		size_t at = 0;

		rh_log_tail(fixture->log.path, 0, RH_NEVER, limit, &out);
		assert_true(out.length <= limit);
		while (at < out.length) {
			size_t step = rh_utf8_length(out.data + at, out.length - at);

			assert_true(step > 0);
			at += step;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_logs__missing_file_has_no_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_logs__lines_as_they_come, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_logs__long_lines_come_in_pieces, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_logs__bytes_are_not_changed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_logs__budget_bounds_one_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_logs__tail, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_logs__tail_is_bounded_text, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("local/logs", tests, NULL, NULL);
}
