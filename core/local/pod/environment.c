/* SPDX-License-Identifier: Apache-2.0 */
#include "local/pod/environment.h"

#include <string.h>

#include "base/mem.h"

void rh_environment_deinit(struct rh_environment *environment)
{
	for (size_t i = 0; i < environment->count; i++) {
		rh_free(environment->items[i].name);
		rh_free(environment->items[i].value);
	}
	rh_free(environment->items);
	*environment = (struct rh_environment){0};
}

static struct rh_env_item *environment_find(const struct rh_environment *environment, const char *name)
{
	for (size_t i = 0; i < environment->count; i++) {
		if (strcmp(environment->items[i].name, name) == 0)
			return &environment->items[i];
	}
	return NULL;
}

static int environment_grow(struct rh_environment *environment)
{
	size_t capacity = environment->capacity > 0 ? environment->capacity * 2 : 64;
	struct rh_env_item *items;

	if (environment->count < environment->capacity)
		return 0;
	items = rh_realloc_array(environment->items, capacity, sizeof(*items));
	if (!items)
		return RH_ENOMEM;
	environment->items = items;
	environment->capacity = capacity;
	return 0;
}

static int environment_append(struct rh_environment *environment, const char *name, size_t length, const char *value,
                              enum rh_env_origin origin)
{
	rh_auto_free char *own_name = rh_strndup(name, length);
	rh_auto_free char *own_value = rh_strdup(value);

	if (!own_name || !own_value || environment_grow(environment) < 0)
		return RH_ENOMEM;
	environment->items[environment->count++] =
		(struct rh_env_item){.name = rh_take(own_name), .value = rh_take(own_value), .origin = origin};
	return 0;
}

int rh_environment_set(struct rh_environment *environment, const char *name, const char *value,
                       enum rh_env_origin origin)
{
	struct rh_env_item *item = environment_find(environment, name);
	char *copy;

	if (!item)
		return environment_append(environment, name, strlen(name), value, origin);
	copy = rh_strdup(value);
	if (!copy)
		return RH_ENOMEM;
	rh_free(item->value);
	item->value = copy;
	item->origin = origin > item->origin ? origin : item->origin;
	return 0;
}

const char *rh_environment_get(const struct rh_environment *environment, const char *name, enum rh_env_origin least)
{
	const struct rh_env_item *item = environment_find(environment, name);

	return item && item->origin >= least ? item->value : NULL;
}

void rh_environment_remove(struct rh_environment *environment, const char *name)
{
	struct rh_env_item *item = environment_find(environment, name);
	size_t behind;

	if (!item)
		return;
	rh_free(item->name);
	rh_free(item->value);
	behind = (size_t)(environment->items + environment->count - item) - 1;
	memmove(item, item + 1, behind * sizeof(*item));
	environment->count--;
}

int rh_environment_inherit(struct rh_environment *environment, const char *const *entries)
{
	int r = 0;

	/* an environment block has no name twice, or then the first one is what getenv() finds; so nothing is searched */
	for (; entries && *entries && r == 0; entries++) {
		size_t length = strcspn(*entries, "=");

		if (length > 0 && (*entries)[length] == '=')
			r = environment_append(environment, *entries, length, *entries + length + 1, RH_ENV_INHERITED);
	}
	return r;
}

/* Expand the reference after a '$' at `text`. @return bytes that were read */
static size_t environment_expand_one(const struct rh_environment *environment, const char *text,
                                     enum rh_env_origin least, struct rh_str *out)
{
	size_t length = strcspn(text, ")");
	rh_auto_free char *name = NULL;
	const char *value;

	if (*text == '$') {
		rh_str_append(out, "$");
		return 1;
	}
	if (*text != '(' || text[length] != ')') {
		rh_str_append(out, "$");
		return 0;
	}
	name = rh_strndup(text + 1, length - 1);
	value = name ? rh_environment_get(environment, name, least) : NULL;
	out->failed = out->failed || !name;
	if (value)
		rh_str_append(out, value);
	else
		rh_str_appendf(out, "$(%s)", name ? name : "");
	return length + 1;
}

void rh_environment_expand(const struct rh_environment *environment, const char *text, enum rh_env_origin least,
                           struct rh_str *out)
{
	while (*text) {
		size_t length = strcspn(text, "$");

		rh_str_append_bytes(out, text, length);
		text += length;
		if (*text == '$')
			text += 1 + environment_expand_one(environment, text + 1, least, out);
	}
}

struct rh_json *rh_environment_json(const struct rh_environment *environment)
{
	rh_auto(json) list = rh_json_new_array();
	rh_auto_str text = {0};

	for (size_t i = 0; list && i < environment->count; i++) {
		rh_str_clear(&text);
		rh_str_appendf(&text, "%s=%s", environment->items[i].name, environment->items[i].value);
		if (text.failed || rh_json_append(list, rh_json_new_string(rh_str_text(&text))) < 0)
			return NULL;
	}
	return rh_take(list);
}
