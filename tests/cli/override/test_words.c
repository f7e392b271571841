/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/override/words.h"

#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/mem.h"

static void test_words__split(void **state)
{
	static const char *const rows[][2] = {
		{"", "[]"},
		{"  \t ", "[]"},
		{"--lr 0.1", "[\"--lr\",\"0.1\"]"},
		{" a\tb\nc ", "[\"a\",\"b\",\"c\"]"},
		{"'a b' c", "[\"a b\",\"c\"]"},
		{"\"a b\"'c d'e", "[\"a bc de\"]"},
		{"'' \"\"", "[\"\",\"\"]"},
		{"a\\ b \\\\ \\'", "[\"a b\",\"\\\\\",\"'\"]"},
		{"\"a\\\"b\\n\" '\\'", "[\"a\\\"b\\\\n\",\"\\\\\"]"},
		{"$HOME *", "[\"$HOME\",\"*\"]"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) words = NULL;
		rh_auto_free char *text = NULL;

		assert_int_equal(rh_words_split(rows[i][0], &words, NULL), 0);
		text = rh_json_text(words);
		assert_string_equal(text, rows[i][1]);
	}
}

static void test_words__a_quote_without_an_end(void **state)
{
	static const char *const rows[] = {"'a", "a \"b", "\"a\\\""};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_json *words = NULL;
		struct rh_error err = {0};

		assert_int_equal(rh_words_split(rows[i], &words, &err), RH_EINVAL);
		assert_non_null(strstr(err.message, "has a quote without an end"));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words__split),
		cmocka_unit_test(test_words__a_quote_without_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
