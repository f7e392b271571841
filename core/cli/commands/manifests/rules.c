/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/commands/manifests/manifests.h"
#include "config/gang.h"
#include "job/lookups/lookups.h"

/* Most words of one list of a rule. */
#define RULES_WORDS_MAX 9

/* One rule as data: lists of words, each ended by NULL. */
struct rules_row {
	const char *group;
	const char *resources[RULES_WORDS_MAX];
	const char *verbs[RULES_WORDS_MAX];
};

/* patch is what adopting an orphan needs; delete of a Service, what a job that shrinks or ends does. */
static const struct rules_row rules_core[] = {
	{"", {"pods", "services", NULL}, {"create", "delete", "get", "list", "patch", "watch", NULL}},
	{"", {"events", NULL}, {"create", "patch", NULL}},
};

/* What V1 does not have: the first fault is found by the output of failed containers. */
static const struct rules_row rules_logs = {"", {"pods/log", NULL}, {"get", NULL}};
/* Likewise: roundhouse.dev/stalls: evict. */
static const struct rules_row rules_evict = {"", {"pods/eviction", NULL}, {"create", NULL}};

/* A rule for the kinds of one group: its resources are the plurals with this ending. */
struct rules_kinds {
	const char *ending;
	const char *verbs[RULES_WORDS_MAX];
};

/* patch: the ledger and the status; delete: ttlSecondsAfterFinished; finalizers: owner references that block deletion.
 */
static const struct rules_kinds rules_work[] = {
	{"", {"delete", "get", "list", "patch", "watch", NULL}},
	{"/status", {"patch", NULL}},
	{"/finalizers", {"update", NULL}},
	{NULL, {NULL}},
};

