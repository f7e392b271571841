/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "base/support.h"
#include "base/yaml.h"

/* A text and the documents in it, as one compact JSON array. */
struct yaml_row {
	const char *name, *text, *expected;
};

static struct rh_json *yaml_of(const char *text)
{
	struct rh_json *documents = NULL;
	struct rh_error err = {0};

	if (rh_yaml_parse(text, strlen(text), &documents, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	return documents;
}

static void check_accepted(const struct yaml_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		rh_auto(json) documents = yaml_of(rows[i].text);

		support_row(rows[i].name);
		support_assert_json(documents, rows[i].expected);
	}
}

/* `expected` is a part of the message. */
static void check_refused(const struct yaml_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct rh_json *documents = NULL;
		struct rh_error err = {0};

		support_row(rows[i].name);
		assert_int_equal(rh_yaml_parse(rows[i].text, strlen(rows[i].text), &documents, &err), RH_EINVAL);
		assert_null(documents);
		assert_int_equal(err.code, RH_EINVAL);
		if (!strstr(err.message, rows[i].expected))
			fail_msg("message: %s", err.message);
	}
}

#define CHECK(what, rows) check_##what(rows, sizeof(rows) / sizeof((rows)[0]))

static void test_yaml__documents(void **state)
{
	static const struct yaml_row rows[] = {
		{"nothing", "", "[]"},
		{"comments", "# a\n\n# b\n", "[]"},
		{"only separators", "---\n---\n---\n", "[]"},
		{"one", "a: b\n", "[{\"a\":\"b\"}]"},
		{"two", "a: b\n---\nc: d\n", "[{\"a\":\"b\"},{\"c\":\"d\"}]"},
		{"empty ones between", "---\n# x\n---\na: b\n---\n\n---\nc: d\n---\n", "[{\"a\":\"b\"},{\"c\":\"d\"}]"},
		{"end markers", "a: b\n...\n---\nc: d\n...\n", "[{\"a\":\"b\"},{\"c\":\"d\"}]"},
		{"a written null stays", "--- null\n", "[null]"},
		{"an empty string stays", "--- \"\"\n", "[\"\"]"},
		{"a scalar", "text", "[\"text\"]"},
		{"a list", "- a\n- - b\n  - c\n-\n", "[[\"a\",[\"b\",\"c\"],null]]"},
		{"version directive", "%YAML 1.1\n---\na: b\n", "[{\"a\":\"b\"}]"},
		{"byte order mark",
	     "\xEF\xBB\xBF"
	     "a: b\n",
	     "[{\"a\":\"b\"}]"},
		{"Windows line ends", "a: b\r\nc:\r\n- d\r\n", "[{\"a\":\"b\",\"c\":[\"d\"]}]"},
	};

	(void)state;
	CHECK(accepted, rows);
}

static void test_yaml__scalars(void **state)
{
	static const struct yaml_row rows[] = {
		{"plain kinds", "[yes, No, ~, 12, 0x1f, 1.5, 1e3, text]", "[[true,false,null,12,31,1.5,1000,\"text\"]]"},
		{"quoted are texts", "['yes', \"no\", '~', \"12\", '']", "[[\"yes\",\"no\",\"~\",\"12\",\"\"]]"},
		{"blocks are texts", "a: |\n  12\nb: >-\n  yes\n", "[{\"a\":\"12\\n\",\"b\":\"yes\"}]"},
		{"literal keeps lines", "a: |\n  x\n   y\n\n  z\n\n", "[{\"a\":\"x\\n y\\n\\nz\\n\"}]"},
		{"literal chomping", "a: |-\n  x\nb: |+\n  y\n\nc: z\n", "[{\"a\":\"x\",\"b\":\"y\\n\\n\",\"c\":\"z\"}]"},
		{"folded", "a: >\n  x\n  y\n\n  z\n", "[{\"a\":\"x y\\nz\\n\"}]"},
		{"plain over lines", "a: x\n  y\n  z\n", "[{\"a\":\"x y z\"}]"},
		{"single quotes", "'it''s'", "[\"it's\"]"},
		{"escapes", "\"\\t\\x41\\u00e9\\U0001F600\"", "[\"\\tA\xC3\xA9\xF0\x9F\x98\x80\"]"},
		{"dates are texts", "[2026-11-21, 2026-11-21T10:00:00Z]", "[[\"2026-11-21\",\"2026-11-21T10:00:00Z\"]]"},
		{"quantities are texts", "{cpu: 500m, memory: 4Gi}", "[{\"cpu\":\"500m\",\"memory\":\"4Gi\"}]"},
		{"comment behind", "a: b # c\n", "[{\"a\":\"b\"}]"},
		{"no comment", "a: b#c\n", "[{\"a\":\"b#c\"}]"},
		{"URL", "a: http://x:80/y\n", "[{\"a\":\"http://x:80/y\"}]"},
	};

	(void)state;
	CHECK(accepted, rows);
}

