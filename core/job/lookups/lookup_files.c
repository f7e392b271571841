/* SPDX-License-Identifier: Apache-2.0 */
#include "job/lookups/lookup_files.h"

#include <string.h>

/* @return the object of that kind and name, of whatever version; NULL: there is none */
static const struct rh_json *lookup_search(const struct rh_manifest *manifest, const struct rh_lookups *lookups,
                                           const struct rh_lookup *lookup)
{
	/* an object of the whole cluster has no namespace, and so that of objects which name none */
	const char *namespace_ = lookup->cluster ? "default" : lookups->namespace_;

	if (lookup->own || !manifest)
		return NULL;
	return rh_manifest_find(manifest, lookup->kind, namespace_, lookup->object_name);
}

static const struct rh_json *lookup_find(const struct rh_manifest *manifest, const struct rh_lookups *lookups,
                                         const struct rh_lookup *lookup)
{
	const struct rh_json *found = lookup_search(manifest, lookups, lookup);

	return found && strcmp(rh_json_string_at(found, "apiVersion"), lookup->api_version) == 0 ? found : NULL;
}

int rh_lookups_of_files(const struct rh_job *job, const struct rh_manifest *manifest, struct rh_lookups **ret_lookups)
{
	rh_auto(lookups) lookups = NULL;
	struct rh_lookup *lookup;
	int r = rh_lookups_new(job, &lookups);

	*ret_lookups = NULL;
	while (r == 0 && lookups && (lookup = rh_lookups_due(lookups)))
		r = rh_lookups_keep(lookups, lookup, lookup_find(manifest, lookups, lookup));
	if (r == 0)
		*ret_lookups = rh_take(lookups);
	return r;
}

int rh_lookups_report(const struct rh_lookups *lookups, const struct rh_manifest *manifest, const char *place,
                      struct rh_findings *findings)
{
	const struct rh_lookup *missing = lookups && !lookups->flaw ? rh_lookups_missing(lookups) : NULL;
	const struct rh_json *other = missing ? lookup_search(manifest, lookups, missing) : NULL;

	if (!missing)
		return 0;
	if (other)
		return rh_findings_add(findings, RH_FINDING_ERROR, missing->from,
		                       "Not found: \"%s\": the %s %s of the files is of %s, and only those of %s are served",
		                       missing->object_name, missing->kind, missing->object_name,
		                       rh_json_string_at(other, "apiVersion"), missing->api_version);
	return rh_findings_add(findings, RH_FINDING_ERROR, missing->from,
	                       "Not found: \"%s\": %s %s is neither in the files nor in %s; put it into a file",
	                       missing->object_name, missing->kind, missing->object_name, place);
}

const struct rh_json *rh_lookups_declare(const struct rh_json *declared, const struct rh_json *object)
{
	for (const struct rh_json *entry = rh_json_first(declared); entry; entry = rh_json_next(entry)) {
		const struct rh_json *kind = rh_json_first(rh_json_get(entry, "kinds"));

		if (strcmp(rh_json_string_at(entry, "apiVersion"), rh_json_string_at(object, "apiVersion")) != 0)
			continue;
		while (kind && strcmp(rh_json_string_at(kind, "kind"), rh_json_string_at(object, "kind")) != 0)
			kind = rh_json_next(kind);
		if (kind)
			return kind;
	}
	return NULL;
}
