/* SPDX-License-Identifier: Apache-2.0 */
#include "job/rules/findings.h"
#include "job/support.h"

static void findings_expect(const struct rh_findings *findings, const char *wanted)
{
	rh_auto_str text = {0};

	rh_findings_print_v1(findings, &text);
	assert_string_equal(rh_str_text(&text), wanted);
}

static void test_findings__print_none(void **state)
{
	rh_auto_findings findings = {0};

	(void)state;
	findings_expect(&findings, "");
	assert_int_equal(rh_findings_add(&findings, RH_FINDING_WARNING, "spec", "w"), 0);
	findings_expect(&findings, "");
	assert_int_equal(rh_findings_errors(&findings), 0);
}

static void test_findings__print_one(void **state)
{
	rh_auto_findings findings = {0};

	(void)state;
	assert_int_equal(rh_findings_add(&findings, RH_FINDING_WARNING, "spec", "w"), 0);
	assert_int_equal(
		rh_findings_add(&findings, RH_FINDING_ERROR, "spec.x[Master].replicas", "Forbidden: must be %d", 1), 0);
	findings_expect(&findings, "spec.x[Master].replicas: Forbidden: must be 1");
	assert_int_equal(rh_findings_errors(&findings), 1);
	assert_int_equal(findings.count, 2);
}

static void test_findings__print_several(void **state)
{
	rh_auto_findings findings = {0};

	(void)state;
	assert_int_equal(rh_findings_add(&findings, RH_FINDING_ERROR, "a", "1"), 0);
	assert_int_equal(rh_findings_add(&findings, RH_FINDING_WARNING, "b", "2"), 0);
	assert_int_equal(rh_findings_add(&findings, RH_FINDING_ERROR, "c", "3"), 0);
	assert_int_equal(rh_findings_add(&findings, RH_FINDING_ERROR, "d", "4"), 0);
	findings_expect(&findings, "[a: 1, c: 3, d: 4]");
}

static void test_findings__same_is_added_once(void **state)
{
	rh_auto_findings findings = {0};

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(rh_findings_add(&findings, RH_FINDING_ERROR, "a", "%s", "same"), 0);
		assert_int_equal(rh_findings_add(&findings, RH_FINDING_WARNING, "a", "%s", "same"), 0);
		assert_int_equal(rh_findings_add(&findings, RH_FINDING_ERROR, "b", "%s", "same"), 0);
	}
	assert_int_equal(findings.count, 3);
	assert_int_equal(rh_findings_errors(&findings), 2);
}

static void test_findings__at_prints_the_place(void **state)
{
	rh_auto_findings findings = {0};
	struct rh_place spec = rh_place_member(NULL, "spec");
	struct rh_place map = rh_place_member(&spec, "replicas");
	struct rh_place key = rh_place_key(&map, "Master");

	(void)state;
	assert_int_equal(rh_findings_at(&findings, RH_FINDING_ERROR, &key, "no %s", "good"), 0);
	findings_expect(&findings, "spec.replicas[Master]: no good");
}

static void test_findings__bounded(void **state)
{
	rh_auto_findings findings = {0};

	(void)state;
	for (int i = 0; i < 3 * RH_FINDINGS_MAX; i++)
		assert_int_equal(rh_findings_add(&findings, RH_FINDING_WARNING, "a", "%d", i), 0);
	assert_int_equal(findings.count, RH_FINDINGS_MAX);
	assert_int_equal(rh_findings_add(&findings, RH_FINDING_ERROR, "a", "still reported"), 0);
	assert_int_equal(rh_findings_errors(&findings), 1);
}

static void test_findings__out_of_memory_stays(void **state)
{
	rh_auto_findings findings = {0};

	(void)state;
	rh_mem_fail_after(0);
	assert_int_equal(rh_findings_add(&findings, RH_FINDING_ERROR, "a", "b"), RH_ENOMEM);
	rh_mem_fail_after(-1);
	assert_true(findings.failed);
	assert_int_equal(rh_findings_add(&findings, RH_FINDING_ERROR, "a", "b"), RH_ENOMEM);
	rh_findings_deinit(&findings);
	assert_int_equal(rh_findings_add(&findings, RH_FINDING_ERROR, "a", "b"), 0);
}

static void test_findings__failing_allocations(void **state)
{
	struct rh_place place = rh_place_member(NULL, "spec");
	long failures = 0;
	int r;

	(void)state;
	do {
		rh_auto_findings findings = {0};

		rh_mem_fail_after(failures++);
		(void)rh_findings_at(&findings, RH_FINDING_ERROR, &place, "x");
		r = rh_findings_add(&findings, RH_FINDING_ERROR, "a", "b");
		rh_mem_fail_after(-1);
		assert_true(r == 0 || r == RH_ENOMEM);
	} while (r != 0);
	assert_true(failures > 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_findings__print_none),          cmocka_unit_test(test_findings__print_one),
		cmocka_unit_test(test_findings__print_several),       cmocka_unit_test(test_findings__same_is_added_once),
		cmocka_unit_test(test_findings__at_prints_the_place), cmocka_unit_test(test_findings__bounded),
		cmocka_unit_test(test_findings__out_of_memory_stays), cmocka_unit_test(test_findings__failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
