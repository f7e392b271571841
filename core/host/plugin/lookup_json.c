/* SPDX-License-Identifier: Apache-2.0 */
#include "host/plugin/lookup_json.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "job/lookups/lookups.h"
#include "job/values/names.h"

/** What names an entry in messages: "lookups[2].kinds[0]". */
#define LOOKUP_PLACE_SIZE 64
/* And that of a member of it: ".kinds[0]". */
#define LOOKUP_MEMBER_SIZE (LOOKUP_PLACE_SIZE + 32)

/** Which texts a member may have. */
typedef bool lookup_fits_fn(const char *text);

/** A member of an object; name NULL ends a list. */
struct lookup_member {
	const char *name;
	enum rh_json_type type; /**< RH_JSON_NULL: it is looked at elsewhere */
	bool required;
	lookup_fits_fn *fits; /**< of a text; NULL: any */
	const char *rule;     /**< what the text must be */
};

static bool lookup_is_name(const char *text)
{
	return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz")];
}

static bool lookup_is_kind(const char *text)
{
	return *text >= 'A' && *text <= 'Z' && strlen(text) <= RH_LABEL_MAX &&
	       !text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")];
}

static bool lookup_is_scope(const char *text)
{
	return strcmp(text, "Cluster") == 0 || strcmp(text, "Namespaced") == 0;
}

static bool lookup_is_version(const char *text)
{
	const char *slash = strchr(text, '/');
	rh_auto_free char *group = rh_strndup(text, slash ? (size_t)(slash - text) : 0);

	return rh_name_is_dns1035(slash ? slash + 1 : text) && (!slash || (group && rh_name_is_dns1123(group)));
}

static bool lookup_is_path(const char *text)
{
	return rh_starts_with(text, "spec.") || rh_starts_with(text, "metadata.");
}

/** The name of the job at most once, and what a name may have. */
static bool lookup_is_pattern(const char *text)
{
	const char *job = strstr(text, "{job}");
	rh_auto_free char *name =
		job ? rh_asprintf("%.*sx%s", (int)(job - text), text, job + strlen("{job}")) : rh_strdup(text);

	return name && rh_name_is_dns1123(name);
}

static const struct lookup_member lookup_members[] = {
	{"name", RH_JSON_STRING, true, lookup_is_name, "lower-case letters"},
	{"apiVersion", RH_JSON_STRING, true, lookup_is_version, "v1, or group/version"},
	{"kinds", RH_JSON_ARRAY, true, NULL, NULL},
	{"kind", RH_JSON_NULL, false, NULL, NULL},
	{"group", RH_JSON_NULL, false, NULL, NULL},
	{"object", RH_JSON_OBJECT, true, NULL, NULL},
	{"required", RH_JSON_BOOL, false, NULL, NULL},
	{"own", RH_JSON_BOOL, false, NULL, NULL},
	{"unless", RH_JSON_STRING, false, NULL, NULL},
	{"parse", RH_JSON_ARRAY, false, NULL, NULL},
	{"metadata", RH_JSON_BOOL, false, NULL, NULL},
	{NULL, RH_JSON_NULL, false, NULL, NULL},
};

static const struct lookup_member lookup_kind_members[] = {
	{"kind", RH_JSON_STRING, true, lookup_is_kind, "letters and digits, a capital letter first"},
	{"plural", RH_JSON_STRING, true, rh_name_is_dns1035, "lower case"},
	{"scope", RH_JSON_STRING, true, lookup_is_scope, "Cluster or Namespaced"},
	{NULL, RH_JSON_NULL, false, NULL, NULL},
};

static const struct lookup_member lookup_from_members[] = {
	{"from", RH_JSON_STRING, true, lookup_is_path, "a path below spec or metadata"},
	{"default", RH_JSON_STRING, false, NULL, NULL},
	{NULL, RH_JSON_NULL, false, NULL, NULL},
};

static const struct lookup_member lookup_pattern_members[] = {
	{"pattern", RH_JSON_STRING, true, lookup_is_pattern, "a name in lower case, with {job} once at most"},
	{NULL, RH_JSON_NULL, false, NULL, NULL},
};

static const char *lookup_word(enum rh_json_type type)
{
	if (type == RH_JSON_STRING)
		return "a string";
	if (type == RH_JSON_ARRAY)
		return "a list";
	return type == RH_JSON_BOOL ? "true or false" : "an object";
}

