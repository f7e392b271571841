/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words are those of Kubernetes' validation (pkg/apis/core/validation), so that users find them explained.
 */
#include "job/rules/template.h"
#include "job/kind.h"

#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "job/fields.h"
#include "job/rules/duplicates.h"
#include "job/values/names.h"
#include "job/values/quantity.h"

/* IANA_SVC_NAME's limit. */
#define TEMPLATE_PORT_NAME_MAX 15

/* What all containers of one template share. */
struct template_check {
	struct rh_findings *findings;
	struct rh_map *names;   /* of containers, init containers included */
	struct rh_map *volumes; /* names */
	struct rh_map *ports;   /* names in the container that is looked at */
	bool main_is_there;     /* one has the kind's name, or it needs none */
};

static void template_error(struct rh_findings *findings, const struct rh_place *place, const char *detail)
{
	(void)rh_findings_at(findings, RH_FINDING_ERROR, place, "%s", detail);
}

static void template_invalid(struct rh_findings *findings, const struct rh_place *place, const struct rh_json *value,
                             const char *detail)
{
	rh_auto_free char *text = rh_json_text(value);

	if (!text)
		findings->failed = true;
	else
		(void)rh_findings_at(findings, RH_FINDING_ERROR, place, "Invalid value: %s: %s", text, detail);
}

/* Whether the value is there and of the type; a wrong type is a finding, null is absent. */
static bool template_has(struct rh_findings *findings, const struct rh_place *place, const struct rh_json *value,
                         enum rh_json_type type)
{
	static const char *const names[] = {
		[RH_JSON_ABSENT] = "absent", [RH_JSON_NULL] = "null",   [RH_JSON_BOOL] = "boolean", [RH_JSON_NUMBER] = "number",
		[RH_JSON_STRING] = "string", [RH_JSON_ARRAY] = "array", [RH_JSON_OBJECT] = "object"};

	if (rh_json_type(value) == type)
		return true;
	if (value && rh_json_type(value) != RH_JSON_NULL)
		rh_findings_type(findings, place, names[type], value);
	return false;
}

/* The text of the member, or NULL when it is absent, null or (a finding) of a wrong type. */
static const char *template_text(struct rh_findings *findings, const struct rh_place *up, const struct rh_json *object,
                                 const char *key)
{
	struct rh_place place = rh_place_member(up, key);
	const struct rh_json *value = rh_json_get(object, key);

	return template_has(findings, &place, value, RH_JSON_STRING) ? rh_json_string(value) : NULL;
}

static bool template_is_absent(const struct rh_json *object, const char *key)
{
	const struct rh_json *value = rh_json_get(object, key);

	return !value || rh_json_type(value) == RH_JSON_NULL || rh_text_equal(rh_json_string(value), "");
}

static const char *template_required_text(struct rh_findings *findings, const struct rh_place *up,
                                          const struct rh_json *object, const char *key)
{
	struct rh_place place = rh_place_member(up, key);

	if (!template_is_absent(object, key))
		return template_text(findings, up, object, key);
	template_error(findings, &place, "Required value");
	return NULL;
}

/* Calls @visit for each map in the list @key of @object; what is no list, or no map in it, is a finding. */
static void template_each(const struct template_check *check, const struct rh_place *up, const struct rh_json *object,
                          const char *key,
                          void (*visit)(const struct template_check *check, const struct rh_place *place,
                                        const struct rh_json *item))
{
	struct rh_place list_place = rh_place_member(up, key);
	size_t index = 0;

	if (!template_has(check->findings, &list_place, rh_json_get(object, key), RH_JSON_ARRAY))
		return;
	for (const struct rh_json *item = rh_fields_first(object, key); item; item = rh_json_next(item)) {
		struct rh_place place = rh_place_item(&list_place, index++);

		if (rh_json_type(item) == RH_JSON_NULL)
			rh_findings_type(check->findings, &place, "object", item);
		else if (template_has(check->findings, &place, item, RH_JSON_OBJECT))
			visit(check, &place, item);
	}
}

