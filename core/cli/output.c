/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include "base/yaml.h"

bool rh_cli_wants_json(const struct rh_cli *cli)
{
	return rh_text_equal(rh_cli_option(cli, "output"), "json");
}

int rh_cli_put(const struct rh_json *json, bool as_json, struct rh_str *out)
{
	int r = json ? 0 : RH_ENOMEM;

	if (r == 0 && as_json)
		rh_json_print(json, true, out);
	else if (r == 0)
		r = rh_yaml_print(json, out);
	if (out->length > 0 && out->data[out->length - 1] != '\n')
		rh_str_append(out, "\n");
	return r < 0 || out->failed ? RH_ENOMEM : 0;
}

int rh_cli_put_out(const struct rh_json *json, bool as_json)
{
	rh_auto_str out = {0};
	int r = rh_cli_put(json, as_json, &out);

	if (r == 0)
		rh_cli_print(&out);
	return r;
}

int rh_cli_put_json(const struct rh_json *json)
{
	return rh_cli_put_out(json, true);
}

struct rh_json *rh_cli_list(struct rh_json *items)
{
	rh_auto(json) guard = items;
	rh_auto(json) list = items ? rh_json_new_object() : NULL;

	if (!list || rh_json_set_string(list, "apiVersion", "v1") < 0 || rh_json_set_string(list, "kind", "List") < 0 ||
	    rh_json_set(list, "items", rh_take(guard)) < 0)
		return NULL;
	return rh_take(list);
}

int rh_cli_put_objects(struct rh_json *items, bool as_json, struct rh_str *out)
{
	rh_auto(json) list = rh_cli_list(items);
	const struct rh_json *first = rh_json_first(rh_json_get(list, "items"));
	int r = list ? 0 : RH_ENOMEM;

	if (r == 0 && as_json)
		return rh_cli_put(list, true, out);
	for (const struct rh_json *object = first; r == 0 && object; object = rh_json_next(object)) {
		if (object != first)
			rh_str_append(out, "---\n");
		r = rh_cli_put(object, false, out);
	}
	return r;
}

int rh_cli_put_objects_out(struct rh_json *items, bool as_json, struct rh_error *err)
{
	rh_auto_str out = {0};

	if (rh_cli_put_objects(items, as_json, &out) < 0)
		return rh_fail_oom(err);
	rh_cli_print(&out);
	return 0;
}