static void test_yaml__mappings(void **state)
{
	static const struct yaml_row rows[] = {
		{"order is kept", "b: 1\na: 2\n", "[{\"b\":1,\"a\":2}]"},
		{"list below its key", "a:\n- b\n- c: 1\n  d: 2\n", "[{\"a\":[\"b\",{\"c\":1,\"d\":2}]}]"},
		{"no value", "a:\nb: ''\n", "[{\"a\":null,\"b\":\"\"}]"},
		{"number keys", "1: a\n0x10: b\n1.5: c\n", "[{\"1\":\"a\",\"16\":\"b\",\"1.5\":\"c\"}]"},
		{"boolean keys", "yes: a\noff: b\n", "[{\"true\":\"a\",\"false\":\"b\"}]"},
		{"quoted keys", "\"y\": a\n'1': b\n\"\": c\n", "[{\"y\":\"a\",\"1\":\"b\",\"\":\"c\"}]"},
		{"explicit key", "? a\n: b\n? c\n", "[{\"a\":\"b\",\"c\":null}]"},
		{"flow", "{a: b, c: [d, {e: f}], g}", "[{\"a\":\"b\",\"c\":[\"d\",{\"e\":\"f\"}],\"g\":null}]"},
		{"pair in a list", "[a: b]", "[[{\"a\":\"b\"}]]"},
	};

	(void)state;
	CHECK(accepted, rows);
}

static void test_yaml__tags(void **state)
{
	static const struct yaml_row rows[] = {
		{"str", "!!str 12", "[\"12\"]"},
		{"non-specific", "! 12", "[\"12\"]"},
		{"int", "!!int \"12\"", "[12]"},
		{"float", "!!float 12", "[12]"},
		{"bool", "!!bool 'yes'", "[true]"},
		{"null", "!!null ''", "[null]"},
		{"map and seq", "!!map {a: !!seq [b]}", "[{\"a\":[\"b\"]}]"},
		{"written out", "!<tag:yaml.org,2002:str> 1", "[\"1\"]"},
	};
	static const struct yaml_row refused[] = {
		{"custom", "a:\n  !custom b", "line 2, column 3: unsupported tag \"!custom\""},
		{"custom mapping", "!x {a: b}", "line 1, column 1: unsupported tag \"!x\""},
		{"custom list", "!!python/tuple [a]", "unsupported tag"},
		{"binary", "!!binary aGk=", "the tag does not fit the value, or is not supported: \"binary\""},
		{"int of a text", "!!int abc", "the tag does not fit"},
		{"int of a float", "!!int 1e3", "the tag does not fit"},
		{"int of a fraction", "!!int 1.5", "the tag does not fit"},
		{"bool of a number", "!!bool 1", "the tag does not fit"},
		{"map of a list", "!!map [a]", "unsupported tag"},
		{"not a number", "a: .nan", "line 1, column 4: only finite numbers are allowed, not \".nan\""},
		{"infinite", "- -.inf", "only finite numbers"},
	};

	(void)state;
	CHECK(accepted, rows);
	CHECK(refused, refused);
}

static void test_yaml__aliases(void **state)
{
	static const struct yaml_row rows[] = {
		{"scalar", "a: &x 12\nb: *x\n", "[{\"a\":12,\"b\":12}]"},
		{"mapping", "a: &x {b: [c]}\nd: *x\n", "[{\"a\":{\"b\":[\"c\"]},\"d\":{\"b\":[\"c\"]}}]"},
		{"nested", "a: &x [1]\nb: &y [*x, *x]\nc: *y\n", "[{\"a\":[1],\"b\":[[1],[1]],\"c\":[[1],[1]]}]"},
		{"named again", "a: &x 1\nb: &x 2\nc: *x\n", "[{\"a\":1,\"b\":2,\"c\":2}]"},
		{"anchor on a key", "&x a: b\nc: *x\n", "[{\"a\":\"b\",\"c\":\"a\"}]"},
		{"alias as a key", "a: &x k\n*x : v\n", "[{\"a\":\"k\",\"k\":\"v\"}]"},
		{"anchor of nothing", "a: &x\nb: *x\n", "[{\"a\":null,\"b\":null}]"},
	};
	static const struct yaml_row refused[] = {
		{"unknown", "a: 1\nb: *x\n", "line 2, column 4: an alias must name an anchor that ends before it: \"x\""},
		{"of itself", "a: &x [*x]\n", "line 1, column 8: an alias must name an anchor"},
		{"of another document", "a: &x 1\n---\nb: *x\n", "line 3, column 4: an alias must name an anchor"},
		{"a key that is a list", "a: &x [1]\n*x : v\n", "a key must be text, not \"array\""},
	};

	(void)state;
	CHECK(accepted, rows);
	CHECK(refused, refused);
}