static bool template_has_main(const struct rh_kind *kind, const struct rh_json *containers)
{
	const struct rh_json *item = rh_json_first(containers);

	while (item && !rh_text_equal(rh_json_string(rh_json_get(item, "name")), kind->container))
		item = rh_json_next(item);
	/* the types that a plugin gives differ: an initializer has no container of that name, and its first one counts */
	return item || !kind->container || rh_kind_expands(kind);
}

void rh_template_check_containers(const struct rh_kind *kind, const struct rh_json *template_,
                                  const struct rh_place *place, struct rh_findings *findings)
{
	struct rh_place spec_place = rh_place_member(place, "spec");
	struct rh_place list_place = rh_place_member(&spec_place, "containers");
	const struct rh_json *list = rh_json_get(rh_json_get(template_, "spec"), "containers");
	const struct rh_json *item;
	size_t index = 0;

	if (list && rh_json_type(list) != RH_JSON_NULL && rh_json_type(list) != RH_JSON_ARRAY)
		return;
	if (rh_json_size(list) == 0)
		template_error(findings, &list_place, "Required value: must be specified");
	for (item = rh_json_first(list); item; item = rh_json_next(item), index++) {
		struct rh_place item_place = rh_place_item(&list_place, index);
		struct rh_place image_place = rh_place_member(&item_place, "image");

		if (rh_json_type(item) == RH_JSON_OBJECT && template_is_absent(item, "image"))
			template_error(findings, &image_place, "Required value: must be required");
	}
	if (!template_has_main(kind, list))
		(void)rh_findings_at(findings, RH_FINDING_ERROR, &list_place,
		                     "Required value: must have at least one container with name %s", kind->container);
}

static void template_check_env(const struct template_check *check, const struct rh_place *place,
                               const struct rh_json *item)
{
	struct rh_place name_place = rh_place_member(place, "name");
	const char *name = template_required_text(check->findings, place, item, "name");

	if (name && strchr(name, '='))
		template_invalid(
			check->findings, &name_place, rh_json_get(item, "name"),
			"a valid environment variable name must consist only of printable ASCII characters other than '='");
	(void)template_text(check->findings, place, item, "value");
}

static void template_check_port(const struct template_check *check, const struct rh_place *place,
                                const struct rh_json *item)
{
	struct rh_place number_place = rh_place_member(place, "containerPort");
	struct rh_place name_place = rh_place_member(place, "name");
	const struct rh_json *number = rh_json_get(item, "containerPort");
	const char *name = template_text(check->findings, place, item, "name");
	void *earlier = NULL;
	int64_t value;

	if (template_is_absent(item, "containerPort"))
		template_error(check->findings, &number_place, "Required value");
	else if (!rh_json_integer(number, &value))
		rh_findings_type(check->findings, &number_place, "integer", number);
	else if (value < 1 || value > UINT16_MAX)
		template_invalid(check->findings, &number_place, number, "must be between 1 and 65535, inclusive");
	if (name && strlen(name) > TEMPLATE_PORT_NAME_MAX)
		template_invalid(check->findings, &name_place, rh_json_get(item, "name"), "must be no more than 15 characters");
	if (name && *name && rh_map_set(check->ports, name, check->findings, &earlier) != 0)
		check->findings->failed = true;
	else if (earlier)
		(void)rh_findings_at(check->findings, RH_FINDING_ERROR, &name_place, "Duplicate value: \"%s\"", name);
}

static void template_check_mount(const struct template_check *check, const struct rh_place *place,
                                 const struct rh_json *item)
{
	(void)template_required_text(check->findings, place, item, "name");
	(void)template_required_text(check->findings, place, item, "mountPath");
}

/* Resources with a domain ("nvidia.com/gpu") are counted in whole pieces and cannot be overcommitted. */
static bool template_is_extended(const char *resource)
{
	return strchr(resource, '/') && !rh_starts_with(resource, "kubernetes.io/");
}

