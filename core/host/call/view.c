/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/view.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "job/status/conditions.h"
#include "job/values/names.h"

/** The value at @p path of the job, or of an object that it names; NULL when it is absent or null. */
static const struct rh_json *view_at(const struct rh_view *view, const char *path)
{
	const struct rh_json *root = view->snapshot->job->object, *value;
	const struct rh_lookup *lookup = NULL;

	if (path && *path == '@') {
		lookup = rh_lookups_of_path(view->snapshot->lookups, path, &path);
		root = lookup ? lookup->object : NULL;
	}
	value = path && root ? rh_json_at_near(root, path, view->spot) : NULL;

	return rh_json_type(value) == RH_JSON_NULL ? NULL : value;
}

/** The spec of @p type; NULL is asked for by nobody who means well. */
static const struct rh_replica_spec *view_spec(const struct rh_view *view, const char *type)
{
	return type ? rh_job_spec(view->snapshot->job, type) : NULL;
}

const char *rh_view_text(const struct rh_view *view, const char *path)
{
	const struct rh_json *value = view_at(view, path);
	enum rh_json_type type = rh_json_type(value);

	if (path && strcmp(path, "metadata.namespace") == 0)
		return view->snapshot->job->namespace_;
	if (type == RH_JSON_STRING)
		return rh_json_string(value);
	if (type == RH_JSON_NUMBER || type == RH_JSON_BOOL)
		return rh_view_json(view, path);
	return NULL;
}

int32_t rh_view_integer(const struct rh_view *view, const char *path, int64_t *ret_value)
{
	int64_t value;

	if (!rh_json_integer(view_at(view, path), &value))
		return 0;
	if (ret_value)
		*ret_value = value;
	return 1;
}

int32_t rh_view_boolean(const struct rh_view *view, const char *path)
{
	return rh_json_bool(view_at(view, path), false);
}

int32_t rh_view_size(const struct rh_view *view, const char *path)
{
	const struct rh_json *value = view_at(view, path);
	enum rh_json_type type = rh_json_type(value);

	return type == RH_JSON_ARRAY || type == RH_JSON_OBJECT ? (int32_t)rh_json_size(value) : -1;
}

const char *rh_view_json(const struct rh_view *view, const char *path)
{
	const struct rh_json *value = view_at(view, path);
	rh_auto_free char *text = value ? rh_json_text(value) : NULL;

	return value ? rh_arena_copy(view->texts, text) : NULL;
}

const char *rh_view_quote(const struct rh_view *view, const char *text)
{
	rh_auto(json) value = text ? rh_json_new_string(text) : NULL;
	rh_auto_free char *quoted = value ? rh_json_text(value) : NULL;

	return text ? rh_arena_copy(view->texts, quoted) : NULL;
}

const char *rh_view_setting(const struct rh_view *view, const char *key)
{
	const struct rh_setting *setting = key ? rh_config_find_setting(view->config, view->section, key) : NULL;

	if (!setting)
		return NULL;
	return setting->content ? setting->content : setting->value;
}

int32_t rh_view_replicas(const struct rh_view *view, const char *type)
{
	const struct rh_replica_spec *spec = view_spec(view, type);

	return spec ? spec->replicas : -1;
}

const char *rh_view_restart_policy(const struct rh_view *view, const char *type)
{
	const struct rh_replica_spec *spec = view_spec(view, type);

	return spec ? rh_restart_policy_name(spec->policy) : NULL;
}

/** The plan of addresses; NULL on a cluster. */
static const struct rh_addresses *view_addresses(const struct rh_view *view)
{
	const struct rh_addresses *addresses = view->snapshot->addresses;

	return addresses && addresses->count > 0 ? addresses : NULL;
}

const char *rh_view_pod_name(const struct rh_view *view, const char *type, int32_t index)
{
	const struct rh_replica_spec *spec = view_spec(view, type);
	char name[RH_NAME_SIZE];

	if (!spec || index < 0)
		return NULL;
	return rh_arena_copy(view->texts, rh_job_replica_name(view->snapshot->job, spec->type, index, name));
}

/** By what name a replica is reached on a cluster. */
static const char *view_name_host(const struct rh_view *view, const char *type, int32_t index)
{
	const struct rh_pattern_replica replica = rh_job_pattern_replica(view->snapshot->job, type, index);
	rh_auto_str host = {0};

	rh_patterns_host(view->snapshot->job->kind, &replica, rh_view_setting(view, RH_VIEW_DOMAIN), &host);
	return rh_arena_copy(view->texts, host.failed ? NULL : rh_str_text(&host));
}

const char *rh_view_host(const struct rh_view *view, const char *type, int32_t index)
{
	const struct rh_replica_spec *spec = view_spec(view, type);
	const struct rh_addresses *addresses = view_addresses(view);
	const struct rh_address *address;

	if (!spec || index < 0)
		return NULL;
	if (!addresses)
		return view_name_host(view, spec->type, index);
	address = rh_addresses_find(addresses, spec->type, index);
	return address ? address->host : NULL;
}

int32_t rh_view_port(const struct rh_view *view, const char *type, int32_t index)
{
	const struct rh_replica_spec *spec = view_spec(view, type);
	const struct rh_addresses *addresses = view_addresses(view);
	const struct rh_address *address;

	if (!spec)
		return -1;
	address = addresses ? rh_addresses_find(addresses, spec->type, index) : NULL;
	return address ? address->port : rh_job_port(view->snapshot->job, spec->type);
}