static void test_yaml__merge_keys(void **state)
{
	static const struct yaml_row rows[] = {
		{"one", "a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  r: 3\n",
	     "[{\"a\":{\"p\":1,\"q\":2},\"b\":{\"r\":3,\"p\":1,\"q\":2}}]"},
		{"own keys win", "a: &x {p: 1}\nb:\n  p: 2\n  <<: *x\nc:\n  <<: *x\n  p: 3\n",
	     "[{\"a\":{\"p\":1},\"b\":{\"p\":2},\"c\":{\"p\":3}}]"},
		{"several, the first wins", "- &x {p: 1}\n- &y {p: 2, q: 2}\n- <<: [*x, *y]\n",
	     "[[{\"p\":1},{\"p\":2,\"q\":2},{\"p\":1,\"q\":2}]]"},
		{"written in place", "<<: {p: 1}\nq: 2\n", "[{\"q\":2,\"p\":1}]"},
		{"an anchor in a merged mapping", "a:\n  <<: &x {p: [1]}\nb: *x\n", "[{\"a\":{\"p\":[1]},\"b\":{\"p\":[1]}}]"},
		{"an anchor deep in a merged mapping", "a:\n  <<: {p: &x [1]}\nb: *x\n", "[{\"a\":{\"p\":[1]},\"b\":[1]}]"},
		{"quoted is no merge key", "\"<<\": {p: 1}\n", "[{\"<<\":{\"p\":1}}]"},
		{"tagged", "!!merge <<: {p: 1}\n", "[{\"p\":1}]"},
		{"a merge in what is merged", "- &x {p: 1}\n- &y {<<: *x, q: 2}\n- {<<: *y}\n",
	     "[[{\"p\":1},{\"q\":2,\"p\":1},{\"q\":2,\"p\":1}]]"},
	};
	static const struct yaml_row refused[] = {
		{"of a text", "a: 1\n<<: text\n", "line 2, column 1: << needs a mapping or a list of mappings"},
		{"of a list of texts", "<<: [a]\n", "<< needs a mapping"},
		{"of nothing", "<<:\n", "<< needs a mapping"},
	};

	(void)state;
	CHECK(accepted, rows);
	CHECK(refused, refused);
}

static void test_yaml__refuses(void **state)
{
	static const struct yaml_row rows[] = {
		{"open list", "a: [b\nc: d\n",
	     "line 2, column 2: did not find expected ',' or ']' (while parsing a flow sequence"},
		{"wrong indent", "a:\n  b: 1\n c: 2\n", "line 3, column 2: did not find expected key"},
		{"tab", "a:\n\tb: 1\n", "line 2, column 1: a tab in the indent; indent with spaces"},
		{"two colons", "a: b: c\n",
	     "line 1, column 5: mapping values are not allowed in this context; indent this line"},
		{"open quote", "a: \"b\n", "line 2, column 1: found unexpected end of stream"},
		{"unknown escape", "\"\\q\"", "found unknown escape character"},
		{"text behind a document", "a: b\n... c\n", "line 2"},
		{"key twice", "a: 1\nb: 2\na: 3\n", "line 3, column 1: this key stands twice in one mapping: \"a\""},
		{"key twice, deep", "x:\n- {a: 1, 'a': 2}\n", "line 2, column 10: this key stands twice"},
		{"keys alike as text", "1: a\n'1': b\n", "this key stands twice in one mapping: \"1\""},
		{"list as a key", "? [a]\n: b\n", "line 1, column 3: a key must be a scalar"},
		{"mapping as a key", "{{a: b}: c}", "line 1, column 2: expected a key in double quotes"},
		{"null as a key", "~: a\n", "line 1, column 1: a key must be text, not \"null\""},
		{"no key", "? \n: a\n", "a key must be text, not \"null\""},
		{"not UTF-8", "a: 1\nb: \xFF\n", "line 2, column 4: invalid leading UTF-8 octet"},
		{"cut UTF-8", "a: \xC3", "UTF-8"},
		{"UTF-16",
	     "\xFF\xFE"
	     "a",
	     "line 1, column 1: invalid leading UTF-8 octet"},
		{"control character", "a: \x01\n", "line 1, column 4: control characters are not allowed"},
		{"zero byte in a string", "a: \"x\\0\"\n", "line 1, column 4: a string must not hold a zero byte"},
		{"zero byte in a key", "\"x\\0\": a\n", "a string must not hold a zero byte"},
		{"two JSON documents in a row", "{}\n{}\n", "line 2, column 1: expected nothing more after the document"},
		{"JSON with a fault", "{\"a\": 1,\n \"b\" 2}", "line 2, column 6: expected :"},
		{"JSON, a key twice", "{\"a\":1,\"a\":2}", "line 1, column 8: the key \"a\" stands twice"},
		{"unknown handle", "a: !x!y z\n", "found undefined tag handle"},
	};

	(void)state;
	CHECK(refused, rows);
}