static void template_check_amount(struct rh_findings *findings, const struct rh_place *place,
                                  const struct rh_json *amount)
{
	int64_t milli, whole;

	if (rh_json_type(amount) == RH_JSON_NUMBER && !rh_json_integer(amount, &whole))
		template_invalid(findings, place, amount, "must be of type integer or string: write it in quotes");
	else if (rh_quantity_from_json(amount, &milli, NULL) != 0)
		template_invalid(findings, place, amount, RH_QUANTITY_RULE);
	else if (milli < 0)
		template_invalid(findings, place, amount, "must be greater than or equal to 0");
	else if (template_is_extended(place->name) && milli % 1000 != 0)
		template_invalid(findings, place, amount, "must be an integer");
}

static void template_check_amounts(struct rh_findings *findings, const struct rh_place *up,
                                   const struct rh_json *resources, const char *key)
{
	struct rh_place map_place = rh_place_member(up, key);
	const struct rh_json *map = rh_json_get(resources, key);

	if (!template_has(findings, &map_place, map, RH_JSON_OBJECT))
		return;
	for (const struct rh_json *amount = rh_json_first(map); amount; amount = rh_json_next(amount)) {
		struct rh_place place = rh_place_key(&map_place, rh_json_key(amount));

		template_check_amount(findings, &place, amount);
	}
}

static void template_check_request(struct rh_findings *findings, const struct rh_place *place,
                                   const struct rh_json *request, const struct rh_json *limit)
{
	const char *resource = rh_json_key(request);
	bool extended = template_is_extended(resource);
	rh_auto_free char *text = rh_json_text(request);
	rh_auto_free char *limit_text = NULL;
	int64_t requested;
	int64_t most;

	if (extended && !limit)
		template_error(findings, place, "Required value: Limit must be set for non overcommitable resources");
	if (rh_quantity_from_json(request, &requested, NULL) != 0 || rh_quantity_from_json(limit, &most, NULL) != 0)
		return;
	limit_text = rh_json_text(limit);
	if (!text || !limit_text)
		findings->failed = true;
	else if (extended && requested != most)
		(void)rh_findings_at(findings, RH_FINDING_ERROR, place, "Invalid value: %s: must be equal to %s limit of %s",
		                     text, resource, limit_text);
	else if (requested > most)
		(void)rh_findings_at(findings, RH_FINDING_ERROR, place,
		                     "Invalid value: %s: must be less than or equal to %s limit of %s", text, resource,
		                     limit_text);
}

static void template_check_resources(struct rh_findings *findings, const struct rh_place *up,
                                     const struct rh_json *container)
{
	struct rh_place place = rh_place_member(up, "resources");
	struct rh_place requests_place = rh_place_member(&place, "requests");
	const struct rh_json *resources = rh_json_get(container, "resources");
	const struct rh_json *limits = rh_json_get(resources, "limits");
	const struct rh_json *requests = rh_json_get(resources, "requests");
	rh_auto(map) index = NULL;

	if (!template_has(findings, &place, resources, RH_JSON_OBJECT))
		return;
	template_check_amounts(findings, &place, resources, "limits");
	template_check_amounts(findings, &place, resources, "requests");
	if (rh_json_type(requests) != RH_JSON_OBJECT)
		return;
	index = rh_json_index(limits);
	for (const struct rh_json *request = rh_json_first(requests); request; request = rh_json_next(request))
		template_check_request(findings, &requests_place, request, rh_json_get_by(limits, index, rh_json_key(request)));
}

static void template_check_words(struct rh_findings *findings, const struct rh_place *up,
                                 const struct rh_json *container, const char *key)
{
	struct rh_place list_place = rh_place_member(up, key);
	size_t index = 0;

	if (!template_has(findings, &list_place, rh_json_get(container, key), RH_JSON_ARRAY))
		return;
	for (const struct rh_json *item = rh_fields_first(container, key); item; item = rh_json_next(item)) {
		struct rh_place place = rh_place_item(&list_place, index++);

		(void)template_has(findings, &place, item, RH_JSON_STRING);
	}
}

