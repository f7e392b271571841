/* SPDX-License-Identifier: Apache-2.0 */
#include "host/plugin/resources.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "host/plugin/kind_json.h"
#include "job/rules/schema/schema.h"
#include "job/values/names.h"

/** Most definitions of one plugin. */
#define RESOURCES_MAX 32

/** A text of a row, and what it must be. */
struct resources_text {
	const char *name;
	bool (*fits)(const char *text);
	const char *rule;
};

static bool resources_is_kind(const char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");

	return *text && strchr(letters, *text) && length <= RH_LABEL_MAX && !text[length];
}

static bool resources_is_scope(const char *text)
{
	return strcmp(text, "Cluster") == 0 || strcmp(text, "Namespaced") == 0;
}

static const struct resources_text resources_texts[] = {
	{"group", rh_name_is_dns1123, "a domain name"},
	{"version", rh_name_is_dns1035, "a version as v1"},
	{"kind", resources_is_kind, "letters and digits, a capital letter first"},
	{"plural", rh_name_is_dns1035, "lower case"},
	{"singular", rh_name_is_dns1035, "lower case"},
	{"scope", resources_is_scope, "Cluster or Namespaced"},
};

#define RESOURCES_TEXTS (sizeof(resources_texts) / sizeof(resources_texts[0]))

static bool resources_knows(const char *name)
{
	static const char *const others[] = {"schema", "columns", "shortNames"};

	for (size_t i = 0; i < RESOURCES_TEXTS; i++) {
		if (strcmp(name, resources_texts[i].name) == 0)
			return true;
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (strcmp(name, others[i]) == 0)
			return true;
	}
	return false;
}

static int resources_check_texts(const struct rh_json *row, size_t index, struct rh_error *err)
{
	for (size_t i = 0; i < RESOURCES_TEXTS; i++) {
		const struct resources_text *text = &resources_texts[i];
		const char *value = rh_json_string(rh_json_get(row, text->name));

		if (!value)
			return rh_fail(err, RH_EPLUGIN, "resources[%zu].%s %s", index, text->name,
			               rh_json_get(row, text->name) ? "must be a string" : "is missing");
		if (!text->fits(value))
			return rh_fail(err, RH_EPLUGIN, "resources[%zu].%s is \"%.64s\", and must be %s", index, text->name, value,
			               text->rule);
	}
	return 0;
}

static int resources_check_names(const struct rh_json *row, size_t index, struct rh_error *err)
{
	const struct rh_json *names = rh_json_get(row, "shortNames");

	if (names && rh_json_type(names) != RH_JSON_ARRAY)
		return rh_fail(err, RH_EPLUGIN, "resources[%zu].shortNames must be a list of strings", index);
	for (const struct rh_json *name = rh_json_first(names); name; name = rh_json_next(name)) {
		if (!rh_json_string(name) || !rh_name_is_dns1035(rh_json_string(name)))
			return rh_fail(err, RH_EPLUGIN, "resources[%zu].shortNames must be names in lower case", index);
	}
	return 0;
}

static int resources_check_schema(const struct rh_json *row, size_t index, struct rh_error *err)
{
	const struct rh_json *schema = rh_json_get(row, "schema");
	rh_auto_free char *what = rh_asprintf("resources[%zu].schema", index);

	if (!what)
		return rh_fail_oom(err);
	if (rh_json_type(schema) != RH_JSON_OBJECT)
		return rh_fail(err, RH_EPLUGIN, "%s must be an object", what);
	for (const struct rh_json *field = rh_json_first(schema); field; field = rh_json_next(field)) {
		if (rh_json_type(field) != RH_JSON_OBJECT)
			return rh_fail(err, RH_EPLUGIN, "%s.%.64s must be a schema, not JSON of type %s", what, rh_json_key(field),
			               rh_json_type_name(field));
	}
	return rh_schema_compile_fields(what, schema, err);
}

static int resources_check_row(const struct rh_json *row, size_t index, struct rh_error *err)
{
	rh_auto_free char *columns = NULL;
	int r;

	if (rh_json_type(row) != RH_JSON_OBJECT)
		return rh_fail(err, RH_EPLUGIN, "resources[%zu] must be an object", index);
	for (const struct rh_json *member = rh_json_first(row); member; member = rh_json_next(member)) {
		if (!resources_knows(rh_json_key(member)))
			return rh_fail(err, RH_EPLUGIN, "resources[%zu].%.64s is not a known member", index, rh_json_key(member));
	}
	r = resources_check_texts(row, index, err);
	if (r == 0)
		r = resources_check_names(row, index, err);
	if (r == 0 && rh_json_get(row, "columns")) {
		columns = rh_json_text(rh_json_get(row, "columns"));
		r = columns ? rh_kind_json_check_columns(columns, err) : rh_fail_oom(err);
		r = r == RH_EPLUGIN ? rh_wrap(err, r, "resources[%zu]", index) : r;
	}
	return r == 0 ? resources_check_schema(row, index, err) : r;
}

int rh_resources_parse(const char *text, struct rh_json **ret_list, struct rh_error *err)
{
	rh_auto(json) list = NULL;
	size_t index = 0;
	int r = rh_json_parse(text, strlen(text), &list, err);

	if (r < 0)
		return r == RH_ENOMEM ? r : rh_wrap(err, RH_EPLUGIN, "resources");
	if (rh_json_type(list) != RH_JSON_ARRAY)
		return rh_fail(err, RH_EPLUGIN, "resources is JSON of type %s, it must be an array", rh_json_type_name(list));
	if (rh_json_size(list) > RESOURCES_MAX)
		return rh_fail(err, RH_EPLUGIN, "resources has more than %d definitions", RESOURCES_MAX);
	for (const struct rh_json *row = rh_json_first(list); row && r == 0; row = rh_json_next(row))
		r = resources_check_row(row, index++, err);
	if (r == 0)
		*ret_list = rh_take(list);
	return r;
}