/* Keys count as well: a password may stand where a colon is missing. */
static void test_yaml__secrets_are_not_quoted(void **state)
{
	static const struct yaml_row rows[] = {
		{"key twice", "s3cret: 1\ns3cret: 2\n", "line 2, column 1: this key stands twice in one mapping: \"...\""},
		{"alias", "a: *s3cret\n", "line 1, column 4: an alias must name an anchor that ends before it: \"...\""},
		{"tag", "a: !s3cret x\n", "line 1, column 4: unsupported tag \"...\""},
		{"JSON", "{\"s3cret\": 1, \"s3cret\": 2}", "line 1, column 15: the key \"...\" stands twice in one object"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_json *documents = NULL;
		struct rh_error err = {0};

		support_row(rows[i].name);
		assert_int_equal(rh_yaml_parse_secret(rows[i].text, strlen(rows[i].text), &documents, &err), RH_EINVAL);
		assert_null(documents);
		assert_string_equal(err.message, rows[i].expected);
	}
}

static void test_yaml__json(void **state)
{
	static const struct yaml_row rows[] = {
		{"one", " {\"a\": [1, true, null, \"x\"]}\n", "[{\"a\":[1,true,null,\"x\"]}]"},
		{"indented with tabs", "{\n\t\"a\":\t1\n}\n", "[{\"a\":1}]"},
		{"what only JSON knows", "[\"\\ud83d\\ude00\\/\"]", "[[\"\xF0\x9F\x98\x80/\"]]"},
		{"words are texts only in quotes", "{\"a\":\"yes\",\"b\":\"1\"}", "[{\"a\":\"yes\",\"b\":\"1\"}]"},
		{"separated", "{\"a\":1}\n---\n{\"b\":2}\n", "[{\"a\":1},{\"b\":2}]"},
		{"then YAML", "{\"a\":1}\n---\nb: 2\n", "[{\"a\":1},{\"b\":2}]"},
		{"after YAML", "a: 1\n---\n{\"b\":2}\n", "[{\"a\":1},{\"b\":2}]"},
		{"flow style is YAML", "{a: b}", "[{\"a\":\"b\"}]"},
		{"flow style list", "[a, 'b', ]", "[[\"a\",\"b\"]]"},
	};

	(void)state;
	CHECK(accepted, rows);
}

static void test_yaml__depth(void **state)
{
	(void)state;
	for (int depth = RH_JSON_DEPTH_MAX; depth <= RH_JSON_DEPTH_MAX + 1; depth++) {
		rh_auto_str flow = {0}, block = {0};
		rh_auto(json) documents = NULL;
		int expected = depth > RH_JSON_DEPTH_MAX ? RH_EINVAL : 0;

		rh_str_append(&flow, "--- ");
		for (int i = 0; i < depth; i++) {
			rh_str_append(&flow, "[");
			rh_str_append(&block, "- ");
		}
		for (int i = 0; i < depth; i++)
			rh_str_append(&flow, "]");
		assert_int_equal(rh_yaml_parse(flow.data, flow.length, &documents, NULL), expected);
		rh_json_free(rh_take(documents));
		assert_int_equal(rh_yaml_parse(block.data, block.length, &documents, NULL), expected);
	}
}

static void test_yaml__depth_through_aliases(void **state)
{
	rh_auto_str text = {0};
	struct rh_json *documents = NULL;
	struct rh_error err = {0};

	(void)state;
	rh_str_append(&text, "- &a0 []\n");
	for (int i = 1; i < 100; i++)
		rh_str_appendf(&text, "- &a%d [*a%d]\n", i, i - 1);
	assert_int_equal(rh_yaml_parse(text.data, text.length, &documents, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "nested too deeply, with its aliases expanded"));
}

/* Each level holds the one before ten times: "a billion laughs". */
static void test_yaml__aliases_that_explode(void **state)
{
	rh_auto_str text = {0};
	struct rh_json *documents = NULL;
	struct rh_error err = {0};
	long allocations;

	(void)state;
	rh_str_append(&text, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
	for (int i = 1; i < 20; i++) {
		rh_str_appendf(&text, "a%d: &a%d [", i, i);
		for (int j = 0; j < 10; j++)
			rh_str_appendf(&text, "%s*a%d", j > 0 ? "," : "", i - 1);
		rh_str_append(&text, "]\n");
	}
	rh_mem_fail_after(-1);
	assert_int_equal(rh_yaml_parse(text.data, text.length, &documents, &err), RH_EINVAL);
	allocations = rh_mem_fail_after(-1);
	assert_non_null(strstr(err.message, "the aliases expand to too many values"));
	assert_true(allocations < 20000);
}

/* Copies of enough values to be a fair share, but too many. */
static void test_yaml__aliases_beyond_the_limit(void **state)
{
	rh_auto_str text = {0};
	struct rh_json *documents = NULL;
	struct rh_error err = {0};

	(void)state;
	rh_str_append(&text, "- &a [x");
	for (int i = 0; i < 20000; i++)
		rh_str_append(&text, ",x");
	rh_str_append(&text, "]\n");
	for (int i = 0; i < 48; i++)
		rh_str_append(&text, "- *a\n");
	documents = yaml_of(text.data);
	rh_json_free(rh_take(documents));
	rh_str_append(&text, "- *a\n");
	assert_int_equal(rh_yaml_parse(text.data, text.length, &documents, &err), RH_EINVAL);
	assert_string_equal(err.message, "line 50, column 3: the text holds too many values, its aliases expanded");
}

static void test_yaml__many_aliases_of_little(void **state)
{
	rh_auto_str text = {0};
	rh_auto(json) documents = NULL;

	(void)state;
	rh_str_append(&text, "- &a [1,2,3,4,5,6,7,8,9]\n");
	for (int i = 0; i < 99; i++)
		rh_str_append(&text, "- *a\n");
	documents = yaml_of(text.data);
	assert_int_equal(rh_json_size(rh_json_first(documents)), 100);
}

static void test_yaml__long_texts_that_explode(void **state)
{
	rh_auto_str text = {0};
	struct rh_json *documents = NULL;
	struct rh_error err = {0};

	(void)state;
	rh_str_append(&text, "- &a ");
	for (int i = 0; i < 10000; i++)
		rh_str_append(&text, "0123456789abcdef");
	for (int i = 0; i < 200; i++)
		rh_str_append(&text, "\n- *a");
	assert_int_equal(rh_yaml_parse(text.data, text.length, &documents, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "the aliases expand to too much text"));
}

static void test_yaml__merges_that_explode(void **state)
{
	rh_auto_str text = {0};
	struct rh_json *documents = NULL;
	struct rh_error err = {0};

	(void)state;
	rh_str_append(&text, "- &a {");
	for (int i = 0; i < 2000; i++)
		rh_str_appendf(&text, "k%d: ,", i);
	rh_str_append(&text, "}\n");
	for (int i = 0; i < 2000; i++)
		rh_str_append(&text, "- <<: *a\n");
	assert_int_equal(rh_yaml_parse(text.data, text.length, &documents, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "too many values"));
}

static void test_yaml__too_many_values(void **state)
{
	rh_auto_free char *text = rh_alloc(2 * RH_YAML_NODES_MAX + 2);
	struct rh_json *documents = NULL;
	struct rh_error err = {0};

	(void)state;
	memset(text, '\n', 2 * RH_YAML_NODES_MAX + 2);
	for (size_t i = 0; i <= RH_YAML_NODES_MAX; i++)
		text[2 * i] = '-';
	assert_int_equal(rh_yaml_parse(text, 2 * RH_YAML_NODES_MAX + 2, &documents, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "too many values"));
}

static void test_yaml__too_many_values_in_json(void **state)
{
	rh_auto_str text = {0};
	struct rh_json *documents = NULL;
	struct rh_error err = {0};

	(void)state;
	rh_str_append(&text, "{}\n---\n[0");
	for (size_t i = 0; i < RH_YAML_NODES_MAX; i++)
		rh_str_append(&text, ",0");
	rh_str_append(&text, "]");
	assert_int_equal(rh_yaml_parse(text.data, text.length, &documents, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "too many values"));
}

static void test_yaml__too_long(void **state)
{
	rh_auto_free char *text = rh_alloc(RH_YAML_TEXT_MAX + 1);
	struct rh_json *documents = NULL;
	struct rh_error err = {0};

	(void)state;
	memset(text, '\n', RH_YAML_TEXT_MAX + 1);
	assert_int_equal(rh_yaml_parse(text, RH_YAML_TEXT_MAX + 1, &documents, &err), RH_EINVAL);
	assert_string_equal(err.message, "the text has 16777217 bytes, more than the limit of 16777216 bytes");
}

static void test_yaml__many_keys(void **state)
{
	rh_auto_str text = {0};
	rh_auto(json) documents = NULL;
	struct rh_error err = {0};

	(void)state;
	for (int i = 0; i < 20000; i++)
		rh_str_appendf(&text, "key-%d: %d\n", i, i);
	documents = yaml_of(text.data);
	assert_int_equal(rh_json_size(rh_json_first(documents)), 20000);
	rh_str_append(&text, "key-77: 1\n");
	rh_json_free(rh_take(documents));
	assert_int_equal(rh_yaml_parse(text.data, text.length, &documents, &err), RH_EINVAL);
	assert_string_equal(err.message, "line 20001, column 1: this key stands twice in one mapping: \"key-77\"");
}

static void test_yaml__reads_no_further_than_its_length(void **state)
{
	static const char text[] = "a: &x [b, \"c\", 'd']\ne: |\n  f\n\tg: *x\n";

	(void)state;
	for (size_t length = 0; length < sizeof(text); length++) {
		rh_auto_free char *copy = rh_alloc(length);
		rh_auto(json) documents = NULL;

		memcpy(copy, text, length);
		(void)rh_yaml_parse(copy, length, &documents, NULL);
	}
}

static int yaml_parse_once(void *arg)
{
	const char *text = arg;
	rh_auto(json) documents = NULL;
	struct rh_error err = {0};
	int r = rh_yaml_parse(text, strlen(text), &documents, &err);

	assert_true((r == 0) == (documents != NULL));
	if (r < 0)
		assert_int_equal(err.code, r);
	return r;
}

static void test_yaml__without_memory(void **state)
{
	char yaml[] = "a: &x {p: 1, q: [yes, 'x']}\nb:\n  <<: [*x]\n  &k r: 3\nc: *k\n1: 2\n---\n- ~\n";
	char json[] = "{\"a\":1}\n---\n[2]\n";
	char flow[] = "{a: b}";

	(void)state;
	support_fail_each(yaml_parse_once, yaml);
	support_fail_each(yaml_parse_once, json);
	support_fail_each(yaml_parse_once, flow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_yaml__documents),
		cmocka_unit_test(test_yaml__scalars),
		cmocka_unit_test(test_yaml__mappings),
		cmocka_unit_test(test_yaml__tags),
		cmocka_unit_test(test_yaml__aliases),
		cmocka_unit_test(test_yaml__merge_keys),
		cmocka_unit_test(test_yaml__refuses),
		cmocka_unit_test(test_yaml__secrets_are_not_quoted),
		cmocka_unit_test(test_yaml__json),
		cmocka_unit_test(test_yaml__depth),
		cmocka_unit_test(test_yaml__depth_through_aliases),
		cmocka_unit_test(test_yaml__aliases_that_explode),
		cmocka_unit_test(test_yaml__aliases_beyond_the_limit),
		cmocka_unit_test(test_yaml__many_aliases_of_little),
		cmocka_unit_test(test_yaml__long_texts_that_explode),
		cmocka_unit_test(test_yaml__merges_that_explode),
		cmocka_unit_test(test_yaml__too_many_values),
		cmocka_unit_test(test_yaml__too_many_values_in_json),
		cmocka_unit_test(test_yaml__too_long),
		cmocka_unit_test(test_yaml__many_keys),
		cmocka_unit_test(test_yaml__reads_no_further_than_its_length),
		cmocka_unit_test(test_yaml__without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
