/* SPDX-License-Identifier: Apache-2.0 */
#include <ftw.h>
#include <stdio.h>

#include "base/os/file.h"
#include "base/support.h"
#include "base/yaml.h"

/* Check that a tree, printed as YAML, reads back as the same tree. */
static void check_reads_back(const struct rh_json *json)
{
	rh_auto_str text = {0};
	rh_auto(json) documents = NULL;
	struct rh_error err = {0};

	assert_int_equal(rh_yaml_print(json, &text), 0);
	if (rh_yaml_parse(text.data, text.length, &documents, &err) < 0)
		fail_msg("%s\n%s", err.message, text.data);
	assert_int_equal(rh_json_size(documents), 1);
	if (!rh_json_equal(rh_json_first(documents), json))
		fail_msg("reads back as something else:\n%s", text.data);
}

/* Check a string as a whole document, a value, an item, an item of an item, and a key. */
static void check_string_reads_back(const char *text)
{
	rh_auto(json) json = rh_json_new_object();
	struct rh_json *list = rh_json_ensure_array(json, "list");
	struct rh_json *inner = rh_json_new_array();
	rh_auto(json) alone = rh_json_new_string(text);

	assert_int_equal(rh_json_append(inner, rh_json_new_string(text)), 0);
	assert_int_equal(rh_json_append(inner, rh_json_new_string(text)), 0);
	assert_int_equal(rh_json_append(list, rh_json_new_string(text)), 0);
	assert_int_equal(rh_json_append(list, inner), 0);
	assert_int_equal(rh_json_set_string(json, "value", text), 0);
	assert_int_equal(rh_json_set_string(json, text, text), 0);
	assert_int_equal(rh_json_set(rh_json_ensure_object(json, "below"), text, rh_json_copy(json)), 0);
	check_reads_back(alone);
	check_reads_back(json);
}

static void check_prints(const char *json_text, const char *expected)
{
	rh_auto(json) json = support_json(json_text);
	rh_auto_str text = {0};

	assert_int_equal(rh_yaml_print(json, &text), 0);
	assert_string_equal(rh_str_text(&text), expected);
	check_reads_back(json);
}

static void test_print__shape(void **state)
{
	(void)state;
	check_prints("{\"a\":{\"b\":1,\"c\":{\"d\":true}},\"e\":null}", "a:\n"
	                                                                "  b: 1\n"
	                                                                "  c:\n"
	                                                                "    d: true\n"
	                                                                "e: null\n");
	check_prints("{\"a\":[\"x\",{\"b\":1,\"c\":[2]},[3,[4,5]],[],{}]}", "a:\n"
	                                                                    "- x\n"
	                                                                    "- b: 1\n"
	                                                                    "  c:\n"
	                                                                    "  - 2\n"
	                                                                    "- - 3\n"
	                                                                    "  - - 4\n"
	                                                                    "    - 5\n"
	                                                                    "- []\n"
	                                                                    "- {}\n");
	check_prints("[]", "[]\n");
	check_prints("{}", "{}\n");
	check_prints("\"x\"", "x\n");
	check_prints("null", "null\n");
	check_prints("-1.5", "-1.5\n");
	check_prints("{\"a\":[],\"b\":{}}", "a: []\nb: {}\n");
}

static void test_print__as_kubectl_does(void **state)
{
	(void)state;
	check_prints("{\"apiVersion\":\"kubeflow.org/v1\",\"metadata\":{\"annotations\":{\"a.b/c\":\"{\\\"x\\\":1}\"}},"
	             "\"spec\":{\"containers\":[{\"args\":[\"--epochs\",\"5\",\"-c\",\"a: b\"],\"image\":\"x:1.0\"}]}}",
	             "apiVersion: kubeflow.org/v1\n"
	             "metadata:\n"
	             "  annotations:\n"
	             "    a.b/c: '{\"x\":1}'\n"
	             "spec:\n"
	             "  containers:\n"
	             "  - args:\n"
	             "    - --epochs\n"
	             "    - \"5\"\n"
	             "    - -c\n"
	             "    - 'a: b'\n"
	             "    image: x:1.0\n");
}

