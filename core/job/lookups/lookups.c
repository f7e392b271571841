/* SPDX-License-Identifier: Apache-2.0 */
#include "job/lookups/lookups.h"

#include <string.h>

#include "job/values/names.h"

/* What stands for the name of the job in a pattern. */
#define LOOKUPS_JOB "{job}"

const char *rh_lookups_text(const struct rh_kind *kind)
{
	return RH_HAS(kind, struct rh_kind, lookups) ? kind->lookups : NULL;
}

/* Note what is wrong first. @param detail taken; NULL: memory is out. @return 0 or RH_ENOMEM */
static int lookups_blame(struct rh_lookups *lookups, const char *path, char *detail)
{
	rh_auto_free char *text = detail;

	if (lookups->flaw)
		return 0;
	lookups->flaw_path = rh_strdup(path);
	if (!text || !lookups->flaw_path)
		return RH_ENOMEM;
	lookups->flaw = rh_take(text);
	return 0;
}

/* The text of a job that {"from": path, "default": text} names; NULL: there is none. */
static const char *lookups_from(const struct rh_job *job, const struct rh_json *source)
{
	const char *path = rh_json_string(rh_json_get(source, "from"));
	const char *text = path ? rh_json_string_at(job->object, path) : NULL;

	return text && *text ? text : rh_json_string(rh_json_get(source, "default"));
}

static const struct rh_json *lookups_find_kind(const struct rh_json *kinds, const char *name)
{
	const struct rh_json *kind = rh_json_first(kinds);

	while (kind && name && !rh_text_equal(rh_json_string_at(kind, "kind"), name))
		kind = rh_json_next(kind);
	return kind;
}

static int lookups_refuse_kind(struct rh_lookups *lookups, const char *path, const char *name,
                               const struct rh_json *kinds)
{
	rh_auto_str words = {0};

	rh_str_appendf(&words, "Unsupported value: \"%.64s\": supported values: ", name);
	for (const struct rh_json *kind = rh_json_first(kinds); kind; kind = rh_json_next(kind))
		rh_str_appendf(&words, "%s\"%s\"", kind == rh_json_first(kinds) ? "" : ", ", rh_json_string_at(kind, "kind"));
	return words.failed ? RH_ENOMEM : lookups_blame(lookups, path, rh_strdup(rh_str_text(&words)));
}

static int lookups_set_kind(struct rh_lookups *lookups, struct rh_lookup *lookup, const struct rh_job *job,
                            const struct rh_json *entry)
{
	const struct rh_json *kinds = rh_json_get(entry, "kinds");
	const struct rh_json *source = rh_json_get(entry, "kind");
	const char *name = rh_json_string(source) ? rh_json_string(source) : lookups_from(job, source);
	const struct rh_json *kind = lookups_find_kind(kinds, name);
	int r = kind ? 0 : lookups_refuse_kind(lookups, rh_json_string_at(source, "from"), name, kinds);

	if (!kind)
		kind = rh_json_first(kinds);
	lookup->kind = rh_json_string_at(kind, "kind");
	lookup->plural = rh_json_string_at(kind, "plural");
	lookup->cluster = rh_text_equal(rh_json_string_at(kind, "scope"), "Cluster");
	return r;
}

/* A pattern has the name of the job once; this was checked when the plugin was loaded. */
static char *lookups_print_pattern(const char *pattern, const char *job)
{
	const char *at = strstr(pattern, LOOKUPS_JOB);

	return at ? rh_asprintf("%.*s%s%s", (int)(at - pattern), pattern, job, at + strlen(LOOKUPS_JOB))
	          : rh_strdup(pattern);
}

/* A name goes into addresses and selectors of requests, so one that no object can have is never asked for. */
static int lookups_set_name(struct rh_lookups *lookups, struct rh_lookup *lookup, const struct rh_job *job,
                            const struct rh_json *entry)
{
	const struct rh_json *source = rh_json_get(entry, "object");
	const char *pattern = rh_json_string(rh_json_get(source, "pattern"));
	const char *name = pattern ? NULL : lookups_from(job, source);

	lookup->state = pattern || name ? 0 : RH_LOOKUP_UNNAMED;
	if (lookup->state)
		return 0;
	lookup->object_name = pattern ? lookups_print_pattern(pattern, job->name) : rh_strdup(name);
	if (!lookup->object_name)
		return RH_ENOMEM;
	if (rh_name_is_dns1123(lookup->object_name))
		return 0;
	lookup->state = RH_LOOKUP_ABSENT;
	return lookups_blame(
		lookups, lookup->from,
		rh_asprintf("Invalid value: \"%.253s\": no %s can have this name", lookup->object_name, lookup->kind));
}