static int lookup_check_member(const char *place, const struct lookup_member *member, const struct rh_json *value,
                               struct rh_error *err)
{
	if (!value && member->required)
		return rh_fail(err, RH_EPLUGIN, "%s.%s is missing", place, member->name);
	if (!value || member->type == RH_JSON_NULL)
		return 0;
	if (rh_json_type(value) != member->type)
		return rh_fail(err, RH_EPLUGIN, "%s.%s must be %s", place, member->name, lookup_word(member->type));
	if (member->fits && !member->fits(rh_json_string(value)))
		return rh_fail(err, RH_EPLUGIN, "%s.%s is \"%.64s\", and must be %s", place, member->name,
		               rh_json_string(value), member->rule);
	return 0;
}

static bool lookup_knows(const struct lookup_member *members, const char *name)
{
	while (members->name && strcmp(members->name, name) != 0)
		members++;
	return members->name != NULL;
}

/** A member that this host does not know may change what a job does, so it is refused. */
static int lookup_check_object(const char *place, const struct lookup_member *members, const struct rh_json *object,
                               struct rh_error *err)
{
	int r = 0;

	if (rh_json_type(object) != RH_JSON_OBJECT)
		return rh_fail(err, RH_EPLUGIN, "%s must be an object", place);
	for (const struct rh_json *value = rh_json_first(object); value; value = rh_json_next(value)) {
		if (!lookup_knows(members, rh_json_key(value)))
			return rh_fail(err, RH_EPLUGIN, "%s.%.64s is not a known member", place, rh_json_key(value));
	}
	for (; members->name && r == 0; members++)
		r = lookup_check_member(place, members, rh_json_get(object, members->name), err);
	return r;
}

static int lookup_check_kinds(const char *place, const struct rh_json *entry, struct rh_error *err)
{
	const struct rh_json *kinds = rh_json_get(entry, "kinds");
	size_t index = 0;
	int r = rh_json_size(kinds) > 0 ? 0 : rh_fail(err, RH_EPLUGIN, "%s.kinds is empty", place);

	for (const struct rh_json *kind = rh_json_first(kinds); kind && r == 0; kind = rh_json_next(kind)) {
		char at[LOOKUP_MEMBER_SIZE];

		(void)snprintf(at, sizeof(at), "%s.kinds[%zu]", place, index++);
		r = lookup_check_object(at, lookup_kind_members, kind, err);
		if (r == 0 && rh_json_bool(rh_json_get(entry, "own"), false) &&
		    rh_text_equal(rh_json_string_at(kind, "scope"), "Cluster"))
			r = rh_fail(err, RH_EPLUGIN, "%s is of scope Cluster, and an object of a job (own) is in a namespace", at);
	}
	return r;
}

static bool lookup_has_kind(const struct rh_json *entry, const char *name)
{
	for (const struct rh_json *kind = rh_json_first(rh_json_get(entry, "kinds")); kind; kind = rh_json_next(kind)) {
		if (rh_text_equal(rh_json_string_at(kind, "kind"), name))
			return true;
	}
	return false;
}

static int lookup_check_kind(const char *place, const struct rh_json *entry, struct rh_error *err)
{
	const struct rh_json *kind = rh_json_get(entry, "kind");
	const char *name = rh_json_string(kind);
	char at[LOOKUP_MEMBER_SIZE];
	int r = 0;

	(void)snprintf(at, sizeof(at), "%s.kind", place);
	if (kind && !name) {
		r = lookup_check_object(at, lookup_from_members, kind, err);
		name = rh_json_string(rh_json_get(kind, "default"));
	}
	if (r == 0 && kind && (!name || !lookup_has_kind(entry, name)))
		r = rh_fail(err, RH_EPLUGIN, "%s %s \"%.64s\", which is not one of kinds", at,
		            rh_json_string(kind) ? "is" : "has the default", name ? name : "");
	return r;
}

static int lookup_check_group(const char *place, const struct rh_json *entry, struct rh_error *err)
{
	const struct rh_json *group = rh_json_get(entry, "group");
	char at[LOOKUP_MEMBER_SIZE];

	(void)snprintf(at, sizeof(at), "%s.group", place);
	return group ? lookup_check_object(at, lookup_from_members, group, err) : 0;
}