uint32_t rh_view_state(const struct rh_view *view)
{
	return (view_addresses(view) ? RH_STATE_LOCAL : 0) | (view->snapshot->suspended ? RH_STATE_SUSPENDED : 0) |
	       (view->snapshot->finished ? RH_STATE_FINISHED : 0);
}

int32_t rh_view_attempt(const struct rh_view *view)
{
	return view->snapshot->attempt;
}

/**
 * Copy what follows the head of one of the host's structs into the plugin's, whose head says how much of it the plugin
 * knows.
 * @return 0 when that size makes no sense
 */
static int32_t view_give(void *to, const void *from, size_t size)
{
	struct rh_head *head = to;

	if (!head || head->size < sizeof(*head))
		return 0;
	if (head->size < size)
		size = head->size;
	memcpy((char *)to + sizeof(*head), (const char *)from + sizeof(*head), size - sizeof(*head));
	return 1;
}

int32_t rh_view_counts(const struct rh_view *view, const char *type, struct rh_counts *ret_counts)
{
	const struct rh_replica_spec *spec = view_spec(view, type);

	if (!spec || !view->snapshot->counts)
		return 0;
	return view_give(ret_counts, &view->snapshot->counts[spec - view->snapshot->job->specs], sizeof(*ret_counts));
}

int32_t rh_view_replica(const struct rh_view *view, const char *type, int32_t index, struct rh_replica_state *ret_state)
{
	const struct rh_snapshot *snapshot = view->snapshot;
	const struct rh_replica_spec *spec = view_spec(view, type);
	struct rh_replica_state state = {.phase = RH_PHASE_ABSENT, .exit_code = -1};
	const struct rh_pod *pod;

	if (snapshot->looked)
		*snapshot->looked = true;
	if (!spec || index < 0 || index >= spec->replicas || !snapshot->pods || !snapshot->offsets)
		return 0;
	pod = snapshot->pods[snapshot->offsets[spec - snapshot->job->specs] + (size_t)index];
	if (pod) {
		state.phase = pod->phase;
		state.exit_code = pod->exit_code;
		state.ready = pod->ready;
	}
	return view_give(ret_state, &state, sizeof(state));
}

int32_t rh_view_condition(const struct rh_view *view, const char *type)
{
	const struct rh_job *job = view->snapshot->job;
	rh_auto(json) conditions = type ? rh_conditions_parse(job->kind) : NULL;
	const char *known = type ? rh_conditions_type(conditions, type) : NULL;

	return known ? rh_job_status_is(&job->status, known) : 0;
}

const char *rh_view_type(const struct rh_view *view, uint32_t place)
{
	const struct rh_job *job = view->snapshot->job;

	return place < job->spec_count ? job->specs[place].type : NULL;
}

/** Member @p place of a map. Who lists a map asks for one after another, so that the next one is found at once. */
static struct rh_json *view_nth(const struct rh_view *view, const struct rh_json *map, uint32_t place)
{
	const struct rh_json_spot *spot = view->spot;
	bool near = spot && spot->list == map && spot->item && spot->index <= place;
	struct rh_json *item = near ? spot->item : rh_json_first(map);

	for (size_t at = near ? spot->index : 0; item && at < place; at++)
		item = rh_json_next(item);
	if (spot && item)
		*view->spot = (struct rh_json_spot){map, item, place};
	return item;
}

const char *rh_view_key(const struct rh_view *view, const char *path, uint32_t place)
{
	const struct rh_json *map = view_at(view, path);

	return rh_json_type(map) == RH_JSON_OBJECT ? rh_json_key(view_nth(view, map, place)) : NULL;
}

const char *rh_view_member(const struct rh_view *view, const char *path, const char *key)
{
	rh_auto_str made = {0};

	if (!path || !key || !*key || strstr(key, "\"]"))
		return NULL;
	rh_str_append(&made, path);
	if (strpbrk(key, ".[]\""))
		rh_str_appendf(&made, "[\"%s\"]", key);
	else
		rh_str_appendf(&made, "%s%s", *path ? "." : "", key);
	return rh_arena_copy(view->texts, made.failed ? NULL : rh_str_text(&made));
}

int32_t rh_view_lookup(const struct rh_view *view, const char *name)
{
	const char *text = rh_lookups_text(view->snapshot->job->kind);
	const struct rh_lookup *lookup = name ? rh_lookups_find(view->snapshot->lookups, name, strlen(name)) : NULL;
	rh_auto(json) declared = NULL;

	if (lookup)
		return lookup->state ? lookup->state : RH_LOOKUP_ABSENT;
	/* nothing was looked up: the entries are those of the kind */
	if (!name || !text || view->snapshot->lookups || rh_json_parse(text, strlen(text), &declared, NULL) < 0)
		return -1;
	return rh_json_find(declared, "name", name) ? RH_LOOKUP_ABSENT : -1;
}

const char *rh_view_gang(const struct rh_view *view)
{
	const struct rh_gang *gang = view->snapshot->gang;

	return rh_gang_is_on(gang) ? gang->scheduler : NULL;
}
