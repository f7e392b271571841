/* SPDX-License-Identifier: Apache-2.0 */
#include "job/rules/duplicates.h"

#include "base/map.h"
#include "base/str.h"

/* Most fields that key one list. */
#define DUPLICATES_KEYS 2

/* A field that is part of a key. */
struct duplicates_key {
	const char *name;     /* NULL: there is none */
	const char *standard; /* JSON of its value where it is absent; NULL: an item without it is refused elsewhere */
};

struct duplicates_list {
	const char *name;
	struct duplicates_key keys[DUPLICATES_KEYS];
};

static const struct duplicates_list duplicates_of_pod[] = {
	{"hostAliases", {{"ip", NULL}}},
	{"imagePullSecrets", {{"name", "\"\""}}},
	{"resourceClaims", {{"name", NULL}}},
	{"schedulingGates", {{"name", NULL}}},
	{"topologySpreadConstraints", {{"topologyKey", NULL}, {"whenUnsatisfiable", NULL}}},
};

static const struct duplicates_list duplicates_of_container[] = {
	{"env", {{"name", NULL}}},
	{"ports", {{"containerPort", NULL}, {"protocol", "\"TCP\""}}},
	{"volumeDevices", {{"devicePath", NULL}}},
	{"volumeMounts", {{"mountPath", NULL}}},
};

static const struct duplicates_list duplicates_of_resources[] = {{"claims", {{"name", NULL}}}};

/* Append the keys of an item as the API server prints them. @return whether it has them all */
static bool duplicates_print(const struct duplicates_list *list, const struct rh_json *item, struct rh_str *out)
{
	rh_str_append(out, "{");
	for (size_t i = 0; i < DUPLICATES_KEYS && list->keys[i].name; i++) {
		const struct rh_json *value = rh_json_get(item, list->keys[i].name);

		if (!value && !list->keys[i].standard)
			return false;
		rh_str_appendf(out, "%s\"%s\":", i ? "," : "", list->keys[i].name);
		if (value)
			rh_json_print(value, false, out);
		else
			rh_str_append(out, list->keys[i].standard);
	}
	rh_str_append(out, "}");
	return true;
}

static void duplicates_check_list(const struct duplicates_list *list, const struct rh_json *object,
                                  const struct rh_place *up, struct rh_findings *findings)
{
	struct rh_place list_place = rh_place_member(up, list->name);
	const struct rh_json *first = rh_fields_first(object, list->name);
	rh_auto(map) seen = first ? rh_map_new() : NULL;
	size_t index = 0;

	for (const struct rh_json *item = first; item && !findings->failed; item = rh_json_next(item), index++) {
		struct rh_place place = rh_place_item(&list_place, index);
		rh_auto_str keys = {0};
		void *earlier = NULL;

		if (!duplicates_print(list, item, &keys))
			continue;
		if (!seen || keys.failed || rh_map_set(seen, rh_str_text(&keys), findings, &earlier) != 0)
			findings->failed = true;
		else if (earlier)
			(void)rh_findings_at(findings, RH_FINDING_ERROR, &place, "Duplicate value: %s", rh_str_text(&keys));
	}
}

static void duplicates_check_containers(const char *name, const struct rh_json *spec, const struct rh_place *up,
                                        struct rh_findings *findings)
{
	struct rh_place list_place = rh_place_member(up, name);
	size_t index = 0;

	for (const struct rh_json *item = rh_fields_first(spec, name); item; item = rh_json_next(item)) {
		struct rh_place place = rh_place_item(&list_place, index++);
		struct rh_place resources = rh_place_member(&place, "resources");

		for (size_t i = 0; i < sizeof(duplicates_of_container) / sizeof(duplicates_of_container[0]); i++)
			duplicates_check_list(&duplicates_of_container[i], item, &place, findings);
		duplicates_check_list(duplicates_of_resources, rh_json_get(item, "resources"), &resources, findings);
	}
}

void rh_duplicates_check(const struct rh_json *spec, const struct rh_place *place, struct rh_findings *findings)
{
	for (size_t i = 0; i < sizeof(duplicates_of_pod) / sizeof(duplicates_of_pod[0]); i++)
		duplicates_check_list(&duplicates_of_pod[i], spec, place, findings);
	duplicates_check_containers("initContainers", spec, place, findings);
	duplicates_check_containers("containers", spec, place, findings);
}
