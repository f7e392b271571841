/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/screen/screen.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "random.h"

#define PLAIN "\033[0m"

static void test_screen__clean(void **state)
{
	static const struct {
		const char *name;
		const char *text;
		const char *clean;
	} rows[] = {
		{"plain", "a b\tc", "a b\tc"},
		{"UTF-8", "\xc3\xa4\xe2\x82\xac\xc2\xa0", "\xc3\xa4\xe2\x82\xac\xc2\xa0"},
		{"other bytes", "a\xff\x9b", "a\xff\x9b"},
		{"colour", "\033[1;31mx\033[m", "\033[1;31mx\033[m" PLAIN},
		{"colour with colons", "\033[38:2:1:2:3mx", "\033[38:2:1:2:3mx" PLAIN},
		{"clear", "a\033[2J\033[3Jb\033[Kc", "abc"},
		{"move", "\033[10;20Ha\033[Ab\033[1000Dc", "abc"},
		{"other screen, cursor", "\033[?1049h\033[?25lx", "x"},
		{"keyboard, not a colour", "\033[>4;2mx", "x"},
		{"question", "\033[6nx\033[cy", "xy"},
		{"title", "\033]0;evil\ax\033]0;evil\033\\y", "xy"},
		{"device control", "\033P1$qm\033\\x", "x"},
		{"string without end", "x\033]0;evil", "x"},
		{"string cut by another sequence", "\033]0;evil\033[31mx", "\033[31mx" PLAIN},
		{"reset, charset, index", "\033ca\033(0b\033Dc", "abc"},
		{"alone at the end", "x\033", "x"},
		{"cut", "x\033[12", "x"},
		{"bell, feeds",
	     "a\a\v\f\x0e\x7f"
	     "b",
	     "ab"},
		{"progress", "10%\r20%\b", "10%\r20%\b"},
		{"C1",
	     "a\xc2\x9b"
	     "2Jb\xc2\x85"
	     "c",
	     "abc"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* an exact copy, so that a sanitizer sees who reads beyond it */
		size_t length = strlen(rows[i].text);
		char *text = malloc(length);
		rh_auto_str clean = {0};

		memcpy(text, rows[i].text, length);
		rh_screen_clean(text, length, &clean);
		free(text);
		if (strcmp(rh_str_text(&clean), rows[i].clean) != 0)
			fail_msg("%s: \"%s\"", rows[i].name, rh_str_text(&clean));
	}
}

/* Whatever comes, no escape character but those of colours is left. */
static void test_screen__any_bytes(void **state)
{
	static const char alphabet[] = {'\033', '[', ']', 'm', ';', '1', '\\', '\a', 'J', '\xc2', '\x9b', '(', '?', '\0'};
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		char text[16];
		rh_auto_str clean = {0};

		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = alphabet[test_random_below(&seed, sizeof(alphabet))];
		rh_screen_clean(text, sizeof(text), &clean);
		for (size_t i = 0; i < clean.length; i++) {
			if (clean.data[i] != '\033')
				continue;
			assert_true(i + 2 < clean.length && clean.data[i + 1] == '[');
			for (i += 2; clean.data[i] != 'm'; i++)
				assert_non_null(strchr("0123456789;:", clean.data[i]));
		}
	}
}

static void test_screen__no_terminal_has_no_width(void **state)
{
	(void)state;
	assert_int_equal(rh_screen_width(-1), 0);
}

static void test_screen__fit(void **state)
{
	static const struct {
		const char *text;
		size_t columns;
		const char *row;
	} rows[] = {
		{"abc", 8, "abc"},
		{"abcdef", 3, "abc"},
		{"abc", 0, ""},
		{"\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88", 2, "\xe2\x96\x88\xe2\x96\x88"},
		{"\033[31mred\033[0m!", 2, "\033[31mre\033[0m" PLAIN},
		{"a\tb\bc\rd", 8, "a bcd"},
		{"a\033[2Jb", 8, "ab"},
		{"\xff\xfe", 1, "\xff"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_str row = {0};

		rh_screen_fit(rows[i].text, strlen(rows[i].text), rows[i].columns, &row);
		assert_string_equal(rh_str_text(&row), rows[i].row);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_screen__clean),
		cmocka_unit_test(test_screen__fit),
		cmocka_unit_test(test_screen__any_bytes),
		cmocka_unit_test(test_screen__no_terminal_has_no_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
