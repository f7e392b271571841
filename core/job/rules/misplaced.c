/* SPDX-License-Identifier: Apache-2.0 */
#include "job/rules/misplaced.h"

#include <string.h>

/* A part of a job. */
struct misplaced_home {
	bool of_type;       /* below the replicas of a type, else below spec */
	const char *path;   /* as users write it */
	const char *schema; /* from the schema above; references are followed at each step */
	bool metadata;      /* of a pod */
};

/* What could stand in several places belongs into the first. */
static const struct misplaced_home misplaced_homes[] = {
	{false, ".runPolicy", "properties.runPolicy", false},
	{false, ".runPolicy.schedulingPolicy", "properties.runPolicy.properties.schedulingPolicy", false},
	{true, "", "", false},
	{false, "", "", false},
	{true, ".template.metadata", "properties.template.properties.metadata", true},
	{true, ".template.spec.containers[]", "properties.template.properties.spec.properties.containers.items", false},
	{true, ".template.spec", "properties.template.properties.spec", false},
};

/* Of a pod's metadata only these reach the pods, and "name" has a meaning of its own everywhere. */
static bool misplaced_is_sought(const struct misplaced_home *home, const char *key)
{
	return strcmp(key, "name") != 0 &&
	       (!home->metadata || strcmp(key, "labels") == 0 || strcmp(key, "annotations") == 0);
}

/* Follow a path of members, and a reference wherever there is one. */
static const struct rh_json *misplaced_walk(const struct rh_json *document, const struct rh_json *schema,
                                            const char *path)
{
	while (schema && *path) {
		size_t length = strcspn(path, ".");
		char key[32];

		rh_copy(key, length + 1 < sizeof(key) ? length + 1 : sizeof(key), path);
		path += length + (path[length] == '.');
		schema = rh_json_get(schema, key);
		if (rh_json_string_at(schema, "$ref"))
			schema = rh_json_get(rh_json_get(document, "definitions"), rh_json_string_at(schema, "$ref"));
	}
	return schema;
}

/* @return the schema of the map of replicas, or NULL */
static const struct rh_json *misplaced_replicas(const struct rh_json *spec)
{
	const struct rh_json *field = rh_json_first(rh_json_get(spec, "properties"));

	while (field && !rh_json_at(field, "additionalProperties.properties.template"))
		field = rh_json_next(field);
	return field;
}

/* Where @p path is below a type, its name is known. */
static void misplaced_print(const struct misplaced_home *home, const char *map, const char *path, const char *key,
                            struct rh_str *out)
{
	const char *end = rh_starts_with(path, "spec.") && rh_starts_with(path + 5, map) ? strchr(path, ']') : NULL;

	if (home->of_type && end && path[5 + strlen(map)] == '[')
		rh_str_append_bytes(out, path, (size_t)(end - path) + 1);
	else if (home->of_type)
		rh_str_appendf(out, "spec.%s[TYPE]", map);
	else
		rh_str_append(out, "spec");
	rh_str_appendf(out, "%s.%s", home->path, key);
}

bool rh_misplaced_home(const struct rh_json *document, const char *path, const char *key, struct rh_str *ret_home)
{
	const char *root = rh_json_string_at(document, "root");
	const struct rh_json *kind = rh_json_get(rh_json_get(document, "definitions"), root ? root : "");
	const struct rh_json *spec = rh_json_at(kind, "properties.spec");
	const struct rh_json *map = misplaced_replicas(spec);

	for (size_t i = 0; map && i < sizeof(misplaced_homes) / sizeof(misplaced_homes[0]); i++) {
		const struct misplaced_home *home = &misplaced_homes[i];
		const struct rh_json *from = home->of_type ? rh_json_get(map, "additionalProperties") : spec;
		const struct rh_json *schema = misplaced_walk(document, from, home->schema);

		if (!misplaced_is_sought(home, key) || !rh_json_get(rh_json_get(schema, "properties"), key))
			continue;
		misplaced_print(home, rh_json_key(map), path, key, ret_home);
		return true;
	}
	return false;
}
