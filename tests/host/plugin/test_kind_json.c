/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "host/plugin/kind_json.h"
#include "job/kinds.h"

/** @param words what the refusal says; NULL: the kind is taken */
static void assert_kind(const struct rh_kind *kind, const char *words)
{
	struct rh_error err = {0};
	int r = rh_kind_json_check(kind, &err);

	if (words ? r != RH_EPLUGIN || !strstr(err.message, words) || !strstr(err.message, kind->kind) : r != 0)
		fail_msg("%d, \"%s\" does not say \"%s\"", r, err.message, words ? words : "");
}

static void test_kind_json__cel_rules(void **state)
{
	static const struct {
		const char *rules;
		const char *words;
	} rows[] = {
		{"[]", NULL},
		{"[{\"at\":\"spec\",\"rule\":\"self.runPolicy.backoffLimit > 0\"}]", NULL},
		{"[{\"at\":\"replicas\",\"rule\":\"true\",\"message\":\"m\",\"messageExpression\":\"'m'\",\"fieldPath\":\".a\","
	     "\"reason\":\"FieldValueForbidden\",\"optionalOldSelf\":true}]",
	     NULL},
		{"{", "cel_rules"},
		{"{}", "cel_rules is JSON of type object, it must be an array"},
		{"[17]", "cel_rules[0] must be an object"},
		{"[{\"at\":\"spec\",\"rule\":\"true\"},{\"rule\":\"true\"}]", "cel_rules[1].at is missing"},
		{"[{\"at\":\"nowhere\",\"rule\":\"true\"}]",
	     "cel_rules[0].at is \"nowhere\", and must be one of spec|replicas"},
		{"[{\"at\":7,\"rule\":\"true\"}]", "cel_rules[0].at must be a string"},
		{"[{\"at\":\"spec\"}]", "cel_rules[0].rule is missing"},
		{"[{\"at\":\"spec\",\"rule\":\"\"}]", "cel_rules[0].rule is empty"},
		{"[{\"at\":\"spec\",\"rule\":\"true\",\"reason\":\"Because\"}]", "must be one of FieldValueInvalid|"},
		{"[{\"at\":\"spec\",\"rule\":\"true\",\"optionalOldSelf\":1}]", "optionalOldSelf must be true or false"},
		{"[{\"at\":\"spec\",\"rule\":\"true\",\"massage\":\"m\"}]", "cel_rules[0].massage is not a known member"},
	};
	struct rh_kind kind = test_pytorch;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		kind.cel_rules = rows[i].rules;
		assert_kind(&kind, rows[i].words);
	}
}

static void test_kind_json__run_policy(void **state)
{
	static const struct {
		const char *policy;
		const char *words;
	} rows[] = {
		{"{}", NULL},
		{"{\"cleanPodPolicy\":\"Running\",\"backoffLimit\":0,\"ttlSecondsAfterFinished\":1,\"activeDeadlineSeconds\":2,"
	     "\"suspend\":true}",
	     NULL},
		{"[]", "run_policy is JSON of type array, it must be an object"},
		{"{", "run_policy"},
		{"{\"cleanPodPolicy\":\"all\"}", "run_policy.cleanPodPolicy is \"all\", and must be one of None|Running|All"},
		{"{\"backoffLimit\":-1}", "run_policy.backoffLimit must be an integer from 0 to 2147483647"},
		{"{\"backoffLimit\":\"3\"}", "run_policy.backoffLimit must be an integer from 0 to 2147483647"},
		{"{\"suspend\":1}", "run_policy.suspend must be true or false"},
		{"{\"managedBy\":\"me\"}", "run_policy.managedBy is not a known member"},
	};
	struct rh_kind kind = test_pytorch;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		kind.run_policy = rows[i].policy;
		assert_kind(&kind, rows[i].words);
	}
	/* a plugin of 1.1 has no such field, whatever stands behind its struct */
	kind.head.size = offsetof(struct rh_kind, run_policy);
	assert_kind(&kind, NULL);
}

