/* SPDX-License-Identifier: Apache-2.0 */
/* x-kubernetes-validations, with the messages of the API server (apiextensions, pkg/apiserver/schema/cel). */
#include <string.h>

#include "job/cel/cel.h"
#include "job/cel/regex/regex.h"
#include "job/kind.h"
#include "job/rules/schema/schema.h"
#include "job/rules/schema/walk.h"

/* Deepest schema whose rules are compiled. */
#define RULES_DEPTH_MAX 50

/* What compiles the rules of a kind carries along. */
struct rules_compile {
	const struct rh_json *definitions;
	struct rh_error *err;
	struct rh_str path; /* of the schema */
};

static const char *rules_text(const struct rh_json *row, const char *key)
{
	const char *text = rh_json_string(rh_json_get(row, key));

	return text ? text : "";
}

static struct rh_cel_setting rules_setting(const struct rh_json *definitions, const struct rh_json *schema,
                                           const struct rh_json *row, enum rh_cel_kind result_kind)
{
	return (struct rh_cel_setting){.schema = schema,
	                               .definitions = definitions,
	                               .optional_old = rh_json_bool(rh_json_get(row, "optionalOldSelf"), false),
	                               .result_kind = result_kind};
}

/* One step of a fieldPath, ".name" or "['name']". @return what is behind it */
static const char *rules_step(const char *at, char *name, size_t size)
{
	bool bracket = rh_starts_with(at, "['");
	const char *start = at + (bracket ? 2 : *at == '.');
	size_t length = bracket ? strcspn(start, "'") : strcspn(start, ".[");

	rh_copy(name, length + 1 < size ? length + 1 : size, start);
	start += length;
	return bracket && rh_starts_with(start, "']") ? start + 2 : start;
}

/* Keys of maps stand in brackets, as in every other path. */
static void rules_append_path(struct rh_schema_walk *walk, const struct rh_json *schema, const char *path)
{
	char name[256];

	while (*path) {
		const struct rh_json *known, *additional = rh_json_get(schema, "additionalProperties");
		const char *next = rules_step(path, name, sizeof(name));

		if (next == path)
			return;
		path = next;
		known = rh_json_get(rh_json_get(schema, "properties"), name);
		if (known || !additional)
			rh_str_appendf(&walk->path, "%s%s", walk->path.length ? "." : "", name);
		else
			rh_str_appendf(&walk->path, "[%s]", name);
		schema = rh_schema_resolve(walk, known ? known : additional);
	}
}

/* The text of messageExpression, where it has one of one line; else message; else the rule. */
static void rules_append_message(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *row,
                                 const struct rh_json *value, struct rh_str *out)
{
	struct rh_cel_setting setting = rules_setting(walk->definitions, schema, row, RH_CEL_STRING);
	const char *expression = rules_text(row, "messageExpression"), *message = rules_text(row, "message");
	rh_auto_cel_room room = {0};
	rh_auto(cel) cel = NULL;

	if (*expression && rh_cel_compile(expression, &setting, &cel, NULL) == 0) {
		struct rh_cel_value text = rh_cel_run(cel, value, &room);

		if (text.kind == RH_CEL_STRING && text.text.length && !memchr(text.text.data, '\n', text.text.length)) {
			rh_str_append_bytes(out, text.text.data, text.text.length);
			return;
		}
	}
	if (*message)
		rh_str_append(out, message);
	else
		rh_str_appendf(out, "failed rule: %s", rules_text(row, "rule"));
}

/* The API server names the type of a value, and not the value. */
static int rules_refuse(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *row,
                        const char *message)
{
	const char *reason = rules_text(row, "reason"), *type = rules_text(schema, "type");

	if (strcmp(reason, "FieldValueForbidden") == 0)
		return rh_findings_add(walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path), "Forbidden: %s", message);
	if (strcmp(reason, "FieldValueRequired") == 0)
		return rh_findings_add(walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path), "Required value: %s",
		                       message);
	if (strcmp(reason, "FieldValueDuplicate") == 0)
		return rh_findings_add(walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path), "Duplicate value: \"%s\"",
		                       type);
	return rh_findings_add(walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path), "Invalid value: \"%s\": %s",
	                       type, message);
}

static int rules_broken(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *row,
                        const struct rh_json *value)
{
	rh_auto_str message = {0};
	size_t length = walk->path.length;
	int r = 0;

	rules_append_message(walk, schema, row, value, &message);
	rules_append_path(walk, schema, rules_text(row, "fieldPath"));
	if (!rh_schema_is_refused(walk))
		r = message.failed ? RH_ENOMEM : rules_refuse(walk, schema, row, rh_str_text(&message));
	rh_str_cut(&walk->path, length);
	return r;
}

/* Whether something in the value is refused already: then a rule may well fail to have a value. */
static bool rules_is_refused_inside(const struct rh_schema_walk *walk)
{
	for (size_t i = 0; i < walk->findings->count; i++) {
		if (walk->findings->items[i].severity == RH_FINDING_ERROR &&
		    rh_starts_with(walk->findings->items[i].path, rh_str_text(&walk->path)))
			return true;
	}
	return false;
}

