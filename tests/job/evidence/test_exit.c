/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "job/evidence/exit.h"

struct exit_row {
	int32_t code;
	int signal;
	bool retryable;
};

static const struct exit_row exit_rows[] = {
	{0, 0, false},  {1, 0, false},    {127, 0, false}, {128, 0, true},       {129, 1, true},       {130, 2, true},
	{137, 9, true}, {139, 11, true},  {143, 15, true}, {159, 31, true},      {160, 0, true},       {255, 0, true},
	{-1, 0, true},  {48879, 0, true}, {9, 0, false},   {INT32_MAX, 0, true}, {INT32_MIN, 0, true},
};

static void test_exit__codes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(exit_rows) / sizeof(exit_rows[0]); i++) {
		assert_int_equal(rh_exit_signal(exit_rows[i].code), exit_rows[i].signal);
		assert_int_equal(rh_exit_retryable(exit_rows[i].code), exit_rows[i].retryable);
	}
}

static void test_exit__in_words(void **state)
{
	static const struct {
		int32_t code;
		const char *reason;
		const char *words;
	} rows[] = {
		{1, "Error", "exited with code 1"},
		{0, "Completed", "exited with code 0"},
		{137, "Error", "exited with code 137 (SIGKILL)"},
		{137, "OOMKilled", "exited with code 137 (SIGKILL, OOMKilled)"},
		{128, "StartError", "exited with code 128 (StartError)"},
		{-1, "Evicted", "failed (Evicted)"},
		{-1, "", "failed (no exit code is known)"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_str words = {0};

		rh_exit_print(rows[i].code, rows[i].reason, &words);
		assert_string_equal(rh_str_text(&words), rows[i].words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit__codes),
		cmocka_unit_test(test_exit__in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