static void test_kind_json__rules_that_do_not_compile(void **state)
{
	static const struct {
		const char *rule; /* in JSON */
		const char *words;
	} rows[] = {
		{"[1, 2].all(x, x in [1, {'a': 2}['a']])", NULL},
		{"self.runPolicy.managedBy == '(' || self.runPolicy.managedBy == \\\")\\\"", NULL},
		{"self.runPolicy.managedBy == 'it\\\\'s ('", NULL},
		{"self.runPolicy.managedBy.matches(r'\\\\.')", NULL},
		{"self.runPolicy.managedBy == '''it's (''' ", NULL},
		{"true // (not this", NULL},
		{"(true", "cel_rules[0].rule: \")\" is expected; column 6"},
		{"true)", "cel_rules[0].rule: something follows the expression; column 5"},
		{"(true]", "\")\" is expected; column 6"},
		{"self.runPolicy.managedBy == 'b", "a text has no closing quote; column 29"},
		{"self.runPolicy.managedBy == '''b''", "a text has no closing quote"},
		{"self.runPolicy.managedBy == 'b\\\\", "a text has no closing quote"},
		{"foo(self)", "function foo() is not known; column 1"},
		{"self.noSuchField == 1", "the schema has no field noSuchField; column 5"},
		{"self.runPolicy.backoffLimit == 'x'", "== cannot be applied to (int, string); column 29"},
		{"self.runPolicy.managedBy.matches('(')", "regular expression: a ( is not closed"},
		{"self.runPolicy.managedBy", "it must be of type bool, and is of type string"},
		{"true\\n&& true", "cel_rules[0].message is missing: the rule has more than one line"},
		{"((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((", "a value is expected"},
	};
	struct rh_kind kind = test_pytorch;
	char rules[512];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(rules, sizeof(rules), "[{\"at\":\"spec\",\"rule\":\"%s\"}]", rows[i].rule);
		kind.cel_rules = rules;
		assert_kind(&kind, rows[i].words);
	}
}

static void test_kind_json__other_texts(void **state)
{
	static const struct {
		const char *schema, *columns, *rbac, *contract;
		const char *words;
	} rows[] = {
		{"{\"a\":{\"type\":\"string\"}}", NULL, NULL, "[]", NULL},
		{"{\"a\":7}", NULL, NULL, NULL, "spec_schema.a must be a schema, not JSON of type integer"},
		{"[]", NULL, NULL, NULL, "spec_schema is JSON of type array, it must be an object"},
		{NULL, "[{\"name\":\"A\",\"type\":\"date\",\"jsonPath\":\".a\",\"priority\":1}]", NULL, NULL, NULL},
		{NULL, "[{\"name\":7}]", NULL, NULL, "columns[0].name must be a string"},
		{NULL, "[{\"name\":\"A\",\"type\":\"time\",\"jsonPath\":\".a\"}]", NULL, NULL, "integer|number"},
		{NULL, NULL, "[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"get\"]}]", NULL, NULL},
		{NULL, NULL, "[\"pods\"]", NULL, "rbac_rules[0] must be an object"},
		{NULL, NULL, "[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"]}]", NULL, "rbac_rules[0].verbs is missing"},
		{NULL, NULL, "[{\"apiGroups\":[\"\"],\"resources\":\"pods\",\"verbs\":[\"get\"]}]", NULL,
	     "must be a list of strings"},
		{NULL, NULL, "[{\"apiGroups\":[\"\"],\"resources\":[7],\"verbs\":[\"get\"]}]", NULL,
	     "must be a list of strings"},
		{NULL, NULL, NULL, "[7]", "contract[0] must be an object"},
	};
	struct rh_kind kind = test_pytorch;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		kind.spec_schema = rows[i].schema;
		kind.columns = rows[i].columns;
		kind.rbac_rules = rows[i].rbac;
		kind.contract = rows[i].contract;
		assert_kind(&kind, rows[i].words);
	}
}

static void test_kind_json__survives_allocation_failures(void **state)
{
	struct rh_kind kind = test_pytorch;
	int r = RH_ENOMEM;

	(void)state;
	kind.cel_rules = "[{\"at\":\"spec\",\"rule\":\"true\"}]";
	kind.columns = "[{\"name\":\"A\",\"type\":\"date\",\"jsonPath\":\".a\"}]";
	for (long n = 0; r == RH_ENOMEM && n < 200; n++) {
		rh_mem_fail_after(n);
		r = rh_kind_json_check(&kind, NULL);
		rh_mem_fail_after(-1);
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kind_json__cel_rules),
		cmocka_unit_test(test_kind_json__run_policy),
		cmocka_unit_test(test_kind_json__rules_that_do_not_compile),
		cmocka_unit_test(test_kind_json__other_texts),
		cmocka_unit_test(test_kind_json__survives_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