/* An error is a verdict, too: the API server refuses an object for which a rule has no value. */
static int rules_failed(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *row,
                        const struct rh_cel_value *why)
{
	if (rules_is_refused_inside(walk))
		return 0;
	if (why->text.no_overload)
		return rh_findings_add(
			walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path),
			"Invalid value: \"%s\": '%s': call arguments did not match a supported operator, function or "
			"macro signature for rule: %s",
			rules_text(schema, "type"), why->text.data, rules_text(row, "rule"));
	return rh_findings_add(walk->findings, RH_FINDING_ERROR, rh_str_text(&walk->path),
	                       "Invalid value: \"%s\": %s evaluating rule: %s", rules_text(schema, "type"), why->text.data,
	                       rules_text(row, "rule"));
}

static int rules_one(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *row,
                     const struct rh_json *value)
{
	struct rh_cel_setting setting = rules_setting(walk->definitions, schema, row, RH_CEL_BOOL);
	rh_auto_cel_room room = {0};
	rh_auto(cel) cel = NULL;
	struct rh_error why = {0};
	struct rh_cel_value verdict;
	int r = rh_cel_compile(rules_text(row, "rule"), &setting, &cel, &why);

	if (r == RH_EINVAL)
		return rh_findings_add(walk->findings, RH_FINDING_WARNING, rh_str_text(&walk->path),
		                       "a rule is not checked, only an API server can do so: %s", why.message);
	if (r < 0 || rh_cel_is_transition(cel))
		return r;
	verdict = rh_cel_run(cel, value, &room);
	if (room.failed)
		return RH_ENOMEM;
	if (verdict.kind == RH_CEL_BOOL && verdict.flag)
		return 0;
	return verdict.kind == RH_CEL_ERROR ? rules_failed(walk, schema, row, &verdict)
	                                    : rules_broken(walk, schema, row, value);
}

int rh_schema_rules(struct rh_schema_walk *walk, const struct rh_json *schema, const struct rh_json *value)
{
	const struct rh_json *row = rh_json_first(rh_json_get(schema, "x-kubernetes-validations"));
	int r = 0;

	for (; row && r == 0; row = rh_json_next(row))
		r = rules_one(walk, schema, row, value);
	return r;
}

static int rules_compile_text(const struct rules_compile *compile, const struct rh_json *schema,
                              const struct rh_json *row, const char *key, enum rh_cel_kind result_kind)
{
	struct rh_cel_setting setting = rules_setting(compile->definitions, schema, row, result_kind);
	const char *text = rh_json_string(rh_json_get(row, key));
	rh_auto(cel) cel = NULL;
	int r = text ? rh_cel_compile(text, &setting, &cel, compile->err) : 0;

	if (r == 0 && strchr(rules_text(row, "rule"), '\n') && !rh_json_get(row, "message"))
		return rh_fail(compile->err, RH_EPLUGIN, "%s.message is missing: the rule has more than one line",
		               rh_str_text(&compile->path));
	if (r == 0 || r == RH_ENOMEM)
		return r;
	return rh_wrap(compile->err, RH_EPLUGIN, "%s.%s", rh_str_text(&compile->path), key);
}

/* The path is that of the list. */
static int rules_compile_list(struct rules_compile *compile, const struct rh_json *schema, const struct rh_json *rows)
{
	size_t length = compile->path.length, index = 0;
	int r = 0;

	for (const struct rh_json *row = rh_json_first(rows); row && r == 0; row = rh_json_next(row)) {
		rh_str_appendf(&compile->path, "[%zu]", index++);
		r = rules_compile_text(compile, schema, row, "rule", RH_CEL_BOOL);
		if (r == 0)
			r = rules_compile_text(compile, schema, row, "messageExpression", RH_CEL_STRING);
		rh_str_cut(&compile->path, length);
	}
	return r;
}

static int rules_compile_pattern(const struct rules_compile *compile, const struct rh_json *schema)
{
	const char *pattern = rh_json_string(rh_json_get(schema, "pattern"));
	rh_auto(regex) regex = NULL;
	int r = pattern ? rh_regex_compile(pattern, strlen(pattern), &regex, compile->err) : 0;

	return r == 0 || r == RH_ENOMEM ? r : rh_wrap(compile->err, RH_EPLUGIN, "%s.pattern", rh_str_text(&compile->path));
}

static int rules_compile_schema(struct rules_compile *compile, const struct rh_json *schema, int depth);

/* The patterns in anyOf and its like. */
static int rules_compile_parts(struct rules_compile *compile, const struct rh_json *schema, int depth)
{
	static const char *const lists[] = {"anyOf", "oneOf", "allOf"};
	size_t length = compile->path.length;
	int r = 0;

	for (size_t i = 0; i < 3; i++) {
		const struct rh_json *part = rh_json_first(rh_json_get(schema, lists[i]));

		for (size_t index = 0; part && r == 0; part = rh_json_next(part), index++) {
			rh_str_appendf(&compile->path, ".%s[%zu]", lists[i], index);
			r = rules_compile_schema(compile, part, depth + 1);
			rh_str_cut(&compile->path, length);
		}
	}
	return r;
}