static void template_check_name(const struct template_check *check, const struct rh_place *up,
                                const struct rh_json *container)
{
	struct rh_place place = rh_place_member(up, "name");
	const char *name = template_required_text(check->findings, up, container, "name");
	void *earlier = NULL;

	if (!name)
		return;
	if (!rh_name_is_label(name))
		template_invalid(
			check->findings, &place, rh_json_get(container, "name"),
			"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
			"start and end with an alphanumeric character, and be no more than 63 characters");
	if (rh_map_set(check->names, name, check->findings, &earlier) != 0)
		check->findings->failed = true;
	else if (earlier)
		(void)rh_findings_at(check->findings, RH_FINDING_ERROR, &place, "Duplicate value: \"%s\"", name);
}

static void template_check_parts(const struct template_check *check, const struct rh_place *place,
                                 const struct rh_json *container)
{
	rh_auto(map) ports = rh_map_new();
	struct template_check inner = *check;

	inner.ports = ports;
	if (!ports) {
		check->findings->failed = true;
		return;
	}
	(void)template_text(check->findings, place, container, "image");
	(void)template_text(check->findings, place, container, "workingDir");
	template_check_words(check->findings, place, container, "command");
	template_check_words(check->findings, place, container, "args");
	template_each(check, place, container, "env", template_check_env);
	template_each(&inner, place, container, "ports", template_check_port);
	template_each(check, place, container, "volumeMounts", template_check_mount);
	template_check_resources(check->findings, place, container);
}

/* Where V1 misses a container of the kind's name, it says nothing of one without a name. */
static void template_check_container(const struct template_check *check, const struct rh_place *place,
                                     const struct rh_json *container)
{
	if (check->main_is_there || !template_is_absent(container, "name"))
		template_check_name(check, place, container);
	template_check_parts(check, place, container);
}

static void template_check_init_container(const struct template_check *check, const struct rh_place *place,
                                          const struct rh_json *container)
{
	(void)template_required_text(check->findings, place, container, "image");
	template_check_name(check, place, container);
	template_check_parts(check, place, container);
}

static void template_check_volume(const struct template_check *check, const struct rh_place *place,
                                  const struct rh_json *volume)
{
	struct rh_place name_place = rh_place_member(place, "name");
	const char *name = template_required_text(check->findings, place, volume, "name");
	void *earlier = NULL;

	if (!name)
		return;
	if (rh_map_set(check->volumes, name, check->findings, &earlier) != 0)
		check->findings->failed = true;
	else if (earlier)
		(void)rh_findings_at(check->findings, RH_FINDING_ERROR, &name_place, "Duplicate value: \"%s\"", name);
}

static void template_check_spec(const struct rh_kind *kind, const struct rh_json *spec, const struct rh_place *place,
                                struct rh_findings *findings)
{
	struct rh_place policy_place = rh_place_member(place, "restartPolicy");
	struct rh_place resources_place = rh_place_member(place, "resources");
	rh_auto(map) names = rh_map_new();
	rh_auto(map) volumes = rh_map_new();
	struct template_check check = {findings, names, volumes, NULL,
	                               template_has_main(kind, rh_json_get(spec, "containers"))};

	if (!names || !volumes) {
		findings->failed = true;
		return;
	}
	if (!template_has(findings, place, spec, RH_JSON_OBJECT))
		return;
	template_each(&check, place, spec, "volumes", template_check_volume);
	template_each(&check, place, spec, "initContainers", template_check_init_container);
	template_each(&check, place, spec, "containers", template_check_container);
	rh_duplicates_check(spec, place, findings);
	if (!template_is_absent(spec, "restartPolicy") && template_text(findings, place, spec, "restartPolicy"))
		(void)rh_findings_at(findings, RH_FINDING_WARNING, &policy_place,
		                     "Restart policy in pod template will be overwritten by restart policy in replica spec");
	if (!template_is_absent(spec, "resources"))
		(void)rh_findings_at(findings, RH_FINDING_WARNING, &resources_place,
		                     "Kubernetes 1.34 takes this for cpu and memory of the pod as a whole, V1 did not keep it: "
		                     "move it to containers[].resources if it is meant for a container");
}

