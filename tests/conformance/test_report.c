/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "conformance/board.h"
#include "conformance/report.h"

static struct rh_report_finding findings[] = {
	{.check = RH_CHECK_CRASH, .count = 3, .where = "pod(): A <&> \"B\"", .what = "pod() crashes: \x1b[31m"},
	{.check = RH_CHECK_OUTPUT, .warning = 1, .count = 1, .where = "pod()", .what = "it writes"},
};
static const struct rh_report sample = {.findings = findings, .count = 2, .plugin = "p", .file = "p.so"};

static void test_report__people_read_what_where_and_how_to_fix(void **state)
{
	rh_auto_str out = {0};

	(void)state;
	rh_report_text(&sample, false, &out);
	assert_non_null(strstr(rh_str_text(&out), "failed  crash "));
	assert_non_null(strstr(rh_str_text(&out), "pod(): A <&> \"B\" (and 2 more)\n"));
	assert_non_null(strstr(rh_str_text(&out), "        fix: every service may return NULL"));
	assert_non_null(strstr(rh_str_text(&out), "warning output "));
	assert_non_null(strstr(rh_str_text(&out), "p.so: failed: 1 failure, 1 warning;"));
	assert_null(strchr(rh_str_text(&out), '\x1b'));
}

static void test_report__colour_is_for_terminals(void **state)
{
	rh_auto_str out = {0};

	(void)state;
	rh_report_text(&sample, true, &out);
	assert_non_null(strstr(rh_str_text(&out), "\033[31mfailed "));
}

static void test_report__junit_is_xml(void **state)
{
	rh_auto_str out = {0};

	(void)state;
	rh_report_junit(&sample, &out);
	assert_non_null(strstr(rh_str_text(&out), "failures=\"1\""));
	assert_non_null(strstr(rh_str_text(&out), "pod(): A &lt;&amp;&gt; &quot;B&quot;: pod() crashes: ?[31m"));
	assert_non_null(strstr(rh_str_text(&out), "<system-out>pod(): it writes"));
}

static void test_report__equal_findings_are_counted(void **state)
{
	static struct rh_board board;

	(void)state;
	for (int i = 0; i < 100; i++)
		rh_board_add(&board, RH_CHECK_ENV, "variable %d", i % 20);
	assert_int_equal(board.count, RH_REPORT_PER_CHECK);
	assert_int_equal(board.findings[0].count, 5);
	for (int i = 0; i < 1000; i++)
		rh_board_warn(&board, (enum rh_check)(i % RH_CHECK_COUNT), "%01000d", i);
	assert_true(board.count <= RH_BOARD_FINDINGS);
	assert_int_equal(strlen(board.findings[board.count - 1].what), sizeof(board.findings[0].what) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report__people_read_what_where_and_how_to_fix),
		cmocka_unit_test(test_report__colour_is_for_terminals),
		cmocka_unit_test(test_report__junit_is_xml),
		cmocka_unit_test(test_report__equal_findings_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
