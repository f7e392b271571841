/* SPDX-License-Identifier: Apache-2.0 */
#include "local/pod/environment.h"

#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/mem.h"

static void fill(struct rh_environment *environment)
{
	static const char *const inherited[] = {"HOME=/home/ada", "EMPTY=", "odd", "=x", "EQUALS=a=b", NULL};

	assert_int_equal(rh_environment_inherit(environment, inherited), 0);
	assert_int_equal(rh_environment_set(environment, "FROM", "from", RH_ENV_FROM), 0);
	assert_int_equal(rh_environment_set(environment, "OWN", "own", RH_ENV_OWN), 0);
}

static void test_environment__inherits(void **state)
{
	rh_auto_environment environment = {0};

	(void)state;
	fill(&environment);
	assert_int_equal(environment.count, 5);
	assert_string_equal(rh_environment_get(&environment, "HOME", RH_ENV_INHERITED), "/home/ada");
	assert_string_equal(rh_environment_get(&environment, "EMPTY", RH_ENV_INHERITED), "");
	assert_string_equal(rh_environment_get(&environment, "EQUALS", RH_ENV_INHERITED), "a=b");
	assert_null(rh_environment_get(&environment, "odd", RH_ENV_INHERITED));
	assert_null(rh_environment_get(&environment, "HOME", RH_ENV_FROM));
	assert_null(rh_environment_get(&environment, "FROM", RH_ENV_OWN));
	assert_int_equal(rh_environment_inherit(&environment, NULL), 0);
}

static void test_environment__overlays(void **state)
{
	rh_auto_environment environment = {0};
	rh_auto(json) list = NULL;

	(void)state;
	fill(&environment);
	assert_int_equal(rh_environment_set(&environment, "HOME", "/root", RH_ENV_OWN), 0);
	assert_int_equal(rh_environment_set(&environment, "OWN", "again", RH_ENV_INHERITED), 0);
	rh_environment_remove(&environment, "EMPTY");
	rh_environment_remove(&environment, "not there");
	assert_string_equal(rh_environment_get(&environment, "HOME", RH_ENV_OWN), "/root");
	assert_string_equal(rh_environment_get(&environment, "OWN", RH_ENV_OWN), "again");
	list = rh_environment_json(&environment);
	assert_int_equal(rh_json_size(list), 4);
	assert_string_equal(rh_json_string(rh_json_item(list, 0)), "HOME=/root");
	assert_string_equal(rh_json_string(rh_json_item(list, 1)), "EQUALS=a=b");
	assert_string_equal(rh_json_string(rh_json_item(list, 3)), "OWN=again");
}

/* Rows of Kubernetes' own expansion_test.go, and of the difference that origins make. */
static void test_environment__expands(void **state)
{
	static const struct {
		const char *text;
		const char *expanded;
	} rows[] = {
		{"", ""},
		{"plain", "plain"},
		{"$(OWN)", "own"},
		{"a$(OWN)b$(FROM)c", "aownbfromc"},
		{"$$(OWN)", "$(OWN)"},
		{"$$$(OWN)", "$own"},
		{"$$$$(OWN)", "$$(OWN)"},
		{"$(UNKNOWN)", "$(UNKNOWN)"},
		{"$(HOME)", "$(HOME)"},
		{"$()", "$()"},
		{"$(OWN", "$(OWN"},
		{"$OWN", "$OWN"},
		{"$", "$"},
		{"$$", "$"},
		{"x$", "x$"},
		{"$(OWN))", "own)"},
		{"$($(OWN)", "$($(OWN)"},
		{"((OWN))", "((OWN))"},
		{"$ (OWN)", "$ (OWN)"},
		{"f000-$(OWN)-$$", "f000-own-$"},
	};
	rh_auto_environment environment = {0};

	(void)state;
	fill(&environment);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_str out = {0};

		rh_environment_expand(&environment, rows[i].text, RH_ENV_FROM, &out);
		if (strcmp(rh_str_text(&out), rows[i].expanded) != 0)
			fail_msg("%s: %s, not %s", rows[i].text, rh_str_text(&out), rows[i].expanded);
	}
}

static void test_environment__survives_a_lack_of_memory(void **state)
{
	bool done = false;

	(void)state;
	for (long i = 0; !done; i++) {
		static const char *const inherited[] = {"A=1", "B=2", NULL};
		rh_auto_environment environment = {0};
		rh_auto(json) list = NULL;
		rh_auto_str out = {0};

		(void)rh_mem_fail_after(i);
		done = rh_environment_inherit(&environment, inherited) == 0 &&
		       rh_environment_set(&environment, "A", "3", RH_ENV_OWN) == 0;
		rh_environment_expand(&environment, "$(A) and $(A)", RH_ENV_OWN, &out);
		list = rh_environment_json(&environment);
		done = done && list && !out.failed;
		(void)rh_mem_fail_after(-1);
		assert_in_range(i, 0, 1000);
		if (done)
			assert_string_equal(rh_str_text(&out), "3 and 3");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_environment__inherits),
		cmocka_unit_test(test_environment__overlays),
		cmocka_unit_test(test_environment__expands),
		cmocka_unit_test(test_environment__survives_a_lack_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
