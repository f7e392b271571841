/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/override/path.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static int path_take(const char *name, size_t length, struct rh_field_step *step, struct rh_error *err)
{
	if (length == 0 || length >= sizeof(step->name))
		return rh_fail(err, RH_EINVAL, length == 0 ? "the path has an empty step" : "a step of the path is too long");
	memcpy(step->name, name, length);
	step->name[length] = '\0';
	return 1;
}

/* @return what follows the bracket that ends the step at @p text; NULL: it has no end */
static const char *path_bracket(const char *text, const char **ret_name, size_t *ret_length)
{
	char quote = text[1] == '"' || text[1] == '\'' ? text[1] : '\0';
	const char *name = text + (quote ? 2 : 1);
	const char *end = strchr(name, quote ? quote : ']');

	if (!end || (quote && end[1] != ']'))
		return NULL;
	*ret_name = name;
	*ret_length = (size_t)(end - name);
	return end + (quote ? 2 : 1);
}

int rh_field_next(const char **cursor, struct rh_field_step *ret_step, struct rh_error *err)
{
	const char *text = *cursor;
	const char *name = text;
	size_t length;

	if (!*text)
		return 0;
	if (*text == '[') {
		*cursor = path_bracket(text, &name, &length);
		if (!*cursor)
			return rh_fail(err, RH_EINVAL, "the path has no \"]\" behind \"%s\"", text);
	} else {
		length = strcspn(name, ".[");
		*cursor = name + length;
	}
	if (**cursor == '.') {
		*cursor += 1;
		if (!**cursor)
			return rh_fail(err, RH_EINVAL, "the path ends with a dot");
	} else if (**cursor && **cursor != '[') {
		return rh_fail(err, RH_EINVAL, "the path has no dot before \"%s\"", *cursor);
	}
	return path_take(name, length, ret_step, err);
}

int rh_field_split(const char *text, char **ret_path, const char **ret_value, struct rh_error *err)
{
	bool inside = false;
	const char *at = text;

	for (; *at && (inside || *at != '='); at++) {
		if (*at == '[' || *at == ']')
			inside = *at == '[';
	}
	if (!*at || at == text)
		return rh_fail(err, RH_EINVAL, "\"%s\" is not of the form PATH=VALUE", text);
	*ret_path = rh_strndup(text, (size_t)(at - text));
	*ret_value = at + 1;
	return *ret_path ? 0 : rh_fail_oom(err);
}
