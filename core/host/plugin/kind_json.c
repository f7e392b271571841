/* SPDX-License-Identifier: Apache-2.0 */
#include "host/plugin/kind_json.h"

#include <stdint.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "host/plugin/lookup_json.h"
#include "job/kind.h"
#include "job/lookups/lookups.h"
#include "job/rules/schema/schema.h"
#include "job/status/conditions.h"
#include "job/status/shown.h"
#include "job/values/patterns.h"

/** What a member of a row holds. */
enum kind_json_value { KIND_JSON_TEXT, KIND_JSON_TEXTS, KIND_JSON_FLAG, KIND_JSON_NUMBER, KIND_JSON_COUNT };

/** A member that a row may have; name NULL ends a list. */
struct kind_json_member {
	const char *name;
	enum kind_json_value value;
	bool required;
	const char *words; /**< separated by '|': what the text must be; NULL: anything */
};

/** One of a kind's texts, and what its rows are. */
struct kind_json_text {
	const char *field;
	const char *text;
	const struct kind_json_member *members; /**< of each row; NULL: anything */
};

/* apiextensions.k8s.io/v1 ValidationRule, and "at" */
static const struct kind_json_member kind_json_cel[] = {
	{"at", KIND_JSON_TEXT, true, "spec|replicas"},
	{"rule", KIND_JSON_TEXT, true, NULL},
	{"message", KIND_JSON_TEXT, false, NULL},
	{"messageExpression", KIND_JSON_TEXT, false, NULL},
	{"fieldPath", KIND_JSON_TEXT, false, NULL},
	{"reason", KIND_JSON_TEXT, false, "FieldValueInvalid|FieldValueForbidden|FieldValueRequired|FieldValueDuplicate"},
	{"optionalOldSelf", KIND_JSON_FLAG, false, NULL},
	{NULL, KIND_JSON_TEXT, false, NULL},
};

/* CustomResourceColumnDefinition */
static const struct kind_json_member kind_json_columns[] = {
	{"name", KIND_JSON_TEXT, true, NULL},     {"type", KIND_JSON_TEXT, true, "integer|number|string|boolean|date"},
	{"jsonPath", KIND_JSON_TEXT, true, NULL}, {"description", KIND_JSON_TEXT, false, NULL},
	{"format", KIND_JSON_TEXT, false, NULL},  {"priority", KIND_JSON_NUMBER, false, NULL},
	{NULL, KIND_JSON_TEXT, false, NULL},
};

/* rbac.authorization.k8s.io/v1 PolicyRule, without URLs: no object is one */
static const struct kind_json_member kind_json_rbac[] = {
	{"apiGroups", KIND_JSON_TEXTS, true, NULL},
	{"resources", KIND_JSON_TEXTS, true, NULL},
	{"resourceNames", KIND_JSON_TEXTS, false, NULL},
	{"verbs", KIND_JSON_TEXTS, true, NULL},
	{NULL, KIND_JSON_TEXT, false, NULL},
};

/* what a job can set in its run policy, but for what names other things of a cluster */
static const struct kind_json_member kind_json_run_policy[] = {
	{"cleanPodPolicy", KIND_JSON_TEXT, false, "None|Running|All"},
	{"backoffLimit", KIND_JSON_COUNT, false, NULL},
	{"ttlSecondsAfterFinished", KIND_JSON_COUNT, false, NULL},
	{"activeDeadlineSeconds", KIND_JSON_COUNT, false, NULL},
	{"suspend", KIND_JSON_FLAG, false, NULL},
	{NULL, KIND_JSON_TEXT, false, NULL},
};

/* see rh_kind.conditions */
static const struct kind_json_member kind_json_condition[] = {
	{"type", KIND_JSON_TEXT, false, NULL},         {"reason", KIND_JSON_TEXT, false, NULL},
	{"message", KIND_JSON_TEXT, false, NULL},      {"falseReason", KIND_JSON_TEXT, false, NULL},
	{"falseMessage", KIND_JSON_TEXT, false, NULL}, {"event", KIND_JSON_TEXT, false, "Normal|Warning|none"},
	{"final", KIND_JSON_FLAG, false, NULL},        {NULL, KIND_JSON_TEXT, false, NULL},
};

static bool kind_json_is_count(const struct rh_json *value)
{
	int64_t count;

	return rh_json_integer(value, &count) && count >= 0 && count <= INT32_MAX;
}

static bool kind_json_is_texts(const struct rh_json *list)
{
	if (rh_json_type(list) != RH_JSON_ARRAY || rh_json_size(list) == 0)
		return false;
	for (const struct rh_json *item = rh_json_first(list); item; item = rh_json_next(item)) {
		if (!rh_json_string(item))
			return false;
	}
	return true;
}

