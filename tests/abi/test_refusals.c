/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/file.h"
#include "host/host.h"

/** A host without any plugin, and a folder for files of the test. */
struct refusals {
	struct rh_config *config;
	struct rh_host *host;
	struct rh_error err;
	char folder[64];
};

static void refusals_close(struct refusals *test)
{
	rh_host_free(test->host);
	rh_config_free(test->config);
	chmod(test->folder, 0700);
	assert_int_equal(rh_dir_remove(test->folder, NULL), 0);
}

static void refusals_open(struct refusals *test)
{
	memset(test, 0, sizeof(*test));
	snprintf(test->folder, sizeof(test->folder), "/tmp/test_refusals_XXXXXX");
	assert_non_null(mkdtemp(test->folder));
	test->config = rh_config_new();
	assert_int_equal(rh_host_new(test->config, &test->host, &test->err), 0);
}

#define auto_refusals __attribute__((cleanup(refusals_close))) struct refusals

static const char *refusals_case(const char *name, char path[512])
{
	snprintf(path, 512, "%s/%s.so", RH_ABI_PLUGIN_DIR, name);
	return path;
}

/** Copy a plugin file into the test's folder. */
static void refusals_copy(struct refusals *test, const char *name, char path[512])
{
	char from[512];
	rh_auto_free char *bytes = NULL;
	size_t length;

	assert_int_equal(rh_file_read(refusals_case(name, from), 16 << 20, &bytes, &length, &test->err), 0);
	snprintf(path, 512, "%s/copy.so", test->folder);
	assert_int_equal(rh_file_write_atomic(path, bytes, length, 0644, &test->err), 0);
}

static void refusals_check(struct refusals *test, const char *path, enum rh_plugin_state want, const char *words)
{
	struct rh_plugin_info info;

	assert_int_equal(rh_host_load_file(test->host, path, &test->err), want == RH_PLUGIN_READY ? 0 : RH_EPLUGIN);
	rh_host_plugin(test->host, rh_host_plugin_count(test->host) - 1, &info);
	if (info.state != want || !strstr(info.reason, words))
		fail_msg("%s: state %d, \"%s\" does not say \"%s\"", path, (int)info.state, info.reason, words);
	if (want != RH_PLUGIN_READY && (!strstr(test->err.message, path) || !strstr(test->err.message, words)))
		fail_msg("%s: \"%s\"", path, test->err.message);
}

/* Each message names both sides: what the file has, and what this host wants. */
static void test_refusals__files_that_do_not_fit(void **state)
{
	static const struct {
		const char *name;
		enum rh_plugin_state state;
		const char *words;
	} rows[] = {
		{"no_symbol", RH_PLUGIN_REFUSED, "it does not export rh_plugin_entry_v1, so it is not a plugin"},
		{"earlier_major", RH_PLUGIN_REFUSED,
	     "made for plugin ABI 0.x (it exports rh_plugin_entry_v0), this host has 1.2 (rh_plugin_entry_v1)"},
		{"later_major", RH_PLUGIN_REFUSED,
	     "made for plugin ABI 2.x (it exports rh_plugin_entry_v2), this host has 1.2 (rh_plugin_entry_v1)"},
		{"null_table", RH_PLUGIN_REFUSED, "rh_plugin_entry_v1() returned NULL"},
		{"short_struct", RH_PLUGIN_REFUSED, "its struct rh_plugin has 32 bytes, this host wants at least"},
		{"vendor", RH_PLUGIN_REFUSED, "is of the ABI of \"acme\", this host has that of \"roundhouse\""},
		{"table_major", RH_PLUGIN_REFUSED, "its struct rh_plugin is of plugin ABI 2.0, this host has 1.2"},
		{"no_describe", RH_PLUGIN_REFUSED, "it has no describe()"},
		{"no_kind", RH_PLUGIN_REFUSED, "it describes no kind"},
		{"kind_head", RH_PLUGIN_REFUSED, "its struct rh_kind has"},
		{"init_error", RH_PLUGIN_FAILED, "its init() failed: no accelerator"},
		{"a_good", RH_PLUGIN_READY, ""},
	};
	char path[512];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_refusals test;

		refusals_open(&test);
		refusals_check(&test, refusals_case(rows[i].name, path), rows[i].state, rows[i].words);
	}
}

