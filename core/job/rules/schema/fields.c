/* SPDX-License-Identifier: Apache-2.0 */
/* Names, types and enums: whether a value is what its schema says, before it is asked how large it is. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "job/fields.h"
#include "job/rules/misplaced.h"
#include "job/rules/schema/schema.h"
#include "job/rules/schema/walk.h"
#include "job/values/quantity.h"

/* Most candidates that a "did you mean" looks at; the largest type of Kubernetes has 39 fields. */
#define FIELDS_CANDIDATES_MAX 96

/* @return whether a number has no fraction, of any size */
static bool fields_is_whole(const struct rh_json *value)
{
	double number = rh_json_number(value, 0.5);

	return trunc(number) == number;
}

bool rh_schema_type_fits(const struct rh_json *schema, const struct rh_json *value)
{
	const char *type = rh_json_string(rh_json_get(schema, "type"));
	enum rh_json_type is = rh_json_type(value);
	int64_t integer;

	if (rh_json_bool(rh_json_get(schema, "x-kubernetes-int-or-string"), false))
		return is == RH_JSON_STRING ||
		       (rh_json_get(schema, "format") ? fields_is_whole(value) : rh_json_integer(value, &integer));
	if (!type)
		return true;
	if (strcmp(type, "object") == 0)
		return is == RH_JSON_OBJECT;
	if (strcmp(type, "array") == 0)
		return is == RH_JSON_ARRAY;
	if (strcmp(type, "string") == 0)
		return is == RH_JSON_STRING;
	if (strcmp(type, "boolean") == 0)
		return is == RH_JSON_BOOL;
	if (strcmp(type, "integer") == 0)
		return fields_is_whole(value);
	return strcmp(type, "number") != 0 || is == RH_JSON_NUMBER;
}

static const char *fields_type_wanted(const struct rh_json *schema)
{
	const char *type = rh_json_string(rh_json_get(schema, "type"));

	return type ? type : "integer or string";
}

/* The API server's words (golden bad-replicas-string), and the value, where the server names its type. */
int rh_schema_wrong_type(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	rh_auto_str shown = {0};

	rh_fields_show(value, &shown);
	if (shown.failed)
		return RH_ENOMEM;
	return rh_findings_add(walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path),
	                       "Invalid value: %s: must be of type %s", rh_str_text(&shown), fields_type_wanted(schema));
}

/* @return whether Go reads numbers of this schema into an int32 or int64 */
static bool fields_is_integer(const struct rh_json *schema)
{
	const char *type = rh_json_string(rh_json_get(schema, "type"));

	return type ? strcmp(type, "integer") == 0 : rh_json_get(schema, "format") != NULL;
}

/* A whole number must also be of the size that Go reads it into. */
static int fields_integer(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	bool small = rh_text_equal(rh_json_string(rh_json_get(schema, "format")), "int32");
	int64_t least = small ? INT32_MIN : INT64_MIN, most = small ? INT32_MAX : INT64_MAX, integer;
	char buffer[RH_JSON_NUMBER_SIZE];

	if (rh_json_integer(value, &integer) && integer >= least && integer <= most)
		return 0;
	return rh_findings_add(walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path),
	                       "Invalid value: %s: must be between %" PRId64 " and %" PRId64,
	                       rh_json_number_text(value, buffer), least, most);
}

/* What to do about a field that is not known where it stands. */
static void fields_advise(const struct rh_schema_walk *walk, const struct rh_json *properties, const char *key,
                          struct rh_str *out)
{
	const char *candidates[FIELDS_CANDIDATES_MAX];
	const struct rh_json *member;
	const char *nearest;
	size_t count = 0, length = walk->path.length - strlen(key);
	rh_auto_str home = {0}, place = {0};

	for (member = rh_json_first(properties); member && count < FIELDS_CANDIDATES_MAX; member = rh_json_next(member))
		candidates[count++] = rh_json_key(member);
	nearest = rh_nearest(key, candidates, count);
	rh_str_append_bytes(&place, walk->path.data, length);
	if (rh_misplaced_home(walk->document, rh_str_text(&place), key, &home))
		rh_str_appendf(out, "move it to %s", rh_str_text(&home));
	else if (nearest)
		rh_str_appendf(out, "did you mean \"%s\"?", nearest);
	else if (!walk->passed_on)
		rh_str_append(out, "remove it, the API server does not keep it");
	out->failed = out->failed || home.failed || place.failed;
}

