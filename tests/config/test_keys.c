/* SPDX-License-Identifier: Apache-2.0 */
/* The table of keys against what reads them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/str.h"
#include "config/config.h"
#include "config/keys.h"

static void test_keys__each_default_and_example_is_valid(void **state)
{
	(void)state;
	for (const struct rh_config_key *row = rh_config_keys(); row->section; row++) {
		const char *const values[] = {row->value, row->example};

		for (size_t i = 0; i < 2; i++) {
			rh_auto(config) config = rh_config_new();
			rh_auto_str text = {0};
			struct rh_error err = {0};

			/* the one example that has to have a place to fill in */
			if (!values[i] || strstr(values[i], "HASH"))
				continue;
			rh_str_appendf(&text, "[%s]\n%s = %s\n", row->section, row->rule.key, values[i]);
			if (rh_config_parse(config, "/x.ini", text.data, text.length, &err) < 0)
				fail_msg("%s: %s", rh_str_text(&text), err.message);
		}
	}
}

static void test_keys__each_row_is_complete(void **state)
{
	(void)state;
	for (const struct rh_config_key *row = rh_config_keys(); row->section; row++) {
		rh_auto_str type = {0};
		size_t length = strlen(row->help);

		rh_setting_describe(&row->rule, &type);
		assert_true(type.length > 0);
		assert_true(length > 1 && row->help[length - 1] == '.');
		assert_true(row->value || row->example);
		assert_string_equal(rh_config_section_of(row->section), row->section);
		assert_ptr_equal(rh_config_key(row->section, row->rule.key), row);
	}
}

/* Both are true: a value that the table shows as the default is what a new configuration has. */
static void test_keys__defaults(void **state)
{
	rh_auto(config) config = rh_config_new();

	(void)state;
	for (const struct rh_config_key *row = rh_config_keys(); row->section; row++) {
		rh_auto(config) other = rh_config_new();
		rh_auto_str text = {0};

		if (!row->value)
			continue;
		rh_str_appendf(&text, "[%s]\n%s = %s\n", row->section, row->rule.key, row->value);
		assert_int_equal(rh_config_parse(other, "/x.ini", text.data, text.length, NULL), 0);
		assert_int_equal(other->plugin_time_limit, config->plugin_time_limit);
		assert_int_equal(other->restart_backoff, config->restart_backoff);
		assert_int_equal(other->restart_backoff_max, config->restart_backoff_max);
		assert_int_equal(other->grace_period, config->grace_period);
		assert_int_equal(other->max_restarts, config->max_restarts);
		assert_int_equal(other->progress, config->progress);
		assert_int_equal(other->port_first, config->port_first);
		assert_int_equal(other->gang.kind, config->gang.kind);
	}
}

static void test_keys__sections(void **state)
{
	(void)state;
	assert_string_equal(rh_config_section_of("comm rdma"), "comm NAME");
	assert_string_equal(rh_config_section_of("plugin dask"), "plugin NAME");
	assert_null(rh_config_section_of("plugin "));
	assert_null(rh_config_section_of("local x"));
	assert_true(rh_config_is_free("plugin dask"));
	assert_false(rh_config_is_free("plugins"));
	assert_non_null(rh_config_key("comm rdma", "env.UCX_TLS"));
	assert_null(rh_config_key("comm rdma", "env."));
	assert_null(rh_config_key("comm", "backends"));
	assert_non_null(rh_config_key("images", "example/digits:*"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys__each_default_and_example_is_valid),
		cmocka_unit_test(test_keys__each_row_is_complete),
		cmocka_unit_test(test_keys__defaults),
		cmocka_unit_test(test_keys__sections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
