/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/explain.h"

#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "host/registry.h"
#include "job/kind.h"
#include "job/rules/schema/schema.h"
#include "schema/crd.h"
#include "schema/explain_field.h"

/** Most names that an error lists; the largest type of Kubernetes has 39 fields. */
#define EXPLAIN_NAMES_MAX 96
/** Longest step of a path. */
#define EXPLAIN_STEP_SIZE 128

/** Cut the next step off a path: "spec.x[0].y" is spec, x, 0, y. @return whether there was one that fits */
static bool explain_next_step(const char **path, char step[EXPLAIN_STEP_SIZE])
{
	const char *from = *path + strspn(*path, ".[]");
	size_t length = strcspn(from, ".[]");

	*path = from + length;
	rh_copy(step, length < EXPLAIN_STEP_SIZE ? length + 1 : EXPLAIN_STEP_SIZE, from);
	return length > 0;
}

static bool explain_is_number(const char *step)
{
	return strspn(step, "0123456789") == strlen(step);
}

static bool explain_is_replica_map(const struct rh_explain_at *at)
{
	return strcmp(rh_str_text(&at->place), "spec.*") == 0;
}

/** @return the type of that name in any case, or NULL */
static const struct rh_replica_type *explain_find_type(const struct rh_kind *kind, const char *name)
{
	const struct rh_replica_type *const *type = kind->types;

	while (*type && strcasecmp((*type)->name, name) != 0)
		type++;
	return *type;
}

/** Names that a path can have at a place: members of an object, of a list's items or of a map's values; replica types.
 */
struct explain_names {
	const char *items[EXPLAIN_NAMES_MAX];
	size_t count;
};

static void explain_collect(const struct rh_explain_at *at, struct explain_names *names)
{
	const struct rh_json *schema = at->schema;

	for (size_t i = 0; explain_is_replica_map(at) && at->kind->types[i]; i++)
		names->items[names->count++] = at->kind->types[i]->name;
	if (rh_json_get(schema, "additionalProperties"))
		schema = rh_explain_resolve(at, rh_json_get(schema, "additionalProperties"));
	while (rh_explain_is(schema, "array"))
		schema = rh_explain_resolve(at, rh_json_get(schema, "items"));
	for (const struct rh_json *member = rh_json_first(rh_json_get(schema, "properties"));
	     member && names->count < EXPLAIN_NAMES_MAX; member = rh_json_next(member))
		names->items[names->count++] = rh_json_key(member);
}

/** Print all names, those nearest to @p step first. */
static void explain_print_names(struct explain_names *names, const char *step, struct rh_str *out)
{
	while (names->count > 0) {
		const char *next = rh_nearest(step, names->items, names->count);
		size_t place = 0;

		while (next && names->items[place] != next)
			place++;
		rh_str_appendf(out, "%s%s", out->length > 0 ? ", " : "", names->items[place]);
		names->count--;
		memmove(&names->items[place], &names->items[place + 1], (names->count - place) * sizeof(*names->items));
	}
}

static int explain_refuse(const struct rh_explain_at *at, const char *step, struct rh_error *err)
{
	struct explain_names names = {.count = 0};
	rh_auto_str list = {0}, type = {0};
	const char *path = rh_str_text(&at->path);

	explain_collect(at, &names);
	explain_print_names(&names, step, &list);
	rh_explain_print_type(at, at->schema, &type);
	if (list.failed || type.failed)
		return rh_fail_oom(err);
	if (list.length == 0)
		return rh_fail(err, RH_ENOENT, "%s: %s is %s and has no fields that a schema names", at->kind->kind, path,
		               rh_str_text(&type));
	return rh_fail(err, RH_ENOENT, "%s: %s%shas no field \"%s\"; there are %s", at->kind->kind, path,
	               *path ? " " : "it ", step, rh_str_text(&list));
}

static void explain_enter(struct rh_explain_at *at, const struct rh_json *schema)
{
	at->reference = schema;
	at->schema = rh_explain_resolve(at, schema);
}

