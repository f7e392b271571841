/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

#include "base/str.h"
#include "host/call/reply.h"

/** Longest key of a path, terminating zero included: a qualified annotation key is at most 253 + 1 + 63. */
#define EDIT_KEY_SIZE 320

/** How a step goes down. */
enum edit_kind { EDIT_KEY, EDIT_INDEX, EDIT_APPEND };

/** One step of a path. */
struct edit_step {
	enum edit_kind kind;
	char key[EDIT_KEY_SIZE];
	size_t index;
};

/** A path that is being walked. */
struct edit_walk {
	const char *path;   /**< all of it, for messages */
	const char *cursor; /**< what is left */
	struct rh_error *err;
};

static int edit_refuse(const struct edit_walk *walk, const char *why)
{
	return rh_fail(walk->err, RH_EPLUGIN, "path \"%s\": %s", walk->path, why);
}

static int edit_take_key(struct edit_walk *walk, const char *key, size_t length, struct edit_step *ret_step)
{
	if (length == 0 || length >= sizeof(ret_step->key))
		return edit_refuse(walk, length == 0 ? "a key is empty" : "a key is too long");
	ret_step->kind = EDIT_KEY;
	rh_copy(ret_step->key, length + 1, key);
	return 0;
}

/** Read `["key"]`, whose first two characters have been seen. */
static int edit_read_quoted(struct edit_walk *walk, struct edit_step *ret_step)
{
	const char *key = walk->cursor + 2;
	const char *end = strstr(key, "\"]");

	if (!end)
		return edit_refuse(walk, "[\" has no \"]");
	walk->cursor = end + 2;
	return edit_take_key(walk, key, (size_t)(end - key), ret_step);
}

/** Read `[7]` or `[+]`. */
static int edit_read_index(struct edit_walk *walk, struct edit_step *ret_step)
{
	const char *text = walk->cursor + 1;
	size_t length = strspn(text, "0123456789");

	ret_step->kind = text[0] == '+' ? EDIT_APPEND : EDIT_INDEX;
	if (text[0] == '+')
		length = 1;
	if (length == 0 || length > 6 || text[length] != ']')
		return edit_refuse(walk, "in brackets stands a number, + or a key in quotes");
	ret_step->index = 0;
	for (size_t i = 0; ret_step->kind == EDIT_INDEX && i < length; i++)
		ret_step->index = ret_step->index * 10 + (size_t)(text[i] - '0');
	walk->cursor = text + length + 1;
	return 0;
}

/** Read the next step. @return 1, 0 at the end, or RH_EPLUGIN */
static int edit_next(struct edit_walk *walk, struct edit_step *ret_step)
{
	bool first = walk->cursor == walk->path;
	const char *key;
	int r;

	if (!*walk->cursor && !first)
		return 0;
	if (walk->cursor[0] == '[') {
		r = walk->cursor[1] == '"' ? edit_read_quoted(walk, ret_step) : edit_read_index(walk, ret_step);
		return r < 0 ? r : 1;
	}
	if (!first && *walk->cursor++ != '.')
		return edit_refuse(walk, "after ] stands a dot, a bracket or nothing");
	key = walk->cursor;
	walk->cursor += strcspn(key, ".[");
	r = edit_take_key(walk, key, (size_t)(walk->cursor - key), ret_step);
	return r < 0 ? r : 1;
}

/** Look for what stands at @p step of @p node; nothing there is NULL and no error. */
static int edit_find(const struct edit_walk *walk, struct rh_json *node, const struct edit_step *step,
                     struct rh_json **ret_child)
{
	enum rh_json_type want = step->kind == EDIT_KEY ? RH_JSON_OBJECT : RH_JSON_ARRAY;

	if (rh_json_type(node) != want)
		return rh_fail(walk->err, RH_EPLUGIN, "path \"%s\": found %s where the path has %s", walk->path,
		               rh_json_type_name(node), want == RH_JSON_OBJECT ? "an object" : "an array");
	*ret_child = NULL;
	if (step->kind == EDIT_KEY)
		*ret_child = rh_json_get(node, step->key);
	else if (step->kind == EDIT_INDEX)
		*ret_child = rh_json_item(node, step->index);
	if (step->kind == EDIT_INDEX && !*ret_child && step->index != rh_json_size(node))
		return edit_refuse(walk, "the list is shorter than that");
	return 0;
}

/** Set what stands at @p step of @p node to @p value (taken). */
static int edit_place(const struct edit_walk *walk, struct rh_json *node, const struct edit_step *step,
                      struct rh_json *value)
{
	struct rh_json *old;
	int r = edit_find(walk, node, step, &old);

	if (r < 0) {
		rh_json_free(value);
		return r;
	}
	if (step->kind == EDIT_KEY)
		r = rh_json_set(node, step->key, value);
	else if (old)
		r = rh_json_set_item(node, step->index, value);
	else
		r = rh_json_append(node, value);
	return r < 0 ? rh_fail_oom(walk->err) : 0;
}

/** Go down by @p step, into what @p next can go down from; it is made where nothing, or null, stands. */
static int edit_descend(const struct edit_walk *walk, struct rh_json **node, const struct edit_step *step,
                        const struct edit_step *next)
{
	struct rh_json *child;
	int r = edit_find(walk, *node, step, &child);

	if (r < 0)
		return r;
	if (!child || rh_json_type(child) == RH_JSON_NULL) {
		child = next->kind == EDIT_KEY ? rh_json_new_object() : rh_json_new_array();
		r = edit_place(walk, *node, step, child);
	}
	if (r < 0)
		return r;
	*node = child;
	return 0;
}

int rh_edit(struct rh_json *root, const char *path, struct rh_json *value, struct rh_error *err)
{
	rh_auto(json) owned = value;
	struct edit_walk walk = {path, path, err};
	struct edit_step step, next;
	struct rh_json *node = root;
	int r = edit_next(&walk, &step);

	while (r > 0) {
		int found = edit_next(&walk, &next);

		if (found == 0)
			return edit_place(&walk, node, &step, rh_take(owned));
		r = found < 0 ? found : edit_descend(&walk, &node, &step, &next);
		if (r < 0)
			return r;
		r = found;
		step = next;
	}
	return r;
}
