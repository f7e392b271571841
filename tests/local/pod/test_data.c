/* SPDX-License-Identifier: Apache-2.0 */
#include "local/pod/data.h"

#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "local/pod/input.h"

static int find(const struct test_pod *test, const char *kind, const char *reference, struct rh_data *data,
                struct rh_error *err)
{
	rh_auto(json) json = test_pod_yaml(reference);

	return rh_data_find(&test->context, kind, json, data, err);
}

static void test_data__decodes(void **state)
{
	static const struct {
		const char *name;
		const char *kind;
		const char *reference;
		const char *key;
		const char *bytes;
		size_t length;
	} rows[] = {
		{"a ConfigMap's text", "ConfigMap", "{name: settings}", "rate", "0.1", 3},
		{"its binaryData", "ConfigMap", "{name: settings}", "bin", "\0\1\2", 3},
		{"a Secret is base64", "Secret", "{name: login}", "user", "ada", 3},
		{"with two padding signs", "Secret", "{name: login}", "zero", "\0a", 3},
		{"stringData counts before data", "Secret", "{name: login}", "password", "newer", 5},
		{"stringData alone", "Secret", "{name: login}", "plain", "text", 4},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_data data = {0};
		const struct rh_data_item *item;

		assert_int_equal(find(*state, rows[i].kind, rows[i].reference, &data, NULL), 1);
		item = rh_data_item(&data, rows[i].key);
		if (!item || item->length != rows[i].length || memcmp(item->bytes, rows[i].bytes, item->length) != 0)
			fail_msg("%s", rows[i].name);
		assert_int_equal(item->bytes[item->length], 0);
		assert_null(rh_data_item(&data, "nothing"));
	}
}

static void test_data__says_what_is_wrong(void **state)
{
	static const struct {
		const char *kind;
		const char *reference;
		int r;
		const char *word;
	} rows[] = {
		{"ConfigMap", "{name: nothing}", RH_ENOENT, "configmap \"nothing\" not found"},
		{"Secret", "{name: nothing}", RH_ENOENT, "secret \"nothing\" not found"},
		{"Secret", "{name: settings}", RH_ENOENT, "secret \"settings\" not found"},
		{"ConfigMap", "{name: nothing, optional: true}", 0, ""},
		{"ConfigMap", "{}", RH_EINVAL, "no name"},
		{"ConfigMap", "{name: broken}", RH_EINVAL, "data[\"number\"] must be a string"},
		{"Secret", "{name: garbled}", RH_EINVAL, "data[\"x\"] is not base64"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_data data = {0};
		struct rh_error err = {0};
		int r = find(*state, rows[i].kind, rows[i].reference, &data, &err);

		if (r != rows[i].r || !strstr(err.message, rows[i].word))
			fail_msg("%s %s: %d %s", rows[i].kind, rows[i].reference, r, err.message);
		assert_int_equal(data.count, 0);
	}
}

static void test_data__base64(void **state)
{
	static const struct {
		const char *text;
		const char *bytes; /* NULL: refused */
	} rows[] = {
		{"", ""},
		{"YQ==", "a"},
		{"YWI=", "ab"},
		{"YWJj", "abc"},
		{"YWJj\\nZGVm", "abcdef"},
		{"YW\\r\\nJj", "abc"},
		{"YQ", NULL},
		{"YQ=", NULL},
		{"Y===", NULL},
		{"YQ==YQ==", NULL},
		{"=YQ=", NULL},
		{"Y Q=", NULL},
		{"YQ-_", NULL},
		{"+/+/", "\xfb\xff\xbf"},
	};
	struct test_pod *test = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *yaml = rh_asprintf("[{kind: Secret, metadata: {name: s}, data: {k: \"%s\"}}]", rows[i].text);
		rh_auto(json) objects = test_pod_yaml(yaml);
		rh_auto_data data = {0};
		int r;

		test->input.lookup_arg = objects;
		r = find(test, "Secret", "{name: s}", &data, NULL);
		if (r != (rows[i].bytes ? 1 : RH_EINVAL))
			fail_msg("\"%s\": %d", rows[i].text, r);
		if (rows[i].bytes)
			assert_string_equal(data.items[0].bytes, rows[i].bytes);
	}
}

static void test_data__survives_a_lack_of_memory(void **state)
{
	const struct test_pod *test = *state;
	rh_auto(json) reference = test_pod_yaml("{name: login}");
	int r = RH_ENOMEM;

	for (long i = 0; r != 1; i++) {
		rh_auto_data data = {0};

		(void)rh_mem_fail_after(i);
		r = rh_data_find(&test->context, "Secret", reference, &data, NULL);
		(void)rh_mem_fail_after(-1);
		assert_true(r == 1 || r == RH_ENOMEM);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, test_pod_setup, test_pod_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_data__decodes),
		CASE(test_data__says_what_is_wrong),
		CASE(test_data__base64),
		CASE(test_data__survives_a_lack_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
