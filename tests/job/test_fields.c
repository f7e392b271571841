/* SPDX-License-Identifier: Apache-2.0 */
#include "job/fields.h"

#include <string.h>

#include "job/support.h"

static void test_fields__print_place(void **state)
{
	struct rh_place spec = rh_place_member(NULL, "spec");
	struct rh_place map = rh_place_member(&spec, "tfReplicaSpecs");
	struct rh_place key = rh_place_key(&map, "Worker");
	struct rh_place list = rh_place_member(&key, "ports");
	struct rh_place item = rh_place_item(&list, 12);
	struct rh_place name = rh_place_member(&item, "name");
	rh_auto_str webhook = {0};
	rh_auto_str schema = {0};

	(void)state;
	rh_place_print(&name, false, &webhook);
	rh_place_print(&name, true, &schema);
	assert_string_equal(rh_str_text(&webhook), "spec.tfReplicaSpecs[Worker].ports[12].name");
	assert_string_equal(rh_str_text(&schema), "spec.tfReplicaSpecs.Worker.ports[12].name");
}

/* What a read of member m gave: the result, and the value (booleans as 0 and 1, texts and objects as 1 when set). */
typedef int fields_read_fn(const struct rh_fields *fields, int64_t *value);

static int fields_read_object(const struct rh_fields *fields, int64_t *value)
{
	const struct rh_json *found = NULL;
	int r = rh_fields_object(fields, "m", &found);

	*value = found ? 1 : *value;
	return r;
}

static int fields_read_text(const struct rh_fields *fields, int64_t *value)
{
	const char *found = NULL;
	int r = rh_fields_text(fields, "m", &found);

	*value = found ? 1 : *value;
	return r;
}

static int fields_read_bool(const struct rh_fields *fields, int64_t *value)
{
	bool found = *value != 0;
	int r = rh_fields_bool(fields, "m", &found);

	*value = r == 0 ? found : *value;
	return r;
}

static int fields_read_int32(const struct rh_fields *fields, int64_t *value)
{
	int32_t found = (int32_t)*value;
	int r = rh_fields_int32(fields, "m", &found);

	*value = found;
	return r;
}

static int fields_read_int64(const struct rh_fields *fields, int64_t *value)
{
	return rh_fields_int64(fields, "m", value);
}

struct read_row {
	fields_read_fn *read;
	const char *json;
	int64_t before;
	int64_t after;
	const char *message; /* NULL: success */
};

#define IS_TYPE(found, wanted) \
	"spec.m: Invalid value: \"" found "\": spec.m in body must be of type " wanted ": \"" found "\""

static const struct read_row read_rows[] = {
	{fields_read_object, "{'m':{}}", 0, 1, NULL},
	{fields_read_object, "{}", 0, 0, NULL},
	{fields_read_object, "{'m':null}", 0, 0, NULL},
	{fields_read_object, "{'m':[]}", 0, 0, IS_TYPE("array", "object")},
	{fields_read_object, "{'m':'x'}", 0, 0, IS_TYPE("string", "object")},
	{fields_read_text, "{'m':''}", 0, 1, NULL},
	{fields_read_text, "{'m':null}", 0, 0, NULL},
	{fields_read_text, "{'M':'x'}", 0, 0, NULL},
	{fields_read_text, "{'m':7}", 0, 0, IS_TYPE("integer", "string")},
	{fields_read_text, "{'m':{}}", 0, 0, IS_TYPE("object", "string")},
	{fields_read_bool, "{'m':true}", 0, 1, NULL},
	{fields_read_bool, "{'m':false}", 1, 0, NULL},
	{fields_read_bool, "{}", 1, 1, NULL},
	{fields_read_bool, "{'m':'true'}", 0, 0, IS_TYPE("string", "boolean")},
	{fields_read_int32, "{'m':5}", 0, 5, NULL},
	{fields_read_int32, "{'m':5.0}", 0, 5, NULL},
	{fields_read_int32, "{'m':-2147483648}", 0, INT32_MIN, NULL},
	{fields_read_int32, "{}", 3, 3, NULL},
	{fields_read_int32, "{'m':null}", 3, 3, NULL},
	{fields_read_int32, "{'m':1.5}", 3, 3, IS_TYPE("number", "integer")},
	{fields_read_int32, "{'m':'one'}", 3, 3, IS_TYPE("string", "integer")},
	{fields_read_int32, "{'m':2147483648}", 3, 3,
     "spec.m: Invalid value: 2147483648: must be between -2147483648 and 2147483647"},
	{fields_read_int64, "{'m':4294967296}", 3, INT64_C(4294967296), NULL},
	{fields_read_int64, "{'m':[1]}", 3, 3, IS_TYPE("array", "integer")},
};

static void test_fields__read(void **state)
{
	struct rh_place place = rh_place_member(NULL, "spec");

	(void)state;
	for (size_t i = 0; i < sizeof(read_rows) / sizeof(read_rows[0]); i++) {
		const struct read_row *row = &read_rows[i];
		struct rh_error err = {0};
		rh_auto(json) object = test_json(row->json);
		struct rh_fields fields = {object, &place, &err};
		int64_t value = row->before;

		assert_int_equal(row->read(&fields, &value), row->message ? RH_EINVAL : 0);
		if (strstr(err.message, "; it is "))
			*strstr(err.message, "; it is ") = '\0'; /* what follows: test_fields__show */
		assert_string_equal(err.message, row->message ? row->message : "");
		assert_int_equal(value, row->after);
	}
}

/* A message has the value, and no more of it than one can read. */
static void test_fields__show(void **state)
{
	static const struct {
		const char *json;
		const char *shown;
	} rows[] = {
		{"'two'", "\"two\""},
		{"'a\\\"b'", "\"a\\\"b\""},
		{"1.5", "1.5"},
		{"null", "null"},
		{"[1,{'a':true}]", "[1,{\"a\":true}]"},
		{"'0123456789012345678901234567890123456789012345678901234567890123456789'",
	     "\"012345678901234567890123456789012345678901234567890123456789012..."},
		{"'0123456789012345678901234567890123456789012345678901234567890\xe2\x82\xac\xe2\x82\xac'",
	     "\"0123456789012345678901234567890123456789012345678901234567890..."},
	};
	struct rh_error err = {0};
	rh_auto(json) object = test_json("{'m':'two'}");
	struct rh_fields fields = {object, NULL, &err};
	int64_t value = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) json = test_json(rows[i].json);
		rh_auto_str shown = {0};

		rh_fields_show(json, &shown);
		assert_string_equal(rh_str_text(&shown), rows[i].shown);
	}
	assert_int_equal(fields_read_int32(&fields, &value), RH_EINVAL);
	assert_string_equal(err.message,
	                    "m: Invalid value: \"string\": m in body must be of type integer: \"string\"; it is \"two\"");
}

static void test_fields__nothing_has_no_members(void **state)
{
	struct rh_fields fields = {0};
	const char *text = "before";

	(void)state;
	assert_int_equal(rh_fields_text(&fields, "m", &text), 0);
	assert_string_equal(text, "before");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields__print_place),
		cmocka_unit_test(test_fields__read),
		cmocka_unit_test(test_fields__show),
		cmocka_unit_test(test_fields__nothing_has_no_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