static void test_print__strings(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"text", "text\n"},
		{"two words", "two words\n"},
		{"4Gi", "4Gi\n"},
		{"10.0.0.1", "10.0.0.1\n"},
		{"1.2.3", "1.2.3\n"},
		{"-x", "-x\n"},
		{"a#b", "a#b\n"},
		{"a:b", "a:b\n"},
		{"http://x:80/", "http://x:80/\n"},
		{"$(VAR)", "$(VAR)\n"},
		{"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\n"},
		{"", "\"\"\n"},
		{"12", "\"12\"\n"},
		{"0x1f", "\"0x1f\"\n"},
		{"1e3", "\"1e3\"\n"},
		{".5", "\".5\"\n"},
		{"1_000", "\"1_000\"\n"},
		{"true", "\"true\"\n"},
		{"no", "\"no\"\n"},
		{"y", "\"y\"\n"},
		{"null", "\"null\"\n"},
		{"~", "\"~\"\n"},
		{".inf", "\".inf\"\n"},
		{"2026-11-21", "\"2026-11-21\"\n"},
		{"2026-11-21T10:00:00Z", "\"2026-11-21T10:00:00Z\"\n"},
		{"12:30:45", "\"12:30:45\"\n"},
		{"<<", "\"<<\"\n"},
		{"=", "\"=\"\n"},
		{"a: b", "'a: b'\n"},
		{"a:", "'a:'\n"},
		{"a #b", "'a #b'\n"},
		{"#a", "'#a'\n"},
		{"-", "'-'\n"},
		{"- a", "'- a'\n"},
		{"?", "'?'\n"},
		{":", "':'\n"},
		{"*a", "'*a'\n"},
		{"&a", "'&a'\n"},
		{"!a", "'!a'\n"},
		{"@a", "'@a'\n"},
		{"`a", "'`a'\n"},
		{"%a", "'%a'\n"},
		{"[a]", "'[a]'\n"},
		{"{a}", "'{a}'\n"},
		{"it's", "it's\n"},
		{"'a", "'''a'\n"},
		{" a", "' a'\n"},
		{"a ", "'a '\n"},
		{"---", "'---'\n"},
		{"... a", "'... a'\n"},
		{"a\tb", "\"a\\tb\"\n"},
		{"a\x01\x7F", "\"a\\x01\\x7F\"\n"},
		{"\xC2\x85", "\"\\x85\"\n"},
		{"\xE2\x80\xA8", "\"\\u2028\"\n"},
		{"\xEF\xBB\xBF", "\"\\uFEFF\"\n"},
		{"\xEF\xBF\xBF", "\"\\uFFFF\"\n"},
		{"a\nb", "\"a\\nb\"\n"},
		{"\"\\\n", "\"\\\"\\\\\\n\"\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) json = rh_json_new_string(rows[i].text);
		rh_auto_str text = {0};

		support_row(rows[i].text);
		assert_int_equal(rh_yaml_print(json, &text), 0);
		assert_string_equal(rh_str_text(&text), rows[i].expected);
		check_string_reads_back(rows[i].text);
	}
}

static void test_print__lines(void **state)
{
	(void)state;
	check_prints("{\"a\":\"x\\n y\\n\\nz\\n\",\"b\":\"x\\ny\",\"c\":\"x\\n\\n\",\"d\":1}", "a: |\n"
	                                                                                       "  x\n"
	                                                                                       "   y\n"
	                                                                                       "\n"
	                                                                                       "  z\n"
	                                                                                       "b: |-\n"
	                                                                                       "  x\n"
	                                                                                       "  y\n"
	                                                                                       "c: |+\n"
	                                                                                       "  x\n"
	                                                                                       "\n"
	                                                                                       "d: 1\n");
	check_prints("[\"x\\ny\\n\",[\"x\\n\"],{\"a\":{\"b\":\"\xC3\xA9\\n# no comment\\n\"}}]", "- |\n"
	                                                                                         "  x\n"
	                                                                                         "  y\n"
	                                                                                         "- - |\n"
	                                                                                         "    x\n"
	                                                                                         "- a:\n"
	                                                                                         "    b: |\n"
	                                                                                         "      \xC3\xA9\n"
	                                                                                         "      # no comment\n");
	check_prints("{\"a\\nb\":1}", "\"a\\nb\": 1\n");
}

static void test_print__lines_that_a_block_would_lose(void **state)
{
	static const char *const rows[] = {"\n",        "\na",    " a\nb",    "\ta\nb",      "a \nb",       "a\n ",
	                                   "a\n\t",     "a\t\nb", "a\r\nb",   "a\n\x01",     "a\n\xC2\x85", "\n\n",
	                                   "a\n\n\n",   "a\nb ",  "a\n  \nb", "a\n...\nb\n", "a\n---\nb\n", "a\n- b\n",
	                                   "a: b\nc\n", "|\n",    "#\n",      "a\n\tb",      "a\n\n b\n",   "%a\nb"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		support_row(rows[i]);
		check_string_reads_back(rows[i]);
	}
}