/* The API server drops what a definition does not name, which kubectl refuses to have done; a pod's spec is another
 * matter, for what this build does not know a newer API server may. */
int rh_schema_unknown_field(struct rh_schema_walk *walk, const struct rh_json *properties, const char *key)
{
	enum rh_severity severity = walk->passed_on ? RH_FINDING_WARNING : RH_FINDING_ERROR;
	const char *version = rh_json_string_at(walk->document, "kubernetes");
	size_t count = walk->findings->count;
	rh_auto_str detail = {0};

	fields_advise(walk, properties, key, &detail);
	if (walk->passed_on)
		rh_str_appendf(&detail, "%sKubernetes %s has no such field here; it is passed on to the pods as it is",
		               detail.length ? " " : "", version ? version : "");
	if (detail.failed)
		return RH_ENOMEM;
	if (rh_findings_add(walk->findings, severity, rh_str_text(&walk->path), "Unknown field: %s", rh_str_text(&detail)) <
	    0)
		return RH_ENOMEM;
	if (walk->findings->count > count)
		walk->findings->items[count].unknown_field = true;
	return 0;
}

static int fields_required(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	const struct rh_json *name;
	int r;

	for (name = rh_json_first(rh_json_get(schema, "required")); name; name = rh_json_next(name)) {
		const char *key = rh_json_string(name);

		if (!key || (rh_json_get(value, key) && rh_json_type(rh_json_get(value, key)) != RH_JSON_NULL))
			continue;
		r = rh_findings_add(walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path),
		                    "Required value: member \"%s\" is missing", key);
		if (r < 0)
			return r;
	}
	return 0;
}

static int fields_enum(struct rh_schema_walk *walk, const struct rh_json *words, const struct rh_json *value)
{
	rh_auto_str supported = {0};
	rh_auto_str shown = {0};

	for (const struct rh_json *word = rh_json_first(words); word; word = rh_json_next(word)) {
		if (rh_json_equal(word, value))
			return 0;
		rh_str_append(&supported, supported.length ? ", \"" : "\"");
		if (rh_json_string(word))
			rh_str_append(&supported, rh_json_string(word));
		else
			rh_json_print(word, false, &supported);
		rh_str_append(&supported, "\"");
	}
	rh_fields_show(value, &shown);
	if (supported.failed || shown.failed)
		return RH_ENOMEM;
	return rh_findings_add(walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path),
	                       "Unsupported value: %s: supported values: %s", rh_str_text(&shown), rh_str_text(&supported));
}

static int fields_quantity(struct rh_schema_walk *walk, const struct rh_json *value)
{
	rh_auto_free char *text = NULL;
	int64_t milli;

	if (rh_quantity_from_json(value, &milli, NULL) == 0)
		return 0;
	text = rh_json_text(value);
	if (!text)
		return RH_ENOMEM;
	return rh_findings_add(walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path),
	                       "Invalid value: %s: " RH_QUANTITY_RULE, text);
}

/* Of a pod those without a format, elsewhere those with the pattern of quantities. */
static bool fields_is_quantity(const struct rh_schema_walk *walk, const struct rh_json *schema)
{
	const char *pattern = rh_json_string(rh_json_get(schema, "pattern"));

	if (!rh_json_get(schema, "x-kubernetes-int-or-string") || rh_json_get(schema, "format"))
		return false;
	return walk->passed_on || (pattern && strstr(pattern, "KMGTPE"));
}

int rh_schema_fields(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	if (rh_json_get(schema, "enum"))
		return fields_enum(walk, rh_json_get(schema, "enum"), value);
	if (fields_is_quantity(walk, schema))
		return fields_quantity(walk, value);
	if (rh_json_type(value) == RH_JSON_NUMBER && fields_is_integer(schema))
		return fields_integer(walk, schema, value);
	return rh_json_type(value) == RH_JSON_OBJECT ? fields_required(walk, schema, value) : 0;
}
