/* SPDX-License-Identifier: Apache-2.0 */
#include "job/kind.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "job/values/names.h"

bool rh_kind_path_is_valid(const char *text, bool itself)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t count = 0;

	if (strlen(text) >= RH_KIND_PATH_SIZE || strncmp(text, "spec", 4) != 0 || (text[4] && text[4] != '.'))
		return false;
	for (const char *word = text;; word++) {
		size_t length = strspn(word, letters);

		if (length == 0)
			return false;
		count++;
		word += length;
		if (!*word)
			return count <= RH_KIND_STEPS_MAX && (itself || count > 1);
		if (*word != '.')
			return false;
	}
}

/* What does not fit was refused by the loader. */
static void kind_path_set(struct rh_kind_path *path, const char *text)
{
	char *word = path->words;

	path->count = 0;
	rh_copy(path->text, sizeof(path->text), text);
	rh_copy(path->words, sizeof(path->words), text);
	while (*word && path->count < RH_KIND_STEPS_MAX) {
		size_t length = strcspn(word, ".");
		bool last = !word[length];

		word[length] = '\0';
		path->steps[path->count] = rh_place_member(path->count > 0 ? &path->steps[path->count - 1] : NULL, word);
		path->count++;
		word += length + !last;
	}
}

void rh_kind_replicas_path(const struct rh_kind *kind, struct rh_kind_path *ret_path)
{
	char text[RH_KIND_PATH_SIZE] = "";

	if (!RH_HAS(kind, struct rh_kind, replicas_path) && kind->replicas_field)
		(void)snprintf(text, sizeof(text), "spec.%s", kind->replicas_field);
	kind_path_set(ret_path, RH_HAS(kind, struct rh_kind, replicas_path) ? kind->replicas_path : text);
}

void rh_kind_policy_path(const struct rh_kind *kind, struct rh_kind_path *ret_path)
{
	kind_path_set(ret_path, RH_HAS(kind, struct rh_kind, run_policy_path) ? kind->run_policy_path : "spec.runPolicy");
}

bool rh_kind_expands(const struct rh_kind *kind)
{
	return (kind->flags & RH_KIND_EXPANDED) != 0;
}

const char *rh_kind_own_path(const struct rh_replica_type *known)
{
	return known && RH_HAS(known, struct rh_replica_type, path) ? known->path : NULL;
}

void rh_kind_type_path(const struct rh_kind *kind, const struct rh_replica_type *known, const char *key,
                       struct rh_kind_path *ret_path)
{
	const char *own = rh_kind_own_path(known);

	if (own) {
		kind_path_set(ret_path, own);
		return;
	}
	if (rh_kind_expands(kind))
		kind_path_set(ret_path, "expansion");
	else
		rh_kind_replicas_path(kind, ret_path);
	ret_path->steps[ret_path->count] = rh_place_key(rh_kind_path_place(ret_path), key);
	ret_path->count++;
}

const struct rh_place *rh_kind_path_place(const struct rh_kind_path *path)
{
	return path->count > 0 ? &path->steps[path->count - 1] : NULL;
}

const char *rh_kind_path_name(const struct rh_kind_path *path)
{
	return path->count > 0 ? path->steps[path->count - 1].name : "";
}

void rh_kind_path_print(const struct rh_kind_path *path, struct rh_str *out)
{
	rh_place_print(rh_kind_path_place(path), false, out);
}

struct rh_json *rh_kind_path_find(const struct rh_kind_path *path, const struct rh_json *object)
{
	struct rh_json *at = NULL;

	for (size_t i = 0; i < path->count; i++)
		at = rh_json_get(i > 0 ? at : object, path->steps[i].name);
	return at;
}

int rh_kind_path_read(const struct rh_kind_path *path, const struct rh_json *object, const struct rh_json **ret_value,
                      struct rh_error *err)
{
	int r = 0;

	*ret_value = NULL;
	for (size_t i = 0; i < path->count && object && r == 0; i++) {
		struct rh_fields fields = {object, path->steps[i].up, err};

		*ret_value = NULL;
		r = rh_fields_object(&fields, path->steps[i].name, ret_value);
		object = *ret_value;
	}
	return r;
}

