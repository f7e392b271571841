/* SPDX-License-Identifier: Apache-2.0 */
/* The first line is a path, the rest a JSON text: what a path finds is in the tree. */
#include <string.h>

#include "base/json.h"
#include "fuzz.h"

static bool fuzz_is_inside(const struct rh_json *tree, const struct rh_json *value)
{
	if (tree == value)
		return true;
	for (const struct rh_json *child = rh_json_first(tree); child; child = rh_json_next(child))
		if (fuzz_is_inside(child, value))
			return true;
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *newline = size > 0 ? memchr(text, '\n', size) : NULL;
	size_t length = newline ? (size_t)(newline - text) : 0;
	rh_auto_free char *path = rh_strndup(text, length);
	rh_auto(json) json = NULL;
	const struct rh_json *found;

	if (!newline || rh_json_parse(newline + 1, size - length - 1, &json, NULL) < 0)
		return 0;
	found = rh_json_at(json, path);
	fuzz_require(!found || fuzz_is_inside(json, found));
	fuzz_require(path[0] != '\0' || found == json);
	return 0;
}
