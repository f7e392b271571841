/* SPDX-License-Identifier: Apache-2.0 */
#include "kueue/workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "job/expansion.h"
#include "job/kind.h"
#include "kueue/pods/topology.h"

#define WORKLOAD_MANAGER_LABEL "app.kubernetes.io/managed-by"
#define WORKLOAD_MANAGER "roundhouse"
/* The most characters of a Workload's name in front of the hash: pods have a label with the name of the Workload. */
#define WORKLOAD_NAME_MAX 50

const struct rh_resource rh_kueue_workloads = {"kueue.x-k8s.io/v1beta2", "Workload", "workloads"};

bool rh_kueue_serves(const struct rh_kind *kind)
{
	if (rh_kind_expands(kind) || !rh_kind_has_policy(kind, "suspend"))
		return false;
	for (const struct rh_replica_type *const *type = kind->types; type && *type; type++) {
		if ((*type)->flags & RH_REPLICA_OUTSIDE)
			return false;
	}
	return true;
}

void rh_kueue_wish_deinit(struct rh_kueue_wish *wish)
{
	rh_free(wish->queue);
	rh_free(wish->class);
	rh_free(wish->pod_class);
	rh_free(wish->pod_sets);
	rh_kueue_part_deinit(&wish->part);
	*wish = (struct rh_kueue_wish){0};
}

