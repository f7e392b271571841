/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/override/set.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/override/path.h"
#include "cli/override/value.h"
#include "job/rules/misplaced.h"

/* Most names that a message lists, and that are compared with a misspelt one. */
#define SET_LISTED_MAX 12
#define SET_NAMES_MAX 96

/* Where the walk is. Borrowed, but for the path. */
struct set_walk {
	const struct rh_json *document;
	const struct rh_json *schema; /* of `at`; NULL: nothing is known of it */
	struct rh_json *at;           /* an object or a list */
	struct rh_str path;           /* of `at`, as `lint` prints it */
	struct rh_error *err;
};

/* What a step leads to. */
struct set_place {
	const struct rh_json *schema; /* NULL: nothing is known of it */
	const char *key;              /* of a member; NULL: an item */
	size_t index;                 /* of an item */
};

static const struct rh_json *set_resolve(const struct set_walk *walk, const struct rh_json *schema)
{
	const char *ref = rh_json_string(rh_json_get(schema, "$ref"));

	return ref ? rh_json_get(rh_json_get(walk->document, "definitions"), ref) : schema;
}

static const char *set_where(const struct set_walk *walk)
{
	return walk->path.length ? rh_str_text(&walk->path) : "the job";
}

static void set_list(const char *const *names, size_t count, struct rh_str *out)
{
	for (size_t i = 0; i < count; i++)
		rh_str_appendf(out, "%s%s", i > 0 ? ", " : "", names[i]);
}

/* @param object its members, or its "properties" where it is a schema. @return how many names there are */
static size_t set_names(const struct rh_json *object, const char **names)
{
	size_t count = 0;

	for (const struct rh_json *member = rh_json_first(object); member && count < SET_NAMES_MAX;
	     member = rh_json_next(member))
		names[count++] = rh_json_key(member);
	return count;
}

static int set_refuse_name(const struct set_walk *walk, const char *what, const char *name, const struct rh_json *known)
{
	const char *names[SET_NAMES_MAX];
	size_t count = set_names(known, names);
	const char *nearest = rh_nearest(name, names, count);
	rh_auto_str all = {0};
	rh_auto_str home = {0};

	if (rh_misplaced_home(walk->document, rh_str_text(&walk->path), name, &home))
		return rh_fail(walk->err, RH_EINVAL, "there is no %s \"%s\" in %s; did you mean %s?", what, name,
		               set_where(walk), rh_str_text(&home));
	if (nearest)
		return rh_fail(walk->err, RH_EINVAL, "there is no %s \"%s\" in %s; did you mean \"%s\"?", what, name,
		               set_where(walk), nearest);
	if (count > SET_LISTED_MAX)
		return rh_fail(walk->err, RH_EINVAL, "there is no %s \"%s\" in %s", what, name, set_where(walk));
	set_list(names, count, &all);
	return rh_fail(walk->err, RH_EINVAL, "there is no %s \"%s\" in %s; it has %s", what, name, set_where(walk),
	               rh_str_text(&all));
}

/* A type needs a template, which no option gives, so only those that the job has can be changed. */
static const char *set_type_key(const struct set_walk *walk, const char *name)
{
	for (const struct rh_json *member = rh_json_first(walk->at); member; member = rh_json_next(member)) {
		if (strcasecmp(rh_json_key(member), name) == 0)
			return rh_json_key(member);
	}
	return NULL;
}

static int set_find_member(const struct set_walk *walk, struct rh_field_step *step, struct set_place *place)
{
	const struct rh_json *properties = rh_json_get(walk->schema, "properties");
	const struct rh_json *additional = rh_json_get(walk->schema, "additionalProperties");
	const struct rh_json *known = rh_json_get(properties, step->name);

	*place = (struct set_place){.schema = known ? known : additional, .key = step->name};
	if (!known && rh_json_at(additional, "properties.template")) {
		const char *key = set_type_key(walk, step->name);

		if (!key)
			return set_refuse_name(walk, "replica type", step->name, walk->at);
		rh_copy(step->name, sizeof(step->name), key);
	}
	if (known || additional || !properties ||
	    rh_json_bool(rh_json_get(walk->schema, "x-kubernetes-preserve-unknown-fields"), false))
		return 0;
	return set_refuse_name(walk, "field", step->name, properties);
}

