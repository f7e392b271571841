/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sweep/params.h"

#include <string.h>

#include "base/os/random.h"
#include "base/str.h"

/* Adds the values between commas. */
static int params_add_values(struct rh_json *values, const char *text)
{
	for (;;) {
		size_t length = strcspn(text, ",");
		rh_auto_free char *value = rh_strndup(text, length);

		if (!value || rh_json_append(values, rh_json_new_string(value)) < 0)
			return RH_ENOMEM;
		if (!text[length])
			return 0;
		text += length + 1;
	}
}

/* A path may have an "=" in its brackets. */
static const char *params_find_equal(const char *text)
{
	const char *at = text;

	while (*at && *at != '=') {
		const char *end = *at == '[' ? strchr(at, ']') : NULL;

		at = end ? end + 1 : at + 1;
	}
	return *at && at != text ? at : NULL;
}

static int params_add(struct rh_json *params, const char *text, struct rh_error *err)
{
	const char *equal = params_find_equal(text);
	rh_auto_free char *name = equal ? rh_strndup(text, (size_t)(equal - text)) : NULL;
	struct rh_json *param = NULL;
	struct rh_json *values;

	if (!equal)
		return rh_fail(err, RH_EINVAL, "\"%s\" is not of the form NAME=VALUE,VALUE, as lr=0.1,0.01", text);
	for (const struct rh_json *other = rh_json_first(params); other && name; other = rh_json_next(other)) {
		if (rh_text_equal(rh_json_string(rh_json_get(other, "name")), name))
			return rh_fail(err, RH_EINVAL, "\"%s\" stands twice; give all its values at once", name);
	}
	param = rh_json_new_object();
	if (!name || rh_json_append(params, param) < 0 || rh_json_set_string(param, "name", name) < 0)
		return rh_fail_oom(err);
	values = rh_json_ensure_array(param, "values");
	return values && params_add_values(values, equal + 1) == 0 ? 0 : rh_fail_oom(err);
}

int rh_sweep_params_read(const struct rh_cli *cli, struct rh_json **ret_params, struct rh_error *err)
{
	rh_auto(json) params = rh_json_new_array();
	const char *text;
	size_t cursor = 0;
	int r = params ? 0 : rh_fail_oom(err);

	while (r == 0 && (text = rh_cli_each(cli, "param", &cursor)))
		r = params_add(params, text, err);
	if (r == 0 && rh_json_size(params) == 0)
		r = rh_fail(err, RH_EINVAL, "there is none; a sweep needs at least one, as --param lr=0.1,0.01");
	if (r == 0 && rh_json_size(params) > RH_SWEEP_PARAMS_MAX)
		r = rh_fail(err, RH_EINVAL, "there are more than %d", RH_SWEEP_PARAMS_MAX);
	if (r == 0 && rh_sweep_params_size(params) > RH_SWEEP_TRIALS_MAX)
		r = rh_fail(err, RH_EINVAL, "there are more than %d combinations of the values", RH_SWEEP_TRIALS_MAX);
	if (r < 0)
		return rh_wrap(err, r, "option --param");
	*ret_params = rh_take(params);
	return 0;
}

size_t rh_sweep_params_size(const struct rh_json *params)
{
	size_t size = 1;

	for (const struct rh_json *param = rh_json_first(params); param; param = rh_json_next(param)) {
		size *= rh_json_size(rh_json_get(param, "values"));
		if (size > RH_SWEEP_TRIALS_MAX)
			return RH_SWEEP_TRIALS_MAX + 1;
	}
	return size;
}

struct rh_json *rh_sweep_params_values(const struct rh_json *params, size_t combination)
{
	rh_auto(json) chosen = rh_json_new_array();
	size_t left = rh_sweep_params_size(params);

	for (const struct rh_json *param = rh_json_first(params); param; param = rh_json_next(param)) {
		const struct rh_json *values = rh_json_get(param, "values");

		left /= rh_json_size(values);
		if (!chosen || rh_json_append(chosen, rh_json_copy(rh_json_item(values, combination / left))) < 0)
			return NULL;
		combination %= left;
	}
	return rh_take(chosen);
}

/* Knuth's selection sampling: each of what is left is taken with the chance that it has. */
struct rh_json *rh_sweep_params_choose(size_t size, size_t requested, uint64_t seed)
{
	rh_auto(json) chosen = rh_json_new_array();

	for (size_t i = 0; i < size && chosen && requested > 0; i++) {
		if (rh_random_below(&seed, size - i) >= requested)
			continue;
		requested--;
		if (rh_json_append(chosen, rh_json_new_integer((int64_t)i)) < 0)
			return NULL;
	}
	return rh_take(chosen);
}
