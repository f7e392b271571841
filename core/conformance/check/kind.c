/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/check/kind.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "conformance/check/texts.h"
#include "job/status/conditions.h"
#include "job/status/shown.h"
#include "schema/crd.h"

/** Deepest nesting of a schema that is looked at. */
#define KIND_DEPTH_MAX 32
/** Room for the path of a field, for messages. */
#define KIND_PATH_SIZE 200

/** Words of OpenAPI v3 that the schema of a CustomResourceDefinition may have. */
static const char kind_words[] =
	"type|properties|items|additionalProperties|required|enum|format|minimum|maximum|exclusiveMinimum|"
	"exclusiveMaximum|multipleOf|pattern|minLength|maxLength|minItems|maxItems|uniqueItems|minProperties|maxProperties|"
	"default|nullable|description|title|example|externalDocs|allOf|anyOf|oneOf|not|x-kubernetes-validations|"
	"x-kubernetes-int-or-string|x-kubernetes-preserve-unknown-fields|x-kubernetes-embedded-resource|"
	"x-kubernetes-list-type|x-kubernetes-list-map-keys|x-kubernetes-map-type";

static const char kind_types[] = "string|integer|number|boolean|array|object";

/** A schema below another one. */
struct kind_walk {
	struct rh_board *board;
	const struct rh_kind *kind;
	const char *text; /**< "spec_schema" or "status_schema" */
	char path[KIND_PATH_SIZE];
	int depth;
};

static void kind_walk_schema(const struct kind_walk *walk, const struct rh_json *schema);

static void kind_blame(const struct kind_walk *walk, const char *what, const char *word)
{
	rh_board_add(walk->board, RH_CHECK_DEFINITION, "kind %s: %s: %s: %s%s%s", walk->kind->kind, walk->text, walk->path,
	             what, word ? " " : "", word ? word : "");
}

static void kind_check_words(const struct kind_walk *walk, const struct rh_json *schema)
{
	for (const struct rh_json *word = rh_json_first(schema); word; word = rh_json_next(word)) {
		const char *key = rh_json_key(word);

		if (!rh_words_have(kind_words, '|', key, strlen(key)))
			kind_blame(walk, "an API server does not take the keyword", key);
	}
}

static void kind_check_type(const struct kind_walk *walk, const struct rh_json *schema)
{
	const char *type = rh_json_string_at(schema, "type");
	bool free_form = rh_json_bool(rh_json_get(schema, "x-kubernetes-int-or-string"), false) ||
	                 rh_json_bool(rh_json_get(schema, "x-kubernetes-preserve-unknown-fields"), false);

	if (!type && !free_form)
		kind_blame(walk, "type is missing", NULL);
	else if (type && !rh_words_have(kind_types, '|', type, strlen(type)))
		kind_blame(walk, "there is no type", type);
	if (type && strcmp(type, "array") == 0 && !rh_json_get(schema, "items"))
		kind_blame(walk, "items of an array are missing", NULL);
	if (rh_json_get(schema, "properties") && rh_json_get(schema, "additionalProperties"))
		kind_blame(walk, "properties and additionalProperties exclude each other", NULL);
}

static void kind_check_limits(const struct kind_walk *walk, const struct rh_json *schema)
{
	static const char *const pairs[][2] = {{"minimum", "maximum"},
	                                       {"minLength", "maxLength"},
	                                       {"minItems", "maxItems"},
	                                       {"minProperties", "maxProperties"}};
	const struct rh_json *words = rh_json_get(schema, "enum");
	const char *pattern = rh_json_string_at(schema, "pattern");
	regex_t regex;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const struct rh_json *least = rh_json_get(schema, pairs[i][0]);
		const struct rh_json *most = rh_json_get(schema, pairs[i][1]);

		if (least && most && rh_json_number(least, 0) > rh_json_number(most, 0))
			kind_blame(walk, "no value can be at least the one and at most the other of", pairs[i][0]);
	}
	if (words && rh_json_size(words) == 0)
		kind_blame(walk, "enum is empty", NULL);
	if (!pattern)
		return;
	if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) == 0)
		regfree(&regex);
	else
		kind_blame(walk, "pattern is not a regular expression:", pattern);
}

