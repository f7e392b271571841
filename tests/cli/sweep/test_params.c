/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sweep/params.h"

#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "cli/commands.h"

/* Read a command line of `sweep`. @return 0 or RH_EINVAL */
static int read_params(const char *const *words, struct rh_json **ret_params, struct rh_error *err)
{
	char *argv[16];
	struct rh_cli cli;
	int argc = 0;

	for (; words[argc]; argc++)
		argv[argc] = (char *)words[argc];
	assert_int_equal(rh_cli_parse(&rh_command_sweep, argc, argv, &cli, err), 0);
	return rh_sweep_params_read(&cli, ret_params, err);
}

static void test_params__read(void **state)
{
	static const char *const words[] = {"job.yaml", "--param", "lr=0.1,0.01", "--param=a[x=y].z=,b",
	                                    "--param",  "n=7",     NULL};
	rh_auto(json) params = NULL;
	rh_auto_free char *text = NULL;

	(void)state;
	assert_int_equal(read_params(words, &params, NULL), 0);
	text = rh_json_text(params);
	assert_string_equal(
		text, "[{\"name\":\"lr\",\"values\":[\"0.1\",\"0.01\"]},{\"name\":\"a[x=y].z\",\"values\":[\"\",\"b\"]},"
			  "{\"name\":\"n\",\"values\":[\"7\"]}]");
	assert_int_equal(rh_sweep_params_size(params), 4);
}

static void test_params__read_refuses(void **state)
{
	static const struct {
		const char *words[20];
		const char *message;
	} rows[] = {
		{{"f", NULL}, "there is none"},
		{{"f", "--param", "lr", NULL}, "\"lr\" is not of the form NAME=VALUE,VALUE"},
		{{"f", "--param", "=1", NULL}, "is not of the form"},
		{{"f", "--param", "a=1", "--param", "a=2", NULL}, "\"a\" stands twice"},
		{{"f", "--param=a=1", "--param=b=1", "--param=c=1", "--param=d=1", "--param=e=1", "--param=g=1", "--param=h=1",
	      "--param=i=1", NULL},
	     "there are more than 7"},
		{{"f", "--param=a=,,,,,,,,,", "--param=b=,,,,,,,,,", "--param=c=,,,,,,,,,,", NULL},
	     "there are more than 1000 combinations"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_json *params = NULL;
		struct rh_error err = {0};

		assert_int_equal(read_params(rows[i].words, &params, &err), RH_EINVAL);
		assert_non_null(strstr(err.message, rows[i].message));
		assert_null(params);
	}
}

static void test_params__values(void **state)
{
	static const char *const words[] = {"f", "--param", "a=1,2", "--param", "b=x,y,z", NULL};
	static const char *const wanted[] = {"[\"1\",\"x\"]", "[\"1\",\"y\"]", "[\"1\",\"z\"]",
	                                     "[\"2\",\"x\"]", "[\"2\",\"y\"]", "[\"2\",\"z\"]"};
	rh_auto(json) params = NULL;

	(void)state;
	assert_int_equal(read_params(words, &params, NULL), 0);
	assert_int_equal(rh_sweep_params_size(params), 6);
	for (size_t i = 0; i < 6; i++) {
		rh_auto(json) values = rh_sweep_params_values(params, i);
		rh_auto_free char *text = rh_json_text(values);

		assert_string_equal(text, wanted[i]);
	}
}

static void test_params__choose(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		rh_auto(json) chosen = rh_sweep_params_choose(50, 10, seed);
		rh_auto(json) again = rh_sweep_params_choose(50, 10, seed);
		int64_t before = -1;

		assert_int_equal(rh_json_size(chosen), 10);
		assert_true(rh_json_equal(chosen, again));
		for (const struct rh_json *item = rh_json_first(chosen); item; item = rh_json_next(item)) {
			int64_t here;

			assert_true(rh_json_integer(item, &here) && here > before && here < 50);
			before = here;
		}
	}
	{
		rh_auto(json) all = rh_sweep_params_choose(5, 9, 1);

		assert_int_equal(rh_json_size(all), 5);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_params__read),
		cmocka_unit_test(test_params__read_refuses),
		cmocka_unit_test(test_params__values),
		cmocka_unit_test(test_params__choose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