/** Step into a member. @return whether there is one */
static bool explain_enter_member(struct rh_explain_at *at, const char *step)
{
	const struct rh_json *member = rh_json_get(rh_json_get(at->schema, "properties"), step);

	if (!member)
		return false;
	rh_explain_descend(at, step);
	explain_enter(at, member);
	return true;
}

/** Step into the values of a map. @return whether @p step is used up: it named a key, and not a member of the value */
static bool explain_enter_value(struct rh_explain_at *at, const char *step)
{
	const struct rh_json *values = rh_explain_resolve(at, rh_json_get(at->schema, "additionalProperties"));
	bool replicas = explain_is_replica_map(at);
	const struct rh_replica_type *type = replicas ? explain_find_type(at->kind, step) : NULL;
	bool named = type || !rh_json_get(rh_json_get(values, "properties"), step);

	at->type = type;
	rh_str_appendf(&at->path, "[%s]", type ? type->name : named ? step : replicas ? "TYPE" : "KEY");
	rh_str_append(&at->place, ".*");
	explain_enter(at, values);
	return named;
}

/** An unknown type is accepted only where the kind allows it. */
static bool explain_may_enter(const struct rh_explain_at *at, const char *step)
{
	const struct rh_json *values = rh_explain_resolve(at, rh_json_get(at->schema, "additionalProperties"));

	if (!explain_is_replica_map(at) || (at->kind->flags & RH_KIND_OPEN_TYPES))
		return values;
	return explain_find_type(at->kind, step) || rh_json_get(rh_json_get(values, "properties"), step);
}

/** Go one step down. @return 0 or RH_ENOENT */
static int explain_step(struct rh_explain_at *at, const char *step, struct rh_error *err)
{
	while (rh_explain_is(at->schema, "array")) {
		rh_str_append(&at->path, "[]");
		explain_enter(at, rh_json_get(at->schema, "items"));
		if (explain_is_number(step))
			return 0;
	}
	if (explain_may_enter(at, step) && explain_enter_value(at, step))
		return 0;
	return explain_enter_member(at, step) ? 0 : explain_refuse(at, step, err);
}

static int explain_walk(struct rh_explain_at *at, const char *path, struct rh_error *err)
{
	char step[EXPLAIN_STEP_SIZE];
	int r = 0;

	while (r == 0 && explain_next_step(&path, step))
		r = explain_step(at, step, err);
	return r == 0 && (at->path.failed || at->place.failed) ? rh_fail_oom(err) : r;
}

/** Find the kind that a path begins with. @param path moves behind it */
static int explain_find(const struct rh_host *host, const char **path, const struct rh_kind **ret_kind,
                        struct rh_error *err)
{
	char word[EXPLAIN_STEP_SIZE];

	*path += strspn(*path, ".[]");
	*ret_kind = rh_host_find_called(host, *path, path);
	if (*ret_kind)
		return 0;
	if (!explain_next_step(path, word))
		return rh_fail(err, RH_ENOENT, "the name of a kind is missing");
	(void)rh_host_kind(host, "kubeflow.org/v1", word, err);
	return RH_ENOENT;
}

/** The other versions of the kind, which have pages of their own. */
static int explain_set_versions(const struct rh_host *host, const struct rh_kind *kind, struct rh_json *page)
{
	struct rh_versions versions;
	struct rh_json *list;

	rh_host_versions(host, kind, &versions);
	if (versions.count < 2)
		return 0;
	list = rh_json_ensure_array(page, "otherVersions");
	for (size_t i = 0; i < versions.count && list; i++) {
		if (versions.items[i] != kind && rh_json_append(list, rh_json_new_string(versions.items[i]->version)) < 0)
			return RH_ENOMEM;
	}
	return list ? 0 : RH_ENOMEM;
}

static int explain_set_head(const struct rh_host *host, const struct rh_slot *slot, const struct rh_kind *kind,
                            struct rh_json *page)
{
	rh_auto_free char *version = rh_asprintf("%s/%s", kind->group, kind->version);
	struct rh_json *plugin = rh_json_ensure_object(page, "plugin");

