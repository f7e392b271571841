/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/rules.h"

#include <string.h>

/* Longest key of a path in a rule. */
#define RULE_KEY_SIZE 64

/* Take the next key off a path: "a.b", "a[b]". @return the rest */
static const char *rule_step(const char *path, const char *star, char key[RULE_KEY_SIZE])
{
	size_t length;

	path += *path == '.' || *path == '[';
	length = strcspn(path, ".[]");
	rh_copy(key, length + 1 < RULE_KEY_SIZE ? length + 1 : RULE_KEY_SIZE, path);
	if (star && strcmp(key, "*") == 0)
		rh_copy(key, RULE_KEY_SIZE, star);
	path += length;
	return path + (*path == ']');
}

int rh_convert_put(struct rh_json *object, const char *path, const char *star, struct rh_json *value,
                   struct rh_error *err)
{
	rh_auto(json) owned = value;
	char key[RULE_KEY_SIZE];
	const char *rest = rule_step(path, star, key);

	while (owned && object && *rest) {
		if (rh_json_get(object, key) && rh_json_type(rh_json_get(object, key)) != RH_JSON_OBJECT)
			return rh_fail(err, RH_EINVAL, "%s: \"%s\" must be an object", path, key);
		object = rh_json_ensure_object(object, key);
		rest = rule_step(rest, star, key);
	}
	if (!owned || !object || rh_json_set(object, key, rh_take(owned)) < 0)
		return rh_fail_oom(err);
	return 0;
}

/* @return the value at a path of members, or NULL */
static const struct rh_json *rule_at(const struct rh_json *object, const char *path, const char *star)
{
	char key[RULE_KEY_SIZE];

	while (object && *path) {
		path = rule_step(path, star, key);
		object = rh_json_get(object, key);
	}
	return object;
}

/* The place as users write it: "[*]" is the member that it stands for. */
static void rule_print_place(const char *path, const char *star, struct rh_str *out)
{
	const char *at = star ? strstr(path, "[*]") : NULL;

	if (!at) {
		rh_str_append(out, path);
		return;
	}
	rh_str_append_bytes(out, path, (size_t)(at - path) + 1);
	rh_str_append(out, star);
	rh_str_append(out, at + 2);
}

static int rule_parse(const char *text, struct rh_json **ret_json, struct rh_error *err)
{
	return rh_json_parse(text, strlen(text), ret_json, err);
}

static int rule_fits(const struct rh_convert_rule *rule, const struct rh_json *value, bool *ret_fits,
                     struct rh_error *err)
{
	rh_auto(json) when = NULL;
	bool absent = !value || rh_json_type(value) == RH_JSON_NULL;
	int r = 0;

	*ret_fits = absent == rule->absent;
	if (*ret_fits && rule->when) {
		r = rule_parse(rule->when, &when, err);
		*ret_fits = r == 0 && rh_json_equal(value, when);
	}
	return r;
}

/* The new place is taken: what stands there counted before, too (runPolicy over the spec's own fields). */
static int rule_superseded(const struct rh_convert_field *field, const char *to)
{
	rh_auto_str why = {0};

	rh_str_appendf(&why, "%s is set, and takes precedence", to);
	rh_json_remove(field->parent, field->key);
	return why.failed ? RH_ENOMEM : rh_convert_note(field, RH_CONVERT_LOST, NULL, rh_str_text(&why));
}

static int rule_move(const struct rh_convert_field *field, const char *to, struct rh_error *err)
{
	const struct rh_convert_rule *rule = field->rule;
	struct rh_json *object = field->conversion->object;
	struct rh_json *value = NULL;
	int r = 0;

	if (rule->to && rule_at(object, rule->to, field->star))
		return rule->absent ? 0 : rule_superseded(field, to) < 0 ? rh_fail_oom(err) : 0;
	if (rule->value)
		r = rule_parse(rule->value, &value, err);
	else if (rule->to)
		value = rh_json_detach(field->parent, field->key);
	if (r == 0 && rule->to)
		rh_json_remove(field->parent, field->key);
	if (r == 0 && (rule->to || rule->value))
		r = rh_convert_put(object, rule->to ? rule->to : rule->path, field->star, value, err);
	if (r == 0 && rh_convert_note(field, rule->effect, rule->value ? rule->value : rule->to ? to : NULL, rule->why) < 0)
		r = rh_fail_oom(err);
	return r;
}

