/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "job/cel/regex/regex.h"

struct row {
	const char *pattern;
	const char *match;    /* NULL: nothing matches */
	const char *mismatch; /* NULL: everything matches */
};

static const struct row rows[] = {
	{"", "", NULL},
	{"^$", "", "a"},
	{"a", "xax", "b"},
	{"^(ab|cd)*$", "abcdab", "abc"},
	{"^a?b+c*$", "bbb", "aac"},
	{"^a{2}$", "aa", "aaa"},
	{"^a{2,}$", "aaaa", "a"},
	{"^a{0,2}$", "", "aaa"},
	{"^a{,2}$", "a{,2}", "aa"},
	{"^(a|)+$", "aaa", "b"},
	{"^(a*)*$", "", "b"},
	{"^[]a-]+$", "]-a", "b"},
	{"^[^]a]$", "b", "]"},
	{"^[\\d_]+$", "1_2", "a"},
	{"^[^\\d]+$", "ab", "a1"},
	{"^[\\D]$", "a", "1"},
	{"^\\W$", "-", "_"},
	{"^\\s$", "\t", "\v"},
	{"^[[:alpha:][:^space:]]$", "a", " "},
	{"^.$", "\xE2\x82\xAC", "\n"},
	{"(?s)^.$", "\n", "ab"},
	{"(?m)^b$", "a\nb\nc", "a b"},
	{"^b$", "b", "a\nb"},
	{"(?i)^a[b]$", "AB", "AC"},
	{"^(?i:a)b$", "Ab", "AB"},
	{"^(?P<name>a)(?:b)$", "ab", "a"},
	{"\\bab\\b", "x ab y", "xaby"},
	{"^\\x41\\x{e4}$", "A\xC3\xA4", "A"},
	{"\\A\\.\\z", ".", "a"},
	{"^a*?b$", "aab", "aa"},
	{"x*", "", NULL},
	{"^\xC3\xA4+$", "\xC3\xA4\xC3\xA4", "\xC3"},
};

static const char *const broken[] = {
	"(",       ")",        "[",      "[a",     "[z-a]", "*",       "a**",   "a{2}{3}", "a{1001}",
	"a{3,2}",  "\\",       "\\1",    "\\p{L}", "\\Q",   "\\C",     "(?=a)", "(?!a)",   "(?<=a)",
	"(?P<>a)", "[[:no:]]", "\\x{z}", "(?q)",   "(?P<a", "[a-\\d]", "\\x1g", "a|*",     "(a",
};

static bool search(const char *pattern, const char *text)
{
	rh_auto(regex) regex = NULL;
	struct rh_error err = {0};
	bool found = false;

	if (rh_regex_compile(pattern, strlen(pattern), &regex, &err) != 0)
		fail_msg("%s: %s", pattern, err.message);
	assert_int_equal(rh_regex_search(regex, text, strlen(text), &found), 0);
	return found;
}

static void test_regex__rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if ((rows[i].match && !search(rows[i].pattern, rows[i].match)) ||
		    (rows[i].mismatch && search(rows[i].pattern, rows[i].mismatch)))
			fail_msg("%s", rows[i].pattern);
	}
}

static void test_regex__broken(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
		rh_auto(regex) regex = NULL;
		struct rh_error err = {0};

		if (rh_regex_compile(broken[i], strlen(broken[i]), &regex, &err) != RH_EINVAL)
			fail_msg("%s is taken", broken[i]);
		assert_non_null(strstr(err.message, "regular expression: "));
	}
}

/* What Go's regexp finds. */
static const struct {
	const char *pattern, *text;
	const char *match; /* NULL: nothing */
	size_t from, start;
} found_rows[] = {
	{"b+", "abbbc", "bbb", 0, 1},
	{"b+?", "abbbc", "b", 0, 1},
	{"b*", "abbbc", "", 0, 0},
	{"b*", "abbbc", "bbb", 1, 1},
	{"b??c", "abbc", "bc", 0, 2},
	{"a|ab", "xab", "a", 0, 1},
	{"ab|a", "xab", "ab", 0, 1},
	{"(?:a|ab)(?:c|bcd)", "abcd", "abcd", 0, 0},
	{"(?:a|ab)(?:c|bcd)?", "abcd", "abcd", 0, 0},
	{"(?:a|ab)(?:c|bcd)??", "abcd", "a", 0, 0},
	{"(|a)*", "aa", "", 0, 0},
	{"(|a)+", "aa", "", 0, 0},
	{"(a|)+", "aab", "aa", 0, 0},
	{"(a*)*", "aab", "aa", 0, 0},
	{"(a*)+", "aab", "aa", 0, 0},
	{"(a*?)*", "aab", "", 0, 0},
	{"a{1,2}", "aaa", "aa", 0, 0},
	{"a{1,2}?", "aaa", "a", 0, 0},
	{"a{2,}", "aaaa", "aaaa", 0, 0},
	{"a{2,}?", "aaaa", "aa", 0, 0},
	{"(?U)a+", "aaa", "a", 0, 0},
	{"(?U)a+?", "aaa", "aaa", 0, 0},
	{"a.*c", "abcabc", "abcabc", 0, 0},
	{"a.*?c", "abcabc", "abc", 0, 0},
	{"a.*?c", "abcabc", "abc", 1, 3},
	{"^b", "ab", NULL, 1, 0},
	{"\\bb", "ab b", "b", 1, 3},
	{"\\Bb", "ab b", "b", 1, 1},
	{"(?m)^b", "a\nb", "b", 2, 2},
	{"c$", "cc", "c", 0, 1},
	{"x", "abc", NULL, 0, 0},
	{"$", "abc", "", 0, 3},
	{"\xC3\xA4+", "a\xC3\xA4\xC3\xA4z", "\xC3\xA4\xC3\xA4", 0, 1},
	{"abcd|bc", "abcx", "bc", 0, 1},
	{"abcd|b", "abcabcd", "b", 0, 1},
};

static void test_regex__finds(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(found_rows) / sizeof(*found_rows); i++) {
		const char *pattern = found_rows[i].pattern, *text = found_rows[i].text, *wanted = found_rows[i].match;
		struct rh_regex_match match = {.from = found_rows[i].from};
		rh_auto(regex) regex = NULL;
		bool found = false;

		assert_int_equal(rh_regex_compile(pattern, strlen(pattern), &regex, NULL), 0);
		assert_int_equal(rh_regex_find(regex, text, strlen(text), &match, &found), 0);
		if (found != (wanted != NULL) ||
		    (found && (match.start != found_rows[i].start || match.end - match.start != strlen(wanted) ||
		               memcmp(text + match.start, wanted, strlen(wanted)) != 0)))
			fail_msg("%s in %s: %d, from %zu to %zu", pattern, text, found, match.start, match.end);
	}
}

/* What takes a program that goes back for ever takes no longer than any other text. */
static void test_regex__takes_linear_time(void **state)
{
	char text[4096];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_false(search("^(a+)+$b", text));
	assert_false(search("^(a|aa)+(a|aa)+(a|aa)+b$", text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_regex__rows),
		cmocka_unit_test(test_regex__broken),
		cmocka_unit_test(test_regex__finds),
		cmocka_unit_test(test_regex__takes_linear_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
