/* SPDX-License-Identifier: Apache-2.0 */
#include "host/plugin/lookup_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

#define KINDS "\"kinds\":[{\"kind\":\"Runtime\",\"plural\":\"runtimes\",\"scope\":\"Namespaced\"}]"
#define HEAD "{\"name\":\"runtime\",\"apiVersion\":\"example.org/v1\"," KINDS ","
#define OBJECT "\"object\":{\"from\":\"spec.ref\"}"
#define SECOND \
	"{\"name\":\"b\",\"apiVersion\":\"v1\"," KINDS ",\"object\":{\"pattern\":\"{job}-b\"},\"unless\":\"runtime\"}"

static void test_lookup_json__good(void **state)
{
	static const char *const texts[] = {
		"[" HEAD OBJECT "}]",
		"[" HEAD OBJECT ",\"kind\":\"Runtime\",\"required\":false,\"parse\":[\"data.a\"]}," SECOND "]",
		"[" HEAD "\"object\":{\"pattern\":\"{job}-a\"},\"own\":true,\"metadata\":true}]",
		"[" HEAD OBJECT ",\"group\":{\"from\":\"spec.group\"}}]",
		"[" HEAD "\"object\":{\"from\":\"metadata.labels.a\",\"default\":\"x\"},\"kind\":{\"from\":\"spec.kind\","
		"\"default\":\"Runtime\"}}]",
	};

	(void)state;
	assert_int_equal(rh_lookup_json_check(NULL, NULL), 0);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct rh_error err = {0};

		if (rh_lookup_json_check(texts[i], &err) < 0)
			fail_msg("%s: %s", texts[i], err.message);
	}
}

static void test_lookup_json__refused(void **state)
{
	static const char *const cases[][2] = {
		{"{}", "lookups must be an array with at least one entry"},
		{"[]", "lookups must be an array with at least one entry"},
		{"[1]", "lookups[0] must be an object"},
		{"[{\"name\":\"a\"}]", "lookups[0].apiVersion is missing"},
		{"[" HEAD OBJECT ",\"when\":\"x\"}]", "lookups[0].when is not a known member"},
		{"[" HEAD OBJECT ",\"required\":\"x\"}]", "lookups[0].required must be true or false"},
		{"[" HEAD "\"object\":{}}]", "lookups[0].object.from is missing"},
		{"[" HEAD "\"object\":{\"from\":\"status.a\"}}]",
	     "lookups[0].object.from is \"status.a\", and must be a path below spec or metadata"},
		{"[" HEAD "\"object\":{\"pattern\":\"{name}-a\"}}]",
	     "lookups[0].object.pattern is \"{name}-a\", and must be a name in lower case, with {job} once at most"},
		{"[" HEAD OBJECT ",\"kind\":\"Secret\"}]", "lookups[0].kind is \"Secret\", which is not one of kinds"},
		{"[" HEAD OBJECT ",\"kind\":{\"from\":\"spec.kind\"}}]",
	     "lookups[0].kind has the default \"\", which is not one of kinds"},
		{"[" HEAD OBJECT ",\"group\":\"example.org\"}]", "lookups[0].group must be an object"},
		{"[" HEAD OBJECT ",\"group\":{}}]", "lookups[0].group.from is missing"},
		{"[" HEAD OBJECT ",\"unless\":\"b\"}]", "lookups[0].unless is \"b\", and must be the name of another entry"},
		{"[" HEAD OBJECT ",\"unless\":\"b\"}," SECOND "]",
	     "lookups[0].unless is \"b\", and must be the name of another entry that has no unless"},
		{"[" HEAD OBJECT "}," HEAD OBJECT "}]", "lookups[1].name is \"runtime\", as that of another entry"},
		{"[" HEAD OBJECT ",\"parse\":[\"data.a\"],\"metadata\":true}]",
	     "lookups[0].parse and metadata exclude each other"},
		{"[{\"name\":\"a\",\"apiVersion\":\"v1\",\"kinds\":[],\"object\":{\"pattern\":\"a\"}}]",
	     "lookups[0].kinds is empty"},
		{"[{\"name\":\"a\",\"apiVersion\":\"v1\",\"kinds\":[{\"kind\":\"A\",\"plural\":\"as\",\"scope\":\"Cluster\"}],"
	     "\"object\":{\"pattern\":\"a\"},\"own\":true}]",
	     "lookups[0].kinds[0] is of scope Cluster, and an object of a job (own) is in a namespace"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rh_error err = {0};

		assert_int_equal(rh_lookup_json_check(cases[i][0], &err), RH_EPLUGIN);
		assert_string_equal(err.message, cases[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookup_json__good),
		cmocka_unit_test(test_lookup_json__refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
