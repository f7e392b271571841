/* SPDX-License-Identifier: Apache-2.0 */
#include "local/pod/images.h"

#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/mem.h"
#include "base/os/file.h"
#include "local/pod/input.h"

/* In the test's folder: "venv", a virtual environment; "tool" with bin; "flat" without. */
static void make_folders(const struct test_pod *test)
{
	static const char *const folders[] = {"venv/bin", "tool/bin", "flat"};
	rh_auto_free char *config = rh_path_join(test->folder, "venv/pyvenv.cfg");

	for (int i = 0; i < 3; i++) {
		rh_auto_free char *folder = rh_path_join(test->folder, folders[i]);

		assert_int_equal(rh_dir_make(folder, 0755, NULL), 0);
	}
	assert_int_equal(rh_file_write_atomic(config, "home = /usr/bin\n", 16, 0644, NULL), 0);
}

/* @return @p text with each @ replaced by the test's folder; owned by the caller */
static char *with_folder(const struct test_pod *test, const char *text)
{
	rh_auto_str out = {0};

	for (; *text; text++) {
		if (*text == '@')
			rh_str_append(&out, test->folder);
		else
			rh_str_append_bytes(&out, text, 1);
	}
	return rh_str_take(&out);
}

static int apply(struct test_pod *test, const char *section, const char *image, struct rh_environment *environment,
                 struct rh_error *err)
{
	rh_auto_free char *text = with_folder(test, section);

	make_folders(test);
	assert_int_equal(rh_config_parse(test->config, "test.ini", text, strlen(text), err), 0);
	return rh_images_apply(test->config, image, environment, err);
}

static void test_images__become_environments(void **state)
{
	static const struct {
		const char *name;
		const char *section;
		const char *image;
		const char *path;        /* @ is the folder */
		const char *virtual_env; /* NULL: not set */
	} rows[] = {
		{"no section", "", "a/b:1", "/usr/bin", NULL},
		{"another image", "[images]\na/c:* = @/venv\n", "a/b:1", "/usr/bin", NULL},
		{"virtual environment", "[images]\na/b:1 = @/venv\n", "a/b:1", "@/venv/bin:/usr/bin", "@/venv"},
		{"glob", "[images]\na/*:1.? = @/venv\n", "a/b/c:1.2", "@/venv/bin:/usr/bin", "@/venv"},
		{"folder with bin", "[images]\n* = @/tool\n", "any", "@/tool/bin:/usr/bin", NULL},
		{"folder without bin", "[images]\n* = @/flat\n", "any", "@/flat:/usr/bin", NULL},
		{"list", "[images]\n* = @/flat:@/tool\n", "any", "@/flat:@/tool/bin:/usr/bin", NULL},
		{"registry with a port", "[images]\nhost:5000/a:* = @/flat\n", "host:5000/a:2", "@/flat:/usr/bin", NULL},
		{"another port", "[images]\nhost:5000/a:* = @/flat\n", "host:6000/a:2", "/usr/bin", NULL},
		{"tag and list", "[images]\na:1=@/flat:@/tool\n", "a:1", "@/flat:@/tool/bin:/usr/bin", NULL},
		{"the first that fits counts", "[images]\na* = @/flat\n* = @/tool\n", "abc", "@/flat:/usr/bin", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_environment environment = {0};
		struct rh_error err = {0};
		rh_auto_free char *path = NULL;
		rh_auto_free char *virtual_env = NULL;
		void *own = NULL;

		(void)test_pod_setup(&own);
		path = with_folder(own, rows[i].path);
		virtual_env = rows[i].virtual_env ? with_folder(own, rows[i].virtual_env) : NULL;
		assert_int_equal(rh_environment_set(&environment, "PATH", "/usr/bin", RH_ENV_INHERITED), 0);
		assert_int_equal(rh_environment_set(&environment, "PYTHONHOME", "/x", RH_ENV_INHERITED), 0);
		if (apply(own, rows[i].section, rows[i].image, &environment, &err) != 0)
			fail_msg("%s: %s", rows[i].name, err.message);
		if (strcmp(rh_environment_get(&environment, "PATH", RH_ENV_INHERITED), path) != 0 ||
		    !rh_text_equal(rh_environment_get(&environment, "VIRTUAL_ENV", RH_ENV_INHERITED), virtual_env))
			fail_msg("%s: %s", rows[i].name, rh_environment_get(&environment, "PATH", RH_ENV_INHERITED));
		assert_true((rh_environment_get(&environment, "PYTHONHOME", RH_ENV_INHERITED) == NULL) ==
		            (virtual_env != NULL));
		(void)test_pod_teardown(&own);
	}
}

static void test_images__missing_folders_are_refused(void **state)
{
	static const char *const sections[] = {"[images]\n* = @/none\n", "[images]\n* = relative\n",
	                                       "[images]\n* = @/tool:@/none\n", "[images]\n* = @/venv/pyvenv.cfg\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		rh_auto_environment environment = {0};
		struct rh_error err = {0};
		void *own = NULL;

		(void)test_pod_setup(&own);
		assert_int_equal(apply(own, sections[i], "x", &environment, &err), RH_EINVAL);
		assert_non_null(strstr(err.message, "[images] *: "));
		assert_int_equal(environment.count, 0);
		(void)test_pod_teardown(&own);
	}
}

static void test_images__path_need_not_be_set(void **state)
{
	rh_auto_environment environment = {0};
	rh_auto_free char *path = with_folder(*state, "@/flat:/usr/local/bin:/usr/bin:/bin");

	assert_int_equal(apply(*state, "[images]\n* = @/flat\n", "x", &environment, NULL), 0);
	assert_string_equal(rh_environment_get(&environment, "PATH", RH_ENV_INHERITED), path);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, test_pod_setup, test_pod_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_images__become_environments),
		cmocka_unit_test(test_images__missing_folders_are_refused),
		CASE(test_images__path_need_not_be_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