	if (!version || !plugin || rh_json_set_string(page, "kind", kind->kind) < 0 ||
	    rh_json_set_string(page, "plural", kind->plural) < 0 ||
	    rh_json_set_string(page, "singular", kind->singular) < 0 ||
	    rh_json_set_string(page, "apiVersion", version) < 0 || explain_set_versions(host, kind, page) < 0 ||
	    rh_json_set_string(plugin, "name", slot->name) < 0 || rh_json_set_string(plugin, "release", slot->release) < 0)
		return RH_ENOMEM;
	return rh_json_set_string(plugin, "file", slot->path);
}

static int explain_add_type(const struct rh_replica_type *type, struct rh_json *list)
{
	rh_auto(json) row = rh_json_new_object();
	rh_auto_str rules = {0};

	if (type->flags & RH_REPLICA_REQUIRED)
		rh_explain_join(&rules, "required");
	rh_explain_print_range(type, &rules);
	if (type->flags & RH_REPLICA_LEADER)
		rh_explain_join(&rules, "its pods have the master role");
	if (type->flags & RH_REPLICA_UNINDEXED)
		rh_explain_join(&rules, "its pod has no index");
	if (!row || rh_json_set_string(row, "name", type->name) < 0 ||
	    rh_json_set_integer(row, "replicas", type->default_replicas) < 0 || rh_explain_set(row, "rules", &rules) < 0)
		return RH_ENOMEM;
	return rh_json_append(list, rh_take(row));
}

static int explain_add_rule(struct rh_json *list, char *rule)
{
	rh_auto_free char *owned = rule;

	return owned ? rh_json_append(list, rh_json_new_string(owned)) : RH_ENOMEM;
}

/** Rules of the kind as a whole; those of a field are listed with the field. */
static int explain_add_rules(const struct rh_kind *kind, struct rh_json *list)
{
	int r = explain_add_rule(list, rh_asprintf("every container has an image%s%s",
	                                           kind->container ? ", and one has the name " : "",
	                                           kind->container ? kind->container : ""));

	if (r == 0 && kind->leader_fallback)
		r = explain_add_rule(list, rh_asprintf("%s 0 has the master role where no type has it", kind->leader_fallback));
	if (r == 0 && (kind->flags & RH_KIND_ANY_CASE))
		r = explain_add_rule(list, rh_strdup("replica types may be written in any case"));
	if (r == 0 && (kind->flags & RH_KIND_OPEN_TYPES))
		r = explain_add_rule(list, rh_strdup("further replica types are let in"));
	return r;
}

/** The API server's message when a rule of the plugin is broken: path and rule. */
static int explain_add_cel_rule(const struct rh_kind *kind, const struct rh_json *rule, struct rh_json *list)
{
	bool map = rh_text_equal(rh_json_string_at(rule, "at"), "replicas");
	const char *field = rh_json_string_at(rule, "fieldPath");
	const char *message = rh_json_string_at(rule, "message");
	struct rh_kind_path path;

	if (!message)
		return 0;
	rh_kind_replicas_path(kind, &path);
	return explain_add_rule(list, rh_asprintf("%s%s: %s", map ? path.text : "spec", field ? field : "", message));
}

static int explain_add_cel(const struct rh_kind *kind, struct rh_json *list, struct rh_error *err)
{
	rh_auto(json) rules = NULL;
	int r = kind->cel_rules ? rh_json_parse(kind->cel_rules, strlen(kind->cel_rules), &rules, err) : 0;

	for (const struct rh_json *rule = rh_json_first(rules); rule && r == 0; rule = rh_json_next(rule)) {
		if (explain_add_cel_rule(kind, rule, list) < 0)
			r = rh_fail_oom(err);
	}
	return r;
}

static int explain_set_port(const struct rh_kind *kind, struct rh_json *page)
{
	struct rh_json *port;

	if (!kind->port_name)
		return 0;
	port = rh_json_ensure_object(page, "port");
	if (!port || rh_json_set_string(port, "name", kind->port_name) < 0)
		return RH_ENOMEM;
	return rh_json_set_integer(port, "number", kind->port);
}