static void test_refusals__two_plugins_for_one_kind(void **state)
{
	char path[512];
	auto_refusals test;

	(void)state;
	refusals_open(&test);
	refusals_check(&test, refusals_case("a_good", path), RH_PLUGIN_READY, "");
	refusals_check(&test, refusals_case("b_second_kind", path), RH_PLUGIN_REFUSED,
	               "its kind CaseJob.example.org is served by");
	refusals_check(&test, refusals_case("c_second_name", path), RH_PLUGIN_REFUSED,
	               "its name \"case\" is that of the plugin in");
	assert_non_null(strstr(test.err.message, "a_good.so"));
	assert_non_null(rh_host_kind(test.host, "example.org/v1", "CaseJob", NULL));
}

static void test_refusals__one_file_twice(void **state)
{
	char path[512];
	auto_refusals test;

	(void)state;
	refusals_open(&test);
	refusals_check(&test, refusals_case("a_good", path), RH_PLUGIN_READY, "");
	refusals_check(&test, path, RH_PLUGIN_REFUSED, "its name \"case\"");
}

static void test_refusals__not_on_the_allow_list(void **state)
{
	static const char ini[] = "[plugins]\nallow = pytorch\n";
	char path[512];
	auto_refusals test;

	(void)state;
	refusals_open(&test);
	assert_int_equal(rh_config_parse(test.config, "x.ini", ini, strlen(ini), NULL), 0);
	refusals_check(&test, refusals_case("a_good", path), RH_PLUGIN_DISABLED, "\"a_good\" is not among those");
	refusals_check(&test, refusals_case("vendor", path), RH_PLUGIN_DISABLED, "\"vendor\" is not among those");
}

/* The file is called as the list says, what is in it is not. */
static void test_refusals__a_name_that_is_not_on_the_allow_list(void **state)
{
	static const char ini[] = "[plugins]\nallow = a_good\n";
	char path[512];
	auto_refusals test;

	(void)state;
	refusals_open(&test);
	assert_int_equal(rh_config_parse(test.config, "x.ini", ini, strlen(ini), NULL), 0);
	refusals_check(&test, refusals_case("a_good", path), RH_PLUGIN_DISABLED, "\"case\" is not among those");
}

/* The bad ones of a folder do not take the good one down. */
static void test_refusals__a_folder_of_good_and_bad(void **state)
{
	struct rh_plugin_info info;
	size_t ready = 0;
	auto_refusals test;

	(void)state;
	setenv("ROUNDHOUSE_PLUGIN_PATH", "/nonexistent:" RH_ABI_PLUGIN_DIR, 1);
	refusals_open(&test);
	assert_int_equal(rh_host_load_all(test.host, &test.err), 0);
	assert_int_equal(rh_host_plugin_count(test.host), 14);
	for (size_t i = 0; i < rh_host_plugin_count(test.host); i++) {
		rh_host_plugin(test.host, i, &info);
		ready += info.state == RH_PLUGIN_READY;
	}
	assert_int_equal(ready, 1);
	rh_host_plugin(test.host, 0, &info);
	assert_non_null(strstr(info.path, "a_good.so"));
	assert_int_equal(info.state, RH_PLUGIN_READY);
}

static void test_refusals__what_is_no_shared_object(void **state)
{
	char path[512];
	auto_refusals test;

	(void)state;
	refusals_open(&test);
	snprintf(path, sizeof(path), "%s/copy.so", test.folder);
	refusals_check(&test, path, RH_PLUGIN_REFUSED, "cannot open it: No such file or directory");
	assert_int_equal(rh_file_write_atomic(path, "text\n", 5, 0644, NULL), 0);
	refusals_check(&test, path, RH_PLUGIN_REFUSED, "it does not load: ");
	refusals_check(&test, test.folder, RH_PLUGIN_REFUSED, "it is not a regular file");
	refusals_check(&test, "", RH_PLUGIN_REFUSED, "cannot open it");
}

