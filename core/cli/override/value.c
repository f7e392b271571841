/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/override/value.h"

#include <string.h>

#include "base/str.h"

/* @return the type that the schema names; "" where it names none */
static const char *value_type(const struct rh_json *schema)
{
	const char *type = rh_json_string(rh_json_get(schema, "type"));

	return type ? type : "";
}

static bool value_is_int_or_string(const struct rh_json *schema)
{
	return rh_json_bool(rh_json_get(schema, "x-kubernetes-int-or-string"), false);
}

bool rh_value_is_list(const struct rh_json *schema)
{
	return strcmp(value_type(schema), "array") == 0;
}

bool rh_value_is_leaf(const struct rh_json *schema)
{
	static const char leaves[] = "string|integer|number|boolean";
	const char *type = value_type(schema);

	return value_is_int_or_string(schema) || rh_words_have(leaves, '|', type, strlen(type));
}

/* @return NULL: it is not JSON */
static struct rh_json *value_parse(const char *text)
{
	struct rh_json *json = NULL;

	return rh_json_parse(text, strlen(text), &json, NULL) < 0 ? NULL : json;
}

/* Quantities are strings: 2 and "2" are the same one. Other fields of this form hold a port's number or its name. */
static struct rh_json *value_int_or_string(const struct rh_json *schema, const char *text)
{
	rh_auto(json) json = rh_json_get(schema, "format") ? value_parse(text) : NULL;
	int64_t number;

	if (strcmp(text, "null") == 0)
		return rh_json_new_null();
	return rh_json_integer(json, &number) ? rh_json_new_integer(number) : rh_json_new_string(text);
}

static bool value_fits(const char *type, const struct rh_json *json)
{
	enum rh_json_type is = rh_json_type(json);
	int64_t number;

	if (is == RH_JSON_NULL || !*type)
		return true;
	if (strcmp(type, "integer") == 0)
		return rh_json_integer(json, &number);
	if (strcmp(type, "number") == 0)
		return is == RH_JSON_NUMBER;
	if (strcmp(type, "boolean") == 0)
		return is == RH_JSON_BOOL;
	return strcmp(type, "array") == 0 ? is == RH_JSON_ARRAY : is == RH_JSON_OBJECT;
}

static int value_refuse(const char *type, const char *text, struct rh_error *err)
{
	if (strcmp(type, "boolean") == 0)
		return rh_fail(err, RH_EINVAL, "\"%s\" is neither true nor false", text);
	if (strcmp(type, "array") == 0)
		return rh_fail(err, RH_EINVAL, "\"%s\" is not a list in JSON, as [\"a\", \"b\"]", text);
	if (strcmp(type, "object") == 0)
		return rh_fail(err, RH_EINVAL, "\"%s\" is not an object in JSON, as {\"a\": \"b\"}", text);
	return rh_fail(err, RH_EINVAL, "\"%s\" is not %s %s", text, *type == 'i' ? "an" : "a", type);
}

int rh_value_make(const struct rh_json *schema, const char *text, struct rh_json **ret_value, struct rh_error *err)
{
	const char *type = value_type(schema);
	rh_auto(json) json = NULL;

	if (value_is_int_or_string(schema))
		json = value_int_or_string(schema, text);
	else if (strcmp(type, "string") == 0)
		json = rh_json_new_string(text);
	else
		json = value_parse(text);
	if (!json && !*type)
		json = rh_json_new_string(text);
	else if (*type && strcmp(type, "string") != 0 && (!json || !value_fits(type, json)))
		return value_refuse(type, text, err);
	if (!json)
		return rh_fail_oom(err);
	*ret_value = rh_take(json);
	return 0;
}
