/* SPDX-License-Identifier: Apache-2.0 */
/* The definitions of pods that one object needs, out of the text that has all of them. */
#include <string.h>

#include "base/str.h"
#include "job/rules/schema/schema.h"

/* What a value leads to is being added. */
struct used {
	struct rh_json *definitions;
	struct rh_error *err;
};

static int used_value(const struct used *used, const struct rh_json *schema, const struct rh_json *value);

/* Find a definition in the text, which has one on each line: `  "NAME": {...},`.
 * @param start of its line
 * @return its length; 0: there is none */
static size_t used_find(const char *start, const char **ret_text)
{
	size_t length, found;
	const char *text = rh_schema_pod_text(&length);
	const char *at = memmem(text, length, start, strlen(start));

	if (!at)
		return 0;
	*ret_text = at + strlen(start);
	found = strcspn(*ret_text, "\n");
	return found - ((*ret_text)[found - 1] == ',' ? 1 : 0);
}

static int used_parse(const struct used *used, const char *name, struct rh_json **ret_schema)
{
	rh_auto_free char *start = rh_asprintf("\n  \"%s\": ", name);
	const char *text = NULL;
	size_t length = start ? used_find(start, &text) : 0;
	int r = start ? 0 : rh_fail_oom(used->err);

	if (length == 0)
		return r;
	r = rh_json_parse(text, length, ret_schema, used->err);
	if (r == 0 && rh_json_set(used->definitions, name, *ret_schema) < 0)
		r = rh_fail_oom(used->err);
	return r;
}

/* @param[out] ret_schema borrowed; NULL: no definition has that name */
static int used_define(const struct used *used, const char *name, const struct rh_json **ret_schema)
{
	struct rh_json *schema = rh_json_get(used->definitions, name);
	int r = schema ? 0 : used_parse(used, name, &schema);

	if (r == 0)
		*ret_schema = schema;
	return r;
}

static int used_members(const struct used *used, const struct rh_json *schema, const struct rh_json *object)
{
	const struct rh_json *properties = rh_json_get(schema, "properties");
	const struct rh_json *additional = rh_json_get(schema, "additionalProperties");
	int r = 0;

	for (const struct rh_json *member = rh_json_first(object); member && r == 0; member = rh_json_next(member)) {
		const struct rh_json *known = rh_json_get(properties, rh_json_key(member));

		if (known || additional)
			r = used_value(used, known ? known : additional, member);
	}
	return r;
}

static int used_value(const struct used *used, const struct rh_json *schema, const struct rh_json *value)
{
	const char *name = rh_json_string_at(schema, "$ref");
	const struct rh_json *items;
	int r = name ? used_define(used, name, &schema) : 0;

	if (r < 0 || !schema || rh_json_type(value) != RH_JSON_ARRAY)
		return r < 0 || rh_json_type(value) != RH_JSON_OBJECT ? r : used_members(used, schema, value);
	items = rh_json_get(schema, "items");
	for (const struct rh_json *item = rh_json_first(value); item && items && r == 0; item = rh_json_next(item))
		r = used_value(used, items, item);
	return r;
}

int rh_schema_add_used(struct rh_json *document, const struct rh_json *object, struct rh_error *err)
{
	const struct used used = {.definitions = rh_json_get(document, "definitions"), .err = err};
	const char *root = rh_json_string_at(document, "root");

	return used_value(&used, rh_json_get(used.definitions, root ? root : ""), object);
}
