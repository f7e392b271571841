/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/watch_known.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* Most names of labels that are kept: an object refers to one by a byte that is not zero. */
#define KNOWN_LABELS_MAX 64
/* A namespace has at most 63 bytes and a name 253. */
#define KNOWN_KEY_ROOM 512

/* Its text: the UID, then for each label a byte that names it and its value, each with its zero, then a zero. */
struct rh_known_object {
	uint64_t version; /* 0: the server's is no number */
	uint32_t mark;
	char text[];
};

struct rh_known {
	struct rh_map *objects; /* "namespace/name" */
	char *api_version;
	char *kind;
	char *prefix; /* of labels that are kept; NULL: none are */
	char *labels[KNOWN_LABELS_MAX];
	size_t label_count;
};

struct rh_known *rh_known_new(const struct rh_resource *resource, const char *label)
{
	rh_auto(known) known = rh_alloc(sizeof(*known));
	const char *slash = label ? strchr(label, '/') : NULL;

	if (!known)
		return NULL;
	known->objects = rh_map_new();
	known->api_version = rh_strdup(resource->api_version);
	known->kind = rh_strdup(resource->kind);
	if (label)
		known->prefix = rh_strndup(label, slash ? (size_t)(slash - label) + 1 : strlen(label));
	if (!known->objects || !known->api_version || !known->kind || (label && !known->prefix))
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
	for (size_t i = 0; i < known->label_count; i++)
		rh_free(known->labels[i]);
	rh_free(known->api_version);
	rh_free(known->kind);
	rh_free(known->prefix);
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

/* Versions are opaque; one that is no number is never the same as another. */
static uint64_t known_version(const struct rh_json *object)
{
	const char *text = known_field(object, "resourceVersion");
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	return end != text && !*end && errno == 0 ? value : 0;
}

static const char *known_key(const struct rh_json *object, char room[KNOWN_KEY_ROOM])
{
	snprintf(room, KNOWN_KEY_ROOM, "%s/%s", known_field(object, "namespace"), known_field(object, "name"));
	return room;
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
	if (strcmp(before->text, known_field(object, "uid")) != 0)
		return RH_KNOWN_OTHER;
	return version > 0 && version == before->version ? RH_KNOWN_SAME : RH_KNOWN_CHANGED;
}

/* @return the number of a label's name, counted from 1, or 0 when there is no more room for it or no memory */
static unsigned char known_label(struct rh_known *known, const char *name)
{
	size_t i = 0;

	while (i < known->label_count && strcmp(known->labels[i], name) != 0)
		i++;
	if (i == known->label_count) {
		if (i == KNOWN_LABELS_MAX)
			return 0;
		known->labels[i] = rh_strdup(name);
		if (!known->labels[i])
			return 0;
		known->label_count++;
	}
	return (unsigned char)(i + 1);
}

static void known_write_labels(struct rh_known *known, const struct rh_json *object, struct rh_str *out)
{
	const struct rh_json *labels = rh_json_get(rh_json_get(object, "metadata"), "labels");

	for (const struct rh_json *label = rh_json_first(labels); label; label = rh_json_next(label)) {
		const char *value = rh_json_string(label);
		char number;

		if (!value || !rh_starts_with(rh_json_key(label), known->prefix))
			continue;
		number = (char)known_label(known, rh_json_key(label));
		if (number == 0)
			continue;
		rh_str_append_bytes(out, &number, 1);
		rh_str_append_bytes(out, value, strlen(value) + 1);
	}
}

int rh_known_put(struct rh_known *known, const struct rh_json *object, uint32_t mark)
{
	const char *uid = known_field(object, "uid");
	struct rh_known_object *kept;
	rh_auto_str text = {0};
	char key[KNOWN_KEY_ROOM];
	void *old = NULL;

	rh_str_append_bytes(&text, uid, strlen(uid) + 1);
	if (known->prefix)
		known_write_labels(known, object, &text);
	rh_str_append_bytes(&text, "", 1);
	kept = text.failed ? NULL : rh_alloc(sizeof(*kept) + text.length);
	if (!kept)
		return RH_ENOMEM;
	kept->version = known_version(object);
	kept->mark = mark;
	memcpy(kept->text, text.data, text.length);
	if (rh_map_set(known->objects, known_key(object, key), kept, &old) < 0) {
		rh_free(kept);
		return RH_ENOMEM;
	}
	rh_free(old);
	return 0;
}

void rh_known_mark(struct rh_known_object *object, uint32_t mark)
{
	object->mark = mark;
}

void rh_known_remove(struct rh_known *known, const struct rh_json *object)
{
	char key[KNOWN_KEY_ROOM];

	rh_free(rh_map_remove(known->objects, known_key(object, key)));
}

static int known_read_labels(const struct rh_known *known, const char *text, struct rh_json *metadata)
{
	struct rh_json *labels = rh_json_ensure_object(metadata, "labels");

	if (!labels)
		return RH_ENOMEM;
	while (*text) {
		const char *value = text + 1;

		if (rh_json_set_string(labels, known->labels[(unsigned char)*text - 1], value) < 0)
			return RH_ENOMEM;
		text = value + strlen(value) + 1;
	}
	return 0;
}

static int known_read_metadata(const struct rh_known *known, const char *key, const struct rh_known_object *object,
                               struct rh_json *metadata)
{
	const char *slash = strchr(key, '/');
	rh_auto_free char *namespace_ = rh_strndup(key, (size_t)(slash - key));
	char version[24];

	if (!metadata || !namespace_ || rh_json_set_string(metadata, "name", slash + 1) < 0 ||
	    rh_json_set_string(metadata, "uid", object->text) < 0)
		return RH_ENOMEM;
	if (*namespace_ && rh_json_set_string(metadata, "namespace", namespace_) < 0)
		return RH_ENOMEM;
	snprintf(version, sizeof(version), "%" PRIu64, object->version);
	if (object->version > 0 && rh_json_set_string(metadata, "resourceVersion", version) < 0)
		return RH_ENOMEM;
	return known_read_labels(known, object->text + strlen(object->text) + 1, metadata);
}

/* @return the identity, owned by the caller, or NULL when memory is out */
static struct rh_json *known_identity(const struct rh_known *known, const char *key,
                                      const struct rh_known_object *object)
{
	rh_auto(json) json = rh_json_new_object();

	if (!json || rh_json_set_string(json, "apiVersion", known->api_version) < 0 ||
	    rh_json_set_string(json, "kind", known->kind) < 0 ||
	    known_read_metadata(known, key, object, rh_json_ensure_object(json, "metadata")) < 0)
		return NULL;
	return rh_take(json);
}

int rh_known_tell(const struct rh_known *known, const struct rh_json *object, rh_known_fn *fn, void *arg)
{
	char key[KNOWN_KEY_ROOM];
	const struct rh_known_object *kept = rh_map_get(known->objects, known_key(object, key));
	rh_auto(json) identity = kept ? known_identity(known, key, kept) : NULL;

	if (!identity)
		return RH_ENOMEM;
	fn(arg, identity);
	return 0;
}

int rh_known_sweep(struct rh_known *known, uint32_t mark, rh_known_fn *fn, void *arg)
{
	const char *key;
	size_t cursor = 0;
	void *value;

	while (rh_map_next(known->objects, &cursor, &key, &value)) {
		const struct rh_known_object *object = value;
		rh_auto(json) identity = NULL;

		if (object->mark == mark)
			continue;
		identity = known_identity(known, key, object);
		if (!identity)
			return RH_ENOMEM;
		rh_free(rh_map_remove(known->objects, key));
		fn(arg, identity);
	}
	return 0;
}