static int rule_field(const struct rh_convert_field *field, struct rh_error *err)
{
	const struct rh_convert_rule *rule = field->rule;
	rh_auto_str to = {0};
	bool fits;
	int r = rule_fits(rule, rh_json_get(field->parent, field->key), &fits, err);

	if (r < 0 || !fits)
		return r;
	if (rule->apply)
		return rule->apply(field, err);
	if (rule->effect == RH_CONVERT_LOST || rule->effect == RH_CONVERT_IMPLIED) {
		rh_json_remove(field->parent, field->key);
		return rh_convert_note(field, rule->effect, NULL, rule->why) < 0 ? rh_fail_oom(err) : 0;
	}
	if (rule->to)
		rule_print_place(rule->to, field->star, &to);
	return to.failed ? rh_fail_oom(err) : rule_move(field, rh_str_text(&to), err);
}

/* A default holds also where the map of its field is absent, but not where a replica type is. */
static bool rule_makes(const struct rh_convert_rule *rule, const struct rh_json *map)
{
	return rule->absent && !strchr(rule->path, '[') && (!map || rh_json_type(map) == RH_JSON_NULL);
}

/* The last key of a path is a field; all before it are maps. */
static int rule_walk(const struct rh_convert_field *rule, struct rh_json *object, const char *path,
                     struct rh_error *err)
{
	struct rh_convert_field field = *rule;
	char key[RULE_KEY_SIZE];
	const char *rest = rule_step(path, field.star, key);

	for (; *rest; rest = rule_step(rest, field.star, key))
		object = rh_json_type(object) == RH_JSON_OBJECT ? rh_json_get(object, key) : object;
	if (rh_json_type(object) != RH_JSON_OBJECT && !rule_makes(field.rule, object))
		return 0;
	field.parent = rh_json_type(object) == RH_JSON_OBJECT ? object : NULL;
	field.key = key;
	return rule_field(&field, err);
}

/* One rule for each member that "[*]" can stand for; a rule may add members, so the keys are collected first. */
static int rule_each(const struct rh_convert_field *rule, const struct rh_json *map, struct rh_error *err)
{
	rh_auto(json) keys = rh_json_new_array();
	int r = keys ? 0 : rh_fail_oom(err);

	for (const struct rh_json *at = rh_json_first(map); r == 0 && at; at = rh_json_next(at))
		r = rh_json_append(keys, rh_json_new_string(rh_json_key(at))) < 0 ? rh_fail_oom(err) : 0;
	for (const struct rh_json *at = rh_json_first(keys); r == 0 && at; at = rh_json_next(at)) {
		struct rh_convert_field field = *rule;
		rh_auto_str path = {0};

		field.star = rh_json_string(at);
		rule_print_place(field.rule->path, field.star, &path);
		field.path = rh_str_text(&path);
		r = path.failed ? rh_fail_oom(err) : rule_walk(&field, field.conversion->object, field.rule->path, err);
	}
	return r;
}

int rh_convert_apply(struct rh_conversion *conversion, const struct rh_convert_rule *rule, struct rh_error *err)
{
	const struct rh_convert_field field = {.conversion = conversion, .rule = rule, .path = rule->path};
	const char *star = strstr(rule->path, "[*]");
	rh_auto_str map = {0};
	const struct rh_json *found;

	if (!star)
		return rule_walk(&field, conversion->object, rule->path, err);
	rh_str_append_bytes(&map, rule->path, (size_t)(star - rule->path));
	if (map.failed)
		return rh_fail_oom(err);
	found = rule_at(conversion->object, rh_str_text(&map), NULL);
	return rh_json_type(found) == RH_JSON_OBJECT ? rule_each(&field, found, err) : 0;
}
