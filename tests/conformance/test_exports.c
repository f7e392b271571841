/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/os/file.h"
#include "conformance/exports.h"

/** Longest file that is read. */
#define FILE_MAX ((size_t)64 << 20)

static void test_exports__a_plugin_has_one(void **state)
{
	rh_auto_free char *text = NULL;
	rh_auto_str names = {0};
	size_t length;

	(void)state;
	assert_int_equal(rh_file_read(RH_PLUGIN_DIR "/xgboost.so", FILE_MAX, &text, &length, NULL), 0);
	assert_int_equal(rh_exports(text, length, "another", &names), 1);
	assert_string_equal(rh_str_text(&names), "rh_plugin_entry_v1");
	assert_int_equal(rh_exports(text, length, "rh_plugin_entry_v1", &names), 0);
}

static void test_exports__every_cut_of_a_file_is_read_within_it(void **state)
{
	rh_auto_free char *text = NULL;
	size_t length;

	(void)state;
	assert_int_equal(rh_file_read(RH_PLUGIN_DIR "/xgboost.so", FILE_MAX, &text, &length, NULL), 0);
	for (size_t cut = 0; cut < length; cut += cut < 100 ? 1 : 997) {
		rh_auto_free char *part = rh_alloc(cut + 1);
		rh_auto_str names = {0};

		assert_non_null(part);
		memcpy(part, text, cut);
		(void)rh_exports(part, cut, "rh_plugin_entry_v1", &names);
	}
}

static void test_exports__what_is_no_elf_file_has_none(void **state)
{
	rh_auto_str names = {0};

	(void)state;
	assert_int_equal(rh_exports("#!/bin/sh\n", 10, "x", &names), 0);
	assert_int_equal(rh_exports("", 0, "x", &names), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exports__a_plugin_has_one),
		cmocka_unit_test(test_exports__every_cut_of_a_file_is_read_within_it),
		cmocka_unit_test(test_exports__what_is_no_elf_file_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
