/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "host/plugin/resources.h"

#define NAMES \
	"\"group\":\"example.org\",\"version\":\"v1\",\"kind\":\"Shape\",\"plural\":\"shapes\",\"singular\":\"shape\","

static void test_resources__good(void **state)
{
	static const char text[] = "[{" NAMES "\"scope\":\"Namespaced\",\"schema\":{\"spec\":{\"type\":\"object\"}},"
							   "\"shortNames\":[\"s\"],\"columns\":[]}]";
	rh_auto(json) list = NULL;
	struct rh_error err = {0};

	(void)state;
	if (rh_resources_parse(text, &list, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(rh_json_size(list), 1);
	for (long n = 0;; n++) {
		struct rh_json *again = NULL;
		int r;

		rh_mem_fail_after(n);
		r = rh_resources_parse(text, &again, NULL);
		rh_mem_fail_after(-1);
		rh_json_free(again);
		if (r == 0)
			break;
		assert_int_equal(r, RH_ENOMEM);
	}
}

static void test_resources__bad(void **state)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{"{", "resources: "},
		{"{}", "resources is JSON of type object, it must be an array"},
		{"[1]", "resources[0] must be an object"},
		{"[{}]", "resources[0].group is missing"},
		{"[{\"group\":1}]", "resources[0].group must be a string"},
		{"[{\"group\":\"A b\"}]", "resources[0].group is \"A b\", and must be a domain name"},
		{"[{\"groups\":\"a\"}]", "resources[0].groups is not a known member"},
		{"[{" NAMES "\"scope\":\"cluster\"}]", "scope is \"cluster\", and must be Cluster or Namespaced"},
		{"[{" NAMES "\"scope\":\"Cluster\"}]", "resources[0].schema must be an object"},
		{"[{" NAMES "\"scope\":\"Cluster\",\"schema\":{\"spec\":1}}]", "resources[0].schema.spec must be a schema"},
		{"[{" NAMES "\"scope\":\"Cluster\",\"schema\":{},\"shortNames\":\"s\"}]",
	     "shortNames must be a list of strings"},
		{"[{" NAMES "\"scope\":\"Cluster\",\"schema\":{},\"shortNames\":[\"S\"]}]", "shortNames must be names"},
		{"[{" NAMES "\"scope\":\"Cluster\",\"schema\":{},\"columns\":[{}]}]",
	     "resources[0]: columns[0].name is missing"},
		{"[{" NAMES "\"scope\":\"Cluster\",\"schema\":{\"spec\":{\"type\":\"object\",\"x-kubernetes-validations\":[{"
	     "\"rule\":\"foo(\"}]}}}]",
	     "resources[0].schema.spec"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_json *list = NULL;
		struct rh_error err = {0};

		if (rh_resources_parse(rows[i].text, &list, &err) != RH_EPLUGIN || !strstr(err.message, rows[i].words))
			fail_msg("%s: \"%s\" does not say \"%s\"", rows[i].text, err.message, rows[i].words);
		assert_null(list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resources__good),
		cmocka_unit_test(test_resources__bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