/** A default that the API server would put in and then refuse. */
static void kind_check_default(const struct kind_walk *walk, const struct rh_json *schema)
{
	const struct rh_json *value = rh_json_get(schema, "default");
	const struct rh_json *word = rh_json_first(rh_json_get(schema, "enum"));

	if (!value || !word)
		return;
	for (; word; word = rh_json_next(word)) {
		if (rh_json_equal(word, value))
			return;
	}
	kind_blame(walk, "default is not a word of enum", NULL);
}

static void kind_walk_member(const struct kind_walk *walk, const char *name, const struct rh_json *schema)
{
	struct kind_walk below = *walk;
	size_t length = strlen(below.path);

	snprintf(below.path + length, sizeof(below.path) - length, "%s%.60s", length ? "." : "", name);
	below.depth++;
	kind_walk_schema(&below, schema);
}

static void kind_walk_schema(const struct kind_walk *walk, const struct rh_json *schema)
{
	const struct rh_json *member = rh_json_first(rh_json_get(schema, "properties"));

	if (walk->depth > KIND_DEPTH_MAX)
		return;
	if (rh_json_type(schema) != RH_JSON_OBJECT) {
		kind_blame(walk, "a schema is an object, not JSON of type", rh_json_type_name(schema));
		return;
	}
	kind_check_words(walk, schema);
	kind_check_type(walk, schema);
	kind_check_limits(walk, schema);
	kind_check_default(walk, schema);
	for (; member; member = rh_json_next(member))
		kind_walk_member(walk, rh_json_key(member), member);
	if (rh_json_get(schema, "items"))
		kind_walk_member(walk, "items", rh_json_get(schema, "items"));
	if (rh_json_type(rh_json_get(schema, "additionalProperties")) == RH_JSON_OBJECT)
		kind_walk_member(walk, "additionalProperties", rh_json_get(schema, "additionalProperties"));
}

/** Columns of `kubectl get` are read from the object by a path that starts with a dot. */
static void kind_check_columns(struct rh_board *board, const struct rh_kind *kind)
{
	rh_auto(json) columns = NULL;
	const struct rh_json *column;

	if (!kind->columns || rh_json_parse(kind->columns, strlen(kind->columns), &columns, NULL) < 0)
		return;
	for (column = rh_json_first(columns); column; column = rh_json_next(column)) {
		const char *path = rh_json_string_at(column, "jsonPath");

		if (!rh_starts_with(path, "."))
			rh_board_add(board, RH_CHECK_DEFINITION, "kind %s: columns: jsonPath \"%.100s\" must start with a dot",
			             kind->kind, path ? path : "");
	}
}

static void kind_check_texts(struct rh_board *board, const struct rh_kind *kind)
{
	const char *const texts[] = {
		kind->group,          kind->version,    kind->kind,      kind->plural,    kind->singular,
		kind->framework,      kind->controller, kind->port_name, kind->container, kind->spec_schema,
		kind->columns,        kind->rbac_rules, kind->cel_rules, kind->contract,  rh_conditions_text(kind),
		rh_shown_schema(kind)};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		rh_check_text(board, "a text of the kind", texts[i]);
}

/** @param schema properties as JSON; NULL: there are none */
static void kind_check_schema(struct rh_board *board, const struct rh_kind *kind, const char *name, const char *schema)
{
	struct kind_walk walk = {.board = board, .kind = kind, .text = name};
	rh_auto(json) fields = NULL;

	if (!schema || rh_json_parse(schema, strlen(schema), &fields, NULL) < 0)
		return;
	for (const struct rh_json *field = rh_json_first(fields); field; field = rh_json_next(field))
		kind_walk_member(&walk, rh_json_key(field), field);
}

int rh_check_kind(struct rh_board *board, const struct rh_kind *kind)
{
	rh_auto(json) crd = NULL;
	struct rh_error error = {0};
	int r = rh_crd_build(kind, NULL, &crd, &error);

	if (r == RH_ENOMEM)
		return r;
	if (r < 0)
		rh_board_add(board, RH_CHECK_DEFINITION, "%s", error.message);
	kind_check_texts(board, kind);
	kind_check_columns(board, kind);
	kind_check_schema(board, kind, "spec_schema", kind->spec_schema);
	kind_check_schema(board, kind, "status_schema", rh_shown_schema(kind));
	return 0;
}