static int lookup_check_source(const char *place, const struct rh_json *entry, struct rh_error *err)
{
	const struct rh_json *object = rh_json_get(entry, "object");
	char at[LOOKUP_MEMBER_SIZE];

	(void)snprintf(at, sizeof(at), "%s.object", place);
	return lookup_check_object(at, rh_json_get(object, "pattern") ? lookup_pattern_members : lookup_from_members,
	                           object, err);
}

static int lookup_check_parse(const char *place, const struct rh_json *entry, struct rh_error *err)
{
	const struct rh_json *paths = rh_json_get(entry, "parse");

	if (paths && rh_json_bool(rh_json_get(entry, "metadata"), false))
		return rh_fail(err, RH_EPLUGIN, "%s.parse and metadata exclude each other", place);
	for (const struct rh_json *path = rh_json_first(paths); path; path = rh_json_next(path)) {
		if (!rh_json_string(path) || !*rh_json_string(path))
			return rh_fail(err, RH_EPLUGIN, "%s.parse must be a list of paths", place);
	}
	return 0;
}

static const struct rh_json *lookup_find(const struct rh_json *list, const char *name)
{
	const struct rh_json *entry = rh_json_first(list);

	while (entry && !rh_text_equal(rh_json_string(rh_json_get(entry, "name")), name))
		entry = rh_json_next(entry);
	return entry;
}

static int lookup_check_entry(const struct rh_json *list, const struct rh_json *entry, const char *place,
                              struct rh_error *err)
{
	int r = lookup_check_object(place, lookup_members, entry, err);

	if (r == 0 && lookup_find(list, rh_json_string_at(entry, "name")) != entry)
		r = rh_fail(err, RH_EPLUGIN, "%s.name is \"%.64s\", as that of another entry", place,
		            rh_json_string_at(entry, "name"));
	if (r == 0)
		r = lookup_check_kinds(place, entry, err);
	if (r == 0)
		r = lookup_check_kind(place, entry, err);
	if (r == 0)
		r = lookup_check_group(place, entry, err);
	if (r == 0)
		r = lookup_check_source(place, entry, err);
	return r == 0 ? lookup_check_parse(place, entry, err) : r;
}

/** An entry that gives way to another one must not be given way to: what is read first would not be clear. */
static int lookup_check_unless(const struct rh_json *list, const struct rh_json *entry, size_t index,
                               struct rh_error *err)
{
	const char *unless = rh_json_string(rh_json_get(entry, "unless"));
	const struct rh_json *other = unless ? lookup_find(list, unless) : NULL;

	if (!unless || (other && other != entry && !rh_json_get(other, "unless")))
		return 0;
	return rh_fail(err, RH_EPLUGIN, "lookups[%zu].unless is \"%.64s\", and must be the name of another entry%s", index,
	               unless, other ? " that has no unless" : "");
}

static int lookup_check_list(const struct rh_json *list, struct rh_error *err)
{
	size_t index = 0;
	int r = 0;

	for (const struct rh_json *entry = rh_json_first(list); entry && r == 0; entry = rh_json_next(entry)) {
		char place[LOOKUP_PLACE_SIZE];

		(void)snprintf(place, sizeof(place), "lookups[%zu]", index++);
		r = lookup_check_entry(list, entry, place, err);
	}
	index = 0;
	for (const struct rh_json *entry = rh_json_first(list); entry && r == 0; entry = rh_json_next(entry))
		r = lookup_check_unless(list, entry, index++, err);
	return r;
}

int rh_lookup_json_check(const char *text, struct rh_error *err)
{
	rh_auto(json) list = NULL;
	int r = text ? rh_json_parse(text, strlen(text), &list, err) : 0;

	if (r < 0)
		return r == RH_ENOMEM ? r : rh_wrap(err, RH_EPLUGIN, "lookups");
	if (text && (rh_json_type(list) != RH_JSON_ARRAY || rh_json_size(list) == 0))
		return rh_fail(err, RH_EPLUGIN, "lookups must be an array with at least one entry");
	if (rh_json_size(list) > RH_LOOKUPS_MAX)
		return rh_fail(err, RH_EPLUGIN, "lookups has more than %d entries", RH_LOOKUPS_MAX);
	return lookup_check_list(list, err);
}
