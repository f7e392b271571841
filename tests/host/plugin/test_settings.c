/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os/file.h"
#include "host/fixture.h"
#include "host/plugin/settings.h"

static const char settings_schema[] =
	"{\"image\":{\"type\":\"string\",\"format\":\"image\"},"
	"\"tries\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":9},"
	"\"any\":{\"type\":\"integer\"},"
	"\"domain\":{\"type\":\"string\",\"format\":\"domain\"},"
	"\"text\":{\"type\":\"string\",\"format\":\"of-a-later-version\"},"
	"\"word\":{\"type\":\"string\",\"enum\":[\"one\",\"two\"]},"
	"\"flag\":{\"type\":\"boolean\"},"
	"\"file\":{\"type\":\"string\",\"format\":\"containers\",\"variables\":[\"Name\"]}}";

/* A host with one plugin, "fake", that says @p schema. */
struct settings {
	struct rh_plugin plugin;
	struct rh_config *config;
	struct rh_host *host;
	struct rh_error err;
};

static void settings_open(struct settings *test, const char *schema)
{
	memset(test, 0, sizeof(*test));
	test->plugin = *fixture_plugin();
	test->plugin.settings = schema;
	test->config = rh_config_new();
	assert_int_equal(rh_host_new(test->config, &test->host, NULL), 0);
	if (rh_host_add(test->host, "/lib/fake.so", &test->plugin, &test->err) < 0)
		fail_msg("%s", test->err.message);
}

static void settings_close(struct settings *test)
{
	rh_host_free(test->host);
	rh_config_free(test->config);
}

#define auto_settings __attribute__((cleanup(settings_close))) struct settings

static int settings_check(struct settings *test, const char *ini)
{
	assert_int_equal(rh_config_parse(test->config, "/etc/x.ini", ini, strlen(ini), NULL), 0);
	return rh_plugin_settings_check(test->config, test->host, &test->err);
}

