/* SPDX-License-Identifier: Apache-2.0 */
/* What tests/cluster/test_rules.py does not reach: limits, and running out of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "job/cel/cel.h"

struct row {
	const char *text;
	const char *result; /* "true", "false", an error of the evaluation, or "! why it does not compile" */
};

static const struct row rows[] = {
	{"self.a == 1", "true"},
	{"self.a == 2", "false"},
	{"self.list.all(x, x > 0) && size(self.list) == 2", "true"},
	{"self.b == 1", "! the schema has no field b; column 5"},
	{"self.none == 1", "no such key: none"},
	{"self.a / 0 == 1", "division by zero"},
	{"self.a % 0 == 1", "modulus by zero"},
	{"self.a + 9223372036854775807 == 1", "integer overflow"},
	{"-9223372036854775808 / -self.a == 1", "integer overflow"},
	{"self.a / 0 == 1 || true", "true"},
	{"self.a / 0 == 1 && false", "false"},
	{"self.a / 0 == 1 || false", "division by zero"},
	{"dyn(self.a) == 'x'", "false"},
	{"dyn(self.a) > 'x'", "no such overload"},
	{"double('NaN') < 1.0", "false"},
	{"double('NaN') == double('NaN')", "false"},
	{"18446744073709551615u > 9223372036854775807", "true"},
	{"9007199254740993 > 9007199254740992.0", "true"},
	{"string(100.0) == '100' && string(1.5e-7) == '1.5e-07'", "true"},
	{"b'\\xff' == b'\\377'", "true"},
	{"string(b'\\xff') == ''", "invalid UTF-8 in bytes, cannot convert to string"},
	{"'\\u00e4' == '\xC3\xA4' && '\\U0001F600'.size() == 1", "true"},
	{"has(self.none) || !has(self.a)", "false"},
	{"oldSelf.hasValue()", "! hasValue cannot be applied to (object); column 8"},
	{"[1, 2, 3].map(x, [1, 2, 3].map(y, x * y).sum()).sum() == 36", "true"},
	{"['a', 'b'].exists(x, x.matches('(a|b)+') && x == 'b')", "true"},
	{"'x'.matches('a{1000}{1000}')", "! regular expression: a repetition follows a repetition"},
	{"'x'.matches('((a{100}){100}){100}')", "! regular expression: it is too large"},
	{"'a1b22'.find('[0-9]+') == '1' && 'ab'.find('[0-9]+') == ''", "true"},
	{"'a1b22'.findAll('[0-9]+') == ['1', '22'] && 'a1b22'.findAll('[0-9]+', 1) == ['1']", "true"},
	{"'a1b22'.findAll('[0-9]+', 0).size() == 0 && 'a1b22'.findAll('[0-9]+', -1).size() == 2", "true"},
	{"'baac'.findAll('a*') == ['', 'aa', ''] && ''.findAll('a*') == ['']", "true"},
	{"'\xC3\xA4\xC3\xA4'.findAll('') == ['', '', '']", "true"},
	{"isIP('::1') && !isIP('x') && ip('127.0.0.1').isLoopback() && ip('::').family() == 6", "true"},
	{"ip('x').family() == 4", "IP Address \"x\" parse error during conversion from string"},
	{"cidr('10.0.0.0/8').containsIP('x')", "IP Address \"x\" parse error"},
	{"cidr('10.0.0.0/99').prefixLength() == 8", "network address parse error"},
	{"cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsCIDR('0.0.0.0/0')", "true"},
	{"string(cidr('10.1.2.3/31').masked()) == '10.1.2.2/31' && string(ip('1:0:0:2::1')) == '1:0:0:2::1'", "true"},
	{"dyn(ip('::1')) == dyn(cidr('::1/128'))", "false"},
	{"optional.of(self.a).value() == 1 && !optional.none().hasValue()", "true"},
	{"optional.none().value() == 1", "optional.none() dereference"},
	{"[1].exists(optional, optional.of(optional).hasValue())", "true"},
	{"isURL('http://a/b') && !isURL('a/b') && !isURL('') && !isURL('http://[::1/')", "true"},
	{"url('HTTP://u:p@[::1]:80/a b?k=v&k=w#x').getHost() == '[::1]:80'", "true"},
	{"url('http://a/b c').getEscapedPath() == '/b%20c' && url('/a').getHostname() == ''", "true"},
	{"url('/?k=v&l=%41&k=w') .getQuery() == {'k': ['v', 'w'], 'l': ['A']}", "true"},
	{"url('/a#b?c').getEscapedPath() == '/a' && url('//h/a').getHost() == 'h' && url('/?a#&b').getQuery().size() == 1",
     "true"},
	{"url('HTTP://u!@a/ ?#') == url('http://u%21@a/%20?') && url('s3:/b') != url('s3:///b')", "true"},
	{"url('/?' + 'a&a=1&'.replace('a', 'k=2&a')).getQuery() == {'a': ['', '1'], 'k': ['2', '2']}", "true"},
	{"url('/?a=%FF%C3%A4%C3').getQuery()['a'][0] == '\\uFFFD\xC3\xA4\\uFFFD'", "true"},
	{"isURL('http://[fe80::1%25%00]/') || isURL('http://[fe80::1%25]/') || isURL('http://a:1:2/')", "false"},
	{"url('a').getHost() == ''", "URL parse error during conversion from string"},
	{"'a'.find('(') == ''", "! regular expression: a ( is not closed"},
	{"'\\x00'.size() == 1", "! an escape in a string is not valid"},
};

