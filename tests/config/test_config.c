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

#include "base/os/clock.h"
#include "base/os/file.h"
#include "config/config.h"
#include "config/first_fault.h"

/* What the environment says must not reach the defaults under test. */
static int config_clear_environment(void **state)
{
	(void)state;
	unsetenv("ROUNDHOUSE_PLUGIN_PATH");
	unsetenv("ROUNDHOUSE_CONFIG");
	setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
	return 0;
}

static int config_parse(struct rh_config *config, const char *text, struct rh_error *err)
{
	return rh_config_parse(config, "/etc/x/roundhouse.ini", text, strlen(text), err);
}

static void test_config__defaults(void **state)
{
	rh_auto(config) config = rh_config_new();

	(void)state;
	assert_non_null(config);
	assert_true(config->plugin_dir_count >= 1);
	assert_non_null(strstr(config->plugin_dirs[0], "/../lib/roundhouse/plugins"));
	assert_int_equal(config->plugin_allow.count, 0);
	assert_int_equal(config->restart_backoff, RH_SECOND);
	assert_int_equal(config->restart_backoff_max, 300 * RH_SECOND);
	assert_int_equal(config->grace_period, 30 * RH_SECOND);
	assert_int_equal(config->port_first, 20000);
	assert_int_equal(config->port_last, 29999);
	assert_string_equal(config->state_dir, "/run/user/7/roundhouse");
}

static void test_config__state_dir_without_a_runtime_dir(void **state)
{
	static const char *const none[] = {NULL, "", "relative"};
	char want[64];

	(void)state;
	snprintf(want, sizeof(want), "/tmp/roundhouse-%lu", (unsigned long)geteuid());
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		if (none[i])
			setenv("XDG_RUNTIME_DIR", none[i], 1);
		else
			unsetenv("XDG_RUNTIME_DIR");
		rh_auto(config) config = rh_config_new();
		assert_string_equal(config->state_dir, want);
	}
}

static void test_config__reads_everything(void **state)
{
	rh_auto(config) config = rh_config_new();
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(config_parse(config,
	                              "[plugins]\npath = one:/two\nallow = a, b c\n"
	                              "[controller]\n"
	                              "[local]\nrestart-backoff = 500ms\nrestart-backoff-max = 2m\ngrace-period = 5\n"
	                              "max-restarts = 0\n"
	                              "state-dir = state\nports = 21000-21999\n",
	                              &err),
	                 0);
	assert_int_equal(config->plugin_dir_count, 2);
	assert_string_equal(config->plugin_dirs[0], "/etc/x/one");
	assert_string_equal(config->plugin_dirs[1], "/two");
	assert_int_equal(config->plugin_allow.count, 3);
	assert_string_equal(config->plugin_allow.items[2].name, "c");
	assert_int_equal(config->restart_backoff, RH_SECOND / 2);
	assert_int_equal(config->restart_backoff_max, 120 * RH_SECOND);
	assert_int_equal(config->grace_period, 5 * RH_SECOND);
	assert_int_equal(config->max_restarts, 0);
	assert_string_equal(config->state_dir, "/etc/x/state");
	assert_int_equal(config->port_first, 21000);
	assert_int_equal(config->port_last, 21999);
}

static void test_config__a_gang_scheduler(void **state)
{
	rh_auto(config) config = rh_config_new();
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(config->gang.kind, RH_GANG_NONE);
	assert_int_equal(config_parse(config, "[controller]\ngang-scheduler = volcano\n", &err), 0);
	assert_int_equal(config->gang.kind, RH_GANG_VOLCANO);
	assert_int_equal(config_parse(config, "[controller]\ngang-scheduler = volcno\n", &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "gang-scheduler: gang scheduler \"volcno\" is not known; write none, volcano"));
	assert_int_equal(config->gang.kind, RH_GANG_VOLCANO);
}

static void test_config__the_first_fault(void **state)
{
	rh_auto(config) config = rh_config_new();
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(rh_config_fault_source(NULL), RH_FAULT_STATUS);
	assert_int_equal(rh_config_fault_source(config), RH_FAULT_STATUS);
	assert_int_equal(config_parse(config, "[controller]\nfirst-fault = messages\n", &err), 0);
	assert_int_equal(rh_config_fault_source(config), RH_FAULT_MESSAGES);
	assert_int_equal(config_parse(config, "[controller]\nfirst-fault = logs\n", &err), 0);
	assert_int_equal(rh_config_fault_source(config), RH_FAULT_LOGS);
	assert_int_equal(config_parse(config, "[controller]\nfirst-fault = log\n", &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "first-fault: \"log\""));
}

