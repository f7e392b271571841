/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sweep/trial.h"

#include <string.h>

#include "base/str.h"
#include "cli/override/override.h"
#include "cli/sweep/params.h"

static bool trial_is_path(const char *name)
{
	return strpbrk(name, ".[") != NULL;
}

static bool trial_is_variable(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	return *name && strchr(letters, *name) && !name[strspn(name, all)];
}

/* Replace @p from in a JSON text by what stands between the quotes of @p value. @return how often, or RH_ENOMEM */
static int trial_replace(char **text, const char *from, const char *value)
{
	rh_auto_str quoted = {0};
	rh_auto_str out = {0};
	const char *at = *text;
	const char *found;
	int count = 0;

	rh_json_quote(value, &quoted);
	for (; (found = strstr(at, from)); at = found + strlen(from)) {
		rh_str_append_bytes(&out, at, (size_t)(found - at));
		if (quoted.length >= 2)
			rh_str_append_bytes(&out, quoted.data + 1, quoted.length - 2);
		count++;
	}
	rh_str_append(&out, at);
	if (quoted.failed || out.failed)
		return RH_ENOMEM;
	rh_free(*text);
	*text = rh_str_take(&out);
	return *text ? count : RH_ENOMEM;
}

/* @return how often the parameter stands in the text, or RH_ENOMEM */
static int trial_fill(char **text, const char *name, const char *value)
{
	rh_auto_free char *own = rh_asprintf("{{%s}}", name);
	rh_auto_free char *katib = rh_asprintf("${trialParameters.%s}", name);
	int first = own ? trial_replace(text, own, value) : RH_ENOMEM;
	int second = katib && first >= 0 ? trial_replace(text, katib, value) : RH_ENOMEM;

	return second < 0 ? second : first + second;
}

static const char *trial_value(const struct rh_json *value)
{
	const char *text = rh_json_string(value);

	return text ? text : "";
}

/* Put the values in the place of the names, in the text of the job as Katib does. */
static int trial_fill_all(const struct rh_sweep_base *base, const struct rh_json *values, struct rh_json **object,
                          struct rh_error *err)
{
	rh_auto_free char *text = rh_json_text(*object);
	const struct rh_json *value = rh_json_first(values);
	struct rh_json *filled = NULL;
	int r = text ? 0 : RH_ENOMEM;

	for (const struct rh_json *param = rh_json_first(rh_json_get(base->plan, "params")); param && r >= 0;
	     param = rh_json_next(param)) {
		const char *name = rh_json_string(rh_json_get(param, "name"));

		r = trial_is_path(name) ? 0 : trial_fill(&text, name, trial_value(value));
		if (r == 0 && !trial_is_path(name) && !trial_is_variable(name))
			return rh_fail(err, RH_EINVAL,
			               "option --param: \"%s\" is neither a path of fields, nor the name of a variable, nor does "
			               "{{%s}} stand in the job",
			               name, name);
		value = rh_json_next(value);
	}
	if (r < 0)
		return rh_fail_oom(err);
	r = rh_json_parse(text, strlen(text), &filled, err);
	if (r < 0)
		return r;
	rh_json_free(*object);
	*object = filled;
	return 0;
}

static int trial_set(const struct rh_sweep_base *base, const char *name, const char *value, struct rh_json *object,
                     struct rh_error *err)
{
	rh_auto_free char *text = rh_asprintf("%s=%s", name, value);
	int r = 0;

	if (!text)
		return rh_fail_oom(err);
	if (trial_is_path(name))
		r = rh_override_job(base->kind, object, "set", text, err);
	else if (trial_is_variable(name))
		r = rh_override_job(base->kind, object, "env", text, err);
	return r < 0 ? rh_wrap(err, r, "option --param %s", name) : 0;
}

static int trial_set_all(const struct rh_sweep_base *base, const struct rh_json *values, struct rh_json *object,
                         struct rh_error *err)
{
	const struct rh_json *value = rh_json_first(values);
	int r = 0;

	for (const struct rh_json *param = rh_json_first(rh_json_get(base->plan, "params")); param && r == 0;
	     param = rh_json_next(param)) {
		r = trial_set(base, rh_json_string(rh_json_get(param, "name")), trial_value(value), object, err);
		value = rh_json_next(value);
	}
	return r;
}

static int trial_name(struct rh_json *object, size_t number, struct rh_error *err)
{
	rh_auto_free char *name = rh_asprintf("%s-%04zu", rh_json_string_at(object, "metadata.name"), number);

	return name && rh_json_set_string(rh_json_get(object, "metadata"), "name", name) == 0 ? 0 : rh_fail_oom(err);
}

static int trial_copy(const struct rh_manifest *from, struct rh_manifest *to)
{
	to->items = rh_alloc_array(from->count, sizeof(*to->items));
	to->capacity = to->items ? from->count : 0;
	for (size_t i = 0; i < from->count && to->items; i++) {
		struct rh_manifest_object *item = &to->items[to->count++];

		item->object = rh_json_copy(from->items[i].object);
		item->source = rh_strdup(from->items[i].source);
		if (!item->object || !item->source)
			return RH_ENOMEM;
	}
	return to->items ? 0 : RH_ENOMEM;
}

struct rh_json *rh_sweep_trial_values(const struct rh_json *plan, size_t number)
{
	int64_t combination = 0;

	(void)rh_json_integer(rh_json_item(rh_json_get(plan, "combinations"), number - 1), &combination);
	return rh_sweep_params_values(rh_json_get(plan, "params"), (size_t)combination);
}

int rh_sweep_trial_make(const struct rh_sweep_base *base, size_t number, struct rh_manifest *ret_manifest,
                        struct rh_error *err)
{
	rh_auto(json) values = rh_sweep_trial_values(base->plan, number);
	struct rh_json **object;
	int r = !values || trial_copy(base->manifest, ret_manifest) < 0 ? rh_fail_oom(err) : 0;

	if (r < 0)
		return r;
	object = &ret_manifest->items[base->at].object;
	r = trial_fill_all(base, values, object, err);
	if (r == 0)
		r = trial_name(*object, number, err);
	return r < 0 ? r : trial_set_all(base, values, *object, err);
}