static int explain_set_contract(const struct rh_kind *kind, struct rh_json *page, struct rh_error *err)
{
	struct rh_json *contract;
	int r;

	if (!kind->contract)
		return 0;
	r = rh_json_parse(kind->contract, strlen(kind->contract), &contract, err);
	if (r < 0)
		return r;
	return rh_json_set(page, "contract", contract) < 0 ? rh_fail_oom(err) : 0;
}

static int explain_set_kind(const struct rh_kind *kind, struct rh_json *page, struct rh_error *err)
{
	struct rh_json *types = rh_json_ensure_array(page, "replicaTypes");
	struct rh_json *rules = rh_json_ensure_array(page, "rules");
	int r = types && rules ? 0 : RH_ENOMEM;

	for (size_t i = 0; r == 0 && kind->types[i]; i++)
		r = explain_add_type(kind->types[i], types);
	if (r == 0 && kind->container)
		r = rh_json_set_string(page, "container", kind->container);
	if (r == 0)
		r = explain_set_port(kind, page);
	if (r == 0)
		r = explain_add_rules(kind, rules);
	if (r < 0)
		return rh_fail_oom(err);
	r = explain_add_cel(kind, rules, err);
	return r < 0 ? r : explain_set_contract(kind, page, err);
}

/** Settings of the plugin's section of the configuration. */
static int explain_set_settings(const struct rh_slot *slot, struct rh_json *page, struct rh_error *err)
{
	struct rh_json *settings;
	int r;

	if (!slot->plugin || !RH_HAS(slot->plugin, struct rh_plugin, settings))
		return 0;
	r = rh_json_parse(slot->plugin->settings, strlen(slot->plugin->settings), &settings, err);
	if (r < 0)
		return r;
	return rh_json_set(page, "settings", settings) < 0 ? rh_fail_oom(err) : 0;
}

/** The page of a kind lists what is below spec; fields that all kinds share have pages of their own. */
static int explain_set_fields(struct rh_explain_at *at, bool is_kind, struct rh_json *page)
{
	struct rh_json *fields = rh_json_ensure_array(page, "fields");
	const struct rh_json *schema = at->schema;

	if (is_kind)
		schema = rh_json_at(schema, "properties.spec");
	if (is_kind) {
		rh_str_append(&at->path, "spec");
		rh_str_append(&at->place, "spec");
	}
	while (rh_explain_is(schema, "array")) {
		rh_str_append(&at->path, "[]");
		schema = rh_explain_resolve(at, rh_json_get(schema, "items"));
	}
	return fields ? rh_explain_list(at, schema, fields) : RH_ENOMEM;
}

static int explain_page(const struct rh_host *host, struct rh_explain_at *at, struct rh_json *page,
                        struct rh_error *err)
{
	bool is_kind = at->path.length == 0;
	int r = explain_set_head(host, rh_host_slot(host, at->kind), at->kind, page);

	if (r < 0)
		return rh_fail_oom(err);
	if (is_kind) {
		r = explain_set_kind(at->kind, page, err);
		if (r == 0)
			r = explain_set_settings(rh_host_slot(host, at->kind), page, err);
	} else if (rh_explain_describe(at, at->reference, page) < 0)
		r = rh_fail_oom(err);
	if (r == 0 && explain_set_fields(at, is_kind, page) < 0)
		r = rh_fail_oom(err);
	return r;
}

/** Fields of status, which lint does not check, are shown as well. */
static int explain_set_status(const struct rh_kind *kind, struct rh_json *document, struct rh_error *err)
{
	rh_auto(json) common = NULL;
	struct rh_json *status = NULL;
	int r = rh_schema_job(&common, err);
	struct rh_json *properties =
		rh_json_get(rh_json_get(rh_json_get(document, "definitions"), kind->kind), "properties");

	if (r < 0)
		return r;
	if (rh_crd_status(kind, common, &status) < 0 || rh_json_set(properties, "status", status) < 0)
		return rh_fail_oom(err);
	return 0;
}

