/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/watch/known.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* A namespace has at most 63 bytes and a name 253. */
#define KNOWN_KEY_ROOM 512

struct rh_known_object {
	uint64_t version; /* 0: the server's is not a number */
	uint32_t listing; /* number of the last listing with it; 0: not reported yet */
	uint16_t name_at; /* offset of the name in the key */
	char uid[];
};

struct rh_known {
	struct rh_map *objects; /* "namespace/name" */
	char *api_version;
	char *kind;
};

struct rh_known *rh_known_new(const struct rh_resource *resource)
{
	rh_auto(known) known = rh_alloc(sizeof(*known));

	if (!known)
		return NULL;
	known->objects = rh_map_new();
	known->api_version = rh_strdup(resource->api_version);
	known->kind = rh_strdup(resource->kind);
	if (!known->objects || !known->api_version || !known->kind)
		return NULL;
	return rh_take(known);
}

void rh_known_free(struct rh_known *known)
{
	size_t cursor = 0;
	void *object;

	if (!known)
		return;
	while (known->objects && rh_map_next(known->objects, &cursor, NULL, &object))
		rh_free(object);
	rh_map_free(known->objects);
	rh_free(known->api_version);
	rh_free(known->kind);
	rh_free(known);
}

size_t rh_known_size(const struct rh_known *known)
{
	return rh_map_size(known->objects);
}

static const char *known_field(const struct rh_json *object, const char *field)
{
	const char *text = rh_json_string(rh_json_get(rh_json_get(object, "metadata"), field));

	return text ? text : "";
}

/* Versions are opaque; one that is not a number is never equal to another. */
static uint64_t known_number(const char *text)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	return end != text && !*end && errno == 0 ? value : 0;
}

static uint64_t known_version(const struct rh_json *object)
{
	return known_number(known_field(object, "resourceVersion"));
}

static const char *known_key(const struct rh_json *object, char room[KNOWN_KEY_ROOM])
{
	snprintf(room, KNOWN_KEY_ROOM, "%s/%s", known_field(object, "namespace"), known_field(object, "name"));
	return room;
}

/* @return the offset of the name in known_key() */
static uint16_t known_name_at(const struct rh_json *object)
{
	size_t length = strlen(known_field(object, "namespace")) + 1;

	return (uint16_t)(length < KNOWN_KEY_ROOM ? length : KNOWN_KEY_ROOM - 1);
}

enum rh_known_change rh_known_compare(const struct rh_known *known, const struct rh_json *object,
                                      struct rh_known_object **ret_known)
{
	char key[KNOWN_KEY_ROOM];
	struct rh_known_object *before = rh_map_get(known->objects, known_key(object, key));
	uint64_t version = known_version(object);

	*ret_known = before;
	if (!before)
		return RH_KNOWN_NEW;
	if (strcmp(before->uid, known_field(object, "uid")) != 0)
		return RH_KNOWN_OTHER;
	if (before->listing == 0)
		return RH_KNOWN_NEW;
	return version > 0 && version == before->version ? RH_KNOWN_SAME : RH_KNOWN_CHANGED;
}

int rh_known_put(struct rh_known *known, const struct rh_json *object, uint32_t listing)
{
	const char *uid = known_field(object, "uid");
	size_t size = strlen(uid) + 1;
	struct rh_known_object *kept = rh_alloc(sizeof(*kept) + size);
	char key[KNOWN_KEY_ROOM];
	void *old = NULL;

	if (!kept)
		return RH_ENOMEM;
	kept->version = known_version(object);
	kept->listing = listing;
	kept->name_at = known_name_at(object);
	memcpy(kept->uid, uid, size);
	if (rh_map_set(known->objects, known_key(object, key), kept, &old) < 0) {
		rh_free(kept);
		return RH_ENOMEM;
	}
	rh_free(old);
	return 0;
}

void rh_known_seen(struct rh_known_object *object, uint32_t listing)
{
	object->listing = listing;
}

void rh_known_remove(struct rh_known *known, const struct rh_json *object)
{
	char key[KNOWN_KEY_ROOM];

	rh_free(rh_map_remove(known->objects, known_key(object, key)));
}

static int known_read_metadata(const char *key, const struct rh_known_object *object, struct rh_json *metadata)
{
	rh_auto_free char *namespace_ = rh_strndup(key, object->name_at - 1u);
	char version[24];

	if (!metadata || !namespace_ || rh_json_set_string(metadata, "name", key + object->name_at) < 0 ||
	    rh_json_set_string(metadata, "uid", object->uid) < 0)
		return RH_ENOMEM;
	if (*namespace_ && rh_json_set_string(metadata, "namespace", namespace_) < 0)
		return RH_ENOMEM;
	snprintf(version, sizeof(version), "%" PRIu64, object->version);
	return object->version > 0 ? rh_json_set_string(metadata, "resourceVersion", version) : 0;
}

/* @return the identity, owned by the caller; NULL: out of memory */
static struct rh_json *known_identity(const struct rh_known *known, const char *key,
                                      const struct rh_known_object *object)
{
	rh_auto(json) json = rh_json_new_object();

	if (!json || rh_json_set_string(json, "apiVersion", known->api_version) < 0 ||
	    rh_json_set_string(json, "kind", known->kind) < 0 ||
	    known_read_metadata(key, object, rh_json_ensure_object(json, "metadata")) < 0)
		return NULL;
	return rh_take(json);
}

int rh_known_emit(const struct rh_known *known, const struct rh_json *object, rh_known_fn *fn, void *arg)
{
	char key[KNOWN_KEY_ROOM];
	const struct rh_known_object *kept = rh_map_get(known->objects, known_key(object, key));
	rh_auto(json) identity = kept ? known_identity(known, key, kept) : NULL;

	if (!identity)
		return RH_ENOMEM;
	fn(arg, identity);
	return 0;
}

static bool known_is_kind(const struct rh_known *known, const struct rh_json *object)
{
	return rh_text_equal(rh_json_string(rh_json_get(object, "kind")), known->kind) &&
	       rh_text_equal(rh_json_string(rh_json_get(object, "apiVersion")), known->api_version);
}

void rh_known_learn(struct rh_known *known, const struct rh_json *object, rh_known_fn *fn, void *arg)
{
	struct rh_known_object *before;
	enum rh_known_change change;

	if (!known_is_kind(known, object))
		return;
	change = rh_known_compare(known, object, &before);
	if (change == RH_KNOWN_OTHER && before->version > 0 && before->version < known_version(object)) {
		if (rh_known_emit(known, object, fn, arg) < 0)
			return;
		rh_known_remove(known, object);
		before = NULL;
	}
	if (!before)
		(void)rh_known_put(known, object, 0);
}

int rh_known_sweep(struct rh_known *known, uint32_t listing, const char *version, rh_known_fn *fn, void *arg)
{
	uint64_t listed = known_number(version);
	const char *key;
	size_t cursor = 0;
	void *value;

	while (rh_map_next(known->objects, &cursor, &key, &value)) {
		const struct rh_known_object *object = value;
		rh_auto(json) identity = NULL;

		/* an object from a response may be newer than the listing */
		if (object->listing == listing || (object->listing == 0 && object->version > listed))
			continue;
		identity = known_identity(known, key, object);
		if (!identity)
			return RH_ENOMEM;
		rh_free(rh_map_remove(known->objects, key));
		fn(arg, identity);
	}
	return 0;
}
