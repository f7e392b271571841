/* SPDX-License-Identifier: Apache-2.0 */
#include "job/values/version.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "job/fields.h"
#include "job/kind.h"
#include "job/values/names.h"

/* A version as "v2beta1". */
struct version_parts {
	bool known; /* it has this form */
	int stage;  /* 2: stable, 1: beta, 0: alpha */
	unsigned long major;
	unsigned long minor;
};

/* @return the number at the start of @p text, which moves behind it; 0: there is none */
static unsigned long version_number(const char **text)
{
	char *end = NULL;
	unsigned long number = **text >= '1' && **text <= '9' ? strtoul(*text, &end, 10) : 0;

	if (end)
		*text = end;
	return number;
}

static struct version_parts version_parse(const char *text)
{
	struct version_parts parts = {.stage = 2};

	if (*text++ != 'v' || !(parts.major = version_number(&text)))
		return parts;
	if (!*text) {
		parts.known = true;
		return parts;
	}
	parts.stage = rh_starts_with(text, "beta") ? 1 : 0;
	if (!parts.stage && !rh_starts_with(text, "alpha"))
		return parts;
	text += parts.stage ? strlen("beta") : strlen("alpha");
	parts.minor = version_number(&text);
	parts.known = parts.minor && !*text;
	return parts;
}

int rh_version_compare(const char *a, const char *b)
{
	struct version_parts left = version_parse(a), right = version_parse(b);

	if (!left.known || !right.known)
		return left.known != right.known ? right.known - left.known : strcmp(a, b);
	if (left.stage != right.stage)
		return right.stage - left.stage;
	if (left.major != right.major)
		return left.major > right.major ? -1 : 1;
	if (left.minor != right.minor)
		return left.minor > right.minor ? -1 : 1;
	return 0;
}

bool rh_kind_is_version_of(const struct rh_kind *a, const struct rh_kind *b)
{
	return strcmp(a->group, b->group) == 0 && strcmp(a->plural, b->plural) == 0;
}

static bool version_is_before(const struct rh_kind *a, const struct rh_kind *b)
{
	bool stored = a->flags & RH_KIND_STORAGE;

	if (stored != !!(b->flags & RH_KIND_STORAGE))
		return stored;
	return rh_version_compare(a->version, b->version) < 0;
}

int rh_versions_add(struct rh_versions *versions, const struct rh_kind *kind)
{
	size_t place = 0;

	if (versions->count == RH_VERSIONS_MAX)
		return RH_EINVAL;
	while (place < versions->count && !version_is_before(kind, versions->items[place]))
		place++;
	memmove(&versions->items[place + 1], &versions->items[place],
	        (versions->count - place) * sizeof(versions->items[0]));
	versions->items[place] = kind;
	if (versions->count == 0)
		versions->first = kind;
	versions->count++;
	return 0;
}

static const struct rh_kind *version_named(const struct rh_versions *versions, const char *version)
{
	for (size_t i = 0; i < versions->count; i++) {
		if (strcmp(versions->items[i]->version, version) == 0)
			return versions->items[i];
	}
	return NULL;
}

/* @return the kind of an apiVersion, or NULL */
static const struct rh_kind *version_of_api(const struct rh_versions *versions, const char *api_version)
{
	size_t length = strlen(versions->items[0]->group);

	if (!api_version || strncmp(api_version, versions->items[0]->group, length) != 0 || api_version[length] != '/')
		return NULL;
	return version_named(versions, api_version + length + 1);
}

/* The version in which the spec was first written; entries of one second are in the order of the list. */
static const struct rh_kind *version_first_written(const struct rh_versions *versions, const struct rh_json *metadata)
{
	const struct rh_json *oldest = NULL;

	for (const struct rh_json *entry = rh_fields_first(metadata, "managedFields"); entry; entry = rh_json_next(entry)) {
		if (rh_json_get(rh_json_get(entry, "fieldsV1"), "f:spec") &&
		    (!oldest || rh_fields_time_or_zero(entry, "time") < rh_fields_time_or_zero(oldest, "time")))
			oldest = entry;
	}
	return version_of_api(versions, rh_json_string(rh_json_get(oldest, "apiVersion")));
}

/* Find the only version whose managers have the managedBy of the job. @return false: none, or several, as for those of
 * Kueue */
static bool version_managed(const struct rh_versions *versions, const struct rh_json *object,
                            const struct rh_kind **ret_kind)
{
	size_t count = 0;

	for (size_t i = 0; i < versions->count; i++) {
		const char *manager = rh_kind_manager(versions->items[i], object);

		if (!manager || !rh_kind_may_manage(versions->items[i], manager, NULL))
			continue;
		*ret_kind = versions->items[i];
		count++;
	}
	return count == 1;
}

const struct rh_kind *rh_versions_route(const struct rh_versions *versions, const struct rh_json *object)
{
	const struct rh_json *metadata = rh_json_get(object, "metadata");
	const char *version = rh_json_string(rh_json_get(rh_json_get(metadata, "annotations"), RH_ANNOTATION_VERSION));
	const struct rh_kind *kind;

	if (version)
		return version_named(versions, version);
	if (version_managed(versions, object, &kind))
		return kind;
	kind = version_first_written(versions, metadata);
	for (size_t i = 0; i < versions->count && !kind; i++) {
		if (versions->items[i]->flags & RH_KIND_FALLBACK)
			kind = versions->items[i];
	}
	return kind ? kind : versions->items[0];
}