static int workload_copy(const struct rh_json *from, const char *const *keys, struct rh_json *to)
{
	for (; *keys; keys++) {
		const struct rh_json *value = rh_json_get(from, *keys);

		if (value && rh_json_set(to, *keys, rh_json_copy(value)) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

/*
 * Of containers what takes quota, and the image, without which admission checks cannot make a PodTemplate of it.
 * Commands, variables and volumes of a thousand jobs would only be stored twice. It also shows a Workload that Kueue's
 * own integration has written, which has all of them.
 */
static int workload_put_containers(const struct rh_json *pod_spec, const char *list, struct rh_json *spec)
{
	static const char *const keys[] = {"name", "image", "resources", "restartPolicy", NULL};
	struct rh_json *containers;

	if (!rh_json_get(pod_spec, list))
		return 0;
	containers = rh_json_ensure_array(spec, list);
	for (const struct rh_json *from = rh_json_first(rh_json_get(pod_spec, list)); from && containers;
	     from = rh_json_next(from)) {
		rh_auto(json) container = rh_json_new_object();

		if (!container || workload_copy(from, keys, container) < 0 ||
		    rh_json_append(containers, rh_take(container)) < 0)
			return RH_ENOMEM;
	}
	return containers ? 0 : RH_ENOMEM;
}

static int workload_put_template(const struct rh_json *template_, struct rh_json *set)
{
	static const char *const meta_keys[] = {"labels", "annotations", NULL};
	static const char *const keys[] = {"nodeSelector",      "tolerations",    "affinity",
	                                   "priorityClassName", "overhead",       "runtimeClassName",
	                                   "resources",         "resourceClaims", NULL};
	const struct rh_json *pod_spec = rh_json_get(template_, "spec");
	struct rh_json *made = rh_json_ensure_object(set, "template");
	struct rh_json *metadata = made ? rh_json_ensure_object(made, "metadata") : NULL;
	struct rh_json *spec = made ? rh_json_ensure_object(made, "spec") : NULL;

	if (!metadata || !spec || workload_copy(rh_json_get(template_, "metadata"), meta_keys, metadata) < 0 ||
	    workload_copy(pod_spec, keys, spec) < 0 || workload_put_containers(pod_spec, "initContainers", spec) < 0)
		return RH_ENOMEM;
	return workload_put_containers(pod_spec, "containers", spec);
}

/* How many pods of a set are asked for, and with how many it would do. */
static int workload_put_count(const struct rh_kueue_part *part, int32_t replicas, struct rh_json *set)
{
	bool fewer = rh_text_equal(rh_json_string_at(set, "name"), part->set);

	if (rh_json_set_integer(set, "count", fewer ? part->asked : replicas) < 0)
		return RH_ENOMEM;
	return fewer && part->least != 0 ? rh_json_set_integer(set, "minCount", part->least) : 0;
}

static struct rh_json *workload_pod_sets(const struct rh_job *job, const struct rh_kueue_part *part)
{
	rh_auto(json) sets = rh_json_new_array();

	for (size_t i = 0; i < job->spec_count && sets; i++) {
		const struct rh_replica_spec *spec = &job->specs[i];
		rh_auto(json) set = rh_json_new_object();
		char lower[RH_NAME_SIZE];

		if (spec->replicas <= 0)
			continue;
		if (!set || rh_json_set_string(set, "name", rh_name_lower(spec->type, lower)) < 0 ||
		    workload_put_count(part, spec->replicas, set) < 0 || workload_put_template(spec->template_, set) < 0 ||
		    rh_kueue_topology_ask(job, spec, set) < 0 || rh_json_append(sets, rh_take(set)) < 0)
			return NULL;
	}
	return rh_take(sets);
}

static const char *workload_label(const struct rh_json *object, const char *key)
{
	const char *text = rh_json_string(rh_json_get(rh_json_at(object, "metadata.labels"), key));

	return text && *text ? text : NULL;
}

static const char *workload_pod_class(const struct rh_job *job)
{
	const char *name = NULL;

	for (size_t i = 0; i < job->spec_count && !(name && *name); i++)
		name = rh_json_string_at(job->specs[i].template_, "spec.priorityClassName");
	return name && *name ? name : NULL;
}

static int workload_copy_text(const char *from, char **ret_text)
{
	*ret_text = from ? rh_strdup(from) : NULL;
	return from && !*ret_text ? RH_ENOMEM : 0;
}

int rh_kueue_wish_read(const struct rh_job *job, struct rh_kueue_wish *ret_wish)
{
	const char *seconds = workload_label(job->object, RH_LABEL_QUEUE_TIME);
	rh_auto(json) sets = NULL;
	rh_auto_free char *source = NULL;

	if (rh_kueue_part_read(job, &ret_wish->part) < 0 || !(sets = workload_pod_sets(job, &ret_wish->part)) ||
	    workload_copy_text(workload_label(job->object, RH_LABEL_QUEUE), &ret_wish->queue) < 0 ||
	    workload_copy_text(workload_label(job->object, RH_LABEL_QUEUE_PRIORITY), &ret_wish->class) < 0 ||
	    workload_copy_text(workload_pod_class(job), &ret_wish->pod_class) < 0 ||
	    !(ret_wish->pod_sets = rh_json_text(sets)))
		return RH_ENOMEM;
	ret_wish->prebuilt = workload_label(job->object, RH_LABEL_QUEUE_PREBUILT);
	ret_wish->most_seconds = seconds ? strtoll(seconds, NULL, 10) : 0;
	source = rh_asprintf("%s%" PRId64, ret_wish->pod_sets, ret_wish->most_seconds);
	if (!source)
		return RH_ENOMEM;
	(void)snprintf(ret_wish->hash, sizeof(ret_wish->hash), "%016" PRIx64, rh_hash(source, strlen(source)));
	return 0;
}

static uint32_t workload_hash(const char *text)
{
	return (uint32_t)rh_hash(text, strlen(text));
}

char *rh_kueue_workload_name(const struct rh_kueue_owner *owner)
{
	char lower[RH_NAME_SIZE], text[WORKLOAD_NAME_MAX + 1];
	rh_auto_free char *source = owner->after > 0 ? rh_asprintf("%s/%" PRIu64, owner->uid, owner->after) : NULL;
	size_t length;

	if (owner->after > 0 && !source)
		return NULL;
	(void)snprintf(text, sizeof(text), "%s-%s", rh_name_lower(owner->kind->kind, lower), owner->name);
	length = strlen(text);
	while (length > 0 && (text[length - 1] == '.' || text[length - 1] == '-'))
		length--;
	return rh_asprintf("%.*s-%08" PRIx32, (int)length, text, workload_hash(source ? source : owner->uid));
}

static int workload_put_priority(const struct rh_kueue_priority *priority, struct rh_json *spec)
{
	struct rh_json *reference;

	if (rh_json_set_integer(spec, "priority", priority->value) < 0)
		return RH_ENOMEM;
	if (!priority->name)
		return 0;
	reference = rh_json_ensure_object(spec, "priorityClassRef");
	if (!reference ||
	    rh_json_set_string(reference, "group", priority->workload_class ? "kueue.x-k8s.io" : "scheduling.k8s.io") < 0 ||
	    rh_json_set_string(reference, "kind", priority->workload_class ? "WorkloadPriorityClass" : "PriorityClass") < 0)
		return RH_ENOMEM;
	return rh_json_set_string(reference, "name", priority->name);
}

/* What both a new Workload and the patch of one have: the wish. */
static int workload_put_wish(const struct rh_kueue_wish *wish, const struct rh_kueue_priority *priority,
                             struct rh_json *object)
{
	struct rh_json *metadata = rh_json_ensure_object(object, "metadata");
	struct rh_json *annotations = metadata ? rh_json_ensure_object(metadata, "annotations") : NULL;
	struct rh_json *spec = rh_json_ensure_object(object, "spec");
	rh_auto(json) sets = NULL;

	if (rh_json_parse(wish->pod_sets, strlen(wish->pod_sets), &sets, NULL) < 0 || !annotations || !spec ||
	    rh_json_set_string(annotations, RH_KUEUE_ANNOTATION_HASH, wish->hash) < 0 ||
	    rh_json_set(spec, "podSets", rh_take(sets)) < 0 || workload_put_priority(priority, spec) < 0)
		return RH_ENOMEM;
	if (wish->queue && rh_json_set_string(spec, "queueName", wish->queue) < 0)
		return RH_ENOMEM;
	return wish->most_seconds > 0 ? rh_json_set_integer(spec, "maximumExecutionTimeSeconds", wish->most_seconds) : 0;
}

static int workload_put_owner(const struct rh_kueue_owner *owner, struct rh_json *metadata)
{
	struct rh_json *list = rh_json_ensure_array(metadata, "ownerReferences");
	rh_auto_free char *api_version = rh_asprintf("%s/%s", owner->kind->group, owner->kind->version);
	rh_auto(json) reference = rh_json_new_object();

	if (!list || !api_version || !reference || rh_json_set_string(reference, "apiVersion", api_version) < 0 ||
	    rh_json_set_string(reference, "kind", owner->kind->kind) < 0 ||
	    rh_json_set_string(reference, "name", owner->name) < 0 ||
	    rh_json_set_string(reference, "uid", owner->uid) < 0 || rh_json_set_bool(reference, "controller", true) < 0 ||
	    rh_json_set_bool(reference, "blockOwnerDeletion", true) < 0)
		return RH_ENOMEM;
	return rh_json_append(list, rh_take(reference));
}

static int workload_put_metadata(const struct rh_kueue_owner *owner, struct rh_json *metadata)
{
	rh_auto_free char *name = rh_kueue_workload_name(owner);
	struct rh_json *labels = rh_json_ensure_object(metadata, "labels");
	struct rh_json *finalizers = rh_json_ensure_array(metadata, "finalizers");

	if (!name || !labels || !finalizers || rh_json_set_string(metadata, "name", name) < 0 ||
	    rh_json_set_string(metadata, "namespace", owner->namespace_) < 0 ||
	    rh_json_set_string(labels, RH_LABEL_QUEUE_JOB, owner->uid) < 0 ||
	    rh_json_set_string(labels, WORKLOAD_MANAGER_LABEL, WORKLOAD_MANAGER) < 0 ||
	    rh_json_append(finalizers, rh_json_new_string(RH_KUEUE_FINALIZER)) < 0)
		return RH_ENOMEM;
	return workload_put_owner(owner, metadata);
}

struct rh_json *rh_kueue_workload_new(const struct rh_kueue_owner *owner, const struct rh_kueue_wish *wish,
                                      const struct rh_kueue_priority *priority)
{
	rh_auto(json) object = rh_json_new_object();
	struct rh_json *metadata = object ? rh_json_ensure_object(object, "metadata") : NULL;

	if (!metadata || rh_json_set_string(object, "apiVersion", rh_kueue_workloads.api_version) < 0 ||
	    rh_json_set_string(object, "kind", rh_kueue_workloads.kind) < 0 || workload_put_metadata(owner, metadata) < 0 ||
	    workload_put_wish(wish, priority, object) < 0)
		return NULL;
	return rh_take(object);
}

struct rh_json *rh_kueue_workload_patch(const struct rh_kueue_wish *wish, const struct rh_kueue_priority *priority)
{
	rh_auto(json) patch = rh_json_new_object();
	struct rh_json *spec;

	if (!patch || workload_put_wish(wish, priority, patch) < 0)
		return NULL;
	spec = rh_json_get(patch, "spec");
	if ((!priority->name && rh_json_set(spec, "priorityClassRef", rh_json_new_null()) < 0) ||
	    (wish->most_seconds <= 0 && rh_json_set(spec, "maximumExecutionTimeSeconds", rh_json_new_null()) < 0) ||
	    (!wish->queue && rh_json_set(spec, "queueName", rh_json_new_null()) < 0))
		return NULL;
	return rh_take(patch);
}

bool rh_kueue_workload_is_current(const struct rh_json *workload, const struct rh_kueue_wish *wish)
{
	const char *queue = rh_json_string_at(workload, "spec.queueName");
	const char *class = rh_json_string_at(workload, "spec.priorityClassRef.name");
	const char *expected = wish->class ? wish->class : wish->pod_class;

	/* without a class it may be the cluster's default */
	return rh_text_equal(queue, wish->queue) && (!expected || rh_text_equal(class, expected));
}

/* @return whether a container of the list has what those of rh_kueue_workload_new() never have */
static bool workload_is_foreign(const struct rh_json *containers)
{
	static const char *const others[] = {"command", "args", "env", "envFrom", "volumeMounts", NULL};

	for (const struct rh_json *container = rh_json_first(containers); container; container = rh_json_next(container)) {
		for (size_t i = 0; others[i]; i++) {
			if (rh_json_size(rh_json_get(container, others[i])) > 0)
				return true;
		}
	}
	return false;
}

bool rh_kueue_workload_is_ours(const struct rh_json *workload)
{
	if (!rh_text_equal(workload_label(workload, WORKLOAD_MANAGER_LABEL), WORKLOAD_MANAGER))
		return false;
	for (const struct rh_json *set = rh_json_first(rh_json_at(workload, "spec.podSets")); set;
	     set = rh_json_next(set)) {
		if (workload_is_foreign(rh_json_at(set, "template.spec.containers")))
			return false;
	}
	return true;
}
