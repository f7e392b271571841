/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "job/support.h"
#include "job/values/names.h"

#define A63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

struct name_row {
	const char *name;
	bool label;
	bool dns1035;
	bool dns1123;
};

static const struct name_row name_rows[] = {
	{"a", true, true, true},
	{"mnist", true, true, true},
	{"my-name", true, true, true},
	{"a--b", true, true, true},
	{"a1", true, true, true},
	{"1a", true, false, true},
	{"0bad", true, false, true},
	{"9", true, false, true},
	{"", false, false, false},
	{"-a", false, false, false},
	{"a-", false, false, false},
	{"-", false, false, false},
	{"A", false, false, false},
	{"aB", false, false, false},
	{"a_b", false, false, false},
	{"a b", false, false, false},
	{"a/b", false, false, false},
	{"../x", false, false, false},
	{"a.b", false, false, true},
	{"a..b", false, false, false},
	{".a", false, false, false},
	{"a.", false, false, false},
	{"a.-b", false, false, false},
	{"a-.b", false, false, false},
	{"\xc3\xa4", false, false, false},
	{"a\n", false, false, false},
	{A63, true, true, true},
	{A63 "a", false, false, true},
	{A63 "." A63 "." A63 "." A63, false, false, false},
	{A63 "." A63 "." A63 ".aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false, false, true},
};

static void test_names__well_formed(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(name_rows) / sizeof(name_rows[0]); i++) {
		const struct name_row *row = &name_rows[i];

		if (rh_name_is_label(row->name) != row->label || rh_name_is_dns1035(row->name) != row->dns1035 ||
		    rh_name_is_dns1123(row->name) != row->dns1123)
			fail_msg("\"%s\"", row->name);
	}
}

static void test_names__replica(void **state)
{
	char buffer[RH_NAME_SIZE];

	(void)state;
	assert_string_equal(rh_name_replica("mnist", "Worker", 12, buffer), "mnist-worker-12");
	assert_string_equal(rh_name_replica("mnist", "PS", 0, buffer), "mnist-ps-0");
	assert_string_equal(rh_name_replica("a/b", "Master", 0, buffer), "a-b-master-0");
	assert_string_equal(rh_name_replica("j", "Worker", INT32_MAX, buffer), "j-worker-2147483647");
	assert_string_equal(rh_name_replica("mnist", "Launcher", -1, buffer), "mnist-launcher");
}

static void test_names__replica_is_cut(void **state)
{
	char job[2 * RH_NAME_SIZE];
	char buffer[RH_NAME_SIZE];

	(void)state;
	memset(job, 'x', sizeof(job));
	job[sizeof(job) - 1] = '\0';
	assert_int_equal(strlen(rh_name_replica(job, job, 1, buffer)), RH_NAME_SIZE - 1);
	assert_int_equal(strlen(rh_name_lower(job, buffer)), RH_NAME_SIZE - 1);
}

static void test_names__replica_is_known_by_its_name(void **state)
{
	static const struct {
		const char *name, *type;
		bool indexed;
		int job; /* length of its name; -1: it is none */
	} rows[] = {
		{"mnist-worker-12", "Worker", true, 5},
		{"a-worker-1-worker-0", "Worker", true, 10},
		{"mnist-ps-0", "PS", true, 5},
		{"mnist-worker-12", "PS", true, -1},
		{"mnist-launcher", "Launcher", false, 5},
		{"mnist-launcher-0", "Launcher", false, -1},
		{"mnist-launcher", "Launcher", true, -1},
		{"mnist-worker-", "Worker", true, -1},
		{"mnist-worker12", "Worker", true, -1},
		{"-worker-0", "Worker", true, -1},
		{"worker-0", "Worker", true, -1},
		{"12", "Worker", true, -1},
		{"", "Worker", true, -1},
		{"xworker-0", "Worker", true, -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t length = 0;
		bool is = rh_name_is_replica(rows[i].name, rows[i].type, rows[i].indexed, &length);

		if (is != (rows[i].job >= 0) || (is && (int)length != rows[i].job))
			fail_msg("%s as %s: %d, %zu", rows[i].name, rows[i].type, is, length);
	}
}

static void test_names__lower(void **state)
{
	char buffer[RH_NAME_SIZE];

	(void)state;
	assert_string_equal(rh_name_lower("Evaluator", buffer), "evaluator");
	assert_string_equal(rh_name_lower("AZ@[az19", buffer), "az@[az19");
	assert_string_equal(rh_name_lower("", buffer), "");
}

static void test_names__selector(void **state)
{
	char buffer[512];
	char small[8];

	(void)state;
	assert_string_equal(rh_name_selector("s-pt-success", "pytorchjob-controller", "Master", buffer, sizeof(buffer)),
	                    "training.kubeflow.org/job-name=s-pt-success,"
	                    "training.kubeflow.org/operator-name=pytorchjob-controller,"
	                    "training.kubeflow.org/replica-type=master");
	assert_string_equal(rh_name_selector("a", "b", "c", small, sizeof(small)), "trainin");
}

static void test_names__generate(void **state)
{
	static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
	char buffer[RH_NAME_SIZE], base[101];

	(void)state;
	assert_string_equal(rh_name_generate("a-", 0, buffer), "a-bbbbb");
	assert_string_equal(rh_name_generate("a-", 1, buffer), "a-bbbbc");
	assert_string_equal(rh_name_generate("a-", RH_NAME_SUFFIXES - 1, buffer), "a-99999");
	assert_string_equal(rh_name_generate("a-", RH_NAME_SUFFIXES, buffer), "a-bbbbb");
	assert_int_equal(strspn(rh_name_generate("", UINT32_MAX, buffer), alphabet), 5);
	memset(base, 'x', sizeof(base) - 1);
	base[sizeof(base) - 1] = '\0';
	assert_int_equal(strlen(rh_name_generate(base, 0, buffer)), 63);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names__well_formed),    cmocka_unit_test(test_names__replica),
		cmocka_unit_test(test_names__replica_is_cut), cmocka_unit_test(test_names__replica_is_known_by_its_name),
		cmocka_unit_test(test_names__generate),       cmocka_unit_test(test_names__lower),
		cmocka_unit_test(test_names__selector),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
