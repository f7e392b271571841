/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "config/allow.h"

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_allow__names_and_hashes(void **state)
{
	struct rh_allow allow = {0};

	(void)state;
	assert_int_equal(rh_allow_add(&allow, " a,\tb@sha256:" HASH ", c ,", "x.ini:1", false, NULL), 0);
	assert_int_equal(rh_allow_add(&allow, "d", "x.ini:2", true, NULL), 0);
	assert_int_equal(allow.count, 4);
	assert_string_equal(rh_allow_find(&allow, "a")->sha256, "");
	assert_string_equal(rh_allow_find(&allow, "b")->sha256, HASH);
	assert_string_equal(rh_allow_find(&allow, "d")->origin, "x.ini:2");
	assert_false(rh_allow_find(&allow, "c")->additional);
	assert_true(rh_allow_find(&allow, "d")->additional);
	assert_null(rh_allow_find(&allow, "e"));
	rh_allow_deinit(&allow);
}

/* sha256sum prints small letters, other programs large ones. */
static void test_allow__letters_of_a_hash(void **state)
{
	struct rh_allow allow = {0};

	(void)state;
	assert_int_equal(rh_allow_add(&allow, "a@sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
	                              "x.ini:1", false, NULL),
	                 0);
	assert_string_equal(allow.items[0].sha256, HASH);
	rh_allow_deinit(&allow);
}

static void test_allow__refusals(void **state)
{
	static const char *const rows[][2] = {
		{"a@sha256:12", "allow: \"a@sha256:12\" is neither NAME nor NAME@sha256:HASH with 64 hexadecimal digits; "
	                    "`roundhouse plugins pin` prints it"},
		{"a@sha256:" HASH "0", "is neither NAME nor"},
		{"a@md5:" HASH, "is neither NAME nor"},
		{"a@" HASH, "is neither NAME nor"},
		{"@sha256:" HASH, "is neither NAME nor"},
		{"a@", "is neither NAME nor"},
		{"a.so", "allow: \"a.so\" is a file; write the plugin's name, as pytorch for pytorch.so"},
		{"/lib/a", "is a file"},
		{"a, b, a", "allow: \"a\" is named twice, before in x.ini:7; remove one of them"},
		{"a, a@sha256:" HASH, "is named twice"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_allow allow = {0};
		struct rh_error err = {0};

		if (rh_allow_add(&allow, rows[i][0], "x.ini:7", false, &err) != RH_EINVAL || !strstr(err.message, rows[i][1]))
			fail_msg("%s: \"%s\" does not say \"%s\"", rows[i][0], err.message, rows[i][1]);
		rh_allow_deinit(&allow);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allow__names_and_hashes),
		cmocka_unit_test(test_allow__letters_of_a_hash),
		cmocka_unit_test(test_allow__refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