static void test_print__long_keys(void **state)
{
	static const size_t lengths[] = {127, 128, 129, 1023, 1024, 1025, 5000};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		rh_auto_free char *key = rh_alloc(lengths[i] + 1);

		memset(key, 'k', lengths[i]);
		check_string_reads_back(key);
		key[0] = '#';
		key[1] = '\n';
		check_string_reads_back(key);
	}
}

/* All strings of up to three characters out of those that YAML gives a meaning. */
static void test_print__every_short_string_reads_back(void **state)
{
	static const char characters[] = "a 1-?:,[]{}#&*!|>'\"%@`\\~.=<+_0xeTtyn\n\t\r\x01\x7F";
	const size_t count = sizeof(characters) - 1;

	(void)state;
	for (size_t n = 0; n < count * count * count; n++) {
		const char text[] = {characters[n % count], characters[n / count % count], characters[n / count / count], '\0'};
		rh_auto(json) json = rh_json_new_object();

		assert_int_equal(rh_json_set_string(json, text, text), 0);
		assert_int_equal(rh_json_append(rh_json_ensure_array(json, "list"), rh_json_new_string(text)), 0);
		check_reads_back(json);
	}
}

static void test_print__numbers_read_back(void **state)
{
	static const char *const rows[] = {"0",      "-1",   "9007199254740992", "18446744073709551616", "1e21",
	                                   "1.5e-7", "1e300"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) json = support_json(rows[i]);

		support_row(rows[i]);
		check_reads_back(json);
	}
}

static void test_print__deepest_tree(void **state)
{
	rh_auto_str text = {0};
	rh_auto(json) json = NULL;

	(void)state;
	for (int i = 0; i < RH_JSON_DEPTH_MAX; i++)
		rh_str_append(&text, i % 2 == 0 ? "{\"a\":" : "[");
	rh_str_append(&text, "1");
	for (int i = RH_JSON_DEPTH_MAX - 1; i >= 0; i--)
		rh_str_append(&text, i % 2 == 0 ? "}" : "]");
	json = support_json(text.data);
	check_reads_back(json);
}

static int check_golden(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	rh_auto_free char *text = NULL;
	rh_auto(json) documents = NULL;
	struct rh_error err = {0};
	const char *suffix = strrchr(path, '.');
	size_t length;

	(void)st;
	(void)where;
	if (kind != FTW_F || !suffix || (strcmp(suffix, ".json") != 0 && strcmp(suffix, ".yaml") != 0))
		return 0;
	support_row(path);
	assert_int_equal(rh_file_read(path, RH_YAML_TEXT_MAX, &text, &length, NULL), 0);
	if (rh_yaml_parse(text, length, &documents, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(rh_json_size(documents) > 0);
	for (const struct rh_json *document = rh_json_first(documents); document; document = rh_json_next(document))
		check_reads_back(document);
	return 0;
}

static void test_print__every_golden_reads_back(void **state)
{
	(void)state;
	assert_int_equal(nftw(RH_GOLDENS, check_golden, 16, FTW_PHYS), 0);
}

static int print_once(void *arg)
{
	rh_auto_str text = {0};

	return rh_yaml_print(arg, &text);
}

static void test_print__without_memory(void **state)
{
	rh_auto(json) json =
		support_json("{\"a\":[\"a text that needs more room than the first allocation has\",\"x\\ny\"],"
	                 "\"a key\":{\"b\":[1,2,3]}}");

	(void)state;
	support_fail_each(print_once, json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print__shape),
		cmocka_unit_test(test_print__as_kubectl_does),
		cmocka_unit_test(test_print__strings),
		cmocka_unit_test(test_print__lines),
		cmocka_unit_test(test_print__lines_that_a_block_would_lose),
		cmocka_unit_test(test_print__long_keys),
		cmocka_unit_test(test_print__every_short_string_reads_back),
		cmocka_unit_test(test_print__numbers_read_back),
		cmocka_unit_test(test_print__deepest_tree),
		cmocka_unit_test(test_print__every_golden_reads_back),
		cmocka_unit_test(test_print__without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