static void test_refusals__files_that_every_user_can_write(void **state)
{
	char path[512];
	auto_refusals test;

	(void)state;
	refusals_open(&test);
	refusals_copy(&test, "a_good", path);
	assert_int_equal(chmod(path, 0646), 0);
	refusals_check(&test, path, RH_PLUGIN_REFUSED, "can be written by every user");
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(chmod(test.folder, 0777), 0);
	refusals_check(&test, path, RH_PLUGIN_REFUSED, "can be written by every user");
	assert_int_equal(chmod(test.folder, 0755), 0);
	refusals_check(&test, path, RH_PLUGIN_READY, "");
}

/* A link is judged by what it leads to. */
static void test_refusals__a_link_into_a_folder_that_every_user_can_write(void **state)
{
	char path[512], open_folder[512], target[512], link[512];
	auto_refusals test;

	(void)state;
	refusals_open(&test);
	refusals_copy(&test, "a_good", path);
	snprintf(open_folder, sizeof(open_folder), "%.64s/open", test.folder);
	snprintf(target, sizeof(target), "%.64s/open/copy.so", test.folder);
	snprintf(link, sizeof(link), "%.64s/link.so", test.folder);
	assert_int_equal(mkdir(open_folder, 0755), 0);
	assert_int_equal(rename(path, target), 0);
	assert_int_equal(symlink(target, link), 0);
	assert_int_equal(chmod(open_folder, 0777), 0);
	refusals_check(&test, link, RH_PLUGIN_REFUSED, "can be written by every user");
	assert_int_equal(chmod(open_folder, 0755), 0);
	refusals_check(&test, link, RH_PLUGIN_READY, "");
}

static void test_refusals__files_of_another_user(void **state)
{
	char path[512];
	auto_refusals test;

	(void)state;
	if (geteuid() != 0)
		skip();
	refusals_open(&test);
	refusals_copy(&test, "a_good", path);
	assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
	refusals_check(&test, path, RH_PLUGIN_REFUSED, "belongs to user 12345");
	assert_int_equal(chown(path, 0, (gid_t)-1), 0);
	assert_int_equal(chown(test.folder, 12345, (gid_t)-1), 0);
	refusals_check(&test, path, RH_PLUGIN_REFUSED, "belongs to user 12345");
}

static void test_refusals__a_folder_that_cannot_be_read_is_shown(void **state)
{
	char path[512];
	struct rh_plugin_info info;
	struct refusals test;

	(void)state;
	refusals_open(&test);
	snprintf(path, sizeof(path), "%s/file", test.folder);
	assert_int_equal(rh_file_write_atomic(path, "", 0, 0644, NULL), 0);
	rh_config_free(test.config);
	setenv("ROUNDHOUSE_PLUGIN_PATH", path, 1);
	test.config = rh_config_new();
	rh_host_free(test.host);
	assert_int_equal(rh_host_new(test.config, &test.host, NULL), 0);
	assert_int_equal(rh_host_load_all(test.host, NULL), 0);
	assert_int_equal(rh_host_plugin_count(test.host), 1);
	rh_host_plugin(test.host, 0, &info);
	assert_string_equal(info.path, path);
	assert_int_equal(info.state, RH_PLUGIN_REFUSED);
	assert_non_null(strstr(info.reason, "cannot read the folder"));
	refusals_close(&test);
}

static int refusals_clear_environment(void **state)
{
	(void)state;
	return unsetenv("ROUNDHOUSE_PLUGIN_PATH");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusals__files_that_do_not_fit),
		cmocka_unit_test(test_refusals__two_plugins_for_one_kind),
		cmocka_unit_test(test_refusals__one_file_twice),
		cmocka_unit_test(test_refusals__not_on_the_allow_list),
		cmocka_unit_test(test_refusals__a_name_that_is_not_on_the_allow_list),
		cmocka_unit_test_teardown(test_refusals__a_folder_of_good_and_bad, refusals_clear_environment),
		cmocka_unit_test(test_refusals__what_is_no_shared_object),
		cmocka_unit_test(test_refusals__files_that_every_user_can_write),
		cmocka_unit_test(test_refusals__a_link_into_a_folder_that_every_user_can_write),
		cmocka_unit_test(test_refusals__files_of_another_user),
		cmocka_unit_test_teardown(test_refusals__a_folder_that_cannot_be_read_is_shown, refusals_clear_environment),
	};

	return cmocka_run_group_tests(tests, refusals_clear_environment, NULL);
}
