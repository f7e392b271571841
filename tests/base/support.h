/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tests/base/support.h
 * @brief What the tests of core/base share.
 */
#ifndef RH_TESTS_BASE_SUPPORT_H
#define RH_TESTS_BASE_SUPPORT_H

/* cmocka.h needs the headers before it. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdbool.h>
#include <string.h>

#include "base/json.h"

/** A fallible operation for support_fail_each(): 0 or RH_ENOMEM. */
typedef int support_fn(void *arg);

/** Run @p fn with its first, second, ... allocation failing, until it succeeds. Before, it must say RH_ENOMEM. */
static inline void support_fail_each(support_fn *fn, void *arg)
{
	for (long n = 0; n < 100000; n++) {
		int r;

		rh_mem_fail_after(n);
		r = fn(arg);
		rh_mem_fail_after(-1);
		if (r == 0) {
			assert_true(n > 0);
			return;
		}
		assert_int_equal(r, RH_ENOMEM);
	}
	fail_msg("the operation never succeeded");
}

/** @return the tree of @p text, which must be valid; owned by the caller */
static inline struct rh_json *support_json(const char *text)
{
	struct rh_json *json = NULL;
	struct rh_error err = {0};

	if (rh_json_parse(text, strlen(text), &json, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	return json;
}

/** Check that @p json prints compactly as @p expected. */
static inline void support_assert_json(const struct rh_json *json, const char *expected)
{
	rh_auto_free char *text = rh_json_text(json);

	assert_non_null(text);
	assert_string_equal(text, expected);
}

/** Name a table's row in the output when a check in it fails. @return the name, for the debugger */
static inline const char *support_row(const char *name)
{
	print_message("           row: %s\n", name);
	return name;
}

#endif
