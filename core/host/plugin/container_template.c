/* SPDX-License-Identifier: Apache-2.0 */
#include "host/plugin/container_template.h"

#include <stdbool.h>
#include <string.h>

#include "base/str.h"
#include "base/yaml.h"
#include "job/values/names.h"

/*
 * Stands for "{{." and "}}" while YAML is read, in which braces mean maps. Private characters of Unicode, so that
 * nobody's text has them.
 */
#define TEMPLATE_OPEN "\xEE\x80\x80"
#define TEMPLATE_CLOSE "\xEE\x80\x81"
#define TEMPLATE_SPACE " \t\n"

/* One {{...}}. */
struct template_action {
	const char *name; /* behind the dot */
	size_t length;
	const char *end; /* behind the braces */
	bool trims_before, trims_behind;
};

static void template_append_names(const struct rh_json *variables, struct rh_str *out)
{
	for (const struct rh_json *item = rh_json_first(variables); item; item = rh_json_next(item))
		rh_str_appendf(out, "%s{{.%s}}", out->length ? ", " : "", rh_json_string(item));
}

static bool template_is_known(const struct template_action *action, const struct rh_json *variables)
{
	for (const struct rh_json *item = rh_json_first(variables); item; item = rh_json_next(item)) {
		const char *name = rh_json_string(item);

		if (name && strlen(name) == action->length && strncmp(name, action->name, action->length) == 0)
			return true;
	}
	return false;
}

static int template_refuse(const char *at, const struct rh_json *variables, struct rh_error *err)
{
	size_t length = strcspn(at, "\n");
	rh_auto_str names = {0};

	template_append_names(variables, &names);
	return names.failed ? rh_fail_oom(err)
	                    : rh_fail(err, RH_EINVAL, "\"%.*s\" is not understood; there are %s", (int)length, at,
	                              rh_str_text(&names));
}

/* @param at the two braces. @return whether what follows is {{ .NAME }}, with a known name */
static bool template_parse(const char *at, const struct rh_json *variables, struct template_action *ret_action)
{
	struct template_action action = {.name = at + 2};

	action.trims_before = action.name[0] == '-' && action.name[1] && strchr(TEMPLATE_SPACE, action.name[1]);
	action.name += action.trims_before;
	action.name += strspn(action.name, TEMPLATE_SPACE);
	if (*action.name++ != '.')
		return false;
	action.length = strcspn(action.name, TEMPLATE_SPACE "-}");
	action.end = action.name + action.length + strspn(action.name + action.length, TEMPLATE_SPACE);
	action.trims_behind = action.end[0] == '-' && action.end > action.name + action.length;
	action.end += action.trims_behind;
	if (strncmp(action.end, "}}", 2) != 0 || !template_is_known(&action, variables))
		return false;
	action.end += 2;
	*ret_action = action;
	return true;
}

static void template_trim_end(struct rh_str *out)
{
	while (out->length > 0 && strchr(TEMPLATE_SPACE, out->data[out->length - 1]))
		rh_str_cut(out, out->length - 1);
}

/* Put marks in the place of the braces. */
static int template_mark(const char *text, const struct rh_json *variables, struct rh_str *out, struct rh_error *err)
{
	const char *at;

	while ((at = strstr(text, "{{"))) {
		struct template_action action;

		if (!template_parse(at, variables, &action))
			return template_refuse(at, variables, err);
		rh_str_append_bytes(out, text, (size_t)(at - text));
		if (action.trims_before)
			template_trim_end(out);
		rh_str_append(out, TEMPLATE_OPEN);
		rh_str_append_bytes(out, action.name, action.length);
		rh_str_append(out, TEMPLATE_CLOSE);
		text = action.end + (action.trims_behind ? strspn(action.end, TEMPLATE_SPACE) : 0);
	}
	rh_str_append(out, text);
	return out->failed ? rh_fail_oom(err) : 0;
}

static void template_unmark(const char *text, struct rh_str *out)
{
	for (const char *at; (at = strstr(text, "\xEE\x80")); text = at + strlen(TEMPLATE_OPEN)) {
		rh_str_append_bytes(out, text, (size_t)(at - text));
		if (strncmp(at, TEMPLATE_OPEN, strlen(TEMPLATE_OPEN)) == 0)
			rh_str_append(out, "{{.");
		else if (strncmp(at, TEMPLATE_CLOSE, strlen(TEMPLATE_CLOSE)) == 0)
			rh_str_append(out, "}}");
		else
			rh_str_append_bytes(out, at, strlen(TEMPLATE_OPEN));
	}
	rh_str_append(out, text);
}

static int template_append_container(const struct rh_json *container, size_t index, struct rh_str *out,
                                     struct rh_error *err)
{
	const char *name = rh_json_string(rh_json_get(container, "name"));
	rh_auto_free char *text = rh_json_text(container);

	if (rh_json_type(container) != RH_JSON_OBJECT)
		return rh_fail(err, RH_EINVAL, "[%zu] is %s; write a container: name, image, command", index,
		               rh_json_type_name(container));
	if (!name || (!rh_name_is_label(name) && !strstr(name, TEMPLATE_OPEN)))
		return rh_fail(err, RH_EINVAL,
		               "[%zu].name: \"%s\" is not the name of a container; use small letters, digits and -", index,
		               name ? name : "");
	if (!rh_json_string(rh_json_get(container, "image")))
		return rh_fail(err, RH_EINVAL, "[%zu].image is missing; name an image", index);
	if (!text)
		return rh_fail_oom(err);
	template_unmark(text, out);
	rh_str_append(out, "\n");
	return 0;
}

int rh_container_template_read(const char *text, const struct rh_json *variables, char **ret_lines,
                               struct rh_error *err)
{
	rh_auto_str marked = {0}, lines = {0};
	rh_auto(json) documents = NULL;
	const struct rh_json *list;
	size_t index = 0;
	int r = template_mark(text, variables, &marked, err);

	if (r == 0)
		r = rh_yaml_parse(rh_str_text(&marked), marked.length, &documents, err);
	if (r < 0)
		return r;
	list = rh_json_first(documents);
	if (rh_json_type(list) != RH_JSON_ARRAY || rh_json_next(list))
		return rh_fail(err, RH_EINVAL, "it holds no list of containers; write \"- name: ...\"");
	for (const struct rh_json *item = rh_json_first(list); item && r == 0; item = rh_json_next(item))
		r = template_append_container(item, index++, &lines, err);
	if (r < 0)
		return r;
	*ret_lines = rh_str_take(&lines);
	return *ret_lines ? 0 : rh_fail_oom(err);
}
