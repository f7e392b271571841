/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applying merge patches and replacements. They change neither the identity of an object nor, except for the status
 * subresource, its status.
 */
#include <string.h>

#include "store/memory/parts.h"

/* Members of metadata that only the server sets. */
static const char *const memory_own[] = {"name",          "namespace",         "uid",
                                         "generation",    "resourceVersion",   "creationTimestamp",
                                         "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds"};

#define MEMORY_OWN_COUNT (sizeof(memory_own) / sizeof(memory_own[0]))

void rh_memory_strip(struct rh_json *metadata)
{
	for (size_t i = 0; i < MEMORY_OWN_COUNT; i++)
		rh_json_remove(metadata, memory_own[i]);
}

static bool memory_spec_equal(const struct rh_json *a, const struct rh_json *b)
{
	static const char *const apart[] = {"metadata", "status"};
	size_t members[2] = {rh_json_size(a), rh_json_size(b)};

	for (size_t i = 0; i < 2; i++) {
		members[0] -= rh_json_get(a, apart[i]) ? 1 : 0;
		members[1] -= rh_json_get(b, apart[i]) ? 1 : 0;
	}
	if (members[0] != members[1])
		return false;
	for (const struct rh_json *member = rh_json_first(a); member; member = rh_json_next(member)) {
		const char *key = rh_json_key(member);

		if (strcmp(key, "metadata") != 0 && strcmp(key, "status") != 0 && !rh_json_equal(member, rh_json_get(b, key)))
			return false;
	}
	return true;
}

/* Remove from a patch what its verb may not change. */
static int memory_trim_patch(enum rh_verb verb, struct rh_json **patch)
{
	rh_auto(json) status = rh_json_detach(*patch, "status");
	struct rh_json *metadata = rh_json_get(*patch, "metadata");

	if (verb == RH_VERB_PATCH_STATUS) {
		rh_json_free(*patch);
		*patch = rh_json_new_object();
		if (!*patch)
			return RH_ENOMEM;
		return status ? rh_json_set(*patch, "status", rh_take(status)) : 0;
	}
	rh_json_remove(*patch, "apiVersion");
	rh_json_remove(*patch, "kind");
	if (rh_json_type(metadata) != RH_JSON_OBJECT)
		rh_json_remove(*patch, "metadata");
	for (size_t i = 0; i < MEMORY_OWN_COUNT && rh_json_type(metadata) == RH_JSON_OBJECT; i++)
		rh_json_remove(metadata, memory_own[i]);
	return 0;
}

static int memory_patch_tree(struct rh_memory_request *request, const struct rh_json *before, struct rh_json **ret_tree)
{
	rh_auto(json) next = rh_json_copy(before);

	if (!next || memory_trim_patch(request->request.verb, &request->request.body) < 0 ||
	    rh_json_merge(next, request->request.body) < 0)
		return RH_ENOMEM;
	*ret_tree = rh_take(next);
	return 0;
}

/* Copy @p key of @p from to @p to, or remove it there. */
static int memory_keep_member(struct rh_json *to, const struct rh_json *from, const char *key)
{
	const struct rh_json *value = rh_json_get(from, key);

	if (value)
		return rh_json_set(to, key, rh_json_copy(value));
	rh_json_remove(to, key);
	return 0;
}

/* @return the body, with the members that the writer may not change as before */
static int memory_replace_tree(const struct rh_json *body, const struct rh_json *before, struct rh_json **ret_tree)
{
	static const char *const kept[] = {"apiVersion", "kind", "status"};
	const struct rh_json *was = rh_json_get(before, "metadata");
	rh_auto(json) next = rh_json_copy(body);
	struct rh_json *metadata = next ? rh_json_ensure_object(next, "metadata") : NULL;

	if (!metadata)
		return RH_ENOMEM;
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		if (memory_keep_member(next, before, kept[i]) < 0)
			return RH_ENOMEM;
	}
	for (size_t i = 0; i < MEMORY_OWN_COUNT; i++) {
		if (memory_keep_member(metadata, was, memory_own[i]) < 0)
			return RH_ENOMEM;
	}
	*ret_tree = rh_take(next);
	return 0;
}

int rh_memory_changed(struct rh_memory_request *request, const struct rh_json *before, struct rh_json **ret_tree)
{
	enum rh_verb verb = request->request.verb;
	rh_auto(json) next = NULL;
	struct rh_json *metadata;
	int64_t generation;
	int r = verb == RH_VERB_REPLACE ? memory_replace_tree(request->request.body, before, &next)
	                                : memory_patch_tree(request, before, &next);

	if (r < 0)
		return r;
	metadata = rh_json_get(next, "metadata");
	if (verb != RH_VERB_PATCH_STATUS && !memory_spec_equal(before, next) &&
	    rh_json_integer(rh_json_get(metadata, "generation"), &generation) && generation < INT64_MAX &&
	    rh_json_set_integer(metadata, "generation", generation + 1) < 0)
		return RH_ENOMEM;
	*ret_tree = rh_take(next);
	return 0;
}
