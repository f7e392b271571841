/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities as an API server reads and prints them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../plugins/trainer/values/quantity.h"

static void quantity_assert(const char *text, int64_t times, const char *want)
{
	struct quantity quantity;
	char printed[QUANTITY_TEXT];

	assert_true(quantity_read(text, &quantity));
	quantity.milli *= times;
	quantity_print(&quantity, printed);
	assert_string_equal(printed, want);
}

static void test_quantity__printed(void **state)
{
	(void)state;
	quantity_assert("2", 3, "6");
	quantity_assert("3500m", 1, "3500m");
	quantity_assert("500m", 4, "2");
	quantity_assert("0.5", 3, "1500m");
	quantity_assert("1Gi", 3, "3Gi");
	quantity_assert("512Mi", 2, "1Gi");
	quantity_assert("64G", 2, "128G");
	quantity_assert("1000", 1, "1k");
	quantity_assert("0", 5, "0");
	quantity_assert("1Ti", 1024, "1Pi");
}

static void test_quantity__refused(void **state)
{
	struct quantity quantity;

	(void)state;
	assert_false(quantity_read("", &quantity));
	assert_false(quantity_read("Gi", &quantity));
	assert_false(quantity_read("1Xi", &quantity));
	assert_false(quantity_read("-1", &quantity));
	assert_false(quantity_read("99999999P", &quantity));
	assert_false(quantity_read("nan", &quantity));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantity__printed),
		cmocka_unit_test(test_quantity__refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
