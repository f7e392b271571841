/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "conformance/jobs/fill.h"

static const char schema_text[] = "{\"type\": \"object\", \"properties\": {"
								  "\"word\": {\"type\": \"string\", \"enum\": [\"b\", \"c\"]},"
								  "\"ports\": {\"type\": \"string\", \"pattern\": \"^[0-9]+:[0-9]+$\"},"
								  "\"count\": {\"type\": \"integer\", \"minimum\": 3, \"maximum\": 9},"
								  "\"self\": {\"$ref\": \"again\"},"
								  "\"list\": {\"type\": \"array\", \"items\": {\"type\": \"boolean\"}}}}";
static const char definitions_text[] =
	"{\"again\": {\"type\": \"object\", \"properties\": {\"again\": {\"$ref\": \"again\"}}}}";

static char *fill(enum rh_fill how)
{
	rh_auto(json) schema = NULL;
	rh_auto(json) definitions = NULL;
	rh_auto(json) value = NULL;

	assert_int_equal(rh_json_parse(schema_text, strlen(schema_text), &schema, NULL), 0);
	assert_int_equal(rh_json_parse(definitions_text, strlen(definitions_text), &definitions, NULL), 0);
	value = rh_fill(schema, definitions, how);
	assert_non_null(value);
	rh_json_remove(value, "self");
	return rh_json_text(value);
}

static void test_fill__usual_values_fit(void **state)
{
	rh_auto_free char *text = fill(RH_FILL_USUAL);

	(void)state;
	assert_string_equal(text, "{\"word\":\"b\",\"ports\":\"1:2\",\"count\":3,\"list\":[true]}");
}

static void test_fill__limits_are_kept(void **state)
{
	rh_auto_free char *large = fill(RH_FILL_LARGE);
	rh_auto_free char *small = fill(RH_FILL_SMALL);

	(void)state;
	assert_non_null(strstr(large, "\"count\":9"));
	assert_non_null(strstr(small, "\"count\":3,\"list\":[]"));
}

static void test_fill__wrong_types_and_null(void **state)
{
	rh_auto_free char *wrong = fill(RH_FILL_TYPE);
	rh_auto_free char *null = fill(RH_FILL_NULL);

	(void)state;
	assert_non_null(strstr(wrong, "\"word\":[null]"));
	assert_non_null(strstr(wrong, "\"list\":{}"));
	assert_string_equal(null, "{\"word\":null,\"ports\":null,\"count\":null,\"list\":null}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fill__usual_values_fit),
		cmocka_unit_test(test_fill__limits_are_kept),
		cmocka_unit_test(test_fill__wrong_types_and_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