static void test_settings__rows(void **state)
{
	static const char *const rows[][2] = {
		{"image = r.example/x:1\ntries = 9\nany = -3\ndomain =\ntext = x\nword = two\nflag = true\n", NULL},
		{"image = UPPER/x\n", "/etc/x.ini:2: image: \"UPPER/x\" is not a reference to an image"},
		{"\n\ntries = 0\n", "/etc/x.ini:4: tries: \"0\" is not a whole number from 1 to 9"},
		{"tries = 10\n", "is not a whole number from 1 to 9"},
		{"tries = x\n", "is not a whole number"},
		{"any = x\n", "is not a whole number"},
		{"domain = a_b\n", "domain: \"a_b\" is not a domain name"},
		{"text =\n", "text is empty"},
		{"word = three\n", "word: \"three\" is not one of one|two"},
		{"flag = yes\n", "neither true nor false"},
		{"imag = x\n", "/etc/x.ini:2: unknown key \"imag\" in section [plugin fake]; did you mean \"image\"?"},
		{"qqqqq = x\n", "unknown key \"qqqqq\" in section [plugin fake]; there are image, tries, any, domain"},
		{"file = /does/not/exist\n", "file: "},
		{"[plugin fak]\na = 1\n",
	     "/etc/x.ini:3: section [plugin fak]: there is no plugin of that name; did you mean fake?"},
		{"[plugin other]\na = 1\n", "there is no plugin of that name; remove the section"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_str ini = {0};
		auto_settings test;
		int r;

		settings_open(&test, settings_schema);
		rh_str_appendf(&ini, "[plugin fake]\n%s", rows[i][0]);
		r = settings_check(&test, rh_str_text(&ini));
		if (r != (rows[i][1] ? RH_EINVAL : 0) || (rows[i][1] && !strstr(test.err.message, rows[i][1])))
			fail_msg("%s: %d \"%s\", not \"%s\"", rows[i][0], r, test.err.message, rows[i][1] ? rows[i][1] : "");
	}
}

static void test_settings__who_says_nothing_takes_anything(void **state)
{
	auto_settings test;

	(void)state;
	settings_open(&test, NULL);
	assert_int_equal(settings_check(&test, "[plugin fake]\nwhatever = x\n"), 0);
}

static void test_settings__who_has_none(void **state)
{
	auto_settings test;

	(void)state;
	settings_open(&test, "{}");
	assert_int_equal(settings_check(&test, "[plugin fake]\nwhatever = x\n"), RH_EINVAL);
	assert_non_null(strstr(test.err.message, "the plugin has no settings: remove it"));
}

static void test_settings__flags_of_plugins_that_are_not_there(void **state)
{
	auto_settings test;

	(void)state;
	settings_open(&test, settings_schema);
	assert_int_equal(rh_config_set(test.config, "plugin gone", "a", "b", "--gone"), 0);
	assert_int_equal(rh_plugin_settings_check(test.config, test.host, &test.err), 0);
	assert_int_equal(rh_config_set(test.config, "plugin fake", "tries", "x", "--tries"), 0);
	assert_int_equal(rh_plugin_settings_check(test.config, test.host, &test.err), RH_EINVAL);
	assert_int_equal(strncmp(test.err.message, "--tries: tries: \"x\" is", strlen("--tries: tries: \"x\" is")), 0);
}

/* A relative name starts at the folder of the configuration. */
static void test_settings__a_file(void **state)
{
	char folder[] = "/tmp/rh-settings-XXXXXX";
	const struct rh_setting *setting;
	auto_settings test;

	(void)state;
	assert_non_null(mkdtemp(folder));
	rh_auto_free char *ini = rh_asprintf("%s/x.ini", folder);
	rh_auto_free char *yaml = rh_asprintf("%s/c.yaml", folder);
	settings_open(&test, settings_schema);
	assert_int_equal(rh_file_write_atomic(ini, "[plugin fake]\nfile = c.yaml\n", 28, 0600, NULL), 0);
	assert_int_equal(rh_file_write_atomic(yaml, "- {name: a, image: '{{.Name}}'}", 31, 0600, NULL), 0);
	assert_int_equal(rh_config_read(test.config, ini, &test.err), 0);
	for (int pass = 0; pass < 2; pass++) {
		if (rh_plugin_settings_check(test.config, test.host, &test.err) < 0)
			fail_msg("%s", test.err.message);
		setting = rh_config_find_setting(test.config, "plugin fake", "file");
		assert_string_equal(setting->content, "{\"name\":\"a\",\"image\":\"{{.Name}}\"}\n");
	}
	assert_int_equal(rh_dir_remove(folder, NULL), 0);
}

static void test_settings__a_file_beside_one_at_the_root(void **state)
{
	static const char text[] = "[plugin fake]\nfile = rh-none.yaml\n";
	auto_settings test;

	(void)state;
	settings_open(&test, settings_schema);
	assert_int_equal(rh_config_parse(test.config, "/x.ini", text, sizeof(text) - 1, &test.err), 0);
	assert_int_equal(rh_plugin_settings_check(test.config, test.host, &test.err), RH_EINVAL);
	if (!strstr(test.err.message, "\"/rh-none.yaml\""))
		fail_msg("%s", test.err.message);
}

static void test_settings__schemas(void **state)
{
	static const char *const rows[][2] = {
		{"[]", "settings is JSON of type array, it must be an object"},
		{"{", "settings: "},
		{"{\"a\":{}}", "settings: \"a\" has no type of string, integer and boolean"},
		{"{\"a\":{\"type\":\"number\"}}", "has no type of"},
		{"{\"a\":1}", "has no type of"},
		{"{\"a\":{\"type\":\"string\",\"enum\":[\"x\",1]}}", "settings: \"a\": enum is not a list of strings"},
		{"{\"a\":{\"type\":\"string\",\"enum\":\"x\"}}", "settings: \"a\": enum is not a list of strings"},
		{"{\"a\":{\"type\":\"string\",\"variables\":[null]}}", "settings: \"a\": variables is not a list of strings"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_error err = {0};

		assert_int_equal(rh_plugin_settings_check_schema(rows[i][0], &err), RH_EPLUGIN);
		if (!strstr(err.message, rows[i][1]))
			fail_msg("%s: %s", rows[i][0], err.message);
	}
	assert_int_equal(rh_plugin_settings_check_schema(settings_schema, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_settings__rows),
		cmocka_unit_test(test_settings__who_says_nothing_takes_anything),
		cmocka_unit_test(test_settings__who_has_none),
		cmocka_unit_test(test_settings__flags_of_plugins_that_are_not_there),
		cmocka_unit_test(test_settings__a_file),
		cmocka_unit_test(test_settings__a_file_beside_one_at_the_root),
		cmocka_unit_test(test_settings__schemas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
