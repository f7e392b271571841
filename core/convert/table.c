/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/rules.h"

static void table_code(const char *text, struct rh_str *out)
{
	rh_str_appendf(out, "`%s`", text);
}

/* What stands in the column of the new place. */
static void table_becomes(const struct rh_convert_rule *rule, struct rh_str *out)
{
	if (rule->effect == RH_CONVERT_LOST || rule->effect == RH_CONVERT_IMPLIED) {
		rh_str_append(out, rh_convert_effect_name(rule->effect));
		return;
	}
	if (rule->to)
		table_code(rule->to, out);
	if (rule->value && !rule->apply) {
		rh_str_append(out, rule->to ? ": " : "");
		table_code(rule->value, out);
	}
	if (!rule->to && (rule->apply || !rule->value))
		rh_str_append(out, rh_convert_effect_name(rule->effect));
}

static void table_row(const struct rh_convert_rule *rule, struct rh_str *out)
{
	rh_str_append(out, "| ");
	table_code(rule->path, out);
	if (rule->when) {
		rh_str_append(out, " ");
		table_code(rule->when, out);
	}
	if (rule->absent)
		rh_str_append(out, ", not set");
	rh_str_append(out, " | ");
	table_becomes(rule, out);
	rh_str_appendf(out, " | %s |\n", rule->why ? rule->why : "");
}

/* "TFJob of kubeflow.org (v1alpha1)" */
static void table_name(const struct rh_convert_api *api, struct rh_str *out)
{
	rh_str_appendf(out, "%s of %s (", api->kind, api->group);
	for (const char *const *version = api->versions; *version; version++)
		rh_str_appendf(out, "%s%s", version == api->versions ? "" : ", ", *version);
	rh_str_append(out, ")");
	if (api->policy)
		rh_str_appendf(out, " with mlPolicy.%s", api->policy);
}

/* One table for APIs that have the same rules. @return the next API */
static const struct rh_convert_api *table_apis(const struct rh_convert_api *api, struct rh_str *out)
{
	const struct rh_convert_api *first = api;

	rh_str_append(out, "### ");
	table_name(api, out);
	rh_str_appendf(out, " to %s%s%s\n\n", api->policy ? api->to_kind : "", api->policy ? " of " : "", api->to_api);
	while (api[1].group && api[1].rules == first->rules) {
		rh_str_append(out, api == first ? "Also " : ", ");
		table_name(++api, out);
	}
	rh_str_append(out, api == first ? "" : ".\n\n");
	rh_str_append(out, "| field | becomes | consequence |\n|---|---|---|\n");
	for (size_t i = 0; first->rules[i]; i++)
		for (const struct rh_convert_rule *rule = first->rules[i]; rule->path; rule++)
			table_row(rule, out);
	rh_str_append(out, "\n");
	return api + 1;
}

int rh_convert_print_tables(struct rh_str *out)
{
	const struct rh_convert_api *api = rh_convert_apis;

	while (api->group)
		api = table_apis(api, out);
	return out->failed ? RH_ENOMEM : 0;
}