static const struct rules_kinds rules_edit[] = {
	{"", {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch", NULL}},
	{"/status", {"get", NULL}},
	{"/scale", {"get", "patch", "update", NULL}},
	{NULL, {NULL}},
};

static const struct rules_kinds rules_view[] = {
	{"", {"get", "list", "watch", NULL}},
	{"/status", {"get", NULL}},
	{NULL, {NULL}},
};

static int rules_add_words(struct rh_json *rule, const char *key, const char *const *words)
{
	struct rh_json *list = rh_json_ensure_array(rule, key);

	for (; list && *words; words++) {
		if (rh_json_append(list, rh_json_new_string(*words)) < 0)
			return RH_ENOMEM;
	}
	return list ? 0 : RH_ENOMEM;
}

/* @return a rule without verbs and resources, in @p rules, borrowed; NULL when memory is out */
static struct rh_json *rules_begin(struct rh_json *rules, const char *group)
{
	const char *const groups[] = {group, NULL};
	rh_auto(json) rule = rh_json_new_object();
	struct rh_json *kept = rule;

	if (!rule || rules_add_words(rule, "apiGroups", groups) < 0 || rh_json_append(rules, rh_take(rule)) < 0)
		return NULL;
	return kept;
}

static int rules_add_row(struct rh_json *rules, const struct rules_row *row)
{
	struct rh_json *rule = rules_begin(rules, row->group);

	if (!rule || rules_add_words(rule, "resources", row->resources) < 0)
		return RH_ENOMEM;
	return rules_add_words(rule, "verbs", row->verbs);
}

/* The kinds of a host, one after the other. All zero is the start. */
struct rules_cursor {
	size_t plugin;
	size_t kind;
};

static const struct rh_kind *rules_next(const struct rh_host *host, struct rules_cursor *cursor)
{
	while (cursor->plugin < rh_host_plugin_count(host)) {
		struct rh_plugin_info info;

		rh_host_plugin(host, cursor->plugin, &info);
		if (info.kinds[cursor->kind])
			return info.kinds[cursor->kind++];
		cursor->plugin++;
		cursor->kind = 0;
	}
	return NULL;
}

static bool rules_has_group(const struct rh_json *groups, const char *group)
{
	for (const struct rh_json *at = rh_json_first(groups); at; at = rh_json_next(at)) {
		if (strcmp(rh_json_string(at), group) == 0)
			return true;
	}
	return false;
}

static bool rules_has_word(const struct rh_json *list, const char *word)
{
	for (const struct rh_json *at = rh_json_first(list); at; at = rh_json_next(at)) {
		if (rh_text_equal(rh_json_string(at), word))
			return true;
	}
	return false;
}

/* A scale subresource is only there where the kind has one. */
static bool rules_has_ending(const struct rh_kind *kind, const char *ending)
{
	return strcmp(ending, "/scale") != 0 || kind->scale_type;
}

/* A rule must name a resource: the API server refuses one with none. */
static bool rules_group_has(const struct rh_host *host, const char *group, const char *ending)
{
	struct rules_cursor cursor = {0};
	const struct rh_kind *kind;

	while ((kind = rules_next(host, &cursor))) {
		if (strcmp(kind->group, group) == 0 && rules_has_ending(kind, ending))
			return true;
	}
	return false;
}

bool rh_manifests_has_group(const struct rh_host *host, const char *group)
{
	return rules_group_has(host, group, "");
}

static int rules_add_kinds(const struct rh_host *host, const char *group, const struct rules_kinds *row,
                           struct rh_json *rules)
{
	struct rules_cursor cursor = {0};
	struct rh_json *rule = rules_begin(rules, group);
	struct rh_json *resources = rule ? rh_json_ensure_array(rule, "resources") : NULL;
	const struct rh_kind *kind;

	while (resources && (kind = rules_next(host, &cursor))) {
		rh_auto_free char *resource = NULL;

		if (strcmp(kind->group, group) != 0 || !rules_has_ending(kind, row->ending))
			continue;
		resource = rh_asprintf("%s%s", kind->plural, row->ending);
		if (resource && rules_has_word(resources, resource))
			continue; /* another version of it */
		if (rh_json_append(resources, rh_json_new_string(resource)) < 0)
			return RH_ENOMEM;
	}
	return resources ? rules_add_words(rule, "verbs", row->verbs) : RH_ENOMEM;
}

/* One set of rules for each API group that has kinds. */
static int rules_add_groups(const struct rh_host *host, const struct rules_kinds *rows, struct rh_json *rules)
{
	rh_auto(json) groups = rh_json_new_array();
	struct rules_cursor cursor = {0};
	const struct rh_kind *kind;

	while (groups && (kind = rules_next(host, &cursor))) {
		if (rules_has_group(groups, kind->group))
			continue;
		for (const struct rules_kinds *row = rows; row->ending; row++) {
			if (rules_group_has(host, kind->group, row->ending) && rules_add_kinds(host, kind->group, row, rules) < 0)
				return RH_ENOMEM;
		}
		if (rh_json_append(groups, rh_json_new_string(kind->group)) < 0)
			return RH_ENOMEM;
	}
	return groups ? 0 : RH_ENOMEM;
}

static bool rules_is_there(const struct rh_json *rules, const struct rh_json *rule)
{
	for (const struct rh_json *at = rh_json_first(rules); at; at = rh_json_next(at)) {
		if (rh_json_equal(at, rule))
			return true;
	}
	return false;
}

/*
 * A plugin that was built when further objects were read by get and written by patch says so: they are listed, and
 * updated, now.
 */
static int rules_renew(struct rh_json *rule)
{
	static const char *const renewed[][2] = {{"get", "list"}, {"patch", "update"}};
	struct rh_json *verbs = rh_json_get(rule, "verbs");

	for (size_t i = 0; i < sizeof(renewed) / sizeof(renewed[0]); i++) {
		if (rules_has_word(verbs, renewed[i][0]) && !rules_has_word(verbs, renewed[i][1]) &&
		    rh_json_append(verbs, rh_json_new_string(renewed[i][1])) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

static int rules_add_plugin(const struct rh_kind *kind, struct rh_json *rules, struct rh_error *err)
{
	rh_auto(json) own = NULL;
	int r = rh_json_parse(kind->rbac_rules, strlen(kind->rbac_rules), &own, err);

	if (r == RH_ENOMEM)
		return r;
	if (r < 0 || rh_json_type(own) != RH_JSON_ARRAY)
		return rh_fail(err, RH_EPLUGIN, "kind %s: rbac_rules is not a JSON array; the plugin has to be mended",
		               kind->kind);
	for (struct rh_json *rule = rh_json_first(own); rule; rule = rh_json_next(rule)) {
		if (rules_renew(rule) < 0)
			return rh_fail_oom(err);
		if (!rules_is_there(rules, rule) && rh_json_append(rules, rh_json_copy(rule)) < 0)
			return rh_fail_oom(err);
	}
	return 0;
}

static int rules_add_gang(const struct rh_gang *gang, struct rh_json *rules)
{
	const char *api_version = rh_gang_api_version(gang);
	struct rules_row row = {NULL, {"podgroups", NULL}, {"create", "delete", "list", "update", "watch", NULL}};
	rh_auto_free char *group = NULL;

	if (!api_version)
		return 0;
	group = rh_strndup(api_version, strcspn(api_version, "/"));
	row.group = group;
	return group ? rules_add_row(rules, &row) : RH_ENOMEM;
}

/* Workloads, and what they name. Jobs can be patched already. */
static int rules_add_kueue(struct rh_json *rules)
{
	static const struct rules_row rows[] = {
		{"kueue.x-k8s.io", {"workloads", NULL}, {"create", "delete", "list", "patch", "watch", NULL}},
		{"kueue.x-k8s.io", {"workloads/status", NULL}, {"patch", NULL}},
		{"kueue.x-k8s.io", {"resourceflavors", "workloadpriorityclasses", NULL}, {"list", "watch", NULL}},
		{"scheduling.k8s.io", {"priorityclasses", NULL}, {"list", "watch", NULL}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rules_add_row(rules, &rows[i]) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

/* The right to read what an entry of rh_kind.lookups may name; ConfigMaps and Secrets are not watched. */
static int rules_add_entry(const struct rh_json *entry, struct rh_json *rules)
{
	static const char *const verbs[] = {"get", "list", "watch", NULL};
	static const char *const without_watch[] = {"get", "list", NULL};
	const char *api_version = rh_json_string_at(entry, "apiVersion");
	const char *slash = strchr(api_version, '/');
	rh_auto_free char *group = rh_strndup(api_version, slash ? (size_t)(slash - api_version) : 0);
	rh_auto(json) made = rh_json_new_array();
	struct rh_json *rule = group && made ? rules_begin(made, group) : NULL;
	struct rh_json *resources = rule ? rh_json_ensure_array(rule, "resources") : NULL;
	bool watched = slash;

	if (!resources)
		return RH_ENOMEM;
	for (const struct rh_json *kind = rh_json_first(rh_json_get(entry, "kinds")); kind; kind = rh_json_next(kind)) {
		const char *plural = rh_json_string_at(kind, "plural");

		watched = watched || (strcmp(plural, "configmaps") != 0 && strcmp(plural, "secrets") != 0);
		if (rh_json_append(resources, rh_json_new_string(plural)) < 0)
			return RH_ENOMEM;
	}
	if (rules_add_words(rule, "verbs", watched ? verbs : without_watch) < 0)
		return RH_ENOMEM;
	return rules_is_there(rules, rule) ? 0 : rh_json_append(rules, rh_json_detach_item(made, 0));
}

/* The text was checked when the plugin was loaded. */
static int rules_add_lookups(const struct rh_kind *kind, struct rh_json *rules)
{
	const char *text = rh_lookups_text(kind);
	rh_auto(json) entries = NULL;
	int r = text ? rh_json_parse(text, strlen(text), &entries, NULL) : 0;

	for (const struct rh_json *entry = rh_json_first(entries); entry && r == 0; entry = rh_json_next(entry))
		r = rules_add_entry(entry, rules);
	return r;
}

/* What the kinds of plugins declare for further objects, and for those that their jobs name. */
static int rules_add_declared(const struct rh_host *host, struct rh_json *rules, struct rh_error *err)
{
	struct rules_cursor cursor = {0};
	const struct rh_kind *kind;
	int r = 0;

	while (r == 0 && (kind = rules_next(host, &cursor))) {
		r = kind->rbac_rules ? rules_add_plugin(kind, rules, err) : 0;
		if (r == 0 && rules_add_lookups(kind, rules) < 0)
			r = rh_fail_oom(err);
	}
	return r;
}

int rh_manifests_work_rules(const struct rh_host *host, const struct rh_manifests_uses *uses,
                            struct rh_json **ret_rules, struct rh_error *err)
{
	rh_auto(json) rules = rh_json_new_array();
	int r = rules && rules_add_groups(host, rules_work, rules) == 0 ? 0 : RH_ENOMEM;

	for (size_t i = 0; r == 0 && i < sizeof(rules_core) / sizeof(rules_core[0]); i++)
		r = rules_add_row(rules, &rules_core[i]);
	if (r == 0 && uses->logs)
		r = rules_add_row(rules, &rules_logs);
	if (r == 0 && uses->evicts)
		r = rules_add_row(rules, &rules_evict);
	if (r == 0)
		r = rules_add_gang(uses->gang, rules);
	if (r == 0 && uses->kueue)
		r = rules_add_kueue(rules);
	if (r < 0)
		return rh_fail_oom(err);
	r = rules_add_declared(host, rules, err);
	if (r == 0)
		*ret_rules = rh_take(rules);
	return r;
}

int rh_manifests_plugin_rules(const struct rh_host *host, struct rh_json **ret_rules, struct rh_error *err)
{
	rh_auto(json) rules = rh_json_new_array();
	int r;

	if (!rules || rules_add_groups(host, rules_work, rules) < 0)
		return rh_fail_oom(err);
	r = rules_add_declared(host, rules, err);
	if (r == 0)
		*ret_rules = rh_take(rules);
	return r;
}

int rh_manifests_user_rules(const struct rh_host *host, bool edit, struct rh_json **ret_rules, struct rh_error *err)
{
	rh_auto(json) rules = rh_json_new_array();

	if (!rules || rules_add_groups(host, edit ? rules_edit : rules_view, rules) < 0)
		return rh_fail_oom(err);
	*ret_rules = rh_take(rules);
	return 0;
}