/* An object of another group, or of a version, is never asked for: what it says means nothing here. */
static int lookups_check_group(struct rh_lookups *lookups, struct rh_lookup *lookup, const struct rh_job *job,
                               const struct rh_json *entry)
{
	const struct rh_json *source = rh_json_get(entry, "group");
	const char *name = source ? lookups_from(job, source) : NULL;
	int length = (int)strcspn(lookup->api_version, "/");

	if (!name || (strlen(name) == (size_t)length && strncmp(name, lookup->api_version, (size_t)length) == 0))
		return 0;
	lookup->state = RH_LOOKUP_ABSENT;
	return lookups_blame(
		lookups, rh_json_string_at(source, "from"),
		rh_asprintf("Unsupported value: \"%.253s\": supported values: \"%.*s\"", name, length, lookup->api_version));
}

static int lookups_add(struct rh_lookups *lookups, const struct rh_job *job, const struct rh_json *entry)
{
	struct rh_lookup *lookup = &lookups->items[lookups->count++];
	int r;

	lookup->name = rh_json_string_at(entry, "name");
	lookup->api_version = rh_json_string_at(entry, "apiVersion");
	lookup->unless = rh_json_string(rh_json_get(entry, "unless"));
	lookup->parse = rh_json_get(entry, "parse");
	lookup->from = rh_json_string(rh_json_get(rh_json_get(entry, "object"), "from"));
	lookup->from = lookup->from ? lookup->from : "metadata.name";
	lookup->own = rh_json_bool(rh_json_get(entry, "own"), false);
	lookup->metadata = rh_json_bool(rh_json_get(entry, "metadata"), false);
	lookup->required = !lookup->own && rh_json_bool(rh_json_get(entry, "required"), true);
	r = lookups_set_kind(lookups, lookup, job, entry);
	if (r == 0)
		r = lookups_set_name(lookups, lookup, job, entry);
	return r == 0 ? lookups_check_group(lookups, lookup, job, entry) : r;
}

int rh_lookups_new(const struct rh_job *job, struct rh_lookups **ret_lookups)
{
	const char *text = rh_lookups_text(job->kind);
	rh_auto(lookups) lookups = text ? rh_alloc(sizeof(*lookups)) : NULL;
	int r;

	*ret_lookups = NULL;
	if (!text)
		return 0;
	if (!lookups || rh_json_parse(text, strlen(text), &lookups->declared, NULL) < 0)
		return RH_ENOMEM;
	lookups->namespace_ = rh_strdup(job->namespace_);
	lookups->uid = rh_strdup(job->uid);
	r = lookups->namespace_ && lookups->uid ? 0 : RH_ENOMEM;
	for (const struct rh_json *entry = rh_json_first(lookups->declared); entry && r == 0; entry = rh_json_next(entry))
		r = lookups_add(lookups, job, entry);
	if (r == 0)
		*ret_lookups = rh_take(lookups);
	return r;
}

void rh_lookups_free(struct rh_lookups *lookups)
{
	if (!lookups)
		return;
	for (size_t i = 0; i < lookups->count; i++) {
		rh_free(lookups->items[i].object_name);
		rh_found_drop(lookups->items[i].found);
	}
	rh_json_free(lookups->declared);
	rh_free(lookups->namespace_);
	rh_free(lookups->uid);
	rh_free(lookups->flaw_path);
	rh_free(lookups->flaw);
	rh_free(lookups);
}

const struct rh_lookup *rh_lookups_find(const struct rh_lookups *lookups, const char *name, size_t length)
{
	for (size_t i = 0; lookups && i < lookups->count; i++) {
		const char *known = lookups->items[i].name;

		if (strncmp(known, name, length) == 0 && !known[length])
			return &lookups->items[i];
	}
	return NULL;
}

/* The entry that takes the place of @p lookup when it is found; NULL: none. */
static const struct rh_lookup *lookups_other(const struct rh_lookups *lookups, const struct rh_lookup *lookup)
{
	return lookup->unless ? rh_lookups_find(lookups, lookup->unless, strlen(lookup->unless)) : NULL;
}

struct rh_lookup *rh_lookups_due(struct rh_lookups *lookups)
{
	for (size_t i = 0; i < lookups->count; i++) {
		struct rh_lookup *lookup = &lookups->items[i];
		const struct rh_lookup *other = lookups_other(lookups, lookup);

		if (lookup->state != 0 || (other && other->state == 0))
			continue;
		if (!other || other->state != RH_LOOKUP_FOUND)
			return lookup;
		lookup->state = RH_LOOKUP_ABSENT; /* it is not read */
	}
	return NULL;
}