static int set_find_item(const struct set_walk *walk, const struct rh_field_step *step, struct set_place *place)
{
	size_t count = rh_json_size(walk->at);
	char *end;
	unsigned long index = strtoul(step->name, &end, 10);

	if (*end || step->name[0] < '0' || step->name[0] > '9')
		return rh_fail(walk->err, RH_EINVAL, "%s is a list: \"%s\" is not a place in it, as [0]", set_where(walk),
		               step->name);
	if (index > count)
		return rh_fail(walk->err, RH_EINVAL, "%s has %zu item%s: there is no [%s]", set_where(walk), count,
		               count == 1 ? "" : "s", step->name);
	*place = (struct set_place){.schema = rh_json_get(walk->schema, "items"), .index = index};
	return 0;
}

static int set_find(const struct set_walk *walk, struct rh_field_step *step, struct set_place *ret_place)
{
	int r = rh_json_type(walk->at) == RH_JSON_ARRAY ? set_find_item(walk, step, ret_place)
	                                                : set_find_member(walk, step, ret_place);

	if (r == 0)
		ret_place->schema = set_resolve(walk, ret_place->schema);
	return r;
}

/* Takes @p value. */
static int set_put(const struct set_walk *walk, const struct set_place *place, struct rh_json *value)
{
	int r = place->key ? rh_json_set(walk->at, place->key, value) : rh_json_set_item(walk->at, place->index, value);

	return r < 0 ? rh_fail_oom(walk->err) : 0;
}

static struct rh_json *set_get(const struct set_walk *walk, const struct set_place *place)
{
	return place->key ? rh_json_get(walk->at, place->key) : rh_json_item(walk->at, place->index);
}

/* Names of members follow a dot, all else is in brackets. */
static void set_print_step(struct set_walk *walk, const struct set_place *place)
{
	bool member = place->key && !rh_json_get(walk->schema, "additionalProperties");

	if (!place->key)
		rh_str_appendf(&walk->path, "[%zu]", place->index);
	else if (member || rh_json_get(rh_json_get(walk->schema, "properties"), place->key))
		rh_str_appendf(&walk->path, "%s%s", walk->path.length ? "." : "", place->key);
	else
		rh_str_appendf(&walk->path, "[%s]", place->key);
}

/* Go into what stands there, and make it where nothing does. */
static int set_enter(struct set_walk *walk, const struct set_place *place)
{
	struct rh_json *child = set_get(walk, place);
	enum rh_json_type type = rh_json_type(child);
	int r = 0;

	set_print_step(walk, place);
	if (rh_value_is_leaf(place->schema) ||
	    (type != RH_JSON_ABSENT && type != RH_JSON_NULL && type != RH_JSON_OBJECT && type != RH_JSON_ARRAY))
		return rh_fail(walk->err, RH_EINVAL, "%s has no fields", set_where(walk));
	if (type == RH_JSON_ABSENT || type == RH_JSON_NULL) {
		child = rh_value_is_list(place->schema) ? rh_json_new_array() : rh_json_new_object();
		r = set_put(walk, place, child);
		child = set_get(walk, place);
	}
	walk->at = child;
	walk->schema = place->schema;
	return r;
}

static int set_leaf(struct set_walk *walk, const struct set_place *place, const char *text)
{
	struct rh_json *value = NULL;
	int r = rh_value_make(place->schema, text, &value, walk->err);

	if (r < 0) {
		set_print_step(walk, place);
		return rh_wrap(walk->err, r, "%s", set_where(walk));
	}
	if (rh_json_type(value) != RH_JSON_NULL || !place->key)
		return set_put(walk, place, value);
	rh_json_free(value);
	rh_json_remove(walk->at, place->key);
	return 0;
}

static int set_walk(struct set_walk *walk, const char *path, const char *text)
{
	const char *cursor = path;
	struct rh_field_step step;
	int r;

	while ((r = rh_field_next(&cursor, &step, walk->err)) == 1) {
		struct set_place place;

		r = set_find(walk, &step, &place);
		if (r < 0)
			return r;
		if (!*cursor)
			return set_leaf(walk, &place, text);
		r = set_enter(walk, &place);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : rh_fail(walk->err, RH_EINVAL, "the path is empty");
}

int rh_field_set(const struct rh_json *document, struct rh_json *object, const char *path, const char *text,
                 struct rh_error *err)
{
	const char *root = rh_json_string(rh_json_get(document, "root"));
	struct set_walk walk = {.document = document, .at = object, .err = err};
	int r;

	walk.schema = rh_json_get(rh_json_get(document, "definitions"), root ? root : "");
	r = set_walk(&walk, path, text);
	rh_str_deinit(&walk.path);
	return r;
}