/** @return what is wrong with the value of a member, or NULL */
static const char *kind_json_flaw(const struct kind_json_member *member, const struct rh_json *value)
{
	const char *text = rh_json_string(value);

	switch (member->value) {
	case KIND_JSON_TEXT:
		if (!text || !*text)
			return text ? "is empty" : "must be a string";
		return member->words && !rh_words_have(member->words, '|', text, strlen(text)) ? "must be one of" : NULL;
	case KIND_JSON_TEXTS:
		return kind_json_is_texts(value) ? NULL : "must be a list of strings";
	case KIND_JSON_FLAG:
		return rh_json_type(value) == RH_JSON_BOOL ? NULL : "must be true or false";
	case KIND_JSON_NUMBER:
		return rh_json_type(value) == RH_JSON_NUMBER ? NULL : "must be a number";
	case KIND_JSON_COUNT:
		return kind_json_is_count(value) ? NULL : "must be an integer from 0 to 2147483647";
	}
	return NULL;
}

/* @param row "columns[2]", or the text itself where it is one object */
static int kind_json_refuse(const char *row, const char *member, const char *flaw, struct rh_error *err)
{
	return rh_fail(err, RH_EPLUGIN, "%s%s%.64s %s", row, *member ? "." : "", member, flaw);
}

static int kind_json_check_member(const char *row, const struct kind_json_member *member, const struct rh_json *value,
                                  struct rh_error *err)
{
	const char *flaw = value ? kind_json_flaw(member, value) : member->required ? "is missing" : NULL;

	if (!flaw)
		return 0;
	if (strcmp(flaw, "must be one of") == 0)
		return rh_fail(err, RH_EPLUGIN, "%s.%s is \"%.64s\", and must be one of %s", row, member->name,
		               rh_json_string(value), member->words);
	return kind_json_refuse(row, member->name, flaw, err);
}

static bool kind_json_knows(const struct kind_json_member *members, const char *name)
{
	while (members->name && strcmp(members->name, name) != 0)
		members++;
	return members->name != NULL;
}

/* @param members NULL: anything */
static int kind_json_check_object(const char *row, const struct kind_json_member *members, const struct rh_json *object,
                                  struct rh_error *err)
{
	int r = rh_json_type(object) == RH_JSON_OBJECT ? 0 : kind_json_refuse(row, "", "must be an object", err);

	for (const struct kind_json_member *member = members; r == 0 && member && member->name; member++)
		r = kind_json_check_member(row, member, rh_json_get(object, member->name), err);
	if (r < 0 || !members)
		return r;
	for (const struct rh_json *value = rh_json_first(object); value; value = rh_json_next(value)) {
		if (!kind_json_knows(members, rh_json_key(value)))
			return kind_json_refuse(row, rh_json_key(value), "is not a known member", err);
	}
	return 0;
}

static int kind_json_check_row(const struct kind_json_text *text, size_t index, const struct rh_json *object,
                               struct rh_error *err)
{
	char row[64];

	(void)snprintf(row, sizeof(row), "%s[%zu]", text->field, index);
	return kind_json_check_object(row, text->members, object, err);
}

static int kind_json_parse(const struct kind_json_text *text, enum rh_json_type type, struct rh_json **ret_json,
                           struct rh_error *err)
{
	int r = rh_json_parse(text->text, strlen(text->text), ret_json, err);

	if (r < 0)
		return r == RH_ENOMEM ? r : rh_wrap(err, RH_EPLUGIN, "%s", text->field);
	if (rh_json_type(*ret_json) == type)
		return 0;
	return rh_fail(err, RH_EPLUGIN, "%s is JSON of type %s, it must be an %s", text->field,
	               rh_json_type_name(*ret_json), type == RH_JSON_ARRAY ? "array" : "object");
}

static int kind_json_check_rows(const struct kind_json_text *text, struct rh_error *err)
{
	rh_auto(json) rows = NULL;
	size_t index = 0;
	int r = text->text ? kind_json_parse(text, RH_JSON_ARRAY, &rows, err) : 0;

	for (const struct rh_json *row = rh_json_first(rows); row && r == 0; row = rh_json_next(row))
		r = kind_json_check_row(text, index++, row, err);
	return r;
}

static int kind_json_check_schema(const char *name, const char *schema, struct rh_error *err)
{
	const struct kind_json_text text = {name, schema, NULL};
	rh_auto(json) fields = NULL;
	int r = schema ? kind_json_parse(&text, RH_JSON_OBJECT, &fields, err) : 0;

	for (const struct rh_json *field = rh_json_first(fields); field && r == 0; field = rh_json_next(field)) {
		if (rh_json_type(field) != RH_JSON_OBJECT)
			r = rh_fail(err, RH_EPLUGIN, "%s.%.64s must be a schema, not JSON of type %s", name, rh_json_key(field),
			            rh_json_type_name(field));
	}
	return r;
}