bool rh_lookups_are_known(const struct rh_lookups *lookups)
{
	for (size_t i = 0; i < lookups->count; i++) {
		if (lookups->items[i].state == 0)
			return false;
	}
	return true;
}

static bool lookups_is_own(const struct rh_lookups *lookups, const struct rh_json *object)
{
	const struct rh_json *owner = rh_json_first(rh_json_at(object, "metadata.ownerReferences"));

	while (owner && !rh_json_bool(rh_json_get(owner, "controller"), false))
		owner = rh_json_next(owner);
	return owner && *lookups->uid && rh_text_equal(rh_json_string_at(owner, "uid"), lookups->uid);
}

static int lookups_blame_object(struct rh_lookups *lookups, const struct rh_lookup *lookup, const char *path,
                                char *detail)
{
	rh_auto_free char *at = rh_asprintf("@%s%s%s", lookup->name, *path ? "." : "", path);

	if (!at) {
		rh_free(detail);
		return RH_ENOMEM;
	}
	return lookups_blame(lookups, at, detail);
}

/* Set what the job sees: nothing where @p found is NULL. */
static void lookups_set(struct rh_lookup *lookup, struct rh_found *found)
{
	rh_found_drop(lookup->found);
	lookup->found = found ? rh_found_share(found) : NULL;
	lookup->object = found ? found->object : NULL;
	lookup->state = found ? RH_LOOKUP_FOUND : RH_LOOKUP_ABSENT;
}

int rh_lookups_share(struct rh_lookups *lookups, struct rh_lookup *lookup, struct rh_found *found)
{
	bool counts = found && (!lookup->own || lookups_is_own(lookups, found->object));

	lookups_set(lookup, counts ? found : NULL);
	if (!counts || !found->flaw)
		return 0;
	return lookups_blame_object(lookups, lookup, found->flaw_path, rh_strdup(found->flaw));
}

int rh_lookups_keep(struct rh_lookups *lookups, struct rh_lookup *lookup, const struct rh_json *object)
{
	struct rh_found *found = NULL;
	int r = object ? rh_found_new(object, lookup->metadata, lookup->parse, NULL, &found) : 0;

	if (r == 0)
		r = rh_lookups_share(lookups, lookup, found);
	rh_found_drop(found);
	return r;
}

const struct rh_lookup *rh_lookups_missing(const struct rh_lookups *lookups)
{
	for (size_t i = 0; i < lookups->count; i++) {
		const struct rh_lookup *lookup = &lookups->items[i];
		const struct rh_lookup *other = lookups_other(lookups, lookup);

		if (lookup->required && lookup->state == RH_LOOKUP_ABSENT && (!other || other->state != RH_LOOKUP_FOUND))
			return lookup;
	}
	return NULL;
}

bool rh_lookups_are_complete(const struct rh_kind *kind, const struct rh_lookups *lookups)
{
	if (!rh_lookups_text(kind))
		return true;
	return lookups && !lookups->flaw && rh_lookups_are_known(lookups) && !rh_lookups_missing(lookups);
}

bool rh_lookups_name_same(const struct rh_lookups *a, const struct rh_lookups *b)
{
	bool same = a->count == b->count && strcmp(a->uid, b->uid) == 0;

	for (size_t i = 0; i < a->count && same; i++) {
		const struct rh_lookup *one = &a->items[i], *other = &b->items[i];

		same = rh_text_equal(one->kind, other->kind) && !one->object_name == !other->object_name &&
		       (!one->object_name || strcmp(one->object_name, other->object_name) == 0);
	}
	return same;
}

const struct rh_lookup *rh_lookups_of_path(const struct rh_lookups *lookups, const char *path, const char **ret_rest)
{
	size_t length;

	if (*path != '@')
		return NULL;
	length = strcspn(path + 1, ".[");
	*ret_rest = path + 1 + length + (path[1 + length] == '.');
	return rh_lookups_find(lookups, path + 1, length);
}

void rh_lookups_print_path(const struct rh_lookups *lookups, const char *path, struct rh_str *out)
{
	const char *rest;
	const struct rh_lookup *lookup = rh_lookups_of_path(lookups, path, &rest);

	if (lookup)
		rh_str_appendf(out, "%s %s%s%s", lookup->kind, lookup->object_name ? lookup->object_name : lookup->name,
		               *rest ? ": " : "", rest);
	else
		rh_str_append(out, path);
}