static void test_config__set_counts_more_than_a_file(void **state)
{
	rh_auto(config) config = rh_config_new();

	(void)state;
	assert_int_equal(config_parse(config, "[plugin tensorflow]\ncluster-domain = a\n", NULL), 0);
	assert_int_equal(rh_config_set(config, "plugin tensorflow", "cluster-domain", "b", "--flag"), 0);
	assert_string_equal(rh_config_setting(config, "plugin tensorflow", "cluster-domain"), "b");
	assert_string_equal(rh_config_find_setting(config, "plugin tensorflow", "cluster-domain")->origin, "--flag");
	assert_string_equal(config->settings[0].origin, "/etc/x/roundhouse.ini:2");
}

static void test_config__settings_keep_order_and_the_last_counts(void **state)
{
	rh_auto(config) config = rh_config_new();

	(void)state;
	assert_int_equal(config_parse(config, "[plugin a]\nk = 1\nk = 2\n[images]\nx/* = /venv\n[plugin b]\nk = 3\n", NULL),
	                 0);
	assert_int_equal(config->setting_count, 4);
	assert_string_equal(config->settings[2].section, "images");
	assert_string_equal(config->settings[2].key, "x/*");
	assert_string_equal(rh_config_setting(config, "plugin a", "k"), "2");
	assert_string_equal(rh_config_setting(config, "plugin b", "k"), "3");
	assert_null(rh_config_setting(config, "plugin c", "k"));
	assert_null(rh_config_setting(config, "plugin a", "K"));
}

