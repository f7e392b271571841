/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/override/types.h"

#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "cli/override/words.h"
#include "job/job.h"
#include "job/kind.h"

/* A replica type of an object: {replicas, restartPolicy, template}. Borrowed. */
struct types_entry {
	const char *name;
	struct rh_json *entry;
};

/* All of them; more than RH_TYPES_MAX are refused later. */
struct types_list {
	struct types_entry items[RH_TYPES_MAX];
	size_t count;
};

static void types_add(struct types_list *list, const char *name, struct rh_json *entry)
{
	if (rh_json_type(entry) == RH_JSON_OBJECT && list->count < RH_TYPES_MAX)
		list->items[list->count++] = (struct types_entry){name, entry};
}

static void types_find(const struct rh_kind *kind, const struct rh_json *object, struct types_list *ret_list)
{
	struct rh_kind_path path;

	ret_list->count = 0;
	rh_kind_replicas_path(kind, &path);
	for (struct rh_json *entry = rh_json_first(rh_kind_path_find(&path, object)); entry; entry = rh_json_next(entry))
		types_add(ret_list, rh_json_key(entry), entry);
	for (const struct rh_replica_type *const *type = kind->types; *type; type++) {
		if (!rh_kind_own_path(*type))
			continue;
		rh_kind_type_path(kind, *type, (*type)->name, &path);
		types_add(ret_list, (*type)->name, rh_kind_path_find(&path, object));
	}
}

static int types_refuse(const struct types_list *list, const char *name, struct rh_error *err)
{
	rh_auto_str names = {0};

	for (size_t i = 0; i < list->count; i++)
		rh_str_appendf(&names, "%s%s", i > 0 ? ", " : "", list->items[i].name);
	return rh_fail(err, RH_EINVAL, "there is no replica type \"%s\" in the job; it has %s", name,
	               names.length ? rh_str_text(&names) : "none");
}

/* @return the count behind "TYPE=", or NULL */
static struct rh_json *types_read_count(const char *text)
{
	struct rh_json *json = NULL;
	int64_t count;

	if (rh_json_parse(text, strlen(text), &json, NULL) < 0)
		return NULL;
	if (rh_json_integer(json, &count) && count >= 0 && count <= INT32_MAX)
		return json;
	rh_json_free(json);
	return NULL;
}

int rh_types_set_replicas(const struct rh_kind *kind, struct rh_json *object, const char *text, struct rh_error *err)
{
	const char *equal = strchr(text, '=');
	rh_auto_free char *name = equal ? rh_strndup(text, (size_t)(equal - text)) : NULL;
	rh_auto(json) count = equal ? types_read_count(equal + 1) : NULL;
	struct types_list list;

	if (!count)
		return rh_fail(err, RH_EINVAL, "\"%s\" is not of the form TYPE=N, as Worker=4", text);
	if (!name)
		return rh_fail_oom(err);
	types_find(kind, object, &list);
	for (size_t i = 0; i < list.count; i++) {
		if (strcasecmp(list.items[i].name, name) == 0)
			return rh_json_set(list.items[i].entry, "replicas", rh_take(count)) < 0 ? rh_fail_oom(err) : 0;
	}
	return types_refuse(&list, name, err);
}

/* @return the place of the variable in the list, of several the last, which counts; the number of items: it has none */
static size_t types_find_variable(const struct rh_json *list, const char *name)
{
	size_t found = rh_json_size(list);
	size_t index = 0;

	for (const struct rh_json *item = rh_json_first(list); item; item = rh_json_next(item)) {
		if (rh_text_equal(rh_json_string(rh_json_get(item, "name")), name))
			found = index;
		index++;
	}
	return found;
}