static int rules_compile_schema(struct rules_compile *compile, const struct rh_json *schema, int depth)
{
	static const char *const below[] = {"items", "additionalProperties", "not"};
	size_t length = compile->path.length;
	int r = rules_compile_pattern(compile, schema);

	if (depth == RULES_DEPTH_MAX)
		return rh_fail(compile->err, RH_EPLUGIN, "%s is too deep", rh_str_text(&compile->path));
	rh_str_append(&compile->path, ".x-kubernetes-validations");
	if (r == 0)
		r = rules_compile_list(compile, schema, rh_json_get(schema, "x-kubernetes-validations"));
	rh_str_cut(&compile->path, length);
	if (r == 0)
		r = rules_compile_parts(compile, schema, depth);
	for (size_t i = 0; i < 3 && r == 0; i++) {
		rh_str_appendf(&compile->path, ".%s", below[i]);
		if (rh_json_type(rh_json_get(schema, below[i])) == RH_JSON_OBJECT)
			r = rules_compile_schema(compile, rh_json_get(schema, below[i]), depth + 1);
		rh_str_cut(&compile->path, length);
	}
	for (const struct rh_json *field = rh_json_first(rh_json_get(schema, "properties")); field && r == 0;
	     field = rh_json_next(field)) {
		rh_str_appendf(&compile->path, ".%s", rh_json_key(field));
		r = rules_compile_schema(compile, field, depth + 1);
		rh_str_cut(&compile->path, length);
	}
	return r;
}

/* rh_kind.cel_rules, by their own numbers: those of spec and of replicas stand in one list. */
static int rules_compile_own(struct rules_compile *compile, const struct rh_kind *kind, const struct rh_json *job)
{
	const struct rh_json *spec = rh_json_at(job, "properties.spec");
	const struct rh_json *map;
	struct rh_kind_path path;
	rh_auto(json) rows = NULL;
	size_t index = 0;
	int r = kind->cel_rules ? rh_json_parse(kind->cel_rules, strlen(kind->cel_rules), &rows, compile->err) : 0;

	rh_kind_replicas_path(kind, &path);
	map = rh_kind_path_schema(&path, job);
	for (const struct rh_json *row = rh_json_first(rows); row && r == 0; row = rh_json_next(row)) {
		const struct rh_json *schema = rh_text_equal(rh_json_string_at(row, "at"), "replicas") ? map : spec;

		rh_str_cut(&compile->path, 0);
		rh_str_appendf(&compile->path, "cel_rules[%zu]", index++);
		r = rules_compile_text(compile, schema, row, "rule", RH_CEL_BOOL);
		if (r == 0)
			r = rules_compile_text(compile, schema, row, "messageExpression", RH_CEL_STRING);
	}
	return r;
}

int rh_schema_compile_fields(const char *what, const struct rh_json *fields, struct rh_error *err)
{
	struct rules_compile compile = {.err = err};
	int r = 0;

	for (const struct rh_json *field = rh_json_first(fields); field && r == 0; field = rh_json_next(field)) {
		rh_str_cut(&compile.path, 0);
		rh_str_appendf(&compile.path, "%s.%s", what, rh_json_key(field));
		r = rules_compile_schema(&compile, field, 0);
	}
	if (r == 0 && compile.path.failed)
		r = rh_fail_oom(err);
	rh_str_deinit(&compile.path);
	return r;
}

/* Whether the kind has a rule. Patterns are compiled without its definition, which takes long to make. */
static bool rules_has_any(const struct rh_kind *kind)
{
	return kind->cel_rules || (kind->spec_schema && strstr(kind->spec_schema, "x-kubernetes-validations"));
}

int rh_schema_compile_rules(const struct rh_kind *kind, struct rh_error *err)
{
	rh_auto(json) document = NULL;
	rh_auto(json) own = NULL;
	struct rules_compile compile = {.err = err};
	int r = rules_has_any(kind) ? rh_schema_of_definition(kind, &document, err) : 0;

	if (r == 0) {
		compile.definitions = rh_json_get(document, "definitions");
		r = rules_compile_own(&compile, kind, rh_json_get(compile.definitions, kind->kind));
	}
	if (r == 0 && kind->spec_schema)
		r = rh_json_parse(kind->spec_schema, strlen(kind->spec_schema), &own, err);
	for (const struct rh_json *field = rh_json_first(own); field && r == 0; field = rh_json_next(field)) {
		rh_str_cut(&compile.path, 0);
		rh_str_appendf(&compile.path, "spec_schema.%s", rh_json_key(field));
		r = rules_compile_schema(&compile, field, 0);
	}
	if (r == 0 && compile.path.failed)
		r = rh_fail_oom(err);
	rh_str_deinit(&compile.path);
	return r;
}
