/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/check/pod.h"

#include <stdio.h>
#include <string.h>

#include "conformance/check/texts.h"

/** Room for "what name" of an addition. */
#define POD_KEY_SIZE 400

/** Members of a container that are lists of their own, or the core's. */
static const char pod_container_lists[] = "env|volumeMounts|ports|resources|name";
/** Members of a pod's spec that are lists of their own, or the core's. */
static const char pod_spec_lists[] = "containers|initContainers|volumes|restartPolicy";

static int pod_note(struct rh_json *additions, const char *what, const char *name)
{
	char key[POD_KEY_SIZE];

	snprintf(key, sizeof(key), "%s %.350s", what, name);
	return rh_json_set_bool(additions, key, true);
}

static bool pod_has(const struct rh_json *list, const char *member, const char *name)
{
	for (const struct rh_json *item = rh_json_first(list); item; item = rh_json_next(item)) {
		if (rh_text_equal(rh_json_string_at(item, member), name))
			return true;
	}
	return false;
}

/** Note the items of @p after whose @p member no item of @p before has. */
static int pod_note_list(struct rh_json *additions, const char *what, const char *member, const struct rh_json *before,
                         const struct rh_json *after)
{
	int r = 0;

	for (const struct rh_json *item = rh_json_first(after); item && r == 0; item = rh_json_next(item)) {
		const char *name = rh_json_string_at(item, member);

		if (name && !pod_has(before, member, name))
			r = pod_note(additions, what, name);
	}
	return r;
}

/** Note the members of @p after, but those of @p lists, that differ from @p before. */
static int pod_note_members(struct rh_json *additions, const char *path, const char *lists,
                            const struct rh_json *before, const struct rh_json *after)
{
	char name[POD_KEY_SIZE];
	int r = 0;

	for (const struct rh_json *member = rh_json_first(after); member && r == 0; member = rh_json_next(member)) {
		const char *key = rh_json_key(member);

		if (rh_words_have(lists, '|', key, strlen(key)) || rh_json_equal(rh_json_get(before, key), member))
			continue;
		snprintf(name, sizeof(name), "%s.%.100s", path, key);
		r = pod_note(additions, "field", name);
	}
	return r;
}

static bool pod_is_variable(const char *name)
{
	static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-.";
	static const char rest[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-.0123456789";

	return *name && strchr(first, *name) && strspn(name, rest) == strlen(name);
}

/** The variables that pod() appended to those that the container had. */
static void pod_check_env(struct rh_board *board, const struct rh_json *before, const struct rh_json *after)
{
	const struct rh_json *item = rh_json_first(after);
	const struct rh_json *first = item;

	for (size_t i = 0; item && i < rh_json_size(before); i++)
		first = item = rh_json_next(item);
	for (; item; item = rh_json_next(item)) {
		const char *name = rh_json_string_at(item, "name");
		const struct rh_json *other = first;

		if (!name) {
			rh_board_add(board, RH_CHECK_ENV, "it adds a variable without a name");
			continue;
		}
		if (!pod_is_variable(name))
			rh_board_add(board, RH_CHECK_ENV, "\"%.100s\" is not a name of a variable that every cluster takes", name);
		while (other != item && !rh_text_equal(rh_json_string_at(other, "name"), name))
			other = rh_json_next(other);
		if (other != item)
			rh_board_add(board, RH_CHECK_ENV, "it adds the variable %.100s twice to one container", name);
	}
}

static int pod_compare_containers(struct rh_board *board, struct rh_json *additions, const struct rh_json *before,
                                  const struct rh_json *after)
{
	const struct rh_json *was = rh_json_first(before);
	const struct rh_json *is = rh_json_first(after);
	char path[64];
	int r = 0;

	for (size_t i = 0; was && is && r == 0; i++, was = rh_json_next(was), is = rh_json_next(is)) {
		const struct rh_json *env = rh_json_get(was, "env");

		snprintf(path, sizeof(path), "spec.containers[%zu]", i);
		pod_check_env(board, env, rh_json_get(is, "env"));
		r = pod_note_list(additions, "env", "name", env, rh_json_get(is, "env"));
		if (r == 0)
			r = pod_note_list(additions, "mount", "mountPath", rh_json_get(was, "volumeMounts"),
			                  rh_json_get(is, "volumeMounts"));
		if (r == 0)
			r = pod_note_members(additions, path, pod_container_lists, was, is);
		if (!rh_json_equal(rh_json_get(was, "name"), rh_json_get(is, "name")))
			rh_board_add(board, RH_CHECK_CORE, "it changes the name of container %zu", i);
	}
	if (was)
		rh_board_add(board, RH_CHECK_CORE, "it removes a container of the template");
	return r;
}

static void pod_check_core(struct rh_board *board, const struct rh_json *before, const struct rh_json *after)
{
	static const char *const paths[] = {"apiVersion",
	                                    "kind",
	                                    "metadata.name",
	                                    "metadata.generateName",
	                                    "metadata.namespace",
	                                    "metadata.ownerReferences",
	                                    "status"};
	const struct rh_json *label = rh_json_first(rh_json_at(before, "metadata.labels"));

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (!rh_json_equal(rh_json_at(before, paths[i]), rh_json_at(after, paths[i])))
			rh_board_add(board, RH_CHECK_CORE, "it changes %s of the pod", paths[i]);
	}
	for (; label; label = rh_json_next(label)) {
		if (!rh_json_equal(label, rh_json_get(rh_json_at(after, "metadata.labels"), rh_json_key(label))))
			rh_board_add(board, RH_CHECK_CORE, "it changes the label %.100s of the pod", rh_json_key(label));
	}
}

int rh_check_pod(struct rh_board *board, struct rh_contract *contract, const struct rh_json *before,
                 const struct rh_json *after, const char *type)
{
	rh_auto(json) additions = rh_json_new_object();
	const struct rh_json *was = rh_json_get(before, "spec");
	const struct rh_json *is = rh_json_get(after, "spec");
	int r = additions ? 0 : RH_ENOMEM;

	pod_check_core(board, before, after);
	rh_check_texts(board, "a key of the pod", after);
	if (r == 0)
		r = pod_compare_containers(board, additions, rh_json_get(was, "containers"), rh_json_get(is, "containers"));
	if (r == 0)
		r = pod_note_list(additions, "initContainer", "name", rh_json_get(was, "initContainers"),
		                  rh_json_get(is, "initContainers"));
	if (r == 0)
		r = pod_note_list(additions, "volume", "name", rh_json_get(was, "volumes"), rh_json_get(is, "volumes"));
	if (r == 0)
		r = pod_note_members(additions, "spec", pod_spec_lists, was, is);
	if (r == 0)
		rh_contract_pod(contract, board, additions, type);
	return r;
}
