/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ini.h"
#include "base/support.h"

/* Settings are written down as "line section.key=value;" */
static int test_ini_note(void *arg, const char *section, const char *key, const char *value, int line,
                         struct rh_error *err)
{
	struct rh_str *notes = arg;

	if (strcmp(key, "bad") == 0)
		return rh_fail(err, RH_ENOENT, "no such thing as %s", value);
	rh_str_appendf(notes, "%d %s.%s=%s;", line, section, key, value);
	return 0;
}

static int test_ini_parse(const char *text, struct rh_str *notes, struct rh_error *err)
{
	rh_str_clear(notes);
	return rh_ini_parse("a.ini", text, strlen(text), test_ini_note, notes, err);
}

static void test_ini__reads(void **state)
{
	static const struct {
		const char *name, *text, *expected;
	} rows[] = {
		{"nothing", "", ""},
		{"only comments", "; a\n# b\n\n   \n", ""},
		{"a setting", "[s]\nk = v\n", "2 s.k=v;"},
		{"no newline at the end", "[s]\nk=v", "2 s.k=v;"},
		{"no section", "k=v", "1 .k=v;"},
		{"colon", "[s]\nk: v", "2 s.k=v;"},
		{"colons in a key", "[s]\nh:5/a:* = v:w\n", "2 s.h:5/a:*=v:w;"},
		{"a colon ends a key where nothing else does", "[s]\nk : v:w\n", "2 s.k=v:w;"},
		{"a colon at the start", ":k = v\n", "1 .:k=v;"},
		{"space in a key", "a b\t= v\n", "1 .a b=v;"},
		{"first separator counts", "[s]\nk = a=b:c\n", "2 s.k=a=b:c;"},
		{"empty value", "[s]\nk =\nl=\n", "2 s.k=;3 s.l=;"},
		{"spaces", "  [s]  \n\tk\t =  a b  \n", "2 s.k=a b;"},
		{"indented is no continuation", "[s]\na = 1\n  b = 2\n", "2 s.a=1;3 s.b=2;"},
		{"Windows line ends", "[s]\r\nk = v\r\n", "2 s.k=v;"},
		{"comment behind a value", "k = v ; c\nl = v # c\nm = v\t#c\n", "1 .k=v;2 .l=v;3 .m=v;"},
		{"comment instead of a value", "k = # c\n", "1 .k=;"},
		{"no comment without space", "k = a#b;c\n", "1 .k=a#b;c;"},
		{"comment behind a section", "[s] ; c\nk = v", "2 s.k=v;"},
		{"section again", "[s]\na=1\n[t]\nb=2\n[s]\nc=3", "2 s.a=1;4 t.b=2;6 s.c=3;"},
		{"key again", "k=1\nk=2", "1 .k=1;2 .k=2;"},
		{"byte order mark", "\xEF\xBB\xBF[s]\nk=v", "2 s.k=v;"},
		{"only one byte order mark", "\xEF\xBB\xBF\xEF\xBB\xBF=v", "1 .\xEF\xBB\xBF=v;"},
		{"UTF-8", "k = \xC3\xA9", "1 .k=\xC3\xA9;"},
		{"brackets in a value", "k = [x]", "1 .k=[x];"},
		{"quotes stay", "k = \"v\"", "1 .k=\"v\";"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_str notes = {0};
		struct rh_error err = {0};

		support_row(rows[i].name);
		assert_int_equal(test_ini_parse(rows[i].text, &notes, &err), 0);
		assert_string_equal(rh_str_text(&notes), rows[i].expected);
	}
}

static void test_ini__refuses(void **state)
{
	static const struct {
		const char *name, *text, *message;
	} rows[] = {
		{"no separator", "[s]\nk\n", "a.ini:2: expected \"key = value\""},
		{"no separator in the last line", "a=1\n\nk", "a.ini:3: expected"},
		{"no key", "= v", "a.ini:1: expected"},
		{"open section", "a=1\n[s\n", "a.ini:2: a section has the form [name]"},
		{"text behind a section", "[s] x\n", "a.ini:1: a section has the form [name]"},
		{"two sections in a line", "[s] [t]\n", "a.ini:1: a section has the form [name]"},
		{"long section", "[ssssssssssssssssssssssssssssssssssssssssssssssssss]",
	     "a.ini:1: a section's name has at most"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_str notes = {0};
		struct rh_error err = {0};

		support_row(rows[i].name);
		assert_int_equal(test_ini_parse(rows[i].text, &notes, &err), RH_EINVAL);
		assert_non_null(strstr(err.message, rows[i].message));
	}
}

static void test_ini__refuses_zero_bytes(void **state)
{
	struct rh_error err = {0};
	rh_auto_str notes = {0};

	(void)state;
	assert_int_equal(rh_ini_parse("a.ini", "k=\0v", 4, test_ini_note, &notes, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "a.ini: a zero byte"));
}

static void test_ini__stops_at_the_first_fault(void **state)
{
	rh_auto_str notes = {0};
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(test_ini_parse("a=1\nk\nb=2\n", &notes, &err), RH_EINVAL);
	assert_string_equal(rh_str_text(&notes), "1 .a=1;");
}

static void test_ini__the_callers_refusal_gets_its_line(void **state)
{
	rh_auto_str notes = {0};
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(test_ini_parse("a=1\n\nbad=x\nb=2\nk\n", &notes, &err), RH_ENOENT);
	assert_string_equal(err.message, "a.ini:3: no such thing as x");
	assert_string_equal(rh_str_text(&notes), "1 .a=1;");
	assert_int_equal(test_ini_parse("bad=x\n", &notes, NULL), RH_ENOENT);
}

static void test_ini__values_have_no_limit(void **state)
{
	rh_auto_str text = {0}, notes = {0};
	struct rh_error err = {0};

	(void)state;
	rh_str_append(&text, "[s]\nk = ");
	for (int i = 0; i < 10000; i++)
		rh_str_append(&text, "0123456789");
	rh_str_append(&text, "\nl = 2\n");
	assert_int_equal(test_ini_parse(rh_str_text(&text), &notes, &err), 0);
	assert_int_equal(notes.length, strlen("2 s.k=;3 s.l=2;") + 100000);
}

static void test_ini__keys_have_a_limit(void **state)
{
	rh_auto_str text = {0}, notes = {0};
	struct rh_error err = {0};

	(void)state;
	for (int i = 0; i < 150; i++)
		rh_str_append(&text, "k");
	rh_str_append(&text, "=v");
	assert_int_equal(test_ini_parse(rh_str_text(&text), &notes, &err), 0);
	assert_int_equal(notes.length, 150 + strlen("1 .=v;"));
	rh_str_clear(&text);
	for (int i = 0; i < 151; i++)
		rh_str_append(&text, "k");
	rh_str_append(&text, "=v");
	assert_int_equal(test_ini_parse(rh_str_text(&text), &notes, &err), RH_EINVAL);
	assert_string_equal(err.message, "a.ini:1: a key has at most 150 bytes");
}

static void test_ini__a_section_of_the_longest_name(void **state)
{
	rh_auto_str notes = {0};
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(test_ini_parse("[sssssssssssssssssssssssssssssssssssssssssssssssss]\nk=v", &notes, &err), 0);
	assert_int_equal(notes.length, 49 + strlen("2 .k=v;"));
}

static int test_ini_ignore(void *arg, const char *section, const char *key, const char *value, int line,
                           struct rh_error *err)
{
	(void)arg, (void)section, (void)key, (void)value, (void)line, (void)err;
	return 0;
}

static int test_ini_parse_once(void *arg)
{
	const char *text = arg;

	return rh_ini_parse("a.ini", text, strlen(text), test_ini_ignore, NULL, NULL);
}

static void test_ini__without_memory(void **state)
{
	char text[] = "[s]\nk = v\nl = a value that is a good deal longer than the room that a first allocation gives\n";

	(void)state;
	support_fail_each(test_ini_parse_once, text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ini__reads),
		cmocka_unit_test(test_ini__refuses),
		cmocka_unit_test(test_ini__refuses_zero_bytes),
		cmocka_unit_test(test_ini__stops_at_the_first_fault),
		cmocka_unit_test(test_ini__the_callers_refusal_gets_its_line),
		cmocka_unit_test(test_ini__values_have_no_limit),
		cmocka_unit_test(test_ini__keys_have_a_limit),
		cmocka_unit_test(test_ini__a_section_of_the_longest_name),
		cmocka_unit_test(test_ini__without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