static int types_set_variable(struct rh_json *container, const char *name, const char *value)
{
	enum rh_json_type type = rh_json_type(rh_json_get(container, "env"));
	struct rh_json *list;
	struct rh_json *item;

	if (rh_json_type(container) != RH_JSON_OBJECT ||
	    (type != RH_JSON_ABSENT && type != RH_JSON_NULL && type != RH_JSON_ARRAY))
		return 0;
	list = rh_json_ensure_array(container, "env");
	item = list ? rh_json_new_object() : NULL;
	if (item && (rh_json_set_string(item, "name", name) < 0 || rh_json_set_string(item, "value", value) < 0))
		rh_json_free(rh_take(item));
	return item ? rh_json_set_item(list, types_find_variable(list, name), item) : RH_ENOMEM;
}

/* Change one container. @return 0 or RH_ENOMEM */
typedef int types_container_fn(struct rh_json *container, const char *name, const char *value);

/* Call @p fn with every container of every type, init containers too. */
static int types_each_container(const struct rh_kind *kind, const struct rh_json *object, types_container_fn *fn,
                                const char *name, const char *value)
{
	static const char *const places[] = {"template.spec.initContainers", "template.spec.containers"};
	struct types_list list;

	types_find(kind, object, &list);
	for (size_t i = 0; i < 2 * list.count; i++) {
		const struct rh_json *containers = rh_json_at(list.items[i / 2].entry, places[i % 2]);

		for (struct rh_json *at = rh_json_first(containers); at; at = rh_json_next(at)) {
			if (fn(at, name, value) < 0)
				return RH_ENOMEM;
		}
	}
	return 0;
}

int rh_types_set_env(const struct rh_kind *kind, struct rh_json *object, const char *text, struct rh_error *err)
{
	const char *equal = strchr(text, '=');
	rh_auto_free char *name = equal ? rh_strndup(text, (size_t)(equal - text)) : NULL;

	if (!equal || equal == text)
		return rh_fail(err, RH_EINVAL, "\"%s\" is not of the form NAME=VALUE", text);
	if (!name || types_each_container(kind, object, types_set_variable, name, equal + 1) < 0)
		return rh_fail_oom(err);
	return 0;
}

static void types_remove_vendor(struct rh_json *resources, const char *vendor)
{
	struct rh_json *next;

	for (struct rh_json *at = rh_json_first(resources); at; at = next) {
		next = rh_json_next(at);
		if (rh_starts_with(rh_json_key(at), vendor))
			rh_json_remove(resources, rh_json_key(at));
	}
}

static int types_remove_gpus(struct rh_json *container, const char *name, const char *value)
{
	static const char *const places[] = {"limits", "requests"};
	const struct rh_json *resources = rh_json_get(container, "resources");

	(void)name;
	(void)value;
	for (size_t i = 0; i < 2; i++) {
		types_remove_vendor(rh_json_get(resources, places[i]), "nvidia.com/");
		types_remove_vendor(rh_json_get(resources, places[i]), "amd.com/");
	}
	return 0;
}

void rh_types_remove_gpus(const struct rh_kind *kind, struct rh_json *object)
{
	(void)types_each_container(kind, object, types_remove_gpus, NULL, NULL);
}

static bool types_has_words(const struct rh_json *container)
{
	return rh_json_size(rh_json_get(container, "command")) + rh_json_size(rh_json_get(container, "args")) > 0;
}

int rh_types_set_args(const struct rh_kind *kind, struct rh_json *object, const char *text, struct rh_error *err)
{
	rh_auto(json) words = NULL;
	struct types_list list;
	struct rh_json *mains[RH_TYPES_MAX];
	bool any = false;
	int r = rh_words_split(text, &words, err);

	if (r < 0)
		return r;
	types_find(kind, object, &list);
	for (size_t i = 0; i < list.count; i++) {
		mains[i] = rh_job_main_container(kind, rh_json_at(list.items[i].entry, "template.spec"));
		any = any || types_has_words(mains[i]);
	}
	for (size_t i = 0; i < list.count; i++) {
		if (!mains[i] || (any && !types_has_words(mains[i])))
			continue;
		if (rh_json_set(mains[i], "args", rh_json_copy(words)) < 0)
			return rh_fail_oom(err);
	}
	return 0;
}