struct rh_json *rh_kind_path_ensure_schema(const struct rh_kind_path *path, struct rh_json *schema)
{
	for (size_t i = 0; i + 1 < path->count && schema; i++) {
		struct rh_json *properties = rh_json_ensure_object(schema, "properties");

		schema = properties ? rh_json_ensure_object(properties, path->steps[i].name) : NULL;
		if (schema && rh_json_set_string(schema, "type", "object") < 0)
			schema = NULL;
	}
	return schema && rh_json_ensure_object(schema, "properties") ? schema : NULL;
}

struct rh_json *rh_kind_path_schema(const struct rh_kind_path *path, const struct rh_json *schema)
{
	struct rh_json *at = NULL;

	for (size_t i = 0; i < path->count; i++) {
		bool key = path->steps[i].step == RH_STEP_KEY;
		const struct rh_json *from = i > 0 ? at : schema;

		at = key ? rh_json_get(from, "additionalProperties")
		         : rh_json_get(rh_json_get(from, "properties"), path->steps[i].name);
	}
	return at;
}

bool rh_kind_has_policy(const struct rh_kind *kind, const char *key)
{
	rh_auto(json) schema = NULL;
	struct rh_kind_path path;

	rh_kind_policy_path(kind, &path);
	if (path.count != 1)
		return path.count > 1;
	return kind->spec_schema && rh_json_parse(kind->spec_schema, strlen(kind->spec_schema), &schema, NULL) == 0 &&
	       rh_json_get(schema, key);
}

const char *rh_kind_run_policy(const struct rh_kind *kind)
{
	return RH_HAS(kind, struct rh_kind, run_policy) ? kind->run_policy : NULL;
}

const char *rh_kind_manager(const struct rh_kind *kind, const struct rh_json *object)
{
	struct rh_kind_path path;
	const char *manager;

	rh_kind_policy_path(kind, &path);
	manager = rh_json_string(rh_json_get(rh_kind_path_find(&path, object), "managedBy"));
	return manager && rh_kind_has_policy(kind, "managedBy") ? manager : NULL;
}

const char *rh_kind_managers(const struct rh_kind *kind)
{
	return RH_HAS(kind, struct rh_kind, managers) ? kind->managers : NULL;
}

/* The list, which the loader has checked; owned by the caller; V1's is kept in the order of V1's message. */
static struct rh_json *kind_managers(const struct rh_kind *kind)
{
	static const char usual[] = "[\"" RH_MANAGER_KUEUE "\",\"" RH_MANAGER_SELF "\"]";
	const char *text = rh_kind_managers(kind) ? rh_kind_managers(kind) : usual;
	struct rh_json *list = NULL;

	return rh_json_parse(text, strlen(text), &list, NULL) < 0 ? NULL : list;
}

bool rh_kind_is_ours(const struct rh_kind *kind, const char *manager)
{
	rh_auto(json) list = NULL;

	if (!manager || !rh_kind_managers(kind))
		return !manager || strcmp(manager, RH_MANAGER_SELF) == 0;
	list = kind_managers(kind);
	return rh_text_equal(manager, rh_json_string(rh_json_first(list)));
}

bool rh_kind_may_manage(const struct rh_kind *kind, const char *manager, struct rh_str *ret_supported)
{
	rh_auto(json) list = kind_managers(kind);

	for (const struct rh_json *item = rh_json_first(list); item; item = rh_json_next(item)) {
		if (rh_text_equal(manager, rh_json_string(item)))
			return true;
	}
	for (const struct rh_json *item = rh_json_first(list); item && ret_supported; item = rh_json_next(item))
		rh_str_appendf(ret_supported, "%s\"%s\"", ret_supported->length > 0 ? ", " : "", rh_json_string(item));
	return false;
}

const char *rh_kind_spec_required(const struct rh_kind *kind)
{
	return RH_HAS(kind, struct rh_kind, spec_required) ? kind->spec_required : NULL;
}

const char *rh_kind_restart_policy(const struct rh_kind *kind, const struct rh_replica_type *known)
{
	return known && RH_HAS(known, struct rh_replica_type, restart_policy) ? known->restart_policy
	                                                                      : kind->restart_policy;
}