static int kind_json_check_run_policy(const char *policy, struct rh_error *err)
{
	const struct kind_json_text text = {"run_policy", policy, kind_json_run_policy};
	rh_auto(json) members = NULL;
	int r = policy ? kind_json_parse(&text, RH_JSON_OBJECT, &members, err) : 0;

	return r == 0 && members ? kind_json_check_object(text.field, text.members, members, err) : r;
}

/* @param list NULL: there is none */
static int kind_json_check_words(const char *field, const char *list, struct rh_error *err)
{
	const struct kind_json_text text = {field, list, NULL};
	rh_auto(json) names = NULL;
	int r = list ? kind_json_parse(&text, RH_JSON_ARRAY, &names, err) : 0;

	for (const struct rh_json *name = rh_json_first(names); name && r == 0; name = rh_json_next(name)) {
		if (!rh_json_string(name) || !*rh_json_string(name))
			r = rh_fail(err, RH_EPLUGIN, "%s must be an array of strings", field);
	}
	return r;
}

static int kind_json_check_managers(const char *managers, struct rh_error *err)
{
	rh_auto(json) list = NULL;
	int r = kind_json_check_words("managers", managers, err);

	if (r < 0 || !managers)
		return r;
	r = rh_json_parse(managers, strlen(managers), &list, err);
	if (r == 0 && rh_json_size(list) == 0)
		r = rh_fail(err, RH_EPLUGIN, "managers is empty, its first item names this program");
	return r;
}

static int kind_json_check_conditions(const char *conditions, struct rh_error *err)
{
	const struct kind_json_text text = {"conditions", conditions, kind_json_condition};
	rh_auto(json) entries = NULL;
	int r = conditions ? kind_json_parse(&text, RH_JSON_OBJECT, &entries, err) : 0;

	for (const struct rh_json *entry = rh_json_first(entries); entry && r == 0; entry = rh_json_next(entry)) {
		char row[96];

		(void)snprintf(row, sizeof(row), "%s.%.64s", text.field, rh_json_key(entry));
		if (rh_json_type(entry) != RH_JSON_NULL)
			r = kind_json_check_object(row, text.members, entry, err);
	}
	return r == 0 && entries ? rh_conditions_check(entries, err) : r;
}

static int kind_json_check_status(const char *schema, struct rh_error *err)
{
	static const char *const core[] = {"conditions", "startTime", "completionTime", "lastReconcileTime"};
	rh_auto(json) fields = NULL;
	int r = kind_json_check_schema("status_schema", schema, err);

	if (r < 0 || !schema)
		return r;
	r = rh_json_parse(schema, strlen(schema), &fields, err);
	for (size_t i = 0; i < sizeof(core) / sizeof(core[0]) && r == 0; i++) {
		if (rh_json_get(fields, core[i]))
			r = rh_fail(err, RH_EPLUGIN, "status_schema.%s is the core's", core[i]);
	}
	return r;
}

int rh_kind_json_check(const struct rh_kind *kind, struct rh_error *err)
{
	const struct kind_json_text texts[] = {
		{"columns", kind->columns, kind_json_columns},
		{"rbac_rules", kind->rbac_rules, kind_json_rbac},
		{"contract", kind->contract, NULL},
		{"cel_rules", kind->cel_rules, kind_json_cel},
	};
	int r = kind_json_check_schema("spec_schema", kind->spec_schema, err);

	for (size_t i = 0; r == 0 && i < sizeof(texts) / sizeof(texts[0]); i++)
		r = kind_json_check_rows(&texts[i], err);
	if (r == 0)
		r = kind_json_check_run_policy(rh_kind_run_policy(kind), err);
	if (r == 0)
		r = kind_json_check_managers(rh_kind_managers(kind), err);
	if (r == 0)
		r = kind_json_check_words("spec_required", rh_kind_spec_required(kind), err);
	if (r == 0)
		r = rh_patterns_check(kind, err);
	if (r == 0)
		r = kind_json_check_conditions(rh_conditions_text(kind), err);
	if (r == 0)
		r = kind_json_check_status(rh_shown_schema(kind), err);
	if (r == 0)
		r = rh_lookup_json_check(rh_lookups_text(kind), err);
	if (r == 0)
		r = rh_schema_compile_rules(kind, err);
	if (r == 0 || r == RH_ENOMEM)
		return r;
	rh_error_set_topic(err, RH_ERROR_DEFINITION);
	return rh_wrap(err, r, "kind %s", kind->kind);
}

int rh_kind_json_check_columns(const char *columns, struct rh_error *err)
{
	const struct kind_json_text text = {"columns", columns, kind_json_columns};

	return kind_json_check_rows(&text, err);
}
