/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/child/child.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "engine/carry/job/metadata.h"
#include "job/values/names.h"
#include "job/values/patterns.h"

static const char *child_owner(const struct rh_json *object)
{
	const struct rh_json *owners = rh_json_get(rh_json_get(object, "metadata"), "ownerReferences");

	for (const struct rh_json *owner = rh_json_first(owners); owner; owner = rh_json_next(owner)) {
		const char *uid = rh_json_string(rh_json_get(owner, "uid"));

		if (uid && rh_json_bool(rh_json_get(owner, "controller"), false))
			return uid;
	}
	return "";
}

static const char *child_type(const struct rh_kind *kind, const struct rh_json *object)
{
	return rh_object_label(object, rh_patterns_label(kind, RH_LABEL_TYPE));
}

/* A further object that the plugin wants to be kept for good. A replica's Service is none. */
static bool child_is_retained(const struct rh_kind *kind, const struct rh_json *object)
{
	return !*child_owner(object) && *rh_object_label(object, RH_LABEL_JOB_UID) && !*child_type(kind, object);
}

void rh_child_free(struct rh_child *child)
{
	rh_free(child);
}

static int child_read_group(struct rh_child *child, const struct rh_json *object)
{
	const struct rh_json *spec = rh_json_get(object, "spec");
	const char *phase = rh_object_text(object, "status", "phase");

	child->idle = !*phase || strcmp(phase, "Pending") == 0;
	return spec ? rh_object_hash(spec, &child->content) : 0;
}

/* The texts of a child; they are stored behind it. */
struct child_texts {
	const char *api_version, *kind, *name, *uid, *owner_uid, *type;
};

static struct child_texts child_read_texts(const struct rh_kind *of, const struct rh_json *object)
{
	const char *api_version = rh_json_string(rh_json_get(object, "apiVersion"));
	const char *kind = rh_json_string(rh_json_get(object, "kind"));

	return (struct child_texts){
		.api_version = api_version ? api_version : "v1",
		.kind = kind ? kind : "Service",
		.name = rh_object_text(object, "metadata", "name"),
		.uid = rh_object_text(object, "metadata", "uid"),
		.owner_uid = child_is_retained(of, object) ? rh_object_label(object, RH_LABEL_JOB_UID) : child_owner(object),
		.type = child_type(of, object),
	};
}

static char *child_put_text(char **at, const char *text)
{
	size_t size = strlen(text) + 1;
	char *put = *at;

	memcpy(put, text, size);
	*at += size;
	return put;
}

/* @return a child with its texts alone, in one block, or NULL when memory is out */
static struct rh_child *child_new(const struct child_texts *texts)
{
	size_t size = strlen(texts->api_version) + strlen(texts->kind) + strlen(texts->name) + strlen(texts->uid) +
	              strlen(texts->owner_uid) + strlen(texts->type) + 6;
	struct rh_child *child = rh_alloc(sizeof(*child) + size);
	char *at;

	if (!child)
		return NULL;
	at = (char *)(child + 1);
	child->api_version = child_put_text(&at, texts->api_version);
	child->kind = child_put_text(&at, texts->kind);
	child->name = child_put_text(&at, texts->name);
	child->uid = child_put_text(&at, texts->uid);
	child->owner_uid = child_put_text(&at, texts->owner_uid);
	child->type = child_put_text(&at, texts->type);
	return child;
}

int rh_child_parse(const struct rh_kind *kind, const struct rh_json *object, struct rh_child **ret_child)
{
	const struct child_texts texts = child_read_texts(kind, object);
	rh_auto(child) child = child_new(&texts);

	if (!child)
		return RH_ENOMEM;
	child->index = rh_pod_index(kind, rh_json_at(object, "metadata.labels"));
	child->deleting = *rh_object_text(object, "metadata", "deletionTimestamp") != '\0';
	child->retained = child_is_retained(kind, object);
	child->revision = rh_object_revision(rh_object_text(object, "metadata", "resourceVersion"));
	if (strcmp(child->kind, RH_GANG_OBJECT) == 0 && child_read_group(child, object) < 0)
		return RH_ENOMEM;
	*ret_child = rh_take(child);
	return 0;
}

char *rh_child_key(const char *api_version, const char *kind, const char *name)
{
	return rh_asprintf("%s/%s/%s", api_version, kind, name);
}