static const char schema_text[] =
	"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"none\":{\"type\":\"integer\"},"
	"\"list\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}}}";
static const char self_text[] = "{\"a\":1,\"list\":[1,2],\"none\":null}";

static struct rh_json *parsed(const char *text)
{
	struct rh_json *json = NULL;

	assert_int_equal(rh_json_parse(text, strlen(text), &json, NULL), 0);
	return json;
}

/* @return the result as the rows have it; of the buffer */
static int evaluate(const char *text, char *buffer, size_t size)
{
	rh_auto(json) schema = parsed(schema_text);
	rh_auto(json) self = parsed(self_text);
	rh_auto_cel_room room = {0};
	rh_auto(cel) cel = NULL;
	struct rh_error err = {0};
	struct rh_cel_setting setting = {.schema = schema, .result_kind = RH_CEL_BOOL};
	struct rh_cel_value value;
	int r = rh_cel_compile(text, &setting, &cel, &err);

	(void)snprintf(buffer, size, "! %.400s", err.message);
	if (r < 0)
		return r;
	value = rh_cel_run(cel, self, &room);
	(void)snprintf(buffer, size, "%s",
	               value.kind == RH_CEL_ERROR  ? value.text.data
	               : value.kind != RH_CEL_BOOL ? "not a boolean"
	               : value.flag                ? "true"
	                                           : "false");
	return 0;
}

static void test_cel__rows(void **state)
{
	char result[512];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		(void)evaluate(rows[i].text, result, sizeof(result));
		if (strncmp(result, rows[i].result, strlen(rows[i].result)) != 0)
			fail_msg("%s: \"%s\" and not \"%s\"", rows[i].text, result, rows[i].result);
	}
}

/* @return "xx...x", owned by the caller */
static char *repeated(const char *part, size_t times, const char *end)
{
	struct rh_str text = {0};

	for (size_t i = 0; i < times; i++)
		rh_str_append(&text, part);
	rh_str_append(&text, end);
	return rh_str_take(&text);
}

static void test_cel__is_bounded(void **state)
{
	static const struct {
		const char *part, *end, *words;
		size_t times;
	} bounded[] = {
		{"(", "true", "the expression is too deep", 100000},
		{"!", "true", "the expression is too deep", 100000},
		{"1 + ", "1 == 1", "the expression is too deep", 100000},
		{"[", "1", "the expression is too deep", 100000},
		{"true && ", "true", "there are more than 512 parts", 600},
		{"true ? ", "true", "\":\" is expected", 3},
		{"[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].all(x, ", "x > 0))))))))", "operation cancelled", 8},
		{"'0123456789' + ", "'a' == ''", "false", 150},
	};
	char result[512];

	(void)state;
	for (size_t i = 0; i < sizeof(bounded) / sizeof(*bounded); i++) {
		rh_auto_free char *text = repeated(bounded[i].part, bounded[i].times, bounded[i].end);

		(void)evaluate(text, result, sizeof(result));
		if (!strstr(result, bounded[i].words))
			fail_msg("%s...: \"%s\" and not \"%s\"", bounded[i].part, result, bounded[i].words);
	}
}

/* Every allocation in turn fails: an error, never a crash or a leak. */
static void test_cel__out_of_memory(void **state)
{
	static const char text[] = "self.list.map(x, string(x)).join(',').matches('^[1-9,]+$') && {'a': self.a}.a == 1";
	rh_auto(json) schema = parsed(schema_text);
	rh_auto(json) self = parsed(self_text);
	struct rh_cel_setting setting = {.schema = schema, .result_kind = RH_CEL_BOOL};
	bool done = false;

	(void)state;
	for (long n = 0; !done && n < 10000; n++) {
		rh_auto_cel_room room = {0};
		rh_auto(cel) cel = NULL;
		struct rh_cel_value value = {0};
		int r;

		(void)rh_mem_fail_after(n);
		r = rh_cel_compile(text, &setting, &cel, NULL);
		if (r == 0)
			value = rh_cel_run(cel, self, &room);
		(void)rh_mem_fail_after(-1);
		done = r == 0 && !room.failed;
		assert_true(done ? value.kind == RH_CEL_BOOL && value.flag : r == RH_ENOMEM || value.kind == RH_CEL_ERROR);
	}
	assert_true(done);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cel__rows),
		cmocka_unit_test(test_cel__is_bounded),
		cmocka_unit_test(test_cel__out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