static void template_check_text_map(struct rh_findings *findings, const struct rh_place *up,
                                    const struct rh_json *metadata, const char *key)
{
	struct rh_place map_place = rh_place_member(up, key);
	const struct rh_json *map = rh_json_get(metadata, key);

	if (!template_has(findings, &map_place, map, RH_JSON_OBJECT))
		return;
	for (const struct rh_json *item = rh_json_first(map); item; item = rh_json_next(item)) {
		struct rh_place place = rh_place_key(&map_place, rh_json_key(item));

		(void)template_has(findings, &place, item, RH_JSON_STRING);
	}
}

static void template_check_metadata(const struct rh_json *metadata, const struct rh_place *place,
                                    struct rh_findings *findings)
{
	static const char *const ignored[] = {"name", "namespace"};

	if (!template_has(findings, place, metadata, RH_JSON_OBJECT))
		return;
	template_check_text_map(findings, place, metadata, "labels");
	template_check_text_map(findings, place, metadata, "annotations");
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
		struct rh_place member = rh_place_member(place, ignored[i]);

		if (!template_is_absent(metadata, ignored[i]))
			(void)rh_findings_at(findings, RH_FINDING_WARNING, &member,
			                     "it has no effect: pods are named after the job, and stand in its namespace");
	}
}

void rh_template_check_fields(const struct rh_kind *kind, const struct rh_json *template_, const struct rh_place *place,
                              struct rh_findings *findings)
{
	struct rh_place metadata_place = rh_place_member(place, "metadata");
	struct rh_place spec_place = rh_place_member(place, "spec");

	template_check_metadata(rh_json_get(template_, "metadata"), &metadata_place, findings);
	template_check_spec(kind, rh_json_get(template_, "spec"), &spec_place, findings);
}

/* @return the names of the volumes of a pod; NULL when memory is out */
static struct rh_map *template_volumes(const struct rh_json *spec)
{
	rh_auto(map) names = rh_map_new();

	for (struct rh_json *volume = rh_fields_first(spec, "volumes"); volume && names; volume = rh_json_next(volume)) {
		const char *name = rh_json_string(rh_json_get(volume, "name"));

		if (name && rh_map_set(names, name, volume, NULL) != 0)
			return NULL;
	}
	return rh_take(names);
}

static void template_check_mounts_of(const struct rh_json *container, const struct rh_map *volumes,
                                     const struct rh_place *up, struct rh_findings *findings)
{
	struct rh_place list_place = rh_place_member(up, "volumeMounts");
	size_t index = 0;

	for (const struct rh_json *mount = rh_fields_first(container, "volumeMounts"); mount; mount = rh_json_next(mount)) {
		struct rh_place place = rh_place_item(&list_place, index++);
		struct rh_place name_place = rh_place_member(&place, "name");
		const char *name = rh_json_string(rh_json_get(mount, "name"));

		if (name && *name && !rh_map_get(volumes, name))
			(void)rh_findings_at(findings, RH_FINDING_ERROR, &name_place, "Not found: \"%s\"", name);
	}
}

void rh_template_check_mounts(const struct rh_json *spec, const struct rh_json *made, const struct rh_place *place,
                              struct rh_findings *findings)
{
	static const char *const lists[] = {"initContainers", "containers"};
	rh_auto(map) volumes = template_volumes(made);

	findings->failed = findings->failed || !volumes;
	for (size_t i = 0; volumes && i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct rh_place list_place = rh_place_member(place, lists[i]);
		size_t index = 0;

		for (const struct rh_json *item = rh_fields_first(spec, lists[i]); item; item = rh_json_next(item)) {
			struct rh_place item_place = rh_place_item(&list_place, index++);

			template_check_mounts_of(item, volumes, &item_place, findings);
		}
	}
}