/** Make the schema document of a kind with this build's pod templates. */
static int explain_schema(const struct rh_kind *kind, struct rh_json **ret_document, struct rh_error *err)
{
	rh_auto(json) document = NULL;
	int r = rh_schema_of_kind_here(kind, &document, err);

	if (r == 0)
		r = explain_set_status(kind, document, err);
	if (r == 0)
		*ret_document = rh_take(document);
	return r;
}

/** The plugin that brings a definition. */
static const struct rh_slot *explain_owner(const struct rh_host *host, const struct rh_json *resource)
{
	for (size_t i = 0; i < host->slot_count; i++) {
		for (const struct rh_json *row = rh_json_first(host->slots[i]->resources); row; row = rh_json_next(row)) {
			if (row == resource)
				return host->slots[i];
		}
	}
	return NULL;
}

/** @return the definition that a path begins with, which moves behind it; NULL when there is none */
static const struct rh_json *explain_find_resource(const struct rh_host *host, const char **path)
{
	const struct rh_json *resource;

	for (size_t i = 0; (resource = rh_host_resource(host, i)); i++) {
		const char *rest = rh_resource_skip_name(resource, *path);

		if (rest) {
			*path = rest;
			return resource;
		}
	}
	return NULL;
}

/** The page of a definition that is not a kind of jobs: its head, and the fields below spec or a path. */
static int explain_resource(const struct rh_host *host, const struct rh_json *resource, const char *path,
                            struct rh_json *page, struct rh_error *err)
{
	static const struct rh_replica_type *const none[] = {NULL};
	const struct rh_kind face = {.group = rh_json_string_at(resource, "group"),
	                             .version = rh_json_string_at(resource, "version"),
	                             .kind = rh_json_string_at(resource, "kind"),
	                             .plural = rh_json_string_at(resource, "plural"),
	                             .singular = rh_json_string_at(resource, "singular"),
	                             .replicas_field = "",
	                             .types = none};
	__attribute__((cleanup(rh_explain_at_deinit))) struct rh_explain_at at = {.kind = &face};
	rh_auto(json) pod = NULL;
	rh_auto(json) document = NULL;
	size_t length;
	const char *text = rh_schema_pod_text(&length);
	int r = rh_json_parse(text, length, &pod, err);

	if (r == 0)
		r = rh_schema_of_resource(resource, pod, &document, err);
	if (r < 0)
		return r;
	at.definitions = rh_json_get(document, "definitions");
	at.schema = rh_json_get(at.definitions, face.kind);
	r = explain_walk(&at, path, err);
	if (r == 0 && explain_set_head(host, explain_owner(host, resource), &face, page) < 0)
		r = rh_fail_oom(err);
	if (r == 0 && at.path.length > 0 && rh_explain_describe(&at, at.reference, page) < 0)
		r = rh_fail_oom(err);
	if (r == 0 && explain_set_fields(&at, at.path.length == 0, page) < 0)
		r = rh_fail_oom(err);
	return r;
}

int rh_explain(const struct rh_host *host, const char *what, struct rh_json **ret_page, struct rh_error *err)
{
	__attribute__((cleanup(rh_explain_at_deinit))) struct rh_explain_at at = {.kind = NULL};
	rh_auto(json) document = NULL;
	rh_auto(json) page = rh_json_new_object();
	const struct rh_json *resource;
	int r;

	if (!page)
		return rh_fail_oom(err);
	resource = explain_find_resource(host, &what);
	if (resource) {
		r = explain_resource(host, resource, what, page, err);
		if (r == 0)
			*ret_page = rh_take(page);
		return r;
	}
	r = explain_find(host, &what, &at.kind, err);
	if (r == 0)
		r = explain_schema(at.kind, &document, err);
	if (r < 0)
		return r;
	at.definitions = rh_json_get(document, "definitions");
	at.schema = rh_json_get(at.definitions, rh_json_string_at(document, "root"));
	r = explain_walk(&at, what, err);
	if (r == 0)
		r = explain_page(host, &at, page, err);
	if (r == 0)
		*ret_page = rh_take(page);
	return r;
}