static void test_config__refusals(void **state)
{
	static const struct {
		const char *text;
		const char *words;
	} rows[] = {
		{"[plugin]\nx = 1\n", "unknown section [plugin]"},
		{"[plugns]\npath = x\n", "did you mean [plugins]?"},
		{"[other]\nx = 1\n", "unknown section [other]"},
		{"[local]\ngrace-perod = 1\n", "did you mean \"grace-period\"?"},
		{"[local]\nx = 1\n", "unknown key \"x\" in section [local]; there are restart-backoff, restart-backoff-max,"},
		{"x = 1\n[local]\n", "key \"x\" stands before any section"},
		{"[plugins]\nports = 1-2\n", "unknown key \"ports\" in section [plugins]"},
		{"[controller]\nx = 1\n", "unknown key \"x\" in section [controller]"},
		{"[local]\ngrace-period = soon\n", "\"soon\" is not a duration"},
		{"[local]\nrestart-backoff = -1s\n", "not a duration"},
		{"[local]\nmax-restarts = -1\n", "max-restarts: \"-1\" is not a count"},
		{"[local]\nmax-restarts = 3x\n", "max-restarts: \"3x\" is not a count"},
		{"[local]\nmax-restarts = 99999999999\n", "is not a count"},
		{"[local]\nports = 20000\n", "not a range of ports"},
		{"[local]\nports = 80-90\n", "not a range of ports"},
		{"[local]\nports = 30000-20000\n", "not a range of ports"},
		{"[local]\nports = 20000-70000\n", "not a range of ports"},
		{"[local]\nports = 20000-20001x\n", "not a range of ports"},
		{"[local]\nports = a-b\n", "not a range of ports"},
		{"[local]\nstate-dir =\n", "state-dir is empty"},
		{"[local]\nrestart-backoff = 10m\n", "restart-backoff-max is shorter"},
		{"[local\n", "roundhouse.ini:1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(config) config = rh_config_new();
		struct rh_error err = {0};

		if (config_parse(config, rows[i].text, &err) != RH_EINVAL || !strstr(err.message, rows[i].words))
			fail_msg("%s: \"%s\" does not say \"%s\"", rows[i].text, err.message, rows[i].words);
	}
}

static void test_config__refusals_name_file_and_line(void **state)
{
	rh_auto(config) config = rh_config_new();
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(config_parse(config, "; comment\n[local]\n\nports = 1\n", &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "/etc/x/roundhouse.ini:4"));
}

static void test_config__folders_start_at_that_of_the_file(void **state)
{
	static const char *const rows[][2] = {{"/x.ini", "/p"}, {"/etc/x.ini", "/etc/p"}, {"x.ini", "./p"}, {"a/x", "a/p"}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static const char text[] = "[plugins]\npath = p\n";
		rh_auto(config) config = rh_config_new();

		assert_non_null(config);
		assert_int_equal(rh_config_parse(config, rows[i][0], text, strlen(text), NULL), 0);
		assert_string_equal(config->plugin_dirs[0], rows[i][1]);
	}
}

static void test_config__the_environment_wins_over_the_file(void **state)
{
	(void)state;
	setenv("ROUNDHOUSE_PLUGIN_PATH", "/a::b:", 1);
	rh_auto(config) config = rh_config_new();

	assert_int_equal(config_parse(config, "[plugins]\npath = /c\n", NULL), 0);
	assert_int_equal(config->plugin_dir_count, 2);
	assert_string_equal(config->plugin_dirs[0], "/a");
	assert_string_equal(config->plugin_dirs[1], "b");
}

static void test_config__an_empty_environment_counts_as_none(void **state)
{
	(void)state;
	setenv("ROUNDHOUSE_PLUGIN_PATH", "", 1);
	rh_auto(config) config = rh_config_new();

	assert_int_equal(config_parse(config, "[plugins]\npath = /c\n", NULL), 0);
	assert_string_equal(config->plugin_dirs[0], "/c");
}

static void test_config__find_takes_the_named_file(void **state)
{
	char path[] = "/tmp/test_config_XXXXXX";
	static const char text[] = "[local]\nports = 22000-22001\n";
	int fd = mkstemp(path);
	rh_auto(config) config = rh_config_new();
	rh_auto(config) second = rh_config_new();

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(rh_fd_write_all(fd, text, strlen(text), NULL), 0);
	close(fd);
	assert_int_equal(rh_config_find(config, path, NULL), 0);
	assert_int_equal(config->port_first, 22000);
	setenv("ROUNDHOUSE_CONFIG", path, 1);
	assert_int_equal(rh_config_find(second, NULL, NULL), 0);
	assert_int_equal(second->port_first, 22000);
	unlink(path);
	assert_int_equal(rh_config_find(second, NULL, NULL), RH_ENOENT);
	assert_int_equal(rh_config_find(second, path, NULL), RH_ENOENT);
}

/* A folder with roundhouse.ini and plugins.d. */
struct place {
	char root[64], main[96], additions[96];
};

static void place_write(const char *folder, const char *name, const char *text)
{
	rh_auto_free char *path = rh_path_join(folder, name);

	assert_int_equal(rh_file_write_atomic(path, text, strlen(text), 0644, NULL), 0);
}

static void place_open(struct place *place, const char *text)
{
	snprintf(place->root, sizeof(place->root), "/tmp/test_config_XXXXXX");
	assert_non_null(mkdtemp(place->root));
	snprintf(place->main, sizeof(place->main), "%s/roundhouse.ini", place->root);
	snprintf(place->additions, sizeof(place->additions), "%s/plugins.d", place->root);
	assert_int_equal(rh_dir_make_exact(place->additions, 0755, NULL), 0);
	place_write(place->root, "roundhouse.ini", text);
}

static void place_close(struct place *place)
{
	assert_int_equal(rh_dir_remove(place->root, NULL), 0);
}

#define auto_place __attribute__((cleanup(place_close))) struct place

static void test_config__additions_are_read_in_the_order_of_their_names(void **state)
{
	rh_auto(config) config = rh_config_new();
	struct rh_error err = {0};
	auto_place place;

	(void)state;
	place_open(&place, "[plugins]\nallow = a\n[local]\nports = 21000-21001\n");
	place_write(place.additions, "20-b.ini", "[plugins]\nallow = c\n[local]\nports = 23000-23001\n[plugin c]\nk = 2\n");
	place_write(place.additions, "10-a.ini", "[plugins]\nallow = b\npath = p\n[local]\nports = 22000-22001\n");
	place_write(place.additions, ".hidden.ini", "not read");
	place_write(place.additions, "README", "not read");
	if (rh_config_find(config, place.main, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(config->port_first, 23000);
	assert_int_equal(config->plugin_allow.count, 3);
	assert_true(config->plugin_allow.closed);
	assert_string_equal(config->plugin_allow.items[1].name, "b");
	assert_string_equal(rh_config_setting(config, "plugin c", "k"), "2");
	assert_non_null(strstr(config->plugin_dirs[0], "/plugins.d/p"));
	assert_non_null(strstr(rh_config_find_setting(config, "local", "ports")->origin, "/plugins.d/20-b.ini:4"));
}

/* Or the package of one plugin would switch all others off. */
static void test_config__an_addition_does_not_close_the_list(void **state)
{
	rh_auto(config) config = rh_config_new();
	auto_place place;

	(void)state;
	place_open(&place, "");
	place_write(place.additions, "dask.ini", "[plugins]\nallow = dask\n");
	assert_int_equal(rh_config_find(config, place.main, NULL), 0);
	assert_int_equal(config->plugin_allow.count, 1);
	assert_false(config->plugin_allow.closed);
}

static void test_config__bad_additions(void **state)
{
	static const struct {
		mode_t file, folder;
		const char *text, *words;
	} rows[] = {
		{0644, 0755, "[locl]\nports = 1\n", "plugins.d/a.ini:2: unknown section [locl]; did you mean [local]?"},
		{0644, 0755, "[plugins]\nallow = a\n", "plugins.d/a.ini:2: allow: \"a\" is named twice, before in "},
		{0666, 0755, "", "plugins.d/a.ini\": file \""},
		{0644, 0777, "", "can be written by every user; take that away with chmod o-w"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(config) config = rh_config_new();
		rh_auto_free char *file = NULL;
		struct rh_error err = {0};
		auto_place place;

		place_open(&place, "[plugins]\nallow = a\n");
		place_write(place.additions, "a.ini", rows[i].text);
		file = rh_path_join(place.additions, "a.ini");
		assert_int_equal(chmod(file, rows[i].file) | chmod(place.additions, rows[i].folder), 0);
		if (rh_config_find(config, place.main, &err) != RH_EINVAL || !strstr(err.message, rows[i].words))
			fail_msg("\"%s\" does not say \"%s\"", err.message, rows[i].words);
	}
}

static void test_config__a_public_key(void **state)
{
	rh_auto(config) config = rh_config_new();
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(config_parse(config, "[plugins]\npublic-key = RWQ\n", &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "public-key: \"RWQ\" is not a public key of minisign; write the second line of "
	                                    "minisign.pub, which starts with RW"));
	assert_int_equal(config_parse(config,
	                              "[plugins]\npublic-key = RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\n",
	                              &err),
	                 0);
	assert_non_null(config->plugin_public_key);
}

static void test_config__the_shipped_file_is_the_defaults(void **state)
{
	rh_auto(config) config = rh_config_new();
	struct rh_error err = {0};

	(void)state;
	if (rh_config_read(config, RH_SOURCE_DIR "/conf/roundhouse.ini", &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(config->port_first, 20000);
	assert_int_equal(config->setting_count, 0);
}

static void test_config__survives_allocation_failures(void **state)
{
	static const char text[] = "[plugins]\npath = a:b\nallow = x y\n[plugin p]\nk = v\n[local]\nstate-dir = s\n";
	int r = RH_ENOMEM;

	(void)state;
	for (long n = 0; r == RH_ENOMEM && n < 500; n++) {
		rh_mem_fail_after(n);
		rh_auto(config) config = rh_config_new();
		r = config ? config_parse(config, text, NULL) : RH_ENOMEM;
		rh_mem_fail_after(-1);
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_config__defaults, config_clear_environment),
		cmocka_unit_test_setup(test_config__state_dir_without_a_runtime_dir, config_clear_environment),
		cmocka_unit_test_setup(test_config__reads_everything, config_clear_environment),
		cmocka_unit_test_setup(test_config__a_gang_scheduler, config_clear_environment),
		cmocka_unit_test_setup(test_config__the_first_fault, config_clear_environment),
		cmocka_unit_test_setup(test_config__set_counts_more_than_a_file, config_clear_environment),
		cmocka_unit_test_setup(test_config__settings_keep_order_and_the_last_counts, config_clear_environment),
		cmocka_unit_test_setup(test_config__refusals, config_clear_environment),
		cmocka_unit_test_setup(test_config__refusals_name_file_and_line, config_clear_environment),
		cmocka_unit_test_setup(test_config__folders_start_at_that_of_the_file, config_clear_environment),
		cmocka_unit_test_setup(test_config__the_environment_wins_over_the_file, config_clear_environment),
		cmocka_unit_test_setup(test_config__an_empty_environment_counts_as_none, config_clear_environment),
		cmocka_unit_test_setup(test_config__find_takes_the_named_file, config_clear_environment),
		cmocka_unit_test_setup(test_config__additions_are_read_in_the_order_of_their_names, config_clear_environment),
		cmocka_unit_test_setup(test_config__an_addition_does_not_close_the_list, config_clear_environment),
		cmocka_unit_test_setup(test_config__bad_additions, config_clear_environment),
		cmocka_unit_test_setup(test_config__a_public_key, config_clear_environment),
		cmocka_unit_test_setup(test_config__the_shipped_file_is_the_defaults, config_clear_environment),
		cmocka_unit_test_setup(test_config__survives_allocation_failures, config_clear_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
